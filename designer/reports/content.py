"""What a page says, as plain data: sections of paragraphs, lists, tables, commands and drawings, and nothing of their form."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Weight = Literal["plain", "note", "warning"]


@dataclass(frozen=True)
class Prose:
    """A paragraph. weight: "note" stands back, "warning" must not be missed."""

    text: str
    weight: Weight = "plain"


@dataclass(frozen=True)
class Listing:
    """A list. ordered: its lines are steps, one after the other."""

    lines: tuple[str, ...]
    ordered: bool = False


@dataclass(frozen=True)
class Entries:
    """Names, each with its text. verbatim: the texts are verbatim_of letter by letter, so no word in them is explained."""

    rows: tuple[tuple[str, str], ...]
    verbatim: bool = False


@dataclass(frozen=True)
class Sheet:
    """A table. The first column names its row. numeric: the columns that hold numbers. note: what stands below, such as how
    many rows are left out and where they are."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[int] = frozenset()
    note: str = ""


@dataclass(frozen=True)
class Typed:
    """Listing to be typed into a terminal, as they stand."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class Picture:
    """A drawing in SVG. alt: a sentence for those who cannot see it. svg: without names that another one might have, too."""

    name: str
    title: str
    alt: str
    svg: str


Piece = Prose | Listing | Entries | Sheet | Typed | Picture


@dataclass(frozen=True)
class PageSection:
    """A part of a page. key: what links point to."""

    key: str
    title: str
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class Headline:
    """A line of the first screen: what is asked, the answer in few words, and a sentence with the details. section: where to
    read on. alarm: must not be missed."""

    question: str
    answer: str
    details: str = ""
    section: str = ""
    alarm: bool = False


@dataclass(frozen=True)
class BoardPage:
    """A whole page. time: when it was made, in UTC. software: what made it. warnings: what stands above everything."""

    title: str
    subtitle: str
    time: str
    software: str
    fingerprint: str
    headlines: tuple[Headline, ...]
    sections: tuple[PageSection, ...]
    warnings: tuple[str, ...] = field(default=())

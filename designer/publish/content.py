"""What a page says, as plain data: sections of paragraphs, lists, tables, commands and drawings, and nothing of their form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from designer.accounts.check import Checked
from designer.accounts.dataset_state import Balance
from designer.accounts.ledger import Forecast
from designer.base.display import printed
from designer.base.json_text import FORM
from designer.certificate.frozen import FrozenMechanism, Released
from designer.certificate.guarantee import Guarantee
from designer.designing.comparison import Comparison
from designer.files.releases import ReleaseVerdict
from designer.files.signatures import SignedBy
from designer.relations.records.row_unit import RowUnit, row_as_stated

if TYPE_CHECKING:
    from designer.audit.verdict import DeepVerdict

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
    read on. alarm: must not be missed. points: a list below the answer."""

    question: str
    answer: str
    details: str = ""
    section: str = ""
    alarm: bool = False
    points: tuple[str, ...] = ()


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


# Names that files chose, fit for a page: every character seen, and of very long ones the beginning with their length.


LONGEST = 80  # characters of a name in a table or a sentence
LONGEST_TEXT = 1_500  # of a sentence that lists names


def named(name: object, longest: int = LONGEST) -> str:
    """A name within a sentence or a cell.

    >>> named("north"), named("a" * 100, 5)
    ('north', 'aaaaa... (100 characters)')
    """
    text = printed(name)
    return text if len(text) <= longest else f"{text[:longest]}... ({len(text):,} characters)"


def verbatim_of(text: str, where: str, longest: int = LONGEST_TEXT) -> str:
    """A sentence of a guarantee as it stands; of one that lists very many names the beginning, and `where` the rest is."""
    text = printed(text)
    if len(text) <= longest:
        return text
    return f"{text[:longest]} ... [the first {longest:,} of {len(text):,} characters; the whole stands in the spec, {where}]"


def some(names: Sequence[object], most: int = 6) -> str:
    """Some of several names, and how many more there are.

    >>> some(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    listed = ", ".join(map(named, names[:most]))
    return listed if len(names) <= most else f"{listed} and {len(names) - most:,} more"


FIRST_HALF = ("January", "February", "March", "April", "May", "June")
MONTHS = (*FIRST_HALF, "July", "August", "September", "October", "November", "December")


def date_words(time: str) -> str:
    """A time as files hold it, for people.

    >>> date_words("2026-01-31T12:00:00Z")
    '31 January 2026, 12:00 UTC'
    """
    moment = datetime.strptime(time, FORM)
    return f"{moment.day} {MONTHS[moment.month - 1]} {moment.year}, {moment:%H:%M} UTC"


# What a page is made from: the object, and whatever else was looked at when the page was made.


@dataclass(frozen=True)
class SeenRelease:
    """A release that was read, rebuilt and compared with what follows from its whole numbers."""

    name: str
    released: Released
    document: dict[str, Any]
    verdict: ReleaseVerdict
    signer: SignedBy | None = None


@dataclass(frozen=True)
class SeenLedger:
    """A ledger whose chain was followed, and what it says of one data set. forecast: of a release to come, where the page is
    about none that was made."""

    name: str
    checked: Checked
    balance: Balance
    forecast: Forecast | None = None


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Everything that a page speaks of.

    made: the object, certified anew by its constructor. spec: the file that it was read from; None for one that was made in
    this program. time: when this was; now unless given. comparison: with other families, computed for the page; its reason
    where that was asked for and cannot be.
    """

    made: FrozenMechanism
    spec: Path | None = None
    release: SeenRelease | None = None
    ledger: SeenLedger | None = None
    deep: DeepVerdict | None = None
    comparison: Comparison | str | None = None
    signer: SignedBy | None = None
    time: datetime | None = None

    @property
    def spec_name(self) -> str:
        """What commands call the spec."""
        return "SPEC.json" if self.spec is None else self.spec.name

    @property
    def row(self) -> RowUnit:
        """What one row is: as the release says, or, before one, the ledger of the data set, or the problem file."""
        if self.release is not None:
            return getattr(self.release.released, "row", None) or RowUnit()
        standing = None if self.ledger is None else self.ledger.balance.standing.row
        return standing or row_as_stated(self.made.about.records)

    @property
    def bound(self) -> int | None:
        """How many rows of an entity count; None where single records are protected."""
        return self.row.rows_per_entity

    @property
    def guarantee(self) -> Guarantee:
        """That of the release; before one, of the object for what one row is."""
        if self.release is not None:
            return self.release.released.guarantee
        stated: Any = self.made
        return self.made.guarantee if self.bound is None else stated.guarantee_for(self.row)

    @property
    def loaded(self) -> bool:
        """Was it read from a file, whose claims were compared?"""
        return self.spec is not None

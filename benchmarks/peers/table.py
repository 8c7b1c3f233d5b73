"""One comparison: rows of a problem, what others reach there, what a design reaches, and what nobody can go below."""

from __future__ import annotations

import json
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PUBLISHED: Mapping[str, Any] = json.loads((Path(__file__).parent / "published.json").read_text())

WIDTH = 124


@dataclass(frozen=True)
class Row:
    """A problem: the numbers of others by their names (None: not known), ours, the proven least (None: not known), and the
    seconds of processor that the design took (None: nothing was designed)."""

    problem: str
    theirs: Mapping[str, float | None]
    ours: float
    least: float | None
    seconds: float | None

    @property
    def ratio(self) -> float:
        """Ours over the best of theirs: below 1, ours is better."""
        return self.ours / min(value for value in self.theirs.values() if value is not None)


@dataclass(frozen=True)
class PeerTable:
    """A table of the page. number: what the numbers are, with units; source: where those of others come from; timed: what the
    last column has."""

    name: str
    title: str
    about: str
    number: str
    source: str
    rows: tuple[Row, ...]
    timed: str = "seconds of design"

    def to_markdown(self) -> str:
        """The section of the page."""
        names = list(self.rows[0].theirs)
        header = ["problem", *names, "this package", "over the best other", "proven least over ours", self.timed]
        numbers = textwrap.fill(f"Numbers: {self.number}.", WIDTH)
        rows = _table(header, map(_cells, self.rows))
        return "\n\n".join(
            [f"## {self.title}", textwrap.fill(self.about, WIDTH), numbers, rows, textwrap.fill(self.source, WIDTH)]
        )


def _cells(row: Row) -> list[str]:
    others = ["" if value is None else f"{value:.6g}" for value in row.theirs.values()]
    least = "" if row.least is None else f"{min(row.least / row.ours, 1):.6f}"
    seconds = "" if row.seconds is None else f"{row.seconds:.2f}"
    return [row.problem, *others, f"{row.ours:.6g}", f"{row.ratio:.4f}", least, seconds]


def _table(header: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def measured(problem: str, theirs: Mapping[str, float | None], design: Callable[[], tuple[float, float | None]]) -> Row:
    """The row of a problem whose design gives its number and the proven least, with the seconds of processor it took."""
    start = time.process_time()
    ours, least = design()
    return Row(problem, theirs, ours, least, time.process_time() - start)

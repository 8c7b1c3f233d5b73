"""Released numbers as columns: the categories, the answer, its standard error, and both kinds of interval; as data frames of
any library, and as what notebooks show."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from designer.base.answer_table import LEVEL, AnswerTable
from designer.base.checks import meant, probability, shown
from designer.base.display import HEAD, SHOWN_ROWS, Displayed, Preview
from designer.base.errors import InvalidProblem
from designer.base.frames import frame_of


@dataclass(frozen=True)
class NamedColumns:
    """A table as columns by name, each with what it means, in a sentence, and why others are not there.

    columns: texts, or arrays of numbers, all (G,). categories: how many of them, the first, say what a row is.
    """

    columns: Mapping[str, Any]
    meanings: Mapping[str, str]
    missing: Mapping[str, str]
    categories: int


class Guaranteed(Protocol):
    """What every release has besides its numbers."""

    @property
    def fingerprint(self) -> str: ...


class Tabular(Displayed):
    """A release that holds numbers."""

    @abstractmethod
    def answer_tables(self) -> tuple[AnswerTable, ...]:
        """Its numbers as tables."""

    def to_frame(self, backend: str = "pandas", *, table: str | None = None, level: float = LEVEL) -> Any:
        """One table as a data frame: a column for each category, `answer`, `standard_error`, `lower_95`, `upper_95` (each
        holds the answer without noise with that probability), `joint_lower_95`, `joint_upper_95` (all do at once).

        backend: "pandas", "polars" or "pyarrow". table: its name, where the release has several. level: of the intervals, which
        names their columns. Columns that no law gives are left out. Raises `InvalidProblem` for an unknown table or backend.
        """
        return frame_of(numbers_of(_named(self.answer_tables(), table), level).columns, backend)

    def to_frames(self, backend: str = "pandas", *, level: float = LEVEL) -> dict[str, Any]:
        """All tables as data frames, by name; see `to_frame`."""
        return {table.name: frame_of(numbers_of(table, level).columns, backend) for table in self.answer_tables()}

    def below_zero(self) -> tuple[int, int]:
        """How many answers are below 0, and how many there are. Noise makes counts negative: without it they cannot be, and
        raising them to 0 would make them biased. `agreeing_tables` of `designer.files.agreeing`, or --consistent of the
        command line, gives numbers from 0 on that agree with one another."""
        found = [table.answers for table in self.answer_tables()]
        return sum(int((answers < 0).sum()) for answers in found), sum(map(len, found))

    def display_facts(self) -> Mapping[str, object]:
        """The fingerprint of what made it."""
        return {"fingerprint": str(getattr(self, "fingerprint", ""))[:HEAD] or None}

    def display_rows(self) -> Preview | None:
        """The first rows of the first tables, each with its standard error."""
        tables = self.answer_tables()
        rows = [
            (*([table.name] if len(tables) > 1 else []), " / ".join(map(str, key)), answer, error)
            for table in tables[:SHOWN_ROWS]
            for key, answer, error in _first(table)
        ]
        heads = (*(["table"] if len(tables) > 1 else []), "key", "answer", "standard error")
        return Preview(heads, rows[:SHOWN_ROWS], sum(len(table.answers) for table in tables))


def _first(table: AnswerTable) -> list[tuple[Sequence[object], float, float | None]]:
    errors = [None] * SHOWN_ROWS if table.standard_errors is None else table.standard_errors[:SHOWN_ROWS].tolist()
    return list(zip(table.keys[:SHOWN_ROWS], table.answers[:SHOWN_ROWS].tolist(), errors, strict=False))


def _named(tables: Sequence[AnswerTable], name: str | None) -> AnswerTable:
    """The table of that name, or the only one."""
    known = [table.name for table in tables]
    if not tables:
        raise InvalidProblem("table: this release holds no numbers, so there is no table of them.")
    if name is None and len(tables) > 1:
        raise InvalidProblem(
            f"table: is missing; this release has {len(tables)}: name one of {shown(known)}, or use to_frames."
        )
    if name is not None and name not in known:
        raise InvalidProblem(f"table: {shown(name)} is none; {meant(name, known)}use one of {shown(known)}.", value=name)
    return tables[0 if name is None else known.index(name)]


def numbers_of(table: AnswerTable, level: float = LEVEL) -> NamedColumns:
    """A table of a release as columns, with what each means.

    level: of the intervals, between 0 and 1. An interval that no law gives is left out, and the reason kept.
    """
    percent = f"{100 * probability(level, 'level'):.6g}"
    free = _free(table.columns)
    columns: dict[str, Any] = {name: _values(table.keys, k) for k, name in enumerate(free)}
    columns["answer"] = table.answers
    meanings = {name: f"Category {own!r}." for name, own in zip(free, table.columns, strict=True)}
    meanings["answer"] = "The released answer, with noise; unbiased, unless `dp-designer show` of the spec says BIASED."
    missing: dict[str, str] = {}
    if table.standard_errors is None:
        missing["standard_error"] = "No standard error follows from the law of the noise."
    else:
        columns["standard_error"] = table.standard_errors
        meanings["standard_error"] = f"Standard deviation of the noise in the answer. {table.error_words}".strip()
    for simultaneous, prefix in ((False, ""), (True, "joint_")):
        names = [f"{prefix}{end}_{percent.replace('.', '_')}" for end in ("lower", "upper")]
        try:
            found = table.intervals(level, simultaneous)
        except InvalidProblem as reason:
            missing |= dict.fromkeys(names, str(reason))
            continue
        columns |= dict(zip(names, (found.lower, found.upper), strict=True))
        meanings |= {name: _interval_words(percent, simultaneous, found.law) for name in names}
    return NamedColumns(columns, meanings, missing, len(table.columns))


def _interval_words(percent: str, simultaneous: bool, law: str) -> str:
    if simultaneous:
        held = f"with probability {percent} % these intervals hold the answers without noise of all rows of all tables at once"
    else:
        held = f"it holds the answer without noise of this row with probability {percent} %"
    return f"End of an interval: {held}. Law: {law.rstrip('.')}."


NUMBERS = ("answer", "standard_error", "consistent")
ENDS = ("lower_", "upper_", "joint_lower_", "joint_upper_")


def _free(names: Sequence[str]) -> list[str]:
    """Category columns under their own names, unless a column of numbers is called so."""
    free: list[str] = []
    for name in names:
        while name in NUMBERS or name.startswith(ENDS) or name in free or name in names[len(free) + 1 :]:
            name = f"{name}_"
            if name.startswith(ENDS):
                name = f"category_{name}"
        free.append(name)
    return free


def _values(keys: Sequence[Sequence[Any]], place: int) -> Any:
    """One category of all rows: whole numbers where all are, floats where all are, texts otherwise."""
    held = [key[place] for key in keys]
    kinds = set(map(type, held))
    if kinds == {int} and all(abs(value) < 2**63 for value in held):
        return np.array(held, dtype=np.int64)
    return np.array(held, dtype=np.float64) if kinds == {float} else list(map(str, held))

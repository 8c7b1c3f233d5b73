"""Published margins that a release does not hold: sums of cells, by the categories that they speak of."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.checks import meant, shown
from designer.base.errors import InvalidProblem
from designer.limits import LARGEST_PUBLISHED_COUNT

VALUE, STATISTIC, TABLE = "value", "statistic", "table"
WHOLE = re.compile(r"([0-9]{1,4000})(\.0*)?")


@dataclass(frozen=True)
class PublishedSums:
    """Whole numbers that were published: each the sum of all cells that hold what its row says.

    rows: for each number the categories by column; a column that is empty, or not there, is summed over. A row without any is
    the total of everything. A row of the one column `statistic` names a published statistic of the invariant instead. values:
    the numbers. tables: which query each speaks of, "" for all of them.

    >>> PublishedSums.of({"sex": ["F", ""], "value": ["3", "7"]}).rows
    ({'sex': 'F'}, {})
    """

    rows: tuple[Mapping[str, str], ...]
    values: tuple[int, ...]
    tables: tuple[str, ...]

    @classmethod
    def of(cls, columns: Mapping[str, Sequence[object]]) -> PublishedSums:
        """From columns: categories, and the numbers in `value`."""
        if VALUE not in columns:
            raise InvalidProblem(f"published: has no column {VALUE!r}; give one for each category, and the numbers in it.")
        values = tuple(_whole(entry, row) for row, entry in enumerate(columns[VALUE], 1))
        texts = {name: list(map(str, entries)) for name, entries in columns.items() if name != VALUE}
        spoken = texts.pop(TABLE, [""] * len(values))
        if any(len(column) != len(values) for column in (*texts.values(), spoken)):
            raise InvalidProblem("published: its columns differ in length; give one entry for each number in all of them.")
        rows = tuple({name: column[k] for name, column in texts.items() if column[k]} for k in range(len(values)))
        return cls(rows, values, tuple(spoken))

    def about(self, *tables: str) -> PublishedSums:
        """Those that speak of one of these queries; "" for those that speak of all."""
        chosen = [k for k, name in enumerate(self.tables) if name in tables]
        rows, values = tuple(self.rows[k] for k in chosen), tuple(self.values[k] for k in chosen)
        return PublishedSums(rows, values, tuple(self.tables[k] for k in chosen))

    def matched(
        self, columns: Sequence[str], keys: Sequence[Sequence[str]], named: Mapping[str, Any] | None = None
    ) -> tuple[NDArray[np.int64], Floats]:
        """The rows over cells, (p, N), and their sums, (p,).

        columns: names of the key columns of the cells. keys: (N,), what they hold. named: statistics by name, each (N,).
        Raises `InvalidProblem` for columns, categories and statistics that no cell has.
        """
        held = {name: np.array([key[place] for key in keys], dtype=object) for place, name in enumerate(columns)}
        found = [self._row(row, held, len(keys), named or {}) for row in self.rows]
        return np.array(found, dtype=np.int64).reshape(len(found), len(keys)), np.array(self.values, dtype=np.float64)

    def _row(self, row: Mapping[str, str], held: Mapping[str, Any], cells: int, named: Mapping[str, Any]) -> NDArray[np.int64]:
        if set(row) == {STATISTIC} and STATISTIC not in held:
            return _statistic(row[STATISTIC], named)
        if unknown := [name for name in row if name not in held]:
            raise InvalidProblem(
                f"published: column {shown(unknown[0])} is no category of the cells; {meant(unknown[0], held)}use "
                f"{shown([*held])}, {TABLE!r} or {VALUE!r}."
            )
        met = np.ones(cells, dtype=np.int64)
        for name, text in row.items():
            met *= held[name] == text
        if not met.any():
            raise InvalidProblem(f"published: no cell is {shown(dict(row))}; correct the row, or leave a category empty.")
        return met


def _statistic(name: str, named: Mapping[str, Any]) -> NDArray[np.int64]:
    if name not in named:
        known = shown([*named]) if named else "none, so give the categories in columns"
        raise InvalidProblem(
            f"published: {shown(name)} is no published statistic; {meant(name, named)}there are {known}.", value=name
        )
    return np.asarray(named[name], dtype=np.int64)


def _whole(entry: object, row: int) -> int:
    found = WHOLE.fullmatch(str(entry).strip())
    if found is None:
        raise InvalidProblem(
            f"published: row {row}: {shown(entry)} is no whole number from 0 on; give the published count.", value=entry
        )
    if (number := int(found[1])) > LARGEST_PUBLISHED_COUNT:
        raise InvalidProblem(
            f"published: row {row}: {shown(entry)} is more than {LARGEST_PUBLISHED_COUNT:,}, up to which counts are exact; "
            "leave the row out.",
            value=entry,
        )
    return number

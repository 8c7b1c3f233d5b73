"""A working set of rows, grown by exact separation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from designer.base.arrays import Floats

# A row that is exceeded by less than this is not worth another round: repair divides by it.
NOTICED = 1e-9


@dataclass(frozen=True)
class Separated:
    """What a scan of all pairs found: the largest ratio of a length to its budget, and how many pairs joined."""

    worst: float
    added: int


class WorkingPairs:
    """Vectors u / b that a program states one by one; all others are looked for by scans."""

    def __init__(self, rows: Floats) -> None:
        """rows: (M, s), finite; zero rows and repetitions are dropped."""
        self.rows = np.unique(rows[np.abs(rows).max(axis=1, initial=0.0) > 0], axis=0)

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, rows: Floats) -> None:
        """All of these, (M, s), besides those that are known."""
        self.rows = WorkingPairs(np.concatenate([self.rows, rows])).rows

    def grow(self, more: Floats, ratios: Floats, known: float) -> int:
        """Take in those of `more`, (m, s), whose ratio, (m,), noticeably exceeds 1 and `known`; returns how many are new.

        known: the largest ratio in the working set, by which the solver was inaccurate.
        """
        before = len(self)
        self.rows = np.unique(np.concatenate([self.rows, more[ratios > (1 + NOTICED) * max(1.0, known)]]), axis=0)
        return len(self) - before

"""How many records must change with one where some elements are impossible: the bound of SEMI Theorem 16, proven anew.

With impossible elements a record cannot always be swapped into its new place by two others, so `p + 1` fails for two crossed
margins: chains of swaps are needed, as long as the pattern of impossible cells is deep (docs/theory/invariants.md, section 12).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from designer.relations.invariants.structure import Structure, structure_of

if TYPE_CHECKING:
    from designer.relations.invariants.statistics import Statistics


def proven_adjacency(statistics: Statistics) -> int | None:
    """A number of records that is enough for any record to become any other, whatever the statistics are; None where none is
    proven: overlapping groups of features, or three and more of them beside impossible elements."""
    groups = statistics.groups
    if groups is None or not statistics.impossible or groups <= 1:
        return None if groups is None else groups + 1
    known = structure_of(statistics.sums)
    if known is None or len(known.levels) > 2:
        return None
    return 2 if len(known.levels) == 1 else 2 + longest_detour(_impossible_pairs(known, statistics.impossible))


def longest_detour(impossible: NDArray[np.bool_]) -> int:
    """The largest s for which s rows and columns may have possible cells (i, i) and impossible ones (i, j), i < j.

    impossible: (R, C). By counting: the i-th of these rows has s - i impossible cells, the i-th column from the end likewise.
    """
    rows, columns = (np.sort(impossible.sum(axis=axis))[::-1] for axis in (1, 0))
    for s in range(min(impossible.shape) - 1, 1, -1):
        needed = s - 1 - np.arange(s)
        if (rows[:s] >= needed).all() and (columns[:s] >= needed).all():
            return s
    return 1


def _impossible_pairs(known: Structure, impossible: tuple[int, ...]) -> NDArray[np.bool_]:
    """Which combinations of classes have no possible element."""
    possible = np.setdiff1d(np.arange(known.size), impossible)
    pairs = np.ones(known.levels, dtype=np.bool_)
    pairs[known.classes[0, possible], known.classes[1, possible]] = False
    return pairs

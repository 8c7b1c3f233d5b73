"""Exact l1 noise under linear invariants: free cells and fixed totals are drawn,
the cells they determine are accepted or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from designer.base.declared import assign
from designer.base.errors import InvalidProblem
from designer.sampling.integer_samplers import LazyUniform, accepted
from designer.sampling.integers.discrete_laplace import DiscreteLaplace
from designer.sampling.lattices.zero_sum import ZeroSum
from solvers.exact.balls import rational_ball
from solvers.exact.hermite import integer_matrix
from solvers.exact.points import Integers
from solvers.exact.span import row_echelon

if TYPE_CHECKING:
    from designer.sampling.entropy import Entropy

KEEP_BITS = 53
ENTRIES = 2**18  # proposed at a time, at most
Proposal = Callable[[int], tuple[NDArray[np.int64], NDArray[np.bool_]]]
MOST_FAMILIES = 500  # choices of parts that are tried, an elimination each


@dataclass(frozen=True, eq=False)
class Determination:
    """Which cells are drawn how, for `A v = 0`: `parts` have a fixed total each, `free` none,
    `determined = map @ (all drawn cells)`.

    parts: disjoint tuples of cells; free: (f,) cells; determined: (r,) cells; map: (r, d) integers, zero at determined cells.
    All v with zero sums over the parts and integers elsewhere, completed by the map, are exactly the integer kernel of A.
    """

    parts: tuple[NDArray[np.intp], ...]
    free: NDArray[np.intp]
    determined: NDArray[np.intp]
    map: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class DeterminedLaplace:
    """`P(z)` proportional to `exp(-rate |z|_1)` on the integer kernel of the invariants that `cells` solves.

    Parts and free cells are drawn from that law (`ZeroSum`, `DiscreteLaplace`) and accepted with probability
    `exp(-rate |z_determined|_1)`. Nothing is rejected where nothing is determined, as for partitions.
    Derivation: docs/theory/lattice.md, 4.

    >>> from designer.sampling.entropy import SeededEntropy
    >>> margins = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]])
    >>> noise = DeterminedLaplace(next(determinations(margins)), Fraction(1, 2)).draw(5, SeededEntropy(1))
    >>> noise.shape, bool((noise @ margins.T).any())
    ((5, 4), False)
    """

    cells: Determination
    rate: Fraction
    _laws: dict[int, ZeroSum] = field(init=False, repr=False)
    _single: DiscreteLaplace = field(init=False, repr=False)

    def __post_init__(self) -> None:
        rate = Fraction(self.rate)
        if not rate > 0:
            raise InvalidProblem(f"rate: {rate} is not positive; give a number above 0.", value=rate)
        assign(self, rate=rate)
        assign(
            self,
            _laws={size: ZeroSum(size, rate) for size in {len(part) for part in self.cells.parts}},
            _single=DiscreteLaplace([rate]),
        )

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """`size` independent vectors, (size, d)."""
        return gathered(lambda rows: self._propose(rows, entropy), self.cells.map.shape[1], size)

    def pilot_acceptance(self, size: int, entropy: Entropy) -> float:
        """The part of `size` proposals that is accepted; 1 without a draw where nothing is determined."""
        return float(self._propose(size, entropy)[1].mean()) if len(self.cells.determined) else 1.0

    def _propose(self, rows: int, entropy: Entropy) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        cells = self.cells
        values = np.zeros((rows, cells.map.shape[1]), dtype=np.int64)
        for part in cells.parts:
            values[:, part] = self._laws[len(part)].draw(rows, entropy)
        values[:, cells.free] = self._single.draw(rows * len(cells.free), entropy).reshape(rows, -1)
        if not len(cells.determined):
            return values, np.ones(rows, dtype=np.bool_)
        values[:, cells.determined] = values @ cells.map.T
        sizes = np.abs(values[:, cells.determined]).sum(axis=1)
        words, exponent = entropy.random_words(rows) >> np.uint64(64 - KEEP_BITS), sizes * float(self.rate)
        kept, open_ = accepted(words, KEEP_BITS, exponent, exponent * 2.0**-51)
        for row in np.flatnonzero(open_):
            chance = -self.rate * int(sizes[row])
            keep = LazyUniform(int(words[row]), KEEP_BITS, entropy)
            # exp(0) = 1 is not a comparison: no number of bits tells a uniform number from 1.
            kept[row] = chance == 0 or keep.below(lambda chance=chance: rational_ball(chance).exp())  # type: ignore[misc]
        return values, kept


def gathered(propose: Proposal, width: int, size: int) -> NDArray[np.int64]:
    """The first `size` accepted vectors, (size, width), of as many rounds of `propose(rows)`,
    which returns vectors and which to keep."""
    drawn = [np.zeros((0, width), dtype=np.int64)]
    missing, most = size, max(1, ENTRIES // width)
    rows = min(size, most)
    while missing:
        values, kept = propose(max(1, rows))
        drawn.append(values[kept][:missing])  # a draw does not depend on how many follow it
        missing -= len(drawn[-1])
        rows = min(most, 2 * rows if not kept.any() else int(1.1 * missing / kept.mean()) + 16)
    return np.concatenate(drawn)


def determinations(matrix: NDArray[np.integer], limit: int = 8) -> Iterator[Determination]:
    """Ways to solve `A v = 0`, those with the fewest determined cells first; none where no choice of cells has an integer map.

    Parts are disjoint supports of invariants with equal coefficients: rows of A or of its reduced echelon form, gathered
    greedily from each of them on.
    matrix A: (k, d) integers. docs/theory/lattice.md, section 4.
    """
    rows = integer_matrix("matrix", matrix)
    echelon = row_echelon(rows).numerators
    supports = [frozenset(np.flatnonzero(row).tolist()) for row in (*rows, *echelon) if len({int(x) for x in row if x}) == 1]
    gathered = {_disjoint_from(start, supports) for start in supports}
    # Rows of a table cover all its cells; the last of them must be left for the columns to determine.
    families = gathered | {family - {part} for family in gathered for part in family} | {frozenset[frozenset[int]]()}
    # A determination has as many determined cells as rank A exceeds the parts in number: most parts first.
    ordered = sorted(families, key=lambda family: (-len(family), sorted(map(sorted, family))))[:MOST_FAMILIES]
    solved = (_solved(echelon, family) for family in ordered)
    yield from islice((cells for cells in solved if cells is not None), limit)


def _disjoint_from(start: frozenset[int], supports: list[frozenset[int]]) -> frozenset[frozenset[int]]:
    """`start` and further supports, small ones first, that share no cell with those taken."""
    taken, cells = [start], set(start)
    for support in sorted(set(supports), key=lambda s: (len(s), sorted(s))):
        if not support & cells:
            taken.append(support)
            cells |= support
    return frozenset(taken)


def _solved(echelon: Integers, family: frozenset[frozenset[int]]) -> Determination | None:
    """The determination with these parts: pivots outside of the parts,
    after the parts' own rows are taken out of the row space.

    With the cells of the parts last, the echelon form of A has as many pivots outside as it can; the remaining rows must
    be the sums of the parts and nothing else, and the map must be integer.
    """
    d, parts = echelon.shape[1], [np.array(sorted(support), dtype=np.intp) for support in sorted(family, key=min)]
    inside = np.concatenate([np.zeros(0, dtype=np.intp), *parts])
    outside = np.setdiff1d(np.arange(d), inside)
    order = np.concatenate([outside, inside])
    form = row_echelon(echelon[:, order]) if len(echelon) else None
    if form is None or not len(form):
        return Determination((), outside, inside[:0], np.zeros((0, d), dtype=np.int64))
    pivots = [next(j for j, x in enumerate(row) if x) for row in form.numerators]
    lead = [i for i, j in enumerate(pivots) if j < len(outside)]
    if len(pivots) - len(lead) != len(parts) or any(form.denominators[i] != 1 for i in lead):
        return None
    determined = outside[[pivots[i] for i in lead]] if lead else inside[:0]
    map_ = np.zeros((len(lead), d), dtype=object)
    map_[:, order] = -form.numerators[lead]
    map_[:, determined] = 0
    if max((abs(x) for x in map_.flat), default=0) >= 2**31:
        return None
    free = np.setdiff1d(outside, determined)
    return Determination(tuple(parts), free, determined, map_.astype(np.int64))

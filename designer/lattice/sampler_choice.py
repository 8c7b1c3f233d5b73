"""Which exact sampler serves a lattice and a norm: decided by structure and by pilot draws, with the reasons kept.

Which sampler draws what: docs/theory/lattice.md, sections 2 to 5.

Exact l1 noise on tables with fixed margins: two lines at once, the sum and the difference of each of their cells.

Exact narrow noise on a lattice: l1 noise that no norm is below,
thinned by what the norm adds (docs/theory/lattice.md, section 2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from math import comb
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from designer.base.checks import assign
from designer.base.errors import InvalidProblem
from designer.lattice.chain import LatticeNorm, LatticeShape, RationalLike, combined
from designer.sampling.body_grids import Rationals
from designer.sampling.entropy import SeededEntropy
from designer.sampling.integer_laplace import DiscreteLaplace, ZeroSum
from designer.sampling.integer_samplers import LazyUniform, accepted
from solvers.exact.balls import rational_ball
from solvers.exact.points import ExactIntegers, as_matrix, entries, integer_matrix, row_echelon
from solvers.exact.rational import integer_rank, root_below
from solvers.lattices.kernel import Lattice, integer_kernel

if TYPE_CHECKING:
    from flint import arb

    from designer.sampling.entropy import Entropy


# Exact l1 noise under linear invariants: free cells and fixed totals are drawn, the cells they determine are accepted or not.


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


def _solved(echelon: ExactIntegers, family: frozenset[frozenset[int]]) -> Determination | None:
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


Integers = NDArray[np.int64]
Cells = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class MirroredLaplace:
    """`P(z)` proportional to `exp(-rate |z|_1)` where each determined cell is `-u - t`,
    u its partner in one part and t what other parts put there.

    Per pair of cells `|u| + |u + t| = max(|w|, |t|)` with `w = 2 u + t`, so w, which has the parity of t and sum 0, is drawn
    from `exp(-rate |w|_1)` and accepted with probability `exp(-rate sum (|t| - |w|)_+)`. That is 9 % of the proposals for a 5 x
    5 table at rate 1/4, where drawing u and accepting the determined cells keeps 0.6 %. It is 3 in 10^4 for 10 x 10.
    Derivation: docs/theory/lattice.md, section 4.

    cells: with parts and determined cells only. partners: the cell of one part that each
    determined cell mirrors (see `partners`).
    """

    cells: Determination
    partners: Cells
    rate: Fraction
    _laws: dict[int, ZeroSum] = field(init=False, repr=False)
    _width: ZeroSum = field(init=False, repr=False)
    _penalty: NDArray[np.float64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        rate = Fraction(self.rate)
        if not rate > 0:
            raise InvalidProblem(f"rate: {rate} is not positive; give a number above 0.", value=rate)
        pairs = len(self.partners)
        assign(self, rate=rate)
        assign(
            self,
            _laws={size: ZeroSum(size, rate) for size in {len(part) for part in self._drawn_parts}},
            _width=ZeroSum(pairs, 2 * rate),
        )
        table = [
            [float(self._kappa(odd, up).log()) if up <= odd else 0.0 for up in range(pairs + 1)]
            for odd in range(0, pairs + 1, 2)
        ]
        assign(self, _penalty=np.array(table))

    @property
    def _drawn_parts(self) -> list[Cells]:
        return [part for part in self.cells.parts if part[0] not in self.partners]

    def draw(self, size: int, entropy: Entropy) -> Integers:
        """`size` independent vectors, (size, d)."""
        return gathered(lambda rows: self._propose(rows, entropy), self.cells.map.shape[1], size)

    def pilot_acceptance(self, size: int, entropy: Entropy) -> float:
        """The part of `size` proposals that is accepted."""
        return float(self._propose(size, entropy)[1].mean())

    def _propose(self, rows: int, entropy: Entropy) -> tuple[Integers, NDArray[np.bool_]]:
        cells = self.cells
        values = np.zeros((rows, cells.map.shape[1]), dtype=np.int64)
        for part in self._drawn_parts:
            values[:, part] = self._laws[len(part)].draw(rows, entropy)
        given = -(values @ cells.map.T)
        odd = given % 2 == 1
        width = 2 * self._width.draw(rows, entropy) + halved_signs(odd, entropy)
        values[:, self.partners] = (width - given) // 2
        values[:, cells.determined] = -(width + given) // 2
        steps = np.maximum(np.abs(given) - np.abs(width), 0).sum(axis=1)
        return values, self._kept(steps, odd.sum(axis=1), (odd & (width > 0)).sum(axis=1), entropy)

    def _kept(self, steps: Integers, odd: Integers, up: Integers, entropy: Entropy) -> NDArray[np.bool_]:
        """Acceptance with probability `exp(-rate steps) / kappa(odd, up)`."""
        words = entropy.random_words(len(steps)) >> np.uint64(64 - KEEP_BITS)
        exponent = steps * float(self.rate) + self._penalty[odd // 2, up]
        kept, open_ = accepted(words, KEEP_BITS, exponent, (exponent + 1.0) * 2.0**-50)
        for row in np.flatnonzero(open_):
            step, o, u = int(steps[row]), int(odd[row]), int(up[row])
            keep = LazyUniform(int(words[row]), KEEP_BITS, entropy)
            # A chance of 1 is not a comparison: no number of bits tells a uniform number from 1.
            kept[row] = (not step and not o) or keep.below(lambda s=step, o=o, u=u: self._chance(s, o, u))  # type: ignore[misc]
        return kept

    def _chance(self, steps: int, odd: int, up: int) -> arb:
        return rational_ball(-self.rate * steps).exp() / self._kappa(odd, up)

    def _kappa(self, odd: int, up: int) -> arb:
        """The mean of `exp(rate <e, s>)` over the signs e with sum 0 on `odd` cells, s the signs of w there,
        `up` of them positive.

        `<e, s> = 4 i - 2 up` where i of the positive cells have e = 1. At least 1, by Jensen's inequality.
        """
        half = odd // 2
        ways = [(i, comb(up, i) * comb(odd - up, half - i)) for i in range(max(0, half - odd + up), min(up, half) + 1)]
        total = sum((n * rational_ball(self.rate * (4 * i - 2 * up)).exp() for i, n in ways), rational_ball(Fraction(0)))
        return total / comb(odd, half)


def partners(cells: Determination) -> Cells | None:
    """For each determined cell the cell of one part that it mirrors, and None where the cells are not so.

    Asked for: no free cells; one part that each determined cell sees in a cell of its own with coefficient -1; and every
    other part seen by all determined cells together with one coefficient, so that what they are given sums to 0. A
    multiple of a part's total, which is 0, may be added to what a determined cell sees.
    """
    if len(cells.free) or len(cells.determined) < 2:
        return None
    if any(len({int(x) for x in cells.map[:, part].sum(axis=0)}) > 1 for part in cells.parts):
        return None
    for part in cells.parts:
        block = cells.map[:, part] - np.median(cells.map[:, part], axis=1).astype(np.int64)[:, None]
        square = block.shape[0] == block.shape[1]
        # Minus a permutation: one -1 in every row and column, nothing else.
        if square and all((np.sort(side, axis=0) == [[-1], *[[0]] * (len(part) - 1)]).all() for side in (block, block.T)):
            return np.asarray(part[np.argmin(block, axis=1)])
    return None


def halved_signs(marked: NDArray[np.bool_], entropy: Entropy) -> Integers:
    """1 on a uniformly chosen half of the marked places of each row, which are even in number, -1 on the others, 0 elsewhere.

    marked: (n, k). Returns (n, k).
    """
    top = np.uint64(1 << 63)
    words = entropy.random_words(marked.size).reshape(marked.shape) >> np.uint64(1)
    words = np.where(marked, words, top)
    ordered, half = np.sort(words, axis=1), marked.sum(axis=1) // 2
    rows = np.arange(len(marked))
    last = ordered[rows, np.maximum(half - 1, 0)]
    signs = np.where(marked, np.where(words <= last[:, None], 1, -1), 0)
    tied = (half > 0) & (last == ordered[rows, np.minimum(half, marked.shape[1] - 1)])
    if tied.any():  # 2^-63 a pair: two words agree where the half ends
        signs[tied] = halved_signs(marked[tied], entropy)
    return np.asarray(signs, dtype=np.int64)


class L1Sampler(Protocol):
    """Draws integer vectors of a lattice, (size, d), with `P(z)` proportional to `exp(-rate |z|_1)`."""

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]: ...


@dataclass(frozen=True, eq=False)
class ThinnedL1:
    """Lattice vectors z with `P(z)` exactly proportional to `exp(-||z||)`: `proposals` of `exp(-rate |z|_1)` are accepted with
    probability `exp(rate |z|_1 - ||z||)`. `rate |z|_1 <= ||z||` must hold on the whole lattice (see `rate_below_l2`,
    `rate_below_ellipsoid`, `rate_below_polytope`).

    Made for noise so narrow that most proposals are 0, which is always accepted;
    rounding, which costs `exp(-||half a cell||)`, is for wide noise.
    """

    shape: LatticeShape
    proposals: L1Sampler
    rate: Fraction

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """`size` independent lattice vectors, (size, d)."""
        return gathered(lambda rows: self._propose(rows, entropy), self.shape.lattice.ambient, size)

    def pilot_acceptance(self, size: int, entropy: Entropy) -> float:
        """The part of `size` proposals that is accepted."""
        return float(self._propose(size, entropy)[1].mean())

    def _propose(self, rows: int, entropy: Entropy) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        values = self.proposals.draw(rows, entropy)
        words = entropy.random_words(rows) >> np.uint64(64 - KEEP_BITS)
        kept = np.ones(rows, dtype=np.bool_)  # at 0 both norms are 0
        moved = np.flatnonzero(values.any(axis=1))
        if not len(moved):
            return values, kept
        places, sizes = self.shape.lattice.coordinates(values[moved]).astype(np.int64), np.abs(values[moved]).sum(axis=1)
        length, error = self.shape.shape.norm(places)
        below = sizes * float(self.rate)
        kept[moved], open_ = accepted(words[moved], KEEP_BITS, length - below, error + (length + below) * 2.0**-50)
        for i in np.flatnonzero(open_):
            kept[moved[i]] = self._decide(places[i].tolist(), int(sizes[i]), int(words[moved[i]]), entropy)
        return values, kept

    def _decide(self, place: list[int], size: int, word: int, entropy: Entropy) -> bool:
        """One acceptance in ball arithmetic."""
        below = self.rate * size
        return LazyUniform(word, KEEP_BITS, entropy).below(
            lambda: (rational_ball(below) - self.shape.shape.norm_ball(place)).exp()
        )


def rate_below_l2(lattice: Lattice, rate: RationalLike) -> Fraction:
    """r with `r |z|_1 <= rate |z|_2` on the lattice: `|z|_1 <= root(k) |z|_2` for vectors with k cells other than 0."""
    return Fraction(rate) * root_below(Fraction(1, int(np.count_nonzero(lattice.basis.any(axis=0)))))


def rate_below_polytope(vertices: Rationals) -> Fraction:
    """The largest r with `r |z|_1 <= ||z||`: the l1 norm is convex, so that it is largest at a vertex of the unit ball."""
    return 1 / max(sum((abs(Fraction(x)) for x in vertex), Fraction(0)) for vertex in vertices)


def rate_below_ellipsoid(lattice: Lattice, factor: Sequence[Sequence[RationalLike]]) -> Fraction:
    """r with `r |z|_1 <= |F z|_2` on the lattice, by `s |z|_2 <= |F z|_2`: floats propose s, and that `G_F - s^2 G` is positive
    definite, G_F and G the Gram matrices of the basis, is proven by its leading minors. ValueError where no s is proven."""
    below = math.lcm(*(Fraction(x).denominator for row in factor for x in row))
    whole = np.array([[int(Fraction(x) * below) for x in row] for row in factor], dtype=object)
    images = whole @ lattice.basis.T
    gram = images.T @ images
    floats = np.array([[float(x) for x in row] for row in factor]) @ lattice.basis.T.astype(np.float64)
    least = np.linalg.svd(floats @ np.linalg.inv(np.linalg.qr(lattice.basis.T.astype(np.float64))[1]), compute_uv=False)[-1]
    scale = Fraction(float(least) * (1 - 2.0**-10))
    ratio = (scale * below) ** 2
    if not (scale > 0 and _positive_definite(gram * ratio.denominator - lattice.gram * ratio.numerator)):
        raise InvalidProblem("factor: no l1 norm is proven below this ellipsoid's; give an l2 norm with another matrix.")
    return rate_below_l2(lattice, scale)


def _positive_definite(matrix: NDArray[np.object_]) -> bool:
    """Sylvester: all leading minors of a symmetric integer matrix are positive.
    Elimination that exchanges rows has met one that is 0."""
    order, _, _, upper = as_matrix(matrix).fflu()
    unmoved = (entries(order) == np.eye(len(matrix), dtype=int)).all()
    return bool(unmoved and all(int(minor) > 0 for minor in entries(upper).diagonal()))


LEAST_ACCEPTANCE = 2e-5  # about 2 s a draw for 100 cells; chains that long are not known to have converged
PILOT, LONG_PILOT = (
    20_000,
    200_000,
)  # proposals; seeded, because acceptance depends on nothing confidential and equal designs must choose alike


class LatticeSampler(Protocol):
    """Draws integer vectors of a lattice, (size, d)."""

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]: ...


@dataclass(frozen=True)
class EllipsoidNorm:
    """`||z|| = |F z|_2`, F (K, d) of rationals, injective on the lattice."""

    factor: Sequence[Sequence[RationalLike]]


@dataclass(frozen=True)
class PolytopeNorm:
    """The gauge of a polytope in the span of the lattice, given as `PolytopeGrid` wants it, in coordinates of R^d,
    for rate 1."""

    vertices: Rationals
    simplices: Sequence[Sequence[int]]
    facets: Rationals


@dataclass(frozen=True)
class LatticeChoice:
    """An exact sampler and why it was chosen; `sampler` is None where nothing exact is feasible.

    method: "origin", "line", "totals", "determined cells", "mirrored cells", "nearest plane", "thinned l1", or "none".
    acceptance: the part of the proposals that becomes noise, measured or computed.
    considered: one sentence for each way that was looked at.
    """

    method: str
    acceptance: float
    sampler: LatticeSampler | None
    considered: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class LineLaplace:
    """Noise on a lattice of dimension 1 with generator b: `z = k b`, k a discrete Laplace number of rate `||b||`,
    for any norm."""

    lattice: Lattice
    law: DiscreteLaplace

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """`size` independent vectors, (size, d)."""
        return combined(self.law.draw(size, entropy), self.lattice)


@dataclass(frozen=True)
class NoNoise:
    """The zeros that a lattice of dimension 0 leaves."""

    ambient: int

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """Zeros, (size, d)."""
        return np.zeros((size, self.ambient), dtype=np.int64)


def lattice_sampler_for(
    matrix: NDArray[np.integer], norm: str | EllipsoidNorm | PolytopeNorm, rate: RationalLike, lattice: Lattice | None = None
) -> LatticeChoice:
    """The exact sampler of `P(z)` proportional to `exp(-rate ||z||)` on `{z integer : A z = 0}`;
    `norm` is "l1", "l2" or a body.

    `lattice` is the kernel of A if it is known already. l1 wants fixed totals or few determined cells, the others nearest plane
    or, where the noise is too narrow for that, l1 noise that is thinned;
    a lattice of dimension 1 needs none of that in the l1 norm.

    >>> lattice_sampler_for(np.ones((1, 5), dtype=int), "l1", Fraction(1, 4)).method
    'totals'
    """
    rate = Fraction(rate)
    if not rate > 0:
        raise InvalidProblem(f"rate: {rate} is not positive; give a number above 0.", value=rate)
    rows = integer_matrix("matrix", matrix)
    dimension = rows.shape[1] - integer_rank(rows.tolist())
    if not dimension:
        return LatticeChoice("origin", 1.0, NoNoise(rows.shape[1]), ("Only the origin belongs to the lattice: no noise.",))
    if norm == "l1" and dimension > 1:  # needs no basis: all counties of a country at once are 3,000 cells
        return _for_l1(matrix, rate)
    lattice = integer_kernel(matrix) if lattice is None else lattice
    return _on_a_line(lattice, rate) if norm == "l1" else _for_norm(matrix, lattice, norm, rate)


def _on_a_line(lattice: Lattice, rate: Fraction) -> LatticeChoice:
    law = DiscreteLaplace([rate * sum(abs(int(x)) for x in lattice.basis[0])])
    return LatticeChoice("line", 1.0, LineLaplace(lattice, law), ("One generator: its multiples are discrete Laplace.",))


def _for_l1(matrix: NDArray[np.integer], rate: Fraction) -> LatticeChoice:
    considered: list[str] = []
    best: tuple[float, str, LatticeSampler | None] = (0.0, "none", None)
    tried = set()
    for cells in determinations(matrix):
        mirrored = partners(cells)
        sizes = tuple(sorted(map(len, cells.parts)))
        if mirrored is not None and (sizes, len(mirrored)) in tried:  # nothing else enters the law
            continue
        tried.add((sizes, 0 if mirrored is None else len(mirrored)))
        sampler = DeterminedLaplace(cells, rate) if mirrored is None else MirroredLaplace(cells, mirrored, rate)
        acceptance = _pilot(sampler, mirrored is not None)
        considered.append(_sentence(cells, acceptance, mirrored is not None))
        if not len(cells.determined):
            return LatticeChoice("totals", 1.0, sampler, tuple(considered))
        best = max(
            best, (acceptance, "determined cells" if mirrored is None else "mirrored cells", sampler), key=lambda b: b[0]
        )
    said = tuple(dict.fromkeys(considered))
    acceptance, method, chosen = best
    if acceptance < LEAST_ACCEPTANCE:
        return LatticeChoice("none", acceptance, None, (*said, "No way accepts one proposal in 50,000."))
    return LatticeChoice(method, acceptance, chosen, said)


def _pilot(sampler: DeterminedLaplace | MirroredLaplace, mirrored: bool) -> float:
    """Acceptance by pilot draws, by more of them where a mirrored table accepts few: the next best way is none."""
    short = sampler.pilot_acceptance(PILOT, SeededEntropy(0))
    if not mirrored or short * PILOT >= 10:
        return short
    rounds = LONG_PILOT // PILOT
    return sum(sampler.pilot_acceptance(PILOT, SeededEntropy(1 + i)) for i in range(rounds)) / rounds


def _sentence(cells: Determination, acceptance: float, mirrored: bool) -> str:
    kind = "mirrored" if mirrored else "determined"
    parts = f"{len(cells.parts)} fixed totals, {len(cells.free)} free cells, {len(cells.determined)} {kind} cells"
    return f"{parts}: accepts {acceptance:.2g} of the proposals."


def _for_norm(
    matrix: NDArray[np.integer], lattice: Lattice, norm: str | EllipsoidNorm | PolytopeNorm, rate: Fraction
) -> LatticeChoice:
    """Nearest plane where the noise is wide; where it is too narrow for that, l1 noise that is thinned."""
    try:
        shape = _shape(lattice, norm, rate)
    except ValueError as refusal:
        return LatticeChoice("none", 0.0, None, (f"Nearest plane: {refusal}",))
    try:
        sampler = LatticeNorm.of(shape)
    except ValueError as refusal:
        return _by_thinning(matrix, shape, norm, rate, f"Nearest plane: {refusal}")
    sentence = f"Nearest plane in {lattice.dimension} dimensions: accepts {sampler.acceptance:.2g} of the proposals."
    return LatticeChoice("nearest plane", sampler.acceptance, sampler, (sentence,))


def _shape(lattice: Lattice, norm: str | EllipsoidNorm | PolytopeNorm, rate: Fraction) -> LatticeShape:
    if isinstance(norm, EllipsoidNorm):
        return LatticeShape.ellipsoid(lattice, [[Fraction(x) * rate for x in row] for row in norm.factor])
    if isinstance(norm, PolytopeNorm):
        vertices = [[Fraction(x) / rate for x in row] for row in norm.vertices]
        facets = [[Fraction(x) * rate for x in row] for row in norm.facets]
        return LatticeShape.polytope(lattice, vertices, norm.simplices, facets)
    if norm == "l2":
        return LatticeShape.euclidean(lattice, rate)
    raise TypeError(f"norm: {norm!r}; give 'l1', 'l2', an Ellipsoid or a Polytope.")


def _by_thinning(
    matrix: NDArray[np.integer], shape: LatticeShape, norm: str | EllipsoidNorm | PolytopeNorm, rate: Fraction, refusal: str
) -> LatticeChoice:
    try:
        least = rate * _rate_below(shape.lattice, norm)
    except ValueError as unproven:
        return LatticeChoice("none", 0.0, None, (refusal, f"Thinned l1: {unproven}"))
    proposals = lattice_sampler_for(matrix, "l1", least, shape.lattice)
    if proposals.sampler is None:
        return LatticeChoice("none", 0.0, None, (refusal, *(f"Thinned l1: {said}" for said in proposals.considered)))
    sampler = ThinnedL1(shape, proposals.sampler, least)
    acceptance = proposals.acceptance * sampler.pilot_acceptance(PILOT, SeededEntropy(0))
    said = (refusal, f"Thinned l1 noise: accepts {acceptance:.2g} of the proposals.")
    found = acceptance >= LEAST_ACCEPTANCE
    return LatticeChoice("thinned l1" if found else "none", acceptance, sampler if found else None, said)


def _rate_below(lattice: Lattice, norm: str | EllipsoidNorm | PolytopeNorm) -> Fraction:
    """r with `r |z|_1 <= ||z||` on the lattice."""
    if isinstance(norm, EllipsoidNorm):
        return rate_below_ellipsoid(lattice, norm.factor)
    return rate_below_polytope(norm.vertices) if isinstance(norm, PolytopeNorm) else rate_below_l2(lattice, 1)

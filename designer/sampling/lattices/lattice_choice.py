"""Which exact sampler serves a lattice and a norm: decided by structure and by pilot draws, with the reasons kept.

Which sampler draws what: docs/theory/lattice.md, sections 2 to 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from designer.base.errors import InvalidProblem
from designer.sampling.bodies.star_triangulation import Rationals
from designer.sampling.entropy import SeededEntropy
from designer.sampling.integers.discrete_laplace import DiscreteLaplace
from designer.sampling.lattices.determined_cells import Determination, DeterminedLaplace, determinations
from designer.sampling.lattices.lattice_norm import LatticeNorm, LatticeShape, RationalLike, combined
from designer.sampling.lattices.mirrored_cells import MirroredLaplace, partners
from designer.sampling.lattices.thinned_l1 import ThinnedL1, rate_below_ellipsoid, rate_below_l2, rate_below_polytope
from solvers.exact.hermite import integer_matrix
from solvers.exact.rational import integer_rank
from solvers.lattices.kernel import Lattice, integer_kernel

if TYPE_CHECKING:
    from designer.sampling.entropy import Entropy

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
        raise InvalidProblem(f"rate: {rate} is not positive.")
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

"""Exact narrow noise on a lattice: l1 noise that no norm is below,
thinned by what the norm adds (docs/theory/lattice.md, section 2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from designer.base.errors import InvalidProblem
from designer.sampling.bodies.star_triangulation import Rationals
from designer.sampling.continuous import accepted
from designer.sampling.lattices.determined_cells import KEEP_BITS, gathered
from designer.sampling.lattices.lattice_norm import LatticeShape, RationalLike
from designer.sampling.lazy_uniform import LazyUniform
from solvers.exact.balls import rational_ball
from solvers.exact.hermite import as_matrix, entries
from solvers.exact.rational import root_below
from solvers.lattices.kernel import Lattice

if TYPE_CHECKING:
    from designer.sampling.entropy import Entropy


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
        raise InvalidProblem("factor: no l1 norm is proven below this ellipsoid's.")
    return rate_below_l2(lattice, scale)


def _positive_definite(matrix: NDArray[np.object_]) -> bool:
    """Sylvester: all leading minors of a symmetric integer matrix are positive.
    Elimination that exchanges rows has met one that is 0."""
    order, _, _, upper = as_matrix(matrix).fflu()
    unmoved = (entries(order) == np.eye(len(matrix), dtype=int)).all()
    return bool(unmoved and all(int(minor) > 0 for minor in entries(upper).diagonal()))

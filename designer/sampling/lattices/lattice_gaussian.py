"""Exact discrete Gaussians on lattices: Klein's nearest-plane proposal, accepted so that the law is exact."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.declared import assign
from designer.base.errors import InvalidProblem
from designer.sampling.integer_samplers import LazyUniform, accepted, resolve
from designer.sampling.integers.centred_gaussian import CentredGaussian
from designer.sampling.integers.theta_ratio import ThetaRatio
from designer.sampling.lattices.lattice_norm import combined
from solvers.lattices.kernel import Lattice, gram_schmidt

if TYPE_CHECKING:
    from flint import arb

    from designer.sampling.entropy import Entropy

KEEP_BITS = 53
BATCH = 2**17  # coordinates at a time


@dataclass(frozen=True, eq=False)
class LatticeGaussian:
    """Lattice vectors with `P(z)` proportional to `exp(-z' P z / 2)`,
    P a positive definite rational matrix: `isotropic` is P = I / variance.

    Coefficients are drawn from the last to the first, each an exact discrete Gaussian of variance `v_i` around the exact
    rational centre that the later ones leave. The vector is then accepted with probability `prod rho(Z - c_i) / rho(Z)`, which
    makes the law exact (docs/theory/lattice.md, section 5).
    Wide Gaussians are nearly always accepted: the ratio is 1 to within `8 exp(-2 pi^2 v_i)`.

    >>> from solvers.lattices.kernel import integer_kernel
    >>> from designer.sampling.entropy import SeededEntropy
    >>> noise = LatticeGaussian.isotropic(integer_kernel([[1, 1, 1]]), Fraction(9))
    >>> noise.draw(4, SeededEntropy(1)).sum(axis=1).tolist()
    [0, 0, 0, 0]
    """

    lattice: Lattice
    variances: tuple[Fraction, ...]  # of the coefficients, given the later ones
    shear: tuple[tuple[Fraction, ...], ...]  # Gram-Schmidt coefficients in the form z' P z
    _levels: tuple[CentredGaussian, ...] = field(init=False, repr=False)
    _ratios: tuple[ThetaRatio, ...] = field(init=False, repr=False)
    _shear: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        m = self.lattice.dimension
        if len(self.variances) != m or not m:
            raise InvalidProblem(f"lattice: of dimension {m}; give one with at least one dimension, and a variance for each.")
        shear = np.zeros((m, m))
        for i, row in enumerate(self.shear):
            shear[i, :i] = [float(mu) for mu in row]
        shear.setflags(write=False)
        assign(self, _levels=tuple(CentredGaussian(variance) for variance in self.variances))
        assign(self, _ratios=tuple(ThetaRatio(variance) for variance in self.variances), _shear=shear)

    @classmethod
    def isotropic(cls, lattice: Lattice, variance: Fraction) -> LatticeGaussian:
        """`P(z)` proportional to `exp(-|z|_2^2 / (2 variance))`."""
        variance = Fraction(variance)
        if not variance > 0:
            raise InvalidProblem(f"variance: {variance} is not positive; give a number above 0.", value=variance)
        return cls(lattice, tuple(variance / square for square in lattice.squared_lengths), lattice.shear)

    @classmethod
    def ellipsoid(cls, lattice: Lattice, precision: NDArray[np.object_]) -> LatticeGaussian:
        """`P(z)` proportional to `exp(-z' P z / 2)`; `precision` (d, d) symmetric, of rationals,
        positive definite on the span of the lattice.

        The basis is reduced for this form.
        """
        exact = [[Fraction(x) for x in row] for row in precision]
        values, vectors = np.linalg.eigh(np.array([[float(x) for x in row] for row in exact]))
        root = (vectors * np.sqrt(np.maximum(values, 0.0))).T
        lattice, below = lattice.reduced_for(root), math.lcm(*(x.denominator for row in exact for x in row))
        whole = np.array([[int(x * below) for x in row] for row in exact], dtype=object)
        squares, shear = gram_schmidt(lattice.basis @ whole @ lattice.basis.T)
        return cls(lattice, tuple(below / square for square in squares), shear)

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """`size` independent lattice vectors, (size, d)."""
        m = self.lattice.dimension
        drawn = np.empty((size, m), dtype=np.int64)
        rows = max(1, BATCH // m)
        for start in range(0, size, rows):
            waiting = np.arange(start, min(start + rows, size))
            while waiting.size:
                values, kept = self._propose(waiting.size, entropy)
                drawn[waiting[kept]] = values[kept]
                waiting = waiting[~kept]
        return combined(drawn, self.lattice)

    def pilot_acceptance(self, size: int, entropy: Entropy) -> float:
        """The part of `size` proposals that is accepted."""
        return float(self._propose(size, entropy)[1].mean())

    def _propose(self, rows: int, entropy: Entropy) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        m = self.lattice.dimension
        chosen, exponent, error = np.zeros((m, rows)), np.zeros(rows), np.zeros(rows)
        for i in reversed(range(m)):
            centre, doubt = self._centres(chosen, i)

            def exact(row: int, i: int = i) -> Fraction:
                return self._centre(chosen[:, row], i)

            chosen[i] = self._levels[i].draw(centre, doubt, exact, entropy)
            added, off = self._ratios[i].exponent(centre, doubt)
            exponent += added
            error += off
        words = entropy.random_words(rows) >> np.uint64(64 - KEEP_BITS)
        kept, open_ = accepted(words, KEEP_BITS, exponent, error + exponent * (m * 2.0**-52))
        for row in np.flatnonzero(open_):
            kept[row] = self._decide(chosen[:, row], LazyUniform(int(words[row]), KEEP_BITS, entropy))
        return chosen.T.astype(np.int64), kept

    def _centres(self, chosen: Floats, i: int) -> tuple[Floats, Floats]:
        """`c_i = - sum over j > i of mu_ji z_j` and its error: two roundings a product, m in the sum."""
        column, later = self._shear[i + 1 :, i], chosen[i + 1 :]
        return -(column @ later), (np.abs(column) @ np.abs(later)) * ((len(self._shear) + 2) * 2.0**-53)

    def _centre(self, chosen: Floats, i: int) -> Fraction:
        """c_i exactly."""
        return -sum((self.shear[j][i] * int(chosen[j]) for j in range(i + 1, len(chosen)) if chosen[j]), Fraction(0))

    def _decide(self, chosen: Floats, keep: LazyUniform) -> bool:
        """The acceptance in ball arithmetic. Levels whose centre is an integer have ratio 1."""
        centres = [self._centre(chosen, i) for i in range(len(chosen))]
        open_ = [(ratio, centre) for ratio, centre in zip(self._ratios, centres, strict=True) if centre.denominator != 1]
        if not open_:
            return True

        def kept() -> bool | None:
            product: arb = math.prod(ratio.ball(centre) for ratio, centre in open_)  # type: ignore[assignment]
            return keep.is_below(product)

        return resolve([keep], kept)

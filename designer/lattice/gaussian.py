"""Exact discrete Gaussians on lattices: Klein's nearest-plane proposal, accepted so that the law is exact."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.checks import assign
from designer.base.errors import InvalidProblem
from designer.lattice.chain import combined
from designer.sampling.integer_gaussian import CentredGaussian
from designer.sampling.integer_laplace import ThetaRatio
from designer.sampling.integer_samplers import LazyUniform, accepted, resolve
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


# Klein's proposal in coordinates whose centres are ratios of small integers: steps of many draws at once, exact acceptance.


Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Level:
    """Coordinates of one variance."""

    variance: Fraction
    law: CentredGaussian = field(init=False, compare=False)
    ratio: ThetaRatio = field(init=False, compare=False)

    def __post_init__(self) -> None:
        assign(self, law=CentredGaussian(self.variance))
        assign(self, ratio=ThetaRatio(self.variance))


@dataclass(eq=False)
class KleinSteps:
    """`rows` vectors that grow by discrete Gaussian coordinates and are then accepted with probability
    `prod rho(Z - centre) / rho(Z)`, which makes their joint law the Gaussian one (docs/theory/lattice.md, section 5)."""

    rows: int
    entropy: Entropy
    _exponent: Floats = field(init=False, repr=False)
    _error: Floats = field(init=False, repr=False)
    _steps: list[tuple[Level, Integers, int]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._exponent, self._error, self._steps = np.zeros(self.rows), np.zeros(self.rows), []

    def draw(self, level: Level, numerators: Integers, denominator: int) -> Integers:
        """Integers around the centres `numerators / denominator`, (rows, k), any number of them a row."""
        flat = numerators.ravel()
        centres = flat.astype(np.float64) / denominator
        doubts = np.abs(centres) * 2.0**-51
        drawn = level.law.draw(centres, doubts, lambda i: Fraction(int(flat[i]), denominator), self.entropy)
        exponent, error = level.ratio.exponent(centres, doubts)
        self._exponent += exponent.reshape(numerators.shape).sum(axis=1)
        self._error += error.reshape(numerators.shape).sum(axis=1)
        self._steps.append((level, numerators, denominator))
        return drawn.astype(np.int64).reshape(numerators.shape)

    def kept(self) -> NDArray[np.bool_]:
        """Which of the rows are accepted."""
        words = self.entropy.random_words(self.rows) >> np.uint64(64 - KEEP_BITS)
        terms = sum(numerators.shape[1] for _, numerators, _ in self._steps) + 1
        kept, open_ = accepted(words, KEEP_BITS, self._exponent, self._error + self._exponent * (terms * 2.0**-52))
        for row in np.flatnonzero(open_):
            kept[row] = self._decide(int(row), LazyUniform(int(words[row]), KEEP_BITS, self.entropy))
        return kept

    def _decide(self, row: int, keep: LazyUniform) -> bool:
        """The acceptance in ball arithmetic. Coordinates whose centre is an integer have ratio 1."""
        centres = [
            (level.ratio, Fraction(int(numerator), denominator))
            for level, numerators, denominator in self._steps
            for numerator in numerators[row]
            if int(numerator) % denominator
        ]
        if not centres:
            return True

        def below() -> bool | None:
            chance: arb = math.prod(ratio.ball(centre) for ratio, centre in centres)  # type: ignore[assignment]
            return keep.is_below(chance)

        return resolve([keep], below)

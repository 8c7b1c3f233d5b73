"""Exact discrete Gaussians of one variance around many centres, each known as a float with an error and,
when asked, exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.declared import assign
from designer.base.errors import InvalidProblem
from designer.sampling.integer_samplers import (
    COIN_BITS,
    PLACE_BITS,
    GaussianPlan,
    LazyUniform,
    accepted,
    log_eta,
    nearest,
    normal_pair,
)

if TYPE_CHECKING:
    from designer.sampling.entropy import Entropy

LARGEST_VARIANCE = 2**80
LEAST_VARIANCE = Fraction(
    1, 2**40
)  # below it the slack of the float bound rejects nearly every proposal, and noise is 0 but for exp(-2^39)


@dataclass(frozen=True)
class CentredGaussian:
    """Integers with `P(z)` proportional to `exp(-(z - c)^2 / (2 variance))`, c another number in every draw.

    The method is that of `DiscreteGaussian` (docs/theory/sampling.md, section 2) without blocks; the constant of the rejection
    step is a float function of the float centre, which is as good as any other that is large enough.
    """

    variance: Fraction
    inflation: Fraction = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not LEAST_VARIANCE <= self.variance <= LARGEST_VARIANCE:
            raise InvalidProblem(
                f"variance: {float(self.variance)!r} of a coefficient is not in [2^-40, 2^80]; rescale.", value=self.variance
            )
        assign(self, inflation=1 + Fraction(2) ** log_eta(self.variance, 0))

    def draw(self, centres: Floats, errors: Floats, exact: Callable[[int], Fraction], entropy: Entropy) -> Floats:
        """One integer per centre, as floats; `exact(i)` is the i-th centre, within `errors[i]` of `centres[i]`.

        centres, errors: (n,). Returns (n,). docs/theory/lattice.md, section 5.
        """
        base = np.rint(centres)
        offsets, errors = centres - base, errors + np.abs(centres) * 2.0**-52
        bounds = self._bounds(offsets, errors)
        drawn, waiting = np.empty_like(centres), np.arange(len(centres))
        while waiting.size:

            def offset(i: int, rows: NDArray[np.intp] = waiting) -> Fraction:
                return exact(int(rows[i])) - int(base[rows[i]])

            values, kept = self._propose(offsets[waiting], errors[waiting], bounds[waiting], offset, entropy)
            drawn[waiting[kept]] = values[kept] + base[waiting[kept]]
            waiting = waiting[~kept]
        return drawn

    def _bounds(self, offsets: Floats, errors: Floats) -> Floats:
        """M of `GaussianPlan` for each centre: the chance of the coin is at most 1."""
        wide, precision = float(self.inflation), float(min(1 / (2 * self.variance), Fraction(2**900)))
        size = np.abs(offsets) + errors
        top = np.maximum(0.5 / (wide - 1.0), size)
        # (top + 1/2)^2 / wide - top^2 without the difference of large squares.
        excess = (top + 0.25 - top**2 * (wide - 1.0)) / wide
        return (excess + size**2 + (excess + 1.0) * 2.0**-40) * precision

    def _propose(
        self, offsets: Floats, errors: Floats, bounds: Floats, exact: Callable[[int], Fraction], entropy: Entropy
    ) -> tuple[Floats, NDArray[np.bool_]]:
        rows, pairs = len(offsets), (len(offsets) + 1) // 2
        radius, angle, last = np.split(entropy.random_words(2 * pairs + rows), [pairs, 2 * pairs])
        cosine, sine, off = normal_pair(radius, angle)
        normal, off = np.concatenate([cosine, sine])[:rows], np.concatenate([off, off])[:rows]
        spread = float(self.variance * self.inflation) ** 0.5
        z, doubtful = nearest(normal * spread + offsets + 0.5, off * spread + errors)
        kept, open_ = accepted(
            last >> np.uint64(PLACE_BITS), COIN_BITS, *self._exponent(z, offsets, errors, normal, off, bounds)
        )
        values, shared = z.astype(np.float64), dict[int, tuple[LazyUniform, LazyUniform]]()
        for i in np.flatnonzero(doubtful | open_):
            pair = int(i) % pairs  # cosine and sine of a pair must see the same further bits
            polar = shared.setdefault(
                pair, (LazyUniform(int(radius[pair]), 64, entropy), LazyUniform(int(angle[pair]), 64, entropy))
            )
            plan = GaussianPlan(self.variance, exact(int(i)), 0, self.inflation, Fraction(float(bounds[i])))
            values[i], kept[i] = plan.decide(polar, int(i >= pairs), int(last[i]), entropy)
        return values, kept

    def _exponent(
        self, z: NDArray[np.int64], offsets: Floats, errors: Floats, normal: Floats, off: Floats, bounds: Floats
    ) -> tuple[Floats, Floats]:
        """`((z - c)^2 - c^2) / (2 v) + bound - normal^2 / 2` and its error."""
        floats, precision = z.astype(np.float64), float(min(1 / (2 * self.variance), Fraction(2**900)))
        with np.errstate(over="ignore", invalid="ignore"):
            energy = floats * (floats - 2.0 * offsets) * precision
            error = off * (np.abs(normal) + off) + np.abs(floats) * precision * (2.0 * errors + 2.0**-50)
            return energy + bounds - 0.5 * normal**2, error + (np.abs(energy) + bounds) * 2.0**-50

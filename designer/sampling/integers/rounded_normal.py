"""Normal noise rounded to the integers, exactly: what a Gaussian mechanism releases when its answers are rounded to a grid.

Nothing is rejected. A draw is a function of uniform words; floats with an error bound tell most of its roundings, and further
bits in ball arithmetic the rest. Derivation: docs/theory/sampling.md, section 5.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.declared import assign
from designer.base.errors import InvalidProblem
from designer.sampling import integer_samplers
from designer.sampling.integer_samplers import LazyUniform, resolve
from solvers.exact.balls import rational_ball

if TYPE_CHECKING:
    from flint import arb

    from designer.sampling.entropy import Entropy

LEAST_DEVIATION, LARGEST_DEVIATION = Fraction(1, 2**500), Fraction(2) ** 55  # 64 deviations fit 61 bits
BATCH = 2**16
WIDE, WIDER = 2.0, 100.0  # deviations in steps beyond which a moment is known by its expansion to 2^-52 and 2^-36
STEPS = 40  # deviations beyond which a normal variable has no probability in floats


@dataclass(frozen=True)
class RoundedNormal:
    """Independent `floor(s_i N_i + 1/2)`, N_i standard normal: rational deviations s_i in steps.

    >>> from designer.sampling.entropy import SeededEntropy
    >>> RoundedNormal([Fraction(1, 3), Fraction(2**40)]).draw(3, SeededEntropy(1)).shape
    (3, 2)
    """

    deviations: Sequence[Fraction]
    _floats: Floats = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        exact = tuple(Fraction(deviation) for deviation in self.deviations)
        if not exact or not all(LEAST_DEVIATION <= deviation <= LARGEST_DEVIATION for deviation in exact):
            raise InvalidProblem("deviations: one is beyond 2^55 steps, or nearer to 0 than 2^-500; use another grid.")
        assign(self, deviations=exact, _floats=np.array([float(deviation) for deviation in exact]))

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """`size` draws, (size, s)."""
        s = len(self.deviations)
        rows = max(1, BATCH // s)
        parts = [self._batch(min(rows, size - start), entropy) for start in range(0, size, rows)]
        return np.concatenate(parts) if parts else np.zeros((0, s), dtype=np.int64)

    def _batch(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        words = entropy.random_words(2 * size * len(self.deviations)).reshape(2, size, -1)
        normal, _, error = integer_samplers.normal_pair(words[0], words[1])
        place = normal * self._floats
        rounded, unsettled = integer_samplers.nearest(
            place + 0.5, (error + np.abs(normal) * 2.0**-50) * self._floats + 2.0**-52
        )
        for row, k in np.argwhere(unsettled).tolist():
            uniforms = [LazyUniform(int(word), 64, entropy) for word in words[:, row, k]]
            rounded[row, k] = _resolved(uniforms, self.deviations[k])
        return rounded

    def variance(self) -> Floats:
        """Of each coordinate, in squared steps: `s^2 + 1/12` and less than 2^-52 of it, or the sum over all integers."""
        return rounded_variances(self._floats)

    def mean_absolute(self) -> Floats:
        """E|z| of each coordinate, in steps, to 2^-36."""
        return rounded_absolutes(self._floats)


def _resolved(uniforms: list[LazyUniform], deviation: Fraction) -> int:
    """The rounding of the normal number that two uniforms stand for, with as many of their bits as it takes."""

    def rounding() -> int | None:
        place = integer_samplers.normal_pair_balls(*uniforms)[0] * rational_ball(deviation) + rational_ball(Fraction(1, 2))
        floor = place.floor().unique_fmpz()
        return None if floor is None else int(floor)

    return resolve(uniforms, rounding)


def rounded_variances(deviations: Floats) -> Floats:
    """Variances of normal variables with these deviations, rounded to whole numbers: (s,) in steps, (s,) in squared steps."""
    return np.array([_variance(float(s)) for s in deviations])


def rounded_absolutes(deviations: Floats) -> Floats:
    """Their expected absolute values, (s,), to 2^-36."""
    return np.array([_mean_absolute(float(s)) for s in deviations])


def _tails(s: float) -> tuple[Floats, Floats]:
    """`P(z >= m)` for m = 1, 2, ... up to `STEPS` deviations, and those m."""
    from scipy.special import ndtr

    m = np.arange(1, max(2, math.ceil(STEPS * s) + 2), dtype=np.float64)
    return np.asarray(ndtr((0.5 - m) / s)), m


def _variance(s: float) -> float:
    """`E z^2 = 2 sum_m (2 m - 1) P(z >= m)`; from `WIDE` on the Fourier series of the rounding leaves `s^2 + 1/12`."""
    if s >= WIDE:
        return s * s + 1 / 12
    tails, m = _tails(s)
    return float(2 * (tails * (2 * m - 1)).sum())


def _mean_absolute(s: float) -> float:
    """`E|z| = 2 sum_m P(z >= m)`; from `WIDER` on `root(2 / pi) (s - 1 / (24 s))` (Euler and Maclaurin)."""
    if s >= WIDER:
        return math.sqrt(2 / math.pi) * (s - 1 / (24 * s))
    return float(2 * _tails(s)[0].sum())


class NormalShape(Protocol):
    """A multivariate normal law as a function of `word_count` uniforms, see `EllipsoidGrid` with a Gaussian fall-off."""

    @property
    def dimension(self) -> int: ...
    @property
    def word_count(self) -> int: ...
    @property
    def spread(self) -> Floats: ...
    def propose(self, words: NDArray[np.uint64]) -> tuple[Floats, Floats, Floats]: ...
    def propose_balls(self, uniforms: Sequence[LazyUniform]) -> tuple[list[arb], arb] | None: ...


@dataclass(frozen=True)
class RoundedVector:
    """`floor(y + 1/2)`, coordinate by coordinate, of a multivariate normal y."""

    shape: NormalShape

    def __post_init__(self) -> None:
        widths = self.shape.spread
        if not WIDE <= float(widths.min()) <= float(widths.max()) <= LARGEST_DEVIATION:
            raise InvalidProblem(
                f"shape: deviations from {widths.min():.3g} to {widths.max():.3g} steps; use a grid on which they are {WIDE:g} "
                "to 2^55, or independent noise."
            )

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """`size` draws, (size, s)."""
        rows = max(1, BATCH // self.shape.word_count)
        parts = [self._batch(min(rows, size - start), entropy) for start in range(0, size, rows)]
        return np.concatenate(parts) if parts else np.zeros((0, self.shape.dimension), dtype=np.int64)

    def _batch(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        words = entropy.random_words(size * self.shape.word_count).reshape(size, -1)
        place, norm, error = self.shape.propose(words)
        wide = (error + norm * 2.0**-50)[:, None] * self.shape.spread + 2.0**-52
        rounded, unsettled = integer_samplers.nearest(place + 0.5, wide)
        for row in np.flatnonzero(unsettled.any(axis=1)).tolist():
            rounded[row] = self._resolved([LazyUniform(int(word), 64, entropy) for word in words[row]])
        return rounded

    def _resolved(self, uniforms: list[LazyUniform]) -> list[int]:
        def rounding() -> list[int] | None:
            if (proposed := self.shape.propose_balls(uniforms)) is None:
                return None
            floors = [(y + rational_ball(Fraction(1, 2))).floor().unique_fmpz() for y in proposed[0]]
            known = [int(floor) for floor in floors if floor is not None]
            return known if len(known) == len(floors) else None

        return resolve(uniforms, rounding)

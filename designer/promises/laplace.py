"""The tradeoff function of Laplace noise, which promises more than its epsilon alone, and that of discrete Laplace noise.

Derivation: docs/theory/tradeoff.md, section 9.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from designer.base.arrays import Floats
from designer.base.checks import count, rational_from
from designer.base.declared import checked
from designer.base.schema import RATIONAL, of_kind
from designer.promises.tradeoff import LARGEST_PURE_GROUP, EpsilonDelta, Tradeoff
from solvers.exact.balls import exp_ball

if TYPE_CHECKING:
    from flint import arb


@dataclass(frozen=True)
class LaplaceTradeoff(Tradeoff):
    """Laplace noise against the same moved by `epsilon` scales (Dong, Roth and Su 2022, section 2):
    `1 - e^epsilon alpha` up to `alpha = e^-epsilon / 2`, then `e^-epsilon / (4 alpha)`, from 1/2 on `e^-epsilon (1 - alpha)`.

    At least `EpsilonDelta(epsilon)` everywhere: a Laplace mechanism keeps more than the pure promise made of it.

    >>> round(LaplaceTradeoff(1).delta_at("1/2"), 4), round(EpsilonDelta(1).delta_at("1/2"), 4)
    (0.2212, 0.2876)
    """

    kind = "laplace"
    schema = of_kind("tradeoff", kind, {"epsilon": RATIONAL}, "Of Laplace noise, moved by `epsilon` scales.")

    epsilon: Fraction = field(metadata=checked(rational_from, 0))

    def _floats(self, alpha: Floats, complement: Floats) -> Floats:
        epsilon = min(float(self.epsilon), 700.0)
        ratio = np.exp(-epsilon)
        between = ratio / (4 * np.maximum(alpha, ratio / 2))
        lower = np.where(alpha < ratio / 2, 1.0 - np.exp(epsilon) * alpha, between)
        return np.asarray(np.where(alpha > 0.5, ratio * complement, lower))

    def power(self, alpha: ArrayLike) -> Floats:
        given = np.asarray(alpha, dtype=np.float64)
        epsilon = min(float(self.epsilon), 700.0)
        ratio = np.exp(-epsilon)
        between = 1.0 - ratio / (4 * np.maximum(given, ratio / 2))
        lower = np.where(given < ratio / 2, np.exp(epsilon) * given, between)
        return np.asarray(np.where(given > 0.5, 1.0 - ratio * (1.0 - given), lower))

    def ball(self, alpha: arb, complement: arb) -> arb:
        low = exp_ball(-self.epsilon) / 2
        left, right = 1 - alpha / (2 * low), 2 * low * complement
        if alpha < low:
            return left
        if alpha > 0.5:
            return right
        between = low / (2 * alpha)
        if alpha >= low and alpha <= 0.5:
            return between
        near: arb = left.union(between) if alpha < 0.5 else between.union(right)
        return near if alpha < 0.5 or alpha > low else near.union(left)

    def fixed_point(self) -> arb:
        c: arb = exp_ball(-self.epsilon / 2) / 2
        return c

    def delta_ball(self, slope: arb) -> arb:
        """`1 - sqrt(slope e^-epsilon)`, at least `1 - slope` and 0."""
        gap: arb = (1 - (slope * exp_ball(-self.epsilon)).sqrt()).max(1 - slope)
        return gap.nonnegative_part()

    def ends(self) -> tuple[arb, arb]:
        """The masses of the null where the loss is -epsilon and where it is epsilon: what lies beyond the other centre."""
        half = exp_ball(Fraction(0)) / 2
        return half, half * exp_ball(-self.epsilon)

    def largest_loss(self) -> Fraction:
        return self.epsilon

    def loss_unit(self) -> Fraction:
        return self.epsilon

    @property
    def trivial(self) -> bool:
        return self.epsilon == 0

    def group(self, size: int) -> LaplaceTradeoff:
        """Exactly that of `size` times the distance: noise of log-concave density composes so."""
        return LaplaceTradeoff(self.epsilon * count(size, "size"))

    def to_spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "epsilon": str(self.epsilon)}

    def sentence(self) -> str:
        return f"the tradeoff function of Laplace noise with epsilon = {float(self.epsilon)!r}"


def discrete_laplace(epsilon: object, steps: int) -> Tradeoff:
    """Discrete Laplace noise against the same moved by `steps` of its grid, epsilon in all: between `EpsilonDelta(epsilon)`
    (one step) and `LaplaceTradeoff(epsilon)` (more and more steps), and exact up to 4096 of them.

    Beyond, steps are taken together: their largest divisor up to 4096 gives a function that is below the exact one.

    epsilon: of the whole move, above 0. steps: of the grid, at least 1.

    >>> discrete_laplace(1, 1) == EpsilonDelta(1), round(discrete_laplace(1, 64).delta_at("1/2"), 4)
    (True, 0.2212)
    """
    whole, moved = rational_from(epsilon, "epsilon", 0), count(steps, "steps")
    parts = next(k for k in range(min(moved, LARGEST_PURE_GROUP), 0, -1) if moved % k == 0)
    return EpsilonDelta(whole / parts).group(parts)

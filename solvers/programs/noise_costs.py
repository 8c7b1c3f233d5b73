"""What Laplace noise of weight w costs: on the real line `w^-p`, on the multiples of a step h a little less.

With rate `w h` a step, P(z h) is proportional to exp(-w h |z|). Half its variance is `h^2 / (4 sinh^2(w h / 2))`, its mean
absolute value `h / sinh(w h)`: `w^-2 (y / sinh y)^2` with `y = w h / 2`, and `w^-1 y / sinh y` with `y = w h`, which tend to
`w^-p` for small h. All are convex and fall in w. See docs/theory/scales.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
NEWTON_STEPS = 40  # of a function whose slope lies within (-3, -1): the error falls below a unit of roundoff in 6


@dataclass(frozen=True, eq=False)
class NoiseCost:
    """`sum_k v_k f_k(w_k)`: costs v (K,), positive; power p, 1 or 2; steps h (K,), 0 on the real line."""

    costs: Floats
    power: int
    steps: Floats

    @classmethod
    def of(cls, costs: Floats, power: int, steps: Floats | None = None) -> NoiseCost:
        """Costs and steps, (K,); steps of 0 where none are given."""
        return cls(costs, power, np.zeros_like(costs) if steps is None else np.asarray(steps, dtype=np.float64))

    def in_units(self, unit: Floats) -> NoiseCost:
        """The cost in x of `w = unit x`, unit (K,), positive, divided by the largest `v_k unit_k^-p`."""
        costs = self.costs * unit**-self.power
        return NoiseCost(costs / costs.max(), self.power, self.steps * unit)

    def value(self, weights: Floats) -> float:
        """The cost at weights (K,)."""
        return float(self.values(weights).sum())

    def values(self, weights: Floats) -> Floats:
        """`v_k f_k(w_k)`, (K,)."""
        narrowing, _ = self._shape(weights)
        return np.asarray(self.costs * weights**-self.power * narrowing**self.power)

    def weights_at(self, value: float | Floats) -> Floats:
        """The weights, (K,), at which every `v_k f_k` has this value, or its own, (K,)."""
        roots = (value / self.costs) ** (1 / self.power)
        half = self.steps / self.power
        safe = np.where(half > 0, half, 1.0)
        return np.where(half > 0, np.arcsinh(safe / roots) / safe, 1 / roots)

    def pull(self, weights: Floats) -> Floats:
        """`-w_k` times the derivative in w_k, (K,), positive."""
        narrowing, growth = self._shape(weights)
        return np.asarray(self.power * self.costs * weights**-self.power * narrowing**self.power * growth)

    def curvature(self, weights: Floats) -> Floats:
        """`w_k^2` times the second derivative in w_k, (K,), positive."""
        narrowing, growth = self._shape(weights)
        bent = self.power * growth**2 + narrowing**2
        return np.asarray(self.power * self.costs * weights**-self.power * narrowing**self.power * bent)

    def _shape(self, weights: Floats) -> tuple[Floats, Floats]:
        """`y / sinh y` and `y / tanh y`, both 1 at 0."""
        y = weights * self.steps / self.power
        small = y < 1e-4
        safe = np.where(small, 1.0, y)
        decay = np.exp(-safe)
        narrowing = np.where(small, 1 - y**2 / 6, 2 * safe * decay / -np.expm1(-2 * safe))
        return narrowing, np.where(small, 1 + y**2 / 3, safe / np.tanh(safe))

    def least(self, slopes: Floats) -> Floats:
        """The weights at which `v_k f_k(w) + slopes_k w` is least, (K,), slopes positive.

        On the line `(p v / a)^(1/(p+1))`. On a grid the derivative is a function of `S = sinh y`: `sqrt(1 + S^2) / S^(p+1) = q`
        with `q = a (2 / h)^3 / (2 v)` or `a / (v h^2)`, solved for log S by Newton's method.
        """
        p = self.power
        line = (p * self.costs / slopes) ** (1 / (p + 1))
        on_grid = self.steps > 0
        if not on_grid.any():
            return np.asarray(line)
        h = np.where(on_grid, self.steps, 1.0) / p
        log_q = np.log(slopes) - np.log(p * self.costs) - (p + 1) * np.log(h)
        log_s = -log_q / (p + 1)
        for _ in range(NEWTON_STEPS):
            share = 1 / (1 + np.exp(-2 * np.clip(log_s, -350, 350)))
            move = (np.logaddexp(0.0, 2 * log_s) / 2 - (p + 1) * log_s - log_q) / (share - (p + 1))
            log_s = log_s - move
            if (np.abs(move) <= 1e-15 * (1 + np.abs(log_s))).all():
                break
        return np.where(on_grid, _asinh_of_exp(log_s) / h, line)


def _asinh_of_exp(log_s: Floats) -> Floats:
    """`asinh(exp(l))` without overflow."""
    large = log_s > 20
    return np.where(large, log_s + np.log(2.0), np.arcsinh(np.exp(np.minimum(log_s, 20.0))))

"""What Laplace or Gaussian noise of weight w costs: on the real line `w^-p`, on the multiples of a step h a little less.

Laplace.
With rate `w h` a step, P(z h) is proportional to exp(-w h |z|). Half its variance is `h^2 / (4 sinh^2(w h / 2))`, its mean
absolute value `h / sinh(w h)`: `w^-2 (y / sinh y)^2` with `y = w h / 2`, and `w^-1 y / sinh y` with `y = w h`, which tend to
`w^-p` for small h.

Gaussian. P(z h) is proportional to `exp(-t z^2)`, `t = w h^2 / 2`, and the cost is the variance `h^2 v(t)`, which tends to
1 / w.

All are convex and fall in w. See docs/theory/scales.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from solvers.programs.changes import Changes
from solvers.work import is_over, spend

Floats = NDArray[np.float64]
NEWTON_STEPS = 40  # of a function whose slope lies within (-3, -1): the error falls below a unit of roundoff in 6


@dataclass(frozen=True, eq=False)
class NoiseCost:
    """`sum_k v_k f_k(w_k)` of Laplace noise: costs v (K,), positive; power p, 1 or 2; steps h (K,), 0 on the real line."""

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
        return replace(self, costs=costs / costs.max(), steps=self._steps_in(unit))

    def _steps_in(self, unit: Floats) -> Floats:
        """The steps at which x costs what `unit x` does at these, but for `unit^-p`."""
        return self.steps * unit

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
        return self.slopes(weights)[0]

    def slopes(self, weights: Floats) -> tuple[Floats, Floats]:
        """`pull`, and `w_k^2` times the second derivative in w_k, (K,), positive."""
        narrowing, growth = self._shape(weights)
        bent = self.power * growth**2 + narrowing**2
        part = self.power * self.costs * weights**-self.power * narrowing**self.power
        return part * growth, part * bent

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


class GaussianCost(NoiseCost):
    """The same of Gaussian noise, of power 1: w is 1 / sigma^2, and f its variance."""

    def _steps_in(self, unit: Floats) -> Floats:
        return self.steps * np.sqrt(unit)

    def _rates(self, weights: Floats) -> tuple[Floats, Floats]:
        """`t = w h^2 / 2`, 1 on the real line, and where that is."""
        line = self.steps == 0
        return np.where(line, 1.0, np.clip(weights * self.steps**2 / 2, SLOWEST, FASTEST)), line

    def values(self, weights: Floats) -> Floats:
        rates, line = self._rates(weights)
        return np.asarray(self.costs * np.where(line, 1 / weights, self.steps**2 * gaussian_moments(rates)[0]))

    def slopes(self, weights: Floats) -> tuple[Floats, Floats]:
        rates, line = self._rates(weights)
        _, drop, bend = gaussian_moments(rates)
        pull = np.where(line, 1 / weights, self.steps**2 * rates * drop)
        return self.costs * pull, self.costs * np.where(line, 2 / weights, self.steps**2 * rates**2 * bend)

    def weights_at(self, value: float | Floats) -> Floats:
        return self._at(value / self.costs, lambda found: (found[0], found[1]), 2, 1)

    def least(self, slopes: Floats) -> Floats:
        """As of Laplace noise, (K,); on a grid `-v'(t) = 2 a / (v h^4)`, on the line `(v / a)^(1/2)`. slopes a: (K,)."""
        return self._at(slopes / self.costs, lambda found: (found[1], found[2]), 4, 2)

    def _at(
        self, wanted: Floats, parts: Callable[[tuple[Floats, ...]], tuple[Floats, Floats]], power: int, fall: int
    ) -> Floats:
        """The weights at which a function of t, which falls as `1 / (2 t^fall)` where t is small and as `exp(-t)` where it is
        large, is `wanted (2 / h^2)^(fall - 1) / h^2`: Newton's method on its logarithm in log t, between bounds.

        parts: of `gaussian_moments`, the function and minus its derivative. power: of h in that, 2 or 4."""
        line = self.steps == 0
        h = np.where(line, 1.0, self.steps)
        aim = np.log(wanted) + (fall - 1) * np.log(2.0) - power * np.log(h)
        low, high = np.full_like(aim, np.log(SLOWEST)), np.full_like(aim, np.log(FASTEST))
        log_t = np.clip(
            np.where(aim > -2.5, (-np.log(2.0) - aim) / fall, np.log(np.maximum(np.log(2.0) - aim, 1.0))), low, high
        )
        for _ in range(NEWTON_STEPS):
            t = np.exp(log_t)
            value, drop = parts(gaussian_moments(t))
            off = np.log(value) - aim
            low, high = np.where(off > 0, log_t, low), np.where(off > 0, high, log_t)
            moved = log_t + off * value / (t * drop)
            if (np.abs(moved - log_t) <= 1e-15 * (1 + np.abs(log_t))).all():
                break
            log_t = np.where((moved >= low) & (moved <= high), moved, (low + high) / 2)
        t = np.exp(log_t)  # of which the last step is one in t: where t is large, the last digit of log t would be seen
        value, drop = parts(gaussian_moments(t))
        return np.where(line, wanted ** (-1 / fall), 2 * (t + (np.log(value) - aim) * value / drop) / h**2)


SLOWEST, FASTEST = 1e-90, 700.0  # a larger t leaves nothing of a variance, 2e-304
NEAR = np.arange(1.0, 6.0)[:, None] ** 2  # the squares z^2 of which exp(-pi z^2) is not lost beside exp(-pi)


def gaussian_moments(rates: Floats) -> tuple[Floats, Floats, Floats]:
    """Of `P(z) ~ exp(-t z^2)` on the integers the variance v(t), `-v'(t)` and `v''(t)`: the first three cumulants of z^2, to a
    few units of roundoff.

    Where t is below pi, `sum exp(-t z^2) = (pi / t)^(1/2) sum exp(-T z^2)`, `T = pi^2 / t`, makes them of those at T.
    rates t: (K,), from 1e-90 to 700. Returns (K,) each.
    """
    narrow = rates >= np.pi
    far = np.minimum(np.where(narrow, rates, np.pi**2 / np.minimum(rates, np.pi)), FASTEST)
    shares = 2 * np.exp(-far * (NEAR - 1))  # times exp(t), so that nothing is lost where t is large
    first = np.exp(-far)
    whole = 1 + first * shares.sum(axis=0)
    one, two, three = (first * (shares * NEAR**k).sum(axis=0) / whole for k in (1, 2, 3))
    v, drop, bend = one, two - one**2, three - 3 * one * two + 2 * one**3
    t, T = np.minimum(rates, np.pi), far
    wide = (
        1 / (2 * t) - (T / np.pi) ** 2 * v,
        1 / (2 * t**2) - T**3 / np.pi**4 * (2 * v - T * drop),
        1 / t**3 - T**4 / np.pi**6 * (6 * v - 6 * T * drop + T**2 * bend),
    )
    return tuple(np.where(narrow, own, other) for own, other in zip((v, drop, bend), wide, strict=True))


# A lower bound for noise that is independent in rows of one's own choice: `2 tr(W (B'B)^-1)` with `||B d_m||_1 <= b_m`.
#
# Sharper than `singular_value_bound` where changes differ in many directions, because no row is far from all of them: for
# counts of seven cells among which one record moves 41.1, where that says 24, and the best strategies that are known have 48.
# On whole numbers noise is narrower, and so is the bound for it. Derivation: docs/theory/strategies.md, section 3.


Array = NDArray[np.float64]
LARGEST_DIMENSION, MOST_CHANGES = 14, 5000
REGULAR = 1e-6  # the least eigenvalue of a second moment over the largest: flatter ones prove nothing in floats
STEP, FALLING = 0.2, 20.0  # of the weights, and after how many rounds half of it
NEWTON, CUBIC = 12, 60  # steps towards the best multiplier, and at most of those towards a root
STEEPEST = 400.0  # k b beyond which the squares of sinh leave floats
ROUNDED = 1 - 1e-7  # floats of matrices whose eigenvalues span six orders


def independent_noise_bound(gram: Array, changes: Changes, rounds: int = 40, whole: bool = False) -> float:
    """`2 kappa^2 (sum_i alpha_i^(1/3))^3`, alpha the eigenvalues of `S^1/2 W S^1/2`, S the second moment of `d / b` under
    weights of the changes that sum to 1, and kappa at most `E|r'd/b| / (r'S r)^1/2` for every row r; rounded down.

    whole: rows may have two-sided geometric noise, on the multiples of any number of which their moves are multiples; then
    `min sum_i alpha_i k b^2 / (2 sinh^2 z_i)` over `sum_i z_i <= k b / 2`, b the largest budget and k at least `1 / kappa^2`.
    Valid for all weights; `rounds` updates improve them, the best value counts. 0 where there are more than `LARGEST_DIMENSION`
    dimensions or `MOST_CHANGES` changes, and for whole numbers where k b is above `STEEPEST`. gram W: (N, N).
    """
    if changes.size > 8 * LARGEST_DIMENSION or not 0 < changes.count <= MOST_CHANGES:
        return 0.0
    span = changes.span()
    if span.shape[1] > LARGEST_DIMENSION:
        return 0.0
    wanted = span.T @ gram @ span
    values, vectors = np.linalg.eigh(wanted)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    moves = changes.along(span.T).T / changes.budget[:, None]
    largest = float(changes.budget.max()) if whole else 0.0
    weights, best = np.full(len(moves), 1.0 / len(moves)), 0.0
    for step in range(rounds):
        if is_over():
            break
        spend(calls=40 if whole else 20, flops=10.0 * (span.shape[1] ** 6 / 8 + len(moves) * span.shape[1] ** 4 / 4))
        found = _bound_at(moves, weights, root, largest)
        if found is None:
            break
        value, slope = found
        best = max(best, value)
        weights = weights * np.exp(STEP / (1 + step / FALLING) * (slope - slope.max()))
        weights /= weights.sum()
    return best * ROUNDED


def _bound_at(moves: Array, weights: Array, root: Array, largest: float) -> tuple[float, Array] | None:
    """The bound at these weights, (m,), and about the slope of its logarithm in them; None where the second moment is too flat.

    moves d / b: (m, s). root W^1/2: (s, s). largest: of the budgets, or 0 for continuous noise.
    """
    second = (moves * weights[:, None]).T @ moves
    sizes, axes = np.linalg.eigh(second)
    if sizes[0] <= REGULAR * sizes[-1]:
        return None
    fourth, slope = largest_fourth_moment(moves @ (axes / np.sqrt(sizes)), weights)
    alphas, frame = np.linalg.eigh(root @ second @ root)
    kept = np.maximum(alphas - len(alphas) * 2.0**-44 * alphas[-1], 0.0)
    if not kept[-1] > 0 or fourth * largest > STEEPEST:
        return None
    if largest:
        value, each, power = _of_whole_numbers(kept, fourth, largest)
    else:
        total, safe = np.cbrt(kept).sum(), np.maximum(alphas, 1e-9 * alphas[-1])
        value, each, power = float(2 * total**3 / fourth), safe ** (-2 / 3) / np.cbrt(safe).sum(), 1.0
    return value, ((moves @ root @ frame) ** 2 * each).sum(axis=1) - power * slope


def _of_whole_numbers(alphas: Array, fourth: float, largest: float) -> tuple[float, Array, float]:
    """`min sum_i c_i / sinh^2 z_i` over `sum_i z_i <= k b / 2`, `c_i = alpha_i k b^2 / 2`, by its dual; the derivatives of its
    logarithm in alpha, (s,), and minus that in log k.

    For every multiplier u it is at least `sum_i min_z (c_i / sinh^2 z + u z) - u k b / 2`, the best of some steps of Newton's
    in log u counts. The least is at `t = sinh^2 z` with `(u t / (2 c))^2 t = 1 + t`.
    """
    limit, costs = fourth * largest / 2, alphas[alphas > 0] * fourth * largest**2 / 2
    u = 2 * costs.max() * np.cosh(limit / len(costs)) / np.sinh(limit / len(costs)) ** 3
    best, at, multiplier = -np.inf, np.ones_like(costs), u
    for _ in range(NEWTON):
        tight = u / (2 * costs)
        t = tight ** (-2 / 3) + 1 / tight  # above the root, from where Newton's steps fall to it
        for _ in range(CUBIC):
            square = (tight * t) ** 2
            move = (square * t - t - 1) / (3 * square - 1)
            t = t - move
            if (np.abs(move) <= 1e-10 * t).all():
                break
        z = np.arcsinh(np.sqrt(t))
        value = float((costs / t).sum() + u * (z.sum() - limit))
        if value > best:
            best, at, multiplier = value, t, u
        falling = (1 / (3 / np.tanh(z) - np.tanh(z))).sum()
        u = u * np.exp(np.clip((z.sum() - limit) / falling, -3.0, 3.0))
    each = np.zeros_like(alphas)
    each[alphas > 0] = fourth * largest**2 / 2 / at / best
    return best, each, float(multiplier * limit / best) - 1.0


def largest_fourth_moment(points: Array, weights: Array) -> tuple[float, Array]:
    """A number that `E (r'x)^4` is at most, for all r with |r| = 1 and x of mean square I, and about its slope in the weights.

    `rr'` is a symmetric matrix of trace 1 and length 1: `I / s` and a part without trace. `E (r'x)^4` is a quadratic form of
    it, and for every mu above its eigenvalues `y'My + 2 g'y <= mu + g'(mu - M)^-1 g` on |y| = 1.
    points x: (m, s). weights: (m,).
    """
    s = points.shape[1]
    upper = np.triu_indices(s)
    diagonal = upper[0] == upper[1]
    products = points[:, upper[0]] * points[:, upper[1]] * np.where(diagonal, 1.0, np.sqrt(2))
    form = (products * weights[:, None]).T @ products
    middle, rest = diagonal / np.sqrt(s), np.sqrt(1 - 1 / s)
    along = form @ middle
    constant, linear = float(middle @ along), along - (middle @ along) * middle
    if s == 1:
        return constant, products[:, 0] ** 2 / constant - 2 * products[:, 0]
    flat = np.eye(len(middle)) - np.outer(middle, middle)
    values, vectors = np.linalg.eigh(rest**2 * flat @ form @ flat)
    values = values + 1e-12 * values[-1]
    pushes = vectors.T @ linear * (rest / np.sqrt(s))
    size = np.linalg.norm(pushes) + 1e-9 * values[-1]
    trials = values[-1] + size * np.geomspace(1e-3, 1.0, 30)
    tops = trials + (pushes**2 / (trials[:, None] - values)).sum(axis=1)
    at = int(tops.argmin())
    fourth = constant / s + float(tops[at])
    move = vectors @ (pushes / (trials[at] - values))
    length = float(np.linalg.norm(move))
    end = np.copysign(np.sqrt(max(0.0, 1 - length**2)), pushes[-1]) * vectors[:, -1]
    worst = products @ (middle / np.sqrt(s) + rest * (move + end if length < 1 else move / length))
    return fourth, worst**2 / fourth - 2 * worst

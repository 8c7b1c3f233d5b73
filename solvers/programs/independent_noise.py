"""A lower bound for noise that is independent in rows of one's own choice: `2 tr(W (B'B)^-1)` with `||B d_m||_1 <= b_m`.

Sharper than `singular_value_bound` where changes differ in many directions, because no row is far from all of them: for counts
of seven cells among which one record moves 41.1, where that says 24, and the best strategies that are known have 48. On whole
numbers noise is narrower, and so is the bound for it. Derivation: docs/theory/strategies.md, section 3.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from solvers.programs.changes import Changes
from solvers.work import is_over, spend

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

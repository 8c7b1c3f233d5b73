"""Policies that grow slowly, beside Gaussian noise and unit splitting at equal error (after the idea of Finley et al., 2024).

First at equal standard deviation of one sum, sizes of records in deviations. Then at equal relative error, at most 5 % with
probability 95 % in every cell with a total of S or more: additive noise must be made for S, transformed sums have errors that
grow with the cell. All policies are zCDP, pure ones converted. There is no such table in the paper: published is what the
closed forms of docs/theory/records.md say.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np

from designer.extend import figure
from designer.sampling.entropy import SeededEntropy
from designer.tables import StudentNoise, TransformedNoise
from designer.tables.policies.policies import AsZcdp, GaussianSums, Policy, Splitting
from designer.tables.policies.renyi import sharp_rho, student_divergence
from examples.reproduction import Floats, Result, show
from solvers.exact.balls import rational_ball

SMALLEST_CELL = 10_000
ERROR, SHARE = 0.05, 0.95
DIFFERENCES: dict[str, str] = {}


def at_equal_deviation() -> dict[str, Policy]:
    """One sum with noise of standard deviation 1000; splitting is the same Gaussian noise with another promise."""
    student = {
        f"Student, {2 * m - 1} degrees of freedom": AsZcdp(StudentNoise.of_deviation(1000, m).policy("r")) for m in (2, 3, 8)
    }
    return {"Gaussian, exact": GaussianSums({"r": 10**6}), "Gaussian, split at 1000": Splitting("1/2", {"r": 1000}), **student}


@cache
def at_equal_relative_error() -> dict[str, tuple[StudentNoise | TransformedNoise | None, Policy]]:
    """Mechanism and policy; the largest noise that meets the target at the smallest cell."""
    from scipy.stats import norm, t

    target = ERROR * SMALLEST_CELL
    gauss = target / norm.ppf((1 + SHARE) / 2)
    # A Student law of 2m - 1 degrees of freedom has scale s / sqrt(2m - 1).
    student = StudentNoise(target / t.ppf((1 + SHARE) / 2, 3) * math.sqrt(3))
    listed: dict[str, tuple[StudentNoise | TransformedNoise | None, Policy]] = {
        "Gaussian": (None, GaussianSums.of_deviations({"r": gauss})),
        "Student, 3 degrees of freedom": (student, AsZcdp(student.policy("r"))),
    }
    for shape, multiple in (("log", 1), ("log", 10), ("root", 1), ("root", 10)):
        noise = TransformedNoise(shape, multiple * SMALLEST_CELL, transformed_deviation(shape, multiple * SMALLEST_CELL))  # type: ignore[arg-type]
        listed[f"{shape}, offset {multiple} S"] = (noise, noise.policy("r"))
    return listed


def transformed_deviation(shape: str, offset: float) -> float:
    """The largest deviation on the transformed scale that keeps 95 % of estimates of the smallest cell within 5 %."""
    from scipy.optimize import brentq
    from scipy.special import ndtr

    shifted, error = SMALLEST_CELL + offset, ERROR * SMALLEST_CELL

    def excess(s: float) -> float:
        if shape == "log":  # the estimate plus offset is shifted * exp(s N - s^2 / 2)
            ends = [math.log1p(side * error / shifted) + s * s / 2 for side in (-1, 1)]
        else:  # it is (sqrt(shifted) + s N)^2 - s^2
            ends = [math.sqrt(shifted + side * error + s * s) - math.sqrt(shifted) for side in (-1, 1)]
        return float(ndtr(ends[1] / s) - ndtr(ends[0] / s)) - SHARE

    unit = error / shifted if shape == "log" else error / math.sqrt(shifted)
    return float(brentq(excess, unit / 100, unit))


def coverage(noise: StudentNoise | TransformedNoise, draws: int) -> float:
    """The share of simulated estimates of the smallest cell within 5 %."""
    entropy = SeededEntropy(1)
    estimates = np.array([noise.estimate(noise.noisy(Fraction(SMALLEST_CELL), entropy)) for _ in range(draws)])
    return float((np.abs(estimates - SMALLEST_CELL) <= ERROR * SMALLEST_CELL).mean())


def crossing(one: Policy, two: Policy, low: float, high: float) -> float:
    """The record size between two at which the second policy becomes the smaller one."""
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if one.exact({"r": middle}) < two.exact({"r": middle}) else (low, middle)
    return low


def least_rho(shift: int, scale: int = 4) -> float:
    """What Student noise of 3 degrees of freedom loses in truth for a record of `shift / scale` deviations,
    an upper bound within 10 %."""
    largest = rational_ball(Fraction(shift, 2 * scale)).asinh() * 4
    return sharp_rho(lambda order: student_divergence(scale, 2, shift, order, reach=200 * (scale + shift)), largest)[1]


def reproduce(full: bool = False) -> Result:
    """Losses of large records and the sizes from which slow policies win; coverage with 300 draws, or 4000 in full."""
    computed: dict[str, float] = {}
    published: dict[str, tuple[float, float]] = {}
    equal = at_equal_deviation()
    gauss = equal["Gaussian, exact"]
    for name, policy in equal.items():
        computed[f"loss at 100 deviations: {name}"] = float(policy.exact({"r": 100_000}))
        if name.startswith("Student"):
            computed[f"deviations from which it wins: {name}"] = crossing(gauss, policy, 100, 1e6) / 1000
    published["loss at 100 deviations: Gaussian, exact"] = (5000, 5000)
    published["loss at 100 deviations: Student, 3 degrees of freedom"] = (
        4 * math.asinh(50) * 0.9999,
        4 * math.asinh(50) * 1.0001,
    )
    noises = at_equal_relative_error()
    for name, (noise, policy) in noises.items():
        computed[f"loss of a record of 1000 S: {name}"] = float(policy.exact({"r": 1000 * SMALLEST_CELL}))
        if noise is not None:
            computed[f"share of estimates within 5 %: {name}"] = coverage(noise, 4000 if full else 300)
            # Four standard errors of the share.
            slack = 4 * math.sqrt(SHARE * (1 - SHARE) / (4000 if full else 300))
            published[f"share of estimates within 5 %: {name}"] = (SHARE - slack, min(1.0, SHARE + slack))
    return computed, published


def draw(folder: Path) -> Path:
    """Policies against the size of the record."""
    drawing, (left, right) = figure(columns=2)
    sizes = np.logspace(1, 9, 400)
    for name, policy in at_equal_deviation().items():
        left.loglog(sizes / 1000, _losses(policy, sizes), label=name, linestyle="--" if "split" in name else "-")
    shifts = [1, 2, 4, 16]
    left.plot(
        [shift / 4 for shift in shifts], [least_rho(shift) for shift in shifts], "k.", label="Student 3, least rho (certified)"
    )
    left.set(xlabel="record / standard deviation of the noise", ylim=(1e-4, 1e6), title="one sum, equal standard deviation")
    sizes = np.logspace(-3, 6, 400) * SMALLEST_CELL
    for name, (_, policy) in at_equal_relative_error().items():
        right.loglog(sizes / SMALLEST_CELL, _losses(policy, sizes), label=name)
    right.set(xlabel="record / smallest total S", ylim=(1e-3, 1e9), title="5 % error at 95 % in every cell of S or more")
    for axes in (left, right):
        axes.set_ylabel("policy loss (rho)")
        axes.axhline(1, color="0.7", linewidth=0.8)
        axes.legend(fontsize=7, loc="upper left")
    path = folder / "slow_policies.png"
    drawing.savefig(path, dpi=150)
    return path


def _losses(policy: Policy, sizes: Floats) -> Floats:
    return policy({"r": sizes})


if __name__ == "__main__":
    show("Slowly growing policies", reproduce, DIFFERENCES, draw)

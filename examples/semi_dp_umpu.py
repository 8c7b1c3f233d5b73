"""Testing the odds ratio of a 2x2 table whose margins are public: power of the private uniformly most powerful unbiased test.

Cho and Awan, section 5.3 and Theorem 37. The paper has no figure for this test; the curves here are ours, every point an exact
sum over the noncentral hypergeometric law. Beside it, from above: the randomised Fisher test, which is not private; and naive
private tests of the same promise, all with exact size: Laplace noise on x11, the noisy table of Algorithm 4 with its margins
restored, under the true sensitivity 4 and under group privacy (three records one by one, sensitivity 2 each). Last, what
happens to somebody who takes the noisy table for the real one and applies Fisher's test: the level is far above alpha.
Section 6's census conversions are reproduced here as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb, factorial
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from designer.accounting import EpsilonDelta, zcdp_epsilon, zcdp_group_rho
from designer.base.arrays import Floats, Immutable
from designer.base.checks import assign, positive
from designer.extend import figure
from designer.odds_ratio.noise import Tulap
from designer.odds_ratio.umpu import Margins, NoisyCountTest, fisher_p_value, fisher_test
from designer.tradeoff.conversions import zcdp_epsilon_bun_steinke
from examples.reproduction import Result, saved, show

ALPHA = 0.05
TABLES = {100: Margins((50, 50), (50, 50)), 400: Margins((200, 200), (200, 200))}
OMEGAS = np.geomspace(1.0, 8.0, 29)
ABOVE = "28 odds ratios above 1"  # at 1 every test of level alpha has the same power
DIFFERENCES: dict[str, str] = {}


@dataclass(frozen=True)
class Laplace(Immutable):
    """Laplace noise of a scale: what is added to a single count by the usual mechanism."""

    scale: float

    def __post_init__(self) -> None:
        assign(self, scale=positive(self.scale, "scale"))

    def cdf(self, x: ArrayLike) -> Floats:
        """F(x), x of any shape (...,)."""
        left = np.exp(-np.abs(np.asarray(x, dtype=np.float64)) / self.scale) / 2
        return np.where(np.asarray(x) <= 0, left, 1 - left)


@dataclass(frozen=True)
class LaplaceMean(Immutable):
    """The mean of `terms` independent Laplace variables of a scale: what a noisy 2x2 table
    knows of x11 once its margins are restored.

    The least-squares table with the given margins has `x11 + (n11 - n12 - n21 + n22) / 4`, n the noise. A sum of n unit Laplace
    variables is a mixture, of weights `C(n - 1 + k, k) / 2^(n - 1 + k)`, k = 0 .. n - 1, of Gamma(n - k)
    laws with a random sign.
    """

    scale: float
    terms: int = 4

    def __post_init__(self) -> None:
        assign(self, scale=positive(self.scale, "scale"))

    def cdf(self, x: ArrayLike) -> Floats:
        """F(x), x of any shape (...,)."""
        size, n = np.abs(np.asarray(x, dtype=np.float64)) * self.terms / self.scale, self.terms
        tail = np.zeros_like(size)
        for k in range(n):
            # P(Gamma(n - k) > s) = e^-s times the first n - k terms of the series of e^s.
            series = sum(size**j / factorial(j) for j in range(n - k))
            tail = tail + comb(n - 1 + k, k) / 2.0 ** (n - 1 + k) * np.exp(-size) * series / 2
        return np.where(np.asarray(x) <= 0, tail, 1 - tail)


def private_tests(margins: Margins, epsilon: Fraction) -> dict[str, NoisyCountTest]:
    """The best test and the naive ones, by name: a change of up to three records within the margins costs `epsilon`."""
    scale = float(1 / epsilon)
    laws = {
        "private UMPU (Tulap on x11)": Tulap(EpsilonDelta(epsilon)),
        "Laplace on x11, sensitivity 1": Laplace(scale),
        "Tulap, three records one by one": Tulap(EpsilonDelta(epsilon / 3)),
        "noisy table, sensitivity 4": LaplaceMean(4 * scale),
        "noisy table, three records one by one": LaplaceMean(6 * scale),
    }
    return {name: NoisyCountTest(margins, law) for name, law in laws.items()}


def uncalibrated_level(margins: Margins, scale: float) -> float:
    """How often Fisher's usual test at level alpha rejects a true null when x11 is the rounded
    `x11 + Laplace(scale)`, exactly."""
    support = margins.support
    least = next(x for x in range(support[0], support[-1] + 2) if fisher_p_value(margins, x) <= ALPHA)
    # Rounded to `least` or more exactly when x11 + noise is at least `least - 1/2`.
    return float(margins.pmf() @ Laplace(scale).cdf(np.array(support) - least + 0.5))


def curve(test: NoisyCountTest) -> Floats:
    """Power over `OMEGAS`."""
    rejection = test.rejection(ALPHA)
    return np.array([rejection @ test.margins.pmf(omega) for omega in OMEGAS])


def best_curve(margins: Margins) -> Floats:
    """Power of the randomised Fisher test over `OMEGAS`."""
    rejection = fisher_test(margins, ALPHA)
    return np.array([rejection @ margins.pmf(omega) for omega in OMEGAS])


def reproduce(full: bool = False) -> Result:
    """Sizes are exact, the private test lies between Fisher's and the naive ones everywhere;
    the census conversions as published."""
    computed: dict[str, float] = {}
    published: dict[str, tuple[float, float]] = {}
    for total in (100, 400) if full else (100,):
        margins = TABLES[total]
        for epsilon in (Fraction(1, 10), Fraction(1, 2), Fraction(1)):
            curves = {name: curve(test) for name, test in private_tests(margins, epsilon).items()}
            label, (best, *naive) = f"n = {total}, epsilon = {float(epsilon):g}", curves.values()
            computed[f"{label}: size"], published[f"{label}: size"] = best[0], (ALPHA - 1e-12, ALPHA + 1e-12)
            # Theorem 37: no private test is better, and none is better than the best one that sees the table. A tie up to
            # rounding is one: with the critical value outside the support,
            # Laplace and Tulap tails reject in the same proportions.
            for name, least in (
                (f"{label}: Fisher minus private, least over {ABOVE}", (best_curve(margins) - best)[1:].min()),
                (f"{label}: private minus best naive, least over {ABOVE}", (best - np.max(naive, axis=0))[1:].min()),
            ):
                computed[name], published[name] = least, (-1e-12, 1.0)
            computed[f"{label}: power at omega = 8"] = best[-1]
            computed[f"{label}: level of Fisher on a noisy table"] = uncalibrated_level(margins, float(4 / epsilon))
    rho = Fraction("2.56")
    for name, budget, epsilon in (("advertised", rho, 17.91528), ("margins kept", zcdp_group_rho(rho, 2), 40.95057)):
        key = f"census, {name}: epsilon at delta 1e-10"
        computed[key], published[key] = zcdp_epsilon_bun_steinke(budget, 1e-10), (epsilon - 5e-6, epsilon + 5e-6)
        computed[f"census, {name}: best known conversion"] = zcdp_epsilon(budget, 1e-10)
    return computed, published


def draw(folder: Path) -> Path:
    """Power against the odds ratio at two sizes of the table, epsilon = 1/2."""
    drawing, axes = figure(columns=2)
    for (total, margins), axis in zip(TABLES.items(), axes, strict=True):
        axis.plot(OMEGAS, best_curve(margins), color="black", label="Fisher, randomised (not private)")
        styles = ("-", "--", "-.", "--", ":")
        for (name, test), style in zip(private_tests(margins, Fraction(1, 2)).items(), styles, strict=True):
            axis.plot(OMEGAS, curve(test), linestyle=style, linewidth=2.2 if style == "-" else 1.4, label=name)
        axis.axhline(ALPHA, color="0.7", linewidth=0.8)
        axis.set_xscale("log", base=2)
        axis.set_xticks([1, 2, 4, 8], ["1", "2", "4", "8"])
        axis.set_ylim(0, 1.02)
        axis.set_xlabel("odds ratio")
        axis.set_ylabel("power at level 0.05")
        axis.set_title(f"{total} records, all margins {total // 2}, epsilon = 1/2")
    axes[1].legend(fontsize=8, loc="lower right")
    return saved(drawing, folder / "semi_dp_umpu.svg")


if __name__ == "__main__":
    show("The private test of the odds ratio", reproduce, DIFFERENCES, draw)

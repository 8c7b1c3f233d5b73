"""(b, delta) for every change: what exact calibration saves, where the classical formula is unsafe, what the pairs of a path
cost, and from which dimension on normal noise is less than any pure noise here.

The analytic deviation is Balle and Wang's, found by a root finder of scipy, the classical one `sqrt(2 ln(1.25 / delta)) / b`.
For the dimension, records have K yes-or-no attributes and the counts of all K are asked: one record may have them all. Closed
forms: Laplace variances on whole numbers `1 / (2 sinh^2(m / 2K))`, those of a box `(K + 1)(K + 2) / (3 m^2)`, normal ones
`K / mu^2`, with the lengths m and mu that (b, delta) allows pure and normal noise.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from designer import Problem, Workload, compare, design, metrics
from designer.accounting import gdp_mu
from designer.extend import figure
from examples.reproduction import Result, show

DELTA = 1e-6
BUDGETS = (0.1, 0.5, 0.9, 1.0, 4.0, 20.0)
DIMENSIONS = (4, 8, 9, 16, 20, 50, 51)
FAMILIES = ("laplace", "box", "ellipsoid", "diagonal_gaussian", "gaussian")
NORMAL = ("diagonal_gaussian", "gaussian")
DIFFERENCES: dict[str, str] = {}


def spent(length: float, budget: float) -> float:
    """delta at b of N(m, 1) against N(0, 1), in floats."""
    far = math.exp(budget + norm.logcdf(-length / 2 - budget / length))
    return float(norm.cdf(length / 2 - budget / length) - far)


def analytic(budget: float) -> float:
    """Balle and Wang's deviation of one count."""
    return 1 / float(brentq(lambda m: spent(m, budget) - DELTA, 1e-9, 1e3, xtol=1e-16))


def classical(budget: float) -> float:
    """The deviation of textbooks, proven for b < 1."""
    return math.sqrt(2 * math.log(1.25 / DELTA)) / budget


@cache
def deviation(budget: float) -> float:
    """That of the design for one count of records that appear."""
    asked = Problem(Workload([[1.0]]), metrics.add_remove(1, budget), notion="approximate", delta=DELTA)
    return math.sqrt(design(asked, "gaussian").error)


def enumerated(budget: float) -> float:
    """The delta at b that the deviation spends where noise is rounded to whole numbers, over delta."""
    scale = deviation(budget)
    z = np.arange(-math.ceil(12 * scale), math.ceil(12 * scale) + 2)
    law = np.where(z > 0, norm.sf((z - 0.5) / scale) - norm.sf((z + 0.5) / scale), 0.0)
    law += np.where(z <= 0, norm.cdf((z + 0.5) / scale) - norm.cdf((z - 0.5) / scale), 0.0)
    return float(np.maximum(law[:-1] - math.exp(budget) * law[1:], 0).sum()) / DELTA


def path_ratio(budget: float) -> float:
    """The deviation for the middle and the end of a path of two edges, over what its edges alone would need."""
    path: Any = metrics.graph([(0, 1), (1, 2)], per_edge=budget, nodes=3)
    asked = Problem(Workload([[0.0, 1.0, 2.0]]), path, notion="approximate", delta=DELTA)
    return math.sqrt(design(asked, "gaussian").error) / deviation(budget)


@cache
def losses(attributes: int, records: int = 80) -> dict[str, float]:
    """The mean variance of the counts of so many attributes, by family; the last kind of record has all of them."""
    bits = np.random.default_rng(1).integers(0, 2, (attributes, records))
    bits[:, -1] = 1
    asked = Problem(Workload(bits), metrics.add_remove(records, 1.0), notion="approximate", delta=DELTA)
    return {str(row["family"]): row["loss"] / attributes for row in compare(asked, FAMILIES).rows}


def closed_forms(attributes: int) -> dict[str, float]:
    """Variances of a count at b = 1 where all records that have any subset of the attributes may appear."""
    m, mu = math.log((math.e + DELTA) / (1 - DELTA)), gdp_mu(1.0, DELTA)
    return {
        "laplace": 1 / (2 * math.sinh(m / attributes / 2) ** 2),
        "box": (attributes + 1) * (attributes + 2) / (3 * m**2),
        "diagonal_gaussian": attributes / mu**2,
    }


def reproduce(full: bool = False) -> Result:
    """Deviations against both formulas, a rounded law, a path, and the dimension from which normal noise wins."""
    computed: dict[str, float] = {}
    published: dict[str, tuple[float, float]] = {}

    def claim(name: str, value: float, low: float, high: float) -> None:
        computed[name], published[name] = value, (low, high)

    for budget in BUDGETS:
        claim(f"b = {budget}: deviation / analytic", deviation(budget) / analytic(budget), 1 - 1e-8, 1 + 1e-8)
        ratio = deviation(budget) / classical(budget)
        claim(f"b = {budget}: deviation / classical", ratio, 0.0 if budget < 5 else 1.0, 1.0 if budget < 5 else math.inf)
    claim("b = 20: delta of the classical deviation / delta", spent(1 / classical(20.0), 20.0) / DELTA, 1.0, math.inf)
    claim("b = 1: delta of the law rounded to whole numbers / delta", enumerated(1.0), 0.97, 1.0)
    claim("path of two edges of 0.1: deviation / that of its edges", path_ratio(0.1), 1.02, 2.0)
    for attributes in DIMENSIONS if full else DIMENSIONS[1:3]:
        found, closed = losses(attributes), closed_forms(attributes)
        for family, value in closed.items():
            claim(f"K = {attributes}: {family} / closed form", found[family] / value, 1 - 1e-5, 1 + 1e-5)
        pure = min(value for family, value in found.items() if family not in NORMAL)
        for name, ratio, first in (
            ("diagonal_gaussian / laplace", found["diagonal_gaussian"] / found["laplace"], 9),
            ("diagonal_gaussian / box", found["diagonal_gaussian"] / found["box"], 51),
            ("gaussian / best pure", found["gaussian"] / pure, 20),
        ):
            claim(f"K = {attributes}: {name}", ratio, *((0.0, 1.0) if attributes >= first else (1.0, math.inf)))
    return computed, published


def draw(folder: Path) -> Path:
    """Left: deviations of one count. Right: the variance of a count against the number of attributes."""
    drawing, (left, right) = figure(columns=2)
    budgets = np.geomspace(0.05, 40, 60)
    left.loglog(budgets, [analytic(b) for b in budgets], label="analytic")
    left.loglog(budgets, [classical(b) for b in budgets], linestyle="--", label="classical (proven below 1)")
    left.loglog(BUDGETS, [deviation(b) for b in BUDGETS], "o", label="designed")
    left.set_xlabel("budget b, delta = 1e-6")
    left.set_ylabel("standard deviation of one count")
    left.legend(fontsize=8)
    for family in FAMILIES:
        right.loglog(DIMENSIONS, [losses(attributes)[family] for attributes in DIMENSIONS], marker="o", label=family)
    right.set_xlabel("attributes K, b = 1")
    right.set_ylabel("variance of a count")
    right.legend(fontsize=8)
    path = folder / "approximate_notion.png"
    drawing.savefig(path, dpi=150)
    return path


if __name__ == "__main__":
    show("One delta for all changes", reproduce, DIFFERENCES, draw)

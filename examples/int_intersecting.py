"""INT section 5 and Figures 3 to 5: 14 records, three constraints that intersect in every way,
epsilon 0.25 per unit of l1 or l2 distance."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

from designer import Problem, Workload, design, invariants
from designer.relations.invariants import Invariant
from examples.int_setting import Integers, bound_of, boxes, curve, exact_noise, largest_bias, published_chain, steps_until
from examples.reproduction import Result, saved, show
from solvers.lattices.chain import VariationBound

EPSILON = 0.25
DECAYS = {"l1": math.exp(-1), "l2": math.exp(-1.5)}
LIMITS = {"l1": 400_000, "l2": 2_000_000}
PAIRS, LAG = 20, 2000
DIFFERENCES: dict[str, str] = {}


def constraints() -> Invariant:
    """Two records in each of the seven regions of three sets; the paper's Figure 3 is a sketch without these numbers."""
    rows = [[((i // 2 + 1) >> j) & 1 for i in range(14)] for j in range(3)]
    return invariants.linear(rows, ("A1", "A2", "A3"), records_public=False)


def noise(norm: str, size: int) -> Integers:
    """Exact noise: no chain is needed."""
    return exact_noise(constraints().constraints, norm, EPSILON, size)


@cache
def published_bound(norm: str) -> VariationBound:
    """The bound of the paper's chain, minutes of steps."""
    return bound_of(published_chain(constraints().constraints, norm, EPSILON, DECAYS[norm]), LAG, PAIRS, LIMITS[norm])


def reproduce(full: bool = False) -> Result:
    """Unbiased exact integer noise; in full, the steps after which the paper's chain seems to have converged."""
    computed, published = {}, {}
    for norm, steps in (("l1", (2e4, 4e5)), ("l2", (1e5, 2e6))):
        drawn = noise(norm, 1000)
        problem = Problem(Workload.identity(14), constraints().protect(EPSILON, per_distance=norm))  # type: ignore[call-overload]
        made = design(problem, "lattice_laplace", shape=norm).mechanism
        computed[f"{norm}: worst loss over budget"] = float(made.privacy.worst_ratio)  # type: ignore[arg-type]
        published[f"{norm}: worst loss over budget"] = (0.999, 1.0)
        computed[f"{norm}: largest bias in standard errors"] = largest_bias(drawn)
        published[f"{norm}: largest bias in standard errors"] = (0.0, 4.0)
        computed[f"{norm}: standard deviation of the first record's noise"] = float(drawn[:, 0].std())
        if full:
            bound = published_bound(norm)
            # "Around 10^5" and "around 10^6", read off curves; which region holds how many records is not known either.
            computed[f"{norm}: steps until the chain's bound is below 0.1"] = steps_until(bound)
            published[f"{norm}: steps until the chain's bound is below 0.1"] = steps
    return computed, published


def draw(folder: Path) -> Path:
    """The paper's bounds and, beside them, exact draws."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 6.5), layout="constrained")
    axes = figure.subplots(2, 2, width_ratios=(1, 1.6))
    for row, norm in zip(axes, DECAYS, strict=True):
        curve(row[0], published_bound(norm), f"{PAIRS} pairs, lag {LAG}")
        row[0].legend(fontsize=7)
        row[0].set_title(f"The paper's chain, {norm} target", fontsize=9)
        boxes(row[1], noise(norm, 1000), f"1000 exact draws, {norm}, by record")
    return saved(figure, folder / "int_intersecting.svg")


if __name__ == "__main__":
    show("INT section 5: three intersecting constraints on 14 records", reproduce, DIFFERENCES, draw)

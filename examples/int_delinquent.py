"""INT section 5, Tables 1 to 3, Figures 1, 6 and 7: the 4 x 4 table of delinquent children with its margins published,
epsilon 0.25."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from designer import Problem, Workload, datasets, design, invariants
from designer.relations.invariants import Invariant
from examples.int_setting import (
    Integers,
    bound_of,
    boxes,
    curve,
    exact_noise,
    largest_bias,
    published_chain,
    rank_among,
    steps_until,
)
from examples.reproduction import Result, saved, show

EPSILON = 0.25
DECAYS = {"l1": math.exp(-1), "l2": math.exp(-2)}
LIMITS = {"l1": 100_000, "l2": 600_000}
PAIRS = 40
LABELS = [f"{county}-{level}" for county in "ABGD" for level in ("L", "M", "H", "V")]
# One draw each of the paper's chain: Tables 1 and 3.
DRAWN = {
    "l1": [-1, -1, 0, 2, 5, 4, -2, -7, -5, -3, 5, 3, 1, 0, -3, 2],
    "l2": [-11, 1, 10, 0, -3, -6, 1, 8, -6, -5, 13, -2, 20, 10, -24, -6],
}
DIFFERENCES: dict[str, str] = {}


def table() -> Integers:
    """The cells, by county and education. The total of Gamma is printed as 35,
    but its cells add up to 25: the cells are used."""
    return datasets.delinquent_children()["count"]


def margins() -> Invariant:
    """Both margins."""
    return invariants.margins((4, 4))


def noise(norm: str, size: int) -> Integers:
    """Exact noise with these margins 0."""
    return exact_noise(margins().constraints, norm, EPSILON, size)


def reproduce(full: bool = False) -> Result:
    """Margins kept in every release, unbiased cells, the paper's draws among ours; in full, the chain's steps."""
    computed, published = {}, {}
    for norm, steps in (("l1", (3e3, 5e4)), ("l2", (2e4, 4e5))):
        problem = Problem(Workload.identity(16), margins().protect(EPSILON, per_distance=norm))  # type: ignore[call-overload]
        made = design(problem, "lattice_laplace", shape=norm).mechanism
        kept = [margins().matrix @ np.array(made.release(table()).table) for _ in range(20)]
        computed[f"{norm}: margins that a release changed"] = float((np.array(kept) != margins().answers(table())).sum())
        published[f"{norm}: margins that a release changed"] = (0.0, 0.0)
        drawn, order = noise(norm, 4000), 1 if norm == "l1" else 2
        computed[f"{norm}: largest bias in standard errors"] = largest_bias(drawn)
        published[f"{norm}: largest bias in standard errors"] = (0.0, 4.0)
        length = float(np.linalg.norm(DRAWN[norm], ord=order))
        computed[f"{norm}: rank of the paper's draw among exact ones"] = rank_among(
            length, np.linalg.norm(drawn, ord=order, axis=1)
        )
        published[f"{norm}: rank of the paper's draw among exact ones"] = (0.005, 0.995)
        if full:
            bound = bound_of(published_chain(margins().constraints, norm, EPSILON, DECAYS[norm]), 2000, PAIRS, LIMITS[norm])
            # "After about 10^4" and "about 10^5 iterations", read off curves.
            computed[f"{norm}: steps until the chain's bound is below 0.1"] = steps_until(bound)
            published[f"{norm}: steps until the chain's bound is below 0.1"] = steps
    return computed, published


def draw(folder: Path) -> Path:
    """The bounds of the paper's chain and exact draws beside them."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 6.5), layout="constrained")
    for row, norm in zip(figure.subplots(2, 2, width_ratios=(1, 1.6)), DECAYS, strict=True):
        chain = published_chain(margins().constraints, norm, EPSILON, DECAYS[norm])
        for lag in (500, 5000):
            curve(row[0], bound_of(chain, lag, PAIRS, LIMITS[norm] // 2), f"lag {lag}")
        row[0].legend(fontsize=7)
        row[0].set_title(f"The paper's chain, {norm} target", fontsize=9)
        boxes(row[1], noise(norm, 1000), f"1000 exact draws, {norm}, by cell (county-education)", LABELS)
    return saved(figure, folder / "int_delinquent.svg")


if __name__ == "__main__":
    show("INT section 5: delinquent children by county and education", reproduce, DIFFERENCES, draw)

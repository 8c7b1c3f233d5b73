"""Tables with published one-way margins, 2 x 2 to 10 x 10 and multi-way: expected total
squared error of every family at epsilon = 1."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

from designer import DesignFailed, Problem, Workload, design, invariants
from designer.designing.laplace import subspace_mechanism
from designer.extend import figure
from examples.reproduction import Result, saved, show

SQUARES = tuple((k, k) for k in range(2, 11))
SHAPES = (*SQUARES, (2, 5), (3, 4), (3, 5), (2, 2, 2), (2, 3, 4))
PURE = (
    "k_norm",
    "strategy_laplace",
    "projected_laplace",
    "ellipsoid",
    "box",
    "l2_ball",
    "group_laplace",
    "group_l2_ball",
    "group_box",
)
GAUSSIANS = ("gaussian", "isotropic_gaussian", "group_gaussian")
# 4 x 4 tables take 10 s for a hull; beyond 5 x 5 the search for strategies takes up to a minute and returns the projection.
LARGEST_HULL, LARGEST_SEARCH = 9, 17
DIFFERENCES: dict[str, str] = {}


def dimensions(shape: tuple[int, ...]) -> int:
    """Directions that fixed one-way margins leave free."""
    return math.prod(shape) - 1 - sum(n - 1 for n in shape)


def problem(shape: tuple[int, ...], adjacency: int, notion: str) -> Problem:
    """All cells of a table, margins public, one budget 1."""
    relation = invariants.margins(shape).protect(1.0, adjacency)
    return Problem(Workload.identity(math.prod(shape)), relation, notion=notion)


@cache
def error(family: str, shape: tuple[int, ...], adjacency: int) -> float:
    """Expected total squared error; NaN where the family is left out as too slow or has no mechanism."""
    free = dimensions(shape)
    if (family == "k_norm" and free > LARGEST_HULL) or (family == "strategy_laplace" and free > LARGEST_SEARCH):
        return math.nan
    try:
        return design(problem(shape, adjacency, "zcdp" if family in GAUSSIANS else "pure"), family).error
    except DesignFailed:
        return math.nan


def closed_form(family: str, shape: tuple[int, ...], adjacency: int) -> float | None:
    """By hand, for the families that treat all directions alike;
    sensitivities 2a, sqrt(2a) and 1 of the changes of a records. Independent noise is geometric, on whole numbers."""
    cells, free, a = math.prod(shape), dimensions(shape), adjacency
    geometric = 1 / (2 * math.sinh(1 / (2 * a) / 2) ** 2)
    return {
        "projected_laplace": free * geometric,
        "l2_ball": (free + 1) * free * 2 * a,
        "group_laplace": cells * geometric,
        "group_l2_ball": (cells + 1) * cells * 2 * a**2,
        "group_box": cells * (cells + 1) * (cells + 2) / 3 * a**2,
        "isotropic_gaussian": free * 2 * a,
        "group_gaussian": cells * 2 * a**2,
    }.get(family)


def reproduce(full: bool = False) -> Result:
    """Every closed form at every size, the hull against the naive mechanisms, and what subspace privacy spends."""
    computed, published = {}, {}
    for shape in SHAPES if full else ((2, 2), (3, 3)):
        # In tables of two rows a third record reaches no change that two do not.
        a = 2 if 2 in shape else 3
        for family in (*PURE, *GAUSSIANS):
            exact = closed_form(family, shape, a)
            if exact is not None and len(shape) == 2:
                name = f"{' x '.join(map(str, shape))}, A_{a}, {family}"
                computed[name] = error(family, shape, a)
                published[name] = (exact * (1 - 1e-6), exact * (1 + 1e-6))
    scales = design(problem((4, 4), 3, "pure"), "group_laplace").mechanism.scales
    computed["4 x 4, A_3, naive l1 of the paper"] = 2 * float((scales**2).sum())  # of continuous noise, as there
    published["4 x 4, A_3, naive l1 of the paper"] = (1152 - 1e-3, 1152 + 1e-3)
    for a in (2, 3):
        best = min(error(family, (3, 3), a) for family in PURE[2:])
        computed[f"3 x 3, A_{a}: hull / best other family without a search"] = error("k_norm", (3, 3), a) / best
        published[f"3 x 3, A_{a}: hull / best other family without a search"] = (0.0, 1.0)
        spent = subspace_mechanism(problem((3, 3), a, "zcdp")).relation.epsilon  # type: ignore[attr-defined]
        computed[f"3 x 3, A_{a}: what a subspace Gaussian of budget 1 spends"] = spent
    return computed, published


def markdown(adjacency: int, families: tuple[str, ...] = (*PURE, *GAUSSIANS)) -> str:
    """The table of errors, the least of the pure families in bold."""
    lines = ["| table | free | " + " | ".join(families) + " |", "|" + " --- |" * (len(families) + 2)]
    for shape in SHAPES:
        values = {family: error(family, shape, adjacency) for family in families}
        least = min((v for f, v in values.items() if f in PURE and not math.isnan(v)), default=0.0)
        cells = [
            "" if math.isnan(v) else f"**{v:.5g}**" if v <= least * (1 + 1e-6) and f in PURE else f"{v:.5g}"
            for f, v in values.items()
        ]
        lines.append(f"| {' x '.join(map(str, shape))} | {dimensions(shape)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def draw(folder: Path) -> Path:
    """Root mean squared error of a cell against k, for two and for three records that move together."""
    drawing, axes = figure(columns=2, width=6.5, height=5.0)
    for axis, adjacency in zip(axes, (2, 3), strict=True):
        for family in (*PURE, *GAUSSIANS):
            if family in ("gaussian", "ellipsoid"):
                continue  # by symmetry the same as isotropic_gaussian and l2_ball
            values = [math.sqrt(error(family, shape, adjacency) / math.prod(shape)) for shape in SQUARES]
            style, colour = (
                (("--", "black") if family == "isotropic_gaussian" else (":", "black")) if family in GAUSSIANS else ("-", None)
            )
            axis.plot([k for k, _ in SQUARES], values, style, color=colour, marker="o", markersize=3.5, label=family)
        axis.set_yscale("log")
        axis.set_xlabel("k, tables of k x k cells with public margins")
        axis.set_ylabel("root mean squared error of a cell")
        axis.set_title(f"A_{adjacency}: up to {adjacency} records move")
    axes[1].legend(
        fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5), title="pure, epsilon = 1;\nblack: Gaussian, mu = 1"
    )
    return saved(drawing, folder / "semi_dp_tables.svg")


if __name__ == "__main__":
    show("Expected squared error of tables with public one-way margins", reproduce, DIFFERENCES, draw)
    for a in (2, 3):
        print(f"\nUp to {a} records move:\n\n{markdown(a)}")

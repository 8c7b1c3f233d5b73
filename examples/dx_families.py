"""DX section 4's synthetic setting, and every pure family beside the paper's Strategy 3: the K-norm that DX leaves as future work, and the rest."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from designer import Problem, Workload, design, metrics
from designer.frozen import Floats
from designer.pictures import figure
from examples.dx_setting import UNIVERSE, universe
from examples.reproduction import Result, show

FAMILIES = ("k_norm", "strategy_laplace", "ellipsoid", "box", "l2_ball", "laplace", "strategy_2", "strategy_1")
K_NORM, LAPLACE = FAMILIES.index("k_norm"), FAMILIES.index("laplace")
# Hulls at K = 8 have 6,600 simplices and take 2 s each; at K = 9 they have 20,000 to 33,000 and take 9 to 13 s.
LARGEST_HULL = 8
# Five steps of descent cost 0.3 s a design, the default of 100 about 1 s; at K = 4 the error after 100 steps is 0.76 of that after 10.
ITERATIONS = 5
STATED = range(2, 8)
DIFFERENCES: dict[str, str] = {}


def errors(problem: Problem) -> Floats:
    """Squared error of `FAMILIES` relative to Strategy 3; NaN where the hull is left out."""
    reference, relative = design(problem, "strategy_3").error, np.full(len(FAMILIES), np.nan)
    for f, name in enumerate(FAMILIES):
        if name != "k_norm" or problem.workload.shape[0] <= LARGEST_HULL:
            options = {"iterations": ITERATIONS} if name == "strategy_laplace" else {}
            relative[f] = design(problem, name, **options).error / reference
    return relative


@cache
def table(kind: str, size: int, matrices: int) -> Floats:
    """Relative squared errors, (matrices, families); each matrix has a universe of its own, as in `dx_multiple_queries`."""
    return np.array(
        [
            errors(Problem(Workload.random(size, UNIVERSE, kind, seed=1000 * size + m), metrics.euclidean(universe(m))))
            for m in range(matrices)
        ]
    )


def reproduce(full: bool = False) -> Result:
    """By what factor the K-norm beats the best independent Laplace noise, how often another family beats the K-norm, and by how much."""
    sizes, matrices = (range(2, 11), 20) if full else ((2, 6), 2)
    computed: dict[str, float] = {}
    published: dict[str, tuple[float, float]] = {}
    for kind in ("real", "binary"):
        tables = {size: table(kind, size, matrices) for size in sizes}
        gains = np.array([tables[k][:, LAPLACE] / tables[k][:, K_NORM] for k in sizes if k in STATED])
        hulls = np.concatenate([tables[k] for k in sizes if k <= LARGEST_HULL])
        others = np.delete(hulls, K_NORM, axis=1).min(axis=1)
        words = f"{kind}: optimal Laplace / K-norm, K = 2..7"
        computed[f"{words}, least"] = gains.min()
        computed[f"{words}, least median of a K"] = np.median(gains, axis=1).min()
        computed[f"{words}, largest median of a K"] = np.median(gains, axis=1).max()
        computed[f"{words}, largest"] = gains.max()
        computed[f"{kind}: share of matrices where K-norm loses"] = float((hulls[:, K_NORM] > others).mean())
        computed[f"{kind}: K-norm / best other family, largest"] = (hulls[:, K_NORM] / others).max()
        computed[f"{kind}: optimal Laplace / Strategy 3, largest"] = max(t[:, LAPLACE].max() for t in tables.values())
        for which in ("least", "least median of a K", "largest median of a K", "largest"):
            published[f"{words}, {which}"] = (2.0, 12.0)
        published[f"{kind}: optimal Laplace / Strategy 3, largest"] = (0.0, 1.0 + 1e-8)
    return computed, published


def markdown(matrices: int = 20) -> str:
    """Median (10 %, 90 %) of the squared error relative to Strategy 3, and the share of matrices on which another family beats the K-norm."""
    lines = ["| entries | K | " + " | ".join(FAMILIES) + " | K-norm loses |", "|" + " --- |" * (len(FAMILIES) + 3)]
    for kind in ("real", "binary"):
        for size in range(2, 11):
            values = table(kind, size, matrices)
            cells = ["{1:.3f} ({0:.3f}, {2:.3f})".format(*column) for column in np.quantile(values, (0.1, 0.5, 0.9), axis=0).T]
            lost = np.delete(values, K_NORM, axis=1).min(axis=1) < values[:, K_NORM]
            if size > LARGEST_HULL:
                cells[K_NORM] = ""
            share = f"{lost.mean():.0%}" if size <= LARGEST_HULL else ""
            lines.append(f"| {kind} | {size} | " + " | ".join(cells) + f" | {share} |")
    return "\n".join(lines)


def draw(folder: Path) -> Path:
    """Median error relative to Strategy 3 against K, a band from 10 % to 90 % around the best three."""
    drawing, axes = figure(columns=2)
    sizes = np.arange(2, 11)
    for kind, axis in zip(("real", "binary"), axes, strict=True):
        quantiles = np.array([np.quantile(table(kind, int(size), 20), (0.1, 0.5, 0.9), axis=0) for size in sizes])
        for f, name in enumerate(FAMILIES):
            (line,) = axis.plot(sizes, quantiles[:, 1, f], marker="o", markersize=3.5, label=name)
            if name in ("k_norm", "strategy_laplace", "ellipsoid"):
                axis.fill_between(
                    sizes, quantiles[:, 0, f], quantiles[:, 2, f], color=line.get_color(), alpha=0.15, linewidth=0
                )
        axis.axhline(1.0, color="black", linewidth=0.8, linestyle="--", label="strategy_3")
        axis.set_yscale("log")
        axis.set_ylim(0.015, 12)
        axis.set_xlabel("number of queries K")
        axis.set_ylabel("squared error / that of Strategy 3")
        axis.set_title(f"{kind} coefficients, N = {UNIVERSE}")
    axes[1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    path = folder / "dx_families.png"
    drawing.savefig(path, dpi=150)
    return path


if __name__ == "__main__":
    show("Pure families on the setting of DX section 4, N = 50, relative to Strategy 3", reproduce, DIFFERENCES, draw)
    print(markdown())

"""DX section 4's synthetic setting, and every pure family beside the paper's Strategy
3: the K-norm that DX leaves as future work, and the rest."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from designer import Problem, Workload, design, metrics
from designer.base.arrays import Floats
from designer.extend import figure
from examples.dx_setting import UNIVERSE, universe
from examples.reproduction import Result, show

FAMILIES = ("k_norm", "strategy_laplace", "ellipsoid", "box", "l2_ball", "laplace", "strategy_2", "strategy_1")
K_NORM, LAPLACE = FAMILIES.index("k_norm"), FAMILIES.index("laplace")
# At K = 7 a hull takes 0.4 s; at K = 8 (6,600 simplices) 2 s, at K = 9 (20,000 to 33,000) 9 to 13 s.
LARGEST_HULL = 7
MATRICES, SAMPLED_MATRICES = 20, 3
STATED = "optimal Laplace / K-norm, K = 2..7"
DIFFERENCES = {
    f"{STATED}, least": (
        "on binary matrices at K = 2 the closest pairs may move one query each; the hull then is the very diamond of "
        "Laplace noise and the ratio 1 (2 of 20 matrices, 5 of 20 below 1.12). The stated range is one of typical "
        "values, not of all matrices."
    ),
    f"{STATED}, least median of a kind and K": (
        "binary queries at K = 2: half of the hulls are nearly such diamonds, the median is 1.75. All other medians are "
        "within the range."
    ),
    f"{STATED}, largest": (
        "real matrices at K = 5..7 exceed 12 in 3, 8 and 8 of 20 cases, up to 30, mostly where the closest pairs differ "
        "much: there the K-th smallest distance is 3.4 to 4.1 times the least, elsewhere 2.2 to 2.8 (correlation of the "
        "logarithms 0.4 to 0.5)."
    ),
}


def iterations(size: int) -> int:
    """Steps of descent for strategy_laplace: the default where it comes close to the K-norm, few elsewhere.

    At K = 4 five steps cost 0.3 s a design, 100 cost about 1 s; the error after 100 is about 0.76 of that after 10.
    """
    return 100 if size <= 3 else 5


def errors(problem: Problem, full: bool) -> Floats:
    """Squared error of `FAMILIES` relative to Strategy 3; NaN where a family is left out as too slow."""
    size = problem.workload.shape[0]
    reference, relative = design(problem, "strategy_3").error, np.full(len(FAMILIES), np.nan)
    for f, name in enumerate(FAMILIES):
        if (name == "k_norm" and size > LARGEST_HULL) or (name == "strategy_laplace" and not full):
            continue
        options = {"iterations": iterations(size)} if name == "strategy_laplace" else {}
        relative[f] = design(problem, name, **options).error / reference
    return relative


@cache
def table(kind: str, size: int, full: bool = True) -> Floats:
    """Relative squared errors, (matrices, families); each matrix has a universe of its own, as in `dx_multiple_queries`."""
    return np.array(
        [
            errors(Problem(Workload.random(size, UNIVERSE, kind, seed=1000 * size + m), metrics.euclidean(universe(m))), full)
            for m in range(MATRICES if full else SAMPLED_MATRICES)
        ]
    )


def over_best_other(values: Floats) -> Floats:
    """Error of the K-norm over the least of all others, for each matrix."""
    return np.asarray(values[:, K_NORM] / np.nanmin(np.delete(values, K_NORM, axis=1), axis=1))


def lost(values: Floats) -> float:
    """Share of matrices on which another family has a smaller error;
    equal bodies, whose margins differ by 2^-40, are no loss."""
    return float((over_best_other(values) > 1 + 1e-6).mean())


def reproduce(full: bool = False) -> Result:
    """By what factor the K-norm beats the best independent Laplace noise, how often another family beats the K-norm,
    and by how much."""
    sizes = range(2, 11) if full else (2, 6)
    tables = {(kind, size): table(kind, size, full) for kind in ("real", "binary") for size in sizes}
    gains = {key: values[:, LAPLACE] / values[:, K_NORM] for key, values in tables.items() if key[1] <= 7}
    medians = [float(np.median(gain)) for gain in gains.values()]
    computed = {
        f"{STATED}, least": min(float(gain.min()) for gain in gains.values()),
        f"{STATED}, least median of a kind and K": min(medians),
        f"{STATED}, largest median of a kind and K": max(medians),
        f"{STATED}, largest": max(float(gain.max()) for gain in gains.values()),
    }
    published = dict.fromkeys(computed, (2.0, 12.0))
    for kind in ("real", "binary"):
        within = np.concatenate([gain for key, gain in gains.items() if key[0] == kind])
        hulls = np.concatenate([values for key, values in tables.items() if key[0] == kind and key[1] <= LARGEST_HULL])
        computed[f"{kind}: share of matrices with a ratio from 2 to 12"] = float(((within >= 2) & (within <= 12)).mean())
        computed[f"{kind}: share of matrices where K-norm loses"] = lost(hulls)
        computed[f"{kind}: K-norm / best other family, largest"] = over_best_other(hulls).max()
    computed["optimal Laplace / Strategy 3, largest"] = max(float(values[:, LAPLACE].max()) for values in tables.values())
    published["optimal Laplace / Strategy 3, largest"] = (0.0, 1.0 + 1e-8)
    return computed, published


def markdown() -> str:
    """Median (10 %, 90 %) of the squared error relative to Strategy 3,
    and the share of matrices on which another family beats the K-norm."""
    lines = ["| entries | K | " + " | ".join(FAMILIES) + " | K-norm loses |", "|" + " --- |" * (len(FAMILIES) + 3)]
    for kind in ("real", "binary"):
        for size in range(2, 11):
            values = table(kind, size)
            cells = ["{1:.3f} ({0:.3f}, {2:.3f})".format(*column) for column in np.quantile(values, (0.1, 0.5, 0.9), axis=0).T]
            if size > LARGEST_HULL:
                cells[K_NORM] = ""
            share = f"{lost(values):.0%}" if size <= LARGEST_HULL else ""
            lines.append(f"| {kind} | {size} | " + " | ".join(cells) + f" | {share} |")
    return "\n".join(lines)


def draw(folder: Path) -> Path:
    """Median error relative to Strategy 3 against K, a band from 10 % to 90 % around the best three."""
    drawing, axes = figure(columns=2)
    sizes = np.arange(2, 11)
    for kind, axis in zip(("real", "binary"), axes, strict=True):
        quantiles = np.array([np.quantile(table(kind, int(size)), (0.1, 0.5, 0.9), axis=0) for size in sizes])
        for f, name in enumerate(FAMILIES):
            (line,) = axis.plot(sizes, quantiles[:, 1, f], marker="o", markersize=3.5, label=name)
            if name in ("k_norm", "strategy_laplace", "ellipsoid"):
                axis.fill_between(
                    sizes, quantiles[:, 0, f], quantiles[:, 2, f], color=line.get_color(), alpha=0.15, linewidth=0
                )
        axis.axhline(1.0, color="black", linewidth=0.8, linestyle="--", label="strategy_3")
        axis.set_yscale("log")
        axis.set_ylim(0.025, 6)
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

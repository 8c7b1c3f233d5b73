"""DX section 4.4, Figures 4 and 5: single random queries under the Blowfish distance
threshold and under the smooth threshold."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np

from designer import Problem, Workload, design, metrics
from designer.base.arrays import Floats
from designer.certificate.sensitivity import SensitivitySet
from designer.extend import figure
from examples.dx_setting import UNIVERSE, universe
from examples.reproduction import Result, saved, show

THRESHOLDS = (2, 4, 8, 16)
METRICS = {"Blowfish": metrics.blowfish, "smooth": metrics.smooth_threshold}
EPSILONS = np.linspace(0.1, 1.0, 10)

# The paper gives curves and words; the words are turned into inequalities. "Roughly the same" averages are read as at most a
# fifth apart, "roughly similar" distributions as a Kolmogorov-Smirnov distance of at most 0.1.
DIFFERENCES = {
    "average RMSE, smooth over Blowfish, T = 2": (
        "only pairs within 2 of each other are protected, and of 50 points in a square of side 100 hardly any are: one pair "
        "here (its points 1 apart). The Blowfish error is then that of one coefficient difference, while the smooth metric "
        "still protects everybody. Other universes of 50 points give ratios from 1.06 to 1.77."
    ),
}


def random_queries(count: int) -> Floats:
    """Coefficients uniform on [0, 1]."""
    return np.random.default_rng(2).random((count, UNIVERSE))


@cache
def scales(count: int, kind: str, threshold: int, epsilon: float = 1.0, seed: int = 0) -> Floats:
    """c = max |q_i - q_j| / d(i, j) of each query alone: the noise has standard deviation sqrt(2) c.

    0.03 s for 1000 queries: the hop metric is scanned along its edges only, which imply all other pairs.
    """
    metric = METRICS[kind](universe(seed), threshold, epsilon)
    return SensitivitySet.of(random_queries(count), metric).worst_coordinates()


def rmse(count: int, kind: str, threshold: int, epsilon: float = 1.0) -> float:
    """Average over the queries of the root mean squared error."""
    return float(np.sqrt(2) * scales(count, kind, threshold, epsilon).mean())


def factors(count: int, kind: str, threshold: int, seed: int = 0) -> Floats:
    """IF(q) = (Delta_1 / epsilon) / c against the epsilon-DP Laplace mechanism, at epsilon = 1."""
    return np.asarray(np.ptp(random_queries(count), axis=1) / scales(count, kind, threshold, seed=seed))


def distance(left: Floats, right: Floats) -> float:
    """Kolmogorov-Smirnov distance of two samples."""
    steps = np.concatenate([left, right])
    shares = [np.searchsorted(np.sort(sample), steps, side="right") / len(sample) for sample in (left, right)]
    return float(np.abs(shares[0] - shares[1]).max())


def certified(kind: str, threshold: int) -> float:
    """Squared error of a certified design for the first query over `2 c^2`: the closed form
    is what `design` finds and proves."""
    query = random_queries(1)
    made = design(Problem(Workload(query), METRICS[kind](universe(), threshold, 1.0)), "laplace")
    return made.error / (2 * float(scales(1, kind, threshold)[0]) ** 2) if made.privacy.holds else np.inf


def reproduce(full: bool = False) -> Result:
    """What section 4.4 says of RMSE and IF. Exact statements hold for every query: d falls with T,
    and smooth is at most hops."""
    count = 1000 if full else 250
    rising = [scales(count, kind, high) - scales(count, kind, low) for kind in METRICS for low, high in pairwise(THRESHOLDS)]
    apart = [scales(count, "smooth", t) - scales(count, "Blowfish", t) for t in THRESHOLDS]
    ratio = {t: rmse(count, "smooth", t) / rmse(count, "Blowfish", t) for t in THRESHOLDS}
    medians = {kind: float(np.median(factors(count, kind, 2))) for kind in METRICS}
    computed = {
        "queries with less error at a higher T": sum(int((rise < -1e-9).sum()) for rise in rising),
        "queries with less error under the smooth metric": sum(int((gap < -1e-9).sum()) for gap in apart),
        **{f"average RMSE, smooth over Blowfish, T = {t}": value for t, value in ratio.items()},
        "RMSE at epsilon 0.1 over RMSE at 1": rmse(count, "Blowfish", 4, 0.1) / rmse(count, "Blowfish", 4),
        "smallest IF": min(float(factors(count, kind, t).min()) for kind in METRICS for t in THRESHOLDS),
        "median IF at T = 2, Blowfish over smooth": medians["Blowfish"] / medians["smooth"],
        "distance of the distributions of IF, T = 2": distance(*(factors(count, kind, 2) for kind in METRICS)),
        "distance of the distributions of IF, T = 16": distance(*(factors(count, kind, 16) for kind in METRICS)),
        "certified squared error over closed form, Blowfish": certified("Blowfish", 4),
        "certified squared error over closed form, smooth": certified("smooth", 4),
    }
    published = {
        "queries with less error at a higher T": (0.0, 0.0),
        "queries with less error under the smooth metric": (0.0, 0.0),
        **{f"average RMSE, smooth over Blowfish, T = {t}": (1.0, 1.2) for t in THRESHOLDS},
        "RMSE at epsilon 0.1 over RMSE at 1": (10 - 1e-9, 10 + 1e-9),
        "smallest IF": (1 - 1e-12, np.inf),
        "median IF at T = 2, Blowfish over smooth": (1.0, np.inf),
        "distance of the distributions of IF, T = 2": (0.1, 1.0),
        "distance of the distributions of IF, T = 16": (0.0, 0.1),
        "certified squared error over closed form, Blowfish": (1 - 1e-6, 1 + 1e-6),
        "certified squared error over closed form, smooth": (1 - 1e-6, 1 + 1e-6),
    }
    return computed, published


def moved(full: bool = False) -> Result:
    """Figures 4 and 5 in ten universes: how many have no pair within T = 2, where Blowfish asks for no noise; over the others,
    the ratio of the averages, of the medians, and the distances of the distributions."""
    count, ratios, errors, near, far = 300, [], [], [], []
    for seed in range(10 if full else 3):
        if not scales(count, "Blowfish", 2, seed=seed).any():
            continue
        ratios.append(np.median(factors(count, "Blowfish", 2, seed)) / np.median(factors(count, "smooth", 2, seed)))
        errors.append(scales(count, "smooth", 2, seed=seed).mean() / scales(count, "Blowfish", 2, seed=seed).mean())
        near.append(distance(factors(count, "Blowfish", 2, seed), factors(count, "smooth", 2, seed)))
        far.append(distance(factors(count, "Blowfish", 16, seed), factors(count, "smooth", 16, seed)))
    return {
        "10 universes: with no pair within T = 2": float((10 if full else 3) - len(ratios)),
        "10 universes: average RMSE, smooth over Blowfish, T = 2, least": float(min(errors)),
        "10 universes: average RMSE, smooth over Blowfish, T = 2, largest": float(max(errors)),
        "10 universes: median IF at T = 2, Blowfish over smooth, least": float(min(ratios)),
        "10 universes: median IF at T = 2, Blowfish over smooth, largest": float(max(ratios)),
        "10 universes: distance of the distributions of IF, T = 2, least": min(near),
        "10 universes: distance of the distributions of IF, T = 16, largest": max(far),
    }, {}


def draw(folder: Path) -> str:
    """Figure 4: RMSE against epsilon. Figure 5: the distribution of IF at epsilon = 1."""
    paths = folder / "dx_figure_4.svg", folder / "dx_figure_5.svg"
    errors, panels = figure(columns=2)
    baseline = np.sqrt(2) * np.ptp(random_queries(1000), axis=1).mean()
    for panel, kind in zip(panels, METRICS, strict=True):
        for t in THRESHOLDS:
            panel.plot(EPSILONS, rmse(1000, kind, t) / EPSILONS, marker="o", markersize=3, label=f"T = {t}")
        panel.plot(EPSILONS, baseline / EPSILONS, color="0.3", linestyle="--", label="epsilon-DP")
        panel.set(title=f"{kind} metric", xlabel="epsilon", ylabel="average RMSE", xscale="log", yscale="log", ylim=(0.4, 16))
        panel.set_xticks([0.1, 0.2, 0.5, 1], ["0.1", "0.2", "0.5", "1"])
        panel.set_yticks([0.5, 1, 2, 5, 10], ["0.5", "1", "2", "5", "10"])
        panel.minorticks_off()
    panels[0].legend()
    saved(errors, paths[0])
    shares, panels = figure(columns=2)
    for panel, kind in zip(panels, METRICS, strict=True):
        for t in THRESHOLDS:
            panel.ecdf(factors(1000, kind, t), label=f"T = {t}")
        panel.set(
            title=f"{kind} metric",
            xscale="log",
            xlim=(0.95, 100),
            ylim=(0, 1.03),
            xlabel="improvement factor IF(q)",
            ylabel="share of queries up to IF",
        )
        panel.set_xticks([1, 2, 5, 10, 20, 50, 100], ["1", "2", "5", "10", "20", "50", "100"])
        panel.minorticks_off()
    panels[1].legend(loc="lower right")
    saved(shares, paths[1])
    return " and ".join(map(str, paths))


if __name__ == "__main__":
    show("DX section 4.4: Blowfish and smooth thresholds, N = 50", reproduce, DIFFERENCES, draw)
    show("Figure 5 in other universes", moved, {})

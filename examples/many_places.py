"""200,000 places around the 755 US cities: two weighted counts with the optimal Gaussian noise, budgets by distance on Earth.

The places are made up: squares of about 1 km around every city, as many as its share of the inhabitants asks for. What is asked
is the elevation and the nearness to large cities, summed over records; 20 billion pairs of places are protected, and the search
looks at few of them.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from designer import AdditiveMechanism, Design, Problem, Workload, design, metrics
from designer.extend import figure
from examples.dx_us_cities import column
from examples.reproduction import Floats, Result, show

FULL, SMALL = 200_000, 6_000
STEP = 0.01  # degrees of latitude between the squares
PER_KM = 0.05
DIFFERENCES: dict[str, str] = {}


def cities() -> Floats:
    """Latitude, longitude, inhabitants and elevation in km, (755, 4)."""
    return np.stack([column("latitude"), column("longitude"), column("population"), column("elevation_m") / 1000], axis=1)


def shares(inhabitants: Floats, places: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """How many places each city gets: one at least, the others by inhabitants, so that all are as many as asked for."""
    more = np.floor((places - len(inhabitants)) * np.cumsum(inhabitants) / inhabitants.sum() + 0.5)
    return 1 + np.diff(more, prepend=0).astype(np.intp)


def grid(places: int) -> Floats:
    """Latitude and longitude of the centres of squares, in rings around each city, (places, 2)."""
    listed = cities()
    parts = []
    for (latitude, longitude, *_), count in zip(listed.tolist(), shares(listed[:, 2], places).tolist(), strict=True):
        side = int(np.sqrt(count)) + 2
        steps = np.stack(np.meshgrid(*[np.arange(-side, side + 1)] * 2, indexing="ij"), axis=-1).reshape(-1, 2)
        nearest = steps[np.argsort((steps**2).sum(axis=1), kind="stable")[:count]] * STEP
        parts.append(np.array([latitude, longitude]) + nearest / np.array([1.0, np.cos(np.radians(latitude))]))
    return np.concatenate(parts)


def answers(at: Floats) -> Floats:
    """Elevation and nearness to large cities, smoothed over about 50 km, (2, N)."""
    listed = cities()
    rows = []
    for start in range(0, len(at), 2000):
        here = at[start : start + 2000]
        apart = (here[:, None] - listed[:, :2]) * [111.0, 85.0]
        weight = np.exp(-np.sqrt((apart**2).sum(axis=2)) / 50)
        rows.append(np.stack([weight @ listed[:, 3] / weight.sum(axis=1), weight @ listed[:, 2] / 1e6], axis=1))
    return np.concatenate(rows).T


@cache
def designed(places: int) -> Design[AdditiveMechanism]:
    """The optimal Gaussian noise for both answers."""
    at = grid(places)
    problem = Problem(Workload(answers(at), ["elevation", "nearness"]), metrics.great_circle(at, PER_KM), notion="zcdp")
    return design(problem, "gaussian")


def reproduce(full: bool = False) -> Result:
    """The certificate over all pairs, the gap, and the correlation of the noise."""
    places = FULL if full else SMALL
    made = designed(places)
    assert made.optimality is not None and made.privacy.worst_ratio is not None
    covariance = made.mechanism.covariance()
    deviations = np.sqrt(covariance.diagonal())
    computed = {
        "pairs that are certified": float(made.privacy.pairs),
        "worst ratio": float(made.privacy.worst_ratio),
        "certified gap": made.optimality.gap,
        "deviation of the elevation, km": float(deviations[0]),
        "deviation of the nearness, million": float(deviations[1]),
        "correlation of the noise": float(covariance[0, 1] / deviations.prod()),
    }
    pairs = places * (places - 1) / 2
    return computed, {
        "pairs that are certified": (pairs, pairs),
        "worst ratio": (1 - 1e-6, 1.0),
        "certified gap": (0.0, 1e-4),
        "correlation of the noise": (-1.0, 1.0),
    }


def draw(folder: Path) -> Path:
    """The places, coloured by their nearness to large cities, and the ellipse that holds the noise of 95 of 100 releases."""
    made, at = designed(FULL), grid(FULL)
    plot, (country, noise) = figure(2)
    near = made.problem.workload.dense()[1]
    dots = country.scatter(at[:, 1], at[:, 0], c=near, s=0.2, cmap="viridis", rasterized=True)
    plot.colorbar(dots, ax=country, label="nearness, million inhabitants")
    country.set(xlim=(-126, -66), ylim=(24, 50), xlabel="longitude", ylabel="latitude", title=f"{len(at):,} places")
    turn = np.linspace(0, 2 * np.pi, 400)
    root = np.linalg.cholesky(made.mechanism.covariance())
    ring = root @ np.stack([np.cos(turn), np.sin(turn)]) * np.sqrt(-2 * np.log(0.05))
    noise.plot(ring[0], ring[1], color="tab:red")
    noise.axhline(0, lw=0.5, color="grey")
    noise.axvline(0, lw=0.5, color="grey")
    noise.set(xlabel="noise of the elevation, km", ylabel="noise of the nearness, million", title="95 % of the noise")
    path = folder / "many_places.png"
    plot.savefig(path, dpi=150)
    return path


if __name__ == "__main__":
    show(f"{FULL:,} places around 755 cities, budget {PER_KM} per km", reproduce, DIFFERENCES, draw)

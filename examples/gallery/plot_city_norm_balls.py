"""
The shape of noise for two answers about cities
===============================================

Two sums over people are asked: of the latitudes and of the elevations of their cities, the 108 of more than 200,000
inhabitants. A person's city is protected by distance: a move of 100 km may shift the odds of any output by a factor of e.

Each dot is what one move changes, for each 100 km of it, and the noise must hide all of them. Every family of mechanisms
draws a ball of its own shape around the dots, and its noise follows that ball. Where a degree weighs as much as 100 m, the
convex hull (K-norm) has an expected squared error of 4.6 km², independent Laplace noise 5.9 and a box 8.0. A few pairs of
neighbours at different heights decide the shape; most moves are hidden with room to spare.
"""

import matplotlib.pyplot as plt
import numpy as np

from designer import Problem, Workload, datasets, design, metrics

cities = datasets.us_cities()
large = cities["population"] > 200_000
latitude, longitude, height = (cities[name][large] for name in ("latitude", "longitude", "elevation_m"))
asked = Workload(np.stack([latitude, height]), ["latitude", "elevation"])
problem = Problem(asked, metrics.great_circle(np.stack([latitude, longitude], axis=1), per_km=0.01), weights=[1e4, 1.0])

figure, axes = plt.subplots(figsize=(7, 5.5), layout="constrained")
turn = np.linspace(0, 2 * np.pi, 1441)
directions = np.stack([np.cos(turn), 300 * np.sin(turn)], axis=1)
looks = {
    "k_norm": ("convex hull (K-norm)", "#3a5ce1", "-"),
    "ellipsoid": ("ellipsoid", "#dc6008", "--"),
    "box": ("box", "#27752b", "-."),
    "laplace": ("Laplace noise, each by itself", "#9542b1", (0, (2, 1))),
}
losses = {}
for family, (words, colour, dashes) in looks.items():
    made = design(problem, family)
    losses[family] = made.loss / 1e6
    outline = directions / np.asarray(made.mechanism.norm(directions))[:, None]
    axes.plot(*outline.T, color=colour, linestyle=dashes, linewidth=2, label=f"{words}: {losses[family]:.1f} km²")
moves = made.mechanism.sensitivity().all_pairs().normalised
axes.plot(*np.concatenate([moves, -moves]).T, ".", color="0.5", markersize=1.5, rasterized=True, zorder=0)
axes.set_xlabel("change of the sum of latitudes, degrees per 100 km of a move")
axes.set_ylabel("change of the sum of elevations, m per 100 km")
axes.set_title("What one move changes, and four balls that cover it")
figure.legend(title="ball, and the expected squared error of its noise", frameon=False, loc="outside lower center", ncols=2)
plt.show()

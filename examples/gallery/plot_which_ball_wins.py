"""
Which norm ball wins, state by state
====================================

In every state with at least eight larger cities, two sums over people are asked, of the latitudes and of the elevations of
their cities, and a move of 100 km may shift the odds by e. Four families design noise; a degree weighs as much as 100 m.

The convex hull of what moves change has the least squared error in 28 of 32 states, with up to 61 % less than Laplace noise
on each answer. In California, Maryland, Oregon and Washington it is the other way round: steep neighbours make the hull a
needle, and independent noise is better. Which ball wins depends on the data's geography alone, which is public, so try them
all.
"""

import matplotlib.pyplot as plt
import numpy as np

from designer import Problem, Workload, datasets, design, metrics

FAMILIES = {
    "box": ("box", "#27752b", "s"),
    "laplace": ("Laplace, each by itself", "#9542b1", "v"),
    "ellipsoid": ("ellipsoid", "#dc6008", "^"),
    "k_norm": ("convex hull (K-norm)", "#3a5ce1", "o"),
}
cities = datasets.us_cities()
losses = {}
for state in sorted(set(cities["state"])):
    here = cities["state"] == state
    if here.sum() >= 8:
        latitude, longitude, height = (cities[name][here] for name in ("latitude", "longitude", "elevation_m"))
        asked = Workload(np.stack([latitude, height]), ["latitude", "elevation"])
        relation = metrics.great_circle(np.stack([latitude, longitude], axis=1), per_km=0.01)
        problem = Problem(asked, relation, weights=[1e4, 1.0])
        losses[state] = {family: design(problem, family).loss for family in FAMILIES}

order = sorted(losses, key=lambda state: losses[state]["laplace"] / losses[state]["k_norm"])
figure, axes = plt.subplots(figsize=(7, 7.2), layout="constrained")
for family, (words, colour, mark) in FAMILIES.items():
    ratios = [losses[state][family] / min(losses[state].values()) for state in order]
    won = sum(ratio == 1 for ratio in ratios)
    axes.plot(ratios, range(len(order)), mark, color=colour, markersize=6, label=f"{words}: best in {won}")
axes.axvline(1, color="0.6", linewidth=0.8, zorder=0)
axes.set_yticks(range(len(order)), order, fontsize=8)
axes.grid(axis="y", alpha=0.25)
axes.set_xlabel("squared error over that of the best of the four")
axes.set_ylabel("state")
axes.set_title("Latitude and elevation of a state's people")
figure.legend(frameon=False, loc="outside lower center", ncols=2)
plt.show()

"""
Circles of odds around cities
=============================

How much budget per kilometre? Say how far somebody should be able to live from where they do without anyone being able to
tell. Here an attacker who thought two cities equally likely may think one of them three times likelier after the release, at
most, if they are 100 km apart. That circle is drawn around the 80 largest cities; places further apart are told apart more
easily, by design.

The released answer is the mean place of 117 million people. Its standard error is 2.4 mm: protection by distance asks little
of a mean over so many.
"""

from math import cos, log, radians

import matplotlib.pyplot as plt
import numpy as np

from designer import Problem, Workload, datasets, design, metrics

ODDS, KILOMETRES = 3, 100
KM_PER_DEGREE = 111.2

cities = datasets.us_cities()
here = ~np.isin(cities["state"], ["AK", "HI"])
latitude, longitude, people = (cities[name][here] for name in ("latitude", "longitude", "population"))
places = np.stack([latitude, longitude], axis=1)
relation = metrics.great_circle(places, per_km=log(ODDS) / KILOMETRES)
made = design(Problem(Workload(places.T, ["latitude", "longitude"]), relation), "ellipsoid")
error_mm = made.mechanism.standard_errors() / people.sum() * KM_PER_DEGREE * 1e6
mean = places.T @ people / people.sum()

figure, axes = plt.subplots(figsize=(9, 5.4), layout="constrained")
for place in places[:80]:
    turn = np.linspace(0, 2 * np.pi, 61)
    up, along = np.sin(turn), np.cos(turn) / cos(radians(place[0]))
    ring = place[:, None] + KILOMETRES / KM_PER_DEGREE * np.stack([up, along])
    axes.plot(ring[1], ring[0], color="#3a5ce1", linewidth=0.6, alpha=0.6)
axes.scatter(longitude, latitude, s=people / 3e4, color="#dc6008", alpha=0.7, linewidths=0, label="a city, by its inhabitants")
axes.plot([], [], color="#3a5ce1", label=f"{KILOMETRES} km: the odds of two places shift by at most {ODDS}")
label = f"mean of all people, to {np.hypot(*error_mm):.1f} mm"
axes.plot(mean[1], mean[0], "kX", markersize=9, markeredgecolor="white", label=label)
axes.set_aspect(1 / cos(radians(38)))
axes.set_xlabel("longitude, degrees")
axes.set_ylabel("latitude, degrees")
axes.set_title("Cities of the United States, protected by distance")
figure.legend(loc="outside lower center", ncols=2, frameon=False)
plt.show()

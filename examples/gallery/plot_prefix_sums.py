"""
Prefix sums: where noise is added
=================================

753 cities are ordered by their longitude, in 64 strips from west to east, and 64 running totals of people are asked, as for a
distribution function. One person's strip is protected, with a budget of mu = 0.5.

Noise on every strip, summed up, grows from west to east. Noise on every running total by itself is large everywhere. The
family ``gaussian`` designs other queries, from which all totals are computed: 4.2 persons in place of 11.4 and 16.0, and a
dual bound certifies that no Gaussian noise has a squared error smaller by more than a millionth.
"""

import matplotlib.pyplot as plt
import numpy as np

from designer import Domain, Problem, Workload, datasets, design, metrics

STRIPS = 64
cities = datasets.us_cities()
here = ~np.isin(cities["state"], ["AK", "HI"])
longitude, people = cities["longitude"][here], cities["population"][here]
edges = np.linspace(longitude.min(), longitude.max(), STRIPS + 1)
true = np.cumsum(np.histogram(longitude, edges, weights=people)[0])
asked = Workload.prefix(Domain.of({"strip": STRIPS}))
problem = Problem(asked, metrics.add_remove(STRIPS, 0.5), notion="zcdp")
strips = Problem(Workload.identity(STRIPS), problem.relation, notion="zcdp")

best = design(problem, "gaussian")
errors = {
    "on every strip, then summed": np.sqrt(np.cumsum(design(strips, "gaussian").mechanism.standard_errors() ** 2)),
    "on every running total": design(problem, "isotropic_gaussian").mechanism.standard_errors(),
    "on designed queries": best.mechanism.standard_errors(),
}

figure, (above, below) = plt.subplots(2, 1, figsize=(7, 6), sharex=True, height_ratios=[1, 1.6], layout="constrained")
above.step(edges[1:], true / 1e6, color="black", where="pre")
above.set_ylabel("people to the west,\nmillions")
above.set_title("64 running totals of people in cities, from west to east")
looks = [("#dc6008", "--"), ("#9542b1", ":"), ("#3a5ce1", "-")]
for (words, found), (colour, dashes) in zip(errors.items(), looks, strict=True):
    below.step(edges[1:], found, color=colour, linestyle=dashes, linewidth=2, where="pre", label=f"noise {words}")
below.set_ylim(0, 18)
below.set_xlabel("longitude of the strip's eastern edge, degrees")
below.set_ylabel("standard error, persons")
below.legend(frameon=False, loc="upper left", bbox_to_anchor=(0, 0.88))
plt.show()

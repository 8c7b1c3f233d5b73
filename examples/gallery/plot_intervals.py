"""
Intervals of a released table
=============================

48,842 adults are counted by education and released with a budget of 0.5. Readers need to know how far a released number may
be from the true one. The law of the noise is public, so this is not estimated: it is proven, for every number by itself
(dark), and for all 16 at once (light).

Shown is the released number less the true one, which readers do not see. Each dark bar covers 0 with a probability of at
least 95 %; here one of 16 misses it. The light bars all cover 0 together with that probability, and are 1.9 times as wide.
"""

import matplotlib.pyplot as plt
import numpy as np

from designer import Problem, Workload, datasets, design, metrics

table = datasets.adult_education_race()
levels = list(dict.fromkeys(table["education"]))
true = np.array([table["count"][table["education"] == level].sum() for level in levels])
mechanism = design(Problem(Workload.identity(levels), metrics.uniform(len(levels), 0.5)), "laplace").mechanism
noise = np.asarray(mechanism.simulate(1, seed=12))[0]
alone, together = mechanism.margins(), mechanism.joint_margins()
ratio = float(together[0] / alone[0])

figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
places = np.arange(len(levels))
axes.barh(places, 2 * together, 0.7, left=noise - together, color="#0ba2b4", alpha=0.45, label="95 %, all at once")
axes.barh(places, 2 * alone, 0.34, left=noise - alone, color="#3a5ce1", label="95 %, each by itself")
axes.plot(noise, places, "o", color="white", markeredgecolor="black", markersize=5, label="released")
axes.axvline(0, color="black", linewidth=1.2, label="true")
axes.set_yticks(places, [f"{level}: {count:,.0f}" for level, count in zip(levels, true + noise, strict=True)])
axes.invert_yaxis()
axes.set_xlabel("persons, from the true number")
axes.set_ylabel("education, and the released number of persons")
axes.set_title("16 released counts and their intervals")
figure.legend(frameon=False, loc="outside lower center", ncols=4)
plt.show()

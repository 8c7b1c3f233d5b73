"""
A hierarchy that adds up
========================

Jobs are released for the nation, for 51 states and for the sectors of each state. Every number gets noise of its own, so that
at first a state is not the sum of its sectors: the gaps are the dots on the left. Weighted least squares makes them agree. It
costs no budget, and each level lends the others its accuracy: the standard error of a state falls from 20,000 jobs to 15,100.

A row of County Business Patterns, one state's industry of four digits, stands for one business here, of up to 20,000 jobs.
"""

import matplotlib.pyplot as plt
import numpy as np

from designer import datasets
from designer.tables import Key, Measure, Sum, TablePlan, consistent_levels, hierarchy

industries = datasets.cbp_state_industry().to_frame()
jobs = Measure("employees", upper=20_000)
pairs = sorted({(row.state, row.naics4[:2]) for row in industries.itertuples()})
levels = hierarchy(["state", Key("naics4", 2)], pairs)
names = ["nation", "state", "sector"]
DEVIATIONS = [60_000, 20_000, 5_000]
queries = [Sum(*level, variance=wide**2, measure=jobs) for *level, wide in zip(names, levels, DEVIATIONS, strict=True)]
plan = TablePlan(queries)
noisy = plan.simulate(1, seed=6, data=industries)[0]
agreed = dict(zip(names, consistent_levels([noisy[name] for name in names], levels), strict=True))


def gaps(answers):
    """How far each state is from the sum of its sectors."""
    sums = {}
    for (state, _), value in zip(answers["sector"].keys, answers["sector"].values, strict=True):
        sums[state] = sums.get(state, 0.0) + value
    return [value - sums[state] for (state,), value in zip(answers["state"].keys, answers["state"].values, strict=True)]


before = gaps({name: noisy[name] for name in names})
after = gaps(agreed)
errors = {name: float(np.sqrt(np.mean(agreed[name].variances))) for name in names}

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained", width_ratios=[1.5, 1])
left.plot(np.array(before) / 1e3, "o", color="#dc6008", markersize=5, label="as they are drawn")
left.plot(np.array(after) / 1e3, "s", color="#3a5ce1", markersize=4, label="after least squares")
left.set_xlabel("state, in the order of postal codes")
left.set_ylabel("state less the sum of its sectors, thousand jobs")
left.set_ylim(-95, 100)
left.set_title("Gaps between levels")
left.legend(frameon=False, loc="lower right", ncols=2)
for place, name in enumerate(names):
    right.bar(place - 0.2, DEVIATIONS[place] / 1e3, 0.38, color="#dc6008")
    right.bar(place + 0.2, errors[name] / 1e3, 0.38, color="#3a5ce1")
    right.text(place + 0.2, errors[name] / 1e3 + 0.6, f"{errors[name] / 1e3:.1f}", ha="center")
right.set_xticks(range(3), names)
right.set_ylabel("standard error, thousand jobs")
right.set_title("Noise by level, before and after")
plt.show()

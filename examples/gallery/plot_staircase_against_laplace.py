"""
The staircase and the Laplace law
=================================

48,842 adults are in six groups of age, numbered 0 to 5, and the sum of these numbers is asked, from which the mean age group
follows. One person changes the sum by up to 5. Both laws keep the same promise with a budget of 3: whatever one person's age
group were, no output is more than e³ times likelier.

Laplace noise on whole numbers falls at every step. The staircase falls only as far as a change of up to 5 forces it: flat,
then down at once. Its standard error is 1.94 instead of 2.32, and its program proves that no other law on the whole numbers
is better.
"""

import matplotlib.pyplot as plt
import numpy as np

from designer import Domain, Problem, Workload, datasets, design, metrics

ages = sorted(set(datasets.adult()["age_group"]))
asked = Workload(np.arange(6.0)[None], ["sum of age groups"], ages)
problem = Problem(asked, metrics.uniform(Domain.of({"age_group": ages}).size, 3.0))

DRAWS = 2_000_000
laws, errors = {}, {}
for family in ("laplace", "staircase"):
    mechanism = design(problem, family).mechanism
    errors[family] = float(mechanism.standard_errors()[0])
    drawn = np.rint(mechanism.simulate(DRAWS, seed=1)[:, 0]).astype(int)
    laws[family] = dict(zip(*np.unique(drawn, return_counts=True), strict=True))

figure, axes = plt.subplots(figsize=(7, 4.4), layout="constrained")
steps = np.arange(-10, 11)
for family, colour, dashes in (("laplace", "#dc6008", "--"), ("staircase", "#3a5ce1", "-")):
    shares = [laws[family].get(step, 0) / DRAWS for step in steps]
    label = f"{family}, standard error {errors[family]:.2f}"
    axes.step(steps, shares, where="mid", color=colour, linestyle=dashes, linewidth=2, label=label)
axes.set_yscale("log")
axes.set_ylim(3e-4, 1)
axes.set_xticks(range(-10, 11, 5))
axes.set_xlabel("noise in the sum of age groups")
axes.set_ylabel("probability")
axes.set_title("Two laws that keep one promise")
axes.legend(frameon=False)
plt.show()

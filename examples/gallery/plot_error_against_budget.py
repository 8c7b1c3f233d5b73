"""
Error against budget, family by family
======================================

48,842 adults are counted by education, and running totals are asked: how many have at most this much schooling. Any person
may have any of 16 levels instead, and the budget says how well that is hidden.

Twice the budget halves the error, for every family: the lines are parallel. What differs is where they start. Noise on other
queries, from which the totals are then computed ("strategy"), has 4.5 times less error at every budget than independent
Laplace noise on the totals themselves. At a budget of 1 the total is known to 4.6 persons instead of 20.5.
"""

import matplotlib.pyplot as plt
import numpy as np

from designer import Domain, Problem, Workload, datasets, design, metrics

table = datasets.adult_education_race()
levels = list(dict.fromkeys(table["education"]))
asked = Workload.prefix(Domain.of({"education": levels}))

looks = {
    "laplace": ("Laplace noise on each total", "#9542b1", "v"),
    "l2_ball": ("noise in a Euclidean ball", "#7c9f2b", "D"),
    "box": ("noise in a box", "#27752b", "s"),
    "ellipsoid": ("noise in an ellipsoid", "#dc6008", "^"),
    "strategy_laplace": ("Laplace noise on a strategy", "#3a5ce1", "o"),
}
budgets = [0.25, 1.0, 4.0]
errors = {
    family: [
        float(np.sqrt(np.mean(design(Problem(asked, metrics.uniform(16, budget)), family).mechanism.standard_errors() ** 2)))
        for budget in budgets
    ]
    for family in looks
}

figure, axes = plt.subplots(figsize=(7, 4.6), layout="constrained")
for family, (words, colour, mark) in looks.items():
    axes.plot(budgets, errors[family], color=colour, marker=mark, label=words)
axes.set_xscale("log", base=2)
axes.set_yscale("log", base=2)
axes.set_xticks([0.25, 0.5, 1, 2, 4], ["1/4", "1/2", "1", "2", "4"])
axes.set_yticks([1, 2, 4, 8, 16, 32, 64], ["1", "2", "4", "8", "16", "32", "64"])
axes.set_xlabel("budget epsilon of one person's level")
axes.set_ylabel("standard error of a total, persons")
axes.set_title("Running totals over 16 levels of education")
axes.legend(frameon=False)
plt.show()

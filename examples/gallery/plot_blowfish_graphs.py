"""
Blowfish graphs: which pairs are secrets
========================================

48,842 adults are counted by 16 levels of education, and running totals are asked. A Blowfish policy is a graph: an arc joins
two levels that an attacker must not be able to tell apart with a budget of 1; levels that several arcs join cost as many
budgets.

Ordinary differential privacy draws all arcs. Joining neighbours alone says that a level is hidden from those next to it, and
one that is far away is less of a secret. Joining all levels within school, and all above, publishes who went to college. The
fewer arcs, the smaller the error: 4.6, 1.3 and 3.3 persons with the best family for each.
"""

import matplotlib.pyplot as plt
import numpy as np

from designer import Domain, Problem, Workload, datasets, design, metrics

levels = list(dict.fromkeys(datasets.adult_education_race()["education"]))
size, school = len(levels), 9
pairs = [(i, j) for i in range(size) for j in range(i + 1, size)]
graphs = {
    "every two levels": (pairs, "#dc6008", "strategy_laplace"),
    "neighbours": ([(i, i + 1) for i in range(size - 1)], "#3a5ce1", "laplace"),
    "within school and within college": (
        [(i, j) for i, j in pairs if (i < school) == (j < school)],
        "#27752b",
        "strategy_laplace",
    ),
}
asked = Workload.prefix(Domain.of({"education": levels}))

figure, axes = plt.subplots(len(graphs), 1, figsize=(8, 7.5), sharex=True, layout="constrained")
errors = {}
for axis, (words, (secrets, colour, family)) in zip(axes, graphs.items(), strict=True):
    relation = metrics.blowfish_graph(secrets, 1.0, nodes=size)
    found = design(Problem(asked, relation), family).mechanism.standard_errors()
    errors[words] = float(np.sqrt(np.mean(found**2)))
    turn = np.linspace(0, np.pi, 60)
    for i, j in secrets:
        axis.plot(
            (i + j) / 2 - (j - i) / 2 * np.cos(turn), (j - i) ** 0.6 * np.sin(turn), color=colour, linewidth=0.8, alpha=0.8
        )
    axis.plot(range(size), np.zeros(size), "o", color="black", markersize=4)
    axis.bar(range(size), -found, 0.6, color=colour)
    axis.axhline(0, color="0.4", linewidth=0.8)
    axis.set_ylim(-7, 5.6)
    axis.set_yticks([-6, -3, 0], ["6", "3", "0"])
    axis.set_ylabel("error, persons", loc="bottom")
    axis.set_title(f"{words}: {errors[words]:.1f} persons", loc="left")
axes[-1].set_xticks(range(size), levels, rotation=40, ha="right", fontsize=8)
axes[-1].set_xlabel("arcs above: secrets; bars below: standard error of the running total up to this level")
plt.show()

"""
Tables of one person: budgets by attribute
==========================================

All tables of two of eight attributes of 48,842 adults are released, 28 of them. Who is divorced, and who earns how much, is
to be better hidden than who works where: four attributes have a budget of 0.2, the others one of 1.

Each bar is a table, by the standard error of its cells; the mark is what one budget of 0.2 for all attributes would give.
Tables of two well hidden attributes pay at most twice as much error, the six tables of two others have a sixth of it. The
noise is of residuals that tables share, so that sums which two tables have in common agree.
"""

from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np

from designer import Domain, MarginalProblem, MarginalWorkload, datasets, design, metrics

adult = datasets.adult()
domain = Domain.of({name: sorted(set(adult[name])) for name in adult.columns})
hidden = ["marital_status", "race", "sex", "income"]
budgets = {name: 0.2 if name in hidden else 1.0 for name in domain.attributes}
pairs = [list(pair) for pair in combinations(domain.attributes, 2)]
workload = MarginalWorkload.of(domain, pairs)
own = design(MarginalProblem(workload, metrics.hamming(domain, budgets))).mechanism
one = design(MarginalProblem(workload, metrics.hamming(domain, dict.fromkeys(budgets, 0.2)))).mechanism


def typical(mechanism, pair):
    """The standard error of a cell of a table, persons."""
    return float(np.sqrt(np.mean(mechanism.variances(pair))))


errors = {tuple(pair): typical(own, pair) for pair in pairs}
single = {tuple(pair): typical(one, pair) for pair in pairs}

figure, axes = plt.subplots(figsize=(8, 6.4), layout="constrained")
colours = ["#0ba2b4", "#3a5ce1", "#dc6008"]
words = ["none of the two", "one of the two", "both"]
order = sorted(errors, key=errors.__getitem__)
for place, pair in enumerate(order):
    axes.barh(place, errors[pair], color=colours[sum(name in hidden for name in pair)])
    axes.plot(single[pair], place, "|", color="black", markersize=7, markeredgewidth=1.5)
for colour, word in zip(colours, words, strict=True):
    axes.barh(0, 0, color=colour, label=word)
axes.plot([], [], "|", color="black", markersize=9, markeredgewidth=1.5, label="with 0.2 for all")
axes.set_yticks(range(len(order)), [" x ".join(pair).replace("_", " ") for pair in order], fontsize=8)
axes.set_ylabel("table")
axes.set_xlabel("standard error of a cell, persons")
axes.set_title("28 tables of two attributes")
figure.legend(title="well hidden attributes", frameon=False, loc="outside lower center", ncols=4)
plt.show()

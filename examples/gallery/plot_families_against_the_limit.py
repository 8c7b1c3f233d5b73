"""
Families against the limit
==========================

How far is a mechanism from the best there can be? For linear queries a limit is known that no additive noise beats, whatever
its shape. A bar that reaches 100 % cannot be improved.

Three questions about 16 levels of education are asked with the same budget: every count, all running totals, and the two
halves (up to high school, and above). For two halves the staircase reaches 100 %; of running totals the best family here
reaches 29 %, and whether the noise or the proof can be improved is open. No family is best for all three, which is why
``design(problem)`` tries those that apply. The promise is the same everywhere: a person may have any other level.
"""

import matplotlib.pyplot as plt
import numpy as np

from designer import Domain, Problem, Workload, compare, datasets, metrics

levels = list(dict.fromkeys(datasets.adult_education_race()["education"]))
domain = Domain.of({"education": levels})
halves = np.array([[1.0] * 9 + [0.0] * 7, [0.0] * 9 + [1.0] * 7])
questions = {
    "two halves": Workload(halves, ["school", "college"], levels),
    "every count": Workload.identity(domain),
    "running totals": Workload.prefix(domain),
}
looks = {
    "laplace": ("Laplace", "#9542b1"),
    "box": ("box", "#27752b"),
    "ellipsoid": ("ellipsoid", "#dc6008"),
    "strategy_laplace": ("strategy", "#3a5ce1"),
    "k_norm": ("K-norm", "#0ba2b4"),
    "staircase": ("staircase", "#000000"),
}
reached = {}
for question, workload in questions.items():
    compared = compare(Problem(workload, metrics.uniform(16, 1.0)), list(looks))
    reached[question] = {row["family"]: row["efficiency"] for row in compared.rows if row["efficiency"] is not None}

figure, axes = plt.subplots(figsize=(7, 4.6), layout="constrained")
for place, shares in enumerate(reached.values()):
    for rank, (family, share) in enumerate(sorted(shares.items(), key=lambda item: item[1])):
        words, colour = looks[family]
        height = place + (rank - len(shares) / 2 + 0.5) * 0.13
        axes.barh(height, 100 * share, 0.11, color=colour)
        within = share > 0.8
        place_of_label, ink = (
            (100 * share - 1, "black" if family == "k_norm" else "white") if within else (100 * share + 1, "black")
        )
        label = f"{words} {100 * share:.3g} %"
        axes.text(place_of_label, height, label, va="center", ha="right" if within else "left", color=ink, fontsize=8)
axes.set_yticks(range(len(reached)), list(reached))
axes.set_xlim(0, 104)
axes.axvline(100, color="0.4", linestyle="--", linewidth=1)
axes.set_ylabel("question")
axes.set_xlabel("the limit over the squared error of the family, %")
axes.set_title("How near the limit each family comes, budget 1")
plt.show()

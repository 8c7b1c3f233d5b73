"""
Hexagons: changes that published margins leave
==============================================

Businesses of three states are counted in three sectors, and both margins are published exactly. What is left to hide are
changes that keep all margins: two businesses that swap places, or three that move in a cycle. Seen from the side on which
cycles are widest, both kinds make a hexagon.

A mechanism that was made for swaps alone has too small a ball: the cycles stick out to twice its size, so they are told apart
with twice the budget. The hull of both covers them, at 1.17 times the standard error. On the right, one draw of whole noise
from that hull: it moves the cells and keeps every total.
"""

from itertools import product

import matplotlib.pyplot as plt
import numpy as np

from designer import Problem, Workload, datasets, design, invariants

STATES, SECTORS = ["VT", "DE", "WY"], {"23": "construction", "44": "retail", "72": "hotels, food"}
counted = {(row["state"], row["sector"]): row["establishments"] for row in datasets.cbp_state_sector().rows}
table = np.array([[counted[state, sector] for sector in SECTORS] for state in STATES])
margins = invariants.margins((3, 3))
made = {most: design(Problem(Workload.identity(9), margins.protect(0.1, most)), "k_norm").mechanism for most in (2, 3)}
wider = float(np.sqrt(made[3].error() / made[2].error()))
whole = design(Problem(Workload.identity(9), margins.protect(0.1, 3)), "lattice_laplace", shape="hull").mechanism
noisy = table + np.asarray(whole.simulate(1, seed=3)).reshape(3, 3)

changes = np.array(list(product((-1, 0, 1), repeat=9))).reshape(-1, 3, 3)
changes = changes[(changes.sum(axis=1) == 0).all(axis=1) & (changes.sum(axis=2) == 0).all(axis=1)]
moved = (changes > 0).sum(axis=(1, 2))  # records
diagonals = np.stack([np.roll(np.eye(3), k, axis=1) for k in range(3)])
side = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])
seen = np.einsum("nij,kij,dk->nd", changes, diagonals, side)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained", width_ratios=[1, 1.1])
for records, words, colour, mark in ((2, "swaps of two", "#dc6008", "s"), (3, "cycles of three", "#3a5ce1", "o")):
    spots = seen[moved == records]
    far = np.unique(np.round(spots[np.hypot(*spots.T) > 0.99 * np.hypot(*spots.T).max()], 9), axis=0)
    corners = far[np.argsort(np.arctan2(*far.T))]
    left.fill(*corners.T, facecolor="none", edgecolor=colour, linewidth=2, linestyle="--" if records == 2 else "-")
    left.plot(*spots.T, mark, color=colour, label=words)
left.set(aspect="equal", ylim=(-4.4, 6.2), title="Changes that keep all margins, from one side")
left.set_xlabel("first two diagonals, records")
left.set_ylabel("third diagonal, records")
left.legend(frameon=False, loc="upper center", ncols=2)

right.imshow(noisy - table, cmap="RdBu", vmin=-60, vmax=60)
for i, j in product(range(3), range(3)):
    label = f"{noisy[i, j]:,.0f}\n({noisy[i, j] - table[i, j]:+.0f})"
    right.text(j, i, label, ha="center", va="center")
for i, (of_state, of_sector) in enumerate(zip(table.sum(axis=1), table.sum(axis=0), strict=True)):
    right.text(3, i, f"{of_state:,}", ha="center", va="center", weight="bold")
    right.text(i, 3, f"{of_sector:,}", ha="center", va="center", weight="bold")
right.set(xlim=(-0.5, 3.5), ylim=(3.5, -0.5), xlabel="sector", ylabel="state", title="Businesses: released (noise)")
right.set_xticks(range(4), [*SECTORS.values(), "all"])
right.set_yticks(range(4), [*STATES, "all"])
plt.show()

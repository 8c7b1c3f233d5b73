"""
Whole noise on a map of counties
================================

The inhabitants of all 3,143 counties of the United States are released, and the total of every state is published exactly, as
a census does. Each tile is a state, each square in it a county, coloured by its noise. The noise is whole, so the counties
are numbers of persons, and in every tile it adds up to 0: blue and red balance. A state that is one county has none.

A person may live in any other county of their state: mu = 0.1 of Gaussian differential privacy for that. The standard error
of a county is 12 to 14 persons where a state has several; the smallest county, Loving in Texas, has 82 inhabitants.
"""

import matplotlib.pyplot as plt
import numpy as np

from designer import Problem, Workload, datasets, design, invariants

TILES = """\
AK .. .. .. .. .. .. .. .. .. ME
.. .. .. .. .. .. .. .. .. VT NH
WA ID MT ND MN IL WI MI NY RI MA
OR NV WY SD IA IN OH PA NJ CT ..
CA UT CO NE MO KY WV VA MD DE ..
.. AZ NM KS AR TN NC SC DC .. ..
.. .. .. OK LA MS AL GA .. .. ..
HI .. .. TX .. .. .. .. FL .. .."""

counties = datasets.us_counties()
states = counties["state_abbr"]
relation = invariants.partition(states.tolist()).protect(0.1, adjacency=1)
problem = Problem(Workload.identity(len(states)), relation, notion="zcdp")
mechanism = design(problem, "lattice_gaussian").mechanism
noise = np.asarray(mechanism.simulate(1, seed=4))[0]
errors = mechanism.standard_errors()

figure, axes = plt.subplots(figsize=(9, 6.2), layout="constrained")
for row, line in enumerate(TILES.splitlines()):
    for column, state in enumerate(line.split()):
        here = noise[states == state]
        if len(here):
            side = int(np.ceil(np.sqrt(len(here))))
            squares = np.full(side * side, np.nan)
            squares[: len(here)] = here
            shown = (column, column + 0.94, row + 0.94, row + 0.2)
            image = axes.imshow(squares.reshape(side, side), cmap="RdBu", vmin=-40, vmax=40, extent=shown)
            axes.text(column + 0.02, row + 0.16, f"{state}  {len(here)}", fontsize=7.5)
axes.set_xlim(-0.1, 11.05)
axes.set_ylim(8.05, -0.1)
axes.set_aspect(1)
axes.set_xticks([])
axes.set_yticks([])
axes.set_xlabel("a tile for each state, with its number of counties; a square for each county")
axes.set_ylabel("north is up")
axes.set_title("Noise that is whole and leaves every state's total as it is")
figure.colorbar(image, label="noise, persons", shrink=0.6)
plt.show()

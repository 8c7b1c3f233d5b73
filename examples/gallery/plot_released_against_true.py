"""
Released against true
=====================

48,842 adults are counted by six groups of age and sixteen levels of education: 96 cells, released as whole numbers with a
budget of 1 for a person's age and education together. Each dot is a cell; with a probability of 95 % or more it is in the
band, 6 persons to both sides.

The noise is the same in small cells and in large ones: a cell of thousands is known to a part of a thousand, of a cell of
three persons it is known that it is small. A released count may be negative; the lower panel shows the noise alone.
"""

import matplotlib.pyplot as plt
import numpy as np

from designer import Domain, Problem, Workload, datasets, design, metrics

adult = datasets.adult()
domain = Domain.of({name: sorted(set(adult[name])) for name in ("age_group", "education")})
true = domain.histogram(adult.to_frame())
problem = Problem(Workload.identity(domain), metrics.uniform(domain.size, 1.0))
mechanism = design(problem, "laplace").mechanism
released = true + np.asarray(mechanism.simulate(1, seed=5))[0]
margin = float(mechanism.margins()[0])

figure, (above, below) = plt.subplots(2, 1, figsize=(7, 6.4), sharex=True, height_ratios=[2, 1], layout="constrained")
sizes = np.geomspace(1, 2e4, 200)
above.plot(sizes, sizes, color="0.4", linewidth=1)
above.fill_between(sizes, sizes - margin, sizes + margin, color="#0ba2b4", alpha=0.4, linewidth=0, label="95 % of all noise")
above.plot(np.maximum(true, 1), released, "o", color="#3a5ce1", markersize=4, label="a cell of age by education")
above.set_xscale("log")
above.set_yscale("symlog", linthresh=10)
above.set_ylim(-15, 3e4)
above.set_ylabel("released, persons")
above.legend(frameon=False, loc="upper left")
above.set_title("96 counts, released with a budget of 1")
below.axhspan(-margin, margin, color="#0ba2b4", alpha=0.4, linewidth=0)
below.axhline(0, color="0.4", linewidth=1)
below.plot(np.maximum(true, 1), released - true, "o", color="#3a5ce1", markersize=4)
below.set_xlabel("true count, persons (0 drawn at 1)")
below.set_ylabel("noise, persons")
plt.show()

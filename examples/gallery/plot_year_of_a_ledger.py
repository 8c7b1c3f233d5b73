"""
A year of a ledger
==================

Adults are counted by sex and age every month, with Laplace noise and a budget of 0.1, and in every third month with Gaussian
noise and a budget of 0.2 in its place. A ledger records every release before it is made, and knows what all of them cost
together.

Added one by one, the twelve epsilons, each at a twelfth of a delta of one in a million, come to 4.8. Zero-concentrated privacy
added up, as textbooks do it, comes to 2.37. The ledger composes the privacy losses of the noise itself and states 2.14,
below the total of 2.5 that was allowed for the year. A release that would exceed it is refused before data are touched.
"""

import tempfile
from fractions import Fraction
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from designer import Domain, Problem, Workload, datasets, design, metrics
from designer.accounting import zcdp_epsilon
from designer.accounts import Ledger, Total, expense_of, spent

DELTA, MOST = Fraction(1, 10**6), 2.5
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
adult = datasets.adult()
domain = Domain.of({name: sorted(set(adult[name])) for name in ("sex", "age_group")})
counts = domain.histogram(adult.to_frame())
asked = Workload.identity(domain)
monthly = design(Problem(asked, metrics.uniform(domain.size, 0.1)), "laplace").mechanism
quarterly = design(Problem(asked, metrics.uniform(domain.size, 0.2), notion="zcdp"), "gaussian").mechanism

RHO = [0.1**2 / 2, 0.1**2 / 2, 0.2**2 / 2] * 4
together, alone = [], []
with tempfile.TemporaryDirectory() as folder:
    ledger = Ledger.create(Path(folder) / "ledger", who="the office")
    people = ledger.state("adults", Total(epsilon=MOST, delta=DELTA), publishes=None)
    for month in range(12):
        mechanism = quarterly if month % 3 == 2 else monthly
        people.release(mechanism, counts)
        together.append(people.balance().spent.epsilon_at(DELTA))
        alone.append(spent([expense_of(mechanism)]).epsilon_at(DELTA / 12))

figure, axes = plt.subplots(figsize=(7.5, 4.4), layout="constrained")
axes.step(
    range(12), np.cumsum(alone), where="mid", color="#dc6008", linestyle="--", linewidth=2, label="epsilons added one by one"
)
textbook = [zcdp_epsilon(rho, float(DELTA)) for rho in np.cumsum(RHO)]
axes.step(range(12), textbook, where="mid", color="#27752b", linestyle="-.", linewidth=2, label="zCDP added up")
axes.step(range(12), together, where="mid", color="#3a5ce1", linewidth=2, label="stated by the ledger")
axes.plot(range(2, 12, 3), together[2::3], "o", color="#3a5ce1", label="month with Gaussian noise")
axes.axhline(MOST, color="black", linestyle=":", label="allowed for the year")
axes.set_xticks(range(12), MONTHS)
axes.set_ylim(0, None)
axes.set_xlabel("month of the release")
axes.set_ylabel("epsilon spent, at delta = 1e-6")
axes.set_title("Twelve releases about the same people")
axes.legend(frameon=False)
plt.show()

"""Linked tables: age by sex, age by county and sex by county of the same people, the ages published; noise that agrees."""

from __future__ import annotations

import numpy as np

from designer import Domain, Problem, design, invariants
from examples.reproduction import Result, show

PEOPLE = Domain.of({"age": ["0-17", "18-64", "65+"], "sex": ["F", "M"], "county": 20})
TABLES = {"age by sex": ["age", "sex"], "age by county": ["age", "county"], "sex by county": ["sex", "county"]}
RHO = 0.125  # zCDP for one person: a budget of 1/2 in Gaussian differential privacy
DIFFERENCES: dict[str, str] = {}


def counted(records: np.ndarray) -> dict[str, np.ndarray]:  # type: ignore[type-arg]
    """The three tables of people, (n, 3), by name."""
    tables = {}
    for name, attributes in TABLES.items():
        axes = [PEOPLE.axis(attribute) for attribute in attributes]
        tables[name] = np.zeros([PEOPLE.shape[axis] for axis in axes], dtype=int)
        np.add.at(tables[name], tuple(records[:, axis] for axis in axes), 1)
    return tables


def reproduce(full: bool = False) -> Result:
    """Three tables released as one problem: what they share agrees, and less noise than for each table by itself."""
    linked = invariants.linked(PEOPLE, TABLES, published=[["age"]])
    relation = linked.protect((2 * RHO) ** 0.5)
    real = design(Problem(linked.workload(), relation, notion="zcdp"), "gaussian").mechanism
    whole = design(Problem(linked.workload(), relation, notion="zcdp"), "lattice_gaussian").mechanism
    true = counted(np.random.default_rng(7).integers(0, PEOPLE.shape, (5000, 3)))
    computed: dict[str, float] = {}
    for words, mechanism in (("real", real), ("integer", whole)):
        noisy = linked.split(np.asarray(mechanism.release(linked.stack(true)).answers))
        between = noisy["age by county"].sum(axis=0) - noisy["sex by county"].sum(axis=0)
        ages = noisy["age by sex"].sum(axis=1) - true["age by sex"].sum(axis=1)
        computed[f"largest disagreement on a county, {words}"] = float(np.abs(between).max())
        computed[f"largest change of a published age, {words}"] = float(np.abs(ages).max())
    # Each table alone at a third of rho: noise of variance |v|^2 3 / (2 rho) = 3 / rho in every cell.
    computed["total variance, linked over one by one"] = real.error() / (linked.size * 3 / RHO)
    computed["worst share of the budget"] = float(real.privacy.worst_ratio or 0)
    published = {
        "largest disagreement on a county, real": (0.0, 1e-8),
        "largest change of a published age, real": (0.0, 1e-8),
        "largest disagreement on a county, integer": (0.0, 0.0),
        "largest change of a published age, integer": (0.0, 0.0),
        "total variance, linked over one by one": (0.2, 0.8),
        "worst share of the budget": (1 - 1e-9, 1.0),
    }
    return computed, published


if __name__ == "__main__":
    show(__doc__, reproduce, DIFFERENCES)

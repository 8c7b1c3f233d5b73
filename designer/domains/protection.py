"""What is protected in marginals: attribute values with a budget each, or the presence of a record;
and what measuring residuals costs.

A residual measured with precision s (one over the variance of its orthonormal coordinates) spends, in squared budget
(docs/theory/marginals.md, 2):

    attribute i of a record changes:   s * 2 prod_{j in A, j != i} (n_j - 1)/n_j   if i is in A, nothing otherwise,
    a record appears or disappears:    s * prod_{j in A} (n_j - 1)/n_j.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.errors import InvalidProblem
from designer.base.json_text import array
from designer.base.schema import BUDGETS, POSITIVE, ClosedList, Named, either, exactly, noted, record
from designer.domains.marginals_workload import Subsets
from designer.problem.domain import Domain
from designer.relations.metrics.attributes import Hamming, hamming
from designer.relations.metrics.presence import BUDGET_OF, Presence
from solvers.exact.rational import dyadic_integers
from solvers.programs.budget_shares import PLAIN_ENTRIES

if TYPE_CHECKING:
    from scipy.sparse import csr_array


Protection = Hamming | Presence


@dataclass(frozen=True, eq=False)
class Change:
    """One kind of protected change: who moves, what it is called, its budget, and the squared length
    `factor numerator / denominator` that it gives to the residuals `members` (positions among the measured subsets)
    at precision 1.

    members, numerators, denominators: (m,).
    """

    words: str
    budget: float
    members: NDArray[np.intp]
    factor: int
    numerators: NDArray[np.int64]
    denominators: NDArray[np.int64]

    @property
    def lengths(self) -> Floats:
        """The squared lengths as floats."""
        return np.asarray(self.factor * self.numerators / self.denominators)

    def load(self, precisions: Floats) -> Fraction:
        """`sum s_A length_A / budget^2`, exact.

        precisions s: (number of measured subsets,). docs/theory/marginals.md, section 2.
        """
        return self.spent(precisions) / Fraction(self.budget) ** 2

    def spent(self, precisions: Floats) -> Fraction:
        """`sum s_A length_A`, exact: equal lengths are collected first, so that few fractions are added.

        precisions s: (number of measured subsets,). `InvalidProblem` where what moves gets no noise.
        """
        chosen = precisions[self.members]
        if not np.isfinite(chosen).all():
            raise InvalidProblem(f"precisions: infinite where {self.words}; what a protected change moves needs noise.")
        integers, exponent = dyadic_integers(chosen[None, :])
        sums: dict[tuple[int, int], int] = {}
        for integer, key in zip(
            integers[0], zip(self.numerators.tolist(), self.denominators.tolist(), strict=True), strict=True
        ):
            sums[key] = sums.get(key, 0) + integer
        total = sum((Fraction(amount * top, bottom) for (top, bottom), amount in sums.items()), Fraction(0))
        return self.factor * total * Fraction(2) ** exponent


def changes(protection: Protection, domain: Domain, measured: Subsets) -> list[Change]:
    """The kinds of protected changes that move a measured residual; all others are implied by them or unprotected."""
    sizes = np.append(np.array(domain.shape, dtype=np.int64), 1)
    shapes = sizes[measured.axes]
    members = measured.axes >= 0
    if isinstance(protection, Presence):
        everything = np.arange(len(measured))
        numerators = np.where(members, shapes - 1, 1).prod(axis=1)
        return [Change("a record appears", protection.epsilon, everything, 1, numerators, shapes.prod(axis=1))]
    found = []
    order = np.argsort(measured.axes, axis=None, kind="stable")
    bounds = np.searchsorted(measured.axes.ravel()[order], np.arange(len(domain.attributes) + 1))
    for axis, budget in enumerate(protection.budgets):
        rows = np.sort(order[bounds[axis] : bounds[axis + 1]]) // max(1, measured.axes.shape[1])
        if len(rows) and np.isfinite(budget):
            others = members[rows] & (measured.axes[rows] != axis)
            numerators = np.where(others, shapes[rows] - 1, 1).prod(axis=1)
            denominators = np.where(others, shapes[rows], 1).prod(axis=1)
            words = f"one record changes in {domain.attributes[axis]!r} alone"
            found.append(Change(words, budget, rows, 2, numerators, denominators))
    return found


def load_matrix(found: list[Change], measured: int) -> csr_array | Floats:
    """G (changes, measured): entry `length / budget^2`, so that `G s <= 1` is the promise; a plain array where it is small."""
    # One division at a time: the square of a budget of 1e-200 is no float.
    with np.errstate(over="ignore", under="ignore"):
        values = np.concatenate([change.lengths / change.budget / change.budget for change in found])
    if not (np.isfinite(values) & (values > 0)).all():
        raise InvalidProblem("budgets: their squares leave the floats; choose budgets between 1e-150 and 1e150.")
    rows = np.repeat(np.arange(len(found)), [len(change.members) for change in found])
    columns = np.concatenate([change.members for change in found])
    if len(found) * measured <= PLAIN_ENTRIES:
        plain = np.zeros((len(found), measured))
        plain[rows, columns] = values
        return plain
    from scipy.sparse import coo_array, csr_array

    return csr_array(coo_array((values, (rows, columns)), shape=(len(found), measured)))


ATTRIBUTES = Named(
    "protected_attributes", record({"kind": exactly("attributes"), "budgets": BUDGETS}, note="A budget for each attribute.")
)
SPEC_NOTE = "Under Laplace noise epsilon, in nats; under Gaussian noise mu, and no epsilon: the promise is mu^2 / 2 of zCDP."
PRESENCE = Named(
    "protected_presence",
    record(
        {"kind": exactly("presence"), "epsilon": noted(SPEC_NOTE, POSITIVE)}, note="One budget for the presence of a record."
    ),
)
PROTECTION = either(ATTRIBUTES, PRESENCE)


def protection_to_spec(protection: Protection) -> dict[str, Any]:
    """Plain data; the domain is the workload's."""
    if isinstance(protection, Presence):
        return {"kind": "presence", "epsilon": protection.epsilon}
    return {"kind": "attributes", "budgets": list(protection.budgets)}


def protection_from_spec(spec: Any, domain: Domain, notion: str) -> Protection:
    """The inverse of `protection_to_spec`; specs call the budget of a presence epsilon, whatever the notion."""
    return PROTECTIONS.read(spec, domain, notion)


PROTECTIONS: ClosedList[Protection] = ClosedList(
    "protection",
    {
        "presence": (PRESENCE, lambda spec, _, notion: Presence(**{BUDGET_OF[notion]: spec["epsilon"]})),
        "attributes": (
            ATTRIBUTES,
            lambda spec, domain, _: hamming(domain, array(spec["budgets"], 1, "protection.budgets").tolist()),
        ),
    },
)

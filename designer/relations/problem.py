"""The problem: what is asked, what must be hidden, and what counts as good."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from html import escape
from itertools import zip_longest
from typing import Literal

import numpy as np

from designer.base.arrays import Floats, frozen, real_array
from designer.base.checks import assign, positive, shown
from designer.base.display import Displayed, as_html
from designer.base.errors import InvalidProblem
from designer.certificate.sensitivity import SensitivitySet
from designer.limits import LARGEST_WEIGHT
from designer.problem.compressed_rows import Matrix, difference, largest_entries, row_places
from designer.problem.domain import Domain
from designer.problem.relation import Relation
from designer.problem.workload import Workload
from designer.relations.metrics.algebra import Restricted
from designer.relations.metrics.attributes import Product
from designer.relations.row_groups import RowGroups
from designer.tradeoff.delta_rule import checked_delta

Notion = Literal["pure", "zcdp", "approximate"]
NOTIONS: tuple[Notion, ...] = ("pure", "zcdp", "approximate")
LOSSES = ("squared", "absolute", "max")


@dataclass(frozen=True, eq=False)
class Problem(Displayed):
    """A workload, a relation, a notion of privacy and a loss.

    notion: "pure" (likelihood ratio at most exp(b)), "zcdp" (b^2/2-zCDP for a change of budget b) or "approximate" ((b, delta)
    for one, every pair by itself). b is in the relation: for rho-zCDP it is sqrt(2 rho). delta: that of "approximate", between
    0 and 1. loss: "squared" (sum of expected squared errors), "absolute" (sum of expected absolute errors) or "max" (the
    largest expected squared error of a query). weights: positive, one for each query, multiply the queries' losses (for "max":
    their squared errors). records: the number of records n where it is public; biased designs and error bounds use it.
    allow_vacuous: accept a relation that protects nothing, and mechanisms that hide nothing because no protected change moves
    an answer; they are refused otherwise. Their specs say so, and are loaded only with the same option. costs: (K,), the
    weights of the queries, 1 where none are given. Raises `InvalidProblem` where the parts do not fit one another.

    >>> from designer import Workload, metrics
    >>> Problem(Workload.identity(3), metrics.uniform(3, epsilon=1.0), loss="max").costs.tolist()
    [1.0, 1.0, 1.0]
    """

    workload: Workload
    relation: Relation
    notion: Notion = "pure"
    loss: Literal["squared", "absolute", "max"] = "squared"
    records: float | None = None
    weights: Sequence[float] | Floats | None = None
    allow_vacuous: bool = False
    delta: float | None = None
    costs: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.workload, Workload):
            raise InvalidProblem(
                f"problem.workload: {type(self.workload).__name__} is not a Workload; wrap the matrix: Workload(matrix). "
                "A StructuredWorkload goes into a StructuredProblem (or give `.written_out()` of a small one); "
                "a MarginalProblem takes a MarginalWorkload.",
                value=type(self.workload).__name__,
            )
        if not isinstance(self.relation, Relation):
            raise InvalidProblem(
                f"problem.relation: {type(self.relation).__name__} is not a relation; build one with designer.metrics or "
                "designer.invariants.",
                value=type(self.relation).__name__,
            )
        elements = self.workload.shape[1]
        self.relation.require_elements(elements, self.workload.unlisted, field="problem.relation")
        _require_one_order(self.workload, self.relation)
        _require_matched(self.workload, self.relation)
        for name, value, known in (("notion", self.notion, NOTIONS), ("loss", self.loss, LOSSES)):
            if value not in known:
                raise InvalidProblem(f"problem.{name}: {value!r} is unknown; use one of {list(known)}.", value=value)
        assign(self, delta=_checked_notion(self.notion, self.delta, self.relation))
        if self.records is not None:
            assign(self, records=positive(self.records, "problem.records"))
        assign(self, costs=_costs(self.weights, self.workload.queries))
        if not self.allow_vacuous and self.relation.is_vacuous():
            raise InvalidProblem(
                "problem.relation: protects no change at all, so any guarantee would be empty; give some change a finite "
                "budget (an invariant may need a larger adjacency), or pass allow_vacuous=True if that is meant."
            )

    def _display_facts(self) -> Mapping[str, object]:
        asked = {**self.workload._display_facts(), "notion": self.notion, "delta": self.delta, "loss": self.loss}
        return {**asked, "relation": type(self.relation).__name__, "records": self.records}

    def _repr_html_(self) -> str:
        """What notebooks show: what may change, and with which budget, under each query."""
        facts = {**self._display_facts(), "relation": None}
        shown = as_html("Problem", facts, self.workload._display_rows())
        return f"<div>{shown}<p>{escape(self.relation.sentence())}</p></div>"

    def loss_of(self, variances: Floats, mean_absolutes: Floats | None = None) -> float:
        """The loss at noise with these variances (and, for "absolute", expected absolute values) in the K answers.

        variances, mean_absolutes: (K,).
        """
        if self.loss == "absolute":
            assert mean_absolutes is not None
            return float((self.costs * mean_absolutes).sum())
        return float((self.costs * variances).sum() if self.loss == "squared" else (self.costs * variances).max())

    def worst_loss(self, variances: Floats, mean_absolutes: Floats | None, effective: Floats) -> float:
        """The loss with what answering P, (K, N), in the place of Q adds to it, at the worst histogram of n records.

        squared and absolute: that of the noise and `bias_of`; max: `max_k v_k (Var_k + n^2 max_i (P - Q)_ki^2)`, which their
        sum would overstate. What each is exactly: docs/theory/biased.md, section 1.
        variances, mean_absolutes: (K,).
        """
        if self.loss != "max":
            return self.loss_of(variances, mean_absolutes) + self.bias_of(effective)
        off = largest_entries(difference(effective, self.workload.matrix))
        return self.loss_of(variances + (float(self.records or 0) * off) ** 2)

    def bias_of(self, effective: Floats) -> float:
        """The largest loss from answering P, (K, N), in the place of Q, over histograms of n records: all of them at the worst
        element; 0 where n is not given.

        squared: `n^2 max_i sum_k v_k (P - Q)_ki^2`; absolute: `n max_i sum_k v_k |P - Q|_ki`;
        max: `n^2 max_ik v_k (P - Q)_ki^2`.

        effective: P, (K, N).
        """
        records, costs = self.records or 0.0, self.costs[:, None]
        off = difference(effective, self.workload.matrix)
        if not isinstance(off, np.ndarray):
            return self._bias_of_rows(off, records)
        if self.loss == "absolute":
            return float(records * (costs * off).sum(axis=0).max())
        squares = costs * off**2
        return float(records**2 * (squares.sum(axis=0) if self.loss == "squared" else squares).max())

    def _bias_of_rows(self, off: Matrix, records: float) -> float:
        """The same from `|P - Q|` as compressed rows."""
        costs = self.costs[row_places(off)]
        sizes = costs * off.data if self.loss == "absolute" else costs * off.data**2
        if self.loss == "max":
            return float(records**2 * sizes.max(initial=0.0))
        sums = np.bincount(off.indices, weights=sizes, minlength=1)
        return float(records ** (1 if self.loss == "absolute" else 2) * sums.max())

    def sensitivity(self) -> SensitivitySet:
        """The differences that must be hidden in the answers of the workload."""
        return SensitivitySet.of(self.workload.dense(), self.relation)


def _checked_notion(notion: str, delta: object, relation: Relation) -> float | None:
    """The delta, which the notion "approximate" has and no other; its relation lists every pair, because (b, delta) does not
    chain."""
    if notion != "approximate":
        if delta is not None:
            raise InvalidProblem(
                f'problem.delta: {shown(delta)} goes with notion="approximate" only, not with {notion!r}.', value=delta
            )
        return None
    if delta is None:
        raise InvalidProblem('problem.delta: missing; the notion "approximate" needs one between 0 and 1, such as 1e-6.')
    relation.every_pair()
    return checked_delta(delta, "problem.delta")


def _costs(weights: Sequence[float] | Floats | None, queries: Sequence[str]) -> Floats:
    if weights is None:
        return frozen(np.ones(len(queries)))
    array = real_array(weights, "problem.weights", 1)
    if len(array) != len(queries) or not (array > 0).all():
        wrong = next((f", {w} for {shown(name)}" for name, w in zip(queries, array.tolist(), strict=False) if not w > 0), "")
        raise InvalidProblem(
            f"problem.weights: {len(array)} weights{wrong}; give a positive weight for each of the {len(queries)} queries."
        )
    if array.max() > LARGEST_WEIGHT or array.min() < 1 / LARGEST_WEIGHT:
        raise InvalidProblem(
            f"problem.weights: from {array.min():.3g} to {array.max():.3g}, so that losses leave the range of floats; divide "
            f"all weights by the same number, and keep them between {1 / LARGEST_WEIGHT:g} and {LARGEST_WEIGHT:g}."
        )
    return array


def _require_one_order(workload: Workload, relation: Relation) -> None:
    """Queries over named columns and budgets over a domain of the same attributes must mean the same elements, one by one."""
    keys = workload.keys
    for domain in _domains(relation):
        if keys is None or domain.size != len(keys.rows) or set(domain.attributes) != set(keys.columns):
            continue
        places = [keys.columns.index(name) for name in domain.attributes]
        for number, (row, cell) in enumerate(zip(keys.rows, domain.keys.rows, strict=True)):
            if tuple(row[place] for place in places) != cell:
                raise InvalidProblem(
                    f"problem.relation: its element {number} is {shown(cell)} over {list(domain.attributes)}, that of the "
                    f"workload is {workload.elements[number]!r}; make both from one domain."
                )


def _require_matched(workload: Workload, relation: Relation) -> None:
    """What was matched with named elements must have been matched with those of the workload, in their order.

    A workload whose elements nobody named has no names to compare; then the order that was stated counts.
    """
    unnamed = workload.elements == tuple(f"e{i}" for i in range(workload.shape[1]))
    for matched in _matched(relation):
        if unnamed and set(matched) != set(workload.elements):
            continue
        for number, (name, element) in enumerate(zip_longest(matched, workload.elements)):
            if name != element:
                raise InvalidProblem(
                    f"problem.relation: its element {number} was matched as {shown(name)}, that of the workload is "
                    f"{shown(element)}; build the metric with elements=workload.elements."
                )


def _matched(part: Relation) -> Iterator[tuple[str, ...]]:
    """The names that nodes of graphs and leaves of taxonomies on the universe itself were matched by."""
    names: tuple[str, ...] | None = getattr(part, "matched", None)
    if names is not None:
        yield names
    if not isinstance(part, (Product, Restricted, RowGroups)):  # their parts are on other universes
        for inner in part.inner():
            yield from _matched(inner)


def _domains(part: object) -> Iterator[Domain]:
    """The domains that a relation is made of."""
    if isinstance(part, Domain):
        yield part
    elif isinstance(part, Relation):
        names: list[str] = [inner.name for inner in fields(part)] if is_dataclass(part) else []
        for name in names:
            yield from _domains(getattr(part, name, None))
    elif isinstance(part, tuple) and part and isinstance(part[0], Relation):
        for metric in part:
            yield from _domains(metric)

"""What relations of single records become when several releases keep them, what is promised to groups of records, and what
later computation changes: nothing.

Arithmetic of budgets (DX Fact 1, docs/theory/metrics.md, 4), and statements to publish. What mechanisms of any kind promise
together is `designer.accounts.composed`.

| rule | pure | gaussian | approximate |
| --- | --- | --- | --- |
| several releases | sum of metrics | root of the sum of squares | sum of metrics, sum of deltas |
| k records change | budgets add | budgets add | ask `privacy_loss` |
| post-processing | same metric | same metric | same metric, same delta |
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from designer.base.arrays import Floats, frozen
from designer.base.checks import count, shown
from designer.base.errors import InvalidProblem
from designer.certificate.guarantee import Guarantee, budget_range
from designer.problem.relation import Relation
from designer.relations.metrics.algebra import RootSumSquares, root_sum_squares
from designer.relations.metrics.element_budgets import PerElement
from designer.relations.metrics.metric import Combination, Metric, Scaled, SumOfMetrics, scaled, sum_of
from designer.relations.metrics.presence import AddRemove, AppearOrChange

RULES: dict[str, type[Combination]] = {"pure": SumOfMetrics, "zcdp": RootSumSquares, "approximate": SumOfMetrics}


class Promising(Protocol):
    """Anything that releases under a relation and states its guarantee: a mechanism of any kind."""

    @property
    def relation(self) -> Relation: ...

    @property
    def guarantee(self) -> Guarantee: ...


def composition(relations: Sequence[Relation], notion: str = "pure") -> Relation:
    """Compose the relations that releases about the same records keep. The releases may be chosen one after the other.

    pure: budgets add (DX Fact 1); gaussian: `b^2/2`-zCDP adds, so budgets combine to the root of the sum of their squares.
    approximate: budgets add pair by pair, and so do the deltas. There records that only appear say nothing of a record that
    changes, which is two changes, so they compose with each other alone.
    Relations in which records appear combine their budgets of appearing too, rounded up. If one of the relations speaks of
    changes only, the number of records is public, and so do they together.

    Parameters
    ----------
    relations : of each release, over the same elements; fixed before the first.
    notion : "pure", "zcdp" or "approximate".

    >>> from designer import metrics
    >>> composition([metrics.uniform(2, 3.0), metrics.uniform(2, 4.0)], "zcdp").exact_budget(0, 1)
    Fraction(5, 1)
    """
    if notion not in RULES:
        raise InvalidProblem(f"notion: {notion!r} is unknown; use one of {sorted(RULES)}.", value=notion)
    listed = list(relations)
    if not listed or not all(isinstance(relation, (Metric, AddRemove, AppearOrChange)) for relation in listed):
        raise InvalidProblem(
            f"relations: {shown([r if isinstance(r, str) else type(r).__name__ for r in listed])}; give metrics, or "
            "relations in which records appear."
        )
    if notion == "approximate" and any(isinstance(relation, AddRemove) for relation in listed):
        return _all_appear(listed)
    changes = [_change(relation) for relation in listed]
    change = root_sum_squares(*changes) if notion == "zcdp" else sum_of(*changes)
    presences = [relation.epsilons for relation in listed if isinstance(relation, (AddRemove, AppearOrChange))]
    if len(presences) < len(listed):
        return change
    # The closure takes back what rounding up adds beyond the triangle inequality, and combines the closures that were given.
    return AppearOrChange(change, _rounded_up(presences, notion), closure=True)


def _all_appear(relations: Sequence[Relation]) -> AddRemove:
    """Records that only appear, with the sums of their budgets, rounded up."""
    appearing = [relation.epsilons for relation in relations if isinstance(relation, AddRemove)]
    if len(appearing) < len(relations):
        raise InvalidProblem(
            "relations: some protect records that appear, others records that change, and (b, delta) for the first says "
            "nothing of the second; design all of them for metrics.appear_or_change."
        )
    return AddRemove(_rounded_up(appearing, "approximate"))


def _change(relation: Relation) -> Metric:
    """The budgets of changes alone. Where a record may only appear, a change is one record that goes and one that comes."""
    if isinstance(relation, AppearOrChange):
        return relation.change
    return PerElement(relation.epsilons) if isinstance(relation, AddRemove) else _metric(relation)


def _metric(relation: Relation) -> Metric:
    assert isinstance(relation, Metric)
    return relation


def _rounded_up(presences: Sequence[Floats], notion: str) -> Floats:
    """The combined budgets of appearing, a few roundings up: a statement may claim no less than what is spent."""
    combined = RULES[notion].floats(presences)
    return frozen(combined * (1 + (len(presences) + 2) * 2.0**-52) if len(presences) > 1 else combined)


def group_privacy(relation: Metric, records: int) -> Scaled:
    """Scale a relation to a group of `records` records that all change from i to j: `records * d(i, j)`, pure or gaussian.

    Pure: the ratios multiply along the changes. Gaussian: `b^2/2`-zCDP becomes that of the sum of the budgets. Groups
    whose records change differently: `group_budget`.

    Parameters
    ----------
    relation : the relation of one record.
    records : how many change together.
    """
    return scaled(count(records, "records"), relation)


def group_budget(relation: Relation, changes: Iterable[tuple[int, int]]) -> Fraction | None:
    """Sum the budgets of records that change together, the m-th from element i_m to j_m, pure or gaussian.

    Element number N, one more than the last, stands for an absent record. None where a change is unprotected. Sharper than `k`
    times the largest budget (DX Fact 1, 3). Exact where budgets are rational;
    irrational ones are each below the truth by less than 2^-79 of it.

    Parameters
    ----------
    relation : the relation of one record.
    changes : for each record the numbers of its elements before and after.

    >>> from designer import metrics
    >>> group_budget(metrics.line([0, 1, 4], period=1, epsilon=0.5), [(0, 1), (0, 2)])
    Fraction(5, 2)
    """
    points = len(relation.points(np.empty((relation.size, 0))))
    spent = Fraction(0)
    for m, (left, right) in enumerate(changes):
        if not (0 <= left < points and 0 <= right < points):
            raise InvalidProblem(f"changes[{m}]: {(left, right)} names an element beyond the last of {points}; count from 0.")
        if isinstance(relation, AddRemove) and left != right and points - 1 not in (left, right):
            budgets = [relation.exact_budget(end, points - 1) for end in (left, right)]
        else:
            budgets = [Fraction(0) if left == right else relation.exact_budget(left, right)]
        for budget in budgets:
            if budget is None:
                return None
            spent += budget
    return spent


def for_groups(mechanism: Promising, records: int) -> Guarantee:
    """State the guarantee for groups of `records` records that change together; for each group of changes their budgets add.

    Parameters
    ----------
    mechanism : frozen.
    records : how many change together.
    """
    size, statement = count(records, "records"), mechanism.guarantee
    if "delta" in statement.parameters:
        raise InvalidProblem(
            "mechanism: promises (b, delta), and the budgets of a group do not add up under one delta; ask its privacy_loss "
            "what the change of the group spends at that delta."
        )
    if not isinstance(mechanism.relation, Metric):
        raise InvalidProblem("mechanism.relation: records appear in it; state groups by group_budget, change by change.")
    relation = group_privacy(mechanism.relation, size)
    return replace(
        statement,
        unit=f"The values of {size} records together, as the relation states; their budgets add where they change differently.",
        relation=relation.sentence(),
        parameters=_parameters(relation, statement.parameters["worst_ratio"]),
        fingerprint=joint_fingerprint(f"group of {size}", [statement.fingerprint]),
    )


def post_processing(guarantee: Guarantee, computation: str) -> Guarantee:
    """State what a computation makes of a release alone, without another look at the data: the same promise.

    Parameters
    ----------
    guarantee : of the release.
    computation : what is done with it, a sentence.
    """
    if not isinstance(computation, str) or not computation.strip() or "\n" in computation:
        raise InvalidProblem(
            f"computation: {shown(computation)} is no sentence; say what is computed from the release.", value=computation
        )
    return replace(
        guarantee,
        mechanism=f"{guarantee.mechanism} Afterwards, from the release alone: {computation.strip()}",
        fingerprint=joint_fingerprint(f"afterwards: {computation.strip()}", [guarantee.fingerprint]),
    )


def _parameters(relation: Relation, ratio: float | int | None) -> dict[str, float | int | None]:
    least, most = budget_range(relation)
    return {
        "smallest_budget": least,
        "largest_finite_budget": most,
        "worst_ratio": ratio,
        "connected_components": int(relation.components().max()) + 1,
    }


def joint_fingerprint(rule: str, prints: Sequence[Any]) -> str:
    """One fingerprint for a rule and the fingerprints of what it was applied to, in order."""
    return hashlib.sha256("\n".join([rule, *map(str, prints)]).encode()).hexdigest()

"""Naive mechanisms under an invariant: noise for single records,
wide enough for as many as may move together (SEMI section 5.2).

A mechanism that tells databases one record apart with budget `epsilon / a` tells those `a` records apart with `epsilon`,
whatever is published beside it (docs/theory/invariants.md).
It ignores what the statistics rule out: its certificate holds with room to spare.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from designer.base.arrays import Floats
from designer.base.errors import DesignFailed
from designer.certificate.certificate import refuse_extreme, refuse_infinite
from designer.certificate.norms import Norm, NormOrder
from designer.certificate.sensitivity import SensitivitySet
from designer.designing.evenness import refuse_large_ball, with_implicit_changes
from designer.designing.family import Family
from designer.designing.measured import Coordinates
from designer.designing.repair import freeze
from designer.mechanism.additive import AdditiveMechanism
from designer.problem.relation import Relation
from designer.relations import metrics
from designer.relations.invariants.changes import ChangeRelation
from designer.relations.invariants.transport import InvariantMetric
from designer.relations.problem import Problem


def group_laplace(problem: Problem) -> AdditiveMechanism:
    """`||z|| = epsilon ||z||_1 / (a Delta_1(S_DP))`: independent Laplace noise (SEMI Algorithm 4)."""
    return _naive(problem, "group_laplace", "l1", "exponential")


def group_l2_ball(problem: Problem) -> AdditiveMechanism:
    """`||z|| = epsilon ||z||_2 / (a Delta_2(S_DP))`, exponential fall-off (SEMI Algorithm 5)."""
    return _naive(problem, "group_l2_ball", "l2", "exponential")


def group_box(problem: Problem) -> AdditiveMechanism:
    """`||z|| = epsilon ||z||_inf / (a Delta_inf(S_DP))` (SEMI Algorithm 6)."""
    return _naive(problem, "group_box", "linf", "exponential")


def group_gaussian(problem: Problem) -> AdditiveMechanism:
    """Equal Gaussian noise of standard deviation `a Delta_2(S_DP) / mu` in every answer (SEMI section 5.2)."""
    return _naive(problem, "group_gaussian", "l2", "gaussian")


def single_records(relation: Relation, family: str) -> Relation:
    """What is protected when nothing is published and one record changes: budget `epsilon / a`, or the metric itself,
    whose budgets add up."""
    if isinstance(relation, InvariantMetric):
        return relation.metric
    if isinstance(relation, ChangeRelation) and relation.invariant.records_public:
        # Every budget of the relation is the same epsilon.
        return metrics.uniform(relation.size, relation.largest_budget() / relation.adjacency)
    raise DesignFailed(
        f"{family}: compares an invariant with group privacy over replaced records; give a relation from "
        "invariants.<...>.protect(...) whose number of records is public, or use laplace, l2_ball, box."
    )


def _naive(problem: Problem, family: str, order: NormOrder, falloff: Literal["exponential", "gaussian"]) -> AdditiveMechanism:
    weights = weights_for_records(problem, single_records(problem.relation, family), order)
    problem, heard = with_implicit_changes(problem, order), np.isfinite(weights)
    if (order, falloff) == ("l2", "exponential"):
        refuse_large_ball(problem, family, int(heard.sum()))
    return freeze(
        problem,
        family,
        Coordinates(None, None, heard),
        1 / weights,
        lambda _: Norm(weights, order),
        falloff,
        whole=order == "l1",
    )


def weights_for_records(problem: Problem, single: Relation, order: NormOrder) -> Floats:
    """Equal weights w, (K,), with `|w u|_order <= b` for the changes of single records;
    infinite where no record moves the answer. Where all counts are asked for and any record may change to any other with one
    budget, two elements stand for all pairs."""
    simple = single.simple
    if problem.workload.is_identity and simple is not None and simple.change is not None and not simple.appear:
        pair = SensitivitySet.of(np.eye(2), metrics.uniform(2, float(simple.change)))
        return np.full(problem.workload.shape[0], 1 / refuse_infinite(pair, Norm(np.ones(2), order)))
    sensitivity = SensitivitySet.of(problem.workload.dense(), single)
    heard = ~sensitivity.silent_coordinates()
    if not heard.any():
        raise DesignFailed(
            "workload: no record moves an answer, so there is nothing to hide; ask a query that tells elements apart."
        )
    radius = refuse_infinite(sensitivity, Norm(np.ones(sensitivity.dimension), order))
    refuse_extreme(np.array([radius]))
    return np.where(heard, 1 / radius, np.inf)


GROUP_LAPLACE = Family(
    "group_laplace",
    "Laplace noise by group privacy",
    "pure",
    group_laplace,
    baseline=True,
    invariants_only=True,
    with_delta=False,
)
GROUP_L2_BALL = Family(
    "group_l2_ball",
    "noise in a Euclidean ball by group privacy",
    "pure",
    group_l2_ball,
    baseline=True,
    invariants_only=True,
    with_delta=False,
)
GROUP_BOX = Family(
    "group_box",
    "noise in a cube by group privacy",
    "pure",
    group_box,
    baseline=True,
    invariants_only=True,
    with_delta=False,
)
GROUP_GAUSSIAN = Family(
    "group_gaussian",
    "equal Gaussian noise by group privacy",
    "zcdp",
    group_gaussian,
    baseline=True,
    invariants_only=True,
    with_delta=False,
)

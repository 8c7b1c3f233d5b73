"""Biased Laplace designs: answers of other queries P near Q, with the scales c, chosen together for a known number of records n.

One query: a convex program in (p, c), solved to its optimum. Several: a descent with a certified bound (docs/theory/biased.md). The loss
is the worst bias over all histograms of n records plus the noise, as in DX Theorem 2 and its program (6).
"""

from __future__ import annotations

import math

import numpy as np

from designer.coordinates import Coordinates
from designer.errors import DesignFailed, InvalidProblem
from designer.families.freeze import freeze
from designer.families.limits import measurable, refuse_infinite
from designer.families.strategy_laplace import protected_changes
from designer.frozen import Floats, positive
from designer.mechanism import Mechanism
from designer.norms import weighted_l1
from designer.optimality import bounded
from designer.problem import Problem
from designer.relation import Relation
from solvers.biconvex import fit_rows_jointly
from solvers.changes import Changes
from solvers.lipschitz import ABSOLUTE, EUCLIDEAN, SQUARED, SQUARED_MAXIMUM, Loss, fit_jointly
from solvers.scales import minimise_scales

OBJECTIVES = {
    "squared": ("n^2 ||P - Q||_2^2 + 2 ||c||_2^2 (DX program 6)", SQUARED),
    "worst_case": ("n^2 ||p - q||_inf^2 + 2 c^2, the exact worst squared error over histograms of n records", SQUARED_MAXIMUM),
    "l1": ("n ||p - q||_1 + c", ABSOLUTE),
    "l2": ("n ||p - q||_2 + c", EUCLIDEAN),
    "linf": ("n ||p - q||_inf + c", Loss(math.inf, 1, 1.0)),
}

# A fitted row that varies by less than this times its noise scale is a constant, left so by the descent: it needs no noise.
FAINT = 1e-8


def laplace_joint(problem: Problem, objective: str = "squared", delta: float = 0.05, tolerance: float = 1e-6) -> Mechanism:
    """The biased design of least loss.

    objective: "squared" for any number of queries; for one query also "worst_case", "l1", "l2", "linf" and "high_probability", the bound
    `n ||p - q||_inf + ln(1 / delta) c` of DX Theorem 2.3 that holds with probability 1 - delta. Needs `problem.records`.
    """
    if problem.records is None:
        raise DesignFailed("laplace_joint: the bias grows with the number of records; give problem.records.")
    if not problem.relation.single_records:
        raise DesignFailed("laplace_joint: designs bias for changes of single records only; use another family.")
    words, loss = _objective(objective, delta)
    queries = problem.workload.shape[0]
    if queries > 1 and objective != "squared":
        raise DesignFailed(
            f"laplace_joint: objective {objective!r} is for one query, the workload has {queries}; use 'squared'."
        )
    sensitivity = measurable(problem)
    if refuse_infinite(sensitivity, weighted_l1(np.ones(queries))) == 0:
        raise DesignFailed(
            "laplace_joint: no protected change moves an answer, so nothing is to be gained by bias; use laplace."
        )
    root = np.sqrt(problem.costs)
    fitted, scales, bound, method = _fit(
        problem, protected_changes(problem), loss, root, positive(tolerance, "options.tolerance")
    )
    heard = _variation(problem, fitted) > FAINT * scales
    fitted = np.where(heard[:, None], fitted, _constant_on_components(fitted, problem.relation))
    scales = np.where(heard, scales, 0.0)
    weights = np.where(heard, 1 / np.where(heard, scales, 1.0), np.inf)
    made = freeze(
        problem, "laplace_joint", Coordinates(fitted, None, heard), scales, lambda _: weighted_l1(weights), "exponential"
    )
    achieved = _achieved(problem, made, loss, root)
    # The frozen rows and scales are a feasible point of the program itself: only floats separate its value from the bound.
    rounding = achieved * (fitted.size + 16) * 2.0**-50
    return made.annotated({}, bounded(words, achieved, bound, method, rounding))


def _variation(problem: Problem, rows: Floats) -> Floats:
    """How far the protected changes, which lie within components, may move each row at most."""
    off = rows - _constant_on_components(rows, problem.relation)
    return np.asarray(np.abs(off).max(axis=1))


def _constant_on_components(rest: Floats, relation: Relation) -> Floats:
    """Each row made constant on every connected component, and 0 on that of the origin."""
    label = relation.components()
    first = np.unique(label, return_index=True)[1]
    of_component = np.where(first < relation.size, rest[:, np.minimum(first, relation.size - 1)], 0.0)
    of_component[:, label[relation.size :]] = 0.0
    return np.asarray(of_component[:, label[: relation.size]])


def _objective(name: str, delta: float) -> tuple[str, Loss]:
    if name == "high_probability":
        if not 0 < delta < 1:
            raise InvalidProblem(f"options.delta: {delta} is not a probability between 0 and 1.")
        return f"n ||p - q||_inf + ln(1 / {delta}) c, exceeded with probability at most {delta}", Loss(
            math.inf, 1, math.log(1 / delta)
        )
    if name not in OBJECTIVES:
        raise InvalidProblem(f"options.objective: {name!r} is unknown; use one of {[*OBJECTIVES, 'high_probability']}.")
    return OBJECTIVES[name]


def _fit(problem: Problem, changes: Changes, loss: Loss, root: Floats, tolerance: float) -> tuple[Floats, Floats, float, str]:
    """Fitted rows, scales, lower bound and method; weights of queries enter as factors of rows and scales."""
    targets, records = problem.workload.dense() * root[:, None], float(problem.records or 0)
    if len(targets) == 1:
        single = fit_jointly(targets[0], changes, records, loss, tolerance=tolerance)
        scales = np.array([single.point.constant])
        return single.point.values[None] / root[:, None], scales / root, single.lower_bound, single.method

    def best_scales(rows: Floats) -> Floats:
        ratios = (np.abs(changes.along(rows)) / changes.budget).T
        return np.asarray(1 / minimise_scales(ratios, np.ones(len(rows)), 2).point)

    found = fit_rows_jointly(targets, changes, records, best_scales)
    return found.point.values / root[:, None], found.point.scales / root, found.lower_bound, found.method


def _achieved(problem: Problem, made: Mechanism, loss: Loss, root: Floats) -> float:
    """The objective at the frozen mechanism: rounding and repair included."""
    bias = (made.effective - problem.workload.dense()) * root[:, None]
    scales, records = made.scales * root, float(problem.records or 0)
    if len(bias) == 1:
        return loss.value(bias[0], float(scales[0]), records)
    return records**2 * float((bias**2).sum()) + 2 * float((scales**2).sum())

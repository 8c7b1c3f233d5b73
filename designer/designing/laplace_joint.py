"""Biased Laplace designs: answers of other queries P near Q, with the scales c,
chosen together for a known number of records n.

One query: a convex program in (p, c), solved to its optimum. Several: a descent with a certified bound (docs/theory/biased.md).
Pairs of many elements are never written out: scans find those that bind.
The loss is that of the problem: the worst bias over all histograms of n records plus the noise;
the other objectives are those of DX Theorem 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from designer.base.arrays import Floats
from designer.base.checks import count, positive, shown
from designer.base.errors import DesignFailed, InvalidProblem
from designer.base.progress import announce
from designer.certificate.certificate import refuse_infinite
from designer.certificate.guarantee import bounded
from designer.certificate.norms import weighted_l1
from designer.designing.evenness import in_units
from designer.designing.family import Family, Sizes, Tolerance
from designer.designing.implicit_rows import Classes, ScannedChanges, classes
from designer.designing.laplace import mechanism, weights_of_queries
from designer.designing.measured import Coordinates, measurable
from designer.designing.repair import CONTINUOUS, freeze, rounding_of
from designer.limits import MOST_JOINT_UNKNOWNS, MOST_STRATEGY_PAIRS
from designer.mechanism.additive import AdditiveMechanism
from designer.problem.relation import Relation
from designer.relations.problem import Problem
from solvers.programs.biconvex import ScaledFit, fit_rows_jointly
from solvers.programs.changes import ChangeSet
from solvers.programs.lipschitz import ABSOLUTE, EUCLIDEAN, MAXIMUM, SQUARED, SQUARED_MAXIMUM, ProgramLoss, fit_jointly
from solvers.programs.row_losses import TOTAL_SQUARES, WORST_ABSOLUTES, WORST_OF_QUERIES, WORST_SQUARES, RowsLoss

OBJECTIVES = {
    "squared": ("n^2 ||P - Q||_2^2 + 2 ||c||_2^2 (DX program 6)", SQUARED),
    "worst_case": ("n^2 ||p - q||_inf^2 + 2 c^2, the exact worst squared error over histograms of n records", SQUARED_MAXIMUM),
    "l1": ("n ||p - q||_1 + c", ABSOLUTE),
    "l2": ("n ||p - q||_2 + c", EUCLIDEAN),
    "linf": ("n ||p - q||_inf + c", MAXIMUM),
}
# What a design loses, for one query and for several: docs/theory/biased.md, section 1.
LOSSES = {
    "squared": (
        "n^2 max_i sum_k v_k (P - Q)_ki^2 + sum_k v_k Var_k, the worst squared error of n records",
        SQUARED_MAXIMUM,
        WORST_SQUARES,
    ),
    "absolute": (
        "n max_i sum_k v_k |P - Q|_ki + sum_k v_k E|z_k|, no less than the worst absolute error of n records",
        MAXIMUM,
        WORST_ABSOLUTES,
    ),
    "max": (
        "max_k v_k (n^2 max_i (P - Q)_ki^2 + Var_k), the worst squared error of a query of n records",
        SQUARED_MAXIMUM,
        WORST_OF_QUERIES,
    ),
}
# Up to so many elements all pairs are written out; beyond, they are scanned and the steep ones kept.
WRITTEN_OUT = 200

# Relative gap below which the descent of several queries stops; it rarely gets there.
ROUNDS_END = 1e-4

# A fitted row that varies by less than this times its noise scale is a constant, left so by the descent, and so is one whose
# variation over n records is less than this times the largest noise scale: it needs no noise.
NEGLIGIBLE_SPREAD = 1e-8


@dataclass(frozen=True)
class JointGoal:
    """What is minimised: its words, the program of one query and that of several, and whether it is the problem's own loss."""

    words: str
    program: ProgramLoss
    rows: RowsLoss
    own: bool

    def factors(self, problem: Problem) -> Floats:
        """(K,), of rows and scales, so that all queries weigh the same."""
        return problem.costs if self.own and problem.loss == "absolute" else np.sqrt(problem.costs)


def design_jointly(
    problem: Problem,
    objective: Annotated[str, "What is minimised: the loss, or a bound of DX Theorem 2."] = "loss",
    delta: Annotated[float, "The probability that the bound, or the promise, may fail."] = 0.05,
    tolerance: Tolerance = 1e-6,
    most: Annotated[int, "Above so many unknowns several queries are refused."] = MOST_JOINT_UNKNOWNS,
) -> AdditiveMechanism:
    """The biased design of least loss, which is never above that of the family `laplace`.

    objective: "loss" for that of the problem, worst bias and weights included; "squared" for DX program (6); for one query
    also "worst_case", "l1", "l2", "linf" and "high_probability", the bound `n ||p - q||_inf + ln(1 / delta) c` of DX Theorem
    2.3 that holds with probability 1 - delta. Their norms count elements at distance 0 once. most: several queries over more
    answers at elements (K N) are refused; one query takes any number. Needs `problem.records`.
    """
    goal = joint_goal(problem, objective, delta)
    queries = problem.workload.shape[0]
    sensitivity = measurable(problem)
    if refuse_infinite(sensitivity, weighted_l1(np.ones(queries))) == 0:
        raise DesignFailed(
            "laplace_joint: no protected change moves an answer, so nothing is to be gained by bias; use laplace."
        )
    universe = classes(problem)
    _refuse_large(universe, count(most, "options.most"))
    try:
        fit, bound, method = _fit(universe, goal, positive(tolerance, "options.tolerance"))
    except ImportError as missing:
        raise DesignFailed(
            f"laplace_joint: needs the convex solver clarabel ({missing}); install clarabel, or use laplace."
        ) from None
    made = frozen_fit(problem, universe.spread(fit.values), fit.scales, float(problem.records or 0))
    if goal.own:
        made = min(made, _unbiased(problem), key=lambda one: loss_with_bias(problem, one))
    achieved = loss_with_bias(problem, made) if goal.own else joint_objective(universe, made, goal.program)
    # The frozen rows and scales are a feasible point of DX's program itself: only floats separate its value from the bound. The
    # problem's own loss counts the noise on the grid, which is narrower than the continuous noise of the program.
    rounding = achieved * (fit.values.size + 16) * 2.0**-50 + (rounding_of(problem, made) if goal.own else 0.0)
    return made.annotated({}, bounded(goal.words, achieved, bound, method, rounding))


def joint_goal(problem: Problem, objective: str, delta: float) -> JointGoal:
    """The objective, refused where the family cannot minimise it."""
    if problem.records is None:
        raise DesignFailed("laplace_joint: the bias grows with the number of records; give problem.records.")
    if not problem.relation.single_records:
        raise DesignFailed("laplace_joint: designs bias for changes of single records only; use another family.")
    if objective == "loss":
        words, program, rows = LOSSES[problem.loss]
        return JointGoal(f"{words}, {CONTINUOUS}", program, rows, own=True)
    words, program = _objective(objective, delta)
    if problem.workload.shape[0] > 1 and objective != "squared":
        raise DesignFailed(
            f"laplace_joint: objective {objective!r} is for one query, the workload has {problem.workload.shape[0]}; use "
            "'loss' or 'squared'."
        )
    return JointGoal(words, program, TOTAL_SQUARES, own=False)


def _unbiased(problem: Problem) -> AdditiveMechanism:
    """The noise of the family `laplace`, around Q itself: on the multiples of each query's step, where that is less."""
    heard = ~measurable(problem).silent_coordinates()
    weights = np.full(len(heard), np.inf)
    weights[heard] = weights_of_queries(problem, heard, in_units(problem.workload.dense(), problem.relation).steps).point
    return mechanism(problem, "laplace_joint", weights)


def _refuse_large(universe: Classes, most: int) -> None:
    """Say what would take too long before it starts, and what takes long when it does."""
    queries, unknowns = universe.problem.workload.shape[0], universe.workload.size
    if queries > 1 and unknowns > most:
        raise DesignFailed(
            f"laplace_joint: {queries} queries of {len(universe)} elements are {unknowns} unknowns, more than {most}; so "
            f"many take a minute or two per {MOST_JOINT_UNKNOWNS}, or longer. Ask fewer queries, merge elements, use laplace "
            "(no bias, any number), design each query by itself (one takes any number of elements, with a share of the "
            f"budget: a multiple of the metric below 1), or wait about {2 * unknowns // MOST_JOINT_UNKNOWNS} minutes or more "
            f"with options.most = {unknowns}."
        )
    if unknowns > WRITTEN_OUT:
        announce(f"laplace_joint: fitting {queries} x {len(universe)} answers")


def frozen_fit(
    problem: Problem, fitted: Floats, scales: Floats, records: float, family: str = "laplace_joint"
) -> AdditiveMechanism:
    """The certified mechanism of rows (K, N) with scales (K,); a row that hardly varies, or whose scale is 0, is published as a
    constant on each component."""
    variation, root = _variation(problem, fitted), np.sqrt(problem.costs)
    heard = (scales > 0) & (variation > NEGLIGIBLE_SPREAD * scales)
    heard &= records * variation * root > NEGLIGIBLE_SPREAD * (scales * root).max()
    fitted = np.where(heard[:, None], fitted, constant_on_components(fitted, problem.relation))
    scales = np.where(heard, scales, 0.0)
    weights = np.where(heard, 1 / np.where(heard, scales, 1.0), np.inf)
    return freeze(problem, family, Coordinates(fitted, None, heard), scales, lambda _: weighted_l1(weights), "exponential")


def _variation(problem: Problem, rows: Floats) -> Floats:
    """How far the protected changes, which lie within components, may move each row at most."""
    off = rows - constant_on_components(rows, problem.relation)
    return np.asarray(np.abs(off).max(axis=1))


def constant_on_components(rest: Floats, relation: Relation) -> Floats:
    """Each row made constant on every connected component, and 0 on that of the origin."""
    label = relation.components()
    first = np.unique(label, return_index=True)[1]
    of_component = np.where(first < relation.size, rest[:, np.minimum(first, relation.size - 1)], 0.0)
    of_component[:, label[relation.size :]] = 0.0
    return np.asarray(of_component[:, label[: relation.size]])


def _objective(name: str, delta: float) -> tuple[str, ProgramLoss]:
    if name == "high_probability":
        if not 0 < delta < 1:
            raise InvalidProblem(f"options.delta: {delta} is not a probability between 0 and 1.", value=delta)
        return f"n ||p - q||_inf + ln(1 / {delta}) c, exceeded with probability at most {delta}", ProgramLoss(
            math.inf, 1, math.log(1 / delta)
        )
    if not isinstance(name, str) or name not in OBJECTIVES:
        raise InvalidProblem(
            f"options.objective: {shown(name)} is unknown; use one of {['loss', *OBJECTIVES, 'high_probability']}.", value=name
        )
    return OBJECTIVES[name]


def joint_changes(universe: Classes) -> ChangeSet:
    """The protected changes of the classes: all of them, or, where these are many, a set that is scanned."""
    return universe.changes(MOST_STRATEGY_PAIRS) if universe.problem.relation.size <= WRITTEN_OUT else ScannedChanges(universe)


def _fit(universe: Classes, goal: JointGoal, tolerance: float) -> tuple[ScaledFit, float, str]:
    """Fitted rows over the classes with their scales, lower bound and method;
    weights of queries enter as factors of rows and scales."""
    problem = universe.problem
    changes, factors = joint_changes(universe), goal.factors(problem)
    targets, records = universe.workload * factors[:, None], float(problem.records or 0)
    if len(targets) == 1:
        single = fit_jointly(targets[0], changes, records, goal.program, tolerance=tolerance)
        values, scales = single.point.values[None], np.array([single.point.constant])
        return ScaledFit(values / factors[:, None], scales / factors), single.lower_bound, single.method
    found = fit_rows_jointly(targets, changes, records, goal.rows, tolerance=max(tolerance, ROUNDS_END))
    return ScaledFit(found.point.values / factors[:, None], found.point.scales / factors), found.lower_bound, found.method


def loss_with_bias(problem: Problem, made: AdditiveMechanism) -> float:
    """The problem's own loss at the frozen mechanism: rounding and repair included."""
    absolutes = made.query_mean_absolutes() if problem.loss == "absolute" else None
    return problem.worst_loss(made.query_variances(), absolutes, made.effective)


def joint_objective(universe: Classes, made: AdditiveMechanism, program: ProgramLoss) -> float:
    """The objective of DX at the frozen mechanism: rounding and repair included."""
    problem = universe.problem
    root, records = np.sqrt(problem.costs), float(problem.records or 0)
    bias, scales = (made.effective[:, universe.first] - universe.workload) * root[:, None], made.scales * root
    if len(bias) == 1:
        return program.value(bias[0], float(scales[0]), records)
    return TOTAL_SQUARES.value(bias, scales, records)


def _work(sizes: Sizes) -> float:
    """Seconds, about a minute for `MOST_JOINT_UNKNOWNS` unknowns; refused at once without a number of records."""
    unknowns = sizes.queries * sizes.elements
    several = 0.0 if sizes.problem.records is None or unknowns > MOST_JOINT_UNKNOWNS else 60.0 * unknowns / MOST_JOINT_UNKNOWNS
    return several if sizes.queries > 1 else 0.1 * several


LAPLACE_JOINT = Family(
    "laplace_joint",
    "biased Laplace for a known number of records",
    "pure",
    design_jointly,
    program="designer.programs:laplace_joint",
    search="One query is a convex program; of several a local optimum is searched by convex restrictions, one after another.",
    biased=True,
    work=_work,
    anytime=True,
)

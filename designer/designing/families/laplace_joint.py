"""Biased Laplace designs: answers of other queries P near Q, with the scales c,
chosen together for a known number of records n.

One query: a convex program in (p, c), solved to its optimum. Several: a descent with a certified bound (docs/theory/biased.md).
The loss is that of the problem: the worst bias over all histograms of n records plus the noise;
the other objectives are those of DX Theorem 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from designer.additive.mechanism import AdditiveMechanism
from designer.certified.norms import weighted_l1
from designer.certified.optimality import bounded
from designer.certified.refusals import refuse_infinite
from designer.designing.families.element_classes import Classes, classes
from designer.designing.families.strategy_laplace import PAIRS
from designer.designing.family import Family
from designer.designing.measured import Coordinates, measurable
from designer.designing.problem import Problem
from designer.designing.repair import freeze, rounding_of
from designer.errors import DesignFailed, InvalidProblem
from designer.question.relation import Relation
from designer.values.arrays import Floats
from designer.values.checks import positive, shown
from solvers.programs.biconvex import ScaledFit, fit_rows_jointly
from solvers.programs.changes import Changes
from solvers.programs.lipschitz import ABSOLUTE, EUCLIDEAN, MAXIMUM, SQUARED, SQUARED_MAXIMUM, ProgramLoss, fit_jointly
from solvers.programs.scales import minimise_scales

OBJECTIVES = {
    "squared": ("n^2 ||P - Q||_2^2 + 2 ||c||_2^2 (DX program 6)", SQUARED),
    "worst_case": ("n^2 ||p - q||_inf^2 + 2 c^2, the exact worst squared error over histograms of n records", SQUARED_MAXIMUM),
    "l1": ("n ||p - q||_1 + c", ABSOLUTE),
    "l2": ("n ||p - q||_2 + c", EUCLIDEAN),
    "linf": ("n ||p - q||_inf + c", MAXIMUM),
}
# What a design loses: `Design.bias` and the noise. Of one query, "max" is "squared".
LOSSES = {
    "squared": ("n^2 max_i sum_k v_k (P - Q)_ki^2 + sum_k v_k Var_k, the worst squared error of n records", SQUARED_MAXIMUM),
    "absolute": ("n max_i v |p - q|_i + v E|z|, no less than the worst absolute error of n records", MAXIMUM),
    "max": ("n^2 max_i v (p - q)_i^2 + v Var, the worst squared error of n records", SQUARED_MAXIMUM),
}

# A fitted row that varies by less than this times its noise scale is a constant, left so by the descent, and so is one whose
# variation over n records is less than this times the largest noise scale: it needs no noise.
FAINT = 1e-8


@dataclass(frozen=True)
class JointGoal:
    """What is minimised: its words, the program of one query, and whether it is the problem's own loss."""

    words: str
    program: ProgramLoss
    own: bool


def design_jointly(
    problem: Problem, objective: str = "loss", delta: float = 0.05, tolerance: float = 1e-6
) -> AdditiveMechanism:
    """The biased design of least loss.

    objective: "loss" for that of the problem, worst bias and weights included (several queries: squared loss only); "squared"
    for DX program (6); for one query also "worst_case", "l1", "l2", "linf" and "high_probability", the bound
    `n ||p - q||_inf + ln(1 / delta) c` of DX Theorem 2.3 that holds with probability 1 - delta. Their norms count elements at
    distance 0 once. Needs `problem.records`.
    """
    goal = joint_goal(problem, objective, delta)
    queries = problem.workload.shape[0]
    sensitivity = measurable(problem)
    if refuse_infinite(sensitivity, weighted_l1(np.ones(queries))) == 0:
        raise DesignFailed(
            "laplace_joint: no protected change moves an answer, so nothing is to be gained by bias; use laplace."
        )
    universe = classes(problem)
    try:
        fit, bound, method = _fit(universe, goal, positive(tolerance, "options.tolerance"))
    except ImportError as missing:
        raise DesignFailed(
            f"laplace_joint: needs the convex solver clarabel ({missing}); install clarabel, or use laplace."
        ) from None
    made = frozen_fit(problem, universe.spread(fit.values), fit.scales, float(problem.records or 0))
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
    several = problem.workload.shape[0] > 1
    if objective == "loss":
        if several and problem.loss != "squared":
            raise DesignFailed(
                f"laplace_joint: minimises the loss {problem.loss!r} for one query only, the workload has "
                f"{problem.workload.shape[0]}; ask for the loss 'squared', for the objective 'squared', or use laplace."
            )
        return JointGoal(*LOSSES[problem.loss], own=True)
    words, program = _objective(objective, delta)
    if several and objective != "squared":
        raise DesignFailed(
            f"laplace_joint: objective {objective!r} is for one query, the workload has {problem.workload.shape[0]}; use "
            "'loss' or 'squared'."
        )
    return JointGoal(words, program, own=False)


def frozen_fit(
    problem: Problem, fitted: Floats, scales: Floats, records: float, family: str = "laplace_joint"
) -> AdditiveMechanism:
    """The certified mechanism of rows (K, N) with scales (K,); a row that hardly varies, or whose scale is 0, is published as a
    constant on each component."""
    variation, root = _variation(problem, fitted), np.sqrt(problem.costs)
    heard = (scales > 0) & (variation > FAINT * scales)
    heard &= records * variation * root > FAINT * (scales * root).max()
    fitted = np.where(heard[:, None], fitted, _constant_on_components(fitted, problem.relation))
    scales = np.where(heard, scales, 0.0)
    weights = np.where(heard, 1 / np.where(heard, scales, 1.0), np.inf)
    return freeze(problem, family, Coordinates(fitted, None, heard), scales, lambda _: weighted_l1(weights), "exponential")


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


def _objective(name: str, delta: float) -> tuple[str, ProgramLoss]:
    if name == "high_probability":
        if not 0 < delta < 1:
            raise InvalidProblem(f"options.delta: {delta} is not a probability between 0 and 1.")
        return f"n ||p - q||_inf + ln(1 / {delta}) c, exceeded with probability at most {delta}", ProgramLoss(
            math.inf, 1, math.log(1 / delta)
        )
    if not isinstance(name, str) or name not in OBJECTIVES:
        raise InvalidProblem(
            f"options.objective: {shown(name)} is unknown; use one of {['loss', *OBJECTIVES, 'high_probability']}."
        )
    return OBJECTIVES[name]


def _fit(universe: Classes, goal: JointGoal, tolerance: float) -> tuple[ScaledFit, float, str]:
    """Fitted rows over the classes with their scales, lower bound and method;
    weights of queries enter as factors of rows and scales."""
    problem, changes = universe.problem, universe.changes(PAIRS)
    factors = problem.costs if goal.own and problem.loss == "absolute" else np.sqrt(problem.costs)
    targets, records = universe.workload * factors[:, None], float(problem.records or 0)
    if len(targets) == 1:
        single = fit_jointly(targets[0], changes, records, goal.program, tolerance=tolerance)
        found, bound, method = (
            ScaledFit(single.point.values[None], np.array([single.point.constant])),
            single.lower_bound,
            single.method,
        )
    elif goal.own:
        found, bound, method = _least_worst(targets, changes, records)
    else:
        program = fit_rows_jointly(targets, changes, records, _best_scales(changes))
        found, bound, method = program.point, program.lower_bound, program.method
    return ScaledFit(found.values / factors[:, None], found.scales / factors), bound, method


def _best_scales(changes: Changes) -> Callable[[Floats], Floats]:
    """The scales of least squared error for rows that all move."""

    def best(rows: Floats) -> Floats:
        ratios = (np.abs(changes.along(rows)) / changes.budget).T
        return np.asarray(1 / minimise_scales(ratios, np.ones(len(rows)), 2).point)

    return best


def _least_worst(targets: Floats, changes: Changes, records: float) -> tuple[ScaledFit, float, str]:
    """The least `n^2 max_i ||P_i - Q_i||_2^2 + 2 ||c||^2` found, and a bound of it.

    The maximum over C classes is between the sum over C and the sum. So program (6) at `n / sqrt(C)` in the place of n bounds
    the loss from below, at n from above, and its solutions from one to the other trade bias
    for noise: the best of them is taken.
    """
    least = records / math.sqrt(targets.shape[1])
    found = [fit_rows_jointly(targets, changes, count, _best_scales(changes)) for count in np.geomspace(least, records, 3)]
    best = min((one.point for one in found), key=lambda fit: fit.largest_squared_error(targets, records))
    return best, found[0].lower_bound, f"best of 3 trades of bias for noise; {found[0].method}"


def loss_with_bias(problem: Problem, made: AdditiveMechanism) -> float:
    """The problem's own loss at the frozen mechanism: rounding and repair included."""
    absolutes = made.query_mean_absolutes() if problem.loss == "absolute" else None
    return problem.loss_of(made.query_variances(), absolutes) + problem.bias_of(made.effective)


def joint_objective(universe: Classes, made: AdditiveMechanism, program: ProgramLoss) -> float:
    """The objective of DX at the frozen mechanism: rounding and repair included."""
    problem = universe.problem
    root, records = np.sqrt(problem.costs), float(problem.records or 0)
    bias, scales = (made.effective[:, universe.first] - universe.workload) * root[:, None], made.scales * root
    if len(bias) == 1:
        return program.value(bias[0], float(scales[0]), records)
    return records**2 * float((bias**2).sum()) + 2 * float((scales**2).sum())


LAPLACE_JOINT = Family(
    "laplace_joint", "biased Laplace for a known number of records", "pure", design_jointly, has_program=True
)

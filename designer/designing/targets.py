"""Designs whose budgets are fixed and whose accuracy is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from designer.base.arrays import Floats
from designer.base.errors import DesignFailed
from designer.base.lazy_imports import at_address
from designer.base.progress import each_of
from designer.certificate.guarantee import bounded
from designer.designing.design_result import Design
from designer.designing.factor_search import (
    ONE_SHAPE,
    Builder,
    Reached,
    factor_of_family,
    missed_words,
    reached_by,
    towards,
    worst_of,
)
from designer.mechanism.interface import CONFIDENCE, Mechanism
from designer.problem.targets import Targets
from designer.relations.problem import Problem
from solvers.work import is_over, within

OWN = "met by the design of least loss"
WEIGHED = "met by raising the weights of the queries that missed them, until they are just met"
AIMED = "met by the design whose loss is the largest (error / target)^2"
CAPPED = "met by the convex program of the family with variances capped"
OPEN = 1e-3  # of the loss: what bounds may leave open before the convex program is asked
ROUNDS, UNITS = 60, 60.0  # of raising weights; no round is started after so much work
JUST = 1e-4  # how far below its target a query that had to be pressed may stay
POWER = 2.5  # variances fall about like weights to the power -2/3 (Laplace) or -1/2 (Gaussian), errors like half of that
SHORT = 5.0  # units for a design up to which a refusal searches for the factor that would do


class TargetsMissed(DesignFailed):
    """No design of the family that was found meets the targets at the given budgets.

    ratio: of the worst query, what it reaches over what it may at most. units: of work that one design takes.
    """

    def __init__(self, family: str, reached: Sequence[Reached], units: float) -> None:
        super().__init__(f"{family}: the targets are not met at these budgets; {missed_words(reached)}.")
        self.family, self.ratio, self.units = family, worst_of(reached).ratio, units


def design_meeting(problem: Problem, targets: Targets, family: str, make: Builder) -> Design[Mechanism]:
    """The family's design of least loss subject to the targets, every one of which is checked at the frozen noise.

    In turn: the design of least loss, if it meets them; if the one that comes nearest to them does, the designs with weights
    raised (`_weighed`), or that one itself for families that heed no weights; where the bound leaves more than `OPEN` of the
    loss open, and the family has a convex program, that program with the variances capped (`_capped`). Of these the least loss
    is taken. `TargetsMissed` names what is missed otherwise.
    """
    with within() as counted:
        own = make(problem)
    reached = reached_by(own.mechanism, problem, targets)
    if worst_of(reached).ratio <= 1:
        return _noted(own, reached, OWN)
    aimed = make(towards(problem, targets, own.mechanism))
    nearest = reached_by(aimed.mechanism, problem, targets)
    if worst_of(nearest).ratio > 1:
        best = min(reached, nearest, key=lambda one: worst_of(one).ratio)
        raise TargetsMissed(family, best, counted.spent)
    weighed, bound = _weighed(problem, targets, family, make)
    chosen, how = Design(problem, aimed.mechanism, aimed.seconds), AIMED
    if weighed is not None and weighed.loss <= chosen.loss:
        chosen, how = weighed, WEIGHED
    claimed = _claiming(chosen, own, bound)
    if claimed.optimality is None or claimed.optimality.gap > OPEN:
        capped = _capped(problem, targets, family, chosen)
        claimed, how = (capped, CAPPED) if capped is not None else (claimed, how)
    return _noted(claimed, reached_by(claimed.mechanism, problem, targets), how)


def _weighed(problem: Problem, targets: Targets, family: str, make: Builder) -> tuple[Design[Mechanism] | None, float]:
    """Multipliers for the targets: the weight of a query that misses its target rises, that of one that does better than asked
    falls back to its own, until all that are raised are just met. None where that does not come about; and the best bound of
    the loss under the targets that the multipliers prove.

    Where variances are convex in what the family chooses, the limit is its optimum under the targets.
    """
    places, weights = [target.place for target in targets.of(problem.workload.queries)], problem.costs.copy()
    met, bound, spent = None, 0.0, 0.0
    for _ in each_of(range(ROUNDS), f"weighing queries for their targets with {family}"):
        try:
            with within() as counted:
                made = make(replace(problem, weights=weights))
        except DesignFailed:
            break
        spent += counted.spent
        bound = max(bound, _bound(problem, targets, family, made, weights))
        ratios = np.array([one.ratio for one in reached_by(made.mechanism, problem, targets)])
        if ratios.max() <= 1:
            met = Design(problem, made.mechanism, made.seconds)
        if spent > UNITS or is_over() or (ratios.max() <= 1 and _just_met(ratios, weights, problem, places)):
            break
        raised = weights[places] * (ratios / (1 - JUST / 2)) ** POWER
        weights[places] = np.maximum(problem.costs[places], raised)
    return met, bound


def _capped(problem: Problem, targets: Targets, family: str, known: Design[Mechanism]) -> Design[Mechanism] | None:
    """The optimum of the family's convex program with variances capped, if its loss is at most that of a design that is known
    to meet the targets, or proven nearer to the best; None where there is no such program, or no CVXPY, or it does worse."""
    try:
        program = _program(problem, family)
    except ImportError:
        return None
    if program is None:
        return None
    errors, margins = known.mechanism.standard_errors(), known.mechanism.margins(CONFIDENCE)
    for target in targets.of(problem.workload.queries):
        if errors[target.place] > 0:
            shape = errors[target.place] / margins[target.place] if target.kind == "margin" else 1.0
            program.variance_at_most(target.place, (target.most * shape) ** 2, target.sentence())
    try:
        made = program.design()
    except DesignFailed:
        return None
    found = Design[Mechanism](problem, made.mechanism.annotated(known.mechanism.provenance), made.seconds)
    met = worst_of(reached_by(found.mechanism, problem, targets)).ratio <= 1
    return found if met and found.loss <= known.loss * (1 + JUST) else None


def _program(problem: Problem, family: str) -> Any:
    """The family's program in CVXPY, where it has one that caps variances and margins alike; None elsewhere."""
    from designer.designing.listed import family_named

    named = family_named(family)
    address = named.program if family in ONE_SHAPE and problem.notion != "approximate" else None
    return address and at_address(address)(named.aimed(problem))


def _just_met(ratios: Floats, weights: Floats, problem: Problem, places: list[int]) -> bool:
    """Whether no query whose weight was raised does much better than asked."""
    return bool((ratios[weights[places] > problem.costs[places]] >= 1 - JUST).all())


def _bound(problem: Problem, targets: Targets, family: str, made: Design[Mechanism], weights: Floats) -> float:
    """What multipliers prove: the bound B of the weighted program, less `sum_k (w_k - v_k) Var_k` at the largest variances that
    the targets allow, bounds the squared loss of every design of the family that meets them; 0 where nothing is proven."""
    asked, claim = targets.of(problem.workload.queries), made.optimality
    margins = [target.kind == "margin" for target in asked]
    if claim is None or problem.loss != "squared" or made.is_biased or (any(margins) and family not in ONE_SHAPE):
        return 0.0
    places, errors = [target.place for target in asked], made.mechanism.standard_errors()
    most = np.array([target.most for target in asked])
    if any(margins):
        reach = made.mechanism.margins(CONFIDENCE)[places]
        most = np.where(np.array(margins) & (reach > 0), most * errors[places] / np.where(reach > 0, reach, 1.0), most)
    return claim.lower_bound - float(((weights - problem.costs)[places] * most**2).sum())


def _claiming(made: Design[Mechanism], own: Design[Mechanism], bound: float) -> Design[Mechanism]:
    """The design with a claim about the problem's own loss under the targets, or none: what solvers proved was about weights
    of another problem. own: the design without targets, whose bound holds with them, too."""
    claim, mechanism = own.optimality, made.mechanism
    if claim is None:
        bare = mechanism if mechanism.optimality is None else replace(mechanism, optimality=None)  # type: ignore[type-var]
        return Design(made.problem, bare, made.seconds)
    lower = min(max(bound, claim.lower_bound), made.loss)
    method = (
        f"{claim.method}; multipliers of the targets" if bound > claim.lower_bound else f"{claim.method}; without the targets"
    )
    better = bounded(f"{claim.objective}, subject to the targets", made.loss, lower, method)
    return Design(made.problem, mechanism.annotated(mechanism.provenance, better), made.seconds)


def _noted(made: Design[Mechanism], reached: Sequence[Reached], how: str) -> Design[Mechanism]:
    """The design with the targets, and what is reached of them, in its notes."""
    notes = {"targets": [one.sentence() for one in reached], "targets_are": how, "loss": made.problem.loss}
    return Design(made.problem, made.mechanism.annotated({**made.mechanism.provenance, **notes}), made.seconds)


def remedy(problem: Problem, targets: Targets, missed: TargetsMissed, make: Builder) -> str:
    """What to do about missed targets: the factor on the budgets at which the family meets them."""
    if missed.units > SHORT:
        return f"least_budget with {missed.family!r} finds the factor on the budgets that meets them; or ask for less."
    try:
        found = factor_of_family(problem, targets, missed.family, make, 1e-3)
    except DesignFailed as failure:
        return str(failure)
    rho = "" if found.rho_factor is None else f" (rho times {found.rho_factor:.6g})"
    return f"With {missed.family} all budgets times {found.factor:.6g}{rho} meet them, see least_budget; or ask for less."

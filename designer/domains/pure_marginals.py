"""Tables of a pure budget that are as accurate as asked, by products of whole-number rows (docs/theory/marginals.md, 5)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from designer.base.arrays import Floats
from designer.base.checks import positive
from designer.base.errors import DesignFailed, InvalidProblem
from designer.base.progress import announce, step, track
from designer.base.version import VERSION
from designer.certificate.guarantee import Optimality, bounded
from designer.domains.marginals_least import (
    AIMED,
    BEYOND,
    CLOSE,
    CONTINUOUS,
    HALVINGS,
    NONE,
    LeastMarginals,
    in_own_units,
    require_met,
    table_names,
    times,
    weights_of,
)
from designer.domains.marginals_workload import MarginalWorkload, Subsets
from designer.domains.problem import MarginalProblem
from designer.domains.products import StructuredMechanism
from designer.domains.products_noise import MeasuredProduct, StrategyMatrix
from designer.domains.products_plan import design_structured, least_in_counts, with_whole_numbers, within_budget
from designer.domains.products_release import TOGETHER, margins_of_term
from designer.domains.products_workload import StructuredWorkload
from designer.domains.protection import Protection
from designer.problem.targets import Target, Targets, require_targets
from designer.relations.metrics.presence import Presence
from solvers.programs.loads import least_factor

ADDITIVE = "all additive noise"
REPLANNED = 5  # times at the factor that was found: whole-number noise is of another shape at other budgets
WEIGHTED = 8  # rounds of multipliers in which the total of variances is to follow the targets
MULTIPLIED = 12  # rounds of multipliers at stated budgets
FAINT = 1e-6  # of the least rate of a plan: those of tables without a target, over the number of them


@step("the least budget of marginals")
def least_pure_budget(problem: MarginalProblem, targets: Targets, *, step: float = 1e-4) -> LeastMarginals:
    """The smallest factor found on the budgets at which the tables meet their targets, in the pure notion.

    targets: as in `least_marginal_budget`; margins are bounds of the noise that is drawn. Plans are designed for the targets,
    followed to the factor at which they are met, and designed anew there. The mechanism is certified at the factor; a step
    below, the same plan misses a target. Under presence a bound holds for all additive noise. Raises `DesignFailed` where no
    factor is least.
    """
    asked, relative = require_targets(targets).of(table_names(problem.workload)), positive(step, "step")
    announce("marginals: searching for the least factor on the budgets")
    found: LeastMarginals | None = None
    for _ in range(REPLANNED):
        last = found
        for plan in _plans(problem, asked, 1.0 if last is None else last.factor):
            one = _followed(problem, asked, plan, relative)
            if one is not None and (found is None or one.factor < found.factor):
                found = one
        if found is None:
            raise DesignFailed(NONE)
        if last is not None and not found.factor < last.factor * (1 - relative):
            break
    assert found is not None
    provenance = {**found.mechanism.provenance, "loss": "max", "budgets_times": found.factor}
    return replace(found, mechanism=found.mechanism.annotated(provenance, None), lower_bound=_least_possible(problem, asked))


def _followed(
    problem: MarginalProblem, asked: Sequence[Target], plan: StructuredMechanism, relative: float
) -> LeastMarginals | None:
    """The least factor at which this plan meets the targets; None where none is least."""
    allowed = np.array([target.most for target in asked])
    tried: dict[float, tuple[StructuredMechanism, Floats]] = {}

    def ratio(factor: float) -> float:
        try:
            made = _stretched(plan, problem.relation, factor)
        except InvalidProblem:  # noise that is too wide for the integers it is drawn in
            return math.inf
        tried[factor] = made, _reached(made, asked)
        return float((tried[factor][1] / allowed).max())

    bracket = least_factor(ratio, relative) if _reached(plan, asked).any() else None
    if bracket is None or bracket.missed not in tried:
        return None
    (made, values), (_, short) = tried[bracket.met], tried[bracket.missed]
    missed, at = asked[int(np.argmax(short / allowed))].query, replace(problem, relation=times(problem.relation, bracket.met))
    return LeastMarginals(at, bracket.met, made, in_own_units(asked, values), bracket.missed, missed, relative, 0.0, ADDITIVE)


def pure_tables_meeting(problem: MarginalProblem, targets: Targets) -> StructuredMechanism:
    """The mechanism of the least loss found at these budgets whose tables meet their targets.

    Where the design without targets misses some, the tables with targets are weighted until they meet them, which bounds the
    loss "squared" from below under presence; and as much as is needed of the plan that is nearest to the targets is measured
    beside. Raises `DesignFailed` where no plan that is found meets them.
    """
    asked = require_targets(targets).of(table_names(problem.workload))
    notes = {"targets": [target.sentence() for target in asked]}
    own = _designed(problem, problem.workload.weights)
    if _ratio(own, asked) <= 1:
        return own.annotated({**own.provenance, **notes}, own.optimality)
    near = list(_plans(problem, asked, 1.0))
    require_met(asked, _reached(min(near, key=lambda made: _ratio(made, asked)), asked))
    plans, bound = _weighted(problem, asked, own)
    enough = [plan for plan in (*near, *plans) if _ratio(plan, asked) <= 1]
    mixtures = (_mixed(problem, plan, nearest, asked) for plan in plans for nearest in enough)
    best = min(mixtures, key=lambda made: made.error(problem.loss))
    claim: Optimality | None = None
    if bound > 0:
        claim = bounded(AIMED, best.error(), bound, "multipliers of the targets", best.error() * 1e-9)
    return best.annotated({**own.provenance, **notes}, claim)


def _weighted(
    problem: MarginalProblem, asked: Sequence[Target], own: StructuredMechanism
) -> tuple[list[StructuredMechanism], float]:
    """Designs whose tables with targets have larger and larger weights, and what the loss "squared" is at least: with
    multipliers m_t of allowed variances a_t, no less than the least of `loss + sum_t m_t variance_t`, less `sum_t m_t a_t`."""
    workload, places = problem.workload, [target.place for target in asked]
    allowed, weights, bound = 1 / weights_of(tuple(asked)), workload.weights.copy(), 0.0
    found: list[StructuredMechanism] = []
    errors = problem.loss == "squared" and all(target.kind != "margin" for target in asked)
    for _ in track(range(MULTIPLIED), "marginals: weighting the tables that have targets"):
        made = _designed(problem, weights) if found else own
        if made.optimality is not None and errors:
            spent = float((weights - workload.weights)[places] @ (workload.cells[places] * allowed))
            bound = max(bound, made.optimality.lower_bound - spent)
        plan = _for_all(problem, problem.relation, made)
        if not any(plan == other for other in found):
            found.append(plan)
        ratios = (_reached(plan, asked) / [target.most for target in asked]) ** 2
        weighed = weights[places] > workload.weights[places]
        if (np.where(weighed, np.abs(ratios - 1), ratios - 1) < CLOSE).all():
            break
        weights[places] = np.maximum(workload.weights[places], weights[places] * ratios**2)
    return found, bound


def _mixed(
    problem: MarginalProblem, own: StructuredMechanism, nearest: StructuredMechanism, asked: Sequence[Target]
) -> StructuredMechanism:
    """As little of the nearest plan as is needed: loads are linear in the rates, so a mixture keeps the budgets."""
    theirs = [{tuple(block.parts): block.strength for block in plan.blocks} for plan in (own, nearest)]
    low, high, best = 0.0, 1.0, nearest
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        rates = {parts: (1 - middle) * rate for parts, rate in theirs[0].items()}
        for parts, rate in theirs[1].items():
            rates[parts] = rates.get(parts, 0.0) + middle * rate
        made = _of_rates(problem, problem.relation, rates)
        low, high, best = (low, middle, made) if _ratio(made, asked) <= 1 else (middle, high, best)
    return best


def _designed(problem: MarginalProblem, weights: Floats) -> StructuredMechanism:
    """The design without targets, of tables with these weights."""
    return _design_of(problem, MarginalWorkload(problem.workload.domain, problem.workload.subsets, weights))


def _design_of(problem: MarginalProblem, tables: MarginalWorkload) -> StructuredMechanism:
    """The design of other tables."""
    asked = StructuredWorkload.of_marginals(tables)
    if problem.loss == "squared":
        return design_structured(asked, problem.relation, "laplace")
    return with_whole_numbers(asked, problem.relation, "laplace", None, problem.loss)


def _plans(problem: MarginalProblem, asked: Sequence[Target], factor: float) -> Iterator[StructuredMechanism]:
    """Plans for the tables with targets, at the budgets times a factor: of the least largest ratio of a variance to what is
    allowed, of the least sum of weighted variances, with weights that follow these ratios, and each table for itself. The
    others are measured with what is next to nothing."""
    relation = times(problem.relation, factor)
    at, rows = replace(problem, relation=relation, loss="squared"), problem.workload.subsets.tuples()
    subsets, allowed = Subsets.of([rows[target.place] for target in asked]), 1 / weights_of(tuple(asked))

    def alone(weights: Floats) -> MarginalWorkload:
        return MarginalWorkload(problem.workload.domain, subsets, weights)

    with suppress(DesignFailed):
        yield _for_all(problem, relation, _design_of(replace(at, loss="max"), alone(1 / allowed)))
    best: StructuredMechanism | None = None
    weights = 1 / allowed / problem.workload.cells[[target.place for target in asked]]
    for _ in range(WEIGHTED):
        with suppress(DesignFailed):
            plan = _for_all(problem, relation, _design_of(at, alone(weights)))
            ratios = (_reached(plan, asked) / [target.most for target in asked]) ** 2
            if best is None or ratios.max() < _ratio(best, asked) ** 2 * (1 - CLOSE):
                best = plan
            if not ratios.min() > 0 or ratios.max() <= ratios.min() * (1 + CLOSE):
                break
            weights = weights * ratios / ratios.max()
    if best is not None:
        yield best
    each = (2 * np.arcsinh(1 / np.sqrt(2 * allowed))).tolist()
    yield _of_rates(problem, relation, {rows[t.place]: rate for t, rate in zip(asked, each, strict=True)})


def _for_all(problem: MarginalProblem, relation: Protection, plan: StructuredMechanism) -> StructuredMechanism:
    """The products of a plan, put together, for the tables as they are asked for, with their own weights."""
    return _of_rates(problem, relation, {tuple(block.parts): block.strength for block in plan.blocks})


def _of_rates(problem: MarginalProblem, relation: Protection, rates: Mapping[tuple[int, ...], float]) -> StructuredMechanism:
    """Cells of tables over these axes, at rates in proportion to these, and a little of the tables that they do not answer."""
    workload = StructuredWorkload.of_marginals(problem.workload)
    axes = sorted({*workload.used, *(axis for parts in rates for axis in parts)})
    matrices = {axis: (StrategyMatrix(np.eye(workload.domain.shape[axis], dtype=np.int64)),) for axis in axes}
    blocks = [MeasuredProduct(dict.fromkeys(parts, 0), rate) for parts, rate in rates.items()]
    made = within_budget(workload, relation, "laplace", matrices, [*blocks, *_faint(workload, blocks)], TOGETHER)
    return made.annotated({"software": f"dp-designer {VERSION}", "family": "Kronecker strategy", "loss": problem.loss}, None)


def _faint(workload: StructuredWorkload, blocks: Sequence[MeasuredProduct]) -> list[MeasuredProduct]:
    """Blocks of the tables that none of these answers, at rates that are next to nothing beside them."""
    axes = [set(block.parts) for block in blocks]
    least = FAINT * min(block.strength for block in blocks)
    return [
        MeasuredProduct(dict.fromkeys(term, 0), least) for term in workload.terms if not any(set(term) <= own for own in axes)
    ]


def _stretched(plan: StructuredMechanism, relation: Protection, factor: float) -> StructuredMechanism:
    """The same plan at the budgets times a factor, all of which it spends, certified anew."""
    made = within_budget(plan.workload, times(relation, factor), plan.noise, plan.matrices, plan.blocks, plan.serves)
    return made.annotated(dict(plan.provenance), None)


def _reached(made: StructuredMechanism, asked: Sequence[Target]) -> Floats:
    """The largest error of a cell of each table that has a target."""

    def largest(target: Target) -> float:
        if target.kind == "margin":
            return float(margins_of_term(made, target.place, BEYOND).max())
        shape = [queries.count for queries in made.workload.terms[target.place].values()]
        return math.sqrt(float(made.variances(target.place, np.argwhere(np.ones(shape, dtype=bool))).max()))

    return np.array([largest(target) for target in asked])


def _ratio(made: StructuredMechanism, asked: Sequence[Target]) -> float:
    """The largest error over its target."""
    return float((_reached(made, asked) / [target.most for target in asked]).max())


def _least_possible(problem: MarginalProblem, asked: Sequence[Target]) -> float:
    """Under presence, from what all cells with targets need together, and those of each table: variances that are a_t at most
    sum up to N at most when they are divided by a_t, N the cells; no additive noise of budget b has less than
    `L / (2 sinh^2(b / 2))` of that sum (docs/theory/structured.md, 4). A margin bounds no variance."""
    errors = [target for target in asked if target.kind != "margin"]
    if not isinstance(problem.relation, Presence) or not errors:
        return 0.0
    workload = problem.workload
    rows = workload.subsets.tuples()

    def of(chosen: Sequence[Target]) -> float:
        weights = weights_of(tuple(chosen))
        alone = MarginalWorkload(workload.domain, Subsets.of([rows[target.place] for target in chosen]), weights)
        needed, _ = least_in_counts(StructuredWorkload.of_marginals(alone))
        return 2 * math.asinh(math.sqrt(needed / (2 * float(alone.cells.sum()))))

    least = max(map(of, [errors, *([target] for target in errors)]))
    return least / problem.relation.epsilon * CONTINUOUS

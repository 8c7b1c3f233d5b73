"""The pure matrix mechanism: Laplace noise on other linear queries,
from which the answers are put together (docs/theory/strategies.md).

Best where hulls are out of reach: many queries, long ranges. The strategy is found by descent, among p-identity strategies
where records appear and from the best of the standard ones elsewhere, so its error is never above theirs; the program is not
convex and the bound is loose.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from typing import Annotated

import numpy as np

from designer.base.arrays import Floats, real_array
from designer.base.checks import count
from designer.base.errors import DesignFailed, InvalidProblem
from designer.base.progress import announce
from designer.certificate.certificate import refuse_infinite
from designer.certificate.change_norms import ByLength, too_many
from designer.certificate.norms import weighted_l1
from designer.certificate.sensitivity import SensitivitySet
from designer.designing.ellipsoid import WIDE, independent_gaussian
from designer.designing.family import Family, Sizes, StrategyRows, reached_by_others, refuse_outdone
from designer.designing.hierarchy import has_best_tree
from designer.designing.implicit_rows import Classes, classes
from designer.designing.laplace import best_weights
from designer.designing.measured import Coordinates, combination, measurable
from designer.designing.problem_kinds import suggestions
from designer.designing.repair import Bound, freeze
from designer.limits import MOST_STRATEGY_ELEMENTS, MOST_STRATEGY_PAIRS, MOST_STRATEGY_UNIT_ELEMENTS
from designer.mechanism.additive import AdditiveMechanism
from designer.problem.relation import Relation
from designer.relations.invariants.changes import InvariantDistance
from designer.relations.metrics.presence import AddRemove
from designer.relations.problem import Problem
from solvers.lattices.kernel import pseudo_inverse
from solvers.programs.changes import Changes
from solvers.programs.noise_costs import independent_noise_bound
from solvers.programs.strategy import Strategy, fit_to_budgets, fixed_strategies, independent_rows
from solvers.programs.strategy_search import RANDOM_DIMENSION, optimise_workload, singular_value_bound
from solvers.rounding import product, reconstruction_of, rounded_alike
from solvers.solution import Solution, Status

BOUNDED = 60  # elements, or such as the queries tell apart, up to which a bound of its own is worth its time
KEPT = 1e-6  # of the loss: what a search may end above the queries themselves, whose scales are found to that
ON_STEPS = 1 - 1e-6  # of the loss of continuous noise
OTHERS = {"strategy_laplace": "laplace", "strategy_gaussian": "gaussian"}


def design_strategy(
    problem: Problem,
    iterations: Annotated[int, "How many steps the search for a strategy takes at most."] = 100,
    keep: Annotated[int, "How many of the best starts are followed to the end."] = 2,
    strategy: StrategyRows | None = None,
) -> AdditiveMechanism:
    """The best strategy found: rows of the workload and, with at least as many queries as elements, trees,
    wavelets and p-identity; or the caller's `strategy`, (p, N), in any units: measured as it is, with the least noise that is
    private."""
    steps, starts = count(iterations, "options.iterations"), count(keep, "options.keep")
    universe, changes = universe_of(problem, most_elements(problem.relation))
    if strategy is not None:
        rows = brought(strategy, universe, changes, "strategy_laplace")
        found = evaluated(problem, universe, changes, fit_to_budgets(rows, changes, "rows of the caller"))
    else:
        if (seconds := _work(Sizes(problem))) > 2:
            announce(f"a strategy for {len(universe)} elements, about {seconds:.0f} s")
        found = searched(problem, universe, changes, steps, starts)
        if problem.loss == "squared":
            refuse_outdone(problem, found.value)
    bound = None
    if problem.loss == "squared":
        bound = Bound("sum_k v_k Var_k, the weighted squared error", found.lower_bound, f"{found.point.name}, {found.method}")
    return frozen_strategy(problem, universe, changes, found.point, bound)


def universe_of(
    problem: Problem, most: int = MOST_STRATEGY_ELEMENTS, family: str = "strategy_laplace"
) -> tuple[Classes, Changes]:
    """The elements that budgets let anybody tell apart, and their protected changes; `DesignFailed` where there is nothing to
    measure, more than `most` elements, or changes that nobody wrote out."""
    if isinstance(problem.relation, ByLength) and not problem.relation.listed and problem.relation.size > most:
        raise DesignFailed(too_many(problem.relation))
    if (elements := problem.relation.size) > most:
        others = Sizes(problem).serving if problem.notion == "pure" else "diagonal_gaussian or gaussian"
        raise DesignFailed(f"{family}: {elements} elements, more than {most}; {suggestions(problem)}use {others}.")
    sensitivity = measurable(problem)
    refuse_infinite(sensitivity, weighted_l1(np.ones(sensitivity.dimension)))
    universe = classes(problem)
    changes = universe.changes(MOST_STRATEGY_PAIRS)
    if not np.abs(changes.along(universe.workload)).any():
        raise DesignFailed(
            f"{family}: no protected change moves an answer, so there is nothing to measure; use {OTHERS[family]}."
        )
    return universe, changes


def most_elements(relation: Relation) -> int:
    """How many elements are begun with: more where every change is a record that appears, so that strategies of unit columns
    are searched, not all rows."""
    return MOST_STRATEGY_UNIT_ELEMENTS if isinstance(relation, AddRemove) else MOST_STRATEGY_ELEMENTS


def brought(strategy: object, universe: Classes, changes: Changes, family: str) -> Floats:
    """Rows of the caller, (p, N), over the classes, (p, C), without those that no change moves; refused where they tell
    elements apart that a budget of 0 binds."""
    rows = real_array(strategy, "options.strategy", 2)
    if rows.shape[1] != len(universe.label):
        raise InvalidProblem(f"options.strategy: has shape {rows.shape}; give rows of {len(universe.label)} numbers.")
    kept = rows[:, universe.first]
    if not np.array_equal(universe.spread(kept), rows):
        raise DesignFailed(
            f"{family}: options.strategy tells elements apart whose budget is 0; give such elements equal columns."
        )
    return without_faint_rows(Strategy(kept, "rows of the caller"), changes).matrix


def evaluated(problem: Problem, universe: Classes, changes: Changes, strategy: Strategy) -> Solution[Strategy]:
    """What a strategy costs with Laplace noise, beside the bound for all strategies."""
    weighted = universe.workload * np.sqrt(problem.costs)[:, None]
    try:
        value = strategy.error(weighted, changes)
    except ValueError as failed:
        raise DesignFailed(f"options.strategy: {failed}") from None
    bound = singular_value_bound(weighted.T @ weighted, changes)
    return Solution(Status.STALLED, strategy, value, min(bound, value), 0, "evaluated as it is")


def searched(problem: Problem, universe: Classes, changes: Changes, iterations: int = 100, keep: int = 2) -> Solution[Strategy]:
    """The best strategy found, (p, C) over the classes, without rows that tell nothing; its error is about all its rows.

    Where a search ends in rows that do not determine the answers, as in units far apart, or above the queries themselves with
    the best scales, these are the answer.
    """
    weighted = universe.workload * np.sqrt(problem.costs)[:, None]
    ordered = fixed_strategies(len(universe)) if len(weighted) >= len(universe) else None
    ahead = reached_by_others(problem) if problem.loss == "squared" else math.inf
    queries, plain = _scaled_queries(problem, universe)
    try:
        found = optimise_workload(weighted, changes, ordered, iterations=iterations, keep=keep, ahead=ahead)
        heard = without_needless_rows(without_faint_rows(found.point, changes), weighted, changes)
        found = replace(found, point=_shortened(heard, universe.workload))
        reached = found.point.error(weighted, changes)
    except ValueError:
        return evaluated(problem, universe, changes, queries)
    return found if reached <= plain * (1 + KEPT) else evaluated(problem, universe, changes, queries)


def _scaled_queries(problem: Problem, universe: Classes) -> tuple[Strategy, float]:
    """The queries that some change moves, with the best scales of Laplace noise on them, over the classes, (p, C); and the
    error of each by itself."""
    sensitivity = measurable(problem)
    heard = ~sensitivity.silent_coordinates()
    found = best_weights(sensitivity.among(heard), problem.costs[heard], "squared", KEPT)
    if not found.status.usable:
        raise DesignFailed(f"strategy_laplace: {found.status.value}")
    return Strategy(universe.workload[heard] * found.point[:, None], "queries with the best scales"), found.value


def _shortened(strategy: Strategy, workload: Floats) -> Strategy:
    """The strategy in short numbers: its entries, where it measures all elements, which leaves every answer within reach; its
    shares of queries, where it is made of these; otherwise as it is. workload: (K, C)."""
    rows = strategy.matrix
    if np.linalg.matrix_rank(rows) == rows.shape[1]:
        return Strategy(rounded_alike(rows, 1), strategy.name)
    basis = workload[independent_rows(workload)]
    made = product(rounded_alike(rows @ pseudo_inverse(basis), 1), basis)
    return Strategy(made, strategy.name) if np.abs(made - rows).max() <= 1e-7 * np.abs(rows).max() else strategy


def frozen_strategy(
    problem: Problem,
    universe: Classes,
    changes: Changes,
    strategy: Strategy,
    bound: Bound | None,
    family: str = "strategy_laplace",
) -> AdditiveMechanism:
    """Noise of scale 1 in these rows, up to what privacy requires, and the answers of least variance made of them: Laplace, or
    Gaussian for the family `strategy_gaussian`."""
    try:
        rebuilt = strategy.reconstruction(universe.workload, changes)
        coordinates = _coordinates(problem, universe.spread(strategy.matrix), rebuilt)
    except ValueError as failed:
        raise DesignFailed(f"{family}: {failed}") from None
    _refuse_imprecise(problem, coordinates, family)
    weights = np.where(coordinates.heard, 1.0, np.inf)
    if family == "strategy_gaussian":
        return independent_gaussian(problem, family, coordinates, weights, bound)
    return freeze(problem, family, coordinates, 1 / weights, lambda _: weighted_l1(weights), "exponential", bound)


def without_faint_rows(strategy: Strategy, changes: Changes) -> Strategy:
    """Rows that changes move by less than 1e-7 of the loudest are dropped: under noise of scale 1 they tell 1e-14 of it, and
    the descent leaves such rows where it would have none."""
    loudness = np.abs(changes.along(strategy.matrix)).max(axis=1)
    return Strategy(strategy.matrix[loudness > 1e-7 * loudness.max(initial=0.0)], strategy.name)


def without_needless_rows(strategy: Strategy, weighted: Floats, changes: Changes) -> Strategy:
    """Without rows that are faint beside the loudest, where the others determine the answers up to the rounding of floats, and
    the error does not grow: the descent leaves some that tell next to nothing, and whose rounding the answers would show."""
    loudness = np.abs(changes.along(strategy.matrix)).max(axis=1)
    fainter = [loudness <= 2.0**-bits * loudness.max(initial=0.0) for bits in (8, 14, 20)]
    for faint in (rows for rows in fainter if rows.any()):
        rest = fit_to_budgets(strategy.matrix[~faint], changes, strategy.name)
        with suppress(ValueError):
            rebuilt = rest.reconstruction(weighted, changes)
            off = np.abs((rebuilt @ rest.matrix - weighted) @ changes.span()).max(initial=0.0)
            allowed = strategy.error(weighted, changes) * (1 + 1e-9)
            if off <= 1e-12 * np.abs(weighted).max(initial=0.0) and 2 * np.square(rebuilt).sum() <= allowed:
                return rest
    return strategy


def _refuse_imprecise(problem: Problem, coordinates: Coordinates, family: str) -> None:
    """A strategy that is far from orthogonal loses the answers in the rounding of its reconstruction."""
    wanted = problem.workload.dense()
    assert coordinates.reconstruction is not None
    off = np.abs(coordinates.reconstruction @ coordinates.matrix(problem) - wanted).max(axis=1)
    if (off > 1e-9 * np.abs(wanted).max(axis=1)).any():
        raise DesignFailed(
            f"{family}: queries are nearly dependent, their answers would be off by up to {off.max():.2g} a record; "
            "subtract constants from them."
        )


def _coordinates(problem: Problem, rows: Floats, reconstruction: Floats) -> Coordinates:
    """Noisy strategy rows and, exactly, the public rows that what the strategy leaves of
    Q is made of: no protected change moves it. Of a query that no change moves, that is all of it: the strategy would add the
    rounding of its weights, and a published total of 7 would read 6.999999999999999."""
    wanted, public = problem.workload.dense(), problem.relation.public_rows()
    silent = SensitivitySet.of(wanted, problem.relation).silent_coordinates()
    kept = np.where(silent[:, None], 0.0, reconstruction)
    needed, shares = combination(wanted - kept @ rows, public, np.abs(wanted).max(axis=1))
    measured = np.vstack([rows, public[needed]])
    answers = reconstruction_of(np.hstack([kept, shares[:, needed]]), measured, wanted)
    return Coordinates(measured, answers, np.arange(len(measured)) < len(rows))


def _work(sizes: Sizes) -> float:
    """Seconds, of a few p-identity searches where records appear, of some fifty descents over all changes elsewhere, whose
    iterations are cut where these are many."""
    if sizes.elements > most_elements(sizes.problem.relation):
        return 0.0
    if isinstance(sizes.problem.relation, AddRemove) and sizes.dimension > RANDOM_DIMENSION:
        return 0.1 + 2e-5 * sizes.elements**2
    return 1.5 + 0.1 * min(sizes.dimension, 60)


def floor(problem: Problem) -> float:
    """What every design of this family loses at least, by the dual bounds of `solvers/programs`: pure noise, squared or largest
    loss, few elements, or few that the queries tell apart, of each of which one is taken; 0 elsewhere. Noise is drawn on steps
    of 2^-40 of its scale, which `ON_STEPS` allows for."""
    if not is_bounded(problem):
        return 0.0
    try:
        universe, changes = universe_of(problem)
    except DesignFailed:
        return 0.0
    workload = universe.workload
    chosen = np.sort(np.unique(workload, axis=1, return_index=True)[1])
    known = [(workload[:, chosen], changes.among(chosen))] if len(chosen) < len(universe) else []
    if len(universe) <= BOUNDED:
        known.append((workload, changes))
    return ON_STEPS * max((_least(asked_gram(problem, asked), moved) for asked, moved in known), default=0.0)


def _least(gram: Floats, changes: Changes) -> float:
    """The better of two bounds of twice `tr(W (B'B)^-1)`, gram W: (C, C); 0 for many elements."""
    if changes.size > BOUNDED or not changes.count:
        return 0.0
    return max(independent_noise_bound(gram, changes), singular_value_bound(gram, changes))


def is_bounded(problem: Problem) -> bool:
    """Whether `floor` may say anything."""
    return problem.notion == "pure" and problem.loss != "absolute" and problem.relation.size <= MOST_STRATEGY_ELEMENTS


def asked_gram(problem: Problem, workload: Floats) -> Floats:
    """`sum_k v_k q_k' q_k`, (C, C), whose trace with a covariance is the squared loss; the mean over the queries where the
    largest counts, which is at least that."""
    gram = (workload.T * problem.costs) @ workload
    return gram / len(workload) if problem.loss == "max" else gram


STRATEGY_LAPLACE = Family(
    "strategy_laplace",
    "Laplace noise on optimised other queries",
    "pure",
    design_strategy,
    program="designer.programs:strategy",
    search="Rows and reconstruction are searched; the scales for a given reconstruction are a convex program, solved in turns.",
    work=_work,
    anytime=True,
    fractions=True,
    floor=floor,
    where=lambda problem: not has_best_tree(problem),
)


# The Gaussian matrix mechanism with a strategy of the caller's: equal independent Gaussian noise in its rows.
#
# The best mechanism with continuous Gaussian noise is the family `gaussian`; this one evaluates, certifies and freezes rows
# that come from elsewhere (docs/theory/strategies.md, 6). By itself it counts the records that no query tells apart and adds
# the counts up: at large budgets whole-number noise is so much narrower than continuous noise that this has the least error.


def design_own_strategy(problem: Problem, strategy: StrategyRows | None = None) -> AdditiveMechanism:
    """Gaussian noise in the rows of `strategy`, (p, N), in any units, as little as is private; answers of least variance. Where
    none are given, the counts of records that no query tells apart are measured."""
    universe, changes = universe_of(problem, family="strategy_gaussian")
    given = universe.spread(_atoms(problem, universe)) if strategy is None else strategy
    rows = brought(given, universe, changes, "strategy_gaussian")
    fitted = Strategy(rows / (_longest(rows, changes) or 1.0), "rows of the caller")
    bound = None
    if problem.loss == "squared":
        weighted = universe.workload * np.sqrt(problem.costs)[:, None]
        least = singular_value_bound(weighted.T @ weighted, changes) / 2
        bound = Bound("sum_k v_k Var_k, the weighted squared error", least, "the bound for all Gaussian mechanisms")
    return frozen_strategy(problem, universe, changes, fitted, bound, "strategy_gaussian")


def _atoms(problem: Problem, universe: Classes) -> Floats:
    """A row for each set of classes that no query tells apart, (p, C); where records appear, without those that none counts."""
    columns, place = np.unique(universe.workload, axis=1, return_inverse=True)
    counted = columns.any(axis=0) | (not problem.relation.absence)
    return np.asarray(place.ravel() == np.flatnonzero(counted)[:, None], dtype=np.float64)


def _may_be_narrow(problem: Problem) -> bool:
    """Whether some budget is so large that whole-number noise is narrower than continuous noise, and the changes are few."""
    relation = problem.relation
    if problem.notion != "zcdp" or relation.size > MOST_STRATEGY_ELEMENTS or not getattr(relation, "listed", True):
        return False
    if isinstance(relation, InvariantDistance):  # changes of every size
        return False
    return relation.pair_count() <= MOST_STRATEGY_PAIRS and relation.largest_budget() > WIDE


def _longest(rows: Floats, changes: Changes) -> float:
    """The largest `||B d||_2 / b`."""
    return float((np.sqrt(np.square(changes.along(rows)).sum(axis=0)) / changes.budget).max(initial=0.0))


STRATEGY_GAUSSIAN = Family(
    "strategy_gaussian",
    "Gaussian noise on counts, or on queries of the caller",
    "zcdp",
    design_own_strategy,
    search="The rows are given, or counts; the least equal noise in them is a closed form.",
    where=_may_be_narrow,
)

"""Noise of counts in closed form: by the number of records that move, and of least error under (epsilon, delta)
(docs/theory/staircase.md, 7 and 8)."""

from __future__ import annotations

import numpy as np

from designer.base.errors import DesignFailed
from designer.certificate.certificate import refuse_infinite
from designer.certificate.guarantee import bounded
from designer.certificate.norms import weighted_l1
from designer.certificate.sensitivity import SensitivitySet
from designer.designing.family import Family, Sizes, refuse_outdone
from designer.designing.measured import Coordinates, dimension_of, moving_coordinates
from designer.limits import MOST_COUNT_DIFFERENCES
from designer.mechanism.count_noise import Moves, Truncated
from designer.mechanism.noise import Grid, coarsest_exponent
from designer.mechanism.staircase import StaircaseMechanism
from designer.mechanism.staircase_noise import Difference, protected_differences
from designer.relations.problem import Problem
from solvers.exact.rational import float_below


def by_moves(problem: Problem) -> StaircaseMechanism:
    """Whole-number noise in the counts of the classes that the queries tell apart, `exp(-b m)`, m the number of records that
    have to move for it, and b the least budget of a record that moves."""
    measured = _classes(problem, "by_moves")
    found = _differences(problem, measured, "by_moves")
    if any(sum(u.steps) for u in found):
        raise DesignFailed("by_moves: a protected change leaves another number of records; use laplace or staircase.")
    noise = Moves(min(u.budget / sum(step for step in u.steps if step > 0) for u in found), int(measured.heard.sum()))
    return _frozen_counts(problem, "by_moves", measured, noise, found)


def truncated_geometric(problem: Problem) -> StaircaseMechanism:
    """Independent whole-number noise of the least tails under (b, delta), where a protected change moves one count by one."""
    if problem.delta is None:
        raise DesignFailed("truncated_geometric: is noise under (epsilon, delta); state notion 'approximate' and a delta.")
    own = dimension_of(problem) == 1
    measured = _one_number(problem) if own else _classes(problem, "truncated_geometric")
    found = _differences(problem, measured, "truncated_geometric")
    if any(sum(map(abs, u.steps)) != 1 for u in found):
        raise DesignFailed(
            "truncated_geometric: a protected change moves several counts, or one by more than a step; use gaussian or laplace."
        )
    rates = {u.steps: float_below(u.budget) for u in found}  # of one difference for each count, in the order of their steps
    noise = Truncated(tuple(rates[u] for u in sorted(rates, reverse=True)), problem.delta)
    made = _frozen_counts(problem, "truncated_geometric", measured, noise, found)
    if (np.count_nonzero(measured.answers(problem), axis=1) > 1).any():
        return made
    value = problem.loss_of(made.query_variances(), made.query_mean_absolutes() if problem.loss == "absolute" else None)
    claim = bounded(f"{problem.loss} loss of noise in whole steps", value, value * (1 - 1e-9), "closed form")
    return made.annotated(made.provenance, claim)


def _classes(problem: Problem, family: str) -> Coordinates:
    """The counts of the elements that the queries tell apart, and beside them the queries that no protected change moves."""
    _refuse_many(problem, family, problem.workload.shape[0])
    rows = problem.workload.dense()
    silent = SensitivitySet.of(rows, problem.relation).silent_coordinates()
    _, first, label = np.unique(rows[~silent], axis=1, return_index=True, return_inverse=True)
    order = np.argsort(first)
    kept = [k for k in order.tolist() if rows[:, first[k]].any() or not problem.relation.absence]
    if len(kept) < 2:
        raise DesignFailed(f"{family}: the queries tell fewer than two classes apart; use laplace or staircase.")
    _refuse_many(problem, family, len(kept))
    members = (label.ravel() == np.array(kept)[:, None]).astype(np.float64)
    heard = np.arange(len(kept) + int(silent.sum())) < len(kept)
    if np.array_equal(members, rows):
        return Coordinates(None, None, heard)
    reconstruction = np.zeros((len(rows), len(heard)))
    reconstruction[np.ix_(~silent, heard)] = rows[~silent][:, first[kept]]
    reconstruction[np.ix_(silent, ~heard)] = np.eye(int(silent.sum()))
    return Coordinates(np.vstack([members, rows[silent]]), reconstruction, heard)


def _refuse_many(problem: Problem, family: str, rows: int) -> None:
    pairs = problem.relation.pair_count()
    if rows * pairs > MOST_COUNT_DIFFERENCES:
        raise DesignFailed(
            f"{family}: {rows:,} counts or queries with {pairs:,} protected pairs are more than the {MOST_COUNT_DIFFERENCES:,} "
            "differences that are written out; use laplace or capped_l1."
        )


def _one_number(problem: Problem) -> Coordinates:
    """The one number that protected changes move, in units of its largest change."""
    given = moving_coordinates(problem)
    matrix, (place,) = given.matrix(problem), np.flatnonzero(given.heard)
    step = float(given.sensitivity(problem).spread()[0])
    if (matrix[place] % step).any():
        raise DesignFailed("truncated_geometric: the answer moves by more than one step; use gaussian or laplace.")
    if np.frexp(step)[0] == 0.5:
        return given
    units = np.where(given.heard, step, 1.0)
    full = np.eye(len(matrix)) if given.reconstruction is None else given.reconstruction
    return Coordinates(matrix / units[:, None], full * units, given.heard)


def _grid(problem: Problem, measured: Coordinates) -> Grid:
    return Grid(tuple(map(coarsest_exponent, measured.matrix(problem))))


def _differences(problem: Problem, measured: Coordinates, family: str) -> tuple[Difference, ...]:
    grid = _grid(problem, measured)
    values = SensitivitySet.of(measured.matrix(problem), problem.relation)
    refuse_infinite(values, weighted_l1(np.ones(len(measured.heard))))
    found = protected_differences(values, measured.heard, grid.steps, implied=problem.delta is not None)
    if not found or not np.any([u.steps for u in found], axis=0).all():
        raise DesignFailed(f"{family}: no protected change moves some of the classes that the queries tell apart; use laplace.")
    return found


def _frozen_counts(
    problem: Problem, family: str, measured: Coordinates, noise: Moves | Truncated, found: tuple[Difference, ...]
) -> StaircaseMechanism:
    """The mechanism; noise that is behind that of others is refused before it is certified."""
    grid = _grid(problem, measured)
    if problem.loss != "absolute":
        rows = measured.answers(problem) * grid.steps[measured.heard]
        refuse_outdone(problem, problem.loss_of(noise.over(found).variances(rows)))
    given = (measured.measured, measured.reconstruction)
    return StaircaseMechanism(family, problem.workload, problem.relation, noise, grid, *given)


def _work(sizes: Sizes) -> float:
    """Seconds: of writing the differences of the classes out; nothing where they are refused at once for their number."""
    entries = sizes.queries * sizes.problem.relation.pair_count()
    return 1e-7 * entries if entries <= MOST_COUNT_DIFFERENCES else 0.0


BY_MOVES = Family(
    "by_moves",
    "whole-number noise by the number of records that move",
    "pure",
    by_moves,
    search="Its numbers are a closed form.",
    with_delta=False,
    work=_work,
)
TRUNCATED_GEOMETRIC = Family(
    "truncated_geometric",
    "independent whole-number noise, the least there is under (epsilon, delta)",
    "approximate",
    truncated_geometric,
    described=True,
    search="Its numbers are a closed form.",
    work=_work,
)

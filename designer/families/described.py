"""Independent noise for queries that are not written out, under relations in which every change has one budget.

Where no element is in two queries, such as under an identity or a partition, the noise of least loss follows in closed form:
every query is moved by its own records alone.

- A record appears with budget b: the conditions `a_k w_k <= b` on the weights, a_k the largest size of an entry of query k, do
  not meet, and each is an equality at the optimum.
- A record changes with budget b: with `t_k = (a_k w_k)^p` the conditions are `t_k + t_l <= b^p` for all pairs of queries, p = 1
  for Laplace and 2 for Gaussian noise. `t_k = b^p / 2` is optimal exactly if no query gains more from its own t than all others
  together lose: then there are multipliers of the pairs whose sums are the slopes, as degrees of a graph with weights on its
  edges.

Elsewhere the weights are those of a search over the sums `c_i = sum_k |p_ki w_k|^p`, each at most `b^p`, or half of it where a
record changes, with the loss that no weights under these conditions are below (by duality). docs/theory/scales.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.errors import DesignFailed
from designer.certified.described import DescribedSet, apart, is_described, worst_ratio
from designer.certified.norms import Norm
from designer.certified.refusals import refuse_extreme
from designer.certified.scale_up import MARGIN
from designer.families.repair import Bound, claimed
from designer.mechanisms.additive.mechanism import AdditiveMechanism
from designer.mechanisms.additive.noise import Grid
from designer.problem.relation import SimpleBudgets
from designer.problem.rows import Intervals, Matrix, compressed, largest_entries, row_places, with_entries
from designer.relations import metrics
from designer.relations.problem import Problem
from solvers.programs.column_budgets import least_loss
from solvers.programs.noise_costs import GaussianCost, NoiseCost

BY_SYMMETRY = "closed form: no element is in two queries"
BELOW = 1 - 1e-9  # for the floats that put a bound together
BY_DUALITY = "multipliers of the elements, by weak duality"
HALVINGS = 60


def asks_for_rows(problem: Problem) -> bool:
    """Whether the queries are never written out."""
    return is_described(problem.workload, problem.relation)


def independent_noise(
    problem: Problem, family: str, falloff: Literal["exponential", "gaussian"], objective: str, *, claims: bool = True
) -> AdditiveMechanism:
    """Independent noise of least loss, or near it, as the bound says. claims: whether nothing else belongs to the family."""
    budgets = problem.relation.simple
    assert budgets is not None
    rows, power = problem.workload.matrix, 1 if falloff == "exponential" else 2
    grid, found_in, heard = _measured(problem, family)
    sizes = largest_entries(rows)[heard]
    cost = _cost(problem, heard, grid.steps[heard], power)
    own, lower, method = None, None, BY_SYMMETRY
    if _simple(rows):
        own = _closed_form(budgets, cost, sizes, power, problem.loss)
        lower = None if own is None or len(own) == 1 else cost.value(own)
    if own is None:
        (own, lower), method = _searched(problem, budgets, cost, heard, power), BY_DUALITY
    made = _frozen(problem, family, own if power == 1 else np.sqrt(own), heard, grid, found_in, falloff)
    if not claims or lower is None or problem.loss == "max" or (problem.loss == "absolute" and power == 2):
        return made
    unit = 2.0 if power == 1 and problem.loss != "absolute" else 1.0
    return claimed(problem, made, Bound(objective, unit * lower * BELOW, method, on_grid=True))


def equal_noise(
    problem: Problem, family: str, falloff: Literal["exponential", "gaussian"], asked: Problem | None = None
) -> AdditiveMechanism:
    """Independent noise of one scale for every query, by the problem; frozen for the problem that was `asked`, where that is
    another one, whose budgets are no smaller."""
    grid, found_in, heard = _measured(problem, family)
    return _frozen(asked or problem, family, np.ones(int(heard.sum())), heard, grid, found_in, falloff)


def one_budget(problem: Problem) -> Problem:
    """The problem with the smallest of its budgets for every change."""
    relation, budgets = problem.relation, problem.relation.simple
    assert budgets is not None
    least = min(float(budget) for budget in (budgets.change, *budgets.appear) if budget is not None)
    size = relation.size
    if budgets.change is None:
        return replace(problem, relation=metrics.add_remove(size, least))
    change = metrics.uniform(size, least)
    return replace(problem, relation=metrics.appear_or_change(change, least) if budgets.appear else change)


def _measured(problem: Problem, family: str) -> tuple[Grid, DescribedSet, NDArray[np.bool_]]:
    """The coarsest grid that holds the queries, their differences, and which queries move, (K,)."""
    rows = problem.workload.matrix
    grid = Grid.for_scales(rows, np.zeros(rows.shape[0]))
    found_in = DescribedSet(problem.relation, grid.multiples(rows), np.array(grid.exponents, dtype=np.int64))
    heard = ~found_in.silent_coordinates()
    if not heard.any():
        raise DesignFailed(f"{family}: no protected change moves an answer; publish them all.")
    refuse_extreme(largest_entries(rows)[heard])
    return grid, found_in, heard


def _frozen(
    problem: Problem,
    family: str,
    own: Floats,
    heard: NDArray[np.bool_],
    grid: Grid,
    found_in: DescribedSet,
    falloff: Literal["exponential", "gaussian"],
) -> AdditiveMechanism:
    """The mechanism with weights of these shares, (s,), as large as the budgets allow."""
    weights = np.full(len(heard), np.inf)
    weights[heard] = own
    norm = Norm(weights, "l1" if falloff == "exponential" else "l2")
    norm = norm.divided(worst_ratio(found_in, norm) * (1 + MARGIN))
    return AdditiveMechanism(
        family, problem.workload, problem.relation, norm, grid, falloff, allow_vacuous=problem.allow_vacuous
    )


def _simple(rows: Matrix) -> bool:
    """Whether no element is in two rows, and no two entries have opposite signs."""
    return apart(rows) and (isinstance(rows, Intervals) or bool((rows.data >= 0).all() or (rows.data <= 0).all()))


def _cost(problem: Problem, heard: NDArray[np.bool_], steps: Floats, power: int) -> NoiseCost:
    """The loss of the queries with noise in their weights x, (s,): those of Laplace noise, or one over the variances of
    Gaussian noise."""
    if power == 2:
        return GaussianCost.of(problem.costs[heard], 1, steps)
    return NoiseCost.of(problem.costs[heard], 1 if problem.loss == "absolute" else 2, steps)


def _closed_form(budgets: SimpleBudgets, cost: NoiseCost, sizes: Floats, power: int, loss: str) -> Floats | None:
    """The best x of queries of which no two have an element in common, (s,); None where no closed form is known."""
    if budgets.change is None:
        only, *others = budgets.appear
        return None if others else float(only) ** power / sizes**power
    return None if loss == "max" else _shared(float(budgets.change) ** power, cost, sizes**power)


def _shared(budget: float, cost: NoiseCost, sizes: Floats) -> Floats:
    """The best x, (s,), under `a_k x_k + a_l x_l <= b` for all pairs of queries, and `a x <= b` of one alone. sizes a: (s,)."""
    if len(sizes) == 1:
        return budget / sizes
    half = budget / 2 / sizes
    pulls = cost.pull(half)
    first = int(pulls.argmax())
    if 2 * pulls[first] <= pulls.sum():
        return half
    others = np.arange(len(sizes)) != first
    low, high = 0.0, 1.0  # how much more than its half the first one has
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        slopes = cost.pull(half * np.where(others, 1 - middle, 1 + middle)) / np.where(others, 1 - middle, 1 + middle)
        low, high = (middle, high) if slopes[first] > slopes[others].sum() else (low, middle)
    return half * np.where(others, 1 - low, 1 + low)


def _searched(
    problem: Problem, budgets: SimpleBudgets, cost: NoiseCost, heard: NDArray[np.bool_], power: int
) -> tuple[Floats, float | None]:
    """Weights x, (s,), near the best ones, and a lower bound where one is known.

    Where a record changes, differences are bounded from a centre: the origin, or the middle element, whichever serves better.
    """
    rows = problem.workload.matrix[np.flatnonzero(heard)]
    appearing = budgets.of_appearing() ** power if budgets.appear else None
    if budgets.change is None:
        assert appearing is not None
        return least_loss(cost, *_products(rows, power, None), appearing)
    limit = np.full(rows.shape[1], float(budgets.change) ** power / 2)
    least = limit if appearing is None else np.minimum(limit, appearing)
    found = [least_loss(cost, *_products(rows, power, None), least)[0]]
    if appearing is None:
        found.append(least_loss(cost, *_products(rows, power, rows.shape[1] // 2), limit)[0])
    return min(found, key=cost.value), None


def _products(rows: Matrix, power: int, middle: int | None) -> tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]:
    """`x -> A' x` and `y -> A y` for `a_ki = |q_ki - m_k|^p`, m the column `middle`, or 0."""
    size = rows.shape[1]
    centre = np.zeros(rows.shape[0])
    if isinstance(rows, Intervals):
        if middle is not None:
            centre[(rows.starts <= middle) & (middle < rows.ends)] = 1.0
        inside = 1 - 2 * centre

        def loads(x: Floats) -> Floats:
            steps = np.bincount(rows.starts, inside * x, size + 1) - np.bincount(rows.ends, inside * x, size + 1)
            return np.maximum(np.cumsum(steps[:-1]) + centre @ x, 0.0)

        return loads, lambda y: np.asarray(inside * (rows @ y) + centre * y.sum())
    kept = compressed(rows)
    places = row_places(kept)
    if middle is not None:
        at = kept.indices == middle
        centre[places[at]] = kept.data[at]
    beyond = np.abs(centre) ** power
    moved = with_entries(kept, np.abs(kept.data - centre[places]) ** power - beyond[places])
    across = moved.T.tocsr()
    return (
        lambda x: np.maximum(np.asarray(across @ x) + beyond @ x, 0.0),
        lambda y: np.maximum(np.asarray(moved @ y) + beyond * y.sum(), 0.0),
    )

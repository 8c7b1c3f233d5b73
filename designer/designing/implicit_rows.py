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

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.errors import DesignFailed
from designer.certificate.certificate import MARGIN, refuse_extreme
from designer.certificate.change_norms import ByLength, too_many
from designer.certificate.implicit_rows import DescribedSet, disjoint, is_described, worst_ratio
from designer.certificate.norms import Norm, weighted_l1
from designer.certificate.sensitivity import Pairs, SensitivitySet
from designer.designing.repair import Bound, claimed
from designer.mechanism.additive import AdditiveMechanism
from designer.mechanism.noise import Grid
from designer.problem.budget_bounds import Nearness
from designer.problem.compressed_rows import IntervalRows, Matrix, compressed, largest_entries, row_places, with_entries
from designer.problem.relation import Block, Indices, Relation, SimpleBudgets, graph_components
from designer.relations import metrics
from designer.relations.invariants.changes import ChangeRelation
from designer.relations.problem import Problem
from solvers.programs.budget_shares import least_loss
from solvers.programs.changes import Changes, Steepest
from solvers.programs.noise_costs import GaussianCost, NoiseCost

BY_SYMMETRY = "closed form: no element is in two queries"
BELOW = 1 - 1e-9  # for the floats that put a bound together
BY_DUALITY = "multipliers of the elements, by weak duality"
HALVINGS = 60


def is_implicit(problem: Problem) -> bool:
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
    return disjoint(rows) and (isinstance(rows, IntervalRows) or bool((rows.data >= 0).all() or (rows.data <= 0).all()))


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
    if isinstance(rows, IntervalRows):
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


# Elements that budgets of 0 bind together are one element: whatever a mechanism measures must be equal on them, exactly.


@dataclass(frozen=True, eq=False)
class Classes:
    """first: (C,) one element of each class; label: (N,) the class of each element, -1 where it is at distance 0 from absence.

    Rows over the classes, (p, C), become rows over the elements by `spread`, 0 for those that count as absent.
    """

    problem: Problem
    first: Indices
    label: Indices

    def __len__(self) -> int:
        return len(self.first)

    def spread(self, rows: Floats) -> Floats:
        """Equal columns for the elements of a class, (p, C) -> (p, N)."""
        return np.where(self.label >= 0, rows[:, self.label], 0.0)

    @cached_property
    def workload(self) -> Floats:
        """The queries on the classes, (K, C); they are equal within classes, or every family refuses them."""
        return self.problem.workload.dense()[:, self.first]

    def changes(self, limit: int) -> Changes:
        """The protected changes of the classes with their positive budgets: at most `limit` differences of records, or all that
        an invariant leaves, which have few entries each (10 x 10 tables with three records moving have 88,425)."""
        from scipy.sparse import csr_array

        relation = self.problem.relation
        rows: NDArray[Any]
        if isinstance(relation, ByLength) and not relation.listed:
            raise DesignFailed(too_many(relation))
        if isinstance(relation, ChangeRelation):
            rows, budgets = relation.changes, relation.budgets
        else:
            pairs = SensitivitySet.of(self.spread(np.eye(len(self))), relation).all_pairs(limit)
            rows, budgets = (pairs.differences, pairs.budgets) if len(self) == relation.size else _distinct(pairs)
        if not (budgets > 0).all():
            raise DesignFailed(
                "relation: a change of several records has budget 0, which this family cannot build in; use laplace or "
                "ellipsoid."
            )
        return Changes(csr_array(rows).T, budgets)


def _distinct(pairs: Pairs) -> tuple[Floats, Floats]:
    """Each difference once, whatever its sign, with its least budget, in order of appearance."""
    signs = np.sign(pairs.differences[np.arange(len(pairs)), (pairs.differences != 0).argmax(axis=1)])
    rows = pairs.differences * signs[:, None]
    _, first, label = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    least = np.full(len(first), np.inf)
    np.minimum.at(least, label.ravel(), pairs.budgets)
    order = np.argsort(first)
    return rows[first[order]], least[order]


def classes(problem: Problem) -> Classes:
    """The classes of the elements; all elements apart where no budget is 0, and where several records change at once."""
    relation, everything = problem.relation, np.arange(problem.relation.size)
    if not relation.single_records:
        return Classes(problem, everything, everything)
    near = relation.searched
    listed = relation.blocks() if near is None or not near.many else _closest(relation, near)
    bound = (Block(b.left, b.right, np.where(b.budgets == 0, 0.0, np.inf)) for b in listed)
    label = graph_components(bound, len(relation.points(np.empty((relation.size, 0)))))
    here, absent = label[: relation.size], label[relation.size :]
    kept, first = np.unique(here, return_index=True)
    order = np.sort(first[~np.isin(kept, absent)])
    class_of = np.full(len(label), -1)
    class_of[here[order]] = np.arange(len(order))
    return Classes(problem, order, class_of[here])


def _closest(relation: Relation, near: Nearness) -> Iterator[Block]:
    """Blocks among whose pairs are all of budget 0."""
    for left, right in near.within(0.0):
        yield Block(left, right, relation.along(left, right))
    yield from relation.beside()


@dataclass(frozen=True, eq=False)
class ScannedChanges:
    """The protected changes between classes of single records, never written out: every scan looks at all pairs, in blocks, and
    brings back the steepest (a `ChangeSet` of the solvers)."""

    universe: Classes

    @property
    def size(self) -> int:
        """C, the number of classes."""
        return len(self.universe)

    def steepest(self, rows: Floats, limit: int) -> Steepest:
        """The largest `||rows (e_i - e_j)||_1 / d(i, j)` of all pairs, and the worst partners of up to `limit` points, rows
        (p, C)."""
        relation, classes_of = self.universe.problem.relation, np.append(self.universe.label, -1)
        everything = SensitivitySet.of(self.universe.spread(rows), relation)
        worst, pairs = everything.worst(weighted_l1(np.ones(len(rows))), limit)
        left, right = classes_of[pairs.left], classes_of[pairs.right]
        keys = pairs.left * len(everything.points) + pairs.right
        # The origin is no class: it stands second.
        return Steepest(worst, Changes.pairs(self.size, np.maximum(left, right), np.minimum(left, right), pairs.budgets), keys)

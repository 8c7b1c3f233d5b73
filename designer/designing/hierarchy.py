"""Whole-number noise on counts of the nodes of a tree: the queries' own tree where they are nested, a tree of the best fan-out
over the order of the elements where they are ranges, and otherwise all counts and their total.

The answers are the weighted least squares of what was measured, so nested counts agree with each other. The search looks at
nothing of the square of the number of counts (docs/theory/strategies.md, section 8), and counts its work.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from designer.base.arrays import Floats
from designer.base.errors import DesignFailed
from designer.certificate.implicit_rows import apart
from designer.certificate.norms import weighted_l1
from designer.designing.family import Family, refuse_outdone
from designer.designing.measured import Coordinates
from designer.designing.repair import freeze
from designer.mechanism.additive import AdditiveMechanism
from designer.problem.compressed_rows import IntervalRows, Matrix, compressed, counted, intervals_in
from designer.problem.relation import Indices
from designer.relations.problem import Problem
from solvers.programs.trees import (
    FlatQueries,
    LeafQueries,
    NodeCounts,
    Posterior,
    Tree,
    TreeLoss,
    begun,
    descended,
    line,
    searched,
    without_faint,
)

NAME = "hierarchy"
MOST_ENTRIES = 2**25  # of the measured rows, and of the answers made of them: 256 MB each
SMALL = 2**16  # entries up to which auto leaves trees to strategy_geometric, which has them among the starts of its search
STEEPEST = 40.0  # budgets beyond which rates are kept in proportion: a count has noise with a probability below 1e-16
DEEPEST = 40  # levels of a tree of nested queries; running totals are taken as ranges
FANS = range(2, 17)
COMPARED = 200  # queries by which fan-outs are compared
CLOSE = 1e-5  # relative gain of a step for ranges below which a descent ends
SHORT, STEPS = 4, 25  # of a descent for ranges, whose steps look at every query


@dataclass(frozen=True, eq=False)
class CountedTree:
    """A tree over groups of elements with what is asked of it.

    label: (N,), the leaf that holds each element, counted from 0; -1 of elements that no query asks about. queries: (K, C), of
    the leaves. node: (K,), the node that each query is a multiple of; None where they are ranges.
    """

    tree: Tree
    label: Indices
    queries: Floats
    node: Indices | None = None

    def asked(self, costs: Floats) -> TreeLoss:
        """What is asked at these costs of the squared errors, (K,)."""
        if self.node is not None:
            factors = np.abs(self.queries).max(axis=1)
            weights = np.bincount(self.node, costs * factors**2, minlength=len(self.tree.parent))
            return NodeCounts(self.tree, weights.astype(np.float64))
        if self.tree.depth.max() == 1:
            return FlatQueries(self.tree, compressed(self.queries), costs)
        return LeafQueries(self.tree, self.queries, costs)


def design_tree(problem: Problem) -> AdditiveMechanism:
    """The tree of counts of least squared error that the search found, for one budget of all changes of a record; under other
    relations its rates are kept in proportion. `DesignFailed` for more numbers than `MOST_ENTRIES`."""
    budget = _budget(problem)
    least = min(budget, STEEPEST)
    counts = _tree(problem, least)
    loss, rates = _search(counts, problem.costs, least)
    if budget == least and problem.loss == "squared":
        refuse_outdone(problem, loss)
    return _frozen(problem, counts, rates, budget / least)


def _budget(problem: Problem) -> float:
    """What the rates along a path may add up to, where all changes of a record have one budget; otherwise what they are in
    proportion to, at least what is private."""
    simple = problem.relation.simple
    if simple is None or len(simple.appear) > 1:
        return problem.relation.largest_budget()
    halves = [] if simple.change is None else [float(simple.change) / 2]
    return min([float(budget) for budget in simple.appear] + halves)


def _search(counts: CountedTree, costs: Floats, budget: float) -> tuple[float, Floats]:
    """The least loss found, and the rates (V,): those for ranges by some of them before all are looked at."""
    asked, tree = counts.asked(costs), counts.tree
    if isinstance(asked, LeafQueries):
        some = _some(len(costs))
        rates = descended(LeafQueries(tree, counts.queries[some], costs[some]), _all_on(tree, budget), budget, STEPS, CLOSE)[1]
        return without_faint(asked, rates, budget, SHORT)
    return searched(asked, budget)


def _some(queries: int) -> slice:
    """Some of so many queries, evenly."""
    return slice(None, None, -(-queries // COMPARED))


def _tree(problem: Problem, budget: float) -> CountedTree:
    """The tree that serves the queries: their own, the best of every fan-out over the line, or all counts and their total."""
    matrix = problem.workload.matrix
    if int(counted(matrix).sum()) <= MOST_ENTRIES and (own := _nested(problem)) is not None:
        return own
    _require_entries(problem, *matrix.shape)
    found = _on_a_line(matrix, problem.costs, budget)
    return _flat(matrix) if found is None else found


def _nested(problem: Problem) -> CountedTree | None:
    """The tree of queries each of which is a multiple of a count, of which any two are apart or one within the other."""
    matrix = problem.workload.matrix
    rows = compressed(matrix).sorted_indices()
    owner, parent, node = np.full(matrix.shape[1], -1), [-1], np.zeros(matrix.shape[0], dtype=np.intp)
    factor, depth, size = np.zeros(matrix.shape[0]), [0], [matrix.shape[1] + 1]
    for k in np.argsort(-np.diff(rows.indptr), kind="stable").tolist():
        held = slice(rows.indptr[k], rows.indptr[k + 1])
        places, values = rows.indices[held], rows.data[held]
        places, values = places[values != 0], values[values != 0]
        if not len(places):
            continue
        above = int(owner[places[0]])
        if (values != values[0]).any() or (owner[places] != above).any():
            return None
        factor[k] = values[0]
        if above >= 0 and size[above] == len(places):
            node[k] = above
            continue
        node[k] = len(parent)
        parent.append(max(above, 0))
        depth.append(depth[max(above, 0)] + 1)
        size.append(len(places))
        if depth[-1] > DEEPEST:
            return None
        owner[places] = node[k]
    tree, label = _with_leaves(np.array(parent), owner)
    _require_entries(problem, len(node), len(tree.leaves))
    return CountedTree(tree, label, tree.indicators(node) * factor[:, None], node)


def _with_leaves(parent: Indices, owner: Indices) -> tuple[Tree, Indices]:
    """The tree of nodes (V,), of which each element (N,) belongs to its owner, with a leaf for what a node has beside those
    below it, and the leaf of each element."""
    inner = np.zeros(len(parent), dtype=bool)
    inner[parent[1:]] = True
    mixed = np.unique(owner[(owner >= 0) & inner[np.maximum(owner, 0)]])
    leaf = np.arange(len(parent))
    leaf[mixed] = len(parent) + np.arange(len(mixed))
    tree = Tree(np.append(parent, mixed))
    place = np.cumsum(~tree.inner) - 1
    label = np.where(owner >= 0, place[leaf[np.maximum(owner, 0)]], -1)
    return tree, label


def _on_a_line(matrix: Matrix, costs: Floats, budget: float) -> CountedTree | None:
    """Of ranges of elements the tree of the fan-out that has the least error of some of them after a short descent; None for
    other queries. The leaves are the pieces of the line between all ends."""
    rows = matrix if isinstance(matrix, IntervalRows) else intervals_in(matrix)
    if rows is None:
        return None
    edges = np.unique(np.concatenate([[0, rows.size], rows.starts, rows.ends]))
    label, pieces = np.repeat(np.arange(len(edges) - 1), np.diff(edges)), np.arange(len(edges) - 1)
    first, last = (np.searchsorted(edges, ends)[:, None] for ends in (rows.starts, rows.ends))
    queries = ((pieces >= first) & (pieces < last)).astype(np.float64)
    some = _some(len(queries))
    trees = [line(len(pieces), fan) for fan in (*FANS, max(len(pieces), 2)) if fan <= max(len(pieces), 2)]
    losses = [
        descended(LeafQueries(tree, queries[some], costs[some]), _all_on(tree, budget), budget, SHORT, CLOSE)[0]
        for tree in trees
    ]
    return CountedTree(trees[int(np.argmin(losses))], label, queries)


def _flat(matrix: Matrix) -> CountedTree:
    """All counts that the queries (K, N) tell apart, and their total."""
    columns = compressed(matrix).tocsc()
    columns.sum_duplicates()
    columns.eliminate_zeros()
    ends, seen = columns.indptr.tolist(), dict[bytes, int]()
    keys = [columns.indices[a:b].tobytes() + columns.data[a:b].tobytes() for a, b in itertools.pairwise(ends)]
    label = np.array([seen.setdefault(key, len(seen)) for key in keys])
    queries = columns[:, np.unique(label, return_index=True)[1]].toarray()
    return CountedTree(line(len(seen), max(len(seen), 2)), label, queries)


def _all_on(tree: Tree, budget: float) -> Floats:
    """Rates to begin with, of all nodes but the root."""
    return begun(tree, tree.inner & (tree.depth > 0), budget)


def _require_entries(problem: Problem, rows: int, columns: int) -> None:
    """`DesignFailed` where a matrix of so many entries is too large."""
    if rows * columns > MOST_ENTRIES:
        queries, elements = problem.workload.shape
        raise DesignFailed(
            f"{NAME}: {queries:,} queries of {elements:,} elements would take matrices of {rows * columns * 8e-9:.3g} GB; use "
            "laplace, or ask about fewer."
        )


def _frozen(problem: Problem, counts: CountedTree, rates: Floats, times: float) -> AdditiveMechanism:
    """The certified mechanism of so many times these rates (V,)."""
    on = np.flatnonzero(rates > 0)
    _require_entries(problem, len(on), max(problem.workload.shape))
    leaves = counts.tree.indicators(on)
    measured = np.where(counts.label >= 0, leaves[:, np.maximum(counts.label, 0)], 0.0)
    answers = Posterior.of(counts.tree, rates).reconstruction(counts.queries)[:, on]
    weights = times * rates[on]
    norm = weighted_l1(weights)
    return freeze(
        problem, NAME, Coordinates(measured, answers, weights > 0), 1 / weights, lambda _: norm, "exponential", whole=True
    )


def _concerns(problem: Problem) -> bool:
    """Whether many queries share elements, and all changes of a record have one budget."""
    workload = problem.workload
    return problem.relation.simple is not None and math.prod(workload.shape) > SMALL and not apart(workload.matrix)


HIERARCHY = Family(
    NAME,
    "whole-number noise on counts of a tree: nested queries, and ranges",
    "pure",
    design_tree,
    scans_little=True,
    described=True,
    where=_concerns,
    anytime=True,
    rank=0,
)

"""Whole-number noise on counts of the nodes of a tree: the queries' own tree where they are nested, a tree of the best fan-out
over the order of the elements where they are ranges, and otherwise all counts and their total.

The answers are the weighted least squares of what was measured, so nested counts agree with each other. The search looks at
nothing of the square of the number of counts (docs/theory/strategies.md, section 8), and counts its work.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from designer.base.arrays import Floats
from designer.base.errors import DesignFailed
from designer.certificate.implicit_rows import DescribedSet, disjoint, worst_ratio
from designer.certificate.norms import weighted_l1
from designer.designing.family import Family, refuse_outdone
from designer.designing.measured import Coordinates
from designer.designing.repair import freeze
from designer.limits import MOST_LINE_RANGES, MOST_TREE_ENTRIES
from designer.mechanism.additive import AdditiveMechanism
from designer.mechanism.hierarchy import HierarchyMechanism
from designer.mechanism.nesting import chained, described_rows, with_nodes
from designer.mechanism.noise import Grid
from designer.problem.compressed_rows import IntervalRows, Matrix, compressed, counted, intervals_in
from designer.problem.relation import Indices
from designer.relations.problem import Problem
from solvers.programs.trees import (
    NodeCounts,
    NodeSums,
    begun,
    descended,
    evenly_shared,
    line,
    searched,
    with_equal_leaves_merged,
    without_faint,
)
from solvers.trees import Posterior, Tree, leaf_weights
from solvers.work import finishing

NAME = "hierarchy"
WRITTEN_OUT = 2**18  # entries of matrices up to which they are, where budgets are simple: 2 MB, and in a file 5 MB
SMALL = 2**16  # entries up to which auto leaves trees to strategy_geometric, which has them among the starts of its search
STEEPEST = 40.0  # budgets beyond which rates are kept in proportion: a count has noise with a probability below 1e-16
DEEPEST = 40  # levels of a tree of nested queries; running totals are taken as ranges
FANS, FANS_OF_MANY = range(2, 17), range(6, 17, 2)
FEW, MANY = 2**18, 2**14  # entries of sums, and pieces of a line
FINE = 2.0**-40  # of a budget: what rates are multiples of
COMPARED = 2**12  # queries by which fan-outs are compared
GOLDEN = (math.sqrt(5) - 1) / 2
CLOSE = 1e-5  # relative gain of a step for ranges below which a descent ends
SHORT, STEPS = 4, 25  # of a descent for ranges, whose steps look at every query


@dataclass(frozen=True, eq=False)
class CountedTree:
    """A tree over groups of elements with what is asked of it.

    label: (N,), the leaf that holds each element, counted from 0; -1 of elements that no query asks about. sums: (K, V), the
    queries as sums of nodes, compressed rows. node, factor: (K,), where each is a multiple of one.
    """

    tree: Tree
    label: Indices
    sums: Any
    node: Indices | None = None
    factor: Floats | None = None

    def node_costs(self, costs: Floats) -> Floats:
        """The costs of the squared errors of the nodes' counts, (V,)."""
        assert self.node is not None and self.factor is not None
        return np.bincount(self.node, costs * self.factor**2, minlength=len(self.tree.parent)).astype(np.float64)

    def groups(self, nodes: Indices) -> Matrix:
        """The elements below each of these nodes, (len(nodes), N), as compressed rows."""
        from scipy.sparse import csr_array

        place = np.full(len(self.tree.parent), -1)
        place[nodes] = np.arange(len(nodes))
        element = np.flatnonzero(self.label >= 0)
        node = self.tree.leaves[self.label[element]]
        rows, columns = [], []
        while len(element):
            held = place[node] >= 0
            rows.append(place[node[held]])
            columns.append(element[held])
            node = self.tree.parent[node]
            element, node = element[node >= 0], node[node >= 0]
        places = np.concatenate(rows), np.concatenate(columns)
        return csr_array((np.ones(len(places[0])), places), shape=(len(nodes), len(self.label))).sorted_indices()


def design_tree(problem: Problem) -> AdditiveMechanism | HierarchyMechanism:
    """The tree of counts of least squared error that the search found, for one budget of all changes of a record; under other
    relations its rates are kept in proportion. Above `WRITTEN_OUT` entries it is never written out, where budgets are simple;
    `DesignFailed` for queries of more entries than `MOST_TREE_ENTRIES` that are no ranges."""
    budget = _budget(problem)
    least = min(budget, STEEPEST)
    counts = _tree(problem, least)
    loss, rates = _search(counts, problem.costs, least)
    if budget == least and problem.loss == "squared":
        refuse_outdone(problem, loss)
    rates = rates * (budget / least)
    return _frozen(problem, counts, rates) if _fits(problem, rates) else _hierarchy(problem, counts, rates)


def _budget(problem: Problem) -> float:
    """What the rates along a path may add up to, where all changes of a record have one budget; otherwise what they are in
    proportion to, at least what is private."""
    simple = problem.relation.simple
    if simple is None or len(simple.appear) > 1:
        return problem.relation.largest_budget()
    halves = [] if simple.change is None else [float(simple.change) / 2]
    return min([float(budget) for budget in simple.appear] + halves)


def _search(counts: CountedTree, costs: Floats, budget: float) -> tuple[float, Floats]:
    """The least loss found, and the rates (V,)."""
    tree = counts.tree
    if counts.node is not None:
        whole = counts.node_costs(costs)
        merged, place = with_equal_leaves_merged(tree, whole)
        each = np.zeros(len(merged.parent))
        each[place] = whole
        loss, rates = searched(NodeCounts(merged, each), budget)
        return loss, rates[place]
    asked = NodeSums(tree, counts.sums, costs)
    if tree.depth.max() == 1:
        return searched(asked, budget)
    return without_faint(asked, _of_sums(asked, _some(len(costs)), budget, STEPS), budget, SHORT)


def _of_sums(asked: NodeSums, some: Indices, budget: float, steps: int) -> tuple[float, Floats]:
    """The less that two descents reach, and the rates (V,): one from rates that are equal for the nodes of one depth and lose
    least for some of the queries, and of few sums one from all nodes."""
    tree = asked.tree
    begins = [_evenly(tree, asked.sums[some], asked.costs[some], budget)[1]]
    if asked.sums.nnz <= FEW:
        begins.append(begun(tree, tree.inner & (tree.depth > 0), budget))
    return min((descended(asked, rates, budget, steps, CLOSE) for rates in begins), key=lambda one: one[0])


def _evenly(tree: Tree, sums: Any, costs: Floats, budget: float, steps: int = STEPS) -> tuple[float, Floats]:
    """The least loss of queries with equal rates of all nodes of one depth, and the rates (V,)."""
    on = tree.depth > 0
    start = evenly_shared(tree, on / np.bincount(tree.depth)[tree.depth], on, budget)
    return descended(NodeSums(tree, sums, costs, even=True), start, budget, steps, CLOSE)


def _some(queries: int) -> Indices:
    """Some of so many queries, spread over all without a period that a tree could have, too."""
    return (
        np.arange(queries) if queries <= COMPARED else np.unique((np.arange(COMPARED) * GOLDEN % 1 * queries).astype(np.intp))
    )


def _tree(problem: Problem, budget: float) -> CountedTree:
    """The tree that serves the queries: their own, the best of every fan-out over the line, or all counts and their total."""
    matrix = problem.workload.matrix
    entries = int(counted(matrix).sum())
    found = own_tree(problem) or _on_a_line(matrix, problem.costs, budget)
    if found is not None:
        return found
    if entries > MOST_TREE_ENTRIES:
        queries, elements = problem.workload.shape
        raise DesignFailed(
            f"{NAME}: {queries:,} queries of {elements:,} elements have {entries:,} entries and are no ranges; use laplace, or "
            "ask about fewer."
        )
    return _flat(matrix)


_OWN: WeakKeyDictionary[Problem, CountedTree | None] = WeakKeyDictionary()


def own_tree(problem: Problem) -> CountedTree | None:
    """The tree of the queries themselves where they are nested counts, found once for a problem; None elsewhere."""
    if problem not in _OWN:
        few = int(counted(problem.workload.matrix).sum()) <= MOST_TREE_ENTRIES
        _OWN[problem] = _nested(problem.workload.matrix) if few else None
    return _OWN[problem]


def has_best_tree(problem: Problem) -> bool:
    """Whether many queries are nested counts, under one budget for all changes of a record: the default then searches their
    own tree, and no other queries."""
    return _concerns(problem) and own_tree(problem) is not None


def serves_queries_alone(problem: Problem) -> bool:
    """Whether noise on each of many nested queries loses no less than the tree: its rates are rates of nodes, whose answers of
    least variance lose no more. Where a record changes, the rates of a path add up to half the budget at most; a group that
    outweighs all others may take more, so none is to cost over half of the loss at equal rates. docs/theory/strategies.md, 8.
    """
    counts = own_tree(problem) if problem.loss == "squared" and has_best_tree(problem) else None
    if counts is None or problem.relation.simple is None or problem.relation.simple.change is None:
        return counts is not None
    tree, mass = counts.tree, counts.node_costs(problem.costs)
    for nodes in tree.levels[:0:-1]:
        mass += tree.added(mass, nodes)
    top = np.flatnonzero(tree.parent == 0)
    while len(top) == 1 and tree.inner[top[0]]:
        top = np.flatnonzero(tree.parent == top[0])
    return bool(2 * mass[top].max() <= mass[top].sum())


def _nested(matrix: Matrix) -> CountedTree | None:
    """The tree of queries each of which is a multiple of a count, of which any two are apart or one within the other."""
    from scipy.sparse import csr_array

    rows = csr_array(compressed(matrix), copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    sizes = np.diff(rows.indptr)
    full = np.flatnonzero(sizes)
    if not len(full):
        return None
    factor = np.zeros(len(sizes))
    factor[full] = rows.data[rows.indptr[full]]
    if (rows.data != np.repeat(factor, sizes)).any():
        return None
    order = full[np.argsort(-sizes[full], kind="stable")]
    above, last = chained(rows, order)
    if above is None:
        return None
    sizes = sizes[order]
    same = (above >= 0) & (sizes[above] == sizes)
    first = np.where(same, above, np.arange(len(order)))
    while (first[first] != first).any():
        first = first[first]
    number = np.cumsum(~same)
    heads = np.flatnonzero(~same)
    parent = np.append(-1, np.where(above[heads] >= 0, number[first[above[heads]]], 0))
    node = np.zeros(len(factor), dtype=np.intp)
    node[order] = number[first]
    owner = np.where(last >= 0, number[first[last]], -1)
    tree, label = _with_leaves(parent, owner)
    sums = csr_array((factor, node, np.arange(len(node) + 1)), shape=(len(node), len(tree.parent)))
    return None if tree.depth.max() > DEEPEST else CountedTree(tree, label, sums, node, factor)


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
    if len(rows.starts) > MOST_LINE_RANGES:
        raise DesignFailed(
            f"{NAME}: sums of nodes of {len(rows.starts):,} ranges would take {len(rows.starts) * 2.2e-6:.3g} GB, and at most "
            f"{MOST_LINE_RANGES:,} are looked at; use laplace, or ask about fewer."
        )
    edges = np.unique(np.concatenate([[0, rows.size], rows.starts, rows.ends]))
    pieces = len(edges) - 1
    label, some = np.repeat(np.arange(pieces), np.diff(edges)), _some(len(rows.starts))
    flat = [max(pieces, 2)] if int(rows.lengths.sum()) <= FEW else []
    fans = [*(FANS if pieces <= MANY else FANS_OF_MANY), *flat]
    trees = [line(pieces, fan) for fan in fans if fan <= max(pieces, 2)]

    def loss(tree: Tree) -> float:
        sums = with_nodes(tree, label, rows[some])
        if pieces <= MANY and len(some) == len(rows.starts):
            return _of_sums(NodeSums(tree, sums, costs), some, budget, SHORT)[0]
        return _evenly(tree, sums, costs[some], budget, SHORT)[0]

    tree = trees[int(np.argmin([loss(tree) for tree in trees]))]
    return CountedTree(tree, label, with_nodes(tree, label, rows))


def _flat(matrix: Matrix) -> CountedTree:
    """All counts that the queries (K, N) tell apart, and their total."""
    columns = compressed(matrix).tocsc()
    columns.sum_duplicates()
    columns.eliminate_zeros()
    ends, seen = columns.indptr.tolist(), dict[bytes, int]()
    keys = [columns.indices[a:b].tobytes() + columns.data[a:b].tobytes() for a, b in itertools.pairwise(ends)]
    label = np.array([seen.setdefault(key, len(seen)) for key in keys])
    tree = line(len(seen), max(len(seen), 2))
    return CountedTree(tree, label, with_nodes(tree, label, compressed(matrix)))


def _fits(problem: Problem, rates: Floats) -> bool:
    """Whether the measured rows, and the answers made of them, are written out; `DesignFailed` where they are too large, and
    the budgets not simple."""
    queries, elements = problem.workload.shape
    on = int((rates > 0).sum())
    entries = on * max(queries, elements)
    if problem.relation.simple is None and entries > MOST_TREE_ENTRIES:
        raise DesignFailed(
            f"{NAME}: {queries:,} queries of {elements:,} elements would take matrices of {entries * 8e-9:.3g} GB; use "
            "laplace, or one budget for all changes of a record."
        )
    return problem.relation.simple is None or entries <= WRITTEN_OUT


def _frozen(problem: Problem, counts: CountedTree, rates: Floats) -> AdditiveMechanism:
    """The certified mechanism of these rates (V,)."""
    on = np.flatnonzero(rates > 0)
    leaves = counts.tree.indicators(on)
    measured = np.where(counts.label >= 0, leaves[:, np.maximum(counts.label, 0)], 0.0)
    answers = Posterior.of(counts.tree, rates).reconstruction(leaf_weights(counts.tree, counts.sums.toarray()))[:, on]
    weights = rates[on]
    norm = weighted_l1(weights)
    return freeze(
        problem, NAME, Coordinates(measured, answers, weights > 0), 1 / weights, lambda _: norm, "exponential", whole=True
    )


@finishing()
def _hierarchy(problem: Problem, counts: CountedTree, rates: Floats) -> HierarchyMechanism:
    """The same of counts that are not written out. Rates are whole multiples of a small unit, so that sums along a path are
    exact, and in proportion less where they are above a budget."""
    unit = math.ldexp(FINE, math.frexp(float(rates.max()))[1])
    on = np.flatnonzero(rates >= unit)
    groups = described_rows(counts.groups(on))
    allowed = DescribedSet(problem.relation, Grid((0,) * len(on)).multiples(groups), np.zeros(len(on), dtype=np.int64))
    own = np.floor(rates[on] / unit) * unit
    while (worst := worst_ratio(allowed, weighted_l1(own))) > 1:
        own = np.floor(own / (worst * (1 + FINE)) / unit) * unit
    return HierarchyMechanism(NAME, problem.workload, problem.relation, groups, own, allow_vacuous=problem.allow_vacuous)


def _concerns(problem: Problem) -> bool:
    """Whether many queries share elements, and all changes of a record have one budget."""
    workload = problem.workload
    return problem.relation.simple is not None and math.prod(workload.shape) > SMALL and not disjoint(workload.matrix)


HIERARCHY = Family(
    NAME,
    "whole-number noise on counts of a tree: nested queries, and ranges",
    "pure",
    design_tree,
    search="The tree is searched; the rates of its levels are found by a recursion over the tree.",
    scans_little=True,
    described=True,
    where=_concerns,
    anytime=True,
    rank=0,
)

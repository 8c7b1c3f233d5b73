"""Budgets for the nodes of a tree: which sums of leaves to measure, and how precisely, for any queries of the leaves.

A node v is measured with two-sided geometric noise of rate e_v, of precision `p = cosh e - 1`; the rates along each path from
the root to a leaf add up to the budget. The answers are the weighted least squares of all that was measured. A pass from the
leaves to the root finds their variances, one back the derivatives (docs/theory/strategies.md, section 8); nothing of the square
of the number of leaves is formed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from solvers.trees import Array, Places, Posterior, Tree
from solvers.work import is_over, spend

STEPS, SHORT = 300, 6  # of a descent that is followed to its end, and of every start
FOLLOWED = 4  # starts that are followed further
SETTLED = 1e-9  # relative gain of a step below which a descent has ended
BACK = 30  # halvings of a step that does not gain
EXHAUSTIVE = 7  # inner nodes up to which every choice of them is a start
MOST_DEPTHS = 6  # of whose subsets every one is a start
THRESHOLDS = (5, 8, 11, 16, 24, 37, 60, 100, 200)  # leaves, or children, from which on nodes are measured in a start
ROUNDS, CUTS = 12, 12  # of switching nodes, and thresholds that are tried for each depth
SWITCHED = 40  # nodes that are switched one by one
GAIN = 1e-6  # of the loss: what switching must save
LEAST = 1e-6  # of the largest rate that costs ask for: what a leaf has at least
FAINT = 1e-4  # of the budget: an inner node that has less is measured no more


def shared(tree: Tree, costs: Array, budget: float) -> Array:
    """The rates (V,) that lose least where node v costs `costs[v] / rate^2`, rates along every path adding up to the budget."""
    least = np.where(tree.inner, 0.0, LEAST**3 * costs.max())
    own, below = np.cbrt(np.maximum(costs, least)), np.zeros(len(costs))
    for nodes in tree.levels[:0:-1]:
        below += tree.added((own + np.cbrt(below)) ** 3, nodes)
    whole = own + np.cbrt(below)
    rates, left = np.zeros(len(costs)), np.full(len(costs), float(budget))
    for nodes in tree.levels:
        if nodes[0]:
            left[nodes] = left[tree.parent[nodes]] - rates[tree.parent[nodes]]
        part = np.divide(own[nodes], whole[nodes], out=np.zeros(len(nodes)), where=whole[nodes] > 0)
        rates[nodes] = left[nodes] * np.where(tree.inner[nodes], part, 1.0)
    return rates


def evenly_shared(tree: Tree, costs: Array, on: NDArray[np.bool_], budget: float) -> Array:
    """The same with equal rates of all nodes of one depth that are measured, (V,) booleans, in a tree whose leaves are equally
    deep."""
    size = len(tree.levels)
    own = np.cbrt(np.bincount(tree.depth, costs, minlength=size)) * np.bincount(tree.depth, on, minlength=size).astype(bool)
    return np.where(on, (budget * own / own.sum())[tree.depth], 0.0)


@dataclass(frozen=True, eq=False)
class NodeCounts:
    """What is asked: the counts of the nodes, with costs (V,) of their squared errors; a pass looks at each node once."""

    tree: Tree
    costs: Array
    even: ClassVar[bool] = False

    def loss(self, rates: Array) -> tuple[float, Array]:
        """The weighted variance at these rates (V,), and what it gains with each precision, times -1, (V,)."""
        tree, held = self.tree, Posterior.of(self.tree, rates)
        alone, below, size = held.alone, held.below, len(rates)
        spend(calls=float(len(tree.levels)), entries=60.0 * size)
        weight, kept, rest = self.costs.copy(), np.zeros(size), np.zeros(size)
        for nodes in reversed(tree.levels):
            own = nodes[tree.inner[nodes]]
            weight[own] += kept[own] / below[own] ** 2
            rest[own] -= kept[own] / below[own]
            if nodes[0]:
                kept += tree.added(weight * alone**2, nodes)
                rest += tree.added(rest + weight * alone, nodes)
        beta, sigma = alone.copy(), weight.copy()
        for nodes in tree.levels[1:]:
            up = tree.parent[nodes]
            share, mean = alone[nodes] / below[up], kept[up] / below[up] ** 2
            beta[nodes] = beta[up] * share**2 + alone[nodes] * (1 - share)
            own_part = 2 * beta[up] * (weight[nodes] * share - mean) / below[up] + weight[nodes] * (1 - 2 * share) + mean
            sigma[nodes] = own_part + sigma[up] * (alone[up] / below[up]) ** 2
        return float(rest[0] + weight[0] * alone[0]), np.maximum(sigma, 0.0) * alone**2


@dataclass(frozen=True, eq=False)
class NodeSums:
    """What is asked: sums of nodes (K, V), compressed rows, with costs (K,) of their squared errors. A pass looks at each
    entry, and at the nodes above it, once: what all children of a node add to a query alike, their sum tells alone.

    even: nodes of one depth keep equal rates.
    """

    tree: Tree
    sums: Any
    costs: Array
    even: bool = False

    @cached_property
    def _levels(self) -> list[tuple[Places, Places, Array, Places]]:
        """From the root to the deepest level, of each query and node that is asked for or above one that is: the query, the
        node, how often the node itself is asked for, and the place of its parent one level above."""
        sums, count = self.sums.tocoo(), len(self.tree.parent)
        depth = self.tree.depth[sums.col]
        order = np.argsort(depth, kind="stable")
        parts = np.split(order, np.cumsum(np.bincount(depth, minlength=len(self.tree.levels)))[:-1])
        found: list[tuple[Places, Places, Array, Places]] = []
        below = np.zeros(0, dtype=np.intp)
        for part in reversed(parts):
            own = sums.row[part].astype(np.intp) * count + sums.col[part]
            keys, place = np.unique(np.concatenate([own, below]), return_inverse=True)
            factors = np.bincount(place[: len(own)], sums.data[part], minlength=len(keys)).astype(np.float64)
            row, node = np.divmod(keys, count)
            if found:
                found[-1] = (*found[-1][:3], place[len(own) :])
            found.append((row, node, factors, np.zeros(0, dtype=np.intp)))
            below = row * count + self.tree.parent[node]
        return found[::-1]

    def loss(self, rates: Array) -> tuple[float, Array]:
        """As `NodeCounts.loss`."""
        held, tree, size = Posterior.of(self.tree, rates), self.tree, len(rates)
        alone, safe = held.alone, np.where(held.below > 0, held.below, 1.0)
        spend(calls=3.0 * len(tree.levels), entries=60.0 * size + 40.0 * sum(len(level[0]) for level in self._levels))
        heights, means, value = [level[2] for level in self._levels], [], 0.0
        for depth in range(len(self._levels) - 1, 0, -1):
            row, node, _, up = self._levels[depth]
            upper_row, upper = self._levels[depth - 1][:2]
            weighted = heights[depth] * alone[node]
            mean = np.bincount(up, weighted, minlength=len(upper)) / safe[upper]
            value += float(self.costs[row] @ (heights[depth] * weighted) - self.costs[upper_row] @ (mean**2 * safe[upper]))
            heights[depth - 1] = heights[depth - 1] + mean
            means.append(mean)
        row, node = self._levels[0][:2]
        value += float(self.costs[row] @ (heights[0] ** 2 * alone[0]))
        known, moved = heights[0] * alone[0], np.zeros(size)
        moved[0] = self.costs[row] @ known**2
        for depth, mean in enumerate(reversed(means), start=1):
            (upper_row, upper), (row, node, _, up) = self._levels[depth - 1][:2], self._levels[depth]
            nodes, cost, above = tree.levels[depth], self.costs[row], tree.parent[tree.levels[depth]]
            off, over = heights[depth] - mean[up], known / safe[upper]
            shared_cost = self.costs[upper_row] * mean
            rest = np.bincount(upper, shared_cost * (mean - 2 * over), minlength=size)
            own = np.bincount(node, cost * (off**2 - mean[up] ** 2 + 2 * over[up] * heights[depth]), minlength=size)
            moved[nodes] = alone[nodes] ** 2 * (own[nodes] + rest[above] + moved[above] / safe[above] ** 2)
            known = alone[node] * (off + over[up])
        return value, np.maximum(moved, 0.0)


TreeLoss = NodeCounts | NodeSums


def descended(asked: TreeLoss, rates: Array, budget: float, steps: int, settled: float = SETTLED) -> tuple[float, Array]:
    """Where a descent from these rates (V,) ends after at most so many steps: the loss, and the rates. A step goes towards the
    rates that would lose least if each node cost what it costs now; nodes without a rate never get one. settled: the relative
    gain of a step below which it ends."""
    value, slopes = asked.loss(rates)
    for _ in range(steps):
        if is_over():
            break
        costs = slopes * np.sinh(rates) * rates**3 / 2
        aim = shared(asked.tree, costs, budget) if not asked.even else evenly_shared(asked.tree, costs, rates > 0, budget)
        part = 1.0
        for _ in range(BACK):
            point = rates + part * (aim - rates)
            reached, there = asked.loss(point)
            if reached < value:
                break
            part /= 2
        else:
            break
        gain, value, rates, slopes = value - reached, reached, point, there
        if gain <= settled * value:
            break
    return value, rates


def line(size: int, fan: int) -> Tree:
    """The tree over so many leaves in a row whose nodes hold `fan^j` of them, from the left.

    >>> line(3, 2).parent.tolist()
    [-1, 0, 0, 1, 1, 2]
    """
    widths = [1]
    while widths[-1] * fan < size:
        widths.append(widths[-1] * fan)
    parent, last, wide = [np.array([-1])], np.zeros(1, dtype=np.intp), size
    start = 1
    for width in reversed(widths):
        places = np.arange(-(-size // width))
        parent.append(last[places * width // wide])
        last, wide = start + places, width
        start += len(places)
    return Tree(np.concatenate(parent))


def with_equal_leaves_merged(tree: Tree, costs: Array) -> tuple[Tree, Places]:
    """The tree in which one leaf stands for all leaves of a node that cost the same, and the node of it, (V,), that stands for
    each: all leaves of a node have what the nodes above them leave of the budget, so the same rate."""
    leaf = ~tree.inner
    kinds = np.unique(costs, return_inverse=True)[1].ravel()
    key = np.where(leaf, tree.parent * (int(kinds.max()) + 1) + kinds, -1 - np.arange(len(costs)))
    first, place, times = np.unique(key, return_index=True, return_inverse=True, return_counts=True)[1:]
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    place = rank[place.ravel()]
    parent = tree.parent[first[order]]
    return Tree(np.where(parent < 0, -1, place[parent]), times[order].astype(np.float64)), place


def begun(tree: Tree, on: NDArray[np.bool_], budget: float) -> Array:
    """Rates (V,) to begin with where these nodes (V,) and the leaves are measured."""
    return shared(tree, np.where(on | ~tree.inner, 1.0, 0.0), budget)


def starts(tree: Tree) -> Iterator[NDArray[np.bool_]]:
    """Inner nodes to begin with, (V,) each: every choice of few; none, those of some depths, and those with many leaves or
    children."""
    inner, depth = tree.inner, tree.depth
    if (places := np.flatnonzero(inner)).size <= EXHAUSTIVE:
        for choice in itertools.product((False, True), repeat=len(places)):
            on = np.zeros(len(inner), dtype=bool)
            on[places] = choice
            yield on
        return
    seen: set[bytes] = set()
    depths = [d for d in range(len(tree.levels)) if inner[tree.levels[d]].any()]
    chosen: list[NDArray[np.bool_]] = [np.zeros(len(inner), dtype=bool)]
    few = depths if len(depths) <= MOST_DEPTHS else depths[:: -(-len(depths) // MOST_DEPTHS)]
    for bits in range(1, 2 ** len(few)):
        chosen.append(inner & np.isin(depth, [d for at, d in enumerate(few) if bits >> at & 1]))
    for least in THRESHOLDS:
        chosen += [inner & (tree.leaf_counts >= least), inner & (tree.children >= least)]
    for on in chosen:
        if (key := on.tobytes()) not in seen:
            seen.add(key)
            yield on


def searched(asked: TreeLoss, budget: float) -> tuple[float, Array]:
    """The least loss found, and the rates (V,): short descents from all starts, long ones from the best, then nodes that are
    switched on or off where that gains."""
    tree = asked.tree
    first = []
    for on in starts(tree):
        first.append(descended(asked, begun(tree, on, budget), budget, SHORT))
        if is_over():
            break
    best = _followed(asked, first, budget)
    for _ in range(ROUNDS):
        if is_over():
            break
        others = [descended(asked, rates, budget, SHORT) for rates in _switched(tree, best[1], budget)]
        better = _followed(asked, others, budget) if others else best
        if better[0] >= best[0] * (1 - GAIN):
            break
        best = better
    return without_faint(asked, best, budget)


def _followed(asked: TreeLoss, found: list[tuple[float, Array]], budget: float) -> tuple[float, Array]:
    """The least loss, and the rates (V,), to which the best of these lead."""
    nearest = sorted(found, key=lambda one: one[0])[:FOLLOWED]
    return min((descended(asked, rates, budget, STEPS) for _, rates in nearest), key=lambda one: one[0])


def without_faint(asked: TreeLoss, found: tuple[float, Array], budget: float, steps: int = STEPS) -> tuple[float, Array]:
    """The loss and the rates (V,) without inner nodes that have nearly nothing, after a short descent; those that were found
    where that loses more, as it does where the work is over."""
    rates = found[1]
    faint = asked.tree.inner & (rates < FAINT * budget)
    ended = descended(asked, shared(asked.tree, np.where(faint, 0.0, rates**3), budget), budget, steps)
    return ended if ended[0] <= found[0] * (1 + GAIN) else found


def _switched(tree: Tree, rates: Array, budget: float) -> Iterator[Array]:
    """Rates to go on from: of one depth, all nodes from some number of leaves on are measured, and no others; those with little
    are measured no more."""
    on = rates > 0
    for nodes in tree.levels:
        inner = nodes[tree.inner[nodes]]
        sizes = np.unique(tree.leaf_counts[inner])
        for least in sizes[:: max(1, len(sizes) // CUTS)]:
            other = on.copy()
            other[inner] = tree.leaf_counts[inner] >= least
            if (other != on).any():
                yield begun(tree, other, budget)
    inner = np.flatnonzero(tree.inner)
    for v in inner[np.argsort(-tree.leaf_counts[inner], kind="stable")][:SWITCHED].tolist():
        other = on.copy()
        other[v] = not on[v]
        yield begun(tree, other, budget)

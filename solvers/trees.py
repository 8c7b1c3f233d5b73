"""Rooted trees, and the least squares of noisy counts of their nodes.

A node v is measured with two-sided geometric noise of rate e_v, of precision `p = cosh e - 1`. A pass from the leaves to the
root finds what the counts at and below a node tell of it (docs/theory/strategies.md, section 8); nothing of the square of the
number of leaves is formed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Tree:
    """A rooted tree: parent (V,), of every node one that stands before it, -1 of the root, node 0. times: (V,), how many equal
    children of its parent a node stands for; None where each is one."""

    parent: Places
    times: Array | None = None

    @cached_property
    def depth(self) -> Places:
        """Edges from the root, (V,)."""
        found = [0] * len(self.parent)
        for v, above in enumerate(self.parent.tolist()[1:], start=1):
            found[v] = found[above] + 1
        return np.array(found, dtype=np.intp)

    @cached_property
    def levels(self) -> list[Places]:
        """The nodes of every depth."""
        return np.split(np.argsort(self.depth, kind="stable"), np.cumsum(np.bincount(self.depth))[:-1])

    @cached_property
    def inner(self) -> NDArray[np.bool_]:
        """The nodes that have others below them, (V,)."""
        found = np.zeros(len(self.parent), dtype=bool)
        found[self.parent[1:]] = True
        return found

    @cached_property
    def leaves(self) -> Places:
        """The nodes that have none, (C,)."""
        return np.flatnonzero(~self.inner)

    @cached_property
    def leaf_counts(self) -> Places:
        """How many leaves are below each node, itself among them, (V,)."""
        found = (~self.inner).astype(np.float64)
        for nodes in self.levels[:0:-1]:
            found += self.added(found, nodes)
        return found.astype(np.intp)

    @cached_property
    def first_leaf(self) -> Places:
        """How many leaves stand before those of each node, (V,), in an order in which the leaves of every node are together."""
        found = np.zeros(len(self.parent), dtype=np.intp)
        for nodes in self.levels[1:]:
            own = nodes[np.argsort(self.parent[nodes], kind="stable")]
            up, sizes = self.parent[own], self.leaf_counts[own]
            before = np.cumsum(sizes) - sizes
            found[own] = found[up] + before - before[np.searchsorted(up, up)]
        return found

    def added(self, values: Array, nodes: Places) -> Array:
        """Of every node the sum of the values (V,) of its children among these nodes, (V,)."""
        own = values[nodes] if self.times is None else self.times[nodes] * values[nodes]
        return np.bincount(self.parent[nodes], own, minlength=len(self.parent)).astype(np.float64)

    @cached_property
    def children(self) -> Array:
        """How many there are of each node, (V,)."""
        return self.added(np.ones(len(self.parent)), np.arange(1, len(self.parent)))

    def indicators(self, nodes: Places) -> Array:
        """The leaves below each of these nodes, (len(nodes), C), zeros and ones."""
        found = np.zeros((len(self.parent), len(self.leaves)))
        found[self.leaves, np.arange(len(self.leaves))] = 1.0
        for level in self.levels[:0:-1]:
            np.add.at(found, self.parent[level], found[level])
        return np.asarray(found[nodes])


def leaf_weights(tree: Tree, sums: Array) -> Array:
    """Sums of nodes, (n, V), as sums of leaves, (n, C)."""
    found = sums.copy()
    for nodes in tree.levels[1:]:
        found[:, nodes] += found[:, tree.parent[nodes]]
    return np.asarray(found[:, tree.leaves])


LARGEST_RATE = 300.0  # of noise that is never seen: beyond it a precision counts as this one, whose square is a float


def precision(rates: Array) -> Array:
    """One over the variance of two-sided geometric noise of these rates: `cosh e - 1`, e at most 300."""
    return np.asarray(2 * np.sinh(np.minimum(rates, LARGEST_RATE) / 2) ** 2)


@dataclass(frozen=True, eq=False)
class Posterior:
    """The least squares of a tree measured at rates (V,), every leaf's above 0.

    alone: (V,), the variance of each node's count from what is measured at it and below. below: (V,), the sum of those of its
    children, 0 of a leaf.
    """

    tree: Tree
    rates: Array
    alone: Array
    below: Array

    @classmethod
    def of(cls, tree: Tree, rates: Array) -> Posterior:
        """From the leaves to the root."""
        known = precision(rates)
        alone, below = np.zeros(len(rates)), np.zeros(len(rates))
        for nodes in reversed(tree.levels):
            inner = tree.inner[nodes]
            alone[nodes[~inner]] = 1 / known[nodes[~inner]]
            own = nodes[inner]
            alone[own] = 1 / (known[own] + 1 / below[own])
            if nodes[0]:
                below += tree.added(alone, nodes)
        return cls(tree, rates, alone, below)

    def _heights(self, queries: Array) -> Array:
        """What an answer gains for each unit by which the count of a node grows, (K, V), the measurements below it the same."""
        tree = self.tree
        found = np.zeros((len(queries), len(tree.parent)))
        found[:, tree.leaves] = queries
        for nodes in tree.levels[:0:-1]:
            parts = found[:, nodes] * (self.alone[nodes] / self.below[tree.parent[nodes]])
            order = np.argsort(tree.parent[nodes], kind="stable")
            ups, starts = np.unique(tree.parent[nodes][order], return_index=True)
            found[:, ups] += np.add.reduceat(parts[:, order], starts, axis=1)
        return found

    def covariances(self, queries: Array) -> Array:
        """Of the answers to queries of the leaves (K, C) with the counts of the nodes, (K, V)."""
        tree, h = self.tree, self._heights(queries)
        moved = np.zeros_like(h)
        moved[:, 0] = h[:, 0] * self.alone[0]
        for nodes in tree.levels[1:]:
            up = tree.parent[nodes]
            moved[:, nodes] = self.alone[nodes] * (h[:, nodes] - h[:, up] + moved[:, up] / self.below[up])
        return moved

    def reconstruction(self, queries: Array) -> Array:
        """The answers from what is measured, (K, V): 0 where a node is not."""
        return np.asarray(self.covariances(queries) * precision(self.rates))

"""Exchanges within published classes under a taxonomy: what every change of any number of records is made of, where the
cheapest transport never leaves a class (docs/theory/invariants.md, 14)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, Immutable, frozen
from designer.problem.relation import Block, Indices, rectangles
from designer.relations.invariants.lengths import Order
from designer.relations.invariants.statistics import Statistics
from designer.relations.metrics.algebra import Restricted
from designer.relations.metrics.metric import Metric, Scaled
from designer.relations.metrics.taxonomies import Taxonomy, taxonomy
from solvers.exact.rational import float_below

JOINT: Mapping[Order, np.ufunc] = {"l1": np.add, "l2": np.hypot, "linf": np.maximum}
LEAST_COST = 1e-200  # of an exchange, so that floats hold what is divided by it


@dataclass(frozen=True, eq=False)
class Levels(Immutable):
    """Groups of elements, the published classes first, each level within the groups of the one before.

    groups: (H, N), the group of each element on every level. costs: what it costs to exchange two elements whose lowest common
    group is of that level, one for each, never rising; None where that is not protected. Elements of different classes are
    never exchanged.
    """

    groups: Indices
    costs: tuple[Fraction | None, ...]

    @property
    def size(self) -> int:
        """N, the number of elements."""
        return int(self.groups.shape[1])

    def exact_budget(self, left: int, right: int) -> Fraction | None:
        """The cost of an exchange; None where it changes what is published, or is not protected."""
        if left == right:
            return Fraction(0)
        shared = int((self.groups[:, left] == self.groups[:, right]).sum())
        return self.costs[shared - 1] if shared else None

    @cached_property
    def floats(self) -> Floats:
        """The costs rounded down, (H,)."""
        return np.array([np.inf if cost is None else float_below(cost) for cost in self.costs])

    @cached_property
    def components(self) -> Indices:
        """The group of each element within which all exchanges are protected, and none beyond, (N,), from 0 on."""
        finite = [level for level, cost in enumerate(self.costs) if cost is not None]
        chosen = self.groups[finite[0]] if finite else np.arange(self.size)
        return np.asarray(np.unique(chosen, return_inverse=True)[1].ravel(), dtype=np.intp)

    def blocks(self) -> Iterator[Block]:
        """Every exchange within a class, once."""
        order = np.argsort(self.groups[0], kind="stable")
        for here in np.split(order, np.flatnonzero(np.diff(self.groups[0][order])) + 1):
            for rows, columns in rectangles(len(here)):
                left, right = here[rows], here[columns]
                shared = sum((level[left][:, None] == level[right]).astype(np.intp) for level in self.groups)
                yield Block(left, right, np.where(left[:, None] < right, self.floats[np.asarray(shared) - 1], np.inf))

    def farthest(self) -> list[Fraction | None]:
        """The costs that occur, from the top."""
        below = [*self.groups[1:], np.arange(self.size)]
        counts = [len(np.unique(level)) for level in (*self.groups, below[-1])]
        return [cost for cost, here, next_ in zip(self.costs, counts[:-1], counts[1:], strict=True) if next_ > here]

    def nearest(self) -> Floats:
        """The least cost of an exchange of each element, (N,); infinite where it has none that is protected."""
        least = np.full(self.size, np.inf)
        for level, cost in zip(self.groups, self.floats, strict=True):
            least[np.bincount(level, minlength=self.size)[level] > 1] = cost
        return least

    def partners(self, weights: Floats, order: Order) -> tuple[Indices, Indices, Floats]:
        """For each element and level the partner of largest `|(w_i, w_j)|_p / d(i, j)`: left and right, (m,), and the ratios,
        the largest of all first. weights w: (N,)."""
        lefts, rights, ratios = [], [], []
        below = [*self.groups[1:], np.arange(self.size)]
        for level, child, cost in zip(self.groups, below, self.floats, strict=True):
            if not np.isfinite(cost):
                continue
            partner = _heaviest_elsewhere(weights, level, child)
            here = np.flatnonzero(partner >= 0)
            lefts.append(here)
            rights.append(partner[here])
            ratios.append(JOINT[order](weights[here], weights[partner[here]]) / cost)
        none: Indices = np.empty(0, dtype=np.intp)
        found = np.concatenate([np.empty(0), *ratios])
        best = np.argsort(-found, kind="stable")
        return np.concatenate([none, *lefts])[best], np.concatenate([none, *rights])[best], found[best]


def _heaviest_elsewhere(weights: Floats, level: Indices, child: Indices) -> Indices:
    """For each element the heaviest of its group that lies in another child of it, (N,); -1 where there is none."""
    best = _heaviest(weights, level, np.ones(len(weights), dtype=bool))
    apart = child != child[best[level]]
    second = _heaviest(weights, level, apart)
    return np.where(apart, best[level], second[level])


def _heaviest(weights: Floats, level: Indices, among: NDArray[np.bool_]) -> Indices:
    """The heaviest of the given elements in each group, by the number of the group; -1 where there is none."""
    here = np.flatnonzero(among)
    rising = here[np.argsort(weights[here], kind="stable")]
    found = np.full(int(level.max()) + 1, -1, dtype=np.intp)
    found[level[rising]] = rising  # the last one stays
    return found


def levels_within(metric: Metric, invariant: Statistics) -> Levels | None:
    """The exchanges that imply every change of any number of records with its transport cost; None where that is not proven.

    It is for a taxonomy, or multiples of one, and published sums over sets of elements that lie in each other or apart, each
    made of whole branches of one group of the taxonomy.
    """
    factor, tree, chosen = _tree_of(metric)
    structure = invariant.structure if tree is not None and invariant.records_public else None
    if tree is None or structure is None or structure.kind == "margins":
        return None
    ancestors = tree.ancestors[chosen]
    if not all(cost is None or cost * factor > LEAST_COST for cost in tree.costs):
        return None
    if len(ancestors) != invariant.size or not all(_is_close(ancestors, row != 0) for row in invariant.constraints):
        return None
    paths = np.column_stack([structure.classes[0], ancestors]).tolist()
    within = taxonomy(paths, [np.inf, *tree.budgets.tolist()], form=tree.form)
    costs = tuple(None if cost is None else cost * factor for cost in within.costs[1:])
    return Levels(frozen(np.ascontiguousarray(within.ancestors.T)), costs)


def _tree_of(metric: Metric) -> tuple[Fraction, Taxonomy | None, Indices]:
    """A metric as a factor times a taxonomy between some of its leaves; None for others."""
    factor, chosen = Fraction(1), np.arange(metric.size)
    while isinstance(metric, (Scaled, Restricted)):
        if isinstance(metric, Scaled):
            factor *= Fraction(metric.factor)
        else:
            chosen = metric.elements[chosen]
        metric = metric.part
    return factor, metric if isinstance(metric, Taxonomy) else None, chosen


def _is_close(ancestors: Indices, inside: NDArray[np.bool_]) -> bool:
    """Whether elements are all of some branches of the lowest group that holds them: none of these holds another element.

    ancestors: (N, H - 1). inside: (N,).
    """
    own = ancestors[inside]
    shared = int((own == own[0]).all(axis=0).sum()) if len(own) else 0
    if shared == ancestors.shape[1]:
        return True
    return not bool(np.isin(ancestors[~inside, shared], own[:, shared]).any())

"""Taxonomies: elements are the leaves of a tree, and a change costs by how far up the lowest group is that holds both.

Why that is a metric, even an ultrametric: docs/theory/metrics.md, section 1.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np

from designer.base.arrays import Floats, frozen
from designer.base.checks import shown
from designer.base.errors import InvalidProblem
from designer.base.schema import BUDGETS, PLACE, Named, list_of, of_kind, one_of
from designer.problem.budget_bounds import MOST_FEATURES, Nearness, all_pairs_of
from designer.problem.relation import Indices, Read
from designer.relations.metrics.element_budgets import own_budgets
from designer.relations.metrics.graphs import is_network, places
from designer.relations.metrics.metric import Metric, relabelled
from solvers.exact.rational import float_below

Form = Literal["sum", "max"]
Path = tuple[Hashable, ...]
COMBINE: Mapping[str, Callable[[list[Fraction]], Fraction]] = {"sum": sum, "max": max}  # type: ignore[dict-item]
WORDS = {"sum": "the sum", "max": "the largest"}
ANCESTORS = Named("ancestors", list_of(list_of(PLACE, least=0)))


@dataclass(frozen=True, eq=False)
class Taxonomy(Metric):
    """d(i, j) = the sum, or the largest, of `budgets[c], ..., budgets[H - 1]`, where i and j share their first c groups.

    ancestors: (N, H - 1), the groups that hold element i from the top down, numbered within each level in the order in which
    the elements meet them. budgets: (H,), from the top: what it costs to leave the groups of that level. The more two elements
    share, the less a change costs, so that `d(i, k) <= max(d(i, j), d(j, k))`, and no pair is implied by others. matched: the
    names that the leaves were matched by; no spec keeps them. form: "sum" or "max".
    """

    ancestors: Indices
    budgets: Floats
    form: Form = "sum"
    matched: tuple[str, ...] | None = None
    kind = "taxonomy"
    schema = of_kind(
        "relation",
        kind,
        {"ancestors": ANCESTORS, "budgets": BUDGETS, "form": one_of("sum", "max")},
        "Groups of each element from the top down; budgets of the levels from the top, the last one within the lowest groups.",
    )
    budget_error = 2.0**-52

    @property
    def size(self) -> int:
        return len(self.ancestors)

    @cached_property
    def costs(self) -> tuple[Fraction | None, ...]:
        """The budget of two elements that share their first c groups, for c = 0, ..., H - 1; None where it is infinite."""
        tails = [self.budgets[c:].tolist() for c in range(len(self.budgets))]
        return tuple(COMBINE[self.form](list(map(Fraction, tail))) if np.inf not in tail else None for tail in tails)

    @cached_property
    def _floats(self) -> Floats:
        """The costs rounded down, and 0 for an element and itself."""
        return np.array([*(np.inf if cost is None else float_below(cost) for cost in self.costs), 0.0])

    def rectangle(self, rows: slice, columns: slice) -> Floats:
        shared = np.zeros((rows.stop - rows.start, columns.stop - columns.start), dtype=np.intp)
        for level in self.ancestors.T:  # a group lies in one group of each level above, so equal numbers are equal paths
            shared += level[rows, None] == level[None, columns]
        same = np.arange(rows.start, rows.stop)[:, None] == np.arange(columns.start, columns.stop)
        return np.asarray(self._floats[np.where(same, len(self.budgets), shared)])

    @cached_property
    def nearness(self) -> Nearness | None:
        """The groups of each level; boxes that share no number of a level share no group of it."""
        if self.ancestors.shape[1] > MOST_FEATURES or None in self.costs:
            return None
        numbers = self.ancestors.astype(np.float64)

        def rule(gaps: Floats, a: Floats, b: Floats) -> Floats:
            budgets = np.full(gaps.shape[1:], self._floats[-2])
            for shared in range(len(gaps) - 1, -1, -1):
                budgets = np.where(gaps[shared] > 0, self._floats[shared], budgets)
            return budgets

        units = np.ldexp(1.0, -32 * np.arange(numbers.shape[1])) / np.maximum(np.ptp(numbers, axis=0), 1.0)
        return Nearness(numbers, rule, units, all_pairs_of(self.size), False)

    def exact_budget(self, left: int, right: int) -> Fraction | None:
        if left == right:
            return Fraction(0)
        return self.costs[int((self.ancestors[left] == self.ancestors[right]).sum())]

    def components(self) -> Indices:
        needed = sum(cost is None for cost in self.costs)  # groups that two elements must share
        if needed == len(self.costs):
            return np.arange(self.size)
        return relabelled(*self.ancestors[:, :needed].T) if needed else np.zeros(self.size, dtype=np.intp)

    def largest_budget(self) -> float:
        for cost, shared in zip(self.costs, range(len(self.costs)), strict=True):
            groups = relabelled(*self.ancestors[:, :shared].T) if shared else np.zeros(self.size, dtype=np.intp)
            if cost is not None and self._splits(groups, shared):
                return float_below(cost)
        return 0.0

    def _splits(self, groups: Indices, shared: int) -> bool:
        """Whether two elements of one of these groups, of that many levels, differ at the next."""
        further = self.ancestors[:, shared] if shared < self.ancestors.shape[1] else np.arange(self.size)
        return len(np.unique(np.stack([groups, further]), axis=1).T) > len(np.unique(groups))

    def sentence(self) -> str:
        return (
            f"Any one record may change from any of the {self.size} leaves of a taxonomy of {len(self.budgets)} levels to any "
            f"other, with {WORDS[self.form]} of the budgets of the levels below the lowest group that holds both; from the top "
            f"they are {', '.join(map(repr, self.budgets.tolist()))}."
        )

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> Taxonomy:
        return taxonomy(spec["ancestors"], spec["budgets"], form=spec["form"])


def taxonomy(tree: Any, budgets: object, *, form: Form = "sum", elements: Any = None, root: Hashable = None) -> Taxonomy:
    """Build the metric of a taxonomy over its leaves. Two leaves cost the sum of the budgets of all levels below their lowest
    common ancestor.

    A leaf with fewer groups than others counts as alone in groups of its own down to the lowest level. Raises `InvalidProblem`
    for leaves and elements that do not match, and budgets that are not positive or not one for each level.

    Parameters
    ----------
    tree
        a networkx graph, its edges from groups to what they hold, or undirected with its `root`. Or a mapping from each
        leaf to its groups from the top down; or the list of these groups for every element in order.
    budgets
        one for each level from the top, (H,). The first one is for leaving a group right below the root, the last for
        another leaf of the same lowest group. Infinite: what such groups tell apart is not protected.
    form : "sum", or "max" for the largest of the budgets.
    elements
        a workload, or the list of the names, with which leaves are matched by label; without, they must be the element
        numbers.
    root : of an undirected graph.

    >>> places = {"Bonn": ["DE", "west"], "Köln": ["DE", "west"], "Jena": ["DE", "east"], "Lyon": ["FR", "ARA"]}
    >>> towns = taxonomy(places, [2.0, 0.5, 0.25], elements=["Bonn", "Köln", "Jena", "Lyon"])
    >>> towns.exact_budget(0, 1), towns.exact_budget(0, 2), towns.exact_budget(0, 3)
    (Fraction(1, 4), Fraction(3, 4), Fraction(11, 4))
    """
    if not isinstance(form, str) or form not in COMBINE:
        raise InvalidProblem(f"metric.form: {shown(form)} is unknown; use one of {list(COMBINE)}.", value=form)
    by_level = own_budgets(budgets, "metric.budgets")
    paths, labels = _paths(tree, elements, root)
    levels = 1 + max(map(len, paths))
    if levels != len(by_level):
        raise InvalidProblem(
            f"metric.budgets: {len(by_level)} for a tree of {levels} levels; give one for each level from the top, the leaves' "
            "own included."
        )
    return Taxonomy(frozen(_numbered_groups(paths, levels - 1)), by_level, form, labels)


def _paths(tree: Any, elements: Any, root: Hashable) -> tuple[list[Path], tuple[str, ...] | None]:
    """The groups of each element from the top down, in the order of the elements, and the names that they were matched by."""
    if not is_network(tree) and not isinstance(tree, Mapping):
        return _listed(tree), None
    found = _of_network(tree, root) if is_network(tree) else dict(zip(tree, _listed(list(tree.values())), strict=True))
    place = places(found, elements, "metric.tree")
    ordered: list[Path] = [()] * len(found)
    labels = [""] * len(found)
    for leaf, path in found.items():
        ordered[place[leaf]], labels[place[leaf]] = path, str(leaf)
    return ordered, None if elements is None else tuple(labels)


def _listed(rows: Any) -> list[Path]:
    """Groups given as one list for each element."""
    listed = [] if isinstance(rows, (str, bytes)) or not isinstance(rows, (Sequence, np.ndarray)) else list(rows)
    if not listed:
        raise InvalidProblem(
            f"metric.tree: {shown(rows)} is no taxonomy; give a networkx graph, {{leaf: groups}}, or a list of groups for each "
            "element.",
            value=rows,
        )
    for i, row in enumerate(listed):
        named = isinstance(row, (Sequence, np.ndarray)) and not isinstance(row, (str, bytes))
        if not named or not all(isinstance(group, Hashable) for group in row):
            raise InvalidProblem(
                f"metric.tree[{i}]: {shown(row)} is no list of groups; name them from the top down.", value=row
            )
    return [tuple(row.tolist() if isinstance(row, np.ndarray) else row) for row in listed]


def _of_network(tree: Any, root: Hashable) -> dict[Hashable, Path]:
    """The groups above every leaf of a rooted tree, the root left out."""
    top, below = _root_of(tree, root), tree.successors if tree.is_directed() else tree.neighbors
    paths: dict[Hashable, Path] = {top: ()}
    above: dict[Hashable, Hashable] = {}
    leaves: dict[Hashable, Path] = {}
    waiting = [top]
    while waiting:
        node = waiting.pop()
        held = [other for other in below(node) if tree.is_directed() or node == top or other != above[node]]
        if any(other in paths for other in held):
            raise InvalidProblem(f"metric.tree: {shown(node)} closes a circle; every node has one group above it.", value=node)
        paths.update({other: (*paths[node], other) for other in held})
        above.update(dict.fromkeys(held, node))
        waiting += held
        if not held:
            leaves[node] = paths[node][:-1]
    if len(paths) < len(tree.nodes):
        apart = next(node for node in tree.nodes if node not in paths)
        raise InvalidProblem(
            f"metric.tree: {shown(apart)} does not hang below the root {shown(top)}; give one connected tree.", value=apart
        )
    return leaves


def _root_of(tree: Any, root: Hashable) -> Hashable:
    """The root that is given, or the one node of a directed tree that nothing holds."""
    if root is None and tree.is_directed():
        tops = [node for node, degree in tree.in_degree() if degree == 0]
        if len(tops) == 1:
            return tops[0]  # type: ignore[no-any-return]
        raise InvalidProblem(
            f"metric.tree: {len(tops)} nodes have no group above them ({shown(tops[:3])}); a tree has one root."
        )
    if root is None:
        raise InvalidProblem("metric.root: is missing, and an undirected tree has no top of its own; name its root.")
    if root not in tree.nodes:
        raise InvalidProblem(f"metric.root: {shown(root)} is no node of the tree.", value=root)
    return root


def _numbered_groups(paths: list[Path], levels: int) -> Indices:
    """The groups of each level numbered in the order in which the elements meet them, (N, levels)."""
    numbers: list[dict[tuple[Path, int], int]] = [{} for _ in range(levels)]
    ancestors = np.zeros((len(paths), levels), dtype=np.intp)
    for i, path in enumerate(paths):
        for level, known in enumerate(numbers):
            group = (path[: level + 1], -1 if level < len(path) else i)  # below its last group an element is alone
            ancestors[i, level] = known.setdefault(group, len(known))
    return ancestors

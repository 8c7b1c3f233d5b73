"""Nested groups (nation > state > county, NAICS levels): least squares over all levels in two passes, with exact variances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Immutable, frozen
from designer.base.checks import assign, names
from designer.base.errors import InvalidProblem

Numbers = NDArray[Any]  # float64, or objects (Fraction) for exact arithmetic


@dataclass(frozen=True, eq=False)
class Hierarchy(Immutable):
    """A forest of n groups, sorted by level: the roots first, then their children, and so on.

    parents: (n,), the place of every group's parent, -1 for roots. labels: n distinct texts.
    The true value of a group is the sum over its children. Where these are not all, one more child stands for all others
    (`designer.tables.hierarchy` adds it, `designer.tables.tree` checks it).
    The groups are public: they must not be read off confidential data.

    >>> tree = Hierarchy.of(["NJ", "NJ", "NY"], ["Essex", "Bergen", "Kings"], top="US")
    >>> tree.labels
    ('US', 'US/NJ', 'US/NY', 'US/NJ/Bergen', 'US/NJ/Essex', 'US/NY/Kings')
    >>> tree.variances(np.ones(6)).round(3)  # of consistent answers, from noise of variance 1 in each
    array([0.538, 0.462, 0.385, 0.615, 0.615, 0.385])
    """

    parents: NDArray[np.int64]
    labels: tuple[str, ...]

    def __post_init__(self) -> None:
        parents = np.asarray(self.parents)
        if parents.ndim != 1 or not parents.size or parents.dtype.kind not in "iu":
            raise InvalidProblem(f"parents: shape {parents.shape}, type {parents.dtype}; give one integer for each group.")
        if (parents < -1).any() or (parents >= np.arange(parents.size)).any():
            raise InvalidProblem("parents: a group must come after its parent; sort groups by level, roots (-1) first.")
        assign(self, parents=frozen(parents.astype(np.int64)), labels=names(self.labels, parents.size, "labels", "group"))
        if (np.diff(self.level) < 0).any():
            raise InvalidProblem("parents: groups are not sorted by level; list all groups of a level before the next one.")

    @classmethod
    def of(cls, *keys: Sequence[object], top: str | None = None) -> Hierarchy:
        """The hierarchy of public key columns, coarse to fine: one group for each distinct row of the first 1, 2, ... columns.

        `top` adds one group above all. Labels are the keys joined by "/"; every level is sorted by them.

        keys: the key columns, coarse to fine, of equal length. top: the name of one group above all.
        """
        if not keys or len({len(column) for column in keys}) != 1 or not len(keys[0]):
            raise InvalidProblem(
                f"keys: columns of lengths {[len(column) for column in keys]}; give at least one, all equally long."
            )
        columns = ([] if top is None else [[top] * len(keys[0])]) + [list(map(str, column)) for column in keys]
        rows = sorted(set(zip(*columns, strict=True)))
        levels = [list(dict.fromkeys(row[:depth] for row in rows)) for depth in range(1, len(columns) + 1)]
        paths = [path for level in levels for path in level]
        place = {path: i for i, path in enumerate(paths)}
        parents = [place[path[:-1]] if len(path) > 1 else -1 for path in paths]
        return cls(np.array(parents), tuple("/".join(path) for path in paths))

    @property
    def size(self) -> int:
        """Number of groups, n."""
        return self.parents.size

    @cached_property
    def level(self) -> NDArray[np.int64]:
        """(n,), the number of ancestors."""
        level = np.zeros(self.size, dtype=np.int64)
        for i, parent in enumerate(self.parents):
            level[i] = 0 if parent < 0 else level[parent] + 1
        return level

    @property
    def depth(self) -> int:
        """Number of levels."""
        return int(self.level[-1]) + 1

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """Where each level stands."""
        ends = np.searchsorted(self.level, np.arange(self.depth), side="right")
        return tuple(slice(int(a), int(b)) for a, b in zip(np.concatenate([[0], ends[:-1]]), ends, strict=True))

    @cached_property
    def inner(self) -> NDArray[np.bool_]:
        """(n,), true for groups with children."""
        has_children = np.zeros(self.size, dtype=bool)
        has_children[self.parents[self.parents >= 0]] = True
        return has_children

    @cached_property
    def place(self) -> dict[str, int]:
        """Position of every label."""
        return {label: i for i, label in enumerate(self.labels)}

    def totals(self, leaves: Any) -> Numbers:
        """(n,) values of all groups from those of the groups without children, in order.

        leaves: numbers of the groups without subgroups, in their order.
        """
        values = np.asarray(leaves)
        if values.shape != (int((~self.inner).sum()),):
            raise InvalidProblem(
                f"leaves: shape {values.shape}; give {int((~self.inner).sum())} numbers, one for each group without children."
            )
        result = np.zeros(self.size, dtype=values.dtype)
        result[~self.inner] = values
        for level in self.slices[:0:-1]:
            np.add.at(result, self.parents[level], result[level])
        return result

    def estimate(self, answers: Any, precisions: Any) -> Numbers:
        """(n,) consistent answers of least weighted squares, `sum_i precisions_i (x_i - answers_i)^2`,
        from one noisy answer for each group; (n, ...) for many columns of answers of the same precisions.

        Children of the result add up to their parent. Fractions in, Fractions out. A group that was not asked has precision 0;
        its answer is not read. Only weights up to a common factor matter.
        Linear: noise of mean 0 leaves the result without bias.

        answers: one for each group. precisions: one over the variance of each.
        """
        passes, answers = _Passes(self, precisions), np.asarray(answers)
        if answers.shape[:1] != (self.size,):
            raise InvalidProblem(f"answers: shape {answers.shape}; give {self.size} numbers, one for each group.")
        across = (slice(None),) + (None,) * (answers.ndim - 1)
        below = np.zeros(answers.shape, dtype=np.result_type(answers, passes.own))
        merged = np.where((passes.precisions > 0)[across], answers, 0).astype(below.dtype)
        for level in self.slices[::-1]:
            inner = passes.inner_of(level)
            gain = (passes.precisions[inner] * passes.own[inner])[across]
            merged[inner] = below[inner] + gain * (merged[inner] - below[inner])
            if level.start:
                np.add.at(below, self.parents[level], merged[level])
        for level in self.slices[1:]:
            parents = self.parents[level]
            merged[level] += (passes.own[level] / passes.below[parents])[across] * (merged[parents] - below[parents])
        return merged

    def variances(self, precisions: Any) -> Numbers:
        """(n,) variances of the consistent answers when answer i has independent noise of variance `1 / precisions_i`, in O(n).

        Exact for any noise law with these variances, because the estimate is linear: nothing is said about its shape.

        precisions: one over the variance of each group's own answer.
        """
        return _Passes(self, precisions).final

    def slopes(self, precisions: Any, weights: Any) -> Numbers:
        """(n,) of `-d/d precisions_i` of `sum_v weights_v variance_v`: nonnegative, since the sum is convex and decreasing.

        The two passes run backwards (derivation in docs/theory/record_design.md, 3); for one group q it is `Cov(x_i, x_q)^2`.
        """
        return _Passes(self, precisions).slopes(np.asarray(weights))


class _Passes:
    """The variances of both passes.

    own u: of a group's value estimated from its subtree; below U: of the sum of its children's estimates;
    final V: from all answers.
        u = 1 / (s + 1 / U),   U = sum of u over children,   V_root = u,   V = u - u^2 / U' + (u / U')^2 V'   (' = parent)
    """

    def __init__(self, tree: Hierarchy, precisions: Any) -> None:
        self.tree, self.precisions = tree, np.asarray(precisions)
        if self.precisions.shape != (tree.size,):
            raise InvalidProblem(f"precisions: shape {self.precisions.shape}; give {tree.size} numbers, one for each group.")
        finite = self.precisions.dtype.kind == "O" or np.isfinite(self.precisions).all()
        if not finite or (self.precisions < 0).any() or not (self.precisions[~tree.inner] > 0).all():
            raise InvalidProblem("precisions: must be finite, at least 0, and positive for every group without children.")
        if self.precisions.dtype.kind in "iu":
            self.precisions = self.precisions.astype(np.float64)
        information, self.below = self.precisions.copy(), np.zeros_like(self.precisions)
        self.own = np.zeros_like(information)
        for level in tree.slices[::-1]:
            inner = self.inner_of(level)
            information[inner] += 1 / self.below[inner]
            self.own[level] = 1 / information[level]
            if level.start:
                np.add.at(self.below, tree.parents[level], self.own[level])
        self.final = self.own.copy()
        for level in tree.slices[1:]:
            parents = tree.parents[level]
            share = self.own[level] / self.below[parents]
            self.final[level] += share**2 * (self.final[parents] - self.below[parents])

    def inner_of(self, level: slice) -> NDArray[np.int64]:
        """Places of the groups of a level that have children."""
        return np.asarray(np.flatnonzero(self.tree.inner[level]) + level.start)

    def slopes(self, weights: Numbers) -> Numbers:
        """Backward differentiation: by V from the leaves up, then by u from the roots down."""
        by_final = np.array(weights, dtype=self.own.dtype)
        by_own, by_below = np.zeros_like(self.own), np.zeros_like(self.own)
        for level in self.tree.slices[:0:-1]:
            parents = self.tree.parents[level]
            share, shortage = self.own[level] / self.below[parents], 1 - self.final[parents] / self.below[parents]
            by_own[level] += by_final[level] * (1 - 2 * share * shortage)
            np.add.at(by_below, parents, by_final[level] * share**2 * (2 * shortage - 1))
            np.add.at(by_final, parents, by_final[level] * share**2)
        roots = self.tree.slices[0]
        by_own[roots] += by_final[roots]
        for level in self.tree.slices:
            if level.start:
                by_own[level] += by_below[self.tree.parents[level]]
            inner = self.inner_of(level)
            by_below[inner] += by_own[inner] * (self.own[inner] / self.below[inner]) ** 2
        return np.asarray(by_own * self.own**2)


# Values of one public record: missing ones, numbers and labels, in the types that tables hold; every other type is refused.

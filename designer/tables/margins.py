"""Noisy answers of several margins of one table, made consistent: state x sector beside county x sector, by least squares.

Margins of one table that share a hierarchy (state x sector beside county x sector, and beside counties alone):
least squares over all of them, with exact variances.

A margin keeps a level of the hierarchy and some of the axes, and sums the others out. Along the axes everything is diagonal in
residuals (what a table adds to its own margins), and for each set of axes the residuals of all margins that keep it are answers
of one hierarchy, solved in two passes. So nothing is larger than the tables themselves; docs/theory/record_design.md, 5.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, Immutable
from designer.base.checks import count, shown
from designer.base.declared import assign
from designer.base.errors import InvalidProblem
from designer.base.progress import step
from designer.tables.answers import Answer
from designer.tables.groups import Labels
from designer.tables.policies.hierarchies import Hierarchy, Numbers

Margin = tuple[int, tuple[str, ...]]
MOST_AXES = 12


@dataclass(frozen=True, eq=False)
class MarginLattice(Immutable):
    """A hierarchy of n groups, crossed with axes of public sizes.

    A margin is `(level, axes)`, a level of the hierarchy and the names of the axes that are kept, in the order of `sizes`. Its
    answers have shape (groups of the level, size of each kept axis); its precision is 1 / variance of the noise in each of
    them, one number, or one for each group of the level. Every record is counted in one cell of every margin.

    >>> lattice = MarginLattice(Hierarchy.of(["NJ", "NJ", "NY"], ["Essex", "Bergen", "Kings"]), {"sector": 2})
    >>> precisions = {(0, ("sector",)): 1.0, (1, ("sector",)): 1.0, (1, ()): 1.0}
    >>> lattice.variances(precisions)[1, ("sector",)].round(3)
    array([0.467, 0.467, 0.375])
    """

    tree: Hierarchy
    sizes: Mapping[str, int]

    def __post_init__(self) -> None:
        if not isinstance(self.tree, Hierarchy) or not isinstance(self.sizes, Mapping) or len(self.sizes) > MOST_AXES:
            raise InvalidProblem(f"tree, sizes: give a Hierarchy, and the sizes of at most {MOST_AXES} axes by name.")
        assign(self, sizes={str(name): count(size, f"sizes[{name!r}]") for name, size in self.sizes.items()})

    def shape(self, margin: Margin) -> tuple[int, ...]:
        """The shape of the answers of a margin; InvalidProblem where there is no such margin."""
        level, axes = margin
        order = [name for name in self.sizes if name in axes]
        if not isinstance(level, int) or not 0 <= level < self.tree.depth or list(axes) != order:
            raise InvalidProblem(
                f"margin: {shown(margin)}; give a level from 0 to {self.tree.depth - 1} and some of the axes "
                f"{list(self.sizes)}, in this order.",
                value=margin,
            )
        rows = self.tree.slices[level]
        return (rows.stop - rows.start, *(self.sizes[name] for name in axes))

    def estimate(
        self, answers: Mapping[Margin, Any], precisions: Mapping[Margin, Any], wanted: Sequence[Margin] | None = None
    ) -> dict[Margin, Numbers]:
        """Consistent answers of least weighted squares over all margins that were answered.

        They agree in all sums that they share. Fractions in, Fractions out. Linear: noise of mean 0 leaves them without bias,
        and computed from private answers alone, they are as private as these. wanted: margins that the answered ones
        determine, by default those that were answered.
        """
        weights = self._weights(precisions)
        tables = {margin: self._table(margin, answers.get(margin)) for margin in weights}
        wanted = list(weights) if wanted is None else list(wanted)
        parts = {axes: self._residual(axes, weights, tables) for axes in _below(wanted)}
        return {margin: self._assembled(margin, {axes: values for axes, (values, _) in parts.items()}) for margin in wanted}

    def variances(self, precisions: Mapping[Margin, Any], wanted: Sequence[Margin] | None = None) -> dict[Margin, Numbers]:
        """The variances of the same, for each group of the margin's level: all its cells have the same one."""
        weights = self._weights(precisions)
        wanted = list(weights) if wanted is None else list(wanted)
        parts = {axes: self._forest(axes, weights) for axes in _below(wanted)}
        return {margin: self._spread(margin, parts) for margin in wanted}

    def _weights(self, precisions: Mapping[Margin, Any]) -> dict[Margin, Numbers]:
        weights = {margin: np.broadcast_to(np.asarray(given), self.shape(margin)[:1]) for margin, given in precisions.items()}
        if not weights or not all(np.all(own > 0) for own in weights.values()):
            raise InvalidProblem("precisions: give a positive number for each margin that was answered, at least one.")
        return weights

    def _table(self, margin: Margin, given: Any) -> Numbers:
        table = np.asarray(given)
        if given is None or table.shape != self.shape(margin):
            raise InvalidProblem(f"answers[{margin}]: shape {table.shape}; give {self.shape(margin)} numbers.")
        return table

    def _size(self, axes: Sequence[str]) -> int:
        return math.prod(self.sizes[name] for name in axes)

    def _telling(self, axes: tuple[str, ...], margins: Sequence[Margin]) -> list[Margin]:
        """The margins that keep all these axes; InvalidProblem where there are none."""
        telling = [margin for margin in margins if set(axes) <= set(margin[1])]
        if not telling:
            raise InvalidProblem(f"wanted: no answer tells the axes {list(axes)} apart; ask for a margin that keeps them.")
        return telling

    def _forest(self, axes: tuple[str, ...], weights: Mapping[Margin, Numbers]) -> tuple[Hierarchy, Numbers]:
        """The hierarchy down to the finest level that tells these axes, and the precision of their residual in each group:
        summing out an axis of n cells makes the noise n times as large."""
        telling = self._telling(axes, list(weights))
        end = self.tree.slices[max(level for level, _ in telling)].stop
        precisions = np.zeros(end, dtype=np.result_type(*(weights[margin] for margin in telling), np.float64))
        for level, kept in telling:
            precisions[self.tree.slices[level]] += weights[level, kept] / self._size([a for a in kept if a not in axes])
        return Hierarchy(self.tree.parents[:end], self.tree.labels[:end]), precisions

    def _residual(
        self, axes: tuple[str, ...], weights: Mapping[Margin, Numbers], tables: Mapping[Margin, Numbers]
    ) -> tuple[Numbers, Numbers]:
        """The residual of some axes in every group of the hierarchy, from all margins that tell it, and its precisions."""
        forest, precisions = self._forest(axes, weights)
        merged = np.zeros(
            (forest.size, *(self.sizes[name] for name in axes)), dtype=np.result_type(precisions, *tables.values())
        )
        across = (slice(None),) + (None,) * len(axes)
        for level, kept in self._telling(axes, list(weights)):
            rows, out = self.tree.slices[level], [name for name in kept if name not in axes]
            own = weights[level, kept] / self._size(out) / precisions[rows]
            merged[rows] += own[across] * _contrasts(_summed(tables[level, kept], [kept.index(name) for name in out]))
        return forest.estimate(merged, precisions), precisions

    def _assembled(self, margin: Margin, parts: Mapping[tuple[str, ...], Numbers]) -> Numbers:
        """A margin from its residuals, each spread evenly over the axes that it lacks."""
        level, kept = margin
        total: Any = 0
        for axes in _subsets(kept):
            part = parts[axes][self._rows(level, parts[axes])]
            missing = [place + 1 for place, name in enumerate(kept) if name not in axes]
            total = total + np.expand_dims(part, tuple(missing)) / self._size([name for name in kept if name not in axes])
        return np.asarray(total)

    def _spread(self, margin: Margin, parts: Mapping[tuple[str, ...], tuple[Hierarchy, Numbers]]) -> Numbers:
        level, kept = margin
        total: Any = 0
        for axes in _subsets(kept):
            forest, precisions = parts[axes]
            own = forest.variances(precisions)
            lost = self._size(axes) * self._size([name for name in kept if name not in axes]) ** 2
            total = total + own[self._rows(level, own)] * math.prod(self.sizes[name] - 1 for name in axes) / lost
        return np.asarray(total)

    def _rows(self, level: int, known: Numbers) -> slice:
        rows = self.tree.slices[level]
        if rows.stop > len(known):
            raise InvalidProblem(f"wanted: level {level} of the hierarchy is not determined; answer a margin of that level.")
        return rows


def _subsets(axes: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [chosen for size in range(len(axes) + 1) for chosen in combinations(axes, size)]


def _below(margins: Sequence[Margin]) -> list[tuple[str, ...]]:
    """The sets of axes whose residuals make up some margins."""
    return list(dict.fromkeys(axes for _, kept in margins for axes in _subsets(kept)))


def _summed(table: Numbers, places: Sequence[int]) -> Numbers:
    return np.asarray(table.sum(axis=tuple(place + 1 for place in places))) if places else table


def _contrasts(table: Numbers) -> Numbers:
    """What a table adds to its own margins along every axis but the first."""
    for axis in range(1, table.ndim):
        table = table - table.sum(axis=axis, keepdims=True) / table.shape[axis]
    return table


@step("consistent margins")
def consistent_margins(answers: Sequence[Answer], nested: Sequence[str] = ()) -> tuple[Answer, ...]:
    """The same answers with the values of least weighted squares, which agree in all sums that they share, their variances,
    and how far they were moved (`post_processing`).

    nested: the names of key columns of which each divides the one before (state, county); an answer has the first few of them.
    All its other key columns cross them. Each answer lists all combinations of its groups and labels, and every record is in
    one group of every answer: list complete keys, because what no group counts is taken for noise. Post-processing: as private
    as what it is computed from. InvalidProblem where combinations are missing, or cells of a group have noise of their own.

    >>> from designer.tables import Answer
    >>> one = Answer("a", ("sex",), (("f",), ("m",)), np.array([3.0, 5.0]), np.array([1.0, 1.0]))
    >>> two = Answer("b", (), ((),), np.array([11.0]), np.array([2.0]))
    >>> [part.values.tolist() for part in consistent_margins([one, two])]
    [[3.75, 5.75], [9.5]]
    """
    known = _Layout.of(answers, tuple(nested))
    placed = [known.placed(answer) for answer in answers]
    margins = [margin for margin, _, _ in placed]
    if len(set(margins)) < len(margins):
        raise InvalidProblem("answers: two are of the same key columns; give one of each, or their weighted mean.")
    values = {
        margin: known.table(margin, answer.values, places) for answer, (margin, places, _) in zip(answers, placed, strict=True)
    }
    precisions = {margin: 1 / variances for margin, _, variances in placed}
    made, spread = known.lattice.estimate(values, precisions), known.lattice.variances(precisions)
    return tuple(
        answer.consistent(made[margin].ravel()[places], np.repeat(spread[margin], made[margin][0].size)[places])
        for answer, (margin, places, _) in zip(answers, placed, strict=True)
    )


Places = NDArray[np.intp]


@dataclass(frozen=True)
class _Layout:
    """Where the groups of answers stand in the tables of a lattice."""

    lattice: MarginLattice
    nested: tuple[str, ...]
    groups: tuple[dict[Labels, int], ...]  # of each level of the hierarchy, everybody first
    labels: dict[str, dict[str, int]]  # of each axis

    @classmethod
    def of(cls, answers: Sequence[Answer], nested: tuple[str, ...]) -> _Layout:
        paths: dict[Labels, None] = {}
        labels: dict[str, dict[str, int]] = {}
        for answer in answers:
            _require_noise(answer)
            _depth(answer, nested)
            here = [place for place, name in enumerate(answer.columns) if name in nested]
            paths.update(dict.fromkeys(tuple(key[place] for place in here) for key in answer.keys))
            for place, name in enumerate(answer.columns):
                if name not in nested:
                    own = labels.setdefault(name, {})
                    for key in answer.keys:
                        own.setdefault(key[place], len(own))
        every = sorted({path[:depth] for path in paths for depth in range(len(path) + 1)}, key=lambda path: (len(path), path))
        where = {path: i for i, path in enumerate(every)}
        parents = np.array([where[path[:-1]] if path else -1 for path in every])
        tree = Hierarchy(parents, tuple("/".join(("all", *path)) for path in every))
        groups = tuple(
            {path: i - rows.start for i, path in enumerate(every) if len(path) == level}
            for level, rows in enumerate(tree.slices)
        )
        return cls(MarginLattice(tree, {name: len(own) for name, own in labels.items()}), nested, groups, labels)

    def placed(self, answer: Answer) -> tuple[Margin, Places, Floats]:
        """The margin of an answer, the place of each of its keys in the margin's table, and a variance for each group."""
        level = _depth(answer, self.nested)
        margin = (level, tuple(name for name in self.labels if name in answer.columns))
        inner, axes = [answer.columns.index(name) for name in self.nested[:level]], [answer.columns.index(n) for n in margin[1]]
        shape = self.lattice.shape(margin)
        cells = [
            (self.groups[level][tuple(key[i] for i in inner)], *(self.labels[answer.columns[i]][key[i]] for i in axes))
            for key in answer.keys
        ]
        places = np.ravel_multi_index(tuple(np.array(cells).T), shape)
        if len(places) != np.prod(shape):
            raise InvalidProblem(
                f"answers: {answer.name!r} has {len(places)} groups of {np.prod(shape)} combinations; list all of them.",
                value=answer.name,
            )
        assert answer.variances is not None
        variances = self.table(margin, answer.variances, places).reshape(shape[0], -1)
        if (variances != variances[:, :1]).any():
            raise InvalidProblem(
                f"answers: {answer.name!r} has noise that differs within a group of {list(self.nested)}; give it one variance.",
                value=answer.name,
            )
        return margin, places, variances[:, 0]

    def table(self, margin: Margin, values: Floats, places: Places) -> Floats:
        """Numbers by key as the table of a margin."""
        table = np.empty(len(places))
        table[places] = values
        return table.reshape(self.lattice.shape(margin))


def _require_noise(answer: Answer) -> None:
    if not isinstance(answer, Answer) or answer.variances is None or not len(answer.keys):
        raise InvalidProblem(
            f"answers: {shown(getattr(answer, 'name', answer))} has no variances, or no groups; give sums and counts."
        )


def _depth(answer: Answer, nested: Sequence[str]) -> int:
    """How many of the nested columns an answer has: the first few."""
    depth = sum(name in nested for name in answer.columns)
    if not set(nested[:depth]) <= set(answer.columns):
        raise InvalidProblem(
            f"nested: {answer.name!r} has {list(answer.columns)}, which are not the first few of {list(nested)}.",
            value=answer.name,
        )
    return depth

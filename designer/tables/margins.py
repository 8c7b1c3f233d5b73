"""Noisy answers of several margins of one table, made consistent: state x sector beside county x sector, by least squares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from designer.base.errors import InvalidProblem
from designer.base.progress import step
from designer.tables.policies.hierarchies import Hierarchy
from designer.tables.crossed_margins import Margin, MarginLattice
from designer.tables.answers import Answer
from designer.tables.groups import Labels
from designer.base.arrays import Floats
from designer.base.checks import shown


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
                f"answers: {answer.name!r} has {len(places)} groups of {np.prod(shape)} combinations; list all of them."
            )
        assert answer.variances is not None
        variances = self.table(margin, answer.variances, places).reshape(shape[0], -1)
        if (variances != variances[:, :1]).any():
            raise InvalidProblem(
                f"answers: {answer.name!r} has noise that differs within a group of {list(self.nested)}; give it one variance."
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
            f"nested: {answer.name!r} has {list(answer.columns)}, which are not the first few of {list(nested)}."
        )
    return depth

"""Linear maps of `Z^s` that permute given steps and keep what is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from solvers.lattices.steps import Steps

MOST_TRIALS = 20_000  # of images for a basis of steps: a second
Matrix = NDArray[np.int64]


def symmetries_of(steps: Steps, keeps: Callable[[Matrix], bool]) -> list[Matrix]:
    """Matrices g (s, s) of integers, `z -> z g`, that permute the steps with their costs and that `keeps` accepts.

    They form a group with plus and minus the identity in it; if the search is too long, it is these two alone.

    >>> square = Steps.of([[1, 0], [0, 1]], [1, 1])
    >>> len(symmetries_of(square, lambda g: True))
    8
    """
    one = np.eye(steps.dimension, dtype=np.int64)
    basis = _basis(steps)
    known = {tuple(row): cost for row, cost in zip(steps.vectors.tolist(), steps.costs.tolist(), strict=True)}
    inverse = np.linalg.inv(steps.vectors[basis].astype(np.float64))
    found = []
    for trial, images in enumerate(_images(steps, basis)):
        if trial == MOST_TRIALS:
            return [one, -one]
        g = np.rint(inverse @ steps.vectors[images]).astype(np.int64)
        if np.array_equal(steps.vectors[basis] @ g, steps.vectors[images]) and _permutes(g, known) and keeps(g):
            found.append(g)
    return found


def _basis(steps: Steps) -> list[int]:
    """Indices of s independent steps, the cheapest first."""
    chosen: list[int] = []
    for index in np.argsort(steps.costs, kind="stable").tolist():
        if np.linalg.matrix_rank(steps.vectors[[*chosen, index]].astype(np.float64)) > len(chosen):
            chosen.append(index)
    return chosen


def _images(steps: Steps, basis: list[int]) -> Iterator[list[int]]:
    """Where a map may send the basis: steps of the same costs with the same products in the form that all maps keep."""
    weighted = steps.vectors / steps.costs[:, None]
    form = np.linalg.inv(weighted.T @ weighted)
    products = np.rint(steps.vectors @ form @ steps.vectors.T * 1e9 / float(steps.costs.max()) ** 2)

    def extend(images: list[int]) -> Iterator[list[int]]:
        if len(images) == len(basis):
            yield images
            return
        mine = basis[len(images)]
        wanted = [*products[mine, basis[: len(images)]], products[mine, mine]]
        for j in np.flatnonzero(steps.costs == steps.costs[mine]).tolist():
            if np.abs(np.array([*products[j, images], products[j, j]]) - wanted).max() <= 1:
                yield from extend([*images, j])

    return extend([])


def _permutes(g: Matrix, known: dict[tuple[int, ...], int]) -> bool:
    return all(known.get(tuple((np.array(row) @ g).tolist())) == cost for row, cost in known.items())


def keeps_form(g: Matrix, form: NDArray[np.object_]) -> bool:
    """Whether `z form z'` is that of `z g` for all z; form (s, s), symmetric, of rationals."""
    exact = g.astype(object)
    return bool((exact @ form @ exact.T == form).all())


def keeps_rows(g: Matrix, rows: list[tuple[Fraction, ...]], weights: list[Fraction]) -> bool:
    """Whether g permutes the weighted linear forms `|row . z|`, up to their signs."""

    def all_forms(moved: list[tuple[Fraction, ...]]) -> list[tuple[Fraction, tuple[Fraction, ...]]]:
        return sorted((w, max(row, tuple(-x for x in row))) for w, row in zip(weights, moved, strict=True))

    exact = g.astype(object)
    return all_forms(rows) == all_forms([tuple(exact @ np.array(row, dtype=object)) for row in rows])

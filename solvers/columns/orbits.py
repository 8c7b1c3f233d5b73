"""Permutations of elements and reports that keep budgets and costs: a program is asked once for each of their orbits.

Averages of tables over a group of symmetries keep the budgets and the cost, so that an optimal table, and optimal prices, are
alike on orbits. Derivations in docs/theory/columns.md, section 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solvers.columns.cone import Array, Indices
from solvers.work import spend

MOST = 16  # symmetries: with more, none are used
TOLD_BY = 4  # elements, by whose budgets all others are told apart: where that takes more, none are looked for
DIGITS = 11  # of numbers that are one


@dataclass(frozen=True, eq=False)
class Symmetries:
    """A group of G symmetries, the identity first: `b[g_x, g_x'] = b[x, x']` and `C[g_x, h_z] = C[x, z]` for each pair of rows.

    elements: (G, N). reports: (G, M).
    """

    elements: Indices
    reports: Indices

    def __len__(self) -> int:
        return len(self.elements)

    def averages(self) -> Array:
        """The averages over orbits of elements, (orbits, N)."""
        orbit = np.unique(self.elements.min(axis=0), return_inverse=True)[1]
        member = np.arange(orbit.max() + 1)[:, None] == orbit
        return np.asarray(member / member.sum(axis=1, keepdims=True))

    def ways(self) -> tuple[Indices, Indices]:
        """Of each report (M,) one that stands for it, and the symmetry that leads from there."""
        count = self.reports.shape[1]
        source, by = np.full(count, -1, dtype=np.intp), np.zeros(count, dtype=np.intp)
        for z in range(count):
            if source[z] < 0:
                for k, image in enumerate(self.reports[:, z].tolist()):
                    if source[image] < 0:
                        source[image], by[image] = z, k
        return source, by


def none_of(elements: int, reports: int) -> Symmetries:
    """The identity alone."""
    return Symmetries(np.arange(elements, dtype=np.intp)[None], np.arange(reports, dtype=np.intp)[None])


def symmetries(budgets: Array, costs: Array) -> Symmetries:
    """The symmetries of budgets (N, N) and costs (N, M), where they are a few; the identity alone where they are many.

    >>> x = np.arange(3.0)
    >>> symmetries(np.abs(x[:, None] - x), (x[:, None] - x) ** 2).elements.tolist()
    [[0, 1, 2], [2, 1, 0]]
    """
    n, m = costs.shape
    numbers = _numbered(np.hstack([budgets, costs]))
    b, c = numbers[:, :n], numbers[:, n:]
    spend(calls=10, entries=60.0 * numbers.size)
    kinds = _kinds(np.hstack([np.sort(b, axis=1), np.sort(c, axis=1)]))
    base = _base(b, kinds)
    found: list[tuple[Indices, Indices]] = []
    for images in _images(b, kinds, base):
        moved = _extended(b, kinds, base, images)
        if moved is None or not (b[np.ix_(moved, moved)] == b).all():
            continue
        reports = _matched(c, moved)
        if reports is not None:
            found.append((moved, reports))
        if len(found) > MOST:
            return none_of(n, m)
    found.sort(key=lambda pair: pair[0].tolist())
    return Symmetries(*(np.array(part) for part in zip(*found, strict=True))) if found else none_of(n, m)


def _numbered(table: Array) -> Indices:
    """Each number of a table by a whole number, alike where the numbers are alike but for rounding."""
    finite = np.where(np.isfinite(table), table, 0.0)
    unit = float(np.abs(finite).max()) * 10.0**-DIGITS or 1.0
    values = np.where(np.isfinite(table), np.round(finite / unit), -1.0 - 2 * 10.0**DIGITS)
    return np.unique(values, return_inverse=True)[1].reshape(table.shape).astype(np.intp)


def _kinds(rows: NDArray[np.intp]) -> Indices:
    return np.unique(rows, axis=0, return_inverse=True)[1].ravel().astype(np.intp)


def _base(b: Indices, kinds: Indices) -> list[int]:
    """Elements whose budgets to each element tell all of a kind apart; too many where these are."""
    base: list[int] = []
    told = kinds
    while len(base) <= TOLD_BY and len(np.unique(told)) < len(b):
        sizes = np.bincount(kinds)[kinds].astype(float)
        parts = [len(np.unique(told * (b.max() + 1) + b[x])) for x in range(len(b))]
        chosen = min(range(len(b)), key=lambda x: (sizes[x] if not base else 0.0, -parts[x], x))
        base.append(chosen)
        told = _kinds(np.stack([told, b[chosen]], axis=1))
    return base or [0]


def _images(b: Indices, kinds: Indices, base: list[int]) -> Iterator[list[int]]:
    """Where the base may go: to elements of the same kinds, at the same budgets."""
    if len(base) > TOLD_BY:
        return
    waiting: list[list[int]] = [[]]
    while waiting:
        images = waiting.pop()
        if len(images) == len(base):
            yield images
            continue
        own = base[len(images)]
        fits = kinds == kinds[own]
        for other, image in zip(base, images, strict=False):
            fits &= b[:, image] == b[own, other]
        waiting += [[*images, x] for x in np.flatnonzero(fits)[::-1].tolist()]


def _extended(b: Indices, kinds: Indices, base: list[int], images: list[int]) -> Indices | None:
    """The one permutation that takes the base there, if any."""
    there, here = (np.column_stack([kinds, b[:, part]]) for part in (images, base))
    order, back = np.lexsort(there.T), np.lexsort(here.T)
    if not (there[order] == here[back]).all():
        return None
    moved = np.empty(len(b), dtype=np.intp)
    moved[back] = order
    return moved


def _matched(c: Indices, moved: Indices) -> Indices | None:
    """The permutation of reports with `c[moved x, h z] = c[x, z]`, if there is one; alike reports in their order."""
    there, here = c[moved], c
    order, back = np.lexsort(there), np.lexsort(here)
    if not (there[:, order] == here[:, back]).all():
        return None
    reports = np.empty(c.shape[1], dtype=np.intp)
    reports[back] = order
    return reports

"""Nearest nonnegative numbers behind several sums, in rationals, by enumeration of which of them are 0."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np


def rational(array: Any) -> list[Fraction]:
    return [Fraction(float(x)) for x in np.asarray(array).ravel()]


def minimum(sums: Any, near: Any, errors: Any, exact: Any, totals: Any) -> list[Fraction] | None:
    """The x of least squares among x >= 0 with `A x = t`: over all sets of cells above 0, in rationals; of several, the first
    that was found. Exact rows have no cell in common. None where no such x exists."""
    weights, answers, size = [1 / s**2 for s in rational(errors)], rational(near), sums.shape[1]
    best: tuple[Fraction, list[Fraction]] | None = None
    for many in range(size + 1):
        for free in combinations(range(size), many):
            held = [(row, t) for row, t in zip(exact.tolist(), rational(totals), strict=True) if any(row[j] for j in free)]
            if sum(t > 0 for _, t in held) < sum(t > 0 for t in rational(totals)):
                continue
            gram = [[sum(w * int(r[i]) * int(r[j]) for w, r in zip(weights, sums, strict=True)) for j in free] for i in free]
            side = [sum(w * int(r[i]) * a for w, r, a in zip(weights, sums, answers, strict=True)) for i in free]
            gram = [[*line, *(Fraction(row[i]) for row, _ in held)] for line, i in zip(gram, free, strict=True)]
            gram += [[*(Fraction(row[j]) for j in free), *[Fraction(0)] * len(held)] for row, _ in held]
            solved = solve(gram, [*side, *(t for _, t in held)])
            if solved is None or min(solved[:many], default=Fraction(0)) < 0:
                continue
            x = [Fraction(0)] * size
            for j, value in zip(free, solved, strict=False):
                x[j] = value
            made = [sum((int(a) * v for a, v in zip(row, x, strict=True)), Fraction(0)) for row in sums]
            value = sum((w * (m - a) ** 2 for w, m, a in zip(weights, made, answers, strict=True)), Fraction(0))
            if best is None or value < best[0]:
                best = value, x
    return None if best is None else best[1]


def squares(sums: Any, near: Any, errors: Any, x: Any) -> Fraction:
    made = (sum(int(a) * c for a, c in zip(row, rational(x), strict=True)) for row in sums)
    return sum((((m - a) / s) ** 2 for m, a, s in zip(made, rational(near), rational(errors), strict=True)), Fraction(0))


def solve(gram: list[list[Fraction]], side: list[Fraction]) -> list[Fraction] | None:
    """Gauss in rationals; None where the matrix is singular: then fewer cells reach the same sums."""
    rows = [[*row, value] for row, value in zip(gram, side, strict=True)]
    for k in range(len(rows)):
        pivot = next((i for i in range(k, len(rows)) if rows[i][k]), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [v / rows[k][k] for v in rows[k]]
        for i in range(len(rows)):
            if i != k and rows[i][k]:
                rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [row[-1] for row in rows]

"""How far a protected change can pull two candidates' scores apart: the seminorms that decide whether a selection is private.

A law that depends on score differences only (exponential, permute-and-flip) changes by at most
`exp(max over r, t of (v_t - v_r))` when score r moves by v_r (docs/theory/selection.md, 2). Each kind of score turns a change u
of its linear forms into a bound of that maximum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np

from designer.base.arrays import Floats
from designer.certified.norms import Norm, NormOrder

CACHED = 2**17  # float64 numbers, 1 MB


@dataclass(frozen=True, eq=False)
class Spread(Norm):
    """A seminorm of the rows of a diagonal map that is at most twice their largest absolute value."""

    order: NormOrder = "linf"

    def divided(self, factor: float) -> Self:
        """The seminorm divided by a positive factor."""
        return type(self)(self.map / factor)

    def image_error(self, points: Floats) -> float:
        """Twice that of the maximum norm, because an error e in the images moves the seminorm by at most `2 max |e_r|`.

        points: (n, R).
        """
        return 2 * Norm(self.map, "linf").image_error(points)

    def between(self, left: Floats, right: Floats) -> Floats:
        """The seminorm of the differences of all rows of two sets of images.

        left: (n, R). right: (m, R). Returns (n, m).
        """
        result = np.empty((len(left), len(right)))
        # A piece of the cache at a time: 1,000 points and 1,000 candidates take 1.3 s for two largest, 4.8 s in one piece.
        width = max(1, CACHED // right.shape[1])
        for start in range(0, len(right), width):
            piece = right[start : start + width]
            for row, target in zip(left, result, strict=True):
                target[start : start + width] = self.length(row - piece)
        return result

    def _images(self, u: Sequence[Fraction]) -> list[Fraction]:
        return [Fraction(float(weight)) * c for weight, c in zip(self.map, u, strict=True)]


class Range(Spread):
    """`max_r w_r u_r - min_r w_r u_r`: the scores are the forms themselves.

    >>> Range(np.array([0.5, 0.5, 0.5])).exact([Fraction(1), Fraction(3), Fraction(2)])
    Fraction(1, 1)
    """

    def length(self, images: Floats) -> Floats:
        """Range along the last axis.

        images: (..., R). Returns (...,).
        """
        return np.asarray(images.max(axis=-1) - images.min(axis=-1))

    def exact(self, u: Sequence[Fraction]) -> Fraction:
        """The range as a rational number."""
        images = self._images(u)
        return max(images) - min(images)


class TwoLargest(Spread):
    """The sum of the two largest `w_r |u_r|`: score r is the absolute value of form r, whose sign the data decide.

    >>> TwoLargest(np.array([0.5, 0.5, 0.5])).exact([Fraction(1), Fraction(-3), Fraction(2)])
    Fraction(5, 2)
    """

    def length(self, images: Floats) -> Floats:
        """Sum of the two largest absolute values along the last axis.

        images: (..., R). Returns (...,).
        """
        sizes = np.abs(images)
        where = sizes.argmax(axis=-1, keepdims=True)
        first = np.take_along_axis(sizes, where, axis=-1)[..., 0]
        np.put_along_axis(sizes, where, 0.0, axis=-1)
        return np.asarray(first + sizes.max(axis=-1))

    def exact(self, u: Sequence[Fraction]) -> Fraction:
        """The sum as a rational number."""
        return sum(sorted(map(abs, self._images(u)))[-2:], Fraction(0))

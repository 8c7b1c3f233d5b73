"""How far a protected change can pull two candidates' scores apart: the seminorms that decide whether a selection is private.

A law that depends on score differences only (exponential, permute-and-flip) changes by at most `exp(max over r, t of (v_t - v_r))` when
score r moves by v_r (docs/theory/selection.md, 2). Each kind of score turns a change u of its linear forms into a bound of that maximum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np

from designer.frozen import Floats
from designer.norms import Norm, Order


@dataclass(frozen=True, eq=False)
class Spread(Norm):
    """A seminorm of the rows of a diagonal map that is at most twice their largest absolute value."""

    order: Order = "linf"

    def divided(self, factor: float) -> Self:
        """The seminorm divided by a positive factor."""
        return type(self)(self.map / factor)

    def image_error(self, points: Floats) -> float:
        """Twice that of the maximum norm, because an error e in the images moves the seminorm by at most `2 max |e_r|`."""
        return 2 * Norm(self.map, "linf").image_error(points)

    def between(self, left: Floats, right: Floats) -> Floats:
        """The seminorm of the differences of all rows of two sets of images."""
        return np.array([self.length(row - right) for row in left]).reshape(len(left), len(right))

    def _images(self, u: Sequence[Fraction]) -> list[Fraction]:
        return [Fraction(float(weight)) * c for weight, c in zip(self.map, u, strict=True)]


class Range(Spread):
    """`max_r w_r u_r - min_r w_r u_r`: the scores are the forms themselves.

    >>> Range(np.array([0.5, 0.5, 0.5])).exact([Fraction(1), Fraction(3), Fraction(2)])
    Fraction(1, 1)
    """

    def length(self, images: Floats) -> Floats:
        """Range along the last axis."""
        return np.asarray(np.ptp(images, axis=-1))

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
        """Sum of the two largest absolute values along the last axis."""
        size = images.shape[-1]
        return np.asarray(np.partition(np.abs(images), size - 2, axis=-1)[..., -2:].sum(axis=-1))

    def exact(self, u: Sequence[Fraction]) -> Fraction:
        """The sum as a rational number."""
        return sum(sorted(map(abs, self._images(u)))[-2:], Fraction(0))

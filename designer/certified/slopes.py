"""Answers that are affine in the places, up to little: how long a difference is, by the distance alone.

Of `p_i = A x_i + c + r_i` and a budget `rate |x_i - x_j|` the ratio is at most `max_v ||A v|| / (rate |v|)`, and what the
remainders r differ by over the budget: docs/theory/million.md, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from designer.certified.norms import Norm
from designer.problem.nearness import Nearness
from designer.base.arrays import Floats
from solvers.pairs.cones import steepest

LARGEST = 1e100  # numbers up to this size have products with slopes that are finite
GUARD = 2.0**-40  # relative, far above the rounding of float budgets and of a few sums


@dataclass(frozen=True)
class Slope:
    """`||p_i - p_j|| <= steep b(i, j) + apart` for all pairs of elements."""

    steep: float
    apart: float

    @classmethod
    def of(cls, near: Nearness, points: Floats, norm: Norm) -> Slope | None:
        """From the slopes that fit best; None where budgets are no norm of differences, there are too many coordinates, or
        the answers are far from affine.

        points: (N, R), of the elements.
        """
        places, sizes = near.features, np.abs(points).max(axis=0, initial=0.0)
        reaches = np.abs(places).max(axis=0, initial=0.0)
        if near.ball is None or not max(sizes.max(initial=0.0), reaches.max(initial=0.0)) < LARGEST:
            return None
        order, rate = near.ball
        if not rate < LARGEST:
            return None
        slopes = np.linalg.lstsq(places - places.mean(axis=0), points - points.mean(axis=0), rcond=None)[0]
        if not np.abs(slopes).max(initial=0.0) < LARGEST:
            return None
        rounding = (places.shape[1] + 8) * 2.0**-51 * (reaches @ np.abs(slopes) + sizes)
        widths = np.ptp(points - places @ slopes, axis=0) + 2 * rounding
        images, sums = norm.factor, (norm.dimension + places.shape[1] + len(norm.map) + 16) * 2.0**-50
        apart = float(norm.length(np.abs(images) @ widths[~norm.silent])) * (1 + sums)
        moves = images @ slopes[:, ~norm.silent].T
        highest = steepest(lambda ways: norm.length(ways @ moves.T), places.shape[1], order)
        if highest is None:
            return None
        error = sums * float(norm.length((np.abs(images) @ np.abs(slopes[:, ~norm.silent]).T).sum(axis=1)))
        steep = (highest + error) * (1 + GUARD) / rate
        return cls(steep, apart) if apart < steep * rate * float(np.ptp(places, axis=0).max(initial=0.0)) else None

"""What every solver hands back: a point, its value, and a bound that the value cannot beat."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Generic, TypeVar

from solvers.status import Status

Point = TypeVar("Point")


@dataclass(frozen=True)
class Solution(Generic[Point]):
    """A feasible `point` with `value`, and `lower_bound <= optimum <= value`, both recomputed from the data by this package.

    `gap = (value - lower_bound) / value` is therefore a statement about the point and not a backend's opinion.
    """

    status: Status
    point: Point
    value: float
    lower_bound: float
    iterations: int
    method: str

    @property
    def gap(self) -> float:
        """Relative optimality gap, `inf` where no bound is known."""
        return relative_gap(self.value, self.lower_bound)


def relative_gap(value: float, lower_bound: float) -> float:
    """`(value - lower_bound) / value`, at least 0; infinite when the bound is, or the value is not positive."""
    if value == lower_bound:
        return 0.0
    if not math.isfinite(lower_bound) or value <= 0.0:
        return math.inf
    return max(0.0, (value - lower_bound) / value)

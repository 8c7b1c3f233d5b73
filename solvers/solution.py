"""What every solver hands back: a point, its value, and a bound that the value cannot beat."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

# How a solver ended, as a value: the sentence says what happened and what to do about it.


class Status(Enum):
    """The outcome of a solver; `value` is a sentence with advice, fit for an error message."""

    OPTIMAL = "Solved: the certified gap is within the tolerance."
    STALLED = (
        "Feasible, but the certified gap stayed above the tolerance: use the point with its stated gap, or allow more "
        "iterations."
    )
    INFEASIBLE = (
        "No feasible point: some change has budget zero but moves the answers; give it a positive budget or drop the query."
    )
    TOO_LARGE = "The problem exceeds the stated size limit and was not started: raise the limit or choose another family."
    FAILED = "The backend returned no usable point: rescale the problem or choose another family."

    @property
    def usable(self) -> bool:
        """True when the solver left a feasible point."""
        return self in (Status.OPTIMAL, Status.STALLED)


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

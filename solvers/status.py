"""How a solver ended, as a value: the sentence says what happened and what to do about it."""

from __future__ import annotations

from enum import Enum


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

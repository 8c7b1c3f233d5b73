"""How good a design is among its kind: a different claim from privacy, never merged with it."""

from __future__ import annotations

from dataclasses import dataclass

from solvers.solution import relative_gap


@dataclass(frozen=True)
class Optimality:
    """`value` of the objective at the design, and `lower_bound` that no design of the same family can beat.

    `objective` says what is minimised, `method` how the bound was found. `gap = (value - lower_bound) / value`.
    """

    objective: str
    value: float
    lower_bound: float
    method: str

    @property
    def gap(self) -> float:
        """Relative gap; infinite when no bound is known."""
        return relative_gap(self.value, self.lower_bound)

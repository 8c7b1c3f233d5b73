"""How good a design is among its kind: a different claim from privacy, never merged with it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from designer.base.declared import assign
from designer.base.errors import UntrueBound
from designer.base.printing import printed
from designer.base.schema import Named, number, record, text
from solvers.solution import relative_gap


def bounded(objective: str, value: float, lower_bound: float, method: str, rounding: float = 0.0) -> Optimality:
    """The claim that a value is at least its bound. A bound above the value by up to `rounding` is the value, by more an
    `UntrueBound`: then one of them is wrong, and nothing that rests on either may be shown."""
    if not lower_bound <= value + rounding:
        raise UntrueBound(
            f"optimality: the bound {lower_bound!r} exceeds the value {value!r} that was reached by more than rounding, "
            f"{rounding!r}; this is an error of the program."
        )
    return Optimality(objective, value, min(lower_bound, value), method)


@dataclass(frozen=True)
class Optimality:
    """`value` of the objective at the design, and `lower_bound` that no design of the same family can beat.

    `objective` says what is minimised, `method` how the bound was found. `gap = (value - lower_bound) / value`. verified:
    computed here; False for the note of a file, which nothing recomputes and anybody may have written.
    """

    objective: str
    value: float
    lower_bound: float
    method: str
    verified: bool = field(default=True, compare=False)
    schema = Named(
        "optimality",
        record(
            {"objective": text(), "value": number(least=0), "lower_bound": number(least=0), "method": text()},
            note="A note: loading neither believes nor recomputes it.",
        ),
    )

    def __post_init__(self) -> None:
        for name in ("objective", "method"):
            assign(self, **{name: printed(getattr(self, name))})

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a spec, where every claim of optimality is a note."""
        return {"objective": self.objective, "value": self.value, "lower_bound": self.lower_bound, "method": self.method}

    @property
    def gap(self) -> float:
        """Relative gap; infinite when no bound is known, as after loading."""
        return relative_gap(self.value, self.lower_bound) if self.verified else math.inf

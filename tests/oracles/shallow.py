"""Options for tests of what any design must keep, however good it is: the family that searches, without its long descents."""

from __future__ import annotations

STRATEGY = {"iterations": 3, "keep": 1}


def shallow(family: str) -> dict[str, int]:
    """What to hand to `design(problem, family, ...)` where its optimality is not what is tested."""
    return STRATEGY if family == "strategy_laplace" else {}

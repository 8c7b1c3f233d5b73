"""What other families have reached: one that knows its loss before it is certified ends there, where another is ahead of it.

"auto" says it, for the problem that it designs. A family asks about its own problem: where it solves parts, or another problem
in the place of the one that it was given, nothing is known of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from designer.base.errors import DesignFailed
from designer.base.rounding import at_most
from designer.relations.problem import Problem

BEHIND = 1e-3  # of the loss: what floats, the grid and a repair may still change
_reached: ContextVar[tuple[Problem, float] | None] = ContextVar("reached", default=None)


class Outdone(DesignFailed):
    """The noise that a family found loses more than that of another family, and was not certified."""


@contextmanager
def beside(problem: Problem, reached: float) -> Iterator[None]:
    """Within this block designs of the problem are for one that loses less than `reached`; infinite for any."""
    token = _reached.set((problem, reached))
    try:
        yield
    finally:
        _reached.reset(token)


def refuse_outdone(problem: Problem, loss: float) -> None:
    """`Outdone` where another family has a loss of the problem clearly below this one, before it is certified.

    loss: the problem's own, up to `BEHIND` of it.
    """
    known = _reached.get()
    if known is not None and known[0] is problem and loss > known[1] * (1 + BEHIND):
        raise Outdone(f"not certified: its noise loses about {loss:.4g}, and {at_most(known[1])} is reached")

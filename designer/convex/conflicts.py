"""Why nothing is feasible: which of the user's constraints contradict each other and privacy, and how far each must give way.

All constraints are allowed to give way, at a price of one for each part of their size, and the least total is found. Its
multipliers are a certificate of Farkas: those constraints with a positive one cannot hold together. Constraints that are not
needed for the contradiction are dropped one by one; then each of the rest is relaxed alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import cvxpy as cp
import numpy as np

from designer.convex.constraints import OwnConstraint
from designer.convex.rounds import Answer, Rounds, Statement
from designer.values.arrays import Floats

# Of the size of a constraint: less than this is the inaccuracy of a solver, and no contradiction.
NEGLIGIBLE = 1e-6
SINGLED_OUT, ENTRIES = 12, 4


def explain(rounds: Rounds, own: Sequence[OwnConstraint], text: Callable[[Any], str]) -> str:
    """One or two sentences: the constraints that cannot hold together, and what each alone would have to be."""
    slacks = _give_way(rounds, (), own)
    if slacks is None or not own:
        return "nothing is feasible, and the solver found no reason; try another solver."
    if max(float(slack.max(initial=0.0)) for slack in slacks) < NEGLIGIBLE:
        return "the solver calls the constraints infeasible, but they give way by less than 1e-6; try another solver."
    conflict = _needed(rounds, own)
    whose = rounds.program.promise[1 if _contradict(rounds, conflict, private=False) else 0]
    listed = " and ".join(_called(stated, text) for stated in conflict)
    remedies = [remedy for stated in conflict if (remedy := _remedy(rounds, stated, conflict, text))]
    relax = " or ".join(remedies) or "one of them"
    return f"{listed} cannot hold {'together ' if len(conflict) > 1 else ''}{whose}. Relax {relax}."


def _called(stated: OwnConstraint, text: Callable[[Any], str]) -> str:
    words = text(stated.constraint)
    return f"{words!r}" if stated.text == words else f"{stated.text!r} ({words})"


def _give_way(
    rounds: Rounds, firm: Sequence[OwnConstraint], soft: Sequence[OwnConstraint], private: bool = True
) -> list[Floats] | None:
    """The slacks, relative to the size of each constraint, of least sum with which all hold; None where there are none."""
    relaxed = [stated.relaxed(stated.weights()) for stated in soft]
    total = sum((cp.sum(slack) for _, slack in relaxed), start=cp.Constant(0.0))
    statement = Statement(total, tuple(firm), extra=tuple(constraint for constraint, _ in relaxed))
    answer: Answer = rounds.run(statement, private)
    return [np.asarray(slack.value) for _, slack in relaxed] if answer.usable else None


def _contradict(rounds: Rounds, some: Sequence[OwnConstraint], private: bool = True) -> bool:
    slacks = _give_way(rounds, (), some, private)
    return slacks is not None and max((float(slack.max(initial=0.0)) for slack in slacks), default=0.0) > NEGLIGIBLE


def _needed(rounds: Rounds, own: Sequence[OwnConstraint]) -> list[OwnConstraint]:
    """Constraints that contradict each other, such that any one fewer would not; of very many, those that contradict at all."""
    kept = list(own)
    for stated in own if len(own) <= SINGLED_OUT else ():
        rest = [other for other in kept if other is not stated]
        if rest and _contradict(rounds, rest):
            kept = rest
    return kept


def _remedy(rounds: Rounds, stated: OwnConstraint, conflict: Sequence[OwnConstraint], text: Callable[[Any], str]) -> str | None:
    """How far one constraint must give way while the others of the conflict stay as they are; None where that does not help."""
    weights = stated.weights()
    slacks = _give_way(rounds, [other for other in conflict if other is not stated], [stated])
    if slacks is None or stated.kind == "cone":
        return None
    amount = slacks[0] / weights * (1 + 1e-5)
    return f"{stated.text!r} {_by(stated, amount)}"


def _by(stated: OwnConstraint, amount: Floats) -> str:
    """A bound that is a number as the number that it must become; the amount otherwise."""
    if amount.ndim:
        worst = [place for place in np.argsort(-amount, axis=None)[:ENTRIES] if amount.flat[place] > 0]
        return "by " + ", ".join(f"{amount.flat[place]:.6g} in entry {place}" for place in worst)
    left, right = [*stated.constraint.args, None][:2]
    if stated.kind == "at most" and right is not None and right.is_constant():
        return f"to at most {float(right.value) + float(amount):.6g}"
    if stated.kind == "at most" and left.is_constant():
        return f"to at least {float(left.value) - float(amount):.6g}"
    return f"by {float(amount):.6g}"

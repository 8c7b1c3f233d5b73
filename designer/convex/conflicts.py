"""Why nothing is feasible: which of the user's constraints contradict each other and privacy, and how far each must give way.

All constraints are allowed to give way, at a price of one for each part of their size, and the least total is found. Its
multipliers are a certificate of Farkas: the constraints with a positive one cannot hold together. Those that are not needed for
the contradiction are dropped one by one; then each of the rest is relaxed alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

from designer.convex.constraints import OwnConstraint
from designer.convex.rounds import Rounds, Statement
from designer.values.arrays import Floats

# Of the size of a constraint: less than this is the inaccuracy of a solver, and no contradiction.
NEGLIGIBLE = 1e-6
# Constraints that are tried one by one, and entries of one constraint that are listed.
SINGLED_OUT, ENTRIES = 12, 4


@dataclass(frozen=True)
class _Given:
    """How far each soft constraint gave way, entry by entry, in parts of its size, 1 / weight; multipliers, and their sum over
    the pairs."""

    slacks: list[Floats]
    weights: list[Floats]
    multipliers: list[Floats]
    private: float

    @property
    def total(self) -> float:
        return float(sum(slack.sum() for slack in self.slacks))

    def blamed(self, place: int) -> Any:
        """The entries of one constraint that the certificate needs."""
        largest = max(float(np.abs(m).max(initial=0.0)) for m in self.multipliers)
        return np.abs(self.multipliers[place]) > 1e-5 * largest


def explain(rounds: Rounds, own: Sequence[OwnConstraint], text: Callable[[Any], str]) -> str | None:
    """Two sentences: the constraints that cannot hold together, and what each alone would have to be.

    None where no contradiction is found: all hold, up to the accuracy of the solver, or it has no answer.
    """
    given = _give_way(rounds, (), own) if own else None
    if given is None or given.total < NEGLIGIBLE:
        return None
    blamed = [stated for place, stated in enumerate(own) if given.blamed(place).any()]
    if not blamed:
        return None
    conflict = _needed(rounds, blamed)
    last = _give_way(rounds, (), conflict)
    whose = rounds.program.promise[1 if last and last.private < NEGLIGIBLE * last.total else 0]
    listed = " and ".join(_called(stated, text) for stated in conflict)
    remedies = [remedy for stated in conflict if (remedy := _remedy(rounds, stated, conflict, text))]
    together = "together " if len(conflict) > 1 else ""
    return f"{listed} cannot hold {together}{whose}. Relax {', or '.join(remedies) or 'one of them'}."


def least_violation(rounds: Rounds, own: Sequence[OwnConstraint]) -> float:
    """The least sum by which the user's constraints must give way, in parts of their size; the answer is left in the variables.

    Infinite where a solver finds none.
    """
    given = _give_way(rounds, (), own)
    return np.inf if given is None else given.total


def _called(stated: OwnConstraint, text: Callable[[Any], str]) -> str:
    words = text(stated.constraint)
    return words if stated.text == words else f"{stated.text!r} ({words})"


def _give_way(rounds: Rounds, firm: Sequence[OwnConstraint], soft: Sequence[OwnConstraint]) -> _Given | None:
    """The slacks of least sum with which all hold, sizes taken where the program starts; None where a solver finds none."""
    rounds.program.start()
    weights = [stated.weights() for stated in soft]
    relaxed = [stated.relaxed(weight) for stated, weight in zip(soft, weights, strict=True)]
    total = sum((cp.sum(slack) for _, slack in relaxed), start=cp.Constant(0.0))
    answer = rounds.run(Statement(total, tuple(firm), extra=tuple(constraint for constraint, _ in relaxed)))
    if not answer.usable:
        return None
    pairs = float(sum(np.abs(multiplier).sum() for multiplier in answer.multipliers))
    return _Given([np.asarray(slack.value) for _, slack in relaxed], weights, list(answer.extra), pairs)


def _needed(rounds: Rounds, some: Sequence[OwnConstraint]) -> list[OwnConstraint]:
    """Constraints that contradict each other, such that any one fewer would not; of very many, those that were given."""
    kept = list(some)
    for stated in some if len(some) <= SINGLED_OUT else ():
        rest = [other for other in kept if other is not stated]
        given = _give_way(rounds, (), rest) if rest else None
        if given is not None and given.total > NEGLIGIBLE:
            kept = rest
    return kept


def _remedy(rounds: Rounds, stated: OwnConstraint, conflict: Sequence[OwnConstraint], text: Callable[[Any], str]) -> str | None:
    """How far one constraint must give way while the others of the conflict stay as they are; None where that does not help."""
    given = _give_way(rounds, [other for other in conflict if other is not stated], [stated])
    if given is None or stated.kind == "cone":
        return None
    amount = given.slacks[0] / given.weights[0] * (1 + 1e-5)
    if not amount.ndim:
        return f"{stated.text!r} {_by(stated, amount)}"
    worst = [place for place in np.argsort(-given.slacks[0], axis=None)[:ENTRIES] if given.slacks[0].flat[place] > NEGLIGIBLE]
    entries = (f"{_entry(stated, place, text)} by {amount.flat[place]:.6g}" for place in worst)
    return f"{stated.text!r}: {', '.join(entries)}"


def _entry(stated: OwnConstraint, place: int, text: Callable[[Any], str]) -> str:
    """One entry of a constraint on a vector by the text of its varying side; of a larger one its place."""
    for side in stated.constraint.args:
        if not side.is_constant() and side.ndim == 1:
            return text(side[int(place)])
    return f"entry {place}"


def _by(stated: OwnConstraint, amount: Floats) -> str:
    """A bound that is a number as the number that it must become; the amount otherwise."""
    left, right = [*stated.constraint.args, None][:2]
    if stated.kind == "at most" and right is not None and right.is_constant():
        return f"to at most {float(right.value) + float(amount):.6g}"
    if stated.kind == "at most" and right is not None and left.is_constant():
        return f"to at least {float(left.value) - float(amount):.6g}"
    return f"by {float(amount):.6g}"

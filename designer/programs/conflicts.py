"""Why nothing is feasible: which of the user's constraints contradict each other and privacy, and how far each must give way.

All constraints are allowed to give way, at a price of one for each part of their size, and the least total is bounded from both
sides: from above by a point, measured at its values, and from below by multipliers, a certificate of Farkas whose Lagrangian is
evaluated again (`lagrangian_bound`). Neither depends on how a solver says that it ended. Where the bound is positive, the
constraints cannot hold together. Those that the contradiction does not need are dropped one by one; then each of the rest is
relaxed alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import cvxpy as cp
import numpy as np

from designer.base.arrays import Floats
from designer.programs.bounds import LinearTerm, Slopes, lagrangian_bound
from designer.programs.constraints import OwnConstraint
from designer.programs.rounds import DEFAULT, Rounds, Separable, SolverAnswer, Statement

# Of the size of a constraint: less than this is the inaccuracy of a solver, and no contradiction.
NEGLIGIBLE = 1e-6
# Constraints that are tried one by one, and entries of one constraint that are listed.
SINGLED_OUT, ENTRIES = 12, 4
# Who is asked, in turn, until the two bounds are as close as a part of the total: ROUGH where it only matters whether all hold,
# CLOSE where the amount is told; each again in the units of its answer, so often.
SOLVERS: Mapping[str, Mapping[str, Any]] = {DEFAULT: {}, "SCS": {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 20000}}
ROUGH, CLOSE, UNITS = 1e-3, 1e-5, 8
# The pairs have no part in a contradiction that stands at points so many times larger than they allow.
WIDE = 1e3
# What is offered is more than the least by this part, in so many digits.
SPARE, DIGITS = 1e-4, 4


class Judged(Separable, Protocol):
    """A program whose private points may be enclosed."""

    encloses_all: ClassVar[bool]

    def least_linear(self, slopes: Slopes) -> float | None: ...


@dataclass(frozen=True)
class _Slack:
    """How far soft constraints give way in all, in parts of their size, 1 / weight.

    slacks: at the best point that was found, entry by entry; total: their sum. least: no point needs less, -inf where nothing
    is proven. alone: the same at points `WIDE` times larger than the pairs allow. multipliers: of each soft constraint, behind
    `least`, or of the last answer.
    """

    slacks: list[Floats]
    weights: list[Floats]
    total: float
    least: float
    alone: float
    multipliers: list[Floats]

    @property
    def contradicts(self) -> bool:
        """Whether there is, or, where nothing can be proven, seems to be, no point at which all hold."""
        return self.least > 0 if np.isfinite(self.least) else self.total > NEGLIGIBLE

    def settled(self, close: float) -> bool:
        """Whether another solver has nothing to add."""
        return self.total <= NEGLIGIBLE or self.total - self.least <= close * self.total

    def blamed(self, place: int) -> bool:
        """Whether the certificate needs one constraint."""
        largest = max(float(np.abs(m).max(initial=0.0)) for m in self.multipliers)
        return float(np.abs(self.multipliers[place]).max(initial=0.0)) > 1e-5 * largest


def explain(program: Judged, own: Sequence[OwnConstraint], text: Callable[[Any], str]) -> str | None:
    """Two sentences: the constraints that cannot hold together, and what each alone would have to be.

    None where no contradiction is found: all hold, up to `NEGLIGIBLE`, or no solver has an answer.
    """
    given = _give_way(program, (), own) if own else None
    if given is None or not given.contradicts:
        return None
    blamed = [stated for place, stated in enumerate(own) if stated.kind != "cone" and given.blamed(place)]
    conflict = _needed(program, blamed) if blamed else []
    found = _give_way(program, (), conflict) if conflict else None
    if found is None or not found.contradicts:
        conflict, found = list(own), given
    whose = program.promise[1 if found.alone > 0.9 * found.least else 0]
    listed = " and ".join(_called(stated, text) for stated in conflict)
    remedies = [remedy for stated in conflict if (remedy := _remedy(program, stated, conflict, text))]
    together = "together " if len(conflict) > 1 else ""
    if np.isfinite(found.least):
        said = f"{listed} cannot hold {together}{whose}."
    else:
        said = f"no values were found that satisfy {listed} {together}{whose}; nothing proves that there are none."
    return f"{said} Relax {', or '.join(remedies) or 'one of them'}."


def least_violation(program: Judged, own: Sequence[OwnConstraint]) -> float:
    """The least sum by which the user's constraints must give way, in parts of their size; the answer is left in the variables.

    Infinite where no solver finds one.
    """
    given = _give_way(program, (), own)
    return np.inf if given is None else given.total


def _called(stated: OwnConstraint, text: Callable[[Any], str]) -> str:
    words = text(stated.constraint)
    return words if stated.text == words else f"{stated.text!r} ({words})"


def _give_way(
    program: Judged, firm: Sequence[OwnConstraint], soft: Sequence[OwnConstraint], close: float = ROUGH
) -> _Slack | None:
    """The slacks of least sum with which all hold, sizes taken where the program starts; None where no solver has values."""
    best, kept = None, {}
    for found in _answers(program, firm, soft):
        if best is None or found.total < best.total:
            kept = {variable: variable.value for variable in program.variables.values()}
        best = found if best is None else _better(best, found)
        if best.settled(close):
            break
    for variable, value in kept.items():
        variable.save_value(value)
    return best


def _better(one: _Slack, other: _Slack) -> _Slack:
    """The point of one and the multipliers of the other: each is a bound by itself."""
    upper, lower = min(one, other, key=lambda given: given.total), max(one, other, key=lambda given: given.least)
    return replace(lower, slacks=upper.slacks, total=upper.total)


def _answers(program: Judged, firm: Sequence[OwnConstraint], soft: Sequence[OwnConstraint]) -> Iterator[_Slack]:
    """What each solver finds, in units that follow its answers; the values are in the variables."""
    for solver, options in SOLVERS.items():
        program.start()
        weights = [stated.weights() for stated in soft]
        relaxed = [stated.relaxed(weight) for stated, weight in zip(soft, weights, strict=True)]
        total = sum((cp.sum(slack) for _, slack in relaxed), start=cp.Constant(0.0))
        statement = Statement(total, tuple(firm), extra=tuple(c for constraints, _ in relaxed for c in constraints))
        for _ in range(UNITS):
            answer = Rounds(program, solver, options).run(statement)
            if not answer.usable:
                break
            yield _measured(program, answer, firm, soft, weights)
            if not program.rescale():
                break


def _measured(
    program: Judged, answer: SolverAnswer, firm: Sequence[OwnConstraint], soft: Sequence[OwnConstraint], weights: list[Floats]
) -> _Slack:
    """Both bounds of one answer; no total where the pairs or what is firm do not hold at it."""
    slacks = [stated.slack(weight) for stated, weight in zip(soft, weights, strict=True)]
    off = max((stated.violation() for stated in firm), default=0.0)
    holds = off <= NEGLIGIBLE and answer.worst <= 1 + NEGLIGIBLE
    extra, terms, multipliers = iter(answer.extra), [], []
    for stated, weight in zip(soft, weights, strict=True):
        own = [next(extra) for _ in range(2 if stated.kind == "equal" else 1)]
        if stated.kind != "cone":
            terms.append(LinearTerm(stated.expr, stated.priced(weight, own)))
        multipliers.append(own[0] - own[1] if stated.kind == "equal" else own[0])

    def wide(slopes: Slopes) -> float | None:
        found = program.least_linear(slopes)
        return None if found is None else WIDE * min(0.0, found)

    least = alone = None
    if program.encloses_all:
        least = lagrangian_bound((*answer.constraints, *terms), program.variables, program.least_linear)
        alone = lagrangian_bound((*answer.constraints[len(program.privacy) :], *terms), program.variables, wide)
    total = float(sum(slack.sum() for slack in slacks)) if holds else np.inf
    return _Slack(slacks, weights, total, -np.inf if least is None else least, -np.inf if alone is None else alone, multipliers)


def _needed(program: Judged, some: Sequence[OwnConstraint]) -> list[OwnConstraint]:
    """Constraints that contradict each other, such that any one fewer would not; of very many, those that were given."""
    kept = list(some)
    for stated in some if len(some) <= SINGLED_OUT else ():
        rest = [other for other in kept if other is not stated]
        given = _give_way(program, (), rest) if rest else None
        if given is not None and given.contradicts:
            kept = rest
    return kept


def _remedy(program: Judged, stated: OwnConstraint, whole: Sequence[OwnConstraint], text: Callable[[Any], str]) -> str | None:
    """How far one constraint must give way while the others of the conflict stay as they are; None where that does not help.

    One bound of many entries stays one bound.
    """
    firm = [other for other in whole if other is not stated]
    stated = replace(stated, jointly=_one_bound(stated))
    given = _give_way(program, firm, [stated], CLOSE)
    if given is None or not np.isfinite(given.total) or stated.kind == "cone":
        return None
    amount = given.slacks[0] / given.weights[0] * (1 + SPARE)
    if stated.jointly or not amount.ndim:
        return f"{stated.text!r} {_by(stated, float(amount.max()))}"
    order = sorted(range(amount.size), key=lambda place: (-_above(float(given.slacks[0].flat[place])), place))
    worst = [place for place in order[:ENTRIES] if given.slacks[0].flat[place] > NEGLIGIBLE]
    entries = [f"{_entry(stated, place, text)} by {_above(float(amount.flat[place])):.12g}" for place in worst]
    more = int((given.slacks[0] > NEGLIGIBLE).sum()) - len(worst)
    entries += [f"and {more} more {'entry' if more == 1 else 'entries'}"] if more else []
    return f"{stated.text!r}: {', '.join(entries)}"


def _one_bound(stated: OwnConstraint) -> bool:
    """Whether it bounds all its entries by the same number."""
    sides = [side for side in stated.constraint.args if side.is_constant()] if stated.kind == "at most" else []
    return any(np.ptp(np.asarray(side.value)) == 0 for side in sides)


def _entry(stated: OwnConstraint, place: int, text: Callable[[Any], str]) -> str:
    """One entry of a constraint on a vector by the text of its varying side; of a larger one its place."""
    for side in stated.constraint.args:
        if not side.is_constant() and side.ndim == 1:
            return text(side[int(place)])
    return f"entry {place}"


def _by(stated: OwnConstraint, amount: float) -> str:
    """A bound that is a number as the number that it must become; the amount otherwise."""
    left, right = [*stated.constraint.args, None][:2]
    if stated.kind == "at most" and right is not None and right.is_constant():
        return f"to at most {_above(float(np.max(right.value)) + amount):.12g}"
    if stated.kind == "at most" and right is not None and left.is_constant():
        return f"to at least {-_above(amount - float(np.max(left.value))):.12g}"
    return f"by {_above(amount):.12g}"


def _above(value: float) -> float:
    """The least number of few digits that is at least as large."""
    if value == 0 or not np.isfinite(value):
        return float(value)
    step = 10.0 ** (np.floor(np.log10(abs(value))) + 1 - DIGITS)
    return float(np.ceil(value / step) * step)

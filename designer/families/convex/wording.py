"""What a program's expressions are called in messages, and why an expression is not convex."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import cvxpy as cp
from cvxpy.constraints.nonpos import Inequality
from cvxpy.constraints.zero import Equality

from designer.base.errors import InvalidProblem

# The names along every axis, or, where axes have names of their own, those of each.
Places = Sequence[str] | Sequence[Sequence[str]]
Named = Mapping[str, tuple[Any, Places]]


def in_words(thing: Any, named: Named) -> str:
    """The text of an expression or a constraint, with the names of the program for its parts and of the queries for places.

    named: for each name an expression, and the names along its axes, which may be none.
    """
    stand_ins = {id(part): cp.Variable(part.shape, name=name) for name, (part, _) in named.items()}
    text = " ".join(str(thing.tree_copy(stand_ins)).split())
    for name, (_, places) in named.items():
        text = re.sub(rf"\b{re.escape(name)}\[([\d, ]+)\]", partial(_placed, places=places), text)
    return text


def _placed(found: re.Match[str], places: Places) -> str:
    numbers = [int(number) for number in found[1].split(",")]
    axes = [places] * len(numbers) if not places or isinstance(places[0], str) else places
    if any(number >= len(axis) for number, axis in zip(numbers, axes, strict=False)):
        return found[0]
    return f"{found[0].split('[')[0]}[{', '.join(repr(axis[number]) for number, axis in zip(numbers, axes, strict=False))}]"


def require_convex(thing: Any, text: str, named: Named, field: str) -> None:
    """`InvalidProblem` for a constraint, or an objective to be minimised, that is not convex by the rules of CVXPY (DCP);
    it says which expression is at fault, and why."""
    if thing.is_dcp():
        return
    for part in thing.args:
        if (fault := _fault(part)) is not None:
            raise InvalidProblem(
                f"{field}: {text} is not convex: {in_words(fault, named)!r} is neither convex nor concave by the rules of "
                "CVXPY; state it by atoms whose curvature is known.",
                value=text,
            )
    raise InvalidProblem(f"{field}: {text} is not convex: {_sides(thing, named)}", value=text)


def _fault(expression: Any) -> Any:
    """The innermost expression that follows no rule; None where all do."""
    if expression.is_dcp():
        return None
    return next((fault for part in expression.args if (fault := _fault(part)) is not None), expression)


def _sides(thing: Any, named: Named) -> str:
    if isinstance(thing, Inequality):
        left, right = thing.args
        if not left.is_convex():
            return f"{in_words(left, named)!r} is {left.curvature.lower()}, and what is at most something must be convex."
        return f"{in_words(right, named)!r} is {right.curvature.lower()}, and what is at least something must be concave."
    if isinstance(thing, Equality):
        return "both sides of an equality must be affine; an inequality may do, or the same statement about other variables."
    return "an objective to be minimised must be convex, and a cone takes affine expressions."

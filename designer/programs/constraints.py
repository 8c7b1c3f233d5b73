"""Constraints of the user's own: their kind, how far numbers break them, and their form for a solver.

Four kinds are told apart: `expr <= 0` (every inequality), `expr == 0`, `expr >> 0` (semidefinite), and other cones, which are
handed on as they are. Violations are relative to the size of the terms of the constraint, so that no unit matters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.atoms.affine.affine_atom import AffAtom
from cvxpy.atoms.affine.unary_operators import NegExpression
from cvxpy.constraints.nonpos import Inequality, NonNeg, NonPos
from cvxpy.constraints.psd import PSD
from cvxpy.constraints.zero import Equality, Zero

from designer.base.arrays import Floats
from designer.base.errors import InvalidProblem
from designer.certificate.norms import Norm
from designer.certificate.sensitivity import SensitivitySet

# What an inequality may be off by: the rounding of the floats that evaluate it. What is fitted by a solver, an equality above
# all, is met up to its accuracy.
ROUNDING, EQUAL = 2.0**-48, 1e-6


@dataclass(frozen=True, eq=False)
class OwnConstraint:
    """A constraint of the user's own, and what messages call it: the name that it was given, or its text.

    foreign: whether it speaks of variables that the user brought along, which are fitted to the frozen noise by a solver.
    jointly: whether all entries of an inequality give way by the same part of their size.
    """

    constraint: Any
    text: str
    foreign: bool = False
    jointly: bool = False

    @cached_property
    def kind(self) -> str:
        """ "at most", "equal", "semidefinite" or "cone"."""
        if isinstance(self.constraint, (Inequality, NonNeg, NonPos)):
            return "at most"
        if isinstance(self.constraint, (Equality, Zero)):
            return "equal"
        return "semidefinite" if isinstance(self.constraint, PSD) else "cone"

    @cached_property
    def expr(self) -> Any:
        """What is at most 0, equal to 0, or semidefinite; None for another cone."""
        if self.kind == "cone":
            return None
        first = self.constraint.args[0]
        if isinstance(self.constraint, (Inequality, Equality)):
            return first - self.constraint.args[1]
        return -first if isinstance(self.constraint, NonNeg) else first

    @property
    def allowed(self) -> float:
        """The relative violation that counts as none."""
        return ROUNDING if self.kind == "at most" and not self.foreign else EQUAL

    def weights(self) -> Floats:
        """The reciprocal size of each entry: of a side that is a number, or else of the terms at the present values; 1 where
        nothing is known."""
        if self.expr is None:
            return np.ones(())
        with np.errstate(all="ignore"):
            size = size_of(self.expr)
            for side in self.constraint.args if self.kind != "semidefinite" else ():
                fixed = np.abs(_plain(side.value)) if side.is_constant() else np.zeros(())
                size = np.where(fixed > 0, fixed, size)
            if self.kind == "semidefinite":
                size = np.asarray(size.max(initial=0.0))
            inverse = 1 / size
        return np.where(np.isfinite(inverse) & (inverse > 0), inverse, 1.0)

    def violation(self) -> float:
        """How far the present values break it, relative to the size of its terms; infinite where it has no value."""
        if self.expr is None:
            return float(np.max(self.constraint.violation()))
        return float(self.slack(self.weights()).max(initial=0.0))

    def for_solver(self, weights: Floats, margin: float = 0.0) -> Any:
        """The same constraint in units in which its terms are about 1, an inequality tightened by `margin`.

        weights: those of `weights()`, a number for each entry, (...,).
        """
        if self.kind == "at most":
            return cp.multiply(weights, self.expr) <= -margin
        if self.kind == "equal":
            return cp.multiply(weights, self.expr) == 0
        if self.kind == "semidefinite":
            return weights * self.expr >> margin * np.eye(self.expr.shape[0])
        return self.constraint

    def relaxed(self, weights: Floats) -> tuple[tuple[Any, ...], Any]:
        """Constraints that give way, and the nonnegative slack that says by how much.

        It has the shape of its entries, or is one number for all where they give way jointly.

        weights: those of `weights()`, (...,). An equality gives way on each side.
        """
        if self.kind == "cone":
            return (self.constraint,), cp.Constant(0.0)
        if self.kind == "semidefinite":
            slack = cp.Variable(nonneg=True)
            return (weights * self.expr + slack * np.eye(self.expr.shape[0]) >> 0,), slack
        slack = cp.Variable(() if self.jointly else self.expr.shape, nonneg=True)
        scaled = cp.multiply(weights, self.expr)
        return (scaled <= slack, *((-scaled <= slack,) if self.kind == "equal" else ())), slack

    def slack(self, weights: Floats) -> Floats:
        """How far the present values are off, entry by entry as in `relaxed`; infinite where there are none, or of a cone that
        does not hold.

        weights: those of `weights()`, (...,).
        """
        if self.expr is None:
            return np.asarray(0.0 if self.violation() <= self.allowed else np.inf)
        with np.errstate(all="ignore"):
            value = self.expr.value
        if value is None or np.isnan(value).any():
            return np.full(() if self.kind == "semidefinite" or self.jointly else self.expr.shape, np.inf)
        if self.kind == "semidefinite":
            return np.asarray(max(0.0, -float(np.linalg.eigvalsh((value + value.T) / 2)[0] * weights)))
        off = np.asarray((np.abs(value) if self.kind == "equal" else np.maximum(value, 0.0)) * weights)
        return np.asarray(off.max(initial=0.0)) if self.jointly else off

    def priced(self, weights: Floats, multipliers: Sequence[Floats]) -> Floats:
        """Multipliers of `expr`, which price no slack above its cost of 1, from those of `relaxed`, each of its shape.

        weights: those of `weights()`, (...,). multipliers: one for each constraint of `relaxed`, (...,).
        """
        if self.kind == "semidefinite":
            return np.asarray(-weights * multipliers[0] / max(1.0, float(np.trace(multipliers[0]))))
        signed = multipliers[0] - multipliers[1] if self.kind == "equal" else multipliers[0]
        if self.jointly:
            signed = signed / max(1.0, float(np.abs(signed).sum()))
        return np.asarray(weights * np.clip(signed, -1.0, 1.0))


def each_entry(constraint: Any) -> Any:
    """`max(x) <= c` as `x <= c`, of which each entry has a multiplier of its own; any other constraint as it is."""
    if isinstance(constraint, Inequality):
        largest, bound = constraint.args
        if isinstance(largest, cp.max) and largest.axis is None:
            return largest.args[0] <= bound
    return constraint


def size_of(expression: Any) -> Floats:
    """The size of an expression's terms at the present values, entry by entry: of `a - b` that is `|a| + |b|`."""
    if not expression.args:
        value = expression.value
        return np.full(expression.shape, np.nan) if value is None else np.abs(_plain(value))
    if isinstance(expression, AffAtom):
        parts = [size_of(part) for part in expression.args]
        return parts[0] if isinstance(expression, NegExpression) else np.abs(_plain(expression.numeric(parts)))
    value = expression.value
    return np.full(expression.shape, np.nan) if value is None else np.abs(_plain(value))


def _plain(value: Any) -> Floats:
    return np.asarray(value.toarray() if hasattr(value, "toarray") else value, dtype=np.float64)


# What a program's expressions are called in messages, and why an expression is not convex.


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


# A working set of rows, grown by exact separation.


# Of so many rows and more those are left out that one of the longest, so many, implies.
MANY, LONGEST = 10_000, 2_000


def without_implied(rows: Floats) -> Floats:
    """Rows of `rows w <= 1`, w >= 0, without those that are nowhere above another one; of few rows all, (M, s)."""
    if len(rows) < MANY:
        return rows
    rows = rows[np.argsort(-(rows / rows.max(axis=0)).sum(axis=1), kind="stable")]
    kept: list[Floats] = []
    while len(rows) and len(kept) < LONGEST:
        kept.append(rows[0])
        rows = rows[(rows > rows[0]).any(axis=1)]
    return np.vstack([*kept, rows])


# A row that is exceeded by less than this is not worth another round: repair divides by it.
NOTICED = 1e-9


@dataclass(frozen=True)
class Separated:
    """What a scan of all pairs found: the largest ratio of a length to its budget, and how many pairs joined."""

    worst: float
    added: int


class WorkingPairs:
    """Vectors u / b that a program states one by one; all others are looked for by scans."""

    def __init__(self, rows: Floats) -> None:
        """rows: (M, s), finite; zero rows and repetitions are dropped."""
        self.rows = np.unique(rows[np.abs(rows).max(axis=1, initial=0.0) > 0], axis=0)

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, rows: Floats) -> None:
        """All of these, (M, s), besides those that are known."""
        self.rows = WorkingPairs(np.concatenate([self.rows, rows])).rows

    def separate(
        self, moving: SensitivitySet, norm: Norm, one_of_signs: Callable[[Floats], Floats] = np.abs, budget: float = 1.0
    ) -> Separated:
        """Scan all pairs in a norm; those noticeably longer than their budgets, and than what the solver knew, join.

        one_of_signs: makes one row of those that the norm does not tell apart. budget: a part of every budget.
        """
        worst, pairs = moving.worst(norm, limit=max(200, 4 * moving.dimension))
        rows, before = one_of_signs(pairs.normalised), len(self)
        least = (1 + NOTICED) * max(budget, float(norm(self.rows).max()))
        self.rows = np.unique(np.concatenate([self.rows, rows[norm(rows) > least]]), axis=0)
        return Separated(worst / budget, len(self) - before)

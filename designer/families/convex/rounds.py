"""Solving in rounds: a solver on the working set, a scan of every pair, and again until every pair holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import cvxpy as cp
import numpy as np
from cvxpy.atoms.max import max as MaxEntries
from cvxpy.constraints.psd import PSD
from cvxpy.constraints.zero import Equality

from designer.base.arrays import Floats
from designer.base.progress import announce
from designer.families.convex.bounds import LinearTerm
from designer.families.convex.constraints import OwnConstraint
from designer.families.convex.separation import Separated
from designer.families.convex.solving import USABLE, solve_with

ROUNDS = 60


class Separable(Protocol):
    """What a program tells the rounds."""

    title: ClassVar[str]
    promise: tuple[str, str]

    @property
    def variables(self) -> dict[str, Any]: ...
    @property
    def privacy(self) -> tuple[Any, ...]: ...
    @property
    def definitions(self) -> tuple[Any, ...]: ...
    @property
    def in_units(self) -> Mapping[Any, Any]: ...
    def separate(self) -> Separated: ...
    def start(self) -> None: ...
    def rescale(self) -> bool: ...


@dataclass(frozen=True, eq=False)
class Statement:
    """What is asked beside privacy: an objective, constraints of the user's own with a margin each, and extra constraints."""

    objective: Any
    own: tuple[OwnConstraint, ...] = ()
    margins: tuple[float, ...] = ()
    extra: tuple[Any, ...] = ()


@dataclass(frozen=True, eq=False)
class SolverAnswer:
    """How the rounds ended. worst: the largest ratio of a pair at the answer.

    multipliers: of each constraint of `privacy`, (M,).
    objective, constraints: the terms of the Lagrangian at the answer, in the units of the user. parts: of an objective that is
    a largest entry, the weights of the entries, (K,), of sum 1, that their multipliers give. extra: multipliers of these
    constraints, each of its shape, (...,).
    leeway: what it is worth that the user's constraints count as held up to `OwnConstraint.allowed`.
    """

    status: str
    worst: float
    rounds: int
    multipliers: tuple[Floats, ...] = ()
    objective: LinearTerm | None = None
    constraints: tuple[LinearTerm, ...] = ()
    parts: Floats | None = None
    extra: tuple[Floats, ...] = ()
    leeway: float = 0.0

    @property
    def usable(self) -> bool:
        """Whether there are values."""
        return self.status in (*USABLE, "stalled")


class Rounds:
    """Rounds of one solver with its options on one program."""

    def __init__(self, program: Separable, solver: str, options: Mapping[str, Any]) -> None:
        self.program, self.solver, self.options = program, solver, options

    def run(self, statement: Statement) -> SolverAnswer:
        """Solve until every pair holds. The answer is left in the variables."""
        announce(f"{self.title}: {self.solver}")
        for count in range(1, ROUNDS + 1):
            posed = _Posed(self.program, statement)
            status = solve_with(posed.problem, self.solver, self.options)
            if status not in USABLE or not posed.has_values():
                return SolverAnswer("without values" if status in USABLE else status, np.inf, count)
            posed.hand_back()
            found = self.program.separate()
            if not found.added:
                return posed.answer(status, found.worst, count)
        return posed.answer("stalled", found.worst, count)

    @property
    def title(self) -> str:
        """The name of the program."""
        return self.program.title


def whole_problem(program: Separable, statement: Statement) -> cp.Problem:
    """What is asked on the present working set, as one problem of CVXPY."""
    return _Posed(program, statement).whole()


class _Posed:
    """The program as a solver sees it: dimensionless variables, terms of constraints of size 1, an objective of size 1."""

    def __init__(self, program: Separable, statement: Statement) -> None:
        self.program, self.statement = program, statement
        self.units = {id(variable): stand_in for variable, stand_in in program.in_units.items()}
        self.privacy, self.definitions = program.privacy, program.definitions
        self.weights = [own.weights() for own in statement.own]
        margins = statement.margins or (0.0,) * len(statement.own)
        self.own = [
            self._inner(own.for_solver(weight, margin))
            for own, weight, margin in zip(statement.own, self.weights, margins, strict=True)
        ]
        self.inner = [self._inner(constraint) for constraint in self.privacy]
        self.meant = [self._inner(constraint) for constraint in self.definitions]
        self.peak, minimised, above = _epigraph(statement.objective)
        self.size = _size(statement.objective)
        self.above = [] if self.peak is None else [self._inner(self.peak) / self.size <= above]
        scaled = self._inner(minimised) / self.size if self.peak is None else above
        self.extra = [self._inner(constraint) for constraint in statement.extra]
        self.problem = cp.Problem(cp.Minimize(scaled), [*self.above, *self.inner, *self.meant, *self.own, *self.extra])

    def _inner(self, thing: Any) -> Any:
        return thing.tree_copy(self.units) if self.units else thing

    def whole(self) -> cp.Problem:
        """The same with the objective at its own size, in the variables of the program beside the dimensionless ones."""
        known = [variable for variable in self.program.variables.values() if variable in self.program.in_units]
        own = [self._inner(variable) == variable for variable in known]
        return cp.Problem(self.problem.objective * self.size, [*self.problem.constraints, *own])

    def has_values(self) -> bool:
        return all(variable.value is not None for variable in self.problem.variables())

    def hand_back(self) -> None:
        """Values of the program's variables from the dimensionless ones, and multipliers in the user's units."""
        for variable in self.program.variables.values():
            if (stand_in := self.program.in_units.get(variable)) is not None and stand_in.value is not None:
                variable.save_value(stand_in.value)
        for outer, inner in zip(self.privacy, self.inner, strict=True):
            if outer is not inner and inner.dual_value is not None:
                outer.save_dual_value(inner.dual_value * self.size)

    def answer(self, status: str, worst: float, rounds: int) -> SolverAnswer:
        multipliers = tuple(self._multiplier(constraint) for constraint in self.inner)
        own = tuple(self._multiplier(constraint) * weights for constraint, weights in zip(self.own, self.weights, strict=True))
        parts = self._parts()
        objective = LinearTerm(self.statement.objective, np.ones(())) if parts is None else LinearTerm(self.peak, parts)
        extra = tuple(self._multiplier(constraint) for constraint in self.extra)
        return SolverAnswer(
            status, worst, rounds, multipliers, objective, self._terms(multipliers, own), parts, extra, self._leeway(own)
        )

    def _leeway(self, own: Sequence[Floats]) -> float:
        allowed = (
            stated.allowed * np.abs(m / w).sum() for stated, m, w in zip(self.statement.own, own, self.weights, strict=True)
        )
        return float(sum(allowed))

    def _multiplier(self, constraint: Any) -> Floats:
        if OwnConstraint(constraint, "").kind == "cone":
            return np.zeros(())
        dual = constraint.dual_value
        dual = np.zeros(constraint.shape) if dual is None else np.asarray(dual, dtype=np.float64)
        if isinstance(constraint, PSD):
            return self.size * _semidefinite(dual)
        free = isinstance(constraint, Equality)
        return self.size * (dual if free else np.maximum(dual, 0.0))

    def _terms(self, multipliers: Sequence[Floats], own: Sequence[Floats]) -> tuple[LinearTerm, ...]:
        """Those of all but other cones; a bound without these holds as well."""
        meant = [self._multiplier(constraint) for constraint in self.meant]
        parts = [_term(c, m) for c, m in zip((*self.privacy, *self.definitions), (*multipliers, *meant), strict=True)]
        parts += [
            LinearTerm(stated.expr, _signed(stated, multiplier))
            for stated, multiplier in zip(self.statement.own, own, strict=True)
            if stated.kind != "cone"
        ]
        return tuple(part for part in parts if part is not None)

    def _parts(self) -> Floats | None:
        """Weights of the entries of a maximum: their weighted mean is never above it."""
        if self.peak is None:
            return None
        weights = np.maximum(np.asarray(self.above[0].dual_value, dtype=np.float64), 0.0)
        total = weights.sum()
        return np.asarray(weights / total if total > 0 else np.full(self.peak.shape, 1 / self.peak.size))


def _size(objective: Any) -> float:
    """The size of an objective at the present values, 1 where there is none."""
    value = objective.value
    size = np.inf if value is None else float(abs(value))
    return size if 0 < size < np.inf else 1.0


def _epigraph(objective: Any) -> tuple[Any, Any, Any]:
    """For a largest entry its parts and a variable above them, so that each part has a multiplier."""
    if isinstance(objective, MaxEntries) and objective.axis is None:
        return objective.args[0], None, cp.Variable()
    return None, objective, None


def _term(constraint: Any, multiplier: Floats) -> LinearTerm | None:
    stated = OwnConstraint(constraint, "")
    return None if stated.kind == "cone" else LinearTerm(stated.expr, _signed(stated, multiplier))


def _signed(stated: OwnConstraint, multiplier: Floats) -> Floats:
    """What makes the term at most 0 where the constraint holds: of a semidefinite expression a negative semidefinite matrix."""
    return -multiplier if stated.kind == "semidefinite" else multiplier


def _semidefinite(matrix: Floats) -> Floats:
    """The nearest positive semidefinite matrix."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)

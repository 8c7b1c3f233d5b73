"""Solving in rounds: a solver on the working set, a scan of every pair, and again until every pair holds."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import cleandoc
from textwrap import indent
from typing import Any, ClassVar, Protocol, Self

import cvxpy as cp
import numpy as np
from cvxpy.atoms.max import max as MaxEntries
from cvxpy.constraints.psd import PSD
from cvxpy.constraints.zero import Equality
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.checks import shown
from designer.base.errors import DesignFailed, InvalidProblem
from designer.base.progress import announce
from designer.designing.own_solver import Called
from designer.programs.bounds import LinearTerm
from designer.programs.constraints import OwnConstraint, Separated
from solvers.limited import options_of_cvxpy
from solvers.work import is_over

# One call of a solver of CVXPY: its name, its refusals, and what is recorded of its answer.


DEFAULT = "CLARABEL"
USABLE = ("optimal", "optimal_inaccurate", "user_limit")
# What a last word of a solver other than "optimal" means, and what to try.
MEANINGS = {
    "optimal_inaccurate": "the solver stopped short of its accuracy: take tighter tolerances, more iterations, or CLARABEL",
    "user_limit": "the solver reached its limit of iterations or time: raise it, or take CLARABEL",
    "stalled": "pairs beyond their budgets were still found when the rounds were over: take a more accurate solver",
    "infeasible": "the solver holds that nothing satisfies all constraints: relax one",
    "unbounded": "the solver holds that the objective has no least value: bound it by a constraint",
    "broke down": "the solver ended with an error: take another solver, or other options",
    "without values": "the solver handed back no numbers: take another solver",
    "no answer": "the function found no answer",
}


@dataclass(frozen=True)
class Solved:
    """What a solver answered, before anything is repaired.

    status: CVXPY's word, or "stalled" where pairs beyond their budget were still found when the rounds were over.
    value: the objective at the answer. lower_bound: no feasible point has a smaller objective, as its multipliers prove; None
    where they prove nothing, and `bound_from` says why, or how the bound was found.
    raw_violation: the largest part by which the answer exceeds a pair's budget, 0 where every pair holds.
    own_violation: the same of the user's constraints, relative to the size of their terms.
    rounds: how often the solver ran. pairs: the size of the last working set. seconds: all rounds and scans.
    """

    status: str
    value: float
    lower_bound: float | None
    bound_from: str
    raw_violation: float
    own_violation: float
    rounds: int
    pairs: int
    seconds: float
    solver: str

    @property
    def gap(self) -> float | None:
        """`value - lower_bound` over the value's size; None without a bound, below 0 where the answer is not feasible."""
        if self.lower_bound is None:
            return None
        return (self.value - self.lower_bound) / max(abs(self.value), 1e-300)


def solve_with(program: cp.Problem, solver: str, options: Mapping[str, Any]) -> str:
    """Run one solver within limits of its iterations, and the seconds of a caller; returns the status, with the values in the
    variables where it is one of `USABLE`.

    "broke down" is the status of a solver that ended with an error. `DesignFailed` where it cannot take such a program at all,
    `InvalidProblem` for options that it does not know.
    """
    if isinstance(solver, Called):
        return _by_numbers(program, solver, options)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "solution may be inaccurate": what was reached is measured here, not believed
            sizes = program.size_metrics
            size = sizes.num_scalar_variables + sizes.num_scalar_eq_constr + sizes.num_scalar_leq_constr
            program.solve(solver=solver, ignore_dpp=True, **options_of_cvxpy(solver, size, options))
    except cp.SolverError:
        if program.status is None and solver not in (able := able_solvers(program)):
            raise DesignFailed(
                f"solver: {solver} cannot take a program of this kind; installed ones that can: {able}."
            ) from None
        is_over()
        return "broke down"  # of SCIPY where a limit is reached, too
    except (TypeError, AttributeError, KeyError) as refusal:
        if not options:
            raise
        raise InvalidProblem(
            f"options: {solver} does not take {shown(dict(options))} ({refusal}); see its settings.", value=solver
        ) from None
    if program.status == "user_limit":
        is_over()  # so that the blocks around remember what the clock cut
    return str(program.status)


def _by_numbers(program: cp.Problem, solver: Called, options: Mapping[str, Any]) -> str:
    """Hand the numbers of the program to a function, and its answer back to the variables; "no answer" where it has none."""
    if options:
        raise InvalidProblem(f"options: {shown(dict(options))} beside {solver}; a function has no options, bind them to it.")
    data, chain, inverse = program.get_problem_data("SCS", ignore_dpp=True)
    sizes = data["dims"]
    cones = {"zero": sizes.zero, "nonnegative": sizes.nonneg, "second_order": list(sizes.soc), "semidefinite": list(sizes.psd)}
    cones |= {"exponential": sizes.exp, "power": list(sizes.p3d)}
    given = solver.call({"P": data.get("P"), "c": data["c"], "A": data["A"], "b": data["b"], "cones": cones})
    if given is None:
        return "no answer"
    x, y = (_vector(part, size, name) for part, size, name in zip(given, (len(data["c"]), len(data["b"])), "xy", strict=True))
    quadratic = 0.0 if data.get("P") is None else float(x @ (data["P"] @ x)) / 2
    known = {"status_val": 1, "pobj": float(data["c"] @ x) + quadratic, "iter": 0, "solve_time": 0.0, "setup_time": 0.0}
    program.unpack_results({"x": x, "y": y, "s": data["b"] - data["A"] @ x, "info": known}, chain, inverse)
    return str(program.status)


def _vector(given: object, size: int, name: str) -> NDArray[np.float64]:
    """What a function handed back, as finite numbers of the length that is asked for."""
    try:
        found = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.shape != (size,) or not np.isfinite(found).all():
        raise InvalidProblem(f"solver: the function must hand back {name} of {size} finite numbers, not {shown(given)}.")
    return found


def able_solvers(program: cp.Problem) -> list[str]:
    """The installed solvers that take a program of this kind."""
    able = []
    for name in sorted(cp.installed_solvers()):
        try:
            program.get_problem_data(name)
        except (cp.SolverError, ValueError):
            continue
        able.append(name)
    return able


def meaning(status: str) -> str:
    """A solver's last word, what it means and what to try."""
    known = MEANINGS.get(status) or MEANINGS.get(status.removesuffix("_inaccurate"))
    return f"the status is {status!r}: {known or 'take another solver'}"


class Stated(ABC):
    """A convex program, and what it says of itself: what `print` shows."""

    title: ClassVar[str]  # what messages call it
    source: ClassVar[str]  # where it is stated and proven
    formula: ClassVar[str]  # what is minimised, and what must hold
    search: str = ""  # which search surrounds it, where it is a part of a design
    bound: float | None = None  # proven of the answer in the variables

    @property
    @abstractmethod
    def variables(self) -> dict[str, Any]:
        """The variables of CVXPY, by their names in the field's notation."""

    @property
    @abstractmethod
    def objective(self) -> Any:
        """What is minimised."""

    @classmethod
    def at(cls, problem: Any, mechanism: Any) -> Self:
        """The program of a problem with the answer that a frozen mechanism is, where it has one."""
        return cls(problem)  # type: ignore[call-arg]  # every program is made from its problem alone

    @property
    def constraints(self) -> tuple[str, ...]:
        """The user's own constraints in words."""
        return ()

    @property
    def value(self) -> float | None:
        """The objective at the values of the variables; None where they have none."""
        with np.errstate(all="ignore"):
            found = self.objective.value
        return None if found is None else float(found)

    @abstractmethod
    def cvxpy_problem(self) -> ScaledProblem:
        """The whole program: whoever has CVXPY alone solves it."""

    def to_text(self) -> str:
        """Title, source, formula, variables, the user's own constraints, value and bound."""
        shapes = ", ".join(f"{name} {variable.shape}" for name, variable in self.variables.items())
        parts = {
            "variables": shapes,
            "constraints": "; ".join(self.constraints),
            "value": "" if self.value is None else f"{self.value:.9g}",
            "bound": "" if self.bound is None else f"{self.bound:.9g}",
            "search": self.search,
        }
        lines = [f"{name}: {said}" for name, said in parts.items() if said]
        return "\n".join([f"{self.title} ({self.source})", indent(cleandoc(self.formula), "    "), *lines])

    def __str__(self) -> str:
        return self.to_text()


ROUNDS = 60


class Posable(Protocol):
    """What a program says to be put before a solver."""

    @property
    def variables(self) -> dict[str, Any]: ...
    @property
    def privacy(self) -> tuple[Any, ...]: ...
    @property
    def definitions(self) -> tuple[Any, ...]: ...
    @property
    def in_units(self) -> Mapping[Any, Any]: ...


class Separable(Posable, Protocol):
    """What a program tells the rounds."""

    title: ClassVar[str]
    promise: tuple[str, str]

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
    a largest entry, the weights of the entries, (K,), of sum 1, that their multipliers give, or 1. extra: multipliers of
    these constraints, each of its shape, (...,).
    leeway: what it is worth that the user's constraints count as held up to `OwnConstraint.allowed`.
    """

    status: str
    worst: float
    rounds: int
    multipliers: tuple[Floats, ...] = ()
    objective: LinearTerm | None = None
    constraints: tuple[LinearTerm, ...] = ()
    parts: Floats = field(default_factory=lambda: np.ones(()))
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

    def in_units_of_the_answer(
        self, statement: Statement, solves: int, point: Callable[[], tuple[Floats, ...]], take: Callable[..., None]
    ) -> SolverAnswer:
        """Solved again while other units may help, at most so often; the answer before stands where that fails.

        point(): what the variables are now; take(*point) gives them these values.
        """
        answer = Rounds.run(self, statement)
        if not answer.usable:
            return answer
        kept = point()
        for _ in range(solves):
            if not self.program.rescale():
                break
            found = Rounds.run(self, statement)
            if not found.usable:
                break
            answer, kept = found, point()
        take(*kept)
        return answer

    @property
    def title(self) -> str:
        """The name of the program."""
        return self.program.title


class ScaledProblem(cp.Problem):  # type: ignore[misc]  # CVXPY's class has no types
    """A problem in dimensionless variables with an objective of size 1, so that no unit of the answers matters to a solver.

    `solve` hands back the value in the program's own units, and gives the program's variables theirs (`recover`).
    """

    def __init__(self, objective: Any, constraints: Sequence[Any], size: float, stand_ins: Mapping[Any, Any]) -> None:
        """size: of the objective. stand_ins: for each variable of the program what stands for it here."""
        super().__init__(objective, list(constraints))
        self.size, self.stand_ins = size, stand_ins

    @property
    def value(self) -> float | None:
        """The objective in the program's own units."""
        found = super().value
        return None if found is None else self.size * float(found)

    def unpack(self, solution: Any) -> None:
        super().unpack(solution)
        self.recover()

    def recover(self) -> None:
        """Give the program's variables the values that the dimensionless ones have."""
        for variable, stand_in in self.stand_ins.items():
            if stand_in.value is not None:
                variable.save_value(stand_in.value)


def whole_problem(program: Posable, statement: Statement) -> ScaledProblem:
    """What is asked on the present working set, as one problem of CVXPY."""
    return _Posed(program, statement).problem


class _Posed:
    """The program as a solver sees it: dimensionless variables, terms of constraints of size 1, an objective of size 1."""

    def __init__(self, program: Posable, statement: Statement) -> None:
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
        known = {v: program.in_units[v] for v in program.variables.values() if v in program.in_units}
        stated = [*self.above, *self.inner, *self.meant, *self.own, *self.extra]
        self.problem = ScaledProblem(cp.Minimize(scaled), stated, self.size, known)

    def _inner(self, thing: Any) -> Any:
        return thing.tree_copy(self.units) if self.units else thing

    def has_values(self) -> bool:
        return all(variable.value is not None for variable in self.problem.variables())

    def hand_back(self) -> None:
        """Multipliers in the user's units; values of the program's variables are there."""
        for outer, inner in zip(self.privacy, self.inner, strict=True):
            if outer is not inner and inner.dual_value is not None:
                outer.save_dual_value(inner.dual_value * self.size)

    def answer(self, status: str, worst: float, rounds: int) -> SolverAnswer:
        multipliers = tuple(self._multiplier(constraint) for constraint in self.inner)
        own = tuple(self._multiplier(constraint) * weights for constraint, weights in zip(self.own, self.weights, strict=True))
        parts = self._parts()
        objective = LinearTerm(self.statement.objective if self.peak is None else self.peak, parts)
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

    def _parts(self) -> Floats:
        """Weights of the entries of a maximum: their weighted mean is never above it. 1 for another objective."""
        if self.peak is None:
            return np.ones(())
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

"""`Program`: a convex program that anyone can read, change and solve, whose every answer is repaired and certified.

A subclass states what is minimised and what must hold for every protected pair, on a working set of pairs that grows by exact
scans. Everything else is here: the user's own constraints and objective, the solver, raw violations, a bound, and who is to
blame where nothing is feasible. docs/guides/programs.md.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeVar

import cvxpy as cp
import numpy as np

from designer.base.arrays import Floats
from designer.base.checks import shown
from designer.base.errors import DesignFailed, InvalidProblem
from designer.base.version import VERSION
from designer.certificate.guarantee import Optimality, bounded
from designer.designing.own_solver import Solver, known_solver
from designer.programs.bounds import Slopes, lagrangian_bound
from designer.programs.conflicts import NEGLIGIBLE, SOLVERS, UNITS, explain, least_violation
from designer.programs.constraints import Named, OwnConstraint, Separated, each_entry, in_words, require_convex
from designer.programs.rounds import (
    DEFAULT,
    USABLE,
    Rounds,
    ScaledProblem,
    Solved,
    SolverAnswer,
    Stated,
    Statement,
    meaning,
    solve_with,
    whole_problem,
)

Made = TypeVar("Made")
LIMITED = ", under constraints of the user's own"
ATTEMPTS = 4  # solves of one design: each tightens what repair, or the solver, broke


class Program(Stated):
    """A convex program in CVXPY over named variables, with the user's own constraints and objective."""

    # Whether `least_linear` is over a set that contains every private point, and not only those that may be the best.
    encloses_all: ClassVar[bool] = False
    # How constraints that contradict it, and others that contradict each other without it, are told.
    promise: tuple[str, str] = ("while every pair keeps its budget", "even without privacy")

    def __init__(self) -> None:
        self._own: list[OwnConstraint] = []
        self._objective: Any = None

    @property
    @abstractmethod
    def privacy(self) -> tuple[Any, ...]:
        """What must hold for the pairs of the present working set. More join while it is solved, until every pair holds."""

    @property
    @abstractmethod
    def loss(self) -> Any:
        """The loss of the problem, weights included, as a convex expression."""

    @property
    def variances(self) -> Any:
        """The variance of the noise in each answer, (K,); None where it is no convex expression of the variables."""
        return None

    @property
    def standard_errors(self) -> Any:
        """The standard deviation of the noise in each answer, (K,); None where it is no convex expression of the variables."""
        return None

    @abstractmethod
    def separate(self) -> Separated:
        """Scan every pair at the variables' values; those beyond their budgets join the working set."""

    @abstractmethod
    def start(self) -> None:
        """Give the variables values of the right size, from which the units of constraints are read."""

    def rescale(self) -> bool:
        """Take the units of the variables from their present values, where that may help a solver; whether they changed."""
        return False

    def settle(self) -> None:
        """Give auxiliary variables the values that the others imply; called when the solver is done."""
        return

    @property
    def pairs(self) -> int:
        """The size of the working set."""
        return sum(int(constraint.size) for constraint in self.privacy)

    @property
    def definitions(self) -> tuple[Any, ...]:
        """Constraints that say what auxiliary variables mean, if there are any."""
        return ()

    @property
    def in_units(self) -> Mapping[Any, Any]:
        """For a variable, and for expressions of it, what stands for them before a solver: the same in dimensionless variables.

        None by default. Keys are the objects themselves: `power(unit * x, -2)` is far from 1 where `unit^-2 power(x, -2)` is
        well scaled. The same objects are returned at each call.
        """
        return {}

    @property
    def named(self) -> Named:
        """What texts call by name: expressions, and the names along their axes."""
        return {name: (variable, ()) for name, variable in self.variables.items()}

    def least_linear(self, slopes: Slopes) -> float | None:
        """The least `sum <slope, variable>` over a bounded set that contains every private point that may be the best; None
        where none is stated, and then no bound is proven.

        slopes: an array of the variable's shape for each name in `variables`.
        """
        return None

    def least_loss(self, slopes: Slopes, parts: Floats) -> float | None:
        """The least `loss + sum <slope, variable>` over a set that contains every private point; None where it is not known.

        slopes: as in `least_linear`. parts: (K,), of a loss that is the largest of several, weights of sum 1; their weighted
        mean stands for it. 1 for another loss.
        """
        return None

    def standard_bound(self, multipliers: Sequence[Floats], parts: Floats) -> float | None:
        """A lower bound of the loss from multipliers of `privacy` alone; None where there is none.

        multipliers: an array of its shape, (M,), for each constraint of `privacy`. parts: (K,), or 1, as in `least_loss`.
        """
        return None

    @abstractmethod
    def state_all(self) -> None:
        """Take every pair into the working set; `DesignFailed` where they are too many to be written out."""

    def cvxpy_problem(self) -> ScaledProblem:
        """The whole program, every pair written out, with the user's constraints and objective, in dimensionless variables.

        Whoever has CVXPY alone can solve it, in any units: `program.cvxpy_problem().solve()` is the value in the units of the
        problem, and the values are in `program.variables`. Of very many pairs those are left out that a longer one implies. Of
        a program that is not convex it is the convex part that its page names. `solve` is several times faster, states the
        few pairs that matter, and proves a bound. `DesignFailed` above 5,000,000 pairs.
        """
        self.state_all()
        if any(variable.value is None for variable in self.variables.values()):
            self.start()
        return whole_problem(self, Statement(self.objective, tuple(self._own)))

    @property
    def objective(self) -> Any:
        """What is minimised: the loss, or what `minimise` was given."""
        return self.loss if self._objective is None else self._objective

    @property
    def is_standard(self) -> bool:
        """Whether the program is that of the problem itself: no constraint and no objective of the user's own."""
        return not self._own and self._objective is None

    @property
    def constraints(self) -> tuple[str, ...]:
        """The user's own constraints in words: each name with its text."""
        texts = (self.text(own.constraint) for own in self._own)
        return tuple(text if own.text == text else f"{own.text}: {text}" for own, text in zip(self._own, texts, strict=True))

    def text(self, thing: Any) -> str:
        """The text of an expression or a constraint, by the names of the program and of the queries."""
        return in_words(thing, self.named)

    def subject_to(self, constraints: Any, name: str | None = None) -> Self:
        """Add a constraint of CVXPY, or several; the program itself is changed and returned.

        name: what messages call it; several under one name are numbered. `InvalidProblem` for what is no constraint, is not
        convex (DCP), has a parameter without a value, or speaks of another program.
        """
        given = list(constraints) if isinstance(constraints, Iterable) else [constraints]
        added = [self._checked(constraint, name, place, len(given)) for place, constraint in enumerate(given)]
        self._own += added
        return self

    def _checked(self, constraint: Any, name: str | None, place: int, count: int) -> OwnConstraint:
        field = "constraints" if count == 1 else f"constraints[{place}]"
        if not isinstance(constraint, cp.Constraint):
            raise InvalidProblem(
                f"{field}: {shown(constraint)} is no constraint; compare an expression of the program with <=, >= or ==.",
                value=constraint,
            )
        text = self.text(constraint)
        self._require_own(constraint, text, field)
        require_convex(constraint, f"{text!r}", self.named, field)
        constraint = each_entry(constraint)
        called = text if name is None else str(name) if count == 1 else f"{name} ({place + 1})"
        known = {id(variable) for variable in self.variables.values()}
        return OwnConstraint(constraint, called, any(id(variable) not in known for variable in constraint.variables()))

    def _require_own(self, thing: Any, text: str, field: str) -> None:
        """Parameters must have values, and variables be real, and the program's own where they bear the names of its own."""
        unset = [parameter.name() for parameter in thing.parameters() if parameter.value is None]
        if unset:
            raise InvalidProblem(
                f"{field}: {text!r} has the parameter {unset[0]!r} without a value; set its value first.", value=text
            )
        for variable in thing.variables():
            if variable.attributes["boolean"] or variable.attributes["integer"]:
                raise InvalidProblem(
                    f"{field}: {text!r} has the integer variable {variable.name()!r}; only real ones are convex.", value=text
                )
            if self.variables.get(variable.name(), variable) is not variable:
                raise InvalidProblem(
                    f"{field}: {variable.name()!r} is of another program; use the expressions of this one in {shown(text)}.",
                    value=text,
                )

    def minimise(self, objective: Any) -> Self:
        """Minimise another convex expression, one number; the program itself is changed and returned."""
        expression = objective.args[0] if isinstance(objective, cp.Minimize) else objective
        if not isinstance(expression, cp.Expression) or not expression.is_scalar():
            raise InvalidProblem(
                f"objective: {shown(objective)} is no expression of one number; build it from the program's expressions.",
                value=objective,
            )
        text = self.text(expression)
        require_convex(cp.Minimize(expression), f"{text!r}", self.named, "objective")
        self._require_own(expression, text, "objective")
        self._objective = expression
        return self

    def solve(self, solver: Solver = DEFAULT, **options: Any) -> Solved:
        """Solve with a solver of CVXPY, pairs joining until every one holds; the answer is left in the variables.

        options: the solver's own. Unknown solver or options: `InvalidProblem` that lists what there is. Where nothing is
        feasible: `DesignFailed`, which says what contradicts what and by how much to relax it.
        """
        return self._solved(known_solver(solver), options, [0.0] * len(self._own))

    def _solved(self, solver: str, options: Mapping[str, Any], margins: Sequence[float]) -> Solved:
        start = time.perf_counter()
        answer, used = self._answered(solver, options, Statement(self.objective, tuple(self._own), tuple(margins)))
        bound, words = self.proven(answer)
        self.settle()
        return Solved(
            status=answer.status,
            value=float(self.objective.value),
            lower_bound=bound,
            bound_from=words,
            raw_violation=max(0.0, answer.worst - 1.0),
            own_violation=self._off(),
            rounds=answer.rounds,
            pairs=self.pairs,
            seconds=time.perf_counter() - start,
            solver=used,
        )

    def _answered(self, solver: str, options: Mapping[str, Any], statement: Statement) -> tuple[SolverAnswer, str]:
        """An answer and whose it is: of the solver that was asked, or, where the default one has none, of the next one. What
        contradicts what is asked before anything is said of a solver."""
        self.start()
        answer = self._in_units_of_the_answer(self._rounds(solver, options), statement)
        if self._accepts(answer):
            return answer, solver
        unbounded = answer.status.startswith("unbounded")
        if not unbounded and (found := self._contradiction()):
            raise DesignFailed(f"{self.title}: {found}")
        others = [name for name in SOLVERS if name != solver and solver == DEFAULT and not unbounded]
        for name in (solver, *others):
            # Now from a point at which the constraints hold, if one was found, and in its units.
            least_violation(self, self._own)
            self.rescale()
            again = self._in_units_of_the_answer(self._rounds(name, options if name == solver else SOLVERS[name]), statement)
            if self._accepts(again):
                return again, name
        self.start()
        answer = self._in_units_of_the_answer(self._rounds(solver, options), statement)
        if not answer.usable:
            raise DesignFailed(f"{self.title}: {self._advice(answer.status, [solver, *others])}")
        return answer, solver

    def _in_units_of_the_answer(self, rounds: Rounds, statement: Statement) -> SolverAnswer:
        """Solved again, as long as the user's constraints do not hold and other units may help."""
        answer = rounds.run(statement)
        for _ in range(UNITS):
            if not answer.usable or self._accepts(answer) or not self.rescale():
                break
            answer = rounds.run(statement)
        return answer

    def _accepts(self, answer: SolverAnswer) -> bool:
        return answer.usable and self._off() <= NEGLIGIBLE

    def _off(self) -> float:
        """How far the values of now break the user's constraints."""
        return max((own.violation() for own in self._own), default=0.0)

    def _rounds(self, solver: str, options: Mapping[str, Any]) -> Rounds:
        """How an answer is found: rounds of one solver, unless a program has a way of its own."""
        return Rounds(self, solver, options)

    def _contradiction(self) -> str | None:
        """What contradicts what; the solvers that are asked for it do not depend on the one that failed."""
        return explain(self, self._own, self.text) if self._own else None

    def proven(self, answer: SolverAnswer) -> tuple[float | None, str]:
        """The best of the bounds that the multipliers prove, and how it was found; None, and why, where they prove none."""
        closed, partly = None, None
        if self._objective is None:
            closed = self.standard_bound(answer.multipliers, answer.parts)
            partly = lagrangian_bound(answer.constraints, self.variables, lambda slopes: self.least_loss(slopes, answer.parts))
        terms = () if answer.objective is None else (answer.objective, *answer.constraints)
        found = {
            "multipliers of the pairs, dual in closed form": closed,
            "multipliers of all constraints, these linearised": partly,
            "multipliers of all constraints, Lagrangian linearised": lagrangian_bound(terms, self.variables, self.least_linear),
        }
        proven = {words: bound - answer.leeway for words, bound in found.items() if bound is not None}
        if not proven:
            return None, "none: the multipliers prove none"
        words = max(proven, key=lambda key: proven[key])
        return proven[words], words

    def _advice(self, status: str, solvers: Sequence[str]) -> str:
        if status.startswith("unbounded"):
            return "the objective seems to have no least value; add a constraint that bounds it."
        whose = "the constraints" if self._own else "the objective"
        return (
            f"{' and '.join(solvers)} found no values, and nothing proves that there are none; relax {whose} a little, or try "
            f"another solver ({meaning(status)})."
        )

    def frozen_within(
        self, solver: Solver, options: Mapping[str, Any], build: Callable[[], Made], take: Callable[[Made], None]
    ) -> tuple[Made, Solved]:
        """Solve, build, and check the user's constraints at what was built; what is broken is tightened and solved again.

        build() makes the frozen object of the variables' values, take(made) gives the variables the values that it
        really has. `DesignFailed` where a constraint still does not hold after `ATTEMPTS` solves.
        """
        name, margins = known_solver(solver), [0.0] * len(self._own)
        for attempt in range(ATTEMPTS):
            try:
                solved = self._solved(name, options, margins)
            except DesignFailed:
                if not attempt:
                    raise
                break
            made = build()
            take(made)
            self._refit()
            off = [own.violation() for own in self._own]
            broken = [violation > own.allowed for own, violation in zip(self._own, off, strict=True)]
            if not any(broken):
                return made, solved
            further = 2 * 4.0**attempt  # a solver's own error is as large as what is broken, and has either sign
            margins = [m + further * v * b for m, v, b in zip(margins, off, broken, strict=True)]
        found = self._contradiction()
        raise DesignFailed(f"{self.title}: {found or self._still_broken(off, name)}")

    def claim_of(self, words: str, value: float, solved: Solved, rounding: float, share: float = 1.0) -> Optimality | None:
        """What is proven of the problem's own loss at a frozen value; None of another objective, or without a bound.

        rounding: by how much floats may have brought the value below a bound. share: of the bound, that what is frozen keeps.
        """
        if self._objective is not None or solved.lower_bound is None:
            return None
        words = words if self.is_standard else f"{words}{LIMITED}"
        return bounded(words, value, max(0.0, solved.lower_bound) * share, f"{solved.solver}: {solved.bound_from}", rounding)

    def history_of(self, solved: Solved) -> dict[str, Any]:
        """What the provenance of every design says of its program and of how it was solved."""
        return {
            "software": f"dp-designer {VERSION}",
            "program": self.title,
            "objective": "the loss" if self._objective is None else self.text(self._objective),
            "constraints": list(self.constraints),
            "solver": solved.solver,
            "status": solved.status,
            "raw_violation": solved.raw_violation,
            "own_violation": solved.own_violation,
            "rounds": solved.rounds,
        }

    def _still_broken(self, off: Sequence[float], solver: str) -> str:
        said = [f"{own.text!r} by {v:.2g} of its terms" for own, v in zip(self._own, off, strict=True) if v > own.allowed]
        return (
            f"the frozen mechanism breaks {', '.join(said)}, because the answer of {solver} had to be repaired, and there is "
            "no room to tighten it; relax it a little, or use a more accurate solver."
        )

    def _refit(self) -> None:
        """Give variables that the user brought along the values that suit the program's best; they keep those that they have
        where no solver ends with better ones. Whether the user's constraints hold is measured at whichever these are."""
        known = (*self.variables.values(), *(variable for part in self.definitions for variable in part.variables()))
        values = {id(variable): cp.Constant(variable.value) for variable in known if variable.value is not None}
        stated = [*self.privacy, *self.definitions, *(own.constraint for own in self._own)]
        everything = cp.Problem(cp.Minimize(self.objective), stated).variables()
        others = [variable for variable in everything if id(variable) not in values]
        if not others:
            return
        slacks, fitted = [], []
        for own in self._own:
            if any(id(variable) not in values for variable in own.constraint.variables()):
                relaxed, slack = own.relaxed(own.weights())
                fitted += [constraint.tree_copy(values) for constraint in relaxed]
                slacks.append(cp.sum(slack))
        total = sum(slacks, start=cp.Constant(0.0))
        least = _ended_well(cp.Problem(cp.Minimize(total), fitted), others)
        if least is not None:
            within = total <= max(0.0, least) + NEGLIGIBLE
            _ended_well(cp.Problem(cp.Minimize(self.objective.tree_copy(values)), [*fitted, within]), others)


def _ended_well(problem: cp.Problem, variables: Sequence[cp.Variable]) -> float | None:
    """The least value that the solver found; None where it found none, and then the variables keep their values."""
    held = [variable.value for variable in variables]
    if solve_with(problem, DEFAULT, {}) in USABLE and problem.value is not None and np.isfinite(problem.value):
        return float(problem.value)
    for variable, value in zip(variables, held, strict=True):
        variable.save_value(value)
    return None

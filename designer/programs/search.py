"""Programs for noise around the answers of a problem's queries: what they share."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np

from designer.base.arrays import Floats
from designer.base.checks import positive, shown
from designer.base.errors import DesignFailed, InvalidProblem
from designer.base.lazy_imports import at_address
from designer.certificate.guarantee import CUSTOM, Optimality, bounded
from designer.certificate.norms import Norm
from designer.certificate.sensitivity import SensitivitySet
from designer.designing.auto import chosen_families
from designer.designing.design_result import Design, Designed
from designer.designing.family import Family, in_own_notion
from designer.designing.own_solver import Solver
from designer.designing.problem_kinds import LINEAR, problem_kind
from designer.designing.repair import Bound, claimed
from designer.mechanism.additive import AdditiveMechanism
from designer.problem.relation import Indices, Relation
from designer.programs.constraints import NOTICED, Named, Separated
from designer.programs.program import LIMITED, Program
from designer.programs.rounds import DEFAULT, Rounds, Separable, Solved, SolverAnswer, Stated, Statement
from designer.relations.problem import Problem


def question_of(problem: object, title: str, notion: str) -> Problem:
    """The problem, if it is one and asks for the notion of the program."""
    if not isinstance(problem, Problem):
        raise InvalidProblem(
            f"problem: {shown(problem)} is not a Problem; build one with Problem(workload, relation).", value=problem
        )
    if problem.notion != notion:
        approximate = "no program states it: use design(problem), or ask for 'pure' or 'zcdp'"
        remedy = approximate if problem.notion == "approximate" else "choose another program"
        raise DesignFailed(f"program: {title!r} is {notion}, the problem asks for {problem.notion!r}; {remedy}.", value=title)
    return problem


def of(problem: Any, family: str = "auto") -> Stated:
    """State the convex program of a design, or of the part of it that is convex, before it is solved; `print` shows it. Raises
    `DesignFailed` where no program states it, with what is searched or computed in its place.

    Parameters
    ----------
    problem : of linear queries, of marginals, or of one's own report.
    family : that is stated, of linear queries.

    >>> from designer import Problem, Workload, metrics
    >>> program = of(Problem(Workload.identity(2), metrics.uniform(2, 1.0)), "laplace")
    >>> round(program.cvxpy_problem().solve(), 4), program.w.value.round(4).tolist()
    (15.6708, [0.5, 0.5])
    """
    cls, asked, chosen = _statement(problem, family)
    program: Stated = cls(asked)
    program.search = "" if chosen is None else chosen.search
    return program


def program_of(made: Designed[Any, Any]) -> Stated:
    """The program of a design, with its answer in the variables and what is proven of it."""
    cls, asked, family = _statement(made.problem, getattr(made.mechanism, "family", ""))
    program: Stated = cls.at(asked, made.mechanism)
    program.search = "" if family is None else family.search
    whole = family is None or family.program
    program.bound = made.optimality.lower_bound if whole and made.optimality else None
    return program


def _statement(problem: Any, family: str) -> tuple[Any, Any, Family | None]:
    """The class of the program, the problem that it is handed, and the family of linear queries that it states."""
    kind = problem_kind(problem)
    if kind is not LINEAR:
        return kind.stated, problem, None
    if family == "auto":
        raise InvalidProblem("family: 'auto' tries many; name the one whose program is asked for.", value=family)
    if family == CUSTOM:
        raise DesignFailed("program: a family of your own states no program here; build one of `designer.programs` yourself.")
    (chosen,) = chosen_families([family])
    return at_address(chosen.stated()), in_own_notion(chosen, problem), chosen


def place_in(given: object, names: Sequence[str], field: str) -> int:
    """The place of what is given by its name, or by its place."""
    if isinstance(given, str) and given in names:
        return names.index(given)
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool) and 0 <= given < len(names):
        return int(given)
    raise InvalidProblem(f"{field}: {shown(given)} is unknown; use one of {shown(list(names))}, or its place.", value=given)


class MechanismProgram(Program):
    """A program whose answer is an additive mechanism for `question`, a problem of the same notion."""

    notion: ClassVar[Literal["pure", "zcdp"]]
    objective_words: str
    loss_is_exact: ClassVar[bool] = True  # whether `loss` is that of the problem, and not a stand-in for it
    on_grid: ClassVar[bool] = False  # whether it is that of noise on a coarse grid, as in `Bound`

    def __init__(self, question: Problem) -> None:
        super().__init__()
        self.question = question

    @classmethod
    def at(cls, problem: Problem, mechanism: Any) -> Self:
        program = cls(problem)
        program.start()
        program.take(mechanism)
        return program

    @abstractmethod
    def frozen(self) -> AdditiveMechanism:
        """The certified mechanism of the variables' values, repaired as every design is."""

    @abstractmethod
    def take(self, mechanism: AdditiveMechanism) -> None:
        """Give the variables the values that a frozen mechanism really has, from its exact variances."""

    @property
    def named(self) -> Named:
        """The variables, and the variances and standard errors of the queries by name."""
        queries = self.question.workload.queries
        errors = {"variances": self.variances, "standard_errors": self.standard_errors}
        return {**super().named, **{name: (part, queries) for name, part in errors.items() if part is not None}}

    def variance_at_most(self, query: str | int, value: float, name: str | None = None) -> Self:
        """Cap the variance of one answer; the program itself is changed and returned."""
        if self.variances is None:
            raise InvalidProblem(
                f"program: {self.title!r} has no convex expression for variances; constrain its variables.", value=self.title
            )
        return self.subject_to(
            self.variances[place_in(query, self.question.workload.queries, "query")] <= positive(value, "value"), name
        )

    def design(self, solver: Solver = DEFAULT, **options: Any) -> Design[AdditiveMechanism]:
        """Solve, repair and certify; the user's constraints are checked at the noise that is frozen.

        `DesignFailed` where they contradict each other, or where one does not hold at the frozen noise.
        """
        start = time.perf_counter()
        mechanism, solved = self.frozen_within(solver, options, self.frozen, self.take)
        seconds = time.perf_counter() - start
        made = Design(self.question, mechanism, seconds)
        claim = self._claim(mechanism, solved) if self._objective is None else self._own_claim(solved)
        return Design(self.question, mechanism.annotated(self._provenance(made, solved, options), claim), seconds)

    def _claim(self, mechanism: AdditiveMechanism, solved: Solved) -> Optimality | None:
        """The loss at the frozen noise, with what the multipliers prove; None where they prove nothing."""
        if solved.lower_bound is None or not self.loss_is_exact:
            return None
        words = self.objective_words if self.is_standard else f"{self.objective_words}{LIMITED}"
        bound = Bound(words, max(0.0, solved.lower_bound), f"{solved.solver}: {solved.bound_from}", self.on_grid)
        return claimed(self.question, mechanism, bound).optimality

    def _own_claim(self, solved: Solved) -> Optimality | None:
        """The user's objective at the frozen noise, with what the multipliers prove; None where a bound is no loss."""
        value = float(self.objective.value)
        if solved.lower_bound is None or solved.lower_bound < 0 or not np.isfinite(value):
            return None
        words = f"{self.text(self.objective)}, the user's own objective"
        return bounded(words, value, solved.lower_bound, f"{solved.solver}: {solved.bound_from}", 1e-9 * value)

    def _provenance(self, made: Design[AdditiveMechanism], solved: Solved, options: Mapping[str, Any]) -> dict[str, Any]:
        return {
            **self.history_of(solved),
            "loss": self.question.loss,
            "options": {
                name: value if isinstance(value, (bool, int, float, str)) else repr(value) for name, value in options.items()
            },
            "repaired_loss": made.loss,
            "pairs": solved.pairs,
        }


# Rounds for programs that are not convex as they stand: convex restrictions, each at the best point of the last.
#
# A program that is convex is solved again in units of its answer, while these shrink (`BiasedProgram` says how both are
# stated).


# Restrictions are solved at most this often, and until one gains less than this part of the objective.
DESCENTS, GAIN = 60, 1e-5
TRIALS = 4  # restrictions from every start, of which the best goes on
STEPS = (1.0, 3.0, 9.0)  # how far beyond an answer points are tried, in parts of the way to it
UNITS = 4  # solves of a convex program in new units

Point = tuple[Floats, Floats]  # rows (K, N), noise scales (K,)


class DescentProgram(Separable, Protocol):
    """What a program of rows and scales tells its descent."""

    @property
    def is_convex(self) -> bool: ...
    def rescale(self) -> bool: ...
    def starts(self) -> Iterator[Point]: ...
    def point(self) -> Point: ...
    def repaired(self) -> Point: ...
    def set_values(self, rows: Floats, noise: Floats) -> None: ...
    def restrict(self, rows: Floats, noise: Floats) -> None: ...
    def stilled(self, rows: Floats, noise: Floats) -> Iterator[Point]: ...
    def learn(self, answer: SolverAnswer) -> None: ...


class Descent(Rounds):
    """Rounds in units that follow the answer, and, where the program is not convex, over restrictions that follow it."""

    program: DescentProgram

    def __init__(self, program: DescentProgram, solver: str, options: Mapping[str, Any]) -> None:
        super().__init__(program, solver, options)

    def run(self, statement: Statement) -> SolverAnswer:
        if statement.extra:
            return super().run(statement)
        if self.program.is_convex:
            return self.in_units_of_the_answer(statement, UNITS, self.program.point, self.program.set_values)
        return self._descended(statement)

    def _descended(self, statement: Statement) -> SolverAnswer:
        """Some restrictions from every start, then from the best point as many as help; the last answer with that point in the
        variables."""
        first, starts = self._starts(statement)
        if not starts:
            return first
        self.answer, self.rounds = first, first.rounds
        tried = [self._improved(start, statement, TRIALS) for start in starts]
        best = min(tried, key=lambda point: self._value(point, statement))
        self._value(self._improved(best, statement, DESCENTS), statement)
        return replace(self.answer, rounds=self.rounds)

    def _improved(self, best: Point, statement: Statement, most: int) -> Point:
        """The point after at most so many restrictions, each at the best point of the last, until the objective stays."""
        value = self._value(best, statement)
        for _ in range(most):
            found = self._restricted(best, statement)
            if found is None:
                break
            self.answer, self.rounds, before = found, self.rounds + found.rounds, value
            moved, reached = self._farthest(best, self.program.repaired(), statement)
            if reached < value:
                best, value = moved, reached
            if before - value <= GAIN * abs(value):
                best, value = self._quieter(best, statement)
            if before - value <= GAIN * abs(value):
                break
        return best

    def _starts(self, statement: Statement) -> tuple[SolverAnswer, list[Point]]:
        """The answer for fixed shares of all budgets, and points to start from: that, and those of the program which the user's
        constraints allow."""
        program, found = self.program, super().run(statement)
        points = [program.repaired()] if found.usable else []
        return found, points + [point for point in program.starts() if self._holds(point, statement)]

    def _quieter(self, best: Point, statement: Statement) -> tuple[Point, float]:
        """Row after row a constant without noise, as long as that lowers the objective and the user's constraints hold."""
        value = self._value(best, statement)
        while True:
            tried = [
                (self._value(point, statement), point) for point in self.program.stilled(*best) if self._holds(point, statement)
            ]
            reached, point = min(tried, key=lambda one: one[0], default=(value, best))
            if reached >= value:
                return best, value
            best, value = point, reached

    def _holds(self, point: Point, statement: Statement) -> bool:
        """Whether the user's constraints hold at a point, which is left in the variables."""
        self.program.set_values(*point)
        return all(own.violation() <= own.allowed for own in statement.own)

    def _restricted(self, best: Point, statement: Statement) -> SolverAnswer | None:
        """The answer of the restriction at the best point so far; None where a solver fails, and that point stands."""
        self.program.restrict(*best)
        try:
            found = super().run(statement)
        except DesignFailed:
            return None
        if not found.usable:
            return None
        self.program.learn(found)
        return found

    def _farthest(self, old: Point, new: Point, statement: Statement) -> tuple[Point, float]:
        """The best of the new point and of points beyond it on the way from the old one, with its objective.

        Rows that turn into constants do so in small steps otherwise. Points beyond count where the user's constraints hold.
        """
        best, value = new, self._value(new, statement)
        ratio = np.divide(new[1], old[1], out=np.zeros_like(new[1]), where=old[1] > 0)
        for step in STEPS:
            self.program.set_values(new[0] + step * (new[0] - old[0]), new[1] * ratio**step)
            point = self.program.repaired()
            reached = self._value(point, statement)
            if reached >= value or not self._holds(point, statement):
                break
            best, value = point, reached
        return best, value

    def _value(self, point: Point, statement: Statement) -> float:
        """The objective at a point, which is left in the variables."""
        self.program.set_values(*point)
        return float(statement.objective.value)


# The pairs that a program states one by one, each once: left and right point, budget, and its column.


class ActivePairs:
    """Pairs of points of a relation between elements; a point beyond the elements is the origin, where a record is absent."""

    def __init__(self, relation: Relation) -> None:
        self.relation, self.size = relation, relation.size
        self.left = self.right = np.empty(0, dtype=np.intp)
        self.budgets = np.empty(0)

    def __len__(self) -> int:
        return len(self.budgets)

    def add(self, left: Indices, right: Indices, budgets: Floats) -> int:
        """Take in pairs of positive budget that are not known yet, each (m,); returns how many."""
        low, high = np.minimum(left, right), np.maximum(left, right)
        keys = low * (self.size + 1) + np.minimum(high, self.size)
        _, first = np.unique(keys, return_index=True)
        new = first[~np.isin(keys[first], self._keys) & (budgets[first] > 0)]
        self.left, self.right = np.append(self.left, low[new]), np.append(self.right, high[new])
        self.budgets = np.append(self.budgets, budgets[new])
        return len(new)

    def separate(self, rows: Floats, norm: Norm, noticed: float = 1 + NOTICED) -> Separated:
        """Scan all pairs in a norm of the differences of rows, (K, N); those whose ratio exceeds `noticed` join."""
        worst, found = SensitivitySet.of(rows, self.relation).worst(norm, limit=2 * self.size)
        kept = norm(found.normalised) > noticed
        return Separated(worst, self.add(found.left[kept], found.right[kept], found.budgets[kept]))

    def add_all(self) -> None:
        """Take in every pair of finite, positive budget; `DesignFailed` where they are too many."""
        pairs = SensitivitySet.of(np.eye(self.size), self.relation).all_pairs()
        self.add(pairs.left, pairs.right, pairs.budgets)

    @property
    def _keys(self) -> Indices:
        return np.asarray(self.left * (self.size + 1) + np.minimum(self.right, self.size))

    @property
    def columns(self) -> Any:
        """`e_left - e_right` side by side, (N, M), sparse: rows times it are the differences of the pairs."""
        from scipy.sparse import csc_array

        pairs = np.arange(len(self))
        inside = self.right < self.size
        values = np.concatenate([np.ones(len(pairs)), -np.ones(int(inside.sum()))])
        rows = np.concatenate([self.left, self.right[inside]])
        return csc_array((values, (rows, np.concatenate([pairs, pairs[inside]]))), shape=(self.size, len(self)))

"""Rounds for programs that are not convex as they stand: convex restrictions, each at the best point of the last.

A program that is convex is solved again in units of its answer, while these shrink (`BiasedProgram` says how both are stated).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from designer.base.arrays import Floats
from designer.base.errors import DesignFailed
from designer.families.convex.rounds import Rounds, Separable, SolverAnswer, Statement

# Restrictions are solved at most this often, and until one gains less than this part of the objective.
DESCENTS, GAIN = 60, 1e-5
TRIALS = 4  # restrictions from every start, of which the best goes on
STEPS = (1.0, 3.0, 9.0)  # how far beyond an answer points are tried, in parts of the way to it
UNITS = 4  # solves of a convex program in new units

Point = tuple[Floats, Floats]  # rows (K, N), noise scales (K,)


class Descending(Separable, Protocol):
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

    program: Descending

    def __init__(self, program: Descending, solver: str, options: Mapping[str, Any]) -> None:
        super().__init__(program, solver, options)

    def run(self, statement: Statement) -> SolverAnswer:
        if statement.extra:
            return super().run(statement)
        return self._in_units_of_the_answer(statement) if self.program.is_convex else self._descended(statement)

    def _in_units_of_the_answer(self, statement: Statement) -> SolverAnswer:
        """Solved again while the answer is small in its units; where that fails the answer before stands."""
        program, answer = self.program, super().run(statement)
        if not answer.usable:
            return answer
        kept = program.point()
        for _ in range(UNITS):
            if not program.rescale():
                break
            found = super().run(statement)
            if not found.usable:
                break
            answer, kept = found, program.point()
        program.set_values(*kept)
        return answer

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

"""Rounds for programs that are not convex as they stand: convex restrictions, each at the best point of the last.

A program that is convex is solved again in units of its answer, while these shrink (`BiasedProgram` says how both are stated).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from designer.convex.rounds import Rounds, Separable, SolverAnswer, Statement
from designer.errors import DesignFailed
from designer.values.arrays import Floats

# Restrictions are solved at most this often, and until one gains less than this part of the objective.
DESCENTS, GAIN = 60, 1e-5
STEPS = (1.0, 3.0, 9.0)  # how far beyond an answer points are tried, in parts of the way to it
UNITS = 4  # solves of a convex program in new units


class Descending(Separable, Protocol):
    """What a program of rows and scales tells its descent."""

    @property
    def is_convex(self) -> bool: ...
    def rescale(self) -> bool: ...
    def unbiased(self) -> tuple[Floats, Floats]: ...
    def point(self) -> tuple[Floats, Floats]: ...
    def repaired(self) -> tuple[Floats, Floats]: ...
    def set_values(self, rows: Floats, noise: Floats) -> None: ...
    def restrict(self, rows: Floats, noise: Floats) -> None: ...
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
        """Restrictions one after the other, until the objective stays; the last answer with the best point in the variables."""
        first, best = self._first(statement)
        if best is None:
            return first
        value, answer, rounds = self._value(best, statement), first, first.rounds
        for _ in range(DESCENTS):
            found = self._restricted(best, statement)
            if found is None:
                break
            answer, rounds = found, rounds + found.rounds
            moved, reached = self._farthest(best, self.program.repaired(), statement)
            gained = value - reached
            if gained > 0:
                best, value = moved, reached
            if gained <= GAIN * abs(value):
                break
        self._value(best, statement)
        return replace(answer, rounds=rounds)

    def _first(self, statement: Statement) -> tuple[SolverAnswer, tuple[Floats, Floats] | None]:
        """The answer for fixed shares of all budgets, and the better point of that and the best unbiased design.

        The second counts where the user's constraints allow it; None where there is neither.
        """
        program, found = self.program, super().run(statement)
        points = [program.repaired()] if found.usable else []
        unbiased = program.unbiased()
        self._value(unbiased, statement)
        if all(own.violation() <= own.allowed for own in statement.own):
            points.append(unbiased)
        return found, min(points, key=lambda point: self._value(point, statement), default=None)

    def _restricted(self, best: tuple[Floats, Floats], statement: Statement) -> SolverAnswer | None:
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

    def _farthest(
        self, old: tuple[Floats, Floats], new: tuple[Floats, Floats], statement: Statement
    ) -> tuple[tuple[Floats, Floats], float]:
        """The best of the new point and of points beyond it on the way from the old one, with its objective.

        Rows that turn into constants do so in small steps otherwise. Points beyond count where the user's constraints hold.
        """
        best, value = new, self._value(new, statement)
        ratio = np.divide(new[1], old[1], out=np.zeros_like(new[1]), where=old[1] > 0)
        for step in STEPS:
            self.program.set_values(new[0] + step * (new[0] - old[0]), new[1] * ratio**step)
            point = self.program.repaired()
            reached = self._value(point, statement)
            if reached >= value or any(own.violation() > own.allowed for own in statement.own):
                break
            best, value = point, reached
        return best, value

    def _value(self, point: tuple[Floats, Floats], statement: Statement) -> float:
        """The objective at a point, which is left in the variables."""
        self.program.set_values(*point)
        return float(statement.objective.value)

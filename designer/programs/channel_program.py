"""The whole program of the best channel for one person's own report, in CVXPY: every entry, every pair.

K, (N, M), is the channel, p the prior, L the losses, b the budgets.
"""

from __future__ import annotations

from typing import Any, Self

import cvxpy as cp
import numpy as np

from designer.base.arrays import Floats
from designer.base.checks import shown
from designer.base.errors import DesignFailed, InvalidProblem
from designer.designing.own_solver import known_solver
from designer.limits import MOST_STATED_RATIOS
from designer.local.design import WORDS, ProposedChannel, freeze_channel
from designer.local.mechanism import Channel
from designer.local.problem import ReportProblem
from designer.programs.rounds import USABLE, ScaledProblem, Stated, meaning, solve_with

KEPT = 1e-6  # by how much a constraint of the caller may be off at the frozen channel, whose rounding is far below


class ChannelProgram(Stated):
    """The least expected loss of all channels for a `ReportProblem`, as a linear program to read, change and solve.

    channel: the variable, (N, M). loss: its expected loss, or that at the worst value. Raises `InvalidProblem` for what is no
    ReportProblem, and for more than 2,000,000 inequalities.

    problem: the values, their metric and the loss of a report.

    >>> from designer import metrics
    >>> program = ChannelProgram(ReportProblem(metrics.uniform(3, 1.0), loss="zero_one"))
    >>> made = program.subject_to(program.channel[0, 0] >= 0.57).design()
    >>> made.privacy.holds, bool(made.channel[0, 0] >= 0.57 - 1e-6)
    (True, True)
    """

    title = "channel"
    source = "docs/theory/own_reports.md, 1"
    formula = """
        minimise    sum_x p_x sum_z K[x, z] L(x, z)        (the largest sum over z of any x, for the worst value)
        subject to  sum_z K[x, z] = 1,  K >= 0,  K[x, z] <= exp(b(x, x')) K[x', z]   for all x, x', z
    """

    def __init__(self, problem: ReportProblem) -> None:
        if not isinstance(problem, ReportProblem):
            raise InvalidProblem(f"problem: {shown(problem)} is no ReportProblem.", value=problem)
        if problem.queries is not None:
            raise InvalidProblem(
                "loss: the squared error of estimates is not convex in the table, only in the weights of given columns "
                "(docs/theory/columns.md, 6); use design(problem, 'channel')."
            )
        size, reports = problem.losses.shape
        if size * (size - 1) * reports > MOST_STATED_RATIOS:
            raise InvalidProblem(
                f"problem: {size} values and {reports} reports make {size * (size - 1) * reports} inequalities, more than "
                f"{MOST_STATED_RATIOS}; design(problem, 'channel') states only those that matter."
            )
        self.problem = problem
        self.channel = cp.Variable((size, reports), nonneg=True, name="K")
        self._size = float(np.abs(problem.losses).max()) or 1.0
        self._relative = self._loss_of(problem.losses / self._size)
        self.loss = self._size * self._relative
        self._further: list[Any] = []

    def _loss_of(self, losses: Floats) -> Any:
        each = cp.sum(cp.multiply(self.channel, losses), axis=1)
        return cp.max(each) if self.problem.worst else self.problem.prior @ each

    @property
    def variables(self) -> dict[str, Any]:
        return {"K": self.channel}

    @property
    def objective(self) -> Any:
        return self.loss

    def privacy(self) -> tuple[Any, ...]:
        """`K[x, z] exp(-b) <= K[x', z]` for every ordered pair: a row of the table at a time."""
        budgets, size = self.problem.budgets, len(self.problem.prior)
        found = []
        for x in range(size):
            others = [y for y in range(size) if y != x]
            part = np.exp(-np.asarray(budgets, dtype=np.float64)[x, others])[:, None]
            row = cp.reshape(self.channel[x], (1, self.channel.shape[1]), order="C")
            found.append(part @ row <= self.channel[others])
        return tuple(found)

    @classmethod
    def at(cls, problem: ReportProblem, mechanism: Any) -> Self:
        program = cls(problem)
        program._take(mechanism)
        return program

    def _take(self, made: Channel) -> None:
        """Give K the values of a frozen channel; reports that it never hands out have probability 0."""
        place = {name: z for z, name in enumerate(self.problem.report_names)}
        frozen = np.zeros(self.channel.shape)
        frozen[:, [place[str(name)] for name in made.reports]] = made.channel
        self.channel.save_value(frozen)

    def subject_to(self, *constraints: Any) -> ChannelProgram:
        """The same program with further constraints of CVXPY, linear in `channel`: a cap on another loss, equal treatment."""
        for constraint in constraints:
            if not isinstance(constraint, cp.constraints.constraint.Constraint) or not constraint.is_dcp():
                raise InvalidProblem(
                    f"constraints: {shown(constraint)} is no convex constraint of CVXPY; write it with `channel`."
                )
        self._further += constraints
        return self

    def cvxpy_problem(self) -> ScaledProblem:
        """The whole program, with every pair and all further constraints."""
        stated = [cp.sum(self.channel, axis=1) == 1, *self.privacy(), *self._further]
        return ScaledProblem(cp.Minimize(self._relative), stated, self._size, {})

    def design(self, solver: str = "CLARABEL", **options: Any) -> Channel:
        """The channel that a solver of CVXPY finds, repaired, frozen and certified; no bound is claimed of its loss.

        `DesignFailed` where it finds none, and where a further constraint does not hold of the frozen channel.
        """
        status = solve_with(self.cvxpy_problem(), known_solver(solver), options)
        if status not in USABLE or self.channel.value is None:
            raise DesignFailed(f"channel: {solver} found no values: {meaning(status)}.")
        found = np.maximum(np.asarray(self.channel.value), 0.0)
        made = freeze_channel(self.problem, ProposedChannel(found, np.arange(found.shape[1])))
        self._take(made)
        off = max((float(np.max(constraint.violation())) for constraint in self._further), default=0.0)
        if off > KEPT:
            raise DesignFailed(
                f"channel: a further constraint is broken by {off:.3g} at the frozen channel; leave it more room."
            )
        return made.annotated({"family": WORDS["channel"], "loss": self.problem.loss, "solver": solver})

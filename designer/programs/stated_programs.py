"""Programs that state what a design rests on, whole, to be solved with CVXPY alone: hulls, weights of bundles, ellipsoids on a
lattice, and the duals of the limit (docs/guides/programs.md).

They design nothing: the hull of all differences is the best K-norm ball (SEMI Proposition 9), which no program chooses; bundles
and lattice shapes are chosen by search, and what is convex is stated for those that were found.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

import cvxpy as cp
import numpy as np
from scipy.sparse import csr_array

from designer.base.arrays import Floats, real_array
from designer.base.errors import DesignFailed, InvalidProblem
from designer.certificate.norm_kinds import BundleNorm
from designer.designing.k_norm import design_bundles
from designer.designing.least_noise import limit
from designer.designing.measured import moving_coordinates
from designer.designing.own_solver import Solver, known_solver
from designer.designing.repair import ProtectedPairs
from designer.designing.staircase import coset_program
from designer.problem.workload import Workload
from designer.programs.rounds import DEFAULT, USABLE, solve_with
from designer.programs.search import question_of
from designer.relations.invariants.changes import ChangeRelation
from designer.relations.problem import Problem
from solvers.programs.scales import bundle_costs


class StatedProgram(ABC):
    """A whole convex program, of which the variables are attributes."""

    title: ClassVar[str]

    @property
    @abstractmethod
    def variables(self) -> dict[str, Any]:
        """The variables of CVXPY, by their names."""

    @abstractmethod
    def cvxpy_problem(self) -> cp.Problem:
        """The whole program: whoever has CVXPY alone solves it."""

    def solve(self, solver: Solver = DEFAULT, **options: Any) -> float:
        """The value, with the answer in the variables; `DesignFailed` where the solver finds none."""
        program = self.cvxpy_problem()
        status = solve_with(program, known_solver(solver), options)
        if status not in USABLE:
            raise DesignFailed(f"{self.title}: the solver ended with {status!r}; use another one.")
        return float(program.value)


class KNormProgram(StatedProgram):
    """The gauge of the hull of all `u / b`, the K-norm, at a vector z of the coordinates, (s,).

        minimise    sum_m l_m            subject to  sum_m (u_m / b_m) l_m = z       l real, in absolute value: the gauge
        maximise    <z, y>               subject to  |<u_m, y>| <= b_m  for all m    its dual: y is the facet that z lies under

    The ball is the hull itself, which no program chooses: SEMI Proposition 9.

    problem: of linear queries. vector: z, (s,).
    """

    title = "k_norm"

    def __init__(self, problem: Problem, vector: object) -> None:
        question = question_of(problem, self.title, "pure")
        coordinates = moving_coordinates(question)
        self.rows = coordinates.sensitivity(question).all_pairs().normalised
        self.vector = real_array(vector, "vector", 1)
        if self.vector.shape != (self.rows.shape[1],):
            raise InvalidProblem(
                f"vector: has shape {self.vector.shape}; give a number for each of the {self.rows.shape[1]} coordinates with "
                "noise."
            )
        self.shares = cp.Variable(len(self.rows), name="l")
        self.y = cp.Variable(len(self.vector), name="y")

    @property
    def variables(self) -> dict[str, Any]:
        return {"l": self.shares, "y": self.y}

    def cvxpy_problem(self) -> cp.Problem:
        """The gauge, as a linear program."""
        return cp.Problem(cp.Minimize(cp.norm(self.shares, 1)), [self.rows.T @ self.shares == self.vector])

    def dual_problem(self) -> cp.Problem:
        """The same by the facets of the hull: its dual."""
        return cp.Problem(cp.Maximize(self.vector @ self.y), [cp.abs(self.rows @ self.y) <= 1])


class BundlesProgram(StatedProgram):
    """The weights of bundles under the sum of their gauges, for bundles that are given: the part of the design that is convex.

        minimise    sum_B c_B t_B^-2     subject to  sum_B g_B(u_B) t_B <= b  for every protected pair (u, b)

    t multiplies the gauges of the bundles of `made`, by default those of `design(problem, "bundles", combine="sum")`. Which
    coordinates share a bundle is a choice among finitely many, and under the maximum nothing is left to choose.

    problem: of linear queries. norm: whose bundles are taken.
    """

    title = "bundles"

    def __init__(self, problem: Problem, norm: BundleNorm | None = None) -> None:
        question = question_of(problem, self.title, "pure")
        if question.loss != "squared":
            raise DesignFailed(f"bundles: the weights are stated for squared loss, not for {question.loss!r}.")
        found = design_bundles(question, combine="sum").norm if norm is None else norm
        if not isinstance(found, BundleNorm) or found.combine != "sum":
            raise DesignFailed("bundles: under the largest gauge no weights are chosen; give a norm that is a sum.")
        coordinates = moving_coordinates(question)
        rows, heard = coordinates.answers(question), coordinates.heard
        pairs = coordinates.sensitivity(question).all_pairs().normalised
        places = [np.searchsorted(np.flatnonzero(heard), bundle) for bundle in found.places]
        costs = rows.T @ (question.costs[:, None] * rows)
        self.lengths = np.stack([g(pairs[:, place]) for g, place in zip(found.gauges, places, strict=True)], axis=1)
        moments = [float((g.second_moment * costs[np.ix_(p, p)]).sum()) for g, p in zip(found.gauges, places, strict=True)]
        self.costs = bundle_costs([gauge.dimension for gauge in found.gauges], np.array(moments))
        self.t = cp.Variable(len(self.costs), name="t", pos=True)

    @property
    def variables(self) -> dict[str, Any]:
        return {"t": self.t}

    def cvxpy_problem(self) -> cp.Problem:
        size = self.costs.sum()
        loss = size * cp.sum(cp.multiply(self.costs / size, cp.power(self.t, -2)))
        return cp.Problem(cp.Minimize(loss), [self.lengths @ self.t <= 1])


class LatticeProgram(StatedProgram):
    """The ellipsoid of integer noise on the kernel of an invariant; X is the inverse of its shape on the measured cells.

        minimise    sum_k v_k q_k' X^-1 q_k     (squared, absolute;  max_k v_k q_k' X^-1 q_k  max)
        subject to  u' X u <= b^2               for every protected change (u, b) of the table

    It is the shape `ellipsoid` of `lattice_laplace` and `lattice_gaussian`. The shapes l1 and l2 have one scale, which the
    longest change decides, and the hull is that of `k_norm`.

    problem: under an invariant.
    """

    title = "lattice"

    def __init__(self, problem: Problem) -> None:
        if not isinstance(problem, Problem) or not isinstance(problem.relation, ChangeRelation):
            raise DesignFailed(
                "lattice: needs a problem whose relation keeps an invariant; protect one of designer.invariants."
            )
        table = Problem(Workload.identity(problem.relation.size), problem.relation, problem.notion)
        coordinates = moving_coordinates(table)
        full = np.eye(problem.relation.size) if coordinates.reconstruction is None else coordinates.reconstruction
        self.loss = problem.loss
        self.rows = coordinates.sensitivity(table).all_pairs().normalised
        self.answers = (problem.workload.dense() @ full)[:, coordinates.heard] * np.sqrt(problem.costs)[:, None]
        self.X = cp.Variable((self.rows.shape[1],) * 2, name="X", PSD=True)

    @property
    def variables(self) -> dict[str, Any]:
        return {"X": self.X}

    def cvxpy_problem(self) -> cp.Problem:
        if self.loss == "max":
            loss = cp.max(cp.hstack([cp.matrix_frac(q, self.X) for q in self.answers if q.any()]))
        else:
            loss = cp.matrix_frac(np.linalg.qr(self.answers)[1].T, self.X)
        return cp.Problem(cp.Minimize(loss), [cp.sum(cp.multiply(self.rows @ self.X, self.rows), axis=1) <= 1])


class LimitProgram(StatedProgram):
    """The dual of the limit, on the coset of the lattice of all differences that holds the origin.

        maximise    y                       subject to, for every point z of the coset within reach,
        y  <=  loss(z) + sum_{steps u into z} l - sum_{steps u out of z} e^b l       l >= 0: a multiplier of each step both ways

    No additive noise on this coset that keeps the promise has a loss below both y and that of the points beyond the reach
    (`beyond`). The limit is the least of these bounds over all cosets. Its other bounds are the programs `gaussian`, of lengths
    of divergences, and closed forms.

    problem: of linear queries. offset: of the coset, (R,); the origin by default. rows: how many points of the coset are within
    reach at most.
    """

    title = "limit"

    def __init__(self, problem: Problem, offset: Sequence[Fraction] | None = None, rows: int = 20_000) -> None:
        """offset: the coset, in coordinates of the lattice, by default that of the origin. rows: the most inequalities."""
        question = question_of(problem, self.title, "pure")
        pairs, found = ProtectedPairs.of(question, moving_coordinates(question)), limit(question)
        power: Literal[1, 2] = 1 if question.loss == "absolute" else 2
        program = None
        if pairs is not None and found is not None and question.loss != "max":
            program = coset_program(pairs, question.costs, power, found.value, rows)
        if program is None:
            raise DesignFailed("limit: no program of whole steps bounds it, or one that is large; `compare` says the limit.")
        self.program = program
        self.offset = tuple([Fraction(0)] * program.steps.shape[1] if offset is None else offset)

    @cached_property
    def _stated(self) -> tuple[Floats, Any, float]:
        return self.program.stated(self.offset)

    @property
    def beyond(self) -> float:
        """The least loss of a point beyond the reach."""
        return self._stated[2]

    @cached_property
    def variables(self) -> dict[str, Any]:
        return {"y": cp.Variable(name="y"), "l": cp.Variable(len(self._stated[1].source), name="l", nonneg=True)}

    def cvxpy_problem(self) -> cp.Problem:
        losses, rows, _ = self._stated
        y, multipliers = self.variables["y"], self.variables["l"]
        number = np.arange(len(rows.source))
        shape = (len(losses), len(number))
        into = csr_array((np.ones(len(number)), (rows.target, number)), shape)
        out = csr_array((rows.factor, (rows.source, number)), shape)
        return cp.Problem(cp.Maximize(y), [y <= losses + into @ multipliers - out @ multipliers])

"""Programs that state what a design rests on, whole, to be solved with CVXPY alone: hulls, weights of bundles, ellipsoids on a
lattice, and the duals of the limit (docs/guides/programs.md).

They design nothing: the hull of all differences is the best K-norm ball (SEMI Proposition 9), which no program chooses; bundles
and lattice shapes are chosen by search, and what is convex is stated for those that were found.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal, Self

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
from designer.programs.ellipsoid_program import equal_multipliers
from designer.programs.rounds import (
    DEFAULT,
    USABLE,
    ScaledProblem,
    Stated,
    Statement,
    meaning,
    solve_with,
    whole_problem,
)
from designer.programs.search import question_of
from designer.relations.invariants.changes import ChangeRelation
from designer.relations.problem import Problem
from solvers.programs.scales import bundle_costs


class StatedProgram(Stated):
    """A whole convex program, of which the variables are attributes."""

    definitions: tuple[Any, ...] = ()
    privacy: tuple[Any, ...]  # what must hold, in terms of size 1
    in_units: Mapping[Any, Any]  # what stands for variables and expressions before a solver, as in `Program`

    def _state(self, loss: Any, privacy: Any, units: Mapping[Any, Any], typical: Mapping[Any, Floats]) -> None:
        """The objective and what must hold, with what stands for each before a solver; typical: values of the right size."""
        self._loss, self.privacy, self.in_units, self._typical = loss, (privacy,), units, typical

    @property
    def variables(self) -> dict[str, Any]:
        return {variable.name(): variable for variable in self._typical}

    @property
    def objective(self) -> Any:
        return self._loss

    def cvxpy_problem(self) -> ScaledProblem:
        """The whole program in dimensionless variables: whoever has CVXPY alone solves it."""
        if self.value is None:
            for variable, value in self._typical.items():
                variable.save_value(np.asarray(value))
        return whole_problem(self, Statement(self.objective))

    def solve(self, solver: Solver = DEFAULT, **options: Any) -> float:
        """The value, with the answer in the variables; `DesignFailed` where the solver finds none."""
        program = self.cvxpy_problem()
        status = solve_with(program, known_solver(solver), options)
        if status not in USABLE or program.value is None:
            raise DesignFailed(f"{self.title}: {meaning(status)}.")
        return program.value


class KNormProgram(StatedProgram):
    """The gauge of the hull of all `u / b`, the K-norm, at a vector z of the coordinates, (s,), and its dual.

    problem: of linear queries. vector: z, (s,); by default the longest `u / b` in units in which the coordinates vary alike,
    which is a vertex: its gauge is 1.
    """

    title = "k_norm"
    source = "SEMI Proposition 9, docs/theory/hull.md"
    formula = """
        minimise    sum_m |l_m|       subject to  sum_m (u_m / b_m) l_m = z     l for every protected pair: the gauge
        maximise    <z, y>            subject to  |<u_m, y>| <= b_m             its dual: y is the facet that z lies under
    """

    def __init__(self, problem: Problem, vector: object = None) -> None:
        question = question_of(problem, self.title, "pure")
        coordinates = moving_coordinates(question)
        self.rows = coordinates.sensitivity(question).all_pairs().normalised
        if not self.rows.size:
            raise DesignFailed("k_norm: no protected change moves an answer, so the hull is a point; use laplace.")
        self._units = np.abs(self.rows).max(axis=0)
        longest = self.rows[np.square(self.rows / self._units).sum(axis=1).argmax()]
        self.vector = longest if vector is None else real_array(vector, "vector", 1)
        if self.vector.shape != (self.rows.shape[1],):
            raise InvalidProblem(
                f"vector: has shape {self.vector.shape}; give a number for each of the {self.rows.shape[1]} coordinates with "
                "noise."
            )
        self.shares, self.y = cp.Variable(len(self.rows), name="l"), cp.Variable(len(self.vector), name="y")
        self._size = float(np.abs(self.vector / self._units).max()) or 1.0
        inner = {self.shares: self._size * cp.Variable(len(self.rows)), self.y: cp.Variable(len(self.vector)) / self._units}
        unit, even = self._units * self._size, np.full(len(self.rows), self._size / len(self.rows))
        holds = (self.rows / unit).T @ self.shares == self.vector / unit
        self._state(cp.norm(self.shares, 1), holds, inner, {self.shares: even})

    def dual_problem(self) -> ScaledProblem:
        """The same by the facets of the hull: its dual."""
        y = self.in_units[self.y]
        stated = cp.Minimize(-(self.vector / self._size) @ y), [cp.abs(self.rows @ y) <= 1]
        return ScaledProblem(*stated, -self._size, {self.y: y})


class BundlesProgram(StatedProgram):
    """The weights of bundles under the sum of their gauges, for bundles that are given: the part of the design that is convex.

    t multiplies the gauges of the bundles of `made`, by default those of `design(problem, "bundles", combine="sum")`. Which
    coordinates share a bundle is a choice among finitely many, and under the maximum nothing is left to choose.

    problem: of linear queries. norm: whose bundles are taken.
    """

    title = "bundles"
    source = "docs/theory/bundles.md"
    formula = """
        minimise    sum_B c_B t_B^-2     subject to  sum_B g_B(u_B) t_B <= b  for every protected pair (u, b)
    """

    def __init__(self, problem: Problem, norm: BundleNorm | None = None) -> None:
        question = question_of(problem, self.title, "pure")
        if question.loss != "squared":
            raise DesignFailed(f"bundles: the weights are stated for squared loss, not for {question.loss!r}.")
        found = design_bundles(question, combine="sum").norm if norm is None else norm
        if not isinstance(found, BundleNorm) or found.combine != "sum":
            raise DesignFailed("bundles: under the largest gauge no weights are chosen; give a norm that is a sum.")
        self.question, self.norm = question, found
        self.coordinates = coordinates = moving_coordinates(question)
        rows, heard = coordinates.answers(question), coordinates.heard
        pairs = coordinates.sensitivity(question).all_pairs().normalised
        places = [np.searchsorted(np.flatnonzero(heard), bundle) for bundle in found.places]
        costs = rows.T @ (question.costs[:, None] * rows)
        self.lengths = np.stack([g(pairs[:, place]) for g, place in zip(found.gauges, places, strict=True)], axis=1)
        moments = [float((g.second_moment * costs[np.ix_(p, p)]).sum()) for g, p in zip(found.gauges, places, strict=True)]
        self.costs = bundle_costs([gauge.dimension for gauge in found.gauges], np.array(moments))
        self.t, inner = cp.Variable(len(self.costs), name="t", pos=True), cp.Variable(len(self.costs), pos=True)
        self.t.save_value(np.ones(len(self.costs)))
        unit, loss = 1 / self.lengths.max(axis=0), cp.sum(cp.multiply(self.costs, cp.power(self.t, -2)))
        scaled = cp.sum(cp.multiply(self.costs / unit**2, cp.power(inner, -2)))
        units = {self.t: cp.multiply(unit, inner), loss: scaled}
        self._state(loss, self.lengths @ self.t <= 1, units, {self.t: unit})

    @classmethod
    def at(cls, problem: Problem, mechanism: Any) -> Self:
        return cls(problem, mechanism.norm)


class LatticeProgram(StatedProgram):
    """The ellipsoid of integer noise on the kernel of an invariant; X is the inverse of its shape on the measured cells.

    It is the shape `ellipsoid` of `lattice_laplace` and `lattice_gaussian`. The shapes l1 and l2 have one scale, which the
    longest change decides, and the hull is that of `k_norm`.

    problem: under an invariant.
    """

    title = "lattice"
    source = "SEMI Algorithm 5 on a lattice, docs/theory/ellipsoid.md"
    formula = """
        minimise    sum_k v_k q_k' X^-1 q_k     (squared, absolute;  max_k v_k q_k' X^-1 q_k  max)
        subject to  u' X u <= b^2               for every protected change (u, b) of the table
    """

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
        root = np.linalg.qr(self.answers)[1].T
        basis, inner = equal_multipliers(self.rows, root, np.abs(self.rows).max(axis=0)), cp.Variable(self.X.shape, PSD=True)
        loss = self._loss_of(self.X, root, self.answers)
        root, answers = (np.asarray(np.linalg.solve(basis, part)) for part in (root, self.answers.T))
        units = {self.X: basis @ inner @ basis.T, loss: self._loss_of(inner, root, answers.T)}
        holds = cp.sum(cp.multiply(self.rows @ self.X, self.rows), axis=1) <= 1
        self._state(loss, holds, units, {self.X: basis @ basis.T})

    def _loss_of(self, precision: Any, root: Floats, answers: Floats) -> Any:
        """The loss at X, or at Y in its coordinates; what is inverted gets vectors of size 1."""
        if self.loss != "max":
            size = float(np.square(root).sum())
            return cp.multiply(size, cp.matrix_frac(root / math.sqrt(size), precision))
        sizes = np.linalg.norm(answers, axis=1)
        noisy = sizes > 1e-12 * sizes.max()
        parts = [cp.matrix_frac(q / n, precision) for q, n in zip(answers[noisy], sizes[noisy], strict=True)]
        return cp.max(cp.multiply(sizes[noisy] ** 2, cp.hstack(parts)))


class LimitProgram(StatedProgram):
    """The dual of the limit, on the coset of the lattice of all differences that holds the origin.

    No additive noise on this coset that keeps the promise has a loss below both y and that of the points beyond the reach
    (`beyond`). The limit is the least of these bounds over all cosets. Its other bounds are the programs `gaussian`, of lengths
    of divergences, and closed forms.

    problem: of linear queries. offset: of the coset, (R,); the origin by default. rows: how many points of the coset are within
    reach at most.
    """

    title = "limit"
    source = "docs/theory/staircase.md"
    formula = """
        maximise    y                       subject to, for every point z of the coset within reach,
        y  <=  loss(z) + sum_{steps u into z} l - sum_{steps u out of z} e^b l       l >= 0: a multiplier of each step both ways
    """

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
        assert found is not None
        self.program = program
        self.offset = tuple([Fraction(0)] * program.steps.shape[1] if offset is None else offset)
        losses, steps, self.beyond = program.stated(self.offset)  # beyond: the least loss of a point beyond the reach
        number, size = np.arange(len(steps.source)), found.value
        y, multipliers = cp.Variable(name="y"), cp.Variable(len(number), name="l", nonneg=True)
        shape = (len(losses), len(number))
        into = csr_array((np.ones(len(number)), (steps.target, number)), shape)
        out = csr_array((steps.factor, (steps.source, number)), shape)
        flow = into @ multipliers - out @ multipliers
        units = {y: size * cp.Variable(), multipliers: size * cp.Variable(len(number), nonneg=True)}
        typical = {y: np.array(size), multipliers: np.zeros(len(number))}
        self._state(y, y / size <= losses / size + flow / size, units, typical)

    def cvxpy_problem(self) -> ScaledProblem:
        stated = super().cvxpy_problem()
        return ScaledProblem(cp.Minimize(-stated.objective.args[0]), stated.constraints, -stated.size, stated.stand_ins)

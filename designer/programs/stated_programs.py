"""Programs that state what a design rests on, whole, to be solved with CVXPY alone: hulls, weights of bundles, ellipsoids on a
lattice, and the duals of the limit (docs/guides/programs.md).

They design nothing: the hull of all differences is the best K-norm ball (SEMI Proposition 9), which no program chooses; bundles
and lattice shapes are chosen by search, and what is convex is stated for those that were found.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, Self

import cvxpy as cp
import numpy as np
from scipy.sparse import csr_array

from designer.averages.averages import statistic_of_each_group, worst_row_bias
from designer.averages.queries import StatisticalQueries
from designer.base.arrays import Floats, real_array
from designer.base.checks import positive, shown
from designer.base.errors import DesignFailed, InvalidProblem
from designer.certificate.norm_kinds import BundleNorm
from designer.designing.design_result import Design
from designer.designing.k_norm import design_bundles
from designer.designing.laplace_joint import frozen_fit
from designer.designing.least_noise import limit
from designer.designing.measured import moving_coordinates
from designer.designing.own_solver import Solver, known_solver
from designer.designing.repair import ProtectedPairs
from designer.designing.staircase import coset_program
from designer.mechanism.additive import AdditiveMechanism
from designer.problem.workload import Workload
from designer.programs.biased_program import BiasedProgram
from designer.programs.constraints import Named
from designer.programs.ellipsoid_program import equal_multipliers
from designer.programs.rounds import (
    DEFAULT,
    USABLE,
    ScaledProblem,
    Solved,
    Stated,
    Statement,
    meaning,
    solve_with,
    whole_problem,
)
from designer.programs.search import question_of
from designer.relations.invariants.changes import ChangeRelation
from designer.relations.problem import Problem
from solvers.programs.row_losses import WORST_ABSOLUTES, WORST_SQUARES, GroupedSquares, RowsLoss
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


# Programs (13) and (14) of the dX paper: averages over n rows, answered by other functions of a row, in CVXPY.
#
# Q'_k(u) is answered in the place of f_k(u), the sum over groups of attributes of what each group's values decide; c are the
# scales of the averages' noise, e_g the largest bias that a value of group g makes (docs/guides/programs.md).
#
# Where every group decides one statistic this is program (14) and convex; the squared bias is `(sum_g e_g)^2` where groups
# share one. Otherwise it is program (13), solved by convex restrictions as program (6) is.


class StatisticalProgram(BiasedProgram):
    """Variables Q, (K, images), c, (K,), and e, (groups,). Standard errors and variances are those of the averages.

    queries: the averages that are asked for. records: n, the public number of records. loss: "absolute" or "squared".
    """

    title = "statistical"
    source = "DX programs (13) and (14), n averages; docs/theory/statistical.md"
    formula = """
        minimise    sum_g e_g + sum_k c_k         where  sum_k |Q'_k(s) - f_k(s)| <= e_g   for all s of group g   (absolute)
                    sum_g e_g^2 + 2 sum_k c_k^2   where  ||Q'(s) - f(s)||_2 <= e_g                                (squared)
        subject to  sum_k |Q'_k(s) - Q'_k(t)| / c_k <= n d_g(s, t)   for all values s, t of every group g
    """
    notion = "pure"

    def __init__(self, queries: StatisticalQueries, records: float, loss: Literal["absolute", "squared"] = "absolute") -> None:
        if not isinstance(queries, StatisticalQueries):
            raise InvalidProblem(f"queries: {shown(queries)} are none; build them with `StatisticalQueries.of`.", value=queries)
        if loss not in ("absolute", "squared"):
            raise InvalidProblem(f"loss: {shown(loss)} is unknown; use 'absolute' or 'squared'.", value=loss)
        n = positive(records, "records")
        self.queries, self.power = queries, 1 if loss == "absolute" else 2
        self.offsets = np.cumsum([0, *(group.metric.size for group in queries.groups)], dtype=np.intp)
        self.members = [np.arange(first, end) for first, end in itertools.pairwise(self.offsets)]
        self.decided = np.array([np.ptp(group.columns, axis=1) > 0 for group in queries.groups])
        self.apart = bool((self.decided.sum(axis=0) <= 1).all())
        free = np.repeat(self.decided, [len(group) for group in self.members], axis=0).T
        super().__init__(queries.problem(loss=loss), n, free, gain=n)
        self.e = cp.Variable(len(self.members), nonneg=True, name="e")
        self._biases = cp.Variable(len(self.members), nonneg=True)
        self.objective_words = self._words()

    def _words(self) -> str:
        if self.power == 1:
            return "max_u ||Q'(u) - f(u)||_1 + ||c||_1, the worst expected l1 error of the averages (DX program 13)"
        return "max_u ||Q'(u) - f(u)||_2^2 + 2 ||c||_2^2, the worst expected squared error of the averages (DX program 13)"

    @property
    def is_convex(self) -> bool:
        return bool((self.decided[:, self.heard].sum(axis=1) <= 1).all())

    @property
    def variables(self) -> dict[str, Any]:
        return {**super().variables, "e": self.e}

    @property
    def named(self) -> Named:
        return {**super().named, "e": (self.e, tuple(", ".join(group.domain.attributes) for group in self.queries.groups))}

    @property
    def in_units(self) -> Mapping[Any, Any]:
        return {**super().in_units, self.e: self._size * self._biases}

    @property
    def _size(self) -> float:
        """About the largest bias of an entry."""
        return float(self.lengths.max() / self.records)

    @property
    def definitions(self) -> tuple[Any, ...]:
        """e is at least the bias of every value of its group."""
        return tuple(part <= self.e[g] / self._size for g in range(len(self.members)) for part in self._bias_of(g))

    def _bias_of(self, group: int) -> tuple[Any, ...]:
        """What e bounds, for every value of a group, in units of `_size`."""
        free = np.flatnonzero(self.free[:, self.members[group]].any(axis=1))
        off = self.off[:, self.members[group]] / self._size
        if len(free) == 1:  # linear, so that multipliers prove a bound where an answer has no bias
            return off[free[0]], -off[free[0]]
        return (cp.norm(off, 1 if self.power == 1 else 2, axis=0),)

    @cached_property
    def loss(self) -> Any:
        """The worst expected error of the averages over n records."""
        return self._loss_of(self.e, self.c, 1.0)

    def loss_in_units(self, scaled: Mapping[Any, Any]) -> Any:
        return self._loss_of(self._biases, scaled[self.c], self._size)

    def _loss_of(self, biases: Any, scales: Any, size: float) -> Any:
        """The loss at biases in units of `size`, (groups,), and scales, (K,)."""
        if self.power == 1:
            return size * cp.sum(biases) + cp.sum(scales)
        bias = cp.sum_squares(biases) if self.apart else cp.square(cp.sum(biases))
        return size**2 * bias + 2 * cp.sum_squares(scales)

    def reach(self, loss: float) -> tuple[Floats, Floats]:
        most = np.full(len(self.query), loss if self.power == 1 else np.sqrt(loss))
        return most, most if self.power == 1 else most / np.sqrt(2)

    def least_linear(self, slopes: Mapping[str, Floats]) -> float | None:
        others = super().least_linear(slopes)
        if others is None:
            return None
        apart, _ = self.reach(2 * float(self.loss.value))
        return others + float(np.minimum(slopes["e"], 0.0).sum()) * float(apart[0])

    @property
    def factors(self) -> Floats:
        return np.ones(len(self.query))

    @property
    def rows_loss(self) -> RowsLoss:
        """Of one group's values, or, where groups decide different statistics, of the sum of groups."""
        if self.power == 1:
            return WORST_ABSOLUTES
        return GroupedSquares(self.offsets, self.decided.argmax(axis=0)[self.heard]) if self.apart else WORST_SQUARES

    def set_values(self, rows: Floats, noise: Floats) -> None:
        super().set_values(rows, noise)
        off = np.linalg.norm(rows - self.query, 1 if self.power == 1 else 2, axis=0)
        self.e.save_value(np.array([off[members].max() for members in self.members]))

    def frozen(self) -> AdditiveMechanism:
        """The mechanism for n times the averages; `queries.release` divides by n."""
        family = "separable" if self._is_program_14() else "laplace_joint"
        return frozen_fit(self.question, *self.repaired(), self.records, family)

    def achieved(self, mechanism: AdditiveMechanism) -> tuple[float, float]:
        scales = mechanism.scales / self.records
        bias = worst_row_bias(self.queries, mechanism, self.power) ** self.power
        value = bias + (float(scales.sum()) if self.power == 1 else 2 * float(scales @ scales))
        return value, value * (self.query.size + 16) * 2.0**-50

    def _is_program_14(self) -> bool:
        try:
            statistic_of_each_group(self.queries)
        except DesignFailed:
            return False
        return self.power == 1

    def take(self, mechanism: AdditiveMechanism) -> None:
        self.set_values(mechanism.effective, np.sqrt(mechanism.query_variances() / 2))

    def _provenance(self, made: Design[AdditiveMechanism], solved: Solved, options: Mapping[str, Any]) -> dict[str, Any]:
        """With the loss of the averages, bias included, in the place of that of n times the averages."""
        return {**super()._provenance(made, solved, options), "repaired_loss": float(self.loss.value)}

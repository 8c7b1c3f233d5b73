"""Noise that falls off exponentially in the best ellipsoid, as a program in CVXPY (docs/guides/programs.md).

`X = Sigma^-1`, q_k the rows of the reconstruction, v the weights of the queries and s the number of coordinates. `q' X^-1 q` is
convex in X, and so is its root: with `y <= 1 / (q' X^-1 q)`, that is `X >= y q q'`, it is the least `y^-1/2`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal

import cvxpy as cp
import numpy as np

from designer.base.arrays import Floats
from designer.base.errors import DesignFailed
from designer.certificate.norms import Norm, weighted_l1
from designer.certificate.sensitivity import SensitivitySet
from designer.designing.ellipsoid import OBJECTIVES, heard_set, refuse_flat, shaped
from designer.limits import MOST_SEMIDEFINITE_COORDINATES
from designer.mechanism.additive import AdditiveMechanism
from designer.mechanism.interface import Falloff
from designer.programs.bounds import Slopes
from designer.programs.constraints import Named, Separated, WorkingPairs
from designer.programs.search import MechanismProgram, question_of
from designer.relations.problem import Problem
from solvers.ellipsoids.dual import least_trace, trace_bound
from solvers.polytopes.extremes import pivots

# Of the largest cost of a direction, and of the largest eigenvalue of an answer: what the others have at least.
RIDGE, LEAST_EIGENVALUE = 1e-12, 1e-10
WORDS = {**OBJECTIVES, "absolute": "sum_k v_k E|noise_k|, the weighted absolute error"}


class EllipsoidProgram(MechanismProgram):
    """The covariance of noise in an ellipsoid. Variable X, (s, s), the inverse of Sigma: of the covariance over `inflation`.

    variances: `(s + 1) q_k' X^-1 q_k`, convex, (K,). standard_errors: its roots, convex too, through a variable y, (K,), which
    is part of the program from when they are asked for. It is an upper bound of the roots that solvers make tight where it
    matters.

    problem: of linear queries.
    """

    title = "ellipsoid"
    source = "SEMI Algorithm 5 with the best ellipsoid; docs/theory/ellipsoid.md"
    formula = """
        minimise    (s + 1) sum_k v_k q_k' X^-1 q_k     (squared;  (s + 1) max_k v_k q_k' X^-1 q_k  max)
                    a_s sum_k v_k (q_k' X^-1 q_k)^1/2   (absolute)
        subject to  u' X u <= b^2                       for every protected pair (u, b)
    """
    encloses_all = True
    notion: ClassVar[Literal["pure", "zcdp"]] = "pure"
    falloff: ClassVar[Falloff] = "exponential"

    def __init__(self, problem: Problem) -> None:
        super().__init__(question_of(problem, self.title, self.notion))
        self.coordinates, self.moving = heard_set(problem, self.title)
        if self.order > MOST_SEMIDEFINITE_COORDINATES:
            raise DesignFailed(
                f"{self.title}: {self.order} coordinates, more than the {MOST_SEMIDEFINITE_COORDINATES} that semidefinite "
                f"solvers take in reasonable time; use design(problem, {self.title!r}), whose own solver takes more."
            )
        self.objective_words = WORDS[problem.loss]
        self.working = WorkingPairs(_spanning_rows(self.moving))
        self.X = cp.Variable((self.order, self.order), name="X", PSD=True)
        self.y: Any = None
        if problem.loss == "absolute":
            _ = self.standard_errors

    @property
    def order(self) -> int:
        """s, the number of coordinates that get noise."""
        return self.moving.dimension

    @property
    def inflation(self) -> float:
        """The covariance of noise with density `exp(-(z' X z)^1/2)` over X^-1."""
        return self.order + 1.0

    @property
    def absolute_per_deviation(self) -> float:
        """`E|z|` over the standard deviation, for one coordinate of noise that is spherical after a linear map."""
        half = math.lgamma(self.order / 2) - math.lgamma((self.order + 1) / 2)
        return self.order * math.exp(half) / math.sqrt(math.pi * self.inflation)

    @property
    def variables(self) -> dict[str, Any]:
        """X, (s, s), and y, (K,), where standard errors are asked for."""
        return {"X": self.X} if self.y is None else {"X": self.X, "y": self.y}

    @property
    def privacy(self) -> tuple[Any, ...]:
        """`u' X u / b^2 <= 1` for the pairs of the working set."""
        rows = self.working.rows
        return (cp.sum(cp.multiply(rows @ self.X, rows), axis=1) <= 1,)

    @cached_property
    def queries(self) -> Floats:
        """The rows q of the reconstruction, (K, s)."""
        return self.coordinates.answers(self.question)

    @cached_property
    def variances(self) -> Any:
        """`(s + 1) q_k' X^-1 q_k`, (K,)."""
        return self._variances(self.X, self.queries)

    @cached_property
    def standard_errors(self) -> Any:
        """`((s + 1) / y_k)^1/2` with `X >= y_k q_k q_k'`, (K,)."""
        self.y = cp.Variable(len(self.queries), name="y", pos=True)
        return cp.multiply(self._noisy * math.sqrt(self.inflation), cp.power(self.y, -0.5))

    @cached_property
    def loss(self) -> Any:
        """The weighted squared error, the largest weighted squared error, or the weighted absolute error."""
        if self.question.loss == "absolute":
            return self.absolute_per_deviation * cp.sum(cp.multiply(self.question.costs, self.standard_errors))
        if self.question.loss == "max":
            return cp.max(cp.multiply(self.question.costs, self.variances))
        return cp.multiply(self.inflation, cp.matrix_frac(self._root(self.question.costs), self.X))

    @property
    def named(self) -> Named:
        """X, variances, and what was asked for of y and the standard errors."""
        queries = self.question.workload.queries
        asked = {} if self.y is None else {"y": (self.y, queries), "standard_errors": (self.standard_errors, queries)}
        return {"X": (self.X, ()), "variances": (self.variances, queries), **asked}

    @property
    def definitions(self) -> tuple[Any, ...]:
        """`X >= y_k q_k q_k'` for each query with noise, where standard errors are asked for; both sides in the coordinates in
        which X is about the identity."""
        if self.y is None:
            return ()
        inverse, turned = np.linalg.inv(self._basis), self._turned(self.queries.T).T
        inner = inverse @ self.X @ inverse.T
        return tuple(inner - self.y[k] * np.outer(q, q) >> 0 for k, q in enumerate(turned) if self._noisy[k])

    def start(self) -> None:
        """The X that equal multipliers for all pairs of the working set give, made private for these."""
        self._set(self._basis @ self._basis.T)

    @property
    def in_units(self) -> Mapping[Any, Any]:
        """`X = B Y B'` with Y about the identity, and y in units of its own, in the expressions of them as well."""
        return self._units if self.y is None else {**self._units, **self._units_of_y}

    @cached_property
    def _units(self) -> Mapping[Any, Any]:
        inner = cp.Variable((self.order, self.order), name="Y", PSD=True)
        turned = self._turned(self.queries.T).T
        stands = {self.X: self._basis @ inner @ self._basis.T, self.variances: self._variances(inner, turned)}
        if self.question.loss == "squared":
            root = self._turned(self._root(self.question.costs))
            size = np.square(root).sum()
            stands[self.loss] = cp.multiply(self.inflation * size, cp.matrix_frac(root / math.sqrt(size), inner))
        return stands

    @cached_property
    def _units_of_y(self) -> Mapping[Any, Any]:
        inner = cp.Variable(len(self.queries), name="t", pos=True)
        unit = self._tight(self._basis @ self._basis.T)
        errors = cp.multiply(self._noisy * np.sqrt(self.inflation / unit), cp.power(inner, -0.5))
        return {self.y: cp.multiply(unit, inner), self.standard_errors: errors}

    def separate(self) -> Separated:
        """A scan of all pairs in the norm of X."""
        values, vectors = np.linalg.eigh(self._inner())
        factor = (vectors * np.sqrt(np.maximum(values, 0.0))).T @ self._basis.T
        return self.working.separate(self.moving, Norm(factor, "l2"), _one_sign)

    def state_all(self) -> None:
        self.working.take(_one_sign(self.moving.all_pairs().normalised))

    def settle(self) -> None:
        """`y_k = 1 / (q_k' X^-1 q_k)`: a solver leaves it smaller where nothing depends on it."""
        if self.y is not None:
            self.y.save_value(self._tight(self.X.value))

    def least_linear(self, slopes: Slopes) -> float:
        """Over the X that are private for s spanning pairs, and the y that they allow."""
        return self._least(slopes, np.zeros((self.order, 0)))

    def least_loss(self, slopes: Slopes, parts: Floats) -> float | None:
        """The least `(s + 1) tr(C X^-1) + <slope, X>`; None for the absolute loss, which has no closed form.

        parts: (K,), or 1.
        """
        if self.question.loss == "absolute":
            return None
        return self._least(slopes, math.sqrt(self.inflation) * self._turned(self._root(self.question.costs * parts)))

    def standard_bound(self, multipliers: Sequence[Floats], parts: Floats) -> float | None:
        """The dual of the ellipsoid in closed form (docs/theory/ellipsoid.md); None for the absolute loss.

        multipliers: one array, (M,). parts: (K,), or 1.
        """
        if self.question.loss == "absolute":
            return None
        return self.inflation * trace_bound(self.working.rows, self._root(self.question.costs * parts), multipliers[0])

    def frozen(self) -> AdditiveMechanism:
        """Noise in this ellipsoid, scaled to what privacy requires."""
        values, vectors = np.linalg.eigh(self._inner())
        if not values[-1] > 0:
            raise DesignFailed(f"{self.title}: the answer leaves no direction any precision; let the objective depend on all.")
        root = np.linalg.solve(self._basis.T, vectors / np.sqrt(np.maximum(values, LEAST_EIGENVALUE * values[-1])))
        covariance = root @ root.T
        refuse_flat(covariance, self.title)
        return shaped(self.question, self.title, self.coordinates, covariance, self.falloff, None)

    def take(self, mechanism: AdditiveMechanism) -> None:
        """X of the norm that is frozen, for the variances that its noise on the grid has."""
        precision = mechanism.norm.factor.T @ mechanism.norm.factor
        self._set(precision)
        ratios = mechanism.query_variances()[self._noisy] / self.variances.value[self._noisy]
        self._set(precision / ratios.max())

    def _set(self, precision: Floats) -> None:
        self.X.save_value((precision + precision.T) / 2)
        self.settle()

    def _inner(self) -> Floats:
        """Y, of `X = B Y B'`, at the values of now."""
        return self._turned_both(self.X.value)

    def _turned(self, columns: Floats) -> Floats:
        """`B^-1` times columns, (s, k)."""
        return np.asarray(np.linalg.solve(self._basis, columns), dtype=np.float64)

    def _turned_both(self, precision: Floats) -> Floats:
        """`B^-1 X B^-T`, symmetric."""
        inner = self._turned(self._turned(precision).T)
        return np.asarray((inner + inner.T) / 2)

    def _tight(self, precision: Floats) -> Floats:
        """`1 / (q_k' X^-1 q_k)`, 1 for queries without noise."""
        values, vectors = np.linalg.eigh(self._turned_both(precision))
        spread = (
            np.square(vectors.T @ self._turned(self.queries.T))
            / np.maximum(values, LEAST_EIGENVALUE * max(values[-1], LEAST_EIGENVALUE))[:, None]
        )
        return 1 / np.where(self._noisy, spread.sum(axis=0), 1.0)

    def _variances(self, precision: Any, queries: Floats) -> Any:
        sizes = np.where(self._noisy, np.linalg.norm(queries, axis=1), 1.0)
        parts = [
            cp.matrix_frac(q / size, precision) if noisy else cp.Constant(0.0)
            for q, size, noisy in zip(queries, sizes, self._noisy, strict=True)
        ]
        return cp.multiply(self.inflation * sizes**2, cp.hstack(parts))

    def _root(self, costs: Floats) -> Floats:
        """L with `L L' = sum_k v_k q_k q_k'`, (s, k)."""
        return np.asarray(np.linalg.qr(np.sqrt(costs)[:, None] * self.queries)[1].T)

    def _least(self, slopes: Slopes, root: Floats) -> float:
        """In the coordinates of Y. From `frame Y frame' <= s` follows `y_k <= s / |frame q_k|^2`."""
        basis = self._basis
        least = least_trace(basis.T @ slopes["X"] @ basis, root, self._frame)
        if "y" in slopes:
            size = np.square(self._frame @ self._turned(self.queries.T)).sum(axis=0)
            largest = self.order / np.where(self._noisy, size, np.inf)
            least += float(np.minimum(slopes["y"] * largest, 0.0).sum())
        return least

    @cached_property
    def _noisy(self) -> Any:
        return self.queries.any(axis=1)

    @cached_property
    def _basis(self) -> Floats:
        return equal_multipliers(self.working.rows, self._root(self._typical_costs), np.ptp(self.moving.points, axis=0))

    @cached_property
    def _typical_costs(self) -> Floats:
        """Weights of variances with which the squared loss has about the noise of the problem's own: v over the standard
        errors, and v over the largest weighted variance, where each answer is alone."""
        costs = self.question.costs
        if self.question.loss == "squared":
            return costs
        alone = np.abs(self.working.rows @ self.queries.T).max(axis=0)
        alone = np.where(self._noisy, alone, 1.0)
        return np.asarray(costs / alone if self.question.loss == "absolute" else 1 / alone**2)

    @cached_property
    def _frame(self) -> Floats:
        """s independent rows of the first working set, in the coordinates of Y."""
        rows = self.working.rows @ self._basis
        return np.asarray(rows[pivots(rows.T)[0]])


def equal_multipliers(rows: Floats, root: Floats, spread: Floats) -> Floats:
    """B of the precision `B B'`, (s, s), that equal multipliers give: `Sigma C Sigma = M`, M the mean of `r r'`, as large as
    the rows allow; every cost at least `RIDGE` of the largest, in units in which the coordinates vary alike.

    rows: u / b, (M, s). root: L with `L L' = C`, (s, k). spread: of the coordinates, (s,).
    """
    asked = root.T * spread
    asked = np.linalg.qr(np.vstack([asked / np.linalg.norm(asked), math.sqrt(RIDGE) * np.eye(len(spread))]))[1]
    alike = rows / spread
    values, vectors = np.linalg.eigh(asked @ (alike.T @ alike / len(rows)) @ asked.T)
    basis = (asked.T @ (vectors * np.maximum(values, RIDGE * values[-1]) ** -0.25)) / spread[:, None]
    return np.asarray(basis / np.sqrt(np.square(rows @ basis).sum(axis=1).max()))


def _one_sign(rows: Floats) -> Floats:
    """u and -u are one pair: the first entry that is not 0 is positive."""
    first = rows[np.arange(len(rows)), (rows != 0).argmax(axis=1)]
    return np.asarray(rows * np.where(first < 0, -1.0, 1.0)[:, None])


def _spanning_rows(moving: SensitivitySet) -> Floats:
    """Long vectors u / b that span all of them, (M, s): the longest ones, and those that leave the span of what is there."""
    spread = np.ptp(moving.points, axis=0)
    _, pairs = moving.worst(weighted_l1(1 / spread), limit=max(200, 4 * moving.dimension))
    rows = _one_sign(pairs.normalised)
    for _ in range(moving.dimension):
        values, vectors = np.linalg.eigh((rows / spread).T @ (rows / spread))
        missing = vectors[:, values <= 1e-12 * values[-1]]
        if not missing.size:
            break
        _, pairs = moving.worst(Norm(missing.T / spread, "l2"), limit=4 * moving.dimension)
        rows = np.concatenate([rows, _one_sign(pairs.normalised)])
    return rows


# The optimal Gaussian matrix mechanism as a program in CVXPY (docs/guides/programs.md).
#
# The same program as that of the ellipsoid with exponential fall-off, but for the covariance, which is Sigma itself.


class GaussianProgram(EllipsoidProgram):
    """The covariance of Gaussian noise. Variable X, (s, s): its inverse. The rest as in `EllipsoidProgram`.

    problem: of linear queries.
    """

    title = "gaussian"
    source = "the Gaussian matrix mechanism; docs/theory/ellipsoid.md"
    formula = """
        minimise    sum_k v_k q_k' X^-1 q_k                      (squared;  max_k v_k q_k' X^-1 q_k  max)
                    (2 / pi)^1/2 sum_k v_k (q_k' X^-1 q_k)^1/2   (absolute)
        subject to  u' X u <= b^2                                for every protected pair (u, b)
    """
    notion = "zcdp"
    falloff = "gaussian"

    @property
    def inflation(self) -> float:
        """The covariance is Sigma."""
        return 1.0

    @property
    def absolute_per_deviation(self) -> float:
        """`E|z|` over the standard deviation of a Gaussian."""
        return math.sqrt(2 / math.pi)

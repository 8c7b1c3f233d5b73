"""Programs in the reciprocal scales w of independent Laplace noise: what the queries themselves and other measured rows share.

Privacy is linear, `sum_i |u_i| w_i <= b` for every protected pair, u the difference in measured rows (docs/guides/programs.md).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.checks import positive
from designer.base.errors import DesignFailed, InvalidProblem
from designer.certificate.certificate import refuse_infinite
from designer.certificate.norm_kinds import CappedNorm
from designer.certificate.norms import Norm, weighted_l1
from designer.certificate.sensitivity import SensitivitySet
from designer.designing.ellipsoid import OBJECTIVES as GAUSSIAN_WORDS
from designer.designing.ellipsoid import heard_set, independent_gaussian
from designer.designing.laplace import starting_weights
from designer.designing.measured import moving_coordinates
from designer.designing.repair import freeze, on_heard
from designer.mechanism.additive import AdditiveMechanism
from designer.problem.relation import Indices
from designer.programs.bounds import Slopes
from designer.programs.constraints import Named, Separated, WorkingPairs, without_implied
from designer.programs.search import MechanismProgram, place_in, question_of
from designer.relations.problem import Problem
from solvers.exact.rational import capped_cube
from solvers.programs.noise_costs import NoiseCost

# Of the weight that a row could have alone: less is no weight, and noise without bound.
VANISHED = 1e-12
# Of the same, the least unit in which a weight is measured before a solver.
SMALLEST_UNIT = 1e-9


@dataclass(frozen=True, eq=False)
class PairBlock:
    """Rows that share a part of every pair's budget: their places, their differences, the variable of the part."""

    places: Indices
    moving: SensitivitySet
    working: WorkingPairs
    share: Any


class ScalesProgram(MechanismProgram):
    """Laplace noise of scales 1 / w in measured rows. Variable w, one for each row; of a row without noise it means nothing.

    scales, `1 / w`, and squares, `w^-2`, are convex; ratios of scales are linear in w: `w[j] <= r * w[i]`.
    """

    notion: ClassVar[Literal["pure", "zcdp"]] = "pure"
    encloses_all = True

    def __init__(self, problem: Problem, sensitivity: SensitivitySet, names: Sequence[str]) -> None:
        """sensitivity: the differences in the measured rows. names: of these rows."""
        super().__init__(problem)
        self.heard = ~sensitivity.silent_coordinates()
        if not self.heard.any():
            raise DesignFailed(
                f"{self.title}: no protected change moves an answer, so there is no noise to choose; use design."
            )
        self.moving = SensitivitySet(sensitivity.relation, sensitivity.points[:, self.heard])
        self.working = WorkingPairs(starting_weights(self.moving))
        self.names = tuple(names)
        self.blocks: list[PairBlock] = []
        self.w = cp.Variable(len(self.heard), name="w", pos=True)

    @property
    @abstractmethod
    def row_costs(self) -> Floats:
        """What `w_i^-p` costs in the loss, (s,), for the rows with noise."""

    @property
    def power(self) -> int:
        """p: 1 for the absolute loss, 2 otherwise."""
        return 1 if self.question.loss == "absolute" else 2

    @property
    def variables(self) -> dict[str, Any]:
        """w, and the shares of the budget that were asked for."""
        return {"w": self.w, **{block.share.name(): block.share for block in self.blocks}}

    @property
    def privacy(self) -> tuple[Any, ...]:
        """`sum_i |u_i| w_i / b <= 1` for the pairs of the working set."""
        return (self.loads @ self._heard(self.w) <= 1,)

    @property
    def loads(self) -> Floats:
        """What each weight spends of the budget of each pair of the working set, (M, s)."""
        return self.working.rows

    @property
    def definitions(self) -> tuple[Any, ...]:
        """`sum_i |u_i| w_i / b <= share`, over the rows i of each block that a share was asked for."""
        spent = [block.working.rows @ self.w[block.places] <= block.share for block in self.blocks]
        return (*spent, *(block.share <= 1 for block in self.blocks))

    @cached_property
    def scales(self) -> Any:
        """The scales c = 1 / w; 0 for a row without noise."""
        return cp.multiply(self.heard.astype(float), cp.power(self.w, -1))

    @cached_property
    def squares(self) -> Any:
        """The squared scales `w^-2`; 0 for a row without noise."""
        return cp.multiply(self.heard.astype(float), cp.power(self.w, -2))

    @cached_property
    def mean_absolutes(self) -> Any:
        """What stands for the absolute errors, (K,): the standard errors, where the program does not say otherwise."""
        return self.standard_errors

    @cached_property
    def loss(self) -> Any:
        """The weighted squared error, the largest one, or the weighted absolute error."""
        if self.question.loss == "absolute":
            return cp.sum(cp.multiply(self.question.costs, self.mean_absolutes))
        weighted = cp.multiply(self.question.costs, self.variances)
        return cp.sum(weighted) if self.question.loss == "squared" else cp.max(weighted)

    @property
    def named(self) -> Named:
        """Besides variances and standard errors w and the scales, by row."""
        return {**super().named, "w": (self.w, self.names), "scales": (self.scales, self.names)}

    def budget_share(self, rows: Sequence[str | int]) -> Any:
        """What the noise of some rows may spend of every pair's budget, as a variable of CVXPY.

        `sum_i |u_i| w_i / b <= share` for every pair, i over the rows: an allowance, to be bounded (`share <= 0.3`) or compared
        with that of other rows (`one == 2 * other`).
        """
        places = np.array(sorted({self._noisy_row(row) for row in rows}), dtype=np.intp)
        if not len(places):
            raise InvalidProblem("rows: none given; name the rows that share a part of the budget.")
        inner = np.searchsorted(np.flatnonzero(self.heard), places)
        moving = SensitivitySet(self.moving.relation, self.moving.points[:, inner])
        share = cp.Variable(name=f"share_of_{'_'.join(self.names[place] for place in places)}", nonneg=True)
        self.blocks.append(PairBlock(places, moving, WorkingPairs(starting_weights(moving)), share))
        return share

    def equal_scales(self, rows: Sequence[str | int], name: str | None = None) -> Self:
        """One scale for several rows; the program itself is changed and returned."""
        places = [self._noisy_row(row) for row in rows]
        if len(places) < 2:
            raise InvalidProblem(f"rows: {len(places)} given; name at least two that shall have one scale.")
        return self.subject_to(self.w[places[1:]] == self.w[places[0]], name)

    def scale_ratio_at_most(self, row: str | int, other: str | int, ratio: float, name: str | None = None) -> Self:
        """The scale of `row` is at most `ratio` times that of `other`; the program itself is changed and returned."""
        wide, narrow = self._noisy_row(row), self._noisy_row(other)
        return self.subject_to(self.w[narrow] <= positive(ratio, "ratio") * self.w[wide], name)

    def separate(self) -> Separated:
        """A scan of all pairs at the weights of now, for all rows and for each block."""
        found = self.working.separate(self.moving, self.shape(self._weights()))
        added = found.added
        for block in self.blocks:
            norm, share = weighted_l1(np.maximum(self.w.value[block.places], 1e-300)), max(float(block.share.value), 1e-9)
            added += block.working.separate(block.moving, norm, budget=share).added
        return Separated(found.worst, added)

    def shape(self, weights: Floats) -> Norm:
        """The norm in which the differences of every pair are at most its budget, of weights (s,)."""
        return weighted_l1(weights)

    def state_all(self) -> None:
        for working, moving in [(self.working, self.moving), *((block.working, block.moving) for block in self.blocks)]:
            working.rows = WorkingPairs(without_implied(np.abs(moving.all_pairs().normalised))).rows

    def settle(self) -> None:
        """Allowances no smaller than what is spent: solvers and repair may leave them smaller by a little."""
        for block in self.blocks:
            worst, _ = block.moving.worst(weighted_l1(np.maximum(self.w.value[block.places], 1e-300)))
            block.share.save_value(np.asarray(max(worst, 0.0 if block.share.value is None else float(block.share.value))))

    def start(self) -> None:
        """The weights that equal multipliers for all pairs of the working set give, made private for these."""
        self._set(self._unit)
        self._measure_in(self._unit)

    def rescale(self) -> bool:
        """The weights in units of those of now, where one of them is off its unit by a tenth."""
        now = np.maximum(self._weights(), SMALLEST_UNIT * self.alone)
        off = bool(np.abs(np.log(now / self._units)).max() > 0.1)
        if off:
            self._measure_in(now)
        return off

    @property
    def powers(self) -> Mapping[Any, float]:
        """The expressions that are powers of w, and which."""
        return {self.scales: -1.0, self.squares: -2.0}

    def _measure_in(self, units: Floats) -> None:
        self._units = units
        self.__dict__.pop("in_units", None)

    @cached_property
    def in_units(self) -> Mapping[Any, Any]:
        """`w = x` times weights of the right order, in w itself and in the expressions of it."""
        units = self._units
        shares = cp.Variable(len(units), name="x", pos=True)
        spread = np.eye(len(self.heard))[:, self.heard]

        def stands(power: float) -> Any:
            term = cp.multiply(units**power, cp.power(shares, power) if power < 0 else shares)
            return term if self.heard.all() else spread @ term

        of_powers = {part: stands(power) for part, power in self.powers.items()}
        return {self.w: stands(1) + (~self.heard).astype(float), **of_powers}

    def least_linear(self, slopes: Slopes) -> float | None:
        """Weights lie between 0 and what each row could have alone, those without noise at 1, shares between 0 and 1."""
        parts = sum(min(0.0, float(slope)) for name, slope in slopes.items() if name != "w")
        fixed = float(slopes["w"][~self.heard].sum())
        return float(np.minimum(slopes["w"][self.heard] * self.alone, 0.0).sum()) + fixed + parts

    def least_separable(self, slopes: Slopes, costs: Floats, steps: Floats | None = None) -> float:
        """The least `sum_i V_i f_i(w_i) + <slope, x>`, row by row: in closed form, or at what the row could have alone.

        costs V, steps: (s,), of the rows with noise, as in `NoiseCost`.
        """
        a, kept = slopes["w"][self.heard], costs > 0
        cost = NoiseCost.of(costs[kept], self.power, None if steps is None else steps[kept])
        rising = a[kept] > 0
        best = np.where(rising, cost.least(np.where(rising, a[kept], 1.0)), np.inf)
        weights = np.where(a < 0, self.alone, 0.0)
        weights[kept] = np.minimum(best, self.alone[kept])
        linear = self.least_linear(
            {name: slope for name, slope in slopes.items() if name != "w"} | {"w": np.where(self.heard, 0.0, slopes["w"])}
        )
        return float(cost.value(weights[kept]) + (a * weights).sum()) + float(linear or 0.0)

    @cached_property
    def alone(self) -> Floats:
        """The largest weight that each row with noise could have if it were alone, (s,)."""
        return np.asarray(1 / self.loads.max(axis=0))

    @cached_property
    def _units(self) -> Floats:
        """The units of the weights before a solver, (s,)."""
        return self._unit

    @cached_property
    def _unit(self) -> Floats:
        """Weights of the right order, (s,): those of equal multipliers; for the largest loss those of equal costs."""
        rows = self.loads * self.alone
        costs = self.row_costs * self.alone**-self.power
        largest = self.question.loss == "max"
        shares = costs ** (1 / self.power) if largest else (costs / rows.mean(axis=0)) ** (1 / (self.power + 1))
        return np.asarray(self.alone * shares / (rows @ shares).max())

    def weights_of_noise(self) -> Floats:
        """The weights at the values of now, (s,); `DesignFailed` where one has vanished."""
        weights = self._weights()
        vanished = (weights <= VANISHED * self.alone) | self._left_out()[self.heard]
        if vanished.any():
            place = int(np.flatnonzero(self.heard)[np.flatnonzero(vanished)[0]])
            raise DesignFailed(
                f"{self.title}: the objective leaves {self.names[place]!r} no weight, that is noise without bound; let the "
                "objective depend on every query, or cap its variance."
            )
        return weights

    def _left_out(self) -> NDArray[np.bool_]:
        """The rows on whose weights neither the objective nor a constraint of the user's own depends."""
        left = np.zeros(len(self.heard), dtype=bool)
        if self._objective is None:
            return left
        said = [self.objective, *(own.expr for own in self._own if own.expr is not None)]
        here, before = np.array(self.w.value), [np.array(part.value) for part in said]
        for place in np.flatnonzero(self.heard):
            self.w.save_value(np.where(np.arange(len(here)) == place, 1e-9 * here, here))
            left[place] = all(np.array_equal(part.value, old) for part, old in zip(said, before, strict=True))
        self.w.save_value(here)
        return left

    def _weights(self) -> Floats:
        return np.maximum(np.asarray(self.w.value, dtype=np.float64)[self.heard], 1e-3 * VANISHED * self.alone)

    def _set(self, weights: Floats) -> None:
        full = np.ones(len(self.heard))
        full[self.heard] = weights
        self.w.save_value(full)
        self.settle()

    def _heard(self, expression: Any) -> Any:
        return expression if self.heard.all() else expression[np.flatnonzero(self.heard)]

    def _noisy_row(self, row: str | int) -> int:
        place = place_in(row, self.names, "row")
        if not self.heard[place]:
            raise InvalidProblem(f"row: {row!r} is moved by no protected change and gets no noise; leave it out.", value=row)
        return place


# Independent Gaussian noise in the measured coordinates, as a program in CVXPY (docs/guides/programs.md).


class DiagonalProgram(ScalesProgram):
    """The variances of independent Gaussian noise. Variable w, (s,): their reciprocals; variances are convex, (K,).

    problem: of linear queries, zCDP.
    """

    title = "diagonal_gaussian"
    notion = "zcdp"
    source = "the Gaussian mechanism, a variance for each coordinate; docs/theory/scales.md"
    formula = """
        minimise    sum_k v_k sum_i q_ki^2 / w_i      (squared;  the largest of them  max;  absolute: (2 / pi)^(1/2) of roots)
        subject to  sum_i u_i^2 w_i <= b^2            for every protected pair (u, b)
    """

    def __init__(self, problem: Problem) -> None:
        question = question_of(problem, self.title, self.notion)
        self.coordinates, moving = heard_set(question, self.title)
        self.queries = np.asarray(self.coordinates.answers(question))
        super().__init__(question, moving, [f"coordinate {i + 1}" for i in range(moving.dimension)])
        self.objective_words = GAUSSIAN_WORDS.get(question.loss, "sum_k v_k E|z_k|, the weighted absolute error")

    @property
    def loads(self) -> Floats:
        return np.asarray(np.square(self.working.rows))

    @property
    def power(self) -> int:
        return 1

    @property
    def row_costs(self) -> Floats:
        costs = self.question.costs @ self.queries**2
        return np.asarray(np.maximum(costs, 1e-12 * costs.max()))

    def budget_share(self, rows: Sequence[str | int]) -> Any:
        """Refuse: shares of zCDP are no allowances of this kind."""
        raise InvalidProblem(
            "rows: Gaussian noise spends budgets in squares; constrain the rows by `program.w` itself.", value=rows
        )

    @cached_property
    def variances(self) -> Any:
        """`sum_i q_ki^2 / w_i`, (K,)."""
        return self.queries**2 @ self.scales

    @cached_property
    def standard_errors(self) -> Any:
        """The roots of the variances, (K,): lengths of vectors of `w^-1/2`."""
        sizes = np.linalg.norm(self.queries / np.sqrt(self.alone), axis=1)
        parts = np.abs(self.queries) / np.where(sizes > 0, sizes, 1.0)[:, None]
        return cp.multiply(sizes, cp.norm(parts @ cp.diag(self._roots), 2, axis=1))

    @cached_property
    def _roots(self) -> Any:
        """`w^-1/2`, (s,)."""
        return cp.multiply(np.ones(self.w.size), cp.power(self.w, -0.5))

    @cached_property
    def mean_absolutes(self) -> Any:
        """`(2 / pi)^(1/2)` times the standard errors, (K,)."""
        return np.sqrt(2 / np.pi) * self.standard_errors

    @property
    def powers(self) -> Mapping[Any, float]:
        return {**super().powers, self._roots: -0.5}

    def shape(self, weights: Floats) -> Norm:
        """The norm of these reciprocal variances, (s,)."""
        return Norm(np.sqrt(weights), "l2")

    def least_loss(self, slopes: Slopes, parts: Floats) -> float | None:
        """Coordinate by coordinate, in closed form; None for the absolute loss.

        parts: (K,), or 1.
        """
        if self.question.loss == "absolute":
            return None
        return self.least_separable(slopes, (self.question.costs * parts) @ self.queries**2)

    def frozen(self) -> AdditiveMechanism:
        """Gaussian noise of these variances, all multiplied by what privacy requires."""
        weights = on_heard(np.sqrt(self.weights_of_noise()), self.coordinates, np.inf)
        return independent_gaussian(self.question, self.title, self.coordinates, weights, None)

    def take(self, mechanism: AdditiveMechanism) -> None:
        """The w whose variances are at least those of the noise that is drawn, in proportion to those of the measured rows."""
        heard, noisy = ~mechanism.norm.silent, self.queries.any(axis=1)
        units = mechanism.sensitivity().spread()[heard] / self.moving.spread()
        self._set(np.square(mechanism.norm.map[heard] * units))
        ratios = mechanism.query_variances()[noisy] / self.variances.value[noisy]
        self._set(self._weights() / ratios.max())


# Noise in a box, and in a box with its corners cut, as programs in CVXPY (docs/guides/programs.md).
#
# w are the reciprocal sides, s coordinates, q_k the rows of the reconstruction and v the weights of the queries; m(cap) and
# m1(cap) are the means of u_1^2 and |u_1| over the unit cube with its corners cut, 1/3 and 1/2 for the whole cube. Box: convex.
# Corners cut: convex for a cap that is given; the best cap is found by trying, because m(cap) and w multiply.


WORDS = {
    "squared": "sum_k v_k Var_k, the weighted squared error of continuous noise",
    "absolute": "sum_k v_k E|z_k|, the weighted absolute error of continuous noise",
    "max": "max_k v_k Var_k, the largest weighted squared error of continuous noise",
}


class BoxProgram(ScalesProgram):
    """The sides of a box. Variable w, (s,): one over half of each side; variances and standard errors are convex, (K,).

    problem: of linear queries.
    """

    title = "box"
    source = "SEMI Algorithm 6 with a side for each coordinate; docs/theory/bundles.md, 5"
    formula = """
        minimise    sum_k v_k Var_k,  Var_k = (s + 1)(s + 2) m(cap) sum_i q_ki^2 w_i^-2     (squared;  max_k v_k Var_k  max)
                    sum_k v_k E|z_k|,  (s + 1) m1(cap) |q_ki| / w_i                         (absolute; Var_k^1/2 of several i)
        subject to  |u_i| w_i <= b                    for every coordinate of every protected pair (u, b)
                    sum_i |u_i| w_i <= cap b          for every protected pair, where corners are cut
    """

    def __init__(self, problem: Problem) -> None:
        question = question_of(problem, self.title, self.notion)
        self.coordinates = moving_coordinates(question)
        moving = self.coordinates.sensitivity(question)
        if self.coordinates.heard.any():
            refuse_infinite(moving, weighted_l1(np.ones(moving.dimension)))
        plain = self.coordinates.measured is None
        names = question.workload.queries if plain else [f"coordinate {i + 1}" for i in range(len(self.coordinates.heard))]
        super().__init__(question, moving, [name for name, h in zip(names, self.coordinates.heard, strict=True) if h])
        self.objective_words = WORDS[question.loss]

    @property
    def loss_is_exact(self) -> bool:  # type: ignore[override]  # by the loss of the problem
        """Whether `loss` is that of the problem: of answers that add up several sides standard errors stand in for absolute
        ones."""
        return self.question.loss != "absolute" or bool(self._alone_in_answer.all())

    @property
    def cap(self) -> float:
        """How many sides the ball allows together: all."""
        return float(self.moving.dimension)

    @property
    def inflation(self) -> float:
        """`(s + 1)(s + 2) m(cap)`: the variance of a coordinate over its squared side."""
        s = self.moving.dimension
        return (s + 1) * (s + 2) * float(capped_cube(s, Fraction(self.cap)).square)

    @property
    def power(self) -> int:
        return 2

    @cached_property
    def queries(self) -> Floats:
        """The rows q of the reconstruction, (K, s)."""
        return np.asarray(self.coordinates.answers(self.question))

    @property
    def row_costs(self) -> Floats:
        costs = np.asarray(self.inflation * (self.question.costs @ self.queries**2))
        return np.asarray(np.maximum(costs, 1e-9 * costs.max()))

    @cached_property
    def _unit(self) -> Floats:
        """The sides of the smallest box, made larger until all pairs of the working set keep the cap as Laplace noise would."""
        return np.asarray(np.minimum(self.alone, self.cap * super()._unit))

    @property
    def privacy(self) -> tuple[Any, ...]:
        """`|u_i| w_i / b <= 1` for each coordinate of the pairs of the working set."""
        rows = self.working.rows
        return (cp.multiply(rows, np.ones((len(rows), 1)) @ cp.reshape(self.w, (1, self.w.size), order="C")) <= 1,)

    @cached_property
    def variances(self) -> Any:
        """`(s + 1)(s + 2) m(cap) sum_i q_ki^2 w_i^-2`, (K,)."""
        return cp.multiply(self.inflation, self.queries**2 @ self.squares)

    @property
    def _alone_in_answer(self) -> NDArray[np.bool_]:
        """(K,), the answers with noise in one coordinate at most."""
        return np.asarray(np.count_nonzero(self.queries, axis=1) <= 1)

    @cached_property
    def mean_absolutes(self) -> Any:
        """`(s + 1) E|v| |q_ki| / w_i`, v a coordinate of a point of the cube, where one coordinate makes the answer; elsewhere
        the standard error, which is above it, (K,)."""
        s, alone = self.moving.dimension, self._alone_in_answer
        mean = (s + 1) * float(capped_cube(s, Fraction(self.cap)).mean)
        own = (mean * alone[:, None] * np.abs(self.queries)) @ self.scales
        return own if alone.all() else own + cp.multiply((~alone).astype(float), self.standard_errors)

    @cached_property
    def standard_errors(self) -> Any:
        """The roots of the variances: the lengths of `(q_ki / w_i)_i`, (K,), each in units of that of the smallest box."""
        sizes = np.linalg.norm(self.queries / self.alone, axis=1)
        lengths = [
            cp.norm(cp.multiply(np.abs(q) / (n or 1.0), self.scales), 2) for q, n in zip(self.queries, sizes, strict=True)
        ]
        return cp.multiply(np.sqrt(self.inflation) * sizes, cp.hstack(lengths))

    def least_loss(self, slopes: Slopes, parts: Floats) -> float | None:
        """Coordinate by coordinate, in closed form; None for the absolute loss.

        parts: (K,), or 1.
        """
        if self.question.loss == "absolute":
            return None
        return self.least_separable(slopes, np.asarray(self.inflation * ((self.question.costs * parts) @ self.queries**2)))

    def shape(self, weights: Floats) -> Norm:
        """The norm of these reciprocal sides, (s,)."""
        return Norm(weights, "linf")

    def frozen(self) -> AdditiveMechanism:
        """Noise in this box, as large as privacy requires."""
        weights = on_heard(self.weights_of_noise(), self.coordinates, np.inf)
        scales = 1 / weights
        return freeze(self.question, self.title, self.coordinates, scales, lambda _: self.shape(weights), "exponential")

    def take(self, mechanism: AdditiveMechanism) -> None:
        """The w whose variances are at least those of the noise that is drawn, in proportion to the frozen sides."""
        norm = mechanism.norm
        weights = norm.weights if isinstance(norm, CappedNorm) else norm.map
        self._set(np.asarray(weights[~norm.silent]))
        noisy = self.variances.value > 0
        ratios = mechanism.query_variances()[noisy] / self.variances.value[noisy]
        self._set(self._weights() / np.sqrt(ratios.max(initial=0.0) or 1.0))

    def standard_bound(self, multipliers: Sequence[Floats], parts: Floats) -> float | None:
        """The loss of the smallest box, in closed form: no side can shrink. None for the absolute loss.

        multipliers: one array, (M, s). parts: (K,), or 1.
        """
        if self.question.loss == "absolute":
            return None
        variances = self.inflation * (self.queries**2 @ self.moving.worst_coordinates() ** 2)
        costs = self.question.costs * variances
        return float(costs.max() if self.question.loss == "max" else costs.sum()) * (1 - 1e-11)


class CappedProgram(BoxProgram):
    """The sides of a box with its corners cut, for a cap that is given: the part of the design that is convex.

    cap: how many sides the ball allows together, positive; by default that of `design(problem, "capped_l1")`.
    """

    title = "capped_l1"

    def __init__(self, problem: Problem, cap: float | None = None) -> None:
        self._cap = self._found(problem) if cap is None else positive(cap, "cap")
        super().__init__(problem)
        self.objective_words = f"{WORDS[self.question.loss]}, of boxes whose corners leave {self._cap:.6g} sides"

    @staticmethod
    def _found(problem: Problem) -> float:
        from designer.designing.k_norm import design_capped_l1

        norm = design_capped_l1(question_of(problem, CappedProgram.title, CappedProgram.notion)).norm
        assert isinstance(norm, CappedNorm)
        return norm.cap

    @classmethod
    def at(cls, problem: Problem, mechanism: Any) -> Self:
        program = cls(problem, mechanism.norm.cap)
        program.take(mechanism)
        return program

    @property
    def cap(self) -> float:
        return self._cap

    @property
    def privacy(self) -> tuple[Any, ...]:
        """Those of the box, and `sum_i |u_i| w_i / (cap b) <= 1` for the pairs of the working set."""
        if self.cap >= self.moving.dimension:  # which follows from the sides
            return super().privacy
        return (*super().privacy, (self.working.rows / self.cap) @ self.w <= 1)

    def shape(self, weights: Floats) -> Norm:
        """The norm of these reciprocal sides, (s,), with its corners cut."""
        return CappedNorm(weights, self.cap)

    def standard_bound(self, multipliers: Sequence[Floats], parts: Floats) -> float | None:
        """None: what the multipliers prove is the bound.

        multipliers: two arrays, (M, s) and (M,). parts: (K,), or 1.
        """
        return None

"""Precisions of Gaussian noise in the residuals of marginal tables, as a program in CVXPY (docs/theory/marginals.md, 3).

Residual A has precision `s_A = 1 / sigma_A^2`; G has a row for each kind of protected change, V a row for each table B.
Source of the residuals: Xiao, He, Zhang and Kifer 2023.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.errors import DesignFailed, InvalidProblem
from designer.domains.marginals import MarginalMechanism
from designer.domains.marginals_plan import CONTINUOUS, OBJECTIVES, private_precisions, whole_parts
from designer.domains.marginals_workload import MarginalWorkload
from designer.domains.mechanism import changes, load_matrix
from designer.limits import MOST_PROGRAM_ENTRIES, MOST_PROGRAM_WEIGHTS
from designer.programs.bounds import Slopes
from designer.programs.constraints import NOTICED, Named, Separated
from designer.programs.program import Program
from designer.programs.rounds import DEFAULT, Rounds, Solved, SolverAnswer, Statement
from designer.tables.policies.design import (
    Accuracy,
    PriorRecords,
    RecordDesign,
    fixed_schemes,
    precision_program,
    record_loads,
    tidied,
)
from designer.tables.policies.hierarchies import Hierarchy
from solvers.programs.loads import bound_near

VANISHED = 1e-9  # of the precision that a residual could have alone: less is a solver's zero


class MarginalsProgram(Program):
    """Variable s, (M,), the precisions of the residuals that some protected change moves; the others are published exactly.

    problem: a MarginalProblem of the notion "zcdp". variances: that of a cell of each requested table, (K,), for continuous
    noise, which whole-number noise does not exceed.
    """

    title = "marginals"
    source = "ResidualPlanner (Xiao, He, Zhang and Kifer 2023); docs/theory/marginals.md, 3"
    formula = """
        minimise    sum_B cells_B weight_B (V s^-1)_B     (squared;  max_B weight_B (V s^-1)_B  max)
        subject to  G s <= 1
    """
    encloses_all = True

    def __init__(self, problem: Any) -> None:
        super().__init__()
        if not isinstance(getattr(problem, "workload", None), MarginalWorkload):
            raise InvalidProblem(
                "problem: is no MarginalProblem; build one with MarginalProblem(workload, protection).", value=problem
            )
        if problem.notion != "zcdp":
            raise DesignFailed(f"program: 'marginals' is zcdp, the problem asks for {problem.notion!r}; use design.")
        self.question, workload = problem, problem.workload
        self.found = changes(problem.relation, workload.domain, workload.measured)
        if not self.found:
            raise DesignFailed("marginals: no protected change moves a table, so there is no noise to choose; use design.")
        self.moved = np.unique(np.concatenate([change.members for change in self.found]))
        if (len(self.found) + len(workload.subsets)) * len(self.moved) > MOST_PROGRAM_ENTRIES:
            raise DesignFailed(
                f"marginals: {len(workload.subsets)} tables of {len(self.moved)} residuals are more than CVXPY takes in "
                "reasonable time; use design, whose own solver takes more."
            )
        loads = load_matrix(self.found, len(workload.measured))[:, self.moved]
        self.loads = np.asarray(loads if isinstance(loads, np.ndarray) else loads.toarray(), dtype=np.float64)
        self.spread = np.asarray(workload.cell_variances[:, self.moved].toarray(), dtype=np.float64)
        self.s = cp.Variable(len(self.moved), name="s", pos=True)
        self._shares = cp.Variable(len(self.moved), name="x", pos=True)

    @property
    def costs(self) -> Floats:
        """What variances of tables cost, (K,): their weights, and for "squared" times their cells."""
        workload = self.question.workload
        return np.asarray(workload.weights * (workload.cells if self.question.loss == "squared" else 1.0))

    @property
    def variables(self) -> dict[str, Any]:
        return {"s": self.s}

    @property
    def named(self) -> Named:
        workload = self.question.workload
        measured = tuple(workload.measured.tuples())
        residuals = tuple(" x ".join(workload.names(measured[place])) or "total" for place in self.moved)
        tables = tuple(" x ".join(workload.names(axes)) or "total" for axes in workload.subsets.tuples())
        return {"s": (self.s, residuals), "variances": (self.variances, tables)}

    @property
    def privacy(self) -> tuple[Any, ...]:
        """`G s <= 1`."""
        return (self.loads @ self.s <= 1,)

    @cached_property
    def inverses(self) -> Any:
        """`1 / s`, (M,): the variances of the residuals."""
        return cp.multiply(np.ones(self.s.size), cp.inv_pos(self.s))  # a product is replaced in units, a power is not

    @cached_property
    def roots(self) -> Any:
        """`s^-1/2`, (M,)."""
        return cp.multiply(np.ones(self.s.size), cp.power(self.s, -0.5))

    @cached_property
    def variances(self) -> Any:
        """`V s^-1`, (K,)."""
        return self.spread @ self.inverses

    @cached_property
    def standard_errors(self) -> Any:
        """`(V s^-1)^1/2`, (K,): a Euclidean norm of `s^-1/2` in each entry."""
        return cp.norm(np.sqrt(self.spread) @ cp.diag(self.roots), 2, axis=1)

    @cached_property
    def loss(self) -> Any:
        """The total of weighted variances of all cells, or the largest weighted variance."""
        weighted = cp.multiply(self.costs, self.variances)
        return cp.sum(weighted) if self.question.loss == "squared" else cp.max(weighted)

    def separate(self) -> Separated:
        """Nothing joins: every change is stated."""
        return Separated(float((self.loads @ self.s.value).max()), 0)

    def state_all(self) -> None:
        """Every change is stated."""

    @cached_property
    def _units(self) -> Floats:
        """Precisions of the right order, (M,): the best ones for the sum of all loads."""
        share = np.sqrt((self.costs @ self.spread) / self.loads.sum(axis=0))
        return np.asarray(share / (self.loads @ share).max())

    @cached_property
    def in_units(self) -> Mapping[Any, Any]:
        units, x = self._units, self._shares
        return {
            self.s: cp.multiply(units, x),
            self.inverses: cp.multiply(1 / units, cp.inv_pos(x)),
            self.roots: cp.multiply(units**-0.5, cp.power(x, -0.5)),
        }

    def start(self) -> None:
        self.s.save_value(self._units)

    @cached_property
    def alone(self) -> Floats:
        """The largest precision that each residual could have alone, (M,)."""
        return np.asarray(1 / self.loads.max(axis=0))

    def least_linear(self, slopes: Slopes) -> float:
        return float(np.minimum(slopes["s"] * self.alone, 0.0).sum())

    def least_loss(self, slopes: Slopes, parts: Floats) -> float:
        """`sum b / s + <slope, s>`, residual by residual: at `(b / slope)^1/2`, or at what a residual could have alone.

        parts: (K,), or 1.
        """
        costs = (self.costs * parts) @ self.spread
        slope = slopes["s"]
        with np.errstate(divide="ignore", invalid="ignore"):
            best = np.where(slope > 0, np.minimum(np.sqrt(costs / slope), self.alone), self.alone)
        return float((costs / best + slope * best).sum())

    def standard_bound(self, multipliers: Sequence[Floats], parts: Floats) -> float | None:
        """`F^2 / sum lambda` with `F = sum (a b)^1/2`, a = G' lambda and b = V' costs (docs/theory/marginals.md, (4)).

        multipliers: one array, (changes,). parts: (K,), or 1.
        """
        costs = (self.costs * parts) @ self.spread
        total = float(multipliers[0].sum())
        if not total > 0:
            return None
        return float(np.sqrt((multipliers[0] @ self.loads) * costs).sum()) ** 2 / total * (1 - 1e-11)

    def design(self, solver: str = DEFAULT, **options: Any) -> MarginalMechanism:
        """Solve, scale until every promise is kept exactly, and certify; the user's constraints hold at what is frozen."""
        made, solved = self.frozen_within(solver, options, self._built, self._take)
        value, claim = made.error(self.question.loss), None
        kept = whole_parts(self.question.workload, self.found, self.moved)
        if kept.min() >= CONTINUOUS:
            rounding = value * (self.s.size + 16) * 2.0**-50
            claim = self.claim_of(OBJECTIVES[self.question.loss], value, solved, rounding, float(kept.min()))
        told = {"family": "residual", "repaired_loss": float(self.loss.value)}
        return made.annotated({**self.history_of(solved), **told}, claim)

    @classmethod
    def at(cls, problem: Any, mechanism: Any) -> Self:
        program = cls(problem)
        if not isinstance(mechanism, MarginalMechanism):
            raise DesignFailed("program: no program states products of rows of single attributes; ask for family='residual'.")
        program._take(mechanism)
        return program

    def _built(self) -> MarginalMechanism:
        workload = self.question.workload
        precisions = np.full(len(workload.measured), np.inf)
        precisions[self.moved] = np.maximum(np.asarray(self.s.value, dtype=np.float64), VANISHED * self.alone)
        made = private_precisions(self.found, precisions, self.moved)
        return MarginalMechanism(workload, self.question.relation, made, allow_vacuous=self.question.allow_vacuous)

    def _take(self, made: MarginalMechanism) -> None:
        self.s.save_value(np.array(made.precisions[self.moved]))


# Precisions of noise for per-record zCDP as a program in CVXPY (docs/guides/programs.md; docs/theory/record_design.md).
#
# Measure a has precision `s_af = 1 / sigma^2` for each family f of groups. A is the 0/1 matrix of groups over finest groups,
# w_q its row of group q, r a public record, path(r) the groups that it is counted in.
#
# g / h are the weights of a linear estimate of group q without bias, 1 / h a bound of its variance; at the best g it is the
# variance of the consistent answer. So h is concave in s, `1 / h` and `1 / sqrt(h)` are convex. Groups join as their targets
# are missed. Source of the setting: Seeman et al., per-record zCDP.


FAINTEST = 1e-9  # of what a family needs by itself: less is a solver's zero
CLOSE_TO_LIMIT = 0.9  # errors above this part of their limit are cut
PLAIN = 1e-2  # of what a family needs by itself: the least unit of a precision in a bound
SHRUNK, SOLVES = 30.0, 4  # solved again where a precision is this much smaller than its unit, this often


class RecordsProgram(Program):
    """Variables s, (measures, families), the precisions, and h, (measures, groups), reciprocal variances of consistent answers.

    losses: those of the prior's records, (K,). variances and standard_errors: (measures, groups). What holds throughout are the
    accuracy targets (`privacy` states them, in the place of budgets): a record's loss is what is minimised.

    hierarchy: the groups and what they add up to. accuracies: one for each measure. prior: the records whose loss is minimised.
    families: (groups,), groups of one number have one precision.
    """

    title = "records"
    source = "REC, the exact policy over a prior; docs/theory/record_design.md"
    formula = """
        minimise    sum_r weight_r P(r)  or  max_r weight_r P(r),     P(r) = sum_a r_a^2 / 2 * sum of s_af over path(r)
        subject to  h_aq >= 1 / target_aq^2                           for every group with a target
                    sum_i g_i^2 / s_a(i) <= h_aq,   A' g = h_aq w_q   for some g, one number for each noisy answer i
    """
    promise = "while the accuracy targets are met", "even without the accuracy targets"

    def __init__(
        self,
        hierarchy: Hierarchy,
        accuracies: Sequence[Accuracy],
        prior: PriorRecords,
        *,
        families: NDArray[np.int64] | None = None,
    ) -> None:
        """The arguments of `design_records`."""
        super().__init__()
        self.numbers = precision_program(hierarchy, accuracies, prior, families)
        self.measures, groups = len(accuracies), hierarchy.size
        self.s = cp.Variable(self.numbers.shape, nonneg=True, name="s")
        self.h = cp.Variable((self.measures, groups), nonneg=True, name="h")
        self._stand_ins: dict[Any, Any] | None = None
        self.scale, self.size = self.numbers.direct, self._information(self.numbers.scaled(self.numbers.direct))
        self._shares = cp.Variable(self.numbers.shape, nonneg=True)
        self._known = cp.Variable((self.measures, groups), nonneg=True)
        self.asked: list[set[int]] = [set() for _ in accuracies]

    @property
    def variables(self) -> dict[str, Any]:
        return {"s": self.s, "h": self.h}

    @property
    def named(self) -> Named:
        tree, names = self.numbers.hierarchy, tuple(accuracy.measure for accuracy in self.numbers.accuracies)
        named: Named = {"s": (self.s, names), "losses": (self.losses, ()), "h": (self.h, (names, tree.labels))}
        both = {"variances": self.variances, "standard_errors": self.standard_errors}
        return {**named, **{name: (part, (names, tree.labels)) for name, part in both.items()}}

    @cached_property
    def losses(self) -> Any:
        """What every record of the prior loses under the exact policy, (K,)."""
        empty = self.numbers.freeze(np.zeros(self.numbers.shape))
        return record_loads(empty, self.numbers.prior) @ cp.vec(self.s, order="C")

    @cached_property
    def loss(self) -> Any:
        """The functional of the exact policy over the prior."""
        loads = self.numbers.loads @ cp.vec(self.s, order="C")
        return cp.max(loads) if self.numbers.prior.largest else cp.sum(loads)

    @cached_property
    def variances(self) -> Any:
        """Of consistent answers, (measures, groups)."""
        return cp.power(self.h, -1)

    @cached_property
    def standard_errors(self) -> Any:
        """Of consistent answers, (measures, groups)."""
        return cp.power(self.h, -0.5)

    @property
    def in_units(self) -> Mapping[Any, Any]:
        if self._stand_ins is None:
            known = self._known
            self._stand_ins = {
                self.s: cp.multiply(self.scale, self._shares),
                self.h: cp.multiply(self.size, known),
                self.variances: cp.multiply(1 / self.size, cp.power(known, -1)),
                self.standard_errors: cp.multiply(self.size**-0.5, cp.power(known, -0.5)),
            }
        return self._stand_ins

    @property
    def privacy(self) -> tuple[Any, ...]:
        """The targets of the groups that are asked about."""
        stated = []
        for a, accuracy in enumerate(self.numbers.accuracies):
            places = self._targets(a, sorted(self.asked[a]))
            weights, known = self.numbers.weights[a][places], self.h[a, places]
            if accuracy.on_average:
                size = self.size[a, places]
                stated.append(cp.sum(cp.multiply(weights / size, cp.power(cp.multiply(1 / size, known), -1))) <= 1)
            else:
                stated.append(cp.multiply(1 / weights, known) >= 1)
        return tuple(stated)

    @property
    def pairs(self) -> int:
        """The number of groups that are asked about."""
        return sum(map(len, self.asked))

    @property
    def definitions(self) -> tuple[Any, ...]:
        """h is at most the information of a linear estimate without bias."""
        return tuple(constraint for a in range(self.measures) for constraint in self._ties(a, sorted(self.asked[a])))

    def _ties(self, a: int, places: list[int]) -> list[Any]:
        """For these groups of a measure, with g = gamma in units of what is known and of the precisions."""
        if not places:
            return []
        families, scale, size = self.numbers.families, self.scale[a], self.size[a, places]
        known = cp.multiply(1 / size, self.h[a, places])
        gamma = cp.Variable((len(places), len(families)))
        units = np.sqrt(scale[families][None, :] / size[:, None])
        ones = np.ones((1, self.contains.shape[1]))
        wanted = cp.multiply(self.contains[places], cp.reshape(known, (len(places), 1), order="C") @ ones)
        shares = cp.multiply(1 / scale, self.s[a])
        members = [(f, np.flatnonzero(families == f)) for f in range(len(scale))]
        spent = [
            sum(cp.quad_over_lin(gamma[row, group], shares[f]) for f, group in members) <= known[row]
            for row in range(len(places))
        ]
        return [cp.multiply(units, gamma) @ self.contains == wanted, *spent]

    @cached_property
    def contains(self) -> Floats:
        """A, (groups, finest groups), 1 where a finest group belongs to a group."""
        tree = self.numbers.hierarchy
        leaves = np.flatnonzero(~tree.inner)
        return np.asarray(np.stack([tree.totals(row) for row in np.eye(len(leaves))], axis=1), dtype=np.float64)

    def _targets(self, a: int, places: Sequence[int]) -> list[int]:
        return [place for place in places if self.numbers.weights[a][place] > 0]

    def subject_to(self, constraints: Any, name: str | None = None) -> Self:
        super().subject_to(constraints, name)
        self._tie_all([own.constraint for own in self._own])
        return self

    def minimise(self, objective: Any) -> Self:
        super().minimise(objective)
        self._tie_all([self._objective])
        return self

    def _tie_all(self, things: Sequence[Any]) -> None:
        """Ask about every group where somebody speaks of h, or of what follows from it."""
        if any(variable is self.h for thing in things for variable in thing.variables()):
            self.state_all()

    def _ask(self, a: int, places: Sequence[int]) -> int:
        """Groups join; returns how many are new."""
        size = self.numbers.hierarchy.size
        before = len(self.asked[a])
        self.asked[a] |= {int(place) for place in places}
        if len(self.asked[a]) * size > MOST_PROGRAM_WEIGHTS:
            raise DesignFailed(
                f"records: {len(self.asked[a])} estimates of {size} answers each have more than {MOST_PROGRAM_WEIGHTS} "
                "weights; state fewer groups, or use design_records."
            )
        return len(self.asked[a]) - before

    def start(self) -> None:
        self._take_units(self.numbers.direct)
        self.set_values(self.numbers.scaled(self.numbers.direct))
        for a, accuracy in enumerate(self.numbers.accuracies):
            if accuracy.on_average:
                self._ask(a, np.flatnonzero(self.numbers.weights[a] > 0).tolist())
        self.separate()

    def state_all(self) -> None:
        for a in range(self.measures):
            self._ask(a, range(self.numbers.hierarchy.size))

    def set_values(self, precisions: Floats) -> None:
        """Give the variables these precisions, (measures, families), and what is known at them."""
        self.s.save_value(precisions)
        self.h.save_value(self._information(precisions))

    def point(self) -> Floats:
        """The present precisions, none of them 0."""
        return np.asarray(np.maximum(np.array(self.s.value), FAINTEST * self.numbers.direct), dtype=np.float64)

    def _information(self, precisions: Floats) -> Floats:
        """The reciprocal variances of the consistent answers, (measures, groups)."""
        tree, families = self.numbers.hierarchy, self.numbers.families
        rows = np.maximum(precisions, FAINTEST * self.numbers.direct)
        return np.asarray(np.stack([1 / tree.variances(row[families]) for row in rows]), dtype=np.float64)

    def separate(self) -> Separated:
        """Variances of all groups by least squares; the worst group of each level whose target is missed joins."""
        worst, added, known = 0.0, 0, self._information(self.point())
        for a, accuracy in enumerate(self.numbers.accuracies):
            errors = self.numbers.weights[a] / known[a]
            worst = max(worst, float(errors.sum() if accuracy.on_average else errors.max()))
            if not accuracy.on_average:
                first = [level.start + int(errors[level].argmax()) for level in self.numbers.hierarchy.slices]
                limit = 1 + NOTICED if self.asked[a] else 0.0
                added += self._ask(a, [place for place in first if errors[place] > limit])
        return Separated(worst, added)

    def rescale(self) -> bool:
        """Take the units of the present precisions; says whether some are so much smaller that it is worth to solve again."""
        scale = np.maximum(self.point(), 1e-6 * self.numbers.direct)
        smaller = bool((self.scale > SHRUNK * scale).any())
        if smaller:
            self._take_units(scale)
        return smaller

    def _take_units(self, scale: Floats) -> None:
        self.scale, self._stand_ins = scale, None
        self.size = self._information(self.numbers.scaled(scale))

    def _rounds(self, solver: str, options: Mapping[str, Any]) -> Rounds:
        return Settled(self, solver, options)

    def proven(self, answer: SolverAnswer) -> tuple[float | None, str]:
        if self._objective is not None:
            return None, "none: the objective is not its own"
        point = self.numbers.scaled(self.point()).ravel()
        scale = np.maximum(point, PLAIN * self.numbers.direct.ravel())
        return bound_near(self.numbers.loads, self._errors_near, point, scale), "linear program over the cuts at the answer"

    def _errors_near(self, flat: Floats) -> tuple[Floats, Floats]:
        """The errors, relative to their targets, that are near the limit, with slopes; see `PrecisionProgram.errors`."""
        numbers, values, slopes = self.numbers, [], []
        for a, row in enumerate(flat.reshape(numbers.shape)):
            relative = numbers.hierarchy.variances(row[numbers.families]) * numbers.weights[a]
            chosen = (
                [relative > 0]
                if numbers.accuracies[a].on_average
                else list(np.eye(len(relative))[relative > CLOSE_TO_LIMIT] > 0)
            )
            for groups in chosen:
                slope = numbers.hierarchy.slopes(row[numbers.families], np.where(groups, numbers.weights[a], 0.0))
                values.append(float(relative[groups].sum()))
                slopes.append(np.zeros(numbers.shape))
                slopes[-1][a] = np.bincount(numbers.families, slope, minlength=len(row))
        return np.array(values), np.array([slope.ravel() for slope in slopes])

    def design(self, solver: str = DEFAULT, **options: Any) -> RecordDesign:
        """Solve, scale until every target is met exactly as `design_records` does, and check the user's constraints there."""
        made, solved = self.frozen_within(solver, options, self._built, lambda found: self.set_values(found.precisions))
        return self._claimed(replace(made, provenance=self._provenance(solved)), solved)

    def _built(self) -> RecordDesign:
        numbers, point = self.numbers, self.point()
        if self.is_standard:
            both = (numbers.scaled(point), tidied(numbers, numbers.scaled(point)))
            return numbers.freeze(min(both, key=self._value_of))
        reached = [max(value for value, _ in numbers.measure_errors(a, row)) for a, row in enumerate(point)]
        return numbers.freeze(point * np.maximum(1.0, reached)[:, None])

    def _value_of(self, precisions: Floats) -> float:
        """The functional at these precisions, by plain arithmetic."""
        return float((self.numbers.loads @ precisions.ravel()).max())

    def _claimed(self, made: RecordDesign, solved: Solved) -> RecordDesign:
        """With the functional of the frozen precisions, what is proven of it, and fixed schemes beside it."""
        numbers, value = self.numbers, self._value_of(made.precisions)
        words = f"{numbers.prior.form} of weight times exact policy over {len(numbers.prior.values)} prior records"
        claim = self.claim_of(words, value, solved, value * (numbers.loads.shape[1] + 16) * 2.0**-50)
        if claim is None:
            return made
        schemes = {name: self._value_of(precisions) for name, precisions in fixed_schemes(numbers).items()}
        return replace(made, optimality=claim, schemes=schemes)

    def _provenance(self, solved: Solved) -> dict[str, Any]:
        return {**self.history_of(solved), "repaired_loss": float(self.loss.value), "groups": solved.pairs}


class Settled(Rounds):
    """Rounds in units that follow the precisions found; the answer is left with what is really known at it."""

    program: RecordsProgram

    def run(self, statement: Statement) -> SolverAnswer:
        if statement.extra:
            return super().run(statement)
        program = self.program
        return self.in_units_of_the_answer(statement, SOLVES, lambda: (np.array(program.s.value),), program.set_values)

"""Precisions of noise for per-record zCDP as a program in CVXPY (docs/guides/programs.md; docs/theory/record_design.md).

Measure a has precision `s_af = 1 / sigma^2` for each family f of groups. A is the 0/1 matrix of groups over finest groups, w_q
its row of group q, r a public record, path(r) the groups that it is counted in:

    minimise    sum_r weight_r P(r)  or  max_r weight_r P(r),     P(r) = sum_a r_a^2 / 2 * sum of s_af over path(r)
    subject to  h_aq >= 1 / target_aq^2                           for every group with a target
                sum_i g_i^2 / s_a(i) <= h_aq,   A' g = h_aq w_q   for some g, one number for each noisy answer i

g / h are the weights of a linear estimate of group q without bias, 1 / h a bound of its variance; at the best g it is the
variance of the consistent answer. So h is concave in s, `1 / h` and `1 / sqrt(h)` are convex. Groups join as their targets are
missed. Source of the setting: Seeman et al., per-record zCDP.
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
from designer.base.errors import DesignFailed
from designer.certified.guarantee import bounded
from designer.families.convex.program import Program
from designer.families.convex.rounds import Rounds, SolverAnswer, Statement
from designer.families.convex.separation import NOTICED, Separated
from designer.families.convex.solving import DEFAULT, Solved
from designer.families.convex.wording import Named
from designer.tables.policies.design import RecordDesign, fixed_schemes, precision_program, record_loads, tidied
from designer.tables.policies.hierarchies import Hierarchy
from designer.tables.policies.targets import Accuracy, PriorRecords
from solvers.programs.loads import bound_near

# Groups times groups whose weights are unknowns when every standard error is asked for.
MOST_WEIGHTS = 250_000
FAINTEST = 1e-9  # of what a family needs by itself: less is a solver's zero
NEAR = 0.9  # errors above this part of their limit are cut
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
        if len(self.asked[a]) * size > MOST_WEIGHTS:
            raise DesignFailed(
                f"records: {len(self.asked[a])} estimates of {size} answers each have more than {MOST_WEIGHTS} weights; state "
                "fewer groups, or use design_records."
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
            chosen = [relative > 0] if numbers.accuracies[a].on_average else list(np.eye(len(relative))[relative > NEAR] > 0)
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
        if self._objective is not None or solved.lower_bound is None:
            return made
        words = f"{numbers.prior.form} of weight times exact policy over {len(numbers.prior.values)} prior records"
        words = words if self.is_standard else f"{words}, under constraints of the user's own"
        rounding = value * (numbers.loads.shape[1] + 16) * 2.0**-50
        claim = bounded(words, value, max(0.0, solved.lower_bound), f"{solved.solver}: {solved.bound_from}", rounding)
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
        program, answer = self.program, super().run(statement)
        if not answer.usable:
            return answer
        kept = np.array(program.s.value)
        for _ in range(SOLVES):
            if not program.rescale():
                break
            found = super().run(statement)
            if not found.usable:  # the answer before stands
                break
            answer, kept = found, np.array(program.s.value)
        program.set_values(kept)
        return answer

"""What a frozen mechanism says to an accountant: which changes it speaks of, and what a change of a given budget costs in it.

One rule for each kind, from the frozen numbers alone (docs/theory/composition.md, 1).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from designer.base.arrays import Floats
from designer.base.errors import InvalidProblem
from designer.problem.domain import Domain
from designer.problem.histogram import Universe
from designer.problem.relation import Relation
from designer.relations.metrics.presence import AddRemove, AppearOrChange, Presence
from designer.relations.records.counting import TakesCounts
from designer.tradeoff.conversions import rho_of_laplace
from designer.tradeoff.costs import Cost
from designer.tradeoff.functions import EpsilonDelta, Gaussian, Tradeoff
from solvers.exact.rational import float_above

M = TypeVar("M")
TOLD = Fraction(1, 1 << 84)  # the chance that discrete Gaussian noise on a fine grid is no normal noise, with room to spare
MOST_POINTS, MOST_LISTED = 100, 5_000  # elements, and changes of an invariant, that are looked at one by one
C = TypeVar("C", bound=TakesCounts[Any])
Protected = Relation | Presence


def no_rule(mechanism: object) -> InvalidProblem:
    """The refusal of what does not add up."""
    name = type(mechanism).__name__
    return InvalidProblem(f"mechanism: a {name} has no rule of composition; compose mechanisms that `designer.load` reads.")


class Composition(ABC, Generic[M]):
    """The rule by which releases of mechanisms M add up with others.

    by_record: is the loss a public function of the record, with no relation that budgets changes?
    """

    by_record: ClassVar[bool] = False

    @abstractmethod
    def protected(self, made: M) -> Protected:
        """Which changes the mechanism speaks of; `InvalidProblem` where losses are functions of the record."""

    @abstractmethod
    def counted(self, made: M) -> Domain | Universe:
        """What it counts records of: the cells of a domain, or elements."""

    @abstractmethod
    def of_budget(self, made: M, budget: Fraction) -> Cost:
        """What a protected change of this budget, above 0, costs."""

    def require_proven(self, made: M) -> None:
        """Refuse what promises nothing that could be added up."""
        return

    def noise_of_laplace(self, made: M) -> Iterable[tuple[Fraction, int | None]]:
        """Of independent discrete Laplace noise: the rate of every coordinate for a step of its grid, and how many steps one
        protected change moves it at most, None where that is not known. Nothing of other noise."""
        return ()

    def cost(self, made: M, budget: Fraction) -> Cost:
        """What a change of this budget costs; `InvalidProblem` where nothing is proven that adds up."""
        self.require_proven(made)
        if not budget:
            return Cost.pure(budget)
        cost = self._sharp(made, self.of_budget(made, budget), 1)
        shapes = self.shapes_of_all(made, budget) if cost.is_pure else ()
        alone = len(shapes) == 1 and isinstance(shapes[0], EpsilonDelta)  # which says next to nothing more than the budget
        return cost.with_shapes(shapes) if shapes and not alone else cost

    def cost_of_steps(self, made: M, steps: Sequence[Fraction]) -> Cost:
        """What changes of these budgets cost, one after the other: budgets add."""
        if len(steps) <= 1:
            return self.cost(made, steps[0]) if steps else Cost.pure(Fraction(0))
        if len(set(steps)) == 1:
            return self._sharp(made, self.cost(made, steps[0]).of_group(len(steps)), len(steps))
        self.require_proven(made)
        return self._sharp(made, self.of_budget(made, sum(steps, Fraction(0))), len(steps))

    def _sharp(self, made: M, cost: Cost, changes: int) -> Cost:
        """A pure cost of so many changes, one after the other, with the zCDP of independent Laplace noise
        (docs/theory/composition.md, 1)."""
        budget = cost.epsilon
        if not cost.is_pure or not budget or cost.rho is None:
            return cost
        each = {
            (rate, budget if steps is None else min(budget, rate * steps * changes))
            for rate, steps in self.noise_of_laplace(made)
        }
        most = max((rho_of_laplace(length, rate) / length for rate, length in each if length >= rate > 0), default=None)
        return cost if most is None else replace(cost, rho=min(cost.rho, Fraction(float_above(budget * most))))

    def shapes(self, made: M, change: Sequence[tuple[int, int]]) -> tuple[Tradeoff, ...]:
        """Tradeoff functions whose product says more of this change, (element, records more), than its budget does; none
        where none are known."""
        return ()

    def shapes_of_all(self, made: M, budget: Fraction) -> tuple[Tradeoff, ...]:
        """Tradeoff functions whose product every single protected change of at most this budget, above 0, keeps, and that says
        more than the budget; none where none are known."""
        return ()

    def largest(self, made: M) -> Cost:
        """What the record that loses most costs, where losses are functions of the record."""
        raise no_rule(made)

    def of_record(self, made: M, record: Mapping[str, Any]) -> Cost:
        """What a public or hypothetical record costs, where losses are functions of the record."""
        raise no_rule(made)


def single_changes(made: Any, budget: Fraction) -> Floats | None:
    """The differences of the measured answers in every change of one record, or of an invariant's list, that has at most this
    budget, (m, R); None where they are many, or are not listed."""
    from designer.relations.invariants.one_budget import InvariantChanges
    from designer.relations.metrics.metric import Metric

    relation = made.relation
    known = isinstance(relation, (Metric, AddRemove, AppearOrChange)) and relation.size <= MOST_POINTS
    if not known and not (isinstance(relation, InvariantChanges) and relation.listed and len(relation.changes) <= MOST_LISTED):
        return None
    pairs = made.sensitivity().all_pairs(implied=True)
    within = pairs.budgets <= float_above(budget) * (1 + relation.budget_error)
    return np.asarray(pairs.differences[within])


class CompositionOfCounts(Composition[C]):
    """Of mechanisms that release from counts of elements, under a relation of these."""

    def protected(self, made: C) -> Protected:
        return made._hidden

    def counted(self, made: C) -> Universe:
        return made.universe


def cost_of_falloff(made: object, falloff: str, budget: Fraction, fineness: tuple[float, int] | None = None) -> Cost:
    """Pure for a law that falls off as `exp(-||z||)`, zCDP for `exp(-||z||^2 / 2)`, and on a fine grid nearly what normal noise
    promises. fineness: of that grid, as `near_normal` takes it."""
    if falloff in ("exponential", "laplace"):
        return Cost.pure(budget)
    if falloff == "gaussian":
        cost = Cost.concentrated(budget**2 / 2)
        return cost if fineness is None else replace(cost, shapes=near_normal(budget, *fineness))
    raise no_rule(made)


def near_normal(budget: Fraction, stiffness: float, size: int) -> tuple[Tradeoff, ...]:
    """Functions whose product discrete Gaussian noise keeps for every change of at most this budget: those of normal noise of a
    little less variance, and of a chance of 2^-84 to tell all. None where that is a sixteenth less, on a coarse grid.

    stiffness: at least the largest eigenvalue of the inverse covariance, in units of the grid's basis. size: its dimension.
    Source: docs/theory/tradeoff.md, 13.
    """
    share = stiffness * (60 + math.log(size)) / 19.7
    return (Gaussian(budget**2 / (1 - Fraction(share))), EpsilonDelta(Fraction(0), TOLD)) if share < 1 / 16 else ()

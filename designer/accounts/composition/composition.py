"""Putting several frozen mechanisms into one statement.

Several releases about the rows of one table: policies add up, record by record (docs/theory/composition.md, section 6).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from designer.accounts.composition.common_relation import Speaks
from designer.accounts.composition.composed_guarantee import Composed, ComposedElements, joined
from designer.accounts.composition.cost_record import expense_of, spent
from designer.accounts.composition.terms import cost_of_budget, largest_budget, protected_by, rule_of
from designer.base.checks import shown
from designer.base.errors import InvalidProblem
from designer.base.progress import step
from designer.certificate.frozen import FrozenMechanism
from designer.certificate.guarantee import Guarantee
from designer.relations.metrics.presence import AddRemove, AppearOrChange, Presence
from designer.tradeoff.costs import Cost, TotalCost

if TYPE_CHECKING:
    from designer.tables.plan import TablePlan
    from designer.tables.policies.policy import Policy


def speaks_of_rows(mechanism: FrozenMechanism) -> bool:
    """Does the mechanism say what the presence of one row costs at most, whatever the row is?"""
    if rule_of(mechanism).by_record:
        return True
    protected = protected_by(mechanism)
    if isinstance(protected, (AddRemove, AppearOrChange)):
        return bool((protected.epsilons != float("inf")).all())
    return isinstance(protected, Presence)


@dataclass(frozen=True, eq=False)
class ComposedRecords(Composed):
    """Releases about one table: plans, each with its policy, and mechanisms that hide the presence of a row at one budget.

    `loss(record)` is a public function of a record, the sum of the policies.
    """

    mechanisms: tuple[FrozenMechanism, ...]

    @classmethod
    def of(cls, mechanisms: Sequence[FrozenMechanism]) -> ComposedRecords:
        """The statement; `InvalidProblem` where a mechanism says nothing of the presence of a row."""
        for mechanism in mechanisms:
            if not speaks_of_rows(mechanism):
                raise InvalidProblem(
                    f"mechanisms: a {type(mechanism).__name__} says what a change of a record costs, and makes the number of "
                    "records public; the plan of a table hides whether a row is there. Design it for the presence of a record "
                    "(marginals.Presence, metrics.add_remove), or add largest costs up with designer.accounts.spent."
                )
        return cls(tuple(mechanisms))

    def cost(self, change: object) -> TotalCost:
        """What the presence of a public or hypothetical record costs; change: the record, a mapping from columns to values."""
        if not isinstance(change, Mapping):
            raise InvalidProblem(f"change: {shown(change)} is no record; give a mapping from columns to values.", value=change)
        return TotalCost(tuple(_cost_of_record(mechanism, change) for mechanism in self.mechanisms))

    def loss(self, record: Mapping[str, Any]) -> Fraction:
        """`P(r)` of a public or hypothetical record, zCDP but for events of probability `delta_of(r)`: the sum of all policies.
        At a record of confidential data the value is as confidential as the record."""
        found = self.cost(record).approximate_rho
        if found is None:
            raise InvalidProblem("mechanisms: one has no zCDP loss; ask for epsilon(delta, change=record).")
        return found[0]

    def delta_of(self, record: Mapping[str, Any]) -> Fraction:
        """The probability of the events that `loss` leaves out; 0 where no group is found privately."""
        found = self.cost(record).approximate_rho
        return Fraction(0) if found is None else found[1]

    def pure_loss(self, record: Mapping[str, Any]) -> Fraction:
        """`E(r)` of a public or hypothetical record, pure; `InvalidProblem` where a release has no pure budget."""
        found = self.cost(record).epsilon
        if found is None:
            raise InvalidProblem("mechanisms: one of them has no pure budget; ask for `loss`, in zCDP.")
        return found

    @cached_property
    def policy(self) -> Policy:
        """The sum of the policies, a function of `amounts(record)`; `InvalidProblem` where two plans measure a column in
        different ways, so that there is no one record of amounts: ask for `loss` then."""
        self._require_one_measure()
        from designer.tables.policies import policies

        parts = [_policy(mechanism) for mechanism in self.mechanisms]
        return parts[0] if len(parts) == 1 else policies.SumOfPolicies(tuple(parts))

    def amounts(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """The record as the plans measure it: what `policy` is a function of."""
        self._require_one_measure()
        found = dict(record)
        for plan in self._plans:
            found |= {
                name: value for name, value in plan.amounts(record).items() if name not in record or value != record[name]
            }
        return found

    @property
    def _plans(self) -> list[TablePlan]:
        mechanisms: tuple[Any, ...] = self.mechanisms
        return [mechanism for mechanism in mechanisms if rule_of(mechanism).by_record]

    def _require_one_measure(self) -> None:
        known: dict[str, object] = {}
        for measure in (measure for plan in self._plans for measure in plan.measures):
            if known.setdefault(measure.column, measure) != measure:
                raise InvalidProblem(
                    f"mechanisms: measure {measure.column!r} in two ways, so that no one policy speaks of both; use one "
                    "Measure in all plans, or ask for the loss of a record."
                )

    @cached_property
    def worst(self) -> tuple[TotalCost, ...]:
        """The sum of the largest costs; `InvalidProblem` where a policy is bounded in name only."""
        return (spent([expense_of(mechanism) for mechanism in self.mechanisms]).total,)

    @cached_property
    def guarantee(self) -> Guarantee:
        from designer.tables.plan_words import FOUND, NOTION, PURE

        plans = self._plans
        found = any(level.selection for plan in plans for level in plan.levels)
        pure = all(plan.pure for plan in plans) and self._constant.epsilon is not None
        statements = [mechanism.guarantee for mechanism in self.mechanisms]
        first = plans[0].guarantee if plans else statements[0]
        more = f" and {float(self._constant.rho or 0)!r} for the presence of any record in the others" if self._others else ""
        return replace(
            joined(statements),
            unit="One record of the table, with a loss P(r) of its own: a public function of the record.",
            relation="Any one record may appear or disappear, whatever the others are.",
            notion=NOTION
            + f" P(r) is the sum of the policies of {len(plans)} plans{more}."
            + (FOUND if found else "")
            + (PURE if pure else ""),
            parameters={"queries": sum(len(plan.queries) for plan in plans), "releases": len(self.mechanisms)},
            post_processing=first.post_processing,
        )

    @property
    def _others(self) -> list[FrozenMechanism]:
        return [mechanism for mechanism in self.mechanisms if not rule_of(mechanism).by_record]

    @cached_property
    def _constant(self) -> TotalCost:
        return TotalCost(tuple(_cost_of_record(mechanism, {}) for mechanism in self._others))


def _cost_of_record(mechanism: FrozenMechanism, record: Mapping[str, Any]) -> Cost:
    """What a record costs; where a mechanism hides the presence of any at one budget, that."""
    rule = rule_of(mechanism)
    return rule.of_record(mechanism, record) if rule.by_record else rule.cost(mechanism, _presence(mechanism))


def _presence(mechanism: FrozenMechanism) -> Fraction:
    protected = protected_by(mechanism)
    if isinstance(protected, (AddRemove, AppearOrChange)):
        return Fraction(float(protected.epsilons.max()))
    return largest_budget(protected)


def _policy(mechanism: Any) -> Policy:
    if rule_of(mechanism).by_record:
        policy: Policy = mechanism.policy
        return policy
    rho = cost_of_budget(mechanism, _presence(mechanism)).rho
    if rho is None:
        raise InvalidProblem("mechanisms: one has no zCDP loss; ask for epsilon(delta, change=record).")
    from designer.tables.policies.policies import ConstantPolicy

    return ConstantPolicy(rho)


@step("composing mechanisms")
def composed(*mechanisms: FrozenMechanism) -> Composed:
    """Compose what several frozen mechanisms promise together about the same records; of every kind that `designer.load` reads,
    under any relations and notions.

    Questions and families may be chosen after earlier answers were seen; budgets, relations and published statistics are
    fixed before the first release. Where those are chosen by answers, this speaks only of the changes that every choice which
    might have been made protects.

    Of a change the costs add up, in the notion that proves most (`Composed.epsilon`, `.delta`). What one of them leaves
    unprotected is unprotected in the whole, and what any of them publishes exactly is public. Elements are joined by name. A
    plan of a table goes with what hides the presence of a row.
    Raises `InvalidProblem` for different universes or units, for a mechanism without a proof that adds up, and where no change
    is protected by all.

    >>> from designer import Problem, Workload, design, metrics
    >>> made = design(Problem(Workload([[0, 1, 2]]), metrics.uniform(3, 0.5)), "laplace").mechanism
    >>> both = composed(made, made)
    >>> both.notion, both.exact_budget(0, 2), both.delta(1)
    ('pure', Fraction(1, 1), 0.0)
    """
    if not mechanisms:
        raise InvalidProblem("mechanisms: none is given; give at least one.")
    for place, mechanism in enumerate(mechanisms):
        if not isinstance(mechanism, FrozenMechanism):
            raise InvalidProblem(
                f"mechanisms[{place}]: {shown(mechanism)} is no frozen object; load a spec, or design one.", value=mechanism
            )
    tables = any(rule_of(mechanism).by_record for mechanism in mechanisms)
    if tables or _hide_rows_of_different_universes(mechanisms):
        return ComposedRecords.of(mechanisms)
    return ComposedElements.of(mechanisms)


def _hide_rows_of_different_universes(mechanisms: tuple[FrozenMechanism, ...]) -> bool:
    """Do all hide the presence of a row, over attributes that are not the same?"""
    if not all(map(speaks_of_rows, mechanisms)):
        return False
    spoken = [Speaks.of(mechanism) for mechanism in mechanisms]
    domains = {one.domain for one in spoken}
    return all(isinstance(one.protected, Presence) for one in spoken) and len(domains) > 1

"""What a frozen object promises in epsilon and delta, in one line: the same words wherever an output has room for one."""

from __future__ import annotations

import math
from fractions import Fraction

from designer.accounts.composition.cost_record import (
    OF_ENTITIES,
    change_words,
    cost_of_entity,
    cost_of_rows,
    costliest,
    moves_of,
)
from designer.accounts.composition.terms import largest_budget, protected_by, rule_of
from designer.base.display import at_most, counted, printed
from designer.base.errors import InvalidProblem
from designer.certificate.frozen import FrozenMechanism, rate_of_left_out
from designer.mechanism.composition import Protected
from designer.problem.reading import UNSAID, Reading
from designer.problem.relation import RECORDS_PUBLIC
from designer.relations.metrics.attributes import Hamming, Product
from designer.relations.metrics.presence import Presence
from designer.relations.records.row_unit import RowUnit, left_out_rate
from designer.tradeoff.costs import Cost, TotalCost
from solvers.exact.balls import exp_ball, float_above_real
from solvers.exact.rational import float_above

LABEL = "Privacy:"
DELTA = Fraction(1, 10**6)  # at which epsilon is told where a promise has one for every delta
LARGEST = 20  # an epsilon above which no factor on the odds helps to judge it
NONE = "no single number"
BESIDES = "; what is listed as unprotected, or has no budget, has no such limit"


def privacy_line(made: FrozenMechanism, *, rows_per_entity: int | None = None) -> str:
    """`Privacy: 0.5-zCDP; as (epsilon, delta): epsilon 5.222 at delta 1e-6, at most, where one record appears or disappears.`

    What the protected change that costs most costs in one release, rounded up, and what a change is; or why there is no such
    number.

    rows_per_entity: how many rows of an entity count, for releases from records; what the problem file stated if None. The line
    speaks of the entity then.
    """
    return f"{LABEL:13}{privacy_words(made, rows_per_entity=rows_per_entity)}."


def privacy_words(made: FrozenMechanism, *, rows_per_entity: int | None = None) -> str:
    """The same without its label and its full stop."""
    if rows_per_entity is None:
        rows_per_entity = made.about.records.rows_per_entity
    try:
        cost, moves = costliest(made)
        change = change_words(moves, rows_per_entity)
        told = cost_words(cost if rows_per_entity is None else cost_of_entity(made, cost, rows_per_entity)), change
    except InvalidProblem as refusal:
        return f"{NONE}: {_reason(refusal)}"
    limitless = not rule_of(made).by_record and _limitless(protected_by(made))
    return _sentence(*told, limitless or bool({*made.guarantee.unprotected} - {RECORDS_PUBLIC}))


def spending_words(made: FrozenMechanism, row: RowUnit) -> str:
    """What one release spends and for whom: `epsilon 5, delta 0, for each household with at most 5 of its rows`.

    row: whose rows count, and how many of them.
    """
    try:
        cost, moves = costliest(made)
        change = change_words(moves, row.rows_per_entity)
    except InvalidProblem as refusal:
        return f"what no single number states: {_reason(refusal)}"
    if row.rows_per_entity is not None:
        cost = cost_of_entity(made, cost, row.rows_per_entity)
        whom = f"each {printed(row.entity)} with at most {counted(row.rows_per_entity, 'row')}"
    else:
        whom = "each record" if moves[0] in OF_ENTITIES else f"any change in which {change}"
    return f"{cost_words(cost)}, for {whom}"


def entity_words(made: FrozenMechanism, row: RowUnit) -> str:
    """What the pure promise of a release says of one entity, in a sentence; empty of any other promise.

    row: whose rows count, and how many of them. That an entity took part is said only where its presence is protected.
    """
    if row.rows_per_entity is None:
        return ""
    try:
        cost = cost_of_entity(made, costliest(made)[0], row.rows_per_entity)
    except InvalidProblem:
        return ""
    epsilon = cost.epsilon
    if epsilon is None or cost.delta or epsilon > LARGEST:
        return ""
    whose, rows = f"any one {printed(row.entity)}", f"up to {row.rows_per_entity:,} of its rows"
    subject = f"What {whose} holds in {rows}"
    if rate_of_left_out(made) is not None:
        subject = f"Whether {whose} took part, with {rows},"
    factor = at_most(float_above_real(lambda: exp_ball(epsilon)))
    return f"{subject} changes the odds of every output by at most a factor of {factor}."


def asked_line(protected: Protected, notion: str, delta: float | None = None, records: Reading = UNSAID) -> str:
    """The same line of what a problem asks for, before anything is designed. notion: "pure", "zcdp" or "approximate". records:
    whose they are, as the problem file says."""
    return f"{LABEL:13}{asked_words(protected, notion, delta, records)}."


def asked_words(protected: Protected, notion: str, delta: float | None = None, records: Reading = UNSAID) -> str:
    """The same without its label and its full stop."""
    if not isinstance(protected, Presence) and protected.is_vacuous():
        return f"{NONE}: the relation protects no change at all"
    budget = largest_budget(protected)
    if notion == "zcdp":
        cost = Cost.concentrated(budget**2 / 2)
    else:
        cost = Cost.pure(budget) if delta is None else Cost(epsilon=budget, delta=Fraction(delta))
    rows = records.rows_per_entity
    try:
        change = change_words(moves_of(protected), rows)
        if rows is not None:
            cost = cost_of_rows(cost, rows, left_out_rate(protected.entity_budget(1)) if protected.absence else None)
    except InvalidProblem as refusal:
        return f"{NONE}: {_reason(refusal)}"
    public: tuple[str, ...] = () if isinstance(protected, Presence) else protected.unprotected()
    besides = _limitless(protected) or bool({*public} - {RECORDS_PUBLIC})
    return _sentence(cost_words(cost), change, besides)


def _sentence(cost: str, change: str, besides: bool) -> str:
    return f"{cost}, at most, where {change}{BESIDES if besides else ''}"


def _limitless(protected: Protected) -> bool:
    """Has an attribute no budget, in domains of any size?"""
    if isinstance(protected, Hamming):
        return any(math.isinf(b) for b, values in zip(protected.budgets, protected.domain.shape, strict=True) if values > 1)
    return isinstance(protected, Product) and any(bool(part.components().any()) for part in protected.parts)


def cost_words(cost: Cost) -> str:
    """Epsilon and delta of a cost, behind its own notion where that is zCDP; all rounded up.

    >>> cost_words(Cost.pure(Fraction(1, 2))), cost_words(Cost(epsilon=Fraction(1), delta=Fraction(1, 100)))
    ('epsilon 0.5, delta 0', 'epsilon 1, delta 0.01')
    >>> cost_words(Cost.concentrated(Fraction(1, 2)))
    '0.5-zCDP; as (epsilon, delta): epsilon 5.222 at delta 1e-6'
    """
    if cost.epsilon is not None:
        return f"epsilon {at_most(float_above(cost.epsilon))}, delta {at_most(float_above(cost.delta))}"
    assert cost.rho is not None
    loose = f" but for events of chance {at_most(float_above(cost.delta))}" if cost.delta else ""
    delta = min(Fraction(1), cost.delta + DELTA)
    epsilon = TotalCost((cost,)).epsilon_at(delta) if delta < 1 else None
    told = "no epsilon" if epsilon is None else f"epsilon {at_most(epsilon)}"
    return f"{at_most(float_above(cost.rho))}-zCDP{loose}; as (epsilon, delta): {told} at delta {at_most(float_above(delta))}"


def _reason(refusal: InvalidProblem) -> str:
    """What a refusal states, without the field that it names and the remedy behind it."""
    return str(refusal).partition(": ")[2].partition(";")[0].rstrip(".")

"""What the budgets of a relation mean: changes that people can picture, each with its budget.

A budget that is listed here is never below the one that the certificate holds the noise against.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from functools import singledispatch
from itertools import combinations

import numpy as np

from designer.base.display import closest, counted, number_text, rounded, settled
from designer.problem.relation import Relation
from designer.publish.content import named
from designer.relations.invariants.changes import ChangeRelation, InvariantDistance
from designer.relations.invariants.transport import InvariantMetric
from designer.relations.metrics.attributes import Hamming, Product
from designer.relations.metrics.blowfish_policies import SmoothThreshold, Threshold
from designer.relations.metrics.element_budgets import Partition, PerElement
from designer.relations.metrics.graphs import Graph
from designer.relations.metrics.metric import Metric, Scaled, Uniform
from designer.relations.metrics.points import MICROSECONDS_A_DAY, Chebyshev, Euclidean, GreatCircle, Ordered
from designer.relations.metrics.presence import AddRemove, Presence
from designer.relations.metrics.taxonomies import Taxonomy
from designer.relations.row_groups import RowGroups
from designer.tradeoff.costs import Cost, TotalCost
from solvers.exact.balls import exp_ball, float_above_real, rational_ball
from solvers.exact.rational import root_above

ENUMERATED = 60  # elements of which all pairs are looked at
MOST_PARTS = 20
TELLING = (Fraction(1, 50), Fraction(4))  # budgets that tell a reader something
NEXT = Fraction(1, 1000)  # the least budget of one unit of distance that is told in any case
DISTANCES = [Fraction(step) * Fraction(10) ** power for power in range(-9, 13) for step in (1, 2, 5)]
FARTHEST = "from one end to the other: the two most distant values of all"


@dataclass(frozen=True)
class Meaning:
    """A change in words, and its budget; None where the change is not protected. sized: it is a record of some size, whose
    loss a policy says."""

    change: str
    budget: Fraction | None
    sized: bool = False


def meanings_of(protected: Relation | Presence, elements: Sequence[str] = ()) -> tuple[Meaning, ...]:
    """What its budgets mean, from the smallest change to the largest; elements: their names, in order, where they have some."""
    return tuple(_meanings(protected, tuple(elements)))


@singledispatch
def _meanings(relation: Relation | Presence, elements: tuple[str, ...]) -> Iterator[Meaning]:
    """Of any relation: the pairs of least and of largest budget, by name where they are few enough to be looked at."""
    if isinstance(relation, Metric) and 1 < relation.size <= ENUMERATED and len(elements) == relation.size:
        yield from _of_pairs(relation, elements)
        return
    assert isinstance(relation, Relation), "Presence has its own"
    least, most = relation.least_budget(positive=True), relation.largest_budget()
    slack = 1 + 2 * Fraction(relation.budget_error)
    if math.isfinite(least) and least < most:
        yield Meaning("the change that is hidden best", Fraction(least) * slack)
    yield Meaning("the change that is hidden least", Fraction(most) * slack)


def _of_pairs(relation: Metric, elements: Sequence[str]) -> Iterator[Meaning]:
    pairs = [(relation.exact_budget(i, j), i, j) for i, j in combinations(range(relation.size), 2)]
    finite = sorted((b, i, j) for b, i, j in pairs if b)
    chosen = [finite[0], finite[len(finite) // 2], finite[-1]] if len(finite) > 2 else finite
    for budget, i, j in dict.fromkeys(chosen):
        yield Meaning(f"one record: {named(elements[i])} instead of {named(elements[j])}", budget)
    if apart := [(i, j) for b, i, j in pairs if b is None]:
        i, j = apart[0]
        yield Meaning(
            f"one record: {named(elements[i])} instead of {named(elements[j])}, one of {counted(len(apart), 'such pair')}", None
        )


@_meanings.register
def _(relation: Presence, elements: tuple[str, ...]) -> Iterator[Meaning]:
    yield Meaning("one record is in the data or not, whatever its values", Fraction(relation.epsilon))


@_meanings.register
def _(relation: Uniform, elements: tuple[str, ...]) -> Iterator[Meaning]:
    yield Meaning("one record has any other value", Fraction(relation.epsilon))


@_meanings.register
def _(relation: Partition, elements: tuple[str, ...]) -> Iterator[Meaning]:
    yield Meaning("one record has another value of the same group", Fraction(relation.epsilon))
    yield Meaning("one record has a value of another group", None)


@_meanings.register
def _(relation: PerElement, elements: tuple[str, ...]) -> Iterator[Meaning]:
    finite = np.sort(relation.epsilons[np.isfinite(relation.epsilons)]).tolist()
    if len(finite) > 1:
        yield Meaning("one record: between the two values with the least budgets", Fraction(finite[0]) + Fraction(finite[1]))
        yield Meaning(
            "one record: between the two values with the largest budgets", Fraction(finite[-1]) + Fraction(finite[-2])
        )
    if len(finite) < relation.size:
        yield Meaning(f"one record has a value that is not protected, of which there are {relation.size - len(finite):,}", None)


@_meanings.register
def _(relation: AddRemove, elements: tuple[str, ...]) -> Iterator[Meaning]:
    known = elements if len(elements) == relation.size else tuple(f"value {k + 1}" for k in range(relation.size))
    finite = np.flatnonzero(np.isfinite(relation.epsilons))
    if len(finite):
        order = finite[np.argsort(relation.epsilons[finite], kind="stable")]
        least, most = (int(order[0]), int(order[-1]))
        if relation.epsilons[least] == relation.epsilons[most]:
            yield Meaning("one record is in the data or not, whatever its value", Fraction(float(relation.epsilons[most])))
        else:
            for k in (least, most):
                yield Meaning(f"one record of {named(known[k])} is in the data or not", Fraction(float(relation.epsilons[k])))
    if len(finite) < relation.size:
        open_values = counted(relation.size - len(finite), "value")
        yield Meaning(f"one record is in the data or not, with one of the {open_values} that are not protected", None)


def scale_of(relation: Relation) -> tuple[Fraction, str] | None:
    """The budget for each unit of distance, and the unit; None where budgets are no multiples of a distance."""
    if isinstance(relation, Euclidean):
        return Fraction(relation.per_unit), "of straight distance, in units of the coordinates"
    if isinstance(relation, GreatCircle):
        return Fraction(relation.per_km), "km"
    if isinstance(relation, Chebyshev):
        return Fraction(relation.per_unit), f"of {relation.what}"
    if isinstance(relation, Ordered):
        days = relation.unit == "microsecond"
        period = Fraction(relation.period) / (Fraction(MICROSECONDS_A_DAY) if days else 1)
        return Fraction(relation.epsilon) / period, "of difference in value" if relation.unit == "unit" else "days"
    return None


def move_by(distance: Fraction, relation: Relation) -> Meaning:
    """A record that moves by so many units of a relation that has a scale (`scale_of`)."""
    scale = scale_of(relation)
    assert scale is not None, "asked of distances alone"
    return Meaning(f"one record moves by at most {float(distance):,.12g} {scale[1]}", distance * scale[0])


def _largest(relation: Relation) -> Fraction:
    return Fraction(relation.largest_budget()) * (1 + 2 * Fraction(relation.budget_error))


@_meanings.register(Euclidean)
@_meanings.register(GreatCircle)
@_meanings.register(Chebyshev)
@_meanings.register(Ordered)
def _(relation: Relation, elements: tuple[str, ...]) -> Iterator[Meaning]:
    """Round distances whose budgets tell something, and the farthest."""
    for distance in telling_distances(relation):
        yield move_by(distance, relation)
    yield Meaning(f"one record moves {FARTHEST}", _largest(relation))


def telling_distances(relation: Relation, most: int = 5) -> list[Fraction]:
    """About so many round distances of a relation that has a scale, below its largest one, whose budgets tell a reader
    something, and one unit."""
    scale, largest = scale_of(relation), _largest(relation)
    assert scale is not None, "asked of distances alone"
    per_unit = scale[0]
    telling = [d for d in DISTANCES if TELLING[0] <= d * per_unit <= TELLING[1] and d * per_unit < largest]
    return sorted(
        {*telling[:: max(1, math.ceil(len(telling) / most))], *((Fraction(1),) if NEXT <= per_unit < largest else ())}
    )


@_meanings.register
def _(relation: Hamming, elements: tuple[str, ...]) -> Iterator[Meaning]:
    listed = list(zip(relation.domain.attributes, relation.budgets, relation.domain.shape, strict=True))
    yield from _of_attributes([(name, b if values > 1 else 0.0) for name, b, values in listed])


def _of_attributes(budgets: Sequence[tuple[str, float]]) -> Iterator[Meaning]:
    """Each attribute alone, and all that are protected together."""
    moving = [(name, budget) for name, budget in budgets if budget]
    for name, budget in moving[:MOST_PARTS]:
        yield Meaning(f"one record has another value of {named(name)}", None if math.isinf(budget) else Fraction(budget))
    if len(moving) > MOST_PARTS:
        rest = [budget for _, budget in moving[MOST_PARTS:] if math.isfinite(budget)]
        yield Meaning(
            f"one record has another value of one of {len(moving) - MOST_PARTS} further attributes",
            max(map(Fraction, rest), default=None),
        )
    finite = [Fraction(budget) for _, budget in moving if math.isfinite(budget)]
    if len(finite) > 1:
        yield Meaning(f"one record has other values of all {len(finite)} protected attributes", sum(finite, Fraction(0)))


@_meanings.register
def _(relation: Product, elements: tuple[str, ...]) -> Iterator[Meaning]:
    parts = list(zip(relation.domain.attributes, relation.parts, relation.domain.shape, strict=True))
    for name, part, _ in [entry for entry in parts if entry[2] > 1][:MOST_PARTS]:
        yield Meaning(f"one record has the most distant other value of {named(name)}", _largest(part))
        if part.components().any():
            yield Meaning(f"one record has a value of {named(name)} that is not protected from its own", None)
    yield Meaning(
        "one record has the most distant other values of all attributes", sum((_largest(p) for _, p, _ in parts), Fraction(0))
    )


@_meanings.register
def _(relation: RowGroups, elements: tuple[str, ...]) -> Iterator[Meaning]:
    for name, part in list(zip(relation.names, relation.parts, strict=True))[:MOST_PARTS]:
        yield Meaning(f"one record has the most distant other value of {named(name)}", _largest(part))
    yield Meaning("one record has the most distant other values of all groups", sum(map(_largest, relation.parts), Fraction(0)))


@_meanings.register
def _(relation: Graph, elements: tuple[str, ...]) -> Iterator[Meaning]:
    if len(relation.weights):
        longest = Fraction(float(relation.weights.max())) * Fraction(relation.per_edge)
        largest = _largest(relation)
        for edges in (1, 2, 5):
            if edges * longest < largest or edges == 1:
                yield Meaning(
                    f"one record moves along {'one edge' if edges == 1 else f'{edges} edges'} of the graph", edges * longest
                )
        if largest > longest * (1 + 4 * Fraction(relation.budget_error)):
            yield Meaning("one record moves between the two elements that are farthest apart in the graph", largest)
    if relation.components().any():
        yield Meaning("one record moves between elements that no path joins", None)


@_meanings.register
def _(relation: Taxonomy, elements: tuple[str, ...]) -> Iterator[Meaning]:
    budgets = relation.budgets.tolist()
    for level in range(len(budgets) - 1, -1, -1):
        beyond = [budget for budget in budgets[level:] if budget]
        where = (
            "within its lowest group"
            if level == len(budgets) - 1
            else f"that shares its groups down to level {level}"
            if level
            else "that shares no group with it"
        )
        finite = all(map(math.isfinite, beyond))
        total = sum(map(Fraction, beyond), Fraction(0)) if finite and relation.form == "sum" else None
        yield Meaning(
            f"one record has another value {where}",
            max(map(Fraction, beyond), default=Fraction(0)) if finite and relation.form == "max" else total,
        )


@_meanings.register
def _(relation: Threshold, elements: tuple[str, ...]) -> Iterator[Meaning]:
    yield Meaning(f"one record moves to a value at most {relation.threshold:,.12g} away", Fraction(relation.epsilon))
    if (largest := _largest(relation)) > Fraction(relation.epsilon) * (1 + 4 * Fraction(relation.budget_error)):
        yield Meaning(f"one record moves {FARTHEST}, in as many such steps as it takes", largest)
    if relation.components().any():
        yield Meaning("one record moves between values that no such steps join", None)


@_meanings.register
def _(relation: SmoothThreshold, elements: tuple[str, ...]) -> Iterator[Meaning]:
    yield Meaning(f"one record moves to a value at most {relation.threshold:,.12g} away", Fraction(relation.epsilon))
    if (largest := _largest(relation)) > Fraction(relation.epsilon):
        yield Meaning(f"one record moves {FARTHEST}", largest)


@_meanings.register
def _(relation: Scaled, elements: tuple[str, ...]) -> Iterator[Meaning]:
    for inner in _meanings(relation.part, elements):
        yield Meaning(inner.change, None if inner.budget is None else inner.budget * Fraction(relation.factor))


@_meanings.register
def _(relation: ChangeRelation, elements: tuple[str, ...]) -> Iterator[Meaning]:
    moved = (
        ("has another value" if relation.adjacency == 1 else "have other values")
        if relation.invariant.records_public
        else ("is in the data or not" if relation.adjacency == 1 else "are in the data or not")
    )
    yield Meaning(
        _agreeing(f"{'one record' if relation.adjacency == 1 else f'at most {relation.adjacency} records'} {moved}"),
        relation.largest_exact_budget(),
    )


@_meanings.register
def _(relation: InvariantMetric, elements: tuple[str, ...]) -> Iterator[Meaning]:
    least, most = Fraction(relation.least_budget(positive=True)), relation.largest_exact_budget()
    slack = 1 + 2 * Fraction(relation.budget_error)
    if least * slack < most:
        yield Meaning(_agreeing("the cheapest exchange of values between records"), least * slack)
    yield Meaning(_agreeing(f"the farthest change of at most {counted(relation.adjacency, 'record')}"), most)


@_meanings.register
def _(relation: InvariantDistance, elements: tuple[str, ...]) -> Iterator[Meaning]:
    """A record that is replaced is two units of l1 distance, root two of l2; several, at worst, so many times that."""
    unit, own = Fraction(relation.epsilon), Fraction(2) if relation.distance == "l1" else root_above(Fraction(2))
    for records in (1, 2, 10):
        told = "one record has another value" if records == 1 else f"{records} records have other values"
        yield Meaning(_agreeing(told), unit * own * records)


def _agreeing(change: str) -> str:
    return f"{change}, in two tables that agree in everything that is published exactly"


# Budgets in numbers for people: how far odds shift, what becomes of 1 in 20, how often a guess is right.
#
# Every number is rounded to the safe side: what an attacker gains is never understated, what is left to chance never
# overstated.


RARE = Fraction(1, 10**6)  # the chance with which odds may shift by more, where people read one number
PRIOR = Fraction(1, 20)
LARGEST = Fraction(20)  # beyond, odds shift by more than 10^8: no number helps to judge that
NO_LIMIT = "no meaningful protection"
PLAIN = range(-8, 12)  # decimal exponents that are written out


def above(value: float | Fraction, digits: int = 3) -> str:
    """A number with so many digits, rounded up, without powers of ten as far as they can be read.

    >>> above(5.1271, 2), above(1234567.0), above(0.00012345), above(math.inf)
    ('5.2', '1,240,000', '0.000124', 'infinite')
    """
    return _on_its_side(value, digits, ROUND_CEILING)


def off_by(value: float, digits: int = 3) -> str:
    """An error of an answer with so many digits, rounded up, as its picture has it: what floats alone add is left out.

    >>> off_by(4.000000000000001), off_by(184.2)
    ('4', '185')
    """
    return number_text(settled(value, digits), PLAIN, " times 10^{}".format) if math.isfinite(value) else closest(value)


def below(value: float | Fraction, digits: int = 3) -> str:
    """The same rounded down.

    >>> below(19.06), below(Fraction(2, 3))
    ('19', '0.666')
    """
    return _on_its_side(value, digits, ROUND_FLOOR)


def _on_its_side(value: float | Fraction, digits: int, direction: str) -> str:
    if not math.isfinite(value):
        return closest(value)
    return number_text(rounded(value, digits, direction), PLAIN, " times 10^{}".format)


def factor(budget: Fraction) -> float:
    """`exp(budget)`, rounded up."""
    return float_above_real(lambda: exp_ball(budget))


def times(budget: Fraction) -> str:
    """By what the odds are multiplied at most.

    >>> times(Fraction(1, 20)), times(Fraction(3)), times(Fraction(0)), times(Fraction(50))
    ('×1.052', '×20.1', '×1', 'no meaningful protection')
    """
    if budget > LARGEST:
        return NO_LIMIT
    if budget == 0:
        return "×1"
    if budget < Fraction(1, 2):
        more = float_above_real(lambda: exp_ball(budget) - 1)
        shown = Decimal(above(more, 2).replace(",", "")) if more > 1e-7 else Decimal("1e-7")
        return f"×{1 + shown:f}"
    return f"×{above(factor(budget))}"


def shift(budget: Fraction) -> str:
    """How far the odds shift, up or down, at most: a factor, and in percent where that is less than as much again.

    >>> shift(Fraction(1, 20)), shift(Fraction(3)), shift(Fraction(0))
    ('5.2 % (×1.052)', '×20.1', '0 %')
    """
    if budget > LARGEST:
        return NO_LIMIT
    if budget == 0:
        return "0 %"
    if budget * 3 <= 2:
        return f"{above(float_above_real(lambda: 100 * (exp_ball(budget) - 1)), 2)} % ({times(budget)})"
    return times(budget)


def chance_after(budget: Fraction, prior: Fraction = PRIOR) -> float:
    """The largest chance that somebody can give to what was likely with chance `prior` before, rounded up:
    `p e^b / (1 - p + p e^b)`, at most 1."""
    if budget > LARGEST:
        return 1.0
    return min(1.0, float_above_real(lambda: 1 / (1 + rational_ball((1 - prior) / prior) * exp_ball(-budget))))


def one_in(chance: float | Fraction) -> str:
    """A chance as "1 in N", N rounded down.

    >>> one_in(0.0525), one_in(Fraction(1, 10**6)), one_in(0.51)
    ('1 in 19', '1 in 1,000,000', '1 in 1.9')
    """
    if chance <= 0:
        return "never"
    often = 1 / Fraction(chance)
    if often >= 10**11:
        return "less than 1 in 100,000,000,000"
    return f"1 in {math.floor(often):,}" if often >= 10 else f"1 in {math.floor(often * 10) / 10:g}"


def percent(chance: float | Fraction) -> str:
    """A chance in percent, rounded up.

    >>> percent(0.51251), percent(Fraction(1, 3))
    ('51.3 %', '33.4 %')
    """
    return f"{above(100 * Fraction(chance))} %"


@dataclass(frozen=True)
class Risk:
    """What the strongest attacker gains at one change, all numbers rounded up.

    epsilon: the logarithm of the factor on the odds; infinite where none is proven. delta: the chance with which the odds shift
    by more, at most; 0 of a pure promise. guess: the share of right guesses between two cases that were equally likely.
    """

    epsilon: Fraction | float
    delta: Fraction
    guess: float

    @classmethod
    def of(cls, cost: Cost | TotalCost, rare: Fraction = RARE) -> Risk:
        """Of what a change costs; under a promise with a delta what odds exceed with chance `rare` (`TotalCost.loss_at`), or
        four times the least delta that it has."""
        total = cost if isinstance(cost, TotalCost) else TotalCost((cost,))
        if (pure := total.epsilon) is not None:
            return cls(pure, Fraction(0), 1.0 if pure > LARGEST else chance_after(pure, Fraction(1, 2)))
        advantage = min(Fraction(total.delta_at(0, precise=False)), Fraction(1))
        guess = float_above_real(lambda: rational_ball((1 + advantage) / 2))
        own = [bound[1] for bound in (total.plain, total.approximate_rho) if bound is not None]
        for chance in (rare, *(min(Fraction(1, 2), 4 * delta) for delta in own)):
            if (loss := total.loss_at(chance)) is not None:
                return cls(Fraction(loss), chance, guess)
        return cls(math.inf, rare, guess)

    @property
    def exponent(self) -> Fraction:
        """The epsilon as a number that compares; beyond `LARGEST` where it is infinite."""
        return self.epsilon if isinstance(self.epsilon, Fraction) else LARGEST + 1

    @property
    def but_for(self) -> str:
        """What is left out, in words; empty where nothing is."""
        return f", except with a chance of at most {one_in(self.delta)}" if self.delta and self.exponent <= LARGEST else ""

    def cells(self) -> tuple[str, str, str]:
        """How far odds shift, what 1 in 20 becomes, right guesses: for a table."""
        known = self.exponent <= LARGEST
        becomes = percent(chance_after(self.exponent)) if known else NO_LIMIT
        return shift(self.exponent), becomes, percent(self.guess)

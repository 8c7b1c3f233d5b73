"""Which of many costs are the worst, and what bounds them all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce

from designer.accounts.together.costs import Cost, TotalCost
from designer.promises.tradeoff import EpsilonDelta


def undominated(costs: Iterable[TotalCost | None]) -> tuple[TotalCost, ...]:
    """Those of some costs that no other one exceeds, or equals, in every release; None, of unprotected changes, is left out."""
    distinct = list(dict.fromkeys(cost for cost in costs if cost is not None))
    kept: list[TotalCost] = []
    for cost in sorted(distinct, key=_size, reverse=True):
        if not any(_exceeds(other, cost) for other in kept):
            kept.append(cost)
    return tuple(kept)


def bound_of(costs: Sequence[TotalCost]) -> TotalCost:
    """What bounds all of some costs: of each release the largest numbers."""
    releases = zip(*(total.costs for total in costs), strict=True)
    return TotalCost(tuple(reduce(_join, listed) for listed in releases))


def _join(one: Cost, other: Cost) -> Cost:
    """The larger of two costs; where they cannot be compared, their largest numbers, which are all that is left."""
    if _at_least(one, other):
        return one
    if _at_least(other, one):
        return other
    epsilon, rho, mu_squared = (
        None if a is None or b is None else max(a, b)
        for a, b in ((one.epsilon, other.epsilon), (one.rho, other.rho), (one.mu_squared, other.mu_squared))
    )
    return Cost(epsilon, rho, max(one.delta, other.delta), mu_squared)


def _size(total: TotalCost) -> Fraction:
    return sum((cost.epsilon if cost.epsilon is not None else cost.rho or Fraction(0) for cost in total.costs), Fraction(0))


def _exceeds(one: TotalCost, other: TotalCost) -> bool:
    return all(_at_least(a, b) for a, b in zip(one.costs, other.costs, strict=True))


def _at_least(one: Cost, other: Cost) -> bool:
    """Does the first promise no more than the second, in any notion? Of shapes that differ only pure ones are compared."""
    if one.shapes and one.shapes != other.shapes:
        told = _pure_shape(one), _pure_shape(other)
        if told[0] is None or told[1] is None or told[0] < told[1]:
            return False
    pairs = ((one.epsilon, other.epsilon), (one.rho, other.rho), (one.mu_squared, other.mu_squared))
    return one.delta >= other.delta and all(a is None or (b is not None and a >= b) for a, b in pairs)


def _pure_shape(cost: Cost) -> Fraction | None:
    """The epsilon of a cost whose one shape is that of a pure promise."""
    shape = cost.shapes[0] if len(cost.shapes) == 1 else None
    return shape.epsilon if isinstance(shape, EpsilonDelta) and not shape.delta else None

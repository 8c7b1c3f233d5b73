"""The two laws of selection by their definitions, in ball arithmetic, with no code of the package."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import permutations

from flint import arb, fmpq

LAWS = ("exponential", "permute_and_flip")


def ball(value: Fraction) -> arb:
    return arb(fmpq(value.numerator, value.denominator))


def exponential_by_definition(scores: list[Fraction], rate: Fraction) -> list[arb]:
    weights = [ball(rate * (s - max(scores))).exp() for s in scores]
    total = sum(weights, arb(0))
    return [w / total for w in weights]


def permute_and_flip_by_definition(scores: list[Fraction], rate: Fraction) -> list[arb]:
    """The mean over all orders of the chance that every earlier coin fell tails and this one heads."""
    coins = [ball(rate * (s - max(scores))).exp() for s in scores]
    chances = [arb(0)] * len(scores)
    orders = list(permutations(range(len(scores))))
    for order in orders:
        reached = arb(1)
        for r in order:
            chances[r] += reached * coins[r]
            reached *= 1 - coins[r]
    return [chance / len(orders) for chance in chances]


BY_DEFINITION: dict[str, Callable[[list[Fraction], Fraction], list[arb]]] = {
    "exponential": exponential_by_definition,
    "permute_and_flip": permute_and_flip_by_definition,
}

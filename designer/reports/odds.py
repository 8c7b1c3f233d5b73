"""Budgets in numbers for people: how far odds shift, what becomes of 1 in 20, how often a guess is right.

Every number is rounded to the safe side: what an attacker gains is never understated, what is left to chance never overstated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction

from designer.base.rounding import closest, number_text, rounded, settled
from designer.promises.costs import Cost, TotalCost
from solvers.exact.balls import exp_ball, float_above_real, rational_ball

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
        return (
            f", but for releases that come up with a chance of at most {one_in(self.delta)}"
            if self.delta and self.exponent <= LARGEST
            else ""
        )

    def cells(self) -> tuple[str, str, str]:
        """How far odds shift, what 1 in 20 becomes, right guesses: for a table."""
        known = self.exponent <= LARGEST
        becomes = percent(chance_after(self.exponent)) if known else NO_LIMIT
        return shift(self.exponent), becomes, percent(self.guess)

"""Real numbers rounded to a stated side, where a ball does not tell on which side of a multiple they lie."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb
from scipy.special import ndtri

from solvers.exact.balls import (
    float_above_real,
    float_below_real,
    fraction_above,
    fraction_below,
    normal_cdf,
    normal_quantile,
    rational_ball,
    sign,
)

QUARTER = Fraction(1, 4)


def test_a_number_that_is_next_to_a_multiple_is_rounded_to_the_side_that_is_proven() -> None:
    near = lambda: arb(0.25, 1e-30)  # noqa: E731
    assert fraction_below(near, bits=4) == Fraction(3, 16) and fraction_above(near, bits=4) == Fraction(5, 16)
    assert Fraction(float_below_real(near)) < QUARTER < Fraction(float_above_real(near))


def test_the_sign_of_zero_is_0_whether_its_ball_is_exact_or_not() -> None:
    assert [sign(lambda x=x: arb(x)) for x in (-2, 0, 2)] == [-1, 0, 1]
    assert sign(lambda: arb(2).sqrt() ** 2 - 2) == 0


@pytest.mark.parametrize("parts", [3, 7, 10, 1000003])
def test_both_sides_enclose_a_rational_within_one_step(parts: int) -> None:
    exact, real = Fraction(1, parts), lambda: arb(1) / parts
    below, above = fraction_below(real, bits=40), fraction_above(real, bits=40)
    assert below < exact < above and above - below == Fraction(1, 1 << 40)
    assert Fraction(float_below_real(real)) < exact < Fraction(float_above_real(real))


@pytest.mark.parametrize("probability", ["1/2", "1/10", "9/10", "1/1000000", "999999/1000000"])
def test_quantiles_of_the_normal_law_are_those_of_another_library(probability: str) -> None:
    exact = Fraction(probability)
    found = normal_quantile(rational_ball(exact))
    assert float(found) == pytest.approx(float(ndtri(float(exact))), rel=1e-9, abs=1e-12)
    assert normal_cdf(found).contains(arb(exact.numerator) / exact.denominator)

"""Floats and roots on a stated side, ranks and whole numbers of floats, against searches and elimination in rationals."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from solvers.exact.rational import dyadic_integers, exact_rank, float_above, float_below, integer_rank, root_above, root_below

SMALLEST = Fraction(2) ** -1074
VALUES = [
    *(Fraction(n, d) for n in (-7, -1, 0, 1, 3, 2**60 + 1) for d in (1, 3, 10)),
    *(SMALLEST * share for share in (Fraction(1, 1000), Fraction(1, 2), 1, Fraction(5, 2), -Fraction(1, 3))),
    *(Fraction(2) ** power * (1 + Fraction(1, 2**60)) for power in (-1030, -1, 0, 1000, 1023)),
]


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_floats_on_either_side_have_no_float_between_them_and_the_number(value: Fraction) -> None:
    below, above = float_below(value), float_above(value)
    assert Fraction(below) <= value <= Fraction(above)
    assert Fraction(math.nextafter(below, math.inf)) > value and Fraction(math.nextafter(above, -math.inf)) < value
    assert (below == above) == (Fraction(float(value)) == value)


def test_what_is_beyond_the_floats_is_infinite_on_one_side_alone() -> None:
    far, largest = Fraction(10) ** 400, math.nextafter(math.inf, 0)
    assert (float_below(far), float_above(far), float_below(-far), float_above(-far)) == (
        largest,
        math.inf,
        -math.inf,
        -largest,
    )
    assert float_above(SMALLEST**2) == float(SMALLEST) and float_below(SMALLEST**2) == 0.0


@pytest.mark.parametrize(
    "square", [value for value in VALUES if value >= 0] + [Fraction(10) ** 400, Fraction(1, 7**500)], ids=str
)
def test_roots_lie_on_their_side_and_as_near_as_stated(square: Fraction) -> None:
    low, high = root_below(square), root_above(square)
    assert low**2 <= square <= high**2
    assert low**2 >= square * (1 - Fraction(1, 2**80)) ** 2 and high**2 <= square * (1 + Fraction(1, 2**79)) ** 2
    assert root_below(low**2) == root_above(low**2) == low or low.denominator.bit_length() > 40


def eliminated(rows: list[list[Fraction]]) -> int:
    """Rank by elimination."""
    rank = 0
    for column in range(len(rows[0])):
        at = next((k for k in range(rank, len(rows)) if rows[k][column]), None)
        if at is not None:
            rows[rank], rows[at] = rows[at], rows[rank]
            for k in range(rank + 1, len(rows)):
                share = rows[k][column] / rows[rank][column]
                rows[k] = [a - share * b for a, b in zip(rows[k], rows[rank], strict=True)]
            rank += 1
    return rank


@pytest.mark.parametrize("seed", range(6))
def test_ranks_and_whole_numbers_of_floats_are_those_of_the_rationals(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((4, 3)).round(1) * 10.0 ** rng.integers(-9, 9, (4, 3))
    matrix[3] = 2 * matrix[0] if seed % 2 else 0.0
    matrix[:, 2] = matrix[:, 1] * 2.0**-30 if seed > 3 else matrix[:, 2]
    integers, exponent = dyadic_integers(matrix)
    exact = [[Fraction(value) for value in row] for row in matrix.tolist()]
    assert [[n * Fraction(2) ** exponent for n in row] for row in integers] == exact
    assert exact_rank(matrix) == integer_rank(integers) == eliminated(exact)

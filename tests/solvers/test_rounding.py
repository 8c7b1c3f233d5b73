"""Numbers that two processors find a last digit apart are one number once rounded; no rounding goes against privacy."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from solvers.rounding import (
    AGREEING,
    BITS,
    inverse_of,
    largest_first,
    product,
    reconstruction_of,
    rounded,
    rounded_alike,
    rounded_up,
)

SHAKEN = 2.0**-50  # relatively: more than kernels differ by
RANDOM = np.random.default_rng(3)
NUMBERS = np.concatenate([RANDOM.lognormal(0, 20, 2000), -RANDOM.lognormal(0, 20, 2000), [0.0, 1.0, 0.5, 3.0, np.inf]])


def shaken(values: np.ndarray) -> np.ndarray:
    return np.asarray(values * (1 + SHAKEN * RANDOM.uniform(-1, 1, values.shape)))


def test_numbers_are_rounded_to_the_nearest_of_their_bits() -> None:
    short = rounded(NUMBERS)
    for value, own in zip(NUMBERS[:-1].tolist(), short[:-1].tolist(), strict=True):
        exact = Fraction(own)
        odd = abs(exact.numerator) // max(1, exact.numerator & -exact.numerator)  # without the powers of two
        assert odd.bit_length() <= BITS
        assert abs(exact - Fraction(value)) <= abs(Fraction(value)) / 2**BITS
    assert np.array_equal(rounded(short), short) and short[-1] == np.inf and short[-2] == 3.0
    assert np.array_equal(rounded(shaken(NUMBERS)), short)


def test_numbers_in_one_unit_have_no_noise_where_there_is_nothing() -> None:
    rows = np.array([[1.0, 1e-17, -1e-17], [2.0, -1.0, 1 / 3]])
    short = rounded_alike(rows, 1)
    assert short[0].tolist() == [1.0, 0.0, 0.0] and not np.signbit(short[0]).any()
    assert abs(short[1, 2] - 1 / 3) <= 2.0 ** (2 - BITS)
    assert np.array_equal(rounded_alike(np.nextafter(rows, 0), 1), short)  # a largest number just below a power of two


def test_a_factor_is_rounded_up_so_that_all_but_an_agreed_part_is_kept() -> None:
    for value in RANDOM.lognormal(0, 5, 2000).tolist():
        up = rounded_up(value)
        assert value * (1 - 2 * AGREEING) <= up <= value * (1 + 2.0 ** (1 - BITS))
    for nice in (1.0, 2.0, 1.5, 1 + 2.0**-20):
        assert rounded_up(nice) == rounded_up(nice * (1 + SHAKEN)) == rounded_up(nice * (1 - SHAKEN)) == nice


def test_the_first_of_equal_values_comes_first() -> None:
    values = np.array([1.0, 2.0, 2.0 * (1 + SHAKEN), 0.5])
    assert largest_first(values, 3).tolist() == [1, 2, 0]


@pytest.mark.parametrize("scaled", [False, True])
def test_a_reconstruction_is_one_whatever_the_last_digits_and_is_right(scaled: bool) -> None:
    rows = np.vstack([np.eye(12), RANDOM.random((4, 12)) < 0.5]) * (RANDOM.random((16, 1)) if scaled else 1.0)
    wanted, weights = np.tri(12), RANDOM.uniform(0.2, 2, (16, 1))
    found = wanted @ np.linalg.pinv(rows * weights) * weights.T
    first = reconstruction_of(shaken(found), rows, wanted)
    assert np.array_equal(reconstruction_of(shaken(found), rows, wanted), first)
    assert np.abs(first - found).max() < 1e-7 and np.abs(first @ rows - wanted).max() < 1e-14


def test_a_reconstruction_that_is_far_off_is_left_alone() -> None:
    rows, wanted = np.eye(3), np.ones((1, 3))
    biased = np.array([[1.0, 1.0, 0.9]])
    assert reconstruction_of(biased, rows, wanted) is biased


def test_products_and_inverses_in_order_are_those_of_a_library() -> None:
    matrix = RANDOM.normal(size=(9, 6))
    assert np.allclose(product(matrix.T, matrix), matrix.T @ matrix, rtol=1e-13, atol=1e-13)
    assert np.allclose(inverse_of(matrix.T @ matrix), np.linalg.inv(matrix.T @ matrix), rtol=1e-9)
    assert not np.isfinite(inverse_of(np.zeros((2, 2)))).all()

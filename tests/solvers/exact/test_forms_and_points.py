"""Normal forms, spans, exact positions and masses, against elimination, enumeration and sums in rationals."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import gcd

import numpy as np
import pytest

from solvers.exact.balls import Masses
from solvers.exact.points import (
    Points,
    against_one,
    distinct_rows,
    hermite_form,
    integer_matrix,
    is_combination,
    outside,
    smith_form,
    smith_transforms,
    span_coordinates,
)


@pytest.mark.parametrize("seed", range(5))
def test_hermite_forms_are_echelons_of_the_same_lattice(seed: int) -> None:
    matrix = np.random.default_rng(seed).integers(-3, 4, (3, 3))
    form, transform = hermite_form(matrix)
    assert (transform @ matrix.astype(object) == form).all()
    assert abs(round(np.linalg.det(transform.astype(float)))) == 1
    reached = {tuple(np.array(c) @ matrix) for c in product(range(-6, 7), repeat=3)}
    for vector in product(range(-2, 3), repeat=3):
        if vector in reached:
            assert is_combination(vector, matrix)
    for row in form.tolist():
        assert is_combination(row, matrix)
    minors = [abs(int(m)) for m in matrix.ravel()]
    assert not any(minors) or smith_form(matrix)[0] == gcd(*minors)
    if abs(determinant := round(np.linalg.det(matrix.astype(float)))):
        assert int(np.prod(smith_form(matrix))) == abs(determinant)
        inverse = np.linalg.inv(matrix.astype(float))
        for vector in product(range(-2, 3), repeat=3):
            whole = np.array(vector) @ inverse
            assert is_combination(vector, matrix) == bool((np.abs(whole - whole.round()) < 1e-9).all())


@pytest.mark.parametrize("seed", range(5))
def test_coordinates_in_a_basis_give_the_points_back(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.integers(-4, 5, (6, 2)) @ rng.integers(-4, 5, (2, 4))
    given = Points.of([[Fraction(int(x), 1 + seed) for x in row] for row in rows])
    basis, coordinates = span_coordinates(given)
    back = [
        [sum(c * b[j] for c, b in zip(row, basis.fractions(), strict=True)) for j in range(4)]
        for row in coordinates.fractions()
    ]
    assert [tuple(row) for row in back] == given.fractions()
    assert len(basis) == np.linalg.matrix_rank(rows)
    with pytest.raises(ValueError, match="every row is zero"):
        span_coordinates(Points.of([[0, 0]]))


def test_positions_of_products_are_those_of_rationals_also_next_to_one() -> None:
    hair = Fraction(1, 10**30)
    facets = Points.of([[1, 0], [Fraction(1, 3), Fraction(2, 7)]]).join(Points.of([[Fraction(-1, 3), 5]]))
    near = [
        (1, 1),
        (1 + hair, 0),
        (1 - hair, 3),
        (-1, 0),
        (-1 - hair, 2),
        (3, 0),
        (-3 + hair, 0),
        (Fraction(1, 9), Fraction(1, 5)),
    ]
    points = Points.of(near)
    expected = []
    for facet in facets.fractions():
        values = [sum(a * p for a, p in zip(facet, point, strict=True)) for point in points.fractions()]
        expected.append([(1 if v > 0 else -1) * (2 if abs(v) > 1 else 1 if abs(v) == 1 else 0) for v in values])
    assert against_one(facets, points).tolist() == expected
    beyond = [k for k in range(len(near)) if any(abs(row[k]) == 2 for row in expected)]
    assert outside(facets, points).tolist() == beyond
    with pytest.raises(ValueError, match="of the same length"):
        Points.of([[1, 2], [3]])


def test_positions_of_huge_points_are_those_of_rationals_beside_none_and_beside_zero() -> None:
    huge, zero = Points.of([[10**30, 1]]), Points.of([[0, 0]])
    assert against_one(huge, huge.take([])).shape == (1, 0) and against_one(huge.take([]), huge).shape == (0, 1)
    assert against_one(zero, huge).tolist() == against_one(huge, zero).tolist() == [[0]]
    assert against_one(huge, huge).tolist() == [[2]]


@pytest.mark.parametrize("upward", [True, False])
def test_masses_of_sums_are_on_their_side_of_the_convolution(upward: bool) -> None:
    bits = 80
    one, other = [3, 5, 0, 7], [1, 9, 2]
    scale = (1 << bits) // 64
    law = Masses.of(-1, [x * scale for x in one], scale + 1, bits, upward=upward) * Masses.of(
        2, [x * scale for x in other], 0, bits, upward=upward
    )
    exact = np.convolve(np.array(one, dtype=object), np.array(other, dtype=object))
    found = [Fraction(int(c), 1 << bits) for c in law.units.coeffs()]
    assert law.first == 1 and len(found) == len(exact)
    truths = [Fraction(int(share), 64 * 64) for share in exact]
    lost = Fraction((scale + 1) * sum(other) * scale, 1 << 2 * bits)
    for mass, truth in zip([*found, Fraction(law.beyond, 1 << bits)], [*truths, lost], strict=True):
        assert truth <= mass <= truth + Fraction(1, 1 << bits) if upward else truth - Fraction(1, 1 << bits) <= mass <= truth


def test_powers_of_masses_are_their_repeated_convolution() -> None:
    """Seven throws of a die of three weighted sides, in units that every product divides."""
    bits, sides = 160, [1, 4, 3]
    law = Masses.of(-2, [side << (bits - 3) for side in sides], 0, bits, upward=True)
    exact = np.array([1], dtype=object)
    for times in range(1, 8):
        exact = np.convolve(exact, np.array(sides, dtype=object))
        power = law.power(times)
        assert power.first == -2 * times and power.beyond == 0
        assert [int(c) for c in power.units.coeffs()] == [int(x) << (bits - 3 * times) for x in exact]


def test_of_rows_on_one_line_the_longest_is_kept_and_rows_of_zeros_are_not() -> None:
    rows = [[0, 0, 0], [1, -2, 0], ["-1/2", 1, 0], [-3, 6, 0], [0, 0, 0], [0, 0, "1/7"], [0, 0, 0]]
    assert distinct_rows(Points.of(rows)).tolist() == [3, 5]
    assert distinct_rows(Points.of([[0, 0]])).tolist() == []


@pytest.mark.parametrize("seed", range(8))
def test_transforms_lead_to_a_diagonal_and_back(seed: int) -> None:
    choice = np.random.default_rng(seed)
    matrix = choice.integers(-4, 5, choice.integers(1, 5, 2)).astype(object)
    left, form, right = smith_transforms(matrix)
    assert (left @ matrix @ right == form).all()
    assert not any(x for (i, j), x in np.ndenumerate(form) if i != j)
    for square in (left, right):
        assert abs(round(float(np.linalg.det(square.astype(float))))) == 1
    diagonal = [bool(form[i, i]) for i in range(min(form.shape))]
    assert diagonal == sorted(diagonal, reverse=True) and sum(diagonal) == np.linalg.matrix_rank(matrix.astype(float))


def test_matrices_of_another_shape_are_refused_with_the_one_needed() -> None:
    for values, width, wanted in (([1, 2], None, "give rows of equal length"), ([[1, 2]], 3, "give rows of length 3")):
        with pytest.raises(ValueError, match=wanted):
            integer_matrix("matrix", values, width)
    assert integer_matrix("matrix", [[1, 2]], 2).tolist() == [[1, 2]]

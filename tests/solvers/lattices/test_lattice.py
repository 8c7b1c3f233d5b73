"""Kernels, normal forms, cosets and short vectors against brute force and counting formulas. Pseudo-inverses: what rounding
leaves of dependent rows has no inverse, whatever version of numpy rounds. Laws of a cell of tables whose lines sum to 0,
against sums over all tables that matter.
"""

from __future__ import annotations

import itertools
import math
import re
from fractions import Fraction
from math import comb
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from designer import invariants
from solvers.exact.points import hermite_form, integer_matrix, smith_form, smith_transforms
from solvers.lattices.cell_laws import CellLaw, ZeroSumMoments, gaussian_weight, l1_weight, law_of_cell, mixed_laws
from solvers.lattices.enumeration import collisions, enumerated, fixes_total, short_vectors
from solvers.lattices.kernel import Lattice, integer_kernel, pseudo_inverse
from solvers.solution import Status


def margins(*shape: int) -> NDArray[np.int64]:
    """All one-way margins of a table, dependent rows included."""
    cells = np.arange(math.prod(shape)).reshape(shape)
    rows = []
    for axis, length in enumerate(shape):
        for i in range(length):
            rows.append(np.isin(cells.ravel(), np.take(cells, i, axis=axis)).astype(np.int64))
    return np.array(rows)


def box(matrix: NDArray[np.int64], reach: int) -> NDArray[np.int64]:
    """Every kernel vector with entries in -reach .. reach."""
    grid = np.array(list(itertools.product(range(-reach, reach + 1), repeat=matrix.shape[1])))
    return grid[(grid @ matrix.T == 0).all(axis=1)]


matrices = st.integers(1, 3).flatmap(
    lambda k: st.integers(1, 5).flatmap(
        lambda d: st.lists(st.lists(st.integers(-3, 3), min_size=d, max_size=d), min_size=k, max_size=k)
    )
)


@given(matrices)
@settings(max_examples=60, deadline=None)
def test_kernel_holds_exactly_the_integer_solutions(rows: list[list[int]]) -> None:
    matrix = np.array(rows)
    lattice = integer_kernel(matrix)
    grid = np.array(list(itertools.product(range(-2, 3), repeat=matrix.shape[1])))
    assert lattice.dimension == matrix.shape[1] - np.linalg.matrix_rank(matrix)
    assert not (lattice.basis @ matrix.T).any()
    assert (lattice.contains(grid) == (grid @ matrix.T == 0).all(axis=1)).all()


@given(matrices)
@example([[0, 0], [0, 1]])  # diagonal already, with its zero first
@settings(max_examples=60, deadline=None)
def test_normal_forms(rows: list[list[int]]) -> None:
    matrix = np.array(rows, dtype=object)
    form, transform = hermite_form(matrix)
    assert (transform @ matrix == form).all() and abs(round(np.linalg.det(transform.astype(float)))) == 1
    pivots = [next((j for j, x in enumerate(row) if x), None) for row in form]
    there = [p for p in pivots if p is not None]
    assert there == sorted(set(there)) and pivots[len(there) :] == [None] * (len(pivots) - len(there))
    for i, p in enumerate(there):
        assert form[i, p] > 0 and all(0 <= form[j, p] < form[i, p] for j in range(i))
    left, diagonal, right = smith_transforms(matrix)
    assert (left @ matrix @ right == diagonal).all() and not any(x and i != j for (i, j), x in np.ndenumerate(diagonal))
    assert {abs(round(np.linalg.det(side.astype(float)))) for side in (left, right)} == {1}
    kernel = integer_kernel(matrix)
    assert not (matrix @ right[:, matrix.shape[1] - kernel.dimension :]).any()
    if kernel.dimension:
        spanned = Lattice.generated_by(right.T[matrix.shape[1] - kernel.dimension :])
        assert spanned.squared_determinant == kernel.squared_determinant and kernel.contains(spanned.basis).all()
    # The product of the first j invariant factors is the gcd of all j x j minors.
    for j, factor in enumerate(itertools.accumulate(smith_form(matrix), lambda a, b: a * b), start=1):
        minors = [
            round(np.linalg.det(matrix[np.ix_(r, c)].astype(float)))
            for r in itertools.combinations(range(matrix.shape[0]), j)
            for c in itertools.combinations(range(matrix.shape[1]), j)
        ]
        assert math.gcd(*minors) == factor


def test_gram_schmidt_is_exact() -> None:
    lattice = integer_kernel(margins(3, 4))
    orthogonal: list[list[Fraction]] = []
    for i, row in enumerate(lattice.basis):
        rest = [Fraction(x) for x in row]
        for j, other in enumerate(orthogonal):
            mu = sum((Fraction(x) * y for x, y in zip(row, other, strict=True)), Fraction(0)) / sum(y * y for y in other)
            assert mu == lattice.shear[i][j]
            rest = [x - mu * y for x, y in zip(rest, other, strict=True)]
        orthogonal.append(rest)
        assert sum(x * x for x in rest) == lattice.squared_lengths[i]
    # Covolume of the kernel of the two-way margins: sqrt(r^(c-1) c^(r-1)), a product of two root lattices.
    assert lattice.squared_determinant == 3 ** (4 - 1) * 4 ** (3 - 1)
    assert np.prod(lattice.float_lengths) == pytest.approx(math.sqrt(lattice.squared_determinant), rel=1e-12)


def test_cosets_have_one_representative_each_in_the_nearest_plane_cell() -> None:
    matrix = np.array([[1, 2, 3, 0], [0, 1, 1, 1]])
    lattice = integer_kernel(matrix)
    points = np.array(list(itertools.product(range(-3, 4), repeat=4)))
    rest = lattice.representative(points)
    assert (rest @ matrix.T == points @ matrix.T).all() and lattice.contains(points - rest).all()
    assert len({tuple(r) for r in rest}) == len({tuple(t) for t in points @ matrix.T})
    directions = np.linalg.qr(lattice.basis.astype(float).T)[0]
    assert (np.abs(rest.astype(float) @ directions) <= lattice.float_lengths / 2 + 1e-9).all()


def test_large_and_degenerate_matrices() -> None:
    huge = integer_kernel([[10**40, 3 * 10**40 + 7, -(2**90)]])
    assert huge.dimension == 2 and not (huge.basis @ np.array([10**40, 3 * 10**40 + 7, -(2**90)], dtype=object)).any()
    # A primitive vector's kernel has the covolume of the vector (its entries have gcd 1 here).
    assert huge.squared_determinant == (10**80 + (3 * 10**40 + 7) ** 2 + 2**180)
    assert integer_kernel(np.zeros((2, 3), dtype=int)).squared_determinant == 1
    assert integer_kernel(np.zeros((0, 3), dtype=int)).dimension == 3
    assert integer_kernel(np.eye(3, dtype=int)).dimension == 0 and integer_kernel(np.eye(3, dtype=int)).contains(
        [[0, 0, 0], [1, 0, 0]]
    ).tolist() == [True, False]
    state = integer_kernel(np.ones((1, 254), dtype=int))
    assert state.squared_determinant == 254 and np.abs(state.basis).sum() == 2 * 253


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, 2], "shape"),
        ([[1.0, 2.0]], "not all integers"),
        ([[True, False]], "not all integers"),
        ([["1"]], "not all integers"),
    ],
)
def test_only_integers_are_matrices(values: list[object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        integer_kernel(values)  # type: ignore[arg-type]


def test_dependent_rows_are_no_basis() -> None:
    with pytest.raises(ValueError, match="dependent"):
        Lattice(integer_matrix("basis", [[1, 2], [2, 4]]))
    assert Lattice.generated_by([[4, 0], [6, 0]]).basis.tolist() in ([[2, 0]], [[-2, 0]])
    assert integer_matrix("huge", [[2**63, -1]]).tolist() == [[2**63, -1]]


@pytest.mark.parametrize(("r", "c"), [(2, 2), (3, 3), (3, 5), (5, 5), (4, 6)])
def test_short_vectors_of_tables_are_basic_moves_and_hexagons(r: int, c: int) -> None:
    moves = comb(r, 2) * comb(c, 2)
    hexagons = comb(r, 3) * comb(c, 3) * 6  # six-cycles of K_3,3, each with one pair of alternating signs
    four, six = short_vectors(margins(r, c), 4), short_vectors(margins(r, c), 6)
    assert (len(four.vectors), len(six.vectors)) == (moves, moves + hexagons)
    assert four.status is six.status is Status.OPTIMAL


@given(matrices, st.integers(0, 4))
@settings(max_examples=60, deadline=None)
def test_both_routes_find_what_brute_force_finds(rows: list[list[int]], radius: int) -> None:
    matrix = np.array(rows)
    lattice, everything = integer_kernel(matrix), box(matrix, radius)
    everything = everything[np.abs(everything).sum(axis=1) <= radius]
    wanted = {tuple(v) for v in everything.tolist() if next((x for x in v if x), -1) > 0}
    by_collision = collisions(integer_matrix("matrix", matrix), radius, fixes_total(lattice), 10**6)
    by_enumeration = enumerated(lattice, radius**2, 10**6, radius)
    assert by_collision is not None and by_enumeration is not None
    assert by_collision.tolist() == by_enumeration.tolist() == sorted(map(list, wanted))


def test_euclidean_short_vectors() -> None:
    matrix = np.array([[1, 1, 1, 1], [0, 1, 2, 3]])
    everything = box(matrix, 5)
    wanted = [v for v in everything.tolist() if 0 < sum(x * x for x in v) <= 25 and next(x for x in v if x) > 0]
    assert short_vectors(matrix, 5, norm="l2").vectors.tolist() == sorted(wanted)


def test_limits_are_a_status() -> None:
    assert short_vectors(margins(5, 5), 6, limit=699).status is Status.TOO_LARGE
    assert short_vectors(margins(5, 5), 6, limit=700).status is Status.OPTIMAL
    assert short_vectors(margins(6, 6), 8, norm="l2").status is Status.TOO_LARGE
    assert len(short_vectors(margins(6, 6), 30).vectors) == 0
    with pytest.raises(ValueError, match="radius"):
        short_vectors(margins(2, 2), -1)
    with pytest.raises(ValueError, match="norm"):
        short_vectors(margins(2, 2), 2, norm="l3")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("shape", "dimension"),
    [((2, 2), 1), ((10, 10), 81), ((4, 4, 4), 54), ((3, 5, 2), 22)],
    ids=["2x2", "10x10", "4x4x4", "3x5x2"],
)
def test_kernels_of_tables_have_the_dimension_of_their_interactions(shape, dimension):
    """`prod r - 1 - sum (r - 1)` cells are left free by one-way margins, whose rows are dependent;
    the basis spans all integer points."""
    cells = np.arange(math.prod(shape)).reshape(shape)
    rows = [np.isin(cells, np.take(cells, i, axis)).ravel() for axis, n in enumerate(shape) for i in range(n)]
    lattice = integer_kernel(np.array(rows).astype(int))
    assert lattice.dimension == dimension and not (lattice.basis @ np.array(rows).T.astype(int)).any()
    assert set(smith_form(lattice.basis)) == {1}
    assert max(np.abs(lattice.basis).sum(axis=1)) <= 8


ROOT = Path(__file__).parents[3]


def test_rows_that_depend_on_each_other_but_for_rounding_have_the_inverse_of_independent_ones() -> None:
    public = invariants.margins((7, 7, 7), [(0, 1), (0, 2), (1, 2)]).matrix
    left, values, right = np.linalg.svd(public, full_matrices=False)
    rank = int((values > 1e-9).sum())
    assert rank < len(values)
    values[rank:] = 4e-15 * values[0]  # what another version of numpy leaves of them; it cuts at 1e-15
    inverse = pseudo_inverse((left * values) @ right)
    assert np.allclose(inverse, (right[:rank].T / values[:rank]) @ left[:, :rank].T, atol=1e-12)
    assert np.abs(np.linalg.pinv((left * values) @ right)).max() > 1e9


def test_independent_rows_keep_a_direction_of_little_weight() -> None:
    assert np.allclose(pseudo_inverse(np.diag([1.0, 1e-12])), np.diag([1.0, 1e12]))


def test_nothing_leaves_the_rank_to_the_default_of_numpy() -> None:
    calls = {
        f"{path.relative_to(ROOT)}: {call}"
        for folder in ("designer", "solvers")
        for path in (ROOT / folder).rglob("*.py")
        for call in re.findall(r"np\.linalg\.pinv\(.*", path.read_text())
        if "rcond=" not in call and "hermitian=" not in call
    }
    assert calls == set()


def tables(rows: int, columns: int, reach: int) -> np.ndarray:
    """All integer tables whose lines sum to 0 and whose free cells are at most `reach`, (n, rows, columns)."""
    free = np.array(list(itertools.product(range(-reach, reach + 1), repeat=(rows - 1) * (columns - 1)))).reshape(
        -1, rows - 1, columns - 1
    )
    wide = np.concatenate([free, -free.sum(axis=1, keepdims=True)], axis=1)
    return np.concatenate([wide, -wide.sum(axis=2, keepdims=True)], axis=2)


def brute(z: np.ndarray, logs: np.ndarray, reach: int) -> np.ndarray:
    """The chances of -reach, ..., reach in the first cell, (2 reach + 1,)."""
    weights = np.exp(logs)
    first = z[:, 0, 0]
    return np.array([weights[first == k].sum() for k in range(-reach, reach + 1)]) / weights.sum()


def around(law: CellLaw | None, reach: int) -> np.ndarray:
    assert law is not None
    wide = np.pad(law.masses, reach)
    middle = len(wide) // 2
    return wide[middle - reach : middle + reach + 1]


@pytest.mark.parametrize(
    ("shape", "rate", "reach"), [((2, 2), 0.5, 40), ((2, 3), 0.7, 40), ((3, 3), 2.5, 6), ((3, 2), 1.0, 30)]
)
@pytest.mark.parametrize("kind", ["l1", "gaussian", "l2"])
def test_the_law_of_a_cell_is_the_sum_over_all_tables(shape: tuple[int, int], rate: float, reach: int, kind: str) -> None:
    z = tables(*shape, reach).astype(float)
    squares = np.square(z).sum(axis=(1, 2))
    if kind == "l1":
        law, logs = law_of_cell(shape, *l1_weight(rate)), -rate * np.abs(z).sum(axis=(1, 2))
    elif kind == "gaussian":
        law, logs = law_of_cell(shape, *gaussian_weight(rate**-2)), -(rate**2) * squares / 2
    else:
        found = mixed_laws({shape: 1}, rate)
        law, logs = found[shape] if found else None, -rate * np.sqrt(squares)
    near = reach // 2
    assert around(law, near) == pytest.approx(brute(z, logs, reach)[reach - near : reach + near + 1], rel=1e-6, abs=1e-9)


def test_several_lines_share_one_length() -> None:
    """exp(-|z|_2) of a line of two cells, a line of three and a free cell: neither is by itself."""
    rate, reach = 2.0, 16
    a, b, c, d = np.array(list(itertools.product(range(-reach, reach + 1), repeat=4))).T.astype(float)
    weights = np.exp(-rate * np.sqrt(2 * a**2 + b**2 + c**2 + (b + c) ** 2 + d**2))
    found = mixed_laws({(2,): 1, (3,): 1, (): 1}, rate)
    assert found is not None
    for shape, cell in (((2,), a), ((3,), b), ((), d)):
        assert found[shape].variance == pytest.approx((weights * cell**2).sum() / weights.sum(), rel=1e-6)


@pytest.mark.parametrize("count", [2, 7, 300])
@pytest.mark.parametrize("rate", [0.02, 0.5, 4.0])
def test_lines_have_the_moments_of_their_characteristic_function(count: int, rate: float) -> None:
    law = law_of_cell((count,), *l1_weight(rate))
    assert law is not None and law.variance == pytest.approx(ZeroSumMoments(count, rate).variance, rel=1e-8)


def test_a_table_and_its_transpose_have_one_law() -> None:
    one, other = (law_of_cell(shape, *l1_weight(0.4)) for shape in ((3, 7), (7, 3)))
    assert one is not None and other is not None and one.variance == pytest.approx(other.variance, rel=1e-12)


def test_what_floats_do_not_resolve_and_what_is_large_is_not_told() -> None:
    """e^-72 for the least move, and 10 columns."""
    assert law_of_cell((2, 2), *gaussian_weight(1 / 36)) is None
    assert law_of_cell((10, 10), *l1_weight(3.0)) is None
    narrow = law_of_cell((2, 2), *gaussian_weight(1 / 9))
    assert narrow is not None and narrow.variance == pytest.approx(2 * math.exp(-18), rel=1e-7)

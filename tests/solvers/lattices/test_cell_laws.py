"""Laws of a cell of tables whose lines sum to 0, against sums over all tables that matter."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from solvers.lattices.cell_laws import CellLaw, ZeroSumMoments, gaussian_weight, l1_weight, law_of_cell, mixed_laws


def tables(rows: int, columns: int, reach: int) -> np.ndarray:
    """All integer tables whose lines sum to 0 and whose free cells are at most `reach`, (n, rows, columns)."""
    free = np.array(list(product(range(-reach, reach + 1), repeat=(rows - 1) * (columns - 1)))).reshape(
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
    a, b, c, d = np.array(list(product(range(-reach, reach + 1), repeat=4))).T.astype(float)
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

"""Whole tables keep every ratio in exact rationals, for random problems of all kinds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from solvers.channel_lp.cone import poles
from solvers.channel_lp.generation import column_generation
from solvers.channel_lp.whole import NoSlack, broken_ratios, whole_table
from tests.solvers.channel_lp.test_generation import KINDS, Array, problems


def ratios_of(b: Array) -> Array:
    """Floats a little below exp(b)."""
    with np.errstate(over="ignore"):
        return np.asarray(np.where(b == 0, 1.0, np.exp(b) * (1 - 2.0**-50)))


def holds(numbers: list[list[int]], ratios: Array) -> bool:
    """All pairs in rationals, one by one."""
    n = len(numbers)
    return all(
        numbers[x][z] <= Fraction(float(ratios[x, y])) * numbers[y][z]
        for x in range(n)
        for y in range(n)
        if np.isfinite(ratios[x, y])
        for z in range(len(numbers[0]))
    )


@pytest.mark.parametrize("bits", (40, 48, 53))
@pytest.mark.parametrize("kind", KINDS)
def test_whole_tables_keep_every_ratio_and_lose_next_to_nothing(kind: str, bits: int) -> None:
    for b, prior, loss, _ in problems(kind, 12):
        costs = prior[:, None] * loss
        found = column_generation(b, costs, poles(b), norm=prior, gap=1e-6)
        made = whole_table(found.point.table(loss.shape[1]), ratios_of(b), bits=bits)
        numbers = made.numerators.tolist()
        assert all(sum(row) == 1 << bits for row in numbers) and min(map(min, numbers)) >= 0
        assert holds(numbers, ratios_of(b)) and broken_ratios(made.numerators, ratios_of(b)) == 0
        least = b[b > 0].min(initial=1.0)
        lost = float((costs * made.floats()).sum()) - found.value
        assert lost <= 3.0 * loss.shape[1] * (2.0**-bits + 4e-15) * (2 + 2 / np.tanh(least / 2)) + 1e-14


def test_what_is_broken_is_counted_exactly() -> None:
    rng = np.random.default_rng(2)
    for _ in range(200):
        n, m = int(rng.integers(2, 5)), int(rng.integers(1, 4))
        numbers = rng.integers(0, 40, (n, m))
        ratios = np.maximum(rng.integers(1, 20, (n, n)) / rng.choice([1.0, 2.0, 4.0], (n, n)), 1.25)
        ratios[rng.uniform(size=(n, n)) < 0.1] = np.inf
        np.fill_diagonal(ratios, 1.0)
        broken = sum(
            int(numbers[x, z]) > Fraction(float(ratios[x, y])) * int(numbers[y, z])
            for x in range(n)
            for y in range(n)
            for z in range(m)
            if np.isfinite(ratios[x, y]) and x != y
        )
        assert broken_ratios(numbers, ratios) == broken


def test_what_is_broken_by_one_unit_of_many_is_counted() -> None:
    numbers, more = np.array([[3 << 51], [(1 << 51) - 1]]), np.array([[0], [1]])
    ratios = [[1.0, 3.0], [3.0, 1.0]]
    assert broken_ratios(numbers, ratios) == 1 and broken_ratios(numbers + more, ratios) == 0


@pytest.mark.parametrize("off", (0.0, 1e-15, 1e-12, 1e-9, 1e-6))
def test_tables_that_are_a_little_off_are_mended_by_slack_in_proportion(off: float) -> None:
    x = np.array([(i, j) for i in range(4) for j in range(4)], dtype=float)
    b = np.sqrt(((x[:, None] - x) ** 2).sum(axis=2))
    table = column_generation(b, b / 16, poles(b), gap=1e-6).point.table(16)
    moved = table + off * np.random.default_rng(0).uniform(0, 1, table.shape)
    made = whole_table(moved, ratios_of(b))
    assert broken_ratios(made.numerators, ratios_of(b)) == 0
    assert (made.numerators.sum(axis=1) == 1 << 48).all()
    assert np.abs(made.floats() - moved).max() <= 60 * off + 1e-12


def test_what_is_not_allowed_stays_nothing() -> None:
    b = np.array([[0, 1, np.inf], [1, 0, np.inf], [np.inf, np.inf, 0]])
    allowed = np.array([[True, True, False], [True, True, False], [False, True, True]])
    found = column_generation(b, np.where(b == 0, 0.0, 1.0), poles(b), allowed=allowed)
    made = whole_table(found.point.table(3), ratios_of(b), allowed)
    assert not made.numerators[~allowed].any() and holds(made.numerators.tolist(), ratios_of(b))
    with pytest.raises(ValueError, match="the same reports"):
        whole_table(found.point.table(3), ratios_of(b), [[True, True, False], [True, True, True], [True, True, True]])


def test_one_table_is_always_rounded_to_the_same_numbers() -> None:
    b = np.log(3.0) * (1 - np.eye(3))
    table = np.array([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]])
    one, two = whole_table(table, ratios_of(b)), whole_table(table * (1 + 1e-16), ratios_of(b))
    assert (one.numerators == two.numerators).all()


def test_a_table_that_no_slack_mends_is_refused() -> None:
    with pytest.raises(NoSlack, match=r"2\^4 is too coarse for ratios down to 1.01, or the table"):
        whole_table([[0.6, 0.4], [0.4, 0.6]], [[1.0, 1.01], [1.01, 1.0]], bits=4)


@pytest.mark.parametrize(
    ("table", "ratios", "bits", "message"),
    [
        ([[0.5, -0.5]], [[1.0]], 20, "table of shape"),
        ([[0.5, 0.5]] * 2, [[1.0, 1.0], [1.0, 1.0]], 20, "above 1"),
        ([[0.5, 0.5]] * 2, [[1.0, 2.0], [2.0, 1.0]], 54, "bits is 54"),
    ],
)
def test_what_makes_no_whole_table_is_refused(
    table: list[list[float]], ratios: list[list[float]], bits: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        whole_table(table, ratios, bits=bits)

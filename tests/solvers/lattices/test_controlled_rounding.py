"""Rounding that keeps sums: against every split of the sets into two nested families, and by its mean."""

from __future__ import annotations

import random
from itertools import combinations, product

import numpy as np
import pytest

from solvers.lattices.controlled_rounding import crossing_families, rounded_cells

UNIT = 16


def is_nested(sets: np.ndarray) -> bool:
    return all(not (a & b).any() or not (a & ~b).any() or not (b & ~a).any() for a, b in combinations(sets, 2))


@pytest.mark.parametrize("seed", range(60))
def test_two_families_are_found_where_there_are_some(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sets = rng.random((rng.integers(2, 7), 5)) < rng.choice([0.3, 0.5])
    sets[~sets.any(axis=1), 0] = True
    there = any(
        is_nested(sets[np.array(side)]) and is_nested(sets[~np.array(side)])
        for side in product((False, True), repeat=len(sets))
    )
    found = crossing_families(sets)
    if isinstance(found, tuple):
        assert not there and not is_nested(sets[[*found]])
        return
    assert there and is_nested(sets[found]) and is_nested(sets[~found])
    cells = rng.integers(-40, 40, 5).tolist()
    draws, drawn = 400, random.Random(seed)
    true = sets @ np.array(cells) / UNIT
    total = np.zeros(len(sets))
    for _ in range(draws):
        whole = rounded_cells(cells, UNIT, sets, found, lambda part, of: drawn.randrange(of) < part)
        total += sets @ np.array(whole)
        assert (np.abs(sets @ np.array(whole) - true) < 1).all() and (
            np.abs(np.array(whole) - np.array(cells) / UNIT) < 1
        ).all()
    assert (np.abs(total / draws - true) <= 5 * 0.5 / np.sqrt(draws)).all()


def test_whole_cells_stay_as_they_are() -> None:
    sets = np.array([[True, True, False], [False, True, True], [True, True, True]])
    second = crossing_families(sets)
    assert not isinstance(second, tuple)
    assert rounded_cells([3 * UNIT, -UNIT, 0], UNIT, sets, second, lambda part, of: True) == [3, -1, 0]


def test_a_value_goes_up_with_the_probability_of_its_fraction() -> None:
    asked: list[tuple[int, int]] = []
    alone, one = np.array([[True]]), np.array([False])
    assert rounded_cells([UNIT // 4], UNIT, alone, one, lambda part, of: bool(asked.append((part, of)))) == [0]
    assert rounded_cells([UNIT // 4], UNIT, alone, one, lambda part, of: True) == [1]
    assert asked == [(UNIT // 4, UNIT)]

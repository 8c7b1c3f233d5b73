"""Products whose noise is too narrow for their budgets are no mechanism, whoever made them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Literal

import numpy as np
import pytest

from designer import NotPrivate, metrics
from designer.structured.blocks import StrategyMatrix
from designer.structured.mechanism import StructuredMechanism
from tests.oracles.spec_specimens import structured

MADE = structured()


@pytest.mark.parametrize("name", MADE)
def test_noise_that_is_a_hundredth_too_strong_is_not_private(name: str) -> None:
    """Strengths are precisions or rates: a hundredth more of each spends more than the whole budget."""
    made = MADE[name]
    assert isinstance(made, StructuredMechanism)
    blocks = tuple(replace(block, strength=block.strength * 1.01) for block in made.blocks)
    with pytest.raises(NotPrivate):
        replace(made, blocks=blocks)
    assert replace(made, blocks=tuple(replace(b, strength=b.strength / 2) for b in made.blocks)).privacy.holds


RING = metrics.from_matrix([[0, 1, 2, 0.5], [1, 0, 1, 1.5], [2, 1, 0, 2], [0.5, 1.5, 2, 0]])
ROWS = np.array([[1, 0, 2, 3], [0, 4, 1, 1], [2, 2, 0, 1]])


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("part", [None, RING, metrics.uniform(4, 0.25)], ids=["one budget", "matrix", "uniform"])
def test_a_change_of_one_value_moves_the_worst_pair_of_columns_for_its_budget(
    noise: Literal["laplace", "gaussian"], part: metrics.Metric | None
) -> None:
    """By brute force over all pairs of values, in whole numbers."""
    power, found = (1, []) if noise == "laplace" else (2, [])
    for i, j in combinations(range(4), 2):
        budget = Fraction(1) if part is None else part.exact_budget(i, j)
        assert budget is not None
        found.append(Fraction(int((np.abs(ROWS[:, i] - ROWS[:, j]) ** power).sum())) / budget**power)
    assert StrategyMatrix(ROWS).change(noise, part) == max(found)
    assert StrategyMatrix(ROWS).presence(noise) == max(int((np.abs(column) ** power).sum()) for column in ROWS.T)

"""The staircase of whole numbers against its law, also below the levels that one word chooses among."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from designer.sampling.entropy import SeededEntropy
from designer.sampling.integer_tails import TABLED, DiscreteStairs
from tests.oracles.goodness_of_fit import FAILURE_PROBABILITY, p_value_of_integers


@pytest.mark.parametrize("wrong, right", [(1.0, True), (1.1, False)])
def test_draws_of_very_many_levels_follow_the_law_and_those_of_another_do_not(wrong: float, right: bool) -> None:
    unit, width, top = Fraction(1, 100), 3, 2
    drawn = DiscreteStairs(unit, width, top).draw(40_000, SeededEntropy(3))[:, 0]
    z = np.arange(-20_000, 20_001)
    masses = np.exp(-wrong * float(unit) * np.ceil(np.maximum(np.abs(z) - top, 0) / width))
    below = np.cumsum(masses / masses.sum())
    edges = np.searchsorted(below, np.arange(1, 40) / 40).tolist()
    assert (np.abs(drawn) > top + 2 * TABLED * width).mean() > 0.25, (
        "a draw in four lies below twice as many levels as one word chooses among"
    )
    found = p_value_of_integers(drawn, lambda at: float(below[at + 20_000]), [edge - 20_000 for edge in edges])
    assert (found > FAILURE_PROBABILITY) == right


@pytest.mark.parametrize("width, top", [(1, 0), (2, 1)])
def test_the_top_of_narrow_stairs_is_drawn_as_often_as_the_law_says(width: int, top: int) -> None:
    drawn = DiscreteStairs(Fraction(1), width, top).draw(20_000, SeededEntropy(5))[:, 0]
    z = np.arange(-80, 81)
    masses = np.exp(-np.ceil(np.maximum(np.abs(z) - top, 0) / width))
    below = np.cumsum(masses / masses.sum())
    assert p_value_of_integers(drawn, lambda at: float(below[at + 80]), list(range(-4, 4))) > FAILURE_PROBABILITY

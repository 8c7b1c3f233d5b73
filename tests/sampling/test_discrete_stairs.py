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

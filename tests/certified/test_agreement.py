"""Numbers that agree: what is told without noise stays, what is told with little noise moves little."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from designer.certified.agreement import agreed

SUMS = np.array([[1, 0], [0, 1], [1, 1]])


def test_answers_without_noise_stay_as_they_were_told() -> None:
    """The total is exact; its parts are nearest to what was released among all pairs that have it."""
    answers = np.array([1.4, 3.7, 7.0])
    found, words = agreed(SUMS, answers, np.array([1.0, 1.0, 0.0]), [], True)
    pairs = [(k, 7 - k) for k in range(8)]
    nearest = min(pairs, key=lambda pair: (pair[0] - 1.4) ** 2 + (pair[1] - 3.7) ** 2)
    assert found.tolist() == [*nearest, 7.0] and "have the published margins" in words


@pytest.mark.parametrize("deviations", [(0.3, 3.0, 1.0), (3.0, 0.3, 1.0)])
def test_squares_are_weighted_by_the_variances_of_the_noise(deviations: tuple[float, ...]) -> None:
    answers, spread = np.array([6.0, 6.0, 4.0]), np.array(deviations)
    found, _ = agreed(SUMS, answers, spread, [], True)
    every = np.array(list(product(range(12), repeat=2))) @ SUMS.T
    squares = (((every - answers) / spread) ** 2).sum(axis=1)
    assert found.tolist() == every[squares.argmin()].tolist()

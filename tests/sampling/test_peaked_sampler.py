"""Draws from a law with a peak on a lattice, against its probabilities written out."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np

from designer.sampling.entropy import SeededEntropy
from designer.sampling.peaked_sampler import PeakedSampler
from solvers.lattices.peaked_law import LatticeSteps, PeakedLaw, Shells, Walks
from tests.oracles.goodness_of_fit import FAILURE_PROBABILITY, p_value

REACH = 40


def test_draws_are_those_of_two_geometric_laws_and_of_no_wider_ones() -> None:
    """One step along each axis, of 1 and 2 units: `P(x, y)` proportional to `exp(-(|x| + 2 |y|) / 2)`."""
    steps = LatticeSteps.of([[1, 0], [0, 1]], [1, 2])
    walks = Walks(steps, Shells(steps.natural_widths(), (0, 0)))
    law = PeakedLaw(walks, Fraction(1, 2), np.zeros((1, 2), dtype=np.int64), np.zeros(1, dtype=np.int64))
    doubled = PeakedSampler(law).draw(20_000, SeededEntropy(3))
    assert not (doubled % 2).any()
    places = doubled // 2 + REACH
    assert places.min() >= 0 and places.max() <= 2 * REACH  # beyond lies less than 1e-8
    found = np.bincount(np.ravel_multi_index(tuple(places.T), (2 * REACH + 1,) * 2), minlength=(2 * REACH + 1) ** 2)
    points = np.array(list(itertools.product(range(-REACH, REACH + 1), repeat=2)))
    for unit, right in ((0.5, True), (0.45, False)):
        weights = np.exp(-unit * (np.abs(points) @ [1, 2]))
        assert (p_value(found, weights / weights.sum()) > FAILURE_PROBABILITY) == right

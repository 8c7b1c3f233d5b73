"""Volumes and moments of capped cubes against simplices, cubes, sums over cells and draws."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from solvers.exact.rational import CappedCube, capped_cube
from tests.oracles.goodness_of_fit import FAILURE_PROBABILITY


@pytest.mark.parametrize("s", [1, 2, 3, 7, 20])
def test_a_cap_of_at_most_one_leaves_a_simplex_and_one_of_s_the_cube(s: int) -> None:
    cap = Fraction(2, 3)
    simplex = CappedCube(cap**s / math.factorial(s), cap / (s + 1), 2 * cap**2 / ((s + 1) * (s + 2)))
    assert capped_cube(s, cap) == simplex
    cube = CappedCube(Fraction(1), Fraction(1, 2), Fraction(1, 3))
    assert capped_cube(s, Fraction(s)) == capped_cube(s, Fraction(s + 5)) == cube


@pytest.mark.parametrize("s", [2, 3, 8])
def test_what_a_cap_leaves_and_cuts_off_are_mirror_images(s: int) -> None:
    """u to 1 - u takes `sum u <= c` to `sum u >= s - c`; both together are the cube."""
    cap = Fraction(s, 2) - Fraction(1, 7)
    kept, rest = capped_cube(s, cap), capped_cube(s, s - cap)
    assert kept.volume + rest.volume == 1
    assert kept.volume * kept.mean + rest.volume * (1 - rest.mean) == Fraction(1, 2)
    assert kept.volume * kept.square + rest.volume * (1 - 2 * rest.mean + rest.square) == Fraction(1, 3)


@pytest.mark.parametrize("s", [2, 3, 5, 12])
def test_cut_corners_leave_smaller_moments_than_the_cube_and_the_simplex(s: int) -> None:
    """Section 5 of the theory of bundles: the loss is at most that of the box, and of Laplace noise."""
    for cap in (1 + Fraction(k * (s - 1), 12) for k in range(13)):
        body = capped_cube(s, cap)
        assert body.mean <= min(Fraction(1, 2), cap / (s + 1))
        assert body.square <= min(Fraction(1, 3), 2 * cap**2 / ((s + 1) * (s + 2)))


def test_three_dimensions_agree_with_a_sum_over_cells() -> None:
    cells = (np.arange(120) + 0.5) / 120
    x, y, z = np.meshgrid(cells, cells, cells, indexing="ij")
    for cap in (1.3, 1.9, 2.6):
        inside = x + y + z <= cap
        body = capped_cube(3, Fraction(cap))
        assert inside.mean() == pytest.approx(float(body.volume), rel=5e-3)
        assert x[inside].mean() == pytest.approx(float(body.mean), rel=5e-3)
        assert (x[inside] ** 2).mean() == pytest.approx(float(body.square), rel=5e-3)


def test_sixteen_dimensions_agree_with_draws() -> None:
    from scipy.stats import norm

    drawn = np.random.default_rng(1).random((200_000, 16))
    kept = drawn[drawn.sum(axis=1) <= 7.25]
    body = capped_cube(16, Fraction(29, 4))
    for values, expected in (
        ((drawn.sum(axis=1) <= 7.25).astype(float), body.volume),
        (kept.mean(axis=1), body.mean),
        ((kept**2).mean(axis=1), body.square),
    ):
        off = abs(values.mean() - float(expected)) / values.std() * math.sqrt(len(values))
        assert off < norm.isf(FAILURE_PROBABILITY / 2)

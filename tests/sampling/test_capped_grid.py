"""Boxes with corners cut against laws enumerated point by point, wrong scales, and their own ball arithmetic."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from flint import arb, ctx
from numpy.typing import NDArray
from scipy import stats

from designer import InvalidProblem
from designer.sampling import integer_samplers
from designer.sampling.box_grids import CappedGrid
from designer.sampling.entropy import SeededEntropy
from designer.sampling.integer_samplers import LazyUniform
from designer.sampling.round_and_reject import NearestPlane, RoundAndReject
from tests.oracles.goodness_of_fit import FAILURE_PROBABILITY, p_value

ONE, FINE = Fraction(1), Fraction(1, 2**34)
WEIGHTS = (Fraction(1), Fraction(1, 2), Fraction(1))
CAPS = (Fraction(1), Fraction(3, 2), Fraction(5, 2), Fraction(7))  # the cross-polytope, two in between, the box
HALVES = np.array([30, 60, 30])  # beyond: less than 1e-9 of the mass


def shape(cap: Fraction, scale: Fraction) -> CappedGrid:
    return CappedGrid([weight * scale for weight in WEIGHTS], cap)


def norms(cap: Fraction, z: NDArray[np.int64]) -> NDArray[np.float64]:
    """The norm written out by hand."""
    x, y, w = np.abs(z.astype(np.float64)).T
    return np.maximum(np.maximum.reduce([x, y / 2, w]), (x + y / 2 + w) / float(cap))


@cache
def law(cap: Fraction) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """All grid points within reach and their exact probabilities."""
    points = np.array(list(itertools.product(*(range(-h, h + 1) for h in HALVES.tolist()))))
    weights = np.exp(-norms(cap, points))
    return points, weights / weights.sum()


def shells(cap: Fraction, draws: NDArray[np.int64]) -> float:
    """p-value over the values of the norm, in quarters: sees a wrong scale."""
    points, probabilities = law(cap)
    masses = np.bincount((4 * norms(cap, points)).astype(np.int64), probabilities, minlength=800)
    return p_value(np.bincount((4 * norms(cap, draws)).astype(np.int64), minlength=800), masses)


def single_points(cap: Fraction, draws: NDArray[np.int64]) -> float:
    """p-value over single grid points: sees a wrong shape, or signs that depend."""
    points, probabilities = law(cap)
    inside = (np.abs(draws) <= HALVES).all(axis=1)
    counts = np.bincount(np.ravel_multi_index((draws[inside] + HALVES).T, 2 * HALVES + 1), minlength=len(points))
    return p_value(np.append(counts, (~inside).sum()), np.append(probabilities, 1e-9))


@pytest.mark.parametrize("cap", CAPS)
def test_draws_follow_the_enumerated_law(cap: Fraction) -> None:
    draws = RoundAndReject(shape(cap, ONE)).draw(200_000, SeededEntropy(1))
    assert shells(cap, draws) > FAILURE_PROBABILITY
    assert single_points(cap, draws) > FAILURE_PROBABILITY


def test_draws_of_a_scale_or_a_cap_a_little_off_are_seen() -> None:
    cap = Fraction(3, 2)
    assert shells(cap, RoundAndReject(shape(cap, Fraction(101, 100))).draw(400_000, SeededEntropy(1))) < FAILURE_PROBABILITY
    off = RoundAndReject(shape(cap * Fraction(101, 100), ONE)).draw(400_000, SeededEntropy(2))
    assert shells(cap, off) < FAILURE_PROBABILITY


@pytest.mark.parametrize("cap", CAPS)
def test_fine_grids_have_the_continuous_radius_and_even_low_bits(cap: Fraction) -> None:
    sampler = RoundAndReject(shape(cap, FINE))
    draws = sampler.draw(50_000, SeededEntropy(3))
    assert stats.kstest(norms(cap, draws) * float(FINE), stats.gamma(3).cdf).pvalue > FAILURE_PROBABILITY
    bits = (draws & 7) @ np.array([1, 8, 64])
    assert p_value(np.bincount(bits, minlength=512), np.full(512, 1 / 512)) > FAILURE_PROBABILITY


@pytest.mark.parametrize(("dimension", "cap"), [(3, 1.5), (16, 5.0), (100, 37.0)])
def test_as_many_draws_are_accepted_as_the_volumes_say(dimension: int, cap: float) -> None:
    grid = CappedGrid([FINE] * dimension, Fraction(cap))
    kept = RoundAndReject(grid)._propose(4000, SeededEntropy(4))[1]
    assert grid.share > 0.15
    assert stats.binomtest(int(kept.sum()), 4000, grid.share * np.exp(-(2.0**-10))).pvalue > FAILURE_PROBABILITY


@pytest.mark.parametrize("cap", CAPS[:3])
def test_float_draws_stay_within_their_error(cap: Fraction) -> None:
    grid = shape(cap, FINE)
    words = SeededEntropy(8).random_words(100 * grid.word_count).reshape(100, -1)
    drawn, lengths, errors = grid.propose(words)
    assert np.isfinite(errors).sum() >= 99
    for row, y, length, error in zip(words, drawn, lengths, errors, strict=True):
        uniforms = [LazyUniform(int(word), 64, SeededEntropy(i)) for i, word in enumerate(row)]
        for uniform in uniforms:
            uniform.refine()
        with ctx.workprec(300):
            balls, ball = grid.propose_balls(uniforms)  # type: ignore[misc]
            assert abs(ball - arb(length)) < arb(error)
            assert all(abs(b - arb(x)) < arb(error * bound) for b, x, bound in zip(balls, y, grid.spread, strict=True))
    z = np.rint(drawn).astype(np.int64)
    assert [float(grid.norm_ball(row)) for row in z.tolist()] == pytest.approx(norms(cap, z) * float(FINE), rel=1e-12)
    assert (grid.norm(z)[0] >= lengths * (1 - 1e-6)).all()  # drawn from a norm that is nowhere larger


@pytest.mark.parametrize("scale", [ONE, FINE])
def test_ball_arithmetic_decides_as_the_filter_does(scale: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    sampler = RoundAndReject(shape(CAPS[1], scale))
    filtered, kept = sampler._propose(300, SeededEntropy(6))
    monkeypatch.setattr(integer_samplers, "LOG_ERROR", 1e9)  # nothing is beyond doubt now
    exact, exactly_kept = sampler._propose(300, SeededEntropy(6))
    assert kept.any() and np.array_equal(kept, exactly_kept)
    assert np.array_equal(filtered[kept], exact[kept])


def test_largest_bounds_the_norm_on_every_corner_of_the_box() -> None:
    widths = np.array([2.0, 0.5, 8.0])
    corners = np.array(list(itertools.product((-1, 1), repeat=3))) * widths
    shear = np.array([[1.0, 0.25, -0.5], [0.0, 1.0, 0.375], [0.0, 0.0, 1.0]])
    for cap in CAPS:
        assert shape(cap, ONE).largest(widths) == pytest.approx(norms(cap, corners).max(), rel=1e-8)
        plane = NearestPlane(shear)
        cells = corners @ np.linalg.inv(shear).T
        assert shape(cap, ONE).largest(widths, plane) >= norms(cap, cells).max()


@pytest.mark.parametrize(("weights", "cap"), [((), 1), ((1, 0), 1), ((1, 1), 0)])
def test_weights_and_caps_that_are_not_positive_are_refused(weights: tuple[int, ...], cap: int) -> None:
    with pytest.raises(InvalidProblem, match="weights, cap"):
        CappedGrid([Fraction(w) for w in weights], Fraction(cap))

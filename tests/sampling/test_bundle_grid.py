"""Sums and maxima of gauges against laws enumerated point by point, wrong scales, and their own ball arithmetic."""

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
from designer.sampling.body_grids import PolytopeGrid
from designer.sampling.box_grids import BundleGrid
from designer.sampling.entropy import SeededEntropy
from designer.sampling.integer_samplers import LazyUniform
from designer.sampling.round_and_reject import RoundAndReject
from tests.oracles.goodness_of_fit import FAILURE_PROBABILITY, p_value

ONE, FINE = Fraction(1), Fraction(1, 2**34)
HALVES = np.array([36, 36, 36])  # beyond: less than 1e-9 of the mass
WAYS = ("sum", "max")


def interval(scale: Fraction) -> PolytopeGrid:
    """Gauge |z| scale."""
    return PolytopeGrid([[1 / scale], [-1 / scale]], [[0], [1]], [[scale], [-scale]])


def hexagon(scale: Fraction) -> PolytopeGrid:
    """The hull of +-(1, 0), +-(1, 1), +-(0, 1) over the scale: gauge max(|x|, |y|, |x - y|) scale."""
    corners = [(1, 0), (1, 1), (0, 1), (-1, 0), (-1, -1), (0, -1)]
    facets = [[a * scale, b * scale] for a, b in ((1, 0), (0, 1), (-1, 1), (-1, 0), (0, -1), (1, -1))]
    return PolytopeGrid([[x / scale, y / scale] for x, y in corners], [[i, (i + 1) % 6] for i in range(6)], facets)


def pair(combine: str, scale: Fraction) -> BundleGrid:
    """An interval in the middle coordinate, a hexagon in the two others."""
    return BundleGrid((interval(scale), hexagon(scale)), ((1,), (0, 2)), combine)  # type: ignore[arg-type]


def norms(combine: str, z: NDArray[np.int64]) -> NDArray[np.float64]:
    """The norm written out by hand."""
    x, line, y = z.astype(np.float64).T
    six = np.maximum.reduce([np.abs(x), np.abs(y), np.abs(x - y)])
    return np.abs(line) + six if combine == "sum" else np.maximum(np.abs(line), six)


@cache
def law(combine: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """All grid points within reach and their exact probabilities."""
    points = np.array(list(itertools.product(*(range(-h, h + 1) for h in HALVES.tolist()))))
    weights = np.exp(-norms(combine, points))
    return points, weights / weights.sum()


def shells(combine: str, draws: NDArray[np.int64]) -> float:
    """p-value over the values of the norm: sees a wrong scale."""
    points, probabilities = law(combine)
    masses = np.bincount(norms(combine, points).astype(np.int64), probabilities, minlength=200)
    return p_value(np.bincount(norms(combine, draws).astype(np.int64), minlength=200), masses)


def single_points(combine: str, draws: NDArray[np.int64]) -> float:
    """p-value over single grid points: sees a wrong shape."""
    points, probabilities = law(combine)
    inside = (np.abs(draws) <= HALVES).all(axis=1)
    counts = np.bincount(np.ravel_multi_index((draws[inside] + HALVES).T, 2 * HALVES + 1), minlength=len(points))
    return p_value(np.append(counts, (~inside).sum()), np.append(probabilities, 1e-9))


def draw(combine: str, scale: Fraction, size: int) -> NDArray[np.int64]:
    return RoundAndReject(pair(combine, scale)).draw(size, SeededEntropy(1))


@pytest.mark.parametrize("percent", [2, pytest.param(1, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("combine", WAYS)
def test_draws_follow_the_enumerated_law_and_draws_of_a_scale_a_little_off_do_not(combine: str, percent: int) -> None:
    size = 400_000 // percent**2  # what tells a wrong scale is the number of draws times its square
    draws = draw(combine, ONE, size)
    assert shells(combine, draws) > FAILURE_PROBABILITY
    assert single_points(combine, draws) > FAILURE_PROBABILITY
    assert shells(combine, draw(combine, Fraction(100 + percent, 100), size)) < FAILURE_PROBABILITY
    assert single_points("max" if combine == "sum" else "sum", draws) < FAILURE_PROBABILITY


@pytest.mark.parametrize("combine", WAYS)
def test_fine_grids_have_the_continuous_radius_and_few_rejections(combine: str) -> None:
    sampler = RoundAndReject(pair(combine, FINE))
    assert sampler.expected_acceptance > 0.99
    draws = sampler.draw(100_000, SeededEntropy(3))
    assert stats.kstest(norms(combine, draws) * float(FINE), stats.gamma(3).cdf).pvalue > FAILURE_PROBABILITY
    bits = (draws & 7) @ np.array([1, 8, 64])
    assert p_value(np.bincount(bits, minlength=512), np.full(512, 1 / 512)) > FAILURE_PROBABILITY


@pytest.mark.parametrize("combine", WAYS)
def test_float_draws_stay_within_their_error(combine: str) -> None:
    shape = pair(combine, FINE)
    words = SeededEntropy(8).random_words(100 * shape.word_count).reshape(100, -1)
    drawn, lengths, errors = shape.propose(words)
    for row, y, length, error in zip(words, drawn, lengths, errors, strict=True):
        uniforms = [LazyUniform(int(word), 64, SeededEntropy(i)) for i, word in enumerate(row)]
        for uniform in uniforms:
            uniform.refine()
        with ctx.workprec(300):
            balls, ball = shape.propose_balls(uniforms)  # type: ignore[misc]
            assert abs(ball - arb(length)) < arb(error)
            assert all(abs(b - arb(x)) < arb(error * bound) for b, x, bound in zip(balls, y, shape.spread, strict=True))
    z = np.rint(drawn).astype(np.int64)
    assert [float(shape.norm_ball(row)) for row in z.tolist()] == pytest.approx(norms(combine, z) * float(FINE), rel=1e-12)


@pytest.mark.parametrize("scale", [ONE, FINE])
@pytest.mark.parametrize("combine", WAYS)
def test_ball_arithmetic_decides_as_the_filter_does(combine: str, scale: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    sampler = RoundAndReject(pair(combine, scale))
    filtered, kept = sampler._propose(300, SeededEntropy(6))
    monkeypatch.setattr(integer_samplers, "LOG_ERROR", 1e9)  # nothing is beyond doubt now
    exact, exactly_kept = sampler._propose(300, SeededEntropy(6))
    assert kept.any() and np.array_equal(kept, exactly_kept)
    assert np.array_equal(filtered[kept], exact[kept])


def test_the_volume_of_the_ball_is_that_of_its_parts() -> None:
    """Interval of length 2 and hexagon of area 3: a prism of volume 6, a double cone of volume 6 1! 2! / 3!."""
    assert np.exp([pair(way, ONE).log_volume for way in ("max", "sum")]) == pytest.approx([6.0, 2.0], rel=1e-12)


def test_largest_bounds_the_norm_on_every_corner_of_the_box() -> None:
    widths = np.array([2.0, 0.5, 8.0])
    corners = np.array(list(itertools.product((-1, 1), repeat=3))) * widths
    for combine in WAYS:
        assert pair(combine, ONE).largest(widths) == pytest.approx(norms(combine, corners).max(), rel=1e-8)  # type: ignore[arg-type]


@pytest.mark.parametrize("places", [((0,), (0, 1)), ((1,), (0, 3)), ((0, 1), (2,))])
def test_places_that_do_not_share_out_the_coordinates_are_refused(places: tuple[tuple[int, ...], ...]) -> None:
    with pytest.raises(InvalidProblem, match="places: "):
        BundleGrid((interval(ONE), hexagon(ONE)), places, "sum")

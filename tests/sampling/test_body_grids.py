"""Sums and maxima of gauges, and boxes with corners cut, against laws enumerated point by point, wrong scales, and their own
ball arithmetic.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import pytest
from flint import arb, ctx
from numpy.typing import NDArray
from scipy import stats

from designer import InvalidProblem
from designer.sampling import integer_samplers
from designer.sampling.body_grids import PolytopeGrid
from designer.sampling.box_grids import BundleGrid, CappedGrid
from designer.sampling.entropy import SeededEntropy
from designer.sampling.integer_samplers import LazyUniform
from designer.sampling.round_and_reject import NearestPlane, RoundAndReject
from tests.oracles.goodness_of_fit import FAILURE_PROBABILITY, p_value

ONE, FINE = Fraction(1), Fraction(1, 2**34)
WEIGHTS = (Fraction(1), Fraction(1, 2), Fraction(1))
CAPS = (Fraction(1), Fraction(3, 2), Fraction(5, 2), Fraction(7))  # the cross-polytope, two in between, the box


def interval(scale: Fraction) -> PolytopeGrid:
    """Gauge |z| scale."""
    return PolytopeGrid([[1 / scale], [-1 / scale]], [[0], [1]], [[scale], [-scale]])


def hexagon(scale: Fraction) -> PolytopeGrid:
    """The hull of +-(1, 0), +-(1, 1), +-(0, 1) over the scale: gauge max(|x|, |y|, |x - y|) scale."""
    corners = [(1, 0), (1, 1), (0, 1), (-1, 0), (-1, -1), (0, -1)]
    facets = [[a * scale, b * scale] for a, b in ((1, 0), (0, 1), (-1, 1), (-1, 0), (0, -1), (1, -1))]
    return PolytopeGrid([[x / scale, y / scale] for x, y in corners], [[i, (i + 1) % 6] for i in range(6)], facets)


@dataclass(frozen=True)
class Body:
    """A norm in three coordinates, written out by hand beside the grid that draws from it."""

    name: str
    reach: tuple[int, int, int]  # beyond: less than 1e-9 of the mass
    parts: int  # of a unit of the norm: shells as thin as that are counted

    def grid(self, scale: Fraction) -> BundleGrid | CappedGrid:
        raise NotImplementedError

    def norms(self, z: NDArray[np.int64]) -> NDArray[np.float64]:
        raise NotImplementedError

    @cached_property
    def law(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """All grid points within reach and their exact probabilities."""
        points = np.array(list(itertools.product(*(range(-h, h + 1) for h in self.reach))))
        weights = np.exp(-self.norms(points))
        return points, weights / weights.sum()

    def shells(self, draws: NDArray[np.int64]) -> float:
        """p-value over the values of the norm: sees a wrong scale."""
        points, probabilities = self.law
        inner, drawn = ((self.parts * self.norms(z)).astype(np.int64) for z in (points, draws))
        size = 200 * self.parts
        return p_value(np.bincount(drawn, minlength=size), np.bincount(inner, probabilities, minlength=size))

    def single_points(self, draws: NDArray[np.int64]) -> float:
        """p-value over single grid points: sees a wrong shape, or signs that depend."""
        (points, probabilities), reach = self.law, np.array(self.reach)
        inside = (np.abs(draws) <= reach).all(axis=1)
        counts = np.bincount(np.ravel_multi_index((draws[inside] + reach).T, 2 * reach + 1), minlength=len(points))
        return p_value(np.append(counts, (~inside).sum()), np.append(probabilities, 1e-9))


@dataclass(frozen=True)
class Bundles(Body):
    """An interval in the middle coordinate, a hexagon in the two others."""

    def grid(self, scale: Fraction) -> BundleGrid:
        return BundleGrid((interval(scale), hexagon(scale)), ((1,), (0, 2)), self.name)  # type: ignore[arg-type]

    def norms(self, z: NDArray[np.int64]) -> NDArray[np.float64]:
        x, line, y = z.astype(np.float64).T
        six = np.maximum.reduce([np.abs(x), np.abs(y), np.abs(x - y)])
        return np.asarray(np.abs(line) + six if self.name == "sum" else np.maximum(np.abs(line), six))


@dataclass(frozen=True)
class Capped(Body):
    """A box with its corners cut; the name is the cap."""

    def grid(self, scale: Fraction) -> CappedGrid:
        return CappedGrid([weight * scale for weight in WEIGHTS], Fraction(self.name))

    def norms(self, z: NDArray[np.int64]) -> NDArray[np.float64]:
        x, y, w = np.abs(z.astype(np.float64)).T
        return np.asarray(np.maximum(np.maximum.reduce([x, y / 2, w]), (x + y / 2 + w) / float(Fraction(self.name))))


BUNDLES = [Bundles(way, (36, 36, 36), 1) for way in ("sum", "max")]
CAPPED = [Capped(str(cap), (30, 60, 30), 4) for cap in CAPS]
BODIES = pytest.mark.parametrize("body", [*BUNDLES, *CAPPED], ids=lambda body: body.name)


def draw(body: Body, scale: Fraction, size: int, seed: int = 1) -> NDArray[np.int64]:
    return RoundAndReject(body.grid(scale)).draw(size, SeededEntropy(seed))


@pytest.mark.parametrize("percent", [2, pytest.param(1, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("body", BUNDLES, ids=lambda body: body.name)
def test_draws_follow_the_enumerated_law_and_draws_of_a_scale_a_little_off_do_not(body: Bundles, percent: int) -> None:
    size = 400_000 // percent**2  # what tells a wrong scale is the number of draws times its square
    draws = draw(body, ONE, size)
    assert body.shells(draws) > FAILURE_PROBABILITY
    assert body.single_points(draws) > FAILURE_PROBABILITY
    assert body.shells(draw(body, Fraction(100 + percent, 100), size)) < FAILURE_PROBABILITY
    other = next(one for one in BUNDLES if one is not body)
    assert other.single_points(draws) < FAILURE_PROBABILITY


@pytest.mark.parametrize("body", CAPPED, ids=lambda body: body.name)
def test_draws_of_a_box_with_corners_cut_follow_the_enumerated_law(body: Capped) -> None:
    draws = draw(body, ONE, 200_000)
    assert body.shells(draws) > FAILURE_PROBABILITY
    assert body.single_points(draws) > FAILURE_PROBABILITY


def test_draws_of_a_scale_or_a_cap_a_little_off_are_seen() -> None:
    body = CAPPED[1]
    assert body.shells(draw(body, Fraction(101, 100), 400_000)) < FAILURE_PROBABILITY
    off = CappedGrid(WEIGHTS, CAPS[1] * Fraction(101, 100))
    assert body.shells(RoundAndReject(off).draw(400_000, SeededEntropy(2))) < FAILURE_PROBABILITY


@BODIES
def test_fine_grids_have_the_continuous_radius_and_even_low_bits(body: Body) -> None:
    draws = draw(body, FINE, 100_000 if body in BUNDLES else 50_000, seed=3)
    assert stats.kstest(body.norms(draws) * float(FINE), stats.gamma(3).cdf).pvalue > FAILURE_PROBABILITY
    bits = (draws & 7) @ np.array([1, 8, 64])
    assert p_value(np.bincount(bits, minlength=512), np.full(512, 1 / 512)) > FAILURE_PROBABILITY


@pytest.mark.parametrize("body", BUNDLES, ids=lambda body: body.name)
def test_fine_grids_of_bundles_have_few_rejections(body: Bundles) -> None:
    assert RoundAndReject(body.grid(FINE)).expected_acceptance > 0.99


@pytest.mark.parametrize(("dimension", "cap"), [(3, 1.5), (16, 5.0), (100, 37.0)])
def test_as_many_draws_are_accepted_as_the_volumes_say(dimension: int, cap: float) -> None:
    grid = CappedGrid([FINE] * dimension, Fraction(cap))
    kept = RoundAndReject(grid)._propose(4000, SeededEntropy(4))[1]
    assert grid.share > 0.15
    assert stats.binomtest(int(kept.sum()), 4000, grid.share * np.exp(-(2.0**-10))).pvalue > FAILURE_PROBABILITY


@pytest.mark.parametrize("body", [*BUNDLES, *CAPPED[:3]], ids=lambda body: body.name)
def test_float_draws_stay_within_their_error(body: Body) -> None:
    grid = body.grid(FINE)
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
    assert [float(grid.norm_ball(row)) for row in z.tolist()] == pytest.approx(body.norms(z) * float(FINE), rel=1e-12)
    if isinstance(grid, CappedGrid):
        assert (grid.norm(z)[0] >= lengths * (1 - 1e-6)).all()  # drawn from a norm that is nowhere larger


@pytest.mark.parametrize("scale", [ONE, FINE])
@pytest.mark.parametrize("body", [*BUNDLES, CAPPED[1]], ids=lambda body: body.name)
def test_ball_arithmetic_decides_as_the_filter_does(body: Body, scale: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    sampler = RoundAndReject(body.grid(scale))
    filtered, kept = sampler._propose(300, SeededEntropy(6))
    monkeypatch.setattr(integer_samplers, "LOG_ERROR", 1e9)  # nothing is beyond doubt now
    exact, exactly_kept = sampler._propose(300, SeededEntropy(6))
    assert kept.any() and np.array_equal(kept, exactly_kept)
    assert np.array_equal(filtered[kept], exact[kept])


def test_the_volume_of_the_ball_is_that_of_its_parts() -> None:
    """Interval of length 2 and hexagon of area 3: a double cone of volume 6 1! 2! / 3!, a prism of volume 6."""
    assert np.exp([body.grid(ONE).log_volume for body in BUNDLES]) == pytest.approx([2.0, 6.0], rel=1e-12)


@BODIES
def test_largest_bounds_the_norm_on_every_corner_of_the_box(body: Body) -> None:
    widths = np.array([2.0, 0.5, 8.0])
    corners = np.array(list(itertools.product((-1, 1), repeat=3))) * widths
    grid = body.grid(ONE)
    assert grid.largest(widths) == pytest.approx(body.norms(corners).max(), rel=1e-8)
    if isinstance(grid, CappedGrid):
        shear = np.array([[1.0, 0.25, -0.5], [0.0, 1.0, 0.375], [0.0, 0.0, 1.0]])
        cells = corners @ np.linalg.inv(shear).T
        assert grid.largest(widths, NearestPlane(shear)) >= body.norms(cells).max()


@pytest.mark.parametrize("places", [((0,), (0, 1)), ((1,), (0, 3)), ((0, 1), (2,))])
def test_places_that_do_not_share_out_the_coordinates_are_refused(places: tuple[tuple[int, ...], ...]) -> None:
    with pytest.raises(InvalidProblem, match="places: "):
        BundleGrid((interval(ONE), hexagon(ONE)), places, "sum")


@pytest.mark.parametrize(("weights", "cap"), [((), 1), ((1, 0), 1), ((1, 1), 0)])
def test_weights_and_caps_that_are_not_positive_are_refused(weights: tuple[int, ...], cap: int) -> None:
    with pytest.raises(InvalidProblem, match="weights, cap"):
        CappedGrid([Fraction(w) for w in weights], Fraction(cap))

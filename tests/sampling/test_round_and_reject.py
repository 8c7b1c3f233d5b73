"""Round and reject against enumerated laws, closed forms and wrong scales, and its ball arithmetic against its float filter."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx
from numpy.typing import NDArray
from scipy import stats

from designer.sampling import integer_samplers
from designer.sampling.body_grids import EllipsoidGrid, PolytopeGrid
from designer.sampling.box_grids import BoxGrid
from designer.sampling.entropy import SeededEntropy
from designer.sampling.integer_samplers import LazyUniform
from designer.sampling.round_and_reject import NormLaw, RoundAndReject
from tests.oracles.goodness_of_fit import FAILURE_PROBABILITY, p_value
from tests.oracles.scripted import Replayed
from tests.oracles.small_laws import integers

Shape = Callable[[Fraction, NormLaw], EllipsoidGrid | PolytopeGrid]
ONE = Fraction(1)


def ellipsoid(*rows: tuple[int, ...], over: int) -> Shape:
    return lambda scale, falloff: EllipsoidGrid([[Fraction(x, over) * scale for x in row] for row in rows], falloff)


def interval(scale: Fraction, falloff: NormLaw) -> PolytopeGrid:
    """Gauge |z| scale / 2."""
    return PolytopeGrid([[2 / scale], [-2 / scale]], [[0], [1]], [[scale / 2], [-scale / 2]], falloff)


def hexagon(scale: Fraction, falloff: NormLaw) -> PolytopeGrid:
    """The hull of +-(3, 0), +-(2, 2), +-(-1, 4) over the scale: six triangles of three different areas."""
    corners = [(Fraction(x), Fraction(y)) for x, y in ((3, 0), (2, 2), (-1, 4), (-3, 0), (-2, -2), (1, -4))]
    facets = []
    for (a, b), (c, d) in itertools.pairwise([*corners, corners[0]]):
        facets.append([(d - b) / (a * d - b * c) * scale, (a - c) / (a * d - b * c) * scale])  # 1 at both ends of the edge
    return PolytopeGrid([[x / scale, y / scale] for x, y in corners], [[i, (i + 1) % 6] for i in range(6)], facets, falloff)


def cube(scale: Fraction, falloff: NormLaw) -> PolytopeGrid:
    """Gauge max |z_i| / (1, 2, 3) scale: each side of the box in two triangles that share their diagonal."""
    corners = list(itertools.product((-1, 1), repeat=3))
    simplices = []
    for axis, side in itertools.product(range(3), (-1, 1)):
        a, b, c, d = (i for i, corner in enumerate(corners) if corner[axis] == side)
        simplices += [[a, b, c], [b, c, d]]
    half = (1, 2, 3)
    vertices = [[Fraction(h * x) / scale for h, x in zip(half, corner, strict=True)] for corner in corners]
    facets = [[sign * scale / half[i] if i == j else Fraction(0) for j in range(3)] for i in range(3) for sign in (-1, 1)]
    return PolytopeGrid(vertices, simplices, facets, falloff)


SHAPES = {
    "interval": interval,
    "skew ellipse": ellipsoid((1, 1), (0, 2), over=3),
    "ellipsoid": ellipsoid((2, 1, 0), (-1, 2, 1), (0, 1, 2), over=3),
    "hexagon": hexagon,
    "box": cube,
}
# One reach for the enumeration, beyond which less than 1e-9 of the mass lies.
REACH = {"interval": 60, "skew ellipse": 70, "ellipsoid": 30, "hexagon": 100, "box": 0}


def oracle(name: str, z: NDArray[np.int64]) -> NDArray[np.float64]:
    """The norms written out by hand."""
    x = z.astype(np.float64).T
    if name == "interval":
        return np.abs(x[0]) / 2
    if name == "skew ellipse":
        return np.hypot(x[0] + x[1], 2 * x[1]) / 3
    if name == "ellipsoid":
        rows = (2 * x[0] + x[1], -x[0] + 2 * x[1] + x[2], x[1] + 2 * x[2])
        return np.sqrt(sum(row**2 for row in rows)) / 3
    if name == "hexagon":
        # Edges (3,0)-(2,2), (2,2)-(-1,4), (-1,4)-(-3,0) and their opposites.
        return np.maximum.reduce([np.abs(2 * x[0] + x[1]) / 6, np.abs(2 * x[0] + 3 * x[1]) / 10, np.abs(2 * x[0] - x[1]) / 6])
    return np.maximum.reduce([np.abs(x[0]), np.abs(x[1]) / 2, np.abs(x[2]) / 3])


@cache
def law(name: str, falloff: NormLaw) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """All grid points within reach, their norms and exact probabilities."""
    dimension = 1 if name == "interval" else 2 if name in ("skew ellipse", "hexagon") else 3
    half = [REACH[name]] * dimension if name != "box" else [25, 50, 75]
    if falloff is NormLaw.GAUSSIAN:
        half = [math.ceil(h / 3) for h in half]
    points = np.stack([axis.ravel() for axis in np.meshgrid(*(np.arange(-h, h + 1) for h in half), indexing="ij")], axis=1)
    norms = oracle(name, points)
    weights = np.exp(-norms if falloff is NormLaw.EXPONENTIAL else -(norms**2) / 2)
    return points, norms, weights / weights.sum()


def shells(name: str, falloff: NormLaw, draws: NDArray[np.int64]) -> float:
    """p-value in 24 shells of the norm: sees a wrong scale."""
    _, norms, probabilities = law(name, falloff)
    order = np.argsort(norms)
    cut = norms[order][np.searchsorted(np.cumsum(probabilities[order]), np.arange(1, 24) / 24)]
    edges = np.unique(cut) + 1e-9
    masses = np.bincount(np.searchsorted(edges, norms), probabilities, minlength=len(edges) + 1)
    counts = np.bincount(np.searchsorted(edges, oracle(name, draws)), minlength=len(edges) + 1)
    return p_value(counts, masses)


def single_points(name: str, falloff: NormLaw, draws: NDArray[np.int64]) -> float:
    """p-value over single grid points: sees a wrong shape."""
    grid, _, probabilities = law(name, falloff)
    half = grid[-1]
    inside = (np.abs(draws) <= half).all(axis=1)
    counts = np.bincount(np.ravel_multi_index((draws[inside] + half).T, 2 * half + 1), minlength=len(grid))
    return p_value(np.append(counts, (~inside).sum()), np.append(probabilities, 1e-9))


def draw(shape: EllipsoidGrid | PolytopeGrid, size: int, seed: int = 1) -> NDArray[np.int64]:
    return RoundAndReject(shape).draw(size, SeededEntropy(seed))


@pytest.mark.parametrize("percent", [2, pytest.param(1, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("falloff", NormLaw)
@pytest.mark.parametrize("name", SHAPES)
def test_coarse_grids_follow_the_enumerated_law_and_wrong_scales_do_not(name: str, falloff: NormLaw, percent: int) -> None:
    # A draw tells s (exponential) or 2 s (Gaussian) times the squared relative error of the scale: 120 in all, 23 degrees.
    size = 1_200_000 // percent**2 // len(law(name, falloff)[0][0]) // (1 if falloff is NormLaw.EXPONENTIAL else 2)
    draws = draw(SHAPES[name](ONE, falloff), size)
    assert shells(name, falloff, draws) > FAILURE_PROBABILITY
    assert single_points(name, falloff, draws) > FAILURE_PROBABILITY
    assert shells(name, falloff, draw(SHAPES[name](Fraction(100 + percent, 100), falloff), size)) < FAILURE_PROBABILITY
    assert single_points(name, falloff, draws + np.eye(draws.shape[1], dtype=np.int64)[0]) < FAILURE_PROBABILITY


def test_one_dimension_is_the_discrete_laplace_and_the_discrete_gaussian() -> None:
    laplace, gaussian = integers(lambda z: abs(z) / 2), integers(lambda z: z * z / 8)
    for falloff, law in ((NormLaw.EXPONENTIAL, laplace), (NormLaw.GAUSSIAN, gaussian)):
        for shape in (interval(ONE, falloff), EllipsoidGrid([[0.5]], falloff)):
            counts = np.bincount(np.clip(draw(shape, 300_000, seed=2)[:, 0], -20, 20) + 20, minlength=41)
            inner = [law.get(z, 0.0) for z in range(-19, 20)]
            end = (1 - math.fsum(inner)) / 2
            assert p_value(counts, np.array([end, *inner, end])) > FAILURE_PROBABILITY


FINE = Fraction(1, 2**34)


@pytest.mark.parametrize("falloff", NormLaw)
@pytest.mark.parametrize("name", SHAPES)
def test_fine_grids_have_the_continuous_radius_and_uniform_low_bits(name: str, falloff: NormLaw) -> None:
    sampler = RoundAndReject(SHAPES[name](FINE, falloff))
    assert sampler.shifts.min() > 10
    assert sampler.expected_acceptance > 0.99
    draws = sampler.draw(100_000, SeededEntropy(3))
    s, norms = draws.shape[1], oracle(name, draws) * float(FINE)
    radius = stats.gamma(s) if falloff is NormLaw.EXPONENTIAL else stats.chi(s)
    assert stats.kstest(norms, radius.cdf).pvalue > FAILURE_PROBABILITY
    low = (draws & 7) @ (8 ** np.arange(s))
    assert p_value(np.bincount(low, minlength=8**s), np.full(8**s, 8.0**-s)) > FAILURE_PROBABILITY
    # Around the middle of a block, where the places below and above it meet.
    block = np.int64(1) << sampler.shifts[0]
    place = ((draws[:, 0] + block // 2) % block) * 16 // block
    assert p_value(np.bincount(place, minlength=16), np.full(16, 1 / 16)) > FAILURE_PROBABILITY


def test_fine_ellipsoid_has_its_covariance() -> None:
    factor = np.array([[2, 1, 0], [-1, 2, 1], [0, 1, 2]]) / 3 * float(FINE)
    for falloff, variance in ((NormLaw.EXPONENTIAL, 4.0), (NormLaw.GAUSSIAN, 1.0)):  # s + 1, 1
        white = draw(SHAPES["ellipsoid"](FINE, falloff), 200_000, seed=4) @ factor.T
        spread = np.array([[(white[:, i] * white[:, j]).std() for i in range(3)] for j in range(3)])
        deviation = np.abs(white.T @ white / len(white) - variance * np.eye(3)) / spread * math.sqrt(len(white))
        assert deviation.max() < stats.norm.isf(FAILURE_PROBABILITY / 18)


@pytest.mark.parametrize("scale", [ONE, FINE])
@pytest.mark.parametrize("falloff", NormLaw)
@pytest.mark.parametrize("name", SHAPES)
def test_ball_arithmetic_decides_as_the_filter_does(
    name: str, falloff: NormLaw, scale: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampler, rows = RoundAndReject(SHAPES[name](scale, falloff)), 300
    s = sampler.shape.dimension
    words = SeededEntropy(6).random_words(rows * (sampler.shape.word_count + 1 + (s if scale < 1 else 0)))
    filtered, kept = sampler._propose(rows, Replayed(words))
    monkeypatch.setattr(integer_samplers, "LOG_ERROR", 1e9)  # nothing is beyond doubt now
    exact, exactly_kept = sampler._propose(rows, Replayed(words))
    assert np.array_equal(kept, exactly_kept)
    assert np.array_equal(filtered[kept], exact[kept])


def slanted(scale: Fraction, falloff: NormLaw) -> EllipsoidGrid:
    """Twelve dimensions, condition number about 50."""
    return EllipsoidGrid([[Fraction(1 + 7 * (i == j) + (i * j) % 5, 8) * scale for j in range(12)] for i in range(12)], falloff)


@pytest.mark.parametrize("falloff", NormLaw)
@pytest.mark.parametrize("build", [*SHAPES.values(), slanted])
def test_float_draws_stay_within_their_error(build: Shape, falloff: NormLaw) -> None:
    shape = build(FINE, falloff)
    words = SeededEntropy(8).random_words(200 * shape.word_count).reshape(200, -1)
    words[:50, -1] >>= np.uint64(30)  # long radii and exponentials, where the bits known are few
    drawn, norms, errors = shape.propose(words)
    assert np.isfinite(errors).all()
    for row, y, norm, error in zip(words, drawn, norms, errors, strict=True):
        uniforms = [LazyUniform(int(word), 64, SeededEntropy(i)) for i, word in enumerate(row)]
        for uniform in uniforms:
            uniform.refine()
        with ctx.workprec(300):
            balls, ball = shape.propose_balls(uniforms)  # type: ignore[misc]
            assert abs(ball - arb(norm)) < arb(error)
            assert all(abs(b - arb(x)) < arb(error * bound) for b, x, bound in zip(balls, y, shape.spread, strict=True))
            assert all(abs(b) < ball * bound for b, bound in zip(balls, shape.spread, strict=True))
    z = np.rint(drawn).astype(np.int64)
    lengths, errors = shape.norm(z)
    with ctx.workprec(300):
        exact = [shape.norm_ball(row) for row in z.tolist()]
        assert all(abs(ball - arb(x)) < arb(error) for ball, x, error in zip(exact, lengths, errors, strict=True))


@pytest.mark.parametrize(
    ("name", "falloff", "size"),
    [
        ("skew ellipse", NormLaw.EXPONENTIAL, 300_000),
        ("skew ellipse", NormLaw.GAUSSIAN, 200_000),
        ("hexagon", NormLaw.EXPONENTIAL, 900_000),
    ],
)
def test_rounding_without_rejection_is_rejected(name: str, falloff: NormLaw, size: int) -> None:
    everything = RoundAndReject(SHAPES[name](ONE, falloff))._propose(size, SeededEntropy(1))[0]
    assert single_points(name, falloff, everything) < FAILURE_PROBABILITY


@pytest.mark.parametrize("name", ["skew ellipse", "hexagon"])
def test_the_law_survives_when_all_is_decided_in_ball_arithmetic(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integer_samplers, "LOG_ERROR", 1e9)
    draws = draw(SHAPES[name](ONE, NormLaw.EXPONENTIAL), 4000)
    assert shells(name, NormLaw.EXPONENTIAL, draws) > FAILURE_PROBABILITY
    assert single_points(name, NormLaw.EXPONENTIAL, draws) > FAILURE_PROBABILITY


def test_a_word_between_two_simplices_is_refined() -> None:
    """Two halves of an interval: the word 2^63 is the threshold, further bits of 0 or not 0 tell the sides apart."""
    sampler = RoundAndReject(PolytopeGrid([[ONE * 3], [ONE * -6]], [[0], [1]], [[ONE / 3], [ONE / -6]]))  # shares 1/3 and 2/3
    threshold, e = (1 << 64) // 3, int(math.exp(-1.1) * 2**64)
    for word, further, expected in (
        (threshold, 0, 3),
        (threshold, 2**64 - 1, -7),
        (threshold - 1, 0, 3),
        (threshold + 1, 0, -7),
    ):
        words = np.array([word, e, 0], dtype=np.uint64)  # uniform for the acceptance: 0
        stream = Replayed(words)
        stream.later = _Constant(further)  # type: ignore[assignment]
        assert sampler._propose(1, stream)[0].tolist() == [[expected]]


class _Constant:
    private = False

    def __init__(self, word: int) -> None:
        self.word = word

    def random_words(self, count: int) -> NDArray[np.uint64]:
        return np.full(count, self.word, dtype=np.uint64)


def test_floats_in_a_factor_are_the_dyadic_numbers_that_they_are() -> None:
    assert EllipsoidGrid([[0.1]]).factor == ((Fraction(0.1),),)


def test_ill_conditioned_factors_are_inverted_to_the_last_bit() -> None:
    n = 9
    hilbert = [[Fraction(1, i + j + 1) for j in range(n)] for i in range(n)]
    assert np.linalg.cond(np.array(hilbert, dtype=float)) > 1e11
    inverse = EllipsoidGrid(hilbert)._inverse
    known = np.array([[_hilbert_inverse(n, i, j) for j in range(n)] for i in range(n)], dtype=float)
    assert np.allclose(inverse, known, rtol=2.0**-50, atol=0)


def _hilbert_inverse(n: int, i: int, j: int) -> int:
    sign = (-1) ** (i + j) * (i + j + 1)
    return sign * math.comb(n + i, n - j - 1) * math.comb(n + j, n - i - 1) * math.comb(i + j, i) ** 2


def test_largest_bounds_the_norm_on_every_corner_of_the_box() -> None:
    widths = np.array([0.5, 2.0, 8.0])
    corners = np.array(list(itertools.product((-1, 1), repeat=3))) * widths
    for name in ("ellipsoid", "box"):
        attained = oracle(name, corners).max()  # type: ignore[arg-type]
        bound = SHAPES[name](ONE, NormLaw.EXPONENTIAL).largest(widths)
        assert attained <= bound < 2.1 * attained
        assert name == "ellipsoid" or bound == pytest.approx(attained, rel=1e-8)


def disc(scale: Fraction, falloff: NormLaw) -> EllipsoidGrid:
    """Equal weights: the corners of a cell are exactly as far as `largest` says."""
    return EllipsoidGrid([[scale / 3, 0], [0, scale / 3]], falloff)


def square_box(scale: Fraction, falloff: NormLaw) -> BoxGrid:
    return BoxGrid([scale / 2, scale / 2])


@pytest.mark.parametrize("scale", [ONE, ONE / 2**20], ids=["cells", "blocks"])
@pytest.mark.parametrize(
    ("build", "falloff"),
    [
        (interval, NormLaw.EXPONENTIAL),
        (cube, NormLaw.EXPONENTIAL),
        (square_box, NormLaw.EXPONENTIAL),
        (disc, NormLaw.EXPONENTIAL),
        (interval, NormLaw.GAUSSIAN),
        (disc, NormLaw.GAUSSIAN),
    ],
)
def test_acceptance_is_at_most_1_and_reaches_it_at_the_worst_corner(build: Any, falloff: NormLaw, scale: Fraction) -> None:
    """A draw y is rounded to z from as far outside as a block reaches, `||y|| = ||z|| + reach`: no y has a smaller exponent,
    and below 0 it would stand for a chance above 1, which no draw can have.
    Lowering the bound by any part of itself does that."""
    sampler = RoundAndReject(build(scale, falloff))
    half = np.where(sampler.shifts > 0, 2.0**sampler.shifts, 0.5)
    corners = np.array(list(itertools.product((-1, 1), repeat=len(half)))) * half
    doubled = sampler.shape.norm((2 * corners).astype(np.int64))[0]
    corner, reach, stretch = corners[doubled.argmax()], float(doubled.max()) / 2, float(sampler.stretch)
    # The points that a block reaches from there: even multiples of the corner of a cell, odd multiples of half that of a block.
    worst = reach / (stretch**2 - 1) if falloff is NormLaw.GAUSSIAN else 0.0
    times = 2 * round(worst / reach / 2) if half[0] < 1 else round(worst / reach - 0.5) + 0.5
    z = np.rint(times * corner).astype(np.int64)[None]
    outside, inside = np.array([(times * reach + reach) / stretch]), np.array([(times * reach - reach) / stretch])
    exponent, bound = float(sampler._exponent(z, outside, np.zeros(1))[0][0]), float(sampler.bound)
    assert -1e-8 * bound <= exponent <= 5e-3 * bound
    if times > 1:
        largest = sampler._largest_exponent(inside, np.zeros(1))[0]
        assert sampler._exponent(z, inside, np.zeros(1))[0] <= largest * (1 + 1e-8)
        assert sampler._exponent(z, inside, np.zeros(1))[0] >= largest * (1 - 1e-6)


def test_volumes_are_those_of_the_bodies() -> None:
    for name, volume in (("hexagon", 2 * (3 + 5 + 6)), ("box", 8 * 6), ("ellipsoid", 4 / 3 * math.pi * 27 / 8)):
        assert math.exp(SHAPES[name](ONE, NormLaw.EXPONENTIAL).log_volume) == pytest.approx(volume, rel=1e-12)


@pytest.mark.parametrize("falloff", NormLaw)
@pytest.mark.parametrize("name", SHAPES)
def test_expected_acceptance_is_the_observed_one(name: str, falloff: NormLaw) -> None:
    sampler = RoundAndReject(SHAPES[name](ONE, falloff))
    kept = sampler._propose(20_000, SeededEntropy(7))[1].mean()
    assert kept == pytest.approx(sampler.expected_acceptance, rel=0.1)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: EllipsoidGrid([[ONE, ONE]]), "factor: 1 rows of lengths"),
        (lambda: EllipsoidGrid([]), "factor: 0 rows"),
        (lambda: EllipsoidGrid([[1.0, 2.0], [2.0, 4.0]]), "factor: singular"),
        (lambda: EllipsoidGrid([[Fraction(1, 2**600)]]), "rescale"),
        (lambda: RoundAndReject(EllipsoidGrid((np.eye(60) / 2).tolist(), NormLaw.GAUSSIAN)), "finer grid"),
        (lambda: RoundAndReject(EllipsoidGrid([[Fraction(1, 2**60)]])), "coarser grid"),
        (lambda: PolytopeGrid([], [], []), "vertices: empty"),
        (lambda: PolytopeGrid([[ONE], [-ONE]], [[0], [1]], [[ONE, ONE]]), "length 1"),
        (lambda: PolytopeGrid([[ONE], [-ONE]], [], [[ONE], [-ONE]]), "length 1"),
        (lambda: PolytopeGrid([[ONE], [-2 * ONE]], [[0], [1]], [[ONE], [-ONE]]), r"vertices\[1\]: its gauge is 2.0"),
        (lambda: PolytopeGrid([[ONE], [-ONE / 2]], [[0], [1]], [[ONE], [-ONE]]), r"vertices\[1\]: its gauge is 0.5"),
        (lambda: _square([[0, 2]]), r"simplices\[0\]: .* flat"),
        (lambda: _square([[0, 1], [1, 4]]), r"simplices\[1\]: .* no common facet"),
        (lambda: _square([[0, 1], [1, 2], [2, 3]]), "1 share the vertices .* close"),  # a side is missing
        (lambda: _square([[0, 1], [1, 2], [2, 3], [3, 0], [2, 4], [4, 3]]), "3 share the vertices"),  # a side is there twice
        (lambda: _square([[0, 1], [1, 2], [2, 3], [3, 4], [2, 4], [0, 3]]), "not two on opposite sides"),  # there, back, there
        (lambda: _square([[0, 1], [1, 2], [2, 3], [3, 5], [5, 6], [6, 7], [7, 8], [8, 0]]), "covered more than once"),
    ],
)
def test_bad_shapes_are_refused(build: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()


def _square(simplices: list[list[int]]) -> PolytopeGrid:
    """Corners of the square, the middle of its left side, and the corners again, so that one can go round twice."""
    corners = [[ONE, ONE], [ONE, -ONE], [-ONE, -ONE], [-ONE, ONE]]
    corners = [*corners, [-ONE, Fraction(0)], *corners]
    facets = [[ONE, 0 * ONE], [-ONE, 0 * ONE], [0 * ONE, ONE], [0 * ONE, -ONE]]
    return PolytopeGrid(corners, simplices, facets)

"""Canonical noise: the defining properties, the closed laws, and samplers against exact cell probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from numpy.typing import NDArray
from scipy import stats

from designer.base.errors import InvalidProblem
from designer.odds_ratio.noise import (
    CanonicalNoise,
    GaussianNoise,
    PiecewiseNoise,
    Tulap,
    canonical_noise,
    enclosing_cell,
    is_canonical,
)
from designer.sampling.entropy import SeededEntropy
from designer.tradeoff.functions import EpsilonDelta, Gaussian
from designer.tradeoff.piecewise import from_distributions
from solvers.exact.balls import rational_ball
from tests.oracles.goodness_of_fit import FAILURE_PROBABILITY, p_value

LAWS: list[CanonicalNoise] = [
    Tulap(EpsilonDelta(1)), Tulap(EpsilonDelta("1/10")), Tulap(EpsilonDelta(1, "1/20")), GaussianNoise(Gaussian.of(1)),
    PiecewiseNoise(Gaussian.of(1)), PiecewiseNoise(EpsilonDelta(0, "1/10")), PiecewiseNoise(EpsilonDelta("1/2").group(3)),
    PiecewiseNoise(from_distributions([4, 2, 1], [1, 2, 4])),
]  # fmt: skip
NAMES = [f"{type(law).__name__}, {law.tradeoff.sentence()}" for law in LAWS]
X = np.linspace(-6.3, 6.3, 253)


@dataclass(frozen=True)
class Narrowed(GaussianNoise):
    """Normal noise of half the deviation that its tradeoff function asks for: symmetric, and not canonical."""

    def _left_ball(self, x: Fraction) -> arb:
        return super()._left_ball(2 * x)


def test_symmetric_noise_that_is_too_narrow_is_not_canonical() -> None:
    points = [Fraction(-k, 5) for k in range(3, 20)]
    assert is_canonical(GaussianNoise(Gaussian.of(1)), points)
    assert not is_canonical(Narrowed(Gaussian.of(1)), points)


def tradeoff_of_shift(law: CanonicalNoise, shift: float, alphas: NDArray[np.float64]) -> NDArray[np.float64]:
    """T(N, N + shift) by Neyman and Pearson on cells of width 1/200,
    without any use of the tradeoff function: at least the true one."""
    edges = np.arange(-60, 60, 1 / 200)
    p, q = np.diff(law.cdf(edges)), np.diff(law.cdf(edges - shift))
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(-np.where(p > 0, q / p, np.inf), kind="stable")
    order = order[(p + q)[order] > 0]
    return np.interp(alphas, np.append(0, np.cumsum(p[order])), np.append(1, 1 - np.cumsum(q[order])))


@pytest.mark.parametrize("law", LAWS, ids=NAMES)
def test_definition(law: CanonicalNoise) -> None:
    """SEMI Definition 35: a shift by 1 costs exactly f, thresholds are best, smaller shifts cost no more, F is symmetric."""
    alphas = np.linspace(0.0, 1.0, 101)
    f = law.tradeoff.type_two(alphas)
    # Cells lose at most the mass of one cell, and interpolation its curvature: 1/200 of the density.
    whole = tradeoff_of_shift(law, 1.0, alphas)
    assert (whole >= f - 1e-9).all() and (whole <= f + 5e-3).all()
    for shift in (0.15, 0.5, 0.835):
        assert (tradeoff_of_shift(law, shift, alphas) >= f - 1e-9).all()
    threshold = law.cdf(law.quantile(alphas[1:-1]) - 1)
    assert threshold == pytest.approx(law.tradeoff.paper_convention(alphas[1:-1]), abs=2e-13)
    assert law.cdf(X) + law.cdf(-X) == pytest.approx(np.ones(len(X)), abs=1e-15)
    assert (np.diff(law.cdf(X)) >= -1e-15).all()


@pytest.mark.parametrize("law", LAWS, ids=NAMES)
def test_floats_balls_and_quantiles_agree(law: CanonicalNoise) -> None:
    cdf = law.cdf(X)
    assert [float(law.ball(Fraction(x))) for x in X] == pytest.approx(cdf, abs=1e-14)
    inside = (cdf > 1e-9) & (cdf < 1 - 1e-9)
    assert law.quantile(cdf[inside]) == pytest.approx(X[inside], abs=1e-6)
    assert is_canonical(law, [Fraction(-k, 5) for k in range(3, 20)])
    row = law.row(Fraction(-13, 4), 8)
    assert all(ball.overlaps(law.ball(Fraction(-13, 4) + i)) for i, ball in enumerate(row))


def test_tulap_is_lemma_36() -> None:
    for tradeoff in (EpsilonDelta(1), EpsilonDelta("1/3"), EpsilonDelta(1, "1/20"), EpsilonDelta("1/3", "1/5")):
        assert Tulap(tradeoff).cdf(X) == pytest.approx(PiecewiseNoise(tradeoff).cdf(X), abs=3e-15)


def test_tulap_is_discrete_laplace_plus_uniform() -> None:
    k = np.arange(-200, 201)
    mass = np.tanh(0.25) * np.exp(-0.5 * np.abs(k))
    mixture = [float(mass @ np.clip(x - k + 0.5, 0, 1)) for x in X]
    assert Tulap(EpsilonDelta("1/2")).cdf(X) == pytest.approx(mixture, abs=1e-14)


def test_normal_law_and_the_other_one_for_the_same_promise() -> None:
    normal, piecewise = GaussianNoise(Gaussian.of(2)), PiecewiseNoise(Gaussian.of(2))
    assert normal.cdf(X) == pytest.approx(stats.norm.cdf(2 * X), abs=1e-15)
    # They agree where both must: F(-1/2) = c, and from there by whole steps.
    halves = np.arange(-4.5, 5, 1)
    assert normal.cdf(halves) == pytest.approx(piecewise.cdf(halves), abs=1e-14)
    assert np.abs(normal.cdf(X) - piecewise.cdf(X)).max() > 1e-3


def test_scaled_noise_serves_groups() -> None:
    """F(k x) is canonical for groups of k, and their fixed point is F(-k / 2)."""
    for k in (2, 3, 6):
        group = EpsilonDelta(1).group(k)
        assert float(group.fixed_point()) == pytest.approx(float(Tulap(EpsilonDelta(1)).cdf(-k / 2)), rel=1e-13)


def test_tails_keep_their_digits() -> None:
    assert float(Tulap(EpsilonDelta(1)).cdf(-600)) == pytest.approx(np.exp(-600) * 0.5, rel=1e-12)
    assert float(PiecewiseNoise(EpsilonDelta(1)).cdf(-600)) == pytest.approx(np.exp(-600) * 0.5, rel=1e-11)


@pytest.mark.parametrize("law", LAWS, ids=NAMES)
def test_draws_follow_the_law(law: CanonicalNoise) -> None:
    size = 20_000 if law is LAWS[0] else 1500
    draws = law.draw(size, 30, SeededEntropy(5)).astype(np.float64) / 2**30
    edges = law.quantile(np.linspace(0, 1, 41)[1:-1])
    counts = np.bincount(np.searchsorted(edges, draws, side="right"), minlength=40)
    assert p_value(counts, np.full(40, 1 / 40)) > FAILURE_PROBABILITY


def test_a_wrong_scale_is_seen() -> None:
    """The sampler test has the power to see noise that is 5 % too narrow."""
    law = LAWS[0]
    draws = 0.95 * law.draw(20_000, 30, SeededEntropy(5)).astype(np.float64) / 2**30
    edges = law.quantile(np.linspace(0, 1, 41)[1:-1])
    counts = np.bincount(np.searchsorted(edges, draws, side="right"), minlength=40)
    assert p_value(counts, np.full(40, 1 / 40)) < FAILURE_PROBABILITY


@pytest.mark.parametrize("law", LAWS[2:], ids=NAMES[2:])
def test_a_draw_is_its_quantile_rounded_down(law: CanonicalNoise) -> None:
    """Every draw's cell holds the quantile of the uniform number it was made of, in balls."""
    words = SeededEntropy(8).random_words(30)
    for word, cell in zip(words, law.draw(30, 20, SeededEntropy(8)), strict=True):
        left, right = law.ball(Fraction(int(cell), 2**20)), law.ball(Fraction(int(cell) + 1, 2**20))
        first, last = (rational_ball(Fraction(int(word) + i, 2**64)) for i in (0, 1))
        assert not left > last and not right < first


def test_extreme_words_end() -> None:
    class Extreme:
        private = False

        def __init__(self, word: int) -> None:
            self.word = word

        def random_words(self, count: int) -> NDArray[np.uint64]:
            given, self.word = self.word, 1234567  # a run of zeros or ones ends somewhere
            return np.full(count, given, dtype=np.uint64)

    for law in LAWS[2:]:
        low, high = (Fraction(int(law.draw(1, 8, Extreme(word))[0]), 2**8) for word in (0, 2**64 - 1))
        assert low < -1 and high > 1
        with ctx.workprec(256):
            assert law.ball(low) < 1e-18 and law.ball(-high - Fraction(1, 2**8)) < 1e-18


def test_enclosing_cell_is_found_from_anywhere() -> None:
    for truth in (-1000, -1, 0, 7):
        for guess in (-5000, 0, 3, 10**9):
            assert enclosing_cell(lambda cell, truth=truth: cell > truth, guess) == truth  # type: ignore[misc]
    assert enclosing_cell(lambda cell: None if cell == 0 else cell > 0, 5) is None


def test_choice_of_the_law() -> None:
    assert isinstance(canonical_noise(EpsilonDelta(1, "1/10")), Tulap)
    assert isinstance(canonical_noise(EpsilonDelta(0, "1/10")), PiecewiseNoise)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: canonical_noise(EpsilonDelta(0)), "no loss at all"),
        (lambda: PiecewiseNoise(from_distributions([0, 1, 1], [1, 1, 1])), "not symmetric"),
        (lambda: GaussianNoise(EpsilonDelta(1)), "normal noise is canonical for Gaussian"),
        (lambda: GaussianNoise(Gaussian.of(0)), "no loss at all"),
        (lambda: Tulap(Gaussian.of(1)), "Tulap noise is canonical for EpsilonDelta only"),
        (lambda: Tulap(EpsilonDelta(0, "1/2")), "epsilon: is 0"),
        (lambda: Tulap(EpsilonDelta(1)).quantile(1.0), "strictly between 0 and 1"),
        (lambda: Tulap(EpsilonDelta(1)).draw(0, 1, SeededEntropy(1)), "size: 0"),
        (lambda: is_canonical(Tulap(EpsilonDelta(1)), [Fraction(0)]), "lies right of -1/2"),
    ],
)  # fmt: skip
def test_refusals(build: object, message: str) -> None:
    with pytest.raises(InvalidProblem, match=message):
        build()  # type: ignore[operator]

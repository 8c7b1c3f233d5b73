"""Tradeoff functions against rejection sets written out, the papers' formulas, and the axioms of an order."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from designer.base.errors import InvalidProblem
from designer.tradeoff.comparison import (
    Strength,
    compare_tradeoffs,
    compose,
    shortfall,
    tradeoff_from_spec,
)
from designer.tradeoff.functions import EpsilonDelta, Gaussian, Group, Tradeoff
from designer.tradeoff.piecewise import (
    PiecewiseLinear,
    from_distributions,
)

ALPHAS = np.linspace(0.0, 1.0, 401)
HALF = Fraction(1, 2)
# Rounding: an ulp of alpha times the steepest slope among the functions below, e^3 (Gaussians: 10 at the grid's first step).
ULPS = 20 * 2.2e-16
weights = st.lists(st.integers(0, 6), min_size=2, max_size=5).filter(any)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    p = draw(weights)
    q = draw(st.lists(st.integers(0, 6), min_size=len(p), max_size=len(p)).filter(any))
    return p, q


def by_rejection_sets(p: list[int], q: list[int], alpha: Fraction) -> Fraction:
    """Least type II error at alpha: every rejection set, and mixtures of two of them (which reach the lower hull)."""
    whole_p, whole_q = sum(p), sum(q)
    tests = [
        (
            Fraction(sum(a for a, r in zip(p, reject, strict=True) if r), whole_p),
            1 - Fraction(sum(b for b, r in zip(q, reject, strict=True) if r), whole_q),
        )
        for reject in product((False, True), repeat=len(p))
    ]
    least = min(beta for size, beta in tests if size <= alpha)
    for (a, x), (b, y) in product(tests, repeat=2):
        if a <= alpha < b:
            least = min(least, x + (y - x) * (alpha - a) / (b - a))
    return least


@given(pairs(), st.fractions(0, 1, max_denominator=40))
@settings(max_examples=60, deadline=None)
def test_discrete_tradeoff_is_the_best_test(pair: tuple[list[int], list[int]], alpha: Fraction) -> None:
    assert from_distributions(*pair).exact(alpha) == by_rejection_sets(*pair, alpha)


@given(pairs())
@settings(max_examples=60, deadline=None)
def test_inverse_exchanges_the_distributions(pair: tuple[list[int], list[int]]) -> None:
    p, q = pair
    f = from_distributions(p, q)
    assert f.inverse() == from_distributions(q, p)
    both = f.symmetrised()
    assert both.symmetric and shortfall(f, both) is None and shortfall(f.inverse(), both) is None
    # Largest: a randomly chosen known order of the two distributions is no harder to tell
    # apart than the hull says at its corners.
    corners = {*f.points, *f.inverse().points}
    assert all(point in corners for point in both.points)


@given(pairs(), pairs())
@settings(max_examples=40, deadline=None)
def test_tensor_product_is_that_of_product_distributions(
    one: tuple[list[int], list[int]], two: tuple[list[int], list[int]]
) -> None:
    nulls, alternatives = ([a * b for a, b in product(x, y)] for x, y in zip(one, two, strict=True))
    assert from_distributions(*one) @ from_distributions(*two) == from_distributions(nulls, alternatives)


def test_papers_formulas() -> None:
    epsilon, delta, x = 0.7, 0.05, ALPHAS
    papers = np.maximum(0, np.maximum(1 - delta - np.exp(epsilon) + np.exp(epsilon) * x, np.exp(-epsilon) * (x - delta)))
    assert EpsilonDelta(epsilon, delta).paper_convention(x) == pytest.approx(papers, abs=1e-15)
    g = stats.norm.cdf(stats.norm.ppf(1 - x) - 1.3)
    assert Gaussian.of(1.3).type_two(x) == pytest.approx(g, abs=1e-14)


FUNCTIONS: list[Tradeoff] = [
    EpsilonDelta(1),
    EpsilonDelta("1/2", "1/100"),
    EpsilonDelta(0, "1/10"),
    Gaussian.of(1),
    Gaussian.of("1/10"),
    EpsilonDelta(1).group(2),
    EpsilonDelta(1, "1/100").group(3),
    from_distributions([3, 2, 1], [1, 2, 3]),
    from_distributions([0, 2, 1], [1, 2, 0]),
]
SMOOTH = [f for f in FUNCTIONS if not isinstance(f, Gaussian)]


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.sentence())
def test_conventions_balls_and_axioms(f: Tradeoff) -> None:
    from solvers.exact.balls import rational_ball, sharp

    beta = f.type_two(ALPHAS)
    # 1 - x has digits of its own where x is near 0, so the two agree up to rounding, not to the bit.
    assert f.paper_convention(1 - ALPHAS) == pytest.approx(beta, abs=ULPS)
    assert (np.diff(beta) <= 1e-16).all() and (beta <= 1 - ALPHAS + 1e-15).all() and (np.diff(beta, 2) >= -ULPS).all()
    for alpha in map(Fraction, (0, 0.125, 0.3, 0.5, 0.99, 1)):
        exact = sharp(lambda a=alpha: f.ball(rational_ball(a), rational_ball(1 - a)))  # type: ignore[misc]
        assert float(exact) == pytest.approx(float(f.type_two(float(alpha))), abs=ULPS)
    assert f.symmetric and not f.trivial
    assert f.power(ALPHAS) == pytest.approx(1 - beta, abs=ULPS)
    assert float(f.power(1e-290)) == pytest.approx(float(1 - f.type_two(0.0)), abs=1e-15) and float(f.power(1e-290)) > 1e-290
    inside = (beta > 0) & (beta < f.type_two(0.0))
    assert f.type_two(beta[inside]) == pytest.approx(ALPHAS[inside], abs=1e-13)
    c = float(f.fixed_point())
    assert float(f.type_two(c)) == pytest.approx(c, abs=1e-15)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.sentence())
def test_delta_is_the_largest_gap(f: Tradeoff) -> None:
    alphas = np.linspace(0, 1, 200_001)
    beta = f.type_two(alphas)
    for epsilon in (0.0, 0.3, 1.0, 2.5):
        gap = (1 - beta - np.exp(epsilon) * alphas).max()
        assert gap - 1e-15 <= f.delta_at(epsilon) <= gap + 1e-4


def test_tails_keep_their_digits() -> None:
    x = 1e-300
    assert float(EpsilonDelta(1).paper_convention(x)) == pytest.approx(x / np.e, rel=1e-14)
    assert float(EpsilonDelta(1).group(3).paper_convention(x)) == pytest.approx(x / np.e**3, rel=1e-14)
    assert float(Gaussian.of(1).paper_convention(x)) == pytest.approx(stats.norm.cdf(stats.norm.ppf(x) - 1), rel=1e-12)
    assert float(from_distributions([3, 1], [1, 3]).paper_convention(x)) == pytest.approx(x / 3, rel=1e-14)


@given(pairs(), st.integers(1, 4), st.fractions(0, 1, max_denominator=30))
@settings(max_examples=60, deadline=None)
def test_group_is_functional_composition(pair: tuple[list[int], list[int]], size: int, alpha: Fraction) -> None:
    f = from_distributions(*pair).symmetrised()
    x = 1 - alpha
    for _ in range(size):
        x = f.exact(1 - x)  # the paper's f(x)
    assert f.group(size).exact(alpha) == x
    assert f.group(size).symmetric


@pytest.mark.parametrize("base", [EpsilonDelta("1/2"), EpsilonDelta(1, "1/50")], ids=["pure", "approximate"])
def test_group_of_epsilon_delta(base: EpsilonDelta) -> None:
    for size in (2, 3, 5):
        group = base.group(size)
        x = 1 - ALPHAS
        for _ in range(size):
            x = base.paper_convention(x)
        assert group.type_two(ALPHAS) == pytest.approx(x, abs=ULPS)
        kinks = group.kinks()
        assert kinks is not None
        corners = np.array([[float(a), float(b)] for a, b in kinks])
        # Linear between the corners, and not at them: the corners are all there and no more are needed.
        assert np.interp(ALPHAS, *corners.T) == pytest.approx(group.type_two(ALPHAS), abs=ULPS)
    assert (
        compare_tradeoffs(base.group(2), EpsilonDelta(2 * base.epsilon, min(Fraction(1), 4 * base.delta))).order
        is Strength.STRONGER
    )


def test_group_chains_and_refusals() -> None:
    assert EpsilonDelta(1).group(2).group(3) == EpsilonDelta(1).group(6)
    assert Gaussian.of(2).group(3) == Gaussian.of(6)
    with pytest.raises(InvalidProblem, match="groups of at most"):
        Group(Gaussian.of(1), 2)


@given(pairs(), pairs(), pairs())
@settings(max_examples=50, deadline=None)
def test_order_axioms(
    one: tuple[list[int], list[int]], two: tuple[list[int], list[int]], three: tuple[list[int], list[int]]
) -> None:
    f, g, h = (from_distributions(*pair) for pair in (one, two, three))
    assert compare_tradeoffs(f, f).order is Strength.EQUAL
    opposite = {Strength.STRONGER: Strength.WEAKER, Strength.WEAKER: Strength.STRONGER}
    verdict = compare_tradeoffs(f, g)
    assert compare_tradeoffs(g, f).order is opposite.get(verdict.order, verdict.order)
    if shortfall(f, g) is None and shortfall(g, h) is None:
        assert shortfall(f, h) is None
    alphas = sorted({*f.alphas, *g.alphas})
    assert (shortfall(f, g) is None) == all(f.exact(a) >= g.exact(a) for a in alphas)
    if isinstance(verdict.below_at, Fraction):
        assert f.exact(verdict.below_at) < g.exact(verdict.below_at)


rationals = st.fractions(0, 3, max_denominator=8)
small = st.fractions(0, 1, max_denominator=10).filter(lambda d: d < 1)


@given(rationals, small, rationals, small)
@settings(max_examples=80, deadline=None)
def test_order_of_epsilon_delta(e: Fraction, d: Fraction, other_e: Fraction, other_d: Fraction) -> None:
    f, g = EpsilonDelta(e, d), EpsilonDelta(other_e, other_d)
    implied = max(float(d), 1 - (1 - float(d)) * (1 + np.exp(float(other_e))) / (1 + np.exp(float(e))))
    if abs(implied - float(other_d)) > 1e-12:
        assert (shortfall(f, g) is None) == (implied <= other_d)


def test_order_of_unlike_functions() -> None:
    mu = 1.2320353853449004  # -2 Phi^-1(1 / (1 + e)) rounded down: pure epsilon = 1 is mu-GDP from the next float on
    assert compare_tradeoffs(EpsilonDelta(1), Gaussian.of(mu * (1 + 1e-15))).order is Strength.STRONGER
    assert compare_tradeoffs(EpsilonDelta(1), Gaussian.of(mu * (1 - 1e-15))).order is Strength.INCOMPARABLE
    delta = Gaussian.of(1).delta_at(1)
    assert shortfall(Gaussian.of(1), EpsilonDelta(1, delta)) is None
    short = shortfall(Gaussian.of(1), EpsilonDelta(1, np.nextafter(delta, 0) * (1 - 1e-12)))
    assert short is not None and Gaussian.of(1).type_two(short) < EpsilonDelta(1, delta * (1 - 1e-12)).type_two(short)
    assert compare_tradeoffs(Gaussian.of(1), Gaussian.of(2)).order is Strength.STRONGER
    assert compare_tradeoffs(Gaussian.of(1), from_distributions([1, 1], [1, 1])).order is Strength.WEAKER


def test_exact_composition() -> None:
    assert compose(Gaussian.of(3), Gaussian.of(4)) == Gaussian.of(5)
    response, power = from_distributions([3, 1], [1, 3]), from_distributions([1], [1])
    for _ in range(5):
        power = power @ response
    # Five answers of randomised response are a binomial count against its mirror image.
    counts = [Fraction(int(v)) for v in (np.array([1, 5, 10, 10, 5, 1]) * 3 ** np.arange(6))]
    assert power == from_distributions(counts[::-1], counts)
    with pytest.raises(InvalidProblem, match="Account"):
        compose(Gaussian.of(1), EpsilonDelta(1))


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.sentence())
def test_spec_round_trip(f: Tradeoff) -> None:
    assert tradeoff_from_spec(f.to_spec()) == f


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: EpsilonDelta(-1), "epsilon: -1.0 must be at least 0"),
        (lambda: EpsilonDelta(1, 2), "delta: 2.0 must be at least 0 and at most 1"),
        (lambda: EpsilonDelta("1e+"), "epsilon: '1e\\+' is not a number"),
        (lambda: EpsilonDelta("1e-900"), "epsilon: has a denominator of more than 400 digits"),
        (lambda: EpsilonDelta(Decimal("Infinity")), "epsilon: .* is not finite"),
        (lambda: Gaussian.of(float("nan")), "mu: nan is not finite"),
        (lambda: PiecewiseLinear((0, 1), (1,)), "betas: 1 for 2 alphas"),
        (lambda: PiecewiseLinear((0, HALF, HALF, 1), (1, HALF, HALF, 0)), "alphas: must rise strictly"),
        (lambda: PiecewiseLinear((0, HALF, 1), (1, "3/4", 0)), "at most 1 - alpha"),
        (lambda: PiecewiseLinear((0, "1/4", HALF, 1), ("1/2", "1/2", "1/4", 0)), "not convex"),
        (lambda: from_distributions([1, 1], [1]), "has 1 weights and null 2"),
        (lambda: from_distributions([0, 0], [1, 1]), "null: has no positive weight"),
        (lambda: tradeoff_from_spec({"kind": "renyi"}), "tradeoff.kind: 'renyi' is unknown"),
        (lambda: tradeoff_from_spec({"kind": "gaussian", "mu": 1}), "exactly the keys"),
        (lambda: EpsilonDelta(1).group(0), "size: 0 is not a whole number"),
    ],
)
def test_refusals(build: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()  # type: ignore[operator]

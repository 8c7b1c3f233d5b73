"""The private test of the odds ratio: exact sizes, best power by linear programming, uniform p-values, intervals, refusals."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, optimize, stats

from designer.base.errors import InvalidProblem
from designer.odds_ratio.mechanism import NAMED, UNUSABLE, OddsRatioTest, first_cell
from designer.odds_ratio.noise import CanonicalNoise, GaussianNoise, PiecewiseNoise, Tulap
from designer.odds_ratio.umpu import (
    Margins,
    NoisyCountTest,
    exceedance_ball,
    fisher_p_value,
    fisher_test,
    interval,
    lower_limit,
    p_value_above,
)
from designer.tradeoff.functions import EpsilonDelta, Gaussian, Tradeoff
from designer.tradeoff.piecewise import PiecewiseLinear, from_distributions
from examples.semi_dp_umpu import Laplace, LaplaceMean
from solvers.exact.balls import sharp

MARGINS = [Margins((10, 10), (10, 10)), Margins((30, 12), (15, 27)), Margins((3, 40), (20, 23)), Margins((1, 9), (1, 9))]
PROMISES: list[Tradeoff] = [
    EpsilonDelta(1),
    EpsilonDelta("1/10", "1/50"),
    Gaussian.of(1),
    from_distributions([4, 2, 1], [1, 2, 4]),
    EpsilonDelta("1/2").group(2),
]


def private_tests(margins: Margins) -> list[NoisyCountTest]:
    laws: list[CanonicalNoise] = [PiecewiseNoise(promise) for promise in PROMISES]
    return [NoisyCountTest(margins, law) for law in (*laws, Tulap(EpsilonDelta(1)), GaussianNoise(Gaussian.of(1)))]


@pytest.mark.parametrize("margins", MARGINS, ids=str)
def test_law_of_the_table_given_its_margins(margins: Margins) -> None:
    """Two binomials conditioned on the column sum, and scipy's Fisher law: omega is odds of row 1 over odds of row 2."""
    for first, second in ((0.5, 0.5), (0.7, 0.4), (0.05, 0.6)):
        omega = first / (1 - first) / (second / (1 - second))
        x = np.array(margins.support)
        joint = stats.binom.pmf(x, margins.rows[0], first) * stats.binom.pmf(margins.columns[0] - x, margins.rows[1], second)
        assert margins.pmf(omega) == pytest.approx(joint / joint.sum(), abs=1e-13)
        law = stats.nchypergeom_fisher(sum(margins.rows), margins.rows[0], margins.columns[0], omega)
        assert margins.pmf(omega) == pytest.approx(law.pmf(x), abs=1e-10)
    powers = [weight * Fraction(7, 3) ** i for i, weight in enumerate(margins.weights)]
    assert [float(p / sum(powers)) for p in powers] == pytest.approx(margins.pmf(7 / 3), abs=1e-14)


@pytest.mark.parametrize("margins", MARGINS, ids=str)
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.5])
def test_size_is_exact(margins: Margins, alpha: float) -> None:
    for test in private_tests(margins):
        assert isinstance(test.noise, CanonicalNoise)
        m = Fraction(test.critical_value(alpha))
        exact = float(sharp(partial(exceedance_ball, margins, test.noise, m, Fraction(1))))
        assert abs(exact - alpha) < 1e-12 and abs(test.size(alpha) - alpha) < 1e-12
    fisher = fisher_test(margins, alpha)
    assert math.fsum(fisher * margins.pmf()) == pytest.approx(alpha, abs=1e-15)


def private(phi: NDArray[np.float64], promise: Tradeoff) -> bool:
    """SEMI Lemma 34 between neighbours in x."""
    bound = lambda v: 1 - promise.paper_convention(1 - v)  # noqa: E731
    return bool((phi[1:] <= bound(phi[:-1]) + 1e-13).all() and (phi[:-1] <= bound(phi[1:]) + 1e-13).all())


@pytest.mark.parametrize("margins", MARGINS, ids=str)
def test_test_is_private_and_monotone(margins: Margins) -> None:
    for test in private_tests(margins):
        assert isinstance(test.noise, CanonicalNoise)
        phi = test.rejection(0.05)
        assert private(phi, test.noise.tradeoff) and (np.diff(phi) >= 0).all()
        powers = [test.power(0.05, omega) for omega in (0.2, 0.5, 1.0, 2.0, 5.0, 50.0)]
        assert (np.diff(powers) > 0).all() and powers[2] == pytest.approx(0.05, abs=1e-12)
        # Never better than the best test that sees the table.
        assert all(
            p <= fisher_test(margins, 0.05) @ margins.pmf(o) + 1e-12 for p, o in zip(powers[3:], (2.0, 5.0, 50.0), strict=True)
        )


def best_power(margins: Margins, promise: Tradeoff, alpha: float, omega: float) -> float:
    """The most power of ANY private test of size alpha, by linear programming over the rejection probabilities."""
    kinks = promise.kinks()
    assert kinks is not None
    corners = [(float(a), float(b)) for a, b in kinks]
    size = len(margins.support)
    rows, bounds = [], []
    # phi(x) <= 1 - f(1 - phi(x')) = 1 - beta(phi(x')), beta the largest of its lines: phi(x) - slope phi(x') <= 1 - height.
    for (a, b), (c, d) in pairwise(corners):
        slope = (b - d) / (c - a)
        for i, j in product(range(size), repeat=2):
            if abs(i - j) == 1:
                row = np.zeros(size)
                row[i], row[j] = 1.0, -slope
                rows.append(row)
                bounds.append(1 - (b + slope * a))
    found = optimize.linprog(
        -margins.pmf(omega), A_ub=np.array(rows), b_ub=bounds, A_eq=margins.pmf()[None], b_eq=[alpha], bounds=(0, 1)
    )
    return float(-found.fun)


@pytest.mark.parametrize("margins", MARGINS, ids=str)
def test_no_private_test_is_more_powerful(margins: Margins) -> None:
    for promise in PROMISES:
        if promise.kinks() is not None:
            test = NoisyCountTest(margins, PiecewiseNoise(promise))
            for alpha, omega in ((0.05, 3.0), (0.3, 1.2), (0.01, 40.0)):
                assert test.power(alpha, omega) == pytest.approx(best_power(margins, promise, alpha, omega), abs=2e-9)


def test_both_canonical_laws_of_a_gaussian_promise_give_one_test() -> None:
    """phi is the same for every canonical noise: on whole steps all of them follow f."""
    one, other = (NoisyCountTest(MARGINS[1], law(Gaussian.of(1))) for law in (GaussianNoise, PiecewiseNoise))
    assert one.rejection(0.05) == pytest.approx(other.rejection(0.05), abs=1e-13)


def test_first_form_of_the_test() -> None:
    """SEMI Lemma 47, form 1: zero, then c, then each value the largest that privacy allows after the one before."""
    for test in private_tests(MARGINS[1]):
        assert isinstance(test.noise, CanonicalNoise)
        phi = test.rejection(0.05)
        after = 1 - test.noise.tradeoff.paper_convention(1 - phi[:-1])
        started = phi[:-1] > 0
        assert phi[1:][started] == pytest.approx(after[started], abs=1e-13)


@pytest.mark.parametrize("margins", MARGINS, ids=str)
def test_p_values_are_uniform_under_the_null(margins: Margins) -> None:
    """Exact cdf: p <= a exactly when U >= m(a), and the law of U is a finite mixture; also by quadrature over the noise."""
    for test in private_tests(margins):
        for alpha in (0.001, 0.05, 0.4, 0.9):
            m = test.critical_value(alpha)
            assert float(test.p_value(m)) == pytest.approx(alpha, abs=1e-12)
            assert float(test.p_value(m + 1e-3)) <= alpha <= float(test.p_value(m - 1e-3))
            reached = math.fsum(p * float(test.noise.cdf(x - m)) for p, x in zip(margins.pmf(), margins.support, strict=True))
            assert reached == pytest.approx(alpha, abs=1e-12)
    normal = NoisyCountTest(margins, GaussianNoise(Gaussian.of(1)))
    mean, _ = integrate.quad(
        lambda u: float(normal.p_value(u)) * float(margins.pmf() @ stats.norm.pdf(u - np.array(margins.support))),
        -12,
        60,
        limit=400,
    )
    assert mean == pytest.approx(0.5, abs=1e-7)


def test_p_value_agrees_with_the_test() -> None:
    """P(p <= alpha | x) = phi(x) (SEMI Theorem 37), by the law of N."""
    for test in private_tests(MARGINS[0]):
        m = test.critical_value(0.05)
        u = np.linspace(-20, 30, 2001)
        assert ((test.p_value(u) <= 0.05) == (u >= m)).all()


def test_p_values_are_rounded_up() -> None:
    noise, margins = Tulap(EpsilonDelta(1)), MARGINS[1]
    for statistic in (Fraction(5), Fraction(39, 4), Fraction(40)):
        p = p_value_above(margins, noise, statistic)
        assert p == pytest.approx(float(NoisyCountTest(margins, noise).p_value(float(statistic))), rel=1e-12)
        assert sharp(partial(exceedance_ball, margins, noise, statistic, Fraction(1))) <= p


def test_limits_invert_the_test_and_cover() -> None:
    noise, margins = Tulap(EpsilonDelta(2)), MARGINS[1]
    test = NoisyCountTest(margins, noise)
    for statistic in (Fraction(9), Fraction(13), Fraction(15)):
        limit = lower_limit(margins, noise, statistic, 0.05)
        assert float(test.p_value(float(statistic), limit)) == pytest.approx(0.05, rel=1e-5)
        assert float(test.p_value(float(statistic), limit)) <= 0.05
    # The limit rises with u, so it is above omega exactly when u is above m(omega): coverage is exact by the law of U.
    for omega in (0.4, 1.0, 6.0):
        u = np.linspace(-5, 35, 41)
        limits = np.array([lower_limit(margins, noise, Fraction(v), 0.05) for v in u])
        excluded = test.p_value(u, omega) <= 0.05
        assert (np.diff(limits) >= 0).all() and (excluded == (limits >= omega)).all()
    assert lower_limit(margins, noise, Fraction(-20), 0.05) == 0.0
    # So far beyond the support that no odds ratio explains it.
    assert lower_limit(margins, noise, Fraction(30), 0.05) == 2.0**64
    low, high = interval(margins, noise, (Fraction(13), Fraction(13)), 0.1)
    assert low == lower_limit(margins, noise, Fraction(13), 0.05) < high < math.inf
    below = margins.pmf(high) @ noise.cdf(13 - np.array(margins.support, dtype=float))
    assert below == pytest.approx(0.05, rel=1e-5) and below <= 0.05


def test_naive_laws() -> None:
    from scipy.special import comb

    x = np.linspace(-4, 4, 33)
    assert Laplace(1.5).cdf(x) == pytest.approx(stats.laplace(scale=1.5).cdf(x), abs=1e-15)
    assert LaplaceMean(1.5, 1).cdf(x) == pytest.approx(Laplace(1.5).cdf(x), abs=1e-15)
    # The mean of four by inverting the characteristic function (1 + t^2)^-4 of their sum.
    for value in (-2.0, -0.3, 0.7, 1.9):
        integrand = lambda t, v=value: np.sinc(4 * t * v / np.pi) * 4 * v / (1 + t * t) ** 4 / np.pi  # noqa: E731
        by_inversion = 0.5 + integrate.quad(integrand, 0, 60, limit=400)[0]
        assert float(LaplaceMean(1.0).cdf(value)) == pytest.approx(by_inversion, abs=1e-9)
    assert sum(comb(3 + k, k) / 2 ** (3 + k) for k in range(4)) == 1.0


def test_umpu_beats_naive_tests_of_the_same_promise() -> None:
    margins = Margins((100, 100), (100, 100))
    best = NoisyCountTest(margins, Tulap(EpsilonDelta("1/2")))
    # x11 moves by 1, four cells by 4 in l1; three records one by one cost epsilon / 3 each.
    naive = [Laplace(2.0), LaplaceMean(8.0), LaplaceMean(12.0), Tulap(EpsilonDelta("1/6"))]
    for omega in (1.5, 2.0, 3.0):
        powers = [NoisyCountTest(margins, law).power(0.05, omega) for law in naive]
        assert best.power(0.05, omega) > max(powers)


def test_fisher_p_value() -> None:
    margins = MARGINS[1]
    for x in margins.support:
        table = margins.table(x)
        assert fisher_p_value(margins, x) == pytest.approx(stats.fisher_exact(table, alternative="greater").pvalue, abs=1e-12)
    assert fisher_p_value(margins, -3) == 1.0 and fisher_p_value(margins, 99) == 0.0


TEST = OddsRatioTest(Margins((30, 12), (15, 27)), EpsilonDelta(1))
TABLE = [[12, 18], [3, 9]]


def test_release_carries_what_follows_from_it() -> None:
    release = TEST.release(TABLE)
    assert release.fingerprint == TEST.fingerprint and release.guarantee == TEST.guarantee
    assert (release.statistic * 2**40).denominator == 1
    assert release.p_greater + release.p_less == pytest.approx(1.0, abs=1e-9)
    assert release.p_two_sided == min(1.0, 2 * min(release.p_greater, release.p_less))
    low, high = release.interval(0.9)
    assert low < high and set(release.to_dict()) == {
        "statistic",
        "p_greater",
        "p_less",
        "interval_95",
        "fingerprint",
        "guarantee",
    }
    with pytest.raises(InvalidProblem, match="confidence: 1"):
        release.interval(1.0)


def test_releases_follow_the_law() -> None:
    """400 releases from the system's entropy against F (Kolmogorov-Smirnov; a right sampler fails once in 1e6)."""
    statistics = [float(TEST.release(TABLE).statistic) - 12 for _ in range(400)]
    assert stats.kstest(statistics, TEST.law.cdf).pvalue > 1e-6


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.sentence())
@pytest.mark.parametrize("noise", ["closed_form", "piecewise"])
def test_core_round_trip_and_certificate(promise: Tradeoff, noise: Any) -> None:
    test = OddsRatioTest(Margins((30, 12), (15, 27)), promise, noise=noise, adjacency=2)
    again = OddsRatioTest.from_core(test.core())
    assert again == test and again.fingerprint == test.fingerprint
    assert test.privacy.holds and test.privacy.worst_ratio == 1 and test.verify() == test.privacy


def test_sensitivity_by_enumeration() -> None:
    """Every pair of small databases with equal margins that differ in at most three records moves x11 by at most 1,
    two do so."""
    cells = list(product((0, 1), repeat=2))
    databases = list(product(cells, repeat=4))
    tables = [np.array([[sum(r == (i, j) for r in d) for j in (0, 1)] for i in (0, 1)]) for d in databases]
    moves: dict[int, int] = {}
    for (d, s), (e, t) in product(zip(databases, tables, strict=True), repeat=2):
        if (s.sum(0) == t.sum(0)).all() and (s.sum(1) == t.sum(1)).all():
            apart = sum(a != b for a, b in zip(d, e, strict=True))
            moves[apart] = max(moves.get(apart, 0), abs(int(s[0, 0] - t[0, 0])))
    assert (moves[2], moves[3], moves[4]) == (1, 1, 2) and 1 not in moves


def test_unusable_tables_share_one_refusal() -> None:
    wrong: list[Any] = [
        [[12, 18], [3, 10]],
        [[12.0, 18.0], [3.0, 9.0]],
        [[-1, 31], [16, -4]],
        [[12, 18, 0], [3, 9, 0]],
        None,
        [[1], [2, 3]],
        [[2**70, 1], [1, 1]],
        [["a", "b"], ["c", "d"]],
    ]
    for table in wrong:
        with pytest.raises(InvalidProblem) as refusal:
            TEST.release(table)
        assert str(refusal.value) == UNUSABLE


def test_true_count_is_in_no_statement() -> None:
    test = OddsRatioTest(Margins((91_000, 9_000), (50_000, 50_000)), EpsilonDelta("1/100"))
    release = test.release([[45_777, 45_223], [4_223, 4_777]])
    text = repr(test) + test.guarantee.to_text() + repr(release.guarantee) + str(test.core())
    assert not any(canary in text for canary in ("45777", "45223", "4223", "4777"))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: replace_test(adjacency=1), "adjacency: 1; two databases with equal margins differ in two records or more"),
        (lambda: replace_test(adjacency=4), "adjacency: 4; the test is proven for one basic move"),
        (lambda: replace_test(noise="laplace"), "noise: 'laplace' is unknown"),
        (lambda: replace_test(exponent=65), "exponent: 65"),
        (lambda: replace_test(margins=Margins((5, 0), (2, 3))), "leave a single table"),
        (lambda: replace_test(tradeoff=EpsilonDelta(0)), "no loss at all"),
        (lambda: replace_test(tradeoff=PiecewiseLinear((0, "1/2", 1), ("1/2", "1/8", 0))), "not symmetric"),
        (lambda: Margins((5, 1), (2, 3)), "columns: add up to 5, rows to 6"),
        (lambda: Margins((5, -1), (2, 2)), "rows\\[1\\]: -1"),
        (lambda: Margins((5,), (2, 3)), "rows: must be two whole numbers"),
        (lambda: Margins((10**6, 0), (1, 10**6 - 1)), "exact sums are kept to"),
        (lambda: fisher_test(MARGINS[0], 1.0), "alpha: 1.0"),
        (lambda: OddsRatioTest.from_core({**TEST.core(), "extra": 1}), "exactly the keys"),
        (lambda: OddsRatioTest.from_core({**TEST.core(), "tradeoff": {"kind": "gaussian", "mu_squared": "-1"}}), "at least 0"),
    ],
)
def test_refusals(build: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()  # type: ignore[operator]


def replace_test(**changes: Any) -> OddsRatioTest:
    return replace(TEST, **changes)


def test_a_table_that_carries_names_is_not_taken_by_position() -> None:
    pd = pytest.importorskip("pandas")
    margins = Margins((3, 7), (4, 6))
    assert first_cell([[1, 2], [3, 4]], margins) == 1
    with pytest.raises(InvalidProblem) as refusal:
        first_cell(pd.DataFrame([[1, 2], [3, 4]], index=["b", "a"], columns=["y", "x"]), margins)
    assert str(refusal.value) == NAMED

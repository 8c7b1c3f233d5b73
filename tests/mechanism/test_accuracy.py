"""Accuracy (alpha, beta) in l1 and l-infinity: against laws written out, every histogram of few records, and draws. Tails of
sums of discrete Laplace noise: above the exact law, which convolution of integers or draws tell, and not far above.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

from designer import AdditiveMechanism, DesignFailed, InvalidProblem, Problem, Workload, design, metrics
from designer.certificate.norms import weighted_l1
from designer.mechanism.accuracy import _gaussian_tail, accuracy_of
from designer.mechanism.bounds import LaplaceSum, MagnitudeSum, error_bounds, largest_quantile
from designer.mechanism.noise import Grid

PLANE = metrics.euclidean(np.random.default_rng(0).random((6, 2)), per_unit=2.0)


def magnitudes(weights: list[int], rates: list[float]) -> np.ndarray:
    """The law of `sum w |z|` for whole weights, by convolution of the laws written out to 1e-17."""
    law = np.ones(1)
    for weight, rate in zip(weights, rates, strict=True):
        reach = math.ceil(40 / rate)
        one = np.zeros(reach * weight + 1)
        one[::weight] = np.tanh(rate / 2) * np.exp(-rate * np.arange(reach + 1)) * np.where(np.arange(reach + 1), 2, 1)
        law = np.convolve(law, one)
    return law


SUMS = {
    "one": ([1], [0.02]),
    "equal": ([1, 1, 1, 1, 1], [0.05] * 5),
    "unequal": ([7, 3, 1], [0.1, 0.05, 0.03]),
    "powers of two": ([1, 2, 8], [0.5, 0.7, 1.1]),
    "coarse": ([3, 1, 2], [1.5, 2.0, 1.0]),
}


@pytest.mark.parametrize("delta", [0.5, 0.05, 1e-3, 1e-6])
@pytest.mark.parametrize("name", SUMS)
def test_sums_of_magnitudes_have_their_exact_quantile(name: str, delta: float) -> None:
    weights, rates = SUMS[name]
    above = np.append(magnitudes(weights, rates)[::-1].cumsum()[::-1][1:], 0.0)
    exact = int(np.flatnonzero(above <= delta)[0])
    law = MagnitudeSum(np.array(weights, dtype=float), np.array(rates))
    assert law.quantile(delta) == exact  # no term is rounded: the finest weight is 1
    assert above[math.floor(law.chernoff_quantile(delta))] <= delta


@pytest.mark.parametrize("delta", [0.3, 1e-3])
def test_rounded_sums_are_above_the_law_and_near_it(delta: float) -> None:
    """Weights that are no multiples of each other: the same sums over a finer unit, written out."""
    weights, rates = [100, 141, 173], [0.9, 1.1, 0.7]
    above = np.append(magnitudes(weights, rates)[::-1].cumsum()[::-1][1:], 0.0)
    exact = int(np.flatnonzero(above <= delta)[0])
    found = MagnitudeSum(np.array(weights) / 100 * math.pi, np.array(rates)).quantile(delta) * 100 / math.pi
    assert exact <= found * (1 + 1e-9) <= exact + 3 * 100 + 1  # each term was rounded up by less than the least weight


def coarse(biased: bool) -> AdditiveMechanism:
    """Independent noise on steps of 1 and 1/2, around the queries or around others."""
    workload = Workload([[4.0, 8.0, 1.0], [0.0, 4.0, 12.0]])
    measured = np.array([[4.0, 7.0, 2.0], [1.5, 4.0, 10.5]]) if biased else None
    return AdditiveMechanism(
        "custom", workload, metrics.uniform(3, 9.0), weighted_l1([0.35, 0.5]), Grid((0, -1)), measured=measured
    )


def by_enumeration(made: AdditiveMechanism, alpha: float) -> float:
    """The largest probability, over all histograms of three records, that noise and bias are at least alpha in l1."""
    m, n = (np.arange(-120, 121) * step for step in made.grid.steps)
    p, q = (np.exp(-np.abs(z) * rate) for z, rate in zip((m, n), made.norm.map, strict=True))
    mass = np.outer(p / p.sum(), q / q.sum())
    worst = 0.0
    for records in itertools.combinations_with_replacement(range(3), 3):
        bias = (made.effective - made.workload.dense())[:, records].sum(axis=1)
        errors = np.abs(m + bias[0])[:, None] + np.abs(n + bias[1])
        worst = max(worst, float(mass[errors >= alpha].sum()))
    return worst


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("beta", [0.4, 0.05, 1e-4])
def test_no_histogram_of_three_records_fails_more_often(biased: bool, beta: float) -> None:
    made = coarse(biased)
    found = accuracy_of(made, 3, beta=beta)
    assert by_enumeration(made, found.alpha) <= beta
    assert accuracy_of(made, 3, alpha=found.alpha).beta >= by_enumeration(made, found.alpha) * (1 - 1e-9)
    assert found.bias == (7.5 if biased else 0.0)  # three records of the third element
    if not biased:  # the law is exact: a step less is exceeded more often, and the beta of an alpha is that of the law
        assert by_enumeration(made, found.alpha - 0.5) > beta
        assert accuracy_of(made, 3, alpha=found.alpha).beta == pytest.approx(by_enumeration(made, found.alpha), rel=1e-6)


@pytest.mark.parametrize("beta", [0.3, 0.05])
@pytest.mark.parametrize("norm", ["l1", "linf"])
@pytest.mark.parametrize(
    ("family", "notion"),
    [
        ("laplace", "pure"),
        ("k_norm", "pure"),
        ("ellipsoid", "pure"),
        ("box", "pure"),
        ("gaussian", "zcdp"),
    ],
)
def test_draws_fail_no_more_often_than_proven(family: str, notion: str, norm: str, beta: float) -> None:
    """20,000 draws on a fixed seed; a true failure probability beta gives more with probability below 1e-6."""
    made = design(Problem(Workload.random(3, 6, "real", 2), PLANE, notion), family).mechanism
    errors = np.abs(np.asarray(made.simulate(20_000, seed=7)))
    sizes = errors.sum(axis=1) if norm == "l1" else errors.max(axis=1)
    found = accuracy_of(made, 1, beta=beta, norm=norm)
    assert (sizes >= found.alpha).sum() <= binom.isf(1e-6, 20_000, beta)
    if family == "laplace":  # exact: no fewer either
        assert (sizes >= found.alpha * (1 - 1e-3)).sum() >= binom.isf(1 - 1e-6, 20_000, beta)
    assert found.alpha <= 3.5 * np.quantile(sizes, 1 - beta)


def test_a_strategy_is_bounded_in_l1_too() -> None:
    """20,000 draws, as above."""
    made = design(Problem(Workload.random(3, 6, "real", 2), PLANE), "strategy_laplace", iterations=3).mechanism
    sizes = np.abs(np.asarray(made.simulate(20_000, seed=7))).sum(axis=1)
    found = accuracy_of(made, 1, beta=0.05)
    assert (sizes >= found.alpha).sum() <= binom.isf(1e-6, 20_000, 0.05) and found.alpha <= 3.5 * np.quantile(sizes, 0.95)


@pytest.mark.parametrize("queries", [2, 14])
@pytest.mark.parametrize(("family", "notion"), [("laplace", "pure"), ("ellipsoid", "pure"), ("gaussian", "zcdp")])
def test_the_probability_for_an_accuracy_is_the_inverse(family: str, notion: str, queries: int) -> None:
    relation = metrics.euclidean(np.random.default_rng(3).random((15, 2)))
    made = design(Problem(Workload.random(queries, 15, "real", 4), relation, notion), family).mechanism
    for norm in ("l1", "linf"):
        alpha = accuracy_of(made, 5, beta=0.02, norm=norm).alpha
        back = accuracy_of(made, 5, alpha=alpha, norm=norm)
        assert back.alpha == alpha and 0.005 <= back.beta <= 0.02 * (1 + 1e-4)
        assert accuracy_of(made, 5, alpha=2 * alpha, norm=norm).beta < back.beta


def test_one_answer_has_one_accuracy_and_the_l1_error_is_no_less_than_the_largest() -> None:
    made = design(Problem(Workload.identity(4), metrics.uniform(4, 1.0)), "laplace").mechanism
    assert accuracy_of(made, 9, beta=0.1).alpha >= accuracy_of(made, 9, beta=0.1, norm="linf").alpha
    single = design(Problem(Workload([[0.0, 1.0]]), metrics.uniform(2, 1.0)), "laplace").mechanism
    assert accuracy_of(single, 9, beta=0.1).alpha == pytest.approx(
        accuracy_of(single, 9, beta=0.1, norm="linf").alpha, rel=1e-3
    )


def test_bias_alone_is_no_accuracy_that_noise_could_reach() -> None:
    problem = Problem(Workload([[0.0, 1.0, 3.0]]), metrics.uniform(3, 0.1), records=2.0)
    made = design(problem, "laplace_joint").mechanism
    bias = accuracy_of(made, 2.0, beta=0.5).bias
    assert bias > 1.0
    with pytest.raises(DesignFailed, match=r"alpha: .* the bias alone may be"):
        accuracy_of(made, 2.0, alpha=bias / 2)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "beta, alpha: give one of the two"),
        ({"beta": 0.1, "alpha": 1.0}, "beta, alpha: give one of the two"),
        ({"beta": 0.0}, "beta: 0.0 is not a probability"),
        ({"beta": 1}, "beta: 1 is not a probability"),
        ({"beta": "x"}, "beta: 'x' is not a probability"),
        ({"alpha": -1.0}, "alpha"),
        ({"beta": 0.1, "norm": "l2"}, "norm: 'l2' is unknown"),
        ({"beta": 0.1, "n": 0}, "n"),
    ],
)
def test_wrong_arguments_are_refused(options: dict[str, object], text: str) -> None:
    made = design(Problem(Workload.identity(3), metrics.uniform(3, 1.0)), "laplace").mechanism
    with pytest.raises(InvalidProblem, match=text):
        accuracy_of(made, **{"n": 5, **options})


@pytest.mark.parametrize("beta", [0.3, 0.01])
def test_the_sum_over_all_signs_reaches_the_probability_of_a_gaussian_tail(beta: float) -> None:
    """Rows of unequal noise: `2 sum over pairs of signs of exp(-t^2 / (2 sigma_e^2))` is beta, to the last digits."""
    made = design(Problem(Workload([[0.0, 1.0, 3.0], [1.0, 0.0, 0.0]]), metrics.uniform(3, 1.0), "zcdp"), "gaussian").mechanism
    rows = made.noise.rows(made.reconstruction)
    covariance = np.linalg.inv(made.norm.map.T @ made.norm.map)
    deviations = np.array([math.sqrt(e @ covariance @ e) for e in (rows[0] + rows[1], rows[0] - rows[1])])
    t = _gaussian_tail(made, rows).quantile(beta)
    assert 2 * float(np.exp(-((t / deviations) ** 2) / 2).sum()) == pytest.approx(beta, rel=1e-9)


def exact_quantile(coefficients: list[int], rates: list[float], delta: float) -> int:
    """The least t with `P(|Y| > t) <= delta` for whole coefficients, by convolution of the laws written out to 1e-16."""
    law, middle = np.ones(1), 0
    for c, rate in zip(coefficients, rates, strict=True):
        reach = int(np.ceil(40 / rate))
        one = np.zeros(2 * reach * c + 1)
        one[::c] = np.tanh(rate / 2) * np.exp(-rate * np.abs(np.arange(-reach, reach + 1)))
        law, middle = np.convolve(law, one), middle + reach * c
    size = np.abs(np.arange(len(law)) - middle)
    beyond = np.bincount(size, law)[::-1].cumsum()[::-1]
    return int(np.flatnonzero(np.append(beyond[1:], 0.0) <= delta)[0])


SIGNED_SUMS = {
    "one": ([1], [0.02]),
    "equal": ([1, 1, 1, 1, 1], [0.05] * 5),
    "unequal": ([7, 3, 1], [0.1, 0.05, 0.03]),
    "many": ([2, 1, 3, 1, 2, 1, 3, 1, 1, 2, 4, 1], [0.1] * 12),
    "coarse": ([3, 1, 2], [1.5, 2.0, 1.0]),
}


@pytest.mark.parametrize("delta", [0.5, 0.05, 1e-3, 1e-6])
@pytest.mark.parametrize("name", SIGNED_SUMS)
def test_the_bound_holds_and_is_close(name: str, delta: float) -> None:
    c, rates = SIGNED_SUMS[name]
    found = largest_quantile(np.array([c], dtype=float), np.array(rates), delta)
    exact = exact_quantile(c, rates, delta)
    assert exact <= np.floor(found * (1 + 1e-12)) + 1e-9
    assert found <= 1.05 * exact + 1


@pytest.mark.parametrize("t", [0.0, 3.0, 17.5, 60.0])
@pytest.mark.parametrize("name", SIGNED_SUMS)
def test_every_tail_is_bounded_by_both_ways(name: str, t: float) -> None:
    c, rates = SIGNED_SUMS[name]
    law = LaplaceSum(np.array(c, dtype=float), np.array(rates), 80.0)
    for delta in (0.9, 0.3, 0.1, 1e-2, 1e-4):
        q = exact_quantile(c, rates, delta)
        if q > 0:  # P(|Y| > q - 1) > delta
            assert law.beyond(q - 1) > delta and law.chernoff(q - 1) > delta
    assert law.beyond(t) <= law.chernoff(t) <= 1


def test_strategies_are_bounded_near_the_quantile_of_their_noise() -> None:
    """20,000 draws: beyond a true 1 - delta quantile lie more than 1.3 (0.05) or 2 (1e-3)
    times delta of them with probability below 1e-4."""
    ranges = np.array([[float(a <= i <= b) for i in range(8)] for a in range(8) for b in range(a, 8)])
    problem = Problem(Workload(ranges), metrics.uniform(8, 1.0))
    made = design(problem, "strategy_laplace", iterations=3, keep=1).mechanism
    worst = np.abs(np.asarray(made.simulate(20_000, seed=5))).max(axis=1)
    for delta, slack in ((0.05, 1.3), (1e-3, 2.0)):
        bound = error_bounds(made, 100, delta).high_probability
        assert (worst > bound).mean() <= slack * delta
        assert bound <= 1.25 * np.quantile(worst, 1 - delta)


@pytest.mark.parametrize("scales", [[1.0, 1.0, 1.0], [100.0, 1.0, 1.0, 5.0], [0.75, 0.375, 1.5]])
def test_independent_noise_has_its_exact_quantile(scales: list[float]) -> None:
    relation = metrics.uniform(len(scales), 1.0)
    made = design(Problem(Workload(np.diag(scales)), relation), "laplace").mechanism
    units = np.array(scales)  # of the one entry of each query
    for delta in (0.5, 0.05, 1e-6):
        t = error_bounds(made, 1, delta).high_probability
        within = [_within(x, made.scales, units) for x in (t, 0.999 * t)]
        assert within[0] >= 1 - delta - 1e-9 * delta and within[1] < 1 - delta


def _within(t: float, scales: np.ndarray, steps: np.ndarray) -> float:
    """The chance that no coordinate of two-sided geometric noise exceeds t, summed over the law."""
    chances = []
    for scale, step in zip(scales, steps, strict=True):
        places = step * np.arange(-int(60 * scale / step) - 2, int(60 * scale / step) + 3)
        mass = np.exp(-np.abs(places) / scale)
        chances.append(mass[np.abs(places) <= t].sum() / mass.sum())
    return float(np.prod(chances))


def test_rows_without_noise_and_beyond_the_transforms_are_bounded_too() -> None:
    assert largest_quantile(np.zeros((2, 3)), np.ones(3), 0.1) == 0.0
    rows = np.random.default_rng(0).integers(1, 3, (1, 500)).astype(float)
    found = largest_quantile(rows, np.full(500, 0.5), 1e-3)
    assert 3.2 * np.sqrt(8 * (rows**2).sum()) * 0.98 < found < 1.3 * 3.3 * np.sqrt(8 * (rows**2).sum())

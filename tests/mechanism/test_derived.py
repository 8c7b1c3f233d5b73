"""Ratios, differences and quantiles of released answers: intervals against Fieller's, by brute force, and by coverage."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import norm

from designer import Domain, InvalidProblem, MarginalProblem, MarginalWorkload, Problem, Workload, design, metrics
from designer.mechanism import derived
from designer.mechanism.additive import AdditiveMechanism
from designer.mechanism.agreeing_answers import consistent_answers
from designer.mechanism.derived import _ratio_limits, difference, quantile, ratio
from designer.sampling.entropy import SeededEntropy


@cache
def totals(budget: float = 0.5) -> AdditiveMechanism:
    """A sum of skewed amounts and the number of records, with joint noise, over three kinds of records."""
    workload = Workload(np.array([[1.0, 10.0, 100.0], [1.0, 1.0, 1.0]]), ["amount", "records"])
    made = design(Problem(workload, metrics.add_remove(3, budget)), "laplace").mechanism
    assert isinstance(made, AdditiveMechanism)
    return made


def brute(above: float, below: float, x: np.ndarray, y: np.ndarray, rank: int, grid: np.ndarray) -> np.ndarray:
    """The points of a grid that are in the set, by the order statistic at each."""
    sizes = np.sort(np.abs(x[None] - grid[:, None] * y[None]), axis=1)[:, rank - 1]
    return grid[np.abs(above - grid * below) <= sizes]


@pytest.mark.parametrize("seed", range(20))
def test_ends_are_those_of_all_numbers_by_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.laplace(size=(2, 400)) * np.array([[3.0], [rng.choice([0.3, 1.0, 4.0])]])
    above, below = rng.normal(0, 20), rng.normal(0, 8)
    lower, upper = _ratio_limits(above, below, x, y, 380)
    held = brute(above, below, x, y, 380, np.concatenate([np.linspace(-60, 60, 4001), [above / below]]))
    if lower == -math.inf:
        assert np.sort(np.abs(y))[379] >= abs(below) and upper == math.inf
        return
    assert lower <= held.min() and held.max() <= upper
    for end, way in ((lower, -1), (upper, 1)):
        assert len(brute(above, below, x, y, 380, np.array([end - way * 1e-6 * max(1, abs(end))]))) == 1
        assert len(brute(above, below, x, y, 380, end + way * np.geomspace(1e-6, 1e6, 200))) == 0


def test_normal_noise_has_the_interval_of_fieller() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.multivariate_normal([0, 0], [[4.0, 0.6], [0.6, 1.0]], size=200_000).T
    above, below, t = 30.0, 12.0, norm.ppf(0.975)
    square, cross, level = below**2 - t**2, above * below - t**2 * 0.6, above**2 - 4 * t**2
    roots = np.sort(np.roots([square, -2 * cross, level]))
    assert _ratio_limits(above, below, x, y, 190_000) == pytest.approx(tuple(roots), abs=0.01)


@cache
def cells() -> AdditiveMechanism:
    """Eight counts and their total, which do not agree."""
    workload = Workload(np.vstack([np.eye(8), np.ones((1, 8))]), [*"abcdefgh", "all"])
    made = design(Problem(workload, metrics.add_remove(8, 0.5)), "laplace").mechanism
    assert isinstance(made, AdditiveMechanism)
    return made


VALUES = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]
SKEWED = np.array([500, 200, 90, 40, 20, 9, 4, 1])


def coverage(draws: int) -> dict[str, int]:
    """How often intervals hold what was counted: a mean of skewed amounts, a share, changes, and quantiles."""
    made, count = totals(), cells()
    counts, later = np.array([900, 90, 9]), np.array([1000, 100, 5])
    sums, true = made.workload.matrix @ counts, [SKEWED[2] / SKEWED.sum(), 1.0, 4.0, 8.0]
    held = dict.fromkeys(["mean", "change", "share", "consistent share", "0.5", "0.9", "0.95"], 0)
    for _ in range(draws):
        first, second = made.release(counts), made.release(later)
        mean, change = ratio(made, first, "amount", "records"), difference(made, second, made, first, "amount")
        held["mean"] += mean.lower <= sums[0] / sums[1] <= mean.upper
        held["change"] += change.lower <= (made.workload.matrix @ (later - counts))[0] <= change.upper
        released = count.release(SKEWED)
        for name, own in (("share", released), ("consistent share", consistent_answers(released))):
            share = ratio(count, own, "c", "all")
            held[name] += share.lower <= true[0] <= share.upper
        for name, value in zip(("0.5", "0.9", "0.95"), true[1:], strict=True):
            found = quantile(count, released, "abcdefgh", VALUES, float(name))
            held[name] += found.lower <= value <= found.upper
    return held


@pytest.mark.parametrize("draws", [200, pytest.param(2000, marks=pytest.mark.nightly)])
@pytest.mark.nightly
def test_intervals_hold_what_was_counted_as_often_as_they_say(draws: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With fewer draws of the noise, whose order statistics are as safe, and a little wider."""
    monkeypatch.setattr(derived, "LARGEST_SAMPLE", 3000)
    monkeypatch.setattr(derived, "_drawn", cache(derived._drawn.__wrapped__))
    least = 0.95 * draws - 5 * math.sqrt(0.95 * 0.05 * draws)
    assert {name: times for name, times in coverage(draws).items() if times < least} == {}


def test_a_quantile_is_where_the_counts_say_and_its_interval_is_that_of_all_tests() -> None:
    made = cells()
    for seed in range(5):
        released = replace(made._release_of(tuple(np.random.default_rng(seed).integers(0, 60, 9).tolist())))
        counts, names = released.answers[:8], list("abcdefgh")
        found = quantile(made, released, names, VALUES, 0.3)
        above = np.cumsum(counts) - 0.3 * counts.sum()
        assert found.value == VALUES[int(np.argmax(above >= 0))]
        noise = made.noise_in_answers(100_000, SeededEntropy(seed))[:, :8]
        drawn = np.cumsum(noise, axis=1) - 0.3 * noise.sum(axis=1)[:, None]
        low, high = np.quantile(drawn, 0.025, axis=0), np.quantile(drawn, 0.975, axis=0)
        kept = [j for j in range(8) if above[j] >= low[j] and (j == 0 or above[j - 1] < high[j - 1])]
        assert found.lower <= VALUES[kept[0]] and VALUES[kept[-1]] <= found.upper
        assert VALUES.index(found.upper) - VALUES.index(found.lower) <= kept[-1] - kept[0] + 1
    certain = quantile(made, made.release([10**6, 1, 10**6, 0, 0, 0, 0, 0]), [*names[:2], {"c": 1, "d": 1}], [1, 2, 5], 0.6)
    assert (certain.lower, certain.value, certain.upper) == (5, 5, 5)
    with pytest.raises(InvalidProblem, match="values: do not rise, or are not one for each count"):
        quantile(made, released, names, VALUES[::-1])
    with pytest.raises(InvalidProblem, match=r"counts\[1\]: 'x' is no answer"):
        quantile(made, released, ["a", "x"], [1, 2])


def test_answers_that_agree_have_intervals_by_their_own_law() -> None:
    made = cells()
    released = made.release(SKEWED)
    before, after = (ratio(made, own, "all", {"a": 1.0}) for own in (released, consistent_answers(released)))
    assert after.upper - after.lower < before.upper - before.lower


def test_a_share_of_a_sum_of_cells_of_marginals() -> None:
    domain = Domain.of({"sex": ["F", "M"]})
    made = design(MarginalProblem(MarginalWorkload.of(domain, [["sex"]]), metrics.hamming(domain, {"sex": 1.0}))).mechanism
    released = made.release({"sex": ["F"] * 300 + ["M"] * 700})
    names = released.answer_tables()[0].names()
    share = ratio(made, released, names[0], dict.fromkeys(names, 1.0))
    assert 0.25 < share.lower < 0.3 < share.upper < 0.35 and share.lower < (share.value or 0) < share.upper
    assert share == ratio(made, released, names[0], dict.fromkeys(names, 1.0))


def test_what_is_open_is_said_and_what_is_wrong_is_refused() -> None:
    made = totals()
    released = made.release([1, 0, 0])
    assert (ratio(made, released, "amount", {"records": 0.0}).lower, ratio(made, released, "amount", {}).value) == (
        -math.inf,
        None,
    )
    for call, message in (
        (lambda: ratio(made, released, "amuont", "records"), "numerator: 'amuont' is no answer; perhaps 'amount'"),
        (lambda: ratio(made, released, "amount", {"records": math.nan}), "denominator: the weight of 'records'"),
        (lambda: ratio(made, released, "amount", "records", 1.0), "level"),
        (lambda: difference(made, released, made, released, "amount"), "earlier: is the same release"),
        (lambda: ratio(totals(0.25), released, "amount", "records"), "released: was made by another mechanism"),
    ):
        with pytest.raises(InvalidProblem, match=message):
            call()

"""The identities of balance, against laws that are written out: means are 0 under the law, and errors move them as declared."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from designer.audit.balance_tests import MOST_CROSSED, BalanceStatistics, StatedLaw, _few_pairs
from designer.audit.choice_sources import choice_law, mean_size, moved_size
from designer.audit.enumerated_laws import additive_law, balance_watch
from designer.audit.mean_tests import Source, Tally, watched
from designer.audit.row_sources import canonical_cdf, gaussian_energies, independent_law, laplace_energies, row_law
from designer.audit.verdict import TestPower
from designer.certificate.norms import Norm
from designer.odds_ratio.noise import canonical_noise
from designer.sampling.entropy import SeededEntropy
from designer.sampling.integer_laplace import DiscreteLaplace
from designer.tradeoff.functions import EpsilonDelta, Gaussian, Tradeoff
from tests.oracles.selection_by_definition import BY_DEFINITION

Floats = np.ndarray
HALF = 60


def box(size: int) -> np.ndarray:
    axes = [np.arange(-HALF, HALF + 1)] * size
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, size)


def joint(order: str, falloff: str) -> StatedLaw:
    """A norm whose noise is about two steps wide, in two dimensions."""
    matrix = np.array([[0.5, 0.1], [0.0, 0.6]])
    return additive_law(Norm(matrix if order == "l2" else np.array([0.7, 0.8]), order), np.arange(2), np.ones(2), falloff)  # type: ignore[arg-type]


LAWS: dict[str, Callable[[], StatedLaw]] = {
    "joint, exponential": lambda: joint("l2", "exponential"),
    "joint, gaussian": lambda: joint("l2", "gaussian"),
    "box": lambda: joint("linf", "exponential"),
    "laplace": lambda: independent_law(laplace_energies(np.array([0.6, 0.9])), [0, 1]),
    "gaussian": lambda: independent_law(gaussian_energies(np.array([0.1, 0.2])), [0, 0]),
    "rounded": lambda: additive_law(Norm(np.array([0.4, 0.5]), "l2"), np.arange(2), np.ones(2), "rounded_gaussian"),
}


def written_out(law: StatedLaw, scale: float = 1.0) -> tuple[np.ndarray, Floats]:
    """All outputs that matter, and their probabilities where energies are divided by `scale`."""
    points = box(2)
    weights = np.exp(-law.energy(points.astype(float)) / scale)
    return points, weights / weights.sum()


def watch_of(law: StatedLaw) -> tuple[BalanceStatistics, np.ndarray]:
    points, chances = written_out(law)
    pilot = points[np.random.default_rng(1).choice(len(points), 20_000, p=chances)]
    return BalanceStatistics.of(law, pilot), pilot


@pytest.mark.parametrize("name", LAWS)
def test_every_statistic_has_mean_0_under_its_law(name: str) -> None:
    """By summing over the law; products of draws in a row are left to their independence."""
    watch, _ = watch_of(LAWS[name]())
    points, chances = written_out(watch.law)
    found = watch.columns(points)
    own = [k for k, kind in enumerate(found.names) if "in a row" not in kind]
    assert len(own) >= 18
    np.testing.assert_allclose(chances @ found.values[:, own], 0.0, atol=1e-9)


def stairs(widths: list[int], height: float) -> StatedLaw:
    """Independent coordinates whose energy rises by a height every so many steps beyond one."""
    return independent_law(lambda z: height * np.ceil(np.maximum(0.0, np.abs(z) - 1) / widths), list(range(len(widths))))


# Rare draws balance frequent ones: a step changes the probability by up to exp(4), and next to nothing is beyond a height.
STEEP: dict[str, Callable[[], StatedLaw]] = {
    "stairs, jointly": lambda: replace(stairs([5, 3], 4.0), apart=None, groups=None),
    "stairs": lambda: stairs([5, 3], 4.0),
    "laplace": lambda: independent_law(laplace_energies(np.array([4.0, 3.0])), [0, 1]),
    "laplace, jointly": lambda: additive_law(Norm(np.array([4.0, 3.5]), "linf"), np.arange(2), np.ones(2), "exponential"),
    "gaussian": lambda: independent_law(gaussian_energies(np.array([3.0, 3.0])), [0, 0]),
    "gaussian, jointly": lambda: additive_law(
        Norm(np.array([[1.5, 0.4], [0.0, 1.7]]), "l2"), np.arange(2), np.ones(2), "gaussian"
    ),
}


def highest(law: StatedLaw, samples: Iterator[np.ndarray], false_alarm: float) -> Iterator[tuple[float, str]]:
    """How far beyond its limit the statistic is that is furthest, in each of the samples."""
    watch, _ = watch_of(law)
    for draws in samples:
        tally = Tally()
        tally.add(watch.columns(draws))
        over = tally.scores() - tally.limits(TestPower(false_alarm=false_alarm).quantiles(len(tally.names))[0])
        yield float(over.max()), tally.names[int(over.argmax())]


@pytest.mark.parametrize("size", [100, 1000, 10_000, 150_000])
@pytest.mark.parametrize("name", STEEP)
def test_a_sample_that_is_like_its_law_is_not_rejected_for_what_is_too_rare_to_come(name: str, size: int) -> None:
    """Every output as often as expected, so that those with an expected number below a half never come."""
    law = STEEP[name]()
    points, chances = written_out(law)
    sample = np.repeat(points, np.rint(size * chances).astype(int), axis=0)
    shuffled = np.random.default_rng(2).permutation(sample)
    assert [found for found in highest(law, iter([shuffled]), 1e-6) if found[0] > 0] == []


@pytest.mark.parametrize("name", STEEP)
def test_right_samples_are_rejected_no_more_often_than_declared(name: str) -> None:
    """400 samples of 30 to 3,000 draws at one false alarm in 100: more than 14 have a probability below 0.00002."""
    law = STEEP[name]()
    points, chances = written_out(law)
    generator = np.random.default_rng(5)
    samples = (points[generator.choice(len(points), size, p=chances)] for size in (30, 100, 300, 3000) for _ in range(100))
    assert sum(over > 0 for over, _ in highest(law, samples, 0.01)) <= 14


@pytest.mark.parametrize("fault", ["wider by 5 %", "narrower by 5 %", "no rare draws", "one side"])
@pytest.mark.parametrize("name", STEEP)
def test_wrong_samples_of_steep_laws_are_rejected(name: str, fault: str) -> None:
    """300,000 draws; of those below 1 in 200 none, or one in ten of the negative ones turned over."""
    law = STEEP[name]()
    points, chances = written_out(law, {"wider by 5 %": 1.05, "narrower by 5 %": 0.95}.get(fault, 1.0))
    if fault == "no rare draws":
        chances = np.where(np.cumsum(chances[np.argsort(chances)])[np.argsort(np.argsort(chances))] < 0.005, 0.0, chances)
    generator = np.random.default_rng(3)
    sample = points[generator.choice(len(points), 300_000, p=chances / chances.sum())]
    if fault == "one side":
        sample = np.where((sample[:, :1] < 0) & (generator.random((len(sample), 1)) < 0.1), -sample, sample)
    assert next(highest(law, iter([sample]), 1e-6))[0] > 0


@pytest.mark.parametrize("name", ["joint, exponential", "laplace", "box"])
def test_a_wrong_scale_moves_the_mean_as_declared(name: str) -> None:
    watch, pilot = watch_of(LAWS[name]())
    points, chances = written_out(watch.law, 1.01)
    found = watch.columns(points)
    moved = float(chances @ found.values[:, found.names.index("scale of all")])
    assert abs(moved) == pytest.approx(watch.effects(pilot, 0.01)["scale of all"], rel=0.06)


@pytest.mark.parametrize("law", BY_DEFINITION)
def test_laws_of_choices_are_those_of_the_definition(law: str) -> None:
    scores = [Fraction(3), Fraction(1, 2), Fraction(-2), Fraction(3)]
    wanted = [float(x) for x in BY_DEFINITION[law](scores, Fraction(2, 3))]
    np.testing.assert_allclose(choice_law(law, np.array([float(s) for s in scores]) * 2 / 3), wanted, rtol=1e-12)


@pytest.mark.parametrize("rate", [1e-300, 1e-9, 0.3, 2.0, 20.0, 400.0, 740.0, 800.0, 1e5])
def test_sizes_of_measurements_are_those_of_the_hyperbolic_functions_at_every_rate(rate: float) -> None:
    with localcontext(prec=700):
        r, up, down = Decimal(rate), Decimal(rate).exp(), (-Decimal(rate)).exp()
        size = 2 * r / (up - down)
        assert mean_size(rate) == pytest.approx(float(size), rel=1e-12)
        assert moved_size(rate) == pytest.approx(float(size * r * (up + down) / (up - down)), rel=1e-12)


@pytest.mark.parametrize("rate", [0.3, 2.0, 20.0])
def test_sizes_of_measurements_are_sums_over_the_law(rate: float) -> None:
    z = np.arange(-400, 401)

    def mean(scale: float) -> float:
        weights = np.exp(-rate / scale * np.abs(z))
        return float(rate * np.abs(z) @ weights / weights.sum())

    assert mean_size(rate) == pytest.approx(mean(1.0), rel=1e-12)
    assert moved_size(rate) == pytest.approx((mean(1 + 1e-6) - mean(1 - 1e-6)) / 2e-6, rel=1e-6)


@pytest.mark.parametrize(
    "promise", [EpsilonDelta(1), EpsilonDelta("1/2", "1/100"), EpsilonDelta("1/2").group(2), Gaussian.of(1)]
)
def test_the_recursion_is_the_canonical_law(promise: Tradeoff) -> None:
    places = np.linspace(-6, 6, 97)
    found = canonical_cdf(promise, isinstance(promise, Gaussian))(places)
    np.testing.assert_allclose(found, canonical_noise(promise).cdf(places), atol=2e-14)


@pytest.mark.parametrize(("columns", "rate"), [(2, 0.4), (3, 0.25)])
def test_the_law_of_a_row_is_that_of_its_enumeration(columns: int, rate: float) -> None:
    reach = np.arange(-120, 121)
    if columns == 2:
        wanted = np.exp(-2 * rate * np.abs(reach))
    else:
        pairs = np.abs(reach)[:, None] + np.abs(reach)[None] + np.abs(reach[:, None] + reach[None])
        wanted = np.exp(-rate * pairs).sum(axis=1)
    found = row_law(columns, rate)
    middle = len(found) // 2
    np.testing.assert_allclose(found[middle - 40 : middle + 41], (wanted / wanted.sum())[80:161], atol=1e-12)


def test_pairs_that_are_looked_at_are_those_of_all_that_are_nearest_by_powers_of_two() -> None:
    for size in (0, 1, 2, 7, 65):
        pairs = [(j, k) for j in range(size) for k in range(j + 1, size)]
        pairs.sort(key=lambda pair: ((pair[1] - pair[0]).bit_count(), pair[1] - pair[0], pair[0]))
        assert _few_pairs(size) == tuple(pairs[:MOST_CROSSED])


def test_the_law_of_many_independent_coordinates_takes_a_byte_for_each_two() -> None:
    """5,760 cells took 4.8 GB: every pair was written out, and whole numbers of 64 bits said which coordinate is which."""
    size = 2000
    tracemalloc.start()
    law = additive_law(Norm(np.ones(size), "l1"), np.arange(size), np.ones(size), "exponential")
    _few_pairs(size)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(law.moves) == size and peak < 2 * size**2


@pytest.mark.parametrize(
    ("fault", "found"), [("none", []), ("all by 3 %", ["scale of all"]), ("one by 2", ["scale of each 7"])]
)
def test_many_independent_coordinates_are_tested_together_and_each_for_a_gross_error(fault: str, found: list[str]) -> None:
    weights = 2.0 ** -(2 + np.arange(2000) % 3)
    law = additive_law(Norm(weights, "l1"), np.arange(2000), np.ones(2000), "exponential")
    rates = weights / {"all by 3 %": 1.03}.get(fault, 1.0)
    if fault == "one by 2":
        rates = rates / np.where(np.arange(2000) == law.watched[6], 2.0, 1.0)
    sampler = DiscreteLaplace([Fraction(float(rate)) for rate in rates])
    source = Source("noise", "", lambda size: sampler.draw(size, entropy), balance_watch(law), width=2000)
    entropy = SeededEntropy(4)
    numbers = watched(source, TestPower(), 60.0, most=4000)[0].numbers
    assert numbers["draws"] == numbers["needed"] < 4000
    assert set(found) <= set(numbers["rejected_by"]) and bool(found) == bool(numbers["rejected_by"])

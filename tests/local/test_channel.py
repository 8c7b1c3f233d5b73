"""One person's own report: the promise in rationals, exact draws, and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from designer import Channel, InvalidProblem, NotPrivate, ReportProblem, design, load, metrics
from designer.audit import TestPower, audit
from designer.audit.pairs import SUBJECT
from designer.base.errors import DesignFailed
from designer.local.reports import design_report
from designer.relations.metrics.metric import Metric
from designer.sampling.entropy import SeededEntropy
from designer.sampling.integer_samplers import draw_from_table, uniform_below
from solvers.exact.balls import exp_ball, fraction_below, rational_ball, working_precision

UNIFORM = metrics.uniform(3, 1.0)
GRID = np.array([[i, j] for i in range(3) for j in range(3)], dtype=float)
FAILURE = 1e-9


def keeps(made: Channel) -> bool:
    """Every ordered pair and every report, by the logarithm of a fraction in balls: nothing of the certificate."""
    with working_precision(512):
        for i, j in permutations(range(made.relation.size), 2):
            ratio = max(Fraction(p, q) for p, q in zip(made.numerators[i], made.numerators[j], strict=True))
            budget = made.relation.exact_budget(i, j)
            assert budget is not None
            if not rational_ball(ratio).log() <= rational_ball(budget):
                return False
    return True


def random_metric(generator: np.random.Generator) -> Metric:
    """Points on a line or in the plane, a circle of steps, a taxonomy, or one budget for all."""
    size, rate = int(generator.integers(2, 8)), float(np.exp(generator.uniform(-3, 1.5)))
    match int(generator.integers(5)):
        case 0:
            return metrics.line(np.cumsum(generator.uniform(0.1, 2, size)), 1, rate)
        case 1:
            return metrics.euclidean(generator.uniform(0, 3, (size, 2)), rate)
        case 2:
            return metrics.scaled(rate, metrics.graph([(k, (k + 1) % (size + 1)) for k in range(size + 1)], nodes=size + 1))
        case 3:
            return metrics.great_circle(np.array([[50.0, 8.0]]) + generator.uniform(-1, 1, (size, 2)), rate / 50)
        case _:
            return metrics.uniform(size, rate)


def random_channel(seed: int) -> Channel:
    """Of any family that serves, any prior and loss."""
    generator = np.random.default_rng(seed)
    metric = random_metric(generator)
    prior = generator.dirichlet(np.full(metric.size, 2.0)) + 1e-6
    loss: Any = ["distance", "squared", "zero_one", generator.uniform(0, 1, (metric.size, 3))][int(generator.integers(4))]
    problem = ReportProblem(metric, prior=prior / prior.sum(), loss=loss)
    for family in generator.permutation(problem.families).tolist():
        try:
            return design_report(problem, family).mechanism
        except DesignFailed:
            continue
    raise AssertionError("no family serves")


@pytest.mark.parametrize("seed", [*range(40), 963])
def test_every_pair_of_a_random_channel_is_within_its_budget(seed: int) -> None:
    made = random_channel(seed)
    assert keeps(made) and made.privacy.holds
    assert {sum(row) for row in made.numerators} == {made.denominator}


@pytest.mark.heavy
def test_every_pair_of_a_thousand_random_channels_is_within_its_budget() -> None:
    for seed in range(1000):
        assert keeps(random_channel(seed)), seed


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("loss", ["distance", "zero_one"])
@pytest.mark.parametrize("points", [GRID[:2], GRID], ids=len)
@pytest.mark.parametrize("budget", [11.2, 20.0, 50.0, 300.0, 700.0, 709.0, 2000.0])
def test_large_budgets_are_kept_and_lose_no_more_than_at_half_of_them(budget: float, points: Any, loss: str) -> None:
    """Where next to nothing is lost, reduced costs vanish, and ratios leave the range of floats."""
    problem = ReportProblem(metrics.euclidean(points, budget), loss=loss)
    half = design(problem, "exponential")
    assert keeps(half.mechanism) and half.error <= math.fsum(math.exp(-budget / 2 * d) * d for d in range(1, 3)) * 6 + 1e-13
    for family in ("channel", "poles"):
        made = design(problem, family)
        assert keeps(made.mechanism) and made.error <= half.error * (1 + 1e-9)
        assert made.optimality is None or made.optimality.lower_bound <= made.error


@pytest.mark.parametrize("family", ["channel", "poles", "exponential"])
@pytest.mark.parametrize("budget", [0.8, 1.0, 4.0])
def test_the_certificate_is_tight_and_a_table_beyond_it_is_refused(family: str, budget: float) -> None:
    """One unit of 2^64 moved across a tight pair is seen."""
    made = design(ReportProblem(metrics.euclidean(GRID, budget)), family).mechanism
    assert made.privacy.worst_ratio <= 1 and keeps(made)
    x, other = made.privacy.witness.left, made.privacy.witness.right
    gaps = [abs(math.log(p / q)) for p, q in zip(made.numerators[x], made.numerators[other], strict=True)]
    z = int(np.argmax(gaps))
    if made.numerators[x][z] < made.numerators[other][z]:
        x = other
    rows = [list(row) for row in made.numerators]
    step = math.ceil(rows[x][z] * math.expm1(1e-6 + max(0.0, float(1 - made.privacy.worst_ratio)) * budget * 3))
    spare = next(k for k in np.argsort(rows[x])[::-1] if k != z)
    rows[x][z], rows[x][spare] = rows[x][z] + step, rows[x][spare] - step
    with pytest.raises((NotPrivate, InvalidProblem)):
        Channel(made.relation, made.elements, made.reports, rows, made.denominator, made.prior, made.losses)


@pytest.mark.parametrize("rows", [((1, 9), (4, 6)), ((4, 6), (1, 9))])
def test_a_pair_is_compared_both_ways(rows: Any) -> None:
    with pytest.raises(NotPrivate, match="report a"):
        Channel(metrics.uniform(2, 1.0), ["a", "b"], ["a", "b"], rows, 10, [0.5, 0.5], 1 - np.eye(2))


def test_the_least_useful_channel_says_the_same_whoever_reports() -> None:
    made = design(ReportProblem(metrics.euclidean(GRID, 0.05)), "channel").mechanism
    assert made.reports == ("e4",) and made.privacy.worst_ratio == 0 and made.report(0) == 0
    with pytest.raises(InvalidProblem, match="queries: the channel has 9 values and 1 reports"):
        made.estimate([0, 0])


def test_the_last_unit_of_a_whole_number_is_seen() -> None:
    """A ratio that floats cannot tell from exp(b): one over the exact floor is refused, the floor is not."""
    budget, total = Fraction(1), 1 << 300
    share = fraction_below(lambda: exp_ball(budget) / (1 + exp_ball(budget)), 400)
    most = int(share * total) - (1 << 110)  # the rational below exp(b) has 192 digits
    both = ("a", "b")
    loss = [[0.0, 1.0], [1.0, 0.0]]
    relation = metrics.uniform(2, 1.0)
    kept = Channel(relation, both, both, ((most, total - most), (total - most, most)), total, [0.5, 0.5], loss)
    assert keeps(kept) and float(kept.privacy.worst_ratio) == 1.0
    over = most + (1 << 120)
    with pytest.raises(NotPrivate, match="report a"):
        Channel(relation, both, both, ((over, total - over), (total - over, over)), total, [0.5, 0.5], loss)


@pytest.mark.parametrize("total", [1, 2, 3, 2**64 - 1, 2**64, 2**64 + 1, 3 * 2**100])
def test_uniform_whole_numbers_are_below_and_even(total: int) -> None:
    drawn = uniform_below(total, 4000, SeededEntropy(5))
    assert all(0 <= number < total for number in drawn)
    cells = min(total, 8)
    hits = np.bincount([number * cells // total for number in drawn], minlength=cells)
    assert cells == 1 or chi2.sf(((hits - 4000 / cells) ** 2 / (4000 / cells)).sum(), cells - 1) > FAILURE


def test_what_has_no_weight_is_never_drawn() -> None:
    assert set(draw_from_table([0, 1, 0, 2, 0], 200, SeededEntropy(2)).tolist()) == {1, 3}


@pytest.mark.parametrize(("size", "factor"), [(500_000, 1.02), pytest.param(2_000_000, 1.01, marks=pytest.mark.nightly)])
def test_draws_follow_the_table_and_one_that_is_a_little_off_is_seen(size: int, factor: float) -> None:
    """By a factor whose square is told by the draws equally well in both cases."""
    weights = (5, 1, 2**70, 2**70, 2**69)
    hits = np.bincount(draw_from_table(weights, size, SeededEntropy(11)), minlength=5)
    law = np.array([w / sum(weights) for w in weights])
    off = law * np.array([1, 1, factor, 1, 1])
    for chances, same in ((law, True), (off / off.sum(), False)):
        seen = chances * size > 5
        statistic = ((hits[seen] - chances[seen] * size) ** 2 / (chances[seen] * size)).sum()
        assert bool(chi2.sf(statistic, seen.sum() - 1) > 1e-6) is same


def test_reports_of_a_frozen_channel_follow_its_row() -> None:
    made = design(ReportProblem(UNIFORM, loss="zero_one", elements=["x", "y", "z"]), "randomised_response").mechanism
    drawn = [made.report("y") for _ in range(3000)]
    hits = np.array([drawn.count(name) for name in ("x", "y", "z")])
    law = made.channel[1] * 3000
    assert chi2.sf(((hits - law) ** 2 / law).sum(), 2) > FAILURE
    assert made.report(1) in (0, 1, 2) and made.report("y") in ("x", "y", "z")
    for wrong in ("w", 3, -1, None, True, 1.0):
        with pytest.raises(InvalidProblem, match="value: is neither") as refused:
            made.report(wrong)
        assert "w" not in str(refused.value).split()


def test_a_spec_is_loaded_as_it_was_saved_and_verified_deeply(tmp_path: Any) -> None:
    made = design(ReportProblem(metrics.euclidean(GRID, 1.0)), "poles").mechanism
    again = load(made.save(tmp_path / "channel.json"))
    assert again == made and again.channel.tolist() == made.channel.tolist() and again.loss == made.loss
    verdict = audit(made, power=TestPower(sees=0.05), seconds=2, seed=3)
    assert verdict.holds
    (found,) = (finding for finding in verdict.findings if finding.subject == SUBJECT)
    assert found.manner == "proven" and "second verifier" in found.words


def test_a_release_counts_the_reports_of_everybody() -> None:
    made = design(ReportProblem(metrics.line([0.0, 1.0, 2.0], 1, 2.0)), "geometric", remap=False).mechanism
    released = made.release([5, 0, 9])
    assert released.counts.sum() == 14 and released.estimate is not None
    assert released.answer_tables()[0].answers.sum() == pytest.approx(14)
    drawn = made.simulate(200, 3, data=[5, 0, 9])
    assert drawn.counts.shape == (200, 3) and (drawn.counts.sum(axis=1) == 14).all() and "not private" in drawn.stamp


POINTS = metrics.euclidean(GRID, 1.0)
REFUSED: list[tuple[Any, str]] = [
    (lambda: ReportProblem(metrics.add_remove(3, 1.0)), "metric: .* is no metric"),
    (lambda: ReportProblem(metrics.partition(["a", "a", "b"], 1.0)), "metric: has infinite budgets"),
    (lambda: ReportProblem(metrics.euclidean([[0.0], [0.0], [1.0]])), "have budget 0"),
    (lambda: ReportProblem(metrics.uniform(1, 1.0)), "has one element"),
    (lambda: ReportProblem(UNIFORM, prior=[0.5, 0.5, 0.0]), "prior: entry 2 is 0.0"),
    (lambda: ReportProblem(UNIFORM, prior=[0.5, 0.5, 0.5]), "prior: sums to 1.5"),
    (lambda: ReportProblem(UNIFORM, prior=[0.5, 0.5]), "prior: 2 probabilities for 3"),
    (lambda: ReportProblem(UNIFORM, loss="absolute"), "loss: 'absolute' is unknown"),
    (lambda: ReportProblem(UNIFORM, loss=[[0, 1], [1, 0]]), "loss: shape"),
    (lambda: ReportProblem(UNIFORM, loss=[[0, 1], [1, 0], [1, -1]]), "least entry -1"),
    (lambda: ReportProblem(POINTS, [[0.0, 1.0]], loss=lambda value, report: 1.0), "a function is of names"),
    (lambda: ReportProblem(UNIFORM, loss=lambda value, report: -1.0), "least entry -1"),
    (lambda: ReportProblem(UNIFORM, loss=lambda value, report: None), "loss: entries"),
    *((lambda gap=gap: design(ReportProblem(POINTS), "channel", gap=gap), "gap: ") for gap in (0, -1, 1, "x", math.nan)),
    (lambda: ReportProblem(UNIFORM, ["e0", "e9"]), "reports: 'e9' is no element"),
    (lambda: ReportProblem(UNIFORM, [[0.0, 1.0]]), "the metric has no points"),
    (lambda: ReportProblem(POINTS, [[0.0, 1.0, 2.0]]), "points of 2 coordinates"),
    (lambda: ReportProblem(POINTS, [[0.0, 1.0]], loss="zero_one"), "'zero_one' compares values"),
    (lambda: ReportProblem(metrics.uniform(4001, 1.0)), "4001 elements"),
    (lambda: design(ReportProblem(POINTS), "randomised_response"), "has several; use"),
    (lambda: design(ReportProblem(POINTS), "geometric"), "values on a line"),
    (lambda: design(ReportProblem(metrics.uniform(40, 0.1)), "subset_selection"), "too many to write out"),
    (lambda: design(ReportProblem(metrics.uniform(3, 1e-13)), "exponential"), "is too small for the denominator"),
    (lambda: design(ReportProblem(POINTS), "poles", remap=True), "options: "),
    (lambda: Channel(UNIFORM, None, None, ((1, 0), (1, 0), (1, 0)), 1, [1 / 3] * 3, np.ones((3, 2))), "above 0"),
    (lambda: Channel(UNIFORM, None, None, ((1, 2), (1, 2), (2, 2)), 3, [1 / 3] * 3, np.ones((3, 2))), "row 2 does not sum"),
    (lambda: Channel(UNIFORM, None, None, ((1, 2), (1, 2)), 3, [1 / 3] * 3, np.ones((3, 2))), "2 rows for 3"),
]


@pytest.mark.parametrize("call, words", REFUSED, ids=[words for _, words in REFUSED])
def test_bad_input_is_refused_in_one_line(call: Any, words: str) -> None:
    with pytest.raises((InvalidProblem, DesignFailed), match=words) as refused:
        call()
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 400


def test_a_loss_may_be_a_function_of_names() -> None:
    """The same problem as with its matrix, and with losses that stay when budgets change."""
    kinds = {"home": "quiet", "work": "loud", "bar": "loud"}
    made = ReportProblem(UNIFORM, ["quiet", "loud"], loss=lambda value, said: float(kinds[value] != said), elements=list(kinds))
    assert made.losses.tolist() == [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]
    assert made.with_budgets_times(2).losses.tolist() == made.losses.tolist()
    plain = ReportProblem(UNIFORM, ["quiet", "loud"], loss=made.losses, elements=list(kinds))
    assert design(made, "channel").mechanism == design(plain, "channel").mechanism


def test_a_broken_triangle_names_the_way_round() -> None:
    class Broken(type(UNIFORM)):  # type: ignore[misc]
        def rectangle(self, rows: slice, columns: slice) -> Any:
            return np.array([[0, 1, 5.0], [1, 0, 1], [5, 1, 0]])[rows, columns]

        def require_symmetric(self, field: str) -> None:
            """It is: only the way round is at fault."""

    with pytest.raises(
        InvalidProblem, match=r"breaks the triangle inequality: the budget of 'e0' and 'e2' is 5\.0, and 2\.0 by"
    ):
        ReportProblem(Broken(3, 1.0))

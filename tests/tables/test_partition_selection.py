"""Groups found privately, and quantiles: exact laws of what is released, on neighbouring tables."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from designer import InvalidProblem, NotPrivate
from designer.tables import Count, Groups, Measure, PartitionSelection, Quantile, Sum, TablePlan, UnitSplitting
from designer.tables.aggregates import cell_counts
from designer.tables.partition_selection import delta_of_rows, tail_above
from designer.tables.scans import numbers
from tests.oracles.goodness_of_fit import FAILURE_PROBABILITY
from tests.oracles.records_tables import on_duckdb

EMP = Measure("emp", upper=10**6)
SPLITTING = UnitSplitting([EMP], [50])
REACH = 4000


def gaussian(variance: Fraction) -> np.ndarray:
    """P(Z = z) for z = -REACH .. REACH."""
    z = np.arange(-REACH, REACH + 1, dtype=np.float64)
    weights = np.exp(-(z**2) / (2 * float(variance)))
    return np.asarray(weights / weights.sum())


def exact_tail(t: int, variance: Fraction) -> float:
    return float(gaussian(variance)[REACH + t :].sum()) if t <= REACH else 0.0


@pytest.mark.parametrize("variance", [Fraction(1, 4), Fraction(1), Fraction(7, 3), Fraction(40), Fraction(10**4)])
def test_tail_bound_is_above_the_exact_tail_and_close(variance: Fraction) -> None:
    deviation = math.sqrt(variance)
    for sigmas in (0.5, 1, 2, 4, 6, 8):
        t = math.ceil(sigmas * deviation)
        exact, bound = exact_tail(t, variance), tail_above(t, variance)
        assert exact <= bound * (1 + 1e-12)
        assert bound <= exact * 1.03
    assert tail_above(0, variance) == 1.0 == tail_above(-5, variance)


def test_found_groups_come_in_order_whatever_the_engine_says() -> None:
    """The order in which an engine finds groups is that of records: groups are sorted, each with its own numbers."""
    level = Groups(["state"], selection=PartitionSelection("1/100", 2))
    names = [f"{k * 7919 % 997:03d}" for k in range(60)]
    plan = TablePlan((Count("n", level, variance="1/100"),))
    rows = [{"id": i, "state": name, "county": 1, "naics": "11", "emp": 1, "pay": 1.0} for i, name in enumerate(5 * names)]
    for given in (rows, rows[::-1]):
        answer = plan.release(on_duckdb(given)).answers["n"]
        assert [key[0] for key in answer.keys] == sorted(names)  # noise of variance 1/100 is 0 but with probability e^-50
        assert answer.values.tolist() == [5.0] * len(names)


@pytest.mark.parametrize("at_most", [None, 1, 6])
@pytest.mark.parametrize("delta", [0.01, 1e-6, 1e-12])
def test_the_threshold_keeps_delta_and_none_much_lower_does(delta: float, at_most: int | None) -> None:
    found = PartitionSelection.design("1/32", delta, SPLITTING, at_most)
    assert found.variance == 16
    most = at_most or 1
    assert exact_tail(found.threshold - most, found.variance) <= found.delta <= delta
    assert exact_tail(found.threshold - 1 - most, found.variance) > delta * 0.97


def test_the_whole_mechanism_is_approximately_zcdp_record_by_record() -> None:
    """A group found, and its sum if it is: the exact joint law with and without one record.

    Where the record has company, the divergence is within alpha P(r).
    Where it is alone, all that can differ is the group's being found: delta(r).
    """
    found = PartitionSelection.design("1/8", 1e-3, SPLITTING)
    level = Groups(["state"], selection=found)
    plan = TablePlan((Sum("jobs", level, variance=900, measure=EMP),))
    for emp in (0, 20, 50, 51, 120, 400, 5000):
        record = {"state": "DE", "emp": emp}
        rows = found.contribution(record)
        assert exact_tail(found.threshold - rows, found.variance) <= plan.delta(record)
        assert plan.loss(record) == Fraction(emp**2, 1800) + Fraction(rows**2, 8)
        company = 3  # split rows of the others in the group
        for alpha in (1.1, 2.0, 5.0):
            divergence = selected_divergence(found, company, rows, alpha) + alpha * emp**2 / 1800
            assert divergence <= alpha * float(plan.loss(record)) * (1 + 1e-9)


def selected_divergence(found: PartitionSelection, company: int, rows: int, alpha: float) -> float:
    """D_alpha, in the worse direction, of "found or not" with `company + rows` and with `company` split rows."""
    with_it, without = (exact_tail(found.threshold - n, found.variance) for n in (company + rows, company))
    pairs = [((p, 1 - p), (q, 1 - q)) for p, q in ((with_it, without), (without, with_it))]
    sums = [sum(a**alpha * max(b, 1e-300) ** (1 - alpha) for a, b in zip(p, q, strict=True)) for p, q in pairs]
    return math.log(max(sums)) / (alpha - 1)


def test_large_records_are_found_and_pay_for_it() -> None:
    found = PartitionSelection.design("1/8", 1e-9, SPLITTING)
    deltas = [found.delta_of(found.contribution({"emp": emp})) for emp in (0, 50, 51, 500, 10**6)]
    assert deltas == sorted(deltas) and deltas[0] == deltas[1] <= 1e-9 and deltas[-1] == 1.0
    assert not found.uniform
    capped = PartitionSelection.design("1/8", 1e-9, SPLITTING, at_most=4)
    assert capped.uniform and all(capped.delta_of(capped.contribution({"emp": emp})) <= 1e-9 for emp in (0, 500, 10**6))
    plan = TablePlan((Count("n", Groups(["state"], selection=found), variance=1),))
    assert any("makes the group appear with probability delta(r)" in line for line in plan.guarantee.unprotected)
    assert plan.guarantee.parameters["delta_of_one_row"] == pytest.approx(found.delta)
    assert "delta(r)-approximate" in plan.guarantee.notion
    for level, delta in ((Groups(["state"], selection=capped), capped.delta), (Groups(), 0.0)):
        assert TablePlan((Count("n", level, variance=1),)).guarantee.parameters["delta"] == pytest.approx(delta)


def test_a_split_row_pays_for_being_found() -> None:
    """The rate of a plan is attained by a record of one row; the bound of sums is that of the largest record."""
    plan = TablePlan(
        (Sum("jobs", Groups(["state"], selection=PartitionSelection(4, 20, SPLITTING)), variance=1250, measure=EMP),), SPLITTING
    )
    assert plan.rho == 1 + Fraction(1, 8) == plan.loss({"state": "DE", "emp": 50})
    own = UnitSplitting(
        [EMP, Measure("pay", "0.01", lower=-100, upper=2000)], [50, 7], "state", {"DE": [3, "0.5"], "RI": [999, 2000]}
    )
    largest = {"state": "DE", "emp": math.inf, "pay": math.inf}
    assert PartitionSelection(1, 5, own).bound == own.splits(largest) == 333_334
    assert PartitionSelection(1, 5, own, 12).bound == 12
    assert PartitionSelection(1, 5).bound == 1


def test_groups_are_found_as_often_as_the_law_says() -> None:
    """100 groups of each size; a binomial test of each size with Bonferroni."""
    from scipy import stats

    pytest.importorskip("ibis")
    found = PartitionSelection.design("1/8", 0.02, UnitSplitting([EMP], [50]))
    level, sizes = Groups(["state"], selection=found), (1, 3, found.threshold, found.threshold + 3)
    rows = [
        {"id": 0, "state": f"{size}-{i}", "county": 1, "naics": "", "emp": 50 * size - 7, "pay": 0.0}
        for size in sizes
        for i in range(400)
    ]
    rows.append({**rows[0], "state": None})
    answer = TablePlan((Count("n", level, variance=1),), unlisted="drop").simulate(1, seed=17, data=on_duckdb(rows))[0]["n"]
    seen = {size: sum(labels[0].startswith(f"{size}-") for labels in answer.keys) for size in sizes}
    for size in sizes:
        chance = exact_tail(found.threshold - size, found.variance)
        assert stats.binomtest(seen[size], 400, chance).pvalue > FAILURE_PROBABILITY
    assert seen[sizes[2]] > 150


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 5), "variance: 0.0 is not in"),
        ((1, 1), "threshold: 1 is not a whole number of at least 2"),
        ((1, 5, None, 3), "give a splitting"),
        ((1, 5, SPLITTING, 0), "at_most"),
    ],
)
def test_refusals_of_selections(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(InvalidProblem, match=message):
        PartitionSelection(*arguments)  # type: ignore[arg-type]
    with pytest.raises(InvalidProblem, match="delta"):
        PartitionSelection.design(1, 1.5)


GRID = (0, 10, 20, 50)


def quantile(q: float, rho: str, candidates: tuple[int, ...] = GRID) -> Quantile:
    return Quantile("q", Groups(["state"], [["DE"], ["RI"]]), (), EMP, q, candidates, Fraction(rho))


def cell_of(value: int, candidates: tuple[int, ...]) -> int:
    return sum((candidate < value) + (candidate <= value) for candidate in candidates)


@pytest.mark.parametrize("q", [0.5, 0.9, 0.25])
@pytest.mark.parametrize("rho", ["1/50", "1/2", "3"])
def test_a_quantile_is_zcdp_on_all_small_neighbours(q: float, rho: str) -> None:
    """Every histogram of up to 3 records in the 7 cells, every record added: Renyi divergences of the exact laws, both ways."""
    choice = quantile(q, rho, GRID[:3]).choice
    cells, worst = choice.score.size, 0.0
    for histogram in itertools.product(range(4), repeat=cells):
        if sum(histogram) > 3:
            continue
        law = choice.probabilities(list(histogram))
        for cell in range(cells):
            other = choice.probabilities([n + (i == cell) for i, n in enumerate(histogram)])
            for alpha in (1.001, 1.5, 3.0, 10.0):
                for p, r in ((law, other), (other, law)):
                    worst = max(worst, math.log((p**alpha * r ** (1 - alpha)).sum()) / (alpha - 1) / alpha)
    assert float(Fraction(rho)) * 0.05 <= worst <= float(Fraction(rho)) * (1 + 1e-9)


def test_quantiles_of_groups_are_near_the_truth() -> None:
    pytest.importorskip("ibis")
    generator = np.random.default_rng(3)
    sizes = {"DE": generator.pareto(1.2, 3000) * 10, "RI": generator.pareto(1.2, 2000) * 40}
    rows = [
        {"id": 0, "state": state, "county": 1, "naics": "", "emp": int(x), "pay": 0.0}
        for state, xs in sizes.items()
        for x in xs
    ]
    grid = tuple(range(0, 200, 2))
    asked = Quantile("median", Groups(["state"], [["DE"], ["RI"], ["CT"]]), (), EMP, 0.5, grid, Fraction(1))
    counts = cell_counts(asked, on_duckdb(rows))
    for state, xs in sizes.items():
        cells = np.searchsorted(grid, xs.astype(int), side="left") + np.searchsorted(grid, xs.astype(int), side="right")
        np.testing.assert_array_equal(counts[state,], np.bincount(cells, minlength=2 * len(grid) + 1))
    answer = TablePlan((asked,)).simulate(1, seed=4, data=on_duckdb(rows))[0]["median"]
    assert answer["DE"] == pytest.approx(np.median(sizes["DE"].astype(int)), abs=4)
    assert answer["RI"] == pytest.approx(np.median(sizes["RI"].astype(int)), abs=6)
    assert answer["CT"] in grid and answer.variances is None


def test_a_rate_that_is_too_large_is_not_private() -> None:
    made = quantile(0.5, "1/2")
    assert made.rate is not None
    with pytest.raises(NotPrivate):
        Quantile(made.name, made.groups, (), EMP, 0.5, GRID, made.rho, made.rate * 1.001)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q": 1.0}, "q: 1.0"),
        ({"candidates": (1,)}, "2 to 256 whole numbers"),
        ({"candidates": (1, 1)}, "must rise"),
        ({"candidates": (1, "3/2")}, "whole numbers of steps"),
        ({"rho": 0}, "rho: 0.0"),
        ({"measure": None}, "needs a Measure and public groups"),
        ({"groups": Groups(["state"], selection=PartitionSelection(1, 5))}, "public groups"),
    ],
)
def test_refusals_of_quantiles(change: dict[str, object], message: str) -> None:
    given = {"name": "q", "groups": Groups(), "measure": EMP, "q": 0.5, "candidates": GRID, "rho": 1, **change}
    with pytest.raises(InvalidProblem, match=message):
        Quantile(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("candidates", [(0, 10, 20), (-30, -10, 10, 30), (0, 10, 25)], ids=["even", "about 0", "uneven"])
def test_cells_of_a_quantile_count_values_beyond_all_candidates_too(candidates: tuple[int, ...]) -> None:
    """A cell is how many candidates are below the value and how many at most it; values far below the first lie there."""
    values = [-100, -51, -50, -31, -30, -29, -10, -9, -1, 0, 1, 9, 10, 11, 20, 21, 25, 26, 30, 31, 99, 100]
    measure = Measure("emp", lower=-100, upper=100)
    asked = Quantile("middle", Groups(), (), measure, 0.5, candidates, "1/4")
    rows = [{"id": i, "state": "DE", "county": 1, "naics": "11", "emp": value, "pay": 1.0} for i, value in enumerate(values)]
    cells = [cell_of(value, candidates) for value in values]
    assert cell_counts(asked, on_duckdb(rows))[()].tolist() == [cells.count(k) for k in range(2 * len(candidates) + 1)]


@pytest.mark.parametrize("q", [0.5, 0.9, 0.25])
def test_scores_of_candidates_are_how_far_their_ranks_are_from_the_quantile(q: float) -> None:
    values = [0, 0, 3, 10, 10, 11, 20, 49, 50, 51, 60]
    for candidate, score in zip(GRID, scores_of(quantile(q, "1"), values), strict=True):
        assert score == pytest.approx(rank_error(candidate, q, values), abs=1e-12)


def scores_of(asked: Quantile, values: list[int]) -> list[float]:
    cells = [cell_of(value, GRID) for value in values]
    scores, step = asked.choice.score.exact(np.bincount(cells, minlength=2 * len(GRID) + 1))
    return [float(score * step) for score in scores]


def rank_error(candidate: int, q: float, values: list[int]) -> float:
    """`-max(0, q n - #{x <= g}, #{x < g} - q n)` by counting values, those that equal a candidate among them."""
    at_most, below = sum(value <= candidate for value in values), sum(value < candidate for value in values)
    return -max(0, q * len(values) - at_most, below - q * len(values))


@pytest.mark.parametrize("q", [0.5, 0.75, 0.25])  # 4 values reach the bound
def test_a_record_moves_scores_of_a_quantile_apart_by_no_more_than_is_proven(q: float) -> None:
    """All data of up to 4 values at, below and between three candidates, by the definition: one more value moves scores apart
    by at most twice the larger of q and 1 - q, one that changes by at most 2, and both are reached."""
    grid, values = (1, 3, 5), range(7)

    @functools.cache
    def scores(data: tuple[int, ...]) -> list[float]:
        return [rank_error(candidate, q, list(data)) for candidate in grid]

    def apart(one: tuple[int, ...], other: tuple[int, ...]) -> float:
        moved = [a - b for a, b in zip(scores(tuple(sorted(one))), scores(tuple(sorted(other))), strict=True)]
        return max(moved) - min(moved)

    data = [own for n in range(5) for own in itertools.combinations_with_replacement(values, n)]
    assert max(apart(own, (*own, x)) for own in data for x in values) == 2 * max(q, 1 - q)
    assert max(apart((*own, x), (*own, y)) for own in data for x in values for y in values) == 2
    made = quantile(q, "1/2", grid).choice
    assert made.rate * 2 * max(q, 1 - q) == pytest.approx(2, rel=1e-10)  # the budget sqrt(8 rho)


@pytest.mark.parametrize(
    ("q", "values"), [(0.5, [40] * 20_000), (0.9, [40] * 20_000), (0.5, [3] * 99 + [40] * 802 + [60] * 99)]
)
def test_a_quantile_that_many_records_equal_is_found(q: float, values: list[int]) -> None:
    """By the exact law: the other candidates have less than 1 in a million."""
    made = quantile(q, "1", tuple(range(0, 101, 5)))
    cells = np.bincount([cell_of(value, tuple(range(0, 101, 5))) for value in values], minlength=made.choice.score.size)
    assert made.choice.probabilities(cells)[8] > 1 - 1e-6


@pytest.mark.parametrize("at_most", [None, 1, 3])
def test_the_engine_counts_the_split_rows_that_records_contribute(at_most: int | None) -> None:
    """By a loop over records: 1 to 4 rows of 50 each, and no more of a record than its cap."""
    selection = PartitionSelection("1/4", 9, SPLITTING, at_most)
    level = Groups(["state"], selection=selection)
    rows = [
        {"id": i, "state": "DE" if i % 3 else "RI", "county": 1, "naics": "11", "emp": 17 * i, "pay": 1.0} for i in range(12)
    ]
    found = numbers(level, [Count("n", level, variance=1)], on_duckdb(rows))
    for state in ("DE", "RI"):
        own = [selection.contribution(row) for row in rows if row["state"] == state]
        assert found[state,] == [len(own), sum(own)]


def ways(rows: int, most: int) -> Iterator[tuple[int, ...]]:
    """All ways to write a number as a sum of positive ones, none above `most`."""
    if not rows:
        yield ()
    for first in range(1, min(rows, most) + 1):
        yield from ((first, *rest) for rest in ways(rows - first, first))


@pytest.mark.parametrize("rows", [1, 2, 3, 5])
@pytest.mark.parametrize("threshold", [4, 9])
def test_the_delta_of_several_rows_covers_every_way_that_they_lie_in_groups(rows: int, threshold: int) -> None:
    """By the exact tails of the law that is summed up here."""
    selection = PartitionSelection(Fraction(2), threshold)
    worst = max(sum(exact_tail(threshold - part, Fraction(2)) for part in way) for way in ways(rows, rows))
    assert min(1.0, worst) <= delta_of_rows(selection, rows)
    assert delta_of_rows(selection, rows) <= rows * worst * 1.05

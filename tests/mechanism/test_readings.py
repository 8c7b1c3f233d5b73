"""Estimates of one count at a public number of records: values worked out elsewhere, the program over all mechanisms, laws
written out, drawn noise, and what is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import chdir
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from designer import InvalidProblem, Problem, Workload, design, metrics
from designer.cli.entry import main
from designer.mechanism.additive import AdditiveMechanism
from designer.mechanism.readings import MinimaxReading, ReadAnswer, minimax_reading
from tests.oracles.public_records import least_loss


@cache
def one_count(budget: float) -> AdditiveMechanism:
    """The number of records of one kind, each of which may change at this budget."""
    made = design(Problem(Workload([[1, 0]], ["yes"]), metrics.uniform(2, budget)), "laplace").mechanism
    assert isinstance(made, AdditiveMechanism)
    return made


def law(budget: float, n: int) -> np.ndarray:
    """The chance of each noisy count between the ends at each count, from sums of the two-sided geometric law."""
    a, x = math.exp(-budget), np.arange(n + 1)
    reach = np.arange(-2000, 2001)
    masses = (1 - a) / (1 + a) * a ** np.abs(reach)
    chances = np.zeros((n + 1, n + 1))
    for count in x:
        np.add.at(chances[count], np.clip(count + reach, 0, n), masses)
    return chances


# Records, budget, least worst-case squared error, and that without a bias, to the digits that are written, some rounded
# up.
VALUES = """
1 1 0.196612 0.920674, 2 1 0.518581 1.346133, 4 1 0.882793 1.659168, 6 1 1.111647 1.774327, 10 1 1.384188 1.832277,
16 1 1.581009 1.840896, 1 0.1 0.249376 99.92, 2 0.1 0.990515 104.9, 6 0.1 8.34586 122.1, 10 0.1 20.7200 136.2,
16 0.1 42.3559 152.7, 40 0.1 95.1598 185.6, 100 0.1 149.395 199.1, 1 0.5 0.235004 3.9177, 4 0.5 2.186809 6.0412,
16 0.5 5.379994 7.7461, 40 0.5 7.002010 7.8352, 1 2 0.104994 0.181015, 2 2 0.176202 0.318876, 6 2 0.293571 0.361240,
10 2 0.328347 0.362016, 16 2 0.346319 0.362031
"""


@pytest.mark.parametrize("case", " ".join(VALUES.split()).split(", "))
def test_errors_are_those_of_the_table(case: str) -> None:
    n, budget, *values = case.split()
    made = one_count(float(budget))
    found, even = minimax_reading(made, int(n)), minimax_reading(made, int(n), unbiased=True)
    assert found.at_least <= found.at_most <= found.at_least * (1 + 2e-8)
    for value, error in zip(values, (found.at_most, even.at_most), strict=True):
        assert error == pytest.approx(float(value), abs=10.0 ** -len(value.partition(".")[2]))
    assert even.bias < 1e-8 and even.at_least == found.at_least


def test_the_bias_is_largest_at_the_ends() -> None:
    assert minimax_reading(one_count(1.0), 6).bias == pytest.approx(0.71, abs=0.005)


@pytest.mark.parametrize(("n", "budget", "loss"), [(6, 1.0, "squared"), (5, 0.3, "absolute"), (30, 0.2, "squared")])
def test_the_bounds_are_those_of_the_law_written_out(n: int, budget: float, loss: str) -> None:
    found = minimax_reading(one_count(budget), n, loss=loss)  # type: ignore[arg-type]
    x, chances, table = np.arange(n + 1), law(budget, n), np.array(found.table, dtype=float)
    power = 2 if loss == "squared" else 1
    errors = (chances * np.abs(table - x[:, None]) ** power).sum(axis=1)
    assert found.at_most == pytest.approx(errors.max(), rel=1e-9)
    assert found.bias == pytest.approx(np.abs(chances @ table - x).max(), rel=1e-7, abs=1e-9)
    prior = np.array(found.prior, dtype=float)
    joint = (prior / prior.sum())[:, None] * chances
    means = x @ joint / joint.sum(axis=0)
    medians = np.array([x[np.searchsorted(np.cumsum(column), column.sum() / 2)] for column in joint.T])
    best = means if loss == "squared" else medians
    assert found.at_least == pytest.approx((joint * np.abs(best - x[:, None]) ** power).sum(), rel=1e-8)


@pytest.mark.parametrize(("n", "budget"), [(2, 1.0), (1, 0.5), (3, 2.0), (4, 0.3), (6, 1.0)])
def test_no_mechanism_that_columns_make_is_better(n: int, budget: float) -> None:
    found = minimax_reading(one_count(budget), n)
    reached, bound = least_loss(n, budget, unbiased=False)
    assert found.at_least <= reached * (1 + 1e-9) and bound <= found.at_most
    assert reached == pytest.approx(found.at_most, rel=3e-7)


@pytest.mark.parametrize("count", [0, 3, 6])
def test_drawn_noise_has_the_error_that_is_stated(count: int) -> None:
    """Of 40,000 draws the mean squared error is within five of its standard errors: 6e-7."""
    made = one_count(1.0)
    found, draws = minimax_reading(made, 6), count + np.asarray(made.simulate(40_000, seed=1))[:, 0]
    errors = (found.apply(draws) - count) ** 2
    assert errors.mean() == pytest.approx(found.at_most, abs=5 * errors.std() / 200)


@pytest.mark.nightly
def test_ten_thousand_records_have_a_table() -> None:
    found = minimax_reading(one_count(1.0), 10_000)
    assert found.at_least <= found.at_most <= found.at_least * (1 + 2e-8) and found.at_most < 1.841347


@pytest.mark.parametrize("budget", [1e-6, 50.0, 700.0])
def test_extreme_budgets_have_true_bounds(budget: float) -> None:
    found = minimax_reading(one_count(budget), 4)
    assert 0 < found.at_least <= found.at_most <= 4


def test_a_bound_holds_for_any_table_and_any_prior() -> None:
    best = minimax_reading(one_count(1.0), 4)
    clipped = tuple(map(Fraction, range(5)))
    other = MinimaxReading("yes", best.rates, best.budget, clipped, (1, 1, 1, 1, 1))
    assert other.at_least < best.at_least and other.at_most > best.at_most
    with pytest.raises(InvalidProblem, match="prior: is no weight"):
        MinimaxReading("yes", best.rates, best.budget, best.table, (1, 0, -1, 1, 1))


def test_a_weaker_guarantee_lowers_the_bound_and_not_the_error() -> None:
    """The bound speaks of the budget that was asked for, and not of the noise that is drawn."""
    made = one_count(1.0)
    strict = AdditiveMechanism(made.family, made.workload, metrics.uniform(2, 1.5), made.norm, made.grid)
    found, own = minimax_reading(strict, 6), minimax_reading(made, 6)
    assert found.at_most == own.at_most and found.at_least < 0.7 * own.at_least
    weak = minimax_reading(one_count(1.5), 6)
    assert found.at_least <= weak.at_least <= weak.at_most < own.at_least


def test_estimates_are_looked_up_and_end_at_the_ends() -> None:
    found = minimax_reading(one_count(1.0), 4)
    assert found.apply([-7, 0, 1, 2, 4, 99]).tolist() == pytest.approx(
        [0.252206, 0.252206, 1.095242, 2, 3.747794, 3.747794], abs=1e-6
    )
    with pytest.raises(InvalidProblem, match="answers: are not all whole numbers"):
        found.apply([0.5])
    assert "at most 0.882794" in found.sentence() and "less than 0.882793" in found.sentence()


def test_a_table_of_one_estimate_stands_beside_the_released_answer() -> None:
    made, given = one_count(1.0), {"name": "estimate", "reading": "yes", "records": 6}
    table = ReadAnswer.of(made, given)
    released = made.release([4, 2])
    found = table.table(made, released)
    assert found.answers.tolist() == minimax_reading(made, 6).apply(released.answers).tolist()
    assert found.standard_errors is None and "bias" in found.meaning
    with pytest.raises(InvalidProblem, match="intervals: none is known around an estimate"):
        found.intervals()
    with pytest.raises(InvalidProblem, match="is no answer"):
        ReadAnswer.of(made, {**given, "reading": "no"})
    with pytest.raises(InvalidProblem, match="not both"):
        ReadAnswer.of(made, {**given, "limit": 6})


@cache
def counts(cells: int, budget: float) -> AdditiveMechanism:
    """The counts of all kinds of records, with equal noise."""
    made = design(Problem(Workload.identity(cells), metrics.uniform(cells, budget)), "laplace").mechanism
    assert isinstance(made, AdditiveMechanism)
    return made


def tables_of(cells: int, n: int, most: int) -> Iterator[list[int]]:
    """All falling counts of so many cells that add up to n, none above `most`."""
    if cells == 1:
        yield from ([[n]] if n <= most else [])
        return
    for first in range(min(n, most), -(-n // cells) - 1, -1):
        yield from ([first, *rest] for rest in tables_of(cells - 1, n - first, first))


# Cells, records, budget, least worst-case error of all tables of estimates, found by generating tables.
@pytest.mark.parametrize(("cells", "n", "budget", "best"), [(8, 10, 1.0, 21.9652), (3, 6, 1.0, 8.6772), (50, 40, 1.0, 113.267)])
def test_the_bounds_of_a_table_hold_the_least_worst_error(cells: int, n: int, budget: float, best: float) -> None:
    found = minimax_reading(counts(cells, budget), n)
    assert 0.98 * found.at_most < found.at_least <= best + 5e-5 and best <= found.at_most * 1.001
    assert found.at_most < 0.5 * counts(cells, budget).error()


@pytest.mark.parametrize(("cells", "n", "budget"), [(3, 6, 1.0), (8, 10, 1.0), (5, 4, 0.4), (2, 7, 3.0)])
def test_no_table_of_estimates_is_better_against_all_tables_written_out(cells: int, n: int, budget: float) -> None:
    found, x, chances = minimax_reading(counts(cells, budget), n), np.arange(n + 1), law(budget / 2, n)
    held = np.array([np.bincount(own, minlength=n + 1) for own in tables_of(cells, n, n)])

    def errors(table: np.ndarray) -> np.ndarray:
        return np.asarray(held @ (chances * (table - x[:, None]) ** 2).sum(axis=1))

    frozen = np.array(found.table, dtype=float)
    assert errors(frozen).max() <= found.at_most * (1 + 1e-12)
    within: Any = {"type": "ineq", "fun": lambda v: v[-1] - errors(v[:-1])}
    start = np.append(frozen, errors(frozen).max())
    best = minimize(lambda v: float(v[-1]), start, constraints=within, method="SLSQP", options={"ftol": 1e-12, "maxiter": 300})
    assert found.at_least <= best.fun * (1 + 1e-7) and best.fun <= found.at_most * (1 + 1e-7)
    assert found.at_least > 0.98 * found.at_most


def test_estimates_of_a_table_stand_beside_its_answers() -> None:
    made = counts(3, 1.0)
    released = made.release([4, 2, 0])
    found = ReadAnswer.of(made, {"name": "estimates", "reading": "answers", "records": 6}).table(made, released)
    assert found.keys == released.answer_tables()[0].keys
    assert found.answers.tolist() == minimax_reading(made, 6).apply(released.answers).tolist()
    assert "3 counts that add up to 6" in found.meaning


def test_many_counts_of_slightly_different_noise_are_read_together() -> None:
    made = counts(50, 1.0)
    found = minimax_reading(made, 100)
    assert len({*found.rates}) > 1 and 178 < found.at_least <= found.at_most < 179.91 < 0.5 * made.error()


def test_crowded_counts_are_published_as_they_are() -> None:
    with pytest.raises(InvalidProblem, match="n: 49 records are too many for 3 counts"):
        minimax_reading(counts(3, 1.0), 49)
    with pytest.raises(InvalidProblem, match="loss"):
        minimax_reading(counts(3, 1.0), 6, loss="absolute")


PROBLEM = """
[domain]
vote = ["no", "yes"]
[workload]
predicates = { yes = { vote = ["yes"] } }
[relation]
metric = "uniform"
epsilon = 1.0
[about.units]
yes = "votes"
[[derived]]
name = "estimate"
reading = "yes"
records = 6
"""


@pytest.mark.nightly
def test_a_problem_file_asks_for_an_estimate_beside_the_answer(tmp_path: Path, capsys: Any) -> None:
    with chdir(tmp_path):
        Path("p.toml").write_text(PROBLEM)
        Path("t.csv").write_text("vote\n" + "yes\n" * 3 + "no\n" * 3)
        assert main(["design", "p.toml", "-o", "s.json"]) == 0
        assert main(["release", "s.json", "--table", "t.csv", "-o", "a/", "--derived", "p.toml"]) == 0
        assert main(["verify", "s.json", "a/release.json"]) == 0
        released = json.loads(Path("a/release.json").read_text())["answers"]["yes"]
        estimate = Path("a/estimate.csv").read_text().split(",")[-1]
        assert [float(estimate)] == minimax_reading(one_count(1.0), 6).apply([released]).tolist()
        assert "squared error is at most 1.11165" in Path("a/README.md").read_text()
        capsys.readouterr()
        assert main(["tables", "s.json", "a/release.json", "--derived", "p.toml"]) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert "average or add up released answers, not estimates" in said and said.count("votes") == 2
        Path("bad.toml").write_text(PROBLEM.replace("records = 6", "records = 0"))
        assert main(["release", "s.json", "--table", "t.csv", "-o", "b/", "--derived", "bad.toml"]) == 2
        assert not Path("b").exists()


UNEVEN = [[0.0, 1.0, 4.0], [1.0, 0.0, 4.0], [4.0, 4.0, 0.0]]
OTHERS: dict[str, tuple[Any, ...]] = {
    "overlapping counts": (Workload([[1, 0], [1, 1]]), metrics.uniform(2, 1.0), "laplace", "pure", "for the identity"),
    "counts of two scales": (Workload.identity(3), metrics.from_matrix(UNEVEN), "laplace", "pure", "alike"),
    "counts of records that appear": (Workload.identity(2), metrics.add_remove(2, 1.0), "laplace", "pure", "public"),
    "levels of units": (
        Workload.nested(2, {"half": ["x", "y"]}),
        metrics.uniform(2, 1.0),
        "laplace",
        "pure",
        "by themselves",
    ),
    "a weight": (Workload([[3, 0]]), metrics.uniform(2, 1.0), "laplace", "pure", "number of records"),
    "amounts": (Workload([[1, 0, 2]]), metrics.uniform(3, 1.0), "laplace", "pure", "number of records"),
    "normal noise": (Workload([[1, 0]]), metrics.uniform(2, 1.0), "gaussian", "zcdp", "geometric"),
    "a staircase": (Workload([[1, 0]]), metrics.uniform(2, 1.0), "staircase", "pure", "not additive"),
    "records that appear": (Workload([[1, 0]]), metrics.add_remove(2, 1.0), "laplace", "pure", "limit=True"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_mechanisms_are_refused(name: str) -> None:
    workload, relation, family, notion, words = OTHERS[name]
    made = design(Problem(workload, relation, notion=notion), family).mechanism
    with pytest.raises(InvalidProblem, match=words):
        minimax_reading(made, 4)


def test_a_public_limit_serves_where_records_appear() -> None:
    made = design(Problem(Workload([[1, 0]], ["yes"]), metrics.add_remove(2, 1.0)), "laplace").mechanism
    assert minimax_reading(made, 6, limit=True).at_most == minimax_reading(one_count(1.0), 6).at_most


@pytest.mark.parametrize(
    ("n", "options", "words"),
    [
        (0, {}, "n: 0"),
        (2.5, {}, "n: 2.5"),
        (10_001, {}, "10,000"),
        (101, {"loss": "absolute"}, "100"),
        (3, {"loss": "max"}, "loss"),
    ],
)
def test_what_has_no_table_is_refused(n: int, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidProblem, match=words):
        minimax_reading(one_count(1.0), n, **options)

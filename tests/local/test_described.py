"""Large tables by their peaks, and losses by a rule: the same whole numbers as by definition, certified like any other."""

from __future__ import annotations

import json
from importlib import import_module
from itertools import accumulate
from typing import Any

import numpy as np
import pytest
from flint import arb

from designer import Channel, InvalidProblem, NotPrivate, ReportProblem, design, load, metrics
from designer.base.errors import DesignFailed
from designer.certificate.frozen import to_spec
from designer.exchange import device
from designer.local import design as families
from designer.local.peaks import DescribedTable, LossRule
from designer.relations.metrics.metric import Metric
from solvers.exact.balls import rational_ball, working_precision
from tests.local.test_channel import keeps, random_metric

GRID = np.array([[i, j] for i in range(4) for j in range(4)], dtype=float)
SQUARE = metrics.euclidean(GRID[:4], 1.0)
EACH, EITHER = ("a", "b", "c", "d"), ("r0", "r1")


def by_definition(table: DescribedTable) -> list[list[int]]:
    """Every entry in balls of 400 bits, floor by floor; nothing of floats."""
    rows = []
    with working_precision(400):
        for x in range(table.metric.size):
            row = [0] * table.reports
            for report, peaks in table.columns:
                floors = [(height * arb(-_ball(table.metric, x, place)).exp()).floor() for place, height in peaks]
                row[report] += table.units + max(int(floor.unique_fmpz() or 0) for floor in floors)
            row[table.rest] += table.denominator - sum(row)
            rows.append(row)
    return rows


def _ball(metric: Metric, x: int, place: int) -> Any:
    budget = metric.exact_budget(x, place)
    assert budget is not None
    return rational_ball(budget)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("bits", [20, 50])
def test_every_entry_is_the_floor_that_its_peaks_say(seed: int, bits: int) -> None:
    generator = np.random.default_rng(seed)
    metric = random_metric(generator)
    most = (1 << bits) // (2 * metric.size)
    columns = tuple(
        (z, tuple((int(generator.integers(metric.size)), int(generator.integers(1, most))) for _ in range(2)))
        for z in range(metric.size)
    )
    table = DescribedTable(metric, metric.size, 1 << bits, columns, 3, 0)
    assert [list(row) for row in table] == by_definition(table)


@pytest.mark.parametrize("family", ["channel", "poles"])
@pytest.mark.parametrize("budget", [0.3, 1.0, 3.0])
def test_a_described_channel_is_the_one_that_is_written_out(
    family: str, budget: float, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """The same loss but for the coarser denominator, every pair in rationals, and a spec that says the same table."""
    problem = ReportProblem(metrics.euclidean(GRID, budget), elements=[f"place {k}" for k in range(16)])
    plain = design(problem, family)
    monkeypatch.setattr(families, "MOST_RULED", 0)
    made = design(problem, family)
    table = made.mechanism.numerators
    assert isinstance(table, DescribedTable) and keeps(made.mechanism)
    assert {sum(row) for row in table} == {made.mechanism.denominator} and min(map(min, table)) > 0
    assert made.error == pytest.approx(plain.error, rel=1e-6)
    path = made.mechanism.save(tmp_path / "described.json")
    again = load(path)
    assert isinstance(again, Channel) and again == made.mechanism and again.loss == made.error
    assert [list(row) for row in again.numerators] == [list(row) for row in table]
    stated = json.loads(path.read_text())["mechanism"]
    assert stated["losses"]["rule"] == "distance" and set(stated["numerators"]) == {"columns", "units", "rest"}
    assert made.mechanism.report("place 3") in made.mechanism.reports
    counted = made.mechanism.simulate(1, seed=2, data=[10] * 16).counts
    assert counted.sum() == 160


def test_what_is_described_beyond_the_budgets_is_refused() -> None:
    """Nothing is believed of a description: here what rows are short of the denominator tells values apart."""
    columns = ((0, ((0, 900_000),)), (1, ((3, 10),)), (2, ((1, 10),)))
    with pytest.raises(NotPrivate, match="report r2"):
        Channel(
            SQUARE,
            EACH,
            (*EITHER, "r2"),
            DescribedTable(SQUARE, 3, 1_000_000, columns, 2, 2),
            1_000_000,
            [0.25] * 4,
            np.ones((4, 3)),
        )
    with pytest.raises(NotPrivate, match="report r1"):  # one unit beside is too few for a budget of 1
        Channel(SQUARE, EACH, EITHER, _table(units=1, denominator=1 << 20), 1 << 20, [0.25] * 4, LossRule("distance", (0, 3)))


def _table(**changed: Any) -> DescribedTable:
    given = {"metric": SQUARE, "reports": 2, "denominator": 1000, "columns": ((0, ((0, 300),)), (1, ((3, 300),)))}
    return DescribedTable(**{**given, "units": 2, "rest": 0, **changed})


REFUSED: list[tuple[Any, str]] = [
    (lambda: _table(columns=((0, ((0, 300),)),)), "some report has no column"),
    (lambda: _table(columns=((0, ((0, 970),)), (1, ((3, 970),)))), "leave no row anything"),
    (lambda: _table(columns=((2, ((0, 300),)),)), "name a report, a place or a height"),
    (lambda: _table(columns=((0, ((4, 300),)),)), "name a report, a place or a height"),
    (lambda: _table(columns=((0, ((0, -1),)),)), "name a report, a place or a height"),
    (lambda: _table(rest=2), "name a report"),
    (lambda: _table(denominator=1 << 53), "denominator of at most"),
    (lambda: _table(reports=3_000_000), "at most 8000000 are described"),
    (lambda: Channel(SQUARE, EACH, EITHER, _table(), 999, [0.25] * 4, np.ones((4, 2))), "for another metric or denominator"),
    (lambda: Channel(SQUARE, EACH, EITHER, _table(), 1000, [0.25] * 4, LossRule("cubed", (0, 3))), "'cubed' of 2 places is no"),
    (lambda: LossRule("distance", (0, 4)).matrix(SQUARE), "is no rule for 4 values"),
    (
        lambda: DescribedTable.from_spec(
            {"columns": [{"report": 0, "peaks": [[0, 1.5]]}], "units": 1, "rest": 0}, SQUARE, 1, 9
        ),
        "no ",
    ),
    (lambda: DescribedTable.from_spec({"columns": 3, "units": 1, "rest": 0}, SQUARE, 1, 9), "no columns of whole numbers"),
]


@pytest.mark.parametrize("call, words", REFUSED, ids=[words for _, words in REFUSED])
def test_bad_descriptions_are_refused_in_one_line(call: Any, words: str) -> None:
    with pytest.raises(InvalidProblem, match=words) as refused:
        call()
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 400


def test_a_table_that_is_neither_described_nor_written_out_names_what_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(families, "MOST_CHANNEL_ENTRIES", 10)
    with pytest.raises(DesignFailed, match="too many to write out; use 'channel' or 'poles'"):
        design(ReportProblem(SQUARE), "exponential")


def test_a_device_is_given_the_whole_table_or_told_that_it_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(families, "MOST_RULED", 0)
    made = design(ReportProblem(SQUARE), "channel").mechanism
    ends = [list(accumulate(row)) for row in made.numerators]
    assert f"const ends = {json.dumps(ends)};" in device.device_text(made, "javascript")
    monkeypatch.setattr(device, "MOST_CHANNEL_ENTRIES", 3)
    for language in ("javascript", "c"):
        with pytest.raises(InvalidProblem, match="probabilities, more than 3 that a program of a device writes out"):
            device.device_text(made, language)


def test_losses_by_a_rule_are_those_of_the_problem() -> None:
    for kind in ("distance", "squared", "zero_one"):
        problem = ReportProblem(metrics.great_circle([[50.0, 8.0], [51.0, 8.0], [50.0, 9.0]], 0.02), ["e2", "e0"], loss=kind)
        assert LossRule(kind, (2, 0)).matrix(problem.metric).tolist() == problem.losses.tolist()


def test_the_verifier_of_its_own_names_what_it_does_not_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(families, "MOST_RULED", 0)
    core = json.loads(json.dumps(to_spec(design(ReportProblem(SQUARE), "channel").mechanism)["mechanism"]))
    second: Any = import_module("designer.verifier.standalone")
    with pytest.raises(second.CannotCheck, match="described by the peaks"):
        second.OwnReport(core)
    core["numerators"] = [[1]]
    with pytest.raises(second.CannotCheck, match="losses that follow from a rule"):
        second.OwnReport(core)


@pytest.mark.heavy
def test_a_table_of_half_a_million_entries_is_described_by_itself(tmp_path: Any) -> None:
    points = np.array([[i, j] for i in range(27) for j in range(27)], dtype=float)
    made = design(ReportProblem(metrics.euclidean(points, 1.0)), "poles").mechanism
    assert isinstance(made.numerators, DescribedTable) and made.privacy.holds
    path = made.save(tmp_path / "large.json")
    assert load(path) == made and path.stat().st_size < 500_000

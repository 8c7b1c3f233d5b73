"""Plans of tables: exact numbers, the policy against all neighbours, certificates, specs, refusals, noise."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from designer import InvalidProblem, NotPrivate
from designer.base.errors import WITHHELD
from designer.relations.records.record_files import open_table
from designer.relations.records.row_unit import RowUnit
from designer.tables import Condition, Count, CountDistinct, Groups, Key, Measure, Sum, TablePlan, UnitSplitting
from designer.tables.aggregates import aggregation_of, parts_of
from designer.tables.scans import numbers
from tests.oracles.goodness_of_fit import FAILURE_PROBABILITY, p_value_of_integers
from tests.oracles.records_tables import TABLE_2, firms, on_duckdb
from tests.oracles.table_plans import EMP, PAY, SPLITTING, STATES, everything, full_plan, numbers_by_loop

ibis = pytest.importorskip("ibis")
pytest.importorskip("pyarrow")

CANARY = "canary-7431"


def exact(plan: TablePlan, rows: Any) -> list[dict[Any, list[int]]]:
    table = on_duckdb(rows)
    return [numbers(level, [query for query in plan.noisy if query.groups == level], table) for level in plan.levels]


def answerable(level: Groups, found: dict[Any, list[int]]) -> dict[Any, list[int]]:
    return {key: value for key, value in found.items() if level.selection or key in level.place}


def test_the_engine_finds_what_a_loop_over_records_finds() -> None:
    plan, rows = everything(), firms(500, seed=3)
    for level, found in zip(plan.levels, exact(plan, rows), strict=True):
        assert answerable(level, found) == numbers_by_loop(plan, level, rows)


@pytest.mark.parametrize(
    ("dialect", "octets"),
    [
        ("postgres", "CONVERT_TO("),
        ("trino", "TO_UTF8("),
        ("bigquery", "AS BYTES)"),
        ("snowflake", "TO_BINARY("),
        ("databricks", "AS BINARY)"),
    ],
)
def test_aggregations_are_written_for_other_engines(dialect: str, octets: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No engine at hand: that there is SQL in their dialect, with every aggregate in it, and that texts become bytes,
    is all that is claimed."""
    monkeypatch.setattr("designer.relations.records.engines.engine_of", lambda column: dialect)
    columns = {"id": "int64", "state": "string", "county": "int32", "naics": "string", "emp": "int64", "pay": "float64"}
    plan, table = full_plan(), ibis.table(columns, name="firms")
    for level in plan.levels:
        queries = [query for query in plan.noisy if query.groups == level]
        expression, names = aggregation_of(level, parts_of(level, queries), table)
        text = ibis.to_sql(expression, dialect=dialect)
        assert len(names) == len(queries) + (level.selection is not None) and all(names)
        assert all(name in text for own in names for name in own)
        assert not level.columns or octets in text.upper()
    assert "CASE" in ibis.to_sql(table.select(cell=plan.queries[-1].cell(table)), dialect=dialect)  # type: ignore[attr-defined]


def test_labels_of_every_kind_of_key() -> None:
    from datetime import date

    import pyarrow as pa

    values = {
        "n": [7, -1, None],
        "b": [True, False, None],
        "d": [date(2020, 2, 29), None, date(1999, 12, 31)],
        "s": ["x", "", None],
    }
    table = ibis.memtable(pa.table(values))
    for name, given in values.items():
        labels = [(label,) for label in (Key(name).label({name: value}) for value in given) if label is not None]
        level = Groups([name], [*labels, ("of nobody",)])
        assert numbers(level, [Count("n", level, variance=1)], table) == {key: [1] for key in labels}


@pytest.mark.parametrize(
    ("column", "op", "value"),
    [("emp", op, 20) for op in ("==", "!=", "<", "<=", ">", ">=")]
    + [
        ("emp", "in", (20, 21)),
        ("pay", "!=", 3),
        ("pay", ">", 3),
        ("pay", "<", 3),
        ("pay", "present", None),
        ("emp", "present", None),
    ]
    + [("state", "==", "DE"), ("state", "!=", "DE"), ("state", "in", ("DE", "RI")), ("state", "present", None)],
)
def test_conditions_hold_for_the_same_records_here_and_there(column: str, op: str, value: Any) -> None:
    """Missing values and NaN among them, which meet none."""
    values: dict[str, list[Any]] = {
        "emp": [None, 19, 20, 21],
        "pay": [None, math.nan, math.inf, 3.0, 2.5],
        "state": [None, "DE", "de", "RI"],
    }
    rows = [
        {"id": i, "state": s, "county": 1, "naics": "", "emp": e, "pay": p}
        for i, (s, e, p) in enumerate(product(values["state"], values["emp"], values["pay"]))
    ]
    condition, table = Condition(column, op, value), on_duckdb(rows)
    found = table.filter(condition.expression(table)).id.to_pyarrow().to_pylist()
    assert sorted(found) == [row["id"] for row in rows if condition.meets(row)]
    assert 0 < len(found) < len(rows)


def test_huge_numbers_add_up_exactly() -> None:
    rows = [{"id": i, "state": "DE", "county": 1, "naics": "11", "emp": 2**45 - i, "pay": 1e300} for i in range(2000)]
    plan = TablePlan(
        (Sum("jobs", STATES, variance=1, measure=Measure("emp")), Sum("pay", STATES, variance=1, measure=Measure("pay")))
    )
    expected = [sum(2**45 - i for i in range(2000)), 2000 * (2**52 - 1)]
    assert exact(plan, rows) == [{("DE",): expected}]
    assert expected[1] > 2**62


def test_negative_sums_are_put_together_from_limbs() -> None:
    rows = [
        {"id": 1, "state": "DE", "county": 1, "naics": "11", "emp": None, "pay": pay} for pay in (-5e9, -1.0, 3.0, -(2.0**51))
    ]
    plan = TablePlan((Sum("pay", STATES, variance=1, measure=Measure("pay", lower=-(2**52 - 1))),))
    assert exact(plan, rows) == [{("DE",): [-5_000_000_000 + 2 - 2**51]}]


def test_the_policy_is_what_every_neighbour_shows() -> None:
    """`sum of (change / deviation)^2 / 2` over all released numbers, for each record of a table, against the closed form."""
    plan, rows = everything(), firms(14, seed=4)
    whole = exact(plan, rows)
    for i, row in enumerate(rows):
        less, cost, distinct = exact(plan, rows[:i] + rows[i + 1 :]), Fraction(0), Fraction(0)
        for level, before, after in zip(plan.levels, whole, less, strict=True):
            queries = [query for query in plan.noisy if query.groups == level]
            before, after = answerable(level, before), answerable(level, after)
            for key, found in before.items():
                change = [a - b for a, b in zip(found, after.get(key, [0] * len(found)), strict=True)]
                for query, step in zip(queries, change, strict=False):
                    paid = (step * query.step) ** 2 / (2 * query.variance_of(key))
                    cost += paid
                    distinct += (
                        query.loss(row) - paid
                        if isinstance(query, CountDistinct) and step == 0 and key == query.group_of(row)
                        else 0
                    )
                cost += Fraction(change[-1]) ** 2 / (2 * level.selection.variance) if level.selection else 0
        assert cost + distinct == plan.loss(row)
        assert distinct >= 0
        assert plan.loss(row) <= plan.policy.exact(plan.amounts(row))
        assert plan.loss(row) <= plan.rho * SPLITTING.splits(row) ** 2


def test_the_policy_is_attained_where_a_record_counts_everywhere() -> None:
    plan = TablePlan(
        (Sum("jobs", STATES, variance=2500, measure=EMP), Count("n", STATES, variance=5)), UnitSplitting([EMP], [50])
    )
    for emp in (0, 1, 49, 50, 51, 10**6, None):
        record = {"state": "RI", "emp": emp}
        assert plan.loss(record) == Fraction(emp or 0) ** 2 / 5000 + Fraction(1, 10) == plan.policy.exact(plan.amounts(record))
    assert plan.rho == Fraction(1, 2) + Fraction(1, 10)
    assert plan.loss({"state": "RI", "emp": 50}) == plan.rho
    assert plan.loss({"state": "CA", "emp": 50}) == 0


def renyi(alpha: float, shift: int, variance: float) -> float:
    """D_alpha of two discrete Gaussians on the integers, `shift` apart, by summing their terms."""
    reach = math.ceil(40 * math.sqrt(variance) * max(1.0, alpha)) + abs(shift) * math.ceil(alpha + 1)
    z = np.arange(-reach, reach + 1, dtype=np.float64)
    log_mass = np.log(np.exp(-(z**2) / (2 * variance)).sum())
    terms = (-alpha * (z - shift) ** 2 - (1 - alpha) * z**2) / (2 * variance)
    return float((np.logaddexp.reduce(terms) - log_mass) / (alpha - 1))


@pytest.mark.parametrize("alpha", [1.01, 1.5, 2.0, 7.0, 32.0])
def test_the_divergence_of_what_is_drawn_is_within_the_policy(alpha: float) -> None:
    for variance, emp in ((Fraction(1, 3), 1), (Fraction(1, 3), 4), (Fraction(30), 17), (Fraction(5, 2), 2)):
        plan = TablePlan((Sum("jobs", Groups(), variance=variance, measure=EMP),))
        loss = float(plan.loss({"emp": emp}))
        assert renyi(alpha, emp, float(variance)) <= alpha * loss * (1 + 1e-9)
        assert variance < 1 or renyi(alpha, emp, float(variance)) >= alpha * loss * (1 - 1e-6)


def test_group_dependent_thresholds_with_noise_of_their_own_cost_the_same() -> None:
    """Example 5.8: noise in proportion to the threshold of each industry, one rho for all."""
    pay, industries = Measure("pay"), Groups(["industry"], [["Agriculture"], ["Mining"], ["Retail"]])
    variances = tuple(Fraction(T) ** 2 / (2 * Fraction(1, 8)) for T in (5_000_000, 10_000_000, 5_000_000))
    splitting = UnitSplitting([pay], [5_000_000], "industry", {"Mining": [10_000_000]})
    plan = TablePlan((Sum("payroll", industries, (), variances, pay),), splitting)
    assert plan.rho == Fraction(1, 8)
    assert [plan.loss(row) for row in TABLE_2] == [
        Fraction(1, 2),
        Fraction(9, 8),
        Fraction(1, 8),
        Fraction(1, 8),
        Fraction(1, 200),
    ]
    # Against groups that do not tell the industry, the worst threshold meets the least noise.
    everybody = TablePlan((Sum("payroll", Groups(), (), min(variances), pay),), splitting)
    assert everybody.rho == Fraction(1, 2)


def test_a_stated_rate_below_the_recomputed_one_is_not_private() -> None:
    plan = everything()
    assert plan.rho is not None
    assert TablePlan(plan.queries, SPLITTING, plan.rho + 1).privacy.holds
    with pytest.raises(NotPrivate, match="one split row costs"):
        TablePlan(plan.queries, SPLITTING, plan.rho * Fraction(999_999, 1_000_000))


def test_release_answers_listed_groups_and_found_ones() -> None:
    plan, rows = replace(everything(), unlisted="drop"), firms(300, seed=5)
    release = plan.release(on_duckdb(rows))
    assert release["large"].keys == (("DE",), ("RI",), ("NV",))
    assert (
        abs(release["large"]["NV"]) <= 60
    )  # nobody lives there: noise of deviation 1.7; beyond 60 with probability below 1e-200
    assert release["jobs"].columns == ("state", "county")
    assert set(release["found"].keys) <= {("11", s) for s in ("DE", "RI", "CT")} | {
        (n, s) for n in ("23", "44") for s in ("DE", "RI", "CT")
    }
    assert release["found"].keys == tuple(sorted(release["found"].keys))
    assert release.guarantee == plan.guarantee_for(RowUnit()) and release.fingerprint == plan.fingerprint
    average = release["subsector.sum"].values / np.maximum(release["subsector.count"].values, 1)
    np.testing.assert_array_equal(release["subsector"].values, average)
    again = plan.release(on_duckdb(rows))
    assert any(a.integers != b.integers for a, b in zip(release.answers.values(), again.answers.values(), strict=True))
    json.dumps(release.to_dict(), allow_nan=False)
    assert "wages" in release.to_text()
    with pytest.raises(InvalidProblem, match="no group of 'large'"):
        release["large"]["CT"]
    with pytest.raises(InvalidProblem, match="not among"):
        release["jobs by county"]


def test_an_empty_table_is_answered_like_any_other() -> None:
    rows = on_duckdb(firms(3, seed=6)).filter(False)
    release = everything().release(rows)
    assert release["records"].values.shape == (1,)
    assert release["found"].keys == ()


def noise(variance: float, step: str, seed: int, count: int = 4000) -> np.ndarray[Any, Any]:
    """The integers that a simulation adds to the exact numbers of many groups."""
    measure, keys = Measure("emp", step), [[i] for i in range(count)]
    plan = TablePlan((Sum("jobs", Groups(["county"], keys), variance=variance, measure=measure),))
    rows = [{"id": 1, "state": None, "county": i, "naics": None, "emp": i * i, "pay": 0.0} for i in range(0, count, 3)]
    answer = plan.simulate(1, seed=seed, data=on_duckdb(rows))[0]["jobs"]
    assert answer.integers is not None
    base = [0 if i % 3 else measure.units(i * i) for i in range(count)]
    np.testing.assert_array_equal(answer.values, np.array(answer.integers) * float(Fraction(step)))
    return np.array(answer.integers) - np.array(base)


@pytest.mark.parametrize(("variance", "step"), [(2.5, "1"), (90.0, "1/2"), (4e6, "1000")])
def test_noise_has_the_law_that_is_stated(variance: float, step: str) -> None:
    grid = Fraction(variance) / Fraction(step) ** 2
    z = np.arange(-math.ceil(12 * math.sqrt(grid)), math.ceil(12 * math.sqrt(grid)) + 1)
    weights = np.exp(-(z.astype(float) ** 2) / (2 * float(grid)))
    cumulative = dict(zip(z.tolist(), np.cumsum(weights / weights.sum()).tolist(), strict=True))
    edges = [k for k in z.tolist() if 0.01 < cumulative[k] < 0.99]
    draws = noise(variance, step, seed=11)
    assert p_value_of_integers(draws, cumulative.__getitem__, edges) > FAILURE_PROBABILITY
    assert p_value_of_integers(draws + 1, cumulative.__getitem__, edges) < FAILURE_PROBABILITY or grid > 100
    assert p_value_of_integers(noise(variance * 1.3, step, seed=12), cumulative.__getitem__, edges) < FAILURE_PROBABILITY


def test_variances_are_those_of_what_is_drawn() -> None:
    asked = (Count("n", STATES, variance="1/5"), Sum("w", STATES, (), (10**6, 10**8, 10**7), PAY))
    plan = TablePlan(asked, unlisted="drop")
    answers = plan.simulate(1, seed=1, data=on_duckdb(firms(5, seed=1)))[0].answers
    z = np.arange(-30, 31)
    weights = np.exp(-(z**2) / 0.4)
    assert answers["n"].variances == pytest.approx([float((z**2 * weights).sum() / weights.sum())] * 3)
    assert answers["w"].variances == pytest.approx([1e6, 1e8, 1e7])


def test_a_seeded_draw_is_repeated_and_stamped() -> None:
    plan, table = replace(everything(), unlisted="drop"), on_duckdb(firms(50, seed=7))
    one, two = plan.simulate(1, seed=5, data=table)[0], plan.simulate(1, seed=5, data=table)[0]
    assert one.stamp == "simulation, not private: seed 5"
    assert not hasattr(one, "guarantee")
    assert all(np.array_equal(one[name].values, two[name].values) for name in one.answers)


def test_a_simulation_refuses_what_the_release_refuses() -> None:
    """One record in no listed group: a plan that refuses it simulates nothing either, and one that drops it does both."""
    table = on_duckdb([{"id": 1, "state": "elsewhere", "county": 1, "naics": "", "emp": 1, "pay": 0.0}])
    refusing = TablePlan((Count("n", STATES, variance="1/100"),))
    for attempt in (refusing.release, lambda given: refusing.simulate(1, data=given)):
        with pytest.raises(InvalidProblem, match="in none of its listed groups"):
            attempt(table)
    dropping = replace(refusing, unlisted="drop")
    assert (
        dropping.simulate(1, seed=1, data=table)[0]["n"].values.tolist()
        == dropping.release(table)["n"].values.tolist()
        == [0, 0, 0]
    )


def test_a_failing_engine_does_not_speak(tmp_path: Path) -> None:
    """A conversion that fails on one record: the engine's message quotes the record, the refusal does not."""
    path = tmp_path / "records.csv"
    path.write_text(f"emp,state\n5,DE\n{CANARY},RI\n")
    engine = ibis.duckdb.connect()
    texts = engine.read_csv(str(path), columns={"emp": "VARCHAR", "state": "VARCHAR"})
    table = texts.mutate(emp=texts.emp.cast("int64"))
    with pytest.raises(Exception, match=CANARY):
        table.to_pyarrow()
    with pytest.raises(InvalidProblem) as refusal:
        TablePlan((Sum("jobs", STATES, variance=1, measure=EMP),)).release(table)
    assert str(refusal.value) == WITHHELD
    assert refusal.value.__cause__ is None and refusal.value.__context__ is None


def test_nothing_that_is_produced_holds_a_record() -> None:
    rows = [{"id": 7431, "state": CANARY, "county": 743100, "naics": CANARY, "emp": 43, "pay": 74.31}]
    plan = replace(full_plan(), unlisted="drop")  # it finds the group of such a record with probability below 1e-12
    release = plan.release(on_duckdb(rows))
    produced = "".join([repr(release), release.to_text(), json.dumps(release.to_dict()), repr(plan), plan.guarantee.to_text()])
    assert CANARY not in produced and "743100" not in produced and "74.31" not in produced


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"emp": "staff"}, "no column 'emp'"),
        ({"state": "land"}, "no column 'state'"),
        ({"id": "who"}, "no column 'id'"),
    ],
)
def test_tables_without_a_column_are_refused(change: dict[str, str], message: str) -> None:
    table = on_duckdb(firms(3, seed=1)).rename({new: old for old, new in change.items()})
    with pytest.raises(InvalidProblem, match=message):
        everything().release(table)


def test_tables_of_other_types_are_refused() -> None:
    table = on_duckdb(firms(3, seed=1))
    with pytest.raises(InvalidProblem, match="keys are texts"):
        everything().release(table.mutate(state=table.state.cast("binary")))
    with pytest.raises(InvalidProblem, match="the condition compares with 20"):
        TablePlan(everything().queries[1:2]).release(table.mutate(emp=table.emp.cast("timestamp")))
    with pytest.raises(InvalidProblem, match="neither a data frame nor an Ibis table"):
        everything().release([[1, 2]])


def test_a_file_larger_than_the_memory_of_the_engine(tmp_path: Path) -> None:
    """23 MB of random numbers: sums in 20 MB of memory, distinct ids, whose tables take more, in 40 MB.
    The numbers are exact."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    generator = np.random.default_rng(1)
    ids, counties = generator.integers(0, 2**62, 1_300_000), generator.integers(0, 500, 1_300_000).astype(np.int32)
    values = generator.integers(0, 2**45, 1_300_000)
    path = tmp_path / "records.parquet"
    pq.write_table(pa.table({"id": ids, "county": counties, "emp": values}), path)
    level = Groups(["county"], [[i] for i in range(500)])
    queries = (Sum("jobs", level, variance=1, measure=Measure("emp")), CountDistinct("ids", level, variance=1, of="id"))
    tables = [open_table(path, memory=memory, spill=tmp_path, threads=1) for memory in ("20MB", "40MB")]
    sums, distinct = (numbers(level, [query], table) for query, table in zip(queries, tables, strict=True))
    assert path.stat().st_size > 20 * 2**20
    for county in (0, 7, 499):
        inside = counties == county
        assert sums[str(county),] == [int(values[inside].sum())]
        assert distinct[str(county),] == [len(set(ids[inside].tolist()))]


def test_files_are_opened_without_guessing(tmp_path: Path) -> None:
    path = tmp_path / "firms.csv"
    path.write_text('state,emp\nDE,5\nDE,many\nRI,1e400\nRI,nan\nRI,7,9\nDE\n,4\n"RI, too",6\n', encoding="utf-8")
    plan = TablePlan((Sum("jobs", STATES, variance=1, measure=Measure("emp", upper=100)), Count("n", STATES, variance=1)))
    assert plan.numbers == ("emp",)
    found = numbers(STATES, plan.noisy, open_table(path, plan.numbers, memory="256MB", spill=tmp_path, threads=1))
    assert found == {("DE",): [5, 3], ("RI",): [107, 3]}
    with pytest.raises(InvalidProblem, match="no columns \\['pay'\\]"):
        open_table(path, ["pay"])
    with pytest.raises(InvalidProblem, match=r"neither a \.parquet nor a \.csv"):
        open_table(tmp_path / "firms.xlsx")


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_plan_counts_the_records_of_a_data_frame(library: str) -> None:
    """Standard deviations of 0.1: noise of more than 5 of them has probability below 1e-6 for each of the four numbers."""
    rows: dict[str, list[Any]] = {
        "other": [1, 2, 3, 4],
        "industry": ["Retail", "Mining", None, "Retail"],
        "emp": [1.5, 2, 3, None],
    }
    frame: Any = pytest.importorskip(library)
    frame = frame.table(rows) if library == "pyarrow" else frame.DataFrame(rows)
    industry = Groups(["industry"], keys=[["Retail"], ["Mining"]])
    jobs = Sum("jobs", industry, variance="0.01", measure=Measure("emp", step="0.5"))
    plan = TablePlan([jobs, Count("firms", industry, variance="0.01")], unlisted="drop")
    released = plan.release(frame)
    assert [round(x * 2) / 2 for x in released["jobs"].values] == [1.5, 2] and np.rint(released["firms"].values).tolist() == [
        2,
        1,
    ]
    assert "row-wise view" in released.guarantee.unit

"""What one row is: row-wise views of one table are released, others only when the caller says what a row is;
entities with a bound of rows."""

from __future__ import annotations

import itertools
import json
import math
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from designer import Domain, InvalidProblem, InvalidSpec, Problem, Workload, design, metrics, read_release
from designer.certificate.frozen import rate_of_left_out
from designer.cli import main
from designer.domains.marginals_plan import design_marginals
from designer.domains.marginals_workload import MarginalWorkload
from designer.files.releases import release_document, sealed
from designer.problem.histogram import WORDS
from designer.relations.metrics.presence import Presence
from designer.relations.records.record_files import open_table
from designer.relations.records.row_unit import KEPT, ONE_ROW, SEVERAL, RowUnit, left_out_rate
from designer.sampling.entropy import SeededEntropy
from designer.tables import Condition, Count, CountDistinct, Groups, Measure, PartitionSelection, Sum, TablePlan
from designer.tables.plan_words import NO_NUMBER
from designer.tables.scans import numbers

ibis = pytest.importorskip("ibis")
pa = pytest.importorskip("pyarrow")

COLUMNS = ("person", "sex", "age", "pay")
PLAN = TablePlan(
    (
        Count("n", Groups(["sex"], [["F"], ["M"]]), variance=1),
        Sum("pay", Groups(), variance=1, measure=Measure("pay", upper=100)),
    )
)
TABLES = MarginalWorkload.of(Domain.of({"sex": ["F", "M"], "age": ["0", "1"]}), [["sex", "age"]])
PRESENCE = design_marginals(TABLES, Presence(mu=0.5))
ATTRIBUTES = design_marginals(TABLES, metrics.hamming(TABLES.domain, [0.5, 0.5]))


def engine() -> Any:
    """DuckDB with a stored table `people`, another, and views of them."""
    connection = ibis.duckdb.connect()
    for statement in (
        "CREATE TABLE people AS SELECT * FROM (VALUES ('a', 'F', '0', 7), ('a', 'M', '1', 3), ('b', 'F', '1', 5)) AS "
        "t(person, sex, age, pay)",
        "CREATE TABLE pets AS SELECT * FROM (VALUES ('a', 'cat'), ('a', 'dog')) AS t(person, kind)",
        "CREATE TABLE ibis_cached_rows AS SELECT * FROM people LIMIT 2",
        "CREATE VIEW fanned AS SELECT people.* FROM people, pets",
        "CREATE VIEW cut AS SELECT * FROM people LIMIT 2",
    ):
        connection.raw_sql(statement)
    return connection


@pytest.fixture(scope="module")
def database() -> Any:
    return engine()


def sql(text: str, like: Any) -> Any:
    """What `connection.sql` makes of a text."""
    import ibis.expr.operations as ops

    return ops.SQLQueryResult(text, like.schema(), like.get_backend()).to_expr()


ROW_WISE: dict[str, Callable[[Any], Any]] = {
    "stored": lambda t: t,
    "filtered": lambda t: t.filter(t.pay > 4, t.person.length() == 1),
    "mapped": lambda t: t.mutate(pay=(t.pay * 2).cast("float64"), sex=t.sex.upper(), age=t.age.substr(0, 1)),
    "renamed": lambda t: t.rename(who="person").drop("who"),
    "cases": lambda t: t.mutate(pay=ibis.cases((t.sex == "F", t.pay), else_=0)),
    "sorted": lambda t: t.order_by(t.pay),
    "filled": lambda t: t.fill_null({"pay": 0}).drop_null("sex"),
    "viewed": lambda t: t.view(),
}
OTHERS: dict[str, Callable[[Any], Any]] = {
    "join": lambda t: t.join(t.view(), "sex").select("sex", "age", "pay"),
    "cross join": lambda t: t.cross_join(ibis.memtable({"x": [1, 2]})),
    "left join": lambda t: t.left_join(ibis.memtable({"person": ["a", "a"]}), "person"),
    "limit": lambda t: t.limit(2),
    "sample": lambda t: t.sample(0.5, seed=1),
    "distinct": lambda t: t.distinct(),
    "union": lambda t: ibis.union(t, t),
    "difference": lambda t: t.difference(t.limit(1)),
    "aggregate": lambda t: t.group_by("sex", "age").agg(pay=t.pay.sum()),
    "window": lambda t: t.mutate(pay=t.pay - t.pay.mean()),
    "rank": lambda t: t.filter(ibis.row_number().over(order_by=t.pay) < 2),
    "lag": lambda t: t.mutate(pay=t.pay.lag().over(order_by=t.pay)),
    "largest": lambda t: t.filter(t.pay == t.view().pay.max().as_scalar()),
    "among": lambda t: t.filter(t.person.isin(t.filter(t.pay > 6).person)),
    "random": lambda t: t.filter(ibis.random() < 0.5),
    "uuid": lambda t: t.mutate(person=ibis.uuid().cast("string")),
    "now": lambda t: t.filter(ibis.now().minute() < 30),
    "unnest": lambda t: t.mutate(pay=ibis.array([1, 2, 3]).unnest()),
    "table unnest": lambda t: t.mutate(many=ibis.array([1, 2])).unnest("many"),
    "row id": lambda t: t.filter(t.rowid() < 2),
    "cache": lambda t: t.get_backend().table("ibis_cached_rows"),
    "SQL": lambda t: sql("SELECT * FROM people LIMIT 2", t),
}


@pytest.mark.parametrize("name", ROW_WISE)
def test_row_wise_views_of_one_table_are_released(name: str, database: Any) -> None:
    table = ROW_WISE[name](database.table("people"))
    for release, stated in ((PLAN.release(table), PLAN.guarantee), (PRESENCE.release(table), PRESENCE.guarantee)):
        assert release.guarantee.unit.removesuffix(f" {NO_NUMBER}") == f"{stated.unit} {ONE_ROW} {WORDS['refuse']}"
        assert release.guarantee.unprotected == (*stated.unprotected, SEVERAL)
        assert release.guarantee.parameters == stated.parameters and release.fingerprint == stated.fingerprint


def test_an_engine_whose_names_nobody_looks_behind_is_named_in_the_guarantee(tmp_path: Path) -> None:
    """And nothing is said of engines where that is looked at, or of data at hand; the note survives the file."""
    file = tmp_path / "people.sqlite"
    with closing(sqlite3.connect(file)) as made, made:
        made.execute("CREATE TABLE people (sex INTEGER)")
        made.execute("INSERT INTO people VALUES (1), (2)")
    domain = Domain.of({"sex": [1, 2]})
    mechanism = design(Problem(Workload.identity(domain), metrics.add_remove(2, 1.0)), "laplace").mechanism
    held = mechanism.release({"sex": [1, 2]})
    seen = mechanism.release(ibis.sqlite.connect(file).table("people"))
    assert held.row is not None and held.row.engine is None and held.guarantee.unprotected == (SEVERAL,)
    assert (
        seen.row is not None and seen.row.engine == "sqlite" and "On sqlite the name of a view" in seen.guarantee.unprotected[0]
    )
    document = release_document(mechanism, seen)
    assert read_release(mechanism, document).guarantee == seen.guarantee
    for changed in ({"engine": "duckdb"}, {"engine": None}, {}):
        rows = {key: value for key, value in document["rows"].items() if key != "engine"} | changed
        with pytest.raises(InvalidSpec):
            read_release(mechanism, sealed({**document, "rows": rows}))


@pytest.mark.parametrize("name", OTHERS)
def test_other_expressions_are_refused_without_a_unit(name: str, database: Any) -> None:
    table = OTHERS[name](database.table("people"))
    for send in (PLAN.release, lambda given: PLAN.simulate(1, data=given), PRESENCE.release, ATTRIBUTES.release):
        with pytest.raises(InvalidProblem, match='unit="household"'):
            send(table)


@pytest.mark.parametrize("name", ["fanned", "cut"])
def test_views_of_the_engine_are_no_stored_tables(name: str, database: Any) -> None:
    for send in (PLAN.release, PRESENCE.release):
        with pytest.raises(InvalidProblem, match='unit="household"'):
            send(database.table(name))


def test_files_and_tables_in_memory_are_tables(tmp_path: Any, database: Any) -> None:
    import pyarrow.parquet as pq

    rows = database.table("people").to_pyarrow()
    pq.write_table(rows, tmp_path / "it's ) a.parquet")
    (tmp_path / "a.csv").write_text("sex,age,pay\nF,0,1\n")
    columns = {"sex": "VARCHAR", "age": "VARCHAR", "pay": "BIGINT"}
    tables = [
        *map(ibis.memtable, (rows, rows.to_pandas())),
        *(rows, rows.to_pandas()),
        open_table(tmp_path / "it's ) a.parquet"),
        open_table(tmp_path / "a.csv", PLAN.numbers),
        database.read_csv(tmp_path / "a.csv", columns=columns),
        database.read_parquet(tmp_path / "*.parquet"),
    ]
    plan = replace(PLAN, unlisted="drop")  # a reader that guesses types takes F for a boolean
    for table in tables:
        assert plan.release(table).fingerprint == plan.fingerprint


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM people LIMIT 2",
        "SELECT people.* FROM people, pets",
        "SELECT * FROM array_of_people LIMIT 1000000",
        "SELECT DISTINCT * FROM array_of_people",
        "SELECT * FROM array_of_people UNION ALL SELECT * FROM array_of_people",
        "SELECT * FROM array_of_people WHERE random() < 0.5",
        "SELECT * REPLACE (random()::INTEGER AS pay) FROM array_of_people",
        "SELECT * FROM array_of_people TABLESAMPLE 50%",
    ],
)
def test_what_is_registered_with_the_engine_is_a_view(text: str) -> None:
    """DuckDB keeps no text of what is registered, be it an array, files read when asked or a relation; afterwards it explains
    as it did before."""
    database = engine()
    database.con.register("array_of_people", database.table("people").to_pyarrow())
    database.con.register("related", database.con.sql(text))
    asked = "SELECT current_setting('explain_output')"
    before = database.con.execute(asked).fetchall()
    for name in ("array_of_people", "related"):
        for send in (PLAN.release, PRESENCE.release):
            with pytest.raises(InvalidProblem, match='unit="household"'):
                send(database.table(name))
    assert database.con.execute(asked).fetchall() == before


def test_the_guarantee_says_what_a_row_is(database: Any) -> None:
    joined = OTHERS["join"](database.table("people"))
    for release, unit in (
        (PLAN.release(joined, unit="household"), "household"),
        (PRESENCE.release(joined, unit="visit of a doctor"), "visit of a doctor"),
        (ATTRIBUTES.release(joined, unit="person"), "person"),
    ):
        assert f"declared to be one {unit}" in release.guarantee.unit and "not checked" in release.guarantee.unit
        assert release.to_dict()["guarantee"]["unit"] == release.guarantee.unit
        assert f"declared to be one {unit}" in release.guarantee.to_text()


@pytest.mark.parametrize("unit", ["", 3, "x" * 300, "a\nb"])
def test_a_unit_is_a_short_text(unit: Any, database: Any) -> None:
    with pytest.raises(InvalidProblem, match=r"^unit:"):
        PLAN.release(database.table("people"), unit=unit)


def test_attributes_are_protected_where_a_row_is_sure_to_stay_and_each_has_columns_of_its_own(database: Any) -> None:
    """Whether a row passes a filter may depend on protected values;
    one value behind two attributes would cost the sum of both budgets."""
    people = database.table("people")
    for table in (people.filter(people.pay > 3), people.drop_null("sex")):
        with pytest.raises(InvalidProblem, match="filter"):
            ATTRIBUTES.release(table)
        assert PRESENCE.release(table)
        assert ATTRIBUTES.release(table, unit="adult")
    twice = people.mutate(age=ibis.cases((people.sex == "F", "0"), else_=people.age))
    with pytest.raises(InvalidProblem, match="computed from the same column"):
        ATTRIBUTES.release(twice)
    coarser = people.mutate(age=ibis.cases((people.pay > 4, "1"), else_="0")).rename(gender="sex").rename(sex="gender")
    assert ATTRIBUTES.release(coarser)


# Entities


def rows_of(persons: dict[Any, list[tuple[Any, ...]]]) -> Any:
    given = [(person, *row) for person, rows in persons.items() for row in rows]
    kinds = {"person": pa.string(), "sex": pa.string(), "age": pa.string(), "pay": pa.float64()}
    return pa.table({name: pa.array([row[i] for row in given], kinds[name]) for i, name in enumerate(COLUMNS)})


def kept(table: Any, at_most: int, columns: tuple[str, ...] = COLUMNS[1:]) -> list[tuple[Any, ...]]:
    """The rows that count, NaN as a text because it is not equal to itself."""
    unit = RowUnit(entity="person", rows_per_entity=at_most)
    found = unit.rows(ibis.memtable(table), columns, entropy=SeededEntropy(1)).to_pyarrow().to_pylist()
    return sorted((tuple("nan" if value != value else value for value in row.values()) for row in found), key=repr)


def some_people(seed: int) -> dict[Any, list[tuple[Any, ...]]]:
    generator = np.random.default_rng(seed)
    values = [None, math.nan, math.inf, 0.0, -0.0, 1.5, 7.0]
    return {
        person: [
            (("F", "M", "f", "Fé", None)[generator.integers(5)], str(generator.integers(2)), values[generator.integers(7)])
            for _ in range(generator.integers(1, 7))
        ]
        for person in ("a", "A", "á", "b", "", None, "c")
    }


@pytest.mark.parametrize("at_most", [1, 3])
def test_one_entity_moves_its_own_rows_alone(at_most: int) -> None:
    """Without an entity, exactly its kept rows are gone, however the rows are ordered; nobody keeps more than the bound."""
    people = some_people(seed=2)
    whole = kept(rows_of(people), at_most)
    expected = {person: min(len(rows), at_most) for person, rows in people.items() if person is not None}
    assert {person: sum(row[0] == person for row in whole) for person in people if person is not None} == expected
    assert len(whole) == sum(expected.values())
    backwards = {person: rows[::-1] for person, rows in reversed(people.items())}
    assert kept(rows_of(backwards), at_most) == whole
    for person in expected:
        rest = kept(rows_of({other: rows for other, rows in people.items() if other != person}), at_most)
        assert rest == [row for row in whole if row[0] != person]


def test_entities_are_told_apart_by_bytes_whatever_the_collation() -> None:
    connection = ibis.duckdb.connect()
    connection.raw_sql("CREATE TABLE t (person VARCHAR COLLATE NOCASE, sex VARCHAR COLLATE NOCASE)")
    connection.raw_sql("INSERT INTO t VALUES ('a', 'F'), ('A', 'f'), ('A', 'F'), ('b', 'x'), ('b', 'X')")
    unit = RowUnit(entity="person", rows_per_entity=1)
    found = unit.rows(connection.table("t"), ["sex"], entropy=SeededEntropy(1)).to_pyarrow().to_pylist()
    assert sorted(row["person"] for row in found) == ["A", "a", "b"]
    alone = unit.rows(
        connection.table("t").filter(connection.table("t").person.length() == 1), ["sex"], entropy=SeededEntropy(1)
    )
    assert sorted(row["sex"] for row in alone.to_pyarrow().to_pylist()) == sorted(row["sex"] for row in found)


def test_the_release_counts_at_most_so_many_rows_of_an_entity() -> None:
    people = {"a": [("F", "0", 3.0)] * 50, "b": [("M", "1", 2.0), ("F", "0", 1.0)], None: [("F", "0", 9.0)] * 7}
    plan = TablePlan(
        (
            Count("n", Groups(["sex"], [["F"], ["M"]]), variance="1/1000"),
            CountDistinct("d", Groups(), variance="1/1000", of="person"),
        ),
        unlisted="drop",
    )
    release = plan.release(ibis.memtable(rows_of(people)), entity="person", rows_per_entity=4)
    # Noise of variance 1 / 1000 is 0 but with probability 2 exp(-500).
    assert release["n"].integers == (5, 1) and release["d"].integers == (2,)
    assert release.row.left_out is not None
    dropping = Domain.of({"sex": ["F", "M"], "age": ["0", "1"]}, unlisted="drop")
    tables = design_marginals(MarginalWorkload.of(dropping, [["sex", "age"]]), Presence(mu=1e6))
    found = tables.release(ibis.memtable(rows_of(people)), entity="person", rows_per_entity=4).tables()["sex", "age"]
    np.testing.assert_allclose(found, [[5, 0], [0, 1]], atol=1e-3)
    for refusing in (PLAN, PRESENCE):
        for data in (ibis.memtable(rows_of(people)), rows_of(people)):
            with pytest.raises(InvalidProblem, match="lacks its entity"):
                refusing.release(data, entity="person", rows_per_entity=4)


@pytest.mark.parametrize("entity", [pa.int64(), pa.string()], ids=str)
def test_rows_of_an_entity_are_kept_at_random(entity: Any) -> None:
    """Households of a child twice and an adult: each row is kept as often as any other, in each household by itself, and anew
    in each release. An order by content kept the children of all of them, or the adults of all."""
    households = 3000
    who = pa.array([k % households for k in range(3 * households)], pa.int64()).cast(entity)
    table = pa.table({"who": who, "age": [10] * (2 * households) + [40] * households})
    for at_most, expected, spread in ((1, households / 3, 2 / 9), (2, 2 * households / 3, 2 / 9), (3, households, 0)):
        unit = RowUnit(entity="who", rows_per_entity=at_most)
        kept_rows = [unit.rows(table, ["age"], entropy=SeededEntropy(seed)).to_pyarrow().to_pydict() for seed in (1, 2)]
        adults = [{w for w, age in zip(held["who"], held["age"], strict=True) if str(age) == "40"} for held in kept_rows]
        assert all(len(held["age"]) == at_most * households for held in kept_rows)
        assert all(abs(len(own) - expected) <= 5 * math.sqrt(households * spread) for own in adults)
        both = len(adults[0] & adults[1]) - expected**2 / households
        assert abs(both) <= 5 * math.sqrt(households) * bool(spread)


def test_rows_of_an_entity_depend_on_no_order_of_rows_and_on_no_other_entity() -> None:
    table = pa.table({"who": ["a"] * 6 + ["b"] * 3, "age": [1, 2, 3, 4, 5, 6, 1, 2, 3]})
    unit, found = RowUnit(entity="who", rows_per_entity=2), []
    for given in (table, table.take(list(range(8, -1, -1))), table.slice(0, 6)):
        held = unit.rows(given, ["age"], entropy=SeededEntropy(4)).to_pyarrow().to_pydict()
        found.append(sorted(age for who, age in zip(held["who"], held["age"], strict=True) if who == "a"))
    assert found == [found[0]] * 3 and len(found[0]) == 2


def test_one_entity_moves_the_number_of_rows_left_out_by_at_most_its_bound() -> None:
    for at_most in (1, 3):
        unit = RowUnit(entity="who", rows_per_entity=at_most)
        for size in range(9):
            found = unit.with_left_out(pa.table({"who": [7] * size + [8] * 2 + [None] * 5}), None).left_out
            assert found == min(max(size - at_most, 0), at_most) + min(max(2 - at_most, 0), at_most)
    noisy = [unit.with_left_out(pa.table({"who": [7] * 9}), Fraction(1, 5), SeededEntropy(k)).left_out for k in range(30)]
    assert len(set(noisy)) > 5 and abs(np.mean(noisy) - 3) < 10
    assert RowUnit().with_left_out(pa.table({"who": [7] * 9}), None) == RowUnit()


def test_a_release_says_how_many_rows_were_left_out_and_what_that_costs() -> None:
    table = ibis.memtable(rows_of({str(person): [("F", "0", 3.0)] * 5 for person in range(40)}))
    for made, budget in ((PLAN, math.sqrt(1)), (PRESENCE, 0.5)):
        released = made.release(table, entity="person", rows_per_entity=2)
        rate = left_out_rate(budget)
        assert rate == rate_of_left_out(made) == Fraction(1, math.ceil(20 / budget))
        assert released.guarantee.parameters["epsilon_of_rows_left_out"] == float(2 * rate)
        words = released.row.left_out_words(released.guarantee)
        number = max(released.row.left_out, 0)
        assert f"about {number:,} row" in words and f"(95 % margin {math.ceil(math.log(20) / rate):,})" in words
        assert KEPT in released.guarantee.mechanism and str(1 / rate) in released.guarantee.mechanism
        assert abs(released.row.left_out - 80) < 40 / rate  # but with probability exp(-40)
        assert "of the rows that were kept of each 'person'" in released.answer_tables()[0].intervals().law
    changed = ATTRIBUTES.release(table, entity="person", rows_per_entity=2)
    assert changed.row.left_out == 80 and "epsilon_of_rows_left_out" not in changed.guarantee.parameters
    assert "Left out were 80 rows, counting at most 2 rows of each person" in changed.row.left_out_words(changed.guarantee)


def test_the_guarantee_of_an_entity_states_its_loss() -> None:
    table = ibis.memtable(rows_of({"a": [("F", "0", 3.0)]}))
    stated = PLAN.release(table, entity="person", rows_per_entity=3).guarantee
    assert "'person'" in stated.unit and "at most 3" in stated.unit
    assert stated.parameters["rows_per_entity"] == 3
    assert "(sum of sqrt(P(r)))^2" in stated.notion
    marginal = PRESENCE.release(table, entity="person", rows_per_entity=3).guarantee
    assert marginal.parameters["budget_of_an_entity"] == 1.5 and "'person'" in marginal.unit
    changed = ATTRIBUTES.release(table, entity="person", rows_per_entity=3).guarantee
    assert changed.parameters["budget_of_an_entity"] == 3 * sum(ATTRIBUTES.protection.budgets)
    assert "together" in changed.relation and "may appear" not in changed.relation


def test_the_loss_of_an_entity_covers_what_every_table_shows() -> None:
    """`sum of (change / deviation)^2 / 2` over all numbers when an entity with up to two rows is taken away,
    against (sum of roots)^2."""
    level = Groups(["sex"], [["F"], ["M"]])
    plan = TablePlan(
        (
            Count("n", level, variance=3),
            Sum("pay", level, variance=50, measure=Measure("pay", upper=100), where=[Condition("age", "==", "0")]),
        )
    )
    others, unit = {"b": [("F", "0", 4.0)]}, RowUnit(entity="person", rows_per_entity=2)
    choices = list(itertools.product("FM", "01", (0.0, 30.0)))
    for own in itertools.combinations_with_replacement(choices, 3):
        both, less = (
            numbers(level, plan.noisy, unit.rows(ibis.memtable(rows_of(people)), plan.columns, entropy=SeededEntropy(1)))
            for people in ({**others, "a": list(own)}, others)
        )
        moved = sum(
            Fraction(a - b) ** 2 / (2 * query.variance_of(key))
            for key in both
            for query, a, b in zip(plan.noisy, both[key], less.get(key, [0, 0]), strict=True)
        )
        stays = kept(rows_of({"a": list(own)}), 2)
        losses = [plan.loss(dict(zip(COLUMNS, row, strict=True))) for row in stays]
        assert float(moved) <= sum(math.sqrt(loss) for loss in losses) ** 2 * (1 + 1e-12)
        if own[-1] == choices[1]:
            break


def test_the_delta_of_an_entity_covers_every_way_its_rows_may_lie() -> None:
    selection = PartitionSelection.design("1/2", 1e-6)
    plan = TablePlan((Count("n", Groups(["sex"], selection=selection), variance=1),))
    stated = plan.release(ibis.memtable(rows_of({"a": [("F", "0", 3.0)]})), entity="person", rows_per_entity=4).guarantee
    ways = [(4,), (3, 1), (2, 2), (2, 1, 1), (1, 1, 1, 1)]
    worst = max(sum(selection.delta_of(part) for part in way) for way in ways)
    assert worst <= stated.parameters["delta"] <= 4 * worst  # type: ignore[operator]
    assert stated.parameters["delta"] > plan.guarantee.parameters["delta"]  # type: ignore[operator]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"entity": "person"}, "rows_per_entity"),
        ({"rows_per_entity": 2}, "entity"),
        ({"entity": "who", "rows_per_entity": 2}, "no column 'who'"),
        ({"entity": "person", "rows_per_entity": 0}, "rows_per_entity"),
        ({"entity": "person", "rows_per_entity": True}, "rows_per_entity"),
        ({"entity": "person", "rows_per_entity": 10**6}, "rows_per_entity"),
        ({"entity": 7, "rows_per_entity": 2}, "entity"),
    ],
)
def test_entities_that_cannot_be_told_apart_are_refused(options: dict[str, Any], message: str) -> None:
    table = ibis.memtable(rows_of({"a": [("F", "0", 3.0)]}))
    for send in (PLAN.release, PRESENCE.release):
        with pytest.raises(InvalidProblem, match=message):
            send(table, **options)


def test_entities_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_text("person,sex,age,pay\n" + "a,F,0,1\n" * 90 + "b,M,1,5\n")
    plan = TablePlan((Count("n", Groups(["sex"], [["F"], ["M"]]), variance="1/1000"),)).save(tmp_path / "plan.json")
    options = ["--entity", "person", "--rows-per-entity", "2", "--json"]
    for spec in (plan, PRESENCE.save(tmp_path / "marginals.json")):
        assert main(["release", str(spec), "--table", str(tmp_path / "a.csv"), *options]) == 0
        data = json.loads(capsys.readouterr().out)
        assert data["guarantee"]["parameters"]["rows_per_entity"] == 2
        assert "answers" not in data or data["answers"]["n"]["values"] == [2, 1]
    assert main(["release", str(plan), "--table", str(tmp_path / "a.csv"), "--entity", "person"]) == 2
    counts = design(Problem(Workload.identity(2), metrics.uniform(2, 1.0)), "laplace").mechanism.save(tmp_path / "counts.json")
    assert main(["release", str(counts), "--histogram", str(tmp_path / "a.csv"), *options]) == 2
    assert "give --table" in capsys.readouterr().err

"""One plan, two engines: a local Spark gives the same exact numbers, split rows and cells as the embedded engine."""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from designer import Domain, InvalidProblem
from designer.problem.histogram import Universe
from designer.relations.records.counting import tabulated
from designer.relations.records.row_unit import RowUnit
from designer.tables import Condition, Count, CountDistinct, Groups, Key, Measure, Quantile, Sum, UnitSplitting
from designer.tables.aggregates import cell_counts
from designer.tables.scans import level_numbers, numbers
from tests.oracles import spark_session
from tests.oracles.records_tables import AWKWARD, columns, firms, on_duckdb
from tests.oracles.spark_session import as_table
from tests.oracles.spelled_values import HELD, misread
from tests.oracles.table_plans import COUNTY, LARGE, NATION, PAY, STATES, everything
from tests.tables.test_table_collations import TEXTS

ibis = pytest.importorskip("ibis")
spark = spark_session.spark  # a fixture
pyspark = pytest.importorskip("pyspark")
pytestmark = [
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs a Java runtime"),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning"),
]

PLAIN = [text for text in TEXTS if text.isprintable() and "\\" not in text]  # keys that are written into the query
ROWS = [{**row, "id": i} for i, row in enumerate(firms(300, seed=9))]


@pytest.fixture(scope="module")
def table(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return as_table(spark, columns(ROWS), tmp_path_factory.mktemp("rows") / "rows.parquet")


def rows_of(spark: Any, name: str) -> list[Any]:
    return sorted(RowUnit().rows(spark.table(name), ["a"]).to_pyarrow()["a"].to_pylist())


def test_of_views_those_of_parquet_files_are_read_each_once(spark: Any, tmp_path: Path) -> None:
    """Spark guesses the types of CSV and JSON files, and reads a file as often as its path is given."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    session, file = spark._session, str(tmp_path / "r.parquet")
    pq.write_table(pa.table({"a": [1, 2]}), file)
    (tmp_path / "r.csv").write_text("a\n1\n")
    (tmp_path / "r.json").write_text('{"a": 1}\n')
    (tmp_path / "part=1").mkdir()
    os.link(file, tmp_path / "part=1" / "hard.parquet")
    read = session.read
    for name, frame in {
        "once": read.parquet(file),
        "csv": read.csv(str(tmp_path / "r.csv"), header=True, inferSchema=True),
        "json": read.json(str(tmp_path / "r.json")),
        "twice": read.parquet(file, file),
        "linked": read.parquet(file, str(tmp_path / "part=1" / "hard.parquet")),
        "folders": read.option("basePath", str(tmp_path)).parquet(str(tmp_path / "part=1")),
        "cut": read.parquet(file).limit(1000),
        "drawn": read.parquet(file).where("rand() < 2"),
        "frame": session.createDataFrame([(1,)], ["a"]),
    }.items():
        frame.createOrReplaceTempView(name)
    session.sql("CREATE OR REPLACE TEMP VIEW counted AS SELECT count(*) AS a FROM once")
    session.table("once").write.mode("overwrite").saveAsTable("kept")
    session.sql("CREATE OR REPLACE VIEW seen AS SELECT a FROM kept")
    assert rows_of(spark, "once") == rows_of(spark, "kept") == [1, 2]
    session.sql("CREATE TABLE declared (a bigint, b bigint) USING csv")
    session.sql("INSERT INTO declared VALUES (3, 4)")
    declared = session.table("declared")
    declared.withColumnRenamed("b", "x").createOrReplaceTempView("renamed")
    declared.selectExpr("b AS x", "b AS y", "a").createOrReplaceTempView("copied")
    declared.selectExpr("a + b AS a").createOrReplaceTempView("computed")
    assert rows_of(spark, "declared") == rows_of(spark, "renamed") == [3]
    session.sql("CREATE TABLE padded (a CHAR(3), b VARCHAR(3), c INT) USING parquet")
    session.sql("INSERT INTO padded VALUES ('x', 'y', 1)")
    padded = session.table("padded")
    padded.createOrReplaceTempView("padding")
    padded.selectExpr("c").createOrReplaceTempView("beside")
    padded.selectExpr("a AS x", "a").createOrReplaceTempView("padded_twice")
    padded.selectExpr("concat(a, b) AS a").createOrReplaceTempView("joined")
    assert rows_of(spark, "padded") == rows_of(spark, "padding") == ["x  "]
    assert RowUnit().rows(spark.table("beside"), ["c"]).count().to_pyarrow().as_py() == 1
    for name in (
        *("csv", "json", "twice", "linked", "folders", "cut", "drawn", "frame", "counted", "copied", "computed"),
        *("padded_twice", "joined"),
    ):
        with pytest.raises(InvalidProblem, match=rf"reads '{name}', a view on Spark"):
            rows_of(spark, name)


def test_parquet_files_of_several_schemas_are_refused_because_spark_cuts_values_to_one(spark: Any, tmp_path: Path) -> None:
    """At int16 and int32 Spark publishes -25536 for 40000, in a folder, under a declared schema and in a table."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    session = spark._session
    needed = pa.schema([pa.field("a", pa.int32(), nullable=False)])
    folders = {
        "alike": (pa.table({"a": pa.array([1, None], pa.int32())}), pa.table([pa.array([3], pa.int32())], schema=needed)),
        "unsigned": (pa.table({"a": pa.array([1, 2**63], pa.uint64())}),),
        "wider": (pa.table({"a": pa.array([1, 100], pa.int16())}), pa.table({"a": pa.array([40000, 5], pa.int32())})),
        "signs": (pa.table({"a": pa.array([1, 100], pa.int8())}), pa.table({"a": pa.array([200, 255], pa.uint8())})),
        "dates": (pa.table({"a": pa.array([1], pa.int32())}), pa.table({"a": pa.array([2], pa.date32())})),
        "lacking": (pa.table({"a": [1], "b": [2]}), pa.table({"a": [3]})),
        "cases": (pa.table({"a": [1]}), pa.table({"A": [2]})),
    }
    for name, tables in folders.items():
        folder = tmp_path / f"{name} 100%"
        folder.mkdir()
        for place, rows in enumerate(tables):
            pq.write_table(rows, folder / f"{place}.parquet")
        session.read.parquet(f"{folder}").createOrReplaceTempView(f"view_{name}")
        session.sql(f"CREATE TABLE table_{name} USING parquet LOCATION '{folder}'")
        for kind in ("view", "table"):
            if len(tables) == 1 or name == "alike":
                assert len(RowUnit().rows(spark.table(f"{kind}_{name}"), ["a"]).to_pyarrow()) == sum(map(len, tables))
            else:
                with pytest.raises(InvalidProblem, match="cuts other values"):
                    RowUnit().rows(spark.table(f"{kind}_{name}"), ["a"])
    narrow = session.read.schema("a smallint").parquet(f"{tmp_path / 'alike 100%'}")
    narrow.createOrReplaceTempView("narrow")
    session.sql(f"CREATE TABLE narrower (a smallint) USING parquet LOCATION '{tmp_path / 'alike 100%'}'")
    for name in ("narrow", "narrower"):
        with pytest.raises(InvalidProblem, match="cuts other values"):
            rows_of(spark, name)
    keys = Groups(["a"], [[1], [2**63]])
    unsigned, domain = spark.table("view_unsigned"), Domain.of({"a": ["1", str(2**63), "3"]})
    assert numbers(keys, [Count("n", keys, variance=1)], unsigned) == {("1",): [1], (f"{2**63}",): [1]}
    assert tabulated(unsigned, Universe(domain.elements, domain.keys), fixed=False).tolist() == [1, 1, 0]
    assert domain.histogram(unsigned).tolist() == [1, 1, 0]


def test_data_frames_of_saved_tables_and_of_parquet_files_are_taken(spark: Any, table: Any, tmp_path: Path) -> None:
    """As the tables of Ibis that they are; a view of the session serves while they are used, and is gone afterwards."""
    session, plan = spark._session, replace(everything(), unlisted="drop")
    frame = session.table(table.get_name())

    def views() -> set[str]:
        return {row.viewName for row in session.sql("SHOW VIEWS").collect()}

    before = views()
    release = plan.release(frame)
    assert release["jobs"].values.shape == (4,) and "row-wise view" in release.guarantee.unit
    gc.collect()
    assert views() == before
    for refused in (frame.where("emp > 1"), frame.limit(10), frame.unionAll(frame), frame.selectExpr("*", "emp AS emp2")):
        with pytest.raises(InvalidProblem, match=r"reads 'dp_designer_records_.*filter and compute with Ibis"):
            plan.release(refused)
        assert plan.release(refused, unit="row").guarantee.unit.count("declared")
    with pytest.raises(InvalidProblem, match="is a RDD of Spark"):
        plan.release(frame.rdd)


def test_what_levels_share_is_scanned_once(spark: Any, table: Any) -> None:
    """Counted by Spark itself: the rows that all stages of a release took in, of files and of what is kept."""
    added = [query for query in everything().noisy if not isinstance(query, CountDistinct)]
    asked = {level: [query for query in added if query.groups == level] for level in (NATION, COUNTY, STATES)}
    store = spark._session.sparkContext._jsc.sc().statusStore()
    gateway = spark._session.sparkContext._gateway

    def taken() -> int:
        stages = store.stageList(
            None, False, False, gateway.new_array(gateway.jvm.double, 0), gateway.jvm.java.util.ArrayList()
        )
        return sum(stages.apply(place).inputRecords() for place in range(stages.size()))

    before = taken()
    found = level_numbers(asked, table)
    assert all(map(len, found.values())) and len(ROWS) <= taken() - before < 2 * len(ROWS)


def listed_alone(level: Groups, found: Mapping[Any, Any]) -> dict[Any, Any]:
    """What is answered: an engine may return a few groups that are not listed. All of them, where they are found privately."""
    return {key: value for key, value in found.items() if level.keys is None or key in level.place}


def test_exact_numbers_agree(table: Any) -> None:
    plan, here = everything(), on_duckdb(ROWS)
    for level in plan.levels:
        queries = [query for query in plan.noisy if query.groups == level]
        found, expected = (listed_alone(level, numbers(level, queries, t)) for t in (table, here))
        assert found == expected and found


def test_cells_of_quantiles_agree(table: Any) -> None:
    asked = Quantile("median", STATES, LARGE, PAY, 0.5, (0, 1, 10, 100, 1000), Fraction(1, 4))
    found, here = (listed_alone(asked.groups, cell_counts(asked, t)) for t in (table, on_duckdb(ROWS)))
    assert {key: list(cells) for key, cells in found.items()} == {key: list(cells) for key, cells in here.items()}


def test_split_tables_agree(table: Any) -> None:
    measures = [Measure("emp", upper=2000), Measure("pay", "0.01", lower=-100, upper=3000)]
    splitting = UnitSplitting(measures, [50, 200], "state", {"DE": [20, "99.5"]})
    found, here = (splitting.split(t).order_by("id", "split").to_pyarrow().to_pylist() for t in (table, on_duckdb(ROWS)))
    names = ("id", "state", "emp", "pay", "split")
    # NaN never equals itself: only the split columns and the keys are compared.
    assert [[row[name] for name in names] for row in found] == [[row[name] for name in names] for row in here]


def test_awkward_values_agree(spark: Any, tmp_path: Path) -> None:
    import pyarrow as pa

    there = as_table(spark, pa.table({"pay": pa.array(AWKWARD, type=pa.float64())}), tmp_path / "awkward.parquet")
    for measure in (PAY, Measure("pay"), Measure("pay", "1/8", lower=-3, upper=1000), Measure("pay", 1000)):
        found = there.select(u=measure.expression(there)).to_pyarrow()["u"].to_pylist()
        assert sorted(found) == sorted(measure.units(value) for value in AWKWARD)


def test_a_release_on_spark(table: Any) -> None:
    plan = replace(everything(), unlisted="drop")
    release = plan.release(table)
    assert release["jobs"].values.shape == (4,)
    assert release.fingerprint == plan.fingerprint
    with pytest.raises(InvalidProblem, match="none of its listed groups"):
        everything().release(table)


@pytest.mark.parametrize("kind", ["string", "string collate UTF8_LCASE", "string collate UNICODE_CI_AI"])
def test_texts_are_told_apart_by_bytes(spark: Any, tmp_path: Path, kind: str) -> None:
    """Groups, conditions and distinct counts, under collations that call 'a', 'A' and 'á' one text."""
    import pyarrow as pa

    rows = [{"k": text, "emp": 10**6 + i} for i, text in enumerate(TEXTS)] + [{"k": "a", "emp": 1}, {"k": None, "emp": 5}]
    plain = as_table(spark, pa.Table.from_pylist(rows), tmp_path / "texts.parquet")
    spark._session.sql(f"select cast(k as {kind}) as k, emp from {plain.get_name()}").createOrReplaceTempView("texts")
    there = spark.table("texts")
    starts = list(dict.fromkeys(text[:1] for text in TEXTS if text))
    for level in (
        Groups(["k"], [[text] for text in TEXTS]),
        Groups(["k"], [[text] for text in PLAIN]),
        Groups(["k"], [["a"]]),
        Groups([Key("k", 1)], [[text] for text in starts]),
        Groups([Key("k", 1)], [["a"]]),
        Groups(),
    ):
        where = (Condition("k", "!=", "A"),)
        queries = (Sum("s", level, where, 1, Measure("emp")), CountDistinct("d", level, variance=1, of="k"))
        expected: dict[Any, list[int]] = {}
        for row in rows:
            label = tuple(key.label(row) for key in level.columns)
            if None not in label:
                met = where[0].meets(row) * row["emp"]
                distinct = {r["k"] for r in rows if tuple(key.label(r) for key in level.columns) == label} - {None}
                expected[label] = [expected.get(label, [0])[0] + met, len(distinct)]
        found = numbers(level, queries, there)
        assert listed_alone(level, found) == listed_alone(level, expected)
        assert set(level.place) <= set(found)


def test_a_value_has_one_label_on_spark_too(spark: Any, tmp_path: Path) -> None:
    """As on the embedded engine: Spark writes 1 for a part of a pattern that is replaced."""
    import pyarrow as pa

    for place, values in enumerate(HELD):
        assert not misread(as_table(spark, pa.table({"k": values}), tmp_path / f"{place}.parquet"), values)

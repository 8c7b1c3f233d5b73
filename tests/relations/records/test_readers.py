"""Readers of files and frames: one record that is inserted moves one label of each level by itself, whatever it holds."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from designer import InvalidProblem
from designer.base.labels import texts_of
from designer.relations.records.record_files import open_table
from designer.relations.records.row_unit import RowUnit
from designer.tables import Count, Groups
from designer.tables.scans import numbers
from tests.oracles.readers import (
    COLUMNS,
    READERS,
    TABLES,
    UPPER,
    any_record,
    arrow,
    numbers_of,
    pairs,
    read_or_refused,
    some_records,
    write_csv,
    write_json,
)

ibis = pytest.importorskip("ibis")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

WORDS = Groups(["k"], [["yes"], ["no"]])
REFUSED = r"records: the expression reads .* One record may then move more than one row"


def inserted(name: str, seed: int, size: int, folder: Path) -> None:
    """`size` files with and without one record: no row that was there is changed, and one is added at most. A third is read."""
    read = 0
    for records, more in pairs(seed, size):
        one, other = (read_or_refused(READERS[name], given, folder) for given in (records, more))
        if one is not None and other is not None:
            read += 1
            assert not one - other and (other - one).total() <= 1, (name, more)
    assert read >= size / 3


@pytest.mark.parametrize("size", [4, pytest.param(8, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", READERS)
def test_one_record_changes_no_row_but_its_own(name: str, size: int, tmp_path: Path) -> None:
    inserted(name, 1, size, tmp_path)


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("name", ["CSV", "CSV of Windows", "counts, CSV", "cells of averages"])
def test_a_carriage_return_in_a_field_makes_no_second_record(name: str, place: int, tmp_path: Path) -> None:
    """`csv.writer` of Python before 3.13 leaves it without quotes, and readers of lines took it for the end of one."""
    ordinary = [{"k": "yes", "d": "2020-01-02", "n": "3"}] * 2
    odd = {**ordinary[0], COLUMNS[place]: "a\rb"}
    one, other = (READERS[name](given, tmp_path) for given in (ordinary, [*ordinary, odd]))
    assert not one - other and (other - one).total() <= 1


@pytest.mark.heavy
@pytest.mark.parametrize("name", READERS)
def test_one_record_in_a_thousand_files_of_each_reader(name: str, tmp_path: Path) -> None:
    inserted(name, 2, 1000, tmp_path)


@pytest.mark.parametrize("size", [2, pytest.param(3, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", TABLES)
def test_one_record_moves_one_label_of_each_level_by_no_more_than_stated(name: str, size: int, tmp_path: Path) -> None:
    read = 0
    for records, more in pairs(3, size):
        found = [read_or_refused(lambda r, f: numbers_of(TABLES[name](r, f)), given, tmp_path) for given in (records, more)]
        if None not in found:
            read += 1
            one, other = found
            assert one is not None and other is not None and not one - other
            moved = dict(other - one)
            for level in range(3):
                counts = [amount for (place, _, kind), amount in moved.items() if (place, kind) == (level, "count")]
                sums = [amount for (place, _, kind), amount in moved.items() if (place, kind) == (level, "sum")]
                assert counts in ([], [1]) and (not sums or (len(sums) == 1 and sums[0] <= UPPER))
    assert read


def counts(table: Any, unit: str | None = None, level: Groups = WORDS) -> list[int]:
    found = numbers(level, [Count("c", level, variance=1)], RowUnit(unit).rows(table, ["k"]))
    return [found.get(key, [0])[0] for key in level.keys or ()]


def answers(folder: Path, more: str = "") -> Path:
    path = folder / f"answers{bool(more)}.csv"
    path.write_text("k\n" + "yes\n" * 495 + "no\n" * 498 + more)
    return path


def test_what_a_guess_of_types_costs(tmp_path: Path) -> None:
    """The danger that the tests here are about: one record 'maybe' relabels all others. A caller who names a unit declares
    that it does not."""
    labels = Groups(["k"], [["true"], ["false"], ["yes"], ["no"]])
    without, with_one = (ibis.duckdb.connect().read_csv(str(answers(tmp_path, more))) for more in ("", "maybe\n"))
    assert counts(without, "answer", labels) == [495, 498, 0, 0]
    assert counts(with_one, "answer", labels) == [0, 0, 495, 498]
    for table in (without, with_one):
        with pytest.raises(InvalidProblem, match=REFUSED):
            counts(table)
    assert counts(open_table(answers(tmp_path))) == counts(open_table(answers(tmp_path, "maybe\n"))) == [495, 498]
    said = RowUnit("answer").stated(design_guarantee()).unit
    assert "no other row to depend on it, which was not checked" in said


def design_guarantee() -> Any:
    from designer.tables import TablePlan

    return TablePlan((Count("n", WORDS, variance=1),)).guarantee


CSV_COLUMNS = {"k": "VARCHAR"}
JSON_OPTIONS: dict[str, Any] = {"auto_detect": False, "columns": CSV_COLUMNS, "format": "newline_delimited"}
GUESSING: dict[str, Callable[[Any, str, str], Any]] = {
    "CSV": lambda e, c, j: e.read_csv(c),
    "CSV as texts": lambda e, c, j: e.read_csv(c, all_varchar=True),
    "CSV, form given": lambda e, c, j: e.read_csv(c, all_varchar=True, delim=",", quote='"', escape='"', header=True),
    "CSV, types of some": lambda e, c, j: e.read_csv(c, types=CSV_COLUMNS),
    "CSV, columns and a guess": lambda e, c, j: e.read_csv(c, columns=CSV_COLUMNS, auto_detect=True),
    "CSV, errors left out": lambda e, c, j: e.read_csv(c, columns=CSV_COLUMNS, ignore_errors=True),
    "CSV, lines left out": lambda e, c, j: e.read_csv(c, columns=CSV_COLUMNS, skip=3),
    "CSV, missing fields": lambda e, c, j: e.read_csv(c, columns=CSV_COLUMNS, null_padding=True),
    "CSV, not strict": lambda e, c, j: e.read_csv(c, columns=CSV_COLUMNS, strict_mode=False),
    "CSV, with its name": lambda e, c, j: e.read_csv(c, columns=CSV_COLUMNS, filename=True),
    "JSON": lambda e, c, j: e.read_json(j),
    "JSON with columns": lambda e, c, j: e.read_json(j, columns=CSV_COLUMNS),
    "JSON with columns and format": lambda e, c, j: e.read_json(j, columns=CSV_COLUMNS, format="newline_delimited"),
    "JSON, a form guessed": lambda e, c, j: e.read_json(j, **{**JSON_OPTIONS, "format": "auto"}),
    "JSON, errors left out": lambda e, c, j: e.read_json(j, **JSON_OPTIONS, ignore_errors=True),
    "a name that is a path": lambda e, c, j: e.table(c),
    "a view of a path": lambda e, c, j: view(e, f"SELECT * FROM '{c}'"),
    "a view of JSON": lambda e, c, j: view(e, f"SELECT * FROM read_json('{j}')"),
    "a view of a computed path": lambda e, c, j: view(
        e, f"SELECT * FROM read_csv(concat('{c}', ''), auto_detect=false, columns={{'k': 'VARCHAR'}})"
    ),
    "an array read when asked": lambda e, c, j: registered(e, dataset(c)),
    "a data set of Arrow": lambda e, c, j: ibis.memtable(dataset(c)),
}


def view(engine: Any, query: str) -> Any:
    engine.raw_sql(f"CREATE OR REPLACE VIEW seen AS {query}")
    return engine.table("seen")


def dataset(path: str) -> Any:
    import pyarrow.dataset as ds

    return ds.dataset(path, format="csv")


def registered(engine: Any, given: Any) -> Any:
    engine.con.register("given", given)
    return engine.table("given")


@pytest.mark.parametrize("name", GUESSING)
def test_readers_that_look_at_other_records_are_refused(name: str, tmp_path: Path) -> None:
    records = [{"k": "a", "d": "b", "n": "1"}]
    table = GUESSING[name](
        ibis.duckdb.connect(), str(write_csv(records, tmp_path / "r.csv")), str(write_json(records, tmp_path / "r.json"))
    )
    with pytest.raises(InvalidProblem, match=REFUSED):
        RowUnit().rows(table, ["k"])


def test_a_view_of_texts_alone_is_read_where_its_form_is_declared(tmp_path: Path) -> None:
    """The three readers that are accepted, in SQL of the user's own, and under other settings."""
    records = some_records(random.Random(3))
    c, j = write_csv(records, tmp_path / "r.csv"), write_json(records, tmp_path / "r.json")
    pq.write_table(arrow(records), tmp_path / "r.parquet")
    columns = "columns={'k': 'VARCHAR', 'd': 'VARCHAR', 'n': 'DOUBLE'}"
    engine = ibis.duckdb.connect()
    found = set()
    for query in (
        f"FROM read_csv('{c}', auto_detect=false, header=true, {columns})",
        f"FROM read_csv(['{c}'], AUTO_DETECT=false, header=1, delim=',', quote='\"', {columns})",
        f"FROM read_json('{j}', auto_detect=false, format='nd', {columns})",
        f"FROM read_parquet('{tmp_path}/*.parquet')",
        f"FROM parquet_scan(['{tmp_path}/r.parquet'], hive_partitioning=false)",
    ):
        rows = RowUnit().rows(view(engine, query), COLUMNS)
        found.add(tuple(sorted(map(repr, rows.to_pyarrow().to_pylist()))))
    assert len(found) == 1


class Twice:
    """Ways to read one Parquet file more than once."""

    list_of_one = staticmethod(lambda e, f: e.read_parquet([str(f)] * 9))
    overlapping = staticmethod(lambda e, f: e.read_parquet([str(f), str(f.parent / "*.parquet")]))
    other_words = staticmethod(lambda e, f: e.read_parquet([str(f), str(f.parent / ".." / f.parent.name / f.name)]))
    in_sql = staticmethod(lambda e, f: view(e, f"SELECT * FROM read_parquet(['{f}', '{f}'])"))

    @staticmethod
    def soft_link(e: Any, f: Path) -> Any:
        (f.parent / "soft.parquet").symlink_to(f)
        return e.read_parquet(str(f.parent / "*.parquet"))

    @staticmethod
    def hard_link(e: Any, f: Path) -> Any:
        os.link(f, f.parent / "hard.parquet")
        return e.read_parquet(str(f.parent / "*.parquet"))

    @staticmethod
    def opened(e: Any, f: Path) -> Any:
        (f.parent / "soft.parquet").symlink_to(f)
        return open_table(f.parent / "*.parquet")

    @staticmethod
    def declared_csv(e: Any, f: Path) -> Any:
        path = str(write_csv([{"k": "a", "d": "b", "n": "1"}], f.parent / "a.csv"))
        return e.read_csv([path, path], columns=dict.fromkeys(COLUMNS, "VARCHAR"))


@pytest.mark.parametrize("name", [name for name in vars(Twice) if not name.startswith("_")])
def test_a_file_is_read_once(name: str, tmp_path: Path) -> None:
    """Nine readings move a count by nine: rho 1 / 16 was stated, 81 / 16 was true."""
    pq.write_table(pa.table({"k": ["a"]}), tmp_path / "r.parquet")
    table = getattr(Twice, name)(ibis.duckdb.connect(), tmp_path / "r.parquet")
    assert table.count().to_pyarrow().as_py() > 1
    with pytest.raises(InvalidProblem, match=rf"{REFUSED}") as refusal:
        RowUnit().rows(table, ["k"])
    assert "reads a file twice" in str(refusal.value)


def test_folders_and_files_do_not_decide_about_records_of_others(tmp_path: Path) -> None:
    for value in ("1", "maybe"):
        (tmp_path / f"part={value}").mkdir()
        pq.write_table(pa.table({"k": ["a"]}), tmp_path / f"part={value}" / "r.parquet")
    engine, every = ibis.duckdb.connect(), str(tmp_path / "*" / "*.parquet")
    for options in ({}, {"hive_partitioning": True}, {"hive_partitioning": True, "hive_types_autocast": False}):
        with pytest.raises(InvalidProblem, match="folders name values"):
            RowUnit().rows(engine.read_parquet(every, **options), ["k"])
    assert RowUnit().rows(engine.read_parquet(every, hive_partitioning=False), ["k"]).count().to_pyarrow().as_py() == 2
    assert open_table(every).columns == ("k",)
    pq.write_table(pa.table({"k": [1]}), tmp_path / "part=1" / "other.parquet")
    with pytest.raises(InvalidProblem, match="different schemas"):
        RowUnit().rows(open_table(tmp_path / "part=1" / "*.parquet"), ["k"])


@pytest.mark.parametrize(
    "option", ["file_row_number=True", "filename=True", "union_by_name=True", "schema={}", "explicit_cardinality=1"]
)
def test_options_of_parquet_that_are_not_known_are_refused(option: str, tmp_path: Path) -> None:
    pq.write_table(pa.table({"k": ["a"]}), tmp_path / "r.parquet")
    name, value = option.split("=")
    engine = ibis.duckdb.connect()
    try:
        table = engine.read_parquet(str(tmp_path / "r.parquet"), **{name: eval(value)})
    except Exception:  # what DuckDB itself does not take
        return
    with pytest.raises(InvalidProblem, match=f"with the option {name}|a view, or an array"):
        RowUnit().rows(table, ["k"])


BEYOND = {
    "limit": "SELECT * FROM {} LIMIT 100000",
    "sample": "SELECT * FROM {} USING SAMPLE 100%",
    "window": "SELECT *, row_number() OVER () AS place FROM {}",
    "qualify": "SELECT * FROM {} QUALIFY row_number() OVER (PARTITION BY k) = 1",
    "distinct": "SELECT DISTINCT * FROM {}",
    "chance": "SELECT * FROM {} WHERE random() < 2",
    "clock": "SELECT * REPLACE (now()::VARCHAR AS k) FROM {}",
    "union": "SELECT * FROM {0} UNION ALL SELECT * FROM {0}",
    "join": "SELECT * FROM {0} NATURAL JOIN (SELECT * FROM {0})",
    "order of rows": "SELECT * FROM {} WITH ORDINALITY",
    "alias": "SELECT * FROM {} AS t(k)",
}


@pytest.mark.parametrize("name", BEYOND)
def test_views_that_do_more_than_read_are_refused(name: str, tmp_path: Path) -> None:
    pq.write_table(pa.table({"k": ["a", "b"]}), tmp_path / "r.parquet")
    table = view(ibis.duckdb.connect(), BEYOND[name].format(f"read_parquet('{tmp_path}/r.parquet')"))
    with pytest.raises(InvalidProblem, match=REFUSED):
        RowUnit().rows(table, ["k"])


def test_macros_stand_before_no_reader(tmp_path: Path) -> None:
    """A macro that is called as a function of the engine is what its name means from then on, also to views made before."""
    pq.write_table(pa.table({"k": ["a", "b"]}), tmp_path / "r.parquet")
    engine = ibis.duckdb.connect()
    table = engine.read_parquet(str(tmp_path / "r.parquet"))
    assert RowUnit().rows(table, ["k"]) is table
    for macro in (
        "read_parquet(p) AS TABLE SELECT * FROM (VALUES ('a'), ('a')) AS t(k)",
        '"glob"(p) AS TABLE SELECT 1 AS file',
    ):
        engine.raw_sql(f"CREATE MACRO {macro}")
        with pytest.raises(InvalidProblem, match=REFUSED):
            RowUnit().rows(table, ["k"])
        engine.raw_sql(f"DROP MACRO {'TABLE ' if 'TABLE' in macro else ''}{macro.partition('(')[0]}")
    engine.raw_sql("CREATE MACRO mine(p) AS TABLE SELECT * FROM read_parquet(p)")
    with pytest.raises(InvalidProblem, match=REFUSED):
        RowUnit().rows(view(engine, f"SELECT * FROM mine('{tmp_path}/r.parquet')"), ["k"])


def test_tables_of_attached_databases_are_stored_and_their_views_are_not(tmp_path: Path) -> None:
    """A view keeps its text in the file of a database, and a name may be a table of one schema and a view of another."""
    path = write_csv([{"k": "a", "d": "b", "n": "1"}], tmp_path / "r.csv")
    with __import__("duckdb").connect(str(tmp_path / "kept.duckdb")) as kept:
        kept.execute("CREATE TABLE people (k VARCHAR)")
        kept.execute(f"CREATE VIEW guessed AS SELECT * FROM read_csv('{path}')")
    engine = ibis.duckdb.connect()
    engine.attach(tmp_path / "kept.duckdb", "kept", read_only=True)
    people = engine.table("people", database="kept.main")
    assert RowUnit().rows(people, ["k"]) is people
    with pytest.raises(InvalidProblem, match="decide how all others are read"):
        RowUnit().rows(engine.table("guessed", database="kept.main"), ["k"])


def test_a_name_is_what_the_engine_plans_for_it_and_not_what_is_called_so_elsewhere(tmp_path: Path) -> None:
    pq.write_table(pa.table({"k": ["a"]}), tmp_path / "r.parquet")
    engine = ibis.duckdb.connect()
    engine.raw_sql(f"CREATE VIEW duckdb_tables AS SELECT * FROM read_parquet('{tmp_path}/r.parquet')")
    own, other = (engine.table("duckdb_tables", database=database) for database in ("memory.main", "system.main"))
    assert RowUnit().rows(own, ["k"]) is own
    with pytest.raises(InvalidProblem, match="a view, or an array"):
        RowUnit().rows(other, ["table_name"])


def test_columns_that_a_table_computes_when_it_is_read_are_refused() -> None:
    engine = ibis.duckdb.connect()
    engine.raw_sql("CREATE TABLE drawn (k VARCHAR, chance DOUBLE GENERATED ALWAYS AS (random()))")
    engine.raw_sql("""CREATE TABLE "generated always" (k VARCHAR DEFAULT 'generated always as (x)')""")
    with pytest.raises(InvalidProblem, match="generated columns"):
        RowUnit().rows(engine.table("drawn"), ["k"])
    assert RowUnit().rows(engine.table("generated always"), ["k"]).columns == ("k",)


def test_engines_that_store_no_tables_are_refused(tmp_path: Path) -> None:
    pl = pytest.importorskip("polars")
    for given in (pl.DataFrame({"k": [1]}), pl.LazyFrame({"k": [1]}).limit(1)):
        with pytest.raises(InvalidProblem, match="stores no tables"):
            RowUnit().rows(ibis.polars.connect({"t": given}).table("t"), ["k"])


def test_columns_of_python_objects_are_texts_value_by_value() -> None:
    """Arrow would take the type that fits all of them: 1 becomes 1.0 beside 1.5, and Decimal(1) 1.00 beside Decimal("1.25").
    So would Ibis."""
    pd = pytest.importorskip("pandas")
    from decimal import Decimal

    for own, other in ((1, 1.5), (Decimal(1), Decimal("1.25")), (True, "x"), ("a", 3)):
        for more in ([], [other]):
            frame = pd.DataFrame({"k": pd.Series([own, None, *more], dtype=object)})
            held = RowUnit().rows(frame, ["k"]).to_pyarrow()["k"]
            texts = ["true" if value is True else str(value) for value in (own, *more)]
            assert held.to_pylist() == [texts[0], None, *texts[1:]]
            kinds = frame.assign(k=frame.k.astype(pd.CategoricalDtype(pd.Index([own, *more], dtype=object))))
            assert RowUnit().rows(kinds, ["k"]).to_pyarrow()["k"].to_pylist()[0] == texts[0]
    for values in ([1, None, 2], [True, None, False], [1.5, None, Decimal("0.25")], ["a", None, 3]):
        objects = ibis.memtable(pd.DataFrame({"k": pd.Series(values, dtype=object)}))
        held = RowUnit().rows(objects.filter(ibis._.k.notnull()), ["k"]).to_pyarrow()["k"].to_pylist()
        assert texts_of(held) == texts_of([value for value in values if value is not None])


def test_what_is_of_spark_and_no_data_frame_is_told_its_way() -> None:
    """Without Spark: a type of a module of that name stands for it."""
    from designer import Domain
    from designer.domains.marginals_plan import design_marginals
    from designer.domains.marginals_workload import MarginalWorkload
    from designer.relations.metrics.presence import Presence

    column = type("Column", (), {"__module__": "pyspark.sql.column"})()
    made = design_marginals(MarginalWorkload.of(Domain.of({"k": ["a", "b"]}), [["k"]]), Presence(mu=0.5))
    with pytest.raises(InvalidProblem, match="is a Column of Spark, not a data frame of it"):
        made.release(column)
    with pytest.raises(InvalidProblem, match="neither a data frame nor an Ibis table"):
        RowUnit().rows(column, ["k"])
    assert made.release(ibis.memtable({"k": ["a"]})).table(["k"]).shape == (2,)


def test_the_records_that_are_inserted_hold_what_separates_fields() -> None:
    choice = random.Random(0)
    held = {value for _ in range(400) for value in any_record(choice).values()}
    assert {",", '"', "a\nb", "\0", "maybe", ""} <= held

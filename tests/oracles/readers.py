"""Files and frames of records, one of which is inserted; and what a reader makes of them: how many records have each label, by
text and by date, and the sum of their amounts, exact."""

from __future__ import annotations

import csv
import datetime
import decimal
import itertools
import json
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from designer.base.errors import InvalidProblem, hides_data_in_errors
from designer.files.data_files import read_histogram, read_records
from designer.relations.records.record_files import open_table
from designer.relations.records.row_unit import RowUnit
from designer.tables import Count, Groups, Measure, Sum
from designer.tables.scans import numbers

COLUMNS = ("k", "d", "n")
WORDS = ["a", "b", "true", "false", "1", "01", "2"]
DATES = ["01/02/2020", "03/04/2021", "2020-01-02"]
UPPER = 100
ODD = [
    *("", " ", "maybe", "yes", "NULL", "nan", "inf", "-inf", "1.0", "1e400", "9" * 30, "2020-13-45", "31/12/2020", "12:30"),
    *(",", ";", "\t", "|", '"', '""', "'", 'a"b', "a'b", "\\", '\\"', "#", "# a", "a\nb", "a\r\nb", "\r", "\n", " a", "a "),
    *("é", "e\u0301", "\ufeff", "\u2028", "\0", "💥", "x" * 3000, "A", "TRUE", "k", "d", "n", "k,d,n", "{}", "[1]"),
]
LEVELS = (Groups(["k"], [[word] for word in WORDS]), Groups(["d"], [[date] for date in DATES]), Groups())
MEASURE = Measure("n", upper=UPPER)

NUMBERS = itertools.count()  # of files

Record = dict[str, Any]
Rows = Counter[Any]


def some_records(choice: random.Random) -> list[Record]:
    """Records of a form that a reader may take for a rule: booleans, whole numbers, dates, all of one kind or mixed."""
    words = choice.choice([WORDS[:2], WORDS[2:4], WORDS[4:], WORDS[4:5], WORDS])
    dates = choice.choice([DATES[:1], DATES[:2], DATES[2:], DATES])
    size = choice.choice([1, 2, 5, 30, 300])
    return [{"k": choice.choice(words), "d": choice.choice(dates), "n": str(choice.randrange(9))} for _ in range(size)]


def any_record(choice: random.Random) -> Record:
    """A record that holds whatever a text can be, or looks like the others."""
    made = some_records(choice)[0]
    return {name: choice.choice(ODD) if choice.random() < 0.6 else made[name] for name in COLUMNS}


def with_one_more(records: list[Record], record: Record, choice: random.Random) -> list[Record]:
    """The records with one among them, first, last or anywhere."""
    place = choice.choice([0, len(records), choice.randrange(len(records) + 1)])
    return [*records[:place], record, *records[place:]]


def rows_of(table: Any) -> Rows:
    """The rows of a table that is found to be a row-wise view of one, with the types of their columns, each as often as it is
    there."""
    held = RowUnit().rows(table, COLUMNS).select(*COLUMNS).to_pyarrow()
    return Counter((str(held.schema), repr(row)) for row in held.to_pylist())


def numbers_of(table: Any) -> Rows:
    """The exact numbers of all levels: records and the sum of their amounts, of each label."""
    rows, found = RowUnit().rows(table, COLUMNS), Counter[Any]()
    for place, level in enumerate(LEVELS):
        queries = [Count("c", level, variance=1), Sum("s", level, variance=1, measure=MEASURE)]
        for key, (count, amount) in numbers(level, queries, rows).items():
            if key in level.place:
                found[place, key, "count"], found[place, key, "sum"] = count, amount
    return found


def write_csv(records: list[Record], path: Path, terminator: str = "\n") -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator=terminator)
        writer.writerow(COLUMNS)
        writer.writerows([record[name] for name in COLUMNS] for record in records)
    return path


def write_json(records: list[Record], path: Path) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def typed(record: Record) -> Record:
    """The record in columns of a text, a text and a float."""
    try:
        return {**record, "n": float(record["n"])}
    except ValueError:
        return {**record, "n": None}


def arrow(records: list[Record], categories: bool = False) -> Any:
    import pyarrow as pa

    text = pa.dictionary(pa.int32(), pa.string()) if categories else pa.string()
    rows = [typed(record) for record in records]
    kinds = {"k": text, "d": text, "n": pa.float64()}
    return pa.table({name: pa.array([row[name] for row in rows], kinds[name]) for name in COLUMNS})


def objects(record: Record) -> Record:
    """The record as values of Python of whatever type."""
    turned: dict[str, Any] = {
        "": None,
        "nan": math.nan,
        "1": 1,
        "2": 2,
        "1.0": 1.5,
        "true": True,
        "false": False,
        "9" * 30: 10**30,
        "2020-01-02": datetime.date(2020, 1, 2),
        "31/12/2020": datetime.datetime(2020, 12, 31, 12),
        "1e400": decimal.Decimal("1.50"),
        "{}": {"a": 1},
        "[1]": [1],
        "\0": b"a",
    }
    return {name: turned.get(record[name], record[name]) for name in ("k", "d")} | {"n": typed(record)["n"]}


def parquet_file(records: list[Record], folder: Path) -> Path:
    """A file that was not there before: an engine that outlives a file may still hold blocks of it when another takes its
    place within one tick of the clock of files."""
    import pyarrow.parquet as pq

    path = folder / f"r{next(NUMBERS)}.parquet"
    pq.write_table(arrow(records), path, row_group_size=7)
    return path


def two_files(records: list[Record], folder: Path) -> str:
    import pyarrow.parquet as pq

    for name, part in (("a", records[::2]), ("b", records[1::2])):
        pq.write_table(arrow(part), folder / f"two_{name}.parquet")
    return str(folder / "two_*.parquet")


@cache
def duckdb() -> Any:
    """One engine for all readings; each takes the name of the last."""
    import ibis

    return ibis.duckdb.connect()


def declared_csv(records: list[Record], folder: Path, number: str = "VARCHAR") -> Any:
    columns = {"k": "VARCHAR", "d": "VARCHAR", "n": number}
    path = write_csv(records, folder / "d.csv")
    table = duckdb().read_csv(str(path), auto_detect=False, header=True, columns=columns, table_name="given")
    return table.mutate(n=table.n.try_cast("float64")) if number == "VARCHAR" else table


def declared_json(records: list[Record], folder: Path) -> Any:
    path = write_json(records, folder / "d.json")
    columns = dict.fromkeys(COLUMNS, "VARCHAR")
    table = duckdb().read_json(str(path), auto_detect=False, columns=columns, format="newline_delimited", table_name="given")
    return table.mutate(n=table.n.try_cast("float64"))


def stored(records: list[Record], folder: Path) -> Any:
    duckdb().con.register("held", arrow(records))
    duckdb().raw_sql("CREATE OR REPLACE TABLE stored AS SELECT * FROM held")
    return duckdb().table("stored")


def pandas_frame(records: list[Record], values: Callable[[Record], Record], kind: Any) -> Any:
    import pandas as pd

    rows = [values(record) for record in records]
    made = pd.DataFrame({name: pd.Series([row[name] for row in rows], dtype=kind) for name in ("k", "d")})
    return made.assign(n=pd.Series([row["n"] for row in rows], dtype="float64"))


def polars_frame(records: list[Record], kind: str = "String") -> Any:
    import polars as pl

    rows = [typed(record) for record in records]
    kinds: dict[str, Any] = {"k": getattr(pl, kind), "d": getattr(pl, kind), "n": pl.Float64}
    return pl.DataFrame({name: pl.Series([row[name] for row in rows], dtype=kinds[name]) for name in COLUMNS})


def memory_table(frame: Any) -> Any:
    import ibis

    return ibis.memtable(frame)


def counts_file(records: list[Record], folder: Path, suffix: str) -> Rows:
    """The counts of all labels in a file, with the label beside each, as `release --histogram` reads it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    labels = [*WORDS, *ODD]
    amounts = [sum(record["k"] == label for record in records) for label in labels]
    path = folder / f"counts{suffix}"
    if suffix == ".parquet":
        pq.write_table(pa.table({"k": labels, "count": amounts}), path)
    else:
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["k", "count"], *zip(labels, amounts, strict=True)])
    found: Any = read_histogram(path, "count")
    ((_, names),) = found.columns
    return Counter(dict(zip(map(repr, names), map(int, found.counts), strict=True)))


def cells_of_file(records: list[Record], folder: Path) -> Rows:
    """The records of a CSV file as `release --counted-by` reads them."""
    columns = read_records(write_csv(records, folder / "cells.csv"), ["k", "d"])()
    return Counter(zip(columns["k"], columns["d"], strict=True))


# What each reader makes of records that are written to a folder: an Ibis table or a data frame.
TABLES: dict[str, Callable[[list[Record], Path], Any]] = {
    "CSV": lambda r, f: open_table(write_csv(r, f / "r.csv"), ["n"]),
    "CSV of Windows": lambda r, f: open_table(write_csv(r, f / "w.csv", "\r\n"), ["n"]),
    "Parquet": lambda r, f: open_table(parquet_file(r, f)),
    "several Parquet files": lambda r, f: open_table(two_files(r, f)),
    "DuckDB's Parquet": lambda r, f: duckdb().read_parquet(str(parquet_file(r, f)), table_name="given"),
    "DuckDB's CSV, all texts": declared_csv,
    "DuckDB's CSV, numbers declared": lambda r, f: declared_csv(r, f, "DOUBLE"),
    "DuckDB's JSON": declared_json,
    "stored by DuckDB": stored,
    "pandas, texts": lambda r, f: pandas_frame(r, typed, "string"),
    "pandas, categories": lambda r, f: pandas_frame(r, typed, "category"),
    "pandas, objects": lambda r, f: pandas_frame(r, objects, object),
    "pandas, texts of objects": lambda r, f: pandas_frame(r, typed, object),
    "pandas in a table of Ibis": lambda r, f: memory_table(pandas_frame(r, typed, "string")),
    "pandas' texts of objects in a table of Ibis": lambda r, f: memory_table(pandas_frame(r, typed, object)),
    "polars": lambda r, f: polars_frame(r),
    "polars, categories": lambda r, f: polars_frame(r, "Categorical"),
    "polars in a table of Ibis": lambda r, f: memory_table(polars_frame(r)),
    "Arrow": lambda r, f: arrow(r),
    "Arrow, dictionaries": lambda r, f: arrow(r, categories=True),
}
# The same of files that are read here.
FILES: dict[str, Callable[[list[Record], Path], Rows]] = {
    "counts, CSV": lambda r, f: counts_file(r, f, ".csv"),
    "counts, Parquet": lambda r, f: counts_file(r, f, ".parquet"),
    "cells of averages": cells_of_file,
}
READERS: dict[str, Callable[[list[Record], Path], Rows]] = {
    **{name: lambda r, f, table=table: rows_of(table(r, f)) for name, table in TABLES.items()},  # type: ignore[misc]
    **FILES,
}


def pairs(seed: int, size: int) -> Iterator[tuple[list[Record], list[Record]]]:
    """Records without and with one more."""
    choice = random.Random(seed)
    for _ in range(size):
        records = some_records(choice)
        yield records, with_one_more(records, any_record(choice), choice)


@hides_data_in_errors
def _read(reader: Callable[[list[Record], Path], Rows], records: list[Record], folder: Path) -> Rows:
    return reader(records, folder)


def read_or_refused(reader: Callable[[list[Record], Path], Rows], records: list[Record], folder: Path) -> Rows | None:
    """None where the reader refuses the records, or fails, of which nothing is said."""
    try:
        return _read(reader, records, folder)
    except InvalidProblem:
        return None

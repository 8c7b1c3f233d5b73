"""Files of records as tables: Parquet and CSV on the embedded engine, which reads them in pieces and never needs to hold them.

The rules of CSV files read each record alone: none is refused or dropped for what it holds.

- The first line names the columns; it is public, and refused where it is no text in UTF-8; a byte-order mark is not of it.
- Below it, bytes that are not UTF-8 become U+FFFD.
- Fields are separated by the delimiter; one in double quotes may hold delimiters, line ends and doubled quotes.
- A line ends in a line feed, or in a carriage return and a line feed; a carriage return alone is part of its field.
- Fields that a record lacks, and empty ones, are missing; those too many are cut off; a blank line is no record.
- A record is what the quotes make of the file: one that never closes makes one record of all lines that follow.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from glob import glob
from pathlib import Path
from typing import Any

from designer.base.checks import shown
from designer.base.errors import InvalidProblem, hides_data_in_errors
from designer.base.frames import turned_by_pandas
from designer.base.version import installing_with
from designer.problem.histogram import REFUSE, UNREADABLE, Unlisted
from designer.relations.records.csv_rows import Marks, batches, header
from designer.relations.records.engines import has_long_decimals


@hides_data_in_errors
def open_table(
    path: str | Path,
    numbers: Sequence[str] = (),
    *,
    whole: Sequence[str] = (),
    delimiter: str = ",",
    decimal: str = ".",
    thousands: str = "",
    unlisted: Unlisted = "drop",
    memory: str | None = None,
    spill: str | Path | None = None,
    threads: int | None = None,
) -> Any:
    """An Ibis table of a Parquet or CSV file (or of several Parquet files, `folder/*.parquet`), on a DuckDB engine of its own.

    A CSV file has no types, and types guessed from its rows would depend on them. So all its columns are texts, but for
    `numbers`, where what is no number is missing, and those of them in `whole`, which are keys as well: there what is no whole
    number of 64 bits is missing. What is a record, a field and a number is said above, and depends on no other record; "1,234"
    is a number with decimal="," or thousands=",", and missing otherwise. unlisted="refuse": what is no number, and not empty,
    is refused. memory: such as "512MB", the most the engine may take. What does not fit is written, as it is, to temporary
    files in the folder `spill`, by default `.tmp` in the working directory.
    """
    marks = Marks(delimiter, decimal, thousands)
    names, suffix = _column_names(path, numbers, whole, delimiter), Path(path).suffix
    engine = _engine(memory, spill, threads)
    if suffix == ".parquet":
        return _opened(path, lambda: _as_pandas_may_hold(engine, str(path)))
    kinds = {name: "BIGINT" if name in whole else "DOUBLE" if name in numbers else "VARCHAR" for name in names}
    return _opened(path, lambda: _filled(engine, Path(path), kinds, marks, unlisted == REFUSE))


@hides_data_in_errors
def require_openable(path: str | Path, numbers: Sequence[str] = (), *, whole: Sequence[str] = (), delimiter: str = ",") -> None:
    """Refuse what `open_table` refuses for the names of files and of columns, which are public; no record is read."""
    _column_names(path, numbers, whole, delimiter)


@hides_data_in_errors
def has_records(path: str | Path, delimiter: str = ",") -> bool:
    """Is there a record behind the header? To be asked only where the number of records is public."""
    if Path(path).suffix == ".csv":
        return next(batches(Path(path), delimiter, 1), None) is not None
    from pyarrow import parquet

    return any(parquet.read_metadata(name).num_rows for name in glob(str(path)))


def require_table_file(path: str | Path) -> None:
    """Refuse a path whose name, or absence, `open_table` refuses, and a machine without DuckDB; nothing is opened."""
    _require_files(path)
    _modules()


def _require_files(path: str | Path) -> None:
    files, suffix = glob(str(path)) or [str(path)], Path(path).suffix
    if suffix not in (".parquet", ".csv"):
        raise InvalidProblem(
            f"{path}: is neither a .parquet nor a .csv file; save a spreadsheet as CSV, or open the table with Ibis.",
            value=path,
        )
    if not all(map(os.path.isfile, files)):
        raise InvalidProblem(f"{path}: no such file; give a .parquet or .csv file, or 'folder/*.parquet'.")


def _column_names(path: str | Path, numbers: Sequence[str], whole: Sequence[str], delimiter: str) -> list[str]:
    """The columns of a CSV file; none of files that know their types."""
    _require_files(path)
    suffix = Path(path).suffix
    names = [] if suffix == ".parquet" else header(Path(path), delimiter)
    if suffix == ".csv" and (missing := [name for name in (*numbers, *whole) if name not in names]):
        raise InvalidProblem(f"{path}: has no columns {shown(missing)}; name those that are there.")
    return names


def _modules() -> tuple[Any, Any]:
    """DuckDB and Ibis."""
    try:
        import duckdb
        import ibis
    except ImportError:
        raise InvalidProblem(f"--table: records need Ibis and DuckDB; {installing_with('tables')}.") from None
    return duckdb, ibis


def _engine(memory: str | None, spill: str | Path | None, threads: int | None) -> Any:
    """A DuckDB of its own behind Ibis."""
    duckdb, ibis = _modules()
    settings = {"memory_limit": memory, "temp_directory": None if spill is None else str(spill), "threads": threads}
    given = {name: value for name, value in settings.items() if value is not None}
    try:
        return ibis.duckdb.connect(**given)
    except (duckdb.Error, TypeError, ValueError):
        raise InvalidProblem(
            f"memory, spill, threads: DuckDB does not take {shown(given)}; see its documentation of them."
        ) from None


def _opened(path: str | Path, read: Callable[[], Any]) -> Any:
    """The engine's own words may quote the file, so they are not said."""
    import duckdb

    try:
        return read()
    except duckdb.Error:
        raise InvalidProblem(
            f"{path}: is empty, damaged or of another type than its name says; nothing was read.", value=path
        ) from None


def _as_pandas_may_hold(engine: Any, path: str) -> Any:
    """A Parquet file as a table, in which long whole numbers that pandas held in types of NumPy are floats, as they are where
    one is missing."""
    table = engine.read_parquet(path, hive_partitioning=False)
    if has_long_decimals(engine, [path]):
        raise InvalidProblem(
            f"{path}: holds decimals of more than 38 digits, of which DuckDB makes others; write fewer digits."
        )
    written = "SELECT DISTINCT decode(value) FROM parquet_kv_metadata(?) WHERE decode(key) = 'pandas'"
    turned = set().union(*(turned_by_pandas(text) for (text,) in engine.con.execute(written, [path]).fetchall()))
    floats = {name: table[name].cast("float64") for name in table.columns if name in turned}
    return table.mutate(**floats) if floats else table


def _filled(engine: Any, path: Path, kinds: dict[str, str], marks: Marks, refusing: bool) -> Any:
    """The records of a CSV file as a table of the engine."""
    import pyarrow as pa

    read = {"BIGINT": (marks.whole, pa.int64()), "DOUBLE": (marks.number, pa.float64())}
    columns = ", ".join(f"c{place} {kind}" for place, kind in enumerate(kinds.values()))
    engine.con.execute(f"CREATE TABLE records ({columns})")
    given = ", ".join(
        f"NULLIF(c{place}, '')" if kind == "VARCHAR" else f"c{place}" for place, kind in enumerate(kinds.values())
    )
    for batch in batches(path, marks.delimiter, len(kinds)):
        arrays = {}
        for place, (kind, cells) in enumerate(zip(kinds.values(), batch, strict=True)):
            take, kept = read.get(kind, (None, pa.string()))
            values = list(map(take, cells)) if take else cells
            if refusing and any(value is None and cell.strip() for value, cell in zip(values, cells, strict=True)):
                raise InvalidProblem(UNREADABLE)
            arrays[f"c{place}"] = pa.array(values, kept)
        engine.con.register("batch", pa.table(arrays))
        engine.con.execute(f"INSERT INTO records SELECT {given} FROM batch")
        engine.con.unregister("batch")
    return engine.table("records").rename({name: f"c{place}" for place, name in enumerate(kinds)})

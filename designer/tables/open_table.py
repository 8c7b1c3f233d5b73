"""Files as tables: Parquet and CSV on the embedded engine, which reads them in pieces and never needs to hold them."""

from __future__ import annotations

import csv
import glob
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from designer.confidential import withholding
from designer.errors import InvalidProblem
from designer.frozen import shown


@withholding
def open_table(
    path: str | Path,
    numbers: Sequence[str] = (),
    *,
    delimiter: str = ",",
    memory: str | None = None,
    spill: str | Path | None = None,
    threads: int | None = None,
) -> Any:
    """An Ibis table of a Parquet or CSV file (or of several Parquet files, `folder/*.parquet`), on a DuckDB engine of its own.

    A CSV file has no types, and types guessed from its first rows would depend on them: all its columns are texts, but for `numbers`, where what
    is no number is missing. Fields that a row lacks are missing, those too many are cut off; a
    record is what the reader makes of the file, so a quote that never closes makes one record of all lines that follow. memory: such as "512MB", the most the engine may take. What does not
    fit is written, as it is, to temporary files in the folder `spill`, by default `.tmp` in the working directory.
    """
    files, suffix = glob.glob(str(path)), Path(path).suffix
    if suffix not in (".parquet", ".csv"):
        raise InvalidProblem(f"path: {path} is neither a .parquet nor a .csv file; convert it, or open it with Ibis.")
    if not files or not all(map(os.path.isfile, files)):
        raise InvalidProblem(f"path: {path} is no file; give a .parquet or .csv file, or 'folder/*.parquet'.")
    engine = _engine(memory, spill, threads)
    if suffix == ".parquet":
        return _opened(path, lambda: engine.read_parquet(str(path)))
    columns = _header(path, delimiter)
    if missing := [name for name in numbers if name not in columns]:
        raise InvalidProblem(f"numbers: {path} has no columns {shown(missing)}.")
    # Nothing is guessed from rows: a delimiter or a type that is would make refusals depend on them.
    dialect = {"auto_detect": False, "delim": delimiter, "quote": '"', "escape": '"', "header": True, "columns": columns}
    lenient = {"strict_mode": False, "null_padding": True, "ignore_errors": True, "parallel": False}
    table = _opened(path, lambda: engine.read_csv(str(path), **lenient, **dialect))
    # Stripped first, because DuckDB 2.0 moves a bare TRY_CAST into its reader of CSV files, which then drops the whole row.
    return table.mutate(**{name: table[name].strip().try_cast("float64") for name in numbers})


def _engine(memory: str | None, spill: str | Path | None, threads: int | None) -> Any:
    """A DuckDB of its own behind Ibis."""
    try:
        import duckdb
        import ibis
    except ImportError:
        raise InvalidProblem("path: tables of records need Ibis and DuckDB; install dp-designer[tables].") from None
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
            f"path: {path} is empty, damaged or of another type than its name says; nothing was read."
        ) from None


def _header(path: str | Path, delimiter: str) -> dict[str, str]:
    """The columns that the first line names, all of them texts."""
    try:
        with Path(path).open(encoding="utf-8", newline="") as file:
            names = next(csv.reader(file, delimiter=delimiter), [])
    except (OSError, ValueError, TypeError, csv.Error):
        raise InvalidProblem(f"path: {path} is not a CSV file with a line of names.") from None
    if not names or not all(names) or len(set(names)) != len(names):
        raise InvalidProblem(f"path: the first line of {path} must name every column once.")
    return dict.fromkeys(names, "VARCHAR")

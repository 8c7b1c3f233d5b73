"""Files as tables: Parquet and CSV on the embedded engine, which reads them in pieces and never needs to hold them."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from designer.confidential import withholding
from designer.errors import InvalidProblem


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
    import ibis

    settings = {"memory_limit": memory, "temp_directory": None if spill is None else str(spill), "threads": threads}
    engine = ibis.duckdb.connect(**{name: value for name, value in settings.items() if value is not None})
    suffix = Path(path).suffix
    if suffix == ".parquet":
        return engine.read_parquet(str(path))
    if suffix != ".csv":
        raise InvalidProblem(f"path: {path} is neither a .parquet nor a .csv file; convert it, or open it with Ibis.")
    columns = _header(path, delimiter)
    if missing := [name for name in numbers if name not in columns]:
        raise InvalidProblem(f"numbers: {path} has no columns {missing}.")
    # Nothing is guessed from rows: a delimiter or a type that is would make refusals depend on them.
    dialect = {"auto_detect": False, "delim": delimiter, "quote": '"', "escape": '"', "header": True, "columns": columns}
    table = engine.read_csv(str(path), strict_mode=False, null_padding=True, ignore_errors=True, parallel=False, **dialect)
    # Stripped first, because DuckDB 2.0 moves a bare TRY_CAST into its reader of CSV files, which then drops the whole row.
    return table.mutate(**{name: table[name].strip().try_cast("float64") for name in numbers})


def _header(path: str | Path, delimiter: str) -> dict[str, str]:
    """The columns that the first line names, all of them texts."""
    try:
        with Path(path).open(encoding="utf-8", newline="") as file:
            names = next(csv.reader(file, delimiter=delimiter), [])
    except (OSError, UnicodeDecodeError, csv.Error):
        raise InvalidProblem(f"path: {path} is not a CSV file with a line of names.") from None
    if not all(names) or len(set(names)) != len(names):
        raise InvalidProblem(f"path: the first line of {path} must name every column once.")
    return dict.fromkeys(names, "VARCHAR")

"""Files as tables: Parquet and CSV on the embedded engine, which reads them in pieces and never needs to hold them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from designer.errors import InvalidProblem


def open_table(
    path: str | Path,
    numbers: Sequence[str] = (),
    *,
    delimiter: str = ",",
    memory: str | None = None,
    threads: int | None = None,
) -> Any:
    """An Ibis table of a Parquet or CSV file (or of several, `folder/*.parquet`), on a DuckDB engine of its own.

    A CSV file has no types, and types guessed from its first rows would depend on them: all its columns are texts, but for `numbers`, where what
    is no number is missing. Fields that rows lack are missing, too many are cut off. memory: such as "512MB", the most the engine may take; what does
    not fit goes to temporary files.
    """
    import ibis

    settings = {"memory_limit": memory, "threads": threads}
    engine = ibis.duckdb.connect(**{name: value for name, value in settings.items() if value is not None})
    suffix = Path(path).suffix
    if suffix == ".parquet":
        return engine.read_parquet(str(path))
    if suffix != ".csv":
        raise InvalidProblem(f"path: {path} is neither a .parquet nor a .csv file; convert it, or open it with Ibis.")
    # Nothing is guessed from rows: a delimiter or a type that is would make refusals depend on them.
    dialect = {"delim": delimiter, "quote": '"', "escape": '"', "header": True, "strict_mode": False, "null_padding": True}
    table = engine.read_csv(str(path), all_varchar=True, ignore_errors=True, **dialect)
    if missing := [name for name in numbers if name not in table.columns]:
        raise InvalidProblem(f"numbers: {path} has no columns {missing}.")
    # Stripped first, because DuckDB 2.0 moves a bare TRY_CAST into its reader of CSV files, which then drops the whole row.
    return table.mutate(**{name: table[name].strip().try_cast("float64") for name in numbers})

"""The columns of a file of confidential records: their names, and their types where the file states them; never a row.

Of a CSV file only the first line is looked at, of a Parquet file only its schema. A first line that is no line of names would
be a record, so what looks like one is refused, and never quoted.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from designer.base.csv_text import CARRIAGE_RETURNS, number_in_file, other_separator
from designer.base.errors import InvalidProblem
from designer.base.version import installing_with

LONGEST = 2**20  # bytes of a line of names
NUMBERS = ("int", "uint", "float", "double", "halffloat", "decimal")


@dataclass(frozen=True)
class FileColumn:
    """A column of a file: its name, and its type as a Parquet file states it; nothing for CSV files, which state none."""

    name: str
    type: str = ""

    @property
    def is_number(self) -> bool:
        """Does the file say that the column holds numbers?"""
        return self.type.startswith(NUMBERS)


def columns_of_file(path: Path, delimiter: str = ",") -> tuple[FileColumn, ...]:
    """The columns of a CSV or Parquet file; `InvalidProblem` where there are none that can be told."""
    if not path.is_file():
        raise InvalidProblem(f"{path}: no such file; give a CSV or Parquet file of records.")
    if path.suffix == ".parquet":
        return _parquet_columns(path)
    if path.suffix != ".csv":
        raise InvalidProblem(f"{path}: files of type {path.suffix!r} are not read; give a .csv or .parquet file of records.")
    if len(delimiter) != 1:
        raise InvalidProblem(
            f"--delimiter: {delimiter!r} is not one character; give what separates the fields, such as ';'.", value=delimiter
        )
    names = _first_line(path, delimiter)
    _require_names(path, names, delimiter)
    return tuple(FileColumn(name) for name in names)


def _first_line(path: Path, delimiter: str) -> list[str]:
    """The fields of the first line, and of no other."""
    with path.open("rb") as file:
        line = file.readline(LONGEST).removesuffix(b"\n").removesuffix(b"\r")
    if b"\r" in line:
        raise InvalidProblem(f"{path}: {CARRIAGE_RETURNS}")
    try:
        text = line.decode("utf-8-sig")
        if len(line) < LONGEST and text.count('"') % 2 == 0:
            return next(csv.reader([text], delimiter=delimiter), [])
    except (UnicodeDecodeError, csv.Error):
        pass
    raise InvalidProblem(
        f"{path}: its first line is no line of column names in UTF-8; save the file as UTF-8, with the names in its first line."
    )


def _require_names(path: Path, names: list[str], delimiter: str) -> None:
    """Refuse what may be a record; it is not quoted."""
    if not any(names):
        raise InvalidProblem(f"{path}: its first line is empty; write the names of the columns there.")
    if mark := other_separator(names, delimiter):
        raise InvalidProblem(
            f"{path}: its first line is separated by {mark!r}, not by {delimiter!r}: give --delimiter {mark!r}."
        )
    if len(set(names)) < len(names) or not all(map(_is_name, names)):
        raise InvalidProblem(
            f"{path}: its first line is no line of names: one is empty, a number, or stands there twice. Rows are not read; "
            "write the names of the columns above them."
        )


def _is_name(text: str) -> bool:
    return bool(text.strip()) and text.isprintable() and number_in_file(text) is None


def _parquet_columns(path: Path) -> tuple[FileColumn, ...]:
    """What the schema of a Parquet file says."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise InvalidProblem(f"{path}: Parquet files need pyarrow; {installing_with('parquet')}, or give a CSV file.") from None
    try:
        schema = parquet.read_schema(path)
    except (ArrowException, OSError):
        raise InvalidProblem(f"{path}: is not a Parquet file whose schema can be read; write it again, or give CSV.") from None
    names = list(schema.names)
    if not names or len(set(names)) < len(names) or not all(name.strip() and name.isprintable() for name in names):
        raise InvalidProblem(f"{path}: has no columns, two of one name, or a name that cannot be printed; rename them.")
    return tuple(FileColumn(field.name, str(field.type).partition("[")[0].partition("<")[0]) for field in schema)

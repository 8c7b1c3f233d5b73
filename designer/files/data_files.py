"""Matrices, tables and histograms from CSV, NPY and Parquet files."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, real_array
from designer.base.checks import column_fault, meant
from designer.base.errors import InvalidProblem, hides_data_in_errors
from designer.base.frames import Columns
from designer.base.labels import CARRIAGE_RETURNS, csv_records, listed_label, number_in_file, other_separator, refuse_utf_16
from designer.base.version import installing_with
from designer.problem.histogram import UNUSABLE, Labelled
from designer.relations.records.csv_rows import COMMAS, Marks

Table = dict[str, list[str]]
Read = TypeVar("Read")


def read_matrix(path: Path) -> Floats:
    """A numeric matrix; a CSV file may have one header line."""
    readers: dict[str, Callable[[Path], Floats]] = {".csv": _csv_matrix, ".npy": _npy_matrix, ".parquet": _parquet_matrix}
    if path.suffix not in readers:
        raise InvalidProblem(f"{path}: files of type {path.suffix!r} are not read; use one of {sorted(readers)}.")
    if not path.is_file():
        raise InvalidProblem(f"{path}: no such file; paths are relative to the file that names them.")
    matrix = readers[path.suffix](path)
    if matrix.ndim != 2 or not matrix.size:
        raise InvalidProblem(f"{path}: has shape {matrix.shape}; a matrix with at least one row and column is needed.")
    return matrix


def column_names(path: Path) -> list[str]:
    """What the columns of a matrix that was read are called; nothing where they have no names."""
    if path.suffix == ".parquet":
        return list(parquet_columns(path))
    first = _csv_rows(path)[0] if path.suffix == ".csv" else []
    return [] if all(map(_is_number, first)) else first


def read_table(path: Path) -> Table:
    """Columns of text by name, from a CSV file with a header line or a Parquet file."""
    if not path.is_file():
        raise InvalidProblem(f"{path}: no such file; paths are relative to the file that names them.")
    if path.suffix == ".parquet":
        return {name: list(map(listed_label, column)) for name, column in parquet_columns(path).items()}
    if path.suffix != ".csv":
        raise InvalidProblem(f"{path}: tables are read from .csv and .parquet files, not {path.suffix!r}; convert it.")
    header, *rows = _csv_rows(path)
    if mark := other_separator(header, ","):
        raise InvalidProblem(
            f"{path}: its first line is separated by {mark!r}; the tables of a problem file have commas: save it with commas."
        )
    if len(set(header)) != len(header):
        raise InvalidProblem(f"{path}: a column name appears twice in {header}; rename one.")
    return {name: [row[k] for row in rows] for k, name in enumerate(header)}


def numeric_column(table: Table, name: str, path: Path) -> Floats:
    """One column of a public table as floats; empty and non-numeric cells are refused with their row number,
    not their content."""
    if name not in table:
        raise InvalidProblem(f"{path}: has no column {name!r}; {meant(name, table)}it has {list(table)}.")
    values = np.empty(len(table[name]))
    for row, text in enumerate(table[name]):
        if (found := number_in_file(text)) is None:
            raise InvalidProblem(f"{path}: column {name!r}, data row {row + 1} is not a number; fill or drop it.")
        values[row] = found
    return values


@hides_data_in_errors
def read_histogram(path: Path, column: str | None, marks: Marks = COMMAS) -> Labelled | NDArray[Any]:
    """Counts from a column of a table, with the columns beside it, which may name the elements;
    or from a file of nothing but counts.

    A file without `column` is a NPY array, or a CSV file of one column or of a whole table without names. What is wrong inside
    a confidential file is not said: a place or a byte would be a fact about the data. marks: of a CSV file.
    """
    return _confidential(_reader(path, column, marks))


def require_histogram_file(path: Path) -> None:
    """Refuse a path whose name, or absence, `read_histogram` refuses; nothing is opened."""
    if path.suffix not in (".csv", ".npy", ".parquet"):
        raise InvalidProblem(
            f"{path}: is not a .csv, .npy or .parquet file; give the file that holds the counts; save a spreadsheet as CSV."
        )
    if not path.is_file():
        raise InvalidProblem(f"{path}: no such file; give the file that holds the counts.")


@hides_data_in_errors
def require_readable_histogram(path: Path, column: str | None, marks: Marks = COMMAS) -> None:
    """Refuse a file that `read_histogram` refuses for its name or those of its columns, which are public; no count is read."""
    _reader(path, column, marks)


def require_records_file(path: Path) -> None:
    """Refuse a path whose name, or absence, `read_records` refuses; nothing is opened."""
    if path.suffix not in (".csv", ".parquet") or not path.is_file():
        raise InvalidProblem(f"{path}: is no .csv or .parquet file that is there; give the file that holds the records.")


def read_records(path: Path, needed: Sequence[str], delimiter: str = ",") -> Callable[[], Mapping[str, Sequence[object]]]:
    """How columns of confidential records are read from a CSV or Parquet file. Refused here for what is public, the names of
    file and columns; what is wrong inside is not said."""
    require_records_file(path)
    names = _table_names(path, delimiter)
    for name in needed:
        if names.count(name) != 1 and (mark := other_separator(names, delimiter)):
            raise InvalidProblem(f"{path}: its fields are separated by another mark: give --delimiter {mark!r}.")
        if names.count(name) != 1:
            raise InvalidProblem(f"{path}: {column_fault(name, names)}; each attribute needs one, under its own name.")
    return lambda: _confidential(lambda: _columns(path, needed, delimiter))


def _columns(path: Path, needed: Sequence[str], delimiter: str) -> Mapping[str, Sequence[object]]:
    """The needed columns, of a CSV file as texts."""
    if path.suffix == ".parquet":
        return {name: column for name, column in parquet_columns(path).items() if name in needed}
    header, *rows = _csv_rows(path, delimiter)
    return {name: [row[header.index(name)] for row in rows] for name in needed}


def _reader(path: Path, column: str | None, marks: Marks) -> Callable[[], Labelled | NDArray[Any]]:
    """How the counts of a file are read, by what is public of it."""
    require_histogram_file(path)
    if path.suffix == ".npy":
        return lambda: _flat(_npy_array(path))
    names = _table_names(path, marks.delimiter)
    if column is None and path.suffix == ".csv" and (len(names) == 1 or all(marks.count(name) is not None for name in names)):
        return lambda: _bare_counts(_csv_rows(path, marks.delimiter), marks)
    if column is None and len(names) == 1:
        column = names[0]
    if column is None or names.count(column) != 1:
        raise InvalidProblem(f"{path}: {_column_words(column, names)}")
    return lambda: _labelled(path, column, marks)


def _column_words(column: str | None, names: Sequence[str]) -> str:
    """What is wrong with the column that was named, or with none; names of columns are public."""
    if not names:
        return "is empty; give the file that holds the counts."
    if column is None:
        return (
            f"has {len(names)} columns; name the one that holds the counts (--column); where every row is a record, give the "
            "file as --table."
        )
    marks = [mark for mark in (";", "\t", "|") if len(names) == 1 and column in names[0].split(mark) != [column]]
    separated = f"its fields are separated by another mark: give --delimiter {marks[0]!r}" if marks else ""
    if separated:
        return f"has no column {column!r}; {separated}."
    return f"{column_fault(column, names)}; name the one that holds the counts (--column), letter by letter."


def _confidential(read: Callable[[], Read]) -> Read:
    try:
        return read()
    except InvalidProblem:
        pass
    # Outside the handler, so that not even the context of the exception holds what the reader saw.
    raise InvalidProblem(UNUSABLE)


def naming_file(path: Path, run: Callable[[], Read]) -> Read:
    """What a call gives; a refusal of the histogram that it reads from a file names the file instead."""
    try:
        return run()
    except InvalidProblem as refusal:
        if not str(refusal).startswith("histogram: "):
            raise
        said = str(refusal).removeprefix("histogram: ")
    # Outside the handler; see `_confidential`.
    raise InvalidProblem(f"{path}: {said}")


def _flat(array: NDArray[Any]) -> NDArray[Any]:
    """One row or one column of counts as what it is."""
    return array.ravel() if array.ndim == 2 and 1 in array.shape else array


def _bare_counts(rows: list[list[str]], marks: Marks) -> Labelled | NDArray[Any]:
    """A column of counts without names, below its own name or not; or a table of them."""
    body = rows if marks.count(rows[0][0]) is not None else rows[1:]
    if len(rows[0]) == 1:
        return Labelled([], [_count(cell, marks) for (cell,) in body])
    return np.array([[_count(cell, marks) for cell in row] for row in body])


def _labelled(path: Path, column: str, marks: Marks) -> Labelled:
    """A column of counts, and all others by name."""
    if path.suffix == ".parquet":
        columns = parquet_columns(path)
        return Labelled([(name, values) for name, values in columns.items() if name != column], columns[column])
    header, *rows = _csv_rows(path, marks.delimiter)
    own = header.index(column)
    others: Columns = [(name, [row[place] for row in rows]) for place, name in enumerate(header) if place != own]
    return Labelled(others, [_count(row[own], marks) for row in rows])


def _table_names(path: Path, delimiter: str) -> list[str]:
    """The column names of a table, its only public content."""
    if path.suffix == ".parquet":
        return _of_parquet(path, lambda parquet: list(parquet.read_schema(path).names))
    refuse_utf_16(path)
    try:
        with path.open(newline="\n", encoding="utf-8-sig", errors="replace") as file:
            names = next(csv_records((line.replace("\0", "") for line in file), delimiter), [])
    except csv.Error:
        raise InvalidProblem(
            f"{path}: has no line of column names that can be read; give a CSV file with shorter ones."
        ) from None
    if any("\r" in name for name in names):
        raise InvalidProblem(f"{path}: {CARRIAGE_RETURNS}")
    return names


def _count(text: str, marks: Marks) -> int:
    """A count as it is written."""
    if (found := marks.count(text)) is None:
        raise InvalidProblem(UNUSABLE)
    return found


def _csv_rows(path: Path, delimiter: str = ",") -> list[list[str]]:
    try:
        with path.open(newline="\n", encoding="utf-8-sig") as file:
            rows = list(csv_records(file, delimiter))
    except (UnicodeDecodeError, csv.Error) as error:
        raise InvalidProblem(f"{path}: is not a CSV file in UTF-8 ({error}).") from None
    if not rows:
        raise InvalidProblem(f"{path}: is empty; give a file with a header and rows.")
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows[0]):
            raise InvalidProblem(
                f"{path}: row {number} has {len(row)} cells, the first has {len(rows[0])}; give each row as many cells."
            )
    return rows


def _csv_matrix(path: Path) -> Floats:
    rows = _csv_rows(path)
    if any(not _is_number(cell) for cell in rows[0]):
        rows = rows[1:]
    for number, row in enumerate(rows, 1):
        for column, cell in enumerate(row, 1):
            if not _is_number(cell):
                raise InvalidProblem(f"{path}: data row {number}, column {column} is not a number.")
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(rows[0]) if rows else 0)


def _is_number(text: str) -> bool:
    return number_in_file(text) is not None


def _npy_matrix(path: Path) -> Floats:
    array = _npy_array(path)
    if array.ndim != 2 or not array.size:
        raise InvalidProblem(f"{path}: has shape {array.shape}; a matrix with at least one row and column is needed.")
    return real_array(array, str(path), 2, allow_inf=True)


def _npy_array(path: Path) -> NDArray[Any]:
    try:
        with path.open("rb") as file:
            # The format's own reader: `np.load` would also open archives and pickles.
            array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
    except (ValueError, TypeError, EOFError, MemoryError) as error:
        raise InvalidProblem(f"{path}: is not a NPY file of numbers ({error}); write it with numpy.save.") from None
    return array


def _of_parquet(path: Path, read: Callable[[Any], Read]) -> Read:
    """What pyarrow reads of a Parquet file, its own words left out."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise InvalidProblem(
            f"{path}: Parquet files need pyarrow; {installing_with('parquet')}, or convert the file to CSV."
        ) from None
    try:
        return read(parquet)
    except (ArrowException, OSError):
        raise InvalidProblem(f"{path}: is not a Parquet file that can be read; write it again, or give CSV.") from None


def parquet_columns(path: Path) -> dict[str, list[object]]:
    """The columns of a Parquet file by name, as values of Python."""
    table = _of_parquet(path, lambda parquet: parquet.read_table(path, partitioning=None))
    if len(set(table.column_names)) != len(table.column_names):
        raise InvalidProblem(f"{path}: a column name appears twice in {table.column_names}; rename one.")
    columns: dict[str, list[object]] = table.to_pydict()
    return columns


def _parquet_matrix(path: Path) -> Floats:
    try:
        return real_array(list(parquet_columns(path).values()), str(path), 2, allow_inf=True).T
    except (ValueError, TypeError) as error:
        raise InvalidProblem(f"{path}: holds columns that are not numbers ({error}); give columns of numbers alone.") from None


# The columns of a file of confidential records: their names, and their types where the file states them; never a row.
#
# Of a CSV file only the first line is looked at, of a Parquet file only its schema. A first line that is no line of names
# would be a record, so what looks like one is refused, and never quoted.


LONGEST = 2**20  # bytes of a line of names
NUMBERS = ("int", "uint", "float", "double", "halffloat", "decimal", "number")


@dataclass(frozen=True)
class FileColumn:
    """A column of a file: its name, and its type as a Parquet file or a dictionary states it, nothing for CSV files.

    label, labels, missing: of a dictionary, what the column is called, its codes with their labels, and what is missing.
    """

    name: str
    type: str = ""
    label: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[Any, ...] = ()

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
    refuse_utf_16(path)
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

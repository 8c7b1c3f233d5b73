"""Matrices, tables and histograms from CSV, NPY and Parquet files."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.confidential import withholding
from designer.errors import InvalidProblem
from designer.frozen import Floats, real_array
from designer.release import UNUSABLE

Table = dict[str, list[str]]


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


def read_table(path: Path) -> Table:
    """Columns of text by name, from a CSV file with a header line or a Parquet file."""
    if not path.is_file():
        raise InvalidProblem(f"{path}: no such file; paths are relative to the file that names them.")
    if path.suffix == ".parquet":
        return {name: [str(v) for v in column] for name, column in _parquet(path).items()}
    if path.suffix != ".csv":
        raise InvalidProblem(f"{path}: tables are read from .csv and .parquet files, not {path.suffix!r}.")
    header, *rows = _csv_rows(path)
    if len(set(header)) != len(header):
        raise InvalidProblem(f"{path}: a column name appears twice in {header}.")
    return {name: [row[k] for row in rows] for k, name in enumerate(header)}


def numeric_column(table: Table, name: str, path: Path) -> Floats:
    """One column as floats; empty and non-numeric cells are refused with their row number, not their content."""
    if name not in table:
        raise InvalidProblem(f"{path}: has no column {name!r}; it has {list(table)}.")
    values = np.empty(len(table[name]))
    for row, text in enumerate(table[name]):
        try:
            values[row] = float(text)
        except ValueError:
            raise InvalidProblem(f"{path}: column {name!r}, data row {row + 1} is not a number; fill or drop it.") from None
    return values


@withholding
def read_histogram(path: Path, column: str | None) -> Floats:
    """Counts from a column of a table, or from a NPY file or one-column CSV when no column is named."""
    if not path.is_file() or path.suffix not in (".csv", ".npy", ".parquet"):
        raise InvalidProblem(f"{path}: is not a .csv, .npy or .parquet file; give the file that holds the counts.")
    if column is not None and column not in _table_names(path):
        raise InvalidProblem(f"{path}: has no column {column!r}; name the one that holds the counts (--column).")
    # What is wrong inside a confidential file is not said: a place or a byte would be a fact about the data.
    try:
        if column is not None:
            return numeric_column(read_table(path), column, path)
        matrix = _npy_array(path).reshape(-1, 1) if path.suffix == ".npy" else read_matrix(path)
    except InvalidProblem:
        raise InvalidProblem(UNUSABLE) from None
    if 1 not in matrix.shape:
        raise InvalidProblem(f"{path}: has {matrix.shape[1]} columns; name the one that holds the counts (--column).")
    return matrix.ravel()


def _table_names(path: Path) -> list[str]:
    """The column names of a table, its only public content."""
    if path.suffix == ".parquet":
        return list(_parquet(path))
    try:
        with path.open(newline="", encoding="utf-8-sig", errors="replace") as file:
            return next(csv.reader(line.replace("\0", "") for line in file), [])
    except csv.Error:
        raise InvalidProblem(f"{path}: has no line of column names that can be read; shorten them.") from None


def _csv_rows(path: Path) -> list[list[str]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InvalidProblem(f"{path}: is not a CSV file in UTF-8 ({error}).") from None
    if not rows:
        raise InvalidProblem(f"{path}: is empty.")
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows[0]):
            raise InvalidProblem(f"{path}: row {number} has {len(row)} cells, the first has {len(rows[0])}.")
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
    try:
        float(text)
    except ValueError:
        return False
    return True


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
        raise InvalidProblem(f"{path}: is not a NPY file of numbers ({error}).") from None
    return array


def _parquet(path: Path) -> dict[str, list[object]]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise InvalidProblem(
            f"{path}: Parquet files need pyarrow; install dp-designer[parquet] or convert the file to CSV."
        ) from None
    try:
        columns: dict[str, list[object]] = parquet.read_table(path).to_pydict()
    except (ArrowException, OSError):
        raise InvalidProblem(f"{path}: is not a Parquet file that can be read.") from None
    return columns


def _parquet_matrix(path: Path) -> Floats:
    try:
        return real_array(list(_parquet(path).values()), str(path), 2, allow_inf=True).T
    except (ValueError, TypeError) as error:
        raise InvalidProblem(f"{path}: holds columns that are not numbers ({error}).") from None

"""Answers or standard errors at places: joined by name with a public table of latitudes and longitudes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from designer.base.answer_table import AnswerTable
from designer.base.checks import shown
from designer.base.errors import InvalidProblem
from designer.certificate.frozen import FrozenMechanism, Released
from designer.files.data_files import numeric_column, read_table
from designer.mechanism.interface import Mechanism
from designer.publish.pictures.drawing import Drawing
from designer.publish.pictures.labels import with_unit
from designer.publish.pictures.maps import map_drawing

LATITUDE, LONGITUDE = "latitude", "longitude"


def placed_drawing(
    mechanism: FrozenMechanism,
    released: Released | None,
    path: str | Path,
    latitude: str = LATITUDE,
    longitude: str = LONGITUDE,
) -> Drawing:
    """Draw the answers of a release, or without one the standard errors of a mechanism for linear queries, on a map. Raises
    `InvalidProblem` where a place of an answer is missing, or stands twice.

    Parameters
    ----------
    mechanism : of linear queries.
    released : a release of it, or None.
    path
        a CSV or Parquet file with a row for each place: columns that name it, as the answers are named, and columns of
        degrees.
    latitude, longitude : the columns of degrees.
    """
    table, label = _values(mechanism, released)
    rows = read_table(Path(path))
    degrees = np.stack([numeric_column(rows, name, Path(path)) for name in (latitude, longitude)], axis=1)
    found = degrees[_joined(table, rows, Path(path))]
    names = [", ".join(map(str, key)) for key in table.keys]
    unit = mechanism.about.unit(table.name if released is not None and table.name != "answers" else names[0])
    return map_drawing(found, table.answers, names, f"{label.capitalize()}s on a map", with_unit(label, unit))


def _values(mechanism: FrozenMechanism, released: Released | None) -> tuple[AnswerTable, str]:
    """What is drawn, as one table, and what it is called."""
    if released is not None:
        tables = released.answer_tables()
        if len(tables) != 1:
            raise InvalidProblem(f"release: has {len(tables)} tables of answers; a map shows one, so ask for one query.")
        return tables[0], "noisy answer"
    if not isinstance(mechanism, Mechanism):
        raise InvalidProblem(
            f"map: standard errors by place are known of linear queries, not of a {type(mechanism).__name__}; give a release."
        )
    workload = mechanism.workload
    named = workload.keys if workload.is_identity else None
    columns = ("query",) if named is None else named.columns
    keys = tuple((name,) for name in workload.queries) if named is None else named.rows
    return AnswerTable("answers", columns, keys, mechanism.standard_errors(), None), "standard error"


def _joined(table: AnswerTable, rows: Mapping[str, Sequence[str]], path: Path) -> list[int]:
    """The row of each answer in a table of places, by the columns of the same names, or by the one column that names them."""
    keys = [tuple(map(str, key)) for key in table.keys]
    columns = list(table.columns) if set(table.columns) <= set(rows) else _naming(keys, rows, path)
    asked, places = set(keys), dict[tuple[str, ...], int]()
    for place, row in enumerate(zip(*(rows[name] for name in columns), strict=True)):
        if row in places and row in asked:
            raise InvalidProblem(f"{path}: the place {shown(' / '.join(row))} stands twice; leave one row.")
        places[row] = place
    missing = [key for key in keys if key not in places]
    if missing:
        raise InvalidProblem(f"{path}: has no place {shown(' / '.join(missing[0]))} in {columns}; add its row.")
    return [places[key] for key in keys]


def _naming(keys: Sequence[tuple[str, ...]], rows: Mapping[str, Sequence[str]], path: Path) -> list[str]:
    """The column that holds the names of all answers."""
    asked = {key[0] for key in keys if len(key) == 1}
    for name, values in rows.items():
        if len(asked) == len(keys) and asked <= set(values):
            return [name]
    raise InvalidProblem(f"{path}: no column of {list(rows)} names all answers, such as {shown(' / '.join(keys[0]))}; add one.")

"""Answers or standard errors at places: joined by name with a public table of latitudes and longitudes, or with the areas of a
GeoJSON file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from designer.base.answer_table import AnswerTable
from designer.base.arrays import Floats
from designer.base.checks import shown
from designer.base.errors import InvalidProblem
from designer.certificate.frozen import FrozenMechanism, Released
from designer.files.data_files import numeric_column, read_table
from designer.mechanism.interface import Mechanism
from designer.publish.pictures.answers import spans_of
from designer.publish.pictures.drawing import Drawing
from designer.publish.pictures.labels import with_unit
from designer.publish.pictures.maps import areas_drawing, map_drawing

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
        degrees; or a GeoJSON file of areas, whose properties name them.
    latitude, longitude : the columns of degrees.
    """
    areas = Path(path).suffix.lower() == ".geojson"
    rows, shapes = _areas(Path(path)) if areas else (read_table(Path(path)), [])
    table, label = _values(mechanism, released, rows)
    if areas:
        names, unit = [str(key[-1]) for key in table.keys], mechanism.about.unit(table.name)
        ends = spans_of(table)[0]
        margins = None if ends is None else (ends[1] - ends[0]) / 2
        held = [shapes[place] for place in _joined(table, rows, Path(path))]
        return areas_drawing(held, table.answers, margins, names, f"{label.capitalize()}s by area", with_unit(label, unit))
    degrees = np.stack([numeric_column(rows, name, Path(path)) for name in (latitude, longitude)], axis=1)
    found = degrees[_joined(table, rows, Path(path))]
    names = [", ".join(map(str, key)) for key in table.keys]
    unit = mechanism.about.unit(table.name if released is not None and table.name != "answers" else names[0])
    return map_drawing(found, table.answers, names, f"{label.capitalize()}s on a map", with_unit(label, unit))


def _areas(path: Path) -> tuple[dict[str, list[str]], list[list[Floats]]]:
    """The properties of the features of a GeoJSON file, by name, and of each its rings of longitudes and latitudes."""
    try:
        features = json.loads(path.read_text(encoding="utf-8"))["features"]
        kinds = [feature["geometry"]["type"] for feature in features]
        parts = [feature["geometry"]["coordinates"] for feature in features]
        several = [part if kind == "MultiPolygon" else [part] for part, kind in zip(parts, kinds, strict=True)]
        shapes = [[np.array(ring, dtype=float)[:, :2] for polygon in own for ring in polygon] for own in several]
        named = {name for feature in features for name in feature["properties"]}
        rows = {name: [str(feature["properties"].get(name, "")) for feature in features] for name in sorted(named)}
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise InvalidProblem(f"{path}: is no GeoJSON of polygons with properties ({type(error).__name__}); give one.") from None
    if not features or not set(kinds) <= {"Polygon", "MultiPolygon"}:
        raise InvalidProblem(f"{path}: has features of types {sorted(set(kinds))}; give polygons alone, one feature an area.")
    if not all(np.isfinite(ring).all() and (np.abs(ring) <= [360.0, 90.0]).all() for own in shapes for ring in own):
        raise InvalidProblem(f"{path}: has coordinates that are no degrees; write longitudes and latitudes (WGS 84).")
    return rows, shapes


def _values(
    mechanism: FrozenMechanism, released: Released | None, rows: Mapping[str, Sequence[str]]
) -> tuple[AnswerTable, str]:
    """What is drawn, as one table, and what it is called: of several the one whose last column the places have."""
    if released is not None:
        tables = released.answer_tables()
        own = tables if len(tables) == 1 else [table for table in tables if table.columns[-1] in rows]
        if len(own) != 1:
            raise InvalidProblem(
                f"release: has {len(tables)} tables of answers, and {len(own)} of places; a map shows one, so name the places "
                "by the last column of one table."
            )
        return own[0], "noisy answer"
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
    keys, last = [tuple(map(str, key)) for key in table.keys], table.columns[-1]
    if not set(table.columns) <= set(rows) and last in rows and len({key[-1] for key in keys}) == len(keys):
        keys = [key[-1:] for key in keys]  # nested areas, whose own name tells them apart
        columns = [last]
    else:
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

"""What confidential data are given as: counts, or records. Their type and their names decide,
never their shape or an entry."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

from designer.base.errors import InvalidProblem
from designer.base.frames import is_frame
from designer.problem.histogram import Counts, Labelled, Universe
from designer.relations.rows.row_unit import UNSTATED, RowUnit
from designer.relations.rows.spark_tables import is_of_spark, table_of_spark

NO_ROWS = (
    "unit, entity, rows_per_entity: say what one row of a table of records is, and counts have no rows; leave them out, or "
    "give records."
)
NO_COUNTS = "histogram: this releases from records, one row each, not from counts; give a table."


def form_of(data: object, columns: Collection[str] = (), elements: Sequence[str] = ()) -> Literal["histogram", "records"]:
    """Are these counts of elements, or records? No entry is read.

    Records: a data frame of pandas, polars or Arrow, a table of Ibis or Spark, a list of rows that are mappings, and a mapping
    that has one of the `columns` among its names. Counts: `Counts`, an array, a series, a list, a mapping from the names of
    `elements`, and whatever is none of all these, which is refused where it is read.
    """
    if isinstance(data, (Counts, Labelled)):
        return "histogram"
    if isinstance(data, Mapping):
        names = set(data)
        return "records" if names & set(columns) and not names <= set(elements) else "histogram"
    if isinstance(data, (list, tuple)):
        return "records" if data and all(isinstance(row, Mapping) for row in data) else "histogram"
    return "records" if is_frame(data) or is_expression(data) or is_of_spark(data) else "histogram"


def form_for(data: object, universe: Universe) -> Literal["histogram", "records"]:
    """The same where the columns that name elements are those of a universe."""
    keys = universe.tables or ((universe.keys,) if universe.keys else ())
    return form_of(data, [name for own in keys for name in own.columns], universe.elements)


def is_expression(table: Any) -> bool:
    """Is it a table of Ibis, whose engine counts?"""
    return all(hasattr(table, name) for name in ("select", "group_by", "agg", "to_pyarrow"))


def records_of(data: Any) -> Any:
    """Records in one of the forms that are read: a list of rows as a mapping of columns, missing where a row has none, a data
    frame of Spark as a table of Ibis, anything else as it is."""
    if is_of_spark(data):
        return table_of_spark(data)
    if not isinstance(data, (list, tuple)) or not data or not all(isinstance(row, Mapping) for row in data):
        return data
    return {name: [row.get(name) for row in data] for name in dict.fromkeys(name for row in data for name in row)}


def require_no_rows(row: RowUnit) -> None:
    """Refuse words on rows beside counts."""
    if row != UNSTATED:
        raise InvalidProblem(NO_ROWS)


def require_public(data: Any) -> Any:
    """The data of a simulation, which cannot do without; they are public or invented."""
    if data is None:
        raise InvalidProblem("data: are missing; what is drawn depends on them: give public or invented data (data=...).")
    return data

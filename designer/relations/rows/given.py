"""What confidential data are given as: counts, or records. Their type decides, never their shape or an entry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from designer.base.errors import InvalidProblem
from designer.base.frames import is_frame
from designer.problem.histogram import Counts, Labelled
from designer.relations.rows.row_unit import RowUnit
from designer.relations.rows.spark_tables import is_of_spark

UNEQUAL_ROWS = "records: rows do not all have the same columns; give each row all of them. Nothing was released."
NO_ROWS = (
    "unit, entity, rows_per_entity: say what one row of a table of records is, and counts have no rows; leave them out, or "
    "give records."
)
NO_COUNTS = "histogram: this releases from records, one row each, not from counts; give a table."


def form_of(data: object) -> Literal["histogram", "records"]:
    """Are these counts of elements, or records?

    Records: a data frame of pandas, polars or Arrow, a table of Ibis or Spark, a mapping of columns, a list of rows that are
    mappings. Counts: `Counts`, an array, a series, a list, a mapping to numbers, and whatever is none of all these, which is
    refused where it is read.
    """
    if isinstance(data, (Counts, Labelled)):
        return "histogram"
    if isinstance(data, Mapping):
        return "records" if any(map(is_column, data.values())) else "histogram"
    if isinstance(data, (list, tuple)):
        return "records" if data and all(isinstance(row, Mapping) for row in data) else "histogram"
    return "records" if is_frame(data) or is_expression(data) or is_of_spark(data) else "histogram"


def is_column(value: object) -> bool:
    """Does it hold a value for each record: a list, an array, a series?"""
    return (
        hasattr(value, "__len__")
        and not isinstance(value, (str, bytes))
        and not (isinstance(value, np.ndarray) and not value.ndim)
    )


def is_expression(table: Any) -> bool:
    """Is it a table of Ibis, whose engine counts?"""
    return all(hasattr(table, name) for name in ("select", "group_by", "agg", "to_pyarrow"))


def records_of(data: Any) -> Any:
    """Records in one of the forms that are read: a list of rows as a mapping of columns, anything else as it is."""
    if not isinstance(data, (list, tuple)) or not data or not all(isinstance(row, Mapping) for row in data):
        return data
    if any(row.keys() != data[0].keys() for row in data):
        raise InvalidProblem(UNEQUAL_ROWS)
    return {name: [row[name] for row in data] for name in data[0]}


def require_no_rows(row: RowUnit) -> None:
    """Refuse words on rows beside counts."""
    if row != RowUnit():
        raise InvalidProblem(NO_ROWS)


def require_public(data: Any) -> Any:
    """The data of a simulation, which cannot do without; they are public or invented."""
    if data is None:
        raise InvalidProblem("data: are missing; what is drawn depends on them: give public or invented data (data=...).")
    return data

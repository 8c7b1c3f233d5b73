"""Records as counts of universe elements: by the engine where an Ibis table lives, or here where the columns are at hand."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from designer.certified.guarantee import Guarantee
from designer.certified.specified import Specified, Takes
from designer.engines.row_unit import RowUnit
from designer.engines.spark_tables import refuse_spark_frame
from designer.engines.texts import octets, text_of
from designer.errors import InvalidProblem
from designer.question.histogram import Universe, require_form
from designer.values.confidential import withholding
from designer.values.frames import Columns, column_names, columns_of

OUTSIDE = (
    "records: hold a value that names no universe element, or lack one (an empty cell is a missing value: give it a word, and "
    "list that word); clean the records or extend the universe. Nothing was released."
)
NAMELESS = (
    "records: nothing says which columns name the elements of this mechanism; name them in [elements] or [domain], "
    "or as the `keys` of the workload, and design it again. Or release from counts."
)
NO_RECORDS = "records: {kind} is no table; give an Ibis table, a pandas, polars or Arrow table, or a mapping of columns."
UNEQUAL = "records: columns differ in length, or are indexed differently; give one table. Nothing was released."


class TakesCounts(Specified):
    """A mechanism that releases from counts of universe elements, and from the records that they count."""

    takes: ClassVar[tuple[Takes, ...]] = ("histogram", "records")

    @property
    @abstractmethod
    def universe(self) -> Universe:
        """What counts are joined by."""

    @abstractmethod
    def release(self, histogram: object) -> Any:
        """What is released for confidential counts."""

    @withholding
    def check(self, data: object, /) -> None:
        """See `Specified.check`: counts of the universe elements."""
        super().check(data)
        require_form(data, self.universe)

    @withholding
    def check_records(
        self, table: Any, *, unit: str | None = None, entity: str | None = None, rows_per_entity: int | None = None
    ) -> None:
        super().check_records(table)
        _refuse_entities(entity, rows_per_entity)
        require_tabulable(table, self.universe, RowUnit(unit))

    @withholding
    def release_records(
        self, table: Any, *, unit: str | None = None, entity: str | None = None, rows_per_entity: int | None = None
    ) -> Any:
        """The same for confidential records: an Ibis table of any size, which its engine counts,
        or a data frame or mapping of columns.

        The columns that name the elements (`[elements] names` or the attributes of `[domain]`) say which element a record is.
        An Ibis table is a row-wise view of one table, unfiltered, so that a row is a record; anything else needs a `unit`, the
        caller's word for what one row is. The guarantee of the release says which. entity, rows_per_entity: refused, because
        counts do not tell whose the records are.
        """
        _refuse_entities(entity, rows_per_entity)
        if not _is_expression(table):
            return self.release(tabulated(table, self.universe))
        row = RowUnit(unit)
        released = self.release(tabulated(table, self.universe, row))
        return replace(released, guarantee=self.guarantee_for(row), row=row)

    def guarantee_for(self, unit: RowUnit) -> Guarantee:
        """The statement of a release from a table, for what one row is."""
        return unit.stated(self.guarantee)


def _refuse_entities(entity: str | None, rows_per_entity: int | None) -> None:
    if entity is not None or rows_per_entity is not None:
        raise InvalidProblem("entity, rows_per_entity: bound the records of an entity; this releases from counts.")


def require_tabulable(table: Any, universe: Universe, row: RowUnit) -> None:
    """Refuse what `tabulated` refuses for its form: what is no table, and columns that are missing. No entry is looked at."""
    if universe.keys is None and not universe.tables:
        raise InvalidProblem(NAMELESS)
    named = column_names(table) if not isinstance(table, Mapping) else [name for name, _ in _columns_of_mapping(table)]
    present = list(table.columns) if _is_expression(table) else named
    if present is None:
        raise InvalidProblem(NO_RECORDS.format(kind=type(table).__name__))
    for keys in universe.tables or (universe.keys,):
        columns = list(keys.columns) if keys is not None else []
        _require(columns, present)
        if _is_expression(table):
            row.rows(table, columns)
            row.require_fixed_rows(table, columns)


def tabulated(table: Any, universe: Universe, row: RowUnit | None = None) -> NDArray[np.int64]:
    """How many records there are of each element; a record outside the universe is refused without being shown.
    row: of an Ibis table. Of several tables each counts all records."""
    if universe.tables:
        parts = (Universe(keys.assignments, keys) for keys in universe.tables)
        return np.concatenate([tabulated(table, part, row) for part in parts])
    if universe.keys is None:
        raise InvalidProblem(NAMELESS)
    columns = list(universe.keys.columns)
    found, amounts = _grouped(table, columns, row or RowUnit()) if _is_expression(table) else _counted(_chosen(table, columns))
    places = universe.places(found)
    if None in places:
        raise InvalidProblem(OUTSIDE)
    counts = np.zeros(len(universe.elements), dtype=np.int64)
    np.add.at(counts, np.array(places, dtype=np.intp), np.array(amounts, dtype=np.int64))
    return counts


def _is_expression(table: Any) -> bool:
    return all(hasattr(table, name) for name in ("select", "group_by", "agg", "to_pyarrow"))


def _grouped(table: Any, columns: list[str], row: RowUnit) -> tuple[list[Sequence[object]], Sequence[int]]:
    """Groups and their sizes: one aggregation, of which only counts travel.
    Texts are told apart by their bytes, whatever the collation."""
    _require(columns, list(table.columns))
    rows = row.rows(table, columns)
    row.require_fixed_rows(table, columns)
    named = {f"k{place}": rows[name] for place, name in enumerate(columns)}
    keys = rows.select(**{key: octets(column) if column.type().is_string() else column for key, column in named.items()})
    found = keys.group_by(list(named)).agg(amount=keys.count()).to_pyarrow().to_pydict()
    return [list(map(text_of, found[key])) for key in named], found["amount"]


def _counted(columns: list[Sequence[object]]) -> tuple[list[Sequence[object]], Sequence[int]]:
    try:
        groups = Counter(zip(*columns, strict=True))
    except TypeError:  # of a value that has no hash, and names nothing
        raise InvalidProblem(OUTSIDE) from None
    return [[group[k] for group in groups] for k in range(len(columns))], list(groups.values())


def _chosen(table: Any, columns: list[str]) -> list[Sequence[object]]:
    """Some columns of a table that is at hand."""
    refuse_spark_frame(table)
    found = _columns_of_mapping(table) if isinstance(table, Mapping) else columns_of(table, columns)
    if found is None:
        raise InvalidProblem(NO_RECORDS.format(kind=type(table).__name__))
    _require(columns, [name for name, _ in found])
    return [next(values for name, values in found if name == column) for column in columns]


def _columns_of_mapping(table: Mapping[Any, Any]) -> Columns:
    given = list(table.values())
    if not all(hasattr(column, "__len__") and not isinstance(column, (str, bytes)) for column in given):
        raise InvalidProblem(UNEQUAL)
    if len({len(column) for column in given}) > 1:
        raise InvalidProblem(UNEQUAL)
    require_one_index(given)
    return [(name, column.tolist() if hasattr(column, "tolist") else list(column)) for name, column in table.items()]


def require_one_index(columns: Iterable[Any]) -> None:
    """Columns that carry an index of their own must agree in it: otherwise values of different
    records would be put together."""
    indices = [column.index for column in columns if hasattr(getattr(column, "index", None), "equals")]
    if not all(index.equals(indices[0]) for index in indices[1:]):
        raise InvalidProblem(UNEQUAL)


def _require(columns: list[str], present: list[Any]) -> None:
    """The names of columns are public."""
    if missing := [name for name in columns if present.count(name) != 1]:
        raise InvalidProblem(
            f"records: the elements are named by the columns {columns}, and {missing} must be there once; rename the columns."
        )

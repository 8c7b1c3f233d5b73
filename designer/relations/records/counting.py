"""Records as counts of universe elements: by the engine where an Ibis table lives, or here where the columns are at hand."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from designer.base.checks import column_fault, shown
from designer.base.errors import InvalidProblem, hides_data_in_errors
from designer.base.frames import Columns, column_names, columns_of, index_of, is_frame
from designer.base.labels import Labels, texts_of, values_of
from designer.certificate.frozen import FrozenMechanism, Released, Takes, rate_of_left_out, stated_guarantee
from designer.certificate.guarantee import Guarantee
from designer.problem.histogram import REFUSE, Counts, Labelled, Universe, Unlisted, counts
from designer.problem.relation import Relation
from designer.relations.records.engines import is_of_spark, octets, require_table_columns, table_of_spark
from designer.relations.records.row_unit import (
    UNSTATED,
    RowUnit,
    guarantee_as_stated,
    left_out_rate,
    require_there,
    required_unit,
    row_unit_of,
)
from solvers.exact.rational import float_above

# What confidential data are given as: counts, or records. Their type and their names decide, never their shape or an entry.


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


OUTSIDE = (
    "records: hold a value that names no universe element, or lack one (an empty cell is a missing value: give it a word, and "
    "list that word); correct the records, list what is missing, or state what happens to such records (`unlisted`). "
    "dp-designer check, for the holder of the data, says which they are. Nothing was released."
)
NAMELESS = (
    "records: nothing says which columns name the elements of this mechanism; name them in [elements] or [domain], "
    "or as the `keys` of the workload, and design it again. Or release from counts."
)
NO_RECORDS = "records: {kind} is no table; give an Ibis table, a pandas, polars or Arrow table, or a mapping of columns."
IN_INDEX = (
    "records: the index holds {levels}, which name elements, as it does in a table of counts; give Counts(table) where the "
    "table holds counts, and reset_index() where each row is a record. Nothing was released."
)
EITHER = (
    "records: the data frame has columns beside those that name elements, {columns}: {others}. A table of counts has one, too, "
    "and each of its rows would count as one record. Give Counts(table) where it holds counts; where each row is a record, the "
    'columns {columns} alone, or say what a row is, such as unit="person". Nothing was released.'
)
UNEQUAL = "records: columns differ in length, or are indexed differently; give one table. Nothing was released."


R = TypeVar("R", bound=Released)


class TakesCounts(FrozenMechanism, Generic[R]):
    """A mechanism that releases from counts of universe elements, and from the records that they count."""

    takes: ClassVar[tuple[Takes, ...]] = ("histogram", "records")

    @property
    @abstractmethod
    def universe(self) -> Universe:
        """What counts are joined by."""

    @abstractmethod
    def _release_counts(self, given: NDArray[np.int64], /) -> R:
        """What is released for counts that were checked, (N,), in the order of the elements."""

    @hides_data_in_errors
    def check(
        self, data: object, /, *, unit: str | None = None, entity: str | None = None, rows_per_entity: int | None = None
    ) -> None:
        """See `FrozenMechanism.check`."""
        super().check(data)
        row = row_unit_of(unit, entity, rows_per_entity, self.about.records)
        if form_for(data, self.universe) == "histogram":
            require_no_rows(row)
            counts(data, self.universe)
        else:
            self.guarantee_for(row)
            require_tabulable(records_of(data), self.universe, row, fixed=not self._hidden.absence)

    def release(
        self, data: object, /, *, unit: str | None = None, entity: str | None = None, rows_per_entity: int | None = None
    ) -> R:
        """Publish answers about confidential data. Spends the budget once.

        Counts: nonnegative whole numbers, one for each element, as an array in their order, or by name: a mapping, a series,
        `Counts` of a data frame. Records: a data frame of pandas, polars or Arrow, a mapping of columns, a list of rows, or an
        Ibis table of any size, which its engine counts. The columns that name the elements (`[elements] names` or the
        attributes of `[domain]`) say which element a record is. What carries names is joined by name.

        unit, entity, rows_per_entity: of records. An Ibis table is a row-wise view of one table, so that a row is a record
        (unfiltered, where the number of records is public); anything else needs a `unit`, the caller's word for what one row
        is. entity, rows_per_entity: a column, and how many rows of each of its values count. The guarantee of the release
        states all of that, and what happens to records that name no element.

        Returns
        -------
        A release. Of linear queries it is a `designer.Release`: `answers`, (K,); `standard_errors`, (K,), of their noise;
        `intervals(0.95)`, which hold the answers without noise with that probability; `to_frame()`, all of these as a table;
        `guarantee`, what is promised about it. `designer.save_release` writes it to a file. Other kinds use the same names.
        """
        row = row_unit_of(unit, entity, rows_per_entity, self.about.records).read_from(data)
        stated, given = self._given(data, row)
        released = self._release_counts(given)
        if stated is None:
            return released
        row = row.with_left_out(records_of(data), rate_of_left_out(self))
        return replace(released, guarantee=stated, row=row)  # type: ignore[type-var]

    @hides_data_in_errors
    def _given(self, data: object, row: RowUnit) -> tuple[Guarantee | None, NDArray[np.int64]]:
        """The counts, in order, and the statement of a release from records; None for counts."""
        if form_for(data, self.universe) == "histogram":
            require_no_rows(row)
            return None, counts(data, self.universe)
        stated = self.guarantee_for(row)
        found = tabulated(records_of(data), self.universe, row, fixed=not self._hidden.absence)
        return stated, counts(found, self.universe)

    @property
    def _hidden(self) -> Relation:
        made: Relation = self.relation  # type: ignore[attr-defined]
        return made

    def _entity_budget(self, rows: int) -> float:
        """What at most `rows` rows of one entity cost together, rounded up; `InvalidProblem` where no bound is known."""
        return float_above(self._hidden.entity_budget(rows))

    def guarantee_for(self, unit: RowUnit) -> Guarantee:
        """The statement of a release from a table, for what one row is."""
        most = required_unit(unit).rows_per_entity
        budget = None if most is None else self._entity_budget(most)
        rule = REFUSE if self.universe.keys is None else self.universe.keys.unlisted
        return unit.stated(self.guarantee, rule, budget=budget, rate=None if budget is None else rate_of_left_out(self))


stated_guarantee.register(TakesCounts, guarantee_as_stated)


@rate_of_left_out.register(TakesCounts)
def _rate_of_left_out(mechanism: TakesCounts[Any]) -> Fraction | None:
    return left_out_rate(mechanism._hidden.entity_budget(1)) if mechanism._hidden.absence else None


def require_tabulable(table: Any, universe: Universe, row: RowUnit, *, fixed: bool) -> None:
    """Refuse what `tabulated` refuses for its form: what is no table, and columns that are missing. No entry is looked at.
    fixed: is the number of records public?"""
    if universe.keys is None and not universe.tables:
        raise InvalidProblem(NAMELESS)
    named = column_names(table) if not isinstance(table, Mapping) else [name for name, _ in _columns_of_mapping(table)]
    present = list(table.columns) if is_expression(table) else named
    if present is None:
        raise InvalidProblem(NO_RECORDS.format(kind=type(table).__name__))
    for keys in universe.tables or (universe.keys,):
        columns = list(keys.columns) if keys is not None else []
        _require_no_index(table, columns)
        _require_records(table, columns, row)
        _require([*columns, *([row.entity] if row.entity else [])], present)
        if is_expression(table):
            require_table_columns(row.rows(table, columns), columns)
            if fixed:
                row.require_fixed_rows(table, columns)


def tabulated(table: Any, universe: Universe, row: RowUnit | None = None, *, fixed: bool = True) -> NDArray[np.int64]:
    """How many records there are of each element; one that names none is refused without being shown, or counts as the keys
    say. row: of an Ibis table. fixed: is the number of records public? Of several tables each counts all records."""
    if universe.tables:
        parts = (Universe(keys.assignments, keys) for keys in universe.tables)
        return np.concatenate([tabulated(table, part, row, fixed=fixed) for part in parts])
    if universe.keys is None:
        raise InvalidProblem(NAMELESS)
    columns = list(universe.keys.columns)
    own, rule = row or RowUnit(), universe.keys.unlisted
    _require_no_index(table, columns)
    _require_records(table, columns, own)
    if is_expression(table):
        found, amounts = _grouped(table, columns, own, fixed, rule)
    else:
        held = labelled(table, dict(zip(columns, universe.labels, strict=True)), own.entity)
        found, amounts = _counted(held, columns) if own.entity is None else _grouped(held, columns, own, fixed, rule)
    amounts_of = np.zeros(len(universe.elements), dtype=np.int64)
    for place, amount in zip(universe.counted_places(found), amounts, strict=True):
        if place is not None:
            amounts_of[place] += amount
        elif rule == REFUSE:
            raise InvalidProblem(OUTSIDE)
    return amounts_of


def labelled(table: Any, labels: Mapping[str, Labels], entity: str | None = None) -> dict[str, list[str | None]]:
    """Columns of a table that is at hand as the labels that are listed for them, None where a value is missing or not listed;
    beside them the column that tells whose the records are, if any."""
    wanted = [*labels, *([] if entity is None or entity in labels else [entity])]
    found = _columns_of_mapping(table, wanted) if isinstance(table, Mapping) else columns_of(table, wanted)
    if found is None:
        raise InvalidProblem(NO_RECORDS.format(kind=type(table).__name__))
    _require(list(labels), [name for name, _ in found])
    held = dict(found)
    require_there(wanted, held)
    return {name: texts_of(held[name]) if name == entity else labels[name].names(held[name]) for name in wanted}


def _grouped(
    table: Any, columns: list[str], row: RowUnit, fixed: bool, rule: Unlisted
) -> tuple[Sequence[Sequence[object]], Sequence[int]]:
    """Groups and their sizes: one aggregation, of which only counts travel. What an engine takes for equal is one label:
    texts are told apart by their bytes, whatever the collation."""
    rows = row.rows(table, columns, unlisted=rule)
    _require(columns, list(rows.columns))
    require_table_columns(rows, columns)
    if fixed:
        row.require_fixed_rows(table, columns)
    named = {f"k{place}": rows[name] for place, name in enumerate(columns)}
    keys = rows.select(**{key: octets(column) if column.type().is_string() else column for key, column in named.items()})
    found = keys.group_by(list(named)).agg(amount=keys.count()).to_pyarrow()
    return [found[key].to_pylist() for key in named], found["amount"].to_pylist()


def _counted(held: Mapping[str, Sequence[str | None]], columns: list[str]) -> tuple[Sequence[Sequence[object]], Sequence[int]]:
    groups = Counter(zip(*(held[name] for name in columns), strict=True))
    return [[group[k] for group in groups] for k in range(len(columns))], list(groups.values())


def _columns_of_mapping(table: Mapping[Any, Any], wanted: Sequence[str] | None = None) -> Columns:
    given = list(table.values())
    if not all(hasattr(column, "__len__") and not isinstance(column, (str, bytes)) for column in given):
        raise InvalidProblem(UNEQUAL)
    if len({len(column) for column in given}) > 1:
        raise InvalidProblem(UNEQUAL)
    require_one_index(given)
    return [(name, values_of(column)) for name, column in table.items() if wanted is None or name in wanted]


def require_one_index(columns: Iterable[Any]) -> None:
    """Columns that carry an index of their own must agree in it: otherwise values of different
    records would be put together."""
    indices = [column.index for column in columns if hasattr(getattr(column, "index", None), "equals")]
    if not all(index.equals(indices[0]) for index in indices[1:]):
        raise InvalidProblem(UNEQUAL)


def _require_records(table: Any, columns: list[str], row: RowUnit) -> None:
    """Refuse a data frame that may hold counts as well, by the names of its columns: nothing says what a row is, and there are
    columns beside those that name elements. Their types say nothing: one text makes a column of numbers one of texts."""
    if row != RowUnit() or not is_frame(table):
        return
    names = list(column_names(table) or ())
    others = [name for name in names if name not in columns]
    if others and set(columns) <= set(names):
        raise InvalidProblem(EITHER.format(columns=columns, others=shown(others)))


def _require_no_index(table: Any, columns: list[str]) -> None:
    """Refuse a data frame whose index names elements: it is known from tables of counts, of which each row would count once."""
    if is_frame(table) and (levels := [name for name, _ in index_of(table) if name in columns]):
        raise InvalidProblem(IN_INDEX.format(levels=levels))


def _require(columns: list[str], present: list[Any]) -> None:
    """The names of columns are public."""
    if missing := [name for name in columns if present.count(name) != 1]:
        raise InvalidProblem(
            f"records: {column_fault(missing[0], present)}; the elements are named by the columns {columns}: rename them."
        )

"""What one row is: a record of one table, what the caller declares, or one of the few rows of an entity;
and what the guarantee says of it.

Is an Ibis expression a row-wise view of one table? Then a record is behind one row at most,
and the loss of a row is the loss of a record.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar

from designer.base.arrays import Immutable
from designer.base.checks import column_fault, count, shown
from designer.base.display import counted, printed
from designer.base.errors import InvalidProblem, InvalidSpec, hides_data_in_errors
from designer.base.frames import arrow_of, as_pandas_may_hold, column_names
from designer.base.json_text import require_keys
from designer.base.labels import is_missing, listed_label, number_of, texts_of, values_of, whole_of
from designer.base.schema import COUNT, Named, keys, noted, or_null, record, text, whole
from designer.certificate.guarantee import Guarantee
from designer.limits import MOST_DECIMAL_DIGITS, MOST_NAME_CHARACTERS, MOST_ROWS_PER_ENTITY
from designer.problem.histogram import REFUSE, UNREADABLE, Unlisted
from designer.problem.histogram import WORDS as UNLISTED_WORDS
from designer.problem.reading import UNSAID, Reading
from designer.relations.records.engines import engine_of, label_column, not_stored, not_stored_by_spark
from designer.sampling.entropy import Entropy, SystemEntropy
from designer.sampling.integer_laplace import DiscreteLaplace
from designer.sampling.integer_samplers import SMALLEST_RATE
from solvers.exact.rational import float_above

# Modules of values that are computed from one row alone, but for what `_beyond_a_row` finds in them.
ROW_WISE = ("generic", "numeric", "strings", "logical", "temporal", "arrays", "maps", "structs", "json", "sortkeys")
CACHED = "ibis_cached"  # what `expression.cache()` stores: the rows of any expression
HELD = ("PyArrowTableProxy", "PolarsDataFrameProxy", "PandasDataFrameProxy")  # data in memory whose columns have types
BY_NAME = ("polars", "datafusion")  # engines that store no tables: their names stand for files, frames and queries
NO_FRAME = "data in memory that is no data frame but read when asked for, such as files; pass a table of Arrow"
STORES_NOTHING = "a name on {engine}, which stores no tables and reads files when asked; pass a data frame, or use DuckDB"


LOOKED_BEHIND = {"duckdb": not_stored, "pyspark": not_stored_by_spark}  # engines of whose names it is known what they are


def broken_by(table: Any) -> str | None:
    """What makes rows of the expression something else than rows of one table, in words; None for a row-wise view of one table.

    Refused is what is not known to be row-wise: joins, unions, limits, samples, distinct rows, aggregates, windows, subqueries,
    user functions, anything random or of the clock, unnesting, and SQL, whose text is not read; and of tables those whose
    records need not be stored, or read from a file, each by itself.
    An order of rows changes nothing here.
    """
    import ibis.expr.operations as ops

    relations = (ops.Project, ops.Filter, ops.Sort, ops.FillNull, ops.DropNull, ops.DropColumns, ops.SelfReference)
    stored = (ops.DatabaseTable, ops.InMemoryTable, ops.UnboundTable)
    for node in table.op().find(ops.Node):
        if isinstance(node, ops.Relation):
            known = type(node) in relations + stored
        else:
            known = type(node) is ops.Field or (_module(node) in ROW_WISE and not _beyond_a_row(node))
        if not known:
            return f"holds {type(node).__name__}"
        if type(node) in stored and (words := _not_stored(node)):
            return f"reads {node.name!r}, {words}"
    return None


def filtered(table: Any) -> bool:
    """May a row-wise view leave out rows?"""
    import ibis.expr.operations as ops

    return bool(table.op().find((ops.Filter, ops.DropNull)))


def sources(table: Any) -> dict[str, frozenset[str]]:
    """The columns of the one table that each column of a row-wise view is computed from."""
    return _sources(table.op())


def _sources(node: Any) -> dict[str, frozenset[str]]:
    import ibis.expr.operations as ops

    if isinstance(node, ops.PhysicalTable):
        return {name: frozenset([name]) for name in node.schema.names}
    known = _sources(node.parent)
    if not isinstance(node, ops.Project):
        return {name: known[name] for name in node.schema.names}
    return {
        name: frozenset().union(*(known[read] for read in _read(value, node.parent))) for name, value in node.values.items()
    }


def _read(value: Any, parent: Any) -> Iterator[str]:
    """The columns of the parent that a value is computed from."""
    import ibis.expr.operations as ops

    return (field.name for field in value.find(ops.Field) if field.rel == parent)


def _module(node: Any) -> str:
    """Where Ibis keeps an operation; nothing for what it does not."""
    package, _, name = type(node).__module__.rpartition(".")
    return name if package == "ibis.expr.operations" else ""


def _beyond_a_row(node: Any) -> bool:
    """Operations of those modules that look at other rows, at chance or at the clock, or make several rows of one."""
    import ibis.expr.operations as ops

    kinds = (ops.Analytic, ops.Reduction, ops.Impure, ops.Subquery, ops.WindowFunction, ops.Unnest, ops.RowID)
    return isinstance(node, kinds)


def _not_stored(node: Any) -> str | None:
    """Why the rows of a table need not be records that are each stored by itself; None where they are, as far as is known.

    What engines other than DuckDB and Spark name is taken for a table.
    """
    import ibis.expr.operations as ops

    if type(node) is ops.InMemoryTable:
        return _guessed(node)
    if type(node) is not ops.DatabaseTable:
        return None
    if node.name.startswith(CACHED):
        return "which is a stored result of any expression; pass the table that it was made of"
    engine = getattr(node.source, "name", None)
    if engine in BY_NAME:
        return STORES_NOTHING.format(engine=engine)
    return LOOKED_BEHIND.get(str(engine), lambda node: None)(node)


def _guessed(node: Any) -> str | None:
    """Why a table in memory is no data frame."""
    return None if type(node.data).__name__ in HELD else NO_FRAME


NO_TABLE = (
    "records: neither a data frame nor an Ibis table; connect to an engine and pass a table, such as "
    "ibis.duckdb.connect().read_parquet(path)."
)
NOT_ONE_TABLE = (
    "records: the expression {found}. One record may then move more than one row, and the stated loss would be one of rows, "
    "not of records. Pass a table, filtered or mapped row by row, or say what one row is, "
    'such as unit="household": the guarantee then says so.'
)
UNREAD_TYPE = (
    "records: column {name!r} is of type {kind}, which DuckDB does not read from memory; make it float32, float64 or a decimal "
    "of up to 38 digits. Nothing was released."
)
ONE_ROW = "A record is one row of one table: what was released from was found to be a row-wise view of it."
DECLARED = "A row is declared to be one {name} by the caller, and no other row to depend on it, which was not checked."
SEVERAL = "Whoever is behind several rows loses more than what is stated for one."
UNSEEN_VIEWS = "On {engine} the name of a view passes for that of a table: a record is then a row of the view."
APPEARS = "One entity may appear or disappear with all its rows, whatever the others are."
CHANGES = "All rows of one entity may change their values together, whatever the others are; how many there are stays as it is."
ROWS_PUBLIC = "How many rows count, of each entity and in all, is public."
NOBODY = (
    "records: one lacks its entity; correct the records, or state what happens to such records (`unlisted`). dp-designer "
    "check, for the holder of the data, says how many there are. Nothing was released."
)
KEPT = "Answers and intervals speak of the rows that were kept."
CHOSEN = (
    " Which {k} rows of an entity count is drawn at random, for each entity by itself and by nothing but its own rows; rows "
    "without an entity count nowhere, where they are not refused. {kept}"
)
LEFT_OUT = (
    " How many rows were left out, of each entity at most {k}, is published with discrete Laplace noise of scale {scale}: "
    "it costs an entity `epsilon_of_rows_left_out` beside the answers."
)
LEFT_OUT_PUBLIC = " How many rows were left out, of each entity at most {k}, is public, and published exactly."
HASHING = ("duckdb", "pyspark", "databricks")  # engines on which Ibis computes SHA-256
SHARE = 20  # the count of rows left out costs so small a part of the budget of an answer: epsilon b / 20 beside b


@dataclass(frozen=True)
class RowUnit(Immutable):
    """name: what one row is, declared by the caller. entity,
    rows_per_entity: a column that tells apart whose rows they are, and how many of them count. left_out: of a release, how many
    rows did not count, at most `rows_per_entity` of each entity, with noise unless that is public. engine: of a release, one
    whose names may stand for views, because nothing looks behind them.

    Without a name the expression must be a row-wise view of one table.
    Entities are told apart by bytes, whatever the collation of the column.
    """

    name: str | None = None
    entity: str | None = None
    rows_per_entity: int | None = None
    left_out: int | None = None
    engine: str | None = None
    schema: ClassVar[Named] = Named(
        "rows",
        record(
            {"unit": or_null(text()), "entity": or_null(text()), "rows_per_entity": or_null(COUNT)},
            {
                "left_out": noted("How many rows did not count, at most `rows_per_entity` of each entity.", whole()),
                "engine": noted("An engine whose names may stand for views; nothing where that was looked at.", text()),
            },
        ),
    )

    def __post_init__(self) -> None:
        named = self.name is None or (
            isinstance(self.name, str) and 0 < len(self.name) <= MOST_NAME_CHARACTERS and self.name.isprintable()
        )
        if not named:
            raise InvalidProblem(
                f"unit: {shown(self.name)} is no name; give a printable text of up to {MOST_NAME_CHARACTERS} characters.",
                value=self.name,
            )
        if (self.entity is None) != (self.rows_per_entity is None):
            raise InvalidProblem(
                "entity, rows_per_entity: a column and the number of rows that count for each of its values go together."
            )
        if self.left_out is not None and (self.entity is None or type(self.left_out) is not int):
            raise InvalidProblem(f"left_out: {shown(self.left_out)} is no number of rows of entities.", value=self.left_out)
        if self.entity is None:
            return
        if not isinstance(self.entity, str) or not self.entity:
            raise InvalidProblem(f"entity: {shown(self.entity)} is not the name of a column.", value=self.entity)
        if count(self.rows_per_entity, "rows_per_entity") > MOST_ROWS_PER_ENTITY:
            raise InvalidProblem(
                f"rows_per_entity: {self.rows_per_entity} is above {MOST_ROWS_PER_ENTITY}; the loss grows with its square.",
                value=self.rows_per_entity,
            )

    def declared(self) -> dict[str, Any]:
        """What was said before a release, as plain data by the names of the fields: what an entry of a ledger holds."""
        return {"name": self.name, "entity": self.entity, "rows_per_entity": self.rows_per_entity}

    def to_dict(self) -> dict[str, Any]:
        """Plain data of a release, of `schema`."""
        released: dict[str, Any] = {} if self.entity is None else {"left_out": self.left_out}
        released |= {} if self.engine is None else {"engine": self.engine}
        return {"unit": self.name, "entity": self.entity, "rows_per_entity": self.rows_per_entity, **released}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> RowUnit:
        """From plain data; `InvalidSpec` where a key is missing or unknown."""
        released = {"left_out"} if isinstance(data, Mapping) and data.get("entity") is not None else set()
        named = {"engine"} & set(data) if isinstance(data, Mapping) else set()
        require_keys(data, keys(cls.schema) | released | named, "rows")
        row = cls(data["unit"], data["entity"], data["rows_per_entity"], data.get("left_out"), data.get("engine"))
        if named and not (isinstance(row.engine, str) and row.engine and row.name is None):
            raise InvalidSpec(f"rows: engine {shown(row.engine)} is no name, or beside a unit; restore it.", value=row.engine)
        if released and row.left_out is None:
            raise InvalidSpec("rows: of entities, without the number of rows that were left out; restore it.")
        return row

    def rows(
        self,
        table: Any,
        columns: Sequence[str],
        numbers: Sequence[str] = (),
        whole: Sequence[str] = (),
        *,
        unlisted: Unlisted | None = None,
        entropy: Entropy = SystemEntropy(),  # noqa: B008  # has no state
    ) -> Any:
        """The rows that count: all of a row-wise view (or of anything with a name), or `rows_per_entity` of each entity, at
        random. A data frame is handed to an engine first; what is missing in it is NULL there.

        columns: those that are read. numbers, whole: of a data frame, as in `arrow_of`. unlisted: the rule for values that are
        not listed, where rows are counted now: under "refuse" each has an entity, and a column of `numbers` holds nothing else.
        entropy: of one choice, which every query of the expression shares. The choice depends on these columns of the rows of
        the entity alone.
        """
        table = _by_value(table)
        table = _engine_table(
            table,
            columns if self.entity is None else (*columns, self.entity),
            numbers,
            whole,
            UNREADABLE if unlisted == REFUSE else None,
        )
        if not all(hasattr(table, name) for name in ("select", "group_by", "agg", "columns", "op")):
            raise InvalidProblem(NO_TABLE)
        if self.name is None and (found := broken_by(table)):
            raise InvalidProblem(NOT_ONE_TABLE.format(found=found))
        if self.entity is None:
            return table
        bounded = self._bounded(table, columns, entropy.random_words(4).tobytes().hex())
        if unlisted == REFUSE and table.filter(label_column(table[self.entity]).isnull()).count().to_pyarrow().as_py():
            raise InvalidProblem(NOBODY)
        return bounded

    @hides_data_in_errors
    def read_from(self, table: Any) -> RowUnit:
        """The same with the engine of an expression where nothing looks behind its names; a declared row needs none."""
        if self.name is not None or not hasattr(table, "op"):
            return self
        import ibis.expr.operations as ops

        sources = {str(getattr(node.source, "name", "")) for node in table.op().find(ops.DatabaseTable)}
        return replace(self, engine=min(sources - LOOKED_BEHIND.keys())) if sources - LOOKED_BEHIND.keys() else self

    def present(self, table: Any, columns: Sequence[str]) -> list[Any]:
        """How the columns of a table are called; what `rows` refuses for its form is refused. Nothing is executed."""
        names = list(table) if isinstance(table, Mapping) else column_names(table)
        if names is None:
            self.rows(table, columns)
            return list(table.columns)
        if self.entity is not None:
            require_there((self.entity, *columns), names)
        return names

    def _bounded(self, table: Any, columns: Sequence[str], key: str) -> Any:
        """The rows of an entity are numbered by their content, and those count whose number has the smallest keyed hash: a
        random choice, of single rows and not of contents, that no engine, order or other row decides."""
        import ibis

        entity = self._entity_of(table, columns)
        place, drawn = (_unused(name, table.columns) for name in ("place", "drawn"))
        order = [part for name in columns for part in _order(table[name], name)]
        own = ibis.window(group_by=_bytes(entity), order_by=order or [_bytes(entity)])
        ranked = table.filter(entity.notnull()).mutate(**{place: ibis.row_number().over(own)})
        whose = label_column(ranked[self.entity])
        numbered = ibis.literal(f"{key}:", "string") + whose.cast("string") + ":" + ranked[place].cast("string")
        hashed = numbered.hexdigest("sha256")
        chosen = ibis.window(group_by=_bytes(whose), order_by=[hashed, ranked[place]])
        ranked = ranked.mutate(**{drawn: ibis.row_number().over(chosen)})
        return ranked.filter(ranked[drawn] < self.rows_per_entity).drop(place, drawn)

    def _entity_of(self, table: Any, columns: Sequence[str]) -> Any:
        """The column of entities, where the engine can tell them apart."""
        assert self.entity is not None
        require_there((self.entity, *columns), table.columns)
        entity = label_column(table[self.entity])
        if not (entity.type().is_string() or entity.type().is_integer() or entity.type().is_uuid()):
            raise InvalidProblem(
                f"entity: column {self.entity!r} is of type {entity.type()}; entities are texts, whole numbers or UUIDs."
            )
        if (engine := engine_of(table)) not in HASHING:
            raise InvalidProblem(
                f"entity: rows are drawn by SHA-256, which Ibis has not on {engine}; move the table to one of {HASHING}."
            )
        return entity

    @hides_data_in_errors
    def with_left_out(self, table: Any, rate: Fraction | None, entropy: Entropy = SystemEntropy()) -> RowUnit:  # noqa: B008
        """The same with how many rows of a confidential table do not count, for a release; itself where all rows count.

        rate: of the noise, from `left_out_rate`; None where the number of rows of each entity is public.
        """
        if self.entity is None or self.rows_per_entity is None:
            return self
        table, most = _engine_table(_by_value(table), (self.entity,)), self.rows_per_entity
        entity = self._entity_of(table, ())
        sizes = table.filter(entity.notnull()).group_by(whose=_bytes(entity)).agg(size=lambda rows: rows.count())
        beyond = sizes.size.clip(most, 2 * most) - most
        exact = int(sizes.agg(left=beyond.sum()).to_pyarrow()["left"][0].as_py() or 0)
        noise = 0 if rate is None else int(DiscreteLaplace([rate]).draw(1, entropy)[0, 0])
        return replace(self, left_out=exact + noise)

    def left_out_words(self, guarantee: Guarantee) -> str:
        """What a release with this guarantee says of rows that did not count; nothing where all rows count."""
        if self.entity is None or self.rows_per_entity is None:
            return ""
        whose = f"at most {counted(self.rows_per_entity, 'row')} of each {printed(self.entity)}"
        told = f"Counted were the rows that were kept, {whose}, drawn at random; answers and intervals speak of them alone."
        if self.left_out is None:
            return told
        epsilon = guarantee.parameters.get("epsilon_of_rows_left_out")
        number = counted(max(self.left_out, 0), "row")
        if epsilon is None:
            return f"{told} Left out were {number}, counting {whose}."
        # P(|Z| > m) <= exp(-m rate) for every m.
        margin = math.ceil(math.log(20) * self.rows_per_entity / epsilon)
        return f"{told} Left out were about {number} (95 % margin {margin:,}), counting {whose}."

    def require_fixed_rows(self, table: Any, attributes: Sequence[str]) -> None:
        """What the protection of attribute values needs: the number of rows is public, and each attribute has columns of its
        own, unless all values of all rows of an entity are protected together."""
        if self.name is not None or not hasattr(table, "op"):  # columns at hand are what they are
            return
        if filtered(table):
            raise InvalidProblem(
                "records: whether a row passes the filter may depend on protected values, and the number of records is "
                "public; filter nothing, protect a Presence, or say what one row of the filtered table is (unit)."
            )
        if self.entity is not None:
            return
        read = [column for attribute, given in sources(table).items() if attribute in attributes for column in given]
        if len(set(read)) < len(read):
            raise InvalidProblem(
                "records: two attributes are computed from the same column, whose change would cost the sum of their "
                "budgets; use one of them, or say what one row is (unit)."
            )

    def stated(
        self, guarantee: Guarantee, unlisted: Unlisted = REFUSE, *, budget: float | None = None, rate: Fraction | None = None
    ) -> Guarantee:
        """A guarantee about rows, with what a row is, and what happens to those whose values are not listed.

        budget: of all rows of an entity together, where one number says it. rate: of the noise in the number of rows left out,
        where an entity may appear or disappear; None where its rows change their values only, and how many count is public.
        """
        row = f"{ONE_ROW if self.name is None else DECLARED.format(name=self.name)} {UNLISTED_WORDS[unlisted]}"
        views = () if self.engine is None else (UNSEEN_VIEWS.format(engine=self.engine),)
        notes = views + ((SEVERAL,) if self.entity is None else ())
        guarantee = replace(guarantee, unit=f"{guarantee.unit} {row}", unprotected=(*guarantee.unprotected, *notes))
        if self.entity is None:
            return guarantee
        assert self.rows_per_entity is not None
        numbers: dict[str, float | int | None] = {"rows_per_entity": self.rows_per_entity}
        numbers |= {} if budget is None else {"budget_of_an_entity": budget}
        numbers |= {} if rate is None else {"epsilon_of_rows_left_out": float_above(rate * self.rows_per_entity)}
        counting = LEFT_OUT_PUBLIC if rate is None else LEFT_OUT.replace("{scale}", str(1 / rate))
        return replace(
            guarantee,
            unit=(
                f"One entity: all rows with one value in {self.entity!r}, of which at most {self.rows_per_entity} count. "
                f"{guarantee.unit}"
            ),
            relation=CHANGES if rate is None else APPEARS,
            unprotected=(*guarantee.unprotected, *((ROWS_PUBLIC,) if rate is None else ())),
            mechanism=guarantee.mechanism + (CHOSEN + counting).format(k=self.rows_per_entity, kept=KEPT),
            parameters={**guarantee.parameters, **numbers},
        )


UNSTATED = RowUnit()


def required_unit(unit: object) -> RowUnit:
    """A `RowUnit`; anything else is refused."""
    if not isinstance(unit, RowUnit):
        raise InvalidProblem(f"unit: {shown(unit)} says not what one row is; give a RowUnit.", value=unit)
    return unit


def entity_of(entity: str | None, rows_per_entity: int | None, stated: Reading) -> tuple[str | None, int | None]:
    """Whose rows count, and how many: as the caller says, or as the problem file stated it; refused where they contradict."""
    for name, given in (("entity", entity), ("rows_per_entity", rows_per_entity)):
        known = getattr(stated, name)
        if None not in (given, known) and given != known:
            raise InvalidProblem(
                f"{name}: {shown(given)} contradicts {name} = {shown(known)} of the problem file; leave it out, or design anew "
                "with another [records].",
                value=given,
            )
    if stated.entity is None:
        return entity, rows_per_entity
    return stated.entity, stated.rows_per_entity


def row_unit_of(name: str | None, entity: str | None, rows_per_entity: int | None, stated: Reading = UNSAID) -> RowUnit:
    """What one row is, as a release was told; most say nothing, which is one object.

    name: of the `unit`. entity: a column. rows_per_entity: how many rows of each of its values count. stated: by the problem
    file; `InvalidProblem` where it says otherwise.
    """
    entity, rows_per_entity = entity_of(entity, rows_per_entity, stated)
    silent = name is None and entity is None and rows_per_entity is None
    return UNSTATED if silent else RowUnit(name, entity, rows_per_entity)


def row_as_stated(stated: Reading) -> RowUnit:
    """What one row is where the caller says nothing."""
    return row_unit_of(None, None, None, stated)


def guarantee_as_stated(mechanism: Any) -> Guarantee:
    """The guarantee of a release from records as the problem file says they are."""
    row = row_as_stated(mechanism.about.records)
    guarantee: Guarantee = mechanism.guarantee if row.entity is None else mechanism.guarantee_for(row)
    return guarantee


def require_there(asked: Iterable[str], names: Iterable[Any]) -> None:
    """Refuse a table that lacks one of the columns."""
    known = list(names)
    if missing := [name for name in asked if name not in known]:
        raise InvalidProblem(f"records: the table {column_fault(missing[0], known)}; rename one.")


def left_out_rate(budget: Fraction | float) -> Fraction:
    """The rate of the noise in the number of rows left out, one over a whole number of rows, where one row costs at most
    `budget` in the answers."""
    return Fraction(1, min(math.ceil(SHARE / max(Fraction(budget), SMALLEST_RATE)), int(1 / SMALLEST_RATE)))


def _unused(name: str, taken: Container[str]) -> str:
    """A name for a column of our own."""
    while name in taken:
        name += "_"
    return name


def _bytes(column: Any) -> Any:
    """What is equal only for equal bytes: collations make two texts one, their hashes they cannot."""
    return column.hexdigest("sha256") if column.type().is_string() else column


def _order(column: Any, name: str) -> list[Any]:
    """By which a column is put in order: the same in two rows only if they are the same to every query."""
    kind = column.type()
    if kind.is_string():
        return [_bytes(column)]
    if kind.is_floating():
        return [column, _bytes(column.cast("string"))]  # 0 and -0 are equal as numbers
    if kind.is_numeric() or kind.is_boolean() or kind.is_temporal() or kind.is_uuid():
        return [column]
    raise InvalidProblem(f"records: column {name!r} is of type {kind}, which has no order; convert it to text.")


def _by_value(table: Any) -> Any:
    """An expression over data in memory whose columns of Python objects are read value by value: as texts, which need no type
    that fits all of them, or, where the expression computes with such a column, in the type that it states. Long whole numbers
    that pandas holds in types of NumPy are floats, as they are where one is missing, unless the expression computes."""
    if not hasattr(table, "op"):
        return table
    import ibis
    import ibis.expr.operations as ops
    from ibis.common.exceptions import IbisError

    computes = any(not isinstance(node, ops.Field) for node in table.op().find(ops.Value))
    found = table.op().find(ops.InMemoryTable)
    for name, kind in (column for node in found for column in node.schema.items()):
        if kind.is_float16() or (kind.is_decimal() and (kind.precision or 0) > MOST_DECIMAL_DIGITS):
            raise InvalidProblem(UNREAD_TYPE.format(name=name, kind=kind))
    texts = {node: made for node in found if (made := _converted(node, texts=True, floats=not computes)) is not None}
    if not texts:
        return table
    try:
        return table.op().replace({node: ibis.memtable(made).op() for node, made in texts.items()}).to_expr()
    except (IbisError, AttributeError, TypeError, ValueError):
        typed = {node: ibis.memtable(_converted(node, texts=False), schema=node.schema).op() for node in texts}
        return table.op().replace(typed).to_expr()


def _converted(node: Any, texts: bool, floats: bool = False) -> Any:
    """A pandas frame in memory as an Arrow table, its columns of Python objects value by value, with floats for long whole
    numbers; None where it may stay as it is. Of an Arrow table, what pandas made of whole numbers."""
    import pyarrow as pa

    held: Any = getattr(node.data, "obj", None)
    if isinstance(held, pa.Table):
        made = as_pandas_may_hold(held) if floats else held
        return None if made is held else made
    if type(node.data).__name__ != "PandasDataFrameProxy":
        return None
    kinds = {name: str(held[name].dtype) for name in node.schema}
    if "object" not in kinds.values() and not (floats and {"int64", "uint64"} & set(kinds.values())):
        return None

    def converted(name: str, kind: Any) -> Any:
        if kinds[name] != "object":
            long = floats and kinds[name] in ("int64", "uint64")
            own = pa.array(held[name], kind.to_pyarrow(), from_pandas=True)
            return own.cast(pa.float64(), safe=False) if long else own
        values = values_of(held[name])
        if texts or kind.is_string():
            return pa.array(texts_of(values), pa.string())
        return pa.array([_fitting(value, kind.to_pyarrow()) for value in values], kind.to_pyarrow())

    return pa.table({name: converted(name, kind) for name, kind in node.schema.items()})


def _fitting(value: object, kind: Any) -> Any:
    """A value in a type of Arrow; None where it is missing, or has no place there."""
    import pyarrow as pa

    with suppress(pa.ArrowException, ArithmeticError, TypeError, ValueError):
        if is_missing(value):
            return None
        if pa.types.is_decimal(kind):
            value = Decimal(listed_label(value))
        elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
            value = whole_of(value) if pa.types.is_integer(kind) else number_of(value)
        return pa.scalar(value, kind).as_py()
    return None


def _engine_table(
    table: Any, columns: Sequence[str], numbers: Sequence[str] = (), whole: Sequence[str] = (), refused: str | None = None
) -> Any:
    """A data frame or a mapping of columns as a table of Ibis' embedded engine, of some columns; anything else as it is."""
    held = arrow_of(table, columns, numbers, whole, refused=refused)
    if held is None:
        return table
    import ibis

    return ibis.memtable(held)

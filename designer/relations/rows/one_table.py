"""Is an Ibis expression a row-wise view of one table? Then a record is behind one row at most,
and the loss of a row is the loss of a record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from designer.relations.rows.duckdb_tables import not_stored
from designer.relations.rows.spark_tables import not_stored_by_spark

# Modules of values that are computed from one row alone, but for what `_beyond_a_row` finds in them.
ROW_WISE = ("generic", "numeric", "strings", "logical", "temporal", "arrays", "maps", "structs", "json", "sortkeys")
CACHED = "ibis_cached"  # what `expression.cache()` stores: the rows of any expression
HELD = ("PyArrowTableProxy", "PolarsDataFrameProxy", "PandasDataFrameProxy")  # data in memory whose columns have types
BY_NAME = ("polars", "datafusion")  # engines that store no tables: their names stand for files, frames and queries
NO_FRAME = "data in memory that is no data frame but read when asked for, such as files; pass a table of Arrow"
NO_TYPE = (
    "a data frame whose column {name!r} holds Python objects, of a type that is guessed from all of them; pass the data frame "
    "itself, which reads them as texts, or give the column a type (astype)"
)
STORES_NOTHING = "a name on {engine}, which stores no tables and reads files when asked; pass a data frame, or use DuckDB"


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
    return {"duckdb": not_stored, "pyspark": not_stored_by_spark}.get(str(engine), lambda node: None)(node)


def _guessed(node: Any) -> str | None:
    """Why a table in memory is no data frame whose columns have types of their own."""
    if type(node.data).__name__ not in HELD:
        return NO_FRAME
    kinds = getattr(node.data.obj, "dtypes", None)
    if type(node.data).__name__ != "PandasDataFrameProxy" or kinds is None:
        return None
    columns = zip(node.schema.items(), kinds, strict=True)
    untyped = [name for (name, kind), given in columns if str(given) == "object" and not kind.is_string()]
    return NO_TYPE.format(name=untyped[0]) if untyped else None

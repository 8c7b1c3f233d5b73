"""Is an Ibis expression a row-wise view of one table? Then a record is behind one row at most,
and the loss of a row is the loss of a record."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# Modules of values that are computed from one row alone, but for what `_beyond_a_row` finds in them.
ROW_WISE = ("generic", "numeric", "strings", "logical", "temporal", "arrays", "maps", "structs", "json", "sortkeys")
READERS = (
    "read_csv",
    "read_csv_auto",
    "read_parquet",
    "parquet_scan",
    "read_json",
    "read_json_auto",
    "read_ndjson",
    "read_ndjson_auto",
)
PLAIN_VIEW = re.compile(rf"CREATE (TEMP |TEMPORARY )?VIEW [\w.]+ AS SELECT \* FROM ({'|'.join(READERS)})\((?P<rest>.*)\Z", re.S)
# What DuckDB means to do for `SELECT * FROM` an array that was registered: the columns of the query, those of the view,
# the array.
PLANS_OF_ARRAYS = (["PROJECTION", "PROJECTION", "ARROW_SCAN"], ["PROJECTION", "PROJECTION", "PANDAS_SCAN"])
CACHED = "ibis_cached"  # what `expression.cache()` stores: the rows of any expression
VIEWS = "SELECT view_name, sql FROM duckdb_views() WHERE NOT internal"


def broken_by(table: Any) -> str | None:
    """What makes rows of the expression something else than rows of one table, in words; None for a row-wise view of one table.

    Refused is what is not known to be row-wise: joins, unions, limits, samples, distinct rows, aggregates, windows, subqueries,
    user functions, anything random or of the clock, unnesting, and SQL, whose text is not read.
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
        if type(node) is ops.DatabaseTable and (node.name.startswith(CACHED) or _is_view(node)):
            return f"reads {node.name!r}, which is a view or a stored result"
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


def _is_view(node: Any) -> bool:
    """A view on DuckDB that is more than a file or an array read as it is. What other engines name is taken for a table."""
    if getattr(node.source, "name", None) != "duckdb":
        return False
    texts = [sql for name, sql in node.source.raw_sql(VIEWS).fetchall() if name.casefold() == node.name.casefold()]
    return not all(_reads_one_source(sql) if sql else _is_array(node) for sql in texts)


def _is_array(node: Any) -> bool:
    """Does a view without a text, which is what DuckDB keeps of anything registered, read one array, and no relation?

    Its plan tells, as it is before it is optimised: a limit that leaves all rows today is none on other data.
    """
    query = node.source.compile(node.to_expr())
    with _plans_shown(node.source):
        plans = dict(node.source.raw_sql(f"EXPLAIN (FORMAT json) {query}").fetchall())
    return _steps(json.loads(plans.get("logical_plan", "[]"))) in PLANS_OF_ARRAYS


@contextmanager
def _plans_shown(engine: Any) -> Iterator[None]:
    """All plans of a query are explained, for as long as this is open."""
    (known,) = engine.raw_sql("SELECT current_setting('explain_output')").fetchone()
    engine.raw_sql("SET explain_output = 'all'")
    try:
        yield
    finally:
        engine.raw_sql(f"SET explain_output = '{known}'")


def _steps(plan: Any) -> list[str] | None:
    """The names of the steps of a plan from the last to the first; None where one has several before it."""
    names = []
    while plan:
        if len(plan) > 1:
            return None
        names.append(plan[0]["name"].strip())
        plan = plan[0]["children"]
    return names


def _reads_one_source(sql: str) -> bool:
    """Is a view `SELECT * FROM` one reader of files, and nothing after its closing bracket?"""
    bare = re.sub(r"'(?:[^']|'')*'", "''", re.sub(r'"(?:[^"]|"")*"', "q", sql))
    match = PLAIN_VIEW.match(bare)
    if match is None:
        return False
    depth, rest = 1, match["rest"]
    for place, letter in enumerate(rest):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth == 0:
            return re.fullmatch(r"\s*(AS \w+)?\s*;?\s*", rest[place + 1 :]) is not None
    return False

"""Exact aggregates of an Ibis table, one aggregation for each level: the only place that touches records. What it returns is confidential."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.errors import InvalidProblem
from designer.tables.exact_sums import total
from designer.tables.groups import Groups, Labels
from designer.tables.partition_selection import PartitionSelection
from designer.tables.quantile import Quantile
from designer.tables.queries import Additive

# One text whatever went wrong: messages of engines may quote values.
FAILED = (
    "records: the engine did not finish the aggregation. Nothing was released; its own message is withheld, because it may quote records. "
    "Try `simulate` on a public table of the same schema."
)
NO_TABLE = (
    "records: not an Ibis table; connect to an engine and pass a table, such as ibis.duckdb.connect().read_parquet(path)."
)

Numbers = dict[Labels, list[int]]


def aggregation(groups: Groups, queries: Sequence[Additive], table: Any) -> Any:
    """The Ibis expression of one level: keys `k0, ...`, then the aggregates of every query, and the count that selects groups, if any."""
    _require_table(table)
    keys = groups.expressions(table)
    parts: list[Additive | PartitionSelection] = [*queries, *([groups.selection] if groups.selection else [])]
    inputs = [part.inputs(table) for part in parts]
    # Rows are projected before they are aggregated, and each measure once, because engines compute a CASE as often as it is written.
    place: dict[Any, str] = {}
    columns = {place.setdefault(column.op(), f"c{len(place)}"): column for given in inputs for column in given}
    rows = table.select(**keys, **columns) if keys or columns else table
    taken = [[rows[place[column.op()]] for column in given] for given in inputs]
    outputs = [part.aggregates(rows, given) for part, given in zip(parts, taken, strict=True)]
    named = {f"p{i}_a{j}": column for i, given in enumerate(outputs) for j, column in enumerate(given)}
    if not keys:
        return rows.agg(**named)
    grouped = rows.group_by(list(keys)).agg(**named)
    # Labels become texts after the aggregation: few rows, and integers group faster.
    return grouped.mutate(**{name: grouped[name].cast("string") for name in keys})


def numbers(groups: Groups, queries: Sequence[Additive], table: Any) -> Numbers:
    """For every group with records: the exact number of steps of each query, then the selecting count, if any."""
    found = computed(aggregation(groups, queries, table))
    count = len(queries) + (groups.selection is not None)
    places = [[column for column in found if column.startswith(f"p{i}_a")] for i in range(count)]
    result: Numbers = {}
    for row, labels in _labelled(groups, found):
        parts = [[found[column][row] for column in names] for names in places]
        exact = [query.number(part) for query, part in zip(queries, parts, strict=False)]
        exact += [total(parts[-1])] if groups.selection else []
        # An engine that tells two labels apart whose texts agree: their records are one group, with one change of each sum a record.
        known = result.get(labels)
        result[labels] = exact if known is None else [a + b for a, b in zip(known, exact, strict=True)]
    return result


def cell_counts(query: Quantile, table: Any) -> Mapping[Labels, NDArray[np.int64]]:
    """For every group with records: how many lie in each cell between the candidates."""
    from designer.tables.condition import all_met

    _require_table(table)
    keys, met = query.groups.expressions(table), all_met(query.where, table)
    rows = table.select(**keys, cell=query.cell(table), **({} if met is None else {"met": met}))
    rows = rows if met is None else rows.filter(rows.met)
    grouped = rows.group_by([*keys, "cell"]).agg(amount=rows.count())
    found = computed(grouped.mutate(**{name: grouped[name].cast("string") for name in keys}))
    counts: dict[Labels, NDArray[np.int64]] = {}
    for row, labels in _labelled(query.groups, found):
        counts.setdefault(labels, no_counts(query))[int(found["cell"][row])] += int(found["amount"][row])
    return counts


def no_counts(query: Quantile) -> NDArray[np.int64]:
    """The cells of a group without records."""
    return np.zeros(len(query.candidates) + 1, dtype=np.int64)


def computed(expression: Any) -> dict[str, list[Any]]:
    """The columns of an aggregation; one text whatever goes wrong."""
    try:
        columns: dict[str, list[Any]] = expression.to_pyarrow().to_pydict()
    except Exception:
        columns = {}
    # Outside the handler, so that not even the context of the exception holds the engine's message.
    if not columns:
        raise InvalidProblem(FAILED)
    return columns


def _labelled(groups: Groups, found: Mapping[str, Sequence[Any]]) -> list[tuple[int, Labels]]:
    """Rows with all their labels present."""
    columns = [found[f"k{i}"] for i in range(len(groups.columns))]
    rows = range(len(next(iter(found.values()))))
    labelled = [(row, tuple(column[row] for column in columns)) for row in rows]
    return [(row, labels) for row, labels in labelled if None not in labels]


def _require_table(table: Any) -> None:
    if not all(hasattr(table, name) for name in ("select", "group_by", "agg", "columns")):
        raise InvalidProblem(NO_TABLE)

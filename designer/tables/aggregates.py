"""Exact aggregates of an Ibis table, one aggregation for each level: the only place that touches records.
What it returns is confidential."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.engines.texts import octets_of, text_of
from designer.tables.exact_sums import total_of_limbs
from designer.tables.groups import Groups, Labels
from designer.tables.partition_selection import PartitionSelection
from designer.tables.quantile import Quantile
from designer.tables.queries import Additive

Numbers = dict[Labels, list[int]]

MOST_LITERALS = 500  # keys written into a query: Ibis takes 0.1 ms for each, and some engines compare them with every row


def aggregation(groups: Groups, queries: Sequence[Additive], table: Any) -> Any:
    """The Ibis expression of one level: keys `k0, ...`, then the aggregates of every query,
    and the count that selects groups, if any."""
    keys = groups.expressions(table)
    parts: list[Additive | PartitionSelection] = [*queries, *([groups.selection] if groups.selection else [])]
    inputs = [part.inputs(table) for part in parts]
    # Rows are projected before they are aggregated, and each measure once,
    # because engines compute a CASE as often as it is written.
    place: dict[Any, str] = {}
    columns = {place.setdefault(column.op(), f"c{len(place)}"): column for given in inputs for column in given}
    rows = table.select(**keys, **columns) if keys or columns else table
    taken = [[rows[place[column.op()]] for column in given] for given in inputs]
    outputs = [part.aggregates(rows, given) for part, given in zip(parts, taken, strict=True)]
    named = {f"p{i}_a{j}": column for i, given in enumerate(outputs) for j, column in enumerate(given)}
    if not keys:
        return rows.agg(**named)
    return _answerable(groups, keys, rows.group_by(list(keys)).agg(**named))


def _answerable(groups: Groups, keys: Mapping[str, Any], grouped: Any) -> Any:
    """Groups with their labels as texts, or as the bytes of texts,
    without most of those that are not listed: these stay in the engine.

    Labels become texts after the aggregation: few rows, and integers group faster. The engine may pass labels of two listed
    keys mixed; answers are looked up by the whole key, in Python, afterwards.
    """
    import ibis

    plain = {name: grouped[name].cast("string") for name, key in keys.items() if not key.type().is_binary()}
    texts = grouped.mutate(**plain)
    if groups.keys is None or groups.has_others:
        return texts
    labels = {name: [key[i] for key in groups.keys] for i, name in enumerate(keys)}
    if _joins(texts):
        kinds = {name: "string" if name in plain else "binary" for name in keys}
        listed = {name: own if name in plain else [label.encode() for label in own] for name, own in labels.items()}
        return texts.semi_join(ibis.memtable(listed, schema=kinds), list(keys))
    if len(groups.keys) <= MOST_LITERALS and all(map(_plain, chain(*groups.keys))):
        return texts.filter(*(_among(texts[name], own, name in plain) for name, own in labels.items()))
    return texts


def _among(column: Any, labels: list[str], plain: bool) -> Any:
    """Which labels of a column, texts or the bytes of texts, are among the listed ones."""
    different = dict.fromkeys(labels)
    return column.isin(list(different) if plain else [octets_of(label, column) for label in different])


def _joins(table: Any) -> bool:
    """Does the engine join a table in memory without a right to write? Where not, few keys are written into the query,
    and for more all groups travel."""
    import ibis.expr.operations as ops

    return all(stored.source.name == "duckdb" for stored in table.op().find(ops.DatabaseTable))


def _plain(label: str) -> bool:
    """A text that every dialect of SQL writes in the same way."""
    return label.isprintable() and "\\" not in label


def numbers(groups: Groups, queries: Sequence[Additive], table: Any) -> Numbers:
    """For every listed or found group with records: the exact number of steps of each query, then the selecting count, if any.

    A few groups that are not listed may be among them.
    """
    found = aggregation(groups, queries, table).to_pyarrow().to_pydict()
    count = len(queries) + (groups.selection is not None)
    places = [[column for column in found if column.startswith(f"p{i}_a")] for i in range(count)]
    result: Numbers = {}
    for row, labels in _labelled(groups, found):
        parts = [[found[column][row] for column in names] for names in places]
        exact = [query.number(part) for query, part in zip(queries, parts, strict=False)]
        exact += [total_of_limbs(parts[-1])] if groups.selection else []
        # An engine that tells two labels apart whose texts agree: their records are one group,
        # with one change of each sum a record.
        known = result.get(labels)
        result[labels] = exact if known is None else [a + b for a, b in zip(known, exact, strict=True)]
    return result


def cell_counts(query: Quantile, table: Any) -> Mapping[Labels, NDArray[np.int64]]:
    """For every listed group with values: how many lie in each cell between the candidates; missing ones lie in none. A few
    other groups may be among them."""
    from designer.tables.condition import all_met

    keys = query.groups.expressions(table)
    rows = table.select(**keys, cell=query.cell(table), met=all_met(query.population, table))
    rows = rows.filter(rows.met)
    grouped = rows.group_by([*keys, "cell"]).agg(amount=rows.count())
    found = (_answerable(query.groups, keys, grouped) if keys else grouped).to_pyarrow().to_pydict()
    counts: dict[Labels, NDArray[np.int64]] = {}
    for row, labels in _labelled(query.groups, found):
        counts.setdefault(labels, no_counts(query))[int(found["cell"][row])] += int(found["amount"][row])
    return counts


def no_counts(query: Quantile) -> NDArray[np.int64]:
    """The cells of a group without records."""
    return np.zeros(len(query.candidates) + 1, dtype=np.int64)


def _labelled(groups: Groups, found: Mapping[str, Sequence[Any]]) -> list[tuple[int, Labels]]:
    """Rows with all their labels present."""
    columns = [list(map(text_of, found[f"k{i}"])) for i in range(len(groups.columns))]
    rows = range(len(next(iter(found.values()))))
    labelled = [(row, tuple(column[row] for column in columns)) for row in rows]
    return [(row, labels) for row, labels in labelled if None not in labels]  # type: ignore[misc]

"""Exact aggregates of an Ibis table: the only place that touches records. What it returns is confidential.

Levels are scanned together where `designer.tables.scans` says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.relations.records.engines import by_bytes, octets, octets_of, text_of
from designer.tables.groups import Groups, Labels
from designer.tables.other_noise import Quantile
from designer.tables.partition_selection import PartitionSelection
from designer.tables.queries import Aggregated

Numbers = dict[Labels, list[int]]
Part = Aggregated | PartitionSelection
Found = Mapping[str, Sequence[Any]]
Cells = Mapping[Labels, NDArray[np.int64]]

MOST_LITERALS = 500  # keys written into a query: Ibis takes 0.1 ms for each, and some engines compare them with every row


def parts_of(groups: Groups, queries: Sequence[Aggregated]) -> list[Part]:
    """What is aggregated for a level: its queries, then the count that selects groups, if any."""
    return [*queries, *([groups.selection] if groups.selection else [])]


def aggregation_of(groups: Groups, parts: Sequence[Part], table: Any) -> tuple[Any, list[list[str]]]:
    """The Ibis expression of one level: keys `k0, ...`, then aggregates; and the names of those of each part."""
    keys = groups.expressions(table)
    rows, named, own = aggregates_of(parts, keys, table)
    grouped = rows.group_by(list(keys)).agg(**named) if keys else rows.agg(**named)
    return answerable(groups, grouped, joins(table)), own


def aggregates_of(
    parts: Sequence[Part], keys: Mapping[str, Any], table: Any, quick: bool = False
) -> tuple[Any, dict[str, Any], list[list[str]]]:
    """Rows of keys and inputs, the different aggregates of them by name, and the names of those of each part.

    Rows are projected before they are aggregated, and each measure once, because engines compute a CASE as often as it is
    written. Texts among the keys are grouped by their bytes. quick: sums of floats, where a part has them.
    """
    inputs = [part.quick_inputs(table) if quick else part.inputs(table) for part in parts]
    place: dict[Any, str] = {}
    columns = {place.setdefault(column.op(), f"c{len(place)}"): column for given in inputs for column in given}
    rows = table.select(**keys, **columns) if keys or columns else table
    rows = by_bytes(rows, [name for name in keys if rows[name].type().is_string()])
    outputs = [
        part.aggregates(rows, [rows[place[column.op()]] for column in given]) for part, given in zip(parts, inputs, strict=True)
    ]
    names: dict[Any, str] = {}
    own = [[names.setdefault(column.op(), f"a{len(names)}") for column in given] for given in outputs]
    named = {name: column for given, ours in zip(outputs, own, strict=True) for column, name in zip(given, ours, strict=True)}
    return rows, named, own


def answerable(groups: Groups, grouped: Any, joined: bool) -> Any:
    """Groups with their labels as texts, or as the bytes of texts,
    without most of those that are not listed: these stay in the engine.

    Labels become texts after the aggregation: few rows, and integers group faster. The engine may pass labels of two listed
    keys mixed; answers are looked up by the whole key, in Python, afterwards.
    joined: may the engine join a table in memory?
    """
    import ibis

    keys = [f"k{i}" for i in range(len(groups.columns))]
    kinds = {name: grouped[name].type() for name in keys}
    plain = {name: grouped[name].cast("string") for name, kind in kinds.items() if not (kind.is_binary() or kind.is_string())}
    encoded = {name: octets(grouped[name]) for name, kind in kinds.items() if kind.is_string()}
    grouped = grouped.mutate(**encoded) if encoded else grouped
    texts = grouped.mutate(**plain) if plain else grouped
    if groups.keys is None or groups.has_others or not keys:
        return texts
    labels = {name: [key[i] for key in groups.keys] for i, name in enumerate(keys)}
    if joined:
        types = {name: "string" if name in plain else "binary" for name in keys}
        listed = {name: own if name in plain else [label.encode() for label in own] for name, own in labels.items()}
        return texts.semi_join(ibis.memtable(listed, schema=types), keys)
    if len(groups.keys) <= MOST_LITERALS and all(map(_plain, chain(*groups.keys))):
        return texts.filter(*(_among(texts[name], own, name in plain) for name, own in labels.items()))
    return texts


def _among(column: Any, labels: list[str], plain: bool) -> Any:
    """Which labels of a column, texts or the bytes of texts, are among the listed ones."""
    different = dict.fromkeys(labels)
    return column.isin(list(different) if plain else [octets_of(label, column) for label in different])


def fetched(expression: Any) -> Found:
    """The columns of an expression, here."""
    columns: Found = expression.to_pyarrow().to_pydict()
    return columns


def joins(table: Any) -> bool:
    """Does the engine join a table in memory without a right to write? Where not, few keys are written into the query,
    and for more all groups travel."""
    import ibis.expr.operations as ops

    return all(stored.source.name == "duckdb" for stored in table.op().find(ops.DatabaseTable))


def _plain(label: str) -> bool:
    """A text that every dialect of SQL writes in the same way."""
    return label.isprintable() and "\\" not in label


def exact_numbers(groups: Groups, parts: Sequence[Part], names: Sequence[Sequence[str]], found: Found) -> Numbers:
    """For every listed or found group with records: the exact number of steps of each part, by the names of its aggregates.

    A few groups that are not listed may be among them.
    """
    kept = _labelled(groups, found)
    columns = [
        part.numbers([[found[name][row] for row in kept.rows] for name in own] if kept.some else [found[name] for name in own])
        for part, own in zip(parts, names, strict=True)
    ]
    exact = list(map(list, zip(*columns, strict=True))) if columns else [[] for _ in kept.labels]
    result = dict(zip(kept.labels, exact, strict=True))
    return result if len(result) == len(exact) else _added(kept.labels, exact)


def _added(labels: Sequence[Labels], exact: Sequence[list[int]]) -> Numbers:
    """An engine that tells two labels apart whose texts agree: their records are one group,
    with one change of each sum a record."""
    result: Numbers = {}
    for key, row in zip(labels, exact, strict=True):
        result[key] = [a + b for a, b in zip(result[key], row, strict=True)] if key in result else row
    return result


def cell_counts(query: Quantile, table: Any) -> Cells:
    """For every listed group with values: how many lie in each cell of the quantile; missing ones lie in none. A few
    other groups may be among them."""
    rows, keys = _celled(query, table)
    grouped = rows.group_by([*keys, "cell"]).agg(amount=rows.count())
    found = fetched(answerable(query.groups, grouped, joins(table)))
    kept = _labelled(query.groups, found)
    place: dict[Labels, int] = {}
    groups = np.array([place.setdefault(labels, len(place)) for labels in kept.labels], dtype=np.intp)
    counts = np.zeros((len(place), len(no_counts(query))), dtype=np.int64)
    cells, amounts = (np.array(found[name], dtype=np.int64)[list(kept.rows)] for name in ("cell", "amount"))
    np.add.at(counts, (groups, cells), amounts)
    return dict(zip(place, counts, strict=True))


def _celled(query: Quantile, table: Any) -> tuple[Any, list[str]]:
    """The rows that are in a quantile, with their keys and cells; and the names of the keys."""
    from designer.tables.condition import all_met

    others = query.groups.has_others
    keys = query.groups.expressions(table) if others else {f"k{i}": k.plain(table) for i, k in enumerate(query.groups.columns)}
    rows = table.select(**keys, cell=query.cell(table), met=all_met(query.population, table))
    rows = by_bytes(rows, [name for name in keys if rows[name].type().is_string()])
    return rows.filter(rows.met), list(keys)


def no_counts(query: Quantile) -> NDArray[np.int64]:
    """The cells of a group without records."""
    return np.zeros(2 * len(query.candidates) + 1, dtype=np.int64)


@dataclass(frozen=True)
class LabelledRows:
    """The rows that have all their labels, and these; some: are there other rows?"""

    rows: Sequence[int]
    labels: Sequence[Labels]
    some: bool


def _labelled(groups: Groups, found: Found) -> LabelledRows:
    count = len(next(iter(found.values())))
    columns = [_texts(found[f"k{i}"]) for i in range(len(groups.columns))]
    every: list[Any] = list(zip(*columns, strict=True)) if columns else [()] * count
    if not any(None in column for column in columns):
        return LabelledRows(range(count), every, False)
    rows = [row for row, labels in enumerate(every) if None not in labels]
    return LabelledRows(rows, [every[row] for row in rows], True)


def _texts(labels: Sequence[Any]) -> list[str | None]:
    """Labels as texts; those that came as bytes are the same few again and again."""
    known: dict[Any, str | None] = {}
    return [known[label] if label in known else known.setdefault(label, text_of(label)) for label in labels]

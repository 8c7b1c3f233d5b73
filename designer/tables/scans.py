"""One scan for many levels: records are aggregated once, by all keys that the levels need, and what comes out is rolled up.

Sums and counts of whole numbers add up exactly from any partition that is finer than the groups; distinct counts do not, and
are counted level by level. docs/theory/tables.md, section 6.

Records of unlisted keys in the groups of all others, where their labels are already few: by joins with the listed
beginnings of keys, or by comparing with each of them.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from designer.base.arrays import frozen
from designer.base.errors import InvalidProblem
from designer.problem.histogram import OTHERS
from designer.relations.records import engines as texts
from designer.relations.records.engines import octets_of
from designer.sampling.entropy import Entropy
from designer.sampling.integer_gaussian import DiscreteGaussian
from designer.tables.aggregates import (
    Cells,
    Found,
    Numbers,
    Part,
    aggregates_of,
    aggregation_of,
    answerable,
    cell_counts,
    exact_numbers,
    fetched,
    joins,
    no_counts,
    parts_of,
)
from designer.tables.answers import Answer
from designer.tables.condition import Condition
from designer.tables.exact_sums import amounts, as_integers
from designer.tables.groups import Groups, Labels
from designer.tables.other_noise import OtherNoise, Quantile
from designer.tables.queries import Additive, Aggregated, Average, Count, CountDistinct, Query
from designer.tables.unit_splitting import Key


def with_others(level: Groups, rows: Any, joined: bool) -> Any:
    """Rows of an Ibis table whose columns `k0, ...` are the bytes of labels: now of the group that each row is in.

    joined: may the engine join a table in memory?
    """
    names = [f"k{place}" for place in range(len(level.columns))]
    if not joined:
        return rows.mutate(**level.labelled([rows[name] for name in names]))
    others = {name: octets_of(OTHERS, rows[name]) for name in names}
    for depth in range(1, len(names) + 1):
        rows = _known(level, rows, names[:depth])
    kept = {name: rows[_mark(place)].notnull().ifelse(rows[name], others[name]) for place, name in enumerate(names)}
    return rows.mutate(**kept).drop(*map(_mark, range(len(names))))


def _mark(place: int) -> str:
    return f"listed_{place}"


def _known(level: Groups, rows: Any, names: list[str]) -> Any:
    """Rows with a column that is missing unless their first labels begin a listed key."""
    import ibis

    mark = _mark(len(names) - 1)
    stems = sorted(stem for stem in level.stems if len(stem) == len(names))
    listed = {f"{mark}_{name}": [stem[place].encode() for stem in stems] for place, name in enumerate(names)}
    kinds = {**dict.fromkeys(listed, "binary"), mark: "boolean"}
    beside = ibis.memtable({**listed, mark: [True] * len(stems)}, schema=kinds)
    return rows.left_join(beside, [rows[name] == beside[f"{mark}_{name}"] for name in names]).drop(*listed)


ENGINES = ("duckdb", "pyspark")  # one statement for several levels
REPEATS = ("pyspark",)  # engines that compute what levels share anew for each of them
MOST_FETCHED = 2**20  # groups that are rolled up here instead
QUICK = ("duckdb",)  # sums of floats that hold whole numbers are worth it
MOST_CELLS = 2**17  # so many combinations of listed labels are aggregated at once for levels of which none is below another
Asked = Mapping[Groups, Sequence[Aggregated]]


def numbers(groups: Groups, queries: Sequence[Aggregated], table: Any) -> Numbers:
    """For every listed or found group of one level with records: the exact number of steps of each query,
    then the selecting count, if any.

    A few groups that are not listed may be among them.
    """
    return level_numbers({groups: queries}, table)[groups]


def level_numbers(asked: Asked, table: Any) -> dict[Groups, Numbers]:
    """The same for many levels, as many as possible from one scan of the records."""
    found: dict[Groups, Numbers] = {}
    if not asked or not _rolls_up(table):
        return {level: _alone(level, parts_of(level, queries), table) for level, queries in asked.items()}
    for levels in joint_scans(list(asked)):
        found |= _scanned({level: asked[level] for level in levels}, table)
    return {level: found[level] for level in asked}


def joint_scans(levels: Sequence[Groups]) -> list[list[Groups]]:
    """Levels by scans: those whose keys are among the keys of another, and those whose listed labels are few together."""
    scans: list[list[Groups]] = []
    for level in sorted(levels, key=lambda own: -len(own.columns)):
        joined = next((scan for scan in scans if _fits(level, scan)), None)
        if joined is None:
            scans.append([level])
        else:
            joined.append(level)
    return scans


def _fits(level: Groups, scan: Sequence[Groups]) -> bool:
    known = set(_keys(scan))
    if known >= set(level.columns):
        return True
    return all(own.keys is not None for own in (*scan, level)) and _cells((*scan, level)) <= MOST_CELLS


def _keys(levels: Sequence[Groups]) -> list[Key]:
    """The different key columns of some levels."""
    return list(dict.fromkeys(key for level in levels for key in level.columns))


def _cells(levels: Sequence[Groups]) -> int:
    """How many combinations there are of the labels that levels list for each key column."""
    labels: dict[Key, set[str]] = {}
    for level in levels:
        for place, key in enumerate(level.columns):
            labels.setdefault(key, set()).update(listed[place] for listed in level.keys or ())
    return math.prod(map(len, labels.values()))


def _rolls_up(table: Any) -> bool:
    return texts.engine_of(table) in ENGINES


def _alone(level: Groups, parts: Sequence[Part], table: Any) -> Numbers:
    """One level by an aggregation of its own."""
    expression, names = aggregation_of(level, parts, table)
    return exact_numbers(level, parts, names, fetched(expression))


def _scanned(asked: Asked, table: Any) -> dict[Groups, Numbers]:
    """Levels of one scan; distinct counts, which do not add up, level by level."""
    parts = {level: parts_of(level, queries) for level, queries in asked.items()}
    if len(asked) == 1 and not next(iter(asked)).has_others:
        return _rolled(parts, table, texts.engine_of(table) in QUICK)
    added = {level: [part for part in own if not isinstance(part, CountDistinct)] for level, own in parts.items()}
    found = _rolled(added, table, texts.engine_of(table) in QUICK)
    for level, own in parts.items():
        if apart := [part for part in own if isinstance(part, CountDistinct)]:
            found[level] = _merged(own, found[level], _alone(level, apart, table))
    return found


def _merged(parts: Sequence[Part], added: Numbers, distinct: Numbers) -> Numbers:
    """The numbers of all parts in their order."""
    counted = [isinstance(part, CountDistinct) for part in parts]
    merged: Numbers = {}
    for labels in {**added, **distinct}:
        theirs, ours = iter(distinct.get(labels, [0] * len(parts))), iter(added.get(labels, [0] * len(parts)))
        merged[labels] = [next(theirs if apart else ours) for apart in counted]
    return merged


def _rolled(parts: Mapping[Groups, Sequence[Part]], table: Any, quick: bool) -> dict[Groups, Numbers]:
    """Numbers of all levels from one scan; by another one without quick sums if a group has too many rows for them."""
    asked = [part for own in parts.values() for part in own]
    most = min((part.quick_rows for part in asked), default=math.inf)
    keys = {key: f"f{place}" for place, key in enumerate(_keys(list(parts)))}
    fine, names = _finest(keys, asked, table, quick and most < math.inf)
    shared = _here(fine) if len(parts) > 1 and texts.engine_of(table) in REPEATS else fine
    found = _by_level(fetched(_in_one(list(parts), keys, shared, joins(shared))), len(parts))
    if quick and max((rows or 0 for numbers in found for rows in numbers["rows"]), default=0) > most:
        return _rolled(parts, table, False)
    columns = iter(names)
    return {
        level: exact_numbers(level, own, [next(columns) for _ in own], numbers)
        for (level, own), numbers in zip(parts.items(), found, strict=True)
    }


def _here(fine: Any) -> Any:
    """What levels are rolled up from as a table of the embedded engine; where it is, if it is large.

    Spark keeps (`cache`) what is aggregated in as many parts as a shuffle has, 200 by default, and starts a task for each part
    and level: 8 s for two groups of 1,000 records, 0.8 s here.
    """
    import ibis

    found = fine.limit(MOST_FETCHED + 1).to_pyarrow()
    return ibis.memtable(found) if found.num_rows <= MOST_FETCHED else fine


def _finest(keys: Mapping[Key, str], parts: Sequence[Part], table: Any, quick: bool) -> tuple[Any, list[list[str]]]:
    """The table by all keys together, with the number of rows, and the names of the aggregates of each part."""
    rows, named, own = aggregates_of(parts, {name: key.plain(table) for key, name in keys.items()}, table, quick)
    counted = {**named, "rows": rows.count()}
    if not keys:
        return rows.agg(**counted), own
    grouped = rows.group_by(list(keys.values())).agg(**counted)
    labels = {name: _octets(grouped[name]) for name in keys.values()}
    return grouped.mutate(**labels), own


def _octets(labels: Any) -> Any:
    """Labels of any kind as the bytes of their texts."""
    return labels if labels.type().is_binary() else texts.octets(labels.cast("string"))


def _in_one(levels: Sequence[Groups], keys: Mapping[Key, str], fine: Any, joined: bool) -> Any:
    """All levels in one expression: the place of the level, labels `k0, ...` as bytes, sums, and rows as `_at_level`."""
    import ibis

    sums = {name: as_integers(fine[name]) for name in fine.columns if name not in keys.values()}
    fine = fine.select(**{name: fine[name] for name in keys.values()}, **sums)
    width = max(len(level.columns) for level in levels)
    found = [_at_level(level, keys, fine, joined) for level in levels]
    padded = [
        rows.select(
            level=ibis.literal(place, "int64"),
            **{name: rows[name] if name in rows.columns else ibis.null("binary") for name in map("k{}".format, range(width))},
            **{name: rows[name] for name in sums},
        )
        for place, rows in enumerate(found)
    ]
    return padded[0] if len(padded) == 1 else ibis.union(*padded)


def _at_level(level: Groups, keys: Mapping[Key, str], fine: Any, joined: bool) -> Any:
    """The groups of one level: labels `k0, ...`, sums, and the most rows that a part of them was computed from."""
    sums = [name for name in fine.columns if name not in keys.values()]
    labels = {f"k{place}": fine[keys[key]] for place, key in enumerate(level.columns)}
    rows = fine.select(**labels, **{name: fine[name] for name in sums})
    if set(level.columns) == set(keys) and not level.has_others:
        return answerable(level, rows, joined)
    if level.has_others:
        rows = with_others(level, rows, joined)
    named = {name: rows[name].max() if name == "rows" else rows[name].sum().cast(rows[name].type()) for name in sums}
    return answerable(level, rows.group_by(list(labels)).agg(**named) if labels else rows.agg(**named), joined)


def _by_level(found: Found, levels: int) -> list[Found]:
    """The columns of each level, of all levels in one."""
    if levels == 1:
        return [found]
    places = np.array(found["level"], dtype=np.int64)
    rows = [np.flatnonzero(places == place).tolist() for place in range(levels)]
    return [{name: [column[row] for row in own] for name, column in found.items()} for own in rows]


# Running a plan: exact aggregates of the records meet exact noise, and only the sum of the two goes on.


UNLISTED_RECORD = (
    "records: one that a query asks about is in none of its listed groups, or lacks a label; correct the records, list what is "
    'missing, or state what happens to such records: unlisted = "count as others" or "drop". dp-designer check, for the holder '
    "of the data, says which they are. Nothing was released."
)


@dataclass(frozen=True)
class ExactNumbers:
    """What the records of a table say to the queries of a plan; confidential.

    levels: for each level, the numbers of each group that was found, in the order of what was asked. cells: of each quantile,
    by its name.
    """

    levels: Mapping[Groups, Numbers]
    cells: Mapping[str, Cells]


def exact_numbers_of(queries: Sequence[Query], noisy: Sequence[Aggregated], table: Any, *, all_listed: bool) -> ExactNumbers:
    """The exact numbers of a plan, from as few scans of the rows of an Ibis table as its engine needs.

    noisy: the numbers of `queries` that get noise, level by level. all_listed: refuse a table in which a query asks about a
    record that is in none of its listed groups, or lacks a label: of the rows that meet its conditions as many must be in its
    groups as there are.
    """
    wheres = _conditions(queries) if all_listed else {}
    asked: dict[Groups, list[Aggregated]] = {
        level: [query for query in noisy if query.groups == level]
        + [_rows_that(where, level) for where in wheres.get(level, ())]
        for level in dict.fromkeys(query.groups for query in queries)
    }
    everybody = Groups()
    counted = len(asked.get(everybody, ()))
    if wheres:
        every = list(dict.fromkeys(where for own in wheres.values() for where in own))
        asked[everybody] = [*asked.get(everybody, ()), *(_rows_that(where, everybody) for where in every)]
    found = level_numbers({level: own for level, own in asked.items() if own}, table)
    if wheres:
        there = dict(zip(every, found[everybody].get((), [0] * len(asked[everybody]))[counted:], strict=True))
        _require_listed(wheres, {level: found[level] for level in wheres}, there)
    cells: dict[Any, Cells] = {}  # of quantiles that differ in what is asked of the same cells
    quantiles = {query.name: query for query in queries if isinstance(query, Quantile)}
    for query in quantiles.values():
        if _asked_cells(query) not in cells:
            cells[_asked_cells(query)] = cell_counts(query, table)
    return ExactNumbers(found, {name: cells[_asked_cells(query)] for name, query in quantiles.items()})


def _conditions(queries: Sequence[Query]) -> dict[Groups, list[tuple[Condition, ...]]]:
    """The different conditions of the queries of each level that has columns."""
    found: dict[Groups, list[tuple[Condition, ...]]] = {}
    for query in queries:
        if query.groups.columns and query.where not in found.setdefault(query.groups, []):
            found[query.groups].append(query.where)
    return found


def _require_listed(
    wheres: Mapping[Groups, Sequence[tuple[Condition, ...]]],
    found: Mapping[Groups, Numbers],
    there: Mapping[tuple[Condition, ...], int],
) -> None:
    """Refuse numbers of rows in groups, which end the numbers of each level, that do not add up to the rows that are there."""
    for level, own in wheres.items():
        numbers = found[level]
        listed = numbers if level.keys is None else {key: numbers[key] for key in level.keys if key in numbers}
        selecting = 1 if level.selection else 0
        for place, where in enumerate(reversed(own), 1 + selecting):
            if sum(row[-place] for row in listed.values()) != there[where]:
                raise InvalidProblem(UNLISTED_RECORD)


def _asked_cells(query: Quantile) -> object:
    """What the cells of a quantile depend on."""
    return query.groups, query.measure, query.candidates, query.population


def noisy_answers(
    queries: Sequence[Query], noisy: Sequence[Aggregated], exact: ExactNumbers, entropy: Entropy
) -> dict[str, Answer]:
    """The answers of all queries; noisy: their numbers that get noise, level by level."""
    made: dict[str, Answer] = {}
    for level, numbers in exact.levels.items():
        parts = [query for query in noisy if query.groups == level]
        if parts:
            keys = level.keys if level.keys is not None else _selected(level, numbers, entropy)
            empty = [0] * len(parts)
            columns = zip(*(numbers.get(key, empty)[: len(parts)] for key in keys), strict=True) if keys else ((),) * len(parts)
            for part, own in zip(parts, columns, strict=True):
                made[part.name] = _noisy(part, keys, own, entropy)
    for query in queries:
        if isinstance(query, Quantile):
            made[query.name] = _quantiles(query, exact.cells[query.name], entropy)
        if isinstance(query, Average):
            made[query.name] = ratio_of(query, *(made[part.name] for part in query.parts))
    return made


def _rows_that(where: tuple[Condition, ...], groups: Groups) -> Count:
    """The number of rows that meet some conditions; its noise is never drawn."""
    return Count("rows", groups, where, 1)


def _selected(level: Groups, exact: Numbers, entropy: Entropy) -> tuple[Labels, ...]:
    """Groups whose noisy count reaches the threshold, sorted, because the order in which an engine finds them is theirs."""
    selection = level.selection
    assert selection is not None
    labels = sorted(exact)
    noise = _draws(DiscreteGaussian([selection.variance]), len(labels), entropy)
    return tuple(key for key, z in zip(labels, noise, strict=True) if exact[key][-1] + z >= selection.threshold)


def _noisy(query: Aggregated, keys: tuple[Labels, ...], exact: Sequence[int], entropy: Entropy) -> Answer:
    return answer_of(query, keys, noisy_integers(query, keys, exact, entropy))


def noisy_integers(query: Aggregated, keys: tuple[Labels, ...], exact: Sequence[int], entropy: Entropy) -> tuple[int, ...]:
    """The noisy integers of one query, in its own steps: the part of a run that draws, for numbers of groups that are given.

    exact: one number for each of the keys; confidential where they come from records.
    """
    if isinstance(query, OtherNoise):
        return query.noisy(exact, entropy)
    assert isinstance(query, Additive)
    noise = _draws(DiscreteGaussian(query.grid_variances(keys)), len(keys), entropy) if keys else []
    return tuple(map(operator.add, exact, noise))


def answer_of(query: Aggregated, keys: tuple[Labels, ...], integers: tuple[int, ...]) -> Answer:
    """The answer of a query for groups whose noisy integers are these: what is computed from them alone."""
    if isinstance(query, OtherNoise):
        variance = query.noise_variance()
        drawn = None if variance is None else frozen(np.full(len(keys), variance))
        return Answer(query.name, _columns(query), keys, frozen(query.estimates(integers)), drawn, integers, query.grid)
    assert isinstance(query, Additive)
    if not keys:
        return Answer(query.name, _columns(query), keys, frozen(np.zeros(0)), frozen(np.zeros(0)), (), query.step)
    variances = DiscreteGaussian(query.grid_variances(keys)).variance() * float(query.step) ** 2
    values = frozen(amounts(integers, query.step))
    return Answer(
        query.name, _columns(query), keys, values, frozen(np.broadcast_to(variances, len(keys))), integers, query.step
    )


def _draws(law: DiscreteGaussian, size: int, entropy: Entropy) -> list[int]:
    """`size` integers, of one law or of a law each; none where no group was found."""
    if not size:
        return []
    return law.draw(size if len(law.variances) == 1 else 1, entropy).ravel().tolist()


def _quantiles(query: Quantile, cells: Cells, entropy: Entropy) -> Answer:
    assert query.groups.keys is not None
    empty = no_counts(query)
    chosen = query.choice.choose_each(np.array([cells.get(key, empty) for key in query.groups.keys]), entropy)
    return chosen_answer(query, chosen.tolist())


def chosen_answer(query: Quantile, chosen: Sequence[int]) -> Answer:
    """The answer of a quantile, from the places of the candidates that were chosen, one for each group."""
    assert query.groups.keys is not None
    values = np.array([float(candidate) for candidate in query.candidates])[list(chosen)]
    return Answer(query.name, _columns(query), query.groups.keys, frozen(values))


def ratio_of(query: Average, sums: Answer, counts: Answer) -> Answer:
    """Noisy sums over noisy counts, which are taken to be at least 1."""
    return Answer(query.name, _columns(query), sums.keys, frozen(sums.values / np.maximum(counts.values, 1.0)))


def _columns(query: Query) -> tuple[str, ...]:
    return tuple(key.name for key in query.groups.columns)

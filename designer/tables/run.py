"""Running a plan: exact aggregates of the records meet exact noise, and only the sum of the two goes on."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from designer.base.arrays import frozen
from designer.base.errors import InvalidProblem
from designer.sampling.entropy import Entropy
from designer.sampling.integers.discrete_gaussian import DiscreteGaussian
from designer.tables.aggregates import Cells, Numbers, cell_counts, no_counts
from designer.tables.answers import Answer
from designer.tables.condition import Condition
from designer.tables.exact_sums import amounts
from designer.tables.groups import Groups, Labels
from designer.tables.other_noise import OtherNoise
from designer.tables.quantile import Quantile
from designer.tables.queries import Additive, Aggregated, Average, Count, Query
from designer.tables.scans import level_numbers

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

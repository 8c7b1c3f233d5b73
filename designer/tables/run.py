"""Running a plan: exact aggregates of the records meet exact noise, and only the sum of the two goes on."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from designer.sampling.entropy import Entropy
from designer.sampling.integers.discrete_gaussian import DiscreteGaussian
from designer.tables.aggregates import Cells, Numbers, cell_counts, no_counts
from designer.tables.answers import Answer
from designer.tables.groups import Groups, Labels
from designer.tables.quantile import Quantile
from designer.tables.queries import Additive, Average, Query
from designer.tables.scans import level_numbers
from designer.values.arrays import Floats, frozen


def noisy_answers(queries: Sequence[Query], noisy: Sequence[Additive], table: Any, entropy: Entropy) -> dict[str, Answer]:
    """The answers of all queries from the rows of an Ibis table; noisy: their numbers that get noise, level by level."""
    made: dict[str, Answer] = {}
    levels = dict.fromkeys(query.groups for query in queries)
    by_level = {level: [query for query in noisy if query.groups == level] for level in levels}
    asked = {level: own for level, own in by_level.items() if own}
    for level, exact in level_numbers(asked, table).items():
        keys = level.keys if level.keys is not None else _selected(level, exact, entropy)
        empty = [0] * len(asked[level])
        numbers = zip(*(exact.get(key, empty)[: len(empty)] for key in keys), strict=True) if keys else ((),) * len(empty)
        for part, own in zip(asked[level], numbers, strict=True):
            made[part.name] = _noisy(part, keys, own, entropy)
    cells: dict[Any, Cells] = {}  # of quantiles that differ in what is asked of the same cells
    for query in queries:
        if isinstance(query, Quantile):
            same = query.groups, query.measure, query.candidates, query.population
            cells[same] = cells[same] if same in cells else cell_counts(query, table)
            made[query.name] = _quantiles(query, cells[same], entropy)
        if isinstance(query, Average):
            made[query.name] = _ratio(query, *(made[part.name] for part in query.parts))
    return made


def _selected(level: Groups, exact: Numbers, entropy: Entropy) -> tuple[Labels, ...]:
    """Groups whose noisy count reaches the threshold, sorted, because the order in which an engine finds them is theirs."""
    selection = level.selection
    assert selection is not None
    labels = sorted(exact)
    noise = _draws(DiscreteGaussian([selection.variance]), len(labels), entropy)
    return tuple(key for key, z in zip(labels, noise, strict=True) if exact[key][-1] + z >= selection.threshold)


def _noisy(query: Additive, keys: tuple[Labels, ...], exact: Sequence[int], entropy: Entropy) -> Answer:
    if not keys:  # none was found
        return Answer(query.name, _columns(query), keys, frozen(np.zeros(0)), frozen(np.zeros(0)), (), query.step)
    law = DiscreteGaussian(query.grid_variances(keys))
    noise = _draws(law, len(keys), entropy)
    integers = tuple(map(operator.add, exact, noise))
    values = _amounts(integers, query.step)
    drawn = np.broadcast_to(law.variance() * float(query.step) ** 2, len(keys))
    return Answer(query.name, _columns(query), keys, frozen(values), frozen(drawn), integers, query.step)


def _amounts(numbers: Sequence[int], step: Fraction) -> Floats:
    """The floats nearest to `number step`: where no product leaves 2^53, floats divide as correctly as Python does."""
    small = max(map(abs, numbers), default=0) * step.numerator < 2**53 and step.denominator < 2**53
    if not small:
        return np.array([_amount(number, step) for number in numbers])
    return np.array(numbers, dtype=np.float64) * step.numerator / step.denominator


def _amount(number: int, step: Fraction) -> float:
    """The float nearest to `number step` (Python divides integers correctly rounded);
    beyond the floats it is infinite: a refusal would depend on data."""
    try:
        return number * step.numerator / step.denominator
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _draws(law: DiscreteGaussian, size: int, entropy: Entropy) -> list[int]:
    """`size` integers, of one law or of a law each; none where no group was found."""
    if not size:
        return []
    return law.draw(size if len(law.variances) == 1 else 1, entropy).ravel().tolist()


def _quantiles(query: Quantile, cells: Cells, entropy: Entropy) -> Answer:
    assert query.groups.keys is not None
    empty = no_counts(query)
    chosen = query.choice.choose_each(np.array([cells.get(key, empty) for key in query.groups.keys]), entropy)
    values = np.array([float(candidate) for candidate in query.candidates])[chosen]
    return Answer(query.name, _columns(query), query.groups.keys, frozen(values))


def _ratio(query: Average, sums: Answer, counts: Answer) -> Answer:
    """Noisy sums over noisy counts, which are taken to be at least 1."""
    return Answer(query.name, _columns(query), sums.keys, frozen(sums.values / np.maximum(counts.values, 1.0)))


def _columns(query: Query) -> tuple[str, ...]:
    return tuple(key.name for key in query.groups.columns)

"""Running a plan: exact aggregates of the records meet exact noise, and only the sum of the two goes on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from designer.sampling.entropy import Entropy
from designer.sampling.integers.discrete_gaussian import DiscreteGaussian
from designer.selection.mechanism import Selection
from designer.tables.aggregates import Numbers, cell_counts, no_counts, numbers
from designer.tables.answers import Answer
from designer.tables.groups import Groups, Labels
from designer.tables.quantile import Quantile
from designer.tables.queries import Additive, Average, Query
from designer.values.arrays import frozen

Choose = Callable[[Selection, Any], int]


def noisy_answers(
    queries: Sequence[Query], noisy: Sequence[Additive], table: Any, entropy: Entropy, choose: Choose
) -> dict[str, Answer]:
    """The answers of all queries from the rows of an Ibis table; noisy: their numbers that get Gaussian noise, level by level.
    choose: how a quantile is chosen from the counts of its cells."""
    made: dict[str, Answer] = {}
    for level in dict.fromkeys(query.groups for query in queries):
        asked = [query for query in noisy if query.groups == level]
        if asked:
            exact = numbers(level, asked, table)
            keys = level.keys if level.keys is not None else _selected(level, exact, entropy)
            for place, part in enumerate(asked):
                made[part.name] = _noisy(part, keys, [exact[key][place] if key in exact else 0 for key in keys], entropy)
    for query in queries:
        if isinstance(query, Quantile):
            made[query.name] = _quantiles(query, table, choose)
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


def _noisy(query: Additive, keys: tuple[Labels, ...], exact: list[int], entropy: Entropy) -> Answer:
    variances = query.grid_variances()
    law = DiscreteGaussian(variances)
    noise = _draws(law, len(keys), entropy)
    integers = tuple(number + z for number, z in zip(exact, noise, strict=True))
    values = np.array([_amount(number, query.step) for number in integers])
    drawn = np.broadcast_to(law.variance() * float(query.step) ** 2, len(keys))
    return Answer(query.name, _columns(query), keys, frozen(values), frozen(drawn), integers, query.step)


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
    return [int(z) for z in law.draw(size if len(law.variances) == 1 else 1, entropy).ravel()]


def _quantiles(query: Quantile, table: Any, choose: Choose) -> Answer:
    counts = cell_counts(query, table)
    assert query.groups.keys is not None
    chosen = [choose(query.choice, counts.get(key, no_counts(query))) for key in query.groups.keys]
    values = np.array([float(query.candidates[index]) for index in chosen])
    return Answer(query.name, _columns(query), query.groups.keys, frozen(values))


def _ratio(query: Average, sums: Answer, counts: Answer) -> Answer:
    """Noisy sums over noisy counts, which are taken to be at least 1."""
    return Answer(query.name, _columns(query), sums.keys, frozen(sums.values / np.maximum(counts.values, 1.0)))


def _columns(query: Query) -> tuple[str, ...]:
    return tuple(key.name for key in query.groups.columns)

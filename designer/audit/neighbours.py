"""Choices for neighbouring data: their exact laws at a few public counts, against the budget of every protected change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from designer.audit.choice_sources import choice_law, few_counts, gains_of_databases, selection_gains
from designer.audit.verdict import Finding, not_looked_at, proven
from designer.base.errors import InvalidProblem
from designer.problem.relation import Relation, finite_pairs
from designer.mechanisms.choice.mechanism import Selection
from designer.mechanisms.synthetic.multiplicative import MWEM
from designer.mechanisms.synthetic.small_databases import SmallDB
from designer.base.arrays import Floats

SUBJECT = "law, enumerated"
MOST_COMPARED = 4000
Gains = Callable[[Sequence[int]], Floats]


def neighbours_enumerated(made: Selection | SmallDB | MWEM) -> Finding:
    """The largest share of a budget that a choice spends, over the compared counts."""
    if isinstance(made, MWEM):
        return not_looked_at(SUBJECT, "rounds depend on each other; their laws are composed, and followed round by round below")
    relation = made.relation if isinstance(made, Selection) else made.queries.relation
    if not relation.single_records:
        return not_looked_at(SUBJECT, "changes of several records at once are not listed one by one here")
    law = made.law if isinstance(made, Selection) else made.selection
    if isinstance(made, Selection):
        return _compared(relation, law, lambda x: selection_gains(made, x), few_counts(made.score.size))
    databases = made
    return _compared(relation, law, lambda x: gains_of_databases(databases, x), _whole_counts(relation.size, made.records))


def _whole_counts(size: int, records: int) -> Iterator[list[int]]:
    """Counts of so many records in one element, or in two."""
    for first in range(min(size, 6)):
        for second in range(min(size, 6)):
            x = [0] * size
            x[first] += records - records // 3
            x[second] += records // 3
            yield x


def _compared(relation: Relation, law: str, gains: Gains, counts: Iterator[list[int]]) -> Finding:
    pairs = [pair for block in relation.blocks() for pair in zip(*(e.tolist() for e in finite_pairs(block)), strict=True)]
    worst, compared = 0.0, 0
    for x in counts:
        for ends in pairs:
            for i, j in (ends, ends[::-1]):
                budget = relation.exact_budget(i, j)
                moved = _moved(x, i, j)
                if moved is None or not budget or compared >= MOST_COMPARED:
                    continue
                share = _share(law, gains, x, moved, budget)
                worst, compared = max(worst, share or 0.0), compared + (share is not None)
    words = (
        f"{compared} pairs of neighbours at public counts: the largest share of a budget that a choice spends is {worst:.9g}"
    )
    return proven(SUBJECT, words, worst <= 1 + 1e-7, compared=compared, largest=worst)


def _moved(x: Sequence[int], i: int, j: int) -> list[int] | None:
    """A record of i becomes one of j; an index beyond the elements is no record."""
    moved = list(x)
    if i < len(x):
        moved[i] -= 1
        if moved[i] < 0:
            return None
    if j < len(x):
        moved[j] += 1
    return moved


def _share(law: str, gains: Gains, x: Sequence[int], moved: Sequence[int], budget: Fraction) -> float | None:
    """The largest log-likelihood ratio of two laws over the budget; None for counts that are refused."""
    try:
        both: list[Any] = [choice_law(law, gains(counts)) for counts in (x, moved)]
    except (InvalidProblem, ValueError, OverflowError):
        return None
    seen = (both[0] > 1e-250) & (both[1] > 1e-250)
    return float(np.abs(np.log(both[0][seen] / both[1][seen])).max(initial=0.0)) / float(budget)

"""Metrics made of metrics on one universe: sums, positive multiples, maxima, roots of sums of squares, and restrictions.

Each is a metric again (docs/theory/metrics.md, 3). Implied pairs are dropped where that is safe: multiples of one metric share
its blocks, and sums over attributes of one domain need single-attribute changes only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from designer.base.arrays import Floats, frozen
from designer.base.checks import count
from designer.base.declared import assign
from designer.base.errors import InvalidProblem
from designer.base.schema import POSITIONS, of_kind
from designer.problem.nearness import Nearness, all_pairs_of
from designer.problem.relation import Indices, Read
from designer.relations.metrics.metric import (
    METRIC,
    METRICS,
    Combination,
    Metric,
    _opened,
    inner_words,
    metric_from_spec,
    relabelled,
    require_metric,
)
from solvers.exact.rational import root_below


@dataclass(frozen=True, eq=False)
class Maximum(Combination):
    """d = max(d_1, d_2, ...): no pair is protected better than its weakest rule asks; a metric, because each part is one."""

    kind = "maximum"
    schema = of_kind("relation", kind, {"parts": METRICS})
    what: ClassVar[str] = "the largest of"

    @staticmethod
    def floats(budgets: Sequence[Floats]) -> Floats:
        return np.asarray(np.max(budgets, axis=0))

    @staticmethod
    def exact(budgets: Sequence[Fraction]) -> Fraction:
        return max(budgets)


@dataclass(frozen=True, eq=False)
class RootSumSquares(Combination):
    """d = sqrt(d_1^2 + d_2^2 + ...): what several gaussian releases promise together;
    exact budgets rounded down by less than 2^-79."""

    kind = "root_sum_squares"
    schema = of_kind("relation", kind, {"parts": METRICS})
    what: ClassVar[str] = "the root of the sum of squares of"

    @staticmethod
    def floats(budgets: Sequence[Floats]) -> Floats:
        # Not the root of squares: those of 1e-200 and 1e200 are beyond the floats.
        total = np.asarray(budgets[0])
        for further in budgets[1:]:
            total = np.hypot(total, further)
        return total

    @staticmethod
    def exact(budgets: Sequence[Fraction]) -> Fraction:
        return root_below(sum((budget**2 for budget in budgets), Fraction(0)))


@dataclass(frozen=True, eq=False)
class Restricted(Metric):
    """The metric of `part` between the chosen elements,
    in the order given: element m of this universe is `elements[m]` of the part's.

    Pairs that were implied through a dropped element are implied no more, so all pairs are listed.
    """

    part: Metric
    elements: Indices
    kind = "restricted"
    schema = of_kind(
        "relation", kind, {"part": METRIC, "elements": POSITIONS}, "Element m is elements[m] of the part's universe."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        require_metric(self.part, "metric.part")
        assign(self, budget_error=self.part.budget_error)

    @property
    def size(self) -> int:
        return len(self.elements)

    def rectangle(self, rows: slice, columns: slice) -> Floats:
        chosen = self.elements[columns]
        span = slice(int(chosen.min()), int(chosen.max()) + 1)
        picked = [
            self.part.rectangle(slice(row, row + 1), span)[0, chosen - span.start] for row in self.elements[rows].tolist()
        ]
        return np.array(picked)

    @cached_property
    def nearness(self) -> Nearness | None:
        known = self.part.nearness
        if known is None or known.pairs < all_pairs_of(self.part.size):
            return None
        return known.at(self.elements)

    def along(self, left: Indices, right: Indices) -> Floats:
        return self.part.along(self.elements[left], self.elements[right])

    def components(self) -> Indices:
        return relabelled(self.part.components()[self.elements])

    def exact_budget(self, left: int, right: int) -> Fraction | None:
        return self.part.exact_budget(int(self.elements[left]), int(self.elements[right]))

    def sentence(self) -> str:
        return (
            f"Any one record may change between {self.size} chosen elements of {self.part.size}, by this rule: "
            f"{inner_words(self.part)}."
        )

    def to_spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "part": self.part.to_spec(), "elements": self.elements}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> Restricted:
        return restriction(metric_from_spec(spec["part"], read), spec["elements"])


def maximum(*parts: Metric) -> Maximum:
    """The maximum of metrics: protect a pair no better than the weakest rule asks.

    Raises `InvalidProblem` for parts that are no metrics, or on different numbers of elements.

    parts: metrics on the same N elements.

    >>> from designer import metrics
    >>> maximum(metrics.uniform(2, 1.0), metrics.line([0, 3], period=1, epsilon=0.5)).exact_budget(0, 1)
    Fraction(3, 2)
    """
    return Maximum(_opened(Maximum, parts))


def root_sum_squares(*parts: Metric) -> RootSumSquares:
    """The root of the sum of squares of metrics: the gaussian counterpart of their sum.

    Raises `InvalidProblem` for parts that are no metrics, or on different numbers of elements.

    parts: metrics on the same N elements.

    >>> from designer import metrics
    >>> root_sum_squares(metrics.uniform(2, 3.0), metrics.uniform(2, 4.0)).exact_budget(0, 1)
    Fraction(5, 1)
    """
    return RootSumSquares(_opened(RootSumSquares, parts))


def restriction(part: Metric, elements: Iterable[int]) -> Restricted:
    """`part` between the elements of the given numbers only: for the leaves of a taxonomy, say.

    Raises `InvalidProblem` for numbers of elements that there are not.

    part: the metric. elements: numbers of elements from 0, in the order of the result.

    >>> from designer import metrics
    >>> restriction(metrics.graph([(0, 1), (0, 2)]), [1, 2]).exact_budget(0, 1)
    Fraction(2, 1)
    """
    listed = list(elements) if isinstance(elements, Iterable) and not isinstance(elements, (str, bytes)) else []
    size = require_metric(part, "metric.part").size
    chosen = [count(element, f"metric.elements[{m}]", least=0) for m, element in enumerate(listed)]
    if not chosen or max(chosen) >= size or len(set(chosen)) != len(chosen):
        raise InvalidProblem(
            f"metric.elements: {chosen[:8]} of {size} elements; give at least one number from 0 to {size - 1}, each once."
        )
    return Restricted(part, frozen(np.array(chosen, dtype=np.intp)))

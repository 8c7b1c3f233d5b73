"""Metrics made of metrics on one universe: sums, positive multiples, maxima, roots of sums of squares, and restrictions.

Each is a metric again (docs/theory/metrics.md, 3). Implied pairs are dropped where that is safe: multiples of one metric share its
blocks, and sums over attributes of one domain need single-attribute changes only.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from designer.domain import Domain
from designer.errors import InvalidProblem
from designer.files.json_text import canonical
from designer.frozen import Floats, count, frozen, positive
from designer.metrics.attributes import attribute_lines
from designer.metrics.nested import (
    LARGEST_FACTOR,
    LEAST_FACTOR,
    clipped,
    inner_words,
    metric_from_spec,
    relabelled,
    require_metric,
    require_metrics,
)
from designer.relation import Block, Indices, Metric, Read
from solvers.rational import root_below


@dataclass(frozen=True, eq=False)
class Scaled(Metric):
    """d(i, j) = factor * part(i, j), factor positive."""

    factor: float
    part: Metric
    kind = "scaled"

    def __post_init__(self) -> None:
        require_metric(self.part, "metric.part")
        if not LEAST_FACTOR <= self.factor <= LARGEST_FACTOR:
            raise InvalidProblem(f"metric.factor: {self.factor} is out of range; give {LEAST_FACTOR} to {LARGEST_FACTOR}.")
        object.__setattr__(self, "budget_error", self.part.budget_error + 2.0**-52)

    @property
    def size(self) -> int:
        return self.part.size

    def rectangle(self, rows: slice, columns: slice) -> Floats:
        return clipped(clipped(self.part.rectangle(rows, columns)) * self.factor)

    def blocks(self) -> Iterator[Block]:
        for block in self.part.blocks():
            yield Block(block.left, block.right, clipped(clipped(block.budgets) * self.factor))

    @property
    def common_domain(self) -> Domain | None:
        return self.part.common_domain

    def components(self) -> Indices:
        return self.part.components()

    def largest_budget(self) -> float:
        return self.part.largest_budget() * self.factor

    def exact_budget(self, left: int, right: int) -> Fraction | None:
        budget = self.part.exact_budget(left, right)
        return None if budget is None else budget * Fraction(self.factor)

    def words(self) -> str:
        return f"One record may change with {self.factor!r} times the budget of this rule: {inner_words(self.part)}."

    def to_spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "factor": self.factor, "part": self.part.to_spec()}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> Scaled:
        return cls(positive(spec["factor"], "metric.factor"), metric_from_spec(spec["part"], read))


@dataclass(frozen=True, eq=False)
class Combination(Metric):
    """Several metrics on one universe, combined pair by pair; infinite as soon as one of them is."""

    parts: tuple[Metric, ...]
    what: ClassVar[str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", require_metrics(self.parts, "metric.parts"))
        worst = max(part.budget_error for part in self.parts)
        object.__setattr__(self, "budget_error", worst + (len(self.parts) + 4) * 2.0**-52)

    @staticmethod
    @abstractmethod
    def floats(budgets: Sequence[Floats]) -> Floats:
        """The combination of float budgets, entry by entry; homogeneous: multiples combine to the multiple."""

    @staticmethod
    @abstractmethod
    def exact(budgets: Sequence[Fraction]) -> Fraction:
        """The combination of rational budgets, rounded down where it is irrational."""

    @property
    def size(self) -> int:
        return self.parts[0].size

    def rectangle(self, rows: slice, columns: slice) -> Floats:
        return clipped(self.floats([clipped(part.rectangle(rows, columns)) for part in self.parts]))

    def blocks(self) -> Iterator[Block]:
        shared = self._shared()
        if shared is None:
            yield from super().blocks()
            return
        factors, base = shared
        for block in base.blocks():
            budgets = clipped(block.budgets)
            yield Block(block.left, block.right, clipped(self.floats([budgets * factor for factor in factors])))

    def _shared(self) -> tuple[list[float], Metric] | None:
        """The metric that every part is a multiple of, with the multiples, where there is one: combined, they are a multiple of it too."""
        factors, bases = zip(*map(_multiple, self.parts), strict=True)
        same = len({canonical(base.to_spec()) for base in bases}) == 1
        return (list(factors), bases[0]) if same else None

    def components(self) -> Indices:
        return relabelled(*(part.components() for part in self.parts))

    def exact_budget(self, left: int, right: int) -> Fraction | None:
        budgets = [part.exact_budget(left, right) for part in self.parts]
        known = [budget for budget in budgets if budget is not None]
        return self.exact(known) if len(known) == len(budgets) else None

    def largest_budget(self) -> float:
        shared = self._shared()
        if shared is not None:
            largest = np.array(shared[1].largest_budget())
            return float(self.floats([largest * factor for factor in shared[0]]))
        listed = (block.budgets for block in Metric.blocks(self))
        return max((float(budgets[np.isfinite(budgets)].max(initial=0.0)) for budgets in listed), default=0.0)

    def words(self) -> str:
        listed = "; ".join(f"({i + 1}) {inner_words(part)}" for i, part in enumerate(self.parts))
        return f"One record may change with {self.what} the budgets of these rules: {listed}."

    def to_spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "parts": [part.to_spec() for part in self.parts]}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> Self:
        return cls(tuple(metric_from_spec(part, read) for part in spec["parts"]))


@dataclass(frozen=True, eq=False)
class Sum(Combination):
    """d = d_1 + d_2 + ...: what several pure releases promise together (DX Fact 1)."""

    kind = "sum"
    what: ClassVar[str] = "the sum of"

    @staticmethod
    def floats(budgets: Sequence[Floats]) -> Floats:
        return np.asarray(np.sum(budgets, axis=0))

    @staticmethod
    def exact(budgets: Sequence[Fraction]) -> Fraction:
        return sum(budgets, Fraction(0))

    def blocks(self) -> Iterator[Block]:
        domain = self.common_domain
        yield from super().blocks() if domain is None else self._single_changes(domain)

    @property
    def common_domain(self) -> Domain | None:
        domains = {part.common_domain for part in self.parts}
        return domains.pop() if len(domains) == 1 else None

    def _single_changes(self, domain: Domain) -> Iterator[Block]:
        """All changes of one attribute: a change of several is, in every part at once, the sum of its single ones."""
        for axis in range(len(domain.attributes)):
            lines = attribute_lines(domain, axis)
            table = self._on_first_line(lines)
            for value in range(1, len(lines)):
                left, right = np.tile(lines[value], value), lines[:value].ravel()
                yield Block(left, right, np.repeat(table[value, :value], lines.shape[1]))

    def largest_budget(self) -> float:
        domain = self.common_domain
        if domain is None:
            return super().largest_budget()
        tables = [self._on_first_line(attribute_lines(domain, axis)) for axis in range(len(domain.attributes))]
        return float(sum(table[np.isfinite(table)].max() for table in tables))

    def _on_first_line(self, lines: Indices) -> Floats:
        """Budgets between the values of an attribute; they do not depend on the other attributes."""
        at = lines[:, 0]
        rows = [self.rectangle(slice(i, i + 1), slice(0, self.size))[0, at] for i in at.tolist()]
        return np.array(rows)


@dataclass(frozen=True, eq=False)
class Maximum(Combination):
    """d = max(d_1, d_2, ...): no pair is protected better than its weakest rule asks; a metric, because each part is one."""

    kind = "maximum"
    what: ClassVar[str] = "the largest of"

    @staticmethod
    def floats(budgets: Sequence[Floats]) -> Floats:
        return np.asarray(np.max(budgets, axis=0))

    @staticmethod
    def exact(budgets: Sequence[Fraction]) -> Fraction:
        return max(budgets)


@dataclass(frozen=True, eq=False)
class RootSumSquares(Combination):
    """d = sqrt(d_1^2 + d_2^2 + ...): what several gaussian releases promise together; exact budgets rounded down by less than 2^-79."""

    kind = "root_sum_squares"
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
    """The metric of `part` between the chosen elements, in the order given: element m of this universe is `elements[m]` of the part's.

    Pairs that were implied through a dropped element are implied no more, so all pairs are listed.
    """

    part: Metric
    elements: Indices
    kind = "restricted"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_metric(self.part, "metric.part")
        object.__setattr__(self, "budget_error", self.part.budget_error)

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

    def components(self) -> Indices:
        return relabelled(self.part.components()[self.elements])

    def exact_budget(self, left: int, right: int) -> Fraction | None:
        return self.part.exact_budget(int(self.elements[left]), int(self.elements[right]))

    def words(self) -> str:
        return f"One record may change between {self.size} chosen elements of {self.part.size}, by this rule: {inner_words(self.part)}."

    def to_spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "part": self.part.to_spec(), "elements": self.elements}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> Restricted:
        return restriction(metric_from_spec(spec["part"], read), spec["elements"])


def sum_of(*parts: Metric) -> Sum:
    """The sum of metrics, also written `a + b`; sums within are opened.

    >>> from designer import metrics
    >>> (metrics.uniform(3, 0.5) + metrics.per_element([1, 2, 3])).exact_budget(0, 1)
    Fraction(7, 2)
    """
    return Sum(_opened(Sum, parts))


def maximum(*parts: Metric) -> Maximum:
    """The maximum of metrics: protect a pair no better than the weakest rule asks."""
    return Maximum(_opened(Maximum, parts))


def root_sum_squares(*parts: Metric) -> RootSumSquares:
    """The root of the sum of squares of metrics: the gaussian counterpart of their sum."""
    return RootSumSquares(_opened(RootSumSquares, parts))


def scaled(factor: float, part: Metric) -> Scaled:
    """`factor * part`, factor positive, also written that way."""
    return Scaled(positive(factor, "metric.factor"), require_metric(part, "metric.part"))


def restriction(part: Metric, elements: Iterable[int]) -> Restricted:
    """`part` between the elements of the given numbers only: for the leaves of a taxonomy, say.

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


def _opened(kind: type[Combination], parts: Sequence[Metric]) -> tuple[Metric, ...]:
    """The parts, with combinations of the same kind replaced by their parts."""
    return tuple(inner for part in parts for inner in (part.parts if type(part) is kind else (part,)))


def _multiple(metric: Metric) -> tuple[float, Metric]:
    """A metric as a factor times a metric that is not a multiple itself."""
    return (metric.factor, metric.part) if isinstance(metric, Scaled) and not isinstance(metric.part, Scaled) else (1.0, metric)

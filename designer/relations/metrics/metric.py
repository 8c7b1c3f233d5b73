"""Metrics: a budget for each pair of elements. That of one budget for all; and metrics inside metrics: what may be nested, how
deep, read back from plain data, with float budgets that stay within range."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isqrt
from typing import Any, ClassVar, Self

import numpy as np

from designer.base.arrays import Floats
from designer.base.checks import assign, count, positive, shown
from designer.base.errors import InvalidProblem, InvalidSpec
from designer.base.json_text import canonical
from designer.base.schema import COUNT, POSITIVE, list_of, of_kind, refer
from designer.limits import DEEPEST_NESTING, LARGEST_METRIC_BUDGET, LARGEST_METRIC_FACTOR
from designer.problem.budget_bounds import Nearness, all_pairs_of, of_parts, scaled_rule, without_features
from designer.problem.domain import Domain, attribute_lines
from designer.problem.histogram import Unlisted
from designer.problem.relation import Block, Indices, Read, Relation, SimpleBudgets, of_ones_own, rectangles
from solvers.exact.rational import last_float_above

# Float budgets outside are clipped before they are added and scaled,
# factors are kept to the range below: nothing over- or underflows.
LEAST_BUDGET, LEAST_FACTOR = 1e-200, 1e-90


def clipped(budgets: Floats) -> Floats:
    """Float budgets on the private side of what float arithmetic can hold; infinity, which means unprotected, stays.

    Below `LEAST_BUDGET` a budget counts as 0, so that the certificate settles its pair exactly; above
    `LARGEST_METRIC_BUDGET` as that.
    budgets: any shape (...,).

    >>> clipped(np.array([1e-250, 0.5, 1e250, np.inf])).tolist()
    [0.0, 0.5, 1e+200, inf]
    """
    small = np.where(budgets < LEAST_BUDGET, 0.0, budgets)
    return np.asarray(np.where(np.isfinite(small), np.minimum(small, LARGEST_METRIC_BUDGET), small))


def relabelled(*labels: Indices) -> Indices:
    """Labels 0, 1, ... of the classes of elements that agree in every one of the given labels.

    >>> relabelled(np.array([7, 7, 3]), np.array([0, 0, 0])).tolist()
    [1, 1, 0]
    """
    return np.asarray(np.unique(np.stack(labels, axis=1), axis=0, return_inverse=True)[1].ravel(), dtype=np.intp)


def relation_depth(relation: Relation) -> int:
    """How many levels of relations a relation holds, itself included."""
    return 1 + max(map(relation_depth, relation.inner()), default=0)


def require_metric(value: object, field: str, size: int | None = None) -> Metric:
    """`value` as a metric that may be put inside another one, on `size` elements where that is fixed."""
    if not isinstance(value, Metric):
        raise InvalidProblem(f"{field}: {shown(value)} is not a metric; build one with designer.metrics.", value=value)
    if size is not None and value.size != size:
        raise InvalidProblem(
            f"{field}: speaks of {value.size} elements where {size} are needed; metrics must share one universe."
        )
    if relation_depth(value) >= DEEPEST_NESTING:
        raise InvalidProblem(
            f"{field}: nests metrics {relation_depth(value)} deep; at most {DEEPEST_NESTING - 1} levels go into another metric."
        )
    value.require_symmetric(field)
    return value


def require_metrics(values: object, field: str) -> tuple[Metric, ...]:
    """At least one metric, all on one universe."""
    listed = tuple(values) if isinstance(values, Sequence) and not isinstance(values, str) else ()
    if not listed:
        raise InvalidProblem(f"{field}: {shown(values)} lists no metrics; give a list with at least one.", value=values)
    first = require_metric(listed[0], f"{field}[0]")
    return tuple(require_metric(value, f"{field}[{i}]", first.size) for i, value in enumerate(listed))


def metric_from_spec(spec: Any, read: Read) -> Metric:
    """A nested metric from plain data: of the closed list of kinds, and no relation that is not a metric."""
    relation = read(spec)
    if not isinstance(relation, Metric):
        raise InvalidSpec(f"relation.kind: {relation.kind!r} is not a metric and does not go inside one.", value=relation.kind)
    return relation


def inner_words(relation: Relation) -> str:
    """The sentence of a relation, to be put in brackets inside another one."""
    return relation.sentence().removesuffix(".")


# What says budgets, directly or by what is derived from them.
BUDGET_RULES = frozenset(
    {"along", "blocks", "budget_error", "components", "every_pair", "exact_budget", "largest_budget", "nearness", "rectangle"}
    | {"searched", "simple", "size"}
)
COMPARED = 4096  # exact budgets that are asked for in both directions


def _first_of_the_program(kind: type[Metric]) -> tuple[type, set[str]]:
    """The class of this program that a class of the caller's own is derived from, and all names that are defined on the way."""
    own = set[str]()
    for base in kind.__mro__:
        if issubclass(base, Relation) and not of_ones_own(base):
            return base, own
        own |= set(vars(base))
    raise AssertionError("every metric is derived from Metric")


def _one_way(field: str, i: int, j: int, there: object, back: object) -> InvalidProblem:
    return InvalidProblem(
        f"{field}: is not symmetric: d({i}, {j}) = {there} and d({j}, {i}) = {back}. Noise hides both "
        "directions alike; give both the smaller budget."
    )


METRIC = refer("metric")  # metrics hold metrics: the closed list defines it
METRICS = list_of(METRIC)


class Metric(Relation):
    """A relation in which one record changes from element i to element j, with budget d(i, j);
    all budgets finite unless said otherwise."""

    @property
    def common_domain(self) -> Domain | None:
        """The domain over whose attributes the metric is a sum of budgets, where it is one."""
        return None

    def rectangle(self, rows: slice, columns: slice) -> Floats:
        """Float budgets of `rows x columns`."""
        raise NotImplementedError

    def require_elements(self, elements: int, unlisted: Unlisted, of: str = "workload", field: str = "relation") -> None:
        super().require_elements(elements, unlisted, of, field)
        self.require_symmetric(field)

    def require_symmetric(self, field: str) -> None:
        """Refuse a metric of the caller's own whose budgets depend on the direction of a change.

        The scans look at each pair once, and noise tells both directions apart alike: the smaller budget would be broken.
        Float budgets are compared for all pairs, exact ones for `COMPARED` pairs spread over all. Metrics of this program are
        symmetric by construction, and a subclass of one may not give it other budgets: what is derived from them stays.
        """
        if not of_ones_own(type(self)):
            return
        given, own = _first_of_the_program(type(self))
        changed = sorted(own & BUDGET_RULES) if given is not Metric else []
        if changed:
            raise InvalidProblem(
                f"{field}: {type(self).__name__} changes {', '.join(changed)} of {given.__name__}, whose other rules would "
                "speak of other budgets; derive it from Metric.",
            )
        tolerance = 2 * self.budget_error + 2.0**-50
        for rows, columns in rectangles(self.size):
            there, back = (
                np.asarray(self.rectangle(rows, columns), dtype=np.float64),
                np.asarray(self.rectangle(columns, rows), dtype=np.float64).T,
            )
            with np.errstate(invalid="ignore"):
                alike = (there == back) | (np.abs(there - back) <= tolerance * np.minimum(there, back))
            if not alike.all():
                i, j = (int(k) for k in np.argwhere(~alike)[0])
                raise _one_way(field, rows.start + i, columns.start + j, float(there[i, j]), float(back[i, j]))
        pairs = all_pairs_of(self.size)
        for k in range(0, pairs, -(-pairs // COMPARED) if pairs else 1):
            # The pairs i < j are counted by j: pair k is the (k - j (j - 1) / 2)-th of its j.
            j = (1 + isqrt(8 * k + 1)) // 2
            i = k - all_pairs_of(j)
            exact_there, exact_back = self.exact_budget(i, j), self.exact_budget(j, i)
            if exact_there != exact_back:
                raise _one_way(field, i, j, exact_there, exact_back)

    @property
    def nearness(self) -> Nearness | None:
        """What bounds the budgets of all pairs between groups of elements; None where nothing is known."""
        return None

    @property
    def searched(self) -> Nearness | None:
        return self.nearness

    def along(self, left: Indices, right: Indices) -> Floats:
        near = self.nearness
        assert near is not None
        a, b = near.features[left].T, near.features[right].T
        return near.rule(np.abs(a - b), a, b)

    def blocks(self) -> Iterator[Block]:
        return Metric.every_pair(self)

    def every_pair(self) -> Iterator[Block]:
        for rows, columns in rectangles(self.size):
            budgets = np.array(self.rectangle(rows, columns), dtype=np.float64)
            # Only pairs i < j: the diagonal and the mirrored corner, both in the first columns, say nothing new.
            budgets[:, : len(budgets)][np.tri(len(budgets), dtype=bool)] = np.inf
            yield Block(np.arange(rows.start, rows.stop), np.arange(columns.start, columns.stop), budgets)

    def components(self) -> Indices:
        return np.zeros(self.size, dtype=np.intp)

    def entity_budget(self, rows: int) -> Fraction:
        return self._budget_of_rows(rows)

    def largest_budget(self) -> float:
        near = self.nearness
        searched = near is not None and near.many and near.apart and near.pairs == all_pairs_of(self.size)
        return near.farthest(self.along) if near is not None and searched else self._largest_listed()

    def _largest_listed(self) -> float:
        """The largest finite budget, from looking at every pair."""
        return super().largest_budget()

    def distances(self) -> Floats:
        """The N x N budgets as floats."""
        return np.array(self.rectangle(slice(0, self.size), slice(0, self.size)))

    def __add__(self, other: object) -> Metric:
        return sum_of(self, other) if isinstance(other, Metric) else NotImplemented

    def __mul__(self, factor: object) -> Metric:
        return scaled(factor, self) if isinstance(factor, (int, float)) else NotImplemented

    __rmul__ = __mul__


@dataclass(frozen=True)
class Uniform(Metric):
    """d(i, j) = epsilon for i != j: ordinary differential privacy for the replacement of one record.

    elements: N; epsilon: in nats.
    """

    elements: int
    epsilon: float
    kind = "uniform"
    schema = of_kind("relation", kind, {"elements": COUNT, "epsilon": POSITIVE})

    @property
    def size(self) -> int:
        return self.elements

    def rectangle(self, rows: slice, columns: slice) -> Floats:
        return np.where(np.arange(rows.start, rows.stop)[:, None] != np.arange(columns.start, columns.stop), self.epsilon, 0.0)

    @cached_property
    def nearness(self) -> Nearness:
        return without_features(self.elements, self.epsilon)

    @property
    def simple(self) -> SimpleBudgets:
        return SimpleBudgets(Fraction(self.epsilon))

    def largest_budget(self) -> float:
        return self.epsilon if self.elements > 1 else 0.0

    def exact_budget(self, left: int, right: int) -> Fraction:
        return Fraction(self.epsilon) * (left != right)

    def sentence(self) -> str:
        return f"Any one record may change to any other value, with budget {self.epsilon!r}."

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> Uniform:
        return uniform(spec["elements"], spec["epsilon"])


def uniform(n: int, epsilon: float) -> Uniform:
    """Set d(i, j) = epsilon for all i != j among n elements: ordinary epsilon-DP, replace one. Raises `InvalidProblem` for a
    number of elements below 1 and a budget that is not positive.

    Parameters
    ----------
    n : the number of elements.
    epsilon : the budget of each change, in nats.

    >>> uniform(3, epsilon=1.0).exact_budget(0, 2)
    Fraction(1, 1)
    """
    return Uniform(count(n, "n"), positive(epsilon, "epsilon"))


@dataclass(frozen=True, eq=False)
class Scaled(Metric):
    """d(i, j) = factor * part(i, j), factor positive."""

    factor: float
    part: Metric
    kind = "scaled"
    schema = of_kind("relation", kind, {"factor": POSITIVE, "part": METRIC})

    def __post_init__(self) -> None:
        require_metric(self.part, "metric.part")
        if not LEAST_FACTOR <= self.factor <= LARGEST_METRIC_FACTOR:
            raise InvalidProblem(
                f"metric.factor: {self.factor} is out of range; give {LEAST_FACTOR} to {LARGEST_METRIC_FACTOR}.",
                value=self.factor,
            )
        assign(self, budget_error=self.part.budget_error + 2.0**-52)

    @property
    def size(self) -> int:
        return self.part.size

    def rectangle(self, rows: slice, columns: slice) -> Floats:
        return self._times(self.part.rectangle(rows, columns))

    def _times(self, budgets: Floats) -> Floats:
        return clipped(clipped(budgets) * self.factor)

    @cached_property
    def nearness(self) -> Nearness | None:
        return scaled_rule(self.part.nearness, self.factor, self._times)

    @cached_property
    def searched(self) -> Nearness | None:
        return scaled_rule(self.part.searched, self.factor, self._times)

    def along(self, left: Indices, right: Indices) -> Floats:
        return self._times(self.part.along(left, right))

    def blocks(self) -> Iterator[Block]:
        for block in self.part.blocks():
            yield Block(block.left, block.right, self._times(block.budgets))

    @property
    def common_domain(self) -> Domain | None:
        return self.part.common_domain

    def components(self) -> Indices:
        return self.part.components()

    def largest_budget(self) -> float:
        return last_float_above(Fraction(self.part.largest_budget()) * Fraction(self.factor))

    def exact_budget(self, left: int, right: int) -> Fraction | None:
        budget = self.part.exact_budget(left, right)
        return None if budget is None else budget * Fraction(self.factor)

    def sentence(self) -> str:
        return f"Any one record may change with {self.factor!r} times the budget of this rule: {inner_words(self.part)}."

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> Scaled:
        return cls(positive(spec["factor"], "metric.factor"), metric_from_spec(spec["part"], read))


@dataclass(frozen=True, eq=False)
class Combination(Metric):
    """Several metrics on one universe, of_parts pair by pair; infinite as soon as one of them is."""

    parts: tuple[Metric, ...]
    what: ClassVar[str]

    def __post_init__(self) -> None:
        assign(self, parts=require_metrics(self.parts, "metric.parts"))
        worst = max(part.budget_error for part in self.parts)
        assign(self, budget_error=worst + (len(self.parts) + 4) * 2.0**-52)

    @staticmethod
    @abstractmethod
    def floats(budgets: Sequence[Floats]) -> Floats:
        """The combination of float budgets, entry by entry; homogeneous: multiples combine to the multiple.

        Float budgets of each metric, all of one shape (...,); the result has it too.
        """

    @staticmethod
    @abstractmethod
    def exact(budgets: Sequence[Fraction]) -> Fraction:
        """The combination of rational budgets, rounded down where it is irrational."""

    @property
    def size(self) -> int:
        return self.parts[0].size

    def rectangle(self, rows: slice, columns: slice) -> Floats:
        return self._of([part.rectangle(rows, columns) for part in self.parts])

    def _of(self, budgets: Sequence[Floats]) -> Floats:
        return clipped(self.floats([clipped(part) for part in budgets]))

    @cached_property
    def nearness(self) -> Nearness | None:
        return of_parts([part.nearness for part in self.parts], self._of)

    @property
    def searched(self) -> Nearness | None:
        shared = self._shared()
        if shared is None:
            return self.nearness
        factors, base = shared
        return of_parts([base.searched], lambda parts: self._of([parts[0] * factor for factor in factors]))

    def along(self, left: Indices, right: Indices) -> Floats:
        return self._of([part.along(left, right) for part in self.parts])

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
        """The metric that every part is a multiple of, with the multiples, where there is one: of_parts,
        they are a multiple of it too."""
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
        return super().largest_budget()

    def _largest_listed(self) -> float:
        listed = (block.budgets for block in self.every_pair())
        return max((float(budgets[np.isfinite(budgets)].max(initial=0.0)) for budgets in listed), default=0.0)

    def sentence(self) -> str:
        listed = "; ".join(f"({i + 1}) {inner_words(part)}" for i, part in enumerate(self.parts))
        return f"Any one record may change with {self.what} the budgets of these rules: {listed}."

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> Self:
        return cls(tuple(metric_from_spec(part, read) for part in spec["parts"]))


@dataclass(frozen=True, eq=False)
class SumOfMetrics(Combination):
    """d = d_1 + d_2 + ...: what several pure releases promise together (DX Fact 1)."""

    kind = "sum"
    schema = of_kind("relation", kind, {"parts": METRICS})
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
    def searched(self) -> Nearness | None:
        return super().searched if self.common_domain is None else None

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
        return last_float_above(sum((Fraction(float(table[np.isfinite(table)].max())) for table in tables), Fraction(0)))

    def _on_first_line(self, lines: Indices) -> Floats:
        """Budgets between the values of an attribute; they do not depend on the other attributes."""
        at = lines[:, 0]
        rows = [self.rectangle(slice(i, i + 1), slice(0, self.size))[0, at] for i in at.tolist()]
        return np.array(rows)


def sum_of(*parts: Metric) -> SumOfMetrics:
    """Take the sum of metrics, also written `a + b`; sums within are opened.

    parts: metrics on the same N elements.

    >>> from designer import metrics
    >>> (metrics.uniform(3, 0.5) + metrics.per_element([1, 2, 3])).exact_budget(0, 1)
    Fraction(7, 2)
    """
    return SumOfMetrics(_opened(SumOfMetrics, parts))


def scaled(factor: float, part: Metric) -> Scaled:
    """Multiply budgets: `factor * part`, also written that way.

    Parameters
    ----------
    factor : above 0.
    part : the metric.
    """
    return Scaled(positive(factor, "metric.factor"), require_metric(part, "metric.part"))


def _opened(kind: type[Combination], parts: Sequence[Metric]) -> tuple[Metric, ...]:
    """The parts, with combinations of the same kind replaced by their parts."""
    return tuple(inner for part in parts for inner in (part.parts if type(part) is kind else (part,)))


def _multiple(metric: Metric) -> tuple[float, Metric]:
    """A metric as a factor times a metric that is not a multiple itself."""
    return (metric.factor, metric.part) if isinstance(metric, Scaled) and not isinstance(metric.part, Scaled) else (1.0, metric)

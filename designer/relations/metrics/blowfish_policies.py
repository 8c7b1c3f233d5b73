"""Blowfish policies (DX section 4.4): the pairs of values that must not be told apart, closed to hop distances;
and the smooth threshold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from designer.base.arrays import Floats
from designer.base.checks import assign, positive
from designer.base.errors import InvalidProblem
from designer.base.schema import POSITIVE, of_kind
from designer.limits import LARGEST_METRIC_BUDGET
from designer.problem.budget_bounds import Nearness, of_parts
from designer.problem.domain import Domain
from designer.problem.relation import BLOCK_PAIRS, Block, Indices, Read, Relation, rectangles
from designer.relations.metrics.attributes import Hamming, hamming
from designer.relations.metrics.element_budgets import Partition, partition
from designer.relations.metrics.graphs import Graph, LongestPath, csr_edges, graph, is_network, longest_path
from designer.relations.metrics.metric import (
    LEAST_BUDGET,
    METRIC,
    Metric,
    Uniform,
    clipped,
    inner_words,
    metric_from_spec,
    require_metric,
    uniform,
)
from designer.relations.metrics.points import euclidean

THRESHOLD = {"ground": METRIC, "threshold": POSITIVE, "epsilon": POSITIVE}


@dataclass(frozen=True, eq=False)
class Threshold(Metric):
    """d(i, j) = epsilon * hops from i to j, in the graph that joins elements at most `threshold` apart in `ground`.

    Joined elements imply all others. Whether a pair is joined is decided exactly; an irrational distance is rounded down for
    it, by less than 2^-79 of itself, which can only protect more.
    """

    ground: Metric
    threshold: float
    epsilon: float
    kind = "blowfish"
    schema = of_kind("relation", kind, THRESHOLD, "Hops of at most the threshold, times epsilon.")

    def __post_init__(self) -> None:
        require_metric(self.ground, "metric.ground")
        _require_range(self.threshold, self.epsilon)
        assign(self, budget_error=2.0**-52)

    @property
    def size(self) -> int:
        return self.ground.size

    @cached_property
    def joined(self) -> Indices:
        """The pairs i < j at most `threshold` apart, (E, 2), in rising order."""
        near = self.ground.nearness
        if near is not None and near.many:
            return self._joined_near(near)
        found = []
        for rows, columns in rectangles(self.size):
            near, close = within(self.ground, rows, columns, self.threshold)
            near[close] = [
                self._is_near(rows.start + int(i), columns.start + int(j)) for i, j in zip(*np.nonzero(close), strict=True)
            ]
            pairs = np.argwhere(near) + np.array([rows.start, columns.start])
            found.append(pairs[pairs[:, 0] < pairs[:, 1]])
        return np.concatenate(found).astype(np.intp)

    def _joined_near(self, near: Nearness) -> Indices:
        """The same by a walk down groups of elements, those apart by more than the threshold never opened."""
        found = [np.empty((0, 2), dtype=np.intp)]
        slack = self.threshold * (self.ground.budget_error + 2.0**-50)
        for left, right in near.within(self.threshold + slack):
            distances = self.ground.along(left, right)
            joined = distances <= self.threshold
            close = np.flatnonzero(np.abs(distances - self.threshold) <= slack)
            joined[close] = [self._is_near(int(left[m]), int(right[m])) for m in close]
            found.append(np.stack([left[joined], right[joined]], axis=1))
        return np.asarray(np.unique(np.concatenate(found), axis=0), dtype=np.intp)

    def _is_near(self, left: int, right: int) -> bool:
        distance = self.ground.exact_budget(left, right)
        return distance is not None and distance <= Fraction(self.threshold)

    @cached_property
    def _adjacency(self) -> Any:
        from scipy.sparse import csr_array

        left, right = np.concatenate([self.joined, self.joined[:, ::-1]]).T
        return csr_array((np.ones(len(left), dtype=np.float32), (left, right)), shape=(self.size, self.size))

    def hops(self, rows: slice) -> Indices:
        """Fewest steps from each of `rows` to every element, shape (rows, N); -1 where there is no way."""
        wave = np.zeros((self.size, rows.stop - rows.start), dtype=np.float32)
        wave[np.arange(rows.start, rows.stop), np.arange(wave.shape[1])] = 1
        steps = np.where(wave > 0, 0, -1)
        reached = 0
        while wave.any():
            reached += 1
            wave = ((self._adjacency @ wave > 0) & (steps < 0)).astype(np.float32)
            steps[wave > 0] = reached
        return np.asarray(steps.T, dtype=np.intp)

    def rectangle(self, rows: slice, columns: slice) -> Floats:
        steps = self.hops(rows)[:, columns]
        return np.where(steps < 0, np.inf, steps * self.epsilon)

    def blocks(self) -> Iterator[Block]:
        for start in range(0, len(self.joined), BLOCK_PAIRS):
            left, right = self.joined[start : start + BLOCK_PAIRS].T
            yield Block(left, right, np.full(len(left), self.epsilon))

    def components(self) -> Indices:
        return Relation.components(self)

    @cached_property
    def _longest(self) -> LongestPath:
        left, right = self.joined.T
        return longest_path(csr_edges(left, right, np.ones(len(left)), self.size), self.components())

    def largest_budget(self) -> float:
        """In very large universes whose elements are much alike a bound, as the sentence says."""
        return round(self._longest.stated) * self.epsilon

    def exact_budget(self, left: int, right: int) -> Fraction | None:
        steps = 1 if self._is_near(left, right) and left != right else int(self.hops(slice(left, left + 1))[0, right])
        return None if steps < 0 else steps * Fraction(self.epsilon)

    def sentence(self) -> str:
        return (
            f"Any one record may change between elements at most {self.threshold!r} apart with budget {self.epsilon!r}, and "
            "further with that budget for each such step on the way; elements that no steps join are not protected from "
            f"each other.{self._longest.words} Apart means the budget of: {inner_words(self.ground)}."
        )

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> Threshold:
        return blowfish(metric_from_spec(spec["ground"], read), spec["threshold"], spec["epsilon"])


@dataclass(frozen=True, eq=False)
class SmoothThreshold(Metric):
    """d(i, j) = epsilon * max(1, ground(i, j) / threshold) for i != j (DX section 4.4): a maximum of two metrics, hence one."""

    ground: Metric
    threshold: float
    epsilon: float
    kind = "smooth_threshold"
    schema = of_kind("relation", kind, THRESHOLD, "epsilon max(1, ground / threshold).")

    def __post_init__(self) -> None:
        require_metric(self.ground, "metric.ground")
        _require_range(self.threshold, self.epsilon)
        assign(self, budget_error=self.ground.budget_error + 2.0**-50)

    @property
    def size(self) -> int:
        return self.ground.size

    def rectangle(self, rows: slice, columns: slice) -> Floats:
        budgets = self._smoothed(self.ground.rectangle(rows, columns))
        same = np.arange(rows.start, rows.stop)[:, None] == np.arange(columns.start, columns.stop)
        return np.where(same, 0.0, budgets)

    def _smoothed(self, distances: Floats) -> Floats:
        return clipped(np.maximum(clipped(distances) / self.threshold, 1.0) * self.epsilon)

    @cached_property
    def nearness(self) -> Nearness | None:
        return of_parts([self.ground.nearness], lambda parts: self._smoothed(parts[0]))

    def along(self, left: Indices, right: Indices) -> Floats:
        return self._smoothed(self.ground.along(left, right))

    def components(self) -> Indices:
        return self.ground.components()

    def largest_budget(self) -> float:
        together = self.size > len(np.unique(self.components()))
        return max(self.epsilon, self.ground.largest_budget() / self.threshold * self.epsilon) if together else 0.0

    def exact_budget(self, left: int, right: int) -> Fraction | None:
        distance = self.ground.exact_budget(left, right)
        if distance is None or left == right:
            return None if distance is None else Fraction(0)
        return Fraction(self.epsilon) * max(Fraction(1), distance / Fraction(self.threshold))

    def sentence(self) -> str:
        return (
            f"Any one record may change to any other value, with budget {self.epsilon!r} up to a distance of "
            f"{self.threshold!r} and in proportion to the distance beyond. Distance means the budget of: "
            f"{inner_words(self.ground)}."
        )

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> SmoothThreshold:
        return smooth_threshold(metric_from_spec(spec["ground"], read), spec["threshold"], spec["epsilon"])


def blowfish(points: object, threshold: float, epsilon: float, *, elements: Any = None) -> Threshold:
    """Follow the distance-threshold policy: points at most `threshold` apart have budget `epsilon`, others epsilon for each
    step on the way. Raises `InvalidProblem` for either that is not positive.

    Parameters
    ----------
    points
        coordinates (N, dimensions), compared by their straight distance, or any metric, whose budgets are the distances. Or
        a networkx graph, whose shortest paths are.
    threshold : in the unit of the distances.
    epsilon : in nats.
    elements : of a graph, as for `graph`.

    >>> blowfish([0.0, 1.0, 2.5, 9.0], 1.5, 0.5).exact_budget(0, 2)
    Fraction(1, 1)
    """
    return Threshold(_ground(points, elements), positive(threshold, "metric.threshold"), positive(epsilon, "metric.epsilon"))


def smooth_threshold(points: object, threshold: float, epsilon: float, *, elements: Any = None) -> SmoothThreshold:
    """Set d(i, j) = epsilon where points are at most `threshold` apart, epsilon * distance / threshold beyond. Raises
    `InvalidProblem` for a threshold or a budget that is not positive.

    Parameters
    ----------
    points, threshold, epsilon, elements : as for `blowfish`.

    >>> smooth_threshold([0.0, 1.0, 6.0], 2, 1.0).exact_budget(0, 2)
    Fraction(3, 1)
    """
    return SmoothThreshold(
        _ground(points, elements), positive(threshold, "metric.threshold"), positive(epsilon, "metric.epsilon")
    )


def blowfish_full_domain(n: int, epsilon: float) -> Uniform:
    """Follow the full-domain policy: any two elements are a secret. Ordinary differential privacy; raises as `uniform`.

    Parameters
    ----------
    n, epsilon : as for `uniform`.

    >>> blowfish_full_domain(4, 0.5).exact_budget(0, 3)
    Fraction(1, 2)
    """
    return uniform(n, epsilon)


def blowfish_attribute(domain: Domain, epsilon: float) -> Hamming:
    """Follow the attribute policy: elements that differ in one attribute are a secret; hops count the attributes that differ.
    Raises `InvalidProblem` as `hamming` does.

    Parameters
    ----------
    domain : the attributes and their values.
    epsilon : in nats, for each attribute.

    >>> blowfish_attribute(Domain.of({"sex": 2, "age": 3}), 0.5).exact_budget(0, 5)
    Fraction(1, 1)
    """
    return hamming(domain, dict.fromkeys(domain.attributes, epsilon) if isinstance(domain, Domain) else [epsilon])


def blowfish_partition(labels: Sequence[object], epsilon: float) -> Partition:
    """Follow the partitioned policy: elements with the same label are a secret, labels are public. Raises as `partition`.

    Parameters
    ----------
    labels, epsilon : as for `partition`.

    >>> blowfish_partition(["north", "south", "north"], 0.5).exact_budget(0, 2)
    Fraction(1, 2)
    """
    return partition(labels, epsilon)


def blowfish_graph(secrets: Any, epsilon: float, nodes: int | None = None, *, elements: Any = None) -> Graph:
    """Protect an arbitrary secret graph: its edges are the secrets, whatever their weights. Raises as `graph`.

    Parameters
    ----------
    secrets : the edges, as for `graph`.
    epsilon : in nats, for each edge on the way.
    nodes, elements : as for `graph`.

    >>> blowfish_graph([(0, 1), (1, 2)], 0.5).exact_budget(0, 2)
    Fraction(1, 1)
    """
    drawn = graph(secrets, nodes=nodes, elements=elements)
    return replace(graph(drawn.edges, per_edge=epsilon, nodes=drawn.nodes), matched=drawn.matched)


def within(ground: Metric, rows: slice, columns: slice, threshold: float) -> tuple[Any, Any]:
    """Pairs that floats place within the threshold, and pairs too close to it for floats to tell, as masks."""
    distances = ground.rectangle(rows, columns)
    slack = threshold * (ground.budget_error + 2.0**-50)
    return distances <= threshold, np.abs(distances - threshold) <= slack


def _ground(points: object, elements: Any) -> Metric:
    """The metric whose budgets are the distances."""
    if is_network(points):
        return graph(points, elements=elements)
    if elements is not None:
        raise InvalidProblem("metric.elements: names the nodes of a graph; coordinates and metrics are in the elements' order.")
    return points if isinstance(points, Metric) else euclidean(points)


def _require_range(threshold: float, epsilon: float) -> None:
    """Thresholds and budgets that floats divide and multiply without loss."""
    for name, value in (("threshold", threshold), ("epsilon", epsilon)):
        if not LEAST_BUDGET**0.5 <= value <= LARGEST_METRIC_BUDGET**0.5:
            raise InvalidProblem(f"metric.{name}: {value} is out of range; choose units between 1e-100 and 1e100.", value=value)

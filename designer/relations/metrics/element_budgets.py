"""Metrics made of budgets by element: sums and minima of two elements' own budgets, and parts of a partition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from designer.base.arrays import Floats, real_array
from designer.base.checks import positive
from designer.base.errors import InvalidProblem
from designer.base.labels import listed_label
from designer.base.schema import BOOLEAN, BUDGETS, POSITIVE, list_of, of_kind, text
from designer.limits import LARGEST_METRIC_BUDGET
from designer.problem.budget_bounds import Nearness, all_pairs_of
from designer.problem.relation import BLOCK_PAIRS, Block, Indices, Read
from designer.relations.metrics.metric import LEAST_BUDGET, Metric, relabelled

UNPROTECTED = 1e250  # in the place of infinity, whose difference from itself is no number


@dataclass(frozen=True, eq=False)
class PerElement(Metric):
    """d(i, j) = epsilon_i + epsilon_j for i != j (DX section 5); an infinite epsilon leaves its element unprotected.

    No pair is implied by two others: a detour through k costs 2 epsilon_k more. epsilons: (N,), in nats.
    """

    epsilons: Floats
    kind = "per_element"
    schema = of_kind("relation", kind, {"epsilons": BUDGETS}, "d(i, j) = epsilons[i] + epsilons[j].")
    budget_error = 2.0**-52

    @property
    def size(self) -> int:
        return len(self.epsilons)

    def rectangle(self, rows: slice, columns: slice) -> Floats:
        return _off_diagonal(self.epsilons[rows, None] + self.epsilons[None, columns], rows, columns)

    @cached_property
    def nearness(self) -> Nearness:
        protected = int(np.isfinite(self.epsilons).sum())
        own = np.minimum(self.epsilons, UNPROTECTED)[:, None]
        return Nearness(own, lambda gaps, a, b: _infinite(a[0] + b[0]), np.ones(1), all_pairs_of(protected), False)

    def components(self) -> Indices:
        return relabelled(np.where(np.isinf(self.epsilons), np.arange(self.size), self.size))

    def largest_budget(self) -> float:
        finite = np.sort(self.epsilons[np.isfinite(self.epsilons)])
        return float(finite[-2:].sum()) if len(finite) > 1 else 0.0

    def exact_budget(self, left: int, right: int) -> Fraction | None:
        if left == right:
            return Fraction(0)
        pair = float(self.epsilons[left]), float(self.epsilons[right])
        return None if np.inf in pair else Fraction(pair[0]) + Fraction(pair[1])

    def sentence(self) -> str:
        low, high = float(self.epsilons.min()), float(self.epsilons.max())
        return (
            "Any one record may change to any other value, with the sum of the two elements' own budgets, "
            f"which run from {low!r} to {high!r}."
        )

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> PerElement:
        return per_element(spec["epsilons"])


@dataclass(frozen=True, eq=False)
class Instance(Metric):
    """d(i, j) = min(epsilon_i, epsilon_j) for i != j; with `closure`, that and never more than twice the smallest epsilon.

    Every budget is at least the smallest epsilon, so a path of two steps costs at least twice that, and costs it through the
    element that has it: the shortest-path closure is `min(epsilon_i, epsilon_j, 2 min_k epsilon_k)`. Without it the triangle
    inequality holds exactly when the second largest epsilon is at most twice the smallest (docs/theory/metrics.md, 2).
    """

    epsilons: Floats
    closure: bool = False
    kind = "instance"
    schema = of_kind(
        "relation",
        kind,
        {"epsilons": BUDGETS, "closure": BOOLEAN},
        "d(i, j) = min(epsilons[i], epsilons[j]), and at most twice the smallest with closure.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        broken = None if self.closure else broken_minimum(self.epsilons)
        if broken is not None:
            raise InvalidProblem(f"metric.epsilons: {broken_words(self.epsilons, broken, str)}")

    @property
    def size(self) -> int:
        return len(self.epsilons)

    @property
    def cap(self) -> float:
        """What no budget exceeds."""
        return 2 * float(self.epsilons.min()) if self.closure else np.inf

    def rectangle(self, rows: slice, columns: slice) -> Floats:
        least = np.minimum(self.epsilons[rows, None], self.epsilons[None, columns])
        return _off_diagonal(np.minimum(least, self.cap), rows, columns)

    @cached_property
    def nearness(self) -> Nearness:
        unprotected = int(np.isinf(self.epsilons).sum()) if np.isinf(self.cap) else 0
        return Nearness(
            np.minimum(self.epsilons, UNPROTECTED)[:, None],
            lambda gaps, a, b: _infinite(np.minimum(np.minimum(a[0], b[0]), self.cap)),
            np.ones(1),
            all_pairs_of(self.size) - all_pairs_of(unprotected),
            False,
        )

    @property
    def searched(self) -> Nearness:
        """Of all pairs, of which those are not listed that the least budget implies twice."""
        others = np.sort(self.epsilons)[1:]
        low = int(np.searchsorted(others, 2 * float(self.epsilons.min())))
        within = all_pairs_of(len(others)) - all_pairs_of(len(others) - low)
        return replace(self.nearness, pairs=within + len(others))

    def blocks(self) -> Iterator[Block]:
        order = np.argsort(self.epsilons, kind="stable").astype(np.intp)
        first, others = order[0], order[1:]
        least = float(self.epsilons[first])
        yield Block(np.full(len(others), first), others, np.full(len(others), least))
        # Two elements that both ask for twice the smallest epsilon or more are implied by the way through the first.
        own = self.epsilons[others]
        low = int(np.searchsorted(own, 2 * least))
        for start, stop in _chunks(low, len(others)):
            left, right = np.arange(start, stop), np.arange(start, len(others))
            budgets = np.where(left[:, None] < right, own[start:stop, None], np.inf)
            yield Block(others[start:stop], others[start:], np.array(budgets))

    def components(self) -> Indices:
        return np.arange(self.size) if np.isinf(self.epsilons).all() else np.zeros(self.size, dtype=np.intp)

    def largest_budget(self) -> float:
        ordered = np.sort(self.epsilons)
        largest = min(float(ordered[-2]), self.cap) if self.size > 1 else 0.0
        return largest if np.isfinite(largest) else 0.0

    def exact_budget(self, left: int, right: int) -> Fraction | None:
        budget = 0.0 if left == right else min(float(self.epsilons[left]), float(self.epsilons[right]), self.cap)
        return None if np.isinf(budget) else Fraction(budget)

    def sentence(self) -> str:
        low, high = float(self.epsilons.min()), float(self.epsilons.max())
        closed = f", but never more than {self.cap!r} (the shortest-path closure)" if self.closure else ""
        return (
            "Any one record may change to any other value, with the smaller of the two elements' own "
            f"budgets, which run from {low!r} to {high!r}{closed}."
        )

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> Instance:
        return instance(spec["epsilons"], closure=spec["closure"])


@dataclass(frozen=True)
class Partition(Metric):
    """d(i, j) = epsilon within a part, infinite between parts: the partitioned secrets of a Blowfish policy.

    labels: (N,) texts, the part of each element.
    """

    labels: tuple[str, ...]
    epsilon: float
    kind = "partition"
    schema = of_kind("relation", kind, {"labels": list_of(text()), "epsilon": POSITIVE})

    @property
    def size(self) -> int:
        return len(self.labels)

    def components(self) -> Indices:
        return np.asarray(np.unique(np.array(self.labels), return_inverse=True)[1], dtype=np.intp)

    def rectangle(self, rows: slice, columns: slice) -> Floats:
        part = self.components()
        return _off_diagonal(np.where(part[rows, None] == part[None, columns], self.epsilon, np.inf), rows, columns)

    @cached_property
    def nearness(self) -> Nearness:
        part = self.components()
        listed = sum(map(all_pairs_of, np.bincount(part).tolist()))
        return Nearness(
            part[:, None].astype(np.float64),
            lambda gaps, a, b: np.where(gaps[0] > 0, np.inf, self.epsilon),
            np.array([LARGEST_METRIC_BUDGET]),
            listed,
            False,
        )

    def largest_budget(self) -> float:
        return self.epsilon if len(set(self.labels)) < self.size else 0.0

    def blocks(self) -> Iterator[Block]:
        part = self.components()
        order = np.argsort(part, kind="stable").astype(np.intp)
        for members in np.split(order, np.flatnonzero(np.diff(part[order])) + 1):
            for start, stop in _chunks(len(members) - 1, len(members)):
                upper = np.arange(start, stop)[:, None] < np.arange(start, len(members))
                yield Block(members[start:stop], members[start:], np.where(upper, self.epsilon, np.inf))

    def exact_budget(self, left: int, right: int) -> Fraction | None:
        if left == right:
            return Fraction(0)
        return Fraction(self.epsilon) if self.labels[left] == self.labels[right] else None

    def sentence(self) -> str:
        return (
            f"Any one record may change to any other value of the same part, with budget {self.epsilon!r}; "
            f"there are {len(set(self.labels))} parts, and which part a record is in is not protected."
        )

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> Partition:
        return partition(spec["labels"], spec["epsilon"])


def per_element(epsilons: object) -> PerElement:
    """Set d(i, j) = epsilons[i] + epsilons[j] for i != j (DX section 5): lower budgets for the more sensitive elements.

    epsilons: (N,), in nats. Raises `InvalidProblem` for budgets that are not positive.

    >>> per_element([1.0, 0.5, 0.25]).exact_budget(0, 2)
    Fraction(5, 4)
    """
    return PerElement(own_budgets(epsilons, "metric.epsilons"))


def instance(epsilons: object, *, closure: bool = False) -> Instance:
    """Set d(i, j) = min(epsilons[i], epsilons[j]) for i != j, where that is a metric.

    It is one when the second largest budget is at most twice the smallest; the refusal names three elements that break the
    triangle inequality.

    Parameters
    ----------
    epsilons : (N,), a positive budget for each element, infinite where it is unprotected.
    closure : accept the shortest-path closure where the budgets break the triangle inequality.

    >>> instance([1.0, 2.0, 9.0]).exact_budget(1, 2)
    Fraction(2, 1)
    >>> instance([1.0, 3.0, 9.0])
    Traceback (most recent call last):
        ...
    designer.base.errors.InvalidProblem: metric.epsilons: breaks the triangle inequality: min(epsilon_1, epsilon_2) = 3.0 is more than min(epsilon_1, epsilon_0) + min(epsilon_0, epsilon_2) = 2.0. Pass closure=True to accept the shortest-path closure, or raise epsilon_0 to 1.5.
    """  # noqa: E501
    if not isinstance(closure, bool):
        raise InvalidProblem(
            f"metric.closure: {closure!r} is neither True nor False; say whether the closure is accepted.", value=closure
        )
    return Instance(own_budgets(epsilons, "metric.epsilons"), closure)


def partition(labels: Sequence[object], epsilon: float) -> Partition:
    """Set d(i, j) = epsilon where `labels[i] == labels[j]`, infinite elsewhere: a record's part is public, its place in the
    part protected. Raises `InvalidProblem` for no labels, and a budget that is not positive.

    Parameters
    ----------
    labels : one for each element, (N,).
    epsilon : in nats.

    >>> partition(["north", "south", "north"], 1.0).exact_budget(0, 1) is None
    True
    """
    listed = () if isinstance(labels, (str, bytes)) or not isinstance(labels, (Sequence, np.ndarray)) else tuple(labels)
    if not listed:
        raise InvalidProblem(f"metric.labels: {labels!r} lists no parts; give the label of each element's part.", value=labels)
    return Partition(tuple(map(listed_label, listed)), positive(epsilon, "metric.epsilon"))


def own_budgets(epsilons: object, field: str) -> Floats:
    """One positive budget for each element, infinite where it is unprotected,
    within the range in which float sums are accurate."""
    array = real_array(epsilons, field, 1, allow_inf=True)
    within = (array > 0) & (((array >= LEAST_BUDGET) & (array <= LARGEST_METRIC_BUDGET)) | np.isinf(array))
    for i in np.flatnonzero(~within).tolist():
        epsilon = positive(array[i], f"{field}[{i}]", allow_inf=True)
        if not (LEAST_BUDGET <= epsilon <= LARGEST_METRIC_BUDGET or np.isinf(epsilon)):
            raise InvalidProblem(
                f"{field}[{i}]: {epsilon} is out of range; give {LEAST_BUDGET} to {LARGEST_METRIC_BUDGET}, or infinity.",
                value=epsilon,
            )
    return array


def broken_minimum(epsilons: Floats) -> tuple[int, int, int] | None:
    """Elements i, j, k with `min(e_i, e_j) > min(e_i, e_k) + min(e_k, e_j)`, the worst such triple;
    None where there is none."""
    if len(epsilons) < 3:
        return None
    order = np.argsort(epsilons, kind="stable")
    i, j, k = int(order[-2]), int(order[-1]), int(order[0])
    return (i, j, k) if epsilons[i] > 2 * epsilons[k] else None


def broken_words(epsilons: Floats, triple: tuple[int, int, int], name: Callable[[int], str]) -> str:
    """The counter-example to the triangle inequality in `min(epsilon_i, epsilon_j)`, epsilons (N,), and what to do about it."""
    i, j, k = map(name, triple)
    least, detour = float(min(epsilons[triple[0]], epsilons[triple[1]])), 2 * float(epsilons[triple[2]])
    return (
        f"breaks the triangle inequality: min(epsilon_{i}, epsilon_{j}) = {least!r} is more than min(epsilon_{i}, "
        f"epsilon_{k}) + min(epsilon_{k}, epsilon_{j}) = {detour!r}. Pass closure=True to accept the shortest-path closure"
        + (f", or raise epsilon_{k} to {least / 2!r}." if np.isfinite(least) else ".")
    )


def _infinite(budgets: Floats) -> Floats:
    """Budgets in which `UNPROTECTED` stands for infinity."""
    return np.where(budgets >= UNPROTECTED, np.inf, budgets)


def _off_diagonal(budgets: Floats, rows: slice, columns: slice) -> Floats:
    """`budgets` with 0 where row and column are the same element."""
    same = np.arange(rows.start, rows.stop)[:, None] == np.arange(columns.start, columns.stop)
    return np.where(same, 0.0, budgets)


def _chunks(rows: int, columns: int) -> Iterator[tuple[int, int]]:
    """Ranges of rows whose rectangles hold about `BLOCK_PAIRS` pairs."""
    step = max(1, BLOCK_PAIRS // max(1, columns))
    return ((start, min(rows, start + step)) for start in range(0, rows, step))

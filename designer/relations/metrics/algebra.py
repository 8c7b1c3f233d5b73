"""Metrics made of metrics on one universe: sums, positive multiples, maxima, roots of sums of squares, and restrictions.

Each is a metric again (docs/theory/metrics.md, 3). Implied pairs are dropped where that is safe: multiples of one metric share
its blocks, and sums over attributes of one domain need single-attribute changes only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from designer.base.arrays import Floats, frozen, real_array
from designer.base.checks import assign, count
from designer.base.errors import InvalidProblem
from designer.base.progress import track
from designer.base.schema import BOOLEAN, BUDGET, POSITIONS, list_of, of_kind
from designer.problem.budget_bounds import Nearness, all_pairs_of
from designer.problem.relation import Block, Indices, Read, Relation, rectangles
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

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> Restricted:
        return restriction(metric_from_spec(spec["part"], read), spec["elements"])


def maximum(*parts: Metric) -> Maximum:
    """Take the maximum of metrics: protect a pair no better than the weakest rule asks.

    Raises `InvalidProblem` for parts that are no metrics, or on different numbers of elements.

    parts: metrics on the same N elements.

    >>> from designer import metrics
    >>> maximum(metrics.uniform(2, 1.0), metrics.line([0, 3], period=1, epsilon=0.5)).exact_budget(0, 1)
    Fraction(3, 2)
    """
    return Maximum(_opened(Maximum, parts))


def root_sum_squares(*parts: Metric) -> RootSumSquares:
    """Take the root of the sum of squares of metrics: the gaussian counterpart of their sum.

    Raises `InvalidProblem` for parts that are no metrics, or on different numbers of elements.

    parts: metrics on the same N elements.

    >>> from designer import metrics
    >>> root_sum_squares(metrics.uniform(2, 3.0), metrics.uniform(2, 4.0)).exact_budget(0, 1)
    Fraction(5, 1)
    """
    return RootSumSquares(_opened(RootSumSquares, parts))


def restriction(part: Metric, elements: Iterable[int]) -> Restricted:
    """Keep `part` between some elements only: for the leaves of a taxonomy, say. Raises `InvalidProblem` for numbers of
    elements that there are not.

    Parameters
    ----------
    part : the metric.
    elements : numbers of elements from 0, in the order of the result.

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


# Whether float budgets were clipped on the way to those of a metric made of others.


LEAST_MIDRANGE = 1e-100  # from here to its inverse: no factor, and no sum, takes a budget out of the range


def unclipped(metric: Relation) -> bool:
    """Whether no float budget was clipped on the way to those of `metric`, so that all are within its `budget_error`.

    True when the positive finite budgets of every metric inside lie between 1e-100 and 1e100: factors within 1e-90 and 1e90,
    sums, maxima and roots of sums of squares of those stay within the range that is kept.
    By induction from the innermost metrics, which clip nothing.
    """
    return all(unclipped(part) and _in_midrange(part) for part in metric.inner())


def _in_midrange(part: Relation) -> bool:
    if not isinstance(part, Metric):
        return False
    for rows, columns in rectangles(part.size):
        budgets = part.rectangle(rows, columns)
        told = budgets[np.isfinite(budgets) & (budgets > 0)]
        if told.size and not LEAST_MIDRANGE <= told.min() <= told.max() <= 1 / LEAST_MIDRANGE:
            return False
    return True


# The triangle inequality of a matrix of budgets: checked, repaired by shortest paths, and used to drop implied pairs.
#
# Why a closure promises no more: docs/theory/metrics.md, section 1.


# Distances computed in floating point miss the inequality by a few units in the last place;
# every pair is certified by itself anyway.
ROUNDING = 1e-9

# Above this many points the O(N^3) search for implied pairs costs more than it saves: 3 s at N = 741.
IMPLIED_LIMIT = 400


# Rows that are compared at once, of a matrix whose rows are looked at two by two from this many points on.
ROWS, PAIRWISE = 64, 256
HIDDEN = 1e-13  # a detour that is shorter by less is one of rounding; a thousand of them are still below `ROUNDING`


def detours(d: Floats, beyond: float) -> list[int]:
    """The points, in order, through which some way may be shorter than the direct one by more than a part `beyond` of a leg.

    `d(i, j) > d(i, k) + d(k, j)` for some j is `max_j |d(i, j) - d(k, j)| > d(i, k)`, here or with i and k exchanged: one
    comparison of two rows for all j, in compiled code, half of all pairs of rows.
    d: (N, N), symmetric.
    """
    if len(d) < PAIRWISE:
        return list(range(len(d)))
    from scipy.spatial.distance import cdist

    finite = np.isfinite(d)
    far = 4 * float(d[finite].max(initial=1.0))
    rows, found = np.where(finite, d, far), np.zeros(len(d), dtype=bool)
    for start in track(range(0, len(d), ROWS), "checking the triangle inequality"):
        here = slice(start, start + ROWS)
        farthest = cdist(rows[here], rows[start:], "chebyshev")
        i, k = np.nonzero((farthest > d[here, start:] * (1 + beyond)) & finite[here, start:])
        found[start + i] = found[start + k] = True
    return np.flatnonzero(found).tolist()


def require_triangle_inequality(d: Floats) -> None:
    """Raise `InvalidProblem` with the worst detour through some k when `d(i, j) > d(i, k) + d(k, j)`."""
    for k in detours(d, ROUNDING / 2):
        detour = d[:, k, None] + d[None, k]
        broken = d > detour * (1 + ROUNDING)
        if broken.any():
            i, j = (int(v) for v in np.argwhere(broken)[0])
            raise InvalidProblem(
                f"metric.matrix: breaks the triangle inequality: d({i}, {j}) = {d[i, j]} is more than d({i}, {k}) + d({k}, "
                f"{j}) = {detour[i, j]}. A change {i} -> {k} -> {j} already costs less, so what is guaranteed is the "
                "shortest-path closure: pass closure=True to accept it."
            )


def shortest_paths(d: Floats) -> tuple[Floats, np.ndarray[tuple[int, int], np.dtype[np.bool_]]]:
    """The shortest-path closure, and which entries it lowered.

    A lowered entry is a sum of at most N given budgets in floating point. It is rounded up by the error of such a sum, so it is
    never below the exact sum along the path: it claims no more than the given budgets imply.
    d: (N, N), symmetric, nonnegative, infinite where nothing is promised. Returns the closure (N, N) and a mask (N, N).
    """
    # Not scipy's csgraph, which reads a budget of 0 as "no edge". A shortest path of fewest steps a, k, b, ... has
    # d(a, b) > d(a, k) + d(k, b) for any three in a row: only points on such detours are passed through.
    closed = d.copy()
    with np.errstate(over="ignore"):
        for k in track(detours(d, HIDDEN), "shortest paths"):
            np.minimum(closed, closed[:, k, None] + closed[None, k], out=closed)
    lowered = closed < d * (1 - ROUNDING)
    closed = np.where(lowered, closed * (1 + 2.0**-50 * len(d)), d)
    np.fill_diagonal(closed, 0.0)
    return np.maximum(closed, closed.T), lowered


def implied_pairs(d: Floats) -> Indices | None:
    """The pairs i < j with finite budget that no third point implies, as rows; None (keep all) above `IMPLIED_LIMIT` points.

    (i, j) is implied when `d(i, k) + d(k, j) <= d(i, j)` holds exactly for some k with both parts positive: a norm that keeps
    the two shorter promises keeps the third. Both parts are shorter, so the argument ends. In floats: fl is monotone, hence
    fl(a + b) < d proves a + b < d, and at fl(a + b) = d the exact rounding error (Knuth's TwoSum) decides.

    >>> implied_pairs(np.array([[0.0, 1, 2], [1, 0, 1], [2, 1, 0]])).tolist()
    [[0, 1], [1, 2]]
    """
    if len(d) > IMPLIED_LIMIT:
        return None
    implied = np.zeros(d.shape, dtype=bool)
    for k in range(len(d)):
        a = np.where(d[:, k] > 0, d[:, k], np.inf)
        first, second = np.broadcast_arrays(a[:, None], a[None])
        total = first + second
        with np.errstate(invalid="ignore"):
            back = total - first
            error = (first - (total - back)) + (second - back)
        implied |= (total < d) | ((total == d) & (error <= 0) & np.isfinite(total))
    return frozen(np.argwhere(np.triu(~implied & np.isfinite(d), 1)))


# A metric given entry by entry, and its shortest-path closure on request.
#
# What a closure is: docs/theory/metrics.md, section 1.


@dataclass(frozen=True, eq=False)
class Matrix(Metric):
    """d given entry by entry, budgets (N, N). `needed` lists the pairs that no others imply exactly (None: all);
    `given` is the matrix before its closure."""

    budgets: Floats
    needed: Indices | None
    given: Floats | None = None
    kind = "matrix"
    schema = of_kind("relation", kind, {"budgets": list_of(list_of(BUDGET)), "closure": BOOLEAN})

    @property
    def size(self) -> int:
        return len(self.budgets)

    def rectangle(self, rows: slice, columns: slice) -> Floats:
        return self.budgets[rows, columns]

    def blocks(self) -> Iterator[Block]:
        if self.needed is None:
            yield from super().blocks()
        elif len(self.needed):
            left, right = self.needed.T
            yield Block(left, right, self.budgets[left, right])

    def components(self) -> Indices:
        return Relation.components(self)

    def largest_budget(self) -> float:
        return float(self.budgets[np.isfinite(self.budgets)].max(initial=0.0))

    def exact_budget(self, left: int, right: int) -> Fraction | None:
        budget = self.budgets[left, right]
        return Fraction(float(budget)) if np.isfinite(budget) else None

    def sentence(self) -> str:
        finite = self.budgets[np.isfinite(self.budgets) & ~np.eye(self.size, dtype=bool)]
        span = f"from {float(finite.min())!r} to {float(finite.max())!r}" if finite.size else "all infinite"
        closed = (
            ""
            if self.given is None
            else f" (the shortest-path closure of {int((self.given != self.budgets).sum()) // 2} lower entries)"
        )
        return (
            "Any one record may change from universe element i to j, with the budget d(i, j) of an explicit matrix, "
            f"{span}{closed}."
        )

    def to_spec(self) -> dict[str, Any]:
        closed = self.given is not None
        return {"kind": self.kind, "budgets": self.given if closed else self.budgets, "closure": closed}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> Matrix:
        return from_matrix(spec["budgets"], closure=spec["closure"])


def from_matrix(d: object, *, closure: bool = False) -> Matrix:
    """Take an explicit metric: square, symmetric, zero diagonal, nonnegative (infinite: unprotected), triangle inequality.

    The shortest-path closure is what any mechanism that honours the given budgets guarantees anyway. A change i -> k -> j costs
    at most d(i, k) + d(k, j). Errors name the offending entry. Time O(N^3) for the triangle inequality: about a minute at N =
    5,000. Raises `InvalidProblem` for all of this.

    Parameters
    ----------
    d : (N, N), in nats.
    closure : replace a matrix that breaks the triangle inequality by its shortest-path closure.

    >>> from_matrix([[0, 1, 2], [1, 0, 1], [2, 1, 0]]).exact_budget(0, 2)
    Fraction(2, 1)
    >>> from_matrix([[0, 1, 9], [1, 0, 1], [9, 1, 0]], closure=True).budgets.round(9).tolist()
    [[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]
    """
    given = real_array(d, "metric.matrix", 2, allow_inf=True) + 0.0  # no -0: a ratio to it would be -inf, and the best of all
    _require_semimetric(given)
    budgets = np.minimum(given, given.T)
    if closure:
        closed, lowered = shortest_paths(budgets)
        left, right = np.nonzero(np.triu(~lowered & np.isfinite(closed), 1))
        return Matrix(frozen(closed), frozen(np.stack([left, right], axis=1)), given)
    require_triangle_inequality(budgets)
    return Matrix(frozen(budgets), implied_pairs(budgets))


def _require_semimetric(d: Floats) -> None:
    """Square, zero diagonal, nonnegative, symmetric up to rounding."""
    if d.shape[0] != d.shape[1]:
        raise InvalidProblem(f"metric.matrix: has shape {d.shape}; give a square matrix, one row and column for each element.")
    if d.diagonal().any():
        i = int(np.nonzero(d.diagonal())[0][0])
        raise InvalidProblem(
            f"metric.matrix: d({i}, {i}) = {d[i, i]} on the diagonal; an element is at distance 0 from itself."
        )
    if (d < 0).any():
        i, j = (int(v) for v in np.argwhere(d < 0)[0])
        raise InvalidProblem(f"metric.matrix: d({i}, {j}) = {d[i, j]} is negative; a budget is at least 0.")
    unequal = ~np.isclose(d, d.T, rtol=1e-9, atol=0.0)
    if unequal.any():
        i, j = (int(v) for v in np.argwhere(unequal)[0])
        raise InvalidProblem(f"metric.matrix: d({i}, {j}) = {d[i, j]} but d({j}, {i}) = {d[j, i]}; make the matrix symmetric.")

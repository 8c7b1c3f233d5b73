"""What is known of the budgets between whole groups of elements, so that most pairs need not be looked at one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, Immutable
from solvers.dual_tree import PIECE, Boxes, Indices, PairWalk, PointTree, grown

SCANNED = 1 << 20  # so many pairs are looked at one by one sooner than a search of them ends
SLACK = 2.0**-44  # relative, for the rounding of `Nearness.least` and of float budgets beside their stated error
MOST_FEATURES = 64  # boxes in more dimensions tell nothing apart
Rule = Callable[[Floats, Floats, Floats], Floats]
Order = Literal["l1", "l2", "linf"]
Along = Callable[[Indices, Indices], Floats]


@dataclass(frozen=True, eq=False)
class Nearness(Immutable):
    """Budgets as a rule on numbers of the elements, that bounds them between boxes of such numbers too.

    features: (N, f), numbers of each element; may be none. rule(gaps, a, b): the budget of elements with the numbers a and b,
    `gaps = |a - b|`, all of shape (f, ...) with the result (...,); it may fall by gaps, a or b that fall, and never rise, so
    that with the gaps and the low corners of two boxes it is a lower bound of every budget between them, up to `SLACK`.
    units: (f,), what a difference of one in a feature is worth in budgets, to compare the widths of boxes.
    pairs: how many protected pairs `blocks()` of the relation lists. apart: features tell all budgets apart; otherwise groups
    of elements with near answers matter as much as groups with low budgets. off: how far the rule may be above `along`, as a
    part of it, where that computes budgets in another way. ball: (order, rate) where budgets are that norm of the gaps, times
    the rate; None elsewhere.
    """

    features: Floats
    rule: Rule
    units: Floats
    pairs: int
    apart: bool = True
    off: float = 0.0
    ball: tuple[Order, float] | None = None

    @cached_property
    def tree(self) -> PointTree:
        """Groups of elements by their features alone."""
        return grown(self.features * self.units)

    @cached_property
    def boxes(self) -> Boxes:
        """The boxes of the features in that tree."""
        return Boxes.of(self.tree, self.features)

    @cached_property
    def twins(self) -> bool:
        """Whether two elements have the same features, so that their budget may be 0."""
        order = np.lexsort(self.features.T) if self.features.shape[1] else np.zeros(0, dtype=np.intp)
        return not len(order) or bool((np.diff(self.features[order], axis=0) == 0).all(axis=1).any())

    @property
    def few(self) -> int:
        """So many pairs are looked at one by one."""
        return SCANNED

    @property
    def many(self) -> bool:
        """Whether looking at the pairs one by one takes longer than a search."""
        return self.pairs > SCANNED

    def at(self, elements: NDArray[np.intp]) -> Nearness:
        """The rule between the elements of these numbers, (n,), each once; all pairs of them count."""
        return Nearness(
            self.features[elements], self.rule, self.units, all_pairs_of(len(elements)), self.apart, self.off, self.ball
        )

    def repeated(self, elements: NDArray[np.intp]) -> Nearness:
        """The rule between the elements of these numbers, (n,), which may repeat: at budget 0 from each other, then."""

        def rule(gaps: Floats, a: Floats, b: Floats) -> Floats:
            return np.where(gaps[-1] > 0, self.rule(gaps[:-1], a[:-1], b[:-1]), 0.0)

        once = self.at(elements)
        numbered = np.hstack([once.features, elements[:, None].astype(np.float64)])
        return replace(once, features=numbered, rule=rule, units=np.append(self.units, 1.0), ball=None)

    def least(self, gaps: Floats, low_a: Floats, low_b: Floats) -> Floats:
        """A lower bound of float budgets, (...,), rounding included; arguments (f, ...)."""
        return np.asarray(self.rule(gaps, low_a, low_b) * (1 - SLACK))

    def closest(self, along: Along, *, positive: bool) -> float:
        """The least float budget of two different elements, up to `SLACK`; of those above 0 where asked for; infinite where
        there is none.

        along: the float budgets of pairs in step.
        """

        def bound(level: int, a: Indices, b: Indices) -> Floats:
            least = self.least(self.boxes.gaps(level, a, b), self.boxes.low(level, a), self.boxes.low(level, b))
            return np.where(self.boxes.coincide(level, a, b) & (least == 0), -np.inf, -least) if positive else -least

        return -self._highest(lambda left, right: -_stated(along(left, right), positive), bound)

    def farthest(self, along: Along) -> float:
        """The largest float budget, up to `SLACK`, where all are finite."""

        def bound(level: int, a: Indices, b: Indices) -> Floats:
            return self.rule(self.boxes.spans(level, a, b), self.boxes.high(level, a), self.boxes.high(level, b))

        return self._highest(along, bound)

    def within(self, budget: float) -> Iterator[tuple[Indices, Indices]]:
        """Pairs, in step, among which are all of at most that budget; a few are there twice."""

        def opens(level: int, a: Indices, b: Indices) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
            least = self.least(self.boxes.gaps(level, a, b), self.boxes.low(level, a), self.boxes.low(level, b))
            return np.asarray(least <= budget)

        for a, b in PairWalk(self.tree.depth, opens):
            for start in range(0, len(a), PIECE):
                yield self.tree.pairs_of(a[start : start + PIECE], b[start : start + PIECE])

    def _highest(self, of_pairs: Along, bound: Callable[[int, Indices, Indices], Floats]) -> float:
        """The largest number of any pair, by bounds from above between nodes."""
        tree, best = self.tree, -np.inf

        def opens(level: int, a: Indices, b: Indices) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
            enough = best if np.isinf(best) else best + 4 * SLACK * abs(best)
            return np.asarray(bound(level, a, b) > enough)

        leaves = np.arange(len(tree.leaves))
        for a, b in chain([(leaves, leaves)], PairWalk(tree.depth, opens)):
            for start in range(0, len(a), PIECE):
                left, right = tree.pairs_of(a[start : start + PIECE], b[start : start + PIECE])
                best = max(best, float(of_pairs(left, right).max(initial=-np.inf)))
        return best


def _stated(budgets: Floats, positive: bool) -> Floats:
    """Those above 0, or all."""
    return budgets[budgets > 0] if positive else budgets


def of_parts(
    parts: Sequence[Nearness | None], of: Callable[[list[Floats]], Floats], pairs: int | None = None
) -> Nearness | None:
    """The rule that combines the budgets of several by a function that rises with each; None where one of them has none.

    of: from the budgets of each part, (...,), to those of the combination, (...,).
    pairs: how many the combination lists; by default all pairs, of which those that any part leaves out are left out.
    """
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or sum(part.features.shape[1] for part in known) > MOST_FEATURES:
        return None
    if pairs is None and sum(part.pairs < all_pairs_of(len(part.features)) for part in known) > 1:
        return None  # how many pairs they leave out together is not known
    ends = np.cumsum([0, *(part.features.shape[1] for part in known)])
    spans = [slice(start, end) for start, end in pairwise(ends)]

    def rule(gaps: Floats, a: Floats, b: Floats) -> Floats:
        return of([part.rule(gaps[span], a[span], b[span]) for part, span in zip(known, spans, strict=True)])

    return Nearness(
        np.hstack([part.features for part in known]),
        rule,
        np.concatenate([part.units for part in known]),
        min(part.pairs for part in known) if pairs is None else pairs,
        any(part.apart for part in known),
        max(part.off for part in known),
    )


def scaled_rule(part: Nearness | None, factor: float, times: Callable[[Floats], Floats]) -> Nearness | None:
    """The rule of a multiple of budgets.

    times: from budgets, (...,), to their multiples.
    """
    found = of_parts([part], lambda parts: times(parts[0]))
    if found is None or part is None or part.ball is None:
        return found
    return replace(found, ball=(part.ball[0], part.ball[1] * factor))


def all_pairs_of(elements: int) -> int:
    """How many pairs so many elements have.

    >>> all_pairs_of(4)
    6
    """
    return elements * (elements - 1) // 2


def without_features(elements: int, budget: float) -> Nearness:
    """One budget for all pairs of so many elements."""
    none: NDArray[np.float64] = np.zeros((elements, 0))
    return Nearness(none, lambda gaps, a, b: np.full(gaps.shape[1:], budget), np.zeros(0), all_pairs_of(elements), False)

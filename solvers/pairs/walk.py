"""Pairs of leaves that bounds on whole nodes do not settle: a walk down a tree against itself.

A bound on a pair of nodes holds for every pair of points in them, so a pair of nodes whose bound is low enough is never opened.
How many are opened depends on the points, and is foretold from a sample before the walk goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from solvers.pairs.tree import Indices

PIECE = 1 << 15  # pairs of nodes that are bounded at once
SAMPLE = 64  # of so many parts of the work, the first foretells the rest
Opens = Callable[[int, Indices, Indices], np.ndarray[tuple[int], np.dtype[np.bool_]]]


class Foretold(Exception):
    """A walk is given up for the work that it would be."""

    def __init__(self, work: float) -> None:
        super().__init__(work)
        self.work = work


@dataclass
class PairWalk:
    """The walk: `opens(level, a, b)` says which pairs of nodes of a level must be opened.

    It is asked when a pair is reached, and may have become stricter since. foretell(leaf pairs, asked, whole) is called with
    estimates of how many pairs of leaves will be yielded and of how many pairs `opens` will be asked: while the sample is
    walked, with what is known to be exceeded, and once with the whole of it. It may raise.
    """

    depth: int
    opens: Opens
    foretell: Callable[[float, float, bool], None] | None = None
    yielded: int = field(default=0, init=False)
    asked: int = field(default=0, init=False)

    def __iter__(self) -> Iterator[tuple[Indices, Indices]]:
        level, a, b = 0, np.zeros(1, dtype=np.intp), np.zeros(1, dtype=np.intp)
        while level < self.depth and len(a) < PIECE:
            keep = self.opens(level, a, b)
            a, b = opened(a[keep], b[keep])
            level += 1
        # In random order, so that the first part is a sample of all.
        order = np.random.default_rng(0).permutation(len(a))
        for part, piece in enumerate(np.array_split(order, SAMPLE)):
            for found in self._below(level, a[piece], b[piece]):
                self._foretell(part, False)
                yield found
            self._foretell(part, True)

    def _foretell(self, part: int, whole: bool) -> None:
        if part == 0 and self.foretell is not None:
            self.foretell(self.yielded * float(SAMPLE), self.asked * float(SAMPLE), whole)

    def _below(self, level: int, a: Indices, b: Indices) -> Iterator[tuple[Indices, Indices]]:
        waiting = [(level, a, b)]
        while waiting:
            level, a, b = waiting.pop()
            self.asked += len(a)
            keep = self.opens(level, a, b)
            a, b = a[keep], b[keep]
            if not len(a):
                continue
            if level == self.depth:
                self.yielded += len(a)
                yield a, b
                continue
            a, b = opened(a, b)
            waiting += [(level + 1, a[i : i + PIECE], b[i : i + PIECE]) for i in range(0, len(a), PIECE)]


def opened(a: Indices, b: Indices) -> tuple[Indices, Indices]:
    """The pairs of children, each once: four of two different nodes, three of a node and itself.

    >>> [part.tolist() for part in opened(np.array([1, 0]), np.array([1, 1]))]
    [[2, 2, 3, 0, 0, 1, 1], [2, 3, 3, 2, 3, 2, 3]]
    """
    left = (2 * a[:, None] + np.array([0, 0, 1, 1])).ravel()
    right = (2 * b[:, None] + np.array([0, 1, 0, 1])).ravel()
    once = left <= right
    return left[once], right[once]

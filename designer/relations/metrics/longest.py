"""The longest of all shortest paths of a graph, without the paths from every node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from designer.base.arrays import Floats
from designer.base.progress import announce
from designer.problem.relation import Indices

# Nodes that are reached in all: 5,000 nodes from each of them, in seconds; 100,000 from some hundreds of them.
REACHED = 3 * 10**7
CLOSE = 2.0**-40  # bounds of one length may be so far apart, relatively
LONG = 10**6  # above so many nodes that are reached something is said


@dataclass(frozen=True)
class LongestPath:
    """The length is at least `least`, that of a path that was found, and at most `most`; equal where it is known."""

    least: float
    most: float

    @property
    def stated(self) -> float:
        """The length, or the upper bound."""
        return self.least if self.most <= self.least * (1 + CLOSE) else self.most

    @property
    def words(self) -> str:
        """A sentence for a guarantee where the length is a bound; none elsewhere."""
        return "" if self.stated == self.least else " The largest finite budget is an upper bound."


def csr_edges(left: Indices, right: Indices, lengths: Floats, nodes: int) -> Any:
    """A sparse matrix of edges, each once.

    left, right: (E,). lengths: (E,).
    """
    from scipy.sparse import csr_array

    ends = left.astype(np.intc), right.astype(np.intc)  # the only indices that older versions of scipy take
    return csr_array((lengths, ends), shape=(nodes, nodes))


def longest_path(matrix: Any, label: Indices) -> LongestPath:
    """The largest distance between nodes that a path joins; 0 where none are.

    From paths of one node v, of which the longest is e(v), every node w of its component has its own longest path between
    `max(d, e(v) - d)` and `e(v) + d`, d = d(v, w). Nodes that cannot have a longer one than was found are settled; paths start
    from the others, far ones and central ones in turn (Takes and Kosters 2011, *Determining the diameter of small world
    networks*). It ends with the length in most graphs after some dozens of nodes. Where all nodes are alike, as on a ring, and
    there are very many, it ends with bounds.
    matrix: (N, N) lengths of edges, sparse, each edge once. label: (N,), connected components.
    """
    from scipy.sparse.csgraph import dijkstra

    lengths = matrix.tocoo()
    within = np.bincount(label[lengths.coords[0]], weights=lengths.data, minlength=int(label.max()) + 1)
    most: Floats = np.asarray(within[label] * (1 + CLOSE), dtype=np.float64)
    least = np.zeros(len(label))
    found, reached, central = 0.0, 0, False
    if len(label) > LONG:
        announce("the longest path between elements")
    while reached < REACHED and (open_ := most > found * (1 + CLOSE)).any():
        nodes = np.flatnonzero(open_)
        start = nodes[least[nodes].argmin()] if central else nodes[most[nodes].argmax()]
        away = dijkstra(matrix, directed=False, indices=np.array([start]))[0]
        there = np.isfinite(away)
        longest = float(away[there].max())
        found = max(found, longest)
        least[there] = np.maximum(least[there], np.maximum(away[there], longest - away[there]))
        most[there] = np.minimum(most[there], longest + away[there])
        most[start] = longest
        reached, central = reached + len(label), not central
    return LongestPath(found, max(found, float(most.max(initial=0.0))))

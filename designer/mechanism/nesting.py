"""Nested groups of elements as a tree, queries as sums of its nodes, and their least squares in a few passes over the nodes.

Of noisy counts of the nodes the weighted least squares follow from one pass up and one down (docs/theory/strategies.md, 8). A
query is kept as the fewest nodes that add up to it: its variance then needs only the nodes above these.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, Immutable, frozen
from designer.base.errors import InvalidProblem
from designer.limits import LARGEST_COUNT_RATE, MOST_NESTED_ENTRIES
from designer.problem.compressed_rows import IntervalRows, Matrix, compressed, intervals_in, row_places
from designer.problem.relation import Indices
from solvers.trees import Posterior, Tree, leaf_weights, precision

TERMS, BOUNDED, MOST_TERMS = 2**10, 2**16, 10**8  # of characteristic functions: about 6 s
LEAST_FACTOR, LOST_SHARE = 1e-13, 1e-6  # of the largest factor: parts that are bounded, up to this share of the probability
LOOKED_AT = 2**22  # queries times counts up to which every part of every answer is looked at
Parts = tuple[float, ...]
TRIED = 400  # slopes at which a bound of moments is looked at


def described_rows(matrix: Matrix) -> Matrix:
    """Groups of elements in the form in which they are kept: intervals where all are such, else compressed rows."""
    if isinstance(matrix, IntervalRows):
        return matrix
    found = intervals_in(matrix)
    return compressed(matrix).sorted_indices() if found is None else found


@dataclass(frozen=True, eq=False)
class Nesting(Immutable):
    """Nested groups, measured one by one, with the queries that are asked of them.

    tree: node 0 is above all groups, and is not measured. node: (R,), that of each group. label: (N,), the leaf of each
    element, counted among the leaves; -1 of an element in no group. asked: (K, V), compressed, the queries as sums of nodes.
    rates: (V,), of the noise in the count of each node, 0 of those that are not measured.
    """

    tree: Tree
    node: Indices
    label: Indices
    asked: Any
    rates: Floats

    @classmethod
    def of(cls, groups: Matrix, rates: Floats, queries: Matrix) -> Nesting:
        """From groups (R, N), ones and zeros, with rates (R,), and queries (K, N). `InvalidProblem` where two groups overlap,
        where those within a group leave some of its elements out, and for queries that tell elements of a leaf apart."""
        tree, node, label = tree_of(groups)
        own = np.zeros(len(tree.parent))
        own[node] = rates
        return cls(tree, node, label, with_nodes(tree, label, queries), frozen(own))

    @cached_property
    def posterior(self) -> Posterior:
        """What the noisy counts tell of each node."""
        return Posterior.of(self.tree, self.rates)

    def node_estimates(self, counts: Any) -> Floats:
        """The least squares of the counts of all nodes, (V, M), from noisy counts of the groups, (R, M)."""
        held, tree = self.posterior, self.tree
        noisy = np.zeros((len(tree.parent), counts.shape[1]))
        noisy[self.node] = counts
        weight = (precision(self.rates) * held.alone)[:, None]
        alone, below = noisy * weight, np.zeros_like(noisy)
        for nodes in reversed(tree.levels):
            inner = nodes[tree.inner[nodes]]
            alone[inner] += below[inner] * (held.alone[inner] / held.below[inner])[:, None]
            if nodes[0]:
                np.add.at(below, tree.parent[nodes], alone[nodes])
        found = alone
        for nodes in tree.levels[1:]:
            up = tree.parent[nodes]
            found[nodes] += (held.alone[nodes] / held.below[up])[:, None] * (found[up] - below[up])
        return found

    def answers(self, counts: Any) -> Floats:
        """The answers of the queries, (K, M), from noisy counts of the groups, (R, M)."""
        return np.asarray(self.asked @ self.node_estimates(counts))

    @cached_property
    def variances(self) -> Floats:
        """Of the noise in each answer, (K,): what the children of a node tell apart beyond their sum, level by level."""
        held, found = self.posterior, np.zeros(self.asked.shape[0])
        columns = self.asked.tocsc()
        heights = None
        for nodes in self.tree.levels[:0:-1]:
            own = columns[:, nodes] if heights is None else columns[:, nodes] + heights
            ups, place = np.unique(self.tree.parent[nodes], return_inverse=True)
            weighted = own.multiply(held.alone[nodes][None, :]).tocsr()
            sums = weighted @ _incidence(place, len(ups))
            found += own.multiply(own).tocsr() @ held.alone[nodes] - sums.multiply(sums).tocsr() @ (1 / held.below[ups])
            level = self.tree.levels[int(self.tree.depth[ups[0]])]
            heights = sums.multiply(1 / held.below[ups][None, :]).tocsr() @ _incidence(np.searchsorted(level, ups), len(level))
        root = columns[:, [0]].toarray()[:, 0] + (0.0 if heights is None else heights.toarray()[:, 0])
        return frozen(np.maximum(found, 0.0) + root**2 * held.alone[0])

    def covariances(self, rows: Any) -> Floats:
        """Of the answers to some queries, a slice, with the counts of all nodes, (n, V)."""
        return self.posterior.covariances(leaf_weights(self.tree, self.asked[rows].toarray()))

    def covariance(self) -> Floats:
        """Of the noise in the answers, (K, K); `InvalidProblem` where it would take too much memory."""
        queries = self.asked.shape[0]
        if queries * max(queries, len(self.tree.parent)) > MOST_NESTED_ENTRIES // 4:
            raise InvalidProblem(
                f"covariance: of {queries:,} answers from {len(self.node):,} counts would take "
                f"{queries * max(queries, len(self.tree.parent)) * 8e-9:.3g} GB; use `query_variances()`."
            )
        return np.asarray(self.covariances(slice(None)) @ self.asked.T)

    @cached_property
    def parts(self) -> tuple[Floats, Floats]:
        """Of each answer, which is a sum of independent noise: at least the largest variance of one part, and at least the
        largest factor of one, (K,) each."""
        held, known = self.posterior, precision(self.rates)
        queries, count = self.asked.shape
        if queries * count <= LOOKED_AT:
            moved = np.abs(self.covariances(slice(None)))
            return (moved**2 * known).max(axis=1), (moved * known).max(axis=1)
        top = float(known.max())
        single = np.diff(self.asked.indptr) == 1
        largest, factor = self.variances.copy(), np.sqrt(self.variances * top)
        if single.any():
            rows = np.flatnonzero(single)
            at = self.asked.indptr[rows]
            moved = _largest_moved(self.tree, held, known)[self.asked.indices[at]]
            largest[rows] = np.minimum(largest[rows], self.asked.data[at] ** 2 * moved)
            factor[rows] = np.minimum(factor[rows], np.abs(self.asked.data[at]))
        return largest, factor

    def margins(self, beyond: float) -> Floats:
        """Numbers t, (K,), that the noise of an answer exceeds with a probability of at most `beyond`: by the characteristic
        function of each kind of answer where this takes seconds, elsewhere by exponential moments."""
        found = self._moment_margins(beyond)
        if not self.are_bracketed:
            return found
        (kinds, place), known = self._kinds, precision(self.rates)[self.node]
        step = max(1, LOOKED_AT // len(self.node))
        for start in range(0, len(kinds), step):
            rows = kinds[start : start + step]
            factors = np.abs(self.covariances(rows)[:, self.node]) * known
            for k, row in zip(rows.tolist(), factors, strict=True):
                if row.any():
                    found[place == place[k]] = sum_margin(row, self.rates[self.node], beyond)
        return found

    @cached_property
    def are_bracketed(self) -> bool:
        """Whether margins are those of the law of each answer, up to a fiftieth of a standard deviation."""
        kinds, size = len(self._kinds[0]), len(self.node)
        parts = min(size, 2 * len(np.unique(self.tree_kinds)))
        return kinds * (TERMS * parts + BOUNDED) <= MOST_TERMS and kinds * size <= MOST_NESTED_ENTRIES

    @cached_property
    def _kinds(self) -> tuple[Indices, Indices]:
        """A query for each kind of them whose noise has the same law, (n,), and the kind of each, (K,): sums of children of one
        node that a renaming of the tree makes those of another."""
        up = self.tree.parent[self.asked.indices]
        row = row_places(self.asked)
        order = np.lexsort((np.abs(self.asked.data), self.tree_kinds[self.asked.indices], row))
        signed = np.column_stack([self.tree_kinds[self.asked.indices], self.asked.data])[order]
        seen: dict[bytes, int] = {}
        first: list[int] = []
        place = np.empty(self.asked.shape[0], dtype=np.intp)
        for k, (start, end) in enumerate(itertools.pairwise(self.asked.indptr.tolist())):
            alike = start == end or (up[start:end] == up[start]).all()
            key = signed[start:end].tobytes() if alike else k.to_bytes(8, "little")
            place[k] = seen.setdefault(key, len(first))
            if place[k] == len(first):
                first.append(k)
        return np.array(first, dtype=np.intp), place

    @cached_property
    def tree_kinds(self) -> Indices:
        """Of nodes that a renaming of the tree makes one another the same number, (V,)."""
        tree, rates = self.tree, np.unique(self.rates, return_inverse=True)[1].ravel()
        below = np.zeros(len(tree.parent), dtype=np.intp)
        for nodes in reversed(tree.levels):
            inside: dict[int, list[int]] = {v: [] for v in nodes.tolist()}
            if tree.inner[nodes].any():
                deeper = tree.levels[int(tree.depth[nodes[0]]) + 1]
                for v, up in zip(deeper.tolist(), tree.parent[deeper].tolist(), strict=True):
                    inside[up].append(int(below[v]))
            seen: dict[Any, int] = {}
            below[nodes] = [seen.setdefault((int(rates[v]), *sorted(inside[v])), len(seen)) for v in nodes.tolist()]
        found = np.zeros(len(tree.parent), dtype=np.intp)
        count = 1
        for nodes in tree.levels[1:]:
            keys = found[tree.parent[nodes]] * (int(below.max()) + 1) + below[nodes]
            own = np.unique(keys, return_inverse=True)[1].ravel()
            found[nodes] = count + own
            count += int(own.max()) + 1
        return found

    def _moment_margins(self, beyond: float) -> Floats:
        """By exponential moments: `log E exp(s X) <= -(v / w) log(1 - r)`, v the variance, w at least that of one part, a at
        least the factor of one, and `r = w (cosh(a s) - 1) / a^2 < 1`; and Chebyshev's bound."""
        variance, (largest, factor) = self.variances, self.parts
        noisy = variance > 0
        kinds, place = np.unique(np.column_stack([variance, largest, factor])[noisy], axis=0, return_inverse=True)
        v, w, a = kinds.T
        found = np.full(len(kinds), np.inf)
        needed = math.log(2 / beyond)
        for share in (np.arange(TRIED) + 0.5) / TRIED:
            slope = np.arccosh(1 + share * a**2 / w) / a
            found = np.minimum(found, (needed - v / w * math.log1p(-share)) / slope)
        found = np.minimum(found, np.sqrt(v / beyond))
        spread = np.zeros(len(variance))
        spread[noisy] = (found * (1 + 1e-9))[place.ravel()]
        return spread


def sum_margin(factors: Floats, rates: Floats, beyond: float, margin: Callable[[Parts, float], float] | None = None) -> float:
    """The margin of a sum of the noise of all groups, (R,), parts that are equal to twelve digits taken together, and what that
    may move it by: no noise is beyond `log(2 R / lost) / rate + 1`, but with the probability `lost`.

    margin: from parts and a probability; by characteristic functions where none is given."""
    kept, lost = factors > LEAST_FACTOR * factors.max(), LOST_SHARE * beyond
    farthest = np.log(2 * len(factors) / lost) / rates + 1
    rest = factors[~kept] @ farthest[~kept] + 2.0**-40 * (factors[kept] @ farthest[kept])
    return (margin or _margin)(equal_parts(factors, rates), beyond - lost) + float(rest)


def equal_parts(factors: Floats, rates: Floats) -> Parts:
    """The parts of a sum, (R,), that are not faint, to twelve digits, by factor, rate and how many there are; the same for
    equal laws, which siblings have."""
    kept = factors > LEAST_FACTOR * factors.max()
    mantissas, powers = np.frexp(factors[kept])
    rounded = np.ldexp(np.rint(mantissas * 2.0**40), powers - 40)
    parts = np.unique(np.column_stack([rounded, rates[kept]]), axis=0, return_counts=True)
    return tuple(np.column_stack(parts).ravel().tolist())


@lru_cache(maxsize=1024)
def _margin(parts: Parts, beyond: float) -> float:
    from solvers.programs.tails import geometric_margin

    factors, rates, times = np.array(parts).reshape(-1, 3).T
    return geometric_margin(factors, rates, times, beyond)


def _largest_moved(tree: Tree, held: Posterior, known: Floats) -> Floats:
    """The largest variance that one measured count has as a part of the estimate of each node's count, (V,), or more.

    The covariance of the count of v with that of a node off the path from v to the root is `s_c (g_p / S_p - h_p)` times shares
    below its child c of a node p on the path: h the heights of the query, g the covariances along the path.
    """
    shares = np.zeros(len(tree.parent))
    shares[1:] = held.alone[1:] / held.below[tree.parent[1:]]
    below = known.copy()  # the largest precision of a node in the subtree, each times the squares of the shares to it
    for nodes in tree.levels[:0:-1]:
        np.maximum.at(below, tree.parent[nodes], shares[nodes] ** 2 * below[nodes])
    widest = np.zeros(len(tree.parent))  # the same of the children of a node, times the squares of their own variances
    np.maximum.at(widest, tree.parent[1:], held.alone[1:] ** 2 * below[1:])
    count = len(tree.parent)
    beta = held.alone.copy()
    for nodes in tree.levels[1:]:
        up = tree.parent[nodes]
        beta[nodes] = beta[up] * shares[nodes] ** 2 + held.alone[nodes] * (1 - shares[nodes])
    found = beta**2 * below
    height, node = np.ones(count), np.arange(count)
    path = [(node.copy(), height.copy())]
    while node.any():
        height = np.where(node > 0, height * shares[node], height)
        node = np.where(node > 0, tree.parent[np.maximum(node, 0)], 0)
        path.append((node.copy(), height.copy()))
    cover = np.zeros(count)
    for depth in range(len(path) - 1, -1, -1):
        node, height = path[depth]
        if depth == len(path) - 1:
            cover = height * held.alone[0]
        else:
            above, over = path[depth + 1]
            moved = node != above
            part = held.alone[node] * (height - over + cover / np.where(held.below[above] > 0, held.below[above], 1.0))
            cover = np.where(moved, part, cover)
        if depth:
            inner = held.below[node] > 0
            rest = cover / np.where(inner, held.below[node], 1.0) - height
            found = np.maximum(found, np.where(inner, rest**2 * widest[node], 0.0))
            found = np.maximum(found, cover**2 * known[node])
    return found


def _incidence(place: Indices, size: int) -> Any:
    """(n, size), a one at the place of each."""
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(place)), place, np.arange(len(place) + 1)), shape=(len(place), size))


def tree_of(groups: Matrix) -> tuple[Tree, Indices, Indices]:
    """The tree of nested groups (R, N), the node of each, (R,), and the leaf of each element, (N,).

    Equal groups stand in a chain. `InvalidProblem` for groups that overlap, empty groups, and groups of which some elements
    alone are in smaller ones.
    """
    rows = compressed(groups)
    size = rows.shape[0]
    if rows.nnz > MOST_NESTED_ENTRIES:
        raise InvalidProblem(f"measured: {rows.nnz:,} entries of groups take more than 2 GB; measure fewer levels.")
    lengths = np.diff(rows.indptr)
    if not lengths.all() or (rows.data != 1).any():
        empty = int(np.flatnonzero(lengths == 0)[0]) if not lengths.all() else None
        what = f"group {empty} is empty" if empty is not None else "a group has an entry that is neither 0 nor 1"
        raise InvalidProblem(f"measured: {what}; give groups of elements.")
    order = np.argsort(-lengths, kind="stable")
    above, last = chained(rows, order)
    if above is None:
        k = int(order[last[0]])
        shared = np.asarray(rows[:, rows[[k]].indices].sum(axis=1))
        other = int(np.flatnonzero((shared > 0) & (shared < np.minimum(lengths, lengths[k])))[0])
        element = int(np.intersect1d(rows[[k]].indices, rows[[other]].indices)[0])
        raise InvalidProblem(
            f"measured: groups {other} and {k} share element {element}, and none of the two is within the other; give groups "
            "that are apart or nested."
        )
    parent = np.append(-1, above + 1)
    held = np.bincount(parent[1:], lengths[order], minlength=size + 1)[1:]
    inner = held > 0
    if (held[inner] != lengths[order][inner]).any():
        k = int(order[np.flatnonzero(inner & (held != lengths[order]))[0]])
        raise InvalidProblem(
            f"measured: some elements of group {k} are in no smaller group; measure these, too, or none of it."
        )
    tree = Tree(parent)
    rank = np.empty(size, dtype=np.intp)
    rank[order] = np.arange(size)
    label = np.where(last >= 0, np.searchsorted(tree.leaves, last + 1), -1)
    return tree, rank + 1, label


def chained(rows: Any, order: Indices) -> tuple[Indices | None, Indices]:
    """The smallest group that each is within, (R,), -1 where there is none, and the smallest that holds each element, (N,), all
    as places in `order`, which goes from large to small; equal groups form a chain. None where two groups overlap, and the
    place of one.

    rows: (K, N), compressed, of whose entries only the places matter. order: (R,), some of the rows.
    """
    place = np.full(rows.shape[0], -1)
    place[order] = np.arange(len(order))
    owner, element = place[row_places(rows)], rows.indices
    kept = owner >= 0
    owner, element = owner[kept], element[kept]
    sort = np.lexsort((owner, element))
    owner, element = owner[sort], element[sort]
    first = np.append(True, element[1:] != element[:-1])
    above = np.where(first, -1, np.append(-1, owner[:-1]))
    least, most = np.full(len(order), len(order)), np.full(len(order), -2)
    np.minimum.at(least, owner, above)
    np.maximum.at(most, owner, above)
    if (least != most).any():
        return None, np.flatnonzero(least != most)
    last = np.full(rows.shape[1], -1)
    ends = np.append(first[1:], True)
    last[element[ends]] = owner[ends]
    return most, last


def with_nodes(tree: Tree, label: Indices, queries: Matrix) -> Any:
    """Queries of elements (K, N) as sums of the fewest nodes, (K, V), compressed."""
    if isinstance(queries, IntervalRows) and (found := _interval_nodes(tree, label, queries)) is not None:
        return found
    rows = compressed(queries).tocsr()
    if rows.nnz > MOST_NESTED_ENTRIES:
        raise InvalidProblem(f"workload: {rows.nnz:,} entries of queries take more than 2 GB; ask about fewer elements.")
    return _lifted(tree, rows.shape[0], *_of_leaves(tree, label, rows))


def _of_leaves(tree: Tree, label: Indices, rows: Any) -> tuple[Indices, Indices, Floats]:
    """The rows (K, N) as entries of leaves: row, node, factor; `InvalidProblem` where elements of a leaf differ."""
    place, kept = row_places(rows), rows.data != 0
    place, leaf, factor = place[kept], label[rows.indices[kept]], rows.data[kept].astype(np.float64)
    if (leaf < 0).any():
        k = int(place[leaf < 0][0])
        raise InvalidProblem(f"workload: query {k} asks about an element that is in no measured group; measure it.")
    sizes = np.bincount(label[label >= 0], minlength=len(tree.leaves))
    order = np.lexsort((leaf, place))
    place, leaf, factor = place[order], leaf[order], factor[order]
    first = np.flatnonzero(np.append(True, (place[1:] != place[:-1]) | (leaf[1:] != leaf[:-1]))[: len(place)])
    length = np.diff(np.append(first, len(place)))
    same = np.repeat(factor[first], length) == factor
    if not same.all() or (length != sizes[leaf[first]]).any():
        k = int(place[~same][0]) if not same.all() else int(place[first][length != sizes[leaf[first]]][0])
        raise InvalidProblem(f"workload: query {k} tells elements apart that are measured together; measure them apart.")
    return place[first], tree.leaves[leaf[first]], factor[first]


def _lifted(tree: Tree, queries: int, row: Indices, node: Indices, factor: Floats) -> Any:
    """Sums of nodes with all children of a node, alike, in the place of each such node."""
    from scipy.sparse import csr_array

    count = len(tree.parent)
    children = np.bincount(tree.parent[1:], minlength=count)
    done: list[tuple[Indices, Indices, Floats]] = []
    for depth in range(len(tree.levels) - 1, 0, -1):
        here = tree.depth[node] == depth
        r, v, x = row[here], node[here], factor[here]
        row, node, factor = row[~here], node[~here], factor[~here]
        order = np.lexsort((x, tree.parent[v], r))
        r, v, x = r[order], v[order], x[order]
        if not len(r):
            continue
        up = tree.parent[v]
        first = np.flatnonzero(np.append(True, (r[1:] != r[:-1]) | (up[1:] != up[:-1]) | (x[1:] != x[:-1])))
        length = np.diff(np.append(first, len(r)))
        whole = length == children[up[first]]
        lifted, start = np.repeat(whole, length), first[whole]
        done.append((r[~lifted], v[~lifted], x[~lifted]))
        row, node, factor = (np.concatenate([old, new[start]]) for old, new in ((row, r), (node, up), (factor, x)))
    done.append((row, node, factor))
    r, v, x = (np.concatenate([part[i] for part in done]) for i in range(3))
    return csr_array((x, (r, v)), shape=(queries, count)).sorted_indices()


def _interval_nodes(tree: Tree, label: Indices, rows: IntervalRows) -> Any:
    """Ranges of elements as sums of nodes, where every node is a range; None elsewhere. From the root down, nodes within a
    range are taken, and the at most two that are partly within are looked into."""
    from scipy.sparse import csr_array

    count, size = len(tree.parent), rows.size
    low, high, held = np.full(count, size), np.zeros(count, dtype=np.intp), np.zeros(count, dtype=np.intp)
    element = np.flatnonzero(label >= 0)
    leaf = tree.leaves[label[element]]
    np.minimum.at(low, leaf, element)
    np.maximum.at(high, leaf, element + 1)
    np.add.at(held, leaf, 1)
    for nodes in tree.levels[:0:-1]:
        up = tree.parent[nodes]
        np.minimum.at(low, up, low[nodes])
        np.maximum.at(high, up, high[nodes])
        np.add.at(held, up, held[nodes])
    if (high - low != held).any():
        return None
    query = np.flatnonzero(rows.lengths)
    start, end, node = rows.starts[query], rows.ends[query], np.zeros(len(query), dtype=np.intp)
    parts: list[tuple[Indices, Indices]] = []

    def take(which: Indices, first: Indices, last: Indices, level: Indices) -> None:
        lengths = np.maximum(last - first, 0)
        before = np.concatenate([[0], np.cumsum(lengths)])
        place = np.arange(before[-1]) - np.repeat(before[:-1] - first, lengths)
        parts.append((np.repeat(which, lengths), level[place]))

    outside = (start < low[0]) | (end > high[0])
    if outside.any():
        raise InvalidProblem(
            f"workload: query {int(query[outside][0])} asks about an element in no measured group; measure it."
        )
    whole = (start == low[0]) & (end == high[0])
    take(query[whole], np.zeros(int(whole.sum()), dtype=np.intp), np.ones(int(whole.sum()), dtype=np.intp), tree.levels[0])
    query, start, end, node = query[~whole], start[~whole], end[~whole], node[~whole]
    for nodes in tree.levels[1:]:
        level = nodes[np.argsort(low[nodes], kind="stable")]
        if not len(query):
            break
        if not tree.inner[node].all():
            raise InvalidProblem(
                f"workload: query {int(query[~tree.inner[node]][0])} tells elements apart that are measured together; measure "
                "them apart."
            )
        first = np.searchsorted(high[level], start, side="right")
        last = np.searchsorted(low[level], end, side="left")
        cut, over = low[level[first]] < start, high[level[last - 1]] > end
        take(query, first + cut, last - over, level)
        both = cut & over & (first == last - 1)
        left, right = cut & ~both, over & ~both
        query = np.concatenate([query[both], query[left], query[right]])
        node = np.concatenate([level[first[both]], level[first[left]], level[last[right] - 1]])
        start = np.concatenate([start[both], start[left], low[level[last[right] - 1]]])
        end = np.concatenate([end[both], high[level[first[left]]], end[right]])
    if len(query):
        raise InvalidProblem(
            f"workload: query {int(query[0])} tells elements apart that are measured together; measure them apart."
        )
    r, v = (np.concatenate([part[i] for part in parts]) for i in range(2))
    return csr_array((np.ones(len(r)), (r, v)), shape=(rows.shape[0], count)).sorted_indices()


def require_rates(rates: NDArray[np.float64]) -> None:
    """`InvalidProblem` for a count without noise, or with so little that its precision is no float."""
    if (wrong := np.flatnonzero(~((rates > 0) & (rates <= LARGEST_COUNT_RATE)))).size:
        raise InvalidProblem(
            f"rates: that of group {wrong[0]} is {rates[wrong[0]]:g}; give rates above 0, and at most {LARGEST_COUNT_RATE:g}, "
            "and leave out groups that are not measured."
        )

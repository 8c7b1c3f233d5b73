"""Graph distances: shortest paths along weighted edges, for social networks, taxonomies and secret graphs.

Blocks hold the edges that no other path implies. Elements in different components are unprotected from each other.
Budgets of paths: docs/theory/metrics.md, section 1.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from designer.base.arrays import Floats, frozen
from designer.base.checks import assign, count, names, positive, shown
from designer.base.errors import InvalidProblem
from designer.base.progress import announce
from designer.base.schema import COUNT, PLACE, POSITIVE, Named, list_of, of_kind
from designer.limits import LARGEST_METRIC_BUDGET, MOST_GRAPH_NODES
from designer.problem.relation import Block, Indices, Read, Relation
from designer.relations.metrics.metric import LEAST_BUDGET, Metric
from solvers.exact.rational import dyadic_integers

# The longest of all shortest paths of a graph, without the paths from every node.


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


# Graphs of networkx as input: nodes are elements by their labels, never by their place in the graph.


Node = Hashable


def is_network(source: Any) -> bool:
    """Whether something is a graph of networkx, or behaves like one."""
    return hasattr(source, "nodes") and hasattr(source, "edges") and hasattr(source, "is_directed")


def element_names(elements: Any, field: str) -> tuple[str, ...]:
    """Names of the elements, in their order: a list of them, or what has them, such as a workload or a domain."""
    listed = getattr(elements, "elements", elements)
    if isinstance(listed, (str, bytes)) or not isinstance(listed, Sequence):
        raise InvalidProblem(
            f"{field}: {shown(elements)} names no elements; give the workload, or the list of their names.", value=elements
        )
    return names(listed, len(listed), field, "e")


def places(nodes: Iterable[Node], elements: Any, field: str) -> dict[Node, int]:
    """The number of the element that each node stands for.

    With `elements` by label, `str(node)`; each element must be there, and nothing else. Without, the nodes must be the numbers
    0, 1, ..., N - 1 of the elements themselves. `InvalidProblem` names labels that are unknown, missing, or twice there.
    """
    listed = list(nodes)
    if not listed:
        raise InvalidProblem(f"{field}: has no nodes; give one for each universe element.")
    if elements is None:
        return _numbered(listed, field)
    named = element_names(elements, "metric.elements")
    labels = names([str(node) for node in listed], len(listed), f"{field}.nodes", "")
    unknown, missing = sorted(set(labels) - set(named)), sorted(set(named) - set(labels))
    if unknown or missing:
        raise InvalidProblem(
            f"{field}: its nodes are not the elements: {shown(unknown[:4])} are no elements, {shown(missing[:4])} are missing "
            f"({len(unknown)} and {len(missing)} in all); name the nodes like the elements, one node for each.",
            value=unknown[:4],
        )
    number = {name: i for i, name in enumerate(named)}
    return {node: number[label] for node, label in zip(listed, labels, strict=True)}


def _numbered(listed: list[Node], field: str) -> dict[Node, int]:
    numbers = set(range(len(listed)))
    odd = next((node for node in listed if isinstance(node, bool) or node not in numbers), None)
    if odd is not None:
        raise InvalidProblem(
            f"{field}: the node {shown(odd)} is no element number from 0 to {len(listed) - 1}; name the elements, "
            "elements=workload.elements, so that nodes are matched by label (elements=list(G.nodes), where the elements are in "
            "the order of the nodes)."
        )
    return {node: int(str(node)) for node in listed}


def network_edges(source: Any, elements: Any, weight: str, field: str) -> tuple[list[tuple[int, int, Any]], int]:
    """The edges of an undirected graph by the numbers of their elements, of length 1 where they carry no `weight`;
    and how many elements there are."""
    if source.is_directed():
        raise InvalidProblem(f"{field}: is directed, but a change and its reverse have one budget; pass G.to_undirected().")
    place = places(source.nodes, elements, field)
    return [(place[u], place[v], length) for u, v, length in source.edges(data=weight, default=1.0)], len(place)


EDGE = Named("edge", list_of(PLACE, least=2, most=2))


@dataclass(frozen=True, eq=False)
class Graph(Metric):
    """d(i, j) = per_edge * length of the shortest path; `edges` (E, 2) with i < j in rising order, `weights` (E,) positive.

    Path lengths are compared and summed in exact integers: every weight is a whole multiple of one power of two. matched:
    the names that the elements were matched by, which a problem compares with its workload; no spec keeps them. nodes: N, the
    number of elements.
    """

    nodes: int
    edges: Indices
    weights: Floats
    per_edge: float
    matched: tuple[str, ...] | None = None
    kind = "graph"
    schema = of_kind(
        "relation",
        kind,
        {"nodes": COUNT, "edges": list_of(EDGE, least=0), "weights": list_of(POSITIVE, least=0), "per_edge": POSITIVE},
        "Shortest paths; each edge joins two elements, the lower number first, edges in rising order.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        # A shortest path has fewer edges than there are nodes, each with one rounding of its weight and one of the sum.
        assign(self, budget_error=(self.nodes + 4) * 2.0**-51)

    @property
    def size(self) -> int:
        return self.nodes

    @cached_property
    def _lengths(self) -> tuple[list[int], Fraction]:
        """Edge lengths as whole numbers, and the budget of length 1."""
        if not len(self.weights):
            return [], Fraction(self.per_edge)
        rows, exponent = dyadic_integers(self.weights[None])
        return rows[0], Fraction(2) ** exponent * Fraction(self.per_edge)

    @cached_property
    def _neighbours(self) -> list[dict[int, int]]:
        """Length of the edge to each neighbour, by node."""
        near: list[dict[int, int]] = [{} for _ in range(self.nodes)]
        for (i, j), length in zip(self.edges.tolist(), self._lengths[0], strict=True):
            near[i][j] = near[j][i] = length
        return near

    def _path(self, start: int, end: int, limit: int | None = None, *, direct: bool = True) -> int | None:
        """Length of the shortest path of at most `limit`, without the edge itself unless `direct`; None where there is none."""
        best, waiting = {start: 0}, [(0, start)]
        while waiting:
            length, node = heapq.heappop(waiting)
            if node == end:
                return length
            if length > best[node]:
                continue
            for other, step in self._neighbours[node].items():
                further = length + step
                allowed = (limit is None or further <= limit) and (direct or {node, other} != {start, end})
                if allowed and further < best.get(other, further + 1):
                    best[other] = further
                    heapq.heappush(waiting, (further, other))
        return None

    @cached_property
    def needed(self) -> Indices:
        """Positions of the edges that are shorter than every other path between their ends."""
        kept = [
            e
            for e, ((i, j), length) in enumerate(zip(self.edges.tolist(), self._lengths[0], strict=True))
            if self._alone(i, j) > length or self._path(i, j, length, direct=False) is None
        ]
        return np.array(kept, dtype=np.intp)

    def _alone(self, i: int, j: int) -> float:
        """A lower bound for every other path from i to j: it leaves i and enters j by other edges, two of them."""
        least = (
            min((step for other, step in self._neighbours[a].items() if other != b), default=np.inf)
            for a, b in ((i, j), (j, i))
        )
        return sum(least)

    def is_vacuous(self) -> bool:
        return not len(self.edges)

    def blocks(self) -> Iterator[Block]:
        left, right = self.edges[self.needed].T
        yield Block(left, right, self.weights[self.needed] * self.per_edge)

    def rectangle(self, rows: slice, columns: slice) -> Floats:
        from scipy.sparse.csgraph import dijkstra

        lengths = dijkstra(self._matrix, directed=False, indices=np.arange(rows.start, rows.stop))
        return np.asarray(lengths[:, columns])

    @cached_property
    def _matrix(self) -> Any:
        return csr_edges(self.edges[:, 0], self.edges[:, 1], self.weights * self.per_edge, self.nodes)

    def components(self) -> Indices:
        return Relation.components(self)

    @cached_property
    def _longest(self) -> LongestPath:
        return longest_path(self._matrix, self.components())

    def largest_budget(self) -> float:
        """In very large graphs whose nodes are much alike a bound, as the sentence says."""
        return self._longest.stated

    def exact_budget(self, left: int, right: int) -> Fraction | None:
        length = self._path(left, right)
        return None if length is None else length * self._lengths[1]

    def sentence(self) -> str:
        span = f", of length {float(self.weights.min())!r} to {float(self.weights.max())!r}" if len(self.weights) else ""
        return (
            f"Any one record may change along the {len(self.edges)} edges of a graph of {self.nodes} elements{span}, with "
            f"budget "
            f"{self.per_edge!r} for every unit of the shortest path; elements that no path joins are not protected from each "
            f"other.{self._longest.words}"
        )

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> Graph:
        edges = [(*edge, weight) for edge, weight in zip(spec["edges"], spec["weights"], strict=True)]
        return graph(edges, per_edge=spec["per_edge"], nodes=spec["nodes"])


def graph(
    source: Any, *, per_edge: float = 1.0, nodes: int | None = None, elements: Any = None, weight: str = "weight"
) -> Graph:
    """Set d(i, j) = per_edge * length of the shortest path between i and j; infinite, that is unprotected, where there is none.

    Weights are positive, 1 where none is given; of parallel edges the shortest counts. For the leaves of a tree alone:
    `metrics.taxonomy`, or this and `metrics.restriction`. Raises `InvalidProblem` for edges to elements that there are not, and
    weights that are not positive.

    Parameters
    ----------
    source
        an undirected networkx graph, whose edges may carry a number called `weight`. Or a list of `(i, j)` or `(i, j,
        weight)` with element numbers, or their names where `elements` gives them.
    per_edge : nats for each unit of length.
    nodes : the number of elements, by default one more than the largest number.
    elements : a workload, or the list of the names, with which nodes are matched by label. Without, they must be 0, ..., N - 1.
    weight : the name of the lengths of a networkx graph.

    >>> path = graph([(0, 1), (1, 2, 0.5)], per_edge=2.0, nodes=4)
    >>> path.exact_budget(0, 2), path.exact_budget(0, 3)
    (Fraction(3, 1), None)
    """
    rate = _in_range(positive(per_edge, "metric.per_edge"), "metric.per_edge")
    named = None if elements is None else element_names(elements, "metric.elements")
    if is_network(source):
        listed, size = network_edges(source, named, weight, "metric.graph")
    else:
        listed = _of_list(source, named)
        size = 1 + max((max(i, j) for i, j, _ in listed), default=0) if named is None else len(named)
        size = size if nodes is None or named is not None else count(nodes, "metric.nodes")
    if nodes is not None and nodes != size:
        raise InvalidProblem(f"metric.nodes: {shown(nodes)}, but the graph has {size}; leave it out.", value=nodes)
    return _shortest(listed, size, rate, named)


def _shortest(listed: list[tuple[int, int, Any]], size: int, rate: float, labels: tuple[str, ...] | None) -> Graph:
    """The graph of checked edges, the shortest of parallel ones."""
    if size > MOST_GRAPH_NODES:
        raise InvalidProblem(f"metric.nodes: {shown(size)} are more than {MOST_GRAPH_NODES}; merge elements.", value=size)
    shortest: dict[tuple[int, int], float] = {}
    for e, (i, j, weight) in enumerate(listed):
        if not 0 <= min(i, j) <= max(i, j) < size or i == j:
            raise InvalidProblem(
                f"metric.edges[{e}]: joins {i} and {j} of {size} elements; give two different numbers from 0 to {size - 1}."
            )
        length = _in_range(positive(weight, f"metric.edges[{e}].weight"), f"metric.edges[{e}].weight")
        key = (min(i, j), max(i, j))
        shortest[key] = min(length, shortest.get(key, length))
    edges = sorted(shortest)
    pairs = np.array(edges, dtype=np.intp).reshape(-1, 2)
    lengths = frozen(np.array([shortest[edge] for edge in edges], dtype=np.float64))
    return Graph(size, frozen(pairs), lengths, rate, labels)


def _of_list(source: Any, named: tuple[str, ...] | None) -> list[tuple[int, int, Any]]:
    """Edges as (i, j, weight), from pairs and triples of numbers, or of names where the elements have them."""
    place = {} if named is None else {name: i for i, name in enumerate(named)}
    if isinstance(source, (str, bytes, Mapping)) or not isinstance(source, (Sequence, np.ndarray)):
        raise InvalidProblem(
            f"metric.edges: {shown(source)} is no graph; give a networkx graph or a list of (i, j) or (i, j, weight).",
            value=source,
        )
    listed = []
    for e, edge in enumerate(source):
        if not isinstance(edge, (Sequence, np.ndarray)) or len(edge) not in (2, 3):
            raise InvalidProblem(f"metric.edges[{e}]: {shown(edge)} is no edge; give (i, j) or (i, j, weight).", value=edge)
        i, j = (_number(end, e) if named is None else _named(str(end), e, place) for end in edge[:2])
        listed.append((i, j, edge[2] if len(edge) == 3 else 1.0))
    return listed


def _named(end: str, e: int, place: Mapping[str, int]) -> int:
    """The number of an element that an edge calls by its name."""
    if end not in place:
        raise InvalidProblem(
            f"metric.edges[{e}]: {shown(end)} is no element; the elements are {shown(list(place)[:4])}, ...", value=end
        )
    return place[end]


def _number(end: Any, e: int) -> int:
    """An element's number; a float is taken where it is whole, as in a table of numbers."""
    whole = isinstance(end, (int, np.integer)) or (isinstance(end, (float, np.floating)) and float(end).is_integer())
    if isinstance(end, bool) or not whole:
        raise InvalidProblem(f"metric.edges[{e}]: {shown(end)} is no element number; count elements from 0.", value=end)
    return int(end)


def _in_range(value: float, field: str) -> float:
    """Lengths and rates whose products and sums stay within the floats."""
    if not LEAST_BUDGET**0.5 <= value <= LARGEST_METRIC_BUDGET**0.5:
        raise InvalidProblem(f"{field}: {value} is out of range; choose units between 1e-100 and 1e100.", value=value)
    return value

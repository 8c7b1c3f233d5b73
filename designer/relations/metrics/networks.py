"""Graphs of networkx as input: nodes are elements by their labels, never by their place in the graph."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from designer.base.checks import names, shown
from designer.base.errors import InvalidProblem

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

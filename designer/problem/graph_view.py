"""The protected pairs of a relation as a graph of networkx: elements for nodes, budgets on edges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from designer.base.arrays import Floats
from designer.base.checks import names, shown
from designer.base.errors import InvalidProblem

# networkx keeps about 500 bytes for an edge: a quarter of a gigabyte.
MOST_EDGES = 500_000
ABSENT = "(no record)"  # the origin, where a record is absent

Pairs = Iterable[tuple[Any, Any, Floats]]


def point_names(elements: Sequence[object] | None, size: int, points: int) -> tuple[str, ...]:
    """Names of all points, those of the elements first: `e0, e1, ...` where none are given, as in a workload without names."""
    named = names(elements, size, "elements", "e")
    if points == size:
        return named
    if ABSENT in named:
        raise InvalidProblem(
            f"elements: {shown(ABSENT)} is the name of no record in this graph; give the element another one.", value=ABSENT
        )
    return (*named, ABSENT)


def networkx_graph(nodes: Sequence[str], pairs: Pairs, notes: Mapping[str, str]) -> Any:
    """An undirected `networkx.Graph` with the edge attribute `budget`, a float; of a pair that comes twice, the smaller one.

    pairs: left (E,), right (E,) and budgets (E,) in step, all finite. Refused above `MOST_EDGES` edges.
    """
    import networkx

    listed: list[tuple[Any, Any, Floats]] = []
    count = 0
    for left, right, budgets in pairs:
        listed.append((left, right, budgets))
        count += len(budgets)
        if count > MOST_EDGES:
            raise InvalidProblem(
                f"to_networkx: more than {MOST_EDGES:,} pairs of the {len(nodes):,} elements have a finite budget; ask for "
                "those that no others imply (implied=False), merge elements, or restrict the relation."
            )
    drawn = networkx.Graph(**notes)
    drawn.add_nodes_from(nodes)
    for left, right, budgets in listed:
        for i, j, budget in zip(left.tolist(), right.tolist(), budgets.tolist(), strict=True):
            known = drawn.get_edge_data(nodes[i], nodes[j], {"budget": np.inf})["budget"]
            drawn.add_edge(nodes[i], nodes[j], budget=min(known, budget))
    return drawn

"""A picture of what is protected from what: elements as points, as far apart as their budgets, joined where they are finite."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from designer.base.errors import InvalidProblem
from designer.reports.pictures.drawing import Drawing
from designer.reports.pictures.figures import check_picture
from designer.reports.pictures.labels import as_text, shortened
from designer.reports.pictures.style import ink
from designer.base.progress import announce
from designer.problem.graph_view import ABSENT
from designer.problem.relation import Relation
from designer.base.arrays import Floats

MOST_DRAWN = 60  # elements: the layout of so many takes two seconds, and more are a smear
MOST_NAMED = 40
WIDEST_NAME = 24


def relation_drawing(relation: Relation, elements: Sequence[object] | None = None) -> Drawing:
    """The pairs that no others imply are lines, coloured by their budget; where all budgets fit into a plane, distances are
    budgets. Refused above 60 elements, and for relations that are no graphs (see `to_networkx`)."""
    if relation.size > MOST_DRAWN:
        raise InvalidProblem(
            f"plot: {relation.size} elements are more than {MOST_DRAWN}; merge some, or draw relation.to_networkx() elsewhere."
        )
    whole, needed = (relation.to_networkx(elements, implied=implied) for implied in (True, False))
    alt = f"A graph of {relation.size} elements: {_title(whole, needed)}, longer lines and darker ones for larger budgets."
    return Drawing("relation", _title(whole, needed), alt, lambda axes: _draw_graph(axes, whole, needed), width=7.0, height=5.5)


def _draw_graph(axes: Any, whole: Any, needed: Any) -> None:
    announce(f"laying out {whole.number_of_nodes()} elements")
    places = _places(whole)
    lines = _draw_lines(axes, needed, places)
    if lines is not None and len(np.unique(lines.get_array())) > 1:
        axes.figure.colorbar(lines, ax=axes, label="budget of a change", shrink=0.8)
    spots = np.array([places[node] for node in needed.nodes])
    axes.scatter(*spots.T, s=36 if len(spots) <= MOST_NAMED else 9, color=ink(axes), zorder=2)
    named = places if len(places) <= MOST_NAMED else {}
    for name, spot in zip(shortened(list(named), WIDEST_NAME), named.values(), strict=True):
        as_text(axes.annotate(name, spot, xytext=(4, 4), textcoords="offset points", fontsize=8))
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.15)
    axes.set_axis_off()


def save_relation_picture(
    relation: Relation, path: str | Path, elements: Sequence[object] | None = None, *, replace: bool = True
) -> Path:
    """Draw the graph of a relation and write it, whole or not at all, in the format that the ending of its name says."""
    check_picture(Path(path))
    return relation_drawing(relation, elements).save(path, replace=replace)


def _title(whole: Any, needed: Any) -> str:
    """How many pairs are drawn and follow from them, and the budget where all have the same."""
    drawn, further = needed.number_of_edges(), whole.number_of_edges() - needed.number_of_edges()
    budgets = {budget for _, _, budget in needed.edges(data="budget")}
    each = f", budget {budgets.pop():.4g} each" if len(budgets) == 1 else ""
    return f"{drawn} protected pairs{each}" + (f"; {further} more follow" if further else "")


def _places(graph: Any) -> dict[Any, Floats]:
    """A point in the plane for every node; parts that nothing joins are put beside each other."""
    import networkx

    places: dict[Any, Floats] = {}
    edge = 0.0
    for part in sorted(networkx.connected_components(graph), key=len, reverse=True):
        piece = graph.subgraph(part)
        spots = _laid_out(piece)
        spots = spots - spots.min(axis=0) + [edge, 0.0]
        places.update(zip(piece.nodes, spots, strict=True))
        edge = float(spots[:, 0].max()) + 0.25 * max(float(np.ptp(spots[:, 0])), edge, 1e-9)
    return places


def _laid_out(piece: Any) -> Floats:
    """Points for the nodes of a connected part, (n, 2), budgets as distances by least stress (Kamada and Kawai 1989).

    Equal elements are put a hundredth of the largest budget apart, so that both are seen.
    """
    import networkx

    if len(piece) == 1:
        return np.zeros((1, 2))
    paths = dict(networkx.all_pairs_dijkstra_path_length(piece, weight="budget"))
    wanted = np.array([[paths[i][j] for j in piece.nodes] for i in piece.nodes])
    wanted = np.maximum(wanted, wanted.max() / 100 or 1.0)
    rows = (dict(zip(piece.nodes, row, strict=True)) for row in wanted.tolist())
    found = networkx.kamada_kawai_layout(piece, dist=dict(zip(piece.nodes, rows, strict=True)))
    spots = np.array([found[node] for node in piece.nodes])
    apart = np.linalg.norm(spots[:, None] - spots, axis=2)
    return np.asarray(spots * (wanted * apart).sum() / (apart**2).sum())


def _draw_lines(axes: Any, graph: Any, places: dict[Any, Floats]) -> Any:
    """One line for each pair, dashed to where there is no record, coloured by budget; None where there is no pair."""
    from matplotlib.collections import LineCollection

    if not graph.number_of_edges():
        return None
    edges = sorted(graph.edges(data="budget"), key=lambda edge: -edge[2])  # what is protected best lies on top
    dashes = ["--" if ABSENT in edge[:2] else "-" for edge in edges]
    lines = LineCollection(
        [(places[u], places[v]) for u, v, _ in edges],
        linestyles=dashes,
        cmap="viridis_r",
        linewidths=1.2 if len(edges) <= 200 else 0.5,
        zorder=1,
    )
    lines.set_array(np.array([budget for _, _, budget in edges]))
    axes.add_collection(lines)
    return lines

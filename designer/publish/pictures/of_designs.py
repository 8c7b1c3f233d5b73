"""A picture of what is protected from what: elements as points, as far apart as their budgets, joined where they are finite.

The standard error of every answer of a design, with what no additive noise can go below for that answer alone.

Pictures of a comparison: the loss of every family against the limit, and the noise of every query, family by family.

Error against budget as a picture: what `least_budget` found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from designer.base.arrays import Floats
from designer.base.errors import InvalidProblem
from designer.base.progress import announce
from designer.designing.factor_search import Reached
from designer.designing.least import LeastBudget
from designer.designing.least_noise import Limit, limit
from designer.designing.printouts import Row, loss_words
from designer.limits import MOST_DRAWN_ELEMENTS
from designer.mechanism.interface import Mechanism
from designer.problem.relation import ABSENT, Relation
from designer.problem.targets import WORDS
from designer.problem.workload import Workload
from designer.publish.pictures.drawing import Drawing
from designer.publish.pictures.figures import (
    MOST_NAMES,
    bars_by_name,
    check_picture,
    height_for,
    logarithmic,
    name_rows,
    remark,
    rest_words,
)
from designer.publish.pictures.labels import add_remark, as_text, legend, shortened
from designer.publish.pictures.numerals import for_people, no_less, ticks_for_people
from designer.publish.pictures.of_mechanisms import errors_of
from designer.publish.pictures.style import colour, ink, series_style
from designer.relations.problem import Problem

MOST_ELEMENTS = 3000  # whose pairs are looked at for every answer


def with_limits(own: tuple[Drawing, ...], problem: Problem, mechanism: Mechanism) -> tuple[Drawing, ...]:
    """The pictures of a mechanism, its standard errors beside the limit of each answer alone."""
    if not limits_apply(problem):
        return own
    errors = next((drawing for drawing in own if drawing.name == "errors"), None)
    if errors is None:
        return own
    drawn = replace(
        errors,
        title="Standard error of each answer and its limit",
        alt=f"{errors.alt[:-1]}, with a line where no additive noise for that answer alone goes below.",
        draw=lambda axes: _draw(axes, problem, mechanism),
        height=height_for(len(problem.workload.queries)),
    )
    return tuple(drawn if drawing is errors else drawing for drawing in own)


def limits_apply(problem: Problem) -> bool:
    """Whether the limit of each answer alone is known, and quickly."""
    queries, elements = problem.workload.shape
    return queries <= MOST_NAMES and elements <= MOST_ELEMENTS and problem.notion != "approximate" and problem.records is None


def least_errors(problem: Problem) -> Floats:
    """For each answer the least standard error of additive noise that keeps the promise for it alone, (K,); not a number where
    no limit is known."""
    rows = problem.workload.dense()
    return np.array([_least_error(problem, rows[k : k + 1]) for k in range(len(rows))])


def _least_error(problem: Problem, row: Floats) -> float:
    alone = replace(problem, workload=Workload(row, None, problem.workload.elements), loss="squared", weights=None)
    try:
        found = limit(alone, rows=0)
    except InvalidProblem:  # such as a query that no protected change moves
        return float("nan")
    return float("nan") if found is None else float(np.sqrt(found.value))


def _draw(axes: Any, problem: Problem, mechanism: Mechanism) -> None:
    least = least_errors(problem)
    bars_by_name(axes, *errors_of(mechanism))
    known = np.flatnonzero(np.isfinite(least) & (least > 0))
    axes.vlines(least[known], known - 0.42, known + 0.42, color=ink(axes), linewidth=1.6)
    low, high = axes.get_xlim()
    axes.set_xlim(min([low, *(0.9 * least[known]).tolist()]), high)
    if len(known):
        remark(axes, "upright line: the limit for that answer alone")


def comparison_drawings(problem: Any, rows: Sequence[Row], limit: Limit | None) -> tuple[Drawing, ...]:
    """A picture of the losses, best first, and of linear queries one of the noise of each answer; none where no family has a
    mechanism."""
    made = sorted((row for row in rows if row["loss"] is not None), key=lambda row: row["loss"])
    if not made:
        return ()
    label = loss_words(problem)
    least = "" if limit is None else f"; no noise added to the answers loses less than {for_people(limit.value)}"
    families = (
        f"Bars for the {label} of {len(made)} families, from {no_less(made[0]['loss'])} ({made[0]['family']}) to "
        f"{no_less(made[-1]['loss'])} ({made[-1]['family']}){least}."
    )
    height = max(height_for(len(made)), 3.4)
    losses = Drawing(
        "families", "Loss by family", families, lambda axes: _draw_families(axes, made, limit, label), height=height
    )
    if not isinstance(problem, Problem):
        return (losses,)
    queries, told = problem.workload.queries, [row for row in made if row["scales"] is not None]
    if not told:
        return (losses,)
    deviations = (
        f"A row for each of {len(queries)} queries, with the standard deviation of its noise under {len(told)} families."
    )
    return (
        losses,
        Drawing(
            "deviations",
            "Noise by query and family",
            deviations,
            lambda axes: _draw_deviations(axes, told, queries),
            width=7.4,
            height=max(height, height_for(len(queries))),
        ),
    )


def _draw_families(axes: Any, rows: Sequence[Row], limit: Limit | None, label: str) -> None:
    bars_by_name(axes, [row["family"] for row in rows], np.array([row["loss"] for row in rows]), label, best=0)
    if limit is not None and limit.value > 0:
        axes.axvline(limit.value, color=ink(axes), linestyle="--", linewidth=1)
        add_remark(axes, f"dashed: the limit, {for_people(limit.value)}")
        low, high = axes.get_xlim()
        axes.set_xlim(min(low, limit.value * 0.9), high)


def _draw_deviations(axes: Any, rows: Sequence[Row], queries: Sequence[str]) -> None:
    """The queries by the noise of the best family, the largest thirty of many."""
    noise = np.sqrt(2) * np.array([row["scales"] for row in rows])
    places = np.argsort(-noise[0], kind="stable")[:MOST_NAMES]
    logarithmic(axes.xaxis, noise[:, places].ravel())
    handles = []
    for series, values in enumerate(noise):
        handles += axes.plot(values[places], np.arange(len(places)), **{**series_style(series), "linewidth": 0.7})
    name_rows(axes, [queries[place] for place in places.tolist()])
    axes.set_xlabel("standard deviation of the noise")
    axes.grid(axis="x", alpha=0.25)
    if len(places) < len(queries):
        add_remark(axes, rest_words(noise[0], places))
    ticks_for_people(axes.xaxis)
    legend(axes, handles, [row["family"] for row in rows], loc="upper left", bbox_to_anchor=(1.0, 1.0))


def budget_drawings(found: LeastBudget) -> tuple[Drawing, ...]:
    """Error against budget, both on logarithmic axes, with the targets."""
    alt = (
        f"Error over target against the factor on all budgets, both logarithmic: at {for_people(found.factor, 4)}, with "
        f"{found.best.family}, all {len(found.reached)} targets are met, below it one is missed."
    )
    return (Drawing("budget", "Error against budget", alt, lambda axes: _draw_budget(axes, found), width=8.0),)


def representatives(reached: Sequence[Reached], most: int = 6) -> list[int]:
    """Places of the queries that a picture can show: of each kind and value of a target the farthest, at most so many."""
    worst: dict[tuple[str, float], int] = {}
    for place, one in enumerate(reached):
        key = (one.target.kind, one.target.value)
        if key not in worst or one.ratio > reached[worst[key]].ratio:
            worst[key] = place
    return sorted(worst.values(), key=lambda place: -reached[place].ratio)[:most]


def _draw_budget(axes: Any, found: LeastBudget) -> None:
    """A line for one query of each target, the farthest from it: its error over the target, met from 1 on downwards; the least
    factor as a vertical line, and a mark where each family first meets all targets."""
    factors = [point.factor for point in found.curve]
    handles, names = [], []
    for series, place in enumerate(representatives(found.reached)):
        target = found.reached[place].target
        (line,) = axes.plot(factors, [p.reached[place].ratio for p in found.curve], **series_style(series))
        handles.append(line)
        names.append(f"{target.query}: {WORDS[target.kind]} {for_people(target.value)}")
    axes.axhline(1.0, color=ink(axes), linestyle="--", linewidth=1)
    axes.axvline(found.factor, color=ink(axes), linewidth=1)
    axes.set_xscale("log")
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.set_ylim(low, high)
    axes.axhspan(1.0, max(high, 1.0), color=colour(5), alpha=0.06, linewidth=0)
    for words, height, alignment in (("missed", 1.03, "bottom"), ("met", 0.97, "top")):
        axes.annotate(words, (1.0, height), xycoords=("axes fraction", "data"), ha="right", va=alignment, fontsize=8)
    for series, row in enumerate(sorted(_with_factor(found.rows), key=lambda row: row["factor"]), start=len(handles)):
        marked = {"marker": "^", "markersize": 7, "linestyle": "", "transform": axes.get_xaxis_transform(), "clip_on": False}
        (mark,) = axes.plot([row["factor"]], [0.0], color=colour(series), **marked)
        handles.append(mark)
        names.append(f"all met by {row['family']} at {for_people(row['factor'], 4)}")
    axes.set_xlabel(f"factor on all budgets{'' if found.rho_factor is None else '; its square is the factor on rho'}")
    axes.set_ylabel(f"error over target, {found.best.family}")
    ticks_for_people(axes.xaxis)
    ticks_for_people(axes.yaxis)
    legend(axes, handles, names, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _with_factor(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [row for row in rows if row["factor"] is not None]


MOST_NAMED = 40
WIDEST_NAME = 24


def relation_drawing(relation: Relation, elements: Sequence[object] | None = None) -> Drawing:
    """The pairs that no others imply are lines, coloured by their budget; where all budgets fit into a plane, distances are
    budgets. Refused above 60 elements, and for relations that are no graphs (see `to_networkx`)."""
    if relation.size > MOST_DRAWN_ELEMENTS:
        raise InvalidProblem(
            f"plot: {relation.size} elements are more than {MOST_DRAWN_ELEMENTS}; merge some, or draw relation.to_networkx() "
            "elsewhere."
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

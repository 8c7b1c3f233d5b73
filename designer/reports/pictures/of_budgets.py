"""Error against budget as a picture: what `least_budget` found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from designer.designing.accuracy import Reached
from designer.designing.least import LeastBudget
from designer.reports.pictures.drawing import Drawing
from designer.reports.pictures.labels import legend
from designer.reports.pictures.numerals import for_people, ticks_for_people
from designer.reports.pictures.style import colour, ink, series_style
from designer.problem.targets import WORDS


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

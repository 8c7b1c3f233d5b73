"""Pictures of a comparison: the loss of every family against the limit, and the noise of every query, family by family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from designer.designing.comparison_words import Row, loss_words
from designer.families.least_noise import Limit
from designer.relations.problem import Problem
from designer.reports.pictures.charts import MOST, bars_by_name, height_for, logarithmic, name_rows, rest_words
from designer.reports.pictures.drawing import Drawing
from designer.reports.pictures.labels import legend, said
from designer.reports.pictures.numerals import for_people, no_less, ticks_for_people
from designer.reports.pictures.style import ink, series_style


def comparison_drawings(problem: Problem, rows: Sequence[Row], limit: Limit | None) -> tuple[Drawing, ...]:
    """Two pictures of the rows with a mechanism, best first; none where there is none."""
    made = sorted((row for row in rows if row["loss"] is not None), key=lambda row: row["loss"])
    if not made:
        return ()
    label = loss_words(problem)
    least = "" if limit is None else f"; no additive noise loses less than {for_people(limit.value)}"
    families = (
        f"Bars for the {label} of {len(made)} families, from {no_less(made[0]['loss'])} ({made[0]['family']}) to "
        f"{no_less(made[-1]['loss'])} ({made[-1]['family']}){least}."
    )
    queries = problem.workload.queries
    deviations = (
        f"A row for each of {len(queries)} queries, with the standard deviation of its noise under {len(made)} families."
    )
    height = max(height_for(len(made)), 3.4)
    return (
        Drawing("families", "Loss by family", families, lambda axes: _draw_families(axes, made, limit, label), height=height),
        Drawing(
            "deviations",
            "Noise by query and family",
            deviations,
            lambda axes: _draw_deviations(axes, made, queries),
            width=7.4,
            height=max(height, height_for(len(queries))),
        ),
    )


def _draw_families(axes: Any, rows: Sequence[Row], limit: Limit | None, label: str) -> None:
    bars_by_name(axes, [row["family"] for row in rows], np.array([row["loss"] for row in rows]), label, best=0)
    if limit is not None and limit.value > 0:
        axes.axvline(limit.value, color=ink(axes), linestyle="--", linewidth=1)
        said(axes, f"dashed: the limit, {for_people(limit.value)}")
        low, high = axes.get_xlim()
        axes.set_xlim(min(low, limit.value * 0.9), high)


def _draw_deviations(axes: Any, rows: Sequence[Row], queries: Sequence[str]) -> None:
    """The queries by the noise of the best family, the largest thirty of many."""
    noise = np.sqrt(2) * np.array([row["scales"] for row in rows])
    places = np.argsort(-noise[0], kind="stable")[:MOST]
    logarithmic(axes.xaxis, noise[:, places].ravel())
    handles = []
    for series, values in enumerate(noise):
        handles += axes.plot(values[places], np.arange(len(places)), **{**series_style(series), "linewidth": 0.7})
    name_rows(axes, [queries[place] for place in places.tolist()])
    axes.set_xlabel("standard deviation of the noise")
    axes.grid(axis="x", alpha=0.25)
    if len(places) < len(queries):
        said(axes, rest_words(noise[0], places))
    ticks_for_people(axes.xaxis)
    legend(axes, handles, [row["family"] for row in rows], loc="upper left", bbox_to_anchor=(1.0, 1.0))

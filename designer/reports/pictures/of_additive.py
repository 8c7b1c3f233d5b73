"""What is drawn of every mechanism for linear queries: the noise of each answer, its cloud, and the norm ball behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from designer.mechanisms.additive.interface import Mechanism
from designer.reports.pictures.drawn_balls import DrawnBall, ball_drawing, boundary
from designer.certified.norms import Norm
from designer.base.errors import DesignFailed
from designer.relations.metrics.points import GreatCircle
from designer.reports.pictures.charts import bars_by_name, remark, size_for
from designer.reports.pictures.drawing import Drawing
from designer.reports.pictures.labels import as_text, legend, shortened, with_unit
from designer.reports.pictures.maps import map_drawing, neighbourhood_drawing
from designer.reports.pictures.numerals import for_people, no_less, ticks_for_people
from designer.reports.pictures.style import colour, ink
from designer.problem.relation import Relation
from designer.base.answer_table import AnswerTable
from designer.base.arrays import Floats

DRAWS, SEED = 2000, 0
LEVELS = (1.0, 2.0, 4.0)  # lengths at which the ball is drawn around a cloud


def mechanism_drawings(mechanism: Mechanism) -> tuple[Drawing, ...]:
    """The standard error of every answer, a cloud of noise in the first two, the norm ball in two or three dimensions, and the
    neighbourhoods of places on the globe."""
    ball = ball_of(mechanism)
    found = [_errors_where_known(mechanism), noise_drawing(mechanism), None if ball is None else ball_drawing(ball)]
    found.append(neighbourhoods(mechanism.relation, mechanism.workload.elements))
    return tuple(drawing for drawing in found if drawing is not None)


def neighbourhoods(relation: Relation, elements: Sequence[str]) -> Drawing | None:
    """Around each place the distance that costs a budget of 1, where budgets are distances on the globe."""
    if not isinstance(relation, GreatCircle):
        return None
    return neighbourhood_drawing(relation.places, np.full(relation.size, 1 / relation.per_km), elements)


def release_maps(mechanism: Mechanism, tables: Sequence[AnswerTable]) -> tuple[Drawing, ...]:
    """Released counts of places at their places; none where elements are no places, or other queries were asked."""
    if not isinstance(mechanism.relation, GreatCircle) or not mechanism.workload.is_identity or len(tables) != 1:
        return ()
    names = mechanism.workload.elements
    label = with_unit("noisy answer", mechanism.about.unit(names[0]))
    return (map_drawing(mechanism.relation.places, tables[0].answers, names, "Noisy answers on a map", label),)


def ball_of(mechanism: Mechanism) -> DrawnBall | None:
    """The norm that the noise follows with what it must contain, in measured coordinates; None for noise without a norm."""
    norm = getattr(mechanism, "norm", None)
    if not isinstance(norm, Norm) or norm.silent.all():
        return None
    own = norm.dimension == mechanism.workload.shape[0] and _on_answers(mechanism)
    names = mechanism.workload.queries if own else [f"measurement {k + 1}" for k in range(norm.dimension)]
    return DrawnBall(norm, mechanism.sensitivity(), names)


def errors_of(mechanism: Mechanism) -> tuple[Sequence[str], Floats, str]:
    """The names of the answers, their standard errors, (K,), and what the axis of these is called; what an answer is counted in
    stands beside its name, or, where it is the same for all, beside the label."""
    names, unit = mechanism.workload.queries, mechanism.about.unit
    units = {unit(name) for name in names}
    label = "standard error of the noise"
    if len(units) == 1:
        return names, mechanism.standard_errors(), with_unit(label, units.pop())
    return [with_unit(name, unit(name)) for name in names], mechanism.standard_errors(), label


def _errors_where_known(mechanism: Mechanism) -> Drawing | None:
    try:
        return errors_drawing(mechanism)
    except DesignFailed:  # no variance of a chain is proven
        return None


def errors_drawing(mechanism: Mechanism) -> Drawing:
    """Bars: the standard error of every answer, the largest thirty of many."""
    names, errors, label = errors_of(mechanism)
    low, high = int(errors.argmin()), int(errors.argmax())
    ends = f"from {no_less(errors[low])} ({names[low]}) to {no_less(errors[high])} ({names[high]})"
    if len({mechanism.about.unit(name) for name in mechanism.workload.queries}) > 1:
        ends = "each in its own unit"
    alt = f"Bars for the standard errors of {len(errors)} answers, {ends}."

    def draw(axes: Any) -> None:
        bars_by_name(axes, names, errors, label)

    return Drawing("errors", "Standard error of each answer", alt, draw, **size_for(names))


def noise_drawing(mechanism: Mechanism, first: int = 0, second: int = 1) -> Drawing:
    """Simulated draws of the noise in two answers, with the norm ball around them where it lives on these; of a single answer
    its histogram."""
    if mechanism.workload.shape[0] == 1:
        alt = f"Histogram of {DRAWS} simulated draws of the noise in the answer."
        return Drawing("noise", "Simulated noise", alt, lambda axes: _draw_histogram(axes, mechanism))
    names = [mechanism.workload.queries[k] for k in (first, second)]
    alt = f"A cloud of {DRAWS} simulated draws of the noise in the answers {names[0]} and {names[1]}, around no noise."
    return Drawing("noise", "Simulated noise in two answers", alt, lambda axes: _draw_cloud(axes, mechanism, first, second))


def _draw_histogram(axes: Any, mechanism: Mechanism) -> None:
    draws = np.asarray(mechanism.sample_noise(DRAWS, seed=SEED))[:, 0]
    axes.hist(draws, bins=41, color=colour(0), alpha=0.8)
    error = float(mechanism.standard_errors()[0])
    for place in (-error, error):
        axes.axvline(place, color=ink(axes), linewidth=1, linestyle="--")
    as_text(axes.set_xlabel(noise_label(mechanism, 0)))
    remark(axes, "a simulation, no release; dashed: one standard error")
    axes.set_ylabel(f"of {DRAWS} simulated draws")
    ticks_for_people(axes.xaxis)


def _draw_cloud(axes: Any, mechanism: Mechanism, first: int, second: int) -> None:
    draws = np.asarray(mechanism.sample_noise(DRAWS, seed=SEED))[:, [first, second]]
    dots = axes.scatter(*draws.T, s=5, color=colour(1), alpha=0.45, linewidths=0, rasterized=True)
    handles, names = [dots], [f"{DRAWS} simulated draws"]
    for level, outline in levels(mechanism):
        (line,) = axes.plot(*outline.T, color=colour(0), linewidth=1.1)
        if level == LEVELS[0]:
            handles.append(line)
            names.append(f"shifts that spend {', '.join(for_people(level) for level in LEVELS)}")
    reach = 1.05 * np.abs(draws).max(axis=0, initial=0.0)
    for axis, far, place in zip("xy", reach.tolist(), (first, second), strict=True):
        if far:
            getattr(axes, f"set_{axis}lim")(-far, far)
        line = getattr(axes, f"{axis}axis")
        as_text(line.set_label_text(noise_label(mechanism, place)))
        ticks_for_people(line)
    legend(axes, handles, names, loc="upper left", bbox_to_anchor=(1.0, 1.0), markerscale=2.0)
    remark(axes, "a simulation, no release")


def noise_label(mechanism: Mechanism, place: int) -> str:
    """What an axis of noise in one answer is called, with its unit."""
    query = mechanism.workload.queries[place]
    return with_unit(f"noise in {shortened([query])[0]}", mechanism.about.unit(query))


def levels(mechanism: Mechanism) -> list[tuple[float, Floats]]:
    """Shifts of two answers that spend the same, for the budgets `LEVELS`, (n, 2) each, in the order of turns; none where the
    norm does not live on these two answers."""
    ball = ball_of(mechanism)
    if ball is None or len(ball.heard) != 2 or mechanism.workload.shape[0] != 2 or not _on_answers(mechanism):
        return []
    outline = boundary(ball)
    return [(level, level * outline) for level in LEVELS]


def _on_answers(mechanism: Mechanism) -> bool:
    return getattr(mechanism, "measured", None) is None and getattr(mechanism, "cells", None) is None

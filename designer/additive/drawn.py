"""What is drawn of every mechanism for linear queries: the noise of each answer, its cloud, and the norm ball behind it."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from designer.certified.drawn_balls import DrawnBall, ball_drawing, boundary
from designer.certified.norms import Norm
from designer.certified.sensitivity import SensitivitySet
from designer.pictures.charts import bars_by_name, height_for, remark
from designer.pictures.drawing import Drawing
from designer.pictures.labels import as_text, legend, shortened
from designer.pictures.numerals import for_people, ticks_for_people
from designer.pictures.style import colour, ink
from designer.question.workload import Workload
from designer.values.arrays import Floats

DRAWS, SEED = 2000, 0
LEVELS = (1.0, 2.0, 4.0)  # lengths at which the ball is drawn around a cloud


class Drawable(Protocol):
    """What a mechanism for linear queries says of its noise."""

    workload: Workload
    family: str

    def standard_errors(self) -> Floats:
        """(K,), of the answers."""

    def sensitivity(self) -> SensitivitySet:
        """In the coordinates of the norm."""

    def sample_noise(self, size: int, seed: int | None = None) -> Any:
        """(size, K), simulated."""


def mechanism_drawings(mechanism: Drawable) -> tuple[Drawing, ...]:
    """The standard error of every answer, a cloud of noise in the first two, and the norm ball in two or three dimensions."""
    ball = ball_of(mechanism)
    found = [errors_drawing(mechanism), noise_drawing(mechanism), None if ball is None else ball_drawing(ball)]
    return tuple(drawing for drawing in found if drawing is not None)


def ball_of(mechanism: Drawable) -> DrawnBall | None:
    """The norm that the noise follows with what it must contain, in measured coordinates; None for noise without a norm."""
    norm = getattr(mechanism, "norm", None)
    if not isinstance(norm, Norm) or norm.silent.all():
        return None
    own = norm.dimension == mechanism.workload.shape[0] and getattr(mechanism, "measured", None) is None
    names = mechanism.workload.queries if own else [f"measurement {k + 1}" for k in range(norm.dimension)]
    return DrawnBall(norm, mechanism.sensitivity(), names)


def errors_drawing(mechanism: Drawable) -> Drawing:
    """Bars: the standard error of every answer, the largest thirty of many."""
    errors, names = mechanism.standard_errors(), mechanism.workload.queries
    low, high = int(errors.argmin()), int(errors.argmax())
    alt = (
        f"Bars for the standard errors of {len(errors)} answers, from {for_people(errors[low])} ({names[low]}) to "
        f"{for_people(errors[high])} ({names[high]})."
    )

    def draw(axes: Any) -> None:
        bars_by_name(axes, names, errors, "standard error of the noise")

    return Drawing("errors", "Standard error of each answer", alt, draw, height=height_for(len(errors)))


def noise_drawing(mechanism: Drawable, first: int = 0, second: int = 1) -> Drawing:
    """Simulated draws of the noise in two answers, with the norm ball around them where it lives on these; of a single answer
    its histogram."""
    if mechanism.workload.shape[0] == 1:
        alt = f"Histogram of {DRAWS} simulated draws of the noise in the answer."
        return Drawing("noise", "Simulated noise", alt, lambda axes: _draw_histogram(axes, mechanism))
    names = [mechanism.workload.queries[k] for k in (first, second)]
    alt = f"A cloud of {DRAWS} simulated draws of the noise in the answers {names[0]} and {names[1]}, around no noise."
    return Drawing("noise", "Simulated noise in two answers", alt, lambda axes: _draw_cloud(axes, mechanism, first, second))


def _draw_histogram(axes: Any, mechanism: Drawable) -> None:
    draws = np.asarray(mechanism.sample_noise(DRAWS, seed=SEED))[:, 0]
    axes.hist(draws, bins=41, color=colour(0), alpha=0.8)
    error = float(mechanism.standard_errors()[0])
    for place in (-error, error):
        axes.axvline(place, color=ink(axes), linewidth=1, linestyle="--")
    as_text(axes.set_xlabel(f"noise in {shortened(mechanism.workload.queries)[0]} (dashed: one standard error)"))
    axes.set_ylabel(f"of {DRAWS} simulated draws")
    ticks_for_people(axes.xaxis)


def _draw_cloud(axes: Any, mechanism: Drawable, first: int, second: int) -> None:
    draws = np.asarray(mechanism.sample_noise(DRAWS, seed=SEED))[:, [first, second]]
    dots = axes.scatter(*draws.T, s=5, color=colour(1), alpha=0.45, linewidths=0)
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
        as_text(line.set_label_text(f"noise in {shortened([mechanism.workload.queries[place]])[0]}"))
        ticks_for_people(line)
    legend(axes, handles, names, loc="upper left", bbox_to_anchor=(1.0, 1.0), markerscale=2.0)
    remark(axes, "a simulation, no release")


def levels(mechanism: Drawable) -> list[tuple[float, Floats]]:
    """Shifts of two answers of the same length, for the lengths `LEVELS`, (n, 2) each; none where the norm lives elsewhere."""
    ball = ball_of(mechanism)
    if (
        ball is None
        or len(ball.heard) != 2
        or mechanism.workload.shape[0] != 2
        or list(ball.names) != list(mechanism.workload.queries)
    ):
        return []
    outline = boundary(ball)
    return [(level, level * outline) for level in LEVELS]

"""How likely a selection is to prefer the worse of two candidates, by the gap between their scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from designer.reports.pictures.drawing import Drawing
from designer.reports.pictures.labels import legend
from designer.reports.pictures.numerals import for_people, ticks_for_people
from designer.reports.pictures.style import colour, ink
from designer.base.arrays import Floats

TAIL = 0.05
REACH = 8.0  # of the axis, in units of 1 / rate


def chance_of_worse(law: str, rate: float, gaps: Floats) -> Floats:
    """The probability that the worse of two candidates is chosen, whose scores lie so far apart, (n,).

    The exponential law chooses with weights `exp(rate score)`; permutation and flip takes the worse one first half of the time,
    and keeps it with probability `exp(-rate gap)`.
    """
    falling = np.exp(-rate * np.asarray(gaps, dtype=np.float64))
    return np.asarray(falling / (1 + falling) if law == "exponential" else falling / 2)


def selection_drawings(law: str, rate: float, shortfall: float) -> tuple[Drawing, ...]:
    """A curve of that probability, and the gap that the chosen candidate exceeds with probability 5 % at most.

    shortfall: that gap, among all candidates.
    """
    far = max(REACH / rate, 1.1 * shortfall)
    alt = (
        f"A falling curve: of two candidates the worse one is chosen with probability 1/2 where their scores are equal, and "
        f"{for_people(float(chance_of_worse(law, rate, np.array([far / 2]))[0]))} where they lie {for_people(far / 2)} apart."
    )

    def draw(axes: Any) -> None:
        gaps = np.linspace(0.0, far, 401)
        (line,) = axes.plot(gaps, chance_of_worse(law, rate, gaps), color=colour(0))
        bound = axes.axvline(shortfall, color=ink(axes), linestyle="--", linewidth=1)
        axes.set_xlabel("gap between the scores of two candidates")
        axes.set_ylabel("probability of choosing the worse")
        axes.set_ylim(0.0, 0.52)
        ticks_for_people(axes.xaxis)
        names = ["the worse of two", f"with {1 - TAIL:.0%} the choice lies within {for_people(shortfall)} of the best"]
        legend(axes, [line, bound], names, loc="upper right")

    return (Drawing("choice", "Choosing the worse of two candidates", alt, draw),)

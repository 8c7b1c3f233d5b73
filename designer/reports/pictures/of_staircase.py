"""The profile of stairs: how probable each step of the noise is."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.reports.pictures.drawing import Drawing
from designer.reports.pictures.numerals import for_people, ticks_for_people
from designer.reports.pictures.style import colour
from designer.mechanisms.staircase.noise import Stairs
from designer.base.arrays import Floats

FLOORS = 8  # of the stairs to each side that are drawn


def profile(noise: Stairs, steps: NDArray[Any]) -> Floats:
    """The probability of each of some numbers of steps, (n,): constant up to the top, then `exp(-unit)` times less with every
    width."""
    levels = np.maximum(0, -((noise.top - np.abs(steps)) // noise.width))
    ratio = math.exp(-float(noise.unit))
    total = 2 * noise.top + 1 + 2 * noise.width * ratio / (1 - ratio)
    return np.asarray(ratio**levels / total)


def stairs_drawing(noise: Stairs, step: float) -> Drawing:
    """The probabilities of multiples of a step, as a line of stairs."""
    reach = noise.top + FLOORS * noise.width
    share, fall = float(profile(noise, np.zeros(1))[0]) * (2 * noise.top + 1), for_people(math.exp(-float(noise.unit)))
    alt = f"Stairs around 0: {for_people(share)} of the probability is on the top; each floor has {fall} times that before it."

    def draw(axes: Any) -> None:
        ends = np.array([-reach, *_edges(noise), reach])
        middles = np.round((ends[:-1] + ends[1:]) / 2)
        axes.stairs(profile(noise, middles) / step, ends * step, color=colour(0), fill=True, alpha=0.8)
        axes.set_xlabel("noise")
        axes.set_ylabel("probability density")
        ticks_for_people(axes.xaxis)
        ticks_for_people(axes.yaxis)

    return Drawing("profile", "The law of the noise", alt, draw)


def _edges(noise: Stairs) -> list[float]:
    """Where a floor ends, half a step beyond its last one."""
    right = [noise.top + k * noise.width + 0.5 for k in range(FLOORS)]
    return [-edge for edge in reversed(right)] + right

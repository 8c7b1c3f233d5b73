"""Tradeoff functions as curves: the type II error of the best test by its type I error, and delta by epsilon."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from designer.reports.pictures.drawing import Drawing
from designer.reports.pictures.labels import legend
from designer.reports.pictures.numerals import for_people, ticks_for_people
from designer.reports.pictures.style import ink, series_style
from designer.base.arrays import Floats

PLACES = 401


class TypeTwo(Protocol):
    """A tradeoff function."""

    def type_two(self, alpha: Any) -> Floats:
        """beta(alpha)."""


def tradeoff_drawing(curves: Mapping[str, TypeTwo]) -> Drawing:
    """The curves by name in one picture, with the line on which nothing at all is learnt."""
    middle = ", ".join(f"{for_people(float(curve.type_two(0.05)))} for {name}" for name, curve in curves.items())
    alt = f"Type II error by type I error of the best test between neighbouring data sets; at a type I error of 5 %: {middle}."

    def draw(axes: Any) -> None:
        alphas = np.linspace(0.0, 1.0, PLACES)
        handles = []
        for series, curve in enumerate(curves.values()):
            handles += axes.plot(alphas, curve.type_two(alphas), **{**series_style(series), "marker": None, "linewidth": 1.6})
        handles += axes.plot([0, 1], [1, 0], color=ink(axes), linestyle="--", linewidth=0.9)
        axes.set(xlabel="type I error", ylabel="least type II error", xlim=(0, 1), ylim=(0, 1))
        axes.set_aspect("equal")
        legend(axes, handles, [*curves, "nothing is learnt"], loc="upper right")

    return Drawing("tradeoff", "What any test can tell", alt, draw, width=5.0, height=4.6)


def delta_drawing(delta_at: Callable[[float], float], most: float, name: str) -> Drawing:
    """Delta by epsilon, from 0 to the largest that is of interest, on a logarithmic axis."""
    half = for_people(delta_at(most / 2))
    alt = f"Delta by epsilon of {name}: {half} at epsilon {for_people(most / 2)}, falling."

    def draw(axes: Any) -> None:
        epsilons = np.linspace(0.0, most, 33)
        deltas = np.array([delta_at(float(epsilon)) for epsilon in epsilons])
        seen = deltas > 0
        axes.plot(epsilons[seen], deltas[seen], **series_style(0))
        axes.set_yscale("log")
        axes.set(xlabel="epsilon", ylabel="least delta")
        axes.grid(alpha=0.25)
        ticks_for_people(axes.xaxis)
        ticks_for_people(axes.yaxis)

    return Drawing("delta", "Delta by epsilon", alt, draw)

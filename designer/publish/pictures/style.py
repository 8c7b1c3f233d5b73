"""Colours, dashes and marks: no two series of a picture look alike, and each is seen on white and on black."""

from __future__ import annotations

from typing import Any

# Chosen so that each has at least three times the luminance of near-black and a third of that of white, and so that no two are
# near each other, to people with normal sight and to those who lack one kind of cone (models of Machado et al. 2009).
PALETTE = ("#3a5ce1", "#dc6008", "#27752b", "#9542b1", "#0ba2b4", "#ce0830", "#7c9f2b", "#c2777a")
DASHES = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)), (0, (8, 3, 3, 3)))
MARKS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "p")


def colour(place: int) -> str:
    """The colour of a series; after the eighth they come again, with other dashes and marks."""
    return PALETTE[place % len(PALETTE)]


def series_style(place: int) -> dict[str, Any]:
    """Colour, dashes and mark of the series at a place; no two of the first 440 are the same.

    >>> series_style(0)["color"] == series_style(8)["color"], series_style(0)["linestyle"] == series_style(8)["linestyle"]
    (True, False)
    """
    dashes = DASHES[(place // len(PALETTE)) % len(DASHES)]
    return {
        "color": colour(place),
        "linestyle": dashes,
        "marker": MARKS[place % len(MARKS)],
        "markersize": 3.5,
        "linewidth": 1.2,
    }


def ink(axes: Any) -> Any:
    """The colour in which lines that are no data are drawn: that of the letters of the axes, whatever style made them."""
    return axes.xaxis.label.get_color()

"""Places on a map: colours, or circles of kilometres, at longitudes and latitudes, without a net and without tiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from designer.base.arrays import Floats, real_array
from designer.base.checks import shown
from designer.base.errors import InvalidProblem
from designer.publish.pictures.drawing import Drawing
from designer.publish.pictures.labels import as_text, shortened
from designer.publish.pictures.numerals import for_people, ticks_for_people
from designer.publish.pictures.style import colour

KM_PER_DEGREE = 6371.0088 * np.pi / 180  # of a great circle of the mean sphere (radius R1 of the IUGG)
MOST_NAMED = 12
MOST_DRAWN = 1500  # places that are drawn one by one in SVG and PDF; more are an image within them
MOST_RINGS = 100  # circles that are drawn one by one: each is as much text as seventy dots
TURNS = 73
LEAST_SEEN = 0.05  # share of the places whose values, and those without logarithms, have the colour of the least


def checked_places(places: object) -> Floats:
    """Latitudes and longitudes in degrees, (n, 2); `InvalidProblem` for others."""
    found = real_array(places, "places", 2)
    if found.shape[1] != 2 or not len(found) or (np.abs(found) > [90.0, 360.0]).any():
        raise InvalidProblem(
            f"places: {shown(found.tolist())} are no latitudes and longitudes in degrees, one row each; give an array of two "
            "columns.",
        )
    return found


def map_drawing(places: object, values: object, names: Sequence[str], title: str, label: str, name: str = "map") -> Drawing:
    """Values at places, as colours and areas of dots; the largest are named.

    places: (n, 2), latitude and longitude in degrees. values: (n,). label: what they are, with the unit.
    """
    spots, heights = checked_places(places), real_array(values, "values", 1)
    if not len(spots) == len(heights) == len(names):
        raise InvalidProblem(
            f"places: {len(spots)} places, {len(heights)} values and {len(names)} names differ; give one each."
        )
    low, high = int(heights.argmin()), int(heights.argmax())
    alt = (
        f"A map of {len(spots)} places: {label}, from {for_people(heights[low])} ({names[low]}) to {for_people(heights[high])} "
        f"({names[high]})."
    )
    return Drawing(
        name, title, alt, lambda axes: _draw_values(axes, spots, heights, names, label), width=7.6, height=_height(spots)
    )


def neighbourhood_drawing(places: object, radii_km: Floats, names: Sequence[str]) -> Drawing:
    """Around each place, (n, 2), the circle of that many kilometres, (n,), within which a change of place costs a budget of at
    most 1: under a pure promise it shifts the odds by at most e."""
    spots = checked_places(places)
    least, most = for_people(float(np.min(radii_km))), for_people(float(np.max(radii_km)))
    how = least if least == most else f"{least} to {most}"
    alt = f"A map of {len(spots)} places, each with a circle of {how} km within which a move costs a budget of at most 1."
    title = f"Within {how} km a move costs a budget of at most 1"
    return Drawing(
        "neighbourhoods", title, alt, lambda axes: _draw_circles(axes, spots, radii_km), width=7.6, height=_height(spots)
    )


def _centre(spots: Floats) -> float:
    return float((spots[:, 0].min() + spots[:, 0].max()) / 2)


def _height(spots: Floats) -> float:
    """Inches that fit the shape of the map, within limits."""
    tall, wide = np.ptp(spots[:, 0]), np.ptp(spots[:, 1]) * np.cos(np.radians(_centre(spots)))
    return float(np.clip(6.2 * (tall + 2) / (wide + 2), 2.8, 7.5)) + 0.6


def _draw_values(axes: Any, spots: Floats, values: Floats, names: Sequence[str], label: str) -> None:
    reach = float(np.abs(values).max()) or 1.0
    signed = bool(values.min() < -reach / 10)
    span: dict[str, Any] = {"cmap": "coolwarm", "vmin": -reach, "vmax": reach} if signed else {"cmap": "viridis"}
    low = float(np.quantile(values[values > 0], LEAST_SEEN)) if (values > 0).any() else reach
    wide = not signed and reach / low > 30
    if wide:
        from matplotlib.colors import LogNorm

        span["norm"] = LogNorm(low, reach)
    order = np.argsort(values, kind="stable")
    sizes = 8 + 60 * np.abs(values) / reach if len(values) > 1 and values.min() != values.max() else np.full(len(values), 16.0)
    span |= {"s": sizes[order], "rasterized": len(spots) > MOST_DRAWN}
    dots = axes.scatter(spots[order, 1], spots[order, 0], c=values[order], linewidths=0, alpha=0.85, **span)
    extend = "min" if wide and values.min() < low else "neither"
    bar = axes.figure.colorbar(dots, ax=axes, shrink=0.75, pad=0.01, extend=extend)
    ticks_for_people(bar.ax.yaxis)
    bar.set_label(label, parse_math=False)
    _name(axes, spots, values, names)
    _ground(axes, spots)


def _name(axes: Any, spots: Floats, values: Floats, names: Sequence[str]) -> None:
    """Names of the places with the largest values that leave room for each other."""
    named: list[Floats] = []
    apart = np.maximum(np.ptp(spots, axis=0), 1e-9) * [0.04, 0.13]
    short = shortened(names, 18)
    for place in np.argsort(-np.abs(values), kind="stable")[: 5 * MOST_NAMED].tolist():
        if len(named) < MOST_NAMED and all((np.abs(spots[place] - other) > apart).any() for other in named):
            named.append(spots[place])
            as_text(axes.annotate(short[place], spots[place][::-1], (4, 3), textcoords="offset points", fontsize=7))


def circle(place: Floats, radius_km: float) -> Floats:
    """Points at that distance from a place on the sphere, (TURNS, 2), latitude and longitude in degrees."""
    turns = np.linspace(0.0, 2 * np.pi, TURNS)
    angle, latitude = np.radians(min(radius_km / KM_PER_DEGREE, 179.0)), np.radians(place[0])
    up = np.arcsin(np.clip(np.sin(latitude) * np.cos(angle) + np.cos(latitude) * np.sin(angle) * np.cos(turns), -1, 1))
    along = np.arctan2(np.sin(turns) * np.sin(angle) * np.cos(latitude), np.cos(angle) - np.sin(latitude) * np.sin(up))
    return np.stack([np.degrees(up), place[1] + np.degrees(along)], axis=1)


def _draw_circles(axes: Any, spots: Floats, radii: Floats) -> None:
    from matplotlib.collections import LineCollection

    rings = [circle(spot, radius)[:, ::-1] for spot, radius in zip(spots, np.asarray(radii).tolist(), strict=True)]
    many = len(spots) > MOST_DRAWN
    axes.add_collection(LineCollection(rings, colors=colour(0), linewidths=0.5, alpha=0.5, rasterized=len(spots) > MOST_RINGS))
    axes.scatter(spots[:, 1], spots[:, 0], s=5, color=colour(1), linewidths=0, zorder=3, rasterized=many)
    _ground(axes, spots)


def _ground(axes: Any, spots: Floats) -> None:
    """Degrees along the sides; a degree of longitude as long as it is in the middle of the map."""
    axes.set_aspect(1 / max(0.05, float(np.cos(np.radians(_centre(spots))))), adjustable="datalim")
    for axis, ends, name in ((axes.xaxis, "EW", "longitude"), (axes.yaxis, "NS", "latitude")):
        axis.set_major_formatter(_degrees(ends))
        axis.set_label_text(name)
    axes.grid(alpha=0.2)
    axes.autoscale_view()


def _degrees(ends: str) -> Any:
    return lambda value, place: "0°" if value == 0 else f"{for_people(abs(value), 6)}°{ends[0] if value > 0 else ends[1]}"

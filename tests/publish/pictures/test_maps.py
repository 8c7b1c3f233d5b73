"""Maps: places where they are, circles of so many kilometres, a degree of longitude as long as it is there."""

from __future__ import annotations

import numpy as np
import pytest

from designer.base.errors import InvalidProblem
from designer.publish.pictures.maps import circle, map_drawing, neighbourhood_drawing
from designer.relations.metrics import great_circle

PLACES = np.array([[41.85, -87.65], [40.71, -74.0], [34.05, -118.24]])
NAMES = ["Chicago", "New York", "Los Angeles"]


def test_every_point_of_a_circle_costs_a_budget_of_one() -> None:
    """By the metric of the package, which knows nothing of circles."""
    for place in [*PLACES, [0.0, 179.5], [-65.0, 20.0]]:
        ring = circle(np.asarray(place), 250.0)
        ring[:, 1] = (ring[:, 1] + 180) % 360 - 180
        budgets = great_circle(np.concatenate([[place], ring]), 1 / 250.0).distances()[0, 1:]
        assert budgets == pytest.approx(np.ones(len(ring)), rel=1e-6)


def test_dots_lie_at_longitude_and_latitude_with_their_values() -> None:
    pytest.importorskip("matplotlib")
    values = np.array([5.0, 500000.0, 70.0])
    drawing = map_drawing(PLACES, values, NAMES, "People", "people (thousands)")
    axes = drawing.plot()
    dots = axes.collections[0]
    order = np.argsort(values)
    assert np.asarray(dots.get_offsets()).tolist() == PLACES[order][:, ::-1].tolist()
    assert dots.get_array().tolist() == values[order].tolist()
    assert axes.get_aspect() == pytest.approx(1 / np.cos(np.radians((41.85 + 34.05) / 2)))
    assert {text.get_text() for text in axes.texts} == set(NAMES)
    assert "from 5 (Chicago) to 500,000 (New York)" in drawing.alt


def test_neighbourhoods_are_drawn_around_every_place() -> None:
    pytest.importorskip("matplotlib")
    axes = neighbourhood_drawing(PLACES, np.array([20.0, 20.0, 20.0]), NAMES).plot()
    rings = axes.collections[0].get_segments()
    assert [ring.tolist() for ring in rings] == [circle(place, 20.0)[:, ::-1].tolist() for place in PLACES]


def test_what_is_no_map_is_refused() -> None:
    for places in ([[91.0, 0.0]], [[0.0, 400.0]], [[1.0, 2.0, 3.0]]):
        with pytest.raises(InvalidProblem, match="no latitudes and longitudes"):
            map_drawing(places, [1.0], ["a"], "t", "l")
    with pytest.raises(InvalidProblem, match="3 places, 2 values and 3 names differ"):
        map_drawing(PLACES, [1.0, 2.0], NAMES, "t", "l")


def test_several_hundred_circles_leave_a_page_small() -> None:
    pytest.importorskip("matplotlib")
    spots = np.random.default_rng(0).random((755, 2)) * [25, 60] + [24, -125]
    drawing = neighbourhood_drawing(spots, np.full(755, 20.0), [str(k) for k in range(755)])
    assert len(drawing.svg()) < 400_000


def test_very_many_places_are_an_image_within_the_picture() -> None:
    pytest.importorskip("matplotlib")
    spots = np.random.default_rng(0).random((3000, 2)) * [25, 60] + [24, -125]
    drawing = map_drawing(spots, np.arange(3000.0), [str(k) for k in range(3000)], "t", "people")
    text = drawing.svg()
    assert text.count("<image") >= 1 and len(text) < 1_500_000 and text == drawing.svg()

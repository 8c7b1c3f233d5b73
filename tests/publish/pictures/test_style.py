"""Colours are told apart on white and on black, by everybody; no two series look alike."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from designer.publish.pictures.style import PALETTE, series_style

# Machado, Oliveira and Fernandes 2009, severity 1: linear light as seen without one kind of cone.
SIGHTS = {
    "normal": np.eye(3),
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(colour: str) -> np.ndarray:
    digits = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return np.where(digits <= 0.04045, digits / 12.92, ((digits + 0.055) / 1.055) ** 2.4)


def lab(light: np.ndarray) -> np.ndarray:
    scaled = (TO_XYZ @ np.clip(light, 0, 1)) / [0.95047, 1.0, 1.08883]
    x, y, z = np.where(scaled > 0.008856, np.cbrt(scaled), 7.787 * scaled + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("colour", PALETTE)
@pytest.mark.parametrize("ground", ["#ffffff", "#151515"])
def test_every_colour_stands_out_from_a_light_and_a_dark_page(colour: str, ground: str) -> None:
    low, high = sorted(float(TO_XYZ[1] @ linear(c)) for c in (colour, ground))
    assert (high + 0.05) / (low + 0.05) >= 3.0


@pytest.mark.parametrize("sight", SIGHTS)
def test_no_two_colours_are_near_each_other_to_any_sight(sight: str) -> None:
    seen = [lab(np.array(SIGHTS[sight]) @ linear(colour)) for colour in PALETTE]
    assert min(float(np.linalg.norm(a - b)) for a, b in combinations(seen, 2)) > 13.0


def test_no_two_of_hundreds_of_series_are_the_same() -> None:
    looks = {(s["color"], str(s["linestyle"]), s["marker"]) for s in map(series_style, range(440))}
    assert len(looks) == 440 and series_style(0)["linestyle"] == "-"

"""Answers at places: each answer at the place of its own name, in whatever order a table lists the places."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from designer import InvalidProblem, Problem, Workload, design, metrics, placed_drawing

pytest.importorskip("matplotlib")
PLACES = {"Linz": (48.3, 14.29), "Ulm": (48.4, 9.99), "Brig": (46.32, 7.99), "Rom": (41.9, 12.5)}
ASKED = ["Rom", "Linz", "Brig"]


def written(folder: Path, rows: dict[str, tuple[float, float]]) -> Path:
    """A table of places, in which columns and rows stand in an order of their own."""
    path = folder / "places.csv"
    path.write_text("longitude,town,latitude\n" + "".join(f"{east},{town},{north}\n" for town, (north, east) in rows.items()))
    return path


def test_every_answer_stands_at_its_own_place(tmp_path: Path) -> None:
    mechanism = design(Problem(Workload(np.eye(3), ASKED), metrics.add_remove(3, [0.5, 1.0, 2.0])), "laplace").mechanism
    path = written(tmp_path, PLACES)
    released = mechanism.release([100, 2000, 30000])
    for made, values in ((None, mechanism.standard_errors()), (released, released.answers)):
        dots = placed_drawing(mechanism, made, path).plot().collections[0]
        spots = map(tuple, np.asarray(dots.get_offsets()).tolist())
        drawn = dict(zip(spots, np.asarray(dots.get_array()).tolist(), strict=True))
        assert drawn == {PLACES[town][::-1]: value for town, value in zip(ASKED, values.tolist(), strict=True)}
    with pytest.raises(InvalidProblem, match=r"no column of .* names all answers"):
        placed_drawing(mechanism, None, written(tmp_path, {"Linz": (48.3, 14.29)}))

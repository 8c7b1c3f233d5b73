"""Pictures of a user's own: drawn by the name under which they were registered, and by no other."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest

from designer import Comparison, InvalidProblem, Problem, Workload, compare, metrics, plot
from designer.extend import figure, register_picture


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return compare(Problem(Workload.identity(2), metrics.uniform(2, 1.0)), ["laplace"])


def gaps(comparison: Comparison) -> Any:
    drawing, axes = figure()
    axes.bar([row["family"] for row in comparison.rows], [row["gap"] for row in comparison.rows])
    return drawing


def test_a_picture_of_ones_own_is_drawn_from_the_comparison(comparison: Comparison, tmp_path: Path) -> None:
    name, seen = uuid.uuid4().hex, []
    register_picture(name, lambda given: (seen.append(given), gaps(given))[1])
    path = plot(comparison, tmp_path / "own.svg", kind=name)
    assert seen == [comparison] and b"<svg" in path.read_bytes()
    with pytest.raises(InvalidProblem, match="exists"):
        plot(comparison, path, kind=name, replace=False)


def test_names_are_given_once(comparison: Comparison) -> None:
    for taken in ("families", "", 3):
        with pytest.raises(InvalidProblem, match="taken, or is no name"):
            register_picture(taken, gaps)  # type: ignore[arg-type]
    with pytest.raises(InvalidProblem, match="draws nothing"):
        register_picture(uuid.uuid4().hex, None)  # type: ignore[arg-type]


def test_what_is_not_registered_or_no_figure_is_refused_and_nothing_is_written(comparison: Comparison, tmp_path: Path) -> None:
    with pytest.raises(InvalidProblem, match="'unknown' is no picture; use one of"):
        plot(comparison, tmp_path / "x.png", kind="unknown")
    name = uuid.uuid4().hex
    register_picture(name, lambda given: "no figure")
    with pytest.raises(InvalidProblem, match="return a figure"):
        plot(comparison, tmp_path / "x.png", kind=name)
    assert list(tmp_path.iterdir()) == []

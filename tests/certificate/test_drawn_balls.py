"""Norm balls as drawn: every point of an outline has norm 1, and every protected difference lies within."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from designer import InvalidProblem, Problem, Workload, design, metrics, norm_ball
from designer.mechanism.interface import Mechanism
from designer.publish.pictures.balls import ball_corners, boundary, faces, shadow
from designer.publish.pictures.of_mechanisms import LEVELS, ball_of, levels

FAMILIES = ("k_norm", "ellipsoid", "laplace", "box", "l2_ball", "capped_l1")
PLACES = np.random.default_rng(2).random((12, 2))


def made(family: str, queries: int) -> Mechanism:
    problem = Problem(Workload.random(queries, 12, seed=1), metrics.euclidean(PLACES, 4.0))
    return design(problem, family).mechanism


@pytest.mark.parametrize("family", FAMILIES)
def test_outlines_have_norm_one_and_hold_every_difference(family: str) -> None:
    mechanism = made(family, 2)
    ball = ball_of(mechanism)
    assert ball is not None
    outline, points = boundary(ball), ball.differences()
    assert mechanism.norm(outline) == pytest.approx(np.ones(len(outline)), rel=1e-12)  # type: ignore[attr-defined]
    ratios = mechanism.norm(points)  # type: ignore[attr-defined]
    assert ratios.max() <= 1 + 1e-9 and ratios.max() > 1 - 1e-6
    one_way = mechanism.sensitivity().all_pairs().normalised
    both = {tuple(row) for row in np.concatenate([one_way, -one_way]).tolist()}
    assert {tuple(row) for row in points.tolist()} == both


def test_of_many_differences_those_of_largest_norm_are_drawn_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = made("k_norm", 2)
    every = ball_of(mechanism)
    assert every is not None and every.words == "protected differences u / b"
    monkeypatch.setattr("designer.publish.pictures.balls.MOST_PAIRS", 20)
    some = ball_of(mechanism)
    assert some is not None and some.words == "protected differences u / b, those of largest norm"
    drawn, norms = some.differences(), mechanism.norm(every.differences())  # type: ignore[attr-defined]
    assert 0 < len(drawn) < len(every.differences()) and {*map(tuple, drawn)} <= {*map(tuple, every.differences())}
    assert mechanism.norm(drawn).max() == norms.max()  # type: ignore[attr-defined]


@pytest.mark.parametrize("family", ["k_norm", "laplace", "box"])
def test_the_outline_of_a_polygon_is_the_hull_of_its_corners(family: str) -> None:
    """Its area is that of the corners alone, by Qhull: no corner is cut."""
    from scipy.spatial import ConvexHull

    ball = ball_of(made(family, 2))
    assert ball is not None
    found = ball_corners(ball)
    assert found is not None
    (x, y), (right, up) = boundary(ball)[:-1].T, boundary(ball)[1:].T
    assert abs(float((x * up - right * y).sum())) / 2 == pytest.approx(ConvexHull(found).volume, rel=1e-12)


@pytest.mark.parametrize("family", ["k_norm", "laplace", "box"])
def test_corners_and_faces_in_space_have_norm_one(family: str) -> None:
    mechanism = made(family, 3)
    ball = ball_of(mechanism)
    assert ball is not None
    found = ball_corners(ball)
    assert found is not None and mechanism.norm(found) == pytest.approx(np.ones(len(found)), rel=1e-10)  # type: ignore[attr-defined]
    made_of = faces(found)
    middles = np.array([face.mean(axis=0) for face in made_of])
    assert mechanism.norm(middles) == pytest.approx(np.ones(len(middles)), rel=1e-7)  # type: ignore[attr-defined]
    expected = {"laplace": (8, 3), "box": (6, 4)}.get(family)
    assert expected is None or ({len(made_of)}, {len(face) for face in made_of}) == ({expected[0]}, {expected[1]})


@pytest.mark.parametrize("family", FAMILIES)
def test_a_shadow_is_that_of_the_ball(family: str) -> None:
    """No point of the ball falls outside, by rays thrown at random, and it reaches as far as the dual norm everywhere."""
    mechanism = made(family, 4)
    ball = ball_of(mechanism)
    assert ball is not None
    outline = shadow(ball, [0, 2])
    rays = np.random.default_rng(0).normal(size=(4000, 4)) * np.abs(ball.differences()).max(axis=0)
    corners = ball_corners(ball)
    inside = ball.reached(np.concatenate([rays, ball.differences()[:500]] + ([] if corners is None else [corners])))[:, [0, 2]]
    turns = np.linspace(0, 2 * np.pi, 90)
    for t in np.stack([np.cos(turns), np.sin(turns)], axis=1):
        reach = float((outline @ t).max())
        assert float((inside @ t).max()) <= reach * (1 + 1e-9)
        side = np.zeros((1, 4))
        side[0, [0, 2]] = t
        assert reach == pytest.approx(float(ball.norm.reach(side)[0]), rel=2e-4)


def test_levels_around_a_cloud_are_what_shifts_spend() -> None:
    for family in ("k_norm", "ellipsoid", "laplace"):
        mechanism = design(Problem(Workload([[1, 0, 0], [0, 1, 0]]), metrics.uniform(3, 1.0)), family).mechanism
        drawn = levels(mechanism)
        assert [level for level, _ in drawn] == list(LEVELS)
        for level, outline in drawn:
            spent = mechanism.privacy_loss(answers=outline)
            assert spent == pytest.approx(np.full(len(outline), level), rel=1e-9)


def test_a_reader_chooses_two_queries_of_many() -> None:
    pytest.importorskip("matplotlib")
    mechanism = made("k_norm", 4)
    axes = norm_ball(mechanism, ["q0", "q2"]).plot()
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("change of q0", "change of q2")
    ball = ball_of(mechanism)
    assert ball is not None and np.array_equal(axes.lines[0].get_xydata(), shadow(ball, [0, 2]))
    with pytest.raises(InvalidProblem, match="has 4 dimensions; choose two"):
        norm_ball(mechanism)
    with pytest.raises(InvalidProblem, match="'q9' is not measured with noise"):
        norm_ball(mechanism, ["q0", "q9"])
    with pytest.raises(InvalidProblem, match="no two of the 4 coordinates"):
        norm_ball(mechanism, ["q0", "q0"])
    assert norm_ball(made("k_norm", 3)).depth
    stairs = design(Problem(Workload([[0, 5, 2]]), metrics.uniform(3, 4.0)), "staircase").mechanism
    with pytest.raises(InvalidProblem, match="follows no norm"):
        norm_ball(stairs)


def test_faces_of_a_long_box_are_its_six_rectangles() -> None:
    corners = np.array(list(product((-1.0, 1.0), (-100.0, 100.0), (-1e-3, 1e-3))))
    found = faces(corners)
    assert len(found) == 6 and all(len(face) == 4 for face in found)
    for face in found:  # in order around: opposite sides are equal
        sides = np.linalg.norm(np.roll(face, -1, axis=0) - face, axis=1)
        assert sides[0] == pytest.approx(sides[2]) and sides[1] == pytest.approx(sides[3])

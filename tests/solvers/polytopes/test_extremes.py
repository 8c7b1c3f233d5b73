"""Which of many points are vertices, round by round, against a hull of all of them; and hulls that are forecast too large."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from solvers.polytopes import extremes
from solvers.polytopes.extremes import (
    Push,
    corners_among,
    extreme_rows,
    foretold,
    foretold_at_random,
    hull_directions,
    simplices_of_corners,
)
from solvers.polytopes.facets import FacetCandidates, HullFailed, candidate_simplices
from solvers.solution import Status
from solvers.work import OutOfWork, within


def sphere(count: int, dimension: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    points = np.random.default_rng(dimension).normal(size=(count, dimension))
    return np.asarray(points / np.linalg.norm(points, axis=1)[:, None])


@pytest.mark.parametrize("dimension", [2, 3, 5])
def test_rounds_end_with_the_vertices_of_the_hull_of_all_points(dimension: int) -> None:
    outer = sphere(40, dimension)
    points = np.vstack([0.5 * outer, outer, 0.9 * outer[:20]])
    told: list[str] = []
    rows, found = extreme_rows(points, Push.generic(len(points)), 10**6, "qhull", told.append)
    whole = ConvexHull(np.vstack([points, -points]))
    assert set(rows.tolist()) == {row % len(points) for row in whole.vertices.tolist()}
    assert told[-1] == f"{len(rows)} pairs of points span {2 * len(found.simplices):,} simplices, at least 0 lie outside"
    assert len(told) > 1


def test_rounds_end_where_the_twin_of_a_corner_is_hidden_by_the_push_of_others() -> None:
    """A corner that stands out by less than pushes add, several times and with its antipode: each is met once."""
    for seed in range(20):
        rows = np.array([[1.0, 0.0], [0.0, 1.0], *[[0.5001, 0.5001]] * 3, [-0.5001, -0.5001]])
        rows = rows[np.random.default_rng(seed).permutation(len(rows))]
        with within(0.2):
            chosen, _ = extreme_rows(rows, Push.generic(len(rows)), 1000, "qhull")
        assert {tuple(np.abs(row)) for row in rows[chosen]} == {(1.0, 0.0), (0.0, 1.0), (0.5001, 0.5001)}
        assert len(chosen) == 3


def test_rounds_end_where_their_work_is_done() -> None:
    points = sphere(40, 3)
    with within(0.0) as budget, pytest.raises(OutOfWork):
        extreme_rows(points, Push.generic(len(points)), 10**6, "qhull")
    assert budget.cut and budget.spent == 0


def test_a_hull_that_is_forecast_far_above_the_limit_is_refused_while_it_is_small() -> None:
    """The hull of all 300 points has more than the limit; the largest that was built has fewer."""
    points, told = sphere(300, 6), list[str]()
    with pytest.raises(HullFailed, match=r"has about .* or more boundary simplices, above max_simplices = 20,000") as refused:
        extreme_rows(points, Push.generic(len(points)), 20_000, "qhull", told.append)
    assert refused.value.status is Status.TOO_LARGE
    built = [int(line.split("span ")[1].split()[0].replace(",", "")) for line in told]
    assert max(built) < 20_000 < len(ConvexHull(np.vstack([points, -points])).simplices)


def test_a_forecast_goes_on_as_the_last_points_did() -> None:
    assert foretold([(4, 40), (6, 100), (10, 500)], 7) == 500 + 7 * 100
    assert foretold([(6, 100), (10, 90)], 7) == 90


@pytest.mark.parametrize(("count", "dimension"), [(30, 4), (40, 5), (28, 6), (24, 7)])
def test_a_forecast_of_points_that_join_at_random_is_near_the_hull_of_all(
    count: int, dimension: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a tenth of the hull on, whose growth is measured to its end."""
    grown = growth_of(sphere(count, dimension), 10**6, monkeypatch)
    pairs, whole = grown[-1]
    assert pairs == count
    for known in range(2, len(grown)):
        before, simplices = grown[known - 1]
        if 10 * simplices > whole:
            told = foretold_at_random(grown[:known], pairs - before, dimension)
            assert 0.4 * whole < told < extremes.SURE * whole


def test_a_hull_of_corners_is_refused_at_a_small_part_of_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what fits into the limit is built."""
    points = sphere(30, 7)
    pairs, whole = growth_of(points, 10**6, monkeypatch)[-1]
    assert growth_of(points, whole, monkeypatch)[-1] == (pairs, whole)
    limit = whole // 3
    grown = growth_of(points, limit, monkeypatch)
    assert grown[-1][1] < limit / 2


def growth_of(points: np.ndarray[tuple[int, int], np.dtype[np.float64]], limit: int, patched: Any) -> list[tuple[int, int]]:
    """Numbers of pairs of points and of simplices of a hull that grows, up to its end or to its refusal."""
    grown, heard = list[tuple[int, int]](), extremes._Growth.heard

    def hear(growth: Any, pairs: int, simplices: int) -> None:
        grown.append((pairs, simplices))
        heard(growth, pairs, simplices)

    with patched.context() as held, suppress(HullFailed):
        held.setattr(extremes._Growth, "heard", hear)
        simplices_of_corners(points, Push.generic(len(points)), limit)
    return grown


def one_of_each(found: FacetCandidates, count: int) -> set[tuple[int, ...]]:
    """Each simplex by the smaller of its labels and those of its antipode."""
    both = [(sorted(row), sorted((label + count) % (2 * count) for label in row)) for row in found.simplices.tolist()]
    return {tuple(min(pair)) for pair in both}


@pytest.mark.parametrize("dimension", [2, 3, 5])
def test_linear_programs_tell_the_corners(dimension: int) -> None:
    """Against Qhull: points outside, inside, and in the middle of an edge or a facet."""
    outer = sphere(30, dimension)
    hull = ConvexHull(np.vstack([outer, -outer]))
    on_it = np.vstack([outer, -outer])[hull.simplices[:5]].mean(axis=1)
    points = np.vstack([on_it, 0.7 * outer[:10], outer])
    told = corners_among(points, np.arange(len(points)))
    assert set(told.tolist()) == {row % len(points) for row in ConvexHull(np.vstack([points, -points])).vertices.tolist()}
    assert len(told) == 30


def test_the_hull_of_numbers_is_the_longest_of_them() -> None:
    rows, normals = hull_directions(np.array([[0.5], [-4.0], [2.0]]), 1)
    assert rows.tolist() == [1] and normals.tolist() == [[0.25]]


@pytest.mark.parametrize("dimension", [3, 6])
def test_corners_that_join_one_after_the_other_have_the_hull_of_all(dimension: int) -> None:
    points = sphere(25, dimension)
    push = Push.generic(len(points))
    grown = simplices_of_corners(points, push, 10**6)
    whole = candidate_simplices(push.applied(points, np.arange(len(points))), "qhull")
    assert one_of_each(grown, len(points)) == one_of_each(whole, len(points))
    assert len(grown.simplices) == len(whole.simplices)


def test_a_hull_that_outgrows_the_work_that_is_left_is_given_up_while_it_is_small() -> None:
    points, told = sphere(150, 6), list[str]()
    with within(0.7) as budget, pytest.raises(OutOfWork, match=r"a hull of about [0-9,]+ simplices takes"):
        extreme_rows(points, Push.generic(len(points)), 10**6, "qhull", told.append)
    assert budget.spent < 0.65
    built = [int(line.split("span ")[1].split()[0].replace(",", "")) for line in told]
    assert max(built) < 0.5 * len(ConvexHull(np.vstack([points, -points])).simplices)
    with within() as budget:
        extreme_rows(points, Push.generic(len(points)), 10**6, "qhull")
    assert budget.spent > 0.7

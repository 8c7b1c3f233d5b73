"""Which of many points are vertices, round by round, against a hull of all of them; and hulls that are forecast too large."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from solvers.polytopes.extremes import Push, extreme_rows, foretold
from solvers.polytopes.facets import HullFailed
from solvers.status import Status
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


def test_rounds_end_where_their_work_is_done() -> None:
    points = sphere(40, 3)
    with within(0.0) as budget, pytest.raises(OutOfWork):
        extreme_rows(points, Push.generic(len(points)), 10**6, "qhull")
    assert budget.cut and budget.spent == 0


@pytest.mark.slow
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

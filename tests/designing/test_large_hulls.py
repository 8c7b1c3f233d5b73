"""K-norms of sets that are not written out, and biased designs of many elements, against those that are."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest

from designer import DesignFailed, Problem, Workload, design, metrics


def smooth(n: int, wide: int) -> Problem:
    draw = np.random.default_rng(2)
    places, centres = draw.random((n, 2)), draw.random((wide, 2))
    queries = [np.exp(-8 * ((places - centre) ** 2).sum(axis=1)) for centre in centres]
    return Problem(Workload(np.array(queries)), metrics.euclidean(places))


@pytest.mark.parametrize("wide", [1, 2, 3])
@pytest.mark.parametrize("scanned", [0, 10**9])
def test_a_hull_that_grows_from_scans_is_that_of_all_pairs(wide: int, scanned: int) -> None:
    expected = design(smooth(160, wide), "k_norm")
    with patch("designer.designing.k_norm.MOST_HULL_PAIRS", 100), patch("designer.problem.budget_bounds.SCANNED", scanned):
        grown = design(smooth(160, wide), "k_norm")
    assert grown.privacy.holds and grown.privacy.pairs == expected.privacy.pairs
    assert grown.loss == pytest.approx(expected.loss, rel=1e-5)


def test_a_hull_of_too_many_facets_is_refused_while_it_grows() -> None:
    with patch("designer.designing.k_norm.MOST_HULL_PAIRS", 100), pytest.raises(DesignFailed, match="max_simplices"):
        design(smooth(160, 3), "k_norm", max_simplices=40)


def test_biased_designs_find_shared_places_by_search() -> None:
    places = np.repeat(np.random.default_rng(0).random((40, 2)), 2, axis=0)
    query = np.repeat(np.random.default_rng(1).random((1, 40)), 2, axis=1)
    problem = Problem(Workload(query), metrics.euclidean(places), records=20.0)
    expected = design(problem, "laplace_joint")
    with patch("designer.problem.budget_bounds.SCANNED", 0), patch("designer.designing.laplace_joint.WRITTEN_OUT", 0):
        found = design(Problem(Workload(query), metrics.euclidean(places), records=20.0), "laplace_joint")
    assert found.loss == pytest.approx(expected.loss, rel=1e-5)

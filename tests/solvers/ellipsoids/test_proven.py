"""The proven dual bound of the ellipsoid program: below every covariance that is allowed, whatever the directions are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from solvers.ellipsoids.dual import proven_trace
from solvers.ellipsoids.program import minimise_maximum, minimise_trace


@pytest.mark.parametrize("seed", range(20))
def test_no_allowed_covariance_has_a_smaller_trace(seed: int) -> None:
    """Random covariances, vectors on their boundary, random frames and directions that prove little, or the best ones."""
    rng = np.random.default_rng(seed)
    queries, order, count = int(rng.integers(2, 6)), int(rng.integers(1, 3)), int(rng.integers(2, 9))
    root = rng.normal(size=(queries, queries)) * 10.0 ** rng.integers(-3, 4, queries)
    vectors = rng.normal(size=(count, queries)) @ root.T
    vectors /= np.linalg.norm(np.linalg.solve(root, vectors.T), axis=0)[:, None]  # r' S^-1 r = 1
    frame, directions = rng.normal(size=(queries, order)), rng.normal(size=(count, order))
    trace = float((root**2).sum())
    assert 0 <= proven_trace(vectors, np.zeros(count), frame, directions) <= trace * (1 + 1e-12)


def test_the_bound_is_what_rationals_say() -> None:
    """Diagonal Gram matrices, so that the spectral norms are rational."""
    vectors = np.array([[3.1, 0.2], [0.3, 1.7]])
    frame, directions = np.diag([1.0, 2.0]), np.diag([0.7, 0.1])
    exact = Fraction(0)
    for m in range(2):
        reach = Fraction(directions[m, m]) * Fraction(frame[m, m]) * Fraction(vectors[m, m])
        exact += reach**2
    exact /= Fraction(4) * Fraction(0.7) ** 2
    found = proven_trace(vectors, np.zeros(2), frame, directions)
    assert exact * (1 - Fraction(1, 10**13)) <= Fraction(found) <= exact
    assert proven_trace(vectors, np.full(2, 0.1), frame, directions) < 0.97 * float(exact)
    assert proven_trace(vectors * 1e-160, np.zeros(2), frame, directions) == 0.0


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_the_solvers_directions_prove_its_bound(seed: int, largest: bool) -> None:
    """`sum a a'` is the cost (of the mixture of queries), and the farthest row along each direction gives the bound."""
    rng = np.random.default_rng(seed)
    rows, queries = rng.normal(size=(30, 3)), rng.normal(size=(5, 3))
    found = minimise_maximum(rows, queries) if largest else minimise_trace(rows, queries.T @ queries)
    weights = found.point.query_weights if largest else np.ones(5)
    cost = (queries * weights[:, None]).T @ queries
    squares = found.point.directions.T @ found.point.directions
    scale = np.trace(squares) / np.trace(cost)
    assert squares / scale == pytest.approx(cost, abs=1e-6 * np.abs(cost).max())
    reached = (np.abs(rows @ found.point.directions.T).max(axis=0) ** 2).sum() / scale
    assert reached == pytest.approx(found.lower_bound, rel=2e-6)

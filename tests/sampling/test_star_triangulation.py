"""Determinants and facets of a star triangulation against Fractions and sets, and what is refused."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from designer.base.errors import InvalidProblem
from designer.certificate.norms import Gauge
from designer.mechanism.noise import gauge_parts
from designer.sampling.body_grids import certified_determinants
from solvers.exact.points import Points
from solvers.polytopes.extremes import on_an_ellipsoid
from solvers.polytopes.hull import convex_hull


def determinant(rows: list[list[Fraction]]) -> Fraction:
    """By the first row."""
    if not rows:
        return Fraction(1)
    minors = ([row[:k] + row[k + 1 :] for row in rows[1:]] for k in range(len(rows)))
    return sum(((-1) ** k * rows[0][k] * determinant(minor) for k, minor in enumerate(minors)), Fraction(0))


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_determinants_are_those_of_fractions(dimension: int) -> None:
    rng = np.random.default_rng(dimension)
    differences = rng.integers(-3, 4, (3 * dimension, dimension)).astype(float) + np.eye(3 * dimension, dimension) * 8
    norm = Gauge(differences, rng.random(3 * dimension) + 0.5, 0.7)
    steps = tuple(Fraction(k + 1, 3) for k in range(dimension))
    vertices, simplices, facets = gauge_parts(norm, steps)
    numbers, unit = certified_determinants(vertices, simplices, facets)
    assert [number * unit for number in numbers] == [determinant([list(vertices[i]) for i in row]) for row in simplices]


def test_an_index_beyond_the_vertices_is_refused() -> None:
    one = Fraction(1)
    with pytest.raises(InvalidProblem, match="2 is not the index of one of 2 vertices"):
        certified_determinants([[one], [-one]], [[0], [2]], [[one], [-one]])


def test_points_of_an_ellipsoid_are_all_vertices_of_their_hull() -> None:
    rng = np.random.default_rng(1)
    round_ = rng.standard_normal((20, 3))
    left, _, _ = np.linalg.svd(round_, full_matrices=False)
    swaps = np.array([[1, -1, 0, 0], [1, 0, -1, 0], [1, 0, 0, -1], [0, 1, -1, 0], [0, 1, 0, -1], [0, 0, 1, -1]], float)[:, :3]
    assert on_an_ellipsoid(swaps) and not on_an_ellipsoid(left) and not on_an_ellipsoid(np.vstack([swaps, swaps[:1] / 2]))
    assert len(convex_hull(Points.of(swaps.tolist())).vertices) == len(swaps)

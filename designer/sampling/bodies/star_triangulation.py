"""Proof, in rationals, that simplices with a corner at the origin triangulate a polytope."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from designer.errors import InvalidProblem

if TYPE_CHECKING:
    from flint import fmpq

Rationals = Sequence[Sequence[Fraction]]
Simplices = Sequence[Sequence[int]]


def certified_determinants(vertices: Rationals, simplices: Simplices, facets: Rationals) -> list[Fraction]:
    """`det(v_1 .. v_s)` of every simplex `conv(0, v_1 .. v_s)`, s! times its signed volume, once the triangulation is proven.

    `vertices` (n, s), `facets` (f, s) the normals of `{x : a_f . x <= 1}`, `simplices` (J, s) indices of vertices. ValueError
    unless every vertex has gauge 1, every simplex is solid and lies on a facet, and the cones over the simplices cover every
    direction exactly once. Theorem: derivation in docs/theory/sampling.md, section 4.

    >>> one = Fraction(1)
    >>> certified_determinants([[one], [-one]], [[0], [1]], [[one], [-one]])
    [Fraction(1, 1), Fraction(-1, 1)]
    """
    determinants = _determinants(vertices, simplices)
    on_facets = _facets_of_simplices(simplices, _facets_of_vertices(vertices, facets))
    _check_ridges(simplices, determinants)
    _check_one_direction(vertices, simplices, on_facets)
    return determinants


def _flint_rows(rows: Rationals) -> list[list[fmpq]]:
    """Rows as rationals of FLINT: 0.9 s against 2.9 s with Fractions for 4,096 simplices in 12 dimensions."""
    from flint import fmpq

    return [[fmpq(x.numerator, x.denominator) for x in row] for row in rows]


def _determinants(vertices: Rationals, simplices: Simplices) -> list[Fraction]:
    from flint import fmpq_mat

    s, rows = len(vertices[0]), _flint_rows(vertices)
    determinants = []
    for j, simplex in enumerate(simplices):
        determinant = fmpq_mat(s, s, [x for index in simplex for x in rows[index]]).det()
        if determinant == 0:
            raise InvalidProblem(f"simplices[{j}]: {tuple(simplex)} is flat; drop it from the triangulation.")
        determinants.append(Fraction(int(determinant.p), int(determinant.q)))
    return determinants


def _facets_of_vertices(vertices: Rationals, facets: Rationals) -> list[set[int]]:
    """The facets through every vertex; floats find those that may be meant, rationals decide."""
    from flint import fmpq_mat

    exact_normals, exact_corners = _flint_rows(facets), _flint_rows(vertices)
    normals = np.array([[float(x) for x in facet] for facet in facets])
    incident: list[set[int]] = []
    for i, vertex in enumerate(vertices):
        corner = np.array([float(x) for x in vertex])
        heights, slack = normals @ corner, np.abs(normals) @ np.abs(corner) * 2.0**-40
        near = np.flatnonzero(heights >= 1 - slack).tolist()
        entries = [a for f in near for a in exact_normals[f]]
        exact = (fmpq_mat(len(near), len(vertex), entries) * fmpq_mat(len(vertex), 1, exact_corners[i])).entries()
        if max(exact, default=0) != 1:
            raise InvalidProblem(
                f"vertices[{i}]: its gauge is {float(max(heights))!r}, not exactly 1; scale it to the boundary."
            )
        incident.append({f for f, height in zip(near, exact, strict=True) if height == 1})
    return incident


def _facets_of_simplices(simplices: Simplices, incident: Sequence[set[int]]) -> list[set[int]]:
    shared = [set.intersection(*(incident[index] for index in simplex)) for simplex in simplices]
    for j, facets in enumerate(shared):
        if not facets:
            raise InvalidProblem(f"simplices[{j}]: {tuple(simplices[j])} lies on no common facet; triangulate facet by facet.")
    return shared


def _check_ridges(simplices: Simplices, determinants: Sequence[Fraction]) -> None:
    """Every s - 1 vertices of a simplex belong to exactly one other, whose last vertex is on the other side of their span.

    The side of the vertex in place k is the sign of the determinant with that row moved to the end: it alternates with k.
    """
    corners = np.array(simplices, dtype=np.int64)
    order = np.argsort(corners, axis=1, kind="stable")
    count, s = corners.shape
    odd = np.array([determinant < 0 for determinant in determinants], dtype=np.int64)
    for place in range(1, s):  # swaps that sorting takes
        odd += (order[:, :place] > order[:, place, None]).sum(axis=1)
    corners = np.take_along_axis(corners, order, axis=1)
    ridges = np.stack([np.delete(corners, k, axis=1) for k in range(s)], axis=1).reshape(count * s, s - 1)
    sides = 1 - 2 * ((odd[:, None] + np.arange(s)) % 2).ravel()
    named = np.column_stack([np.zeros(count * s, dtype=np.int64), ridges])  # in one dimension a ridge has no vertices
    _, first, which, shared = np.unique(named, axis=0, return_index=True, return_inverse=True, return_counts=True)
    wrong = np.flatnonzero((shared != 2) | (np.bincount(which.ravel(), sides) != 0))
    if len(wrong):
        ridge = tuple(ridges[first[wrong[0]]].tolist())
        words = f"{shared[wrong[0]]} share the vertices {ridge}, not two on opposite sides"
        raise InvalidProblem(f"simplices: {words}; close the triangulation.")


def _check_one_direction(vertices: Rationals, simplices: Simplices, on_facets: Sequence[set[int]]) -> None:
    """The middle of simplex 0 is in no other cone: only simplices on its facet need to be asked."""
    from flint import fmpq_mat

    s, rows = len(vertices[0]), _flint_rows(vertices)
    middle = fmpq_mat(1, s, [sum(rows[index][i] for index in simplices[0]) for i in range(s)])
    for j, simplex in enumerate(simplices[1:], start=1):
        if on_facets[0] & on_facets[j]:
            parts = (middle * fmpq_mat(s, s, [x for index in simplex for x in rows[index]]).inv()).entries()
            if min(parts) >= 0:
                raise InvalidProblem(
                    f"simplices[{j}]: {tuple(simplex)} overlaps simplices[0]; the directions are covered more than once."
                )

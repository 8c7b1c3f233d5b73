"""Proof, in rationals, that simplices with a corner at the origin triangulate a polytope."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from designer.base.errors import InvalidProblem
from solvers.exact.points import Points
from solvers.polytopes.triangulation import Labels, determinants, grouped_labels

if TYPE_CHECKING:
    from flint import fmpq

Rationals = Sequence[Sequence[Fraction]]
Simplices = Sequence[Sequence[int]]
AT_ONCE = 2**24  # bytes


def certified_determinants(vertices: Rationals, simplices: Simplices, facets: Rationals) -> tuple[list[int], Fraction]:
    """`det(v_1 .. v_s)` of every simplex `conv(0, v_1 .. v_s)`, s! times its signed volume, once the triangulation is proven:
    integers, and the positive number of which they are multiples.

    `vertices` (n, s), `facets` (f, s) the normals of `{x : a_f . x <= 1}`, `simplices` (J, s) indices of vertices. ValueError
    unless every vertex has gauge 1, every simplex is solid and lies on a facet, and the cones over the simplices cover every
    direction exactly once. Theorem: derivation in docs/theory/sampling.md, section 4.

    >>> one = Fraction(1)
    >>> certified_determinants([[one / 3], [-one / 3]], [[0], [1]], [[3 * one], [-3 * one]])
    ([1, -1], Fraction(1, 3))
    """
    labels = np.array(simplices, dtype=np.int64)
    if labels.min() < 0 or labels.max() >= len(vertices):
        raise InvalidProblem(
            f"simplices: {int(labels.max())} is not the index of one of {len(vertices)} vertices; number them from 0."
        )
    numbers, unit = _determinants(vertices, labels)
    on_facets = _facets_of_simplices(labels, _facets_of_vertices(vertices, facets))
    _check_ridges(labels, np.array([number < 0 for number in numbers]))
    _check_one_direction(vertices, labels, on_facets)
    return numbers, unit


def _flint_rows(rows: Rationals) -> list[list[fmpq]]:
    """Rows as rationals of FLINT, several times as fast as Fractions."""
    from flint import fmpq

    return [[fmpq(x.numerator, x.denominator) for x in row] for row in rows]


def _determinants(vertices: Rationals, simplices: Labels) -> tuple[list[int], Fraction]:
    """Each vertex is a length times a primitive integer row, which is short for bodies of differences; the lengths are integers
    times one rational."""
    points = Points.of(vertices)
    above, below = np.gcd.reduce(points.numerators, axis=1), math.lcm(*points.denominators.tolist())
    above[above == 0] = 1  # the origin, which makes a simplex flat
    lengths = above * (below // points.denominators)
    common = math.gcd(*lengths.tolist())
    directions = Points.from_integers(points.numerators // above[:, None])
    numbers = np.array(determinants(directions, simplices), dtype=object) * (lengths // common)[simplices].prod(axis=1)
    if len(flat := np.flatnonzero(numbers == 0)):
        j = int(flat[0])
        raise InvalidProblem(f"simplices[{j}]: {tuple(simplices[j].tolist())} is flat; drop it from the triangulation.")
    return numbers.tolist(), Fraction(common, below) ** points.dimension


def _facets_of_vertices(vertices: Rationals, facets: Rationals) -> NDArray[np.uint8]:
    """The facets through every vertex, (n, f / 8) bits; floats find those that may be meant, rationals decide."""
    from flint import fmpq_mat

    exact_normals, exact_corners = _flint_rows(facets), _flint_rows(vertices)
    normals = np.array([[float(x) for x in facet] for facet in facets])
    incident = np.zeros((len(vertices), len(facets)), dtype=bool)
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
        incident[i, [f for f, height in zip(near, exact, strict=True) if height == 1]] = True
    return np.packbits(incident, axis=1)


def _facets_of_simplices(simplices: Labels, incident: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The facets that hold all vertices of a simplex, (J, f / 8) bits."""
    step = max(1, AT_ONCE // (simplices.shape[1] * incident.shape[1]))
    shared = np.concatenate(
        [np.bitwise_and.reduce(incident[simplices[i : i + step]], axis=1) for i in range(0, len(simplices), step)]
    )
    for j in np.flatnonzero(~shared.any(axis=1)).tolist():
        words = f"{tuple(simplices[j].tolist())} lies on no common facet"
        raise InvalidProblem(f"simplices[{j}]: {words}; triangulate facet by facet.")
    return shared


def _check_ridges(corners: Labels, negative: NDArray[np.bool_]) -> None:
    """Every s - 1 vertices of a simplex belong to exactly one other, whose last vertex is on the other side of their span.

    The side of the vertex in place k is the sign of the determinant with that row moved to the end: it alternates with k.
    corners: (J, s). negative: (J,), the determinants below 0.
    """
    order = np.argsort(corners, axis=1, kind="stable")
    count, s = corners.shape
    odd = negative.astype(np.int64)
    for place in range(1, s):  # swaps that sorting takes
        odd += (order[:, :place] > order[:, place, None]).sum(axis=1)
    corners = np.take_along_axis(corners, order, axis=1)
    ridges = np.stack([np.delete(corners, k, axis=1) for k in range(s)], axis=1).reshape(count * s, s - 1)
    sides = 1 - 2 * ((odd[:, None] + np.arange(s)) % 2).ravel()
    grouped, starts = grouped_labels(ridges, int(corners.max()) + 1)
    shared = np.diff(np.append(starts, len(grouped)))
    wrong = np.flatnonzero((shared != 2) | (np.add.reduceat(sides[grouped], starts) != 0))
    if len(wrong):
        ridge = tuple(ridges[grouped[starts[wrong[0]]]].tolist())
        words = f"{shared[wrong[0]]} share the vertices {ridge}, not two on opposite sides"
        raise InvalidProblem(f"simplices: {words}; close the triangulation.")


def _check_one_direction(vertices: Rationals, simplices: Labels, on_facets: NDArray[np.uint8]) -> None:
    """The middle of simplex 0 is in no other cone: only simplices on its facet need to be asked."""
    from flint import fmpq_mat

    s, rows = len(vertices[0]), _flint_rows(vertices)
    middle = fmpq_mat(1, s, [sum(rows[index][i] for index in simplices[0]) for i in range(s)])
    for j in (1 + np.flatnonzero((on_facets[0] & on_facets[1:]).any(axis=1))).tolist():
        simplex = tuple(simplices[j].tolist())
        parts = (middle * fmpq_mat(s, s, [x for index in simplex for x in rows[index]]).inv()).entries()
        if min(parts) >= 0:
            raise InvalidProblem(f"simplices[{j}]: {simplex} overlaps simplices[0]; the directions are covered more than once.")

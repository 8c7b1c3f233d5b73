"""Norms: float evaluation against exact, and the stated error of a scan."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from designer import InvalidProblem
from designer.certificate.norm_kinds import BundleNorm
from designer.certificate.norms import Gauge, Norm, weighted_l1

ORDERS = ["l1", "l2", "linf"]


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(ORDERS), st.sampled_from([1e-120, 1e-3, 1.0, 1e9, 1e120]), st.booleans())
def test_exact_and_float_agree(seed: int, order: str, unit: float, diagonal: bool) -> None:
    generator = np.random.default_rng(seed)
    dimension = int(generator.integers(1, 5))
    shape = generator.random(dimension) + 0.01 if diagonal else generator.normal(size=(3, dimension))
    norm = Norm(shape / unit, order)  # type: ignore[arg-type]
    u = generator.normal(size=dimension) * unit
    exact = norm.exact([Fraction(v) for v in u.tolist()])
    assert exact is not None
    image = [
        sum(Fraction(a) * Fraction(b) for a, b in zip(row, u.tolist(), strict=True))
        for row in (np.diag(norm.map) if diagonal else norm.map).tolist()
    ]
    truth = {"l1": sum(map(abs, image)), "linf": max(map(abs, image))}
    if order == "l2":
        square = sum(v * v for v in image)
        assert square <= exact**2 <= square * (1 + Fraction(1, 2**77))
    else:
        assert exact == truth[order]
    assert float(norm(u)) == pytest.approx(float(exact), rel=1e-12)
    assert norm(u[None]).shape == (1,)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(ORDERS), st.sampled_from([0.0, 1e8, 1e15, 1e-300]), st.booleans())
def test_scans_stay_within_their_stated_error(seed: int, order: str, offset: float, diagonal: bool) -> None:
    """Points far from the origin (1e15) lose digits in the image, points near 1e-300 underflow."""
    generator = np.random.default_rng(seed)
    dimension = 3
    shape = (generator.random(dimension) + 0.1) * 1.1 if diagonal else generator.normal(size=(2, dimension))
    norm = Norm(shape * (1e-10 if offset == 1e-300 else 1), order)  # type: ignore[arg-type]
    points = generator.random((5, dimension)) * (1e-300 if offset == 1e-300 else 1.0) + offset
    images = norm.image(points)
    found = norm.between(images, images)
    allowed = norm.image_error(points)
    for i in range(5):
        for j in range(5):
            paired = float(norm.length(images[i] - images[j]))
            exact = norm.exact([Fraction(a) - Fraction(b) for a, b in zip(points[i].tolist(), points[j].tolist(), strict=True)])
            assert exact is not None
            for value in (float(found[i, j]), paired):
                assert abs(Fraction(value) - exact) <= Fraction(allowed) + exact * Fraction(1, 2**48)


def test_images_that_are_summed_in_the_worst_order_stay_within_the_stated_error() -> None:
    """One image of 400 coordinates of which all but the first are half a unit of roundoff: added up one by one each is lost,
    and of the other end of the pair as many on the other side."""
    norm, count = Norm(np.ones((1, 400)), "l1"), 400
    point = np.full(count, 2.0**-53)
    point[0] = 1.0
    summed = 0.0
    for each in point.tolist():
        summed += each
    assert summed == 1.0
    lost = 2 * (sum(map(Fraction, point.tolist())) - Fraction(summed))
    assert lost <= Fraction(norm.image_error(np.array([point, -point]))) + Fraction(2 * 5, 2**53)


def test_silent_coordinates_are_infinite_when_they_move() -> None:
    norm = weighted_l1([2.0, np.inf])
    assert norm.silent.tolist() == [False, True]
    assert norm([[1.0, 0.0], [0.0, 1e-300], [0.0, 0.0]]).tolist() == [2.0, math.inf, 0.0]
    assert norm.exact([Fraction(1), Fraction(1, 10**400)]) is None
    assert norm.exact([Fraction(1), Fraction(0)]) == 2
    everything = weighted_l1([np.inf])
    assert everything([0.0]) == 0
    assert everything([1.0]) == math.inf


def test_divided_widens() -> None:
    norm = weighted_l1([2.0, np.inf]).divided(2.0)
    assert norm.map.tolist() == [1.0, math.inf]


@pytest.mark.parametrize(
    ("shape", "order", "text"),
    [
        ([1.0], "l3", "norm.order: 'l3'"),
        ([0.0], "l1", "norm.map"),
        ([-1.0], "l1", "norm.map"),
        ([math.nan], "l1", "norm.map"),
        ([[math.nan]], "l1", "norm.map"),
        ([[math.inf, 1.0], [1.0, 1.0]], "l1", "norm.map"),
        (1.0, "l1", "norm.map: has shape ()"),
        ([], "l1", "norm.map: has shape (0,)"),
        ([[[1.0]]], "l1", "norm.map: has shape (1, 1, 1)"),
    ],
)
def test_bad_norms_are_refused(shape: object, order: str, text: str) -> None:
    with pytest.raises(InvalidProblem) as refusal:
        Norm(np.array(shape), order)  # type: ignore[arg-type]
    assert text in str(refusal.value)


def test_wrong_length_is_refused() -> None:
    with pytest.raises(InvalidProblem, match="length 3; the mechanism measures vectors of length 2"):
        weighted_l1([1.0, 1.0])([1.0, 2.0, 3.0])


def test_maps_are_frozen() -> None:
    source = np.ones(2)
    norm = Norm(source, "l1")
    source[0] = 9
    assert norm.map.tolist() == [1, 1]
    with pytest.raises(ValueError, match="read-only"):
        norm.map[0] = 9


@pytest.mark.parametrize("order", ["l1", "l2", "linf"])
def test_exact_norms_are_those_of_fractions(order: str) -> None:
    """Integers over a common denominator, against one fraction after the other."""
    random = np.random.default_rng(7)
    for shape in ((4,), (3, 4), (6, 4)):
        scale = np.ldexp(1.0, random.integers(-40, 40, shape))
        norm = Norm(np.abs(random.normal(size=shape)) * scale, order)
        u = [Fraction(int(random.integers(-9, 9)), int(random.integers(1, 9))) for _ in range(4)]
        rows = np.diag(norm.map) if norm.map.ndim == 1 else norm.map
        images = [abs(sum((Fraction(float(w)) * c for w, c in zip(row, u, strict=True)), Fraction(0))) for row in rows]
        found = norm.exact(u)
        assert found is not None
        if order == "l2":
            square = sum((value**2 for value in images), Fraction(0))
            assert square <= found**2 <= square * (1 + Fraction(1, 2**77))
        else:
            assert found == (sum(images, Fraction(0)) if order == "l1" else max(images))


@pytest.mark.parametrize("exponent", [-1000, -500, 0, 500, 900])
def test_gauges_are_exact_whatever_the_size_of_a_difference(exponent: int) -> None:
    """By the facets of the hull of +-(2, 0) and +-(0, 1), which are known, twice as large."""
    body = Gauge(np.array([[2.0, 0.0], [0.0, 1.0]]), np.ones(2), 2.0)
    u = [Fraction(3, 7) * Fraction(2) ** exponent, Fraction(-2, 5) * Fraction(2) ** exponent]
    assert body.exact(u) == (abs(u[0]) / 2 + abs(u[1])) / 2


def test_corners_that_no_hull_can_hold_are_refused_as_a_problem() -> None:
    with pytest.raises(InvalidProblem, match="points: an entry exceeds"):
        Gauge(1e200 * np.eye(2), np.ones(2))


@pytest.mark.parametrize("places", [((0, 1),), ((0,), (1,)), ((0, 1, 2),)])
def test_bundles_have_gauges_of_as_many_coordinates_as_places(places: tuple[tuple[int, ...], ...]) -> None:
    """A facet that is laid over too few or too many coordinates would measure another difference."""
    gauge = Gauge(np.array([[2.0, 0.0], [0.0, 1.0]]), np.ones(2))
    assert gauge.dimension == 2
    if places == ((0, 1),):
        norm = BundleNorm([gauge], places, "sum", 3)
        assert norm.exact([Fraction(1), Fraction(3), Fraction(0)]) == Fraction(gauge.exact([Fraction(1), Fraction(3)]))
    else:
        with pytest.raises(InvalidProblem, match=r"norm\.bundles: the differences of each must move all of its places"):
            BundleNorm([gauge] * len(places), places, "sum", 3)

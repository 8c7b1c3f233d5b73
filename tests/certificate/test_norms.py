"""Norms: float evaluation against exact, and the stated error of a scan. Corners and facets of norm balls as arrays, against
the norm itself and against Qhull. Norm balls as drawn: every point of an outline has norm 1, and every protected difference
lies within.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from designer import InvalidProblem, Problem, Workload, design, metrics, norm_ball
from designer.certificate.norm_kinds import BundleNorm, CappedNorm
from designer.certificate.norms import Gauge, Norm, weighted_l1
from designer.mechanism.interface import Mechanism
from designer.publish.pictures.balls import ball_corners, boundary, faces, shadow
from designer.publish.pictures.of_mechanisms import LEVELS, ball_of, levels

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


def norms() -> dict[str, Norm]:
    draw = np.random.default_rng(5)
    differences = draw.integers(-3, 4, (12, 3)).astype(float)
    quiet = np.insert(differences, 1, 0.0, axis=1)  # a coordinate that nothing moves
    return {
        "weighted l1": weighted_l1([0.5, 2.0, 1.0]),
        "l1 with a coordinate without noise": weighted_l1([0.5, np.inf, 1.0]),
        "box": Norm(np.array([0.5, 2.0, 3.0]), "linf"),
        "turned box": Norm(draw.normal(size=(3, 3)), "linf"),
        "turned l1": Norm(draw.normal(size=(3, 3)), "l1"),
        "K-norm": Gauge(differences, draw.uniform(0.5, 2, 12), 0.75),
        "K-norm with a coordinate without noise": Gauge(quiet, draw.uniform(0.5, 2, 12)),
        **{f"box of {cap:g} sides": CappedNorm(np.array([0.5, 2.0, np.inf, 3.0, 1.0]), cap) for cap in CAPS},
        **{f"{combine} of bundles": bundles(combine) for combine in ("sum", "max")},
    }


CAPS = (0.75, 1.0, 1.5, 2.0, 2.25, 3.75, 4.0, 9.0)


def bundles(combine: str) -> BundleNorm:
    """A plane of six corners, a line, a coordinate without noise, and a square."""
    plane = Gauge(np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 2.0]]), np.ones(3))
    square = Gauge(np.array([[1.0, 1.0], [1.0, -1.0]]), np.array([1.0, 1.0]), 0.5)
    return BundleNorm((plane, Gauge(np.array([[3.0]]), np.ones(1)), square), ((0, 2), (1,), (4, 5)), combine, 6)


@pytest.mark.parametrize("name", ["box", "k_norm", "capped_l1", "bundles", "laplace", "strategy_geometric"])
def test_every_family_whose_ball_is_a_polytope_gives_its_corners_and_facets(name: str) -> None:
    """Of what is drawn and frozen, for the same problem: each has both, or says that its norm is none."""
    problem = Problem(Workload(np.eye(4)), metrics.uniform(4, 1.0))
    made = design(problem, name).mechanism
    norm = getattr(made, "norm")  # noqa: B009
    assert norm.order != "l2" and norm(norm.vertices) == pytest.approx(np.ones(len(norm.vertices)))
    assert (norm.vertices @ norm.facets.T <= 1 + 1e-9).all()


@pytest.mark.parametrize("name", norms())
def test_corners_have_length_one_and_facets_measure_every_vector(name: str) -> None:
    norm = norms()[name]
    heard = ~norm.silent
    assert norm(norm.vertices) == pytest.approx(np.ones(len(norm.vertices)))
    assert not norm.vertices[:, ~heard].any() and not norm.facets[:, ~heard].any()
    points = np.where(heard, np.random.default_rng(0).normal(size=(50, norm.dimension)), 0.0)
    assert (points @ norm.facets.T).max(axis=1) == pytest.approx(norm(points))
    touched = np.isclose(norm.vertices @ norm.facets.T, 1.0)
    assert (touched.sum(axis=1) >= heard.sum()).all() and (touched.sum(axis=0) >= heard.sum()).all()
    hull = ConvexHull(norm.vertices[:, heard])
    assert len(hull.vertices) == len(norm.vertices)
    assert len(np.unique(np.round(-hull.equations[:, :-1] / hull.equations[:, -1:], 9), axis=0)) == len(norm.facets)
    assert not norm.vertices.flags.writeable and not norm.facets.flags.writeable


def test_the_ball_of_a_design_is_the_hull_of_what_is_protected() -> None:
    made = design(Problem(Workload([[1, 0, 2], [0, 1, 1]]), metrics.uniform(3, 1.0)), "k_norm").mechanism
    columns = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
    moved = np.array([a - b for a in columns for b in columns])
    corners = np.round(made.norm.vertices, 9) + 0.0  # a ball that is larger by what privacy asks of its rounding
    assert {tuple(row) for row in corners.tolist()} <= {tuple(row) for row in moved.tolist()}
    assert (moved @ made.norm.facets.T <= 1 + 1e-12).all()


def test_what_has_no_corners_is_refused() -> None:
    with pytest.raises(InvalidProblem, match="vertices: of a Euclidean norm"):
        _ = Norm(np.eye(2), "l2").vertices
    with pytest.raises(InvalidProblem, match="facets: 131072 of a weighted l1 norm"):
        _ = weighted_l1(np.ones(17)).facets
    with pytest.raises(InvalidProblem, match="vertices: 1048576 of a weighted maximum norm"):
        _ = Norm(np.ones(20), "linf").vertices
    assert Norm(np.ones(20), "linf").facets.shape == (40, 20)
    with pytest.raises(InvalidProblem, match="are not written out"):
        _ = Norm(np.ones((3, 2)), "l1").vertices


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

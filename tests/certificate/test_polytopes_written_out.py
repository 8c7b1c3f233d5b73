"""Corners and facets of norm balls as arrays, against the norm itself and against Qhull."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from designer import InvalidProblem, Problem, Workload, design, metrics
from designer.certificate.norm_kinds import BundleNorm, CappedNorm
from designer.certificate.norms import Gauge, Norm, weighted_l1


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

"""Integer noise that keeps every invariant: designs of every shape, their certificates, releases, specs and refusals."""

from __future__ import annotations

import copy
import json
import pickle
from fractions import Fraction

import numpy as np
import pytest

from designer import DesignFailed, InvalidProblem, InvalidSpec, NotPrivate, Problem, Workload, design, invariants, load, metrics
from designer.certificate.frozen import certificate_words, seal
from designer.certificate.norms import Norm
from designer.lattice.mechanism import LatticeMechanism

SHAPES = [
    ("lattice_laplace", "l1"),
    ("lattice_laplace", "l2"),
    ("lattice_laplace", "ellipsoid"),
    ("lattice_laplace", "hull"),
    ("lattice_gaussian", "l2"),
    ("lattice_gaussian", "ellipsoid"),
]
INVARIANTS = {
    "margins": (invariants.margins((3, 3)), 3),
    "total": (invariants.total(4), 1),
    "partition": (invariants.partition(["a", "a", "a", "b", "b"]), 2),
    "intersecting": (invariants.linear([[1, 1, 0, 0, 1], [0, 1, 1, 0, 0]]), 2),
}


def made(kind: str, family: str, shape: str, epsilon: float = 0.5, workload: Workload | None = None) -> LatticeMechanism:
    invariant, adjacency = INVARIANTS[kind]
    notion = "zcdp" if family == "lattice_gaussian" else "pure"
    problem = Problem(workload or Workload.identity(invariant.size), invariant.protect(epsilon, adjacency), notion=notion)
    return design(problem, family, shape=shape).mechanism


@pytest.mark.parametrize("kind", INVARIANTS)
@pytest.mark.parametrize(("family", "shape"), SHAPES)
def test_noise_is_integer_keeps_every_statistic_and_spends_the_whole_budget(kind, family, shape):
    mechanism = made(kind, family, shape)
    assert Fraction(999, 1000) < mechanism.privacy.worst_ratio <= 1
    noise = mechanism.draw(500, seed=1)
    assert noise.dtype.kind == "i" and not (noise @ mechanism.relation.invariant.constraints.T).any() and noise.any()
    # Independent of the certificate: no change of the table spends more than its budget.
    assert mechanism.privacy_loss(mechanism.relation.changes).max() <= 0.5 * (1 + 1e-9)
    assert mechanism.verify() == mechanism.privacy


@pytest.mark.parametrize(("family", "shape"), SHAPES)
def test_releases_keep_the_data_s_statistics(family, shape):
    mechanism = made("margins", family, shape)
    table = np.array([50, 1, 2, 3, 0, 0, 7, 8, 90])
    release = mechanism.release(table)
    assert all(type(cell) is int for cell in release.table)
    invariant = mechanism.relation.invariant
    assert (invariant.matrix @ np.array(release.table) == invariant.answers(table)).all()
    assert release.answers.tolist() == list(map(float, release.table))
    assert release.fingerprint == mechanism.fingerprint and "kernel of the invariant" in release.guarantee.to_text()
    assert list(release.to_dict()["table"].values()) == list(release.table)


def test_answers_are_those_of_the_released_table():
    queries = Workload([[1, 1, 0, 0, 0], [0, 0.5, 0, 0, 2]], queries=["sum", "mixed"])
    release = made("partition", "lattice_laplace", "l1", workload=queries).release([5, 4, 3, 2, 1])
    np.testing.assert_array_equal(release.answers, queries.dense() @ np.array(release.table))


@pytest.mark.parametrize(("family", "shape", "factor"), [("lattice_laplace", "l2", 1), ("lattice_gaussian", "l2", 1)])
def test_wide_noise_has_the_error_of_its_continuous_counterpart(family, shape, factor):
    """At epsilon 0.02 the lattice looks continuous: the mechanisms on a fine grid have closed forms."""
    invariant, adjacency = INVARIANTS["margins"]
    notion = "zcdp" if family == "lattice_gaussian" else "pure"
    problem = Problem(Workload.identity(9), invariant.protect(0.02, adjacency), notion=notion)
    fine = design(problem, "l2_ball" if notion == "pure" else "isotropic_gaussian").error
    # 20,000 draws: 4 standard errors of the mean of |z|^2 are below 5 %.
    assert design(problem, family, shape=shape).mechanism.error() == pytest.approx(fine, rel=0.05)


def test_the_hull_beats_the_other_shapes_at_three_by_three():
    errors = {shape: made("margins", "lattice_laplace", shape).error() for shape in ("l1", "l2", "hull")}
    assert errors["hull"] < 0.7 * min(errors["l1"], errors["l2"])


def test_a_partition_under_l1_is_the_two_sided_geometric_of_each_state():
    """Two cells with a fixed total: z = (k, -k), P(k) proportional to exp(-2 rate |k|);
    rate = epsilon / 4 under adjacency 2."""
    relation = invariants.partition(["a", "a", "b"]).protect(1.0, adjacency=2)
    mechanism = design(Problem(Workload.identity(3), relation), "lattice_laplace", shape="l1").mechanism
    first = mechanism.draw(40_000, seed=3)[:, 0]
    base = np.exp(-2 * float(mechanism.norm.map[0]))
    expected = 2 * base / (1 - base) ** 2
    # The fourth moment of the two-sided geometric law bounds the standard error: 4 of them are below 4 %.
    assert first.var() == pytest.approx(expected, rel=0.04)
    assert (mechanism.draw(100, seed=1)[:, 2] == 0).all()


@pytest.mark.parametrize(
    ("family", "shape", "distance"),
    [
        ("lattice_laplace", "l1", "l1"),
        ("lattice_laplace", "l2", "l2"),
        ("lattice_laplace", "l2", "l1"),
        ("lattice_gaussian", "l2", "l2"),
    ],
)
def test_a_budget_for_every_unit_of_distance(family, shape, distance, tmp_path):
    """INT Definition 2: changes of every size, checked on thousands of kernel vectors."""
    relation = invariants.margins((3, 3)).protect(0.25, per_distance=distance)
    notion = "zcdp" if family == "lattice_gaussian" else "pure"
    mechanism = design(Problem(Workload.identity(9), relation, notion=notion), family, shape=shape).mechanism
    assert mechanism.privacy.worst_ratio == 1
    far = mechanism.draw(300, seed=2) * np.arange(1, 301)[:, None]
    for change in far[far.any(axis=1)]:
        assert mechanism.privacy_loss(change) <= float(relation.budget_of(change)) * (1 + 1e-12)
    assert load(mechanism.save(tmp_path / "spec.json")) == mechanism


def test_distances_are_for_lattices_only():
    relation = invariants.margins((2, 2)).protect(0.25, per_distance="l1")
    problem = Problem(Workload.identity(4), relation)
    for family in ("laplace", "k_norm", "ellipsoid", "strategy_laplace"):
        with pytest.raises(DesignFailed, match="infinitely many"):
            design(problem, family)
    with pytest.raises(DesignFailed, match="norm of that distance"):
        design(problem, "lattice_laplace", shape="hull")
    with pytest.raises(DesignFailed, match="exceeds an l2 distance"):
        design(
            Problem(Workload.identity(4), invariants.margins((2, 2)).protect(1.0, per_distance="l2")),
            "lattice_laplace",
            shape="l1",
        )


@pytest.mark.parametrize(("family", "shape"), SHAPES)
def test_specs_bring_back_the_same_mechanism(family, shape, tmp_path):
    mechanism = made("margins", family, shape)
    twin = load(mechanism.save(tmp_path / "spec.json"))
    assert twin == mechanism and hash(twin) == hash(mechanism) and twin.guarantee == mechanism.guarantee
    assert (twin.draw(50, seed=9) == mechanism.draw(50, seed=9)).all()
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism and copy.deepcopy(mechanism) is mechanism


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("norm", "map"), [1e-3] * 9),
        (("norm", "map"), [1.0] * 9),
        (("norm", "order"), "linf"),
        (("falloff",), "gaussian"),
        (("cells",), [0, 1, 2, 3, 4, 5, 6, 7, 8]),
        (("cells",), [0, 0]),
        (("cells",), ["a"]),
        (("relation", "epsilon"), 5.0),
        (("relation", "adjacency"), 2),
        (("relation",), {"kind": "uniform", "elements": 9, "epsilon": 1.0}),
        (("family",), 3),
        (("extra",), 1),
    ],
)
def test_altered_specs_are_refused(path, value, tmp_path):
    """Resealed alterations: every one changes what is promised, and the promise in the file is the old one."""
    file = made("margins", "lattice_laplace", "l2").save(tmp_path / "spec.json")
    spec = json.loads(file.read_text())
    inner = spec["mechanism"]
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    spec["seal"] = seal(spec)
    file.write_text(json.dumps(spec))
    with pytest.raises((InvalidSpec, NotPrivate)):
        load(file)


def test_too_little_noise_is_no_mechanism():
    relation = invariants.margins((2, 2)).protect(1.0)
    with pytest.raises(NotPrivate, match=r"1\.00"):
        LatticeMechanism("custom", Workload.identity(4), relation, Norm(np.full(4, 0.25 * (1 + 1e-9)), "l1"))
    LatticeMechanism("custom", Workload.identity(4), relation, Norm(np.full(4, 0.25), "l1"))


@pytest.mark.parametrize(
    ("build", "kind", "message"),
    [
        (
            lambda: design(Problem(Workload.identity(3), metrics.uniform(3, 1.0)), "lattice_laplace"),
            DesignFailed,
            "invariants.total",
        ),
        (lambda: made("margins", "lattice_laplace", "ball"), InvalidProblem, "options.shape"),
        (lambda: made("margins", "lattice_gaussian", "l1"), InvalidProblem, "options.shape"),
        (
            lambda: design(Problem(Workload.identity(4), invariants.linear([[2, 1, 0, 1]]).protect(1.0, 1)), "lattice_laplace"),
            DesignFailed,
            "raise the adjacency",
        ),
        (
            lambda: Problem(Workload.identity(2), invariants.linear(np.eye(2)).protect(1.0, per_distance="l1")),
            InvalidProblem,
            "protects no",
        ),
        (lambda: invariants.total(3).protect(1.0, 2, per_distance="l1"), InvalidProblem, "no adjacency"),
        (lambda: invariants.total(3).protect(1.0, per_distance="l3"), InvalidProblem, "per_distance"),
        (
            lambda: LatticeMechanism(
                "custom", Workload.identity(4), invariants.margins((2, 2)).protect(1.0), Norm(np.ones((1, 1)), "l2"), cells=(9,)
            ),
            InvalidProblem,
            "cells",
        ),
        (
            lambda: LatticeMechanism(
                "custom", Workload.identity(3), invariants.total(3).protect(1.0), Norm(np.ones((1, 1)), "l2"), cells=(0,)
            ),
            InvalidProblem,
            "is 0 on some change",
        ),
        (
            lambda: LatticeMechanism(
                "custom", Workload.identity(2), invariants.total(2).protect(1.0), Norm(np.array([0.1, np.inf]), "l1")
            ),
            InvalidProblem,
            "every cell",
        ),
        (lambda: made("total", "lattice_laplace", "l1").release([1, 2, 3]), InvalidProblem, "histogram"),
        (lambda: made("total", "lattice_laplace", "l1").release([1, 2, 3, -4]), InvalidProblem, "nonnegative"),
    ],
)
def test_bad_input_is_refused(build, kind, message):
    with pytest.raises(kind, match=message):
        build()


def test_lattices_without_a_feasible_sampler_are_refused_with_a_way_on():
    """l1 on a 4 x 4 x 4 table accepts far less than one proposal in 50,000."""
    problem = Problem(Workload.identity(64), invariants.margins((4, 4, 4)).protect(1.0, per_distance="l1"))
    with pytest.raises(DesignFailed, match="no exact sampler is feasible"):
        design(problem, "lattice_laplace", shape="l1")


def test_approximate_privacy_of_the_gaussian():
    mechanism = made("margins", "lattice_gaussian", "l2", epsilon=1.0)
    assert mechanism.epsilon_at(1e-6) == pytest.approx(5.0, abs=0.6)  # zCDP of 1/2: 0.5 + 2 sqrt(0.5 log 1e6) = 5.8 at most
    assert made("margins", "lattice_laplace", "l2", epsilon=0.5).epsilon_at(1e-6) == 0.5


def test_auto_takes_integer_noise_where_it_loses_least():
    """One number moves in a 2 x 2 table: the geometric law is the best, which the limit says, too."""
    made = design(Problem(Workload.identity(4), invariants.margins((2, 2)).protect(1.0)))
    assert made.mechanism.format == "dp-designer/lattice-mechanism"
    assert made.loss == pytest.approx(4 / (2 * np.sinh(0.5) ** 2), rel=1e-9) and made.efficiency == pytest.approx(1, rel=1e-6)


def test_a_release_that_would_break_an_invariant_is_an_error(monkeypatch):
    """Were a sampler ever wrong, nothing would leave, and the message would say nothing about the data."""
    mechanism = made("margins", "lattice_laplace", "l2")

    def broken(self, size, entropy):
        return np.tile([1, -1, 0, 0, 0, 0, 0, 0, 0], (size, 1))  # keeps the rows, not the columns

    monkeypatch.setattr(type(mechanism.sampler), "draw", broken)
    with pytest.raises(RuntimeError, match="nothing was released") as raised:
        mechanism.release([987_654, 1, 2, 3, 0, 0, 7, 8, 90])
    assert "98765" not in str(raised.value)


def test_the_certificate_is_told_in_sentences():
    """Not as Python's mappings; where changes are not listed, without a number of pairs."""
    told = certificate_words(made("margins", "lattice_laplace", "l1")).splitlines()
    assert told[0].startswith("Worst ratio of loss to budget over 15 pairs: 0.99") and "attained at the histogram" in told[0]
    assert len(told) == 3 and "{" not in "".join(told)
    unlisted = design(Problem(Workload.identity(2500), invariants.margins((50, 50)).protect(1.0)), "lattice_rows").mechanism
    assert unlisted.privacy.pairs == 0 and certificate_words(unlisted).startswith("Worst ratio of loss to budget: ")

"""Invariants: what they leave to protect, against brute force over small databases, and the designs built on it. What is
published exactly is listed whole, or with a hash of all names: different lists never read the same. The structure that is
read off statistics, against the integer kernel of their rows.
"""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest

from designer import InvalidProblem, Problem, Workload, design, invariants, load, metrics
from designer.base.errors import DesignFailed, InvalidSpec, NotPrivate
from designer.base.json_text import plain
from designer.certificate.certificate import certify
from designer.certificate.frozen import to_spec
from designer.certificate.norms import weighted_l1
from designer.certificate.sensitivity import SensitivitySet
from designer.limits import MOST_TRANSPORTED_RECORDS
from designer.problem.domain import Domain
from designer.relations.invariants.one_budget import InvariantChanges
from designer.relations.invariants.statistics import FREE, Structure, structure_of
from designer.relations.invariants.transport import InvariantMetric
from designer.relations.kinds import relation_from_spec
from designer.relations.metrics.metric import Metric
from designer.verifier import standalone
from solvers.lattices.kernel import integer_kernel
from tests.oracles.shallow import shallow
from tests.verifier.altered import bytes_of, main_verdict, standalone_verdict

INTERSECTING = [[1, 1, 0, 0, 1], [0, 1, 1, 0, 0]]


def changes_by_brute_force(matrix: np.ndarray, adjacency: int, records: int) -> set[tuple[int, ...]]:
    """Differences of the histograms of all pairs of databases of `records` records that agree in `matrix x` and differ in at
    most `adjacency` records: SEMI's sensitivity space of the whole histogram, word for word."""
    size = matrix.shape[1]
    spaces: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for database in product(range(size), repeat=records):
        histogram = np.bincount(database, minlength=size)
        spaces.setdefault(tuple(matrix @ histogram), []).append(database)
    found = set()
    for conforming in spaces.values():
        for one, other in product(conforming, repeat=2):
            if sum(x != y for x, y in zip(one, other, strict=True)) <= adjacency:
                found.add(tuple(np.bincount(one, minlength=size) - np.bincount(other, minlength=size)))
    return found - {(0,) * size}


@pytest.mark.parametrize(
    ("invariant", "adjacency", "records"),
    [
        (invariants.margins((2, 2)), 2, 4),
        (invariants.margins((2, 2)), 3, 4),
        (invariants.total(4), 1, 3),
        (invariants.total(3), 2, 4),
        (invariants.partition("aabb".replace("", " ").split()), 2, 4),
        (invariants.linear(INTERSECTING), 2, 4),
        (invariants.linear(INTERSECTING), 3, 4),
    ],
)
def test_the_changes_are_those_of_all_pairs_of_small_databases(invariant, adjacency, records):
    relation = invariant.protect(1.0, adjacency)
    both_signs = {tuple(v) for v in np.concatenate([relation.changes, -relation.changes]).tolist()}
    assert both_signs == changes_by_brute_force(invariant.constraints, adjacency, records)


def test_margins_of_three_by_three_tables_have_basic_moves_and_hexagons():
    moves = invariants.margins((3, 3)).protect(1.0, adjacency=2).changes
    with_hexagons = invariants.margins((3, 3)).protect(1.0, adjacency=3).changes
    lengths = Counter(np.abs(with_hexagons).sum(axis=1).tolist())
    # Of 3 x 3 pairs of rows and columns each gives one move;
    # the six permutation matrices give two cycles of length 6 for each ... up to sign.
    assert len(moves) == 9 and set(np.abs(moves).sum(axis=1)) == {4}
    assert lengths == {4: 9, 6: 6}
    assert np.abs(with_hexagons).max() == 1


def test_example_4_one_way_margins_of_a_two_by_two_table():
    """SEMI Example 4: T1 = (x11 + x12, x21 + x22), T2 = (x11 + x21, x12 + x22)."""
    margins = invariants.margins((2, 2))
    assert margins.answers([3, 5, 7, 11]).tolist() == [8, 18, 10, 16]


def test_example_7_the_sensitivity_space_of_a_two_by_two_table():
    """SEMI Example 7: v_1122 = (1,-1,-1,1) and its negative are all, whether two or three records may move."""
    for adjacency in (2, 3):
        assert invariants.margins((2, 2)).protect(1.0, adjacency).changes.tolist() == [[1, -1, -1, 1]]


def test_example_8_the_gaussian_of_algorithm_1_has_covariance_four_times_the_projection():
    """SEMI Example 8: (Delta_2 / mu)^2 P with Delta_2 = 2 and P = v v' / 4, v = (1,-1,-1,1)."""
    problem = Problem(Workload.identity(4), invariants.margins((2, 2)).protect(1.0), notion="zcdp")
    v = np.array([1.0, -1.0, -1.0, 1.0])
    np.testing.assert_allclose(design(problem, "isotropic_gaussian").mechanism.covariance(), np.outer(v, v), rtol=1e-9)


def test_sensitivities_of_basic_moves_and_of_hexagons():
    """SEMI section 5 prints Delta_1 = 4, Delta_2 = 2, Delta_inf = 1 for A_3; hexagons make them 6 and sqrt 6."""
    for adjacency, one, two in ((2, 4, 2.0), (3, 6, 6**0.5)):
        changes = invariants.margins((3, 4)).protect(1.0, adjacency).changes
        assert np.abs(changes).sum(axis=1).max() == one
        assert np.linalg.norm(changes, axis=1).max() == pytest.approx(two, abs=1e-15)
        assert np.abs(changes).max() == 1


def test_larger_sensitivity_spaces_contain_smaller_ones():
    """SEMI Proposition 24: S_Semi is in S_Group, and its hull in a times that of S_DP; l1 shows the second."""
    semi = invariants.margins((2, 3)).protect(1.0, adjacency=2).changes
    group = {tuple(v) for v in invariants.total(6).protect(1.0, adjacency=2).changes.tolist()}
    assert {tuple(v) for v in semi.tolist()} <= group
    # The hull of S_DP = {e_i - e_j} is {v : sum 0, ||v||_1 <= 2}.
    assert all(sum(v) == 0 and sum(map(abs, v)) <= 2 * 2 for v in group)


def test_added_and_removed_records_where_their_number_is_no_invariant():
    relation = invariants.linear([[1, 1, 0]], records_public=False).protect(1.0, adjacency=2)
    assert {tuple(v) for v in relation.changes.tolist()} == {(1, -1, 0), (0, 0, 1), (0, 0, 2)}
    assert not any("number of records" in sentence for sentence in relation.unprotected())


def test_a_total_alone_is_ordinary_replacement():
    by_metric = design(Problem(Workload.identity(3), metrics.uniform(3, 0.7)), "k_norm")
    by_invariant = design(Problem(Workload.identity(3), invariants.total(3).protect(0.7)), "k_norm")
    assert by_invariant.error == pytest.approx(by_metric.error, rel=1e-9)


@pytest.mark.parametrize(
    ("shape", "adjacency", "family", "error"),
    [
        ((2, 2), 3, "k_norm", 2 * 4),  # one direction, (1,-1,-1,1): a double exponential, variance 2 in each of four cells
        ((4, 4), 2, "gaussian", 4 * 9),  # covariance (Delta_2 / mu)^2 P of Algorithm 1, rank 9
        ((4, 4), 2, "l2_ball", 10 * 9 * 4),  # (s + 1) s times the squared radius
        ((3, 4), 3, "gaussian", 6 * 6),
    ],
)
def test_errors_in_closed_form(shape, adjacency, family, error):
    notion = "zcdp" if family == "gaussian" else "pure"
    relation = invariants.margins(shape).protect(1.0, adjacency)
    made = design(Problem(Workload.identity(int(np.prod(shape))), relation, notion=notion), family)
    assert made.error == pytest.approx(error, rel=1e-6)


@pytest.mark.parametrize("family", ["laplace", "k_norm", "ellipsoid", "box", "strategy_laplace", "l2_ball", "uniform_budget"])
def test_every_family_keeps_every_margin_and_is_private_over_all_changes(family):
    invariant = invariants.margins((3, 3))
    problem = Problem(Workload.identity(9), invariant.protect(1.0, adjacency=3))
    made = design(problem, family, **shallow(family))
    assert made.privacy.holds and made.privacy.worst_ratio > Fraction(99, 100)
    histogram = np.arange(1, 10)
    answers = made.mechanism.release(histogram).answers
    if family not in ("laplace", "uniform_budget"):  # these measure each cell by itself
        np.testing.assert_allclose(invariant.matrix @ answers, invariant.answers(histogram), atol=1e-9)


def test_statistics_are_published_exactly_when_they_are_asked_for():
    invariant = invariants.margins((2, 3))
    workload = Workload(np.vstack([np.eye(6), invariant.matrix]))
    made = design(Problem(workload, invariant.protect(0.5)), "k_norm").mechanism
    histogram = [5, 0, 7, 2, 9, 4]
    answers = made.release(histogram).answers
    np.testing.assert_allclose(answers[6:], invariant.matrix @ histogram, atol=1e-9)
    np.testing.assert_allclose(made.query_variances()[6:], 0, atol=1e-18)


def test_hexagons_break_mechanisms_for_basic_moves():
    """The mechanism of SEMI Proposition 32 under the adjacency A_3 that it claims: a change
    of three records spends two budgets."""
    for_moves = design(Problem(Workload.identity(9), invariants.margins((3, 3)).protect(1.0, adjacency=2)), "k_norm").mechanism
    three = invariants.margins((3, 3)).protect(1.0, adjacency=3)
    rounded = for_moves.grid.values(for_moves.integers)
    certificate = certify(SensitivitySet.of(rounded, three), for_moves.norm, "", for_moves.workload.elements)
    assert not certificate.holds
    assert float(certificate.worst_ratio) == pytest.approx(2, rel=1e-9)
    moved = three.changes[min(certificate.witness.left, certificate.witness.right)]
    assert np.abs(moved).sum() == 6
    with pytest.raises(NotPrivate, match=r"1\.99"):
        certificate.require()


def transport_by_brute_force(metric: Metric, change: np.ndarray) -> Fraction:
    origins = [i for i, c in enumerate(change) for _ in range(max(0, -int(c)))]
    targets = [i for i, c in enumerate(change) for _ in range(max(0, int(c)))]
    return min(
        sum((metric.exact_budget(i, j) for i, j in zip(origins, order, strict=True)), Fraction(0))
        for order in permutations(targets)
    )


def test_a_metric_under_an_invariant_costs_what_moving_the_records_costs():
    domain = Domain.of({"sex": 2, "age": 3})
    metric = metrics.hamming(domain, {"sex": 0.25, "age": 1.5})
    relation = metric & invariants.margins(domain, [["sex"]]).at(adjacency=3)
    assert isinstance(relation, InvariantMetric)
    for m, change in enumerate(relation.changes):
        assert relation.exact_budget(m, len(relation.changes)) == transport_by_brute_force(metric, change)
        assert Fraction(relation.budgets[m]) <= relation.exact_budget(m, len(relation.changes))
    made = design(Problem(Workload.identity(6), relation), "k_norm")
    least = design(Problem(Workload.identity(6), metrics.uniform(6, 0.25) & invariants.margins(domain, [["sex"]])), "k_norm")
    assert made.privacy.holds and made.error < least.error / 3


def test_margins_of_two_attributes_leave_the_cheaper_one_to_move():
    """Keeping both margins, records swap one attribute or the other: the transport moves the cheap one,
    twice for a basic move."""
    domain = Domain.of({"sex": 2, "age": 3})
    relation = metrics.hamming(domain, {"sex": 0.25, "age": 1.5}) & invariants.margins(domain).at(adjacency=2)
    assert set(relation.budgets) == {0.5}


def test_one_budget_for_all_pairs_under_an_invariant_counts_moved_records():
    relation = metrics.uniform(4, 0.5) & invariants.margins((2, 2))
    assert relation.budgets.tolist() == [1.0] and relation.adjacency == 3


def test_unprotected_attributes_under_an_invariant_publish_more():
    domain = Domain.of({"sex": 2, "age": 3})
    metric = metrics.hamming(domain, {"sex": np.inf, "age": 1.0})
    relation = metric & invariants.total(6)
    # Within a sex ages may change; between the sexes nothing is protected, so the number of each sex is public.
    assert not relation.spans_kernel and any("further statistics" in s for s in relation.unprotected())
    made = design(Problem(Workload.identity(6), relation), "k_norm").mechanism
    counted = made.release([3, 1, 4, 1, 5, 9]).answers
    np.testing.assert_allclose([counted[:3].sum(), counted[3:].sum()], [8, 15], atol=1e-9)


def test_too_small_an_adjacency_protects_nothing_and_is_refused():
    with pytest.raises(InvalidProblem, match=r"protects no change.*adjacency"):
        Problem(Workload.identity(4), invariants.margins((2, 2)).protect(1.0, adjacency=1))


@pytest.mark.parametrize(
    "relation",
    [
        invariants.margins((2, 3)).protect(0.5),
        invariants.linear(INTERSECTING, ["young", "poor"]).protect(0.5, 2),
        invariants.linear([[1, 1, 0]], records_public=False).protect(1.0, 2),
        metrics.euclidean([[0.0], [1.0], [2.5], [4.0]], 0.3) & invariants.margins((2, 2)),
    ],
)
def test_specs_bring_back_the_same_relation(relation, tmp_path):
    twin = relation_from_spec(json.loads(json.dumps(plain(relation.to_spec()))))
    assert plain(twin.to_spec()) == plain(relation.to_spec())
    np.testing.assert_array_equal(twin.changes, relation.changes)
    made = design(Problem(Workload.identity(relation.size), relation), "ellipsoid").mechanism
    assert load(made.save(tmp_path / "spec.json")) == made


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("adjacency", 0),
        ("adjacency", 2.0),
        ("adjacency", True),
        ("epsilon", -1.0),
        ("epsilon", "inf"),
        ("invariant", {}),
        ("invariant", {"rows": [[0.5, 1]], "names": ["t"], "records_public": True, "groups": None}),
        ("invariant", {"rows": [[1, 1]], "names": ["t"], "records_public": 1, "groups": None}),
        ("invariant", {"rows": [[1, 1]], "names": ["t"], "records_public": True, "groups": -1}),
        ("extra", 1),
    ],
)
def test_altered_relations_are_refused(field, value):
    spec = plain(invariants.total(2).protect(1.0).to_spec())
    with pytest.raises((InvalidSpec, InvalidProblem, KeyError, TypeError)):
        relation_from_spec({**spec, field: value})


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: invariants.linear([]), "invariant.matrix"),
        (lambda: invariants.linear([[0.5, 1]]), "whole numbers"),
        (lambda: invariants.linear([[np.nan, 1]]), "whole numbers"),
        (lambda: invariants.linear([[2**40, 1]]), "below 2\\^31"),
        (lambda: invariants.linear([["a", "b"]]), "whole numbers"),
        (lambda: invariants.linear([[1, 0]], names=["a", "b"]), "2 names for 1"),
        (lambda: invariants.linear([[1, 0], [0, 1]], names=["a", "a"]), "twice"),
        (lambda: invariants.linear([[1, 0]]).protect(1.0), "no bound"),
        (lambda: invariants.total(0), "n: 0"),
        (lambda: invariants.total(3).protect(0.0), "epsilon"),
        (lambda: invariants.total(3).protect(1.0, adjacency=0), "adjacency"),
        (lambda: invariants.partition("aabb"), "labels"),
        (lambda: invariants.partition([]), "labels"),
        (lambda: invariants.margins((2, 0)), "shape"),
        (lambda: invariants.margins((2, 2), []), "groups"),
        (lambda: invariants.margins((2, 2), [()]), "groups"),
        (lambda: invariants.margins((2, 2), [(0, 0)]), "groups"),
        (lambda: invariants.margins((2, 2), [(2,)]), "groups"),
        (lambda: invariants.margins((2, 2), ["axis0"]), "groups"),
        (lambda: invariants.margins((2, 2), [("colour",)]), "colour"),
        (lambda: invariants.margins((2, 2), [(0, 1), (1,)]).semi_adjacency_bound, "no bound"),
        (lambda: metrics.uniform(3, 1.0) & invariants.margins((2, 2)), "3 elements, the invariant of 4"),
        (lambda: metrics.uniform(2, 1.0) & invariants.linear([[1, 0]], records_public=False).at(1), "records_public"),
        (
            lambda: metrics.uniform(4, 1.0) & invariants.margins((2, 2)).at(MOST_TRANSPORTED_RECORDS + 1),
            "records moved at once",
        ),
        (lambda: Problem(Workload.identity(3), invariants.margins((2, 2)).protect(1.0)), "4 elements"),
    ],
)
def test_bad_invariants_are_refused_with_a_remedy(build, message):
    with pytest.raises(InvalidProblem, match=message):
        build()


def test_far_too_many_changes_are_refused():
    with pytest.raises(DesignFailed, match="lower the adjacency"):
        _ = InvariantChanges(invariants.total(60), 4, 1.0).changes


def test_sums_beyond_the_floats_are_not_certified():
    relation = invariants.margins((2, 2)).protect(1.0)
    assert relation.exact_on(np.array([[1.0], [2.0**40], [0.5], [3.0]]))
    assert not relation.exact_on(np.array([[1.0], [2.0**53], [0.5], [3.0]]))


def test_bias_is_not_designed_for_changes_of_several_records():
    with pytest.raises(DesignFailed, match="single records"):
        design(Problem(Workload.identity(4), invariants.margins((2, 2)).protect(1.0), records=10), "laplace_joint")


def test_l1_of_the_histogram_is_at_most_twice_the_adjacency():
    sensitivity = SensitivitySet.of(np.eye(9), invariants.margins((3, 3)).protect(1.0, adjacency=3))
    assert sensitivity.worst(weighted_l1(np.ones(9)))[0] == 6.0


def test_budgets_per_distance_are_epsilon_times_the_distance() -> None:
    keeps = invariants.total(3)
    assert keeps.protect(0.25, per_distance="l1").budget_of([3, -1, -2]) == Fraction(3, 2)
    short = keeps.protect(0.25, per_distance="l2").budget_of([3, -1, -2])
    assert short**2 <= Fraction(14, 16) < (short * (1 + Fraction(1, 2**70))) ** 2


def said(regions: int, ages: int, margins: list[list[int]]) -> str:
    return " ".join(invariants.margins((regions, ages), margins).protect(1.0, adjacency=1).unprotected())


@pytest.mark.parametrize("regions", [12, 120])
def test_more_published_totals_read_otherwise(regions: int) -> None:
    one, both = said(regions, 2, [[0]]), said(regions, 2, [[0], [1]])
    assert one != both
    assert ("SHA-256" in one) == (regions > 100)
    if regions <= 100:
        assert one.count("axis0=") == regions and both.count("axis1=") == 2


@pytest.mark.parametrize("silent", [12, 120])
def test_answers_without_noise_are_all_named_and_both_verifiers_agree(silent: int) -> None:
    """Totals of parts, which no change within a part moves."""
    parts = [k // 2 for k in range(2 * silent)]
    rows = [[float(part == k) for part in parts] for k in range(silent)] + [[1.0] + [0.0] * (2 * silent - 1)]
    names = [f"part {k}" for k in range(silent)] + ["first"]
    problem = Problem(Workload(rows, queries=names), metrics.partition(parts, 1.0))
    made = design(problem, "laplace").mechanism
    sentence = made.guarantee.unprotected[0]
    assert sentence.startswith("Published exactly") and ("SHA-256" in sentence) == (silent > 100)
    if silent <= 100:
        assert all(f"part {k}" in sentence for k in range(silent))
    content = bytes_of(json.loads(json.dumps(plain(to_spec(made)))))
    assert (main_verdict(content), standalone_verdict(content)[0]) == ("holds", "holds")
    assert standalone.every_name(names[:-1]) in sentence


def _sums(structure: Structure) -> np.ndarray:
    """The statistics that a structure stands for: a row for each class."""
    return np.array([row == c for row in structure.classes for c in np.unique(row[row != FREE])], dtype=np.int64)


def _same_kernel(rows: np.ndarray, structure: Structure) -> bool:
    ours, theirs = integer_kernel(_sums(structure)), integer_kernel(rows)
    both = ours.dimension == theirs.dimension == structure.freedom
    return both and ours.contains(theirs.basis).all() and theirs.contains(ours.basis).all()


def test_random_nested_statistics_amount_to_classes_with_the_same_kernel() -> None:
    rng = np.random.default_rng(0)
    for _ in range(40):
        size = int(rng.integers(2, 9))
        rows, parts = [], [np.arange(size)]
        while parts:
            part = parts.pop()
            if rng.random() < 0.6:
                rows.append(np.isin(np.arange(size), part) * int(rng.integers(1, 3)))
            if len(part) > 1:
                cut = int(rng.integers(1, len(part)))
                parts += [part[:cut], part[cut:]] if rng.random() < 0.7 else [part[:cut]]
        if rows:
            rows += [np.ones(size, dtype=np.int64)] * int(rng.integers(0, 2))
            mixed = np.array(rows)[rng.permutation(len(rows))][:, rng.permutation(size)]
            found = structure_of(mixed)
            assert found is not None and found.kind in ("partition", "nested")
            assert _same_kernel(mixed, found)


@pytest.mark.parametrize(
    ("invariant", "kind", "levels", "repeats"),
    [
        (invariants.total(5), "partition", (1,), 5),
        (invariants.partition(list("aabbcc")), "partition", (3,), 2),
        (invariants.margins((3, 4)), "margins", (3, 4), 1),
        (invariants.margins((2, 3, 2), [(0, 1), (2,)]), "margins", (6, 2), 1),
        (invariants.margins((2, 3, 2), [(1,), (2,)]), "margins", (3, 2), 2),
        (invariants.margins((2, 3, 2), [(0, 1), (0,), (2,)]), "margins", (6, 2), 1),
        (invariants.margins((1, 4)), "partition", (4,), 1),
        (invariants.margins((2, 2, 3)), "margins", (2, 2, 3), 1),
    ],
)
def test_known_invariants_have_their_structure(invariant, kind, levels, repeats) -> None:
    found = invariant.structure
    assert (found.kind, found.levels, found.repeats) == (kind, levels, repeats)
    assert _same_kernel(invariant.constraints, found)


@pytest.mark.parametrize(
    "rows",
    [
        [[1, 1, 0], [0, 1, 1]],
        [[1, 2, 1]],
        [[1, -1, 0]],
        [[0, 0, 0]],
        invariants.margins((2, 2, 2), [(0, 1), (1, 2)]).matrix.tolist(),
        np.delete(invariants.margins((3, 3)).constraints, 4, axis=1).tolist(),
    ],
)
def test_other_statistics_have_none(rows) -> None:
    assert structure_of(np.array(rows)) is None


def test_an_element_that_may_not_change_is_a_class_by_itself() -> None:
    rows = np.array([[1, 1, 1, 0, 0], [0, 0, 0, 1, 1], [0, 1, 0, 0, 0]])
    found = structure_of(rows)
    assert found.classes.tolist() == [[0, 2, 0, 1, 1]]
    assert [block.tolist() for block in found.blocks()] == [[0, 2], [3, 4], [1]]
    assert found.free.tolist() == []


@pytest.mark.parametrize(
    "invariant",
    [
        invariants.margins((2, 3)),
        invariants.margins((2, 3, 2)),
        invariants.margins((2, 3, 2), [(0,), (1,)]),
        invariants.margins((3, 4), [(0,)]),
        invariants.total(4),
    ],
)
def test_projections_onto_the_changes_are_those_of_least_squares(invariant):
    """Against the projection along the rows of the statistics, by a solver of least squares."""
    rows = np.random.default_rng(1).normal(size=(5, invariant.size))
    along = invariant.constraints.astype(float).T
    left = rows.T - along @ np.linalg.lstsq(along, rows.T, rcond=None)[0]
    assert np.allclose(invariant.structure.projected(rows), left.T, atol=1e-12)

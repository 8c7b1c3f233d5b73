"""How long changes are without a list of them, against lists of all changes."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from designer import DesignFailed, InvalidProblem, Problem, Workload, design, invariants, load
from designer.base.json_text import plain
from designer.certificate.certificate import certify
from designer.certificate.implicit_changes import UnlistedSet
from designer.certificate.norms import Norm, weighted_l1
from designer.certificate.sensitivity import SensitivitySet
from designer.relations.invariants import one_budget as bounded
from designer.relations.invariants.known import length_of
from designer.relations.invariants.one_budget import InvariantChanges, bounded_changes, require_boundable
from designer.relations.invariants.statistics import line_table
from solvers.lattices.enumeration import short_vectors

ORDERS = ("l1", "l2", "linf")
LINES = list(itertools.combinations(range(3), 2))


def all_changes(invariant, adjacency: int) -> np.ndarray:
    return short_vectors(invariant.constraints, 2 * adjacency, limit=10**6).vectors


def lengths_by_list(invariant, adjacency: int) -> tuple[int, int, int]:
    sizes = np.abs(all_changes(invariant, adjacency))
    return tuple(int(part.max(initial=0)) for part in (sizes.sum(axis=1), (sizes**2).sum(axis=1), sizes))


def unlisted(relation: InvariantChanges) -> InvariantChanges:
    """The same relation, as if its changes were too many."""
    relation.__dict__["listed"] = False
    return relation


EXACT = [
    (invariants.total(5), (1, 2, 3)),
    (invariants.partition(list("aaabbc")), (1, 2, 3)),
    (invariants.linear([[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0], [1, 1, 0, 0, 0, 0]]), (1, 2)),
    *((invariants.margins(shape), range(1, 8)) for shape in [(2, 2), (2, 3), (3, 3)]),
    (invariants.margins((3, 4)), range(1, 6)),
    (invariants.margins((5, 5)), (2, 3, 4)),
    (invariants.margins((2, 2, 2)), (1, 2, 3, 4, 6)),
    (invariants.margins((3, 3, 3)), (2, 3)),
    (invariants.margins((2, 2, 2, 2)), (2, 3, 4)),
    (invariants.margins((2, 3, 2), [(0,), (1,)]), (1, 2, 3)),
    (invariants.margins((2, 2, 3), [(0, 1), (2,)]), (2, 3)),
    (invariants.margins((2, 2, 2), LINES), (3, 4, 5, 8)),
    (invariants.margins((2, 2, 4), LINES), (4, 6, 8)),
    (invariants.margins((2, 3, 3), LINES), (4, 5, 6, 8)),
    (invariants.margins((3, 3, 3), LINES), (4, 6)),
    (invariants.margins((2, 2, 2, 3), list(itertools.combinations(range(4), 3))), (7, 8)),
]


@pytest.mark.parametrize(("invariant", "adjacency"), [(one, a) for one, several in EXACT for a in several])
def test_lengths_in_closed_form_are_those_of_the_list_of_all_changes(invariant, adjacency):
    known = invariant.protect(1.0, adjacency).known
    assert (known.lengths.total, known.lengths.square, known.lengths.largest) == lengths_by_list(invariant, adjacency)
    assert all(known.lengths.exact(order) for order in ORDERS)


@pytest.mark.parametrize(
    ("invariant", "adjacency"),
    [
        (invariants.margins((2, 2, 2)), 5),
        (invariants.margins((2, 2, 2)), 7),
        (invariants.margins((2, 2, 2, 2)), 5),
        (invariants.margins((2, 3, 3), LINES), 7),
    ],
)
def test_where_a_length_is_a_bound_only_it_is_above_the_list_and_the_witness_is_the_longest_there(invariant, adjacency):
    lengths = invariant.protect(1.0, adjacency).known.lengths
    listed = lengths_by_list(invariant, adjacency)
    for order, found in zip(ORDERS, listed, strict=True):
        assert length_of(lengths.longest(order), order) == found <= lengths.bound(order) <= 1.2 * found


@pytest.mark.parametrize(("invariant", "adjacency"), [(one, max(several)) for one, several in EXACT])
def test_the_changes_named_keep_the_statistics_and_move_no_more_records_than_allowed(invariant, adjacency):
    for change in invariant.protect(1.0, adjacency).known.lengths.changes:
        v = np.zeros(invariant.size, dtype=int)
        for cell, amount in change:
            v[cell] = amount
        assert not (invariant.constraints @ v).any() and 0 < np.abs(v).sum() <= 2 * adjacency


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("invariant", [invariants.total(5), invariants.partition(list("aaabbc"))])
@pytest.mark.parametrize("adjacency", [1, 3])
def test_the_longest_exchange_under_weights_is_a_change_of_that_length(invariant, adjacency, order):
    """Against every change of the list; the change that is named keeps the statistics and has the length."""
    weights = np.arange(2, 2 + invariant.size) ** 1.5
    found = invariant.protect(1.0, adjacency).known.longest(weights, order)
    power = {"l1": 1, "l2": 2, "linf": np.inf}[order]
    longest = max(np.linalg.norm(weights * v, power) for v in all_changes(invariant, adjacency))
    v = np.zeros(invariant.size, dtype=int)
    for cell, amount in found.change:
        v[cell] += amount
    assert v.any() and not (invariant.constraints @ v).any() and np.abs(v).sum() <= 2 * adjacency
    assert np.linalg.norm(weights * v, power) == pytest.approx(longest) == pytest.approx(float(found.bound))


@pytest.mark.parametrize(("invariant", "adjacency"), [(one, max(several)) for one, several in EXACT])
def test_no_fewer_changes_are_counted_than_none_and_no_more_than_there_are(invariant, adjacency):
    known, changes = invariant.protect(1.0, adjacency).known, all_changes(invariant, adjacency)
    assert known.count_at_least() <= len(changes)
    if invariant.structure is not None and invariant.structure.kind != "margins":
        assert known.count_at_least() == len(changes)


def test_lines_are_read_off_rows_in_any_order_of_the_elements():
    random = np.random.default_rng(5)
    rows = invariants.margins((2, 3, 4), LINES).matrix
    shuffled = random.permutation(rows.shape[1])
    table = line_table(rows[:, shuffled])
    assert table is not None and sorted(table.place.shape) == [2, 3, 4] and table.freedom == 6
    assert line_table(invariants.margins((2, 3, 4), LINES[:2]).matrix) is None
    assert line_table(invariants.margins((2, 3)).matrix) is None
    first, *others = rows
    halves = [first * (np.cumsum(first) <= 2), first * (np.cumsum(first) > 2)]
    assert line_table(np.array([*halves, *others])) is None, "one line is counted in two parts"


@pytest.mark.parametrize(("invariant", "adjacency"), [(one, max(several)) for one, several in EXACT])
def test_rows_that_no_change_moves_are_told_from_those_that_some_change_moves(invariant, adjacency):
    random = np.random.default_rng(2)
    known, changes = invariant.protect(1.0, adjacency).known, all_changes(invariant, adjacency)
    mixed = random.integers(-2, 3, (6, len(invariant.constraints))) @ invariant.constraints
    rows = np.vstack([mixed, np.eye(invariant.size), random.integers(0, 2, (5, invariant.size))]).astype(float)
    if known.spans:
        assert known.unmoved(rows).tolist() == (~(rows @ changes.T).any(axis=1)).tolist()


@pytest.mark.parametrize("seed", range(12))
def test_certificates_without_a_list_are_those_of_the_list_on_random_problems(seed):
    """The same worst ratio, as a fraction, where lengths are exact; random statistics, norms, scales and budgets."""
    random = np.random.default_rng(seed)
    invariant, several = EXACT[random.integers(len(EXACT))]
    adjacency, epsilon = int(random.choice(list(several))), float(random.uniform(0.1, 3))
    if not len(all_changes(invariant, adjacency)):
        adjacency = max(several)
    norm = Norm(np.full(invariant.size, random.uniform(0.1, 5)), str(random.choice(ORDERS)))
    matrix = np.eye(invariant.size) * 2.0 ** random.integers(-3, 3)
    listed, other = (invariant.protect(epsilon, adjacency) for _ in range(2))
    by_list = certify(SensitivitySet.of(matrix, listed), norm)
    by_length = certify(SensitivitySet.of(matrix, unlisted(other)), norm)
    assert by_list.worst_ratio == by_length.worst_ratio and by_list.holds == by_length.holds
    assert listed.listed and by_length.witness.words.startswith("the histogram changes by")


@pytest.mark.parametrize("seed", range(8))
def test_under_classes_any_answers_in_any_norm_are_certified_as_by_the_list(seed):
    random = np.random.default_rng(seed)
    invariant = invariants.partition([str(label) for label in random.integers(0, 2, 7)])
    adjacency = int(random.integers(1, 4))
    matrix = np.cumsum(np.eye(7), axis=0) if seed == 0 else random.integers(-3, 4, (int(random.integers(1, 5)), 7)) / 4
    norm = Norm(random.uniform(0.1, 2, len(matrix)), str(random.choice(ORDERS)))
    listed, other = (invariant.protect(1.5, adjacency) for _ in range(2))
    sets = SensitivitySet.of(matrix, listed), SensitivitySet.of(matrix, unlisted(other))
    assert isinstance(sets[1], UnlistedSet)
    assert certify(sets[0], norm).worst_ratio == certify(sets[1], norm).worst_ratio
    assert sets[0].silent_coordinates().tolist() == sets[1].silent_coordinates().tolist()


@pytest.mark.parametrize("seed", range(8))
def test_for_other_answers_the_bound_by_columns_is_above_the_list(seed):
    random = np.random.default_rng(seed)
    invariant = [invariants.margins((3, 4)), invariants.margins((2, 3, 2)), invariants.margins((2, 2, 3), LINES)][seed % 3]
    adjacency = 4
    matrix = random.integers(-3, 4, (int(random.integers(1, 6)), invariant.size)).astype(float)
    weights = random.uniform(0.1, 2, len(matrix))
    norm = Norm(weights if seed % 2 else np.diag(weights) + 0.1, ORDERS[seed % 2])
    listed, other = (invariant.protect(1.5, adjacency) for _ in range(2))
    exact = certify(SensitivitySet.of(matrix, listed), norm).worst_ratio
    bound = certify(SensitivitySet.of(matrix, unlisted(other)), norm).worst_ratio
    assert exact <= bound <= 6 * exact


@pytest.mark.parametrize(("public", "above"), [(0.0, 1e-12), (1e6, 1e-6)])
def test_the_bound_by_columns_covers_what_floats_lose_where_no_column_cancels_another(public, above):
    """One query, w (p + x [1, -1, -1, 1]) with a public p: the change [1, -1, -1, 1] has the length 4 w x, which the columns'
    lengths add up to exactly once p is taken out, and floats fall below in about half of the cases."""
    below = 0
    for seed in range(20):
        x, weight = (float(v) for v in np.random.default_rng(seed).uniform(0.1, 2, 2))
        signed = np.array([[x, -x, -x, x]]) + public
        changes = [Fraction(v) for v in (signed[0] * [1, -1, -1, 1]).tolist()]
        told = SensitivitySet.of(signed, unlisted(invariants.margins((2, 2)).protect(1.0, 2)))
        assert isinstance(told, UnlistedSet)
        longest, exact = told._by_columns(weighted_l1([weight])), abs(sum(changes)) * Fraction(weight)
        assert longest.reached == exact <= longest.bound <= exact * (1 + Fraction(above))
        below += 4 * Fraction(weight * x) < exact
    assert below > 4


def test_the_bound_by_columns_covers_what_a_norm_of_many_images_loses():
    """Of 400 images all but the first are a little less than half a unit of roundoff, and each is lost in the sum."""
    norm = Norm(np.append(1.0, np.full(399, 0.9 * 2.0**-53))[:, None], "l1")
    told = SensitivitySet.of([[1.0, -1.0, -1.0, 1.0]], unlisted(invariants.margins((2, 2)).protect(1.0, 2)))
    longest = told._by_columns(norm)
    assert longest.reached == 4 * sum(map(Fraction, norm.map[:, 0].tolist())) <= longest.bound


@pytest.mark.parametrize("seed", range(6))
def test_unequal_weights_of_cells_are_bounded_from_above_and_exactly_under_classes(seed):
    random = np.random.default_rng(seed)
    invariant = [invariants.margins((3, 4)), invariants.partition(list("aabbbc")), invariants.total(5)][seed % 3]
    norm = Norm(random.uniform(0.5, 1, invariant.size), ORDERS[seed % 2])
    listed, other = (invariant.protect(1.5, 3) for _ in range(2))
    matrix = np.eye(invariant.size)
    exact = certify(SensitivitySet.of(matrix, listed), norm).worst_ratio
    bound = certify(SensitivitySet.of(matrix, unlisted(other)), norm).worst_ratio
    assert exact == bound if seed % 3 else exact <= bound <= 2 * exact


@pytest.mark.parametrize("order", ORDERS)
def test_a_cell_that_is_measured_twice_counts_twice(order):
    """Rows that repeat a cell, with weights of their own: as by the list, and never below it."""
    invariant = invariants.margins((2, 2))
    matrix = np.vstack([np.eye(4), 2 * np.eye(4)[1:3]])
    norm = Norm(np.array([1.0, 1.0, 1.0, 1.0, 0.25, 0.5]), order)
    by_list = certify(SensitivitySet.of(matrix, invariant.protect(0.5, 2)), norm)
    by_length = certify(SensitivitySet.of(matrix, unlisted(invariant.protect(0.5, 2))), norm)
    alone = certify(SensitivitySet.of(matrix[:4], invariant.protect(0.5, 2)), Norm(np.ones(4), order))
    assert by_length.worst_ratio >= by_list.worst_ratio >= alone.worst_ratio
    assert order == "linf" or by_list.worst_ratio > alone.worst_ratio


def test_noise_below_what_the_longest_change_needs_is_refused():
    relation = unlisted(invariants.margins((4, 4)).protect(1.0, 3))
    sensitivity = SensitivitySet.of(np.eye(16), relation)
    below, above = (certify(sensitivity, Norm(np.full(16, w), "l2")) for w in (6**-0.5 * (1 + 2**-40), 6**-0.5 * (1 - 2**-40)))
    assert not below.holds and above.holds
    silent = np.full(16, 6**-0.5 * (1 - 2**-40))
    silent[3] = np.inf
    assert certify(sensitivity, Norm(silent, "l2")).worst_ratio is None


def test_small_problems_are_listed_as_they_always_were():
    assert invariants.margins((7, 7)).protect(1.0, 3).listed
    assert not invariants.total(102).protect(1.0, 2).listed
    assert not invariants.margins((13, 13)).protect(1.0, 3).listed


@pytest.mark.parametrize(
    ("invariant", "adjacency", "slack"),
    [
        (invariants.margins((3, 3, 3), [(0, 1), (0, 2)]), 3, 1.0),
        (invariants.margins((3, 3, 3), [(0, 1), (0, 2)]), 4, 1.0),
        (invariants.linear([[1, 1, 0, 0, 1, 0, 2], [0, 1, 1, 0, 0, 1, 0], [0, 0, 0, 1, 1, 0, 1]]), 3, 1.0),
        (invariants.linear(np.vstack([invariants.margins((3, 4)).matrix, np.arange(12) % 5])), 4, 2.0),
        (invariants.linear(np.vstack([invariants.margins((3, 3)).matrix, [2, 0, 1, 0, 0, 3, 0, 1, 0]])), 5, 2.0),
    ],
)
def test_statistics_of_no_known_kind_are_bounded_by_duals_in_whole_numbers(invariant, adjacency, slack):
    lengths = bounded_changes(invariant, adjacency).lengths
    for order, listed in zip(ORDERS, lengths_by_list(invariant, adjacency), strict=True):
        assert length_of(lengths.longest(order), order) <= listed <= lengths.bound(order) <= slack * listed


def test_tables_of_no_known_kind_are_designed_with_a_bound_and_come_back(tmp_path):
    """Two margins that share a feature: four levels, each with a table of its own."""
    invariant = invariants.margins((4, 6, 6), [(0, 1), (0, 2)])
    relation = invariant.protect(1.0, 4)
    problem = Problem(Workload.identity(144), unlisted(relation), notion="zcdp")
    made = design(problem, "gaussian")
    assert invariant.structure is None and made.error == pytest.approx(16 * 4 * 25, rel=1e-9)
    assert "2 crossed partitions" in made.privacy.arithmetic and made.optimality is None


def test_what_has_no_closed_form_and_is_too_large_says_what_it_would_cost():
    shape = (13, 11, 12)
    weighted = np.vstack([invariants.margins(shape).matrix, np.arange(1716) % 7])
    relation = invariants.linear(weighted).protect(1.0, 3)
    with pytest.raises(DesignFailed, match="a linear program for each of the 1716 elements"):
        require_boundable(relation.invariant, 3)


# Designs ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("invariant", "adjacency", "square"),
    [
        (invariants.total(102), 2, 8),
        (invariants.margins((13, 13)), 3, 6),
        (invariants.margins((20, 20)), 4, 16),
        (invariants.margins((7, 7, 7), LINES), 6, 12),
        (invariants.partition([str(i % 7) for i in range(120)]), 3, 18),
    ],
)
def test_gaussian_designs_of_many_changes_are_optimal_and_come_back_from_their_spec(invariant, adjacency, square, tmp_path):
    relation = invariant.protect(0.5, adjacency)
    assert not relation.listed
    made = design(Problem(Workload.identity(invariant.size), relation, notion="zcdp"), "gaussian")
    assert made.error == pytest.approx(4 * square * invariant.freedom, rel=1e-9)
    assert made.optimality.gap < 1e-9 and made.privacy.holds
    again = load(made.mechanism.save(tmp_path / "spec.json"))
    assert again.fingerprint == made.mechanism.fingerprint and again.projected
    table = np.arange(invariant.size) % 5
    answers = np.asarray(again.release(table).answers)
    assert np.allclose(invariant.matrix @ answers, invariant.matrix @ table) and not np.allclose(answers, table)


@pytest.mark.parametrize("family", ["laplace", "projected_laplace"])
def test_laplace_designs_without_a_list_have_the_errors_of_those_with_one(family):
    """The geometric variance of scale 2 a for each cell, or for each direction that is left: at 6 x 6 by the list, at 14 x 14
    without."""
    variance = 1 / (2 * math.sinh(1 / 12) ** 2)
    for side in (6, 14):
        problem = Problem(Workload.identity(side**2), invariants.margins((side, side)).protect(1.0, 3))
        cells = side**2 if family == "laplace" else (side - 1) ** 2
        assert problem.relation.listed == (side == 6)
        assert design(problem, family).error == pytest.approx(variance * cells, rel=1e-9)


def test_designs_of_a_small_table_are_the_same_with_and_without_a_list():
    for family, notion in [("gaussian", "zcdp"), ("laplace", "pure"), ("projected_laplace", "pure")]:
        losses = []
        for hide in (False, True):
            relation = invariants.margins((4, 5)).protect(0.7, 3)
            problem = Problem(Workload.identity(20), unlisted(relation) if hide else relation, notion=notion)
            losses.append(design(problem, family).error)
        assert losses[0] == pytest.approx(losses[1], rel=1e-5), family


def test_three_way_tables_state_how_far_equal_noise_can_be_from_the_optimum():
    """The interactions of two and of three axes may have precisions of their own: less than one percent is to be had."""
    made = design(Problem(Workload.identity(512), invariants.margins((8, 8, 8)).protect(1.0, 4), notion="zcdp"), "gaussian")
    assert made.error == pytest.approx(16 * (512 - 1 - 21), rel=1e-9) and 0 < made.optimality.gap < 0.01


def test_baselines_serve_any_answers_and_what_needs_a_list_says_so():
    relation = invariants.margins((14, 14)).protect(1.0, 3)
    rows = Workload(np.add.reduceat(np.eye(196), range(0, 196, 7), axis=0))
    made = design(Problem(rows, relation), "group_laplace")
    assert made.privacy.holds and made.error == pytest.approx(28 / (2 * math.sinh(1 / 12) ** 2), rel=1e-9)
    for family in ("ellipsoid", "k_norm", "laplace"):
        with pytest.raises(DesignFailed, match="too many changes"):
            design(Problem(rows, relation), family)
    with pytest.raises(InvalidProblem, match="use the notion 'pure' or 'zcdp'"):
        Problem(rows, relation, notion="approximate", delta=1e-6)


def test_cumulative_counts_within_classes_are_designed_by_scans_of_pairs():
    """102 counties with a public total and two records: prefix sums by row generation, certified over pairs of counties."""
    relation = invariants.total(102).protect(1.0, 2)
    sums = Workload(np.tril(np.ones((102, 102)))[16::17][:5])
    made = design(Problem(sums, relation), "laplace")
    assert made.privacy.holds and not relation.listed
    single = design(Problem(sums, invariants.total(102).protect(0.5, 1)), "laplace")
    assert made.error == pytest.approx(single.error, rel=1e-6)


def test_a_spec_that_claims_less_noise_or_a_projection_of_other_answers_is_refused():
    made = design(Problem(Workload.identity(102), invariants.total(102).protect(1.0, 2)), "projected_laplace").mechanism
    core = plain(made.core())
    assert core["measured"] is None and core["projected"] is True and len(core["grid"]) == 104
    with pytest.raises(ValueError, match="projected"):
        type(made).from_core({**core, "projected": False})
    with pytest.raises(ValueError, match="spends its budget"):
        type(made).from_core({**core, "relation": {**core["relation"], "adjacency": 3}})


@pytest.mark.parametrize(("shape", "adjacency"), [((3, 3), 3), ((2, 4), 3), ((4, 5), 2), ((4, 4), 3), ((5, 3), 3)])
@pytest.mark.parametrize("order", ["l1", "l2"])
def test_the_longest_cycle_in_any_weights_is_the_longest_change_of_the_list(shape, adjacency, order):
    random = np.random.default_rng(sum(shape))
    invariant = invariants.margins(shape)
    changes = np.abs(all_changes(invariant, adjacency))
    for _ in range(5):
        weights = random.exponential(1, invariant.size) * (random.random(invariant.size) < 0.8)
        found = invariant.protect(1.0, adjacency).known.longest(weights, order)
        listed = np.linalg.norm(changes * weights, {"l1": 1, "l2": 2}[order], axis=1).max()
        assert listed * (1 - 1e-14) <= float(found.bound) <= listed * (1 + 1e-12)


def test_laplace_scales_by_row_generation_without_a_list_are_those_of_the_list():
    """Unequal weights of the cells of a table: the best scales, by the longest cycles in their place."""
    random = np.random.default_rng(4)
    for side in (4, 6):
        weights = random.uniform(0.2, 5, side**2)
        relations = [invariants.margins((side, side)).protect(1.0, 3) for _ in range(2)]
        made = design(Problem(Workload.identity(side**2), unlisted(relations[0]), weights=weights), "laplace")
        assert made.privacy.holds and made.optimality.gap < 1e-6
        if side == 4:
            by_list = design(Problem(Workload.identity(16), relations[1], weights=weights), "laplace")
            assert made.loss == pytest.approx(by_list.loss, rel=1e-6)


@pytest.mark.parametrize("records", [1001, 10**6, 10**30])
def test_changes_of_very_many_records_are_counted_without_a_list(records: int) -> None:
    """Two elements exchange 1, 2, ... records; a third adds two more pairs of them."""
    pair, three = (invariants.total(size).protect(1.0, records).known for size in (2, 3))
    assert pair.count_at_least() == records and three.count_at_least() >= 3 * records


def test_no_change_is_looked_for_among_more_multisets_than_are_held(monkeypatch):
    """Eight elements are nine multisets of one record at most, however few the statistics are."""
    statistics = np.array([[1, 1, 1, 1, 1, 1, 1, 1], [1, 1, 2, 4, 8, 16, 32, 64]])
    monkeypatch.setattr(bounded, "MOST_SEARCHED_MULTISETS", 9)
    (change, same) = bounded._some_changes(statistics, 1)
    assert sorted(change.items()) in ([(0, -1), (1, 1)], [(0, 1), (1, -1)]) and same == change
    monkeypatch.setattr(bounded, "MOST_SEARCHED_MULTISETS", 8)
    with pytest.raises(DesignFailed, match="no change of few records that keeps the statistics was found among 8 elements"):
        bounded._some_changes(statistics, 1)

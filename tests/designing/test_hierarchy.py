"""The family of trees: worked-out errors through the whole design, agreement of nested answers, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, vstack

from designer import Problem, Workload, design, load, metrics
from designer.base.errors import DesignFailed
from designer.base.json_text import readable_text
from designer.certificate.frozen import to_spec
from designer.designing import hierarchy
from designer.designing.least_noise import LOOSE, limit
from designer.designing.printouts import design_in_brief, design_summary
from designer.mechanism.hierarchy import HierarchyMechanism
from designer.problem.compressed_rows import written_out

GROUPS = np.vstack([np.ones(47), np.repeat(np.eye(3), [2, 5, 40], axis=1), np.eye(47)])


def counts(matrix: object, epsilon: float = 1.0) -> Problem:
    workload = Workload(matrix)
    return Problem(workload, metrics.add_remove(workload.shape[1], epsilon))


def test_nested_counts_have_the_error_that_was_worked_out_and_agree() -> None:
    made = design(counts(GROUPS), "hierarchy")
    assert made.loss == pytest.approx(222.808975, rel=1e-8) and made.mechanism.privacy.ratio <= 1
    answers = made.mechanism.release(np.arange(47)).answers
    assert answers[0] == pytest.approx(answers[1:4].sum()) and answers[3] == pytest.approx(answers[11:].sum())


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_limit_of_nested_counts_is_that_of_the_general_program(monkeypatch: pytest.MonkeyPatch, epsilon: float) -> None:
    """Of a tree with multiples, a count that is asked twice, weights, and elements that nobody asks about."""
    rng = np.random.default_rng(3)
    rows = np.hstack([np.vstack([GROUPS[rng.permutation(51)], 2 * GROUPS[2:3]]), np.zeros((52, 2))])
    problem = Problem(Workload(rows), metrics.add_remove(49, epsilon), weights=rng.integers(1, 5, 52).astype(float))
    general = limit(problem, rows=0)
    monkeypatch.setattr(hierarchy, "SMALL", 0)
    found = limit(Problem(problem.workload, problem.relation, weights=problem.weights), rows=0)
    assert general is not None and found is not None and found.tree and not general.tree
    assert found.value == pytest.approx(general.value, rel=2e-6)
    assert found.value <= general.value / (1 - general.gap) * (1 + 1e-9), "at most the optimum"
    assert (found.records, found.least_records, found.theorem) == (general.records, general.least_records, general.theorem)
    assert found.unbiased == pytest.approx(general.unbiased, rel=2e-6)


def test_a_large_tree_says_how_far_the_best_is_at_most_and_that_small_ones_show_the_limit_to_be_loose() -> None:
    """Ten groups of 100 cells, which are not written out: 1.659 times the limit."""
    cells = csr_array(np.eye(1000))
    rows = vstack([csr_array(np.ones((1, 1000))), csr_array(np.kron(np.eye(10), np.ones(100))), cells])
    made = design(counts(rows.tocsr()))
    assert made.limit is not None and made.limit.value == pytest.approx(2283.59, rel=2e-6)
    assert made.efficiency is not None and 1 / made.efficiency == pytest.approx(1.659, abs=5e-4)
    assert LOOSE in design_summary("", made) and LOOSE in design_in_brief("", made)
    assert limit(made.problem, closed=True) is None


def test_a_total_of_two_cells_needs_more_than_the_limit_of_trees_says() -> None:
    problem = counts([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    first, sharper = limit(problem, rows=0), limit(problem)
    assert first is not None and sharper is not None
    assert (first.theorem, sharper.theorem) == ("T3", "T6") and sharper.value > 1.05 * first.value


def test_the_order_of_queries_elements_and_multiples_changes_nothing() -> None:
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(51), rng.permutation(47)
    twice = np.vstack([GROUPS[rows][:, columns], GROUPS[:1, columns]])
    weights = np.ones(52)
    weights[[np.flatnonzero(rows == 0)[0], 51]] = 0.5
    problem = Problem(Workload(twice), metrics.add_remove(47, 1.0), weights=weights)
    made = design(problem, "hierarchy")
    assert made.loss == pytest.approx(222.808975, rel=1e-8)
    assert np.abs(made.mechanism.effective - twice).max() < 1e-9
    assert design(counts(3 * GROUPS), "hierarchy").loss == pytest.approx(9 * 222.808975, rel=1e-8)


def test_where_a_record_changes_the_total_is_exact_and_half_the_budget_is_left() -> None:
    """The optimum at budget 1/2 with an exact root: no node above the groups is worth measuring there."""
    made = design(Problem(Workload(GROUPS), metrics.uniform(47, 1.0)), "hierarchy")
    assert made.mechanism.privacy.ratio <= 1 and made.mechanism.relation.simple.change == 1
    assert made.loss <= design(counts(GROUPS, 0.5), "hierarchy").loss * (1 + 1e-9)


@pytest.mark.parametrize(
    ("problem", "most"),
    [
        (counts(np.vstack([np.eye(100), np.kron(np.eye(10), np.ones(10)), np.kron(np.ones(10), np.eye(10))])), 556.5),
        (counts(np.tril(np.ones((500, 500)))), 42_500),
        (counts(Workload.all_ranges(64).dense()), 71_500),
    ],
    ids=["grid", "running totals", "ranges"],
)
def test_ranges_and_grids_are_answered_and_no_worse_than_trees_and_cells(problem: Problem, most: float) -> None:
    made = design(problem, "hierarchy")
    assert made.loss <= most and np.abs(written_out(made.mechanism.effective) - problem.workload.dense()).max() < 1e-9


@pytest.mark.nightly
def test_the_default_of_thousands_of_running_totals_is_below_trees() -> None:
    """Queries that are never written out, where noise on them has 6.8e9, and a tree 191,906."""
    made = design(counts(Workload.prefix(1500).matrix))
    assert made.mechanism.family == "strategy_geometric" and made.loss < 170_000


def test_elements_that_no_query_counts_take_no_budget() -> None:
    inside = np.hstack([np.zeros((51, 5)), GROUPS])
    assert design(counts(inside), "hierarchy").loss == pytest.approx(222.808975, rel=1e-8)


def test_a_saved_tree_is_the_same_when_it_is_loaded(tmp_path) -> None:
    mechanism = design(counts(GROUPS), "hierarchy").mechanism
    mechanism.save(tmp_path / "tree.json")
    assert load(tmp_path / "tree.json").fingerprint == mechanism.fingerprint


def test_under_other_relations_the_rates_are_kept_in_proportion_and_spend_the_budget() -> None:
    mechanism = design(Problem(Workload(GROUPS), metrics.per_element(np.arange(1.0, 48.0))), "hierarchy").mechanism
    assert 0.999 < mechanism.privacy.ratio <= 1 and np.abs(mechanism.effective - GROUPS).max() < 1e-9


def of_levels(*sizes: int) -> Workload:
    """Everybody, and groups of equal sizes, each level within the one before."""
    cells = int(np.prod(sizes))
    counted = [csr_array(np.ones((1, cells)))]
    for level in np.cumprod(sizes):
        place = np.arange(cells) * level // cells
        counted.append(csr_array((np.ones(cells), (place, np.arange(cells))), shape=(level, cells)))
    return Workload(vstack(counted).tocsr())


@pytest.mark.parametrize(
    ("sizes", "loss"),
    [((20, 25, 10), 28299.1103), ((10, 20, 80), 68357.0476), ((10, 100), 3789.2266), ((10, 10, 12), 7375.6812)],
)
def test_thousands_of_nested_counts_have_the_least_error_that_was_worked_out(sizes: tuple[int, ...], loss: float) -> None:
    """By the default, too; files hold groups and rates, and a release answers every sum of cells alike."""
    made = design(counts(of_levels(*sizes).matrix))
    mechanism = made.mechanism
    assert made.loss == pytest.approx(loss, rel=1e-6) and isinstance(mechanism, HierarchyMechanism)
    assert 1 - 1e-9 < mechanism.privacy.ratio <= 1 and len(readable_text(to_spec(mechanism))) < 200_000
    answers = mechanism.release(np.ones(mechanism.workload.shape[1], dtype=int)).answers
    assert answers[0] == pytest.approx(answers[1 : 1 + sizes[0]].sum())


@pytest.mark.parametrize(("size", "loss"), [(2_000, 286_000), (10_000, 2_320_000)])
def test_thousands_of_running_totals_are_below_the_best_tree_of_one_rate_a_level(size: int, loss: float) -> None:
    """Trees of one rate a level reach 293,427 and 2,565,746."""
    made = design(counts(Workload.prefix(size).matrix), "hierarchy")
    assert made.loss < loss
    assert np.array_equal(made.mechanism.effective.ends, np.arange(1, size + 1))


def test_queries_that_are_no_ranges_and_too_many_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hierarchy, "MOST_TREE_ENTRIES", 100)
    with pytest.raises(DesignFailed, match=r"hierarchy: 20 queries of 20 elements have 400 entries and are no ranges"):
        design(counts(np.arange(400).reshape(20, 20) % 7 + 1.0), "hierarchy")
    monkeypatch.setattr(hierarchy, "MOST_LINE_RANGES", 10)
    with pytest.raises(DesignFailed, match=r"hierarchy: sums of nodes of 20 ranges would take 4\.4e-05 GB, and at most 10"):
        design(Problem(Workload.prefix(20), metrics.add_remove(20, 1.0)), "hierarchy")
    monkeypatch.setattr(hierarchy, "MOST_LINE_RANGES", 100)
    with pytest.raises(DesignFailed, match=r"hierarchy: 51 queries of 47 elements would take matrices of .* GB"):
        design(Problem(Workload(GROUPS), metrics.per_element(np.arange(1.0, 48.0))), "hierarchy")


def test_many_nested_counts_are_not_searched_by_families_that_cannot_win() -> None:
    """An ellipsoid in 1,000 dimensions loses more than what is reached; other queries lose more than their own tree."""
    made = design(counts(of_levels(10, 100).matrix))
    tried = made.mechanism.provenance["tried"]
    assert tried["ellipsoid"].startswith("not started: cannot be below 1,012,000")
    strategies = [words for name, words in tried.items() if name.startswith("strategy")]
    assert strategies and all(words.startswith("left out: the tree of these nested counts") for words in strategies)
    assert made.mechanism.family == "hierarchy"

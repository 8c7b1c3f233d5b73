"""Whole-number noise on whole-number rows: never above folklore, its formula, its law, its certificate, and what it refuses."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from designer import Design, DesignFailed, InvalidProblem, Problem, Workload, design, invariants, load, metrics
from designer.certificate.frozen import summary_lines
from designer.designing.repair import Atoms
from designer.mechanism.additive import AdditiveMechanism, measured_matrix
from designer.relations.row_groups import RowGroups
from designer.sampling.entropy import SeededEntropy
from designer.verifier import standalone
from solvers.programs.changes import Changes
from solvers.programs.strategy import hierarchical, prefix
from solvers.programs.whole_strategy import RateProblem, RowSet, precision

FAMILY = "strategy_geometric"


def variance(rate: float) -> float:
    """`2 a / (1 - a)^2`, `a = exp(-rate)`."""
    a = math.exp(-rate)
    return 2 * a / (1 - a) ** 2


def made(problem: Problem, **options: Any) -> AdditiveMechanism:
    found = design(problem, FAMILY, **options).mechanism
    assert isinstance(found, AdditiveMechanism) and found.family == FAMILY and found.privacy.holds
    return found


def health(cells: int) -> np.ndarray:
    """A table of two sexes, and the total of each."""
    return np.vstack([np.eye(2 * cells), np.repeat(np.eye(2), cells, axis=1)])


@pytest.mark.parametrize(("budget", "folklore"), [(1.0, 38.7), (2.0, 7.60), (4.0, 0.798)])
def test_running_totals_are_no_worse_than_counts_added_up(budget: float, folklore: float) -> None:
    problem = Problem(Workload.prefix(6), metrics.add_remove(6, budget))
    assert 21 * variance(budget) == pytest.approx(folklore, rel=2e-3)
    assert made(problem).error() <= 21 * variance(budget) * (1 + 1e-9)


def test_blocks_that_share_no_record_are_designed_alone_however_they_are_ordered() -> None:
    """Two runs of totals and one other query: the errors, and the bounds, of each alone."""
    whole = np.zeros((13, 17))
    whole[:6, :6] = whole[6:12, 6:12] = np.tril(np.ones((6, 6)))
    whole[12, 12:] = [1, 2, 3, 0, 0]
    rng = np.random.default_rng(0)
    shuffled = whole[rng.permutation(13)][:, rng.permutation(17)]
    alone = [
        design(Problem(Workload(part), metrics.add_remove(part.shape[1], 1.0)), FAMILY)
        for part in (whole[:6, :6], whole[12:, 12:])
    ]
    for matrix in (whole, shuffled):
        found = design(Problem(Workload(matrix), metrics.add_remove(17, 1.0)), FAMILY)
        assert found.loss == pytest.approx(2 * alone[0].loss + alone[1].loss, rel=1e-9)
        bounds = [one.mechanism.optimality.lower_bound for one in (*alone, found)]
        assert bounds[2] == pytest.approx(2 * bounds[0] + bounds[1], rel=1e-9)
        assert np.abs(found.mechanism.effective - matrix).max() < 1e-12 and found.mechanism.privacy.holds


def test_rates_are_those_of_whole_number_noise() -> None:
    """At budget 6 the continuous law would take a tree, whose whole-number noise is five times that of the counts."""
    problem = Problem(Workload.prefix(24), metrics.add_remove(24, 6.0))
    assert made(problem).error() <= 300 * variance(6.0) * (1 + 1e-9)


@pytest.mark.parametrize("budget", [0.5, 1.0, 4.0])
def test_cells_and_two_sums_are_no_worse_than_cells_added_up_or_both_for_themselves(budget: float) -> None:
    """Sixty cells and two sums of thirty, one record replaced: 940 for the cells added up at budget 1."""
    problem = Problem(Workload(health(30)), metrics.uniform(60, budget))
    added = 120 * variance(budget / 2)
    assert budget != 1.0 or added == pytest.approx(940, rel=1e-3)
    shares = np.linspace(0.01, 0.99, 99)
    apart = min(60 * variance(budget / 2 * s) + 2 * variance(budget / 2 * (1 - s)) for s in shares.tolist())
    assert made(problem).error() <= min(added, apart) * (1 + 1e-9)


@pytest.mark.parametrize("loss", ["squared", "absolute", "max"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("budget", [0.3, 2.0, 8.0])
def test_no_tree_nor_counts_nor_queries_alone_are_better(loss: Any, seed: int, budget: float) -> None:
    """Random queries with weights, records that change or appear, budgets from small to large."""
    rng = np.random.default_rng(seed)
    matrix = rng.integers(0, 2, (4, 6)).astype(float)
    matrix[:, 0], matrix[:, 5] = 0.0, 1.0
    relation = metrics.uniform(6, budget) if seed % 2 else metrics.add_remove(6, budget)
    problem = Problem(Workload(matrix), relation, loss=loss, weights=rng.uniform(0.5, 2.0, 4))
    found = design(problem, FAMILY)
    assert found.loss <= design(problem, "laplace").loss * (1 + 1e-6)
    rate = budget / 2 if seed % 2 else budget
    atoms = np.unique(matrix, axis=1)
    if loss == "absolute":
        return
    added = problem.loss_of((atoms**2).sum(axis=1) * variance(rate))
    assert found.loss <= added * (1 + 1e-9)


def test_absolute_errors_of_seldom_noise_are_no_larger_than_those_of_counts() -> None:
    """At large budgets least squares would spread the noise of every count over all answers."""
    problem = Problem(Workload.identity(8), metrics.uniform(8, 10.0), loss="absolute")
    assert design(problem, FAMILY).loss <= 8 / math.sinh(5.0) * (1 + 1e-6)


@pytest.mark.parametrize("fan", [2, 3, 4])
def test_no_tree_of_equal_rates_is_better(fan: int) -> None:
    tree = hierarchical(8, fan)
    queries = np.array([[float(a <= k <= b) for k in range(8)] for a in range(8) for b in range(a, 8)])
    rate = 1.0 / tree.sum(axis=0).max()
    cost = variance(rate) * np.trace(queries @ np.linalg.inv(tree.T @ tree) @ queries.T)
    assert made(Problem(Workload(queries), metrics.add_remove(8, 1.0))).error() <= cost * (1 + 1e-9)


RELATIONS: dict[str, Any] = {
    "appear": metrics.add_remove(6, 1.0),
    "replace": metrics.uniform(6, 1.0),
    "line": metrics.line(range(6), 1.0, 0.5),
    "unequal": metrics.add_remove(6, [0.5, 1.0, 2.0, 1.0, 0.7, 3.0]),
    "margins": invariants.margins((2, 3)).protect(1.0, 2),
    "total": invariants.total(6).protect(1.0, 2),
}


@pytest.mark.parametrize("name", RELATIONS)
def test_the_certificate_is_the_sum_over_all_rows_for_every_change(name: str, tmp_path: Path) -> None:
    """`sum_i rate_i |A_i u| / unit_i <= b` in rationals, change by change; the variance by its formula and by draws."""
    relation = RELATIONS[name]
    mechanism = made(Problem(Workload(np.tril(np.ones((6, 6)))[:5]), relation))
    heard = ~mechanism.norm.silent
    values = mechanism.grid.values(mechanism.integers)[heard]
    weights = [Fraction(float(w)) for w in mechanism.norm.map[heard]]
    points = relation.points(values.T)
    worst = Fraction(0)
    for block in relation.every_pair():
        rows = block.left if block.paired else np.repeat(block.left, len(block.right))
        columns = block.right if block.paired else np.tile(block.right, len(block.left))
        for i, j, budget in zip(rows, columns, np.ravel(block.budgets), strict=True):
            if np.isfinite(budget):
                moved = sum(
                    w * abs(Fraction(float(a)) - Fraction(float(b)))
                    for w, a, b in zip(weights, points[i], points[j], strict=True)
                )
                assert moved <= relation.exact_budget(int(i), int(j))
                worst = max(worst, moved / relation.exact_budget(int(i), int(j)))
    assert worst > 1 - Fraction(1, 10**6)
    rebuilt = mechanism.reconstruction
    assert rebuilt is not None
    steps = mechanism.grid.steps[heard]
    alone = [variance(float(w) * h) * h * h for w, h in zip(weights, steps.tolist(), strict=True)]
    np.testing.assert_allclose(mechanism.query_variances(), np.square(rebuilt[:, heard]) @ alone, rtol=1e-6)
    drawn = mechanism.noise_in_answers(40_000, SeededEntropy(3))
    sizes = np.sqrt(mechanism.query_variances())
    # Means and variances of 40,000 draws: six standard errors, of a kurtosis of at most 6 (8 for a count that is seldom moved).
    assert (np.abs(drawn.mean(axis=0)) <= 6 * sizes / 200 + 1e-12).all()
    np.testing.assert_allclose(drawn.var(axis=0), sizes**2, rtol=0.09)
    assert load(mechanism.save(tmp_path / "made.json")) == mechanism


def test_the_answers_are_the_weighted_least_squares_of_what_is_measured() -> None:
    """Brute force: no perturbation of the reconstruction that stays unbiased has a smaller total variance."""
    mechanism = made(Problem(Workload.all_ranges(5), metrics.add_remove(5, 1.0)))
    rebuilt, heard = mechanism.reconstruction, ~mechanism.norm.silent
    assert rebuilt is not None
    rows = measured_matrix(mechanism)[heard]
    alone = mechanism.noise.heard_covariance
    best = mechanism.workload.dense() @ np.linalg.inv(rows.T @ (rows / alone[:, None])) @ (rows / alone[:, None]).T
    np.testing.assert_allclose(rebuilt[:, heard], best, atol=1e-6)


@pytest.mark.parametrize("loss", ["squared", "absolute", "max"])
def test_the_gradient_is_that_of_differences(loss: Any) -> None:
    """Of the smooth loss in the logarithms of the rates."""
    asked = RateProblem(prefix(5), np.array([1.0, 2.0, 1.0, 0.5, 1.0]), loss, Changes.of_metric(1 - np.eye(5)))
    candidates = RowSet(asked, np.vstack([np.eye(5), hierarchical(5, 2)]), "both")
    theta = np.random.default_rng(0).normal(size=len(candidates.rows))
    value, slope = candidates.smooth(theta, 8.0)
    for place in range(len(theta)):
        there = theta.copy()
        there[place] += 1e-6
        assert (candidates.smooth(there, 8.0)[0] - value) / 1e-6 == pytest.approx(slope[place], abs=1e-4)


@pytest.mark.parametrize(("rate", "step"), [(0.01, 1.0), (1.0, 1.0), (2.0, 3.0), (30.0, 1.0)])
def test_the_precision_is_one_over_the_variance_of_the_geometric_law(rate: float, step: float) -> None:
    found = precision(np.array([rate]), np.array([step]))[0][0]
    assert 1 / found == pytest.approx(step**2 * variance(rate * step), rel=1e-9)


def test_changes_of_several_records_stand_once_with_their_least_budget() -> None:
    groups = RowGroups((metrics.uniform(4, 1.0), metrics.uniform(3, 0.3), metrics.uniform(3, 0.25)), ("a", "b", "c"))
    queries = np.zeros((2, 10))
    queries[0, :4], queries[0, 7:], queries[1, 4:7] = [0, 1, 2, 4], [0, 1, 2], [0, 0, 1]
    problem = Problem(Workload(queries), groups)
    atoms, least = Atoms.of(problem), dict[tuple[float, ...], float]()
    for start, part in zip(groups.starts, groups.parts, strict=False):
        for i, j in itertools.permutations(range(part.size), 2):
            told = np.zeros(len(atoms))
            np.add.at(told, atoms.label[[start + i, start + j]], [1.0, -1.0])
            if told.any():
                known = least.get(tuple(told), math.inf)
                least[tuple(told)] = min(known, float(part.exact_budget(i, j) or math.inf))
    changes = atoms.changes
    moves = changes.matrix.toarray().T
    assert changes.count == len({tuple(move) for move in (*moves, *-moves)}) / 2 == len(least) / 2
    assert [least[tuple(move)] for move in moves] == pytest.approx(changes.budget.tolist())
    assert Atoms.of(problem).changes is changes  # found once for a problem


def test_atoms_are_bound_by_the_least_budget_between_their_elements() -> None:
    rng = np.random.default_rng(4)
    points = rng.random((9, 2))
    relation = metrics.euclidean(points, 1.0)
    matrix = np.zeros((2, 9))
    matrix[0, :3], matrix[1, 2:5] = 1.0, 1.0
    atoms = Atoms.of(Problem(Workload(matrix), relation))
    assert len(atoms) == 4
    distances = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    changes = atoms.changes
    for column in range(changes.count):
        moved = changes.matrix[:, [column]].toarray().ravel()
        one, other = int(moved.argmax()), int(moved.argmin())
        least = distances[np.ix_(atoms.label == one, atoms.label == other)].min()
        assert changes.budget[column] == pytest.approx(least, rel=1e-9)


@pytest.mark.parametrize("relation", [metrics.add_remove(8, 1.0), metrics.uniform(8, 1.0)])
@pytest.mark.parametrize("loss", ["squared", "absolute", "max"])
def test_whole_answers_are_whole_and_no_better_than_fractions(relation: Any, loss: Any) -> None:
    problem = Problem(Workload(health(4)), relation, loss=loss)
    whole = design(problem, FAMILY, whole=True)
    answers = np.array([whole.mechanism.release(range(8)).answers for _ in range(20)])
    assert (answers == np.rint(answers)).all()
    if loss == "squared":
        assert design(problem, FAMILY).loss <= whole.loss * (1 + 1e-9) <= design(problem, "laplace").loss * (1 + 1e-6)


@pytest.mark.parametrize("whole", [False, True])
def test_what_no_change_moves_is_told_without_noise(whole: bool) -> None:
    """An element without a budget, alone and in a sum."""
    relation = metrics.add_remove(4, [1.0, 1.0, math.inf, 2.0])
    problem = Problem(Workload([[0.0, 0.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0]]), relation)
    mechanism = made(problem, whole=whole)
    assert mechanism.query_variances()[0] == 0 and mechanism.release([3, 4, 5, 6]).answers[0] == 5
    assert mechanism.error() == pytest.approx(variance(1.0), rel=1e-9)


@pytest.mark.parametrize("unit", [2.0, 3.0, 7.0, 10.0])
@pytest.mark.parametrize("relation", [metrics.add_remove(6, 2.0), metrics.uniform(6, 2.0)])
def test_fractions_of_whole_numbers_have_their_noise(relation: Any, unit: float) -> None:
    matrix = np.array([[6.0, 4.0, 0.0, 1.0, 1.0, 2.0], [1.0, 3.0, 6.0, 0.0, 0.0, 1.0]])
    whole = made(Problem(Workload(matrix), relation)).error()
    assert made(Problem(Workload(matrix / unit), relation)).error() * unit**2 == pytest.approx(whole, rel=1e-9)


@pytest.mark.parametrize("budget", [0.5, 2.0, 8.0])
def test_the_default_is_no_worse_than_counts_added_up_however_large_the_universe(budget: float) -> None:
    matrix = np.zeros((3, 6000))
    matrix[0, :2000], matrix[1, 1500:3000], matrix[2] = 1.0, 1.0, 1.0
    found = design(Problem(Workload(matrix), metrics.add_remove(6000, budget)))
    assert found.loss <= (2 + 2 + 4) * variance(budget) * (1 + 1e-9)


def test_of_equal_losses_the_family_that_is_tried_first_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts alone: least squares of counts are the counts, up to the last digit, here better in that digit."""
    lower = math.nextafter(100.0, 0.0)
    monkeypatch.setattr(Design, "loss", property(lambda self: 100.0 if self.mechanism.family == "laplace" else lower))
    found = design(Problem(Workload(np.eye(5)), metrics.add_remove(5, 1.0)), effort="quick")
    assert FAMILY in found.mechanism.provenance["tried"] and found.mechanism.family == "laplace"


def test_equal_problems_have_equal_designs() -> None:
    def once() -> str:
        return made(Problem(Workload(health(5)), metrics.uniform(10, 1.0))).fingerprint

    assert once() == once()


@pytest.mark.parametrize("name", ["prefix", "ranges"])
@pytest.mark.parametrize("budget", [0.1, 1.0])
def test_it_is_no_worse_than_the_p_identity_search(name: str, budget: float) -> None:
    """The published search (McKenna and others, 2018) as the benchmarks have it, one random start to its end."""
    from benchmarks.strategies_design import gram, plain_p_identity

    workload = Workload.prefix(16) if name == "prefix" else Workload.all_ranges(16)
    theirs = plain_p_identity(gram(name, 16), 1, 0) / budget**2
    assert made(Problem(workload, metrics.add_remove(16, budget))).error() <= theirs * (1 + 1e-6)


def test_what_it_cannot_serve_is_refused_with_a_way_on() -> None:
    asked = Problem(Workload([[0.5, 0.0, 0.0], [0.0, 1.0, 0.0]]), metrics.add_remove(3, 1.0))
    with pytest.raises(DesignFailed, match=r"options\.whole.* no whole numbers; leave whole out"):
        design(asked, FAMILY, whole=True)
    with pytest.raises(InvalidProblem, match=r"options\.whole: 1 is neither true nor false"):
        design(asked, FAMILY, whole=1)


def test_the_summary_says_that_answers_are_fractions_only_where_they_are() -> None:
    problem = Problem(Workload(health(4)), metrics.uniform(8, 1.0))
    words = "Answers:     unbiased, not whole numbers: weighted sums of noisy counts"
    assert words in summary_lines(made(problem))
    assert words not in summary_lines(made(problem, whole=True))
    assert words not in summary_lines(design(problem, "laplace").mechanism)


@pytest.mark.parametrize("budget", [0.1, 1.0])
def test_marginals_are_no_worse_than_their_best_weighted_tables(budget: float) -> None:
    """Three attributes, each alone: the table of two of them and the third are better than each for itself, which nothing adds
    to step by step."""
    from benchmarks.hdmm_pure import marginals, opt_m

    rows, asked = marginals((3, 4, 5), 1)
    found = made(Problem(Workload(rows), metrics.add_remove(60, budget)))
    assert found.error() <= opt_m((3, 4, 5), asked, 5) / budget**2
    assert sorted(np.unique(measured_matrix(found)[~found.norm.silent].sum(axis=1)).tolist()) == [
        5.0,
        12.0,
    ]  # cells of 5, and of 3 x 4


def test_the_error_of_weighted_tables_is_that_of_their_matrix() -> None:
    """HDMM's OPT_M by its eigenvalues is the least of random weights by dense matrices, and near it."""
    from benchmarks.hdmm_pure import marginals, opt_m

    rows, asked = marginals((2, 3), 1)
    every = [marginals((2, 3), ways)[0] for ways in (0, 1, 2)]
    tables = [every[0], every[1][:2], every[1][2:], every[2]]
    rng, seen = np.random.default_rng(2), []
    for weights in 0.999 * rng.dirichlet(np.full(4, 0.1), 4000) + 0.001 / 4:
        strategy = np.vstack([weight * table for weight, table in zip(weights, tables, strict=True)])
        seen.append(2 * np.trace(rows @ np.linalg.inv(strategy.T @ strategy) @ rows.T))
    assert min(seen) * 0.97 <= opt_m((2, 3), asked, 5) <= min(seen)


@pytest.mark.nightly
def test_blocks_that_are_never_written_out_have_the_error_of_each_alone() -> None:
    alone = design(Problem(Workload.prefix(20), metrics.add_remove(20, 1.0)), FAMILY).loss
    starts = np.repeat(np.arange(0, 1500, 20), 20)
    many = Workload.ranges(1500, starts, np.arange(1, 1501))
    assert made(Problem(many, metrics.add_remove(1500, 1.0))).error() == pytest.approx(75 * alone, rel=1e-6)


@pytest.mark.nightly
def test_many_elements_have_weighted_sums_of_them_and_answers_without_bias(tmp_path: Path) -> None:
    """More running totals than are searched by groups of rows; some elements that nothing counts, and some counted alike."""
    rows = np.hstack([Workload.prefix(520).dense(), np.zeros((520, 3)), np.ones((520, 1))])
    found = design(Problem(Workload(rows), metrics.add_remove(524, 1.0)), FAMILY)
    assert found.loss < 39_000 and found.loss == pytest.approx(found.mechanism.query_variances().sum())
    assert np.abs(found.mechanism.effective - rows).max() < 1e-9
    assert 0.999 < found.mechanism.privacy.ratio <= 1
    found.mechanism.save(tmp_path / "many.json")
    assert load(tmp_path / "many.json").fingerprint == found.mechanism.fingerprint


@pytest.mark.nightly
def test_queries_that_are_never_written_out_have_strategies_too() -> None:
    asked = Problem(Workload.all_ranges(162), metrics.add_remove(162, 1.0))
    cells = 162 * 163 * 164 / 6 * variance(1.0)
    assert design(asked, FAMILY, search=False).loss == pytest.approx(cells)
    found = made(asked)
    assert found.error() < 0.51 * cells and found.optimality is not None
    assert 0.1 * found.error() < found.optimality.lower_bound < found.error()


@pytest.mark.parametrize("budgets", [np.linspace(0.5, 2.0, 530), np.full(530, 50.0)], ids=["of each", "large"])
@pytest.mark.nightly
def test_many_elements_under_other_budgets_are_proven_by_the_second_verifier(budgets: np.ndarray, tmp_path: Path) -> None:
    size = len(budgets)
    mechanism = made(Problem(Workload.prefix(size), metrics.add_remove(size, budgets)))
    mechanism.save(tmp_path / "many.json")
    command = [sys.executable, "-I", str(standalone.__file__), str(tmp_path / "many.json")]
    assert subprocess.run(command, check=False).returncode == 0
    assert 0.999 < mechanism.privacy.ratio <= 1
    assert np.abs(mechanism.effective - Workload.prefix(size).dense()).max() < 1e-9


def test_matrices_of_many_elements_that_are_too_large_are_refused() -> None:
    asked = Problem(Workload.prefix(9000), metrics.add_remove(9000, 1.0))
    with pytest.raises(DesignFailed, match=r"^strategy_geometric: 9,000 queries of 9,000 elements .* of 0\.\d+ GB"):
        design(asked, FAMILY)


def test_queries_that_are_never_written_out_are_refused_where_records_change() -> None:
    asked = Problem(Workload.prefix(6000), metrics.uniform(6000, 1.0))
    with pytest.raises(DesignFailed, match=r"^strategy_geometric: takes queries that are not written out where"):
        design(asked, FAMILY)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("workload", "most"),
    [(Workload.prefix(500), 36_190), (Workload.prefix(2000), 244_286), (Workload.all_ranges(200), 1_149_283)],
    ids=["500 running totals", "2,000 running totals", "all ranges of 200"],
)
def test_lines_are_answered_as_well_as_by_the_best_simple_strategy(workload: Workload, most: float) -> None:
    found = design(Problem(workload, metrics.add_remove(workload.shape[1], 1.0)))
    assert found.loss <= most and found.mechanism.privacy.holds

"""Nearest tables with given statistics: against enumeration of small tables, an independent convex solver,
and optimality conditions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import optimize

from designer import DesignFailed, InvalidProblem, Problem, Workload, design, invariants
from designer.mechanism.release import NearestTable, Release, nearest_table
from designer.mechanism.spec import CountAgreement
from solvers.lattices.conforming_tables import Fibre
from solvers.lattices.transport import nearest_integer, nearest_real
from solvers.solution import Status

MATRICES = {
    "2x3 margins": invariants.margins((2, 3)).matrix,
    "3x3 margins": invariants.margins((3, 3)).matrix,
    "2x2x2 margins": invariants.margins((2, 2, 2)).matrix,
    "intersecting": np.array([[1, 1, 0, 0, 1], [0, 1, 1, 0, 0], [1, 1, 1, 1, 1]]),
    "weights": np.array([[1, 2, 3, 1]]),
}
CASES = [(name, seed) for name in MATRICES for seed in range(4)]


def setting(name: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Statistics of a small table, and its counts under noise that makes several of them negative."""
    random = np.random.default_rng(seed)
    matrix = MATRICES[name]
    table = random.integers(0, 3, matrix.shape[1])
    return matrix, matrix @ table, table + random.normal(scale=2.0, size=matrix.shape[1])


@pytest.mark.parametrize("closeness", ["l1", "l2"])
@pytest.mark.parametrize(("name", "seed"), CASES)
def test_nonnegative_integer_tables_against_all_of_them(name, seed, closeness):
    matrix, totals, target = setting(name, seed)
    found = nearest_integer(matrix, totals, target, closeness=closeness)
    everything = Fibre(matrix, totals).vectors(100_000)
    order = 1 if closeness == "l1" else 2
    best = np.linalg.norm(everything - target, ord=order, axis=1).min()
    assert found.status is Status.OPTIMAL and (found.point >= 0).all() and (found.point == np.rint(found.point)).all()
    np.testing.assert_array_equal(matrix @ found.point, totals)
    assert found.distance == pytest.approx(best, abs=1e-9)
    assert found.distance == pytest.approx(np.linalg.norm(found.point - target, ord=order), abs=1e-12)


@pytest.mark.parametrize("closeness", ["l1", "l2"])
@pytest.mark.parametrize(("name", "seed"), [case for case in CASES if case[0] in ("2x3 margins", "weights", "intersecting")])
def test_integer_tables_of_either_sign_against_a_box_of_them(name, seed, closeness):
    """Enumerated within 6 of the target, which holds every table that is nearer than the one found."""
    matrix, totals, target = setting(name, seed)
    found = nearest_integer(matrix, totals, target, nonnegative=False, closeness=closeness)
    from solvers.lattices.kernel import integer_kernel

    basis = np.asarray(integer_kernel(matrix).basis, dtype=np.int64)
    start = found.point
    shifts = np.array(list(product(range(-6, 7), repeat=len(basis)))) @ basis
    order = 1 if closeness == "l1" else 2
    assert found.distance == pytest.approx(np.linalg.norm(start + shifts - target, ord=order, axis=1).min(), abs=1e-9)
    np.testing.assert_array_equal(matrix @ start, totals)


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize(("name", "seed"), CASES)
def test_real_tables_against_a_convex_solver(name, seed, nonnegative):
    import cvxpy as cp

    matrix, totals, target = setting(name, seed)
    found = nearest_real(matrix, totals, target, nonnegative)
    x = cp.Variable(len(target), nonneg=nonnegative)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - target)), [matrix @ x == totals])
    problem.solve(solver=cp.CLARABEL)
    assert found.distance**2 == pytest.approx(problem.value, rel=1e-6, abs=1e-7)
    np.testing.assert_allclose(found.point, x.value, atol=1e-4)
    np.testing.assert_allclose(matrix @ found.point, totals, atol=1e-9)
    assert not nonnegative or (found.point >= 0).all()


@pytest.mark.parametrize("seed", range(3))
def test_large_real_tables_obey_the_optimality_conditions(seed):
    """`x - y - A'm` is 0 where x > 0 and nonnegative elsewhere, for some multipliers m."""
    matrix = invariants.margins((10, 10)).matrix.astype(float)
    random = np.random.default_rng(seed)
    table = random.poisson(1.0, 100)
    target = table + random.laplace(scale=5.0, size=100)
    x = nearest_real(matrix, matrix @ table, target).point
    free = x > 0
    multipliers = np.linalg.lstsq(matrix[:, free].T, (x - target)[free], rcond=None)[0]
    slack = x - target - matrix.T @ multipliers
    assert np.abs(slack[free]).max() < 1e-8 and slack[~free].min() > -1e-8
    np.testing.assert_allclose(matrix @ x, matrix @ table, atol=1e-9)


def test_large_integer_tables_agree_with_a_linear_relaxation():
    """Two-way margins are totally unimodular: the relaxation of the stepwise program has the same value,
    by another solver call."""
    from scipy.optimize import linprog

    matrix = invariants.margins((8, 8)).matrix
    random = np.random.default_rng(7)
    table = random.poisson(2.0, 64)
    target = table + random.laplace(scale=3.0, size=64)
    found = nearest_integer(matrix, matrix @ table, target, closeness="l1")
    eye, zero = np.eye(64), np.zeros_like(matrix)
    # x integer, |x - y| >= linear interpolation of |.| between integers: epigraph with the three pieces around y.
    low = np.floor(target)
    slope = (low + 1 - target) - (target - low)
    pieces = [
        np.hstack([eye, -eye]),
        np.hstack([-eye, -eye]),
        np.hstack([np.diag(slope), -eye]),
    ]
    limits = [target, -target, slope * low - (target - low)]
    solved = linprog(
        np.concatenate([np.zeros(64), np.ones(64)]),
        A_ub=np.vstack(pieces),
        b_ub=np.concatenate(limits),
        A_eq=np.hstack([matrix, zero]),
        b_eq=matrix @ table,
        bounds=[(0, None)] * 128,
    )
    assert found.distance == pytest.approx(solved.fun, abs=1e-7)


def test_tables_that_are_consistent_already_stay_as_they_are():
    matrix, table = MATRICES["3x3 margins"], np.array([5, 0, 2, 1, 1, 4, 0, 3, 2])
    for found in (nearest_real(matrix, matrix @ table, table), nearest_integer(matrix, matrix @ table, table)):
        np.testing.assert_allclose(found.point, table, atol=1e-12)
        assert found.distance < 1e-12


def test_sums_that_contradict_each_other_or_need_negative_entries():
    matrix = MATRICES["2x3 margins"]
    for totals in ([3, 2, 1, 1, 1], [5, -1, 2, 1, 1]):
        assert nearest_real(matrix, totals, np.zeros(6)).status is Status.INFEASIBLE
        assert nearest_integer(matrix, totals, np.zeros(6)).status is Status.INFEASIBLE
    assert nearest_real(matrix, [5, -1, 2, 1, 1], np.zeros(6), nonnegative=False).status is Status.OPTIMAL
    # A real table exists, a whole one does not.
    assert nearest_real([[2, 2]], [3], [0.0, 0.0]).status is Status.OPTIMAL
    assert nearest_integer([[2, 2]], [3], [0.0, 0.0]).status is Status.INFEASIBLE


@pytest.mark.parametrize("nonnegative", [True, False])
def test_a_solver_is_not_believed_that_no_whole_table_has_the_totals(
    nonnegative: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HiGHS is made to say "infeasible" (status 2) of every program: what is so stays so, by a proof, and nothing else is."""
    lie = optimize.OptimizeResult(x=None, status=2, message="infeasible")
    monkeypatch.setattr(optimize, "milp", lambda *_, **__: lie)
    matrix = MATRICES["2x3 margins"]
    told = [
        (matrix, [5, 3, 2, 4, 2], Status.FAILED),
        (matrix, [3, 2, 1, 1, 1], Status.INFEASIBLE),  # they contradict each other
        (matrix, [5, -1, 2, 1, 1], Status.INFEASIBLE if nonnegative else Status.FAILED),
        ([[2, 2]], [3], Status.INFEASIBLE),  # real tables alone
        ([[3, 5]], [4], Status.INFEASIBLE if nonnegative else Status.FAILED),  # whole ones with a negative entry, real ones
        ([[3, 5]], [8], Status.FAILED),
        (np.array([[3, 5, *[1] * 40], [0, 0, *[1] * 40]]), [10**6 + 8, 10**6], Status.FAILED),  # too many to list
        (np.array([[6, 10, 15], [0, 0, 2]]), [10**6, 2 * 10**4 + 1], Status.INFEASIBLE),  # no whole third entry
    ]
    for rows, totals, status in told:
        found = nearest_integer(rows, totals, np.zeros(np.shape(rows)[1]), nonnegative)
        assert found.status is status and found.point is None, totals


def test_a_distant_target_widens_the_window():
    found = nearest_integer([[1, 1, 1, 1]], [4], [100.5, -70.25, -50.0, 30.0], closeness="l2")
    everything = Fibre([[1, 1, 1, 1]], [4]).vectors(1000)
    distances = np.linalg.norm(everything - np.array([100.5, -70.25, -50.0, 30.0]), axis=1)
    assert found.distance == pytest.approx(distances.min(), abs=1e-9)


@pytest.fixture(scope="module")
def released() -> Release:
    problem = Problem(Workload.identity(6), invariants.margins((2, 3)).protect(0.2))
    return design(problem, "k_norm").mechanism.release([0, 3, 1, 7, 0, 2])


TOTALS = [4, 9, 7, 3, 3]


@pytest.mark.parametrize("integer", [False, True])
def test_a_release_keeps_its_guarantee_and_its_fingerprint(released, integer):
    table = released.consistent(invariants.margins((2, 3)), TOTALS, integer=integer)
    assert isinstance(table, NearestTable)
    assert table.guarantee == released.guarantee and table.fingerprint == released.fingerprint
    assert (table.answers >= 0).all()
    np.testing.assert_allclose(invariants.margins((2, 3)).matrix @ table.answers, TOTALS, atol=1e-9)
    assert table.distance == pytest.approx(np.linalg.norm(table.answers - released.answers))
    assert ("integer" if integer else "real") in table.post_processing
    assert table.to_dict()["fingerprint"] == released.fingerprint
    with pytest.raises(ValueError, match="read-only"):
        table.answers[0] = 1.0


def test_without_conditions_a_release_of_the_span_is_consistent_already(released):
    """The K-norm keeps the margins exactly, so there is nothing left to mend but signs and fractions."""
    table = nearest_table(released, invariants.margins((2, 3)), TOTALS, nonnegative=False)
    np.testing.assert_allclose(table.answers, released.answers, atol=1e-9)


def test_the_number_of_records_counts_where_the_statistics_leave_it_open(released):
    invariant = invariants.linear([[1, 1, 0, 0, 0, 0]])
    table = nearest_table(released, invariant, [3], records=13, integer=True)
    assert table.answers.sum() == 13 and table.answers[:2].sum() == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"invariant": invariants.margins((2, 2)), "totals": [1, 1, 1, 1]}, "identity workload over the 4"),
        ({"totals": TOTALS[:4]}, "4 values; give the 5"),
        ({"totals": [4.5, 8.5, 7, 3, 3]}, "whole numbers"),
        ({"totals": [4, 9, 7, 3, 4]}, "contradicts the release"),
        ({"totals": [14, -1, 7, 3, 3], "integer": True}, "contradicts the release"),
        ({"closeness": "l3"}, "closeness"),
        ({"closeness": "l1"}, "closeness"),
        ({"records": -1}, "records"),
    ],
)
def test_bad_requests_are_refused(released, arguments, message):
    given = {"invariant": invariants.margins((2, 3)), "totals": TOTALS} | arguments
    with pytest.raises(InvalidProblem, match=message):
        nearest_table(released, given.pop("invariant"), given.pop("totals"), **given)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nearest_real([[1, 1]], [1, 2], [0, 0]), "one total for each row"),
        (lambda: nearest_real([[1, 1]], [1], [0, np.inf]), "finite"),
        (lambda: nearest_integer([[0.5, 1]], [1], [0, 0]), "whole numbers"),
    ],
)
def test_bad_arrays_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("side", [34, 100])
def test_real_tables_of_any_side_keep_their_margins(side):
    """The projection onto two-way margins in closed form: rows and columns are corrected by their means,
    the grand mean given back."""
    matrix, random = invariants.margins((side, side)).matrix, np.random.default_rng(side)
    table = random.poisson(3.0, (side, side))
    target = table + random.laplace(scale=4.0, size=(side, side))
    off = table - target
    nearest = target + off.mean(axis=1, keepdims=True) + off.mean(axis=0, keepdims=True) - off.mean()
    totals = matrix @ table.ravel()
    found = nearest_real(matrix, totals, target.ravel(), nonnegative=False)
    np.testing.assert_allclose(found.point, nearest.ravel(), atol=1e-9)
    signed = nearest_real(matrix, totals, target.ravel())
    assert signed.status is Status.OPTIMAL and (signed.point >= 0).all()
    np.testing.assert_allclose(matrix @ signed.point, totals, atol=1e-8)
    # Optimal: x - y = A'm + s with s >= 0, and s = 0 where x > 0. The multipliers are those of the free cells.
    free = signed.point > 0
    move = signed.point - target.ravel()
    rows = matrix[:, free].astype(float)
    multipliers = np.linalg.lstsq(rows @ rows.T, rows @ move[free], rcond=1e-10)[0]
    slack = move - matrix.T @ multipliers
    assert np.abs(slack[free]).max() < 1e-7 and slack[~free].min() > -1e-7


@pytest.mark.parametrize("seed", range(25))
def test_dependent_and_badly_scaled_statistics_against_a_convex_solver(seed):
    """Random statistics with repeated, combined and scaled rows; every second table is nearly all zeros."""
    import cvxpy as cp

    random = np.random.default_rng(seed)
    size = int(random.integers(5, 30))
    rows = random.integers(0, 2, (int(random.integers(1, 6)), size))
    matrix = np.vstack([rows, rows.sum(axis=0), rows[0] * 1000, rows[-1]])
    table = random.poisson(0.3 if seed % 2 else 5.0, size)
    target = table + random.normal(scale=4.0, size=size)
    found = nearest_real(matrix, matrix @ table, target)
    x = cp.Variable(size, nonneg=True)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - target)), [rows @ x == rows @ table])
    problem.solve(solver=cp.CLARABEL)
    assert found.status is Status.OPTIMAL and (found.point >= 0).all()
    np.testing.assert_allclose(matrix @ found.point, matrix @ table, atol=1e-6)
    assert found.distance**2 == pytest.approx(problem.value, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_totals_that_no_nonnegative_table_has_are_found_out(seed):
    from scipy.optimize import linprog

    random = np.random.default_rng(seed)
    matrix = random.integers(-1, 3, (3, 7))
    totals = matrix @ random.integers(-2, 4, 7)
    feasible = linprog(np.zeros(7), A_eq=matrix, b_eq=totals, bounds=(0, None)).status == 0
    found = nearest_real(matrix, totals, random.normal(size=7))
    assert found.status is (Status.OPTIMAL if feasible else Status.INFEASIBLE)
    assert nearest_real(matrix, totals, random.normal(size=7), nonnegative=False).status is Status.OPTIMAL


@pytest.mark.parametrize("family", ["k_norm", "lattice_laplace", "projected_laplace"])
def test_totals_that_contradict_the_margins_of_the_release_are_refused(family):
    margins = invariants.margins((2, 3))
    made = design(Problem(Workload.identity(6), margins.protect(0.2)), family).mechanism
    release = made.release([0, 3, 1, 7, 0, 2])
    assert release.consistent(margins, TOTALS).answers.sum() == pytest.approx(13)
    for wrong in ([5, 8, 7, 3, 3], [4, 9, 6, 4, 3], [8, 18, 14, 6, 6]):
        with pytest.raises(InvalidProblem, match="contradict"):
            release.consistent(margins, wrong)
    # A statistic that the published ones determine, and the number of records.
    with pytest.raises(InvalidProblem, match="contradict"):
        release.consistent(invariants.linear([[1, 1, 1, 0, 0, 0]]), [5])
    with pytest.raises(InvalidProblem, match="contradict"):
        release.consistent(invariants.linear([[1, 0, 0, 0, 0, 0]]), [2], records=14)
    # What the release does not keep may be anything.
    assert release.consistent(invariants.linear([[1, 0, 0, 0, 0, 0]]), [2], records=13).answers[0] == pytest.approx(2)


def test_totals_that_no_table_has_are_refused():
    made = design(Problem(Workload.identity(6), invariants.margins((2, 3)).protect(0.2)), "laplace").mechanism
    release = made.release([0, 3, 1, 7, 0, 2])
    for totals, options, kind in (
        ([4, 9, 7, 3, 4], {}, "nonnegative"),
        ([14, -1, 7, 3, 3], {"integer": True}, "nonnegative integer"),
    ):
        with pytest.raises(InvalidProblem, match=f"no {kind} table"):
            release.consistent(invariants.margins((2, 3)), totals, **options)


def test_totals_of_a_release_that_keeps_nothing_are_taken_as_they_are():
    margins = invariants.margins((2, 3))
    made = design(Problem(Workload.identity(6), margins.protect(0.2)), "laplace").mechanism
    assert made.release([0, 3, 1, 7, 0, 2]).consistent(margins, [8, 18, 14, 6, 6]).answers.sum() == pytest.approx(26)


def test_a_solver_that_gives_up_does_not_blame_the_totals(released, monkeypatch):
    from solvers.lattices import transport

    monkeypatch.setattr(transport, "nearest_real", lambda *_: transport.Nearest(Status.FAILED, None, np.inf))
    with pytest.raises(DesignFailed, match="integer=True"):
        released.consistent(invariants.margins((2, 3)), TOTALS)


def test_windows_of_whole_programs_do_not_widen_with_the_size_of_counts(monkeypatch):
    """Rounding of sums near 10^13, times a slope near 10^11, asked for a window 10,000 wide, a program that never ended."""
    from solvers.lattices import transport

    columns, solve = [], transport.integer_minimum

    def counted(cost, *rest):
        columns.append(len(cost))
        assert len(cost) <= 6 * 4
        return solve(cost, *rest)

    monkeypatch.setattr(transport, "integer_minimum", counted)
    target = [27825363076722.598, 771837550.98984277, 27537882970821.289, 288251939815.2251]
    found = nearest_integer([[0, 0, 1, 0], [1, 1, 0, 1]], [771346927, 27825363564858], target)
    assert found.point is not None and columns
    assert found.point[2] == 771346927 and found.point[[0, 1, 3]].sum() == 27825363564858
    assert found.point[1] == 0  # the excess of 2.9e11 is shared by the two large cells alone


def test_tables_under_statistics_that_a_release_does_not_tell_ask_for_these() -> None:
    relation = invariants.margins((2, 2)).protect(1.0)
    untold = design(Problem(Workload.identity(4), relation), "laplace").mechanism
    with pytest.raises(InvalidProblem, match="--published: is missing; the release does not hold"):
        CountAgreement().require(untold, None)
    CountAgreement().require(design(Problem(Workload.identity(4), relation), "k_norm").mechanism, None)

"""The ellipsoid program against closed forms, a conic solver that shares no code with it, and its own invariances. Bounds from
any multipliers: below every feasible value, and tight at the best ones. The proven dual bound of the ellipsoid program:
below every covariance that is allowed, whatever the directions are.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solvers.ellipsoids.dual import DualPoint, least_trace, proven_trace, trace_bound
from solvers.ellipsoids.program import Differences, Ellipsoid, minimise_maximum, minimise_trace
from solvers.ellipsoids.rows import VectorRows
from solvers.solution import Solution, Status


def fidelity(first: np.ndarray, second: np.ndarray) -> float:
    """F of the matrices `first' first` and `second' second`: the sum of the singular values of `first second'`."""
    return float(np.linalg.svd(first @ second.T, compute_uv=False).sum())


def conic(rows: np.ndarray, queries: np.ndarray, maximum: bool = False) -> tuple[float, float]:
    """A bracket of the optimum from the plain formulation in W, queries one by one, and a conic solver.

    The solver is good to about 1e-7, so its answers are not taken for the optimum: its W, scaled until it is feasible, is an
    upper bound, and its multipliers of the rows (and of the queries) prove a lower one.
    """
    cp = pytest.importorskip("cvxpy")
    unit = (np.abs(rows).max() * np.abs(queries).max()) ** 2
    rows, queries = rows / np.abs(rows).max(), queries / np.abs(queries).max()
    precision, level = cp.Variable((rows.shape[1], rows.shape[1]), PSD=True), cp.Variable()
    covers = cp.sum(cp.multiply(rows @ precision, rows), axis=1) <= 1
    spreads = [cp.matrix_frac(query, precision) <= level for query in queries] if maximum else []
    objective = level if maximum else cp.matrix_frac(queries.T, precision)
    problem = cp.Problem(cp.Minimize(objective), [covers, *spreads])
    problem.solve(solver="CLARABEL")
    worst = np.einsum("ms,st,mt->m", rows, precision.value, rows).max()
    variances = np.einsum("ks,st,kt->k", queries, np.linalg.inv(precision.value), queries) * worst
    weights = np.maximum(covers.dual_value, 0.0)
    omega = np.array([max(float(spread.dual_value), 0.0) for spread in spreads]) if maximum else np.ones(len(queries))
    proven = fidelity(np.sqrt(omega)[:, None] * queries, np.sqrt(weights)[:, None] * rows) ** 2 / weights.sum()
    return (unit * proven / omega.sum(), unit * variances.max()) if maximum else (unit * proven, unit * variances.sum())


def differences(size: int) -> np.ndarray:
    first, second = np.triu_indices(size, 1)
    return np.eye(size)[first] - np.eye(size)[second]


def prefix(size: int) -> np.ndarray:
    return np.tril(np.ones((size, size)))


def all_ranges(size: int) -> np.ndarray:
    return np.array(
        [[low <= cell <= high for cell in range(size)] for low in range(size) for high in range(low, size)], dtype=float
    )


def check(solution: Solution[Ellipsoid], rows: np.ndarray, optimum: float | tuple[float, float]) -> None:
    """Solved, every row covered, and the bracket `lower_bound, value` meets an independent one, itself no wider than 1e-5."""
    low, high = optimum if isinstance(optimum, tuple) else (optimum, optimum)
    assert solution.status is Status.OPTIMAL and solution.gap <= 1e-6
    assert high - low <= 1e-5 * high
    assert solution.lower_bound <= high * (1 + 1e-12) and solution.value >= low * (1 - 1e-12)
    ratios = np.einsum("ms,ms->m", rows @ np.linalg.pinv(solution.point.covariance, rcond=1e-13, hermitian=True), rows)
    assert ratios.max() <= 1 + 1e-8


@pytest.mark.parametrize("size", [1, 2, 5, 40])
def test_unit_vectors_ask_for_unit_variance(size: int) -> None:
    check(minimise_trace(np.concatenate([np.eye(size), -np.eye(size)])), np.eye(size), float(size))


def test_one_dimension_is_the_longest_vector() -> None:
    check(minimise_trace([[0.5], [-3.0], [0.0]]), np.array([[-3.0]]), 9.0)


def test_the_corners_of_a_cube_lie_on_a_sphere() -> None:
    corners = np.array(np.meshgrid(*[[-1.0, 1.0]] * 4)).reshape(4, -1).T
    check(minimise_trace(corners), corners, 16.0)
    check(minimise_maximum(corners), corners, 4.0)


@pytest.mark.parametrize("size", [2, 3, 8, 60])
def test_a_simplex_by_symmetry(size: int) -> None:
    """Sigma = 2 (I - 11'/N), because every permutation of the points keeps the program and the optimum may be averaged."""
    solution = minimise_trace(Differences.of(np.eye(size)))
    check(solution, differences(size), 2.0 * (size - 1))
    assert np.allclose(solution.point.covariance, 2 * (np.eye(size) - 1 / size), atol=1e-4)
    assert minimise_maximum(Differences.of(np.eye(size))).value == pytest.approx(2 * (size - 1) / size, rel=1e-6)


def test_equal_weights_on_the_longest_rows_are_tried_first_and_proven() -> None:
    """Alternating signs around 4 or 6 cells of a table: its symmetries leave no direction of zero margins alone, so Sigma is 6
    times the projection onto these 16 dimensions."""
    cells = [(i, j) for i in range(5) for j in range(5)]
    rows = [
        [float(cell in zip(r, c, strict=True)) - float(cell in zip(r, (*c[1:], c[0]), strict=True)) for cell in cells]
        for size in (2, 3)
        for r in permutations(range(5), size)
        for c in permutations(range(5), size)
    ]
    solution = minimise_trace(np.array(rows))
    assert solution.method == "equal weights" and solution.value == pytest.approx(6 * 16)
    check(solution, np.array(rows), 6.0 * 16)
    uneven = minimise_trace(np.array(rows), np.linspace(1.0, 2.0, 25))
    assert uneven.method != "equal weights" and uneven.gap <= 1e-6


@pytest.mark.parametrize("size", [16, 256])
def test_circular_ranges_attain_the_singular_value_bound(size: int) -> None:
    """A circulant cost under unit vectors: the covariance is circulant, so the optimum is
    `(sum of roots of eigenvalues)^2 / N`.
    """
    ranges = np.concatenate(
        [[np.roll(np.arange(size) < length, shift) for shift in range(size)] for length in range(1, size, 3)]
    )
    first = ranges.T.astype(float) @ ranges[:, 0]
    cost = first[(np.arange(size)[:, None] - np.arange(size)) % size]
    optimum = np.sqrt(np.abs(np.fft.fft(first).real)).sum() ** 2 / size
    check(minimise_trace(np.eye(size), cost), np.eye(size), optimum)


def test_prefix_sums_of_64_cells() -> None:
    """Root mean squared error 2.09986 a query at unit l2 sensitivity: an independent matrix-mechanism optimiser's figure."""
    queries = prefix(64)
    for solution in (minimise_trace(np.eye(64), queries.T @ queries), minimise_trace(queries.T)):
        assert np.sqrt(solution.value / 64) == pytest.approx(2.09986, abs=5e-6)


@pytest.mark.parametrize("workload", [prefix, all_ranges])
@pytest.mark.parametrize("size", [8, 16, 24])
def test_workloads_against_the_conic_solver(workload, size: int) -> None:
    queries = workload(size)
    gram = queries.T @ queries
    root = np.linalg.cholesky(gram).T
    check(minimise_trace(np.eye(size), gram), np.eye(size), conic(np.eye(size), root))
    reduced = np.linalg.svd(differences(size), full_matrices=False)[2][: size - 1]
    small_root = np.linalg.cholesky(reduced @ gram @ reduced.T).T
    optimum = conic(differences(size) @ reduced.T, small_root)
    check(minimise_trace(Differences.of(np.eye(size)), gram), differences(size), optimum)


@pytest.mark.parametrize("size", [64, 128])
def test_replace_one_lies_between_its_two_bounds(size: int) -> None:
    """Below: equal weights on all pairs have the moment `2 / (N - 1)` times the projection, and F is closed. Above: rescaled
    add/remove.
    """
    gram = prefix(size).T @ prefix(size)
    centred = gram - gram.mean(0) - gram.mean(1)[:, None] + gram.mean()
    both = minimise_trace(np.eye(size), gram, tolerance=1e-4)
    stretch = Differences.of(np.eye(size)).ratios(both.point.precision).max()
    one = minimise_trace(Differences.of(np.eye(size)), gram, tolerance=1e-4)
    assert one.gap <= 1e-4 and one.value <= stretch * both.value
    assert one.value >= 2.0 * np.sqrt(np.maximum(np.linalg.eigvalsh(centred), 0.0)).sum() ** 2 / (size - 1)


@pytest.mark.parametrize("seed", range(6))
def test_random_rows_against_the_conic_solver(seed: int) -> None:
    generator = np.random.default_rng(seed)
    size = int(generator.integers(2, 8))
    rows = generator.normal(size=(int(generator.integers(size, 6 * size)), size)) * generator.uniform(0.1, 10, size=size)
    queries = generator.normal(size=(size + 3, size))
    check(minimise_trace(rows, queries.T @ queries), rows, conic(rows, queries))
    weights = generator.uniform(0.1, 3, size=size)
    check(minimise_trace(rows, weights), rows, conic(rows, np.diag(np.sqrt(weights))))
    check(minimise_maximum(rows, queries), rows, conic(rows, queries, maximum=True))
    check(minimise_maximum(rows, weights), rows, conic(rows, np.diag(np.sqrt(weights)), maximum=True))


def test_the_bound_for_the_maximum_is_recomputable_from_its_query_weights() -> None:
    generator = np.random.default_rng(3)
    rows, queries = generator.normal(size=(30, 4)), generator.normal(size=(9, 4))
    solution = minimise_maximum(rows, queries, tolerance=1e-8)
    omega = solution.point.query_weights
    assert omega.sum() == pytest.approx(1.0)
    weighted = minimise_trace(rows, queries.T @ (omega[:, None] * queries), tolerance=1e-9)
    assert solution.lower_bound * (1 - 1e-12) <= weighted.value
    assert weighted.lower_bound <= solution.value


def test_many_short_rows_go_through_the_working_set() -> None:
    rows = np.random.default_rng(0).normal(size=(4000, 6))
    everything = VectorRows(rows)
    small = minimise_trace(rows)
    assert "cutting planes" in small.method
    check(small, rows, conic(rows, np.eye(6)))
    assert everything.ratios(small.point.precision).max() <= 1 + 1e-12


def test_implicit_differences_equal_explicit_ones() -> None:
    generator = np.random.default_rng(5)
    points, budgets = generator.normal(size=(80, 5)), generator.uniform(0.5, 2.0, size=(80, 80))
    inverse = np.triu(budgets, 1) + np.triu(budgets, 1).T
    inverse[:3, 50:] = inverse[50:, :3] = 0.0
    first, second = np.nonzero(np.triu(inverse))
    rows = np.sqrt(inverse[first, second])[:, None] * (points[first] - points[second])
    implicit, explicit = minimise_trace(Differences.of(points, inverse)), minimise_trace(rows)
    assert implicit.value == pytest.approx(explicit.value, rel=2e-6)
    family = Differences.of(points, inverse)
    weights, form = generator.uniform(size=len(rows)), np.cov(generator.normal(size=(5, 9)))
    assert np.allclose(family.ratios(form), np.einsum("ms,st,mt->m", rows, form, rows))
    assert np.allclose(family.moment(weights), rows.T @ (weights[:, None] * rows))


def test_the_preconditioner_of_implicit_rows_is_within_a_tenth() -> None:
    family = Differences.of(np.random.default_rng(1).normal(size=(30, 6)))
    roots = np.geomspace(1e-3, 1.0, 6)
    exact = family.select(slice(None)).curvature_diagonal(roots)
    assert np.abs(family.curvature_diagonal(roots) / exact - 1.0).max() < 0.1


def test_a_scan_that_leaves_the_span_is_noticed() -> None:
    hidden = np.array([[0.0, 1.0]])

    def separate(precision: np.ndarray) -> tuple[float, np.ndarray]:
        worst = float((hidden @ precision @ hidden.T)[0, 0])
        return worst, hidden if worst > 1 else hidden[:0]

    with pytest.raises(ValueError, match="outside the span"):
        minimise_trace([[1.0, 0.0]], separate=separate)


@pytest.mark.parametrize("exponent", [-150, -40, 0, 40, 150])
def test_magnitudes(exponent: int) -> None:
    rows = np.random.default_rng(7).normal(size=(25, 4))
    solution = minimise_trace(rows * 10.0**exponent)
    reference = minimise_trace(rows)
    assert solution.gap <= 1e-6
    assert np.log10(solution.value) == pytest.approx(np.log10(reference.value) + 2 * exponent, abs=1e-6)
    assert minimise_trace(rows, np.full(4, 10.0**exponent)).value == pytest.approx(reference.value * 10.0**exponent, rel=2e-6)


def test_coordinates_in_very_different_units() -> None:
    units = np.array([1.0, 1e-3, 1e-6, 1e-8])
    rows = np.random.default_rng(8).normal(size=(40, 4))
    scaled = minimise_trace(rows * units, 1.0 / units**2)
    assert scaled.value == pytest.approx(minimise_trace(rows).value, rel=1e-5)
    graded = minimise_trace(rows * units)
    assert graded.gap <= 1e-6
    assert np.linalg.matrix_rank(graded.point.precision, tol=1e-3) == 4


def test_rank_duplicates_and_zero_rows() -> None:
    generator = np.random.default_rng(9)
    core, embedding = generator.normal(size=(20, 3)), np.linalg.qr(generator.normal(size=(7, 3)))[0]
    rows = np.concatenate([core, core[:5], -core[3:9], np.zeros((4, 3))]) @ embedding.T
    flat, full = minimise_trace(rows), minimise_trace(core)
    assert flat.value == pytest.approx(full.value, rel=2e-6)
    assert np.linalg.matrix_rank(flat.point.covariance, tol=1e-9) == 3
    assert minimise_trace(np.zeros((3, 2))).value == 0.0
    assert minimise_trace(np.eye(2), np.array([0.0, 0.0])).value == 0.0


def test_a_cost_that_is_blind_to_a_direction() -> None:
    rows = np.random.default_rng(10).normal(size=(15, 3))
    solution = minimise_trace(rows, np.array([1.0, 1.0, 0.0]))
    check(minimise_trace(rows[:, :2]), rows[:, :2], (solution.lower_bound, solution.value))
    assert np.allclose(solution.point.covariance[2], 0.0)


def test_permutations_signs_and_rotations_change_nothing() -> None:
    generator = np.random.default_rng(11)
    rows, rotation = generator.normal(size=(30, 5)), np.linalg.qr(generator.normal(size=(5, 5)))[0]
    reference = minimise_trace(rows, tolerance=1e-9)
    moved = minimise_trace(
        generator.permutation(rows * generator.choice([-1.0, 1.0], size=(30, 1))) @ rotation.T, tolerance=1e-9
    )
    assert moved.value == pytest.approx(reference.value, rel=2e-9)
    assert np.allclose(rotation.T @ moved.point.covariance @ rotation, reference.point.covariance, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("queries", [0, 6])
def test_derivatives_of_the_dual_against_differences(queries: int) -> None:
    generator = np.random.default_rng(12)
    rows, costs = VectorRows(generator.normal(size=(9, 4))), VectorRows(generator.normal(size=(queries, 4)))
    weights, direction = generator.uniform(0.5, 1.5, size=9 + queries), generator.normal(size=9 + queries)

    def at(step: float) -> DualPoint:
        moved = weights + step * direction
        return DualPoint.at(rows, costs, moved[:9], moved[9:])

    point, step = at(0.0), 1e-5
    rise = 2 * (np.log(at(step).fidelity) - np.log(at(-step).fidelity)) / (2 * step)
    assert point.slope @ direction == pytest.approx(rise, rel=1e-7)
    curved = -(at(step).slope - at(-step).slope) / (2 * step)
    assert np.allclose(point.curvature(direction), curved, rtol=1e-6, atol=1e-8)
    factor = point.curvature_factor()
    assert np.allclose(factor @ (factor.T @ direction), point.curvature(direction))
    assert np.allclose(np.einsum("mp,mp->m", factor, factor), point.curvature_diagonal())


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 40), st.booleans())
def test_bounds_bracket_and_every_row_is_covered(seed: int, size: int, count: int, whole: bool) -> None:
    generator = np.random.default_rng(seed)
    rows = generator.integers(-3, 4, size=(count, size)).astype(float) if whole else generator.normal(size=(count, size))
    for solve in (minimise_trace, minimise_maximum):
        solution = solve(rows)
        assert solution.status is Status.OPTIMAL
        assert solution.lower_bound <= solution.value <= solution.lower_bound * (1 + 2e-6)
        assert VectorRows(rows).ratios(solution.point.precision).max(initial=0.0) <= 1 + 1e-12


@pytest.mark.parametrize(
    ("rows", "cost", "message"),
    [
        ([[np.nan, 1.0]], None, "not finite"),
        ([1.0, 2.0], None, "one vector a row"),
        ([[1.0, 2.0]], [1.0, 2.0, 3.0], "cost has shape"),
        ([[1.0, 2.0]], [[1.0, 0.0], [0.0, -1.0]], "negative direction"),
        ([[1.0, 2.0]], [[1.0, 0.5], [0.0, 1.0]], "not symmetric"),
    ],
)
def test_bad_input_is_named(rows, cost, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        minimise_trace(rows, cost)


def test_bad_queries_and_budgets_are_named() -> None:
    with pytest.raises(ValueError, match="queries have shape"):
        minimise_maximum([[1.0, 2.0]], np.eye(3))
    with pytest.raises(ValueError, match="must be nonnegative"):
        minimise_maximum([[1.0, 2.0]], [1.0, -2.0])
    with pytest.raises(ValueError, match="inverse_squares"):
        Differences.of(np.eye(2), [[0.0, 1.0], [2.0, 0.0]])


def test_too_few_iterations_are_admitted() -> None:
    solution = minimise_trace(np.random.default_rng(0).normal(size=(50, 5)), max_iterations=2)
    assert solution.status is Status.STALLED
    assert 1e-6 < solution.gap < 1.0


def feasible(generator: np.random.Generator, rows: np.ndarray) -> np.ndarray:
    factor = generator.standard_normal((rows.shape[1], rows.shape[1]))
    precision = factor @ factor.T
    return np.asarray(precision / np.einsum("mi,ij,mj->m", rows, precision, rows).max())


@pytest.mark.parametrize("seed", range(5))
def test_no_feasible_point_is_below_the_bound_of_any_multipliers(seed: int) -> None:
    generator = np.random.default_rng(seed)
    rows, root = generator.standard_normal((7, 3)), generator.standard_normal((3, 2))
    bounds = [trace_bound(rows, root, generator.random(7)) for _ in range(20)]
    values = [float(np.trace(root.T @ np.linalg.inv(feasible(generator, rows)) @ root)) for _ in range(50)]
    assert max(bounds) <= min(values)
    assert max(bounds) <= minimise_trace(rows, root @ root.T).value


@pytest.mark.parametrize("seed", range(5))
def test_no_feasible_point_is_below_the_least_trace_with_any_slope(seed: int) -> None:
    """Slopes with a negative part too; without one the bound is the minimum, taken where `X^-1 L L' X^-1 = G`."""
    generator = np.random.default_rng(seed)
    rows, root = generator.standard_normal((3, 3)), generator.standard_normal((3, 3))
    slope = generator.standard_normal((3, 3))
    slope = slope + slope.T
    bound = least_trace(slope, root, rows)
    for _ in range(200):
        precision = feasible(generator, rows)
        assert np.trace(root.T @ np.linalg.inv(precision) @ root) + np.vdot(slope, precision) >= bound
    positive = slope @ slope
    best = least_trace(positive, root, rows)
    middle = np.linalg.cholesky(root @ root.T)
    values, vectors = np.linalg.eigh(middle.T @ positive @ middle)
    precision = middle @ (vectors / np.sqrt(values)) @ vectors.T @ middle.T
    assert best == pytest.approx(np.trace(root.T @ np.linalg.inv(precision) @ root) + np.vdot(positive, precision), rel=1e-9)


def test_multipliers_that_vanish_prove_nothing_and_no_columns_cost_nothing() -> None:
    assert trace_bound(np.eye(2), np.eye(2), np.zeros(2)) == 0.0
    assert least_trace(np.eye(2), np.zeros((2, 0)), np.eye(2)) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_no_allowed_covariance_has_a_smaller_trace(seed: int) -> None:
    """Random covariances, vectors on their boundary, random frames and directions that prove little, or the best ones."""
    rng = np.random.default_rng(seed)
    queries, order, count = int(rng.integers(2, 6)), int(rng.integers(1, 3)), int(rng.integers(2, 9))
    root = rng.normal(size=(queries, queries)) * 10.0 ** rng.integers(-3, 4, queries)
    vectors = rng.normal(size=(count, queries)) @ root.T
    vectors /= np.linalg.norm(np.linalg.solve(root, vectors.T), axis=0)[:, None]  # r' S^-1 r = 1
    frame, directions = rng.normal(size=(queries, order)), rng.normal(size=(count, order))
    trace = float((root**2).sum())
    assert 0 <= proven_trace(vectors, np.zeros(count), frame, directions) <= trace * (1 + 1e-12)


def test_the_bound_is_what_rationals_say() -> None:
    """Diagonal Gram matrices, so that the spectral norms are rational."""
    vectors = np.array([[3.1, 0.2], [0.3, 1.7]])
    frame, directions = np.diag([1.0, 2.0]), np.diag([0.7, 0.1])
    exact = Fraction(0)
    for m in range(2):
        reach = Fraction(directions[m, m]) * Fraction(frame[m, m]) * Fraction(vectors[m, m])
        exact += reach**2
    exact /= Fraction(4) * Fraction(0.7) ** 2
    found = proven_trace(vectors, np.zeros(2), frame, directions)
    assert exact * (1 - Fraction(1, 10**13)) <= Fraction(found) <= exact
    assert proven_trace(vectors, np.full(2, 0.1), frame, directions) < 0.97 * float(exact)
    assert proven_trace(vectors * 1e-160, np.zeros(2), frame, directions) == 0.0


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_the_solvers_directions_prove_its_bound(seed: int, largest: bool) -> None:
    """`sum a a'` is the cost (of the mixture of queries), and the farthest row along each direction gives the bound."""
    rng = np.random.default_rng(seed)
    rows, queries = rng.normal(size=(30, 3)), rng.normal(size=(5, 3))
    found = minimise_maximum(rows, queries) if largest else minimise_trace(rows, queries.T @ queries)
    weights = found.point.query_weights if largest else np.ones(5)
    cost = (queries * weights[:, None]).T @ queries
    squares = found.point.directions.T @ found.point.directions
    scale = np.trace(squares) / np.trace(cost)
    assert squares / scale == pytest.approx(cost, abs=1e-6 * np.abs(cost).max())
    reached = (np.abs(rows @ found.point.directions.T).max(axis=0) ** 2).sum() / scale
    assert reached == pytest.approx(found.lower_bound, rel=2e-6)

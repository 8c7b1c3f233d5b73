"""The theorems of docs/theory/least_noise.md against linear programs, closed forms and laws by definition; its refuted
guesses."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import chain, combinations, pairwise, product
from typing import Any

import flint
import numpy as np
import pytest

from designer import Problem, Workload, design, invariants, metrics
from designer.certificate.norms import weighted_l1
from designer.designing import repair as protected_pairs
from designer.designing.least_noise import limit
from designer.lattice.accuracy import ROUNDED
from designer.mechanism.additive import AdditiveMechanism
from designer.mechanism.noise import Grid
from solvers.ellipsoids.program import minimise_trace
from tests.oracles.noise_on_cosets import Floats, Steps, best_loss, best_on, box, extended, loss_of, signed
from tests.oracles.public_records import least_loss

LOSSES: Any = ("squared", "absolute", "max")


def _fmpq(number: Fraction) -> flint.fmpq:
    return flint.fmpq(number.numerator, number.denominator)


def _fraction(number: flint.fmpq) -> Fraction:
    return Fraction(int(number.p), int(number.q))


def steps_of(problem: Problem) -> tuple[Steps, Floats]:
    """The whole-number differences of a workload of full rank, with their budgets, and the diagonal forms of its answers."""
    pairs = problem.sensitivity().all_pairs()
    steps = [(tuple(map(int, u)), float(b)) for u, b in zip(pairs.differences, pairs.budgets, strict=True)]
    return steps, np.diag(problem.costs if problem.loss == "absolute" else np.sqrt(problem.costs))


def test_nobody_needs_less_than_the_geometric_mechanism_on_one_coset_or_another() -> None:
    """T2: programs on cosets of the line, whatever the offset and the even convex loss."""
    for epsilon, offset in product((0.5, 2.0), (0.0, 0.2, 0.5)):
        for loss in (np.abs, np.square, lambda z: np.maximum(np.abs(z) - 1.3, 0.0)):
            near, z = [(k,) for k in range(-30, 31)], np.arange(-90, 91)
            law, _ = best_on(near, [((1,), epsilon)], loss(z[60:-60] + offset))
            heights = np.full(len(z), -np.inf)
            heights[60:-60] = np.where(law > 1e-9, np.log(np.maximum(law, 1e-300)), -np.inf)
            value = loss_of(extended(heights, [((1,), epsilon)]), loss(z + offset))
            geometric = loss_of(-epsilon * np.abs(z), loss(z).astype(float))
            assert value >= geometric * (1 - 1e-9)
            assert offset or value == pytest.approx(geometric, rel=1e-4)


PLANE = [
    ([[0, 1, 2]], 0.5),
    ([[0, 1, 3, 5]], 4.0),
    ([[0, 2, 3]], 6.0),
    ([[0, 1, 2], [0, 0, 1]], 2.0),
    ([[0, 1, 0], [0, 0, 1]], 4.0),
    ([[0, 1, 2], [0, 2, 1]], 2.5),
]


@pytest.mark.parametrize(("loss", "case"), list(product(LOSSES, range(len(PLANE)))))
def test_the_limit_is_below_every_law_and_near_the_best(loss: Any, case: int) -> None:
    """T5 and T6: laws on a grid of cosets, extended beyond the box of their programs."""
    rows, epsilon = PLANE[case]
    problem = Problem(Workload(np.array(rows, dtype=float)), metrics.uniform(len(rows[0]), epsilon), loss=loss)
    steps, forms = steps_of(problem)
    found = limit(problem)
    assert found is not None and found.theorem in ("T3", "T6")
    offsets = [(c,) for c in (0, 0.25, 0.5)] if len(rows) == 1 else [(0, 0), (0.5, 0), (0, 0.5), (0.5, 0.5)]
    small, large = (24, 60) if len(rows) == 1 else (6, 16)
    power = 1 if loss == "absolute" else 2
    laws = [best_loss(steps, offset, forms, power, small, large)[0] for offset in offsets]
    least = min(float(parts.max() if loss == "max" else parts.sum()) for parts in laws)
    near = 0.8 if loss == "max" else 0.94  # the law has the least total, not the least maximum
    assert near * least <= found.value <= least * (1 + 1e-9)


def staircase(distance: int, epsilon: float, offset: float, first: int, power: int) -> float:
    """The loss of the law on `offset + Z` whose logarithm falls by epsilon after `first` points, and then after every Delta."""
    z = np.arange(-400, 401) + offset
    away = np.floor(np.abs(z) + 0.5) if offset == 0.5 else np.abs(z)
    weights = np.exp(-epsilon * np.ceil(np.maximum(away - first + 1e-9, 0.0) / distance))
    return float((weights * np.abs(z) ** power).sum() / weights.sum())


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 4.0])
def test_one_query_meets_the_staircase_of_geng_and_viswanath(epsilon: float) -> None:
    """All differences up to Delta with one budget: the best staircase on the whole numbers for absolute loss; and in units of
    Delta nearly the closed forms for real numbers, which need more because they hide more."""
    distance, b = 12, math.exp(-epsilon)
    absolute = limit(Problem(Workload([list(range(distance + 1))]), metrics.uniform(distance + 1, epsilon), loss="absolute"))
    squared = limit(Problem(Workload([list(range(distance + 1))]), metrics.uniform(distance + 1, epsilon)))
    assert absolute is not None and squared is not None
    best = min(staircase(distance, epsilon, 0.0, first, 1) for first in range(distance))
    assert (1 - 2e-3) * best <= absolute.value <= best
    for found, power, real in (
        (absolute, 1, 1 / (2 * math.sinh(epsilon / 2))),
        (squared, 2, (2 ** (-2 / 3) * (b * (1 + b)) ** (2 / 3) + b) / (1 - b) ** 2),
    ):
        assert 0.95 * real <= found.value / distance**power <= real


@pytest.mark.parametrize("loss", LOSSES)
def test_independent_geometric_noise_attains_the_limit_where_one_record_appears(loss: Any) -> None:
    """T4, with a budget of its own for each cell; the noise itself is computed by definition."""
    budgets, weights = np.array([0.5, 1.0, 3.0]), [1.0, 2.0, 0.5]
    problem = Problem(Workload.identity(3), metrics.add_remove(3, budgets), loss=loss, weights=weights)
    found = limit(problem)
    assert found is not None and found.theorem == "T4" and found.every_mechanism
    noise = AdditiveMechanism("laplace", problem.workload, problem.relation, weighted_l1(budgets), Grid((0, 0, 0)))
    k = np.arange(-400, 401)
    law = np.exp(-budgets[:, None] * np.abs(k))
    law /= law.sum(axis=1, keepdims=True)
    reached = problem.loss_of(law @ k**2, law @ np.abs(k))
    assert noise.privacy.holds and problem.loss_of(noise.query_variances(), noise.query_mean_absolutes()) == pytest.approx(
        reached
    )
    assert (1 - 1e-12) * reached <= found.value <= reached * (1 + 1e-12)


def test_for_a_total_of_two_cells_independent_noise_is_not_the_best() -> None:
    found = limit(Problem(Workload([[1.0, 1.0]]), metrics.add_remove(2, 1.0)))
    two = 2 * limit(Problem(Workload([[1.0]]), metrics.add_remove(1, 1.0))).value  # type: ignore[union-attr]
    assert found is not None and found.value == pytest.approx(two / 2)


@pytest.mark.parametrize("seed", range(12))
def test_no_family_beats_the_limit_on_whole_numbers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    elements, queries = int(rng.integers(2, 6)), int(rng.integers(1, 3))
    rows = rng.integers(-2, 4, (queries, elements)).astype(float)
    relation: Any = metrics.uniform(elements, float(rng.choice([0.5, 2.0, 5.0])))
    if seed % 3 == 0:
        relation = metrics.add_remove(elements, rng.uniform(0.5, 4.0, elements))
    problem = Problem(Workload(rows), relation, loss=LOSSES[seed % 3], weights=rng.uniform(0.5, 2.0, queries))
    first, found = limit(problem, rows=0), limit(problem)
    assert first is not None and found is not None and found.value >= first.value
    assert first.unbiased is None or 2 * first.unbiased == pytest.approx(first.value)
    for family in ("laplace", "k_norm", "ellipsoid", "box", "strategy_2"):
        made = design(problem, family)
        assert made.loss >= found.value * (1 - 1e-9) and made.efficiency is not None and made.efficiency <= 1


@pytest.mark.parametrize("loss", LOSSES)
def test_budgets_of_any_size_have_a_limit(loss: Any) -> None:
    """Where factors are too large for a program, or for floats, what is left proves less and nothing wrong."""
    for budgets in ([1e-4, 2e-4], [1.0, 50.0], [60.0, 80.0], [800.0, 2000.0]):
        problem = Problem(Workload([[1.0, 2.0], [0.0, 1.0]]), metrics.add_remove(2, budgets), loss=loss)
        found = limit(problem)
        assert found is not None and 0 <= found.value <= design(problem, "laplace").loss * (1 + 1e-9)
        assert found.value > 0 or min(budgets) > 700


@pytest.mark.parametrize("seed", range(6))
def test_the_limit_is_twice_that_of_hammersley_chapman_and_robbins_or_more(seed: int) -> None:
    """Their program from its own definition, `4 sinh^2(b/2)`, as the limit was before."""
    rng = np.random.default_rng(seed)
    problem = Problem(Workload(rng.normal(size=(3, 8))), metrics.euclidean(rng.random((8, 2)) * 4), weights=[1.0, 3.0, 0.2])
    found, pairs = limit(problem), problem.sensitivity().all_pairs()
    before = minimise_trace(pairs.differences / (2 * np.sinh(pairs.budgets / 2))[:, None], problem.costs)
    assert found is not None and found.theorem == "T3" and found.unbiased is not None
    assert found.value == pytest.approx(2 * before.value, rel=3e-6) and found.value <= 2 * before.value
    assert found.unbiased == pytest.approx(before.value, rel=3e-6)


def test_budgets_that_floats_do_not_hold_have_no_limit() -> None:
    """1e250 times 1e-200 is 1 in floats that are clipped on the way: far below what is promised, so that a limit would be above
    the truth."""
    far = metrics.scaled(1e-50, metrics.scaled(1e-75, metrics.scaled(1e-75, metrics.uniform(2, 1e250))))
    assert far.distances()[0, 1] == pytest.approx(1.0) and limit(Problem(Workload.identity(2), far)) is None
    assert limit(Problem(Workload.identity(2), metrics.scaled(1e-20, metrics.uniform(2, 1e20)))) is not None


def test_noise_on_the_lattice_of_an_invariant_is_never_below_the_limit() -> None:
    for shape in ((2, 2), (2, 3)):
        problem = Problem(Workload.identity(math.prod(shape)), invariants.margins(shape).protect(2.0, 2))
        found = limit(problem)
        assert found is not None and found.theorem == ("T6" if shape == (2, 3) else "T3")
        for family in ("lattice_laplace", "laplace", "k_norm"):
            assert design(problem, family).loss >= found.value * (1 - ROUNDED)


@pytest.mark.parametrize("distance", ["l1", "l2"])
def test_budgets_per_distance_have_a_limit_from_changes_of_few_records(distance: Any) -> None:
    for invariant, few in ((invariants.total(3), 1), (invariants.margins((2, 3)), 2)):
        problem = Problem(Workload.identity(invariant.size), invariant.protect(1.5, per_distance=distance))
        made = design(problem, "lattice_laplace", shape=distance)
        found = made.limit
        assert found is not None and found.value <= made.loss and found.unbiased is None and len(found.scope) == 2
        assert made.efficiency == pytest.approx(found.value / made.loss)
        # the same changes with the budgets written out: distance 2 few, or its root
        size = 1.5 * (2 * few if distance == "l1" else math.sqrt(2 * few))
        same = limit(Problem(Workload.identity(invariant.size), invariant.protect(size, few)))
        assert same is not None and found.value == pytest.approx(same.value, rel=1e-5)
    many = Problem(Workload.identity(1000), invariants.total(1000).protect(1.0, per_distance=distance))
    assert limit(many) is None


def test_of_sets_that_are_not_written_out_the_limit_sees_some_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(Workload.random(2, 30, seed=1), metrics.euclidean(np.random.default_rng(0).random((30, 2))))
    whole = limit(problem)
    monkeypatch.setattr(protected_pairs, "WRITTEN_OUT", 100)
    some = limit(problem)
    assert whole is not None and some is not None and 0.3 * whole.value < some.value <= whole.value * (1 + 1e-6)
    monkeypatch.setattr(protected_pairs, "FEW", 59)
    assert limit(problem) is None


# Public records ------------------------------------------------------------------------------------------------------


def test_with_few_public_records_every_mechanism_together_needs_less_than_the_limit() -> None:
    """The table of the page. With n public the words speak of additive noise, and of unbiased mechanisms with half of it."""
    found = limit(Problem(Workload([[1.0, 0.0]]), metrics.uniform(2, 1.0)))
    assert found is not None and found.records == 1 and found.unbiased is not None and found.every_mechanism
    any_kind = {n: least_loss(n, 1.0, unbiased=False) for n in (1, 2, 4, 8)}
    for n, told in ((1, 0.1966), (2, 0.5186), (4, 0.8828), (8, 1.2703)):
        value, bound = any_kind[n]
        assert bound <= value <= bound * (1 + 1e-6) and value == pytest.approx(told, abs=5e-5)
        public = limit(Problem(Workload([[1.0, 0.0]]), metrics.uniform(2, 1.0), records=n))
        assert public is not None and not public.every_mechanism and value < public.value == found.value
    assert any_kind[1][0] == pytest.approx(math.e / (1 + math.e) ** 2)
    assert sorted(value for value, _ in any_kind.values()) == [any_kind[n][0] for n in (1, 2, 4, 8)]
    for n, told in ((1, 0.9207), (2, 1.3461), (4, 1.6592)):
        value, bound = least_loss(n, 1.0, unbiased=True)
        assert value <= bound * (1 + 1e-6) and value == pytest.approx(told, abs=5e-5) and value >= found.unbiased * (1 - 1e-6)
    assert least_loss(1, 1.0, unbiased=True)[0] == pytest.approx(found.unbiased, rel=1e-6)


@pytest.mark.heavy
def test_more_public_records_come_closer_to_the_limit() -> None:
    for unbiased, told in ((False, {16: 1.5810}), (True, {8: 1.8167, 16: 1.8409})):
        for n, expected in told.items():
            value, bound = least_loss(n, 1.0, unbiased)
            assert value <= bound * (1 + 1e-6) and value == pytest.approx(expected, abs=5e-5) and value < 1.8413


# Refuted guesses -----------------------------------------------------------------------------------------------------


def variance_of_cut_noise(records: int, a: Fraction, count: int) -> Fraction:
    """T10, in closed form."""
    return 2 * a / (1 - a) ** 2 * (1 - (a**count + a ** (records - count)) / (2 * (1 + a)))


def cut_noise(records: int, a: Fraction) -> tuple[list[list[Fraction]], list[Fraction]]:
    """The laws of geometric noise cut to 0 .. n, a row for each count, and the readings."""
    heights = [1 / (1 + a) if y in (0, records) else (1 - a) / (1 + a) for y in range(records + 1)]
    laws = [[h * a ** abs(y - x) for y, h in enumerate(heights)] for x in range(records + 1)]
    return laws, [-a / (1 - a), *map(Fraction, range(1, records)), records + a / (1 - a)]


A = [Fraction(1, 20), Fraction(1, 3), Fraction(3, 4), Fraction(19, 20)]


@pytest.mark.parametrize("a", A)
def test_cut_geometric_noise_is_unbiased_and_has_the_stated_variance_at_every_count(a: Fraction) -> None:
    for records in range(1, 13):
        laws, readings = cut_noise(records, a)
        for count, law in enumerate(laws):
            assert sum(law) == 1 and sum(p * r for p, r in zip(law, readings, strict=True)) == count
            spread = sum(p * (r - count) ** 2 for p, r in zip(law, readings, strict=True))
            assert spread == variance_of_cut_noise(records, a, count)
        assert all(max(p / q, q / p) <= 1 / a for one, two in pairwise(laws) for p, q in zip(one, two, strict=True))
        half, V = (records - 1) // 2, 2 * a / (1 - a) ** 2
        worst = max(variance_of_cut_noise(records, a, x) for x in range(records + 1))
        assert worst == V * (1 - a**half / 2 if records % 2 else 1 - a ** (records // 2) / (1 + a))


@pytest.mark.parametrize("a", A)
def test_no_unbiased_mechanism_has_less_variance_at_any_count(a: Fraction) -> None:
    """T10 in rationals: multipliers for one count, nonnegative on every extreme column (2^n of them) and for every reading."""
    for records in range(1, 8):
        places, readings = range(records + 1), cut_noise(records, a)[1]
        paths = [[sum(steps[:k]) for k in places] for steps in product((1, -1), repeat=records)]
        for c in places:
            peaks = flint.fmpq_mat([[_fmpq(a ** (abs(x - y) - abs(c - y))) for x in places] for y in places])
            of_reading = [
                flint.fmpq_mat([[_fmpq(2 * (r - c))] for r in readings]),
                flint.fmpq_mat([[_fmpq((r - c) ** 2)] for r in readings]),
            ]
            beta, gamma = ([_fraction(row[0]) for row in peaks.solve(right).tolist()] for right in of_reading)
            for path in paths:
                column = [a ** (h - path[c]) for h in path]
                slope, height = (sum(m * s for m, s in zip(by, column, strict=True)) for by in (beta, gamma))
                assert 4 * height >= slope**2  # `(r - c)^2 - slope (r - c) + height` has no two real zeros
            bound = sum(m * (x - c) for x, m in zip(places, beta, strict=True)) - sum(gamma)
            assert bound == variance_of_cut_noise(records, a, c)


@pytest.mark.parametrize("records", [1, 2, 5, 6])
def test_the_least_unbiased_error_of_a_count_is_that_of_linear_programs(records: int) -> None:
    for epsilon in (0.5, 1.0, 2.0):
        value, bound = least_loss(records, epsilon, unbiased=True)
        closed = max(variance_of_cut_noise(records, Fraction(math.exp(-epsilon)), x) for x in range(records + 1))
        assert bound * (1 - 1e-6) <= float(closed) <= value * (1 + 1e-6)


def test_the_best_law_need_not_fall_by_the_number_of_moves_from_a_flat_top() -> None:
    steps: Steps = [((2,), 1.5), ((3,), 3.0)]
    z = np.arange(-60, 61)
    heights = -1.5 * np.ceil(np.abs(z) / 2)
    for (u,), b in signed(steps):
        ratio = np.abs(heights[max(0, -u) : len(z) - max(0, u)] - heights[max(0, u) : len(z) + min(0, u)])
        assert ratio.max() <= b + 1e-12
    other = loss_of(heights, z.astype(float) ** 2)
    assert other == pytest.approx(3.2250, abs=1e-4)
    near = range(-4, 5)
    tops = chain.from_iterable(combinations(near, size) for size in range(1, 10))
    losses = []
    for top in tops:
        start = np.full(len(z), -np.inf)
        start[[t + 60 for t in top]] = 0.0
        law = np.exp(extended(start, steps))
        law /= law.sum()
        losses.append(float(law @ z**2))
    assert min(losses) == pytest.approx(3.4577, abs=1e-3) and min(losses) > other


def test_whole_numbers_are_not_always_the_best_for_whole_numbers() -> None:
    for steps, half, whole, better, small, large in (
        ([((k,), 4.0) for k in range(1, 6)], (0.5,), 1.7536, 1.5416, 24, 60),
        ([((1, 2), 2.5), ((2, 1), 2.5), ((2, 2), 2.5)], (0.5, 0.5), 3.3065, 2.8689, 8, 20),
    ):
        forms, origin = np.eye(len(half)), (0.0,) * len(half)
        value, below = best_loss(steps, origin, forms, 2, small, large)
        assert value.sum() == pytest.approx(whole, rel=5e-4) and below <= value.sum()
        assert best_loss(steps, half, forms, 2, small, large)[0].sum() == pytest.approx(better, rel=5e-4)


def test_the_bound_of_the_ball_is_false_at_finite_budgets() -> None:
    """The ball of radius 1/3 lies in the hull of u / b, and T8 would say 6/9."""
    points = np.array(box(40, 2))
    weights = np.exp(-3.0 * np.abs(points).max(axis=1))
    loss = float((weights * (points**2).sum(axis=1)).sum() / weights.sum())
    assert loss == pytest.approx(0.5942, abs=1e-4) and loss < 6 / 9
    found = limit(Problem(Workload([[0.0, 1, 0, 1], [0.0, 0, 1, 1]]), metrics.uniform(4, 3.0)))
    assert found is not None and found.value <= loss


# The form of vertices ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [[((1,), 1.0), ((3,), 1.5)], [((1, 1), 1.0), ((0, 1), 2.0)]])
def test_vertices_are_spanned_by_tight_pairs_and_peaks(steps: Steps) -> None:
    """T7: whole combinations of budgets along a tree, and the smallest function above the peaks."""
    points = box(6 if len(steps[0][0]) == 1 else 3, len(steps[0][0]))
    law, _ = best_on(points, steps, (np.array(points) ** 2).sum(axis=1).astype(float))
    place = {point: i for i, point in enumerate(points)}
    assert law.min() > 0
    heights = np.log(law)
    ends = [
        (i, place[tuple(np.add(z, u))], b) for z, i in place.items() for u, b in signed(steps) if tuple(np.add(z, u)) in place
    ]
    tight = [(i, j, b) for i, j, b in ends if abs(heights[i] - heights[j] - b) < 1e-6]
    reached, edge = {0}, True
    while edge:
        edge = {j for i, j, _ in tight if i in reached} | {i for i, j, _ in tight if j in reached}
        edge -= reached
        reached |= edge
    assert len(reached) == len(points)
    peaks = set(range(len(points))) - {j for _, j, _ in tight}
    rebuilt = np.where([i in peaks for i in range(len(points))], heights, -np.inf)
    for _ in points:
        for i, j, b in ends:
            rebuilt[j] = max(rebuilt[j], rebuilt[i] - b)
    assert rebuilt == pytest.approx(heights, abs=1e-5)


def test_a_budget_of_which_the_divergence_is_no_float_leaves_a_limit_of_nothing() -> None:
    """`exp(116^2) - 1` overflows: nothing has to be covered, and the largest error is at least 0."""
    queries = [[1.0, 0.0], [1.0, -1.0], [-2.0, -1.0]]
    problem = Problem(Workload(queries), metrics.from_matrix([[0, 116.0], [116.0, 0]]), loss="max", notion="zcdp")
    assert limit(problem).value == 0.0

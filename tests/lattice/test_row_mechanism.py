"""Noise row by row: its law written out, its promise for every change, its error, and what is refused."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy.stats import binom

from designer import Problem, Workload, design, invariants, load
from designer.base.errors import DesignFailed, InvalidProblem, NotPrivate
from designer.certificate.norms import Norm
from designer.lattice.accuracy import margin_bounds_of_rows
from designer.lattice.row_mechanism import RowMechanism, row_mean_square
from designer.lattice.table_gaussians import BalancedRows
from designer.sampling.entropy import SeededEntropy
from solvers.lattices.cell_laws import ZeroSumMoments
from tests.oracles.goodness_of_fit import FAILURE_PROBABILITY, p_value

DRAWS = 100_000


def made(shape, adjacency=2, epsilon=1.0, workload=None, groups=None, **options) -> RowMechanism:
    invariant = invariants.margins(shape, groups)
    problem = Problem(workload or Workload.identity(invariant.size), invariant.protect(epsilon, adjacency))
    return design(problem, "lattice_rows", **options).mechanism


def shares(sums: tuple[int, ...], places: int) -> dict[tuple[tuple[int, ...], ...], Fraction]:
    """Every table that balancing may give, (places, columns), with its chance: all orders of places and columns, one by one."""
    found: dict[tuple[tuple[int, ...], ...], Fraction] = defaultdict(Fraction)
    orders = list(itertools.permutations(range(len(sums))))
    turns = list(itertools.permutations(range(places)))
    for order, turn in itertools.product(orders, turns):
        table, at = [[s // places for s in sums] for _ in range(places)], 0
        for column in order:
            for _ in range(sums[column] % places):
                table[turn[at % places]][column] += 1
                at += 1
        found[tuple(map(tuple, table))] += Fraction(1, len(orders) * len(turns))
    return found


@cache
def law(rows: int, columns: int, rate: float, reach: int) -> dict[tuple[int, ...], float]:
    """The law of z, rows of `columns` cells on their sums, entries of all but the last cell up to `reach`."""
    heads = itertools.product(range(-reach, reach + 1), repeat=columns - 1)
    lines = [(*head, -sum(head)) for head in heads]
    weights = [math.exp(-rate * sum(map(abs, line))) for line in lines]
    mass: dict[tuple[int, ...], float] = defaultdict(float)
    kept: dict[tuple[int, ...], list[tuple[tuple[tuple[int, ...], ...], float]]] = {}
    for chosen in itertools.product(range(len(lines)), repeat=rows):
        weight = math.prod(weights[i] for i in chosen)
        if weight < 1e-17:
            continue
        y = [lines[i] for i in chosen]
        sums = tuple(map(sum, zip(*y, strict=True)))
        if sums not in kept:
            kept[sums] = [(table, float(chance)) for table, chance in shares(sums, rows).items()]
        for table, chance in kept[sums]:
            z = tuple(a - b for line, share in zip(y, table, strict=True) for a, b in zip(line, share, strict=True))
            mass[z] += weight * chance
    total = sum(mass.values())
    return {z: m / total for z, m in mass.items()}


@pytest.mark.parametrize(("rows", "columns", "reach"), [(2, 3, 8), (3, 2, 14)])
def test_draws_follow_the_law_written_out_and_a_rate_2_percent_off_does_not(rows: int, columns: int, reach: int) -> None:
    known = law(rows, columns, 1.0, reach)
    draws = BalancedRows((rows, columns), 1, Fraction(1), 0, np.arange(rows * columns)).draw(2 * DRAWS, SeededEntropy(1))
    counts = defaultdict(int)
    for z in map(tuple, draws.tolist()):
        counts[z] += 1
    places = list(known)
    seen = np.array([counts[z] for z in places] + [0])
    seen[-1] = len(draws) - seen.sum()
    assert p_value(seen, np.append(np.array([known[z] for z in places]) * (1 - 1e-9), 1e-9)) > FAILURE_PROBABILITY
    wrong = law(rows, columns, 1.03, reach)
    assert p_value(seen, np.append([wrong.get(z, 1e-30) for z in places], 1e-9)) < FAILURE_PROBABILITY


@pytest.mark.parametrize(("rows", "columns", "reach"), [(2, 3, 8), (3, 2, 14)])
def test_every_change_keeps_its_budget_in_the_law_written_out(rows: int, columns: int, reach: int) -> None:
    """Log-ratios of the law at z and z + v are at most `rate |v|_1`, for all basic moves and twice these."""
    known, rate = law(rows, columns, 1.0, reach), 1.0
    heavy = [(z, p) for z, p in known.items() if p > 1e-5]
    moves = []
    for i, k in itertools.combinations(range(rows), 2):
        for j, m in itertools.combinations(range(columns), 2):
            move = np.zeros((rows, columns), dtype=int)
            move[i, j] = move[k, m] = 1
            move[i, m] = move[k, j] = -1
            moves += [tuple((move * times).ravel().tolist()) for times in (1, 2)]
    worst = 0.0
    for move in moves:
        budget = rate * sum(map(abs, move))
        ratios = [
            abs(math.log(p / known[w])) for z, p in heavy if (w := tuple(a + b for a, b in zip(z, move, strict=True))) in known
        ]
        assert max(ratios) <= budget * (1 + 1e-6)
        worst = max(worst, max(ratios) / budget)
    assert worst > 0.2


@pytest.mark.parametrize(("rows", "columns", "rate", "reach"), [(2, 3, 1.0, 8), (3, 2, 1.0, 14), (2, 3, 3.0, 5)])
def test_the_mean_square_is_that_of_the_law(rows: int, columns: int, rate: float, reach: int) -> None:
    crossed = invariants.margins((rows, columns)).structure
    square = sum(p * sum(c * c for c in z) for z, p in law(rows, columns, rate, reach).items())
    assert row_mean_square(crossed, 0, rate) == pytest.approx(square, rel=1e-4)


@pytest.mark.parametrize(("count", "rate"), [(1, 1.0), (2, 0.3), (4, 2.0), (7, 0.05)])
def test_moments_of_zero_sums_are_those_of_convolved_laws(count: int, rate: float) -> None:
    reach = int(60 / rate)
    z = np.arange(-reach, reach + 1)
    single = np.exp(-rate * np.abs(z))
    others = np.ones(1)
    for _ in range(count - 1):
        others = np.convolve(others, single / single.sum())
    middle = len(others) // 2
    there = others[np.clip(middle - z, 0, len(others) - 1)] * (np.abs(z) <= middle)
    cell = single * there / (single * there).sum()
    moments = ZeroSumMoments(count, rate)
    assert moments.variance == pytest.approx(float(cell @ z.astype(float) ** 2), rel=1e-8, abs=1e-12)
    three = np.convolve(np.convolve(cell, cell), cell)
    parts = np.arange(-3 * reach, 3 * reach + 1) % 3 / 3
    assert moments.rounding(3) == pytest.approx(float(three @ (parts * (1 - parts))), rel=1e-8, abs=1e-12)


def test_slow_rates_have_the_variance_of_continuous_noise() -> None:
    assert ZeroSumMoments(5, 2.0**-14).variance == pytest.approx(ZeroSumMoments(5, 2.0**-9).variance * 4.0**5, rel=1e-4)


@pytest.mark.parametrize(
    ("shape", "groups", "axis"), [((3, 4), None, 0), ((3, 4), None, 1), ((2, 3, 2), None, 1), ((2, 2, 3), [(0,), (2,)], 0)]
)
def test_draws_keep_every_margin_and_stay_within_the_bounds(shape, groups, axis) -> None:
    """Margins are exceeded at most as often as they say (binomial, at `FAILURE_PROBABILITY`); standard errors are those of
    other draws, up to six deviations of both, and below their bounds."""
    rng = np.random.default_rng(0)
    size = math.prod(shape)
    workload = Workload(np.vstack([np.eye(size), rng.integers(-2, 3, (4, size))]))
    mechanism = made(shape, 2, 1.0, workload, groups, axis=axis)
    table = mechanism.draw(20_000, seed=1)
    assert not (table @ mechanism.relation.invariant.constraints.T).any()
    drawn = table @ workload.dense().T
    assert ((np.abs(drawn) > mechanism.margins()).sum(axis=0) <= binom.isf(FAILURE_PROBABILITY, len(drawn), 0.05)).all()
    squares = drawn**2.0
    spread = squares.std(axis=0) / math.sqrt(len(drawn))
    off = np.abs(squares.mean(axis=0) - mechanism.standard_errors() ** 2)
    assert (off <= 6 * math.sqrt(2) * spread + 1e-12).all()
    assert (mechanism.standard_errors() <= mechanism._error_bounds() + 1e-12).all()
    assert (np.abs(squares.mean(axis=0) - mechanism.query_variances()) <= 5 * spread + 0.03 * mechanism.query_variances()).all()


def test_margins_take_the_better_of_what_balancing_adds_at_most_and_what_it_adds_mostly() -> None:
    """Either bound alone is as wide as one likes: with very many roundings, or with a very large covariance of them."""
    mechanism = made((3, 4))
    drawn = np.abs(mechanism.draw(DRAWS, seed=3))
    many, wide = (margin_bounds_of_rows(mechanism, *given, 0.05) for given in ((0.25, 10**12), (1e12, 2)))
    for margins in (many, wide):
        assert (margins < 40 * mechanism.standard_errors()).all()
    assert ((drawn > mechanism.margins()).mean(axis=0) <= 0.05).all()


def test_closed_covariances_are_those_of_the_draws() -> None:
    mechanism = made((3, 4))
    draws = mechanism.draw(DRAWS, seed=2)
    known = mechanism.covariance()
    assert known.diagonal() == pytest.approx(mechanism.query_variances())
    assert np.abs(draws.T @ draws / DRAWS - known).max() < 0.02 * known.max()


def test_less_noise_than_projected_laplace_and_every_other_family_where_hulls_end() -> None:
    invariant = invariants.margins((6, 6))
    problem = Problem(Workload.identity(36), invariant.protect(1.0, 2))
    rows = design(problem, "lattice_rows").mechanism.query_variances().sum()
    assert rows == pytest.approx(629.252, abs=1e-3)
    for family, options in (("projected_laplace", {}), ("lattice_laplace", {"shape": "ellipsoid"}), ("ellipsoid", {})):
        assert rows < 0.8 * design(problem, family, **options).mechanism.query_variances().sum()


def test_the_axis_with_the_least_noise_is_chosen() -> None:
    chosen, other = made((3, 7)), made((3, 7), axis=0)
    assert chosen.axis == 1 and chosen.query_variances().sum() < other.query_variances().sum()


def test_budgets_are_spent_and_specs_come_back(tmp_path) -> None:
    mechanism = made((3, 4), 3, epsilon=0.7)
    assert 1 - 1e-9 < mechanism.privacy.worst_ratio <= 1
    assert float(mechanism.norm.map[0]) == pytest.approx(0.7 / 6)
    again = load(mechanism.save(tmp_path / "rows.json"), RowMechanism)
    assert again.fingerprint == mechanism.fingerprint and again.guarantee == mechanism.guarantee
    release = again.release([5, 0, 2, 7, 1, 1, 0, 3, 9, 4, 4, 2])
    table = np.array(release.table).reshape(3, 4)
    assert table.sum(axis=1).tolist() == [14, 5, 19] and table.sum(axis=0).tolist() == [15, 5, 6, 12]


def test_a_large_table_has_exact_noise() -> None:
    invariant = invariants.margins((50, 50))
    problem = Problem(Workload(np.eye(1, 2500)), invariant.protect(0.25, per_distance="l1"))
    mechanism = design(problem, "lattice_rows").mechanism
    noise = mechanism.draw(40, seed=1).reshape(40, 50, 50)
    assert not noise.sum(axis=1).any() and not noise.sum(axis=2).any()
    assert row_mean_square(mechanism.crossed, 0, 0.25) == pytest.approx((noise**2).sum() / 40, rel=0.03)
    assert row_mean_square(mechanism.crossed, 0, 0.25) < 0.98 * 49 * 49 * 2 / 0.25**2


@pytest.mark.parametrize(
    ("build", "kind", "message"),
    [
        (lambda: made((3, 3), axis=2), InvalidProblem, "axis: 2 of 2"),
        (lambda: made((3, 3), axis="x"), InvalidProblem, "axis"),
        (lambda: made((2, 2, 2), groups=[(0, 1), (1, 2)]), DesignFailed, "serves margins"),
        (
            lambda: design(Problem(Workload.identity(3), invariants.total(3).protect(1.0)), "lattice_rows"),
            DesignFailed,
            "margins",
        ),
    ],
)
def test_other_statistics_and_axes_are_refused(build, kind, message) -> None:
    with pytest.raises(kind, match=message):
        build()


def test_laws_that_are_not_drawn_are_refused() -> None:
    relation = invariants.margins((2, 2)).protect(0.5, 2)
    workload = Workload.identity(4)
    for norm, kind in (
        (Norm(np.full(4, 0.25), "l1"), NotPrivate),
        (Norm(np.full(4, 0.125), "l2"), InvalidProblem),
        (Norm(np.array([0.125, 0.125, 0.125, 0.1]), "l1"), InvalidProblem),
    ):
        with pytest.raises(kind):
            RowMechanism("custom", workload, relation, norm)
    with pytest.raises(InvalidProblem, match="family"):
        RowMechanism("laplace", workload, relation, Norm(np.full(4, 0.125), "l1"))

"""Every exact lattice sampler against the enumerated law of a small lattice, with wrong scales that must be rejected."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from flint import arb, ctx
from numpy.typing import NDArray
from scipy import stats

from designer.lattice.chain import Assessment, LatticeNorm, LatticeShape
from designer.lattice.gaussian import LatticeGaussian
from designer.lattice.sampler_choice import (
    DeterminedLaplace,
    EllipsoidNorm,
    LatticeSampler,
    PolytopeNorm,
    ThinnedL1,
    determinations,
    lattice_sampler_for,
    rate_below_ellipsoid,
    rate_below_l2,
    rate_below_polytope,
)
from designer.lattice.table_gaussians import PartitionLaplace, balanced, random_orders
from designer.sampling import integer_laplace as zero_sum
from designer.sampling.body_grids import EllipsoidGrid
from designer.sampling.entropy import SeededEntropy
from designer.sampling.finite_law import FiniteLaw
from designer.sampling.integer_gaussian import CentredGaussian
from designer.sampling.integer_laplace import DiscreteLaplace, ThetaRatio, ZeroSum
from designer.sampling.integer_samplers import LazyUniform
from designer.sampling.round_and_reject import NearestPlane, RoundAndReject
from solvers.lattices.kernel import Lattice, integer_kernel
from tests.oracles.goodness_of_fit import FAILURE_PROBABILITY, p_value
from tests.oracles.scripted import Scripted

Integers = NDArray[np.int64]
TOTAL = np.ones((1, 3), dtype=np.int64)
SKEW = np.array([[1, 2, 3]])  # no partition, no unimodular completion but through the first cell
TABLE = np.array([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1], [1, 0, 0, 1, 0, 0], [0, 1, 0, 0, 1, 0], [0, 0, 1, 0, 0, 1]])
MATRICES = {"total": TOTAL, "skew": SKEW, "2x3 table": TABLE}
FACTOR = ((2, 1, 0), (0, 1, 0), (0, 0, Fraction(1, 2)))


@cache
def points(name: str) -> Integers:
    """Lattice points of two dimensions with coefficients up to 60;
    beyond them lies less than 1e-9 of the mass of every law here."""
    grid = np.array(list(itertools.product(range(-60, 61), repeat=2)))
    return grid @ integer_kernel(MATRICES[name]).basis.astype(np.int64)


def l1(z: Integers) -> NDArray[np.float64]:
    return np.abs(z).sum(axis=1).astype(np.float64)


def l2(z: Integers) -> NDArray[np.float64]:
    return np.sqrt((z**2).sum(axis=1))


def skewed(z: Integers) -> NDArray[np.float64]:
    return np.sqrt((2 * z[:, 0] + z[:, 1]) ** 2 + z[:, 1] ** 2 + (z[:, 2] / 2) ** 2)


def fit(name: str, exponent: NDArray[np.float64], draws: Integers) -> float:
    """p-value over single lattice points, all points that expect fewer than 10 draws pooled."""
    known = points(name)
    weights = np.exp(-exponent)
    base = 2001 ** np.arange(2)  # two cells tell the points of these planes apart
    keys = (known[:, :2] + 1000) @ base
    order = np.argsort(keys)
    place = order[np.minimum(np.searchsorted(keys[order], (draws[:, :2] + 1000) @ base), len(keys) - 1)]
    there = (known[place] == draws).all(axis=1)
    counts = np.append(np.bincount(place[there], minlength=len(known)), (~there).sum())
    return p_value(counts, np.append(weights / weights.sum() * (1 - 1e-9), 1e-9))


def hexagon(lattice: Lattice) -> PolytopeNorm:
    """The hull of the six differences of the coordinate vectors: gauge max |z_i|, the sides of a hexagon."""
    corners = [(1, -1, 0), (1, 0, -1), (0, 1, -1), (-1, 1, 0), (-1, 0, 1), (0, -1, 1)]
    facets = [tuple(sign * int(i == j) for i in range(3)) for sign in (1, -1) for j in range(3)]
    return PolytopeNorm(
        [[Fraction(x) for x in c] for c in corners],
        [[i, (i + 1) % 6] for i in range(6)],
        [[Fraction(x) for x in f] for f in facets],
    )


def largest(z: Integers) -> NDArray[np.float64]:
    return np.abs(z).max(axis=1).astype(np.float64)


Case = tuple[str, Callable[[Fraction], LatticeSampler], Callable[[Integers], NDArray[np.float64]]]


def chosen(name: str, norm: str | EllipsoidNorm | PolytopeNorm) -> Callable[[Fraction], LatticeSampler]:
    def build(rate: Fraction) -> LatticeSampler:
        sampler = lattice_sampler_for(MATRICES[name], norm, rate).sampler
        assert sampler is not None
        return sampler

    return build


def thinned(name: str, norm: str | EllipsoidNorm | PolytopeNorm) -> Callable[[Fraction], LatticeSampler]:
    """The sampler for narrow noise, at rates that would not choose it."""

    def build(rate: Fraction) -> LatticeSampler:
        lattice = integer_kernel(MATRICES[name])
        if isinstance(norm, EllipsoidNorm):
            factor = [[Fraction(x) * rate for x in row] for row in norm.factor]
            shape, least = LatticeShape.ellipsoid(lattice, factor), rate_below_ellipsoid(lattice, factor)
        elif isinstance(norm, PolytopeNorm):
            vertices, facets = (
                [[x * r for x in row] for row in rows] for rows, r in ((norm.vertices, 1 / rate), (norm.facets, rate))
            )
            shape, least = LatticeShape.polytope(lattice, vertices, norm.simplices, facets), rate_below_polytope(vertices)
        else:
            shape, least = LatticeShape.euclidean(lattice, rate), rate_below_l2(lattice, rate)
        proposals = lattice_sampler_for(MATRICES[name], "l1", least).sampler
        assert proposals is not None
        return ThinnedL1(shape, proposals, least)

    return build


CASES: dict[str, Case] = {
    "l2 thinned, skew": ("skew", thinned("skew", "l2"), l2),
    "l2 thinned, table": ("2x3 table", thinned("2x3 table", "l2"), l2),
    "ellipsoid thinned, total": ("total", thinned("total", EllipsoidNorm(FACTOR)), skewed),
    "hexagon thinned, total": ("total", thinned("total", hexagon(integer_kernel(TOTAL))), largest),
    "l2, total": ("total", chosen("total", "l2"), l2),
    "l2, skew": ("skew", chosen("skew", "l2"), l2),
    "l2, table": ("2x3 table", chosen("2x3 table", "l2"), l2),
    "ellipsoid, total": ("total", chosen("total", EllipsoidNorm(FACTOR)), skewed),
    "hexagon, total": ("total", chosen("total", hexagon(integer_kernel(TOTAL))), largest),
    "l1, total": ("total", chosen("total", "l1"), l1),
    "l1, skew": ("skew", chosen("skew", "l1"), l1),
    "l1, table": ("2x3 table", chosen("2x3 table", "l1"), l1),
}
RATE = Fraction(2, 5)


@pytest.mark.parametrize("percent", [10, pytest.param(5, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("case", CASES)
def test_samplers_follow_the_enumerated_law_and_wrong_rates_do_not(case: str, percent: int) -> None:
    name, build, norm = CASES[case]
    exponent = float(RATE) * norm(points(name))
    size, wrong = 2_000_000 // percent**2, RATE * Fraction(100 + percent, 100)  # as sure of the larger error from fewer draws
    draws = build(RATE).draw(size, SeededEntropy(5))
    assert not (draws @ MATRICES[name].T).any()
    assert fit(name, exponent, draws) > FAILURE_PROBABILITY
    assert fit(name, exponent, build(wrong).draw(size, SeededEntropy(5))) < FAILURE_PROBABILITY
    assert fit(name, exponent, draws + integer_kernel(MATRICES[name]).basis[0].astype(np.int64)) < FAILURE_PROBABILITY


@pytest.mark.parametrize("variance", [Fraction(1, 12), Fraction(3, 10), Fraction(1), Fraction(30)])
@pytest.mark.parametrize("name", ["total", "skew"])
def test_gaussians_follow_the_enumerated_law_and_wrong_variances_do_not(name: str, variance: Fraction) -> None:
    lattice = integer_kernel(MATRICES[name])
    exponent = (points(name) ** 2).sum(axis=1) / (2 * float(variance))
    draws = LatticeGaussian.isotropic(lattice, variance).draw(100_000, SeededEntropy(6))
    assert not (draws @ MATRICES[name].T).any()
    assert fit(name, exponent, draws) > FAILURE_PROBABILITY
    wrong = LatticeGaussian.isotropic(lattice, variance * Fraction(110, 100)).draw(100_000, SeededEntropy(6))
    if variance > Fraction(1, 10):  # below, next to all draws are 0 whatever the variance
        assert fit(name, exponent, wrong) < FAILURE_PROBABILITY


def test_gaussian_of_an_ellipsoid() -> None:
    precision = np.array(
        [[Fraction(1, 3), Fraction(1, 6), 0], [Fraction(1, 6), Fraction(1, 2), 0], [0, 0, Fraction(1, 8)]], dtype=object
    )
    z = points("total").astype(np.float64)
    exponent = np.einsum("ni,ij,nj->n", z, precision.astype(np.float64), z) / 2
    draws = LatticeGaussian.ellipsoid(integer_kernel(TOTAL), precision).draw(100_000, SeededEntropy(7))
    assert fit("total", exponent, draws) > FAILURE_PROBABILITY
    assert fit("total", exponent * 1.08, draws) < FAILURE_PROBABILITY


def test_without_the_acceptance_kleins_law_is_wrong() -> None:
    """Narrow on a hexagonal lattice: centres at 1/2 have less mass, so the proposal alone must fail the test."""
    gaussian, variance = LatticeGaussian.isotropic(integer_kernel(TOTAL), Fraction(3, 10)), 0.3
    proposed = gaussian._propose(100_000, SeededEntropy(8))[0] @ integer_kernel(TOTAL).basis.astype(np.int64)
    assert fit("total", (points("total") ** 2).sum(axis=1) / (2 * variance), proposed) < FAILURE_PROBABILITY


@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("rate", [Fraction(1, 10), Fraction(1), Fraction(3)])
def test_zero_sums_have_the_conditional_law_of_independent_laplace_numbers(count: int, rate: Fraction) -> None:
    """The number of draws at every point of a box, exactly computed."""
    reach = {2: 30, 3: 12, 4: 5}[count]
    draws = ZeroSum(count, rate).draw(200_000, SeededEntropy(9))
    assert not draws.sum(axis=1).any()
    # The law of the total of n independent numbers at 0 normalises: by convolution over a range that holds all but e^-60.
    far = math.ceil(60 / float(rate))
    single = np.exp(-float(rate) * np.abs(np.arange(-far, far + 1)))
    sums = np.ones(1)
    for _ in range(count):
        sums = np.convolve(sums, single)
    total = sums[len(sums) // 2]
    grid = np.array(list(itertools.product(range(-reach, reach + 1), repeat=count - 1)), dtype=np.int64).reshape(-1, count - 1)
    inner = np.exp(-float(rate) * (np.abs(grid).sum(axis=1) + np.abs(grid.sum(axis=1)))) / total
    inside = (np.abs(draws[:, :-1]) <= reach).all(axis=1)
    place = ((draws[inside, :-1] + reach) * (2 * reach + 1) ** np.arange(count - 2, -1, -1)).sum(axis=1)
    counts = np.append(np.bincount(place, minlength=len(grid)), (~inside).sum())
    assert p_value(counts, np.append(inner, max(0.0, 1 - inner.sum()))) > FAILURE_PROBABILITY
    wrong = ZeroSum(count, rate * Fraction(105, 100)).draw(200_000, SeededEntropy(9))
    size, expected = np.abs(wrong).sum(axis=1), np.abs(draws).sum(axis=1)
    assert abs(size.mean() - expected.mean()) > 4 * expected.std() / math.sqrt(100_000)
    assert not ZeroSum(1, rate).draw(5, SeededEntropy(9)).any()


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(1), Fraction(5, 2)])
def test_the_numbers_of_turns_have_the_weights_of_all_pairs_of_equal_totals(count: int, rate: Fraction) -> None:
    """A walk of k turns stands for as many pairs (g, h) of n counts with one total as its 2n - 1 counts can be filled: all
    walks together for all pairs, counted here total by total, up to totals whose weights are below 1e-40 of the first."""
    ratio, found = np.exp(-2 * float(rate)), ZeroSum(count, rate)._weights()
    pairs = [math.comb(total + count - 1, count - 1) ** 2 * ratio**total for total in range(400)]
    walks = math.fsum(float(weight) for weight in found) / (1 - ratio) ** (2 * count - 1)
    assert walks == pytest.approx(math.fsum(pairs), rel=1e-12)


def test_many_cells_have_exchangeable_marginals_and_the_exact_variance() -> None:
    """102 cells: the marginal of a cell is `a^|z| W_101(-z)`, W by convolution; first, middle and last cell agree with it."""
    rate, count = Fraction(24, 125), 102
    draws = ZeroSum(count, rate).draw(40_000, SeededEntropy(10))
    single = np.exp(-float(rate) * np.abs(np.arange(-250, 251)))
    others = np.ones(1)
    for _ in range(count - 1):
        others = np.convolve(others, single / single.sum())
    middle = len(others) // 2
    z = np.arange(-60, 61)
    law = np.exp(-float(rate) * np.abs(z)) * others[middle - z]
    law /= (single * others[middle - 250 : middle + 251]).sum()
    for cell in (0, 50, 101):
        inside = draws[np.abs(draws[:, cell]) <= 60, cell]
        counts = np.append(np.bincount(inside + 60, minlength=121), len(draws) - len(inside))
        assert p_value(counts, np.append(law, 1 - law.sum())) > FAILURE_PROBABILITY
    shifted = np.append(np.bincount(inside[1:] + 60 + (inside[1:] < 60), minlength=121), 0)
    assert p_value(shifted, np.append(law, 1 - law.sum())) < FAILURE_PROBABILITY


def test_partitions_are_independent_zero_sums() -> None:
    labels = ("a", "b", "a", "c", "b", "a")
    draws = PartitionLaplace(tuple("abc".index(x) for x in labels), Fraction(1, 2)).draw(50_000, SeededEntropy(11))
    for part in "abc":
        assert not draws[:, [x == part for x in labels]].sum(axis=1).any()
    assert abs(np.corrcoef(draws[:, 0], draws[:, 1])[0, 1]) < 5 / math.sqrt(50_000)


@pytest.mark.parametrize("case", [case for case in CASES if "thinned" in case])
def test_thinning_in_floats_is_thinning_in_exact_arithmetic(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    build = CASES[case][1]
    sampler = build(RATE)
    draws = sampler.draw(400, SeededEntropy(3))
    kind = type(sampler.shape.shape)  # type: ignore[attr-defined]
    monkeypatch.setattr(kind, "norm", lambda self, z, norm=kind.norm: (norm(self, z)[0], np.full(len(z), np.inf)))
    np.testing.assert_array_equal(sampler.draw(400, SeededEntropy(3)), draws)
    assert draws.any()


@pytest.mark.parametrize("name", MATRICES)
def test_no_lattice_vector_is_shorter_than_its_thinned_l1_norm(name: str) -> None:
    """And some direction of the span comes near, where the bound is meant to be sharp."""
    lattice, known = integer_kernel(MATRICES[name]), points(name)
    known = known[known.any(axis=1)]
    random = np.random.default_rng(4)
    for _ in range(5):
        factor = random.integers(-4, 5, (3, known.shape[1]))
        image = np.sqrt(((known @ factor.T) ** 2).sum(axis=1))
        if not image.all():
            continue
        shortest = (image / l1(known)).min()
        found = float(rate_below_ellipsoid(lattice, factor.tolist()))
        assert shortest / 3 < found <= shortest
    assert float(rate_below_l2(lattice, 1)) <= (l2(known) / l1(known)).min()


def test_an_ellipsoid_that_hides_a_direction_has_no_l1_norm_below_it() -> None:
    with pytest.raises(ValueError, match="no l1 norm is proven"):
        rate_below_ellipsoid(integer_kernel(TOTAL), [[1, -1, 0]])


def test_narrow_noise_is_thinned_and_wide_noise_is_rounded() -> None:
    table = np.array([np.kron(np.eye(3, dtype=int)[i], np.ones(3, dtype=int)) for i in range(3)])
    table = np.concatenate([table, np.array([np.kron(np.ones(3, dtype=int), np.eye(3, dtype=int)[i]) for i in range(3)])])
    assert lattice_sampler_for(table, "l2", Fraction(1, 2)).method == "nearest plane"
    narrow = lattice_sampler_for(table, "l2", Fraction(15))
    assert narrow.method == "thinned l1" and narrow.acceptance > 0.9 and "Nearest plane" in narrow.considered[0]
    hopeless = lattice_sampler_for(np.array([[2, 3, 5]]), "l2", Fraction(500))
    assert hopeless.sampler is None and hopeless.considered[1].startswith("Thinned l1")


def test_choice_is_by_structure_and_pilot() -> None:
    table = lattice_sampler_for(TABLE, "l1", Fraction(1, 4))
    assert table.method == "mirrored cells" and table.acceptance == 1  # two rows are mirrored whole
    assert any("determined cells" in sentence for sentence in table.considered)
    hidden = np.array([[1, 1, 1, 1], [1, 1, 0, 0]])  # two parts, written as a total and one part
    assert lattice_sampler_for(hidden, "l1", Fraction(1, 4)).method == "totals"
    assert lattice_sampler_for(np.array([[1, 1]]), "l1", Fraction(1, 4)).method == "line"
    assert lattice_sampler_for(np.eye(2, dtype=int), "l2", Fraction(1, 4)).method == "origin"
    none = lattice_sampler_for(np.array([[2, 3, 5]]), "l1", Fraction(1, 4))
    assert none.method == "none" and none.sampler is None and "No way" in none.considered[-1]
    counties = (np.repeat(np.arange(50), 62) == np.arange(50)[:, None]).astype(np.int64)
    every = lattice_sampler_for(counties, "l1", Fraction(24, 125))
    assert every.method == "totals" and every.sampler is not None
    assert not (every.sampler.draw(3, SeededEntropy(1)) @ counties.T).any()
    with pytest.raises(TypeError, match="norm"):
        lattice_sampler_for(TOTAL, "l3", Fraction(1, 4))
    with pytest.raises(ValueError, match="rate"):
        lattice_sampler_for(TOTAL, "l1", Fraction(0))


def test_determinations_complete_exactly_the_kernel() -> None:
    grid = np.array(list(itertools.product(range(-2, 3), repeat=6)))
    for cells in determinations(TABLE):
        allowed = np.ones(len(grid), dtype=bool)
        for part in cells.parts:
            allowed &= grid[:, part].sum(axis=1) == 0
        completed = grid[:, cells.determined] == grid @ cells.map.T
        assert ((allowed & completed.all(axis=1)) == (grid @ TABLE.T == 0).all(axis=1)).all()


def test_different_determinations_of_a_4x4_table_give_one_law() -> None:
    """Three rows as parts, or no parts at all: two samplers that share little, compared by the norm and by a corner cell."""
    table = np.array(
        [np.isin(np.arange(16), np.take(np.arange(16).reshape(4, 4), i, axis)) for axis in (0, 1) for i in range(4)]
    ).astype(np.int64)
    ways = list(determinations(table, limit=100))
    few, many = ways[0], ways[-1]
    assert len(few.determined) == 4 and len(many.determined) == 7 and not many.parts
    one, two = (DeterminedLaplace(way, Fraction(1)).draw(4_000, SeededEntropy(k)) for k, way in enumerate((few, many)))
    for statistic in (lambda z: l1(z) // 4, lambda z: np.clip(z[:, 15], -4, 4) + 4, lambda z: np.clip(z[:, 0], -4, 4) + 4):
        counts = np.stack([np.bincount(statistic(z).astype(np.int64), minlength=60)[:60] for z in (one, two)])
        kept = counts.sum(axis=0) >= 30
        pooled = np.hstack([counts[:, kept], counts[:, ~kept].sum(axis=1, keepdims=True)])
        expected = pooled.sum(axis=0) / 2 + 1e-300
        assert stats.chi2.sf(((pooled - expected) ** 2 / expected).sum(), kept.sum()) > FAILURE_PROBABILITY


def test_l2_noise_on_a_10x10_table_has_the_mean_norm_of_a_gamma_law() -> None:
    """Cells are small beside a radius of 81 / rate, so that the norm is Gamma(81) to many digits: its mean and variance,
    5 sigma."""
    table = np.array(
        [np.isin(np.arange(100), np.take(np.arange(100).reshape(10, 10), i, axis)) for axis in (0, 1) for i in range(10)]
    ).astype(np.int64)
    draws = LatticeNorm.euclidean(integer_kernel(table), Fraction(1, 10)).draw(4_000, SeededEntropy(1))
    assert not (draws @ table.T).any()
    radius = l2(draws) / 10
    assert abs(radius.mean() - 81) < 5 * 9 / math.sqrt(4_000)
    assert abs(radius.var() / 81 - 1) < 5 * math.sqrt(2.2 / 4_000)


def test_fine_rates_use_blocks_and_keep_the_law() -> None:
    """At a rate of 2^-30 cells are blocks of many lattice points: the norm is Gamma(2), whatever the lattice,
    and low bits are uniform."""
    noise = LatticeNorm.euclidean(integer_kernel(SKEW), Fraction(1, 2**30))
    assert noise.rounded.shifts.min() > 10 and noise.acceptance > 0.99
    draws = noise.draw(50_000, SeededEntropy(12))
    assert not (draws @ SKEW.T).any()
    radius = np.linalg.norm(draws / 2.0**30, axis=1)
    edges = np.array([0.5, 1, 1.5, 2, 3, 4, 6])
    cdf = 1 - np.exp(-edges) * (1 + edges)
    counts = np.bincount(np.searchsorted(edges, radius), minlength=8)
    assert p_value(counts, np.diff([0, *cdf, 1])) > FAILURE_PROBABILITY
    assert (
        p_value(np.bincount(noise.rounded.draw(20_000, SeededEntropy(3))[:, 0] & 15, minlength=16), np.full(16, 1 / 16))
        > FAILURE_PROBABILITY
    )


def test_nearest_plane_rounds_lattice_points_to_themselves_in_floats_and_balls() -> None:
    lattice = integer_kernel(TABLE)
    plane, generator = NearestPlane(lattice.float_shear.T), np.random.default_rng(1)
    y = generator.normal(0, 20, (300, 2))
    cells, open_ = plane.round(y, np.full(300, 1e-13), np.ones(2))
    assert not open_.any()
    assert (np.abs((y - cells) @ plane.shear.T) <= 0.5 + 1e-9).all()
    with ctx.workprec(100):
        assert [plane.round_balls([arb(x) for x in row]) for row in y.tolist()] == cells.tolist()
        assert plane.round_balls([arb(0), arb(0.5, 1e-3)]) is None
    with pytest.raises(ValueError, match="triangular"):
        NearestPlane(np.array([[1.0, 0.0], [0.5, 1.0]]))


@pytest.mark.parametrize("size", [1, 7, 30])
def test_points_are_rounded_as_one_number_after_the_other_is(size: int) -> None:
    """Points anywhere, on the border of a cell, known badly, and not known at all."""
    chance = np.random.default_rng(size)
    plane = NearestPlane(np.triu(chance.uniform(-0.5, 0.5, (size, size)), 1) + np.eye(size))
    border = np.linalg.solve(plane.shear, np.full(size, 0.5))
    points = np.concatenate([chance.normal(0, 100, (4, size)), border[None], np.full((2, size), [[1e300], [np.nan]])])
    cells, open_ = plane.round(points, np.array([0.0, 1e-9, 0.3, np.inf, 0.0, 0.0, 0.0]), np.ones(size))
    assert open_.any(axis=1).tolist() == [False, False, True, True, True, True, True]
    for point, cell in zip(points[:2].tolist(), cells[:2].tolist(), strict=True):
        wanted = [0] * size
        for k in reversed(range(size)):
            wanted[k] = math.floor(
                Fraction(1, 2)
                + Fraction(point[k])
                + sum(Fraction(float(plane.shear[k, j])) * (Fraction(point[j]) - wanted[j]) for j in range(k + 1, size))
            )
        assert cell == wanted


def test_largest_through_a_plane_bounds_the_norm_at_every_corner() -> None:
    lattice = integer_kernel(SKEW)
    plane, halves = NearestPlane(lattice.float_shear.T), np.full(2, 0.5)
    corners = np.array(list(itertools.product((-0.5, 0.5), repeat=2))) @ np.linalg.inv(plane.shear).T
    norm = LatticeNorm.euclidean(lattice, Fraction(1, 4))
    exact = np.linalg.norm(corners @ lattice.basis.astype(float), axis=1).max() / 4
    assert exact <= float(norm.rounded.reach) <= exact * 1.0001
    assert float(norm.rounded.reach) == pytest.approx(np.linalg.norm(lattice.float_lengths) / 8, rel=1e-6)
    tall = EllipsoidGrid([[Fraction(x) for x in row] for row in lattice.basis.T])
    assert (
        tall.largest(halves) >= np.linalg.norm(np.array([[0.5, 0.5], [0.5, -0.5]]) @ lattice.basis.astype(float), axis=1).max()
    )


def test_tall_factors_give_the_law_of_square_ones() -> None:
    """A rotation by a rational angle, written with a row of zeros, changes nothing."""
    tall = RoundAndReject(
        EllipsoidGrid([[Fraction(3, 5), Fraction(0)], [Fraction(4, 5), Fraction(0)], [Fraction(0), Fraction(1, 2)]])
    )
    grid = np.array(list(itertools.product(range(-60, 61), repeat=2)))
    weights = np.exp(-np.hypot(grid[:, 0], grid[:, 1] / 2))
    draws = np.clip(tall.draw(100_000, SeededEntropy(2)), -60, 60)
    counts = np.bincount((draws[:, 0] + 60) * 121 + draws[:, 1] + 60, minlength=len(grid))
    assert p_value(counts, weights / weights.sum()) > FAILURE_PROBABILITY
    with pytest.raises(ValueError, match="dependent"):
        EllipsoidGrid([[Fraction(1), Fraction(2)], [Fraction(2), Fraction(4)], [Fraction(3), Fraction(6)]])


@pytest.mark.parametrize("variance", [Fraction(1, 50), Fraction(1, 7), Fraction(1, 5), Fraction(1), Fraction(50)])
def test_theta_ratios_in_floats_and_balls(variance: Fraction) -> None:
    ratio = ThetaRatio(variance)
    for centre in (Fraction(0), Fraction(1, 2), Fraction(-7, 3), Fraction(22, 7)):
        places = np.arange(-200, 201)
        direct = (
            np.exp(-((places - float(centre)) ** 2) / (2 * float(variance))).sum()
            / np.exp(-(places**2) / (2 * float(variance))).sum()
        )
        exponent, error = ratio.exponent(np.array([float(centre)]), np.array([1e-15]))
        with ctx.workprec(150):
            exact = ratio.ball(centre)
            assert exact.rad() < 1e-30 and abs(-exact.log() - arb(exponent[0])) < arb(error[0])
        assert float(exact) == pytest.approx(direct, rel=1e-9)


@pytest.mark.parametrize(
    ("variance", "centre"),
    [(Fraction(2, 5), Fraction(3, 7)), (Fraction(1, 20), Fraction(1, 2)), (Fraction(9), Fraction(-22, 7))],
)
@pytest.mark.parametrize("doubt", [1e-15, 0.3])
def test_centred_gaussians_in_floats_and_in_balls(variance: Fraction, centre: Fraction, doubt: float) -> None:
    """A centre that floats know only to 0.3 leaves most draws to the balls, which know it exactly: the law is the same."""
    drawn = CentredGaussian(variance).draw(
        np.full(3_000, float(centre)), np.full(3_000, doubt), lambda _: centre, SeededEntropy(4)
    )
    places = np.arange(-40, 41)
    weights = np.exp(-((places - float(centre)) ** 2) / (2 * float(variance)))
    assert p_value(np.bincount(drawn.astype(np.int64) + 40, minlength=81), weights / weights.sum()) > FAILURE_PROBABILITY


@pytest.mark.parametrize("variance", [Fraction(1, 8), Fraction(5, 4), Fraction(1000)])
def test_the_bound_of_a_centred_gaussian_is_the_largest_exponent_of_its_coin(variance: Fraction) -> None:
    """No integer is kept with a chance above 1, and the bound is no larger than that asks for."""
    law, offsets, none = CentredGaussian(variance), np.linspace(-0.5, 0.5, 11), np.zeros(11)
    bounds, spread = law._bounds(offsets, none), math.sqrt(law.variance * law.inflation)
    least = np.inf
    for z in np.unique(np.rint(np.linspace(-2, 2, 801) / float(law.inflation - 1)).astype(np.int64)).tolist():
        for edge in (-0.5, 0.5):  # of the normal numbers that are rounded to z
            normal = (z + edge - offsets) / spread
            found, _ = law._exponent(np.full(11, z), offsets, none, normal, none, bounds)
            least = min(least, found.min())
    assert -1e-9 <= least <= 0.05


def test_acceptance_in_balls_has_the_chance_of_the_theta_ratios() -> None:
    gaussian = LatticeGaussian.isotropic(integer_kernel(SKEW), Fraction(2, 5))
    chosen = np.array([1.0, -2.0])
    with ctx.workprec(200):
        product = math.prod(gaussian._ratios[i].ball(gaussian._centre(chosen, i)) for i in range(2))
    accepted = [gaussian._decide(chosen, LazyUniform(k, 10, SeededEntropy(k))) for k in range(0, 1024, 8)]
    assert sum(accepted) == pytest.approx(128 * float(product), abs=2)


def test_acceptance_in_balls_counts_every_coefficient_around_a_fraction() -> None:
    """Of three coefficients two have a fraction for a centre: their ratios are multiplied."""
    gaussian, chosen = LatticeGaussian.isotropic(integer_kernel([[1, 2, 3, 5]]), Fraction(1, 3)), np.array([1.0, -1.0, 1.0])
    centres = [gaussian._centre(chosen, i) for i in range(3)]
    assert sum(centre.denominator > 1 for centre in centres) == 2
    with ctx.workprec(200):
        ratios = [float(gaussian._ratios[i].ball(centres[i])) for i in range(3)]
    assert sorted(ratios)[1] < 0.97
    accepted = [gaussian._decide(chosen, LazyUniform(k, 10, SeededEntropy(k))) for k in range(1024)]
    assert sum(accepted) == pytest.approx(1024 * math.prod(ratios), abs=2)


def test_finite_laws_at_the_edges_of_a_word() -> None:
    weights = [1, 0, 2, 5]
    law = FiniteLaw(lambda: [arb(w) for w in weights])
    drawn = law.draw(80_000, SeededEntropy(1))
    assert p_value(np.bincount(drawn, minlength=4)[[0, 2, 3]], np.array([1, 2, 5]) / 8) > FAILURE_PROBABILITY
    assert not (drawn == 1).any()
    assert [law._decide(LazyUniform(w, 64, SeededEntropy(0))) for w in (2**61 - 1, 2**61, 3 * 2**61)] == [0, 2, 3]


@pytest.mark.parametrize("weights", [(1, 2), (3, 4), (5, 1, 1), (1, 6, 4, 2)])
def test_a_word_in_which_a_share_ends_is_decided_by_further_bits(weights: tuple[int, ...]) -> None:
    """The k-th share ends within the word `floor(2^64 share)`: with further bits of zeros the draw is k, with ones k + 1."""
    law = FiniteLaw(lambda: [arb(w) for w in weights])
    for k, cumulative in enumerate(itertools.accumulate(weights[:-1])):
        word = 2**64 * cumulative // sum(weights)
        assert 2**64 * cumulative % sum(weights)  # no share ends where a word does
        for around, drawn in ((word - 1, k), (word + 1, k + 1)):
            assert law.draw(1, Scripted(around)).tolist() == [drawn]
        assert law.draw(1, Scripted(word, 0)).tolist() == [k]
        assert law.draw(1, Scripted(word, 2**64 - 1)).tolist() == [k + 1]


def test_ties_among_random_places_are_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    class Tied:
        private = False
        asked = 0

        def random_words(self, count: int) -> NDArray[np.uint64]:
            self.asked += 1
            return np.zeros(count, dtype=np.uint64) if self.asked == 1 else SeededEntropy(1).random_words(count)

    masks = zero_sum._subsets(np.array([0, 1, 2, 3]), 3, Tied())
    assert masks.sum(axis=1).tolist() == [0, 1, 2, 3]


def test_geometric_numbers_are_those_of_the_two_sided_law() -> None:
    for rate in (Fraction(1, 3), Fraction(1, 2**25)):
        drawn = DiscreteLaplace([rate]).draw_geometric(50_000, SeededEntropy(1))[:, 0]
        edges = [int(q / float(rate)) for q in (0.2, 0.5, 1, 2, 3)]
        cdf = [1 - math.exp(-float(rate) * (e + 1)) for e in edges]
        assert p_value(np.bincount(np.searchsorted(edges, drawn), minlength=6), np.diff([0, *cdf, 1])) > FAILURE_PROBABILITY


def test_refusals() -> None:
    origin = integer_kernel(np.eye(3, dtype=int))
    for build in (
        lambda: LatticeNorm.euclidean(origin, Fraction(1)),
        lambda: LatticeNorm.euclidean(integer_kernel(TOTAL), Fraction(-1)),
        lambda: LatticeGaussian.isotropic(origin, Fraction(1)),
        lambda: LatticeGaussian.isotropic(integer_kernel(TOTAL), Fraction(0)),
        lambda: ZeroSum(0, Fraction(1)),
        lambda: ZeroSum(3, Fraction(1, 2**50)),
        lambda: DeterminedLaplace(next(determinations(TABLE)), Fraction(0)),
        lambda: PartitionLaplace((), Fraction(1)),
    ):
        with pytest.raises(ValueError, match=r"lattice|rate|variance|count|labels"):
            build()


def test_the_distance_of_a_chain_adds_to_a_budget_what_two_laws_that_far_off_may_differ_by() -> None:
    """P and P' with a ratio of e^b, each moved by tau in the worst way: the delta is attained."""
    tau, budget = 0.01, 0.7
    p = 1 / (1 + math.exp(budget))
    worst = (math.exp(budget) * p + tau) - math.exp(budget) * (p - tau)
    assessment = Assessment(tau / 2, 0.0, tau, 100, 1.0)
    assert assessment.delta(budget) == pytest.approx(worst, rel=1e-12)
    assert assessment.delta(1e6) == math.inf


def test_counts_that_would_leave_the_whole_numbers_of_64_bits_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    law = ZeroSum(4, Fraction(1, 2))
    monkeypatch.setattr(
        type(law._geometric), "draw_geometric", lambda _, rows, __: np.full(rows, 2**61, dtype=np.int64), raising=True
    )
    with pytest.raises(OverflowError, match="draw again"):
        law.draw(2, SeededEntropy(1))


def test_orders_are_uniform_and_ties_are_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    orders = random_orders(60_000, 3, SeededEntropy(3)) @ [9, 3, 1]
    assert p_value(np.unique(orders, return_counts=True)[1], np.full(6, 1 / 6)) > FAILURE_PROBABILITY

    class Tied:
        def __init__(self) -> None:
            self.source, self.first = SeededEntropy(4), True

        def random_words(self, count):
            first, self.first = self.first, False
            return np.zeros(count, dtype=np.uint64) if first else self.source.random_words(count)

    drawn = random_orders(20, 5, Tied())  # type: ignore[arg-type]
    assert (drawn == random_orders(20, 5, SeededEntropy(4))).all() and (np.sort(drawn, axis=1) == np.arange(5)).all()


def test_balancing_has_the_margins_and_the_means_asked_for() -> None:
    sums = np.array([[7, -3, -4, 0]] * 40_000)
    tables = balanced(sums, 5, SeededEntropy(5))
    assert (tables.sum(axis=1) == sums).all() and not tables.sum(axis=2).any()
    assert np.abs(tables - sums[:, None, :] / 5).max() < 1
    assert np.abs(tables.mean(axis=0) - sums[0] / 5).max() < 5 * 0.5 / math.sqrt(len(sums))

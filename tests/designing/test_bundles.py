"""Bundles of coordinates: closed forms where they are the K-norm, gauges recomputed by linear programs, every partition tried,
moments against draws, norms and specs that are refused."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.optimize import linprog

from designer import DesignFailed, InvalidProblem, Problem, Workload, design, metrics
from designer.certificate.norm_kinds import BundleNorm
from designer.certificate.norms import Gauge
from designer.designing.least_noise import limit
from designer.mechanism.bounds import error_bounds
from designer.problem.domain import Domain
from designer.sampling.entropy import SeededEntropy
from solvers.programs.scales import _different, best_bundling, bundle_costs, bundle_weights
from tests.oracles.goodness_of_fit import FAILURE_PROBABILITY

BUDGETS = (0.5, 0.8, 1.1, 1.4, 1.7, 2.0)


def one_way(attributes: int, values: int = 3) -> tuple[Domain, Workload]:
    """All one-way marginals of a domain of attributes alike."""
    domain = Domain.of({f"a{i}": values for i in range(attributes)})
    cells = list(itertools.product(range(values), repeat=attributes))
    rows = [[float(cell[a] == v) for cell in cells] for a in range(attributes) for v in range(values)]
    return domain, Workload(rows, elements=domain.elements)


def random_problem(seed: int, queries: int = 5, **rest: Any) -> Problem:
    """Whole-number queries on eight elements with unequal budgets."""
    rng = np.random.default_rng(seed)
    places = rng.random((8, 2)) * 3 + np.arange(8)[:, None]
    return Problem(Workload(rng.integers(-3, 4, (queries, 8)).astype(float)), metrics.euclidean(places), **rest)


# A regular hexagon of circumradius sqrt 2 holds the differences of three counts: E|U|^2 = 5/6.


@pytest.mark.parametrize("attributes", [2, 3, 5])
def test_marginals_under_one_budget_get_the_product_of_hexagons(attributes: int) -> None:
    _, workload = one_way(attributes)
    made = design(Problem(workload, metrics.uniform(3**attributes, 0.7)), "bundles", largest=2)
    s = 2 * attributes
    assert made.loss == pytest.approx((s + 1) * (s + 2) * attributes * 5 / 6 / 0.49, rel=1e-9)
    assert made.mechanism.norm.combine == "max" and 1 - 1e-9 < made.privacy.worst_ratio <= 1


@pytest.mark.parametrize("attributes", [2, 3, 5])
def test_marginals_with_a_budget_for_each_attribute_get_the_sum_of_hexagons(attributes: int) -> None:
    domain, workload = one_way(attributes)
    budgets = BUDGETS[:attributes]
    made = design(Problem(workload, metrics.hamming(domain, budgets)), "bundles", largest=2)
    assert made.loss == pytest.approx(sum(3 * 4 * 5 / 6 / b**2 for b in budgets), rel=1e-6)
    assert made.mechanism.norm.combine == "sum" and 1 - 1e-9 < made.privacy.worst_ratio <= 1


def test_where_the_hull_is_the_product_or_the_sum_the_k_norm_is_met() -> None:
    domain, workload = one_way(2)
    for relation in (metrics.uniform(9, 1.0), metrics.hamming(domain, BUDGETS[:2])):
        problem = Problem(workload, relation)
        assert design(problem, "bundles", largest=2).loss == pytest.approx(design(problem, "k_norm").loss, rel=1e-6)


def gauge(bundle: NDArray[np.float64], vectors: NDArray[np.float64]) -> float:
    """`min sum |t|` with `sum t_m v_m = bundle`: the gauge of the hull of +-v, by a linear program."""
    both = np.concatenate([vectors, -vectors]).T
    found = linprog(np.ones(both.shape[1]), A_eq=both, b_eq=bundle)
    return float(found.fun)


@pytest.mark.parametrize("combine", ["sum", "max"])
@pytest.mark.parametrize("seed", range(3))
def test_every_pair_is_within_its_budget_by_linear_programs_of_its_own(seed: int, combine: str) -> None:
    made = design(random_problem(seed), "bundles", largest=2, combine=combine).mechanism
    norm, pairs = made.norm, made.sensitivity().all_pairs()
    assert isinstance(norm, BundleNorm) and max(map(len, norm.places)) == 2
    ratios = []
    for u, b in zip(pairs.differences, pairs.budgets, strict=True):
        own = [
            gauge(u[list(where)], g.scale * g.differences / g.budgets[:, None])
            for g, where in zip(norm.gauges, norm.places, strict=True)
        ]
        ratios.append((sum(own) if combine == "sum" else max(own)) / b)
        exact = norm.exact([Fraction(float(x)) for x in u])
        assert exact is not None and float(exact) / b == pytest.approx(ratios[-1], rel=1e-9)
    assert 1 - 1e-6 < max(ratios) <= 1 + 1e-9


def partitions(items: list[int]) -> Iterator[list[tuple[int, ...]]]:
    if not items:
        yield []
        return
    for rest in partitions(items[1:]):
        yield [(items[0],), *rest]
        for k, part in enumerate(rest):
            yield [*rest[:k], (items[0], *part), *rest[k + 1 :]]


@pytest.mark.parametrize("combine", ["sum", "max"])
@pytest.mark.parametrize("seed", range(4))
def test_the_path_of_merges_is_near_the_best_of_all_partitions(seed: int, combine: Any) -> None:
    problem = random_problem(seed, 4)
    vectors, loss = problem.sensitivity().all_pairs().normalised, np.eye(4)
    found = best_bundling(vectors, loss, combine, 3)
    tried = {}
    for partition in partitions([0, 1, 2, 3]):
        if max(map(len, partition)) <= 3:
            bodies = [Gauge(vectors[:, bundle], np.ones(len(vectors))) for bundle in partition]
            moments = np.array([body.second_moment.trace() for body in bodies])
            value = 5 * 6 * moments.sum()
            if combine == "sum":
                costs = bundle_costs([len(bundle) for bundle in partition], moments)
                lengths = np.stack([body(vectors[:, b]) for body, b in zip(bodies, partition, strict=True)], axis=1)
                weights = bundle_weights(lengths, costs)
                assert (lengths @ weights).max() <= 1 + 1e-9
                value = (costs / weights**2).sum()
            tried[tuple(sorted(partition))] = value
    assert found.value == pytest.approx(tried[tuple(sorted(found.bundles))], rel=1e-5)
    assert min(tried.values()) * (1 - 1e-5) <= found.value <= 1.1 * min(tried.values())
    assert found.value <= min(tried[(0,), (1,), (2,), (3,)], 1e300) * (1 + 1e-9)


def test_coordinates_that_only_change_together_start_as_one_bundle() -> None:
    """Merging two of the three coordinates of four counts alone does not pay; all three together do."""
    domain, workload = one_way(2, 4)
    made = design(Problem(workload, metrics.hamming(domain, BUDGETS[:2])), "bundles", combine="sum", largest=3).mechanism
    assert [len(bundle) for bundle in made.norm.places] == [3, 3]  # type: ignore[union-attr]


@pytest.mark.parametrize("combine", ["sum", "max"])
def test_covariances_and_absolute_values_are_those_of_draws(combine: str) -> None:
    made = design(random_problem(1), "bundles", largest=2, combine=combine).mechanism
    drawn = made.noise_in_answers(100_000, SeededEntropy(1))
    assert isinstance(made.norm, BundleNorm)
    white = np.linalg.cholesky(np.linalg.inv(made.covariance())).T
    products = np.einsum("ni,nj->nij", drawn @ white.T, drawn @ white.T)
    off = np.abs(products.mean(axis=0) - np.eye(5)) / products.std(axis=0) * np.sqrt(len(drawn))
    assert off.max() < stats.norm.isf(FAILURE_PROBABILITY / 50)
    sizes = np.abs(drawn)
    off = np.abs(sizes.mean(axis=0) - made.query_mean_absolutes()) / sizes.std(axis=0) * np.sqrt(len(drawn))
    assert off.max() < stats.norm.isf(FAILURE_PROBABILITY / 10)
    assert ((sizes <= made.margins(0.95)).mean(axis=0) >= 0.95).all()
    assert (sizes.max(axis=1) <= error_bounds(made, 1.0, 0.05).high_probability).mean() >= 0.95


@pytest.mark.parametrize("loss", ["squared", "absolute", "max"])
def test_no_loss_is_below_the_limit_and_none_above_box_and_independent_noise(loss: Any) -> None:
    problem = random_problem(2, 3, loss=loss)
    made = design(problem, "bundles", largest=3)
    assert limit(problem).value <= made.loss <= min(design(problem, "box").loss, design(problem, "laplace").loss) * 1.001


def test_bodies_of_all_coordinates_are_the_k_norm() -> None:
    problem = random_problem(3, 3)
    made = design(problem, "bundles", largest=3, combine="max").mechanism
    if made.norm.places == ((0, 1, 2),):  # type: ignore[union-attr]
        assert made.query_variances() == pytest.approx(design(problem, "k_norm").mechanism.query_variances(), rel=1e-9)
    assert problem.loss_of(made.query_variances()) >= limit(problem).value


def test_published_statistics_and_a_delta_are_served() -> None:
    _, workload = one_way(2)
    problem = Problem(workload, metrics.uniform(9, 1.0), notion="approximate", delta=1e-6)
    made = design(problem, "bundles").mechanism
    assert made.delta == 1e-6 and made.privacy.holds and made.norm.silent.sum() == len(made.norm.silent) - 4


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"combine": "mean"}, "options.combine: 'mean' is unknown"),
        ({"largest": 7}, "options.largest: 7 coordinates in one hull are too many; use at most 6"),
        ({"largest": 0}, "options.largest"),
    ],
)
def test_unknown_options_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidProblem, match=said):
        design(random_problem(0), "bundles", **options)


def test_too_many_dimensions_and_none_are_refused_with_a_way_on() -> None:
    with pytest.raises(DesignFailed, match=r"49 dimensions, more than the 48 .*use ellipsoid"):
        design(Problem(Workload.identity(49), metrics.add_remove(49, 1.0)), "bundles")
    still = Problem(Workload([[1.0, 1.0]]), metrics.uniform(2, 1.0))
    with pytest.raises(DesignFailed, match="no protected change moves an answer"):
        design(still, "bundles")


LINE = Gauge(np.array([[2.0]]), np.ones(1))


@pytest.mark.parametrize(
    ("places", "combine", "said"),
    [
        (((0,), (0,)), "sum", "different whole numbers"),
        (((0,), (3,)), "max", "different whole numbers from 0 to 2"),
        (((1,), (0,)), "max", "sort the places"),
        (((0,), (1,)), "mean", "norm.combine: 'mean' is unknown"),
        (((0,), (1, 2)), "sum", "must move all of its places"),
    ],
)
def test_norms_of_bundles_that_do_not_fit_are_refused(places: Any, combine: str, said: str) -> None:
    with pytest.raises(InvalidProblem, match=said):
        BundleNorm((LINE, LINE), places, combine, 3)


def test_the_dual_norm_is_the_largest_value_on_the_ball() -> None:
    square = Gauge(np.eye(2), np.ones(2))
    row = np.array([[3.0, -1.0, 2.0]])  # over the silent coordinate 1 nothing is asked
    for combine, expected in (("sum", 6.0), ("max", 6.0 + 2.0)):
        norm = BundleNorm((LINE, square), ((0,), (2, 3)), combine, 4)
        assert norm.reach(row).tolist() == [expected]
        assert norm.silent.tolist() == [False, True, False, False]
        assert norm.exact([Fraction(0), Fraction(1), Fraction(0), Fraction(0)]) is None


def test_coordinates_that_fill_the_memory_are_refused_before_they_do() -> None:
    line = Gauge(np.array([[2.0]]), np.ones(1))
    with pytest.raises(InvalidProblem, match=r"norm\.size: 9007199254740992 coordinates, with 2 facets, are more than"):
        BundleNorm((line, line), ((0,), (2,)), "sum", 2**53)


def test_different_rows_are_those_that_numpy_finds() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        rows = rng.integers(-2, 3, (int(rng.integers(1, 40)), int(rng.integers(1, 5)))) / 2.0
        assert np.array_equal(_different(rows), np.unique(rows, axis=0))

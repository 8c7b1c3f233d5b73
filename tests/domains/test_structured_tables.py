"""Tables with running totals and intervals: routes in, metrics of each attribute, exact products, a release from a database."""

from __future__ import annotations

import math
import tracemalloc
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from designer import (
    AttributeQueries,
    DesignFailed,
    InvalidProblem,
    MarginalWorkload,
    NotPrivate,
    Presence,
    Problem,
    StructuredMechanism,
    StructuredProblem,
    StructuredWorkload,
    design,
    load,
    metrics,
)
from designer.domains.marginals_plan import design_marginals
from designer.domains.products_noise import MeasuredProduct, exact_product
from designer.domains.products_plan import design_structured
from designer.problem.domain import Domain
from tests.domains.test_structured import measured_rows, written_out

DOMAIN = Domain.of({"age": 5, "sex": ["F", "M"], "pay": 3})
SUBSETS = {("age", "sex"): 1.0, ("age", "pay"): 0.5, ("pay",): 2.0}
MARGINALS = MarginalWorkload.of(DOMAIN, SUBSETS)
ASKED = StructuredWorkload.of_marginals(MARGINALS, {"age": "prefix", "pay": "ranges"})
METRICS = metrics.product(
    DOMAIN,
    {
        "age": metrics.line([0, 1, 2, 4, 8], period=2, epsilon=0.5),
        "sex": metrics.uniform(2, 1.0),
        "pay": metrics.from_matrix([[0, 0.3, 0.8], [0.3, 0, 0.6], [0.8, 0.6, 0]]),
    },
)
PARTLY = metrics.product(
    DOMAIN,
    {
        "age": metrics.partition([0, 0, 1, 1, 1], 0.5),
        "sex": metrics.uniform(2, 1.0),
        "pay": metrics.uniform(3, 0.7),
    },
)
PROTECTIONS = {
    "presence": Presence(mu=0.7),
    "budgets": metrics.hamming(DOMAIN, [0.5, 1.0, 0.7]),
    "metrics": METRICS,
    "partly free": PARTLY,
}


def test_marginal_workloads_become_structured_ones_with_their_weights() -> None:
    assert [MARGINALS.domain.attributes[a] for a in ASKED.terms[0]] == ["pay"]
    assert ASKED.weights.tolist() == [2.0, 1.0, 0.5]
    assert ASKED.counts == (6, 10, 30)
    again = StructuredWorkload.tables(DOMAIN, SUBSETS, {"age": "prefix", "pay": "ranges"})
    assert [again.term(names) for names in (["pay"], ["sex", "age"], ["age", "pay"])] == [2, 0, 1]
    assert again.weights.tolist() == [1.0, 0.5, 2.0]
    plain = design_structured(StructuredWorkload.of_marginals(MARGINALS), Presence(mu=1.0))
    assert plain.error() == pytest.approx(design_marginals(MARGINALS, Presence(mu=1.0)).error(), rel=1e-3)


def test_a_workload_written_out_is_the_kronecker_products() -> None:
    made = ASKED.written_out()
    assert np.array_equal(made.dense(), np.concatenate(written_out(ASKED)))
    assert made.elements == DOMAIN.elements
    assert made.queries[:2] == ("pay 0..0", "pay 0..1")
    assert made.queries[6:8] == ("age 0..0 sex F", "age 0..0 sex M")
    twice = StructuredWorkload.of(DOMAIN, [{"age": [[1, 0, 0, 0, 2]]}, {"age": [[1, 1, 0, 0, 2]]}])
    assert twice.written_out().queries == ("q0", "q1")  # names that would not be distinct


@pytest.mark.parametrize(("protection", "most"), [("presence", 1.005), ("budgets", 1.05)])
def test_errors_come_near_those_of_the_dense_optimum(protection: str, most: float) -> None:
    """The optimum over all Gaussian mechanisms of the domain written out, found by `design` without any structure."""
    given = PROTECTIONS[protection]
    relation = metrics.add_remove(DOMAIN.size, given.epsilon) if isinstance(given, Presence) else given
    weights = np.repeat(ASKED.weights, ASKED.counts)
    dense = design(Problem(ASKED.written_out(), relation, notion="zcdp", weights=weights), "gaussian")
    made = design_structured(ASKED, given)  # type: ignore[arg-type]
    assert dense.optimality is not None
    assert dense.optimality.lower_bound <= made.error() <= most * dense.loss


@pytest.mark.nightly
def test_residuals_have_the_best_strengths_for_metrics_of_attributes() -> None:
    """With the measured matrices as they are, `min sum c_k / s_k` over strengths s that keep every pair of elements, stated
    over the rows written out and bounded by its dual, `2 sum sqrt(c_k (L' y)_k) - sum y` for any y >= 0: none are better."""
    made = design_structured(ASKED, METRICS)
    asked, weights = np.concatenate(written_out(ASKED)), np.repeat(ASKED.weights, ASKED.counts)
    rows, strengths = measured_rows(made)
    pairs = np.array(list(combinations(range(DOMAIN.size), 2)))
    budgets = METRICS.distances()[pairs[:, 0], pairs[:, 1]]
    sizes = [len(measured_rows(replace(made, blocks=(block,), serves=(0,) * 3))[0]) for block in made.blocks]
    owner = np.repeat(np.arange(len(sizes)), sizes)
    # Answers are put together from the blocks, which are orthogonal: each costs what its own part of the answers does.
    inverse = np.linalg.pinv(rows)
    costs = np.array([(weights[:, None] * (asked @ inverse[:, owner == k]) ** 2).sum() for k in range(len(sizes))])
    moved = np.square(rows[:, pairs[:, 0]] - rows[:, pairs[:, 1]]) / budgets**2
    loads = np.array([moved[owner == k].sum(axis=0) for k in range(len(sizes))]).T
    loads = np.unique(loads.round(12), axis=0)  # rounding moves the bound by 1e-12 of it
    scale = np.array([strengths[owner == k][0] for k in range(len(sizes))])
    assert float(costs @ (1 / scale)) == pytest.approx(made.error(), rel=1e-6)

    def dual(logs: np.ndarray) -> float:
        y = np.exp(logs)
        share = (loads * scale).T @ y
        return -(2 * np.sqrt(costs / scale * share).sum() - y.sum())

    start = np.full(len(loads), math.log(made.error() / len(loads)))
    best = minimize(dual, start, method="L-BFGS-B", options={"maxiter": 3000, "maxfun": 10**6})
    assert -best.fun <= made.error() <= -best.fun * 1.01


@pytest.mark.nightly
def test_auto_is_no_worse_than_the_dense_optimum_where_metrics_tie_attributes_together() -> None:
    """What Kronecker products lose to the optimum over all Gaussian noise, "auto" wins back where the domain is small."""
    problem = StructuredProblem(ASKED, METRICS, "zcdp")
    dense = design(problem.written_out(), "gaussian")
    assert dense.optimality is not None and dense.optimality.gap < 1e-3
    found = design(problem, effort="quick")
    assert dense.optimality.lower_bound <= found.loss * (1 + 1e-9) and found.loss <= dense.loss * (1 + 1e-9)
    assert design(problem, "structured").loss >= dense.optimality.lower_bound


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("protection", ["metrics", "partly free"])
def test_metrics_of_attributes_are_kept_by_every_pair_of_elements(noise: str, protection: str) -> None:
    """All pairs of the 30 elements against the metric's own matrix of distances; the certified ratio is attained."""
    relation = PROTECTIONS[protection]
    made = design_structured(ASKED, relation, noise)  # type: ignore[arg-type]
    rows, strengths = measured_rows(made)
    distances = relation.distances()  # type: ignore[union-attr]
    power = 2 if noise == "gaussian" else 1
    ratios = [
        (strengths * np.abs(rows[:, i] - rows[:, j]) ** power).sum() ** (1 / power) / distances[i, j]
        for i, j in combinations(range(DOMAIN.size), 2)
        if math.isfinite(distances[i, j])
    ]
    assert max(ratios) == pytest.approx(float(made.privacy.worst_ratio or 0), rel=1e-9)
    assert 0.999 < max(ratios) <= 1
    louder = [MeasuredProduct(block.parts, block.strength * 1.01) for block in made.blocks]
    with pytest.raises(NotPrivate, match="changes in"):
        StructuredMechanism(ASKED, made.protection, made.noise, made.matrices, tuple(louder), made.serves)


def test_a_budget_between_single_values_costs_what_one_attribute_alone_costs() -> None:
    """One attribute, a metric on its values: the optimum of `design` for that metric, up to the rounding of the matrix."""
    domain, line = Domain.of({"age": 8}), metrics.line(list(range(8)), period=1, epsilon=0.5)
    asked = StructuredWorkload.of(domain, [{"age": "prefix"}])
    made = design_structured(asked, metrics.product(domain, {"age": line}))
    alone = design(Problem(asked.written_out(), metrics.product(domain, {"age": line}), notion="zcdp"), "gaussian")
    assert made.error() == pytest.approx(alone.loss, rel=2e-3)


def test_terms_are_named_by_their_attributes() -> None:
    made = design_structured(ASKED, Presence(mu=1.0))
    noise, places = made.simulate(1, seed=3)[0], [[4, 1], [0, 0]]
    assert np.array_equal(noise.answers(places, ["age", "sex"]), noise.answers(places, 1))
    assert np.array_equal(noise.table(("sex", "age")), noise.table(1)) and np.array_equal(noise.table(), noise.table(0))
    assert np.allclose(noise.standard_errors(places, ["age", "sex"]) ** 2, made.variances(1, places), rtol=1e-12)
    for term, words in ((["sex"], "0 terms"), ([], "0 terms"), (3, "from 0 to 2"), ("age", "neither"), (["town"], "town")):
        with pytest.raises(InvalidProblem, match=words):
            noise.table(term)
    both = StructuredWorkload.of(DOMAIN, [{"age": "prefix"}, {"age": "identity"}])
    with pytest.raises(InvalidProblem, match=r"2 terms ask about .*give its position"):
        both.term(["age"])


def test_the_largest_weighted_variance_is_the_error_by_the_largest() -> None:
    asked = StructuredWorkload.of(DOMAIN, [{"age": "prefix"}, {"sex": "identity"}], [1.0, 4.0])
    made = design_structured(asked, Presence(mu=1.0))
    largest = [made.variances(k, np.arange(count)[:, None]).max() for k, count in enumerate(asked.counts)]
    assert made.error("max") == max(largest[0], 4 * largest[1])


def test_an_attribute_of_one_value_is_summed_over() -> None:
    domain = Domain.of({"age": 4, "planet": 1})
    asked = StructuredWorkload.of_marginals(MarginalWorkload.up_to(domain, 2), {"age": "prefix"})
    assert asked.counts == (4, 1, 4)
    assert design_structured(asked, Presence(mu=1.0)).error() > 0


@given(st.integers(0, 2**31), st.integers(0, 61), st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_products_are_exact_whatever_overflows(seed: int, bits: int, shape: list[int]) -> None:
    """Against Python's integers: entries of up to 24 bits, counts of up to 61."""
    random = np.random.default_rng(seed)
    table = random.integers(0, 2**bits, shape, endpoint=True) // max(1, math.prod(shape))
    matrices = [random.integers(-(2**24), 2**24, (n + 1, n), endpoint=True) for n in shape]
    expected = table.astype(object)
    for axis, rows in enumerate(matrices):
        expected = np.moveaxis(np.tensordot(rows.astype(object), expected, axes=(1, axis)), 0, axis)
    found = exact_product(table, matrices)
    assert found.tolist() == expected.tolist()
    assert found.dtype == object or (np.abs(found) < 2**62).all()


def test_a_product_is_released_from_a_database(tmp_path: Path) -> None:
    """Saved, loaded, counted by DuckDB, answered by places: each of 200 prefix sums is within 7 stated standard errors of the
    true one (failure below 1e-9)."""
    ibis = pytest.importorskip("ibis")
    domain = Domain.of({f"a{i}": 16 for i in range(3)})
    asked = StructuredWorkload.of(domain, [dict.fromkeys(domain.attributes, "prefix")])
    made = load(design_structured(asked, Presence(mu=1.0)).save(tmp_path / "made.json"))
    random = np.random.default_rng(0)
    records = random.integers(0, 16, (5000, 3))
    table = ibis.memtable({name: records[:, k] for k, name in enumerate(domain.attributes)})
    released, places = made.release(table), random.integers(0, 16, (200, 3))
    true = [(records <= place).all(axis=1).sum() for place in places]
    off = (released.answers(places) - true) / released.standard_errors(places)
    assert np.abs(off).max() < 7
    assert 0.5 < off.std() < 2


def test_refusals_name_the_room_that_serves() -> None:
    relation = metrics.add_remove(DOMAIN.size, 1.0)
    for asked in (ASKED, MARGINALS):
        with pytest.raises(InvalidProblem, match=r"A StructuredWorkload goes into a StructuredProblem .*MarginalProblem"):
            Problem(asked, relation)  # type: ignore[arg-type]
    with pytest.raises(InvalidProblem, match="StructuredProblem"):
        design_marginals(ASKED, Presence(mu=1.0))  # type: ignore[arg-type]
    with pytest.raises(InvalidProblem, match="no MarginalWorkload"):
        StructuredWorkload.of_marginals(ASKED)  # type: ignore[arg-type]
    large = StructuredWorkload.of(Domain.of({"a": 64, "b": 64, "c": 64}), [{"a": "ranges"}])
    with pytest.raises(InvalidProblem, match="a StructuredProblem is designed"):
        large.written_out()
    domain = Domain.of({f"a{i}": 64 for i in range(5)})
    made = design_structured(StructuredWorkload.of(domain, [dict.fromkeys(domain.attributes, "identity")]), Presence(mu=1.0))
    with pytest.raises(InvalidProblem, match=r"fewer of the attributes at once \(`StructuredWorkload.tables`\)"):
        made.release(None)
    with pytest.raises(DesignFailed, match="budget"):
        design_structured(ASKED, metrics.hamming(DOMAIN, [math.inf] * 3))


def test_queries_are_named_by_their_values() -> None:
    values = ("a", "b", "c")
    assert AttributeQueries("identity", 3).labels(values) == ["a", "b", "c"]
    assert AttributeQueries("ranges", 3).labels(values) == ["a..a", "a..b", "a..c", "b..b", "b..c", "c..c"]
    assert AttributeQueries.of(("widths", 2), 3).labels(values) == ["a..b", "b..c"]
    assert AttributeQueries("total", 3).labels(values) == ["a..c"]
    assert AttributeQueries.of([[1.0, 0, 2]], 3).labels(values) == ["query 0"]


def test_a_workload_that_is_too_large_is_refused_before_its_weights_are_repeated() -> None:
    """64^4 queries: their weights alone are 134 MB."""
    domain = Domain.of(dict.fromkeys("abcd", 64))
    asked = StructuredProblem(StructuredWorkload.of(domain, [dict.fromkeys("abcd", "prefix")]), Presence(epsilon=1.0))
    tracemalloc.start()
    with pytest.raises(InvalidProblem, match="StructuredProblem is designed without writing them out"):
        asked.written_out()
    assert tracemalloc.get_traced_memory()[1] < 10e6
    tracemalloc.stop()

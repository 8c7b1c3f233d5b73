"""Hypothesis strategies: one small metric of every new kind, plain and nested, and a relation with an origin."""

from __future__ import annotations

import math

from hypothesis import strategies as st

from designer import Domain, metrics
from designer.problem.relation import Relation
from designer.relations.metrics.attributes import Hamming, Product
from designer.relations.metrics.metric import Metric
from designer.relations.metrics.presence import AppearOrChange

DOMAIN = Domain.of({"sex": 2, "age": 3, "one": 1})
SIZE = 6  # elements of the metrics that are combined
budgets = st.one_of(st.sampled_from([0.1, 0.3, 1.0, 3.0]), st.floats(1e-3, 1e3))
own = st.one_of(budgets, st.just(math.inf))
coordinates = st.one_of(st.integers(-4, 4).map(float), st.floats(-1e3, 1e3).map(lambda v: round(v, 6)))


def lists(values: st.SearchStrategy[float], n: int) -> st.SearchStrategy[list[float]]:
    return st.lists(values, min_size=n, max_size=n)


def rows(n: int, wide: int) -> st.SearchStrategy[list[list[float]]]:
    return st.lists(lists(coordinates, wide), min_size=n, max_size=n)


@st.composite
def graphs(draw: st.DrawFn, n: int = SIZE) -> Metric:
    """Some edges of small whole or odd lengths: ties, detours shorter than an edge, several components."""
    pairs = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda p: p[0] != p[1])
    edges = draw(st.lists(st.tuples(pairs, st.sampled_from([0.1, 0.2, 0.3, 1.0, 2.0, 3.0])), max_size=12))
    return metrics.graph([(*pair, w) for pair, w in edges], per_edge=draw(budgets), nodes=n)


@st.composite
def taxonomies(draw: st.DrawFn, n: int = SIZE) -> Metric:
    """Up to three levels of groups, some leaves higher up, some levels that tell apart what is not protected."""
    paths = draw(st.lists(st.lists(st.sampled_from("ab"), max_size=3), min_size=n, max_size=n))
    levels = 1 + max(map(len, paths))
    return metrics.taxonomy(paths, draw(lists(own, levels)), form=draw(st.sampled_from(["sum", "max"])))


@st.composite
def simple(draw: st.DrawFn, n: int = SIZE) -> Metric:
    """One that holds no other metric, on n elements."""
    return draw(
        st.one_of(
            st.builds(metrics.uniform, st.just(n), budgets),
            st.builds(metrics.per_element, lists(own, n)),
            st.builds(lambda e: metrics.instance(e, closure=True), lists(own, n)),
            st.builds(metrics.instance, lists(st.floats(0.5, 1.0), n)),
            st.builds(metrics.partition, st.lists(st.sampled_from("abc"), min_size=n, max_size=n), budgets),
            st.builds(metrics.line, lists(coordinates, n), budgets, budgets),
            st.builds(metrics.chebyshev, rows(n, 3), budgets),
            st.builds(metrics.manhattan, rows(n, 2), budgets),
            st.builds(metrics.euclidean, rows(n, 2), budgets),
            graphs(n),
            taxonomies(n),
        )
    )


@st.composite
def products(draw: st.DrawFn) -> Metric:
    if draw(st.booleans()):
        return metrics.product(DOMAIN, [draw(simple(values)) for values in DOMAIN.shape])
    if draw(st.booleans()):
        return metrics.hamming(DOMAIN, [draw(own) for _ in DOMAIN.shape])
    listed = [draw(lists(own, values)) for values in DOMAIN.shape]
    return metrics.attribute_values(DOMAIN, listed, form=draw(st.sampled_from(["min", "sum"])), closure=True)


@st.composite
def nested(draw: st.DrawFn) -> Metric:
    """One that holds others, on 6 elements or fewer; parts often alike, so that shared blocks are met."""
    one = draw(st.one_of(simple(), products()))
    other = draw(st.one_of(st.just(one), products() if isinstance(one, (Product, Hamming)) else simple()))
    shape = draw(st.integers(0, 7))
    if shape < 3:
        combine = (metrics.sum_of, metrics.maximum, metrics.root_sum_squares)[shape]
        return combine(one, draw(budgets) * other, *([draw(simple())] if draw(st.booleans()) else []))
    if shape == 3:
        return draw(budgets) * one
    if shape == 4:
        return metrics.restriction(one, draw(st.lists(st.integers(0, 5), min_size=1, max_size=5, unique=True)))
    if shape == 5:
        return metrics.smooth_threshold(one, draw(budgets), draw(budgets))
    if shape == 6:
        return metrics.blowfish(one, draw(budgets), draw(budgets))
    return 2.0 * metrics.maximum(one + other, metrics.uniform(SIZE, draw(budgets)))


def every_metric() -> st.SearchStrategy[Metric]:
    return st.one_of(simple(), simple(1), products(), nested())


@st.composite
def with_origin(draw: st.DrawFn) -> AppearOrChange:
    change = draw(st.one_of(simple(), products(), nested()))
    if draw(st.booleans()) and all(math.isfinite(b) for b in change.distances().ravel()):
        return metrics.after_noisy_total(change, draw(budgets))
    return metrics.appear_or_change(change, draw(lists(own, change.size)), closure=True)


PLANE = [[0.0, 0.0], [1.0, 1.0], [3.0, 4.0], [0.3, 0.1]]
SPECIMENS: dict[str, Relation] = {
    "uniform": metrics.uniform(3, 0.5),
    "per_element": metrics.per_element([0.1, math.inf, 0.3, 2.0]),
    "instance": metrics.instance([0.1, math.inf, 0.3, 0.15], closure=True),
    "partition": metrics.partition(["a", "b", "a", "b", "c"], 0.3),
    "line": metrics.line(["2000-01-01", "2001-02-03", "1999-01-01"], 7, 0.1),
    "euclidean": metrics.euclidean(PLANE, 0.3),
    "chebyshev": metrics.chebyshev(PLANE, 0.3),
    "manhattan": metrics.manhattan(PLANE, 0.3),
    "graph": metrics.graph([(0, 1, 0.1), (1, 2, 0.2), (0, 2, 0.4), (3, 4)], per_edge=0.3, nodes=6),
    "taxonomy": metrics.taxonomy([["a", "x"], ["a", "y"], ["b"], ["a", "x"], ["b"], ["b"]], [0.7, 0.1, 0.2]),
    "blowfish": metrics.blowfish(PLANE, 1.5, 0.3),
    "smooth_threshold": metrics.smooth_threshold(PLANE, 1.5, 0.3),
    "hamming": metrics.hamming(DOMAIN, [0.1, 0.2, math.inf]),
    "product": metrics.product(DOMAIN, [metrics.uniform(2, 0.1), metrics.line([1, 5, 2], 3, 0.1), metrics.uniform(1, 1.0)]),
    "scaled": 0.1 * metrics.per_element([0.1, math.inf, 0.3, 2.0]),
    "sum": metrics.chebyshev(PLANE, 0.3) + metrics.instance([0.1, 0.2, 0.3, 0.15], closure=True),
    "maximum": metrics.maximum(metrics.chebyshev(PLANE, 0.3), metrics.uniform(4, 0.2)),
    "root_sum_squares": metrics.root_sum_squares(metrics.euclidean(PLANE, 0.3), metrics.uniform(4, 0.2)),
    "restricted": metrics.restriction(metrics.graph([(0, 1), (1, 2), (3, 4)], nodes=6), [4, 2, 0, 3]),
    "appear_or_change": metrics.appear_or_change(metrics.line([0, 1, 5], 1, 0.3), [0.1, 3.0, 0.2], closure=True),
}

"""Blowfish policies: closures against hop distances of an independent graph library; thresholds decided exactly;
the paper's two metrics."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from designer import Domain, InvalidProblem, Problem, Workload, design, metrics
from designer.problem.relation import finite_pairs
from designer.relations.metrics.blowfish_policies import Threshold
from designer.relations.metrics.metric import Metric

integers = st.lists(st.tuples(st.integers(-6, 6), st.integers(-6, 6)), min_size=1, max_size=9)


def hop_distances(secrets: list[tuple[int, int]], n: int) -> dict[int, dict[int, int]]:
    graph = nx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(secrets)
    return dict(nx.all_pairs_shortest_path_length(graph))


def assert_hops(relation: Metric, secrets: list[tuple[int, int]], epsilon: float) -> None:
    hops = hop_distances(secrets, relation.size)
    floats = relation.distances()
    for i, j in itertools.product(range(relation.size), repeat=2):
        steps = hops[i].get(j)
        assert relation.exact_budget(i, j) == (None if steps is None else steps * Fraction(epsilon))
        assert floats[i, j] == (math.inf if steps is None else steps * epsilon)


@settings(max_examples=60, deadline=None)
@given(integers, st.integers(1, 60), st.sampled_from([0.1, 1.0]))
def test_distance_threshold_is_hops(points: list[tuple[int, int]], square: int, epsilon: float) -> None:
    """Whole coordinates: pairs exactly at the threshold, decided by whole numbers here."""
    threshold = math.isqrt(square)
    pairs = list(itertools.combinations(range(len(points)), 2))
    secrets = [(i, j) for i, j in pairs if sum((a - b) ** 2 for a, b in zip(points[i], points[j], strict=True)) <= threshold**2]
    assert_hops(metrics.blowfish(np.array(points, dtype=float), threshold, epsilon), secrets, epsilon)


@pytest.mark.parametrize("step", [-1, 0, 1])
def test_a_threshold_one_float_off_decides_alone(step: int) -> None:
    """3-4-5: the distance is the threshold, or one unit in the last place of a float beside it."""
    threshold = float(np.nextafter(5.0, 9.0 * step)) if step else 5.0
    relation = metrics.blowfish([[0.0, 0.0], [3.0, 4.0]], threshold, 1.0)
    assert (relation.exact_budget(0, 1) is None) == (step < 0)
    assert len(relation.joined) == (step >= 0)


def test_thresholds_of_other_distances() -> None:
    places = [(40.0, -74.0), (40.0, -74.1), (40.0, -74.3), (10.0, 0.0)]
    relation = metrics.blowfish(metrics.great_circle(places), 18.0, 0.5)
    assert [relation.exact_budget(0, j) for j in (1, 2, 3)] == [Fraction(1, 2), Fraction(1), None]
    assert metrics.blowfish(metrics.graph([(0, 1), (1, 2)], nodes=4), 1, 1.0).exact_budget(0, 2) == 2


def test_full_domain_attribute_and_partition_policies() -> None:
    domain = Domain.of({"a": 2, "b": 3, "c": 2})
    pairs = list(itertools.combinations(range(12), 2))
    assert_hops(metrics.blowfish_full_domain(12, 0.3), pairs, 0.3)
    codes = np.array(np.unravel_index(np.arange(12), domain.shape)).T
    single = [(i, j) for i, j in pairs if (codes[i] != codes[j]).sum() == 1]
    attribute = metrics.blowfish_attribute(domain, 0.25)
    assert_hops(attribute, single, 0.25)
    labels = [0, 1, 0, 2, 1, 0]
    same = [(i, j) for i, j in itertools.combinations(range(6), 2) if labels[i] == labels[j]]
    assert_hops(metrics.blowfish_partition(labels, 0.3), same, 0.3)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)).filter(lambda p: p[0] != p[1]), max_size=12))
def test_arbitrary_secret_graph_is_hops(secrets: list[tuple[int, int]]) -> None:
    relation = metrics.blowfish_graph(secrets, 0.5, nodes=8)
    assert_hops(relation, secrets, 0.5)
    listed = {(int(a), int(b)) for block in relation.blocks() for a, b in zip(*finite_pairs(block), strict=True)}
    assert listed == {(min(p), max(p)) for p in secrets}


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 6), st.integers(0, 6), st.sampled_from([0.1, 0.2, 0.3, 1.0, 2.0])).filter(
            lambda e: e[0] != e[1]
        ),
        max_size=14,
    )
)
def test_weighted_graphs_are_shortest_paths(edges: list[tuple[int, int, float]]) -> None:
    """From a networkx multigraph with names for nodes, against its own exact shortest paths."""
    names = "gfedcba"
    graph = nx.MultiGraph()
    graph.add_nodes_from(names)
    for i, j, weight in edges:
        graph.add_edge(names[i], names[j], weight=weight)
    relation = metrics.graph(graph, per_edge=0.3, elements=list(names))
    exact = nx.Graph()
    exact.add_nodes_from(range(7))
    for i, j, weight in edges:
        known = exact.get_edge_data(i, j, {"weight": Fraction(99)})["weight"]
        exact.add_edge(i, j, weight=min(known, Fraction(weight)))
    paths = dict(nx.all_pairs_dijkstra_path_length(exact))
    for i, j in itertools.product(range(7), repeat=2):
        wanted = paths[i].get(j)
        assert relation.exact_budget(i, j) == (None if wanted is None else wanted * Fraction(0.3))


def test_taxonomy_over_its_leaves() -> None:
    tree = nx.Graph([("all", "fruit"), ("all", "nuts"), ("fruit", "apple"), ("fruit", "pear"), ("nuts", "almond")])
    place = list(tree.nodes)
    leaves = metrics.restriction(
        metrics.graph(tree, per_edge=0.5, elements=place), [place.index(v) for v in ("apple", "pear", "almond")]
    )
    assert [leaves.exact_budget(0, 1), leaves.exact_budget(0, 2)] == [1, 2]


@settings(max_examples=60, deadline=None)
@given(integers, st.floats(0.5, 20))
def test_smooth_threshold_is_the_definition(points: list[tuple[int, int]], threshold: float) -> None:
    relation = metrics.smooth_threshold(np.array(points, dtype=float), threshold, 0.3)
    for i, j in itertools.product(range(len(points)), repeat=2):
        distance = math.dist(points[i], points[j])
        wanted = 0.0 if i == j else 0.3 if distance <= threshold else 0.3 * distance / threshold
        assert relation.distances()[i, j] == pytest.approx(wanted, rel=1e-14)
        assert float(relation.exact_budget(i, j) or 0) == pytest.approx(wanted, rel=1e-14)


def test_higher_thresholds_protect_more_and_smooth_protects_most() -> None:
    """DX section 4.4: one query over random points; noise grows with T,
    and the smooth metric asks for no less than Blowfish."""
    generator = np.random.default_rng(5)
    points, query = generator.random((40, 2)) * 20, generator.random((1, 40))

    def scale(relation: Metric) -> float:
        return float(design(Problem(Workload(query), relation, allow_vacuous=True), "laplace").mechanism.scales[0])

    blow = [scale(metrics.blowfish(points, t, 1.0)) for t in (2, 4, 8, 16)]
    smooth = [scale(metrics.smooth_threshold(points, t, 1.0)) for t in (2, 4, 8, 16)]
    assert blow == sorted(blow)
    assert smooth == sorted(smooth)
    assert all(b <= s * (1 + 1e-9) for b, s in zip(blow, smooth, strict=True))


def test_large_universe_stays_cheap() -> None:
    """741 places as in the paper: only joined pairs are listed, and the farthest are found by hops."""
    points = np.random.default_rng(0).random((741, 2)) * 50
    relation = metrics.blowfish(points, 4, 1.0)
    listed = sum(len(block.budgets) for block in relation.blocks())
    assert listed == sum(math.dist(p, q) <= 4 for p, q in itertools.combinations(points.tolist(), 2)) < 741 * 740 / 20
    hops = hop_distances([tuple(pair) for pair in relation.joined.tolist()], 741)
    assert relation.largest_budget() == max(max(row.values()) for row in hops.values())


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: metrics.blowfish([1.0, 2.0], 0, 1.0), "metric.threshold: 0.0 is not a positive"),
        (lambda: metrics.blowfish([1.0, 2.0], 1, math.nan), "metric.epsilon: nan"),
        (lambda: metrics.blowfish("ab", 1, 1.0), "metric.points"),
        (lambda: metrics.blowfish([1.0], 1e150, 1.0), "metric.threshold: 1e+150 is out of range"),
        (lambda: metrics.smooth_threshold([1.0], 1, 1e-150), "metric.epsilon: 1e-150 is out of range"),
        (lambda: metrics.smooth_threshold([1.0], -1, 1), "metric.threshold: -1.0"),
        (lambda: metrics.blowfish_graph([(0, 0)], 1.0), "joins 0 and 0 of 1 elements"),
        (lambda: metrics.blowfish_partition([], 1.0), "metric.labels: [] lists no parts"),
        (lambda: Threshold("x", 1.0, 1.0), "metric.ground: 'x' is not a metric"),
    ],
)
def test_bad_policies_are_refused(call: object, text: str) -> None:
    with pytest.raises(InvalidProblem) as refusal:
        call()  # type: ignore[operator]
    assert text in str(refusal.value)

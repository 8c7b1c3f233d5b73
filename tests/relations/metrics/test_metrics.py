"""Relations: axioms, exact against float budgets, blocks against all pairs, closure, refusals, words and spec round trips."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from flint import arb, ctx, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from designer import Domain, metrics
from designer.base.json_text import plain
from designer.problem.relation import Relation, finite_pairs
from designer.relations.kinds import relation_from_spec
from designer.relations.metrics.algebra import Matrix
from designer.relations.metrics.points import EARTH_RADIUS_KM, Euclidean, GreatCircle, Metric
from designer.relations.metrics.presence import AddRemove

DOMAIN = Domain.of({"sex": 2, "age": 3, "one": 1})
coordinates = st.floats(-1e3, 1e3).map(lambda v: round(v, 6))
planes = st.lists(st.tuples(coordinates, coordinates), min_size=1, max_size=6)
budgets = st.floats(1e-3, 1e3)
globes = st.lists(
    st.tuples(st.floats(-90, 90).map(lambda v: round(v, 9)), st.floats(-360, 360).map(lambda v: round(v, 9))),
    min_size=1,
    max_size=6,
)


def euclidean_matrix(points: list[tuple[float, float]]) -> np.ndarray:
    return np.array([[math.dist(p, q) for q in points] for p in points])


def relations() -> st.SearchStrategy[Relation]:
    """One of every kind, small."""
    return st.one_of(
        st.builds(metrics.uniform, st.integers(1, 6), budgets),
        st.builds(lambda p: metrics.from_matrix(euclidean_matrix(p)), planes),
        st.builds(lambda m: metrics.from_matrix(m, closure=True), semimetrics()),
        st.builds(metrics.euclidean, planes, budgets),
        st.builds(metrics.euclidean, st.lists(coordinates, min_size=1, max_size=7), budgets),
        st.builds(metrics.great_circle, globes, budgets),
        st.builds(lambda b: metrics.hamming(DOMAIN, b), st.tuples(*[st.one_of(budgets, st.just(math.inf))] * 3)),
        st.integers(1, 5).flatmap(
            lambda n: st.builds(
                metrics.add_remove, st.just(n), st.lists(st.one_of(budgets, st.just(math.inf)), min_size=n, max_size=n)
            )
        ),
    )


@st.composite
def semimetrics(draw: st.DrawFn) -> np.ndarray:
    """Symmetric budgets, some 0, some infinite, that need not satisfy the triangle inequality."""
    n = draw(st.integers(1, 6))
    d = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            d[i, j] = d[j, i] = draw(st.sampled_from([0.0, 0.1, 0.3, 1.0, 2.5, 10.0, math.inf]))
    return d


def exact(relation: Relation, i: int, j: int) -> float | Fraction:
    budget = relation.exact_budget(i, j)
    return math.inf if budget is None else budget


@settings(max_examples=60, deadline=None)
@given(relations())
def test_exact_budgets_are_a_metric(relation: Relation) -> None:
    if not isinstance(relation, Metric):
        return
    n = range(relation.size)
    d = [[exact(relation, i, j) for j in n] for i in n]
    # Budgets of irrational distances are rounded down, each by less than 2^-79 of itself;
    # given matrices are metrics up to 1e-9.
    slack = 1e-8 if relation.kind == "matrix" else 2.0**-70
    for i in n:
        assert d[i][i] == 0
        for j in n:
            assert d[i][j] == d[j][i] >= 0
            for k in n:
                total = d[i][k] + d[k][j]
                assert d[i][j] <= total or (math.isfinite(total) and d[i][j] <= total * (1 + Fraction(slack)))


@settings(max_examples=60, deadline=None)
@given(relations())
def test_float_budgets_are_within_the_stated_error_of_the_exact_ones(relation: Relation) -> None:
    for block in relation.blocks():
        for flat, budget in enumerate(block.budgets.ravel()):
            left, right = block.pair(flat)
            if left == right or (not block.paired and flat // block.budgets.shape[1] + block.left[0] >= right):
                assert np.isinf(budget)  # the diagonal and the mirrored corner
                continue
            wanted = relation.exact_budget(left, right)
            if wanted is None:
                assert np.isinf(budget)
            else:
                assert abs(Fraction(float(budget)) - wanted) <= Fraction(relation.budget_error) * wanted + wanted / 2**78


@settings(max_examples=60, deadline=None)
@given(relations())
def test_blocks_imply_every_protected_pair(relation: Relation) -> None:
    """Shortest paths over the listed pairs are never longer than the distances: what is not listed is implied."""
    points = len(relation.points(np.empty((relation.size, 0))))
    graph = nx.Graph()
    graph.add_nodes_from(range(points))
    for block in relation.blocks():
        for left, right in zip(*finite_pairs(block), strict=True):
            graph.add_edge(int(left), int(right), weight=exact(relation, int(left), int(right)))
    paths = dict(nx.all_pairs_dijkstra_path_length(graph))
    for i in range(relation.size):
        for j in range(relation.size):
            budget = exact(relation, i, j) if isinstance(relation, Metric) else math.inf
            if math.isinf(budget):
                continue
            # Rounding down irrational budgets may leave the path longer by 2^-79, parts of the true distance all the same.
            assert paths[i].get(j, math.inf) <= budget * (1 + Fraction(1, 2**70))
    label = relation.components()
    parts = list(nx.connected_components(graph))
    assert len(label) == points
    assert len(set(label.tolist())) == len(parts)
    assert all(len({int(label[v]) for v in part}) == 1 for part in parts)


@settings(max_examples=60, deadline=None)
@given(relations())
def test_largest_budget_is_the_largest_of_all_pairs(relation: Relation) -> None:
    n = relation.size
    pairs = [(i, n) for i in range(n)] if relation.kind == "add_remove" else [(i, j) for i in range(n) for j in range(n)]
    finite = [float(b) for i, j in pairs if math.isfinite(b := exact(relation, i, j))]
    assert relation.largest_budget() == pytest.approx(max(finite, default=0.0), rel=1e-7)


@settings(max_examples=60, deadline=None)
@given(semimetrics())
def test_closure_is_shortest_paths(d: np.ndarray) -> None:
    graph = nx.Graph()
    graph.add_nodes_from(range(len(d)))
    graph.add_weighted_edges_from((i, j, Fraction(d[i, j])) for i in range(len(d)) for j in range(i) if np.isfinite(d[i, j]))
    paths = dict(nx.all_pairs_dijkstra_path_length(graph))
    relation = metrics.from_matrix(d, closure=True)
    for i in range(len(d)):
        for j in range(len(d)):
            wanted = paths[i].get(j)
            found = relation.exact_budget(i, j)
            assert (found is None) == (wanted is None)
            if wanted is not None:
                assert found == pytest.approx(wanted, rel=1e-9, abs=0)
                if Fraction(d[i, j] if np.isfinite(d[i, j]) else 2**99) > wanted * (1 + Fraction(1, 10**8)):
                    assert found >= wanted, "a lowered budget must not claim more than the path that implies it"


def arb_great_circle(a: tuple[float, float], b: tuple[float, float]) -> arb:
    """Kilometres by the angle between vectors, atan2(|a x b|, a . b): not the formula of the package."""
    vectors = []
    for latitude, longitude in (a, b):
        north, east = (arb(fmpq(*Fraction(v).as_integer_ratio())) / 180 for v in (latitude, longitude))
        vectors.append((north.cos_pi() * east.cos_pi(), north.cos_pi() * east.sin_pi(), north.sin_pi()))
    (x, y, z), (u, v, w) = vectors
    square = sum((c * c for c in (y * w - z * v, z * u - x * w, x * v - y * u)), arb(0))
    cross = square.sqrt() if square > 0 else arb(0)  # exact antipodes: 0 within 2^-250 at 600 bits
    return arb.atan2(cross, x * u + y * v + z * w) * arb(EARTH_RADIUS_KM)


PLACES = [
    (40.71427, -74.00597),
    (34.05223, -118.24368),
    (0.0, 0.0),
    (0.0, 180.0),
    (-0.0, -179.9999999999),
    (1e-9, 179.999999999),
    (90.0, 12.0),
    (-90.0, 0.0),
    (89.9999999, -77.0),
    (-40.71427, 105.99403),
    (-40.714270001, 105.994030001),
    (40.71427 + 1e-13, -74.00597),
    (0.0, 359.9999999999999),
    (0.0, 179.99999999999997),
    (0.0, 179.9999999999311),
    (0.0, -179.99999999997653),
]


@pytest.mark.parametrize("i", range(len(PLACES)))
def test_great_circle_against_an_independent_formula(i: int) -> None:
    relation = metrics.great_circle(PLACES, 1.0)
    floats = relation.distances()
    with ctx.workprec(600):
        for j in range(len(PLACES)):
            if i == j:
                continue
            true = arb_great_circle(PLACES[i], PLACES[j])
            budget = relation.exact_budget(i, j)
            lower = arb(fmpq(budget.numerator, budget.denominator))
            assert lower <= true.upper()
            assert true.lower() <= lower * (1 + arb(2) ** -70)
            assert abs(arb(float(floats[i, j])) - true) <= true * 1e-7


def test_great_circle_degenerate_places() -> None:
    relation = metrics.great_circle([(12.0, 180.0), (12.0, -180.0), (90.0, 5.0), (90.0, 77.0), (12.0, 180.0)])
    assert [relation.exact_budget(*pair) for pair in ((0, 1), (2, 3), (0, 4))] == [0, 0, 0]
    assert relation.distances()[[0, 2, 0], [1, 3, 4]].tolist() == [0, 0, 0]
    antipodes = metrics.great_circle([(10.0, 20.0), (-10.0, -160.0)])
    assert float(antipodes.exact_budget(0, 1)) == pytest.approx(math.pi * EARTH_RADIUS_KM, rel=1e-15)


@pytest.mark.parametrize(
    "relation",
    [
        metrics.uniform(3, 0.5),
        metrics.euclidean([[0, 0], [3, 4]], 2.0),
        metrics.euclidean([5.0, 1.0, 2.0], 0.5),
        metrics.add_remove(2, 1.0),
    ],
)
def test_known_budgets(relation: Relation) -> None:
    known = {"uniform": Fraction(1, 2), "add_remove": Fraction(1)}
    wanted = known.get(relation.kind, Fraction(10) if relation.size == 2 else Fraction(2))
    appears = relation.kind == "add_remove"  # element 2 of 2 is no record: a change of one into another is no pair
    assert relation.exact_budget(0, 2 if appears else 1) == wanted
    assert not appears or relation.exact_budget(0, 1) is None


def test_implied_pairs_are_dropped() -> None:
    assert sum(len(b.budgets) for b in metrics.euclidean(np.arange(100.0)).blocks()) == 99
    assert sum(len(b.budgets) for b in metrics.from_matrix(np.abs(np.subtract.outer(range(9), range(9)))).blocks()) == 8
    # 2 x 3 values: 3 + 6 single changes of 15 pairs
    assert sum(len(b.budgets) for b in metrics.hamming(DOMAIN, [1, 2, 3]).blocks()) == 9


def test_a_pair_whose_float_sum_hides_an_excess_is_not_implied() -> None:
    """fl(a + b) = d, but a + b > d: the two shorter promises allow more than d, so d must be kept."""
    generator = np.random.default_rng(0)
    kept, dropped = 0, 0
    for a, b in generator.random((200, 2)).tolist():
        listed = next(iter(metrics.from_matrix([[0, a, a + b], [a, 0, b], [a + b, b, 0]]).blocks()))
        assert (len(listed.budgets) == 3) == (Fraction(a) + Fraction(b) > Fraction(a + b))
        kept, dropped = kept + (len(listed.budgets) == 3), dropped + (len(listed.budgets) == 2)
    assert min(kept, dropped) > 20


def test_frozen_copies() -> None:
    d = np.array([[0.0, 1], [1, 0]])
    relation = Matrix(d, None)
    d[0, 1] = 99
    assert relation.exact_budget(0, 1) == 1
    places = np.zeros((2, 2))
    for array in (
        Euclidean(places, 1.0).places,
        GreatCircle(places, 1.0).places,
        AddRemove(d[0]).epsilons,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@settings(max_examples=60, deadline=None)
@given(relations())
def test_spec_round_trip_and_readable_words(relation: Relation) -> None:
    spec = plain(relation.to_spec())
    twin = relation_from_spec(spec)
    assert type(twin) is type(relation)
    assert plain(twin.to_spec()) == spec
    for i in range(relation.size):
        for j in range(relation.size):
            assert twin.exact_budget(i, j) == relation.exact_budget(i, j)
    assert twin.sentence() == relation.sentence()
    assert re.fullmatch(r"Any one record may [^\n]*\.", relation.sentence())
    assert not re.search(r"np\.|array|float64|nan", relation.sentence())


def test_words_of_vacuous_matrix() -> None:
    words = metrics.from_matrix([[0, math.inf], [math.inf, 0]]).sentence()
    assert "all infinite" in words
    closed = metrics.from_matrix([[0, 1, 3], [1, 0, 1], [3, 1, 0]], closure=True).sentence()
    assert "the shortest-path closure of 1 lower entries" in closed
    assert metrics.add_remove(2, 1.0).pair_words(0, 2, ["a", "b"]) == "a record of a appears"

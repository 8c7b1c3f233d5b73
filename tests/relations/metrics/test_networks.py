"""Graphs of networkx in and out: what a relation protects as a graph, graphs and trees as metrics, labels and never places.
The largest budget of graphs and policies, and the pairs that a policy joins, against a look at all pairs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from designer import InvalidProblem, Problem, Workload, compare, design, invariants, load, metrics, plot
from designer.cli import main
from designer.limits import MOST_DRAWN_ELEMENTS
from designer.problem.relation import ABSENT
from designer.publish.pictures.of_designs import relation_drawing
from designer.relations.metrics.graphs import csr_edges, longest_path
from designer.relations.metrics.metric import Metric
from designer.relations.row_groups import RowGroups
from tests.oracles.metric_kinds import SPECIMENS, every_metric, graphs, with_origin

TOWNS = ("Bonn", "Köln", "Jena", "Lyon")


COUNTS = Workload(np.eye(4), elements=TOWNS)


def told(drawn: nx.Graph) -> dict[frozenset[str], float]:
    return {frozenset((u, v)): budget for u, v, budget in drawn.edges(data="budget")}


def as_the_graph_says(relation: Any) -> None:
    """Every pair against the exact budgets; and shortest paths over the pairs that no others imply."""
    points = len(relation.points(np.empty((relation.size, 0))))
    names = [f"n{i}" for i in range(relation.size)] + [ABSENT] * (points - relation.size)
    whole, fewest = (relation.to_networkx(names[: relation.size], implied=implied) for implied in (True, False))
    assert list(whole.nodes) == list(fewest.nodes) == names
    assert {*told(fewest)} <= {*told(whole)}
    paths = dict(nx.all_pairs_dijkstra_path_length(fewest, weight="budget"))
    edges = told(whole)
    for i, j in itertools.combinations(range(points), 2):
        exact, drawn = relation.exact_budget(i, j), edges.get(frozenset((names[i], names[j])))
        assert (exact is None) == (drawn is None)
        if exact is not None:
            assert drawn == pytest.approx(float(exact), rel=1e-12, abs=1e-190)
            assert paths[names[i]][names[j]] == pytest.approx(float(exact), rel=1e-9, abs=1e-190)


@pytest.mark.parametrize("kind", SPECIMENS)
def test_the_graph_of_every_kind_has_all_finite_budgets(kind: str) -> None:
    as_the_graph_says(SPECIMENS[kind])


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.one_of(every_metric(), with_origin()))
def test_the_graph_of_any_relation_has_all_finite_budgets(relation: Any) -> None:
    as_the_graph_says(relation)


def test_records_that_appear_join_their_element_to_no_record() -> None:
    drawn = metrics.add_remove(3, [1.0, math.inf, 2.0]).to_networkx()
    assert list(drawn.nodes) == ["e0", "e1", "e2", ABSENT]
    assert told(drawn) == {frozenset(("e0", ABSENT)): 1.0, frozenset(("e2", ABSENT)): 2.0}
    with pytest.raises(InvalidProblem, match="name of no record"):
        metrics.add_remove(1, 1.0).to_networkx([ABSENT])


def test_groups_of_a_row_are_parts_of_the_graph() -> None:
    groups = RowGroups((metrics.uniform(2, 1.0), metrics.uniform(3, 0.5)), ("a", "b"))
    drawn = groups.to_networkx(list("uvxyz"))
    assert nx.number_connected_components(drawn) == 2 and drawn["x"]["z"]["budget"] == 0.5


def test_changes_under_an_invariant_are_no_graph_but_their_metric_is() -> None:
    margins = invariants.margins((2, 2))
    for relation in (margins.protect(1.0), margins.protect(1.0, per_distance="l1")):
        with pytest.raises(InvalidProblem, match=r"several records at once.*draw a metric"):
            relation.to_networkx()
    metric = metrics.line([0, 1, 2, 5], 1, 0.5)
    joined = (metric & margins).to_networkx(TOWNS)
    assert told(joined) == told(metric.to_networkx(TOWNS))


def test_too_many_pairs_are_refused_with_a_way_on() -> None:
    relation = metrics.graph([(i, i + 1) for i in range(1999)])
    with pytest.raises(InvalidProblem, match=r"more than 500,000 pairs of the 2,000 elements.*implied=False"):
        relation.to_networkx()
    assert relation.to_networkx(implied=False).number_of_edges() == 1999
    assert metrics.uniform(20_000, 1.0).size == 20_000
    with pytest.raises(InvalidProblem, match="20,000 elements"):
        metrics.uniform(20_000, 1.0).to_networkx()


# round trips, and labels


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.permutations(TOWNS), st.lists(st.tuples(*[st.sampled_from(TOWNS)] * 2, st.floats(0.01, 100)), max_size=8))
def test_a_graph_comes_back_from_its_relation_whatever_order_its_nodes_have(
    order: list[str], edges: list[tuple[str, str, float]]
) -> None:
    given_graph = nx.Graph()
    given_graph.add_nodes_from(order)
    given_graph.add_weighted_edges_from((u, v, w) for u, v, w in edges if u != v)
    relation = metrics.graph(given_graph, elements=COUNTS)
    paths = dict(nx.all_pairs_dijkstra_path_length(given_graph))
    for (i, u), (j, v) in itertools.product(enumerate(TOWNS), repeat=2):
        budget = relation.exact_budget(i, j)
        assert (budget is None) == (v not in paths[u]) and (budget is None or float(budget) == pytest.approx(paths[u][v]))
    back = relation.to_networkx(TOWNS, implied=False)
    kept = {frozenset((u, v)): w for u, v, w in given_graph.edges(data="weight") if paths[u][v] == w}
    assert {**kept, **told(back)} == kept and set(back.nodes) == set(TOWNS)
    again = metrics.graph(relation.to_networkx(TOWNS), elements=TOWNS, weight="budget")
    assert again.distances() == pytest.approx(relation.distances(), rel=1e-12)


def cycle(*nodes: Any) -> nx.Graph:
    return nx.cycle_graph(list(nodes))


BAD: dict[str, tuple[Callable[[], object], str]] = {
    "unknown label": (lambda: metrics.graph(cycle("Bonn", "Köln", "Jena", "Rom"), elements=COUNTS), "['Rom'] are no elements, ['Lyon'] are missing"),
    "missing label": (lambda: metrics.graph(cycle("Bonn", "Köln", "Jena"), elements=TOWNS), "['Lyon'] are missing (0 and 1 in all)"),
    "no labels": (lambda: metrics.graph(cycle("a", "b", "c")), "the node 'a' is no element number from 0 to 2; name the elements, elements=workload.elements"),
    "numbers with a hole": (lambda: metrics.graph(nx.Graph([(0, 2)])), "the node 2 is no element number from 0 to 1"),
    "two nodes of one label": (lambda: metrics.graph(cycle("1", 1, "2"), elements=["1", "2"]), "'1' appears twice"),
    "elements of text": (lambda: metrics.graph(cycle(0, 1, 2), elements="abc"), "metric.elements: 'abc' names no elements"),
    "edge of a stranger": (lambda: metrics.graph([("Bonn", "Rom")], elements=TOWNS), "metric.edges[0]: 'Rom' is no element"),
    "names of coordinates": (lambda: metrics.blowfish([0.0, 1.0], 1, 1, elements=["a", "b"]), "metric.elements: names the nodes of a graph"),
    "budgets too few": (lambda: metrics.taxonomy([["a"], ["b"]], [1.0]), "metric.budgets: 1 for a tree of 2 levels"),
    "form": (lambda: metrics.taxonomy([["a"]], [1, 1], form="mean"), "metric.form: 'mean' is unknown"),  # type: ignore[arg-type]
    "no root": (lambda: metrics.taxonomy(nx.star_graph(3), [1.0]), "metric.root: is missing"),
    "strange root": (lambda: metrics.taxonomy(nx.star_graph(3), [1.0], root="top"), "metric.root: 'top' is no node"),
    "two roots": (lambda: metrics.taxonomy(nx.DiGraph([("r", 0), ("s", 1)]), [1.0]), "2 nodes have no group above them"),
    "circle": (lambda: metrics.taxonomy(nx.Graph([("r", 0), ("r", 1), (0, 1)]), [1.0], root="r"), "closes a circle"),
    "two groups above": (lambda: metrics.taxonomy(nx.DiGraph([("r", "a"), ("r", "b"), ("a", 0), ("b", 0)]), [1, 1]), "closes a circle"),
    "apart": (lambda: metrics.taxonomy(nx.Graph([("r", 0), (1, 2)]), [1.0], root="r"), "does not hang below the root 'r'"),
    "a group for an element": (lambda: metrics.taxonomy(nx.DiGraph([("r", "a"), ("a", "x"), ("a", "y")]), [1, 1], elements=["a", "x", "y"]), "['a'] are missing"),
    "budget 0": (lambda: metrics.taxonomy([[], []], [0.0]), "metric.budgets[0]: 0.0 is not a positive"),
    "no tree": (lambda: metrics.taxonomy("abc", [1.0]), "metric.tree: 'abc' is no taxonomy"),
    "groups of text": (lambda: metrics.taxonomy(["DE", "FR"], [1.0, 1.0]), "metric.tree[0]: 'DE' is no list of groups"),
    "another order": (lambda: Problem(COUNTS, metrics.graph(nx.path_graph(TOWNS[::-1]), elements=TOWNS[::-1])), "its element 0 was matched as 'Lyon', that of the workload is 'Bonn'"),
    "another order, inside": (lambda: Problem(COUNTS, 2.0 * metrics.taxonomy({t: [] for t in TOWNS}, [1.0], elements=TOWNS[::-1])), "matched as 'Lyon'"),
    "too many to draw": (lambda: relation_drawing(metrics.uniform(MOST_DRAWN_ELEMENTS + 1, 1.0)), "elements are more than"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_refusals(name: str) -> None:
    call, text = BAD[name]
    with pytest.raises(InvalidProblem) as refusal:
        call()
    assert text in str(refusal.value)


def test_elements_that_nobody_named_are_in_the_order_that_is_stated() -> None:
    """The way on for who wants the order of the nodes."""
    drawn = nx.path_graph(["Lyon", "Bonn", "Jena"])
    relation = metrics.graph(drawn, elements=list(drawn.nodes))
    assert Problem(Workload.identity(3), relation).relation is relation
    swapped = metrics.graph(nx.path_graph(["e1", "e0", "e2"]), elements=["e1", "e0", "e2"])
    with pytest.raises(InvalidProblem, match="matched as 'e1'"):
        Problem(Workload.identity(3), swapped)


def test_policies_take_graphs_and_match_labels() -> None:
    roads = nx.path_graph(["Lyon", "Jena", "Köln", "Bonn"])
    within_two = metrics.blowfish(roads, 2, 0.5, elements=COUNTS)
    assert [within_two.exact_budget(0, j) for j in (1, 2, 3)] == [Fraction(1, 2), Fraction(1, 2), 1]
    smooth = metrics.smooth_threshold(roads, 2, 1.0, elements=TOWNS)
    assert [smooth.exact_budget(0, j) for j in (1, 2, 3)] == [1, 1, Fraction(3, 2)]
    secrets = metrics.blowfish_graph(roads, 0.25, elements=TOWNS)
    assert secrets.exact_budget(0, 3) == Fraction(3, 4) and secrets.matched == TOWNS
    assert metrics.graph([("Bonn", "Lyon", 2.0)], elements=TOWNS).exact_budget(0, 3) == 2


# taxonomies


def trees() -> Iterator[tuple[nx.DiGraph, list[str]]]:
    for seed in range(12):
        rng = np.random.default_rng(seed)
        tree = nx.DiGraph()
        tree.add_node("root")
        for i in range(14):
            shallow = [node for node in tree if nx.shortest_path_length(tree, "root", node) < 3]
            tree.add_edge(shallow[rng.integers(len(shallow))], f"node {i}")
        leaves = [node for node in tree if tree.out_degree(node) == 0]
        yield tree, [str(leaf) for leaf in rng.permutation(leaves)]


@pytest.mark.parametrize("form", ["sum", "max"])
def test_a_taxonomy_costs_what_lies_below_the_lowest_common_ancestor(form: Any) -> None:
    """Against networkx's ancestors; ultrametric in exact arithmetic; and half the path where leaves are equally deep."""
    for tree, leaves in trees():
        depth = nx.single_source_shortest_path_length(tree, "root")
        levels = max(depth[leaf] for leaf in leaves)
        budgets = [0.7, 0.1, 0.25][:levels]
        d = metrics.taxonomy(tree, budgets, form=form, elements=leaves)
        undirected = metrics.taxonomy(tree.to_undirected(), budgets, form=form, elements=leaves, root="root")
        assert np.array_equal(d.distances(), undirected.distances())
        for (i, u), (j, v) in itertools.combinations(enumerate(leaves), 2):
            below = list(map(Fraction, budgets[depth[nx.lowest_common_ancestor(tree, u, v)] :]))
            assert d.exact_budget(i, j) == (sum(below) if form == "sum" else max(below))
            assert all(d.exact_budget(i, j) <= max(d.exact_budget(i, k), d.exact_budget(k, j)) for k in range(len(leaves)))  # type: ignore[operator,type-var]


def test_a_level_that_tells_apart_what_is_not_protected() -> None:
    groups = {"Bonn": ["DE", "west"], "Köln": ["DE", "west"], "Jena": ["DE", "east"], "Lyon": ["FR", "ARA"]}
    d = metrics.taxonomy(groups, [math.inf, 0.5, 0.25], elements=COUNTS)
    assert [d.exact_budget(0, j) for j in (1, 2, 3)] == [Fraction(1, 4), Fraction(3, 4), None]
    assert d.components().tolist() == [0, 0, 0, 1] and d.largest_budget() == 0.75 and Problem(COUNTS, d).relation is d


def test_half_the_path_of_the_tree_where_all_leaves_are_equally_deep() -> None:
    tree = nx.balanced_tree(2, 3, create_using=nx.DiGraph)
    weights, leaves = [2.0, 0.5, 0.25], list(range(7, 15))
    for u, v in tree.edges:
        tree.edges[u, v]["weight"] = weights[nx.shortest_path_length(tree, 0, u)] / 2
    paths = metrics.restriction(metrics.graph(tree.to_undirected()), leaves)
    names = [str(leaf) for leaf in leaves]
    assert np.array_equal(paths.distances(), metrics.taxonomy(tree, weights, elements=names).distances())


# problem files and pictures

ELEMENTS = "town,country,part\nBonn,DE,west\nKöln,DE,west\nJena,DE,east\nLyon,FR,ARA\n"


FILE = '[elements]\ntable = "towns.csv"\nnames = ["town"]\n[workload]\nbuilder = "identity"\n[relation]\n'


def written(tmp_path: Path, relation: str) -> Path:
    (tmp_path / "towns.csv").write_text(ELEMENTS)
    (tmp_path / "problem.toml").write_text(FILE + relation)
    return tmp_path / "problem.toml"


def test_problem_files_have_taxonomies_and_graphs_by_name(tmp_path: Path) -> None:
    from designer import read_problem

    path = written(tmp_path, 'metric = "taxonomy"\nlevels = ["country", "part"]\nbudgets = [2.0, 0.5, 0.25]\nform = "max"\n')
    relation = read_problem(path).problem.relation
    assert [relation.exact_budget(0, j) for j in (1, 2, 3)] == [Fraction(1, 4), Fraction(1, 2), 2]
    path = written(tmp_path, 'metric = "graph"\nedges = [["Lyon", "Bonn"], ["Köln", "Bonn", 0.5]]\nper_edge = 2\n')
    relation = read_problem(path).problem.relation
    assert [relation.exact_budget(0, j) for j in (1, 2, 3)] == [1, None, 2]
    for broken, text in (
        ('levels = ["land"]\nbudgets = [1]\n', "no column of that name"),
        ('levels = ["part"]\nbudgets = [1]\n', "1 for a tree"),
    ):
        with pytest.raises(InvalidProblem, match=text):
            read_problem(written(tmp_path, f'metric = "taxonomy"\n{broken}'))  # fmt: skip


def test_the_relation_is_drawn_by_show_and_by_a_comparison(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    path = written(tmp_path, 'metric = "taxonomy"\nlevels = ["country"]\nbudgets = [2.0, 0.5]\n')
    assert main(["show", str(path), "--plot", str(tmp_path / "graph.png")]) == 0
    assert (tmp_path / "graph.png").read_bytes()[:4] == b"\x89PNG" and "graph.png" in capsys.readouterr().out
    result = compare(Problem(COUNTS, metrics.uniform(4, 1.0)), ["laplace"])
    assert plot(result, tmp_path / "compared.svg", kind="relation").read_text().count("<path") > 6


def test_distances_in_a_picture_are_budgets_where_a_plane_holds_them() -> None:
    """A rectangle of sides 3 and 4 comes back up to motions; parts that nothing joins do not overlap."""
    pytest.importorskip("matplotlib")
    corners = np.array([[0.0, 0.0], [3.0, 0.0], [3.0, 4.0], [0.0, 4.0]])
    axes = relation_drawing(metrics.euclidean(corners), TOWNS).figure().axes[0]
    spots = np.asarray(axes.collections[-1].get_offsets())
    assert np.linalg.norm(spots[:, None] - spots, axis=2) == pytest.approx(
        np.linalg.norm(corners[:, None] - corners, axis=2), abs=1e-2
    )
    assert "6 protected pairs" in axes.get_title(loc="left") and [text.get_text() for text in axes.texts] == list(TOWNS)
    apart = relation_drawing(metrics.partition(["a", "a", "b", "b"], 1.0)).figure().axes[0]
    across = np.asarray(apart.collections[-1].get_offsets())[:, 0]
    assert max(across[:2]) < min(across[2:]) or max(across[2:]) < min(across[:2])
    assert "2 protected pairs, budget 1 each" in apart.get_title(loc="left")


def random_edges(seed: int, nodes: int, edges: int) -> list[tuple[int, int, float]]:
    draw = np.random.default_rng(seed)
    ends = draw.integers(0, nodes, (edges, 2))
    return [
        (int(i), int(j), float(w)) for (i, j), w in zip(ends, draw.choice([0.1, 0.3, 1.0, 2.5], edges), strict=True) if i != j
    ]


def largest_of_all_pairs(relation: Metric) -> float:
    budgets = relation.distances()
    return float(budgets[np.isfinite(budgets)].max())


@pytest.mark.parametrize("seed", range(12))
def test_the_longest_path_is_that_of_all_pairs_in_any_graph(seed: int) -> None:
    nodes = 60
    relation = metrics.graph(random_edges(seed, nodes, (20, 50, 90, 300)[seed % 4]), per_edge=0.7, nodes=nodes)
    assert relation.largest_budget() == pytest.approx(largest_of_all_pairs(relation), rel=1e-11)
    assert "upper bound" not in relation.sentence()


@settings(max_examples=50, deadline=None, derandomize=True)
@given(graphs())
def test_small_graphs_with_ties_and_parts(relation: Metric) -> None:
    assert relation.largest_budget() == pytest.approx(largest_of_all_pairs(relation), rel=1e-11)


def test_a_large_ring_gets_a_bound_that_says_so_and_survives_a_spec(tmp_path) -> None:  # type: ignore[no-untyped-def]
    ring = [(i, (i + 1) % 501) for i in range(501)]
    with patch("designer.relations.metrics.graphs.REACHED", 501 * 40):
        relation = metrics.graph(ring, per_edge=0.5)
        assert 125.0 <= relation.largest_budget() <= 1.1 * 125.0
        assert relation.sentence().endswith(" The largest finite budget is an upper bound.")
        made = design(Problem(Workload(np.random.default_rng(0).random((1, 501))), relation), "laplace").mechanism
        path = tmp_path / "ring.json"
        made.save(path)
        assert load(path) == made
    assert metrics.graph(ring, per_edge=0.5).largest_budget() == 125.0


def test_paths_start_from_few_nodes_of_a_tree_and_of_a_grid() -> None:
    side = 40
    at = np.arange(side * side).reshape(side, side)
    left = np.concatenate([at[:, :-1].ravel(), at[:-1].ravel()])
    right = np.concatenate([at[:, 1:].ravel(), at[1:].ravel()])
    lengths = np.random.default_rng(0).uniform(1, 2, len(left))
    matrix, label = csr_edges(left, right, lengths, side * side), np.zeros(side * side, dtype=np.intp)
    with patch("designer.relations.metrics.graphs.REACHED", side * side * 60):
        found = longest_path(matrix, label)
    assert found.stated == found.least


@pytest.mark.parametrize("kind", [metrics.euclidean, metrics.manhattan, metrics.chebyshev, metrics.great_circle])
def test_the_pairs_that_a_policy_joins_are_found_by_search(kind) -> None:  # type: ignore[no-untyped-def]
    places = np.random.default_rng(3).integers(0, 30, (400, 2)) * 0.5
    for threshold in (0.5, 1.0, 1.5):
        ground = kind(places)
        budgets = ground.distances()
        threshold = float(np.sort(budgets[0])[20]) if kind is metrics.great_circle else threshold
        expected = metrics.blowfish(ground, threshold, 0.5).joined
        with patch("designer.problem.budget_bounds.SCANNED", 0):
            found = metrics.blowfish(kind(places), threshold, 0.5).joined
        assert np.array_equal(found, expected)

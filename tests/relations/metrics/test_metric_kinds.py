"""Every kind of metric: axioms in exact arithmetic, budgets against an independent formula, blocks,
certificates over all pairs, specs."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import jsonschema
import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from designer import Domain, Problem, Workload, design, load, metrics
from designer.base.json_text import plain
from designer.certificate.frozen import to_spec
from designer.certificate.guarantee import budget_range
from designer.files.schema import spec_schema
from designer.problem.relation import Relation, finite_pairs
from designer.relations.kinds import RELATIONS, relation_from_spec
from designer.relations.metrics.metric import Metric
from solvers.exact.rational import root_below
from tests.oracles.metric_kinds import DOMAIN, SPECIMENS, every_metric, with_origin

SCHEMA = spec_schema()
FORM = jsonschema.Draft202012Validator({"$defs": SCHEMA["$defs"], "$ref": "#/$defs/relation"})
ROUNDED_DOWN = Fraction(1, 2**70)  # irrational parts are rounded down by less than 2^-79 of themselves, a few times
every_relation = st.one_of(every_metric(), with_origin())


def points_of(relation: Relation) -> int:
    return len(relation.points(np.empty((relation.size, 0))))


def all_budgets(relation: Relation) -> dict[tuple[int, int], Fraction | None]:
    pairs = itertools.product(range(points_of(relation)), repeat=2)
    return {pair: relation.exact_budget(*pair) for pair in pairs}


def axioms_hold_in_exact_arithmetic(relation: Relation) -> None:
    d = all_budgets(relation)
    for (i, j), budget in d.items():
        assert budget == d[j, i]
        assert budget == 0 if i == j else budget is None or budget >= 0
        for k in range(points_of(relation)):
            way = d[i, k], d[k, j]
            if None not in way:
                assert budget is not None
                assert budget <= sum(way) * (1 + ROUNDED_DOWN)


def blocks_imply_all_pairs_and_no_more(relation: Relation) -> None:
    """Shortest paths over the listed pairs, by another library and in exact arithmetic, are the budgets of all pairs."""
    d = all_budgets(relation)
    graph = nx.Graph()
    graph.add_nodes_from(range(points_of(relation)))
    for block in relation.blocks():
        finite = block.budgets[np.isfinite(block.budgets)]
        for left, right, budget in zip(*finite_pairs(block), finite.tolist(), strict=True):
            exact = d[left, right]
            assert left != right
            assert exact is not None
            assert abs(Fraction(budget) - exact) <= Fraction(relation.budget_error) * exact + exact / 2**78
            graph.add_edge(int(left), int(right), weight=exact)
    for i, paths in nx.all_pairs_dijkstra_path_length(graph):
        for j in range(points_of(relation)):
            budget = d[i, j]
            assert (budget is None) == (j not in paths)
            if budget is not None:
                assert budget * (1 - ROUNDED_DOWN) <= paths[j] <= budget * (1 + ROUNDED_DOWN)
    assert len(set(relation.components().tolist())) == nx.number_connected_components(graph)
    assert all(len({int(relation.components()[v]) for v in part}) == 1 for part in nx.connected_components(graph))


def floats_agree_with_exact_budgets(relation: Relation) -> None:
    d = all_budgets(relation)
    finite = [budget for budget in d.values() if budget is not None]
    assert relation.largest_budget() == pytest.approx(float(max(finite)), rel=1e-12, abs=0)
    least, most = budget_range(relation)
    off_diagonal = [budget for (i, j), budget in d.items() if i != j and budget is not None]
    assert (least is None) == (not off_diagonal)
    if off_diagonal:
        assert least == pytest.approx(float(min(off_diagonal)), rel=1e-12, abs=0)
        assert most == relation.largest_budget()
    if isinstance(relation, Metric):
        half = relation.size // 2
        for rows, columns in ((slice(0, half), slice(half, 2 * half)), (slice(0, 1), slice(0, relation.size))):
            np.testing.assert_array_equal(relation.rectangle(rows, columns), relation.distances()[rows, columns])
        for (i, j), budget in zip(np.ndindex(relation.size, relation.size), relation.distances().ravel(), strict=True):
            exact = d[i, j]
            assert math.isinf(budget) == (exact is None)
            if exact is not None:
                assert abs(Fraction(float(budget)) - exact) <= Fraction(relation.budget_error) * exact + exact / 2**78


def specs_bring_the_same_relation_back_and_fit_the_schema(relation: Relation) -> None:
    spec = json.loads(json.dumps(plain(relation.to_spec())))
    FORM.validate(spec)
    twin = relation_from_spec(spec)
    assert type(twin) is type(relation)
    assert plain(twin.to_spec()) == spec
    assert all_budgets(twin) == all_budgets(relation)
    assert twin.sentence() == relation.sentence()
    assert re.fullmatch(r"Any one record may [^\n]*\.", relation.sentence())
    assert not re.search(r"np\.|array|float64|nan", relation.sentence())
    assert not FORM.is_valid({**spec, "more": 1})


CHECKS = [
    axioms_hold_in_exact_arithmetic,
    blocks_imply_all_pairs_and_no_more,
    floats_agree_with_exact_budgets,
    specs_bring_the_same_relation_back_and_fit_the_schema,
]


@pytest.mark.parametrize("check", CHECKS)
@settings(max_examples=50, deadline=None)
@given(relation=every_relation)
def test_any(check: Callable[[Relation], None], relation: Relation) -> None:
    check(relation)


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("kind", SPECIMENS)
def test_one_of_every_kind(kind: str, check: Callable[[Relation], None]) -> None:
    assert SPECIMENS[kind].kind == kind
    check(SPECIMENS[kind])


def test_every_kind_that_a_spec_may_hold_is_tested() -> None:
    single = {"matrix", "great_circle", "add_remove"}  # tests/relations/metrics/test_metrics.py
    several = {
        "row_groups",
        "linked_tables",
        "invariant",
        "invariant_distance",
        "metric_and_invariant",
    }  # tests/files/test_spec_formats.py
    assert set(SPECIMENS) | single | several == set(RELATIONS)


@settings(max_examples=30, deadline=None)
@given(every_relation, st.integers(0, 10**6))
@example(metrics.line([0.0, 0.0, 0.0], period=0.1, epsilon=0.1), 0)
def test_laplace_keeps_its_promise_on_every_pair(relation: Relation, seed: int) -> None:
    """All pairs, not those of the blocks, against exact budgets: the loss `sum |u_k| / c_k` in rational arithmetic."""
    matrix = np.random.default_rng(seed).integers(-3, 4, size=(2, relation.size)).astype(float)
    d = all_budgets(relation)
    # What budget 0 joins, no answer may tell apart.
    for (i, j), budget in d.items():
        if budget == 0 and max(i, j) < relation.size:
            matrix[:, j] = matrix[:, i]
    if any(
        budget == 0 and (relation.points(matrix.T)[i] != relation.points(matrix.T)[j]).any() for (i, j), budget in d.items()
    ):
        return
    moved = relation.points(matrix.T)
    vacuous = all(budget is None or (moved[i] == moved[j]).all() for (i, j), budget in d.items())
    mechanism = design(Problem(Workload(matrix), relation, allow_vacuous=vacuous), "laplace", tolerance=1e-3).mechanism
    points = relation.points(mechanism.grid.values(mechanism.integers).T)
    worst = Fraction(0)
    for (i, j), budget in d.items():
        length = mechanism.norm.exact(
            [Fraction(a) - Fraction(b) for a, b in zip(points[i].tolist(), points[j].tolist(), strict=True)]
        )
        if budget is not None and i != j and length != 0:
            assert length is not None
            assert length <= budget * (1 + ROUNDED_DOWN)
            worst = max(worst, length / budget)
    assert mechanism.privacy.holds
    assert worst <= mechanism.privacy.worst_ratio * (1 + ROUNDED_DOWN)


def true_budget(kind: str, i: int, j: int) -> Fraction:
    """The definition, or for irrational budgets the square of it, written out."""
    u, v = SERIES[i], SERIES[j]
    moves = [abs(Fraction(a) - Fraction(b)) for a, b in zip(u, v, strict=True)]
    return {
        "chebyshev": max(moves) * Fraction(0.1),
        "manhattan": sum(moves) * Fraction(0.1),
        "line": moves[0] * Fraction(0.7) / Fraction(0.3),
        "per_element": (Fraction(OWN[i]) + Fraction(OWN[j])) * (i != j),
        "scaled": sum(m * m for m in moves) * Fraction(0.3) ** 2,
        "root_sum_squares": max(moves) ** 2 + (Fraction(OWN[i]) + Fraction(OWN[j])) ** 2 * (i != j),
    }[kind]


SERIES = [[0.1, 0.2, 0.7], [0.3, -0.4, 1.1], [1 / 3, 5.0, 0.0], [0.1, 0.2, 0.7000001]]
OWN = [0.1, 0.2, 0.7, 1 / 3]
WRITTEN: dict[str, Metric] = {
    "chebyshev": metrics.chebyshev(SERIES, 0.1),
    "manhattan": metrics.manhattan(SERIES, 0.1),
    "line": metrics.line([s[0] for s in SERIES], 0.3, 0.7),
    "per_element": metrics.per_element(OWN),
    "scaled": 0.3 * metrics.euclidean(SERIES),
    "root_sum_squares": metrics.root_sum_squares(metrics.chebyshev(SERIES), metrics.per_element(OWN)),
}


@pytest.mark.parametrize("kind", WRITTEN)
def test_exact_budgets_are_never_above_the_definition(kind: str) -> None:
    power = 2 if kind in ("scaled", "root_sum_squares") else 1
    for i, j in itertools.product(range(4), repeat=2):
        budget, true = WRITTEN[kind].exact_budget(i, j), true_budget(kind, i, j)
        assert budget is not None
        if power == 1:
            assert budget == true
        else:
            assert true * (1 - Fraction(1, 2**78)) <= budget**2 <= true
            assert budget == root_below(true) or kind == "scaled"


def test_example_1_of_the_paper() -> None:
    """The distances that DX Example 1 prints, elements counted from 1: MYA MYB MNA MNB FYA FYB FNA FNB."""
    low, high = 0.25, 2.0
    domain = Domain.of({"gender": ["M", "F"], "native": ["Y", "N"], "age": ["A", "B"]})
    d = metrics.attribute_values(domain, {"gender": [high, high], "native": {"Y": low, "N": high}, "age": [high, high]})
    found = [d.exact_budget(0, j) for j in (0, 1, 2, 7)]
    assert found == [0, Fraction(high), Fraction(low), Fraction(low) + 2 * Fraction(high)]
    for name, query, scale in (("N", [0, 0, 1, 1, 0, 0, 1, 1], 1 / low), ("M", [1, 1, 1, 1, 0, 0, 0, 0], 1 / high)):
        made = design(Problem(Workload([query], [name]), d), "laplace").mechanism
        assert made.scales[0] == pytest.approx(scale, rel=1e-9)
    open_ended = metrics.attribute_values(domain, {"gender": [math.inf] * 2, "native": [low, math.inf], "age": [math.inf] * 2})
    assert open_ended.exact_budget(0, 2) == Fraction(low)
    assert open_ended.exact_budget(0, 1) is None


def test_sum_form_of_section_5() -> None:
    d = metrics.attribute_values(DOMAIN, [[1, 2], [3, 4, 5], [6]], form="sum")
    assert [d.exact_budget(0, j) for j in (1, 2, 3, 5)] == [7, 8, 3, 11]


SPARSE: dict[str, tuple[Metric, int]] = {
    "line": (metrics.line(list(range(100)), 1, 1.0), 99),
    "multiple": (2 * metrics.euclidean(np.arange(100.0)), 99),
    "sum of multiples": (metrics.sum_of(*[f * metrics.euclidean(np.arange(100.0)) for f in (1, 2)]), 99),
    "twice the same": (metrics.root_sum_squares(*[metrics.euclidean(np.arange(100.0))] * 2), 99),
    "tree": (metrics.graph([(i, (i - 1) // 2) for i in range(1, 100)]), 99),
    "implied edge": (metrics.graph([(0, 1), (1, 2), (0, 2, 2.0)]), 2),
    "close edge": (metrics.graph([(0, 1), (1, 2), (0, 2, np.nextafter(2.0, 0))]), 3),
    "blowfish": (metrics.blowfish(np.arange(100.0), 1, 1.0), 99),
    "product": (
        metrics.product(DOMAIN, [metrics.uniform(2, 1.0), metrics.line([0, 1, 2], 1, 1.0), metrics.uniform(1, 1.0)]),
        7,
    ),
    "sum over attributes": (metrics.hamming(DOMAIN, [1, 2, 3]) + 2 * metrics.hamming(DOMAIN, [3, math.inf, 1]), 3),
    "instance": (metrics.instance([1.0, 2.0, 2.0, 2.0, 9.0]), 4),
}


@pytest.mark.parametrize("name", SPARSE)
def test_blocks_list_what_is_needed(name: str) -> None:
    metric, pairs = SPARSE[name]
    assert sum(int(np.isfinite(block.budgets).sum()) for block in metric.blocks()) == pairs


@pytest.mark.parametrize(
    "relation", [metrics.number_of_records(3, 0.5), 2 * metrics.smooth_threshold([[0, 0], [3, 4], [9, 9]], 2, 1.0)]
)
def test_designs_with_nested_relations_are_saved_and_loaded(relation: Relation, tmp_path: Path) -> None:
    made = design(
        Problem(Workload([[1.0, 1.0, 1.0]] if relation.kind == "appear_or_change" else [[1.0, 2.0, 4.0]]), relation), "laplace"
    )
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(json.dumps(to_spec(made.mechanism))))
    assert load(made.mechanism.save(tmp_path / "s.json")) == made.mechanism

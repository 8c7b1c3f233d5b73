"""What metrics refuse: field, value and remedy, with the counter-example where one breaks the triangle inequality;
and dates."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from designer import Domain, InvalidProblem, InvalidSpec, metrics
from designer.relations.kinds import relation_from_spec
from designer.relations.metrics.attributes import Product
from designer.relations.metrics.points import Ordered

DOMAIN = Domain.of({"sex": ["F", "M"], "age": ["young", "old", "older"]})
PEOPLE = Domain.of({"sex": 2, "age": 3, "one": 1})
UNIFORM = metrics.uniform(2, 1.0)

BAD: dict[str, tuple[Callable[[], object], str]] = {
    "min form": (
        lambda: metrics.attribute_values(DOMAIN, {"sex": [1, 9], "age": {"young": 1, "old": 3, "older": 5}}),
        "metric.budgets[age]: breaks the triangle inequality: min(epsilon_old, epsilon_older) = 3.0 is more than "
        "min(epsilon_old, epsilon_young) + min(epsilon_young, epsilon_older) = 2.0. Pass closure=True",
    ),
    "form": (lambda: metrics.attribute_values(DOMAIN, [[1, 2], [3, 4, 5]], form="max"), 'form: \'max\' is unknown; use "min"'),
    "instance": (lambda: metrics.instance([5.0, 1.0, 2.5]), "min(epsilon_2, epsilon_0) = 2.5 is more than"),
    "instance infinite": (lambda: metrics.instance([math.inf, 1.0, math.inf]), "= inf is more than"),
    "instance closure": (lambda: metrics.instance([1.0], closure=1), "metric.closure: 1 is neither"),
    "epsilons 0": (lambda: metrics.per_element([1.0, 0.0]), "metric.epsilons[1]: 0.0 is not a positive"),
    "epsilons NaN": (lambda: metrics.per_element([1.0, math.nan]), "metric.epsilons: entry [1] is nan"),
    "epsilons 1e300": (lambda: metrics.per_element([1e300]), "metric.epsilons[0]: 1e+300 is out of range"),
    "epsilons empty": (lambda: metrics.instance([]), "metric.epsilons: is empty"),
    "values missing": (lambda: metrics.attribute_values(DOMAIN, [[1, 2], {"young": 1}]), (
        "metric.budgets[age]: given for "
        "['young']"
    )),
    "values short": (lambda: metrics.attribute_values(DOMAIN, [[1, 2], [1]]), "metric.budgets[age]: [1] for 3 values"),
    "value text": (lambda: metrics.attribute_values(DOMAIN, [[1, 2], "abc"]), "metric.budgets[age]: 'abc' for 3 values"),
    "attributes short": (lambda: metrics.attribute_values(DOMAIN, [[1, 2]]), "for 2 attributes; give one entry for each"),
    "attribute names": (lambda: metrics.product(DOMAIN, {"sex": UNIFORM}), "metric.parts: given for ['sex']"),
    "part size": (lambda: metrics.product(DOMAIN, [UNIFORM, UNIFORM]), (
        "metric.parts[age]: speaks of 2 "
        "elements where 3 are needed"
    )),
    "part missing": (lambda: Product(DOMAIN, (UNIFORM,)), "metric.parts: 1 for 2 attributes"),
    "line mixed": (lambda: metrics.line(["2020-01-01", "2020-01-01T10:00"], 1, 1), "metric.values: mix dates"),
    "line numbers and dates": (lambda: metrics.line([1, "2020-01-01"], 1, 1), "metric.values: entry 0 is 1"),
    "line text": (lambda: metrics.line(["monday"], 1, 1), "metric.values: entry 0 is 'monday'; give dates such as"),
    "line empty": (lambda: metrics.line([], 1, 1), "metric.values: is empty"),
    "line period": (lambda: metrics.line([1, 2], 0, 1), "metric.period: 0.0"),
    "line period of numbers": (lambda: metrics.line([1, 2], timedelta(days=1), 1), (
        "is a length of time, the values are "
        "numbers"
    )),
    "line epsilon": (lambda: metrics.line([1, 2], 1, -1), "metric.epsilon: -1.0"),
    "line wide": (lambda: metrics.line([0.0, 1e200], 1, 1), "choose units"),
    "line far times": (lambda: metrics.line(["9999-01-01T00:00:00.000001"], 1, 1), "integers beyond 2^53"),
    "line steep": (lambda: metrics.line([0.0, 1.0], 1e-250, 1e-20), "metric.period: 1e-250 gives a budget of 9.99"),
    "line steeper": (lambda: metrics.line([0.0, 0.0], 1e-300, 1e300), "gives a budget of inf"),
    "line unit": (lambda: Ordered(np.zeros(1), 1.0, 1.0, "year"), "metric.unit: 'year' is unknown"),
    "series 3-D": (lambda: metrics.chebyshev([[[1.0]]]), "metric.points: has 3 dimensions"),
    "series rate": (lambda: metrics.manhattan([[1.0, 2.0]], 0), "metric.per_unit: 0.0"),
    "series wide": (lambda: metrics.manhattan([[0.0, 0.0], [1e200, 1.0]]), "choose units"),
    "directed": (lambda: metrics.graph(nx.DiGraph([(0, 1)])), "metric.graph: is directed"),
    "no nodes": (lambda: metrics.graph(nx.Graph()), "metric.graph: has no nodes"),
    "other number of nodes": (lambda: metrics.graph(nx.path_graph(3), nodes=4), "metric.nodes: 4, but the graph has 3"),
    "weight of text": (lambda: metrics.graph([(0, 1, "a")]), "metric.edges[0].weight: 'a' is not a number"),
    "weight 0": (lambda: metrics.graph([(0, 1, 0.0)]), "metric.edges[0].weight: 0.0"),
    "weight infinite": (lambda: metrics.graph([(0, 1, math.inf)]), "metric.edges[0].weight: inf"),
    "weight 1e200": (lambda: metrics.graph([(0, 1, 1e200)]), "metric.edges[0].weight: 1e+200 is out of range"),
    "loop": (lambda: metrics.graph([(0, 1), (1, 1)]), "metric.edges[1]: joins 1 and 1 of 2 elements"),
    "negative node": (lambda: metrics.graph([(-1, 1)]), "metric.edges[0]: joins -1 and 1"),
    "half a node": (lambda: metrics.graph([(0.5, 1)]), "metric.edges[0]: 0.5 is no element number"),
    "edge of four": (lambda: metrics.graph([(0, 1, 2, 3)]), "metric.edges[0]: (0, 1, 2, 3) is no edge"),
    "no graph": (lambda: metrics.graph("abc"), "metric.edges: 'abc' is no graph"),
    "per_edge": (lambda: metrics.graph([(0, 1)], per_edge=-1), "metric.per_edge: -1.0"),
    "labels of text": (lambda: metrics.partition("abc", 1.0), "metric.labels: 'abc' lists no parts"),
}  # fmt: skip


OF_NUMBERS: dict[str, tuple[Callable[[], object], str]] = {
    "asymmetric": (lambda: metrics.from_matrix([[0, 1], [2, 0]]), "d(0, 1) = 1.0 but d(1, 0) = 2.0"),
    "asymmetric infinity": (lambda: metrics.from_matrix([[0, math.inf], [2, 0]]), "d(0, 1) = inf but d(1, 0) = 2.0"),
    "diagonal": (lambda: metrics.from_matrix([[0, 1], [1, 3]]), "d(1, 1) = 3.0 on the diagonal"),
    "diagonal infinite": (lambda: metrics.from_matrix([[math.inf]]), "d(0, 0) = inf on the diagonal"),
    "negative": (lambda: metrics.from_matrix([[0, 1, -2], [1, 0, 1], [-2, 1, 0]]), "d(0, 2) = -2.0 is negative"),
    "minus infinity": (lambda: metrics.from_matrix([[0, -math.inf], [-math.inf, 0]]), "d(0, 1) = -inf is negative"),
    "NaN": (lambda: metrics.from_matrix([[0, math.nan], [1, 0]]), "entry [0, 1] is nan"),
    "triangle": (
        lambda: metrics.from_matrix([[0, 1, 3], [1, 0, 1], [3, 1, 0]]),
        "d(0, 2) = 3.0 is more than d(0, 1) + d(1, 2) = 2.0",
    ),
    "triangle by infinity": (
        lambda: metrics.from_matrix([[0, 1, math.inf], [1, 0, 1], [math.inf, 1, 0]]),
        "d(0, 2) = inf is more",
    ),
    "triangle by zeros": (lambda: metrics.from_matrix([[0, 0, 1], [0, 0, 0], [1, 0, 0]]), "pass closure=True"),
    "not square": (lambda: metrics.from_matrix([[0, 1]]), "shape (1, 2)"),
    "text": (lambda: metrics.from_matrix([["0", "1"], ["1", "0"]]), "metric.matrix"),
    "epsilon 0": (lambda: metrics.uniform(2, 0), "epsilon: 0.0 is not a positive finite"),
    "epsilon -1": (lambda: metrics.uniform(2, -1), "epsilon: -1.0"),
    "epsilon NaN": (lambda: metrics.uniform(2, np.float64("nan")), "epsilon: nan"),
    "epsilon infinite": (lambda: metrics.uniform(2, math.inf), "epsilon: inf"),
    "epsilon True": (lambda: metrics.uniform(2, True), "epsilon: True is not a number"),
    "epsilon text": (lambda: metrics.uniform(2, np.str_("1")), "epsilon: '1' is not a number"),
    "epsilon 10^400": (lambda: metrics.uniform(2, 10**400), "epsilon: inf"),
    "n 0": (lambda: metrics.uniform(np.int64(0), 1.0), "n: 0 is not a whole"),
    "points 3-D": (lambda: metrics.euclidean([[[1.0]]]), "metric.points: has 3 dimensions"),
    "points ragged": (lambda: metrics.euclidean([[1.0, 2.0], [1.0]]), "metric.points"),
    "points NaN": (lambda: metrics.euclidean([math.nan]), "metric.points"),
    "points infinite": (lambda: metrics.euclidean([math.inf, 0]), "metric.points"),
    "points empty": (lambda: metrics.euclidean([]), "metric.points: is empty"),
    "points text": (lambda: metrics.euclidean(["a"]), "metric.points"),
    "points 1e300": (lambda: metrics.euclidean([[0, 0], [1e300, 0]]), "choose units"),
    "points 1.7e308": (lambda: metrics.euclidean([-1.7e308, 1.7e308]), "choose units"),
    "points 1e-300": (lambda: metrics.euclidean([[0, 0], [1e-300, 1]]), "choose units"),
    "per_unit 1e-300": (lambda: metrics.euclidean([[0, 0], [1e-3, 0]], 1e-300), "choose units"),
    "per_unit 1e300": (lambda: metrics.euclidean([[0, 0], [1e3, 0]], 1e300), "choose units"),
    "per_unit": (lambda: metrics.euclidean([1, 2], -1), "metric.per_unit: -1.0"),
    "swapped": (
        lambda: metrics.great_circle([(40.0, -74.0), (-118.2, 34.0)]),
        "latitude -118.2 of row 1 is beyond 90.0 degrees; latitude comes first",
    ),
    "longitude": (lambda: metrics.great_circle([(0.0, 361.0)]), "longitude 361.0 of row 0"),
    "three columns": (lambda: metrics.great_circle([(0.0, 1.0, 2.0)]), "3 columns"),
    "per_km": (lambda: metrics.great_circle([(0.0, 1.0)], math.nan), "metric.per_km: nan"),
    "hamming short": (lambda: metrics.hamming(PEOPLE, [1.0]), "1 for 3 attributes"),
    "hamming names": (lambda: metrics.hamming(PEOPLE, {"sex": 1}), "budgets: given for ['sex']"),
    "hamming zero": (lambda: metrics.hamming(PEOPLE, [1.0, 0.0, 1.0]), "budgets[age]: 0.0"),
    "hamming NaN": (lambda: metrics.hamming(PEOPLE, [1.0, math.nan, 1.0]), "budgets[age]: nan"),
    "add_remove short": (lambda: metrics.add_remove(3, [1.0, 2.0]), "2 budgets for 3 elements"),
    "add_remove zero": (lambda: metrics.add_remove(2, [1.0, 0.0]), "epsilon[1]: 0.0"),
    "add_remove NaN": (lambda: metrics.add_remove(2, [1.0, math.nan]), "epsilon: entry [1] is nan"),
    "add_remove 2-D": (lambda: metrics.add_remove(2, [[1.0, 2.0]]), "epsilon: has 2 dimensions"),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("call", "text"), [*BAD.values(), *OF_NUMBERS.values()], ids=[*BAD, *OF_NUMBERS])
def test_refusals(call: Callable[[], object], text: str) -> None:
    with pytest.raises(InvalidProblem) as refusal:
        call()
    assert text in str(refusal.value)
    assert "np." not in str(refusal.value)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from([0.5, 1.0, 1.5, 2.0, 3.0, math.inf]), min_size=1, max_size=5))
def test_the_minimum_is_refused_exactly_where_three_elements_break_it(epsilons: list[float]) -> None:
    n = range(len(epsilons))
    d = [[0.0 if i == j else min(epsilons[i], epsilons[j]) for j in n] for i in n]
    broken = [(i, j, k) for i in n for j in n for k in n if d[i][j] > d[i][k] + d[k][j]]
    try:
        metrics.instance(epsilons)
    except InvalidProblem:
        assert broken
    else:
        assert not broken
    closed = metrics.instance(epsilons, closure=True)
    for _ in n:  # whole multiples of a half: float sums are exact
        d = [[min(d[i][k] + d[k][j] for k in n) for j in n] for i in n]
    assert all((closed.exact_budget(i, j) is None) == math.isinf(d[i][j]) for i in n for j in n)
    assert all(closed.exact_budget(i, j) == d[i][j] for i in n for j in n if math.isfinite(d[i][j]))


def test_two_values_are_always_a_metric() -> None:
    d = metrics.attribute_values(Domain.of({"a": 2, "b": 2}), [[0.1, 100.0], [math.inf, 5.0]])
    assert d.exact_budget(0, 3) == Fraction(0.1) + 5


UTC = UTC
WHEN: dict[str, tuple[list[object] | np.ndarray, float | timedelta, Fraction]] = {
    "dates": ([date(2020, 2, 28), date(2020, 3, 1)], 7, Fraction(2, 7)),
    "texts": (["2020-02-28", "2020-03-01"], 7, Fraction(2, 7)),
    "weeks": (["2020-02-28", "2020-03-01"], timedelta(weeks=1), Fraction(2, 7)),
    "times": ([datetime(2020, 1, 1, 6), datetime(2020, 1, 2, 0)], 1, Fraction(3, 4)),
    "time texts": (["2020-01-01T06:00:00", "2020-01-01T06:00:00.000001"], 1, Fraction(1, 86_400_000_000)),
    "hours": (["2020-01-01T06:00", "2020-01-01T18:00"], timedelta(hours=3), Fraction(4)),
    "zones": ([datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 1, 1, tzinfo=timezone(timedelta(hours=6)))], 1, Fraction(1, 4)),
    "numpy days": (np.array(["2020-02-28", "2020-03-01"], dtype="M8[D]"), 7, Fraction(2, 7)),
    "numpy nanoseconds": (np.array(["2020-01-01T06", "2020-01-01T18"], dtype="M8[ns]"), 1, Fraction(1, 2)),
    "numbers": ([3, 5.5], 5, Fraction(1, 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", WHEN)
def test_dates_and_other_ordered_values(name: str) -> None:
    values, period, budget = WHEN[name]
    relation = metrics.line(values, period, 1.0)
    assert relation.exact_budget(0, 1) == relation.exact_budget(1, 0) == budget
    assert ("days" in relation.sentence()) == (name != "numbers")


NEST = {"kind": "uniform", "elements": 2, "epsilon": 1.0}
FORGED: dict[str, object] = {
    "part of another kind": {"kind": "scaled", "factor": 2.0, "part": {"kind": "os.system"}},
    "part that is no metric": {"kind": "scaled", "factor": 2.0, "part": {"kind": "add_remove", "epsilons": [1.0]}},
    "part with a key more": {"kind": "scaled", "factor": 2.0, "part": {**NEST, "more": 1}},
    "factor as an integer": {"kind": "scaled", "factor": 2, "part": NEST},
    "minimum that is no metric": {"kind": "instance", "epsilons": [1.0, 3.0, 3.0], "closure": False},
    "edges out of order": {"kind": "graph", "nodes": 3, "edges": [[1, 2], [0, 1]], "weights": [1.0, 1.0], "per_edge": 1.0},
    "edges twice": {"kind": "graph", "nodes": 3, "edges": [[0, 1], [0, 1]], "weights": [1.0, 1.0], "per_edge": 1.0},
    "weights short": {"kind": "graph", "nodes": 3, "edges": [[0, 1]], "weights": [], "per_edge": 1.0},
    "one column": {"kind": "chebyshev", "points": [[1.0], [2.0]], "per_unit": 1.0},
    "sum of other universes": {"kind": "sum", "parts": [NEST, {**NEST, "elements": 3}]},
    "closure as a number": {"kind": "appear_or_change", "change": NEST, "epsilons": [1.0, 1.0], "closure": 1},
    "elements as floats": {"kind": "restricted", "part": NEST, "elements": [0.0]},
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_forged_specs_of_relations_are_refused(name: str) -> None:
    with pytest.raises((InvalidSpec, InvalidProblem, ValueError)):
        relation_from_spec(FORGED[name])


def test_nests_in_specs_end() -> None:
    spec: dict[str, object] = NEST
    for _ in range(7):
        spec = {"kind": "scaled", "factor": 1.0, "part": spec}
    assert relation_from_spec(spec).exact_budget(0, 1) == 1
    with pytest.raises(InvalidProblem, match="nests metrics 8 deep"):
        relation_from_spec({"kind": "scaled", "factor": 1.0, "part": spec})


def test_of_two_budgets_that_differ_by_a_rounding_the_smaller_one_counts() -> None:
    """A matrix that is symmetric up to its last digits promises what both of its entries do."""
    d = np.array([[0.0, 1.0, 2.0], [1.0 + 1e-12, 0.0, 1.0], [2.0 - 1e-12, 1.0, 0.0]])
    for entries in (d, d.T):
        metric = metrics.from_matrix(entries)
        assert metric.exact_budget(0, 1) == metric.exact_budget(1, 0) == 1
        assert float(metric.exact_budget(0, 2) or 0) == 2.0 - 1e-12

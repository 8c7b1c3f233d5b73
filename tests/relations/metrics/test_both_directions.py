"""Budgets in both directions: every metric is symmetric, by brute force, and one of a user's own that is not is refused. For
promises that do not chain a relation lists every pair: each once, with its exact budget up to the stated error. The
triangle inequality of large matrices: rows two by two, against every triple.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings

from designer import Domain, InvalidProblem, Problem, ReportProblem, Workload, design, invariants, metrics
from designer.averages.queries import StatisticalQueries
from designer.base.arrays import Floats
from designer.extend import Metric
from designer.problem.relation import Block, Relation, finite_pairs
from designer.relations.kinds import RELATIONS
from designer.relations.metrics.algebra import detours, require_triangle_inequality, shortest_paths
from designer.relations.metrics.metric import COMPARED, Uniform
from designer.relations.row_groups import RowGroups
from tests.oracles.metric_kinds import SPECIMENS, every_metric, with_origin

REFUSED = r"is not symmetric: d\(0, 1\) = 2.* and d\(1, 0\) = (0.5|1/2)"


@dataclass(frozen=True, eq=False)
class OneWay(Metric):
    """Element 1 may be told from element 0 by less than 0 from 1."""

    kind = "one way"

    @property
    def size(self) -> int:
        return 2

    def rectangle(self, rows: slice, columns: slice) -> Floats:
        return np.array([[0.0, 2.0], [0.5, 0.0]])[rows, columns]

    def exact_budget(self, left: int, right: int) -> Fraction:
        return Fraction(float(self.distances()[left, right]))

    def sentence(self) -> str:
        return "A record may change, one way at a larger budget."

    def to_spec(self) -> dict[str, Any]:
        return {"kind": self.kind}


SEXES = Domain.of({"sex": ["F", "M"]})


ENTRANCES: dict[str, Callable[[Metric], object]] = {
    "a problem": lambda d: Problem(Workload.identity(2), d),
    "scaled": lambda d: 2.0 * d,
    "a sum": lambda d: d + metrics.uniform(2, 1.0),
    "a maximum": lambda d: metrics.maximum(metrics.uniform(2, 1.0), d),
    "a root": lambda d: metrics.root_sum_squares(d, d),
    "a restriction": lambda d: metrics.restriction(d, [1, 0]),
    "a product": lambda d: metrics.product(SEXES, [d]),
    "presence": lambda d: metrics.appear_or_change(d, 3.0, closure=True),
    "a noisy total": lambda d: metrics.after_noisy_total(d, 0.25),
    "a threshold": lambda d: metrics.blowfish(d, 1.0, 0.5),
    "a smooth threshold": lambda d: metrics.smooth_threshold(d, 1.0, 0.5),
    "an invariant": lambda d: d & invariants.total(2),
    "row groups": lambda d: RowGroups((d,), ("sex",)),
    "a local channel": lambda d: ReportProblem(d, loss="zero_one"),
    "averages": lambda d: StatisticalQueries.of(SEXES, {"women": ("sex", {"F": 1, "M": 0})}, d),
}


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_a_metric_of_ones_own_that_is_not_symmetric_is_refused_at_every_entrance(entrance: str) -> None:
    with pytest.raises(InvalidProblem, match=REFUSED):
        ENTRANCES[entrance](OneWay())


def test_the_exact_budgets_count_where_the_floats_agree() -> None:
    class Hidden(OneWay):
        """Its floats say the same in both directions."""

        def rectangle(self, rows: slice, columns: slice) -> Floats:
            return np.array([[0.0, 2.0], [2.0, 0.0]])[rows, columns]

        def exact_budget(self, left: int, right: int) -> Fraction:
            return Fraction(2) if left < right else Fraction(1, 2)

    with pytest.raises(InvalidProblem, match=REFUSED):
        Problem(Workload.identity(2), Hidden())


@pytest.mark.parametrize("changed", ["rectangle", "exact_budget", "simple", "largest_budget"])
def test_a_subclass_of_a_listed_metric_keeps_its_budgets(changed: str) -> None:
    # What Uniform derives from its one budget (`simple`, `nearness`) would go on to speak of that one.
    own = type("Mine", (Uniform,), {changed: vars(OneWay).get(changed, None), "__module__": __name__})
    with pytest.raises(InvalidProblem, match=f"Mine changes {changed} of Uniform"):
        Problem(Workload.identity(2), own(2, 2.0))


def test_a_metric_that_is_no_dataclass_is_nested_as_well() -> None:
    class Plain(Metric):
        kind = "plain"
        size = 2

        def rectangle(self, rows: slice, columns: slice) -> Floats:
            return np.array([[0.0, 1.0], [1.0, 0.0]])[rows, columns]

        def exact_budget(self, left: int, right: int) -> Fraction:
            return Fraction(left != right)

        def sentence(self) -> str:
            return "One budget."

        def to_spec(self) -> dict[str, Any]:
            return {"kind": self.kind}

    twice, listed = (design(Problem(Workload.identity(2), 2.0 * d), "laplace").loss for d in (Plain(), metrics.uniform(2, 1.0)))
    assert twice == listed


def test_exact_budgets_are_compared_for_pairs_spread_over_a_large_universe() -> None:
    asked = list[tuple[int, int]]()

    @dataclass(frozen=True, eq=False)
    class Even(Metric):
        kind = "even"

        @property
        def size(self) -> int:
            return 300

        def rectangle(self, rows: slice, columns: slice) -> Floats:
            return np.subtract.outer(np.arange(300), np.arange(300))[rows, columns] ** 2 * 1.0

        def exact_budget(self, left: int, right: int) -> Fraction:
            asked.append((left, right))
            return Fraction((left - right) ** 2)

        def sentence(self) -> str:
            return ""

        def to_spec(self) -> dict[str, Any]:
            return {}

    Even().require_symmetric("relation")
    one_way = {(i, j) for i, j in asked if i < j}
    assert {(j, i) for i, j in one_way} == {(i, j) for i, j in asked if i > j} and all(i != j for i, j in asked)
    assert COMPARED / 2 < len(one_way) <= COMPARED and len({j for _, j in one_way}) > 200


TOWNS = [[52.5, 13.4], [52.4, 13.1], [48.1, 11.6], [53.6, 10.0]]


PEOPLE = Domain.of({"sex": ["F", "M"], "age": 2})


LINE = metrics.line([0, 1, 3, 4], period=1, epsilon=0.5)


METRICS: dict[str, Relation] = {  # by the kind, as files name it
    "uniform": metrics.uniform(4, 0.3),
    "per_element": metrics.per_element([0.1, 0.2, 0.7, np.inf]),
    "instance": metrics.instance([0.3, 0.5, 0.4, 0.45]),
    "partition": metrics.partition(["a", "b", "a", "b"], 0.3),
    "matrix": metrics.from_matrix([[0, 1, 2, 0.3], [1, 0, 1, 1], [2, 1, 0, 2], [0.3, 1, 2, 0]], closure=True),
    "euclidean": metrics.euclidean([[0.0, 0.1], [1.0, 0.7], [2.3, 1.1], [0.2, 0.9]], per_unit=0.3),
    "great_circle": metrics.great_circle(TOWNS, per_km=0.01),
    "line": LINE,
    "chebyshev": metrics.chebyshev([[0.1, 1.0], [0.5, 3.0], [0.7, 0.2], [0.3, 0.4]], 0.3),
    "manhattan": metrics.manhattan([[0.1, 1.0], [0.5, 3.0], [0.7, 0.2], [0.3, 0.4]], 0.3),
    "graph": metrics.graph([(0, 1, 0.3), (1, 2, 0.1), (2, 0, 0.7), (2, 3, 0.2)]),
    "taxonomy": metrics.taxonomy([["DE", "west"], ["DE", "west"], ["DE", "east"], ["FR", "ARA"]], [2.0, 0.5, 0.25]),
    "blowfish": metrics.blowfish([0.0, 1.0, 2.5, 9.0], 1.5, 0.3),
    "smooth_threshold": metrics.smooth_threshold([0.0, 1.0, 6.0, 6.5], 2, 0.3),
    "hamming": metrics.hamming(PEOPLE, [0.3, 0.7]),
    "product": metrics.product(PEOPLE, [metrics.uniform(2, 0.3), metrics.line([0, 3], period=1, epsilon=0.1)]),
    "scaled": 0.3 * LINE,
    "sum": LINE + metrics.uniform(4, 0.1),
    "maximum": metrics.maximum(LINE, metrics.uniform(4, 0.7)),
    "root_sum_squares": metrics.root_sum_squares(LINE, metrics.uniform(4, 0.7)),
    "restricted": metrics.restriction(LINE, [2, 0, 3, 1]),
    "add_remove": metrics.add_remove(4, [0.1, 0.2, 0.3, np.inf]),
    "appear_or_change": metrics.appear_or_change(LINE, [0.3, 0.1, 5.0, 0.7], closure=True),
}


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_has_the_same_budget_in_both_directions(name: str) -> None:
    relation = METRICS[name]
    points = range(len(relation.points(np.empty((relation.size, 0)))))
    for i in points:
        for j in points:
            assert relation.exact_budget(i, j) == relation.exact_budget(j, i)
    if isinstance(relation, Metric):
        distances = relation.distances()
        np.testing.assert_array_equal(distances, distances.T)


def test_every_kind_of_metric_is_among_them() -> None:
    listed = {kind for kind, of in RELATIONS.items() if issubclass(of, Metric)}
    assert listed <= set(METRICS)


def listed(blocks: Iterator[Block]) -> dict[tuple[int, int], float]:
    """The least budget of every pair, the lower number first; pairs without a budget are left out."""
    found: dict[tuple[int, int], float] = {}
    for block in blocks:
        left, right = finite_pairs(block)
        budgets = block.budgets[np.isfinite(block.budgets)]
        for i, j, budget in zip(left.tolist(), right.tolist(), budgets.tolist(), strict=True):
            pair = (min(i, j), max(i, j))
            found[pair] = min(budget, found.get(pair, math.inf))
    return found


def assert_complete(relation: Relation) -> None:
    """All pairs of points with a finite exact budget, and no others; clipped budgets count as less."""
    points = len(relation.points(np.empty((relation.size, 0))))
    found = listed(relation.every_pair())
    exact = {pair: relation.exact_budget(*pair) for pair in itertools.combinations(range(points), 2)}
    assert set(found) == {pair for pair, budget in exact.items() if budget is not None}
    for pair, budget in found.items():
        proven = exact[pair]
        assert proven is not None
        assert budget <= float(proven) * (1 + 2 * relation.budget_error + 1e-15)
        assert budget >= float(proven) * (1 - 2 * relation.budget_error - 1e-15) or not 1e-200 < proven < 1e200


@pytest.mark.parametrize("name", SPECIMENS)
def test_every_kind_lists_every_pair(name: str) -> None:
    assert_complete(SPECIMENS[name])


@settings(max_examples=60, deadline=None)
@given(every_metric())
def test_every_metric_lists_every_pair(metric: Metric) -> None:
    assert_complete(metric)


@settings(max_examples=40, deadline=None)
@given(with_origin())
def test_so_does_every_metric_with_an_origin(relation: Relation) -> None:
    assert_complete(relation)


def test_a_change_that_is_longer_than_the_way_through_the_origin_is_listed_at_that_way() -> None:
    apart = metrics.from_matrix([[0, math.inf], [math.inf, 0]])
    assert listed(metrics.appear_or_change(apart, [1.0, 2.0], closure=True).every_pair())[0, 1] == 3.0
    far = metrics.appear_or_change(metrics.uniform(2, 9.0), [1.0, 2.0], closure=True)
    assert listed(far.every_pair()) == {(0, 1): 3.0, (0, 2): 1.0, (1, 2): 2.0}


def test_records_that_appear_and_changes_of_several_records_list_all_that_they_protect() -> None:
    assert listed(metrics.add_remove(2, [1.0, math.inf]).every_pair()) == {(0, 2): 1.0}
    tables = invariants.margins((2, 2)).protect(0.5, 2)
    assert listed(tables.every_pair()) == listed(tables.blocks()) == {(0, 1): 0.5}


class Fixed(Metric):
    """A rule of one's own, of which only the rectangle is known."""

    kind = "fixed"
    size = 3  # type: ignore[assignment]

    def rectangle(self, rows: slice, columns: slice) -> np.ndarray[Any, Any]:
        return np.array([[0, 1.0, 2.5], [1.0, 0, 2.0], [2.5, 2.0, 0]])[rows, columns]

    def exact_budget(self, left: int, right: int) -> Fraction:
        return Fraction(float(self.rectangle(slice(0, 3), slice(0, 3))[left, right]))

    def sentence(self) -> str:
        return "Mine."

    def to_spec(self) -> dict[str, Any]:
        return {}


class Unlisted(Fixed):
    """A relation that does not say which pairs its blocks leave out."""

    every_pair = Relation.every_pair


def test_metrics_of_ones_own_list_their_rectangle_and_other_relations_have_to_say() -> None:
    assert_complete(dataclass(frozen=True, eq=False)(Fixed)())
    with pytest.raises(InvalidProblem, match="give it a method every_pair"):
        Problem(Workload.identity(3), dataclass(frozen=True, eq=False)(Unlisted)(), notion="approximate", delta=0.1)


def test_relations_that_cannot_list_every_pair_say_what_to_do() -> None:
    groups = RowGroups((metrics.uniform(2, 0.5), metrics.uniform(3, 0.5)), ("sex", "age"))
    with pytest.raises(InvalidProblem, match=r"metrics\.product"):
        groups.every_pair()
    with pytest.raises(InvalidProblem, match="state an adjacency"):
        invariants.total(3).protect(0.5, per_distance="l1").every_pair()


PAIRWISE = "designer.relations.metrics.algebra.PAIRWISE"


def matrices(seed: int) -> np.ndarray:
    """Distances of places, of parts, or with some entries that are too long."""
    draw = np.random.default_rng(seed)
    places = draw.integers(0, 6, (30, 2)).astype(float) if seed % 2 else draw.random((30, 2))
    d = np.abs(places[:, None] - places).sum(axis=-1) if seed % 3 else np.linalg.norm(places[:, None] - places, axis=-1)
    if seed % 5 == 0:
        part = draw.integers(0, 2, 30)
        d = np.where(part[:, None] == part, d, np.inf)
    for _ in range(seed % 4):
        i, j = draw.integers(0, 30, 2)
        if i != j:
            d[i, j] = d[j, i] = draw.choice([d[i, j] * 1.5 + 1e-3, np.inf, d[i, j] * (1 + 1e-8)])
    return d


@pytest.mark.parametrize("last", [0, 1, 150, 299])
def test_the_one_point_through_which_a_way_is_shorter_is_found_wherever_it_stands(last: int) -> None:
    d = np.full((300, 300), 10.0)
    np.fill_diagonal(d, 0.0)
    ends = [k for k in (0, 1, 150, 299) if k != last][:2]
    for end in ends:
        d[end, last] = d[last, end] = 1.0
    assert last in detours(d, 1e-9)
    with pytest.raises(InvalidProblem, match="breaks the triangle inequality"):
        require_triangle_inequality(d)
    closed, lowered = shortest_paths(d)
    assert closed[ends[0], ends[1]] == pytest.approx(2.0) and lowered[ends[0], ends[1]] and closed.max() == 10.0


@pytest.mark.parametrize("seed", range(24))
def test_rows_two_by_two_find_what_every_triple_finds(seed: int) -> None:
    d = matrices(seed)
    said: list[str] = []
    for least in (0, 10**6):
        with patch(PAIRWISE, least):
            try:
                require_triangle_inequality(d)
                said.append("")
            except InvalidProblem as refusal:
                said.append(str(refusal))
    assert said[0] == said[1]
    with patch(PAIRWISE, 0):
        closed, lowered = shortest_paths(d)
    expected, there = shortest_paths(d)
    assert np.array_equal(closed, expected) and np.array_equal(lowered, there)


def test_a_metric_has_no_detours_to_pass_through() -> None:
    d = np.linalg.norm(np.random.default_rng(0).random((300, 1, 3)) - np.random.default_rng(0).random((300, 3)), axis=-1)
    assert detours(d, 1e-10) == [] and metrics.from_matrix(d).size == 300

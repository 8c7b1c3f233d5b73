"""Budgets in both directions: every metric is symmetric, by brute force, and one of a user's own that is not is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from designer import Domain, InvalidProblem, Problem, ReportProblem, Workload, design, invariants, metrics
from designer.averages.queries import StatisticalQueries
from designer.base.arrays import Floats
from designer.extend import Metric
from designer.problem.relation import Relation
from designer.relations.kinds import RELATIONS
from designer.relations.metrics.metric import COMPARED, Uniform
from designer.relations.row_groups import RowGroups

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

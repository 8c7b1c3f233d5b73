"""Differences of angles against rationals; relations that are refused; the schema of every kind."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from designer import InvalidProblem, metrics
from designer.relations.kinds import RELATIONS
from designer.relations.metrics.points import _turn


def test_a_difference_of_angles_is_that_of_rationals_less_whole_turns() -> None:
    """Angles that differ by whole turns and a little: floats of a - b alone lose all of the little."""
    choice = np.random.default_rng(0)
    small = np.concatenate([[0.0], 10.0 ** choice.uniform(-14, 2, 400)])
    for turns in (0, 1, -1, 2):
        a = choice.choice([0.1, 1 / 3, 179.9, -179.7, 5e-9], len(small))
        b = a + small - 360.0 * turns
        found = _turn(a, b)
        for x, y, z in zip(a.tolist(), b.tolist(), np.broadcast_to(found, a.shape).tolist(), strict=True):
            exact = Fraction(x) - Fraction(y)
            exact -= 360 * round(exact / 360)
            if abs(abs(exact) - 180) > Fraction(1, 10**9):
                assert abs(Fraction(z) - exact) <= 4 * abs(exact) * Fraction(1, 2**53), (x, y)


def test_every_smoothed_metric_has_the_largest_budget_of_its_pairs() -> None:
    ground = metrics.line([0.0, 1.0, 1.5, 9.0], period=1, epsilon=1.0)
    for threshold, epsilon in itertools.product([0.5, 1.0, 4.0, 20.0], [0.25, 3.0]):
        relation = metrics.smooth_threshold(ground, threshold, epsilon)
        pairs = itertools.combinations(range(relation.size), 2)
        largest = max(relation.exact_budget(a, b) or Fraction(0) for a, b in pairs)
        assert relation.largest_budget() == pytest.approx(float(largest), rel=1e-12)


@pytest.mark.parametrize("closure", [1, "yes", None, 0])
def test_a_closure_is_accepted_by_a_truth_value_alone(closure: object) -> None:
    change = metrics.line([0, 1, 4], period=1, epsilon=1.0)
    with pytest.raises(InvalidProblem, match=r"relation\.closure: .* is neither True nor False"):
        metrics.appear_or_change(change, 2.0, closure=closure)  # type: ignore[arg-type]


def test_a_number_of_nodes_is_that_of_the_names() -> None:
    edges = [("a", "b"), ("b", "c")]
    plain = metrics.graph(edges, per_edge=1.0, elements=["a", "b", "c"])
    assert (
        metrics.graph(edges, per_edge=1.0, elements=["a", "b", "c"], nodes=3).distances().tolist() == plain.distances().tolist()
    )
    for nodes in (2, 4):
        with pytest.raises(InvalidProblem, match=rf"metric\.nodes: {nodes}, but the graph has 3"):
            metrics.graph(edges, per_edge=1.0, elements=["a", "b", "c"], nodes=nodes)


@pytest.mark.parametrize("kind", sorted(RELATIONS))
def test_the_schema_of_a_kind_asks_for_that_kind(kind: str) -> None:
    schema = RELATIONS[kind].schema
    assert schema.name == f"relation_{kind}" and schema.body["properties"]["kind"] == {"const": kind}

"""Walks on lattices, integer programs over fibres and laws that fall off by walks, against shortest paths and lists written
for themselves."""

from __future__ import annotations

import heapq
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from solvers.lattices.conforming_tables import Fibre, integer_minimum
from solvers.lattices.enumeration import short_vectors
from solvers.lattices.peaked_law import FAR, LatticeSteps, PeakedLaw, Shells, Walks

STEPS = {
    "a line": ([[1], [3]], [2, 5]),
    "a plane": ([[1, 0], [0, 1], [1, 1]], [2, 3, 4]),
    "leaps": ([[2, 1], [1, -1], [0, 3]], [5, 2, 4]),
}


def cheapest(vectors: list[list[int]], costs: list[int], far: int) -> dict[tuple[int, ...], int]:
    """The cost of every point within `far` of 0 that walks lead to, walks up to four times as far, by Dijkstra's algorithm."""
    found: dict[tuple[int, ...], int] = {}
    waiting = [(0, (0,) * len(vectors[0]))]
    while waiting:
        cost, point = heapq.heappop(waiting)
        if point in found or max(map(abs, point)) > 4 * far:
            continue
        found[point] = cost
        for vector, paid in zip(vectors, costs, strict=True):
            for sign in (1, -1):
                heapq.heappush(waiting, (cost + paid, tuple(x + sign * v for x, v in zip(point, vector, strict=True))))
    return {point: cost for point, cost in found.items() if max(map(abs, point)) <= far}


@pytest.mark.parametrize("name", STEPS)
def test_heights_are_the_costs_of_shortest_paths(name: str) -> None:
    vectors, costs = STEPS[name]
    steps, k = LatticeSteps.of(vectors, costs), 5
    s = steps.dimension
    assert s == len(vectors[0])
    shells = Shells((1,) * s, (0,) * s)
    heights = Walks(steps, shells).heights(k, np.zeros((1, s), dtype=np.int64), np.zeros(1, dtype=np.int64)).ravel()
    expected = cheapest(vectors, costs, k)
    points = (shells.points(k) // 2).tolist()
    assert len(points) == (2 * k + 1) ** s == shells.volume(k)
    assert np.minimum(heights, FAR).tolist() == [expected.get(tuple(point), FAR) for point in points]


@pytest.mark.parametrize("widths", [(1, 2), (3, 1)])
@pytest.mark.parametrize("halves", [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_shells_hold_the_points_of_their_coset(widths: tuple[int, ...], halves: tuple[int, ...]) -> None:
    """All doubled points of a box, their shells counted one by one."""
    shells = Shells(widths, halves)
    for k in (1, 2, 3):
        every = [
            p
            for p in itertools.product(range(-20, 21), repeat=2)
            if all((x - h) % 2 == 0 for x, h in zip(p, halves, strict=True))
        ]
        inside = [p for p in every if all(abs(x) <= 2 * r * k for x, r in zip(p, widths, strict=True))]
        points = shells.points(k)
        assert sorted(map(tuple, points.tolist())) == sorted(inside) and shells.volume(k) == len(inside)
        assert shells.flat(points, k).tolist() == list(range(len(inside)))
        numbers = [max(math.ceil(Fraction(abs(x), 2 * r)) for x, r in zip(p, widths, strict=True)) for p in points.tolist()]
        assert shells.numbers(points).tolist() == numbers


@pytest.mark.parametrize("unit", [Fraction(1, 3), Fraction(1, 5)])
def test_a_law_of_walks_has_the_moments_of_its_list(unit: Fraction) -> None:
    """`exp(-unit h(z))` on a line whose walks cost 2 a step and 5 three steps, added up far beyond what is told."""
    vectors, costs = STEPS["a line"]
    shells = Shells((1,), (0,))
    law = PeakedLaw(
        Walks(LatticeSteps.of(vectors, costs), shells), unit, np.zeros((1, 1), dtype=np.int64), np.zeros(1, dtype=np.int64)
    )
    heights = cheapest(vectors, costs, 150)
    masses = {point[0]: math.exp(-float(unit) * cost) for point, cost in heights.items()}
    second = sum(z * z * mass for z, mass in masses.items()) / sum(masses.values())
    told = law.expectation(lambda points: (points[:, :1] / 2) ** 2, np.ones(1), 2)
    assert told.low[0] <= second * (1 + 1e-9) and second <= told.high[0] * (1 + 1e-9)
    assert told.high[0] - told.low[0] < 1e-6 * second


def test_tails_of_a_law_of_walks_are_at_most_as_bounded_and_little_less() -> None:
    """Steps to the eight neighbours on a grid: 8 j points have height j, added up far out."""
    steps, one = LatticeSteps.of([[1, 0], [0, 1], [1, 1], [1, -1]], [1, 1, 1, 1]), np.zeros(1, dtype=np.int64)
    law = PeakedLaw(Walks(steps, Shells((1, 1), (0, 0))), Fraction(2), np.zeros((1, 2), dtype=np.int64), one)
    for k, power in itertools.product((1, 2, 5), (0, 1, 2)):
        exact = math.fsum(8 * j * j**power * math.exp(-2 * j) for j in range(k + 1, 200))
        assert exact <= law.tail(k, power) <= 2 * exact


def test_natural_widths_are_in_proportion_to_how_far_a_unit_of_cost_leads() -> None:
    assert LatticeSteps.of([[1, 0], [0, 3]], [1, 1]).natural_widths() == (1, 3)
    assert LatticeSteps.of([[4, 0, 0], [0, 3, 0], [0, 0, 5]], [2, 3, 2]).natural_widths() == (
        2,
        1,
        2,
    )  # 2, 1 and 2.5, which is even


@pytest.mark.parametrize(("status", "x"), [(1, [1.0]), (1, None), (4, None)])
def test_what_a_solver_stops_with_is_no_minimum(status: int, x: list[float] | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """HiGHS hands out the best that it has when it stops: 1, where 0 is the minimum."""
    from scipy import optimize

    stopped = optimize.OptimizeResult(x=None if x is None else np.array(x), status=status, message="it stopped")
    assert integer_minimum([1], [[1]], [0], [3], [0], [3]) == [0]
    monkeypatch.setattr(optimize, "milp", lambda *_, **__: stopped)
    with pytest.raises(RuntimeError, match="integer program: it stopped"):
        integer_minimum([1], [[1]], [0], [3], [0], [3])


def test_fewest_moves_are_those_of_all_vectors_before_and_after() -> None:
    """Tables of two rows and three columns with given totals, each against each: the unit that moves from one entry to another,
    and what else has to."""
    matrix = np.array([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1], [1, 0, 0, 1, 0, 0], [0, 1, 0, 0, 1, 0]])
    fibre = Fibre(matrix, [3, 2, 2, 2])
    every = [np.array(h) for h in itertools.product(range(4), repeat=6) if (matrix @ np.array(h) == fibre.totals).all()]
    assert sorted(map(tuple, fibre.vectors(1000).tolist())) == sorted(tuple(h.tolist()) for h in every)
    for out, into in itertools.permutations(range(6), 2):
        added = np.eye(6, dtype=int)[into] - np.eye(6, dtype=int)[out]
        moved = [
            1 + int(np.maximum(after - before - added, 0).sum())
            for before, after in itertools.product(every, repeat=2)
            if before[out] >= 1
        ]
        assert fibre.fewest_moves(out, into) == min(moved, default=None), (out, into)


def test_short_vectors_are_short_in_a_norm_that_there_is() -> None:
    with pytest.raises(ValueError, match="norm: 'linf'; give 'l1' or 'l2'"):
        short_vectors([[1, 1]], 2, norm="linf")

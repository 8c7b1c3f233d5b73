"""Bounds by multipliers: exact evaluation, multipliers that are wrong, and all cosets against many."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from solvers.programs import coset_bound
from solvers.programs.coset_bound import CosetProgram, bound_all_cosets, bound_some_cosets

STEPS, BUDGETS = np.array([[1, 2], [2, 1], [0, 1]]), np.array([1.5, 2.0, 3.0])
FORMS = np.array([[1.0, 0.25], [0.0, 1.5], [0.3, 0.3]])


def bracket(program: CosetProgram, offset: tuple[Fraction, ...], multipliers: dict[Any, float]) -> Fraction:
    """The least bracket over a box that holds all multipliers, in rationals; exp(b) from a rational above it."""
    reach = range(-12, 13)
    forms = [[Fraction(x) for x in row] for row in program.forms.tolist()]
    factors = [Fraction(float(np.exp(b))) * (1 + Fraction(1, 2**50)) for b in program.budgets]
    best = None
    for z in ((x, y) for x in reach for y in reach):
        point = [a + c for a, c in zip(z, offset, strict=True)]
        total = sum((abs(sum(f * p for f, p in zip(row, point, strict=True))) ** program.power for row in forms), Fraction(0))
        for number, step in enumerate(program.steps.tolist()):
            for sign in (1, -1):
                before = tuple(a - sign * u for a, u in zip(z, step, strict=True))
                total += Fraction(multipliers.get((before, number, sign), 0.0))
                total -= factors[number] * Fraction(multipliers.get((z, number, sign), 0.0))
        best = total if best is None else min(best, total)
    assert best is not None
    return best


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("spoiled", [False, True])
def test_the_bound_is_what_rationals_say_of_the_multipliers(power: Any, spoiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proven for any multipliers: those of the solver and those multiplied by random numbers."""
    program = CosetProgram(STEPS, BUDGETS, FORMS, power, 30.0 if power == 2 else 9.0)
    offset = (Fraction(1, 2), Fraction(1, 3))
    seen: dict[Any, float] = {}
    honest = coset_bound.CosetSteps.multipliers

    def watched(rows: Any, losses: Any) -> Any:
        found = honest(rows, losses)
        if spoiled:
            found = found * np.random.default_rng(0).uniform(0, 3, len(found))
        axes = program.box(offset)
        grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
        points = grid[program.losses(grid + np.array(offset, dtype=float)) <= program.reach]
        for source, target, value in zip(rows.source.tolist(), rows.target.tolist(), found.tolist(), strict=True):
            move = (points[target] - points[source]).tolist()
            sign = 1 if move in STEPS.tolist() else -1
            seen[tuple(points[source].tolist()), STEPS.tolist().index([sign * x for x in move]), sign] = value
        return found

    monkeypatch.setattr(coset_bound.CosetSteps, "multipliers", watched)
    found = program.bound(offset)
    exact = bracket(program, offset, seen)
    assert found <= max(exact, 0)
    if spoiled:
        assert found == 0.0
    else:
        assert found >= float(exact) * (1 - 1e-9) > 0


def test_one_bound_holds_for_all_cosets_and_is_near_the_best() -> None:
    program = CosetProgram(STEPS, BUDGETS, FORMS, 2, 40.0)
    found = bound_all_cosets(program, rows=60_000, tolerance=0.02)
    assert found.complete and 0.98 * found.best <= found.value <= found.best
    rng = np.random.default_rng(3)
    for _ in range(20):
        offset = tuple(Fraction(int(x), 1000) for x in rng.integers(0, 1000, 2))
        assert program.bound(offset) >= found.value * (1 - 1e-9)


def test_the_bound_is_coarser_with_fewer_programs_and_never_wrong() -> None:
    program = CosetProgram(np.array([[2], [3]]), np.array([1.5, 3.0]), np.eye(1), 2, 300.0)
    bounds = [bound_all_cosets(program, rows=rows, tolerance=1e-4) for rows in (0, 500, 2000, 20_000)]
    values = [found.value for found in bounds]
    assert values == sorted(values) and bounds[0].programs == 1 and bounds[-1].complete
    assert values[-1] == pytest.approx(3.2077, rel=1e-3) and bounds[-1].offset == (Fraction(1, 2),)


def test_tiny_programs_count_as_what_setting_them_up_takes() -> None:
    """Where noise is narrow a program has a dozen inequalities, and thousands of them would take half a minute."""
    program = CosetProgram(np.array([[1]]), np.array([4.0]), np.eye(1), 2, 9.0)
    assert program.size < 50
    found = bound_all_cosets(program, rows=1000, tolerance=1e-9)
    assert 1 < found.programs <= 5 and not found.complete


def test_for_absolute_loss_no_coset_is_better_than_the_whole_ones() -> None:
    """Steps of 2 and 4 in one answer and 3 in the other: points have multiples of 2 and 3, and one coset holds them."""
    forms = np.diag([2.0, 3.0])
    program = CosetProgram(np.array([[1, 0], [2, 1], [0, 1]]), np.array([1.0, 2.0, 1.5]), forms, 1, 30.0)
    found = bound_some_cosets(program, [(Fraction(0), Fraction(0))], 10**6)
    assert found is not None
    grid = [(Fraction(i, 4), Fraction(j, 4)) for i in range(4) for j in range(4)]
    assert min(map(program.bound, grid)) == pytest.approx(found.value) and bound_some_cosets(program, grid, 100) is None

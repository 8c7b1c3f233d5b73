"""Nearest sums of numbers of any size, against closed forms."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from scipy.optimize import OptimizeResult
from scipy.sparse import csr_array

from designer.relations.invariants.one_budget import _multipliers
from solvers.programs import nearest_sums as module
from solvers.programs.loads import ConicBlock, bound_near, solve_conic
from solvers.programs.nearest_sums import fitted_sums, none_at_all
from tests.oracles.nearest_in_rationals import minimum

TOTAL = csr_array([[1, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
NONE = csr_array((0, 3))


@pytest.mark.parametrize("size", [1e3, 3e6, 5e6, 3_568_481_000.0, 40_229_519_848.0, 1e13])
def test_a_total_and_its_parts_share_what_they_lack(size: float) -> None:
    """With equal errors each part takes a quarter of what the total has above their sum."""
    near = np.array([3 * size + 8, size + 1, size - 2, size + 5])
    found = fitted_sums(TOTAL, near, np.full(4, 2.0), NONE, np.zeros(0))
    assert found is not None
    np.testing.assert_allclose(found.cells - size, [2, -1, 6], atol=1e-6 + 4 * np.spacing(size))


@pytest.mark.parametrize("dense", [10**6, 0])
def test_sums_that_exact_totals_tell_hide_nothing_of_the_others(dense: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Margins of a table of two rows that are published, and measured to 3.5 as well, beside cells and columns to 200,000: the
    rounding of 10^14 in the small errors hid 45 standard errors of the large ones."""
    monkeypatch.setattr(module, "DENSE", dense)
    rows, columns, cells = np.kron(np.eye(2), np.ones((1, 3))), np.kron(np.ones((1, 2)), np.eye(3)), np.eye(6)
    sums, exact = np.vstack([rows, columns, cells]).astype(int), np.vstack([np.ones((1, 6)), rows]).astype(int)
    near = np.array([-1.5, 150768051317960.5, 306119201011.9973, 150461931942907.0, 174039.99758143604, -49556.916666666664])
    parts = [-19356.916666666664, 68912.33333333333, 306119250568.91003, 150461931962263.9, 105127.6642481027]
    near = np.concatenate([near, parts])
    errors = np.repeat([3.5055465870530207, 218427.071395328, 180518.1412561243], [2, 3, 6])
    totals = np.array([150768051317959, 0, 150768051317959])
    found = fitted_sums(csr_array(sums), near, errors, csr_array(exact), totals.astype(float))
    best = minimum(sums[2:], near[2:], errors[2:], exact[1:], totals[1:])
    assert found is not None and best is not None
    assert max(abs(Fraction(x) - b) for x, b in zip(found.cells.tolist(), best, strict=True)) < 1


def test_small_cells_keep_their_digits_beside_large_ones() -> None:
    near = np.array([1e15 + 5.0, 1e15, 3.5, -40.0])
    found = fitted_sums(TOTAL, near, np.ones(4), csr_array([[0, 1, 1]]), np.array([7.0]))
    assert found is not None and found.cells[2] == 0
    assert found.cells[1] == pytest.approx(7.0, abs=1e-9) and abs(found.cells[0] - 1e15) <= 1


def test_what_misses_the_conditions_of_a_minimum_is_not_handed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver that always says: stay where you are."""
    monkeypatch.setattr(module, "solve_conic", lambda curvature, linear, blocks: (np.zeros_like(linear), [np.zeros(0)] * 3))
    assert fitted_sums(TOTAL, np.array([9.0, 1, 2, 3]), np.ones(4), NONE, np.zeros(0)) is None


def test_the_point_of_a_solver_that_did_not_end_well_is_never_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """x >= 1 of least x is solved. Without an end downwards, without any point, or after one iteration there is no answer."""
    above = ConicBlock(csr_array([[-1.0]]), -np.ones(1), [("nonnegative", 1)])
    below = ConicBlock(csr_array([[1.0]]), np.zeros(1), [("nonnegative", 1)])
    one = solve_conic(np.zeros(1), np.ones(1), [above])
    assert one is not None and one[0] == pytest.approx([1.0])
    assert solve_conic(np.zeros(1), np.ones(1), [below]) is None
    assert solve_conic(np.zeros(1), np.ones(1), [above, below]) is None
    monkeypatch.setattr("solvers.limited.CONIC", 1)
    assert solve_conic(np.zeros(1), np.ones(1), [above]) is None


def test_no_sums_come_from_a_solver_that_did_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("solvers.limited.CONIC", 1)
    assert fitted_sums(TOTAL, np.array([9.0, 1, 2, 3]), np.ones(4), NONE, np.zeros(0)) is None


def test_totals_that_nothing_has_are_told_from_all_others() -> None:
    """Margins of a 2 x 2 table exist where their totals are equal; a row that is the sum of others has the sum of theirs."""
    margins = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]])
    for totals in product(range(3), repeat=4):
        assert none_at_all(csr_array(margins), np.array(totals, dtype=float)) == (
            totals[0] + totals[1] != totals[2] + totals[3]
        )
    thirds = csr_array([[3, 1, 0], [1, 0, 2], [4, 1, 2]])
    assert none_at_all(thirds, np.array([3.0, 1, 5])) and not none_at_all(thirds, np.array([3.0, 1, 4]))
    assert none_at_all(csr_array([[1, 1]]), np.array([-1.0])) and not none_at_all(csr_array((0, 2)), np.zeros(0))


@pytest.mark.parametrize("status", [1, 2, 3, 4])
def test_a_linear_program_that_did_not_end_well_proves_nothing(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    def ended(cost: Any, *rest: Any, **options: Any) -> OptimizeResult:
        return OptimizeResult(status=status, x=np.full(len(cost), np.nan), fun=np.nan, success=False, message="ended")

    monkeypatch.setattr(scipy.optimize, "linprog", ended)
    assert not none_at_all(csr_array([[1, 1]]), np.array([2.0]))
    assert bound_near(np.eye(2), lambda s: (np.ones(1), np.ones((1, 2))), np.ones(2), np.ones(2)) == 0.0
    assert not _multipliers(np.eye(2, dtype=np.int64), 0).any()

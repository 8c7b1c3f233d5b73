"""Nearest counts behind several sums of them, against all counts that there are."""

from __future__ import annotations

from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import scipy.optimize
from scipy.sparse import csr_array

from solvers.lattices.agreeing_counts import CLOSE, WORK, AskedSums, nearest_counts
from solvers.solution import Status


def brute_force(sums: Any, near: Any, weights: Any, exact: Any, totals: Any, most: int) -> float:
    """The least sum of squares over all whole counts up to `most` that keep the totals."""
    every = np.array(list(product(range(most + 1), repeat=sums.shape[1])))
    kept = every[(every @ exact.T == totals).all(axis=1)] if len(totals) else every
    return float((weights * (kept @ sums.T - near) ** 2).sum(axis=1).min()) if len(kept) else np.inf


def layouts() -> dict[str, Any]:
    """Sums of few counts: margins, nested groups, running totals."""
    crossed = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1], *np.eye(4).astype(int)])
    nested = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1], *np.eye(4).astype(int)])
    three = np.zeros((12, 8), dtype=int)
    for k, cell in enumerate(product((0, 1), repeat=3)):
        for j, pair in enumerate(((0, 1), (0, 2), (1, 2))):
            three[4 * j + 2 * cell[pair[0]] + cell[pair[1]], k] = 1
    return {"crossed": crossed, "nested": nested, "running": np.tril(np.ones((4, 4), dtype=int)), "three pairs": three}


@pytest.mark.parametrize("published", [False, True])
@pytest.mark.parametrize("layout", layouts())
def test_no_whole_counts_are_nearer_than_those_that_are_found(layout: str, published: bool) -> None:
    rng = np.random.default_rng([published, *layout.encode()])
    sums = layouts()[layout]
    most = 5 if sums.shape[1] == 4 else 2
    for _ in range(6):
        truth = rng.integers(0, most - 1, sums.shape[1])
        near = sums @ truth + rng.normal(0, 1.0, len(sums))
        weights = rng.uniform(0.2, 3.0, len(sums))
        exact = np.ones((1 if published else 0, sums.shape[1]), dtype=int)
        totals = exact @ truth
        found = nearest_counts(AskedSums(csr_array(sums), near, weights, csr_array(exact), totals.astype(float)))
        assert found.counts is not None and found.proven and (found.counts >= 0).all()
        assert (found.counts == np.rint(found.counts)).all() and (exact @ found.counts == totals).all()
        if found.counts.max() <= most:
            assert found.value == pytest.approx(brute_force(sums, near, weights, exact, totals, most), abs=1e-9)
        assert found.value <= brute_force(sums, near, weights, exact, totals, most) + 1e-9


def test_real_counts_are_those_of_least_squares_with_signs() -> None:
    """Against scipy's nonnegative least squares."""
    from scipy.optimize import nnls

    rng = np.random.default_rng(5)
    for sums in layouts().values():
        near, weights = rng.normal(1, 2, len(sums)), rng.uniform(0.2, 3.0, len(sums))
        found = nearest_counts(
            AskedSums(csr_array(sums), near, weights, csr_array((0, sums.shape[1])), np.zeros(0)), whole=False
        )
        _, norm = nnls(np.sqrt(weights)[:, None] * sums, np.sqrt(weights) * near)
        assert found.value == pytest.approx(norm**2, rel=1e-6, abs=1e-6)


def test_totals_that_no_counts_have_are_infeasible() -> None:
    both = csr_array(np.array([[1, 1], [1, 0]]))
    asked = AskedSums(csr_array(np.eye(2, dtype=int)), np.zeros(2), np.ones(2), both, np.array([1.0, 3.0]))
    assert nearest_counts(asked).status is Status.INFEASIBLE and nearest_counts(asked, whole=False).counts is None


def test_fractions_are_refused_for_whole_counts() -> None:
    asked = AskedSums(csr_array(np.eye(2) / 2), np.zeros(2), np.ones(2), csr_array((0, 2)), np.zeros(0))
    with pytest.raises(ValueError, match="whole numbers"):
        nearest_counts(asked)
    assert nearest_counts(asked, whole=False).counts is not None


def test_a_large_hierarchy_agrees() -> None:
    """2,000 cells in 100 groups in one: the sums of whole counts are whole, and no group is far from what was given."""
    rng = np.random.default_rng(7)
    group = np.repeat(np.arange(100), 20)
    sums = csr_array(np.vstack([np.ones((1, 2000)), (group == np.arange(100)[:, None]), np.eye(2000)]).astype(int))
    truth = rng.poisson(3, 2000)
    near = sums @ truth + rng.normal(0, 2, 2101)
    found = nearest_counts(AskedSums(sums, near, np.full(2101, 0.25), csr_array((0, 2000)), np.zeros(0)))
    assert found.counts is not None and (found.counts >= 0).all() and found.value < 2101 * 0.25 * 12


def test_a_window_that_is_too_small_widens_where_it_binds() -> None:
    """Exact totals far from what was given: 40 more than the noise says, in two cells."""
    asked = AskedSums(
        csr_array(np.eye(2, dtype=int)), np.array([3.2, 4.1]), np.ones(2), csr_array(np.ones((1, 2))), np.array([47.0])
    )
    found = nearest_counts(asked)
    assert found.counts is not None and found.counts.tolist() == [23.0, 24.0] and found.proven


def test_what_is_nearest_in_the_first_window_may_not_be_nearest() -> None:
    """Sums that weigh little may move far: beyond the window that is tried first there are nearer counts."""
    near, weights = np.array([3.2, 1.6, 4.7]), np.array([0.131, 24.415, 0.004])
    exact, totals = np.array([[5, 7, 3]]), np.array([34.0])
    found = nearest_counts(AskedSums(csr_array(np.eye(3, dtype=int)), near, weights, csr_array(exact), totals))
    assert found.proven and found.counts is not None and found.counts.tolist() == [4.0, 2.0, 0.0]
    assert found.value == pytest.approx(brute_force(np.eye(3), near, weights, exact, totals, 11), abs=1e-9)


def test_totals_that_no_window_reaches_are_kept_by_counts_nearby(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole numbers of 1000 and 999 that make a total lie 999 and 1000 apart: the nearest are 50 away from the real ones."""
    exact = csr_array(np.array([[1000, 999]]))
    asked = AskedSums(csr_array(np.eye(2, dtype=int)), np.array([350.0, 350.0]), np.ones(2), exact, np.array([699600.0]))
    found = nearest_counts(asked)
    assert found.proven and found.counts is not None and found.counts.tolist() == [300.0, 400.0]
    for limit in ("MOST_STEPS", "STEPS_EACH"):
        monkeypatch.setattr(f"solvers.lattices.agreeing_counts.{limit}", 0)
    nearby = nearest_counts(asked)
    assert not nearby.proven and nearby.status is Status.STALLED
    assert nearby.counts is not None and nearby.counts.tolist() == [300.0, 400.0]


def test_sums_that_exact_totals_tell_hide_nothing_of_the_others() -> None:
    """Rows measured to 0.003 and published beside cells measured to 37: no counts one step away are nearer."""
    rows, columns = np.kron(np.eye(2), np.ones((1, 3))), np.kron(np.ones((1, 2)), np.eye(3))
    sums, exact = np.vstack([rows, columns, np.eye(6)]).astype(int), np.vstack([np.ones((1, 6)), rows]).astype(int)
    near = np.array([0, 171569268, 85784632, -5, 85784641, 17, -12, -5, 85784615, 7, 85784646.0])
    weights = np.repeat([0.002916406264247537, 44.70718354174277, 36.94806520485388], [2, 3, 6]) ** -2.0
    totals = np.array([171569268.0, 0, 171569268])
    found = nearest_counts(AskedSums(csr_array(sums), near, weights, csr_array(exact), totals))
    assert found.counts is not None and found.proven
    assert found.value == pytest.approx(float((weights * (sums @ found.counts - near) ** 2).sum()), rel=1e-9)
    moves = np.array([move for move in product(range(-8, 9), repeat=3) if not sum(move)])
    others = np.hstack([np.zeros((len(moves), 3)), found.counts[3:] + moves])
    others = others[(others >= 0).all(axis=1)]
    assert found.value <= (weights * (others @ sums.T - near) ** 2).sum(axis=1).min() * (1 + 1e-6)


@pytest.mark.parametrize("whole", [False, True])
def test_what_rounding_hides_is_not_said_to_be_the_nearest(whole: bool) -> None:
    """Rows measured to 2.7 beside columns to 389,050: the floats of 10^14 in the rows hide how far the columns are from their
    best, and those of 10^7 do not."""
    sums = np.vstack([np.kron(np.eye(2), np.ones((1, 3))), np.kron(np.ones((1, 2)), np.eye(3))]).astype(int)
    weights = np.repeat([2.739713554359734, 389050.4015740951], [2, 3]) ** -2.0
    total = csr_array(np.ones((1, 6)))
    for near, proven in (
        ([73.0, 113959789729370.0, -173554.33548719238, 83205399386906.67, 30754390516090.668], False),
        ([73.0, 11395978.0, -173554.33548719238, 8320539.67, 3075439.668], True),
    ):
        asked = AskedSums(csr_array(sums), np.array(near), weights, total, np.array([np.rint(near[0] + near[1])]))
        found = nearest_counts(asked, whole=whole)
        assert found.counts is not None and (found.proven == proven or whole)
        assert proven or not found.proven


def test_many_nested_groups_are_proven() -> None:
    rng = np.random.default_rng(3)
    sums = csr_array(np.vstack([np.ones((1, 600)), np.eye(600)]).astype(int))
    near = sums @ rng.poisson(2, 600) + rng.normal(0, 3, 601)
    found = nearest_counts(AskedSums(sums, near, np.ones(601), csr_array((0, 600)), np.zeros(0)))
    assert found.proven and found.counts is not None and found.counts.min() >= 0


def programs_of(asked: AskedSums) -> tuple[Any, list[dict[str, Any]]]:
    """What was found, and the programs that were solved for it."""
    programs: list[dict[str, Any]] = []
    solve = scipy.optimize.milp

    def told(cost: Any, **stated: Any) -> Any:
        programs.append({"unknowns": len(cost), **stated, "options": dict(stated["options"])})  # which the solver uses up
        return solve(cost, **stated)

    with patch("scipy.optimize.milp", told):
        return nearest_counts(asked), programs


def crossing(sizes: tuple[int, int, int], deviation: float) -> AskedSums:
    """Noisy answers to all three tables of two of three attributes, over a few counts in each cell."""
    cells, rng = np.arange(int(np.prod(sizes))), np.random.default_rng(3)
    at = np.unravel_index(cells, sizes)
    rows = [np.ravel_multi_index((at[a], at[b]), (sizes[a], sizes[b])) for a, b in ((0, 1), (0, 2), (1, 2))]
    ends = np.cumsum([0, *(int(row.max()) + 1 for row in rows)])
    where = np.concatenate([row + end for row, end in zip(rows, ends, strict=False)])
    sums = csr_array((np.ones(len(where)), (where, np.tile(cells, 3))), shape=(ends[-1], len(cells)))
    near = sums @ rng.poisson(400.0, len(cells)) + np.rint(rng.normal(0, deviation, ends[-1]))
    return AskedSums(sums, near, np.full(ends[-1], deviation**-2.0), csr_array((0, len(cells))), np.zeros(0))


def test_many_cells_under_wide_noise_take_one_window() -> None:
    """Steps of one are nothing beside noise of 350, so windows need not grow until they hold all that is a little nearer."""
    asked = crossing((12, 10, 8), 350.0)
    found, programs = programs_of(asked)
    real = nearest_counts(asked, whole=False)
    assert found.proven and (found.counts == np.rint(found.counts)).all() and (found.counts >= 0).all()
    assert np.sqrt(found.value) <= np.sqrt(real.value) + 2 * CLOSE
    assert len(programs) <= 2


def test_an_integer_program_looks_at_fewer_nodes_the_larger_it_is() -> None:
    for sizes in ((12, 10, 8), (20, 10, 8)):
        found, programs = programs_of(crossing(sizes, 3.0))
        assert found.counts is not None and len(programs) <= 4
        branching = [each for each in programs if "integrality" in each]
        assert branching and all(each["options"]["node_limit"] * each["unknowns"] <= WORK for each in branching)


def test_nested_groups_take_no_integer_program() -> None:
    groups, rng = 900, np.random.default_rng(1)
    single, parents = np.arange(groups), np.arange(groups) // 30
    rows = np.concatenate([single, groups + parents, np.full(groups, groups + 30)])
    sums = csr_array((np.ones(3 * groups), (rows, np.tile(single, 3))), shape=(groups + 31, groups))
    near = sums @ rng.poisson(10.0, groups) + np.rint(rng.normal(0, 3, groups + 31))
    asked = AskedSums(sums, near, np.full(groups + 31, 1 / 9), csr_array((0, groups)), np.zeros(0))
    found, programs = programs_of(asked)
    assert found.proven and programs and not [each for each in programs if "integrality" in each]

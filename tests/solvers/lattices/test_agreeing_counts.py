"""Nearest counts behind several sums of them, against all counts that there are. Post-processing of numbers of any size, 1 to
1e15, large and small in one table, against conditions of a minimum in rationals, minima by enumeration of what is 0, and
all whole tables nearby. The whole run: `pytest -m heavy` of this file.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import scipy.optimize
from scipy.sparse import csr_array

from designer.tables.intervals import MarginLattice
from designer.tables.policies.hierarchies import Hierarchy
from solvers.lattices.agreeing_counts import CLOSE, WORK, AskedSums, nearest_counts
from solvers.lattices.transport import nearest_integer, nearest_real
from solvers.programs.nearest_sums import AskedTable, fitted_counts, fitted_sums, table_of
from solvers.solution import Status
from tests.oracles.nearest_in_rationals import minimum, rational, squares


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


LAYOUTS = {
    "nested": [[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]],
    "crossed": [[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]],
    "running": [[1, 0, 0], [1, 1, 0], [1, 1, 1]],
    "total": [[1, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "alone": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
}


ROUNDING = Fraction(1, 2**50)


def drawn(rng: Any, widest: float = 4.0, mixed: float = 4.0) -> tuple[Any, Any, Any, Any, Any]:
    """Sums S, noisy answers, their standard errors, exact rows A (none in half the cases) and their totals."""
    sums = np.array(LAYOUTS[list(LAYOUTS)[rng.integers(len(LAYOUTS))]])
    cells = sums.shape[1]
    size = 10 ** rng.uniform(0, 15, cells) if rng.random() < 0.5 else np.full(cells, 10 ** rng.uniform(0, 15))
    truth = np.rint(size * rng.integers(0, 3, cells))
    errors = np.full(len(sums), 10 ** rng.uniform(0, widest)) * (
        1 if rng.random() < 0.7 else 10 ** rng.uniform(0, mixed, len(sums))
    )
    near = sums @ truth + errors * rng.laplace(0, 0.7, len(sums))
    part = rng.integers(0, 3, cells)  # exact rows have no cell in common
    exact = np.array([part == 1, part == 2], dtype=int)[: int(rng.integers(0, 3))].reshape(-1, cells)
    return sums, near, errors, exact, exact @ truth


def slopes(sums: Any, near: Any, errors: Any, exact: Any, x: Any) -> list[Fraction]:
    """The gradient of the sum of squares at x, in rationals, less multiples of the exact rows, which have no cell in
    common: those that leave the largest cell of each without a slope."""
    cells, steep = rational(x), [2 / s**2 for s in rational(errors)]
    off = [sum(int(a) * c for a, c in zip(row, cells, strict=True)) - v for row, v in zip(sums, rational(near), strict=True)]
    own = [sum(int(row[j]) * w * r for row, w, r in zip(sums, steep, off, strict=True)) for j in range(len(cells))]
    for row in exact:
        there = [j for j in range(len(own)) if row[j]]
        unit = {j: min((s for r, s in zip(sums, errors, strict=True) if r[j]), default=1.0) for j in there}
        if free := [j for j in there if x[j] > 1e-5 * unit[j]]:
            shift = own[max(free, key=lambda j: x[j] / unit[j])]
        else:
            shift = min((own[j] for j in there), default=Fraction(0))
        own = [g - shift if row[j] else g for j, g in enumerate(own)]
    return own


def missed(sums: Any, near: Any, errors: Any, exact: Any, totals: Any, x: Any) -> tuple[Fraction, Fraction]:
    """By how many standard errors x misses the conditions of a minimum beyond the spacing of floats, and its totals."""
    cells = rational(x)
    off = [sum(int(a) * c for a, c in zip(r, cells, strict=True)) - v for r, v in zip(sums, rational(near), strict=True)]
    worst, own = Fraction(0), slopes(sums, near, errors, exact, x)
    spacing = [
        sum(int(abs(a)) * c * ROUNDING for a, c in zip(row, cells, strict=True)) / s
        for row, s in zip(sums, rational(errors), strict=True)
    ]
    steepest = max((2 * abs(v) / s**2 for v, s in zip(off, rational(errors), strict=True)), default=Fraction(0))
    blurred = [
        sum(v / Fraction(float(s)) for v, s, r in zip(spacing, errors, sums, strict=True) if r[j]) for j in range(len(cells))
    ]
    forced = (np.asarray(exact)[np.asarray(totals) == 0] > 0).any(axis=0)  # by a total of 0, whatever the slope
    for j, (c, g) in enumerate(zip(cells, own, strict=True)):
        if forced[j]:
            assert c == 0 or float(c) <= 1e-8
            continue
        entered = [(row, Fraction(float(s))) for row, s in zip(sums, errors, strict=True) if row[j]]
        unit = min((s for _, s in entered), default=Fraction(1))
        rounding = sum(spacing[k] for k, row in enumerate(sums) if row[j]) * 4 + steepest * unit * Fraction(1, 2**44)
        # What an exact row couples a cell to is spaced as its largest cell is, and its multiplier as that cell's slope is.
        together = [i for row in exact if row[j] for i, a in enumerate(row) if a]
        rounding += (
            max((cells[i] for i in together), default=Fraction(0)) * ROUNDING * 4 * sum(1 / s**2 for _, s in entered) * unit
        )
        rounding += max((blurred[i] for i in together), default=Fraction(0)) * 4 * unit
        worst = max(worst, abs(min(c / unit, g * unit)) - rounding)
    apart = Fraction(0)
    for row, total in zip(exact, rational(totals), strict=True):
        made = sum((int(a) * c for a, c in zip(row, cells, strict=True)), Fraction(0))
        apart = max(apart, abs(made - total) / (1 + total))
    return worst, apart


def real_sums(rng: Any) -> None:
    sums, near, errors, exact, totals = drawn(rng)
    found = fitted_sums(csr_array(sums), near, errors, csr_array(exact), totals.astype(float))
    assert found is not None and (found.cells >= 0).all()
    worst, apart = missed(sums, near, errors, exact, totals, found.cells)
    assert worst <= 1e-6 and apart <= 1e-8
    if not len(exact) and rng.random() < 0.1:
        best = minimum(sums, near, errors, exact, totals)
        assert best is not None
        for row, error in zip(sums, rational(errors), strict=True):
            value = sum((int(a) * c for a, c in zip(row, best, strict=True)), Fraction(0))
            made = sum((int(a) * c for a, c in zip(row, rational(found.cells), strict=True)), Fraction(0))
            assert abs(made - value) <= Fraction(1, 1000) * error + 64 * ROUNDING * (abs(value) + abs(made))


def whole_counts(rng: Any) -> None:
    sums, near, errors, exact, totals = drawn(rng, 1.0, 0.0)
    found = nearest_counts(AskedSums(csr_array(sums), near, errors**-2.0, csr_array(exact), totals.astype(float)))
    assert found.counts is not None
    x = found.counts
    assert (x >= 0).all() and (x == np.rint(x)).all()
    assert all(
        sum(int(a) * int(c) for a, c in zip(row, x, strict=True)) == t
        for row, t in zip(exact.tolist(), totals.tolist(), strict=True)
    )
    own = squares(sums, near, errors, x)
    if not found.proven:
        return
    for move in product((-1, 0, 1), repeat=len(x)):
        other = x + np.array(move)
        if (other >= 0).all() and not (exact @ np.array(move)).any():
            assert squares(sums, near, errors, other) >= own - Fraction(1, 10**5) * (1 + own)


def margin_tables(rng: Any) -> None:
    sums, near, _, exact, totals = drawn(rng)
    target = near[: sums.shape[1]]
    eye, ones = np.eye(sums.shape[1], dtype=int), np.ones(sums.shape[1])
    found = nearest_real(exact, totals, target)
    assert found.point is not None
    worst, apart = missed(eye, target, ones, exact, totals, found.point)
    assert worst <= 1e-6 and apart <= 1e-8
    whole = nearest_integer(exact, totals, target)
    if whole.point is None:  # a window too wide to be proven: refused, in words
        return
    assert all(
        sum(int(a) * int(c) for a, c in zip(row, whole.point, strict=True)) == t
        for row, t in zip(exact.tolist(), totals.tolist(), strict=True)
    )
    own = squares(eye, target, ones, whole.point)
    for move in product((-1, 0, 1), repeat=len(target)):
        other = whole.point + np.array(move)
        if (other >= 0).all() and not (exact @ np.array(move)).any():
            assert squares(eye, target, ones, other) >= own * (1 - Fraction(1, 10**9)) - Fraction(1, 1000)


def hierarchies(rng: Any) -> None:
    parents = [-1, 0, 0, 1, 1, 2, 2, 2]
    tree = Hierarchy(np.array(parents), tuple(map(str, range(8))))
    values = np.rint(tree.totals(10 ** rng.uniform(0, 15, 5))) + rng.laplace(0, 9.0, 8)
    precisions = 10 ** rng.uniform(-4, 0, 8)
    floats = tree.estimate(values, precisions)
    exact = tree.estimate(np.array(rational(values), dtype=object), np.array(rational(precisions), dtype=object))
    for i, (made, right) in enumerate(zip(rational(floats), exact, strict=True)):
        assert abs(made - right) <= 2**10 * ROUNDING * (1 + abs(exact[0]))
        children = [exact[k] for k in range(8) if parents[k] == i]
        assert not children or sum(children) == right
    # Least squares: the weighted residuals along every path to a leaf add up to the same multiplier, 0: x is free in each leaf.
    off = [p * (x - a) for p, x, a in zip(rational(precisions), exact, rational(values), strict=True)]
    for leaf in range(3, 8):
        assert off[leaf] + off[parents[leaf]] + off[0] == 0


def lattices(rng: Any) -> None:
    lattice = MarginLattice(Hierarchy(np.array([-1, 0, 0]), ("a", "b", "c")), {"s": 2})
    cells = np.rint(10 ** rng.uniform(0, 15, (2, 2)))
    answers = {(1, ("s",)): cells, (0, ("s",)): cells.sum(axis=0)[None], (1, ()): cells.sum(axis=1)}
    noisy = {margin: table + rng.laplace(0, 9.0, table.shape) for margin, table in answers.items()}
    precisions = {margin: 10 ** rng.uniform(-4, 0) for margin in answers}
    made = lattice.estimate(noisy, precisions)[1, ("s",)]
    as_objects = {m: np.array(rational(t), dtype=object).reshape(t.shape) for m, t in noisy.items()}
    weights = {m: Fraction(p) for m, p in precisions.items()}
    exact = lattice.estimate(as_objects, weights)[1, ("s",)]
    for i, j in product(range(2), range(2)):
        slope = weights[1, ("s",)] * (exact[i, j] - as_objects[1, ("s",)][i, j])
        slope += weights[0, ("s",)] * (exact[0, j] + exact[1, j] - as_objects[0, ("s",)][0, j])
        slope += weights[1, ()] * (exact[i, 0] + exact[i, 1] - as_objects[1, ()][i])
        assert slope == 0
        assert abs(Fraction(float(made[i, j])) - exact[i, j]) <= 2**10 * ROUNDING * (1 + abs(exact).sum())


def whole_fits(rng: Any) -> None:
    shape = (3, 3)
    truth = np.rint(10 ** rng.uniform(0, 15, shape) * rng.integers(0, 2, shape))
    asked = [
        AskedTable(axes, table_of(truth, axes) + rng.laplace(0, 3.0, table_of(truth, axes).shape), 1 / 18)
        for axes in ((0,), (1,), (0, 1))
    ]
    records = int(truth.sum()) if rng.random() < 0.5 else None
    found = fitted_counts(shape, asked, records)
    assert found.min() >= 0 and (records is None or found.sum() == records)
    eye = np.eye(9, dtype=int)
    sums = np.vstack([eye.reshape(9, 3, 3).sum(axis=2).T, eye.reshape(9, 3, 3).sum(axis=1).T, eye])
    near = np.concatenate([table.values.ravel() for table in asked])
    exact = np.ones((0 if records is None else 1, 9), dtype=int)
    best = fitted_sums(csr_array(sums), near, np.full(15, 18**0.5), csr_array(exact), np.full(len(exact), float(truth.sum())))
    assert best is not None
    assert (np.abs(sums @ (found.ravel() - best.cells)) <= 9 + 1e-12 * np.abs(near)).all()


KINDS: dict[str, Callable[[Any], None]] = {
    "real sums": real_sums,
    "whole counts": whole_counts,
    "margin tables": margin_tables,
    "hierarchies": hierarchies,
    "lattices of margins": lattices,
    "whole fits": whole_fits,
}


def run(kind: str, seeds: range) -> None:
    for seed in seeds:
        try:
            KINDS[kind](np.random.default_rng([seed, *kind.encode()]))
        except Exception as error:
            raise AssertionError(f"{kind}, seed {seed}: {error}") from error


@pytest.mark.parametrize("kind", KINDS)
def test_post_processing_of_numbers_of_any_size(kind: str) -> None:
    run(kind, range(20))


@pytest.mark.parametrize("seed", [187, 387])
def test_conditions_of_a_minimum_hold_for_the_exact_one_rounded_to_floats(seed: int) -> None:
    """The cell that a multiplier is read off has a slope of its own rounding, which may be above that of the others."""
    sums, near, errors, exact, totals = drawn(np.random.default_rng([seed, *b"real sums"]))
    best = minimum(sums, near, errors, exact, totals)
    assert best is not None
    worst, apart = missed(sums, near, errors, exact, totals, np.array(list(map(float, best))))
    assert worst <= 1e-6 and apart <= 1e-8


@pytest.mark.parametrize(
    ("kind", "seed"),
    [("real sums", 187), ("real sums", 387), ("margin tables", 325), ("margin tables", 10980), ("margin tables", 16456)],
)
def test_large_and_small_numbers_in_one_exact_row(kind: str, seed: int) -> None:
    run(kind, range(seed, seed + 1))


@pytest.mark.parametrize("seed", [2456, 5211, 8120])
def test_small_numbers_beside_large_ones_reach_their_minimum(seed: int) -> None:
    """2456: a cell that is put to 0 at the end changes the slopes of the others. 5211: slopes within the rounding of 10^14 say
    nothing of a cell of 9,400. 8120: the interior point method runs out of iterations far from any solution."""
    run("real sums", range(seed, seed + 1))


@pytest.mark.heavy
@pytest.mark.parametrize("part", range(10))
@pytest.mark.parametrize("kind", KINDS)
def test_post_processing_of_a_hundred_thousand_tables(kind: str, part: int) -> None:
    """6 kinds, 10 parts, 1,670 tables each: 100,200."""
    run(kind, range(1670 * part, 1670 * (part + 1)))

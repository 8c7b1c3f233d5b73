"""Post-processing of numbers of any size, 1 to 1e15, large and small in one table, against conditions of a minimum in
rationals, minima by enumeration of what is 0, and all whole tables nearby. The whole run: `pytest -m heavy` of this file."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from designer.tables.intervals import MarginLattice
from designer.tables.policies.hierarchies import Hierarchy
from solvers.lattices.agreeing_counts import AskedSums, nearest_counts
from solvers.lattices.transport import nearest_integer, nearest_real
from solvers.programs.nearest_sums import AskedTable, fitted_counts, fitted_sums, table_of
from tests.oracles.nearest_in_rationals import minimum, rational, squares

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

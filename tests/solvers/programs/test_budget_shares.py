"""The share program against closed forms and a conic solver."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from solvers.programs import budget_shares
from solvers.programs.budget_shares import minimise_cost
from solvers.solution import Status


def random_program(seed: int, rows: int = 4, tables: int = 6, unknowns: int = 15) -> tuple[csr_array, csr_array]:
    generator = np.random.default_rng(seed)

    def sparse(count: int) -> csr_array:
        matrix = generator.random((count, unknowns)) * (generator.random((count, unknowns)) < 0.4)
        matrix[generator.integers(0, count, unknowns), np.arange(unknowns)] += 0.1
        matrix[np.arange(count), generator.integers(0, unknowns, count)] += 0.1
        return csr_array(matrix)

    return sparse(rows), sparse(tables)


def conic_optimum(loads: csr_array, costs: csr_array) -> float:
    import cvxpy as cp

    s = cp.Variable(loads.shape[1], pos=True)
    problem = cp.Problem(cp.Minimize(cp.max(costs.toarray() @ cp.inv_pos(s))), [loads.toarray() @ s <= 1])
    return float(problem.solve(solver="CLARABEL"))


def test_one_budget_has_the_cauchy_schwarz_optimum() -> None:
    generator = np.random.default_rng(1)
    g, v = generator.random(50) + 0.01, generator.random(50) + 0.01
    solution = minimise_cost(csr_array(g[None]), csr_array(v[None]))
    assert solution.value == pytest.approx(np.sqrt(g * v).sum() ** 2, rel=1e-12)
    assert np.allclose(solution.point, np.sqrt(v / g) / np.sqrt(g * v).sum(), rtol=1e-9)
    assert solution.gap < 1e-11


@pytest.mark.parametrize("seed", range(6))
def test_weighted_sum_agrees_with_a_conic_solver(seed: int) -> None:
    loads, costs = random_program(seed)
    total = csr_array(costs.sum(axis=0)[None])
    solution = minimise_cost(loads, total)
    assert solution.status is Status.OPTIMAL and solution.gap <= 1e-9
    assert solution.value == pytest.approx(conic_optimum(loads, total), rel=1e-6)
    assert (loads @ solution.point).max() <= 1 + 1e-12
    assert solution.value == pytest.approx(float((total @ (1 / solution.point)).max()), rel=1e-12)


@pytest.mark.parametrize("direct", [True, False], ids=["written out", "products only"])
@pytest.mark.parametrize("seed", range(6))
def test_largest_cost_agrees_with_a_conic_solver(seed: int, direct: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget_shares, "DIRECT_ORDER", 10**6 if direct else 0)
    loads, costs = random_program(seed)
    solution = minimise_cost(loads, costs, tolerance=1e-7)
    assert solution.status is Status.OPTIMAL and solution.gap <= 1e-7
    assert solution.value == pytest.approx(conic_optimum(loads, costs), rel=1e-6)
    assert (loads @ solution.point).max() <= 1 + 1e-12


def test_a_bound_is_never_above_the_optimum_however_early_it_stops() -> None:
    loads, costs = random_program(11)
    optimum = minimise_cost(loads, costs, tolerance=1e-9).value
    for steps in range(1, 8):
        early = minimise_cost(loads, costs, tolerance=1e-9, max_iterations=steps)
        assert early.lower_bound <= optimum * (1 + 1e-9) <= early.value * (1 + 2e-9)
        assert early.status in (Status.OPTIMAL, Status.STALLED)
    assert minimise_cost(loads, costs, tolerance=1e-9, max_iterations=1).status is Status.STALLED


@pytest.mark.parametrize("factor", [1e-12, 1e12])
def test_units_do_not_matter(factor: float) -> None:
    loads, costs = random_program(3)
    plain, scaled = minimise_cost(loads, costs), minimise_cost(loads * factor, costs / factor)
    assert scaled.value == pytest.approx(plain.value, rel=1e-8)


def test_budgets_of_many_magnitudes() -> None:
    loads, costs = random_program(5, rows=12, unknowns=60)
    spread = csr_array(np.logspace(-9, 9, 12)[:, None] * loads.toarray())
    assert minimise_cost(spread, csr_array(costs.sum(axis=0)[None])).gap <= 1e-9
    assert minimise_cost(spread, costs, tolerance=1e-6).gap <= 1e-6


def test_plain_and_sparse_arrays_give_one_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(3)
    loads, costs = csr_array(random.random((4, 30))), csr_array(random.random((6, 30)))
    plain = minimise_cost(loads, costs, tolerance=1e-8)
    monkeypatch.setattr(budget_shares, "PLAIN_ENTRIES", 0)
    sparse = minimise_cost(loads, costs, tolerance=1e-8)
    assert plain.value == pytest.approx(sparse.value, rel=1e-7)
    assert max(plain.lower_bound, sparse.lower_bound) <= min(plain.value, sparse.value) * (1 + 1e-12)


def test_one_budget_and_one_sum_take_no_steps() -> None:
    random = np.random.default_rng(4)
    g, v = random.random(50), random.random(50)
    found = minimise_cost(g[None, :], v[None, :])
    assert found.iterations == 0
    assert found.value == pytest.approx(np.sqrt(g * v).sum() ** 2, rel=1e-12)
    assert found.gap <= 1e-11
    assert found.point == pytest.approx(np.sqrt(v / g) / np.sqrt(v * g).sum(), rel=1e-12)

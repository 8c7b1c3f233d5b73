"""Program (6) in CVXPY: against the specialised solver, brute force and closed forms; the user's constraints and objectives."""

from __future__ import annotations

from itertools import combinations

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import minimize

from designer import DesignFailed, InvalidProblem, Problem, Workload, design, load, metrics, programs

LOSSES = ("squared", "absolute", "max")


def problem(seed: int, queries: int = 1, loss: str = "squared", records: float | None = 10.0, elements: int = 6) -> Problem:
    rng = np.random.default_rng(seed)
    workload = Workload(rng.normal(size=(queries, elements)), queries=[f"q{k}" for k in range(queries)])
    relation = metrics.euclidean(rng.random((elements, 2)), per_unit=2.0)
    return Problem(workload, relation, loss=loss, records=records, weights=rng.random(queries) + 0.3)


def worst_ratio(made, asked: Problem) -> float:
    """Every pair by itself, in floats: `sum_k |P_ki - P_kj| / (c_k d_ij)` of the frozen numbers."""
    rows, scales, d = made.mechanism.effective, made.mechanism.scales, asked.relation.distances()
    loud = scales > 0
    return max(float((np.abs(rows[loud, i] - rows[loud, j]) / scales[loud]).sum() / d[i, j]) for i, j in pairs(asked))


def pairs(asked: Problem) -> list[tuple[int, int]]:
    return list(combinations(range(asked.relation.size), 2))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("records", [0.4, 5.0, 1e5])
def test_one_query_is_the_optimum_of_the_specialised_solver(loss: str, records: float) -> None:
    for seed in range(3):
        asked = problem(seed, loss=loss, records=records)
        made, special = programs.laplace_joint(asked).design(), design(asked, "laplace_joint")
        assert made.loss == pytest.approx(special.loss, rel=1e-6)
        assert made.privacy.holds and worst_ratio(made, asked) <= 1 + 1e-12
        assert made.optimality.gap < 2e-6 and made.optimality.value == pytest.approx(made.loss, rel=1e-9)
        assert made.mechanism.provenance["raw_violation"] < 1e-7


@pytest.mark.parametrize("objective", ["squared", "worst_case", "l1", "l2", "linf", "high_probability"])
def test_objectives_of_the_paper_for_one_query(objective: str) -> None:
    asked = problem(3, records=4.0)
    made, special = programs.laplace_joint(asked, objective).design(), design(asked, "laplace_joint", objective=objective)
    assert made.optimality.value == pytest.approx(special.optimality.value, rel=1e-6)
    assert made.optimality.gap < 2e-6


def by_definition(asked: Problem, rows: np.ndarray, scales: np.ndarray) -> float:
    """The loss, element by element: all n records at the worst one, and Laplace noise."""
    q, n, v = asked.workload.dense(), asked.records, asked.costs
    elements, queries = range(q.shape[1]), range(len(q))
    if asked.loss == "absolute":
        return max(sum(v[k] * (n * abs(rows[k, i] - q[k, i]) + scales[k]) for k in queries) for i in elements)
    errors = np.array([[v[k] * (n**2 * (rows[k, i] - q[k, i]) ** 2 + 2 * scales[k] ** 2) for k in queries] for i in elements])
    return float(errors.max() if asked.loss == "max" else errors.sum(axis=1).max())


def by_penalty(asked: Problem, start: tuple[np.ndarray, np.ndarray]) -> float:
    """A local search without CVXPY over rows, with the least common factor of given proportions of scales, in closed form."""
    q, d = asked.workload.dense(), asked.relation.distances()

    def loss(flat: np.ndarray) -> float:
        rows, shape = flat[: q.size].reshape(q.shape), np.exp(flat[q.size :])
        need = max((np.abs(rows[:, i] - rows[:, j]) / shape).sum() / d[i, j] for i, j in pairs(asked))
        return by_definition(asked, rows, need * shape)

    flat = np.concatenate([start[0].ravel(), np.log(start[1])])
    return float(minimize(loss, flat, method="Nelder-Mead", options={"maxiter": 4000, "maxfev": 4000}).fun)


@pytest.mark.parametrize("loss", LOSSES)
def test_several_queries_are_below_unbiased_noise_and_above_their_bound(loss: str) -> None:
    for seed in range(2):
        asked = problem(seed, 2, loss, records=6.0, elements=5)
        made = programs.laplace_joint(asked).design()
        assert made.privacy.holds and worst_ratio(made, asked) <= 1 + 1e-12
        assert made.loss < design(asked, "laplace").loss
        assert 0 < made.optimality.lower_bound <= made.loss == pytest.approx(made.optimality.value, rel=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("records", [30.0, 1e4])
def test_several_queries_end_where_the_specialised_descent_ends(records: float, loss: str) -> None:
    """Both descents are local, minimise the same loss and prove bounds of it: neither is below the other's."""
    for seed in range(1, 3):
        asked = problem(seed, 2, loss, records, elements=5)
        made, special = programs.laplace_joint(asked).design(), design(asked, "laplace_joint")
        assert made.loss == pytest.approx(special.loss, rel=1e-4)
        assert made.optimality.objective == special.optimality.objective
        assert max(made.optimality.lower_bound, special.optimality.lower_bound) <= min(made.loss, special.loss) * (1 + 1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_value_of_the_program_is_the_loss_written_out_element_by_element(loss: str) -> None:
    for queries in (1, 3):
        asked = problem(8, queries, loss, records=20.0)
        program = programs.laplace_joint(asked)
        value = program.solve().value
        assert value == pytest.approx(by_definition(asked, program.Q.value, program.c.value), rel=1e-6)
        assert value == pytest.approx(programs.laplace_joint(asked).design().loss, rel=1e-5)


def test_with_few_records_absolute_errors_leave_rows_still() -> None:
    """One of three rows takes all budgets, as in the specialised descent: constants and one noise."""
    asked = problem(1, 3, "absolute", 0.5)
    made, special = programs.laplace_joint(asked).design(), design(asked, "laplace_joint")
    assert (made.mechanism.scales == 0).sum() >= 2
    assert made.loss == pytest.approx(special.loss, rel=1e-3)


def test_program_6_itself_for_several_queries() -> None:
    asked = problem(0, 3, records=20.0)
    made, special = programs.laplace_joint(asked, "squared").design(), design(asked, "laplace_joint", objective="squared")
    assert made.optimality.value == pytest.approx(special.optimality.value, rel=2e-3)
    assert made.optimality.lower_bound <= special.optimality.value


@pytest.mark.parametrize("loss", LOSSES)
def test_no_search_from_the_answer_finds_better_rows_and_scales(loss: str) -> None:
    asked = problem(1, 2, loss, records=20.0, elements=4)
    made = programs.laplace_joint(asked).design()
    assert by_penalty(asked, (made.mechanism.effective, made.mechanism.scales)) >= made.loss * (1 - 1e-3)


def test_linear_constraints_on_the_rows_are_kept_at_the_frozen_mechanism(tmp_path) -> None:
    asked = problem(2, 2, records=15.0)
    q = asked.workload.dense()
    program = programs.laplace_joint(asked)
    program.subject_to(cp.sum(program.Q, axis=0) == q.sum(axis=0), "column sums").subject_to(program.Q[0] >= -0.5, "floor")
    made = program.design()
    assert np.abs(made.mechanism.effective.sum(axis=0) - q.sum(axis=0)).max() < 1e-6
    assert made.mechanism.effective[0].min() >= -0.5 and q[0].min() < -0.5
    assert made.privacy.holds and made.loss >= made.optimality.lower_bound
    assert [text.split(":")[0] for text in made.mechanism.provenance["constraints"]] == ["column sums", "floor"]
    assert load(made.mechanism.save(tmp_path / "spec.json")).fingerprint == made.mechanism.fingerprint


@pytest.mark.parametrize("queries", [1, 2])
def test_a_cap_on_one_scale_binds_and_costs(queries: int) -> None:
    asked = problem(4, queries, records=12.0)
    free = programs.laplace_joint(asked).design()
    cap = 0.7 * float(free.mechanism.query_variances()[0])
    made = programs.laplace_joint(asked).variance_at_most("q0", cap, "cap").design()
    assert float(made.mechanism.query_variances()[0]) <= cap
    assert float(made.mechanism.query_variances()[0]) == pytest.approx(cap, rel=1e-3) or queries > 1
    assert made.loss > free.loss and made.privacy.holds
    assert made.optimality.lower_bound <= made.loss


def test_one_query_with_constraints_against_all_pairs_written_out() -> None:
    asked = problem(5, records=9.0)
    q, d = asked.workload.dense()[0], asked.relation.distances()
    p, c, e = cp.Variable(q.size), cp.Variable(nonneg=True), cp.Variable(nonneg=True)
    near = [cp.abs(p[i] - p[j]) <= c * d[i, j] for i, j in pairs(asked)]
    loss = asked.costs[0] * (81 * cp.square(e) + 2 * cp.square(c))
    least = cp.Problem(cp.Minimize(loss), [*near, cp.abs(p - q) <= e, p[0] == q[0], c <= 0.8]).solve(solver=cp.CLARABEL)
    program = programs.laplace_joint(asked)
    made = program.subject_to([program.Q[0, 0] == q[0], program.c[0] <= 0.8]).design()
    assert made.loss == pytest.approx(least, rel=1e-5) and made.optimality.gap < 1e-3


def test_another_objective_and_a_cap_on_the_bias() -> None:
    asked = problem(6, 2, records=20.0)
    program = programs.laplace_joint(asked)
    made = program.subject_to(program.e <= 1e-3).minimise(cp.norm(program.standard_errors, 4)).design()
    assert asked.bias_of(made.mechanism.effective) <= 400 * 1e-3 * (1 + 1e-6) and made.optimality is None
    unbiased = design(asked, "laplace").mechanism
    assert np.linalg.norm(np.sqrt(made.mechanism.query_variances()), 4) < np.linalg.norm(np.sqrt(unbiased.query_variances()), 4)


@pytest.mark.parametrize("queries", [1, 2])
def test_contradictions_are_told_in_the_words_of_the_user(queries: int) -> None:
    program = programs.laplace_joint(problem(0, queries))
    program.subject_to(program.c <= 0.05, "quiet").subject_to(program.Q[0, 0] >= program.Q[0, 1] + 2, "apart")
    with pytest.raises(
        DesignFailed, match=r"no values .* 'quiet' \(c <= 0.05\) and 'apart' .*Q\['q0', 'e0'\].* together while every pair"
    ):
        program.design()


def test_elements_at_distance_zero_are_one_and_a_missing_record_weighs_nothing() -> None:
    d = np.array([[0, 0, 1, 2], [0, 0, 1, 2], [1, 1, 0, 1.5], [2, 2, 1.5, 0]], dtype=float)
    tied = Problem(Workload([[1.0, 1, 3, 7], [0, 0, 2, 1]]), metrics.from_matrix(d), records=3.0)
    made = programs.laplace_joint(tied).design()
    assert made.privacy.holds and (made.mechanism.effective[:, 0] == made.mechanism.effective[:, 1]).all()
    absent = Problem(Workload([[1.0, 2, 4]]), metrics.add_remove(3, [1.0, 2.0, 0.5]), records=3.0)
    special = design(absent, "laplace_joint")
    assert programs.laplace_joint(absent).design().loss == pytest.approx(special.loss, rel=1e-6)


def test_more_pairs_than_can_be_written_out() -> None:
    """300 elements have 44,850 pairs; some hundred of them decide."""
    rng = np.random.default_rng(0)
    asked = Problem(Workload(rng.random((1, 300))), metrics.euclidean(rng.random((300, 2))), records=100.0)
    made = programs.laplace_joint(asked).design()
    assert made.privacy.holds and made.optimality.gap < 1e-5 and made.mechanism.provenance["pairs"] < 2000


def test_refusals() -> None:
    with pytest.raises(DesignFailed, match=r"give problem\.records"):
        programs.laplace_joint(problem(0, records=None))
    with pytest.raises(InvalidProblem, match=r"options\.objective: 'l7' is unknown"):
        programs.laplace_joint(problem(0), "l7")
    with pytest.raises(DesignFailed, match="no protected change moves an answer"):
        programs.laplace_joint(Problem(Workload([[1.0, 1.0]]), metrics.uniform(2, 1.0), records=3.0))

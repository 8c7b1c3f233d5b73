"""Program (8) against brute force over (c, Q'), and the certificate of the queries that come out of it. Program (8) in CVXPY:
against the closed form of the specialised solver, brute force, and under the user's constraints.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from unittest.mock import patch

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from designer import InvalidProblem, NotPrivate, Problem, Workload, metrics, programs
from designer.base.errors import DesignFailed
from designer.problem.domain import Domain
from designer.synthetic.multiplicative import MWEM, mwem
from designer.synthetic.queries import (
    LipschitzQueries,
    mwem_price,
    preprocess,
    records_of,
    small_db_price,
    theorem_6_price,
    theorem_8_price,
)
from designer.synthetic.small_databases import SmallDB, small_db
from examples.dx_setting import universe

PRICES = (mwem_price, small_db_price, theorem_6_price, theorem_8_price)


def problem(seed: int, elements: int = 6, queries: int = 2, records: int = 100_000, per_unit: float = 1.0) -> Problem:
    generator = np.random.default_rng(seed)
    workload = Workload(generator.random((queries, elements)))
    return Problem(workload, metrics.euclidean(generator.random((elements, 2)), per_unit), records=records)


def least_bias(q: np.ndarray, d: np.ndarray, c: float) -> float:
    """min e over p with |p - q| <= e and |p_i - p_j| <= c d_ij, a linear program."""
    n = len(q)
    rows, limits = [], []
    for i in range(n):
        for sign in (1, -1):
            row = np.zeros(n + 1)
            row[i], row[n] = sign, -1
            rows.append(row)
            limits.append(sign * q[i])
    for i, j in combinations(range(n), 2):
        if np.isfinite(d[i, j]):
            for sign in (1, -1):
                row = np.zeros(n + 1)
                row[i], row[j] = sign, -sign
                rows.append(row)
                limits.append(c * d[i, j])
    cost = np.append(np.zeros(n), 1.0)
    found = linprog(cost, A_ub=np.array(rows), b_ub=limits, bounds=[(None, None)] * n + [(0, None)])
    assert found.status == 0
    return float(found.fun)


@pytest.mark.parametrize("price_of", PRICES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("records", [300, 30_000, 3_000_000])
def test_optimum_against_a_grid_over_c_and_linear_programs_over_q(price_of, records: int) -> None:
    for seed in range(2):
        p = problem(seed, records=records, per_unit=3.0)
        price, d = price_of(p), p.relation.distances()
        best, unbiased = preprocess(p, price), preprocess(p, price, "unbiased")
        grid = np.append(np.linspace(0, 1.2 * unbiased.constant, 15), [best.constant, unbiased.constant])
        bias = np.array([max(least_bias(q, d, c) for q in p.workload.dense()) for c in grid])
        brute = records * bias + np.array([price(c) for c in grid])
        assert best.optimality.value <= brute.min() * (1 + 1e-7)
        assert best.optimality.value == pytest.approx(brute[-2], rel=1e-6)
        assert unbiased.optimality.value == pytest.approx(brute[-1], rel=1e-6, abs=1e-6)
        assert best.bias == pytest.approx(bias[-2], abs=1e-8)


def test_the_optimum_takes_every_kind_of_place() -> None:
    """A constant answer, a real compromise, and no bias at all: all three occur as records grow."""
    generator = np.random.default_rng(0)
    places, centres = universe(), 100 * generator.random((20, 2))
    smooth = np.exp(-np.linalg.norm(places[None] - centres[:, None], axis=2) / 20) + 0.1 * generator.random((20, 50))
    p = Problem(Workload(smooth), metrics.euclidean(places), records=10)
    envelope_end = preprocess(p, theorem_8_price(p), "unbiased").constant
    kinds = set()
    for records in np.logspace(1, 9, 30):
        sized = Problem(p.workload, p.relation, records=int(records))
        c = preprocess(sized, small_db_price(sized)).constant
        kinds.add("zero" if c == 0 else "unbiased" if c == envelope_end else "between")
    assert kinds == {"zero", "between", "unbiased"}


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([-30, -6, -3]), st.floats(0.02, 2.0))
def test_queries_on_the_grid_keep_their_budgets_exactly(seed: int, exponent: int, constant: float) -> None:
    """Every pair by itself, in rationals, written without the certificate."""
    p = problem(seed, elements=7, queries=3)
    try:
        made = preprocess(p, mwem_price(p), constant).on_grid(p, exponent)
    except DesignFailed as error:
        assert "swallow" in str(error) and exponent > -30
        return
    assert made.privacy.holds
    for row, weight in zip(made.integers.tolist(), made.weights.tolist(), strict=True):
        for i, j in combinations(range(7), 2):
            moved = abs(row[i] - row[j]) * Fraction(2) ** exponent
            budget = p.relation.exact_budget(i, j)
            assert budget is not None
            assert moved == 0 if math.isinf(weight) else moved * Fraction(weight) <= budget
    assert made.bias <= preprocess(p, mwem_price(p), constant).bias + 2.0 ** (exponent - 1) + 1e-12
    assert made.constant <= constant * (1 + 1e-9) + 2.0**exponent / p.relation.distances()[np.triu_indices(7, 1)].min()


def test_constants_too_small_are_not_private() -> None:
    p = problem(3)
    made = preprocess(p, mwem_price(p), "unbiased").on_grid(p)
    assert float(made.privacy.worst_ratio) == pytest.approx(1.0, abs=1e-9)
    with pytest.raises(NotPrivate, match=r"budget .* 1\.00"):
        LipschitzQueries(made.workload, made.relation, made.integers, made.exponent, made.weights * 1.001)
    moved = made.integers.copy()
    moved[0, 0] += 2**33
    with pytest.raises(NotPrivate):
        LipschitzQueries(made.workload, made.relation, moved, made.exponent, made.weights)


def test_stand_ins_stay_in_the_range_of_their_query() -> None:
    for seed in range(20):
        p = problem(seed, elements=9, queries=3)
        rows = preprocess(p, mwem_price(p), 0.3).matrix
        q = p.workload.dense()
        assert (rows.min(axis=1) >= q.min(axis=1)).all() and (rows.max(axis=1) <= q.max(axis=1)).all()
        assert np.abs(rows - q).max() == pytest.approx(preprocess(p, mwem_price(p), 0.3).bias)


def test_unrelated_elements_and_silent_rows() -> None:
    """Two components: a query that only tells them apart needs no noise, and bias is taken within components only."""
    d = np.full((4, 4), np.inf)
    d[:2, :2] = d[2:, 2:] = 1 - np.eye(2)
    p = Problem(Workload([[1, 1, 0, 0], [0, 1, 5, 5.5]]), metrics.from_matrix(d), records=1000)
    point = preprocess(p, mwem_price(p), 0.25)
    assert point.bias == pytest.approx(max(least_bias(q, p.relation.distances(), 0.25) for q in p.workload.dense()))
    made = point.on_grid(p)
    assert made.weights.tolist()[0] == math.inf and made.constant == pytest.approx(0.25)
    with pytest.raises(InvalidProblem, match="publish the answers"):
        LipschitzQueries(Workload([[1, 1, 0, 0]]), p.relation, np.array([[1, 1, 0, 0]]), 0, np.array([np.inf]))


def test_attribute_budgets_give_each_query_its_own_constant() -> None:
    domain = Domain.of({"a": 2, "b": 3})
    p = Problem(Workload.marginals(domain, [["a"], ["b"], []]), metrics.hamming(domain, {"a": 0.5, "b": 2.0}), records=1000)
    made = preprocess(p, mwem_price(p), "unbiased").on_grid(p)
    np.testing.assert_allclose(1 / made.weights, [2.0, 2.0, 0.5, 0.5, 0.5, 0.0], rtol=1e-9)


def test_prices_are_the_papers() -> None:
    """Theorem 8: at the T (a real number) where its two terms agree, they sum to its second form.
    Theorem 6: its alpha settles Proposition 1."""
    p = problem(0, elements=40, queries=9, records=10**6)
    n, (queries, elements) = records_of(p), p.workload.shape
    largest, c = float(p.workload.dense().max()), 0.7
    rounds = (2 * n * largest * math.sqrt(math.log(elements)) / (10 * c * math.log(queries))) ** (2 / 3)
    assert theorem_8_price(p)(c) == pytest.approx(20 * rounds * c * math.log(queries))
    spread = float(np.ptp(p.workload.dense(), axis=1).max())
    bound = theorem_6_price(p)(c)
    alpha = bound / (n * spread)
    proposition = alpha / 2 * n * spread + 2 * c * (4 * math.log(elements) * math.log(queries) / alpha**2 + math.log(20))
    assert alpha <= 1 and 0.5 * bound <= proposition <= bound


@pytest.mark.parametrize("price_of", [mwem_price, small_db_price], ids=lambda f: f.__name__)
def test_prices_of_whole_sizes_are_their_minimum_and_concave(price_of) -> None:
    price = price_of(problem(0, records=5000))
    at = np.linspace(0, 5, 101)
    values = np.array([price(c) for c in at])
    for c, value in zip(at, values, strict=True):
        m = price.best(c)
        assert value == price.heights[m - 1] + c * price.slopes[m - 1]
    assert (np.diff(values, 2) <= 1e-9).all() and (np.diff(values) >= 0).all()


def test_refusals() -> None:
    p = problem(0)
    workload, relation = p.workload, p.relation
    price = mwem_price(p)
    for constant, words in (("best", "constant: 'best'"), (-1.0, "not a positive"), (True, "not a number")):
        with pytest.raises(InvalidProblem, match=words):
            preprocess(p, price, constant)
    with pytest.raises(DesignFailed, match="records: missing"):
        preprocess(Problem(workload, relation), price)
    with pytest.raises(DesignFailed, match="pure"):
        preprocess(Problem(workload, relation, notion="zcdp", records=10), price)
    with pytest.raises(InvalidProblem, match=r"records: 2\.5"):
        preprocess(Problem(workload, relation, records=2.5), price)
    with pytest.raises(InvalidProblem, match="number of records"):
        preprocess(Problem(workload, metrics.add_remove(6, 1.0), records=10), price)
    merged = metrics.from_matrix([[0, 0, 1], [0, 0, 1], [1, 1, 0]])
    with pytest.raises(DesignFailed, match="merge the two"):
        preprocess(Problem(Workload([[1, 1, 0]]), merged, records=10), price)
    with pytest.raises(InvalidProblem, match="hides the number"):
        LipschitzQueries(Workload([[1, 0]]), metrics.add_remove(2, 1.0), np.array([[1, 0]]), 0, np.array([1.0]))
    with pytest.raises(InvalidProblem, match="do not fit"):
        LipschitzQueries(Workload([[1, 0]]), metrics.uniform(2, 1.0), np.array([[1, 0, 0]]), 0, np.array([1.0]))
    tiny = Problem(workload, relation, records=1)
    with pytest.raises(DesignFailed, match="constant answer"):
        preprocess(tiny, price).on_grid(tiny)


@pytest.mark.parametrize("rounds", [1, 7, 60])
def test_prices_are_the_bounds_of_the_mechanisms_that_they_are_for(rounds: int) -> None:
    """A price knows c alone, the mechanism its own numbers: with P = Q and the same rounds they differ by grid steps only."""
    p = Problem(Workload.random(4, 6, seed=3), metrics.uniform(6, 0.5), records=1000)
    price, made = mwem_price(p, 0.1), mwem(p, rounds, "unbiased")
    paid = price.heights[rounds - 1] + made.queries.constant * price.slopes[rounds - 1]
    assert made.bound(0.1) == pytest.approx(paid, rel=1e-6)
    small = small_db(p, 2, 0.5, exponent=-2)
    due, c = small_db_price(p, 0.1), small.queries.constant
    # The price counts 6^2 sequences of records, the bound their distinct answers; and rounding to the coarse grid changes R.
    saved = 2 * c * math.log(36 / len(small.candidates.answers))
    sampled = due.heights[1] * small.queries.spread / float(np.ptp(p.workload.dense(), axis=1).max())
    assert small.bound(0.1) == pytest.approx(p.records * small.queries.bias + sampled + c * due.slopes[1] - saved)


def test_a_universe_beyond_what_the_exact_optimum_takes_is_refused() -> None:
    asked = Problem(Workload([[0.0, 1.0, 2.0]]), metrics.euclidean([[0.0], [1.0], [2.0]]), records=5)
    few = patch("designer.synthetic.queries.MOST_CLOSURE_ELEMENTS", 2)
    with few, pytest.raises(DesignFailed, match="merge elements"):
        preprocess(asked, small_db_price(asked))


def small_problem(seed: int, records: int = 30_000, elements: int = 8, queries: int = 2) -> Problem:
    """Smooth queries with a rough part, for which a compromise between bias and noise is best at some numbers of records."""
    rng = np.random.default_rng(seed)
    places, centres = rng.random((elements, 2)), rng.random((queries, 2))
    near = np.exp(-np.linalg.norm(places[None] - centres[:, None], axis=2) / 0.3)
    return Problem(
        Workload(near + 0.1 * rng.random((queries, elements))), metrics.euclidean(places, per_unit=3.0), records=records
    )


@pytest.mark.parametrize("price_of", PRICES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("records", [300, 30_000, 3_000_000])
def test_the_optimum_is_that_of_the_closed_form(price_of, records: int) -> None:
    for seed in range(2):
        asked = small_problem(seed, records)
        program, best = programs.preprocessing(asked, price=price_of(asked)), preprocess(asked, price_of(asked))
        solved = program.solve("HIGHS")
        assert solved.value == pytest.approx(best.optimality.value, rel=1e-7)
        assert float(program.c.value) == pytest.approx(best.constant, rel=1e-6, abs=1e-9)
        assert best.optimality.value * (1 - 1e-7) <= solved.lower_bound <= solved.value


def test_a_query_that_nothing_moves_stands_beside_others() -> None:
    asked = Problem(Workload([[2, 2, 2], [0, 1, 5]]), metrics.line([0, 1, 2], 1, 0.5), records=3000)
    solved, best = programs.preprocessing(asked).solve("HIGHS"), preprocess(asked, mwem_price(asked))
    assert solved.value == pytest.approx(best.optimality.value, rel=1e-6)


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(50))
def test_fifty_problems(seed: int) -> None:
    rng = np.random.default_rng(seed)
    elements, queries, records = (int(x) for x in (rng.integers(3, 15), rng.integers(1, 6), 10 ** rng.uniform(1, 7)))
    asked = small_problem(seed, records, elements, queries)
    price = PRICES[seed % 4](asked) if elements > 1 and queries > 1 else small_db_price(asked)
    solved, best = programs.preprocessing(asked, price=price).solve("HIGHS"), preprocess(asked, price)
    assert solved.value == pytest.approx(best.optimality.value, rel=1e-7)
    assert best.optimality.value * (1 - 1e-7) <= solved.lower_bound <= solved.value


@pytest.mark.parametrize("solver", ["CLARABEL", "SCS"])
def test_other_solvers_reach_it_up_to_their_accuracy(solver: str) -> None:
    for seed in range(2):
        asked = small_problem(seed)
        solved, best = programs.preprocessing(asked).solve(solver), preprocess(asked, mwem_price(asked))
        assert solved.value == pytest.approx(best.optimality.value, rel=1e-6 if solver == "CLARABEL" else 1e-4)
        assert solved.lower_bound <= solved.value


@pytest.mark.parametrize("name", ["mwem", "small_db"])
def test_the_frozen_mechanism_is_certified_and_carries_its_bound(name: str) -> None:
    asked = small_problem(3, elements=5)
    made = programs.preprocessing(asked, name, **({"size": 6, "exponent": -4} if name == "small_db" else {})).design("HIGHS")
    assert isinstance(made, MWEM if name == "mwem" else SmallDB) and made.privacy.holds
    rows, c, d = made.queries.values, 1 / made.queries.weights, asked.relation.distances()
    for i, j in combinations(range(5), 2):
        assert (np.abs(rows[:, i] - rows[:, j]) <= c * d[i, j] * (1 + 1e-12)).all()
    assert made.optimality.lower_bound <= made.optimality.value
    assert made.optimality.gap < (1e-6 if name == "mwem" else 0.5)  # a grid of 1/16 biases the queries of SmallDB
    assert made.provenance["solver"] == "HIGHS" and made.provenance["raw_violation"] < 1e-9


def scanned(asked: Problem, own, steps: int = 60) -> float:
    """The least loss over a grid of c, all pairs written out, with constraints own(Q, c)."""
    q, d, price = asked.workload.dense(), asked.relation.distances(), mwem_price(asked)
    top = 1.3 * float(asked.sensitivity().worst_coordinates().max())
    rows, e, c = cp.Variable(q.shape), cp.Variable(nonneg=True), cp.Parameter(nonneg=True)
    limits = [cp.abs(rows[:, i] - rows[:, j]) <= c * d[i, j] for i, j in combinations(range(q.shape[1]), 2)]
    stated = cp.Problem(cp.Minimize(e), [*limits, cp.abs(rows - q) <= e, *own(rows, c)])
    best = np.inf
    for c.value in np.linspace(0, top, steps):
        if stated.solve(solver=cp.HIGHS) < np.inf:
            best = min(best, asked.records * float(stated.value) + price(float(c.value)))
    return best


def test_constraints_of_the_users_own_against_a_scan_of_c() -> None:
    asked = small_problem(1, elements=5)
    q = asked.workload.dense()

    def own(rows, c):
        return [rows >= q.min() + 0.1, cp.sum(rows[0]) == q[0].sum()]

    program = programs.preprocessing(asked)
    made = program.subject_to(own(program.Q, program.c), "shape").design("HIGHS")
    least = scanned(asked, own)
    assert made.optimality.value <= least * (1 + 1e-7)
    assert made.optimality.value >= made.optimality.lower_bound >= 0.999999 * made.optimality.value
    assert made.queries.values.min() >= q.min() + 0.1 > q.min() + 0.05
    assert abs(made.queries.values[0].sum() - q[0].sum()) < 1e-6
    assert made.optimality.value > preprocess(asked, mwem_price(asked)).optimality.value


def test_another_objective() -> None:
    """The least bias for a stated c is McShane's."""
    asked = small_problem(2)
    c = 0.5 * preprocess(asked, mwem_price(asked), "unbiased").constant
    program = programs.preprocessing(asked)
    made = program.subject_to(program.c <= c).minimise(program.e).design("HIGHS")
    assert made.queries.bias == pytest.approx(preprocess(asked, mwem_price(asked), c).bias, rel=1e-6)
    assert made.queries.constant <= c and made.optimality is None


def test_contradictions_and_constants_are_told() -> None:
    program = programs.preprocessing(small_problem(0))
    program.subject_to(program.c <= 1e-3, "quiet").subject_to(program.Q[0, 0] - program.Q[0, 1] >= 0.5, "apart")
    with pytest.raises(DesignFailed, match=r"no values .* 'apart' .*'e0'.* together while every pair keeps its budget"):
        program.design("HIGHS")
    with pytest.raises(DesignFailed, match=r"least for constant answers without noise \(c = 0\)"):
        programs.preprocessing(small_problem(0, records=300)).design("HIGHS")


def test_refusals_of_programs() -> None:
    asked = small_problem(0)
    with pytest.raises(InvalidProblem, match="mechanism: 'mw' is unknown; use 'mwem' or 'small_db'"):
        programs.preprocessing(asked, "mw")
    with pytest.raises(DesignFailed, match=r"problem\.records: missing"):
        programs.preprocessing(Problem(asked.workload, asked.relation))
    with pytest.raises(InvalidProblem, match="hides the number of records"):
        programs.preprocessing(Problem(asked.workload, metrics.add_remove(8, 1.0), records=10))
    biased = programs.preprocessing(asked, price=lambda c: 0.0)
    with pytest.raises(InvalidProblem, match="price: stays below the loss"):
        biased.subject_to(biased.e >= 0.1).solve("HIGHS")
    with pytest.raises(InvalidProblem, match="size: 5000 is above 4096"):
        programs.preprocessing(asked, size=5000)

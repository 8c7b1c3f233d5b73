"""Program (8) in CVXPY: against the closed form of the specialised solver, brute force, and under the user's constraints."""

from __future__ import annotations

from itertools import combinations

import cvxpy as cp
import numpy as np
import pytest

from designer import DesignFailed, InvalidProblem, Problem, Workload, metrics, programs
from designer.synthetic.multiplicative import MWEM
from designer.synthetic.queries import mwem_price, preprocess, small_db_price, theorem_6_price, theorem_8_price
from designer.synthetic.small_databases import SmallDB

PRICES = (mwem_price, small_db_price, theorem_6_price, theorem_8_price)


def problem(seed: int, records: int = 30_000, elements: int = 8, queries: int = 2) -> Problem:
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
        asked = problem(seed, records)
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
    asked = problem(seed, records, elements, queries)
    price = PRICES[seed % 4](asked) if elements > 1 and queries > 1 else small_db_price(asked)
    solved, best = programs.preprocessing(asked, price=price).solve("HIGHS"), preprocess(asked, price)
    assert solved.value == pytest.approx(best.optimality.value, rel=1e-7)
    assert best.optimality.value * (1 - 1e-7) <= solved.lower_bound <= solved.value


@pytest.mark.parametrize("solver", ["CLARABEL", "SCS"])
def test_other_solvers_reach_it_up_to_their_accuracy(solver: str) -> None:
    for seed in range(2):
        asked = problem(seed)
        solved, best = programs.preprocessing(asked).solve(solver), preprocess(asked, mwem_price(asked))
        assert solved.value == pytest.approx(best.optimality.value, rel=1e-6 if solver == "CLARABEL" else 1e-4)
        assert solved.lower_bound <= solved.value


@pytest.mark.parametrize("name", ["mwem", "small_db"])
def test_the_frozen_mechanism_is_certified_and_carries_its_bound(name: str) -> None:
    asked = problem(3, elements=5)
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
    asked = problem(1, elements=5)
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
    asked = problem(2)
    c = 0.5 * preprocess(asked, mwem_price(asked), "unbiased").constant
    program = programs.preprocessing(asked)
    made = program.subject_to(program.c <= c).minimise(program.e).design("HIGHS")
    assert made.queries.bias == pytest.approx(preprocess(asked, mwem_price(asked), c).bias, rel=1e-6)
    assert made.queries.constant <= c and made.optimality is None


def test_contradictions_and_constants_are_told() -> None:
    program = programs.preprocessing(problem(0))
    program.subject_to(program.c <= 1e-3, "quiet").subject_to(program.Q[0, 0] - program.Q[0, 1] >= 0.5, "apart")
    with pytest.raises(DesignFailed, match=r"no values .* 'apart' .*'e0'.* together while every pair keeps its budget"):
        program.design("HIGHS")
    with pytest.raises(DesignFailed, match=r"least for constant answers without noise \(c = 0\)"):
        programs.preprocessing(problem(0, records=300)).design("HIGHS")


def test_refusals() -> None:
    asked = problem(0)
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

"""MWEM: its guarantee by enumeration of transcripts, its sampler against their probabilities,
its learning against the proven rate."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from designer import DesignFailed, InvalidProblem, NotPrivate, Problem, Workload, metrics
from designer.base.errors import InvalidSpec
from designer.files import spec
from designer.problem.domain import Domain
from designer.problem.histogram import UNUSABLE
from designer.synthetic.multiplicative import MWEM, equal_shares, mwem, theorem_8
from designer.synthetic.queries import LipschitzQueries
from designer.synthetic.small_databases import small_db
from examples import dx_synthetic
from solvers.programs.nearest_sums import distribution, replayed, updated
from tests.oracles.goodness_of_fit import p_value

FAILURE_PROBABILITY = 1e-6
HALF = Fraction(1, 2)


def coarse(relation=None, rounds: int = 1, selection: str = "exponential", shares=None) -> MWEM:
    """Three elements, two queries with entries of 0 to 3 steps of 1, two records: few enough transcripts to list."""
    workload = Workload([[0.0, 1.0, 3.0], [2.0, 0.0, 2.0]])
    queries = LipschitzQueries.on_grid(workload, relation or metrics.euclidean([[0.0], [1.0], [2.5]]), workload.dense(), 0)
    return MWEM(queries, 2, shares or equal_shares(rounds), selection)


def databases(made: MWEM) -> list[np.ndarray]:
    n = made.queries.relation.size
    return [np.bincount(chosen, minlength=n) for chosen in combinations_with_replacement(range(n), made.records)]


def transcripts(made: MWEM, beyond: int) -> list[tuple[tuple[int, int], ...]]:
    """Every choice and every measurement within `beyond` steps of what some database answers."""
    exact = np.array([made.queries.integers @ x for x in databases(made)])
    single = [(k, m) for k in range(2) for m in range(int(exact[:, k].min()) - beyond, int(exact[:, k].max()) + beyond + 1)]
    return list(product(single, repeat=made.rounds))


def worst_ratio(made: MWEM, beyond: int) -> float:
    """max of log-ratio over budget, over pairs of databases that differ in one record and all listed transcripts."""
    table = {tuple(x): np.array([made.log_likelihood(x, t) for t in transcripts(made, beyond)]) for x in databases(made)}
    worst, d, n = 0.0, made.queries.relation.distances(), made.queries.relation.size
    for x, i, j in product(databases(made), range(n), range(n)):
        if i != j and x[i]:
            y = x.copy()
            y[i] -= 1
            y[j] += 1
            worst = max(worst, float((table[tuple(x)] - table[tuple(y)]).max() / d[i, j]))
    return worst


RELATIONS = {
    "euclidean": metrics.euclidean([[0.0], [1.0], [2.5]]),
    "uniform": metrics.uniform(3, 0.8),
    "matrix": metrics.from_matrix([[0, 0.3, 1.0], [0.3, 0, 0.9], [1.0, 0.9, 0]]),
}


@pytest.mark.parametrize("selection", ["exponential", "permute_and_flip"])
@pytest.mark.parametrize("kind", RELATIONS)
def test_every_transcript_of_one_round_and_every_pair_of_neighbours(kind: str, selection: str) -> None:
    """Beyond the answers of all databases the ratio of a measurement is constant: the window holds the worst."""
    assert 0.3 < worst_ratio(coarse(RELATIONS[kind], 1, selection), 2) <= 1 + 1e-12


@pytest.mark.parametrize("kind", RELATIONS)
def test_every_transcript_of_two_rounds(kind: str) -> None:
    assert 0.2 < worst_ratio(coarse(RELATIONS[kind], 2), 1) <= 1 + 1e-12


def test_uneven_rounds_and_shares() -> None:
    shares = ((Fraction(1, 10), Fraction(3, 10)), (Fraction(1, 5), Fraction(2, 5)))
    assert 0.2 < worst_ratio(coarse(shares=shares), 1) <= 1 + 1e-12
    with pytest.raises(NotPrivate, match=r"1\.4999"):
        coarse(shares=((HALF, HALF), (Fraction(1, 4), Fraction(1, 4))))
    assert float(coarse(shares=((Fraction(1, 8), Fraction(1, 8)),)).privacy.worst_ratio) == pytest.approx(0.25)


def test_the_enumeration_sees_what_is_not_private() -> None:
    """The same object with constants four times too small, past the certificate by force."""
    made = coarse()
    forged = object.__new__(LipschitzQueries)
    forged.__dict__.update({**made.queries.__dict__, "weights": made.queries.weights * 4})
    with pytest.raises(NotPrivate):
        MWEM(forged, 2, made.shares).verify().require()
    broken = object.__new__(MWEM)
    broken.__dict__.update({**made.__dict__, "queries": forged})
    assert worst_ratio(broken, 1) > 1.5


def test_probability_of_a_round_written_out() -> None:
    """Selection exp(|P_k x - P_k y| / (4 c)) with y uniform, rounded to the grid,
    and a discrete Laplace law of scale 2 c_k; they sum to 1."""
    made, x = coarse(), np.array([1, 0, 1])
    p, scale = made.queries.values, 1 / made.queries.weights
    start = np.round(p @ np.full(3, 2 / 3))
    choice = np.exp(np.abs(p @ x - start) / (4 * scale.max()))
    total = 0.0
    for k, m in product(range(2), range(-250, 251)):
        a = math.exp(-1 / (2 * scale[k]))
        wanted = choice[k] / choice.sum() * (1 - a) / (1 + a) * a ** abs(m - p[k] @ x)
        assert made.log_likelihood(x, [(k, m)]) == pytest.approx(math.log(wanted))
        total += wanted
    assert total == pytest.approx(1.0, abs=1e-9)


def test_simulated_transcripts_follow_their_probabilities() -> None:
    made, x = coarse(metrics.uniform(3, 6.0), 2), np.array([0, 1, 1])
    listed = transcripts(made, 3)
    probabilities = np.exp([made.log_likelihood(x, t) for t in listed])
    seen = dict.fromkeys(listed, 0)
    runs = 1500
    for seed in range(runs):
        key = tuple((r.query, int(r.measurement)) for r in made.simulate(1, seed=seed, data=x)[0].rounds)
        if key in seen:
            seen[key] += 1
    counts = np.array([*seen.values(), runs - sum(seen.values())])
    assert p_value(counts, np.append(probabilities, 1 - probabilities.sum())) > FAILURE_PROBABILITY
    other = np.exp([made.log_likelihood([1, 1, 0], t) for t in listed])
    assert p_value(counts, np.append(other, 1 - other.sum())) < 1e-9


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**6), st.floats(-30, 30))
def test_every_step_learns_what_hoeffding_promises(seed: int, noise: float) -> None:
    """Relative entropy to b falls by 2 / R^2 (error^2 - noise^2), however large the noise."""
    generator = np.random.default_rng(seed)
    n = int(generator.integers(2, 8))
    b, logs, row = generator.dirichlet(np.ones(n)), np.log(generator.dirichlet(np.ones(n))), generator.normal(size=n)
    spread = float(np.ptp(row)) * generator.uniform(1, 2)
    p, after = distribution(logs), updated(logs, row, float(row @ b) + noise, 4 / spread**2)
    # In logarithms: where noise is large, weights fall below every float.
    fall = float(b @ (after - logs)) - float(np.logaddexp.reduce(after) - np.logaddexp.reduce(logs))
    promised = 2 / spread**2 * (float(row @ (p - b)) ** 2 - noise**2)
    assert fall >= promised - 1e-9 * (1 + abs(promised))


def real_problem(records: int = 20_000, epsilon: float = 2.0, seed: int = 0) -> tuple[Problem, np.ndarray]:
    generator = np.random.default_rng(seed)
    workload = Workload(generator.integers(0, 2, (30, 24)).astype(float))
    return Problem(workload, metrics.uniform(24, epsilon), records=records), generator.multinomial(
        records, generator.dirichlet(np.full(24, 0.3))
    )


def test_bound_holds_and_is_sharper_than_theorem_8() -> None:
    """Fails with probability 0.1 at most: more than 12 failures in 40 runs have probability below 3e-4.
    In fact there are none."""
    p, x = real_problem()
    made = mwem(p, constant="unbiased")
    errors = [np.abs(made.simulate(1, seed=seed, data=x)[0].answers - p.workload.answer(x)).max() for seed in range(40)]
    assert sum(error > made.bound(0.1) for error in errors) <= 12
    beta = 2 * made.rounds / 30
    assert made.bound(beta) < theorem_8(made.queries, made.records, made.rounds) < made.bound(1e-9 * beta) * 3
    other = MWEM(made.queries, made.records, equal_shares(9))
    assert theorem_8(made.queries, made.records, 9) == pytest.approx(
        2 * 20_000 * math.sqrt(math.log(24) / 9) + 10 * 9 * made.queries.constant * math.log(30) + 20_000 * made.queries.bias
    )
    slack = 4 * other.queries.constant * 9 * math.log(30 / 0.3 * 18) + 2 * other.queries.constant * 9 * math.log(18 / 0.3)
    assert other.bound(0.3) == pytest.approx(20_000 * math.sqrt(math.log(24) / 18) + slack, rel=1e-6)


def literal(made: MWEM, transcript, constant: float) -> np.ndarray:
    """The average of Algorithm 2 as printed: Q' = P / c, update exp(q'_i (m - q'(y)) / 2 n), m on the scale of P."""
    n, primed = made.records, made.queries.values / constant
    logs, seen = np.zeros(primed.shape[1]), []
    for done in transcript:
        seen.append(n * distribution(logs))
        logs = logs + primed[done.query] * (done.measurement - primed[done.query] @ seen[-1]) / (2 * n)
    return np.mean(seen, axis=0)


@pytest.mark.parametrize("epsilon", [0.2, 5.0])
def test_algorithm_2_as_printed_compares_on_two_scales(epsilon: float) -> None:
    """Where m = P_k x it stops at q'(y) = m, that is at P_k y = c P_k x, c = 5 or 1/5: more rounds make it worse.
    On one scale they help."""
    p, x = real_problem(records=10**6, epsilon=epsilon)
    made = mwem(p, rounds=240, constant="unbiased")
    out = made.simulate(1, seed=1, data=x)[0]
    truth = p.workload.answer(x)

    def error(y: np.ndarray) -> float:
        return float(np.abs(p.workload.dense() @ y - truth).max())

    printed = {t: error(literal(made, out.rounds[:t], made.queries.constant)) for t in (120, 240)}
    on_one_scale = {t: error(literal(made, out.rounds[:t], 1.0)) for t in (120, 240)}
    assert error(out.histogram) < on_one_scale[240] < on_one_scale[120]
    assert printed[240] > printed[120] > on_one_scale[120]


def test_outputs_are_post_processing_of_the_transcript() -> None:
    p, x = real_problem()
    for output in ("average", "last", "replay"):
        made = mwem(p, rounds=12, constant="unbiased", output=output)
        out = made.simulate(1, seed=5, data=x)[0]
        assert out.histogram.tolist() == made.histogram_of(out.rounds).tolist()
        assert out.histogram.sum() == pytest.approx(p.records) and (out.histogram >= 0).all()
        misfit = {o: _misfit(made, made.histogram_of(out.rounds, o), out.rounds) for o in ("average", "last", "replay")}
        assert misfit["replay"] < misfit["last"] < misfit["average"]
    with pytest.raises(InvalidProblem, match="output: 'median'"):
        made.histogram_of(out.rounds, "median")


def _misfit(made: MWEM, y: np.ndarray, transcript) -> float:
    return float(sum((made.queries.values[r.query] @ y - r.measurement) ** 2 for r in transcript))


def test_replayed_by_hand() -> None:
    rows, values = [np.array([1.0, 0.0]), np.array([0.0, 1.0])], [0.8, 0.2]
    assert distribution(replayed(np.zeros(2), rows, values, 1.0, 200)) == pytest.approx([0.8, 0.2])
    assert replayed(np.zeros(2), rows, values, 1.0, 0).tolist() == [0.0, 0.0]


def test_a_query_that_nothing_moves_is_measured_as_it_is() -> None:
    d = np.full((4, 4), np.inf)
    d[:2, :2] = d[2:, 2:] = 1 - np.eye(2)
    p = Problem(Workload([[9, 9, 0, 0], [0, 1, 0, 1]]), metrics.from_matrix(d), records=1000)
    made = mwem(p, rounds=30, constant="unbiased")
    out = made.simulate(1, seed=3, data=[700, 100, 0, 200])[0]
    exact = [r for r in out.rounds if r.query == 0]
    assert exact and all(r.measurement == 7200 and r.scale == 0 for r in exact)
    assert made.log_likelihood([700, 100, 0, 200], [(0, int(7200 / made.queries.step))] * 30) > -math.inf
    assert made.log_likelihood([700, 100, 0, 200], [(0, 1)] * 30) == -math.inf
    assert "connected components" in made.guarantee.to_text()


def test_attributes_of_their_own_are_measured_with_their_own_noise() -> None:
    domain = Domain.of({"a": 2, "b": 3})
    p = Problem(Workload.marginals(domain, [["a"], ["b"]]), metrics.hamming(domain, {"a": 0.1, "b": 4.0}), records=9000)
    made = mwem(p, rounds=4, constant="unbiased")
    scales = {r.query: r.scale for seed in range(12) for r in made.simulate(1, seed=seed, data=[1500] * 6)[0].rounds}
    assert {round(scale, 6) for k, scale in scales.items() if k < 2} == {80.0}
    assert {round(scale, 6) for k, scale in scales.items() if k >= 2} == {2.0}


def test_release_and_refusals_say_nothing_about_the_data() -> None:
    p, x = real_problem()
    made = mwem(p, rounds=3, constant="unbiased")
    one, two = made.release(x), made.release(x)
    assert [r.measurement for r in one.rounds] != [r.measurement for r in two.rounds]
    assert one.guarantee == made.guarantee and one.fingerprint == made.fingerprint and len(one.rounds) == 3
    assert json.dumps(one.to_dict()) and "not private" in made.simulate(1, seed=1, data=x)[0].to_dict()["stamp"]
    assert (
        made.simulate(1, seed=1, data=x)[0].answers.tolist()
        == made.simulate(1, seed=1, data=x)[0].answers.tolist()
        != one.answers.tolist()
    )
    np.testing.assert_allclose(one.answers, made.queries.values @ one.histogram)
    for bad in (-x, x + 0.5, x * math.nan):
        with pytest.raises(InvalidProblem) as refused:
            made.release(bad)
        assert str(refused.value) == UNUSABLE
    with pytest.raises(InvalidProblem, match="must hold the 20000 records") as refused:
        made.release(2 * x)
    assert str(2 * x[0]) not in str(refused.value)
    with pytest.raises(TypeError):
        made.release(x, 1)


def test_spec_round_trip_and_edited_specs(tmp_path) -> None:
    p, _ = real_problem()
    made = mwem(p, rounds=3, selection="permute_and_flip", output="replay")
    again = spec.load(made.save(tmp_path / "m.json"))
    assert again == made and again.guarantee == made.guarantee and again.optimality == made.optimality
    core = json.loads((tmp_path / "m.json").read_text())["mechanism"]
    for key, value in (
        ("shares", [["1/2", "1/2"], ["1/6", "1/6"]]),
        ("queries", {**core["queries"], "weights": [w * 1.01 for w in core["queries"]["weights"]]}),
    ):
        with pytest.raises(NotPrivate):
            MWEM.from_core({**core, key: value})
    for key, value in (
        ("shares", []),
        ("shares", [["1/2", "0"]]),
        ("shares", [["1e9", "1/2"]]),
        ("shares", [["1/2"]]),
        ("shares", [[0.5, 0.5]]),
        ("output", "median"),
        ("selection", "noisy_max"),
        ("records", True),
        ("extra", 1),
    ):
        with pytest.raises((InvalidSpec, InvalidProblem, ValueError)):
            MWEM.from_core({**core, key: value})


def test_rows_that_no_protected_change_moves_are_refused_whatever_their_weights() -> None:
    with pytest.raises(InvalidProblem, match="the relation protects nothing in them"):
        LipschitzQueries(Workload([[1.0, 1.0]]), metrics.uniform(2, 1.0), np.array([[1, 1]]), 0, np.array([1.0]))


def test_refusals_of_the_constructor() -> None:
    made = coarse()
    for shares, words in (
        ((), "0 rounds"),
        (((HALF, 0.5),), "shares"),
        (((HALF, Fraction(-1, 2)),), "positive fractions"),
        ("x", "0 rounds"),
    ):
        with pytest.raises(InvalidProblem, match=words):
            MWEM(made.queries, 2, shares)
    with pytest.raises(InvalidProblem, match="records"):
        MWEM(made.queries, 0, made.shares)
    with pytest.raises(InvalidProblem, match="rounds"):
        equal_shares(0)


def test_the_default_constant_serves_few_records_and_measures_better_than_the_optimum_of_the_bound() -> None:
    """20 smooth queries on 50 places: the bound wants constants at 1,000 records,
    at 10,000 more bias than noise is worth. Fixed seeds."""

    def measured(made: MWEM) -> float:
        x = dx_synthetic.histogram(made.records)
        truth = dx_synthetic.rows_of("smooth") @ x
        return float(np.mean([np.abs(made.simulate(1, seed=seed, data=x)[0].answers - truth).max() for seed in range(6)]))

    few, many = (dx_synthetic.problem("smooth", n, "optimal") for n in (1000, 10_000))
    assert measured(mwem(few)) < 0.1 * 1000
    with pytest.raises(DesignFailed, match="constant='unbiased'"):
        mwem(few, constant="optimal")
    assert measured(mwem(many)) < 0.9 * measured(mwem(many, constant="optimal"))
    small = Problem(Workload([[0.0, 0.5, 1.0]]), metrics.uniform(3, 0.01), records=1000)
    assert small_db(small, size=2, exponent=-3).queries.bias == 0


@pytest.mark.parametrize(("rounds", "choice"), [(1, Fraction(1, 2)), (3, Fraction(1, 4)), (5, Fraction(4, 5))])
def test_equal_shares_spend_the_whole_budget_and_the_stated_part_on_choices(rounds: int, choice: Fraction) -> None:
    shares = equal_shares(rounds, choice)
    assert len(shares) == rounds and len(set(shares)) == 1
    assert sum(a for a, _ in shares) == choice and sum(b for _, b in shares) == 1 - choice

"""SmallDB: its candidates against a list of all histograms, its guarantee by enumeration, its sampler against its law."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from itertools import combinations_with_replacement

import numpy as np
import pytest

from designer import InvalidProblem, NotPrivate, Problem, Workload, metrics
from designer.base.errors import DesignFailed, InvalidSpec
from designer.files import spec
from designer.problem.domain import Domain
from designer.problem.histogram import UNUSABLE
from designer.synthetic.queries import LipschitzQueries
from designer.synthetic.small_databases import ColumnSums, SmallDB, literal_size, proposition_1, small_db
from examples.papers.dx.small_database_chain import simulate_chain
from tests.oracles.goodness_of_fit import p_value

FAILURE_PROBABILITY = 1e-6
PLACES = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [3.0, 1.0]])


def histograms(elements: int, records: int) -> list[np.ndarray]:
    return [np.bincount(chosen, minlength=elements) for chosen in combinations_with_replacement(range(elements), records)]


def neighbours(size: int, records: int) -> Iterator[tuple[np.ndarray, np.ndarray, int, int]]:
    """Every pair of databases that differ in one record, i in the first and j in the second."""
    for rest in histograms(size, records - 1):
        for i in range(size):
            for j in range(size):
                if i != j:
                    unit = np.eye(size, dtype=int)
                    yield rest + unit[i], rest + unit[j], i, j


def tiny(selection: str = "exponential", constant: str | float = "unbiased", relation=None, size: int = 2) -> SmallDB:
    matrix = np.random.default_rng(4).random((2, 4))
    p = Problem(Workload(matrix), relation or metrics.euclidean(PLACES), records=3)
    return small_db(p, size=size, constant=constant, exponent=-6, selection=selection)


@pytest.mark.parametrize("exponent", [0, 1])
def test_candidates_are_the_distinct_answers_of_all_histograms(exponent: int) -> None:
    generator = np.random.default_rng(exponent)
    for _ in range(20):
        queries, elements, size = generator.integers(1, 4), generator.integers(2, 6), generator.integers(1, 5)
        integers = generator.integers(-3, 4, (queries, elements)) * 2**exponent
        found = ColumnSums.of(integers, int(size))
        wanted = {tuple((integers @ y).tolist()) for y in histograms(elements, size)}
        assert sorted(wanted) == sorted(map(tuple, found.answers.tolist()))
        for r, answer in enumerate(found.answers):
            y = found.histogram(r)
            assert y.sum() == pytest.approx(size) and (y >= 0).all()
            np.testing.assert_allclose(integers @ y, answer, atol=1e-12)


def test_candidates_of_large_entries_take_the_slow_road() -> None:
    """Nine queries with entries of 50 bits: codes of 450 bits."""
    integers = np.random.default_rng(2).integers(0, 2**50, (9, 4))
    found = ColumnSums.of(integers, 3)
    assert {tuple(a) for a in found.answers.tolist()} == {tuple((integers @ y).tolist()) for y in histograms(4, 3)}


RELATIONS = {
    "euclidean": metrics.euclidean(PLACES),
    "uniform": metrics.uniform(4, 0.7),
    "hamming": metrics.hamming(Domain.of({"a": 2, "b": 2}), {"a": 0.4, "b": 1.5}),
}


@pytest.mark.parametrize("selection", ["exponential", "permute_and_flip"])
@pytest.mark.parametrize("kind", RELATIONS)
@pytest.mark.parametrize("constant", ["unbiased", 0.15])
def test_every_outcome_of_every_pair_of_neighbours(selection: str, kind: str, constant: str | float) -> None:
    made = tiny(selection, constant, RELATIONS[kind])
    law = {tuple(x): made.pmf(x) for x in histograms(4, 3)}
    d, worst = made.queries.relation.distances(), 0.0
    for one, two, i, j in neighbours(4, 3):
        worst = max(worst, float(np.log(law[tuple(one)] / law[tuple(two)]).max() / d[i, j]))
    assert 0.1 < worst <= 1 + 1e-12


def test_the_enumeration_sees_a_constant_that_is_too_small() -> None:
    made = tiny()
    forged = object.__new__(LipschitzQueries)
    forged.__dict__.update({**made.queries.__dict__, "weights": made.queries.weights * 4})
    with pytest.raises(NotPrivate):
        SmallDB(forged, 3, 2).verify().require()
    forged_db = object.__new__(SmallDB)
    forged_db.__dict__.update({**made.__dict__, "queries": forged})
    d = made.queries.relation.distances()
    law = {tuple(x): forged_db.pmf(x) for x in histograms(4, 3)}
    assert max(np.log(law[tuple(a)] / law[tuple(b)]).max() / d[i, j] for a, b, i, j in neighbours(4, 3)) > 1.2


def test_law_is_the_papers_with_y_scaled_to_n() -> None:
    """Weights exp(-s / 2c), written out in floats; the constants c_k of single queries may be smaller, their largest counts."""
    made, x = tiny(size=3), np.array([2, 0, 0, 1])
    q = made.queries
    scores = np.abs(q.values @ x - np.ldexp(made.candidates.answers.astype(float), q.exponent) * 3 / 3).max(axis=1)
    weights = np.exp(-scores / (2 * q.constant))
    np.testing.assert_allclose(made.pmf(x), weights / weights.sum(), rtol=1e-9)


def test_simulated_choices_follow_the_law() -> None:
    made, x = tiny(constant=0.15), np.array([2, 0, 0, 1])
    answers = np.ldexp(made.candidates.answers.astype(float), made.queries.exponent) * made.records / made.size
    seen = np.zeros(len(answers), dtype=int)
    for seed in range(2500):
        seen[np.abs(answers - made.simulate(1, seed=seed, data=x)[0].answers).max(axis=1).argmin()] += 1
    assert p_value(seen, made.pmf(x)) > FAILURE_PROBABILITY
    assert p_value(seen, made.pmf(np.array([1, 1, 0, 1]))) < 1e-9


def literal_errors(made: SmallDB, x: np.ndarray) -> tuple[float, float]:
    """Expected largest error of Algorithm 1 as printed (scores and answers of y as it stands), and of the corrected one."""
    q, truth = made.queries, made.queries.values @ x
    small = np.ldexp(made.candidates.answers.astype(float), q.exponent)
    literal = np.abs(truth - small).max(axis=1)
    weights = np.exp(-(literal - literal.min()) / (2 * q.constant))
    corrected = np.abs(truth - small * made.records / made.size).max(axis=1)
    return float(literal @ weights / weights.sum()), float(corrected @ made.pmf(x))


def test_algorithm_1_as_printed_answers_for_m_records_only() -> None:
    """With 400 records, m = 8 and a generous budget: as printed the answers are short by nearly all records."""
    p = Problem(Workload([[1, 1, 0], [0, 1, 1]]), metrics.uniform(3, 1.0), records=400)
    made = small_db(p, size=8, constant="unbiased")
    literal, corrected = literal_errors(made, np.array([150, 100, 150]))
    assert corrected < 30 and literal > 230


def test_bound_holds() -> None:
    """A bound that fails with probability beta at most: with 60 runs,
    more than 15 failures at beta = 0.1 have probability below 1e-3."""
    generator = np.random.default_rng(0)
    p = Problem(Workload(generator.integers(0, 2, (3, 30)).astype(float)), metrics.uniform(30, 1.0), records=300)
    made = small_db(p, size=12, constant="unbiased")
    x = generator.multinomial(300, generator.dirichlet(np.ones(30)))
    failures = sum(
        np.abs(made.simulate(1, seed=seed, data=x)[0].answers - p.workload.answer(x)).max() > made.bound(0.1)
        for seed in range(60)
    )
    assert failures <= 15 and made.bound(0.1) < made.bound(0.01)
    alpha = 0.3
    sized = small_db(p, size=literal_size(3, alpha), constant="unbiased")
    # The sharpened bound counts distinct answers where the proposition counts N^m sequences, and log(2K) / 2 for log K.
    assert sized.bound(0.05) <= proposition_1(sized.queries, 300, alpha, 0.05) + 2 * math.log(30)


def test_permute_and_flip_is_never_worse() -> None:
    for x in histograms(4, 3):
        both = [tiny(selection, 0.15) for selection in ("exponential", "permute_and_flip")]
        errors = [np.abs(m.candidates.answers * 3 / 2 - m.queries.integers @ x).max(axis=1) @ m.pmf(x) for m in both]
        assert errors[1] <= errors[0] * (1 + 1e-12)


def test_release_and_refusals_say_nothing_about_the_data() -> None:
    made = tiny()
    out = made.release([3, 0, 0, 0])
    assert out.histogram.sum() == pytest.approx(3) and out.answers.shape == (2,)
    assert out.fingerprint == made.fingerprint and out.guarantee == made.guarantee
    assert "public" in made.guarantee.to_text() and not out.histogram.flags.writeable
    np.testing.assert_allclose(out.answers, made.queries.values @ out.histogram)
    assert json.dumps(out.to_dict()) and "not private" in made.simulate(1, seed=1, data=[3, 0, 0, 0])[0].to_dict()["stamp"]
    for bad in ([-1, 4, 0, 0], [0.5, 2.5, 0, 0], [math.nan, 1, 1, 1]):
        with pytest.raises(InvalidProblem) as refused:
            made.release(bad)
        assert str(refused.value) == UNUSABLE
    with pytest.raises(InvalidProblem, match="must hold the 3 records"):
        made.release([777, 0, 0, 0])
    with pytest.raises(TypeError):
        made.release([3, 0, 0, 0], 1)


def test_spec_round_trip_and_edited_specs(tmp_path) -> None:
    made = tiny(constant=0.15)
    again = spec.load(made.save(tmp_path / "s.json"))
    assert again == made and again.fingerprint == made.fingerprint and again.optimality == made.optimality
    core = json.loads((tmp_path / "s.json").read_text())["mechanism"]
    stronger = json.loads(json.dumps(core))
    stronger["queries"]["weights"] = [w * 1.5 for w in stronger["queries"]["weights"]]
    with pytest.raises(NotPrivate):
        SmallDB.from_core(stronger)
    for key, value in (("size", 2.0), ("size", True), ("records", "3"), ("selection", "best"), ("extra", 1)):
        with pytest.raises((InvalidSpec, InvalidProblem)):
            SmallDB.from_core({**core, key: value})
    for key, value in (("exponent", 5000), ("exponent", 1.0), ("integers", [[2**60, 0, 0, 0], [0, 0, 0, 0]])):
        with pytest.raises((InvalidSpec, InvalidProblem)):
            SmallDB.from_core({**core, "queries": {**core["queries"], key: value}})


def test_too_many_candidates_are_refused_with_advice() -> None:
    p = Problem(Workload.random(5, 30, seed=1), metrics.uniform(30, 1.0), records=100)
    with pytest.raises(DesignFailed, match="too many to choose from"):
        small_db(p, size=8, constant="unbiased")
    with pytest.raises(InvalidProblem, match="size: 0"):
        small_db(p, size=0, constant="unbiased")
    with pytest.raises(InvalidProblem, match="selection: 'x'"):
        tiny("x")


def test_chain_reaches_the_law_where_both_are_known() -> None:
    """Identity queries tell all histograms apart, so candidates are histograms;
    100 moves forget the start of 2 records among 3 elements."""
    p = Problem(Workload.identity(3), metrics.uniform(3, 1.0), records=4)
    made, x = small_db(p, size=2, constant="unbiased"), np.array([3, 1, 0])
    keys = [tuple(np.round(np.ldexp(a.astype(float), made.queries.exponent)).astype(int)) for a in made.candidates.answers]
    seen = np.zeros(len(keys), dtype=int)
    for seed in range(800):
        chain = simulate_chain(made.queries, 4, 2, x, 60, seed)
        seen[keys.index(tuple((chain.histogram / 2).astype(int)))] += 1
    assert "distance from its law is not known" in chain.stamp
    assert p_value(seen, made.pmf(x)) > FAILURE_PROBABILITY
    assert p_value(seen, made.pmf(np.array([1, 1, 2]))) < 1e-9

"""Releases: exact integers, the same outputs for neighbours, fresh entropy, and errors as stated."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from designer import AdditiveMechanism, InvalidProblem, Problem, Workload, design, metrics
from designer.certificate.frozen import below_by_noise
from designer.certificate.norms import Norm, weighted_l1
from designer.files.table_files import agreeing_tables
from designer.mechanism.bounds import error_bounds
from designer.mechanism.noise import Grid, nearest_float, noise_for
from designer.mechanism.release import SimulatedNoise, answers_of
from designer.problem.histogram import UNUSABLE, ExactRows, exact_answers
from designer.sampling.entropy import SeededEntropy
from tests.oracles.goodness_of_fit import p_value_of_integers

FAILURE_PROBABILITY = 1e-6  # of each statistical statement, by Hoeffding or Bernstein; seeds are fixed


def simple(n: int = 4, epsilon: float = 1.0) -> AdditiveMechanism:
    """Prefix sums in whole numbers, which never coincide where the budget is tiny."""
    return design(Problem(Workload(np.tri(n)), metrics.uniform(n, epsilon)), "laplace").mechanism


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from([0, 1, 2**31, 2**52, 2**53 - 1]) | st.integers(0, 2**53 - 1), min_size=1, max_size=5),
    st.sampled_from([1, -1, 3, -(2**30), 2**52, -(2**52)]),
    st.integers(0, 10**6),
)
def test_answers_are_exact_integers_at_every_size(counts: list[int], factor: int, seed: int) -> None:
    signs = np.random.default_rng(seed).integers(-1, 2, (3, len(counts)))
    integers = signs * np.int64(factor)
    found = exact_answers(integers, np.array(counts, dtype=np.int64))
    wanted = [sum(int(a) * x for a, x in zip(row, counts, strict=True)) for row in integers.tolist()]
    assert [int(v) for v in found] == wanted


@given(
    st.sampled_from([(3, 4), (1, 1), (70, 64), (64, 80)]),
    st.sampled_from([0.0, 0.02, 1.0]),
    st.sampled_from([1, 2**20, 2**51]),
    st.sampled_from([0, 5, 2**10, 2**53 - 1]),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=60, deadline=None)
def test_rows_that_are_answered_again_are_answered_exactly(
    shape: tuple[int, int], share: float, factor: int, largest: int, seed: int
) -> None:
    """Dense rows and rows of few entries, rows without any, and sums on both sides of 64 bits."""
    chance = np.random.default_rng(seed)
    rows = chance.integers(-factor, factor, shape, endpoint=True) * (chance.random(shape) < share)
    rows[:, 0] = 0 if share == 0.02 else rows[:, 0]
    counts = chance.integers(0, largest, shape[1], endpoint=True)
    found = ExactRows(rows).answers(counts)
    assert found.tolist() == (rows.astype(object) @ counts.astype(object)).tolist()
    assert found.tolist() == exact_answers(rows, counts).tolist()


def test_rows_of_few_entries_are_summed_by_those() -> None:
    rows = np.kron(np.eye(80, dtype=np.int64), np.ones((1, 2), dtype=np.int64))
    assert ExactRows(rows)._entries is not None and ExactRows(rows[:3, :6])._entries is None
    assert ExactRows(rows).answers(np.arange(160)).tolist() == list(range(1, 320, 4))


@pytest.mark.parametrize("exponent", [-1999, -1130, -1075, -1074, -1073, -1030, -40, 0, 52, 900, 971, 972, 1999])
def test_answers_on_every_grid_are_the_nearest_floats(exponent: int) -> None:
    """Of powers of two that are no floats, of subnormal answers, and of answers beyond the floats."""
    near = [
        sign * (2**k + d) for k in (0, 1, 30, 51, 52, 53, 54, 55, 60, 62, 70, 105) for d in (-1, 0, 1, 3) for sign in (1, -1)
    ]
    halves = [2**54 + 2, 2**54 + 6, 2**1024 // 2**971, 2**53 - 1, (2**54 - 1) * 2, 2**60 + 2**7, 2**60 + 2**7 + 1]
    multiples = [*near, *halves, 0]
    found = answers_of(multiples, Grid((exponent,) * len(multiples)), None)
    assert found.tolist() == [nearest_float(m * Fraction(2) ** exponent) for m in multiples]


def test_overflow_beyond_int64_in_a_release() -> None:
    """2^52 steps times 2^53 records is 2^105; noise of a few steps is still seen in no float,
    so the answer is the rounded integer."""
    made = AdditiveMechanism(
        "custom", Workload([[2.0**52, 0.0, 1.0]]), metrics.uniform(3, 1.0), weighted_l1([2.0**-54]), Grid((0,))
    )
    answer = made.release([2**53 - 1, 0, 5]).answers[0]
    assert abs(answer - float(2**52 * (2**53 - 1) + 5)) <= 2**60


def test_answers_beyond_the_floats_are_infinite_and_no_error() -> None:
    made = design(Problem(Workload([[1e90, 0.0], [-1e90, 0.0]]), metrics.uniform(2, 1.0)), "laplace").mechanism
    huge = AdditiveMechanism("custom", Workload([[1e300, 0.0]]), metrics.uniform(2, 1e299), weighted_l1([1e-2]), Grid((945,)))
    assert huge.release([2**52, 0]).answers.tolist() == [math.inf]
    assert huge.release([0, 2**52]).answers.tolist() != [math.inf]
    assert np.isfinite(made.release([2**52, 0]).answers).all()


def test_a_permuted_universe_gives_the_permuted_mechanism() -> None:
    generator = np.random.default_rng(2)
    matrix, places = generator.random((3, 9)), generator.random((9, 2))
    order = generator.permutation(9)
    one = design(Problem(Workload(matrix), metrics.euclidean(places)), "laplace").mechanism
    two = design(Problem(Workload(matrix[:, order]), metrics.euclidean(places[order])), "laplace").mechanism
    np.testing.assert_allclose(one.scales, two.scales, rtol=1e-6)
    rows = design(Problem(Workload(matrix[[2, 0, 1]]), metrics.euclidean(places)), "laplace").mechanism
    np.testing.assert_allclose(one.scales[[2, 0, 1]], rows.scales, rtol=1e-6)
    assert one.grid.exponents == two.grid.exponents
    assert one.integers[:, order].tolist() == two.integers.tolist()


def test_neighbours_reach_the_same_grid_and_answers_land_on_it() -> None:
    """Outputs of every database are the integer multiples of the same steps, so no low bit tells two databases apart."""
    generator = np.random.default_rng(4)
    made = design(Problem(Workload(generator.random((4, 6))), metrics.euclidean(generator.random((6, 2)))), "laplace").mechanism
    for database in ([3, 0, 1, 0, 0, 2], [2, 1, 1, 0, 0, 2], [0, 0, 0, 0, 0, 0]):
        for _ in range(20):
            for k, answer in enumerate(made.release(database).answers.tolist()):
                assert (Fraction(answer) / made.grid.step(k)).denominator == 1
    for k in range(4):
        for i in range(6):
            assert (Fraction(made.effective[k, i]) / made.grid.step(k)).denominator == 1


def test_forked_processes_release_different_noise() -> None:
    made = simple(epsilon=1e-12)
    made.release([1, 2, 3, 4])  # whatever may be cached is cached before the fork
    seen = []
    for _ in range(4):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writer, json.dumps(made.release([1, 2, 3, 4]).answers.tolist()).encode())
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            seen.append(tuple(json.loads(pipe.read())))
        assert os.waitpid(child, 0)[1] == 0
    seen.append(tuple(made.release([1, 2, 3, 4]).answers.tolist()))
    # The total is public and silent. One coincidence among 15 noisy answers has probability below 2^-30.
    assert len({answer for answers in seen for answer in answers[:3]}) == 15


def test_no_seed_reaches_a_release() -> None:
    made = simple(epsilon=1e-12)
    with pytest.raises(TypeError):
        made.release([1, 2, 3, 4], seed=1)
    np.random.seed(1)  # noqa: NPY002
    one = made.release([1, 2, 3, 4]).answers.tolist()
    np.random.seed(1)  # noqa: NPY002
    assert made.release([1, 2, 3, 4]).answers.tolist() != one


def test_simulated_noise_is_stamped_and_repeatable() -> None:
    made = simple()
    one, two = made.simulate(50, seed=3), made.simulate(50, seed=3)
    assert one.tolist() == two.tolist() != made.simulate(50, seed=4).tolist()
    assert isinstance(one, SimulatedNoise)
    assert one.stamp == "simulation, not private: 50 draws, seed 3"
    assert "not private" in made.simulate(2).stamp
    assert "not private" in (one[:3] * 2).stamp
    assert made.simulate(5).tolist() != made.simulate(5).tolist()
    for size, seed in ((0, 1), (-1, 1), (2.5, 1), (True, 1), (3, -1), (3, 1.5), (3, "x")):
        with pytest.raises(InvalidProblem, match="whole number"):
            made.simulate(size, seed)


def test_stated_errors_against_draws() -> None:
    """Standard errors from the draws' own fourth moments; six of them fail with probability 2e-9 each."""
    generator = np.random.default_rng(8)
    made = design(Problem(Workload(generator.random((3, 5))), metrics.uniform(5, 0.5)), "laplace").mechanism
    coarse = AdditiveMechanism(
        "custom", Workload.identity(3), metrics.uniform(3, 20.0), weighted_l1([1.0, 3.0, 9.0]), Grid((0, 0, 0))
    )
    for mechanism in (made, coarse):
        draws = np.asarray(mechanism.simulate(200_000, seed=5))
        for stated, seen in (
            (mechanism.query_variances(), draws**2),
            (mechanism.query_mean_absolutes(), np.abs(draws)),
            (np.zeros(3), draws),
        ):
            standard_error = np.maximum(seen.std(axis=0), 1e-3) / math.sqrt(len(seen))
            assert (np.abs(seen.mean(axis=0) - stated) < 6 * standard_error).all()
        assert mechanism.error("squared") == pytest.approx(mechanism.query_variances().sum())
        assert mechanism.error("max") == pytest.approx(mechanism.query_variances().max())
        assert mechanism.error("absolute") == pytest.approx(mechanism.query_mean_absolutes().sum())
    with pytest.raises(InvalidProblem, match="loss: 'cubic'"):
        made.error("cubic")


def test_what_is_released_is_the_exact_law_around_the_exact_answer() -> None:
    """Chi-square of 6,000 released noises against the discrete Laplace law,
    and the same with a scale wrong by 20 % is rejected (power 1 - 10^-6)."""
    queries, rate = 20, Fraction(1, 4)
    made = AdditiveMechanism(
        "custom", Workload.identity(queries), metrics.uniform(queries, 0.5), weighted_l1([0.25] * queries), Grid((0,) * queries)
    )
    x = np.arange(queries) * 10**6
    noise = np.concatenate([made.release(x).answers - x for _ in range(300)])
    cells = [-12, -8, -5, -3, -2, -1, 0, 1, 2, 4, 7, 11]

    def law(r: float) -> Callable[[int], float]:
        a = math.exp(-r)
        return lambda z: 1 - a ** (z + 1) / (1 + a) if z >= 0 else a**-z / (1 + a)

    assert p_value_of_integers(noise.astype(np.int64), law(float(rate)), cells) > FAILURE_PROBABILITY
    assert p_value_of_integers(noise.astype(np.int64), law(float(rate) * 1.2), cells) < 1e-3


def test_a_reconstruction_is_part_of_the_error() -> None:
    workload = Workload([[1.0, 1.0], [1.0, -1.0]])
    made = AdditiveMechanism(
        "custom",
        workload,
        metrics.uniform(2, 1.0),
        weighted_l1([0.5, 0.5]),
        Grid((-40, -40)),
        measured=np.eye(2),
        reconstruction=workload.dense(),
    )
    assert made.query_variances().tolist() == pytest.approx([16.0, 16.0])
    assert made.effective.tolist() == workload.dense().tolist()
    draws = np.asarray(made.simulate(100_000, seed=1))
    assert (draws**2).mean(axis=0) == pytest.approx([16.0, 16.0], rel=0.05)


def biased() -> AdditiveMechanism:
    """A matrix with a bias that DX Theorem 2 has to account for, and a coarse grid beside fine ones."""
    workload = Workload(np.random.default_rng(6).random((3, 5)))
    measured = np.round(workload.dense(), 1)
    return AdditiveMechanism(
        "custom", workload, metrics.uniform(5, 3.0), weighted_l1([1.0, 0.9, 0.8]), Grid((-40, -3, -30)), measured=measured
    )


def databases(n: int) -> list[np.ndarray]:
    generator = np.random.default_rng(n)
    corners = [n * row for row in np.eye(5, dtype=int)]
    return corners + [generator.multinomial(n, np.ones(5) / 5) for _ in range(5)]


@pytest.mark.parametrize("n", [1, 10, 1000])
def test_error_bounds_hold_for_every_database_of_n_records(n: int) -> None:
    made = biased()
    bounds = error_bounds(made, n, delta=0.1)
    noise = np.asarray(made.simulate(20_000, seed=n))
    for x in databases(n):
        errors = (made.effective - made.workload.dense()) @ x + noise
        for stated, seen in (
            (bounds.squared, (errors**2).sum(axis=1)),
            (bounds.l1, np.abs(errors).sum(axis=1)),
            (bounds.l2, np.sqrt((errors**2).sum(axis=1))),
            (bounds.linf, np.abs(errors).max(axis=1)),
        ):
            assert seen.mean() <= stated + 6 * seen.std() / math.sqrt(len(seen))
        failures = (np.abs(errors).max(axis=1) > bounds.high_probability).mean()
        assert failures <= 0.1 + math.sqrt(math.log(1 / FAILURE_PROBABILITY) / (2 * len(noise)))


@pytest.mark.parametrize("delta", [0.3, 0.05, math.exp(-4.999), 1e-3])
@pytest.mark.parametrize("rate", [0.01, 0.5, 5.0])
def test_the_high_probability_bound_on_a_coarse_grid_in_closed_form(rate: float, delta: float) -> None:
    """P(|Z| > s) of the discrete law itself: on a coarse grid the tail of the continuous law would promise too much."""
    made = AdditiveMechanism("custom", Workload([[1.0, 0.0]]), metrics.uniform(2, 10.0), weighted_l1([rate]), Grid((0,)))
    steps = math.floor(error_bounds(made, 1, delta).high_probability)
    a = math.exp(-rate)
    assert 2 * a ** (steps + 1) / (1 + a) <= delta


@pytest.mark.parametrize("delta", [0.0, -1.0, 1.5, math.nan])
def test_bad_bounds_are_refused(delta: float) -> None:
    with pytest.raises(InvalidProblem, match="delta"):
        error_bounds(biased(), 1, delta)
    with pytest.raises(InvalidProblem, match="n:"):
        error_bounds(biased(), delta if delta <= 0 else -1.0)


CANARIES = [9007199254740881, 2305843009213693951, 998244353, 67280421310721]
BAD_HISTOGRAMS: dict[str, Any] = {
    "NaN": [CANARIES[0], math.nan, 1, 1],
    "infinite": [math.inf, CANARIES[0], 1, 1],
    "negative": [-CANARIES[2], 1, 1, 1],
    "fraction": [CANARIES[2] + 0.5, 1, 1, 1],
    "2^53": [2**53, 1, 1, 1],
    "2^61 - 1": [CANARIES[1], 1, 1, 1],
    "2^200": [2**200 + CANARIES[2], 1, 1, 1],
    "unsigned": np.array([2**64 - 1, 1, 1, 1], dtype=np.uint64),
    "text": [str(CANARIES[3]), "1", "1", "1"],
    "longer text": [str(CANARIES[3]) * 9, "1", "1", "1"],
    "None": [CANARIES[2], None, 1, 1],
    "complex": [CANARIES[2] * 1j, 1, 1, 1],
    "objects": np.array([CANARIES[2], None, 1, 1], dtype=object),
    "ragged": [[CANARIES[2]], [1, 2], 1, 1],
    "dates": np.array(["2020-01-01"] * 4, dtype="datetime64[D]"),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", BAD_HISTOGRAMS)
def test_unusable_counts_give_one_text_whatever_they_are(name: str) -> None:
    with pytest.raises(InvalidProblem) as refusal:
        simple().release(BAD_HISTOGRAMS[name])
    assert str(refusal.value) == UNUSABLE
    assert refusal.value.__cause__ is None
    assert refusal.value.__suppress_context__ or refusal.value.__context__ is None


def test_the_wrong_number_of_counts_is_named() -> None:
    with pytest.raises(InvalidProblem, match=r"histogram: has shape \(3,\); give 4 counts"):
        simple().release([1, 2, 3])


@pytest.mark.parametrize(
    "counts",
    [
        *([True, False, True, True], np.ones(4), np.ones(4, dtype=np.uint8), (2**53 - 1, 0, 0, 0), np.float32([1, 2, 3, 4])),
        np.array([1, 2, 3, 4], dtype=object),
    ],
)
def test_whole_numbers_of_any_type_are_counts(counts: Any) -> None:
    assert np.isfinite(simple().release(counts).answers).all()


def test_true_values_appear_nowhere(capsys: pytest.CaptureFixture[str]) -> None:
    """Noise of scale 10^6 makes a true answer appear by chance with probability below 10^-5 for 12 comparisons."""
    made = design(Problem(Workload.identity(4), metrics.uniform(4, 1e-6)), "laplace").mechanism
    histogram = [CANARIES[0], 999999000001, CANARIES[2], CANARIES[3]]
    released = made.release(histogram)
    produced = [
        repr(released),
        str(released),
        json.dumps(released.to_dict()),
        repr(made),
        repr(made.noise),
        released.guarantee.to_text(),
    ]
    produced += list(capsys.readouterr())
    for canary in histogram:
        for text in produced:
            assert str(canary) not in text
            assert repr(float(canary)) not in text
    assert not any(np.array_equal(value, histogram) for value in vars(made).values() if isinstance(value, np.ndarray))


def test_silent_answers_are_exact() -> None:
    made = design(Problem(Workload([[1.0, 1.0], [1.0, 0.0]]), metrics.uniform(2, 1.0)), "laplace").mechanism
    assert made.release([2**52 - 1, 2**52]).answers[0] == 2.0**53 - 1
    assert made.query_variances()[0] == 0
    assert made.scales[0] == 0
    assert "Published exactly" in " ".join(made.guarantee.unprotected)


def test_noise_without_an_exact_sampler_is_refused() -> None:
    with pytest.raises(InvalidProblem, match="no exact sampler"):
        noise_for(Norm(np.eye(2), "l1"), Grid((0, 0)), "exponential")
    assert noise_for(weighted_l1([np.inf]), Grid((0,)), "exponential").draw(2, SeededEntropy(1)).tolist() == [[0], [0]]


def test_nested_units_are_released_in_a_table_for_each_level() -> None:
    asked = Workload.nested(["a", "b", "c"], {"region": "NNS", "place": "abc"})
    made = design(Problem(asked, metrics.add_remove(3, 1.0)), "laplace").mechanism
    released = made.release([3, 0, 0])
    total, region, place = released.answer_tables()
    assert [table.name for table in (total, region, place)] == ["total", "region", "place"]
    assert (total.columns, total.keys) == (("query",), (("total",),))
    assert (region.columns, region.keys) == (("region",), (("N",), ("S",)))
    assert (place.columns, place.keys) == (("region", "place"), (("N", "a"), ("N", "b"), ("S", "c")))
    assert np.concatenate([table.answers for table in (total, region, place)]).tolist() == released.answers.tolist()
    joint = released.intervals(0.9, simultaneous=True)
    assert place.intervals(0.9, simultaneous=True).lower.tolist() == joint.lower[3:].tolist()
    assert place.standard_errors.tolist() == made.standard_errors()[3:].tolist()
    assert below_by_noise(made, place).tolist() == (place.answers < 0).tolist()
    agreed = agreeing_tables(made, released).tables
    assert agreed[0].sum() == agreed[1].sum() == agreed[2].sum() and agreed[1][0] == agreed[2][:2].sum()

"""Mechanisms as measurements of OpenDP: chained, mapped, composed and run in the real library."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from designer import InvalidProblem, Mechanism, Problem, Release, Workload, design, invariants, metrics
from designer.accounts import expense_of, spent
from designer.certificate.frozen import FrozenMechanism
from designer.exchange import spending
from designer.exchange.opendp import as_measurement, counting, features, own_noise
from designer.exchange.spending import spending_of
from designer.tradeoff.conversions import zcdp_epsilon
from tests.oracles.goodness_of_fit import p_value_of_integers
from tests.oracles.spec_specimens import specimens

dp: Any = pytest.importorskip("opendp.prelude", reason="OpenDP is an optional extra")
FAILURE_PROBABILITY = 1e-6  # of each statistical statement
NAMES = ["north", "south", "west"]
THREE = Workload(np.eye(3), elements=NAMES)
SUMS = Workload([[1, 1, 0], [0, 0, 1], [1, 1, 1]], elements=NAMES)
LINE = metrics.from_matrix([[0, 0.25, 0.75], [0.25, 0, 0.5], [0.75, 0.5, 0]])


def made(workload: Workload, relation: Any, family: str = "laplace", **options: Any) -> Mechanism:
    notion = {"gaussian": "zcdp"}.get(family, "pure")
    return design(Problem(workload, relation, **{"notion": notion, **options}), family).mechanism


PRESENT, PRESENT_SMOOTH = made(SUMS, metrics.add_remove(3, 1.0)), made(SUMS, metrics.add_remove(3, 1.0), "gaussian")
MOVED = made(SUMS, LINE, "staircase")


@pytest.fixture(autouse=True)
def chaining() -> Any:
    """What users of OpenDP switch on themselves, for combinators; the rest is ours."""
    dp.enable_features("contrib")
    yield
    dp.disable_features("contrib")


def test_a_count_of_opendp_and_our_noise_are_one_measurement() -> None:
    """Real transformation, our measurement: OpenDP adds the maps up, runs both, and promises what we compose."""
    texts = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    count = texts >> dp.t.then_count_by_categories(NAMES, null_category=False, MO=dp.L1Distance[dp.i64], TOA=dp.i64)
    chained = count >> as_measurement(PRESENT, distance="l1")
    exact = expense_of(PRESENT).epsilon * PRESENT.privacy.worst_ratio
    assert exact <= Fraction(chained.map(1)) <= exact * (1 + Fraction(1, 2**52))
    assert len(chained(["north", "south", "north", "elsewhere"])) == 3
    own = counting(PRESENT) >> as_measurement(PRESENT)
    assert [own.map(d) for d in (0, 1, 2, 7)] == [chained.map(d) for d in (0, 1, 2, 7)]
    assert max(np.abs(np.mean([own(["west"] * 50) for _ in range(200)], axis=0) - [0, 50, 50])) < 4  # 10 standard errors


def test_a_record_that_changes_is_a_change_of_one_in_opendp() -> None:
    chained = counting(MOVED, size=4, unknown="west") >> as_measurement(MOVED)
    assert chained.map(1) == pytest.approx(0.75) and chained.map(2) == pytest.approx(1.5)
    assert len(chained(["north", "south", "north", "elsewhere"])) == 3
    by_budget = counting(MOVED, size=4, unknown="west", distance="budget") >> as_measurement(MOVED, distance="budget")
    assert by_budget.map(1) == pytest.approx(0.75)


@pytest.mark.parametrize("distance", [0, 1, 2, 3])
@pytest.mark.parametrize("mechanism", [PRESENT, PRESENT_SMOOTH], ids=["pure", "zcdp"])
def test_the_map_of_l1_is_the_most_that_any_change_of_counts_spends(mechanism: Any, distance: int) -> None:
    """Every integer vector of l1 length d, its shift of the answers measured exactly by the norm of the noise."""
    worst = max(
        mechanism.norm.exact([Fraction(float(u)) for u in mechanism.grid.values(mechanism.integers) @ np.array(v)])
        for v in product(range(-distance, distance + 1), repeat=3)
        if np.abs(v).sum() <= distance
    )
    exact = worst if mechanism is PRESENT else worst**2 / 2
    told = as_measurement(mechanism, distance="l1").map(distance)
    assert Fraction(told) >= exact and told == pytest.approx(float(exact), rel=1e-12)


def test_the_map_of_a_metric_is_the_transport_of_its_budgets() -> None:
    """Pairs of histograms of few records, their cheapest transport by brute force, against what the frozen law spends."""
    by_budget = spending_of(MOVED, "budget")
    budgets = LINE.distances()
    moves = [(i, j) for i in range(3) for j in range(3) if i != j]
    for steps in product(moves, repeat=2):
        change = np.zeros(3)
        for i, j in steps:
            change[i] -= 1
            change[j] += 1
        paid = sum(budgets[i, j] for i, j in steps)
        assert MOVED.privacy_loss(change) <= by_budget.of(float(paid)) * (1 + 1e-12)
        assert MOVED.privacy_loss(change) <= spending_of(MOVED, "records").of(2) * (1 + 1e-12)


@pytest.mark.parametrize("relation", ["far", "appearing", "present"])
def test_a_record_costs_no_more_than_its_longest_change(relation: str) -> None:
    """Every protected change, exactly: near points set the noise, and the budgets of far ones are not used up."""
    places = np.array([[0.0, 0.0], [1.0, 0.0], [400.0, 300.0], [400.0, 301.0]])
    far = metrics.euclidean(places, 0.5)
    relations = {"far": far, "appearing": metrics.appear_or_change(far, 200.0), "present": metrics.add_remove(4, [1, 1, 9, 9])}
    mechanism: Any = made(Workload([[1, 0, 1, 0], [0, 1, 1, 1]]), relations[relation])
    columns = [tuple(map(Fraction, column)) for column in mechanism.grid.values(mechanism.integers).T.tolist()]
    origin = (Fraction(0),) * len(columns[0])
    pairs = [(a, origin) for a in columns] if relation != "far" else []
    pairs += list(product(columns, repeat=2)) if relation != "present" else []
    longest = max(mechanism.norm.exact([x - y for x, y in zip(a, b, strict=True)]) or 0 for a, b in pairs)
    told = Fraction(as_measurement(mechanism).map(1))
    assert longest <= told <= longest * (1 + Fraction(1, 10**9))
    assert relation == "present" or told < Fraction(1, 10) * Fraction(expense_of(mechanism).epsilon or 0)


def test_of_many_points_twice_the_largest_from_one_is_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    places = np.random.default_rng(4).random((30, 2)) * 100
    places[0] = (50, 50)  # in the middle, so that the factor 2 is needed
    mechanism = made(Workload(np.random.default_rng(5).random((3, 30))), metrics.euclidean(places, 0.5))
    exact = spending_of(mechanism).per_unit
    monkeypatch.setattr(spending, "MOST_POINTS", 1)
    assert exact <= spending_of(mechanism).per_unit <= 2 * exact * (1 + Fraction(1, 10**9))
    assert spending_of(mechanism).per_unit > exact


def test_composition_in_opendp_is_ours() -> None:
    pair = dp.c.make_composition([as_measurement(PRESENT), as_measurement(PRESENT)])
    ours = spent([expense_of(PRESENT)] * 2)
    spare = 2.0**-31  # weights are rounded to 32 bits, and the measurement maps what is left of the budget
    assert ours.epsilon is not None and pair.map(1) == pytest.approx(float(ours.epsilon), rel=spare)
    smooth = dp.c.make_composition([as_measurement(PRESENT_SMOOTH)] * 2)
    ours = spent([expense_of(PRESENT_SMOOTH)] * 2)
    assert ours.rho is not None and smooth.map(1) == pytest.approx(float(ours.rho), rel=2 * spare)
    [answers, again] = smooth([3, 4, 5])
    assert answers != again and len(answers) == 3


def test_concentrated_privacy_becomes_approximate_in_opendp_as_it_does_here() -> None:
    """Two conversions of the same rho, each a bound from above by its own method."""
    measurement = as_measurement(PRESENT_SMOOTH)
    rho = measurement.map(1)
    theirs = dp.c.make_zCDP_to_approxDP(measurement).map(1).epsilon(1e-6)
    assert theirs == pytest.approx(zcdp_epsilon(Fraction(rho), 1e-6), rel=1e-3)


def test_approximate_promises_are_pairs() -> None:
    mechanism = made(THREE, metrics.add_remove(3, 0.5), "gaussian", notion="approximate", delta=1e-6)
    measurement = as_measurement(mechanism)
    epsilon, delta = measurement.map(1)
    assert delta == 1e-6 and 0.4999 < epsilon <= 0.5
    assert measurement.map(0) == (0.0, 0.0)
    assert measurement.map(3)[0] > 3 * epsilon  # epsilons of groups do not add up under one delta; lengths do
    with pytest.raises(InvalidProblem, match="adds a delta of its own"):
        as_measurement(mechanism, distance="budget")


def test_an_invariant_is_a_metric_of_its_own() -> None:
    table = invariants.margins((2, 2))
    kept = made(Workload.identity(4), table.protect(0.5, adjacency=2), "lattice_laplace")
    measurement = as_measurement(kept, output="release")
    assert measurement.map(1) == pytest.approx(0.5, rel=1e-9) and "relation" in str(measurement.input_metric)
    found = measurement([5, 1, 2, 4])
    assert isinstance(found, Release) and found.fingerprint == kept.fingerprint and found.answers[0] + found.answers[1] == 6
    with pytest.raises(InvalidProblem, match="appears or disappears moves what is published"):
        as_measurement(kept, distance="l1")
    with pytest.raises(InvalidProblem, match="no distance of lists"):
        counting(kept)


def test_a_budget_for_each_unit_of_distance_is_measured_in_units() -> None:
    """Any change is protected there, so that a number of changes would bound nothing."""
    distance = specimens()["lattice distance"]
    measurement = as_measurement(distance)
    relation: Any = distance.relation  # type: ignore[attr-defined]
    assert f"the {relation.distance} distance" in str(measurement.input_metric)
    ratio = distance.privacy.worst_ratio
    for apart in (1, 2, 7.5):
        assert measurement.map(apart) == pytest.approx(float(ratio) * relation.epsilon * apart)
    for move in distance.lattice.basis:  # type: ignore[attr-defined]
        length = float(np.abs(move).sum() if relation.distance == "l1" else np.sqrt((move**2).sum()))
        assert distance.privacy_loss(move) <= measurement.map(length) * (1 + 1e-12)  # type: ignore[attr-defined]


def test_records_are_not_counted_where_some_changes_are_not_protected() -> None:
    apart = made(SUMS, metrics.from_matrix([[0, math.inf, 1], [math.inf, 0, math.inf], [1, math.inf, 0]]))
    assert as_measurement(apart).map(1) == pytest.approx(1.0)
    with pytest.raises(InvalidProblem, match="no distance of lists"):
        counting(apart, size=3, unknown="west")


def test_two_relations_never_compose_by_mistake() -> None:
    other = made(SUMS, metrics.from_matrix([[0, 0.5, 0.75], [0.5, 0, 0.25], [0.75, 0.25, 0]]), "laplace")
    assert other.relation.sentence() == MOVED.relation.sentence()
    with pytest.raises(dp.OpenDPException):
        dp.c.make_composition([as_measurement(MOVED), as_measurement(other)])


def test_features_are_as_they_were_afterwards() -> None:
    from opendp.mod import GLOBAL_FEATURES

    before = set(GLOBAL_FEATURES)
    with features():
        assert {"contrib", "honest-but-curious"} <= GLOBAL_FEATURES
    assert GLOBAL_FEATURES == before == {"contrib"}


def test_every_kind_of_spec_is_a_measurement_or_says_why_not() -> None:
    outcomes = {}
    for name, specimen in specimens().items():
        try:
            outcomes[name] = float(np.max(as_measurement(specimen).map(1))) > 0
        except InvalidProblem as refusal:
            assert any(word in str(refusal) for word in ("adds no noise", "Markov chain", "hides nothing", "no change")), name
            outcomes[name] = False
    assert sum(outcomes.values()) > 10 and not all(outcomes.values())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"distance": "l3"}, "distance"),
        ({"output": "table"}, "output"),
    ],
)
def test_bad_options_are_named(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidProblem, match=words):
        as_measurement(PRESENT, **options)


def test_bad_distances_and_sizes_are_refused() -> None:
    total = made(Workload([[1, 1, 1], [0, 1, 0]], elements=NAMES), metrics.uniform(3, 1.0))
    with pytest.raises(InvalidProblem, match="appears or disappears moves what is published"):
        spending_of(total, "l1")
    with pytest.raises(InvalidProblem, match="negative"):
        spending_of(PRESENT).of(-1)
    with pytest.raises(InvalidProblem, match="size, unknown"):
        counting(PRESENT, size=3)
    with pytest.raises(InvalidProblem, match="size, unknown"):
        counting(MOVED, size=3)
    with pytest.raises(InvalidProblem, match="make_count_by_categories"):
        counting(MOVED, size=3, unknown="west", distance="l1")
    unspecified: Any = "spec.json"
    with pytest.raises(InvalidProblem, match="adds no noise"):
        as_measurement(unspecified)


def test_what_fails_inside_says_nothing_of_the_counts() -> None:
    measurement = as_measurement(MOVED)
    with pytest.raises(dp.OpenDPException) as failure:
        measurement([987654321, -123456789, 3])
    assert "987654321" not in str(failure.value) and "123456789" not in str(failure.value)
    whole = as_measurement(PRESENT, distance="l1")
    assert len(whole([5, -7, 3])) == 3  # the domain of OpenDP has negative counts, which stand for 0


def test_our_noise_and_that_of_opendp_agree_where_the_problem_is_theirs() -> None:
    """Counts of disjoint groups: the scale that OpenDP searches is that of the design, and so are the errors."""
    ours = made(THREE, metrics.add_remove(3, 1.0))
    space = dp.vector_domain(dp.atom_domain(T=dp.i64)), dp.l1_distance(T=dp.i64)
    scale = dp.binary_search_param(lambda s: dp.m.make_laplace(*space, scale=s), d_in=1, d_out=1.0)
    own = own_noise(ours)
    assert own is not None and own.constructor == "make_laplace" and own.scale == pytest.approx(scale, rel=1e-9)
    assert dp.m.make_laplace(*space, scale=own.scale).map(1) == pytest.approx(as_measurement(ours, distance="l1").map(1))
    smooth = made(THREE, metrics.add_remove(3, 1.0), "gaussian")
    euclid = dp.vector_domain(dp.atom_domain(T=dp.i64)), dp.l2_distance(T=dp.f64)
    sigma = dp.binary_search_param(lambda s: dp.m.make_gaussian(*euclid, scale=s), d_in=1.0, d_out=0.5)
    own = own_noise(smooth)
    assert own is not None and own.constructor == "make_gaussian" and own.scale == pytest.approx(sigma, rel=1e-9)
    assert own_noise(made(SUMS, metrics.add_remove(3, 1.0), "k_norm")) is None


def test_opendp_draws_the_law_that_is_said_to_be_its_own() -> None:
    """2,000 draws of OpenDP against the probabilities of our discrete Laplace."""
    ours = made(THREE, metrics.add_remove(3, 1.0))
    own = own_noise(ours)
    assert own is not None and own.k == 0
    theirs = dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T=dp.i64)), dp.l1_distance(T=dp.i64), scale=own.scale)
    draws = np.array(theirs([0] * 2_000))
    rate = float(ours.noise.sampler.rates[0])  # type: ignore[attr-defined]

    def below(z: int) -> float:
        beyond = math.exp(-rate * (-z if z < 0 else z + 1)) / (1 + math.exp(-rate))
        return beyond if z < 0 else 1 - beyond

    assert p_value_of_integers(draws, below, list(range(-5, 6))) > FAILURE_PROBABILITY


def test_a_change_of_one_answer_alone_is_what_the_law_says() -> None:
    """Renyi divergences of the frozen discrete Gaussian, summed, stay below alpha times the rho that OpenDP is told."""
    smooth = made(THREE, metrics.add_remove(3, 0.25), "gaussian")
    step = Fraction(float(smooth.norm.factor[0, 0])) * smooth.grid.step(0)  # type: ignore[attr-defined]
    spread = float(1 / step)
    shift = round(1 / float(smooth.grid.step(0)))  # type: ignore[attr-defined]
    grid = np.linspace(-40, 40, 400_001) * spread
    one, other = -(grid**2) / (2 * spread**2), -((grid - shift) ** 2) / (2 * spread**2)
    for order in (1.5, 2.0, 8.0):
        mixed = np.exp(order * one + (1 - order) * other).sum() / np.exp(one).sum()
        assert math.log(mixed) / (order - 1) <= order * as_measurement(smooth, distance="l1").map(1) * (1 + 1e-9)


def test_specs_of_any_class_are_refused_or_mapped_as_they_are() -> None:
    class Own(FrozenMechanism):
        """A frozen object of the caller."""

        core = verify = release = simulate = _statement = from_core = None  # type: ignore[assignment]

    with pytest.raises(InvalidProblem, match="a Own adds no noise"):
        spending_of(Own())

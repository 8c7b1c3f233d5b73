"""INT Definition 2 against exact laws: growth with distance, adjacency of records, Gaussian noise,
composition and post-processing."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from designer import InvalidProblem, NotPrivate, Problem, Workload, design, invariants
from designer.accounts import composed
from designer.certificate.norms import Norm
from designer.lattice.mechanism import LatticeMechanism
from designer.lattice.smoothing import SmoothPrivacy, composed_smooth, smooth_privacy
from designer.relations.joint_promises import post_processing
from designer.tradeoff.conversions import smooth_budget, smooth_deviation, smooth_epsilon


def mechanism(invariant, family="lattice_laplace", order="l2", epsilon=0.3) -> LatticeMechanism:
    notion = "zcdp" if family == "lattice_gaussian" else "pure"
    problem = Problem(Workload.identity(invariant.size), invariant.protect(epsilon, per_distance=order), notion=notion)
    return design(problem, family, shape=order).mechanism


@pytest.mark.parametrize(("weight", "holds"), [(0.25, True), (0.5, True), (0.5000001, False), (2.0, False)])
@pytest.mark.parametrize(("order", "distance"), [("l1", "l1"), ("l2", "l2"), ("l2", "l1")])
def test_a_norm_above_the_budget_for_a_unit_of_distance_is_not_private(order, distance, weight, holds):
    relation = invariants.margins((2, 2)).protect(0.5, per_distance=distance)
    if holds:
        assert LatticeMechanism("custom", Workload.identity(4), relation, Norm(np.full(4, weight), order)).privacy.holds
        return
    with pytest.raises(NotPrivate):
        LatticeMechanism("custom", Workload.identity(4), relation, Norm(np.full(4, weight), order))


def test_a_norm_that_is_longer_than_the_distance_is_refused():
    """Four cells that change by one each are 4 in l1 and 2 in l2: no l1 norm is within a budget for l2 units."""
    relation = invariants.margins((2, 2)).protect(0.5, per_distance="l2")
    with pytest.raises(InvalidProblem, match="exceeds an l2 distance"):
        LatticeMechanism("custom", Workload.identity(4), relation, Norm(np.full(4, 0.25), "l1"))


def hockey_stick(made, shift, epsilon):
    """`sup_S P(S) - e^epsilon P_shift(S)` of the enumerated law on a line or a plane."""
    m = made.dimension
    reach = 400 if m == 1 else 110
    points = np.array(list(itertools.product(range(-reach, reach + 1), repeat=m))) @ made.lattice.basis.astype(int)

    def weights(at):
        sizes = made.norm(at.astype(float))
        return np.exp(-sizes if made.falloff == "exponential" else -(sizes**2) / 2)

    total = weights(points).sum()
    return float(np.maximum(weights(points) - math.exp(epsilon) * weights(points - shift), 0).sum() / total)


@pytest.mark.parametrize(
    "invariant", [invariants.total(2), invariants.total(3), invariants.margins((2, 3))], ids=["line", "plane", "table"]
)
def test_gaussian_noise_keeps_definition_2_at_every_distance(invariant):
    """The exact hockey-stick divergence of the lattice law at changes of growing length, for three deltas."""
    made = mechanism(invariant, "lattice_gaussian", epsilon=0.2)
    for delta in (1e-2, 1e-4, 1e-6):
        promise = smooth_privacy(made, delta)
        for step in range(1, 12):
            shift = step * made.lattice.basis[0].astype(int)
            epsilon, allowed = promise.at(float(np.linalg.norm(shift)))
            assert hockey_stick(made, shift, epsilon) <= allowed
    assert smooth_epsilon(0.2, 1e-6) > smooth_epsilon(0.2, 1e-4)


@pytest.mark.parametrize("order", ["l1", "l2"])
def test_exponential_noise_keeps_it_without_a_delta(order):
    made = mechanism(invariants.margins((2, 3)), order=order)
    promise = smooth_privacy(made)
    assert promise == SmoothPrivacy(0.3, 0.0, order)
    shift = 3 * made.lattice.basis[1].astype(int)
    epsilon, _ = promise.at(float(np.linalg.norm(shift, ord=1 if order == "l1" else 2)))
    assert hockey_stick(made, shift, epsilon) <= 1e-12 < hockey_stick(made, shift, 0.8 * epsilon)


def test_deviation_and_epsilon_are_inverse():
    for epsilon, delta in itertools.product((0.01, 0.25, 3.0), (1e-2, 1e-9)):
        back = smooth_epsilon(1 / smooth_deviation(epsilon, delta), delta)
        assert back <= epsilon and back == pytest.approx(epsilon, rel=1e-9)


def test_adjacency_of_records():
    promise = SmoothPrivacy(0.25, 1e-6, "l1")
    epsilon, delta = promise.for_records(3)
    assert epsilon == pytest.approx(2 * 3 * 0.25) and delta == pytest.approx(1e-6 * (math.exp(1.5) - 1) / (math.exp(0.25) - 1))
    assert promise.for_records(3, replaced=False)[0] == 0.75
    # In l2 the worst change of any three records is 3 from one cell to another; with fixed margins it is a signed six-cycle.
    flat = SmoothPrivacy(0.25, 0.0, "l2")
    relation = invariants.margins((3, 3)).protect(1.0, adjacency=3)
    assert flat.for_records(3)[0] == pytest.approx(0.25 * math.sqrt(18))
    assert flat.within(relation)[0] == pytest.approx(0.25 * math.sqrt(6)) and promise.within(relation)[0] == pytest.approx(1.5)


def test_releases_compose():
    """Proposition 6 on the exact law of a pair of releases whose invariants differ: the joint kernel is a line."""
    first, second = invariants.total(3), invariants.linear([[1, 1, 0]], records_public=False)
    made = [mechanism(first, order="l1", epsilon=0.3), mechanism(second, order="l1", epsilon=0.5)]
    shift = np.array([1, -1, 0])
    joint = invariants.joint(first, second)
    assert not (joint.constraints @ shift).any() and len(joint.matrix) == 2
    promise = composed_smooth(*(smooth_privacy(m) for m in made))
    assert promise.epsilon == pytest.approx(0.8) and promise.delta == 0
    # Worst log ratio of each, reached together by independent noises: their sum is within epsilon r, and reaches it.
    worst = [max(float(m.privacy_loss(z + shift)) - float(m.privacy_loss(z)) for z in m.draw(200, seed=1)) for m in made]
    assert sum(worst) == pytest.approx(promise.at(2.0)[0]) and sum(worst) <= promise.at(2.0)[0] * (1 + 1e-12)
    statement = composed(*made).guarantee
    assert "0.8" in statement.relation and len(statement.unprotected) == 4 and statement.mechanism.count("Family") == 2
    assert statement.parameters["budget_per_unit_of_distance"] == 0.8
    after = post_processing(statement, "Counts below 0 are set to 0.")
    assert (
        after.notion == statement.notion
        and after.parameters == statement.parameters
        and after.fingerprint != statement.fingerprint
    )


def test_deltas_and_growth_compose():
    one, two = SmoothPrivacy(0.1, 1e-6, "l2"), SmoothPrivacy(0.4, 3e-6, "l1")
    both = composed_smooth(one, two)
    assert both.distance == "l1" and both.delta == pytest.approx(4e-6)
    for length in (1.0, 1.5, 7.0):
        assert one.at(length)[1] + two.at(length)[1] <= both.at(length)[1]


def test_joint_invariants_have_all_statistics_and_all_impossible_elements():
    table, total = invariants.margins((2, 3)), invariants.total(6)
    both = invariants.joint(table.without([2]), total.without([4]))
    assert both.impossible == (2, 4) and len(both.matrix) == 6 and both.records_public
    assert both.freedom == 0 < table.without([2]).freedom


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: SmoothPrivacy(0.0, 0.0, "l1"), "epsilon"),
        (lambda: SmoothPrivacy(1.0, -1.0, "l1"), "delta"),
        (lambda: SmoothPrivacy(1.0, 0.0, "l3"), "distance"),
        (lambda: SmoothPrivacy(1.0, 0.0, "l1").at(0.5), "length"),
        (lambda: smooth_privacy(mechanism(invariants.total(2), "lattice_gaussian")), "delta"),
        (lambda: composed_smooth(), "parts"),
        (lambda: invariants.joint(invariants.total(2), invariants.total(3)), "same elements"),
        (
            lambda: smooth_privacy(
                design(Problem(Workload.identity(2), invariants.total(2).protect(1.0)), "lattice_laplace").mechanism
            ),
            "per distance",
        ),
    ],
)
def test_bad_input_is_refused(build, message):
    with pytest.raises(InvalidProblem, match=message):
        build()


@pytest.mark.parametrize("distance", ["l1", "l2"])
@pytest.mark.parametrize("replaced", [True, False])
def test_records_are_as_far_apart_as_the_furthest_of_all_histograms(distance, replaced):
    """Every histogram of four cells that some records may be moved to, added to or removed from, by brute force."""
    start = np.array([3, 2, 3, 2])
    moves = [np.eye(4, dtype=int)[i] - replaced * np.eye(4, dtype=int)[j] for i in range(4) for j in range(4)]
    moves += [] if replaced else [-move for move in moves]
    reached = {tuple(start)}
    for records in (1, 2, 3):
        reached |= {tuple(np.array(x) + move) for x in reached for move in moves}
        furthest = max(np.linalg.norm(np.array(x) - start, ord=1 if distance == "l1" else 2) for x in reached)
        epsilon, delta = SmoothPrivacy(0.25, 1e-6, distance).for_records(records, replaced)
        assert epsilon == pytest.approx(0.25 * furthest, rel=1e-12)
        assert delta == pytest.approx(1e-6 * math.expm1(0.25 * furthest) / math.expm1(0.25), rel=1e-12)


@given(
    st.floats(min_value=1e-12, max_value=8),
    st.floats(min_value=0, max_value=1),
    st.integers(min_value=1, max_value=40),
    st.sampled_from(["l1", "l2"]),
    st.booleans(),
)
def test_what_records_lose_is_never_understated(epsilon, delta, records, distance, replaced):
    """Against sixty digits of the standard library: not below, and within two floats of it."""
    promise = SmoothPrivacy(epsilon, delta, distance)
    told = promise.for_records(records, replaced)
    with localcontext() as context:
        context.prec = 60
        unit = (Decimal(2) if distance == "l1" else Decimal(2).sqrt()) if replaced else Decimal(1)
        length = records * unit
        growth = ((Decimal(epsilon) * length).exp() - 1) / (Decimal(epsilon).exp() - 1)
        true = Fraction(Decimal(epsilon) * length), Fraction(Decimal(delta) * growth)
    for stated, exact in zip(told, true, strict=True):
        assert Fraction(stated) >= exact * (1 - Fraction(1, 10**40))
        assert Fraction(stated) <= exact * (1 + Fraction(1, 2**51)) + Fraction(5e-324)


@given(st.lists(st.tuples(st.floats(1e-300, 1e300), st.floats(0, 1)), min_size=1, max_size=6))
def test_sums_of_smooth_promises_are_rounded_up(parts):
    together = composed_smooth(*(SmoothPrivacy(epsilon, delta, "l1") for epsilon, delta in parts))
    for stated, numbers in zip((together.epsilon, together.delta), zip(*parts, strict=True), strict=True):
        exact = sum(map(Fraction, numbers), Fraction(0))
        assert exact <= Fraction(stated) and (stated == 0 or Fraction(math.nextafter(stated, 0)) < exact)


def test_what_is_beyond_the_floats_is_infinite_and_not_an_error():
    assert SmoothPrivacy(700.0, 1e-9, "l1").for_records(3) == (4200.0, math.inf)
    assert SmoothPrivacy(1e300, 0.0, "l2").for_records(10**9)[1] == 0.0
    assert SmoothPrivacy(700.0, 5e-324, "l1").at(1.0) == (700.0, 5e-324)


@pytest.mark.parametrize("delta", [0.0, -0.1, 1.0, 1.5, math.inf, math.nan])
def test_gaussian_noise_has_no_promise_without_a_delta_between_0_and_1(delta):
    with pytest.raises(InvalidProblem, match="needs one between 0 and 1"):
        smooth_privacy(mechanism(invariants.total(2), "lattice_gaussian"), delta)


def test_a_budget_per_distance_is_certified_without_looking_at_pairs():
    certificate = mechanism(invariants.margins((2, 2))).privacy
    assert certificate.pairs == 0 and certificate.holds and "exact rationals" in certificate.arithmetic


@pytest.mark.parametrize("distance", ["l1", "l2"])
def test_a_relation_asks_for_epsilon_and_delta_that_grow_with_the_distance(distance):
    """INT Definition 2 with Gaussian noise: what is asked for is what the design keeps, and hardly more."""
    table = invariants.margins((2, 3))
    for epsilon, delta in ((0.25, 1e-6), (1.0, 1e-3), (0.01, 1e-12)):
        relation = table.protect(epsilon, per_distance=distance, delta=delta)
        made = design(Problem(Workload.identity(6), relation, notion="zcdp"), "lattice_gaussian").mechanism
        kept = smooth_privacy(made, delta)
        assert kept.distance == distance and epsilon * (1 - 1e-9) < kept.epsilon <= epsilon and kept.delta == delta
        assert smooth_budget(epsilon, delta) == relation.epsilon == pytest.approx(1 / smooth_deviation(epsilon, delta))


def test_a_delta_goes_with_a_distance_and_lies_between_0_and_1():
    with pytest.raises(InvalidProblem, match="delta: 1e-06 goes with per_distance alone"):
        invariants.total(2).protect(0.5, 1, delta=1e-6)
    for delta in (0, 1.0, -1e-6, float("nan"), True, "0.1"):
        with pytest.raises(InvalidProblem, match=r"delta: .* is not between 0 and 1"):
            invariants.total(2).protect(0.5, per_distance="l2", delta=delta)
    with pytest.raises(InvalidProblem, match=r"delta=\.\.\."):
        Problem(Workload.identity(2), invariants.total(2).protect(0.5, per_distance="l2"), notion="approximate", delta=1e-6)

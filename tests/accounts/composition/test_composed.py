"""Several mechanisms as one statement: budgets pair by pair against brute force, universes, groups, what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, permutations, product

import numpy as np
import pytest

from designer import (
    AdditiveMechanism,
    Domain,
    InvalidProblem,
    MarginalWorkload,
    Presence,
    Problem,
    StructuredWorkload,
    Workload,
    design,
    invariants,
    metrics,
)
from designer.accounts import composed, expense_of, spent
from designer.accounts.composition.common_relation import CommonChanges, CommonPairs, require_one_unit, steps_of
from designer.accounts.composition.composed_guarantee import _join, notion_of
from designer.accounts.composition.terms import rule_of
from designer.certificate.frozen import FrozenMechanism
from designer.certificate.guarantee import NOTIONS, Guarantee
from designer.certificate.norms import Norm
from designer.domains.marginals_plan import design_marginals
from designer.domains.products_plan import design_structured
from designer.mechanism.noise import Grid
from designer.problem.relation import Relation
from designer.relations.invariants.linked_tables import LinkedChanges
from designer.relations.invariants.transport import InvariantMetric
from designer.relations.joint_promises import for_groups
from designer.relations.metrics.metric import Metric
from designer.selection.mechanism import best_selection
from designer.selection.scores import Linear
from designer.tables import Count, Groups, Measure, PartitionSelection, PureSum, Sum, TablePlan
from designer.tables.plan_words import FOUND
from designer.tradeoff.conversions import gdp_delta, laplace_rho, pure_rho, zcdp_epsilon
from designer.tradeoff.costs import Cost, TotalCost
from designer.tradeoff.functions import EpsilonDelta, Gaussian
from tests.oracles.spec_specimens import specimens

LINE = metrics.line([0, 1, 4], 1, 0.5)
OWN = metrics.per_element([1.0, 2.0, 0.25])
TABLE = invariants.margins((2, 2))
SHOP = Groups(["shop"], keys=[["a"], ["b"]])


def made(relation: Relation, notion: str = "pure", names: list[str] | None = None, **options: object) -> FrozenMechanism:
    family = {"pure": "laplace", "zcdp": "gaussian", "approximate": "gaussian"}[notion]
    workload = Workload(np.arange(relation.size)[None, :] ** 2 + 1.0, None, names)
    return design(Problem(workload, relation, notion=notion, **options), family).mechanism


def chosen(epsilon: float) -> FrozenMechanism:
    """A pure mechanism of whose law nothing but its budget is known."""
    return best_selection(Linear(Workload.identity(3)), metrics.uniform(3, epsilon), "permute_and_flip")


def test_the_statement_of_two_metric_mechanisms() -> None:
    first, second = made(LINE), made(OWN)
    both = composed(first, second)
    told = both.guarantee
    assert told.relation == (LINE + OWN).sentence()
    assert (told.parameters["smallest_budget"], told.parameters["largest_finite_budget"]) == (3.25, 3.75)
    assert first.guarantee.mechanism in told.mechanism and second.guarantee.mechanism in told.mechanism
    assert told.notion == NOTIONS["exponential"]
    assert len({told.fingerprint, first.fingerprint, second.fingerprint, composed(second, first).fingerprint}) == 4
    assert Guarantee.from_dict(told.to_dict()) == told
    normal = composed(made(LINE, "zcdp"), made(OWN, "zcdp"))
    assert normal.guarantee.relation == metrics.root_sum_squares(LINE, OWN).sentence()
    assert for_groups(both, 3).parameters["largest_finite_budget"] == 3 * 3.75


@pytest.mark.parametrize("notion", ["pure", "zcdp"])
@pytest.mark.nightly
def test_budgets_add_pair_by_pair_and_what_is_unprotected_in_one_is_so_in_the_whole(notion: str) -> None:
    """Every metric of the specimens with another one of its size, each pair by itself, in exact arithmetic."""
    relations = [m.relation for name, m in specimens().items() if name.startswith("laplace")]
    listed = [relation for relation in relations if isinstance(relation, Metric) and relation.size == 4]
    assert len(listed) > 8
    mechanisms = [made(relation, notion) for relation in listed]
    for first, second in zip(mechanisms, mechanisms[1:] + mechanisms[:1], strict=True):
        one, other = first.relation, second.relation
        both = composed(first, second)
        for i, j in combinations(range(4), 2):
            budgets = one.exact_budget(i, j), other.exact_budget(i, j)
            spent_here = both.exact_budget(i, j)
            if None in budgets:
                assert spent_here is None and math.isinf(both.budget(i, j))
                continue
            true = sum(budgets) if notion == "pure" else Fraction(math.hypot(*map(float, budgets)))
            assert float(spent_here) == pytest.approx(float(true), rel=1e-14)
            assert spent_here >= (sum(budgets) if notion == "pure" else 0)


def test_elements_in_another_order_are_not_taken_for_those_of_the_mechanism() -> None:
    """The shift of the noise is that of the mechanism's own elements: by the numbers of the others it could be none at all."""
    rows = np.array([[0.0, 0.0, 1.0]])
    first = design(Problem(Workload(rows, None, ["a", "b", "c"]), metrics.uniform(3, 1.0)), "laplace").mechanism
    second = design(Problem(Workload(rows, None, ["c", "b", "a"]), metrics.uniform(3, 1.0)), "laplace").mechanism
    both = composed(first, second)
    for i, j in combinations(range(3), 2):
        alone = composed(second).delta(0, change=(2 - i, 2 - j))
        assert both.delta(0, change=(i, j)) >= alone, (i, j)
    assert composed(second).delta(0, change=(0, 2)) > 0.2


def test_linked_tables_beside_single_counts_are_refused_whatever_their_order() -> None:
    linked = next(m.relation for m in specimens().values() if isinstance(getattr(m, "relation", None), LinkedChanges))
    for mixed in ([linked, metrics.uniform(3, 1.0)], [metrics.uniform(3, 1.0), linked]):
        with pytest.raises(InvalidProblem, match="several linked tables, another counts it otherwise"):
            require_one_unit(mixed)
    require_one_unit([linked, linked])


def test_what_no_spec_can_hold_has_no_rule() -> None:
    with pytest.raises(InvalidProblem, match="has no rule of composition"):
        rule_of(object())  # type: ignore[arg-type]


def test_a_plan_of_normal_noise_has_no_pure_loss() -> None:
    both = composed(plan(Count("firms", SHOP, variance=5)))
    with pytest.raises(InvalidProblem, match="no pure budget; ask for `loss`"):
        both.pure_loss({"shop": "a"})


def test_a_record_costs_a_pure_plan_its_pure_loss() -> None:
    made = TablePlan([PureSum("size", SHOP, measure=Measure("emp", upper=10), scale=4)])
    record = {"shop": "a", "emp": 3}
    lost = made.pure_loss(record)
    assert lost <= composed(made).epsilon(0, change=record) <= lost * (1 + 1e-12)


def test_notions_are_mixed_by_the_best_conversion() -> None:
    pure, normal = made(LINE), made(OWN, "zcdp")
    rate = Fraction(float(pure.norm.map[0])) * Fraction(float(pure.grid.steps[0]))
    both = composed(pure, normal)
    assert both.notion == "zcdp" and isinstance(both.relation, CommonPairs)
    for i, j in combinations(range(3), 2):
        budget, length = LINE.exact_budget(i, j), min(LINE.exact_budget(i, j), 4 * rate)  # the squares 1, 2, 5: up to 4 steps
        rho = float(budget / length) * laplace_rho(length, rate) + float(OWN.exact_budget(i, j)) ** 2 / 2
        assert both.budget(i, j) == pytest.approx(math.sqrt(2 * rho), rel=1e-14)
        assert 2 * rho < 2 * pure_rho(budget) + float(OWN.exact_budget(i, j)) ** 2
        assert both.relation.exact_budget(i, j) == both.exact_budget(i, j)
    assert both.epsilon(1e-6, change=(0, 2)) <= zcdp_epsilon(both.cost((0, 2)).rho, 1e-6)
    told = made(LINE, "approximate", delta=1e-6)
    assert composed(pure, told).notion == "approximate" and composed(normal, told).notion == "zcdp"
    assert composed(pure, told).guarantee.parameters["delta"] == 1e-6
    assert composed(told, told).delta(4.0, change=(0, 2)) <= 2e-6
    one, other = TotalCost((Cost.pure(Fraction(1)),)), TotalCost((Cost.concentrated(Fraction(1)),))
    assert notion_of([one, one]) == "pure" and notion_of([one, other]) == "zcdp"


def test_normal_noise_composes_as_normal_noise() -> None:
    """(b, delta) by rounded normal noise is mu-GDP: two of them are root 2 mu, far below the sum of (b, delta)."""
    norm = Norm(np.array([0.25]), "l2")
    one = AdditiveMechanism(
        "custom", Workload([[0, 1]]), metrics.uniform(2, 1.0), norm, Grid((0,)), "rounded_gaussian", delta=0.01
    )
    both = composed(one, one)
    mu = math.sqrt(2) * float(one._told.exact_budget(0, 1))
    assert both.delta(1) == pytest.approx(gdp_delta(mu, 1), rel=1e-9) and both.delta(2) < 0.02
    told = both.tradeoff()
    assert isinstance(told, Gaussian) and told == both.tradeoff(records=1) and told.mu == pytest.approx(mu, rel=1e-9)


def test_a_change_that_keeps_statistics_under_a_metric_is_one_step_of_all_its_moves() -> None:
    """Each of two records moves within its group: by the cheaper way of two, and in one step, below the largest budget."""
    budgets = metrics.line([0, 1, 2, 4, 7, 9], 1, 1.0)
    relation = InvariantMetric(budgets, invariants.partition([0, 0, 0, 1, 1, 1]), 2)
    change = ((0, -1), (2, 1), (3, -1), (5, 1))
    ways = [[budgets.exact_budget(i, j) for i, j in zip((0, 3), way, strict=True)] for way in permutations((2, 5))]
    moves = min(sum(way, Fraction(0)) for way in ways)
    assert steps_of(relation, change) == (moves,) and moves < relation.largest_exact_budget()
    assert steps_of(relation, ((0, -1), (3, 1))) is None, "it changes a group"
    assert steps_of(relation, ((0, -3), (2, 3))) is None, "three records"


def test_thirty_pure_releases_have_no_delta_at_thirty() -> None:
    thirty = composed(*[chosen(1.0)] * 30)
    assert thirty.delta(30) == 0 and thirty.epsilon() == 30
    assert thirty.epsilon(1e-3) < 27 and thirty.exact_budget(0, 1) == 30


def test_never_looser_than_plain_addition() -> None:
    pure, normal, told = made(LINE), made(OWN, "zcdp"), made(OWN, "approximate", delta=1e-6)
    for first, second in ((pure, pure), (pure, normal), (pure, told), (told, told)):
        both, parts = composed(first, second), (composed(first), composed(second))
        most = sum(part.epsilon(1e-4, change=(0, 2)) for part in parts)
        assert both.epsilon(2e-4, change=(0, 2)) <= most * (1 + 1e-12)


def test_groups_of_each_mechanism_come_first() -> None:
    """SEMI Proposition 21: of a pure pair, between the exact product of the groups and the sum of all budgets."""
    both = composed(chosen(0.5), chosen(0.25))
    assert both.epsilon(0, records=3) == 2.25 and both.delta(2.25, records=3) == 0
    groups_last = both.tradeoff().group(3)
    alphas = np.linspace(0, 1, 21)
    first = both.tradeoff(records=3).type_two(alphas)
    assert (first >= groups_last.type_two(alphas) - 1e-3).all() and (first > groups_last.type_two(alphas) + 0.02).any()
    assert (first > EpsilonDelta("9/4").type_two(alphas) + 0.05).any()
    told = composed(made(LINE, "approximate", delta=1e-6))
    assert told.delta(9, records=3) < 1e-5


def test_established_accountants_agree() -> None:
    """Pure promises and normal noise of unequal sizes, against privacy loss distributions of dp-accounting."""
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    common = pytest.importorskip("dp_accounting.pld.common")
    pure = [chosen(epsilon) for epsilon in (0.5, 0.5, 0.25)]
    told = made(metrics.uniform(3, 1.0), "approximate", delta=1e-4)
    both = composed(*pure, told)
    deviation = 1 / math.sqrt(float(expense_of(told).mu_squared))
    step = 1e-4
    theirs = pld.from_gaussian_mechanism(deviation, value_discretization_interval=step)
    for epsilon in (0.5, 0.5, 0.25):
        parameters = common.DifferentialPrivacyParameters(epsilon, 0)
        theirs = theirs.compose(pld.from_privacy_parameters(parameters, value_discretization_interval=step))
    for epsilon in (0.5, 1.0, 1.5):
        assert both.delta(epsilon) == pytest.approx(theirs.get_delta_for_epsilon(epsilon), rel=2e-3)


def test_laplace_noise_keeps_more_than_its_budget_says() -> None:
    """Ten Laplace mechanisms on a fine grid, against the privacy loss distribution of continuous noise: of the very change, and
    of the worst one; one more step of a coarse grid is a pure promise, and keeps no more."""
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    fine = design(Problem(Workload([[0.0, 1.37, 2.0]]), metrics.uniform(3, 1.0)), "laplace").mechanism
    both = composed(*[fine] * 10)
    theirs = pld.from_laplace_mechanism(1.0, value_discretization_interval=1e-4).self_compose(10)
    known = theirs.get_delta_for_epsilon(5.0)
    assert both.delta(5, change=(0, 2)) == pytest.approx(known, rel=2e-3) == both.delta(5)
    assert both.delta(5, change=(0, 1)) < known / 4
    assert composed(*[chosen(1.0)] * 10).delta(5) > 1.5 * known
    coarse = design(Problem(Workload([[0.0, 1.0, 0.0]]), metrics.uniform(3, 1.0)), "laplace").mechanism
    assert composed(*[coarse] * 10).delta(5) == pytest.approx(composed(*[chosen(1.0)] * 10).delta(5), rel=1e-6)


def test_elements_are_joined_by_name() -> None:
    names = ["a", "b", "c"]
    first, second = made(LINE, names=names), made(OWN, names=["c", "a", "b"])
    both = composed(first, second)
    assert both.elements == ("a", "b", "c")
    for i, j in combinations(range(3), 2):
        assert both.exact_budget(i, j) == LINE.exact_budget(i, j) + OWN.exact_budget((i + 1) % 3, (j + 1) % 3)
    assert both.relation.exact_budget(0, 2) == both.exact_budget(0, 2)
    with pytest.raises(InvalidProblem, match="'d' that another does not know"):
        composed(first, made(OWN, names=["a", "b", "d"]))
    assert composed(first, made(OWN)).exact_budget(0, 2) == LINE.exact_budget(0, 2) + OWN.exact_budget(0, 2)


def test_orders_of_invariants_and_appearing_records_are_joined_by_name_too() -> None:
    names, turned = list("abcd"), list("dcba")
    kept = Workload(np.eye(4), None, turned)
    lattice = design(Problem(kept, invariants.linear([[1, 1, 0, 0]]).protect(0.5, 1)), "lattice_laplace").mechanism
    both = composed(made(metrics.uniform(4, 1.0), names=names), lattice)
    assert both.invariant.constraints.tolist() == [[0, 0, 1, 1], [1, 1, 1, 1]]
    assert both.exact_budget(0, 1) == Fraction(3, 2) == both.exact_budget(2, 3) and both.exact_budget(1, 2) is None
    appears = composed(*(made(metrics.add_remove(4, [1.0, 2.0, 3.0, 4.0]), names=order) for order in (names, turned)))
    assert [appears.exact_budget(i, 4) for i in range(4)] == [5] * 4
    moved = composed(made(metrics.add_remove(4, [1.0, 2.0, 3.0, 4.0])), made(metrics.uniform(4, 1.0)))
    assert moved.exact_budget(2, 3) == 8 and moved.exact_budget(2, 4) is None
    assert moved.epsilon() == max(moved.epsilon(0, change={i: -1, j: 1}) for i, j in combinations(range(4), 2)) > 0
    apart = metrics.appear_or_change(LINE, [3.0, 2.5, 1.5])
    changes = composed(*(made(apart, names=order) for order in (list("abc"), list("cba"))))
    assert [changes.exact_budget(i, 3) for i in range(3)] == [Fraction(9, 2), 5, Fraction(9, 2)]
    assert changes.exact_budget(0, 1) == 2 == changes.exact_budget(1, 2)


@pytest.mark.nightly
def test_different_invariants_leave_the_changes_that_keep_both() -> None:
    """Against every vector of three records or fewer, and statistics that no change of two records keeps together."""
    first = invariants.linear([[1, 1, 0, 0, 0, 0]], ["first"])
    second = invariants.linear([[1, 0, 1, 0, 1, 0]], ["second"])
    workload = Workload.identity(6)
    made_of = [
        design(Problem(workload, invariant.protect(epsilon, a)), "lattice_laplace").mechanism
        for invariant, epsilon, a in ((first, 0.5, 2), (second, 0.25, 3))
    ]
    both = composed(*made_of)
    assert (both.adjacency, both.epsilon()) == (2, 0.75)
    for v in product((-1, 0, 1), repeat=6):
        kept = not (v[0] + v[1] or v[0] + v[2] + v[4] or sum(v)) and sum(map(abs, v)) <= 4
        total = both.cost(np.array(v))
        assert (total is not None) == kept
        assert total is None or total.epsilon == Fraction(3, 4) * any(v)
    assert any("more than 2 records change" in line for line in both.guarantee.unprotected)
    assert sum("statistics are published exactly" in line for line in both.guarantee.unprotected) == 3


def test_a_metric_beside_an_invariant_costs_its_transport() -> None:
    between = metrics.from_matrix([[0, 1, 2, 4], [1, 0, 3, 3], [2, 3, 0, 3], [4, 3, 3, 0]])
    lattice = design(Problem(Workload.identity(4), TABLE.protect(0.5, 3)), "lattice_laplace").mechanism
    both = composed(made(between), lattice)
    assert isinstance(both.relation, CommonChanges) and both.notion == "pure"
    moves = [sum(between.exact_budget(i, j) for i, j in zip((0, 3), order, strict=True)) for order in permutations((1, 2))]
    assert both.cost({0: -1, 3: -1, 1: 1, 2: 1}).epsilon == min(moves) + Fraction(1, 2)
    assert both.epsilon() == float(min(moves)) + 0.5 == both.guarantee.parameters["largest_finite_budget"]
    assert both.cost(np.array([-1, 1, 0, 0])) is None
    count = len(both.relation.changes)
    assert both.relation.exact_budget(1, 1) == 0
    assert [both.relation.exact_budget(count, m) for m in range(count)] == [
        cost.epsilon for cost in both.relation.costs if cost
    ]
    assert both.relation.budgets.max() == both.relation.largest_budget() and both.relation.exact_budget(count, count) == 0


def test_distances_compose_with_each_other_and_with_records() -> None:
    kept = [TABLE.protect(epsilon, per_distance="l1") for epsilon in (1, 2)]
    far = [design(Problem(Workload.identity(4), relation), "lattice_laplace").mechanism for relation in kept]
    both = composed(*far)
    swap = np.array([1, -1, -1, 1])
    assert both.relation.epsilon == 3 and both.relation.distance == "l1" and both.cost(2 * swap).epsilon == 24
    straight = design(
        Problem(Workload.identity(4), TABLE.protect(1, per_distance="l2"), notion="zcdp"), "lattice_gaussian"
    ).mechanism
    assert composed(straight, straight).relation.distance == "l2"
    assert composed(straight, far[0]).relation.distance == "l1", "the longer of the two distances"
    assert both.epsilon(0, change=swap) == 12
    with pytest.raises(InvalidProblem, match="without end"):
        both.epsilon(0)
    few = composed(far[0], design(Problem(Workload.identity(4), TABLE.protect(0.5, 2)), "lattice_laplace").mechanism)
    assert few.adjacency == 2 and few.epsilon() == 4.5 and few.cost(2 * swap) is None


@pytest.mark.parametrize(("first", "second"), [("pure", "pure"), ("zcdp", "pure"), ("zcdp", "zcdp")])
def test_what_is_stated_of_distances_is_what_holds_for_every_change(first: str, second: str) -> None:
    """Likelihood ratios are bounded only where all mechanisms are pure; budgets stated as zCDP are no such bounds."""
    families = {"pure": "lattice_laplace", "zcdp": "lattice_gaussian"}
    parts = [
        design(Problem(Workload.identity(4), TABLE.protect(epsilon, per_distance="l1"), notion=notion), families[notion])
        for epsilon, notion in ((1, first), (0.5, second))
    ]
    both = composed(*(part.mechanism for part in parts))
    swap = np.array([1, -1, -1, 1])
    cost, budget = both.cost(swap), Fraction(both.relation.epsilon) * 4
    if {first, second} == {"pure"}:
        assert both.guarantee.notion == NOTIONS["exponential"] and cost.epsilon == budget == 6
    else:
        assert both.guarantee.notion == NOTIONS["gaussian"] and cost.epsilon is None
        # Each is budget^2 / 2 zCDP, pure ones too, so budgets add up by their squares, rounded up.
        assert 0 <= budget**2 / 2 - Fraction(4**2 + 2**2, 2) < 1e-12
        assert cost.rho <= budget**2 / 2


def test_many_elements_are_bounded_by_the_largest_budgets() -> None:
    points = np.random.default_rng(2).uniform(0, 1, (300, 2)).tolist()
    relations = [metrics.euclidean(points, 0.5), metrics.uniform(300, 0.25)]
    both = composed(*(made(relation) for relation in relations))
    largest = max(math.dist(p, q) for p, q in combinations(points, 2))
    assert both.epsilon() == pytest.approx(0.5 * largest + 0.25, rel=1e-9)
    assert both.exact_budget(0, 1) == relations[0].exact_budget(0, 1) + Fraction(1, 4)
    assert both.delta(0.5) <= spent([expense_of(m) for m in both.mechanisms]).delta_at(0.5)


def plan(*queries: object) -> TablePlan:
    return TablePlan(queries)


def test_plans_of_a_table_add_policies_record_by_record() -> None:
    emp = Measure("emp", upper=1000)
    first = plan(Sum("jobs", SHOP, variance=2000, measure=emp))
    second = plan(Count("firms", Groups(["shop"], selection=PartitionSelection.design("1/8", 1e-6)), variance=5))
    noisy = design_marginals(MarginalWorkload.of(Domain.of({"age": 3}), {("age",): 1.0}), Presence(mu=0.5))
    both = composed(first, second, noisy)
    for shop, size in (("a", 10), ("b", 700), ("c", 5)):
        record = {"shop": shop, "emp": size}
        assert both.loss(record) == first.loss(record) + second.loss(record) + Fraction(1, 8)
        assert both.delta_of(record) == Fraction(second.delta(record))
        assert both.policy.exact(both.amounts(record)) >= both.loss(record)
        expected = zcdp_epsilon(both.loss(record), Fraction(1e-5) - both.delta_of(record))
        assert both.epsilon(1e-5, change=record) <= expected
    assert both.worst[0].approximate_rho[0] == Fraction(10**6, 4000) + Fraction(1, 10) + Fraction(1, 8) + Fraction(1, 8)
    assert "sum of the policies of 2 plans" in both.guarantee.notion
    other = plan(Sum("more", SHOP, variance=2000, measure=Measure("emp", upper=10)))
    with pytest.raises(InvalidProblem, match="measure 'emp' in two ways"):
        _ = composed(first, other).policy
    assert composed(first, other).loss({"shop": "a", "emp": 700}) == Fraction(700**2 + 100, 4000)
    assert FOUND in both.guarantee.notion and FOUND not in composed(first).guarantee.notion


def test_presence_over_different_attributes_composes_as_rows() -> None:
    one = design_marginals(MarginalWorkload.of(Domain.of({"age": 3}), {("age",): 1.0}), Presence(mu=0.5))
    other = design_structured(StructuredWorkload.tables(Domain.of({"pay": 4}), [["pay"]]), Presence(epsilon=0.25), "laplace")
    both = composed(one, other)
    assert float(both.rho) == pytest.approx(1 / 8 + pure_rho(0.25), rel=1e-12)  # one count moves by one step
    assert both.loss({"age": 1, "pay": 2}) == both.rho


def test_a_domain_and_elements_of_its_cells_are_one_universe() -> None:
    domain = Domain.of({"age": 2, "sex": ["F", "M"]})
    noisy = design_marginals(MarginalWorkload.of(domain, {("age",): 1.0}), metrics.hamming(domain, [0.5, 0.25]))
    cells = Workload(np.array([[1.0, 0.0, 2.0, 5.0]]), None, domain.elements)
    counted = design(Problem(cells, metrics.hamming(domain, [1.0, 1.0]), notion="zcdp"), "gaussian").mechanism
    both = composed(noisy, counted)
    assert float(both.exact_budget(0, 3)) == pytest.approx(math.hypot(0.75, 2.0), rel=1e-14)
    assert float(both.exact_budget(0, 1)) == pytest.approx(math.hypot(0.25, 1.0), rel=1e-14)


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "nothing": (composed, "none is given"),
    "a text": (lambda: composed("spec.json"), "mechanisms\\[0\\]: 'spec.json' is no frozen object"),
    "sizes": (lambda: composed(made(LINE), made(metrics.uniform(4, 1.0))), "count 3 and 4 elements"),
    "a chain": (lambda: composed(specimens()["lattice chain"]), "an estimate and not a proof"),
    "groups": (
        lambda: composed(specimens()["laplace row_groups"], made(metrics.uniform(5, 1.0))),
        "a record in each of several groups",
    ),
    "components": (
        lambda: composed(made(metrics.partition(["x", "x", "y"], 1.0)), made(metrics.partition(["x", "y", "y"], 1.0))),
        "no change is protected by all",
    ),
    "invariants": (
        lambda: composed(
            made(invariants.linear([[1, 1, 0, 0]]).protect(1.0, 1)), made(invariants.linear([[1, 0, 1, 0]]).protect(1.0, 1))
        ),
        "no change is protected by all",
    ),
    "a row": (
        lambda: composed(plan(Count("n", SHOP, variance=1)), best_selection(Linear(Workload([[0, 1], [1, 0]])),
        metrics.uniform(2, 1.0))), "makes the number of records public",
    ),
    "an element beyond": (lambda: composed(made(LINE)).cost((0, 9)), "beyond the last of 3"),
    "half a record": (lambda: composed(made(LINE)).cost([0.5, -0.5, 0]), "of type|and type float64"),
    "a text as change": (lambda: composed(made(LINE)).cost({"a": 1}), "'a' is not a whole number"),
    "an unprotected change": (
        lambda: composed(made(metrics.partition(["x", "x", "y"], 1.0))).epsilon(0, change=(0, 2)),
        "not protected by all",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_composed_is_refused_with_the_reason(name: str) -> None:
    call, text = REFUSED[name]
    with pytest.raises(InvalidProblem, match=text):
        call()


def test_a_cost_bounds_another_only_where_every_number_that_it_promises_does() -> None:
    """All pairs of a small grid of costs, with and without each number: their join promises nothing that either breaks."""
    numbers = (None, Fraction(1, 2), Fraction(1))
    costs = [Cost(e, r, d, None) for e in numbers for r in numbers for d in (Fraction(0), Fraction(1, 10**6)) if e or r]
    for one in costs:
        for other in costs:
            joined = _join(one, other)
            for part in (one, other):
                assert joined.delta >= part.delta
                for most, own in ((joined.epsilon, part.epsilon), (joined.rho, part.rho)):
                    assert most is None or (own is not None and most >= own)

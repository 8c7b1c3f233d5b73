"""What a release costs as plain data, for every format, and how expenses add up."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from designer import (
    AdditiveMechanism,
    Domain,
    InvalidProblem,
    InvalidSpec,
    MarginalWorkload,
    Presence,
    Problem,
    StructuredMechanism,
    StructuredWorkload,
    Workload,
    design,
    invariants,
    metrics,
)
from designer.accounts import Expense, composed, expense_of, spent
from designer.accounts.composition.terms import largest_budget, rule_of
from designer.certificate.frozen import FrozenMechanism, rate_of_left_out
from designer.domains.marginals_plan import design_marginals
from designer.domains.products_noise import MeasuredProduct, StrategyMatrix
from designer.domains.products_plan import design_structured
from designer.files.kinds import KINDS
from designer.problem.relation import finite_pairs
from designer.relations.invariants.one_budget import InvariantChanges
from designer.tables import Count, Groups, Measure, PartitionSelection, PureSum, Sum, TablePlan
from designer.tables.policies.policies import AsZcdp
from designer.tradeoff.account import Account
from designer.tradeoff.conversions import gdp_epsilon, laplace_rho, pure_rho, zcdp_delta, zcdp_epsilon
from designer.tradeoff.costs import Cost, TotalCost
from designer.tradeoff.functions import EpsilonDelta
from tests.oracles.additive_promises import additive
from tests.oracles.spec_specimens import specimens

REFUSED = {"table plan": "bounded", "lattice chain": "Markov chain"}
TOTAL, TABLE = invariants.total(3), invariants.margins((2, 2))
EMP, SHOP = Measure("emp", upper=100), Groups(["shop"], keys=[["a"], ["b"]])


def made(relation: object, notion: str = "pure", **options: object) -> FrozenMechanism:
    family = {"pure": "laplace", "zcdp": "gaussian", "approximate": "gaussian"}[notion]
    workload = Workload.identity(relation.size)
    return design(Problem(workload, relation, notion=notion, **options), family).mechanism


def plan(*queries: object) -> TablePlan:
    return TablePlan(queries)


@pytest.mark.every_room
def test_every_format_has_an_expense_or_says_why_not() -> None:
    seen = set()
    for name, mechanism in specimens().items():
        seen.add(mechanism.format)
        if name in REFUSED:
            with pytest.raises(InvalidProblem):
                expense_of(mechanism)
            continue
        expense = expense_of(mechanism)
        assert (expense.fingerprint, expense.format) == (mechanism.fingerprint, mechanism.format)
        assert Expense.from_dict(json.loads(json.dumps(expense.to_dict()))) == expense
        assert expense.epsilon or expense.rho
        assert expense.unprotected == mechanism.guarantee.unprotected
    assert seen == set(KINDS)


def test_the_largest_budget_is_that_of_the_worst_pair() -> None:
    """The stated budgets against brute force over all pairs of points, which knows the metrics by their definitions."""
    for name, mechanism in specimens().items():
        if name.startswith("laplace") and hasattr(mechanism.relation, "exact_budget") and mechanism.delta is None:
            expense = expense_of(mechanism)
            if expense.moves not in ("replace", "appear") or name == "laplace row_groups":
                continue
            points = len(mechanism.relation.points(mechanism.workload.dense().T))
            pairs = ((i, j) for i in range(points) for j in range(i))
            budgets = [b for pair in pairs if (b := mechanism.relation.exact_budget(*pair)) is not None]
            assert expense.epsilon == max(budgets), name
    assert additive(specimens()["laplace line"].core()) <= 1 + 1e-9


def test_a_record_that_appears_at_a_larger_budget_than_it_changes_costs_that_one() -> None:
    apart = metrics.appear_or_change(metrics.line([0, 1, 4], 1, 0.5), [3.0, 2.5, 1.5])
    assert largest_budget(apart) == 3 == apart.exact_budget(0, 3)


def test_notions_and_numbers_by_hand() -> None:
    pure = expense_of(made(metrics.uniform(3, 0.5)))
    assert (pure.notion, pure.epsilon, pure.delta, pure.moves) == ("pure", Fraction(1, 2), None, "replace")
    # A record that changes moves two counts by one step each, of rate 1/4.
    assert float(pure.rho) == pytest.approx(0.5 * math.tanh(0.125), rel=1e-12)
    normal = expense_of(made(metrics.uniform(3, 0.5), "zcdp"))
    assert (normal.notion, normal.epsilon, normal.rho) == ("zcdp", None, Fraction(1, 8))
    told = expense_of(made(metrics.uniform(3, 1.0), "approximate", delta=1e-6))
    assert (told.notion, told.epsilon, told.delta) == ("approximate", 1, Fraction(1e-6))
    assert gdp_epsilon(math.sqrt(told.mu_squared), 1e-6) == pytest.approx(1.0, rel=1e-9)
    assert told.rho == told.mu_squared / 2
    kept = expense_of(made(TOTAL.protect(0.25, 2)))
    assert (kept.moves, kept.records, kept.replaced, kept.epsilon) == ("keep", 2, True, Fraction(1, 4))
    assert kept.unit.startswith("at most 2 replaced records change, ")


def test_a_plan_of_a_table_costs_what_its_worst_record_does() -> None:
    counted, summed = Count("firms", SHOP, variance=5), Sum("jobs", SHOP, variance=2000, measure=EMP)
    expense = expense_of(plan(counted, summed))
    assert (expense.notion, expense.rho, expense.delta) == ("zcdp", Fraction(1, 10) + Fraction(100**2, 4000), None)
    laplace = plan(PureSum("jobs", SHOP, measure=EMP, scale=50))
    pure = expense_of(laplace)
    assert (pure.notion, pure.epsilon) == ("pure", 2)
    assert pure.rho == Fraction(laplace_rho(2, "1/50")) < AsZcdp(laplace.queries[0].pure_policy).exact({"emp": 100})
    found = Groups(["shop"], selection=PartitionSelection.design("1/8", 1e-6))
    loose = expense_of(plan(Count("firms", found, variance=5)))
    assert (loose.notion, loose.epsilon, loose.rho) == ("zcdp", None, Fraction(1, 10) + Fraction(1, 8))
    assert loose.delta == Fraction(found.selection.delta) <= 1e-6
    with pytest.raises(InvalidProblem, match=r"'jobs2' has no bound"):
        expense_of(plan(Sum("jobs", SHOP, variance=9, measure=Measure("jobs2"))))


def test_an_entity_of_several_rows_costs_their_budgets() -> None:
    domain = Domain.of({"age": 3})
    noisy = design_marginals(MarginalWorkload.of(domain, {("age",): 1.0}), Presence(mu=0.5))
    for rows, words in ((1, "at most 1 row"), (3, "at most 3 rows")):
        several = expense_of(noisy, rows_per_entity=rows)
        counting = Cost.pure(rows * rate_of_left_out(noisy))
        assert several.rho == rows**2 * expense_of(noisy).rho + counting.rho
        assert words in several.unit and "one entity" in several.unit
    changed = expense_of(made(metrics.uniform(3, 0.5)), rows_per_entity=2)
    assert changed.epsilon == 1 and "one entity changes" in changed.unit
    with pytest.raises(InvalidProblem, match="keep published statistics"):
        expense_of(made(TABLE.protect(1.0, 2)), rows_per_entity=2)


@pytest.mark.parametrize(("bounds", "words"), [((2, 2, 3), "at most 3 rows"), ((1, 1), "at most 1 row")])
def test_a_total_of_entities_keeps_their_unit(bounds: tuple[int, ...], words: str) -> None:
    noisy = design_marginals(MarginalWorkload.of(Domain.of({"age": 3}), {("age",): 1.0}), Presence(mu=0.5))
    told = spent([expense_of(noisy, rows_per_entity=rows) for rows in bounds])
    assert told.unit == f"one entity appears or disappears with its {words}"


def test_a_pure_cost_beside_a_normal_one_is_covered_by_a_normal_one() -> None:
    """sqrt(pi / 2) epsilon-GDP is what `erf(x) >= tanh(2 x / sqrt(pi))` says of epsilon; their product is what both promise."""
    for epsilon in np.geomspace(1e-3, 30, 400):
        assert math.erf(math.sqrt(math.pi) * epsilon / 4) >= math.tanh(epsilon / 2) * (1 - 1e-12)
    one, more = Cost.normal(Fraction(1)), Fraction(1, 5)
    joined, apart = one.with_pure(more), TotalCost((one, Cost.pure(more)))
    assert joined.mu_squared is not None and float(joined.mu_squared) == pytest.approx(1 + math.pi / 2 / 25, rel=1e-5)
    assert joined.epsilon is None and joined.rho == apart.rho
    for delta in (Fraction(1, 10**6), Fraction(1, 100)):
        sharp, told = apart.epsilon_at(delta), TotalCost((joined,)).epsilon_at(delta)
        alone = TotalCost((one,)).epsilon_at(delta)
        assert sharp is not None and told is not None and alone is not None and alone < told < 1.05 * alone


def test_expenses_add_up_on_the_change_that_all_protect() -> None:
    change, presence = expense_of(made(metrics.uniform(3, 0.5))), expense_of(made(metrics.add_remove(3, 0.25)))
    either = expense_of(made(metrics.appear_or_change(metrics.uniform(3, 0.5), 0.5)))
    two, three = (expense_of(made(TABLE.protect(1.0, a))) for a in (2, 3))
    assert spent([change, change]).epsilon == 1
    assert spent([presence, presence]).epsilon == Fraction(1, 2)
    assert spent([presence, either]).epsilon == Fraction(3, 4)
    assert spent([change, presence]).epsilon == 1  # a change is one record that goes and one that comes
    assert (spent([change, presence]).records, spent([change, presence]).replaced) == (1, True)
    assert spent([two, three]).epsilon == 2 and spent([two, three]).records == 2
    assert spent([three, change, presence]).epsilon == 1 + 3 * Fraction(1, 2) + 6 * Fraction(1, 4)
    gone_and_come = Fraction(laplace_rho("1/2", "1/4"))  # two changes of a quarter each
    assert float(spent([change, presence]).rho) == pytest.approx(float(change.rho + gone_and_come), rel=1e-12)
    assert set(change.unprotected) | set(two.unprotected) == set(spent([change, two]).unprotected)
    assert spent([]).epsilon == 0 and spent([]).delta_at(0) == 0


def test_distances_add_up_by_the_unit_or_over_the_records_that_change() -> None:
    far = expense_of(specimens()["lattice distance"])
    assert (far.moves, far.epsilon) == ("l2", Fraction(1, 2))
    assert spent([far, far]).epsilon == 1 and "each unit" in spent([far]).unit
    with_three = spent([far, expense_of(made(TABLE.protect(1.0, 3)))])
    longest = Fraction(1, 2) * Fraction(math.sqrt(18))  # three records from one cell to one other
    assert float(with_three.epsilon) == pytest.approx(float(1 + longest), rel=1e-15)


@pytest.mark.parametrize("relation", [TABLE.protect(1.0, per_distance="l1"), metrics.uniform(4, 1.0) & TABLE.at(2)])
def test_a_change_without_steps_on_its_way_is_told_apart_as_the_law_says(relation: object) -> None:
    """A swap in a 2x2 table with published margins: nothing lies on its way, so the noise is randomised response of the whole
    budget, and not the function of several smaller changes."""
    made = design(Problem(Workload.identity(4), relation), "lattice_laplace").mechanism
    other = design(Problem(Workload.identity(4), TABLE.protect(0.001, 2)), "lattice_laplace").mechanism
    whole = sum(map(abs, (1, -1, -1, 1))) if "distance" in relation.kind else 2
    exact = Account.of([EpsilonDelta(whole), EpsilonDelta("0.001")])
    together = spent([expense_of(made), expense_of(other)])
    both = composed(made, other)
    for epsilon in (0, 1, Fraction(3, 2)):
        least = exact.delta_below(epsilon)
        assert together.delta_at(epsilon) >= least and both.delta(epsilon, change=[1, -1, -1, 1]) >= least
        assert both.delta(epsilon, change=[1, -1, -1, 1]) <= exact.delta_at(epsilon) * (1 + 1e-9)


def relative_entropy(rate: float, steps: int) -> float:
    """Of discrete Laplace noise from the same moved by so many steps, by a sum over the integers."""
    k = np.arange(-int(60 / rate) - steps, int(60 / rate) + 2 * steps + 1)
    law = np.exp(-rate * np.abs(k)) * math.tanh(rate / 2)
    return float(law @ (rate * (np.abs(k - steps) - np.abs(k))))


SCORES = Workload([[1, 2, 3, 4, 5, 6], [0, 0, 0, 1, 1, 1]])
LAPLACE = {
    "cells, replaced": (Workload.identity(3), metrics.uniform(3, 1.0), 0.53),
    "cells, added": (Workload.identity(3), metrics.add_remove(3, 1.0), 1.0),
    "sums, replaced": (SCORES, metrics.uniform(6, 1.0), 0.65),
    "sums on a line": (SCORES, metrics.line([0, 1, 2, 3, 4, 5], 1, 0.5), 0.8),
    "sums, added or replaced": (SCORES, metrics.appear_or_change(metrics.uniform(6, 2.0), 1.5), 0.8),
    "a table with margins": (Workload([[0, 1, 2, 9], [1, 0, 0, 0]]), TABLE.protect(1.0, 2), 0.9),
}


@pytest.mark.parametrize("case", LAPLACE)
def test_independent_laplace_noise_costs_its_relative_entropy(case: str) -> None:
    """Against the sum of the relative entropies of all answers, pair by pair; two changes against all pairs of pairs."""
    workload, relation, part = LAPLACE[case]
    mechanism = design(Problem(workload, relation), "laplace").mechanism
    assert isinstance(mechanism, AdditiveMechanism)
    rates = mechanism.norm.map * mechanism.grid.steps
    points = mechanism.relation.points(mechanism.integers.T)
    budgets: dict[tuple[int, ...], Fraction] = {}
    for i, j in (
        pair for block in relation.blocks() for pair in zip(*map(np.ndarray.tolist, finite_pairs(block)), strict=True)
    ):
        moved, budget = tuple(np.abs(points[i] - points[j]).tolist()), mechanism.relation.exact_budget(i, j)
        assert budget is not None
        budgets[moved] = max(budget, budgets.get(moved, Fraction(0)))
    cost = {moved: sum(relative_entropy(r, m) for r, m in zip(rates, moved, strict=True) if m) for moved in budgets}
    expense, rule = expense_of(mechanism), rule_of(mechanism)
    assert max(cost.values()) <= expense.rho * (1 + 1e-12)
    assert expense.rho <= pure_rho(expense.epsilon) * part * (1 + 1e-12)
    for moved, budget in budgets.items():
        assert cost[moved] <= rule.cost(mechanism, budget).rho * (1 + 1e-12)
        for further, more in budgets.items():
            if isinstance(relation, InvariantChanges):
                continue  # two changes of a table may undo each other's cells
            both = sum(relative_entropy(r, m + n) for r, m, n in zip(rates, moved, further, strict=True) if m + n)
            assert both <= rule.cost_of_steps(mechanism, (budget, more)).rho * (1 + 1e-12)


@pytest.mark.parametrize(
    ("protection", "part"), [(Presence(epsilon=1.0), 1.0), (metrics.hamming(Domain.of({"a": 3, "b": 4}), [0.75, 0.5]), 0.8)]
)
def test_products_of_laplace_noise_cost_their_relative_entropy(protection: object, part: float) -> None:
    """The same of running totals of two attributes, for every record that appears or changes."""
    domain = Domain.of({"a": 3, "b": 4})
    workload = StructuredWorkload.tables(domain, [["a", "b"], ["b"]], {"a": "prefix", "b": "prefix"})
    mechanism = design_structured(workload, protection, "laplace")
    rows, rates = [], []
    for block in mechanism.blocks:
        axes = [
            mechanism.matrices[i][block.parts[i]].rows if i in block.parts else np.ones((1, n)) for i, n in enumerate((3, 4))
        ]
        rows.append(np.kron(*axes))
        rates += [block.strength] * len(rows[-1])
    moves = np.vstack(rows).T.astype(int)
    if not isinstance(protection, Presence):
        moves = np.array([u - v for u in moves for v in moves if (u != v).any()])
    cost = max(sum(relative_entropy(r, m) for r, m in zip(rates, np.abs(u).tolist(), strict=True) if m) for u in moves)
    expense = expense_of(mechanism)
    assert cost <= expense.rho * (1 + 1e-12) and expense.rho <= part * pure_rho(expense.epsilon)


@pytest.mark.parametrize("protection", [Presence(epsilon=1.0), metrics.hamming(Domain.of({"a": 2}), [1.0])])
def test_a_contrast_moves_twice_as_far_when_a_record_changes(protection: object) -> None:
    """One answer, men less women: a record that appears moves it by one step, one that changes by two."""
    domain, steps = Domain.of({"a": 2}), 1 if isinstance(protection, Presence) else 2
    asked, measured = StructuredWorkload.of(domain, [{"a": [[1.0, -1.0]]}]), StrategyMatrix(np.array([[1, -1]]))
    block = MeasuredProduct({0: 0}, 1.0 / steps)
    rho = expense_of(StructuredMechanism(asked, protection, "laplace", {0: (measured,)}, (block,), (0,))).rho
    assert float(rho) == pytest.approx(relative_entropy(1.0 / steps, steps), rel=1e-12)


def test_records_that_appear_under_an_invariant_do_not_add_to_a_public_number_of_records() -> None:
    open_total = invariants.linear([[1, -1, 0]], records_public=False)
    alone = expense_of(made(open_total.protect(0.5, 1)))
    with pytest.raises(InvalidProblem, match="no change is protected by both"):
        spent([alone, expense_of(made(metrics.uniform(3, 0.5)))])


PURE, RHO = Cost.pure(Fraction(1, 10)), Cost.concentrated(Fraction(1, 8))


def test_mixed_notions_are_added_by_whichever_way_is_least() -> None:
    many = TotalCost((PURE,) * 40)
    assert many.epsilon == 4 and many.delta_at(4) == 0
    assert many.epsilon_at(1e-6) <= zcdp_epsilon(many.rho, 1e-6) < 4
    both = TotalCost((PURE, RHO))
    assert both.epsilon is None and both.rho == PURE.rho + Fraction(1, 8)
    plain = Fraction(1, 10) + Fraction(zcdp_epsilon(Fraction(1, 8), 1e-6))
    assert both.epsilon_at(1e-6) <= min(float(plain) * (1 + 1e-15), zcdp_epsilon(both.rho, 1e-6))
    loose = Cost.concentrated(Fraction(1, 8), Fraction(1, 10**6))
    assert TotalCost((loose,)).rho is None and TotalCost((loose,)).approximate_rho == (Fraction(1, 8), Fraction(1, 10**6))
    assert TotalCost((loose,)).delta_at(3) >= zcdp_delta(Fraction(1, 8), 3) + 1e-6
    assert TotalCost((loose,)).epsilon_at(1e-7) is None and TotalCost((loose,)).epsilon_at(1) == 0


def test_groups_of_each_notion() -> None:
    told = Cost(epsilon=Fraction(1), delta=Fraction(1, 1000), rho=Fraction(1, 4), mu_squared=Fraction(1, 2))
    three = told.of_group(3)
    assert (three.epsilon, three.rho, three.mu_squared) == (3, Fraction(9, 4), Fraction(9, 2))
    chained = sum(Fraction(1, 1000) * Fraction(math.exp(k)) for k in range(3))  # delta (1 + e + e^2)
    assert float(three.delta) == pytest.approx(float(chained), rel=1e-12)
    three = Cost.pure(Fraction(3, 10)).with_shapes((EpsilonDelta(Fraction(1, 10)).group(3),))
    assert PURE.of_group(3).as_pure() == three and float(three.rho) == laplace_rho("3/10", "1/10")
    with pytest.raises(InvalidProblem, match="zCDP but for events"):
        Cost.concentrated(Fraction(1), Fraction(1, 100)).of_group(2)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"epsilon": 0.5}, "expense.epsilon"),
        ({"rho": "-1"}, "expense.rho"),
        ({"more": 1}, "expense"),
        ({"epsilon": None, "rho": None}, "neither an epsilon nor a rho"),
    ],
)
def test_expenses_that_were_altered_are_refused(change: dict[str, object], text: str) -> None:
    plain = expense_of(made(metrics.uniform(3, 0.5))).to_dict()
    with pytest.raises(InvalidSpec, match=text):
        Expense.from_dict({**plain, **change})


def test_values_that_no_expense_has_are_refused() -> None:
    plain = expense_of(made(metrics.uniform(3, 0.5))).to_dict()
    for change in ({"moves": "jumps"}, {"records": 0}, {"records": True}, {"unprotected": "x"}, {"unit": 1}, {"scope": 2}):
        with pytest.raises(InvalidSpec, match="holds a value that is none of an expense; restore it"):
            Expense.from_dict({**plain, **change})


def test_what_is_no_mechanism_or_hides_nothing_is_refused() -> None:
    with pytest.raises(InvalidProblem, match="no frozen object"):
        expense_of("spec.json")
    with pytest.raises(InvalidProblem, match="expenses"):
        spent([replace(expense_of(made(metrics.uniform(3, 0.5)))), 3])


def test_the_largest_budget_of_very_many_pairs_is_above_the_exact_one() -> None:
    """Places whose distances are no floats: the float maximum is below the exact one for some of them, the answer never is."""
    below = 0
    for seed in range(12):
        relation = metrics.euclidean(np.random.default_rng(seed).random((65, 2)), 0.3)
        pairs = ((i, j) for i in range(65) for j in range(i))
        exact = max(b for pair in pairs if (b := relation.exact_budget(*pair)) is not None)
        below += Fraction(relation.largest_budget()) < exact
        assert exact <= largest_budget(relation) <= exact * (1 + Fraction(1, 10**9))
    assert below


@pytest.mark.parametrize("notion", ["pure", "zcdp"])
def test_changes_one_after_the_other_cost_the_sum_of_their_budgets(notion: str) -> None:
    """Equal ones as a group does, different ones by their sum: 3 b is 3 b pure, and (3 b)^2 / 2 of zCDP."""
    mechanism = made(metrics.uniform(3, 0.5), notion)
    rule, half = rule_of(mechanism), Fraction(1, 2)
    for steps in ([half] * 3, [half, Fraction(1)]):
        cost = rule.cost_of_steps(mechanism, steps)
        if notion == "pure":
            assert cost.epsilon == Fraction(3, 2)
        else:
            assert cost.epsilon is None and cost.rho == Fraction(9, 8)
    assert rule.cost_of_steps(mechanism, []).epsilon == 0

"""What a release costs as plain data, for every format, and how expenses add up."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from designer import (
    Domain,
    InvalidProblem,
    InvalidSpec,
    MarginalWorkload,
    Presence,
    Problem,
    Workload,
    design,
    invariants,
    metrics,
)
from designer.accounts import Expense, expense_of, spent
from designer.accounts.together.terms import largest_budget, rule_of
from designer.certified.frozen import Specified
from designer.files.kinds import KINDS
from designer.mechanisms.marginals.plan import design_marginals
from designer.promises.accounting import gdp_epsilon, zcdp_delta, zcdp_epsilon
from designer.promises.costs import Cost, TotalCost
from designer.promises.tradeoff import EpsilonDelta
from designer.tables import Count, Groups, Measure, PartitionSelection, PureSum, Sum, TablePlan
from designer.tables.policies.policies import AsZcdp
from tests.oracles.additive_promises import additive
from tests.oracles.spec_specimens import specimens

REFUSED = {"table plan": "bounded", "lattice chain": "Markov chain"}
TOTAL, TABLE = invariants.total(3), invariants.margins((2, 2))
EMP, SHOP = Measure("emp", upper=100), Groups(["shop"], keys=[["a"], ["b"]])


def made(relation: object, notion: str = "pure", **options: object) -> Specified:
    family = {"pure": "laplace", "zcdp": "gaussian", "approximate": "gaussian"}[notion]
    workload = Workload.identity(relation.size)
    return design(Problem(workload, relation, notion=notion, **options), family).mechanism


def plan(*queries: object) -> TablePlan:
    return TablePlan(queries)


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


def test_notions_and_numbers_by_hand() -> None:
    pure = expense_of(made(metrics.uniform(3, 0.5)))
    assert (pure.notion, pure.epsilon, pure.delta, pure.moves) == ("pure", Fraction(1, 2), None, "replace")
    assert float(pure.rho) == pytest.approx(0.5 * math.tanh(0.25), rel=1e-15) and pure.rho >= Fraction(0.5 * math.tanh(0.25))
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
    assert pure.rho == AsZcdp(laplace.queries[0].pure_policy).exact({"emp": 100})
    found = Groups(["shop"], selection=PartitionSelection.design("1/8", 1e-6))
    loose = expense_of(plan(Count("firms", found, variance=5)))
    assert (loose.notion, loose.epsilon, loose.rho) == ("zcdp", None, Fraction(1, 10) + Fraction(1, 8))
    assert loose.delta == Fraction(found.selection.delta) <= 1e-6
    with pytest.raises(InvalidProblem, match=r"'jobs2' has no bound"):
        expense_of(plan(Sum("jobs", SHOP, variance=9, measure=Measure("jobs2"))))


def test_an_entity_of_several_rows_costs_their_budgets() -> None:
    domain = Domain.of({"age": 3})
    noisy = design_marginals(MarginalWorkload.of(domain, {("age",): 1.0}), Presence(0.5))
    assert expense_of(noisy, rows_per_entity=3).rho == 9 * expense_of(noisy).rho
    assert "one entity" in expense_of(noisy, rows_per_entity=3).unit
    changed = expense_of(made(metrics.uniform(3, 0.5)), rows_per_entity=2)
    assert changed.epsilon == 1 and "one entity changes" in changed.unit
    with pytest.raises(InvalidProblem, match="keep published statistics"):
        expense_of(made(TABLE.protect(1.0, 2)), rows_per_entity=2)


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
    assert spent([change, presence]).rho == change.rho + expense_of(made(metrics.add_remove(3, 0.5))).rho
    assert set(change.unprotected) | set(two.unprotected) == set(spent([change, two]).unprotected)
    assert spent([]).epsilon == 0 and spent([]).delta_at(0) == 0


def test_distances_add_up_by_the_unit_or_over_the_records_that_change() -> None:
    far = expense_of(specimens()["lattice distance"])
    assert (far.moves, far.epsilon) == ("l2", Fraction(1, 2))
    assert spent([far, far]).epsilon == 1 and "each unit" in spent([far]).unit
    with_three = spent([far, expense_of(made(TABLE.protect(1.0, 3)))])
    longest = Fraction(1, 2) * Fraction(math.sqrt(18))  # three records from one cell to one other
    assert float(with_three.epsilon) == pytest.approx(float(1 + longest), rel=1e-15)


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
    assert PURE.of_group(3).as_pure() == replace(Cost.pure(Fraction(3, 10)), shapes=(EpsilonDelta(Fraction(1, 10)).group(3),))
    with pytest.raises(InvalidProblem, match="zCDP but for events"):
        Cost.concentrated(Fraction(1), Fraction(1, 100)).of_group(2)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"epsilon": 0.5}, "expense.epsilon"),
        ({"rho": "-1"}, "expense.rho"),
        ({"moves": "jumps"}, "holds a value that is none"),
        ({"records": 0}, "holds a value that is none"),
        ({"unprotected": "x"}, "holds a value that is none"),
        ({"more": 1}, "expense"),
        ({"epsilon": None, "rho": None}, "neither an epsilon nor a rho"),
    ],
)
def test_expenses_that_were_altered_are_refused(change: dict[str, object], text: str) -> None:
    plain = expense_of(made(metrics.uniform(3, 0.5))).to_dict()
    with pytest.raises(InvalidSpec, match=text):
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

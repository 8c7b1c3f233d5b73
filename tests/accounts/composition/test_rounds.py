"""What mechanisms of several rounds cost: all of their shares, whatever each of them is. What must be fixed before the first
release: the counter-example of a published partition that is chosen by an answer.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

from designer import InvalidProblem, Problem, Workload, design, invariants, metrics
from designer.accounts import Ledger, Total, checked, composed, expense_of
from designer.base.arrays import Floats
from designer.base.errors import OverTotal
from designer.certificate.frozen import FrozenMechanism, rate_of_left_out
from designer.relations.row_groups import RowGroups
from designer.selection.mechanism import best_selection
from designer.selection.scores import Linear
from designer.synthetic.multiplicative import MWEM
from designer.tables import Count, Groups, Measure, PartitionSelection, TablePlan, UnitSplitting
from designer.tradeoff.conversions import gdp_epsilon, rho_of_bounded_range, rho_of_pure
from designer.tradeoff.costs import Cost, TotalCost, cost_of_tradeoff
from designer.tradeoff.functions import EpsilonDelta, LaplaceTradeoff
from solvers.exact.rational import float_above
from tests.oracles.small_laws import Law, merged
from tests.oracles.spec_specimens import specimens


@pytest.mark.parametrize("shares", [((1, 10), (2, 10)), ((1, 20), (1, 10), (1, 20)), ((1, 2),)])
def test_rounds_of_synthetic_data_cost_the_sum_of_their_shares(shares: tuple[tuple[int, int], ...]) -> None:
    made = specimens()["mwem"]
    assert isinstance(made, MWEM)
    parts = tuple((Fraction(*share) / 2, Fraction(*share) / 2) for share in shares)
    whole = expense_of(replace(made, shares=((Fraction(1, 2), Fraction(1, 2)),))).epsilon
    assert whole is not None
    assert expense_of(replace(made, shares=parts)).epsilon == whole * sum(Fraction(*share) for share in shares)


@pytest.mark.parametrize("law", ["exponential", "permute_and_flip"])
def test_a_choice_costs_the_rho_of_its_law(law: str) -> None:
    """epsilon^2 / 8 of bounded range, and that of any pure mechanism under permute-and-flip, by exact laws of two candidates:
    the divergence of order 1 over all gaps is more than 2/3 of each, and of permute-and-flip more than 2 epsilon^2 / 8."""
    made = best_selection(Linear(Workload.identity(2)), metrics.add_remove(2, 0.5), law)  # type: ignore[arg-type]
    told = expense_of(made)
    assert told.epsilon == Fraction(1, 2) and told.rho == (
        Fraction(1, 32) if law == "exponential" else rho_of_pure(Fraction(1, 2))
    )
    most = 0.0
    for gap in range(-20, 21):
        one, other = made.probabilities((50 + gap, 50)), made.probabilities((51 + gap, 50))
        most = max([most, *(float((p * np.log(p / q)).sum()) for p, q in ((one, other), (other, one)))])
    assert 2 / 3 * float(told.rho) < most <= float(told.rho)
    if law == "exponential":
        assert expense_of(made, rows_per_entity=3).rho == 9 * told.rho + rho_of_pure(3 * rate_of_left_out(made))
    else:
        assert most > 2 / 32


@pytest.mark.parametrize("law", ["exponential", "permute_and_flip"])
def test_choices_of_synthetic_data_cost_the_rho_of_their_law(law: str) -> None:
    small, rounds = (replace(specimens()[name], selection=law) for name in ("small-db", "mwem"))  # type: ignore[call-arg]
    known = rho_of_bounded_range if law == "exponential" else rho_of_pure
    budget = expense_of(small).epsilon
    assert budget is not None and expense_of(small).rho == known(budget)
    assert isinstance(rounds, MWEM)
    budget = expense_of(replace(rounds, shares=((Fraction(1, 2), Fraction(1, 2)),))).epsilon
    shares = ((Fraction(1, 4), Fraction(1, 8)),) * 2
    assert budget is not None
    assert expense_of(replace(rounds, shares=shares)).rho == 2 * (known(budget / 4) + rho_of_pure(budget / 8))


def test_a_record_that_may_change_in_several_groups_costs_the_sum_of_their_budgets() -> None:
    groups = RowGroups((metrics.uniform(2, 0.5), metrics.euclidean([0.0, 1.0, 2.5], 0.25)), ("sex", "age"))
    sums = Problem(Workload([[1, 0, 1, 0, 0], [0, 2, 0, 1, 3]]), groups)
    assert expense_of(design(sums, "laplace").mechanism).epsilon == Fraction(1, 2) + Fraction(5, 2) / 4


def test_no_epsilon_is_stated_at_a_delta_below_that_of_a_release() -> None:
    """Two deltas of 1/1000 leave none below 1 - 0.999^2, and that at the sum of the budgets; the product says what there is
    between, and plain addition nothing."""
    total = TotalCost((Cost(epsilon=Fraction(1), delta=Fraction(1, 1000)),) * 2)
    certain, both = 1 - 0.999**2, (1 + math.exp(-1)) ** -2  # the second: two answers that both speak for the alternative
    assert total.epsilon_at("1/501") is None and total.epsilon_at("1/500", precise=False) == 2.0
    rest = 1 - (1 - 0.002) / (1 - certain)
    assert total.epsilon_at("1/500") == pytest.approx(2 + math.log1p(-rest / both), rel=1e-12)
    assert total.delta_at(2) == pytest.approx(certain, rel=1e-12)
    assert total.delta_at(2, precise=False) == float_above(Fraction(1, 500)) and total.delta_at("1.999", precise=False) == 1.0
    assert total.delta_at("1.999") == pytest.approx(1 - (1 - certain) * (1 + both * math.expm1(-0.001)), rel=1e-9)


@pytest.mark.parametrize("name", ["marginals presence", "structured presence"])
def test_gaussian_noise_for_the_presence_of_a_record_costs_half_its_squared_budget(name: str) -> None:
    told = expense_of(specimens()[name])
    assert told.rho == Fraction(1, 8) and told.epsilon is None and not told.delta


def test_a_release_with_a_delta_leaves_no_pure_promise() -> None:
    pure, other = Cost.pure(Fraction(1)), Cost(epsilon=Fraction(1), delta=Fraction(1, 1000))
    assert TotalCost((pure, pure)).epsilon == 2
    assert TotalCost((pure, other)).epsilon is None and TotalCost((pure, other)).plain == (2, Fraction(1, 1000))
    assert TotalCost((other, other, pure)).plain == (3, Fraction(1, 500))


@pytest.mark.parametrize("at_most", [1, 3])
def test_a_plan_that_finds_groups_costs_the_delta_of_its_largest_record(at_most: int) -> None:
    """A record of `at_most` split rows makes its group appear more often than one of a single row."""
    emp = Measure("emp", upper=1000)
    selection = PartitionSelection.design("1/8", 1e-6, UnitSplitting([emp], [50]), at_most)
    found = expense_of(TablePlan((Count("n", Groups(["state"], selection=selection), variance=4),)))
    assert found.delta == Fraction(selection.delta_of(at_most)) and (at_most == 1 or selection.delta_of(1) < found.delta)


def test_a_delta_that_one_release_spends_is_not_there_for_another() -> None:
    """Noise of 1/8-zCDP beside a release that fails with probability 0.999e-6: at 1e-6 in all, a billionth is left for it."""
    fails, most = Cost(epsilon=Fraction(1, 1000), delta=Fraction(999, 10**9)), Fraction(1, 10**6)
    told = TotalCost((fails, Cost.concentrated(Fraction(1, 8)))).epsilon_at(most)
    # Normal noise is 1/8-zCDP, and has to be (epsilon, (1e-6 - 0.999e-6) / (1 - 0.999e-6)) by itself, at least.
    assert told is not None and told >= gdp_epsilon("1/2", (most - fails.delta) / (1 - fails.delta)) * (1 - 1e-12)
    assert told > 1.2 * gdp_epsilon("1/2", most)


def test_the_figures_of_the_page_on_composition() -> None:
    """Deltas of ten releases by their functions, rounded up; powers by the atoms of losses, which are few."""
    fine = [EpsilonDelta(1), EpsilonDelta(Fraction(1, 2)).group(2), LaplaceTradeoff(1)]
    deltas = [TotalCost((cost_of_tradeoff(function),) * 10).delta_at(5) for function in fine]
    assert [math.ceil(delta * 10**4) / 10**4 for delta in deltas] == [0.3636, 0.2320, 0.2071]

    def steps(rate: float, moved: int) -> Law:
        """Of discrete Laplace noise that a change moves by so many steps: the loss and its probability."""
        places = np.arange(-200, 201)
        losses = np.round(rate * (np.abs(places - moved) - np.abs(places)), 9)
        return merged(zip(losses.tolist(), (math.tanh(rate / 2) * np.exp(-rate * np.abs(places))).tolist(), strict=True))

    def function(first: Law, second: Law) -> tuple[Floats, Floats]:
        """The corners of the tradeoff function of both: what is rejected, by rising losses, and what is missed."""
        joint = merged((round(a + b, 9), p * q) for a, p in first.items() for b, q in second.items())
        losses = np.array(sorted(joint))
        chances = np.array([joint[loss] for loss in losses.tolist()])
        return np.cumsum([0, *chances]), 1 - np.cumsum([0, *(chances * np.exp(-losses))])

    alphas = np.linspace(0, 1, 200_001)
    first, alone, budgets = (
        np.interp(alphas, *function(steps(one, moved), steps(other, moved)))
        for one, other, moved in ((1.0, 0.5, 2), (1.0, 0.5, 1), (2.0, 1.0, 1))
    )
    last = np.interp(1 - alone, alphas, alone)  # the group of both: f(1 - f)
    assert [math.floor(10**4 * (first - other).max()) / 10**4 for other in (last, budgets)] == [0.1058, 0.1193]


EPSILON = 1.0


E = Fraction(3)  # stands for e^epsilon: any ratio above 1 shows the same


def response(true: bool, said: bool) -> Fraction:
    """Randomised response with ratio E."""
    return (E if true == said else Fraction(1)) / (1 + E)


def joint_law(record: str, rule: dict[bool, str], asked: str) -> dict[tuple[object, ...], Fraction]:
    """The law of all answers about one record among a, b, ...: a noisy answer on "is it `asked`?", then the part of the record
    in the partition that the answer chooses, then a noisy answer within the part on "is it the first of its part?"."""
    law: dict[tuple[object, ...], Fraction] = {}
    for said in (False, True):
        parts = rule[said].split("|")
        own = next(part for part in parts if record in part)
        for first in (False, True):
            chance = response(record == asked, said) * response(record == own[0], first)
            law[said, own, first] = law.get((said, own, first), Fraction(0)) + chance
    return law


def loss(one: dict[tuple[object, ...], Fraction], other: dict[tuple[object, ...], Fraction]) -> Fraction | None:
    """The largest ratio of two laws; None where it is infinite."""
    ratios = [one[key] / other[key] if key in other else None for key in one]
    return None if None in ratios else max(ratio for ratio in ratios if ratio is not None)


def same_part(partition: str, i: str, j: str) -> bool:
    return any(i in part and j in part for part in partition.split("|"))


def test_a_partition_chosen_by_an_answer_tells_apart_what_any_of_the_choices_tells_apart() -> None:
    """All pairs of partitions of four elements, all questions, by enumeration: finite just where both protect, and then within
    the product of the two promises."""
    partitions = ("abcd", "abc|d", "ab|cd", "ab|c|d", "a|bcd", "ac|bd", "a|b|c|d")
    infinite = 0
    for no, yes in product(partitions, repeat=2):
        for asked in "abcd":
            laws = {record: joint_law(record, {False: no, True: yes}, asked) for record in "abcd"}
            for i, j in combinations("abcd", 2):
                found = loss(laws[i], laws[j])
                assert (found is None) is not (same_part(no, i, j) and same_part(yes, i, j))
                assert found is None or found <= E * E
                infinite += found is None and same_part(no, i, j)
    assert infinite > 100  # finite by the promises of the way that was taken, and told apart all the same


def responses(parts: list[str] | None) -> FrozenMechanism:
    """A query that tells the last of three elements, or the parts of the three and one of them."""
    relation = metrics.uniform(3, EPSILON) if parts is None else metrics.partition(parts, EPSILON)
    rows = [[0, 0, 1]] if parts is None else [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    return design(Problem(Workload(rows), relation), "laplace").mechanism


def test_composed_states_the_union_of_what_may_be_published() -> None:
    asked, after_no, after_yes = responses(None), responses(["x", "x", "y"]), responses(["x", "y", "y"])
    own = composed(asked, after_no).epsilon(change=(0, 1))
    assert own is not None and own <= 2 * EPSILON  # finite, for relations fixed beforehand
    with pytest.raises(InvalidProblem, match="no change is protected by all"):
        composed(asked, after_no, after_yes)


def state(path: Path, *planned: FrozenMechanism, more: tuple[str, ...] = ()):  # type: ignore[no-untyped-def]
    lines = [line for mechanism in planned for line in mechanism.guarantee.unprotected]
    return Ledger.create(path, who="Ada").state("people", Total(epsilon=100), publishes=[*dict.fromkeys(lines), *more])


def kept(parts: str, adjacency: int) -> FrozenMechanism:
    relation = invariants.partition(list(parts)).protect(0.5, adjacency=adjacency)
    return design(Problem(Workload.identity(len(parts)), relation), "lattice_laplace").mechanism


@pytest.mark.parametrize(
    ("first", "other"),
    [
        (responses(["x", "x", "y"]), responses(["x", "y", "y"])),
        (kept("xxyy", 1), kept("xyyx", 1)),
        (kept("xxyy", 2), kept("xxyy", 1)),
    ],
    ids=["parts of a metric", "invariants of the same names", "fewer records"],
)
def test_a_ledger_refuses_a_scope_that_was_not_fixed_before_the_first_answer(
    tmp_path: Path, first: FrozenMechanism, other: FrozenMechanism
) -> None:
    assert expense_of(first).scope != expense_of(other).scope
    data = [5, 6, 7, 8][: first.relation.size]  # type: ignore[attr-defined]
    people = state(tmp_path / "l", first, other)
    people.release(first, data)
    people.release(first, data)
    with pytest.raises(OverTotal, match=r"Only changes within the scope [0-9a-f]{32} are protected") as refused:
        people.release(other, data)
    assert "does not depend on what earlier releases showed" in str(refused.value)
    line = str(refused.value).split("--publishes '")[1].split("'")[0]
    planned = state(tmp_path / "planned", first, other, more=(line,))
    planned.release(first, data)
    refusal = planned.forecast(other).refusal  # invariants of both may still leave nothing in common
    assert refusal is None or "no change is protected" in refusal
    checked(people.ledger)


def test_a_scope_is_none_where_every_change_of_a_record_is_protected_and_knows_no_budget() -> None:
    four = Workload.identity(4)
    every = (
        metrics.uniform(4, 0.5),
        metrics.add_remove(4, 0.5),
        metrics.line([0, 1, 2, 5], period=3, epsilon=1),
        invariants.total(4).protect(0.5),
    )
    for relation in every:
        family = "lattice_laplace" if relation is every[-1] else "laplace"
        assert expense_of(design(Problem(four, relation), family).mechanism).scope is None
    twice = [expense_of(design(Problem(four, metrics.partition(list("xxyy"), b)), "laplace").mechanism) for b in (0.5, 1.0)]
    assert twice[0].scope == twice[1].scope is not None and twice[0].epsilon != twice[1].epsilon
    for parts in ((metrics.uniform(2, 1.0), metrics.partition(list("xy"), 1.0)), (metrics.uniform(2, 1.0),) * 2):
        scope = expense_of(design(Problem(four, RowGroups(parts, ("a", "b"))), "laplace").mechanism).scope
        assert (scope is None) == (parts[0] == parts[1])


def test_where_the_number_of_records_may_be_published_changes_of_a_record_are_counted_from_the_start(tmp_path: Path) -> None:
    """A record that appears at epsilon changes at twice that; another way might have published the number of records."""
    appears = design(Problem(Workload.identity(3), metrics.add_remove(3, 0.5)), "laplace").mechanism
    closed = state(tmp_path / "closed")
    closed.release(appears, [5, 6, 7])
    assert closed.balance().spent.epsilon == Fraction(1, 2)
    public = ("The number of records is public.",)
    opened = state(tmp_path / "open", more=public)
    opened.release(appears, [5, 6, 7])
    assert opened.balance().spent.epsilon == 1 and "number of records is public" in opened.balance().spent.unit
    closed.raise_total(Total(epsilon=1), "planned in May", publishes=public)
    assert closed.balance().spent.epsilon == 1
    with pytest.raises(OverTotal, match="state more"):
        opened.raise_total(Total(epsilon="0.75"), "less")
    checked(closed.ledger)
    checked(opened.ledger)

"""Promises under invariants: SEMI Examples 2 and 6, Propositions 11, 15 and 21, the partial order, and the census. Structural
zeros: the changes that avoid them, how many records must change with one, and what is refused.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from designer import InvalidProblem, Problem, Workload, design, invariants, load
from designer.base.errors import DesignFailed
from designer.relations.invariants.adjacency import (
    ZCDP,
    Conforming,
    Scope,
    ScopedPromise,
    allocation,
    by_distance,
    compare_promises,
    composition_first,
    semi_adjacency,
    semi_first,
    under_invariant,
)
from designer.relations.invariants.invariant import Invariant
from designer.relations.invariants.statistics import Statistics, longest_detour, proven_adjacency
from designer.tradeoff.comparison import Strength, compare_tradeoffs
from designer.tradeoff.functions import EpsilonDelta, Gaussian
from designer.tradeoff.piecewise import from_distributions

STATES = invariants.partition(["Ohio", "Ohio", "Utah"])


def test_the_2020_census_under_state_totals():
    """SEMI section 6: 2.56 becomes 10.24, epsilon 17.91528 becomes 40.95057 at delta 1e-10."""
    assert STATES.semi_adjacency_bound == 2
    under = under_invariant(ZCDP.of("2.56"), Scope(2, STATES))
    assert under.promise == ZCDP(Fraction("10.24")) and "agree in 2 published statistics" in under.sentence()
    (whole,) = allocation("2.56", {"nation": 1}, {"all": 1}, 2, 1e-10)[-1:]
    assert (whole["rho"], whole["rho_under_invariant"]) == (2.56, 10.24)
    assert whole["epsilon_bun_steinke"] == pytest.approx(17.91528, abs=5e-6)
    assert whole["epsilon_bun_steinke_under_invariant"] == pytest.approx(40.95057, abs=5e-6)
    assert whole["epsilon"] < whole["epsilon_bun_steinke"]


def test_any_allocation_adds_up():
    rows = allocation("2.56", {"state": "1/4", "county": "3/4"}, {"total": "2/5", "detailed": "3/5"}, 2, 1e-10)
    assert len(rows) == 5
    assert sum(row["rho"] for row in rows[:-1]) == pytest.approx(rows[-1]["rho"], rel=1e-15)
    assert all(row["rho_under_invariant"] == pytest.approx(4 * row["rho"], rel=1e-15) for row in rows)


@pytest.mark.parametrize(
    ("levels", "message"),
    [({"a": "1/2"}, "add up to 0.5"), ({"a": 2, "b": -1}, "nonnegative"), ({}, "levels"), ({"a": "x"}, "levels")],
)
def test_allocations_that_do_not_add_up_are_refused(levels, message):
    with pytest.raises(InvalidProblem, match=message):
        allocation(1, levels, {"all": 1}, 2, 1e-6)


def test_every_distance_has_its_own_promise():
    """SEMI Proposition 11 on Example 2: all conforming databases are two records apart."""
    conforming = Conforming.of(product((0, 1), repeat=3), sum, 2)
    assert by_distance(Gaussian.of(1), conforming) == {2: Gaussian.of(2)}
    four = Conforming.of(product((0, 1), repeat=4), sum, 2)
    assert by_distance(ZCDP.of(1), four) == {2: ZCDP(Fraction(4)), 4: ZCDP(Fraction(16))}


def randomised_response(truth: tuple[int, ...], lie: Fraction) -> list[Fraction]:
    """The law of flipping every bit of a database independently."""
    law = []
    for told in product((0, 1), repeat=len(truth)):
        mass = Fraction(1)
        for x, y in zip(truth, told, strict=True):
            mass *= lie if x != y else 1 - lie
        law.append(mass)
    return law


def test_the_promise_under_an_invariant_holds_for_a_real_mechanism():
    """Exact tradeoff functions between the conforming databases of Example 2 are at least what Proposition 15 promises."""
    lie = Fraction(1, 4)
    single = from_distributions([1 - lie, lie], [lie, 1 - lie])
    conforming = Conforming.of(product((0, 1), repeat=3), sum, 2)
    promised = under_invariant(single, Scope(2, conforming=conforming)).promise
    for one, other in conforming.indistinguishable(2):
        actual = from_distributions(randomised_response(one, lie), randomised_response(other, lie))
        assert compare_tradeoffs(actual, promised).order in (Strength.STRONGER, Strength.EQUAL)


def test_vacuous_scopes_are_refused():
    none = Conforming.of(product((0, 1), repeat=3), sum, 0)
    with pytest.raises(InvalidProblem, match="about nothing"):
        under_invariant(Gaussian.of(1), Scope(3, conforming=none))


def test_example_6_group_privacy_is_stronger_than_the_same_number_under_an_invariant():
    group = ScopedPromise(Scope(2), EpsilonDelta(1).group(2))
    semi = under_invariant(EpsilonDelta(1), Scope(2, STATES))
    verdict = compare_promises(group, semi)
    assert verdict.order is Strength.STRONGER and "more pairs" in verdict.reason
    assert compare_promises(semi, group).order is Strength.WEAKER
    assert compare_promises(semi, semi).order is Strength.EQUAL


def test_promises_that_win_on_one_side_only_are_incomparable():
    better_function = ScopedPromise(Scope(1), Gaussian.of(1))
    wider_scope = ScopedPromise(Scope(2), Gaussian.of(2))
    assert compare_promises(better_function, wider_scope).order is Strength.INCOMPARABLE


@pytest.mark.parametrize(("mine", "theirs"), [((1, 1), (1, 2)), ((2, 1), (1, 2)), ((2, 1), (1, 1)), ((3, "0.5"), (2, 4))])
def test_a_promise_that_is_at_least_as_good_in_both_is_the_stronger_one(mine, theirs):
    """Scopes of more records hold those of fewer, and normal noise protects the better the smaller its mu."""
    first, second = (ScopedPromise(Scope(records), Gaussian.of(mu)) for records, mu in (mine, theirs))
    assert compare_promises(first, second).order is Strength.STRONGER
    assert compare_promises(second, first).order is Strength.WEAKER
    words = compare_promises(first, second).reason
    assert ("the first protects a pair better" in words) == (mine[1] != theirs[1]), words


def test_scopes_by_inference_agree_with_scopes_written_out():
    """A finer invariant leaves fewer pairs: margins against their total,
    on all databases of three records over a 2 x 2 table."""
    margins, total = invariants.margins((2, 2)), invariants.total(4)
    space = list(product(range(4), repeat=3))

    def written_out(invariant: invariants.Invariant, adjacency: int) -> list[Scope]:
        values = {tuple(invariant.matrix @ [X.count(e) for e in range(4)]) for X in space}
        return [
            Scope(
                adjacency,
                conforming=Conforming.of(
                    space, lambda X, v=v: tuple(invariant.matrix @ [X.count(e) for e in range(4)]) == v, True
                ),
            )
            for v in values
        ]

    (everything,) = written_out(total, 3)
    for scope in written_out(margins, 2):
        assert scope.within(everything) and not everything.within(scope)
    assert Scope(2, margins).within(Scope(3, total)) and not Scope(3, total).within(Scope(2, margins))
    assert Scope(2, margins).within(Scope(2)) and not Scope(2).within(Scope(2, margins))


def test_groups_first_is_never_the_weaker_statement():
    """SEMI Proposition 21, exactly, on randomised responses; Gaussians and zCDP make no difference."""
    single = [from_distributions([1 - lie, lie], [lie, 1 - lie]) for lie in (Fraction(1, 4), Fraction(1, 3))]
    verdict = compare_tradeoffs(semi_first(single, 2), composition_first(single, 2))
    assert verdict.order in (Strength.STRONGER, Strength.EQUAL)
    gaussians = [Gaussian.of(3), Gaussian.of(4)]
    assert semi_first(gaussians, 2) == composition_first(gaussians, 2) == Gaussian.of(10)
    budgets = [ZCDP.of(1), ZCDP.of("0.5")]
    assert semi_first(budgets, 3) == composition_first(budgets, 3) == ZCDP(Fraction(27, 2))


def test_groups_first_is_never_the_weaker_statement_of_pure_promises():
    """Bounds from below of both sides, against the exact product of randomised responses, whose laws pure promises have."""
    promises, alphas = [EpsilonDelta(1), EpsilonDelta("1/2")], np.linspace(0, 1, 41)
    first, last = (order(promises, 2).type_two(alphas) for order in (semi_first, composition_first))
    assert (first >= last - 1e-3).all() and (first > last + 0.05).any()
    lies = [Fraction(1 / (1 + math.exp(float(promise.epsilon)))) for promise in promises]
    single = [from_distributions([1 - lie, lie], [lie, 1 - lie]) for lie in lies]
    exact = semi_first(single, 2).type_two(alphas)
    assert (first <= exact + 1e-12).all() and (first >= exact - 5e-3).all()


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("lies", [("1/4", "1/3"), ("1/10", "2/5"), ("1/4", "1/4", "2/5")])
def test_groups_of_a_product_are_below_the_product_of_groups(lies, size):
    """SEMI Lemma 41, exactly and strictly; the weaker side against best tests of the joint law, applied step by step."""
    single = [from_distributions([1 - lie, lie], [lie, 1 - lie]) for lie in map(Fraction, lies)]
    sharp, blunt = semi_first(single, size), composition_first(single, size)
    assert compare_tradeoffs(sharp, blunt).order is Strength.STRONGER
    # Independent: the definition f(f(...)) in the paper's convention, on products of the two-point laws written out.
    joint = [np.array([1.0]), np.array([1.0])]
    for lie in map(float, map(Fraction, lies)):
        joint = [np.outer(law, coin).ravel() for law, coin in zip(joint, ([1 - lie, lie], [lie, 1 - lie]), strict=True)]
    for x in np.linspace(0.05, 0.95, 10):
        value = x
        for _ in range(size):
            value = _least_error(joint[0], joint[1], 1 - value)
        assert value == pytest.approx(float(blunt.paper_convention(x)), abs=1e-12)


def _least_error(null: np.ndarray, alternative: np.ndarray, level: float) -> float:
    """The least type II error at a level: outcomes are rejected from the largest ratio on, the last one in part."""
    power = 0.0
    for k in np.argsort(-alternative / null):
        part = min(1.0, level / null[k])
        power, level = power + part * alternative[k], level - part * null[k]
    return 1 - power


def test_definition_20_is_an_order_and_no_implication():
    """Reflexive, transitive and, up to equal scopes and functions, antisymmetric, on all promises of a small family; f for one
    record implies f composed with itself for two, which the definition calls incomparable."""
    functions = [EpsilonDelta(1), EpsilonDelta(2), EpsilonDelta(1).group(2), Gaussian.of(1), Gaussian.of(2)]
    scopes = [Scope(1), Scope(2), Scope(2, STATES), Scope(2, invariants.total(3))]
    family = [ScopedPromise(scope, f) for scope in scopes for f in functions]
    implies = {
        (i, j): compare_promises(one, other).order in (Strength.STRONGER, Strength.EQUAL)
        for i, one in enumerate(family)
        for j, other in enumerate(family)
    }
    for i in range(len(family)):
        assert implies[i, i]
        for j in range(len(family)):
            assert not (implies[i, j] and implies[j, i]) or i == j
            assert all(implies[i, k] for k in range(len(family)) if implies[i, j] and implies[j, k])
    single, pair = ScopedPromise(Scope(1), EpsilonDelta(1)), ScopedPromise(Scope(2), EpsilonDelta(1).group(2))
    assert compare_promises(single, pair).order is Strength.INCOMPARABLE


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ZCDP.of(-1), "negative"),
        (lambda: Scope(0), "adjacency"),
        (lambda: semi_first([], 2), "none is given"),
        (lambda: semi_first([ZCDP.of(1), Gaussian.of(1)], 2), "convert"),
        (lambda: compare_promises(ScopedPromise(Scope(1), ZCDP.of(1)), ScopedPromise(Scope(1), Gaussian.of(1))), "convert"),
        (lambda: Scope(1, STATES).within(Scope(1, invariants.total(5))), "3 and 5|5 and 3"),
        (lambda: Scope(1, conforming=Conforming(((0,), (1,)))).within(Scope(1, STATES)), "list both"),
    ],
)
def test_bad_questions_are_refused(call, message):
    with pytest.raises(InvalidProblem, match=message):
        call()


EMPTY_CORNER = invariants.margins((3, 3)).without([5])


def tables(invariant: Invariant, records: int) -> dict[tuple[int, ...], list[np.ndarray]]:
    """All tables with so many records on the possible elements, by their statistics."""
    possible = [i for i in range(invariant.size) if i not in invariant.impossible]
    found: dict[tuple[int, ...], list[np.ndarray]] = {}
    for held in itertools.combinations_with_replacement(possible, records):
        table = np.bincount(held, minlength=invariant.size)
        found.setdefault(tuple((invariant.matrix @ table).tolist()), []).append(table)
    return found


def needed(alike: list[np.ndarray]) -> int:
    """SEMI Definition 13, worst X and best Y, record by record: one goes from e to f, and the others as few as can."""
    worst, all_tables = 0, np.array(alike)
    for x in alike:
        for e in np.flatnonzero(x):
            rest = x.copy()
            rest[e] -= 1
            for f in np.flatnonzero(all_tables.any(axis=0)):
                if f != e:
                    there = all_tables[all_tables[:, f] > 0].copy()
                    there[:, f] -= 1
                    worst = max(worst, 1 + int(np.abs(there - rest).sum(axis=1).min()) // 2)
    return worst


@pytest.mark.parametrize(
    ("invariant", "records"),
    [
        (invariants.total(4).without([1]), 3),
        (invariants.partition([0, 0, 1, 1, 2]).without([0]), 3),
        (invariants.margins((2, 3)).without([1]), 4),
        (EMPTY_CORNER, 4),
        (invariants.margins((3, 3)).without([0, 4, 8]), 4),
        (invariants.margins((3, 3)).without([1, 2, 5]), 4),
        (invariants.margins((3, 3)).without([0, 1]), 4),
        (invariants.margins((2, 2, 2), [(0, 1), (2,)]).without([0, 3]), 3),
        (invariants.margins((2, 2, 2), [(0,), (2,)]).without([0, 2]), 3),
        (invariants.margins((3, 1)).without([1]), 3),
    ],
)
def test_no_record_needs_more_others_than_is_proven(invariant: Invariant, records: int) -> None:
    """Against every table of so many records, for all values of the statistics."""
    bound = invariant.semi_adjacency_bound
    truth = max(needed(alike) for n in range(1, records + 1) for alike in tables(invariant, n).values())
    assert truth <= bound


def test_one_impossible_cell_breaks_the_bound_of_the_paper_and_attains_the_proven_one() -> None:
    """Cell (1, 2) of 3 x 3: three records of a six-cycle change with a fourth, where Theorem 16 has 3."""
    assert max(needed(alike) for alike in tables(EMPTY_CORNER, 4).values()) == 4
    assert EMPTY_CORNER.semi_adjacency_bound == 4
    assert invariants.margins((3, 3)).semi_adjacency_bound == 3


def test_the_detour_is_the_longest_staircase_of_impossible_cells() -> None:
    """Against all choices of rows and columns; counting may only say more."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        shape = rng.integers(2, 5, 2)
        zeros = rng.random(shape) < rng.random()
        least = 1
        for s in range(2, min(shape)):
            chosen = itertools.product(itertools.permutations(range(shape[0]), s), itertools.permutations(range(shape[1]), s))
            if any(
                not any(zeros[r[i], c[i]] for i in range(s))
                and all(zeros[r[i], c[j]] for i in range(s) for j in range(i + 1, s))
                for r, c in chosen
            ):
                least = s
        assert least <= longest_detour(zeros) <= max(1, min(shape) - 1)
    assert longest_detour(np.triu(np.ones((5, 5), dtype=bool), 1)) == 4
    assert longest_detour(np.zeros((4, 4), dtype=bool)) == 1


def test_changes_are_those_that_avoid_the_impossible() -> None:
    relation = EMPTY_CORNER.protect(1.0, 3)
    every = {tuple(v) for v in invariants.margins((3, 3)).protect(1.0, 3).changes.tolist()}
    every |= {tuple(-c for c in v) for v in every}
    ours = {tuple(v) for v in relation.changes.tolist()}
    assert ours | {tuple(-c for c in v) for v in ours} == {v for v in every if v[5] == 0}


def test_enumerated_adjacency_knows_impossible_elements() -> None:
    totals = EMPTY_CORNER.answers([1, 0, 1, 1, 0, 0, 0, 1, 0])
    alike = tables(EMPTY_CORNER, 4)[tuple(totals.tolist())]
    assert semi_adjacency(EMPTY_CORNER, totals).value == needed(alike)
    assert semi_adjacency(EMPTY_CORNER, totals, "bound").value == 4


@pytest.mark.parametrize(
    ("family", "notion", "options"),
    [
        ("lattice_laplace", "pure", {"shape": "l1"}),
        ("lattice_laplace", "pure", {"shape": "l2"}),
        ("lattice_gaussian", "zcdp", {}),
        ("laplace", "pure", {}),
        ("gaussian", "zcdp", {}),
    ],
)
def test_noise_keeps_away_and_specs_come_back(family, notion, options, tmp_path) -> None:
    problem = Problem(Workload.identity(9), EMPTY_CORNER.protect(1.0), notion)
    mechanism = design(problem, family, **options).mechanism
    noise = np.asarray(mechanism.simulate(50, seed=1))
    assert not noise[:, 5].any() and noise[:, 4].any()
    again = load(mechanism.save(tmp_path / "spec.json"))
    assert again.fingerprint == mechanism.fingerprint
    assert again.release([1, 2, 3, 4, 5, 0, 7, 8, 9]).answers[5] == pytest.approx(0, abs=1e-9)
    assert any("declared impossible" in sentence for sentence in again.guarantee.unprotected)
    with pytest.raises(InvalidProblem, match="declared impossible") as told:
        again.release([1, 2, 3, 4, 5, 6, 7, 8, 9])
    assert "6" not in str(told.value) and told.value.__context__ is None


def test_specs_without_impossible_elements_are_as_they_were() -> None:
    assert "impossible" not in invariants.margins((3, 3)).to_spec()
    spec = EMPTY_CORNER.to_spec()
    assert spec["impossible"] == [5] and Statistics.from_spec(spec).constraints.tolist() == EMPTY_CORNER.constraints.tolist()


@pytest.mark.parametrize(
    "invariant",
    [
        invariants.margins((2, 2, 2)).without([0]),
        invariants.margins((2, 2, 2), [(0, 1), (1, 2)]).without([0]),
        invariants.linear([[1, 1, 0, 0], [0, 1, 1, 0]]).without([3]),
    ],
)
def test_nothing_is_said_where_nothing_is_proven(invariant: Invariant) -> None:
    assert proven_adjacency(invariant) is None
    with pytest.raises(InvalidProblem, match="state how many records"):
        invariant.protect(1.0)
    assert invariant.protect(1.0, 2).adjacency == 2


@pytest.mark.parametrize("elements", [[9], [-1], [1, 1], list(range(9)), "12", [0.5], [True], 3])
def test_bad_positions_are_refused(elements) -> None:
    with pytest.raises(InvalidProblem, match="impossible"):
        invariants.margins((3, 3)).without(elements)


def test_rows_cannot_be_balanced_around_impossible_cells() -> None:
    with pytest.raises(DesignFailed, match="serves margins"):
        design(Problem(Workload.identity(9), EMPTY_CORNER.protect(1.0)), "lattice_rows")

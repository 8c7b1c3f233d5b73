"""Bad input to the public constructors of metrics, invariants, selections, synthetic data, marginals,
tests and conversions: one clear refusal."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from designer import (
    Counts,
    DesignFailed,
    Domain,
    InvalidProblem,
    NotPrivate,
    Problem,
    Selection,
    StatisticalQueries,
    Workload,
    design,
    invariants,
    metrics,
)
from designer.domains.marginals_plan import design_marginals
from designer.domains.marginals_workload import MarginalWorkload
from designer.odds_ratio.mechanism import OddsRatioTest
from designer.odds_ratio.umpu import Margins
from designer.relations.invariants.adjacency import Conforming, semi_adjacency
from designer.relations.metrics.presence import Presence
from designer.relations.row_groups import RowGroups
from designer.selection.mechanism import best_selection, largest_rate
from designer.selection.scores import LargestError, Linear
from designer.selection.tabulated import Tabulated
from designer.synthetic.multiplicative import MWEM, equal_shares, mwem
from designer.synthetic.queries import LipschitzQueries
from designer.synthetic.small_databases import ColumnSums, SmallDB, small_db
from designer.tradeoff import conversions as accounting
from designer.tradeoff.functions import EpsilonDelta, Gaussian, Group
from designer.tradeoff.piecewise import PiecewiseLinear, from_distributions
from tests.oracles.counted_calls import at_most

NAN, INF = math.nan, math.inf
NO_NUMBER = [
    NAN,
    INF,
    -INF,
    -1,
    10**400,
    -(10**400),
    None,
    "x",
    True,
    [],
    [1],
    {},
    1j,
    np.float64(NAN),
    np.array([1.0, 2.0]),
    b"1",
]
NO_COUNT = [*NO_NUMBER, 1.5, 2**63, Fraction(1, 2), "1"]
NO_LIST = [
    None,
    "",
    5,
    {},
    [],
    [[]],
    [NAN],
    [None],
    [[1, 2], [3]],
    np.zeros((0, 3)),
    [1j],
    object(),
    iter([1, 2]),
    [10**400],
    ["x", []],
]
NO_CHOICE = [None, 1, "x", True, [], {}, NAN, np.array([1.0, 2.0])]
NO_OBJECT = [None, NAN, -1, "x", [], {}, 1j, np.array([1.0, 2.0]), object()]


def without(values: list[Any], *dropped: object) -> list[Any]:
    return [value for value in values if not any(type(value) is type(d) and value == d for d in dropped)]


DOMAIN = Domain.of({"sex": ["F", "M"], "age": 3})
THREE, UNIFORM = Workload.identity(3), metrics.uniform(3, 1.0)
TABLES, TOTAL, MARGINS = invariants.margins((2, 2)), invariants.total(3), Margins((6, 4), (5, 5))
PROBLEM = Problem(THREE, UNIFORM, records=10)
LINEAR, ASKED, PURE = Linear(THREE), MarginalWorkload.up_to(DOMAIN, 1), EpsilonDelta(1)
BOTH = {"sex": 1.0, "age": 1.0}
AGE = {"mean": ("age", float)}


@cache
def learner() -> MWEM:
    return mwem(PROBLEM, 2, "unbiased")


@cache
def chooser() -> Selection:
    return best_selection(LINEAR, UNIFORM)


@cache
def odds_tester() -> OddsRatioTest:
    return OddsRatioTest(MARGINS, PURE)


@cache
def noisy_tables() -> Any:
    return design_marginals(ASKED, Presence(mu=1.0))


def counted(x: tuple[int, ...]) -> list[float]:
    return [1.0, 2.0]


CASES: dict[str, tuple[Callable[[Any], object], list[Any]]] = {
    "uniform elements": (lambda v: metrics.uniform(v, 1.0), [*without(NO_COUNT, 10**400, 2**63), 0]),
    "uniform epsilon": (lambda v: metrics.uniform(3, v), NO_NUMBER),
    "per element": (metrics.per_element, NO_LIST),
    "instance": (metrics.instance, NO_LIST),
    "matrix": (metrics.from_matrix, [*NO_LIST, [[0, 1, 9], [1, 0, 1], [9, 1, 0]], [[0, 1], [2, 0]], [[1, 1], [1, 1]], np.ones((2, 3))]),
    "euclidean": (metrics.euclidean, NO_LIST),
    "chebyshev": (lambda v: metrics.chebyshev(v, 1.0), NO_LIST),
    "manhattan": (lambda v: metrics.manhattan(v, 1.0), NO_LIST),
    "line": (lambda v: metrics.line(v, 1.0, 1.0), NO_LIST),
    "graph": (lambda v: metrics.graph(v, nodes=None), [[(0, 0)], [(0, 1, NAN)], [(0, 1, -1)], [(-1, 0)], [(0.5, 1)], [(0, 1, INF)], 5, None]),
    "graph nodes": (lambda v: metrics.graph([(0, 1)], nodes=v), [0, 1, 10**9, 10**400, NAN, "x"]),
    "add or remove": (lambda v: metrics.add_remove(v, 1.0), [*NO_COUNT, 10**9]),
    "add or remove epsilons": (lambda v: metrics.add_remove(3, v), [*without(NO_LIST, 5), NAN, -1]),
    "appear": (lambda v: metrics.appear_or_change(UNIFORM, v), [*NO_LIST[:2], *NO_LIST[3:], NAN, -1]),
    "hamming domain": (lambda v: metrics.hamming(v, [1, 1]), NO_OBJECT),
    "hamming": (lambda v: metrics.hamming(DOMAIN, v), [*NO_LIST, "x", 1j, [1.0, -1.0], {"sex": 1.0}]),
    "attribute policy": (lambda v: metrics.blowfish_attribute(v, 1.0), NO_OBJECT),
    "attribute form": (lambda v: metrics.attribute_values(DOMAIN, [[1, 1], [1, 1, 1]], form=v), NO_CHOICE),
    "restriction": (lambda v: metrics.restriction(UNIFORM, v), [None, 5, [], [3], [-1], [0, 0], [0.5], ["x"]]),
    "scaled": (lambda v: metrics.scaled(v, UNIFORM), NO_NUMBER),
    "sum": (lambda v: metrics.sum_of(UNIFORM, v), [*NO_OBJECT, metrics.uniform(4, 1.0)]),
    "row groups": (lambda v: RowGroups(v, ("a",)), [*NO_OBJECT, *NO_LIST]),
    "row group names": (lambda v: RowGroups((UNIFORM,), v), [5, "a", object(), (), ("a", "b")]),
    "linear invariant": (invariants.linear, [*NO_LIST, [[0.5, 1]], [[NAN, 1]], [[2**31, 1]]]),
    "linear names": (lambda v: invariants.linear([[1, 0, 1]], v), [5, "a", object(), [], ["a", "b"]]),
    "total": (invariants.total, [*NO_COUNT, 0, 10**9]),
    "labels": (invariants.partition, [None, "", "abc", 5, [], object(), iter("ab")]),
    "margins shape": (invariants.margins, [None, NAN, 5, "22", [], [0, 2], [2, -1], [2, None], [2, 10**9], [10**9] * 3]),
    "margins groups": (lambda v: invariants.margins((2, 2), v), [5, "x", [], [[]], [0], [(0, 0)], [(2,)], [("x",)], [None], [NAN]]),
    "protect epsilon": (lambda v: TOTAL.protect(v, 1), NO_NUMBER),
    "protect adjacency": (lambda v: TOTAL.protect(1.0, v), [*without(NO_COUNT, None, 2**63, 10**400), 0]),
    "protect distance": (lambda v: TOTAL.protect(1.0, per_distance=v), NO_CHOICE[1:]),
    "semi-adjacency totals": (lambda v: semi_adjacency(TABLES, v), [*NO_LIST, [1, 1], [-1, 3, 1, 1], [1.5, 1, 1, 1], [2, 0, 1, 0]]),
    "semi-adjacency": (lambda v: semi_adjacency(v, [1]), NO_OBJECT),
    "semi-adjacency reading": (lambda v: semi_adjacency(TABLES, [2, 1, 2, 1], v), NO_CHOICE),
    "conforming": (Conforming, [None, 5, "abc", [], (), ((1,), (1, 2)), (1, 2), [NAN]]),
    "score workload": (Linear, NO_OBJECT),
    "score targets": (lambda v: Linear(THREE, v), [*NO_LIST[1:], [1.0, 2.0], [1.0, 2.0, INF]]),
    "largest error": (lambda v: LargestError(THREE, v), [*NO_LIST, np.eye(2), [[1.0, 2.0, NAN]] * 2, np.ones((1, 3))]),
    "largest error names": (lambda v: LargestError(THREE, np.eye(3), v), [5, "abc", object(), ["a", "a", "b"], ["a"]]),
    "table scores": (lambda v: Tabulated.of(lambda x: v, ["a", "b"], 2, ["x", "y"]), [*NO_LIST, NAN, [1, NAN], [1, "x"], [[1], [2]], [1, 2, 3]]),
    "table function": (lambda v: Tabulated.of(v, ["a", "b"], 2, ["x", "y"]), NO_OBJECT),
    "table elements": (lambda v: Tabulated.of(counted, v, 2, ["x", "y"]), [None, 5, "ab", object(), [], ["a", "a"]]),
    "table records": (lambda v: Tabulated.of(counted, ["a", "b"], v, ["x", "y"]), [*NO_COUNT, 0, 10**9]),
    "table candidates": (lambda v: Tabulated.of(counted, ["a", "b"], 2, v), [None, 5, "ab", object(), ["a"], ["a", "a"]]),
    "selection score": (lambda v: best_selection(v, UNIFORM), NO_OBJECT),
    "selection relation": (lambda v: best_selection(LINEAR, v), [*NO_OBJECT, metrics.uniform(4, 1.0)]),
    "selection law": (lambda v: best_selection(LINEAR, UNIFORM, v), NO_CHOICE),
    "selection constant": (lambda v: largest_rate(LINEAR, UNIFORM, v), NO_CHOICE),
    "selection rate": (lambda v: Selection(LINEAR, UNIFORM, v), [*NO_NUMBER, 1e-200, 1e200]),
    "selection beta": (lambda v: chooser().shortfall_bound(v), [*NO_NUMBER, 0, 1]),
    "mwem problem": (mwem, NO_OBJECT),
    "mwem without records": (lambda v: mwem(Problem(THREE, UNIFORM)), [0]),
    "mwem rounds": (lambda v: mwem(PROBLEM, v, "unbiased"), [*without(NO_COUNT, None), 0, 10**9]),
    "mwem constant": (lambda v: mwem(PROBLEM, 2, v), [*(w for w in NO_NUMBER), "best", 0, 1e308]),
    "mwem selection": (lambda v: mwem(PROBLEM, 2, "unbiased", v), NO_CHOICE),
    "mwem output": (lambda v: mwem(PROBLEM, 2, "unbiased", output=v), NO_CHOICE),
    "mwem choice": (lambda v: mwem(PROBLEM, 2, "unbiased", choice=v), [*NO_NUMBER, 0, Fraction(0), Fraction(1), Fraction(3, 2)]),
    "mwem shares": (lambda v: MWEM(learner().queries, 10, v), [*NO_LIST, [(0.1, 0.1)], [(Fraction(1, 2),)], [(Fraction(-1), Fraction(1))]]),
    "mwem queries": (lambda v: MWEM(v, 10, learner().shares), NO_OBJECT),
    "mwem records": (lambda v: MWEM(learner().queries, v, learner().shares), [*NO_COUNT, 0]),
    "mwem beta": (lambda v: learner().bound(v), [*NO_NUMBER, 0]),
    "equal shares": (equal_shares, [*NO_COUNT, 0, 10**9]),
    "small-db problem": (small_db, NO_OBJECT),
    "small-db size": (lambda v: small_db(PROBLEM, v, "unbiased"), [*without(NO_COUNT, None), 0, 10**9]),
    "small-db exponent": (lambda v: small_db(PROBLEM, 2, "unbiased", v), [*without(NO_COUNT, None, -1), 1000]),
    "small-db queries": (lambda v: SmallDB(v, 10, 2), NO_OBJECT),
    "statistics domain": (lambda v: StatisticalQueries.of(v, AGE, BOTH), NO_OBJECT),
    "statistics": (lambda v: StatisticalQueries.of(DOMAIN, v, BOTH), [*NO_OBJECT, {"mean": None}, {"mean": ()}, {"mean": []}, {"mean": "age"}]),
    "statistics function": (
        lambda v: StatisticalQueries.of(DOMAIN, {"mean": ("age", v)}, BOTH),
        [*NO_NUMBER, [1.0, 2.0], {0: 1}, {"0": 1, "1": NAN, "2": 1}, lambda a: NAN, lambda a: "x", lambda a: None, lambda a: 1j],
    ),
    "statistics attributes": (lambda v: StatisticalQueries.of(DOMAIN, {"mean": (v, float)}, BOTH), [*NO_OBJECT, "place", ["age", "age"]]),
    "statistics budgets": (lambda v: StatisticalQueries.of(DOMAIN, AGE, v), [*NO_OBJECT, {"age": 1.0}, metrics.uniform(4, 1.0)]),
    "statistics budget": (lambda v: StatisticalQueries.of(DOMAIN, AGE, {**BOTH, "age": v}), [*without(NO_NUMBER, INF, 10**400), UNIFORM & TOTAL.at(1)]),
    "marginals domain": (lambda v: MarginalWorkload.up_to(v, 1), NO_OBJECT),
    "marginals order": (lambda v: MarginalWorkload.up_to(DOMAIN, v), without(NO_COUNT, 10**400, 2**63)),
    "marginals subsets": (lambda v: MarginalWorkload.of(DOMAIN, v), [*NO_OBJECT, ["sex"], [["sex", "sex"]], [["place"]], [["sex"], ["sex"]], [[[1]]], [5]]),
    "marginals weight": (lambda v: MarginalWorkload.of(DOMAIN, {("sex",): v}), [*NO_NUMBER, 0]),
    "marginals workload": (lambda v: design_marginals(v, Presence(mu=1.0)), NO_OBJECT),
    "marginals protection": (lambda v: design_marginals(ASKED, v), [*NO_OBJECT, metrics.uniform(6, 1.0), metrics.hamming(Domain.of({"x": 2}), [1.0])]),
    "marginals loss": (lambda v: design_marginals(ASKED, Presence(mu=1.0), v), NO_CHOICE),
    "marginals tolerance": (lambda v: design_marginals(ASKED, Presence(mu=1.0), tolerance=v), without(NO_NUMBER, None)),
    "marginals presence": (Presence, [*NO_NUMBER, 0]),
    "marginals extreme": (lambda v: design_marginals(ASKED, Presence(mu=v)), [1e-300, 1e300, 5e-324, 1.7e308]),
    "marginals variances": (lambda v: noisy_tables().variances(v), [None, 5, 1j, object(), np.array([1.0]), ["sex", "age"], ["place"], "sex"]),
    "marginal tables": (lambda v: noisy_tables().release(Counts(v)), [*NO_OBJECT, {("sex",): [1, 2]}, {("sex",): 5, ("age",): [1, 1, 1]}]),
    "marginal columns": (lambda v: noisy_tables().release(v), [*NO_OBJECT, {"sex": ["F"]}, {"sex": 5, "age": [1]}, {"sex": "FM", "age": [1, 1]}]),
    "test margins": (lambda v: OddsRatioTest(v, PURE), NO_OBJECT),
    "test tradeoff": (lambda v: OddsRatioTest(MARGINS, v), NO_OBJECT),
    "test adjacency": (lambda v: OddsRatioTest(MARGINS, PURE, v), [*NO_COUNT, 0, 1, 4]),
    "test noise": (lambda v: OddsRatioTest(MARGINS, PURE, noise=v), NO_CHOICE),
    "test exponent": (lambda v: OddsRatioTest(MARGINS, PURE, exponent=v), [*NO_COUNT, 0, 65]),
    "test confidence": (lambda v: odds_tester().release([[3, 3], [2, 2]]).interval(v), [*NO_NUMBER, 0, 1]),
    "test too wide": (lambda v: OddsRatioTest(MARGINS, v, noise="piecewise"), [EpsilonDelta("1/100000"), Gaussian.of("1/100000"), EpsilonDelta("1/1000000").group(100)]),
    "test too wide for 64 bits": (lambda v: OddsRatioTest(MARGINS, v), [EpsilonDelta("1/" + "9" * 300), EpsilonDelta("1/" + "9" * 300, "1/100"), Gaussian("1/" + "9" * 300)]),
    "test without a promise": (lambda v: OddsRatioTest(MARGINS, v), [EpsilonDelta("9" * 300), EpsilonDelta(0, 1), Gaussian("9" * 300), PiecewiseLinear(("0", "1"), ("0", "0"))]),
    "margins": (lambda v: Margins(v, (5, 5)), [*NO_OBJECT, *NO_LIST, (6, 5), (-1, 11)]),
    "epsilon": (EpsilonDelta, NO_NUMBER),
    "delta": (lambda v: EpsilonDelta(1, v), [*NO_NUMBER, 2]),
    "mu": (Gaussian.of, NO_NUMBER),
    "group": (PURE.group, [*NO_COUNT, 0, 4097]),
    "group base": (lambda v: Group(v, 2), [*NO_OBJECT, Gaussian.of(1)]),
    "alphas": (lambda v: PiecewiseLinear(v, ("1", "0")), [*NO_LIST, *NO_OBJECT, ("0", "2"), ("1", "0"), ("0", "1/0")]),
    "weights": (lambda v: from_distributions(v, [1, 2]), [*NO_LIST, [0, 0], [1, -1], [1, NAN], [1, 2, 3]]),
    **{
        f"{f.__name__} {name}": (call, [*NO_NUMBER, *([-1, 2] if name == "delta" else [])])
        for f, name in (
            (accounting.gdp_delta, "epsilon"),
            (accounting.gdp_epsilon, "delta"),
            (accounting.gdp_mu, "delta"),
            (accounting.zcdp_epsilon, "delta"),
            (accounting.zcdp_epsilon_bun_steinke, "delta"),
            (accounting.zcdp_delta, "epsilon"),
            (accounting.zcdp_rho_below, "delta"),
        )
        for call in [lambda v, f=f: f(1, v)]
    },
    **{
        f.__name__: (f, NO_NUMBER)
        for f in (accounting.gdp_rho, accounting.pure_rho, accounting.zcdp_tradeoff_below)
    },
}  # fmt: skip


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_refused_with_a_field_and_in_no_time(name: str) -> None:
    make, values = CASES[name]
    for value in values:
        with at_most(500_000), pytest.raises((InvalidProblem, DesignFailed)) as caught:
            made = make(value)
            pytest.fail(f"{value!r:.60} was accepted: {made!r:.200}")
        assert ":" in str(caught.value) and len(str(caught.value)) < 800, value


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("rho", [5e-324, Fraction(1, 10**400), 1e-300, 1e300])
def test_conversions_of_extreme_budgets_are_bounds_all_the_same(rho: float | Fraction) -> None:
    assert 0 <= accounting.zcdp_delta(rho, "1/1000") <= 1
    tiny = rho < 1
    if tiny:
        assert 0 <= accounting.zcdp_epsilon(rho, 1e-6) < 1e-6
    assert (accounting.zcdp_delta(rho, "1/1000") < 1e-100) == tiny


def stand_ins(integers: Any, exponent: int, weight: float) -> LipschitzQueries:
    return LipschitzQueries(Workload([[1.0, 2.0, 3.0]]), UNIFORM, np.array(integers), exponent, np.array([weight]))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("integers", "exponent", "weight"),
    [
        ([[2**52, 2**52 - 5, 2**52 - 7]], 999, 1e-5),  # both sides are infinite as floats: equal, so the proof said
        ([[2**60, 2**60 + 1, 2**60 + 7]], 0, 1.0),  # one float, three integers
        ([[1, 2, 3]], -1100, 1e300),  # 0 as floats
        ([[1.5, 2.0, 3.0]], 0, 0.1),  # no integers
    ],
)
def test_queries_whose_floats_are_not_their_integers_are_refused(integers: Any, exponent: int, weight: float) -> None:
    with pytest.raises(InvalidProblem, match="2\\^52"):
        stand_ins(integers, exponent, weight)


def test_measurements_too_wide_for_64_bits_are_refused_before_any_release() -> None:
    queries = stand_ins([[1, 2, 3]], -60, 0.5)
    with pytest.raises(InvalidProblem, match="too wide for 64 bits"):
        MWEM(queries, 10, equal_shares(1))


def test_sums_that_floats_round_away_prove_nothing() -> None:
    """(1, -1, -1, 1) moves the first score by 1, but 1e16 + 1 - 1e16 is 0 in floats: any rate was certified."""
    relation = TABLES.protect(0.5, 2)
    with pytest.raises(InvalidProblem, match="coarser steps"):
        Selection(Linear(Workload([[1e16, -1, 1e16, 0], [0, 0, 0, 0]])), relation, 1.0)
    with pytest.raises(InvalidProblem, match="coarser steps"):
        best_selection(Linear(Workload([[1e16, -1, 1e16, 0], [0, 0, 0, 0]])), relation)
    exact = best_selection(Linear(Workload([[2.0**50, -1, 2.0**50, 0], [0, 0, 0, 0]])), relation)
    assert exact.rate == pytest.approx(0.5)


@pytest.mark.parametrize(
    "relation",
    [
        metrics.euclidean([0.0, -0.0, 1.0]),
        metrics.line([0.0, -0.0, 1.0], 1.0, 1.0),
        metrics.from_matrix([[0, -0.0, 1], [-0.0, 0, 1], [1, 1, 0]]),
        metrics.from_matrix([[0, -0.0, 1], [-0.0, 0, 1], [1, 1, 0]], closure=True),
        metrics.great_circle([[0.0, 0.0], [0.0, -0.0], [5.0, 1.0]], 1.0),
        metrics.appear_or_change(metrics.euclidean([0.0, -0.0, 1.0]), 1.0),
        metrics.sum_of(metrics.euclidean([0.0, -0.0, 1.0]), metrics.line([-0.0, 0.0, 1.0], 1.0, 1.0)),
        metrics.euclidean([0.0, -0.0, 1.0]) & TOTAL.at(1),
        RowGroups((metrics.euclidean([0.0, -0.0, 1.0]),), ("a",)),
    ],
    ids=lambda relation: relation.kind,
)
def test_elements_at_distance_minus_zero_may_not_be_told_apart(relation: Any) -> None:
    """u / -0 is -inf, which no maximum of ratios noticed: answers that tell 0 from -0 were certified with any noise."""
    assert not any(np.signbit(block.budgets).any() for block in relation.blocks())
    asked = Workload([[1.0, 0.0, 0.0]])
    with pytest.raises((DesignFailed, NotPrivate)):
        design(Problem(asked, relation), "laplace")
    with pytest.raises(NotPrivate):
        Selection(Linear(Workload([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])), relation, 0.01)


def test_a_table_of_scores_does_not_read_changes_of_several_records_as_changes_of_one() -> None:
    """Two changes of three elements: as many points as a metric has, but each moves two records, for one budget."""
    relation = invariants.linear([[0, 1, 2]]).protect(0.5, 4)
    assert len(relation.changes) + 1 == relation.size
    table = Tabulated.of(lambda x: [float(x[1]), 0.0], ["a", "b", "c"], records=2, candidates=["u", "v"])
    with pytest.raises(InvalidProblem, match="no metric"):
        best_selection(table, relation)


@pytest.mark.parametrize("integers", [[[0, 1, 2]], [[7, 7, 7]]])  # many sums, and one sum in many steps
@pytest.mark.parametrize("size", [2**53 - 1, 10**6])
def test_small_databases_are_not_listed_without_end(size: int, integers: list[list[int]]) -> None:
    with at_most(3_000_000), pytest.raises(DesignFailed, match="too many"):
        ColumnSums.of(np.array(integers), size)


def test_a_budget_per_distance_that_protects_nothing_is_refused() -> None:
    fixed = invariants.linear([[1, 0], [0, 1]]).protect(1.0, per_distance="l1")
    assert fixed.is_vacuous() and not TOTAL.protect(1.0, per_distance="l1").is_vacuous()
    with pytest.raises(InvalidProblem, match="protects no change"):
        Problem(Workload.identity(2), fixed)

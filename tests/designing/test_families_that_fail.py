"""One family that fails leaves the others alone, and elements at distance 0 are one element for every family."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from designer import DesignFailed, NotPrivate, Problem, Workload, compare, design, metrics
from designer.designing import FAMILIES, listed
from designer.designing.implicit_rows import classes
from designer.designing.least_noise import limit
from designer.mechanism.additive import AdditiveMechanism
from designer.problem.relation import Block
from designer.relations.metrics.metric import Uniform

TWINS = np.array([[0, 0, 1, 2], [0, 0, 1, 2], [1, 1, 0, 1], [2, 2, 1, 0.0]])
BLIND = np.array([[1.0, 1, 0, 4], [2, 2, 5, 1], [0, 0, 1, 0], [1, 1, 1, 0], [3, 3, 1, 2]])
APPLICABLE = [f.name for f in FAMILIES if not f.invariants_only]


def twins(matrix: np.ndarray, notion: str = "pure") -> Problem:
    return Problem(Workload(matrix), metrics.from_matrix(TWINS), notion=notion, records=50.0)


def merged(matrix: np.ndarray, notion: str = "pure") -> Problem:
    """The same problem when the two elements at distance 0 are written as one."""
    return Problem(Workload(matrix[:, 1:]), metrics.from_matrix(TWINS[1:, 1:]), notion=notion, records=50.0)


@pytest.mark.parametrize("family", APPLICABLE)
@pytest.mark.parametrize("queries", [1, 2, 3])
def test_a_query_that_does_not_separate_elements_at_distance_0_is_served_as_if_they_were_one(family: str, queries: int) -> None:
    notion = next(f.notion for f in FAMILIES if f.name == family)
    quick = {"iterations": 5, "keep": 1} if family == "strategy_laplace" else {}
    made, alone = (design(make(BLIND[:queries], notion), family, **quick) for make in (twins, merged))
    assert made.privacy.holds and made.loss == pytest.approx(alone.loss, rel=1e-5)
    assert (made.mechanism.effective[:, 0] == made.mechanism.effective[:, 1]).all()


@pytest.mark.parametrize("family", APPLICABLE)
def test_a_query_that_separates_elements_at_distance_0_is_refused_with_the_pair(family: str) -> None:
    notion = next(f.notion for f in FAMILIES if f.name == family)
    with pytest.raises(DesignFailed, match="elements 0 and 1 have budget 0"):
        design(twins(np.eye(4), notion), family)


def test_classes_join_zero_chains_and_leave_out_what_counts_as_absent() -> None:
    """Elements 0 - 2 - 4 in a chain of zeros, and 3 at distance 0 from absence (point 5)."""

    class Zeros(Uniform):
        def blocks(self) -> Iterator[Block]:
            left, right = np.array([0, 2, 3, 0]), np.array([2, 4, 5, 1])
            yield Block(left, right, np.array([0.0, 0.0, 0.0, 1.0]))

        def points(self, columns: np.ndarray) -> np.ndarray:
            return np.concatenate([columns, np.zeros((1, columns.shape[1]))])

        def require_symmetric(self, field: str) -> None:
            """Its blocks have each pair once, so neither direction has a budget of its own."""

    found = classes(Problem(Workload([[7, 1, 7, 0, 7.0]]), Zeros(5, 1.0)))
    assert found.first.tolist() == [0, 1] and found.workload.tolist() == [[7.0, 1.0]]
    assert found.spread(np.array([[3.0, 4.0]])).tolist() == [[3.0, 4.0, 3.0, 0.0, 3.0]]
    changes = found.changes(10)
    assert changes.budget.tolist() == [1.0] and changes.along([[3.0, 4.0]]).tolist() == [[-1.0]]


@pytest.mark.nightly
@pytest.mark.parametrize("notion", ["pure", "zcdp"])
def test_auto_compare_and_the_limit_serve_elements_at_distance_0(notion: str) -> None:
    problem, alone = twins(BLIND[:2], notion), merged(BLIND[:2], notion)
    assert design(problem).loss == pytest.approx(design(alone).loss, rel=1e-5)
    rows = compare(problem).rows
    left_out = {row["family"]: row["note"] for row in rows if row["loss"] is None or row["note"]}
    if notion == "zcdp":  # pure noise is left out by its own limit, as where the elements are one
        assert left_out.keys() == {row["family"] for row in compare(alone).rows if row["loss"] is None}
        assert all(note.startswith("not started: no pure noise loses less than ") for note in left_out.values())
    else:
        assert not left_out
    assert limit(problem).value == pytest.approx(limit(alone).value, rel=1e-5)


FAILURES = [
    ZeroDivisionError("division by zero"),
    np.linalg.LinAlgError("Singular matrix"),
    ImportError("no solver"),
    RuntimeError("a backend stopped"),
    MemoryError("too large"),
    ValueError("budget has a value 0.0"),
    NotPrivate("the pair exceeds its budget"),
]


def breaking(monkeypatch: pytest.MonkeyPatch, failure: BaseException, family: str = "k_norm") -> None:
    """The builder of one family raises."""

    def fails(problem: Problem) -> AdditiveMechanism:
        raise failure

    broken = tuple(replace(known, build=fails) if known.name == family else known for known in listed.FAMILIES)
    monkeypatch.setattr(listed, "FAMILIES", broken)


@pytest.mark.parametrize("failure", FAILURES, ids=lambda f: type(f).__name__)
def test_the_failure_of_one_family_is_reported_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    breaking(monkeypatch, failure, "laplace")
    problem = merged(BLIND[:2])
    best = design(problem, seconds=1e-9)
    assert str(failure) in best.mechanism.provenance["tried"]["laplace"] and best.mechanism.family == "by_moves"
    table = compare(problem, ["laplace", "k_norm"])
    rows = {row["family"]: row for row in table.rows}
    assert str(failure) in rows["laplace"]["note"] and type(failure).__name__ in rows["laplace"]["note"]
    assert rows["laplace"]["loss"] is None and "laplace" not in table.designs and table.best.mechanism.family == "k_norm"
    numeric = isinstance(failure, (ArithmeticError, ValueError)) and not isinstance(failure, NotPrivate)
    with pytest.raises(DesignFailed if numeric else type(failure), match=str(failure)):
        design(problem, "laplace")


def test_an_interrupt_is_no_failure_of_a_family(monkeypatch: pytest.MonkeyPatch) -> None:
    breaking(monkeypatch, KeyboardInterrupt())
    for call in (design, compare):
        with pytest.raises(KeyboardInterrupt):
            call(merged(BLIND[:2]))


def test_a_design_whose_error_cannot_be_computed_is_reported_too(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = AdditiveMechanism.query_variances

    def query_variances(self: AdditiveMechanism) -> object:
        if self.family == "k_norm":
            raise FloatingPointError("no moments")
        return whole(self)

    monkeypatch.setattr(AdditiveMechanism, "query_variances", query_variances)
    problem = merged(BLIND[:2])
    assert "no moments" in design(problem).mechanism.provenance["tried"]["k_norm"]
    table = compare(problem, ["k_norm", "laplace"])
    assert "no moments" in table.rows[0]["note"] and list(table.designs) == ["laplace"]


def test_a_limit_or_baseline_that_fails_leaves_its_columns_empty_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(problem: Problem) -> None:
        raise np.linalg.LinAlgError("Singular matrix")

    breaking(monkeypatch, ArithmeticError("no baseline"), "uniform_budget")
    monkeypatch.setattr(sys.modules["designer.designing.comparison"], "limit", fails)
    row = compare(merged(BLIND[:2]), ["laplace"]).rows[0]
    assert row["efficiency"] is None and row["improvement"] is None and row["loss"] > 0
    assert "Singular matrix" in row["note"] and "no baseline" in row["note"]


def test_when_all_fail_the_refusal_lists_every_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = tuple(replace(known, build=lambda problem: 1 / 0) for known in listed.FAMILIES)
    monkeypatch.setattr(listed, "FAMILIES", stopped)
    with pytest.raises(DesignFailed, match=r"auto: no family(.|\n)*laplace(.|\n)*ZeroDivisionError"):
        design(merged(BLIND[:2]))


@pytest.mark.parametrize("queries", [1, 2])
def test_without_the_convex_solver_laplace_joint_names_it_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch, queries: int
) -> None:
    for name in ("clarabel", "cvxpy"):
        monkeypatch.setitem(sys.modules, name, None)
    problem = merged(BLIND[:queries])
    with pytest.raises(DesignFailed, match=r"laplace_joint: .*install clarabel"):
        design(problem, "laplace_joint")
    assert "clarabel" in design(problem).mechanism.provenance["tried"]["laplace_joint"]
    told = {row["family"]: row["note"] for row in compare(problem).rows if row["note"]}
    assert [name for name, why in told.items() if "cannot be below" not in why] == ["laplace_joint", "k_norm_joint"]


@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_budgets_of_nine_orders_are_served_by_the_laplace_family(loss: str) -> None:
    """The budgets 1 and 2^31 left its Newton matrix singular.
    Three queries contain element 0, each with a third of its budget."""
    problem = Problem(Workload.all_ranges(3), metrics.add_remove(3, [1, 2.0**31, np.inf]), loss=loss)
    made = design(problem, "laplace").mechanism
    assert made.scales[:3] == pytest.approx(3.0) and made.optimality is not None
    assert made.optimality.value == pytest.approx(made.optimality.lower_bound, rel=1e-8)


HUGE = [2e200, 1e200, -1e200, -1e200]
SPANS = {
    "a query of 1e200": ([[1.0, 2.0], [-1e200, -2e200]], metrics.per_element([1e-5, 1e9]), ["ellipsoid", "gaussian"]),
    "a budget of 1e300": ([[2.0, 0.0], [-2.0, 1.0], [0.0, 1e-9]], metrics.add_remove(2, [1e300, 2.0]), ["k_norm"]),
    "pivots": (
        [[-2.0, 1, 0, 2], [1, -2, 2, -1], HUGE],
        metrics.per_element([1e5, np.inf, 1e5, 1]),
        ["k_norm", "box", "l2_ball"],
    ),
    "a square": ([[0.0, 2e9]], metrics.add_remove(2, [1e-300, 1e-9]), ["laplace_joint"]),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # overflow, which is what is refused
@pytest.mark.parametrize("name", SPANS)
def test_numbers_of_too_many_orders_are_refused_in_words(name: str) -> None:
    matrix, relation, families = SPANS[name]
    for family in families:
        notion = next(f.notion for f in FAMILIES if f.name == family)
        with pytest.raises(DesignFailed, match=rf"{family}: stopped by(.|\n)*in other units"):
            design(Problem(Workload(matrix), relation, notion=notion, records=50.0), family)

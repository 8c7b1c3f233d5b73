"""The limit: for whom it is true, where its words for unbiased mechanisms are withheld, and what a bound above its value
means."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from designer import Problem, Workload, compare, design, invariants, metrics
from designer.base.errors import UntrueBound
from designer.certificate.guarantee import bounded
from designer.designing import least_noise
from designer.designing import repair as freezing
from designer.designing.least_noise import limit, part_of_loss, records_for_each_change, records_for_every_change
from designer.designing.printouts import design_summary
from designer.problem.relation import Relation
from tests.oracles.public_records import least_loss

INF = math.inf
PARTS = metrics.from_matrix([[0, 1, INF, INF], [1, 0, INF, INF], [INF, INF, 0, 1], [INF, INF, 1, 0]])
ONE_OF_EACH = Workload([[1.0, 0, 0, 0], [0, 0, 1.0, 0]])


def randomised_response(parts: tuple[int, ...], epsilon: float) -> tuple[float, float, float]:
    """Each record says its part, and its place in it with a lie of odds e^-epsilon: the worst bias and total variance of
    unbiased estimates of the two counts over all databases with these parts,
    and the largest log-ratio over protected changes, all by enumeration."""
    honest = math.exp(epsilon) / (1 + math.exp(epsilon))
    bias = variance = ratio = 0.0
    laws: dict[tuple[int, ...], dict[tuple[int, ...], float]] = {}
    for places in product((0, 1), repeat=len(parts)):
        law = {
            said: math.prod(honest if s == p else 1 - honest for s, p in zip(said, places, strict=True))
            for said in product((0, 1), repeat=len(parts))
        }
        laws[places] = law

        def estimate(said: tuple[int, ...], part: int) -> float:
            return sum((float(s == 0) - (1 - honest)) / (2 * honest - 1) for s, p in zip(said, parts, strict=True) if p == part)

        truth = [sum(1 for place, p in zip(places, parts, strict=True) if p == part and place == 0) for part in (0, 1)]
        for part in (0, 1):
            bias = max(bias, abs(sum(w * estimate(said, part) for said, w in law.items()) - truth[part]))
        variance = max(variance, sum(w * (estimate(said, k) - truth[k]) ** 2 for said, w in law.items() for k in (0, 1)))
    for places, law in laws.items():
        for k in range(len(parts)):
            other = laws[(*places[:k], 1 - places[k], *places[k + 1 :])]
            ratio = max(ratio, max(abs(math.log(law[said] / other[said])) for said in law))
    return bias, variance, ratio


def test_few_public_records_have_less_noise_than_the_limit_of_unbiased_mechanisms_so_it_is_withheld() -> None:
    """Four elements in two parts, one record: the empty part needs no noise."""
    found = limit(Problem(ONE_OF_EACH, PARTS))
    assert found is not None and found.records == 2 and found.every_mechanism
    assert found.unbiased == pytest.approx(2 / (4 * math.sinh(0.5) ** 2), rel=1e-5)
    for part in (0, 1):
        bias, variance, ratio = randomised_response((part,), 1.0)
        assert bias < 1e-12 and ratio <= 1 + 1e-12
        assert variance == pytest.approx(found.unbiased / 2, rel=1e-5)  # half of what no unbiased mechanism was said to beat
    few = Problem(ONE_OF_EACH, PARTS, records=1)
    least, made = limit(few), design(few, "laplace")
    assert least is not None and least.unbiased is None and not least.every_mechanism and least.value == found.value
    assert made.efficiency == compare(few, ["laplace"]).rows[0]["efficiency"] == pytest.approx(least.value / made.loss)
    told = design_summary("t", made)
    assert (
        "unbiased" not in told
        and "No noise added to the answers with this guarantee loses less, at any number of records; biased designs may."
        in told
    )
    assert "At the public number of records, mechanisms that are not additive may lose less." in told


def test_from_the_stated_number_of_records_on_the_limit_of_unbiased_mechanisms_is_claimed_and_attained() -> None:
    bias, variance, ratio = randomised_response((0, 1), 1.0)
    found = limit(Problem(ONE_OF_EACH, PARTS, records=2))
    assert found is not None and bias < 1e-12 and ratio <= 1 + 1e-12
    assert variance == pytest.approx(found.unbiased, rel=1e-5)
    made = design(Problem(ONE_OF_EACH, PARTS, records=2), "laplace")
    assert made.efficiency == pytest.approx(found.value / made.loss)
    told = "at databases from which every protected change is possible; from 2 records on there are some"
    assert told in design_summary("t", made) and told in design_summary("t", design(Problem(ONE_OF_EACH, PARTS), "laplace"))


def test_the_theorem_and_its_scope_are_printed_where_efficiency_is() -> None:
    problem = Problem(Workload([[1.0, 0.3, 0], [0.7, 2, 5]]), metrics.uniform(3, 1.0))
    table, made = compare(problem, ["laplace"]), design(problem, "laplace")
    found = made.limit
    assert found is not None and table.limit == found and found.theorem == "T6"
    for text in (table.to_markdown(), design_summary("t", made)):
        assert "T6, linear programs bound the noise on every coset (docs/theory/least_noise.md, section 6)" in text
        assert all(sentence in text for sentence in found.scope) and len(found.scope) == 3
    told = re.search(r"loses less than ([0-9.e+]+) at", found.scope[2])
    assert told is not None and found.unbiased is not None and 0.999 * found.unbiased <= float(told[1]) <= found.unbiased
    assert limit(replace(problem, notion="zcdp", loss="absolute")) is None
    assert limit(replace(problem, notion="zcdp")).theorem == "Hammersley-Chapman-Robbins"  # type: ignore[union-attr]


def test_a_limit_above_a_loss_is_an_error_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    made = design(Problem(Workload([[1.0]]), metrics.add_remove(1, 1.0)), "laplace")
    assert made.limit is not None and made.loss == pytest.approx(1 / (2 * np.sinh(0.5) ** 2))
    above = replace(made.limit, value=made.loss * (1 + 1e-6))
    with pytest.raises(UntrueBound, match=r"bound .* exceeds the value"):
        part_of_loss(above, made.problem, made.mechanism, made.loss)
    near = replace(made.limit, value=made.loss * (1 + 1e-12))
    assert part_of_loss(near, made.problem, made.mechanism, made.loss) == 1.0


def least_by_brute_force(relation: Relation, most: int) -> int:
    """The least number of records of a histogram from which every change in the blocks, or its opposite, is possible."""
    points = relation.points(np.eye(relation.size))
    changes = []
    for block in relation.blocks():
        for flat in range(block.budgets.size):
            if np.isfinite(block.budgets.ravel()[flat]):
                left, right = block.pair(flat)
                changes.append(points[left] - points[right])
    for records in range(most + 1):
        for bars in product(range(records + 1), repeat=relation.size):
            x = np.array(bars)
            if x.sum() == records and all((x + v >= 0).all() or (x - v >= 0).all() for v in changes):
                return records
    raise AssertionError("more records are needed")


RELATIONS: dict[str, tuple[Relation, int]] = {
    "uniform": (metrics.uniform(4, 1.0), 3),
    "parts": (PARTS, 2),
    "alone": (metrics.from_matrix([[0, 1, INF], [1, 0, INF], [INF, INF, 0]]), 1),
    "add_remove": (metrics.add_remove(4, 1.0), 0),
    "appear_or_change": (metrics.appear_or_change(metrics.uniform(3, 1.0), 0.8), 2),
    "total": (invariants.total(3).protect(1.0, 1), 2),
    "margins": (invariants.margins((2, 2)).protect(1.0, 2), 2),
    "two moved": (invariants.total(3).protect(1.0, 2), 4),
}


@pytest.mark.parametrize("name", RELATIONS)
def test_the_number_of_records_suffices_for_every_change(name: str) -> None:
    relation, stated = RELATIONS[name]
    least = least_by_brute_force(relation, stated)
    assert records_for_every_change(relation) == stated >= least
    assert stated == least or name in ("total", "two moved")  # sufficient, not always least, where changes move several cells


def test_noise_for_two_records_is_below_the_limit_of_six_which_is_withheld() -> None:
    """2 x 2 margins, changes of up to six records: two records can only swap, which whole-number noise of 7.37 hides."""
    published = invariants.margins((2, 2))
    asked = Workload.identity(4)
    swaps = design(Problem(asked, published.protect(1.0, 2)), "lattice_laplace")
    assert swaps.loss == pytest.approx(4 / (2 * math.sinh(0.5) ** 2))
    tables = [np.array(t).reshape(2, 2) for t in product(range(3), repeat=4) if sum(t) == 2]
    moved = {
        tuple((one - other).ravel().tolist())
        for one, other in product(tables, repeat=2)
        if all((one.sum(axis=axis) == other.sum(axis=axis)).all() for axis in (0, 1))
    }
    assert moved == {(0, 0, 0, 0), (1, -1, -1, 1), (-1, 1, 1, -1)}
    wide = published.protect(1.0, 6)
    for records, told in ((None, True), (2, False), (5, False), (6, True)):
        problem = Problem(asked, wide, records=records)
        found, made = limit(problem), design(problem, "lattice_laplace")
        assert (found is not None) == told == (made.efficiency is not None)
        assert (
            ("loses less" in design_summary("t", made)) == told == ("loses less" in compare(problem, ["laplace"]).to_markdown())
        )
        if found is not None:
            assert found.value > 9 * swaps.loss and found.scope[0].endswith(
                "at any number of records from 6 on; biased designs may."
            )


@pytest.mark.parametrize("records", [1, 2, 3, 6])
def test_of_one_count_among_public_records_the_limit_is_the_least_worst_loss_of_unbiased_mechanisms(records: int) -> None:
    """Beside linear programs that know nothing of the theorem, in a unit of 5 with an offset and a weight."""
    least, proven = least_loss(records, 0.7, unbiased=True)
    relations: list[Relation] = [
        metrics.uniform(3, 0.7),
        metrics.from_matrix([[0, 9, 0.7], [9, 0, 9], [0.7, 9, 0]]),
        invariants.total(3).protect(0.7, 1),
    ]
    for relation in relations:
        problem = Problem(Workload([[2.0, 2.0, 7.0]]), relation, records=records, weights=[3.0])
        made = design(problem, "laplace")
        found = made.limit
        assert found is not None and found.unbiased is not None and found.cut == records and not found.every_mechanism
        assert 75 * proven * (1 - 1e-6) <= found.unbiased <= 75 * least and least <= proven * (1 + 1e-6)
        assert found.value == pytest.approx(75 / (2 * math.sinh(0.35) ** 2)) and found.unbiased < found.value
        told = f"database of {records} record{'s' * (records > 1)}; geometric noise that is cut to the counts from 0"
        assert told in design_summary("t", made) and told in compare(problem, ["laplace"]).to_markdown()


NOT_ONE_COUNT: dict[str, dict[str, Any]] = {
    "no number of records": {},
    "half a record": {"records": 2.5},
    "absolute loss": {"records": 2, "loss": "absolute"},
    "gaussian": {"records": 2, "notion": "zcdp"},
    "two counts": {"records": 2, "workload": Workload([[1.0, 0, 0], [0, 1.0, 0]])},
    "three values": {"records": 2, "workload": Workload([[0.0, 1, 2]])},
    "a value beside the part": {
        "records": 2,
        "workload": Workload([[0.0, 1, 5]]),
        "relation": metrics.from_matrix([[0, 1, INF], [1, 0, INF], [INF, INF, 0]]),
    },
    "records appear": {"records": 2, "relation": metrics.add_remove(3, 1.0)},
    "two records": {"records": 4, "relation": invariants.total(3).protect(1.0, 2)},
    "swaps": {"records": 4, "workload": Workload([[1.0, 0, 0, 0]]), "relation": invariants.margins((2, 2)).protect(1.0, 2)},
}


@pytest.mark.parametrize("name", NOT_ONE_COUNT)
def test_elsewhere_no_least_loss_at_the_public_number_of_records_is_claimed(name: str) -> None:
    asked = {"workload": Workload([[1.0, 0, 0]]), "relation": metrics.uniform(3, 1.0), **NOT_ONE_COUNT[name]}
    found = limit(Problem(**asked))
    assert found is not None and found.cut is None and not any("cut to" in sentence for sentence in found.scope)


@pytest.mark.parametrize("name", RELATIONS)
def test_each_change_is_possible_from_the_stated_number_of_records_on_and_not_before(name: str) -> None:
    """By brute force: every table of n records, every change."""
    relation = RELATIONS[name][0]
    points = relation.points(np.eye(relation.size))
    changes = [
        points[left] - points[right]
        for block in relation.blocks()
        for left, right in (block.pair(flat) for flat in np.flatnonzero(np.isfinite(block.budgets)))
    ]
    stated = records_for_each_change(relation)

    def possible(records: int) -> bool:
        tables = [np.array(t) for t in product(range(records + 1), repeat=relation.size) if sum(t) == records]
        return all(any((x + v >= 0).all() or (x - v >= 0).all() for x in tables) for v in changes)

    assert possible(stated) and (stated <= 1 or not possible(stated - 1))


def test_an_ordered_metric_needs_no_more_than_all_but_one() -> None:
    line = metrics.euclidean([0.0, 1.0, 2.0, 4.0])
    assert least_by_brute_force(line, 4) <= records_for_every_change(line) == 3


def test_a_bound_above_its_value_is_an_error_and_not_clipped(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ArithmeticError, match=r"bound .* exceeds"):
        bounded("loss", 1.0, 1.0 + 1e-6, "method")
    assert bounded("loss", 1.0, 1.0 + 1e-6, "method", rounding=2e-6).lower_bound == 1.0
    assert bounded("loss", 1.0, 0.5, "method").lower_bound == 0.5
    with pytest.raises(ArithmeticError):
        bounded("loss", 1.0, math.nan, "method")
    honest = freezing.Bound

    def wrong(objective: str, lower: float, method: str, **rest: Any) -> Any:
        return honest(objective, lower * (1 + 1e-6), method, **rest)

    for family, module in (("laplace", "laplace"), ("gaussian", "ellipsoid"), ("diagonal_gaussian", "ellipsoid")):
        monkeypatch.setattr(f"designer.designing.{module}.Bound", wrong)
        notion: Any = "pure" if family == "laplace" else "zcdp"
        with pytest.raises(ArithmeticError, match=r"bound .* exceeds"):
            design(Problem(Workload.identity(3), metrics.uniform(3, 1.0), notion=notion), family, tolerance=1e-8)


def test_the_rounding_allowance_is_far_below_any_gap() -> None:
    """The least gaps that are asked for are 1e-9."""
    for relation in (metrics.uniform(3, 1.0), metrics.euclidean([0.0, 1.0, 2.5]), metrics.add_remove(3, 0.1)):
        for share, most in ((np.pi / 10, 1e-10), (0.3, 5e-10)):  # without a unit, and in tenths
            made = design(Problem(Workload([[1.0, share, 0], [0.7 + share, 2, 5]]), relation), "laplace")
            assert 0 <= freezing.rounding_of(made.problem, made.mechanism, on_grid=True) < most * made.loss


def test_no_limit_lists_the_short_vectors_of_large_lattices() -> None:
    """To reduce a basis of 1,728 vectors takes hours, and no unit of work ends it."""
    relation = invariants.margins((13, 13, 13), [(0, 1), (1, 2), (0, 2)]).protect(0.5, per_distance="l2")
    assert freezing.changes_of_few_records(relation) is None
    assert limit(Problem(Workload(np.eye(1, 2197)), relation, "zcdp")) is None


@pytest.mark.parametrize(
    "problem",
    [
        Problem(Workload.identity(12), metrics.uniform(12, 1.0)),
        Problem(Workload.identity(16), invariants.margins((4, 4)).protect(1.0, 2)),
    ],
    ids=["counts", "margins"],
)
def test_the_limit_of_a_symmetric_problem_takes_no_search_over_all_pairs(
    problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each direction is used with the pair that it belongs to: the value is that of the search, which is not begun."""
    found = limit(problem, rows=0)

    def begun(*_: object) -> None:
        raise AssertionError("a search over all pairs")

    monkeypatch.setattr(least_noise, "_farthest", begun)
    again = limit(replace(problem), rows=0, tolerance=2e-6)
    assert found is not None and again is not None and again.value == pytest.approx(found.value, rel=1e-9)
    with pytest.raises(AssertionError, match="search"):
        limit(Problem(Workload([[1.0, 1, 0, 0], [0, 1, 1, 0.5]]), metrics.uniform(4, 1.0)), rows=0)

"""The first screen and what was verified: what is not protected, not known or failed is said there. What the first screen says
of accuracy: no median over answers of different units, one law, one rounding. What budgets mean: every change that is told
has at least the budget that the relation gives it.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from designer import About, Domain, Problem, Workload, design, invariants, metrics, verify_release
from designer.accounts import expense_of
from designer.accounts.chain import DatasetTerms
from designer.accounts.composition.privacy_in_words import privacy_words
from designer.accounts.composition.terms import largest_budget, protected_by
from designer.accounts.totals import Total
from designer.audit.verdict import DeepVerdict, Finding, TestPower
from designer.certificate.frozen import FrozenMechanism
from designer.domains.marginals_plan import design_marginals
from designer.domains.marginals_workload import MarginalWorkload
from designer.files.releases import release_document
from designer.mechanism.interface import reach_of_answers
from designer.publish import sections
from designer.publish.content import Evidence, PageSection, SeenRelease, Sheet
from designer.publish.contributor import NOT_PROTECTED, NOT_PROVEN
from designer.publish.meanings import LARGEST, NO_LIMIT, Risk, meanings_of, off_by, percent
from designer.publish.of_linear_queries import LinearQueries
from designer.publish.page import contributor_of
from designer.publish.pictures.kinds import drawings_of
from designer.publish.pictures.numerals import no_less
from designer.publish.sections import deep_section, open_points
from designer.publish.summary import _restated, headlines
from designer.relations.metrics.metric import Metric
from designer.relations.metrics.presence import Presence
from designer.tables import Count, Groups, TablePlan
from tests.oracles.metric_kinds import SPECIMENS
from tests.oracles.spec_specimens import specimens


def first_screen(made: FrozenMechanism) -> dict[str, tuple[str, bool]]:
    """Answers and alarms by question."""
    contributor = contributor_of(made)
    lines = headlines(Evidence(made=made), contributor, contributor.published(made), contributor.accuracy(made))
    return {line.question: (line.answer, line.alarm) for line in lines}


def test_what_is_told_exactly_and_who_is_not_protected_stands_on_the_first_screen() -> None:
    free = metrics.add_remove(3, [0.5, 1.0, math.inf])
    made = design(Problem(Workload([[1, 1, 0], [0, 0, 1]], ["young", "all of the old"]), free), "laplace").mechanism
    answer, alarm = first_screen(made)["What is NOT protected?"]
    assert alarm and "1 answer published exactly, without any noise (" in answer and "all of the old" in answer
    bare = design(Problem(Workload([[1, 1, 0]]), free, allow_vacuous=True), "laplace").mechanism
    told, loud = first_screen(bare)["What is NOT protected?"]
    assert loud and "obody is protected where" in told and "exactly" not in told


def test_what_the_release_adds_stands_on_the_first_screen() -> None:
    """A release from records says more than its spec: that whoever is behind several rows loses more."""
    domain = Domain.of({"sex": ["F", "M"]})
    made = design(Problem(Workload.marginals(domain, [["sex"]]), metrics.uniform(2, 1.0)), "laplace").mechanism
    released = made.release({"sex": ["F", "M", "M"]})
    document = release_document(made, released)
    evidence = Evidence(made=made, release=SeenRelease("r.json", released, document, verify_release(made, document)))
    contributor = contributor_of(made)
    lines = headlines(evidence, contributor, contributor.published(made), contributor.accuracy(made))
    (said,) = (line for line in lines if line.question == "What is NOT protected?")
    added = set(released.guarantee.unprotected) - set(made.guarantee.unprotected)
    assert said.answer == "The number of records is public" and added
    assert all(line.split(". ")[0].split(": ")[0].rstrip(".") in said.details for line in added)


def test_without_a_ledger_nobody_knows_what_else_was_released() -> None:
    made = design(Problem(Workload([[1, 1, 0]]), metrics.uniform(3, 1.0)), "laplace").mechanism
    told = open_points(Evidence(made=made), contributor_of(made))
    assert any("no ledger was looked at" in line for line in told)
    assert first_screen(made)["What was spent before?"] == (
        "Not known: no ledger was looked at",
        True,
    )


def test_a_deep_verification_that_fails_says_so_in_its_line() -> None:
    made = design(Problem(Workload([[1, 1, 0]]), metrics.uniform(3, 1.0)), "laplace").mechanism
    findings = (Finding("tested", "variance", "far too large", False), Finding("tested", "median", "as it should be"))
    (section,) = deep_section(Evidence(made=made, deep=DeepVerdict(made.format, made.fingerprint, TestPower(), findings, 1.0)))
    (sheet,) = (piece for piece in section.pieces if isinstance(piece, Sheet))
    assert [row[2] for row in sheet.rows] == ["NO, it fails", "yes"]


def test_the_word_for_a_person_stands_alone_only_where_the_rows_of_each_are_bounded() -> None:
    """A row is said to be a patient, and a patient may have several, unless the release counted few rows of each."""
    asked = Problem(Workload.identity(Domain.of({"sex": ["F", "M"]})), metrics.add_remove(2, 1.0))
    made = design(asked, "laplace").mechanism.described(About(record="one patient"))
    frame = pytest.importorskip("pandas").DataFrame({"sex": ["F", "M"], "who": ["a", "b"]})
    pytest.importorskip("ibis")

    def whom(**entity: Any) -> str:
        released = made.release(frame if entity else frame[["sex"]], **entity)
        document = release_document(made, released)
        seen = SeenRelease("r.json", released, document, verify_release(made, document))
        evidence, contributor = Evidence(made=made, release=seen), contributor_of(made)
        lines = headlines(evidence, contributor, contributor.published(made), contributor.accuracy(made))
        (line,) = (line for line in lines if line.question == "About whom?")
        return line.answer

    assert whom() == 'One row, said to be "one patient"; nothing bounds how many rows one has'
    assert first_screen(made)["About whom?"][0] == whom()
    assert whom(entity="who", rows_per_entity=2) == (
        'Entities: all rows with one value of who, of which at most 2 rows of each counted, a row said to be "one patient"'
    )
    assert about_lines(made) == ["One row is said to be: one patient"]


def success(weights: Any, shift: int) -> float:
    """How often the best attacker tells two cases apart, equally likely, whose noise is so many steps apart."""
    law = weights(np.arange(-400, 401))
    return float(0.5 + 0.25 * np.abs(law / law.sum() - weights(np.arange(-400, 401) - shift) / law.sum()).sum())


@pytest.mark.parametrize("rows", [1, 2, 8])
def test_every_number_of_a_page_is_of_the_entity_that_the_release_protects(rows: int) -> None:
    """An entity with all its rows in one cell, or away: what the best attacker gains is measured, and beside it what the page
    of single records says, which from two rows on is less than that."""
    pytest.importorskip("ibis")
    domain = Domain.of({"sex": ["F", "M"]})
    linear = design(Problem(Workload.identity(domain), metrics.add_remove(2, 0.5)), "laplace").mechanism
    plan = TablePlan((Count("n", Groups(), variance=25),))
    tables = design_marginals(MarginalWorkload.of(domain, {("sex",): 1.0}), Presence(mu=0.25))
    measured = {
        linear: success(lambda z: np.exp(-np.abs(z) / 2), rows),
        plan: success(lambda z: np.exp(-(z**2) / 50), rows),
        **({tables: 0.5} if rows == 8 else {}),
    }
    for made, gained in measured.items():
        released = made.release({"sex": ["F", "M"], "who": ["a", "b"]}, entity="who", rows_per_entity=rows)
        document = release_document(made, released)
        seen = SeenRelease("r.json", released, document, verify_release(made, document))
        evidence, alone, contributor = Evidence(made=made, release=seen), Evidence(made=made), contributor_of(made)
        told = contributor.published(made)
        lines = {line.question: line for line in headlines(evidence, contributor, told, told)}
        words, _, change = privacy_words(made, rows_per_entity=rows).partition(", at most, where ")
        promised, gain = lines["What is promised?"], lines["What can an attacker gain?"]
        assert promised.answer.casefold() == words.casefold() and "entity" in change and change in promised.details
        risk = Risk.of(expense_of(made, rows_per_entity=rows).cost)
        assert gained <= risk.guess and ("entity" in gain.details or "any one who" in gain.details)
        assert (percent(risk.guess) in gain.details) == (risk.exponent <= LARGEST)
        assert rows == 1 or gained == 0.5 or Risk.of(expense_of(made).cost).guess < gained
        said = [
            *(sections.full_statement(evidence.guarantee), sections.answers(seen)),
            *(sections.unprotected(evidence, contributor), sections.budgets(evidence, contributor)),
        ]
        assert released.guarantee.relation in repr(said) and made.guarantee.relation not in repr(said)
        assert "of which at most" in repr(said[0]) and "Of which rows" in repr(said[1])
        assert rows == 1 or not set(table_rows(said[-1])) & set(table_rows(sections.budgets(alone, contributor)))


def table_rows(section: PageSection) -> list[tuple[str, ...]]:
    """The lines that say what budgets mean."""
    return [row for piece in section.pieces if isinstance(piece, Sheet) for row in piece.rows]


def about_lines(made: FrozenMechanism) -> list[str]:
    return made.about.lines()


MIXED = Workload([[10.5, 3.25, 8.0], [1200, 800, 300], [1, 1, 0]], queries=["latitude", "height", "residents"])


UNITS = {"latitude": "degrees", "height": "metres", "residents": "residents"}


def test_answers_of_different_units_have_no_typical_error() -> None:
    made = design(Problem(MIXED, metrics.uniform(3, 1.0)), "laplace").mechanism
    told = LinearQueries().accuracy(made.described(About("Mixed", units=UNITS)))
    margins = made.margins()
    stated = ", ".join(f"{off_by(m)} {unit}" for m, unit in zip(margins.tolist(), UNITS.values(), strict=True))
    assert told.answer == f"±{stated} at most" and "median" not in told.details
    silent = LinearQueries().accuracy(made)
    assert silent.answer.endswith("each answer in its own unit") and "median" not in silent.details


def test_answers_of_one_unit_and_counts_have_one() -> None:
    made = design(Problem(MIXED, metrics.uniform(3, 1.0)), "laplace").mechanism
    same = LinearQueries().accuracy(made.described(About("Alike", units="persons")))
    assert same.answer == f"±{off_by(float(np.median(made.margins())))} persons for a typical answer"
    counts = design(Problem(Workload([[1, 1, 0], [0, 0, 1]]), metrics.uniform(3, 1.0)), "laplace").mechanism
    assert "each answer in its own unit" not in LinearQueries().accuracy(counts).answer


@pytest.mark.parametrize("shape", ["l1", "l2", "hull"])
def test_numbers_of_one_page_are_those_of_one_law_with_one_rounding(shape: str) -> None:
    """Headline, table, picture, the release's intervals and targets: the same margins and standard errors."""
    problem = Problem(Workload.identity(9), invariants.margins((3, 3)).protect(1.0))
    made = design(problem, "lattice_laplace", shape=shape).mechanism
    told, errors = LinearQueries().accuracy(made), made.standard_errors()
    margins, law = reach_of_answers(made, 0.95, False)
    assert np.array_equal(margins, made.margins()) and law and np.allclose(errors, np.sqrt(made.query_variances()), rtol=1e-7)
    (sheet,) = [piece for piece in told.pieces if hasattr(piece, "columns")]
    assert [row[1] for row in sheet.rows] == [off_by(error) for error in errors.tolist()]
    assert [row[2] for row in sheet.rows] == [f"±{off_by(margin)}" for margin in margins.tolist()]
    assert all(off_by(error) == no_less(error) for error in errors.tolist())
    assert made.error_source.words in sheet.note and ("simulated" in sheet.note) == (shape == "hull")
    picture = next(drawing for drawing in drawings_of(made) if drawing.name == "errors")
    assert f"from {off_by(float(errors.min()))} (" in picture.alt and f"to {off_by(float(errors.max()))} (" in picture.alt


def test_a_total_that_was_stated_anew_is_not_told_to_be_raised() -> None:
    first, same, more = (DatasetTerms(Total(epsilon=e), p) for e, p in ((1, ()), (1, ("a total",)), (2, ())))
    assert _restated([first]) == ""
    assert _restated([first, more]) == " The total was raised once."
    assert _restated([first, same]) == " The terms were stated anew once, not with a larger total."
    assert (
        _restated([first, same, more])
        == " The total was raised once. The terms were stated anew once, not with a larger total."
    )
    assert "raised" not in _restated([more, first])


WITHOUT_PLANS = [name for name in specimens() if name != "table plan"]


@pytest.mark.parametrize("name", list(SPECIMENS))
def test_the_largest_change_that_is_told_is_the_largest_that_there_is(name: str) -> None:
    relation = SPECIMENS[name]
    told = meanings_of(relation, [f"e{k}" for k in range(relation.size)])
    finite = [meant.budget for meant in told if meant.budget is not None]
    largest = largest_budget(relation)
    assert largest <= max(finite) <= largest * (1 + Fraction(1, 10**6))
    if isinstance(relation, Metric):
        unprotected = any(relation.exact_budget(i, j) is None for i, j in combinations(range(relation.size), 2))
        assert unprotected == any(meant.budget is None for meant in told)


def test_within_a_distance_no_pair_has_more_than_its_budget() -> None:
    places = np.random.default_rng(4).uniform([-10, -20], [10, 20], (30, 2))
    relation = metrics.great_circle(places, 0.05)
    told = {meant.change: meant.budget for meant in meanings_of(relation)}
    assert told["one record moves by at most 1 km"] == Fraction(0.05)
    for change, budget in told.items():
        assert budget is not None
        if "km" in change:
            reach = Fraction(change.split()[-2].replace(",", ""))
            pairs = [relation.exact_budget(i, j) for i, j in combinations(range(30), 2)]
            near = [pair for pair in pairs if pair <= reach * Fraction(0.05)]
            assert budget == reach * Fraction(0.05) and max(near, default=Fraction(0)) <= budget
    assert max(relation.exact_budget(i, j) for i, j in combinations(range(30), 2)) <= max(told.values())  # type: ignore[type-var]


def test_attributes_are_told_one_by_one_and_all_together() -> None:
    domain = Domain.of({"sex": ["F", "M"], "age": 3, "place": 2})
    told = [(meant.change, meant.budget) for meant in meanings_of(metrics.hamming(domain, [0.5, 1.0, math.inf]))]
    assert told == [
        ("one record has another value of sex", Fraction(1, 2)),
        ("one record has another value of age", Fraction(1)),
        ("one record has another value of place", None),
        ("one record has other values of all 2 protected attributes", Fraction(3, 2)),
    ]
    assert [meant.budget for meant in meanings_of(Presence(epsilon=0.25))] == [Fraction(1, 4)]


def test_scaled_budgets_are_those_of_the_part_times_the_factor() -> None:
    whole, half = metrics.uniform(3, 1.0), 0.5 * metrics.uniform(3, 1.0)
    assert [meant.budget for meant in meanings_of(half)] == [meant.budget / 2 for meant in meanings_of(whole)]  # type: ignore[operator]


@pytest.mark.parametrize("name", WITHOUT_PLANS)
def test_the_worst_row_of_the_table_is_no_better_than_what_the_accountant_says(name: str) -> None:
    made = specimens()[name]
    contributor = contributor_of(made)
    worst, rows = contributor.worst(made), contributor.rows(made)
    protected = protected_by(made)
    costs = [cost for _, cost in rows if cost is not None]
    if worst.cost is None:
        assert "Markov chain" in worst.reason and not costs
        return
    if getattr(protected, "kind", "") == "invariant_distance":
        return  # of a budget for each unit of distance the accountant speaks of one unit, and the page of whole records
    assert worst.risk is not None and costs
    assert max(Risk.of(cost).exponent for cost in costs) >= worst.risk.exponent
    assert max(Risk.of(cost).guess for cost in costs) >= worst.risk.guess * (1 - 1e-12)


@pytest.mark.parametrize("name", list(specimens()))
def test_every_cell_of_the_budgets_says_something(name: str) -> None:
    made = specimens()[name]
    sheets = [piece for piece in contributor_of(made).budgets(made) if hasattr(piece, "columns")]
    assert sheets
    for sheet in sheets:
        assert all(len(row) == len(sheet.columns) for row in sheet.rows)
        assert all(cell in (NOT_PROTECTED, NOT_PROVEN, NO_LIMIT, "none") or cell.strip() for row in sheet.rows for cell in row)


def test_a_plan_tells_what_records_of_several_sizes_lose_and_larger_ones_lose_more() -> None:
    made = specimens()["table plan"]
    costs = [cost.rho for _, cost in contributor_of(made).rows(made) if cost is not None]
    assert len(costs) >= 3 and costs == sorted(costs)
    small = made.loss({"emp": 50, "pay": 5000, "state": "DE", "county": 1, "naics": "11", "id": 1})  # type: ignore[attr-defined]
    assert small <= costs[0]

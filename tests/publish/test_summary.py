"""The first screen and what was verified: what is not protected, not known or failed is said there."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from designer import About, Domain, Problem, Workload, design, metrics, verify_release
from designer.accounts import expense_of
from designer.accounts.composition.privacy_in_words import privacy_words
from designer.audit.verdict import DeepVerdict, Finding, TestPower
from designer.certificate.frozen import FrozenMechanism
from designer.domains.marginals_plan import design_marginals
from designer.domains.marginals_workload import MarginalWorkload
from designer.files.releases import release_document
from designer.publish import sections
from designer.publish.content import Evidence, PageSection, SeenRelease, Sheet
from designer.publish.meanings import LARGEST, Risk, percent
from designer.publish.page import contributor_of
from designer.publish.sections import deep_section, open_points
from designer.publish.summary import headlines
from designer.relations.metrics.presence import Presence
from designer.tables import Count, Groups, TablePlan


def first_screen(made: FrozenMechanism) -> dict[str, tuple[str, bool]]:
    """Answers and alarms by question."""
    contributor = contributor_of(made)
    lines = headlines(Evidence(made=made), contributor, contributor.published(made), contributor.accuracy(made), "now")
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
    lines = headlines(evidence, contributor, contributor.published(made), contributor.accuracy(made), "now")
    (said,) = (line for line in lines if line.question == "What is NOT protected?")
    added = set(released.guarantee.unprotected) - set(made.guarantee.unprotected)
    assert said.answer == "The number of records is public" and added
    assert all(line in said.details for line in added)


def test_without_a_ledger_nobody_knows_what_else_was_released() -> None:
    made = design(Problem(Workload([[1, 1, 0]]), metrics.uniform(3, 1.0)), "laplace").mechanism
    told = open_points(Evidence(made=made), contributor_of(made))
    assert any("no ledger was looked at" in line for line in told)
    assert first_screen(made)["How much of this dataset's privacy budget has been used?"] == (
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
        lines = headlines(evidence, contributor, contributor.published(made), contributor.accuracy(made), "now")
        (line,) = (line for line in lines if line.question == "About whom?")
        return line.answer

    assert whom() == 'One row of the data, said to be "one patient"; nothing bounds how many rows one has'
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
        lines = {line.question: line for line in headlines(evidence, contributor, told, told, "now")}
        words, _, change = privacy_words(made, rows_per_entity=rows).partition(", at most, where ")
        promised, gain = lines["What is promised, as epsilon and delta?"], lines["What can the strongest attacker gain?"]
        assert promised.answer.casefold() == words.casefold() and "entity" in change and change in promised.details
        risk = Risk.of(expense_of(made, rows_per_entity=rows).cost)
        assert gained <= risk.guess and "entity" in gain.details
        assert (percent(risk.guess) if risk.exponent <= LARGEST else "Nothing that is proven") in gain.details
        assert rows == 1 or gained == 0.5 or Risk.of(expense_of(made).cost).guess < gained
        said = [
            *(sections.hidden(evidence.guarantee), sections.full_statement(evidence.guarantee), sections.answers(seen)),
            *(sections.unprotected(evidence, contributor), sections.budgets(evidence, contributor)),
        ]
        assert released.guarantee.relation in repr(said) and made.guarantee.relation not in repr(said)
        assert "of which at most" in repr(said[0]) and "Of which rows" in repr(said[2])
        assert rows == 1 or not set(table_rows(said[-1])) & set(table_rows(sections.budgets(alone, contributor)))


def table_rows(section: PageSection) -> list[tuple[str, ...]]:
    """The lines that say what budgets mean."""
    return [row for piece in section.pieces if isinstance(piece, Sheet) for row in piece.rows]


def about_lines(made: FrozenMechanism) -> list[str]:
    return made.about.lines()

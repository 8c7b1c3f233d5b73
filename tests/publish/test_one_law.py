"""Every number of a page is that of the guarantee of its release: releases of every kind, of records and of entities.

What the page must say is computed here from the parameters of the guarantee and closed formulas alone: `exp(b)` and
`1 / (1 + exp(-b))` of pure noise; under zCDP between what the normal law of that rho has and what every law of it keeps.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest
from scipy.stats import norm

from designer import Domain, Problem, Workload, design, metrics, verify_release
from designer.accounts.composition.terms import largest_budget, protected_by
from designer.base.errors import InvalidProblem
from designer.certificate.frozen import FrozenMechanism, Released
from designer.domains.marginals_plan import design_marginals
from designer.domains.marginals_workload import MarginalWorkload
from designer.domains.products_plan import design_structured
from designer.files.releases import release_document
from designer.publish import page as board
from designer.publish.content import BoardPage, Entries, Evidence, Listing, SeenRelease, Sheet
from designer.publish.meanings import LARGEST, NO_LIMIT
from designer.publish.page import board_page
from designer.relations.metrics.presence import Presence
from designer.relations.records.row_unit import RowUnit
from tests.oracles.release_specimens import invented, releases
from tests.oracles.spec_specimens import specimens

ROUNDED = 1.02  # three digits, rounded up
RARE = 1e-6  # the chance that a page leaves out under zCDP
TWO = Domain.of({"sex": ["F", "M"]})
OF_ENTITIES = ("linear add_remove", "linear uniform", "linear gaussian", "linear presence", "marginals attributes")
MORE_ENTITIES = ("marginals presence", "marginals others", "structured attributes", "structured metrics", "structured presence")
EVERY_ATTRIBUTE = (0.5, 1.0, 0.25)  # the specimens leave one unprotected, which is refused for the rows of an entity
CASES = [
    *((name, rows) for rows in (5, 1, 2, 8) for name in (*OF_ENTITIES, *MORE_ENTITIES, "structured laplace")),
    *((name, None) for name in specimens()),
    *((name, None) for name in OF_ENTITIES[:4]),
]


@cache
def maker(name: str, of_entities: bool = False) -> FrozenMechanism:
    """That mechanism; of entities with a budget for every attribute, one of which the specimen does not protect."""
    if of_entities and name.endswith(" attributes"):
        asked: Any = specimens()[name]
        make: Any = design_marginals if name.startswith("marginals") else design_structured
        made: FrozenMechanism = make(asked.workload, metrics.hamming(asked.workload.domain, [0.5, 1.0, 0.25]))
        return made
    if not name.startswith("linear"):
        return specimens()[name]
    if name == "linear presence":
        return design_marginals(MarginalWorkload.of(TWO, {("sex",): 1.0}), Presence(mu=0.25))
    if name == "linear gaussian":
        return design(Problem(Workload.identity(TWO), metrics.add_remove(2, 0.3), notion="zcdp"), "gaussian").mechanism
    relation = metrics.uniform(2, 0.5) if name == "linear uniform" else metrics.add_remove(2, 0.5)
    return design(Problem(Workload.identity(TWO), relation), "laplace").mechanism


def released(name: str, rows: int | None) -> Released:
    if rows is None and not name.startswith("linear"):
        return releases()[name][1]
    made: Any = maker(name, of_entities=rows is not None)
    records = {"sex": ["F", "M", "F"]} if name.startswith("linear") else invented(made)
    if rows is None:
        alone: Released = made.release(records)
        return alone
    pytest.importorskip("ibis")
    size = len(next(iter(records.values())))
    found: Released = made.release({**records, "who": [str(k // 2) for k in range(size)]}, entity="who", rows_per_entity=rows)
    return found


def page_of(made: FrozenMechanism, of: Released) -> BoardPage:
    document = json.loads(json.dumps(release_document(made, of)))
    seen = SeenRelease("r.json", of, document, verify_release(made, document, allow_vacuous=True))
    return board_page(Evidence(made=made, release=seen))


def number(text: str) -> float:
    return float(text.replace(",", ""))


def found(pattern: str, text: str) -> float:
    match = re.search(pattern, text)
    assert match is not None, (pattern, text)
    return number(match[1])


def entries(page: BoardPage, key: str) -> dict[str, str]:
    (section,) = [section for section in page.sections if section.key == key]
    return {name: text for piece in section.pieces if isinstance(piece, Entries) for name, text in piece.rows}


def sheets(page: BoardPage, key: str) -> list[Sheet]:
    return [piece for part in page.sections if part.key == key for piece in part.pieces if isinstance(piece, Sheet)]


@pytest.mark.parametrize("name", ["marginals attributes", "structured attributes"])
def test_entities_are_refused_where_an_attribute_is_not_protected(name: str) -> None:
    with pytest.raises(InvalidProblem, match="entity: an attribute is not protected"):
        specimens()[name].guarantee_for(RowUnit(entity="who", rows_per_entity=2))


def budget_of(made: FrozenMechanism, parameters: Mapping[str, Any]) -> tuple[float, float]:
    """Of the largest change, and of the number of rows left out beside it."""
    aside = parameters.get("epsilon_of_rows_left_out", 0.0)
    for name in ("budget_of_an_entity", "largest_finite_budget", "budget_per_unit_of_distance"):
        if parameters.get(name) is not None:
            return float(parameters[name]), aside
    return float(largest_budget(protected_by(made))), aside  # of lattices, whose guarantee has no number for it


@pytest.mark.parametrize(("name", "rows"), CASES, ids=lambda part: str(part))
def test_every_number_is_of_the_guarantee_of_the_release(name: str, rows: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board, "_pictures", lambda evidence: iter(()))
    made, of = maker(name, of_entities=rows is not None), released(name, rows)
    page, stated = page_of(made, of), of.guarantee
    lines = {line.question: line for line in page.headlines}
    statement = entries(page, "statement")
    assert statement["Numbers of the promise"] == ", ".join(
        f"{k.replace('_', ' ')} {v!r}" for k, v in stated.parameters.items()
    )
    assert statement["Relation"] == stated.relation and statement["Protects"] == stated.unit
    assert statement["Notion"] == stated.notion
    listed = [
        piece.lines
        for part in page.sections
        if part.key == "unprotected"
        for piece in part.pieces
        if isinstance(piece, Listing)
    ]
    assert not stated.unprotected or stated.unprotected in listed
    promised, gain = lines["What is promised?"], lines["What can an attacker gain?"]
    if rows is not None:
        assert (
            "one entity" in promised.details
            and ("entity" in gain.details or "any one who" in gain.details)
            and made.guarantee.relation not in repr(page)
        )
    if promised.answer.startswith("No single number"):
        assert gain.alarm and "No bound" in gain.answer
        return
    if made.format == "dp-designer/odds-ratio-test":
        return  # whose promise is a tradeoff function
    try:
        budget, aside = budget_of(made, stated.parameters)
    except InvalidProblem:
        pytest.fail("a promise in numbers, and none in the guarantee")
    worst = gain.answer.rpartition("t worst ")[2]
    meanings, *further = sheets(page, "budgets")
    distance = stated.parameters.get("budget_per_unit_of_distance") is not None
    budget_of_one = budget * math.sqrt(2) if distance else budget  # one record from a cell to another, in l2
    rows_told = [number(row[1]) for row in meanings.rows if row[1] != "none"]
    if "changes, and the number" not in gain.details:  # no row of the table is the worst change, where it has no budget
        assert (rows_told[0] if distance else max(rows_told)) == pytest.approx(budget_of_one, rel=2e-4)
    if stated.notion.startswith("Zero"):
        of_zcdp(promised.answer, worst, gain.details, further, budget, aside)
    elif stated.notion.startswith("Pure"):
        of_pure(promised.answer, worst, gain.details, budget + aside, budget_of_one + aside)


def of_pure(promised: str, worst: str, details: str, epsilon: float, of_one: float) -> None:
    assert epsilon * (1 - 1e-9) <= found(r"psilon ([\d.,]+),", promised) <= epsilon * 1.002
    assert "10 records" not in details
    if of_one > LARGEST:
        assert NO_LIMIT in worst
        return
    odds = found(r"×([\d.,]+)", worst)
    if "any one" in details:
        assert math.exp(of_one) * (1 - 1e-9) <= found(r"factor of ([\d.,]+)\.", details) <= math.exp(of_one) * 1.002
    assert math.exp(of_one) * (1 - 1e-9) <= odds <= math.exp(of_one) * ROUNDED
    assert found(r"at most ([\d.]+) %", details) / 100 == pytest.approx(1 / (1 + math.exp(-of_one)), abs=2e-3)


def of_zcdp(promised: str, worst: str, details: str, further: list[Any], budget: float, aside: float) -> None:
    """rho = b^2 / 2: the loss of a normal law is normal, of mean rho and variance 2 rho; any other keeps P(loss > t) at most
    exp(-(t - rho)^2 / (4 rho)), and tells two cases apart by at most sqrt(rho / 2)."""
    least, rho = budget**2 / 2, budget**2 / 2 + aside**2 / 2
    told = found(r"^([\d.,]+)-zCDP", promised)
    assert least * (1 - 1e-9) <= told <= rho * 1.002
    least_epsilon = found(r"epsilon ([\d.,]+) at delta 1e-6", promised)
    if not further:
        assert least_epsilon > LARGEST
        return
    (sheet,) = further
    at = {row[0]: number(row[1]) for row in sheet.rows}
    assert at["1 in 1,000,000"] == pytest.approx(least_epsilon, rel=1e-2)
    if NO_LIMIT in worst:
        assert told + 2 * math.sqrt(told * math.log(1 / RARE)) > LARGEST
        return
    odds, right = found(r"×([\d.,]+)", worst), found(r"right in at most ([\d.]+) %", details) / 100
    loss = least + budget * norm.isf(RARE)
    assert loss <= math.log(odds) <= (told + 2 * math.sqrt(told * math.log(1 / RARE))) * ROUNDED
    assert norm.cdf(budget / 2) - 1e-9 <= right <= min(1, 0.5 + math.sqrt(told / 2) / 2) + 2e-3

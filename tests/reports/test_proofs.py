"""Theorem by theorem: whatever a certificate can cite has the steps of its proof in the page."""

from __future__ import annotations

import ast
import html
import importlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from designer.base.errors import InvalidProblem
from designer.mechanisms.additive import promise
from designer.reports.evidence import Evidence
from designer.reports.html import html_of
from designer.reports.page import board_page
from designer.reports.sections import OTHER_NOISE, SKETCHES, sketch_of
from designer.tables.plan_words import OF_OTHER_NOISE, THEOREM
from tests.oracles.spec_specimens import specimens

ROOT = Path(__file__).parents[2]
OF_LIMITS = "designer.families.least_noise"  # its theorems bound losses, and no certificate cites them


def cited() -> Iterator[str]:
    """Every text that a module keeps as its theorem, or as its theorems by name; and those of additive noise."""
    for path in sorted((ROOT / "designer").rglob("*.py")):
        names = [
            t.id
            for n in ast.parse(path.read_text()).body
            if isinstance(n, ast.Assign)
            for t in n.targets
            if isinstance(t, ast.Name)
        ]
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for name in set(names) & {"THEOREM", "THEOREMS"}:
            found = getattr(importlib.import_module(module), name)
            if module != OF_LIMITS:
                yield from found.values() if isinstance(found, Mapping) else [found]
    for falloff in promise.LAWS:
        yield from (promise.theorem(falloff, delta) for delta in (None, 0.01))  # type: ignore[arg-type]
    yield THEOREM + OF_OTHER_NOISE


def test_every_theorem_has_its_sketch_and_no_sketch_is_of_none() -> None:
    theorems = set(cited())
    assert all(sketch_of(theorem).steps for theorem in theorems)
    assert set(SKETCHES) <= theorems and len(SKETCHES) >= 14


@pytest.mark.parametrize("name", list(specimens()))
def test_what_the_certificate_cites_is_known(name: str) -> None:
    assert len(sketch_of(specimens()[name].privacy.theorem).steps) >= 3


@pytest.mark.parametrize("theorem", list(SKETCHES), ids=range(len(SKETCHES)))
def test_a_sketch_names_a_page_and_a_section_that_are_there(theorem: str) -> None:
    for page, sections in re.findall(r"(docs/theory/\w+\.md), sections? ([0-9, and]+)", SKETCHES[theorem].page):
        headings = re.findall(r"^## ([0-9]+)\.", (ROOT / page).read_text(), re.MULTILINE)
        assert set(re.findall("[0-9]+", sections)) <= set(headings)
    assert "docs/theory/" in SKETCHES[theorem].page


@pytest.mark.parametrize("name", ["laplace uniform", "table plan", "test pure", "lattice rows"])
def test_the_steps_stand_in_the_page(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("designer.reports.page.drawings_of", lambda made, released: ())
    made = specimens()[name]
    text = html.unescape(re.sub("<[^>]*>", "", html_of(board_page(Evidence(made=made)))))
    assert all(step in text for step in sketch_of(made.privacy.theorem).steps) and made.privacy.theorem in text


def test_plans_with_other_noise_have_one_step_more() -> None:
    plain, other = sketch_of(THEOREM), sketch_of(THEOREM + OF_OTHER_NOISE)
    assert other.claim == plain.claim and other.steps == (*plain.steps, OTHER_NOISE)
    with pytest.raises(InvalidProblem, match="no sketch of a proof is known of 'nothing'"):
        sketch_of("nothing")

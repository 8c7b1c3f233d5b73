"""Theorem by theorem: whatever a certificate can cite has its claim in the page, and the page where its proof is."""

from __future__ import annotations

import ast
import html
import importlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from designer.base.errors import InvalidProblem
from designer.base.lazy_imports import is_there
from designer.files.kinds import KINDS
from designer.mechanism.additive import LAWS, theorem
from designer.publish.content import Evidence
from designer.publish.page import board_page, contributor_of, html_of
from designer.tables.plan_words import OF_OTHER_NOISE, THEOREM
from tests.oracles.spec_specimens import specimens

ROOT = Path(__file__).parents[2]
OF_LIMITS = "designer.designing.least_noise"  # its theorems bound losses, and no certificate cites them


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
    for falloff in LAWS:
        yield from (theorem(falloff, delta) for delta in (None, 0.01))  # type: ignore[arg-type]
    yield THEOREM + OF_OTHER_NOISE


THERE = [kind for kind in KINDS.values() if is_there(kind.mechanism)]
SKETCHES = {theorem: sketch for kind in THERE for theorem, sketch in kind.part("page")().sketches().items()}


@pytest.mark.every_room
def test_every_theorem_has_its_sketch_and_no_sketch_is_of_none() -> None:
    assert set(cited()) == set(SKETCHES) and len(SKETCHES) >= 15


@pytest.mark.parametrize("name", list(specimens()))
def test_what_the_certificate_cites_is_known(name: str) -> None:
    made = specimens()[name]
    assert contributor_of(made).sketch(made).claim.endswith(".")


@pytest.mark.parametrize("theorem", list(SKETCHES), ids=range(len(SKETCHES)))
def test_a_sketch_names_a_page_and_a_section_that_are_there(theorem: str) -> None:
    for page, sections in re.findall(r"(docs/theory/\w+\.md), sections? ([0-9, and]+)", SKETCHES[theorem].page):
        headings = re.findall(r"^## ([0-9]+)\.", (ROOT / page).read_text(), re.MULTILINE)
        assert set(re.findall("[0-9]+", sections)) <= set(headings)
    assert "docs/theory/" in SKETCHES[theorem].page


@pytest.mark.parametrize("name", ["laplace uniform", "table plan", "test pure", "lattice rows"])
def test_the_claim_and_its_proof_are_named_in_the_page(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("designer.publish.page.drawings_of", lambda made, released: ())
    made = specimens()[name]
    text = html.unescape(re.sub("<[^>]*>", "", html_of(board_page(Evidence(made=made)))))
    sketch = contributor_of(made).sketch(made)
    assert sketch.claim in text and f"Proof: {sketch.page}" in text


def test_a_theorem_without_a_sketch_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    made = specimens()["table plan"]
    contributor = contributor_of(made)
    monkeypatch.setattr(type(contributor), "cited", lambda self, made: "nothing")
    with pytest.raises(InvalidProblem, match="no sketch of a proof is known of 'nothing'"):
        contributor.sketch(made)

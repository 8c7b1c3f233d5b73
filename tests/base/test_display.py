"""What values show: one short line, and HTML in which nothing of a name is taken for markup."""

from __future__ import annotations

import re
from functools import cache
from html import escape
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from designer import (
    Domain,
    MarginalWorkload,
    Presence,
    Problem,
    StructuredWorkload,
    Targets,
    Workload,
    compare,
    design,
    invariants,
    least_budget,
    metrics,
)
from designer.base.display import Displayed, Preview, as_html
from designer.designing.printouts import design_in_brief
from designer.domains.marginals_plan import design_marginals
from designer.tables import Count, Groups, TablePlan
from designer.tables.answers import Answer

NAMES = (
    *("problem", "workload", "design", "mechanism", "release", "lattice", "comparison", "least budget", "marginals"),
    *("marginal workload", "marginal release", "plan", "table release", "answer", "answer table", "structured workload"),
)
EVIL = '</td><script>alert("1")</script>\n\u202e&'


def problem(queries: int = 3, name: str = EVIL) -> Problem:
    names = [name, *(f"q{i}" for i in range(1, queries))]
    return Problem(Workload(np.eye(queries), names), metrics.add_remove(queries, 1.0))


@cache
def objects() -> dict[str, Any]:
    asked = problem()
    made = design(asked, "laplace")
    domain = Domain.of({EVIL: ["<b>", "b"], "sex": ["F", "M"]})
    tables = design_marginals(MarginalWorkload.of(domain, [[EVIL], ["sex"]]), Presence(mu=1.0))
    plan = TablePlan([Count(EVIL, Groups(["sex"], keys=[["<i>"], ["M"]]), variance=5)])
    import ibis

    released = plan.release(ibis.memtable({"sex": ["M"]}))
    return {
        "problem": asked,
        "workload": asked.workload,
        "design": made,
        "mechanism": made.mechanism,
        "release": made.mechanism.release([1, 2, 3]),
        "lattice": design(Problem(Workload.identity(4), invariants.margins((2, 2)).protect(1.0)), "lattice_laplace").mechanism,
        "comparison": compare(asked, ["laplace", "uniform_budget"]),
        "least budget": least_budget(asked, Targets(standard_error=2.0), "laplace", curve=2),
        "marginals": tables,
        "marginal workload": tables.workload,
        "marginal release": tables.release({EVIL: ["<b>"], "sex": ["F"]}),
        "plan": plan,
        "table release": released,
        "answer": released[EVIL],
        "answer table": released.answer_tables()[0],
        "structured workload": StructuredWorkload.of(domain, [{"sex": "identity"}]),
    }


class Tags(HTMLParser):
    """The tags of a text, and whether they close."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.seen: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.opened.append(tag)
        self.seen.add(tag)
        self.attributes |= {f"{name}={value}" for name, value in attrs}

    def handle_endtag(self, tag: str) -> None:
        assert self.opened.pop() == tag


@pytest.mark.parametrize("name", NAMES)
def test_a_line_tells_the_kind_and_is_short(name: str) -> None:
    line = repr(objects()[name])
    assert line.startswith(f"<{type(objects()[name]).__name__}: ") and line.endswith(">")
    assert len(line) < 250 and line.isprintable()


@pytest.mark.parametrize("name", NAMES)
def test_html_is_whole_and_holds_no_markup_of_names_no_address_and_no_colour(name: str) -> None:
    text = objects()[name]._repr_html_()
    tags = Tags(text)
    assert tags.opened == [] and tags.seen <= {"div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td"}
    assert tags.attributes <= {"style=text-align: right", "style=text-align: left"}
    assert not re.search(r"https?:|color|\n|\u202e", text) and len(text) < 6000


@pytest.mark.parametrize("name", ["design", "mechanism", "release", "marginals", "marginal release", "plan", "table release"])
def test_a_line_holds_the_head_of_the_fingerprint(name: str) -> None:
    made = objects()[name]
    assert f"fingerprint {getattr(made, 'mechanism', made).fingerprint[:12]}" in repr(made)


def test_lines_do_not_grow_with_what_is_held() -> None:
    large = design(problem(2000), "uniform_budget")
    held = large.mechanism.release(np.arange(2000))
    assert max(len(repr(value)) for value in (large, large.problem, large.mechanism, held)) < 250
    assert len(held._repr_html_()) < 4000 and "and 1,990 more" in held._repr_html_()


def test_notebooks_show_what_the_terminal_shows() -> None:
    """The noise of each answer, certificate and efficiency of a design; losses of a comparison; intervals of a release."""
    made = design(problem(name="first"), "laplace")
    shown = {name: value._repr_html_() for name, value in {**objects(), "design": made}.items() if name != "lattice"}
    for line in design_in_brief("Design", made).split("\n")[2:]:
        assert escape(line.strip()) in shown["design"]
    assert made.mechanism.guarantee.relation in shown["design"]
    assert "efficiency" in shown["comparison"] and " %</td>" in shown["comparison"]
    assert "95 % interval" in shown["release"] and made.problem.relation.sentence() in shown["problem"]
    assert not any(re.search(r"\d\.\d{6,}", shown[name]) for name in ("design", "comparison", "release", "problem"))


def test_domains_and_guarantees_are_tables_in_notebooks() -> None:
    domain = Domain.of({EVIL: ["<b>", "b"], "sex": ["F", "M"]})
    stated = objects()["release"].guarantee
    for text in (domain._repr_html_(), stated._repr_html_()):
        assert Tags(text).opened == [] and "<b>" not in text and "<script>" not in text
    assert "elements 4" in domain._repr_html_()
    assert escape(stated.relation) in stated._repr_html_() and stated.fingerprint in stated._repr_html_()


def test_what_is_half_made_has_a_line_too() -> None:
    assert repr(object.__new__(TablePlan)).startswith("<designer.tables.plan.TablePlan object")


def test_a_long_value_is_cut_and_an_empty_table_is_one() -> None:
    class Long(Displayed):
        def _display_facts(self) -> dict[str, object]:
            return {"name": "x" * 100, "none": None, "half": 0.5, "many": 12345}

    assert repr(Long()) == f"<Long: name {'x' * 57}..., half 0.5, many 12,345>"
    assert "<tbody></tbody>" in as_html("Empty", {}, Preview(("a",), [], 0))


def test_an_answer_shows_no_digits_below_its_noise_and_keeps_them() -> None:
    answer = Answer("mean", (), ((),), np.array([1000 / 3]), np.array([25.0]))
    assert repr(answer) == "<Answer: query mean, answers 1>" and answer.values[0] == 1000 / 3
    assert ">333.3<" in answer._repr_html_() and "333.33" not in answer._repr_html_()


def test_the_numbers_of_a_release_are_in_its_table() -> None:
    released = objects()["table release"]
    assert f"{released.answers[EVIL].values[0]:.6g}" in released._repr_html_()

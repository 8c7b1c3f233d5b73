"""Every refusal says what is wrong and what to do, and an error of any kind has a field, a value and a remedy."""

from __future__ import annotations

import ast
import pickle
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import designer
from designer import Domain, Problem, Workload, design, invariants, metrics
from designer.base import errors
from designer.base.errors import CLAUSES, FIELD, InvalidProblem, Refusal, hides_data_in_errors
from tests.house.test_layers import MODULES, ROOT, tree

KINDS = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Refusal)}
NEEDED = re.compile(
    r"\b(must|needs?|has to|should|is not an? |is no |is none of|is neither|is not one of|is not the|are needed|one for each|"
    r"is not (in|above|between|from|not)|go(es)? (with|together)|at least|at most|asks for|do(es)? not enclose|give|use|sort|"
    r"name one|(is|are) whole numbers|rows, independent|takes|choose|write|say|make|allow|more than)\b"
)


def message(node: ast.expr, known: dict[str, str]) -> str | None:
    """The template of a message: its texts, and {} for what is put in; None where it is made by a call."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            made = []
            for part in parts:
                inner = part.value if isinstance(part, ast.FormattedValue) else part
                made.append(
                    known.get(inner.id, "{}")
                    if isinstance(inner, ast.Name)
                    else inner.value
                    if isinstance(part, ast.Constant)
                    else "{}"
                )
            return "".join(str(part) for part in made)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return f"{message(left, known) or '{}'}{message(right, known) or '{}'}"
        case ast.Name(id=name):
            return known.get(name)
        case ast.Call(func=ast.Attribute(value=value, attr="format")):
            return message(value, known)
    return None


@cache
def constants(module: str) -> dict[str, str]:
    """The texts that a module keeps under a name, or imports from another one."""
    found: dict[str, str] = {}
    for node in tree(module).body:
        if isinstance(node, ast.ImportFrom) and node.module in MODULES:
            wanted = {name.name for name in node.names if name.name.isupper()}
            found |= {name: text for name, text in (constants(node.module) if wanted else {}).items() if name in wanted}
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            text = message(node.value, found)
            if text is not None:
                found[node.targets[0].id] = text
    return found


def raised() -> Iterator[tuple[str, str]]:
    """Where each refusal is made, and the template of its message."""
    for module, path in MODULES.items():
        if not module.startswith("designer") or not any(f"{kind}(" in path.read_text() for kind in KINDS):
            continue
        for node in ast.walk(tree(module)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in KINDS and node.args:
                text = message(node.args[0], constants(module))
                if text is not None:
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", text


@cache
def sites() -> list[tuple[str, str]]:
    """All of them, read once a run."""
    return list(raised())


def test_there_are_many_sites() -> None:
    assert len(sites()) > 1000


def test_every_refusal_names_its_field() -> None:
    """`field: ...`: what is before the first colon, or a message that is passed on whole."""
    assert [(place, text) for place, text in sites() if not FIELD.match(text) and "{}" not in text.split(" ")[0]] == []


def test_every_refusal_says_what_to_do() -> None:
    """After a semicolon, or in a sentence of its own; or what is wrong says what is needed. What is put into a message as a
    whole clause has been looked at where it is made."""

    def says(text: str) -> bool:
        said = text.partition(": ")[2] or text
        passed_on = re.search(r"(^|[ :\])]|\} )\{\}\.?$|\{\} [A-Z]", said)
        return bool(CLAUSES.search(said) or NEEDED.search(said) or passed_on)

    assert [(place, text) for place, text in sites() if not says(text)] == []


@pytest.mark.parametrize("name", sorted(KINDS))
def test_every_kind_of_refusal_has_the_three_parts(name: str) -> None:
    kind = getattr(errors, name)
    refused = kind("epsilon: -1.0 is not a positive finite number; give one above 0.", value=-1.0)
    assert isinstance(refused, Refusal) and isinstance(refused, ValueError)
    assert (refused.field, refused.value, refused.remedy) == ("epsilon", -1.0, "give one above 0.")
    again = pickle.loads(pickle.dumps(refused))
    assert (str(again), again.field, again.value, again.remedy) == (str(refused), "epsilon", -1.0, "give one above 0.")
    there = refused.within("problem.toml: [relation] ")
    assert str(there).startswith("problem.toml: [relation] epsilon: -1.0") and there.field == "epsilon" and there.value == -1.0


def test_the_base_and_what_users_meet_are_public() -> None:
    assert {
        "Refusal",
        "InvalidProblem",
        "InvalidSpec",
        "DesignFailed",
        "NotPrivate",
        "OverTotal",
        "InvalidLedger",
        "LedgerUnavailable",
        "CannotWrite",
    } <= set(designer.__all__)


def test_a_key_of_a_problem_file_is_the_field(tmp_path: Path) -> None:
    path = tmp_path / "problem.toml"
    path.write_text('[workload]\nbuilder = "identity"\nsize = 2\n[relation]\nmetric = "uniform"\nepsilon = -2.0\n')
    with pytest.raises(Refusal) as caught:
        designer.read_problem(path)
    assert "epsilon" in caught.value.field and str(path) in str(caught.value)
    assert caught.value.remedy and caught.value.value == -2.0


def test_what_is_refused_of_confidential_data_has_no_value() -> None:
    """Also where what refuses gives one: it may be an entry of the data."""

    @hides_data_in_errors
    def read(entry: int) -> None:
        raise InvalidProblem(f"records: {entry} is wrong; give another.", value=entry)

    with pytest.raises(InvalidProblem) as caught:
        read(8731)
    assert caught.value.value is None and caught.value.__cause__ is None and caught.value.__context__ is None


@pytest.mark.parametrize(
    "ask",
    [
        lambda domain, made, wrong: Domain.of(wrong),
        lambda domain, made, wrong: Workload.marginals(wrong, [["a"]]),
        lambda domain, made, wrong: Workload.marginals(domain, [wrong]),
        lambda domain, made, wrong: metrics.product(wrong, [metrics.uniform(2, 1.0)]),
        lambda domain, made, wrong: metrics.product(domain, wrong),
        lambda domain, made, wrong: invariants.joint(wrong),
        lambda domain, made, wrong: made.guarantee_for(wrong),
    ],
)
def test_an_argument_of_another_kind_is_named(ask: Any) -> None:
    domain = Domain.of({"a": ["x", "y"]})
    made = design(Problem(Workload.identity(domain), metrics.uniform(2, 1.0)), "laplace").mechanism
    for wrong in (3, None, 2.5, "text", [("a", ["x"])], object()):
        with pytest.raises(InvalidProblem) as refused:
            ask(domain, made, wrong)
        assert refused.value.field and refused.value.remedy

"""An unfinished addition is named: a metric, a family, an option, an export or a sentence that stands in its own file alone.

What a kind of mechanism forgets, `tests/files/test_kinds.py` names; docs/guides/adding.md has the recipes.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from designer.certificate import guarantee
from designer.certificate.guarantee import ADDITIVE_FAMILIES, CUSTOM, LATTICE_FAMILIES, STAIRCASE_FAMILIES
from designer.cli import export_commands
from designer.cli.export_commands import EXPORTS, Exported
from designer.designing.family import Family
from designer.designing.listed import FAMILIES
from designer.problem.relation import Relation
from designer.relations import metrics
from designer.relations.kinds import RELATIONS
from tests.oracles.spec_specimens import specimens

DOCS = Path(__file__).parents[2] / "docs"
UNWRITTEN = {"allowed"}  # relations of one run, which no spec holds: pairs with the lengths that (epsilon, delta) allows
SENTENCE = re.compile(r"[A-Z][^.]* [^.]* [^.]*\.(?: |$)")


def modules(room: str) -> Iterator[Any]:
    """Every module of a room, imported."""
    for found in pkgutil.walk_packages(importlib.import_module(room).__path__, f"{room}."):
        yield importlib.import_module(found.name)


def stated(room: str, base: type) -> list[Any]:
    """Every value of a class in the modules of a room."""
    return [value for module in modules(room) for value in vars(module).values() if type(value) is base]


def relations() -> set[type[Relation]]:
    """Every class of relations with a kind of its own in the room of relations."""
    found = {
        value
        for module in modules("designer.relations")
        for value in vars(module).values()
        if inspect.isclass(value) and issubclass(value, Relation) and isinstance(vars(value).get("kind"), str)
    }
    return {cls for cls in found if cls.kind not in UNWRITTEN}


def test_every_relation_is_in_the_closed_list() -> None:
    missing = sorted(cls.__name__ for cls in relations() - set(RELATIONS.values()))
    assert not missing, f"list {missing} in RELATIONS of designer/relations/kinds.py"


def test_every_metric_has_a_public_function_that_the_reference_and_the_guide_list() -> None:
    """What makes a metric stands in the file of its class, or is imported by it; the room hands it out."""
    handed = {getattr(metrics, name) for name in metrics.__all__}
    for cls in relations():
        if not cls.__module__.startswith("designer.relations.metrics."):
            continue
        made = [
            function
            for function in vars(importlib.import_module(cls.__module__)).values()
            if inspect.isfunction(function) and function.__module__ == cls.__module__ and function in handed
        ]
        assert made, f"import what makes a {cls.__name__} in designer/relations/metrics/__init__.py, and name it in __all__"
    page = (DOCS / "reference" / "metrics.md").read_text()
    missing = [name for name in metrics.__all__ if not re.search(rf"metrics\.{name}\b", page)]
    assert not missing, f"give {missing} an entry in docs/reference/metrics.md"


def test_every_function_that_makes_a_metric_is_handed_out() -> None:
    """A function in lower case beside the class of a metric, annotated as returning one, is what users call."""
    private = []
    for module in modules("designer.relations.metrics"):
        for name, value in vars(module).items():
            if not inspect.isfunction(value) or value.__module__ != module.__name__ or name.startswith("_"):
                continue
            if str(value.__annotations__.get("return")) in {cls.__name__ for cls in relations()} - {"Relation"}:
                private += [name] if name not in metrics.__all__ else []
    assert not private, f"name {private} in designer/relations/metrics/__init__.py"


def test_every_family_is_in_the_list_and_has_a_name_that_guarantees_may_print() -> None:
    rooms = ("designer.designing", "designer.lattice")
    missing = sorted({family.name for room in rooms for family in stated(room, Family) if family not in FAMILIES})
    assert not missing, f"list {missing} in FAMILIES of designer/designing/listed.py"
    known = ADDITIVE_FAMILIES | LATTICE_FAMILIES | STAIRCASE_FAMILIES
    unnamed = sorted({family.name for family in FAMILIES} - known)
    assert not unnamed, f"name {unnamed} in designer/certificate/guarantee.py"


def test_every_name_that_guarantees_may_print_is_one_of_a_family() -> None:
    """Frozen mechanisms of projections and of products carry names that no family has."""
    beside = {CUSTOM, "separable", "subspace_laplace", "subspace_gaussian"}
    unused = sorted((ADDITIVE_FAMILIES | LATTICE_FAMILIES | STAIRCASE_FAMILIES) - {family.name for family in FAMILIES} - beside)
    assert not unused, f"no family bears {unused}"


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_says_what_it_is_on_its_page_and_in_an_example(name: str) -> None:
    page = (DOCS / "guides" / "exchange.md").read_text()
    assert re.search(rf"^\| `{name}` \| .+ \| .+ \|$", page, re.MULTILINE), f"give {name} a row in docs/guides/exchange.md"
    examples = "".join((DOCS / name).read_text() for name in ("reference/command_line.md", "guides/other_languages.md")) + page
    assert f"--as {name}" in examples, f"show dp-designer export --as {name} in docs/reference/command_line.md"
    assert EXPORTS[name].what and set(EXPORTS[name].own_options) <= {"release", "ledger", "dataset", "distance", "seed"}


def test_every_function_that_writes_an_export_is_in_the_table() -> None:
    written = {
        name
        for name, value in vars(export_commands).items()
        if inspect.isfunction(value)
        and value.__module__ == export_commands.__name__
        and list(inspect.signature(value).parameters) == ["mechanism", "options"]
    }
    missing = sorted(written - {known.write.__name__ for known in EXPORTS.values()})
    assert Exported and not missing, f"list {missing} in EXPORTS of designer/cli/export_commands.py"


def test_every_fixed_sentence_of_a_guarantee_is_said_by_a_specimen() -> None:
    """A sentence that no specimen says is compared with no file, and read by no test."""
    said = "\n".join(str(made.guarantee.to_dict()) for made in specimens().values())
    unsaid = []
    for name, value in vars(guarantee).items():
        for text in value.values() if isinstance(value, dict) else [value]:
            if (
                name.isupper()
                and name not in ("NOTES", "UNITS")
                and isinstance(text, str)
                and SENTENCE.match(text)
                and "{" not in text
                and text not in said
            ):
                unsaid.append(name)
    assert not unsaid, f"say {unsaid} in a specimen of tests/oracles/spec_specimens.py"

"""Docstrings of promised names: an imperative says what a function does, parameters have a section, sentences are short."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from pkgutil import resolve_name

from tests.house.test_public_names import DEEPER, MEMBERS, NAMES

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
import docstrings

MOST_WORDS = 25
# Behind a full stop, but for those of initials, "et al." and "Prop. 3".
END = re.compile(r"(?<!\b[A-Z]\.)(?<!\bal\.)(?<!\bProp\.)(?<=[.?!])[)\"'*]*\s+(?=\S)")
PROMISED = {
    f"{module}.{name}": resolve_name(f"{module}.{name}") for module, names in (NAMES | DEEPER).items() for name in names.split()
}
DOCUMENTED = {name: inspect.getdoc(thing) or "" for name, thing in PROMISED.items() if callable(thing)}


def sentences(docstring: str) -> Iterator[str]:
    """The sentences of a docstring without its examples and formulas set out; what is between backticks is one word."""
    prose = re.sub(r"^ *>>> .*\n?(?:.*\S.*\n?)*", "", docstring, flags=re.MULTILINE)
    prose, _, parameters = prose.partition("Parameters\n----------\n")
    prose = "\n\n".join([prose, *docstrings.section(parameters.splitlines()).values()])
    for paragraph in re.split(r"\n\s*\n", prose):
        if paragraph.strip() and not paragraph.startswith("    "):
            yield from END.split(re.sub(r"`[^`]*`", "¤", " ".join(paragraph.split())))


def not_imperative(lines: list[str]) -> list[str]:
    """First lines that begin with a formula, or that Ruff's rule D401 refuses."""
    code = "".join(f"def f():\n    {line!r}\n" for line in lines)
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "D401", "--output-format", "json", "-"]
    refused = json.loads(subprocess.run(command, input=code, capture_output=True, text=True, timeout=60).stdout)
    rows = {error["location"]["row"] for error in refused}
    return [line for k, line in enumerate(lines, 1) if 2 * k in rows or not re.match("[A-Z][a-z]+ ", line)]


def test_promised_functions_say_in_the_imperative_what_they_do() -> None:
    members = [inspect.getattr_static(owner, name) for owner, names in MEMBERS.items() for name in names.split()]
    functions = [inspect.unwrap(thing) for thing in (*PROMISED.values(), *members) if inspect.isroutine(thing)]
    lines = [(inspect.getdoc(function) or "").partition("\n")[0] for function in functions]
    assert len(lines) > 150 and not_imperative(["The budget.", "d(i, j) = 1.", "Check it."]) == ["The budget.", "d(i, j) = 1."]
    assert not_imperative(lines) == []


def test_parameters_of_promised_functions_have_a_section_of_their_own() -> None:
    """Of two or more parameters, each is named, and nothing else."""
    wrong = {}
    for name, function in PROMISED.items():
        taken = list(inspect.signature(function).parameters) if inspect.isfunction(function) else []
        told = DOCUMENTED.get(name, "").partition("Parameters\n----------\n")[2].partition("\n\n")[0]
        if len(taken) > 1 and list(docstrings.section(told.splitlines())) != taken:
            wrong[name] = taken
    assert wrong == {}


def test_sentences_of_promised_names_are_short() -> None:
    assert list(sentences("A b (c `d e`). F.\n\n    x = 1\n\nG\nh.\n\n>>> 1\n1")) == ["A b (c ¤).", "F.", "G h."]
    assert list(sentences("A.\n\nParameters\n----------\nx, y\n    above 0.\nz : any.\n")) == ["A.", *2 * ["above 0."], "any."]
    long = {name: [s for s in sentences(text) if len(s.split()) > MOST_WORDS] for name, text in DOCUMENTED.items()}
    assert {name: found for name, found in long.items() if found} == {}

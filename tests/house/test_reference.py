"""The reference is whole: every public name has an entry, and every entry its refusals, its source and an example.

What stands on the pages is read from their directives, so that no second list has to be kept.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from designer.cli import parser
from designer.cli.export_commands import SCHEMAS
from designer.problem_file.kinds import KINDS
from tests.house.test_public_names import DEEPER, MEMBERS, NAMES

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
PAGES = sorted(REFERENCE.glob("*.md"))
sys.path.insert(0, str(REFERENCE.parent))
import derived  # noqa: E402

DIRECTIVE = re.compile(r"^\.\. auto(?:function|class|exception|data):: ([\w.]+)$((?:\n   :.*$)*)", re.MULTILINE)
SAID_ONCE = {*derived.EVERYWHERE, "--allow-vacuous", "--signer"}  # in the first paragraph of the page, for all commands
CODE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
REFUSES = re.compile(r"\b[Rr](?:aises?|efuse[sd]?)\b|`(?:InvalidProblem|InvalidSpec|NotPrivate|DesignFailed)`")
ARRAY = re.compile(r"NDArray|ndarray|ArrayLike|Floats|Integers|csr_array")
# A tuple of sizes, such as (N,), (n, s), (..., s), (n_1, ..., n_r) or (number of groups,).
SHAPE = re.compile(r"\((?:\.\.\.,|[\w +*/-]+,)(?: (?:\.\.\.|[\w +*/-]+),?)*\)")
SOURCE = re.compile(r"\bSource:\s|docs/theory/|\b(?:DX|SEMI|INT|REC) (?:[A-Z]|section|equation|eq)|\]\(\.\./theory/")
PUBLIC = {f"{module}.{name}" for module, names in (NAMES | DEEPER).items() for name in names.split()}


@dataclass(frozen=True)
class Entry:
    """A name on a page: the options of its directive, the text of its section, and all code of the page."""

    name: str
    page: str
    options: str
    section: str
    code: str


def thing(name: str) -> Any:
    """What a dotted name stands for."""
    return resolve_name(name)


@cache
def entries() -> dict[str, Entry]:
    """By name. A section goes from one heading of the second level to the next."""
    found = {}
    for page in PAGES:
        text = page.read_text()
        _, *sections = re.split(r"^(?=## )", text, flags=re.MULTILINE)
        for section in sections:
            for name, options in DIRECTIVE.findall(section):
                assert name not in found, f"{name} has two entries"
                found[name] = Entry(name, page.name, options, section, "\n".join(CODE.findall(text)))
    return found


@cache
def entry_of(name: str) -> Entry | None:
    """The entry of a public name, or of the same object under another name."""
    wanted = thing(name)
    if name in entries() or not callable(wanted):
        return entries().get(name)
    return next((entry for other, entry in entries().items() if thing(other) is wanted), None)


def words(name: str) -> str:
    """What the docstring and the section say."""
    entry = entry_of(name)
    assert entry is not None, f"{name} has no entry in docs/reference"
    return (inspect.getdoc(thing(name)) or "") + "\n" + entry.section


def constructors(wanted: Any) -> Iterator[Callable[..., Any]]:
    """The functions that a call runs first: it itself, or what a class does with its arguments."""
    if not inspect.isclass(wanted):
        yield wanted
        return
    for name in ("__init__", "__post_init__"):
        found = getattr(wanted, name, None)
        if inspect.isfunction(found) and found.__module__.partition(".")[0] in ("designer", "solvers") and source_of(found):
            yield found


def source_of(function: Callable[..., Any]) -> ast.Module | None:
    """The tree of a function; None of one that `dataclass` wrote."""
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(function)))
    except OSError:
        return None


def may_raise(wanted: Any, depth: int = 2) -> bool:
    """Is there a `raise` in what it does, or in the functions and classes of the house that it calls, so many calls away?"""
    for function in constructors(wanted):
        tree = source_of(inspect.unwrap(function))
        for node in ast.walk(tree) if tree else ():
            if isinstance(node, ast.Raise):
                return True
            if depth and isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                called = inspect.unwrap(function).__globals__.get(node.func.id)
                own = getattr(called, "__module__", "").startswith("designer")
                thing_of_ours = own and (inspect.isfunction(called) or inspect.isclass(called))
                if thing_of_ours and may_raise(called, depth - 1):
                    return True
    return False


def is_used(name: str) -> bool:
    """Is the name in an example: that of the docstring, or the code of its page?"""
    entry = entry_of(name)
    assert entry is not None, f"{name} has no entry in docs/reference"
    inside = inspect.getdoc(thing(name)) or ""
    return ">>>" in inside or bool(re.search(rf"\b{name.rpartition('.')[2]}\b", entry.code))


CALLABLE = sorted(name for name in PUBLIC if callable(thing(name)))


def test_every_public_name_has_an_entry() -> None:
    """Rooms have a page, of which their own names are the entries."""
    pages = "".join(page.read_text() for page in PAGES)
    rooms = {name for name in PUBLIC if inspect.ismodule(thing(name))}
    assert [name for name in rooms if f"`{name}`" not in pages] == []
    assert [name for name in PUBLIC - rooms if not entry_of(name)] == [], "give these an entry in docs/reference"


def test_no_entry_is_about_what_nobody_promises() -> None:
    promised = [thing(name) for name in PUBLIC if callable(thing(name))]
    assert [name for name in entries() if name not in PUBLIC and not any(thing(name) is one for one in promised)] == []


def test_every_entry_has_an_example() -> None:
    assert [name for name in CALLABLE if not is_used(name)] == [], "give each a doctest, or use it in the code of its page"


def test_every_entry_says_what_it_refuses() -> None:
    silent = [name for name in CALLABLE if may_raise(thing(name)) and not REFUSES.search(words(name))]
    assert silent == [], "say what each raises, and when"


def test_every_entry_names_its_source() -> None:
    assert [name for name in CALLABLE if not SOURCE.search(words(name))] == [], "name the paper, or the page of theory"


def array_parameters(wanted: Any) -> list[str]:
    """Parameters of a function, or fields of a class, that are annotated as arrays."""
    annotations = vars(wanted).get("__annotations__", {})
    return [name for name, kind in annotations.items() if name[0] != "_" and name != "return" and ARRAY.search(str(kind))]


def test_every_promised_name_is_documented_with_the_shapes_of_its_arrays() -> None:
    for name in CALLABLE:
        said = inspect.getdoc(thing(name)) or ""
        assert said, name
        assert not array_parameters(thing(name)) or SHAPE.search(" ".join(said.split())), name


def test_every_promised_member_is_shown() -> None:
    """Its class shows its members, those that it inherits too where they are among the promised."""
    for owner, members in MEMBERS.items():
        entry = next(entry for name, entry in entries().items() if thing(name) is owner)
        shown = dir(owner) if ":inherited-members:" in entry.options else vars(owner)
        assert ":members:" in entry.options, owner
        assert [name for name in members.split() if name not in shown or not inspect.getdoc(getattr(owner, name))] == [], owner


def test_every_command_and_kind_has_its_table() -> None:
    marks = {(kind, name) for page in PAGES for kind, name in derived.MARK.findall(page.read_text(encoding="utf-8"))}
    assert {name for kind, name in marks if kind == "options"} == {name for name, _ in derived.commands(parser())}
    assert {name for kind, name in marks if kind == "keys"} == set(KINDS)
    assert {name for kind, name in marks if kind == "schema"} == set(SCHEMAS) - {"problem"}


def test_every_option_of_a_command_is_in_an_example_of_it() -> None:
    page = (REFERENCE / "command_line.md").read_text().replace("\\\n", "")
    examples = re.findall(r"^\$ .*$", page, re.MULTILINE)
    for name, made in derived.commands(parser()):
        given = {word for line in examples for part in re.findall(rf"dp-designer {name}\b(.*)", line) for word in part.split()}
        flags = [set(action.option_strings) for action in made._actions if action.option_strings]
        assert [sorted(flag) for flag in flags if not flag & (given | SAID_ONCE)] == [], name


def test_every_key_of_a_problem_file_says_what_it_means() -> None:
    page = derived.with_tables((REFERENCE / "problem_file_keys.md").read_text(encoding="utf-8"))
    rows = re.findall(r"^\| `([\w-]+)` \| (.*) \| .* \| (.*) \|$", page, re.MULTILINE)
    assert len(rows) > 300
    assert {key for key, fits, note in rows if not note.strip() and not re.fullmatch(r'`("[^"]*"|true)`', fits)} == set()

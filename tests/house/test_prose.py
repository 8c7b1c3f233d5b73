"""The prose rules that a machine can check: docstrings, first screens, and citations of the theory that exist."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").exists())
SOURCES = sorted([*(ROOT / "designer").rglob("*.py"), *(ROOT / "solvers").rglob("*.py")])
CITED = re.compile(r"docs/theory/(\w+\.md)(?:,\s+(?:sections?\s+)?(\d+)(?:(?:\s+(?:and|to)\s+|,\s+)(\d+)\b)?)?")
ARRAY = re.compile(r"NDArray|ndarray|ArrayLike|Floats|Integers|csr_array")
# A tuple of sizes, such as (N,), (n, s), (..., s), (n_1, ..., n_r) or (number of groups,).
SHAPE = re.compile(r"\((?:\.\.\.,|[\w +*/-]+,)(?: (?:\.\.\.|[\w +*/-]+),?)*\)")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def parsed(path: Path) -> ast.Module:
    """A file, parsed once a run."""
    return ast.parse(path.read_text())


def test_the_first_screen_says_what_a_file_is_for() -> None:
    """A sentence of at least four words, ended by a full stop or a colon before the first blank line."""
    openings = {named(path): (ast.get_docstring(parsed(path)) or "").split("\n\n")[0] for path in SOURCES}
    sentence = re.compile(r"(?:dX|[A-Z`|\"0-9])[^\n]*(?:\n[^\n]+)*[.:]$")
    assert {name: said for name, said in openings.items() if not sentence.match(said) or len(said.split()) < 4} == {}


def undocumented(module_name: str) -> Iterator[str]:
    """Public classes and functions without a docstring of their own, and public methods without one, own or inherited.

    The docstring of a protocol speaks for its members.
    """
    module = importlib.import_module(module_name)
    for name, found in vars(module).items():
        own = getattr(found, "__module__", None) == module_name and not name.startswith("_")
        if inspect.isfunction(found) and own and not found.__doc__:
            yield name
        if inspect.isclass(found) and own:
            if "__doc__" not in vars(found) or not found.__doc__ or found.__doc__.startswith(f"{name}("):
                yield name
            members = () if getattr(found, "_is_protocol", False) else methods(found)
            yield from (f"{name}.{method}" for method in members if not documented(found, method))


def documented(cls: type, method: str) -> bool:
    """Whether the class, or one that it inherits from, says what the method does."""
    return any(getattr(vars(base).get(method), "__doc__", None) for base in cls.__mro__)


def methods(cls: type) -> Iterator[str]:
    kinds = (property, cached_property, staticmethod, classmethod)
    for name, value in vars(cls).items():
        if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, kinds)):
            yield name


def test_everything_public_is_documented() -> None:
    silent = []
    for path in SOURCES:
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if parts[-1] != "__main__":
            silent += [f"{name}:{thing}" for thing in undocumented(name)]
    assert silent == []


def array_parameters(node: ast.stmt) -> list[str]:
    """Parameters of a function, or fields of a class, that are annotated as arrays."""
    if isinstance(node, FUNCTIONS):
        given = [(a.arg, a.annotation) for a in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]]
    else:
        body = node.body if isinstance(node, ast.ClassDef) else []
        given = [(ast.unparse(n.target), n.annotation) for n in body if isinstance(n, ast.AnnAssign)]
    return [name for name, kind in given if kind and not name.startswith("_") and ARRAY.search(ast.unparse(kind))]


def shapeless(body: list[ast.stmt]) -> Iterator[str]:
    """Public definitions that take arrays and whose own docstring gives no shape; without one they inherit it."""
    for node in body:
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)) and not node.name.startswith("_"):
            text = ast.get_docstring(node)
            if text is not None and array_parameters(node) and not SHAPE.search(" ".join(text.split())):
                yield node.name
            if isinstance(node, ast.ClassDef):
                yield from (f"{node.name}.{name}" for name in shapeless(node.body))


def test_array_parameters_have_shapes() -> None:
    assert [f"{named(path)}:{name}" for path in SOURCES for name in shapeless(parsed(path).body)] == []


def test_cited_theory_exists() -> None:
    """`docs/theory/name.md, section n` leads to a heading `## n. ...` of that page."""
    for path in SOURCES:
        for page, *numbers in CITED.findall(path.read_text()):
            text = (ROOT / "docs" / "theory" / page).read_text()
            for number in filter(None, numbers):
                assert re.search(rf"^## {number}\. ", text, re.MULTILINE), f"{named(path)}: {page}, section {number}"

"""The tests themselves: every one that is collected checks something."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SPEAKING = {"raises", "fail", "warns", "check_schema"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def called(function: ast.AST) -> set[str]:
    return {name_of(node) for node in ast.walk(function) if isinstance(node, ast.Call)}


def name_of(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def checks(function: ast.AST) -> bool:
    """Whether it asserts something that is no constant, expects an error, or calls a function that is named for asserting."""

    def speaks(node: ast.AST) -> bool:
        if isinstance(node, ast.Call):
            name = name_of(node)
            return name in SPEAKING or name.startswith("assert_") or name == "validate"
        return isinstance(node, ast.Assert) and not isinstance(node.test, ast.Constant)

    return any(map(speaks, ast.walk(function)))


def collected(tree: ast.Module) -> Iterator[ast.AST]:
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name.startswith("Test")]
    for node in [*tree.body, *(inner for room in classes for inner in room.body)]:
        if isinstance(node, FUNCTIONS) and node.name.startswith("test"):
            yield node


@cache
def trees() -> dict[Path, ast.Module]:
    """Every file of the tests and of the examples, parsed once a run."""
    return {path: ast.parse(path.read_text()) for folder in ("tests", "examples") for path in (ROOT / folder).rglob("*.py")}


def files_of_tests() -> Iterator[tuple[Path, ast.Module]]:
    """Those that pytest collects."""
    yield from ((path, tree) for path, tree in trees().items() if path.name.startswith("test_"))


def test_every_test_checks_something() -> None:
    """By itself, or by a function of the tests that does."""
    left = [(path, node) for path, tree in files_of_tests() for node in collected(tree) if not checks(node)]
    wanted = set().union(*(called(node) for _, node in left))
    made = re.compile(rf"def (?:{'|'.join(wanted)})\(")
    checkers = {
        node.name
        for path, tree in trees().items()
        if made.search(path.read_text())
        for node in ast.walk(tree)
        if isinstance(node, FUNCTIONS) and node.name in wanted and not node.name.startswith("test") and checks(node)
    }
    silent = [f"{path.relative_to(ROOT)}::{getattr(node, 'name', '')}" for path, node in left if not called(node) & checkers]
    assert silent == []


def test_what_checks_nothing_is_found() -> None:
    code = "def test_a():\n    x = 1\ndef test_b():\n    assert True\ndef test_c():\n    assert x\n"
    assert [checks(node) for node in collected(ast.parse(code))] == [False, False, True]


def test_no_list_of_cases_is_empty() -> None:
    empty = re.compile(r"parametrize\(\s*(?:\"[^\"]*\"|\[[^]]*\]|\([^)]*\))\s*,\s*(?:\[\s*\]|\(\s*\))")
    assert empty.search('@pytest.mark.parametrize("a", [])') and empty.search("parametrize(('a', 'b'), ())".replace("'", '"'))
    assert [path for path, _ in files_of_tests() if path.name != Path(__file__).name and empty.search(path.read_text())] == []


def test_a_file_of_tests_is_named_as_one_and_no_helper_is() -> None:
    """pytest collects `test_*.py` only, and takes every imported `test_...` for a test of the importing file."""
    for path, tree in trees().items():
        assert not list(collected(tree)) or path.name.startswith("test_"), path
        imported = [name.asname or name.name for n in tree.body if isinstance(n, ast.ImportFrom) for name in n.names]
        assert [name for name in imported if name.startswith("test")] == [], path

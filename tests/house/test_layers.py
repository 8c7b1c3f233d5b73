"""The layer rule: the contracts in pyproject.toml hold, as `lint-imports` says, no module imports itself, and rooms export."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import grimp

from tests.rooms import ABOUT, CONTRACTS

ROOT = Path(__file__).parents[2]


def modules(package: str) -> dict[str, Path]:
    found = {}
    for path in (ROOT / package).rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules("designer") | modules("solvers")


@cache
def tree(name: str) -> ast.Module:
    """A module, parsed once a run."""
    return ast.parse(MODULES[name].read_text(encoding="utf-8"))


def test_imports_keep_the_contracts() -> None:
    """In a process of its own: the linter closes the streams that it prints on."""
    command = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    ran = subprocess.run([sys.executable, "-c", command, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0 and "Contracts: 2 kept, 0 broken" in ran.stdout, ran.stdout + ran.stderr


def test_there_are_no_circles_and_nothing_imports_the_public_names() -> None:
    graph = grimp.build_graph("designer", "solvers", cache_dir=None)
    assert graph.modules == set(MODULES)
    assert graph.find_modules_that_directly_import("designer") <= {"designer.__main__"}
    list(TopologicalSorter({name: graph.find_modules_directly_imported_by(name) for name in graph.modules}).static_order())


def test_the_floors_that_readers_see_are_these() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["id"] == "floors")
    level = {room: floor for floor, rooms in enumerate(reversed(layers), -1) for room in rooms.split(" | ")}
    floors = {name: floor for name, floor in level.items() if (ROOT / "designer" / name).is_dir()}
    page, picture = ((ROOT / "docs" / name).read_text() for name in ("explanation/architecture.md", "_static/house.svg"))
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \|", page, re.MULTILINE)
    assert {name: int(floor) for floor, name in rows} == floors and len(rows) == len(floors)
    drawn = re.findall(r'x="([\d.]+)" y="(\d+)"[^>]*font-weight="600"[^>]*>(\w+)</text>', picture)
    rising = [name for _, _, name in sorted(drawn, key=lambda text: (-int(text[1]), float(text[0]))) if name != "solvers"]
    assert [floors[name] for name in rising] == sorted(floors.values())


def test_a_room_needs_another_where_it_is_about_that() -> None:
    """Whoever takes a room out that the core does not need loses what is about it (`tests/rooms.py`), and nothing else. What is
    imported inside functions is about that room where it runs."""
    floors = [layer.split(" | ") for layer in CONTRACTS[0]["layers"]]
    above = {room for floor in floors[: floors.index(["problem_file"])] for room in floor} - {"cli"}
    unlisted = []
    for name, path in MODULES.items():
        about = set().union(*(ABOUT.get(place, set()) for place in (path, *path.parents)))
        for node in tree(name).body if name.count(".") > 1 else []:
            package, _, rest = str(node.module if isinstance(node, ast.ImportFrom) else "").partition(".")
            room = rest.partition(".")[0]
            if package == "designer" and room in above - about - {name.split(".")[1]}:
                unlisted.append(f"{name} imports {room}")
    assert unlisted == []


def test_a_room_exports_and_does_nothing_else() -> None:
    """`__init__.py` holds a docstring, imports, also for type checkers alone, `__all__`, and where the names live that it loads
    when they are asked for."""

    def exports(node: ast.stmt) -> bool:
        if isinstance(node, ast.If):
            return ast.unparse(node.test) == "TYPE_CHECKING" and not node.orelse and all(map(exports, node.body))
        if isinstance(node, ast.Assign):
            lazily = ast.unparse(node).startswith("__getattr__, __dir__ = public_names(__name__, {")
            return lazily or ast.unparse(node.targets[0]) == "__all__"
        return isinstance(node, (ast.Import, ast.ImportFrom)) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        )

    for name, path in MODULES.items():
        if path.name == "__init__.py":
            assert [ast.unparse(node) for node in tree(name).body if not exports(node)] == [], name


def public_functions(name: str) -> set[str]:
    """The functions that a module defines, or, for a room, the names that it exports."""
    if MODULES[name].name == "__init__.py":
        body = [inner for node in tree(name).body for inner in (node.body if isinstance(node, ast.If) else [node])]
        return {alias.asname or alias.name for node in body if isinstance(node, ast.ImportFrom) for alias in node.names}
    return set(re.findall(r"^def ([a-z]\w*)", MODULES[name].read_text(encoding="utf-8"), re.MULTILINE))


def test_no_public_function_shadows_a_module() -> None:
    """Who writes `from designer.room import thing` gets the module of that name, whatever was imported before."""
    shadows = {}
    for name, path in MODULES.items():
        own = name if path.name == "__init__.py" else name.rpartition(".")[0]
        if hidden := {f"{own}.{function}" for function in public_functions(name)} & set(MODULES):
            shadows[name] = hidden
    assert shadows == {}

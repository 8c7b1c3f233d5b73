"""The layer rule: every import, function-local and type-only ones included, goes to the own room or a lower layer;
no circles."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
LAYERS = (
    {"base", "verifier"},
    {"problem", "promises", "sampling"},
    {"certified"},
    {"relations"},
    {"mechanisms"},
    {"tables"},
    {"families"},
    {"designing"},
    {"files"},
    {"accounts", "audit"},
    {"reports", "exchange"},
    {"cli", "designer", "accounting", "datasets", "extend", "invariants", "lattices", "metrics", "programs"},
)
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}


def modules(package: str) -> dict[str, Path]:
    found = {}
    for path in (ROOT / package).rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules("designer") | modules("solvers")


def imported(path: Path) -> set[str]:
    """The modules of the house that a file imports, wherever the import stands."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            inner = (f"{node.module}.{name.name}" for name in node.names)
            found |= {name if name in MODULES else node.module for name in inner}
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
    return found & set(MODULES)


@cache
def edges() -> dict[str, set[str]]:
    """What each module imports of the house, read once a run."""
    return {name: imported(path) - {name} for name, path in MODULES.items()}


def room(module: str) -> str:
    """The room of a module; what `python -m designer` starts stands beside the command line."""
    parts = module.split(".")
    return "cli" if parts[-1] == "__main__" and len(parts) == 2 else parts[1] if len(parts) > 1 else parts[0]


def test_every_room_has_a_layer() -> None:
    assert {room(name) for name in MODULES if name.startswith("designer")} <= set(LEVEL)


def test_imports_go_to_the_own_room_or_down() -> None:
    upwards = [
        f"{name} imports {target}"
        for name in sorted(MODULES)
        if name.startswith("designer")
        for target in sorted(edges()[name])
        if target.startswith("designer") and room(target) != room(name) and LEVEL[room(target)] >= LEVEL[room(name)]
    ]
    assert upwards == []


def test_the_floors_that_readers_see_are_these() -> None:
    page, picture = ((ROOT / "docs" / name).read_text() for name in ("explanation/architecture.md", "_static/house.svg"))
    page, picture = ((ROOT / "docs" / name).read_text() for name in ("explanation/architecture.md", "_static/house.svg"))
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \|", page, re.MULTILINE)
    floors = {name: LEVEL[name] for name in LEVEL if (ROOT / "designer" / name).is_dir()}
    assert {name: int(floor) for floor, name in rows} == floors and len(rows) == len(floors)
    drawn = re.findall(r'x="([\d.]+)" y="(\d+)"[^>]*font-weight="600"[^>]*>(\w+)</text>', picture)
    rising = [name for _, _, name in sorted(drawn, key=lambda text: (-int(text[1]), float(text[0]))) if name != "solvers"]
    assert [floors[name] for name in rising] == sorted(floors.values())


def test_there_are_no_circles() -> None:
    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        todo = list(edges()[start])
        while todo:
            module = todo.pop()
            if module not in seen:
                seen.add(module)
                todo += edges()[module]
        return seen

    assert [name for name in MODULES if name in reached(name)] == []


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
            assert [ast.unparse(node) for node in ast.parse(path.read_text()).body if not exports(node)] == [], name


def public_functions(path: Path) -> set[str]:
    """The functions that a module defines, or, for a room, that it exports."""
    body = [inner for node in ast.parse(path.read_text()).body for inner in (node.body if isinstance(node, ast.If) else [node])]
    defined = {node.name for node in body if isinstance(node, ast.FunctionDef)}
    exported = {name.asname or name.name for node in body if isinstance(node, ast.ImportFrom) for name in node.names}
    return {name for name in defined | (exported if path.name == "__init__.py" else set()) if not name.startswith("_")}


def test_no_public_function_shadows_a_module() -> None:
    """Who writes `from designer.room import thing` gets the module of that name, whatever was imported before."""
    shadows = {}
    for name, path in MODULES.items():
        own = name if path.name == "__init__.py" else name.rpartition(".")[0]
        if hidden := {f"{own}.{function}" for function in public_functions(path)} & set(MODULES):
            shadows[name] = hidden
    assert shadows == {}

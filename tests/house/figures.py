"""How large the house is, room by room, and how many files one call goes through: `python -m tests.house.figures`.

`budgets.toml` holds what each room may have; `tests/house/test_budgets.py` holds it to that.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).parents[2]
CORE = (
    *("base", "problem", "relations", "tradeoff", "certificate", "sampling", "mechanism"),
    *("designing", "files", "problem_file", "cli"),
)
CONSTANT = re.compile(r"^_?[A-Z][A-Z0-9_, ]* = .*\d", re.MULTILINE)


@cache
def sources() -> dict[Path, str]:
    """The files of the two packages, from the root on."""
    paths = [path for top in ("designer", "solvers") for path in sorted((ROOT / top).rglob("*.py"))]
    return {path.relative_to(ROOT): path.read_text() for path in paths if "docs" not in path.relative_to(ROOT).parts}


def room_of(path: Path) -> str:
    """The room of a file: a folder of `designer`, or `solvers`, or "limits"; "" for the public names beside the rooms."""
    if path.parts[0] == "solvers":
        return "solvers"
    return path.parts[1] if len(path.parts) > 2 else "limits" if path.name == "limits.py" else ""


def imported(text: str) -> Iterator[str]:
    """The modules of the packages that a file imports, inside functions and for types too."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in ("designer", "solvers"):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if is_module(name) else str(node.module) for name in names)


@cache
def is_module(name: str) -> bool:
    """Whether a dotted name is a file or a folder of the packages."""
    place = ROOT / name.replace(".", "/")
    return place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()


def rooms() -> dict[str, dict[str, int]]:
    """Of each room: lines, files, constants with a number, and other rooms that it imports; the limits are open to all."""
    found: dict[str, dict[str, int]] = {}
    others: dict[str, set[str]] = {}
    for path, text in sources().items():
        room = room_of(path)
        own = found.setdefault(room, {"lines": 0, "files": 0, "constants": 0})
        own["lines"] += len(text.splitlines())
        own["files"] += 1
        own["constants"] += len(CONSTANT.findall(text))
        reached = {name.split(".")[1] for name in imported(text) if name.startswith("designer.")}
        others.setdefault(room, set()).update(reached - {room, "limits"})
    return {room: {**own, "rooms": len(others[room])} for room, own in sorted(found.items())}


def classes_given_twice() -> list[str]:
    """Names that two files give a class; the second verifier mirrors the program and may repeat its names."""
    texts = [text for path, text in sources().items() if room_of(path) != "verifier"]
    classes = Counter(name for text in texts for name in re.findall(r"^class (\w+)", text, re.MULTILINE))
    return sorted(name for name, count in classes.items() if count > 1)


def whole() -> dict[str, float]:
    """Figures of the whole house."""
    counted, importers = rooms(), Counter[str]()
    for text in sources().values():
        importers.update(set(imported(text)))
    lines = [line for text in sources().values() for line in text.splitlines()]
    tests, imports = list((ROOT / "tests").rglob("*.py")), sum(bool(re.match(r"\s*(from|import) ", line)) for line in lines)
    return {
        "lines of the product": len(lines),
        "files of the product": len(sources()),
        "lines of the core": sum(counted[room]["lines"] for room in CORE),
        "files of the core": sum(counted[room]["files"] for room in CORE),
        "lines of tests": sum(len(path.read_text().splitlines()) for path in tests),
        "files with one importer": sum(count == 1 for count in importers.values()),
        "per cent of lines that import": round(100 * imports / len(lines), 1),
        "class names given twice": len(classes_given_twice()),
    }


def files_run(call: Callable[[], object]) -> tuple[int, int]:
    """How many files of the packages run in a call that was made before, and how often it goes from one room to another."""
    call()
    seen, walk = set[Path](), list[str]()

    def note(frame: FrameType, event: str, argument: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and ROOT in path.parents and (own := path.relative_to(ROOT)) in sources():
            seen.add(own)
            if not walk or walk[-1] != room_of(own):
                walk.append(room_of(own))

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return len(seen), len(walk)


def main() -> None:
    """Prints all figures."""
    from designer import Problem, Workload, design, load, metrics

    for name, figure in whole().items():
        print(f"{figure:>10,}  {name}")
    problem = Problem(Workload.identity(8), metrics.uniform(8, 1.0))
    spec = ROOT / "tests" / "data" / "specs" / "family_rounded.json"
    for words, call in (
        ('design(problem, "laplace")', lambda: design(problem, "laplace")),
        ("load(path).verify()", lambda: load(spec).verify()),
    ):
        files, stays = files_run(call)
        print(f"{files:>10,}  files that {words} runs, in {stays:,} stays in rooms")
    print("\nroom             lines  files  constants  other rooms")
    for room, own in rooms().items():
        print(f"{room or 'public names':<14} {own['lines']:>7,} {own['files']:>6} {own['constants']:>10} {own['rooms']:>12}")


if __name__ == "__main__":
    main()

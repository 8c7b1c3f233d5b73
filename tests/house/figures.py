"""The figures of the house: how much there is of it, and how much of it a first design, release and verification enter.

    python -m tests.house.figures

prints them, for a look at a change before and after it. They are no goals, and no test holds them.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from designer.files.kinds import LISTED
from tests.house.test_layers import LAYERS, MODULES, ROOT, edges
from tests.house.test_public_names import DEEPER, NAMES

SMALLEST = """
from designer import Problem, Workload, design, load, metrics
asked = Problem(Workload([[1, 1, 0], [0, 0, 1]]), metrics.uniform(3, 1.0))
"""
# What is entered: calls of functions of the house, told apart by their files, while the last line runs.
WALKS = {
    "design": ("", "made = design(asked, 'laplace')"),
    "release": ("made = design(asked, 'laplace')", "made.mechanism.release([1, 2, 3])"),
    "verify": ("made = design(asked, 'laplace'); made.mechanism.save('spec.json')", "load('spec.json').verify()"),
}
TRACED = """
import inspect, sys
entered = set()
def look(frame, event, argument):
    if event == "call" and frame.f_code.co_flags & inspect.CO_NEWLOCALS:  # no module, no body of a class
        entered.add(frame.f_code.co_filename)
sys.setprofile(look)
{last}
sys.setprofile(None)
print(*sorted(entered), sep="\\n")
"""


def lines(path: Path) -> int:
    """How many lines a file has."""
    return len(path.read_text().splitlines())


def import_lines(path: Path) -> int:
    """How many lines of a file are imports, those over several lines with all of them."""
    nodes = ast.walk(ast.parse(path.read_text()))
    return sum((n.end_lineno or n.lineno) - n.lineno + 1 for n in nodes if isinstance(n, (ast.Import, ast.ImportFrom)))


def importers() -> dict[str, set[str]]:
    """Which modules import each module; rooms that only hand names on do not count."""
    found = defaultdict(set)
    for name, path in MODULES.items():
        if path.name != "__init__.py":
            for target in edges()[name]:
                found[target].add(name)
    return found


def printed_by(code: str, folder: str) -> list[str]:
    """What a program prints, run in a fresh interpreter in a folder of its own."""
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.splitlines()


def entered(before: str, last: str) -> tuple[int, int]:
    """Files of the house that a line of code enters, and their lines."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        found = printed_by(f"{SMALLEST}{before}\n{TRACED.format(last=last)}", folder)
    own = [Path(name) for name in found if name.startswith((f"{ROOT}/designer", f"{ROOT}/solvers"))]
    return len(own), sum(map(lines, own))


def loaded_by(code: str) -> int:
    """Modules of the house that a fresh interpreter has loaded after some code."""
    (found,) = printed_by(
        f"{code}\nprint(sum(name.partition('.')[0] in ('designer', 'solvers') for name in sys.modules))", "."
    )[-1:]
    return int(found)


def asked_for_kinds() -> int:
    """Places outside the mechanisms that ask with `isinstance` whether something is one of their classes."""
    kinds = {"Mechanism", *(kind.mechanism.partition(":")[2] for kind in LISTED)}
    homes = [path for path in MODULES.values() if path.relative_to(ROOT).parts[1] in ("mechanisms", "tables")]
    places = 0
    for path in MODULES.values():
        if path not in homes:
            calls = (n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call) and len(n.args) == 2)
            named = (n.args[1] for n in calls if isinstance(n.func, ast.Name) and n.func.id == "isinstance")
            places += sum(any(isinstance(x, ast.Name) and x.id in kinds for x in ast.walk(name)) for name in named)
    return places


def figures() -> dict[str, object]:
    """Every figure by its name."""
    paths = list(MODULES.values())
    users = importers()
    single = [name for name in MODULES if len(users[name]) == 1]
    next_door = [name for name in single if next(iter(users[name])).rpartition(".")[0] == name.rpartition(".")[0]]
    total = sum(map(lines, paths))
    rooms = {
        path.relative_to(ROOT).parts[1] for path in paths if path.relative_to(ROOT).parts[0] == "designer" and len(path.parts)
    }
    made: dict[str, object] = {
        "rooms of designer": len({room for room in rooms if not room.endswith(".py")}),
        "floors": len(LAYERS),
        "files": len(paths),
        "lines": total,
        "files with one importer": len(single),
        "of these next to it": len(next_door),
        "share of import lines": f"{sum(map(import_lines, paths)) / total:.1%}",
        "public names": sum(len(names.split()) for names in (NAMES | DEEPER).values()),
        "isinstance on mechanisms elsewhere": asked_for_kinds(),
        "modules loaded by import designer": loaded_by("import sys, designer"),
        "modules loaded by --help": loaded_by(
            "import sys, io, contextlib\nfrom designer.cli import main\n"
            "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit): main(['--help'])"
        ),
    }
    for name, (before, last) in WALKS.items():
        files, entered_lines = entered(before, last)
        made[f"files entered by {name}"] = f"{files} ({entered_lines:,} lines)"
    return made


if __name__ == "__main__":
    for what, figure in figures().items():
        print(f"{what:40}{figure:>10,}" if isinstance(figure, int) else f"{what:40}{figure:>10}")

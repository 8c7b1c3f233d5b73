"""`python -m tests.nightly [--changed BASE] [PYTEST OPTIONS]`: the nightly tier of the rooms that a difference touches.

BASE is the commit that is compared with; without it all rooms are run. It prints which rooms it runs, why, and what it leaves
out, and ends with pytest's exit code.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
# What the tests of other folders than the packages' are.
ELSEWHERE = {"docs": ("tests/site",), "examples": ("tests/house", "tests/papers"), "README.md": ("tests/house", "tests/site")}
# Files that every test may read.
EVERYWHERE = ("pyproject.toml", "tests/conftest.py", "tests/oracles", "tests/data")
# Rooms that hold of everything, whatever changed.
ALWAYS = ("tests/house", "tests/throughout")


def rooms() -> list[str]:
    """Every room of tests, a folder below `tests/`; that of `solvers` is one for each of its folders."""
    folders = [*(ROOT / "tests").iterdir(), *(ROOT / "tests" / "solvers").iterdir()]
    holding = [folder for folder in folders if folder.is_dir() and folder.name != "solvers" and any(folder.rglob("test_*.py"))]
    return sorted(folder.relative_to(ROOT).as_posix() for folder in holding)


def rooms_of(file: str) -> tuple[str, ...]:
    """The rooms that a changed file touches, a path below the root; every room where all tests may read it."""
    parts = file.split("/")
    if file.startswith(EVERYWHERE):
        return tuple(rooms())
    if parts[0] in ("designer", "solvers", "tests"):
        below = parts[1:] if parts[0] in ("designer", "tests") else parts
        named = ["/".join(["tests", *below[:2]])] if below[0] == "solvers" else ["/".join(["tests", below[0]])]
        return tuple(room for room in named if room in rooms()) or ALWAYS
    return ELSEWHERE.get(parts[0], ())


def touched(files: Iterable[str]) -> dict[str, list[str]]:
    """The rooms to run, each with the files that touch it; `ALWAYS` where anything changed."""
    found = defaultdict(list)
    for file in files:
        for room in dict.fromkeys((*rooms_of(file), *ALWAYS)):
            found[room].append(file)
    return {room: found[room] for room in sorted(found)}


def changed_since(base: str) -> list[str]:
    """The files that differ from the commit, those that git does not track among them."""
    asked = (["diff", "--name-only", base, "--"], ["ls-files", "--others", "--exclude-standard"])
    ran = [subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout for words in asked]
    return sorted(set("".join(ran).split("\n")) - {""})


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the module says."""
    parser = argparse.ArgumentParser(prog="python -m tests.nightly", description="The nightly tier of the rooms that changed.")
    parser.add_argument("--changed", metavar="BASE", help="the commit that is compared with; all rooms without it")
    wanted, options = parser.parse_known_args(arguments)
    run = {room: ["all"] for room in rooms()}
    if wanted.changed:
        try:
            run = touched(changed_since(wanted.changed))
        except subprocess.CalledProcessError as error:
            parser.error(f"--changed {wanted.changed}: {error.stderr.strip()}")
    for room, files in run.items():
        more = f" and {len(files) - 3} more" if len(files) > 3 else ""
        print(f"{room}: {', '.join(files[:3])}{more}")
    print("left out:", ", ".join(room for room in rooms() if room not in run) or "nothing", "; and the heavy tier", flush=True)
    if not run:
        return 0
    return subprocess.run([sys.executable, "-m", "pytest", "-m", "nightly", *options, *run], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

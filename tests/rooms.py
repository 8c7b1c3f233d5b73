"""Rooms that were taken out of `designer`, with the files of their public names, and the tests that ask for them, which are
skipped.

All other tests run: where the code of a room imports one that is not there, they fail.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).parents[1]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
ROOMS = {room for floor in CONTRACTS[0]["layers"] for room in floor.split(" | ")}
ABSENT = {
    room for room in ROOMS if not (ROOT / "designer" / room).is_dir() and not (ROOT / "designer" / f"{room}.py").is_file()
}
# Of all rooms: lists of public names, budgets, pages.
OF_ALL = ("house", "site")
BY_NAME = ROOT / "designer" / "base" / "lazy_imports.py"
ASKING = (ROOT / "tests", ROOT / "benchmarks")


def needs(room: str) -> str:
    """Why a test is skipped."""
    return f"needs designer/{room}, which is not there"


def asked_for(error: BaseException | None) -> str | None:
    """The absent room that a test imported, or named: an address of a kind, a family, a public name. None for any other error,
    and where a room's own code imported it."""
    while error is not None:
        room = re.match(r"(?:designer|tests)\.(\w+)", getattr(error, "name", None) or "")
        if isinstance(error, ModuleNotFoundError) and room and room[1] in ABSENT:
            importer = _importer(error.__traceback__)
            return room[1] if importer == BY_NAME or any(map(importer.is_relative_to, ASKING)) else None
        family = getattr(error, "value", None)
        if isinstance(family, str) and (named := [room for room in ABSENT if family.startswith(f"{room}_")]):
            return named[0]
        error = error.__cause__ or error.__context__
    return None


def _importer(trace: TracebackType | None) -> Path:
    """The file of this project whose import failed."""
    found = Path()
    while trace is not None:
        file = Path(trace.tb_frame.f_code.co_filename)
        found = file if file.is_relative_to(ROOT) else found
        trace = trace.tb_next
    return found

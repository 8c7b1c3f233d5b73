"""Rooms that were taken out of `designer`, with the files of their public names, and the tests that ask for them, which are
skipped.

All other tests run: where the code of a room imports one that is not there, they fail, but for `ABOUT`.
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
ASKING = (ROOT / "tests", ROOT / "benchmarks", ROOT / "examples")
# Files, and whole rooms, that are about what another room makes: whoever asks for them asks for that room, too.
ABOUT = {
    ROOT / "designer" / place: rooms
    for place, rooms in {
        "audit/pairs.py": {"local", "verifier"},
        "cli": {"accounts"},
        "cli/account_command.py": {"lattice"},
        "cli/design_commands.py": {"publish"},
        "cli/export_commands.py": {"exchange"},
        "cli/page_commands.py": {"publish"},
        "cli/spec_commands.py": {"audit", "publish", "verifier"},
        "exchange": {"accounts"},
        "programs/channel_program.py": {"local"},
        "programs/marginals_program.py": {"domains", "tables"},
        "programs/preprocessing_program.py": {"synthetic"},
        "programs/statistical_program.py": {"averages"},
        "publish": {"accounts"},
        "publish/of_plans.py": {"tables"},
        "tables/other_noise.py": {"selection"},
    }.items()
}


def needs(room: str) -> str:
    """Why a test is skipped."""
    return f"needs designer/{room}, which is not there"


def asked_for(error: BaseException | None) -> str | None:
    """The absent room that a test imported, or named: an address of a kind, a family, a public name. None for any other error,
    and where a room's own code imported it."""
    while error is not None:
        room = re.match(r"(?:designer|tests)\.(\w+)", getattr(error, "name", None) or "")
        if isinstance(error, ModuleNotFoundError) and room and room[1] in ABSENT:
            importer = _importer(error.__traceback__, room[1])
            return room[1] if importer in (BY_NAME, ROOT) or any(map(importer.is_relative_to, ASKING)) else None
        family = getattr(error, "value", None)
        if isinstance(family, str) and (named := [room for room in ABSENT if family.startswith(f"{room}_")]):
            return named[0]
        error = error.__cause__ or error.__context__
    return None


def _importer(trace: TracebackType | None, room: str) -> Path:
    """The file of this project whose import failed, or that asked for one about the room; `ROOT` where a function about the
    room did, and where pytest asked for examples in docstrings."""
    found = ROOT
    while trace is not None:
        code = trace.tb_frame.f_code
        file = Path(code.co_filename)
        about = any(room in ABOUT.get(place, ()) for place in (file, *file.parents))
        if file.is_relative_to(ROOT) and not (about and code.co_name == "<module>"):
            found = ROOT if about else file
        trace = trace.tb_next
    return found

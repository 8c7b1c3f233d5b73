"""What is installed, what each extra would add, and how to get what is missing: doctor."""

from __future__ import annotations

import argparse
import platform
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from designer.base.printing import printed
from designer.base.version import VERSION
from designer.cli.installation import ADDS, WITHOUT_EXTRA, Diagnosis, found_here
from designer.cli.probes import OK

SICK = 8  # the exit code where something needed is broken
MARKS = {"ok": "ok", "missing": "--", "broken": "!!", "outside": "??"}


def add_doctor(made: argparse.ArgumentParser) -> None:
    """doctor."""
    made.set_defaults(run=_doctor, exit_code=lambda data: 0 if data["healthy"] else SICK)


def _doctor(options: argparse.Namespace) -> tuple[str, Any]:
    machine = {
        "dp_designer": VERSION,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
    }
    found = found_here()
    healthy = not any(entry.breaks for entry in found)
    return "\n".join(_lines(machine, found)), {
        **machine,
        "healthy": healthy,
        "purposes": {purpose: ADDS.get(purpose, "") for purpose in _purposes(found)},
        "found": [asdict(entry) for entry in found],
    }


def _purposes(found: Sequence[Diagnosis]) -> list[str]:
    return list(dict.fromkeys(entry.purpose for entry in found))


def _lines(machine: dict[str, str], found: Sequence[Diagnosis]) -> list[str]:
    """The findings by purpose, and what they come to."""
    lines = [f"dp-designer {machine['dp_designer']}, {machine['python']}, {machine['system']}"]
    for purpose in _purposes(found):
        lines += ["", _heading(purpose)]
        lines += [line for entry in found if entry.purpose == purpose for line in _of_one(entry)]
    return [*lines, "", _verdict(found)]


def _heading(purpose: str) -> str:
    title = f"For {purpose}" if purpose in WITHOUT_EXTRA else f"Extra {purpose}"
    return f"{title}: {ADDS[purpose]}" if ADDS.get(purpose) else title


def _of_one(entry: Diagnosis) -> list[str]:
    """What was found, and below it how to mend it."""
    parts = [part for part in (entry.version, entry.words) if part]
    state = "" if entry.state == OK else f"{entry.state if entry.state != 'outside' else 'outside the range'}: "
    line = f"  {MARKS[entry.state]} {entry.name:<20} {state}{printed('; '.join(parts)) if parts else ''}".rstrip(": ")
    return [line, *([f"     {'':<20} {entry.remedy}"] if entry.remedy else [])]


def _verdict(found: Sequence[Diagnosis]) -> str:
    broken = [entry.name for entry in found if entry.breaks]
    if broken:
        return f"Broken, and needed: {', '.join(broken)}."
    lacking = [name for name in _purposes(found) if any(entry.purpose == name and entry.state != OK for entry in found)]
    return "Everything that is needed works." + (f" Not complete: {', '.join(lacking)}." if lacking else "")

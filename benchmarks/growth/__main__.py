"""Size against seconds and memory, fitted exponents, and the largest size within ten minutes and 8 GB, of every case.

    OMP_NUM_THREADS=1 python -m benchmarks.growth [--small] [--largest] [--each SECONDS] [words of names ...] [--json FILE]

Every file of this folder that has ``CASES`` takes part; which growth each one shows is said in the folder's ``__init__``. A
full run takes about 45 processor seconds for each case at most, forty minutes in all, on one core. With ``--largest`` every
case goes on until the time or the memory is used up, ten minutes and 8 GB for a size: name the cases, or leave it a day. With
``--json`` the figures are kept in a file, with the machine, and each case with the commit it was measured at, where cases that
are measured anew replace theirs.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pkgutil
import platform
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any

import benchmarks.growth as folder
from benchmarks.growth.case import EACH, Case, Point, exponent, measured


def cases(words: list[str]) -> list[Case]:
    """All cases whose name holds one of some words; all of them without words."""
    modules = (importlib.import_module(f"{folder.__name__}.{found.name}") for found in pkgutil.iter_modules(folder.__path__))
    found = [case for module in modules for case in getattr(module, "CASES", ())]
    return [case for case in found if not words or any(word in case.name for word in words)]


def table(case: Case, small: bool, largest: bool, each: float) -> dict[str, Any]:
    """Measure a case, print its rows as they come, and return what is kept of it."""
    print(f"\n{case.name}\n{case.unit:>14}{'s':>10}{'processor s':>13}{'MB':>8}  result", flush=True)
    points: list[Point] = []
    ended = ""
    for found in measured(case, small, largest, each):
        if isinstance(found, str):
            ended = found
            continue
        points.append(found)
        figures = f"{found.size:>14,}{found.seconds:>10.2f}{found.processor:>13.2f}{found.megabytes:>8.0f}"
        print(f"{figures}  {found.result}", flush=True)
    grown = exponent(points)
    reached = points[-1].size if points else None
    said = "no exponent: too fast to tell" if grown is None else f"processor seconds grow as size^{grown:.2f} at last"
    print(f"{said}; largest: {reached} {case.unit} ({ended})", flush=True)
    kept = [asdict(point) for point in points]
    return {"commit": commit(), "unit": case.unit, "exponent": grown, "largest": reached, "ended": ended, "points": kept}


def commit() -> str:
    """The commit that is measured, and whether files differ from it."""
    command = ["git", "describe", "--always", "--abbrev=40", "--dirty"]
    said = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return said.stdout.strip() or "unknown"


def main() -> None:
    """Print the tables, and keep them where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--small", action="store_true", help="the first two sizes of each case")
    parser.add_argument("--largest", action="store_true", help="larger sizes until one takes over ten minutes or 8 GB")
    parser.add_argument("--each", type=float, default=EACH, help="processor seconds of a case, without --largest")
    parser.add_argument("--json", type=Path, help="keep the figures in this file")
    asked = parser.parse_args()
    spent, measured_cases = 0.0, cases(asked.words)
    for case in measured_cases:
        found = table(case, asked.small, asked.largest, asked.each)
        spent += sum(point["processor"] for point in found["points"])
        if asked.json is not None:
            keep(asked.json, {case.name: found})
    print(f"\n{len(measured_cases)} cases, {spent / 60:.1f} minutes of processor time in what was measured")


def keep(path: Path, figures: dict[str, Any]) -> None:
    """Write the figures of some cases beside those of others, so that a run that is ended loses none."""
    kept = json.loads(path.read_text())["cases"] if path.exists() else {}
    machine = {"python": platform.python_version(), "processor": platform.machine(), "cores": os.cpu_count()}
    path.write_text(json.dumps({"machine": machine, "cases": kept | figures}, indent=1) + "\n")


if __name__ == "__main__":
    main()

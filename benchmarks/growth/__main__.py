"""Size against seconds and memory, fitted exponents, and the largest size within ten minutes and 8 GB, of every case.

    OMP_NUM_THREADS=1 python -m benchmarks.growth [--small] [words of names ...] [--json FILE]

Every file of this folder that has ``CASES`` takes part. With ``--json`` the figures are kept in a file, where cases that are
measured anew replace theirs.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pkgutil
import platform
from dataclasses import asdict
from pathlib import Path
from typing import Any

import benchmarks.growth as folder
from benchmarks.growth.case import Case, Point, exponent, measured


def cases(words: list[str]) -> list[Case]:
    """All cases whose name holds one of some words; all of them without words."""
    modules = (importlib.import_module(f"{folder.__name__}.{found.name}") for found in pkgutil.iter_modules(folder.__path__))
    found = [case for module in modules for case in getattr(module, "CASES", ())]
    return [case for case in found if not words or any(word in case.name for word in words)]


def table(case: Case, small: bool) -> dict[str, Any]:
    """Measure a case, print its rows as they come, and return what is kept of it."""
    print(f"\n{case.name}\n{case.unit:>14}{'s':>10}{'processor s':>13}{'MB':>8}  result", flush=True)
    points: list[Point] = []
    for point in measured(case, small):
        points.append(point)
        print(
            f"{point.size:>14,}{point.seconds:>10.2f}{point.processor:>13.2f}{point.megabytes:>8.0f}  {point.result}",
            flush=True,
        )
    grown = exponent(points)
    largest = points[-1].size if points else None
    ended = "the largest that was tried" if len(points) == len(case.sizes) else "the next one took over ten minutes or 8 GB"
    said = "no exponent: too fast to tell" if grown is None else f"seconds grow as size^{grown:.2f}"
    print(f"{said}; largest: {largest} {case.unit} ({'small run' if small else ended})", flush=True)
    return {"unit": case.unit, "exponent": grown, "largest": largest, "points": [asdict(point) for point in points]}


def main() -> None:
    """Print the tables, and keep them where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--small", action="store_true", help="the first two sizes of each case")
    parser.add_argument("--json", type=Path, help="keep the figures in this file")
    asked = parser.parse_args()
    figures = {case.name: table(case, asked.small) for case in cases(asked.words)}
    if asked.json is not None:
        kept = json.loads(asked.json.read_text())["cases"] if asked.json.exists() else {}
        machine = {"python": platform.python_version(), "processor": platform.machine(), "cores": os.cpu_count()}
        asked.json.write_text(json.dumps({"machine": machine, "cases": kept | figures}, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""`auto` against the best single family and against folklore, its time beside that of the winner alone, and whether a busy
machine changes what is designed: 200 problems of ten kinds (`tests/oracles/asked_problems.py`).

(a) Every problem is designed twice, the second time beside three busy processes; fingerprints are compared. (b) Every family
that serves it is designed with "thorough" effort and every choice of options that "auto" knows; the least loss of these and of
"auto" itself is what "auto" is measured by. (c) Folklore: the baseline "uniform_budget", and whole-number geometric noise on
the finest cells that the queries tell apart, added up, or on each query (`tests/oracles/folklore.py`). (d) Seconds
of the processor, so that a busy machine counts less: of `auto`, and of the family and options that it chose, alone, at the same
effort.

A row for each problem is added to a file; problems whose rows it has are left out, so that a run goes on where another ended.

    python -m benchmarks.auto_choice --rows FILE [--of-each 20] [--kind WORDS] [--effort normal] [--seconds 3600] [--busy 3]
    python -m benchmarks.auto_choice --rows FILE --summary
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from designer import Problem, Workload, design, metrics
from designer.base.errors import Refusal
from designer.designing.choosing import automatic_families, ways_of
from tests.oracles.asked_problems import KINDS, OF_EACH, asked, names
from tests.oracles.folklore import folklore

LIMITS = (1.001, 1.02)  # of loss over the least: for 95 of 100, and for all
Row = Mapping[str, Any]


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """So many processes that do nothing but count, while the block runs."""
    running = [multiprocessing.get_context("spawn").Process(target=_count, daemon=True) for _ in range(processes)]
    for one in running:
        one.start()
    try:
        yield
    finally:
        for one in running:
            one.kill()
            one.join()


def _count() -> None:
    parent = os.getppid()
    while os.getppid() == parent:  # not beyond a run that was stopped
        math.sqrt(2.0)


def every_family(problem: Problem) -> dict[str, tuple[float, float]]:
    """The losses of all ways with the work of "thorough", and their seconds."""
    losses = {}
    for way in ways_of(automatic_families(problem), problem):
        start = time.process_time()
        try:
            loss = design(problem, way.family.name, effort="thorough", **way.options).loss
        except Refusal:
            continue
        losses[way.name] = loss, time.process_time() - start
    return losses


def least_folklore(problem: Problem) -> float:
    """The least loss of what needs no design; infinite where nothing applies."""
    found = [folklore(problem)]
    with suppress(Refusal):
        found.append(design(problem, "uniform_budget").loss)
    return min(found)


def measured(kind: str, number: int, effort: str, processes: int) -> Row:
    """What one problem took."""
    problem = asked(kind, number)
    start = time.process_time()
    made = design(problem, effort=effort)
    seconds = time.process_time() - start
    with busy(processes):
        again = design(problem, effort=effort)
    tried = dict(made.mechanism.provenance["tried"])
    chosen = min((way for way in tried if tried[way].startswith("loss ")), key=lambda way: _said(tried[way]))
    (winner,) = (way for way in ways_of(automatic_families(problem), problem) if way.name == chosen)
    start = time.process_time()
    design(problem, winner.family.name, effort=effort, **winner.options)
    alone = time.process_time() - start
    start = time.process_time()
    losses = every_family(problem)
    spent = time.process_time() - start
    best = min(losses, key=lambda way: losses[way][0])
    return {
        "kind": kind,
        "number": number,
        "effort": effort,
        "chosen": chosen,
        "loss": made.loss,
        "efficiency": made.efficiency,
        "seconds": seconds,
        "alone": alone,
        "best": best,
        "least": losses[best][0],
        "seconds_of_all": spent,
        "folklore": least_folklore(problem),
        "same": made.mechanism.fingerprint == again.mechanism.fingerprint,
        "fingerprint": made.mechanism.fingerprint,
        "cut": made.cut,
        "why": tried.get(best, ""),
        "skipped": sum("not started" in words for words in tried.values()),
        "ways": len(tried),
        "commit": _commit(),
    }


def _said(words: str) -> float:
    return float(words.split()[1].rstrip(","))


def _commit() -> str:
    told = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    return subprocess.run(told, capture_output=True, text=True, check=False).stdout.strip()


def read(path: Path) -> list[Row]:
    """The rows of a file, none where there is none."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def line_of(row: Row) -> str:
    """One problem: what `auto` chose, what is the best, and both times."""
    worse = f"  {row['loss'] / row['least']:.4f} times it: {row['why']}" if row["loss"] > row["least"] * LIMITS[0] else ""
    worse += "" if row["loss"] <= row["folklore"] * (1 + 1e-9) else f"  above folklore, {row['folklore']:.4g}"
    worse += "" if row["same"] else "  ANOTHER DESIGN beside busy processes"
    name = f"{row['kind']} {row['number']}"
    chosen = f"{name:22} {row['chosen']:28} {row['loss']:10.4g} {row['seconds']:7.2f} s"
    return f"{chosen} | {row['best']:28} {row['least']:10.4g} {row['seconds_of_all']:7.2f} s{worse}"


def summary_of(rows: Sequence[Row]) -> str:
    """(a) to (d)."""
    excess = np.array([row["loss"] / min(row["loss"], row["least"]) for row in rows])
    over = np.array([row["loss"] / row["folklore"] for row in rows])
    seconds = np.array([row["seconds"] for row in rows])
    ratios = np.array([row["seconds"] / row["alone"] for row in rows if row["alone"] > 0])
    kinds = [kind for kind in KINDS if any(row["kind"] == kind for row in rows)]
    return "\n".join(
        [
            f"{len(rows)} problems of {len(kinds)} kinds",
            f"(a) {sum(row['same'] for row in rows)} of {len(rows)} fingerprints are equal beside busy processes",
            f"(b) loss over the least of all families, thorough: at most {LIMITS[0]} in {np.mean(excess <= LIMITS[0]):.1%}, "
            f"95 % at most {np.quantile(excess, 0.95):.4f}, all at most {excess.max():.4f}",
            f"(c) loss over folklore: all at most {over.max():.4f}, median {np.median(over):.3f}",
            f"(d) seconds of the processor: median {np.median(seconds):.2f}, 95 % {np.quantile(seconds, 0.95):.1f}; over the "
            f"winner alone: median {np.median(ratios):.1f}, 95 % {np.quantile(ratios, 0.95):.1f}",
        ]
        + [_of_kind(kind, [row for row in rows if row["kind"] == kind]) for kind in kinds]
    )


def _of_kind(kind: str, rows: Sequence[Row]) -> str:
    excess = max(row["loss"] / min(row["loss"], row["least"]) for row in rows)
    over = max(row["loss"] / row["folklore"] for row in rows)
    ratio = np.median([row["seconds"] / row["alone"] for row in rows])
    seconds = np.median([row["seconds"] for row in rows])
    told = f"over the least {excess:.4f}, over folklore {over:.4f}, {seconds:.2f} s, {ratio:.1f} x alone"
    return f"    {kind:18} {len(rows):3}: {told}"


def main() -> None:
    """One line a problem that is new; at the end the ratios of all in the file."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--rows", type=Path, required=True, help="a file, a row a line")
    parser.add_argument("--of-each", type=int, default=OF_EACH, help="problems of each kind")
    parser.add_argument("--kind", default="", help="words of the kinds")
    parser.add_argument("--effort", default="normal")
    parser.add_argument("--seconds", type=float, default=math.inf, help="on the clock, after which no problem is started")
    parser.add_argument("--busy", type=int, default=3, help="processes beside the second design")
    parser.add_argument("--summary", action="store_true", help="what the file has, nothing new")
    given = parser.parse_args()
    rows, end = read(given.rows), time.monotonic() + given.seconds
    known = {(row["kind"], row["number"], row["effort"]) for row in rows}
    design(Problem(Workload([[0.0, 1.0]]), metrics.uniform(2, 1.0)))  # imports, outside the measurement
    for kind, number in () if given.summary else names(given.of_each):
        if given.kind in kind and (kind, number, given.effort) not in known and time.monotonic() < end:
            row = measured(kind, number, given.effort, given.busy)
            with given.rows.open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(line_of(row), flush=True)
            rows.append(row)
    if rows:
        print(summary_of([row for row in rows if row["effort"] == given.effort]))


if __name__ == "__main__":
    main()

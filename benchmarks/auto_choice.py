"""`auto` against the best single family and against folklore, its time beside that of the winner alone, and whether a busy
machine changes what is designed: 200 problems of ten kinds (`tests/oracles/asked_problems.py`).

(a) Every problem is designed twice, the second time beside three busy processes; fingerprints are compared. (b) Every family
that serves it is designed with "thorough" effort and every choice of options that "auto" knows; the least loss of these and of
"auto" itself is what "auto" is measured by. Where statistics are published, that is the least of what agrees with them, and
where counts are asked, of whole numbers. (c) Folklore: the baseline "uniform_budget", and whole-number geometric noise on
the finest cells that the queries tell apart, added up, or on each query (`tests/oracles/folklore.py`). (d) Seconds
of the processor, so that a busy machine counts less: of `auto`; of the family and options that it chose, alone; and of that
family by its name, with the search that it then makes. Each begins with a problem that is made anew, so that all of them pay
for its reading, its sensitivity and the certificate of what they hand over.

A row for each problem is added to a file; problems whose rows it has are left out, so that a run goes on where another ended.
(b) is most of the time: with --without-all it is left out, and later runs add it; the last row of a problem counts.

    python -m benchmarks.auto_choice --rows FILE [--of-each 20] [--kind WORDS ...] [--effort normal] [--seconds 3600] [--busy 3]
                                     [--without-all]
    python -m benchmarks.auto_choice --rows FILE --summary

docs/guides/which_family.md shows the figures of benchmarks/auto_choice.jsonl.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from designer import Problem, design
from designer.base.errors import Refusal
from designer.designing.auto import automatic_families, runs_for
from designer.designing.design_result import rank_by_consistency
from tests.oracles.asked_problems import KINDS, OF_EACH, asked, names
from tests.oracles.folklore import folklore

ROWS = Path(__file__).with_suffix(".jsonl")
LIMITS = (1.001, 1.02)  # of loss over the least: for 95 of 100, and for all
Row = Mapping[str, Any]
T = TypeVar("T")
COUNTING = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"  # not beyond a run that was stopped


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """So many processes that do nothing but count, while the block runs."""
    running = [subprocess.Popen([sys.executable, "-I", "-S", "-c", COUNTING]) for _ in range(processes)]
    try:
        yield
    finally:
        for one in running:
            one.kill()
            one.wait()


def every_family(problem: Problem) -> dict[str, tuple[float, float]]:
    """The losses of all ways with the work of "thorough", and their seconds; where statistics are published, of those alone
    that agree with them, and where counts are asked, in whole numbers."""
    found = {}
    for way in runs_for(automatic_families(problem), problem):
        start = time.process_time()
        try:
            made = design(problem, way.family.name, effort="thorough", **way.options)
        except Refusal:
            continue
        found[way.name] = rank_by_consistency(problem, made)[0], made.loss, time.process_time() - start
    first = min(place for place, _, _ in found.values())
    return {name: (loss, seconds) for name, (place, loss, seconds) in found.items() if place == first}


def least_folklore(problem: Problem) -> float:
    """The least loss of what needs no design; infinite where nothing applies."""
    found = [folklore(problem)]
    with suppress(Refusal):
        found.append(design(problem, "uniform_budget").loss)
    return min(found)


def measured(kind: str, number: int, effort: str, processes: int) -> Row:
    """What one problem took, without (b)."""
    made, seconds = _timed(lambda: design(asked(kind, number), effort=effort))
    with busy(processes):
        again = design(asked(kind, number), effort=effort)
    tried = dict(made.mechanism.provenance["tried"])
    chosen = min((way for way in tried if tried[way].startswith("loss ")), key=lambda way: _said(tried[way]))
    problem = asked(kind, number)
    (winner,) = (way for way in runs_for(automatic_families(problem), problem) if way.name == chosen)
    _, alone = _timed(lambda: design(asked(kind, number), winner.family.name, effort=effort, **winner.options))
    _, by_name = _timed(lambda: design(asked(kind, number), winner.family.name, effort=effort))
    return {
        "kind": kind,
        "number": number,
        "effort": effort,
        "chosen": chosen,
        "loss": made.loss,
        "efficiency": made.efficiency,
        "seconds": seconds,
        "alone": alone,
        "by_name": by_name,
        "folklore": least_folklore(problem),
        "same": made.mechanism.fingerprint == again.mechanism.fingerprint,
        "fingerprint": made.mechanism.fingerprint,
        "cut": made.cut,
        "tried": tried,
        "commit": _commit(),
    }


def with_all(row: Row) -> Row:
    """The row with (b)."""
    losses, spent = _timed(lambda: every_family(asked(row["kind"], row["number"])))
    best = min(losses, key=lambda way: losses[way][0])
    return {**row, "best": best, "least": losses[best][0], "seconds_of_all": spent}


def _timed(compute: Callable[[], T]) -> tuple[T, float]:
    """What is computed, and the seconds of the processor."""
    start = time.process_time()
    return compute(), time.process_time() - start


def _said(words: str) -> float:
    return float(words.split()[1].rstrip(","))


def _commit() -> str:
    told = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    return subprocess.run(told, capture_output=True, text=True, check=False).stdout.strip()


def read(path: Path) -> list[Row]:
    """The rows of a file, the last of each problem; none where there is none."""
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return list({(row["kind"], row["number"], row["effort"]): row for row in rows}.values())


def line_of(row: Row) -> str:
    """One problem: what `auto` chose, what is the best, and both times."""
    told = f"{row['kind']} {row['number']:<3} {row['chosen']:34} {row['loss']:10.4g} {row['seconds']:7.2f} s"
    told += "" if row["loss"] <= row["folklore"] * (1 + 1e-9) else f"  above folklore, {row['folklore']:.4g}"
    told += "" if row["same"] else "  ANOTHER DESIGN beside busy processes"
    if "least" not in row:
        return told
    worse = row["loss"] > row["least"] * LIMITS[0]
    why = f"  {row['loss'] / row['least']:.4f} times it: {row['tried'].get(row['best'], '')}" if worse else ""
    return f"{told} | {row['best']:34} {row['least']:10.4g} {row['seconds_of_all']:7.2f} s{why}"


def summary_of(rows: Sequence[Row]) -> str:
    """(a) to (d)."""
    over = np.array([row["loss"] / row["folklore"] for row in rows])
    seconds = np.array([row["seconds"] for row in rows])
    kinds = [kind for kind in KINDS if any(row["kind"] == kind for row in rows)]
    excess = np.array([_excess(row) for row in rows if "least" in row])
    of_all = f"(b) loss over the least of all families, thorough, of {len(excess)} problems: "
    if len(excess):
        of_all += f"at most {LIMITS[0]} in {np.mean(excess <= LIMITS[0]):.1%}, at most {LIMITS[1]} in "
        of_all += f"{np.mean(excess <= LIMITS[1]):.1%}, all at most {excess.max():.4f}"
    times = [_spread("the winner's choice alone", [row["seconds"] / row["alone"] for row in rows])]
    times += [_spread("its family by its name", [row["seconds"] / row["by_name"] for row in rows])]
    return "\n".join(
        [
            f"{len(rows)} problems of {len(kinds)} kinds",
            f"(a) {sum(row['same'] for row in rows)} of {len(rows)} fingerprints are equal beside busy processes",
            of_all,
            f"(c) loss over folklore: all at most {over.max():.4f}, median {np.median(over):.3f}",
            f"(d) seconds of the processor: median {np.median(seconds):.2f}, 95 % {np.quantile(seconds, 0.95):.1f}; over "
            + "; over ".join(times),
        ]
        + [_of_kind(kind, [row for row in rows if row["kind"] == kind]) for kind in kinds]
    )


def _excess(row: Row) -> float:
    return float(row["loss"] / min(row["loss"], row["least"]))


def _spread(of: str, ratios: Sequence[float]) -> str:
    return f"{of}: median {np.median(ratios):.1f}, 95 % {np.quantile(ratios, 0.95):.1f}"


def _of_kind(kind: str, rows: Sequence[Row]) -> str:
    excess = max((_excess(row) for row in rows if "least" in row), default=math.nan)
    over = max(row["loss"] / row["folklore"] for row in rows)
    ratio = np.median([row["seconds"] / row["alone"] for row in rows])
    seconds = np.median([row["seconds"] for row in rows])
    told = f"over the least {excess:.4f}, over folklore {over:.4f}, {seconds:.2f} s, {ratio:.1f} x alone"
    return f"    {kind:18} {len(rows):3}: {told}"


def table(rows: Sequence[Row]) -> str:
    """A row for each kind of problems: the losses of the default over the least and over folklore, and its seconds."""
    kinds = {kind: [row for row in rows if row["kind"] == kind] for kind in KINDS}
    lines = ["| problems | how many | over the least of all | over folklore | seconds | times the winner alone |"]
    lines += ["| --- | ---: | ---: | ---: | ---: | ---: |"]
    lines += [_line_of_page(kind, own) for kind, own in kinds.items() if own]
    return "\n".join([*lines, _line_of_page("all", rows)])


def _line_of_page(name: str, rows: Sequence[Row]) -> str:
    worst = max((_excess(row) for row in rows if "least" in row), default=math.nan)
    over = max(row["loss"] / row["folklore"] for row in rows)
    seconds, ratio = (np.median([row["seconds"] / (row["alone"] if part else 1.0) for row in rows]) for part in (False, True))
    return f"| {name} | {len(rows)} | {_up(worst)} | {_up(over)} | {seconds:.2f} | {ratio:.1f} |"


def _up(ratio: float) -> str:
    """A ratio, rounded up but for what is rounding of floats."""
    return f"{math.ceil(ratio * 1e4 - 1e-4) / 1e4:.4f}"


def main() -> None:
    """One line a problem that is new; at the end the ratios of all in the file."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--rows", type=Path, default=ROWS, help="a file, a row a line")
    parser.add_argument("--of-each", type=int, default=OF_EACH, help="problems of each kind")
    parser.add_argument("--kind", nargs="*", default=[""], help="words of the kinds")
    parser.add_argument("--effort", default="normal")
    parser.add_argument("--seconds", type=float, default=math.inf, help="on the clock, after which no problem is started")
    parser.add_argument("--busy", type=int, default=3, help="processes beside the second design")
    parser.add_argument("--without-all", action="store_true", help="without (b), the loss over the least of all families")
    parser.add_argument("--summary", action="store_true", help="what the file has, nothing new")
    given = parser.parse_args()
    end = time.monotonic() + given.seconds
    rows = {(row["kind"], row["number"], row["effort"]): row for row in read(given.rows)}
    for kind in KINDS:  # imports, outside the measurement
        design(asked(kind, OF_EACH), effort="quick")
    for kind, number in () if given.summary else names(given.of_each):
        key = (kind, number, given.effort)
        done = key in rows and (given.without_all or "least" in rows[key])
        if not any(words in kind for words in given.kind) or done or time.monotonic() >= end:
            continue
        row = rows.get(key) or measured(kind, number, given.effort, given.busy)
        rows[key] = row if given.without_all else with_all(row)
        with given.rows.open("a") as file:
            file.write(json.dumps(rows[key]) + "\n")
        print(line_of(rows[key]), flush=True)
    if chosen := [row for row in rows.values() if row["effort"] == given.effort]:
        print(summary_of(chosen))


if __name__ == "__main__":
    main()

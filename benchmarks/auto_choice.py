"""`auto` against the best single family and against folklore, its time beside that of the winner alone, and whether a busy
machine changes what is designed: in one run.

Random problems of twelve kinds in turn (`tests/oracles/many_problems.py`): metrics, invariants, budgets per distance, records,
other notions. Every family that serves a problem is designed with every choice of options that "auto" knows, one after the
other and to its end; the least loss among them is what "auto" is measured by. Folklore: each query alone with the budget split
evenly (the baseline "uniform_budget"), and the finest cells that the queries tell apart, each with Laplace noise, added up.
Every problem is designed twice, the second time beside busy processes; their fingerprints are compared.

Seconds are those of the processor, so that a busy machine does not count.

    OMP_NUM_THREADS=1 python -m benchmarks.auto_choice [number of problems] [seed] [effort] [busy processes]
"""

from __future__ import annotations

import math
import multiprocessing
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import numpy as np

from designer import Problem, Workload, design, metrics
from designer.base.errors import Refusal
from designer.designing.choosing import automatic_families, ways_of
from tests.oracles.many_problems import problems

ALLOWED = 1e-3  # of the loss


@dataclass(frozen=True)
class Outcome:
    """What one problem took: the best single family with its loss and the seconds of all, and those of `auto`; those of the
    family that `auto` chose alone; the loss of folklore, infinite where it does not apply; whether both fingerprints agree."""

    name: str
    best: str
    least: float
    all_seconds: float
    chosen: str
    loss: float
    seconds: float
    alone: float
    folklore: float
    same: bool
    why: str

    @property
    def excess(self) -> float:
        """By how much the loss of `auto` is above the least, relatively."""
        return self.loss / self.least - 1


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
    while True:
        math.sqrt(2.0)


def every_family(problem: Problem) -> dict[str, tuple[float, float]]:
    """The losses of all families, each run to its end, and their seconds."""
    losses = {}
    for way in ways_of(automatic_families(problem), problem):
        start = time.process_time()
        try:
            loss = design(problem, way.family.name, **way.options).loss
        except Refusal:
            continue
        losses[way.name] = loss, time.process_time() - start
    return losses


def folklore(problem: Problem) -> float:
    """The least loss of what needs no design, under the problem's own relation; infinite where neither applies."""
    found = [math.inf]
    with suppress(Refusal):
        found.append(design(problem, "uniform_budget").loss)
    if problem.notion == "pure":
        matrix = problem.workload.dense()
        cells, where = np.unique(matrix, axis=1, return_inverse=True)
        try:
            rows = np.equal.outer(np.arange(cells.shape[1]), where.ravel())[cells.any(axis=0)]
            found.append(design(problem, strategy=rows.astype(float)).loss)
        except Refusal:
            pass
    return min(found)


def outcome(name: str, problem: Problem, effort: str, processes: int) -> Outcome:
    """Both ways, one after the other, and `auto` once more beside busy processes."""
    start = time.process_time()
    made = design(problem, effort=effort)
    loss = made.loss
    seconds = time.process_time() - start
    with busy(processes):
        again = design(problem, effort=effort)
    start = time.process_time()
    losses = every_family(problem)
    spent = time.process_time() - start
    best = min(losses, key=lambda way: losses[way][0])
    tried = made.mechanism.provenance["tried"]
    chosen = made.mechanism.family
    alone = min((took for way, (_, took) in losses.items() if way.split(",")[0] == chosen), default=math.nan)
    same = made.mechanism.fingerprint == again.mechanism.fingerprint
    return Outcome(
        name, best, losses[best][0], spent, chosen, loss, seconds, alone, folklore(problem), same, tried.get(best, "")
    )


def main() -> None:
    """One line a problem; at the end the ratios."""
    number, seed, effort, processes = (*sys.argv[1:], *("200", "1", "normal", "3")[len(sys.argv) - 1 :])
    design(Problem(Workload([[0.0, 1.0]]), metrics.uniform(2, 1.0)))  # imports, outside the measurement
    found = []
    for name, problem in problems(int(number), int(seed)):
        found.append(outcome(name, problem, effort, int(processes)))
        print(line_of(found[-1]), flush=True)
    print(summary_of(found))


def line_of(one: Outcome) -> str:
    """One problem: what `auto` chose, what is the best, and both times."""
    worse = f"  above it by {one.excess:.2%}: {one.why}" if one.excess > ALLOWED else ""
    worse += "" if one.loss <= one.folklore * (1 + 1e-9) else f"  above folklore, {one.folklore:.4g}"
    worse += "" if one.same else "  ANOTHER DESIGN beside busy processes"
    chosen = f"{one.name:40} {one.chosen:16} {one.loss:10.4g} {one.seconds:7.2f} s"
    return f"{chosen} | {one.best:34} {one.least:10.4g} {one.all_seconds:7.2f} s{worse}"


def summary_of(found: list[Outcome]) -> str:
    """How often `auto` is above the best single family and folklore, and its time beside that of the winner and of all."""
    seconds = np.array([[one.seconds, one.all_seconds] for one in found])
    middle, most, total = np.median(seconds, axis=0), seconds.max(axis=0), seconds.sum(axis=0)
    ratios = np.array([one.seconds / one.alone for one in found if one.alone > 0])
    worse = [one for one in found if one.excess > ALLOWED]
    return "\n".join(
        [
            f"\n{sum(one.same for one in found)} of {len(found)} fingerprints are equal beside busy processes",
            f"{len(worse)} of {len(found)} more than {ALLOWED:.1%} above the best single family",
            f"largest excess {max(one.excess for one in found):.2%}",
            f"{sum(one.loss > one.folklore * (1 + 1e-9) for one in found)} above folklore",
            f"auto: {middle[0]:.2f} s a problem (median), {most[0]:.1f} s (largest), {total[0]:.0f} s in all",
            f"auto over the winner alone: {np.median(ratios):.1f} (median), {np.quantile(ratios, 0.95):.1f} (95 %)",
            f"all families to their ends: {middle[1]:.2f} s, {most[1]:.1f} s, {total[1]:.0f} s",
            f"auto over all: {np.median(seconds[:, 0] / seconds[:, 1]):.2f} (median), {total[0] / total[1]:.2f} in all",
        ]
    )


if __name__ == "__main__":
    main()

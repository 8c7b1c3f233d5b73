"""`auto` against the best single family, and its time beside that of all families run to their ends, in one run.

Random problems of twelve kinds in turn (`tests/oracles/many_problems.py`): metrics, invariants, budgets per distance, records,
other notions. Every family that serves a problem is designed with every choice of options that "auto" knows, one after the
other and without a limit of time; the least loss among them is what "auto" is measured by.

Seconds are those of the processor, so that a busy machine does not count; the limit of `auto` is one of the clock.

    OMP_NUM_THREADS=1 python -m benchmarks.auto_choice [number of problems] [seed] [seconds allowed]
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

import numpy as np

from designer import Problem, Refusal, Workload, design, metrics
from designer.designing.choosing import SECONDS, automatic_families, ways_of
from tests.oracles.many_problems import problems

ALLOWED = 1e-3  # of the loss


@dataclass(frozen=True)
class Outcome:
    """What one problem took: the best single family with its loss and the seconds of all, and those of `auto`."""

    name: str
    best: str
    least: float
    all_seconds: float
    chosen: str
    loss: float
    seconds: float
    why: str

    @property
    def excess(self) -> float:
        """By how much the loss of `auto` is above the least, relatively."""
        return self.loss / self.least - 1


def every_family(problem: Problem) -> dict[str, float]:
    """The losses of all families, each run to its end."""
    losses = {}
    for way in ways_of(automatic_families(problem), problem):
        try:
            losses[way.name] = design(problem, way.family.name, **way.options).loss
        except Refusal:
            continue
    return losses


def outcome(name: str, problem: Problem, seconds: float) -> Outcome:
    """Both ways, one after the other."""
    start = time.process_time()
    made = design(problem, seconds=seconds)
    loss = made.loss
    middle = time.process_time()
    losses = every_family(problem)
    end = time.process_time()
    best = min(losses, key=losses.__getitem__)
    tried = made.mechanism.provenance["tried"]
    chosen = made.mechanism.family
    return Outcome(name, best, losses[best], end - middle, chosen, loss, middle - start, tried.get(best, ""))


def main() -> None:
    """One line a problem; at the end the ratios."""
    given = [float(x) for x in sys.argv[1:]]
    number, seed, allowed = (*given, *(100.0, 1.0, SECONDS)[len(given) :])
    design(Problem(Workload([[0.0, 1.0]]), metrics.uniform(2, 1.0)))  # imports, outside the measurement
    found = []
    for name, problem in problems(int(number), int(seed)):
        found.append(outcome(name, problem, allowed))
        print(line_of(found[-1]), flush=True)
    print(summary_of(found))


def line_of(one: Outcome) -> str:
    """One problem: what `auto` chose, what is the best, and both times."""
    worse = f"  above it by {one.excess:.2%}: {one.why}" if one.excess > ALLOWED else ""
    chosen = f"{one.name:40} {one.chosen:16} {one.loss:10.4g} {one.seconds:7.2f} s"
    return f"{chosen} | {one.best:34} {one.least:10.4g} {one.all_seconds:7.2f} s{worse}"


def summary_of(found: list[Outcome]) -> str:
    """How often `auto` is above the best single family, and its time beside that of all families."""
    seconds = np.array([[one.seconds, one.all_seconds] for one in found])
    middle, most, total = np.median(seconds, axis=0), seconds.max(axis=0), seconds.sum(axis=0)
    worse = [one for one in found if one.excess > ALLOWED]
    return "\n".join(
        [
            f"\n{len(worse)} of {len(found)} more than {ALLOWED:.1%} above the best single family",
            f"largest excess {max(one.excess for one in found):.2%}",
            f"auto: {middle[0]:.2f} s a problem (median), {most[0]:.1f} s (largest), {total[0]:.0f} s in all",
            f"all families to their ends: {middle[1]:.2f} s, {most[1]:.1f} s, {total[1]:.0f} s",
            f"auto over all: {np.median(seconds[:, 0] / seconds[:, 1]):.2f} (median), {total[0] / total[1]:.2f} in all",
        ]
    )


if __name__ == "__main__":
    main()

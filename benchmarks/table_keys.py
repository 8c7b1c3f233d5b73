"""What many keys cost: each line measures two ways side by side in one run, least of five in turns, and prints their ratio.

    python -m benchmarks.table_keys [rows, default 10^6]

"laws": a release with one variance for each of 200 listed groups, over one with a single variance. "unlisted": a release of 200
listed groups of a table where nearly every row is a group of its own, over the plain SQL aggregation of all of them that
fetches the 200; and the growth of the largest memory that this process held, in MB. "look-up": reading all of 20,000 answers by
their keys, over reading the values in a loop.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from designer.tables import Count, Groups, TablePlan

LISTED = 200
ROUNDS = 5


def ratio(slow: Callable[[], Any], plain: Callable[[], Any]) -> tuple[float, float]:
    """Seconds of both, least of some rounds in turns."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for call, kept in zip((slow, plain), seconds, strict=True):
            start = time.perf_counter()
            call()
            kept.append(time.perf_counter() - start)
    return min(seconds[0]), min(seconds[1])


def line(name: str, slow: Callable[[], Any], plain: Callable[[], Any]) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    first, second = ratio(slow, plain)
    more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"{name:>10}{first:>10.3f} s{second:>10.3f} s{first / second:>9.2f}{more:>9.0f} MB", flush=True)


def table(columns: dict[str, Any]) -> Any:
    import ibis
    import pyarrow as pa

    return ibis.memtable(pa.table(columns))


def laws() -> None:
    keys = [[i] for i in range(LISTED)]
    few = table({"k": np.arange(LISTED * 5) % LISTED})
    many = TablePlan((Count("n", Groups(["k"], keys), variance=tuple(50 + i for i in range(LISTED))),))
    one = TablePlan((Count("n", Groups(["k"], keys), variance=50),))
    line("laws", lambda: many.release(few), lambda: one.release(few))


def unlisted(rows: int) -> None:
    wide = table({"k": np.random.default_rng(1).integers(0, 2**40, rows)})
    plan = TablePlan((Count("n", Groups(["k"], [[i] for i in range(LISTED)]), variance=50),))
    grouped = wide.group_by("k").agg(n=wide.count())
    line("unlisted", lambda: plan.release(wide), lambda: grouped.limit(LISTED).to_pyarrow())


def look_up() -> None:
    keys = [[i] for i in range(20_000)]
    plan = TablePlan((Count("n", Groups(["k"], keys), variance=50),))
    answer = plan.release(table({"k": np.arange(100)}))["n"]
    line("look-up", lambda: [answer[key] for key in keys], lambda: [float(value) for value in answer.values])


if __name__ == "__main__":
    print(f"{'':>10}{'this':>12}{'plain':>12}{'ratio':>9}{'memory':>12}")
    laws()
    unlisted(int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**6)
    look_up()

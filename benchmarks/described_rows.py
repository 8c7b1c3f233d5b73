"""Queries that are not written out: processor seconds and memory from the problem to the release.

    python -m benchmarks.described_rows [case ...]

Each line is a process of its own: the design, the file (written and read again, which certifies it anew), one release, the size
of the file, and the most memory that the process had. Cases: counts of 10^3 to 10^6 elements, one group of seven elements each
of 10^6, 10^4 sparse queries with 10 entries over 10^5 elements, 10^5 ranges over 10^5 elements, counts with their total.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from designer import Problem, Workload, design, load, metrics

N = 10**5


def _sparse() -> Workload:
    rows = np.repeat(np.arange(10**4), 10)
    columns = np.random.default_rng(0).integers(0, N, len(rows))
    return Workload(csr_array((np.ones(len(rows)), (rows, columns)), shape=(10**4, N)))


def _ranges() -> Workload:
    ends = np.sort(np.random.default_rng(0).integers(0, N + 1, (10**5, 2)), axis=1)
    return Workload.ranges(N, ends[:, 0], ends[:, 1])


WORKLOADS: dict[str, Callable[[], Workload]] = {
    **{f"{size:,} counts": partial(Workload.identity, size) for size in (10**3, 10**4, 10**5, 10**6)},
    "groups of 7 among 1,000,000": lambda: Workload.partition(10**6, (np.arange(10**6) // 7).tolist()),
    "counts and total, 100,000": lambda: Workload.stack(Workload.identity(N), Workload.total(N)),
    "10,000 sparse queries": _sparse,
    "100,000 ranges": _ranges,
}
KINDS: dict[str, Any] = {"uniform": metrics.uniform, "add_remove": metrics.add_remove}
FAMILIES: dict[str, Any] = {"laplace": "pure", "diagonal_gaussian": "zcdp"}


def measured(name: str, kind: str, family: str) -> str:
    """A line of the table."""
    asked = WORKLOADS[name]()
    relation = KINDS[kind](asked.shape[1], 1.0)
    times = [time.process_time()]
    made = design(Problem(asked, relation, FAMILIES[family]), family).mechanism
    times.append(time.process_time())
    with TemporaryDirectory() as folder:
        path = made.save(Path(folder) / "spec.json")
        size, again = path.stat().st_size, load(path)
    times.append(time.process_time())
    again.release(np.ones(asked.shape[1], dtype=np.int64))
    times.append(time.process_time())
    seconds = "  ".join(f"{after - before:8.2f}" for before, after in pairwise(times))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return f"{name:28}  {kind:10}  {family:17}  {seconds}  {size / 1000:10,.0f}  {memory:8,.0f}"


def main(*given: str) -> None:
    """Print the table, or one line of it where a case, a relation and a family are given."""
    if len(given) == 3 and given[0] in WORKLOADS:
        print(measured(*given))
        return
    print(f"{'queries':28}  {'relation':10}  {'family':17}    design  save+load   release   file, kB        MB")
    for name in given or WORKLOADS:
        for kind in KINDS:
            for family in FAMILIES:
                command = [sys.executable, "-m", "benchmarks.described_rows", name, kind, family]
                print(subprocess.run(command, check=True, capture_output=True, text=True).stdout, end="", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Grouped sums with a policy against the same plain SQL aggregate,
on a Parquet file larger than the memory that DuckDB may take.

    python -m benchmarks.table_sums [rows, default 10^8] [memory limit, default 512MB] [folder]

Skewed rows (Pareto 1.2 and 1.5 in 1000 categories) are written once by DuckDB to a file in `folder` (a temporary one by
default), which is deleted at the end: about 1 GB for 10^8 rows. Each line: seconds of plain SQL (sum, count, GROUP BY), seconds
of the whole `plan.release` (aggregation, exact noise, answers), least of five in turns, and their ratio. "2 limbs": bounds so
far that a sum could leave 64 bits. "found": groups are found by their split rows, `SUM(m)` beside the sums,
here and in the plain SQL.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from designer.tables import Count, Groups, Measure, PartitionSelection, Sum, TablePlan, UnitSplitting, variance_for
from designer.tables.opening import open_table

CATEGORIES = 1000
ROUNDS = 5


def write(path: Path, rows: int) -> None:
    """Skewed rows, drawn by the engine itself in bounded memory."""
    import duckdb

    engine = duckdb.connect()
    engine.execute("SET threads = 2; SET preserve_insertion_order = false; SET memory_limit = '1GB'")
    draw = "1 / pow(1 - random(), 1 / {})"
    columns = (
        f"CAST(floor(random() * {CATEGORIES}) AS INTEGER) AS category, CAST({draw.format(1.2)} AS BIGINT) AS emp, "
        f"{draw.format(1.5)} AS pay"
    )
    engine.execute(f"COPY (SELECT {columns} FROM range({rows})) TO '{path}' (FORMAT parquet)")


def plans() -> dict[str, tuple[TablePlan, str]]:
    """Plans, and the plain SQL of the same exact numbers."""
    emp, pay, wide = Measure("emp", upper=10**8), Measure("pay", "0.01", upper=10**6), Measure("pay", "0.01", upper=10**9)
    public = Groups(["category"], [[i] for i in range(CATEGORIES)])
    split = UnitSplitting([emp, pay], [50, 50])
    found = Groups(["category"], selection=PartitionSelection.design("1/100", 1e-9, split))

    def queries(groups: Groups, *measures: Measure) -> TablePlan:
        sums = [Sum(f"sum of {m.column}", groups, variance=variance_for(50, "1/100"), measure=m) for m in measures]
        return TablePlan((*sums, Count("records", groups, variance=50)), UnitSplitting(measures, [50] * len(measures)))

    return {
        "whole numbers": (queries(public, emp), "sum(emp), count(*)"),
        "cents": (queries(public, pay), "sum(pay), count(*)"),
        "cents, 2 limbs": (queries(public, wide), "sum(pay), count(*)"),
        "both": (queries(public, emp, pay), "sum(emp), sum(pay), count(*)"),
        "both, found": (
            queries(found, emp, pay),
            "sum(emp), sum(pay), count(*), sum(greatest(1, ceil(emp / 50), ceil(pay / 50)))",
        ),
    }


def seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def run(path: Path, memory: str) -> None:
    """One line a plan."""
    table = open_table(path, memory=memory, threads=2)
    engine = table.get_backend().con
    print(f"{'plan':>16}{'plain SQL':>11}{'release':>9}{'ratio':>7}{'peak MB':>9}", flush=True)
    for name, (plan, columns) in plans().items():
        sql = f"SELECT category, {columns} FROM read_parquet('{path}') GROUP BY category"
        plain, private = [], []
        for _ in range(ROUNDS):
            plain.append(seconds(lambda sql=sql: engine.execute(sql).fetchall()))  # type: ignore[misc]
            private.append(seconds(lambda plan=plan: plan.release(table)))  # type: ignore[misc]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{name:>16}{min(plain):>11.2f}{min(private):>9.2f}{min(private) / min(plain):>7.2f}{peak:>9.0f}", flush=True)


if __name__ == "__main__":
    rows = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**8
    with tempfile.TemporaryDirectory(dir=sys.argv[3] if len(sys.argv) > 3 else None) as folder:
        path = Path(folder) / "rows.parquet"
        print(f"{rows:,} rows written in {seconds(lambda: write(path, rows)):.0f} s, {path.stat().st_size / 2**20:.0f} MB")
        run(path, sys.argv[2] if len(sys.argv) > 2 else "512MB")

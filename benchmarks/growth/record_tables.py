"""Plans of tables of records: how a release grows with rows, and a plan with its keys."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from benchmarks.growth.case import Case
from benchmarks.table_scale import DRAWN, levels, plan


def drawn(rows: int) -> Any:
    """Firms on the embedded engine."""
    import ibis

    engine = ibis.duckdb.connect(threads=2)
    engine.con.execute(f"create table t as {DRAWN.format(rows=rows)}")
    return engine.table("t")


def five_levels(table: Any) -> str:
    made = plan("five levels", levels()["five levels"])
    released = made.release(table)
    return f"{sum(len(answer.keys) for answer in released.answers.values()):,} numbers"


def kept(keys: int) -> str:
    """A plan of listed keys: made, saved, loaded and certified anew."""
    from designer.files.spec import load
    from designer.tables import Count, Groups, Measure, Sum, TablePlan

    listed = Groups(["state", "county"], [[f"S{i % 50:02d}", f"C{i // 50}"] for i in range(keys)])
    made = TablePlan([Sum("jobs", listed, variance=100, measure=Measure("emp")), Count("firms", listed, variance=5)])
    with tempfile.TemporaryDirectory() as folder:
        path = made.save(Path(folder) / "plan.json")
        return f"{path.stat().st_size / 2**20:.1f} MB, equal: {load(path) == made}"


CASES = (
    Case("table release, five levels", "rows", (10**6, 3 * 10**6, 10**7, 3 * 10**7), five_levels, drawn),
    Case("table plan, saved and loaded", "keys", (10_000, 30_000, 100_000, 300_000), kept),
)

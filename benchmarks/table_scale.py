"""Plans of tables against plain SQL and against what they were: each line is measured side by side in one run.

    python -m benchmarks.table_scale [rows, default 10^7]
    python -m benchmarks.table_scale spark [rows, default 10^6] [rows ...]

"levels": a release of sums of a whole number and (unless "no cents") of cents, and a count, by one level of 51 states or of
3,060 counties, and by five levels (nation, states, counties, sectors, states x sectors), over plain SQL of the same columns,
a statement for each level, least of three in turns; in brackets the ratio of processor seconds, which other work on the machine
does not touch.
"keys": seconds to save and to load a plan of 150,000 listed keys. "laws": a release of 150,000 groups with a variance each over
one with one variance. "quantiles": medians of 500 groups over their sums.

"spark": wall and processor seconds (those of the engine among them) of the same release of one Parquet file on DuckDB and on a
local Spark of two threads, and of plain SQL there, a statement for each level; and of marginals of three attributes, all pairs.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from designer import Domain, MarginalWorkload, Presence
from designer.domains.marginals_plan import design_marginals
from designer.files.spec import load
from designer.tables import Count, Groups, Measure, Quantile, Sum, TablePlan, hierarchy

STATES, COUNTIES, SECTORS = 51, 60, 20
EMP, PAY = Measure("emp", upper=10**6), Measure("pay", "0.01", upper=10**6)
ROUNDS = 3
DOMAIN = Domain.of({"state": [f"S{s:02d}" for s in range(STATES)], "county": COUNTIES, "sector": SECTORS})
DRAWN = """select concat('S', lpad((h % 51)::varchar, 2, '0')) as state, ((h % 3060) // 51)::bigint as county,
    (g % 20)::integer as sector, (1 / pow(1 - random(), 1 / 1.2))::bigint as emp, 1 / pow(1 - random(), 1 / 1.5) * 100 as pay
    from (select hash(i) as h, hash(i + 7) as g from range({rows}) r(i))"""


def levels() -> dict[str, list[Groups]]:
    """What is asked, by the name of the line."""
    states = [f"S{s:02d}" for s in range(STATES)]
    nation, by_state, by_county = hierarchy(
        ["state", "county"], [[s, c] for s in states for c in range(COUNTIES)], others=False
    )
    sectors = Groups(["sector"], [[k] for k in range(SECTORS)])
    crossed = Groups(["state", "sector"], [[s, k] for s in states for k in range(SECTORS)])
    return {
        "one, no cents": [by_county],
        "51 states": [by_state],
        "3,060 counties": [by_county],
        "five levels": [nation, by_state, by_county, sectors, crossed],
    }


def plan(name: str, asked: list[Groups]) -> TablePlan:
    queries: list[Sum | Count] = []
    for i, level in enumerate(asked):
        queries += [Sum(f"jobs {i}", level, variance=100, measure=EMP), Count(f"firms {i}", level, variance=5)]
        queries += [] if "no cents" in name else [Sum(f"pay {i}", level, variance=100, measure=PAY)]
    return TablePlan(queries)


def plain(name: str, level: Groups) -> str:
    keys = ", ".join(key.column for key in level.columns)
    sums = "sum(emp), count(*)" + ("" if "no cents" in name else ", sum(pay)")
    return f"select {keys}{', ' if keys else ''} {sums} from t{' group by ' + keys if keys else ''}"


def least(*calls: Callable[[], Any], used: Callable[[], float] = time.process_time) -> list[tuple[float, float]]:
    """Wall and processor seconds of each, least of some rounds in turns."""
    kept: list[list[tuple[float, float]]] = [[] for _ in calls]
    for _ in range(ROUNDS):
        for call, own in zip(calls, kept, strict=True):
            start, before = time.perf_counter(), used()
            call()
            own.append((time.perf_counter() - start, used() - before))
    return [(min(wall for wall, _ in own), min(spent for _, spent in own)) for own in kept]


def line(name: str, ours: Callable[[], Any], theirs: Callable[[], Any]) -> None:
    (wall, used), (plain_wall, plain_used) = least(ours, theirs)
    ratios = f"{wall / plain_wall:>8.2f} ({used / plain_used:.2f})"
    print(f"{name:>16}{wall:>10.3f} s{plain_wall:>10.3f} s{ratios}", flush=True)


def on_duckdb(rows: int) -> None:
    import ibis

    engine = ibis.duckdb.connect(threads=2)
    engine.con.execute(f"create table t as {DRAWN.format(rows=rows)}")
    table = engine.table("t")
    for name, asked in levels().items():
        made, sql = plan(name, asked), [plain(name, level) for level in asked]
        line(name, lambda made=made: made.release(table), lambda sql=sql: [engine.con.execute(q).fetchall() for q in sql])  # type: ignore[misc]


def keys() -> None:
    listed = Groups(["state", "county"], [[f"S{s:02d}", f"C{c}"] for s in range(50) for c in range(3000)])
    made = TablePlan([Sum("jobs", listed, variance=100, measure=EMP), Count("firms", listed, variance=5)])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plan.json"
        fresh = TablePlan(made.queries)
        for name, call in (("save", lambda: fresh.save(path)), ("load", lambda: load(path))):
            start, used = time.perf_counter(), time.process_time()
            call()
            print(f"{name:>16}{time.perf_counter() - start:>10.3f} s ({time.process_time() - used:.3f} s of the processor)")


def laws() -> None:
    import ibis

    listed = Groups(["k"], [[i] for i in range(150_000)])
    table = ibis.memtable({"k": list(range(150_000))})
    many = TablePlan([Count("n", listed, variance=tuple(Fraction(50 + i, 7) for i in range(150_000)))])
    one = TablePlan([Count("n", listed, variance=50)])
    line("laws", lambda: many.release(table), lambda: one.release(table))


def quantiles(rows: int) -> None:
    import ibis

    engine = ibis.duckdb.connect(threads=2)
    engine.con.execute(
        f"create table t as select (hash(i) % 500)::bigint as k, 1 / pow(1 - random(), 0.7) as pay from range({rows}) r(i)"
    )
    groups, table = Groups(["k"], [[i] for i in range(500)]), engine.table("t")
    sums = TablePlan([Sum("pay", groups, variance=100, measure=PAY)])
    medians = TablePlan([Quantile("median", groups, (), PAY, 0.5, tuple(range(0, 1000, 10)), Fraction(1, 4))])
    line("quantiles", lambda: medians.release(table), lambda: sums.release(table))


def on_spark(rows: int) -> None:
    import duckdb
    import ibis
    from pyspark.sql import SparkSession

    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "rows.parquet")
        duckdb.execute(f"copy ({DRAWN.format(rows=rows)}) to '{path}' (format parquet)")
        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        session = builder.config("spark.sql.shuffle.partitions", "2").config("spark.driver.host", "127.0.0.1").getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        machine = session.sparkContext._gateway.proc.pid  # type: ignore[union-attr]
        frame, here = session.read.parquet(path), ibis.duckdb.connect(threads=2).read_parquet(path)
        frame.createOrReplaceTempView("t")
        for name, asked in levels().items():
            made, sql = plan(name, asked), [plain(name, level) for level in asked]
            three(name, rows, machine, made.release, frame, here, lambda sql=sql: [session.sql(q).collect() for q in sql])  # type: ignore[misc]
        pairs = MarginalWorkload.up_to(DOMAIN, 2)
        marginals = design_marginals(pairs, Presence(mu=1.0))
        joined = [", ".join(pairs.names(axes)) for axes in pairs.subsets.tuples()]
        sql = [f"select {names}, count(*) from t group by {names}" for names in joined]
        three("marginals", rows, machine, marginals.release, frame, here, lambda: [session.sql(q).collect() for q in sql])
        session.stop()


def three(
    name: str, rows: int, machine: int, release: Callable[[Any], Any], frame: Any, here: Any, theirs: Callable[[], Any]
) -> None:
    """One line: a release on DuckDB, the same on Spark, and plain SQL on Spark, after one of each to begin with."""
    calls = (lambda: release(here), lambda: release(frame), theirs)
    for call in calls:
        call()  # type: ignore[no-untyped-call]
    found = least(*calls, used=lambda: time.process_time() + processor(machine))
    told = "".join(f"{wall:>9.2f} s ({used:7.2f} s)" for wall, used in found)
    print(f"{name:>16}{rows:>12}{told}{found[1][1] / found[0][1]:>10.1f}{found[1][1] / found[2][1]:>10.2f}", flush=True)


def processor(pid: int) -> float:
    """Processor seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    if "spark" in sys.argv:
        ours = "".join(f"{title:>23}" for title in ("DuckDB", "Spark", "plain SQL on Spark"))
        print(f"{'wall (processor)':>16}{'rows':>12}{ours}{'/ DuckDB':>10}{'/ plain':>10}")
        for given in sys.argv[2:] or ["1e6"]:
            on_spark(int(float(given)))
    else:
        print(f"{'':>16}{'release':>12}{'plain':>12}   ratio")
        on_duckdb(int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**7)
        keys()
        laws()
        quantiles(10**6)

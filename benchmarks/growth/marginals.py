"""All tables of up to three attributes of 10 values, a budget for each attribute; tables counted by DuckDB; whole tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.growth.case import Case
from designer.domains.marginals_plan import design_marginals


def three_way(attributes: int) -> str:
    """The design as the guide has it, with its certificate and its fingerprint."""
    from designer import MarginalProblem, MarginalWorkload, design, metrics
    from designer.problem.domain import Domain

    domain = Domain.of({f"a{i}": 10 for i in range(attributes)})
    budgets = np.random.default_rng(0).uniform(0.1, 1, attributes).tolist()
    made = design(MarginalProblem(MarginalWorkload.up_to(domain, 3), metrics.hamming(domain, budgets)), "residual").mechanism
    assert made.optimality is not None
    return f"{len(made.precisions)} residuals, gap {made.optimality.gap:.1e}, {made.fingerprint[:8]}"


def database(rows: int) -> tuple[Any, Any]:
    """A table of records in DuckDB, and a plan for all pairs of eight attributes."""
    import ibis

    from designer import MarginalWorkload, Presence
    from designer.problem.domain import Domain

    domain = Domain.of({f"a{i}": 10 for i in range(8)})
    connection = ibis.duckdb.connect()
    columns = ", ".join(f"(floor(random() * 10))::INTEGER AS a{i}" for i in range(8))
    connection.raw_sql(f"CREATE TABLE records AS SELECT {columns} FROM range({rows})")
    return design_marginals(MarginalWorkload.up_to(domain, 2), Presence(mu=1.0)), connection.table("records")


def released(given: tuple[Any, Any]) -> str:
    """Exact counts by the engine, exact noise."""
    made, table = given
    noisy = made.release(table)
    return f"{len(noisy.tables())} tables"


def whole(attributes: int) -> str:
    """Nonnegative whole tables that agree, of all pairs of attributes of 6 values."""
    from designer import MarginalWorkload, Presence, whole_tables
    from designer.problem.domain import Domain

    random, domain = np.random.default_rng(0), Domain.of({f"a{i}": 6 for i in range(attributes)})
    columns = {name: random.integers(0, 6, 5000).tolist() for name in domain.attributes}
    made = whole_tables(design_marginals(MarginalWorkload.up_to(domain, 2), Presence(mu=1.0)).release(columns))
    return f"{made.records} records, {made.distance:.2f} standard deviations from the release"


def all_triples(attributes: int) -> tuple[Any, Any]:
    """The workload of all tables of three attributes of 10 values, and 10^5 records in DuckDB."""
    import ibis

    from designer import MarginalWorkload
    from designer.problem.domain import Domain

    domain = Domain.of({f"a{i}": 10 for i in range(attributes)})
    connection = ibis.duckdb.connect()
    columns = ", ".join(f"(floor(random() * 10))::INTEGER AS a{i}" for i in range(attributes))
    connection.raw_sql(f"CREATE TABLE records AS SELECT {columns} FROM range(100000)")
    return MarginalWorkload.up_to(domain, 3), connection.table("records")


def counted(given: tuple[Any, Any]) -> str:
    """Exact counts of very many tables, from one scan; the share of the time that the same takes by a query for each table."""
    import time

    from designer.domains import marginals_tables as tables

    workload, table = given
    start = time.perf_counter()
    found = tables.tables_of_database(workload, table)
    spent = time.perf_counter() - start
    some = list(found)[:30]
    start = time.perf_counter()
    alike = all(np.array_equal(tables.engine_counts(workload, subset, table), found[subset]) for subset in some)
    by_engine = (time.perf_counter() - start) / len(some) * len(found)
    return f"{len(found)} tables, equal: {alike}; a query for each would take {by_engine / spent:.1f} times as long"


CASES = (
    Case("all three-way tables counted from one scan", "attributes", (10, 20, 40, 100), counted, all_triples),
    Case("marginals of up to three attributes", "attributes", (10, 25, 50, 100), three_way),
    Case(
        "marginals counted by DuckDB, all pairs of eight", "rows", (10_000, 100_000, 1_000_000, 10_000_000), released, database
    ),
    Case("whole tables, all pairs", "attributes", (3, 4, 5, 6), whole),
)

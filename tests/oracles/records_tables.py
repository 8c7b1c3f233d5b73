"""Records of every awkward kind for tests of tables, and tables made of them on an engine."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

AWKWARD = (
    None,
    math.nan,
    math.inf,
    -math.inf,
    1e300,
    -1e300,
    5e-324,
    -0.0,
    0.005,
    -7.0,
    0.1 + 0.2,
    49.999,
    50.0,
    50.001,
    2.0**53,
)

TABLE_2 = (
    {"id": 1, "industry": "Agriculture", "emp": 150, "pay": 10_000_000},
    {"id": 2, "industry": "Agriculture", "emp": 50, "pay": 15_000_000},
    {"id": 3, "industry": "Mining", "emp": 100, "pay": 10_000_000},
    {"id": 4, "industry": "Mining", "emp": 50, "pay": 10_000_000},
    {"id": 5, "industry": "Retail", "emp": 20, "pay": 1_000_000},
)


def firms(count: int, seed: int) -> list[dict[str, Any]]:
    """Firms with skewed sizes; about one value in ten is missing or awkward, one key in ten is missing."""
    generator = np.random.default_rng(seed)
    rows = []
    for i in range(count):
        pay = float(generator.pareto(1.2) * 100) if generator.random() > 0.1 else AWKWARD[int(generator.integers(len(AWKWARD)))]
        emp = int(generator.pareto(1.2) * 10) if generator.random() > 0.1 else None
        state = ("DE", "RI", "CT", None)[int(generator.integers(4))]
        county = int(generator.integers(1, 4))
        naics = ("11", "111", "1112", "236", "4411")[int(generator.integers(5))]
        rows.append({"id": i // 3, "state": state, "county": county, "naics": naics, "emp": emp, "pay": pay})
    return rows


def columns(rows: Sequence[Mapping[str, Any]]) -> Any:
    """An Arrow table of typed columns."""
    import pyarrow as pa

    kinds = {
        "id": pa.int64(),
        "state": pa.string(),
        "county": pa.int32(),
        "naics": pa.string(),
        "emp": pa.int64(),
        "pay": pa.float64(),
    }
    kinds = {**kinds, "industry": pa.string()}
    return pa.table({name: pa.array([row[name] for row in rows], type=kinds[name]) for name in rows[0]})


def on_duckdb(rows: Sequence[Mapping[str, Any]]) -> Any:
    """An Ibis table on the embedded engine."""
    import ibis

    return ibis.memtable(columns(rows))

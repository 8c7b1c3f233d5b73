"""Very many marginals of a database: counted here from one scan, as the engine counts them one by one."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from designer import InvalidProblem, MarginalWorkload, Presence
from designer.domains import marginals_tables as tables
from designer.domains.marginals_plan import design_marginals
from designer.problem.domain import Domain

ibis = pytest.importorskip("ibis")
pytest.importorskip("duckdb")

VALUES = {
    "place": ["x", "X", "x ", "ä"],
    "age": [str(k) for k in range(300)],  # beyond eight bits
    "rate": ["0.0", "0.5", "2.0"],
    "kind": ["True", "False"],
    "code": ["0", "1", "2"],
}
DOMAIN = Domain.of(VALUES)
PAIRS = MarginalWorkload.of(DOMAIN, list(combinations(DOMAIN.attributes, 2)))
ROWS = 5000


def records() -> dict[str, list[Any]]:
    random = np.random.default_rng(8)
    return {
        "place": random.choice(VALUES["place"], ROWS).tolist(),
        "age": random.integers(0, 300, ROWS).tolist(),
        "rate": random.choice([0.0, -0.0, 0.5, 2.0], ROWS).tolist(),
        "kind": random.choice([True, False], ROWS).tolist(),
        "code": random.integers(0, 3, ROWS).tolist(),
    }


def test_tables_of_one_scan_are_those_of_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    table = ibis.memtable(records())
    one_by_one = tables.tables_of_database(PAIRS, table)
    monkeypatch.setattr(tables, "MOST_SCANS", 3)
    at_once = tables.tables_of_database(PAIRS, table)
    assert at_once.keys() == one_by_one.keys() and len(at_once) == 10
    assert all(np.array_equal(at_once[subset], counts) for subset, counts in one_by_one.items())
    assert sum(counts.sum() for counts in at_once.values()) == 10 * ROWS
    monkeypatch.setattr(tables, "MOST_CODES", 100)  # too many records: the engine counts
    again = tables.tables_of_database(PAIRS, table)
    assert all(np.array_equal(again[subset], counts) for subset, counts in one_by_one.items())


@pytest.mark.parametrize("wrong", [None, 300, -1])
def test_values_outside_the_domain_are_refused_with_the_same_text(wrong: object, monkeypatch: pytest.MonkeyPatch) -> None:
    given = records()
    given["age"][17] = wrong
    texts = set()
    for most in (3, 100):
        monkeypatch.setattr(tables, "MOST_SCANS", most)
        with pytest.raises(InvalidProblem) as refusal:
            design_marginals(PAIRS, Presence(mu=1.0)).release(ibis.memtable(given))
        texts.add(str(refusal.value))
    assert texts == {tables.UNKNOWN}

"""Marginals of a table that lives on Spark: the same exact tables as from an embedded engine, of as few scans as can be."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from designer import MarginalWorkload, Presence, StructuredWorkload
from designer.base.errors import InvalidProblem
from designer.domains import marginals_tables as tables
from designer.domains.marginals_plan import design_marginals
from designer.domains.marginals_tables import UNKNOWN, tables_of_columns, tables_of_database
from designer.domains.products_plan import design_structured
from designer.problem.domain import Domain
from designer.relations.records.counting import records_of
from designer.relations.records.row_unit import RowUnit
from tests.oracles.spark_session import as_table, spark

ibis = pytest.importorskip("ibis")
pyspark = pytest.importorskip("pyspark")
pytestmark = [
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs a Java runtime"),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning"),
]
__all__ = ["spark"]  # a fixture

STATES = ["TX", "tx", "Tx ", "DE"]  # told apart by their bytes
DOMAIN = Domain.of({"state": STATES, "age": 6, "rate": ["0.0", "0.5", "2.0"], "sex": ["F", "M"]})
MARGINALS = MarginalWorkload.of(DOMAIN, [["state", "age"], ["age", "rate"], ["sex"], ["age"]])
ROWS = 3000


@pytest.fixture(scope="module")
def columns() -> dict[str, list[Any]]:
    random = np.random.default_rng(4)
    rates = random.choice([0.0, -0.0, 0.5, 2.0], ROWS).tolist()
    drawn = {"state": random.choice(STATES, ROWS).tolist(), "age": random.integers(0, 6, ROWS).tolist(), "rate": rates}
    return {**drawn, "sex": random.choice(["F", "M"], ROWS).tolist()}


@pytest.fixture(scope="module")
def table(spark: Any, columns: dict[str, list[Any]], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    import pyarrow as pa

    yield as_table(spark, pa.table(columns), tmp_path_factory.mktemp("marginals") / "rows.parquet")


def test_tables_are_those_of_the_columns(table: Any, columns: dict[str, list[Any]]) -> None:
    plain = {**columns, "rate": [rate + 0.0 for rate in columns["rate"]]}  # zero without its sign
    expected, found = tables_of_columns(MARGINALS, plain), tables_of_database(MARGINALS, table)
    assert found.keys() == expected.keys() == set(MARGINALS.maximal.tuples())
    assert all(np.array_equal(found[subset], counts) for subset, counts in expected.items())


def test_one_scan_for_tables_of_few_cells_together(spark: Any, table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs are counted where they are sent: three largest tables, one query, and one each where no two may share one."""
    sent = jobs(spark, monkeypatch)
    released = design_marginals(MARGINALS, Presence(mu=1.0)).release(table)
    assert len(sent) == 1
    assert abs(released.table(["age"]).sum() - ROWS) < 200
    monkeypatch.setattr(tables, "CELLS_TOGETHER", 1)
    tables_of_database(MARGINALS, table)
    assert len(sent) == 1 + len(MARGINALS.maximal) == 4


def test_a_data_frame_of_spark_is_taken_as_it_is(spark: Any, table: Any, columns: dict[str, list[Any]]) -> None:
    session, plain = spark._session, {**columns, "rate": [rate + 0.0 for rate in columns["rate"]]}
    frame = session.table(table.get_name())
    expected, found = tables_of_columns(MARGINALS, plain), tables_of_database(MARGINALS, RowUnit().rows(records_of(frame), []))
    assert all(np.array_equal(found[subset], counts) for subset, counts in expected.items())
    assert abs(design_marginals(MARGINALS, Presence(mu=1.0)).release(frame).table(["age"]).sum() - ROWS) < 200
    with pytest.raises(InvalidProblem, match="filter and compute with Ibis"):
        design_marginals(MARGINALS, Presence(mu=1.0)).release(frame.where("age > 1"))


def test_many_tables_come_from_one_scan(spark: Any, table: Any, columns: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of rows, then the codes of all records: exact tables as from one query each."""
    sent = jobs(spark, monkeypatch)
    monkeypatch.setattr(tables, "MOST_SCANS", 1)
    plain = {**columns, "rate": [rate + 0.0 for rate in columns["rate"]]}
    expected, found = tables_of_columns(MARGINALS, plain), tables_of_database(MARGINALS, table)
    assert len(sent) <= 2
    assert found.keys() == expected.keys()
    assert all(np.array_equal(found[subset], counts) for subset, counts in expected.items())


def jobs(spark: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list that grows by one with every query that is sent."""
    sent: list[str] = []
    own = type(spark)._to_pyarrow_batches if hasattr(type(spark), "_to_pyarrow_batches") else type(spark).to_pyarrow

    def counted(self: Any, *given: Any, **options: Any) -> Any:
        sent.append("")
        return own(self, *given, **options)

    monkeypatch.setattr(type(spark), own.__name__, counted)
    return sent


def test_structured_tables_are_released(table: Any, columns: dict[str, list[Any]]) -> None:
    """Running totals over ages by state: each within 8 stated standard errors (failure below 1e-12)."""
    asked = StructuredWorkload.of_marginals(MARGINALS, {"age": "prefix"})
    released = design_structured(asked, Presence(mu=1.0)).release(table)
    everything = np.array(list(np.ndindex(4, 6)))
    pairs = list(zip(columns["state"], columns["age"], strict=True))
    true = [sum(state == STATES[s] and age <= a for state, age in pairs) for s, a in everything]
    off = released.answers(everything, ["state", "age"]) - true
    assert (np.abs(off) <= 8 * released.standard_errors(everything, ["state", "age"])).all()


def test_a_value_outside_the_domain_is_refused_without_being_said(table: Any) -> None:
    narrow = Domain.of({"state": STATES[:3], "age": 6})
    with pytest.raises(InvalidProblem) as refusal:
        design_marginals(MarginalWorkload.up_to(narrow, 1), Presence(mu=1.0)).release(table)
    assert str(refusal.value) == UNKNOWN

"""Records counted over the elements by an engine: by bytes, of one table, and without a word of what fails."""

from __future__ import annotations

from typing import Any

import ibis
import pyarrow as pa
import pytest

from designer import Domain, InvalidProblem, Problem, Workload, design, metrics
from designer.base.errors import WITHHELD
from designer.mechanism.additive import AdditiveMechanism
from designer.relations.records.counting import form_of, tabulated

CASES = Domain.of({"code": ["a", "A"], "place": ["x", "y"]})
ROWS = {"code": ["a", "A", "A", "a", "A"], "place": ["x", "x", "y", "y", "y"]}
EXACT = [1, 1, 1, 2]  # a x, a y, A x, A y


def quiet() -> AdditiveMechanism:
    """Noise so small that what is released is the counts."""
    made = design(Problem(Workload.identity(4), metrics.add_remove(4, 600.0)), "laplace").mechanism
    named = Workload(made.workload.matrix, elements=CASES.elements, keys=CASES.keys)
    return design(Problem(named, metrics.add_remove(4, 600.0)), "laplace").mechanism


def stored(collation: str = "") -> Any:
    engine = ibis.duckdb.connect()
    engine.con.register("given", pa.table(ROWS))
    engine.con.execute(f"CREATE TABLE records (code VARCHAR {collation}, place VARCHAR {collation})")
    engine.con.execute("INSERT INTO records SELECT * FROM given")
    return engine.table("records")


@pytest.mark.parametrize("collation", ["", "COLLATE NOCASE"])
def test_elements_are_told_apart_by_bytes(collation: str) -> None:
    """Under a collation 'a' and 'A' were one group, counted under the label that the engine met first."""
    assert quiet().release(stored(collation)).answers.round().tolist() == EXACT


def test_records_are_rows_of_one_table_unless_the_caller_says_what_they_are() -> None:
    table = stored()
    twice = table.cross_join(table.view().select(other="place"))
    for expression in (twice, table.limit(2), table.union(table)):
        with pytest.raises(InvalidProblem, match="unit"):
            quiet().release(expression)
    with pytest.raises(InvalidProblem, match="filter nothing"):  # where the number of records is public
        tabulated(table.filter(table.place == "x"), quiet().universe)
    assert quiet().release(table.filter(table.place == "x")).answers.round().tolist() == [1, 0, 1, 0]
    released = quiet().release(table.filter(table.place == "x"), unit="record of place x")
    assert released.answers.round().tolist() == [1, 0, 1, 0]
    assert "declared to be one record of place x" in released.guarantee.to_text()
    assert "row-wise view" in quiet().release(table).guarantee.to_text()


def test_an_engine_that_fails_does_not_speak() -> None:
    table = stored()
    failing = table.mutate(code=ibis.cases((table.code == "A", table.code.cast("int64").cast("string")), else_=table.code))
    with pytest.raises(InvalidProblem) as refusal:
        quiet().release(failing)
    assert str(refusal.value) == WITHHELD and refusal.value.__cause__ is None and refusal.value.__context__ is None


class Unread(dict[str, object]):
    """Confidential data that may say its names, and no entry."""

    def __getitem__(self, name: str) -> object:
        raise AssertionError(f"{name} was read")


@pytest.mark.parametrize(("columns", "form"), [(["a", "b"], "records"), (["c"], "histogram"), ([], "histogram")])
def test_what_data_are_is_told_without_reading_an_entry(columns: list[str], form: str) -> None:
    """Of counts a ledger reserves what a release costs before any is looked at."""
    data = Unread(a=[1, 2], b=[3, 4])
    assert form_of(data, columns) == form
    assert form_of(data, columns, ["a", "b"]) == "histogram"

"""What one row is, as plain data, and columns by which rows cannot be put in order."""

from __future__ import annotations

from typing import Any

import pytest

from designer import InvalidProblem, InvalidSpec
from designer.relations.records.row_unit import RowUnit

ibis = pytest.importorskip("ibis")
pa = pytest.importorskip("pyarrow")


def test_a_unit_has_at_most_200_characters() -> None:
    assert RowUnit("x" * 200).name == "x" * 200
    with pytest.raises(InvalidProblem, match=r"^unit:"):
        RowUnit("x" * 201)


@pytest.mark.parametrize("unit", [RowUnit(), RowUnit("visit"), RowUnit(entity="person", rows_per_entity=3, left_out=-4)])
def test_plain_data_have_every_key_and_no_other(unit: RowUnit) -> None:
    written = unit.to_dict()
    assert RowUnit.from_dict(written) == unit
    for key in written:
        with pytest.raises(InvalidSpec, match="rows"):
            RowUnit.from_dict({name: value for name, value in written.items() if name != key})
    with pytest.raises(InvalidSpec, match="rows"):
        RowUnit.from_dict({**written, "table": "people"})


@pytest.mark.parametrize(
    "values",
    [
        pa.array([[1], [2], [1]]),
        pa.array([{"a": 1}, {"a": 2}, {"a": 1}]),
        pa.array([b"a", b"b", b"a"]),
    ],
    ids=["lists", "structures", "bytes"],
)
def test_rows_of_an_entity_are_not_chosen_by_a_column_without_an_order(values: Any) -> None:
    table = ibis.memtable(pa.table({"who": ["x", "x", "y"], "k": values}))
    with pytest.raises(InvalidProblem, match=r"column 'k' is of type .*, which has no order; convert it to text"):
        RowUnit(entity="who", rows_per_entity=1).rows(table, ["k"])

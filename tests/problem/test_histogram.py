"""Counts that no data can have, keys that name no columns, and names that keys do not spell. Product domains against plain
enumeration.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from itertools import product

import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from designer import Domain, InvalidProblem, InvalidSpec, Targets, Workload
from designer.base.json_text import plain
from designer.problem.histogram import DISAGREE, Keys, Universe, counts
from designer.problem.workload import workload_from_spec, workload_to_spec


def test_counts_whose_tables_have_other_totals_are_refused() -> None:
    """Two tables of the same records, of two and three cells: every small histogram, its totals added up by hand."""
    agreeing = np.array([[1, 1, -1, -1, -1]])
    universe = Universe(tuple("abcde"), agreeing=agreeing)
    for x in itertools.product(range(3), repeat=5):
        if sum(x[:2]) == sum(x[2:]):
            assert counts(x, universe).tolist() == list(x)
        else:
            with pytest.raises(InvalidProblem) as refusal:
                counts(x, universe)
            assert str(refusal.value) == DISAGREE


@pytest.mark.parametrize("columns", [(), ("sex", "sex")])
def test_keys_have_at_least_one_column_and_each_once(columns: tuple[str, ...]) -> None:
    with pytest.raises(InvalidProblem, match="must name at least one column, each once"):
        Keys(columns, (("F",) * len(columns), ("M",) * len(columns)))


def test_names_of_cells_of_several_tables_are_those_that_their_keys_spell() -> None:
    keys = Keys(("table", "sex", "age"), (("one", "F", "1"), ("one", "M", "1"), ("two", "", "2")))
    keys.require_spelled(("one: sex=F, age=1", "one: age=1, sex=M", "two: age=2"))
    two = Keys(("sex", "age"), (("F", "1"), ("M", "2")))
    for own in (two.names, two.assignments):
        two.require_spelled(own)
    for names in (
        ("one: sex=F, age=1", "one: sex=F, age=1", "two: age=2"),
        ("two: sex=F, age=1", "one: sex=M, age=1", "two: age=2"),
        ("one: sex=F", "one: sex=M, age=1", "two: age=2"),
    ):
        with pytest.raises(InvalidProblem, match="do not spell the names"):
            keys.require_spelled(names)


def test_an_attribute_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    domain = Domain.of({"sex": 2, "state": 3})
    assert domain.axis("state") == 1
    with pytest.raises(InvalidProblem, match=r"attribute: 'stat' is not one of \['sex', 'state'\]"):
        domain.axis("stat")


@pytest.mark.parametrize("wrong", ["012", [0, 1.0], [0, -1], [0, 2**31], [0, True], None])
def test_a_sparse_matrix_of_a_spec_has_whole_numbers_for_places(wrong: object) -> None:
    from scipy.sparse import csr_array

    made = Workload(csr_array(np.array([[1.0, 0.0, 1.0], [0.0, 2.0, 0.0]])), ["a", "b"], ["x", "y", "z"])
    written = plain(workload_to_spec(made))
    assert workload_from_spec(written).dense().tolist() == [[1, 0, 1], [0, 2, 0]]
    for entry in ("starts", "columns"):
        broken = {**written, "rows": {**written["rows"], entry: wrong}}
        with pytest.raises(InvalidSpec):
            workload_from_spec(broken)


def test_nothing_is_relative_to_0() -> None:
    with pytest.raises(InvalidProblem, match="is 0, at which no error is relative"):
        Targets(relative_error=0.1, reference=0)
    assert Targets(relative_error=0.1, reference=1) != Targets(relative_error=0.1, reference=2)


shapes = st.lists(st.integers(1, 4), min_size=1, max_size=3)


@given(shapes, st.randoms(use_true_random=False))
def test_histogram_counts_records_in_the_order_of_the_elements(sizes: list[int], random) -> None:
    domain = Domain.of({f"a{i}": size for i, size in enumerate(sizes)})
    rows = list(product(*domain.values))
    records = [dict(zip(domain.attributes, random.choice(rows), strict=True)) for _ in range(20)]
    expected = [sum(tuple(r.values()) == row for r in records) for row in rows]
    assert domain.histogram(records).tolist() == expected
    assert domain.size == len(rows) == len(domain.elements) == len(set(domain.elements))
    assert domain.shape == tuple(sizes)


def test_axis_and_code() -> None:
    domain = Domain.of({"sex": ["F", "M"], "age": 3})
    assert (domain.axis("age"), domain.code("age", 2), domain.code("sex", "M")) == (1, 2, 1)


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ({}, "no attributes"),
        ({"a": []}, "attribute 'a'"),
        ({"a": 0}, "attribute 'a'"),
        ({"a": -3}, "attribute 'a'"),
        ({"a": True}, "attribute 'a'"),
        ({"a": 2.5}, "attribute 'a'"),
        ({"a": None}, "attribute 'a'"),
        ({"a": "FM"}, "attribute 'a'"),
        ({"a": {"x": 1}}, "attribute 'a'"),
        ({"a": ["x", "x"]}, "each once"),
        ({"a": [1, "1"]}, "each once"),
        ({"a": 10**12}, "attribute 'a'"),
        ({"a": 10**400}, "attribute 'a'"),
    ],
)
def test_bad_domains_are_refused(attributes: dict[str, object], text: str) -> None:
    with pytest.raises(InvalidProblem, match=text) as refusal:
        Domain.of(attributes)
    assert len(str(refusal.value)) < 500


def test_an_attribute_twice_is_refused() -> None:
    with pytest.raises(InvalidProblem, match="appears twice"):
        Domain(("a", "a"), (("0", "1"), ("0", "1")))


@pytest.mark.parametrize("record", [{"age": 1}, {"sex": "F", "age": 99_991_001}, {"sex": "canary", "age": 0}])
def test_a_record_outside_the_domain_is_refused_without_being_shown(record: dict[str, object]) -> None:
    domain = Domain.of({"sex": ["F", "M"], "age": 3})
    with pytest.raises(InvalidProblem) as refusal:
        domain.histogram([{"sex": "F", "age": 0}, record])
    assert (
        str(refusal.value) == "records: a record lacks an attribute or has a value outside the domain; clean the records first."
    )


TABLES = {
    "pandas": lambda rows: pd.DataFrame(rows),
    "pandas, an index": lambda rows: pd.DataFrame(rows).set_index("sex"),
    "polars": lambda rows: pl.DataFrame(rows),
    "arrow": lambda rows: pa.table({name: [row[name] for row in rows] for name in rows[0]}),
    "Ibis": lambda rows: ibis.memtable(pd.DataFrame(rows)),
    "mappings": lambda rows: iter(rows),
}


@pytest.mark.parametrize("kind", TABLES)
def test_a_table_has_a_record_in_each_row(kind: str) -> None:
    """Counted by hand: columns are found by name, in any order, and others are not looked at."""
    domain = Domain.of({"sex": ["F", "M"], "age": 3})
    rows = [{"town": "x", "age": age, "sex": sex} for sex, age in (("F", 2), ("M", 0), ("F", 2))]
    assert domain.histogram(TABLES[kind](rows)).tolist() == [0, 0, 2, 1, 0, 0]


@pytest.mark.parametrize("kind", TABLES)
def test_a_table_with_a_value_outside_the_domain_is_refused_without_its_being_shown(kind: str) -> None:
    domain = Domain.of({"sex": ["F", "M"], "age": 3})
    with pytest.raises(InvalidProblem) as refusal:
        domain.histogram(TABLES[kind]([{"sex": "F", "age": 0}, {"sex": "M", "age": 99_991_001}]))
    assert "99" not in str(refusal.value) and refusal.value.__cause__ is None


@pytest.mark.parametrize(
    ("records", "text"),
    [
        (pd.DataFrame({"sex": ["F"]}), r"\['age'\] once"),
        (pd.DataFrame([["F", 1, 1]], columns=["sex", "age", "age"]), r"\['age'\] once"),
        (ibis.memtable({"town": [1]}), r"\['sex', 'age'\] once"),
        (ibis.memtable({"sex": ["F"]}).sex, "type StringColumn"),
        ({"sex": ["F"], "age": [1]}, "type dict"),
        ("F", "type str"),
        (3, "type int"),
        ([3], "a record lacks"),
    ],
)
def test_what_holds_no_records_is_refused(records: object, text: str) -> None:
    with pytest.raises(InvalidProblem, match=text):
        Domain.of({"sex": ["F", "M"], "age": 3}).histogram(records)


@pytest.mark.parametrize("build", [Workload.identity, Workload.prefix, Workload.all_ranges])
def test_a_workload_over_a_domain_knows_its_elements(build: Callable[[object], Workload]) -> None:
    domain = Domain.of({"sex": ["F", "M"], "age": 3})
    made, plain = build(domain), build(domain.size)
    assert np.array_equal(made.dense(), plain.dense())
    assert (made.elements, made.keys) == (domain.elements, domain.keys)
    # What a query is called is what its row counts.
    for name, row in zip(build(["a", "b", "c"]).queries, build(3).dense(), strict=True):
        assert name in {"a", "b", "c", "<=a", "<=b", "<=c"} | {f"{x}..{y}" for x in "abc" for y in "abc" if x <= y}
        assert name[-1] == "abc"[int(np.flatnonzero(row)[-1])]


@pytest.mark.parametrize("universe", [[], "abc", 2.5, ["a", "a"]])
def test_what_is_no_universe_is_refused(universe: object) -> None:
    with pytest.raises(InvalidProblem, match="universe"):
        Workload.identity(universe)


@pytest.mark.parametrize("value", [np.int64(9), "9", 9.5, None])
def test_unknown_values_are_named(value: object) -> None:
    with pytest.raises(InvalidProblem, match="is not a value of 'age'") as refusal:
        Domain.of({"age": 3}).code("age", value)
    assert "np." not in str(refusal.value)

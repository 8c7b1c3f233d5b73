"""Data frames of three libraries, in and out: one adapter, which holds their columns and says nothing of them. Releases of
every kind as data frames: categories, answers, errors, both kinds of interval.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from designer import (
    Domain,
    InvalidProblem,
    MarginalWorkload,
    Presence,
    Problem,
    Targets,
    Workload,
    compare,
    design,
    least_budget,
    metrics,
)
from designer.base.answer_table import AnswerTable, numbers_of
from designer.base.frames import BACKENDS, columns_of, frame_of, index_of, is_frame, series_of
from designer.base.labels import is_missing
from designer.domains.marginals_plan import design_marginals
from designer.tables import Count, Groups, Measure, Quantile, TablePlan

PEOPLE = Domain.of({"sex": ["F", "M"], "age": ["1", "2"]})


ROWS = {"age": [1, 2, 2, 1, 1], "other": ["x"] * 5, "sex": ["F", "M", "M", "M", "F"]}


FRAMES: dict[str, Any] = {
    "pandas": pd.DataFrame(ROWS),
    "pandas with an index": pd.DataFrame(ROWS).set_index("sex"),
    "polars": pl.DataFrame(ROWS),
    "lazy polars": pl.LazyFrame(ROWS),
    "arrow": pa.table(ROWS),
    "batch of arrow": pa.RecordBatch.from_pydict(ROWS),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_records_of_every_library_count_alike(kind: str) -> None:
    frame = FRAMES[kind]
    assert PEOPLE.histogram(frame).tolist() == [2, 0, 1, 2]
    made = design_marginals(MarginalWorkload.of(PEOPLE, [["sex", "age"]]), Presence(mu=1.0))
    table = made.release(frame).table(["sex", "age"])
    assert table.shape == (2, 2) and abs(float(table.sum()) - 5) < 200


@pytest.mark.parametrize("kind", FRAMES)
def test_only_columns_that_are_wanted_are_taken(kind: str) -> None:
    found = columns_of(FRAMES[kind], ["sex", "missing"])
    assert found is not None and [(name, list(values)) for name, values in found] == [("sex", ROWS["sex"])]
    assert is_frame(FRAMES[kind]) and not is_frame(ROWS) and columns_of(ROWS) is None


def test_an_index_counts_where_somebody_named_rows() -> None:
    assert index_of(FRAMES["pandas"]) == [] and index_of(FRAMES["polars"]) == [] and index_of([1]) == []
    assert index_of(pd.Series([5, 6], index=["a", "b"])) == [(None, ["a", "b"])]
    shifted = pd.DataFrame({"a": [1, 2]}, index=pd.RangeIndex(1, 3))
    assert index_of(shifted) == [(None, [1, 2])]


@pytest.mark.parametrize("column", [pd.Series([1, 2]), pl.Series([1, 2]), pa.array([1, 2]), pa.chunked_array([[1], [2]])])
def test_a_single_column_is_its_entries(column: Any) -> None:
    assert series_of(column) == [1, 2]
    assert series_of([1, 2]) is None and series_of(FRAMES["arrow"]) is None


@pytest.mark.parametrize("frame", [pd.DataFrame([[1, 2]], columns=["a", "a"]), pa.table([[1], [2]], names=["a", "a"])])
def test_two_columns_of_one_name_are_refused_by_the_name_alone(frame: Any) -> None:
    with pytest.raises(InvalidProblem, match=r"columns \['a'\] once; rename one"):
        columns_of(frame)


@pytest.mark.parametrize("missing", [None, float("nan"), np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT")])
def test_what_is_missing_in_any_library_is_missing(missing: object) -> None:
    assert is_missing(missing) and not any(map(is_missing, [0, "", "nan", False, 0.0]))


@pytest.mark.parametrize("backend", BACKENDS)
def test_frames_that_go_out_come_back_the_same(backend: str) -> None:
    columns = {"name": ["a,b", '=1+"x"\n', "é"], "answer": np.array([1.5, np.inf, -0.0]), "consistent": np.array([1, 2, 3])}
    frame = frame_of(columns, backend)
    assert type(frame).__module__.startswith(backend)
    assert [(n, list(v)) for n, v in columns_of(frame) or []] == [(n, list(v)) for n, v in columns.items()]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_frame_without_rows_keeps_its_columns_and_their_types(backend: str) -> None:
    frame = frame_of({"name": [], "answer": np.zeros(0)}, backend)
    assert columns_of(frame) == [("name", []), ("answer", [])]
    kind = frame.schema.field("answer").type if backend == "pyarrow" else frame["answer"].dtype
    assert str(kind).lower() in ("double", "float64")


def test_an_unknown_library_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(InvalidProblem, match=r"backend: 'panda' is none; perhaps 'pandas' is meant; use one of"):
        frame_of({"a": ["b"]}, "panda")


def test_without_narwhals_frames_are_refused_with_the_remedy_and_plain_counts_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "narwhals", None)
    with pytest.raises(InvalidProblem, match="pip install narwhals"):
        columns_of(FRAMES["pandas"])
    assert columns_of({"sex": [1]}) is None and series_of([1]) is None


DOMAIN = Domain.of({"sex": ["F", "M"], "age": ["1", "2"]})


def columns(frame: Any) -> dict[Any, list[Any]]:
    return {name: list(values) for name, values in columns_of(frame) or []}


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_frame_holds_what_the_answer_table_holds(backend: str) -> None:
    workload = Workload(np.eye(4), DOMAIN.elements, elements=DOMAIN.elements, keys=DOMAIN.keys)
    released = design(Problem(workload, metrics.add_remove(4, 1.0)), "laplace").mechanism.release([1, 2, 3, 4])
    (table,) = released.answer_tables()
    found = columns(released.to_frame(backend, level=0.9))
    assert list(found) == [
        *("sex", "age", "answer", "standard_error", "lower_90", "upper_90", "joint_lower_90", "joint_upper_90")
    ]
    assert list(zip(found["sex"], found["age"], strict=True)) == list(DOMAIN.keys.rows)
    assert found["answer"] == released.answers.tolist() and found["standard_error"] == released.standard_errors.tolist()
    for prefix, simultaneous in (("", False), ("joint_", True)):
        intervals = table.intervals(0.9, simultaneous)
        assert found[f"{prefix}lower_90"] == intervals.lower.tolist()
        assert found[f"{prefix}upper_90"] == intervals.upper.tolist()


def test_of_several_tables_one_is_named_or_all_are_taken() -> None:
    made = design_marginals(MarginalWorkload.of(DOMAIN, [["sex"], ["sex", "age"], []]), Presence(mu=1.0))
    released = made.release({"sex": ["F"], "age": ["1"]})
    assert [len(columns(frame)["answer"]) for frame in released.to_frames().values()] == [1, 2, 4]
    assert columns(released.to_frame(table="sex"))["sex"] == ["F", "M"]
    with pytest.raises(
        InvalidProblem, match=r"table: is missing; this release has 3: name one of \['total', 'sex', 'sex x age'\]"
    ):
        released.to_frame()
    with pytest.raises(InvalidProblem, match="table: 'sexes' is none; perhaps 'sex' is meant"):
        released.to_frame(table="sexes")
    with pytest.raises(InvalidProblem, match="backend: 'duckdb' is none"):
        released.to_frame("duckdb", table="sex")


def test_columns_that_no_law_gives_are_left_out_with_the_reason() -> None:
    age = Measure("age")
    plan = TablePlan([Quantile("median", Groups(), (), age, 0.5, (1, 50), "0.1"), Count("people", Groups(), variance=1)])
    import ibis

    released = plan.release(ibis.memtable({"age": [3, 4]}))
    assert list(columns(released.to_frame(table="median"))) == ["query", "answer"]
    by_name = {table.name: numbers_of(table) for table in released.answer_tables()}
    assert "standard_error" in by_name["median"].missing and by_name["median"].missing["lower_95"]
    assert "standard_error" in by_name["people"].columns


def test_categories_that_are_called_like_numbers_are_told_apart() -> None:
    keys = (("a", "b", "c", "d"),)
    table = AnswerTable("t", ("answer", "answer_", "lower_95", "consistent"), keys, np.ones(1), np.ones(1))
    found = numbers_of(table)
    assert list(found.columns)[:4] == ["answer__", "answer_", "category_lower_95_", "category_consistent_"]
    assert found.meanings["answer__"] == "Category 'answer'." and found.categories == 4


def test_keys_of_numbers_are_columns_of_numbers() -> None:
    table = AnswerTable("t", ("year", "rate", "mixed"), ((1, 0.5, 1), (2, 1.5, "x")), np.ones(2), None)
    found = numbers_of(table).columns
    assert found["year"].dtype == np.int64 and found["rate"].dtype == np.float64 and found["mixed"] == ["1", "x"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_comparisons_and_curves_are_frames_too(backend: str) -> None:
    problem = Problem(Workload(np.eye(2), ["a", "b"]), metrics.add_remove(2, 1.0))
    compared = compare(problem, ["laplace", "uniform_budget"])
    found = columns(compared.to_frame(backend))
    assert found["loss"] == sorted(row["loss"] for row in compared.rows) and set(found["family"]) == {
        "laplace",
        "uniform_budget",
    }
    budget = least_budget(problem, Targets(standard_error={"a": 2.0, "b": 3.0}), "laplace", curve=3)
    curve = columns(budget.to_frame(backend))
    assert len(curve["factor"]) == 2 * len(budget.curve) and set(curve["query"]) == {"a", "b"}
    at_least = [
        r for f, q, r in zip(curve["factor"], curve["query"], curve["reached"], strict=True) if f == budget.factor and q == "a"
    ]
    assert at_least == [budget.reached[0].in_units] and set(curve["target"]) == {2.0, 3.0}

"""Data frames of three libraries, in and out: one adapter, which holds their columns and says nothing of them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from designer import Domain, InvalidProblem, MarginalWorkload, Presence
from designer.base.frames import BACKENDS, columns_of, frame_of, index_of, is_frame, series_of
from designer.base.labels import is_missing
from designer.domains.marginals_plan import design_marginals

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

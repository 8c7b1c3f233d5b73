"""How columns of records are read: bins, labels and missing values, by one value alone."""

from __future__ import annotations

import math
import pickle
from typing import Any

import pytest

from designer.base.errors import InvalidProblem
from designer.certificate.guarantee import About
from designer.problem.reading import ColumnReading, Reading, bin_labels, code_text

SAID: dict[str, Any] = {
    "entity": "household",
    "rows_per_entity": 2,
    "delimiter": "\t",
    "columns": {
        "age": {"bins": [0, 15, 25], "missing": [98, "n/a", ["-inf", -1]]},
        "emp": {"labels": {"1": "Employed", "2": "Unemployed"}},
    },
}


def test_a_reading_comes_back_from_its_plain_data() -> None:
    reading = Reading.of(SAID)
    assert reading.to_dict() == SAID
    about = About("Title", records=reading)
    assert About.from_dict(about.to_dict()) == about == pickle.loads(pickle.dumps(about))
    assert bool(About(records=reading)) and not Reading()


@pytest.mark.parametrize("edges", [[0, 15, 25, 65], [0, 1, 2], [-5, 0, 2.5], [10]])
def test_a_number_is_in_the_one_bin_whose_ends_hold_it(edges: list[float]) -> None:
    column, labels = ColumnReading(tuple(edges)), bin_labels(edges)
    assert len(set(labels)) == len(edges) == len(labels)
    for value in (*edges, *(edge - 0.25 for edge in edges), edges[-1] + 1000):
        held = [label for label, low, high in zip(labels, edges, [*edges[1:], math.inf], strict=True) if low <= value < high]
        assert column.text(code_text(value), value) == (held[0] if held else code_text(value))


def test_days_become_months_and_years() -> None:
    assert ColumnReading("month").text("2021-03-05", None) == "2021-03"
    assert ColumnReading("year").text("2021-03-05 12:00:00", None) == "2021"
    assert ColumnReading("year").text("spring", None) == "spring"


def test_a_declared_code_is_missing_in_each_of_its_spellings_and_no_other() -> None:
    column = ColumnReading.of({"missing": [98, "n/a", ["-inf", -1]]}, "x")
    assert [column.is_missing(code) for code in ("98", "98.0", "n/a", "-1", "-7.5", None)] == [True] * 6
    assert [column.is_missing(code) for code in ("098", "9", "N/A", "0", "980")] == [False] * 5


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ({"bins": [0, 15, 15]}, "lower ends that rise"),
        ({"bins": "week"}, "week"),
        ({"bins": ["a"]}, "no number"),
        ({"labels": {"1": "A", "2": "A"}}, r"'A' is the label of \['1', '2'\]"),
        ({"labels": {"1": "A\nB"}}, "line of text"),
        ({"labels": {"98": "A"}, "missing": [98]}, "'98' has a label, too"),
        ({"labels": {"0-9": "A"}, "bins": [0, 15]}, "none of the bins"),
        ({"missing": [[3, 1]]}, "no range"),
        ({"lables": {}}, "lables: unknown key; .*labels"),
    ],
)
def test_what_is_wrong_with_a_column_is_said(column: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidProblem, match=words):
        Reading.of({"columns": {"x": column}})


@pytest.mark.parametrize("said", [{"entity": "h"}, {"rows_per_entity": 2}, {"entity": "", "rows_per_entity": 1}, {"x": 1}, []])
def test_what_is_wrong_with_a_reading_is_said(said: Any) -> None:
    with pytest.raises(InvalidProblem, match="records"):
        Reading.of(said)
    with pytest.raises(InvalidProblem, match="bins or missing"):
        Reading.of({"entity": "age", "rows_per_entity": 1, "columns": {"age": {"bins": [0, 1]}}})

"""CSV files of records: what becomes of a record depends on nothing but its own fields."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from designer import InvalidProblem
from designer.relations.records.csv_rows import Marks
from designer.relations.records.record_files import open_table
from designer.tables import Count, Groups, Measure, Sum, TablePlan
from designer.tables.scans import numbers


def read(path: Path, *arguments: Any, **options: Any) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = open_table(path, *arguments, **options).to_pyarrow().to_pydict()
    return columns


@pytest.mark.parametrize("place", [0, 1, 50_000])
def test_a_byte_that_is_no_utf_8_changes_its_own_field_only(place: int, tmp_path: Path) -> None:
    """Wherever it stands: in the first block that a reader looks at, or far behind it."""
    path, lines = tmp_path / "t.csv", [b"Li\xe8ge,1" if row == place else b"Gent,2" for row in range(50_001)]
    path.write_bytes(b"\xef\xbb\xbfcity,n\n" + b"\n".join(lines) + b"\n")
    found = read(path, ["n"])
    assert found["city"] == ["Li\ufffdge" if row == place else "Gent" for row in range(50_001)]
    assert sum(found["n"]) == 2 * 50_000 + 1


def test_a_field_of_megabytes_drops_no_record(tmp_path: Path) -> None:
    path, long = tmp_path / "t.csv", "x" * 5_000_000
    path.write_text(f'city,n\n"{long}",1\n{long},2\nGent,3\n')
    assert read(path, ["n"]) == {"city": [long, long, "Gent"], "n": [1.0, 2.0, 3.0]}


def test_records_of_odd_shapes_are_read_by_the_stated_rules(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b'a,b\r\n1\r\n1,2,3\r\n\r\n,""\r\n"x,""y""\r\nz",4\r\n\0,5\r\n"open,6\r\n7,8\r\n')
    found = read(path)
    assert found["a"] == ["1", "1", None, 'x,"y"\r\nz', "\0", "open,6\r\n7,8\r\n"]
    assert found["b"] == [None, "2", None, "4", "5", None]


def test_columns_may_be_called_anything(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('c1,c0,"a ""b""",batch\n1,2,3,4\n')
    assert read(tmp_path / "t.csv", ["c0"]) == {"c1": ["1"], "c0": [2.0], 'a "b"': ["3"], "batch": ["4"]}


NUMBERS = [
    (Marks(), "1,234", None),
    (Marks(), "1234.5", 1234.5),
    (Marks(decimal=","), "1,234", 1.234),
    (Marks(decimal=","), "1.5", None),
    (Marks(decimal=",", thousands="."), "1.234.567,5", 1234567.5),
    (Marks(thousands=","), "1,234", 1234.0),
    (Marks(thousands=","), "-1,234,567.25", -1234567.25),
    (Marks(thousands=","), "12,34", None),
    (Marks(thousands=","), "1,2345", None),
    (Marks(thousands=","), "1,234,56", None),
    (Marks(thousands=","), "1234", 1234.0),
    (Marks(), "7_654", None),
    (Marks(), "١٢٣", None),
    (Marks(), " 5 ", 5.0),
    (Marks(), "1e400", float("inf")),
    (Marks(), "many", None),
    (Marks(), "", None),
]


@pytest.mark.parametrize(("marks", "text", "value"), NUMBERS)
def test_numbers_are_read_by_their_marks(marks: Marks, text: str, value: float | None) -> None:
    assert marks.number(text) == value


def test_a_number_needs_no_mark_of_thousands_where_there_may_be_one() -> None:
    marks = Marks(decimal=",", thousands=".")
    assert [marks.number(text) for text in ("1234", "1.234", "1234,5", "-7")] == [1234.0, 1234.0, 1234.5, -7.0]


@pytest.mark.parametrize(
    "options", [{"delimiter": ";;"}, {"delimiter": '"'}, {"decimal": ";"}, {"thousands": "."}, {"thousands": "x"}]
)
def test_marks_that_cannot_be_are_refused(options: dict[str, str], tmp_path: Path) -> None:
    options = {"decimal": ".", **options}
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(
        InvalidProblem,
        match=next(name for name in ("delimiter", "thousands", "decimal") if options.get(name, ".") != ".")
        if options != {"decimal": ".", "thousands": "."}
        else "thousands",
    ):
        open_table(tmp_path / "t.csv", **options)


def test_a_column_that_is_key_and_number_is_a_whole_number(tmp_path: Path) -> None:
    """Groups by the number of rooms, and the sum of rooms: exact by hand."""
    path = tmp_path / "homes.csv"
    path.write_text("rooms;rent\n2;10,5\n2;1\n3;2\nmany;4\n2,5;8\n2,0;16\n99999999999999999999;1\n")
    level = Groups(["rooms"], [[2], [3]])
    plan = TablePlan(
        (Count("homes", level, variance=1), Sum("all rooms", level, variance=1, measure=Measure("rooms", upper=10)))
    )
    assert (plan.numbers, plan.counted_keys) == (("rooms",), ("rooms",))
    table = open_table(path, plan.numbers, whole=plan.counted_keys, delimiter=";", decimal=",")
    found = numbers(level, plan.noisy, table)
    assert {key: found[key] for key in (("2",), ("3",))} == {("2",): [3, 6], ("3",): [1, 3]}


@pytest.mark.parametrize("first", ["a,a\n", "a,A\n", "a,\n", 'a,"two\nlines"\n', "a,b\tc\n", "a,b\u200dc\n", ""])
def test_the_first_line_names_every_column_once(first: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(first, encoding="utf-8")
    with pytest.raises(InvalidProblem, match="must name every column once" if first else "is empty, or its first line is"):
        open_table(tmp_path / "t.csv")


@pytest.mark.parametrize(
    "first",
    [b"a," + b"x" * 1001, b'a,"b\n1,2\n' + b"3,4\n" * 300, b"a,Gr\xf6\xdfe", b"PK\x03\x04,b", b"a,b\0", bytes(range(256))],
    ids=["long", "open quote", "Latin 1", "archive", "zero", "all bytes"],
)
def test_a_first_line_that_is_no_text_is_refused(first: bytes, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(first + b"\n1,2\n")
    with pytest.raises(InvalidProblem, match=r"t\.csv, line 1: is no line of column names in UTF-8"):
        open_table(tmp_path / "t.csv")


@pytest.mark.parametrize("name", ["x" * 1000, "Größe 👩"])
def test_names_of_columns_are_any_text_that_can_be_seen(name: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"{name},n\n1,2\n", encoding="utf-8")
    assert read(tmp_path / "t.csv") == {name: ["1"], "n": ["2"]}


@pytest.mark.parametrize("name", ["none.csv", "none.parquet", "none*.parquet"])
def test_a_file_that_is_missing_is_said_to_be(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidProblem, match="no such file"):
        open_table(tmp_path / name)

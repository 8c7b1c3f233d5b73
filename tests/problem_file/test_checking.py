"""The confidential report on records: every number against a loop, what it exits with, and that it releases nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from designer import InvalidProblem
from designer.base.labels import Labels
from designer.cli import main
from designer.files.data_files import read_histogram
from designer.problem.histogram import Labelled
from designer.problem_file.checking import BLURRED, CONFIDENTIAL, NO_NUMBER, DataIssue, _quoted, check_counts, check_records
from designer.problem_file.kinds import KINDS, read_request
from designer.problem_file.what_if import varied_file
from designer.relations.records.csv_rows import Marks

pytest.importorskip("ibis")
DOMAIN = '[domain]\nsex = ["F", "M"]\nplace = ["DE", "RI"]\n'
METRIC = '[relation]\nmetric = "uniform"\nepsilon = 1\n'
FILES = {
    "linear_queries": f'unlisted = "refuse"\n{DOMAIN}[workload]\nmarginals = [["sex"]]\n{METRIC}',
    "structured": f'{DOMAIN}[workload]\ntables = [["sex"], ["place"]]\n[relation]\nmetric = "add_remove"\nepsilon = 1\n',
    "marginals": (
        f'kind = "marginals"\nunlisted = "drop"\n{DOMAIN}[workload]\ntables = [["sex"], ["place"]]\n'
        '[relation]\nmetric = "add_remove"\nmu = 1\n'
    ),
    "selection": f'kind = "selection"\n{DOMAIN}[workload]\nbuilder = "identity"\n{METRIC}[selection]\nscore = "linear"\n',
    "mwem": f'kind = "mwem"\n{DOMAIN}[workload]\nmarginals = [["sex"]]\n{METRIC}[problem]\nrecords = 9\n',
    "small_db": f'kind = "small_db"\n{DOMAIN}[workload]\nmarginals = [["sex"]]\n{METRIC}[problem]\nrecords = 9\n',
    "statistical_queries": (
        f'kind = "statistical_queries"\n{DOMAIN}[statistics]\nwomen = {{of = "sex", values = {{F = 1, M = 0}}}}\n'
        'all = {of = "place", values = {DE = 1, RI = 0}}\n[relation]\nmetric = "hamming"\nbudgets = {sex = 1, place = 1}\n'
    ),
    "own_report": f'kind = "own_report"\n{DOMAIN}{METRIC}[report]\nloss = "zero_one"\n',
}
ODDS = (
    'kind = "odds_ratio_test"\nunlisted = "drop"\n[margins]\nrows = [3, 3]\ncolumns = [3, 3]\n'
    '[promise]\nkind = "gaussian"\nmu = 1\n'
)
PLAN = """
kind = "table_plan"
[measures]
pay = {column = "pay", upper = 100}
[groups.cells]
columns = ["sex", "place"]
keys = {sex = ["F", "M"], place = ["DE", "RI"]}
[queries.count]
ask = "count"
groups = "cells"
variance = 5
where = ["known"]
[conditions.known]
column = "sex"
op = "!="
value = "X"
[queries.sum]
ask = "sum"
measure = "pay"
variance = 5
"""
ROWS = [
    *[("a", "F", "DE", "10")] * 4,
    ("b", "F ", "DE", "99+"),
    ("b", "m", "RI", ""),
    ("b", "", "RI", "-3"),
    ("c", "X", "RI", "101"),
    ("", "M", "XX", "100"),
]


def found(report: Any) -> dict[tuple[str, str], int]:
    return {(finding.where, finding.what): finding.rows for finding in report.findings}


def written(folder: Path, rows: list[tuple[str, ...]] = ROWS, mark: str = ",") -> Path:
    lines = [mark.join(row) for row in [("who", "sex", "place", "pay"), *rows]]
    (folder / "a.csv").write_text("\n".join(lines) + "\n")
    return folder / "a.csv"


@pytest.mark.parametrize("kind", FILES)
def test_every_kind_that_reads_records_says_what_is_not_listed(kind: str, tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(FILES[kind])
    expected = {("sex", "are missing"): 1, ("sex", "have a value that is not listed"): 3}
    report = check_records(tmp_path / "p.toml", written(tmp_path))
    unlisted = ("place", "have a value that is not listed")
    assert {key: n for key, n in found(report).items() if key != unlisted} == expected
    assert found(report)[unlisted] == 1
    (sex,) = (finding for finding in report.findings if finding.where == "sex" and finding.values)
    assert sex.values == (
        ("'F ' (listed: 'F'; blanks, case, or composition (NFC, NFD) differ)", 1),
        ("'X'", 1),
        ("'m' (listed: 'M'; blanks, case, or composition (NFC, NFD) differ)", 1),
    )
    assert check_records(tmp_path / "p.toml", written(tmp_path, ROWS[:4])).clean


@pytest.mark.every_room
def test_all_kinds_that_release_from_records_are_tried() -> None:
    assert {*FILES, "table_plan"} - {"structured"} == set(KINDS) - {"odds_ratio_test"}


def test_a_plan_is_told_of_groups_numbers_and_bounds(tmp_path: Path) -> None:
    """A record that no query asks about, here X, is in no group and none is missed; its numbers are looked at all the same."""
    (tmp_path / "p.toml").write_text(PLAN)
    report = check_records(tmp_path / "p.toml", written(tmp_path))
    assert found(report) == {
        ("sex x place", "are in none of the listed groups"): 3,
        ("pay", "cannot be read as numbers, and are refused"): 1,
        ("pay", f"are missing{NO_NUMBER}"): 1,
        ("pay", "are below the lower bound 0, and count as 0"): 1,
        ("pay", "are above the upper bound 100, and count as 100"): 1,
    }
    assert DataIssue("pay", "cannot be read as numbers, and are refused", 1, (("'99+'", 1),), 5, 9) in report.findings
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"sex": ["F", None], "place": ["DE", "DE"], "pay": [float("nan"), 200.0]})
    told = found(check_records(read_request(tmp_path / "p.toml"), frame))
    assert told == {  # a missing text meets no condition, so no query by cells asks about the second record
        ("pay", f"are missing{NO_NUMBER}"): 1,
        ("pay", "are above the upper bound 100, and count as 100"): 1,
    }


@pytest.mark.parametrize(
    ("marks", "cells", "unreadable"),
    [
        ({"delimiter": ";"}, ["10,5", "7", "3,25"], 2),
        ({"delimiter": ";", "decimal": ","}, ["10,5", "7", "3.25"], 1),
        ({"decimal": ","}, ["10.5", "7.0", "3"], 2),
    ],
)
def test_numbers_written_with_another_mark_are_counted(
    marks: dict[str, str], cells: list[str], unreadable: int, tmp_path: Path
) -> None:
    (tmp_path / "p.toml").write_text(PLAN)
    file = written(tmp_path, [("a", "F", "DE", cell) for cell in cells], marks.get("delimiter", ","))
    report = check_records(tmp_path / "p.toml", file, **marks)
    assert found(report) == {("pay", "cannot be read as numbers, and are refused"): unreadable}


def test_records_at_hand_are_checked_as_they_are_counted(tmp_path: Path) -> None:
    """A column that one missing value has made floats holds the labels of whole numbers; what floats cannot hold is said."""
    pandas = pytest.importorskip("pandas")
    (tmp_path / "p.toml").write_text(
        'kind = "marginals"\n[domain]\nk = [1, 2]\n[workload]\ntables = [["k"]]\n[relation]\nmetric = "add_remove"\nmu = 1\n'
    )
    told = found(check_records(tmp_path / "p.toml", pandas.DataFrame({"k": [1, 2, None, 2.0**60, 3]})))
    assert [told.get(("k", what)) for what in ("are missing", "have a value that is not listed", BLURRED)] == [1, 2, 1]
    (tmp_path / "q.toml").write_text(PLAN)
    frame = pandas.DataFrame({"sex": ["F"] * 4, "place": ["DE"] * 4, "pay": [1, "2", "n/a", True]})
    assert found(check_records(tmp_path / "q.toml", frame)) == {("pay", "cannot be read as numbers, and are refused"): 2}


def test_entities_with_more_rows_than_count_are_counted(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(FILES["linear_queries"])
    one, three = (check_records(tmp_path / "p.toml", written(tmp_path), entity="who", rows_per_entity=k) for k in (None, 3))
    assert found(one)["who", "entities with more than 1 row, of 3"] == 2
    assert found(one)["who", "rows above that, which would be left out"] == 5
    assert found(three)["who", "entities with more than 3 rows, of 3"] == 1
    assert found(three)["who", "rows without an entity, which are refused or count nowhere, as the rule says"] == 1
    assert "public" in one.to_text()
    with pytest.raises(InvalidProblem, match="give entity"):
        check_records(tmp_path / "p.toml", written(tmp_path), rows_per_entity=2)


def test_the_command_says_that_it_is_confidential_and_exits_by_what_it_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "p.toml").write_text(FILES["marginals"])
    data, problem = str(written(tmp_path, mark=";")), str(tmp_path / "p.toml")
    assert main(["check", data, problem]) == 2
    assert "give --delimiter ';'" in capsys.readouterr().err
    assert main(["check", data, problem, "--delimiter", ";", "--entity", "who"]) == 9
    said = capsys.readouterr().out
    assert said.startswith(CONFIDENTIAL) and said.rstrip().endswith(CONFIDENTIAL) and 'unlisted = "drop"' in said
    assert main(["check", data, problem, "--delimiter", ";", "--json"]) == 9
    assert json.loads(capsys.readouterr().out)["confidential"] == CONFIDENTIAL
    assert main(["check", str(written(tmp_path, ROWS[:4])), problem]) == 0
    assert main(["check", str(tmp_path / "none.csv"), problem]) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "p.toml"]


def test_parquet_and_frames_are_checked_like_files(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    (tmp_path / "p.toml").write_text(FILES["linear_queries"])
    frame = pandas.DataFrame([row[1:3] for row in ROWS], columns=["sex", "place"]).replace("", None)
    frame.to_parquet(tmp_path / "a.parquet")
    expected = found(check_records(tmp_path / "p.toml", written(tmp_path)))
    for data in (tmp_path / "a.parquet", frame, frame.to_dict("list")):
        assert found(check_records(tmp_path / "p.toml", data)) == expected
    with pytest.raises(InvalidProblem, match="no column 'place'"):
        check_records(tmp_path / "p.toml", frame[["sex"]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f'unlisted = "others"\n{FILES["structured"]}', "unlisted"),
        (f'unlisted = "count as others"\n{FILES["structured"]}', "among the values of 'sex'"),
        (f'unlisted = "drop"\n{FILES["mwem"]}', '"drop" leaves records out'),
        (f'unlisted = "drop"\n{FILES["statistical_queries"]}', "over all records"),
        ('unlisted = "drop"\n[workload]\nmatrix = "m.csv"\n' + METRIC, "the file names none"),
        (
            ODDS,
            "not from records",
        ),
    ],
)
def test_rules_that_do_not_fit_the_file_are_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("1,0\n0,1\n")
    (tmp_path / "p.toml").write_text(text)
    with pytest.raises(InvalidProblem, match=message):
        read_request(tmp_path / "p.toml").made()


def test_a_file_without_named_columns_has_nothing_to_check(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("1,0\n0,1\n")
    (tmp_path / "p.toml").write_text('[workload]\nmatrix = "m.csv"\n' + METRIC)
    with pytest.raises(InvalidProblem, match="name them in"):
        check_records(tmp_path / "p.toml", {"sex": ["F"]})


COUNTED = "sex;place;n\nF;DE;1.234\nF;RI;-3\nM;DE;x\nM;RI;\nm;RI;.\nF;DE;5\n"


def test_counts_are_checked_row_by_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A suppressed, an empty and a negative cell, a row of no element, two of one: each with the rows where it stands."""
    (tmp_path / "p.toml").write_text(FILES["linear_queries"], encoding="utf-8")
    (tmp_path / "n.csv").write_text(COUNTED, encoding="utf-8")
    marks = ["--column", "n", "--delimiter", ";", "--thousands", ".", "--decimal", ","]
    assert main(["check", str(tmp_path / "n.csv"), str(tmp_path / "p.toml"), *marks, "--json"]) == 9
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [(f["where"], f["rows"], [text for text, _ in f["values"]]) for f in found] == [
        ("n", 4, ["'-3' (row 3)", "'x' (row 4)", "an empty cell (row 5)", "'.' (row 6)"]),
        ("sex x place", 1, ["'m', 'RI' (listed: 'M'; blanks, case, or composition (NFC, NFD) differ) (row 6)"]),
        ("sex x place", 2, ["F, DE (row 2, 7)"]),
    ]
    (tmp_path / "n.csv").write_text("sex,place,n\nF,DE,1\nF,RI,2\nM,DE,3\n", encoding="utf-8")
    assert main(["check", str(tmp_path / "n.csv"), str(tmp_path / "p.toml"), "--column", "n"]) == 9
    assert "sex x place: 1 elements without a row; write 0 where there is no record\n    M, RI: 1" in capsys.readouterr().out
    (tmp_path / "n.csv").write_text("sex,place,n\nF,DE,1\nF,RI,2\nM,DE,3\nM,RI,0\n", encoding="utf-8")
    assert check_counts(tmp_path / "p.toml", tmp_path / "n.csv", "n").clean
    (tmp_path / "n.csv").write_bytes("sex,place,n\nF,DE,1\nF,RI,2\nM,DÉ,3\n".encode("latin-1"))
    (unknown, _) = check_counts(tmp_path / "p.toml", tmp_path / "n.csv", "n").findings
    assert "save the file as UTF-8" in unknown.values[0][0] and "(row 4)" in unknown.values[0][0]
    with pytest.raises(InvalidProblem, match="data: has no column 'N'; it has"):
        check_counts(tmp_path / "p.toml", tmp_path / "n.csv", "N")


def test_counts_are_released_with_the_marks_that_their_file_has(tmp_path: Path) -> None:
    """1.234 is one thousand two hundred and thirty-four where the marks say so; a mark in another place is refused."""
    path = tmp_path / "n.csv"
    path.write_text("n\n1.234\n5\n", encoding="utf-8")
    read = read_histogram(path, "n", Marks(thousands=".", decimal=","))
    assert isinstance(read, Labelled) and list(read.counts) == [1234, 5]
    path.write_text("n\n1.23\n5\n", encoding="utf-8")
    with pytest.raises(InvalidProblem, match="check FILE PROBLEM --column COLUMN"):
        read_histogram(path, "n", Marks(thousands=".", decimal=","))


def test_a_label_that_differs_by_composition_alone_is_pointed_to() -> None:
    """It is another label, which is not listed: texts are compared by their bytes."""
    decomposed = "e\u0301te\u0301"
    (found,) = _quoted({decomposed: 2}, ["été"])
    assert found[1] == 2 and "(listed: 'été'; blanks, case, or composition (NFC, NFD) differ)" in found[0]
    assert Labels(["été"]).name(decomposed) is None


@pytest.mark.parametrize("kind", [name for name in FILES if KINDS.get(name) and name not in ("linear_queries", "own_report")])
def test_a_command_that_a_kind_has_not_says_what_to_do_instead(kind: str, tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(FILES[kind])
    request = read_request(tmp_path / "p.toml")
    with pytest.raises(InvalidProblem, match=r"explore: .*; change its budget or noise, and read what dp-designer design"):
        varied_file(tmp_path / "p.toml")
    remedy = "design it with each --family NAME" if "family" in request.choices else "which dp-designer design makes"
    with pytest.raises(InvalidProblem, match=f"compare: .*; .*{remedy}"):
        _ = request.compared
    if kind != "marginals":
        with pytest.raises(InvalidProblem, match=r"budget: .*; no accuracy is stated in it; change its budget or noise"):
            request.least()

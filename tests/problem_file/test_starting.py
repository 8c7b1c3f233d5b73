"""Starting files: made of names of columns alone, refused while a place is left, accepted when all are filled in."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from designer.base.errors import InvalidProblem
from designer.cli import main
from designer.files.data_files import FileColumn
from designer.problem_file.kinds import KINDS, read_request
from designer.problem_file.schema import problem_schema
from designer.problem_file.sections import MARK, unfilled_place
from designer.problem_file.templates import STARTS, starting_file
from tests.problem_file.test_problem_schema import as_json

HEADER = "sex,age group,pay\n"
COLUMNS = tuple(map(FileColumn, ("sex", "age group", "pay")))
PLACE = re.compile(rf'"{MARK}:[^"]*"')
# What somebody who knows the code book would write, by a word of the place or of its key.
FILLED = {
    "public values of sex": '"F", "M"',
    "public values of age group": '"20", "40", "60"',
    "public values of pay": "2",
    "public labels of": '"F", "M"',
    "public bound": "1000",
    "variance": "100",
    "a number for each value": '"number"',
    "number of synthetic records": "3",
    "a whole number": "1000",
    "records in the first": "30",
    "records in the second": "20",
    "a positive number": "0.5",
}
VALIDATOR = jsonschema.Draft202012Validator(problem_schema())


def filled(text: str, spare: int = -1) -> str:
    """The file with every place filled in, but for the one of that number."""
    places = iter(range(len(PLACE.findall(text))))

    def value(found: re.Match[str]) -> str:
        if next(places) == spare:
            return found[0]
        if text[: found.start()].endswith('of = "sex", values = '):
            return "{ F = 1, M = 0 }"
        return next(value for words, value in FILLED.items() if words in found[0])

    return PLACE.sub(value, text)


def unfilled(data: Any, keys: tuple[str, ...] = ()) -> list[str]:
    """The places of a file that is read as TOML, by its keys."""
    if isinstance(data, dict):
        return [place for key, part in data.items() for place in unfilled(part, (*keys, key))]
    if isinstance(data, list):
        return [place for part in data for place in unfilled(part, keys)]
    return [unfilled_place(keys)] if isinstance(data, str) and data.startswith(MARK) else []


@pytest.mark.every_room
def test_there_is_a_start_for_every_kind() -> None:
    assert list(STARTS) == list(KINDS)


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.nightly) if kind == "linear_queries" else kind for kind in STARTS]
)
def test_a_starting_file_is_accepted_once_it_is_filled_in(kind: str, tmp_path: Path) -> None:
    text = filled(starting_file(COLUMNS, "people", kind, numbers=["pay"]))
    assert f"{MARK}:" not in text
    (tmp_path / "problem.toml").write_text(text, encoding="utf-8")
    VALIDATOR.validate(as_json(tomllib.loads(text)))
    request = read_request(tmp_path / "problem.toml")
    assert request.kind == kind and request.title == "people" and request.made().mechanism.fingerprint


@pytest.mark.parametrize("kind", STARTS)
def test_every_place_that_is_left_is_refused_by_its_name(kind: str, tmp_path: Path) -> None:
    text = starting_file(COLUMNS, "people", kind, numbers=["pay"])
    count = len(PLACE.findall(text))
    assert count >= 3
    for spare in range(count):
        left = filled(text, spare)
        (tmp_path / "problem.toml").write_text(left, encoding="utf-8")
        (place,) = unfilled(tomllib.loads(left))
        with pytest.raises(InvalidProblem, match="still to be filled in") as refused:
            read_request(tmp_path / "problem.toml")
        assert f"problem.toml: still to be filled in: {place}; replace" in str(refused.value)


def test_many_places_are_counted(tmp_path: Path) -> None:
    (tmp_path / "problem.toml").write_text(starting_file([FileColumn(f"c{k}") for k in range(40)], "many"), encoding="utf-8")
    with pytest.raises(InvalidProblem, match=r"\[domain\] c0, .* and 29 more"):
        read_request(tmp_path / "problem.toml")


@pytest.mark.parametrize("kind", STARTS)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_no_row_changes_a_byte(kind: str, ending: str, tmp_path: Path) -> None:
    """Other rows, no rows, rows that nothing could read: the same file."""
    if ending == "csv":
        rows = ["F,20,1\n" * 50, "M,60,999\n", "", '"never closed,\n\x00', "too,many,cells,here\n"]
        contents = [(HEADER + row).encode() for row in rows] + [HEADER.encode() + b"\xff\xfe\x80"]
    else:
        contents = [parquet_of(rows) for rows in ([("F", "20", 1)] * 50, [("M", "60", 999)], [])]
    made = set()
    for number, content in enumerate(contents):
        (tmp_path / str(number)).mkdir()
        path = tmp_path / str(number) / f"people.{ending}"
        path.write_bytes(content)
        assert main(["init", str(path), "--kind", kind, "-o", str(path.with_suffix(".toml"))]) == 0
        made.add(path.with_suffix(".toml").read_bytes())
    assert len(made) == 1 and b"sex" in made.pop()


def parquet_of(rows: list[tuple[str, str, int]]) -> bytes:
    from io import BytesIO

    import pyarrow
    from pyarrow import parquet

    types = pyarrow.schema([("sex", pyarrow.string()), ("age group", pyarrow.string()), ("pay", pyarrow.float64())])
    columns = [pyarrow.array([row[k] for row in rows], types.field(k).type) for k in range(3)]
    content = BytesIO()
    parquet.write_table(pyarrow.table(columns, schema=types), content)
    return content.getvalue()


def test_types_of_parquet_tell_numbers_from_categories() -> None:
    columns = (FileColumn("sex", "string"), FileColumn("pay", "double"))
    text = starting_file(columns, "people", "table_plan")
    assert "[measures.pay]" in text and "[groups.sex]" in text and "[groups.pay]" not in text
    text = starting_file(columns, "people")
    assert "# pay holds numbers" in text and "pay = [" not in text and "# string" in text
    alone = starting_file(columns[1:], "people")
    assert "pay = [" in alone and "# pay holds numbers" in alone


def test_names_of_columns_are_written_so_that_they_are_read_again() -> None:
    names = ['say "x"', "a.b", "# no comment", "Größe 年齢", "[x]", "back\\slash", "😀"]
    for kind in ("linear_queries", "marginals", "statistical_queries", "table_plan"):
        data = tomllib.loads(starting_file([FileColumn(name) for name in names], "odd", kind))
        assert list(data["groups" if kind == "table_plan" else "domain"]) == names


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--kind", "marginal"], "--kind: 'marginal' is unknown; perhaps 'marginals' is meant"),
        (["--number", "pey"], "--number: 'pey' is no column; perhaps 'pay' is meant"),
        (["--column", "sex", "--number", "pay"], "--number: 'pay' is not among the columns to ask about"),
        (["--column", "sexx"], "--column: 'sexx' is no column; perhaps 'sex' is meant"),
        (["--delimiter", ";;"], "--delimiter"),
        (["-o", "people.csv"], "people.csv"),
        (["-o", "people.csv", "--force"], "people.csv"),
    ],
)
def test_what_is_wrong_is_refused_with_a_remedy(
    arguments: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text(HEADER)
    assert main(["init", "people.csv", *arguments]) == 2
    assert told in capsys.readouterr().err and Path("people.csv").read_text() == HEADER


def test_the_command_prints_or_writes_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text(HEADER)
    assert main(["init", "people.csv", "--kind", "mwem", "--column", "sex"]) == 0
    printed = capsys.readouterr().out
    assert main(["init", "people.csv", "--kind", "mwem", "--column", "sex", "--json", "-o", "problem.toml"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert Path("problem.toml").read_text() == told["toml"] == printed and told["columns"] == ["sex", "age group", "pay"]
    assert main(["design", "problem.toml"]) == 2
    assert "[domain] sex, [relation] epsilon, [problem] records" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("chosen", "told"), [([], "sex, age group, pay."), (["--column", "pay", "--column", "sex", "--column", "pay"], "pay, sex.")]
)
def test_the_command_names_the_columns_that_the_file_asks_about(
    chosen: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text(HEADER)
    assert main(["init", "people.csv", *chosen, "-o", "problem.toml"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"Written to problem.toml, from the names of the columns: {told}"

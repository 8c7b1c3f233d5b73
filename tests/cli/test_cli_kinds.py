"""Problem files of every kind that asks, on the command line: from the example to a release that verifies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from designer import datasets, load
from designer.averages.problem_file import AveragesFile
from designer.cli import main
from designer.files.data_files import read_table
from designer.problem.histogram import WORDS
from designer.problem_file.kinds import read_request

EXAMPLES = Path(__file__).parents[2] / "examples"
DATA = datasets.adult().path.parent
ADULT = ["--table", str(DATA / "adult.csv")]
RELEASED = {
    "adult_commonest": ["--histogram", str(DATA / "adult_education_race.csv"), "--column", "count"],
    "adult_mwem": ADULT,
    "adult_small_db": ADULT,
    "adult_averages": [*ADULT, "--counted-by", str(EXAMPLES / "adult_averages.toml")],
    "doctorates": ["--histogram", str(DATA / "adult_doctorates.csv")],
}


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    """What a command that succeeds prints for machines."""
    capsys.readouterr()
    assert main([*arguments, "--json"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", RELEASED)
def test_an_example_goes_from_its_file_to_a_verified_release(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    problem = str(EXAMPLES / f"{name}.toml")
    shown = said(capsys, "show", problem)
    made = said(capsys, "design", problem, "-o", "spec.json")
    assert said(capsys, "verify", "spec.json")["holds"] and made["fingerprint"] == load("spec.json").fingerprint
    assert shown["kind"] == read_request(problem).kind and made["about"]["title"] == shown["title"]
    release = said(capsys, "release", "spec.json", *RELEASED[name], "-o", "release.json")
    assert said(capsys, "verify", "spec.json", "release.json") and release["fingerprint"] == made["fingerprint"]
    assert main(["design", problem]) == 0
    assert "Accuracy:" in capsys.readouterr().out


def test_averages_are_released_from_the_records_that_the_problem_file_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Failure probability below 1e-9: eleven scales of Laplace noise and more, for three answers."""
    monkeypatch.chdir(tmp_path)
    problem = EXAMPLES / "adult_averages.toml"
    said(capsys, "design", str(problem), "-o", "spec.json")
    release = said(capsys, "release", "spec.json", *RELEASED["adult_averages"])
    request = read_request(problem)
    assert isinstance(request, AveragesFile)
    adult = read_table(DATA / "adult.csv")
    ages = dict(zip(request.problem.domain.values[0], (20.5, 29.5, 39.5, 49.5, 59.5, 70.0), strict=True))
    rich = sum(sex == "Female" and income == ">50K" for sex, income in zip(adult["sex"], adult["income"], strict=True))
    true = [sum(ages[age] for age in adult["age_group"]), rich]
    asked = [release["answers"]["mean age"], release["answers"]["share of women with more than 50K"]]
    errors = [release["standard_errors"][name] for name in ("mean age", "share of women with more than 50K")]
    assert (np.abs(np.subtract(asked, true)) <= 16 * np.array(errors)).all()


PEOPLE = '[domain]\nsex = ["F", "M"]\nage = [20, 30]\n[statistics]\n"mean age" = {of = "age", values = "number"}\n'
BUDGETS = '[relation]\nmetric = "hamming"\nbudgets = {sex = 1, age = 1}\n'
CANARY = "982451653"


@pytest.fixture
def averages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("ages.toml").write_text('kind = "statistical_queries"\n' + PEOPLE + BUDGETS + '[design]\nfamily = "laplace"\n')
    Path("others.toml").write_text(
        'kind = "statistical_queries"\n' + PEOPLE.replace("30]", "31]") + BUDGETS + '[design]\nfamily = "laplace"\n'
    )
    Path("counts.toml").write_text('[workload]\nbuilder = "identity"\nsize = 2\n[relation]\nmetric = "uniform"\nepsilon = 1\n')
    Path("people.csv").write_text("age,more\n20,a\n30,b\n20,c\n")
    assert main(["design", "ages.toml", "-o", "spec.json"]) == 0
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--table", "people.csv", "--counted-by", "counts.toml"], "of kind 'linear_queries'"),
        (["--table", "people.csv", "--counted-by", "others.toml"], "asks for other averages than the spec"),
        (["--counted-by", "ages.toml"], "give them as --table"),
        (["--table", "people.csv", "--histogram", "people.csv", "--counted-by", "ages.toml"], "no --histogram"),
        (["--table", "people.csv", "--entity", "more", "--counted-by", "ages.toml"], "entity, rows_per_entity"),
        (["--table", "none.csv", "--counted-by", "ages.toml"], "give the file that holds the records"),
        (["--table", "people.csv", "--delimiter", ";", "--counted-by", "ages.toml"], "give --delimiter ','"),
        (["--table", "people.csv", "--delimiter", r"\t", "--counted-by", "ages.toml"], "another mark: give --delimiter ','"),
        (["--table", "people.csv", "--counted-by", "none.toml"], "none.toml: cannot be read"),
    ],
)
def test_what_does_not_fit_is_refused_before_data_are_read(
    arguments: list[str], told: str, averages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(["release", "spec.json", *arguments]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("rows", [f"{CANARY},a\n", f"20,a\n20,{CANARY},b\n", f'20,"{CANARY}\n', f"\x00{CANARY},\n"])
def test_what_is_wrong_inside_the_records_is_not_said(rows: str, averages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("people.csv").write_text("age,more\n" + rows)
    capsys.readouterr()
    assert main(["release", "spec.json", "--table", "people.csv", "--counted-by", "ages.toml"]) in (0, 2)
    out, err = capsys.readouterr()
    said = [line for line in err.splitlines() if not line.startswith("Will spend ")]
    assert CANARY not in out + err and (out == "") == bool(said)


def test_parquet_records_are_counted_alike(averages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from pyarrow import parquet, table

    parquet.write_table(table({"age": [20, 30, 20], "more": ["a", "b", "c"]}), "people.parquet")
    release = said(capsys, "release", "spec.json", "--table", "people.parquet", "--counted-by", "ages.toml")
    assert abs(release["answers"]["mean age"] - 70) <= 24 * release["standard_errors"]["mean age"]


MWEM = """kind = "mwem"
[domain]
sex = ["F", "M"]
age = 3
[workload]
marginals = [["sex"], ["age"]]
[relation]
metric = "uniform"
epsilon = 1
[problem]
records = 100000
[preprocessing]
constant = "optimal"
"""


def test_choices_on_the_command_line_go_before_those_of_the_file(averages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("mwem.toml").write_text(MWEM)
    solved = said(capsys, "design", "mwem.toml", "--solver", "HIGHS")
    assert solved["provenance"]["solver"] == "HIGHS" and solved["provenance"]["program"] == "preprocessing"
    assert "solver" not in said(capsys, "design", "mwem.toml")["provenance"]
    Path("ages.toml").write_text(Path("ages.toml").read_text() + "[problem]\nrecords = 10\n")
    assert "separable" in said(capsys, "design", "ages.toml", "--family", "separable")["guarantee"]["mechanism"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["design", "mwem.toml", "--family", "laplace"], "family: 'laplace' does not go with files of kind 'mwem'"),
        (["design", "unbiased.toml", "--solver", "HIGHS"], "[mwem] solver: 'HIGHS' has nothing to solve"),
        (["design", "mwem.toml", "--solver", "HIHGS"], "'HIHGS' is not an installed solver"),
        (["design", "ages.toml", "--family", "separable"], "[problem] records: is missing"),
        (["compare", "mwem.toml"], "compare: does not go with a file of kind 'mwem'"),
        (["budget", "ages.toml"], "budget: does not go with a file of kind 'statistical_queries'"),
    ],
)
def test_choices_that_a_kind_does_not_take_are_refused(
    arguments: list[str], told: str, averages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("mwem.toml").write_text(MWEM)
    Path("unbiased.toml").write_text(MWEM.partition("[preprocessing]")[0])
    capsys.readouterr()
    assert main(arguments) == 2
    assert told in capsys.readouterr().err


def test_averages_bound_the_rows_of_an_entity_and_say_what_is_refused(
    averages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a and her five rows two count; a change of both in all attributes costs twice the sum of their budgets."""
    text = Path("ages.toml").read_text().replace("age = 1", "age = 200")
    Path("ages.toml").write_text(text)
    assert main(["design", "ages.toml", "-o", "spec.json", "--force"]) == 0
    Path("people.csv").write_text("age,more\n" + "20,a\n" * 5 + "30,b\n")
    capsys.readouterr()
    given = ["--table", "people.csv", "--counted-by", "ages.toml", "--json"]
    for options, total, budget in (([], 130, None), (["--entity", "more", "--rows-per-entity", "2"], 70, 400)):
        assert main(["release", "spec.json", *given, *options]) == 0
        released = json.loads(capsys.readouterr().out)
        assert round(released["answers"]["mean age"]) == total
        assert released["guarantee"]["parameters"].get("budget_of_an_entity") == budget
        assert WORDS["refuse"] in released["guarantee"]["unit"]
    Path("people.csv").write_text("age,more\n20 ,a\n")
    assert main(["release", "spec.json", *given]) == 2

"""What a problem file says about itself goes into what is made of it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest

from designer import About, InvalidProblem, load, read_problem, verify_release
from designer.cli import main
from designer.problem_file.schema import problem_schema

FILE = """
title = "Commuters"
{about}
[domain]
district = ["north", "south"]

[workload]
builder = "identity"
names = ["north", "south"]

[relation]
metric = "add_remove"
epsilon = 1.0

[targets]
standard_error = 2.0
"""
ABOUT = """
[about]
data = "register of residents"
period = [2024-01-01, 2024-12-31]
publisher = "City of Zürich"
contact = "office@example.org"
record = "one resident"
units = {north = "persons", "*" = "commuters"}
"""
SAID = About(
    "Commuters",
    "register of residents",
    "2024-01-01 to 2024-12-31",
    "City of Zürich",
    "office@example.org",
    "one resident",
    {"north": "persons", "*": "commuters"},
)
SCHEMA = problem_schema()


def written(folder: Path, about: str) -> Path:
    path = folder / "problem.toml"
    path.write_text(FILE.format(about=about))
    return path


def test_every_key_is_read(tmp_path: Path) -> None:
    assert read_problem(written(tmp_path, ABOUT)).about == SAID
    assert read_problem(written(tmp_path, "")).about == About("Commuters")
    assert read_problem(written(tmp_path, "[about]")).about == About("Commuters")


@pytest.mark.parametrize(
    ("period", "words"),
    [
        ("2024", "2024"),
        ("2024-01-31", "2024-01-31"),
        ("[2023, 2024]", "2023 to 2024"),
        ('"winter of 2024"', "winter of 2024"),
        ("2024-01-31T12:00:00Z", "2024-01-31T12:00:00+00:00"),
    ],
)
def test_periods_may_be_years_dates_and_texts(period: str, words: str, tmp_path: Path) -> None:
    assert read_problem(written(tmp_path, f"[about]\nperiod = {period}")).about.period == words


def test_a_unit_without_a_name_is_for_all_answers(tmp_path: Path) -> None:
    assert read_problem(written(tmp_path, '[about]\nunits = "persons"')).about.unit("south") == "persons"


REFUSED = [
    ("[about]\ntitle = 'x'", "[about] title = 'x': unknown key"),
    ("[about]\nperiods = 2024", "[about] periods = 2024: unknown key; perhaps 'period' is meant"),
    ("[about]\nperiod = true", "[about] period = True: should be"),
    ("[about]\nperiod = [2024]", "[about] period = [2024]: should have at least 2 entries"),
    ("[about]\nunits = 3", "[about] units = 3: should be"),
    ("[about]\nunits = {nort = 'persons'}", "about.units: 'nort' is the name of no query; perhaps 'north' is meant"),
    ("[about]\ndata = ''", "about.data: '' says nothing; leave the key out"),
    ('[about]\ndata = "a\\nb"', "about.data: 'a\\nb' holds a line break"),
    ("about = 3", "about = 3 should be a section: write [about]"),
]


@pytest.mark.parametrize(("about", "words"), REFUSED)
def test_what_cannot_be_said_is_refused_with_the_place(about: str, words: str, tmp_path: Path) -> None:
    path = written(tmp_path, about)
    with pytest.raises(InvalidProblem) as refused:
        read_problem(path)
    assert str(path) in str(refused.value) and words in str(refused.value).replace(
        ": should be a section", " should be a section"
    )


def test_the_published_schema_knows_the_section() -> None:
    validator = jsonschema.Draft202012Validator(SCHEMA)
    as_json = json.loads(json.dumps(tomllib.loads(FILE.format(about=ABOUT)), default=str))
    validator.validate(as_json)
    for about in ("[about]\ntitle = 'x'", "[about]\nperiods = 2024", "[about]\nperiod = [2024]", "[about]\nunits = 3"):
        assert not validator.is_valid(tomllib.loads(FILE.format(about=about)))


def test_words_travel_from_the_file_into_spec_release_and_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, spec, release = written(tmp_path, ABOUT), tmp_path / "spec.json", tmp_path / "release.json"
    counts = tmp_path / "counts.csv"
    counts.write_text("district,count\nnorth,120\nsouth,80\n")
    assert main(["design", str(path), "-o", str(spec)]) == 0
    assert load(spec).about == SAID
    assert main(["budget", str(path), "--family", "laplace", "-o", str(tmp_path / "least.json")]) == 0
    assert load(tmp_path / "least.json").about == SAID
    capsys.readouterr()
    assert main(["release", str(spec), "--histogram", str(counts), "--column", "count", "-o", str(release)]) == 0
    told = capsys.readouterr().out
    assert "Commuters" in told and "persons" in told and "Publisher: City of Zürich" in told
    assert json.loads(release.read_text())["about"] == SAID.to_dict()
    verify_release(spec, release)
    assert main(["show", str(spec)]) == 0
    assert "Period: 2024-01-01 to 2024-12-31" in capsys.readouterr().out

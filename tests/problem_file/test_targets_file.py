"""[targets] in problem files: round trips, the schema beside the reader, and mistakes answered by file, key and remedy."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from designer import DesignFailed, InvalidProblem, Targets, read_problem
from designer.problem.targets import KINDS
from designer.problem_file.linear_forms import ACCURACY
from designer.problem_file.schema import problem_schema

HEAD = (
    '[workload]\nbuilder = "identity"\nsize = 2\nnames = ["north", "south"]\n'
    '[relation]\nmetric = "uniform"\nepsilon = 1\n[targets]\n'
)
GOOD: dict[str, dict[str, Any]] = {
    "standard_error = 5": {"standard_error": 5.0},
    "margin = {north = 3.5}": {"margin": {"north": 3.5}},
    "standard_error = {north = 5}\nmargin = {south = 2}": {"standard_error": {"north": 5.0}, "margin": {"south": 2.0}},
    "relative_error = 0.1\nreference = {north = -4, south = 9}": {
        "relative_error": 0.1,
        "reference": {"north": -4.0, "south": 9.0},
    },
}
BAD = {
    "": "none is given",
    "standard_error = 0": "standard_error: 0.0 is not a positive",
    "standard_error = -1": "standard_error",
    "standard_error = nan": "standard_error",
    "margin = inf": "margin",
    'margin = "3"': "margin: '3' is not a number",
    "margin = [3]": "margin",
    "margin = {east = 3}": "'east' is no query",
    "margin = {}": "names no query",
    "margin = {north = 1}\nstandard_error = {north = 1}": "'north' has a target",
    "relative_error = 0.1": "reference: is missing",
    "reference = 3": "none is given",
    "relative_error = 0.1\nreference = 0": "is 0",
    "error = 3": "unknown key",
}
SEEN_BY_THE_READER_ALONE = {  # a schema knows no names of queries, no other number than 0 for a reference
    "margin = {east = 3}",
    "margin = {north = 1}\nstandard_error = {north = 1}",
    "relative_error = 0.1\nreference = 0",
    "margin = inf",
    "standard_error = nan",
}


def written(tmp_path: Path, section: str) -> Path:
    path = tmp_path / "p.toml"
    path.write_text(HEAD + section + "\n")
    return path


@pytest.mark.parametrize("section", GOOD)
def test_what_is_written_is_what_is_read(tmp_path: Path, section: str) -> None:
    path = written(tmp_path, section)
    targets = read_problem(path).targets
    assert targets is not None and targets.to_dict() == GOOD[section] == Targets(**GOOD[section]).to_dict()
    jsonschema.validate(tomllib.loads(path.read_text()), problem_schema())


@pytest.mark.parametrize("section", BAD)
def test_mistakes_are_refused_with_file_and_key(tmp_path: Path, section: str) -> None:
    path = written(tmp_path, section)
    with pytest.raises(InvalidProblem, match=BAD[section]) as refused:
        read_problem(path)
    assert str(refused.value).startswith(f"{path}: [targets]")
    valid = jsonschema.Draft202012Validator(problem_schema()).is_valid(tomllib.loads(path.read_text()))
    assert valid == (section in SEEN_BY_THE_READER_ALONE)


def test_a_design_of_a_file_meets_its_targets_or_says_that_none_does(tmp_path: Path) -> None:
    reached = read_problem(written(tmp_path, "standard_error = 5")).made().mechanism.standard_errors()
    assert reached.max() <= 5
    with pytest.raises(DesignFailed, match="the targets are not met at these budgets"):
        read_problem(written(tmp_path, "standard_error = {north = 0.5}")).made()


def test_files_without_targets_ask_for_none(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text(HEAD.replace("[targets]\n", ""))
    assert read_problem(path).targets is None
    assert tuple(ACCURACY) == KINDS

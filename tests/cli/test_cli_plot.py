"""`dp-designer plot`: pictures of specs, releases and problem files, by their names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from designer import Problem, Workload, design, metrics, save_release
from designer.cli import main
from designer.problem.histogram import Keys

TOWNS = (("Ulm", "DE"), ("Brig", "CH"), ("Linz", "AT"))
PLACES = "town,land,latitude,longitude\nLinz,AT,48.3,14.29\nUlm,DE,48.4,9.99\nBrig,CH,46.32,7.99\nRom,IT,41.9,12.5\n"
PROBLEM = """title = "Towns"
[elements]
table = "places.csv"
names = ["town", "land"]
[workload]
columns = ["latitude", "longitude"]
[relation]
metric = "great_circle"
points = ["latitude", "longitude"]
per_km = 0.05
[design]
family = "laplace"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    names = [", ".join(town) for town in TOWNS]
    asked = Workload([[1, 0, 0], [0, 1, 0], [0, 0, 1]], names, names, Keys(("town", "land"), TOWNS))
    mechanism = design(Problem(asked, metrics.add_remove(3, 0.5)), "laplace").mechanism
    mechanism.save("spec.json")
    save_release(mechanism, mechanism.release([100, 200, 300]), "release.json")
    Path("places.csv").write_text(PLACES)
    Path("problem.toml").write_text(PROBLEM)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["plot", *arguments])
    return code, *capsys.readouterr()


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    code, out, err = run(capsys, *arguments, "--json")
    assert code == 0, err
    data: dict[str, Any] = json.loads(out)
    return data


def test_every_kind_that_is_listed_is_drawn_the_same_twice(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ("spec.json", "release.json", "--places", "places.csv")
    kinds = [entry["kind"] for entry in said(capsys, *given, "--kind", "list")["kinds"]]
    assert kinds == ["map", "answers", "errors", "noise", "ball"]
    for kind in kinds:
        for name in ("one.svg", "two.svg"):
            data = said(capsys, *given, "--kind", kind, "-o", name, "--force")
        assert data["kind"] == kind and data["alt"].endswith(".")
        assert Path("one.svg").read_bytes() == Path("two.svg").read_bytes()


def test_a_map_joins_answers_and_places_by_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = said(capsys, "spec.json", "--places", "places.csv", "-o", "map.png")
    assert data["kind"] == "map" and data["title"] == "Standard errors on a map" and "3 places" in data["alt"]
    Path("places.csv").write_text(PLACES.replace("Ulm", "Ulf"))
    code, _, err = run(capsys, "spec.json", "--places", "places.csv", "-o", "other.png")
    assert code == 2 and "has no place 'Ulm / DE' in ['town', 'land']; add its row" in err and not Path("other.png").exists()
    Path("places.csv").write_text(PLACES + "Ulm,DE,1,2\n")
    code, _, err = run(capsys, "spec.json", "--places", "places.csv", "-o", "other.png")
    assert code == 2 and "stands twice" in err
    code, _, err = run(capsys, "spec.json", "--places", "places.csv", "--latitude", "breite", "-o", "other.png")
    assert code == 2 and "no column 'breite'" in err


def test_what_a_problem_protects_is_drawn_without_a_design(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = [entry["kind"] for entry in said(capsys, "problem.toml", "--kind", "list")["kinds"]]
    assert kinds == ["errors", "noise", "ball", "relation", "neighbourhoods"]
    assert said(capsys, "problem.toml", "-o", "errors.pdf")["kind"] == "errors"
    monkeypatch.setattr("designer.problem_file.forms.design", None)
    for kind in ("relation", "neighbourhoods"):
        assert said(capsys, "problem.toml", "--kind", kind, "-o", f"{kind}.svg")["kind"] == kind


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["spec.json", "--kind", "ballon", "-o", "x.svg"], "'ballon' is no picture of spec.json; use one of ['errors',"),
        (["spec.json"], "-o: missing; name the picture to write, such as -o errors.svg"),
        (["spec.json", "-o", "x.txt"], "cannot be drawn; end its name in .png, .svg or .pdf"),
        (["spec.json", "-o", "spec.json"], "is an input"),
        (["problem.toml", "release.json", "-o", "x.svg"], "goes with the spec that made it"),
        (["spec.json", "--places", "missing.csv", "-o", "x.svg"], "missing.csv: no such file"),
    ],
)
def test_refusals_name_the_remedy(folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    code, _, err = run(capsys, *arguments)
    assert code == 2 and words in err and not Path("x.svg").exists()


def test_a_picture_that_is_there_is_replaced_only_when_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.svg").write_text("mine")
    assert run(capsys, "spec.json", "-o", "x.svg")[0] == 2 and Path("x.svg").read_text() == "mine"
    assert run(capsys, "spec.json", "-o", "x.svg", "--force")[0] == 0 and "<svg" in Path("x.svg").read_text()

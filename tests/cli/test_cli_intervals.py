"""Answers with intervals on the terminal: as they are released, and from a saved release."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from designer import Domain, Problem, Workload, design, metrics
from designer.base.answer_table import AnswerTable, ConfidenceLimits, answer_lines
from designer.cli.entry import main


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main([str(a) for a in arguments]) == 0
    return capsys.readouterr().out


def released(folder: Path, elements: int) -> tuple[Path, Path]:
    """A spec of as many counts, and a file of data: counts so far above 0 that noise of scale 2 brings none below it."""
    names = [f"town {k}" for k in range(elements)]
    made = design(Problem(Workload.identity(Domain.of({"town": names})), metrics.uniform(elements, 1.0)), "laplace")
    made.mechanism.save(folder / "spec.json")
    (folder / "counts.csv").write_text("\n".join(["town,count", *(f"{name},7000" for name in names)]) + "\n")
    return folder / "spec.json", folder / "counts.csv"


def test_a_release_prints_a_table_and_the_saved_one_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec, data = released(tmp_path, 3)
    out = run(capsys, "release", spec, "--histogram", data, "--column", "count", "-o", tmp_path / "r.json")
    table = out[out.index("town ") : out.index("\nPrivacy:")].strip()
    assert "95 % interval" in table and "standard error" in table and "Law: quantiles of the discrete law" in table
    again = run(capsys, "tables", spec, tmp_path / "r.json")
    assert table in again and "each interval would hold the answer without noise in 95 of 100 releases" in again
    together = run(capsys, "tables", spec, tmp_path / "r.json", "--together", "--level", "0.99")
    assert "99 % interval" in together and "together" in together
    found = json.loads(run(capsys, "tables", spec, tmp_path / "r.json", "--json"))["intervals"]
    answers = list(json.loads((tmp_path / "r.json").read_text())["answers"].values())
    middles = (np.array(found[0]["lower"]) + np.array(found[0]["upper"])) / 2
    assert middles.tolist() == answers and found[0]["keys"] == [["town 0"], ["town 1"], ["town 2"]]
    assert all(low < other for low, other in zip(found[0]["joint_lower"], found[0]["lower"], strict=True))


def test_long_tables_are_cut_only_where_a_file_has_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec, data = released(tmp_path, 45)
    options = ["release", spec, "--histogram", data, "--column", "count"]
    assert "town 44" in run(capsys, *options)
    cut = run(capsys, *options, "-o", tmp_path / "r.json")
    assert "town 39" in cut and "town 40" not in cut and "... and 5 more, in the file that was saved." in cut


def test_levels_that_are_none_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec, data = released(tmp_path, 2)
    run(capsys, "release", spec, "--histogram", data, "--column", "count", "-o", tmp_path / "r.json")
    assert main(["tables", str(spec), str(tmp_path / "r.json"), "--level", "95"]) == 2
    assert "--level: 95.0 is not between 0 and 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--format", "csv"], "--format: says how tables are written; give a folder for them, -o NAME/."),
        (["--consistent", "integer"], "--consistent: says how tables are written"),
        (
            ["-o", "made/", "--together"],
            "--together: says which intervals are printed; tables that are written have both kinds",
        ),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    options: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    spec, data = released(tmp_path, 2)
    run(capsys, "release", spec, "--histogram", data, "--column", "count", "-o", tmp_path / "r.json")
    assert main(["tables", str(spec), "r.json", *options]) == 2
    assert words in capsys.readouterr().err and not Path("made").exists()


def test_what_is_printed_for_machines_is_what_the_written_table_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec, data = released(tmp_path, 3)
    run(capsys, "release", spec, "--histogram", data, "--column", "count", "-o", tmp_path / "r.json")
    (found,) = json.loads(run(capsys, "tables", spec, tmp_path / "r.json", "--level", "0.9", "--json"))["intervals"]
    run(capsys, "tables", spec, tmp_path / "r.json", "--level", "0.9", "-o", tmp_path / "made")
    (written,) = (path for path in (tmp_path / "made").iterdir() if path.suffix == ".csv")
    rows = list(csv.DictReader(written.read_text().splitlines()))
    for name in ("lower", "upper", "joint_lower", "joint_upper"):
        assert [float(row[f"{name}_90"]) for row in rows] == found[name]


def test_ends_are_rounded_outwards_and_exact_answers_say_so() -> None:
    ends = ConfidenceLimits(np.array([-1.2345, 3.0]), np.array([0.0049, 3.0]), "some law")
    table = AnswerTable(
        "answers", ("a", "b"), (("x", "y"), ("x", "z")), np.array([-0.61, 3.0]), np.array([0.31, 0.0]), limits=lambda *_: ends
    )
    lines = "\n".join(answer_lines([table]))
    assert "-1.24 to 0.01" in lines and "exact, no noise" in lines and "3 to 3" in lines and "x, y" in lines
    assert "Law: some law." in lines

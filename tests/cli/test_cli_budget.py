"""`dp-designer budget`: the table, the curve, the picture, the spec that it saves, and refusals."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from designer import load
from designer.cli import main

PROBLEM = """title = "Two counts"
[workload]
builder = "identity"
size = 2
names = ["north", "south"]
[relation]
metric = "add_remove"
mu = 1
[problem]
notion = "zcdp"
[targets]
standard_error = {north = 5}
margin = {south = 19.6}
"""


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    path = tmp_path / "p.toml"
    path.write_text(PROBLEM)
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main([str(a) for a in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_least_budget_is_printed_drawn_and_saved(problem: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec, picture = problem.with_name("s.json"), problem.with_name("c.png")
    code, out, err = run(capsys, "budget", problem, "-o", spec, "--plot", picture)
    assert (code, err) == (0, "")
    # A record that appears moves one count by 1: 1/25 and (1.96/19.6)^2 of rho apart, the larger decides.
    assert "Least factor: 0.2000" in out and "times rho" in out and "Error against budget" in out
    assert "\ndiagonal_gaussian " in out and "Missed at" in out
    assert picture.read_bytes()[:4] == b"\x89PNG"
    loaded = load(spec)
    assert loaded.query_variances()[0] <= 25  # type: ignore[attr-defined]
    assert run(capsys, "verify", spec)[0] == 0
    code, _, err = run(capsys, "budget", problem, "-o", spec)
    assert code == 2 and "exists" in err


def test_json_holds_the_table_and_the_curve(problem: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "budget", problem, "--family", "diagonal_gaussian", "--step", "1e-6", "--json")
    data = json.loads(out)
    assert code == 0 and data["family"] == "diagonal_gaussian"
    assert data["factor"] == pytest.approx(0.2, rel=2e-6) and data["rho_factor"] == pytest.approx(0.04, rel=4e-6)
    assert data["missed"]["query"] == "north" and data["missed"]["reached"] > 5 >= data["reached"][0]["reached"]
    assert len(data["curve"]) == 9 and [row["family"] for row in data["families"]] == ["diagonal_gaussian"]


def test_targets_hold_for_design_too(problem: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "design", problem)
    assert code == 0 and "Target:      north: standard error at most 5" in out
    problem.write_text(PROBLEM.replace("mu = 1", "mu = 0.1"))
    code, _, err = run(capsys, "design", problem, "--family", "gaussian")
    assert code == 3 and "all budgets times 2.00" in err and "north: standard error at most 5, reached 10" in err


def test_what_cannot_be_answered_is_refused(problem: Path, capsys: pytest.CaptureFixture[str]) -> None:
    problem.write_text(PROBLEM.split("[targets]")[0])
    code, _, err = run(capsys, "budget", problem)
    assert code == 2 and "[targets] is missing" in err
    problem.write_text(PROBLEM.replace("north = 5", "north = 0"))
    code, _, err = run(capsys, "budget", problem)
    assert code == 2 and "[targets] standard_error" in err
    problem.write_text(PROBLEM)
    for arguments, words in ((["--step", "7"], "step"), (["--plot", "c.tiff9"], "plot"), (["--family", "x"], "family")):
        code, _, err = run(capsys, "budget", problem, *arguments)
        assert code == 2 and words in err
    problem.write_text(PROBLEM.replace("mu = 1", "epsilon = 1").replace('notion = "zcdp"', 'notion = "pure"'))
    code, _, err = run(capsys, "budget", problem, "--family", "gaussian")
    assert code == 3 and "zcdp" in err


REPORT = """kind = "own_report"
title = "How people came to work"
[domain]
way = ["on foot", "bicycle", "bus", "car"]
[relation]
metric = "uniform"
epsilon = 1
[report]
loss = "zero_one"
"""


def test_the_least_budget_of_an_own_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Randomised response is wrong with 3 / (e^b + 3), and nothing is better."""
    path, spec = tmp_path / "p.toml", tmp_path / "s.json"
    path.write_text(REPORT)
    assert "section [targets] is missing; say there what a report may lose" in run(capsys, "budget", path)[2]
    path.write_text(REPORT + "[targets]\nloss = 0.3\n")
    code, out, err = run(capsys, "budget", path, "-o", spec, "--json")
    data, least = json.loads(out), math.log(7)
    assert (code, err) == (0, "") and data["missed_at"] < least * 1.001 and least <= data["factor"] < least * 1.001
    assert data["lower_bound"] <= least and data["reached"] <= 0.3 and run(capsys, "verify", spec)[0] == 0
    assert "Least factor: 1.94" in run(capsys, "budget", path)[1]
    assert "0.3 is asked for, and 0.5246" in run(capsys, "design", path)[2]
    text = run(capsys, "compare", path, "--plot", tmp_path / "c.svg")[1]
    assert text.count("0.5247") >= 3 and "least chance of a wrong report" in text and (tmp_path / "c.svg").exists()
    path.write_text(REPORT + "[targets]\nmargin = 3\n")
    assert "[targets] takes ['loss']" in run(capsys, "budget", path)[2]

"""One delta for all changes on the command line: designed, shown, verified, reported and released from files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from designer import load
from designer.cli import main

PROBLEM = """
[domain]
age = 3
[workload]
builder = "prefix"
[relation]
metric = "graph"
edges = [[0, 1], [1, 2]]
per_edge = 0.5
[problem]
notion = "approximate"
delta = 1e-6
[design]
family = "gaussian"
"""


def test_every_command_says_the_delta(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.toml").write_text(PROBLEM)
    (tmp_path / "counts.csv").write_text("age,count\n0,3\n1,4\n2,5\n")
    problem, spec = str(tmp_path / "p.toml"), str(tmp_path / "s.json")

    def said(*arguments: str) -> str:
        assert main(list(arguments)) == 0
        return capsys.readouterr().out

    assert "approximate" in said("show", problem) and json.loads(said("show", problem, "--json"))["delta"] == 1e-6
    assert "That pair spends delta 9.99" in said("design", problem, "-o", spec, "--full")
    made = load(spec)
    found = json.loads(said("verify", spec, "--json"))
    assert found["delta"] == 1e-6 and 0.999e-6 < found["spent_delta"] <= 1e-6 and found["holds"]
    assert "recomputed in balls" in said("verify", spec)
    page = said("report", spec)
    assert "a length of at most" in page and "Phi(m/2 - b/m)" in page and "delta = 1e-06" in page
    released = json.loads(said("release", spec, "--histogram", str(tmp_path / "counts.csv"), "--column", "count", "--json"))
    assert released["guarantee"] == made.guarantee.to_dict() and released["answers"]["<=e2"] == 12
    rows = json.loads(said("compare", problem, "--family", "gaussian", "--family", "laplace", "--json"))
    assert "efficiency" in json.dumps(rows)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("delta = 0.0", "problem.delta: 0.0 is not between 0 and 1"),
        ("", "problem.delta: missing"),
        ("delta = [1]", "problem.delta"),
    ],
)
def test_bad_deltas_are_refused_by_name(line: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.toml").write_text(PROBLEM.replace("delta = 1e-6", line))
    assert main(["design", str(tmp_path / "p.toml")]) == 2
    assert message in capsys.readouterr().err

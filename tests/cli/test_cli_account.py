"""account: what follows from a problem file or a spec, against the same by other ways, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from designer.cli import main

IDENTITY = '[workload]\nbuilder = "identity"\n'
TABLE = '[domain]\nsex = ["F", "M"]\nage = ["young", "old"]\n' + IDENTITY + '[invariant]\nmargins = [["sex"], ["age"]]\n'
CHANGES = TABLE + "adjacency = 2\n[relation]\nepsilon = 1.0\n"
DISTANCE = TABLE + '[relation]\nepsilon = 0.25\nper_distance = "l2"\n'
PLACES = '[elements]\ntable = "places.csv"\nnames = ["place"]\n'
ZCDP = '[problem]\nnotion = "zcdp"\n'
LINE = PLACES + IDENTITY + '[relation]\nmetric = "uniform"\nepsilon = 0.5\n'
PLAN = """kind = "table_plan"
title = "Jobs"
[measures.emp]
upper = 100000
[queries.jobs]
ask = "sum"
measure = "emp"
loss = { size = 50, rho = 0.5 }
"""


def told(folder: Path, capsys: pytest.CaptureFixture[str], text: str, *options: str) -> tuple[str, dict[str, Any]]:
    """What people read, and what machines read."""
    path = folder / "problem.toml"
    path.write_text(text)
    (folder / "places.csv").write_text("place\na\nb\nc\n")
    assert main(["account", str(path), *options]) == 0
    words = capsys.readouterr().out
    assert main(["account", str(path), "--json", *options]) == 0
    return words, json.loads(capsys.readouterr().out)


def refused(folder: Path, capsys: pytest.CaptureFixture[str], text: str, *options: str) -> str:
    path = folder / "problem.toml"
    path.write_text(text)
    assert main(["account", str(path), *options]) == 2
    return capsys.readouterr().err


def test_the_answer_under_an_invariant_comes_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words, data = told(tmp_path, capsys, CHANGES)
    assert words.startswith("a(t) is at most 3, whatever the totals are:")
    assert "promises 3 epsilon here; rho-zCDP becomes 9 rho, mu-GDP 3 mu" in words and "Caution" in words
    assert data["semi_adjacency_bound"] == 3 and data["adjacency"] == 2 and data["groups"]["5"] == {"epsilon": 5.0}


def test_example_5_of_semi_dp_in_both_readings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words, data = told(tmp_path, capsys, CHANGES, "--totals", "2,1,2,1")
    assert words.startswith("a(t) = 3 at these totals") and (data["semi_adjacency"], data["semi_adjacency_literal"]) == (3, 2)
    words, data = told(tmp_path, capsys, CHANGES, "--totals", "1,0,1,0")
    assert data["semi_adjacency"] == 0 and "nothing is left to protect" in words


def test_groups_of_a_metric_in_its_notion(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, data = told(tmp_path, capsys, LINE, "--group", "3")
    assert data["groups"] == {"3": {"epsilon": 1.5}}
    words, data = told(tmp_path, capsys, LINE.replace("epsilon", "mu") + ZCDP, "--group", "3", "--delta", "1e-6")
    assert data["groups"]["3"]["rho"] == pytest.approx(1.5**2 / 2) and "rho 0.125" in words
    assert data["groups"]["3"]["rho"] >= 1.125 and data["groups"]["3"]["epsilon_at_delta"] > 5
    words, data = told(tmp_path, capsys, LINE + '[problem]\nnotion = "approximate"\ndelta = 1e-6\n')
    assert "do not add up under one delta" in words and data["groups"] == {} and data["delta"] == 1e-6


def test_a_budget_by_distance_is_told_for_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, data = told(tmp_path, capsys, DISTANCE)
    assert data["groups"]["2"]["epsilon"] == pytest.approx(0.25 * 2 * 2**0.5) and data["groups"]["2"]["delta"] == 0
    normal = DISTANCE.replace("epsilon", "mu") + ZCDP
    words, _ = told(tmp_path, capsys, normal)
    assert "r^2; give --delta" in words
    _, data = told(tmp_path, capsys, normal, "--delta", "1e-6")
    assert data["epsilon"] == pytest.approx(0.25 * 27.631021115928547**0.5 + 0.25**2 / 2)


def test_losses_of_a_policy_grow_as_they_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words, data = told(tmp_path, capsys, PLAN, "--record", "emp=50", "--record", "emp=100", "--group", "2", "--delta", "1e-6")
    assert words.startswith("A record loses at most P = emp^2 / 5000, in rho")
    first, second = data["records"]
    assert first["loss"] == 0.5 and second["loss"] == 2.0 and first["larger"] == {"10": 50.0, "100": 5000.0}
    assert first["groups"] == {"2": 2.0} and data["together"] == pytest.approx(4.5) and data["together"] >= 4.5
    assert first["epsilon"] > 0.5
    slow = PLAN.replace('"sum"', '"slow_sum"').replace(
        "loss = { size = 50, rho = 0.5 }", 'noise = { law = "gaussian", shape = "log", offset = 10, deviation = 0.5 }'
    )
    (record,) = told(tmp_path, capsys, slow, "--record", "emp=50")[1]["records"]
    assert record["larger"]["100"] < 20 * record["loss"]  # a logarithm, squared, where a square would be 10,000 times


def test_a_spec_is_accounted_for_like_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, data = told(tmp_path, capsys, CHANGES, "--totals", "2,1,2,1")
    spec = tmp_path / "spec.json"
    assert main(["design", str(tmp_path / "problem.toml"), "--family", "laplace", "-o", str(spec), "--quiet"]) == 0
    capsys.readouterr()
    assert main(["account", str(spec), "--json", "--totals", "2,1,2,1"]) == 0
    assert json.loads(capsys.readouterr().out) == data


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        (CHANGES, ["--totals", "1,2"], "totals: has shape (2,); give 4 whole numbers"),
        (CHANGES, ["--totals", "1,x,1,1"], "--totals: 'x' is no whole number of at least 0"),
        (CHANGES, ["--totals", "5,0,0,4"], "no table of nonnegative counts"),
        (CHANGES, ["--record", "a=1"], "--record: goes with a table plan"),
        (CHANGES, ["--delta", "1e-6"], "--delta: the promise is pure"),
        (CHANGES, ["--group", "0"], "--group: '0' is no whole number of at least 1"),
        (DISTANCE, ["--totals", "1,1,1,1"], "--totals: a budget per distance needs no a(t)"),
        (
            DISTANCE.replace("epsilon", "mu") + ZCDP,
            ["--delta", "2"],
            "--delta: '2' is no number between 0 and 1",
        ),
        (PLAN, ["--totals", "1"], "--totals: a table plan publishes no statistics"),
        (PLAN, ["--record", "emp"], "is no list of name=value"),
        (PLAN, ["--record", "emp=1,emp=2"], "each name once"),
        (PLAN, ["--record", "pay=1"], "has no 'emp', which the policy reads"),
        (PLAN, ["--record", "emp=many"], "is no number"),
        (CHANGES, ["--signer", "a.pub"], "--signer: is for specs"),
    ],
)
def test_what_does_not_fit_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, options: list[str], words: str
) -> None:
    assert words in refused(tmp_path, capsys, text, *options)

"""`verify` says which verifier was used; `--independent` runs both."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from designer.cli.entry import main
from designer.verifier import standalone

SPECS = Path(__file__).parents[1] / "data" / "specs"


def test_verify_says_which_verifier_was_used(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(SPECS / "family_box.json")]) == 0
    assert "Verified by: this program (dp-designer " in capsys.readouterr().out
    assert main(["verify", str(SPECS / "family_box.json"), "--independent"]) == 0
    assert "and independently by designer/verifier/standalone.py: the largest ratio" in capsys.readouterr().out
    assert main(["verify", str(SPECS / "family_box.json"), "--independent", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verified_by"][1] == "designer/verifier/standalone.py"


def test_what_the_second_one_cannot_check_is_no_agreement(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(SPECS / "laplace_great_circle.json"), "--independent"]) == 3
    told = capsys.readouterr()
    assert told.out == "" and "cannot check it: relation.kind" in told.err


def test_a_file_on_which_they_differ_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(standalone, "verify", lambda *contents: ("does not hold", ["a reason"]))
    assert main(["verify", str(SPECS / "family_box.json"), "--independent"]) == 4
    told = capsys.readouterr()
    assert told.out == "" and "not by designer/verifier/standalone.py: a reason" in told.err

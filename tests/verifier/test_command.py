"""`verify` says which verifier was used; `--independent` runs both."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from designer.cli.entry import main
from designer.verifier import standalone

SPECS = Path(__file__).parents[1] / "data" / "specs"


def test_verify_says_which_verifier_was_used(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(SPECS / "family_box.json")]) == 0
    assert "Verified by: this program (dp-designer " in capsys.readouterr().out
    assert main(["verify", str(SPECS / "family_box.json"), "--independent"]) == 0
    assert "and independently by designer/verifier/standalone.py:\n  the largest ratio" in capsys.readouterr().out
    assert main(["verify", str(SPECS / "family_box.json"), "--independent", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verified_by"][1] == "designer/verifier/standalone.py"


def test_what_the_second_one_cannot_check_is_no_agreement(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(SPECS / "laplace_great_circle.json"), "--independent"]) == 3
    told = capsys.readouterr()
    assert told.out == "" and "cannot check it: relation.kind" in told.err


def test_a_file_on_which_they_differ_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other.py"
    other.write_text("""print('{"verdict": "does not hold", "sentences": ["a reason"]}')\nraise SystemExit(4)""")
    assert main(["verify", str(SPECS / "family_box.json"), "--verifier", str(other)]) == 4
    told = capsys.readouterr()
    assert told.out == "" and "other.py: a reason" in told.err


def test_it_is_taken_from_a_file_outside_the_installation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = tmp_path / "verifier.py"
    shutil.copy(str(standalone.__file__), copy)
    assert main(["verify", str(SPECS / "family_box.json"), "--verifier", str(copy), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["verified_by"][1] == str(copy)
    assert found["verifier_sha256"] == hashlib.sha256(copy.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    "program", ["", "import designer.nothing", """print('{"verdict": "holds", "sentences": []}')\nraise SystemExit(4)"""]
)
def test_a_file_without_a_verdict_is_none(program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "none.py").write_text(program)
    assert main(["verify", str(SPECS / "family_box.json"), "--verifier", str(tmp_path / "none.py")]) == 3
    assert "gives no verdict" in capsys.readouterr().err


def of_command(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    """The exit code of the file run by itself, and its lines."""
    code = standalone.main(arguments)
    told = capsys.readouterr()
    return code, (told.out + told.err).splitlines()


BAD = {
    "empty": (b"", "this is not JSON"),
    "binary": (bytes(range(256)), "this is not JSON"),
    "not a number": (b'{"a": NaN}', "the bare word NaN is not JSON"),
    "a key twice": (b'{"a": 1, "a": 2}', "same key twice"),
    "a list": (b"[]", "no JSON object"),
    "no format": (b"{}", "format"),
    "nested": (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "not JSON"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_spec_gets_one_clear_line(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content, why = BAD[name]
    (tmp_path / "a.json").write_bytes(content)
    code, (verdict, reason) = of_command([str(tmp_path / "a.json")], capsys)
    assert code == 4 and verdict.startswith("does not hold: ") and why in reason and len(reason) < 300


@pytest.mark.parametrize(
    "content",
    [
        b'{"format": "dp-designer/ledger"}',
        b'{"format": "dp-designer/of-tomorrow"}',
    ],
)
def test_formats_that_it_does_not_know_are_named(content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.json").write_bytes(content)
    code, (verdict, reason) = of_command([str(tmp_path / "a.json")], capsys)
    assert code == 3 and verdict.startswith("cannot check: ") and ("/ledger" in reason or "of-tomorrow" in reason)


def test_a_huge_file_is_not_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(standalone, "SIZE_LIMIT", 1000)
    code, lines = of_command([str(SPECS / "table_plan.json")], capsys)
    assert code == 4 and "larger than" in lines[1]


@pytest.mark.parametrize(
    "arguments", [[], ["a", "b", "c"], ["none.json"], [str(SPECS)], [str(SPECS / "family_box.json"), str(SPECS)]]
)
def test_files_that_cannot_be_read_are_no_verdict(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = of_command(arguments, capsys)
    assert code == 2 and len(lines) == 1 and lines[0].startswith(("usage: ", "cannot read "))


def test_it_names_the_functions_that_ran(capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = of_command(["--functions", str(SPECS / "line_days.json")], capsys)
    assert code == 0 and any(line.endswith("Relation.kind_line") for line in lines)
    assert not any("kind_graph" in line or "Staircase" in line for line in lines)


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        ("specs/lattice_l1", "releases/channel_line", "made by another mechanism"),
        ("specs/lattice_l1", "specs/lattice_l1", "the second file is no release"),
        ("releases/lattice_l1", "releases/lattice_l1", "give the spec that made it first"),
        ("releases/lattice_l1", None, "give the spec that made it first"),
    ],
)
def test_files_that_do_not_belong_together_are_named(
    first: str, second: str | None, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [str(SPECS.parent / f"{name}.json") for name in (first, second) if name]
    code, lines = of_command(paths, capsys)
    assert code == 4 and why in lines[1]

"""doctor: what is there is said, what is missing has a remedy, and nothing that is broken breaks doctor."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from designer.base.version import WHEEL, installed_from, installing_with
from designer.cli import doctor as installation
from designer.cli import main
from designer.cli.doctor import (
    ADDS,
    DESIGNS,
    FRAMES,
    NO_EXTRAS,
    RELEASES,
    WITHOUT_EXTRA,
    Diagnosis,
    fits,
    java,
    requirements,
    trials,
)

ROOT = Path(__file__).parents[2]
MODULES = {
    "sound_module": "",
    "loud_module": "print('{} on standard output')",
    "raising_module": "raise RuntimeError('a line\\nand another')",
    "lost_module": "import a_module_that_nobody_wrote",
    "leaving_module": "raise SystemExit(0)",
    "aborting_module": "import os; os.abort()",
    "quitting_module": "import os; os._exit(3)",
}


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in MODULES.items():
        (tmp_path / f"{name}.py").write_text(text + "\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_whatever_an_import_does_is_told_and_the_others_are_tried_all_the_same(modules: Path) -> None:
    found = trials([*MODULES, "no_module_of_this_name", "json"])
    assert [name for name, (state, _) in found.items() if state == "ok"] == ["sound_module", "loud_module", "json"]
    assert found["no_module_of_this_name"] == ("missing", "there is no module no_module_of_this_name")
    assert found["raising_module"] == ("broken", "RuntimeError: a line and another")
    assert found["lost_module"] == ("broken", "there is no module a_module_that_nobody_wrote")
    assert found["leaving_module"] == ("broken", "SystemExit: 0")
    assert found["aborting_module"] == ("broken", "its trial ended the interpreter (signal 6)")
    assert found["quitting_module"] == ("broken", "its trial ended the interpreter (exit code 3)")


def test_what_hangs_is_broken(modules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (modules / "hanging_module.py").write_text("import time; time.sleep(600)\n")
    monkeypatch.setattr(installation, "PATIENCE", 0.5)
    assert trials(["hanging_module"]) == {"hanging_module": ("broken", "its trial took longer than 0.5 seconds")}


@pytest.mark.parametrize(
    ("version", "asked", "holds"),
    [
        *[("1.26", ">=1.26,<3", True), ("1.25.9", ">=1.26,<3", False), ("3.0.0", "<3,>=1.26", False), ("2.10", ">=2.9", True)],
        *[("3", ">=3.0", True), ("3.0.0", "==3", True), ("1.0rc1", ">=1", True), ("21.0.2", ">=17", True), ("7", "", True)],
    ],
)
def test_versions_are_compared_as_numbers(version: str, asked: str, holds: bool) -> None:
    assert fits(version, asked) is holds


def test_what_is_asked_is_what_the_project_asks() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = requirements()
    assert set(asked) == {*WITHOUT_EXTRA, *project["optional-dependencies"]} - set(NO_EXTRAS)
    assert {name + limits for purpose in WITHOUT_EXTRA for name, limits in asked[purpose]} == set(project["dependencies"])
    assert ("ibis-framework", ">=12,<13") in asked["tables"]
    assert all(name != "dp-designer" for entries in asked.values() for name, _ in entries)
    assert set(asked) <= set(ADDS), "say in `ADDS` what the extra adds"


def test_an_installed_package_asks_the_same_as_its_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [f'{e}; extra == "{name}"' for name, entries in project["optional-dependencies"].items() for e in entries]
    here = requirements()
    monkeypatch.setattr(installation, "__file__", str(tmp_path / "a" / "b" / "installation.py"))
    monkeypatch.setattr(installation.metadata, "requires", lambda name: [*project["dependencies"], *extras])
    assert requirements() == here


@pytest.mark.parametrize(
    ("purpose", "state", "breaks"),
    [
        *[(RELEASES, "missing", True), (RELEASES, "broken", True), (RELEASES, "outside", False), (RELEASES, "ok", False)],
        *[(FRAMES, "missing", False), (FRAMES, "broken", True)],
        *[(DESIGNS, "missing", False), (DESIGNS, "broken", True), ("hull", "broken", False), ("spark", "missing", False)],
    ],
)
def test_the_exit_code_speaks_of_what_is_needed_alone(
    purpose: str, state: str, breaks: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [Diagnosis("numpy", RELEASES, "ok", "2.1"), Diagnosis("thing", purpose, state, remedy="pip install thing")]
    monkeypatch.setattr("designer.cli.doctor.found_here", lambda: found)
    assert main(["doctor"]) == (8 if breaks else 0)
    text = capsys.readouterr().out
    assert ("Broken, and needed: thing." in text) is breaks and "pip install thing" in text
    assert main(["doctor", "--json"]) == (8 if breaks else 0)
    told = json.loads(capsys.readouterr().out)
    assert told["healthy"] is not breaks and told["found"][1]["state"] == state


def test_a_missing_extra_and_another_version_are_told_with_their_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "requirements", lambda: {RELEASES: [("numpy", ">=1,<2")], "new": [("nothing-here", "")]})
    monkeypatch.setattr(installation, "version_of", lambda name: "2.5" if name == "numpy" else "")
    monkeypatch.setattr(installation.probes, "TRIALS", {})
    monkeypatch.setattr(installation, "OF_TRIALS", {})
    numpy, other, _ = installation.found_here()
    assert (numpy.state, numpy.remedy) == ("outside", 'pip install "numpy>=1,<2"') and ">=1,<2" in numpy.words
    assert (other.state, other.remedy) == ("missing", f'pip install "{installed_from()}[new]"')


def test_an_extra_that_nobody_installed_is_not_marked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Half of an extra is; one of which nothing is there is listed once, with its command, and the verdict leaves it out."""
    found = [
        *(Diagnosis("numpy", RELEASES, "ok", "2.1"), Diagnosis("duckdb", "tables", "missing", remedy="pip install tables")),
        *(Diagnosis("pandas", "tables", "ok", "2.2"), Diagnosis("cdd", "hull", "missing", remedy="pip install hull")),
    ]
    monkeypatch.setattr("designer.cli.doctor.found_here", lambda: found)
    assert main(["doctor"]) == 0
    text = capsys.readouterr().out
    assert "-- duckdb" in text and "-- cdd" not in text and text.count("pip install hull") == 1
    assert text.endswith("Everything that is needed works. Not complete: tables.\n")


@pytest.mark.parametrize(
    ("recorded", "source"),
    [
        ('{"url": "file:///home/a%20b/tree", "dir_info": {}}', "/home/a b/tree"),
        (f'{{"url": "file:///home/{WHEEL}", "archive_info": {{}}}}', f"/home/{WHEEL}"),
        ("[]", str(ROOT)),
        ("no JSON", str(ROOT)),
    ],
)
def test_hints_install_from_where_this_was_installed_from(recorded: str, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Recorded:
        def read_text(self, name: str) -> str:
            assert name == "direct_url.json"
            return recorded

    monkeypatch.setattr("importlib.metadata.distribution", lambda name: Recorded())
    assert installing_with("tables") == f"pip install '{source}[tables]'"


@pytest.mark.parametrize(
    ("text", "state"),
    [('openjdk version "17.0.15" 2025', "ok"), ('java version "1.8.0_292"', "outside"), ("no such thing", "broken")],
)
def test_java_is_asked_for_its_version(text: str, state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{text}' >&2\n")
    program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert java().state == state and bool(java().remedy) is (state != "ok")
    program.unlink()
    assert java().state == "missing" and "JAVA_HOME" in java().words


@pytest.mark.nightly
def test_this_machine_is_described_whole() -> None:
    done = subprocess.run([sys.executable, "-m", "designer", "doctor", "--json"], cwd=ROOT, capture_output=True, text=True)
    told = json.loads(done.stdout)
    states = {entry["name"]: entry for entry in told["found"]}
    assert done.returncode == 0 and told["healthy"]
    assert {states[name]["state"] for name in ("numpy", "scipy", "python-flint", "entropy", "exact arithmetic")} == {"ok"}
    assert states["numpy"]["version"] == __import__("numpy").__version__
    assert "CLARABEL" in states["solvers of CVXPY"]["words"] and states["a whole release"]["state"] == "ok"
    assert all(entry["remedy"] for entry in told["found"] if entry["state"] != "ok")

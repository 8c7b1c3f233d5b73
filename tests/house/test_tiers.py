"""The tiers: what the default runs, and which rooms a difference touches."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.nightly import ALWAYS, main, rooms, rooms_of, touched

ROOT = Path(__file__).parents[2]
FILE = '''
import pytest

@pytest.mark.parametrize("case", [pytest.param(0, marks=pytest.mark.nightly), 1, 2, 3])
def test_of_cases(case):
    """The first case that no tier has to itself, and one that is named."""

@pytest.mark.parametrize("left", [1, 2])
@pytest.mark.parametrize("right", [1, 2])
def test_of_pairs(left, right):
    """One pair."""

@pytest.mark.nightly
def test_of_the_night():
    """None."""

@pytest.mark.heavy
def test_in_full():
    """None."""
'''
FIRST = {"test_of_cases[1]", "test_of_pairs[1-1]"}
PAIRS = {f"test_of_pairs[{right}-{left}]" for left in (1, 2) for right in (1, 2)}
ALL = {*PAIRS, *(f"test_of_cases[{case}]" for case in range(4)), "test_of_the_night"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with these tiers; its tests stand in a room of promises, under a name that a mutant has, and plainly."""
    made = tmp_path_factory.mktemp("tiers")
    for room in ("mutation/lists", "sampling", "cli"):
        (made / "tests" / room).mkdir(parents=True)
    (made / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    (made / "tests" / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    shutil.copy(ROOT / "tests" / "rooms.py", made / "tests")
    for file in ("listed.py", "mutant.py", "patterns.py", "scopes.py"):
        shutil.copy(ROOT / "tests" / "mutation" / file, made / "tests" / "mutation")
    (made / "tests" / "mutation" / "lists" / "cli.txt").write_text("tests/cli/test_named.py::test_of_cases[3]\n")
    for file in ("sampling/test_promise.py", "cli/test_named.py", "cli/test_plain.py"):
        (made / "tests" / file).write_text(FILE)
    return made


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (("tests/cli/test_plain.py",), FIRST),
        (("tests/cli/test_named.py",), FIRST | {"test_of_cases[3]"}),
        (("tests/cli/test_named.py::test_of_cases[3]", "--tier"), {"test_of_cases[3]"}),
        (("tests/sampling/test_promise.py",), FIRST | PAIRS | {"test_of_cases[2]", "test_of_cases[3]"}),
        (("tests/cli/test_plain.py::test_of_cases",), {f"test_of_cases[{case}]" for case in range(4)}),
        (("tests/cli/test_plain.py::test_of_cases", "--tier"), {"test_of_cases[1]"}),
        (("tests/cli/test_plain.py", "-m", "nightly"), ALL),
        (("tests/cli/test_plain.py", "-m", "heavy"), {"test_in_full"}),
        (("tests/cli/test_plain.py", "-m", "quick"), set()),
    ],
)
def test_each_tier_collects_what_the_page_says(folder: Path, asked: tuple[str, ...], expected: set[str]) -> None:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-n", "0", "-p", "no:cacheprovider", *asked]
    ran = subprocess.run(command, cwd=folder, text=True, capture_output=True, check=False)
    assert {line.rpartition("::")[2] for line in ran.stdout.split("\n") if "::" in line} == expected, ran.stdout + ran.stderr


def test_a_difference_touches_the_rooms_of_its_files() -> None:
    there = rooms()
    assert rooms_of("designer/sampling/entropy.py") == ("tests/sampling",)
    assert rooms_of("solvers/exact/balls.py") == ("tests/solvers/exact",)
    assert rooms_of("tests/accounts/composition/test_rounds.py") == ("tests/accounts",)
    assert rooms_of("designer/__init__.py") == ALWAYS and rooms_of("tests/oracles/pages.py") == tuple(there)
    packages = [path for path in (ROOT / "designer").iterdir() if path.is_dir() and (path / "__init__.py").exists()]
    assert {f"tests/{path.name}" for path in packages} <= set(there)
    assert touched(["solvers/exact/balls.py", "CHANGELOG.md"]).keys() == {"tests/solvers/exact", *ALWAYS}


def test_a_commit_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--changed", "no-such-commit"])
    assert "--changed no-such-commit" in capsys.readouterr().err

"""What starting costs, counted and not timed: the modules of the house that a fresh interpreter loads, and what it never loads.

Where a limit is passed, an import at the head of a file brought what only some runs need: import it where it is used.
"""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from designer import Problem, Workload, design, metrics
from designer.audit.deep import SECONDS
from designer.cli.entry import COMMANDS, parser
from tests.house.test_layers import MODULES

NEVER = (
    "cvxpy",
    "clarabel",
    "networkx",
    "threadpoolctl",
    "pandas",
    "narwhals",
    "pyarrow",
    "pyreadstat",
    "python_calamine",
    "ibis",
    "duckdb",
    "matplotlib",
    "jinja2",
    "cryptography",
)
UNUSED = ("designer.designing", "designer.programs", "designer.audit", "designer.publish")  # rooms that design or report
COUNT = """
import sys, io, contextlib
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    {run}
print(*sorted(sys.modules))
"""


def loaded(run: str, *words: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after a line of Python, whose `sys.argv` are the words."""
    ran = subprocess.run([sys.executable, "-c", COUNT.format(run=run), *words], capture_output=True, text=True, check=True)
    return set(ran.stdout.split())


def ours(names: set[str]) -> list[str]:
    return sorted(name for name in names if name.partition(".")[0] in ("designer", "solvers"))


def commanded(*words: str) -> set[str]:
    """The same after a command, which must have worked."""
    return loaded("from designer.cli import main; assert not main(sys.argv[1:])", *words)


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The spec of a small mechanism."""
    made = design(Problem(Workload.identity(3), metrics.from_matrix([[0, 1, 2], [1, 0, 1], [2, 1, 0]])), "laplace").mechanism
    return made.save(tmp_path_factory.mktemp("specs") / "counts.json")


@pytest.mark.parametrize("word", ["--help", "--version"])
def test_help_and_version_load_the_table_of_commands_alone(word: str) -> None:
    names = commanded(word)
    assert len(ours(names)) <= 8, ours(names)
    assert "numpy" not in names and "dataclasses" not in names


def test_importing_the_package_loads_no_room_of_it() -> None:
    names = loaded("import designer")
    assert len(ours(names)) <= 4, ours(names)
    assert "numpy" not in names


def test_importing_design_loads_no_family_and_no_solver_of_theirs() -> None:
    names = loaded("from designer import Problem, Workload, design, load, metrics")
    assert len(ours(names)) <= 140, len(ours(names))
    assert not {"designer.designing.listed", "solvers.ellipsoids", "solvers.programs.scales", *NEVER} & names


def test_verify_loads_what_proves_and_nothing_that_designs(spec: Path) -> None:
    names = commanded("verify", str(spec))
    assert len(ours(names)) <= 145, len(ours(names))
    assert not {"scipy", "sysconfig", "email", *NEVER} & names
    assert [name for name in ours(names) if name.startswith(UNUSED)] == []


def test_release_loads_what_proves_and_draws_and_nothing_that_designs(spec: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "counts.npy", np.array([300, 400, 500]))  # no answer below 0, whose line asks how answers can agree
    names = commanded("release", str(spec), "--histogram", str(tmp_path / "counts.npy"))
    assert len(ours(names)) <= 148, len(ours(names))
    assert not {"scipy", "email", *NEVER} & names
    assert [name for name in ours(names) if name.startswith(UNUSED)] == []


@pytest.mark.parametrize("listed", COMMANDS, ids=lambda listed: listed.name)
def test_a_command_is_asked_for_as_the_parser_of_all_has_it(listed: object, capsys: pytest.CaptureFixture[str]) -> None:
    """Only the options of the command that is named are added, and they are those that the whole parser has."""
    helps = []
    for filled in (None, listed.name):  # type: ignore[attr-defined]
        with pytest.raises(SystemExit):
            parser(filled).parse_args([listed.name, "--help"])  # type: ignore[attr-defined]
        helps.append(capsys.readouterr().out)
    assert helps[0] == helps[1] and listed.help_text.split()[0] in helps[0]  # type: ignore[attr-defined]


def test_the_help_of_deep_verification_states_its_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser("verify").parse_args(["verify", "--help"])
    assert f"(default {SECONDS:g})" in capsys.readouterr().out


LAZY = [name for name, path in MODULES.items() if path.name == "__init__.py" and "public_names(" in path.read_text()]


@pytest.mark.parametrize("name", LAZY)
def test_a_room_that_loads_names_when_they_are_asked_for_says_the_same_thrice(name: str) -> None:
    """To type checkers, who find modules of the room by themselves, in the list of homes, and in `__all__`; each name is there,
    and what its home calls it."""
    room, tree = importlib.import_module(name), ast.parse(MODULES[name].read_text())
    branch = next(node for node in tree.body if isinstance(node, ast.If))
    typed = {alias.asname or alias.name: (node.module, alias.name) for node in branch.body for alias in node.names}  # type: ignore[attr-defined]
    eager = {alias.name for node in tree.body if isinstance(node, ast.ImportFrom) and node.module for alias in node.names}
    modules = {public for public in room.__all__ if f"{name}.{public}" in MODULES}
    assert set(typed) == set(room.__all__) - eager - modules == set(dir(room)) - eager - modules
    assert all(getattr(room, public) is importlib.import_module(f"{name}.{public}") for public in modules)
    for public, (home, own) in typed.items():
        module = importlib.import_module(home)
        found = getattr(module, own, None) or importlib.import_module(f"{home}.{own}")
        assert getattr(room, public) is found, public
    with pytest.raises(AttributeError, match="has no attribute 'nowhere'"):
        room.nowhere  # noqa: B018

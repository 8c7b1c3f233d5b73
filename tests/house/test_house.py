"""The house rules that a machine can check: format, lint, types, imports, and what `import designer` may load."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from designer.designing import FAMILIES
from designer.files.kinds import KINDS
from tests.house.figures import sources
from tests.oracles.spec_specimens import specimens

ROOT = Path(__file__).parents[2]
PRIVACY_WORDS = ("privacy", "private", "epsilon", "confidential", "histogram")


TYPED = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.0.0",
    reason="The types of NumPy 1 say less than the type checker is asked to hold.",
)


@pytest.mark.parametrize(
    "command",
    [["ruff", "format", "--check", "."], ["ruff", "check", "."], pytest.param(["mypy"], marks=TYPED)],
    ids=" ".join,
)
def test_tool_is_content(command: list[str]) -> None:
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_solvers_have_no_word_of_privacy() -> None:
    texts = {path.name: path.read_text().lower() for path in (ROOT / "solvers").rglob("*.py")}
    assert [(name, word) for name, text in texts.items() for word in PRIVACY_WORDS if word in text] == []


def test_twelve_words_are_no_names_on_their_own() -> None:
    """Neither of modules nor of their functions and classes: they say that something was done, and not what it is."""
    words = {"made", "told", "asked", "given", "found", "said", "own", "beside", "together", "standing", "heard", "apart"}
    names = [(path, path.stem) for path in sources()]
    for path, text in sources().items():
        names += [(path, node.name) for node in ast.parse(text).body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    assert [f"{path}: {name}" for path, name in names if name.strip("_").lower() in words] == []


def loaded_by(code: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after some code."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_import_loads_neither_packages_nor_families() -> None:
    """`import designer` runs its own file and what loads a public name when it is asked for."""
    modules = loaded_by("import designer") - loaded_by("pass")  # what the environment itself loads
    assert {name for name in modules if name.split(".")[0] not in sys.stdlib_module_names} == {
        *("designer", "designer.base", "designer.base.lazy_imports")
    }


def test_the_first_design_imports_the_list_of_families_without_a_convex_solver() -> None:
    modules = loaded_by("from designer.designing import FAMILIES")
    assert "designer.lattice.design" in modules
    assert {name.split(".")[0] for name in modules} & {"cvxpy", "clarabel", "cdd", "matplotlib", "networkx"} == set()


BLOCKED = """
import sys
from importlib.abc import MetaPathFinder

OUT_OF_REACH = "cvxpy clarabel networkx threadpoolctl cdd scs osqp highspy matplotlib pyarrow".split()

class Blocked(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in OUT_OF_REACH:
            raise AssertionError(f"{name} was imported")

sys.meta_path.insert(0, Blocked())
"""
RELEASE_ALL = """
from designer import InvalidProblem, load

def released(loaded):
    '''From data that fit what is public: margins of a 2 x 2 table, six or three records, tables that agree.'''
    if "odds" in loaded.format:
        return loaded.release([[3, 3], [2, 2]])
    rest = [0] * (len(loaded.universe.elements) - 1)
    for first in (6, 3):
        try:
            return loaded.release([first, *rest])
        except InvalidProblem:
            continue
    return loaded.release([0, *rest])

for path in sys.argv[1:]:
    loaded = load(path)
    print(loaded.format, loaded.verify().holds, type(released(loaded)).__name__ if "histogram" in loaded.takes else "")
"""


def test_verifying_and_releasing_import_no_solver_and_no_optional_package(tmp_path: Path) -> None:
    """A specimen of every format and every norm, in a fresh interpreter in which any such import is an error."""
    made = specimens()
    paths = [str(mechanism.save(tmp_path / f"{number}.json")) for number, mechanism in enumerate(made.values())]
    code = BLOCKED + RELEASE_ALL
    done = subprocess.run([sys.executable, "-c", code, *paths], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = [line.split(" ") for line in done.stdout.splitlines()]
    assert len(lines) == len(made) and {line[0] for line in lines} == set(KINDS) and {line[1] for line in lines} == {"True"}
    assert sum(bool(line[2]) for line in lines) > len(lines) / 2


def blocks_of(page: str) -> list[str]:
    return [block.split("```")[0] for block in (ROOT / page).read_text().split("```python\n")[1:]]


@TYPED
@pytest.mark.nightly
def test_python_of_the_readme_and_of_the_tour_passes_the_type_checker(tmp_path: Path) -> None:
    """Each block by itself, strictly; so does a program that asks a design for what its family has,
    and one that asks another fails."""
    files = []
    for number, block in enumerate([*blocks_of("README.md"), *blocks_of("docs/guides/in_python.md")]):
        files.append(tmp_path / f"block_{number}.py")
        files[-1].write_text(block)
    typed = """from designer import Problem, Workload, design, load, metrics
from designer.accounts import Ledger
from designer.lattice.mechanism import LatticeMechanism
problem = Problem(Workload.identity(3), metrics.uniform(3, 1.0))
whole: tuple[int, ...] = design(problem, "lattice_laplace").mechanism.release([1, 2, 3]).table
scales = design(problem, "laplace").mechanism.scales
lattice: LatticeMechanism = load("spec.json", LatticeMechanism)
print(load("spec.json").fingerprint, design(problem).mechanism.query_variances())
people = Ledger("ledger").dataset("people")
answers = people.release(design(problem, "laplace").mechanism, [1, 2, 3]).released.answers
told = people.release(load("spec.json"), [1, 2, 3]).to_dict()
"""
    (tmp_path / "typed.py").write_text(typed)
    (tmp_path / "untrue.py").write_text(
        typed + 'load("spec.json").scales\ndesign(problem, "laplace").mechanism.release([1]).table\n'
    )
    command = [sys.executable, "-m", "mypy", "--strict"]
    done = subprocess.run([*command, *files, tmp_path / "typed.py"], cwd=ROOT, capture_output=True, text=True)
    assert len(files) >= 3 and done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run([*command, tmp_path / "untrue.py"], cwd=ROOT, capture_output=True, text=True)
    assert '"FrozenMechanism" has no attribute "scales"' in done.stdout and '"Release" has no attribute "table"' in done.stdout
    assert "Found 2 errors" in done.stdout, done.stdout


def test_python_of_the_readme_runs(tmp_path: Path) -> None:
    code = "\n".join(blocks_of("README.md"))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^laplace +[0-9.,]+ ", done.stdout, re.MULTILINE) and "Fingerprint:" in done.stdout


def test_the_readme_counts_the_families_that_are_no_baselines() -> None:
    told = re.search(r"\| noise optimised for the queries \| (\d+) families \|", (ROOT / "README.md").read_text())
    assert told is not None and int(told[1]) == sum(not family.baseline for family in FAMILIES)

"""The house rules that a machine can check: format, lint, types, imports, and what `import designer` may load."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted([*(ROOT / "designer").rglob("*.py"), *(ROOT / "solvers").rglob("*.py")])
PRIVACY_WORDS = ("privacy", "private", "epsilon", "confidential", "histogram")


@pytest.mark.parametrize("command", [["ruff", "format", "--check", "."], ["ruff", "check", "."], ["mypy"]], ids=" ".join)
def test_tool_is_content(command: list[str]) -> None:
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", [p for p in SOURCES if "solvers" in p.relative_to(ROOT).parts], ids=lambda p: p.name)
def test_solvers_know_numbers_only(path: Path) -> None:
    text = path.read_text()
    imported = {
        (node.module or "") if isinstance(node, ast.ImportFrom) else name.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in node.names
    }
    assert not any(name.split(".")[0] == "designer" for name in imported)
    assert [word for word in PRIVACY_WORDS if word in text.lower()] == []


def test_import_loads_neither_solvers_nor_plots() -> None:
    heavy = "('scipy', 'cvxpy', 'flint', 'cdd', 'matplotlib', 'pyarrow', 'networkx', 'tqdm')"
    code = f"import sys, designer; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_release_needs_no_convex_solver(tmp_path: Path) -> None:
    """A saved mechanism is verified and released with every optional package out of reach."""
    code = """
import sys
for name in ("cvxpy", "clarabel", "cdd", "matplotlib", "pyarrow", "networkx", "tqdm"):
    sys.modules[name] = None
from designer import Problem, Workload, design, load, metrics
path = sys.argv[1]
design(Problem(Workload.identity(3), metrics.uniform(3, 1.0)), "laplace").mechanism.save(path)
loaded = load(path)
print(loaded.verify().holds, loaded.release([1, 2, 3]).answers.shape)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "s.json")], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "True (3,)"


@pytest.mark.slow
def test_python_of_the_readme_runs(tmp_path: Path) -> None:
    blocks = (ROOT / "README.md").read_text().split("```python\n")[1:]
    code = "\n".join(block.split("```")[0] for block in blocks)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "| laplace |" in done.stdout and "Fingerprint:" in done.stdout

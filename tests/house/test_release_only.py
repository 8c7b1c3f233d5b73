"""Where only the packages of a release are installed: every public name is there or says what it needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ELSEWHERE = (
    "cvxpy clarabel networkx threadpoolctl narwhals pandas polars pyarrow matplotlib ibis duckdb opendp cryptography jinja2"
)
USED = """
import sys
sys.modules.update(dict.fromkeys({absent!r}.split()))  # as if they were not installed
import numpy as np
import designer
from designer import *
from designer import InvalidProblem, Problem, Workload, design, metrics
assert all(hasattr(designer, name) for name in designer.__all__) and len(dir(designer)) >= len(designer.__all__)
asked = Problem(Workload(np.eye(3)), metrics.uniform(3, 1.0))
assert len(design(asked, "laplace").mechanism.release([1, 2, 3]).answers) == 3
assert not hasattr(designer.programs, "laplace") and "laplace" in dir(designer.programs)
by_name, called = lambda: design(asked, "laplace", solver="CLARABEL"), lambda: design(asked, "laplace", solver=len)
for ask in (lambda: designer.programs.laplace, by_name, called):
    try:
        ask()
    except InvalidProblem as refused:
        assert "cvxpy" in str(refused) and "install" in refused.remedy, refused
    else:
        raise AssertionError
"""


def test_every_public_name_is_there_or_says_what_it_needs() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", USED.format(absent=ELSEWHERE)], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert ran.returncode == 0, ran.stderr


def test_modules_of_an_earlier_build_are_in_no_wheel(tmp_path: Path) -> None:
    pytest.importorskip("setuptools", "77")  # what pyproject.toml asks for
    stale = tmp_path / "lib" / "designer" / "gone.py"
    stale.parent.mkdir(parents=True)
    stale.write_text("")
    build = ["setup.py", "-q", "egg_info", "--egg-base", str(tmp_path), "build_py", "--build-lib", str(tmp_path / "lib")]
    subprocess.run([sys.executable, *build], cwd=ROOT, check=True, capture_output=True)
    assert not stale.exists() and (tmp_path / "lib" / "designer" / "__init__.py").is_file()

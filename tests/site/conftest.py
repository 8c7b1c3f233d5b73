"""The site, built once for all tests of it, in a folder that is gone afterwards."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").is_file())


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, from a copy of what it is made of: what a build writes beside its sources stays in the copy."""
    checkout = tmp_path_factory.mktemp("checkout")
    for name in ("designer", "solvers", "examples", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE", "pyproject.toml"):
        (checkout / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "docs", checkout / "docs", ignore=shutil.ignore_patterns("gallery", "sg_*", "__pycache__"))
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-n", "docs", "out/site"],
        cwd=checkout,
        env=os.environ | {"PYTHONPATH": str(checkout), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return checkout / "out" / "site"

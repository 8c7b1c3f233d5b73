"""What lies beside the code: the licence that is named, one version, and the command under both its names."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import designer

ROOT = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").is_file())
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_module_is_the_command() -> None:
    ran = subprocess.run([sys.executable, "-m", "designer", "--help"], capture_output=True, text=True, cwd=ROOT, check=True)
    assert ran.stdout.startswith("usage: dp-designer")
    failed = subprocess.run([sys.executable, "-m", "designer", "show", "nothing.toml"], capture_output=True, cwd=ROOT)
    assert failed.returncode == 2 and failed.stderr.startswith(b"dp-designer: ")


def test_the_licence_is_the_whole_text_of_the_one_that_is_named() -> None:
    text = " ".join((ROOT / "LICENSE").read_text().split())
    assert PROJECT["license"] == "Apache-2.0" and PROJECT["license-files"] == ["LICENSE"]
    assert text.startswith("Apache License Version 2.0, January 2004") and "END OF TERMS AND CONDITIONS" in text
    assert all(f" {number}. " in text for number in range(1, 10))


def test_one_version_is_named_everywhere() -> None:
    cited = next(line for line in (ROOT / "CITATION.cff").read_text().splitlines() if line.startswith("version: "))
    assert PROJECT["version"] == designer.__version__ == cited.removeprefix("version: ")
    assert f"## {designer.__version__}" in (ROOT / "CHANGELOG.md").read_text()

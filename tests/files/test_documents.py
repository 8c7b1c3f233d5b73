"""The pages that the program's texts name are shipped with it, under the same name."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from designer import InvalidProblem
from designer.files.shipped import document, documents

ROOT = Path(__file__).parents[2]
NAME = re.compile(r"\b(?:docs|examples)/[\w/.-]*\w\.(?:md|json|csv|toml|parquet)\b")


def named() -> set[str]:
    """Every file of the project that a text of the program names."""
    sources = [path for package in ("designer", "solvers") for path in (ROOT / package).rglob("*.py")]
    return {name for path in sources for name in NAME.findall(path.read_text(encoding="utf-8"))}


def test_every_document_that_the_program_names_is_found_by_its_name() -> None:
    assert len(named()) > 15
    for name in named():
        assert document(name).read_bytes() == (ROOT / name).read_bytes()


def test_other_names_are_refused() -> None:
    with pytest.raises(InvalidProblem, match="is none of"):
        document("docs/theory/../../pyproject.toml")


def test_a_wheel_holds_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The list of files that setuptools makes of pyproject.toml, without building."""
    setuptools = pytest.importorskip("setuptools")
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    monkeypatch.chdir(ROOT)
    packages = setuptools.find_namespace_packages(".", **table["packages"]["find"])
    command = setuptools.Distribution({"packages": packages, "package_data": table["package-data"]}).get_command_obj("build_py")
    command.ensure_finalized()
    shipped = {f"{package.replace('.', '/')}/{name}" for package, _, _, names in command.data_files for name in names}
    data = {
        str(path.relative_to(ROOT))
        for package in ("designer", "solvers")
        for path in (ROOT / package).rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    }
    assert len(data) > 20 and {f"designer/{name}" for name in documents()} | data <= shipped

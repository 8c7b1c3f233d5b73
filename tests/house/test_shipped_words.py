"""Sentences that no shipped text, output or page may have, and lists that a page names where they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXTS = sorted(
    path
    for folder in ("designer", "solvers", "docs", "examples", "benchmarks", ".ci")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in (".py", ".md", ".rst", ".ipynb", ".json", ".toml", ".sh", ".yml", ".html", ".svg", ".txt", ".R", ".j2")
    and not path.is_symlink()
) + [ROOT / name for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md")]
BY_NAME = re.compile(r"(install|uvx|pipx run|uv add|add)\s+(-\S+\s+)*[\"'`]*dp[-_]designer(?![-_]0)\b", re.I)
WARNED = "Do not run `pip install dp-designer`: nobody owns that name"


def test_nothing_tells_a_reader_to_install_by_a_name_that_nobody_owns() -> None:
    """Whoever registers the name on an index would run code on the machines of reviewers."""
    assert BY_NAME.search("python -m pip install dp-designer==0.1.0") and BY_NAME.search("install dp-designer[tables]")
    assert not BY_NAME.search("pip install './dp_designer-0.1.0-py3-none-any.whl[tables]'")
    found = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in TEXTS
        for match in BY_NAME.finditer(re.sub(r"\s+", " ", path.read_text(encoding="utf-8")).replace(WARNED, ""))
    ]
    assert len(TEXTS) > 500 and found == []


@pytest.mark.parametrize(
    "name", ["guides/adding.md", "guides/programs.md", "guides/exchange.md", "explanation/where_things_are.md"]
)
def test_names_that_a_page_gives_with_their_file_are_there(name: str) -> None:
    page = re.sub(r"\s+", " ", (ROOT / "docs" / name).read_text())
    found = re.findall(r"`(\w+)(?:\([^`]*\))?`\w* \(`([a-z_/]+\.py)`", page)
    assert found
    for word, file in found:
        source = next(path for path in (ROOT / "designer" / file, ROOT / "solvers" / file, ROOT / file) if path.exists())
        assert re.search(rf"^\s*(class |def )?{word}\b", source.read_text(), re.M), (word, file)


def test_modules_that_texts_run_are_there() -> None:
    """`python -m NAME` in any shipped text."""
    outside = {"pip", "venv", "pytest", "sphinx", "ruff", "mypy", "build", "json", "http"}
    for path in TEXTS:
        for module in set(re.findall(r"python3? -m ([a-z_.0-9]+[a-z_0-9])", path.read_text(encoding="utf-8"))):
            place = ROOT / module.replace(".", "/")
            assert module.split(".")[0] in outside or place.is_dir() or place.with_suffix(".py").exists(), (path, module)

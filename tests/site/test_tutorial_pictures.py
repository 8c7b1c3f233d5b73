"""The pictures of the tutorials are those that the pages draw: docs/tutorials/images holds copies by their names.

    python -m tests.site.test_tutorial_pictures

runs the pages and writes them anew.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from tests.site.blocks import run_page

TUTORIALS = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").is_file()) / "docs" / "tutorials"
PICTURE = re.compile(r"(?:!\[[^\]]+\]\(|```\{image\} )images/([\w.-]+)")
SHOWN = {page.name: PICTURE.findall(page.read_text()) for page in sorted(TUTORIALS.glob("*.md"))}
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
MEASURED = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)


def drawn(text: str) -> tuple[list[str], list[float]]:
    """What a picture says and draws, apart from its numbers, and these; another matplotlib may round them otherwise."""
    picture = MEASURED.sub("", text)
    return NUMBER.split(picture), [float(number) for number in NUMBER.findall(picture)]


def made_by(page: str, folder: Path) -> dict[str, Path]:
    """Run a page; the pictures of it that are shown there."""
    run_page(TUTORIALS / page, folder)
    return {name: folder / name for name in SHOWN[page] if (folder / name).is_file()}


def test_every_picture_is_shown_by_one_page() -> None:
    shown = [name for names in SHOWN.values() for name in names]
    assert len(shown) == len(set(shown)) and set(shown) == {path.name for path in (TUTORIALS / "images").iterdir()}


@pytest.mark.heavy
@pytest.mark.parametrize("page", [page for page, names in SHOWN.items() if names])
def test_the_pictures_are_those_that_the_page_draws(page: str, tmp_path: Path) -> None:
    made = made_by(page, tmp_path)
    assert made
    for name, path in made.items():
        words, numbers = drawn((TUTORIALS / "images" / name).read_text())
        again, close = drawn(path.read_text())
        assert again == words and numbers == pytest.approx(close, abs=0.5), name


if __name__ == "__main__":
    for page in sys.argv[1:] or [page for page, names in SHOWN.items() if names]:
        with tempfile.TemporaryDirectory() as folder:
            for name, path in made_by(page, Path(folder)).items():
                shutil.copy(path, TUTORIALS / "images" / name)
                print(f"written: {name}")

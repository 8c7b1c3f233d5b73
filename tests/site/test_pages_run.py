"""Every block of code of every page does what the page says, one test a page, and leaves what it speaks of."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.site.blocks import COMMAND, by_shell, run_page

ROOT = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").is_file())
DOCS = ROOT / "docs"
# The pictures of docs/gallery are generated, and run while the site is built.
PAGES = {page.relative_to(DOCS).as_posix(): page for page in sorted(DOCS.rglob("*.md")) if "gallery" not in page.parts}

Left = Callable[[dict[str, Any], Path], None]


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def bring_your_own(names: dict[str, Any], folder: Path) -> None:
    """What a user may do from outside the package."""
    assert files(folder) == {"seconds.svg"} and names["by_clock"]


def exchange(names: dict[str, Any], folder: Path) -> None:
    """The count of names is another pipeline with the same map."""
    assert names["pipeline"].map(1) == 0.9999999999990905


def for_a_paper(names: dict[str, Any], folder: Path) -> None:
    table = (folder / "families.tex").read_text()
    assert r"family & loss & worst query variance & efficiency \\" in table and r"k\_norm & " in table
    assert (np.diff(names["swept"], axis=0) < 0).all() and (names["swept"]["laplace"] <= names["swept"]["textbook"]).all()
    assert (folder / "paper.pdf").stat().st_size and (folder / "sweep.tex").read_text().count("k\\_norm") == 1
    assert names["capped"].mechanism.query_variances()[3] <= 60 < names["by_scs"].mechanism.query_variances()[3]


def ledger(names: dict[str, Any], folder: Path) -> None:
    kinds = [entry.kind for entry in names["ledger"].entries()]
    assert kinds == ["opened", "stated", *["reserved", "released"] * 2]


def pictures(names: dict[str, Any], folder: Path) -> None:
    assert names["axes"].patches and len(names["right"].lines) == 3
    drawn = {Path(name).stem for name in files(folder) if name.endswith((".svg", ".png"))}
    patients = {f"patients_{name}" for name in ("answers", "errors", "noise", "ball")}
    assert drawn == patients | {"shadow", "families", "budget", "towns", "policies", "tradeoffs", "year"}


def programs(names: dict[str, Any], folder: Path) -> None:
    """Each program as plain CVXPY over all pairs, beside what `designer.programs` makes of it."""
    assert "made" in names


def an_office(names: dict[str, Any], folder: Path) -> None:
    """What the page shows of a problem file stands in it."""
    shown = re.findall(r"```toml\n(.*?)```", PAGES["tutorials/an_office.md"].read_text(), re.DOTALL)
    held = [(folder / f"{job}.toml").read_text().splitlines() for job in ("survey", "firms", "persons")]
    assert all(any(set(block.splitlines()) <= set(lines) for lines in held) for block in shown) and len(shown) == 3
    assert (folder / "survey" / "tables.xlsx").is_file() and "tables.json" in files(folder / "persons_sdmx")


def verify_a_spec(names: dict[str, Any], folder: Path) -> None:
    assert len(COMMAND.findall(PAGES["tutorials/verify_a_spec.md"].read_text())) == 15
    assert {"spec.json.sig", "office", "office.pub"} <= files(folder)


LEFT: dict[str, Left] = {
    **{f"guides/{left.__name__}.md": left for left in (exchange, for_a_paper, ledger, pictures, programs)},
    **{f"tutorials/{left.__name__}.md": left for left in (an_office, bring_your_own, verify_a_spec)},
}


def test_what_is_said_of_pages_is_said_of_pages_that_are_there() -> None:
    assert set(LEFT) <= set(PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_every_block_does_what_the_page_says(page: str, tmp_path: Path) -> None:
    names = run_page(PAGES[page], tmp_path)
    assert names["__name__"] == f"page_{PAGES[page].stem}"
    if page in LEFT:
        LEFT[page](names, tmp_path)


@pytest.mark.heavy
@pytest.mark.parametrize("page", PAGES)
def test_so_it_does_where_a_shell_runs_the_commands(page: str, tmp_path: Path) -> None:
    assert run_page(PAGES[page], tmp_path, by_shell)["__name__"] == f"page_{PAGES[page].stem}"

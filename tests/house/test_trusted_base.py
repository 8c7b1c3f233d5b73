"""The trusted base: what needs no trust does not run, and the page for auditors names what is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.house.trusted_base import END, HARMLESS, ROOT, STAGES, START, code_lines, filled, lines_that_ran, together, traced
from tests.oracles.spec_specimens import specimens

PAGE = ROOT / "docs" / "explanation" / "trusted_lines.md"
UNTRUSTED = ("designer/designing/", "designer/families/", "solvers/programs/", "solvers/ellipsoids/")


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_no_solver_runs_beside_those_that_are_named(every: bool, tmp_path: Path) -> None:
    """When a specimen of every format and norm, or each one, is loaded, verified and released in a fresh interpreter."""
    made = list(specimens().values())
    made = (
        made if every else list({(one.format, getattr(getattr(one, "norm", None), "order", "")): one for one in made}.values())
    )
    paths = [str(mechanism.save(tmp_path / f"{number}.json")) for number, mechanism in enumerate(made)]
    files = set(together(traced(paths))) - set(HARMLESS)
    assert len(files) > 100 and not [file for file in files if file.startswith(UNTRUSTED)]
    assert {file.split("/")[1] for file in files if file.startswith("solvers/")} == {"exact", "lattices", "polytopes"}


def test_every_stage_names_folders_that_are_there_and_pages_that_prove_it() -> None:
    for _, duty, folders, pages in STAGES:
        assert duty.endswith(".") and all((ROOT / folder).is_dir() for folder in folders)
        for page in re.findall(r"\]\(([^)]+)\)", pages):
            assert (PAGE.parent / page).is_file()


def test_lines_of_code_are_counted_without_what_no_machine_reads() -> None:
    source = (ROOT / "designer/__main__.py").read_text().splitlines()
    code = [number for number, line in enumerate(source, 1) if line and not line.startswith('"""')]
    assert sorted(code_lines("designer/__main__.py")) == code and len(code) == 5
    assert lines_that_ran("designer/base/errors.py", [1]) == 0
    whole = (ROOT / "solvers/exact/bits.py").read_text().splitlines()
    first = next(number for number, line in enumerate(whole, 1) if line.startswith("def precision"))
    assert lines_that_ran("solvers/exact/bits.py", [first]) == 3


def test_tables_go_between_the_marks() -> None:
    page = f"before\n{START}\nold\n{END}\nafter\n"
    assert filled(filled(page, "new"), "newer") == f"before\n{START}\n\nnewer\n{END}\nafter\n"


def test_the_page_speaks_of_commands_that_are_there() -> None:
    for module in re.findall(r"python -m ([\w.]+)", PAGE.read_text()):
        assert any((ROOT / (module.replace(".", "/") + end)).exists() for end in (".py", "/__main__.py"))

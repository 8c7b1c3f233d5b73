"""The trusted base: what is traced for auditors, and what needs no trust does not run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.house.trusted_base import (
    HARMLESS,
    ROOT,
    STAGES,
    code_lines,
    lines_that_ran,
    of_specimens,
    place_of,
    together,
    traced,
)
from tests.oracles.spec_specimens import specimens

PAGE = ROOT / "docs" / "explanation" / "trusted_lines.md"
ROW = re.compile(r"^\| `([\w/.]+)` \| (\d+) \| (\d+) \| (.+) \|$", re.MULTILINE)
DRAWN = re.compile(r"^\| `([\w/.]+)` \| (\d+) \| ([^|]+) \|$", re.MULTILINE)
BETWEEN = "## Between the random bits and a number"
UNTRUSTED = (
    *("designer/designing/", "designer/programs/", "designer/lattice/design.py", "designer/lattice/row_by_row.py"),
    *(
        "designer/local/design.py",
        "designer/local/reports.py",
        "designer/domains/design.py",
        "designer/domains/products_plan.py",
    ),
    *("designer/domains/whole_products.py", "designer/domains/pure_marginals.py", "designer/domains/marginals_least.py"),
    *("solvers/programs/", "solvers/ellipsoids/"),
)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> str:
    return of_specimens(tmp_path_factory.mktemp("specs"))


@pytest.mark.nightly
def test_few_lines_run_between_the_random_bits_and_a_number(tables: str) -> None:
    """Every law of noise takes words, and what runs then is among what is listed above, by a sampler or the plan itself."""
    drawn = {file: int(ran) for file, ran, _ in DRAWN.findall(tables[tables.index(BETWEEN) :])}
    assert set(drawn) <= {file for file, *_ in ROW.findall(tables)} and sum(drawn.values()) < 2000
    laws = re.findall(r"^\| [a-z][^|]+ \| [^|]* \| (\d+) \| \d+ \| (\d+) \|$", tables, re.MULTILINE)
    assert len(laws) > 30 and all(int(words) > 0 and 5 < int(lines) < 400 for words, lines in laws)


@pytest.mark.nightly
def test_no_solver_is_listed_beside_those_that_are_named(tables: str) -> None:
    listed = [file for file, *_ in ROW.findall(tables)]
    assert len(listed) > 100 and not [file for file in listed if file.startswith(UNTRUSTED)]
    assert {file.split("/")[1] for file in listed if file.startswith("solvers/")} == {
        "exact",
        "lattices",
        "polytopes",
        "trees.py",
    }
    named = set(re.findall(r"`([\w/.]+\.py)`", tables[tables.rindex("Not counted") : tables.index(BETWEEN)]))
    assert {file for file in named if file.startswith("solvers/")} <= set(HARMLESS)


def test_no_solver_runs_beside_those_that_are_named(tmp_path: Path) -> None:
    """When a specimen of every format and norm is loaded, verified and released in a fresh interpreter."""
    found = {(one.format, getattr(getattr(one, "norm", None), "order", "")): one for one in specimens().values()}
    paths = [str(mechanism.save(tmp_path / f"{number}.json")) for number, mechanism in enumerate(found.values())]
    files = set(together(traced(paths))) - set(HARMLESS)
    assert len(files) > 100 and not [file for file in files if file.startswith(UNTRUSTED)]
    assert sorted(file for file in files if not place_of(file)) == []
    assert {file.split("/")[1] for file in files if file.startswith("solvers/")} == {
        "exact",
        "lattices",
        "polytopes",
        "trees.py",
    }


def test_every_stage_names_folders_that_are_there_and_pages_that_prove_it() -> None:
    for _, duty, folders, pages in STAGES:
        assert duty.endswith(".") and all((ROOT / folder).exists() for folder in folders)
        for page in re.findall(r"\]\(([^)]+)\)", pages):
            assert (PAGE.parent / page).is_file()


def test_lines_of_code_are_counted_without_what_no_machine_reads() -> None:
    source = (ROOT / "designer/__main__.py").read_text().splitlines()
    code = [number for number, line in enumerate(source, 1) if line and not line.startswith('"""')]
    assert sorted(code_lines("designer/__main__.py")) == code and len(code) == 5
    assert lines_that_ran("designer/base/errors.py", [1]) == 0
    whole = (ROOT / "solvers/exact/balls.py").read_text().splitlines()
    first = next(number for number, line in enumerate(whole, 1) if line.startswith("def precision"))
    assert lines_that_ran("solvers/exact/balls.py", [first]) == 3

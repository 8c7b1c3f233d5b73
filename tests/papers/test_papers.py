"""The pages on the papers: every item has a row, what a row names is there, and the committed numbers are those computed."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import pytest

from examples.papers.__main__ import KEYS, PAGES, main, paper
from examples.papers.frame import Paper
from examples.papers.items import listed
from examples.papers.pages import OUTSIDE, code, frame_of, index, numbers_of, page
from examples.papers.places import lacking, unsatisfied


@pytest.fixture(params=KEYS)
def one(request: pytest.FixtureRequest) -> Paper:
    return paper(request.param)


def test_every_numbered_item_of_a_paper_has_one_row(one: Paper) -> None:
    items = [row.item for row in one.rows]
    assert len(items) == len(set(items))
    assert [item for item in listed(one.key) if item not in items] == []


def test_what_a_row_names_is_there_and_carries_its_verdict(one: Paper) -> None:
    assert {row.item: lacking(row) for row in one.rows if lacking(row)} == {}


def test_every_erratum_contradicts_the_paper_and_its_code_runs_by_itself(one: Paper) -> None:
    for row in one.rows:
        for erratum in row.errata:
            assert erratum.holds(), f"{row.item}: {erratum.contradiction()}"
            alone: dict[str, object] = {}
            exec(code(erratum), alone)
            assert alone[erratum.contradiction.__name__]() == erratum.contradiction()  # type: ignore[operator]


@pytest.mark.slow
def test_a_committed_page_is_what_sampled_numbers_say(one: Paper) -> None:
    """Structure and published values to the letter; computed values within what their verdicts allow."""
    committed, sampled = (PAGES / f"{one.key}.md").read_text(), page(one, full=False)
    assert frame_of(committed) == frame_of(sampled)
    numbers, again = numbers_of(committed), numbers_of(sampled)
    assert {line: again[line][:2] for line in again} == {line: numbers[line][:2] for line in again if line in numbers}
    assert {line for line in again if (OUTSIDE in again[line][2]) != (OUTSIDE in numbers[line][2])} == set()
    assert {row.item: unsatisfied(row, full=False) for row in one.rows if unsatisfied(row, full=False)} == {}


def test_pictures_of_a_page_are_there(one: Paper) -> None:
    files = [name for section in one.sections for picture in section.pictures for name in picture.files]
    assert [name for name in files if not (PAGES / "pictures" / name).is_file()] == []


def test_the_index_counts_the_rows_of_all_papers() -> None:
    assert (PAGES / "index.md").read_text() == index([paper(key) for key in KEYS])


@pytest.mark.slow
def test_a_sampled_run_writes_one_page_into_another_folder(tmp_path: Path) -> None:
    with contextlib.redirect_stdout(io.StringIO()) as said:
        main(["rec", "--quick", "--to", str(tmp_path)])
    assert [path.name for path in tmp_path.iterdir()] == ["rec.md"] and "Written in" in said.getvalue()
    with pytest.raises(SystemExit), contextlib.redirect_stderr(io.StringIO()) as refused:
        main(["--quick"])
    assert "--to" in refused.getvalue()


@pytest.mark.heavy
def test_a_page_is_rebuilt_in_full(one: Paper) -> None:
    committed, full = (PAGES / f"{one.key}.md").read_text(), page(one, full=True)
    assert frame_of(committed) == frame_of(full)
    numbers, again = numbers_of(committed), numbers_of(full)
    assert {line: found[:2] for line, found in numbers.items()} == {line: found[:2] for line, found in again.items()}
    problems = {row.item: unsatisfied(row, full=True) + [m for n in row.numbers for m in n.missing()] for row in one.rows}
    assert {item: found for item, found in problems.items() if found} == {}

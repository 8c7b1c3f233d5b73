"""The page beside the peers says what its command computes: the small problems anew, every published number, every loss."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from benchmarks.opendp_same_problem import own_of_opendp
from benchmarks.peers.__main__ import AHEAD, MAKERS, page
from benchmarks.peers.norms import published_count, published_vote
from benchmarks.peers.opendp import added_up, tree
from benchmarks.peers.table import PUBLISHED, PeerTable, Row
from designer.exchange.opendp import features

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"
TIMES = {"opendp_time"}


def rows_on_the_page(title: str) -> dict[str, list[str]]:
    """The cells of a section's table, by problem."""
    section = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## )", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert section is not None, title
    lines = [[cell.strip() for cell in line[1:-1].split("|")] for line in section[1].splitlines() if line.startswith("| ")]
    assert {len(cells) for cells in lines} == {len(lines[0])} and lines[0][-3] == "over the best other"
    return {cells[0]: cells for cells in lines[2:]}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.nightly) if name == "products" else name for name in MAKERS if name != "opendp"],
)
def test_the_small_problems_come_out_as_the_page_says(name: str) -> None:
    for table in MAKERS[name](True):
        written = rows_on_the_page(table.title)
        for row in table.rows:
            columns = len(row.theirs)
            assert float(written[row.problem][1 + columns]) == pytest.approx(row.ours, rel=1e-5)
            assert float(written[row.problem][2 + columns]) == pytest.approx(row.ratio, abs=1e-4)


@pytest.mark.nightly
def test_the_counts_in_opendp_come_out_as_the_page_says() -> None:
    pytest.importorskip("opendp")
    errors, times = MAKERS["opendp"](True)
    written = rows_on_the_page(errors.title)
    assert {row.problem: written[row.problem][1:5] for row in errors.rows} == {
        row.problem: [f"{value:.6g}" for value in (*row.theirs.values(), row.ours)] for row in errors.rows
    }
    assert {row.problem for row in times.rows} <= set(rows_on_the_page(times.title))


def test_prefix_sums_in_opendp_are_also_added_up_from_its_counts_and_read_from_a_tree() -> None:
    """Sum i has the noise of i counts; a tree's ranges are made consistent by least squares, whose weights solve A'A."""
    pytest.importorskip("opendp")
    matrix, ranges = np.tri(64), tree(8)
    with features():
        variance = own_of_opendp(np.eye(64), "pure")[1] / 64
        assert added_up(matrix, np.eye(64), "pure") == pytest.approx(math.sqrt(variance * np.arange(1, 65).mean()))
        weights, *_ = np.linalg.lstsq(ranges, np.eye(len(ranges)), rcond=None)
        each = own_of_opendp(ranges, "pure")[1] / len(ranges)
        expected = math.sqrt(each * ((matrix @ weights) ** 2).sum() / 64)
        assert added_up(matrix, ranges, "pure") == pytest.approx(expected)
    assert ranges.shape == (72, 64) and (ranges.sum(0) == 2).all()


def numbers(held: object) -> Iterator[float]:
    """Every fractional number of a tree of lists and mappings."""
    if isinstance(held, dict):
        yield from (value for branch in held.values() for value in numbers(branch))
    elif isinstance(held, list):
        yield from (value for branch in held for value in numbers(branch))
    elif isinstance(held, float):
        yield held


def test_every_published_number_is_on_the_page_but_bounds_of_others() -> None:
    shown = set(re.findall(r"\| ([\d.e+]+) (?=\|)", PAGE.read_text().replace("|", "| |")))
    strategies = [{k: v for k, v in row.items() if k != "bound"} for row in PUBLISHED["gaussian_strategies"]["rows"]]
    assert {f"{value:.6g}" for value in numbers([strategies, *(PUBLISHED[k] for k in list(PUBLISHED)[1:])])} <= shown


def test_where_others_are_ahead_is_listed() -> None:
    text = PAGE.read_text()
    listed = set(re.findall(r"^- (.*?): \d+ of \d+ problems", text.split("## Where others are ahead")[1], re.MULTILINE))
    titles = re.findall(r"^## (.*)$", text, re.MULTILINE)[:-1]
    behind = {title for title in titles if any(float(cells[-3]) > AHEAD for cells in rows_on_the_page(title).values())}
    assert listed == behind


def test_a_page_names_the_worst_problem_of_a_table_that_is_behind() -> None:
    rows = (Row("a", {"x": 2.0, "y": None}, 1.0, 0.5, 0.1), Row("b", {"x": 2.0, "y": 4.0}, 3.0, None, None))
    made = page([PeerTable("t", "Title", "About.", "units", "Source.", rows)])
    assert "| b | 2 | 4 | 3 | 1.5000 |  |  |" in made and "1 of 2 problems, the worst b: 1.5 times" in made


def test_the_closed_forms_are_those_of_the_smallest_cases() -> None:
    """One count of d, at most: the covariance is the identity. Two candidates: one difference, one sum."""
    assert published_count(5, 1) == pytest.approx(5)
    assert published_vote(2) == pytest.approx(2 * 1.0)

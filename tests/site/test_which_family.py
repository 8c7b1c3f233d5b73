"""The page on families: a chart that follows from the figures, and figures that can be found again."""

from __future__ import annotations

import pytest

from benchmarks import auto_choice
from benchmarks.which_family.chart import CHART, NEAR
from benchmarks.which_family.grid import GRID
from benchmarks.which_family.measuring import Measured, measured, saved, ways
from benchmarks.which_family.page import parts
from designer.designing import known_families
from designer.designing.listed import FAMILIES
from tests.oracles.asked_problems import KINDS

FIGURES = {one.key: one for one in saved()}
LEAVES = [leaf for branch in CHART for leaf in branch.leaves]
CHEAP = ("histogram of 10", "prefix sums of 16", "margins by distance", "two counts, zCDP", "marginals, zCDP")


def test_the_default_is_what_the_page_says() -> None:
    """Equal fingerprints beside busy processes, and never above folklore, as the page and the goal have it."""
    rows = auto_choice.read(auto_choice.ROWS)
    assert auto_choice.table(rows).splitlines()[-1].startswith(f"| all | {len(rows)} |")
    assert all(row["same"] and row["loss"] <= row["folklore"] * (1 + 1e-9) for row in rows)
    assert {row["kind"] for row in rows} == set(KINDS) and {row["effort"] for row in rows} == {"normal"}
    assert all(row["loss"] <= row["least"] * auto_choice.LIMITS[1] for row in rows)


def test_every_problem_of_the_grid_was_measured_with_every_family_that_serves_it() -> None:
    assert list(FIGURES) == [asked.key for asked in GRID]
    for asked in GRID:
        found = FIGURES[asked.key]
        told = {row.family for row in found.rows} | set(found.without)
        wanted = {way.name for way in ways(asked.make())} | {name for name, _ in asked.others}
        assert wanted <= told and told - wanted <= {family.name for family in FAMILIES if not family.concerns(asked.make())}
        assert found.rows[0].ratio == 1.0 and all(row.efficiency is None or 0 < row.efficiency <= 1 for row in found.rows)


@pytest.mark.parametrize("leaf", [leaf for leaf in LEAVES if leaf.shown], ids=lambda leaf: leaf.when[:40])
def test_what_the_chart_advises_is_near_the_best_on_every_problem_that_it_names(leaf: object) -> None:
    worst = max(min(FIGURES[key].ratio(family) for family in leaf.use) for key in leaf.shown)  # type: ignore[attr-defined]
    assert worst <= 1 + NEAR


def test_the_chart_speaks_of_every_problem_of_the_grid_and_says_what_is_a_rule_of_thumb() -> None:
    assert {key for leaf in LEAVES for key in leaf.shown} == set(FIGURES)
    known = {family.name for family in known_families()} | {name for asked in GRID for name, _ in asked.others}
    assert {family for leaf in LEAVES if leaf.shown for family in leaf.use} <= known
    bare = [leaf for leaf in LEAVES if not leaf.shown]
    assert parts(tuple(FIGURES.values()))["chart"].count("Rule of thumb") >= len(bare) > 0


def close(found: Measured, kept: Measured) -> None:
    """Equal figures but for times; losses that are simulated differ by their error, 2 percent."""
    assert found.least == pytest.approx(kept.least, rel=0.02)
    of_kept = {row.family: row for row in kept.rows}
    assert set(of_kept) == {row.family for row in found.rows}
    for row in found.rows:
        rel = 0.02 if "lattice" in row.family else 1e-4
        assert row.ratio == pytest.approx(of_kept[row.family].ratio, rel=rel)
        assert (row.efficiency is None) == (of_kept[row.family].efficiency is None)
        assert row.efficiency is None or row.efficiency == pytest.approx(of_kept[row.family].efficiency, rel=rel)


@pytest.mark.parametrize("key", CHEAP)
def test_a_sample_of_the_figures_is_found_again(key: str) -> None:
    close(measured(next(asked for asked in GRID if asked.key == key)), FIGURES[key])

"""Intervals of every kind of mechanism hold the truth as often as they say, and are hardly wider than need be.

Over draws of the exact samplers that the margins were not found by. Each comparison fails with a probability below 1e-9 where
the coverage is the level that was asked for.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from benchmarks.interval_coverage import CASES, SEED, UNMEASURED, Symmetric
from designer.certificate.guarantee import ADDITIVE_FAMILIES, LATTICE_FAMILIES, ROW_FAMILIES, STAIRCASE_FAMILIES
from designer.files.kinds import KINDS
from designer.sampling.entropy import SeededEntropy

FAILURE = 1e-9
DRAWS = 4000
CHECKED = (
    "laplace",
    "k_norm",
    "box",
    "ellipsoid",
    "structured, laplace",
    "gaussian",
    "coarse laplace",
    "hierarchy, its own kind",
    "staircase, two dimensions",
    "lattice_laplace l1",
    "lattice_rows",
    "marginals, narrow noise",
    "averages with a bias",
    "laplace_joint, with its bias",
    "group_box",
    "subspace_gaussian",
    "lattice chain l1",
)
ON_WHOLE_NUMBERS = ("coarse", "staircase", "lattice", "laplace")  # the next atom may be far


@cache
def case_of(name: str) -> Any:
    return CASES[name]()


@pytest.mark.nightly
def test_every_family_and_every_format_is_measured_or_its_reason_is_told() -> None:
    """Two drawn by chains are called custom, as all noise of one's own is."""
    made = [case_of(name) for name in CASES]
    families = ADDITIVE_FAMILIES | LATTICE_FAMILIES | ROW_FAMILIES | STAIRCASE_FAMILIES
    measured = {case.family for case in made} | {case.format for case in made}
    assert families | set(KINDS) <= measured | set(UNMEASURED)
    assert not set(UNMEASURED) & measured - {"custom"} and all(UNMEASURED.values())


@pytest.mark.parametrize("name", ("mwem, a bound", "small_db, a bound"))
def test_bounds_for_any_data_hold_what_they_say(name: str) -> None:
    found = case_of(name).measured(0.5, 200)
    assert binom.cdf(round(200 * found["all"]), 200, 0.5) > FAILURE and found["all"] <= found["each"]
    assert found["all_width"] > 1


@pytest.mark.parametrize("name", CHECKED)
def test_coverage_is_at_least_the_level_each_and_together(name: str) -> None:
    case = case_of(name)
    assert isinstance(case, Symmetric)
    sizes = np.abs(case.noise(DRAWS, SeededEntropy(SEED + 1)))
    for level in (0.5, 0.95):
        each, joint = case.margins(level, False), case.margins(level, True)
        hits = [*(sizes <= each).sum(axis=0).tolist(), int((sizes <= joint).all(axis=1).sum())]
        assert binom.cdf(np.array(hits), DRAWS, level).min() * len(hits) > FAILURE
        assert (joint >= each * (1 - 1e-9)).all()


@pytest.mark.parametrize("name", [name for name in CHECKED if not name.startswith(ON_WHOLE_NUMBERS)])
def test_intervals_are_hardly_wider_than_the_shortest_that_draws_allow(name: str) -> None:
    found = case_of(name).measured(0.95, DRAWS)
    assert found["each_width"] < 1.2 and found["all_width"] < 1.2


def test_the_normal_rule_holds_less_than_it_says_where_ours_do_not() -> None:
    case, level = case_of("laplace"), 0.99
    assert isinstance(case, Symmetric)
    sizes = np.abs(case.noise(20_000, SeededEntropy(SEED)))
    ours, rule = (int((sizes[:, 0] <= t).sum()) for t in (case.margins(level, False)[0], 2.5758293 * case.errors[0]))
    assert binom.cdf(rule, 20_000, level) < FAILURE < binom.cdf(ours, 20_000, level)


def test_running_totals_get_narrower_intervals_together_than_bonferroni_gives() -> None:
    case = case_of("structured, laplace")
    assert isinstance(case, Symmetric)
    joint, bonferroni = case.margins(0.95, True), case.margins(1 - 0.05 / len(case.errors), False)
    assert (joint <= bonferroni * (1 + 1e-9)).all() and (joint < 0.97 * bonferroni).any()


def test_margins_are_the_same_for_everybody_who_has_the_mechanism() -> None:
    one, other = (CASES["box"]() for _ in range(2))
    assert isinstance(one, Symmetric) and isinstance(other, Symmetric)
    for joint in (False, True):
        assert one.margins(0.9, joint).tolist() == other.margins(0.9, joint).tolist()

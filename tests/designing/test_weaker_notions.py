"""A weaker promise never has more noise: pure mechanisms keep it, too, and are taken where they lose less."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from designer import DesignFailed, InvalidProblem, Problem, Workload, compare, design, invariants, load, metrics
from designer.accounts import composed
from designer.certificate.frozen import to_spec
from designer.designing.auto import ROOM, WorkBudget, runs_for
from designer.designing.family import pure_twin
from designer.designing.listed import FAMILIES
from designer.relations.invariants.changes import InvariantDistance
from designer.tradeoff.conversions import pure_rho
from tests.oracles.many_problems import problems

ROUNDED = 1e-12  # of the loss: sums in floats
WEAKER: list[dict[str, Any]] = [
    {"notion": "approximate", "delta": 1e-6},
    {"notion": "approximate", "delta": 0.1},
    {"notion": "zcdp"},
]
MARGINS = invariants.margins((2, 2)).protect(8.0, 2)
ONES: dict[str, Problem] = {
    "2 x 2 margins": Problem(Workload.identity(4), MARGINS),
    "3 x 3 margins": Problem(Workload.identity(9), invariants.margins((3, 3)).protect(2.0, 2)),
    "a total of three": Problem(Workload.identity(3), invariants.total(3).protect(4.0, 1)),
    "fifths": Problem(Workload([[1.0, 2, 3, 4, 5, 0]]), metrics.uniform(6, 4.0)),
}
PURE_ALONE = [family.name for family in FAMILIES if family.notion == "pure" and not (family.with_delta or family.biased)]


@pytest.mark.parametrize("name", ONES)
def test_a_weaker_promise_has_no_more_noise_on_few_cells(name: str) -> None:
    problem = ONES[name]
    own = design(problem, effort="quick")
    for weaker in WEAKER:
        made = design(replace(problem, **weaker), effort="quick")
        assert made.loss <= own.loss * (1 + ROUNDED) and made.privacy.holds and made.problem.notion == weaker["notion"]
    made = design(replace(problem, notion="approximate", delta=1e-6), effort="quick").mechanism
    if name == "2 x 2 margins":  # one number, for which there is noise under a delta
        assert made.family == "truncated_geometric" and load(to_spec(made)) == made
        return
    assert made == own.mechanism and made.delta is None and made.guarantee.notion == own.mechanism.guarantee.notion
    assert load(to_spec(made)) == made


@pytest.mark.nightly
@pytest.mark.parametrize("name", ONES)
def test_a_comparison_under_a_weaker_promise_has_no_more_noise_in_any_row(name: str) -> None:
    _compared(ONES[name], WEAKER)


def test_a_comparison_under_a_weaker_promise_has_no_more_noise_in_any_row_of_one_number() -> None:
    _compared(Problem(Workload([[0.0, 1, 3]]), metrics.uniform(3, 4.0)), WEAKER[::2])


def _compared(problem: Problem, promises: list[dict[str, Any]]) -> None:
    own = compare(problem, effort="quick")
    for weaker in promises:
        rows = compare(replace(problem, **weaker), effort="quick")
        assert rows.best.loss <= own.best.loss * (1 + ROUNDED)
        notes = {row["family"]: row["note"] for row in rows.rows}
        for family, made in own.designs.items():
            if family in rows.designs:
                assert rows.designs[family].loss <= made.loss * (1 + ROUNDED), family
                assert rows.designs[family].problem.notion == weaker["notion"]
            else:
                assert "no pure noise loses less than" in notes[family]


def test_pure_noise_of_longer_changes_is_tried_where_a_delta_is_large() -> None:
    problem = Problem(Workload([[0.0, 1, 3]]), metrics.uniform(3, 4.0))
    tried = {
        delta: design(replace(problem, notion="approximate", delta=delta), effort="quick").mechanism.provenance["tried"]
        for delta in (1e-6, 0.1)
    }
    assert tried[1e-6]["k_norm"].startswith("of the pure problem: loss ") and not any("delta" in name for name in tried[1e-6])
    assert "k_norm, delta 0.1" in tried[0.1] and "staircase, delta 0.1" not in tried[0.1]


@pytest.mark.nightly
@pytest.mark.parametrize("place", range(60))
def test_a_weaker_promise_has_no_more_noise(place: int) -> None:
    """Random problems of all kinds, and each pure family by its name."""
    problem = replace(list(problems(60, 9))[place][1], notion="pure", delta=None)
    own = design(problem, effort="quick")
    families = {
        way.family.name for way in runs_for([one for one in FAMILIES if one.notion == "pure"], problem) if way.work < 0.1
    }
    for weaker in WEAKER:
        if isinstance(problem.relation, InvariantDistance) and weaker["notion"] == "approximate":
            with pytest.raises(InvalidProblem, match="state an adjacency"):
                replace(problem, **weaker)
            continue
        asked = replace(problem, **weaker)
        made = design(asked, effort="quick")
        assert made.loss <= own.loss * (1 + ROUNDED) and made.privacy.holds
        for name in sorted(families if weaker is not WEAKER[1] else ()):
            try:
                alone = design(problem, name).loss
            except DesignFailed:
                continue
            assert design(asked, name).loss <= alone * (1 + ROUNDED), name


@pytest.mark.parametrize("family", PURE_ALONE)
def test_what_no_delta_is_proven_for_is_the_mechanism_of_the_pure_problem(family: str) -> None:
    problem = ONES["fifths"] if family == "staircase" else ONES["2 x 2 margins"]
    for weaker in WEAKER:
        made = design(replace(problem, **weaker), family)
        assert made.mechanism == design(problem, family).mechanism and made.loss > 0
        assert made.problem.notion == weaker["notion"]


def test_pure_families_serve_zcdp_and_spend_no_more_rho_than_was_asked() -> None:
    problem = Problem(Workload.identity(3), metrics.uniform(3, 1.5), "zcdp")
    made = design(problem, "laplace").mechanism
    assert made == design(pure_twin(problem), "laplace").mechanism and made.falloff == "exponential"
    assert pure_rho(1.5) <= 1.5**2 / 2
    assert composed(made).cost(np.array([1, -1, 0])).rho <= 1.5**2 / 2


def test_pure_noise_wins_under_zcdp_where_its_steps_are_narrower() -> None:
    """At large budgets: Gaussian noise for a real-valued query falls like 1 / b^2, a staircase faster."""
    rows = np.random.default_rng(0).random((1, 400))
    problem = Problem(Workload(rows), metrics.add_remove(400, 5.0), "zcdp")
    stairs, normal = design(problem, "staircase"), design(problem, "gaussian")
    assert stairs.loss < normal.loss and stairs.privacy.holds and stairs.mechanism.falloff == "exponential"


def test_what_is_reached_by_gaussian_noise_leaves_no_room_for_pure_noise() -> None:
    problem = Problem(Workload.prefix(6), metrics.add_remove(6, 1.0), "zcdp")
    made = design(problem)
    words = made.mechanism.provenance["tried"]
    assert made.mechanism.family == "gaussian" and words["k_norm"].startswith("not started: no pure noise loses less than")
    allowance = WorkBudget(problem, 20.0)
    (way,) = (way for way in runs_for(FAMILIES, problem) if way.name == "k_norm")
    least = float(words["k_norm"].split("less than ")[1].split()[0])
    assert allowance.refusal(way, least * (1 - 1e-3)) and not allowance.refusal(way, least * (1 + ROOM / 2))

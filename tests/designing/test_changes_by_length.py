"""Designs for many changes that a closed form takes the place of, against designs from the list of these changes."""

from __future__ import annotations

import hashlib
import json
import math
import re
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from designer import DesignFailed, InvalidProblem, InvalidSpec, Problem, Workload, design, load
from designer.base.json_text import canonical
from designer.certificate.frozen import seal, to_spec
from designer.designing import evenness as even
from designer.designing.auto import WorkBudget, automatic_families, runs_for
from designer.relations.invariants import Invariant, linear, margins, partition
from designer.relations.invariants.one_budget import InvariantChanges
from solvers.work import spend

STATISTICS = [(margins((3, 4)), 2), (margins((2, 2, 3)), 2), (partition(["a", "a", "b", "b", "b"]), 3)]


def problem(invariant: Invariant, adjacency: int, notion: str, loss: str = "squared") -> Problem:
    return Problem(Workload.identity(invariant.size), invariant.protect(0.7, adjacency), notion, loss)  # type: ignore[arg-type]


@pytest.mark.parametrize(("invariant", "adjacency"), STATISTICS)
@pytest.mark.parametrize("family", ["laplace", "projected_laplace", "gaussian", "isotropic_gaussian"])
def test_a_closed_form_designs_what_a_list_designs(invariant: Invariant, adjacency: int, family: str) -> None:
    asked = problem(invariant, adjacency, "zcdp" if "gaussian" in family else "pure")
    listed = design(asked, family)
    with patch.object(even, "LONG", 0):
        found = design(asked, family)
    relations = [one.mechanism.relation for one in (listed, found)]
    assert all(isinstance(one, InvariantChanges) for one in relations)
    if invariant.protect(0.7, adjacency).known.lengths.exact("l2" if "gaussian" in family else "l1"):  # type: ignore[union-attr]
        assert [one.by_length for one in relations] == [False, True]  # type: ignore[attr-defined]
        assert "longest" in found.privacy.arithmetic or "largest length" in found.privacy.arithmetic
    assert found.privacy.holds
    assert found.loss <= listed.loss * (1 + 1e-6)


@pytest.mark.parametrize(("invariant", "adjacency"), STATISTICS)
def test_a_ball_of_all_counts_is_within_its_gap_of_the_best_ellipsoid(invariant: Invariant, adjacency: int) -> None:
    asked = problem(invariant, adjacency, "pure")
    by_length = replace(asked, relation=replace(asked.relation, by_length=True))  # type: ignore[arg-type]
    best, ball = design(asked, "ellipsoid"), design(by_length, "ellipsoid")
    assert ball.optimality is not None and best.optimality is not None
    assert ball.optimality.lower_bound <= best.loss * (1 + 1e-9)
    assert best.loss <= ball.loss * (1 + 1e-9) and ball.loss <= best.loss / (1 - ball.optimality.gap) * (1 + 1e-6)
    if len(np.unique(ball.mechanism.query_variances().round(9))) == 1:  # cells alike: the same shape in more dimensions
        freedom = invariant.freedom
        assert ball.loss == pytest.approx(best.loss * (invariant.size + 1) / (freedom + 1), rel=1e-5)


def test_short_lists_are_designed_from_as_before() -> None:
    made = design(problem(*STATISTICS[0], "pure"), "laplace").mechanism
    assert isinstance(made.relation, InvariantChanges) and not made.relation.by_length
    assert "by_length" not in made.core()["relation"]


def test_a_spec_says_that_no_list_was_made_and_is_loaded_by_its_word_alone(tmp_path: Path) -> None:
    with patch.object(even, "LONG", 0):
        made = design(problem(*STATISTICS[0], "zcdp"), "gaussian").mechanism
    path = made.save(tmp_path / "spec.json")
    assert json.loads(path.read_text())["mechanism"]["relation"]["by_length"] is True
    assert load(path) == made
    for said in (False, 1, None):
        spec = to_spec(made)
        spec["mechanism"]["relation"]["by_length"] = said
        spec["fingerprint"] = hashlib.sha256(canonical(spec["mechanism"])).hexdigest()
        spec["seal"] = seal(spec)
        path.write_text(json.dumps(spec))
        with pytest.raises(InvalidSpec):
            load(path)


def test_unknown_statistics_have_no_closed_form() -> None:
    with pytest.raises(InvalidProblem, match=r"relation\.by_length"):
        InvariantChanges(linear([[1, 2, 3, 4]]), 2, 1.0, by_length=True)


def test_what_needs_a_list_names_how_many_changes_there_are_and_how_many_are_written_out() -> None:
    """Exchanges of two rows and two columns alone are C(20, 2)^2 changes; so are at least those of three records."""
    problem = Problem(Workload.identity(400), margins((20, 20)).protect(1.0, 3))
    least = math.comb(20, 2) ** 2
    for family in ("strategy_laplace", "strategy_3"):
        with pytest.raises(DesignFailed, match="too many changes to be written out") as refusal:
            design(problem, family)
        (told,) = re.findall(r"\(at least ([0-9,]+) of 400 elements; the limit is 250,000\)", str(refusal.value))
        assert int(told.replace(",", "")) >= least


def test_the_work_that_is_left_for_a_large_table_follows_from_what_is_counted() -> None:
    problem = Problem(Workload.identity(400), margins((20, 20)).protect(1.0, 3))
    allowance = WorkBudget(problem, 15.0)
    started = []
    for way in runs_for(automatic_families(problem), problem):
        if not allowance.refusal(way, None) and not (way.work > allowance.left):
            started.append(way)
            with allowance.running(way, True):
                spend(way.work)
    assert allowance.left == pytest.approx(15.0 - sum(way.work for way in started))
    names = {way.name for way in started}
    assert "lattice_rows" in names and not {"ellipsoid", "lattice_laplace, shape l2"} & names

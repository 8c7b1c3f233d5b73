"""From accuracy targets to a plan in one step: the designed policy, plans made by hand, consistent answers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import ibis
import numpy as np
import pytest

from designer import DesignFailed, InvalidProblem, NotPrivate, load
from designer.tables import (
    OTHERS,
    Answer,
    Condition,
    Count,
    Measure,
    Quantile,
    Sum,
    TablePlan,
    UnitSplitting,
    consistent_levels,
    consistent_margins,
    hierarchy,
    nested_codes,
    tree,
)
from designer.tables.hierarchy_plan import design_table_plan, require_equal_policies
from designer.tables.policies.design import COUNT, Accuracy, PriorRecords, design_records

JOBS, PAY = Measure("jobs", upper=1000), Measure("pay", "0.01", lower=-5, upper=10_000)
NAMES = ["all", "state", "county"]
KEYS = [["DE", 1], ["DE", 3], ["RI", 1]]
LEVELS = dict(zip(NAMES, hierarchy(["state", "county"], KEYS), strict=True))
TREE = tree([*LEVELS.values()])
PRIOR = PriorRecords.sample({"jobs": [5, 50, 1], "pay": [10.0, 200.0, 3.0]})


def by_level(*errors: float) -> np.ndarray:
    """(n,), a target for each level."""
    return np.array(errors)[TREE.level]


ASKED = [
    Accuracy("jobs", by_level(10, 20, 40)),
    Accuracy("pay", by_level(500, np.inf, 300), on_average=True),
    Accuracy(COUNT, by_level(np.inf, 5, np.inf)),
]


def plan_of(**options: object) -> TablePlan:
    return design_table_plan(LEVELS, [JOBS, PAY], ASKED, PRIOR, **options)  # type: ignore[arg-type]


def test_the_plan_is_the_one_that_is_made_by_hand_from_the_design() -> None:
    design = design_records(TREE, ASKED, PRIOR)
    queries = []
    for measure in (JOBS, PAY, None):
        name = COUNT if measure is None else measure.column
        for place, level in enumerate(NAMES):
            precision = float(design.precisions[design.row(name)][place])
            if precision:
                stated = {"groups": LEVELS[level], "variance": 1 / Fraction(precision)}
                queries.append(
                    Count(f"{name} by {level}", **stated)
                    if measure is None
                    else Sum(f"{name} by {level}", **stated, measure=measure)
                )
    made = plan_of()
    assert made == TablePlan(queries) and len(queries) >= 5
    assert (
        made.optimality is not None
        and made.optimality.value == pytest.approx(design.value, rel=1e-12)
        and made.optimality.gap < 1e-6
    )


def test_the_loss_of_every_record_is_the_designed_policy_exactly() -> None:
    design, plan, rng = design_records(TREE, ASKED, PRIOR), plan_of(), np.random.default_rng(0)
    for _ in range(50):
        state, county = [("DE", "1"), ("RI", "9"), ("NY", "1"), (None, "1")][rng.integers(4)]
        record = {"state": state, "county": county, "jobs": float(rng.integers(0, 2000)), "pay": float(rng.normal(0, 50))}
        assert plan.loss(record) == design.policy().exact(plan.amounts(record))
    assert plan.policy.exact({"jobs": 7, "pay": Fraction(1, 3)}) == design.policy().exact({"jobs": 7, "pay": Fraction(1, 3)})


def test_targets_are_met_by_the_consistent_answers() -> None:
    plan = plan_of()
    for accuracy in ASKED[:1]:
        precisions = np.zeros(TREE.size)
        for query in plan.noisy:
            measure, _, level = query.name.partition(" by ")
            if measure == accuracy.measure:
                precisions[TREE.slices[NAMES.index(level)]] = float(1 / query.variances[0])
        assert (np.sqrt(TREE.variances(precisions)) <= accuracy.deviations * (1 + 1e-6)).all()


def test_noise_by_family_is_proven_in_every_finest_group() -> None:
    """The counties of Delaware have a noise of their own."""
    finest = TREE.slices[2]
    families = TREE.level.copy()
    families[finest] = [3 if "DE" in label else 2 for label in TREE.labels[finest]]
    deviations = np.where(families == 3, 15.0, by_level(10, 20, 40))
    groups = np.flatnonzero(~TREE.inner)[[0, -1]]
    prior = PriorRecords.sample({"jobs": [5, 50]}, groups)
    asked = [Accuracy("jobs", deviations)]
    plan = design_table_plan(LEVELS, [JOBS], asked, prior, families=families)
    design = design_records(TREE, asked, prior, families=families)
    assert not design.uniform and len({*plan.queries[-1].variances}) == 2  # type: ignore[attr-defined]
    for key, label in zip(LEVELS["county"].keys or (), TREE.labels[finest], strict=True):
        record = {"state": key[0], "county": key[1], "jobs": 30}
        assert plan.loss(record) == design.policy(label).exact({"jobs": 30})
    assert plan.loss({"state": "DE", "county": "1", "jobs": 9}) != plan.loss({"state": "RI", "county": "1", "jobs": 9})
    finer = plan.queries[-1]
    for place in (0, -1):
        variances = list(finer.variances)  # type: ignore[attr-defined]
        variances[place] /= 2
        other = Sum(finer.name, finer.groups, variance=tuple(variances), measure=JOBS)
        with pytest.raises(NotPrivate, match="is not the one that was designed"):
            require_equal_policies(TablePlan([*plan.queries[:-1], other]), design, LEVELS["county"])


def test_a_plan_that_costs_more_or_less_than_the_design_is_refused() -> None:
    design, plan = design_records(TREE, ASKED, PRIOR), plan_of()
    require_equal_policies(plan, design, LEVELS["county"])
    first = plan.queries[0]
    for factor in (Fraction(1) + Fraction(1, 10**12), Fraction(1, 2)):
        other = Sum(first.name, first.groups, variance=first.variance * factor, measure=JOBS)  # type: ignore[attr-defined]
        with pytest.raises(NotPrivate, match="is not the one that was designed"):
            require_equal_policies(TablePlan([other, *plan.queries[1:]]), design, LEVELS["county"])
    with pytest.raises(NotPrivate, match="is not the one that was designed"):
        require_equal_policies(TablePlan(plan.queries[1:]), design, LEVELS["county"])


def test_conditions_further_queries_and_a_splitting_go_with_it(tmp_path: Path) -> None:
    middle = Quantile("middle", LEVELS["state"], measure=JOBS, candidates=(0, 10, 20), rho=Fraction(1, 10))
    open_ = Condition("status", "==", "open")
    plan = plan_of(where=[open_], beside=[middle], splitting=UnitSplitting([JOBS, PAY], [50, 200]))
    assert all(query.where == (open_,) for query in plan.queries[:-1]) and plan.queries[-1] == middle and plan.rho is not None
    record = {"state": "DE", "county": "1", "jobs": 30, "pay": 5}
    closed = plan.loss({**record, "status": "shut"})
    assert closed == Fraction(1, 10) < plan.loss({**record, "status": "open"}) and middle.q == 0.5
    again = load(plan.save(tmp_path / "plan.json"), TablePlan)
    assert again == plan and again.optimality is not None and again.optimality.value == plan.optimality.value  # type: ignore[union-attr]


def test_released_answers_are_made_consistent_from_the_release_alone() -> None:
    rows = {"state": ["DE", "DE", "RI", "NY"], "county": ["1", "3", "1", "1"], "jobs": [10, 20, 30, 40], "pay": [1.0, 2, 3, 4]}
    release = plan_of().simulate(1, seed=3, data=ibis.memtable(rows))[0]
    asked = [answer for name, answer in release.answers.items() if name.startswith("jobs")]
    found = consistent_levels(asked, [*LEVELS.values()])
    assert [answer.keys for answer in found] == [level.keys for level in LEVELS.values()]
    total, states, counties = (answer.values for answer in found)
    assert np.isclose(total[0], states.sum()) and np.isclose(total[0], counties.sum())
    values, precisions = np.zeros(TREE.size), np.zeros(TREE.size)
    for answer in asked:
        rows_of_level = TREE.slices[len(answer.columns)]
        values[rows_of_level], precisions[rows_of_level] = answer.values, 1 / answer.variances  # type: ignore[operator]
    # Weighted least squares, written out: the finest groups are the unknowns.
    leaves = np.flatnonzero(~TREE.inner)
    matrix = np.array([TREE.totals(np.eye(len(leaves))[k]) for k in range(len(leaves))]).T
    weighted = matrix * precisions[:, None]
    solved = np.linalg.solve(matrix.T @ weighted, weighted.T @ values)
    assert np.allclose(np.concatenate([answer.values for answer in found]), matrix @ solved)
    spread = np.diag(matrix @ np.linalg.inv(matrix.T @ weighted) @ matrix.T)
    assert np.allclose(np.concatenate([answer.variances for answer in found]), spread)  # type: ignore[arg-type]


def test_consistent_levels_agree_with_consistent_margins_where_these_apply() -> None:
    flat = dict(zip(["all", "state"], hierarchy(["state"], [["DE"], ["RI"]]), strict=True))
    asked = [Accuracy("jobs", np.full(4, 9.0))]
    plan = design_table_plan(flat, [JOBS], asked, PriorRecords.cap({"jobs": 10}))
    rows = {"state": ["DE", "RI", "NY"], "jobs": [10, 20, 30]}
    answers = [*plan.simulate(1, seed=1, data=ibis.memtable(rows))[0].answers.values()]
    ours, theirs = consistent_levels(answers, [*flat.values()]), consistent_margins(answers, nested=["state"])
    for one, two in zip(ours, theirs, strict=True):
        assert np.allclose(one.values, two.values) and np.allclose(one.variances, two.variances)  # type: ignore[arg-type]


def test_consistent_levels_say_how_far_they_were_moved() -> None:
    """A total of 40 beside counties (and all others) of 1, 2 and 1, variance 4 each: the gap of 36 is shared by four, 9 each,
    which is 4.5 standard errors; beside a total of 400 it is 99 each, and 49.5."""
    total, counties = hierarchy(["county"], [("1",), ("2",)])
    small = Answer("by county", ("county",), counties.keys or (), np.array([1.0, 2.0, 1.0]), np.full(3, 4.0))
    large = Answer("all", (), total.keys or (), np.array([40.0]), np.full(1, 4.0), (40,), Fraction(1))
    made = consistent_levels([large, small], [total, counties])
    assert np.allclose(made[0].values, 31) and np.allclose(made[1].values, [10, 11, 10])
    assert made[0].integers is None and made[0].step is None and "post_processing" not in large.to_dict()
    for answer in made:
        assert answer.to_dict()["post_processing"] == answer.post_processing
        assert "Every number is within 4.5 standard errors of its released answer." in answer.post_processing
    far = consistent_levels([replace(large, values=np.array([400.0])), small], [total, counties])[0]
    assert "within 49.5 standard errors" in far.post_processing and "(farthest: all: 301 for 400)" in far.post_processing
    above, same = consistent_levels([small], [total, counties])
    assert "No answer of this level was released" in above.post_processing
    assert "within 0 standard errors" in same.post_processing


def test_codes_of_several_lengths_are_levels_too() -> None:
    levels = dict(zip(["wide", "fine"], nested_codes("naics", [2, 3], ["111", "112", "23"]), strict=True))
    size = tree([*levels.values()]).size
    plan = design_table_plan(levels, [JOBS], [Accuracy("jobs", np.full(size, 9.0))], PriorRecords.cap({"jobs": 10}))
    assert [query.name for query in plan.queries] == ["jobs by wide", "jobs by fine"]
    assert (
        plan.loss({"naics": "23", "jobs": 5}) == plan.loss({"naics": "1119", "jobs": 5}) == plan.loss({"naics": "9", "jobs": 5})
    )


def test_mistakes_are_named() -> None:
    with pytest.raises(InvalidProblem, match=r"accuracies: 'job' is no measure; the measures are \['jobs', 'count'\]"):
        design_table_plan(LEVELS, [JOBS], [Accuracy("job", by_level(1, 1, 1))], PRIOR)
    with pytest.raises(InvalidProblem, match=r"deviations: .* targets of 'jobs'; give 10"):
        design_table_plan(LEVELS, [JOBS], [Accuracy("jobs", np.ones(3))], PRIOR)
    open_levels = dict(zip(NAMES, hierarchy(["state", "county"], KEYS, others=False), strict=True))
    with pytest.raises(InvalidProblem, match="none of all others below"):
        design_table_plan(open_levels, [JOBS], ASKED[:1], PRIOR)
    with pytest.raises(InvalidProblem, match="two are named 'jobs by all'"):
        plan_of(beside=[Count("jobs by all", LEVELS["all"], variance=1)])
    release = plan_of().simulate(1, seed=0, data=ibis.memtable({"state": ["DE"], "county": ["1"], "jobs": [1], "pay": [1.0]}))[
        0
    ]
    county = release["jobs by county"]
    with pytest.raises(InvalidProblem, match="of a level that has one already"):
        consistent_levels([county, county], [*LEVELS.values()])
    with pytest.raises(InvalidProblem, match="'jobs by county' is of none of the levels"):
        consistent_levels([county], [*LEVELS.values()][:2])
    with pytest.raises(InvalidProblem, match="positive for every group without children"):
        consistent_levels([release["jobs by all"]], [*LEVELS.values()])


def test_a_level_of_which_a_part_is_not_asked_is_refused() -> None:
    from designer.tables.hierarchy_plan import _variance

    assert _variance(np.zeros(2), "state") is None and _variance(np.array([2.0, 4.0]), "state") == (
        Fraction(1, 2),
        Fraction(1, 4),
    )
    with pytest.raises(DesignFailed, match="some groups of level 'state' are asked, some are not"):
        _variance(np.array([1.0, 0.0]), "state")
    assert OTHERS in TREE.labels[-1]

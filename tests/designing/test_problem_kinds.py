"""`design`, `compare` and `least_budget` take problems of every kind, and hand back one type of result."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from designer import (
    Comparison,
    Design,
    DesignFailed,
    Domain,
    HierarchyProblem,
    InvalidProblem,
    MarginalProblem,
    MarginalWorkload,
    PlanProblem,
    Presence,
    Problem,
    ReportProblem,
    SelectionProblem,
    StructuredProblem,
    StructuredWorkload,
    SyntheticProblem,
    Targets,
    Workload,
    compare,
    design,
    drawings_of,
    least_budget,
    metrics,
    plot,
)
from designer.designing.problem_kinds import KINDS, NAMES, problem_kind
from designer.domains.marginals_least import least_marginal_budget, marginals_meeting
from designer.domains.marginals_plan import design_marginals
from designer.domains.products_plan import design_structured
from designer.selection.mechanism import best_selection
from designer.selection.scores import Linear
from designer.synthetic.multiplicative import mwem
from designer.synthetic.small_databases import small_db
from designer.tables import Accuracy, Count, Groups, Measure, PriorRecords, TablePlan, hierarchy, tree
from designer.tables.hierarchy_plan import design_table_plan
from designer.tables.least import least_plan

PEOPLE = Domain.of({"age": 3, "sex": 2})
TABLES = MarginalWorkload.up_to(PEOPLE, 2)
ASKED = Workload([[0, 1, 3], [2, 0, 2]])
NEAR = metrics.euclidean([[0.0], [1.0], [2.5]])
SCORE = Linear(Workload.identity(3))
LEVELS = dict(zip(["all", "state"], hierarchy(["state"], [["DE"], ["RI"]]), strict=True))
JOBS = [Accuracy("jobs", np.full(tree(list(LEVELS.values())).size, 20.0))]
PRIOR = PriorRecords.cap({"jobs": 50})
FIRMS = [Count("firms", Groups(), variance=7)]
PROBLEMS: dict[str, Any] = {
    "Problem": Problem(Workload.identity(3), metrics.uniform(3, 1.0)),
    "StructuredProblem": StructuredProblem(
        StructuredWorkload.of(Domain.of({"age": 8}), [{"age": "prefix"}]), Presence(mu=1.0), "zcdp"
    ),
    "MarginalProblem": MarginalProblem(TABLES, Presence(mu=1.0)),
    "SelectionProblem": SelectionProblem(SCORE, metrics.uniform(3, 1.0)),
    "SyntheticProblem": SyntheticProblem(ASKED, NEAR, records=60),
    "ReportProblem": ReportProblem(metrics.line([0.0, 1.0, 2.0], 1, 1.0)),
    "HierarchyProblem": HierarchyProblem(LEVELS, [Measure("jobs")], JOBS, PRIOR),
    "PlanProblem": PlanProblem(FIRMS),
}


def test_there_is_a_problem_of_every_kind_here() -> None:
    assert set(PROBLEMS) == set(NAMES) and len(KINDS) == len(NAMES)
    for name, problem in PROBLEMS.items():
        assert problem_kind(problem).problem.endswith(f":{name}")
        assert all(callable(problem_kind(problem).part(verb)) for verb in ("design", "compare", "least_budget"))


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_kind_is_designed_into_one_type(name: str) -> None:
    made = design(PROBLEMS[name], "laplace" if name == "Problem" else "auto")
    assert isinstance(made, Design) and made.problem is PROBLEMS[name]
    assert made.privacy.holds and made.mechanism.verify().holds
    assert made.loss >= 0 and made.error >= 0 and made.seconds >= 0
    assert made.optimality is None or made.optimality.lower_bound <= made.optimality.value * (1 + 1e-9)
    assert made.efficiency is None or 0 < made.efficiency <= 1
    assert "seconds" in made._display_facts() and repr(made)


@pytest.mark.parametrize("name", [name for name in PROBLEMS if name != "Problem"])
def test_every_kind_is_compared(name: str) -> None:
    problem = PROBLEMS[name]
    families = ["structured"] if name == "StructuredProblem" else None
    found = compare(problem, families)
    assert isinstance(found, Comparison) and found.designs
    losses = {row["family"]: row["loss"] for row in found.rows}
    assert set(losses) == set(families or problem.families)
    assert name != "ReportProblem" or losses["randomised_response"] is None is not losses["geometric"]
    assert found.best.loss == min(loss for loss in losses.values() if loss is not None)
    best = next(row["family"] for row in found.rows if row["loss"] == found.best.loss)
    assert f"{best} has the least" in found.to_text() and best in found.to_markdown() and found.to_latex()
    assert found.to_frame().shape[0] == len(found.rows)


def test_the_builders_behind_are_the_same() -> None:
    """A design is the mechanism of the function that its kind names, by its fingerprint."""
    targets = Targets(standard_error={("age",): 1.1})
    linear = Problem(ASKED, NEAR, records=60)
    pairs: list[tuple[Any, Any]] = [
        (design(PROBLEMS["MarginalProblem"]), design_marginals(TABLES, Presence(mu=1.0))),
        (design(MarginalProblem(TABLES, Presence(mu=1.0), "max")), design_marginals(TABLES, Presence(mu=1.0), "max")),
        (design(PROBLEMS["MarginalProblem"], targets=targets), marginals_meeting(TABLES, Presence(mu=1.0), targets)),
        (
            design(PROBLEMS["MarginalProblem"], "structured"),
            design_structured(StructuredWorkload.of_marginals(TABLES), Presence(mu=1.0), "gaussian"),
        ),
        (design(PROBLEMS["SelectionProblem"]), best_selection(SCORE, metrics.uniform(3, 1.0))),
        (
            design(SelectionProblem(SCORE, metrics.uniform(3, 1.0), "theorem_3"), "permute_and_flip"),
            best_selection(SCORE, metrics.uniform(3, 1.0), "permute_and_flip", "theorem_3"),
        ),
        (design(PROBLEMS["SyntheticProblem"], "mwem", rounds=2), mwem(linear, rounds=2)),
        (design(PROBLEMS["SyntheticProblem"], "small_db", size=3), small_db(linear, size=3)),
        (design(PROBLEMS["HierarchyProblem"]), design_table_plan(LEVELS, [Measure("jobs")], JOBS, PRIOR)),
        (design(PROBLEMS["PlanProblem"]), TablePlan(tuple(FIRMS))),
    ]
    for made, own in pairs:
        assert made.mechanism.fingerprint == own.fingerprint


def test_auto_takes_the_synthetic_data_of_the_smaller_bound() -> None:
    problem = PROBLEMS["SyntheticProblem"]
    assert design(problem).loss == min(design(problem, name).loss for name in problem.families)


def test_a_least_budget_of_marginals_takes_every_effort_and_no_other() -> None:
    problem, targets = PROBLEMS["MarginalProblem"], Targets(standard_error=3.0)
    assert least_budget(problem, targets, effort="quick").factor == least_budget(problem, targets).factor
    for wrong in ({"effort": "long"}, {"seconds": 0.0}, {"seconds": float("nan")}):
        with pytest.raises(InvalidProblem, match=r"^(effort|seconds): "):
            least_budget(problem, targets, **wrong)


def test_least_budgets_are_those_of_the_kind() -> None:
    targets = Targets(standard_error={("age", "sex"): 5.0})
    found = least_budget(PROBLEMS["MarginalProblem"], targets, step=1e-3)
    own = least_marginal_budget(TABLES, Presence(mu=1.0), targets, step=1e-3)
    assert (found.factor, found.missed_at) == (own.factor, own.missed_at) and isinstance(found.design, Design)
    wanted = Targets(standard_error={"firms": 10})
    plan = least_budget(PROBLEMS["PlanProblem"], wanted)
    assert plan.mechanism.fingerprint == least_plan(FIRMS, wanted).fingerprint
    assert plan.design.mechanism.queries[0].variance == Fraction(100)
    small = least_budget(PROBLEMS["StructuredProblem"], Targets(standard_error=3.0), "gaussian", step=1e-3, curve=1)
    assert small.missed_at < small.factor and small.design.privacy.holds
    large = StructuredProblem(StructuredWorkload.of(Domain.of({"a": 600}), [{"a": "prefix"}]), Presence(mu=1.0), "zcdp")
    with pytest.raises(InvalidProblem, match="too many queries or elements"):
        least_budget(large, Targets(standard_error=3.0))
    for name in ("SelectionProblem", "SyntheticProblem", "HierarchyProblem"):
        with pytest.raises(InvalidProblem, match="has no least budget"):
            least_budget(PROBLEMS[name], wanted)


def test_what_is_no_problem_and_what_a_kind_does_not_take_is_refused() -> None:
    for wrong in (None, 5, "problem", TABLES, SCORE, Targets(standard_error=1.0)):
        for verb in (design, compare, lambda given: least_budget(given, Targets(standard_error=1.0))):
            with pytest.raises(InvalidProblem, match="is none; give one of Problem, StructuredProblem"):
                verb(wrong)
    tables = PROBLEMS["MarginalProblem"]
    for call in (
        lambda: design(tables, "laplace"),
        lambda: design(tables, seconds=3),
        lambda: design(tables, solver="none"),
        lambda: design(PROBLEMS["SelectionProblem"], targets=Targets(standard_error=1.0)),
        lambda: design(PROBLEMS["SyntheticProblem"], rounds=3),
        lambda: compare(tables, []),
        lambda: compare(tables, ["laplace"]),
        lambda: least_budget(tables, Targets(standard_error=1.0), "structured"),
        lambda: MarginalProblem(ASKED, Presence(mu=1.0)),  # type: ignore[arg-type]
        lambda: MarginalProblem(TABLES, Presence(mu=1.0), "absolute"),  # type: ignore[arg-type]
        lambda: SelectionProblem(ASKED, NEAR),  # type: ignore[arg-type]
        lambda: SyntheticProblem(ASKED, NEAR, records=-1),
    ):
        with pytest.raises(InvalidProblem):
            call()
    with pytest.raises(DesignFailed, match="has no targets"):
        design(MarginalProblem(TABLES, Presence(mu=1.0), "max"), "structured", targets=Targets(standard_error=9.0))


@pytest.mark.parametrize("name", [name for name in PROBLEMS if name not in ("HierarchyProblem", "PlanProblem")])
def test_a_comparison_of_every_kind_is_drawn(name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    found = compare(PROBLEMS[name], None if name != "Problem" else ["laplace", "k_norm"])
    assert plot(found, tmp_path / "families.svg").stat().st_size > 1000 and "Loss by family" in drawings_of(found)[0].title

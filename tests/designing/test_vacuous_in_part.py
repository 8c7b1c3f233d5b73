"""Budgets that hide nothing of most pairs beside one that does: what is printed says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from designer import MarginalWorkload, Presence, Problem, StructuredWorkload, Workload, design, metrics
from designer.designing.printouts import cautions, page, summary
from designer.domains.marginals_plan import design_marginals
from designer.domains.products_plan import design_structured
from designer.problem.domain import Domain
from designer.tables import Count, Groups, Measure, PureSum, Sum, TablePlan


def mixed(large: float, small: float = 0.1) -> object:
    budgets = np.full((6, 6), large)
    np.fill_diagonal(budgets, 0)
    budgets[0, 1] = budgets[1, 0] = small
    return design(Problem(Workload.identity(6), metrics.from_matrix(budgets)), "laplace").mechanism


@pytest.mark.parametrize("large", [25.0, 1e6, 1e18])
def test_large_budgets_beside_a_small_one_are_counted_and_bare_answers_named(large: float) -> None:
    made = mixed(large)
    lines = cautions(made)  # type: ignore[arg-type]
    assert any("WEAK in part: 14 of 15 pairs" in line and "smallest 0.1" in line for line in lines)
    (bare,) = [line for line in lines if line.startswith("NEARLY EXACT")]
    deviations = np.sqrt(made.query_variances())  # type: ignore[attr-defined]
    assert [f"q{k}" in bare for k in range(6)] == [s < 0.5 for s in deviations] and 4 <= sum(deviations < 0.5) < 6
    assert "no protected change moves it" not in summary(made)  # type: ignore[arg-type]
    assert "WEAK in part" in page(made)  # type: ignore[arg-type]


def test_budgets_that_protect_are_not_called_weak() -> None:
    assert not any("WEAK" in line or "NEARLY" in line for line in cautions(mixed(2.0)))  # type: ignore[arg-type]
    weak = design(Problem(Workload.identity(3), metrics.uniform(3, 40.0)), "laplace").mechanism
    assert [line.split(":")[0] for line in cautions(weak)] == ["WEAK", "NEARLY EXACT"]


def test_a_published_answer_is_still_told_as_such() -> None:
    made = design(Problem(Workload([[1, 1, 0], [1, 0, 0]]), metrics.partition(["x", "x", "y"], 1.0)), "laplace").mechanism
    assert "q0 published exactly: no protected change moves it" in summary(made)


DOMAIN = Domain.of({"sex": 2, "age": 3, "town": 4})


@pytest.mark.parametrize("notion", ["marginals", "gaussian", "laplace"])
def test_attributes_whose_budgets_hide_nothing_are_counted_in_marginals_and_structured_queries(notion: str) -> None:
    protection = metrics.hamming(DOMAIN, {"sex": 0.1, "age": 50.0, "town": 1e3})
    made: Any
    if notion == "marginals":
        made = design_marginals(MarginalWorkload.of(DOMAIN, [["sex"], ["age"], ["town"]]), protection)
        tables = {name: made.variances([name]) for name in DOMAIN.attributes}
    else:
        terms = [{name: "identity"} for name in DOMAIN.attributes]
        made = design_structured(StructuredWorkload.of(DOMAIN, terms), protection, noise=notion)
        sizes = zip(DOMAIN.attributes, DOMAIN.shape, strict=True)
        tables = {name: made.variances([name], np.arange(n)[:, None]) for name, n in sizes}
    lines = cautions(made)
    assert any("WEAK in part: 2 of 3 attributes" in line and "smallest 0.1, median 50" in line for line in lines)
    bare = [name for name, variances in tables.items() if variances.min() < 0.25]
    told = [f"NEARLY EXACT: the noise is below half a unit in {', '.join(bare)}."] if bare else []
    assert lines[1:] == told and "sex" not in bare and (bare or notion == "laplace")
    assert lines[-1] in page(made) and lines[-1] in summary(made)


def test_values_of_attributes_are_counted_in_pairs_where_each_has_a_metric_of_its_own() -> None:
    ages = np.array([[0, 0.5, 60], [0.5, 0, 60], [60, 60, 0.0]])
    parts = {"sex": metrics.uniform(2, 1.0), "age": metrics.from_matrix(ages), "town": metrics.uniform(4, 30.0)}
    workload = StructuredWorkload.of(DOMAIN, [{"sex": "identity"}, {"age": "identity"}])
    (line, *_) = cautions(design_structured(workload, metrics.product(DOMAIN, parts)))
    assert "8 of 10 pairs of values of an attribute" in line and "smallest 0.5, median 30." in line


def test_queries_of_a_plan_that_hide_nothing_are_counted() -> None:
    pay, everybody = Measure("pay", step=10), Groups()
    queries = [
        Count("many", everybody, variance="0.0001"),
        Count("few", everybody, variance=400),
        Sum("wages", everybody, variance=20, measure=pay),
        PureSum("pure", everybody, measure=pay, scale="0.1"),
    ]
    made = TablePlan(queries)
    weak, bare = cautions(made)
    assert weak.startswith("WEAK in part: 2 of 4 queries, at the smallest record that counts, have a budget above 20")
    assert bare == "NEARLY EXACT: the noise is below half a unit in many, wages, pure."
    assert cautions(TablePlan(queries[1:3])) == []


def test_protected_marginals_structured_queries_and_plans_have_no_such_lines() -> None:
    protection = metrics.hamming(DOMAIN, dict.fromkeys(DOMAIN.attributes, 3.0))
    assert cautions(design_marginals(MarginalWorkload.of(DOMAIN, [["sex", "age"]]), protection)) == []
    weak = design_structured(StructuredWorkload.of(DOMAIN, [{"sex": "identity"}]), Presence(mu=30.0))
    assert [line.split(":")[0] for line in cautions(weak)] == ["WEAK", "NEARLY EXACT"]


def test_a_term_with_ranges_and_one_without_any_attribute_are_named() -> None:
    terms: list[dict[str, Any]] = [{"age": "ranges", "sex": "identity"}, {}]
    made = design_structured(StructuredWorkload.of(DOMAIN, terms), Presence(epsilon=30.0), noise="laplace")
    (_, bare) = cautions(made)
    places = np.array([[sex, age] for sex in range(2) for age in range(6)])
    assert made.variances(["sex", "age"], places).min() < 0.25 and "sex x age" in bare

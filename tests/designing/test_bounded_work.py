"""Requests of every size end: within counted work, or refused before it is begun; and one part that fails leaves the others."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from designer import (
    DesignFailed,
    Domain,
    InvalidProblem,
    MarginalProblem,
    MarginalWorkload,
    Presence,
    Problem,
    ReportProblem,
    StructuredProblem,
    StructuredWorkload,
    Targets,
    Workload,
    design,
    invariants,
    least_budget,
    metrics,
)
from designer.accounting import Account, EpsilonDelta
from designer.certificate.frozen import to_spec
from designer.cli import main
from designer.designing import least
from designer.designing.factor_search import factor_of_family
from designer.domains import whole_products
from designer.domains.marginals_least import least_marginal_budget
from designer.domains.marginals_plan import design_marginals
from designer.domains.products_plan import design_structured
from designer.limits import MOST_EXACT_DECISIONS
from designer.local.design import pole_budgets
from designer.local.peaks import DescribedTable
from designer.programs.rounds import solve_with
from designer.tradeoff.account import MOST_COARSE
from designer.verifier import standalone as untyped
from solvers import limited, work
from solvers.limited import options_of_cvxpy
from solvers.programs import strategy_search
from solvers.work import is_over, within

standalone: Any = untyped


def test_a_family_that_fails_leaves_the_least_budget_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    real, problem = factor_of_family, Problem(Workload.identity(2), metrics.uniform(2, 1.0))

    def failing(problem: Any, targets: Any, family: str, *rest: Any) -> Any:
        if family != "laplace":
            raise InvalidProblem("mechanism: no noise can be drawn exactly for this norm on this grid.")
        return real(problem, targets, family, *rest)

    monkeypatch.setattr(least, "factor_of_family", failing)
    found = least_budget(problem, Targets(standard_error=1.0), curve=1)
    assert found.best.family == "laplace" and any("stopped by InvalidProblem" in row["note"] for row in found.rows)
    monkeypatch.setattr(least, "factor_of_family", lambda *_: failing(problem, None, "none"))
    with pytest.raises(InvalidProblem, match="drawn exactly"):
        least_budget(problem, Targets(standard_error=1.0), curve=1)


@pytest.mark.parametrize("cells", [128, 200])
def test_the_least_budget_of_many_disjoint_cells_is_that_of_few(cells: int) -> None:
    few, many = (
        least_budget(Problem(Workload.identity(n), metrics.uniform(n, 1.0)), Targets(standard_error=3.0), "laplace", curve=1)
        for n in (4, cells)
    )
    assert many.factor == pytest.approx(few.factor, rel=2e-4)


@pytest.mark.parametrize("dimension", [3, 5])
def test_reports_of_places_in_any_number_of_dimensions_are_designed(dimension: int) -> None:
    corners = np.vstack([np.zeros(dimension), np.eye(dimension)])
    problem = ReportProblem(metrics.euclidean(corners, per_unit=1.0))
    assert (pole_budgets(problem).shape[1] > 2 * len(corners)) == (dimension < 5)
    assert design(problem, "poles").privacy.holds


def test_compositions_of_any_number_end_with_what_zcdp_tells() -> None:
    times = 2 * 10**8
    together = Account.of([(EpsilonDelta(Fraction(1, times), Fraction(0)), times)])  # at most 1 by addition
    assert not together._on_ladder and together.epsilon_below(1e-6) == 0 == together.delta_at(1)
    assert 0 < together.epsilon_at(1e-6) < 12 * math.sqrt(1 / (2 * times))
    assert Account.of([(EpsilonDelta(Fraction(1, 10**18), Fraction(0)), 10**18)]).epsilon_at(1e-6) < 1e-6


def test_the_ladder_of_few_compositions_tells_more_than_zcdp() -> None:
    few = Account.of([(EpsilonDelta(Fraction(1, 100), Fraction(0)), 1000)])
    assert few._on_ladder and MOST_COARSE > 1 << 18
    assert few.epsilon_at(1e-6) < Account.of([], few._as_zcdp or 0).epsilon_at(1e-6)


def test_products_of_very_many_tables_are_refused_before_they_are_begun_and_said_to_be(tmp_path: Path) -> None:
    people = Domain.of({f"a{i}": 2 for i in range(20)})
    problem = MarginalProblem(MarginalWorkload.up_to(people, 3), metrics.hamming(people, [8.0] * 20))
    assert len(problem.workload.subsets) > whole_products.MOST_TERMS
    with within() as counted, pytest.raises(DesignFailed, match=r"designed for at most 1,000 tables, not 1,350"):
        design(problem, "structured")
    assert counted.spent < 0.1
    made = design(problem).mechanism
    assert "1,350" in made.provenance["tried"]["structured"] and made.optimality is not None


def test_tables_over_a_domain_that_nobody_numbers_are_designed_by_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"a{i}" for i in range(40)]
    file, spec = tmp_path / "p.toml", tmp_path / "s.json"
    file.write_text(
        'kind = "marginals"\ntitle = "t"\n[workload]\nup_to = 1\n[relation]\nmetric = "hamming"\nbudgets = {'
        + ", ".join(f"{name} = 1" for name in names)
        + "}\n[domain]\n"
        + "".join(f"{name} = 10\n" for name in names),
        encoding="utf-8",
    )
    assert main(["design", str(file), "-o", str(spec), "--family", "residual"]) == 0, capsys.readouterr().err
    assert json.loads(spec.read_text(encoding="utf-8"))["provenance"]["family"] == "residual"
    huge = Domain.of(dict.fromkeys(names, 10))
    assert not metrics.hamming(huge, [1.0] * 40).is_vacuous()
    assert metrics.hamming(huge, [math.inf] * 40).is_vacuous()
    assert not metrics.product(huge, [metrics.uniform(10, 1.0)] * 40).is_vacuous()


def test_a_described_channel_of_next_to_no_budget_is_refused_before_its_entries_are_decided() -> None:
    peaks = 1 + MOST_EXACT_DECISIONS // 2000
    columns = ((0, tuple((i, 1 << 30) for i in range(peaks))), (1, ((0, 1 << 30),)))
    with pytest.raises(InvalidProblem, match="entries that floats do not settle"):
        DescribedTable(metrics.uniform(2000, 1e-300), 2, 1 << 40, columns, 1, 0)


def test_the_second_verifier_states_the_pairs_of_a_staircase_before_it_writes_them_out() -> None:
    made = design(Problem(Workload.ranges(5, [0], [3]), metrics.add_remove(5, 1.0)), "staircase").mechanism
    core = to_spec(made)["mechanism"]
    assert standalone.Staircase(core).worst == made.privacy.worst_ratio
    many = {"elements": {"runs": [["e", 0, 2**31]]}}, {"epsilons": {"runs": [[1.0, 0, 2**31]]}}
    core |= {"workload": core["workload"] | many[0], "relation": core["relation"] | many[1]}
    with pytest.raises(Exception, match="very many pairs"):
        standalone.Staircase(core)


def test_the_second_verifier_counts_changes_no_further_than_it_lists_them() -> None:
    relation = object.__new__(standalone.Relation)
    spec = invariants.total(3).protect(1.0, 2).to_spec()["invariant"]
    with pytest.raises(Exception, match="a list of too many changes"):
        relation.protected(spec, 10**9)


def test_a_start_that_fails_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(Workload.prefix(4), metrics.uniform(4, 1.0))
    whole = design(problem, "strategy_laplace", iterations=5).loss
    real, called = strategy_search.descend_by_gradient, [0]

    def failing(*args: Any, **given: Any) -> Any:
        called[0] += 1
        if called[0] == 1:
            raise ValueError("strategy 'rows' lacks full column rank on the span of the changes")
        return real(*args, **given)

    monkeypatch.setattr(strategy_search, "descend_by_gradient", failing)
    assert design(problem, "strategy_laplace", iterations=5).loss < 1.5 * whole and called[0] > 1

    def broken(*_: Any, **__: Any) -> Any:
        raise ValueError("not a number")

    monkeypatch.setattr(strategy_search, "descend_by_gradient", broken)
    monkeypatch.setattr(strategy_search, "reweigh", broken)
    assert design(problem, "strategy_laplace", iterations=5).privacy.holds


def test_a_budget_by_the_name_of_another_notion_is_refused() -> None:
    people = Domain.of({"age": 3, "sex": 2})
    tables, sums = MarginalWorkload.up_to(people, 2), StructuredWorkload.of(people, [{"age": "prefix"}])
    kinds: tuple[tuple[Any, Any], ...] = ((MarginalProblem, tables), (StructuredProblem, sums))
    for problem, workload in kinds:
        with pytest.raises(InvalidProblem, match="epsilon is a budget of the notion 'pure'"):
            problem(workload, Presence(epsilon=1.0), notion="zcdp")
        with pytest.raises(InvalidProblem, match="mu is a budget of the notion 'zcdp'"):
            problem(workload, Presence(mu=1.0), notion="pure")
        problem(workload, Presence(epsilon=1.0), notion="pure")
        problem(workload, Presence(mu=1.0), notion="zcdp")
    without_a_problem: tuple[Callable[[Any], Any], ...] = (
        lambda presence: MarginalProblem(tables, presence),
        lambda presence: design_marginals(tables, presence),
        lambda presence: least_marginal_budget(tables, presence, Targets(standard_error={("age", "sex"): 5.0})),
        lambda presence: design_structured(sums, presence),
    )
    for made in without_a_problem:
        with pytest.raises(InvalidProblem, match="epsilon is a budget"):
            made(Presence(epsilon=1.0))
    with pytest.raises(InvalidProblem, match="mu is a budget"):
        design_structured(sums, Presence(mu=1.0), "laplace")
    several: tuple[dict[str, Any], ...] = ({}, {"epsilon": 1.0, "mu": 1.0})
    for wrong in several:
        with pytest.raises(InvalidProblem, match=r"name the one budget: epsilon=\.\. of pure"):
            Presence(**wrong)
    with pytest.raises(InvalidProblem, match=r"1\.5 given; name the one budget") as told:
        Presence(1.5)
    assert told.value.value == 1.5


def test_the_error_of_a_biased_design_is_that_of_its_worst_histogram() -> None:
    problem = Problem(Workload([[1, 1, 0], [0, 1, 1]]), metrics.uniform(3, 1.0), records=3, weights=[4.0, 1.0])
    made = design(problem, "laplace_joint")
    off = made.mechanism.effective - problem.workload.dense()
    worst = max(float(np.square(off @ x).sum()) for x in 3 * np.eye(3))
    assert made.is_biased and worst > 0.1
    assert made.error == pytest.approx(made.mechanism.error("squared") + worst)
    plain = design(problem, "laplace")
    assert plain.error == plain.mechanism.error("squared")


def problem_at(seed: int) -> Problem:
    """A random problem, from one query of two elements to some sixty of two hundred."""
    rng = np.random.default_rng(seed)
    n = int(np.exp(rng.uniform(np.log(2), np.log(200))))
    k = int(rng.integers(1, min(60, 2 * n) + 1))
    matrix = rng.integers(0, 2, (k, n)) if rng.random() < 0.5 else np.round(rng.normal(size=(k, n)), 2)
    matrix[rng.integers(k), rng.integers(n)] = 1
    epsilon = float(np.round(np.exp(rng.uniform(-3, 2)), 3))
    relations = (
        lambda: metrics.uniform(n, epsilon),
        lambda: metrics.add_remove(n, epsilon),
        lambda: metrics.per_element(rng.uniform(0.1, 2.0, n).round(2).tolist()),
        lambda: metrics.line(sorted(rng.choice(10 * n, n, replace=False).tolist()), period=5, epsilon=epsilon),
        lambda: metrics.euclidean(rng.normal(size=(n, 2)).round(2), per_unit=epsilon),
    )
    weights = 10.0 ** rng.uniform(0, 3, k).round() if rng.random() < 0.5 else None
    return Problem(Workload(matrix), relations[seed % len(relations)](), weights=weights, allow_vacuous=True)


@pytest.mark.nightly
def test_a_search_begins_nothing_for_which_the_clock_leaves_too_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first domain of a staircase is always searched, the second takes two seconds; this clock stands still."""
    monkeypatch.setattr(work, "time", SimpleNamespace(perf_counter=lambda: 0.0))
    with within(seconds=5) as budget:
        assert is_over(5) and not is_over(4.9) and budget.by_clock
    made = design(problem_at(25), "staircase", seconds=1.9)
    claim = made.mechanism.optimality
    assert made.privacy.holds and made.cut and claim is not None and claim.value > claim.lower_bound * (1 + 1e-3)


def test_a_hull_is_not_proven_for_which_the_clock_leaves_too_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proof goes on to its end once it is begun: 0.02 s of it are not begun in a hundredth of a second, where time stands."""
    monkeypatch.setattr(work, "time", SimpleNamespace(perf_counter=lambda: 0.0))
    entries = np.random.default_rng(0).integers(0, 2, (6, 20))
    problem = Problem(Workload(entries), metrics.uniform(20, 1.0))
    with pytest.raises(DesignFailed, match=r"k_norm: no mechanism yet; ended by the clock, seconds = 0\.01"):
        design(problem, "k_norm", seconds=0.01)
    assert design(problem, "k_norm", seconds=1).privacy.holds


@pytest.mark.parametrize(
    "solver", [name for name in cp.installed_solvers() if name in ("CLARABEL", "SCS", "SCIPY", "HIGHS", "OSQP")]
)
def test_every_solver_of_cvxpy_ends_with_its_iterations_and_with_the_clock(
    solver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    matrix = rng.random((60, 40))

    def status(**options: Any) -> str:
        x = cp.Variable(40, nonneg=True)
        return solve_with(cp.Problem(cp.Minimize(cp.sum(x)), [matrix @ x >= 1]), solver, options)

    with within(seconds=600) as budget:
        assert status() == "optimal" and not budget.cut
    for limit in ("INTERIOR", "SIMPLEX", "SIMPLEX_EACH", "CONIC", "FIRST_ORDER"):
        monkeypatch.setattr(limited, limit, 1 - limit.startswith("SIMPLEX"))
    assert status() != "optimal"
    monkeypatch.undo()
    own: dict[str, Any] = {"SCS": {"max_iters": 1}, "SCIPY": {"scipy_options": {"maxiter": 1, "method": "highs-ds"}}}
    own["HIGHS"] = {"simplex_iteration_limit": 1}
    assert status(**own.get(solver, {"max_iter": 1})) != "optimal"
    whenever = options_of_cvxpy(solver, 9, {})
    with within(seconds=1.0):
        assert options_of_cvxpy(solver, 9, {}) != whenever


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(300))
def test_random_problems_end_with_their_work_and_their_seconds(seed: int) -> None:
    if seed == 249:
        with pytest.raises(DesignFailed, match="have budget 0"):  # two of its places are the same
            design(problem_at(seed), seconds=5)
        return
    start = time.process_time()
    made = design(problem_at(seed), seconds=5)
    # Of this process: the clock says as much of others, and 5 s of fast steps are up to 12 units of work.
    assert made.privacy.holds and time.process_time() - start < 10

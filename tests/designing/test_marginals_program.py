"""Precisions of residuals in CVXPY against the own solver, closed forms and the frozen object."""

from __future__ import annotations

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
    Workload,
    design,
    metrics,
    programs,
)


def asked(seed: int, loss: str = "squared") -> MarginalProblem:
    draw = np.random.default_rng(seed)
    domain = Domain.of({name: int(size) for name, size in zip("abc", draw.integers(2, 6, 3), strict=True)})
    wanted = MarginalWorkload.of(domain, {("a", "b"): float(draw.uniform(0.5, 3)), ("b", "c"): 1.0, ("a",): 2.0, (): 0.5})
    hidden = Presence(mu=2.0 ** -float(draw.integers(4, 7))) if seed % 2 else metrics.hamming(domain, [0.01, 0.02, 0.005])
    return MarginalProblem(wanted, hidden, loss)


@pytest.mark.parametrize("loss", ["squared", "max"])
@pytest.mark.parametrize("seed", range(6))
def test_the_design_is_that_of_the_own_solver(seed: int, loss: str) -> None:
    problem = asked(seed, loss)
    made, own = programs.marginals(problem).design(), design(problem, "residual").mechanism
    assert made.verify().holds and made.optimality.lower_bound <= own.optimality.value * (1 + 1e-9)
    assert made.optimality.value == pytest.approx(own.optimality.value, rel=1e-6) and made.optimality.gap < 1e-5
    whole = programs.marginals(problem)
    assert float(whole.cvxpy_problem().solve(solver="CLARABEL")) == pytest.approx(own.optimality.value, rel=1e-5)
    assert whole.variances.value == pytest.approx(np.square(whole.standard_errors.value))


def test_a_cap_on_a_table_holds_at_what_is_frozen_and_costs_something() -> None:
    problem = asked(1)
    free = programs.marginals(problem).design()
    program = programs.marginals(problem)
    cap = 0.5 * float(free.cell_variance(["a"]))
    made = program.subject_to(program.variances[program.named["variances"][1].index("a")] <= cap, name="one way").design()
    assert (
        float(made.cell_variance(["a"])) <= cap and made.verify().holds and made.error("squared") > 1.01 * free.error("squared")
    )
    assert made.provenance["constraints"][0].startswith("one way: variances['a'] <= ")
    with pytest.raises(DesignFailed, match="while every pair keeps its budget"):
        program.subject_to(program.variances <= 0.05 * cap, name="all").design()


def test_an_objective_of_ones_own() -> None:
    """The sum of standard errors of tables: no less than its value at the design, and no bound is claimed of the loss."""
    problem = asked(0)
    program = programs.marginals(problem)
    made = program.minimise(cp.sum(program.standard_errors)).design()
    other = programs.marginals(problem)
    other.s.save_value(design(problem, "residual").mechanism.precisions[other.moved])
    assert program.objective.value <= cp.sum(other.standard_errors).value * (1 + 1e-6) and made.optimality is None


def test_what_is_no_program_of_marginals_is_refused() -> None:
    problem = asked(0)
    with pytest.raises(InvalidProblem, match="is no MarginalProblem"):
        programs.marginals(Problem(Workload.identity(3), metrics.uniform(3, 1.0)))
    with pytest.raises(DesignFailed, match="is zcdp, the problem asks for 'pure'"):
        programs.marginals(MarginalProblem(problem.workload, problem.relation, notion="pure"))
    one = Domain.of({"a": 3, "b": 2})
    with pytest.raises(DesignFailed, match="no protected change moves a table"):
        programs.marginals(
            MarginalProblem(MarginalWorkload.of(one, [["a"]]), metrics.hamming(one, [np.inf, 1.0]), allow_vacuous=True)
        )
    many = Domain.of({f"a{i}": 2 for i in range(60)})
    with pytest.raises(DesignFailed, match="more than CVXPY takes"):
        programs.marginals(MarginalProblem(MarginalWorkload.up_to(many, 2), Presence(mu=1.0)))

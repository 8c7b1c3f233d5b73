"""Every call of a solver that others wrote goes through a door with a limit, and what never ended ends."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import eye_array

import designer
import solvers
from designer import Problem, Workload, design, metrics
from solvers.limited import INTERIOR, SIMPLEX, SIMPLEX_EACH, conic_program, integer_program, linear_program
from solvers.work import within

NAMED = re.compile(r"from scipy\.optimize import ([\w, ]+)|\b(scipy\.optimize|optimize|opt|so)\.\w+\(|\b(DefaultSolver)\(")
# Beside the doors: what takes a number of steps that its size bounds, or counts its work at every step.
ELSEWHERE = {
    ("solvers/programs/loads.py", "Bounds, minimize"),
    ("solvers/lattices/transport.py", "lsq_linear"),
    ("solvers/lattices/conforming_tables.py", "Bounds, LinearConstraint"),
    ("solvers/lattices/agreeing_counts.py", "Bounds, LinearConstraint"),
    ("designer/accounts/composition/common_relation.py", "linear_sum_assignment"),
}


def test_solvers_are_called_through_the_doors_alone() -> None:
    found = set[tuple[str, str]]()
    for room in (designer, solvers):
        root = Path(str(room.__file__)).parent
        for path in root.rglob("*.py"):
            if path.name != "limited.py":
                names = list(NAMED.finditer(path.read_text(encoding="utf-8")))
                found |= {(path.relative_to(root.parent).as_posix(), next(filter(None, name.groups()))) for name in names}
    assert found == ELSEWHERE


@pytest.mark.parametrize("epsilon", [1.0, 2.0])
def test_a_program_whose_interior_point_method_never_ends_is_solved(epsilon: float) -> None:
    # 45,000 iterations a minute without coming nearer to 1e-10; the simplex method takes 515.
    problem = Problem(Workload([[1, 1, 0], [0, 1, 1]]), metrics.uniform(3, epsilon), weights=[1000, 1])
    with within() as counted:
        made = design(problem, "staircase", effort="quick")
    assert made.privacy.holds and counted.spent < 2.5
    assert made.loss < design(problem, "laplace").loss


def stated(monkeypatch: pytest.MonkeyPatch, name: str) -> list[dict[str, Any]]:
    """The options that a function of scipy is called with."""
    import scipy.optimize

    real, seen = getattr(scipy.optimize, name), list[dict[str, Any]]()

    def told(*args: Any, **given: Any) -> Any:
        seen.append(dict(given["options"]))
        return real(*args, **given)

    monkeypatch.setattr(scipy.optimize, name, told)
    return seen


def test_limits_follow_from_the_sizes_and_the_clock_of_a_caller_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    linear, whole = stated(monkeypatch, "linprog"), stated(monkeypatch, "milp")
    rows = eye_array(4).tocsr()
    assert linear_program(np.ones(4), A_ub=-rows, b_ub=-np.ones(4)).fun == 4.0
    linear_program(np.ones(4), A_ub=-rows, b_ub=-np.ones(4), method="highs-ipm", exactness=1e-10)
    integer_program(np.ones(4), integrality=np.ones(4))
    assert [options["maxiter"] for options in linear] == [SIMPLEX + SIMPLEX_EACH * 8, INTERIOR]
    assert whole[0]["node_limit"] > 0
    assert not any("time_limit" in options for options in linear + whole)
    with within(seconds=100.0):
        linear_program(np.ones(4), A_ub=-rows, b_ub=-np.ones(4))
        integer_program(np.ones(4), integrality=np.ones(4))
    assert 90 < linear[-1]["time_limit"] <= 100 and 90 < whole[-1]["time_limit"] <= 100


def test_the_block_remembers_that_the_clock_cut_a_solver() -> None:
    import clarabel
    from scipy.sparse import csc_matrix

    rng = np.random.default_rng(5)
    matrix = csc_matrix(rng.normal(size=(400, 200)))
    with within(seconds=0.0) as spent:
        found = conic_program(csc_matrix(np.eye(200)), np.ones(200), matrix, np.ones(400), [clarabel.NonnegativeConeT(400)])
    assert found.status == clarabel.SolverStatus.MaxTime and spent.cut and spent.by_clock

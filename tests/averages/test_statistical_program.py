"""Programs (13) and (14) in CVXPY: against the specialised solver, brute force over rows, and with constraints."""

from __future__ import annotations

from itertools import combinations, product

import cvxpy as cp
import numpy as np
import pytest

from designer import DesignFailed, Domain, InvalidProblem, StatisticalQueries, metrics, programs
from designer.averages.averages import separable
from designer.averages.joint_averages import squared_averages

PEOPLE = Domain.of({"a": 3, "b": 4})


def apart(seed: int) -> StatisticalQueries:
    """Each attribute decides an average of its own, under metrics at random."""
    rng = np.random.default_rng(seed)
    values = [np.sort(rng.choice(20, size, replace=False)) / 4.0 for size in (3, 4)]
    places = [rng.choice(9, len(v), replace=False) for v in values]
    budgets = {name: metrics.from_matrix(np.abs(np.subtract.outer(p, p)) / 8.0) for name, p in zip("ab", places, strict=True)}
    return StatisticalQueries.of(PEOPLE, {"mean a": ("a", values[0]), "mean b": ("b", values[1])}, budgets)


def shared(seed: int) -> StatisticalQueries:
    """Both attributes decide both averages."""
    rng = np.random.default_rng(seed)
    both = {name: [("a", rng.random(3)), ("b", rng.random(4))] for name in ("s", "t")}
    return StatisticalQueries.of(PEOPLE, both, {"a": 0.5, "b": 0.3})


def error_of(made, asked: StatisticalQueries, n: float, power: int) -> float:
    """The worst expected error over all rows, n copies of each, by enumeration."""
    off = made.mechanism.effective - asked.workload.dense()
    rows = (off[:, i] + off[:, 3 + j] for i, j in product(range(3), range(4)))
    scales = made.mechanism.scales / n
    if power == 1:
        return max(np.abs(row).sum() for row in rows) + scales.sum()
    return max((row**2).sum() for row in rows) + 2 * (scales**2).sum()


def ratios(made, asked: StatisticalQueries) -> float:
    """`sum_k |P_k(s) - P_k(t)| / c_k` over the budget, for all values of each attribute."""
    rows, scales, worst = made.mechanism.effective, made.mechanism.scales, 0.0
    loud = scales > 0
    for part, start in zip(asked.relation.parts, asked.relation.starts, strict=False):
        d = part.distances()
        for i, j in combinations(range(part.size), 2):
            moved = np.abs(rows[loud, start + i] - rows[loud, start + j]) / scales[loud]
            worst = max(worst, float(moved.sum() / d[i, j]))
    return worst


@pytest.mark.parametrize("solver", ["CLARABEL", "HIGHS"])
@pytest.mark.parametrize("n", [1.0, 8.0, 1000.0])
def test_program_14_is_that_of_the_closed_form(n: float, solver: str) -> None:
    for seed in range(3):
        asked = apart(seed)
        made, special = programs.statistical(asked, n).design(solver), separable(asked, n)
        assert made.optimality.value == pytest.approx(special.optimality.value, rel=1e-6)
        assert made.optimality.gap < 1e-5 and made.privacy.holds and made.mechanism.family == "separable"
        assert error_of(made, asked, n, 1) == pytest.approx(made.optimality.value, rel=1e-9)
        assert ratios(made, asked) <= 1 + 1e-12


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(50))
def test_fifty_problems(seed: int) -> None:
    asked, n = apart(10 + seed), float(10 ** np.random.default_rng(seed).uniform(0, 4))
    made, special = programs.statistical(asked, n).design(), separable(asked, n)
    assert made.optimality.value == pytest.approx(special.optimality.value, rel=1e-6)
    assert made.optimality.lower_bound <= special.optimality.value <= made.optimality.value * (1 + 1e-9)


def by_all_pairs(asked: StatisticalQueries, n: float) -> float:
    """Squared loss of averages apart: one program for each group, all pairs written out."""
    total = 0.0
    for k, (group, part) in enumerate(zip(asked.groups, asked.relation.parts, strict=True)):
        f, d = group.columns[k], part.distances()
        p, c, e = cp.Variable(f.size), cp.Variable(nonneg=True), cp.Variable(nonneg=True)
        near = [cp.abs(p[i] - p[j]) <= n * c * d[i, j] for i, j in combinations(range(f.size), 2)]
        loss = cp.square(e) + 2 * cp.square(c)
        total += cp.Problem(cp.Minimize(loss), [*near, cp.abs(p - f) <= e]).solve(solver=cp.CLARABEL)
    return float(total)


def test_squared_errors_of_averages_apart() -> None:
    for seed, n in ((0, 5.0), (1, 40.0)):
        asked = apart(seed)
        made = programs.statistical(asked, n, "squared").design()
        assert made.optimality.value == pytest.approx(by_all_pairs(asked, n), rel=1e-5) and made.optimality.gap < 1e-5
        assert error_of(made, asked, n, 2) == pytest.approx(made.optimality.value, rel=1e-9)
        assert made.mechanism.provenance["repaired_loss"] == pytest.approx(made.optimality.value, rel=1e-6)
        assert made.is_biased and made.efficiency is None


@pytest.mark.parametrize("loss", ["absolute", "squared"])
def test_groups_that_decide_several_averages(loss: str) -> None:
    """Program (13): no worse than unbiased noise, near it and near the bound for many records, certified always."""
    power = 1 if loss == "absolute" else 2
    for n in (3.0, 2000.0):
        asked = shared(0)
        made = programs.statistical(asked, n, loss).design()
        assert made.privacy.holds and ratios(made, asked) <= 1 + 1e-12 and made.mechanism.family == "laplace_joint"
        assert error_of(made, asked, n, power) <= made.optimality.value * (1 + 1e-9)
        program = programs.statistical(asked, n, loss)
        program.set_values(*program.unbiased())
        assert made.optimality.lower_bound <= made.optimality.value <= float(program.loss.value)
        if n > 1000:
            assert made.optimality.gap < 1e-3


@pytest.mark.nightly
@pytest.mark.parametrize("n", [2.0, 20.0, 2000.0])
def test_a_group_that_decides_two_averages_against_the_specialised_descent(n: float) -> None:
    """Every average has one group: both minimise the same squared error, and neither is below the other's bound."""
    for seed in range(2):
        first, second, other = np.random.default_rng(seed).normal(size=(3, 4))
        budgets = {"a": metrics.line(range(4), 1, 0.2), "b": metrics.uniform(4, 0.5)}
        named = {"s": ("a", first), "t": ("a", second), "u": ("b", other)}
        asked = StatisticalQueries.of(Domain.of({"a": 4, "b": 4}), named, budgets)
        made, special = programs.statistical(asked, n, "squared").design().optimality, squared_averages(asked, n).optimality
        assert max(made.lower_bound, special.lower_bound) <= min(made.value, special.value) * (1 + 1e-9)
        assert made.value == pytest.approx(special.value, rel=1e-3) and made.gap < 0.05


def test_constraints_are_kept_in_the_release() -> None:
    asked, n = apart(1), 30.0
    free = programs.statistical(asked, n).design()
    program = programs.statistical(asked, n)
    # No bias for one value of a, and one scale for both averages.
    program.subject_to(program.Q[0, 0] == asked.workload.dense()[0, 0], "exact").subject_to(program.c[0] == program.c[1])
    made = program.design("HIGHS")
    assert made.mechanism.scales[0] == pytest.approx(made.mechanism.scales[1], rel=1e-6)
    assert made.mechanism.effective[0, 0] == pytest.approx(asked.workload.dense()[0, 0], abs=1e-6)
    assert made.optimality.value >= free.optimality.value and made.optimality.gap < 1e-5
    records = [{"a": str(i % 3), "b": str(i % 4)} for i in range(30)]
    assert len(asked.release(made.mechanism, records).answers) == 2


def test_refusals() -> None:
    with pytest.raises(InvalidProblem, match="queries: 3 are none"):
        programs.statistical(3, 10)
    with pytest.raises(InvalidProblem, match="loss: 'max' is unknown; use 'absolute' or 'squared'"):
        programs.statistical(apart(0), 10, "max")
    program = programs.statistical(apart(0), 10)
    program.subject_to(program.c <= 1e-4, "quiet").subject_to(program.e <= 1e-4, "exact")
    with pytest.raises(DesignFailed, match=r"no values .* 'quiet' .* and 'exact' .* together while every pair keeps its"):
        program.design()

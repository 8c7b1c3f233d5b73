"""Metrics of per-record policies against loops over records and exact divergences; public data must be declared."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from designer.base.errors import InvalidProblem
from designer.tables.policies.metrics import (
    Losses,
    NoisySum,
    absolute_relative_error,
    gaussian_relative_error,
    policy_losses,
    policy_min,
    realized_losses,
)
from designer.tables.policies.policies import ConstantPolicy, GaussianSums, Splitting
from designer.tables.policies.renyi import group_loss, group_losses

RNG = np.random.default_rng(5)
SIZE = 300
TABLE = {
    "pay": np.round(RNG.pareto(1.2, SIZE) * 20, 2),
    "emp": RNG.integers(-3, 50, SIZE),
    "county": RNG.choice(["A", "B", "C"], SIZE),
    "sector": RNG.integers(0, 4, SIZE),
    "retail": RNG.random(SIZE) < 0.3,
    "firm": RNG.integers(0, 120, SIZE),
}
QUERIES = [
    NoisySum(400, "pay", ("county", "sector")),
    NoisySum(100, "pay", ("county",)),
    NoisySum(9, "emp", ("sector",), among="retail"),
    NoisySum(4, by=("county",)),
]


def answers(keep: np.ndarray) -> list[tuple[float, dict[tuple[object, ...], float]]]:
    """The exact cells of every query over the kept records, by a plain loop."""
    released = []
    for query in QUERIES:
        cells: dict[tuple[object, ...], float] = {}
        for i in np.flatnonzero(keep):
            if query.among is None or TABLE[query.among][i]:
                cell = tuple(TABLE[key][i] for key in query.by)
                cells[cell] = cells.get(cell, 0.0) + (1.0 if query.measure is None else float(TABLE[query.measure][i]))
        released.append((float(query.variance), cells))
    return released


def loss_between(one: np.ndarray, two: np.ndarray) -> float:
    total = 0.0
    for (variance, left), (_, right) in zip(answers(one), answers(two), strict=True):
        total += sum((left.get(cell, 0.0) - right.get(cell, 0.0)) ** 2 for cell in {*left, *right}) / (2 * variance)
    return total


def test_realized_loss_of_records_and_firms_is_the_divergence_without_them() -> None:
    everybody = np.ones(SIZE, dtype=bool)
    records = realized_losses(QUERIES, TABLE, public=True).values
    for i in range(0, SIZE, 60):
        assert records[i] == pytest.approx(loss_between(everybody, np.arange(SIZE) != i), rel=1e-9)
    firms = realized_losses(QUERIES, TABLE, TABLE["firm"], public=True).values
    for place, firm in list(enumerate(np.unique(TABLE["firm"])))[::30]:
        assert firms[place] == pytest.approx(loss_between(everybody, TABLE["firm"] != firm), rel=1e-9)


def test_realized_is_below_policy_for_records_and_firms() -> None:
    queries = [NoisySum(400, "pay", ("county",)), NoisySum(100, "pay", ("sector",)), NoisySum(4, by=("sector",))]
    exact = GaussianSums({"pay": 1 / (Fraction(1, 400) + Fraction(1, 100))}, (4,))
    split = Splitting(Fraction(1, 8) + 1, {"pay": 10})  # 10^2 / (2 * 400) + 10^2 / (2 * 100) < 1
    realized, policies = (
        realized_losses(queries, TABLE, public=True),
        [policy_losses(p, TABLE, public=True) for p in (exact, split)],
    )
    np.testing.assert_allclose(realized.values, policies[0].values, rtol=1e-12)
    assert (policies[0].values <= policies[1].values).all()
    firms = realized_losses(queries, TABLE, TABLE["firm"], public=True).values
    bounds = group_losses(policies[0].values, TABLE["firm"], "zcdp")
    assert (firms <= bounds * (1 + 1e-12)).all() and (firms < 0.9 * bounds).any()


def test_groups_of_losses() -> None:
    losses = policy_losses(Splitting(1, {"pay": 10}), TABLE, public=True)
    firms = group_losses(losses.values, TABLE["firm"], losses.unit)
    firm = np.unique(TABLE["firm"])[7]
    assert firms[7] == pytest.approx(float(group_loss(losses.values[TABLE["firm"] == firm].tolist())))


def test_distribution_of_losses() -> None:
    losses = Losses(np.array([1.0, 4.0, 1.0, 9.0]), "zcdp")
    assert losses.cdf([0.5, 1, 8, np.inf]).tolist() == [0, 0.5, 0.75, 1]
    levels, shares = losses.steps()
    assert levels.tolist() == [1, 4, 9] and shares.tolist() == [0.5, 0.75, 1]
    assert [losses.quantile(q) for q in (0.25, 0.5, 0.51, 1)] == [1, 1, 4, 9]
    assert losses.share_above(1) == 0.5
    assert "confidential" in losses.warning


def test_share_of_split_records_at_an_unrepresentable_budget() -> None:
    policy = Splitting("1/3", {"pay": 10})
    split = float((TABLE["pay"] > 10).mean())
    assert policy_losses(policy, TABLE, public=True).share_above(policy_min(policy)) == pytest.approx(split, abs=1e-12)


@pytest.mark.parametrize("public", [False, 1, "yes", None])
def test_confidential_records_are_refused(public: object) -> None:
    with pytest.raises(InvalidProblem, match="confidential"):
        policy_losses(ConstantPolicy(1), TABLE, public=public)  # type: ignore[arg-type]
    with pytest.raises(InvalidProblem, match="confidential"):
        realized_losses(QUERIES, TABLE, public=public)  # type: ignore[arg-type]


def test_relative_errors() -> None:
    """The defining property: the share of Gaussian errors beyond it is 1 - share."""
    error = gaussian_relative_error(7, [100, -50, 0], 0.9)
    assert stats.norm.sf(error[0] * 100 / 7) * 2 == pytest.approx(0.1)
    assert error[1] == pytest.approx(2 * error[0]) and np.isinf(error[2])
    assert absolute_relative_error([1.5, -3, 0], [1, -2, 0]).tolist() == [0.5, 0.5, 0]
    with pytest.raises(InvalidProblem, match="share"):
        gaussian_relative_error(1, [1], 1)

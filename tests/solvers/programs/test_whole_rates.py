"""Norms that stand in for the largest load of rates: feasible, near the largest, and with the derivatives of differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from solvers.programs.changes import Changes
from solvers.programs.noise_costs import GaussianCost, NoiseCost
from solvers.programs.whole_blocks import Blocks
from solvers.programs.whole_strategy import POWERS, Loss, RateProblem, RowSet, norm_of, spread_out

Array = NDArray[np.float64]
RANDOM = np.random.default_rng(3)
LOADS = RANDOM.integers(0, 4, (7, 5)) / 2.0 + np.eye(7, 5)


def differences(function: Callable[[Array], float], point: Array, step: float = 1e-6) -> Array:
    return np.array([(function(point + step * e) - function(point - step * e)) / (2 * step) for e in np.eye(len(point))])


@pytest.mark.parametrize("power", POWERS)
def test_rates_over_the_norm_of_their_loads_are_feasible_and_nearly_as_large_as_is(power: float) -> None:
    theta = RANDOM.normal(size=5)
    weights, gains = spread_out(theta, LOADS, LOADS.T, power)
    largest = (LOADS @ weights).max()
    assert len(LOADS) ** (-1 / power) * (1 - 1e-12) <= largest <= 1 + 1e-12
    logarithm = lambda at: float(np.log(norm_of(LOADS @ np.exp(at), power)[0]))  # noqa: E731
    assert gains == pytest.approx(differences(logarithm, theta, 1e-6 / power), abs=1e-4)


@pytest.mark.parametrize("loss", ["squared", "absolute", "max"])
def test_the_smooth_loss_of_rows_has_the_derivative_of_differences(loss: Loss) -> None:
    rows = np.vstack([np.eye(4), np.ones((1, 4)), [[1.0, 1, 0, 0]]])
    changes = Changes(csr_array(np.eye(4)), np.array([1.0, 0.5, 1.0, 2.0]))
    asked = RateProblem(np.vstack([np.eye(4), np.tril(np.ones((4, 4)))]), RANDOM.uniform(0.5, 2, 8), loss, changes)
    candidates, theta = RowSet(asked, rows, "rows"), RANDOM.normal(size=6)
    value, slopes = candidates.smooth(theta, 8.0)
    assert slopes == pytest.approx(differences(lambda at: candidates.smooth(at, 8.0)[0], theta), abs=1e-6)
    weights, _ = spread_out(theta, candidates.lengths.toarray(), candidates.lengths.toarray().T, 8.0)
    exact = np.log(candidates.loss(weights))
    assert exact - 1e-12 <= value <= exact + (np.log(8) / 8 if loss == "max" else 1e-12)


@pytest.mark.parametrize("loss", ["squared", "max"])
@pytest.mark.parametrize("noise", [NoiseCost, GaussianCost])
def test_the_smooth_loss_of_blocks_has_the_derivative_of_differences(loss: Loss, noise: type[NoiseCost]) -> None:
    reach, costs = csr_array(RANDOM.uniform(0, 1, (4, 5))), csr_array(RANDOM.uniform(0, 1, (3, 4)))
    blocks = Blocks(reach, np.zeros(4), costs, LOADS, noise, loss)  # type: ignore[arg-type]
    theta = RANDOM.normal(size=5)
    value, slopes = blocks.smooth(theta, 8.0)
    assert slopes == pytest.approx(differences(lambda at: blocks.smooth(at, 8.0)[0], theta), abs=1e-6)
    exact = np.log(blocks.loss(spread_out(theta, LOADS, LOADS.T, 8.0)[0]))
    assert exact - 1e-12 <= value <= exact + (np.log(3) / 8 if loss == "max" else 1e-12)


@pytest.mark.parametrize("rows", [RANDOM.integers(-2, 3, (3, 6)), np.vstack([np.eye(6), np.ones((2, 6))])], ids=["few", "all"])
def test_variances_of_rows_are_those_of_their_inverse(rows: Array) -> None:
    workload = RANDOM.integers(-2, 3, (4, len(rows))) @ rows / 2.0
    changes = Changes(csr_array(np.eye(6)), np.ones(6))
    candidates, weights = RowSet(RateProblem(workload, np.ones(4), "squared", changes), rows, "rows"), np.full(len(rows), 0.3)
    laplace = np.diag(2 * candidates.steps**2 / (4 * np.sinh(weights * candidates.steps / 2) ** 2))
    wanted = np.diag(workload @ np.linalg.pinv(rows.T @ np.linalg.inv(laplace) @ rows) @ workload.T)
    assert candidates.complete
    assert candidates.variances(weights) == pytest.approx(wanted, rel=1e-9)


def test_rows_that_leave_an_answer_open_are_not_complete() -> None:
    changes = Changes(csr_array(np.eye(4)), np.ones(4))
    asked = RateProblem(np.eye(4)[:2], np.ones(2), "squared", changes)
    assert RowSet(asked, np.eye(4)[:2], "rows").complete
    assert not RowSet(asked, np.eye(4)[1:], "rows").complete

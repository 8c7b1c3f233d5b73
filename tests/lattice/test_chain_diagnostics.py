"""What diagnostics say of chains whose distance from the target is known: the transition matrix written out, and counties."""

from __future__ import annotations

import numpy as np
import pytest

from examples.int_convergence import LATTICES, across_chains, correlation_time, coupled, distances, kernel, scale_reduction


@pytest.mark.parametrize("name", LATTICES)
def test_the_kernel_of_algorithm_1_keeps_its_target_and_comes_closer_with_every_step(name: str) -> None:
    moves, target, states = kernel(name)
    np.testing.assert_allclose(moves.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(target @ moves, target, atol=1e-12)
    # Detailed balance, and a box that holds all but 1e-4 of the target's mass at its rim.
    flow = target[:, None] * moves
    np.testing.assert_allclose(flow, flow.T, atol=1e-14)
    assert target[np.abs(states).max(axis=1) >= np.abs(states).max() - 1].sum() < 1e-4
    gone = distances(name)
    assert (np.diff(gone) <= 1e-12).all() and gone[-1] < 1e-3 < 0.2 < gone[0]


def test_the_coupling_bound_is_above_the_exact_distance_at_every_step() -> None:
    """Up to 5 standard errors of its estimate, a chance of 3 in 10 million for each of the 301 steps."""
    bound, truth = coupled("2 x 2 table"), distances("2 x 2 table")
    errors = (bound.high - bound.estimate) / 1.96
    assert bound.censored == 0 and (bound.estimate + 5 * errors + 1e-12 >= truth).all()
    assert bound.estimate[0] < 3 * truth[0] + 1


def test_the_exact_correlation_time_is_the_sum_of_correlations() -> None:
    """Independent: powers of the matrix, one after the other."""
    moves, target, states = kernel("2 x 2 table")
    values = states[:, 0] - target @ states[:, 0]
    moved, total = values.copy(), -1.0
    for _ in range(4000):
        total += 2 * float((target * values) @ moved) / float((target * values) @ values)
        moved = moves @ moved
    assert correlation_time("2 x 2 table") == pytest.approx(total, rel=1e-6)


def test_a_short_run_from_scattered_starts_is_told_from_a_long_one() -> None:
    """Thirty steps leave four chains where they began, twenty thousand do not: three counties, one fixed seed."""
    short, long = scale_reduction(3, 30), scale_reduction(3, 20_000)
    assert short[0] > 1.3 and short[1] > 1.3 and long[0] < 1.2 and long[1] < 1.2


def test_whole_chains_against_the_formula_by_hand() -> None:
    """Chains 0, 2, 0, 2 and 1, 3, 1, 3: variance 4/3 within, means 1 and 2 with variance 1/2."""
    trace = np.array([[0.0, 1.0], [2.0, 3.0]] * 2)[:, :, None]
    assert across_chains(trace)[0] == pytest.approx(np.sqrt(3 / 4 + (1 + 1 / 2) * (1 / 2) / (4 / 3)))

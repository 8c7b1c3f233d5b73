"""Chains, their coupling and their diagnostics against enumerated laws, small transition matrices and closed forms."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from designer.sampling.entropy import SeededEntropy
from examples.int_convergence import autocorrelation_time
from solvers.exact.points import smith_transforms
from solvers.lattices.chain import (
    Chain,
    JumpLaw,
    coupled_jump,
    l1_energy,
    l2_energy,
    r_hat,
    tuned_decay,
    uniforms,
    variation_bound,
)
from solvers.lattices.enumeration import short_vectors
from solvers.lattices.kernel import integer_kernel
from tests.oracles.goodness_of_fit import FAILURE_PROBABILITY, p_value

TABLE = np.array([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1], [1, 0, 0, 1, 0, 0], [0, 1, 0, 0, 1, 0], [0, 0, 1, 0, 0, 1]])
BASIS = integer_kernel(TABLE).basis.astype(np.int64)
MOVES = short_vectors(TABLE, 4).vectors
GRID = np.array(list(itertools.product(range(-40, 41), repeat=2))) @ BASIS
SMITH = smith_transforms(TABLE)[2].T[6 - len(BASIS) :].astype(np.int64)
WIDE = JumpLaw((0.3, 0.8))


def fit(draws: NDArray[np.int64], weights: NDArray[np.float64]) -> float:
    keys, drawn = ((z[:, 0] + 500) * 1001 + z[:, 1] + 500 for z in (GRID, draws))
    order = np.argsort(keys)
    place = order[np.minimum(np.searchsorted(keys[order], drawn), len(keys) - 1)]
    return p_value(np.bincount(place, minlength=len(keys)), weights / weights.sum())


@pytest.mark.parametrize("energy", [l1_energy, l2_energy], ids=["l1", "l2"])
@pytest.mark.parametrize(
    ("directions", "jointly"),
    [(SMITH, True), (BASIS, True), (BASIS, False), (MOVES, False)],
    ids=["paper", "basis", "single", "moves"],
)
def test_many_chains_end_in_the_target(energy: type, directions: NDArray[np.int64], jointly: bool) -> None:
    """10,000 chains after 120 steps, many relaxation times; fewer steps, or the energy of another rate, fail."""
    chain = Chain(directions, energy(0.4), WIDE, jointly)
    weights = np.exp(-energy(0.4)(GRID))
    states, rate, _ = chain.run(chain.start(10_000), 120, SeededEntropy(1))
    assert 0.1 < rate < 0.9 and not (states @ TABLE.T).any()
    assert fit(states, weights) > FAILURE_PROBABILITY
    assert fit(states, np.exp(-energy(0.48)(GRID))) < FAILURE_PROBABILITY
    assert fit(chain.run(chain.start(10_000), 3, SeededEntropy(1))[0], weights) < FAILURE_PROBABILITY


def test_jumps_have_their_mass() -> None:
    for law in (JumpLaw((0.5,)), WIDE):
        drawn = law.draw((100_000,), SeededEntropy(2))
        inner = law.mass(np.arange(-15, 16))
        counts = np.bincount(np.clip(drawn, -16, 16) + 16, minlength=33)
        tail = (1 - inner.sum()) / 2
        assert p_value(counts, np.array([tail, *inner, tail])) > FAILURE_PROBABILITY
    for bad in ((), (1.0,), (0.5, 0.0)):
        with pytest.raises(ValueError, match="decays"):
            JumpLaw(bad)


@pytest.mark.parametrize("gap", [0, 1, -4])
def test_coupled_jumps_have_both_laws_and_agree_as_often_as_possible(gap: int) -> None:
    jump = WIDE.draw((100_000,), SeededEntropy(3))
    other = coupled_jump(jump, np.full(100_000, gap), WIDE, SeededEntropy(4))
    places = np.arange(-12, 13)
    inside = np.abs(other) <= 12
    counts = np.append(np.bincount(other[inside] + 12, minlength=25), (~inside).sum())
    mass = WIDE.mass(places)
    assert p_value(counts, np.append(mass, 1 - mass.sum())) > FAILURE_PROBABILITY
    far = np.arange(-400, 401)
    overlap = np.minimum(WIDE.mass(far), WIDE.mass(far + gap)).sum()
    agree = int((other == jump + gap).sum())
    assert p_value(np.array([agree, 100_000 - agree]), np.array([overlap, 1 - overlap])) > FAILURE_PROBABILITY


@pytest.mark.parametrize(("directions", "jointly"), [(BASIS, True), (MOVES, False)])
def test_both_chains_of_a_pair_follow_the_single_kernel(directions: NDArray[np.int64], jointly: bool) -> None:
    """One step from two fixed states, against one step of the chain alone from each."""
    chain, rows = Chain(directions, l1_energy(0.3), WIDE, jointly), 60_000
    starts = [np.tile(MOVES[0] * k, (rows, 1)) for k in (3, -1)]
    pair = [(z.copy(), chain.energy(z)) for z in starts]
    chain.step_pair(pair[0], pair[1], SeededEntropy(5))
    for (moved, energies), start in zip(pair, starts, strict=True):
        alone = chain.run(start, 1, SeededEntropy(6))[0]
        assert np.allclose(energies, chain.energy(moved))
        values, inverse = np.unique(np.concatenate([moved, alone]), axis=0, return_inverse=True)
        both = np.stack([np.bincount(half, minlength=len(values)) for half in np.split(inverse.ravel(), 2)])
        common = both.sum(axis=0) >= 40
        table = np.hstack([both[:, common], both[:, ~common].sum(axis=1, keepdims=True)]).astype(float)
        expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
        from scipy import stats

        assert stats.chi2.sf(((table - expected) ** 2 / expected).sum(), table.shape[1] - 1) > FAILURE_PROBABILITY


def test_pairs_that_met_stay_together() -> None:
    chain = Chain(BASIS, l2_energy(0.5), WIDE, True)
    states, _, _ = chain.run(chain.start(500), 50, SeededEntropy(1))
    one, two = (states.copy(), chain.energy(states)), (states.copy(), chain.energy(states))
    for _ in range(20):
        chain.step_pair(one, two, SeededEntropy(2))
        assert (one[0] == two[0]).all()


def test_variation_bound_holds_for_the_exact_distance() -> None:
    """On one direction the chain is small enough to compute: the bound is above the distance, and shrinks to 0."""
    chain = Chain(np.array([[1, -1]]), l1_energy(0.5), JumpLaw((0.4,)), True)
    places = np.arange(-40, 41)
    target = np.exp(-1.0 * np.abs(places))
    jump = chain.law.mass(places[:, None] - places[None, :])
    moves = jump * np.minimum(1.0, target[None, :] / target[:, None])
    np.fill_diagonal(moves, 0.0)
    np.fill_diagonal(moves, 1 - moves.sum(axis=1))
    law, distance = np.eye(81)[40], []
    for _ in range(40):
        distance.append(0.5 * np.abs(law - target / target.sum()).sum())
        law = law @ moves
    times = chain.meeting_times(5, 4000, SeededEntropy(1), 500)
    bound = variation_bound(times, 5, np.arange(40))
    assert (bound.high >= np.array(distance)).all() and bound.censored == 0
    assert bound.estimate[0] > bound.estimate[10] > bound.estimate[-1] and bound.estimate[-1] < 0.01
    steps = bound.steps_for(0.05)
    assert steps is not None and 5 < steps < 40 and distance[steps] < 0.05
    assert bound.steps_for(1e-9) is None


def test_variation_bound_by_hand() -> None:
    bound = variation_bound([10, 12, 21], 10, [0, 1, 2, 11, 100])
    assert bound.estimate.tolist() == pytest.approx([(0 + 1 + 2) / 3, (0 + 1 + 1) / 3, (0 + 0 + 1) / 3, 0, 0])
    assert bound.high[-1] == pytest.approx(1 - 0.05 ** (1 / 3))
    with pytest.raises(ValueError, match="have not met"):
        variation_bound([-1, 12], 10, [0])
    assert variation_bound([-1, 12], 10, [0], limit=50).steps_for(1.0) is None


def test_r_hat_and_autocorrelation_time() -> None:
    generator = np.random.default_rng(1)
    noise = generator.normal(size=(4000, 8))
    walk = np.zeros_like(noise)
    for t in range(1, 4000):
        walk[t] = 0.8 * walk[t - 1] + noise[t]
    assert autocorrelation_time(walk) == pytest.approx((1 + 0.8) / (1 - 0.8), rel=0.15)
    assert autocorrelation_time(noise) == pytest.approx(1, rel=0.2)
    integers = np.rint(10 * noise).astype(np.int64)[:, :, None]
    assert r_hat(integers).max() < 1.01
    integers[:, 0] += 30
    assert r_hat(integers).max() > 1.1
    assert r_hat(np.zeros((8, 2, 1), dtype=np.int64)).tolist() == [1.0]
    with pytest.raises(ValueError, match="at least 4"):
        r_hat(np.zeros((3, 2, 1), dtype=np.int64))


def test_tuning_prefers_jumps_of_the_right_size() -> None:
    def build(decay: float) -> Chain:
        return Chain(BASIS, l1_energy(0.05), JumpLaw((decay,)), True)

    assert tuned_decay(build, [0.01, 0.9, 0.9999], SeededEntropy(1), steps=300) == 0.9
    assert math.isfinite(build(0.9).run(build(0.9).start(10), 10, SeededEntropy(1))[1])


def test_uniforms_are_the_middles_of_equal_parts_and_never_an_end() -> None:
    class Told:
        def random_words(self, count: int) -> NDArray[np.uint64]:
            return np.array([0, 1 << 12, 1 << 63, 2**64 - 1], dtype=np.uint64)[:count]

    assert uniforms((4,), Told()).tolist() == [2.0**-53, 3 * 2.0**-53, 0.5 + 2.0**-53, 1 - 2.0**-53]


def test_steps_go_along_each_direction_as_often() -> None:
    """Steps of chains that accept all, from the origin: along each of three axes; and nothing is kept that is not asked for."""
    chain = Chain(np.eye(3, dtype=int), lambda z: np.zeros(len(z)), JumpLaw((0.5,)))
    states, rate, kept = chain.run(chain.start(60_000), 1, SeededEntropy(7))
    axes = np.count_nonzero(states, axis=0)
    still = len(states) - axes.sum()
    assert rate == 1.0 and kept.shape == (0, 60_000, 3) and (np.count_nonzero(states, axis=1) <= 1).all()
    assert p_value(np.array([still, *axes]), np.array([1 / 3, 2 / 9, 2 / 9, 2 / 9])) > FAILURE_PROBABILITY


def test_directions_are_checked() -> None:
    for bad in (np.zeros((1, 3), dtype=int), np.zeros((0, 3), dtype=int), np.array([1, 2])):
        with pytest.raises(ValueError, match="directions"):
            Chain(bad, l1_energy(1.0), WIDE)
    with pytest.raises(ValueError, match="dependent"):
        Chain(MOVES, l1_energy(1.0), WIDE, jointly=True)

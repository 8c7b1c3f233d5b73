"""Bounds of lattice noise in each answer: exact for rank 1, above what is drawn elsewhere."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, gamma, norm

from designer import Problem, Workload, design, invariants
from designer.lattice.accuracy import _laplace_margin_of, _tail_of_norm, margin_bounds_of_answers
from tests.oracles.goodness_of_fit import FAILURE_PROBABILITY

DRAWS = 20_000


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 7.0])
def test_rank_1_is_the_law_itself(epsilon: float) -> None:
    """Cells under their total: steps of weight epsilon, exponential; of variance 1 / epsilon^2, Gaussian."""
    relation = invariants.total(2).protect(epsilon=epsilon)
    z = np.arange(-400, 401)
    for family, notion, masses in (
        ("lattice_laplace", "pure", np.exp(-epsilon * np.abs(z))),
        ("lattice_gaussian", "zcdp", np.exp(-(epsilon**2) * z**2.0 / 2)),
    ):
        made = design(Problem(Workload([[3, 0], [1, 1]]), relation, notion), family).mechanism  # type: ignore[arg-type]
        law = masses / masses.sum()
        errors = made.standard_errors()
        assert errors[0] == pytest.approx(3 * math.sqrt((law * z**2).sum()), rel=1e-6) and errors[1] == 0
        exact = min(m for m in range(400) if law[np.abs(z) > m].sum() <= 0.05)
        assert made.margins().tolist() == [3 * exact, 0]


@pytest.mark.parametrize("epsilon", [0.3, 3.0])
@pytest.mark.parametrize("shape", ["l1", "l2", "ellipsoid", "gaussian"])
def test_bounds_are_above_what_is_drawn(shape: str, epsilon: float) -> None:
    """Each margin is exceeded at most as often as it says (binomial, at `FAILURE_PROBABILITY`), each standard error is above
    that of the draws, up to three of its own deviations."""
    family, notion = ("lattice_gaussian", "zcdp") if shape == "gaussian" else ("lattice_laplace", "pure")
    options = {} if shape == "gaussian" else {"shape": shape}
    problem = Problem(Workload.identity(9), invariants.margins((3, 3)).protect(epsilon=epsilon), notion)  # type: ignore[arg-type]
    made = design(problem, family, **options).mechanism
    drawn = np.asarray(made.simulate(DRAWS, seed=3))
    assert ((np.abs(drawn) > made.margins()).sum(axis=0) <= binom.isf(FAILURE_PROBABILITY, DRAWS, 0.05)).all()
    squares = drawn**2
    assert (squares.mean(axis=0) - 3 * squares.std(axis=0) / math.sqrt(DRAWS) <= made.standard_errors() ** 2).all()


@pytest.mark.parametrize("confidence", [0.99, 0.9999])
def test_wide_gaussian_noise_is_bounded_beyond_its_normal_quantile(confidence: float) -> None:
    relation = invariants.margins((3, 3)).protect(epsilon=0.01)
    made = design(Problem(Workload.identity(9), relation, "zcdp"), "lattice_gaussian").mechanism
    reach = (made.margins(confidence) + 0.5) / made.standard_errors()  # whole numbers: more than t is t + 1 at least
    quantile = norm.isf((1 - confidence) / 2)
    assert (reach >= quantile).all() and (reach <= 1.01 * quantile).all()
    bounds = margin_bounds_of_answers(made, 1 - confidence) / made.standard_errors()
    assert (bounds >= quantile).all() and (bounds <= 1.3 * quantile).all()


@pytest.mark.parametrize("size", [2, 10, 50])
def test_the_bound_of_cells_is_above_the_quantile_of_their_sum(size: int) -> None:
    """The sum of n Laplace numbers is a difference of two Gamma numbers of shape n: its tail is a mean over one of them."""
    margin = _laplace_margin_of(np.ones(size), 0.05)
    x = gamma.isf((np.arange(4000) + 0.5) / 4000, size)
    quantile = next(t for t in np.arange(0.0, 100.0, 0.1) if 2 * gamma.sf(x + t, size).mean() <= 0.05)
    assert quantile <= margin <= 1.75 * quantile


@pytest.mark.parametrize("dimension", [1, 4, 40])
def test_the_tail_of_the_norm(dimension: int) -> None:
    """The point from which on `(s/m)^m e^(m-s)` is at most 0.05, on a fine grid."""
    s = np.linspace(dimension, dimension + 60 + 12 * math.sqrt(dimension), 400_001)
    tail = np.exp(dimension * np.log(s / dimension) + dimension - s)
    assert _tail_of_norm(dimension, 0.05) == pytest.approx(float(s[np.argmax(tail <= 0.05)]), rel=1e-3)

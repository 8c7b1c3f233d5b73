"""Tails, means and unbiasedness of lattice noise, against enumerated laws and draws; the paper's constants;
its Gaussian baseline."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from designer import InvalidProblem, Problem, Workload, design, invariants
from designer.lattice.tails import (
    cell_tail,
    definition_13_variance,
    mean_norm,
    mean_square,
    noise_tail,
    theorem_12_tail,
    theorem_15_tail,
    theorem_constant,
)
from designer.tradeoff.conversions import smooth_deviation
from solvers.lattices.kernel import integer_kernel

FAILURE_PROBABILITY = 1e-6
PLANES = {"total": invariants.total(3), "table": invariants.margins((2, 3)), "skew": invariants.linear([[1, 2, 5, 0]])}


def made(kind, family, order="l2", epsilon=0.3):
    relation = PLANES[kind].protect(epsilon, per_distance=order)
    notion = "zcdp" if family == "lattice_gaussian" else "pure"
    return design(Problem(Workload.identity(relation.size), relation, notion=notion), family, shape=order).mechanism


def enumerated(mechanism):
    """Points of a plane with coefficients up to 120, and their probabilities; less than 1e-12 of the mass is left out."""
    points = np.array(list(itertools.product(range(-120, 121), repeat=2))) @ mechanism.lattice.basis.astype(int)
    sizes = mechanism.norm(points.astype(float))
    weights = np.exp(-sizes if mechanism.falloff == "exponential" else -(sizes**2) / 2)
    return points, sizes, weights / weights.sum()


LAWS = [("lattice_laplace", "l1"), ("lattice_laplace", "l2"), ("lattice_gaussian", "l2")]


@pytest.mark.parametrize("kind", PLANES)
@pytest.mark.parametrize(("family", "order"), LAWS)
@pytest.mark.parametrize("epsilon", [0.15, 0.3, 1.0])
def test_bounds_hold_for_enumerated_laws(kind, family, order, epsilon):
    mechanism = made(kind, family, order, epsilon)
    _, sizes, law = enumerated(mechanism)
    for size in np.linspace(0.2, 12, 60):
        assert law[sizes >= size].sum() <= noise_tail(mechanism, size) + 1e-12
    by_hand = 72 * math.exp(-71) if family == "lattice_gaussian" else 36 * math.exp(-10)
    assert noise_tail(mechanism, 12.0) == pytest.approx(by_hand) and noise_tail(mechanism, 1.0) == 1.0
    second = (sizes**2) @ law
    assert (math.sqrt(second) if family == "lattice_gaussian" else sizes @ law) <= mean_norm(mechanism)
    if order == "l2":
        assert second <= mean_square(mechanism) * (1 + 1e-12)


def test_wide_noise_attains_the_means():
    mechanism = made("total", "lattice_laplace", epsilon=0.15)
    _, sizes, law = enumerated(mechanism)
    assert sizes @ law == pytest.approx(2, rel=1e-3) and (sizes**2) @ law == pytest.approx(6, rel=1e-2)


@pytest.mark.parametrize("kind", PLANES)
def test_cells_of_gaussian_noise_have_tails_without_a_dimension(kind):
    mechanism = made(kind, "lattice_gaussian")
    points, _, law = enumerated(mechanism)
    for query in (np.eye(points.shape[1])[0], np.arange(points.shape[1]) - 0.5):
        for size in np.linspace(0.5, 15, 30):
            assert law[np.abs(points @ query) >= size].sum() <= cell_tail(mechanism, query, size) + 1e-12
    assert cell_tail(mechanism, mechanism.relation.invariant.matrix[0], 1.0) == 0.0


def test_bounds_hold_in_many_dimensions():
    """10 x 10 tables, 81 dimensions, 400 exact draws: a share above the bound by 6 standard
    errors would be a chance below 1e-6."""
    mechanism = design(
        Problem(Workload.identity(100), invariants.margins((10, 10)).protect(0.25, per_distance="l2")), "lattice_laplace"
    ).mechanism
    sizes = mechanism.privacy_loss(mechanism.draw(400, seed=1))
    for size in (81.0, 95.0, 105.0, 120.0):
        bound = noise_tail(mechanism, size)
        assert (sizes >= size).mean() <= bound + 6 * math.sqrt(bound / 400)
    assert sizes.mean() == pytest.approx(81, rel=6 / math.sqrt(400 * 81)) and mean_norm(mechanism) == 81


def test_the_constant_of_the_paper():
    """A 2-dimensional lattice by hand: x + y + z = 0 has covolume root 3, so K = 16 pi / root 3."""
    assert theorem_constant(integer_kernel([[1, 1, 1]])) == pytest.approx(16 * math.pi / math.sqrt(3))
    mechanism = made("total", "lattice_laplace", epsilon=0.3)
    _, sizes, law = enumerated(mechanism)
    for length in (10.0, 20.0, 40.0):  # the tail of |z|_2; the mechanism's norm is 0.3 |z|_2
        truth = law[sizes >= 0.3 * length].sum()
        assert truth <= theorem_12_tail(mechanism.lattice, 0.3, length)
        assert truth <= noise_tail(mechanism, 0.3 * length) < theorem_12_tail(mechanism.lattice, 0.3, length)
    # "For t large enough" is needed: near 0 the paper's bound is below the truth, which is the chance of any noise at all.
    assert theorem_12_tail(mechanism.lattice, 0.3, 0.05) < 1 - law.max()
    gaussian = made("total", "lattice_gaussian", epsilon=0.3)
    _, sizes, law = enumerated(gaussian)
    assert law[sizes >= 3].sum() <= noise_tail(gaussian, 3.0) < theorem_15_tail(gaussian.lattice, 1 / 0.3, 10.0)


def test_what_the_proof_without_a_dimension_saves():
    """Definition 13 at epsilon 0.25, delta 1e-6, against the lattice Gaussian with the same guarantee of INT Definition 2."""
    ours = smooth_deviation(0.25, 1e-6) ** 2
    saved = [
        definition_13_variance(integer_kernel(invariants.margins((n, n)).constraints), 0.25, 1e-6) / ours for n in (2, 4, 10)
    ]
    assert saved[0] == pytest.approx(1.5, abs=0.3) and saved == sorted(saved) and saved[-1] > 10
    with pytest.raises(InvalidProblem, match="Theorem 14"):
        definition_13_variance(integer_kernel([[1, 1]]), 0.5, 1e-6)


@pytest.mark.parametrize(("family", "order"), LAWS)
@pytest.mark.parametrize(
    "invariant", [invariants.margins((4, 4)), invariants.partition([0] * 5 + [1] * 3)], ids=["table", "partition"]
)
def test_noise_is_unbiased_and_even(family, order, invariant):
    """INT (6), (9): no cell's mean is 6 standard errors off, and z is as likely as -z (a sign test on every cell)."""
    relation = invariant.protect(0.25, per_distance=order)
    notion = "zcdp" if family == "lattice_gaussian" else "pure"
    mechanism = design(Problem(Workload.identity(invariant.size), relation, notion=notion), family, shape=order).mechanism
    noise = mechanism.draw(4000, seed=5).astype(float)
    # Two-sided normal tails of 5.8 standard errors, 16 cells: below FAILURE_PROBABILITY.
    assert (np.abs(noise.mean(axis=0)) < 5.8 * noise.std(axis=0) / math.sqrt(4000)).all()
    signs = np.sign(noise)
    assert (np.abs(signs.sum(axis=0)) < 5.8 * np.sqrt((signs != 0).sum(axis=0))).all()
    shifted = noise + 1  # a shift by one step must be seen
    assert (np.abs(shifted.mean(axis=0)) > 5.8 * noise.std(axis=0) / math.sqrt(4000)).any()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: cell_tail(made("total", "lattice_laplace"), [1, 0, 0], 1.0), "not Gaussian"),
        (lambda: mean_square(made("total", "lattice_laplace", "l1")), "l2 and ellipsoid"),
        (lambda: noise_tail(made("total", "lattice_laplace"), 0.0), "size"),
        (
            lambda: mean_norm(
                design(Problem(Workload.identity(3), PLANES["total"].protect(1.0)), "lattice_laplace", shape="hull").mechanism
            ),
            "mixture of Gaussians",
        ),
    ],
)
def test_bad_questions_are_refused(build, message):
    with pytest.raises(InvalidProblem, match=message):
        build()

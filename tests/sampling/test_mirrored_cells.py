"""Mirrored cells of tables: the enumerated law, the other exact sampler, the signs, and which structures qualify. Determinants
and facets of a star triangulation against Fractions and sets, and what is refused.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from designer import invariants
from designer.base.errors import InvalidProblem
from designer.certificate.norms import Gauge
from designer.lattice.sampler_choice import (
    Determination,
    DeterminedLaplace,
    MirroredLaplace,
    determinations,
    halved_signs,
    lattice_sampler_for,
    partners,
)
from designer.mechanism.noise import gauge_parts
from designer.sampling.body_grids import certified_determinants
from designer.sampling.entropy import SeededEntropy
from solvers.exact.points import Points
from solvers.lattices.kernel import integer_kernel
from solvers.polytopes.extremes import on_an_ellipsoid
from solvers.polytopes.hull import convex_hull
from tests.oracles.goodness_of_fit import FAILURE_PROBABILITY, p_value


def mirrored(shape: tuple[int, int], rate: Fraction) -> MirroredLaplace:
    for cells in determinations(invariants.margins(shape).constraints):
        found = partners(cells)
        if found is not None:
            return MirroredLaplace(cells, found, rate)
    raise AssertionError(shape)


def enumerated(shape: tuple[int, int], reach: int) -> NDArray[np.int64]:
    basis = integer_kernel(invariants.margins(shape).constraints).basis.astype(np.int64)
    return np.array(list(itertools.product(range(-reach, reach + 1), repeat=len(basis)))) @ basis


def fit(draws: NDArray[np.int64], known: NDArray[np.int64], rate: float) -> float:
    """Single points against `exp(-rate |z|_1)`, what lies outside of `known` pooled."""
    weights = np.exp(-rate * np.abs(known).sum(axis=1))
    places = {point.tobytes(): i for i, point in enumerate(known)}
    where = np.array([places.get(point.tobytes(), len(known)) for point in draws])
    counts = np.bincount(where, minlength=len(known) + 1)
    return p_value(counts, np.append(weights / weights.sum(), 1e-9))


@pytest.mark.parametrize(("shape", "reach"), [((3, 3), 9), ((2, 3), 25), ((3, 2), 25)])
def test_the_law_is_the_enumerated_one(shape, reach):
    """Points beyond `reach` carry less than 1e-9; a rate wrong by 4 % is rejected."""
    rate = Fraction(3, 4) if shape == (3, 3) else Fraction(1, 3)
    sampler, known = mirrored(shape, rate), enumerated(shape, reach)
    draws = sampler.draw(60_000, SeededEntropy(1))
    assert fit(draws, known, float(rate)) > FAILURE_PROBABILITY
    assert fit(draws, known, 1.04 * float(rate)) < FAILURE_PROBABILITY


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (4, 5)])
def test_two_exact_samplers_agree(shape):
    """The l1 norm, the largest cell, and one cell, against determined cells: two-sample chi-square over pooled values."""
    rate = Fraction(1, 3)
    first = mirrored(shape, rate)
    draws = [sampler.draw(6000, SeededEntropy(2)) for sampler in (first, DeterminedLaplace(first.cells, rate))]
    for statistic in (
        lambda z: np.abs(z).sum(axis=1),
        lambda z: np.abs(z).max(axis=1),
        lambda z: z[:, 0],
        lambda z: z[:, -1] * z[:, 1],
    ):
        one, two = (statistic(z) for z in draws)
        edges = np.unique(np.quantile(np.concatenate([one, two]), np.linspace(0, 1, 16)))
        counts = np.array([np.histogram(x, np.append(edges[:-1], np.inf))[0] for x in (one, two)])
        assert stats.chi2_contingency(counts[:, counts.sum(axis=0) > 0]).pvalue > FAILURE_PROBABILITY


def test_floats_decide_nothing_that_balls_would_not(monkeypatch):
    """With every float decision thrown away the exact path alone gives the same draws."""
    from designer.lattice import sampler_choice as mirrored_cells

    sampler = mirrored((4, 4), Fraction(1, 2))
    usual = sampler.draw(40, SeededEntropy(3))
    monkeypatch.setattr(
        mirrored_cells, "accepted", lambda words, bits, exponent, error: (np.zeros(len(words), bool), np.ones(len(words), bool))
    )
    # Balls ask for further words only when 53 bits leave the answer open, so both paths read the same stream.
    assert (sampler.draw(40, SeededEntropy(3)) == usual).all()


def test_the_mean_over_signs_by_enumeration():
    sampler = mirrored((6, 6), Fraction(1, 4))
    for odd, up in ((2, 0), (2, 1), (4, 1), (4, 2), (6, 5)):
        signs = np.array([1] * up + [-1] * (odd - up))
        values = [np.exp(0.25 * signs @ e) for e in itertools.product((-1, 1), repeat=odd) if sum(e) == 0]
        assert float(sampler._kappa(odd, up)) == pytest.approx(np.mean(values), rel=1e-12) and np.mean(values) >= 1


def test_signs_halve_the_marked_places_uniformly():
    marked = np.tile([True, False, True, True, False, True], (12_000, 1))
    signs = halved_signs(marked, SeededEntropy(4))
    assert not signs.sum(axis=1).any() and (signs[:, [1, 4]] == 0).all()
    _, counts = np.unique(signs, axis=0, return_counts=True)
    assert len(counts) == 6 and p_value(counts, np.full(6, 1 / 6)) > FAILURE_PROBABILITY

    class Repeating:
        """Three equal words first: a tie that must be drawn again."""

        private = False

        def __init__(self) -> None:
            self.calls = 0

        def random_words(self, count):
            self.calls += 1
            return np.full(count, 7, dtype=np.uint64) if self.calls == 1 else SeededEntropy(5).random_words(count)

    source = Repeating()
    assert halved_signs(np.ones((3, 2), dtype=bool), source).sum() == 0 and source.calls == 2
    assert (halved_signs(np.zeros((2, 3), dtype=bool), SeededEntropy(1)) == 0).all()


def test_which_cells_are_mirrored():
    choice = lattice_sampler_for(invariants.margins((4, 4)).constraints, "l1", Fraction(1, 4))
    assert choice.method == "mirrored cells" and 0.2 < choice.acceptance < 0.3
    assert len(choice.considered) == 1 and "mirrored" in choice.considered[0]
    large = lattice_sampler_for(invariants.margins((7, 7)).constraints, "l1", Fraction(1, 4))
    assert large.sampler is not None and 0.004 < large.acceptance < 0.02  # determined cells accept 1 in 5,000
    others = [invariants.margins((3, 3, 2)), invariants.linear([[1, 1, 0, 0, 1], [0, 1, 1, 0, 0]]), invariants.total(3)]
    assert all(partners(cells) is None for other in others for cells in determinations(other.constraints))
    twice = Determination(
        (np.arange(2), np.arange(2, 4)), np.arange(0), np.arange(4, 6), np.array([[-1, 0, -2, 0, 0, 0], [0, -1, 0, -1, 0, 0]])
    )
    assert partners(twice) is None  # what is given would not sum to 0
    with pytest.raises(ValueError, match="rate"):
        mirrored((3, 3), Fraction(0))


def determinant(rows: list[list[Fraction]]) -> Fraction:
    """By the first row."""
    if not rows:
        return Fraction(1)
    minors = ([row[:k] + row[k + 1 :] for row in rows[1:]] for k in range(len(rows)))
    return sum(((-1) ** k * rows[0][k] * determinant(minor) for k, minor in enumerate(minors)), Fraction(0))


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_determinants_are_those_of_fractions(dimension: int) -> None:
    rng = np.random.default_rng(dimension)
    differences = rng.integers(-3, 4, (3 * dimension, dimension)).astype(float) + np.eye(3 * dimension, dimension) * 8
    norm = Gauge(differences, rng.random(3 * dimension) + 0.5, 0.7)
    steps = tuple(Fraction(k + 1, 3) for k in range(dimension))
    vertices, simplices, facets = gauge_parts(norm, steps)
    numbers, unit = certified_determinants(vertices, simplices, facets)
    assert [number * unit for number in numbers] == [determinant([list(vertices[i]) for i in row]) for row in simplices]


def test_an_index_beyond_the_vertices_is_refused() -> None:
    one = Fraction(1)
    with pytest.raises(InvalidProblem, match="2 is not the index of one of 2 vertices"):
        certified_determinants([[one], [-one]], [[0], [2]], [[one], [-one]])


def test_points_of_an_ellipsoid_are_all_vertices_of_their_hull() -> None:
    rng = np.random.default_rng(1)
    round_ = rng.standard_normal((20, 3))
    left, _, _ = np.linalg.svd(round_, full_matrices=False)
    swaps = np.array([[1, -1, 0, 0], [1, 0, -1, 0], [1, 0, 0, -1], [0, 1, -1, 0], [0, 1, 0, -1], [0, 0, 1, -1]], float)[:, :3]
    assert on_an_ellipsoid(swaps) and not on_an_ellipsoid(left) and not on_an_ellipsoid(np.vstack([swaps, swaps[:1] / 2]))
    assert len(convex_hull(Points.of(swaps.tolist())).vertices) == len(swaps)

"""Gaussians on partitions and tables of any shape against their enumerated law, and against the sampler that needs a basis."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from designer.base.errors import InvalidProblem
from designer.lattice import gaussian as klein_steps
from designer.lattice.gaussian import KleinSteps, LatticeGaussian, Level
from designer.lattice.table_gaussians import CellsInOrder, CrossedGaussian, LineGaussian, PartitionGaussian
from designer.relations.invariants import margins
from designer.sampling.entropy import SeededEntropy
from solvers.lattices.kernel import integer_kernel
from tests.oracles.goodness_of_fit import FAILURE_PROBABILITY, p_value

DRAWS = 100_000


def rows_of(levels: tuple[int, ...], repeats: int) -> np.ndarray:
    """The statistics whose kernel the tables of this shape with margins 0 are."""
    if levels == (1,):
        return np.ones((1, repeats), dtype=np.int64)
    return margins((*levels, repeats), [(i,) for i in range(len(levels))]).constraints


def lengths(rows: np.ndarray, reach: int) -> tuple[np.ndarray, np.ndarray]:
    """Squared lengths of the lattice points with coefficients up to `reach`, with how many there are of each."""
    basis = integer_kernel(rows).basis.astype(np.int64)
    grid = np.array(list(itertools.product(range(-reach, reach + 1), repeat=len(basis))))
    return np.unique(((grid @ basis) ** 2).sum(axis=1), return_counts=True)


def fit(rows: np.ndarray, reach: int, variance: Fraction, draws: np.ndarray) -> float:
    """p-value of the squared lengths and, in one test with it, of the single values of the first cell."""
    squares, number = lengths(rows, reach)
    mass = number * np.exp(-squares / (2 * float(variance)))
    drawn = (draws**2).sum(axis=1)
    counts = np.append([(drawn == s).sum() for s in squares], (~np.isin(drawn, squares)).sum())
    return p_value(counts, np.append(mass / mass.sum() * (1 - 1e-7), 1e-7))


@pytest.mark.parametrize(
    ("levels", "repeats", "reach", "variance", "percent"),
    [
        ((1,), 3, 20, Fraction(1, 3), 2),
        ((1,), 5, 8, Fraction(6, 5), 4),
        ((2, 3), 1, 20, Fraction(2), 2),
        ((3, 3), 1, 8, Fraction(6, 5), 4),
        ((5, 2), 1, 6, Fraction(2, 5), 5),
        ((2, 2, 2), 1, 6, Fraction(3, 4), 5),
        ((2, 2), 2, 4, Fraction(3, 5), 5),
    ],
)
def test_tables_follow_the_enumerated_law_and_wrong_variances_do_not(levels, repeats, reach, variance, percent) -> None:
    """A variance 2 % off is noise 1 % wider."""
    rows = rows_of(levels, repeats)
    draws = CrossedGaussian(levels, repeats, variance).draw(4 * DRAWS if percent == 2 else DRAWS, SeededEntropy(1))
    assert not (draws @ rows.T).any()
    assert fit(rows, reach, variance, draws) > FAILURE_PROBABILITY
    assert fit(rows, reach, variance * Fraction(100 + percent, 100), draws) < FAILURE_PROBABILITY


@pytest.mark.parametrize(
    ("levels", "reach", "variance"),
    [
        ((2, 2, 3), 20, Fraction(1, 2)),
        ((3, 3), 8, Fraction(6, 5)),
        ((2, 3, 3), 8, Fraction(1, 2)),
        ((2, 2, 2, 3), 12, Fraction(1)),
    ],
)
def test_tables_without_lines_follow_the_enumerated_law_and_wrong_variances_do_not(levels, reach, variance) -> None:
    axes = range(len(levels))
    rows = margins(levels, [[i for i in axes if i != axis] for axis in axes]).constraints
    draws = LineGaussian(levels, variance).draw(DRAWS, SeededEntropy(9))
    assert not (draws @ rows.T).any()
    assert fit(rows, reach, variance, draws) > FAILURE_PROBABILITY
    assert fit(rows, reach, variance * Fraction(106, 100), draws) < FAILURE_PROBABILITY


def test_tables_without_lines_have_the_covariance_of_their_span() -> None:
    draws = LineGaussian((2, 3, 4), Fraction(30)).draw(DRAWS, SeededEntropy(10))
    span = [np.eye(n) - 1 / n for n in (2, 3, 4)]
    projection = np.kron(np.kron(span[0], span[1]), span[2])
    assert np.abs(draws.T @ draws / DRAWS - 30 * projection).max() < 5 * 30 * math.sqrt(2 / DRAWS)


def test_single_tables_have_their_chances_not_only_lengths() -> None:
    basis = integer_kernel(rows_of((2, 3), 1)).basis.astype(np.int64)
    points = np.array(list(itertools.product(range(-12, 13), repeat=2))) @ basis
    mass = np.exp(-(points**2).sum(axis=1) / 2)
    draws = CrossedGaussian((2, 3), 1, Fraction(1)).draw(DRAWS, SeededEntropy(2))
    keys, known = (draws[:, :2] + 100) @ [1000, 1], (points[:, :2] + 100) @ [1000, 1]
    counts = np.array([(keys == key).sum() for key in known])
    assert counts.sum() == DRAWS
    assert p_value(counts, mass / mass.sum()) > FAILURE_PROBABILITY


@pytest.mark.parametrize(("levels", "repeats"), [((3, 4), 1), ((2, 3, 2), 1), ((3, 2), 3), ((1,), 6)])
def test_tables_have_the_covariance_of_the_sampler_with_a_basis(levels, repeats) -> None:
    """Covariances of wide Gaussians are those of the projection: entries of 100,000 draws are within 5 of their deviations
    (failure probability below 1e-3 over all entries by the normal law, times 1e-3 for entries that are equal)."""
    rows, variance = rows_of(levels, repeats), Fraction(30)
    draws = CrossedGaussian(levels, repeats, variance).draw(DRAWS, SeededEntropy(3))
    known = LatticeGaussian.isotropic(integer_kernel(rows), variance)
    theirs = known.draw(20_000, SeededEntropy(4))
    projection = np.eye(rows.shape[1]) - np.linalg.pinv(rows) @ rows
    for drawn in (draws, theirs):
        assert np.abs(drawn.T @ drawn / len(drawn) - 30 * projection).max() < 5 * 30 * math.sqrt(2 / len(drawn))


def test_partitions_are_independent_blocks_with_free_cells() -> None:
    blocks = (np.array([4, 0, 2]), np.array([1]), np.array([5, 3]))
    draws = PartitionGaussian(blocks, 7, Fraction(2, 3)).draw(DRAWS, SeededEntropy(5))
    assert not draws[:, 1].any()
    assert all(not draws[:, block].sum(axis=1).any() for block in blocks)
    rows = np.array([np.isin(np.arange(7), block) for block in blocks], dtype=np.int64)
    assert fit(rows, 7, Fraction(2, 3), draws) > FAILURE_PROBABILITY
    assert fit(rows, 7, Fraction(2, 3) * Fraction(104, 100), draws) < FAILURE_PROBABILITY


def test_without_the_acceptance_the_law_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KleinSteps, "kept", lambda self: np.ones(self.rows, dtype=bool))
    draws = CrossedGaussian((1,), 3, Fraction(1, 3)).draw(DRAWS, SeededEntropy(1))
    assert fit(np.ones((1, 3), dtype=np.int64), 20, Fraction(1, 3), draws) < FAILURE_PROBABILITY


def test_acceptance_in_balls_is_that_of_floats(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every acceptance left open and decided in ball arithmetic gives the very same tables."""
    floats = CrossedGaussian((2, 3), 1, Fraction(1, 2)).draw(60, SeededEntropy(6))
    opened = klein_steps.accepted

    def none_decided(bits, count, exponent, error):
        return opened(bits, count, exponent, error + 2.0)

    monkeypatch.setattr(klein_steps, "accepted", none_decided)
    assert (CrossedGaussian((2, 3), 1, Fraction(1, 2)).draw(60, SeededEntropy(6)) == floats).all()


def test_the_bound_of_the_acceptance_is_below_what_is_accepted() -> None:
    for variance in (Fraction(1, 20), Fraction(1, 4), Fraction(1)):
        law = CrossedGaussian((3, 3), 1, variance)
        steps = KleinSteps(20_000, SeededEntropy(7))
        law.tables(20_000, lambda v, n, d, steps=steps: steps.draw(Level(v), n, d))
        part = steps.kept().mean()
        assert law.acceptance <= part + 5 * math.sqrt(0.25 / 20_000)
        assert part < law.acceptance + 0.35


def test_cells_stand_where_their_classes_say() -> None:
    order = np.array([3, 0, 5, 1, 4, 2])
    law = CrossedGaussian((2, 3), 1, Fraction(4))
    placed = CellsInOrder(law, order).draw(5, SeededEntropy(8))
    assert (placed[:, order] == law.draw(5, SeededEntropy(8))).all()


@pytest.mark.parametrize(
    ("levels", "repeats", "variance", "message"),
    [
        ((), 1, Fraction(1), "levels"),
        ((2, 0), 1, Fraction(1), "levels"),
        ((2, 2), 1, Fraction(0), "variance"),
        ((2, 2), 1, Fraction(2**103), "variance"),
        ((2**11, 2**11), 1, Fraction(1), "levels"),
        ((60, 60), 1, Fraction(1, 4), "too narrow"),
    ],
)
def test_what_cannot_be_drawn_is_refused(levels, repeats, variance, message) -> None:
    with pytest.raises(InvalidProblem, match=message):
        CrossedGaussian(levels, repeats, variance)


def test_tables_have_up_to_2_to_the_20_cells() -> None:
    assert CrossedGaussian((1,), 2**20, Fraction(2**20)).acceptance == pytest.approx(1.0, abs=1e-6)
    with pytest.raises(InvalidProblem, match="1048577 cells are more than 1048576; merge elements"):
        CrossedGaussian((1,), 2**20 + 1, Fraction(2**20))

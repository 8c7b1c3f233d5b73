"""Moments of lattice noise that are summed, against sums over all small tables and against draws. Bounds of lattice noise in
each answer: exact for rank 1, above what is drawn elsewhere.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, gamma, norm

from designer import Problem, Workload, design, invariants
from designer.lattice.accuracy import (
    OF_SLICES,
    SUMMED,
    SummedTails,
    _laplace_margin_of,
    _tail_of_norm,
    continuous_moments,
    margin_bounds_of_answers,
    sliced_tails,
    summed_moments,
    summed_tails,
)
from designer.mechanism.interface import reach_of_answers
from designer.sampling.entropy import SeededEntropy
from solvers.lattices.cell_laws import CellLaw, gaussian_weight, law_of_cell, mixed_laws
from tests.oracles.goodness_of_fit import FAILURE_PROBABILITY

QUERIES = Workload([[1.0, 0, 0, 0, 0, 0], [1, 2, 0, 0, 0, 0], [0, 0, 3, 1, 0, 0]])


def tables(reach: int) -> np.ndarray:
    """All integer 2 x 3 tables without margins whose first two cells are at most `reach`, (n, 6)."""
    return np.array([[a, b, -a - b, -a, -b, a + b] for a, b in product(range(-reach, reach + 1), repeat=2)], dtype=float)


@pytest.mark.parametrize(
    ("family", "shape", "budget"),
    [
        ("lattice_laplace", "l1", 3.0),
        ("lattice_laplace", "l2", 8.0),
        ("lattice_laplace", "ellipsoid", 2.0),
        ("lattice_gaussian", "l2", 1.0),
        ("lattice_gaussian", "ellipsoid", 0.5),
    ],
)
def test_moments_are_the_sums_over_all_tables(family: str, shape: str, budget: float) -> None:
    notion: Any = "zcdp" if family == "lattice_gaussian" else "pure"
    relation = invariants.margins((2, 3)).protect(budget)
    made = design(Problem(QUERIES, relation, notion), family, shape=shape).mechanism
    z = tables(90)
    image = z[:, made.columns] @ np.atleast_2d(made.norm.factor).T
    lengths = np.abs(image).sum(axis=1) if shape == "l1" else np.sqrt((image**2).sum(axis=1))
    law = np.exp(-lengths if notion == "pure" else -(lengths**2) / 2)
    answers = z @ QUERIES.dense().T
    assert made.error_source.draws == 0
    assert made.covariance() == pytest.approx((answers.T * law) @ answers / law.sum(), rel=1e-9)
    assert made.query_mean_absolutes() == pytest.approx(law @ np.abs(answers) / law.sum(), rel=1e-9)
    assert made.standard_errors() == pytest.approx(np.sqrt(made.query_variances()), rel=1e-7)


def test_noise_that_hardly_ever_moves_has_its_error() -> None:
    """At a budget of 12 no draw of 20,000 need move: e^-12 for each of two signs, four cells by one."""
    made = design(Problem(Workload.identity(4), invariants.margins((2, 2)).protect(12.0)), "lattice_laplace").mechanism
    assert made.error() == pytest.approx(4 / (2 * np.sinh(6.0) ** 2), rel=1e-9)


def test_draws_of_a_hull_agree_with_the_sums() -> None:
    """Mean squares of 20,000 draws lie within 5 standard errors, which fails with probability 6e-7 for each of 9 cells."""
    made = design(Problem(Workload.identity(9), invariants.margins((3, 3)).protect(4.0, 2)), "lattice_laplace", shape="hull")
    squares = np.asarray(made.mechanism.simulate(20_000, seed=2)) ** 2
    off = squares.mean(axis=0) - made.mechanism.query_variances()
    assert made.mechanism.error_source.draws == 0 and (np.abs(off) < 5 * squares.std(axis=0) / 20_000**0.5).all()


@pytest.mark.parametrize(("shape", "epsilon"), [((4, 4), 1.0), ((3, 3), 0.1)])
@pytest.mark.nightly
def test_the_table_of_the_tutorial_has_the_law_of_a_cell(shape: tuple[int, int], epsilon: float) -> None:
    """Neither the bound, 6.37 and 22, nor draws, 4.47 and 10: mean squares and shares of 100,000 draws lie within 5 of their
    standard errors."""
    problem = Problem(Workload.identity(shape[0] * shape[1]), invariants.margins(shape).protect(epsilon=epsilon))
    made = design(problem, "lattice_laplace", shape="l1").mechanism
    assert made.error_source.draws == 0 and made.error_source.words == "" and reach_of_answers(made, 0.95, False)[1] == SUMMED
    drawn = np.asarray(made.simulate(100_000, seed=4))
    squares = np.square(drawn).mean(axis=1)
    assert abs(squares.mean() - made.error() / made.workload.shape[0]) < 5 * squares.std() / 100_000**0.5
    margin = made.margins()[0]
    assert set(made.margins().tolist()) == {margin} and margin == round(margin)
    within, below = (np.abs(drawn) <= margin).mean(), (np.abs(drawn) <= margin - 1).mean()
    assert within > 0.95 > below


def test_narrow_gaussian_noise_has_its_error_though_no_draw_moves() -> None:
    """5 x 5, a budget of 8: 20,000 draws say 0."""
    problem = Problem(Workload.identity(25), invariants.margins((5, 5)).protect(8.0, 2), "zcdp")
    made = design(problem, "lattice_gaussian", shape="l2").mechanism
    weight = float(made.norm.map[0])
    swaps = 2 * 100 * np.exp(-4 * weight**2 / 2)  # pairs of rows by pairs of columns, either sign; 4 of 25 cells, by 1
    assert made.error() == pytest.approx(4 * swaps, rel=1e-3) and made.error_source.draws == 0


@pytest.mark.parametrize("shape", ["l2", "ellipsoid"])
@pytest.mark.parametrize("notion", ["pure", "zcdp"])
@pytest.mark.parametrize("epsilon", [0.3, 0.6, 1.0, 2.0, 4.0])
def test_continuous_moments_are_above_the_sums_by_what_is_said(shape: str, notion: Any, epsilon: float) -> None:
    problem = Problem(QUERIES, invariants.margins((2, 3)).protect(epsilon), notion)
    made = design(problem, "lattice_laplace" if notion == "pure" else "lattice_gaussian", shape=shape).mechanism
    near = continuous_moments(made.law, made.falloff, QUERIES.dense())
    exact = summed_moments(made.law, made.falloff, QUERIES.dense())
    assert exact is not None and (near is not None or epsilon > 0.5)
    if near is not None:
        ratios = np.sqrt(near.second.diagonal() / exact.second.diagonal())
        assert (ratios >= 1 - 1e-6).all() and (ratios <= 1 + near.above + 1e-6).all()


@pytest.mark.nightly
def test_wide_noise_is_simulated_with_one_error_for_cells_that_are_alike() -> None:
    made = design(Problem(Workload.identity(36), invariants.margins((6, 6)).protect(0.5, 2)), "lattice_laplace", shape="l1")
    errors, words = made.mechanism.standard_errors(), made.mechanism.error_source.words
    assert made.mechanism.error_source.draws > 10_000 and len(set(errors.round(12).tolist())) == 1
    assert words.startswith("Standard errors are simulated with 1") and "draws, to about 0." in words and "bound" not in words
    said = float(words.split("about ")[1].split(" %")[0]) / 100
    other = np.square(made.mechanism.draw(20_000, seed=9)).mean() ** 0.5
    assert errors[0] == pytest.approx(other, rel=2 * said)


def test_where_draws_hardly_ever_move_a_bound_says_at_most() -> None:
    """A cube with all its two-way margins, a budget of 4 for each unit: neither sums nor draws tell how seldom it moves."""
    relation = invariants.margins((3, 3, 4), [(0, 1), (1, 2), (0, 2)]).protect(4.0, per_distance="l2")
    made = design(Problem(Workload.identity(36), relation, "zcdp"), "lattice_gaussian", shape="l2").mechanism
    assert "at most these" in made.error_source.words and (made.standard_errors() > 0).all()
    drawn = np.asarray(made.simulate(2000, seed=1))
    assert (drawn.std(axis=0) <= made.standard_errors()).all()


def test_margins_of_whole_numbers_are_whole() -> None:
    """Proven at 2.87 and more: noise in whole numbers is within 2 as often."""
    problem = Problem(Workload.identity(25), invariants.margins((5, 5)).protect(8.0, 2))
    made = design(problem, "lattice_laplace", shape="l2").mechanism
    bounds = margin_bounds_of_answers(made, 0.05)
    assert (bounds != np.floor(bounds)).all()
    assert made._tails is None and made._proven_margins(0.95).tolist() == np.floor(bounds).tolist()


def beyond(law: CellLaw) -> np.ndarray:
    """`P(|z| > j)` of a cell, for j from 0 on."""
    half = law.masses[len(law.masses) // 2 :] * 2
    return np.append(np.cumsum(half[:0:-1])[::-1], 0.0)


def require_near(bound: SummedTails, k: int, step: int, exact: np.ndarray) -> None:
    """Never below the law, and above it by what slices may differ by."""
    sizes, found = bound.sizes[k], bound.beyond[k]
    assert (sizes == step * np.arange(len(sizes))).all()
    exact = np.append(exact, np.zeros(len(sizes)))[: len(sizes)]
    assert (found + bound.left >= exact).all() and (found <= 1.06 * exact + 1e-7).all()


@pytest.mark.nightly
def test_slices_bound_the_exact_law_of_a_cell() -> None:
    """A class of 8 cells under `exp(-|z|)`, a table under a Gaussian, against laws by Fourier transforms."""
    of_class = invariants.total(8).protect(0.1)
    made = design(Problem(Workload.identity(8), of_class), "lattice_laplace", shape="l2").mechanism
    bound = sliced_tails(made.law, "exponential", 3 * np.eye(8)[:1])
    exact = mixed_laws({(8,): 1}, float(made.norm.map[0]))
    assert bound is not None and exact is not None
    require_near(bound, 0, 3, beyond(exact[(8,)]))
    made = design(
        Problem(Workload.identity(4), invariants.total(4).protect(1.8), "zcdp"), "lattice_gaussian", shape="l2"
    ).mechanism
    bound, law = sliced_tails(made.law, "gaussian", np.eye(4)[:1]), law_of_cell((4,), *gaussian_weight(made.norm.map[0] ** -2))
    assert bound is not None and law is not None
    require_near(bound, 0, 1, beyond(law))  # and without what slices differ by, 0.5 %, it would be below
    table = invariants.margins((3, 5)).protect(0.5, adjacency=2)
    made = design(Problem(Workload.identity(15), table, "zcdp"), "lattice_gaussian", shape="l2").mechanism
    bound, law = sliced_tails(made.law, "gaussian", np.eye(15)), law_of_cell((3, 5), *gaussian_weight(made.norm.map[0] ** -2))
    assert bound is not None and law is not None
    for k in range(15):
        require_near(bound, k, 1, beyond(law))


def test_slices_bound_the_law_of_any_whole_query() -> None:
    """Against sums over all vectors that matter, of 6 cells with two public sums; the steps are 4, 1, 2, 1 and nothing."""
    relation = invariants.linear([[1, 1, 1, 1, 0, 0], [0, 0, 0, 0, 1, 1]]).protect(0.8, 1)
    queries = np.array([[4.0, 0, 0, 0, 0, 0], [1, 2, 0, -1, 3, 0], [2, 0, 0, 0, 0, 4], [0, 1, 1, 0, 1, 0], [1, 1, 1, 1, 0, 0]])
    made = design(Problem(Workload(queries), relation, "zcdp"), "lattice_gaussian", shape="l2").mechanism
    bound, exact = sliced_tails(made.law, "gaussian", queries), summed_tails(made.law, "gaussian", queries)
    assert bound is not None and exact is not None
    for k, step in enumerate((4, 1, 2, 1, 0)):
        places = np.searchsorted(exact.sizes[k], bound.sizes[k] + 1e-9) - 1
        require_near(bound, k, step, exact.beyond[k][places])


def test_intervals_of_a_table_need_no_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells of a table of 36, multiples, and sums: no draw is made for margins, which hold the share of 20,000 draws that they
    say, but for 5 standard deviations of it, and no narrower ones do."""
    table = invariants.margins((6, 6)).protect(1.0, adjacency=2)
    sums = np.random.default_rng(0).integers(-1, 3, (3, 36)).astype(float)
    steps = np.array([1, 1, 3, 1, 1, 1])
    asked = Workload(np.vstack([np.eye(36)[:2], 3 * np.eye(36)[7:8], sums]))
    made = design(Problem(asked, table), "lattice_laplace", shape="l2").mechanism
    noise = np.abs(made.noise_in_answers(20_000, SeededEntropy(5)))
    monkeypatch.setattr(type(made), "noise_in_answers", lambda *given: pytest.fail("drawn"))
    for level in (0.5, 0.95, 0.99):
        margins, law = reach_of_answers(made, level, False)
        slack = 5 * (level * (1 - level) / 20_000) ** 0.5
        assert law == OF_SLICES and ((noise <= margins).mean(axis=0) >= level - slack).all()
        assert ((noise <= margins - steps).mean(axis=0) <= level + slack).all()


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

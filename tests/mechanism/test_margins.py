"""Margins of single answers: exact laws summed up, closed forms of continuous laws, and frequencies of draws."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
from scipy.stats import binom, gamma, norm

from designer import AdditiveMechanism, InvalidProblem, Problem, Workload, design, invariants, metrics
from designer.certificate.frozen import summary_lines
from designer.certificate.norms import Norm, weighted_l1
from designer.mechanism import accuracy
from designer.mechanism.additive import measured_matrix
from designer.mechanism.interface import Mechanism, reach_of_answers
from designer.mechanism.noise import Grid
from designer.sampling.integer_margins import gaussian_margin, laplace_margin
from solvers.programs import tails
from solvers.programs.tails import ConeLaw, LaplaceLaw, cone_margin, symmetric_margin
from tests.oracles.goodness_of_fit import FAILURE_PROBABILITY

DRAWS = 20_000


def summed(masses: dict[int, Fraction | float], beyond: float) -> int:
    """The least m with P(|z| > m) <= beyond, by adding up."""
    total = float(sum(masses.values()))
    m = 0
    while float(sum(p for z, p in masses.items() if abs(z) > m)) / total > beyond:
        m += 1
    return m


@pytest.mark.parametrize("rate", [5.0, 1.0, 0.3, 0.05])
@pytest.mark.parametrize("beyond", [0.5, 0.05, 0.001])
def test_integer_laplace_margins_are_those_of_the_law(rate: float, beyond: float) -> None:
    assert laplace_margin(rate, beyond) == summed({z: math.exp(-rate * abs(z)) for z in range(-900, 901)}, beyond)


@pytest.mark.parametrize("variance", [0.05, 0.6, 4.0, 130.0])
@pytest.mark.parametrize("beyond", [0.5, 0.05, 0.001])
def test_integer_gaussian_margins_are_those_of_the_law(variance: float, beyond: float) -> None:
    assert gaussian_margin(variance, beyond) == summed({z: math.exp(-z * z / (2 * variance)) for z in range(-300, 301)}, beyond)


def test_gaussian_margins_on_both_sides_of_what_is_summed_agree() -> None:
    below, above = gaussian_margin(1e6 * (1 - 1e-9), 0.05), gaussian_margin(1e6, 0.05)
    assert below <= above <= below + 1.5
    assert above == pytest.approx(norm.isf(0.025) * 1e3, abs=1)


@pytest.mark.parametrize("power", [1.0, 1.5, 2.5])
def test_the_law_of_one_coordinate_of_a_sphere(power: float) -> None:
    """`root(2 G) N` with G from Gamma(power): the tail by quadrature over G."""
    t = symmetric_margin(LaplaceLaw(np.ones(1), power), 0.05)
    shares = (np.arange(50_000) + 0.5) / 50_000
    tail = 2 * norm.sf(t / np.sqrt(2 * gamma.isf(shares, power))).mean()
    assert tail == pytest.approx(0.05, rel=2e-4)


def test_sums_of_laplace_noise_against_closed_forms() -> None:
    """Two equal scales: `P(|x| > t) = (1 + t / 2) e^-t`; two different ones: partial fractions."""
    t = symmetric_margin(LaplaceLaw(np.ones(2)), 0.05)
    assert (1 + t / 2) * math.exp(-t) == pytest.approx(0.05, rel=1e-7)
    a, b = 1.0, 0.3
    t = symmetric_margin(LaplaceLaw(np.array([a, -b])), 0.01)
    assert (a * a * math.exp(-t / a) - b * b * math.exp(-t / b)) / (a * a - b * b) == pytest.approx(0.01, rel=1e-7)


def test_cones_of_one_height_are_laplace() -> None:
    law = ConeLaw(np.array([0.25, 0.75]), np.array([[1.0, -1.0], [1.0, -1.0]]))
    assert symmetric_margin(law, 0.05) == pytest.approx(symmetric_margin(LaplaceLaw(np.ones(1)), 0.05), rel=1e-7)


@pytest.mark.parametrize("narrow", [1e-9, 1e-6, 1e-3, 0.015, 0.02, 0.3])
@pytest.mark.parametrize("beyond", [0.3, 0.05])
def test_cones_beside_an_axis_do_not_widen_the_margin(narrow: float, beyond: float) -> None:
    """Laplace noise of scale 1, and with probability 1/10 of a scale near 0, as where the vertices of a body crowd around the
    axis: `P(|x| > t) = 0.9 e^-t + 0.1 e^(-t / scale)`."""
    law = ConeLaw(np.array([0.9, 0.1]), np.array([[1.0, -1.0], [narrow, -narrow]]))
    t = symmetric_margin(law, beyond)
    assert 0.9 * math.exp(-t) + 0.1 * math.exp(-t / narrow) == pytest.approx(beyond, rel=1e-5)


@pytest.mark.parametrize("narrow", [1e-6, 0.02, 0.03])
def test_the_tail_of_narrow_cones_is_bounded(narrow: float) -> None:
    """Sums of two exponentials of height h: `P(x > t) = (1 + t / h) e^(-t / h)`."""
    law = ConeLaw(np.array([0.7, 0.3]), np.array([[1.0, 1.0], [narrow, narrow]]))
    assert law.mass == 0.7
    for t in (narrow / 2, narrow, 3 * narrow, 10 * narrow):
        assert 0.3 * (1 + t / narrow) * math.exp(-t / narrow) <= law.narrow_tail(t) <= 0.3


@pytest.mark.parametrize("narrow", [1e-6, 0.02, 0.03])
def test_a_margin_that_narrow_cones_decide_is_not_too_small(narrow: float) -> None:
    """As above, but of scale 1 with probability 1/100 only: the margin is where the narrow part falls off, or beyond."""
    law = ConeLaw(np.array([0.01, 0.99]), np.array([[1.0, -1.0], [narrow, -narrow]]))
    t = symmetric_margin(law, 0.05)
    assert 0.01 * math.exp(-t) + 0.99 * math.exp(-t / narrow) <= 0.05 and t <= 12 * narrow


@pytest.mark.parametrize(("wide", "narrow"), [(0.9, 1e-6), (0.9, 0.02), (0.01, 0.03), (0.2, 0.03), (0.2, 0.3)])
def test_a_margin_of_cones_is_sharp_whether_narrow_ones_are_few_or_most(wide: float, narrow: float) -> None:
    """Laplace noise of scale 1 with probability `wide`, else of scale `narrow`: the tail at the margin is what is asked for."""
    t = cone_margin(np.array([wide, 1 - wide]), np.array([[1.0, -1.0], [narrow, -narrow]]), 0.05)
    assert wide * math.exp(-t) + (1 - wide) * math.exp(-t / narrow) == pytest.approx(0.05, rel=1e-3)


def share_beyond(mechanism: Mechanism, confidence: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How many of `DRAWS` draws lie beyond the margin of each answer, how many beyond a step less, and what gets noise."""
    drawn, margins = np.abs(np.asarray(mechanism.simulate(DRAWS, seed=7))), mechanism.margins(confidence)
    assert isinstance(mechanism, AdditiveMechanism)
    steps = mechanism.grid.steps if mechanism.reconstruction is None else np.zeros(len(margins))
    return (drawn > margins).sum(axis=0), (drawn > margins - steps).sum(axis=0), mechanism.query_variances() > 0


# Where no quantile is known the margin is a bound, and less lies beyond it.
BOUNDS = {("margins", "box")}


@pytest.mark.parametrize(
    "family", ["laplace", "projected_laplace", "k_norm", "ellipsoid", "box", "gaussian", "diagonal_gaussian"]
)
@pytest.mark.parametrize("kind", ["prefix", "margins"])
def test_margins_are_those_of_the_noise_that_is_drawn(family: str, kind: str) -> None:
    """Binomial numbers beyond, two-sided at `FAILURE_PROBABILITY` for each query; only from above for bounds."""
    relation = metrics.uniform(4, 1.0) if kind == "prefix" else invariants.margins((3, 3)).protect(epsilon=1.0)
    workload = Workload.prefix(4) if kind == "prefix" else Workload.identity(9)
    notion = "zcdp" if "gaussian" in family else "pure"
    if kind == "prefix" and family == "projected_laplace":
        pytest.skip("needs an invariant")
    mechanism = design(Problem(workload, relation, notion), family).mechanism
    for confidence in (0.95, 0.6) if family != "k_norm" else (0.95,):
        beyond, nearly, noisy = share_beyond(mechanism, confidence)
        assert (beyond[~noisy] == 0).all()
        assert (beyond[noisy] <= binom.isf(FAILURE_PROBABILITY, DRAWS, 1 - confidence)).all()
        if (kind, family) not in BOUNDS:
            assert (nearly[noisy] >= binom.ppf(FAILURE_PROBABILITY, DRAWS, 1 - confidence)).all()


def test_coarse_grids_have_margins_on_the_safe_side() -> None:
    """Steps as wide as the noise, in sums of two coordinates: the exact tail from all pairs of integers."""
    workload = Workload([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    made = AdditiveMechanism(
        "laplace", workload, metrics.uniform(2, 4.0), weighted_l1([1.0, 1.0]), Grid((0, 0)), "exponential",
        np.eye(2), np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]),
    )  # fmt: skip
    z = np.arange(-60, 61)
    masses = np.exp(-np.abs(z[:, None]) - np.abs(z))
    masses /= masses.sum()
    t = made.margins(0.95)
    assert t[0] == t[1] == laplace_margin(1.0, 0.05)
    exact = min(m for m in range(60) if masses[np.abs(z[:, None] + z) > m].sum() <= 0.05)
    assert exact <= t[2] <= exact + 1.5


def test_chebyshev_serves_where_nothing_better_is_known() -> None:
    """Several coordinates of a box, put together."""
    made = AdditiveMechanism(
        "box", Workload([[1.0, 1.0]]), metrics.uniform(2, 2.0), Norm(np.ones(2), "linf"), Grid((-40, -40)), "exponential",
        np.eye(2), np.array([[1.0, 1.0]]),
    )  # fmt: skip
    reach = 2 * gamma.isf(0.05, 2)
    chebyshev = math.sqrt(made.query_variances()[0] / 0.05)
    proven = made._proven_margins(0.95)[0]
    assert proven == pytest.approx(min(reach, chebyshev), rel=1e-6)
    assert (Mechanism._proven_margins(made, 0.95) or np.zeros(1))[0] == pytest.approx(chebyshev)
    assert made.margins()[0] == reach_of_answers(made, 0.95, False)[0][0] < proven  # draws show less


@pytest.mark.parametrize("confidence", [0.0, 1.0, 1.5, -0.1, float("nan"), "0.95"])
def test_a_confidence_is_a_probability(confidence: float) -> None:
    made = design(Problem(Workload.identity(2), metrics.uniform(2, 1.0)), "laplace").mechanism
    with pytest.raises(InvalidProblem, match="confidence"):
        made.margins(confidence)


@pytest.mark.parametrize(("family", "notion"), [("laplace", "pure"), ("box", "pure"), ("isotropic_gaussian", "zcdp")])
def test_answers_that_are_the_coordinates_have_the_margins_of_a_written_identity(family: str, notion: str) -> None:
    """To the last bit: the short way without matrices changes no number."""
    made = design(Problem(Workload.identity(3), metrics.add_remove(3, 0.7), notion=notion), family).mechanism
    assert isinstance(made, AdditiveMechanism) and made.reconstruction is None
    written = replace(made, measured=measured_matrix(made), reconstruction=np.eye(3))
    for level in (0.5, 0.95):
        assert made.margins(level).tolist() == written.margins(level).tolist()
    assert made._noise_facts == written._noise_facts


@pytest.mark.parametrize("deviation", [2.0, 9.0, 40.0])
@pytest.mark.parametrize("beyond", [0.3, 0.05, 1e-3])
def test_margins_of_rounded_normal_noise_are_those_of_its_law(deviation: float, beyond: float) -> None:
    """Normal noise of one answer, rounded to whole numbers: `P(|x| > t) = 2 Phi(-(t + 1/2) / deviation)` at whole t. The margin
    has at most that tail, and the number three below it has more."""
    of_one = Norm(np.array([1 / deviation]), "l2")
    relation = metrics.uniform(2, 1e6)
    made = AdditiveMechanism("custom", Workload([[0, 1]]), relation, of_one, Grid((0,)), "rounded_gaussian", delta=0.01)
    (t,) = made.margins(1 - beyond)

    def tail(at: int) -> float:
        return 2 * NormalDist().cdf(-(at + 0.5) / deviation)

    assert tail(math.floor(t)) <= beyond < tail(math.ceil(t) - 3)


def test_an_answer_without_noise_says_why_on_its_line() -> None:
    """The total of a public number of records is moved by no protected change; the other answer is."""
    made = design(Problem(Workload([[1, 1], [1, 0]], ["total", "first"]), metrics.uniform(2, 1.0)), "laplace").mechanism
    lines = [line for line in summary_lines(made) if line.startswith(("  total", "  first"))]
    assert len(lines) == 2
    assert lines[0].split(maxsplit=1)[1].strip() == "published exactly: no protected change moves it"
    assert "noise of standard deviation" in lines[1]


def test_a_row_that_does_not_fit_its_step_is_named() -> None:
    with pytest.raises(InvalidProblem, match=r"grid\.exponents\[1\]: -50 makes entries beyond"):
        Grid((0, -50, 0)).integers(np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 9.0], [1.0, 1.0, 1.0]]))


def test_equal_laws_of_sums_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The counts of 4 groups of 15 cells and the cells have three laws, and margins are those of every term by itself."""
    groups = [f"g{k // 15}" for k in range(60)]
    workload = Workload.nested(60, {"group": groups, "cell": [f"c{k}" for k in range(60)]})
    made = design(Problem(workload, metrics.add_remove(60, 1.0)), "hierarchy").mechanism
    rows = made.noise.rows(made.reconstruction)
    every = [symmetric_margin(LaplaceLaw((row / made.norm.map)[row != 0]), 0.05) for row in rows[[0, 1, 5]]]
    seen: list[int] = []

    def counted(law: LaplaceLaw, beyond: float) -> float:
        seen.append(len(law.scales))
        return symmetric_margin(law, beyond)

    monkeypatch.setattr(tails, "symmetric_margin", counted)
    margin = accuracy._continuous(made, rows)
    assert margin is not None
    found = [margin(row, 0.05) for row in rows]
    assert len(seen) == 3 and max(seen) <= 4
    assert np.array(found)[[0, 1, 5]] == pytest.approx(every, rel=1e-9)
    assert (np.array(found)[[0, 1, 5]] >= every).all()


def test_margins_of_sums_on_a_grid_that_is_far_coarser_than_the_noise() -> None:
    """The tail that is left for the continuous law is then below all floats; the noise is 0 but for a share of e^-250."""
    weights = np.full(4, 250.0)
    cells = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0]])
    back = cells @ np.linalg.pinv(cells)
    relation, grid = metrics.add_remove(2, 1000.0), Grid((0,) * 4)
    made = AdditiveMechanism("custom", Workload(cells), relation, weighted_l1(weights), grid, reconstruction=back)
    assert made.margins(0.95).tolist() == [0.0] * 4


@pytest.mark.parametrize("budget", [1.0, 0.3, 6.0])
def test_margins_of_whole_sums_of_few_counts_are_those_of_the_convolved_law_and_need_no_draws(budget: float) -> None:
    queries = np.vstack([np.eye(6), np.tril(np.ones((6, 6)))])
    made = design(Problem(Workload(queries), metrics.add_remove(6, budget)), "strategy_geometric", search=False).mechanism
    margins, law = reach_of_answers(made, 0.95, False)
    rows = np.rint(made.noise.rows(made.reconstruction) * made.noise.steps[made.noise.heard]).astype(int)
    assert (abs(rows).sum(axis=1) == queries.sum(axis=1)).all() and "draws" not in law
    (rate,) = set((made.norm.map * made.noise.steps)[made.noise.heard].tolist())
    single = np.exp(-rate * np.abs(np.arange(-400, 401)))
    for row, margin in zip(rows, margins, strict=True):
        masses = np.ones(1)
        for _ in range(abs(row).sum()):
            masses = np.convolve(masses, single / single.sum())
        assert margin == summed(dict(enumerate(masses.tolist(), -(len(masses) // 2))), 0.05)

"""The noise of every family: its law on coarse grids, enumerated from the norm alone,
and its moments against closed forms and draws."""

from __future__ import annotations

import functools
import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, stats

from designer import Problem, Workload, design, metrics
from designer.certificate.certificate import scale_up_to_private
from designer.certificate.norms import Gauge, Norm
from designer.certificate.sensitivity import SensitivitySet
from designer.mechanism.additive import AdditiveMechanism, measured_matrix
from designer.mechanism.bounds import joint_noise
from designer.mechanism.noise import Grid, noise_for
from designer.relations.metrics.presence import AddRemove
from designer.sampling.entropy import SeededEntropy
from solvers.programs.tails import mean_absolute
from tests.oracles.goodness_of_fit import FAILURE_PROBABILITY, p_value
from tests.oracles.shallow import shallow

PURE = ("laplace", "k_norm", "ellipsoid", "box", "l2_ball", "strategy_laplace", "laplace_joint")
GAUSSIAN = ("gaussian", "diagonal_gaussian", "isotropic_gaussian")
DRAWS = 20_000

# Two queries; two points of the plane with a budget each way; add/remove with two budgets; a single query over four places.
PROBLEMS = {
    "plane": (Workload([[1.0, 0.0, 2.0], [0.0, 1.0, 1.0]]), metrics.euclidean([[0.0, 0.0], [0.5, 0.0], [0.0, 1.0]])),
    "counts": (Workload([[1.0, 1.0], [0.0, 1.0]]), metrics.add_remove(2, [0.6, 0.9])),
    "single": (Workload([[0.0, 1.0, 2.0, 4.0]]), metrics.euclidean([[0.0], [0.3], [1.0], [1.5]])),
}


def problem_for(family: str, name: str) -> Problem:
    workload, relation = PROBLEMS[name]
    return Problem(workload, relation, "zcdp" if family in GAUSSIAN else "pure", records=5.0)


@functools.cache
def coarse(family: str, name: str, fineness: float = 0.5) -> AdditiveMechanism:
    """The design of a family with steps of about `fineness` noise scales; the rounded differences ask for another repair."""
    fine = design(problem_for(family, name), family, **shallow(family)).mechanism
    scales = np.zeros(len(fine.grid.exponents))
    scales[fine.noise.heard] = np.sqrt(fine.noise.variances(None)[fine.noise.heard])
    exponents = tuple(
        int(np.floor(np.log2(fineness * scale))) if scale else e for scale, e in zip(scales, fine.grid.exponents, strict=True)
    )
    grid = Grid(exponents)
    on_grid = SensitivitySet.of(grid.values(grid.integers(measured_matrix(fine))), fine.relation)
    norm = fine.norm.divided(scale_up_to_private(on_grid, fine.norm))
    return AdditiveMechanism(
        family, fine.workload, fine.relation, norm, grid, fine.falloff, fine.measured, fine.reconstruction, allow_vacuous=True
    )


def lattice(made: AdditiveMechanism, radius: float) -> np.ndarray:
    """All integer vectors of the heard coordinates whose norm may be below `radius`: a box around the ball."""
    heard = made.noise.heard
    factor = made.norm.factor
    # |z_k| <= |row k of the pseudo-inverse| times the Euclidean length of the image, which is below sqrt(rows)
    # times any p-norm >= l2's.
    widths = np.abs(np.linalg.pinv(factor)) @ np.full(len(factor), radius)
    limits = [int(np.ceil(w / s)) for w, s in zip(widths, made.grid.steps[heard], strict=True)]
    assert np.prod([2.0 * m + 1 for m in limits]) < 3e6
    return np.array(list(itertools.product(*[range(-m, m + 1) for m in limits])))


def logarithm(made: AdditiveMechanism, z: np.ndarray) -> np.ndarray:
    """The log of the unnormalised mass, from the norm's map alone: no code of the samplers or of `Norm` itself."""
    heard = made.noise.heard
    images = (z * made.grid.steps[heard]) @ made.norm.factor.T
    order = {"l1": 1, "l2": 2, "linf": np.inf}[made.norm.order]
    length = np.linalg.norm(images, ord=order, axis=1)
    return -length if made.falloff == "exponential" else -(length**2) / 2


def weights(made: AdditiveMechanism, z: np.ndarray) -> np.ndarray:
    """The probabilities of the points of a lattice that holds all but a negligible mass."""
    mass = np.exp(logarithm(made, z))
    return mass / mass.sum()


def shifts(made: AdditiveMechanism) -> list[tuple[np.ndarray, float]]:
    """Protected differences in steps of the heard coordinates, from the frozen integers, with their budgets."""
    points = made.relation.points(made.integers.T)
    alone = isinstance(made.relation, AddRemove)
    result = []
    for i, j in itertools.combinations(range(len(points)), 2):
        if alone and j < made.relation.size:
            continue
        budget = made.relation.exact_budget(i, j)
        u = points[i] - points[j]
        assert budget is not None and not np.delete(u, made.noise.heard).any()
        result += [(u[made.noise.heard], float(budget)), (-u[made.noise.heard], float(budget))]
    return result


CASES = [(family, name) for family in PURE for name in ("plane", "counts")] + [
    ("laplace_joint", "single"),
    ("k_norm", "single"),
]


@pytest.mark.parametrize(("family", "name"), CASES)
def test_likelihood_ratios_of_pure_noise_are_within_the_budget_everywhere(family: str, name: str) -> None:
    made = coarse(family, name)
    z = lattice(made, 40.0)
    mass = logarithm(made, z)
    tightest = 0.0
    for u, budget in shifts(made):
        ratios = mass - logarithm(made, z - u)
        assert ratios.max() <= budget * (1 + 1e-9)
        tightest = max(tightest, float(ratios.max() / budget))
    assert tightest == pytest.approx(float(made.privacy.worst_ratio), rel=1e-9)  # type: ignore[arg-type]


@pytest.mark.parametrize(("family", "name"), [(f, n) for f in GAUSSIAN for n in PROBLEMS])
@pytest.mark.parametrize("fineness", [0.5, 1.5])
def test_renyi_divergences_of_gaussian_noise_are_within_the_budget(family: str, name: str, fineness: float) -> None:
    made = coarse(family, name, fineness)
    z = lattice(made, 15.0)
    mass = logarithm(made, z)
    tightest = 0.0
    for u, budget in shifts(made):
        moved = logarithm(made, z - u)
        for order in (1.01, 1.5, 2.0, 3.0, 6.0):
            # Both laws have the same normalising constant, because u lies on the lattice.
            divergence = np.log(np.exp(order * moved + (1 - order) * mass).sum() / np.exp(mass).sum()) / (order - 1)
            assert divergence <= order * budget**2 / 2 * (1 + 1e-9) + 1e-12
            tightest = max(tightest, 2 * divergence / (order * budget**2))
    assert tightest == pytest.approx(float(made.privacy.worst_ratio) ** 2, rel=1e-9)  # type: ignore[arg-type]


@pytest.mark.parametrize(("family", "name"), [*CASES, *((f, "plane") for f in GAUSSIAN)])
def test_draws_follow_the_enumerated_law_and_not_one_a_hundredth_wider(family: str, name: str) -> None:
    made = coarse(family, name)
    z = lattice(made, 12.0 if made.falloff == "gaussian" else 32.0)
    drawn = made.noise.draw(DRAWS, SeededEntropy(3))
    assert not np.delete(drawn, made.noise.heard, axis=1).any()
    index = {tuple(row): i for i, row in enumerate(z.tolist())}
    counts = np.zeros(len(z), dtype=np.int64)
    np.add.at(counts, [index[tuple(row)] for row in drawn[:, made.noise.heard].tolist()], 1)
    assert p_value(counts, weights(made, z)) > FAILURE_PROBABILITY


@pytest.mark.parametrize("family", [*PURE, *GAUSSIAN])
def test_a_scale_one_hundredth_off_is_noticed(family: str) -> None:
    """The mean norm of 2^18 draws of the sampler against the enumerated law, right and with noise 1 % wider."""
    made = coarse(family, "plane")
    z = lattice(made, 12.0 if made.falloff == "gaussian" else 32.0)
    drawn = made.noise.draw(2**18, SeededEntropy(4))[:, made.noise.heard]
    limit = stats.norm.isf(FAILURE_PROBABILITY / 2)

    def deviation(law: AdditiveMechanism) -> float:
        weight, lengths = weights(law, z), logarithm(law, z)
        mean = float(weight @ lengths)
        spread = np.sqrt(weight @ (lengths - mean) ** 2 / len(drawn))
        return float(abs(logarithm(law, drawn).mean() - mean) / spread)

    assert deviation(made) < limit
    wider = AdditiveMechanism(
        made.family,
        made.workload,
        made.relation,
        made.norm.divided(1.01),
        made.grid,
        made.falloff,
        made.measured,
        made.reconstruction,
    )
    assert deviation(wider) > limit


# A square, a cross-polytope and a hexagon: two points u / b of each with their opposites,
# area and E[U U'] of the uniform law on it.
BODIES = {
    "square": ([[1.0, 1.0], [1.0, -1.0]], [[1 / 3, 0.0], [0.0, 1 / 3]]),
    "cross": ([[1.0, 0.0], [0.0, 1.0]], [[1 / 6, 0.0], [0.0, 1 / 6]]),
    # x^2 over the hexagon |x|, |y|, |x - y| <= 1: of its area 3, 2 x 1/3 each on the two unit squares,
    # and 1/12 on each of two triangles.
    "hexagon": ([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], [[5 / 18, 5 / 36], [5 / 36, 5 / 18]]),
}


@pytest.mark.parametrize("name", BODIES)
def test_k_norm_moments_of_hand_computed_bodies(name: str) -> None:
    """The covariance is (s + 1)(s + 2) E[U U'], with r U', r from Gamma(s + 1): 12 times the second moment in the plane."""
    vectors, moment = BODIES[name]
    gauge = Gauge(np.array(vectors), np.ones(len(vectors)))
    noise = noise_for(gauge, Grid((-40, -40)), "exponential")
    assert noise.heard_covariance == pytest.approx(12 * np.array(moment), rel=1e-12)
    drawn = noise.draw(DRAWS, SeededEntropy(5)) * 2.0**-40
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -2.0]])
    assert_moments(drawn @ rows.T, noise.variances(rows), noise.mean_absolutes(rows))


def assert_moments(drawn: np.ndarray, variances: np.ndarray, absolutes: np.ndarray) -> None:
    """Means of squares and absolute values within the normal bound of the declared failure probability (2 K tests share it)."""
    limit = stats.norm.isf(FAILURE_PROBABILITY / 2 / (2 * drawn.shape[1]))
    for values, expected in ((drawn**2, variances), (np.abs(drawn), absolutes)):
        error = limit * values.std(axis=0) / np.sqrt(len(values))
        assert (np.abs(values.mean(axis=0) - expected) <= error + 1e-9 * expected).all()


@pytest.mark.parametrize("family", [*PURE, *GAUSSIAN])
@pytest.mark.parametrize("name", ["plane", "total public", "ranges"])
def test_moments_agree_with_draws(family: str, name: str) -> None:
    workload, relation = {
        **PROBLEMS,
        "total public": (Workload.identity(3), metrics.uniform(3, 0.8)),
        "ranges": (Workload.all_ranges(3), metrics.add_remove(3, [0.5, 1.0, 2.0])),
    }[name]
    notion = "zcdp" if family in GAUSSIAN else "pure"
    made = design(Problem(workload, relation, notion, records=50.0), family, **shallow(family)).mechanism
    drawn = np.asarray(made.simulate(DRAWS, seed=6))
    assert_moments(drawn, made.query_variances(), made.query_mean_absolutes())
    covariance = made.covariance()
    assert covariance.diagonal() == pytest.approx(made.query_variances(), rel=1e-9)
    # Variances of all sums and differences of two answers fix the off-diagonal entries.
    pairs = np.array(
        [
            [1.0 * (k == i) + sign * (k == j) for k in range(len(covariance))]
            for i in range(len(covariance))
            for j in range(i)
            for sign in (1, -1)
        ]
    )
    mixed = pairs @ covariance @ pairs.T
    limit = stats.norm.isf(FAILURE_PROBABILITY / 2 / len(pairs))
    squares = (drawn @ pairs.T) ** 2
    off = np.abs(squares.mean(axis=0) - mixed.diagonal())
    assert (off <= limit * squares.std(axis=0) / np.sqrt(DRAWS) + 1e-9 * covariance.max()).all()


@pytest.mark.parametrize("heights", [[1.0, -1.0], [3.0, 0.5, -2.0], [2.0, 2.0, -2.0, -2.0], [1.0, 0.0, -5.0], [-1.0, -2.0]])
def test_mean_absolute_against_numerical_integration(heights: list[float]) -> None:
    """E|X| = (2 / pi) int_0^oo (1 - Re phi(w)) / w^2 dw with phi(w) = prod 1 / (1 - i w h)."""
    h = np.array(heights)

    def integrand(w: float) -> float:
        return float((1 - np.real(np.prod(1 / (1 - 1j * w * h)))) / w**2) if w > 1e-5 else float((h @ h + h.sum() ** 2) / 2)

    value = sum(integrate.quad(integrand, a, b, limit=400)[0] for a, b in ((0, 1), (1, np.inf)))
    assert mean_absolute(h[None])[0] == pytest.approx(2 / np.pi * value, rel=1e-7)


def test_mean_absolute_of_many_exponentials_against_simulation() -> None:
    h = np.random.default_rng(1).normal(size=(3, 60))
    t = np.random.default_rng(2).exponential(size=(40_000, 60))
    values = np.abs(t @ h.T)
    error = stats.norm.isf(FAILURE_PROBABILITY / 6) * values.std(axis=0) / 200
    assert (np.abs(values.mean(axis=0) - mean_absolute(h)) < error).all()


@pytest.mark.parametrize("family", ["k_norm", "ellipsoid", "box", "gaussian", "strategy_laplace"])
@pytest.mark.parametrize(("name", "fineness"), [("counts", 0.125), ("plane", 0.5)])
def test_error_bounds_hold_on_coarse_grids(family: str, name: str, fineness: float) -> None:
    """Against the enumerated law: no moment and no tail above its bound."""
    made = coarse(family, name, fineness)
    z = lattice(made, 12.0 if made.falloff == "gaussian" else 32.0)
    weight = weights(made, z)
    answers = np.abs(z * made.grid.steps[made.noise.heard] @ made.noise.rows(made.reconstruction).T)
    for delta in (0.5, 0.05, 1e-3):
        total, l1, l2, linf, tail = joint_noise(made, delta)
        assert weight @ (answers**2).sum(axis=1) <= total
        assert weight @ answers.sum(axis=1) <= l1
        assert weight @ np.sqrt((answers**2).sum(axis=1)) <= l2
        assert weight @ answers.max(axis=1) <= linf
        assert weight[answers.max(axis=1) > tail].sum() <= delta


@pytest.mark.parametrize("family", ["laplace", "diagonal_gaussian"])
@pytest.mark.parametrize("exponent", [600, 945, 1000])
def test_steps_far_beyond_the_noise_have_variance_0_and_not_nan(family: str, exponent: int) -> None:
    norm = Norm(np.array([1.0, 1.0]), "l1" if family == "laplace" else "l2")
    noise = noise_for(norm, Grid((exponent, -40)), "exponential" if family == "laplace" else "gaussian")
    variances = noise.variances(None)
    assert variances[0] == 0.0 and np.isfinite(variances[1])
    assert np.isfinite(noise.mean_absolutes(None)).all()


@pytest.mark.parametrize("scale", [5e-324, 1e-310, 1e308])
def test_gauges_beyond_the_floats_are_refused(scale: float) -> None:
    unit = 1.0 if scale < 1 else 1e20
    with pytest.raises(ValueError, match="beyond the floats"):
        Gauge(unit * np.eye(2), np.ones(2), scale)
    with pytest.raises(ValueError, match="beyond the floats"):
        Gauge(unit * np.eye(2), np.ones(2)).divided(scale)


def test_a_mechanism_refuses_matrix_norms_whose_squares_overflow() -> None:
    with pytest.raises(ValueError, match="choose units"):
        AdditiveMechanism(
            "k_norm", Workload.identity(2), metrics.add_remove(2, 1.0), Gauge(np.eye(2), np.ones(2), 1e200), Grid((0, 0))
        )


def test_a_divided_gauge_is_the_gauge_of_the_grown_body() -> None:
    gauge = Gauge(np.array(BODIES["hexagon"][0]), np.array([1.0, 2.0, 0.5]), 1.5)
    wider = gauge.divided(2.0)
    u = [Fraction(3, 7), Fraction(-2, 5)]
    assert wider.exact(u) == gauge.exact(u) / 2 == Gauge(gauge.differences, gauge.budgets, 3.0).exact(u)  # type: ignore[operator]
    assert wider.scale == 3.0 and wider.map == pytest.approx(gauge.map / 2)

"""No bound lies above a value: every note of optimality speaks of a law that its own value has, or says of which it speaks."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from designer import MarginalWorkload, Presence, Problem, StructuredWorkload, Workload, compare, design, metrics
from designer.base.errors import DesignFailed
from designer.designing.design_result import Design
from designer.designing.listed import known_families
from designer.domains.marginals_noise import mean_variances
from designer.domains.marginals_plan import design_marginals
from designer.domains.products_plan import design_structured
from designer.mechanism.interface import Mechanism
from designer.problem.domain import Domain
from designer.sampling.integer_gaussian import DiscreteGaussian

BUDGETS = (0.25, 1.0, 2.0, 5.0, 20.0)
CONTINUOUS = "of continuous noise of this kind"
OWN_LAWS = (
    CONTINUOUS,
    "of independent Laplace noise on the multiples of each query's step",
    "of independent Gaussian noise on the multiples of each measured coordinate's step",
)
SAID = (*OWN_LAWS, "on those multiples")
ASKED = {
    "counts": np.eye(3),
    "running totals": np.tril(np.ones((4, 4))),
    "multiples": np.array([[6.0, 4.0, 0.0], [1.0, 3.0, 6.0]]),
}
QUICK = ("laplace", "gaussian", "ellipsoid", "strategy_laplace", "strategy_gaussian", "diagonal_gaussian", "staircase")


@pytest.mark.parametrize("budgets", [BUDGETS[1:4:2], pytest.param(BUDGETS, marks=pytest.mark.nightly)], ids=["two", "all"])
@pytest.mark.parametrize("notion", ["pure", "zcdp"])
@pytest.mark.parametrize("name", ["counts", "running totals", pytest.param("multiples", marks=pytest.mark.nightly)])
def test_a_claim_that_another_family_undercuts_names_the_law_that_it_speaks_of(
    name: str, notion: str, budgets: tuple[float, ...]
) -> None:
    """All families that take a moment: none crashes, none claims more than it reaches, and a bound that another family is
    below says so."""
    for epsilon in budgets:
        relation = metrics.add_remove(ASKED[name].shape[1], epsilon)
        problem = Problem(Workload(ASKED[name]), relation, notion)  # type: ignore[arg-type]
        made = [made for family in known_families() if family.name in QUICK and (made := _made(problem, family.name))]
        assert len(made) > 1
        least = min(one.loss for one in made)
        for one in made:
            claim = one.optimality
            if claim is not None:
                assert claim.lower_bound <= claim.value * (1 + 1e-12) and claim.value == pytest.approx(one.loss, rel=1e-9)
                assert claim.lower_bound <= least * (1 + 1e-9) or _speaks_of_its_law(claim.objective, notion), (
                    name,
                    epsilon,
                    claim,
                )
            assert one.limit is None or one.limit.value <= least * (1 + 1e-9)


def _speaks_of_its_law(objective: str, notion: str, laws: tuple[str, ...] = OWN_LAWS) -> bool:
    """Does a bound say that it is one of less than all noise that keeps the notion?"""
    return objective.endswith(laws) or (notion != "pure" and " of pure noise on " in objective)


def _made(problem: Problem, family: str) -> Design[Mechanism] | None:
    try:
        return design(problem, family, effort="quick")
    except DesignFailed:
        return None


def test_an_undercut_claim_is_told_so() -> None:
    """Running totals at budget 4: continuous noise in a strategy, and whole-number noise that is below its bound."""
    problem = Problem(Workload(np.eye(1)), metrics.add_remove(1, 4.0))
    strategy, whole = (design(problem, family) for family in ("strategy_laplace", "laplace"))
    assert strategy.optimality is not None and whole.optimality is not None
    assert whole.loss < strategy.optimality.lower_bound and strategy.optimality.objective.endswith(CONTINUOUS)
    assert CONTINUOUS not in whole.optimality.objective
    assert not [row["note"] for row in compare(problem, ["strategy_laplace", "laplace"]).rows if row["loss"] is None]


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("kind", ["identity", "prefix", "ranges"])
@pytest.mark.parametrize("size", [2, 5])
def test_structured_designs_state_bounds_at_every_budget(kind: str, noise: str, size: int) -> None:
    for epsilon, attributes in product(BUDGETS, (1, 2)):
        domain = Domain.of({f"a{k}": size for k in range(attributes)})
        asked = StructuredWorkload.of(domain, [dict.fromkeys(domain.attributes, kind)])
        made = design_structured(asked, Presence(**{"mu" if noise == "gaussian" else "epsilon": epsilon}), noise)  # type: ignore[arg-type]
        claim = made.optimality
        assert claim is not None and 0 < claim.lower_bound <= claim.value == made.error()
        if kind == "identity":  # whole-number noise in every count: what nothing undercuts
            assert claim.gap < 1e-6
            one = 0.5 / math.sinh(epsilon / 2) ** 2 if noise == "laplace" else discrete_variance(epsilon**-2)
            assert made.error() == pytest.approx(one * domain.size, rel=1e-6)


def discrete_variance(variance: float) -> float:
    """By adding up the law."""
    z = np.arange(-400, 401)
    weights = np.exp(-(z**2) / (2 * variance))
    return float((weights * z**2).sum() / weights.sum())


def test_the_share_of_the_continuous_variance_rises_with_the_variance() -> None:
    """What the bounds for whole-number Gaussian noise rest on (docs/theory/structured.md, 4), over five orders of magnitude."""
    variances = np.geomspace(0.01, 50, 400)
    shares = [discrete_variance(v) / v for v in variances]
    assert (np.diff(shares) >= -1e-12).all() and shares[0] < 1e-15 and shares[-1] == pytest.approx(1, abs=1e-12)
    assert np.allclose(DiscreteGaussian(list(map(Fraction, variances))).variance() / variances, shares, rtol=1e-9, atol=0)


@pytest.mark.parametrize("loss", ["squared", "max"])
def test_marginal_designs_state_bounds_at_every_budget(loss: str) -> None:
    domain = Domain.of({"a": 3, "b": 2, "c": 4})
    asked = MarginalWorkload.up_to(domain, 2)
    for epsilon in BUDGETS:
        for protection in (Presence(mu=epsilon), metrics.hamming(domain, [epsilon, 1.0, math.inf])):
            made = design_marginals(asked, protection, loss)  # type: ignore[arg-type]
            claim = made.optimality
            assert claim is not None and 0 < claim.lower_bound <= claim.value == made.error(loss)


@pytest.mark.parametrize("presence", [True, False])
def test_no_plan_of_residuals_goes_below_the_bound(presence: bool) -> None:
    """Precisions by the thousand, drawn at random and scaled to the budget, at budgets where the integers show."""
    generator = np.random.default_rng(26)
    domain = Domain.of({"a": 3, "b": 2})
    asked = MarginalWorkload.up_to(domain, 2)
    for epsilon in (1.5, 3.0, 5.0):
        protection = Presence(mu=epsilon) if presence else metrics.hamming(domain, [epsilon, epsilon / 2])
        made = design_marginals(asked, protection)
        assert made.optimality is not None and not made.noise.wide
        for scale in np.exp(generator.normal(size=(300, len(made.precisions)))):
            precisions = np.where(np.isinf(made.precisions), np.inf, made.precisions * scale)
            worst = max(float(change.load(precisions)) for change in made.changes)
            means = asked.cell_variances @ mean_variances(asked, precisions / worst)
            assert float((asked.weights * means) @ asked.cells) >= made.optimality.lower_bound


def test_mean_variances_are_those_of_the_cells() -> None:
    domain = Domain.of({"a": 4, "b": 3})
    made = design_marginals(MarginalWorkload.up_to(domain, 2), Presence(mu=3.0))
    by_cells = sum(float(made.variances(names).sum()) for names in (("a",), ("b",), ("a", "b")))
    assert made.error() == pytest.approx(by_cells, rel=1e-12) and not made.noise.wide


@pytest.mark.parametrize("attributes", [13, 16])
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_many_two_valued_attributes_have_a_design(attributes: int, noise: str) -> None:
    domain = Domain.of({f"a{k}": 2 for k in range(attributes)})
    asked = StructuredWorkload.of(domain, [dict.fromkeys(domain.attributes, "identity")])
    made = design_structured(asked, Presence(**{"mu" if noise == "gaussian" else "epsilon": 1.0}), noise)  # type: ignore[arg-type]
    assert made.privacy.holds and made.optimality is not None and made.optimality.gap < 1e-5


def law(parameter: float) -> tuple[np.ndarray, np.ndarray]:
    """The discrete Gaussian with this parameter, written out."""
    z = np.arange(-60, 61)
    weights = np.exp(-(z**2) / (2 * parameter))
    return z, weights / weights.sum()


@pytest.mark.parametrize("family", ["diagonal_gaussian", "gaussian"])
@pytest.mark.parametrize(("row", "unit"), [((1.0, 0.0), 1.0), ((6.0, 0.0), 6.0), ((0.1, 0.0), 0.1), ((3.0, 1.0), 2.0)])
@pytest.mark.parametrize("budget", [1.0, 2.0, 5.0])
def test_gaussian_noise_of_a_query_is_whole_multiples_of_its_unit_and_stated_as_such(
    family: str, row: tuple[float, float], unit: float, budget: float
) -> None:
    """Variance, mean absolute value and privacy, from the law written out; the last row moves by 2, as records are replaced."""
    relation = metrics.uniform(2, budget) if unit == 2 else metrics.add_remove(2, budget)
    made = design(Problem(Workload([list(row)]), relation, "zcdp"), family)
    z, mass = law(1 / budget**2)
    assert made.loss == pytest.approx(unit**2 * (mass @ z**2), rel=1e-9) and made.loss < unit**2 / budget**2
    assert made.mechanism.query_mean_absolutes()[0] == pytest.approx(unit * (mass @ np.abs(z)), rel=1e-9)
    logs = -((z * budget) ** 2) / 2 + math.log(mass[60])
    for order in (1.5, 2.0, 7.0):
        divergence = math.log(np.exp(order * logs[1:] + (1 - order) * logs[:-1]).sum()) / (order - 1)
        assert divergence <= order * budget**2 / 2 * (1 + 1e-9)


@pytest.mark.parametrize("family", ["diagonal_gaussian", "gaussian", "strategy_gaussian"])
def test_noise_that_is_rounded_keeps_its_fine_grid(family: str) -> None:
    """Under (b, delta) whole steps would add a twelfth: the variance is that of the deviation that (b, delta) allows."""
    problem = Problem(Workload(np.eye(2)), metrics.add_remove(2, 8.0), "approximate", delta=1e-3)
    made, plain = design(problem, family), design(problem, "isotropic_gaussian")
    deviation = 1 / plain.mechanism.norm.factor.diagonal()[0]
    assert deviation < 0.6 and made.loss == pytest.approx(2 * deviation**2, rel=1e-6)


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("budget", [0.5, 1.0, 2.0, 3.0, 5.0, 8.0])
def test_the_default_under_zcdp_never_loses_to_whole_number_counts_that_are_added_up(name: str, budget: float) -> None:
    rows = ASKED[name]
    z, mass = law(1 / budget**2)
    folklore = float((mass @ z**2) * (rows**2).sum())
    made = design(Problem(Workload(rows), metrics.add_remove(rows.shape[1], budget), "zcdp"))
    assert made.loss <= folklore * (1 + 1e-9)
    assert budget < 5 or name == "counts" or made.mechanism.family == "strategy_gaussian"


def test_queries_that_no_record_tells_apart_are_counted_once() -> None:
    """80 elements of which the queries see five groups, one of them nothing: four counts are measured where records appear."""
    rows = np.kron(np.hstack([np.tril(np.ones((4, 4))), np.zeros((4, 1))]), np.ones(16))
    appear, replaced = (
        design(Problem(Workload(rows), rule, "zcdp")) for rule in (metrics.add_remove(80, 5.0), metrics.uniform(80, 5.0))
    )
    assert appear.mechanism.family == replaced.mechanism.family == "strategy_gaussian"
    assert appear.mechanism.integers.shape == (4, 80) and replaced.mechanism.integers[:5].sum() == 80
    assert appear.loss == pytest.approx(10 * discrete_variance(1 / 25), rel=1e-6)


@pytest.mark.parametrize("budget", [2.0, 5.0])
def test_margins_of_sums_of_narrow_gaussian_noise_hold(budget: float) -> None:
    """A sum of three counts of narrow whole-number noise: its law by convolution."""
    problem = Problem(Workload(np.tril(np.ones((3, 3)))), metrics.add_remove(3, budget), "zcdp")
    made = design(problem, "strategy_gaussian").mechanism
    mass = law(1 / budget**2)[1]
    total = np.convolve(np.convolve(mass, mass), mass)
    places = np.abs(np.arange(len(total)) - len(total) // 2)
    for level in (0.5, 0.95, 0.999, 1 - 1e-6):
        margin = made.margins(level)[2]
        assert total[places <= margin].sum() >= level
    assert abs(made.query_mean_absolutes()[2] - total @ places) <= 0.02 * math.sqrt(total @ places**2)


@pytest.mark.parametrize("seed", range(12))
def test_no_stated_bound_is_above_the_loss_of_any_family(seed: int) -> None:
    """Random queries, budgets from 0.1 to 20, both notions and all losses: a bound that a family undercuts says of which noise
    it speaks, a limit is undercut by none, and nothing ends in an error of the program."""
    generator = np.random.default_rng(seed)
    budget = float(np.exp(generator.uniform(math.log(0.1), math.log(20))))
    rows = generator.integers(-2, 7, (int(generator.integers(1, 5)), 4)).astype(float)
    relation = metrics.add_remove(4, budget) if seed % 3 else metrics.uniform(4, budget)
    notion, loss = ("pure", "zcdp")[seed % 2], ("squared", "max")[seed // 2 % 2]
    problem = Problem(Workload(rows), relation, notion, loss)  # type: ignore[arg-type]
    made = [made for family in known_families() if family.name in QUICK and (made := _made(problem, family.name))]
    least = min(one.loss for one in made)
    for one in made:
        claim = one.optimality
        assert claim is None or claim.lower_bound <= claim.value * (1 + 1e-12)
        assert claim is None or claim.lower_bound <= least * (1 + 1e-9) or _speaks_of_its_law(claim.objective, notion, SAID)
        assert one.limit is None or (one.limit.value <= least * (1 + 1e-9) and (one.efficiency or 0) <= 1)

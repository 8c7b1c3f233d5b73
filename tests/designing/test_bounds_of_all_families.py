"""No bound lies above a value: every note of optimality speaks of a law that its own value has, or says of which it speaks."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from designer import MarginalWorkload, Presence, Problem, StructuredWorkload, Workload, compare, design, metrics
from designer.base.errors import DesignFailed
from designer.designing.products_plan import design_structured
from designer.families.listed import known_families
from designer.families.made import Design
from designer.mechanisms.additive.interface import Mechanism
from designer.mechanisms.marginals.noise import mean_variances
from designer.mechanisms.marginals.plan import design_marginals
from designer.problem.domain import Domain
from designer.sampling.integers.discrete_gaussian import DiscreteGaussian

BUDGETS = (0.25, 1.0, 2.0, 5.0, 20.0)
CONTINUOUS = "of continuous noise of this kind"
OWN_LAWS = (CONTINUOUS, "of independent Laplace noise on the multiples of each query's step")
ASKED = {
    "counts": np.eye(3),
    "running totals": np.tril(np.ones((4, 4))),
    "multiples": np.array([[6.0, 4.0, 0.0], [1.0, 3.0, 6.0]]),
}
QUICK = ("laplace", "gaussian", "ellipsoid", "strategy_laplace", "strategy_gaussian", "diagonal_gaussian", "staircase")


@pytest.mark.parametrize("notion", ["pure", "zcdp"])
@pytest.mark.parametrize("name", ASKED)
def test_a_claim_that_another_family_undercuts_names_the_law_that_it_speaks_of(name: str, notion: str) -> None:
    """All families that take a moment, with every budget: none crashes, none claims more than it reaches, and a bound that
    another family is below says so."""
    for epsilon in BUDGETS:
        relation = metrics.add_remove(ASKED[name].shape[1], epsilon)
        problem = Problem(Workload(ASKED[name]), relation, notion)  # type: ignore[arg-type]
        made = [made for family in known_families() if family.name in QUICK and (made := _made(problem, family.name))]
        assert len(made) > 1
        least = min(one.loss for one in made)
        for one in made:
            claim = one.optimality
            if claim is not None:
                assert claim.lower_bound <= claim.value * (1 + 1e-12) and claim.value == pytest.approx(one.loss, rel=1e-9)
                assert claim.lower_bound <= least * (1 + 1e-9) or claim.objective.endswith(OWN_LAWS), (name, epsilon, claim)
            assert one.limit is None or one.limit.value <= least * (1 + 1e-9)


def _made(problem: Problem, family: str) -> Design[Mechanism] | None:
    try:
        return design(problem, family)
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
        made = design_structured(asked, Presence(epsilon), noise)  # type: ignore[arg-type]
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
        for protection in (Presence(epsilon), metrics.hamming(domain, [epsilon, 1.0, math.inf])):
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
        protection = Presence(epsilon) if presence else metrics.hamming(domain, [epsilon, epsilon / 2])
        made = design_marginals(asked, protection)
        assert made.optimality is not None and not made.noise.wide
        for scale in np.exp(generator.normal(size=(300, len(made.precisions)))):
            precisions = np.where(np.isinf(made.precisions), np.inf, made.precisions * scale)
            worst = max(float(change.load(precisions)) for change in made.changes)
            means = asked.cell_variances @ mean_variances(asked, precisions / worst)
            assert float((asked.weights * means) @ asked.cells) >= made.optimality.lower_bound


def test_mean_variances_are_those_of_the_cells() -> None:
    domain = Domain.of({"a": 4, "b": 3})
    made = design_marginals(MarginalWorkload.up_to(domain, 2), Presence(3.0))
    by_cells = sum(float(made.variances(names).sum()) for names in (("a",), ("b",), ("a", "b")))
    assert made.error() == pytest.approx(by_cells, rel=1e-12) and not made.noise.wide


@pytest.mark.parametrize("attributes", [13, 16])
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_many_two_valued_attributes_have_a_design(attributes: int, noise: str) -> None:
    domain = Domain.of({f"a{k}": 2 for k in range(attributes)})
    asked = StructuredWorkload.of(domain, [dict.fromkeys(domain.attributes, "identity")])
    made = design_structured(asked, Presence(1.0), noise)  # type: ignore[arg-type]
    assert made.privacy.holds and made.optimality is not None and made.optimality.gap < 1e-5

"""Losses of few sizes against pairs of discrete distributions that are written out."""

from __future__ import annotations

from fractions import Fraction
from math import exp, expm1, log

import numpy as np
import pytest

from designer.base.errors import InvalidProblem
from designer.tradeoff.account import Account, zcdp_of
from designer.tradeoff.comparison import tradeoff_from_spec
from designer.tradeoff.functions import EpsilonDelta
from designer.tradeoff.piecewise import PiecewiseLinear
from designer.tradeoff.response_mixture import ResponseMixture

EXAMPLE = ResponseMixture("1/2", ("1/4", "1/2", "0", "1/4"))


def atoms(mixture: ResponseMixture) -> tuple[np.ndarray, np.ndarray]:
    """The pair of distributions, (P, Q)."""
    p, q = [], []
    for j, weight in enumerate(mixture.weights):
        loss, own = float(mixture.unit) * j, float(weight)
        p += [own / (1 + exp(loss)), own / (1 + exp(-loss))]
        q += [own / (1 + exp(-loss)), own / (1 + exp(loss))]
    return np.array(p), np.array(q)


def test_delta_and_errors_are_those_of_the_pair_written_out() -> None:
    p, q = atoms(EXAMPLE)
    for epsilon in (0.0, 0.3, 0.5, 1.2, 1.5):
        assert EXAMPLE.delta_at(epsilon) == pytest.approx(np.maximum(q - exp(epsilon) * p, 0).sum(), abs=1e-12)
    order = np.argsort(-q / p)
    alphas, betas = np.cumsum(p[order]), 1 - np.cumsum(q[order])
    assert EXAMPLE.type_two(alphas) == pytest.approx(betas, abs=1e-12)
    assert EXAMPLE.type_two(EXAMPLE.type_two(alphas)) == pytest.approx(alphas, abs=1e-12)
    assert EXAMPLE.power(alphas) == pytest.approx(1 - betas, abs=1e-12)


def test_the_fixed_point_is_one() -> None:
    c = float(EXAMPLE.fixed_point())
    assert float(EXAMPLE.type_two(c)) == pytest.approx(c, abs=1e-12)


def test_one_size_is_a_pure_promise_and_plain_data_come_back() -> None:
    assert ResponseMixture(1, (0, 1)).delta_at(0.25) == EpsilonDelta(1).delta_at(0.25)
    assert tradeoff_from_spec(EXAMPLE.to_spec()) == EXAMPLE
    assert EXAMPLE.group(3).delta_at(1) >= EXAMPLE.delta_at(1) and EXAMPLE.group(1) is EXAMPLE


def test_the_zcdp_is_the_largest_of_all_orders() -> None:
    p, q = (law[law > 0] for law in atoms(EXAMPLE))
    orders = 1 + np.geomspace(1e-6, 1e3, 4000)
    found = max(log((q**a * p ** (1 - a)).sum()) / (a - 1) / a for a in orders if a < 100)
    assert found <= float(EXAMPLE.rho) <= found * (1 + 1e-6) and zcdp_of(EXAMPLE) == EXAMPLE.rho
    # The staircase of docs/theory/tradeoff.md, 12: more than its relative entropy, at an order above 1.
    stairs = ResponseMixture(1, ("4/5", "1/5"))
    p, q = atoms(stairs)
    assert float(stairs.rho) == pytest.approx(0.110057, abs=1e-6) and (q * np.log(q / p)).sum() == pytest.approx(
        0.092423, abs=1e-6
    )
    # For atoms at +-b and 0 it is the relative entropy b (1 - a) m where P(0) <= 2 sqrt(P(b) P(-b)) (BEYOND, P5 and P6).
    three, a = 0.4672851909443423, exp(-1)
    law = ResponseMixture.above(Fraction(1), [three * (1 + a)])
    assert float(law.rho) == pytest.approx(-expm1(-1) * three, rel=1e-9)


def test_a_bound_that_says_nothing_is_the_largest_loss() -> None:
    assert ResponseMixture.above(Fraction(1), [float("inf"), 2.0]) == ResponseMixture(1, (0, 0, 1))


@pytest.mark.parametrize("seed", range(20))
def test_a_law_that_is_moved_up_promises_less(seed: int) -> None:
    draw = np.random.default_rng(seed)
    weights = draw.dirichlet(np.ones(6))
    reached = np.cumsum(weights[::-1])[::-1][1:]
    bound = ResponseMixture.above(Fraction(1, 4), (reached * 1.01).tolist())
    p, q = atoms(ResponseMixture.above(Fraction(1, 4), reached.tolist()))
    for epsilon in np.linspace(0, 1.25, 11):
        assert bound.delta_at(epsilon) >= np.maximum(q - exp(epsilon) * p, 0).sum() - 1e-12


def test_products_are_those_of_the_pair_as_a_piecewise_linear_function() -> None:
    # The other class, whose corners are rational, encloses the same pair to 2^-100.
    corners = [(Fraction(float(a)), Fraction(float(b))) for a, b in zip(*EXAMPLE._table, strict=True)]
    corners[0], corners[-1] = (Fraction(0), Fraction(1)), (Fraction(1), Fraction(0))
    lowered = PiecewiseLinear(*zip(*[(a, max(Fraction(0), b)) for a, b in corners], strict=True))
    assert Account.of([(EXAMPLE, 20)]).epsilon_at(1e-6) == pytest.approx(Account.of([(lowered, 20)]).epsilon_at(1e-6), rel=1e-3)


@pytest.mark.parametrize(
    ("unit", "weights"),
    [(1, ("1/2", "1/4")), (0, ("1/2", "1/2")), (1, ("1",)), (1, ("1", "0")), (1, ("-1", "2")), (1, "no list")],
)
def test_what_is_no_law_is_refused(unit: int, weights: object) -> None:
    with pytest.raises(InvalidProblem, match="weights"):
        ResponseMixture(unit, weights)  # type: ignore[arg-type]

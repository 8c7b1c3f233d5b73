"""Laws of the privacy loss against sums over the lattice that are written out, and the values of their closed forms."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb, exp

import numpy as np
import pytest

from designer import Problem, Workload, design, invariants, metrics
from designer.accounts.composition.composition import composed
from designer.accounts.composition.cost_record import Expense, expense_of, spent
from designer.base.errors import InvalidSpec
from designer.certificate.norms import Norm
from designer.lattice.loss_law import law_of_loss
from designer.lattice.mechanism import LatticeMechanism
from designer.relations.invariants.changes import InvariantDistance
from designer.tradeoff.account import Account
from designer.tradeoff.response_mixture import ResponseMixture


def of_classes(cells: int, epsilon: float, shape: str = "l1") -> LatticeMechanism:
    return design(
        Problem(Workload.identity(cells), invariants.total(cells).protect(epsilon, 1)), "lattice_laplace", shape=shape
    ).mechanism


def table(shape: str, epsilon: float, adjacency: int = 2, levels: tuple[int, int] = (3, 3)) -> LatticeMechanism:
    cells = levels[0] * levels[1]
    problem = Problem(Workload.identity(cells), invariants.margins(levels).protect(epsilon, adjacency))
    return design(problem, "lattice_laplace", shape=shape).mechanism


def exact_deltas(mechanism: LatticeMechanism, reach: int, epsilons: list[float]) -> list[float]:
    """The largest delta of any protected change, by sums over the coordinates in the basis up to `reach`."""
    basis = mechanism.lattice.basis.astype(np.int64)
    points = np.array(list(product(range(-reach, reach + 1), repeat=len(basis)))) @ basis
    lengths = np.asarray(mechanism.norm(points[:, mechanism.columns].astype(float)))
    mass = np.exp(-lengths).sum()
    worst = [0.0] * len(epsilons)
    for change in mechanism.relation.changes:
        moved = np.asarray(mechanism.norm((points + change)[:, mechanism.columns].astype(float)))
        found = [np.maximum(np.exp(-lengths) - exp(epsilon) * np.exp(-moved), 0).sum() / mass for epsilon in epsilons]
        worst = [max(pair) for pair in zip(worst, found, strict=True)]
    return worst


CASES = {
    "three counts": (lambda: of_classes(3, 1.0), 24),
    "three counts, l2": (lambda: of_classes(3, 1.0, "l2"), 24),
    "four counts": (lambda: of_classes(4, 2.0), 9),
    "2 x 3": (lambda: table("l1", 1.5, levels=(2, 3)), 16),
    "2 x 3, three records": (lambda: table("l1", 2.0, 3, (2, 3)), 16),
    "3 x 3, hull": (lambda: table("hull", 3.0), 7),
    "3 x 3, l2": (lambda: table("l2", 4.0), 7),
    "3 x 3, three records": (lambda: table("l2", 6.0, 3), 6),
}


@pytest.mark.parametrize("name", CASES)
def test_delta_is_at_least_the_exact_one_and_near_it(name: str) -> None:
    made, reach = CASES[name][0](), CASES[name][1]
    law = law_of_loss(made)
    epsilons = [0.0, 0.2, 0.5, 0.9, 1.4]
    assert isinstance(law, ResponseMixture)
    for epsilon, exact in zip(epsilons, exact_deltas(made, reach, epsilons), strict=True):
        assert exact - 1e-6 <= law.delta_at(epsilon) <= exact * 1.02 + 2e-3


def squares(k: int, a: float) -> float:
    return sum(comb(k, j) ** 2 * a**j for j in range(k + 1))


@pytest.mark.parametrize("cells", [2, 3, 10, 100])
def test_counts_with_a_public_total_have_the_closed_form(cells: int) -> None:
    law, a = law_of_loss(of_classes(cells, 1.0)), exp(-1)
    assert isinstance(law, ResponseMixture) and law.unit == 1
    assert float(law.weights[1]) == pytest.approx((1 + a) * squares(cells - 2, a) / squares(cells - 1, a), rel=1e-11)


def test_four_counts_cost_less_over_many_releases() -> None:
    made = of_classes(4, 1.0)
    one = expense_of(made)
    assert float(one.rho or 0) == pytest.approx(0.295380576, abs=1e-9)
    for times, published in ((1, 1.0), (10, 9.99798), (100, 62.2079), (1000, 404.631)):
        assert spent([one], times=[times]).epsilon_at(1e-6) == pytest.approx(published, rel=1e-5)
    assert composed(*[made] * 10).epsilon(1e-6) == spent([one], times=[10]).epsilon_at(1e-6)
    # A staircase on the same lattice is this law, found by its own table.
    stairs = expense_of(design(Problem(Workload.identity(4), metrics.uniform(4, 1.0)), "staircase").mechanism)
    assert spent([stairs], times=[100]).epsilon_at(1e-6) == pytest.approx(62.2079, rel=1e-5)
    assert Expense.from_dict(one.to_dict()) == one


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("shape", "epsilon", "rho", "hundred"),
    [
        ("hull", 1.0, 0.300435200, 62.8950),
        ("hull", 2.0, 1.149324167, 169.342),
        ("l1", 1.0, None, 55.026),
        ("l2", 1.0, None, 34.67),
    ],
)
def test_tables_of_three_by_three_have_the_values_of_their_law(
    shape: str, epsilon: float, rho: float | None, hundred: float
) -> None:
    law = law_of_loss(table(shape, epsilon))
    assert isinstance(law, ResponseMixture)
    assert rho is None or rho <= float(law.rho) <= rho * 1.001
    found = Account.of([(law, 100)]).epsilon_at(1e-6)
    assert hundred * 0.9999 <= found <= hundred * 1.001


def test_independent_noise_keeps_its_product() -> None:
    """Two geometric laws of 1/2 each: 55.0469 over 100 releases, where the budget alone has 59.68 (BEYOND, Part 2)."""
    made = design(Problem(Workload.identity(4), metrics.uniform(4, 1.0)), "laplace").mechanism
    assert spent([expense_of(made)], times=[100]).epsilon_at(1e-6) == pytest.approx(55.0469, abs=1e-4)
    line = design(
        Problem(Workload([[0, 1, 2, 3]]), metrics.euclidean([[0.0], [1.0], [2.0], [3.0]], per_unit=0.4)), "laplace"
    ).mechanism
    assert spent([expense_of(line)]).epsilon == Fraction(line.relation.exact_budget(0, 3))


def test_what_is_no_single_law_keeps_its_budget() -> None:
    distance = LatticeMechanism(
        "custom", Workload.identity(3), InvariantDistance(invariants.total(3), 0.5, "l1"), Norm(np.full(3, 0.25), "l1")
    )
    gaussian = design(
        Problem(Workload.identity(3), invariants.total(3).protect(0.5, 1), notion="zcdp"), "lattice_gaussian"
    ).mechanism
    assert law_of_loss(distance) is None and law_of_loss(gaussian) is None
    assert law_of_loss(table("l2", 0.01)) is None  # too wide to be summed


@pytest.mark.parametrize("shapes", [None, [{}], [{"kind": "response_mixture", "unit": "1", "weights": ["1/2"]}], ["x"]])
def test_an_expense_with_altered_shapes_is_refused(shapes: object) -> None:
    data = expense_of(of_classes(3, 1.0)).to_dict()
    with pytest.raises(InvalidSpec):
        Expense.from_dict({**data, "shapes": shapes})

"""The formulas of the per-record experiments against quadrature, simulation and sums by definition."""

from __future__ import annotations

import numpy as np
import pytest

from designer import datasets
from designer.tables.policies.hierarchies import Hierarchy
from designer.tables.policies.renyi import group_losses
from examples import rec_business, rec_sim
from examples.rec_business import Year
from examples.rec_setting import noise_on_split_rows


@pytest.mark.parametrize("tail", [1.2, 1.5, 1.8])
def test_noise_to_signal_agrees_with_quadrature(tail: float) -> None:
    from scipy.integrate import quad

    limit, rho, n = 37.0, 0.5, 1000
    first, second = (quad(lambda x, k=k: x**k * tail * x ** (-tail - 1), 1, limit)[0] + limit**k * limit**-tail for k in (1, 2))
    expected = n * tail / (tail - 1)
    error = (n * first - expected) ** 2 + n * (second - first**2) + noise_on_split_rows(limit, rho) ** 2
    assert float(rec_sim.noise_to_signal(np.array(limit), tail, rho)) == pytest.approx(error / expected, rel=1e-9)


def test_simulated_tails_are_pareto() -> None:
    """Share above x against x^-a, 200,000 draws: within 5 standard errors at three points each (seed fixed)."""
    values = rec_sim.simulate(200_000, 1)[1]
    for name, tail in rec_sim.TAILS.items():
        for x in (2.0, 10.0, 50.0):
            p = x**-tail
            assert abs(np.mean(values[name] > x) - p) < 5 * np.sqrt(p * (1 - p) / 200_000)


def test_cells_keep_their_published_numbers() -> None:
    data = rec_business.year(0)
    table = datasets.establishments()
    published = table["establishments"]
    assert len(data.places) == published.sum()
    assert data.totals["count"][data.tree.level == 0].sum() == published.sum()
    for name, column in (("EMP", "employees"), ("PAYQTR1", "payroll_usd")):
        whole = table[column].sum() / (1000 if name == "PAYQTR1" else 1)
        assert data.columns[name].sum() == pytest.approx(whole, rel=2e-3)  # rounding of single establishments


def test_realized_losses_by_definition() -> None:
    """Squared change of every published answer when a firm leaves, over twice the variance of its noise."""
    rng = np.random.default_rng(0)
    tree = Hierarchy.of(["a"] * 3 + ["b"] * 2, list("uvwxy"))
    places = rng.choice(np.flatnonzero(~tree.inner), size=600, p=[0.4, 0.05, 0.3, 0.05, 0.2])
    columns = {name: np.floor(rng.pareto(1.2, size=600) * 20) for name in rec_business.MEASURES}
    columns["count"] = np.ones(600)
    totals = {k: tree.totals(np.bincount(places, v, minlength=tree.size)[~tree.inner]) for k, v in columns.items()}
    firms = np.unique(rng.integers(0, 150, size=600), return_inverse=True)[1]
    data = Year(tree, places, columns, firms, totals)
    assert 0 < data.published.sum() < tree.size
    found = rec_business.realized_losses(data, "Moderate", data.firms)
    for firm in (0, 7, 99):
        loss = 0.0
        for group in np.flatnonzero(data.published):
            inside = np.array([group in (place, tree.parents[place]) for place in places]) & (data.firms == firm)
            for name, column in columns.items():
                limit = 1.0 if name == "count" else rec_business.THRESHOLDS["Moderate"][name]
                sigma = noise_on_split_rows(limit, rec_business.rho_of_query())
                loss += column[inside].sum() ** 2 / (2 * sigma**2)
        assert found[firm] == pytest.approx(loss)
    assert (found <= group_losses(rec_business.policy_losses(data, "Moderate"), data.firms) * (1 + 1e-12)).all()

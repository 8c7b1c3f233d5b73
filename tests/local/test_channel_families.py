"""Families of own reports against closed forms, the whole program, and one another."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from designer import Channel, DesignFailed, ReportProblem, datasets, design, load, metrics
from designer.audit.pairs import bound_recomputed
from designer.certificate.frozen import to_spec
from designer.local import design as channel
from designer.local.peaks import LossPrices, proven_loss
from examples.own_report import full_program
from solvers.channel_lp.generation import ChannelLP, LossLimits


def grid(side: int, budget: float) -> Any:
    return metrics.euclidean([[i, j] for i in range(side) for j in range(side)], budget)


# From separate small programs over square grids of spacing 1 with equal priors.
KNOWN = [
    (3, 0.5, "distance", 1.07298),
    (3, 0.5, "squared", 1.33333),
    (4, 1.0, "distance", 1.08885),
    (4, 1.0, "squared", 1.65819),
    (5, 0.5, "distance", 1.61953),
    (5, 0.5, "squared", 3.33628),
]


@pytest.mark.parametrize("side, budget, loss, least", KNOWN)
def test_the_best_channel_has_the_known_loss_and_a_certified_gap(side: int, budget: float, loss: str, least: float) -> None:
    made = design(ReportProblem(grid(side, budget), loss=loss))
    assert made.error == pytest.approx(least, rel=1.01e-4, abs=6e-6)
    assert made.optimality.lower_bound <= least + 6e-6 and made.optimality.gap <= 1e-4
    assert made.optimality.value == made.error == made.mechanism.loss


@pytest.mark.parametrize("seed", range(6))
def test_the_best_channel_is_that_of_the_whole_program_and_no_family_is_below_its_bound(seed: int) -> None:
    generator = np.random.default_rng(seed)
    places = generator.uniform(0, 3, (5, 2))
    prior = generator.dirichlet(np.ones(5)) * 0.9 + 0.02
    loss: Any = [generator.uniform(0, 2, (5, 4)), "squared", "distance"][seed % 3]
    problem = ReportProblem(metrics.euclidean(places, float(generator.uniform(0.3, 2))), prior=prior / prior.sum(), loss=loss)
    made = design(problem, "channel", gap=1e-6)
    _, value = full_program(problem.budgets, problem.prior[:, None] * problem.losses)
    assert made.error == pytest.approx(value, rel=1e-5) and made.optimality.lower_bound <= value * (1 + 1e-9)
    for family in ("poles", "exponential"):
        assert design(problem, family).error >= made.optimality.lower_bound


@pytest.mark.parametrize("size, budget", [(2, 1.0), (8, 0.5), (5, 3.0)])
def test_randomised_response_is_wrong_as_often_as_its_formula_says_and_is_the_best(size: int, budget: float) -> None:
    problem = ReportProblem(metrics.uniform(size, budget), loss="zero_one")
    made = design(problem, "randomised_response")
    wrong = (size - 1) / (math.exp(budget) + size - 1)
    assert made.error == pytest.approx(wrong, rel=1e-9) and design(problem).error == pytest.approx(wrong, rel=1e-6)
    assert design(problem, "subset_selection").error >= made.error * (1 - 1e-9)
    assert design(problem, "subset_selection", size=1).mechanism.channel == pytest.approx(made.mechanism.channel, abs=1e-12)


@pytest.mark.parametrize("loss", ["distance", "squared", "zero_one"])
@pytest.mark.parametrize("seed", range(3))
def test_geometric_noise_on_even_steps_is_proven_best_and_is_for_any_prior(loss: str, seed: int) -> None:
    """Beside the bound from prices, which knows nothing of the theorem."""
    prior = np.random.default_rng(seed).dirichlet(np.full(6, 0.7)) + 1e-4
    problem = ReportProblem(metrics.line(list(range(6)), 1, 0.8), prior=prior / prior.sum(), loss=loss)
    made, best = design(problem, "geometric"), design(problem, "channel", gap=1e-6)
    assert made.optimality.gap < 1e-9 and "Ghosh" in made.optimality.method
    assert best.optimality.lower_bound <= made.error * (1 + 1e-9) and made.error <= best.error * (1 + 1e-9)


def test_geometric_noise_is_the_truncated_geometric_mechanism_and_claims_nothing_on_uneven_steps() -> None:
    made = design(ReportProblem(metrics.line([0, 1, 2, 3], 1, 0.7)), "geometric", remap=False).mechanism
    a = math.exp(-0.7)
    inner = [(1 - a) / (1 + a) * a ** abs(1 - z) for z in range(4)]
    inner[0], inner[3] = a / (1 + a), a**2 / (1 + a)  # all that noise carries beyond falls on the ends
    assert made.channel[1] == pytest.approx(inner, abs=1e-12)
    uneven = design(ReportProblem(metrics.line([0, 1, 4], 1, 0.7)), "geometric")
    assert uneven.optimality is None
    assert design(ReportProblem(metrics.line([0, 1, 2], 1, 1), prior="worst"), "geometric").optimality is None


def test_planar_laplace_on_a_line_is_the_geometric_mechanism() -> None:
    problem = ReportProblem(metrics.euclidean([0.0, 1.0, 2.0, 3.0], 0.6))
    made, same = design(problem, "planar").mechanism, design(problem, "geometric", remap=False).mechanism
    assert made.channel == pytest.approx(same.channel, abs=1e-12)


def test_planar_laplace_in_the_plane_by_its_sums() -> None:
    """Every point of the lattice within 60 steps, by hand."""
    made = design(ReportProblem(grid(3, 0.9)), "planar").mechanism
    places = [(i, j) for i in range(3) for j in range(3)]
    weights = {(i, j): math.exp(-0.9 * math.hypot(i - 1, j)) for i in range(-60, 61) for j in range(-60, 61)}  # from (1, 0)
    law = np.zeros(9)
    for (i, j), weight in weights.items():
        nearest = min(places, key=lambda p: (i - p[0]) ** 2 + (j - p[1]) ** 2)
        law[places.index(nearest)] += weight / sum(weights.values())
    assert made.channel[places.index((1, 0))] == pytest.approx(law, abs=1e-9)


def test_the_worst_prior_makes_every_other_channel_worse_somewhere() -> None:
    problem = ReportProblem(grid(3, 1.0), prior="worst")
    made = design(problem)
    assert made.error == made.mechanism.worst_loss and made.optimality.gap <= 1e-4
    for family in ("exponential", "planar"):
        assert design(problem, family).mechanism.worst_loss >= made.optimality.lower_bound
    average = design(ReportProblem(grid(3, 1.0))).mechanism
    assert average.worst_loss > made.error and average.loss < made.mechanism.loss


def test_auto_takes_the_best_channel() -> None:
    problem = ReportProblem(grid(2, 1.0))
    assert design(problem).mechanism == design(problem, "channel").mechanism


def test_reports_may_be_points_of_their_own() -> None:
    places, wider = [[0.0, 0.0], [1.0, 0.0]], [[-0.5, 0.0], [0.5, 0.0], [1.5, 0.0]]
    made = design(ReportProblem(metrics.euclidean(places, 1.0), wider)).mechanism
    assert made.losses.max() <= 1.5 and made.loss == pytest.approx(0.5) and made.reports == ("r1",)
    for family in ("exponential", "poles"):
        assert design(ReportProblem(metrics.euclidean(places, 1.0), wider), family).privacy.holds


@pytest.mark.parametrize(
    "points, words", [([[0, 0], [1, 0], [0.3, 0.2]], "square lattice"), ([[0.0, 0], [1, 0], [999, 0]], "more")]
)
def test_planar_refuses_what_has_no_lattice_or_too_much_of_it(points: Any, words: str) -> None:
    with pytest.raises(DesignFailed, match=words):
        design(ReportProblem(metrics.euclidean(points, 0.05)), "planar")


def far_cities(count: int, loss: str, prior: str | None = None) -> ReportProblem:
    """The largest cities of the United States; 100 km for a factor 3."""
    cities = datasets.us_cities()
    largest = np.argsort(-cities["population"], kind="stable")[:count]
    where = np.column_stack([cities["latitude"], cities["longitude"]])[largest]
    return ReportProblem(metrics.great_circle(where, per_km=math.log(3) / 100), loss=loss, prior=prior)


@pytest.mark.parametrize("loss", ["distance", "squared"])
def test_places_on_the_earth_lose_no_more_by_freezing_than_the_gap_that_was_asked_for(loss: str) -> None:
    """Budgets on the Earth are floats within 1e-7 of the exact ones: a table that is made for these would lose 2e-4."""
    made = design(far_cities(25, loss), "channel")
    assert 0 <= made.optimality.gap <= 1e-4 and made.privacy.holds


@pytest.mark.parametrize("km", [25, 50, 100])
@pytest.mark.parametrize("loss", ["distance", "squared"])
def test_people_as_prior_leave_no_wider_gap_than_was_asked_for(loss: str, km: int) -> None:
    """A bound that weighs elements by their prior alone was 1.2e-4 to 1.6e-4 off."""
    cities = datasets.us_cities()
    largest = np.argsort(-cities["population"], kind="stable")[:25]
    where = np.column_stack([cities["latitude"], cities["longitude"]])[largest]
    people = cities["population"][largest] / cities["population"][largest].sum()
    made = design(ReportProblem(metrics.great_circle(where, per_km=math.log(3) / km), prior=people, loss=loss))
    assert 0 <= made.optimality.gap <= 1e-4


@pytest.mark.parametrize("prior", [None, "worst", "skewed"])
def test_prices_in_the_provenance_prove_the_bound_again_and_take_few_bytes(prior: str | None) -> None:
    given: Any = np.random.default_rng(4).dirichlet(np.full(9, 0.4)) + 1e-3 if prior == "skewed" else prior
    given = given / given.sum() if prior == "skewed" else given
    problem = ReportProblem(grid(3, 0.7), loss="distance", prior=given)
    made = load(to_spec(design(problem).mechanism))
    assert isinstance(made, Channel) and made.optimality is not None
    prices = LossPrices.from_note(made.provenance["prices"], 9)
    proven = proven_loss(made.relation, made.prior, made.losses, prices)
    assert made.optimality.lower_bound <= proven <= made.optimality.lower_bound * (1 + 2e-8)
    assert len(json.dumps(made.provenance["prices"]["rows"])) < 16 * 9
    costs = problem.prior[:, None] * problem.losses
    worst = (LossLimits(np.eye(9), problem.losses, None),) if prior == "worst" else ()
    whole = full_program(problem.budgets, np.zeros_like(costs) if worst else costs, worst)[1]
    assert whole * (1 - 2e-4) <= proven <= whole * (1 + 1e-9)


def test_any_prices_prove_a_bound_and_a_note_that_claims_more_is_found_out() -> None:
    """Deep verification computes the bound from the file alone."""
    problem = ReportProblem(grid(3, 0.7), loss="distance", elements=[f"e{k}" for k in range(9)])
    made = design(problem).mechanism
    assert isinstance(made, Channel) and made.optimality is not None
    assert bound_recomputed(made).holds is True and "the spec carries no prices" in bound_recomputed(made.annotated({})).words
    rows, rng = np.array(made.provenance["prices"]["rows"]), np.random.default_rng(2)
    unused = LossPrices.from_note(made.provenance["prices"], 9).unused
    for _ in range(20):
        prices = LossPrices(rows * rng.uniform(0.5, 1.5, 9), None, unused)
        assert proven_loss(made.relation, made.prior, made.losses, prices) <= Fraction(made.loss) * (1 + Fraction(1, 10**12))
    less = made.annotated({"prices": {**made.provenance["prices"], "rows": (0.9 * rows).tolist()}})
    assert bound_recomputed(less).holds is False
    for note in (
        {},
        {"rows": [1.0]},
        {"rows": ["a"] * 9},
        {"rows": [0.1] * 9, "shares": [0.0] * 9},
        {"rows": [0.1] * 9, "x": 1},
    ):
        assert bound_recomputed(made.annotated({"prices": note})).holds is False


def test_a_bound_in_floats_is_below_what_the_exact_budgets_prove(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever floats of the budgets are off by counts against the bound."""
    problem = far_cities(8, "squared")
    found = channel._generated(problem, 1e-4)
    (exact, words), prices = channel._bound(problem, found)
    monkeypatch.setattr(channel, "MOST_EXACT", 0)
    (floats, others), none = channel._bound(problem, found)
    assert prices is not None and none is None
    assert "in rationals" in words and "in floats" in others and floats < exact
    assert floats < ChannelLP.of(problem.budgets, *channel._costs(problem)[:1], problem.prior).bound(found.point.prices)


@pytest.mark.parametrize("budget", [0.1, 0.3, 0.6])
def test_poles_that_hardly_mix_are_no_worse_than_the_exponential_mechanism(budget: float) -> None:
    """Steps between two sets of nodes: the weights of poles at the nodes would be negative, and one report was left."""
    between = metrics.graph([(i, 3 + j) for i in range(3) for j in range(2)], nodes=5)
    problem = ReportProblem(metrics.scaled(budget, between))
    made = design(problem, "poles")
    least = design(problem, "channel").optimality
    assert least is not None and least.lower_bound <= made.error
    assert made.error <= design(problem, "exponential", remap=True).error + 1e-9
    assert len(made.mechanism.reports) > 1

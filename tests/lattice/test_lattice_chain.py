"""Chains as samplers: their law, the estimate and what it adds to a guarantee, specs,
and that nobody gets one without asking."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

from designer import DesignFailed, InvalidProblem, InvalidSpec, Problem, Workload, design, invariants, load
from designer.base import progress
from designer.certificate.frozen import seal
from designer.certificate.norms import Norm
from designer.lattice import chain as lattice_chain
from designer.lattice import sampler_choice as lattice_choice
from designer.lattice.chain import Assessment, ChainPlan, directions
from designer.lattice.mechanism import LatticeMechanism
from solvers.lattices.chain import Chain
from solvers.lattices.kernel import Lattice, integer_kernel
from tests.oracles.goodness_of_fit import FAILURE_PROBABILITY, p_value

TABLE = invariants.margins((2, 3))
PLAN = ChainPlan(steps=200, decay=0.5, lag=200, pairs=60)


def chained(plan: ChainPlan = PLAN, order: str = "l1") -> LatticeMechanism:
    relation = TABLE.protect(0.5, per_distance=order)
    return LatticeMechanism("lattice_laplace", Workload.identity(6), relation, Norm(np.full(6, 0.5), order), chain=plan)


@pytest.mark.parametrize("order", ["l1", "l2"])
def test_the_law_is_close_to_the_enumerated_one(order):
    """5,000 chains of 200 steps against points of coefficients up to 40; 5 steps are told apart."""
    known = np.array(list(itertools.product(range(-40, 41), repeat=2))) @ integer_kernel(TABLE.constraints).basis.astype(int)
    weights = np.exp(-0.5 * np.linalg.norm(known, ord=1 if order == "l1" else 2, axis=1))
    places = {point.tobytes(): i for i, point in enumerate(known)}

    def fit(mechanism):
        where = [places[point.tobytes()] for point in mechanism.draw(5000, seed=1)]
        return p_value(np.bincount(where, minlength=len(known)), weights / weights.sum())

    assert fit(chained(order=order)) > FAILURE_PROBABILITY
    assert fit(chained(ChainPlan(5, 0.5, 200, 60), order)) < FAILURE_PROBABILITY


def test_the_guarantee_states_the_estimate_as_one_and_absorbs_it():
    mechanism = chained()
    found, statement = mechanism.assessment, mechanism.guarantee
    assert found.low <= found.estimate <= found.high and found.high >= 1 - 0.05 ** (1 / 60) and found.largest_r_hat < 1.1
    assert "NOT exact" in statement.sampling and "ESTIMATE" in statement.sampling and "floats" in statement.sampling
    assert "estimated and not proven" in statement.notion and "Definition 2" in statement.notion
    assert statement.parameters["estimated_total_variation"] == found.high
    # l1, a public number of records, so r is at least 2.
    assert statement.parameters["estimated_delta"] == pytest.approx(found.high * (np.e + 1) * (np.exp(0.5) - 1) / (np.e - 1))
    release = mechanism.release([3, 1, 4, 1, 5, 9])
    assert (TABLE.matrix @ np.array(release.table) == [8, 15, 4, 6, 13]).all()
    exact = LatticeMechanism("lattice_laplace", Workload.identity(6), mechanism.relation, mechanism.norm)
    assert "Exact" in exact.guarantee.sampling and "estimated_delta" not in exact.guarantee.parameters
    assert exact.fingerprint != mechanism.fingerprint


def test_what_a_distance_between_laws_adds_holds_and_cannot_be_less():
    """Two-sided geometric laws, moved by tau in the worst way: the hockey-stick divergence is exactly (1 + e^b)
    tau where it can be."""
    tau, budget, places = 0.01, 0.7, np.arange(-60, 61)
    law = np.exp(-budget * np.abs(places))
    law /= law.sum()
    other = np.roll(law, 1)
    more, less = law.copy(), other.copy()
    more[0] += tau  # one set gains in the first law what it loses in the second
    more[60] -= tau
    less[61] += tau
    less[60] -= tau
    worst = np.maximum(more - np.exp(budget) * less, 0).sum()
    stated = Assessment(0.0, 0.0, tau, 100, 1.0).delta(budget)
    assert stated == pytest.approx((1 + np.exp(budget)) * tau) and 0.9 * tau < worst <= stated
    lengths = np.linspace(2, 60, 200)
    smooth = Assessment(0.0, 0.0, tau, 100, 1.0).smooth_delta(0.3, 2.0)
    needed = (1 + np.exp(0.3 * lengths)) * tau
    allowed = smooth * np.expm1(0.3 * lengths) / np.expm1(0.3)
    assert (needed <= allowed * (1 + 1e-12)).all() and needed[0] == pytest.approx(allowed[0])


def test_budgets_of_few_records_carry_their_delta():
    relation = TABLE.protect(1.0, 2)
    mechanism = LatticeMechanism("custom", Workload.identity(6), relation, Norm(np.full(6, 0.25), "l1"), chain=PLAN)
    delta = mechanism.guarantee.parameters["estimated_delta"]
    assert delta == pytest.approx((1 + np.e) * mechanism.assessment.high)
    assert mechanism.epsilon_at(2 * delta) == 1.0
    with pytest.raises(InvalidProblem, match="below what the chain adds"):
        mechanism.epsilon_at(delta / 2)


def test_specs_are_assessed_anew(tmp_path):
    mechanism = chained()
    file = mechanism.save(tmp_path / "spec.json")
    twin = load(file)
    assert twin == mechanism and twin.assessment == mechanism.assessment and twin.guarantee == mechanism.guarantee
    for key, value in (
        ("steps", 20),
        ("pairs", 3000),
        ("decay", 0.99),
        ("lag", 1),
        ("steps", 0),
        ("decay", 1.0),
        ("extra", 1),
        ("lag", 60_000),
    ):
        spec = json.loads(file.read_text())
        spec["mechanism"]["chain"][key] = value
        spec["seal"] = seal(spec)
        (tmp_path / "altered.json").write_text(json.dumps(spec))
        with pytest.raises(InvalidSpec):
            load(tmp_path / "altered.json")


@pytest.mark.parametrize("plan", [{"lag": 60_000, "pairs": 2}, {"steps": 60_000}, {"pairs": 100_000}])
def test_plans_that_take_long_to_assess_are_refused_before_any_step(plan, monkeypatch):
    monkeypatch.setattr(Chain, "run", lambda *_: pytest.fail("a chain was run"))
    with pytest.raises(InvalidProblem, match="which every load repeats"):
        chained(ChainPlan(**{"steps": 200, "decay": 0.5, "lag": 200, "pairs": 60, **plan}))


def test_a_slow_assessment_says_so_before_it_starts(monkeypatch, capsys):
    monkeypatch.setattr(Chain, "run", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with progress.showing_progress(), pytest.raises(KeyboardInterrupt):
        _ = chained(ChainPlan(200, 0.5, 5000, 60)).assessment
    assert "assessing a Markov chain: lag 5000" in capsys.readouterr().err


def test_nobody_gets_a_chain_without_asking_or_where_exact_noise_is_feasible(monkeypatch):
    problem = Problem(Workload.identity(6), TABLE.protect(0.5, per_distance="l1"))
    assert design(problem, "lattice_laplace", shape="l1", chain=True).mechanism.chain is None
    monkeypatch.setattr(lattice_choice, "LEAST_ACCEPTANCE", 1.1)
    with pytest.raises(DesignFailed, match="chain=True"):
        design(problem, "lattice_laplace", shape="l1")
    mechanism = design(problem, "lattice_laplace", shape="l1", chain=True, pairs=40).mechanism
    plan = mechanism.chain
    assert plan.pairs == 40 and plan.lag >= 200 and plan.steps >= 20 and mechanism.assessment.high < 0.1
    assert mechanism.choice.method == "chain" and "asked for by name" in mechanism.choice.considered[0]
    fixed = design(problem, "lattice_laplace", shape="l1", chain=True, pairs=40, steps=77, lag=99).mechanism
    assert (fixed.chain.steps, fixed.chain.lag) == (77, 99)


def test_chains_that_do_not_meet_are_no_mechanism(monkeypatch):
    monkeypatch.setattr(lattice_choice, "LEAST_ACCEPTANCE", 1.1)
    monkeypatch.setattr(lattice_chain, "MOST_CHAIN_STEPS", 201)
    problem = Problem(Workload.identity(6), TABLE.protect(0.01, per_distance="l1"))
    with pytest.raises(DesignFailed, match="did not meet"):
        design(problem, "lattice_laplace", shape="l1", chain=True)


def test_moves_of_a_table_are_its_basic_moves():
    shape = invariants.margins((4, 4))
    moves = directions(shape.constraints, integer_kernel(shape.constraints))
    assert len(moves) == 36 and (np.abs(moves).sum(axis=1) == 4).all() and not (moves @ shape.constraints.T).any()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: ChainPlan(0, 0.5, 10), "chain.steps"),
        (lambda: ChainPlan(10, 1.0, 10), "chain.decay"),
        (lambda: ChainPlan(10, 0.5, 10, 1), "chain.pairs"),
        (lambda: ChainPlan(10**6, 0.5, 10), "at most"),
        (
            lambda: LatticeMechanism(
                "custom",
                Workload.identity(6),
                TABLE.protect(1.0, per_distance="l2"),
                Norm(np.ones(6), "l2"),
                "gaussian",
                chain=PLAN,
            ),
            "exponential fall-off",
        ),
    ],
)
def test_bad_plans_are_refused(build, message):
    with pytest.raises(InvalidProblem, match=message):
        build()


def test_errors_of_slow_samplers_are_simulated_with_fewer_draws():
    """A chain pays all its steps for every draw, so 20,000 of them would take minutes."""
    assert chained().error_source.draws == 150
    exact = LatticeMechanism("lattice_laplace", Workload.identity(6), chained().relation, chained().norm)
    assert exact.error_source.draws == 0
    # 150 draws of |z|^2 with a coefficient of variation below 2: 6 standard errors are below 1.
    assert chained().error() == pytest.approx(exact.error(), rel=1.0)


@pytest.mark.parametrize("rows", [[[1, 1, 0, 0], [0, 0, 3, 2]], [[1, 1, 1, 1]], [[1, 0, 2, 0], [0, 5, 0, 7]]])
def test_moves_of_a_chain_reach_the_whole_lattice(rows: list[list[int]]) -> None:
    """Not the shortest vectors alone: where one direction has no short vector, chains must move along it, too."""
    constraints = np.array(rows)
    lattice = integer_kernel(constraints)
    moves = directions(constraints, lattice)
    assert not (constraints @ moves.T).any()
    assert Lattice.generated_by(moves).contains(lattice.basis).all()

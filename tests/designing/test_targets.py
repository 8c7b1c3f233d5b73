"""Accuracy targets: what is refused, what meets them, and that no design that meets them has less loss."""

from __future__ import annotations

import copy
import math
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from designer import DesignFailed, InvalidProblem, Problem, Targets, Workload, design, invariants, load, metrics
from designer.designing.dispatch import best_of_all
from designer.designing.factor_search import reached_by, worst_of

POINTS = np.random.default_rng(0).normal(size=(12, 2))
CITIES = Problem(Workload.random(6, 12, "real", 3), metrics.euclidean(POINTS, per_unit=0.5))
ONE = Problem(Workload([[1.0]], queries=["all"]), metrics.add_remove(1, 1.0))
UNUSABLE: list[tuple[dict[str, Any], str]] = [
    ({}, "none is given"),
    ({"standard_error": 0}, "standard_error"),
    ({"standard_error": -1.0}, "standard_error"),
    ({"margin": math.nan}, "margin"),
    ({"margin": math.inf}, "margin"),
    ({"standard_error": True}, "standard_error"),
    ({"standard_error": "5"}, "standard_error"),
    ({"standard_error": {}}, "names no query"),
    ({"standard_error": {3: 1.0}}, "no name"),
    ({"standard_error": {"q0": math.nan}}, r"standard_error\['q0'\]"),
    ({"standard_error": {"q0": 1}, "margin": {"q0": 1}}, "'q0' has a target in targets.standard_error already"),
    ({"standard_error": 1, "margin": {"q0": 1}}, "is for all queries"),
    ({"standard_error": 1, "margin": 2}, "is for all queries"),
    ({"relative_error": 0.1}, "reference: is missing"),
    ({"relative_error": 0.1, "reference": 0}, "is 0"),
    ({"relative_error": 0.1, "reference": 0.0}, "is 0"),
    ({"relative_error": {"q0": 0.1}, "reference": {"q1": 5}}, r"no value for \['q0'\]"),
    ({"standard_error": 1, "reference": 5}, "drop it"),
]


@pytest.mark.parametrize(("given", "words"), UNUSABLE)
def test_targets_that_make_no_sense_are_refused_by_name(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidProblem, match=words):
        Targets(**given)


def test_unknown_queries_are_refused_wherever_they_are_named() -> None:
    for given in ({"margin": {"south": 1}}, {"relative_error": {"all": 1}, "reference": {"all": 1, "south": 2}}):
        with pytest.raises(InvalidProblem, match="'south' is no query"):
            design(ONE, "laplace", targets=Targets(**given))  # type: ignore[arg-type]
    with pytest.raises(InvalidProblem, match="are none"):
        design(ONE, "laplace", targets={"all": 5})  # type: ignore[arg-type]


def test_targets_are_frozen_and_survive_copies() -> None:
    named = {"a": 1.0}
    targets = Targets(margin=named, relative_error={("b", "c"): 0.1}, reference=-20)
    named["a"] = 99.0
    for twin in (targets, copy.deepcopy(targets), pickle.loads(pickle.dumps(targets)), Targets(**targets.to_dict())):
        assert [one.sentence() for one in twin.of(["b x c", "a"])] == [
            "b x c: relative error at most 0.1 at -20",
            "a: 95 % margin at most 1",
        ]
        assert [one.most for one in twin.of(["b x c", "a"])] == [2.0, 1.0]
    with pytest.raises(TypeError):
        targets.margin["a"] = 5.0  # type: ignore[index]


def geometric(weight: Any) -> Any:
    """The variance of the law `P(z) ~ exp(-w |z|)` on the whole numbers."""
    return 1 / (2 * np.sinh(weight / 2) ** 2)


def test_one_count_reaches_the_closed_forms() -> None:
    """The geometric law of weight 1: its variance, and `P(|z| > 3) = 2 e^-4 / (1 + e^-1) < 1/20 < P(|z| > 2)`."""
    mechanism = design(ONE, "laplace").mechanism
    assert 2 * math.exp(-4) / (1 + math.exp(-1)) < 0.05 < 2 * math.exp(-3) / (1 + math.exp(-1))
    for targets, value in (
        (Targets(standard_error=5), geometric(1.0) ** 0.5),
        (Targets(margin=5), 3.0),
        (Targets(relative_error=0.1, reference=40), geometric(1.0) ** 0.5),
    ):
        (one,) = reached_by(mechanism, ONE, targets)
        assert one.value == pytest.approx(value, rel=1e-9)
        assert one.in_units == pytest.approx(value / abs(one.target.reference or 1), rel=1e-9)


def test_met_targets_change_nothing() -> None:
    free = design(CITIES, "laplace")
    made = design(CITIES, "laplace", targets=Targets(standard_error=1e6))
    assert made.mechanism.fingerprint == free.mechanism.fingerprint and made.optimality == free.optimality
    assert made.mechanism.provenance["targets_are"] == "met by the design of least loss"


def best_scales(problem: Problem, most: dict[int, float], step: float) -> float:
    """The least loss of two Laplace queries under caps, by brute force over how they share the budget."""
    shares = np.arange(step, 1, step)
    variances = geometric(np.stack([shares, 1 - shares]))
    allowed = np.all([np.sqrt(variances[k]) <= value for k, value in most.items()], axis=0)
    return float((problem.costs @ variances)[allowed].min())


@pytest.mark.parametrize("cap", [2.2, 2.5])
def test_the_least_loss_under_a_cap_is_that_of_brute_force(cap: float) -> None:
    problem = Problem(Workload([[1, 0], [1, 0]], queries=["a", "b"]), metrics.uniform(2, 1.0), weights=[1, 3])
    made = design(problem, "laplace", targets=Targets(standard_error={"a": cap}))
    brute = best_scales(problem, {0: cap}, 1e-5)
    assert made.loss == pytest.approx(brute, rel=5e-4)
    assert made.mechanism.standard_errors()[0] <= cap
    assert made.optimality is not None and made.optimality.lower_bound <= brute * (1 + 1e-9) and made.optimality.gap < 1e-3


@pytest.mark.parametrize("loss", ["squared", "max", "absolute"])
def test_weights_and_the_convex_program_agree(loss: str) -> None:
    """Two ways that share nothing but the problem: multipliers for the targets, and CVXPY with variances capped."""
    from designer import programs

    problem = replace(CITIES, loss=loss)  # type: ignore[arg-type]
    errors = design(problem, "laplace").mechanism.standard_errors()
    caps = {"q0": float(errors[0] * 0.8), "q3": float(errors[3] * 0.9)}
    made = design(problem, "laplace", targets=Targets(standard_error=caps))
    program = programs.laplace(problem)
    for query, cap in caps.items():
        program.variance_at_most(query, cap**2)
    assert made.loss == pytest.approx(program.design().loss, rel=3e-4)
    assert made.loss > design(problem, "laplace").loss
    assert made.optimality is not None and made.optimality.gap < 2e-4
    for query, cap in caps.items():
        assert cap * (1 - 2e-4) <= made.mechanism.standard_errors()[int(query[1])] <= cap


@pytest.mark.parametrize("family", ["gaussian", "diagonal_gaussian"])
def test_margins_are_met_with_gaussian_noise_too(family: str) -> None:
    problem = replace(CITIES, notion="zcdp", relation=metrics.euclidean(POINTS, per_unit=1.0))
    margins = design(problem, family).mechanism.margins()
    made = design(problem, family, targets=Targets(margin={"q1": float(margins[1] * 0.97)}))
    assert margins[1] * 0.9695 < made.mechanism.margins()[1] <= margins[1] * 0.97
    assert made.privacy.holds and made.loss > design(problem, family).loss
    assert made.optimality is not None and made.optimality.gap < 1e-3


def test_auto_takes_the_best_family_that_meets_them() -> None:
    """Correlated noise reaches what independent noise cannot."""
    problem = replace(CITIES, notion="zcdp")
    free = best_of_all(problem)
    made = design(problem, targets=Targets(standard_error=float(free.mechanism.standard_errors().max() * 1.001)))
    assert made.mechanism.fingerprint == free.mechanism.fingerprint
    assert "the targets are not met" in made.mechanism.provenance["tried"]["diagonal_gaussian"]


def test_what_cannot_be_met_names_queries_values_and_a_factor_that_does() -> None:
    targets = Targets(standard_error={"all": 1.0})
    with pytest.raises(DesignFailed, match=r"all: standard error at most 1, reached 1\.35696.*budgets times 1\.317") as failed:
        design(ONE, "laplace", targets=targets)
    factor = float(str(failed.value).split("budgets times ")[1].split()[0])
    again = design(replace(ONE, relation=metrics.add_remove(1, factor * (1 + 1e-5))), "laplace", targets=targets)
    assert worst_of(reached_by(again.mechanism, ONE, targets)).ratio <= 1
    with pytest.raises(DesignFailed, match=r"No other of the 12 families comes as near.*\(rho times 1\.0"):
        design(replace(ONE, notion="zcdp"), targets=Targets(standard_error=0.99))


def test_public_answers_meet_every_target() -> None:
    """The number of records is public under replace-one; its noise is 0."""
    problem = Problem(Workload([[1, 1], [1, 0]], queries=["total", "first"]), metrics.uniform(2, 1.0))
    made = design(problem, "laplace", targets=Targets(standard_error={"total": 1e-9}, margin={"first": 4.0}))
    assert made.mechanism.standard_errors()[0] == 0 and made.mechanism.margins()[0] == 0


def test_the_bias_of_biased_designs_is_part_of_their_error() -> None:
    problem = Problem(Workload.identity(3), metrics.uniform(3, 0.05), records=20)
    mechanism = design(problem, "laplace_joint").mechanism
    bias = 20 * np.abs(mechanism.effective - np.eye(3)).max(axis=1)
    assert bias.max() > 0.1
    (one, *_) = reached_by(mechanism, problem, Targets(standard_error=1.0))
    assert one.value == pytest.approx(math.hypot(mechanism.standard_errors()[0], bias[0]))
    (one, *_) = reached_by(mechanism, problem, Targets(margin=1.0))
    assert one.value == pytest.approx(mechanism.margins()[0] + bias[0])


def test_vacuous_problems_stay_what_they_are() -> None:
    """All budgets infinite: nothing gets noise, so that every target is met, by a mechanism that says that it hides nothing."""
    problem = Problem(Workload.identity(2), metrics.from_matrix([[0, np.inf], [np.inf, 0]]), allow_vacuous=True)
    made = design(problem, "laplace", targets=Targets(standard_error=1e-6))
    assert made.mechanism.vacuous


@pytest.mark.parametrize("shape", ["l1", "l2", "hull"])
def test_lattices_are_checked_at_the_law_that_is_drawn(shape: str) -> None:
    """Standard errors and margins of a design are those of its draws: a target a little above them is met by it, one a little
    below is not."""
    problem = Problem(Workload.identity(9), invariants.margins((3, 3)).protect(epsilon=1.0))
    made = design(problem, "lattice_laplace", shape=shape).mechanism
    drawn = np.asarray(made.simulate(20_000, seed=26))
    errors = np.sqrt(np.square(drawn).mean(axis=0))
    assert made.standard_errors() == pytest.approx(errors, rel=0.05)
    assert (np.abs(drawn) > made.margins()).mean(axis=0).max() <= 0.055
    assert (np.abs(drawn) >= made.margins()).mean(axis=0).min() >= 0.04
    for targets, most in ((Targets(standard_error=1.0), made.standard_errors()), (Targets(margin=1.0), made.margins())):
        kind = "margin" if targets.margin is not None else "standard_error"
        met = design(problem, "lattice_laplace", shape=shape, targets=Targets(**{kind: float(most.max()) * 1.001}))
        assert met.mechanism.fingerprint == made.fingerprint
        with pytest.raises(DesignFailed, match="are missed"):
            design(problem, "lattice_laplace", shape=shape, targets=Targets(**{kind: float(most.max()) * 0.8}))


def test_a_solver_of_cvxpy_meets_the_same_targets() -> None:
    errors = design(CITIES, "laplace").mechanism.standard_errors()
    targets = Targets(standard_error={"q0": float(errors[0] * 0.9)})
    own, named = design(CITIES, "laplace", targets=targets), design(CITIES, "laplace", targets=targets, solver="CLARABEL")
    assert named.loss == pytest.approx(own.loss, rel=2e-4)
    assert named.mechanism.standard_errors()[0] <= errors[0] * 0.9
    assert named.mechanism.provenance["solver"] == "CLARABEL"


def test_designs_with_targets_are_saved_and_loaded(tmp_path: Path) -> None:
    made = design(CITIES, "laplace", targets=Targets(margin={"q0": 1e6}))
    again = load(made.mechanism.save(tmp_path / "s.json"))
    assert again.provenance["targets"] == made.mechanism.provenance["targets"]
    assert again.fingerprint == made.mechanism.fingerprint

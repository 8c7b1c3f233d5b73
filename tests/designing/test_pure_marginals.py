"""Least budgets and targets of tables in the pure notion: closed forms, folklore, draws, bounds, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from designer import DesignFailed, Domain, MarginalProblem, MarginalWorkload, Presence, Targets, design, least_budget, metrics
from designer.domains.mechanism import Protection
from designer.domains.pure_marginals import ADDITIVE

DOMAIN = Domain.of({"age": 4, "sex": 2, "state": 3})
ASK = MarginalWorkload.up_to(DOMAIN, 2)
RELATIONS: dict[str, Protection] = {
    "presence": Presence(epsilon=0.5),
    "attributes": metrics.hamming(DOMAIN, {"age": 1.0, "sex": 0.5, "state": 2.0}),
}
MANY = 4000


def pure(relation: Protection, workload: MarginalWorkload = ASK, loss: str = "squared") -> MarginalProblem:
    return MarginalProblem(workload, relation, loss, notion="pure")  # type: ignore[arg-type]


def geometric(rate: float) -> float:
    """The variance of whole-number Laplace noise."""
    return 0.5 / math.sinh(rate / 2) ** 2


def errors(made: object, table: tuple[str, ...]) -> np.ndarray:
    """Standard errors of all cells."""
    shape = [len(DOMAIN.values[DOMAIN.axis(name)]) for name in table]
    return np.asarray(np.sqrt(made.variances(table, np.argwhere(np.ones(shape)))))  # type: ignore[attr-defined]


@pytest.mark.parametrize("most", [0.02, 0.7, 3.0, 1e5])
def test_one_table_needs_what_the_closed_form_says(most: float) -> None:
    """A record moves one cell by 1: `2 asinh(1 / (most root 2))`, below which no additive noise is as accurate."""
    for cells in (2, 7):
        ask = MarginalWorkload.of(Domain.of({"age": cells}), [("age",)])
        epsilon = 2 * math.asinh(1 / (most * math.sqrt(2)))
        for targets in (Targets(standard_error=most), Targets(relative_error=most / 50, reference=-50)):
            found = least_budget(pure(Presence(epsilon=0.5), ask), targets, step=1e-6)
            assert found.factor * 0.5 == pytest.approx(epsilon, rel=2e-6) and found.missed_at < epsilon / 0.5 * (1 + 1e-9)
            assert found.lower_bound * 0.5 == pytest.approx(epsilon, rel=1e-6) and found.lower_bound <= found.factor
            assert found.bounded == ADDITIVE and found.rho_factor is None


@pytest.mark.parametrize("name", ["presence", pytest.param("attributes", marks=pytest.mark.nightly)])
@pytest.mark.parametrize(
    "most",
    [
        {("age",): 3.0, ("sex", "state"): 6.0},
        pytest.param({("state",): 0.2, ("age", "sex"): 0.5}, marks=pytest.mark.nightly),
    ],
)
@pytest.mark.nightly
def test_folklore_needs_no_less(name: str, most: dict[tuple[str, ...], float]) -> None:
    """Cells of all attributes added up, and each table with a share of the budget of its own, at the best shares."""
    relation = RELATIONS[name]
    found = least_budget(pure(relation), Targets(standard_error=most), step=1e-4)
    assert found.design.privacy.holds and found.mechanism.verify().holds and found.missed_at < found.factor
    assert all(errors(found.mechanism, table).max() <= value for table, value in most.items())
    assert found.reached == {" x ".join(t): pytest.approx(errors(found.mechanism, t).max()) for t in most}
    if isinstance(relation, Presence):
        sizes = [math.prod(DOMAIN.shape[DOMAIN.axis(name)] for name in table) for table in most]
        listed = zip(most.values(), sizes, strict=True)
        added = [brentq(lambda r, v=v, n=n: DOMAIN.size / n * geometric(r) - v**2, 1e-6, 90) for v, n in listed]
        alone = [2 * math.asinh(1 / (v * math.sqrt(2))) for v in most.values()]
        least = min(max(added), sum(alone)) / relation.epsilon
    else:
        rates = {table: 2 * 2 * math.asinh(1 / (v * math.sqrt(2))) for table, v in most.items()}
        least = max(
            sum(rate for table, rate in rates.items() if own in table) / b
            for own, b in zip(DOMAIN.attributes, relation.budgets, strict=True)  # type: ignore[union-attr]
        )
    assert found.factor <= least * (1 + 1e-3)
    assert found.lower_bound <= found.factor


@pytest.mark.nightly
def test_the_tables_that_are_drawn_are_as_accurate_as_is_said() -> None:
    most = {("age",): 3.0, ("sex", "state"): 6.0}
    made = least_budget(pure(RELATIONS["presence"]), Targets(standard_error=most), step=0.01).mechanism
    release = made.simulate(MANY, seed=3)
    for table in most:
        drawn = np.array([np.asarray(one.table(table)).ravel() for one in release])
        said = errors(made, table)
        # The fourth moment of a sum of Laplace noise is at most 6 times the square of its second one.
        assert np.abs(drawn.std(axis=0) / said - 1).max() < 5 * math.sqrt(5 / 4 / MANY)


@pytest.mark.nightly
def test_margins_hold_for_what_is_drawn() -> None:
    most = {("age",): 9.0, ("sex", "state"): 12.0}
    found = least_budget(pure(RELATIONS["presence"]), Targets(margin=most), step=0.01)
    assert found.lower_bound == 0 and all(found.reached[" x ".join(t)] <= value for t, value in most.items())
    release = found.mechanism.simulate(MANY, seed=4)
    for table, value in most.items():
        drawn = np.array([np.asarray(one.table(table)).ravel() for one in release])
        assert (np.abs(drawn) > value).mean(axis=0).max() <= 0.05 + 5 * math.sqrt(0.05 / MANY)


def _beside(problem: MarginalProblem, table: tuple[str, ...], most: dict[tuple[str, ...], float]) -> float:
    """Cells of all attributes and one table, least squares of both in matrices, at shares on a fine grid."""
    epsilon = problem.relation.epsilon  # type: ignore[union-attr]
    maps = {own: _rows(own) for own in (*most, table)}
    asked = [_rows(tuple(ASK.names(subset))) for subset in ASK.subsets.tuples()]
    least = math.inf
    for share in np.linspace(0.02, 0.98, 193):
        cells, beside = (1 / geometric(epsilon * part) for part in (1 - share, share))
        weights = np.r_[np.full(DOMAIN.size, cells), np.full(len(maps[table]), beside)]
        rows = np.vstack([np.eye(DOMAIN.size), maps[table]])
        covariance = np.linalg.inv(rows.T @ (weights[:, None] * rows))
        if all(np.diag(maps[own] @ covariance @ maps[own].T).max() <= value**2 for own, value in most.items()):
            each = [np.diag(own @ covariance @ own.T) for own in asked]
            least = min(least, sum(map(np.sum, each)) if problem.loss == "squared" else max(map(np.max, each)))
    return float(least)


def _rows(table: tuple[str, ...]) -> np.ndarray:
    """The matrix of a table."""
    made = np.ones((1, 1))
    for name, size in zip(DOMAIN.attributes, DOMAIN.shape, strict=True):
        made = np.kron(made, np.eye(size) if name in table else np.ones((1, size)))
    return made


@pytest.mark.parametrize("loss", ["squared", pytest.param("max", marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", ["presence", pytest.param("attributes", marks=pytest.mark.nightly)])
@pytest.mark.nightly
def test_designs_at_stated_budgets_meet_their_targets(name: str, loss: str) -> None:
    problem = pure(RELATIONS[name], loss=loss)
    free = design(problem)
    most = {("age",): 0.85 * errors(free.mechanism, ("age",)).max(), ("state",): 0.9 * errors(free.mechanism, ("state",)).max()}
    made = design(problem, targets=Targets(standard_error=most))
    assert made.privacy.holds and all(errors(made.mechanism, table).max() <= value for table, value in most.items())
    assert free.loss * (1 - 1e-9) <= made.loss
    if name == "presence":  # no more than cells and one of the tables beside them, at the best shares of the budget
        assert made.loss <= min(_beside(problem, table, most) for table in [("age",), ("state",), ("age", "state")]) * 1.001
    assert made.optimality is None or made.optimality.lower_bound <= made.loss
    assert (made.optimality is not None) == (name == "presence" and loss == "squared")
    assert len(made.mechanism.provenance["targets"]) == 2
    easy = design(problem, targets=Targets(standard_error=1e6))
    assert easy.loss == free.loss


@pytest.mark.nightly
def test_a_factor_above_the_least_is_enough_and_one_below_the_bound_is_not() -> None:
    targets = Targets(standard_error={("age",): 2.0, ("age", "state"): 4.0})
    found = least_budget(pure(Presence(epsilon=1.0)), targets)
    design(pure(Presence(epsilon=1.02 * found.factor)), targets=targets)
    with pytest.raises(DesignFailed, match="targets: 'age"):
        design(pure(Presence(epsilon=0.99 * found.lower_bound)), targets=targets)


def test_targets_of_an_unprotected_attribute_are_met_at_no_factor() -> None:
    free = metrics.hamming(DOMAIN, {"age": math.inf, "sex": 0.5, "state": 1})
    with pytest.raises(DesignFailed, match="at every factor"):
        least_budget(pure(free), Targets(standard_error={("age",): 1.0}))

"""Precisions for per-record zCDP in CVXPY: against the specialised solver, dense least squares, and with constraints."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from designer import DesignFailed, InvalidProblem, programs
from designer.tables.policies.design import COUNT, Accuracy, PriorRecords, design_records
from designer.tables.policies.hierarchies import Hierarchy
from solvers.programs.loads import bound_near, least_load


def case(seed: int, *, average: bool = False, families: bool = False, largest: bool = False) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    tree = Hierarchy.of([f"s{rng.integers(3)}" for _ in range(8)], list("abcdefgh"), top="US")
    finest = np.flatnonzero(~tree.inner)
    targets = [Accuracy("emp", np.exp(rng.normal(size=tree.size)), on_average=average)]
    targets.append(Accuracy(COUNT, np.exp(rng.normal(size=tree.size))))
    groups = finest[np.arange(10) % len(finest)] if families else None
    prior = PriorRecords(("emp",), np.exp(rng.normal(size=(10, 1))), np.full(10, 0.1), largest, groups)
    kinds = tree.level * 2 + np.arange(tree.size) % 2 if families else None
    return {"hierarchy": tree, "accuracies": targets, "prior": prior, "families": kinds}


def variances(tree: Hierarchy, precisions: np.ndarray) -> np.ndarray:
    """By the dense normal equations."""
    finest = int((~tree.inner).sum())
    contains = np.stack([tree.totals(row) for row in np.eye(finest)], axis=1)
    return np.diag(contains @ np.linalg.inv(contains.T * precisions @ contains) @ contains.T)


def met(made, accuracies: list[Accuracy]) -> list[float]:
    """`(deviation / target)^2`, the worst or the mean, for each measure."""
    found = []
    for row, accuracy in zip(made.precisions, accuracies, strict=True):
        relative = variances(made.hierarchy, np.maximum(row[made.families], 1e-12)) / accuracy.deviations**2
        found.append(float(relative.mean() if accuracy.on_average else relative.max()))
    return found


KINDS = [{}, {"average": True}, {"families": True}, {"families": True, "largest": True}]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_the_design_is_that_of_the_specialised_solver(kind: dict[str, bool]) -> None:
    for seed in range(2):
        asked = case(seed, **kind)
        made, special = programs.records(**asked).design(), design_records(**asked)
        assert made.value == pytest.approx(special.value, rel=2e-6)
        assert made.optimality.gap < 1e-4 and made.optimality.lower_bound <= special.value
        assert max(met(made, asked["accuracies"])) == pytest.approx(1, abs=1e-6)
        assert max(met(made, asked["accuracies"])) <= 1 + 1e-9
        assert made.optimality.value <= min(v for name, v in made.schemes.items() if name != "direct") * (1 + 1e-9)
        assert made.provenance["raw_violation"] < 1e-6


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(50))
def test_fifty_designs(seed: int) -> None:
    """Agreement to 1e-6, or to what both leave open."""
    asked = case(100 + seed, **KINDS[seed % 4])
    made, special = programs.records(**asked).design(), design_records(**asked)
    assert abs(made.value / special.value - 1) <= max(1e-6, made.optimality.gap + special.optimality.gap)
    assert made.optimality.lower_bound <= special.value * (1 + 1e-12) and special.optimality.lower_bound <= made.value * (
        1 + 1e-12
    )
    assert max(met(made, asked["accuracies"])) <= 1 + 1e-9


def test_h_is_what_least_squares_know() -> None:
    asked = case(1)
    program = programs.records(**asked)
    program.solve()
    for a in range(2):
        known = 1 / variances(asked["hierarchy"], program.point()[a][program.numbers.families])
        assert np.allclose(program.h.value[a], known, rtol=1e-9)
        assert np.allclose(program.standard_errors.value[a], known**-0.5, rtol=1e-9)


def test_a_cap_on_one_standard_error_binds_at_the_frozen_precisions() -> None:
    asked = case(2)
    free = programs.records(**asked).design()
    before = np.sqrt(variances(asked["hierarchy"], free.precisions[1][free.families]))
    program = programs.records(**asked)
    made = program.subject_to(program.standard_errors[1, 0] <= 0.6 * before[0], "the nation").design()
    after = np.sqrt(variances(asked["hierarchy"], np.maximum(made.precisions[1][made.families], 1e-12)))
    assert 0.599 * before[0] <= after[0] <= 0.6 * before[0] * (1 + 1e-9)
    assert made.value > free.value and made.optimality.lower_bound <= made.value
    assert max(met(made, asked["accuracies"])) <= 1 + 1e-9


def test_least_error_for_a_cap_on_every_loss() -> None:
    """The inverse: precisions of least mean variance whose policy stays below a limit at every record."""
    asked = case(3)
    limit = 2 * float(programs.records(**asked).design().losses(asked["prior"]).max())
    program = programs.records(**asked)
    made = program.subject_to(program.losses <= limit, "loss").minimise(cp.sum(program.variances[1])).design()
    assert made.losses(asked["prior"]).max() == pytest.approx(limit, rel=1e-5) and made.optimality is None
    assert made.losses(asked["prior"]).max() <= limit * (1 + 1e-12)
    plain = design_records(**asked).within(design_records(**asked).value * 2)
    totals = [variances(asked["hierarchy"], d.precisions[1][d.families]).sum() for d in (made, plain)]
    assert totals[0] <= totals[1] * (1 + 1e-6)


def test_contradictions_are_told_with_the_targets() -> None:
    program = programs.records(**case(0))
    program.subject_to(program.s[0] <= 1e-3, "few answers")
    with pytest.raises(
        DesignFailed, match=r"no values were found that satisfy 'few answers' .* while the accuracy targets are met"
    ):
        program.design()


def test_a_trace_of_every_record_pays_for_what_rounding_charges() -> None:
    """Unknowns that no binding record meets are charged 1e-17 by rounded slopes; the proven bound stays near the optimum."""
    asked = case(0, families=True, largest=True)
    assert design_records(**asked).optimality.gap < 2e-6

    def errors(s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.array([1 / s[0]]), np.array([[1 / s[0] ** 2, 1e-17]])

    loads = np.array([[1.0, 0.0], [0.1, 1.0]])
    assert least_load(loads, errors, np.ones(2)).gap < 1e-6
    assert bound_near(loads, errors, np.array([1.0, 1e-9]), np.ones(2)) == pytest.approx(1, abs=1e-6)


def test_refusals() -> None:
    with pytest.raises(InvalidProblem, match="accuracies: give one for each measure"):
        programs.records(**{**case(0), "accuracies": []})
    wide = Hierarchy.of(list(range(600)), top="all")
    program = programs.records(wide, [Accuracy(COUNT, np.ones(601))], PriorRecords.cap({"emp": 1.0}))
    with pytest.raises(DesignFailed, match="weights; state fewer groups, or use design_records"):
        program.subject_to(program.variances[0, 1] <= 1)

"""Tables that meet targets at stated budgets: the least loss, against the same program in CVXPY."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from designer import DesignFailed, InvalidProblem, MarginalMechanism, MarginalWorkload, Presence, Targets, metrics
from designer.domains.marginals_least import marginals_meeting
from designer.domains.marginals_plan import design_marginals
from designer.domains.mechanism import Protection, changes, load_matrix
from designer.problem.domain import Domain

DOMAIN = Domain.of({"sex": 2, "age": 3, "place": 4})
ASK = MarginalWorkload.up_to(DOMAIN, 2)
CASES = {
    "presence": Presence(mu=0.5),
    "attributes": metrics.hamming(DOMAIN, {"sex": 0.5, "age": 0.3, "place": 1.0}),
}


def least_loss(protection: Protection, allowed: dict[str, float]) -> float:
    """The same program over precisions, stated whole: weights 1, largest variances of some tables."""
    loads = load_matrix(changes(protection, DOMAIN, ASK.measured), len(ASK.measured))
    kept = np.asarray(abs(loads).sum(axis=0) > 0).ravel()
    precisions = cp.Variable(int(kept.sum()), pos=True)
    variances = ASK.cell_variances.toarray()[:, kept] @ cp.inv_pos(precisions)
    names = [" x ".join(ASK.names(subset)) for subset in ASK.subsets.tuples()]
    limits = [variances[names.index(name)] <= most for name, most in allowed.items()]
    problem = cp.Problem(cp.Minimize(ASK.cells @ variances), [np.asarray(loads)[:, kept] @ precisions <= 1, *limits])
    problem.solve(solver="CLARABEL")
    return float(problem.value)


def reached(made: MarginalMechanism, name: str) -> float:
    return float(np.sqrt(made.variances(name.split(" x ")).max()))


@pytest.mark.parametrize("name", CASES)
def test_the_loss_is_the_least_that_meets_the_targets(name: str) -> None:
    protection, own = CASES[name], design_marginals(ASK, CASES[name])
    asked = {"sex": 0.75 * reached(own, "sex"), "age x place": 0.9 * reached(own, "age x place")}
    made = marginals_meeting(ASK, protection, Targets(standard_error=asked))
    assert all(reached(made, table) <= most for table, most in asked.items()) and made.privacy.holds
    least = least_loss(protection, {table: most**2 for table, most in asked.items()})
    assert made.optimality is not None and made.optimality.lower_bound <= least * (1 + 1e-6)
    assert least * (1 - 1e-6) <= made.error() <= least * 1.002 and made.optimality.gap < 0.02


def test_targets_that_are_met_anyway_change_nothing_but_the_notes() -> None:
    own = design_marginals(ASK, Presence(mu=1.0))
    made = marginals_meeting(ASK, Presence(mu=1.0), Targets(margin=1000.0))
    assert made == own and made.optimality == own.optimality and len(made.provenance["targets"]) == len(ASK.subsets)


def test_relative_errors_and_margins_are_met() -> None:
    own = design_marginals(ASK, Presence(mu=0.5))
    most = 0.8 * reached(own, "age")
    made = marginals_meeting(ASK, Presence(mu=0.5), Targets(relative_error={("age",): most / 50}, reference={("age",): 50}))
    assert reached(made, "age") <= most < reached(own, "age")
    margin = marginals_meeting(ASK, Presence(mu=0.5), Targets(margin={"age": 1.96 * most}))
    assert reached(margin, "age") < most


def test_the_largest_loss_is_mixed_with_the_nearest_plan() -> None:
    own = design_marginals(ASK, Presence(mu=0.5), "max")
    asked = {"sex": 0.7 * reached(own, "sex")}
    made = marginals_meeting(ASK, Presence(mu=0.5), Targets(standard_error=asked), "max")
    assert reached(made, "sex") <= asked["sex"] and made.optimality is None and made.error("max") < 4 * own.error("max")


def test_what_no_plan_meets_is_refused_with_a_way_on() -> None:
    with pytest.raises(
        DesignFailed, match=r"targets: 'sex' has a standard error of .* and is to have 0.5; .*`dp-designer budget`"
    ):
        marginals_meeting(ASK, Presence(mu=0.1), Targets(standard_error={"sex": 0.5}))
    with pytest.raises(InvalidProblem, match=r"targets.standard_error: 'gender' is no query"):
        marginals_meeting(ASK, Presence(mu=0.1), Targets(standard_error={"gender": 0.5}))

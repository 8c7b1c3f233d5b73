"""An answer that no noise reaches is the number itself, to the last digit, whatever the family measures."""

from __future__ import annotations

import numpy as np
import pytest

from designer import Domain, Problem, Workload, design, invariants, metrics
from designer.base.errors import DesignFailed

COUNTS = [1_419_466, 2_774_157, 377_011, 903_207, 88_881, 640_003]
TABLE = Domain.of({"a": 2, "b": 3})
MARGINS = Workload.marginals(TABLE, [["a"], ["b"], ["a", "b"], []])
PROBLEMS = {
    "ranges": (Workload.all_ranges(6), metrics.uniform(6, 1.0)),
    "a total and multiples of it": (Workload([[3] * 6, [1, 2, 3, 4, 5, 6], [0.25] * 6, [0] * 6]), metrics.uniform(6, 0.5)),
    "margins of two parts": (MARGINS, metrics.partition([0, 0, 0, 1, 1, 1], 1.0)),
    "margins that are published": (MARGINS, invariants.margins(TABLE).protect(1.0, adjacency=2)),
}

FAMILIES = {
    "pure": ("laplace", "projected_laplace", "k_norm", "box", "strategy_laplace", "strategy_geometric"),
    "zcdp": ("gaussian", "diagonal_gaussian", "strategy_gaussian"),
}


@pytest.mark.parametrize("notion", FAMILIES)
@pytest.mark.parametrize("name", PROBLEMS)
def test_what_is_published_exactly_is_exact(name: str, notion: str) -> None:
    asked, relation = PROBLEMS[name]
    problem = Problem(asked, relation, notion=notion)
    truth = dict(zip(asked.queries, (asked.dense() @ np.array(COUNTS)).tolist(), strict=True))
    seen = set()
    for family in FAMILIES[notion]:
        try:
            mechanism = design(problem, family, effort="quick").mechanism
        except DesignFailed:
            continue
        if mechanism.exact:
            release = mechanism.release(COUNTS)
            answers = dict(zip(release.queries, release.answers.tolist(), strict=True))
            assert {query: answers[query] for query in mechanism.exact} == {query: truth[query] for query in mechanism.exact}
            seen.add(family)
    assert {"strategy_laplace", "strategy_gaussian"} & seen

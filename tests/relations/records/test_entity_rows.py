"""How many rows of an entity to count: against a count of made-up entities."""

from __future__ import annotations

import math

import numpy as np
import pytest

from designer import InvalidProblem, Problem, Workload, design, metrics
from designer.relations.records.entity_rows import rows_to_keep


def test_bias_is_what_is_left_out_of_made_up_entities_and_noise_that_of_a_design_for_entities() -> None:
    rows = np.random.default_rng(1).geometric(0.4, 5000)
    values, times = np.unique(rows, return_counts=True)

    def noise(k: int) -> float:
        made = design(Problem(Workload(np.ones((1, 1))), metrics.add_remove(1, 0.5 / k)), "laplace").mechanism
        return float(made.standard_errors()[0])

    found = rows_to_keep(dict(zip(values.tolist(), times.tolist(), strict=True)), 5000, noise(1))
    assert [row.rows for row in found] == list(range(1, 11))
    for row in found:
        kept = np.minimum(rows, row.rows).sum()
        assert row.bias == pytest.approx(rows.sum() - kept) and row.left_out == pytest.approx(1 - kept / rows.sum())
        assert row.noise == pytest.approx(noise(row.rows), rel=0.02)
        assert row.error == pytest.approx(math.sqrt(row.bias**2 + row.noise**2))


@pytest.mark.parametrize(
    ("sizes", "message"), [({}, "no numbers of rows"), ({0: 1}, "no numbers"), ({1: -1}, "below 0"), ({1: 0.0}, "all are 0")]
)
def test_what_is_no_distribution_is_refused(sizes: dict[int, float], message: str) -> None:
    with pytest.raises(InvalidProblem, match=f"sizes: .*{message}"):
        rows_to_keep(sizes, 10, 1.0)

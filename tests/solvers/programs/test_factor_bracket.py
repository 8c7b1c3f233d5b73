"""The search for the least factor, on ratios in steps: such as margins of whole-number noise."""

from __future__ import annotations

import math

import pytest

from solvers.programs.loads import least_factor


@pytest.mark.parametrize("wanted", [10.0, 9.999999999, 7.0, 1.0, 1000.0])
@pytest.mark.parametrize("start", [1e-3, 1.0, 50.0])
def test_ratios_that_fall_in_steps_are_bracketed_where_they_first_come_down_to_1(wanted: float, start: float) -> None:
    """`ceil(3 / f) <= wanted` exactly from `3 / floor(wanted)` on."""
    found = least_factor(lambda factor: math.ceil(3 / factor) / wanted, 1e-4, start)
    assert found is not None and found.missed < 3 / math.floor(wanted) <= found.met <= found.missed * (1 + 1e-4)
    assert len(found.evaluations) < 60

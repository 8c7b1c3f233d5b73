"""Arrays of floats that say what they were given."""

from __future__ import annotations

from inspect import signature

import numpy as np
import pytest

from designer import AdditiveMechanism, InvalidProblem, Workload
from designer.base.arrays import real_array
from designer.tables import Measure, TablePlan


@pytest.mark.parametrize("lossy", [[2**53 + 1, 1], [1.5, 2**60 + 1], np.array([2**53 + 1, 1])])
def test_integers_that_no_float_holds_are_refused(lossy: object) -> None:
    with pytest.raises(InvalidProblem, match="beyond 2\\^53"):
        real_array(lossy, "row", 1)
    assert real_array([2**53, 2**60], "row", 1).tolist() == [2.0**53, 2.0**60]


def test_help_shows_the_arguments_of_a_constructor_whose_parts_are_made_read_only() -> None:
    assert list(signature(Measure).parameters)[:2] == ["column", "step"]
    assert next(iter(signature(TablePlan).parameters)) == "queries"
    assert list(signature(Workload).parameters)[:2] == ["matrix", "queries"]
    assert "kwargs" not in str(signature(AdditiveMechanism))

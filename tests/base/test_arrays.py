"""Arrays of floats that say what they were given."""

from __future__ import annotations

import numpy as np
import pytest

from designer import InvalidProblem
from designer.base.arrays import real_array


@pytest.mark.parametrize("lossy", [[2**53 + 1, 1], [1.5, 2**60 + 1], np.array([2**53 + 1, 1])])
def test_integers_that_no_float_holds_are_refused(lossy: object) -> None:
    with pytest.raises(InvalidProblem, match="beyond 2\\^53"):
        real_array(lossy, "row", 1)
    assert real_array([2**53, 2**60], "row", 1).tolist() == [2.0**53, 2.0**60]

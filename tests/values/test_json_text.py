"""Arrays become the JSON values that their entries become one by one."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from designer.values.json_text import canonical, plain

ARRAYS = {
    "finite": np.array([[0.1, -0.0], [5e-324, 1.7976931348623157e308]]),
    "infinite": np.array([[np.inf, 1.0], [-np.inf, np.nan]]),
    "integers": np.array([[2**62, -1]], dtype=np.int64),
    "unsigned": np.array([2**64 - 1], dtype=np.uint64),
    "short floats": np.array([0.1], dtype=np.float32),
    "booleans": np.array([True, False]),
    "fractions": np.array([Fraction(1, 3), 2], dtype=object),
    "texts": np.array(["a", "é"]),
    "no entries": np.empty((0, 3)),
    "no dimension": np.array(2.5),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_is_written_as_its_entries_are(name: str) -> None:
    def entries(array: Any) -> Any:
        return [entries(part) for part in array] if getattr(array, "ndim", 0) else array

    given = ARRAYS[name]
    assert canonical({"a": given}) == canonical({"a": entries(given)})
    assert repr(plain(given)) == repr(plain(entries(given)))

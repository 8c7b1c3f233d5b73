"""Arrays become the JSON values that their entries become one by one."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from designer.base.errors import InvalidSpec
from designer.base.json_text import canonical, plain, read_json

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


@pytest.mark.parametrize("last", [1.5, float("inf"), float("-inf"), float("nan"), 2, True, None, "inf", [0.5], Fraction(1, 3)])
def test_lists_of_floats_are_written_as_their_entries_are(last: Any) -> None:
    """What is written at once is what is written one by one."""
    assert plain([0.5, -0.0, last]) == [0.5, -0.0, plain(last)] and plain((last, last)) == [plain(last)] * 2


BEYOND = ["1e309", "-1E+309", "1e0400 ", "1.5e99999", "1" * 250 + "e99", "-" + "1" * 250 + ".5E+80", "17e308\n"]


@pytest.mark.parametrize("number", BEYOND)
@pytest.mark.parametrize("around", ['{"a": %s}', '{"a": [0.5, %s]}', '{"a": [%s, 0.5], "hash": "1e234"}'])
def test_numbers_beyond_the_floats_are_refused_however_they_are_written(number: str, around: str, tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text(around % number, encoding="utf-8")
    with pytest.raises(InvalidSpec, match="beyond the floats"):
        read_json(path)


def test_numbers_within_the_floats_are_read_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text('{"a": [1e308, 1.7976931348623157e+308, 5e-324, 1e-400, 0.1, 12e2], "e123": "3e999"}', encoding="utf-8")
    assert read_json(path)["a"] == [1e308, 1.7976931348623157e308, 5e-324, 0.0, 0.1, 1200.0]

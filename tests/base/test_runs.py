"""Long lists in files as runs: there and back, one way to write each, and nothing that fills the memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from designer import InvalidSpec
from designer.base.run_length import MOST, SHORT, in_runs, names_from, names_in_runs, numbers_from

LISTS: dict[str, Any] = {
    "short": list(range(SHORT)),
    "rising": list(range(5000)),
    "falling by threes, then one": [*range(9000, 0, -3), 7],
    "two plateaus": [0.25] * 2000 + [np.inf] * 2000,
    "one after the other": list(np.arange(3000) % 2),
    "steps that meet": [0, 0, 0, 5, 5, 5, *range(4000)],
    "irregular": list(np.random.default_rng(1).integers(0, 1000, 3000)),
    "real": list(np.random.default_rng(2).random(3000)),
}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_comes_back_as_it_was(name: str) -> None:
    values = np.array(LISTS[name])
    written = in_runs(values)
    back = numbers_from(written, "values")
    assert np.array_equal(np.asarray(back), values) and np.asarray(back).dtype.kind == values.dtype.kind
    assert isinstance(written, dict) == (name in ("rising", "falling by threes, then one", "two plateaus", "steps that meet"))


def test_names_come_back_as_they_were() -> None:
    numbered = [f"e{k}" for k in range(3000)]
    for names in (
        numbered,
        [*numbered, "total"],
        ["a0", "total", *numbered],
        [f"q{k}x" for k in range(2000)],
        ["01", *numbered],
    ):
        assert names_from(names_in_runs(names), "names") == names
    assert names_in_runs(numbered) == {"runs": [["e", 0, 3000]]} and isinstance(names_in_runs(numbered[:SHORT]), list)
    assert isinstance(names_in_runs([f"{k}x" for k in range(2000)]), list)


def test_what_is_longer_than_runs_are_read_to_is_written_as_a_list() -> None:
    long = np.zeros(MOST + 1, dtype=np.int64)
    names = [f"e{k}" for k in range(MOST + 1)]
    assert in_runs(long) is long and names_in_runs(names) == names
    assert isinstance(in_runs(long[1:]), dict) and len(numbers_from(in_runs(long[1:]), "values")) == MOST


@pytest.mark.parametrize(
    "spec", [{"runs": [["e", 0, MOST + 1]]}, {"runs": [["e", -1, 3]]}, {"runs": [[1, 0, 3]]}, {"runs": 3}, {}]
)
def test_names_that_are_no_runs_are_refused(spec: Any) -> None:
    with pytest.raises(InvalidSpec, match="names"):
        names_from(spec, "names")

"""The table of sizes on the page of limits is that of the last run of growth."""

from __future__ import annotations

import json

from benchmarks.sizes_page import CASES, GROWTH, PAGE, STEEP, reason, table, written


def test_the_page_of_limits_has_the_sizes_of_the_last_run() -> None:
    """If this fails after a new run: python -m benchmarks.sizes_page."""
    growth = json.loads(GROWTH.read_text(encoding="utf-8"))
    text = PAGE.read_text(encoding="utf-8")
    assert written(text, growth) == text and table(growth).count("\n") == len(CASES) + 1


def test_every_case_that_grows_steeply_has_a_reason_beside_it() -> None:
    cases = json.loads(GROWTH.read_text(encoding="utf-8"))["cases"]
    assert [name for name, case in cases.items() if (case["exponent"] or 0.0) > STEEP and not reason(name)] == []

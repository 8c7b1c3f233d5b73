"""The table of sizes on the page of limits is that of the last run of growth."""

from __future__ import annotations

import json

from benchmarks.sizes_page import CASES, GROWTH, PAGE, table, written


def test_the_page_of_limits_has_the_sizes_of_the_last_run() -> None:
    """If this fails after a new run: python -m benchmarks.sizes_page."""
    growth = json.loads(GROWTH.read_text(encoding="utf-8"))
    text = PAGE.read_text(encoding="utf-8")
    assert written(text, growth) == text and table(growth).count("\n") == len(CASES) + 1

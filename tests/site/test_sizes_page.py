"""The tables of sizes on the page of limits say why a case grows steeply."""

from __future__ import annotations

import json

from benchmarks.sizes_page import CASES, GROWTH, STEEP, reason, steep, table


def test_the_tables_have_the_cases_of_the_last_run() -> None:
    growth = json.loads(GROWTH.read_text(encoding="utf-8"))
    assert table(growth).count("\n") == len(CASES) + 1
    assert all(words in table(growth) for words in CASES.values()) and steep(growth).count("\n") > 1


def test_every_case_that_grows_steeply_has_a_reason_beside_it() -> None:
    cases = json.loads(GROWTH.read_text(encoding="utf-8"))["cases"]
    assert [name for name, case in cases.items() if (case["exponent"] or 0.0) > STEEP and not reason(name)] == []

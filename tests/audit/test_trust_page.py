"""The page of attacks names tests that are there, and is what its command writes, counts of cases aside."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.oracles.trust_table import ATTACKS, ROOT, page

PAGE = (ROOT / "docs" / "explanation" / "trust.md").read_text()


def functions(file: str) -> set[str]:
    return {node.name for node in ast.walk(ast.parse(Path(ROOT / file).read_text())) if isinstance(node, ast.FunctionDef)}


@pytest.mark.slow
def test_every_test_that_a_row_names_exists() -> None:
    assert len(ATTACKS) == 19
    for attack in ATTACKS:
        for name in attack.tests:
            file, _, function = name.partition("::")
            found = functions(file)
            assert function in found if function else any(one.startswith("test") for one in found), name


def test_the_page_is_what_the_command_writes() -> None:
    def without_counts(text: str) -> str:
        return re.sub(r"\| \d+ \| (?=[^|]*\| `)", "| n | ", text)

    assert without_counts(PAGE) == without_counts(page(Counter()))
    tries = [int(row.split(" | ")[3]) for row in PAGE.splitlines() if re.match(r"\| \d+ \| ", row)]
    assert len(tries) == 19 and min(tries) > 0

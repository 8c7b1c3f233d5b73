"""The table of attacks names tests that are there."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from tests.oracles.trust_table import ATTACKS, ROOT, rows


@cache
def functions(file: str) -> set[str]:
    return {node.name for node in ast.walk(ast.parse(Path(ROOT / file).read_text())) if isinstance(node, ast.FunctionDef)}


def test_every_test_that_a_row_names_exists() -> None:
    assert len(ATTACKS) == 19
    for attack in ATTACKS:
        for name in attack.tests:
            file, _, function = name.partition("::")
            found = functions(file)
            assert function in found if function else any(one.startswith("test") for one in found), name


def test_every_attack_has_a_row_with_the_cases_of_its_tests() -> None:
    _, _, *told = rows({name: 2 for attack in ATTACKS for name in attack.tests})
    assert [int(row.split(" | ")[3]) for row in told] == [2 * len(attack.tests) for attack in ATTACKS]

"""One word, one thing: no public name of the packages is given to two classes or functions."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Each is the word of its field, and public in its own room: `metrics.partition`, `invariants.partition`; `main` runs a module.
SHARED = {
    "Sum": {"designer/metrics/metric.py", "designer/tables/queries.py"},
    "partition": {"designer/invariants/invariant.py", "designer/metrics/elements.py"},
    "main": {"designer/cli/entry.py", "designer/datasets/__main__.py", "designer/files/schema.py"},
}


@pytest.mark.slow
def test_no_name_is_given_twice() -> None:
    homes: dict[str, set[str]] = defaultdict(set)
    for path in [*(ROOT / "designer").rglob("*.py"), *(ROOT / "solvers").rglob("*.py")]:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
                homes[node.name].add(path.relative_to(ROOT).as_posix())
    assert {name: files for name, files in homes.items() if len(files) > 1} == SHARED

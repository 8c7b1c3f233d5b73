"""Which imports of a program are promises: names that tests/house/test_public_names.py lists, and rooms of such names."""

from __future__ import annotations

import ast

from tests.house.test_public_names import DEEPER, NAMES

PUBLIC = {room: set(names.split()) for room, names in (NAMES | DEEPER).items()}
# The rooms that `designer` shows under a shorter name.
PUBLIC |= {
    home: PUBLIC[f"designer.{name}"]
    for name, home in {
        "datasets": "designer.files.datasets",
        "invariants": "designer.relations.invariants",
        "metrics": "designer.relations.metrics",
        "programs": "designer.programs",
    }.items()
}


def inner_names(program: str, package: str = "designer") -> set[str]:
    """The names that a program imports from a package, local and type-only imports too, and that nobody promised to keep.

    >>> program = "from designer import design, datasets; from designer.base.progress import track; import designer.cli"
    >>> sorted(inner_names(program))
    ['designer.base.progress.track', 'designer.cli']
    """
    found = set()
    for node in ast.walk(ast.parse(program)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == package:
            room = node.module or ""
            asked = {name.name for name in node.names} - PUBLIC.get(room, set())
            found |= {f"{room}.{name}" for name in asked if f"{room}.{name}" not in PUBLIC}
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names if name.name.partition(".")[0] == package and name.name not in PUBLIC}
    return found

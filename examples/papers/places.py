"""Whether what a row names is there: files, names in them, tests, commands."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from examples.papers.frame import Read, Row, Verdict

ROOT = Path(__file__).parents[2]


@cache
def names_in(file: str) -> frozenset[str]:
    """Functions, classes, methods (`Class.method`) and constants that a file of the checkout defines at its top."""
    path = ROOT / file
    return frozenset(_defined(ast.parse(path.read_text()))) if path.is_file() else frozenset()


def _defined(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        if isinstance(node, ast.ClassDef):
            yield from (f"{node.name}.{part.name}" for part in node.body if isinstance(part, ast.FunctionDef))
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def lacking(row: Row) -> list[str]:
    """What a row names and the checkout does not have, and what its verdict asks for and it does not have."""
    places = [place for place in row.lives if place.split(":")[1] not in names_in(place.split(":")[0])]
    return places + ([] if runs(row.run) else [row.run]) + list(_unjustified(row))


def runs(command: str) -> bool:
    """Whether a test, or the module of a command, exists."""
    if command.startswith("python -m "):
        return importlib.util.find_spec(command.split()[2]) is not None
    file, _, name = command.partition("::")
    return name in names_in(file)


def _unjustified(row: Row) -> Iterator[str]:
    if not row.lives:
        yield "no place"
    if row.verdict in (Verdict.REPRODUCED, Verdict.CONSISTENT) and not row.numbers:
        yield f"{row.verdict} without numbers"
    if row.verdict is Verdict.PROVEN and not row.run.startswith("tests/"):
        yield "proven and tested without a test"
    if (row.verdict is Verdict.ERRATUM) != bool(row.errata):
        yield "an erratum without a counter-example, or the reverse"
    if (row.verdict is Verdict.DIFFERS) != bool(row.because):
        yield "a difference without a reason, or the reverse"


def unsatisfied(row: Row, full: bool) -> list[str]:
    """Why the numbers of a row contradict its verdict; empty where they do not."""
    values = row.values(full)
    outside = {value.name for value in values if not value.reached}
    explained = {value.name for value in values if value.reason}
    found = [f"{name} is outside its interval, and nothing says why" for name in sorted(outside - explained)]
    found += [f"{name} is explained, and inside its interval" for name in sorted(explained - outside)]
    taken = {value.read for value in values if value.expected is not None} - {Read.OWN}
    if row.verdict is Verdict.REPRODUCED and (outside or not any(read.printed for read in taken)):
        found.append("reproduced, with numbers outside or none printed in the paper")
    if row.verdict is Verdict.CONSISTENT and (outside or not taken):
        found.append("consistent, with numbers outside or none that the paper states")
    return found + [f"{erratum.title}: no contradiction" for erratum in row.errata if not erratum.holds()]

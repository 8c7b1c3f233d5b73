"""Sizes that are refused stand in the two files of limits: no `if` that raises compares one that another file states."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from numbers import Real

from designer import limits
from designer.sampling.integer_samplers import BLOCKS_PER_SIGMA, PLACE_BITS
from solvers import limits as solver_limits
from tests.house.test_layers import MODULES, tree

LIMITS = {limits.__name__, solver_limits.__name__}
APART = ("designer.verifier", "designer.docs")  # the second verifier imports nothing of the program
NO_SIZES = {"WIDE_NORMAL"}  # from which a moment has its expansion: less is refused, not more
ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def compared(module: ast.Module) -> Iterator[ast.expr]:
    """What an `if` that raises compares by order."""
    for node in ast.walk(module):
        if isinstance(node, ast.If) and any(isinstance(inner, ast.Raise) for inner in node.body):
            for test in ast.walk(node.test):
                if isinstance(test, ast.Compare) and any(isinstance(operator, ORDER) for operator in test.ops):
                    yield from (test.left, *test.comparators)


def sizes(side: ast.expr, name: str) -> Iterator[str]:
    """Constants of at least 2, and numbers of at least 16 but powers of two and of ten from 1e100 on: the ranges of formats."""
    for node in ast.walk(side):
        if isinstance(node, ast.Name) and node.id.isupper():
            value = getattr(import_module(name), node.id, None)
            if isinstance(value, Real) and value >= 2:
                yield node.id
    if not any(isinstance(node, (ast.Name, ast.Call, ast.Attribute, ast.Subscript)) for node in ast.walk(side)):
        value = eval(compile(ast.Expression(side), name, "eval"))
        if isinstance(value, (int, float)) and 16 <= value < 1e100 and int(value).bit_count() > 1:
            yield ast.unparse(side)


def stated_here(name: str) -> set[str]:
    """Sizes of a module that it compares before it raises, and that it does not take from the limits."""
    imports = [node for node in ast.walk(tree(name)) if isinstance(node, ast.ImportFrom) and node.module in LIMITS]
    known = NO_SIZES | {alias.asname or alias.name for node in imports for alias in node.names}
    return {size for side in compared(tree(name)) for size in sizes(side, name)} - known


def test_every_size_that_is_refused_comes_from_the_limits() -> None:
    modules = [name for name in MODULES if name not in LIMITS and not name.startswith(APART)]
    assert {name: found for name in modules if (found := stated_here(name))} == {}


def test_a_size_that_stands_elsewhere_is_seen() -> None:
    source = "if len(rows) > 1000:\n    raise ValueError\nif not 2 <= n <= BLOCKS_PER_SIGMA * 2:\n    raise ValueError"
    found = [size for side in compared(ast.parse(source)) for size in sizes(side, "designer.sampling.integer_samplers")]
    assert found == ["1000", "BLOCKS_PER_SIGMA"]


def test_every_limit_has_one_name_says_what_more_costs_and_is_used() -> None:
    names = [name for module in (limits, solver_limits) for name in vars(module) if name.isupper()]
    assert len(set(names)) == len(names)
    imports = [node for name in MODULES for node in ast.walk(tree(name)) if isinstance(node, ast.ImportFrom)]
    used = {alias.name for node in imports if node.module in LIMITS for alias in node.names}
    assert set(names) - used == set()
    lines = [line for module in LIMITS for line in MODULES[module].read_text(encoding="utf-8").splitlines()]
    assert len([line for line in lines if re.match(r"[A-Z_]+ = \S.*  # \S", line)]) == len(names)


def test_the_widest_gaussian_is_what_its_sampler_places() -> None:
    assert limits.LARGEST_GAUSSIAN_VARIANCE == 4 ** (BLOCKS_PER_SIGMA + PLACE_BITS)

"""Where a qualified name of the packages is: functions, methods, classes, and constants of modules and classes.

A key is `Class.method`, `function.inner`, `Class.FIELD` or `CONSTANT`. Where several modules have that name, as much of the
module's name as tells them apart comes first: `costs:Cost.pure`, `solvers.work:LONG`. A module and a colon is the whole module.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.mutation import patterns
from tests.mutation.patterns import Misfit

ROOT = Path(__file__).parents[2]
PACKAGES = ("designer", "solvers")
# What a name begins with where it is made, at any depth: only files in which this is found are parsed.
MADE = re.compile(r"^ *(?:(?:async )?def|class) (\w+)|^ *((?:\w+, )*\w+)(?:: [^=\n]+)?(?: =|: )", re.MULTILINE)
NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def files() -> dict[str, str]:
    """The files of the packages by their modules, dots and all."""
    found = {}
    for path in sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        file = path.relative_to(ROOT).as_posix()
        found[file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")] = file
    return found


@cache
def scopes(module: str) -> dict[str, list[patterns.Path]]:
    """The scopes of a module as it is in this project."""
    return scopes_of(ast.parse((ROOT / files()[module]).read_text()))


def scopes_of(tree: ast.Module) -> dict[str, list[patterns.Path]]:
    """By qualified name the nodes, each with what it is in; several where a name is given again; "" is the module."""
    found = defaultdict[str, list[patterns.Path]](list, {"": [(tree,)]})
    for name, path in _below((tree,), ""):
        found[name].append(path)
    return dict(found)


def modules_of(name: str) -> list[str]:
    """The modules that have a qualified name."""
    making = (_making().get(part, set()) for part in name.split("."))
    return [module for module in sorted(set.intersection(*making)) if name in scopes(module)]


@cache
def module_of(where: str) -> str:
    """The module that a key is in; `Misfit` where there is none, or more than one."""
    end, _, name = where.rpartition(":")
    having = modules_of(name) if name else list(files())
    found = [module for module in having if not end or f".{module}".endswith(f".{end}")]
    if len(found) != 1:
        told = ", ".join(f"{module}:{name}" for module in found) or "no module of the packages has it"
        raise Misfit(f"{where}: is in {len(found)} modules, not one: {told}.")
    return found[0]


def key_of(module: str, name: str) -> str:
    """The shortest key of a name."""
    others = [f".{other}" for other in (modules_of(name) if name else files()) if other != module]
    if name and not others:
        return name
    parts = module.split(".")
    ends = (".".join(parts[-k:]) for k in range(1, len(parts) + 1))
    return f"{next((end for end in ends if not any(other.endswith(f'.{end}') for other in others)), module)}:{name}"


@cache
def _making() -> dict[str, set[str]]:
    found = defaultdict(set)
    for module, file in files().items():
        for single, several in MADE.findall((ROOT / file).read_text()):
            for name in [single] if single else several.split(", "):
                found[name].add(module)
    return found


def _below(path: patterns.Path, prefix: str) -> Iterator[tuple[str, patterns.Path]]:
    """The names below a node; what functions assign is none."""
    for node in ast.iter_child_nodes(path[-1]):
        if isinstance(node, NAMED):
            yield prefix + node.name, (*path, node)
            yield from _below((*path, node), f"{prefix}{node.name}.")
        elif isinstance(node, (ast.stmt, ast.ExceptHandler)):
            if not any(isinstance(above, FUNCTIONS) for above in path):
                yield from ((prefix + name, (*path, node)) for name in _assigned(node))
            yield from _below((*path, node), prefix)


def _assigned(node: ast.AST) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    flat = [one for target in targets for one in (target.elts if isinstance(target, ast.Tuple) else [target])]
    return [one.id for one in flat if isinstance(one, ast.Name)]

"""Breaks that nobody thought of: lines of the trusted base drawn at random, each with one generic change of its meaning.

Rooms take turns; in a room a line is drawn, and one of the changes that it allows. The same seed draws the same from the same
source, and a function that changes or moves within its room leaves what is drawn of others as it was, but for how far the draw
goes. A drawn break is held against the default tests of its own room alone, those that call its function, the quickest first.
"""

from __future__ import annotations

import ast
import json
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import cache
from itertools import islice, zip_longest
from typing import Any

from tests.house.trusted_base import HARMLESS, STAGES
from tests.mutation import scopes
from tests.mutation.forks import Forks
from tests.mutation.mutant import Mutant, room_of
from tests.mutation.patterns import Change, Misfit, sites
from tests.mutation.scopes import ROOT

Called = dict[str, dict[str, Any]]
QUICK = 10.0  # seconds of tests that are asked for one break
PATIENCE = 10.0  # times the seconds of its tests, and as many seconds more, are no end
TURNED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitOr: ast.BitAnd,
}
REVERSED: dict[type[ast.AST], type[ast.AST]] = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}
PAIRS = (
    *(("min", "max"), ("ceil", "floor"), ("any", "all"), ("minimum", "maximum"), ("lower", "upper"), ("argmin", "argmax")),
    *(("float_above", "float_below"), ("float_above_real", "float_below_real"), ("left", "right"), ("union", "intersection")),
)
NAMES = {name: other for pair in PAIRS for name, other in (pair, pair[::-1])}
PASSED_OVER = (ast.JoinedStr, ast.Raise, ast.Assert, ast.Import, ast.ImportFrom)  # texts, and what no release runs


def rooms() -> dict[str, list[str]]:
    """The modules of the trusted base by the folder of their tests."""
    found = defaultdict(list)
    folders = tuple(folder for _, _, those, _ in STAGES for folder in those)
    for module, file in scopes.files().items():
        if file.startswith(folders) and file not in HARMLESS and not file.endswith("__init__.py"):
            found[room_of(file)].append(module)
    return {room: found[room] for room in sorted(found) if (ROOT / room).is_dir()}


def drawn(number: int, seed: int) -> list[Mutant]:
    """So many breaks, none twice, without tests: see `with_tests`."""
    turns = [_drawn_of(modules, seed) for modules in rooms().values()]
    random.Random(seed).shuffle(turns)
    return list(islice((mutant for turn in zip_longest(*turns) for mutant in turn if mutant is not None), number))


def _drawn_of(modules: Sequence[str], seed: int) -> Iterator[Mutant]:
    """The breaks of a room, in an order in which a line's place depends on the seed, its scope and its number there alone."""
    lines = [(f"{seed} {name} {number}", module) for module in modules for name, number in changes_of(module)]
    for text, module in sorted(lines, key=lambda line: (random.Random(line[0]).random(), line)):
        _, name, number = text.split(" ")
        mutant = _mutant(module, name, *random.Random(text + " change").choice(changes_of(module)[name, int(number)]))
        if mutant is not None:
            yield mutant


@cache
def changes_of(module: str) -> dict[tuple[str, int], list[tuple[Any, ast.AST]]]:
    """The nodes of a module that can be changed, with what they become, by their scope and the number of their line among the
    lines of the scope that can be changed."""
    known, owner = scopes.scopes(module), dict[ast.AST, str]()
    for name, path in sorted(((name, path) for name, paths in known.items() for path in paths), key=lambda one: len(one[1])):
        owner |= dict.fromkeys(ast.walk(path[-1]), name)
    found = defaultdict[str, dict[int, list[tuple[Any, ast.AST]]]](lambda: defaultdict(list))
    for node, changed in changes(known[""][0][0]):
        found[owner[node]][getattr(node, "lineno", 0)].append((node, changed))
    return {(name, k): lines[line] for name, lines in found.items() for k, line in enumerate(sorted(lines))}


def _mutant(module: str, name: str, node: Any, changed: ast.AST) -> Mutant | None:
    """The break as a mutant; None where nothing changes, or where the node is no place that a pattern can name."""
    shown = _with(node, body=[ast.Expr(ast.Constant(...))]) if isinstance(node, ast.If) else node
    old, new = ast.unparse(shown).replace(":\n    ...", ": ..."), ast.unparse(changed)
    try:
        change = Change.parsed(old, new)
    except Misfit:
        return None
    found = [site for path in scopes.scopes(module)[name] for site in sites(change, path)]
    places = [k for k, site in enumerate(found, 1) if node in site.nodes() or node in site.path[-1:]]
    if not places:
        return None
    breaks = f"{' '.join(old.split())[:60]!r} is {' '.join(new.split())[:60]!r}"
    return Mutant(scopes.key_of(module, name), old, new, breaks, nth=places[0] if len(found) > 1 else 0, drawn=True)


def changes(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Each node that can be changed, with what it becomes; what is only said, and types, are passed over."""
    yield from ((node, changed) for changed in _of_statement(node))
    if isinstance(node, PASSED_OVER) or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
        return
    if isinstance(node, ast.expr):
        yield from ((node, changed) for changed in _of_expression(node))
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns", "decorator_list", "bases", "format_spec"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from changes(child)


def _of_statement(node: ast.AST) -> Iterator[ast.AST]:
    """Statements that nothing later needs to be there: refusals, calls, sums that are added to, guards."""
    guard = isinstance(node, ast.If) and not node.orelse and isinstance(node.body[-1], (ast.Raise, ast.Return, ast.Continue))
    called = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    if guard or called or isinstance(node, (ast.Raise, ast.AugAssign, ast.Continue, ast.Break)):
        yield ast.Pass()


def _of_expression(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for table in (TURNED, REVERSED):
            if type(node.ops[0]) in table:
                yield _with(node, ops=[table[type(node.ops[0])]()])
    elif isinstance(node, ast.BinOp) and type(node.op) in TURNED:
        yield _with(node, op=TURNED[type(node.op)]())
    elif isinstance(node, ast.BoolOp):
        yield _with(node, op=TURNED[type(node.op)]())
        yield from (value for value in node.values if len(node.values) == 2)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        yield node.operand
    elif isinstance(node, ast.IfExp):
        yield _with(node, body=node.orelse, orelse=node.body)
    elif isinstance(node, ast.Constant):
        yield from map(ast.Constant, _other_values(node.value))
    elif isinstance(node, ast.Call):
        yield from _of_call(node)
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        for end in ("lower", "upper"):
            bound = getattr(node.slice, end)
            if bound is not None and not isinstance(bound, ast.Constant):
                later = ast.BinOp(bound, ast.Add(), ast.Constant(1))
                yield _with(node, slice=_with(node.slice, **{end: later}))


def _of_call(node: ast.Call) -> Iterator[ast.expr]:
    function = node.func
    if isinstance(function, ast.Name) and function.id in NAMES:
        yield _with(node, func=ast.Name(NAMES[function.id]))
    if isinstance(function, ast.Attribute) and function.attr in NAMES:
        yield _with(node, func=_with(function, attr=NAMES[function.attr]))
    if len(node.args) > 1 and not any(isinstance(argument, ast.Starred) for argument in node.args[:2]):
        yield _with(node, args=[node.args[1], node.args[0], *node.args[2:]])


def _other_values(value: object) -> list[Any]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1]
    if isinstance(value, float):
        return [value * 0.99, value * 1.01]
    return [NAMES[value]] if isinstance(value, str) and value in ("left", "right") else []


def _with(node: Any, **fields: Any) -> Any:
    changed = copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def with_tests(forks: Forks, mutants: Sequence[Mutant]) -> list[Mutant]:
    """Each break with the default tests of its room that call its function, the quickest first, up to `QUICK` seconds of them;
    with all default tests of the room where it stands outside functions."""
    called = {room: _called(forks, room) for room in sorted({mutant.room for mutant in mutants})}
    return [_with_those_that_call(mutant, called[mutant.room]) for mutant in mutants]


def _called(forks: Forks, room: str) -> Called:
    ran = forks.run(["-p", "tests.mutation.called", room], 3600.0)
    if ran.code != 0:
        raise Misfit(f"{room}: its tests fail without any mutant, so they can tell nothing:\n{ran.text[-2000:]}")
    noted: Called = json.loads((forks.tree / "called.json").read_text())
    return {test: one for test, one in noted.items() if ".py" in test}


def _with_those_that_call(mutant: Mutant, called: Called) -> Mutant:
    around = [node for node in mutant.site().path if isinstance(node, scopes.FUNCTIONS)][:1]
    if not around:
        return replace(mutant, tests=(mutant.room,), limit=PATIENCE * (1 + sum(t["seconds"] for t in called.values())))
    start = min([around[0].lineno, *(decorator.lineno for decorator in around[0].decorator_list)])
    calling = [
        (noted["seconds"], test)
        for test, noted in called.items()
        if any(file == mutant.file and start <= first <= (around[0].end_lineno or start) for file, first in noted["calls"])
    ]
    seconds, tests = 0.0, list[str]()
    for each, test in sorted(calling):
        if not tests or seconds + each < QUICK:
            seconds, tests = seconds + each, [*tests, test]
    return replace(mutant, tests=tuple(tests), limit=PATIENCE * (1 + seconds))

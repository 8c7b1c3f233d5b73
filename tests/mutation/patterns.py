"""Patterns of Python: a snippet that is matched against a syntax tree, and another that takes its place in the source.

Trees are those of `ast`: it is in the standard library, follows the Python that runs the tests, and its positions are enough to
replace one part of a text and leave the rest as it is, so that `libcst` is not needed.

A snippet is an expression, consecutive statements, an argument `name=value` of a call, or an entry `key: value` of a
dictionary. Layout, comments, quotes and parentheses do not matter. A block of `...` alone matches any block, and stands for the
same block in the replacement.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import dedent
from typing import Any

Path = tuple[ast.AST, ...]  # a node with all that it is in, the module first
Blocks = list[list[ast.stmt]]
PASSED_OVER = ("kind", "type_comment", "type_ignores")


class Misfit(Exception):
    """A mutant does not fit the source: its place is not there, is there twice, or what it becomes is no Python."""


@dataclass(frozen=True)
class Change:
    """What a snippet and its replacement say, as nodes of a kind: "expression", "statements" or "entry"."""

    kind: str
    old: list[Any]
    new: list[Any]

    @classmethod
    def parsed(cls, old: str, new: str) -> Change:
        """From two texts; `Misfit` where one is no Python, or where both mean the same."""
        try:
            change = cls._of_statements(_statements(old), _statements(new))
        except SyntaxError:
            change = cls("entry", _entry(old), _entry(new))
        if [ast.dump(node) for node in change.old] == [ast.dump(node) for node in change.new]:
            raise Misfit(f"{new!r} means the same as {old!r}.")
        return change

    @classmethod
    def _of_statements(cls, old: list[ast.stmt], new: list[ast.stmt]) -> Change:
        if not old:
            raise Misfit("an empty snippet is everywhere.")
        if len(old) == len(new) == 1 and isinstance(old[0], ast.Expr) and isinstance(new[0], ast.Expr):
            return cls("expression", [old[0].value], [new[0].value])
        return cls("statements", old, new)


@dataclass(frozen=True)
class Site:
    """A place that a pattern matches: items `start` to `stop` of the field of a node, or the whole field if `start` is None."""

    path: Path
    field: str
    start: int | None
    stop: int
    blocks: Blocks

    def nodes(self) -> list[Any]:
        """What is there."""
        value = getattr(self.path[-1], self.field)
        return [value] if self.start is None else value[self.start : self.stop]

    def put(self, new: Sequence[Any]) -> None:
        """Replace it, in the tree."""
        if self.start is None:
            (value,) = new
            setattr(self.path[-1], self.field, value)
        else:
            getattr(self.path[-1], self.field)[self.start : self.stop] = new


def sites(change: Change, path: Path) -> list[Site]:
    """All places in the last node of a path, that node included, where the old side of a change stands."""
    argument, found = _as_argument(change), list[Site]()
    for above, field, value, first in _fields(path):
        if isinstance(value, list):
            for start in range(len(value)):
                found += _at(change, argument, above, field, value[start:], first + start)
        elif change.kind == "expression" and _same(change.old[0], value, []):
            found.append(Site(above, field, None, 0, []))
    return found


def replaced(source: str, tree: ast.Module, site: Site, change: Change) -> str:
    """Replace a site in `tree` and in its source, of which the smallest part that gives the new tree is written again.

    That part is larger than the site where the site has no text of its own: a dropped argument, the inside of an f-string.
    """
    before = site.nodes()
    blocks = iter(site.blocks)
    after = [_with_blocks(node, blocks) for node in change.new]
    if site.field == "keys":
        site.path[-1].values[site.start : site.stop] = after[1:]  # type: ignore[attr-defined]
        after = after[:1]
    elif _as_argument(change) is not None and isinstance(before[0], ast.keyword):
        after = [ast.keyword(node.targets[0].id, node.value) for node in after]
    site.put(after)
    wanted = ast.dump(tree)
    for old, new in [(before, after), *(([node], [node]) for node in reversed(site.path[1:]))]:
        if site.field != "keys" or old is not before:
            text = _spliced(source, old, new)
            if text is not None and _dump(text) == wanted:
                return text
    raise Misfit("is no Python with its replacement.")


def _statements(text: str) -> list[ast.stmt]:
    return ast.parse(dedent(text).strip("\n")).body


def _entry(text: str) -> list[ast.AST | None]:
    if not text:
        return []
    try:
        (node,) = ast.parse(f"{{{text}\n}}").body
    except SyntaxError as error:
        raise Misfit(f"{text!r} is no Python: {error}.") from None
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Dict) and len(node.value.keys) == 1):
        raise Misfit(f"{text!r} is no Python.")
    return [node.value.keys[0], node.value.values[0]]


def _as_argument(change: Change) -> ast.keyword | None:
    """The old side as an argument of a call, where both sides can be one."""
    both = [*change.old, *change.new]
    if change.kind != "statements" or len(change.old) != 1 or len(change.new) > 1:
        return None
    if not all(isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) for node in both):
        return None
    return ast.keyword(change.old[0].targets[0].id, change.old[0].value)


def _fields(path: Path) -> Iterator[tuple[Path, str, Any, int]]:
    """The fields of the last node and of all nodes below it, each with its value and the index of its first item; before them
    the last node itself, as the only item of the list that it is in."""
    if len(path) > 1:
        for field, value in ast.iter_fields(path[-2]):
            if isinstance(value, list) and path[-1] in value:
                yield path[:-1], field, [path[-1]], value.index(path[-1])
    yield from _below(path)


def _below(path: Path) -> Iterator[tuple[Path, str, Any, int]]:
    for field, value in ast.iter_fields(path[-1]):
        yield path, field, value, 0
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _below((*path, child))


def _at(change: Change, argument: ast.keyword | None, above: Path, field: str, rest: list[Any], start: int) -> Iterator[Site]:
    """The site that begins with the first of some items, if there is one."""
    one, blocks = rest[0], Blocks()
    if change.kind == "entry":
        fits = field == "keys" and isinstance(above[-1], ast.Dict) and _same(change.old, [one, above[-1].values[start]], blocks)
    elif change.kind == "expression":
        fits = isinstance(one, ast.expr) and _same(change.old[0], one, blocks)
    elif isinstance(one, ast.keyword):
        fits = argument is not None and _same(argument, one, blocks)
    else:
        fits = isinstance(one, ast.stmt) and _same(change.old, rest[: len(change.old)], blocks)
    if fits:
        yield Site(above, field, start, start + (1 if change.kind == "entry" else len(change.old)), blocks)


def _same(pattern: Any, node: Any, blocks: Blocks) -> bool:
    """Whether two trees are the same; blocks of a node for which the pattern has `...` are added to `blocks`."""
    if isinstance(pattern, list):
        if _is_wildcard(pattern) and isinstance(node, list) and node:
            blocks.append(node)
            return True
        return isinstance(node, list) and len(pattern) == len(node) and all(map(_same, pattern, node, [blocks] * len(node)))
    if type(pattern) is not type(node):
        return False
    if not isinstance(pattern, ast.AST):
        return bool(pattern == node)
    names = [name for name in pattern._fields if name not in PASSED_OVER]
    return all(_same(getattr(pattern, name, None), getattr(node, name, None), blocks) for name in names)


def _is_wildcard(block: Sequence[Any]) -> bool:
    return (
        len(block) == 1
        and isinstance(block[0], ast.Expr)
        and isinstance(block[0].value, ast.Constant)
        and block[0].value.value is ...
    )


def _with_blocks(node: Any, blocks: Iterator[list[ast.stmt]]) -> Any:
    """A replacement with the blocks that its `...` stand for."""
    if isinstance(node, ast.AST):
        for name, value in ast.iter_fields(node):
            if isinstance(value, list) and _is_wildcard(value):
                setattr(node, name, next(blocks, value))
            else:
                for child in value if isinstance(value, list) else [value]:
                    _with_blocks(child, blocks)
    return node


def _dump(text: str) -> str | None:
    try:
        return ast.dump(ast.parse(text))
    except SyntaxError:
        return None


def _spliced(source: str, old: Sequence[Any], new: Sequence[Any]) -> str | None:
    """The source with the text of some nodes in place of that of others; None where they have none."""
    if not all(isinstance(node, (ast.expr, ast.stmt)) for node in [*old, *new]):
        return None
    lines = source.encode().splitlines(keepends=True)
    first = min([old[0].lineno, *(decorator.lineno for decorator in getattr(old[0], "decorator_list", []))])
    start = len(b"".join(lines[: first - 1])) + old[0].col_offset
    end = len(b"".join(lines[: old[-1].end_lineno - 1])) + old[-1].end_col_offset
    text = source.encode()[:start] + _written(new, old[0].col_offset // 4).encode() + source.encode()[end:]
    return text.decode(errors="replace")


def _written(nodes: Sequence[Any], depth: int) -> str:
    """Nodes as text: expressions in parentheses, statements at the depth of a block, without the space before the first."""
    if nodes and isinstance(nodes[0], ast.expr):
        return f"({ast.unparse(nodes[0])})"
    block = list(nodes)
    for _ in range(depth):
        block = [ast.If(ast.Constant(1), block, [])]
    return "\n".join(map(ast.unparse, block)).split("\n", depth)[depth].lstrip() if nodes else ""

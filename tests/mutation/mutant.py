"""One break made on purpose: a place in the source, what it says instead, and the tests that are to see it."""

from __future__ import annotations

import ast
import hashlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.mutation import patterns, scopes
from tests.mutation.patterns import Change, Misfit, Site


@dataclass(frozen=True)
class Mutant:
    """In the scope `where` the one place that says `old` says `new`; `breaks` is what is lost, `tests` name who is to see it.

    where: a key of `tests.mutation.scopes`. old, new: snippets of `tests.mutation.patterns`; an empty new one drops the old.
    nth: which of several equal places, from 1; 0 where there is one. tests: what pytest is asked for, files or `file::test`,
    below `tests/`. limit: seconds after which they have no end. drawn: by chance and not listed, so that a name that is no
    longer there is a break like any other.
    """

    where: str
    old: str
    new: str
    breaks: str
    tests: tuple[str, ...] = ()
    nth: int = 0
    limit: float = 300.0
    drawn: bool = False

    @property
    def file(self) -> str:
        """The file that has the scope, below the root of the project, with slashes."""
        return scopes.files()[scopes.module_of(self.where)]

    @property
    def room(self) -> str:
        """The folder of tests that mirrors the folder of the file: `tests/sampling`, `tests/solvers/exact`."""
        return room_of(self.file)

    def site(self) -> Site:
        """The place in the syntax tree of the file as it is in this project; `Misfit` where there is not exactly one."""
        return self._site(scopes.scopes(scopes.module_of(self.where)))[0]

    def applied(self, source: str) -> str:
        """The whole text of the file with the break in it; `Misfit` where it does not fit."""
        tree = ast.parse(source)
        site, change = self._site(scopes.scopes_of(tree))
        return patterns.replaced(source, tree, site, change)

    def becomes(self, tree: Path) -> str:
        """SHA-256 of what the whole file means with the break in it: the same as long as the file means the same."""
        return hashlib.sha256(ast.dump(ast.parse(self.applied((tree / self.file).read_text()))).encode()).hexdigest()

    @contextmanager
    def within(self, tree: Path) -> Iterator[None]:
        """The break stands in the copy of the project at `tree` as long as the context lasts."""
        path = tree / self.file
        source = path.read_text()
        try:
            _write(path, self.applied(source))
            yield
        finally:
            _write(path, source)

    def _site(self, known: Mapping[str, Sequence[patterns.Path]]) -> tuple[Site, Change]:
        try:
            change = Change.parsed(self.old, self.new)
        except Misfit as misfit:
            raise Misfit(f"{self.where}: {misfit}") from None
        found = [site for path in known.get(self.where.rpartition(":")[2], ()) for site in patterns.sites(change, path)]
        if (len(found) != 1) if not self.nth else (len(found) < max(2, self.nth)):
            wanted = f"at least {max(2, self.nth)} times" if self.nth else "once"
            raise Misfit(f"{self.where}: says {self.old!r} {len(found)} times, not {wanted}; the list of mutants must follow.")
        site = found[self.nth - 1 if self.nth else 0]
        gone = site.nodes() if not change.new else []
        if gone == getattr(site.path[-1], site.field) and isinstance(gone[0], ast.stmt):
            raise Misfit(f"{self.where}: without {self.old!r} a block is empty; put `pass` in its place.")
        return site, change


def room_of(file: str) -> str:
    """The folder of tests that mirrors the folder of a file."""
    parts = file.removesuffix(".py").split("/")
    return "/".join(["tests", *(parts[:2] if parts[0] == "solvers" else parts[1:2])])


def _write(path: Path, text: str) -> None:
    """Compiled files are told apart by size and second: no two versions of one file share a second here."""
    last = path.stat().st_mtime
    path.write_text(text)
    os.utime(path, (time.time(), last + 2))

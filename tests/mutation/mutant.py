"""One break made on purpose: a place in the source, what it says instead, and the tests that are to see it."""

from __future__ import annotations

import ast
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path


class Misfit(Exception):
    """A mutant does not fit the source: its text is not there, is there twice, or what it becomes is no Python."""


@dataclass(frozen=True)
class Mutant:
    """In `file` the one place that says `old` says `new`; `breaks` is what is lost by it, `tests` name who is to see it.

    file: a path below the root of the project, with slashes. old: text that stands there exactly once, line breaks and all.
    tests: what pytest is asked for, files or `file::test`, below `tests/`. limit: seconds after which they have no end.
    drawn: by chance and not listed, so that a name that is no longer there is a break as any other.
    """

    file: str
    old: str
    new: str
    breaks: str
    tests: tuple[str, ...]
    limit: float = 300.0
    drawn: bool = False

    @property
    def room(self) -> str:
        """The folder of tests that mirrors the folder of the file: `tests/sampling`, `tests/solvers/exact`."""
        parts = self.file.removesuffix(".py").split("/")
        return "/".join(["tests", *(parts[:2] if parts[0] == "solvers" else parts[1:2])])

    def applied(self, source: str) -> str:
        """The whole text of the file with the break in it; `Misfit` where it does not fit."""
        found = source.count(self.old)
        if found != 1:
            raise Misfit(f"{self.file}: says {self.old!r} {found} times, not once; the list of mutants must follow the code.")
        broken = source.replace(self.old, self.new)
        try:
            changed = ast.dump(ast.parse(broken)) != _meaning(source)
        except SyntaxError as error:
            raise Misfit(f"{self.file}: is no Python with {self.new!r} in it: {error}.") from None
        if not changed:
            raise Misfit(f"{self.file}: {self.new!r} means the same as {self.old!r}.")
        return broken

    def becomes(self, tree: Path) -> str:
        """SHA-256 of the whole file with the break in it: the same as long as the file is."""
        return hashlib.sha256(self.applied((tree / self.file).read_text()).encode()).hexdigest()

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


@lru_cache(maxsize=1024)
def _meaning(source: str) -> str:
    """A text without its comments and layout."""
    return ast.dump(ast.parse(source))


def _write(path: Path, text: str) -> None:
    """Compiled files are told apart by size and second: no two versions of one file share a second here."""
    last = path.stat().st_mtime
    path.write_text(text)
    os.utime(path, (time.time(), last + 2))

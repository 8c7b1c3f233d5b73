"""Folders written whole or not at all: filled under another name beside their destination, synced, then renamed.

A process that ends in between leaves what stood there, and perhaps a hidden folder `.*.tmp` beside it, which nobody reads.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from designer.base.checks import shown, system_words
from designer.base.errors import CannotWrite, InvalidProblem
from designer.base.output import sync_folder

INDEX = "tables.json"  # lists the files of a folder: what is replaced is what this program wrote


def names_folder(text: str) -> bool:
    """Is an output meant to be a folder: it ends in a slash, or is one?"""
    return text.endswith(("/", os.sep)) or os.path.isdir(text)


def checked_folder(path: Path, *, inputs: Sequence[Path] = (), replace: bool = False) -> Path:
    """Where a folder of that name will be written, links followed; asked before anything is computed or spent.

    inputs: files that are read; none of them may lie in it. replace: may a folder that this program wrote be replaced? An
    empty folder is filled without asking. Raises `InvalidProblem` where none can be written.
    """
    try:
        target = path.resolve()
        parent = target.parent.is_dir()
        held = sorted(entry.name for entry in os.scandir(target)) if target.is_dir() else None
    except (OSError, ValueError, RuntimeError) as error:
        raise InvalidProblem(f"path: {_name(path)} names no folder ({system_words(error)}); name another.") from None
    if not parent or target == target.parent:
        raise InvalidProblem(f"path: {_name(path.parent)} is not a folder; create it first.")
    if held is None and (target.exists() or target.is_symlink()):
        raise InvalidProblem(f"path: {_name(path)} is a file; name a folder, or one that is not there yet.")
    for read in inputs:
        if target in (read.resolve(), *read.resolve().parents):
            raise InvalidProblem(f"path: {_name(path)} holds an input, {_name(read)}; name another folder.")
    if held and not replace:
        raise InvalidProblem(f"path: {_name(path)} exists; name another folder, or replace it with --force.")
    if held and (strange := [name for name in held if name not in _written(target)]):
        raise InvalidProblem(
            f"path: {_name(path)} holds {shown(strange[0])}, which this program did not write there; name another folder, or "
            "move it away."
        )
    _require_room(target.parent)
    return target


def write_folder(
    path: Path, fill: Callable[[Path], Iterable[tuple[str, bytes]]], *, inputs: Sequence[Path] = (), replace: bool = False
) -> Path:
    """Write a folder: what `fill` yields, names with contents, under a hidden name beside the destination; then rename it.

    fill: takes the hidden folder, in which it may also write by itself. Raises `InvalidProblem` where the path names no
    folder to write, `CannotWrite` where the disk takes none; then there is what was there before.
    """
    target = checked_folder(path, inputs=inputs, replace=replace)
    with _hidden(target.parent) as made:
        try:
            for name, content in fill(made):
                _write(made / name, content)
            sync_folder(made)
        except OSError as error:
            raise CannotWrite(f"path: {_name(path)} was not written ({error.strerror}); nothing was left there.") from None
        checked_folder(path, inputs=inputs, replace=replace)  # another process may have been there
        _move(made, target, path, replace)
    sync_folder(target.parent)
    return path


def _write(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def _hidden(parent: Path) -> Iterator[Path]:
    """An empty folder; gone afterwards unless it was moved."""
    made = parent / f".{os.urandom(8).hex()}.tmp"
    try:
        made.mkdir()
    except OSError as error:
        raise CannotWrite(f"path: {_name(parent)} takes no new folder ({error.strerror}); give another place.") from None
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _move(made: Path, target: Path, path: Path, replace: bool) -> None:
    """Rename, which no reader sees half of. A folder that is replaced steps aside first, and comes back where that fails."""
    aside = target.parent / f".{os.urandom(8).hex()}.tmp"
    stepped = replace and target.is_dir() and any(os.scandir(target))
    try:
        if stepped:
            os.rename(target, aside)
        try:
            os.rename(made, target)  # over an empty folder, too; refused over any other
        except OSError:
            if stepped:
                os.rename(aside, target)
            raise
    except OSError:
        raise InvalidProblem(
            f"path: {_name(path)} exists, or came to be; name another folder, or replace it with --force."
        ) from None
    if stepped:
        shutil.rmtree(aside, ignore_errors=True)


def _written(target: Path) -> set[str]:
    """The files that the index of a folder lists, and itself; none where it has no index that can be read."""
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        index = json.loads((target / INDEX).read_text(encoding="utf-8"))
        return {INDEX, *map(str, index["files"])}
    return set()


def _require_room(parent: Path) -> None:
    """The folder takes new ones."""
    with _hidden(parent):
        pass


def _name(path: Path) -> str:
    text = str(path)
    return text if len(text) <= 200 and text.isprintable() else shown(text)

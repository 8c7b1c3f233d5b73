"""Files written whole or not at all: never over an input, a folder or a device,
over another file only where that is asked for."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from designer.base.checks import shown, system_words
from designer.base.errors import CannotWrite, InvalidProblem


def checked_target(path: Path, *, inputs: Sequence[Path] = (), replace: bool = False) -> Path:
    """Where a file of that name will be written, links followed; asked before anything is computed or spent.

    inputs: files that are read, never replaced under any of their names. replace: may another regular file be replaced?
    Raises `InvalidProblem` where no file may be written, `CannotWrite` where the folder takes none.
    """
    target = _target(path)
    for read in inputs:
        if target == read.resolve() or (target.exists() and read.exists() and target.samefile(read)):
            raise InvalidProblem(f"path: {_name(path)} is an input, {_name(read)}; name another file.")
    if target.exists() and not replace:
        raise _exists(path)
    with _beside(target):
        pass  # the folder takes new files
    return target


def write_whole(path: Path, content: str | bytes, *, replace: bool = True, secret: bool = False) -> Path:
    """Write a file beside its destination, sync it, and move it there, so that a reader never sees half of it.

    replace: may a regular file be replaced? Its mode is kept; a new file's is what the user's mask leaves. Anything else that
    stands there is refused. secret: can nobody but its owner read a new file at any moment? Raises `InvalidProblem` where the
    path names no file, `CannotWrite` where the disk or the folder takes none.
    """
    target = _target(path)
    try:
        with _beside(target, 0o600 if secret else 0o666) as (file, temporary):
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            if target.exists():
                os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
            os.fsync(file.fileno())
            file.close()
            _move(temporary, target, path, replace)
        sync_folder(target.parent)
    except OSError as error:
        raise CannotWrite(
            f"path: {_name(path)} cannot be written ({error.strerror}); make room, or give another place."
        ) from None
    return path


def _target(path: Path) -> Path:
    """The regular file that is there, or could be, behind all links."""
    try:
        folder, target = path.parent.resolve(), path.resolve()
        kind = stat.S_IFMT(target.stat().st_mode) if target.exists() else stat.S_IFREG
        is_folder = target.parent.is_dir()
    except (OSError, ValueError, RuntimeError) as error:  # too long, a zero byte, links in a circle
        raise InvalidProblem(f"path: {_name(path)} names no file ({system_words(error)}); give the path of a file.") from None
    # /dev/stdout may lead to a regular file, which belongs to who redirected it there.
    if kind != stat.S_IFREG or folder == Path("/dev") or folder.parts[:2] == ("/", "proc"):
        raise InvalidProblem(f"path: {_name(path)} is a folder or a device; name a file to write.")
    if not is_folder:
        raise InvalidProblem(f"path: {_name(path.parent)} is not a folder; create it first.")
    return target


@contextmanager
def _beside(target: Path, mode: int = 0o666) -> Iterator[tuple[BinaryIO, Path]]:
    """An empty file in the same folder; gone afterwards unless it was moved."""
    temporary = target.parent / f".{os.urandom(8).hex()}.tmp"
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
    except OSError as error:
        raise CannotWrite(f"path: {_name(target.parent)} takes no new file ({error.strerror}); give another place.") from None
    try:
        with os.fdopen(handle, "wb") as file:
            yield file, temporary
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


def _move(temporary: Path, target: Path, path: Path, replace: bool) -> None:
    if not replace:
        try:
            os.link(temporary, target)  # the one call that refuses where a file stands
            return
        except FileExistsError:
            raise _exists(path) from None
        except OSError:  # a folder without hard links
            if target.exists():
                raise _exists(path) from None
    os.replace(temporary, target)


def _exists(path: Path) -> InvalidProblem:
    return InvalidProblem(f"path: {_name(path)} exists; name another file, or replace it with --force.")


def sync_folder(folder: Path) -> None:
    """The name of a new file is on the disk only when its folder is."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _name(path: Path) -> str:
    text = str(path)
    return text if len(text) <= 200 and text.isprintable() else shown(text)

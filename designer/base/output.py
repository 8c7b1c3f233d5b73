"""Files written whole or not at all: never over an input, a folder or a device,
over another file only where that is asked for."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    with _temporary(target):
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
        with _temporary(target, 0o600 if secret else 0o666) as (file, temporary):
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
    if folder.parts[:2] == ("/", "proc"):
        raise InvalidProblem(f"path: {_name(path)} is in /proc, where no file is kept; name a file in another folder.")
    if kind != stat.S_IFREG or folder == Path("/dev"):
        raise InvalidProblem(f"path: {_name(path)} is a folder or a device; name a file to write.")
    if not is_folder:
        raise InvalidProblem(f"path: {_name(path.parent)} is not a folder; create it first.")
    return target


@contextmanager
def _temporary(target: Path, mode: int = 0o666) -> Iterator[tuple[BinaryIO, Path]]:
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


# Folders written whole or not at all: filled under another name beside their destination, synced, then renamed.
#
# A process that ends in between leaves what stood there, and perhaps a hidden folder `.*.tmp` beside it, which nobody reads.


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
        mode = None
        with suppress(FileNotFoundError):  # asked once: another writer may make it at any moment
            mode = target.lstat().st_mode
        held = sorted(entry.name for entry in os.scandir(target)) if mode is not None and stat.S_ISDIR(mode) else None
    except (OSError, ValueError, RuntimeError) as error:
        raise InvalidProblem(f"path: {_name(path)} names no folder ({system_words(error)}); name another.") from None
    if not parent or target == target.parent:
        raise InvalidProblem(f"path: {_name(path.parent)} is not a folder; create it first.")
    if held is None and mode is not None:
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
        _move_folders(made, target, path, replace)
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


def _move_folders(made: Path, target: Path, path: Path, replace: bool) -> None:
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


# What a file looks like that was given in the place of another, so that a refusal can say it.


# What files begin with, and what they are then.
BEGINNINGS: Mapping[bytes, str] = {
    b"SQLite format 3\x00": "a ledger",
    b"PK\x03\x04": "a spreadsheet, or another archive",
    b"\xd0\xcf\x11\xe0": "a spreadsheet",
    b"PAR1": "a table (Parquet)",
    b"\x93NUMPY": "an array (NPY)",
    b"-----BEGIN": "a key",
    b"\xff\xfe": "a text in UTF-16",
    b"\xfe\xff": "a text in UTF-16",
}
FORMATS_OF_OWN = {"dp-designer/release": "a release", "dp-designer/signature": "a signature"}
REMEDIES: Mapping[str, str] = {
    "a spec": "verify, show, report, release and sample take it",
    "a release": "it goes behind its spec: dp-designer verify SPEC RELEASE",
    "a signature": "give the file that it signs; verify finds the signature beside it",
    "a ledger": "dp-designer ledger, and verify, take it; give it behind --ledger to release",
    "a problem file": "make a spec of it: dp-designer design FILE.toml -o SPEC.json",
    "a table (CSV)": "the table of a release goes behind the spec: dp-designer release SPEC --histogram FILE, or --table FILE",
    "a text in UTF-16": "save it as UTF-8",
    "a spreadsheet": "save the sheet as CSV",
    "a spreadsheet, or another archive": "save the sheet as CSV",
    "empty": "restore it, or make it again",
}
LOOKED_AT = 1 << 20  # bytes: a larger file is told by its beginning
FORMAT_WITHIN = 4000  # characters within which files of this program name their format
_FORMAT = re.compile(r'"format"\s*:\s*"(dp-designer/[a-z-]+)"')


def looks_like(content: bytes) -> str:
    """What the bytes of a file look like, such as "a spec"; empty where nobody knows.

    >>> looks_like(b""), looks_like(b"title = 'x'"), looks_like(b"name,count\\nA,1")
    ('empty', 'a problem file', 'a table (CSV)')
    """
    if not content.strip():
        return "empty"
    found = next((words for start, words in BEGINNINGS.items() if content.startswith(start)), "")
    if found:
        return found
    try:
        text = content[:LOOKED_AT].decode("utf-8-sig")
    except UnicodeDecodeError:
        return ""
    return _of_json(text) or _of_toml(text) or _of_lines(text)


def mistaken(content: bytes, wanted: str) -> str:
    """A clause for a refusal: what the file is instead of what was wanted, and what to do with it; empty where nobody knows.

    >>> mistaken(b"name,count", "a problem file")[:40]
    'is a table (CSV), not a problem file; th'
    """
    found = looks_like(content)
    if not found or found in wanted:
        return ""
    said = "is empty" if found == "empty" else f"is {found}, not {wanted}"
    return f"{said}; {REMEDIES.get(found, f'give {wanted}')}"


def _of_json(text: str) -> str:
    if not text.lstrip().startswith("{"):
        return ""
    if own := _FORMAT.search(text[:FORMAT_WITHIN]):
        return FORMATS_OF_OWN.get(own[1], "a spec")
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return ""
    return "a JSON file of another program"


def _of_toml(text: str) -> str:
    try:
        return "a problem file" if tomllib.loads(text) else ""
    except (ValueError, RecursionError):
        return ""


def _of_lines(text: str) -> str:
    """Lines with as many separators each are a table."""
    lines = [line for line in text.splitlines()[:5] if line.strip()]
    for mark in (",", ";", "\t"):
        counts = {line.count(mark) for line in lines}
        if len(counts) == 1 and counts != {0} and "=" not in lines[0] and not lines[0].lstrip().startswith(("{", "[")):
            return "a table (CSV)"
    return ""

"""Where a ledger may lie: one regular file under one name, on a disk of this machine, whose locks hold among its processes."""

from __future__ import annotations

import errno
import stat
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from designer.base.checks import shown, system_words
from designer.base.errors import InvalidProblem, LedgerUnavailable

# File systems of other machines. Their locks and their fsync may lie, and two machines may then both spend what is left.
NETWORK = frozenset(
    {
        *(
            "9p",
            "afs",
            "beegfs",
            "ceph",
            "cifs",
            "coda",
            "glusterfs",
            "gpfs",
            "lustre",
            "ncpfs",
            "nfs",
            "nfs4",
            "smb3",
            "smbfs",
        ),
        *("fuse.glusterfs", "fuse.s3fs", "fuse.sshfs"),
    }
)
# What is wrong with the name itself; anything else that the system says is a state of the machine.
MISTAKEN = frozenset({errno.EINVAL, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOENT, errno.ENOTDIR})
MOUNTS = Path("/proc/self/mountinfo")


def place_of(path: str | Path) -> Path:
    """The absolute path of a ledger, links followed; `InvalidProblem` where a ledger is not safe, or no file can be;
    `LedgerUnavailable` where the system does not let it be looked at.

    Symbolic links are followed, so that all names lead to one lock. A second hard link is refused: a crash under one name
    leaves a journal that nobody looks for under the other.
    """
    given = Path(path)
    try:
        target = given.resolve()
        found = target.stat() if target.exists() else None
        folder = target.parent.is_dir()
    except (OSError, ValueError, RuntimeError) as error:
        if isinstance(error, OSError) and error.errno not in MISTAKEN:
            raise LedgerUnavailable(
                f"ledger: {shown(str(given))} cannot be reached ({system_words(error)}). Nothing was recorded by this call; "
                "mend that, and try again.",
                value=given,
            ) from None
        raise InvalidProblem(
            f"ledger: {shown(str(given))} names no file ({system_words(error)}); give the path of a file.",
            value=given,
        ) from None
    if found is not None and not stat.S_ISREG(found.st_mode):
        raise InvalidProblem(f"ledger: {shown(str(given))} is a folder or a device; name a file.", value=given)
    if found is not None and found.st_nlink > 1:
        raise InvalidProblem(
            f"ledger: {shown(str(given))} has {found.st_nlink} hard links, and a crash under one name is not mended under "
            "another; keep one of them (a symbolic link is fine).",
            value=given,
        )
    if not folder:
        raise InvalidProblem(f"ledger: {shown(str(target.parent))} is not a folder; create it first.", value=target.parent)
    _require_local(target)
    return target


def _require_local(target: Path) -> None:
    kind = file_system(target)
    if kind in NETWORK:
        raise InvalidProblem(
            f"ledger: {shown(str(target))} lies on a network file system ({kind}), whose locks do not keep two machines from "
            "spending the same budget; keep it on a disk of the machine that releases, and copy it from there.",
            value=target,
        )


def file_system(target: Path) -> str | None:
    """The type of the file system that a path lies on, by the mounts of this process; None where the system does not tell."""
    with suppress(OSError):
        found = _mounted(MOUNTS.read_text(errors="surrogateescape"))
        return next((found[place] for place in map(str, (target, *target.parents)) if place in found), None)
    return None


@lru_cache(maxsize=1)
def _mounted(text: str) -> Mapping[str, str]:
    """The type of the file system of each mount, as the system lists them: the text is read each time, and parsed where it is
    another than the last time."""
    found: dict[str, str] = {}
    with suppress(ValueError, IndexError):
        for line in text.splitlines():
            fields, _, rest = line.partition(" - ")
            mount = fields.split()[4].encode("latin-1", "surrogateescape").decode("unicode_escape", "surrogateescape")
            found[mount] = rest.split()[0]  # a later mount hides an earlier one
    return found

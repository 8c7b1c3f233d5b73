"""Is a file the data set that a ledger speaks of? By its bytes, where the hash of them was stated."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from designer.base.checks import shown, system_words
from designer.base.errors import InvalidProblem

OTHER = (
    "dataset: the ledger states another content than that of {files}; give the file that was stated, or state the new content "
    "as a data set of its own."
)


def content_hash(files: Sequence[Path], ledger: str) -> str:
    """SHA-256 of the identifier of the ledger and of the bytes of some files, in the order of their names.

    Who has the ledger and a guess of the whole content can tell whether it is right: such a ledger is confidential.
    """
    found = hashlib.sha256(ledger.encode())
    for path in sorted(files):
        try:
            with path.open("rb") as file:
                part = hashlib.file_digest(file, "sha256").digest()
        except (OSError, ValueError) as error:
            raise InvalidProblem(
                f"content: cannot read {shown(str(path))} ({system_words(error)}); give a file that can be read."
            ) from None
        found.update(part)
    return found.hexdigest()


def require_content(stated: str | None, files: Sequence[Path], ledger: str) -> None:
    """Refuse files that are not there, and those that are not what was stated.

    For the stated content itself this always passes, so that it tells nothing of the data set.
    """
    if missing := [path for path in files if not path.is_file()]:
        raise InvalidProblem(f"{shown(str(missing[0]))}: no such file; nothing was reserved.")
    if stated is not None and content_hash(files, ledger) != stated:
        raise InvalidProblem(OTHER.format(files=shown([str(path) for path in files])))

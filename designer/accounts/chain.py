"""Entries of a ledger, chained by hash: whoever alters, drops or moves one has to alter every later one, and so the head.

The hash of an entry is `sha256(previous + "\\n" + body)`, all in ASCII: the hash of the entry before it (64 zeros before the
first), a line feed, and the canonical JSON of the entry. The head of a chain is the hash of its last entry.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from designer.base.checks import shown
from designer.base.errors import InvalidLedger
from designer.base.json_text import canonical

FIRST = "0" * 64  # in the place of the hash before the first entry
ADDED_LATER = ("ledger", "seal", "signature")  # what is put into a document after its hash was recorded
RESTORE = (
    "Restore the file from a copy, and compare its head with that of the latest release (dp-designer ledger check --head)."
)


@dataclass(frozen=True)
class Entry:
    """One row of a ledger as it is stored. signature: of `hash`, by the key that the body names as `signer`."""

    number: int
    previous: str
    body: str
    hash: str
    signature: str | None = None

    @cached_property
    def content(self) -> dict[str, Any]:
        """What the body says."""
        read: dict[str, Any] = json.loads(self.body)
        return read

    @property
    def kind(self) -> str:
        """One of `designer.accounts.entries.KINDS`."""
        return str(self.content["kind"])

    def to_dict(self) -> dict[str, Any]:
        """Plain data: what it says, and its hash."""
        return {**self.content, "hash": self.hash}


def entry_hash(previous: str, body: str) -> str:
    """The hash of an entry with this text after the entry of that hash."""
    return hashlib.sha256(f"{previous}\n{body}".encode()).hexdigest()


def output_hash(document: Mapping[str, Any]) -> str:
    """SHA-256 of a release, the canonical JSON of its document without what is added once it has been recorded."""
    return hashlib.sha256(canonical({key: document[key] for key in document if key not in ADDED_LATER})).hexdigest()


def next_entry(before: Entry | None, content: Mapping[str, Any]) -> Entry:
    """The entry of some content after another, or the first; its signature is still missing."""
    number, previous = (1, FIRST) if before is None else (before.number + 1, before.hash)
    body = canonical({**content, "number": number}).decode()
    return Entry(number, previous, body, entry_hash(previous, body))


def followed(rows: Iterable[tuple[Any, ...]], before: Entry | None = None) -> tuple[Entry, ...]:
    """The entries of rows of a file, each of which must follow the one before it; `InvalidLedger` names the first that fails.

    rows: number, previous, body, hash, signature. before: the entry that the first row has to follow, None at the beginning.
    """
    entries = []
    for row in rows:
        before = _following(before, row)
        entries.append(before)
    return tuple(entries)


def alone(row: tuple[Any, ...]) -> Entry:
    """The entry of a row, whose hash must be that of its text; what comes before it is not looked at."""
    if not _typed(row):
        raise InvalidLedger(f"ledger: entry {shown(row[0])} is not of the types that this program writes. {RESTORE}")
    number, previous, *_ = row
    return _following(Entry(number - 1, "", "", previous), row)


def _following(before: Entry | None, row: tuple[Any, ...]) -> Entry:
    number, previous = (1, FIRST) if before is None else (before.number + 1, before.hash)
    if not _typed(row):
        raise InvalidLedger(
            f"ledger: the entry after number {number - 1} is not of the types that this program writes. {RESTORE}"
        )
    entry = Entry(*row)
    if entry.number != number:
        raise InvalidLedger(f"ledger: entry {number} is missing; number {entry.number} stands in its place. {RESTORE}")
    if entry.previous != previous:
        raise InvalidLedger(
            f"ledger: entry {number} does not follow the entry before it, which was altered or exchanged. {RESTORE}"
        )
    if entry.hash != entry_hash(previous, entry.body):
        raise InvalidLedger(f"ledger: entry {number} was altered: its hash is not that of its text. {RESTORE}")
    if not _names_itself(entry):
        raise InvalidLedger(f"ledger: entry {number} is not written by this program. {RESTORE}")
    return entry


def _typed(row: tuple[Any, ...]) -> bool:
    number, *texts, signature = row
    return (
        type(number) is int
        and all(type(text) is str and text.isascii() for text in texts)
        and type(signature) in (str, type(None))
    )


def require_canonical(entry: Entry) -> None:
    """`InvalidLedger` where the body is not the one text that its content has."""
    if canonical(entry.content) != entry.body.encode():
        raise InvalidLedger(f"ledger: entry {entry.number} is not written as this program writes it. {RESTORE}")


def _names_itself(entry: Entry) -> bool:
    """Is the body an object with the number of its entry?"""
    try:
        named = isinstance(entry.content, dict) and entry.content.get("number")
        return type(named) is int and named == entry.number
    except (ValueError, RecursionError):
        return False

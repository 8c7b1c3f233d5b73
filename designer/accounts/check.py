"""The check of a whole ledger: its file, its chain, what its entries say of each other, and that no total was exceeded."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from designer.accounts.chain import RESTORE, Entry, escaped, look_alike, output_hash, require_canonical
from designer.accounts.dataset_state import SUMMED, Balance, Standings, advanced, datasets, summed
from designer.accounts.ledger import Ledger
from designer.accounts.signers import APPROVED, KEYS, LOST, SigningRule, require_accepted, rules_of
from designer.base.arrays import Immutable
from designer.base.checks import shown
from designer.base.errors import InvalidLedger, InvalidProblem, InvalidSpec
from designer.base.json_text import canonical
from designer.base.progress import step
from designer.files.spec import read_signed

Trusted = Callable[[str, bytes, str], object]  # key, message, signature: raises where the signature is not of that key
OLDER = "it is an older copy, or another ledger; whatever was released since is missing from it."


@dataclass(frozen=True)
class Checked(Immutable):
    """A ledger that holds. open: the reservations whose end is not known, which count as spent. notes: what is odd, no breach.

    signed: how many entries each key has signed. rules: which keys might sign, one rule after another.
    verified: whether signatures were verified, or only counted.
    """

    ledger: str
    entries: tuple[Entry, ...]
    balances: tuple[Balance, ...]
    signed: Mapping[str, int]
    notes: tuple[str, ...]
    rules: tuple[SigningRule, ...] = ()
    verified: bool = False

    @property
    def breaks(self) -> tuple[Entry, ...]:
        """The entries that replaced keys which are said to be lost: signed by a new key alone."""
        return tuple(entry for entry in self.entries if entry.kind == LOST)

    @property
    def head(self) -> str:
        """The hash of the last entry."""
        return self.entries[-1].hash

    @property
    def open(self) -> tuple[int, ...]:
        """The numbers of the reservations that neither were released nor abandoned."""
        return tuple(r.entry.number for balance in self.balances for r in balance.reserves if r.state == "reserved")


@step("checking a ledger")
def checked(
    ledger: Ledger, *, head: str | None = None, trusted: Trusted | None = None, accepted: Sequence[str] | None = ()
) -> Checked:
    """Check the whole ledger; `InvalidLedger` names the first entry that does not hold.

    Parameters
    ----------
    ledger : the opened ledger.
    head : the hash of an entry, such as a release carries, that must be in the chain.
    trusted : verifies signatures; without it only their presence is looked at.
    accepted : the hashes of entries that replace lost keys; any other is refused. None refuses none: see `Checked.breaks`.
    """
    entries = ledger.entries(anew=True)
    for entry in entries:
        require_canonical(entry)
    _require_head(entries, head)
    _require_sums(entries)
    balances = _balances(entries)
    signed, rules = _signed(entries, trusted), rules_of(entries)
    if accepted is not None:
        require_accepted(entries, accepted)
    return Checked(ledger.id, entries, balances, signed, _notes(entries), rules, trusted is not None)


def require_recorded(entries: Sequence[Entry], release: Path | Mapping[str, Any]) -> Entry:
    """The entry that records a release, given as its file or as plain data; `InvalidLedger` where the ledger does not have it,
    or another output. A signature beside the file is checked."""
    document, path = read_signed(release)[0], release if isinstance(release, Path) else "release"
    where = document.get("ledger")
    if not isinstance(where, Mapping) or type(where.get("entry")) is not int or not isinstance(where.get("head"), str):
        raise InvalidLedger(f"{path}: says of no ledger that it recorded it; release with --ledger.")
    place: int = where["entry"]
    entry = entries[place - 1] if 0 < place <= len(entries) else None
    if entry is None or entry.hash != where["head"]:
        raise InvalidLedger(f"{path}: was recorded as entry {place}, which this ledger does not have: {OLDER}")
    if entry.kind != "released" or entry.content["output"] != output_hash(document):
        raise InvalidLedger(f"{path}: is not what entry {place} recorded; the file was altered after it was released.")
    return entry


def _require_head(entries: Sequence[Entry], head: str | None) -> None:
    if head is None:
        return
    if not re.fullmatch("[0-9a-f]{64}", head):
        raise InvalidProblem(f"head: {shown(head)} is no hash of 64 hexadecimal digits; copy it from a release.", value=head)
    if all(entry.hash != head for entry in entries):
        raise InvalidLedger(f"ledger: no entry has the hash {head}: {OLDER} {RESTORE}")


def _require_sums(entries: Sequence[Entry]) -> None:
    """Every entry that sums says what all before it come to."""
    standings: Standings = {}
    rule, begin = SigningRule(), 0
    for place, entry in enumerate(entries):
        if entry.kind == SUMMED:
            between = entries[begin:place]
            standings, rule, begin = advanced(standings, between), rule.after(between), place + 1
            expected = summed(standings, rule)
            if any(canonical(entry.content[key]) != canonical(expected[key]) for key in ("standings", "signing")):
                raise InvalidLedger(
                    f"ledger: entry {entry.number} does not say what the entries before it add up to. {RESTORE}"
                )


def _balances(entries: Sequence[Entry]) -> tuple[Balance, ...]:
    """Every data set, within its totals; every entry belongs to one."""
    names = datasets(entries)
    apart = (SUMMED, KEYS, LOST, APPROVED)
    strays = [entry.number for entry in entries[1:] if entry.kind not in apart and entry.content.get("dataset") not in names]
    if strays:
        raise InvalidLedger(f"ledger: entry {strays[0]} speaks of a data set that was never stated. {RESTORE}")
    try:
        balances = tuple(Balance.of(entries, name) for name in names)
        for balance in balances:
            balance.require_kept()
    except InvalidProblem as error:
        raise InvalidLedger(f"ledger: its entries do not add up ({error}). {RESTORE}") from None
    return balances


def _signed(entries: Sequence[Entry], trusted: Trusted | None) -> dict[str, int]:
    found: dict[str, int] = {}
    for entry in entries:
        key = entry.content["signer"]
        if (key is None) != (entry.signature is None):
            raise InvalidLedger(
                f"ledger: entry {entry.number} {'has a signature of nobody' if key is None else 'lost its signature'}. "
                f"{RESTORE}"
            )
        if key is not None and entry.signature is not None:
            if trusted is not None:
                _require_signed(entry, trusted)
            found[key] = found.get(key, 0) + 1
    return found


def _require_signed(entry: Entry, trusted: Trusted) -> None:
    try:
        trusted(str(entry.content["signer"]), entry.hash.encode(), str(entry.signature))
    except (InvalidSpec, InvalidProblem) as error:
        raise InvalidLedger(f"ledger: the signature of entry {entry.number} does not hold: {error}") from None


def _notes(entries: Sequence[Entry]) -> tuple[str, ...]:
    dated = (
        f"Entry {after.number} is dated before entry {before.number}: a clock was set back."
        for before, after in pairwise(entries)
        if str(after.content["time"]) < str(before.content["time"])
    )
    names = datasets(entries)
    pairs = ((look_alike(name, names[:place]), name) for place, name in enumerate(names))
    alike = (f"The names {escaped(one)} and {escaped(other)} look alike." for one, other in pairs if one is not None)
    return (*dated, *alike)


def plain_check(found: Checked) -> dict[str, Any]:
    """Plain data."""
    states = [reserve.state for balance in found.balances for reserve in balance.reserves]
    return {
        "ledger": found.ledger,
        "head": found.head,
        "entries": len(found.entries),
        "datasets": [balance.name for balance in found.balances],
        "released": states.count("released"),
        "abandoned": states.count("abandoned"),
        "open": list(found.open),
        "signed": dict(found.signed),
        "notes": list(found.notes),
        "rules": [rule.to_dict() for rule in found.rules],
        "breaks": [{"entry": entry.number, "hash": entry.hash, "reason": entry.content["reason"]} for entry in found.breaks],
    }

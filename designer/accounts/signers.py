"""Who may sign the entries of a ledger, by the entries themselves: the first rule, and how each follows from the one before.

A ledger whose first entry is signed takes entries of that key alone. An entry `keys`, signed by a key that may, names those
that may from then on, and how many of them a release needs. An entry `lost` does the same where nobody has the earlier keys any
more: a new key alone signs it. Whoever may write to the file can make one, so a check accepts it only by its hash. Where two
keys are needed, an entry `approved` holds the text of one that may follow, once, of another key.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from designer.accounts.chain import COMMON, KINDS, OPTIONAL, RESTORE, Entry, stated_text
from designer.accounts.composition.cost_record import Expense
from designer.base.arrays import Immutable
from designer.base.checks import assign, shown
from designer.base.display import counted, printed
from designer.base.errors import InvalidLedger, InvalidProblem, InvalidSpec
from designer.base.json_text import canonical
from designer.files.signatures import PublicKey

KEYS, LOST, APPROVED = "keys", "lost", "approved"
APPROVABLE = ("reserved", KEYS)  # what needs a second key, where a rule asks for two


@dataclass(frozen=True)
class SigningRule(Immutable):
    """Which keys sign, and how many of them a release and a change of keys need.

    keys: empty where anybody may write. signatures: 1 or 2. since: the number of the entry that states it. approvals: those
    that were not used: number, key, and the digest of what may follow.
    """

    keys: tuple[str, ...] = ()
    signatures: int = 1
    since: int = 0
    approvals: tuple[tuple[int, str, str], ...] = ()

    def __post_init__(self) -> None:
        assign(self, keys=tuple(self.keys), approvals=tuple((number, key, told) for number, key, told in self.approvals))
        if not all(isinstance(key, str) and key for key in self.keys) or len(set(self.keys)) < len(self.keys):
            raise InvalidProblem(f"keys: {shown(list(self.keys))} are not different keys; name each once.", value=self.keys)
        if type(self.signatures) is not int or self.signatures not in (1, 2) or len(self.keys) < self.signatures > 1:
            raise InvalidProblem(
                f"signatures: {shown(self.signatures)} of {counted(len(self.keys), 'key')} cannot be asked for; ask for 1, or "
                "for 2 and name two keys or more.",
                value=self.signatures,
            )

    def require_key(self, key: str | None) -> None:
        """`InvalidProblem` where a key, or none, may not sign now."""
        if self.keys and key not in self.keys:
            told = "is missing" if key is None else f"{key_name(key)} may not sign this ledger"
            raise InvalidProblem(
                f"signer: {told}; from entry {self.since} on it takes entries signed by {keys_text(self.keys)} alone. Give "
                "such a key (--sign KEYFILE; in Python signer=), or have it name yours (dp-designer ledger keys).",
                value=key,
            )

    def require(self, content: Mapping[str, Any], key: str | None) -> None:
        """`InvalidProblem` where an entry of this content, signed by this key, may not follow."""
        kind = content["kind"]
        if kind in (KEYS, LOST):
            if _digest(content) != _digest(entry_keys(content["keys"], content["signatures"], content.get("reason"))):
                raise InvalidProblem("keys: is no list of keys; name each by its text.")
            if (kind == LOST or not self.keys) and key not in content["keys"]:
                raise InvalidProblem("signer: is none of the keys that the entry names; sign with one of them.", value=key)
            if kind == LOST and not self.keys:
                raise InvalidProblem("lost: no key was named yet that could be lost; name keys without it.")
        if kind != LOST:
            self.require_key(key)
        if kind == APPROVED:
            _require_approvable(content["entry"])
            if self.signatures < 2:
                raise InvalidProblem("approve: this ledger asks for one signature, and nothing needs approval; leave it out.")
        if self.signatures > 1 and kind in APPROVABLE and self._approval(content, key) is None:
            raise InvalidProblem(
                f"signer: from entry {self.since} on a release, and a change of keys, needs two of {keys_text(self.keys)}, "
                "and no other one has approved this. Have it approved first, in the same words (dp-designer ledger plan, or "
                "ledger keys, with --approve --sign KEYFILE).",
                value=key,
            )

    def _approval(self, content: Mapping[str, Any], key: str | None) -> tuple[int, str, str] | None:
        """The first approval of an entry by another key than signs it."""
        wanted = _digest(content)
        return next((made for made in self.approvals if made[2] == wanted and made[1] != key), None)

    def after(self, entries: Iterable[Entry]) -> SigningRule:
        """The rule behind further entries; `InvalidLedger` names the first that may not stand there."""
        rule = self
        for entry in entries:
            try:
                rule = rule._next(entry)
            except (InvalidProblem, InvalidSpec, TypeError, ValueError, KeyError) as error:
                raise InvalidLedger(
                    f"ledger: entry {entry.number} may not stand where it is, by who signed it ({error}). {RESTORE}"
                ) from None
        return rule

    def _next(self, entry: Entry) -> SigningRule:
        content, key = entry.content, entry.content["signer"]
        if entry.kind == "opened":
            return self if key is None else SigningRule((key,), since=entry.number)
        self.require(content, key)
        if entry.kind in (KEYS, LOST):
            return SigningRule(content["keys"], content["signatures"], entry.number)
        if entry.kind == APPROVED:
            return replace(self, approvals=(*self.approvals, (entry.number, key, _digest(content["entry"]))))
        if not self.approvals or entry.kind not in APPROVABLE:
            return self
        used = self._approval(content, key)
        return replace(self, approvals=tuple(made for made in self.approvals if made != used))

    def to_dict(self) -> dict[str, Any]:
        """Plain data of an entry that sums: the arguments."""
        return {"keys": self.keys, "signatures": self.signatures, "since": self.since, "approvals": self.approvals}

    def to_text(self) -> str:
        """The keys, as a phrase."""
        both = ", two of them for a release or a change of keys" if self.signatures > 1 else ""
        return f"{keys_text(self.keys)}{both}"


def rules_of(entries: Sequence[Entry]) -> tuple[SigningRule, ...]:
    """Every rule that a ledger had, in order, the last as it stands now; `InvalidLedger` as for `SigningRule.after`."""
    found = [SigningRule()]
    for entry in entries:
        after = found[-1].after([entry])
        if after.since == found[-1].since or entry.number == 1:
            found.pop()
        found.append(after)
    return tuple(found)


def break_words(entry: Entry) -> str:
    """What an entry that replaces lost keys is, in a sentence or two."""
    reason, time = (printed(entry.content[key]) for key in ("reason", "time"))
    return (
        f"The keys before entry {entry.number} are said to be lost, because: {reason.rstrip('.')}. The new key alone signed "
        f"this, on {time}: nobody who held the earlier ones has agreed."
    )


def require_accepted(entries: Iterable[Entry], accepted: Sequence[str]) -> None:
    """`InvalidLedger` where keys are said to be lost in an entry whose hash was not accepted."""
    if entry := next((entry for entry in entries if entry.kind == LOST and entry.hash not in accepted), None):
        raise InvalidLedger(
            f"ledger: {break_words(entry)} Anybody who may write to the file can have made it. Ask who answers for the ledger, "
            f"compare {keys_text(entry.content['keys'])}, and if it is true accept it by its hash: --accept-break {entry.hash}"
        )


def entry_keys(keys: Sequence[str], signatures: int = 1, lost: str | None = None) -> dict[str, Any]:
    """The entry that names the keys from then on. lost: why those before cannot sign it; None where they do."""
    rule = SigningRule(tuple(keys), signatures)
    if not rule.keys:
        raise InvalidProblem("keys: none are named; name one or more, since a rule is never taken back.")
    said = {"keys": list(rule.keys), "signatures": rule.signatures}
    return {"kind": KEYS, **said} if lost is None else {"kind": LOST, **said, "reason": stated_text(lost, "lost")}


def entry_approved(content: Mapping[str, Any]) -> dict[str, Any]:
    """The entry that lets one of another key follow, once, which says just this."""
    return {"kind": APPROVED, "entry": _own_words(content)}


def _require_approvable(content: Mapping[str, Any]) -> None:
    """Refuse what is no content of an entry that needs approval."""
    kind = content["kind"]
    if kind not in APPROVABLE or content.keys() - OPTIONAL.get(kind, set()) != {"kind", *KINDS[kind]}:
        raise InvalidProblem(f"approve: {shown(kind)} is no entry that needs approval; approve a release or a change of keys.")
    if kind == KEYS:
        SigningRule(content["keys"], content["signatures"])
    else:
        Expense.from_dict(content["expense"])


def _own_words(content: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in content.items() if key == "kind" or key not in COMMON}


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical(_own_words(content))).hexdigest()


def key_name(identifier: str) -> str:
    """A key of Ed25519 by its fingerprint, as `dp-designer keys` prints it; any other as it calls itself."""
    known = re.fullmatch("[0-9a-f]{64}", identifier)
    return f"the key {PublicKey(identifier).fingerprint if known else shown(identifier)}"


def keys_text(identifiers: Sequence[str]) -> str:
    """Several keys."""
    return ", ".join(map(key_name, identifiers))

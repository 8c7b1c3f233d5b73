"""Entries of a ledger, chained by hash: whoever alters, drops or moves one has to alter every later one, and so the head.

The hash of an entry is `sha256(previous + "\n" + body)`, all in ASCII: the hash of the entry before it (64 zeros before the
first), a line feed, and the canonical JSON of the entry. The head of a chain is the hash of its last entry.
"""

from __future__ import annotations

import getpass
import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from designer.accounts.composition.cost_record import Expense, Spent, spent
from designer.accounts.totals import Total
from designer.base.arrays import Immutable
from designer.base.checks import assign, shown
from designer.base.display import one_line, printed
from designer.base.errors import InvalidLedger, InvalidProblem
from designer.base.json_text import canonical, require_period, utc_text
from designer.base.version import VERSION
from designer.certificate.guarantee import Guarantee
from designer.limits import MOST_LEDGER_TEXT_CHARACTERS, MOST_NAME_CHARACTERS
from designer.problem.relation import RECORDS_PUBLIC
from designer.relations.records.row_unit import RowUnit

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
        """One of `designer.accounts.chain.KINDS`."""
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


# What entries say: the closed list of their kinds, the keys of each, and the plain data that they are made of.
#
# `opened` begins a file; `stated` names a data set, its total and what may be published of it without protection; `raised`
# states them anew; `reserved` is the expense of one release before its data are touched; `released` the hash of what came
# out, before anybody sees it; `abandoned` that nothing did. `keys`, `lost` and `approved` say who may sign (`signers.py`).
# `summed` is what all data sets stand at, and the rule of keys, written at intervals.


FORMAT = "dp-designer/ledger"
LEDGER_VERSION = 1
COMMON = frozenset({"number", "kind", "time", "who", "signer"})
KINDS = {
    "opened": {"format", "version", "ledger", "software"},
    "stated": {"dataset", "total", "publishes", "content"},
    "raised": {"dataset", "total", "publishes", "reason"},
    "reserved": {"dataset", "expense", "guarantee", "rows"},
    "released": {"dataset", "reservation", "output"},
    "abandoned": {"dataset", "reservation"},
    "keys": {"keys", "signatures"},
    "lost": {"keys", "signatures", "reason"},
    "approved": {"entry"},
    "summed": {"standings", "signing"},
}
OPTIONAL = {"reserved": {"period", "replaces"}}  # keys that an entry of a kind may have, too


@dataclass(frozen=True)
class Edition(Immutable):
    """What a release is among those of its data set. period: what its data are about, as `require_period` reads it. replaces:
    the number of the entry that recorded the release that this one corrects; what that one cost stays spent."""

    period: str | None = None
    replaces: int | None = None

    def __post_init__(self) -> None:
        if self.period is not None:
            require_period(self.period)
        if self.replaces is not None and (type(self.replaces) is not int or self.replaces < 1):
            raise InvalidProblem(
                f"replaces: {shown(self.replaces)} is no number of an entry; give that which a release names (ledger.entry).",
                value=self.replaces,
            )

    def to_dict(self) -> dict[str, Any]:
        """Plain data of an entry: what is said, and nothing else."""
        said = {"period": self.period, "replaces": self.replaces}
        return {key: value for key, value in said.items() if value is not None}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Edition:
        """From the content of an entry that reserves."""
        return cls(data.get("period"), data.get("replaces"))


PLAIN = Edition()  # of no period, correcting nothing


@dataclass(frozen=True)
class DatasetTerms(Immutable):
    """What is allowed of a data set. total: of all releases. publishes: the sentences on what they may leave unprotected, None
    for anything. content: SHA-256 of its file, where it was stated."""

    total: Total
    publishes: tuple[str, ...] | None = ()
    content: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.total, Total):
            raise InvalidProblem(
                f"total: {shown(self.total)} is no Total; give Total(epsilon=...) or Total(rho=...).", value=self.total
            )
        if self.publishes is not None:
            assign(self, publishes=tuple(stated_text(text, "publishes", 5000) for text in self.publishes))

    def spent(self, expenses: Sequence[Expense], times: Sequence[int] = ()) -> Spent:
        """What releases cost together on the changes that all releases that are allowed protect: where the number of records
        may be published, on changes of a record, also while no release has published it. times: as for `spent`."""
        return spent(expenses, times=times, records_public=RECORDS_PUBLIC in (self.publishes or ()))

    def to_dict(self) -> dict[str, Any]:
        """Plain data of an entry, without the content."""
        return {"total": self.total.to_dict(), "publishes": None if self.publishes is None else list(self.publishes)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], content: str | None) -> DatasetTerms:
        """From an entry that states or raises them."""
        listed = data["publishes"]
        return cls(Total.from_dict(data["total"]), None if listed is None else tuple(listed), content)


def stated_text(text: object, field: str, longest: int = MOST_LEDGER_TEXT_CHARACTERS) -> str:
    """A text of a caller as it is kept: not empty, not too long, fit to be printed in a line."""
    if not isinstance(text, str) or not text.strip() or len(text) > longest:
        raise InvalidProblem(f"{field}: {shown(text)} is no text of 1 to {longest} characters; give one.", value=text)
    return printed(text)


def login_name() -> str:
    """Who runs this process, as the system calls them."""
    try:
        return printed(getpass.getuser())
    except (OSError, KeyError, ImportError):
        return "unknown"


def entry_opened(ledger: str) -> dict[str, Any]:
    """The first entry of a file with this identifier."""
    return {
        "kind": "opened",
        "format": FORMAT,
        "version": LEDGER_VERSION,
        "ledger": ledger,
        "software": f"dp-designer {VERSION}",
    }


def entry_stated(dataset: str, allowance: DatasetTerms) -> dict[str, Any]:
    """The entry of a new data set."""
    return {"kind": "stated", "dataset": dataset, **allowance.to_dict(), "content": allowance.content}


def entry_raised(dataset: str, allowance: DatasetTerms, reason: str) -> dict[str, Any]:
    """The entry of a new allowance."""
    return {"kind": "raised", "dataset": dataset, **allowance.to_dict(), "reason": reason}


def entry_reserved(
    dataset: str, expense: Expense, guarantee: Guarantee, row: RowUnit, edition: Edition = PLAIN
) -> dict[str, Any]:
    """The entry of an expense: what it is, with the sentences of its guarantee, what one row is said to be, and of which period
    it is."""
    rows = None if row == RowUnit() else row.declared()
    return {
        "kind": "reserved",
        "dataset": dataset,
        "expense": expense.to_dict(),
        "guarantee": guarantee.to_dict(),
        "rows": rows,
        **edition.to_dict(),
    }


def entry_ended(dataset: str, reservation: int, **output: str) -> dict[str, Any]:
    """The entry of an output of this hash; without one, of a release that failed before anything came out."""
    return {"kind": "released" if output else "abandoned", "dataset": dataset, "reservation": reservation, **output}


def noted_by(content: Mapping[str, Any], who: str, signer: str | None) -> dict[str, Any]:
    """An entry with who makes it, and when (UTC)."""
    return {**content, "who": who, "signer": signer, "time": utc_text()}


def require_known(entries: Sequence[Entry]) -> None:
    """`InvalidLedger` where an entry is of no kind of the list, or has other keys than its kind."""
    for entry in entries:
        kind = entry.content.get("kind")
        if not isinstance(kind, str) or kind not in KINDS or _keys_of(entry, kind) != COMMON | KINDS[kind]:
            raise InvalidLedger(
                f"ledger: entry {entry.number} is of no kind that this program writes ({shown(kind)}); use a later version."
            )


def _keys_of(entry: Entry, kind: str) -> set[str]:
    """Its keys, without those that its kind may have or not."""
    return set(entry.content) - OPTIONAL.get(kind, set())


def require_opened(first: Entry) -> str:
    """The identifier of the ledger that an entry opens; `InvalidLedger` where it opens none of this version."""
    require_known([first])
    version = first.content.get("version")
    if first.content.get("format") != FORMAT or type(version) is not int or version != LEDGER_VERSION:
        raise InvalidLedger(
            f"ledger: its first entry does not open a ledger of version {LEDGER_VERSION}; open it with the version that wrote "
            "it."
        )
    return str(first.content["ledger"])


# Names of data sets: one spelling for each, nothing in them that cannot be seen, and no two in a ledger that look alike.


UNPRINTABLE = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
# Alphabets with letters that look like those of another of them; a word is written in one.
ALPHABETS = frozenset({"LATIN", "GREEK", "COPTIC", "CYRILLIC", "ARMENIAN", "CHEROKEE", "LISU", "GEORGIAN", "DESERET", "OSAGE"})
# A letter, and what other alphabets have that looks like it; dashes and quotes.
ALIKE = (
    "AАΑ BВΒ EЕΕЁ GԌ HНΗ IІΙӀЇ JЈ KКΚ LԼ MМΜ NΝ OОΟՕ PРΡ QԚ SЅ TТΤ WԜ XХΧ YУҮΥ ZΖ aаαɑ bвβь cсϲ dԁ eеεё gցɡ hһհ iіιїı "
    "jјϳ kкκ lӏ mм nνηո oоοօ pрρ qԛ rг sѕ tтτ uս wԝω xхχ yуүγυ -‐‑‒–—―− '’‘ʼ´ /∕⁄"
)
_LOOK = str.maketrans({other: letter for letter, *others in map(list, ALIKE.split()) for other in others})
_STROKES = str.maketrans("1I|0O", "llloo")


def dataset_name(text: object) -> str:
    """A name as a ledger keeps it: composed (NFC), without blanks at its ends, with one between words.

    `InvalidProblem` for what is no text of 1 to 200 characters, holds a character that cannot be seen, or a word with letters
    of two alphabets; what is odd is shown as its escape.
    """
    if not isinstance(text, str):
        raise InvalidProblem(f"dataset: {shown(text)} is no text; give a name.", value=text)
    name = re.sub(" +", " ", unicodedata.normalize("NFC", text).strip(" "))
    if not 0 < len(name) <= MOST_NAME_CHARACTERS:
        raise InvalidProblem(f"dataset: {escaped(text)} is no text of 1 to {MOST_NAME_CHARACTERS} characters; give a name.")
    unseen = [c for c in name if one_line(c) != c or unicodedata.category(c) in UNPRINTABLE or (c.isspace() and c != " ")]
    if unseen:
        raise InvalidProblem(
            f"dataset: {escaped(name)} holds {_character(unseen[0])}, which cannot be seen in a line; leave it out."
        )
    for word in re.findall(r"[^\W\d_]+", name):
        scripts = {unicodedata.name(c, "").split(" ")[0] for c in word} & ALPHABETS
        if len(scripts) > 1:
            odd = next(c for c in word if not c.isascii())
            raise InvalidProblem(
                f"dataset: {escaped(name)} mixes letters of the alphabets {sorted(scripts)} in a word, such as "
                f"{_character(odd)}; write each word in one alphabet."
            )
    return name


def look_alike(name: str, others: Iterable[str]) -> str | None:
    """The first other name that a reader may take for this one: the same but for capitals, letters of other alphabets that look
    alike, strokes such as l, I and 1, or ways of writing one character."""
    return next((other for other in others if other != name and _looks(other) & _looks(name)), None)


def require_distinct(name: str, others: Iterable[str]) -> None:
    """Refuse a new name that looks like one of those that a ledger has."""
    if (other := look_alike(name, others)) is not None:
        raise InvalidProblem(
            f"dataset: {escaped(name)} looks like {escaped(other)}, which this ledger has; if they are the same data use that "
            "name, and if they are not, one that nobody takes for it."
        )


def escaped(text: str) -> str:
    """A text with all but plain ASCII as escapes, in quotes and cut where it is long: two texts that look alike then do not."""
    return shown(text.encode("ascii", "backslashreplace").decode())


def _character(c: str) -> str:
    return f"U+{ord(c):04X} {unicodedata.name(c, '(no name)')}"


def _looks(name: str) -> frozenset[tuple[str, str]]:
    """Two pictures of a name: one that has no capitals, one in which strokes and circles are alike."""
    seen = unicodedata.normalize("NFKC", name.translate(_LOOK)).translate(_LOOK)
    return frozenset({("letters", seen.casefold()), ("strokes", seen.translate(_STROKES))})

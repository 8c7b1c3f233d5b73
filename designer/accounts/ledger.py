"""A ledger: what was spent of which data set, by whom and when, in one file; and releases that are recorded in it.

The protocol. Where there is room, the form of the data is looked at: what `mechanism.check` refuses costs nothing. Then the
expense is reserved: that is committed, and on the disk, before any entry of the data is read. Then data are read and noise is
drawn. The hash of what came out is committed, too, before anybody sees it.
A process that ends in between, however it ends, leaves a reservation that counts as spent for ever: nobody knows what it showed
to whom. So whatever was published is recorded, and whatever is recorded stays within the total.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar

from designer.accounts.chain import (
    PLAIN,
    RESTORE,
    DatasetTerms,
    Edition,
    Entry,
    dataset_name,
    entry_ended,
    entry_opened,
    entry_raised,
    entry_reserved,
    entry_stated,
    login_name,
    next_entry,
    noted_by,
    output_hash,
    require_distinct,
    require_known,
    require_opened,
    stated_text,
)
from designer.accounts.composition.cost_record import Expense, Spent, expense_of, spent
from designer.accounts.dataset_state import (
    LEAST_BETWEEN,
    SUMMED,
    Balance,
    DataSetState,
    Standings,
    advanced,
    length,
    none_of,
    sum_of,
    summed,
)
from designer.accounts.signers import SigningRule, entry_approved, entry_keys
from designer.accounts.store import WAIT, EntryStore, Rows, Store, is_address, place_of, require_content
from designer.accounts.totals import Total
from designer.base.arrays import Immutable
from designer.base.checks import positive, shown
from designer.base.errors import InvalidLedger, InvalidProblem, LedgerUnavailable, OverTotal, Refusal
from designer.base.json_text import plain
from designer.base.output import write_whole
from designer.base.progress_line import logged
from designer.certificate.frozen import FrozenMechanism, Released, require_unchanged
from designer.certificate.guarantee import About, Guarantee
from designer.files.releases import release_document, sealed
from designer.relations.records.row_unit import RowUnit, row_unit_of

SPENT = "The budget stays spent: it was reserved in entry {number} before data were used. Another release spends again."
REOPEN = "It is refused for ever by this object; open the file again (Ledger) once it is restored."
AnyRelease = TypeVar("AnyRelease", bound=Released)
MadeRelease = TypeVar("MadeRelease", bound=Released, covariant=True)


class Releases(Protocol[MadeRelease]):
    """A frozen object, by the kind of its releases."""

    @property
    def about(self) -> About:
        """How its problem file reads records, among other words."""

    def release(
        self, data: Any, /, *, unit: str | None = None, entity: str | None = None, rows_per_entity: int | None = None
    ) -> MadeRelease:
        """What is published about confidential data."""

    def check(
        self, data: Any, /, *, unit: str | None = None, entity: str | None = None, rows_per_entity: int | None = None
    ) -> None:
        """Refuse what `release` refuses for its form."""


class Signer(Protocol):
    """A key that signs entries: `key` names it."""

    @property
    def key(self) -> str:
        """What names the key in an entry."""

    def sign(self, message: bytes) -> str:
        """The signature of a message, as a text."""


def _store_of(path: str | Path, wait: float) -> EntryStore:
    if not is_address(path):
        return Store(place_of(path), wait)
    from designer.accounts.postgres import PostgresStore

    return PostgresStore(str(path), wait)


class Ledger:
    """The ledger of a file that is there, or of a table at `postgresql://...`; `Ledger.create` makes one.

    who: the name that entries are made in; by default the login name. wait: seconds to wait for other processes that write.
    signer: signs every entry that is made here; where the ledger names keys, one of them. Raises `InvalidProblem` where no
    file is, or it lies where locks do not hold. Raises `InvalidLedger` where its chain is broken, or who signed might not;
    `LedgerUnavailable` where it is busy, or the disk is full or fails.

    An object whose file was set back, exchanged or damaged beneath it refuses everything from then on, even once the file is as
    before. What it has released meanwhile may be missing. Open the file again once it is restored.
    """

    def __init__(self, path: str | Path, *, who: str | None = None, wait: float = WAIT, signer: Signer | None = None) -> None:
        self.who = login_name() if who is None else stated_text(who, "who")
        self.signer = signer
        self.store = _store_of(path, positive(wait, "wait"))
        self._known: tuple[Entry, ...] = ()
        self._seen: _Seen | None = None
        self._altered: str | None = None
        self.store.require_there()
        with self.store.rows() as rows:
            self.id = require_opened(rows.entry(1))
            self._read(rows)

    @classmethod
    def create(
        cls,
        path: str | Path,
        *,
        who: str | None = None,
        wait: float = WAIT,
        signer: Signer | None = None,
        exist_ok: bool = False,
        also: Sequence[str] = (),
        signatures: int = 1,
    ) -> Ledger:
        """Make the ledger of a new file; where one is there, `InvalidProblem`, or that one if `exist_ok`.

        signer: from the first entry on, only it may sign. also: further keys that may; signatures: of so many different keys, 1
        or 2, does a release need (`name_keys`).
        """
        name = login_name() if who is None else stated_text(who, "who")
        contents: list[Mapping[str, Any]] = [entry_opened(os.urandom(16).hex())]
        if also or signatures != 1:
            if signer is None:
                raise InvalidProblem("signer: is missing, and further keys are named; give the key that opens the ledger.")
            contents.append(entry_keys([signer.key, *also], signatures))
        first, limit = partial(_chained, None, contents, name, signer), positive(wait, "wait")
        if is_address(path):
            from designer.accounts.postgres import PostgresStore

            PostgresStore.create(str(path), first, limit, exist_ok)
        else:
            Store.create(path, first, limit, exist_ok)
        return cls(path, who=who, wait=wait, signer=signer)

    def entries(self, *, anew: bool = False) -> tuple[Entry, ...]:
        """All entries, their chain followed. anew: read what this object has read before, too, and look at the whole file."""
        with self._unaltered():
            if anew:
                self.store.require_whole()
            with self.store.rows() as rows:
                self._read(rows)
                found = rows.all(() if anew else self._known)
            require_opened(found[0])
            require_known(found)
        self._known = found
        return found

    def save(self, path: str | Path) -> Path:
        """A new file with these entries, which every command and the second verifier read; a copy, which goes no further.

        path: where no file is; `InvalidProblem` elsewhere.
        """
        with self._unaltered(), self.store.rows() as rows:
            self._read(rows)
            return write_whole(Path(path), rows.content, replace=False)

    @property
    def head(self) -> str:
        """The hash of the last entry: who keeps it sees later whether the file was set back."""
        return self._now().last.hash

    @property
    def datasets(self) -> list[str]:
        """The names of the data sets."""
        return list(self._now().standings)

    def _now(self) -> _Seen:
        with self._unaltered(), self.store.rows() as rows:
            return self._read(rows)

    @contextmanager
    def _unaltered(self) -> Iterator[None]:
        """For all that reads or writes: what showed once that the file was altered is raised for ever."""
        self._require_unaltered()
        try:
            yield
        except InvalidLedger as error:
            self._altered = str(error)
            raise

    def _require_unaltered(self) -> None:
        if self._altered is not None:
            raise InvalidLedger(f"{self._altered} {REOPEN}", value=self.store.path)

    def _read(self, rows: Rows) -> _Seen:
        """What the data sets stand at, from what this object has seen before or from the last entry that sums; `InvalidLedger`
        where the file no longer has what this object has seen of it."""
        if self.id != rows.entry(1).content.get("ledger"):
            raise InvalidLedger(
                f"ledger: {shown(str(self.store.path))} is another ledger than a moment ago. {RESTORE}", value=self.store.path
            )
        seen = self._seen
        if seen is None:
            return self._saw(_Seen.of(rows.back_to(SUMMED), rows.entry))
        if rows.has(seen.last):
            return self._saw(seen.with_more(rows.after(seen.last)))
        _Seen.of(rows.back_to(SUMMED), rows.entry)  # names the entry that was altered, where one was
        raise InvalidLedger(
            f"ledger: {shown(str(self.store.path))} was set back since entry {seen.last.number} was read or made. {RESTORE}",
            value=self.store.path,
        )

    def _saw(self, seen: _Seen) -> _Seen:
        """Remember the latest: another thread may have seen more meanwhile."""
        if self._seen is None or self._seen.last.number < seen.last.number:
            self._seen = seen
        return seen

    def state(self, name: str, total: Total, *, publishes: Sequence[str] | None = (), content: str | None = None) -> DataSet:
        """A data set with the total of all its releases; `InvalidProblem` for a name that looks like one that is there.

        publishes: the sentences on what releases may leave unprotected (`Guarantee.unprotected`), None for anything. content:
        the SHA-256 of its file, where that is to be compared before each release.
        """
        name = dataset_name(name)
        allowance = DatasetTerms(total, None if publishes is None else tuple(publishes), content)

        def build(standings: Standings, rows: Rows) -> list[dict[str, Any]]:
            if name in standings:
                raise InvalidProblem(
                    f"dataset: {shown(name)} is stated; raise its total with a reason, or take another name.", value=name
                )
            require_distinct(name, list(standings))
            return [entry_stated(name, allowance)]

        self.append(build)
        return self.dataset(name)

    def dataset(self, name: str) -> DataSet:
        """A data set that was stated; its name is read as `designer.accounts.chain.dataset_name` writes it."""
        found = DataSet(self, name if name in self.datasets else dataset_name(name))
        found.standing()
        return found

    def name_keys(
        self, keys: Sequence[str], *, signatures: int = 1, lost: str | None = None, approve: bool = False
    ) -> SigningRule:
        """Let entries from here on be signed by these keys alone, in an entry that a key which may sign now has signed.

        keys: as signers name theirs; of `designer.files.signatures.PublicKey` its digits. signatures: of so many different keys
        a release, and the next change of keys, needs: the second in an entry that approves it beforehand. lost: the reason why
        no key that may sign now can do so; then one of the new keys signs, and `checked` takes it for a break until it is
        accepted by its hash. approve: only approve, for another key, that these are named.
        """
        content = entry_keys(keys, signatures, lost)
        self.append(lambda standings, rows: [entry_approved(content) if approve else content], any_key=lost is not None)
        return self.signing

    @property
    def signing(self) -> SigningRule:
        """Which keys may sign now, and how many of them a release needs."""
        return self._now().rule

    def append(
        self, build: Callable[[Standings, Rows], Sequence[Mapping[str, Any]]], *, any_key: bool = False
    ) -> tuple[Entry, ...]:
        """The entries of the contents that `build` makes of what data sets stand at, on the disk when this returns; nothing
        else is written in between, but for an entry that sums, where one is due. The entries themselves are at hand, too.

        any_key: `build` is called whether or not the key may sign now.
        """

        seen: list[_Seen] = []
        key = None if self.signer is None else self.signer.key

        def chained(rows: Rows) -> list[Entry]:
            before = self._read(rows)
            if not any_key:
                before.rule.require_key(key)
            contents = build(before.standings, rows)
            for content in contents:
                before.rule.require(content, key)
            made = _chained(before.last, contents, self.who, self.signer)
            seen.append(before.with_more(made))
            if seen[-1].due and (not seen[-1].rule.keys or key in seen[-1].rule.keys):
                made += _chained(seen[-1].last, [summed(seen[-1].standings, seen[-1].rule)], self.who, self.signer)
                seen.append(seen[-1].with_more(made[-1:]))
            return made

        with self._unaltered():
            new = self.store.append(chained)
        self._saw(seen[-1])
        for entry in new:
            logged("ledger %s: entry %d, %s", self.id, entry.number, entry.kind)
        return tuple(entry for entry in new if entry.kind != SUMMED)


@dataclass(frozen=True)
class _Seen:
    """What a ledger object knows of its file. last: the last entry that it has read. sum: the number of the last one that sums,
    0 where there is none. rule: of who may sign."""

    last: Entry
    sum: int
    standings: Standings
    rule: SigningRule

    @classmethod
    def of(cls, entries: Sequence[Entry], entry: Callable[[int], Entry]) -> _Seen:
        """From the last entry that sums, and those behind it; all where there is none. entry: the entry of a number."""
        first = entries[0]
        require_known([first])
        if first.kind == SUMMED:
            return cls(first, first.number, *sum_of(first, entry)).with_more(entries[1:])
        return cls(first, 0, {}, SigningRule().after([first])).with_more(entries[1:])

    def with_more(self, entries: Sequence[Entry]) -> _Seen:
        """After further entries."""
        if not entries:
            return self
        require_known(entries)
        sums = [entry.number for entry in entries if entry.kind == SUMMED]
        return _Seen(entries[-1], max([self.sum, *sums]), advanced(self.standings, entries), self.rule.after(entries))

    @property
    def due(self) -> bool:
        """Whether the next entry sums, so that what is read to begin with stays short, and so does the file."""
        return self.last.number - self.sum >= max(LEAST_BETWEEN, length(self.standings))


def _chained(before: Entry | None, contents: Sequence[Mapping[str, Any]], who: str, signer: Signer | None) -> list[Entry]:
    """Entries behind another, noted and signed."""
    made: list[Entry] = []
    for content in contents:
        before = next_entry(before, noted_by(content, who, None if signer is None else signer.key))
        if signer is not None:
            before = replace(before, signature=signer.sign(before.hash.encode()))
        made.append(before)
    return made


@dataclass(frozen=True)
class Forecast(Immutable):
    """What one more release would do. cost: of it alone; after: of all with it, None where they do not add up. refusal: why it
    would be refused, None where it would be made."""

    balance: Balance
    cost: Spent
    after: Spent | None
    refusal: str | None


@dataclass(frozen=True)
class DataSet:
    """A data set of a ledger: what is spent of it, and releases from it.

    ledger: in which it is stated. name: as the ledger has it.
    """

    ledger: Ledger
    name: str

    def balance(self) -> Balance:
        """What the ledger says of it now, release by release."""
        return Balance.of(self.ledger.entries(), self.name)

    def standing(self) -> DataSetState:
        """What all of its releases come to now; of a few entries, however many there are."""
        return self._of(self.ledger._now().standings)

    def _of(self, standings: Standings) -> DataSetState:
        if self.name not in standings:
            raise none_of(self.name, list(standings))
        return standings[self.name]

    def raise_total(self, total: Total | None, reason: str, *, publishes: Sequence[str] | None = ()) -> Balance:
        """A new allowance, in the name of who opened the ledger; what was allowed to be unprotected stays allowed.

        total: None leaves it as it is. Raises `OverTotal` where more than that is spent already.
        """
        reason = stated_text(reason, "reason", 2000)

        def build(standings: Standings, rows: Rows) -> list[dict[str, Any]]:
            before = self._of(standings)
            after = replace(before, terms=_joined(before.terms, total or before.total, publishes))
            if after.equal and not after.total.covers(after.spent.total):
                stated = after.total.to_text()
                raise OverTotal(
                    f"total: {stated} does not cover what is spent of {shown(self.name)}; state more.", value=stated
                )
            return [entry_raised(self.name, after.terms, reason)]

        self.ledger.append(build)
        return self.balance()

    def forecast(self, mechanism: FrozenMechanism, row: RowUnit | None = None) -> Forecast:
        """What a release of this would cost, and whether it would be made. Nothing is recorded."""
        row, balance = row or RowUnit(), self.balance()
        expense = _expense(mechanism, row)
        try:
            after, refusal = balance.standing.with_one_more(expense), None
            balance.standing.require_room(expense, row)
        except OverTotal as error:
            refusal = str(error)
        except InvalidProblem as error:
            after, refusal = None, str(error)
        return Forecast(balance, spent([expense]), after, refusal)

    def approve(self, mechanism: FrozenMechanism, row: RowUnit | None = None, edition: Edition = PLAIN) -> None:
        """Let another key release this once, where the ledger asks for two. Nothing is spent.

        mechanism, row, edition: of the release to come, as for `reserve`. Raises `OverTotal` where the total does not cover it.
        """
        row, expense = row or RowUnit(), _expense(mechanism, row or RowUnit())

        def build(standings: Standings, rows: Rows) -> list[dict[str, Any]]:
            self._of(standings).require_room(expense, row)
            return [entry_approved(entry_reserved(self.name, expense, mechanism.guarantee, row, edition))]

        self.ledger.append(build)

    def release(
        self,
        mechanism: Releases[AnyRelease],
        data: object,
        *,
        unit: str | None = None,
        entity: str | None = None,
        rows_per_entity: int | None = None,
        period: str | None = None,
        replaces: int | None = None,
    ) -> Recorded[AnyRelease]:
        """What `mechanism.release(data)` publishes, once its expense was reserved, and recorded before it is handed out.

        unit, entity, rows_per_entity: of records, as there; an entity costs what its rows cost together. period, replaces: as
        for `designer.accounts.chain.Edition`. Raises `OverTotal` before the data are touched where the total does not cover it,
        and what `mechanism.check` raises before anything is reserved.
        """
        row = row_unit_of(unit, entity, rows_per_entity, getattr(mechanism, "about", About()).records)
        rows = {"unit": unit, "entity": entity, "rows_per_entity": rows_per_entity}
        stated: dict[str, Any] = {name: given for name, given in rows.items() if given is not None}
        return self._recorded(
            mechanism,
            row,
            lambda: mechanism.release(data, **stated),
            lambda: mechanism.check(data, **stated),
            Edition(period, replaces),
        )

    def reserve(
        self,
        mechanism: FrozenMechanism,
        row: RowUnit | None = None,
        files: Sequence[Path] = (),
        ready: Callable[[], object] = lambda: None,
        edition: Edition = PLAIN,
    ) -> Reservation:
        """For releases that are made by hand: `with people.reserve(mechanism) as reservation`, and within it
        `reservation.record(document)`, whose result alone may be shown.

        row: what one row is, for records. files: those of the data, which are compared where their content was stated. ready:
        looks at what is public of the data, such as the names of columns, and raises where they do not fit; called when the
        ledger has agreed and before it records anything, while other processes wait. No file is opened earlier. edition: the
        period of the release, and which earlier one it corrects.
        """
        return Reservation(self, mechanism, row or RowUnit(), files, ready, edition=edition)

    def _recorded(
        self,
        mechanism: Any,
        row: RowUnit,
        release: Callable[[], AnyRelease],
        check: Callable[[], None],
        edition: Edition,
    ) -> Recorded[AnyRelease]:
        with Reservation(self, mechanism, row, (), check=check, edition=edition) as reservation:
            made = release()
            document = reservation.record(release_document(mechanism, made))
        return Recorded(made, document)


class Reservation:
    """An expense that is recorded on entering the block, before records are read or counts are used, and ended on leaving it.

    A block that ends without `record`, by an error or not, is noted as abandoned. What it reserved stays spent, because whether
    it failed, and when, may depend on the data, and nobody knows what it showed.
    """

    def __init__(
        self,
        dataset: DataSet,
        mechanism: FrozenMechanism,
        row: RowUnit,
        files: Sequence[Path],
        ready: Callable[[], object] = lambda: None,
        check: Callable[[], None] | None = None,
        edition: Edition = PLAIN,
    ) -> None:
        self.edition = edition
        self.dataset, self.row, self.files, self.ready = dataset, row, files, ready
        self.check = partial(require_unchanged, mechanism) if check is None else check
        self.expense = _expense(mechanism, row)
        self.guarantee = mechanism.guarantee
        self.entry: Entry | None = None
        self.recorded = False

    def __enter__(self) -> Reservation:
        if self.entry is not None:
            raise InvalidProblem("reservation: was entered before; reserve again for another release.")
        known = self._with_room()
        self.check()

        def build(standings: Standings, rows: Rows) -> list[dict[str, Any]]:
            standing = self.dataset._of(standings)
            if standing != known:
                standing.require_room(self.expense, self.row)
            require_content(standing.terms.content, self.files, self.dataset.ledger.id)
            self._require_replaceable(rows)
            self.ready()
            return [entry_reserved(self.dataset.name, self.expense, self.guarantee, self.row, self.edition)]

        (self.entry,) = self.dataset.ledger.append(build)
        return self

    def _require_replaceable(self, rows: Rows) -> None:
        """`InvalidProblem` where what this release is to correct was not released from these data, or is corrected already."""
        if (number := self.edition.replaces) is None:
            return
        recorded = rows.entry(number) if number <= rows.number else None
        if recorded is None or recorded.kind != "released" or recorded.content["dataset"] != self.dataset.name:
            raise InvalidProblem(
                f"replaces: entry {number} records no release of {shown(self.dataset.name)}; give the number that the release "
                'says it was recorded as ("entry").',
                value=number,
            )
        later = rows.after(recorded)
        failed = {entry.content["reservation"] for entry in later if entry.kind == "abandoned"}
        for entry in later:
            if entry.kind == "reserved" and entry.content.get("replaces") == number and entry.number not in failed:
                raise InvalidProblem(
                    f"replaces: entry {number} is replaced already, by the release of entry {entry.number}; correct that one.",
                    value=number,
                )

    def _with_room(self) -> DataSetState:
        """What the data set stood at when this object last read its file, or stands at now; where neither has room, refused.

        Without a lock, since adding up takes a moment. What others have recorded since counts where the entry is made.
        """
        ledger = self.dataset.ledger
        ledger._require_unaltered()
        with suppress(InvalidProblem, OverTotal):
            last = self.dataset._of((ledger._seen or ledger._now()).standings)
            last.require_room(self.expense, self.row)
            return last
        now = self.dataset.standing()
        now.require_room(self.expense, self.row)
        return now

    def record(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """The document of a release, its hash recorded, with where: the identifier of the ledger, the numbers of the
        reservation and of this entry, the head, which is the hash of this entry, and its edition. A seal is made anew.

        document: of `designer.files.releases.release_document`, or any plain data that stand for what will be shown.
        """
        made = self._ended(lambda place: entry_ended(self.dataset.name, place, output=output_hash(document)))
        self.recorded = True
        where = {"id": self.dataset.ledger.id, "dataset": self.dataset.name, "reservation": self._place.number}
        told = {**document, "ledger": {**where, "entry": made.number, "head": made.hash, **self.edition.to_dict()}}
        return sealed(told) if "seal" in document else told

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.recorded:
            return
        # Best effort: without this entry the reservation stays open, and is spent just so.
        with suppress(InvalidLedger, InvalidProblem, LedgerUnavailable):
            self._ended(lambda place: entry_ended(self.dataset.name, place))
        if isinstance(error, LedgerUnavailable):
            error.spent = True
        if isinstance(error, (Refusal, RuntimeError)) and error.args and isinstance(error.args[0], str):
            error.args = (f"{error.args[0]} {SPENT.format(number=self._place.number)}", *error.args[1:])

    @property
    def _place(self) -> Entry:
        if self.entry is None:
            raise InvalidProblem("reservation: nothing is reserved; use it in a with block.")
        return self.entry

    def _ended(self, content: Callable[[int], dict[str, Any]]) -> Entry:
        place = self._place

        def build(standings: Standings, rows: Rows) -> list[dict[str, Any]]:
            if any(entry.content.get("reservation") == place.number for entry in rows.after(place)):
                raise InvalidProblem(f"reservation: entry {place.number} has ended; reserve again for another release.")
            return [content(place.number)]

        (made,) = self.dataset.ledger.append(build)
        return made


@dataclass(frozen=True, eq=False)
class Recorded(Immutable, Generic[AnyRelease]):
    """A release that its ledger has recorded. document: its plain data, with where that is."""

    released: AnyRelease
    document: Mapping[str, Any]

    @property
    def ledger(self) -> Mapping[str, Any]:
        """Where it is recorded: the ledger, the data set, the numbers of the two entries, and the head."""
        where: Mapping[str, Any] = self.document["ledger"]
        return where

    @property
    def guarantee(self) -> Guarantee:
        """What is promised about this release."""
        return self.released.guarantee

    @property
    def fingerprint(self) -> str:
        """That of the mechanism."""
        return self.released.fingerprint

    def to_dict(self) -> dict[str, Any]:
        """Plain data of the release, with where it is recorded."""
        return {**plain(self.document)}


def _expense(mechanism: FrozenMechanism, row: RowUnit) -> Expense:
    return expense_of(mechanism, rows_per_entity=row.rows_per_entity)


def _joined(allowance: DatasetTerms, total: Total, publishes: Sequence[str] | None) -> DatasetTerms:
    """A new allowance with what the old one allowed to be unprotected."""
    if allowance.publishes is None or publishes is None:
        return DatasetTerms(total, None, allowance.content)
    return DatasetTerms(total, tuple(dict.fromkeys((*allowance.publishes, *publishes))), allowance.content)

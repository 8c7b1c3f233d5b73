"""The file of a ledger: SQLite, one table that only grows, committed with a rollback journal and `synchronous=EXTRA`.

A rollback journal and not a write-ahead log, because everything that was committed is then in the one file that people copy and
move, and nothing beside it; EXTRA, because only then is the journal's end on the disk, and so the commit final, when COMMIT
returns, even if the power fails at once. A connection lives for one call: nothing is shared between threads or by a fork, and
what was killed leaves a journal that the next call rolls back.
"""

from __future__ import annotations

import errno
import hashlib
import sqlite3
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from designer.accounts.chain import FIRST, RESTORE, Entry, alone, followed
from designer.base.checks import shown, system_words
from designer.base.errors import InvalidLedger, InvalidProblem, LedgerUnavailable
from designer.base.output import LOOKED_AT, mistaken, sync_folder

# Where a ledger may lie: one regular file under one name, on a disk of this machine, whose locks hold among its processes.


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


APPLICATION = 0x64706C67  # "dplg", in the header of the file
VERSION_OF_FILE = 1
MAGIC = b"SQLite format 3\0"
WAIT = 60.0  # seconds for other processes
SCHEMA = (
    "CREATE TABLE entries (number INTEGER PRIMARY KEY AUTOINCREMENT, previous TEXT NOT NULL, body TEXT NOT NULL, "
    "hash TEXT NOT NULL, signature TEXT)",
    "CREATE TRIGGER entries_follow BEFORE INSERT ON entries WHEN NEW.number IS NOT (SELECT coalesce(max(number), 0) + 1 FROM "
    f"entries) OR NEW.previous IS NOT coalesce((SELECT hash FROM entries ORDER BY number DESC LIMIT 1), '{FIRST}') "
    "BEGIN SELECT RAISE(ABORT, 'entries follow one another'); END",
    "CREATE TRIGGER entries_stay BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries stay as they are'); END",
    "CREATE TRIGGER entries_last BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'entries stay for ever'); END",
)
COLUMNS = "number, previous, body, hash, signature"
NOTHING = "Nothing was recorded by this call, and to call again is safe"
HELD = f"is busy: another process has held it for more than {{wait:g}} seconds. {NOTHING}; try again when it is done."
BUSY = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL")
# By the beginnings of SQLite's names, the first that fits. After a failed read or write nobody knows what is on the disk.
TROUBLES = {
    "SQLITE_FULL": f"cannot grow, the disk is full. {NOTHING}; make room.",
    "SQLITE_READONLY_DBMOVED": f"was moved or exchanged while it was open. {NOTHING}; open it where it is now.",
    "SQLITE_READONLY": f"cannot be written to, or its folder, where a journal must be. {NOTHING}; set permissions.",
    "SQLITE_PERM": f"cannot be written to. {NOTHING}; set permissions.",
    "SQLITE_NOMEM": f"needs more memory than there is. {NOTHING}; free some.",
    "SQLITE_CANTOPEN": f"cannot be opened, or its folder takes no new files. {NOTHING}; put it back, or set permissions.",
    "SQLITE_IOERR": "cannot be read or written, the disk failed. Whether this call recorded anything only the ledger can say "
    "(dp-designer ledger show): publish nothing that it does not show as released. To call again is safe, and may spend again.",
}
UNKNOWN = "SQLITE_IOERR"


def is_address(path: str | Path) -> bool:
    """Is it the address of a database, and not a file's?"""
    return isinstance(path, str) and path.startswith(("postgresql://", "postgres://"))


def is_ledger(path: Path) -> bool:
    """Does the file begin as one of SQLite? Asked while no connection to it is open: closing a file ends its locks."""
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except (OSError, ValueError):
        return False


class Connection(Protocol):
    """What takes statements of SQLite."""

    def execute(self, statement: str, parameters: Sequence[Any] = (), /) -> Any:
        """The rows of a statement."""

    def executemany(self, statement: str, parameters: Sequence[Sequence[Any]], /) -> Any:
        """One statement for each row of parameters."""


class EntryStore(Protocol):
    """Where the entries of a ledger are: a file, or a table of a server.

    path: what names it. `rows` and `append` as `Store` has them, `require_there` where none is made.
    """

    @property
    def path(self) -> Path | str:
        """What names it in messages."""

    def require_there(self) -> None:
        """`InvalidProblem` where none is there."""

    def require_whole(self) -> None:
        """`InvalidLedger` where it is damaged."""

    def rows(self) -> AbstractContextManager[Rows]:
        """The entries as they are at one moment."""

    def append(self, build: Callable[[Rows], Sequence[Entry]]) -> tuple[Entry, ...]:
        """What `build` makes of the entries that are there, added behind them."""


@dataclass(frozen=True)
class Rows:
    """The entries of a file while no other process writes to it, or as they were when its reading began."""

    connection: Connection

    @property
    def number(self) -> int:
        """That of the last entry; 0 where there is none."""
        found = self.connection.execute("SELECT max(number) FROM entries").fetchone()[0]
        return 0 if found is None else int(found)

    @property
    def content(self) -> bytes:
        """The bytes of a file of SQLite with these entries: the whole file, where that is one."""
        if isinstance(self.connection, sqlite3.Connection):
            return self.connection.serialize()
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
            _set_up(copy)
            insert(copy, self.all())
            return copy.serialize()

    def has(self, entry: Entry) -> bool:
        """Is an entry in the file as it was?"""
        return self._row(entry.number) == (entry.number, entry.previous, entry.body, entry.hash, entry.signature)

    def entry(self, number: int) -> Entry:
        """One entry, its hash that of its text; `InvalidLedger` where there is none of this number."""
        if (row := self._row(number)) is None:
            raise InvalidLedger(f"ledger: entry {number} is missing. {RESTORE}")
        return alone(row)

    def all(self, known: tuple[Entry, ...] = ()) -> tuple[Entry, ...]:
        """All of them, their chain followed; `InvalidLedger` where it is broken.

        known: entries that were read before, and are not read again where the file still has the last of them.
        """
        if known and not self.has(known[-1]):
            known = ()
        entries = known + self.after(known[-1] if known else None)
        if self.number != len(entries):
            raise InvalidLedger(f"ledger: has {len(entries)} entries of the {self.number} that it once had. {RESTORE}")
        return entries

    def after(self, before: Entry | None) -> tuple[Entry, ...]:
        """Those behind an entry, each following the one before it."""
        number = 0 if before is None else before.number
        wanted = f"SELECT {COLUMNS} FROM entries WHERE number > ? ORDER BY number"
        with closing(self.connection.execute(wanted, (number,))) as rows:  # else who keeps an error keeps the lock of the file
            return followed(rows, before)

    def back_to(self, kind: str) -> tuple[Entry, ...]:
        """The last entry of a kind and those behind it, each following the one before it; all where there is none."""
        marked, found = f'"kind":"{kind}"', []
        for row in self.connection.execute(f"SELECT {COLUMNS} FROM entries ORDER BY number DESC"):
            found.append(row)
            if marked in str(row[2]) and alone(row).kind == kind:
                first = alone(found.pop())
                return (first, *followed(reversed(found), first))
        return followed(reversed(found))

    def _row(self, number: int) -> tuple[Any, ...] | None:
        found: tuple[Any, ...] | None = self.connection.execute(
            f"SELECT {COLUMNS} FROM entries WHERE number = ?", (number,)
        ).fetchone()
        return found


@dataclass(frozen=True)
class Store:
    """The entries of one file. path: of a ledger. wait: seconds to wait for other processes that write to it."""

    path: Path
    wait: float = WAIT

    @classmethod
    def create(
        cls, path: str | Path, build: Callable[[], Sequence[Entry]], wait: float = WAIT, exist_ok: bool = False
    ) -> Store:
        """The file with its first entries. Where a ledger is there, it stays as it is if `exist_ok`, else `InvalidProblem`.
        Anything else that is there is refused.

        A process that is killed in between leaves an empty file, which the next call fills.
        """
        store = cls(place_of(path), wait)
        with store._connected("rwc") as connection, _writing(connection):
            if there := bool(_schema(connection)):
                store._require_own(connection)
            else:
                _set_up(connection)
                insert(connection, build())
        if there and not exist_ok:
            raise InvalidProblem(
                f"ledger: {shown(str(store.path))} is there; open it (Ledger), or name a new file.", value=store.path
            )
        try:
            sync_folder(store.path.parent)
        except OSError:
            told = f"ledger: {shown(str(store.path))} {TROUBLES[UNKNOWN]}"
            raise LedgerUnavailable(told, spent=None, value=store.path) from None
        return store

    def require_there(self) -> None:
        """`InvalidProblem` where no file is."""
        if not self.path.exists():
            raise InvalidProblem(
                f"ledger: {shown(str(self.path))} is not there; name a ledger that is, or make one (create).", value=self.path
            )

    @contextmanager
    def rows(self) -> Iterator[Rows]:
        """The entries as they are at one moment."""
        with self._connected("rw") as connection:
            connection.execute("BEGIN")
            yield self._own(connection)

    def append(self, build: Callable[[Rows], Sequence[Entry]]) -> tuple[Entry, ...]:
        """What `build` makes of the entries that are there, added behind them, on the disk when this returns.

        No other process writes in between. What `build` raises leaves the file as it was. `InvalidLedger` where another file
        has taken the name meanwhile: what was written is then not in the ledger.
        """
        with self._connected("rw") as connection:
            before = self._identity()
            with _writing(connection):
                new = tuple(build(self._own(connection)))
                insert(connection, new)
            if self._identity() != before:
                raise InvalidLedger(f"ledger: {shown(str(self.path))} was exchanged while it was written to. {RESTORE}")
        return new

    def _identity(self) -> tuple[int, int] | None:
        """Which file the path leads to; None where none is there."""
        with suppress(OSError):
            found = self.path.stat()
            return found.st_dev, found.st_ino
        return None

    def require_whole(self) -> None:
        """`InvalidLedger` where the pages of the file contradict each other."""
        with self._connected("rw") as connection:
            found = [text for (text,) in connection.execute("PRAGMA integrity_check(1)")]
        if found != ["ok"]:
            raise InvalidLedger(f"ledger: {shown(str(self.path))} is damaged ({shown(found[0])}). {RESTORE}", value=self.path)

    def _own(self, connection: sqlite3.Connection) -> Rows:
        self._require_own(connection)
        rows = Rows(connection)
        if (counted := [row[0] for row in connection.execute("SELECT seq FROM sqlite_sequence")]) != [rows.number]:
            raise InvalidLedger(f"ledger: has {rows.number} entries of the {shown(counted)} that it once had. {RESTORE}")
        return rows

    def _require_own(self, connection: sqlite3.Connection) -> None:
        """The tables, the triggers and the journal of a ledger, and nothing else."""
        marks = tuple(connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
        if marks[0] != APPLICATION:
            raise InvalidLedger(
                f"ledger: {shown(str(self.path))} is no ledger; name one, or make one in a new file (create).", value=self.path
            )
        if marks[1] != VERSION_OF_FILE:
            raise InvalidLedger(
                f"ledger: is of version {marks[1]}; this program reads version {VERSION_OF_FILE}. Use a later one."
            )
        if _schema(connection) != sorted(SCHEMA):
            raise InvalidLedger(f"ledger: its table or its triggers were altered, so its entries may have been. {RESTORE}")
        if (mode := connection.execute("PRAGMA journal_mode").fetchone()[0]) != "delete":
            raise InvalidLedger(
                f"ledger: another program set its journal mode to {shown(mode)}; set it back (PRAGMA journal_mode = delete)."
            )

    @contextmanager
    def _connected(self, mode: str) -> Iterator[sqlite3.Connection]:
        """A connection for one call; what fails in it is told in words."""
        place_of(self.path)
        try:
            address = f"{self.path.as_uri()}?mode={mode}"
            with closing(sqlite3.connect(address, uri=True, timeout=self.wait, isolation_level=None)) as connection:
                for pragma in ("synchronous = EXTRA", "fullfsync = ON", "trusted_schema = OFF", "recursive_triggers = ON"):
                    connection.execute(f"PRAGMA {pragma}")
                yield connection
        except (sqlite3.Error, UnicodeDecodeError) as error:  # SQLite hands texts of a damaged file on, in its messages too
            raise self._told(error) from None

    def _told(self, error: sqlite3.Error | UnicodeDecodeError) -> LedgerUnavailable | InvalidLedger:
        name = getattr(error, "sqlite_errorname", "")
        busy = name.startswith(BUSY)
        trouble = next((words for kind, words in TROUBLES.items() if name.startswith(kind)), None)
        words = HELD.format(wait=self.wait) if busy else trouble
        if words is not None:
            spent = None if name.startswith(UNKNOWN) else False
            return LedgerUnavailable(f"ledger: {shown(str(self.path))} {words}", transient=busy, spent=spent, value=self.path)
        if name == "SQLITE_NOTADB" and (told := mistaken(_beginning(self.path), "a ledger")):
            return InvalidLedger(f"ledger: {shown(str(self.path))} {told}.", value=self.path)
        return InvalidLedger(
            f"ledger: {shown(str(self.path))} is damaged, or no ledger ({name or 'SQLite'}: {shown(str(error))}). {RESTORE}",
            value=self.path,
        )


def _beginning(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(LOOKED_AT)
    except OSError:
        return b"?"


@contextmanager
def _writing(connection: sqlite3.Connection) -> Iterator[None]:
    """One transaction that no other process writes in; whatever is raised in it leaves nothing behind."""
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _set_up(connection: sqlite3.Connection) -> None:
    """The marks and the empty table of a new file."""
    for statement in (f"PRAGMA application_id = {APPLICATION}", f"PRAGMA user_version = {VERSION_OF_FILE}", *SCHEMA):
        connection.execute(statement)


def _schema(connection: sqlite3.Connection) -> list[str]:
    """The statements that made what is in the file; in a damaged one they may be of any type."""
    made = connection.execute("SELECT sql FROM sqlite_master WHERE name NOT LIKE 'sqlite!_%' ESCAPE '!'")
    return sorted(str(sql) for (sql,) in made)


def insert(connection: Connection, entries: Sequence[Entry]) -> None:
    """Add entries behind those that are there."""
    rows = [(entry.number, entry.previous, entry.body, entry.hash, entry.signature) for entry in entries]
    connection.executemany(f"INSERT INTO entries ({COLUMNS}) VALUES (?, ?, ?, ?, ?)", rows)


# Is a file the data set that a ledger speaks of? By its bytes, where the hash of them was stated.


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

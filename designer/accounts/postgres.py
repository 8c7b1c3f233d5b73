"""A ledger in a PostgreSQL database: the table and the rules of the file of SQLite, for services that outgrow one machine.

One writer at a time: the table is locked before the transaction takes its view of it, so that what is added up is what is
there. `COMMIT` returns once the server has the entry on its disk. Each thread of each process keeps a connection, but not after
an error.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from designer.accounts.chain import FIRST, RESTORE, Entry
from designer.accounts.store import HELD, NOTHING, WAIT, Rows, insert
from designer.base.checks import shown
from designer.base.errors import InvalidLedger, InvalidProblem, LedgerUnavailable
from designer.base.version import installing_with

if TYPE_CHECKING:
    import psycopg

FOLLOW = (
    "BEGIN IF NEW.number IS DISTINCT FROM (SELECT coalesce(max(number), 0) + 1 FROM entries) OR NEW.previous IS DISTINCT FROM "
    f"coalesce((SELECT hash FROM entries ORDER BY number DESC LIMIT 1), '{FIRST}') "
    "THEN RAISE EXCEPTION 'entries follow one another'; END IF; RETURN NEW; END"
)
STAY = "BEGIN RAISE EXCEPTION 'entries stay as they are'; END"
SCHEMA = (
    "CREATE TABLE entries (number BIGINT PRIMARY KEY, previous TEXT NOT NULL, body TEXT NOT NULL, hash TEXT NOT NULL, "
    "signature TEXT)",
    f"CREATE FUNCTION entries_follow() RETURNS trigger LANGUAGE plpgsql AS $${FOLLOW}$$",
    f"CREATE FUNCTION entries_stay() RETURNS trigger LANGUAGE plpgsql AS $${STAY}$$",
    "CREATE TRIGGER entries_follow BEFORE INSERT ON entries FOR EACH ROW EXECUTE FUNCTION entries_follow()",
    "CREATE TRIGGER entries_stay BEFORE UPDATE OR DELETE ON entries FOR EACH ROW EXECUTE FUNCTION entries_stay()",
    "CREATE TRIGGER entries_whole BEFORE TRUNCATE ON entries FOR EACH STATEMENT EXECUTE FUNCTION entries_stay()",
)
# The triggers that fire, by their names and what they run; BEFORE, what they stand for and for each what are in the type.
TRIGGERS = (
    "SELECT t.tgname, t.tgtype, p.prosrc FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid WHERE t.tgrelid = "
    "'entries'::regclass AND NOT t.tgisinternal AND t.tgenabled IN ('O', 'A') ORDER BY t.tgname"
)
OWN = [("entries_follow", 7, FOLLOW), ("entries_stay", 27, STAY), ("entries_whole", 34, STAY)]
LOCKING = 7_236_976_812  # of the advisory lock in which the table is made
# By the beginnings of SQLSTATE, the first that fits: what is wrong, and whether the same call may succeed later.
TROUBLES = {
    "53100": (f"cannot grow, the disk of its server is full. {NOTHING}; make room.", False),
    "53": (f"has no room for another connection, or no memory. {NOTHING}; try again.", True),
    "25006": (f"is read-only, a standby or set so. {NOTHING}; name the server that is written to.", False),
    "42501": (f"may not be written to by this role. {NOTHING}; grant INSERT and SELECT.", False),
    "40": (f"was busy. {NOTHING}; try again.", True),
    "28": (f"does not let this role in. {NOTHING}; mend the role or its password.", False),
    "3D": (f"is in a database that is not there. {NOTHING}; create it.", False),
}


class Session:
    """A connection that takes the statements of SQLite: `?` stands for a parameter."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.connection, self.process = connection, os.getpid()

    def __del__(self) -> None:
        if self.process == os.getpid():
            self.connection.close()

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> psycopg.Cursor[Any]:
        """The rows of a statement."""
        return self.connection.execute(statement.replace("?", "%s").encode(), parameters or None)

    def executemany(self, statement: str, parameters: Sequence[Sequence[Any]]) -> None:
        """One statement for each row of parameters."""
        for row in parameters:
            self.execute(statement, row)


@dataclass(frozen=True)
class PostgresStore:
    """The entries of one table. address: `postgresql://...`, which may name a schema (`?options=-csearch_path=NAME`). wait:
    seconds to wait for other writers."""

    address: str
    wait: float = WAIT
    _kept: threading.local = field(default_factory=threading.local, compare=False, repr=False)

    @property
    def path(self) -> str:
        """The address without its password."""
        from psycopg.conninfo import conninfo_to_dict

        known = conninfo_to_dict(self.address)
        return f"postgresql://{known.get('host', '')}/{known.get('dbname', '')}"

    @classmethod
    def create(
        cls, address: str, build: Callable[[], Sequence[Entry]], wait: float = WAIT, exist_ok: bool = False
    ) -> PostgresStore:
        """The table with its first entries. Where a ledger is there, it stays as it is if `exist_ok`, else `InvalidProblem`."""
        store = cls(address, wait)
        with store._transaction("READ WRITE") as session:
            session.execute("SELECT pg_advisory_xact_lock(?)", (LOCKING,))
            if there := store._has_table(session):
                store._require_own(session)
            else:
                for statement in SCHEMA:
                    session.connection.execute(statement.encode())
                insert(session, build())
        if there and not exist_ok:
            raise InvalidProblem(f"ledger: {shown(store.path)} is there; open it (Ledger), or name another.", value=store.path)
        return store

    def require_there(self) -> None:
        """`InvalidProblem` where no ledger is."""
        with self._transaction("READ ONLY") as session:
            there = self._has_table(session)
        if not there:
            raise InvalidProblem(
                f"ledger: {shown(self.path)} has no table of entries; name a ledger that is there, or make one (create).",
                value=self.path,
            )

    @contextmanager
    def rows(self) -> Iterator[Rows]:
        """The entries as they are at one moment."""
        with self._transaction("ISOLATION LEVEL REPEATABLE READ READ ONLY") as session:
            self._require_own(session)
            yield Rows(session)

    def append(self, build: Callable[[Rows], Sequence[Entry]]) -> tuple[Entry, ...]:
        """What `build` makes of the entries that are there, added behind them, on the server's disk when this returns.

        No other session writes in between. What `build` raises leaves the table as it was.
        """
        with self._transaction("ISOLATION LEVEL SERIALIZABLE READ WRITE") as session:
            session.execute("LOCK TABLE entries IN EXCLUSIVE MODE")  # before the view that the first question takes
            self._require_own(session)
            new = tuple(build(Rows(session)))
            insert(session, new)
        return new

    def require_whole(self) -> None:
        """`InvalidLedger` where an entry that can be counted cannot be read."""
        with self.rows() as rows:
            rows.all()

    def _has_table(self, session: Session) -> bool:
        return session.execute("SELECT to_regclass('entries')").fetchone() != (None,)

    def _require_own(self, session: Session) -> None:
        """The table with its triggers, on a server that writes to its disk."""
        if session.execute("SHOW fsync").fetchone() != ("on",):
            raise LedgerUnavailable(
                f"ledger: {shown(self.path)} runs with fsync off, so nothing is final. {NOTHING}; set it on."
            )
        if session.execute(TRIGGERS).fetchall() != OWN:
            raise InvalidLedger(f"ledger: its triggers were altered or set aside, so its entries may have been. {RESTORE}")

    @contextmanager
    def _transaction(self, mode: str) -> Iterator[Session]:
        """One transaction, final when this is left without an error; what fails in it is told in words."""
        error_of_any = _psycopg().Error
        session, ending = None, False
        try:
            session = self._session()
            session.execute(f"BEGIN {mode}")
            session.execute(f"SET LOCAL lock_timeout = {max(1, round(1000 * min(self.wait, 2e6)))}")
            session.execute("SET LOCAL synchronous_commit = on")
            yield session
            ending = True
            if session.execute("COMMIT").statusmessage != "COMMIT":
                raise InvalidLedger(f"ledger: {shown(self.path)} took an entry back. {RESTORE}")
            self._kept.session = session
        except error_of_any as error:
            raise self._told(error, ending) from None
        except BaseException:
            if session is not None:
                with suppress(error_of_any):
                    session.execute("ROLLBACK")
                    self._kept.session = session
            raise

    def _session(self) -> Session:
        """The connection that this thread of this process keeps, or a new one: while it is in use, none is kept."""
        kept, self._kept.session = getattr(self._kept, "session", None), None
        if kept is None or kept.process != os.getpid():
            kept = Session(_psycopg().connect(self.address, autocommit=True, client_encoding="utf8"))
        return kept

    def _told(self, error: psycopg.Error, ending: bool) -> LedgerUnavailable | InvalidLedger:
        state = error.sqlstate or ""
        if state == "55P03":
            return self._unavailable(HELD.format(wait=self.wait), True, False)
        for kind, (words, transient) in TROUBLES.items():
            if state.startswith(kind):
                return self._unavailable(words, transient, None if ending else False)
        if not state or state.startswith(("08", "57", "58")):
            told = "Only the ledger can say whether this was recorded; a repeated call may spend again" if ending else NOTHING
            spent = None if ending else False
            return self._unavailable(f"cannot be reached ({type(error).__name__}). {told}; try again.", True, spent)
        return InvalidLedger(
            f"ledger: {shown(self.path)} is damaged, or no ledger (SQLSTATE {state}). {RESTORE}", value=self.path
        )

    def _unavailable(self, words: str, transient: bool, spent: bool | None) -> LedgerUnavailable:
        return LedgerUnavailable(f"ledger: {shown(self.path)} {words}", transient=transient, spent=spent, value=self.path)


def _psycopg() -> Any:
    try:
        import psycopg
    except ImportError:
        raise ModuleNotFoundError(f"A ledger in PostgreSQL needs psycopg; {installing_with('postgres')}.") from None
    return psycopg

"""A ledger in PostgreSQL keeps what one in a file does: one writer, nothing spent twice, nothing released without an entry."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from designer import InvalidProblem
from designer.accounts import Ledger, Total, checked
from designer.base.errors import InvalidLedger, LedgerUnavailable, OverTotal
from designer.verifier import standalone
from tests.oracles.ledgers import PUBLIC, busy_ledger, pure, reserved_only
from tests.oracles.postgres_server import Server, programs, running

psycopg = pytest.importorskip("psycopg")
pytestmark = pytest.mark.skipif(programs() is None, reason="no PostgreSQL server is installed")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as found:
        yield found


PLACES = iter(range(10**6))


@pytest.fixture
def address(server: Server) -> str:
    """A schema of its own."""
    name = f"l{next(PLACES)}"
    with closing(psycopg.connect(server.address, autocommit=True)) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{server.address}&options=-csearch_path%3D{name}"


def kinds(address: str) -> list[str]:
    return [entry.kind for entry in Ledger(address).entries()]


def altered(address: str, *statements: str) -> None:
    with closing(psycopg.connect(address, autocommit=True)) as connection:
        for statement in statements:
            connection.execute(statement)


def asked(address: str, total: str = "1") -> Any:
    return Ledger.create(address, who="Ada").state("people", Total(epsilon=total), publishes=[PUBLIC])


def test_every_kind_of_entry_is_written_read_and_checked_as_in_a_file(address: str, tmp_path: Path) -> None:
    people = busy_ledger(address)
    found = Ledger(address)
    assert sorted(found.datasets) == ["firms", "people"] and checked(found, head=people.ledger.head).head == found.head
    copy = Ledger(found.save(tmp_path / "copy"))
    with pytest.raises(InvalidProblem, match="exists; name another"):
        found.save(tmp_path / "copy")
    assert copy.entries() == found.entries() and copy.id == found.id
    assert standalone.check_ledger((tmp_path / "copy").read_bytes(), None)[0].startswith("a ledger of")
    with pytest.raises(OverTotal):
        for _ in range(9):
            people.release(pure(), [5, 6, 7])


def test_creating_what_is_there_changes_nothing_and_what_is_not_there_is_said(address: str) -> None:
    with pytest.raises(InvalidProblem, match="has no table of entries; name a ledger that is there"):
        Ledger(address)
    first = Ledger.create(address, who="Ada")
    with pytest.raises(InvalidProblem, match="is there; open it"):
        Ledger.create(address)
    assert Ledger.create(address, exist_ok=True).id == first.id and len(first.entries()) == 1


def released(address: str, times: int) -> None:
    people = Ledger(address, who="Eve").dataset("people")
    for _ in range(times):
        with suppress(OverTotal):
            people.release(pure(), [5, 6, 7])


@pytest.mark.parametrize("workers", [3, 32])
def test_processes_and_threads_together_spend_no_more_than_the_total(address: str, workers: int) -> None:
    people = asked(address, "1.6")
    people.balance()  # a connection of this process, which the forks below must leave alone
    fork = multiprocessing.get_context("fork")
    processes = [fork.Process(target=released, args=(address, 2)) for _ in range(workers)]
    threads = [threading.Thread(target=released, args=(address, 2)) for _ in range(3)]
    for one in (*processes, *threads):
        one.start()
    for one in (*processes, *threads):
        one.join()
    assert all(process.exitcode == 0 for process in processes)
    assert kinds(address).count("released") == 6 and float(people.balance().spent.epsilon or 0) == 1.5
    checked(people.ledger)


def test_what_is_killed_between_reserving_and_recording_stays_spent(address: str) -> None:
    people = asked(address)

    def killed() -> None:
        with Ledger(address).dataset("people").reserve(pure()):
            os.kill(os.getpid(), signal.SIGKILL)

    process = multiprocessing.get_context("fork").Process(target=killed)
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL and kinds(address) == ["opened", "stated", "reserved"]
    assert float(people.balance().spent.epsilon or 0) == 0.25


def test_what_build_raises_leaves_nothing_and_the_next_call_goes_on(address: str) -> None:
    people = asked(address)

    def fails(*_: object) -> list[Any]:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        people.ledger.append(fails)
    people.release(pure(), [5, 6, 7])
    assert kinds(address) == ["opened", "stated", "reserved", "released"]


def test_a_table_that_another_session_holds_is_waited_for_and_then_refused(address: str) -> None:
    asked(address)
    with closing(psycopg.connect(address)) as other:
        other.execute("LOCK TABLE entries IN EXCLUSIVE MODE")
        hurried = Ledger(address, wait=0.1).dataset("people")
        with pytest.raises(LedgerUnavailable, match="is busy") as refused:
            hurried.release(pure(), [5, 6, 7])
        assert refused.value.transient and refused.value.spent is False
        assert len(hurried.balance().reserves) == 0  # reading goes on
        other.rollback()
    hurried.release(pure(), [5, 6, 7])


@pytest.mark.parametrize(
    "statements",
    [
        ["ALTER TABLE entries DISABLE TRIGGER entries_stay", "UPDATE entries SET body = replace(body, 'Ada', 'Eve')"],
        [
            "ALTER TABLE entries DISABLE TRIGGER entries_stay",
            "UPDATE entries SET body = replace(body, 'Ada', 'Eve') WHERE number = 2",
            "ALTER TABLE entries ENABLE TRIGGER entries_stay",
        ],
        [
            "ALTER TABLE entries DISABLE TRIGGER entries_stay",
            "DELETE FROM entries WHERE number > 2",
            "ALTER TABLE entries ENABLE TRIGGER entries_stay",
        ],
        ["CREATE OR REPLACE FUNCTION entries_follow() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN NEW; END$$"],
    ],
    ids=["triggers off", "an entry altered", "the last entries gone", "a rule that allows all"],
)
def test_what_was_altered_is_seen_by_an_open_ledger(address: str, statements: list[str]) -> None:
    people = asked(address)
    people.release(pure(), [5, 6, 7])
    head = people.ledger.head
    altered(address, *statements)
    if not any(
        "WHERE number = 2" in statement for statement in statements
    ):  # of an earlier entry nobody asks until the chain is checked
        with pytest.raises(InvalidLedger):
            people.release(pure(), [5, 6, 7])
    with pytest.raises(InvalidLedger):
        checked(Ledger(address), head=head)


@pytest.mark.parametrize("statement", ["UPDATE entries SET who = 1", "DELETE FROM entries", "TRUNCATE entries"])
def test_the_table_itself_takes_nothing_but_the_next_entry(address: str, statement: str) -> None:
    asked(address)
    with pytest.raises(psycopg.Error):
        altered(address, statement.replace("who = 1", "previous = ''"))
    with pytest.raises(psycopg.errors.RaiseException, match="entries follow one another"):
        altered(address, "INSERT INTO entries SELECT number + 5, previous, body, hash, signature FROM entries WHERE number = 1")


def test_an_older_backup_is_found_by_the_head_that_was_kept_elsewhere(address: str, tmp_path: Path) -> None:
    people = asked(address)
    reserved_only(people, pure())
    altered(address, "CREATE TABLE kept AS SELECT * FROM entries")
    done = people.release(pure(), [5, 6, 7])
    off, on = ("ALTER TABLE entries DISABLE TRIGGER USER", "ALTER TABLE entries ENABLE TRIGGER USER")
    altered(address, off, "DELETE FROM entries", "INSERT INTO entries SELECT * FROM kept", on)
    with pytest.raises(InvalidLedger):
        checked(Ledger(address), head=done.ledger["head"])
    with pytest.raises(InvalidLedger, match="set back"):
        people.balance()


def test_a_server_that_does_not_write_to_its_disk_is_refused_before_a_release(address: str) -> None:
    people = asked(address)
    try:
        altered(address, "ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()", "SELECT pg_sleep(0.3)")
        with pytest.raises(LedgerUnavailable, match="runs with fsync off") as refused:
            Ledger(address).dataset("people").release(pure(), [5, 6, 7])
        assert refused.value.spent is False
    finally:
        altered(address, "ALTER SYSTEM RESET fsync", "SELECT pg_reload_conf()", "SELECT pg_sleep(0.3)")
    assert people.ledger.entries()[-1].kind == "stated"


@pytest.mark.nightly
def test_a_server_that_crashes_is_unavailable_and_then_has_what_was_committed(address: str, server: Server) -> None:
    people = asked(address)
    people.release(pure(), [5, 6, 7])
    server.stop("immediate")
    with pytest.raises(LedgerUnavailable, match="cannot be reached") as refused:
        people.release(pure(), [5, 6, 7])
    assert refused.value.transient and refused.value.spent is False
    server.start()
    people.release(pure(), [5, 6, 7])
    assert kinds(address).count("released") == 2


def test_a_server_that_is_not_there_is_named_without_its_password() -> None:
    with pytest.raises(LedgerUnavailable, match="cannot be reached") as refused:
        Ledger("postgresql://ledger:secret@localhost:1/postgres")
    assert "secret" not in str(refused.value) and refused.value.transient


def test_a_role_that_may_only_read_is_refused_before_a_release(address: str) -> None:
    people = asked(address)
    schema = address.rsplit("%3D", 1)[1]
    grants = (f"GRANT USAGE ON SCHEMA {schema} TO reader", f"GRANT SELECT ON {schema}.entries TO reader")
    altered(address, "DROP ROLE IF EXISTS reader", "CREATE ROLE reader LOGIN", *grants)
    reading = Ledger(address.replace("ledger@", "reader@")).dataset("people")
    assert reading.balance().total == people.balance().total
    with pytest.raises(LedgerUnavailable, match="may not be written to by this role") as refused:
        reading.release(pure(), [5, 6, 7])
    assert refused.value.spent is False

"""The chain of a ledger: whatever is altered, dropped, moved or cut off is found. A ledger whose processes are killed at any
moment, and whose file is set back beneath open handles.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from designer import InvalidProblem
from designer.accounts import DataSet, Ledger, Total, checked
from designer.accounts.chain import FIRST, Entry, alone, require_opened
from designer.base.errors import InvalidLedger, LedgerUnavailable, OverTotal
from designer.base.json_text import canonical
from tests.oracles.ledgers import busy_ledger, pure, stated, unlocked


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ledger") / "original"
    busy_ledger(path)
    return path


@pytest.fixture
def copy(original: Path, tmp_path: Path) -> Path:
    path = tmp_path / "copy"
    path.write_bytes(original.read_bytes())
    return path


def entries_of(path: Path) -> tuple[Entry, ...]:
    return Ledger(path).entries()


def test_the_chain_is_what_the_page_says_it_is(original: Path) -> None:
    """Recomputed from the rows alone, with nothing of the program."""
    with closing(sqlite3.connect(original)) as connection:
        rows = connection.execute("SELECT number, previous, body, hash FROM entries ORDER BY number").fetchall()
    before = FIRST
    for place, (number, previous, body, found) in enumerate(rows, 1):
        assert (number, previous, json.loads(body)["number"]) == (place, before, place)
        assert found == hashlib.sha256(f"{previous}\n{body}".encode()).hexdigest()
        before = found
    kinds = {json.loads(row[2])["kind"] for row in rows}
    assert kinds == {"opened", "stated", "raised", "reserved", "released", "abandoned"}
    assert checked(Ledger(original)).head == before


@pytest.mark.parametrize("key", ["number", "version"])
@pytest.mark.parametrize("kind", [float, bool])
def test_numbers_of_an_entry_are_whole_numbers(original: Path, key: str, kind: type) -> None:
    """1, 1.0 and true are equal to Python, and three things in JSON."""
    first = entries_of(original)[0]
    body = canonical({**first.content, key: kind(1)}).decode()
    row = (1, FIRST, body, hashlib.sha256(f"{FIRST}\n{body}".encode()).hexdigest(), None)
    with pytest.raises(InvalidLedger):
        require_opened(alone(row))


def altered_texts(text: str, places: random.Random) -> list[str]:
    """The text with one character changed, dropped or doubled."""
    at = places.randrange(len(text))
    other = "0" if text[at] != "0" else "1"
    return [text[:at] + other + text[at + 1 :], text[:at] + text[at + 1 :], text[: at + 1] + text[at:]]


@pytest.mark.parametrize("column", ["previous", "body", "hash", "number", "signature"])
def test_an_alteration_of_any_field_is_found(original: Path, tmp_path: Path, column: str) -> None:
    places = random.Random(1)
    for entry in entries_of(original):
        new = {"number": [entry.number + 100, -entry.number], "signature": ["ab"]}.get(column)
        for value in new if new is not None else altered_texts(getattr(entry, column), places):
            path = tmp_path / "altered"
            path.write_bytes(original.read_bytes())
            with unlocked(path) as connection:
                connection.execute(f"UPDATE entries SET {column} = ? WHERE number = ?", (value, entry.number))
            with pytest.raises(InvalidLedger, match=r"entry|entries"):
                checked(Ledger(path))


@pytest.mark.parametrize("key", ["who", "time", "dataset", "reservation", "output", "expense", "guarantee", "total"])
def test_an_entry_that_says_something_else_is_found(copy: Path, key: str) -> None:
    """Its own hash is made to fit: then the next entry does not, or, of the last one, the head."""
    told = [entry for entry in entries_of(copy) if key in entry.content]
    entry, head = told[len(told) // 2], entries_of(copy)[-1].hash
    body = json.dumps({**entry.content, key: {}}, sort_keys=True, separators=(",", ":"))
    hash = hashlib.sha256(f"{entry.previous}\n{body}".encode()).hexdigest()
    with unlocked(copy) as connection:
        connection.execute("UPDATE entries SET body = ?, hash = ? WHERE number = ?", (body, hash, entry.number))
    with pytest.raises(InvalidLedger):
        checked(Ledger(copy), head=head)


def test_every_deletion_is_found(original: Path, tmp_path: Path) -> None:
    """Of the last entry, too, which no chain shows: the file knows how many it once had."""
    for entry in entries_of(original):
        path = tmp_path / "deleted"
        path.write_bytes(original.read_bytes())
        with unlocked(path) as connection:
            connection.execute("DELETE FROM entries WHERE number = ?", (entry.number,))
        with pytest.raises(InvalidLedger):
            checked(Ledger(path))


def test_every_exchange_of_two_entries_is_found(original: Path, tmp_path: Path) -> None:
    last = len(entries_of(original))
    for number in range(1, last):
        path = tmp_path / "exchanged"
        path.write_bytes(original.read_bytes())
        with unlocked(path) as connection:
            for new, old in ((-1, number), (number, number + 1), (number + 1, -1)):
                connection.execute("UPDATE entries SET number = ? WHERE number = ?", (new, old))
        with pytest.raises(InvalidLedger, match=f"entry {number} "):
            checked(Ledger(path))


def test_a_ledger_that_was_cut_off_with_care_is_found_by_the_head_of_a_release(copy: Path) -> None:
    """Nothing within the file can show it; every release carries what does."""
    entries = entries_of(copy)
    for kept in range(len(entries) - 1, 1, -1):
        with unlocked(copy) as connection:
            connection.execute("DELETE FROM entries WHERE number > ?", (kept,))
            connection.execute("UPDATE sqlite_sequence SET seq = ?", (kept,))
        assert checked(Ledger(copy), head=entries[kept - 1].hash).head == entries[kept - 1].hash
        with pytest.raises(InvalidLedger, match="older copy"):
            checked(Ledger(copy), head=entries[kept].hash)


@pytest.mark.parametrize("head", ["", "abc", "G" * 64, "0" * 63])
def test_a_head_that_is_no_hash_is_refused(original: Path, head: str) -> None:
    with pytest.raises(InvalidProblem, match="head"):
        checked(Ledger(original), head=head)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET hash = hash",
        "DELETE FROM entries",
        "DELETE FROM entries WHERE number = (SELECT max(number) FROM entries)",
        "INSERT OR REPLACE INTO entries SELECT * FROM entries WHERE number = 2",
        "INSERT INTO entries (previous, body, hash) VALUES ('a', 'b', 'c')",
    ],
)
def test_sqlite_itself_refuses_to_alter_entries(copy: Path, statement: str) -> None:
    with closing(sqlite3.connect(copy)) as connection, pytest.raises(sqlite3.IntegrityError, match="entries"):
        connection.execute(statement)


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("DROP TRIGGER entries_stay", "altered"),
        ("CREATE TABLE other (x)", "altered"),
        ("CREATE VIEW other AS SELECT 1", "altered"),
        ("PRAGMA user_version = 2", "version"),
        ("PRAGMA application_id = 1", "no ledger"),
        ("PRAGMA journal_mode = wal", "journal"),
    ],
)
def test_a_file_that_is_no_longer_as_it_was_made_is_refused(copy: Path, statement: str, words: str) -> None:
    with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
        connection.execute(statement)
        with pytest.raises(InvalidLedger, match=words):
            Ledger(copy)


def bytes_altered(original: Path, path: Path, places: range | list[int], change: Callable[[int], int]) -> int:
    """Alters one byte after the other; each is found, or changes nothing of what the entries say. How many were found."""
    content, entries, found = original.read_bytes(), entries_of(original), 0
    for place in places:
        path.write_bytes(content[:place] + bytes([change(content[place])]) + content[place + 1 :])
        try:
            assert checked(Ledger(path)).entries == entries
        except InvalidLedger:
            found += 1
    return found


def test_no_byte_of_the_file_says_something_else_unseen(original: Path, tmp_path: Path) -> None:
    size = len(original.read_bytes())
    places = sorted(random.Random(2).sample(range(size), 250))
    assert bytes_altered(original, tmp_path / "altered", [*range(40), *places], lambda byte: byte ^ 1) > 20


@pytest.mark.parametrize("mask", [1, 128, 255])
def test_no_byte_of_what_made_the_tables_ends_in_an_error_without_words(original: Path, tmp_path: Path, mask: int) -> None:
    """The first page: SQLite quotes it in messages that are no text, and hands out statements that are bytes."""
    content = original.read_bytes()
    begin = content.index(b"CREATE TABLE") - 60
    places = [*range(100), *range(begin, begin + 200)]
    assert bytes_altered(original, tmp_path / "altered", places, lambda byte: byte ^ mask) > 150


@pytest.mark.heavy
@pytest.mark.parametrize("mask", [1, 128, 255])
def test_no_byte_of_the_file_says_something_else_unseen_in_full(original: Path, tmp_path: Path, mask: int) -> None:
    size = len(original.read_bytes())
    assert bytes_altered(original, tmp_path / "altered", range(size), lambda byte: byte ^ mask) > size // 3


def test_every_byte_of_an_entry_is_found(original: Path, tmp_path: Path) -> None:
    """Where its text stands in the file."""
    content, entry = original.read_bytes(), entries_of(original)[-1]
    begin = content.rindex(entry.body.encode())
    places = list(range(begin, begin + len(entry.body) + 64))
    assert bytes_altered(original, tmp_path / "altered", places, lambda byte: byte ^ 2) == len(places)


def test_a_file_that_was_cut_is_found(original: Path, tmp_path: Path) -> None:
    content, path = original.read_bytes(), tmp_path / "cut"
    for length in [1, 15, 16, 100, *range(1024, len(content), 1024), len(content) - 1]:
        path.write_bytes(content[:length])
        with pytest.raises(InvalidLedger):
            checked(Ledger(path))


MOST = 8  # releases of the total


HEAD = 64  # bytes of a hash


def killed_after(events: int, people: DataSet) -> tuple[list[str], bool]:
    """The heads of what a process handed out that releases until it is killed, at its so many-th call or return from C or
    Python; and whether it was killed before it had spent all."""
    reader, writer = os.pipe()
    if not (child := os.fork()):
        left = iter(range(events))

        def strike(*_: Any) -> None:
            if next(left, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            sys.setprofile(strike)
            while True:
                os.write(writer, people.release(pure(), [5, 6, 7]).ledger["head"].encode())
        except OverTotal:
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        told = pipe.read().decode()
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return [told[k : k + HEAD] for k in range(0, len(told), HEAD)], os.WIFSIGNALED(status)


@pytest.mark.parametrize("kills", [8, pytest.param(200, marks=pytest.mark.nightly)])
def test_kills_and_rollbacks_spend_no_more_than_the_total_and_lose_no_release(kills: int, tmp_path: Path) -> None:
    chance, pure_first = random.Random(47), pure().release([5, 6, 7])  # what is loaded with a first release is loaded
    assert pure_first.fingerprint
    done, unfinished = 0, 0
    for number in count():
        people, handed_out = stated(tmp_path / f"l{number}", Total(epsilon=MOST / 4)), 0
        path = tmp_path / f"l{number}"
        while done < kills:
            heads, killed = killed_after(chance.randrange(1, 6000), people)
            done += killed
            ledger = Ledger(path)  # what was in the middle is taken back or there
            entries = ledger.entries(anew=True)
            released = {entry.hash for entry in entries if entry.kind == "released"}
            handed_out += len(heads)
            assert set(heads) <= released and len(released) >= handed_out
            reserved = [entry for entry in entries if entry.kind == "reserved"]
            unfinished += len(checked(ledger).open) > 0
            assert len(released) <= len(reserved) <= MOST
            assert people.balance().spent.epsilon == len(reserved) / 4 <= MOST / 4  # the handle from before sees all of it
            if len(reserved) == MOST:
                break
            before = path.read_bytes()
            handed_out += 1
            people.release(pure(), [5, 6, 7])
            if chance.random() < 0.5:
                people = set_back(people, path, before)
        with pytest.raises(OverTotal):
            while True:
                people.release(pure(), [5, 6, 7])
        if done >= kills:
            break
    assert unfinished > 0  # some kills fell between a reservation and its release


def set_back(people: DataSet, path: Path, before: bytes) -> DataSet:
    """The file as it was before the last release, and again as it is: the handle that knew more refuses for ever; a new one."""
    now = path.read_bytes()
    for content in (before, now):
        path.write_bytes(content)
        with pytest.raises((InvalidLedger, LedgerUnavailable)):
            people.release(pure(), [5, 6, 7])
        assert path.read_bytes() == content
    return Ledger(path).dataset("people")

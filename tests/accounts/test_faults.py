"""A file system that fails at any statement: nothing is lost, nothing is spent twice, nothing is released without an entry."""

from __future__ import annotations

import errno
import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from designer.accounts import DataSet, Ledger, Total, checked, store
from designer.accounts.chain import Entry, followed, output_hash
from designer.base.errors import InvalidProblem, LedgerUnavailable
from examples.service import ATTEMPTS, Service
from tests.oracles.ledgers import PUBLIC, pure, stated

ERRORS = {
    "SQLITE_IOERR_FSYNC": "disk I/O error",
    "SQLITE_FULL": "database or disk is full",
    "SQLITE_READONLY": "attempt to write a readonly database",
    "SQLITE_BUSY": "database is locked",
    "SQLITE_CANTOPEN": "unable to open database file",
}
# once: one statement fails. on: every later one, too. done: it took effect, and is told to have failed.
MANNERS = ("once", "on", "done")
EPSILON = Fraction(1, 4)
READ = "import sys; from tests.accounts.test_faults import found; print(*map(found, sys.argv[1:]), sep=chr(10))"


@dataclass
class Fault:
    """Which statement of SQLite fails next, and how. count: those that were asked for."""

    name: str = ""
    manner: str = "once"
    at: int = -1
    count: int = 0
    words: str = ""

    def __call__(self, run: Any, statement: str) -> Any:
        if self.words not in statement:
            return run()
        place, self.count = self.count, self.count + 1
        failing = place == self.at or (self.manner == "on" and 0 <= self.at <= place)
        made = None if failing and self.manner != "done" else run()
        if failing:
            del made  # a statement that is held, by the frame of an error, holds the lock of the file
            raise named(sqlite3.OperationalError(ERRORS[self.name]), self.name)
        return made


def named(error: sqlite3.Error, name: str) -> sqlite3.Error:
    error.sqlite_errorname = name
    return error


@contextmanager
def failing(fault: Fault) -> Iterator[None]:
    class Connection(sqlite3.Connection):
        def execute(self, *args: Any) -> Any:
            return fault(lambda: super(Connection, self).execute(*args), args[0])

        def executemany(self, *args: Any) -> Any:
            return fault(lambda: super(Connection, self).executemany(*args), args[0])

    connect = sqlite3.connect
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sqlite3, "connect", lambda *args, **more: connect(*args, factory=Connection, **more))
        yield


@dataclass
class Seen:
    """What the caller knows: the step that failed and how, what was shown, and how often data were read."""

    path: Path
    step: str = ""
    error: LedgerUnavailable | None = None
    shown: list[str] = field(default_factory=list)
    read: int = 0


def year(path: Path) -> Seen:
    """A ledger is made, a data set is stated, and two releases are made, until something fails."""
    seen = Seen(path)
    try:
        seen.step = "create"
        made = Ledger.create(path, who="Ada", exist_ok=True)
        seen.step = "state"
        with suppress(InvalidProblem):  # is stated, by an earlier call
            made.state("people", Total(epsilon=1), publishes=[PUBLIC])
        people = made.dataset("people")
        for _ in range(2):
            release(people, seen)
    except LedgerUnavailable as error:
        seen.error = error
    return seen


def release(people: DataSet, seen: Seen) -> Seen:
    """A release by hand, unless something has failed before."""
    if seen.error is None:
        try:
            seen.step = "reserve"
            with people.reserve(pure()) as reservation:
                seen.step, seen.read = "record", seen.read + 1
                document = reservation.record({"answers": [seen.read], "path": seen.path.name})
            seen.shown.append(output_hash(document))
            seen.step = "done"
        except LedgerUnavailable as error:
            seen.error = error
    return seen


def statements(path: Path) -> int:
    with failing(count := Fault()):
        assert year(path).step == "done"
    return count.count


def found(path: str | Path) -> str:
    """What a ledger holds, checked by who has not opened it before."""
    return json.dumps([[entry.kind, entry.content.get("output")] for entry in checked(Ledger(path)).entries])


def read_by_another_process(paths: list[Path]) -> list[str]:
    done = subprocess.run([sys.executable, "-c", READ, *map(str, paths)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def require_told(seen: Seen, fault: Fault) -> None:
    """The error says whether anything was spent, and whether to try again."""
    error, text = seen.error, str(seen.error)
    assert error is not None and error.transient == (fault.name == "SQLITE_BUSY")
    if seen.step == "record":
        assert error.spent is True and "stays spent" in text and "Another release spends again" in text
    elif fault.name == "SQLITE_IOERR_FSYNC":
        assert error.spent is None and "only the ledger can say" in text
    else:
        assert error.spent is False and "Nothing was recorded by this call" in text and "stays spent" not in text
    assert "to call again is safe" in text.lower()


def every_fault(folder: Path, name: str, manner: str, places: range, read: Callable[[list[Path]], list[str]]) -> int:
    """One fault at each of these statements; how many were told."""
    cases = [(Fault(name, manner, at), folder / f"{name}-{manner}-{at}") for at in places]
    told = []
    for fault, path in cases:
        with failing(fault):
            seen = year(path)
        if seen.error is None:  # what failed was the last word of a call whose work was done, or of an abandoned one
            assert seen.step == "done"
            continue
        require_told(seen, fault)
        told.append(seen)
    held = [seen for seen in told if seen.path.exists() and seen.path.stat().st_size]
    for seen, text in zip(held, read([seen.path for seen in held]), strict=True):
        entries = json.loads(text)
        kinds = [kind for kind, _ in entries]
        outputs = [output for kind, output in entries if kind == "released"]
        # Nothing released without an entry, and in order; no data read without one that reserves.
        assert outputs[: len(seen.shown)] == seen.shown and len(outputs) <= seen.read <= kinds.count("reserved")
        # What the error says of the budget is what another process finds.
        spent = kinds.count("reserved") - len(seen.shown)
        assert seen.error is not None and spent in {True: (1,), False: (0,), None: (0, 1)}[seen.error.spent], (seen, kinds)
    for seen in told:  # trying again works, and spends what it says
        before = Ledger(seen.path).entries() if seen in held else ()
        already = sum(entry.kind == "reserved" for entry in before)
        again = year(seen.path)
        assert again.step == "done" and len(again.shown) == 2, again
        balance = Ledger(seen.path).dataset("people").balance()
        assert balance.spent.epsilon == EPSILON * (already + 2) <= 1
    return len(told)


@pytest.mark.parametrize(
    "name, manner, step",
    [
        ("SQLITE_IOERR_FSYNC", "on", 47),
        *(pytest.param(name, manner, 8, marks=pytest.mark.nightly) for name in ERRORS for manner in MANNERS[:2]),
        pytest.param("SQLITE_IOERR_FSYNC", "done", 8, marks=pytest.mark.nightly),
    ],
)
def test_a_file_system_that_fails_at_any_statement_loses_nothing_and_spends_nothing_twice(
    tmp_path: Path, name: str, manner: str, step: int
) -> None:
    """Nightly more than 200 faults, read by another process. After a COMMIT that failed and was done only the ledger knows."""
    count = statements(tmp_path / "counted")
    read = read_by_another_process if step == 8 else lambda paths: list(map(found, paths))
    places = range(count % step, count, step)
    assert every_fault(tmp_path, name, manner, places, read) >= len(places) - 1


@pytest.mark.parametrize("name", ERRORS)
def test_a_commit_that_fails_hands_nothing_out(tmp_path: Path, name: str) -> None:
    """Of each entry of a release: the one that reserves, and the one that records."""
    for place, step in ((0, "reserve"), (1, "record")):
        people = stated(path := tmp_path / f"{name}{place}")
        with failing(fault := Fault(name, words="COMMIT", at=place)):
            seen = release(people, Seen(path))
        assert seen.step == step and not seen.shown
        require_told(seen, fault)
        kinds = [kind for kind, _ in json.loads(found(path))]
        assert kinds == ["opened", "stated", *(["reserved", "abandoned"] if place else [])]


def test_a_folder_that_fails_once_a_ledger_is_made_is_told_as_a_disk_that_fails(tmp_path: Path) -> None:
    def fails(folder: Path) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with patch.object(store, "sync_folder", fails), pytest.raises(LedgerUnavailable, match="disk failed") as refused:
        Ledger.create(tmp_path / "l")
    assert refused.value.spent is None and not refused.value.transient
    assert year(tmp_path / "l").step == "done"


def test_who_keeps_an_error_of_a_reading_keeps_no_lock(tmp_path: Path) -> None:
    """As an interactive session does, which holds the frames of the last interruption."""
    people = stated(tmp_path / "l")

    def interrupted(rows: Any, before: Entry | None = None) -> tuple[Entry, ...]:
        if isinstance(rows, sqlite3.Cursor) and next(rows, None):
            raise KeyboardInterrupt
        return followed(rows, before)

    with pytest.raises(KeyboardInterrupt) as kept, patch.object(store, "followed", interrupted):
        people.ledger.entries(anew=True)
    Ledger(tmp_path / "l", wait=0.05).dataset("people").release(pure(), [5, 6, 7])
    assert kept.value.__traceback__ is not None


@pytest.mark.parametrize(
    "transient, spent, times", [(True, False, ATTEMPTS), (True, True, 1), (True, None, 1), (False, False, 1)]
)
def test_the_service_tries_again_where_nothing_was_spent_and_not_for_ever(
    monkeypatch: pytest.MonkeyPatch, transient: bool, spent: bool | None, times: int
) -> None:
    service, tried = Service.__new__(Service), []
    service.specs = {"cells": pure()}

    def busy(self: Service, name: str, asked: Any) -> dict[str, Any]:
        tried.append(name)
        raise LedgerUnavailable("ledger: is busy.", transient=transient, spent=spent)

    monkeypatch.setattr(Service, "_release", busy)
    with pytest.raises(LedgerUnavailable):
        service.release({"spec": "cells"})
    assert len(tried) == times

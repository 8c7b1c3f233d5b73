"""A ledger whose processes are killed at any moment, and whose file is set back beneath open handles."""

from __future__ import annotations

import os
import random
import signal
import sys
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from designer.accounts import DataSet, Ledger, Total, checked
from designer.base.errors import InvalidLedger, LedgerUnavailable, OverTotal
from tests.oracles.ledgers import pure, stated

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
            heads, killed = killed_after(chance.randrange(1, 4000), people)
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

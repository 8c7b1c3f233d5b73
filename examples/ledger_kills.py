"""Releases that are killed, and releases at once: what a ledger must survive, done to it.

Real processes run `dp-designer release --ledger` and end by SIGKILL: after a random time, and at the entry and the exit of each
of their system calls in turn that another process could see (Linux can stop them there: opening, locking, writing, syncing,
linking, removing). After each kill the ledger is read: what it held before must be in it, at most one reservation more, and
whatever reached standard output or the output file must be recorded with its hash. Then sixteen processes release from one
data set, undisturbed and killed at random, until its total is used up. Processes are forked from one that has everything
loaded, or a thousand of them would take half an hour. What this cannot show is a failure of power: that a commit is on the
disk is left to SQLite and fsync.

    python -m examples.ledger_kills
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from designer import Problem, Workload, design, metrics
from designer.accounts import Ledger, Total, checked
from designer.accounts.chain import Entry, output_hash
from designer.base.progress import showing_progress, track
from designer.cli import main
from designer.files.releases import release_document
from examples.reproduction import Result, show

DIFFERENCES: dict[str, str] = {}
EPSILON = 0.25  # of one release
RELEASES = 40  # that the total of a data set has room for
PROCESSES = 16
PUBLIC = "The number of records is public."
TRACEME, PEEK, STEP, SET_OPTIONS, MARK_SYSTEM_CALLS = 0, 3, 24, 0x4200, 1
# Of x86-64: write, pwrite64, writev, fcntl, fsync, fdatasync, ftruncate, rename, link, unlink, openat, unlinkat, renameat,
# linkat, renameat2. On other machines every system call counts.
SEEN_OUTSIDE = {1, 18, 20, 72, 74, 75, 77, 82, 86, 87, 257, 263, 264, 265, 316}
NUMBER_OF_CALL = 8 * 15  # where x86-64 keeps it
SYSTEM_CALL = signal.SIGTRAP | 0x80


@dataclass
class Book:
    """One ledger with room for RELEASES releases, and what was seen of it from outside."""

    folder: Path
    runs: int = 0
    seen: tuple[Entry, ...] = ()
    counts: Counter[str] = field(default_factory=Counter)

    @classmethod
    def made(cls, folder: Path) -> Book:
        """A new folder with a spec, data, and a ledger."""
        folder.mkdir()
        mechanism = design(Problem(Workload.identity(3), metrics.uniform(3, EPSILON)), "laplace").mechanism
        mechanism.save(folder / "spec.json")
        release_document(mechanism, mechanism.release([5, 1, 0]))  # so that all modules are loaded before processes are forked
        (folder / "counts.csv").write_text("count\n5\n1\n0\n")
        ledger = Ledger.create(folder / "ledger")
        ledger.state("people", Total(epsilon=EPSILON * RELEASES), publishes=[PUBLIC])
        return cls(folder, seen=ledger.entries())

    def started(self, before: Callable[[], object] = lambda: None) -> tuple[int, str]:
        """A process that releases once; `before` runs in it, first. Its number, and the name of what it writes."""
        self.runs += 1
        name = f"run{self.runs}"
        if child := os.fork():
            return child, name
        try:
            self._release(name, before)
        finally:
            os._exit(99)

    def _release(self, name: str, before: Callable[[], object]) -> None:
        for place, suffix in ((1, "out"), (2, "err")):
            os.dup2(os.open(self.folder / f"{name}.{suffix}", os.O_WRONLY | os.O_CREAT, 0o600), place)
        sys.stdout, sys.stderr = open(1, "w"), open(2, "w")  # noqa: SIM115
        data = ["--histogram", str(self.folder / "counts.csv"), "-o", str(self.folder / f"{name}.json")]
        ledger = ["--ledger", str(self.folder / "ledger"), "--dataset", "people", "--who", name]
        before()
        os._exit(main(["release", str(self.folder / "spec.json"), *data, *ledger, "--json"]))

    def ended(self, names: list[str]) -> None:
        """Reads the ledger after some processes have ended, and counts what must not be."""
        found = checked(Ledger(self.folder / "ledger"))  # raises where the chain or a total does not hold
        new = found.entries[len(self.seen) :]
        self.counts["entries lost"] += found.entries[: len(self.seen)] != self.seen
        self.counts["spent over the total"] += sum(e.kind == "reserved" for e in found.entries) > RELEASES
        for name in names:
            self._count(name, [entry for entry in new if entry.content["who"] == name])
        self.counts["entries of nobody"] += sum(entry.content["who"] not in names for entry in new)
        self.seen = found.entries

    def _count(self, name: str, own: list[Entry]) -> None:
        kinds = [entry.kind for entry in own if entry.kind != "summed"]
        outputs = {entry.content["output"] for entry in own if entry.kind == "released"}
        shown = [hash for suffix in ("out", "json") if (hash := shown_by(self.folder / f"{name}.{suffix}")) is not None]
        self.counts["spent twice"] += kinds not in ([], ["reserved"], ["reserved", "released"])
        self.counts["shown without a record"] += any(hash not in outputs if hash else not outputs for hash in shown)
        state = (
            "shown" if shown else "recorded, not shown" if outputs else "reserved, not recorded" if kinds else "not reserved"
        )
        self.counts[state] += 1


def shown_by(path: Path) -> str | None:
    """The hash of a release that a process wrote; an empty text for a part of one, None for nothing."""
    text = path.read_text() if path.exists() else ""
    if not text:
        return None
    try:
        return output_hash(json.loads(text))
    except ValueError:
        return ""


@dataclass
class Shelf:
    """Books one after the other: the one in use serves `runs` processes."""

    folder: Path
    runs: int
    books: list[Book] = field(default_factory=list)

    @property
    def book(self) -> Book:
        """The one in use."""
        if not self.books or self.books[-1].runs >= self.runs:
            self.folder.mkdir(exist_ok=True)
            self.books.append(Book.made(self.folder / f"book{len(self.books)}"))
        return self.books[-1]


def trace(request: int, process: int, place: int = 0, data: int = 0) -> int:
    """The system call `ptrace`; -1 where it is not permitted."""
    call = ctypes.CDLL(None, use_errno=True).ptrace
    call.restype, call.argtypes = ctypes.c_long, [ctypes.c_long] * 4
    return int(call(request, process, place, data))


def stopped_first() -> None:
    """In a process that is to be traced: wait for the tracer."""
    if trace(TRACEME, 0) == 0:
        os.kill(os.getpid(), signal.SIGSTOP)


def stepped(process: int, stops: int | None) -> int:
    """Let a process go on to this number of entries and exits of system calls that others see, and kill it there; how many were
    met."""
    _, status = os.waitpid(process, 0)
    if not os.WIFSTOPPED(status):
        return 0  # tracing is not permitted here
    trace(SET_OPTIONS, process, 0, MARK_SYSTEM_CALLS)
    met, passed = 0, 0
    while stops is None or met < stops:
        trace(STEP, process, 0, passed)
        _, status = os.waitpid(process, 0)
        if not os.WIFSTOPPED(status):
            return met
        passed = 0 if (found := os.WSTOPSIG(status)) == SYSTEM_CALL else found  # other signals are handed on
        met += found == SYSTEM_CALL and seen_outside(process)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return met


def seen_outside(process: int) -> bool:
    """Is a process stopped at a system call that another process could see?"""
    return os.uname().machine != "x86_64" or trace(PEEK, process, NUMBER_OF_CALL) in SEEN_OUTSIDE


def kill_at_steps(shelf: Shelf, wanted: int | None) -> int:
    """Kills at the system calls of a release that others see, all of them or `wanted` in even distances; how many."""
    process, name = (first := shelf.book).started(stopped_first)
    length = stepped(process, None)
    first.ended([name])
    step = 1 if wanted is None else max(1, length // wanted)
    for stops in track(range(1, length + 1, step), "system calls"):
        process, name = (current := shelf.book).started(stopped_first)
        stepped(process, stops)
        current.ended([name])
    return len(range(1, length + 1, step))


def kill_at_random(shelf: Shelf, kills: int, dice: random.Random) -> int:
    """Kills after random times, up to a little more than a release takes; how many."""
    begun = time.monotonic()
    process, name = (current := shelf.book).started()
    os.waitpid(process, 0)
    current.ended([name])
    longest = 1.2 * (time.monotonic() - begun)
    for _ in track(range(kills), "random kills"):
        process, name = (current := shelf.book).started()
        time.sleep(dice.uniform(0, longest))
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        current.ended([name])
    return kills


def at_once(folder: Path, rounds: int, dice: random.Random | None = None) -> Book:
    """Sixteen processes at once, for some rounds, on one ledger; with dice, each is killed after a random time."""
    book = Book.made(folder)
    for _ in range(rounds):
        running = dict(book.started() for _ in range(PROCESSES))
        for process in running if dice is not None else ():
            time.sleep(dice.uniform(0, 0.2) if dice is not None else 0)
            os.kill(process, signal.SIGKILL)
        for process in running:
            os.waitpid(process, 0)
        book.ended(list(running.values()))
    return book


def work(full: bool) -> dict[str, float]:
    """Everything, in this process and its children."""
    dice = random.Random(16)
    gc.freeze()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # At random, a third of the processes find the total used up; at steps, each has room for its release.
        random_times, steps = Shelf(folder / "random", RELEASES * 3 // 2), Shelf(folder / "steps", RELEASES)
        computed: dict[str, float] = {"kills at random times": kill_at_random(random_times, 1000 if full else 8, dice)}
        computed["kills at system calls"] = kill_at_steps(steps, None if full else 12)
        undisturbed, killed = at_once(folder / "undisturbed", 3), at_once(folder / "killed", 12 if full else 1, dice)
        counts = sum((book.counts for book in (*random_times.books, *steps.books, undisturbed, killed)), Counter[str]())
    computed["releases shown, of 48 processes and room for 40"] = undisturbed.counts["shown"]
    computed["killed among 16 at once"] = killed.runs
    ends = ("not reserved", "reserved, not recorded", "recorded, not shown", "shown")
    return {**computed, **{name: counts[name] for name in (*ends, *NEVER)}}


NEVER = ("entries lost", "entries of nobody", "spent twice", "spent over the total", "shown without a record")


def reproduce(full: bool = False) -> Result:
    """A thousand kills and sixteen processes, in a process of its own, which forks the others."""
    command = [sys.executable, "-m", "examples.ledger_kills", "full" if full else "sample"]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, check=True, text=True)
    computed: dict[str, float] = json.loads(done.stdout)
    published = dict.fromkeys(NEVER, (0.0, 0.0))
    published["releases shown, of 48 processes and room for 40"] = (float(RELEASES), float(RELEASES))
    return computed, published


if __name__ == "__main__":
    if len(sys.argv) > 1:
        with showing_progress(sys.stderr.isatty()):
            print(json.dumps(work(full=sys.argv[1] == "full")))
    else:
        show("Releases that were killed, and releases at once", reproduce, DIFFERENCES)

"""What recording a release costs as a ledger grows: processor milliseconds in one object, and with the file opened anew.

    python -m benchmarks.ledger_release [entries ...]

The release alone stands beside it, and so does the floor: SQLite itself, which opens a file and commits an entry, twice. The
time that the disk takes is not processor time.
"""

from __future__ import annotations

import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from designer import Problem, Workload, design, metrics
from designer.accounts import DataSet, Ledger, Total
from designer.accounts.chain import entry_reserved
from designer.accounts.composition.cost_record import expense_of
from designer.relations.records.row_unit import RowUnit

ENTRIES = (50, 500, 5_000, 50_000, 1_000_000)
COUNTS = [5, 6, 7]


def of_length(path: Path, entries: int, mechanism: Any) -> DataSet:
    """A ledger with so many reservations of one data set, and a sum behind them."""
    public = mechanism.guarantee.unprotected
    people = Ledger.create(path).state("people", Total(epsilon=10**9), publishes=public)
    reserved = entry_reserved("people", expense_of(mechanism), mechanism.guarantee, RowUnit())
    people.ledger.append(lambda standings, rows: [reserved] * entries)
    return people


def milliseconds(run: Callable[[], object], times: int) -> float:
    """Processor time of a call, after one that is not measured."""
    run()
    start = time.process_time()
    for _ in range(times):
        run()
    return 1e3 * (time.process_time() - start) / times


def floor(path: Path) -> float:
    """Of two commits of an entry to a copy of the file without its triggers, each in a connection of its own."""
    with closing(sqlite3.connect(shutil.copy(path, path.with_name("bare")), isolation_level=None)) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        text = "x" * len(connection.execute("SELECT body FROM entries ORDER BY number DESC").fetchone()[0])

    def commit() -> None:
        with closing(sqlite3.connect(path.with_name("bare"), isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = EXTRA")
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO entries (previous, body, hash) VALUES ('', ?, '')", (text,))
            connection.execute("COMMIT")

    return 2 * milliseconds(commit, 100)


def main(*entries: int) -> None:
    """Print a line for each length."""
    mechanism = design(Problem(Workload.identity(3), metrics.uniform(3, 0.25)), "laplace").mechanism
    alone = milliseconds(lambda: mechanism.release(COUNTS), 200)
    print(f"the release alone: {alone:.2f} ms\n{'entries':>9}{'one object':>12}{'opened anew':>13}{'SQLite alone':>14}")
    for length in entries or ENTRIES:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "ledger"
            people = of_length(path, length, mechanism)
            one = milliseconds(lambda people=people: people.release(mechanism, COUNTS), 40)  # type: ignore[misc]
            anew = milliseconds(lambda path=path: Ledger(path).dataset("people").release(mechanism, COUNTS), 20)  # type: ignore[arg-type, misc]
            print(f"{length:>9}{one:>12.2f}{anew:>13.2f}{floor(path):>14.2f}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

"""How a ledger grows: what one more release, and what a check of all of it, take after so many releases of one data set."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.growth.case import Case
from designer import Problem, Workload, design, metrics
from designer.accounts import Ledger, Total, checked
from designer.accounts.chain import Entry, entry_released, entry_reserved
from designer.accounts.composition.cost_record import expense_of
from designer.relations.records.row_unit import RowUnit

MECHANISM = design(Problem(Workload.identity(3), metrics.uniform(3, 0.01)), "laplace").mechanism


def filled(releases: int, total: Total) -> Ledger:
    """A ledger with so many releases of a data set, put there in one transaction."""
    ledger = Ledger.create(Path(tempfile.mkdtemp()) / "ledger")
    ledger.state("people", total, publishes=None)
    expense = expense_of(MECHANISM)

    def build(entries: tuple[Entry, ...]) -> list[dict[str, Any]]:
        pairs = range(len(entries) + 1, len(entries) + 2 * releases, 2)
        both = (
            (entry_reserved("people", expense, MECHANISM.guarantee, RowUnit()), entry_released("people", k, "0" * 64))
            for k in pairs
        )
        return [content for pair in both for content in pair]

    ledger.append(build)
    return ledger


def pure(releases: int) -> Ledger:
    """With a total in epsilon."""
    return filled(releases, Total(epsilon=10**6))


def approximate(releases: int) -> Ledger:
    """With a total in epsilon and delta."""
    return filled(releases, Total(epsilon=10**6, delta="1e-6"))


def released(ledger: Ledger) -> str:
    """Ten releases; the size of the file and the milliseconds of one."""
    begun = time.perf_counter()
    for _ in range(10):
        ledger.dataset("people").release(MECHANISM, [5, 6, 7])
    each = (time.perf_counter() - begun) / 10
    return f"{1000 * each:.0f} ms each, {ledger.store.path.stat().st_size / 2**20:.1f} MB"


def checked_whole(ledger: Ledger) -> str:
    """Everything that `ledger check` looks at."""
    return f"{len(checked(ledger).entries)} entries hold"


SIZES = (100, 400, 1_600, 6_400, 25_600)
CASES = (
    Case("ledger, ten more releases, total in epsilon", "releases", SIZES, released, pure),
    Case("ledger, ten more releases, total with delta", "releases", SIZES, released, approximate),
    Case("ledger, check of the whole", "releases", SIZES, checked_whole, pure),
)

"""Ledgers to test with: mechanisms of known cost, a small ledger with some of everything, and its rows as SQLite has them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from designer import Problem, Workload, design, metrics
from designer.accounts import DataSet, Ledger, Total
from designer.certificate.frozen import FrozenMechanism

PUBLIC = "The number of records is public."


@cache
def pure(epsilon: float = 0.25) -> Any:
    """Laplace noise that costs epsilon."""
    return design(Problem(Workload.identity(3), metrics.uniform(3, epsilon)), "laplace").mechanism


@cache
def normal(budget: float = 0.25) -> Any:
    """Gaussian noise that costs rho = budget^2 / 2."""
    return design(Problem(Workload.identity(3), metrics.uniform(3, budget), notion="zcdp"), "gaussian").mechanism


def stated(path: Path, total: Total | None = None, name: str = "people") -> DataSet:
    """A new ledger with one data set."""
    return Ledger.create(path, who="Ada").state(name, total or Total(epsilon=1), publishes=[PUBLIC])


class Stamp:
    """A signer, which anybody can imitate."""

    def __init__(self, key: str = "stamp") -> None:
        self.key = key

    def sign(self, message: bytes) -> str:
        return f"{self.key} signed {message.decode()}"


def kinds_of(ledger: Ledger) -> list[str]:
    """What its entries are."""
    return [entry.kind for entry in ledger.entries()]


def reserved_only(people: DataSet, mechanism: FrozenMechanism) -> None:
    """What a killed release leaves behind."""
    with suppress(KeyError), people.reserve(mechanism) as reservation:
        reservation.recorded = True  # so that leaving writes nothing
        raise KeyError


def busy_ledger(path: Path) -> DataSet:
    """A ledger with an entry of every kind, of two data sets."""
    people = stated(path)
    people.release(pure(), [5, 6, 7])
    Ledger(path, who="Eve").state("firms", Total(rho="0.5"), publishes=None).release(normal(), [1, 2, 3])
    with suppress(ZeroDivisionError), people.reserve(pure()):
        raise ZeroDivisionError
    people.raise_total(Total(epsilon=2), "the second survey")
    reserved_only(people, pure())
    people.release(pure(), [5, 6, 7])
    return people


@contextmanager
def unlocked(path: Path) -> Iterator[sqlite3.Connection]:
    """The file without its triggers, for who wants to alter it; they are there again afterwards."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        yield connection
        for _, sql in triggers:
            connection.execute(sql)

"""What a data set stands at: its terms, and what all releases that were reserved cost together; all that the next one needs.

It follows from the entries of a ledger, and is written into it at intervals (`summed`): entries of equal cost as the first of
them, with its hash, and their number. So what is spent follows from the last entries of the chain and those that they name,
however many there are; `designer.accounts.check` derives it anew from all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

from designer.accounts.chain import RESTORE, Entry
from designer.accounts.entries import DatasetTerms
from designer.accounts.together.expense import Expense, Spent
from designer.accounts.totals import Total, decimal_text
from designer.base.arrays import Immutable
from designer.base.checks import shown
from designer.base.errors import InvalidLedger, InvalidProblem, InvalidSpec, OverTotal
from designer.relations.rows.row_unit import RowUnit

ROUNDING = Fraction(1, 10**9)  # an excess below this share of the total comes from budgets that are floats
OTHER_ROWS = (
    "dataset: {name} was charged for what protects {before}; this release protects {now}, and what the two cost does not add "
    "up to a promise about either. Give the same --entity, or state another data set."
)
SCOPED = "Only changes within the scope {scope} are protected."
SUMMED = "summed"
LEAST_BETWEEN = 32  # entries between two sums; more where a sum is longer


@dataclass(frozen=True)
class Equal:
    """Releases of equal cost. number, hash: of the entry that reserved the first of them."""

    number: int
    hash: str
    expense: Expense
    times: int


@dataclass(frozen=True)
class Standing(Immutable):
    """One data set. terms: those that hold now. row: what one row is, None before the first release. scope: that of the first
    release. equal: its releases, those of one cost together, in the order of the first of each."""

    name: str
    terms: DatasetTerms
    row: RowUnit | None = None
    scope: str | None = None
    equal: tuple[Equal, ...] = ()

    @property
    def total(self) -> Total:
        """The total that holds now."""
        return self.terms.total

    @cached_property
    def spent(self) -> Spent:
        """What all of it costs together."""
        return self._spent(())

    def with_one_more(self, expense: Expense) -> Spent:
        """What it would cost with this; `InvalidProblem` where the two do not add up to a promise."""
        return self._spent((expense,))

    def _spent(self, more: tuple[Expense, ...]) -> Spent:
        expenses = (*(equal.expense for equal in self.equal), *more)
        return self.terms.spent(expenses, (*(equal.times for equal in self.equal), *(1 for _ in more)))

    def require_room(self, expense: Expense, row: RowUnit) -> None:
        """`OverTotal` where a release may not be made, with the reason; `InvalidProblem` where it does not add up."""
        self._require_same_rows(row)
        after = self.with_one_more(expense)
        if hidden := (*self.unprotected_beyond(after), *self._beyond_scope(expense)):
            allowed = " ".join(f"--publishes {line!r}" for line in hidden)
            late = " and if that does not depend on what earlier releases showed" if self.equal else ""
            raise OverTotal(
                f"dataset: {shown(self.name)} does not allow that this stays unprotected: {' '.join(hidden)} If it may{late}, "
                f"allow it by name (dp-designer ledger raise ... --reason WHY {allowed}).",
                value=self.name,
            )
        if not self.total.covers(after.total):
            raise OverTotal(f"dataset: {shown(self.name)} {_excess(self.total, after)}", value=self.name)

    def unprotected_beyond(self, after: Spent) -> tuple[str, ...]:
        """What the allowance does not let be unprotected."""
        allowed = self.terms.publishes
        return () if allowed is None else tuple(line for line in after.unprotected if line not in allowed)

    def _beyond_scope(self, expense: Expense) -> tuple[str, ...]:
        """The line of a scope that was not fixed before the first answer: neither that of the first release, nor allowed.

        Two partitions, or two invariants of the same names, leave the same sentences unprotected. Which of them is public may
        depend on earlier answers unless it is named: docs/theory/composition.md, section 4.
        """
        allowed = self.terms.publishes
        if expense.scope is None or allowed is None or not self.equal or expense.scope == self.scope:
            return ()
        line = SCOPED.format(scope=expense.scope[:32])
        return () if line in allowed else (line,)

    def _require_same_rows(self, row: RowUnit) -> None:
        if self.row is not None and (self.row.name, self.row.entity) != (row.name, row.entity):
            raise InvalidProblem(OTHER_ROWS.format(name=shown(self.name), before=_rows(self.row), now=_rows(row)))

    def to_dict(self) -> dict[str, Any]:
        """Plain data of an entry that sums; expenses by the number and the hash of the first entry that has them."""
        return {
            "dataset": self.name,
            **self.terms.to_dict(),
            "content": self.terms.content,
            "rows": None if self.row is None else self.row.declared(),
            "scope": self.scope,
            "expenses": [[equal.number, equal.hash, equal.times] for equal in self.equal],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], entry: Callable[[int], Entry]) -> Standing:
        """The inverse. entry: the entry of a number."""
        equal = []
        for number, hash, times in data["expenses"]:
            first = entry(number)
            if type(times) is not int or times < 1:
                raise InvalidSpec(f"expenses: {shown(times)} is no number of releases.", value=times)
            if first.hash != hash:
                raise InvalidLedger(f"ledger: entry {number} was altered after it was summed up. {RESTORE}")
            equal.append(Equal(number, hash, reserved(first), times))
        row = None if data["rows"] is None else RowUnit(**data["rows"])
        return cls(data["dataset"], DatasetTerms.from_dict(data, data["content"]), row, data["scope"], tuple(equal))


Standings = Mapping[str, Standing]  # by the names of data sets, in the order in which they were stated


def advanced(standings: Standings, entries: Iterable[Entry]) -> Standings:
    """What data sets stand at after further entries; `InvalidLedger` where those were not written by this program."""
    made, own = dict(standings), dict[str, list[Entry]]()
    for entry in entries:
        if (name := entry.content.get("dataset")) is not None:
            own.setdefault(name, []).append(entry)
    for name, listed in own.items():
        try:
            made[name] = _after(made.get(name), name, listed)
        except InvalidLedger:
            raise
        except (InvalidProblem, InvalidSpec, TypeError, ValueError, KeyError) as error:
            raise InvalidLedger(
                f"ledger: entries about {shown(name)} were not written by this program ({error}). {RESTORE}"
            ) from None
    return made


def _after(standing: Standing | None, name: str, entries: Sequence[Entry]) -> Standing:
    """What one data set stands at after entries about it."""
    stated = [entry.kind == "stated" for entry in entries]
    if sum(stated) != (standing is None) or (standing is None and not stated[0]):
        raise InvalidLedger(
            f"ledger: {shown(name)} is not stated once, before anything else is said of it. {RESTORE}", value=name
        )
    if standing is None:
        standing = Standing(name, DatasetTerms.from_dict(entries[0].content, entries[0].content["content"]))
    terms, row, scope = standing.terms, standing.row, standing.scope
    equal = {_cost(one.expense): one for one in standing.equal}
    for entry in entries:
        if entry.kind == "raised":
            terms = DatasetTerms.from_dict(entry.content, terms.content)
        elif entry.kind == "reserved":
            expense = reserved(entry)
            scope = expense.scope if row is None else scope
            row = RowUnit(**(entry.content["rows"] or {}))
            known = equal.get(key := _cost(expense), Equal(entry.number, entry.hash, expense, 0))
            equal[key] = replace(known, times=known.times + 1)
    return Standing(name, terms, row, scope, tuple(equal.values()))


def summed(standings: Standings) -> dict[str, Any]:
    """The content of an entry that sums up all data sets."""
    return {"kind": SUMMED, "standings": [standing.to_dict() for standing in standings.values()]}


def standings_of(entry: Entry, first: Callable[[int], Entry]) -> Standings:
    """What an entry that sums says. first: the entry of a number."""
    try:
        listed = [Standing.from_dict(data, first) for data in entry.content["standings"]]
    except InvalidLedger:
        raise
    except (InvalidProblem, InvalidSpec, TypeError, ValueError, KeyError) as error:
        raise InvalidLedger(f"ledger: entry {entry.number} was not written by this program ({error}). {RESTORE}") from None
    return {standing.name: standing for standing in listed}


def length(standings: Standings) -> int:
    """How much an entry that sums holds: data sets and different costs."""
    return len(standings) + sum(len(standing.equal) for standing in standings.values())


@lru_cache(maxsize=2**16)
def reserved(entry: Entry) -> Expense:
    """The expense of an entry that reserves, read once: one more release looks at all that were made."""
    return Expense.from_dict(entry.content["expense"])


COST = tuple(part.name for part in fields(Expense) if part.name not in ("fingerprint", "format"))


def _cost(expense: Expense) -> tuple[Any, ...]:
    """What releases of equal cost have in common."""
    return tuple(getattr(expense, name) for name in COST)


def _rows(row: RowUnit) -> str:
    if row.entity is not None:
        return f"the entities of column {shown(row.entity)}"
    return "single rows" if row.name is None else f"rows of which each is one {shown(row.name)}"


def _excess(total: Total, after: Spent) -> str:
    """Why a total does not cover what would be spent, and the way on."""
    value = total.measured(after.total)
    if value is None:
        kind = "epsilon" if total.rho is None else "rho"
        return (
            f"has a total of {total.to_text()}, and this release (or one before it) promises no {kind} without a delta; design "
            "for that notion, or raise the total in one that has room for both (dp-designer ledger raise)."
        )
    name = "delta" if total.delta is not None else "rho" if total.rho is not None else "epsilon"
    words = f"has a total of {total.to_text()}; with this release {name} {decimal_text(value)} would be spent"
    if value - total.limit <= total.limit * ROUNDING:
        words += (
            f", {decimal_text(value - total.limit)} too much, because budgets are floats: state a total that is a little larger"
        )
    return f"{words}. Release less, or raise the total with a reason (dp-designer ledger raise)."

"""What the entries of a ledger say of one data set: its allowance, what was reserved, and what one more release would do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Reserve(Immutable):
    """The expense of one release. state: "reserved" until its end is known, then "released" or "abandoned"; it counts in each.

    output: the hash of what was released.
    """

    entry: Entry
    expense: Expense
    state: str = "reserved"
    output: str | None = None

    @property
    def row(self) -> RowUnit:
        """What one row was said to be."""
        return RowUnit(**(self.entry.content["rows"] or {}))


@dataclass(frozen=True)
class Balance(Immutable):
    """One data set of a ledger. history: every allowance it had, each with the number of reserves that were made before."""

    name: str
    history: tuple[tuple[int, DatasetTerms], ...]
    reserves: tuple[Reserve, ...]

    @classmethod
    def of(cls, entries: Sequence[Entry], name: str) -> Balance:
        """The balance of a data set; `InvalidProblem` where the ledger has none of that name."""
        own = [entry for entry in entries if entry.content.get("dataset") == name]
        if not own:
            raise InvalidProblem(
                f"dataset: the ledger has no {shown(name)}; it has {shown(datasets(entries))}. State it first (create)."
            )
        try:
            return _balance(name, own)
        except (InvalidProblem, InvalidSpec, TypeError, ValueError, KeyError) as error:
            if isinstance(error, InvalidLedger):
                raise
            raise InvalidLedger(
                f"ledger: entries about {shown(name)} were not written by this program ({error}). {RESTORE}"
            ) from None

    @property
    def allowance(self) -> DatasetTerms:
        """Those that hold now."""
        return self.history[-1][1]

    @property
    def total(self) -> Total:
        """The total that holds now."""
        return self.allowance.total

    @property
    def expenses(self) -> tuple[Expense, ...]:
        """All that was reserved, whatever came of it."""
        return tuple(reserve.expense for reserve in self.reserves)

    @cached_property
    def spent(self) -> Spent:
        """What all of it costs together."""
        return self.allowance.spent(self.expenses)

    def with_one_more(self, expense: Expense) -> Spent:
        """What it would cost with this; `InvalidProblem` where the two do not add up to a promise."""
        return self.allowance.spent((*self.expenses, expense))

    def require_room(self, expense: Expense, row: RowUnit) -> None:
        """`OverTotal` where a release may not be made, with the reason; `InvalidProblem` where it does not add up."""
        self._require_same_rows(row)
        after = self.with_one_more(expense)
        if hidden := (*self.unprotected_beyond(after), *self._beyond_scope(expense)):
            allowed = " ".join(f"--publishes {line!r}" for line in hidden)
            late = " and if that does not depend on what earlier releases showed" if self.reserves else ""
            raise OverTotal(
                f"dataset: {shown(self.name)} does not allow that this stays unprotected: {' '.join(hidden)} If it may{late}, "
                f"allow it by name (dp-designer ledger raise ... --reason WHY {allowed}).",
                value=self.name,
            )
        if not self.total.covers(after.total):
            raise OverTotal(f"dataset: {shown(self.name)} {_excess(self.total, after)}", value=self.name)

    def unprotected_beyond(self, after: Spent) -> tuple[str, ...]:
        """What the allowance does not let be unprotected."""
        allowed = self.allowance.publishes
        return () if allowed is None else tuple(line for line in after.unprotected if line not in allowed)

    def _beyond_scope(self, expense: Expense) -> tuple[str, ...]:
        """The line of a scope that was not fixed before the first answer: neither that of the first release, nor allowed.

        Two partitions, or two invariants of the same names, leave the same sentences unprotected. Which of them is public may
        depend on earlier answers unless it is named: docs/theory/composition.md, section 4.
        """
        allowed = self.allowance.publishes
        if expense.scope is None or allowed is None or not self.reserves or expense.scope == self.expenses[0].scope:
            return ()
        line = SCOPED.format(scope=expense.scope[:32])
        return () if line in allowed else (line,)

    def _require_same_rows(self, row: RowUnit) -> None:
        if not self.reserves:
            return
        before = self.reserves[-1].row
        if (before.name, before.entity) != (row.name, row.entity):
            raise InvalidProblem(OTHER_ROWS.format(name=shown(self.name), before=_rows(before), now=_rows(row)))

    def require_kept(self) -> None:
        """`InvalidLedger` where what was reserved under an allowance is more than it covered."""
        ends = [count for count, _ in self.history[1:]] + [len(self.reserves)]
        for (_, allowance), end in zip(self.history, ends, strict=True):
            if end and not allowance.total.covers(allowance.spent(self.expenses[:end]).total):
                raise InvalidLedger(
                    f"ledger: the expenses of {shown(self.name)} up to entry {self.reserves[end - 1].entry.number} exceed the "
                    f"total that was stated then, {allowance.total.to_text()}: they were not recorded by this program. "
                    f"{RESTORE}"
                )

    def to_dict(self) -> dict[str, Any]:
        """Plain data: allowance, what is spent, what is left, the state of every reserve."""
        return {
            "dataset": self.name,
            **self.allowance.to_dict(),
            "content": self.allowance.content,
            "spent": figures(self.spent, self.total),
            "left": {
                notion: None if value is None else str(value) for notion, value in self.total.left(self.spent.total).items()
            },
            "reserves": [
                {"entry": r.entry.number, "state": r.state, "fingerprint": r.expense.fingerprint} for r in self.reserves
            ],
        }


def datasets(entries: Sequence[Entry]) -> list[str]:
    """The names of the data sets of a ledger, in the order in which they were stated."""
    return [entry.content["dataset"] for entry in entries if entry.kind == "stated"]


def figures(cost: Spent, total: Total) -> dict[str, Any]:
    """What something costs in each notion, exact or rounded up: pure epsilon, rho, the delta at the epsilon of the total."""
    at = (
        {} if total.delta is None else {"delta": cost.delta_at(total.epsilon), "epsilon_at_delta": cost.epsilon_at(total.delta)}
    )
    return {
        "unit": cost.unit,
        "epsilon": None if cost.epsilon is None else str(cost.epsilon),
        "rho": None if cost.rho is None else str(cost.rho),
        **at,
        "unprotected": list(cost.unprotected),
    }


def _balance(name: str, own: Sequence[Entry]) -> Balance:
    history: list[tuple[int, DatasetTerms]] = []
    reserves: dict[int, Reserve] = {}
    for entry in own:
        content = entry.content
        if entry.kind in ("stated", "raised"):
            kept = content["content"] if entry.kind == "stated" else history[-1][1].content if history else None
            history.append((len(reserves), DatasetTerms.from_dict(content, kept)))
        elif entry.kind == "reserved":
            reserves[entry.number] = Reserve(entry, _expense(entry))
        else:
            _end(reserves, entry)
    if own[0].kind != "stated" or sum(entry.kind == "stated" for entry in own) != 1:
        raise InvalidLedger(
            f"ledger: {shown(name)} is not stated once, before anything else is said of it. {RESTORE}", value=name
        )
    return Balance(name, tuple(history), tuple(reserves.values()))


@lru_cache(maxsize=2**16)
def _expense(entry: Entry) -> Expense:
    """Read once: one more release looks at all that were made."""
    return Expense.from_dict(entry.content["expense"])


def _end(reserves: dict[int, Reserve], entry: Entry) -> None:
    """What became of a reservation; it ends once."""
    place = entry.content["reservation"]
    reserve = reserves.get(place) if type(place) is int else None
    if reserve is None or reserve.state != "reserved":
        raise InvalidLedger(f"ledger: entry {entry.number} ends the reservation {shown(place)}, which is not open. {RESTORE}")
    reserves[place] = Reserve(reserve.entry, reserve.expense, entry.kind, entry.content.get("output"))


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

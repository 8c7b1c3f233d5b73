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

from designer.accounts.chain import RESTORE, DatasetTerms, Edition, Entry
from designer.accounts.composition.cost_record import Expense, Spent
from designer.accounts.signers import SigningRule
from designer.accounts.totals import Total, decimal_text
from designer.base.arrays import Immutable
from designer.base.checks import shown
from designer.base.errors import InvalidLedger, InvalidProblem, InvalidSpec, OverTotal
from designer.relations.records.row_unit import RowUnit

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
class DataSetState(Immutable):
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
    def from_dict(cls, data: Mapping[str, Any], entry: Callable[[int], Entry]) -> DataSetState:
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


Standings = Mapping[str, DataSetState]  # by the names of data sets, in the order in which they were stated


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


def _after(standing: DataSetState | None, name: str, entries: Sequence[Entry]) -> DataSetState:
    """What one data set stands at after entries about it."""
    stated = [entry.kind == "stated" for entry in entries]
    if sum(stated) != (standing is None) or (standing is None and not stated[0]):
        raise InvalidLedger(
            f"ledger: {shown(name)} is not stated once, before anything else is said of it. {RESTORE}", value=name
        )
    if standing is None:
        standing = DataSetState(name, DatasetTerms.from_dict(entries[0].content, entries[0].content["content"]))
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
    return DataSetState(name, terms, row, scope, tuple(equal.values()))


def summed(standings: Standings, rule: SigningRule) -> dict[str, Any]:
    """The content of an entry that sums up all data sets. rule: of who may sign."""
    return {"kind": SUMMED, "standings": [standing.to_dict() for standing in standings.values()], "signing": rule.to_dict()}


def sum_of(entry: Entry, first: Callable[[int], Entry]) -> tuple[Standings, SigningRule]:
    """What an entry that sums says. first: the entry of a number."""
    try:
        listed = [DataSetState.from_dict(data, first) for data in entry.content["standings"]]
        rule = SigningRule(**entry.content["signing"])
    except InvalidLedger:
        raise
    except (InvalidProblem, InvalidSpec, TypeError, ValueError, KeyError) as error:
        raise InvalidLedger(f"ledger: entry {entry.number} was not written by this program ({error}). {RESTORE}") from None
    return {standing.name: standing for standing in listed}, rule


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


# What the entries of a ledger say of one data set, release by release.


@dataclass(frozen=True)
class Reserve(Immutable):
    """The expense of one release. state: "reserved" until its end is known, then "released" or "abandoned"; it counts in each.

    end: the entry that says so; of what was released, it has the hash.
    """

    entry: Entry
    expense: Expense
    state: str = "reserved"
    end: Entry | None = None

    @property
    def edition(self) -> Edition:
        """Of which period it is, and which release it corrects."""
        return Edition.from_dict(self.entry.content)

    @property
    def row(self) -> RowUnit:
        """What one row was said to be."""
        return RowUnit(**(self.entry.content["rows"] or {}))


@dataclass(frozen=True)
class Balance(Immutable):
    """One data set of a ledger, release by release. history: every allowance it had, each with the number of reserves that were
    made before. standing: what all of them come to."""

    name: str
    history: tuple[tuple[int, DatasetTerms], ...]
    reserves: tuple[Reserve, ...]
    standing: DataSetState

    @classmethod
    def of(cls, entries: Sequence[Entry], name: str) -> Balance:
        """The balance of a data set; `InvalidProblem` where the ledger has none of that name."""
        own = [entry for entry in entries if entry.content.get("dataset") == name]
        if not own:
            raise none_of(name, datasets(entries))
        standing = advanced({}, own)[name]
        return cls(name, *_history(own), standing)

    @property
    def allowance(self) -> DatasetTerms:
        """Those that hold now."""
        return self.standing.terms

    @property
    def total(self) -> Total:
        """The total that holds now."""
        return self.standing.total

    @property
    def expenses(self) -> tuple[Expense, ...]:
        """All that was reserved, whatever came of it."""
        return tuple(reserve.expense for reserve in self.reserves)

    @property
    def spent(self) -> Spent:
        """What all of it costs together."""
        return self.standing.spent

    @cached_property
    def replaced(self) -> dict[int, int]:
        """The numbers of the entries that recorded releases which later ones correct, each with that of the later one."""
        return {
            reserve.edition.replaces: reserve.end.number
            for reserve in self.reserves
            if reserve.edition.replaces is not None and reserve.state == "released" and reserve.end is not None
        }

    @property
    def periods(self) -> dict[str, tuple[Reserve, ...]]:
        """The releases that name a period, by it, in the order of time as far as periods of one kind have one."""
        named = sorted({reserve.edition.period for reserve in self.reserves if reserve.edition.period is not None})
        return {period: tuple(r for r in self.reserves if r.edition.period == period) for period in named}

    def is_replaced(self, reserve: Reserve) -> bool:
        """Was what was released corrected by a later release?"""
        return reserve.end is not None and reserve.end.number in self.replaced

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
                {
                    "entry": r.entry.number,
                    "state": r.state,
                    "fingerprint": r.expense.fingerprint,
                    **r.edition.to_dict(),
                    **({"replaced_by": self.replaced[r.end.number]} if r.end and self.is_replaced(r) else {}),
                }
                for r in self.reserves
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


def none_of(name: str, names: Sequence[str]) -> InvalidProblem:
    """The refusal of a data set that a ledger does not have."""
    return InvalidProblem(f"dataset: the ledger has no {shown(name)}; it has {shown(list(names))}. State it first (create).")


def _history(own: Sequence[Entry]) -> tuple[tuple[tuple[int, DatasetTerms], ...], tuple[Reserve, ...]]:
    """The allowances and the reserves of the entries about one data set, which were read before."""
    history: list[tuple[int, DatasetTerms]] = []
    reserves: dict[int, Reserve] = {}
    for entry in own:
        content = entry.content
        if entry.kind in ("stated", "raised"):
            kept = content["content"] if entry.kind == "stated" else history[-1][1].content
            history.append((len(reserves), DatasetTerms.from_dict(content, kept)))
        elif entry.kind == "reserved":
            reserves[entry.number] = Reserve(entry, reserved(entry))
        else:
            _end(reserves, entry)
    return tuple(history), tuple(reserves.values())


def _end(reserves: dict[int, Reserve], entry: Entry) -> None:
    """What became of a reservation; it ends once."""
    place = entry.content["reservation"]
    reserve = reserves.get(place) if type(place) is int else None
    if reserve is None or reserve.state != "reserved":
        raise InvalidLedger(f"ledger: entry {entry.number} ends the reservation {shown(place)}, which is not open. {RESTORE}")
    reserves[place] = Reserve(reserve.entry, reserve.expense, entry.kind, entry)

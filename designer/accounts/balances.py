"""What the entries of a ledger say of one data set, release by release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from designer.accounts.chain import RESTORE, Entry
from designer.accounts.entries import DatasetTerms
from designer.accounts.standing import Standing, advanced, reserved
from designer.accounts.together.expense import Expense, Spent
from designer.accounts.totals import Total
from designer.base.arrays import Immutable
from designer.base.checks import shown
from designer.base.errors import InvalidLedger, InvalidProblem
from designer.relations.rows.row_unit import RowUnit


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
    """One data set of a ledger, release by release. history: every allowance it had, each with the number of reserves that were
    made before. standing: what all of them come to."""

    name: str
    history: tuple[tuple[int, DatasetTerms], ...]
    reserves: tuple[Reserve, ...]
    standing: Standing

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
    reserves[place] = Reserve(reserve.entry, reserve.expense, entry.kind, entry.content.get("output"))

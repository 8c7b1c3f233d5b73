"""What entries say: the closed list of their kinds, the keys of each, and the plain data that they are made of.

`opened` begins a file; `stated` names a data set, its total and what may be published of it without protection; `raised` states
them anew; `reserved` is the expense of one release before its data are touched; `released` the hash of what came out, before
anybody sees it; `abandoned` that nothing did. `summed` is what all data sets stand at, written at intervals.
"""

from __future__ import annotations

import getpass
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from designer.accounts.chain import Entry
from designer.accounts.together.expense import Expense, Spent, spent
from designer.accounts.totals import Total
from designer.base.arrays import Immutable
from designer.base.checks import shown
from designer.base.declared import assign
from designer.base.errors import InvalidLedger, InvalidProblem
from designer.base.printing import printed
from designer.base.times import utc_text
from designer.base.version import VERSION
from designer.certified.guarantee import Guarantee
from designer.problem.relation import RECORDS_PUBLIC
from designer.relations.rows.row_unit import RowUnit

FORMAT = "dp-designer/ledger"
LEDGER_VERSION = 1
LONGEST_TEXT = 500
COMMON = frozenset({"number", "kind", "time", "who", "signer"})
KINDS = {
    "opened": {"format", "version", "ledger", "software"},
    "stated": {"dataset", "total", "publishes", "content"},
    "raised": {"dataset", "total", "publishes", "reason"},
    "reserved": {"dataset", "expense", "guarantee", "rows"},
    "released": {"dataset", "reservation", "output"},
    "abandoned": {"dataset", "reservation"},
    "summed": {"standings"},
}


@dataclass(frozen=True)
class DatasetTerms(Immutable):
    """What is allowed of a data set. total: of all releases. publishes: the sentences on what they may leave unprotected, None
    for anything. content: SHA-256 of its file, where it was stated."""

    total: Total
    publishes: tuple[str, ...] | None = ()
    content: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.total, Total):
            raise InvalidProblem(
                f"total: {shown(self.total)} is no Total; give Total(epsilon=...) or Total(rho=...).", value=self.total
            )
        if self.publishes is not None:
            assign(self, publishes=tuple(stated_text(text, "publishes", 5000) for text in self.publishes))

    def spent(self, expenses: Sequence[Expense], times: Sequence[int] = ()) -> Spent:
        """What releases cost together on the changes that all releases that are allowed protect: where the number of records
        may be published, on changes of a record, also while no release has published it. times: as for `spent`."""
        return spent(expenses, times=times, records_public=RECORDS_PUBLIC in (self.publishes or ()))

    def to_dict(self) -> dict[str, Any]:
        """Plain data of an entry, without the content."""
        return {"total": self.total.to_dict(), "publishes": None if self.publishes is None else list(self.publishes)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], content: str | None) -> DatasetTerms:
        """From an entry that states or raises them."""
        listed = data["publishes"]
        return cls(Total.from_dict(data["total"]), None if listed is None else tuple(listed), content)


def stated_text(text: object, field: str, longest: int = LONGEST_TEXT) -> str:
    """A text of a caller as it is kept: not empty, not too long, fit to be printed in a line."""
    if not isinstance(text, str) or not text.strip() or len(text) > longest:
        raise InvalidProblem(f"{field}: {shown(text)} is no text of 1 to {longest} characters; give one.", value=text)
    return printed(text)


def login_name() -> str:
    """Who runs this process, as the system calls them."""
    try:
        return printed(getpass.getuser())
    except (OSError, KeyError, ImportError):
        return "unknown"


def entry_opened(ledger: str) -> dict[str, Any]:
    """The first entry of a file with this identifier."""
    return {
        "kind": "opened",
        "format": FORMAT,
        "version": LEDGER_VERSION,
        "ledger": ledger,
        "software": f"dp-designer {VERSION}",
    }


def entry_stated(dataset: str, allowance: DatasetTerms) -> dict[str, Any]:
    """The entry of a new data set."""
    return {"kind": "stated", "dataset": dataset, **allowance.to_dict(), "content": allowance.content}


def entry_raised(dataset: str, allowance: DatasetTerms, reason: str) -> dict[str, Any]:
    """The entry of a new allowance."""
    return {"kind": "raised", "dataset": dataset, **allowance.to_dict(), "reason": reason}


def entry_reserved(dataset: str, expense: Expense, guarantee: Guarantee, row: RowUnit) -> dict[str, Any]:
    """The entry of an expense: what it is, with the sentences of its guarantee, and what one row is said to be."""
    rows = None if row == RowUnit() else row.declared()
    return {
        "kind": "reserved",
        "dataset": dataset,
        "expense": expense.to_dict(),
        "guarantee": guarantee.to_dict(),
        "rows": rows,
    }


def entry_released(dataset: str, reservation: int, output: str) -> dict[str, Any]:
    """The entry of an output of this hash."""
    return {"kind": "released", "dataset": dataset, "reservation": reservation, "output": output}


def entry_abandoned(dataset: str, reservation: int) -> dict[str, Any]:
    """The entry of a release that failed before anything came out."""
    return {"kind": "abandoned", "dataset": dataset, "reservation": reservation}


def noted_by(content: Mapping[str, Any], who: str, signer: str | None) -> dict[str, Any]:
    """An entry with who makes it, and when (UTC)."""
    return {**content, "who": who, "signer": signer, "time": utc_text()}


def require_known(entries: Sequence[Entry]) -> None:
    """`InvalidLedger` where an entry is of no kind of the list, or has other keys than its kind."""
    for entry in entries:
        kind = entry.content.get("kind")
        if not isinstance(kind, str) or kind not in KINDS or set(entry.content) != COMMON | KINDS[kind]:
            raise InvalidLedger(
                f"ledger: entry {entry.number} is of no kind that this program writes ({shown(kind)}); use a later version."
            )


def require_opened(first: Entry) -> str:
    """The identifier of the ledger that an entry opens; `InvalidLedger` where it opens none of this version."""
    require_known([first])
    version = first.content.get("version")
    if first.content.get("format") != FORMAT or type(version) is not int or version != LEDGER_VERSION:
        raise InvalidLedger(
            f"ledger: its first entry does not open a ledger of version {LEDGER_VERSION}; open it with the version that wrote "
            "it."
        )
    return str(first.content["ledger"])

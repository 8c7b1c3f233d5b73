"""What a page is made from: the object, and whatever else was looked at when the page was made."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from designer.accounts.balances import Balance
from designer.accounts.check import Checked
from designer.accounts.ledger import Forecast
from designer.audit.verdict import DeepVerdict
from designer.certified.frozen import Released, Specified
from designer.certified.guarantee import Guarantee
from designer.designing.comparison import Comparison
from designer.files.releases import ReleaseVerdict
from designer.files.signatures import SignedBy
from designer.relations.rows.row_unit import RowUnit


@dataclass(frozen=True)
class SeenRelease:
    """A release that was read, rebuilt and compared with what follows from its whole numbers."""

    name: str
    released: Released
    document: dict[str, Any]
    verdict: ReleaseVerdict
    signer: SignedBy | None = None


@dataclass(frozen=True)
class SeenLedger:
    """A ledger whose chain was followed, and what it says of one data set. forecast: of a release to come, where the page is
    about none that was made."""

    name: str
    checked: Checked
    balance: Balance
    forecast: Forecast | None = None


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Everything that a page speaks of.

    made: the object, certified anew by its constructor. spec: the file that it was read from; None for one that was made in
    this program. time: when this was; now unless given. comparison: with other families, computed for the page; its reason
    where that was asked for and cannot be.
    """

    made: Specified
    spec: Path | None = None
    release: SeenRelease | None = None
    ledger: SeenLedger | None = None
    deep: DeepVerdict | None = None
    comparison: Comparison | str | None = None
    signer: SignedBy | None = None
    time: datetime | None = None

    @property
    def spec_name(self) -> str:
        """What commands call the spec."""
        return "SPEC.json" if self.spec is None else self.spec.name

    @property
    def row(self) -> RowUnit:
        """What one row is: as the release says, or, before one, the ledger of the data set."""
        if self.release is not None:
            return getattr(self.release.released, "row", None) or RowUnit()
        return (None if self.ledger is None else self.ledger.balance.standing.row) or RowUnit()

    @property
    def bound(self) -> int | None:
        """How many rows of an entity count; None where single records are protected."""
        return self.row.rows_per_entity

    @property
    def guarantee(self) -> Guarantee:
        """That of the release; before one, of the object for what one row is."""
        if self.release is not None:
            return self.release.released.guarantee
        stated: Any = self.made
        return self.made.guarantee if self.bound is None else stated.guarantee_for(self.row)

    @property
    def loaded(self) -> bool:
        """Was it read from a file, whose claims were compared?"""
        return self.spec is not None

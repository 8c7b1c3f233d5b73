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
from designer.designing.comparison import Comparison
from designer.files.releases import ReleaseVerdict
from designer.files.signatures import SignedBy


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
    def loaded(self) -> bool:
        """Was it read from a file, whose claims were compared?"""
        return self.spec is not None

"""What comes out of a channel: how often each report came, and what that says of the people who reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.answer_table import AnswerTable, Limits
from designer.base.arrays import Floats
from designer.base.errors import InvalidProblem
from designer.base.tabular import Tabular
from designer.certified.guarantee import Guarantee
from designer.mechanisms.channel.accuracy import Estimate, estimated
from designer.relations.rows.row_unit import RowUnit

NO_ESTIMATE = "these are counts of reports; different counts of people lead to the same law of reports, so none is estimated"


@dataclass(frozen=True, eq=False)
class Reports(Tabular):
    """How often each report came, (M,), from people who each reported once; `estimate` is of the people.

    reports, elements: the names of reports and values. channel: (N, M), the probabilities; prior: (N,), how likely each value
    is.
    """

    counts: NDArray[np.int64]
    reports: tuple[str, ...]
    elements: tuple[str, ...]
    channel: Floats = field(repr=False)
    prior: Floats = field(repr=False)
    guarantee: Guarantee
    fingerprint: str
    row: RowUnit | None = field(default=None, kw_only=True)

    @cached_property
    def estimate(self) -> Estimate | None:
        """The number of people of each value; None where the channel does not tell all values apart."""
        try:
            return estimated(self.channel, self.prior, self.counts, None, self.elements)
        except InvalidProblem:
            return None

    def answer_tables(self) -> tuple[AnswerTable, ...]:
        """The estimated number of people of each value; the reports themselves where nothing unbiased follows from them."""
        found = self.estimate
        if found is None:
            keys = tuple((name,) for name in self.reports)
            return (AnswerTable("reports", ("report",), keys, self.counts.astype(np.float64), None, limits=_no_limits),)
        keys = tuple((name,) for name in found.names)
        return (AnswerTable("people", ("value",), keys, found.answers, found.standard_errors, limits=found.limits),)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "reports": dict(zip(self.reports, self.counts.tolist(), strict=True)),
            "fingerprint": self.fingerprint,
            "guarantee": self.guarantee.to_dict(),
        }


def _no_limits(level: float, simultaneous: bool) -> Limits:
    raise InvalidProblem(f"intervals: {NO_ESTIMATE}; ask `estimate(reports, queries)` for sums that are.")


@dataclass(frozen=True, eq=False)
class SimulatedReports:
    """How often each report came in each collection, (size, M), with a `stamp` that says they are not private."""

    counts: NDArray[np.int64]
    reports: Sequence[str]
    stamp: str

    def __len__(self) -> int:
        return len(self.counts)

    def to_dict(self) -> Mapping[str, Any]:
        """Plain data."""
        return {"reports": list(self.reports), "counts": self.counts.tolist(), "stamp": self.stamp}

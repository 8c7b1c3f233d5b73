"""Below which loss no private channel is: proven in rationals, from prices of the values alone.

Any prices prove a bound (docs/theory/columns.md, 2); those that a spec carries as a note are a few digits for each value. What
a column gains at most at these prices is a small linear program for each report, whose answer is not trusted either: its
multipliers are put into the proof, and poor ones make the bound lower, never wrong.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, Self

import numpy as np

from designer.base.arrays import Floats, real_array
from designer.base.errors import InvalidProblem
from designer.relations.metrics.metric import Metric
from solvers.exact.balls import exp_ball, fraction_above

DIGITS = 8  # of the largest price
BITS = 96  # of the rationals above exp(budget)


@dataclass(frozen=True, eq=False)
class LossPrices:
    """rows: (N,), of the values. shares: (N,), how the loss of each value counts, where the largest one is asked for; the prior
    counts where it is None. unused: (N, U), losses of the reports that the problem allows and the channel never makes."""

    rows: Floats
    shares: Floats | None
    unused: Floats

    @classmethod
    def rounded(cls, rows: Floats, shares: Floats | None) -> Self:
        """With prices in a few digits, and no unused reports. rows, shares: (N,)."""
        largest = float(np.abs(rows).max())
        places = DIGITS - 1 - math.floor(math.log10(largest)) if largest > 0 else 0
        return cls(np.array([round(price, places) for price in rows.tolist()]), shares, np.zeros((len(rows), 0)))

    def to_note(self) -> dict[str, Any]:
        """Plain data for the provenance of a spec."""
        shares = {} if self.shares is None else {"shares": self.shares.tolist()}
        unused = {"unused": self.unused.T.tolist()} if self.unused.size else {}
        return {"rows": self.rows.tolist(), **shares, **unused}

    @classmethod
    def from_note(cls, note: Mapping[str, Any], size: int) -> Self:
        """Read for `size` values; `InvalidProblem` where the note is another one."""
        if not set(note) <= {"rows", "shares", "unused"} or "rows" not in note:
            raise InvalidProblem("prices: hold something else than rows, shares and unused; restore the file.")
        rows = real_array(note["rows"], "prices.rows", 1)
        shares = real_array(note["shares"], "prices.shares", 1) if "shares" in note else None
        unused = real_array(note["unused"], "prices.unused", 2).T if "unused" in note else np.zeros((size, 0))
        if {len(rows), len(rows if shares is None else shares), len(unused)} != {size}:
            raise InvalidProblem(f"prices: are not those of {size} values; restore the file.")
        if shares is not None and not (shares.min() >= 0 < shares.sum()):
            raise InvalidProblem("prices.shares: are not from 0 on, or all 0; restore the file.")
        return cls(rows, shares, unused)


def proven_loss(metric: Metric, prior: Floats, losses: Floats, prices: LossPrices) -> Fraction:
    """What prices prove of the loss of every channel under the metric, with reports of these losses and the unused ones.

    prior: (N,), above 0. losses: (N, M). Of the expected loss under the prior, divided by its sum; with shares of the largest
    loss of all values.
    """
    from solvers.columns.generation import Prices, exact_bound

    counted = prior if prices.shares is None else prices.shares
    given = [Fraction(part) for part in counted.tolist()]
    weights = [part / sum(given) for part in given]
    every = np.hstack([losses, prices.unused])
    costs = [[own * Fraction(loss) for loss in row] for own, row in zip(weights, every.tolist(), strict=True)]
    norm = [own / 2 + Fraction(1, 2 * len(weights)) for own in weights]

    @cache
    def ratio_above(i: int, j: int) -> Fraction:
        budget = metric.exact_budget(i, j)
        assert budget is not None, "all budgets of a channel are finite"
        return fraction_above(lambda: exp_ball(budget), BITS)

    margins = np.array([[float(cost) for cost in row] for row in costs]) - prices.rows[:, None]
    flows = _flows(metric.distances(), margins, np.array([float(part) for part in norm]))
    return exact_bound(Prices(prices.rows, (), flows), costs, norm, ratio_above)


def _flows(budgets: Floats, margins: Floats, norm: Floats) -> tuple[Any, ...]:
    from solvers.columns.cone import near_edges
    from solvers.columns.linear import NoSolution
    from solvers.columns.pricing import no_flow, priced

    edges, everywhere, found = near_edges(budgets), np.ones(len(budgets), dtype=bool), []
    for margin in margins.T:
        try:
            found.append(priced(margin, norm, edges, budgets, everywhere).flow)
        except NoSolution:
            found.append(no_flow())
    return tuple(found)

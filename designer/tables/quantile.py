"""Quantiles by group through ordinary zCDP, before any splitting: the exponential mechanism
over a public grid of candidates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from designer.base.checks import rational, shown
from designer.base.declared import assign
from designer.base.errors import InvalidProblem
from designer.base.schema import POSITIVE, RATIONAL, SIGNED_RATIONAL, list_of, number, of_kind
from designer.mechanisms.choice.mechanism import Selection, best_selection
from designer.tables.condition import Condition
from designer.tables.measure import Measure
from designer.tables.policies.policies import ConstantPolicy
from designer.tables.queries import ASKED, Query, with_value
from designer.tables.unit_splitting import quotient
from solvers.exact.rational import float_below, root_below

MOST_CANDIDATES = 256  # the exact certificate takes 0.5 s for 100 candidates, 1.4 s for 256


@dataclass(frozen=True)
class Quantile(Query):
    """The q-quantile of a measure in each group, as one of some public candidates; every record of a group costs `rho` of zCDP.

    Candidate g scores `-max(0, q n - #{x <= g}, #{x < g} - q n)` for n records: 0 where a share q is at most g and a share
    1 - q at least g, however many records equal g. The exponential mechanism with budget epsilon is `epsilon^2 / 8`-zCDP
    (bounded range; docs/theory/tables.md, 3), so `epsilon = sqrt(8 rho)`, rounded down.
    candidates: rising, whole numbers of steps. The groups are public and disjoint, so rho is the cost of all of them together.
    Records whose value is missing (NULL, NaN) are in no quantile and cost nothing;
    who wants them as zeros fills them in the table.
    """

    measure: Measure = None  # type: ignore[assignment]  # required; behind `where`, which is not
    q: float = 0.5
    candidates: tuple[Fraction, ...] = ()
    rho: Fraction = Fraction(0)
    rate: float | None = None
    kind = "quantile"
    schema = of_kind(
        "query",
        kind,
        {
            **ASKED,
            "measure": Measure.schema,
            "q": number(above=0, below=1),
            "candidates": list_of(SIGNED_RATIONAL, least=2),
            "rho": RATIONAL,
            "rate": POSITIVE,
        },
        "One of the candidates, chosen by the exponential mechanism with `rate`, whose loss is at most rho.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.measure, Measure) or self.groups.keys is None:
            raise InvalidProblem("measure, groups: a quantile needs a Measure and public groups.")
        q = float(rational(self.q, "q"))
        if not 0 < q < 1:
            raise InvalidProblem(f"q: {shown(self.q)} is not between 0 and 1.", value=self.q)
        exact = tuple(rational(g, "candidates") for g in self.candidates)
        units = [g / self.measure.step for g in exact]
        if not 2 <= len(units) <= MOST_CANDIDATES or any(u.denominator != 1 or abs(u) > 2**52 for u in units):
            raise InvalidProblem(f"candidates: give 2 to {MOST_CANDIDATES} whole numbers of steps of {self.measure.step}.")
        if not all(low < high for low, high in pairwise(units)):
            raise InvalidProblem("candidates: must rise.")
        rho = rational(self.rho, "rho")
        if not 0 < rho <= 10**6:
            raise InvalidProblem(f"rho: {float(rho)!r} is not above 0, and at most 10^6.", value=rho)
        assign(self, q=q, candidates=exact, rho=rho)
        assign(self, rate=self.choice.rate)

    @cached_property
    def choice(self) -> Selection:
        """The selection among the candidates, certified for a record that appears;
        its universe is the cells below, at and between the candidates, in rising order."""
        from designer.mechanisms.choice.scores import RankError
        from designer.problem.workload import Workload
        from designer.relations import metrics

        cells = np.arange(2 * len(self.candidates) + 1)
        at_most, below = (cells < 2 * np.arange(len(self.candidates))[:, None] + past for past in (2, 1))
        excess = np.vstack([np.where(at_most, self.q - 1, self.q), np.where(below, 1 - self.q, -self.q)])
        forms = Workload(excess, queries=[f"{g}{side}" for side in ("", " below") for g in self.candidates])
        relation = metrics.add_remove(len(cells), float_below(root_below(8 * self.rho)))
        if self.rate is None:
            return best_selection(RankError(forms), relation)
        return Selection(RankError(forms), relation, self.rate)

    def loss(self, record: Mapping[str, Any]) -> Fraction:
        counted = [condition.meets(record) for condition in self.population]
        return self.rho if self.group_of(record) is not None and all(counted) else Fraction(0)

    @property
    def population(self) -> tuple[Condition, ...]:
        """What a record must meet to be in the quantile: the conditions, and to have a value."""
        return with_value(self.where, self.measure)

    def rho_policy(self) -> ConstantPolicy:
        """The same cost for every record."""
        return ConstantPolicy(self.rho)

    def cell(self, table: Any) -> Any:
        """The place of a record, 0 .. 2 R: how many candidates are below it, and how many at most it. By divisions where the
        candidates are equally far apart, by a balanced tree of comparisons elsewhere."""
        import ibis

        units = self.measure.expression(table)
        whole = [int(g / self.measure.step) for g in self.candidates]
        apart = whole[1] - whole[0]
        largest = max(map(abs, whole)) + max(map(abs, self.measure.bounds)) + apart + 1
        if all(high - low == apart for low, high in pairwise(whole)) and largest < 2**53:
            below, at_most = (_even_cell(units, first, apart, len(whole)) for first in (whole[0], whole[0] - 1))
            return below + at_most
        bounds = sorted(bound for g in whole for bound in (g - 1, g))

        def place(low: int, high: int) -> Any:
            if low == high:
                return ibis.literal(low, "int64")
            middle = (low + high) // 2
            return (units <= bounds[middle]).ifelse(place(low, middle), place(middle + 1, high))

        return place(0, len(bounds))

    def sentence(self) -> str:
        return (
            f"{self.name}: quantile {self.q} of the present values of {self.measure.sentence()} {self.condition_words()}, "
            f"among {len(self.candidates)} public candidates, loss {self.rho}"
        )

    def to_spec(self) -> dict[str, Any]:
        own = {"q": self.q, "candidates": [str(g) for g in self.candidates], "rho": str(self.rho), "rate": self.rate}
        return {**super().to_spec(), "measure": self.measure.to_spec(), **own}


def _even_cell(units: Any, first: int, apart: int, most: int) -> Any:
    """How many of `most` bounds first, first + apart, ... are below u: `ceil((u - first) / apart)`, at least 0, at most all.

    Sizes stay below 2^53, so that the quotient is right however the engine divides (docs/theory/tables.md, 5)."""
    import ibis

    above = ibis.greatest(units - first + (apart - 1), ibis.literal(0, "int64"))
    return ibis.least(quotient(above, ibis.literal(apart, "int64")), ibis.literal(most, "int64"))

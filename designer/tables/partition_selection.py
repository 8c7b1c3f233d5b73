"""Private partition selection: groups are found by their numbers of split rows, noisy, against a threshold;
what that costs a record."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from designer.base.arrays import Immutable
from designer.base.checks import assign, count, rational
from designer.base.errors import InvalidProblem
from designer.base.json_text import require_keys
from designer.base.schema import COUNT, RATIONAL, Named, keys, or_null, record, whole
from designer.limits import LARGEST_GAUSSIAN_VARIANCE
from designer.tables.exact_sums import safe_sums, totals
from designer.tables.unit_splitting import UnitSplitting
from solvers.exact.balls import float_above_real, normal_cdf, rational_ball

if TYPE_CHECKING:
    from flint import arb

TERMS = 64


@dataclass(frozen=True)
class PartitionSelection(Immutable):
    """A group is answered when `sum over its records of c(r), plus Z, >= threshold`, Z discrete Gaussian of the given variance.

    `c(r) = min(m(r), at_most)`, m(r) the rows of r after `splitting` (1 without one). Groups without records are never found. A
    record costs `c(r)^2 / (2 variance)` of zCDP where its group has other records; where it is alone, its group appears with
    probability `delta(r) = P(Z >= threshold - c(r))`. So the whole is delta(r)-approximate zCDP, **with a delta of its own for
    every record**. Large records are found more often because they are protected less (derivation in docs/theory/tables.md, 4).

    variance: of Z, in squared records. threshold: of the noisy count. splitting: how a record is split into rows. at_most: for
    how many rows a record counts.

    >>> found = PartitionSelection.design("1/2", 1e-6)
    >>> found.threshold, found.delta_of(1) <= 1e-6 < PartitionSelection(found.variance, found.threshold - 1).delta_of(1)
    (7, True)
    """

    variance: Fraction
    threshold: int
    splitting: UnitSplitting | None = None
    at_most: int | None = None
    schema = Named(
        "group_selection",
        record(
            {
                "variance": RATIONAL,
                "threshold": whole(),
                "splitting": or_null(UnitSplitting.schema),
                "at_most": or_null(COUNT),
            },
            note="A group is found when the noisy number of its split rows reaches the threshold.",
        ),
    )

    def __post_init__(self) -> None:
        variance = rational(self.variance, "variance")
        if not 0 < variance <= LARGEST_GAUSSIAN_VARIANCE:
            raise InvalidProblem(f"variance: {float(variance)!r} is not in (0, 2^110].", value=variance)
        assign(self, variance=variance)
        count(self.threshold, "threshold", least=2)
        if self.at_most is not None:
            count(self.at_most, "at_most")
            if self.splitting is None:
                raise InvalidProblem("at_most: bounds the split rows that a record counts for; give a splitting.")

    @classmethod
    def design(
        cls, rho: object, delta: float, splitting: UnitSplitting | None = None, at_most: int | None = None
    ) -> PartitionSelection:
        """One split row costs `rho`. delta: of a record of `at_most` rows, hence of all;
        without `at_most`, of a record of one row."""
        variance = 1 / (2 * rational(rho, "rho"))
        if not 0 < delta < 1:
            raise InvalidProblem(f"delta: {delta!r} is not between 0 and 1.", value=delta)
        low, high = 1, 2
        while tail_above(high, variance) > delta:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if tail_above(middle, variance) > delta else (low, middle)
        return cls(variance, high + (at_most or 1), splitting, at_most)

    @property
    def uniform(self) -> bool:
        """Is there one delta for all records?"""
        return self.splitting is None or self.at_most is not None

    def contribution(self, record: Mapping[str, Any]) -> int:
        """c(r) of a public or hypothetical record.

        record: by the names of its columns.
        """
        rows = 1 if self.splitting is None else self.splitting.splits(record)
        return rows if self.at_most is None else min(rows, self.at_most)

    def loss(self, record: Mapping[str, Any]) -> Fraction:
        """`c(r)^2 / (2 variance)`.

        record: by the names of its columns.
        """
        return Fraction(self.contribution(record)) ** 2 / (2 * self.variance)

    def delta_of(self, contribution: int) -> float:
        """`P(Z >= threshold - contribution)`, rounded up.

        contribution: c(r), the rows that a record counts for.
        """
        return tail_above(self.threshold - contribution, self.variance)

    @property
    def delta(self) -> float:
        """The delta of the largest contribution; where that has no bound, of a record that is not split."""
        return self.delta_of(self.at_most or 1)

    @property
    def bound(self) -> int:
        """The largest contribution that any record can make."""
        return self.at_most or (1 if self.splitting is None else self.splitting.most_rows)

    def inputs(self, table: Any) -> list[Any]:
        """Columns of an Ibis table that the counts are computed from."""
        return [] if self.splitting is None else self.splitting.inputs(table)

    def aggregates(self, table: Any, inputs: list[Any]) -> list[Any]:
        """`sum c(r)` as sums of limbs."""
        import ibis

        if self.splitting is None:
            return [table.count()]
        rows = self.splitting.count_of(inputs)
        counted = rows if self.at_most is None else ibis.least(rows, ibis.literal(self.at_most, "int64"))
        return safe_sums(counted, self.bound)

    quick_inputs, quick_rows = inputs, math.inf  # counts are integers

    def numbers(self, found: Sequence[Sequence[Any]]) -> list[int]:
        """The counts of groups, from the columns of their aggregates."""
        return totals(found)

    def sentence(self) -> str:
        """The rule in words."""
        rows = (
            "records"
            if self.splitting is None
            else "split rows" + (f", at most {self.at_most} a record" if self.at_most else "")
        )
        return f"groups whose noisy number of {rows} (variance {self.variance}) is at least {self.threshold}"

    def to_spec(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "variance": str(self.variance),
            "threshold": self.threshold,
            "splitting": None if self.splitting is None else self.splitting.to_spec(),
            "at_most": self.at_most,
        }

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> PartitionSelection:
        """From plain data; `InvalidProblem` where a key is missing or unknown."""
        require_keys(spec, keys(cls.schema), "selection")
        splitting = None if spec["splitting"] is None else UnitSplitting.from_spec(spec["splitting"])
        return cls(spec["variance"], spec["threshold"], splitting, spec["at_most"])


def tail_above(t: int, variance: Fraction) -> float:
    """An upper bound of `P(Z >= t)`, Z discrete Gaussian: 64 terms, then the integral of `exp(-x^2 / (2 v))`,
    over `sqrt(2 pi v)`.

    For t > 0 the terms `exp(-z^2 / (2 v))` fall, so those beyond the 64th sum to less than the integral that starts at it; and
    their sum over all integers is at least `sqrt(2 pi v)` (Poisson summation: all Fourier coefficients are positive).
    Within 3 % of the tail from v = 1 on.
    """
    if t <= 0:
        return 1.0

    def bound() -> arb:
        from flint import arb

        deviation = rational_ball(variance).sqrt()
        terms = sum((rational_ball(-Fraction(z * z) / (2 * variance)).exp() for z in range(t, t + TERMS)), arb(0))
        return terms / (deviation * (2 * arb.pi()).sqrt()) + normal_cdf(-(t + TERMS - 1) / deviation)

    return min(1.0, float_above_real(bound))


def delta_of_rows(selection: PartitionSelection, rows: int) -> float:
    """The probability that a group is found because of one entity of so many rows, however they lie in groups, rounded up.

    Parts of j rows cost `P(j) = delta_of(j c)`, c the most of one row (1 where it has no bound): parts that add up to k cost
    `sum P(j) <= k max_{j <= k} P(j) / j`.
    """
    most = selection.at_most or 1
    each = max(selection.delta_of(j * most) / j for j in range(1, rows + 1))
    return min(1.0, rows * each * (1 + 2.0**-40))

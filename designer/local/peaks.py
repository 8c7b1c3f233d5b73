"""Large channels, described in place of written out: each column by a few peaks, and what a report costs by a rule.

A peak of height h at a value p stands for `floor(h exp(-b(x, p)))` at every value x, a whole number that is decided in ball
arithmetic where floats with a proven error do not settle it; a column is the largest of its peaks, and a few units beside
(docs/theory/own_reports.md, 2). Nothing is believed of a description: the table of whole numbers that it stands for is
certified like one that is written out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any, Self, overload

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, real_array
from designer.base.checks import assign, shown
from designer.base.errors import InvalidProblem
from designer.base.json_text import require_keys
from designer.base.schema import PLACE, Named, keys, list_of, noted, one_of, record, whole
from designer.limits import MOST_CHANNEL_PEAKS, MOST_DESCRIBED, MOST_DESCRIBED_BITS, MOST_EXACT_DECISIONS, MOST_REPORTED
from designer.relations.metrics.metric import Metric
from designer.relations.metrics.points import Chebyshev, Euclidean, GreatCircle, Manhattan, Ordered
from solvers.exact.balls import decided, exp_ball, fraction_above

CHUNK = 256  # peaks whose numbers are computed at once
EXP_ERROR = 2.0**-48  # of numpy's exp, relative; with the rounding of a product
RULES = ("distance", "squared", "zero_one")

DESCRIBED = Named(
    "described_table",
    record(
        {
            "columns": noted(
                "Each a report and its peaks: the place of a value, and a height.",
                list_of(record({"report": PLACE, "peaks": list_of(list_of(whole(least=0), least=2, most=2))})),
            ),
            "units": noted("What every entry of a column has beside its peaks.", whole(least=1)),
            "rest": noted("The report that is given what a row is short of the denominator.", whole(least=0)),
        },
        note="A table of probabilities by peaks: floor(height exp(-budget to the place)), the largest of each column.",
    ),
)
RULED = Named(
    "losses_by_rule",
    record(
        {"rule": one_of(*RULES), "places": noted("Which value each report is.", list_of(PLACE))},
        note="Distance or squared distance between value and report, in the units of the metric, or 1 where they differ.",
    ),
)


def points_of(metric: Metric) -> Floats | None:
    """The points of the values, (N, dimensions); None where the metric has none."""
    if isinstance(metric, (Euclidean, GreatCircle, Chebyshev, Manhattan)):
        return metric.places
    return metric.values[:, None] if isinstance(metric, Ordered) else None


def rate_of(metric: Metric) -> float:
    """Budget for a distance of 1; 1 where distances are budgets."""
    if points_of(metric) is None:
        return 1.0
    name = "per_km" if isinstance(metric, GreatCircle) else "rate" if isinstance(metric, Ordered) else "per_unit"
    return float(getattr(metric, name))


@dataclass(frozen=True, eq=False)
class LossRule:
    """What a report costs: rule, of "distance", "squared" and "zero_one", between the value and places[z], a value, too."""

    rule: str
    places: tuple[int, ...]

    def matrix(self, metric: Metric) -> Floats:
        """The losses, (N, M), in the units of the metric."""
        places = np.array(self.places, dtype=np.intp)
        if self.rule not in RULES or not len(places) or not (places < metric.size).all() or not (places >= 0).all():
            raise InvalidProblem(f"losses: {shown(self.rule)} of {len(places)} places is no rule for {metric.size} values.")
        if self.rule == "zero_one":
            return np.asarray(np.arange(metric.size)[:, None] != places, dtype=np.float64)
        every = slice(0, metric.size)
        budgets = np.hstack([metric.rectangle(every, slice(place, place + 1)) for place in self.places])
        distances = budgets / rate_of(metric)
        return np.asarray(distances if self.rule == "distance" else distances**2)

    def to_spec(self) -> dict[str, Any]:
        """Plain data."""
        return {"rule": self.rule, "places": list(self.places)}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Self:
        """Read back; whether it fits is asked by `matrix`."""
        require_keys(spec, keys(RULED), "mechanism.losses")
        places = spec["places"]
        if not isinstance(places, (list, tuple)) or not all(type(place) is int for place in places):
            raise InvalidProblem("losses.places: are no whole numbers; restore the file.")
        return cls(str(spec["rule"]), tuple(places))


@dataclass(frozen=True, eq=False)
class DescribedTable(Sequence[Sequence[int]]):
    """A table of whole numbers, N x M, whose rows sum to the denominator D, by the peaks of its columns.

    metric: on the N values. reports: M. columns: of each column its report, and its peaks: places of values, and heights.
    units: u, on top of each column; rest: the report that is given what a row is short of D.

        n[x, z] = sum over the columns of z of (u + max over peaks of floor(height exp(-b(x, place)))),

    and what is left of D on top, where z is the rest.

    Raises `InvalidProblem` where an entry is not above 0, or the table has more than 8,000,000.

    >>> from designer import metrics
    >>> table = DescribedTable(metrics.uniform(2, 1.0), 2, 100, ((0, ((0, 60),)), (1, ((1, 60),))), 1, 0)
    >>> list(map(list, table))
    [[77, 23], [39, 61]]
    """

    metric: Metric
    reports: int
    denominator: int
    columns: tuple[tuple[int, tuple[tuple[int, int], ...]], ...]
    units: int
    rest: int
    numbers: NDArray[np.int64] = field(init=False, repr=False)  # (N, M)

    def __post_init__(self) -> None:
        size = self.metric.size
        if not 1 <= self.denominator <= 1 << MOST_DESCRIBED_BITS or not 1 <= self.units < self.denominator:
            raise InvalidProblem(
                f"numerators: a described table has a denominator of at most 2^{MOST_DESCRIBED_BITS}; restore the file."
            )
        if (
            size > MOST_REPORTED
            or size * self.reports > MOST_DESCRIBED
            or sum(len(peaks) for _, peaks in self.columns) > MOST_CHANNEL_PEAKS
        ):
            raise InvalidProblem(
                f"numerators: {size} x {self.reports} entries; at most {MOST_DESCRIBED} are described, of "
                f"{MOST_REPORTED} values, by {MOST_CHANNEL_PEAKS} peaks: merge elements, or allow fewer reports."
            )
        reports = {self.rest, *(report for report, _ in self.columns)}
        places = {place for _, peaks in self.columns for place, _ in peaks}
        heights = [height for _, peaks in self.columns for _, height in peaks]
        fits = min(reports) >= 0 and max(reports) < self.reports and min(places, default=0) >= 0
        if not fits or max(places, default=0) >= size or not all(0 <= h <= self.denominator for h in heights):
            raise InvalidProblem("numerators: name a report, a place or a height that there is not; restore the file.")
        assign(self, numbers=self._written_out())

    def __len__(self) -> int:
        return self.metric.size

    @overload
    def __getitem__(self, row: int, /) -> Sequence[int]: ...

    @overload
    def __getitem__(self, row: slice, /) -> Sequence[Sequence[int]]: ...

    def __getitem__(self, row: int | slice, /) -> Any:
        return self.numbers[row].tolist()

    def __iter__(self) -> Iterator[Sequence[int]]:
        return map(self.__getitem__, range(len(self)))

    def _written_out(self) -> NDArray[np.int64]:
        """The table, (N, M)."""
        made = np.zeros((self.reports, len(self)), dtype=np.int64)
        for report, whole_numbers in zip((report for report, _ in self.columns), self._columns(), strict=True):
            made[report] += whole_numbers + self.units
            if made[report].max() > self.denominator:
                raise InvalidProblem("numerators: columns are above the denominator; restore the file.")
        rest = self.denominator - made.sum(axis=0)
        if not rest.min() > 0:
            raise InvalidProblem("numerators: columns leave no row anything of the denominator; restore the file.")
        made[self.rest] += rest
        if not made.min() > 0:
            raise InvalidProblem(
                "numerators: some report has no column; a report that some element never gives would tell it apart."
            )
        return np.ascontiguousarray(made.T)

    def _columns(self) -> Iterator[NDArray[np.int64]]:
        """Each column without its units, (N,)."""
        peaks = [peak for _, found in self.columns for peak in found]
        floors = _floors(self.metric, peaks)
        for _, found in self.columns:
            column = np.zeros(len(self), dtype=np.int64)
            for _ in found:
                np.maximum(column, next(floors), out=column)
            yield column

    def to_spec(self) -> dict[str, Any]:
        """Plain data."""
        columns = [{"report": report, "peaks": [list(peak) for peak in peaks]} for report, peaks in self.columns]
        return {"columns": columns, "units": self.units, "rest": self.rest}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], metric: Metric, reports: int, denominator: object) -> Self:
        """Read back and written out."""
        require_keys(spec, keys(DESCRIBED), "mechanism.numerators")
        try:
            columns = tuple(
                (column["report"], tuple((place, height) for place, height in column["peaks"])) for column in spec["columns"]
            )
            given = [spec["units"], spec["rest"], denominator, *(report for report, _ in columns)]
            given += [number for _, peaks in columns for peak in peaks for number in peak]
            fits = all(type(number) is int for number in given) and all(set(c) == {"report", "peaks"} for c in spec["columns"])
        except (TypeError, KeyError, ValueError):
            fits = False
        if not fits:
            raise InvalidProblem("numerators: are no columns of whole numbers; restore the file.")
        return cls(metric, reports, denominator, columns, spec["units"], spec["rest"])  # type: ignore[arg-type]


def _floors(metric: Metric, peaks: Sequence[tuple[int, int]]) -> Iterator[NDArray[np.int64]]:
    """`floor(h exp(-b(x, p)))` at each element, (N,), for every peak (p, h)."""
    budgets, decided_exactly = metric.distances(), 0
    for start in range(0, len(peaks), CHUNK):
        places, heights = map(np.array, zip(*peaks[start : start + CHUNK], strict=True))
        near = budgets[places]
        real = heights[:, None] * np.exp(-near)
        off = real * (near * (metric.budget_error + 2.0**-50) + EXP_ERROR)
        found = np.floor(real).astype(np.int64)
        unsettled = np.argwhere(np.floor(real - off) < np.floor(real + off)).tolist()
        decided_exactly += len(unsettled)
        if decided_exactly > MOST_EXACT_DECISIONS:
            raise InvalidProblem(
                f"numerators: more than {MOST_EXACT_DECISIONS} entries that floats do not settle; budgets or the denominator "
                "are too small or too large for a table that is described: merge elements whose budgets are next to nothing."
            )
        for k, x in unsettled:
            found[k, x] = _exact_floor(int(heights[k]), metric.exact_budget(x, int(places[k])))
        yield from found


def _exact_floor(height: int, budget: Fraction | None) -> int:
    if not budget:
        return 0 if budget is None else height

    def question() -> int | None:
        floor = (height * exp_ball(-budget)).floor().unique_fmpz()
        return None if floor is None else int(floor)

    found = decided(question)
    assert found is not None, "exp of a rational that is not 0 is irrational"
    return found


# Below which loss no private channel is: proven in rationals, from prices of the values alone.
#
# Any prices prove a bound (docs/theory/columns.md, 2); those that a spec carries as a note are a few digits for each value.
# What a column gains at most at these prices is a small linear program for each report, whose answer is not trusted either:
# its multipliers are put into the proof, and poor ones make the bound lower, never wrong.


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
    from solvers.channel_lp.generation import Prices, exact_bound

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
    from solvers.channel_lp.cone import NoOptimum, near_edges, no_flow, priced

    edges, everywhere, found = near_edges(budgets), np.ones(len(budgets), dtype=bool), []
    for margin in margins.T:
        try:
            found.append(priced(margin, norm, edges, budgets, everywhere).flow)
        except NoOptimum:
            found.append(no_flow())
    return tuple(found)

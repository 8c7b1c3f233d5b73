"""The least rho with `loss(r) <= constant + rho m(r)^2`: what one row of the split table costs, query by query,
and policies in that form."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from designer.base.errors import InvalidProblem
from designer.problem.histogram import OTHERS
from designer.tables.groups import Groups, Labels
from designer.tables.other_noise import OtherNoise, Quantile
from designer.tables.partition_selection import PartitionSelection
from designer.tables.policies import policies
from designer.tables.policies.policy import Policy
from designer.tables.queries import Additive, Average, Query, Sum
from designer.tables.unit_splitting import Thresholds, UnitSplitting
from designer.tables.variance_by import VarianceBy


@dataclass(frozen=True)
class RowCost:
    """What a record of m split rows costs at most: `constant + rate m^2`."""

    constant: Fraction = Fraction(0)
    rate: Fraction = Fraction(0)

    def __add__(self, other: RowCost) -> RowCost:
        return RowCost(self.constant + other.constant, self.rate + other.rate)

    def rho(self, constant: Fraction | None) -> Fraction:
        """The least rho with `constant + rho m^2` above this for every m >= 1; by the records of one row, if at all, the
        constant part is more than what is stated."""
        return self.rate + max(Fraction(0), self.constant - (constant or 0))


def cost_per_row(part: Query | PartitionSelection, splitting: UnitSplitting) -> RowCost:
    """What one query or selection costs. A row holds at most T of a measure, so a record of m rows adds at most m T:
    the rate of a sum is `max T^2 / (2 variance)`.

    The maximum is over the groups that a record can be in, each with the thresholds that apply there. It is attained by a
    record of m T, where one is within bounds. Counts, quantiles and selections by records cost every record the same.
    """
    if isinstance(part, PartitionSelection):
        if part.splitting not in (None, splitting):
            raise InvalidProblem("splitting: the selection of groups splits otherwise; use one UnitSplitting for both.")
        cost = 1 / (2 * part.variance)
        return RowCost(cost) if part.splitting is None else RowCost(rate=cost)
    if isinstance(part, Quantile):
        return RowCost(part.rho)
    if isinstance(part, Average):
        return sum((cost_per_row(inner, splitting) for inner in part.parts), RowCost())
    if isinstance(part, OtherNoise):
        return RowCost(rate=part.row_rate(max(own[_place(part, splitting)] for own in splitting.all_thresholds)))
    assert isinstance(part, Additive)
    if not isinstance(part, Sum):
        return RowCost(1 / (2 * part.least_variance))
    return RowCost(rate=_rate_of_sum(part, splitting))


def _place(part: Sum | OtherNoise, splitting: UnitSplitting) -> int:
    columns = [measure.column for measure in splitting.measures]
    if part.measure.column not in columns:
        raise InvalidProblem(f"splitting: has no threshold for {part.measure.column!r}, which {part.name!r} sums; add one.")
    return columns.index(part.measure.column)


def _rate_of_sum(part: Sum, splitting: UnitSplitting) -> Fraction:
    place = _place(part, splitting)
    if isinstance(part.variance, VarianceBy):
        return max(
            thresholds[place] ** 2 / (2 * variance) for thresholds, variance in _pairs(splitting, part.groups, part.variance)
        )
    labels: tuple[Labels | None, ...] = (None,) if isinstance(part.variance, Fraction) else part.groups.keys or ()
    return max(
        max(thresholds[place] for thresholds in _applicable(splitting, part.groups, key)) ** 2 / (2 * _variance(part, key))
        for key in labels
    )


def _variance(query: Additive, key: Labels | None) -> Fraction:
    return min(query.variances) if key is None else query.variance_of(key)


def _pairs(splitting: UnitSplitting, groups: Groups, variance: VarianceBy) -> list[tuple[Thresholds, Fraction]]:
    """The thresholds and the variances that one record may have together: those of one label where both go by the same labels
    and a group is called what its records are; all pairs otherwise."""
    own, noise = dict(splitting.own), dict(variance.own)
    if splitting.by == variance.by and not groups.has_others:
        same = {label: (own.get(label, splitting.thresholds), noise.get(label, variance.other)) for label in {**own, **noise}}
        return [(splitting.thresholds, variance.other), *same.values()]
    return [(thresholds, v) for thresholds in splitting.all_thresholds for v in variance.values]


def _applicable(splitting: UnitSplitting, groups: Groups, key: Labels | None) -> list[Thresholds]:
    """The thresholds that records of a group may have: those of its label where the groups tell the label,
    all otherwise (among all others, say)."""
    own = dict(splitting.own)
    if key is not None and splitting.by in groups.columns and (label := key[groups.columns.index(splitting.by)]) != OTHERS:
        return [own.get(label, splitting.thresholds)]
    return splitting.all_thresholds


def selection_policy(selection: PartitionSelection) -> Policy:
    """What a selection of groups costs: an upper bound where rows are capped."""
    rho = 1 / (2 * selection.variance)
    return policies.ConstantPolicy(rho) if selection.splitting is None else splitting_policy(selection.splitting, rho)


def splitting_policy(split: UnitSplitting, rho: Fraction) -> Policy:
    """`rho m(r)^2`, by label where thresholds differ by label."""
    columns = [measure.column for measure in split.measures]
    default, *own = [
        policies.Splitting(rho, dict(zip(columns, thresholds, strict=True)))
        for thresholds in (split.thresholds, *(thresholds for _, thresholds in split.own))
    ]
    if split.by is None:
        return default
    return policies.Piecewise(
        split.by.name, {label: policy for (label, _), policy in zip(split.own, own, strict=True)}, default
    )

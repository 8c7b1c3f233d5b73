"""The least rho with `loss(r) <= rho m(r)^2`: what one row of the split table costs, query by query,
and policies in that form."""

from __future__ import annotations

from fractions import Fraction

from designer.errors import InvalidProblem
from designer.records import policies
from designer.records.policy import Policy
from designer.tables.groups import OTHERS, Groups, Labels
from designer.tables.partition_selection import PartitionSelection
from designer.tables.quantile import Quantile
from designer.tables.queries import Additive, Average, Query, Sum
from designer.tables.unit_splitting import Thresholds, UnitSplitting


def rate_per_row(part: Query | PartitionSelection, splitting: UnitSplitting) -> Fraction:
    """rho of one query or selection. A row holds at most T of a measure,
    so a record of m rows adds at most m T: `rho = max T^2 / (2 variance)`.

    The maximum is over the groups that a record can be in, each with the thresholds that apply there. Counts and quantiles cost
    a record, hence a row, what they cost any record. It is attained by a record of m T, where one is within bounds.
    """
    if isinstance(part, PartitionSelection):
        if part.splitting not in (None, splitting):
            raise InvalidProblem("splitting: the selection of groups splits otherwise; use one UnitSplitting for both.")
        return 1 / (2 * part.variance)
    if isinstance(part, Quantile):
        return part.rho
    if isinstance(part, Average):
        return sum((rate_per_row(inner, splitting) for inner in part.parts), Fraction(0))
    assert isinstance(part, Additive)
    if not isinstance(part, Sum):
        return 1 / (2 * min(part.grid_variances()))
    columns = [measure.column for measure in splitting.measures]
    if part.measure.column not in columns:
        raise InvalidProblem(f"splitting: has no threshold for {part.measure.column!r}, which {part.name!r} sums; add one.")
    place = columns.index(part.measure.column)
    labels: tuple[Labels | None, ...] = (None,) if isinstance(part.variance, Fraction) else part.groups.keys or ()
    return max(
        max(thresholds[place] for thresholds in _applicable(splitting, part.groups, key)) ** 2 / (2 * _variance(part, key))
        for key in labels
    )


def _variance(query: Additive, key: Labels | None) -> Fraction:
    return min(query.grid_variances()) * query.step**2 if key is None else query.variance_of(key)


def _applicable(splitting: UnitSplitting, groups: Groups, key: Labels | None) -> list[Thresholds]:
    """The thresholds that records of a group may have: those of its label where the groups tell the label,
    all otherwise (among all others, say)."""
    own = dict(splitting.own)
    if key is not None and splitting.by in groups.columns and (label := key[groups.columns.index(splitting.by)]) != OTHERS:
        return [own.get(label, splitting.thresholds)]
    return [splitting.thresholds, *own.values()]


def splitting_policy(selection: PartitionSelection) -> Policy:
    """`rho m(r)^2` with `rho = 1 / (2 variance)`, by label where thresholds differ by label;
    an upper bound where rows are capped."""
    rho = 1 / (2 * selection.variance)
    split = selection.splitting
    if split is None:
        return policies.ConstantPolicy(rho)
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

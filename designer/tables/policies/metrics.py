"""What per-record policies and releases are judged by (Seeman et al., section 6.1): losses, realized losses, relative errors.

Everything here is for planning on PUBLIC or synthetic data: a policy's value at a confidential
record is as confidential as the record.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, Immutable, real_array
from designer.base.checks import Declared, checked, positive, rational
from designer.base.errors import InvalidProblem
from designer.tables.policies.policy import Columns, Policy, Unit, column, length, magnitudes, parameter
from solvers.exact.rational import float_above

WARNING = (
    "These are losses of the records handed in, declared public or synthetic. Losses, and their distribution, of "
    "confidential records are as confidential as the records: only the policy function may be published."
)


@dataclass(frozen=True, eq=False)
class Losses(Declared, Immutable):
    """The losses of some public records (or groups of them), with the warning that goes with them.

    values: (n,), in the unit of the policy (rho of zCDP, or epsilon).
    """

    values: Floats = field(metadata=checked(real_array, 1, allow_inf=True))
    unit: Unit
    warning: str = field(default=WARNING, init=False)

    def cdf(self, levels: object) -> Floats:
        """The share of records with a loss of at most each level, shape of `levels`."""
        return np.searchsorted(np.sort(self.values), np.asarray(levels, dtype=np.float64), side="right") / len(self.values)

    def steps(self) -> tuple[Floats, Floats]:
        """The empirical distribution function to draw: the different losses in order, and the share of records up to each."""
        levels = np.unique(self.values)
        return levels, self.cdf(levels)

    def quantile(self, share: float) -> float:
        """The smallest loss that at least this share of the records does not exceed."""
        place = math.ceil(Fraction(positive(share, "share")) * len(self.values))
        return float(np.sort(self.values)[min(place, len(self.values)) - 1])

    def share_above(self, level: object) -> float:
        """The share of records that lose more than `level`, a float or a Fraction: of the split ones,
        at `level = policy_min(policy)`."""
        return 1.0 - float(self.cdf(float_above(rational(level, "level"))))


def policy_losses(policy: Policy, columns: Columns, *, public: bool) -> Losses:
    """Compute `P(r)` of every record of a table that is public or synthetic.

    Parameters
    ----------
    policy : by which each record loses.
    columns : the table, by the names of its columns.
    public : True, which says that the table is not confidential.

    >>> from designer.tables.policies.policies import Splitting
    >>> losses = policy_losses(Splitting(1, {"emp": 50}), {"emp": np.array([5, 50, 60, 1000])}, public=True)
    >>> losses.cdf([1, 4]).tolist(), round(losses.share_above(1), 2)
    ([0.5, 0.75], 0.5)
    """
    _require_public(public)
    return Losses(policy(columns), policy.unit)


def policy_min(policy: Policy) -> Fraction:
    """Find `min_r P(r)`: attained where every measure is 0, because policies do not fall with a measure, at one of the known or
    other keys.

    policy: whose least loss is asked for.
    """
    known = policy.keys()
    measures = dict.fromkeys(policy.attributes, 0)
    choices = product(*((*values, None) for values in known.values()))
    return min(policy.exact({**measures, **dict(zip(known, keys, strict=True))}) for keys in choices)


@dataclass(frozen=True)
class NoisySum(Declared, Immutable):
    """A released query: the sum of `measure` (None: the number of records)
    for every combination of the key columns `by`, Gaussian noise.

    `variance` is that of each cell. Records whose entry in `among` (a column of truth values) is false are left out,
    where it is given.

    variance: of the noise of each cell. measure: the column that is summed. by: the key columns. among: the column that says
    which records count.
    """

    variance: Fraction = field(metadata=checked(parameter))
    measure: str | None = None
    by: tuple[str, ...] = ()
    among: str | None = None


def realized_losses(
    queries: Sequence[NoisySum], columns: Columns, groups: NDArray[Any] | None = None, *, public: bool
) -> Losses:
    """Compute `sup_a D_a(M(D) || M(D minus r)) / a` for Gaussian noise, exactly:
    `sum over queries and cells of (change of the cell)^2 / (2 v)`.

    For every record, or for every group (all records of a firm leave together), in the order of `np.unique(groups)`.
    Contributions of a group to different cells add in squares, to one cell before squaring; floats.

    Parameters
    ----------
    queries : noisy sums, with their variances v.
    columns : the table, by the names of its columns.
    groups : (n,), None for single records.
    public : True, which says that the table is not confidential.
    """
    _require_public(public)
    units = np.arange(length(columns)) if groups is None else np.asarray(groups)
    where = np.unique(units, return_inverse=True)[1].ravel()
    total = np.zeros(int(where.max()) + 1)
    for query in queries:
        size = np.ones(len(where)) if query.measure is None else _signed(column(columns, query.measure))
        if query.among is not None:
            size = np.where(column(columns, query.among).astype(bool), size, 0.0)
        cells = np.stack(
            [where, *(np.unique(column(columns, key), return_inverse=True)[1].ravel() for key in query.by)], axis=1
        )
        pairs, place = np.unique(cells, axis=0, return_inverse=True)
        changes = np.bincount(place.ravel(), size)
        total += np.bincount(pairs[:, 0], changes**2, len(total)) / float(2 * query.variance)
    return Losses(total, "zcdp")


def gaussian_relative_error(deviation: object, totals: object, share: float = 0.95) -> Floats:
    """Compute `min {v : P(|M - S| / |S| >= v) <= 1 - share}` under Gaussian noise: `deviation z / |S|`, z the normal quantile
    at `(1 + share) / 2`.

    Parameters
    ----------
    deviation : the standard deviation of M - S.
    totals : S, any shape.
    share : of the answers that are to be so near, between 0 and 1.

    >>> gaussian_relative_error(10, [1000, 0]).round(4).tolist()
    [0.0196, inf]
    """
    from scipy.special import ndtri

    if not 0 < share < 1:
        raise InvalidProblem(f"share: {share} is no probability strictly between 0 and 1.", value=share)
    with np.errstate(divide="ignore"):
        return np.asarray(np.asarray(deviation) * ndtri((1 + share) / 2) / np.abs(np.asarray(totals, dtype=np.float64)))


def absolute_relative_error(answers: object, truths: object) -> Floats:
    """Compute `|M - S| / |S|` of answers, elementwise; 0 where both are 0, infinite where only the truth is.

    Parameters
    ----------
    answers : M, any shape.
    truths : S, of the same shape.

    >>> absolute_relative_error([90, 0, 1], [100, 0, 0]).tolist()
    [0.1, 0.0, inf]
    """
    given, true = np.asarray(answers, dtype=np.float64), np.asarray(truths, dtype=np.float64)
    error = np.abs(given - true)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(error == 0, 0.0, error / np.abs(true))


def _signed(values: NDArray[Any]) -> Floats:
    """A measure as floats, 0 where missing."""
    sizes = magnitudes(values)
    negative = np.array([value is not None and value < 0 for value in values.tolist()], dtype=bool)
    return np.where(negative, -sizes, sizes)


def _require_public(public: object) -> None:
    if public is not True:
        raise InvalidProblem(
            "public: losses of confidential records are confidential themselves; pass public=True for public or synthetic "
            "records only."
        )

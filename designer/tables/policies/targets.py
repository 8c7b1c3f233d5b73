"""What a design of per-record noise starts from, all of it public: accuracy targets,
and records for which the policy shall be small."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, Immutable, frozen, real_array
from designer.base.checks import names
from designer.base.declared import assign
from designer.base.errors import InvalidProblem

COUNT = "count"  # the measure that is 1 for every record


@dataclass(frozen=True, eq=False)
class Accuracy(Immutable):
    """Targets for one measure: `deviations` (n,), the largest standard deviation of each group's answer,
    infinite where there is no target.

    measure: its name, `COUNT` for the number of records.
    on_average: only the mean of `(deviation / target)^2` must be at most 1.
    """

    measure: str
    deviations: Floats
    on_average: bool = False

    def __post_init__(self) -> None:
        deviations = real_array(self.deviations, "deviations", 1, allow_inf=True)
        if not (deviations > 0).all() or np.isinf(deviations).all():
            raise InvalidProblem(f"deviations: targets of {self.measure!r} must be positive, at least one of them finite.")
        assign(self, deviations=deviations)

    @classmethod
    def relative(
        cls,
        measure: str,
        totals: object,
        error: float,
        *,
        confidence: float = 0.95,
        share: float = 1.0,
        asked: NDArray[np.bool_] | None = None,
    ) -> Self:
        """Fitness for use: `|noise| <= error * |total|` with probability `confidence`,
        for at least a `share` of the groups `asked`.

        totals: (n,) PUBLIC estimates, last year's for instance. The deviation is `error |total| / z`, z the normal quantile
        (1.96 at 95 %). Exempt are groups of total 0 and those of the smallest totals.
        Source: Seeman et al., section 6.4 (QueryRelErr).

        >>> Accuracy.relative("emp", [1000, 100, 1], 0.1, share=0.66).deviations.round(2)
        array([51.02,  5.1 ,   inf])
        """
        sizes = np.abs(real_array(totals, "totals", 1))
        if not error > 0 or not 0 < confidence < 1 or not 0 < share <= 1:
            raise InvalidProblem(
                f"error, confidence, share: {error}, {confidence}, {share} must be positive, at most 1 for the last two."
            )
        wanted = (sizes > 0) & (True if asked is None else np.asarray(asked, dtype=bool))
        order = np.flatnonzero(wanted)[np.argsort(sizes[wanted], kind="stable")]
        wanted[order[: int((1 - share) * len(order) + 1e-9)]] = False
        z = NormalDist().inv_cdf((1 + confidence) / 2)
        return cls(measure, np.where(wanted, error * sizes / z, np.inf))


@dataclass(frozen=True, eq=False)
class PriorRecords(Immutable):
    """K PUBLIC records and how much their losses matter: the functional is `sum_k weights_k P(r_k)`,
    or the largest `weights_k P(r_k)`.

    measures: d names; values: (K, d); weights: (K,), positive; `largest` chooses the second form. groups: (K,), the place of
    each record's finest group, needed only where noise differs between groups of one level.
    """

    measures: tuple[str, ...]
    values: Floats
    weights: Floats
    largest: bool = False
    groups: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        values = real_array(self.values, "values", 2)
        weights = real_array(self.weights, "weights", 1)
        if weights.shape != (len(values),) or not (weights > 0).all():
            raise InvalidProblem(f"weights: shape {weights.shape}; give {len(values)} positive numbers, one for each record.")
        if self.groups is not None and np.shape(self.groups) != (len(values),):
            raise InvalidProblem(f"groups: shape {np.shape(self.groups)}; give {len(values)} places of groups.")
        assign(
            self,
            measures=names(self.measures, values.shape[1], "measures", "measure"),
            values=frozen(np.abs(values)),
            weights=weights,
            groups=None if self.groups is None else frozen(np.asarray(self.groups, dtype=np.int64)),
        )

    @classmethod
    def sample(cls, columns: Mapping[str, object], groups: NDArray[np.int64] | None = None) -> Self:
        """The mean of the policy over public or synthetic records.

        groups: (n,), the group of each record; None for single records.
        """
        values = _columns(columns)
        return cls(tuple(columns), values, np.full(len(values), 1 / len(values)), groups=groups)

    @classmethod
    def quantiles(cls, columns: Mapping[str, object], levels: Sequence[float], allowed: Sequence[float] | None = None) -> Self:
        """The policy at the records whose measures are all at their own quantile `level`.

        allowed: the largest `P(r) / allowed` counts; otherwise the sum of the losses.

        >>> PriorRecords.quantiles({"emp": [1, 2, 3, 100]}, [0.5, 0.99], allowed=[0.1, 10]).values.round(1)
        array([[ 2.5],
               [97.1]])
        """
        values = np.quantile(_columns(columns), np.asarray(levels, dtype=np.float64), axis=0)
        weights = np.ones(len(values)) if allowed is None else 1 / real_array(allowed, "allowed", 1)
        return cls(tuple(columns), values, weights, largest=allowed is not None)

    @classmethod
    def cap(cls, caps: Mapping[str, float]) -> Self:
        """The largest loss of a record with no measure above its cap: that of the record at the caps,
        because policies do not decrease.

        caps: for each measure its size.
        """
        return cls(tuple(caps), np.array([list(caps.values())], dtype=np.float64), np.ones(1))

    def squares(self, measures: Sequence[str]) -> Floats:
        """(K, len(measures)) of `r_a^2 / 2`, 1/2 for `COUNT`: what precision 1 costs."""
        missing = [name for name in measures if name not in (*self.measures, COUNT)]
        if missing:
            raise InvalidProblem(f"prior: has no measure {missing[0]!r}; it has {list(self.measures)}.")
        return np.stack([self.column(name) ** 2 / 2 for name in measures], axis=1)

    def column(self, measure: str) -> Floats:
        """(K,) values of a measure.

        measure: its name.
        """
        if measure in self.measures:
            return np.asarray(self.values[:, self.measures.index(measure)])
        return np.ones(len(self.values))

    @property
    def form(self) -> Literal["sum", "largest"]:
        """How losses are put together."""
        return "largest" if self.largest else "sum"

    def combine(self, losses: Floats) -> float:
        """The functional of (K,) losses."""
        weighted = self.weights * losses
        return float(weighted.max() if self.largest else weighted.sum())


def _columns(columns: Mapping[str, object]) -> Floats:
    if not columns:
        raise InvalidProblem("columns: empty; give at least one measure.")
    return np.stack([real_array(column, f"columns[{name!r}]", 1) for name, column in columns.items()], axis=1)

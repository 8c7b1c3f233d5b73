"""Averages answered jointly with a bias: DX program (13) for the squared loss, with any number of attribute groups.

What a row is off by is a sum over its groups. Where every statistic has one group and every group one statistic, the program
falls apart into closed forms; otherwise rows and scales of all statistics are found together, with a certified bound
(docs/theory/statistical.md, section 6).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from designer.averages.averages import fitted_groups, has_budget_0, statistic_of_each_group
from designer.averages.queries import StatisticalQueries
from designer.base.arrays import Floats
from designer.base.checks import positive, shown
from designer.base.errors import DesignFailed, InvalidProblem
from designer.base.progress import announce
from designer.certificate.guarantee import bounded
from designer.certificate.norms import weighted_l1
from designer.designing.implicit_rows import ScannedChanges, classes
from designer.designing.measured import Coordinates
from designer.designing.repair import freeze
from designer.limits import MOST_AVERAGE_TARGETS
from designer.mechanism.additive import AdditiveMechanism
from designer.problem.relation import Indices
from solvers.programs.biconvex import fit_rows_jointly
from solvers.programs.lipschitz import SQUARED_MAXIMUM
from solvers.programs.row_losses import GroupedSquares

OBJECTIVE = (
    "max_u sum_k v_k (p_k(u) - f_k(u))^2 + 2 sum_k v_k c_k^2, the worst expected squared error of the averages up to the grid "
    "(DX program 13)"
)
SHARED = "; max_u taken for each statistic apart where several groups decide it"
# A row that varies by less than this times its noise scale is a constant, left so by the descent.
NEGLIGIBLE_SPREAD = 1e-8


def squared_averages(queries: StatisticalQueries, n: float, weights: Mapping[str, float] | None = None) -> AdditiveMechanism:
    """Design Laplace noise on biased averages of least worst-case squared error over n records.

    The result carries value, lower bound and gap: 0 where groups and statistics belong together one by one. Errors:
    `DesignFailed` above 4000 statistics times images.

    Parameters
    ----------
    queries : the averages that are asked for.
    n : the public number of records.
    weights : what the squared error of each statistic counts, by name; 1 for those that are not named.

    >>> from designer import Domain
    >>> two = Domain.of({"a": [-1, 1], "b": [-1, 1]})
    >>> both = StatisticalQueries.of(two, {"sum": [("a", float), ("b", float)], "b": ("b", float)}, {"a": 0.5, "b": 0.25})
    >>> made = squared_averages(both, n=100)
    >>> made.privacy.holds, made.optimality.gap < 0.05
    (True, True)
    """
    records, v = positive(n, "n"), _weights(queries, weights)
    if has_budget_0(queries):
        raise DesignFailed(
            "squared_averages: two values of an attribute have budget 0 and different answers; give the pair a positive budget."
        )
    try:
        statistic_of_each_group(queries)
    except DesignFailed:
        return _jointly(queries, records, v)
    return _closed_forms(queries, records, v)


def _weights(queries: StatisticalQueries, weights: Mapping[str, float] | None) -> Floats:
    known = [statistic.name for statistic in queries.statistics]
    given = {} if weights is None else weights
    if not isinstance(given, Mapping) or not set(given) <= set(known):
        raise InvalidProblem(
            f"weights: {shown(given)} is no mapping from statistics to numbers; the statistics are {known}.", value=given
        )
    return np.array([positive(given.get(name, 1.0), f"weights[{name}]") for name in known])


def _closed_forms(queries: StatisticalQueries, records: float, v: Floats) -> AdditiveMechanism:
    """Every statistic has a group of its own: closed forms, `min n^2 E(C)^2 + 2 C^2` each."""
    rows, scales, bounds = fitted_groups(queries, records, SQUARED_MAXIMUM)
    bound = float((v * bounds).sum()) / records**2
    return _frozen(queries, records, v, rows, scales, bound, "closed form: McShane extension, vertex of a parabola")


def _jointly(queries: StatisticalQueries, records: float, v: Floats) -> AdditiveMechanism:
    targets = queries.workload.dense() * np.sqrt(v)[:, None]
    starts, owner = _starts(queries), _owners(queries)
    moving = owner != STILL
    if not moving.any():
        raise DesignFailed("squared_averages: no statistic depends on the attributes; publish them as they are.")
    if targets.size > MOST_AVERAGE_TARGETS:
        raise DesignFailed(
            f"squared_averages: {len(targets)} statistics of {targets.shape[1]} images are {targets.size} unknowns, more than "
            f"{MOST_AVERAGE_TARGETS}; ask fewer at once, or round the functions to fewer values."
        )
    announce(f"squared_averages: fitting {len(targets)} x {targets.shape[1]} answers")
    loss = GroupedSquares(starts, owner[moving])
    changes = ScannedChanges(classes(queries.problem()))
    found = fit_rows_jointly(targets[moving], changes, records, loss)
    rows, scales = targets.copy(), np.zeros(len(targets))
    rows[moving], scales[moving] = found.point.values, found.point.scales
    away = (owner[:, None] >= 0) & (owner[:, None] != np.repeat(np.arange(len(starts) - 1), np.diff(starts)))
    rows = np.where(away, targets, rows)  # other groups move nothing of such a statistic
    root = np.sqrt(v)
    return _frozen(queries, records, v, rows / root[:, None], scales / root, found.lower_bound / records**2, found.method)


STILL = -2


def _owners(queries: StatisticalQueries) -> Indices:
    """The one group that decides each statistic, -1 where several do, `STILL` where none does."""
    deciding = np.array([[np.ptp(row) > 0 for row in group.columns] for group in queries.groups])
    return np.where(deciding.sum(axis=0) == 1, deciding.argmax(axis=0), np.where(deciding.any(axis=0), -1, STILL))


def _starts(queries: StatisticalQueries) -> Indices:
    return np.cumsum([0, *(group.metric.size for group in queries.groups)], dtype=np.intp)


def _frozen(
    queries: StatisticalQueries, records: float, v: Floats, rows: Floats, scales: Floats, bound: float, method: str
) -> AdditiveMechanism:
    problem = queries.problem(weights=v)
    spread = np.array([max(np.ptp(part) for part in np.split(row, _starts(queries)[1:-1])) for row in rows])
    heard = (scales > 0) & (spread > NEGLIGIBLE_SPREAD * scales)
    rows, scales = _without_faint(queries, rows, heard), np.where(heard, scales, 0.0)
    weights = np.where(heard, 1 / np.where(heard, scales, 1.0), np.inf)
    made = freeze(
        problem, "laplace_joint", Coordinates(rows, None, heard), scales, lambda _: weighted_l1(weights), "exponential"
    )
    value = worst_squared_error(queries, made, v) + 2 * float((v * made.scales**2).sum()) / records**2
    objective = OBJECTIVE + (SHARED if (_owners(queries) == -1).any() else "")
    # The frozen rows and scales are a feasible point of the program itself: only floats separate its value from the bound.
    return made.annotated({}, bounded(objective, value, bound, method, value * (rows.size + 16) * 2.0**-50))


def _without_faint(queries: StatisticalQueries, rows: Floats, heard: NDArray[np.bool_]) -> Floats:
    """Rows that are not heard made constant in each group, which no change moves."""
    starts = _starts(queries)
    middles = [(part.min(axis=1) + part.max(axis=1)) / 2 for part in np.split(rows, starts[1:-1], axis=1)]
    constant = np.repeat(np.stack(middles, axis=1), np.diff(starts), axis=1)
    return np.where(heard[:, None], rows, constant)


def worst_squared_error(queries: StatisticalQueries, mechanism: AdditiveMechanism, weights: Floats | None = None) -> float:
    """`max_u sum_k v_k (p_k(u) - f_k(u))^2` over rows u: exactly, where one group decides each statistic, else an upper bound,
    in which each statistic that several groups decide has its own worst row.

    weights v: (K,), 1 where none are given.
    """
    v = np.ones(len(queries.statistics)) if weights is None else weights
    off = (mechanism.effective - queries.workload.dense()) * np.sqrt(v)[:, None]
    return GroupedSquares(_starts(queries), _owned_by(queries, off)).bias(off)


def _owned_by(queries: StatisticalQueries, off: Floats) -> Indices:
    """The group in which each statistic is off, -1 where it is in several."""
    parts = np.array([part.any(axis=1) for part in np.split(off, _starts(queries)[1:-1], axis=1)])
    return np.where(parts.sum(axis=0) <= 1, parts.argmax(axis=0), -1)

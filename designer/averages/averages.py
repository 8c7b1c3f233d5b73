"""Averages that budgets decide one by one: the separable marginal program of DX Appendix C (14),
and the bounds of DX Theorem 11.

Each statistic has a group of attributes of its own and budgets add up over the groups, so each spends its whole budget and the
noise of one does not depend on the others. Under the worst-case absolute error the optimum
is a closed form for each (docs/theory/statistical.md, 3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from designer.averages.queries import StatisticalQueries
from designer.base.arrays import Floats
from designer.base.checks import positive
from designer.base.errors import DesignFailed, InvalidProblem
from designer.certificate.guarantee import bounded
from designer.certificate.norms import weighted_l1
from designer.designing.measured import Coordinates
from designer.designing.repair import freeze
from designer.mechanism.additive import AdditiveMechanism
from designer.mechanism.bounds import laplace_noise
from designer.problem.relation import Indices
from solvers.programs.lipschitz import MAXIMUM, Distances, LipschitzFit, ProgramLoss, fit_uniformly
from solvers.solution import Solution

OBJECTIVE = "sum_k (max_u |p_k(u) - f_k(u)| + c_k), the worst expected l1 error of the averages up to the grid (DX program 14)"


@dataclass(frozen=True)
class AverageBounds:
    """Upper bounds for `Z - q(x)`, x any n rows, Z the noisy averages, with Laplace scales c (of the averages)
    and answers p instead of f.

    squared: DX Theorem 11.1, `2 (max_u ||p(u) - f(u)||_2^2 + 2 ||c||_2^2)`. centred: the same without the factor 2, for the
    noise has mean 0 and no cross term. l1, l2, linf: Theorem 11.2.
    high_probability: Theorem 11.3, l-infinity with probability at least 1 - delta.
    bias: `max_u ||p(u) - f(u)||_order` for the orders 1, 2 and infinity,
    or an upper bound where a statistic depends on several groups.
    """

    n: float
    delta: float
    squared: float
    centred: float
    l1: float
    l2: float
    linf: float
    high_probability: float
    bias: tuple[float, float, float]


def separable(queries: StatisticalQueries, n: float) -> AdditiveMechanism:
    """Design the Laplace mechanism of least worst-case absolute error for n records: biased where bias pays, exact optimum.

    Every group must decide one statistic and every statistic must be decided by one group. Errors: `DesignFailed` otherwise.

    Parameters
    ----------
    queries : the averages that are asked for.
    n : the public number of records.

    >>> from designer import Domain
    >>> two = Domain.of({"a": [-1, 1], "b": [-1, 1]})
    >>> signs = StatisticalQueries.of(two, {"a": ("a", float), "b": ("b", float)}, {"a": 0.5, "b": 0.25})
    >>> (separable(signs, n=100).scales / 100).round(9).tolist()
    [0.04, 0.08]
    """
    records = positive(n, "n")
    rows, scales, bounds = fitted_groups(queries, records, MAXIMUM)
    heard = scales > 0
    weights = np.where(heard, 1 / np.where(heard, scales, 1.0), np.inf)
    problem = queries.problem(loss="absolute")
    made = freeze(problem, "separable", Coordinates(rows, None, heard), scales, lambda _: weighted_l1(weights), "exponential")
    value = average_bounds(queries, made, records).bias[0] + float(made.scales.sum()) / records
    bound = math.fsum(bounds) / records
    # The frozen rows and scales are a feasible point of the program itself: only floats separate its value from the bound.
    rounding = value * (rows.size + 16) * 2.0**-50
    return made.annotated({}, bounded(OBJECTIVE, value, bound, "closed form: McShane extension, best break", rounding))


def fitted_groups(queries: StatisticalQueries, records: float, loss: ProgramLoss) -> tuple[Floats, Floats, Floats]:
    """The fitted rows of each statistic (K, elements), scales of n times the averages, and least losses (K,), each in its own
    group; 0 in the others."""
    rows = np.zeros(queries.workload.shape)
    scales, bounds = np.zeros(len(rows)), np.zeros(len(rows))
    for g, (k, columns) in enumerate(zip(statistic_of_each_group(queries), _columns(queries), strict=True)):
        fit = _fit(queries, g, k, records, loss)
        rows[k, columns], scales[k], bounds[k] = fit.point.values, fit.point.constant, fit.lower_bound
    return rows, scales, bounds


def statistic_of_each_group(queries: StatisticalQueries) -> list[int]:
    """The one statistic that each group decides, each statistic named once."""
    deciding = [[k for k, row in enumerate(group.columns) if np.ptp(row) > 0] for group in queries.groups]
    owner = [ks[0] for ks in deciding if len(ks) == 1]
    if len(owner) < len(deciding) or len(set(owner)) < len(owner) or len(owner) < len(queries.statistics):
        raise DesignFailed(
            "separable: the attributes do not fall into groups that decide one statistic each, and one each statistic; use "
            "`design` on `problem()`."
        )
    return owner


def _columns(queries: StatisticalQueries) -> list[Indices]:
    """The elements of each group."""
    ends = np.cumsum([group.metric.size for group in queries.groups])
    return [np.arange(end - group.metric.size, end) for group, end in zip(queries.groups, ends, strict=True)]


def _fit(queries: StatisticalQueries, group: int, statistic: int, n: float, loss: ProgramLoss) -> Solution[LipschitzFit]:
    """`min n max |p - f| + C`, or the squared loss, subject to `|p_s - p_t| <= C d(s, t)` within a group: C = n c is the scale
    of the sum."""
    image = queries.groups[group]
    distances = image.metric.distances()
    if _some_budget_0(distances):
        raise DesignFailed(
            f"separable: two values of {list(image.domain.attributes)} have budget 0 and different answers; give the pair a "
            "positive budget."
        )
    return fit_uniformly(image.columns[statistic], Distances(np.minimum(distances, distances.T)), n, loss)


def has_budget_0(queries: StatisticalQueries) -> bool:
    """Whether two images of some group, which have different answers, have budget 0."""
    return any(_some_budget_0(group.metric.distances()) for group in queries.groups)


def _some_budget_0(distances: Floats) -> bool:
    return not (distances + np.eye(len(distances)) > 0).all()


def average_bounds(queries: StatisticalQueries, mechanism: AdditiveMechanism, n: float, delta: float = 0.05) -> AverageBounds:
    """Compute the bounds of DX Theorem 11 for the averages over n records under independent Laplace noise, as it is drawn on
    the grid.

    Parameters
    ----------
    queries : the averages that are asked for.
    mechanism : with independent Laplace noise.
    n : the public number of records.
    delta : the probability that a bound fails.
    """
    records = positive(n, "n")
    if not 0 < delta <= 1:
        raise InvalidProblem(f"delta: {delta} is not a probability in (0, 1].", value=delta)
    if mechanism.norm.order != "l1" or mechanism.reconstruction is not None:
        raise InvalidProblem(
            f"mechanism: {mechanism.family} adds no independent Laplace noise to the answers; use its `error_bounds`."
        )
    # As `error_bounds`, but for sums: noise, steps and scales are those of n times the averages.
    squares, l1, l2, linf, tail = laplace_noise(mechanism.scales, mechanism.grid.steps, delta)
    bias = (
        worst_row_bias(queries, mechanism, 1),
        worst_row_bias(queries, mechanism, 2),
        worst_row_bias(queries, mechanism, math.inf),
    )
    noise = squares / records**2
    return AverageBounds(
        records,
        delta,
        squared=2 * (bias[1] ** 2 + noise),
        centred=bias[1] ** 2 + noise,
        l1=bias[0] + l1 / records,
        l2=bias[1] + l2 / records,
        linf=bias[2] + linf / records,
        high_probability=bias[2] + tail / records,
        bias=bias,
    )


def worst_row_bias(queries: StatisticalQueries, mechanism: AdditiveMechanism, order: float) -> float:
    """`max_u ||p(u) - f(u)||_order` over rows u; the p-norm of the groups' maxima where they move different answers,
    else their sum."""
    off: Floats = mechanism.effective - queries.workload.dense()
    parts = [off[:, columns] for columns in _columns(queries)]
    maxima = [float(np.linalg.norm(part, order, axis=0).max()) for part in parts]
    apart = all(np.count_nonzero([part[k].any() for part in parts]) <= 1 for k in range(len(off)))
    return float(np.linalg.norm(maxima, order)) if apart else math.fsum(maxima)

"""Program (8) of the dX paper, solved to its optimum: which stand-in queries P = c Q'
and which c a synthetic-data mechanism should use.

Minimise `n max |P - Q| + price(c)` over c and rows P with `|P_ki - P_kj| <= c d(i, j)`. For fixed c the best P is McShane's
extension, so one dimension is left, and for every concave price its minimum lies at
a break of a piecewise-linear function (docs/theory/synthetic.md, 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from designer.base.arrays import Floats, frozen
from designer.base.checks import positive, shown
from designer.base.errors import DesignFailed, InvalidProblem
from designer.certified.guarantee import Optimality, bounded
from designer.mechanisms.synthetic.lipschitz_queries import LipschitzQueries, public_records
from designer.relations.problem import Problem
from solvers.programs.mcshane import Distances, Envelope, defect, least_at_breaks

Price = Callable[[float], float]

# The closure of N x N distances takes N^3 steps: 0.5 s at N = 741, 20 s here.
MOST_ELEMENTS = 2500
# Steps of 2^-30 of the noise scale: n records move an answer by at most n 2^-31 scales.
FINENESS = 30
LARGEST_CONSTANT = 1e100
LONGEST = 4096  # rounds, or synthetic records, that a price looks at


@dataclass(frozen=True, eq=False)
class PriceOfSize:
    """`min over whole m of heights[m - 1] + c slopes[m - 1]`: what a mechanism pays beside its bias,
    m its rounds or synthetic records.

    A minimum of lines is concave in c, whatever the lines.
    heights, slopes: (L,), for m = 1 to L.
    """

    heights: Floats
    slopes: Floats

    def __call__(self, c: float) -> float:
        return float((self.heights + c * self.slopes).min())

    def at(self, size: int) -> PriceOfSize:
        """The price with m fixed."""
        if size > len(self.heights):
            raise InvalidProblem(
                f"size: {size} is above {len(self.heights)}, the most that is priced; give a smaller one.", value=size
            )
        return PriceOfSize(self.heights[size - 1 : size], self.slopes[size - 1 : size])

    def best(self, c: float) -> int:
        """The best m for this c."""
        return int(np.argmin(self.heights + c * self.slopes)) + 1


def mwem_price(problem: Problem, beta: float = 0.05) -> PriceOfSize:
    """What MWEM pays in T rounds of equal halves: `n R sqrt(log N / 2 T) + 4 c T log(2 T K / beta) + 2 c T log(2 T / beta)`.

    With probability 1 - beta; derivation in docs/theory/synthetic.md, 4. R is the largest range of a query.

    problem: with a public number of records n. beta: the probability that the bound fails.
    """
    queries, elements = problem.workload.shape
    rounds = np.arange(1, LONGEST + 1)
    heights = records_of(problem) * _range(problem) * np.sqrt(math.log(elements) / (2 * rounds))
    slopes = 2 * rounds * (2 * np.log(2 * rounds * queries / beta) + np.log(2 * rounds / beta))
    return PriceOfSize(frozen(heights), frozen(slopes))


def small_db_price(problem: Problem, beta: float = 0.05) -> PriceOfSize:
    """What SmallDB pays with m synthetic records: `n R sqrt(log(2 K) / 2 m) + 2 c (m log N + log(1 / beta))`,
    with probability 1 - beta."""
    queries, elements = problem.workload.shape
    size = np.arange(1, LONGEST + 1)
    heights = records_of(problem) * _range(problem) * np.sqrt(math.log(2 * queries) / (2 * size))
    return PriceOfSize(frozen(heights), frozen(2 * (size * math.log(elements) + math.log(1 / beta))))


def theorem_8_price(problem: Problem) -> Price:
    """DX Theorem 8's second form: `20 / 5^(2/3) (n^2 log N log K)^(1/3) c^(1/3)` for entries up to 1 in size;
    otherwise they are scaled.

    problem: with a public number of records n.
    """
    queries, elements = problem.workload.shape
    largest = float(np.abs(problem.workload.dense()).max())
    factor = 20 / 5 ** (2 / 3) * ((records_of(problem) * largest) ** 2 * math.log(elements) * math.log(queries)) ** (1 / 3)
    return lambda c: factor * c ** (1 / 3)


def theorem_6_price(problem: Problem, beta: float = 0.05) -> Price:
    """DX Theorem 6: `(c n^2 gamma)^(1/3)`, gamma = 16 log N log K + 4 log(1 / beta), for ranges up to 1;
    otherwise they are scaled.

    problem: with a public number of records n. beta: the probability that the bound fails.
    """
    queries, elements = problem.workload.shape
    gamma = 16 * math.log(elements) * math.log(queries) + 4 * math.log(1 / beta)
    return lambda c: (c * (records_of(problem) * _range(problem)) ** 2 * gamma) ** (1 / 3)


def _range(problem: Problem) -> float:
    """R, the largest range of a query; no stand-in has a larger one."""
    return float(np.ptp(problem.workload.dense(), axis=1).max())


def records_of(problem: Problem) -> int:
    """The public n of a problem with pure privacy; refused when it is missing."""
    if problem.notion != "pure":
        raise DesignFailed(f"problem.notion: synthetic-data mechanisms are pure, not {problem.notion!r}.")
    if problem.records is None:
        raise DesignFailed("problem.records: missing; bias grows with the number of records, give it.")
    return public_records(problem.records)


@dataclass(frozen=True, eq=False)
class Preprocessed:
    """A point of program (8): c, rows P (K, N) before rounding, the objective there,
    and the least that c can pay (`optimality`)."""

    constant: float
    matrix: Floats
    bias: float
    optimality: Optimality

    def on_grid(self, problem: Problem, exponent: int | None = None) -> LipschitzQueries:
        """The certified queries, on steps of `2^exponent` (None: about 2^-30 c)."""
        if self.constant == 0.0:
            raise DesignFailed(
                "records: at this number of records no noise is worth its price, the bound is least for a constant answer; "
                "raise the budgets, or choose the constant yourself: constant='unbiased', or a positive number."
            )
        return on_grid(problem, self.matrix, self.constant, exponent)


def on_grid(problem: Problem, matrix: Floats, constant: float, exponent: int | None = None) -> LipschitzQueries:
    """Certified queries from rows P (K, N) whose constants are about `constant`."""
    fine = math.frexp(constant)[1] - 1 - FINENESS
    least = math.frexp(float(np.abs(matrix).max()) or 1.0)[1] - 51
    return LipschitzQueries.on_grid(
        problem.workload, problem.relation, matrix, max(fine, least) if exponent is None else exponent
    )


def prepared(
    problem: Problem, price: Price, constant: str | float, exponent: int | None = None
) -> tuple[LipschitzQueries, Optimality | None]:
    """The queries for a choice of c, see `preprocess`, with the claim of optimality where it is one.

    "unbiased" takes P = Q, and needs neither N x N distances nor a limit of N.
    """
    if isinstance(constant, str) and constant == "unbiased":
        matrix = problem.workload.dense()
        alone = float(problem.sensitivity().worst_coordinates().max())
        return on_grid(problem, matrix, alone if 0 < alone < math.inf else 1.0, exponent), None
    point = preprocess(problem, price, constant)
    return point.on_grid(problem, exponent), point.optimality if constant == "optimal" else None


def preprocess(problem: Problem, price: Price, constant: str | float = "optimal") -> Preprocessed:
    """The optimum of program (8) for a concave, increasing price of c; or the best P for another choice of c.

    constant: "optimal", "unbiased" (c Q' = Q, the least c without bias), or a number.
    The objective is an upper bound of the largest error.
    """
    metric, n = closed_metric(problem), records_of(problem)
    envelope = defect(problem.workload.dense(), metric)
    best = least_at_breaks(envelope, n, price)
    c = _chosen(envelope, constant, best.point)
    rows = np.array([_row(metric, q, c) for q in problem.workload.dense()])
    value = n * envelope(c) + price(c)
    note = bounded("n max |P - Q| + price of c (DX program 8)", value, best.lower_bound, best.method, value * 2.0**-46)
    return Preprocessed(c, frozen(rows), envelope(c), note)


def closed_metric(problem: Problem) -> Distances:
    """The budgets of the problem as a closed metric on its N elements."""
    size = problem.relation.size
    if size > MOST_ELEMENTS:
        raise DesignFailed(f"workload: {size} elements, the exact optimum is for up to {MOST_ELEMENTS}; merge elements.")
    return Distances(metric_budgets(problem))


def metric_budgets(problem: Problem) -> Floats:
    """The N x N budgets of a metric that keeps elements apart; any other relation is refused."""
    if not hasattr(problem.relation, "distances"):
        raise InvalidProblem(
            "relation: hides the number of records, which synthetic data of n records make public; use a metric."
        )
    distance = np.asarray(problem.relation.distances())
    if (distance + np.eye(len(distance)) <= 0).any():
        raise DesignFailed("relation: a pair of elements has budget 0; merge the two elements.")
    return distance


def _chosen(envelope: Envelope, constant: str | float, best: float) -> float:
    if isinstance(constant, str):
        if constant in ("optimal", "unbiased"):
            return best if constant == "optimal" else float(envelope.breaks[-1])
        raise InvalidProblem(
            f"constant: {shown(constant)} is unknown; use 'optimal', 'unbiased' or a positive number.", value=constant
        )
    chosen = positive(constant, "constant")
    if chosen > LARGEST_CONSTANT:
        raise InvalidProblem(
            f"constant: {chosen} is above {LARGEST_CONSTANT}; choose units in which it is moderate.", value=chosen
        )
    return chosen


def _row(metric: Distances, q: Floats, c: float) -> Floats:
    """The nearest row for c. Cut to the range of q: that moves no entry away from q and no two entries apart."""
    fitted, error = metric.extension(q, c)
    return np.asarray(q if error == 0 else np.clip(fitted, q.min(), q.max()))

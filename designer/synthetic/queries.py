"""Stand-in queries on a public grid that no protected change moves by more than its
budget allows: what synthetic-data mechanisms ask."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, Immutable, frozen
from designer.base.checks import assign, count, positive, shown
from designer.base.errors import DesignFailed, InvalidProblem, InvalidSpec
from designer.base.json_text import array, require_keys
from designer.base.schema import BUDGETS, Named, keys, list_of, record, whole
from designer.certificate.certificate import NOTHING_MOVES, PrivacyCertificate, certify, moves_nothing, scale_up_to_private
from designer.certificate.guarantee import Optimality, bounded
from designer.certificate.norms import Norm
from designer.certificate.sensitivity import SensitivitySet
from designer.limits import LARGEST_LIPSCHITZ_CONSTANT, LARGEST_STEP_EXPONENT, MOST_CLOSURE_ELEMENTS
from designer.mechanism.noise import Grid
from designer.problem.histogram import Universe, counts
from designer.problem.relation import Relation
from designer.problem.workload import WORKLOAD, Workload, workload_from_spec, workload_to_spec
from designer.relations.kinds import METRIC, relation_from_spec
from designer.relations.metrics.metric import Metric
from designer.relations.problem import Problem
from solvers.programs.lipschitz import Distances, Envelope, defect, least_at_breaks

THEOREM = (
    "Every row of P moves by at most c_k d(i, j) when one record changes from i to j (the condition of DX Theorems 5 and 7, "
    "P = c Q'). A score |P_k x - public number| moves by no more, so a choice with rate s / (2 c), c = max c_k, costs s "
    "d(i, j), a discrete Laplace measurement of row k with rate s / c_k costs s d(i, j), and costs add up "
    "(docs/theory/synthetic.md, 2)."
)


@dataclass(frozen=True, eq=False)
class LipschitzQueries(Immutable):
    """Rows P that stand in for the rows of a workload Q, with constants `c_k`: `|P_ki - P_kj| <= c_k d(i, j)`,
    proven on construction.

    workload: Q, (K, N). relation: a metric d; the number of records must be public. integers: P in steps of `2^exponent`, (K,
    N), one step for all rows because errors of different queries are compared. weights: `1 / c_k`, (K,), infinite where no
    protected change moves the row. Raises `NotPrivate` when a constant is too small.
    """

    workload: Workload
    relation: Relation
    integers: NDArray[np.int64]
    exponent: int
    weights: Floats
    privacy: PrivacyCertificate = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if (
            not isinstance(self.relation, Metric)
            or len(self.relation.points(np.empty((self.relation.size, 0)))) != self.relation.size
        ):
            raise InvalidProblem(
                f"relation: kind {self.relation.kind!r} hides the number of records, which synthetic data of n records make "
                "public; use a metric."
            )
        queries, elements = self.workload.shape
        self.relation.require_elements(elements, self.workload.unlisted)
        if self.integers.shape != (queries, elements) or self.weights.shape != (queries,):
            raise InvalidProblem(
                f"queries: integers {self.integers.shape} and weights {self.weights.shape} do not fit a workload "
                f"{self.workload.shape}; give an integer for each entry and a weight for each query."
            )
        if np.isinf(self.weights).all():
            raise InvalidProblem(
                "workload: no protected change moves an answer, so nothing needs hiding; publish the answers as they are."
            )
        self._require_exact()
        for name in ("integers", "weights"):
            assign(self, **{name: frozen(getattr(self, name))})
        assign(self, privacy=self.verify().require())
        if moves_nothing(self.privacy, self.sensitivity):
            raise InvalidProblem(
                f"queries: the relation protects nothing in them: {NOTHING_MOVES}; give budgets to changes that move them."
            )

    @property
    def preprocessing(self) -> tuple[Floats, Floats]:
        """The dX paper's `(Q', c)`, (K, N) and (K,), read-only: `c Q'` stands in for the queries, and what Q' moves is at most
        the metric; c is 1 where no protected change moves the row."""
        c = np.where(np.isfinite(self.weights), 1 / self.weights, 1.0)
        return frozen(self.values / c[:, None]), frozen(c)

    def _require_exact(self) -> None:
        """The floats that the certificate reads must be the integers that a release adds up, and none may leave the floats."""
        if (
            self.integers.dtype != np.int64
            or not -(2**52) <= self.integers.min() <= self.integers.max() <= 2**52
            or type(self.exponent) is not int
            or abs(self.exponent) > LARGEST_STEP_EXPONENT
        ):
            raise InvalidProblem(
                f"queries: need whole numbers up to 2^52 in steps of 2^-{LARGEST_STEP_EXPONENT} to 2^{LARGEST_STEP_EXPONENT}; "
                "choose units in which answers are moderate."
            )
        if not self.weights.min() >= 2.0 ** (-2 * LARGEST_STEP_EXPONENT):
            raise InvalidProblem(
                f"queries.weights: the constant is above 2^{2 * LARGEST_STEP_EXPONENT}, or a weight is not positive; choose "
                "units in which budgets are moderate."
            )

    @classmethod
    def on_grid(cls, workload: Workload, relation: Relation, matrix: Floats, exponent: int) -> Self:
        """`matrix` (K, N) rounded to multiples of `2^exponent`, with the least constants that privacy allows,
        rounded up by about 2^-40."""
        integers = Grid((exponent,) * len(matrix)).integers(matrix)
        rounded = SensitivitySet.of(np.ldexp(integers.astype(float), exponent), relation)
        alone = rounded.worst_coordinates()
        if not np.isfinite(alone).all():
            raise DesignFailed(
                "relation: a pair with budget 0 moves an answer; give it a positive budget or make its columns equal."
            )
        if not alone.any() and np.ptp(matrix, axis=1).any():
            raise DesignFailed(
                f"exponent: steps of 2^{exponent} swallow every difference that matters; use a smaller exponent."
            )
        with np.errstate(divide="ignore"):
            norm = Norm(1 / alone, "linf")
        return cls(workload, relation, integers, exponent, norm.divided(scale_up_to_private(rounded, norm)).map)

    @property
    def norm(self) -> Norm:
        """`max_k |u_k| / c_k`."""
        return Norm(self.weights, "linf")

    def sensitivity(self) -> SensitivitySet:
        """The differences of P that protected changes make."""
        return SensitivitySet.of(self.values, self.relation)

    def verify(self) -> PrivacyCertificate:
        """`max_k |P_ki - P_kj| / c_k <= d(i, j)` for every protected pair, in exact arithmetic."""
        return certify(self.sensitivity(), self.norm, THEOREM, self.workload.elements)

    @cached_property
    def values(self) -> Floats:
        """P, (K, N)."""
        return frozen(np.ldexp(self.integers.astype(np.float64), self.exponent))

    @property
    def step(self) -> Fraction:
        """The grid step, `2^exponent`."""
        return Fraction(2) ** self.exponent

    @property
    def rate(self) -> Fraction:
        """`1 / c`, c the largest constant."""
        return Fraction(float(self.weights.min()))

    @property
    def constant(self) -> float:
        """c, the largest of the `c_k`."""
        return float(1 / self.weights.min())

    @property
    def bias(self) -> float:
        """`max |P - Q|`: n records move an answer by at most n times this."""
        return float(np.abs(self.values - self.workload.dense()).max())

    @property
    def spread(self) -> float:
        """R, the largest range of a row of P."""
        return float(np.ptp(self.values, axis=1).max())

    schema = Named(
        "lipschitz_queries",
        record(
            {
                "workload": WORKLOAD,
                "relation": METRIC,
                "integers": list_of(list_of(whole(least=-(2**52), most=2**52))),
                "exponent": whole(least=-LARGEST_STEP_EXPONENT, most=LARGEST_STEP_EXPONENT),
                "weights": BUDGETS,
            },
            note=(
                "Row k of integers * 2^exponent stands in for query k of the workload and moves by at most d(i, j) / "
                "weights[k]."
            ),
        ),
    )

    def to_spec(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "workload": workload_to_spec(self.workload),
            "relation": self.relation.to_spec(),
            "integers": self.integers,
            "exponent": self.exponent,
            "weights": self.weights,
        }

    @classmethod
    def from_spec(cls, spec: Any) -> Self:
        """From plain data, certified anew."""
        require_keys(spec, keys(cls.schema), "queries")
        workload, relation = workload_from_spec(spec["workload"]), relation_from_spec(spec["relation"])
        rows, exponent = spec["integers"], spec["exponent"]
        if type(exponent) is not int or abs(exponent) > LARGEST_STEP_EXPONENT:
            raise InvalidSpec(
                f"queries.exponent: must be a whole number from -{LARGEST_STEP_EXPONENT} to {LARGEST_STEP_EXPONENT}."
            )
        if not all(type(entry) is int and abs(entry) <= 2**52 for row in rows for entry in row):
            raise InvalidSpec("queries.integers: must be rows of whole numbers up to 2^52.")
        weights = array(spec["weights"], 1, "queries.weights")
        return cls(workload, relation, np.array(rows, dtype=np.int64), exponent, weights)


def require_queries(queries: object) -> None:
    """Refuse anything but queries that proved themselves."""
    if not isinstance(queries, LipschitzQueries):
        raise InvalidProblem(f"queries: {shown(queries)} are none; make them with `LipschitzQueries.on_grid`.", value=queries)


def public_records(records: object) -> int:
    """The public number of records n, a whole number from 1 to 2^53."""
    if isinstance(records, (float, np.floating)) and float(records).is_integer():
        records = int(records)
    n = count(records, "records")
    if n >= 2**53:
        raise InvalidProblem(f"records: {n} is not below 2^53; give a smaller number.", value=n)
    return n


def whole_histogram(histogram: object, universe: Universe, records: int) -> NDArray[np.int64]:
    """The confidential counts. A total other than the public number of records is refused: it says what was public."""
    checked = counts(histogram, universe)
    if sum(checked.tolist()) != records:
        raise InvalidProblem(
            f"histogram: must hold the {records} records that the mechanism was made for; nothing was released."
        )
    return checked


def read_core(core: Mapping[str, Any], schema: Named) -> tuple[LipschitzQueries, int]:
    """The queries and the number of records from the core of a synthetic-data mechanism, which has the keys of its `schema`."""
    require_keys(core, keys(schema), "mechanism")
    if type(core["records"]) is not int:
        raise InvalidSpec("records: must be a whole number.")
    return LipschitzQueries.from_spec(core["queries"]), core["records"]


# Program (8) of the dX paper, solved to its optimum: which stand-in queries P = c Q' and which c a synthetic-data mechanism
# should use.
#
# Minimise `n max |P - Q| + price(c)` over c and rows P with `|P_ki - P_kj| <= c d(i, j)`. For fixed c the best P is McShane's
# extension, so one dimension is left, and for every concave price its minimum lies at a break of a piecewise-linear function
# (docs/theory/synthetic.md, 1).


Price = Callable[[float], float]

# Steps of 2^-30 of the noise scale: n records move an answer by at most n 2^-31 scales.
FINENESS = 30
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
        return int(np.argmin(self.heights + c * self.slopes)) + 1


def mwem_price(problem: Problem, beta: float = 0.05) -> PriceOfSize:
    """Price T rounds of MWEM of equal halves: `n R sqrt(log N / 2 T) + 4 c T log(2 T K / beta) + 2 c T log(2 T / beta)`.

    With probability 1 - beta; derivation in docs/theory/synthetic.md, 4. R is the largest range of a query.

    Parameters
    ----------
    problem : with a public number of records n.
    beta : the probability that the bound fails.
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
    """Compute DX Theorem 8's second form: `20 / 5^(2/3) (n^2 log N log K)^(1/3) c^(1/3)` for entries up to 1 in size; otherwise
    they are scaled.

    problem: with a public number of records n.
    """
    queries, elements = problem.workload.shape
    largest = float(np.abs(problem.workload.dense()).max())
    factor = 20 / 5 ** (2 / 3) * ((records_of(problem) * largest) ** 2 * math.log(elements) * math.log(queries)) ** (1 / 3)
    return lambda c: factor * c ** (1 / 3)


def theorem_6_price(problem: Problem, beta: float = 0.05) -> Price:
    """Compute DX Theorem 6: `(c n^2 gamma)^(1/3)`, gamma = 16 log N log K + 4 log(1 / beta), for ranges up to 1. Otherwise they
    are scaled.

    Parameters
    ----------
    problem, beta : as for `mwem_price`.
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
    """Find the optimum of program (8) for a price of c, or the best P for another c. It bounds the largest error from above.

    Parameters
    ----------
    problem : with a public number of records.
    price : concave and increasing in c.
    constant : "optimal", "unbiased" (c Q' = Q, the least c without bias), or a number.
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
    if size > MOST_CLOSURE_ELEMENTS:
        raise DesignFailed(
            f"workload: {size} elements, the exact optimum is for up to {MOST_CLOSURE_ELEMENTS}; merge elements."
        )
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
    if chosen > LARGEST_LIPSCHITZ_CONSTANT:
        raise InvalidProblem(
            f"constant: {chosen} is above {LARGEST_LIPSCHITZ_CONSTANT}; choose units in which it is moderate.", value=chosen
        )
    return chosen


def _row(metric: Distances, q: Floats, c: float) -> Floats:
    """The nearest row for c. Cut to the range of q: that moves no entry away from q and no two entries apart."""
    fitted, error = metric.extension(q, c)
    return np.asarray(q if error == 0 else np.clip(fitted, q.min(), q.max()))

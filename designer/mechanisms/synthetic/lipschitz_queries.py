"""Stand-in queries on a public grid that no protected change moves by more than its
budget allows: what synthetic-data mechanisms ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, Immutable, frozen
from designer.base.checks import count, shown
from designer.base.declared import assign
from designer.base.errors import DesignFailed, InvalidProblem, InvalidSpec
from designer.base.json_text import array, require_keys
from designer.base.schema import BUDGETS, Named, keys, list_of, record, whole
from designer.certified.certificate import NOTHING_MOVES, PrivacyCertificate, certify, moves_nothing
from designer.certified.norms import Norm
from designer.certified.scale_up import scale_up_to_private
from designer.certified.sensitivity import SensitivitySet
from designer.mechanisms.additive.noise import Grid
from designer.problem.histogram import Universe, counts
from designer.problem.relation import Relation
from designer.problem.workload import WORKLOAD, Workload, workload_from_spec, workload_to_spec
from designer.relations.kinds import METRIC, relation_from_spec
from designer.relations.metrics.metric import Metric

THEOREM = (
    "Every row of P moves by at most c_k d(i, j) when one record changes from i to j (the condition of DX Theorems 5 and 7, "
    "P = c Q'). A score |P_k x - public number| moves by no more, so a choice with rate s / (2 c), c = max c_k, costs s "
    "d(i, j), a discrete Laplace measurement of row k with rate s / c_k costs s d(i, j), and costs add up "
    "(docs/theory/synthetic.md, 2)."
)


FARTHEST = 400  # squares of answers to 2^53 records, and of their inverses, are floats


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

    def _require_exact(self) -> None:
        """The floats that the certificate reads must be the integers that a release adds up, and none may leave the floats."""
        if (
            self.integers.dtype != np.int64
            or not -(2**52) <= self.integers.min() <= self.integers.max() <= 2**52
            or type(self.exponent) is not int
            or abs(self.exponent) > FARTHEST
        ):
            raise InvalidProblem(
                f"queries: need whole numbers up to 2^52 in steps of 2^-{FARTHEST} to 2^{FARTHEST}; choose units in which "
                "answers are moderate."
            )
        if not self.weights.min() >= 2.0 ** (-2 * FARTHEST):
            raise InvalidProblem(
                f"queries.weights: the constant is above 2^{2 * FARTHEST}, or a weight is not positive; choose units in "
                "which budgets are moderate."
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
                "exponent": whole(least=-FARTHEST, most=FARTHEST),
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
        if type(exponent) is not int or abs(exponent) >= 1000:
            raise InvalidSpec("queries.exponent: must be a whole number between -1000 and 1000.")
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

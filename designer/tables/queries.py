"""Queries of a table: counts, distinct counts, sums and averages by group, and what one record costs in each."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from designer.base.arrays import Floats, Immutable
from designer.base.checks import assign, is_text, rational, shown
from designer.base.errors import InvalidProblem
from designer.base.labels import is_missing, label_of
from designer.base.schema import PLACE, RATIONAL, RATIONALS, Fragment, Named, either, list_of, noted, of_kind, text
from designer.limits import LARGEST_GAUSSIAN_VARIANCE, MOST_NAME_CHARACTERS
from designer.relations.records.engines import distinct_column
from designer.relations.records.values import entry
from designer.sampling.integer_gaussian import DiscreteGaussian
from designer.tables.condition import Condition, all_met
from designer.tables.exact_sums import quick_rows, safe_sums, totals
from designer.tables.groups import Groups, Labels
from designer.tables.measure import Measure
from designer.tables.variance_by import VarianceBy, Variances

if TYPE_CHECKING:
    from designer.sampling.entropy import Entropy

VARIANCE = Named(
    "variance", noted("For all groups, one for each, or by label.", either(RATIONAL, RATIONALS, VarianceBy.schema))
)
# What every query says; `groups` is a place among the levels of its plan.
ASKED: Mapping[str, Fragment] = {"name": text(), "groups": PLACE, "where": list_of(Condition.schema, least=0)}


@dataclass(frozen=True)
class Query(Immutable, ABC):
    """A named question about the records of each of some groups,
    or about those among them that meet all conditions of `where`."""

    name: str
    groups: Groups
    where: tuple[Condition, ...] = ()
    kind: ClassVar[str]
    schema: ClassVar[Named]  # of `query_to_spec()`

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not 0 < len(self.name) <= MOST_NAME_CHARACTERS or not is_text(self.name):
            raise InvalidProblem(
                f"name: {shown(self.name)} is no name; give a text of up to {MOST_NAME_CHARACTERS} characters.", value=self.name
            )
        if not isinstance(self.groups, Groups):
            raise InvalidProblem(
                f"groups: {shown(self.groups)} is not a Groups; Groups() stands for everybody.", value=self.groups
            )
        assign(self, where=tuple(self.where))

    def group_of(self, record: Mapping[str, Any]) -> Labels | None:
        """The group in which a public or hypothetical record counts, or None.

        record: by the names of its columns.
        """
        met, labels = [condition.meets(record) for condition in self.where], self.groups.label(record)
        return labels if all(met) else None

    @abstractmethod
    def loss(self, record: Mapping[str, Any]) -> Fraction:
        """The zCDP that adding or removing the record costs in this query."""

    def draws(self, size: int, entropy: Entropy) -> Floats:
        """`size` draws of the noise in the answers of listed groups, (size, G), in the unit of the query; not a number where
        the answer is no sum with noise of its own law."""
        return np.full((size, len(self.groups.keys or ())), np.nan)

    @abstractmethod
    def sentence(self) -> str:
        """What is asked, with the closed form of the loss."""

    def condition_words(self) -> str:
        """The groups and the conditions."""
        where = " and ".join(condition.sentence() for condition in self.where)
        return f"by {self.groups.sentence()}" + (f" where {where}" if where else "")

    def to_spec(self) -> dict[str, Any]:
        """Plain data but for the groups, whose place among the levels of a plan `query_to_spec` writes."""
        return {"where": [condition.to_spec() for condition in self.where]}


@dataclass(frozen=True)
class Aggregated(Query):
    """A whole number of steps for each group, which gets noise: a record moves
    one group's number by `amount(r)` steps at most."""

    @property
    def step(self) -> Fraction:
        """Exact numbers are multiples of it."""
        return Fraction(1)

    def amount(self, record: Mapping[str, Any]) -> int:
        """The most steps by which a record that counts can move the number of its group."""
        return 1

    @abstractmethod
    def inputs(self, table: Any) -> list[Any]:
        """Columns of an Ibis table that are to be aggregated."""

    def quick_inputs(self, table: Any) -> list[Any]:
        """The same, some of them as floats whose sums over `quick_rows` rows are exact."""
        return self.inputs(table)

    @property
    def quick_rows(self) -> float:
        """Up to how many rows of a group the aggregates of `quick_inputs` are exact; infinite where they are integers."""
        return math.inf

    @abstractmethod
    def aggregates(self, table: Any, inputs: list[Any]) -> list[Any]:
        """Aggregates of those columns, as integers within 64 bits."""

    def numbers(self, found: Sequence[Sequence[Any]]) -> list[int]:
        """The numbers of steps of groups, from the columns of their aggregates."""
        return totals(found)


@dataclass(frozen=True)
class Additive(Aggregated):
    """A number with discrete Gaussian noise.

    variance: of the noise, in the unit of the answer; one for all groups, one for each of the public keys, or a `VarianceBy`
    label, for keys that are found privately, too. The record costs
    `(amount step)^2 / (2 variance)` of zCDP (Canonne, Kamath and Steinke 2020, theorem 4; docs/theory/tables.md, 1).
    """

    variance: Variances = Fraction(0)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        super().__post_init__()
        given = self.variance
        if isinstance(given, VarianceBy):
            given.place(self.groups)
        else:
            assign(self, variance=self._exact(given))
        if not 0 < min(self.variances) <= max(self.variances) <= LARGEST_GAUSSIAN_VARIANCE * self.step**2:
            raise InvalidProblem(
                f"variance: must lie above 0, and be at most 2^110 squared steps of {self.step}; use a coarser step."
            )

    def _exact(self, given: Any) -> Fraction | tuple[Fraction, ...]:
        many = isinstance(given, Sequence) and not isinstance(given, str)
        exact = tuple(rational(v, "variance") for v in (given if many else [given]))
        if many and len(exact) != len(self.groups.keys or ()):
            raise InvalidProblem(
                f"variance: {len(exact)} for {len(self.groups.keys or ())} public keys; give one, or one for each key."
            )
        return exact if many else exact[0]

    def variance_of(self, labels: Labels) -> Fraction:
        """The variance of the noise in a group.

        labels: of a group.
        """
        if isinstance(self.variance, VarianceBy):
            return self.variance.of(self.groups, labels)
        return self.variance[self.groups.place[labels]] if isinstance(self.variance, tuple) else self.variance

    @property
    def variances(self) -> tuple[Fraction, ...]:
        """All variances that a group may have: one, one for each key, or one for each label."""
        if isinstance(self.variance, VarianceBy):
            return self.variance.values
        return self.variance if isinstance(self.variance, tuple) else (self.variance,)

    @property
    def least_variance(self) -> Fraction:
        """The least of them, on the grid of integers."""
        return min(self.variances) / self.step**2

    def grid_variances(self, keys: Sequence[Labels]) -> tuple[Fraction, ...]:
        """Variances on the grid of integers of groups that are listed, or were found: one, or one for each."""
        given = [self.variance_of(key) for key in keys] if isinstance(self.variance, VarianceBy) else self.variances
        unit = self.step**2
        return tuple(given) if unit == 1 else tuple(v / unit for v in given)

    def draws(self, size: int, entropy: Entropy) -> Floats:
        keys = self.groups.keys or ()
        law = DiscreteGaussian(np.broadcast_to(np.array(self.grid_variances(keys)), len(keys)).tolist())
        return np.asarray(law.draw(size, entropy) * float(self.step), dtype=np.float64)

    def loss(self, record: Mapping[str, Any]) -> Fraction:
        labels, amount = self.group_of(record), self.amount(record)
        return Fraction(0) if labels is None else (amount * self.step) ** 2 / (2 * self.variance_of(labels))

    def variance_words(self) -> str:
        """The variance, or the least and the largest of those of the groups."""
        if isinstance(self.variance, Fraction):
            return f"{self.variance}"
        by = self.variance.by.name if isinstance(self.variance, VarianceBy) else "group"
        return f"{min(self.variances)} .. {max(self.variances)} by {by}"

    def to_spec(self) -> dict[str, Any]:
        return {**super().to_spec(), "variance": variance_to_spec(self.variance)}


@dataclass(frozen=True)
class Count(Additive):
    """`COUNT(*)`: the number of records; one record costs `1 / (2 variance)`.

    name, groups, where as in every query; variance in squared records.

    >>> from designer.tables import Groups
    >>> Count("firms", Groups(), variance=200).loss({})
    Fraction(1, 400)
    """

    kind = "count"
    schema = of_kind("query", kind, {**ASKED, "variance": VARIANCE})

    def inputs(self, table: Any) -> list[Any]:
        met = all_met(self.where, table)
        return [] if met is None else [met.cast("int64")]

    def aggregates(self, table: Any, inputs: list[Any]) -> list[Any]:
        return [column.sum() for column in inputs] or [table.count()]

    def sentence(self) -> str:
        return f"{self.name}: COUNT {self.condition_words()}, loss 1 / (2 * {self.variance_words()})"


@dataclass(frozen=True)
class CountDistinct(Additive):
    """`COUNT(DISTINCT of)`: one record moves the number of its group by at most 1, whoever else has the same id;
    missing ids are no ids.

    Who has records in g groups, whole, moves g numbers: the loss of an id is that of a group of g such records.

    of: the column of ids.
    """

    of: str = ""
    kind = "count_distinct"
    schema = of_kind("query", kind, {**ASKED, "variance": VARIANCE, "of": text()})

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.of, str) or not self.of:
            raise InvalidProblem("of: missing; name the column whose values are counted.")

    def amount(self, record: Mapping[str, Any]) -> int:
        """NULL is no id, and of floats what is no label is none; a NaN of decimals is a value to engines."""
        given = entry(record, self.of)
        if isinstance(given, (float, np.floating)):
            return int(label_of(given) is not None)
        return int(isinstance(given, Decimal) or not is_missing(given))

    def inputs(self, table: Any) -> list[Any]:
        if self.of not in table.columns:
            raise InvalidProblem(f"records: the table has no column {self.of!r}; rename one.")
        counted, met = distinct_column(table[self.of]), all_met(self.where, table)
        return [counted if met is None else met.ifelse(counted, None)]

    def aggregates(self, table: Any, inputs: list[Any]) -> list[Any]:
        return [inputs[0].nunique()]

    def sentence(self) -> str:
        return f"{self.name}: COUNT DISTINCT {self.of} {self.condition_words()}, loss 1 / (2 * {self.variance_words()})"

    def to_spec(self) -> dict[str, Any]:
        return {**super().to_spec(), "of": self.of}


class OfMeasure:
    """How the values of a measure are added up: exact sums of whole numbers of steps."""

    measure: Measure
    where: tuple[Condition, ...]

    def require_measure(self) -> None:
        """InvalidProblem where there is none."""
        if not isinstance(self.measure, Measure):
            raise InvalidProblem("measure: missing; give the Measure that is summed.")

    @property
    def step(self) -> Fraction:
        return self.measure.step

    def amount(self, record: Mapping[str, Any]) -> int:
        """The steps that the value of a record is away from 0."""
        return abs(self.measure.units(entry(record, self.measure.column)))

    def inputs(self, table: Any) -> list[Any]:
        """The values of the records that count, in steps."""
        return self._counted(self.measure.expression(table), table)

    def quick_inputs(self, table: Any) -> list[Any]:
        """The same as floats, where sums of many of them are exact."""
        quick = self.quick_rows < math.inf
        return self._counted(self.measure.quick_expression(table), table) if quick else self.inputs(table)

    @property
    def quick_rows(self) -> float:
        """How many those are."""
        return quick_rows(self._bound)

    @property
    def _bound(self) -> int:
        return max(map(abs, self.measure.bounds))

    def _counted(self, units: Any, table: Any) -> list[Any]:
        met = all_met(self.where, table)
        return [units] if met is None else [met.ifelse(units, 0)]

    def aggregates(self, table: Any, inputs: list[Any]) -> list[Any]:
        """The sum, exact on every engine."""
        return safe_sums(inputs[0], self._bound)


@dataclass(frozen=True)
class Sum(OfMeasure, Additive):
    """`SUM(measure)`: a record of value x, clipped and rounded by its measure, costs `x^2 / (2 variance)`.

    Splitting at a threshold T with budget rho a row is the variance `T^2 / (2 rho)`; the split table is not needed (Seeman
    et al., Lemma 5.3). name, groups, where as in every query; variance in squared units of the measure. Raises `InvalidProblem`
    without a measure.

    measure: the column, with its bounds.

    >>> from designer.tables import Groups, Measure
    >>> Sum("pay", Groups(), measure=Measure("pay"), variance=variance_for(50, "1/2")).loss({"pay": 100})
    Fraction(2, 1)
    """

    measure: Measure = None  # type: ignore[assignment]  # required; behind `where`, which is not
    kind = "sum"
    schema = of_kind("query", kind, {**ASKED, "variance": VARIANCE, "measure": Measure.schema})

    def __post_init__(self) -> None:
        self.require_measure()
        super().__post_init__()

    def sentence(self) -> str:
        return (
            f"{self.name}: SUM {self.measure.sentence()} {self.condition_words()}, loss {self.measure.column}^2 / (2 * "
            f"{self.variance_words()})"
        )

    def to_spec(self) -> dict[str, Any]:
        return {**super().to_spec(), "measure": self.measure.to_spec()}


@dataclass(frozen=True)
class Average(Query):
    """`AVG(measure)`: a noisy sum over a noisy count, both released (`name.sum`, `name.count`); the losses of the two add up.

    Records whose value is missing (NULL, NaN) count in neither, as in SQL, and cost nothing.

    measure: the column, with its bounds. variance: of the noise of the sum. count_variance: of the noise of the count.
    """

    measure: Measure = None  # type: ignore[assignment]  # required; behind `where`, which is not
    variance: Variances = Fraction(0)  # type: ignore[assignment]
    count_variance: Variances = Fraction(0)  # type: ignore[assignment]
    kind = "average"
    schema = of_kind(
        "query",
        kind,
        {**ASKED, "variance": VARIANCE, "measure": Measure.schema, "count_variance": VARIANCE},
        "A noisy sum over a noisy count.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        sums, counts = self.parts
        assign(self, variance=sums.variance, count_variance=counts.variance)

    @property
    def parts(self) -> tuple[Sum, Count]:
        """The two noisy numbers it is made of."""
        return (
            Sum(f"{self.name}.sum", self.groups, self.where, self.variance, self.measure),
            Count(f"{self.name}.count", self.groups, with_value(self.where, self.measure), self.count_variance),
        )

    def loss(self, record: Mapping[str, Any]) -> Fraction:
        return sum((part.loss(record) for part in self.parts), Fraction(0))

    def sentence(self) -> str:
        return f"{self.name}: AVG as " + " over ".join(part.sentence() for part in self.parts)

    def to_spec(self) -> dict[str, Any]:
        sums, counts = (part.to_spec() for part in self.parts)
        own = {"measure": sums["measure"], "variance": sums["variance"], "count_variance": counts["variance"]}
        return {**super().to_spec(), **own}


def variance_to_spec(variance: Fraction | tuple[Fraction, ...] | VarianceBy) -> Any:
    if isinstance(variance, VarianceBy):
        return variance.to_spec()
    return [str(v) for v in variance] if isinstance(variance, tuple) else str(variance)


def with_value(where: tuple[Condition, ...], measure: Measure) -> tuple[Condition, ...]:
    """The conditions, and that the measured value is present."""
    present = Condition(measure.column, "present")
    return where if present in where else (*where, present)


def variance_for(threshold: object, rho: object) -> Fraction:
    """Compute `T^2 / (2 rho)`: the variance at which a row of size T costs rho. Raises `InvalidProblem` for what is not
    positive.

    Parameters
    ----------
    threshold : T, in the unit of the measure.
    rho : of zCDP.

    >>> variance_for(50, "1/2")
    Fraction(2500, 1)
    """
    return rational(threshold, "threshold") ** 2 / (2 * rational(rho, "rho"))

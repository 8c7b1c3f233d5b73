"""Metrics of numbers and series of numbers that are exact rationals: ordered values and dates,
and the l1 and maximum distances."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from designer.base.arrays import Floats, real_array
from designer.base.checks import positive, shown
from designer.base.declared import assign
from designer.base.errors import InvalidProblem
from designer.base.schema import MATRIX, POSITIVE, VECTOR, Fragment, of_kind, one_of
from designer.problem.nearness import Nearness, Order
from designer.problem.relation import Block, Read
from designer.relations.metrics.metric import LARGEST_BUDGET, LEAST_BUDGET, Metric
from designer.relations.metrics.points import euclidean, require_measurable, straight

EPOCH = date(2000, 1, 1)
MICROSECONDS_A_DAY = 86_400_000_000
UNITS = ("unit", "day", "microsecond")


@dataclass(frozen=True, eq=False)
class Ordered(Metric):
    """d(i, j) = epsilon |v_i - v_j| / period on a line: neighbours in sorted order imply all other pairs.

    values: (N,); period: the difference that costs epsilon nats; unit: of a difference of 1, "unit", "day" or
    "microsecond".
    """

    values: Floats
    period: float
    epsilon: float
    unit: str = "unit"
    kind = "line"
    schema = of_kind(
        "relation",
        kind,
        {"values": VECTOR, "period": POSITIVE, "epsilon": POSITIVE, "unit": one_of("unit", "day", "microsecond")},
        "d(i, j) = epsilon |values[i] - values[j]| / period; dates count days or microseconds from the start of 2000.",
    )
    budget_error = 2.0**-50

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.unit not in UNITS:
            raise InvalidProblem(f"metric.unit: {self.unit!r} is unknown; use one of {list(UNITS)}.", value=self.unit)
        if not LEAST_BUDGET <= self.rate <= LARGEST_BUDGET:
            raise InvalidProblem(
                f"metric.period: {self.period} gives a budget of {self.rate} for a difference of 1; choose units between "
                f"{LEAST_BUDGET} and {LARGEST_BUDGET}."
            )
        require_measurable(self.values[:, None], self.rate)

    @property
    def rate(self) -> float:
        """Budget of a difference of 1, rounded."""
        return self.epsilon / self.period

    @property
    def size(self) -> int:
        return len(self.values)

    def rectangle(self, rows: slice, columns: slice) -> Floats:
        return np.abs(self.values[rows, None] - self.values[None, columns]) * self.rate

    @property
    def searched(self) -> None:
        return None

    @cached_property
    def nearness(self) -> Nearness | None:
        return straight(self.values[:, None], self.rate, "l1")

    def blocks(self) -> Iterator[Block]:
        order = np.argsort(self.values, kind="stable").astype(np.intp)
        yield Block(order[:-1], order[1:], np.abs(np.diff(self.values[order])) * self.rate)

    def largest_budget(self) -> float:
        return float(np.ptp(self.values)) * self.rate

    def exact_budget(self, left: int, right: int) -> Fraction:
        moved = abs(Fraction(float(self.values[left])) - Fraction(float(self.values[right])))
        return moved * Fraction(self.epsilon) / Fraction(self.period)

    def sentence(self) -> str:
        days = self.period / MICROSECONDS_A_DAY if self.unit == "microsecond" else self.period
        step = f"{days!r} of difference in value" if self.unit == "unit" else f"{days!r} days between them"
        return f"Any one record may change to any other value, with budget {self.epsilon!r} for every {step}."

    def to_spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "values": self.values, "period": self.period, "epsilon": self.epsilon, "unit": self.unit}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> Ordered:
        values = real_array(spec["values"], "metric.values", 1)
        return cls(values, positive(spec["period"], "metric.period"), positive(spec["epsilon"], "metric.epsilon"), spec["unit"])


COORDINATES: Mapping[str, Fragment] = {"points": MATRIX, "per_unit": POSITIVE}


@dataclass(frozen=True, eq=False)
class Chebyshev(Metric):
    """d(i, j) = per_unit * max_t |p_i(t) - p_j(t)|, an exact rational.

    places: (N, T), T at least 2. per_unit: nats for each unit.
    """

    places: Floats
    per_unit: float
    kind = "chebyshev"
    schema = of_kind("relation", kind, COORDINATES, "The largest of the differences of coordinates, two or more.")
    scipy_name: ClassVar[Literal["chebyshev", "cityblock"]] = "chebyshev"
    order: ClassVar[Order] = "linf"
    what: ClassVar[str] = "the largest difference at any position of the two series"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_measurable(self.places, self.per_unit)
        # A sum of T nonnegative rounded terms is off by at most T + 2 roundings, relative to itself.
        assign(self, budget_error=(self.places.shape[1] + 4) * 2.0**-52)

    @property
    def size(self) -> int:
        return len(self.places)

    def rectangle(self, rows: slice, columns: slice) -> Floats:
        from scipy.spatial.distance import cdist

        return np.asarray(cdist(self.places[rows], self.places[columns], self.scipy_name)) * self.per_unit

    @cached_property
    def nearness(self) -> Nearness | None:
        return straight(self.places, self.per_unit, self.order)

    def _moves(self, left: int, right: int) -> list[Fraction]:
        pairs = zip(self.places[left], self.places[right], strict=True)
        return [abs(Fraction(float(a)) - Fraction(float(b))) for a, b in pairs]

    def exact_budget(self, left: int, right: int) -> Fraction:
        return max(self._moves(left, right)) * Fraction(self.per_unit)

    def sentence(self) -> str:
        return (
            f"Any one record may change to any other value, with budget {self.per_unit!r} for every unit of {self.what} "
            f"({self.places.shape[1]} numbers each)."
        )

    def to_spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "points": self.places, "per_unit": self.per_unit}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> Metric:
        return chebyshev(spec["points"], spec["per_unit"])


@dataclass(frozen=True, eq=False)
class Manhattan(Chebyshev):
    """d(i, j) = per_unit * sum_t |p_i(t) - p_j(t)|, an exact rational.
    On a full grid use a product of lines: it drops implied pairs."""

    kind = "manhattan"
    schema = of_kind("relation", kind, COORDINATES, "The sum of the differences of coordinates, two or more.")
    scipy_name: ClassVar[Literal["chebyshev", "cityblock"]] = "cityblock"
    order: ClassVar[Order] = "l1"
    what: ClassVar[str] = "the sum of the differences at all positions"

    def exact_budget(self, left: int, right: int) -> Fraction:
        return sum(self._moves(left, right), Fraction(0)) * Fraction(self.per_unit)

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> Metric:
        return manhattan(spec["points"], spec["per_unit"])


def chebyshev(series: object, per_unit: float = 1.0) -> Metric:
    """d(i, j) = per_unit * max_t |s_i(t) - s_j(t)| for time series of shape (N, T): fine detail is hidden (DX section 5).

    One column is a line, where this is the straight distance. per_unit: nats for each unit. Raises `InvalidProblem` for no
    numbers, and differences beyond what floats tell.

    >>> chebyshev([[0.0, 1.0], [0.5, 3.0]], 2.0).exact_budget(0, 1)
    Fraction(4, 1)
    """
    return _on_coordinates(Chebyshev, series, per_unit)


def manhattan(points: object, per_unit: float = 1.0) -> Metric:
    """d(i, j) = per_unit * sum_t |p_i(t) - p_j(t)| for points of shape (N, T); one column is a line.

    per_unit and errors as for `chebyshev`.

    points: (N, T), a series for each element.

    >>> manhattan([[0.0, 1.0], [0.5, 3.0]], 2.0).exact_budget(0, 1)
    Fraction(5, 1)
    """
    return _on_coordinates(Manhattan, points, per_unit)


def _on_coordinates(kind: type[Chebyshev], points: object, per_unit: float) -> Metric:
    flat = isinstance(points, (list, tuple, np.ndarray)) and len(points) > 0 and np.ndim(points[0]) == 0
    if flat:
        return euclidean(points, per_unit)
    places, rate = real_array(points, "metric.points", 2), positive(per_unit, "metric.per_unit")
    return euclidean(places, rate) if places.shape[1] == 1 else kind(places, rate)


def line(values: Sequence[Any] | Floats, period: float | timedelta, epsilon: float) -> Ordered:
    """d(i, j) = epsilon |v_i - v_j| / period for ordered values (DX section 5): a date known within `period`, say.

    values: numbers, dates, datetimes, or either in ISO 8601; of one sort. For dates `period` is a number of days or a
    timedelta. Datetimes with a time zone are compared in universal time. epsilon: nats for each `period`. Raises
    `InvalidProblem` for values of several sorts, and a period or budget that is not positive.

    >>> line(["2020-01-31", "2020-02-29"], period=7, epsilon=0.5).exact_budget(0, 1)
    Fraction(29, 14)
    """
    numbers, unit = _ordinals(values)
    if isinstance(period, timedelta):
        if unit == "unit":
            raise InvalidProblem(
                f"metric.period: {period!r} is a length of time, the values are numbers; give a number.", value=period
            )
        period = period // timedelta(microseconds=1) / MICROSECONDS_A_DAY
    length = positive(period, "metric.period") * (MICROSECONDS_A_DAY if unit == "microsecond" else 1)
    return Ordered(numbers, length, positive(epsilon, "metric.epsilon"), unit)


def _ordinals(values: Any) -> tuple[Floats, str]:
    """The values as exact numbers, and their unit: days or microseconds since the start of 2000 for dates and datetimes."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "M":
        values = values.astype("M8[us]" if values.dtype != np.dtype("M8[D]") else values.dtype).tolist()
    listed = list(values) if isinstance(values, (list, tuple)) else []
    if not any(isinstance(value, (str, date)) for value in listed):
        return real_array(values, "metric.values", 1), "unit"
    moments = [_moment(value, i) for i, value in enumerate(listed)]
    sorts = {(isinstance(moment, datetime), getattr(moment, "tzinfo", None) is None) for moment in moments}
    if len(sorts) > 1:
        raise InvalidProblem("metric.values: mix dates, local times and times with a zone; give values of one sort.")
    if sorts == {(False, True)}:
        return real_array([(moment - EPOCH).days for moment in moments], "metric.values", 1), "day"
    start = datetime(2000, 1, 1, tzinfo=None if sorts == {(True, True)} else UTC)
    steps = [(moment - start) // timedelta(microseconds=1) for moment in moments]
    return real_array(steps, "metric.values", 1), "microsecond"


def _moment(value: object, i: int) -> date:
    """A date or a datetime, from itself or from ISO 8601."""
    if isinstance(value, date):
        return value
    try:
        text = str(value)
        return date.fromisoformat(text) if len(text) == 10 else datetime.fromisoformat(text)
    except ValueError:
        raise InvalidProblem(
            f"metric.values: entry {i} is {shown(value)}; give dates such as 2020-01-31, or numbers throughout."
        ) from None

"""Metrics of places: straight distance between points, and great-circle distance on the Earth,
with budgets rounded down exactly.

Pairs that others imply: docs/theory/foundations.md, section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from designer.base.arrays import Floats, real_array
from designer.base.checks import assign, positive, shown
from designer.base.display import counted
from designer.base.errors import InvalidProblem
from designer.base.schema import MATRIX, POSITIVE, VECTOR, Fragment, Named, list_of, number, of_kind, one_of
from designer.limits import LARGEST_METRIC_BUDGET
from designer.problem.budget_bounds import MOST_FEATURES, Nearness, Order, all_pairs_of
from designer.problem.relation import Block, Indices, Read
from designer.relations.metrics.metric import LEAST_BUDGET, Metric
from solvers.exact.balls import working_precision
from solvers.exact.rational import root_below

EARTH_RADIUS_KM = 6371.0088  # mean radius R1 of the IUGG
Straight = Literal["euclidean", "chebyshev", "cityblock"]
CHORD_ERROR = 1e-14  # of the chord between two points of the unit sphere: coordinates are within 2e-15


@dataclass(frozen=True, eq=False)
class CoordinateNorm(Metric):
    """A norm of the differences of coordinates, times a rate.

    places: (N, dimensions). per_unit: nats for each unit.
    """

    places: Floats
    per_unit: float
    scipy_name: ClassVar[Straight]
    order: ClassVar[Order]

    @property
    def size(self) -> int:
        return len(self.places)

    def rectangle(self, rows: slice, columns: slice) -> Floats:
        from scipy.spatial.distance import cdist

        return np.asarray(cdist(self.places[rows], self.places[columns], self.scipy_name)) * self.per_unit

    @cached_property
    def nearness(self) -> Nearness | None:
        return straight(self.places, self.per_unit, self.order)

    def to_spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "points": self.places, "per_unit": self.per_unit}


@dataclass(frozen=True, eq=False)
class Euclidean(CoordinateNorm):
    """d(i, j) = per_unit * ||p_i - p_j||_2, the exact budget rounded down by less than 2^-80 (relative)."""

    kind = "euclidean"
    schema = of_kind("relation", kind, {"points": MATRIX, "per_unit": POSITIVE})
    budget_error = 1e-13
    scipy_name = "euclidean"
    order = "l2"

    def exact_budget(self, left: int, right: int) -> Fraction:
        square = sum(
            (Fraction(float(a)) - Fraction(float(b))) ** 2 for a, b in zip(self.places[left], self.places[right], strict=True)
        )
        return root_below(Fraction(self.per_unit) ** 2 * square)

    def sentence(self) -> str:
        return (
            f"Any one record may change to any other point, with budget {self.per_unit!r} for every unit of the "
            f"Euclidean distance between the two ({counted(self.places.shape[1], 'coordinate')})."
        )

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> Metric:
        return euclidean(spec["points"], spec["per_unit"])


@dataclass(frozen=True, eq=False)
class Line(Euclidean):
    """Points on a line: neighbours in sorted order imply all other pairs, N - 1 instead of N(N-1)/2.

    places: (N, 1). per_unit: nats for each unit.
    """

    @property
    def searched(self) -> None:
        return None

    def blocks(self) -> Iterator[Block]:
        order = np.argsort(self.places[:, 0], kind="stable").astype(np.intp)
        # Not -0 between -0 and 0: a ratio to it would be -inf, and the best of all.
        budgets = np.abs(np.diff(self.places[order, 0])) * self.per_unit
        yield Block(order[:-1], order[1:], budgets)

    def largest_budget(self) -> float:
        return float(np.ptp(self.places)) * self.per_unit


LATITUDE_AND_LONGITUDE = Named(
    "latitude_and_longitude",
    {"type": "array", "minItems": 2, "maxItems": 2, "prefixItems": [number(least=-90, most=90), number(least=-360, most=360)]},
)


@dataclass(frozen=True, eq=False)
class GreatCircle(Metric):
    """d(i, j) = per_km * great-circle distance on the mean sphere; `places` holds latitude and longitude in degrees.

    The exact budget is the lower end of a ball-arithmetic enclosure of `2 R atan2(sqrt(h), sqrt(1 - h))`, h the haversine.
    """

    places: Floats
    per_km: float
    kind = "great_circle"
    schema = of_kind("relation", kind, {"points": list_of(LATITUDE_AND_LONGITUDE), "per_km": POSITIVE})
    budget_error = 1e-7  # attained near antipodes only, where the arc sine is ill-conditioned

    @property
    def size(self) -> int:
        return len(self.places)

    def rectangle(self, rows: slice, columns: slice) -> Floats:
        return self._arcs(self.places[rows].T[:, :, None], self.places[columns].T[:, None])

    def along(self, left: Indices, right: Indices) -> Floats:
        return self._arcs(self.places[left].T, self.places[right].T)

    def _arcs(self, here: Floats, there: Floats) -> Floats:
        """Budgets between latitudes and longitudes, (2, ...)."""
        # Differences before conversion to radians: near points would lose their digits otherwise.
        cosines = [np.sin(np.radians(90 - np.abs(ends[0]))) for ends in (here, there)]
        h = np.sin(np.radians(here[0] - there[0]) / 2) ** 2
        h += cosines[0] * cosines[1] * np.sin(np.radians(_turn(here[1], there[1])) / 2) ** 2
        return np.asarray(2 * EARTH_RADIUS_KM * self.per_km * np.arcsin(np.sqrt(np.minimum(h, 1.0))))

    @cached_property
    def nearness(self) -> Nearness | None:
        """Chords of the unit sphere, which grow with the arcs."""
        latitude, longitude = np.radians(self.places.T)
        ends = np.stack([np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)], axis=1)
        rate = EARTH_RADIUS_KM * self.per_km

        def arcs(gaps: Floats) -> Floats:
            chords = np.maximum(np.sqrt(sum_of_squares(gaps)) - CHORD_ERROR, 0.0)
            return np.asarray(2 * rate * np.arcsin(np.minimum(chords / 2, 1.0)))

        return Nearness(ends, lambda gaps, a, b: arcs(gaps), np.full(3, rate), all_pairs_of(self.size), off=self.budget_error)

    def exact_budget(self, left: int, right: int) -> Fraction:
        from flint import arb, fmpq

        with working_precision(160):
            (lat_a, lon_a), (lat_b, lon_b) = ([Fraction(float(v)) for v in self.places[i]] for i in (left, right))

            def sine(degrees: Fraction) -> Any:
                return arb(fmpq(degrees.numerator, degrees.denominator * 180)).sin_pi()

            h = sine((lat_a - lat_b) / 2) ** 2 + sine(90 - abs(lat_a)) * sine(90 - abs(lat_b)) * sine((lon_a - lon_b) / 2) ** 2
            if (lat_a, lon_a) == (lat_b, lon_b):
                return Fraction(0)
            # The lower end of h, as a number: the arc grows with it, and no ball may reach beyond 1 at antipodes.
            h = max(arb(0), min(arb(1), h.lower()))
            angle = 2 * arb.atan2(h.sqrt(), (1 - h).sqrt())
            low = (angle * arb(EARTH_RADIUS_KM) * arb(self.per_km)).lower().mid().man_exp()
        return max(Fraction(0), Fraction(int(low[0])) * Fraction(2) ** int(low[1]))

    def sentence(self) -> str:
        return (
            f"Any one record may change to any other place, with budget {self.per_km!r} for every kilometre of "
            f"great-circle distance between the two (sphere of radius {EARTH_RADIUS_KM} km)."
        )

    def to_spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "points": self.places, "per_km": self.per_km}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> GreatCircle:
        return great_circle(spec["points"], spec["per_km"])


def sum_of_squares(gaps: Floats) -> Floats:
    """(...,), from gaps (f, ...); the squares of which are floats."""
    total = gaps[0] * gaps[0]
    for gap in gaps[1:]:
        total += gap * gap
    return np.asarray(total)


LENGTHS: Mapping[Order, Callable[[Floats], Floats]] = {
    "l1": np.add.reduce,
    "l2": lambda gaps: np.sqrt(sum_of_squares(gaps)),
    "linf": np.maximum.reduce,
}


def straight(places: Floats, rate: float, order: Order) -> Nearness | None:
    """A norm of the differences of coordinates, (N, s), times a rate; None in very many dimensions, where boxes tell
    nothing."""
    if places.shape[1] > MOST_FEATURES:
        return None
    units, length = np.full(places.shape[1], rate), LENGTHS[order]
    return Nearness(places, lambda gaps, a, b: length(gaps) * rate, units, all_pairs_of(len(places)), ball=(order, rate))


def _turn(a: Floats, b: Floats) -> Floats:
    """`a - b` in degrees, less whole turns, within a few roundings relative to the result.

    Near a whole turn the rounding error of a - b is all that matters: Knuth's TwoDiff takes it back.
    """
    difference = a - b
    if np.abs(difference).max(initial=0.0) <= 180.0:
        return np.asarray(difference)
    back = difference - a
    error = (a - (difference - back)) - (b + back)
    return np.asarray((difference - 360.0 * np.rint(difference / 360.0)) + error)


def euclidean(points: object, per_unit: float = 1.0) -> Metric:
    """Set d(i, j) = per_unit * ||p_i - p_j||_2. Raises `InvalidProblem` for no numbers, and for coordinates so far apart or so
    near that floats do not tell.

    Parameters
    ----------
    points : (N, dimensions); a 1-D array is a line.
    per_unit : nats for each unit of the coordinates.

    >>> euclidean([[0.0, 0.0], [3.0, 4.0]], per_unit=0.5).exact_budget(0, 1)
    Fraction(5, 2)
    """
    if isinstance(points, (list, tuple, np.ndarray)) and np.ndim(points[0] if len(points) else 0) == 0:
        points = [[point] for point in points] or np.empty((0, 1))
    places = real_array(points, "metric.points", 2)
    rate = positive(per_unit, "metric.per_unit")
    require_measurable(places, rate)
    return (Line if places.shape[1] == 1 else Euclidean)(places, rate)


def require_measurable(places: Floats, rate: float) -> None:
    """Squares of coordinate differences, and budgets, must neither overflow nor lose digits by underflow.

    places: (N, s), in the unit of the coordinates. InvalidProblem elsewhere.
    """
    with np.errstate(over="ignore"):
        spread = float(np.ptp(places, axis=0).max())
        steps = np.diff(np.sort(places, axis=0), axis=0)
    closest = float(steps[steps > 0].min(initial=np.inf))
    if spread > 1e150 or spread * rate > 1e300 or closest < 1e-140 or closest * rate < 1e-290:
        raise InvalidProblem(
            f"metric.points: coordinates differ by {closest} to {spread}, times {rate} for each unit; choose units in which "
            "differences lie between 1e-140 and 1e150 and budgets between 1e-290 and 1e300."
        )


def great_circle(points: object, per_km: float = 1.0) -> GreatCircle:
    """Set d(i, j) = per_km * great-circle kilometres. Raises `InvalidProblem` for latitudes and longitudes that there are not.

    Parameters
    ----------
    points : (N, 2): latitude, longitude in degrees.
    per_km : nats for each kilometre on a sphere of the Earth's mean radius.

    >>> berlin_potsdam = great_circle([[52.52, 13.40], [52.40, 13.06]], per_km=0.1)
    >>> round(float(berlin_potsdam.exact_budget(0, 1)), 2)  # 26.6 km
    2.66
    """
    places = real_array(points, "metric.points", 2)
    if places.shape[1] != 2:
        raise InvalidProblem(f"metric.points: {places.shape[1]} columns; give latitude and longitude in degrees.")
    for column, name, limit in ((0, "latitude", 90.0), (1, "longitude", 360.0)):
        beyond = np.abs(places[:, column]) > limit
        if beyond.any():
            i = int(np.nonzero(beyond)[0][0])
            raise InvalidProblem(
                f"metric.points: {name} {places[i, column]} of row {i} is beyond {limit} degrees; latitude comes first."
            )
    rate = positive(per_km, "metric.per_km")
    require_measurable(places, rate)
    return GreatCircle(places, rate)


# Metrics of numbers and series of numbers that are exact rationals: ordered values and dates, and the l1 and maximum
# distances.


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
        if not LEAST_BUDGET <= self.rate <= LARGEST_METRIC_BUDGET:
            raise InvalidProblem(
                f"metric.period: {self.period} gives a budget of {self.rate} for a difference of 1; choose units between "
                f"{LEAST_BUDGET} and {LARGEST_METRIC_BUDGET}."
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

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> Ordered:
        values = real_array(spec["values"], "metric.values", 1)
        return cls(values, positive(spec["period"], "metric.period"), positive(spec["epsilon"], "metric.epsilon"), spec["unit"])


COORDINATES: Mapping[str, Fragment] = {"points": MATRIX, "per_unit": POSITIVE}


@dataclass(frozen=True, eq=False)
class Chebyshev(CoordinateNorm):
    """d(i, j) = per_unit * max_t |p_i(t) - p_j(t)|, an exact rational; places: (N, T), T at least 2."""

    kind = "chebyshev"
    schema = of_kind("relation", kind, COORDINATES, "The largest of the differences of coordinates, two or more.")
    scipy_name: ClassVar[Straight] = "chebyshev"
    order: ClassVar[Order] = "linf"
    what: ClassVar[str] = "the largest difference at any position of the two series"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_measurable(self.places, self.per_unit)
        # A sum of T nonnegative rounded terms is off by at most T + 2 roundings, relative to itself.
        assign(self, budget_error=(self.places.shape[1] + 4) * 2.0**-52)

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

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> Metric:
        return chebyshev(spec["points"], spec["per_unit"])


@dataclass(frozen=True, eq=False)
class Manhattan(Chebyshev):
    """d(i, j) = per_unit * sum_t |p_i(t) - p_j(t)|, an exact rational.
    On a full grid use a product of lines: it drops implied pairs."""

    kind = "manhattan"
    schema = of_kind("relation", kind, COORDINATES, "The sum of the differences of coordinates, two or more.")
    scipy_name = "cityblock"
    order = "l1"
    what: ClassVar[str] = "the sum of the differences at all positions"

    def exact_budget(self, left: int, right: int) -> Fraction:
        return sum(self._moves(left, right), Fraction(0)) * Fraction(self.per_unit)

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> Metric:
        return manhattan(spec["points"], spec["per_unit"])


def chebyshev(series: object, per_unit: float = 1.0) -> Metric:
    """Set d(i, j) = per_unit * max_t |s_i(t) - s_j(t)|: fine detail is hidden (DX section 5). Raises `InvalidProblem` for no
    numbers, and differences beyond what floats tell.

    Parameters
    ----------
    series : (N, T), a time series for each element; one column is a line, where this is the straight distance.
    per_unit : nats for each unit.

    >>> chebyshev([[0.0, 1.0], [0.5, 3.0]], 2.0).exact_budget(0, 1)
    Fraction(4, 1)
    """
    return _on_coordinates(Chebyshev, series, per_unit)


def manhattan(points: object, per_unit: float = 1.0) -> Metric:
    """Set d(i, j) = per_unit * sum_t |p_i(t) - p_j(t)|. Errors as for `chebyshev`.

    Parameters
    ----------
    points, per_unit : as for `chebyshev`.

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
    """Set d(i, j) = epsilon |v_i - v_j| / period for ordered values (DX section 5): a date known within `period`, say. Raises
    `InvalidProblem` for values of several sorts, and a period or budget that is not positive.

    Parameters
    ----------
    values
        numbers, dates, datetimes, or either in ISO 8601; of one sort. Those with a time zone are compared in universal
        time.
    period : in the unit of the values; for dates a number of days or a timedelta.
    epsilon : nats for each `period`.

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

"""dX metrics: a budget for every pair of universe elements (DX Definition 2), and the add/remove relation beside them.

The constructors at the end of the file are the public names. A metric need not be handed over as N x N numbers: points, attributes and
graphs generate their budgets in blocks, and drop the pairs that the triangle inequality of every norm implies (THEORY 2.8).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from designer.domain import Domain
from designer.errors import InvalidProblem
from designer.frozen import Floats, count, frozen, positive, real_array
from designer.relation import Block, Indices, Relation, rectangles
from designer.triangle import implied_pairs, require_triangle_inequality, shortest_paths
from solvers.rational import root_below

EARTH_RADIUS_KM = 6371.0088  # mean radius R1 of the IUGG


class Metric(Relation):
    """A relation in which one record changes from element i to element j, with budget d(i, j); all budgets finite unless said otherwise."""

    def rectangle(self, rows: slice, columns: slice) -> Floats:
        """Float budgets of `rows x columns`."""
        raise NotImplementedError

    def blocks(self) -> Iterator[Block]:
        for rows, columns in rectangles(self.size):
            budgets = np.array(self.rectangle(rows, columns), dtype=np.float64)
            # Only pairs i < j: the diagonal and the mirrored corner, both in the first columns, say nothing new.
            budgets[:, : len(budgets)][np.tri(len(budgets), dtype=bool)] = np.inf
            yield Block(np.arange(rows.start, rows.stop), np.arange(columns.start, columns.stop), budgets)

    def components(self) -> Indices:
        return np.zeros(self.size, dtype=np.intp)

    def distances(self) -> Floats:
        """The N x N budgets as floats."""
        return np.array(self.rectangle(slice(0, self.size), slice(0, self.size)))


@dataclass(frozen=True)
class Uniform(Metric):
    """d(i, j) = epsilon for i != j: ordinary differential privacy for the replacement of one record."""

    elements: int
    epsilon: float
    kind = "uniform"

    @property
    def size(self) -> int:
        return self.elements

    def rectangle(self, rows: slice, columns: slice) -> Floats:
        return np.where(np.arange(rows.start, rows.stop)[:, None] != np.arange(columns.start, columns.stop), self.epsilon, 0.0)

    def exact_budget(self, left: int, right: int) -> Fraction:
        return Fraction(self.epsilon) * (left != right)

    def words(self) -> str:
        return (
            f"One record may change from any universe element to any other, with budget {self.epsilon!r} whatever the two are."
        )

    def to_spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "elements": self.elements, "epsilon": self.epsilon}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Uniform:
        return uniform(spec["elements"], spec["epsilon"])


@dataclass(frozen=True, eq=False)
class Matrix(Metric):
    """d given entry by entry. `needed` lists the pairs that no others imply exactly (None: all); `given` is the matrix before its closure."""

    budgets: Floats
    needed: Indices | None
    given: Floats | None = None
    kind = "matrix"

    @property
    def size(self) -> int:
        return len(self.budgets)

    def rectangle(self, rows: slice, columns: slice) -> Floats:
        return self.budgets[rows, columns]

    def blocks(self) -> Iterator[Block]:
        if self.needed is None:
            yield from super().blocks()
        elif len(self.needed):
            left, right = self.needed.T
            yield Block(left, right, self.budgets[left, right])

    def components(self) -> Indices:
        return Relation.components(self)

    def largest_budget(self) -> float:
        return float(self.budgets[np.isfinite(self.budgets)].max(initial=0.0))

    def exact_budget(self, left: int, right: int) -> Fraction | None:
        budget = self.budgets[left, right]
        return Fraction(float(budget)) if np.isfinite(budget) else None

    def words(self) -> str:
        finite = self.budgets[np.isfinite(self.budgets) & ~np.eye(self.size, dtype=bool)]
        span = f"from {float(finite.min())!r} to {float(finite.max())!r}" if finite.size else "all infinite"
        closed = (
            ""
            if self.given is None
            else f" (the shortest-path closure of {int((self.given != self.budgets).sum()) // 2} lower entries)"
        )
        return f"One record may change from universe element i to j, with the budget d(i, j) of an explicit matrix, {span}{closed}."

    def to_spec(self) -> dict[str, Any]:
        closed = self.given is not None
        return {"kind": self.kind, "budgets": self.given if closed else self.budgets, "closure": closed}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Matrix:
        return from_matrix(spec["budgets"], closure=spec["closure"])


@dataclass(frozen=True, eq=False)
class Euclidean(Metric):
    """d(i, j) = per_unit * ||p_i - p_j||_2, the exact budget rounded down by less than 2^-80 (relative)."""

    places: Floats
    per_unit: float
    kind = "euclidean"
    budget_error = 1e-13

    @property
    def size(self) -> int:
        return len(self.places)

    def rectangle(self, rows: slice, columns: slice) -> Floats:
        from scipy.spatial.distance import cdist

        return np.asarray(cdist(self.places[rows], self.places[columns])) * self.per_unit

    def exact_budget(self, left: int, right: int) -> Fraction:
        square = sum(
            (Fraction(float(a)) - Fraction(float(b))) ** 2 for a, b in zip(self.places[left], self.places[right], strict=True)
        )
        return root_below(Fraction(self.per_unit) ** 2 * square)

    def words(self) -> str:
        return (
            f"One record may change from any point to any other, with budget {self.per_unit!r} for every unit of the straight distance "
            f"between the two ({self.places.shape[1]} coordinates)."
        )

    def to_spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "points": self.places, "per_unit": self.per_unit}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Metric:
        return euclidean(spec["points"], spec["per_unit"])


@dataclass(frozen=True, eq=False)
class Line(Euclidean):
    """Points on a line: neighbours in sorted order imply all other pairs, N - 1 instead of N(N-1)/2."""

    def blocks(self) -> Iterator[Block]:
        order = np.argsort(self.places[:, 0], kind="stable").astype(np.intp)
        budgets = np.diff(self.places[order, 0]) * self.per_unit
        yield Block(order[:-1], order[1:], budgets)

    def largest_budget(self) -> float:
        return float(np.ptp(self.places)) * self.per_unit


@dataclass(frozen=True, eq=False)
class GreatCircle(Metric):
    """d(i, j) = per_km * great-circle distance on the mean sphere; `places` holds latitude and longitude in degrees.

    The exact budget is the lower end of a ball-arithmetic enclosure of `2 R atan2(sqrt(h), sqrt(1 - h))`, h the haversine.
    """

    places: Floats
    per_km: float
    kind = "great_circle"
    budget_error = 1e-7  # attained near antipodes only, where the arc sine is ill-conditioned

    @property
    def size(self) -> int:
        return len(self.places)

    def rectangle(self, rows: slice, columns: slice) -> Floats:
        # Differences before conversion to radians: near points would lose their digits otherwise.
        latitude, longitude = self.places.T
        cosines = np.sin(np.radians(90 - np.abs(latitude)))
        h = np.sin(np.radians(latitude[rows, None] - latitude[columns]) / 2) ** 2
        turn = _turn(longitude[rows, None], longitude[columns])
        h += cosines[rows, None] * cosines[columns] * np.sin(np.radians(turn) / 2) ** 2
        return np.asarray(2 * EARTH_RADIUS_KM * self.per_km * np.arcsin(np.sqrt(np.minimum(h, 1.0))))

    def exact_budget(self, left: int, right: int) -> Fraction:
        from flint import arb, ctx, fmpq

        with ctx.workprec(160):
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

    def words(self) -> str:
        return (
            f"One record may change from any place to any other, with budget {self.per_km!r} for every kilometre of great-circle "
            f"distance between the two (sphere of radius {EARTH_RADIUS_KM} km)."
        )

    def to_spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "points": self.places, "per_km": self.per_km}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> GreatCircle:
        return great_circle(spec["points"], spec["per_km"])


def _turn(a: Floats, b: Floats) -> Floats:
    """`a - b` in degrees, less whole turns, within a few roundings relative to the result.

    Near a whole turn the rounding error of a - b is all that matters: Knuth's TwoDiff takes it back.
    """
    difference = a - b
    if difference.max() <= 180.0 and difference.min() >= -180.0:
        return np.asarray(difference)
    back = difference - a
    error = (a - (difference - back)) - (b + back)
    return np.asarray((difference - 360.0 * np.rint(difference / 360.0)) + error)


@dataclass(frozen=True)
class Hamming(Metric):
    """d(u, v) = sum over attributes of budget * [u_a != v_a] (DX section 5): pairs that differ in one attribute imply the rest."""

    domain: Domain
    budgets: tuple[float, ...]
    kind = "hamming"
    budget_error = 1e-14

    @property
    def size(self) -> int:
        return self.domain.size

    def rectangle(self, rows: slice, columns: slice) -> Floats:
        codes = np.unravel_index(np.arange(self.size), self.domain.shape)
        total = np.zeros((rows.stop - rows.start, columns.stop - columns.start))
        for code, budget in zip(codes, self.budgets, strict=True):
            total += np.where(code[rows, None] != code[None, columns], budget, 0.0)
        return total

    def blocks(self) -> Iterator[Block]:
        index = np.arange(self.size).reshape(self.domain.shape)
        for axis, budget in enumerate(self.budgets):
            lines = np.moveaxis(index, axis, 0).reshape(self.domain.shape[axis], -1)
            for value in range(1, len(lines)):
                left, right = np.tile(lines[value], value), lines[:value].ravel()
                yield Block(left, right, np.full(len(left), budget))

    def components(self) -> Indices:
        return Relation.components(self)

    def largest_budget(self) -> float:
        changed = zip(self.budgets, self.domain.shape, strict=True)
        return float(sum(budget for budget, values in changed if values > 1 and np.isfinite(budget)))

    def exact_budget(self, left: int, right: int) -> Fraction | None:
        codes = np.unravel_index([left, right], self.domain.shape)
        changed = [budget for code, budget in zip(codes, self.budgets, strict=True) if code[0] != code[1]]
        return None if any(np.isinf(changed)) else sum(map(Fraction, changed), Fraction(0))

    def words(self) -> str:
        listed = ", ".join(f"{name} {budget!r}" for name, budget in zip(self.domain.attributes, self.budgets, strict=True))
        return (
            f"One record may change in any of its attributes; the budget is the sum over the changed attributes of: {listed}."
        )

    def to_spec(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "attributes": list(self.domain.attributes),
            "values": [list(v) for v in self.domain.values],
            "budgets": list(self.budgets),
        }

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Hamming:
        domain = Domain(tuple(spec["attributes"]), tuple(tuple(v) for v in spec["values"]))
        return hamming(domain, dict(zip(spec["attributes"], spec["budgets"], strict=True)))


@dataclass(frozen=True, eq=False)
class AddRemove(Relation):
    """A record of element i appears or disappears, with budget epsilon_i. The number of records is protected too."""

    epsilons: Floats
    kind = "add_remove"

    @property
    def size(self) -> int:
        return len(self.epsilons)

    def points(self, columns: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.concatenate([columns, np.zeros_like(columns[:1])])

    def blocks(self) -> Iterator[Block]:
        yield Block(np.arange(self.size), np.full(self.size, self.size), np.array(self.epsilons))

    def exact_budget(self, left: int, right: int) -> Fraction | None:
        epsilon = float(self.epsilons[min(left, right)])
        return None if np.isinf(epsilon) else Fraction(epsilon)

    def pair_words(self, left: int, right: int, elements: Sequence[str]) -> str:
        return f"a record of {elements[min(left, right)]} appears"

    def words(self) -> str:
        low, high = float(self.epsilons.min()), float(self.epsilons.max())
        budget = (
            f"budget {low!r}" if low == high else f"a budget of its own for each universe element, from {low!r} to {high!r}"
        )
        return f"One record may appear or disappear, with {budget}."

    def to_spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "epsilons": self.epsilons}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> AddRemove:
        return add_remove(len(spec["epsilons"]), spec["epsilons"])


def uniform(n: int, epsilon: float) -> Uniform:
    """d(i, j) = epsilon for all i != j among n elements: ordinary epsilon-DP, replace one."""
    return Uniform(count(n, "n"), positive(epsilon, "epsilon"))


def from_matrix(d: object, *, closure: bool = False) -> Matrix:
    """An explicit metric: square, symmetric, zero diagonal, nonnegative, infinity for unprotected pairs, triangle inequality.

    With `closure=True` a matrix that breaks the triangle inequality is replaced by its shortest-path closure, which is what any
    mechanism that honours the given budgets guarantees anyway: a change i -> k -> j costs at most d(i, k) + d(k, j).
    Errors name the offending entry. Time O(N^3) for the triangle inequality.
    """
    given = real_array(d, "metric.matrix", 2, allow_inf=True)
    _require_semimetric(given)
    budgets = np.minimum(given, given.T)
    if closure:
        closed, lowered = shortest_paths(budgets)
        left, right = np.nonzero(np.triu(~lowered & np.isfinite(closed), 1))
        return Matrix(frozen(closed), frozen(np.stack([left, right], axis=1)), given)
    require_triangle_inequality(budgets)
    return Matrix(frozen(budgets), implied_pairs(budgets))


def _require_semimetric(d: Floats) -> None:
    """Square, zero diagonal, nonnegative, symmetric up to rounding."""
    if d.shape[0] != d.shape[1]:
        raise InvalidProblem(f"metric.matrix: has shape {d.shape}; give a square matrix, one row and column for each element.")
    if d.diagonal().any():
        i = int(np.nonzero(d.diagonal())[0][0])
        raise InvalidProblem(
            f"metric.matrix: d({i}, {i}) = {d[i, i]} on the diagonal; an element is at distance 0 from itself."
        )
    if (d < 0).any():
        i, j = (int(v) for v in np.argwhere(d < 0)[0])
        raise InvalidProblem(f"metric.matrix: d({i}, {j}) = {d[i, j]} is negative; a budget is at least 0.")
    unequal = ~np.isclose(d, d.T, rtol=1e-9, atol=0.0)
    if unequal.any():
        i, j = (int(v) for v in np.argwhere(unequal)[0])
        raise InvalidProblem(f"metric.matrix: d({i}, {j}) = {d[i, j]} but d({j}, {i}) = {d[j, i]}; make the matrix symmetric.")


def euclidean(points: object, per_unit: float = 1.0) -> Metric:
    """d(i, j) = per_unit * ||p_i - p_j||_2 for `points` of shape (N, dimensions); a 1-D array is a line."""
    on_a_line = isinstance(points, (list, tuple, np.ndarray)) and np.ndim(points[0] if len(points) else 0) == 0
    places = real_array(np.reshape(np.asarray(points), (-1, 1)) if on_a_line else points, "metric.points", 2)
    rate = positive(per_unit, "metric.per_unit")
    _require_measurable(places, rate)
    return (Line if places.shape[1] == 1 else Euclidean)(places, rate)


def _require_measurable(places: Floats, rate: float) -> None:
    """Squares of coordinate differences, and budgets, must neither overflow nor lose digits by underflow."""
    with np.errstate(over="ignore"):
        spread = float(np.ptp(places, axis=0).max())
        steps = np.diff(np.sort(places, axis=0), axis=0)
    closest = float(steps[steps > 0].min(initial=np.inf))
    if spread > 1e150 or spread * rate > 1e300 or closest < 1e-140 or closest * rate < 1e-290:
        raise InvalidProblem(
            f"metric.points: coordinates differ by {closest} to {spread}, times {rate} for each unit; choose units in which differences lie "
            "between 1e-140 and 1e150 and budgets between 1e-290 and 1e300."
        )


def great_circle(points: object, per_km: float = 1.0) -> GreatCircle:
    """d(i, j) = per_km * great-circle kilometres, for `points` of shape (N, 2): latitude, longitude in degrees."""
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
    _require_measurable(places, rate)
    return GreatCircle(places, rate)


def hamming(domain: Domain, budgets: Mapping[str, float] | Sequence[float]) -> Hamming:
    """d(u, v) = sum_a budgets[a] * [u_a != v_a] over the attributes of `domain`; an infinite budget leaves an attribute unprotected."""
    if isinstance(budgets, Mapping):
        if set(budgets) != set(domain.attributes):
            raise InvalidProblem(
                f"budgets: given for {sorted(budgets)}, the attributes are {sorted(domain.attributes)}; name each once."
            )
        budgets = [budgets[name] for name in domain.attributes]
    if len(budgets) != len(domain.attributes):
        raise InvalidProblem(f"budgets: {len(budgets)} for {len(domain.attributes)} attributes; give one for each.")
    return Hamming(
        domain, tuple(positive(b, f"budgets[{a}]", allow_inf=True) for a, b in zip(domain.attributes, budgets, strict=True))
    )


def add_remove(n: int, epsilon: float | Sequence[float]) -> AddRemove:
    """One record appears or disappears; `epsilon` for all elements or a sequence with one for each (infinite: unprotected)."""
    size = count(n, "n")
    if np.ndim(epsilon) == 0:
        return AddRemove(frozen(np.full(size, positive(epsilon, "epsilon"))))
    epsilons = real_array(epsilon, "epsilon", 1, allow_inf=True)
    if len(epsilons) != size:
        raise InvalidProblem(f"epsilon: {len(epsilons)} budgets for {size} elements; give one for each.")
    return AddRemove(frozen(np.array([positive(e, f"epsilon[{i}]", allow_inf=True) for i, e in enumerate(epsilons)])))

"""Exact rational vectors, held as primitive integer rows over one denominator each, and their products compared with one.

How comparisons stay exact and fast: docs/theory/hull.md, "Points and comparisons".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from solvers.limits import LARGEST_COORDINATE

if TYPE_CHECKING:
    from flint import fmpz_mat


ExactIntegers = NDArray[np.object_]
PAIRS = 2_000_000  # of products held at a time


@dataclass(frozen=True, eq=False)
class Points:
    """M rational row vectors of R^s: row m is `numerators[m] / denominators[m]`, `gcd(numerators[m], denominators[m]) = 1`.

    numerators (M, s) and denominators (M,) are object arrays of Python integers, denominators positive.

    >>> p = Points.of([["1/2", 1], [3, "-2/3"]])
    >>> p.numerators.tolist(), p.denominators.tolist()
    ([[1, 2], [9, -2]], [2, 3])
    """

    numerators: ExactIntegers
    denominators: ExactIntegers

    def __post_init__(self) -> None:
        for array in (self.numerators, self.denominators):
            array.setflags(write=False)

    @classmethod
    def from_integers(cls, numerators: ArrayLike, denominators: ArrayLike = 1) -> Points:
        """Rows `numerators[m] / denominators[m]`, reduced; (M, s) integers over one positive integer a row (or one for all)."""
        rows = _integers("numerators", numerators)
        if rows.ndim != 2 or rows.shape[1] == 0:
            raise ValueError(f"numerators: shape {rows.shape} is not (M, s) with s >= 1; give one row a point")
        below = np.broadcast_to(_integers("denominators", denominators), rows.shape[:1])
        if any(d <= 0 for d in below):
            raise ValueError("denominators: every one must be a positive integer; move the sign to the numerators")
        common = np.gcd(np.gcd.reduce(rows, axis=1), below) if len(rows) else below
        return cls(rows // common[:, None], below // common)

    @classmethod
    def of(cls, rows: Iterable[Iterable[Fraction | int | float | str]]) -> Points:
        """Rows of Fractions, integers, strings like "1/3", or floats (each float is the dyadic rational it stands for)."""
        try:
            exact = [[Fraction(x) for x in row] for row in rows]
        except (ValueError, OverflowError, ZeroDivisionError) as error:
            raise ValueError(f"rows: {error}; every entry must be a finite rational number") from error
        if not exact or len({len(row) for row in exact}) != 1:
            raise ValueError("rows: at least one point is needed, all of the same length")
        below = [math.lcm(*(x.denominator for x in row)) for row in exact]
        above = [[x.numerator * (d // x.denominator) for x in row] for row, d in zip(exact, below, strict=True)]
        return cls.from_integers(above, below)

    def __len__(self) -> int:
        return len(self.denominators)

    @property
    def dimension(self) -> int:
        """s, the number of coordinates."""
        return int(self.numerators.shape[1])

    @cached_property
    def floats(self) -> NDArray[np.float64]:
        """The nearest double to every entry, (M, s), read-only; Python divides integers with correct rounding."""
        try:
            values = np.asarray(self.numerators / self.denominators[:, None], dtype=np.float64)
        except OverflowError:
            values = np.full(self.numerators.shape, np.inf)
        if not np.all(np.abs(values) <= LARGEST_COORDINATE):
            raise ValueError(f"points: an entry exceeds {LARGEST_COORDINATE:g} in absolute value; rescale the points")
        values.setflags(write=False)
        return values

    def take(self, rows: Sequence[int] | NDArray[np.intp] | NDArray[np.bool_]) -> Points:
        """The chosen rows: n indices (n,) or a mask (M,)."""
        return Points(self.numerators[rows], self.denominators[rows])

    def join(self, other: Points) -> Points:
        """The rows of both, one after the other."""
        return Points(np.vstack([self.numerators, other.numerators]), np.concatenate([self.denominators, other.denominators]))

    def scaled(self, factor: Fraction) -> Points:
        """Every row times one positive rational."""
        return Points.from_integers(self.numerators * factor.numerator, self.denominators * factor.denominator)

    def stretched(self, exponents: NDArray[np.int64]) -> Points:
        """Column j times `2^exponents[j]`, exactly; exponents (s,)."""
        least = min(0, int(exponents.min()))
        factors = np.array([1 << int(e) - least for e in exponents], dtype=object)
        return Points.from_integers(self.numerators * factors, self.denominators * (1 << -least))

    def fractions(self) -> list[tuple[Fraction, ...]]:
        """The rows as tuples of Fractions."""
        return [tuple(Fraction(x, d) for x in row) for row, d in zip(self.numerators, self.denominators, strict=True)]

    def keys(self) -> list[tuple[int, ...]]:
        """One hashable tuple (denominator, numerators...) a row; equal if and only if the rows are equal."""
        return [(d, *row) for d, row in zip(self.denominators.tolist(), self.numerators.tolist(), strict=True)]


def _integers(name: str, values: ArrayLike) -> ExactIntegers:
    """An object array of Python integers; floats are refused because their rounding would go unnoticed.

    Lists are taken as objects: numpy would make floats of integers on both sides of 2^63.
    """
    array = values if isinstance(values, np.ndarray) else np.array(values, dtype=object)
    if array.dtype.kind in "iu":
        return array.astype(object)
    if array.dtype.kind != "O" or not all(isinstance(x, (int, np.integer)) for x in array.flat):
        raise ValueError(f"{name}: integers are needed, got dtype {array.dtype}; use Points.of for fractions or floats")
    return np.array([int(x) for x in array.flat], dtype=object).reshape(array.shape)


def unit_exponents(sizes: NDArray[np.float64]) -> NDArray[np.int64]:
    """Exponents e, (s,), with `sizes[j] / 2^e[j]` of order one, sizes those of s coordinates;
    0 where all are within 2^10 of each other.

    >>> unit_exponents(np.array([3.0, 1.0])).tolist(), unit_exponents(np.array([1e9, 1.0])).tolist()
    ([0, 0], [30, 1])
    """
    exponents = np.where(sizes > 0, np.frexp(sizes)[1], 0)
    moving = exponents[sizes > 0]
    return np.asarray(exponents if moving.size and np.ptp(moving) > 10 else 0 * exponents, dtype=np.int64)


def distinct_rows(points: Points) -> NDArray[np.intp]:
    """Nonzero rows, and of several on one line through the origin only the longest: the others are not vertices of conv{+-p}.

    >>> distinct_rows(Points.of([[1, 1], [-2, -2], [0, 0], [0, 3], [0, -3]])).tolist()
    [1, 3]
    """
    longest: dict[tuple[int, ...], tuple[Fraction, int]] = {}
    for row, (below, *above) in enumerate(points.keys()):
        if (common := math.gcd(*above)) == 0:
            continue
        sign = 1 if next(x for x in above if x) > 0 else -1
        ray, length = tuple(sign * x // common for x in above), Fraction(common, below)
        if ray not in longest or longest[ray][0] < length:
            longest[ray] = (length, row)
    return np.array([row for _, row in longest.values()], np.intp)


def float_error(facets: Points, points: Points) -> NDArray[np.float64]:
    """A bound (F, M) on the error of `facets.floats @ points.floats.T` against the exact products.

    Two conversions and a sum of s products in any order lose at most `((1 + u)^(s+2) - 1) |a|.|p|`, u = 2^-53; the factor
    (s + 4) 2^-52 covers that, the rounding of `|a|.|p|` itself, and (through the maximum with one) underflow.
    """
    magnitude = np.abs(facets.floats) @ np.abs(points.floats).T
    return np.asarray((facets.dimension + 4) * 2.0**-52 * np.maximum(magnitude, 1.0))


def against_one(facets: Points, points: Points) -> NDArray[np.int8]:
    """Exact position of every product a.p, (F, M): 0 inside (-1, 1); +1, -1 equal to that; +2, -2 beyond.

    Doubles decide where the error bound allows it, integers decide the rest, so that the answer is exact.

    >>> against_one(Points.of([[1, 0]]), Points.of([["1/3", 5], [-1, 7], [2, 0]])).tolist()
    [[0, -1, 2]]
    """
    signs = np.zeros((len(facets), len(points)), np.int8)
    step = max(1, PAIRS // max(1, len(points)))
    for start in range(0, len(facets), step):
        some = facets.take(np.arange(start, min(start + step, len(facets))))
        products, error = some.floats @ points.floats.T, float_error(some, points)
        block = np.where(np.abs(products) > 1.0, 2, 0).astype(np.int8) * np.sign(products).astype(np.int8)
        rows, columns = np.nonzero(np.abs(np.abs(products) - 1.0) <= error)
        block[rows, columns] = _exact_positions(some, points, rows, columns)
        signs[start : start + step] = block
    return signs


def outside(facets: Points, points: Points) -> NDArray[np.intp]:
    """Rows p with `|a.p| > 1` for some facet a, decided exactly; each point is compared with every facet."""
    found = []
    step = max(1, PAIRS // max(1, len(facets)))
    for start in range(0, len(points), step):
        some = points.take(np.arange(start, min(start + step, len(points))))
        radius = np.linalg.norm(some.floats, axis=1) * np.linalg.norm(facets.floats, axis=1).max()
        doubtful = np.flatnonzero(radius > 1.0 - 1e-9)  # Cauchy-Schwarz settles the others
        signs = against_one(facets, some.take(doubtful)) if len(doubtful) else np.zeros((1, 0))
        found.append(start + doubtful[np.any(np.abs(signs) == 2, axis=0)])
    return np.concatenate(found) if found else np.zeros(0, np.intp)


def _exact_positions(facets: Points, points: Points, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> NDArray[np.int8]:
    """`against_one` of the listed pairs in integers: a.p = c.n / (e d), so c.n is compared with e d."""
    if not len(rows):
        return np.zeros(0, np.int8)
    c, n, e, d = facets.numerators, points.numerators, facets.denominators, points.denominators
    if max(_peak(c) * _peak(n) * facets.dimension, _peak(e) * _peak(d)) < 2**62:
        c, n, e, d = (x.astype(np.int64) for x in (c, n, e, d))  # type: ignore[assignment]
    products = np.asarray((c[rows] * n[columns]).sum(axis=1))
    ones = e[rows] * d[columns]
    size = np.abs(products)
    position = (size >= ones).astype(np.int8) + (size > ones).astype(np.int8)
    return np.asarray(np.where(products > 0, position, -position), np.int8)


def _peak(values: ExactIntegers) -> int:
    return max((abs(int(x)) for x in values.flat), default=0)


# The linear span of exact points and their coordinates in it.
#
# Why a hull is built in its own span: docs/theory/hull.md.


ROWS = 2000  # reduced together


def span_coordinates(points: Points) -> tuple[Points, Points]:
    """`(basis, coordinates)` with `points = coordinates @ basis` exactly; basis (rank, s), coordinates (M, rank).

    The basis is the reduced row echelon form: it is the identity on its pivot columns, hence the coordinates of a point are its
    own entries in those columns, with no growth of numerators or denominators.

    >>> basis, coordinates = span_coordinates(Points.of([[1, -1, 0], [0, 1, -1], [1, 0, -1]]))
    >>> basis.numerators.tolist(), coordinates.numerators.tolist()
    ([[1, 0, -1], [0, 1, -1]], [[1, -1], [0, 1], [1, 0]])
    """
    basis = row_echelon(points.numerators)
    if len(basis) == 0:
        raise ValueError("points: every row is zero, so that there is no span; drop the zero rows")
    pivots = [next(j for j, x in enumerate(row) if x) for row in basis.numerators]
    return basis, Points.from_integers(points.numerators[:, pivots], points.denominators)


def row_echelon(rows: ExactIntegers) -> Points:
    """Reduced row echelon form over the rationals of an integer matrix (m, n): (rank, n), zero rows dropped.

    `ROWS` rows are reduced at a time, exactly.
    """
    from flint import fmpz_mat

    reduced: list[list[int]] = []
    below: list[int] = []
    width = rows.shape[1]
    queue = iter(rows.tolist())
    while (block := list(islice(queue, ROWS))) and len(reduced) < width:
        stacked = reduced + block
        form, common, rank = fmpz_mat(len(stacked), width, [x for row in stacked for x in row]).rref()
        reduced = [[int(form[i, j]) for j in range(width)] for i in range(rank)]
        below = [int(common)] * rank
    if not reduced:
        return Points(np.zeros((0, width), object), np.zeros(0, object))
    signs = [1 if d > 0 else -1 for d in below]
    return Points.from_integers([[s * x for x in row] for s, row in zip(signs, reduced, strict=True)], [abs(d) for d in below])


# Hermite and Smith normal forms of integer matrices of any shape, with the unimodular matrices that produce them.
#
# What the forms are for: docs/theory/lattice.md, section 0.


REDUCED_AT_ONCE = 256  # rows


def hermite_form(matrix: ArrayLike) -> tuple[ExactIntegers, ExactIntegers]:
    """`(H, T)` with `H = T A` in row echelon form, positive pivots, entries above a pivot in [0, pivot), and T unimodular.

    >>> hermite_form([[2, 3], [4, 1]])[0].tolist()
    [[2, 3], [0, 5]]
    """
    rows = integer_matrix("matrix", matrix)
    if not rows.size:
        return rows, np.eye(len(rows), dtype=int).astype(object)
    form, transform = as_matrix(rows).hnf(True)
    return entries(form), entries(transform)


def is_combination(vector: Sequence[int], rows: ArrayLike) -> bool:
    """Whether a vector (d,) is a sum of whole multiples of the rows (n, d).

    >>> is_combination([4, 6], [[2, 3], [0, 5]]), is_combination([2, 4], [[2, 3], [0, 5]])
    (True, False)
    """
    given = integer_matrix("rows", rows)
    form = given[:0]
    for start in range(0, len(given), REDUCED_AT_ONCE):
        form = entries(as_matrix(np.concatenate([form, given[start : start + REDUCED_AT_ONCE]])).hnf())
        form = form[[any(row) for row in form]]
    rest = [int(entry) for entry in vector]
    for row in form.tolist():
        pivot = next(k for k, entry in enumerate(row) if entry)
        times = rest[pivot] // row[pivot]
        rest = [a - times * b for a, b in zip(rest, row, strict=True)]
    return not any(rest)


def smith_form(matrix: ArrayLike) -> tuple[int, ...]:
    """The invariant factors `d_1 | d_2 | ... | d_r` of A, r its rank.

    All are 1 exactly when the lattice of the rows contains every integer point of their span.

    >>> smith_form([[2, 0], [0, 3]]), smith_form([[1, 1], [1, 1]])
    ((1, 6), (1,))
    """
    rows = integer_matrix("matrix", matrix)
    if not rows.size:
        return ()
    form = as_matrix(rows).snf()
    factors = (abs(int(form[i, i])) for i in range(min(rows.shape)))
    return tuple(factor for factor in factors if factor)


def smith_transforms(matrix: ArrayLike) -> tuple[ExactIntegers, ExactIntegers, ExactIntegers]:
    """`(U, D, V)` with `U A V = D` diagonal and U, V unimodular; the last d - rank columns of V are a basis of the kernel.

    Row and column Hermite forms in turn end at a diagonal matrix, since each round divides or keeps every pivot; the diagonal
    is that of the Smith form up to the divisibility of its entries, which no use here needs.
    """
    form = integer_matrix("matrix", matrix)
    left, right = (np.eye(n, dtype=int).astype(object) for n in form.shape)
    while True:  # one round at least: it moves the zeros of a diagonal matrix to its end
        form, step = hermite_form(form)
        left = step @ left
        transposed, step = hermite_form(form.T)
        form, right = transposed.T, right @ step.T
        if not _off_diagonal(form):
            return left, form, right


def _off_diagonal(form: ExactIntegers) -> bool:
    return any(x and i != j for (i, j), x in np.ndenumerate(form))


def integer_matrix(name: str, values: ArrayLike, width: int | None = None) -> ExactIntegers:
    """A new (n, d) object array of Python integers; whole floats are refused like all others,
    since their rounding is unknown."""
    array = values if isinstance(values, np.ndarray) else np.asarray(values, dtype=object)  # not floats for 2^63 beside -1
    if array.ndim != 2 or (width is not None and array.shape[1] != width):
        wanted = "rows of equal length" if width is None else f"rows of length {width}"
        raise ValueError(f"{name}: shape {array.shape}; give {wanted}.")
    if array.size and array.dtype.kind not in "iu" and not _whole(array):
        raise ValueError(f"{name}: entries of type {array.dtype} are not all integers; round them before, knowingly.")
    flat = [int(x) for x in array.flat]
    result = np.empty(len(flat), dtype=object)
    result[:] = flat
    return result.reshape(array.shape)


def _whole(array: ExactIntegers) -> bool:
    return array.dtype.kind == "O" and all(isinstance(x, (int, np.integer)) and not isinstance(x, bool) for x in array.flat)


def as_matrix(rows: ExactIntegers) -> fmpz_mat:
    """The same matrix (m, n) of integers in FLINT."""
    from flint import fmpz_mat

    return fmpz_mat(int(rows.shape[0]), int(rows.shape[1]), rows.ravel().tolist())


def entries(matrix: fmpz_mat) -> ExactIntegers:
    """The same matrix as an object array of Python integers."""
    values = np.empty(matrix.nrows() * matrix.ncols(), dtype=object)
    values[:] = [int(x) for x in matrix.entries()]
    return values.reshape(matrix.nrows(), matrix.ncols())

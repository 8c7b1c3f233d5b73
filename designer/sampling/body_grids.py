"""The norm `|F z|_2` of an ellipsoid, for exact sampling on the integer grid.

Derivation: docs/theory/sampling.md, section 3.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import accumulate, chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, distinct, for_each
from designer.base.checks import assign
from designer.base.errors import InvalidProblem
from designer.base.progress import announce
from designer.sampling import integer_samplers
from designer.sampling import integer_samplers as continuous
from designer.sampling.round_and_reject import ROUND_UP, NearestPlane, NormLaw
from solvers.exact.balls import precision, rational_ball, working_precision
from solvers.exact.points import Points
from solvers.polytopes.triangulation import Labels, determinants, grouped_labels

if TYPE_CHECKING:
    from flint import arb, arb_mat, fmpq, fmpq_mat

    from designer.sampling.integer_samplers import LazyUniform


SLOW_ELIMINATION = 80  # columns: about a second


@dataclass(frozen=True)
class EllipsoidGrid:
    """`||z|| = |F z|_2` on Z^s, F (K, s) of rank s, of exact rationals (floats are the dyadic numbers that they are).

    For the ellipsoid `{x : x' W x <= 1}` any F with `F' F = W` serves. Draws: `y = F^-1 r omega` with a Gamma(s) radius and a
    uniform direction (exponential fall-off), or `F^-1` times standard normals (Gaussian). Where K > s, as for a lattice whose
    basis F holds as columns, `(D^1/2 U)^-1` of the exact factorisation `F' F = U' D U` takes the place of F^-1.
    Entries are 0 or within 2^+-500.

    >>> from designer.sampling.entropy import SeededEntropy
    >>> from designer.sampling.round_and_reject import RoundAndReject
    >>> noise = RoundAndReject(EllipsoidGrid([[0.5, 0.25], [0, 0.5]], NormLaw.GAUSSIAN))
    >>> noise.draw(3, SeededEntropy(1)).shape
    (3, 2)
    """

    factor: Sequence[Sequence[Fraction | float]]
    falloff: NormLaw = NormLaw.EXPONENTIAL
    share = 1.0
    spread: Floats = field(init=False, repr=False, compare=False)
    _floats: Floats = field(init=False, repr=False, compare=False)
    _inverse: Floats = field(init=False, repr=False, compare=False)
    _exact: Callable[[], fmpq_mat] = field(init=False, repr=False, compare=False)
    _triangular: Callable[[], tuple[fmpq_mat, list[fmpq]]] = field(init=False, repr=False, compare=False)
    _inverse_at: Callable[[int], arb_mat] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        factor = tuple(tuple(map(_exactly, row)) for row in self.factor)
        lengths = sorted({len(row) for row in factor})
        if len(lengths) != 1 or not 0 < lengths[0] <= len(factor):
            raise InvalidProblem(f"factor: {len(factor)} rows of lengths {lengths}; give at least as many rows as columns.")
        if any(entry and not Fraction(1, 2**500) < abs(entry) < 2**500 for entry in distinct(chain.from_iterable(factor))):
            raise InvalidProblem("factor: an entry is beyond 2^500 or nearer to 0 than 2^-500; rescale the grid.")
        assign(
            self,
            factor=factor,
            _exact=cache(self._exact_factor),
            _triangular=cache(self._eliminated),
            _inverse_at=cache(self._inverse_of_precision),
        )
        floats = np.array(for_each(float, list(chain.from_iterable(factor)))).reshape(len(factor), -1)
        inverse = self._rounded_inverse()
        spread = np.sqrt((inverse**2).sum(axis=1)) * ROUND_UP  # Cauchy and Schwarz
        assign(self, _floats=floats, _inverse=inverse, spread=spread)

    @property
    def dimension(self) -> int:
        """s."""
        return len(self.factor[0])

    @property
    def word_count(self) -> int:
        """s words for the Gamma radius of an exponential fall-off, and those of s normals."""
        gamma = self.dimension if self.falloff is NormLaw.EXPONENTIAL else 0
        return gamma + continuous.normal_words(self.dimension)

    @property
    def log_volume(self) -> float:
        """`log(pi^(s/2) / Gamma(s/2 + 1) / sqrt(det F'F))`."""
        s = self.dimension
        return s / 2 * math.log(math.pi) - math.lgamma(s / 2 + 1) + float(np.linalg.slogdet(self._inverse)[1])

    def largest(self, widths: Floats, plane: NearestPlane | None = None) -> float:
        """The smaller of two bounds: columns added up, and `sqrt(s) |F W|_2` with `|.|_2^2 <= |.|_1 |.|_inf`.

        Seen through a plane that suits it, F has nearly orthogonal columns: `|G w|_2^2 <= |w|' |G' G| |w|` is sharp then.
        widths: (s,).
        """
        if plane is not None:
            seen, error = plane.through(self._floats)
            length = math.sqrt(float(widths @ np.abs(seen.T @ seen) @ widths))
            return (length + float(np.linalg.norm(error @ widths))) * ROUND_UP
        scaled = np.abs(self._floats) * widths
        spectral = np.sqrt(scaled.sum(axis=0).max() * scaled.sum(axis=1).max())
        return float(min(np.sqrt((scaled**2).sum(axis=0)).sum(), spectral * np.sqrt(np.count_nonzero(widths)))) * ROUND_UP

    def propose(self, words: NDArray[np.uint64]) -> tuple[Floats, Floats, Floats]:
        """`y = F^-1 v` with |v| the norm.

        words: (n, word_count). Draws (n, s), norms (n,), errors (n,).
        """
        s, gamma = self.dimension, words.shape[1] - continuous.normal_words(self.dimension)
        vector, norm, error = continuous.normal_vectors(words[:, gamma:], s)
        if self.falloff is NormLaw.EXPONENTIAL:
            _, radius, radius_error = continuous.exponential_vectors(words[:, :gamma])
            vector, error = continuous.along(radius, radius_error, vector, norm, error)
            norm = radius
        # The roundings of the product are relative to sum |inverse| |vector|, at most `spread` times the norm.
        return vector @ self._inverse.T, norm, error + (s + 4) * 2.0**-52 * norm

    def propose_balls(self, uniforms: Sequence[LazyUniform]) -> tuple[list[arb], arb]:
        """The same draw in ball arithmetic."""
        from flint import arb, arb_mat

        s, gamma = self.dimension, len(uniforms) - continuous.normal_words(self.dimension)
        normals = continuous.normal_vector_balls(uniforms[gamma:], s)
        norm: arb = sum((x**2 for x in normals), arb(0)).sqrt()
        if self.falloff is NormLaw.EXPONENTIAL:
            radius = sum((integer_samplers.exponential_ball(u) for u in uniforms[:gamma]), arb(0))
            normals, norm = [x * radius / norm for x in normals], radius
        return (self._inverse_balls() * arb_mat(s, 1, normals)).entries(), norm

    def norm(self, z: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """`|F z|_2` and its error, from the rounding of every product and sum in `F z`.

        z: (n, s). Norms (n,), errors (n,).
        """
        floats = z.astype(np.float64)
        length = np.sqrt(((floats @ self._floats.T) ** 2).sum(axis=1))
        rounding = np.sqrt(((np.abs(floats) @ np.abs(self._floats).T) ** 2).sum(axis=1))
        return length, (rounding + length) * (self.dimension + 6) * 2.0**-52

    def norm_ball(self, z: Sequence[int]) -> arb:
        """`|F z|_2`, a root of an exact rational."""
        from flint import arb, fmpq_mat

        image = (self._exact() * fmpq_mat(len(z), 1, list(z))).entries()
        root: arb = arb(sum(entry * entry for entry in image)).sqrt()
        return root

    def _exact_factor(self) -> fmpq_mat:
        """F."""
        from flint import fmpq, fmpq_mat

        entries = for_each(lambda x: fmpq(x.numerator, x.denominator), [_exactly(x) for x in chain.from_iterable(self.factor)])
        return fmpq_mat(len(self.factor), self.dimension, entries)

    def _inverse_balls(self) -> arb_mat:
        """Balls around `F^-1` (or what takes its place) at the working precision;
        kept, because at s = 100 they take 0.1 s and every hard draw asks."""
        return self._inverse_at(precision())

    def _inverse_of_precision(self, bits: int) -> arb_mat:
        """The same at the working precision, which is `bits`."""
        from flint import arb_mat

        try:
            return arb_mat(self._exact()).inv() if len(self.factor) == self.dimension else self._inverse_of_tall()
        except ZeroDivisionError:
            if self._exact().rank() < self.dimension:
                raise InvalidProblem("factor: singular; give an invertible matrix, or sample in a subspace.") from None
            with working_precision(2 * bits):
                return self._inverse_balls()

    def _inverse_of_tall(self) -> arb_mat:
        """`U^-1 D^-1/2` with `F' F = U' D U`, U unit upper triangular and D diagonal."""
        from flint import arb, arb_mat

        upper, pivots = self._triangular()
        roots = [1 / arb(pivot).sqrt() if pivot > 0 else arb("nan") for pivot in pivots]
        inverse = arb_mat(upper).inv().tolist()
        return arb_mat([[x * root for x, root in zip(row, roots, strict=True)] for row in inverse])

    def _eliminated(self) -> tuple[fmpq_mat, list[fmpq]]:
        """U and the diagonal of D, exactly, by fraction-free elimination.

        What all entries of `F' F` have in common, such as the square of a rate, is taken out of it first: each of the minors
        would hold it once more, in ever longer numbers.
        """
        from flint import fmpq, fmpq_mat, fmpz_mat

        if self.dimension > SLOW_ELIMINATION:
            announce(f"inverting a matrix of {self.dimension} columns exactly")
        gram, below = (self._exact().transpose() * self._exact()).numer_denom()
        if gram.rank() < self.dimension:
            raise InvalidProblem("factor: its columns are dependent; give a matrix of full column rank.")
        entries = [int(entry) for entry in gram.entries()]
        common = math.gcd(*entries)
        upper = fmpz_mat(self.dimension, self.dimension, [entry // common for entry in entries]).fflu()[3]
        minors = [int(upper[i, i]) for i in range(self.dimension)]
        unit = [fmpq(upper[i, j], minors[i]) for i in range(self.dimension) for j in range(self.dimension)]
        pivots = [fmpq(after * common, before * int(below)) for before, after in zip([1, *minors], minors, strict=False)]
        return fmpq_mat(self.dimension, self.dimension, unit), pivots

    def _rounded_inverse(self) -> Floats:
        """`F^-1`, every entry right to 2^-52 of its row's largest, from balls of sufficient precision."""
        for bits in (128, 256, 512, 1024, 2048, 4096):
            with working_precision(bits):
                balls = self._inverse_balls().tolist()
                middle = np.array([[float(ball.mid()) for ball in row] for row in balls])
                radius = np.array([[float(ball.rad()) for ball in row] for row in balls])
            if (radius.max(axis=1) <= 2.0**-54 * np.abs(middle).max(axis=1)).all():
                return middle
        raise InvalidProblem("factor: too ill-conditioned to invert with 4096 bits; choose another basis.")


def _exactly(entry: Fraction | float) -> Fraction:
    """A fraction as it is, so that equal entries that are one object stay one; a float as the number that it is."""
    return entry if type(entry) is Fraction else Fraction(entry)


# Proof, in rationals, that simplices with a corner at the origin triangulate a polytope.


Rationals = Sequence[Sequence[Fraction]]
Simplices = Sequence[Sequence[int]]
AT_ONCE = 2**24  # bytes


def certified_determinants(vertices: Rationals, simplices: Simplices, facets: Rationals) -> tuple[list[int], Fraction]:
    """`det(v_1 .. v_s)` of every simplex `conv(0, v_1 .. v_s)`, s! times its signed volume, once the triangulation is proven:
    integers, and the positive number of which they are multiples.

    `vertices` (n, s), `facets` (f, s) the normals of `{x : a_f . x <= 1}`, `simplices` (J, s) indices of vertices. ValueError
    unless every vertex has gauge 1, every simplex is solid and lies on a facet, and the cones over the simplices cover every
    direction exactly once. Theorem: derivation in docs/theory/sampling.md, section 4.

    >>> one = Fraction(1)
    >>> certified_determinants([[one / 3], [-one / 3]], [[0], [1]], [[3 * one], [-3 * one]])
    ([1, -1], Fraction(1, 3))
    """
    labels = np.array(simplices, dtype=np.int64)
    if labels.min() < 0 or labels.max() >= len(vertices):
        raise InvalidProblem(
            f"simplices: {int(labels.max())} is not the index of one of {len(vertices)} vertices; number them from 0."
        )
    numbers, unit = _determinants(vertices, labels)
    on_facets = _facets_of_simplices(labels, _facets_of_vertices(vertices, facets))
    _check_ridges(labels, np.array([number < 0 for number in numbers]))
    _check_one_direction(vertices, labels, on_facets)
    return numbers, unit


def _flint_rows(rows: Rationals) -> list[list[fmpq]]:
    """Rows as rationals of FLINT, several times as fast as Fractions."""
    from flint import fmpq

    return [[fmpq(x.numerator, x.denominator) for x in row] for row in rows]


def _determinants(vertices: Rationals, simplices: Labels) -> tuple[list[int], Fraction]:
    """Each vertex is a length times a primitive integer row, which is short for bodies of differences; the lengths are integers
    times one rational."""
    points = Points.of(vertices)
    above, below = np.gcd.reduce(points.numerators, axis=1), math.lcm(*points.denominators.tolist())
    above[above == 0] = 1  # the origin, which makes a simplex flat
    lengths = above * (below // points.denominators)
    common = math.gcd(*lengths.tolist())
    directions = Points.from_integers(points.numerators // above[:, None])
    numbers = np.array(determinants(directions, simplices), dtype=object) * (lengths // common)[simplices].prod(axis=1)
    if len(flat := np.flatnonzero(numbers == 0)):
        j = int(flat[0])
        raise InvalidProblem(f"simplices[{j}]: {tuple(simplices[j].tolist())} is flat; drop it from the triangulation.")
    return numbers.tolist(), Fraction(common, below) ** points.dimension


def _facets_of_vertices(vertices: Rationals, facets: Rationals) -> NDArray[np.uint8]:
    """The facets through every vertex, (n, f / 8) bits; floats find those that may be meant, rationals decide."""
    from flint import fmpq_mat

    exact_normals, exact_corners = _flint_rows(facets), _flint_rows(vertices)
    normals = np.array([[float(x) for x in facet] for facet in facets])
    incident = np.zeros((len(vertices), len(facets)), dtype=bool)
    for i, vertex in enumerate(vertices):
        corner = np.array([float(x) for x in vertex])
        heights, slack = normals @ corner, np.abs(normals) @ np.abs(corner) * 2.0**-40
        near = np.flatnonzero(heights >= 1 - slack).tolist()
        entries = [a for f in near for a in exact_normals[f]]
        exact = (fmpq_mat(len(near), len(vertex), entries) * fmpq_mat(len(vertex), 1, exact_corners[i])).entries()
        if max(exact, default=0) != 1:
            raise InvalidProblem(
                f"vertices[{i}]: its gauge is {float(max(heights))!r}, not exactly 1; scale it to the boundary."
            )
        incident[i, [f for f, height in zip(near, exact, strict=True) if height == 1]] = True
    return np.packbits(incident, axis=1)


def _facets_of_simplices(simplices: Labels, incident: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The facets that hold all vertices of a simplex, (J, f / 8) bits."""
    step = max(1, AT_ONCE // (simplices.shape[1] * incident.shape[1]))
    shared = np.concatenate(
        [np.bitwise_and.reduce(incident[simplices[i : i + step]], axis=1) for i in range(0, len(simplices), step)]
    )
    for j in np.flatnonzero(~shared.any(axis=1)).tolist():
        words = f"{tuple(simplices[j].tolist())} lies on no common facet"
        raise InvalidProblem(f"simplices[{j}]: {words}; triangulate facet by facet.")
    return shared


def _check_ridges(corners: Labels, negative: NDArray[np.bool_]) -> None:
    """Every s - 1 vertices of a simplex belong to exactly one other, whose last vertex is on the other side of their span.

    The side of the vertex in place k is the sign of the determinant with that row moved to the end: it alternates with k.
    corners: (J, s). negative: (J,), the determinants below 0.
    """
    order = np.argsort(corners, axis=1, kind="stable")
    count, s = corners.shape
    odd = negative.astype(np.int64)
    for place in range(1, s):  # swaps that sorting takes
        odd += (order[:, :place] > order[:, place, None]).sum(axis=1)
    corners = np.take_along_axis(corners, order, axis=1)
    ridges = np.stack([np.delete(corners, k, axis=1) for k in range(s)], axis=1).reshape(count * s, s - 1)
    sides = 1 - 2 * ((odd[:, None] + np.arange(s)) % 2).ravel()
    grouped, starts = grouped_labels(ridges, int(corners.max()) + 1)
    shared = np.diff(np.append(starts, len(grouped)))
    wrong = np.flatnonzero((shared != 2) | (np.add.reduceat(sides[grouped], starts) != 0))
    if len(wrong):
        ridge = tuple(ridges[grouped[starts[wrong[0]]]].tolist())
        words = f"{shared[wrong[0]]} share the vertices {ridge}, not two on opposite sides"
        raise InvalidProblem(f"simplices: {words}; close the triangulation.")


def _check_one_direction(vertices: Rationals, simplices: Labels, on_facets: NDArray[np.uint8]) -> None:
    """The middle of simplex 0 is in no other cone: only simplices on its facet need to be asked."""
    from flint import fmpq_mat

    s, rows = len(vertices[0]), _flint_rows(vertices)
    middle = fmpq_mat(1, s, [sum(rows[index][i] for index in simplices[0]) for i in range(s)])
    for j in (1 + np.flatnonzero((on_facets[0] & on_facets[1:]).any(axis=1))).tolist():
        simplex = tuple(simplices[j].tolist())
        parts = (middle * fmpq_mat(s, s, [x for index in simplex for x in rows[index]]).inv()).entries()
        if min(parts) >= 0:
            raise InvalidProblem(f"simplices[{j}]: {simplex} overlaps simplices[0]; the directions are covered more than once.")


# The gauge of a polytope, for exact sampling on the integer grid: a simplex by volume, exponentials along its vertices.
#
# Derivation: docs/theory/sampling.md, sections 3 and 4.


ENTRIES_AT_ONCE = 2**21  # products of draws and facets that are in memory together


@dataclass(frozen=True)
class PolytopeGrid:
    """The gauge `||z|| = max_f a_f . z` of a polytope `{x : a_f . x <= 1}` on Z^s, given with a star triangulation.

    `vertices` (n, s) and `facets` (f, s), the normals a_f, are exact rationals; `simplices` (J, s) are rows of indices into
    `vertices`, each spanning with the origin one simplex of the triangulation, with all its vertices on one facet.
    On the cone of a simplex the gauge is linear and 1 at each v_i, so `y = sum t_i v_i` with t_i iid exponential has density
    `exp(-||y||)` there, and the cones have masses proportional to the volumes. That the simplices are solid, lie on facets and
    cover all directions exactly once is proven in the constructor.

    >>> from designer.sampling.entropy import SeededEntropy
    >>> from designer.sampling.round_and_reject import RoundAndReject
    >>> corners = [[Fraction(8 * i), Fraction(8 * j)] for i, j in ((1, 0), (0, 1), (-1, 0), (0, -1))]
    >>> normals = [[Fraction(i, 8), Fraction(j, 8)] for i in (-1, 1) for j in (-1, 1)]
    >>> cross = PolytopeGrid(corners, [[0, 1], [1, 2], [2, 3], [3, 0]], normals)  # gauge |z|_1 / 8
    >>> RoundAndReject(cross).draw(3, SeededEntropy(1)).shape
    (3, 2)
    """

    vertices: Rationals
    simplices: Sequence[Sequence[int]]
    facets: Rationals
    falloff: NormLaw = NormLaw.EXPONENTIAL
    share = 1.0
    spread: Floats = field(init=False, repr=False, compare=False)
    log_volume: float = field(init=False, repr=False, compare=False)
    _corners: Floats = field(init=False, repr=False, compare=False)
    _normals: Floats = field(init=False, repr=False, compare=False)
    _cumulative: tuple[int, ...] = field(init=False, repr=False, compare=False)
    _thresholds: NDArray[np.uint64] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        vertices, facets = _rationals("vertices", self.vertices), _rationals("facets", self.facets)
        s = len(vertices[0])
        simplices = tuple(tuple(int(index) for index in simplex) for simplex in self.simplices)
        if any(len(row) != s for row in (*vertices, *facets, *simplices)) or not simplices:
            raise InvalidProblem(f"simplices: rows of vertices, facets and simplices must all have length {s}.")
        corners, normals = (np.array([[float(x) for x in row] for row in rows]) for rows in (vertices, facets))
        numbers, unit = certified_determinants(vertices, simplices, facets)
        cumulative = tuple(accumulate(map(abs, numbers)))
        # The words below the j-th threshold belong to simplices up to j beyond doubt, those equal to it need further bits.
        thresholds = np.array([(value << 64) // cumulative[-1] for value in cumulative[:-1]], dtype=np.uint64)
        spread = np.abs(corners).max(axis=0) * ROUND_UP  # Hölder: the parts have l1 norm ||y||
        log_volume = math.log(cumulative[-1] * unit) - math.lgamma(s + 1)
        assign(
            self,
            vertices=vertices,
            facets=facets,
            simplices=simplices,
            spread=spread,
            log_volume=log_volume,
            _corners=corners[np.array(simplices)],
            _normals=normals,
            _cumulative=cumulative,
            _thresholds=thresholds,
        )

    @property
    def dimension(self) -> int:
        """s."""
        return len(self.vertices[0])

    @property
    def word_count(self) -> int:
        """One word for the simplex, s for the exponentials, and for a Gaussian radius those of s normals."""
        return 1 + self.dimension + (continuous.normal_words(self.dimension) if self.falloff is NormLaw.GAUSSIAN else 0)

    def largest(self, widths: Floats, plane: NearestPlane | None = None) -> float:
        """`max_f sum_i |a_fi| widths_i`: a linear function is largest at a corner of the box.

        widths: (s,).
        """
        heights = np.abs(self._normals) @ widths if plane is None else plane.corner(self._normals, widths)
        return float(heights.max()) * ROUND_UP

    def propose(self, words: NDArray[np.uint64]) -> tuple[Floats, Floats, Floats]:
        """`y = sum t_i v_i` on a simplex chosen by volume; its gauge is `sum t_i`.

        words: (n, word_count). Draws (n, s), norms (n,), errors (n,).
        """
        s = self.dimension
        index = np.searchsorted(self._thresholds, words[:, 0], side="left")
        open_ = index != np.searchsorted(self._thresholds, words[:, 0], side="right")
        parts, norm, error = continuous.exponential_vectors(words[:, 1 : s + 1])
        if self.falloff is NormLaw.GAUSSIAN:
            _, radius, radius_error = continuous.normal_vectors(words[:, s + 1 :], s)
            parts, error = continuous.along(radius, radius_error, parts, norm, error)
            norm = radius
        y = np.einsum("ni,nij->nj", parts, self._corners[index])
        return y, norm, np.where(open_, np.inf, error + (s + 4) * 2.0**-52 * norm)

    def propose_balls(self, uniforms: Sequence[LazyUniform]) -> tuple[list[arb], arb] | None:
        """The same draw in ball arithmetic, None while the simplex is open."""
        from flint import arb

        s, index = self.dimension, self._simplex(uniforms[0])
        if index is None:
            return None
        parts = [integer_samplers.exponential_ball(uniform) for uniform in uniforms[1 : s + 1]]
        total = sum(parts, arb(0))
        if self.falloff is NormLaw.GAUSSIAN:
            normals = continuous.normal_vector_balls(uniforms[s + 1 :], s)
            radius = sum((x**2 for x in normals), arb(0)).sqrt()
            parts, total = [part * radius / total for part in parts], radius
        corners = [self.vertices[corner] for corner in self.simplices[index]]
        y = [sum((t * rational_ball(v[i]) for t, v in zip(parts, corners, strict=True)), arb(0)) for i in range(s)]
        return y, total

    def _simplex(self, uniform: LazyUniform) -> int | None:
        """The simplex whose share of the volume, laid end to end on (0, 1), contains all that the uniform may be."""
        low, high = (Fraction((uniform.head + end) * self._cumulative[-1], 1 << uniform.bits) for end in (0, 1))
        first, last = bisect_right(self._cumulative, low), bisect_left(self._cumulative, high)
        return first if first == last else None

    def norm(self, z: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """`max_f a_f . z` and its error, over the facets in portions.

        z: (n, s). Norms (n,), errors (n,).
        """
        floats, largest = z.astype(np.float64), np.full(len(z), -np.inf)
        portion = max(1, ENTRIES_AT_ONCE // max(1, len(z)))
        for start in range(0, len(self._normals), portion):
            largest = np.maximum(largest, (floats @ self._normals[start : start + portion].T).max(axis=1))
        return largest, np.abs(floats) @ np.abs(self._normals).max(axis=0) * ((self.dimension + 4) * 2.0**-52)

    def norm_ball(self, z: Sequence[int]) -> arb:
        """The gauge, an exact rational: floats leave out the facets that cannot be the largest."""
        floats = np.array([z], dtype=np.float64)
        largest, error = self.norm(np.array([z], dtype=np.int64))
        near = np.flatnonzero((floats @ self._normals.T)[0] >= largest[0] - 2 * error[0]).tolist()
        return rational_ball(max(sum((a * x for a, x in zip(self.facets[f], z, strict=True)), Fraction(0)) for f in near))


def _rationals(name: str, rows: Rationals) -> tuple[tuple[Fraction, ...], ...]:
    exact = tuple(tuple(Fraction(entry) for entry in row) for row in rows)
    if not exact or not exact[0]:
        raise InvalidProblem(f"{name}: empty; give one row of rationals per element.")
    return exact

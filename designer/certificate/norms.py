"""The norms that shape noise: `||u|| = |map u|_p`, a p-norm of a linear image, for weighted l1, ellipsoids,
boxes and polytope gauges.

A mechanism is private when the norm of every protected difference is at most its budget (docs/theory/foundations.md, 1). So a
norm knows how to be scanned quickly over many differences with a known error, and how to be evaluated exactly on one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from designer.base.arrays import Floats, Immutable, frozen, real_array
from designer.base.checks import assign, shown
from designer.base.errors import InvalidProblem, NoAttribute
from designer.limits import MOST_SIGN_COORDINATES, MOST_SIMPLICES
from designer.problem.relation import Block
from solvers.exact.rational import dyadic_integers, root_above
from solvers.rounding import rounded, rounded_alike

if TYPE_CHECKING:
    from solvers.exact.points import Points
    from solvers.polytopes.facets import Backend, FacetCandidates
    from solvers.polytopes.hull import Polytope


NormOrder = Literal["l1", "l2", "linf"]

_SCIPY_NAME: dict[NormOrder, Literal["cityblock", "euclidean", "chebyshev"]] = {
    "l1": "cityblock",
    "l2": "euclidean",
    "linf": "chebyshev",
}
_WORDS = {
    "l1": "a weighted l1 norm (independent discrete Laplace coordinates)",
    "l2": "a Euclidean norm (ellipsoid)",
    "linf": "a weighted maximum norm (box)",
}
_DUAL = {"l1": np.inf, "l2": 2.0, "linf": 1.0}
_UNIT_ROUNDOFF = 2.0**-53


@dataclass(frozen=True, eq=False)
class Norm(Immutable):
    """`||u|| = |map u|_order` on R^R, map of shape (R,) for a diagonal or (S, R); entries are exact, being float64 numbers.

    An infinite diagonal entry, or column, marks a coordinate without noise: the norm is
    infinite unless that coordinate of u is 0.

    >>> Norm(np.array([0.5, np.inf]), "l1").exact([Fraction(3), Fraction(0)])
    Fraction(3, 2)
    """

    map: Floats
    order: NormOrder

    def __post_init__(self) -> None:
        if self.order not in _SCIPY_NAME:
            raise InvalidProblem(f"norm.order: {self.order!r} is unknown; use one of {sorted(_SCIPY_NAME)}.", value=self.order)
        if not isinstance(self.map, np.ndarray):
            rows = isinstance(self.map, (list, tuple)) and any(hasattr(row, "__len__") for row in self.map)
            assign(self, map=real_array(self.map, "norm.map", 2 if rows else 1, allow_inf=True))
        if self.map.ndim not in (1, 2) or not self.map.size:
            raise InvalidProblem(f"norm.map: has shape {self.map.shape}; give a diagonal (R,) or a matrix (S, R), not empty.")
        silent = np.isinf(self.map).all(axis=tuple(range(self.map.ndim - 1)))
        if np.isnan(self.map).any() or (self.map.ndim == 1 and (self.map <= 0).any()) or np.isinf(self.map[..., ~silent]).any():
            raise InvalidProblem(
                "norm.map: a diagonal must be positive, a matrix finite but for whole infinite columns; NaN is neither."
            )
        assign(self, map=frozen(self.map))

    @property
    def dimension(self) -> int:
        """R, the length of the vectors that are measured."""
        return int(self.map.shape[-1])

    @property
    def silent(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which coordinates get no noise."""
        return np.asarray(np.isinf(self.map).all(axis=tuple(range(self.map.ndim - 1))))

    @property
    def of_order(self) -> bool:
        """Whether the length is the p-norm of the images; whoever measures them otherwise is asked for `length` alone."""
        return type(self).length is Norm.length

    @property
    def factor(self) -> Floats:
        """The map on the coordinates that get noise, (S, R'), a diagonal written out."""
        heard = self.map[..., ~self.silent]
        return np.diag(heard) if self.map.ndim == 1 else heard

    @property
    def sentence(self) -> str:
        """The norm in a guarantee."""
        return _WORDS[self.order]

    @property
    def proof_words(self) -> str:
        """Who proposed the shape, and how it was proven; nothing where the map is all there is."""
        return ""

    def reach(self, rows: Floats) -> Floats:
        """`max {|t z| : ||z|| <= 1}`, (K,), for each row t of `rows`, (K, s), over the s coordinates that get noise: the dual
        norm, for an invertible map."""
        return np.asarray(np.linalg.norm(rows @ np.linalg.inv(self.factor), ord=_DUAL[self.order], axis=1))

    @property
    def vertices(self) -> Floats:
        """The corners of the unit ball, (V, R), as floats, where it is a polytope: its V-representation, in units of the
        coordinates; 0 in coordinates without noise.

        `NoAttribute` for an ellipsoid, more than 65,536 corners, and maps whose corners are not kept. Source: SEMI Lemma 29 and
        Algorithm 2; [foundations](../theory/foundations.md), section 2.
        """
        inverse = np.linalg.inv(self._square("vertices"))
        corners = _both_signs(np.eye(len(inverse))) if self.order == "l1" else self._signs("vertices")
        return self._over_all(corners @ inverse.T)

    @property
    def facets(self) -> Floats:
        """Rows a of `{u : a u <= 1}`, (F, R), whose intersection is the unit ball, as floats, where it is a polytope: its
        H-representation, one over the units of the coordinates; 0 in coordinates without noise, of which u is 0.

        `NoAttribute` for an ellipsoid, and more than 65,536 facets. Source: as `vertices`.
        """
        if self.order == "linf" and self.of_order:
            return self._over_all(_both_signs(self.factor))
        return self._over_all(self._signs("facets") @ self._square("facets"))

    def _square(self, field: str) -> Floats:
        """The map on the coordinates with noise, if it has an inverse and is that of a polytope."""
        found = self.factor
        if self.order == "l2" or not self.of_order or found.shape[0] != found.shape[1]:
            raise NoAttribute(
                f"{field}: of {self.sentence} are not written out; norms of l1, boxes and K-norms have them.", value=self.order
            )
        return found

    def _signs(self, field: str) -> Floats:
        """All vectors of signs of the coordinates with noise, (2^R', R')."""
        heard = int((~self.silent).sum())
        self._require_few(field, 2**heard)
        return np.array(list(product((1.0, -1.0), repeat=heard)))

    def _require_few(self, field: str, rows: int) -> None:
        """Refuse more than 2^16 corners or facets."""
        if rows > 2**MOST_SIGN_COORDINATES:
            raise NoAttribute(
                f"{field}: {rows} of {self.sentence}, more than 2^{MOST_SIGN_COORDINATES}; read `map` in their place."
            )

    def _over_all(self, rows: Floats) -> Floats:
        """Rows over the coordinates with noise, (n, R'), over all, (n, R)."""
        found = np.zeros((len(rows), self.dimension))
        found[:, ~self.silent] = rows
        return frozen(found)

    def divided(self, factor: float) -> Norm:
        """The norm divided by a positive factor: noise wider by that factor."""
        return Norm(self.map / factor, self.order)

    def shortened(self) -> Norm:
        """The norm of the nearest short numbers (`solvers.rounding`): a diagonal one by one, a matrix in one unit for each
        column. A norm of another kind, whose numbers are exact, is returned as it is."""
        if type(self) is not Norm:
            return self
        if self.map.ndim == 1:
            return Norm(rounded(self.map), self.order)
        heard = ~self.silent
        return Norm(np.where(heard, rounded_alike(np.where(heard, self.map, 0.0), 0), self.map), self.order)

    def image(self, points: Floats) -> Floats:
        """`map p` for each row p; coordinates without noise are left out.

        points: (n, R). Returns (n, S), of S mapped coordinates.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            heard = ~self.silent
            if self.map.ndim == 2:
                return np.asarray(points[:, heard] @ self.map[:, heard].T)
            return np.asarray(points[:, heard] * self.map[heard])

    def image_error(self, points: Floats) -> float:
        """Bound of the absolute error of `between` on images of `points`, beside a relative 2^-50 (times length)
        of the distance.

        Standard error analysis: each image coordinate is off by at most (R + 2) units of roundoff of `|map| |p|`, a difference
        of two by twice that, and the p-norm of the errors bounds the error of the p-norm. Products that underflow add 2^-1074
        each before they are measured, squares that underflow the root of that.
        points: (n, R), in the units of the answers.
        """
        magnitude = Norm(np.abs(self.map), self.order).image(np.abs(points))
        with np.errstate(over="ignore"):
            largest = float(self.length(magnitude).max(initial=0.0))
            one = float(self.length(np.ones(magnitude.shape[-1])))  # of the image, each coordinate of which is lost
        terms = self.dimension + len(self.map) + 8
        lost = terms * (2.0**-536 if self.order == "l2" else 2.0**-1074) * max(1.0, one)
        return 2 * terms * _UNIT_ROUNDOFF * largest + lost

    def length(self, images: Floats) -> Floats:
        """The p-norm along the last axis: images (..., S), lengths (...,)."""
        if images.shape[-1] == 0:
            return np.zeros(images.shape[:-1])
        return np.asarray(np.linalg.norm(images, ord={"l1": 1, "l2": 2, "linf": np.inf}[self.order], axis=-1))

    def between(self, left: Floats, right: Floats) -> Floats:
        """Distances between all rows of two sets of images: left (n, S), right (m, S), distances (n, m)."""
        from scipy.spatial.distance import cdist

        if left.shape[1] == 0:
            return np.zeros((len(left), len(right)))
        return np.asarray(cdist(left, right, _SCIPY_NAME[self.order]))

    def __call__(self, differences: object) -> Floats:
        """The norm of each row (or of one vector), in floating point."""
        u = np.asarray(differences, dtype=np.float64)
        rows = np.atleast_2d(u)
        if rows.shape[-1] != self.dimension:
            raise InvalidProblem(f"u: has length {rows.shape[-1]}; the mechanism measures vectors of length {self.dimension}.")
        result = np.where((rows[:, self.silent] != 0).any(axis=1), np.inf, self.length(self.image(rows)))
        return np.asarray(result.reshape(u.shape[:-1]))

    def exact(self, u: Sequence[Fraction]) -> Fraction | None:
        """The norm as a rational number (rounded up by less than 2^-80 for `l2`), None when infinite."""
        if any(c for c, quiet in zip(u, self.silent, strict=True) if quiet):
            return None
        moved = [(k, c) for k, c in enumerate(c for c, quiet in zip(u, self.silent, strict=True) if not quiet) if c]
        shared = math.lcm(*(c.denominator for _, c in moved))
        whole = np.array([c.numerator * (shared // c.denominator) for _, c in moved], dtype=object)
        entries, exponent = self._integers
        chosen = entries[:, [k for k, _ in moved]]
        images: list[int] = np.abs(chosen[0] * whole if self.map.ndim == 1 else chosen @ whole).tolist() if moved else []
        unit = Fraction(2) ** exponent / shared
        if self.order == "l1":
            return unit * sum(images)
        if self.order == "linf":
            return unit * max(images, default=0)
        return root_above(unit**2 * sum(value * value for value in images))

    def alike(self, differences: Floats) -> Floats:
        """Rows, (m, R), which are equal only where the norms of the given differences, (m, R), are.

        Lemma: a p-norm does not see the sign of its argument; that of a diagonal map not the sign of any entry, nor the order
        of those of equal weights, as `||D P u|| = ||P D u|| = ||D u||` for every signed permutation P that commutes with D.
        Other kinds of norm are taken to tell all differences apart.
        """
        if type(self) is not Norm:
            return differences
        if self.map.ndim == 1:
            sizes = np.abs(differences)
            places = np.unique(self.map, return_inverse=True)[1]
            order = np.lexsort((sizes, np.broadcast_to(places, sizes.shape)), axis=1)
            return np.take_along_axis(sizes, order, axis=1)
        leading = np.take_along_axis(differences, (differences != 0).argmax(axis=1)[:, None], axis=1)
        return np.where(leading < 0, -differences, differences)

    @cached_property
    def _integers(self) -> tuple[np.ndarray[tuple[int, int], np.dtype[np.object_]], int]:
        """Integers n, (1, R') or (S, R'), and an exponent e with `map = n 2^e` on the coordinates that get noise."""
        rows, exponent = dyadic_integers(np.atleast_2d(self.map[..., ~self.silent]))
        return np.array(rows, dtype=object), exponent


def _both_signs(rows: Floats) -> Floats:
    """Rows and their negatives, (2 n, R)."""
    return np.concatenate([rows, -rows])


def require_falloff(falloff: str, known: Sequence[str], norm: Norm) -> None:
    """Refuse a fall-off of noise that is unknown, or has no proof for the norm."""
    if falloff not in known:
        raise InvalidProblem(f"falloff: {shown(falloff)} is unknown; use one of {sorted(known)}.", value=falloff)
    if falloff != "exponential" and norm.order != "l2":
        raise InvalidProblem(
            f"falloff: a {falloff} fall-off has a proof for l2 norms only, not for {norm.order}; use exponential."
        )


def weighted_l1(weights: object) -> Norm:
    """`sum_k w_k |u_k|`: independent Laplace noise of scale 1 / w_k; an infinite weight means no noise."""
    return Norm(np.asarray(weights, dtype=np.float64), "l1")


@dataclass(frozen=True, eq=False, init=False)
class Gauge(Norm):
    """The gauge of the polytope `scale * conv{+-u_m / b_m}`: the K-norm.
    All of u (M, R), b (M,) and scale are exact float64 numbers.

    The norm ball is that polytope, with facets recovered as exact rationals (`solvers.polytopes.hull`); `map` holds their
    nearest floats, which serve scans. Coordinates in which no u moves get no noise; the u must span the others.
    backend: who proposes the facets, "qhull" or "cdd"; what is proven of them is the same, so no spec keeps it. proposed: the
    simplices that it has proposed already, for all of these differences.
    """

    differences: Floats
    budgets: Floats
    scale: float
    body: Polytope

    def __init__(
        self,
        differences: Floats,
        budgets: Floats,
        scale: float = 1.0,
        backend: Backend = "qhull",
        proposed: FacetCandidates | None = None,
    ) -> None:
        if differences.ndim != 2 or budgets.shape != differences.shape[:1] or not differences.any():
            raise InvalidProblem(
                f"norm: differences {differences.shape} and budgets {budgets.shape} differ in length, or are empty; give one "
                "budget for each difference."
            )
        if not (np.isfinite(differences).all() and np.isfinite(budgets).all() and (budgets > 0).all() and 0 < scale < np.inf):
            raise InvalidProblem("norm: differences must be finite, budgets and scale positive and finite.")
        from solvers.polytopes.hull import convex_hull

        try:
            body = convex_hull(_corners(differences[:, differences.any(axis=0)], budgets), MOST_SIMPLICES, backend, proposed)
        except ValueError as refusal:
            raise InvalidProblem(f"norm.differences: {refusal}") from None
        self._set(frozen(differences), frozen(budgets), float(scale), body)

    def _set(self, differences: Floats, budgets: Floats, scale: float, body: Polytope) -> None:
        """All fields; `body` must be the hull of the differences over the budgets."""
        moving = differences.any(axis=0)
        facets = np.full((len(body.facets), differences.shape[1]), np.inf)
        with np.errstate(over="ignore", under="ignore"):
            heard = facets[:, moving] = body.facets.floats / scale
        # A facet that overflows would pass for a coordinate without noise, one that underflows for a norm that is blind to it.
        if not (np.isfinite(heard).all() and heard.any(axis=0).all()):
            raise InvalidProblem(
                f"norm.scale: {scale} takes the facets of the body beyond the floats; choose units in which noise scales are "
                "moderate."
            )
        assign(self, differences=differences, budgets=budgets, scale=scale, body=body, map=facets, order="linf")
        Norm.__post_init__(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Gauge, (self.differences, self.budgets, self.scale)

    @property
    def sentence(self) -> str:
        return "a polytope gauge (K-norm)"

    @property
    def proof_words(self) -> str:
        body = self.body
        return (
            f"{2 * len(body.facets)} facets and {2 * len(body.vertices)} vertices in {body.dimension} dimensions, proposed by "
            f"{body.proposer}, proven in exact integers (the same proof whoever proposes)"
        )

    def reach(self, rows: Floats) -> Floats:
        return np.asarray(self.scale * self.body.dual_gauge(rows))

    @property
    def vertices(self) -> Floats:
        return self._over_all(_both_signs(self.scale * self.body.vertices.floats))

    def divided(self, factor: float) -> Gauge:
        """The gauge of the body grown by the factor."""
        twin = object.__new__(Gauge)
        twin._set(self.differences, self.budgets, self.scale * factor, self.body)
        return twin

    def exact(self, u: Sequence[Fraction]) -> Fraction | None:
        """The gauge from the exact facets."""
        if any(c for c, quiet in zip(u, self.silent, strict=True) if quiet):
            return None
        heard = [c for c, quiet in zip(u, self.silent, strict=True) if not quiet]
        from solvers.exact.points import Points

        largest = max(map(abs, heard), default=Fraction(0))
        unit = Fraction(2) ** (largest.numerator.bit_length() - largest.denominator.bit_length())  # floats propose the facet
        return self.body.gauge_exact(Points.of([[c / unit for c in heard]]))[0] * unit / Fraction(self.scale)

    @property
    def second_moment(self) -> Floats:
        """`E[U U']` of U uniform on the norm ball."""
        return np.asarray(self.scale**2 * self.body.second_moment)


def _corners(differences: Floats, budgets: Floats) -> Points:
    """The vectors u / b as exact rationals."""
    from solvers.exact.points import Points

    exact = [Fraction(float(b)) for b in budgets]
    return Points.of([[Fraction(float(c)) / b for c in row] for row, b in zip(differences, exact, strict=True)])


UNDERFLOW = 2.0**-1071  # above what a division and two products lose below the smallest float, so that no ratio becomes 0


@dataclass(frozen=True)
class RatioBounds:
    """What a float ratio proves: absolute is the error of a length, relative that of lengths and budgets beside it."""

    absolute: float
    relative: float

    def upper(self, block: Block, ratios: Floats) -> Floats:
        """No ratio of the block is larger; 0 where the pair is unprotected.

        ratios: (M,) or (L, M), as the budgets of the block.
        """
        # Never 0: a pair without any budget has an infinite bound, and only the exact comparison of its points settles it.
        return np.where(np.isfinite(block.budgets), self.above(ratios, np.abs(block.budgets)), 0.0)

    def above(self, ratios: Floats, budgets: Floats) -> Floats:
        """The largest ratios that floats (...,) leave possible; it grows with ratios and with budgets that fall, roundings
        included, since each of them is monotone."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            return np.asarray((ratios + self.absolute / budgets + UNDERFLOW) * (1 + 2 * self.relative))

    def lower(self, block: Block, ratios: Floats) -> Floats:
        """No ratio of the block is smaller, where the float budget was not clipped.

        ratios: (M,) or (L, M), as the budgets of the block.
        """
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            bound = (ratios - self.absolute / np.abs(block.budgets) - UNDERFLOW) * (1 - 2 * self.relative)
        return np.where(np.isfinite(ratios), bound, 0.0)

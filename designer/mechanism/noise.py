"""The noise of a mechanism: exact draws in grid steps, the moments of its law, and the grid itself.

`noise_for` chooses the sampler that a norm and a fall-off call for. Moments of independent coordinates are those of the
discrete law, exactly, on grids of any step; moments of jointly drawn coordinates are those of the continuous law,
from which a grid of 2^-40 scales cannot be told.
Moments: docs/theory/foundations.md, section 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, distinct, for_each
from designer.base.checks import assign, count
from designer.base.errors import InvalidProblem
from designer.base.run_length import or_runs
from designer.base.schema import list_of, noted, whole
from designer.certificate.norm_kinds import BundleNorm, CappedNorm
from designer.certificate.norms import Gauge, Norm
from designer.limits import LARGEST_MULTIPLE
from designer.problem.compressed_rows import IntervalRows, Matrix, largest_entries, row_places, with_entries
from designer.sampling.body_grids import EllipsoidGrid, PolytopeGrid, Rationals
from designer.sampling.box_grids import BoxGrid, BundleGrid, CappedGrid
from designer.sampling.entropy import Entropy, SeededEntropy
from designer.sampling.integer_gaussian import DiscreteGaussian
from designer.sampling.integer_laplace import DiscreteLaplace
from designer.sampling.integer_tails import RoundedNormal, RoundedVector, rounded_absolutes, rounded_variances
from designer.sampling.round_and_reject import GridNorm, NormLaw, RoundAndReject
from solvers.exact.rational import capped_cube
from solvers.programs.tails import mean_absolute, mean_absolute_of_geometrics

# More exponentials than this in one answer are simulated rather than recursed over: a
# standard error of about 0.3 % of the value.
LONGEST_RECURSION = 128
SIMULATED_DRAWS, LEAST_DRAWS = 100_000, 2_000
FINE_RATE = 2.0**-12  # a step: moments of the discrete law are those of the continuous one up to 2^-26
PROVEN_AT_ONCE = 2048  # indices in the triangulation of a gauge: 0.1 s
SMALLEST_WEIGHT = 1e-140
OWN_KINDS = ((Gauge, "gauge"), (BundleNorm, "bundles"), (CappedNorm, "capped_l1"))


class Sampler(Protocol):
    """Draws integer vectors, (size, s)."""

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]: ...


@dataclass(frozen=True, eq=False)
class Noise:
    """Noise in R measured coordinates; `heard` lists the s that get any.

    sampler: exact draws of those s, in grid steps. heard_covariance: (s, s), or (s,), the variances of coordinates without
    correlation, in the units of the answers. absolute: E|a z| for each row a of a (K, s) matrix; None where only simulation
    gives it. own_absolutes: (s,), those of the coordinates themselves, where they are known for the discrete law.
    """

    sampler: Sampler | None
    heard: NDArray[np.intp]
    steps: Floats
    heard_covariance: Floats
    absolute: Callable[[Floats], Floats] | None = None
    own_absolutes: Floats | None = None

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """`size` independent draws in grid steps, (size, R)."""
        drawn = np.zeros((size, len(self.steps)), dtype=np.int64)
        if self.sampler is not None:
            drawn[:, self.heard] = self.sampler.draw(size, entropy)
        return drawn

    def rows(self, reconstruction: Floats | None) -> Floats:
        """The map from heard coordinates to answers, (K, s)."""
        return np.eye(len(self.steps))[:, self.heard] if reconstruction is None else reconstruction[:, self.heard]

    def own_rows(self, reconstruction: Floats | None) -> Floats | None:
        """The sizes of these rows, (K, s), where every answer has at most one measured coordinate of its own; None elsewhere.

        reconstruction: (K, R), or None, whose coordinates are the answers already.
        """
        rows = None if reconstruction is None else np.abs(self.rows(reconstruction))
        return None if rows is None or (np.count_nonzero(rows, axis=1) > 1).any() else rows

    def variances(self, reconstruction: Floats | None) -> Floats:
        """Variance of each answer, `diag(T covariance T')` with T the reconstruction.

        reconstruction T: (K, s), None for the identity. Returns (K,), in squared units of the answers.
        """
        if reconstruction is None:
            covariance = self.heard_covariance
            return self.spread_out(covariance if covariance.ndim == 1 else covariance.diagonal())
        return variances_along(self.rows(reconstruction), self.heard_covariance)

    def mean_absolutes(self, reconstruction: Floats | None) -> Floats:
        """Expected |noise| of each answer: closed where the law allows it, otherwise simulated to about 0.3 % of a standard
        deviation, of more than 64 coordinates to at most 2 %.

        reconstruction T: (K, s), None for the identity. Returns (K,), in the units of the answers.
        """
        if self.own_absolutes is not None and reconstruction is None:
            return self.spread_out(self.own_absolutes)
        rows, own = self.rows(reconstruction), self.own_rows(reconstruction)
        if self.own_absolutes is not None and own is not None:
            return np.asarray(own @ self.own_absolutes)
        if self.absolute is not None:
            return self.absolute(rows)
        size = min(SIMULATED_DRAWS, max(LEAST_DRAWS, SIMULATED_DRAWS * LONGEST_RECURSION // (2 * len(self.heard))))
        drawn = self.draw(size, SeededEntropy(0))[:, self.heard] * self.steps[self.heard]
        return np.asarray(np.abs(drawn @ rows.T).mean(axis=0))

    def spread_out(self, values: Floats) -> Floats:
        """Numbers of the heard coordinates, (s,), at their places among all, (R,); 0 at the others."""
        full = np.zeros(len(self.steps))
        full[self.heard] = values
        return full


def variances_along(rows: Floats, covariance: Floats) -> Floats:
    """`a covariance a'` for each row a, (K,); coordinates without correlation take no product of matrices.

    rows: (K, s). covariance: (s, s), or (s,), the variances of coordinates without correlation.
    """
    if covariance.ndim == 1:
        return np.asarray(rows**2 @ covariance)
    alone = covariance.diagonal()
    if np.count_nonzero(covariance) == np.count_nonzero(alone):
        return np.asarray(rows**2 @ alone)
    return np.asarray(np.einsum("kr,rs,ks->k", rows, covariance, rows, optimize=True))


def noise_for(norm: Norm, grid: Grid, falloff: str) -> Noise:
    """The noise with density falling off in `norm` on `grid`."""
    heard = np.flatnonzero(~norm.silent)
    if not len(heard):
        return Noise(None, heard, grid.steps, np.zeros((0, 0)), own_absolutes=np.zeros(0))
    known = {exponent: Fraction(2) ** exponent for exponent in set(grid.exponents)}
    steps = [known[grid.exponents[k]] for k in heard.tolist()]
    return _makers()[require_sampler(norm, falloff)](norm, heard, grid.steps, steps)


Maker = Callable[[Norm, NDArray[np.intp], Floats, list[Fraction]], Noise]


def require_sampler(norm: Norm, falloff: str) -> tuple[str, str, str]:
    """The kind of norm and fall-off that an exact sampler serves; `InvalidProblem` where none does."""
    order = next((name for kind, name in OWN_KINDS if isinstance(norm, kind)), norm.order)
    kind = (order, "diagonal" if norm.map.ndim == 1 else "matrix", falloff)
    if kind not in _makers():
        raise InvalidProblem(
            f"norm: no exact sampler for a {kind[1]} norm of order {kind[0]} with {falloff} fall-off; take another norm or "
            "fall-off.",
        )
    return kind


def require_weights(norm: Norm) -> None:
    """Refuse weights whose squares, or whose inverses' squares, would be no floats."""
    heard = np.abs(np.atleast_2d(norm.map)[:, ~norm.silent]).max(axis=0, initial=0.0)
    if heard.size and not SMALLEST_WEIGHT <= heard.min() <= heard.max() <= 1 / SMALLEST_WEIGHT:
        raise InvalidProblem(
            f"norm.map: weights from {heard.min()} to {heard.max()}; choose units in which noise scales lie between "
            f"{SMALLEST_WEIGHT} and {1 / SMALLEST_WEIGHT}, so that their squares are floats."
        )


def _makers() -> dict[tuple[str, str, str], Maker]:
    exponential, gaussian = partial(_ellipsoid, falloff=NormLaw.EXPONENTIAL), partial(_ellipsoid, falloff=NormLaw.GAUSSIAN)
    return {
        ("l1", "diagonal", "exponential"): _laplace,
        ("l2", "diagonal", "gaussian"): _independent_gaussian,
        ("l2", "diagonal", "exponential"): exponential,
        ("l2", "matrix", "exponential"): exponential,
        ("l2", "matrix", "gaussian"): gaussian,
        ("l2", "diagonal", "rounded_gaussian"): _rounded_normal,
        ("l2", "matrix", "rounded_gaussian"): _rounded_vector,
        ("linf", "diagonal", "exponential"): _box,
        ("gauge", "matrix", "exponential"): _gauge,
        ("bundles", "matrix", "exponential"): _bundles,
        ("capped_l1", "matrix", "exponential"): _capped,
    }


def _weights(norm: Norm, heard: NDArray[np.intp], steps: list[Fraction]) -> list[Fraction]:
    """Exact diagonal weights for a unit of one grid step."""
    pairs = list(zip(norm.map[heard].tolist(), map(id, steps), strict=True))  # equal steps are one object
    by_id = {id(step): step for step in steps}
    kinds = {(weight, step): Fraction(weight) * by_id[step] for weight, step in dict.fromkeys(pairs)}
    return [kinds[pair] for pair in pairs]


def _in_steps(norm: Norm, steps: list[Fraction]) -> list[list[Fraction]]:
    """The exact map on the coordinates that get noise for a unit of one grid step."""
    return [[Fraction(float(w)) * step for w, step in zip(row, steps, strict=True)] for row in norm.factor]


def _in_units(variances: Floats, units: Floats) -> Floats:
    """Variances in steps times squared steps, one factor at a time. The square of a step above 2^512 would be infinite, and 0
    times it not a number, where noise is so much narrower than the step that its variance is 0."""
    return np.asarray(variances * units * units)


def _laplace(norm: Norm, heard: NDArray[np.intp], units: Floats, steps: list[Fraction]) -> Noise:
    """Independent coordinates; on fine grids a combination `sum g_j z_j` is, as in the continuous law, a sum of exponentials
    with both signs."""
    law = DiscreteLaplace(_weights(norm, heard, steps))
    scales = 1 / norm.map[heard]

    def absolute(rows: Floats) -> Floats:
        return mean_absolute(np.hstack([rows * scales, -rows * scales]))

    def on_steps(rows: Floats) -> Floats:
        kinds, place = np.unique(np.abs(rows), axis=0, return_inverse=True)
        found = mean_absolute_of_geometrics(kinds * units[heard], np.array([float(rate) for rate in law.rates]))
        return np.asarray(found[place.ravel()])

    fine, several = max(distinct(law.rates)) < FINE_RATE, 2 * len(heard) <= LONGEST_RECURSION
    covariance = _in_units(law.variance(), units[heard])
    combined = (absolute if fine else on_steps) if several else None
    return Noise(law, heard, units, covariance, combined, law.mean_absolute() * units[heard])


def _independent_gaussian(norm: Norm, heard: NDArray[np.intp], units: Floats, steps: list[Fraction]) -> Noise:
    """Independent coordinates of variance 1 / w^2, less where they are narrow beside a step."""
    weights = _weights(norm, heard, steps)
    law = DiscreteGaussian(for_each(lambda w: 1 / w**2, weights))
    covariance = _in_units(law.variance(), units[heard])
    absolute = _proportional(covariance, math.sqrt(2 / math.pi)) if max(distinct(weights)) < FINE_RATE else None
    return Noise(law, heard, units, covariance, absolute, law.mean_absolute() * units[heard])


def _rounded_normal(norm: Norm, heard: NDArray[np.intp], units: Floats, steps: list[Fraction]) -> Noise:
    """Independent normal coordinates of deviation 1 / w, rounded."""
    law = RoundedNormal(for_each(lambda w: 1 / w, _weights(norm, heard, steps)))
    covariance = _in_units(law.variance(), units[heard])
    absolute = _proportional(covariance, math.sqrt(2 / math.pi))
    return Noise(law, heard, units, covariance, absolute, law.mean_absolute() * units[heard])


def _rounded_vector(norm: Norm, heard: NDArray[np.intp], units: Floats, steps: list[Fraction]) -> Noise:
    """Normal noise with covariance `(F'F)^-1`, rounded: variances are those of the roundings, and a covariance is off by at
    most a twelfth of the product of two steps."""
    sampler = RoundedVector(EllipsoidGrid(_in_steps(norm, steps), NormLaw.GAUSSIAN))
    inverse = np.linalg.inv(norm.factor)
    covariance = inverse @ inverse.T
    deviations = np.sqrt(covariance.diagonal()) / units[heard]
    np.fill_diagonal(covariance, _in_units(rounded_variances(deviations), units[heard]))
    absolute = _proportional(covariance, math.sqrt(2 / math.pi))
    return Noise(sampler, heard, units, covariance, absolute, rounded_absolutes(deviations) * units[heard])


def _proportional(covariance: Floats, factor: float) -> Callable[[Floats], Floats]:
    """E|a z| of an elliptical law: a multiple of the standard deviation of a z."""
    return lambda rows: factor * np.sqrt(variances_along(rows, covariance))


def _ellipsoid(norm: Norm, heard: NDArray[np.intp], units: Floats, steps: list[Fraction], falloff: NormLaw) -> Noise:
    """`|F z|_2`: covariance `(F'F)^-1`, times s + 1 for the exponential fall-off.

    There z = r F^-1 w with r from Gamma(s), w uniform on the sphere: E r = s and E|w_1| = Gamma(s/2) / (sqrt(pi)
    Gamma((s+1)/2)), while E r^2 / s = s + 1. The quotient is the factor from a standard deviation to a mean absolute value.
    """
    s, factor = len(heard), norm.factor
    inverse = np.linalg.inv(factor)
    covariance, absolute = inverse @ inverse.T, math.sqrt(2 / math.pi)
    if falloff is NormLaw.EXPONENTIAL:
        covariance = (s + 1) * covariance
        absolute = s * math.exp(math.lgamma(s / 2) - math.lgamma((s + 1) / 2)) / math.sqrt(math.pi * (s + 1))
    sampler = RoundAndReject(EllipsoidGrid(_in_steps(norm, steps), falloff))
    return Noise(sampler, heard, units, covariance, _proportional(covariance, absolute))


def _box(norm: Norm, heard: NDArray[np.intp], units: Floats, steps: list[Fraction]) -> Noise:
    """`max w_k |z_k|`: z = r v / w with r from Gamma(s + 1) and v uniform on the cube, so Var v = 1/3 and E|v| = 1/2."""
    s, sides = len(heard), 1 / norm.map[heard]
    sampler = RoundAndReject(BoxGrid(_weights(norm, heard, steps)))
    return Noise(sampler, heard, units, (s + 1) * (s + 2) / 3 * sides**2, own_absolutes=(s + 1) / 2 * sides)


def _capped(norm: Norm, heard: NDArray[np.intp], units: Floats, steps: list[Fraction]) -> Noise:
    """A box with its corners cut: z = r v / w with r from Gamma(s + 1) and v uniform on the capped cube, with either sign."""
    assert isinstance(norm, CappedNorm)
    s, sides, cap = len(heard), 1 / norm.weights[heard], Fraction(norm.cap)
    weights = [Fraction(float(w)) * step for w, step in zip(norm.weights[heard], steps, strict=True)]
    body = capped_cube(s, cap)
    covariance = (s + 1) * (s + 2) * float(body.square) * sides**2
    return Noise(
        RoundAndReject(CappedGrid(weights, cap)), heard, units, covariance, own_absolutes=(s + 1) * float(body.mean) * sides
    )


def _gauge(norm: Norm, heard: NDArray[np.intp], units: Floats, steps: list[Fraction]) -> Noise:
    assert isinstance(norm, Gauge)
    s = len(heard)
    sampler = _Lazy(partial(gauge_grid, norm, tuple(steps)), norm.body.simplices.size)
    return Noise(sampler, heard, units, (s + 1) * (s + 2) * norm.second_moment, partial(_of_cones, norm))


def _of_cones(norm: Gauge, rows: Floats) -> Floats:
    """E|a z| for each row a under the gauge's own law: on the cone of a simplex z = sum t_i v_i with standard exponentials."""
    vertices = norm.scale * norm.body.vertices.floats
    signed = np.concatenate([vertices, -vertices])[norm.body.simplices]
    return np.array([norm.body.weights @ mean_absolute(signed @ row) for row in rows])


def _bundles(norm: Norm, heard: NDArray[np.intp], units: Floats, steps: list[Fraction]) -> Noise:
    """Gauges of bundles, z_B = r_B U_B, U_B uniform on the ball of g_B: r_B from Gamma(s_B + 1), independent, for the sum, one
    r from Gamma(s + 1) for the largest. Bundles are uncorrelated."""
    assert isinstance(norm, BundleNorm)
    s = len(heard)
    places = [np.searchsorted(heard, bundle) for bundle in norm.places]
    covariance, absolutes = np.zeros((s, s)), np.zeros(s)
    for gauge, where in zip(norm.gauges, places, strict=True):
        own = gauge.dimension
        shared = own if norm.combine == "sum" else s
        covariance[np.ix_(where, where)] = (shared + 1) * (shared + 2) * gauge.second_moment
        absolutes[where] = (shared + 1) / (own + 1) * _of_cones(gauge, np.eye(own))
    sampler = _Lazy(partial(_bundle_grid, norm, places, steps), sum(gauge.body.simplices.size for gauge in norm.gauges))
    return Noise(sampler, heard, units, covariance, own_absolutes=absolutes)


def _bundle_grid(norm: BundleNorm, places: list[NDArray[np.intp]], steps: list[Fraction]) -> BundleGrid:
    """The norm in grid steps, on the coordinates that get noise."""
    parts = [gauge_grid(g, tuple(steps[k] for k in where.tolist())) for g, where in zip(norm.gauges, places, strict=True)]
    return BundleGrid(parts, [where.tolist() for where in places], norm.combine)


class _Lazy:
    """The sampler of polytope gauges, built at once or, where proving `size` indices of
    triangulations takes longer than all moments, at the first draw."""

    def __init__(self, grid: Callable[[], GridNorm], size: int) -> None:
        self.grid = grid
        if size <= PROVEN_AT_ONCE:
            self.prove()

    @cached_property
    def sampler(self) -> RoundAndReject:
        return RoundAndReject(self.grid())

    def prove(self) -> RoundAndReject:
        """The sampler, its triangulation proven; `InvalidProblem` where it cannot be, or where noise and steps do not fit."""
        return self.sampler

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        return self.prove().draw(size, entropy)


def gauge_grid(norm: Gauge, steps: tuple[Fraction, ...]) -> PolytopeGrid:
    """The gauge in grid steps, its triangulation proven."""
    return PolytopeGrid(*gauge_parts(norm, steps))


def gauge_parts(norm: Gauge, steps: tuple[Fraction, ...]) -> tuple[Rationals, list[list[int]], Rationals]:
    """Vertices, simplices and facets of the gauge in grid steps: vertices divided, facets multiplied by the steps, both halves
    of the symmetric body."""
    body, scale = norm.body, Fraction(norm.scale)
    vertices = [[c * scale / step for c, step in zip(row, steps, strict=True)] for row in body.vertices.fractions()]
    facets = [[c / scale * step for c, step in zip(row, steps, strict=True)] for row in body.facets.fractions()]
    count = len(vertices)
    opposite = np.where(body.simplices < count, body.simplices + count, body.simplices - count)
    return (
        vertices + [[-c for c in row] for row in vertices],
        np.concatenate([body.simplices, opposite]).tolist(),
        facets + [[-c for c in row] for row in facets],
    )


# Steps of 2^-40 noise scales: rounding a query moves the answer over n records by at most n 2^-41 scales.
FINENESS = 40
# Where noise is so wide that these steps would swallow the entries themselves, steps keep 2^-30 of the largest entry, as long
# as the noise still fits 64-bit integers in every sampler: no finer than 2^-48 scales.
ENTRY_FINENESS, FINEST = 30, 48
# Of the floats. A whole number below 2^53 times a power of two from here on is a float, or beyond all of them, and a larger one
# rounds as it would without the power: scaled after rounding, every multiple of such a step is the nearest float.
LEAST_EXPONENT = -1074


@dataclass(frozen=True)
class Grid:
    """Steps `2^exponents[k]`, one for each measured coordinate.

    exponents: whole numbers, one for each measured coordinate.
    """

    exponents: tuple[int, ...]
    _powers: NDArray[np.int64] | None = field(init=False, repr=False, compare=False)  # None where a step is no float
    schema = noted("Exponents e: measured answer k is a multiple of 2^e_k.", or_runs(list_of(whole(least=-1999, most=1999))))

    def __post_init__(self) -> None:
        kinds = {e: count(e, "grid.exponents", least=-2000) for e in dict.fromkeys(self.exponents)}
        floats = min(kinds, default=0) >= LEAST_EXPONENT
        assign(self, exponents=tuple(kinds[e] for e in self.exponents))
        assign(self, _powers=np.array(self.exponents, dtype=np.int64) if floats else None)

    @classmethod
    def for_scales(cls, matrix: Matrix, scales: Floats, *, whole: bool = False) -> Grid:
        """Steps of about `2^-FINENESS` noise scales, coarser only where the entries of `matrix` would exceed
        `LARGEST_MULTIPLE` steps, finer only where noise is more than 1,000 times wider than the entries.

        A coordinate without noise (scale 0) gets the coarsest grid that holds its entries exactly, if they fit.
        whole: every coordinate gets that grid, unless the one of its scale is coarser: whole numbers for whole numbers.
        matrix: (R, N). scales: (R,), in the units of the answers.
        """
        rows = _rows_with_entries(matrix, scales)
        exponents = [_exponent(row, scale) for row, scale in rows.kinds]
        if whole:
            exponents = [max(fine, coarsest_exponent(row)) for fine, (row, _) in zip(exponents, rows.kinds, strict=True)]
        return cls(tuple(exponents[kind] for kind in rows.places))

    @property
    def steps(self) -> Floats:
        """The steps as floats, exact powers of two."""
        return np.ldexp(1.0, np.array(self.exponents, dtype=np.int64))

    def step(self, k: int) -> Fraction:
        """One step as a rational number."""
        return Fraction(2) ** self.exponents[k]

    def integers(self, matrix: Floats) -> NDArray[np.int64]:
        """Each row of `matrix` rounded to multiples of its step.

        matrix: (R, N). Returns (R, N). `InvalidProblem` beyond 2^52 steps.
        """
        with np.errstate(over="ignore"):
            multiples = np.rint(np.ldexp(matrix, -np.array(self.exponents, dtype=np.int64)[:, None]))
        if (np.abs(multiples) > LARGEST_MULTIPLE).any():
            k = int(np.argwhere(np.abs(multiples) > LARGEST_MULTIPLE)[0][0])
            raise InvalidProblem(
                f"grid.exponents[{k}]: {self.exponents[k]} makes entries beyond 2^52 steps; use a larger exponent."
            )
        integers = np.asarray(multiples, dtype=np.int64)
        with np.errstate(over="ignore"):
            if not np.isfinite(self.values(integers)).all():
                raise InvalidProblem("grid.exponents: entries round to numbers beyond the floats; use a smaller exponent.")
        return integers

    def multiples(self, matrix: Matrix) -> Matrix:
        """`integers`, and of compressed rows compressed rows of integers; of intervals these themselves, whose step is 1."""
        if isinstance(matrix, np.ndarray):
            return self.integers(matrix)
        exponents = np.array(self.exponents, dtype=np.int64)
        if isinstance(matrix, IntervalRows):
            if exponents.any():
                raise InvalidProblem("grid.exponents: ranges are counted in whole numbers; every exponent must be 0.")
            return matrix
        places = row_places(matrix)
        with np.errstate(over="ignore"):
            entries = np.rint(np.ldexp(matrix.data, -exponents[places]))
        if (np.abs(entries) > LARGEST_MULTIPLE).any():
            k = int(places[np.abs(entries) > LARGEST_MULTIPLE][0])
            raise InvalidProblem(
                f"grid.exponents[{k}]: {self.exponents[k]} makes entries beyond 2^52 steps; use a larger exponent."
            )
        return with_entries(matrix, entries.astype(np.int64))

    def nearest_floats(self, multiples: Sequence[int]) -> Floats:
        """The floats nearest to multiples of any size, (R,), of the steps; see `nearest_float`."""
        if self._powers is not None:
            return np.asarray(np.ldexp(np.array(multiples, dtype=np.float64), self._powers))
        return np.array([nearest_float(number * self.step(k)) for k, number in enumerate(multiples)])

    def values(self, integers: Matrix) -> Matrix:
        """The multiples as floats; exact below 2^53 steps. Coordinates run along the first axis.

        integers: (R, ...). Returns the same shape, in the units of the answers; see `multiples` for rows that are described.
        """
        if isinstance(integers, IntervalRows):
            return integers
        if not isinstance(integers, np.ndarray):
            exponents = np.array(self.exponents, dtype=np.int64)[row_places(integers)]
            return with_entries(integers, np.ldexp(integers.data.astype(np.float64), exponents))
        return np.ldexp(
            integers.astype(np.float64), np.array(self.exponents, dtype=np.int64).reshape(-1, *[1] * (integers.ndim - 1))
        )


def nearest_float(value: Fraction) -> float:
    """Post-processing of one noisy answer; beyond the floats it is infinite, because a refusal would depend on the data."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


@dataclass(frozen=True)
class _RowKinds:
    """Rows by their entries and noise scales: `kinds[places[k]]` are those of row k."""

    kinds: list[tuple[Floats, float]]
    places: Sequence[int]


def _rows_with_entries(matrix: Matrix, scales: Floats) -> _RowKinds:
    """Every row with its scale; where the entries of a row are alike, as those of intervals, each kind of them once."""
    if isinstance(matrix, np.ndarray):
        return _RowKinds([(row, float(scale)) for row, scale in zip(matrix, scales, strict=True)], range(len(scales)))
    largest = largest_entries(matrix)
    if not isinstance(matrix, IntervalRows) and (np.abs(matrix.data) != largest[row_places(matrix)]).any():
        parts = np.split(matrix.data, matrix.indptr[1:-1])
        return _RowKinds([(np.append(part, 0.0), float(s)) for part, s in zip(parts, scales, strict=True)], range(len(scales)))
    pairs = np.stack([scales, largest])
    values, places = np.unique(pairs, axis=1, return_inverse=True)
    return _RowKinds([(np.array([entry]), float(scale)) for scale, entry in values.T.tolist()], places.ravel().tolist())


def coarsest_exponent(row: Floats) -> int:
    """The largest e such that every entry is a multiple of 2^e.

    row: (N,); 0 where all entries are 0.

    >>> coarsest_exponent(np.array([6.0, 4.0])), coarsest_exponent(np.array([0.75]))
    (1, -2)
    """
    mantissas, exponents = np.frexp(row[row != 0])
    if not len(mantissas):
        return 0
    integers = (mantissas * 2.0**53).astype(np.int64)
    trailing = np.log2((integers & -integers).astype(np.float64))
    return int((exponents - 53 + trailing).min())


def _exponent(row: Floats, scale: float) -> int:
    largest = float(np.abs(row).max())
    least = int(np.frexp(largest)[1]) - 52 if largest else -1022
    if scale == 0.0:
        return max(least, min(0, coarsest_exponent(row)))
    width = int(np.frexp(scale)[1]) - 1
    for_entries = int(np.frexp(largest)[1]) - 1 - ENTRY_FINENESS if largest else width
    return max(least, min(width - FINENESS, max(for_entries, width - FINEST)))

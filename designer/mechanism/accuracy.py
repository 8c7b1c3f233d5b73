"""How far the noise of each answer reaches with a given probability: the margin of one answer, where `error_bounds` speaks of
all at once.

| law of the answer | margin |
| --- | --- |
| one Laplace or Gaussian coordinate | the quantile of the discrete law, to a step of the grid |
| a sum of Laplace coordinates, an ellipsoid, a gauge | the quantile of the continuous law from its characteristic function, an
upper bound with a tail within 2e-6 of the one asked for, and what the grid adds |
| a box, one coordinate | the quantile of the continuous law, closed, and what the grid adds |
| jointly Gaussian, or normal and rounded | the quantile of the continuous law, and what the grid adds |
| anything else: several coordinates of a box, gauges of very many simplices, grids as coarse as the noise | a bound on the
safe side: the dual norm times a Gamma quantile, Chernoff, or Chebyshev |

Why the grid adds no more than that: docs/theory/foundations.md, section 5, and `joint_noise` in
`designer.mechanism.bounds`.

Accuracy (alpha, beta) of DX Definition 8, in l1 and in l-infinity: how far all answers together are off, with what
probability, at any histogram of n records.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.checks import positive, shown
from designer.base.errors import DesignFailed, InvalidProblem
from designer.base.progress import track
from designer.certificate.norms import Gauge
from designer.mechanism.bounds import (
    AdditiveLaw,
    MagnitudeSum,
    cell,
    continuous_deviations,
    error_bounds,
    largest_quantile,
    reach,
)
from designer.problem.compressed_rows import difference, entries_of
from designer.sampling.integer_margins import bisected, gaussian_margin, laplace_margin
from designer.sampling.margins import NoiseFacts

ErrorNorm = Literal["l1", "linf"]
# Up to so many answers all signs of their errors are gone through.
SIGNED = 12
# No beta below is looked for, nor to more than the part e^(-27.6 / 2^20).
LEAST_BETA, HALVINGS = 1e-12, 20
LEAST_SHARE = 1e-300  # of a tail, below which floats end and no quantile of the continuous law is looked for


@dataclass(frozen=True)
class AccuracyBound:
    """`P(||Z - Q x|| >= alpha) <= beta` for every histogram x of n records, Z the release: DX Definition 8.

    bias: the part of alpha that comes from answering P in the place of Q: `n max_i ||(P - Q)_i||`, over elements i.
    """

    norm: ErrorNorm
    n: float
    alpha: float
    beta: float
    bias: float


def accuracy_of(
    mechanism: AdditiveLaw, n: float, beta: float | None = None, alpha: float | None = None, norm: ErrorNorm = "l1"
) -> AccuracyBound:
    """Find the least alpha that is proven for `beta`, or the least beta for `alpha`. Source: DX Definition 8. Raises
    `InvalidProblem` unless one of the two is given. In l1 it is the law of `sum |Y_k|` itself for independent Laplace noise,
    a proven bound for all other noise (`_l1_tails`). In linf it is as in `ErrorBounds.high_probability`.

    Parameters
    ----------
    mechanism : with additive noise.
    n : the number of records.
    beta : the probability of a larger error, between 0 and 1.
    alpha : the error that is to be kept.
    norm : "l1" or "linf".
    """
    if norm not in ("l1", "linf"):
        raise InvalidProblem(f'norm: {shown(norm)} is unknown; use "l1" or "linf".', value=norm)
    if (beta is None) == (alpha is None):
        raise InvalidProblem("beta, alpha: give one of the two; the other one is what is found.")
    records = positive(n, "n")
    off = difference(mechanism.effective, mechanism.workload.matrix)
    bias = records * float((np.asarray(off.sum(axis=0)) if norm == "l1" else entries_of(off)).max(initial=0.0))

    tails = _l1_tails(mechanism) if norm == "l1" else [Tail(lambda share: _linf_quantile(mechanism, share))]
    if beta is not None:
        if not isinstance(beta, (int, float)) or not 0 < beta < 1:
            raise InvalidProblem(f"beta: {shown(beta)} is not a probability between 0 and 1.", value=beta)
        return AccuracyBound(norm, records, _above(bias + min(tail.quantile(beta) for tail in tails)), float(beta), bias)
    wanted = positive(alpha, "alpha")
    left = wanted * (1 - 1e-12) - bias
    found = min(tail.beyond(left) for tail in tails) if left > 0 else 1.0
    if not found < 1:
        raise DesignFailed(
            f"alpha: {wanted} is kept with no proven probability, the bias alone may be {bias:.6g}; ask for a larger alpha.",
            value=wanted,
        )
    return AccuracyBound(norm, records, wanted, max(found, LEAST_BETA), bias)


def _above(bound: float) -> float:
    """Beyond what errors exceed rarely: the definition counts errors equal to alpha as failures."""
    return float(bound) * (1 + 1e-9) + 5e-324


@dataclass(frozen=True)
class Tail:
    """A tail that is known by its quantiles: `quantile(delta)` is a t with `P(error > t) <= delta`."""

    quantile: Callable[[float], float]

    def beyond(self, t: float) -> float:
        """`P(error >= t) <=` this: the smallest delta found whose quantile is below t; 1 where none is."""
        if self.quantile(LEAST_BETA) < t:
            return LEAST_BETA
        low, high = math.log(LEAST_BETA), 0.0
        for _ in track(range(HALVINGS), "looking for beta"):
            middle = (low + high) / 2
            low, high = (low, middle) if self.quantile(math.exp(middle)) < t else (middle, high)
        return math.exp(high)


def _linf_quantile(mechanism: AdditiveLaw, delta: float) -> float:
    bounds = error_bounds(mechanism, 1.0, delta)
    return bounds.high_probability - bounds.bias[2]


def _l1_tails(mechanism: AdditiveLaw) -> list[MagnitudeSum | Tail]:
    """Tails of `||Y||_1` for the noise Y of the answers, `Y = T z`, z on the grid; all hold, the least counts.

    - Independent Laplace z: `||T z||_1 <= sum_j w_j |z_j|`, `w_j = ||T_j||_1` (columns), with equality where T is diagonal, so
      that the law of the answers' own noise is exact.
    - Exponential: `||T z||_1 <= ||T (z + h)||_1 + sum_k a_k` and `||T y||_1 <= R ||y||`, so with `P <= e^(2r) P` of cells
      (`joint_noise`) the quantile of a Gamma(s) counts R times. `R = max over signs e of the dual norm of e'T`; above 12
      answers the sum of the rows' dual norms.
    - Gaussian: `E exp(c e'T z) <= exp(c^2 sigma_e^2 / 2)` for every vector of signs e, so `P(||T z||_1 >= t) <= sum over e of
      exp(-t^2 / (2 sigma_e^2))`; above 12 answers each answer stays within `sigma_k sqrt(2 ln(2 K / delta))`, all together.
      Normal noise y that is rounded to z has the same moments before, and `||T z||_1 <= ||T y||_1 + sum_k a_k`.
    """
    heard, rows = mechanism.noise.heard, mechanism.noise.rows(mechanism.reconstruction)
    if not rows.any():
        return [Tail(lambda _: 0.0)]
    if mechanism.falloff != "exponential":
        return [_gaussian_tail(mechanism, rows)]
    if mechanism.norm.order != "l1" or mechanism.norm.map.ndim != 1:
        return [_exponential_tail(mechanism, rows)]
    steps = mechanism.grid.steps[heard]
    weights = np.abs(rows).sum(axis=0) * steps
    law = MagnitudeSum(weights[weights > 0], (mechanism.norm.map[heard] * steps)[weights > 0])
    return [law] if mechanism.reconstruction is None else [law, _exponential_tail(mechanism, rows)]


def _exponential_tail(mechanism: AdditiveLaw, rows: Floats) -> Tail:
    from scipy.stats import gamma

    (r, reaches), size = cell(mechanism), len(mechanism.noise.heard)
    longest = float(_signed_reaches(mechanism, rows).max()) if len(rows) <= SIGNED else float(reach(mechanism).sum())
    return Tail(lambda delta: longest * float(gamma.isf(delta * math.exp(-2 * r), size)) + float(reaches.sum()))


def _gaussian_tail(mechanism: AdditiveLaw, rows: Floats) -> Tail:
    total = float(reach(mechanism).sum())
    rounded = float(cell(mechanism)[1].sum()) if mechanism.falloff == "rounded_gaussian" else 0.0

    def apart(delta: float) -> float:
        return total * math.sqrt(2 * math.log(2 * len(rows) / delta)) + rounded

    if len(rows) > SIGNED:
        return Tail(apart)
    sizes = _signed_reaches(mechanism, rows)
    sizes = sizes[sizes > 0]

    def quantile(delta: float) -> float:
        def holds(t: float) -> bool:
            return 2 * float(np.exp(-((t / sizes) ** 2) / 2).sum()) <= delta  # each e with its negative

        farthest = float(sizes.max()) * math.sqrt(2 * math.log(2 * len(sizes) / delta))
        return min(apart(delta), bisected(holds, 0.0, farthest) + rounded)

    return Tail(quantile)


def _signed_reaches(mechanism: AdditiveLaw, rows: Floats) -> Floats:
    """The dual norms of `e'T` for all vectors e of signs, one of each pair e, -e."""
    signs = np.array([(1.0, *rest) for rest in product((1.0, -1.0), repeat=len(rows) - 1)])
    return mechanism.norm.reach(signs @ rows)


SERIES, MOST_SERIES = 2**10, 5 * 10**7  # terms of the characteristic function of a sum: about 3 s
MOST_SUMMED = 6000  # terms of sums whose discrete laws are convolved: about 3 s
FEW_TERMS = 80  # of a sum: rounding them up adds at most 2 % of what Chernoff's bound says
MOST_TERMS = 10**9  # of characteristic functions of sums: about 5 s
MOST_FACTORS = 2 * 10**8  # complex numbers in the characteristic functions of a gauge: about 5 s
ROUGH = 1e-6  # of the tail of a gauge: a tenth of the terms
FINE = 1e-6  # of a norm: cells this small add nothing worth a second bound
ROUNDED_DRAWS = 16  # times as long as others take to draw normal vectors that are rounded
FINE_CELL = 0.02  # of a norm: what half a step adds to margins is a few per cent at most
TERMS = 2**12  # of a characteristic function, as far as cost is foreseen


def answer_margins(mechanism: AdditiveLaw, confidence: float) -> Floats:
    """Numbers t, (K,), with `P(|noise in answer k| <= t_k) >= confidence`; 0 for answers without noise. See the table above.

    confidence: between 0 and 1.
    """
    beyond = 1 - confidence
    own = _of_coordinates(mechanism, beyond)
    if own is not None and mechanism.reconstruction is None:
        return mechanism.noise.spread_out(own)
    rows = mechanism.noise.rows(mechanism.reconstruction)
    found = np.zeros(len(rows))
    single = np.count_nonzero(rows, axis=1) == 1
    if own is not None:
        found[single] = np.abs(rows[single]) @ own
    rest = np.flatnonzero(rows.any(axis=1) & ~(single & (own is not None)))
    if len(rest):
        joint = mechanism.falloff == "exponential"
        found[rest] = _joint(mechanism, beyond, rest) if joint else _of_rows(mechanism, beyond)[rest]
    return found


def facts_of(mechanism: AdditiveLaw) -> NoiseFacts:
    """By which law `answer_margins` go, and whether it attains them."""
    heard, single = len(mechanism.noise.heard), _one_each(mechanism)
    apart = mechanism.norm.map.ndim == 1 and (mechanism.norm.order == "l1" or mechanism.falloff != "exponential")
    if single and apart:
        rounded = mechanism.falloff == "rounded_gaussian"
        words = f"quantiles of the {'rounded normal' if rounded else 'discrete'} law of each coordinate"
        return NoiseFacts(words, True, heard, heard)
    fine = cell(mechanism)[0] <= FINE_CELL
    if mechanism.falloff != "exponential":
        slower = ROUNDED_DRAWS if mechanism.falloff == "rounded_gaussian" else 1
        return NoiseFacts("quantiles of the normal law, and what the grid adds", fine, heard * slower)
    rows = mechanism.noise.rows(mechanism.reconstruction)
    if not fine and mechanism.norm.order == "l1" and mechanism.norm.map.ndim == 1 and _is_summed(kinds_of(rows)[0]):
        return NoiseFacts("quantiles of the discrete law of each sum, up to its rounding", True, heard)
    box = single and mechanism.norm.order == "linf" and mechanism.norm.map.ndim == 1
    if box or _continuous(mechanism, rows) is not None:
        return NoiseFacts("quantiles of the continuous law, and what the grid adds", fine, heard)
    return NoiseFacts("bounds by the norm and by the variance", False, heard)


def _one_each(mechanism: AdditiveLaw) -> bool:
    """Whether no answer hears more than one coordinate."""
    if mechanism.reconstruction is None:
        return True
    return bool((np.count_nonzero(mechanism.noise.rows(mechanism.reconstruction), axis=1) <= 1).all())


def _of_coordinates(mechanism: AdditiveLaw, beyond: float) -> Floats | None:
    """The margins of the heard coordinates themselves, (s,), where their own law is known; None elsewhere."""
    norm, noise = mechanism.norm, mechanism.noise
    if norm.map.ndim == 2 or mechanism.falloff == "rounded_gaussian":
        return None
    weights, steps = norm.map[noise.heard], noise.steps[noise.heard]
    if norm.order == "l1":
        return _of_each(lambda rate: laplace_margin(rate, beyond), weights * steps) * steps
    if mechanism.falloff == "gaussian":
        return _of_each(lambda rate: gaussian_margin(rate**-2, beyond), weights * steps) * steps
    return _of_box(mechanism, beyond) / weights if norm.order == "linf" else None


def _of_each(margin: Callable[[float], float], rates: Floats) -> Floats:
    """The margin of every rate, (s,), found once for each."""
    kinds, places = np.unique(rates, return_inverse=True)
    return np.array([margin(rate) for rate in kinds.tolist()])[places.ravel()]


def _of_box(mechanism: AdditiveLaw, beyond: float) -> float:
    """In units of one side: `P(r U > x) = Q(s + 1, x) - x Q(s, x) / s`, r from Gamma(s + 1), U uniform on (0, 1), Q the upper
    regularised incomplete Gamma function."""
    from scipy.special import gammaincc

    s, (r, _) = len(mechanism.noise.heard), cell(mechanism)
    high = 1.0

    def holds(x: float) -> bool:
        return float((gammaincc(s + 1, x) - x * gammaincc(s, x) / s) * math.exp(2 * r)) <= beyond

    while not holds(high):
        high *= 2
    return bisected(holds, 0.0, high, 80) * (1 + 1e-12) + r  # half a step of this coordinate is at most r of its sides


def _of_rows(mechanism: AdditiveLaw, beyond: float) -> Floats:
    """Jointly Gaussian noise, (K,): cells on fine grids, the exponential moments on coarse ones (`joint_noise`); normal noise
    that is rounded moves by what rounding adds."""
    from scipy.stats import norm

    (r, reaches) = cell(mechanism)
    if mechanism.falloff == "rounded_gaussian":
        return np.asarray(reach(mechanism) * norm.isf(beyond / 2) + reaches)
    deviations = reach(mechanism)  # of the continuous law, which a coarse grid may be below
    by_cells = deviations * norm.isf(beyond * math.exp(-(r**2) / 2) / 2) + reaches
    return np.asarray(np.minimum(by_cells, deviations * math.sqrt(2 * math.log(2 / beyond))))


def _joint(mechanism: AdditiveLaw, beyond: float, wanted: np.ndarray) -> Floats:
    """Noise with an exponential fall-off in the answers `wanted`: the least of the bounds that there are."""
    from scipy.stats import gamma

    rows = mechanism.noise.rows(mechanism.reconstruction)[wanted]
    r, reaches = cell(mechanism)
    share = beyond * math.exp(-2 * r)
    with np.errstate(over="ignore"):
        chebyshev = np.exp(r) * (continuous_deviations(mechanism)[wanted] + reaches[wanted]) / math.sqrt(beyond)
    norms = reach(mechanism)[wanted] * gamma.isf(share, max(1, len(mechanism.noise.heard))) + reaches[wanted]
    found = np.minimum(chebyshev, norms)
    continuous = _continuous(mechanism, rows) if share > LEAST_SHARE else None
    if continuous is not None:
        kinds, place = kinds_of(rows)
        quantiles = np.array([continuous(row, share) for row in kinds])
        found = np.minimum(found, quantiles[place] + reaches[wanted])
    if mechanism.norm.order == "l1" and mechanism.norm.map.ndim == 1 and r > FINE:
        found = np.minimum(found, _of_sums(mechanism, rows, beyond))
    return np.asarray(found)


def _of_sums(mechanism: AdditiveLaw, rows: Floats, beyond: float) -> Floats:
    """Sums of discrete Laplace noise from their own law, of many terms from its characteristic function; whole numbers for sums
    that are, and infinite where there are too many terms for that."""
    from designer.mechanism.nesting import equal_parts, sum_margin

    heard = mechanism.noise.heard
    steps = mechanism.noise.steps[heard]
    rates = mechanism.norm.map[heard] * steps
    kinds, place = kinds_of(rows)
    sums = [(np.abs(row * steps)[row != 0], rates[row != 0]) for row in kinds]
    terms = np.count_nonzero(kinds)
    if terms > MOST_SUMMED:
        if terms * SERIES > MOST_SERIES:
            return np.full(len(rows), np.inf)
        found = [sum_margin(*one, beyond) * (1 + 1e-9) for one in sums]
    elif len({equal_parts(*one) for one in sums}) < len(kinds):
        summed = cache(_summed)
        found = [sum_margin(*one, beyond, summed) for one in sums]
    else:
        found = [largest_quantile((row * steps)[None, :], rates, beyond) for row in kinds]
    whole = (kinds * steps == np.rint(kinds * steps)).all(axis=1)
    nothing = np.array([np.tanh(own / 2).prod() for _, own in sums]) * (1 - 1e-12)  # the chance that no term has noise
    return np.asarray(np.where(nothing >= 1 - beyond, 0.0, np.where(whole, np.floor(found), found))[place])


def _is_summed(kinds: Floats) -> bool:
    """Whether `_of_sums` of these rows (D, s) attains their law: to a part in 4,096 of its reach for each term that is rounded
    up, or to 2e-6 from characteristic functions."""
    terms = np.count_nonzero(kinds, axis=1)
    if terms.sum() > MOST_SUMMED:
        return bool(terms.sum() * SERIES <= MOST_SERIES)
    return bool(terms.max(initial=0) <= FEW_TERMS)


def _summed(parts: tuple[float, ...], beyond: float) -> float:
    """Of parts by factor, rate and how many there are."""
    factors, rates, times = np.array(parts).reshape(-1, 3).T
    return largest_quantile(np.repeat(factors, times.astype(np.intp))[None, :], np.repeat(rates, times.astype(np.intp)), beyond)


def kinds_of(rows: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """The different rows up to their sign, and which of them each row is.

    rows: (K, s). Returns (D, s) and (K,).
    """
    signs = np.sign(rows[np.arange(len(rows)), (rows != 0).argmax(axis=1)])
    kinds, place = np.unique(rows * np.where(signs == 0, 1.0, signs)[:, None], axis=0, return_inverse=True)
    return kinds, np.asarray(place.ravel(), dtype=np.intp)


def _continuous(mechanism: AdditiveLaw, rows: Floats) -> Callable[[Floats, float], float] | None:
    """From a row and a probability to the margin of the continuous law; None where none is computed."""
    from solvers.programs.tails import LaplaceLaw, symmetric_margin

    norm = mechanism.norm
    if isinstance(norm, Gauge):
        return _of_gauge(norm) if norm.body.simplices.size * TERMS * len(rows) <= MOST_FACTORS else None
    if norm.order == "l1" and norm.map.ndim == 1:
        scales = 1 / norm.map[mechanism.noise.heard]
        laws = [_counted(row * scales) for row in kinds_of(rows)[0]]
        if sum(len(law) for law in set(laws)) * TERMS <= MOST_TERMS:
            margin = cache(lambda law, beyond: symmetric_margin(LaplaceLaw(*np.array(law).T), beyond))
            return lambda row, beyond: margin(_counted(row * scales), beyond)
    if norm.order != "l2":
        return None
    inverse, power = np.linalg.inv(norm.factor), (len(mechanism.noise.heard) + 1) / 2
    unit: dict[float, float] = {}

    def elliptical(row: Floats, beyond: float) -> float:
        if beyond not in unit:
            unit[beyond] = symmetric_margin(LaplaceLaw(np.ones(1), power), beyond)
        return float(np.linalg.norm(row @ inverse)) * unit[beyond]

    return elliptical


def _counted(factors: Floats) -> tuple[tuple[float, int], ...]:
    """The sizes of the terms of a sum, (s,), and how many there are of each, those that are alike to twelve digits of the
    largest as one. Each is moved up: a sum of symmetric unimodal terms is farther off the wider they are (Birnbaum)."""
    sizes = np.abs(factors[factors != 0])
    unit = float(sizes.max(initial=0.0)) * 2.0**-40
    values, times = np.unique(np.rint(sizes / unit) + 1, return_counts=True)
    return tuple(zip((values * unit).tolist(), times.tolist(), strict=True))


def _of_gauge(norm: Gauge) -> Callable[[Floats, float], float]:
    """On the cone of a simplex the noise is a sum of its vertices with independent standard exponentials. Simplices of the same
    heights are one, and so are those of the opposite ones; heights that differ by 1e-12 of the largest are the same."""
    from solvers.programs.tails import cone_margin

    vertices = norm.scale * norm.body.vertices.floats
    signed = np.concatenate([vertices, -vertices])[norm.body.simplices]

    def of_row(row: Floats, beyond: float) -> float:
        heights = np.sort(signed @ row, axis=1)
        largest = np.abs(heights).max()
        whole = np.rint(heights / largest * 1e12)
        up = np.where((whole.sum(axis=1) >= 0)[:, None], whole, -whole[:, ::-1])
        kinds, which = np.unique(up, axis=0, return_inverse=True)
        weights: Floats = np.asarray(np.bincount(which.ravel(), weights=norm.body.weights), dtype=np.float64)
        return cone_margin(weights, kinds * 1e-12, beyond, ROUGH) * float(largest) * (1 + 1e-9)

    return of_row

"""How large lattice noise gets in each answer: what is proven without simulation (docs/theory/lattice.md, 8).

| noise | standard error | margin |
| --- | --- | --- |
| on a lattice of rank 1 | that of the discrete law | its quantile |
| Gaussian | that of the continuous counterpart, from above | `2 e^(-t^2 / (2 v))`, v its variance |
| exponential in an l2 norm or an ellipsoid | the same | Gaussians with the continuous law of their scale |
| exponential in l1 | that of independent Laplace noise | the same; Chernoff's bound of the norm, times the query's dual norm |

For other norms, and for chains, nothing is proven, and the bounds are refused.

Moments of lattice noise in the answers: by the law of a cell where the statistics are classes or two margins, summed over the
lattice where few vectors matter, those of continuous noise where these are proven to be as near; simulated elsewhere, with the
error of the simulation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, frozen
from designer.base.display import share_at_most
from designer.base.errors import DesignFailed
from designer.certificate.norms import Gauge, Norm
from designer.lattice.law import LatticeLaw
from designer.mechanism.interface import Falloff
from designer.problem.workload import Workload
from designer.sampling.integer_gaussian import DiscreteGaussian
from designer.sampling.integer_laplace import DiscreteLaplace
from designer.sampling.integer_margins import bisected, gaussian_margin, laplace_margin
from designer.sampling.margins import NoiseFacts
from solvers.lattices.cell_laws import CellLaw, gaussian_weight, l1_weight, law_of_cell, mixed_laws
from solvers.lattices.kernel import integer_kernel, pseudo_inverse
from solvers.limited import linear_program

SIMULATED_DRAWS, LEAST_DRAWS = 20_000, 150  # of the noise, where its error is asked for: a few seconds
PROPOSALS, SIMULATED_CELLS = 500_000, 2**24
NEGLIGIBLE = 1e-10  # of the second moments: what longer vectors would add
ROUNDED = 1e-8  # of variances that are summed: what was left out, and rounding
FEW_DIMENSIONS, MOST_DIMENSIONS = 3, 8
MOST_PLACES = 10_000_000  # of the box of coordinates in the basis that holds the vectors that matter
MOST_PRODUCTS = 800_000_000  # of places and rows of the norm: a second or two
CHUNK = 200_000
MOST_SORTED = 20_000_000  # sizes of answers that are put in order: some 3 s
SIZE_TOLERANCE = 1e-12  # of sizes that are one, but for floats
VAGUE = 0.05  # of a standard error: what a simulation may be off by before a bound says more
CONTINUOUS_ERROR = 0.02  # of a variance: what continuous noise may be above noise on a lattice, to stand for it
MOST_REDUCED = 200  # ranks of lattices whose bases take half a second
PARTS = (0.02, 0.05, 0.1, 0.2, 0.4)  # of an exponent, given up for a factor before it
TERMS = 60  # of a sum over a line
SMALLEST_SCALE, LARGEST_SCALE, MOST_LOG, ENDS = 0.01, 20.0, 50.0, 300  # of a mixture, over half the dimension; of a sum; slices
UNSEEN = 100  # times what was not summed, at least, is a probability that the sums tell
SUMMED = "quantiles of the discrete law, summed over the lattice"
OF_SLICES = "quantiles of continuous noise at the values that an answer takes, proven for the lattice"
SLICED = 0.02  # the logarithm of what slices of the lattice may differ by
UNLIKELY = 1e-9  # of a law: scales and sizes that are not summed
MOST_SLICED, MOST_ENTRY = 40_000, 2**31  # queries times squared ranks whose slices take a moment; entries of a query
MOST_ORDER, MOST_STEPS = 300, 2**17  # ranks whose densities floats hold; values of an answer


class Moments(NamedTuple):
    """The covariance (K, K) of the noise in the answers, and its mean absolute values (K,), None where draws alone tell them.

    draws: behind the covariance; 0 where it is computed. uncertain: the largest relative standard error of a simulated standard
    error. bounded: how many standard errors are proven bounds, in the place of a simulation that says next to nothing. above:
    by which share, at most, standard errors that are computed may be too large.
    """

    second: Floats
    absolute: Floats | None
    draws: int = 0
    uncertain: float = 0.0
    bounded: int = 0
    above: float = 0.0

    @property
    def errors(self) -> Floats:
        """Standard errors, (K,); those that are summed are rounded up by what sums leave out."""
        return np.sqrt(self.second.diagonal() * (1 if self.draws else 1 + ROUNDED))

    @property
    def words(self) -> str:
        """What standard errors are where they are not computed, in a sentence; empty where they are."""
        if self.above > ROUNDED:
            return f"Standard errors are those of continuous noise, at most {share_at_most(self.above)} too large."
        if not self.draws:
            return ""
        simulated = f"simulated with {self.draws:,} draws, to about {share_at_most(2 * self.uncertain)}"
        if not self.bounded:
            return f"Standard errors are {simulated}."
        if self.bounded == len(self.second):
            return "Standard errors are at most these: proven bounds, because draws hardly ever move the answers."
        return f"Standard errors are {simulated}; {self.bounded} of them are at most these, proven bounds."


def drawn_moments(noise: Floats, queries: Floats, symmetric: tuple[Floats, int] | None, bounds: Floats) -> Moments:
    """Moments of draws of the noise on the table, (draws, N), in the answers to `queries`, (K, N).

    symmetric: the projections of the queries onto the span of the lattice, and its rank, where the law is the same under
    permutations that leave no part of the span alone: the covariance is then one number times the products of the projections,
    and all cells tell of that number (Schur's lemma). bounds: of the standard errors, from above, (K,); they take the place of
    simulated ones that are off by more than `VAGUE`.
    """
    answers, draws = noise @ queries.T, len(noise)
    if symmetric is None:
        squares, second = np.square(answers), answers.T @ answers / draws
    else:
        squares = np.square(noise).sum(axis=1)[:, None]
        second = symmetric[0] @ symmetric[0].T * (float(squares.mean()) / symmetric[1])
    means = squares.mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.where(means > 0, squares.std(axis=0) / means / math.sqrt(draws) / 2, np.inf)  # of standard errors
    spread = np.broadcast_to(spread, bounds.shape)
    vague = (spread > VAGUE) & np.isfinite(bounds) & (bounds > 0)
    simulated = spread[~vague & np.isfinite(spread)]
    with np.errstate(divide="ignore", invalid="ignore"):
        wider = np.where(vague & (second.diagonal() > 0), bounds / np.sqrt(second.diagonal()), 1.0)
    second = second * np.outer(wider, wider)
    second[vague, vague] = np.square(bounds[vague])
    uncertain = float(simulated.max(initial=0.0))
    return Moments(frozen(second), frozen(np.abs(answers).mean(axis=0)), draws, uncertain, int(vague.sum()))


def draws_for(acceptance: float, cells: int) -> int:
    """As many draws as 500,000 proposals or 16 million cells give, from 150 to 20,000."""
    return min(SIMULATED_DRAWS, max(LEAST_DRAWS, min(int(PROPOSALS * acceptance), SIMULATED_CELLS // cells)))


def continuous_moments(law: LatticeLaw, falloff: Falloff, queries: Floats) -> Moments | None:
    """The covariance of the continuous noise of the same norm, l2 or an ellipsoid, which is above that of the noise on the
    lattice by at most `CONTINUOUS_ERROR` of it; None where that is not proven (docs/theory/lattice.md, 8). queries: (K, N)."""
    found = _measured(law, queries)
    gap = 1.0 if found is None else float((_gap if falloff == "gaussian" else _gap_of_mixture)(*_kinds(found[1])))
    if found is None or not gap <= CONTINUOUS_ERROR:
        return None
    along, spread = found[0], 1.0 if falloff == "gaussian" else law.relation.invariant.freedom + 1.0
    return Moments(frozen(spread * along @ along.T), None, above=(1 - gap) ** -0.5 - 1)


def _measured(law: LatticeLaw, queries: Floats) -> tuple[Floats, Floats] | None:
    """Of a norm l2, or an ellipsoid: the queries, (K, ...), whose lengths are the deviations of the continuous Gaussian law,
    and the squared Gram-Schmidt lengths, (m,), of a basis; None for other norms, and where a basis takes long."""
    norm, layout = law.norm, law.relation.invariant.layout
    if isinstance(norm, Gauge) or norm.order != "l2":
        return None
    squares = None if layout is None or not law.equal_weights else layout.steepness
    if layout is not None and squares is not None:
        weight = float(norm.map[0])
        return layout.projected(queries) / weight, squares * weight**2
    if law.relation.invariant.freedom > MOST_REDUCED:
        return None
    basis = law.lattice.basis.astype(np.float64)
    triangle = _triangle(law, basis)
    along = np.asarray(np.linalg.solve(triangle.T, basis @ queries.T).T, dtype=np.float64)
    return along, np.asarray(np.diagonal(triangle) ** 2, dtype=np.float64)


def _triangle(law: LatticeLaw, vectors: NDArray[Any]) -> Floats:
    """Of vectors of the lattice, (s, N), in the coordinates of the norm: the triangular factor, whose diagonal are their
    Gram-Schmidt lengths."""
    image = np.atleast_2d(law.norm.factor) @ np.asarray(vectors, dtype=np.float64)[:, law.columns].T
    return np.asarray(np.linalg.qr(image, mode="r"), dtype=np.float64)


def _kinds(squares: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """The values that differ among some, (k,), and how often each is there, (k,): the vectors of a basis are often alike."""
    values, counts = np.unique(squares, return_counts=True)
    return values, counts


def _gap(squares: Floats, counts: NDArray[np.intp]) -> Floats:
    """By which share of it, at most, the variance of `exp(-|z|^2 / 2)` on a lattice is below that of the continuous law, along
    any direction. squares: (..., k), of the Gram-Schmidt lengths of a basis, and how often each is there; (...,)."""
    parts = np.array(PARTS)
    rates = (1 - parts)[:, None] * (2 * math.pi**2 / squares[..., None, :])
    with np.errstate(over="ignore"):
        return np.asarray((2 / (math.e * parts) * np.expm1(_dual(rates, counts))).min(axis=-1))


def _dual(rates: Floats, counts: NDArray[np.intp]) -> Floats:
    """A bound of `log sum exp(-rate |w|^2)` over the dual lattice, whose Gram-Schmidt lengths are the inverses: the product of
    one-dimensional sums, each largest where it is centred. rates: (..., k), of which each is there so many times; (...,)."""
    flat = rates.reshape(-1, rates.shape[-1])
    slowest = flat.min(axis=1)
    found = np.full(len(flat), math.inf)
    summed = np.flatnonzero(slowest * TERMS**2 > 100)
    terms = np.zeros((len(summed), flat.shape[1]))
    for n in range(1, TERMS + 1):
        left = np.flatnonzero(slowest[summed] * n**2 < 750)  # other terms are 0
        if not len(left):
            break
        terms[left] += np.exp(-(n**2) * flat[summed[left]])
    found[summed] = np.log1p(2 * terms) @ counts
    return found.reshape(rates.shape[:-1])


def _gap_of_mixture(squares: Floats, counts: NDArray[np.intp]) -> float:
    """The same of `exp(-|z|)`, a mixture of Gaussians of variances 2 g, g weighed like a Gamma((m + 1) / 2) number times the
    sum over the dual lattice. Gap and sum fall in g, so each slice of scales has at most those of its lower end; below the
    first the sum is at most that over the lattice, at its end, times `det / (4 pi g)^(m/2)`, which leaves `g^(-1/2)`."""
    from scipy.special import gammainc, gammaln

    m = int(counts.sum())
    shape = (m + 1) / 2
    ends = np.geomspace(SMALLEST_SCALE, LARGEST_SCALE, ENDS) * shape
    shares = np.diff(gammainc(shape, ends), append=1.0)
    weighted = np.diff(gammainc(shape + 1, ends), append=1.0)
    gaps = np.minimum(1.0, _gap(squares / (2 * ends[:, None]), counts))
    lost = float(gammainc(shape + 1, ends[0])) + float(weighted @ gaps)
    logs = _dual(4 * math.pi**2 * ends[:, None] / squares, counts)
    known = math.log(2) + 0.5 * (math.log(ends[0]) + float(np.log(squares) @ counts)) - m / 2 * math.log(4 * math.pi)
    first = float(_dual(squares / (4 * ends[0]), counts)) + known - float(gammaln(shape))
    if max(first, float(logs.max())) > MOST_LOG:
        return 1.0
    more = math.exp(first) + float((shares * np.expm1(logs)).sum())
    return float(1 - (1 - lost) / (1 + more))


class CellLaws(NamedTuple):
    """Exact laws of single cells. law: of each cell, by the place of its shape in `laws`, (N,), -1 where no change moves it.
    scale: (N,), the variance along the projection of a query is the sum of the squares of its entries times these."""

    law: NDArray[np.int64]
    laws: tuple[CellLaw, ...]
    scale: Floats
    projected: Callable[[Floats], Floats]

    def moments(self, queries: Floats) -> Moments:
        """Of the noise in answers to queries, (K, N)."""
        rest = self.projected(queries)
        return Moments(frozen((rest * self.scale) @ rest.T), None)

    def tails(self, queries: Floats) -> SummedTails | None:
        """The laws of answers to queries, (K, N), that are each a multiple of one cell; None where some are not."""
        sizes, beyond = [], []
        for row in queries:
            places = np.flatnonzero(row)
            if len(places) > 1:
                return None
            masses = self.laws[self.law[places[0]]].masses if len(places) and self.law[places[0]] >= 0 else np.ones(1)
            half = masses[len(masses) // 2 :] * np.where(np.arange(len(masses) // 2 + 1), 2.0, 1.0)
            sizes.append(frozen(np.abs(row[places]).sum() * np.arange(len(half))))
            beyond.append(frozen(np.append(np.cumsum(half[:0:-1])[::-1], 0.0)))
        return SummedTails(tuple(sizes), tuple(beyond), ROUNDED)


def cell_laws(law: LatticeLaw, falloff: Falloff) -> CellLaws | None:
    """The laws of cells where statistics are classes with public sums, or two margins of a table with one element for each
    combination, under one weight; None elsewhere, for a single direction, and where they take long."""
    known, norm = law.relation.invariant.structure, law.norm
    if known is None or known.freedom < 2 or not law.equal_weights or norm.order not in ("l1", "l2"):
        return None
    parts: list[tuple[NDArray[np.intp], tuple[int, ...]]] = []
    if known.kind == "margins":
        if len(known.levels) != 2 or known.repeats != 1:
            return None
        parts.append((np.arange(known.size), known.levels))
    else:
        parts += [(np.array([cell]), ()) for cell in known.free.tolist()]
        parts += [(block, (len(block),)) for block in known.blocks() if len(block) > 1]
    counts: dict[tuple[int, ...], int] = {}
    for _, shape in parts:
        counts[shape] = counts.get(shape, 0) + 1
    rate, found = float(norm.map[0]), None
    if norm.order == "l2" and falloff == "exponential":
        found = mixed_laws(counts, rate) if known.freedom > FEW_DIMENSIONS else None  # sums over the lattice are quick
    else:
        weight = l1_weight(rate) if norm.order == "l1" else gaussian_weight(rate**-2)
        single = {shape: law_of_cell(shape, *weight) for shape in counts}
        found = {shape: own for shape, own in single.items() if own is not None}
    if found is None or len(found) < len(counts):
        return None
    shapes = tuple(counts)
    places, scale = np.full(known.size, -1), np.zeros(known.size)
    for cells, shape in parts:
        free = 1 if not shape else math.prod(n - 1 for n in shape)
        places[cells], scale[cells] = shapes.index(shape), found[shape].variance * len(cells) / free
    return CellLaws(places, tuple(found[shape] for shape in shapes), frozen(scale), known.projected)


class SummedTails(NamedTuple):
    """The law of the size of the noise in every answer. sizes: of answer k, (L_k,), in rising order; beyond: (L_k,), the
    probabilities of more than each of them. left: a bound of the probability of all that was not summed."""

    sizes: tuple[Floats, ...]
    beyond: tuple[Floats, ...]
    left: float

    def margins(self, beyond: float) -> Floats | None:
        """The least t, (K,), with `P(|noise in answer k| > t_k) <= beyond`, but for what was not summed; None where that is no
        small part of it."""
        if beyond < UNSEEN * self.left:
            return None
        places = (int(np.argmax(tail + self.left <= beyond)) for tail in self.beyond)
        return np.array([own[place] for own, place in zip(self.sizes, places, strict=True)])


def summed_tails(law: LatticeLaw, falloff: Falloff, queries: Floats) -> SummedTails | None:
    """The law of the noise in each answer to `queries`, (K, N), summed like `summed_moments`; None where that takes long. The
    norm is l1, l2 or an ellipsoid, of which tails are proven (docs/theory/lattice.md, 8)."""
    found = _box(law, falloff)
    if found is None or math.prod((2 * found.reach + 1).tolist()) * len(queries) > MOST_SORTED:
        return None
    moves = law.lattice.basis.astype(np.float64) @ queries.T
    mass = 0.5
    parts: list[list[tuple[Floats, Floats]]] = [[(np.zeros(1), np.full(1, 0.5))] for _ in queries]
    for points, weights in _weighted(law.norm, falloff, found):
        mass += float(weights.sum())
        for own, part in zip(np.abs(points @ moves).T, parts, strict=True):
            part.append(_merged([(own, weights)]))
    merged = [_merged(part) for part in parts]
    dimension, length = law.relation.invariant.freedom, found.length
    size, degrees = (length, dimension) if falloff == "exponential" else (length**2 / 2, dimension / 2)
    left = math.exp(degrees * math.log(size / degrees) + degrees - size)
    tails = tuple(frozen(np.append(np.cumsum(masses[:0:-1])[::-1], 0.0) / mass) for _, masses in merged)
    return SummedTails(tuple(frozen(sizes) for sizes, _ in merged), tails, left + ROUNDED)


def sliced_tails(law: LatticeLaw, falloff: Falloff, queries: Floats) -> SummedTails | None:
    """An upper bound of the law of the noise in each answer to `queries`, (K, N), under an l2 norm or an ellipsoid: continuous
    noise at the values that the answer takes, times what slices of the lattice differ by at most (docs/theory/lattice.md, 8).
    None where that is more than `SLICED` of it, and where steps of answers or bases of slices are not known."""
    found, dimension = _measured(law, queries), law.relation.invariant.freedom
    if found is None or not 1 < dimension <= MOST_ORDER:
        return None
    degrees = (dimension + 1) / 2
    least = 0.5 if falloff == "gaussian" else math.exp((math.log(UNLIKELY) + math.lgamma(degrees)) / degrees)  # of scales
    few, moved = len(queries) * dimension**2 <= MOST_SLICED, law.seen(queries)
    slices = [_slice(law, query, found[1], few) if moves else STILL for query, moves in zip(queries, moved, strict=True)]
    differing = {id(own.squares): own.squares for own in slices if own is not None}
    kinds = {known: _kinds(squares) for known, squares in differing.items()}
    more = {known: _dual(4 * math.pi**2 * least / values, counts) for known, (values, counts) in kinds.items()}
    known: dict[tuple[float, float], tuple[Floats, Floats] | None] = {(0.0, 0.0): (frozen(np.zeros(1)), frozen(np.zeros(1)))}
    sizes, beyond = [], []
    for own, length in zip(slices, np.linalg.norm(found[0], axis=1).tolist(), strict=True):
        if own is None or not more[id(own.squares)] <= SLICED:
            return None
        key = (own.step, float(f"{length:.12g}")) if own.step else (0.0, 0.0)
        if key not in known:
            known[key] = _sliced(*key, degrees, falloff)
        if (one := known[key]) is None:
            return None
        sizes.append(one[0])
        beyond.append(frozen(np.minimum(math.exp(more[id(own.squares)]) * one[1], 1.0)))
    return SummedTails(tuple(sizes), tuple(beyond), 2 * math.exp(SLICED) * UNLIKELY + ROUNDED)


class _Slice(NamedTuple):
    """step: of an answer; 0 where nothing moves it. squares: (m,), squared Gram-Schmidt lengths of a basis of the vectors that
    leave it alone, or of one of which that is a part."""

    step: float
    squares: Floats


STILL = _Slice(0.0, frozen(np.full(1, 1e-9)))


def _slice(law: LatticeLaw, query: Floats, squares: Floats, most: bool) -> _Slice | None:
    """What a query, (N,), makes of the lattice, whose squared Gram-Schmidt lengths are `squares`, (m,); None where that is not
    known. most: whether a basis may be computed.

    Where statistics are of a known layout, one basis has a single vector that reaches the last cell, and permutations make
    every cell the last. Elsewhere the vectors are the kernel of the statistics and the query, of which a basis is computed.
    """
    layout, cells = law.relation.invariant.layout, np.flatnonzero(query)
    if layout is not None and law.equal_weights and layout.steepness is not None and len(cells) == 1:
        return _Slice(abs(float(query[cells[0]])), squares)
    if not most or (query != np.rint(query)).any() or np.abs(query).max() > MOST_ENTRY:
        return None
    whole = query.astype(np.int64)
    rest = integer_kernel(np.vstack([law.constraints, whole]))
    step = math.gcd(*(abs(int(move)) for move in law.lattice.basis @ whole.astype(object)))
    return _Slice(float(step), np.asarray(np.diagonal(_triangle(law, rest.basis)) ** 2))


def _sliced(step: float, deviation: float, degrees: float, falloff: Falloff) -> tuple[Floats, Floats] | None:
    """The values that an answer takes, `j step`, (L,), and the sums of `step` times the density of the continuous law over all
    values of larger size, less `UNLIKELY` at most; None where these are many."""
    from scipy.special import gammaln, kve

    if falloff == "gaussian":
        reach = math.sqrt(2 * math.log(2 / UNLIKELY))
    else:
        rates = np.arange(1, TILTS) / TILTS  # Chernoff: E e^(s x) = (1 - s^2)^(-degrees)
        reach = float(((math.log(2 / UNLIKELY) - degrees * np.log1p(-(rates**2))) / rates).min())
    if reach * deviation > step * MOST_STEPS:
        return None
    places = np.arange(math.ceil(reach * deviation / step) + 1.0)
    at = places[1:] * step / deviation
    if falloff == "gaussian":
        logs = -(at**2) / 2 - math.log(2 * math.pi) / 2
    else:  # a Gaussian whose variance is twice a Gamma number: Bessel's function
        order = degrees - 0.5
        with np.errstate(over="ignore", divide="ignore"):
            logs = order * np.log(at / 2) + np.log(kve(order, at)) - at - math.log(math.pi) / 2 - gammaln(degrees)
        logs = np.minimum(np.nan_to_num(logs, nan=np.inf), gammaln(order) - gammaln(degrees) - math.log(4 * math.pi) / 2)
    terms = 2 * step / deviation * np.exp(logs)
    return frozen(step * places), frozen(np.append(np.cumsum(terms[::-1])[::-1], 0.0))


def _merged(parts: list[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """Different sizes in rising order, and the weight of each; sizes that floats alone tell apart count as the larger one."""
    sizes, weights = (np.concatenate(kind) for kind in zip(*parts, strict=True))
    order = np.argsort(sizes, kind="stable")
    sizes, weights = sizes[order], weights[order]
    last = np.append(np.flatnonzero(np.diff(sizes) > SIZE_TOLERANCE * (1 + sizes[1:])), len(sizes) - 1)
    return sizes[last], np.diff(np.append(0.0, np.cumsum(weights)[last]))


def summed_moments(law: LatticeLaw, falloff: Falloff, queries: Floats) -> Moments | None:
    """Moments of the noise in the answers to `queries`, (K, N), by summing
    `exp(-||z||)`, or `exp(-||z||^2 / 2)`, over all lattice vectors whose norm is below what matters; None where these are many.

    What is left out is about `NEGLIGIBLE` of the sums: as much as a Gamma law has beyond there.
    """
    found = _box(law, falloff)
    if found is None:
        return None
    moves = law.lattice.basis.astype(np.float64) @ queries.T
    mass, second, absolute = 0.5, np.zeros((len(queries), len(queries))), np.zeros(len(queries))
    for points, weights in _weighted(law.norm, falloff, found):
        answers = points @ moves
        mass += float(weights.sum())
        second += answers.T @ (answers * weights[:, None])
        absolute += weights @ np.abs(answers)
    return Moments(frozen(second / mass), frozen(absolute / mass))


class LatticeBox(NamedTuple):
    """The coordinates in the basis, from `-reach` to `reach` (s,), that hold all vectors of norms up to `length`.
    basis: (s, R), of the measured cells."""

    basis: Floats
    reach: NDArray[np.int64]
    length: float


def _box(law: LatticeLaw, falloff: Falloff) -> LatticeBox | None:
    """The vectors that matter; None where they are many."""
    dimension = law.relation.invariant.freedom
    if dimension > MOST_DIMENSIONS:
        return None
    shortest = float(np.asarray(law.norm(law.lattice.basis[:, law.columns].astype(np.float64))).min())
    box = box_within(law, _length_that_matters(dimension, shortest, falloff == "gaussian"))
    places = math.inf if box is None else math.prod((2.0 * box.reach + 1).tolist())
    rows = len(law.norm.body.facets.floats) if isinstance(law.norm, Gauge) else law.norm.dimension
    return box if places <= MOST_PLACES and places * rows <= MOST_PRODUCTS else None


def box_within(law: LatticeLaw, length: float) -> LatticeBox | None:
    """All vectors of norms up to a length, in few dimensions; None elsewhere."""
    if law.relation.invariant.freedom > MOST_DIMENSIONS:
        return None
    basis = law.lattice.basis[:, law.columns].astype(np.float64)
    return LatticeBox(basis, np.floor(length * _widths(law.norm, basis) * (1 + 1e-9)).astype(np.int64), length)


def _length_that_matters(dimension: int, shortest: float, squared: bool) -> float:
    """Norms above it have weights that matter less than `NEGLIGIBLE`, beside those of the shortest vector that is known."""
    from scipy.special import gammainccinv

    if squared:
        return float(math.sqrt(2 * gammainccinv(dimension / 2 + 1, NEGLIGIBLE) + shortest**2))
    return float(gammainccinv(dimension + 2, NEGLIGIBLE)) + shortest


def _widths(norm: Norm, basis: Floats) -> Floats:
    """The largest coordinate in the basis, (s,), of vectors whose norm is at most 1, or a bound above it."""
    if isinstance(norm, Gauge):
        vertices = norm.scale * norm.body.vertices.floats
        return np.asarray(np.abs(np.linalg.solve(basis.T, vertices.T)).max(axis=1))
    image = np.atleast_2d(norm.factor) @ basis.T
    longer = math.sqrt(len(image)) if norm.order == "linf" else 1.0  # an l1 norm is at least the l2 norm
    widths = longer * np.sqrt(np.diagonal(np.linalg.inv(image.T @ image)))
    return np.asarray(np.minimum(widths, np.abs(pseudo_inverse(image)).max(axis=1)) if norm.order == "l1" else widths)


def half_of(box: LatticeBox) -> Iterator[NDArray[np.int64]]:
    """One of each pair z, -z of vectors in the box but 0, in coordinates of the basis, (n, s), in chunks."""
    shape = tuple((2 * box.reach + 1).tolist())
    count = math.prod(shape)
    for start in range(count // 2 + 1, count, CHUNK):
        places = np.arange(start, min(start + CHUNK, count))
        yield np.stack(np.unravel_index(places, shape), axis=1) - box.reach


def _weighted(norm: Norm, falloff: Falloff, box: LatticeBox) -> Iterator[tuple[NDArray[np.int64], Floats]]:
    """The same with their weights, (n,); 0, which is left out, has 1."""
    for points in half_of(box):
        lengths = np.asarray(norm(points @ box.basis))
        yield points, np.exp(-lengths if falloff == "exponential" else -(lengths**2) / 2)


if TYPE_CHECKING:
    from designer.lattice.chain import ChainPlan
    from designer.lattice.sampler_choice import LatticeChoice
    from designer.relations.invariants.changes import ChangeRelation, InvariantDistance
    from solvers.lattices.kernel import Lattice


class LatticeNoise(Protocol):
    """What the bounds need to know of a mechanism: the law of its noise, and the answers that it reaches."""

    @property
    def family(self) -> str: ...
    @property
    def workload(self) -> Workload: ...
    @property
    def relation(self) -> ChangeRelation | InvariantDistance: ...
    @property
    def norm(self) -> Norm: ...
    @property
    def falloff(self) -> str: ...
    @property
    def cells(self) -> tuple[int, ...] | None: ...
    @property
    def chain(self) -> ChainPlan | None: ...
    @property
    def choice(self) -> LatticeChoice: ...
    @property
    def columns(self) -> NDArray[np.intp]: ...
    @property
    def lattice(self) -> Lattice: ...
    @property
    def dimension(self) -> int: ...


BOUNDS = "proven bounds of noise on a lattice (docs/theory/lattice.md, 8)"
SLICES = 4000  # of the law of the scale of a mixture, for margins
MANY = 200  # dimensions, and linear programs of as many variables
TILTS = 64  # that Chernoff's bound is tried at
ROOMY = 1 + 1e-9  # for the floats that added a bound up


def error_bounds_of_answers(mechanism: LatticeNoise) -> Floats:
    """Upper bounds of the standard deviation of the noise in each answer, (K,); exact for rank 1."""
    if mechanism.dimension == 1:
        steps, weight = _one_direction(mechanism)
        return steps * math.sqrt(_variance_of_one(mechanism.falloff, weight))
    if mechanism.norm.order == "l2" and mechanism.chain is None:
        spread = mechanism.dimension + 1 if mechanism.falloff == "exponential" else 1
        return np.sqrt(spread * _along(mechanism)) * ROOMY
    return _by_cells(mechanism)


def margin_bounds_of_answers(mechanism: LatticeNoise, beyond: float) -> Floats:
    """Numbers t, (K,), with `P(|noise in answer k| > t_k) <= beyond`; the least ones for rank 1."""
    if mechanism.dimension == 1:
        steps, weight = _one_direction(mechanism)
        exponential = mechanism.falloff == "exponential"
        return np.asarray(steps * (laplace_margin(weight, beyond) if exponential else gaussian_margin(weight**-2, beyond)))
    if mechanism.norm.order == "l2" and mechanism.chain is None:
        normal = math.sqrt(2 * math.log(2 / beyond))
        unit = _mixture_margin(mechanism.dimension, beyond) if mechanism.falloff == "exponential" else normal
        return np.sqrt(_along(mechanism)) * unit * ROOMY
    by_norm = _by_norm(mechanism, _tail_of_norm(mechanism.dimension, beyond))
    return np.asarray(np.minimum(by_norm, _margins_by_cells(mechanism, beyond)) * ROOMY)


def facts_of_lattice(mechanism: LatticeNoise) -> NoiseFacts:
    """By which law the margins of a lattice mechanism go; a draw costs its cells, those of rejected ones, and of the steps of a
    chain."""
    if mechanism.dimension == 1 and mechanism.chain is None:
        return NoiseFacts("the quantile of the discrete law on a line", True, 1.0)
    size, choice = mechanism.relation.size, mechanism.choice
    if choice.sampler is None:
        return NoiseFacts(BOUNDS, False, math.inf)
    steps = 1 if mechanism.chain is None else mechanism.chain.steps
    return NoiseFacts(BOUNDS, False, size * steps / max(choice.acceptance, 1e-12))


def error_bounds_of_rows(mechanism: LatticeNoise, rounding: float) -> Floats:
    """Upper bounds of the standard deviations of noise that is drawn row by row and balanced, (K,).

    rounding: a bound of the covariance that balancing adds, along any direction of the lattice.
    """
    return np.asarray(np.sqrt(np.square(_by_cells(mechanism)) + rounding * _squares(mechanism)) * ROOMY)


def margin_bounds_of_rows(mechanism: LatticeNoise, rounding: float, roundings: int, beyond: float) -> Floats:
    """Numbers t, (K,), with `P(|noise in answer k| > t_k) <= beyond`: the rows' share, and what `roundings` of them, each
    below 1 in every cell, add at most, or (Chebyshev) but for a tenth of `beyond`."""
    rows, weight = mechanism.workload.dense(), float(mechanism.norm.map[0])
    surely = roundings * np.minimum(np.abs(rows).sum(axis=1), np.abs(_weighed(mechanism) * weight).sum(axis=1))
    mostly = np.sqrt(rounding * _squares(mechanism) / (beyond / 10))
    safe = _margins_by_cells(mechanism, beyond) + surely
    return np.asarray(np.minimum(safe, _margins_by_cells(mechanism, 0.9 * beyond) + mostly) * ROOMY)


def _one_direction(mechanism: LatticeNoise) -> tuple[Floats, float]:
    """A lattice of rank 1: what one step of it adds to each answer, (K,), and the norm of a step."""
    _require_known(mechanism)
    step = mechanism.lattice.basis.astype(np.float64)
    return np.abs(mechanism.workload.dense() @ step[0]), float(mechanism.norm(step[:, mechanism.columns])[0])


def _variance_of_one(falloff: str, weight: float) -> float:
    rate = Fraction(weight)
    law = DiscreteLaplace([rate]) if falloff == "exponential" else DiscreteGaussian([1 / rate**2])
    return float(law.variance()[0])


def _along(mechanism: LatticeNoise) -> Floats:
    """`q' (B (B' P B)^-1 B') q` for each query q, (K,): the variances of the continuous Gaussian with the norm's precision."""
    weights, known = mechanism.norm.map, mechanism.relation.invariant.layout
    if known is not None and mechanism.cells is None and weights.ndim == 1 and len(set(weights.tolist())) == 1:
        return np.asarray(np.square(known.projected(mechanism.workload.dense())).sum(axis=1) / float(weights[0]) ** 2)
    basis = mechanism.lattice.basis.astype(np.float64)
    image = np.atleast_2d(mechanism.norm.factor) @ basis[:, mechanism.columns].T
    triangle: Floats = np.asarray(np.linalg.qr(image, mode="r"))
    return np.asarray(np.square(np.linalg.solve(triangle.T, basis @ mechanism.workload.dense().T)).sum(axis=0))


def _mixture_margin(dimension: int, beyond: float) -> float:
    """t with `E min(1, 2 e^(-t^2 / (4 g))) <= beyond`, g from Gamma((m + 1) / 2): upper sums over slices of equal mass."""
    from scipy.stats import gamma

    ends = gamma.isf(np.arange(SLICES)[::-1] / SLICES, (dimension + 1) / 2)[:-1]  # the last slice has no end

    def holds(t: float) -> bool:
        return bool((np.minimum(1.0, 2 * np.exp(-(t**2) / (4 * ends))).sum() + 1) / SLICES <= beyond)

    return bisected(holds, 0.0, math.sqrt(4 * float(ends[-1]) * math.log(4 * SLICES / beyond)))


def _by_norm(mechanism: LatticeNoise, norm: float) -> Floats:
    """The bound by the length of the whole vector, (K,); not tried in many dimensions, where it is worse and takes long."""
    if mechanism.dimension > MANY:
        return np.full(len(mechanism.workload.queries), np.inf)
    return _reach(mechanism) * norm


def _by_cells(mechanism: LatticeNoise) -> Floats:
    """`root 2 |q'|_2`, q' what the statistics leave of a query in units of the weight: independent Laplace noise has that."""
    return np.asarray(np.sqrt(2 * np.square(_weighed(mechanism)).sum(axis=1)) * ROOMY)


def _squares(mechanism: LatticeNoise) -> Floats:
    """`|q'|_2^2`, what the statistics leave of each query, (K,)."""
    return np.asarray(np.square(_weighed(mechanism) * float(mechanism.norm.map[0])).sum(axis=1))


def _margins_by_cells(mechanism: LatticeNoise, beyond: float) -> Floats:
    return np.array([_laplace_margin_of(query, beyond) for query in _weighed(mechanism)])


def _weighed(mechanism: LatticeNoise) -> Floats:
    """Queries less their shifts by statistics that are kept, near the shortest, over the weight: (K, N)."""
    _require_known(mechanism)
    rows, invariant = mechanism.workload.dense(), mechanism.relation.invariant
    if invariant.layout is not None:
        return np.asarray(invariant.layout.projected(rows) / float(mechanism.norm.map[0]))
    kept = invariant.constraints.astype(np.float64)
    shifts = np.linalg.lstsq(kept.T, rows.T, rcond=None)[0]
    return np.asarray((rows - shifts.T @ kept) / float(mechanism.norm.map[0]))


def _laplace_margin_of(query: Floats, beyond: float) -> float:
    """The least t found with `2 e^(-s t) prod 1 / (1 - s^2 q_i^2) <= beyond` for some s; query q: (N,)."""
    squares = np.square(query[query != 0])
    if not len(squares):
        return 0.0
    rates = math.sqrt(1 / squares.max()) * np.arange(1, TILTS) / TILTS
    logs = -np.log1p(-np.multiply.outer(rates**2, squares)).sum(axis=1)
    return float(((logs + math.log(2 / beyond)) / rates).min())


def _reach(mechanism: LatticeNoise) -> Floats:
    """`max |<q, z>| / ||z||_1` over the lattice, (K,), in units of the weight: a query and its shifts by the statistics that
    are kept give the same answers, and the shift of least largest entry gives the bound."""
    _require_known(mechanism)
    constraints, size = mechanism.relation.invariant.constraints.astype(np.float64), mechanism.relation.size
    ones, zero = np.ones((size, 1)), np.zeros(len(constraints))
    found = []
    for query in mechanism.workload.dense():
        below = np.block([[-constraints.T, -ones], [constraints.T, -ones]])
        solved = linear_program(np.append(zero, 1.0), A_ub=below, b_ub=np.concatenate([-query, query]), bounds=(None, None))
        shift = np.asarray(solved.x)[:-1] if solved.success else zero
        found.append(np.abs(query - shift @ constraints).max())
    return np.array(found) * ROOMY / float(mechanism.norm.map[0])


def _require_known(mechanism: LatticeNoise) -> None:
    norm = mechanism.norm
    equal = mechanism.cells is None and norm.map.ndim == 1 and len(set(norm.map.tolist())) == 1
    rank_1 = mechanism.dimension == 1
    if mechanism.chain is not None or not (rank_1 or (norm.order == "l1" and equal and not isinstance(norm, Gauge))):
        raise DesignFailed(
            f"{mechanism.family}: no bound of the noise in an answer is proven for this norm, or for a chain; use the shape "
            "l2, ellipsoid or l1."
        )


def _tail_of_norm(dimension: int, beyond: float) -> float:
    """s with `(s/m)^m e^(m - s) <= beyond`, see `noise_tail` in `designer.lattice.tails`."""
    m = dimension
    high = 2.0 * m - 2 * math.log(beyond)

    def holds(s: float) -> bool:
        return m * math.log(s / m) + m - s <= math.log(beyond)

    while not holds(high):
        high *= 2
    return bisected(holds, float(m), high, 80) * ROOMY

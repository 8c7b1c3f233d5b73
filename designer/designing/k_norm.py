"""The K-norm mechanism: the norm ball is the convex hull of `{+-u/b}`, the smallest that any private norm can have (SEMI
Definition 22; docs/theory/hull.md).

Every private norm ball contains this hull: it is the least in the containment order of Awan and Slavkovic. That does not make
its squared error the least: a ball that is fuller near its centre may contain a needle and yet spread less.
No optimality is claimed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from time import perf_counter
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.checks import count, shown
from designer.base.errors import DesignFailed, InvalidProblem
from designer.base.progress import announce
from designer.certificate.certificate import refuse_infinite
from designer.certificate.norm_kinds import BundleNorm, CappedNorm
from designer.certificate.norms import Gauge, Norm, weighted_l1
from designer.certificate.sensitivity import Pairs, SensitivitySet
from designer.designing.family import Family, Sizes, reached_by_others, refuse_outdone
from designer.designing.laplace import best_weights
from designer.designing.measured import Coordinates, dimension_of, moving_coordinates
from designer.designing.repair import freeze, on_heard, rounded_to_grid
from designer.limits import (
    MOST_BUNDLE_COORDINATES,
    MOST_BUNDLED_DIMENSIONS,
    MOST_CAPPED_DIMENSIONS,
    MOST_HULL_DIMENSIONS,
    MOST_HULL_PAIRS,
    MOST_SIMPLICES,
)
from designer.mechanism.additive import AdditiveMechanism
from designer.problem.relation import Indices
from designer.relations.problem import Problem
from solvers.exact.points import unit_exponents
from solvers.exact.rational import capped_cube, float_below
from solvers.polytopes.extremes import (
    LARGE,
    Push,
    extreme_rows,
    hull_directions,
    least_simplices,
    on_an_ellipsoid,
    require_within,
    simplices_of_corners,
    without_twins,
)
from solvers.polytopes.facets import BACKENDS, Backend, FacetCandidates, HullFailed, require_backend
from solvers.polytopes.triangulation import proof_of
from solvers.programs.scales import (
    Bundling,
    Combine,
    best_bundling,
    bundle_costs,
    bundle_weights,
    equalise_costs,
    minimise_scales,
)
from solvers.rounding import rounded
from solvers.solution import Solution
from solvers.work import CALLS, ENTRIES, OutOfWork, go_on, is_over, proving

HullBackend = Annotated[Backend, "Who proposes the facets of the hull; the proof is the same."]
CDD_SIMPLICES = (
    20_000  # double description takes time in the square of them: seconds here, 2 min for the 68,000 of 4 x 4 tables
)
ROUNDS = 60
START, NEXT = 20_000, 5_000  # pairs that a scan finds, of which for each facet the farthest joins; and at least, later ones
OUTSIDE = 1e-6  # of themselves, differences may lie outside of the hull of a set that is not written out: the repair covers it
ALONG_AXES, FEW_PAIRS = 1e-4, 5000  # seconds for each facet of a cross-polytope; pairs that are looked at to tell one
PARALLEL = 1e-9  # how near directions are that count as one
LONGEST_HULL = 45.0  # seconds, after which more than `MOST_SIMPLICES` simplices are refused


def design_k_norm(
    problem: Problem,
    max_simplices: Annotated[
        int, "Above so many simplices the exact volume of the ball is given up, and the family refused."
    ] = MOST_SIMPLICES,
    backend: HullBackend = "qhull",
) -> AdditiveMechanism:
    """The K-norm mechanism of the hull of the sensitivity set, in its span.

    backend: who proposes the facets, Qhull or cdd (in rationals where pycddlib was built with GMP); both are proven alike.
    Raises `DesignFailed` before any heavy work when the hull has too many dimensions or, by a lower bound, more than
    `max_simplices` simplices, naming families that go on from there.
    """
    proposes = hull_backend("k_norm", backend)
    limit = most_simplices(proposes, count(max_simplices, "options.max_simplices"))
    try:
        coordinates, sensitivity, spanned = spanned_hull("k_norm", problem, limit, proposes)
        scales = on_heard(sensitivity.dimension * sensitivity.worst_coordinates(), coordinates)
        _, rounded = rounded_to_grid(problem, coordinates.matrix(problem), scales)
        heard = SensitivitySet(rounded.relation, rounded.points[:, coordinates.heard])
        with proving():
            gauge = spanned.gauge(heard, lambda differences: on_heard(differences, coordinates))
        made = freeze(problem, "k_norm", coordinates, scales, lambda _: gauge, "exponential")
    except HullFailed as failed:
        raise DesignFailed(f"k_norm: {failed}; use {other_hull(proposes)}{_others(Sizes(problem))}.") from None
    return made.annotated(hull_notes(made.norm))


def spanned_hull(family: str, problem: Problem, limit: int, backend: Backend) -> tuple[Coordinates, SensitivitySet, Spanning]:
    """The coordinates with noise, their differences, and those that span the hull; `HullFailed` above `limit` simplices."""
    dimension = dimension_of(problem)
    if dimension == 0:
        raise DesignFailed(f"{family}: no protected change moves an answer, so there is nothing to shape; use laplace.")
    if dimension > MOST_HULL_DIMENSIONS:
        raise DesignFailed(
            f"{family}: the hull has {dimension} dimensions, more than {MOST_HULL_DIMENSIONS}; use {_others(Sizes(problem))}."
        )
    coordinates = moving_coordinates(problem)
    sensitivity = coordinates.sensitivity(problem)
    refuse_infinite(sensitivity, weighted_l1(np.ones(dimension)))
    return coordinates, sensitivity, spanning(sensitivity, limit, backend)


def _others(sizes: Sizes) -> str:
    """The families that shape noise where a hull is too large, with what they take."""
    bundles = ""
    if sizes.dimension <= MOST_BUNDLED_DIMENSIONS and sizes.pairs <= MOST_HULL_PAIRS:
        seconds = math.ceil(merging_work(sizes.dimension, sizes.pairs))
        bundles = f", or bundles (hulls of up to four coordinates each, about {seconds} s)"
    return f"{sizes.serving}{bundles}"


def hull_backend(family: str, backend: str) -> Backend:
    """The backend that is asked for, known and installed."""
    if backend not in BACKENDS:
        raise InvalidProblem(f"options.backend: {shown(backend)} is unknown; use one of {list(BACKENDS)}.", value=backend)
    try:
        return require_backend(backend)
    except HullFailed as missing:
        raise DesignFailed(f"{family}: options.backend: {missing}.") from None


def most_simplices(backend: Backend, asked: int = MOST_SIMPLICES) -> int:
    """The largest triangulation that is begun: what is asked, and no more than the backend does in seconds."""
    return min(asked, CDD_SIMPLICES) if backend == "cdd" else asked


def other_hull(backend: Backend) -> str:
    """A way on for who asked for the slower backend."""
    return "backend = 'qhull' (larger hulls), " if backend == "cdd" else ""


def hull_notes(norm: Norm) -> dict[str, str]:
    """What is noted of a hull: who proposed it, and that nothing rests on that."""
    return {"hull": norm.proof_words} if norm.proof_words else {}


@dataclass(frozen=True)
class Spanning:
    """Pairs of points, (M,) and (M,), whose differences over the budgets (M,) span the hull of a set, up to the repair that
    follows, and the simplices that are proposed for it; None where they are not known."""

    left: Indices
    right: Indices
    budgets: Floats
    proposed: FacetCandidates | None
    backend: Backend

    def gauge(self, sensitivity: SensitivitySet, spread: Callable[[Floats], Floats] = lambda differences: differences) -> Gauge:
        """The gauge of their hull, of the points of a set that are these up to rounding; spread: from differences (M, s) to
        those of all coordinates, (M, R)."""
        differences = spread(sensitivity.points[self.left] - sensitivity.points[self.right])
        return Gauge(differences, self.budgets, backend=self.backend, proposed=self.proposed)


def spanning(sensitivity: SensitivitySet, limit: int, backend: Backend) -> Spanning:
    """The differences and budgets whose hull is that of the whole set, up to the repair that follows.

    A set that can be written out is reduced by a float hull; a larger one starts from each point's worst partner and adds what
    lies outside until nothing does, but by `OUTSIDE`. Budgets are the exact ones rounded down. `OutOfWork` where the work that
    is left does not reach.
    """
    announce(f"the hull of the differences in {sensitivity.dimension} dimensions, by {backend}")
    if sensitivity.relation.pair_count() > MOST_HULL_PAIRS:
        return _rounded_down(sensitivity, _grown_pairs(sensitivity, limit), None, backend)
    pairs = sensitivity.all_pairs(MOST_HULL_PAIRS)
    vectors = np.ldexp(pairs.normalised, -unit_exponents(np.abs(pairs.normalised).max(axis=0)))
    proposed = None
    if vectors.shape[1] == 1:
        keep = _longest(vectors)
    elif limit >= MOST_SIMPLICES and on_an_ellipsoid(vectors):  # beyond which the gauge refuses
        keep = np.sort(without_twins(vectors, np.arange(len(vectors))))
        require_within(least_simplices(len(keep), vectors.shape[1]), limit, len(keep), vectors.shape[1])
        proposed = simplices_of_corners(vectors[keep], Push.generic(len(keep)), limit, announce)._replace(pushed=len(keep))
    else:
        found_for, found = extreme_rows(vectors, Push.generic(len(vectors), backend), limit, backend, announce)
        keep, proposed = np.sort(found_for), found.renumbered(np.argsort(np.argsort(found_for)))
        _begin_proof(2 * len(found.simplices), vectors.shape[1])
    if proposed is not None and 2 * len(proposed.simplices) <= LARGE:
        proposed = None  # found again in no time, in the order in which the reader of a file finds it
    return _rounded_down(sensitivity, _chosen(pairs, keep), proposed, backend)


def _begin_proof(simplices: int, dimension: int) -> None:
    """Says how long the exact proof takes, where that is long: each simplex is solved and its determinant taken in integers.
    `OutOfWork` where the work or the clock of a caller leaves less."""
    units = proof_of(simplices / 2, dimension) / ENTRIES + simplices / (4 * CALLS)
    if is_over(units):
        raise OutOfWork(f"stopped: the proof of {simplices:,} simplices takes {units:.2g} s or more")
    if units > 2:
        announce(f"{simplices:,} simplices are proven in exact integers, about {units:.0f} s")


def _grown_pairs(sensitivity: SensitivitySet, limit: int) -> Pairs:
    """Pairs whose hull holds all u / b but for `OUTSIDE`: those that are farthest beyond it join until there are none."""
    spread = np.ptp(sensitivity.points, axis=0)
    found = [sensitivity.worst(weighted_l1(ways), START)[1] for ways in (1 / spread, *_ways(spread))]
    held = _joined(sensitivity, found)
    for round_ in range(ROUNDS):
        go_on()
        vectors = held.normalised
        units = np.ldexp(1.0, unit_exponents(np.abs(vectors).max(axis=0)))
        keep, normals = hull_directions(vectors / units, limit)
        started = perf_counter()
        worst, further = sensitivity.worst(Norm(normals / units, "linf"), max(NEXT, 4 * len(normals)), least=1.0)
        announce(
            f"round {round_ + 1} of at most {ROUNDS}, often 5 to 10 and 4 alike ones for the proof: {len(normals):,} facets, "
            f"differences lie up to {max(worst - 1, 0.0):.2g} outside, a search took {perf_counter() - started:.2g} s"
        )
        if worst <= 1 + OUTSIDE:
            return _chosen(held, keep)
        held = _joined(sensitivity, [_chosen(held, keep), _chosen(further, _farthest(normals, further.normalised / units))])
    raise DesignFailed(
        f"k_norm: after {ROUNDS} rounds differences still lie {worst - 1:.2g} outside of the hull of {len(keep)}: it is nearly "
        "round. Use ellipsoid or laplace."
    )


def _farthest(normals: Floats, vectors: Floats) -> NDArray[np.intp]:
    """For every facet the vector that lies farthest beyond it, if any does."""
    farthest = np.zeros(len(normals), dtype=np.intp)
    for start in range(0, len(normals), 256):
        beyond = np.abs(normals[start : start + 256] @ vectors.T)
        row = beyond.argmax(axis=1)
        farthest[start : start + 256] = np.where(beyond[np.arange(len(row)), row] > 1, row, -1)
    return np.unique(farthest[farthest >= 0])


def _ways(spread: Floats) -> Floats:
    """Weights that stress every coordinate in turn, (s, s)."""
    return (np.where(np.eye(len(spread), dtype=bool), 1.0, 1e-3)) / spread


def _chosen(pairs: Pairs, rows: NDArray[np.intp]) -> Pairs:
    return Pairs(pairs.left[rows], pairs.right[rows], pairs.differences[rows], pairs.budgets[rows])


def _joined(sensitivity: SensitivitySet, found: list[Pairs]) -> Pairs:
    """The pairs of several scans, each once."""
    left, right = (np.concatenate([getattr(part, end) for part in found]) for end in ("left", "right"))
    budgets = np.concatenate([part.budgets for part in found])
    _, once = np.unique(left * len(sensitivity.points) + right, return_index=True)
    return sensitivity.pairs(left[once], right[once], budgets[once])


def _rounded_down(sensitivity: SensitivitySet, pairs: Pairs, proposed: FacetCandidates | None, backend: Backend) -> Spanning:
    """These pairs with their exact budgets, rounded down."""
    ends = zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)
    budgets = [sensitivity.relation.exact_budget(left, right) for left, right in ends]
    assert None not in budgets  # pairs are protected
    return Spanning(pairs.left, pairs.right, np.array([float_below(b) for b in budgets if b is not None]), proposed, backend)


def _longest(vectors: Floats) -> NDArray[np.intp]:
    """On a line the hull is an interval."""
    return np.array([int(np.abs(vectors[:, 0]).argmax())], dtype=np.intp)


def merging_work(dimension: int, pairs: int) -> float:
    """About how many seconds bundles are sought: pairs are looked at for each coordinate, and pairs of coordinates merged."""
    return 0.1 + 6e-6 * dimension * pairs + 2.5e-4 * dimension**3


def hull_work(dimension: int, pairs: int) -> float:
    """About how many seconds a hull of so many pairs takes: 5 or 6 times as many for each dimension, up to where it is refused;
    what has too many dimensions is refused at once."""
    if not 1 < dimension <= MOST_HULL_DIMENSIONS:
        return 0.0
    return float(min(LONGEST_HULL, 5.5 ** (dimension - 9) * 0.6 * pairs**0.5))


def _work(sizes: Sizes) -> float:
    """That of a hull, or of a cross-polytope where all differences lie along as many lines as there are dimensions."""
    s = sizes.dimension
    known = hull_work(s, sizes.pairs)
    if known > ALONG_AXES * 2**s and sizes.pairs <= FEW_PAIRS and _directions(sizes) == s:
        return ALONG_AXES * 2.0**s
    return known


def _directions(sizes: Sizes) -> int:
    """Along how many lines the protected differences lie."""
    moves = sizes.coordinates.sensitivity(sizes.problem).all_pairs().differences
    moves = moves / np.linalg.norm(moves, axis=1)[:, None]
    leading = moves[np.arange(len(moves)), (np.abs(moves) > PARALLEL).argmax(axis=1)]
    return len(np.unique((moves * np.sign(leading)[:, None] / PARALLEL).round(), axis=0))


K_NORM = Family(
    "k_norm",
    "K-norm noise in the convex hull of the differences",
    "pure",
    design_k_norm,
    part="designer.programs:k_norm",
    search="The ball is the hull of all differences, which no program chooses; its gauge is a linear program.",
    work=_work,
    gives_up=True,
    fractions=True,
)


# Noise with an l-infinity norm ball: the weighted maximum norm (SEMI Algorithm 6, with a side for each query).


def design_box(problem: Problem) -> AdditiveMechanism:
    """The smallest box that contains every u / b: side k is the largest |u_k| / b.
    Optimal for every loss, because no side can shrink."""
    coordinates = moving_coordinates(problem)
    if not coordinates.heard.any():
        raise DesignFailed("box: no protected change moves an answer, so there is nothing to shape; use laplace.")
    moving = coordinates.sensitivity(problem)
    refuse_infinite(moving, weighted_l1(np.ones(moving.dimension)))
    sides: Floats = moving.worst_coordinates()
    if problem.loss != "absolute":
        s = len(sides)
        refuse_outdone(problem, problem.loss_of(coordinates.answers(problem) ** 2 @ sides**2 * (s + 1) * (s + 2) / 3))
    weights = on_heard(1 / sides, coordinates, np.inf)
    return freeze(problem, "box", coordinates, 1 / weights, lambda _: Norm(weights, "linf"), "exponential")


BOX = Family(
    "box",
    "exponential noise in the smallest box",
    "pure",
    design_box,
    scans_little=True,
    fractions=True,
    program="designer.programs:box",
)


# Hulls of a few coordinates each, put together to noise in many: bundles of coordinates, each with the gauge of the hull of
# the differences in it, and the largest or the sum of these gauges as the norm (docs/theory/bundles.md).
#
# The maximum is for answers that one change moves all at once (one-way marginals under one budget), the sum for answers that
# changes move one bundle at a time (one-way marginals with a budget for each attribute): there they are the K-norm itself, in
# any number of dimensions. In between both are tried, and bundles are merged as long as that pays.


SEARCHED = 2000  # vectors that the search looks at; what is frozen holds all of them
REWEIGHTED = 3  # designs for other losses than the squared one
WAYS: dict[str, tuple[Combine, ...]] = {"best": ("sum", "max"), "sum": ("sum",), "max": ("max",)}


def design_bundles(
    problem: Problem,
    largest: Annotated[int, "How many coordinates go into one bundle at most."] = 4,
    combine: Annotated[Literal["best", "sum", "max"], "How bundles make one norm: their sum, or the largest."] = "best",
) -> AdditiveMechanism:
    """The best bundling found of at most `largest` coordinates each, under the maximum, the sum, or the better of both.

    Bundles are chosen by squared error; for other losses by squared errors with the weights that the loss has at the last
    design, a few times over. Raises `DesignFailed` where nothing moves, beyond 48 dimensions, and where a hull is too large.
    """
    if combine not in WAYS:
        raise InvalidProblem(f"options.combine: {shown(combine)} is unknown; use one of {list(WAYS)}.", value=combine)
    if (most := count(largest, "options.largest")) > MOST_BUNDLE_COORDINATES:
        raise InvalidProblem(
            f"options.largest: {most} coordinates in one hull are too many; use at most {MOST_BUNDLE_COORDINATES}."
        )
    dimension = dimension_of(problem)
    _refuse_dimension(problem, dimension)
    coordinates = moving_coordinates(problem)
    refuse_infinite(coordinates.sensitivity(problem), weighted_l1(np.ones(dimension)))
    vectors, weights = _searched(coordinates.sensitivity(problem)), problem.costs
    made: list[AdditiveMechanism] = []
    for _ in range(1 if problem.loss == "squared" else REWEIGHTED):
        found = min((_bundled(vectors, coordinates, problem, weights, most, way) for way in WAYS[combine]), key=_value)
        if problem.loss == "squared":
            refuse_outdone(problem, found[0].value)
        made.append(_frozen(problem, coordinates, *found, weights))
        weights = _slopes(problem, made[-1], weights)
    return min(made, key=lambda one: _loss(problem, one))


def _refuse_dimension(problem: Problem, dimension: int) -> None:
    if dimension == 0:
        raise DesignFailed("bundles: no protected change moves an answer, so there is nothing to shape; use laplace.")
    if dimension > MOST_BUNDLED_DIMENSIONS:
        raise DesignFailed(
            f"bundles: {dimension} dimensions, more than the {MOST_BUNDLED_DIMENSIONS} whose merges are tried; use "
            f"{Sizes(problem).serving}."
        )


def _searched(sensitivity: SensitivitySet) -> Floats:
    """Vectors u / b for the search, (M, s): all different ones up to sign, or the longest and some from all over."""
    pairs = sensitivity.all_pairs(MOST_HULL_PAIRS).normalised
    size = np.abs(pairs).max(axis=0)
    units = pairs / size
    first = np.take_along_axis(units, np.abs(units).argmax(axis=1)[:, None], axis=1)
    units = np.unique((units * np.sign(first)).round(12), axis=0)
    if len(units) > SEARCHED:
        others = np.linspace(0, len(units) - 1, SEARCHED // 2).astype(np.int64)
        longest = [np.argsort(-np.abs(units).sum(axis=1))[: SEARCHED // 2], np.abs(units).argmax(axis=0)]
        units = units[np.unique(np.concatenate([others, *longest]))]
    return np.asarray(units * size)


Found = tuple[Bundling, Combine]


def _value(found: Found) -> float:
    return found[0].value


def _bundled(vectors: Floats, coordinates: Coordinates, problem: Problem, weights: Floats, largest: int, way: Combine) -> Found:
    """The best bundling one way, for squared errors with these weights of the answers."""
    rows = coordinates.answers(problem)
    announce(f"bundles: merging {rows.shape[1]} coordinates, by the {'largest' if way == 'max' else 'sum'} of gauges")
    ahead = reached_by_others(problem) if problem.loss == "squared" else math.inf
    return best_bundling(vectors, rows.T @ (weights[:, None] * rows), way, largest, ahead), way


def _frozen(
    problem: Problem, coordinates: Coordinates, found: Bundling, combine: Combine, weights: Floats
) -> AdditiveMechanism:
    """The mechanism of a bundling, its hulls those of the differences on the grid."""
    rows = coordinates.answers(problem)
    loss = rows.T @ (weights[:, None] * rows)
    where = np.flatnonzero(coordinates.heard)
    bundles = sorted(found.bundles)

    def shape(rounded: SensitivitySet) -> Norm:
        parts = [SensitivitySet(rounded.relation, rounded.points[:, where[list(bundle)]]) for bundle in bundles]
        gauges = [spanning(part, MOST_SIMPLICES, "qhull").gauge(part) for part in parts]
        if combine == "sum":
            gauges = _shared(rounded, gauges, parts, [loss[np.ix_(bundle, bundle)] for bundle in bundles])
        return BundleNorm(gauges, [where[list(bundle)].tolist() for bundle in bundles], combine, rounded.dimension)

    scales = len(where) * coordinates.sensitivity(problem).worst_coordinates()
    try:
        made = freeze(problem, "bundles", coordinates, on_heard(scales, coordinates), shape, "exponential")
    except HullFailed as failed:
        raise DesignFailed(f"bundles: {failed}; lower options.largest.") from None
    return made.annotated({"hull": made.norm.proof_words})


def _shared(rounded: SensitivitySet, gauges: list[Gauge], parts: list[SensitivitySet], losses: list[Floats]) -> list[Gauge]:
    """The gauges times the weights of least loss that keep every pair within its budget."""
    pairs = rounded.all_pairs(MOST_HULL_PAIRS)
    own = [part.pairs(pairs.left, pairs.right, pairs.budgets).normalised for part in parts]
    lengths = np.stack([gauge.length(gauge.image(rows)) for gauge, rows in zip(gauges, own, strict=True)], axis=1)
    moments = np.array([float((gauge.second_moment * loss).sum()) for gauge, loss in zip(gauges, losses, strict=True)])
    shares = bundle_weights(lengths, bundle_costs([gauge.dimension for gauge in gauges], moments))
    return [gauge.divided(float(1 / share)) for gauge, share in zip(gauges, shares, strict=True)]


def _slopes(problem: Problem, made: AdditiveMechanism, weights: Floats) -> Floats:
    """Weights of squared errors for the next design: the slopes of absolute errors in the variances, or more weight on the
    answers of large error."""
    variances = np.maximum(made.query_variances(), 1e-300)
    if problem.loss == "absolute":
        return np.asarray(problem.costs / np.sqrt(variances))
    errors = problem.costs * variances
    return np.asarray(weights * np.sqrt(errors / errors.max()))


def _loss(problem: Problem, made: AdditiveMechanism) -> float:
    absolutes = made.query_mean_absolutes() if problem.loss == "absolute" else None
    return problem.loss_of(made.query_variances(), absolutes)


def _bundle_work(sizes: Sizes, largest: int = 4, combine: str = "best") -> float:
    """Seconds; 0 where it is refused."""
    s = sizes.dimension
    if sizes.pairs > MOST_HULL_PAIRS or not 0 < s <= MOST_BUNDLED_DIMENSIONS:
        return 0.0
    rounds = 1 if sizes.problem.loss == "squared" else REWEIGHTED
    return rounds * merging_work(s, sizes.pairs)


BUNDLES = Family(
    "bundles",
    "convex hulls of groups of answers, put together",
    "pure",
    design_bundles,
    part="designer.programs:bundles",
    search="Which coordinates share a bundle is searched by merging; the weights of the bundles found are a convex program.",
    work=_bundle_work,
    anytime=True,
    fractions=True,
)


# Exponential noise in a box with its corners cut, `max(max_k v_k |z_k|, sum_k v_k |z_k| / cap)` (docs/theory/bundles.md, 5).
#
# Where a record votes for or against at most k of K questions its ball is the hull of all differences: between Laplace noise,
# for records that answer one, and the box, for records that answer all.


CAP_STEP = 2.0**-30  # caps are such multiples: their moments are shorter rationals, and k items of one size get the cap k
BLENDS = (0.0, 0.25, 0.5, 0.75, 1.0)  # of the weights of the box and those of Laplace noise
REFINED = 2  # of the best blends, the caps for which the best sides are found
TOLERANCE = 1e-6  # of the weights of Laplace noise, and of sides
SHAPE_BITS = 12  # of a shape: far coarser than that tolerance, and what it loses is of second order


def design_capped_l1(problem: Problem) -> AdditiveMechanism:
    """The best of boxes with corners cut: with the caps of the smallest box, of the scales of the best Laplace noise, and of
    geometric means of both, and with the best sides for such a cap.

    Sides are the best for squared errors, or for the loss where each answer has noise in one coordinate. Raises `DesignFailed`
    where nothing moves, and beyond 128 dimensions.
    """
    s = dimension_of(problem)
    if s == 0:
        raise DesignFailed("capped_l1: no protected change moves an answer, so there is nothing to shape; use laplace.")
    if s > MOST_CAPPED_DIMENSIONS:
        raise DesignFailed(
            f"capped_l1: {s} dimensions, more than the {MOST_CAPPED_DIMENSIONS} that are drawn fast; "
            f"use {Sizes(problem).serving}."
        )
    coordinates = moving_coordinates(problem)
    moving = coordinates.sensitivity(problem)
    refuse_infinite(moving, weighted_l1(np.ones(s)))
    rows = coordinates.answers(problem)

    alone = bool((np.count_nonzero(rows, axis=1) <= 1).all())

    def loss(norm: CappedNorm) -> float:
        if problem.loss == "absolute" and alone:
            return problem.loss_of(np.zeros(len(rows)), np.abs(rows) @ _mean_absolutes(norm))
        variances = rows**2 @ _variances(norm)
        return problem.loss_of(variances, np.sqrt(variances) if problem.loss == "absolute" else None)

    costs = problem.costs @ rows**2
    costs = np.maximum(costs, costs.max() * 1e-9)
    blends = sorted(_candidates(moving, costs), key=loss)
    solve: Callable[..., Solution[Floats]] = partial(minimise_scales, costs=costs, power=2)
    if alone and problem.loss == "max":
        solve = partial(equalise_costs, costs=(problem.costs[:, None] * rows**2).max(axis=0), power=2)
    elif alone and problem.loss == "absolute":
        solve = partial(minimise_scales, costs=problem.costs @ np.abs(rows), power=1)
    sides = [_best_sides(moving, norm, solve) for norm in blends[:REFINED]]
    best = min([*blends, *(_fitted(moving, w) for w in sides if w is not None)], key=loss)
    refuse_outdone(problem, loss(best) if problem.loss != "absolute" else 0.0)
    weights = on_heard(best.weights, coordinates, np.inf)
    return freeze(problem, "capped_l1", coordinates, 1 / weights, lambda _: CappedNorm(weights, best.cap), "exponential")


def _candidates(moving: SensitivitySet, costs: Floats) -> list[CappedNorm]:
    """One norm for each blend of weights, at most as long as its budget on every pair, but for roundings."""
    box = 1 / moving.worst_coordinates()
    steady = best_weights(moving, costs, "squared", TOLERANCE)
    if not steady.status.usable:
        return [_fitted(moving, box)]
    return [_fitted(moving, box ** (1 - t) * np.asarray(steady.point) ** t) for t in BLENDS]


def _best_sides(moving: SensitivitySet, norm: CappedNorm, solve: Callable[..., Solution[Floats]]) -> Floats | None:
    """Weights of least cost, (s,), of boxes whose corners are cut at the cap of a norm; None where the solver fails."""
    box = np.diag(moving.worst_coordinates())

    def separate(weights: Floats) -> tuple[float, Floats]:
        worst, pairs = moving.worst(weighted_l1(weights), limit=max(200, 4 * len(box)))
        return max(worst / norm.cap, float((box @ weights).max())), np.abs(pairs.normalised) / norm.cap

    rows = np.concatenate([box, np.abs(moving.worst(norm, limit=max(200, 4 * len(box)))[1].normalised) / norm.cap])
    found = solve(rows, separate=separate, tolerance=TOLERANCE)
    return np.asarray(found.point) if found.status.usable else None


def _fitted(moving: SensitivitySet, shape: Floats) -> CappedNorm:
    """Weights in proportion to `shape` that bring every side of every pair, and the cap all sides together, within the
    budget."""
    shape = rounded(shape, SHAPE_BITS)
    weights = shape / moving.worst(Norm(shape, "linf"))[0]
    return CappedNorm(weights, float(np.rint(moving.worst(weighted_l1(weights))[0] / CAP_STEP) * CAP_STEP))


def _variances(norm: CappedNorm) -> Floats:
    """Of the continuous law, (s,)."""
    s = norm.dimension
    return np.asarray((s + 1) * (s + 2) * float(capped_cube(s, Fraction(norm.cap)).square) / norm.weights**2)


def _mean_absolutes(norm: CappedNorm) -> Floats:
    """Expected absolute values of the continuous law, (s,)."""
    s = norm.dimension
    return np.asarray((s + 1) * float(capped_cube(s, Fraction(norm.cap)).mean) / norm.weights)


def _capped_work(sizes: Sizes) -> float:
    """Seconds: scans of the pairs, weights of Laplace noise, exact moments; 0 where it is refused."""
    s = sizes.dimension
    return 0.1 + 2e-7 * s * sizes.pairs + 3e-7 * s**3 if 0 < s <= MOST_CAPPED_DIMENSIONS else 0.0


CAPPED_L1 = Family(
    "capped_l1",
    "exponential noise in a box with its corners cut",
    "pure",
    design_capped_l1,
    work=_capped_work,
    fractions=True,
    program="designer.programs:capped_l1",
    search="The cap is searched among those of a few shapes; the sides for the cap found are a convex program.",
)

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
from time import perf_counter
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.checks import count, shown
from designer.base.errors import DesignFailed, InvalidProblem
from designer.base.progress import announce
from designer.certified.norms import MAX_SIMPLICES, Gauge, Norm, weighted_l1
from designer.certified.refusals import refuse_infinite
from designer.certified.sensitivity import Pairs, SensitivitySet
from designer.families.family import Family
from designer.families.measured import dimension_of, moving_coordinates
from designer.families.repair import freeze, on_heard
from designer.families.sizes import Sizes
from designer.mechanisms.additive.mechanism import AdditiveMechanism
from designer.problem.relation import Indices
from designer.relations.problem import Problem
from solvers.exact.points import unit_exponents
from solvers.exact.rational import float_below
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
from solvers.work import ENTRIES, go_on

HullBackend = Annotated[Backend, "Who proposes the facets of the hull; the proof is the same."]
LARGEST_DIMENSION = 12
BUNDLED = 48  # dimensions whose bundles are sought
PAIRS = 400_000
CDD_SIMPLICES = (
    20_000  # double description takes time in the square of them: seconds here, 2 min for the 68,000 of 4 x 4 tables
)
ROUNDS = 60
START, NEXT = 20_000, 5_000  # pairs that a scan finds, of which for each facet the farthest joins; and at least, later ones
OUTSIDE = 1e-6  # of themselves, differences may lie outside of the hull of a set that is not written out: the repair covers it
ALONG_AXES, FEW_PAIRS = 1e-4, 5000  # seconds for each facet of a cross-polytope; pairs that are looked at to tell one
PARALLEL = 1e-9  # how near directions are that count as one
LONGEST_HULL = 45.0  # seconds, after which more than `MAX_SIMPLICES` simplices are refused


def design_k_norm(
    problem: Problem,
    max_simplices: Annotated[
        int, "Above so many simplices the exact volume of the ball is given up, and the family refused."
    ] = MAX_SIMPLICES,
    backend: HullBackend = "qhull",
) -> AdditiveMechanism:
    """The K-norm mechanism of the hull of the sensitivity set, in its span.

    backend: who proposes the facets, Qhull or cdd (in rationals where pycddlib was built with GMP); both are proven alike.
    Raises `DesignFailed` before any heavy work when the hull has too many dimensions or, by a lower bound, more than
    `max_simplices` simplices, naming families that go on from there.
    """
    proposes = hull_backend("k_norm", backend)
    limit = most_simplices(proposes, count(max_simplices, "options.max_simplices"))
    dimension = dimension_of(problem)
    if dimension == 0:
        raise DesignFailed("k_norm: no protected change moves an answer, so there is nothing to shape; use laplace.")
    if dimension > LARGEST_DIMENSION:
        raise DesignFailed(
            f"k_norm: the hull has {dimension} dimensions, more than {LARGEST_DIMENSION}; use {_others(Sizes(problem))}."
        )
    coordinates = moving_coordinates(problem)
    sensitivity = coordinates.sensitivity(problem)
    refuse_infinite(sensitivity, weighted_l1(np.ones(dimension)))
    alone = sensitivity.worst_coordinates()

    def shape(rounded: SensitivitySet) -> Norm:
        heard = SensitivitySet(rounded.relation, rounded.points[:, coordinates.heard])
        return spanned.gauge(heard, lambda differences: on_heard(differences, coordinates))

    try:
        spanned = spanning(sensitivity, limit, proposes)
        made = freeze(problem, "k_norm", coordinates, on_heard(dimension * alone, coordinates), shape, "exponential")
    except HullFailed as failed:
        raise DesignFailed(f"k_norm: {failed}; use {other_hull(proposes)}{_others(Sizes(problem))}.") from None
    return made.annotated(hull_notes(made.norm))


def _others(sizes: Sizes) -> str:
    """The families that shape noise where a hull is too large, with what they take."""
    bundles = ""
    if sizes.dimension <= BUNDLED and sizes.pairs <= PAIRS:
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


def most_simplices(backend: Backend, asked: int = MAX_SIMPLICES) -> int:
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
    if sensitivity.relation.pair_count() > PAIRS:
        return _rounded_down(sensitivity, _grown_pairs(sensitivity, limit), None, backend)
    pairs = sensitivity.all_pairs(PAIRS)
    vectors = np.ldexp(pairs.normalised, -unit_exponents(np.abs(pairs.normalised).max(axis=0)))
    proposed = None
    if vectors.shape[1] == 1:
        keep = _longest(vectors)
    elif limit >= MAX_SIMPLICES and on_an_ellipsoid(vectors):  # beyond which the gauge refuses
        keep = np.sort(without_twins(vectors, np.arange(len(vectors))))
        require_within(least_simplices(len(keep), vectors.shape[1]), limit, len(keep), vectors.shape[1])
        proposed = simplices_of_corners(vectors[keep], Push.generic(len(keep)), limit, announce)._replace(pushed=len(keep))
    else:
        found_for, found = extreme_rows(vectors, Push.generic(len(vectors), backend), limit, backend, announce)
        keep, proposed = np.sort(found_for), found.renumbered(np.argsort(np.argsort(found_for)))
        _announce_proof(2 * len(found.simplices), vectors.shape[1])
    if proposed is not None and 2 * len(proposed.simplices) <= LARGE:
        proposed = None  # found again in no time, in the order in which the reader of a file finds it
    return _rounded_down(sensitivity, _chosen(pairs, keep), proposed, backend)


def _announce_proof(simplices: int, dimension: int) -> None:
    """Says how long the exact proof takes, where that is long: each simplex is solved and its determinant taken in integers."""
    units = proof_of(simplices / 2, dimension) / ENTRIES
    if units > 2:
        announce(f"{simplices:,} simplices are proven in exact integers, about {units:.0f} s")


def _grown_pairs(sensitivity: SensitivitySet, limit: int) -> Pairs:
    """Pairs whose hull holds all u / b but for `OUTSIDE`: those that are farthest beyond it join until there are none."""
    spread = np.ptp(sensitivity.points, axis=0)
    found = [sensitivity.worst(weighted_l1(ways), START)[1] for ways in (1 / spread, *_ways(spread))]
    held = _together(sensitivity, found)
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
        held = _together(sensitivity, [_chosen(held, keep), _chosen(further, _farthest(normals, further.normalised / units))])
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


def _together(sensitivity: SensitivitySet, found: list[Pairs]) -> Pairs:
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
    if not 1 < dimension <= LARGEST_DIMENSION:
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
    work=_work,
    gives_up=True,
    fractions=True,
)

"""Hulls of a few coordinates each, put together to noise in many: bundles of coordinates, each with the gauge of the hull of
the differences in it, and the largest or the sum of these gauges as the norm (docs/theory/bundles.md).

The maximum is for answers that one change moves all at once (one-way marginals under one budget), the sum for answers that
changes move one bundle at a time (one-way marginals with a budget for each attribute): there they are the K-norm itself, in any
number of dimensions. In between both are tried, and bundles are merged as long as that pays.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from designer.base.arrays import Floats
from designer.base.checks import count, shown
from designer.base.errors import DesignFailed, InvalidProblem
from designer.base.progress import announce
from designer.certified.bundle_norm import BundleNorm
from designer.certified.norms import MAX_SIMPLICES, Gauge, Norm, weighted_l1
from designer.certified.refusals import refuse_infinite
from designer.certified.sensitivity import SensitivitySet
from designer.families.family import Family
from designer.families.k_norm import BUNDLED as LARGEST_DIMENSION
from designer.families.k_norm import PAIRS, merging_work, spanning
from designer.families.measured import Coordinates, dimension_of, moving_coordinates
from designer.families.outdone import refuse_outdone
from designer.families.repair import freeze, on_heard
from designer.families.sizes import Sizes
from designer.mechanisms.additive.mechanism import AdditiveMechanism
from designer.relations.problem import Problem
from solvers.polytopes.facets import HullFailed
from solvers.programs.bundling import Bundling, Combine, best_bundling, bundle_costs, bundle_weights

LARGEST_BUNDLE = 6
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
    if (most := count(largest, "options.largest")) > LARGEST_BUNDLE:
        raise InvalidProblem(f"options.largest: {most} coordinates in one hull are too many; use at most {LARGEST_BUNDLE}.")
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
    if dimension > LARGEST_DIMENSION:
        raise DesignFailed(
            f"bundles: {dimension} dimensions, more than the {LARGEST_DIMENSION} whose merges are tried; use "
            f"{Sizes(problem).serving}."
        )


def _searched(sensitivity: SensitivitySet) -> Floats:
    """Vectors u / b for the search, (M, s): all different ones up to sign, or the longest and some from all over."""
    pairs = sensitivity.all_pairs(PAIRS).normalised
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
    return best_bundling(vectors, rows.T @ (weights[:, None] * rows), way, largest), way


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
        gauges = [spanning(part, MAX_SIMPLICES, "qhull").gauge(part) for part in parts]
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
    pairs = rounded.all_pairs(PAIRS)
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


def _work(sizes: Sizes, largest: int = 4, combine: str = "best") -> float:
    """Seconds; 0 where it is refused."""
    s = sizes.dimension
    if sizes.pairs > PAIRS or not 0 < s <= LARGEST_DIMENSION:
        return 0.0
    rounds = 1 if sizes.problem.loss == "squared" else REWEIGHTED
    return rounds * merging_work(s, sizes.pairs)


BUNDLES = Family(
    "bundles",
    "convex hulls of groups of answers, put together",
    "pure",
    design_bundles,
    work=_work,
    anytime=True,
    fractions=True,
)

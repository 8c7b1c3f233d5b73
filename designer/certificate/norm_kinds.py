"""Norms in specs: the closed list of those that a file can ask for, their keys, and both ways."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise, product
from typing import Any, Literal

import numpy as np

from designer.base.arrays import Floats, frozen
from designer.base.checks import assign, shown
from designer.base.errors import InvalidProblem
from designer.base.json_text import array, require_keys
from designer.base.run_length import RUNS, in_runs, numbers_from
from designer.base.schema import (
    COUNT,
    MATRIX,
    PLACE,
    POSITIVE,
    POSITIVE_BUDGET,
    POSITIVE_VECTOR,
    ClosedList,
    Named,
    either,
    exactly,
    keys,
    list_of,
    number,
    one_of,
    record,
)
from designer.certificate.norms import Gauge, Norm
from designer.limits import MOST_FACET_ENTRIES
from solvers.rounding import rounded

# A norm on many coordinates made of hulls of few: the largest, or the sum, of gauges of disjoint bundles of coordinates.
#
# Where every bundle's gauge is that of the hull of the differences in its coordinates, both keep all of them within budget:
# the maximum as it is, the sum with weights (docs/theory/bundles.md).


@dataclass(frozen=True, eq=False, init=False)
class BundleNorm(Norm):
    """The largest, or the sum, of gauges of bundles of coordinates: `max_B g_B(u_B)` or `sum_B g_B(u_B)`.

    gauges: one for each bundle B, weights being part of their scales. places: the coordinates of each, disjoint; those in no
    bundle get no noise. combine: "max" or "sum". size: R. `map` holds the facets of all bundles, nearest floats.

    >>> line = Gauge(np.array([[2.0]]), np.ones(1))
    >>> BundleNorm((line, line), ((0,), (2,)), "sum", 3).exact([Fraction(1), Fraction(0), Fraction(3)])
    Fraction(2, 1)
    """

    gauges: tuple[Gauge, ...]
    places: tuple[tuple[int, ...], ...]
    combine: Literal["sum", "max"]

    def __init__(self, gauges: Sequence[Gauge], places: Sequence[Sequence[int]], combine: str, size: int) -> None:
        _require_bundles(gauges, places, combine, size)
        facets = np.zeros((sum(len(gauge.map) for gauge in gauges), size))
        facets[:, np.setdiff1d(np.arange(size), [k for bundle in places for k in bundle])] = np.inf
        for gauge, bundle, part in zip(gauges, places, _facets(gauges), strict=True):
            facets[part, list(bundle)] = gauge.map
        assign(self, gauges=tuple(gauges), places=tuple(map(tuple, places)), combine=combine, map=facets, order="linf")
        Norm.__post_init__(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return BundleNorm, (self.gauges, self.places, self.combine, self.dimension)

    @property
    def sentence(self) -> str:
        return (
            f"the {'largest' if self.combine == 'max' else 'sum'} of {len(self.gauges)} polytope gauges of disjoint coordinates"
        )

    @property
    def proof_words(self) -> str:
        return f"{len(self.gauges)} hulls in up to {max(map(len, self.places))} dimensions, proven in exact integers"

    @property
    def of_order(self) -> bool:
        return self.combine == "max"

    def reach(self, rows: Floats) -> Floats:
        heard = np.cumsum(~self.silent) - 1
        own = [g.reach(rows[:, heard[list(bundle)]]) for g, bundle in zip(self.gauges, self.places, strict=True)]
        return np.asarray(np.sum(own, axis=0) if self.combine == "max" else np.max(own, axis=0))

    @property
    def vertices(self) -> Floats:
        """Of the sum every corner of one bundle, of the maximum every choice of a corner of each: (V, R)."""
        return self._of_bundles("vertices", each=self.combine == "sum")

    @property
    def facets(self) -> Floats:
        """Of the maximum every facet of one bundle, of the sum every choice of a facet of each: (F, R)."""
        return self._of_bundles("facets", each=self.combine == "max")

    def _of_bundles(self, field: str, each: bool) -> Floats:
        """Rows of one bundle after the other, or every choice of a row of each, (n, R)."""
        parts = [gauge.vertices if field == "vertices" else gauge.facets for gauge in self.gauges]
        self._require_few(field, sum(map(len, parts)) if each else math.prod(map(len, parts)))
        choices = [(k, i) for k, part in enumerate(parts) for i in range(len(part))]
        found = np.zeros((len(choices) if each else math.prod(map(len, parts)), self.dimension))
        if each:
            for row, (k, i) in zip(found, choices, strict=True):
                row[list(self.places[k])] = parts[k][i]
        else:
            for row, chosen in zip(found, product(*parts), strict=True):
                for place, values in zip(self.places, chosen, strict=True):
                    row[list(place)] = values
        return frozen(found)

    def divided(self, factor: float) -> BundleNorm:
        """The same of all gauges, divided."""
        return BundleNorm([g.divided(factor) for g in self.gauges], self.places, self.combine, self.dimension)

    def length(self, images: Floats) -> Floats:
        if self.combine == "max":
            return super().length(images)
        return np.asarray(sum(np.abs(images[..., part]).max(axis=-1) for part in _facets(self.gauges)))

    def between(self, left: Floats, right: Floats) -> Floats:
        if self.combine == "max":
            return super().between(left, right)
        return np.asarray(sum(super(BundleNorm, self).between(left[:, part], right[:, part]) for part in _facets(self.gauges)))

    def exact(self, u: Sequence[Fraction]) -> Fraction | None:
        if any(c for c, quiet in zip(u, self.silent, strict=True) if quiet):
            return None
        own = [g.exact([u[k] for k in bundle]) or Fraction(0) for g, bundle in zip(self.gauges, self.places, strict=True)]
        return max(own) if self.combine == "max" else sum(own, Fraction(0))


def _require_bundles(gauges: Sequence[Gauge], places: Sequence[Sequence[int]], combine: str, size: int) -> None:
    """Refuse places that overlap, lie outside or are not sorted, gauges that do not fit them, and another way to combine."""
    where = [k for bundle in places for k in bundle]
    if combine not in ("sum", "max"):
        raise InvalidProblem(f"norm.combine: {shown(combine)} is unknown; use 'sum' or 'max'.", value=combine)
    if not where or len(set(where)) < len(where) or not all(type(k) is int and 0 <= k < size for k in where):
        raise InvalidProblem(
            f"norm.bundles: {shown(where)} must be different whole numbers from 0 to {size - 1}, at least one.", value=where
        )
    facets = sum(len(gauge.map) for gauge in gauges)
    if facets * size > MOST_FACET_ENTRIES:
        raise InvalidProblem(
            f"norm.size: {size} coordinates, with {facets} facets, are more than {MOST_FACET_ENTRIES} entries; measure fewer."
        )
    if [list(bundle) for bundle in places] != sorted(sorted(bundle) for bundle in places):
        raise InvalidProblem(
            f"norm.bundles: {shown(where)}: sort the places in each bundle, and bundles by their first ones.", value=where
        )
    if [gauge.dimension for gauge in gauges] != [len(bundle) for bundle in places] or any(g.silent.any() for g in gauges):
        raise InvalidProblem("norm.bundles: the differences of each must move all of its places, and have no others.")


def _facets(gauges: Sequence[Gauge]) -> list[slice]:
    """Where the facets of each bundle are among the rows of `map`."""
    ends = np.cumsum([0, *(len(gauge.map) for gauge in gauges)]).tolist()
    return [slice(start, end) for start, end in pairwise(ends)]


# The larger of a weighted maximum norm and a multiple of the l1 norm with the same weights: its ball is a box whose corners
# are cut.
#
# Where a change adds or takes away up to v_k in each of at most k of K answers, no private norm has a smaller ball
# (docs/theory/bundles.md, section 5).


@dataclass(frozen=True, eq=False, init=False)
class CappedNorm(Norm):
    """`max(max_k v_k |u_k|, sum_k v_k |u_k| / cap)`.

    weights: v, (R,), positive; "inf" is a coordinate without noise. cap: positive, at most how many sides of the box the ball
    allows together: 1 leaves the cross-polytope, R the box. Both are exact float64 numbers. `map` is the matrix of v.

    >>> CappedNorm(np.array([0.5, 1.0, 1.0]), 2.0).exact([Fraction(2), Fraction(1), Fraction(1)])
    Fraction(3, 2)
    """

    weights: Floats
    cap: float

    def __init__(self, weights: Floats, cap: float) -> None:
        if not (isinstance(cap, int | float) and 0 < cap < math.inf):
            raise InvalidProblem(
                f"norm.cap: {shown(cap)} must be a positive number of sides; a large one leaves the whole box.", value=cap
            )
        diagonal = Norm(np.asarray(weights, dtype=np.float64), "linf")  # which checks the weights
        if diagonal.map.ndim != 1:
            raise InvalidProblem(f"norm.map: has shape {diagonal.map.shape}; give one weight for each coordinate.")
        heard = np.flatnonzero(~diagonal.silent)
        rows = np.zeros((max(1, len(heard)), diagonal.dimension))
        rows[:, diagonal.silent] = np.inf
        rows[np.arange(len(heard)), heard] = diagonal.map[heard]
        assign(self, weights=frozen(diagonal.map), cap=float(cap), map=rows, order="linf")
        Norm.__post_init__(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return CappedNorm, (self.weights, self.cap)

    @property
    def sentence(self) -> str:
        return f"a box with its corners cut: at most {self.cap:.4g} of its {int((~self.silent).sum())} sides in all"

    def reach(self, rows: Floats) -> Floats:
        """The largest `cap` of the |t_k| / v_k, the last one in part: (K,) for rows t, (K, s)."""
        sizes = -np.sort(-np.abs(rows) / self.weights[~self.silent], axis=1)
        return np.asarray(sizes @ np.clip(self.cap - np.arange(sizes.shape[1]), 0.0, 1.0))

    @property
    def vertices(self) -> Floats:
        """`+-1 / v_k` in as many coordinates as the cap has whole sides, and what is left of it in one more: (V, R)."""
        v = self.weights[~self.silent]
        whole, rest = min(math.floor(self.cap), len(v)), max(0.0, self.cap - math.floor(self.cap))
        partial = rest > 0 and whole < len(v)
        self._require_few("vertices", math.comb(len(v), whole) * 2 ** (whole + partial) * (len(v) - whole if partial else 1))
        rows = []
        for chosen in combinations(range(len(v)), whole):
            for last in (k for k in range(len(v)) if k not in chosen) if partial else (None,):
                sizes = np.zeros(len(v))
                sizes[list(chosen)] = 1.0
                moved = chosen if last is None else (*chosen, last)
                if last is not None:
                    sizes[last] = rest
                for signs in product((1.0, -1.0), repeat=len(moved)):
                    row = sizes.copy()
                    row[list(moved)] *= signs
                    rows.append(row)
        return self._over_all(np.array(rows) / v)

    @property
    def facets(self) -> Floats:
        """`+-v_k` of the sides of the box, unless the cap is at most one, and `(+-v_k)_k / cap` of the corners cut, unless it
        is all sides: (F, R)."""
        v = self.weights[~self.silent]
        sides = np.concatenate([np.diag(v), -np.diag(v)]) if self.cap > 1 else np.zeros((0, len(v)))
        cut = self._signs("facets") * v / self.cap if self.cap < len(v) or self.cap <= 1 else np.zeros((0, len(v)))
        return self._over_all(np.concatenate([sides, cut]))

    def divided(self, factor: float) -> CappedNorm:
        return CappedNorm(self.weights / factor, self.cap)

    def shortened(self) -> CappedNorm:
        return CappedNorm(rounded(self.weights), self.cap)

    def length(self, images: Floats) -> Floats:
        return np.asarray(np.maximum(super().length(images), np.abs(images).sum(axis=-1) / self.cap))

    def between(self, left: Floats, right: Floats) -> Floats:
        from scipy.spatial.distance import cdist

        if left.shape[1] == 0:
            return super().between(left, right)
        return np.asarray(np.maximum(super().between(left, right), cdist(left, right, "cityblock") / self.cap))

    def exact(self, u: Sequence[Fraction]) -> Fraction | None:
        if any(c for c, quiet in zip(u, self.silent, strict=True) if quiet):
            return None
        sizes = [Fraction(float(v)) * abs(c) for v, c in zip(self.weights, u, strict=True) if c]
        return max([sum(sizes, Fraction(0)) / Fraction(self.cap), *sizes])


WEIGHTS = either(
    RUNS,
    list_of(POSITIVE_BUDGET),
    list_of(list_of(either(number(), exactly("inf")))),
)
MAPPED = Named(
    "mapped_norm",
    record(
        {"map": WEIGHTS, "order": one_of("l1", "l2", "linf")},
        note='||u|| = |map u|_order; a vector is a diagonal; "inf" in it, or a column of "inf", is a coordinate without noise.',
    ),
)
GAUGE = Named(
    "gauge",
    record(
        {"order": exactly("gauge"), "differences": MATRIX, "budgets": POSITIVE_VECTOR, "scale": POSITIVE},
        note="The norm whose unit ball is scale * conv{+-differences_m / budgets_m}.",
    ),
)
BUNDLES = Named(
    "bundles",
    record(
        {
            "order": exactly("bundles"),
            "combine": one_of("sum", "max"),
            "size": COUNT,
            "bundles": list_of(record({"places": list_of(PLACE, distinct=True), "gauge": GAUGE})),
        },
        note="The largest, or the sum, of gauges of bundles of coordinates; the other coordinates of `size` get no noise.",
    ),
)
CAPPED = Named(
    "capped_norm",
    record(
        {"order": exactly("capped_l1"), "map": list_of(POSITIVE_BUDGET), "cap": POSITIVE},
        note='||u|| = max(|map u|_linf, |map u|_l1 / cap), map a diagonal; "inf" in it is a coordinate without noise.',
    ),
)
NORM = Named("norm", either(MAPPED, GAUGE, BUNDLES, CAPPED))
FALLOFF = one_of("exponential", "gaussian")


def norm_to_spec(norm: Norm) -> dict[str, Any]:
    """A gauge by the vectors that span its body, bundles by their gauges, any other norm by its map, and its cap."""
    if isinstance(norm, BundleNorm):
        pairs = [{"places": list(b), "gauge": norm_to_spec(g)} for b, g in zip(norm.places, norm.gauges, strict=True)]
        return {"order": "bundles", "combine": norm.combine, "size": norm.dimension, "bundles": pairs}
    if isinstance(norm, Gauge):
        return {"order": "gauge", "differences": norm.differences, "budgets": norm.budgets, "scale": norm.scale}
    if isinstance(norm, CappedNorm):
        return {"order": "capped_l1", "map": norm.weights, "cap": norm.cap}
    return {"order": norm.order, "map": in_runs(norm.map) if norm.map.ndim == 1 else norm.map}


def norm_from_spec(spec: Any) -> Norm:
    """The norm of a spec: a map, a gauge, bundles or a capped box; the constructors check the numbers."""
    return NORMS.read(spec)


def _mapped(spec: Any) -> Norm:
    depth = 2 if isinstance(spec["map"], list) and spec["map"] and isinstance(spec["map"][0], list) else 1
    return Norm(array(numbers_from(spec["map"], "norm.map"), depth, "norm.map"), spec["order"])


def _bundles(spec: Any) -> BundleNorm:
    for bundle in spec["bundles"]:
        require_keys(bundle, {"places", "gauge"}, "norm.bundles")
    gauges, places = ([bundle[key] for bundle in spec["bundles"]] for key in ("gauge", "places"))
    return BundleNorm([_gauge_from(gauge) for gauge in gauges], places, spec["combine"], spec["size"])


def _capped(spec: Any) -> CappedNorm:
    return CappedNorm(array(spec["map"], 1, "norm.map"), float(array(spec["cap"], 0, "norm.cap")))


def _gauge_from(spec: Any) -> Gauge:
    require_keys(spec, keys(GAUGE), "norm")
    scale = float(array(spec["scale"], 0, "norm.scale"))
    return Gauge(array(spec["differences"], 2, "norm.differences"), array(spec["budgets"], 1, "norm.budgets"), scale)


NORMS: ClosedList[Norm] = ClosedList(
    "norm",
    {
        **dict.fromkeys(("l1", "l2", "linf"), (MAPPED, _mapped)),
        "gauge": (GAUGE, _gauge_from),
        "bundles": (BUNDLES, _bundles),
        "capped_l1": (CAPPED, _capped),
    },
    key="order",
)

"""A norm on many coordinates made of hulls of few: the largest, or the sum, of gauges of disjoint bundles of coordinates.

Where every bundle's gauge is that of the hull of the differences in its coordinates, both keep all of them within budget: the
maximum as it is, the sum with weights (docs/theory/bundles.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product
from typing import Any, Literal

import numpy as np

from designer.base.arrays import Floats, frozen
from designer.base.checks import shown
from designer.base.declared import assign
from designer.base.errors import InvalidProblem
from designer.certified.norms import Gauge, Norm

MOST_ENTRIES = 2**27  # of the facets of all bundles, written out: 1 GiB


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
        parts = {
            "gauges": tuple(gauges),
            "places": tuple(map(tuple, places)),
            "combine": combine,
            "map": facets,
            "order": "linf",
        }
        for name, value in parts.items():
            assign(self, **{name: value})
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
    if facets * size > MOST_ENTRIES:
        raise InvalidProblem(
            f"norm.size: {size} coordinates, with {facets} facets, are more than {MOST_ENTRIES} entries; measure fewer."
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

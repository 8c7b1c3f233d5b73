"""The larger of a weighted maximum norm and a multiple of the l1 norm with the same weights: its ball is a box whose corners
are cut.

Where a change adds or takes away up to v_k in each of at most k of K answers, no private norm has a smaller ball
(docs/theory/bundles.md, section 5).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np

from designer.base.arrays import Floats, frozen
from designer.base.checks import shown
from designer.base.declared import assign
from designer.base.errors import InvalidProblem
from designer.certified.norms import Norm


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
        parts = {"weights": frozen(diagonal.map), "cap": float(cap), "map": rows, "order": "linf"}
        for name, value in parts.items():
            assign(self, **{name: value})
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

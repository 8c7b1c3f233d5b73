"""A metric given entry by entry, and its shortest-path closure on request.

What a closure is: docs/theory/metrics.md, section 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from designer.base.arrays import Floats, frozen, real_array
from designer.base.errors import InvalidProblem
from designer.base.schema import BOOLEAN, BUDGET, list_of, of_kind
from designer.problem.relation import Block, Indices, Read, Relation
from designer.relations.metrics.metric import Metric
from designer.relations.metrics.triangle import implied_pairs, require_triangle_inequality, shortest_paths


@dataclass(frozen=True, eq=False)
class Matrix(Metric):
    """d given entry by entry, budgets (N, N). `needed` lists the pairs that no others imply exactly (None: all);
    `given` is the matrix before its closure."""

    budgets: Floats
    needed: Indices | None
    given: Floats | None = None
    kind = "matrix"
    schema = of_kind("relation", kind, {"budgets": list_of(list_of(BUDGET)), "closure": BOOLEAN})

    @property
    def size(self) -> int:
        return len(self.budgets)

    def rectangle(self, rows: slice, columns: slice) -> Floats:
        return self.budgets[rows, columns]

    def blocks(self) -> Iterator[Block]:
        if self.needed is None:
            yield from super().blocks()
        elif len(self.needed):
            left, right = self.needed.T
            yield Block(left, right, self.budgets[left, right])

    def components(self) -> Indices:
        return Relation.components(self)

    def largest_budget(self) -> float:
        return float(self.budgets[np.isfinite(self.budgets)].max(initial=0.0))

    def exact_budget(self, left: int, right: int) -> Fraction | None:
        budget = self.budgets[left, right]
        return Fraction(float(budget)) if np.isfinite(budget) else None

    def sentence(self) -> str:
        finite = self.budgets[np.isfinite(self.budgets) & ~np.eye(self.size, dtype=bool)]
        span = f"from {float(finite.min())!r} to {float(finite.max())!r}" if finite.size else "all infinite"
        closed = (
            ""
            if self.given is None
            else f" (the shortest-path closure of {int((self.given != self.budgets).sum()) // 2} lower entries)"
        )
        return (
            "Any one record may change from universe element i to j, with the budget d(i, j) of an explicit matrix, "
            f"{span}{closed}."
        )

    def to_spec(self) -> dict[str, Any]:
        closed = self.given is not None
        return {"kind": self.kind, "budgets": self.given if closed else self.budgets, "closure": closed}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> Matrix:
        return from_matrix(spec["budgets"], closure=spec["closure"])


def from_matrix(d: object, *, closure: bool = False) -> Matrix:
    """An explicit metric: square, symmetric, zero diagonal, nonnegative, infinity for unprotected pairs, triangle inequality.

    With `closure=True` a matrix that breaks the triangle inequality is replaced by its shortest-path closure. That is what
    any mechanism that honours the given budgets guarantees anyway: a change i -> k -> j costs at most d(i, k) + d(k, j). Errors
    name the offending entry. Time O(N^3) for the triangle inequality: about a minute at N = 5,000. Raises `InvalidProblem` for
    all of this.

    d: (N, N), in nats. closure: replace a matrix that breaks the triangle inequality by its shortest-path closure.

    >>> from_matrix([[0, 1, 2], [1, 0, 1], [2, 1, 0]]).exact_budget(0, 2)
    Fraction(2, 1)
    >>> from_matrix([[0, 1, 9], [1, 0, 1], [9, 1, 0]], closure=True).budgets.round(9).tolist()
    [[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]
    """
    given = real_array(d, "metric.matrix", 2, allow_inf=True) + 0.0  # no -0: a ratio to it would be -inf, and the best of all
    _require_semimetric(given)
    budgets = np.minimum(given, given.T)
    if closure:
        closed, lowered = shortest_paths(budgets)
        left, right = np.nonzero(np.triu(~lowered & np.isfinite(closed), 1))
        return Matrix(frozen(closed), frozen(np.stack([left, right], axis=1)), given)
    require_triangle_inequality(budgets)
    return Matrix(frozen(budgets), implied_pairs(budgets))


def _require_semimetric(d: Floats) -> None:
    """Square, zero diagonal, nonnegative, symmetric up to rounding."""
    if d.shape[0] != d.shape[1]:
        raise InvalidProblem(f"metric.matrix: has shape {d.shape}; give a square matrix, one row and column for each element.")
    if d.diagonal().any():
        i = int(np.nonzero(d.diagonal())[0][0])
        raise InvalidProblem(
            f"metric.matrix: d({i}, {i}) = {d[i, i]} on the diagonal; an element is at distance 0 from itself."
        )
    if (d < 0).any():
        i, j = (int(v) for v in np.argwhere(d < 0)[0])
        raise InvalidProblem(f"metric.matrix: d({i}, {j}) = {d[i, j]} is negative; a budget is at least 0.")
    unequal = ~np.isclose(d, d.T, rtol=1e-9, atol=0.0)
    if unequal.any():
        i, j = (int(v) for v in np.argwhere(unequal)[0])
        raise InvalidProblem(f"metric.matrix: d({i}, {j}) = {d[i, j]} but d({j}, {i}) = {d[j, i]}; make the matrix symmetric.")

"""dX metrics: a budget for every pair of universe elements (DX Definition 2), and the add/remove relation beside them.

The constructors at the end of the file are the public names. A metric need not be handed over as N x N numbers: points, attributes and
graphs generate their budgets in blocks, and drop the pairs that the triangle inequality of every norm implies (docs/theory/foundations.md, 4).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from designer.domain import Domain
from designer.errors import InvalidProblem
from designer.frozen import Floats, count, frozen, positive, real_array
from designer.point_metrics import Euclidean, GreatCircle, Line, euclidean, great_circle
from designer.relation import Block, Indices, Metric, Relation
from designer.triangle import implied_pairs, require_triangle_inequality, shortest_paths

__all__ = [
    "AddRemove",
    "Euclidean",
    "GreatCircle",
    "Hamming",
    "Line",
    "Matrix",
    "Metric",
    "Uniform",
    "add_remove",
    "euclidean",
    "from_matrix",
    "great_circle",
    "hamming",
    "uniform",
]


@dataclass(frozen=True)
class Uniform(Metric):
    """d(i, j) = epsilon for i != j: ordinary differential privacy for the replacement of one record."""

    elements: int
    epsilon: float
    kind = "uniform"

    @property
    def size(self) -> int:
        return self.elements

    def rectangle(self, rows: slice, columns: slice) -> Floats:
        return np.where(np.arange(rows.start, rows.stop)[:, None] != np.arange(columns.start, columns.stop), self.epsilon, 0.0)

    def exact_budget(self, left: int, right: int) -> Fraction:
        return Fraction(self.epsilon) * (left != right)

    def words(self) -> str:
        return (
            f"One record may change from any universe element to any other, with budget {self.epsilon!r} whatever the two are."
        )

    def to_spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "elements": self.elements, "epsilon": self.epsilon}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Uniform:
        return uniform(spec["elements"], spec["epsilon"])


@dataclass(frozen=True, eq=False)
class Matrix(Metric):
    """d given entry by entry. `needed` lists the pairs that no others imply exactly (None: all); `given` is the matrix before its closure."""

    budgets: Floats
    needed: Indices | None
    given: Floats | None = None
    kind = "matrix"

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

    def words(self) -> str:
        finite = self.budgets[np.isfinite(self.budgets) & ~np.eye(self.size, dtype=bool)]
        span = f"from {float(finite.min())!r} to {float(finite.max())!r}" if finite.size else "all infinite"
        closed = (
            ""
            if self.given is None
            else f" (the shortest-path closure of {int((self.given != self.budgets).sum()) // 2} lower entries)"
        )
        return f"One record may change from universe element i to j, with the budget d(i, j) of an explicit matrix, {span}{closed}."

    def to_spec(self) -> dict[str, Any]:
        closed = self.given is not None
        return {"kind": self.kind, "budgets": self.given if closed else self.budgets, "closure": closed}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Matrix:
        return from_matrix(spec["budgets"], closure=spec["closure"])


@dataclass(frozen=True)
class Hamming(Metric):
    """d(u, v) = sum over attributes of budget * [u_a != v_a] (DX section 5): pairs that differ in one attribute imply the rest."""

    domain: Domain
    budgets: tuple[float, ...]
    kind = "hamming"
    budget_error = 1e-14

    @property
    def size(self) -> int:
        return self.domain.size

    def rectangle(self, rows: slice, columns: slice) -> Floats:
        codes = np.unravel_index(np.arange(self.size), self.domain.shape)
        total = np.zeros((rows.stop - rows.start, columns.stop - columns.start))
        for code, budget in zip(codes, self.budgets, strict=True):
            total += np.where(code[rows, None] != code[None, columns], budget, 0.0)
        return total

    def blocks(self) -> Iterator[Block]:
        index = np.arange(self.size).reshape(self.domain.shape)
        for axis, budget in enumerate(self.budgets):
            lines = np.moveaxis(index, axis, 0).reshape(self.domain.shape[axis], -1)
            for value in range(1, len(lines)):
                left, right = np.tile(lines[value], value), lines[:value].ravel()
                yield Block(left, right, np.full(len(left), budget))

    def components(self) -> Indices:
        return Relation.components(self)

    def largest_budget(self) -> float:
        changed = zip(self.budgets, self.domain.shape, strict=True)
        return float(sum(budget for budget, values in changed if values > 1 and np.isfinite(budget)))

    def exact_budget(self, left: int, right: int) -> Fraction | None:
        codes = np.unravel_index([left, right], self.domain.shape)
        changed = [budget for code, budget in zip(codes, self.budgets, strict=True) if code[0] != code[1]]
        return None if any(np.isinf(changed)) else sum(map(Fraction, changed), Fraction(0))

    def words(self) -> str:
        listed = ", ".join(f"{name} {budget!r}" for name, budget in zip(self.domain.attributes, self.budgets, strict=True))
        return (
            f"One record may change in any of its attributes; the budget is the sum over the changed attributes of: {listed}."
        )

    def to_spec(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "attributes": list(self.domain.attributes),
            "values": [list(v) for v in self.domain.values],
            "budgets": list(self.budgets),
        }

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Hamming:
        domain = Domain(tuple(spec["attributes"]), tuple(tuple(v) for v in spec["values"]))
        return hamming(domain, dict(zip(spec["attributes"], spec["budgets"], strict=True)))


@dataclass(frozen=True, eq=False)
class AddRemove(Relation):
    """A record of element i appears or disappears, with budget epsilon_i. The number of records is protected too."""

    epsilons: Floats
    kind = "add_remove"

    @property
    def size(self) -> int:
        return len(self.epsilons)

    def points(self, columns: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.concatenate([columns, np.zeros_like(columns[:1])])

    def blocks(self) -> Iterator[Block]:
        yield Block(np.arange(self.size), np.full(self.size, self.size), np.array(self.epsilons))

    def exact_budget(self, left: int, right: int) -> Fraction | None:
        epsilon = float(self.epsilons[min(left, right)])
        return None if np.isinf(epsilon) else Fraction(epsilon)

    def pair_words(self, left: int, right: int, elements: Sequence[str]) -> str:
        return f"a record of {elements[min(left, right)]} appears"

    def words(self) -> str:
        low, high = float(self.epsilons.min()), float(self.epsilons.max())
        budget = (
            f"budget {low!r}" if low == high else f"a budget of its own for each universe element, from {low!r} to {high!r}"
        )
        return f"One record may appear or disappear, with {budget}."

    def to_spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "epsilons": self.epsilons}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> AddRemove:
        return add_remove(len(spec["epsilons"]), spec["epsilons"])


def uniform(n: int, epsilon: float) -> Uniform:
    """d(i, j) = epsilon for all i != j among n elements: ordinary epsilon-DP, replace one."""
    return Uniform(count(n, "n"), positive(epsilon, "epsilon"))


def from_matrix(d: object, *, closure: bool = False) -> Matrix:
    """An explicit metric: square, symmetric, zero diagonal, nonnegative, infinity for unprotected pairs, triangle inequality.

    With `closure=True` a matrix that breaks the triangle inequality is replaced by its shortest-path closure, which is what any
    mechanism that honours the given budgets guarantees anyway: a change i -> k -> j costs at most d(i, k) + d(k, j).
    Errors name the offending entry. Time O(N^3) for the triangle inequality.
    """
    given = real_array(d, "metric.matrix", 2, allow_inf=True)
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


def hamming(domain: Domain, budgets: Mapping[str, float] | Sequence[float]) -> Hamming:
    """d(u, v) = sum_a budgets[a] * [u_a != v_a] over the attributes of `domain`; an infinite budget leaves an attribute unprotected."""
    if isinstance(budgets, Mapping):
        if set(budgets) != set(domain.attributes):
            raise InvalidProblem(
                f"budgets: given for {sorted(budgets)}, the attributes are {sorted(domain.attributes)}; name each once."
            )
        budgets = [budgets[name] for name in domain.attributes]
    if len(budgets) != len(domain.attributes):
        raise InvalidProblem(f"budgets: {len(budgets)} for {len(domain.attributes)} attributes; give one for each.")
    return Hamming(
        domain, tuple(positive(b, f"budgets[{a}]", allow_inf=True) for a, b in zip(domain.attributes, budgets, strict=True))
    )


def add_remove(n: int, epsilon: float | Sequence[float]) -> AddRemove:
    """One record appears or disappears; `epsilon` for all elements or a sequence with one for each (infinite: unprotected)."""
    size = count(n, "n")
    if np.ndim(epsilon) == 0:
        return AddRemove(frozen(np.full(size, positive(epsilon, "epsilon"))))
    epsilons = real_array(epsilon, "epsilon", 1, allow_inf=True)
    if len(epsilons) != size:
        raise InvalidProblem(f"epsilon: {len(epsilons)} budgets for {size} elements; give one for each.")
    return AddRemove(frozen(np.array([positive(e, f"epsilon[{i}]", allow_inf=True) for i, e in enumerate(epsilons)])))

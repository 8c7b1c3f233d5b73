"""What is measured: Kronecker products of integer matrices, one noise for each product, and what a protected change moves.

Lengths factor: a record with values u moves a product of matrices M_i by the Kronecker product of its columns `M_i e_u`, whose
l1 norm, and squared l2 norm, are products of theirs (docs/theory/structured.md, 2). All of them are integers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, Immutable
from designer.base.declared import assign
from designer.base.errors import InvalidProblem
from designer.mechanisms.marginals.protection import Presence
from designer.problem.domain import Domain
from designer.relations.metrics.attributes import Hamming, Product
from designer.relations.metrics.metric import Metric
from solvers.exact.rational import dyadic_integers

Integers = NDArray[np.int64]
Noise = Literal["gaussian", "laplace"]
Protection = Presence | Hamming | Product
LARGEST_ENTRY, LARGEST_ROWS = 2**24, 2**12  # squared lengths of columns are 64-bit integers


@dataclass(frozen=True, eq=False)
class StrategyMatrix(Immutable):
    """An integer matrix (p, n) over the values of one attribute, and how far its columns are from 0 and from each other."""

    rows: Integers

    def __post_init__(self) -> None:
        rows = np.array(self.rows, dtype=np.int64)
        if rows.ndim != 2 or not 0 < len(rows) <= LARGEST_ROWS or np.abs(rows).max(initial=0) > LARGEST_ENTRY:
            raise InvalidProblem(
                f"matrices: one has shape {rows.shape}, or an entry beyond {LARGEST_ENTRY}; give up to {LARGEST_ROWS} rows of "
                "smaller integers."
            )
        rows.setflags(write=False)
        assign(self, rows=rows)

    def presence(self, noise: Noise) -> int:
        """The largest l1 norm (Laplace) or squared l2 norm (Gaussian) of a column."""
        sizes = np.abs(self.rows) if noise == "laplace" else self.rows**2
        return int(sizes.sum(axis=0).max())

    def change(self, noise: Noise, part: Metric | None = None) -> Fraction:
        """The largest such norm of a difference of two columns, over the (squared) budget of the pair where there is one."""
        from scipy.spatial.distance import cdist

        columns = self.rows.T
        if noise == "laplace":  # sums of integers below 2^53: exact in floats
            sizes = cdist(columns.astype(np.float64), columns.astype(np.float64), "cityblock")
        else:
            products = _products(columns)
            sizes = np.add.outer(products.diagonal(), products.diagonal()) - 2 * products
        return Fraction(int(sizes.max())) if part is None else _largest_ratio(sizes, part, 1 if noise == "laplace" else 2)


def _products(columns: Integers) -> Integers:
    """`C C'`: in floats where every sum is an integer below 2^53, and so exact in whatever order it is added up."""
    if columns.shape[1] * int(np.abs(columns).max(initial=0)) ** 2 < 2**53:
        floats = columns.astype(np.float64)
        return np.asarray((floats @ floats.T).astype(np.int64))
    return np.asarray(columns @ columns.T)


def _largest_ratio(sizes: NDArray[np.generic], part: Metric, power: int) -> Fraction:
    """`max size / budget^power` over pairs: floats that are off by 1e-9 at most tell which pairs may be it."""
    budgets = part.distances()
    finite = np.isfinite(budgets) & ~np.eye(len(budgets), dtype=bool)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(finite & (np.asarray(sizes) > 0), np.asarray(sizes, dtype=np.float64) / budgets**power, 0.0)
    worst, most = Fraction(0), float(ratios.max(initial=0.0))
    if not math.isfinite(most):
        raise InvalidProblem(
            "protection: a pair of values has budget 0, and the strategy tells them apart; give the pair a positive budget."
        )
    for left, right in np.argwhere(np.triu(np.maximum(ratios, ratios.T)) >= most * (1 - 1e-9 - 4 * part.budget_error)):
        exact = part.exact_budget(int(left), int(right))
        if exact is not None and left != right:
            worst = max(worst, Fraction(int(np.asarray(sizes)[left, right])) / exact**power)
    return worst


@dataclass(frozen=True, eq=False)
class MeasuredProduct(Immutable):
    """One measured product: which matrix of each attribute (by axis; the others are summed over), and the `strength` of its
    noise: discrete Gaussian of variance 1 / strength, or discrete Laplace of this rate, in every coordinate."""

    parts: Mapping[int, int]
    strength: float


@dataclass(frozen=True, eq=False)
class KindOfChange:
    """One kind of protected change: what it is called, its budget, and the axis that changes, None where a record appears."""

    words: str
    budget: float
    axis: int | None
    part: Metric | None = None


def kinds_of_changes(protection: Protection, domain: Domain, used: Sequence[int]) -> list[KindOfChange]:
    """The changes that imply all others: a record appears, or its value of one attribute that is asked about changes."""
    if isinstance(protection, Presence):
        return [KindOfChange("a record appears", protection.epsilon, None)]
    words = [f"one record changes in {name!r} alone" for name in domain.attributes]
    if isinstance(protection, Hamming):
        return [
            KindOfChange(words[axis], protection.budgets[axis], axis) for axis in used if np.isfinite(protection.budgets[axis])
        ]
    return [KindOfChange(words[axis], 1.0, axis, protection.parts[axis]) for axis in used]


def share_spent(
    change: KindOfChange, noise: Noise, matrices: Mapping[int, Sequence[StrategyMatrix]], blocks: Sequence[MeasuredProduct]
) -> Fraction:
    """What a change spends of its (squared) budget, exactly: the sum over blocks of strength times the largest length."""
    lengths = {axis: [matrix.presence(noise) for matrix in listed] for axis, listed in matrices.items()}
    moved: list[Fraction] = []
    if change.axis is not None:
        moved = [matrix.change(noise, change.part) for matrix in matrices.get(change.axis, ())]
    integers, exponent = dyadic_integers(np.array([[block.strength for block in blocks]]))
    sums: dict[Fraction, int] = {}
    for block, strength in zip(blocks, integers[0], strict=True):
        if change.axis is None:
            factor, others = Fraction(1), block.parts
        elif change.axis in block.parts:
            factor, others = moved[block.parts[change.axis]], {a: m for a, m in block.parts.items() if a != change.axis}
        else:
            continue
        sums[factor] = sums.get(factor, 0) + strength * math.prod(lengths[axis][place] for axis, place in others.items())
    total = sum((factor * amount for factor, amount in sums.items()), Fraction(0)) * Fraction(2) ** exponent
    return total / Fraction(change.budget) ** (1 if noise == "laplace" else 2)


def loads_of(
    changes: Sequence[KindOfChange],
    noise: Noise,
    matrices: Mapping[int, Sequence[StrategyMatrix]],
    parts: Sequence[Mapping[int, int]],
) -> Floats:
    """What products at strength 1 spend of the (squared) budget of each change, (changes, products), in floats.

    parts: of each product, which matrix of each attribute, by axis.
    """
    lengths = {axis: [float(matrix.presence(noise)) for matrix in listed] for axis, listed in matrices.items()}
    found = np.zeros((len(changes), len(parts)))
    for k, change in enumerate(changes):
        own, power = change.axis, 1 if noise == "laplace" else 2
        moved = [] if own is None else [float(matrix.change(noise, change.part)) for matrix in matrices.get(own, ())]
        for j, part in enumerate(parts):
            if own is None or own in part:
                others = math.prod(lengths[axis][place] for axis, place in part.items() if axis != own)
                found[k, j] = (1.0 if own is None else moved[part[own]]) * others / change.budget**power
    return found

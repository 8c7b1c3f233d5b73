"""Losses that are expectations of a function of the noise on a lattice, or the largest of a few of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from solvers.lattices.steps import Points
from solvers.lattices.symmetries import Matrix, keeps_form, keeps_rows


@dataclass(frozen=True, eq=False)
class LinearLoss:
    """`sum_k w_k (r_k . z)^2`, `sum_k w_k |r_k . z|`, or the largest `w_k E (r_k . z)^2`; rows r (K, s), w (K,), positive."""

    rows: NDArray[np.float64]
    weights: NDArray[np.float64]
    kind: Literal["squared", "absolute", "max"]

    @property
    def power(self) -> int:
        """1 for absolute values, 2 for squares."""
        return 1 if self.kind == "absolute" else 2

    def each(self, points: Points) -> NDArray[np.float64]:
        """The weighted loss of each row at doubled points, (n, s) -> (n, K)."""
        return np.asarray(np.abs(points @ (self.rows.T / 2)) ** self.power * self.weights)

    def parts(self, points: Points) -> NDArray[np.float64]:
        """The losses of which the expectations count, the largest one alone: (n, J), J = 1 for sums."""
        each = self.each(points)
        return each if self.kind == "max" else each.sum(axis=1, keepdims=True)

    def keeps(self, g: Matrix) -> bool:
        """Whether the loss of `z g` is that of z, exactly."""
        rows = [tuple(map(Fraction, row)) for row in self.rows.tolist()]
        weights = [Fraction(w) for w in self.weights.tolist()]
        if self.kind != "squared":
            return keeps_rows(g, rows, weights)
        exact = np.array(rows, dtype=object)
        return keeps_form(g, exact.T @ (np.array(weights, dtype=object)[:, None] * exact))

    def least_beyond(self, k: int, widths: tuple[int, ...], shares: NDArray[np.float64]) -> float:
        """A lower bound of `shares . parts`, shares (J,), beyond shell k, by the least eigenvalue of a form."""
        weights = self.weights * shares if self.kind == "max" else self.weights
        scaled = self.rows * (weights[:, None] if self.kind == "absolute" else np.sqrt(weights)[:, None])
        least = max(0.0, float(np.linalg.eigvalsh(scaled.T @ scaled)[0]) * (1 - 1e-9))
        return float((math.sqrt(least) * k * min(widths)) ** self.power)

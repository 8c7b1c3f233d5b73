"""The sensitivity set: the pairs (u, b) that a mechanism has to hide,
and nothing else about the problem (docs/theory/foundations.md, 1).

From here on no privacy word is needed: u is a difference of two points, b a budget, and a mechanism is good when `||u|| <= b`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from designer.certified.norms import Norm, NormOrder
from designer.errors import DesignFailed
from designer.progress import track
from designer.question.relation import Block, Indices, Relation
from designer.values.arrays import Floats, frozen
from solvers.exact.rational import dyadic_integers, float_above, integer_rank

UNLISTED = (
    "relation: the invariant leaves too many changes to be written out, and this needs a list of them; use a family that is "
    "designed by their lengths (laplace, projected_laplace, gaussian, isotropic_gaussian, group_..., or lattice_laplace and "
    "lattice_gaussian with the shapes l1 and l2) for the counts themselves, lower the adjacency, or merge elements."
)


@dataclass(frozen=True)
class Pairs:
    """Protected pairs written out: point indices, differences u of shape (M, R), budgets b of shape (M,)."""

    left: Indices
    right: Indices
    differences: Floats
    budgets: Floats

    def __len__(self) -> int:
        return len(self.budgets)

    @property
    def normalised(self) -> Floats:
        """u / b, the vectors that the unit ball of a private norm contains."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.differences == 0, 0.0, self.differences / self.budgets[:, None])


@dataclass(frozen=True)
class Longest:
    """What no change of a relation exceeds in a norm: `bound`, exact, and the longest change known, element by element.

    reached: the length of that change; the bound is exact where the two agree. proof: what the bound rests on.
    """

    bound: Fraction
    reached: Fraction
    change: tuple[tuple[int, int], ...]
    proof: str


class ByLength(ABC):
    """A relation that may have too many changes to be written out, and then knows how long they are
    (docs/theory/invariants.md, 11). All of them have one budget."""

    @property
    @abstractmethod
    def listed(self) -> bool:
        """Whether the changes are written out, so that the relation is one like every other."""

    @property
    @abstractmethod
    def exchanges(self) -> bool:
        """Whether, unlisted, its pairs are pairs of elements: the longest changes in every norm are among these."""

    @property
    @abstractmethod
    def budget(self) -> Fraction:
        """The budget of every change."""

    @abstractmethod
    def longest(self, weights: Floats, order: NormOrder) -> Longest:
        """The largest `|w v|_p` over all changes v. weights w: (N,), at least 0, exact."""

    @abstractmethod
    def unmoved(self, rows: Floats) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which of these rows, (R, N), no change moves; False where floats cannot tell."""

    @abstractmethod
    def kept(self) -> Floats:
        """Rows (p, N) that no change moves."""

    @abstractmethod
    def change_words(self, change: tuple[tuple[int, int], ...], elements: list[str] | tuple[str, ...]) -> str:
        """A change in words."""


@dataclass(frozen=True, eq=False)
class SensitivitySet:
    """All `u = p_i - p_j` over the protected pairs (i, j) of a relation; points p of shape (P, R) are exact float64 numbers.

    The pairs are generated in blocks: N = 20,000 points have 2 x 10^8 of them, which never sit in memory together.
    """

    relation: Relation
    points: Floats

    def __post_init__(self) -> None:
        if isinstance(self.relation, ByLength) and not (self.relation.listed or self.relation.exchanges):
            raise DesignFailed(UNLISTED)

    @classmethod
    def of(cls, matrix: Floats, relation: Relation) -> SensitivitySet:
        """The differences that the relation allows in the answers of `matrix`, shape (R, N)."""
        if isinstance(relation, ByLength) and not relation.listed:
            return UnlistedSet(relation, matrix)
        return cls(relation, frozen(relation.points(matrix.T)))

    def longest(self, norm: Norm) -> Longest | None:
        """The largest `||u||` where it is known without looking at pairs; None where these have to be scanned."""
        return None

    @property
    def dimension(self) -> int:
        """R, the length of the differences."""
        return int(self.points.shape[1])

    def ratios(self, norm: Norm) -> Iterator[tuple[Block, Floats]]:
        """`||u|| / b` of every pair, block by block, in floating point; 0 for unprotected pairs, infinite for b = 0 < ||u||."""
        images = norm.image(self.points)
        # Beyond this, lengths may overflow to infinity or to infinity - infinity: such a pair counts as infinitely long.
        wild = not float(np.abs(images).max(initial=0.0)) < 1e150
        for block in track(self.relation.blocks(), "scanning pairs"):
            with np.errstate(over="ignore", invalid="ignore"):
                lengths = (
                    norm.length(images[block.left] - images[block.right])
                    if block.paired
                    else norm.between(images[block.left], images[block.right])
                )
            if wild:
                lengths[np.isnan(lengths)] = np.inf
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                lengths /= np.abs(block.budgets)  # never -0, whatever a relation yields
            if wild or not block.budgets.all():
                lengths[np.isnan(lengths)] = 0.0
            yield block, lengths

    def worst(self, norm: Norm, limit: int = 1) -> tuple[float, Pairs]:
        """The largest `||u|| / b`, and up to `limit` pairs of large ratio: the worst partner of each point,
        the worst of those first."""
        best, found = 0.0, _Found(limit)
        for block, ratios in self.ratios(norm):
            if ratios.size:
                best = max(best, float(ratios.max()))
                found.add(block, ratios)
        return best, self.pairs(*found.indices())

    def worst_coordinates(self) -> Floats:
        """The largest `|u_k| / b` of each coordinate k, in one pass: the Laplace scale that query k needs when it is alone."""
        largest = np.zeros(self.dimension)
        for block in track(self.relation.blocks(), "scanning pairs"):
            for k, column in enumerate(self.points.T):
                right = column[block.right]
                moves = np.abs(column[block.left] - right if block.paired else column[block.left][:, None] - right)
                with np.errstate(divide="ignore", invalid="ignore"):
                    moves /= np.abs(block.budgets)
                largest[k] = np.fmax(largest[k], np.fmax.reduce(moves, axis=None, initial=0.0))
        return largest

    def pairs(self, left: Indices, right: Indices, budgets: Floats) -> Pairs:
        """The given pairs written out.

        left, right: (m,), point indices. budgets: (m,).
        """
        return Pairs(left, right, self.points[left] - self.points[right], budgets)

    def all_pairs(self, limit: int = 5_000_000) -> Pairs:
        """Every pair with u != 0 and finite budget, written out; refused above `limit` pairs."""
        found: list[tuple[Indices, Indices, Floats]] = []
        total = 0
        for block in self.relation.blocks():
            where = np.nonzero(np.isfinite(block.budgets))
            left, right = block.left[where[0]], block.right[where[-1]]
            moved = (self.points[left] != self.points[right]).any(axis=1)
            found.append((left[moved], right[moved], block.budgets[where][moved]))
            total += int(moved.sum())
            if total > limit:
                raise DesignFailed(
                    f"the sensitivity set has more than {limit} differences; use a family that scans it in blocks, such as "
                    "laplace."
                )
        if not found:
            return self.pairs(np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0))
        return self.pairs(*(np.concatenate(part) for part in zip(*found, strict=True)))

    def exact(self, left: int, right: int) -> tuple[list[Fraction], Fraction | None]:
        """One pair as rational numbers: u and b (None when infinite)."""
        u = [Fraction(float(a)) - Fraction(float(b)) for a, b in zip(self.points[left], self.points[right], strict=True)]
        return u, self.relation.exact_budget(left, right)

    def silent_coordinates(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """The coordinates in which no protected pair differs: they are published without noise (SEMI Proposition 26)."""
        label = self.relation.components()
        order = np.argsort(label, kind="stable")
        same = label[order[1:]] == label[order[:-1]]
        # Protected pairs lie within a component, and a coordinate is silent exactly when it is constant on each.
        changed = (self.points[order[1:]] != self.points[order[:-1]]) & same[:, None]
        return np.asarray(~changed.any(axis=0))

    def span(self) -> Floats:
        """Rows that span all differences: within each component, the differences to one of its points."""
        label = self.relation.components()
        first = np.full(label.max() + 1, -1)
        first[label[::-1]] = np.arange(len(label))[::-1]
        return np.asarray(self.points - self.points[first[label]])

    def rank(self) -> int:
        """Dimension of the span of the differences, by exact elimination over the rationals.

        Differences of floats need not be floats: they are taken between the integers that the points are multiples of.
        """
        label = self.relation.components()
        rows, _ = dyadic_integers(self.points)
        first = {component: rows[i] for i, component in reversed(list(enumerate(label.tolist())))}
        return integer_rank(
            [[a - b for a, b in zip(row, first[c], strict=True)] for row, c in zip(rows, label.tolist(), strict=True)]
        )


class UnlistedSet(SensitivitySet):
    """The differences of a relation whose changes nobody wrote out: the largest norm is known, with a change that has it.

    Where the changes are exchanges of elements, every scan of pairs works as well, on points that are made when they are asked
    for. matrix: (R, N).
    """

    relation: Any

    def __init__(self, relation: ByLength, matrix: Floats) -> None:
        for name, value in (("relation", relation), ("matrix", frozen(matrix))):
            object.__setattr__(self, name, value)

    matrix: Floats

    @cached_property
    def points(self) -> Floats:
        """The points of exchanges; `DesignFailed` for other changes."""
        if not self.relation.exchanges:
            raise DesignFailed(UNLISTED)
        return frozen(self.relation.points(self.matrix.T))

    @property
    def dimension(self) -> int:
        return len(self.matrix)

    def longest(self, norm: Norm) -> Longest | None:
        """In closed form where coordinates are cells, each at most once; for other answers by the lengths of their columns."""
        heard = ~norm.silent
        weights = _cell_weights(self.matrix[heard], norm.map[heard]) if norm.map.ndim == 1 else None
        if weights is not None:
            found: Longest = self.relation.longest(weights, norm.order)
            return found
        return None if self.relation.exchanges else self._by_columns(norm)

    def _by_columns(self, norm: Norm) -> Longest:
        """`||u|| <= sum |v_i| ||B_i||` over the columns B_i of the map times the matrix, as they are or once what is public was
        taken out of them; rounded up by the error of the floats."""
        heard = ~norm.silent
        rows, factor, kept = self.matrix[heard], norm.factor, self.relation.kept()
        image = factor @ rows
        shares = np.linalg.lstsq(kept.T, image.T, rcond=None)[0].T
        terms = max(rows.shape[0], len(kept)) + 8
        bounds: list[Longest] = []
        for part in (0.0 * shares, shares):
            error = terms * 2.0**-52 * (np.abs(factor) @ np.abs(rows) + np.abs(part) @ np.abs(kept))
            sizes = norm.length((np.abs(image - part @ kept) + error).T)
            bounds.append(self.relation.longest(np.nextafter(sizes * (1 + terms * 2.0**-50), np.inf), "l1"))
        found = min(bounds, key=lambda one: one.bound)
        u = [sum((Fraction(float(row[i])) * n for i, n in found.change), Fraction(0)) for row in self.matrix]
        reached = norm.exact(u) or Fraction(0)
        return Longest(found.bound, reached, found.change, f"{found.proof}, each cell by the length of its answers")

    def worst(self, norm: Norm, limit: int = 1) -> tuple[float, Pairs]:
        longest = self.longest(norm)
        if longest is None:
            return super().worst(norm, limit)
        budget = np.array([float(self.relation.budget)])
        u = sum((n * self.matrix[:, i] for i, n in longest.change), np.zeros(self.dimension))
        here = np.zeros(1, dtype=np.intp)
        return float_above(longest.bound / self.relation.budget), Pairs(here, here + 1, u[None], budget)

    def silent_coordinates(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        return np.asarray(self.relation.unmoved(self.matrix))


def _cell_weights(rows: Floats, weights: Floats) -> Floats | None:
    """The weight of each element where every row counts one element and none is counted twice; None elsewhere.

    rows: (R, N). weights: (R,). Returns (N,), whose products are exact.
    """
    where = np.nonzero(rows)
    if not (np.array_equal(where[0], np.arange(len(rows))) and len(np.unique(where[1])) == len(rows)):
        return None
    entries = rows[where]
    powers = np.frexp(entries)[0]
    if (np.abs(powers) != 0.5).any():
        return None
    full = np.zeros(rows.shape[1])
    full[where[1]] = weights * np.abs(entries)
    return full if np.isfinite(full).all() else None


class _Found:
    """The worst partner of each point seen so far, cut to `limit` pairs of largest ratio."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.ratios: Any = np.empty(0)
        self.left: Any = np.empty(0, dtype=np.intp)
        self.right: Any = np.empty(0, dtype=np.intp)
        self.budgets: Any = np.empty(0)

    def add(self, block: Block, ratios: Floats) -> None:
        if block.paired:
            keep = np.argsort(-ratios)[: self.limit]
            left, right = block.left[keep], block.right[keep]
            values, budgets = ratios[keep], block.budgets[keep]
        else:
            column = ratios.argmax(axis=1)
            row = np.arange(len(column))
            left, right = block.left, block.right[column]
            values, budgets = ratios[row, column], block.budgets[row, column]
        self.ratios = np.concatenate([self.ratios, values])
        order = np.argsort(-self.ratios)[: self.limit]
        order = order[self.ratios[order] > 0]
        self.ratios = self.ratios[order]
        for name, new in (("left", left), ("right", right), ("budgets", budgets)):
            setattr(self, name, np.concatenate([getattr(self, name), new])[order])

    def indices(self) -> tuple[Indices, Indices, Floats]:
        return self.left, self.right, self.budgets

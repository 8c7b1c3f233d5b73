"""Answers from all measured products together: their weighted least squares, direction by direction.

The Gram matrices of an attribute's matrices, and that of the row of ones, share a basis: its vectors V (n, r) make `V'M'M V`
diagonal for each of them, the first one alone is seen by the row of ones, and `1'V = (1, 0, .., 0)`. Products of these vectors
are the directions of all blocks at once, so each is estimated by itself (docs/theory/structured.md, 5).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.errors import InvalidProblem
from designer.domains.marginals_noise import kronecker_product
from designer.domains.products_noise import EXACT, MeasuredProduct, StrategyMatrix
from designer.domains.products_workload import AttributeQueries
from solvers.lattices.kernel import pseudo_inverse

Key = tuple[tuple[int, int], ...]  # axes and their classes of directions, but the first one, axes rising
Term = Mapping[int, AttributeQueries]
NOTHING = 1e-10  # of the largest value of a Gram matrix: what is rounding
ROUNDING = 1e-13  # of what queries ask of all directions: what they ask of one of which they do not ask
LEAST = 1e-150  # a variance below which weights are those of it, so that floats hold them
ABOVE = 1 + 1e-6  # of a bound on a coefficient, so that nobody takes it for the coefficient
WRITTEN = 2**22  # numbers of a map from products to answers that is written out


@dataclass(frozen=True, eq=False)
class SharedBasis:
    """vectors V (n, r). label (r,): the class of each, 0 of the first alone. seen (matrices, classes): `|M v|^2` of every
    vector of a class."""

    vectors: Floats
    label: NDArray[np.intp]
    seen: Floats

    @property
    def classes(self) -> int:
        """How many kinds of directions there are."""
        return int(self.seen.shape[1])

    def spread(self, rows: Floats) -> Floats:
        """`|q V_c|^2` for rows q (m, n) and every class c, (m, classes)."""
        along = np.square(weights_along(rows, self.vectors))
        return np.stack([along[:, self.label == c].sum(axis=1) for c in range(self.classes)], axis=1)

    def total_spread(self, queries: AttributeQueries) -> Floats:
        """The same, summed over all queries of a kind, (classes,); `InvalidProblem` where they lie outside the basis."""
        gram, v = queries.gram, self.vectors
        missing = np.eye(queries.size) - v @ pseudo_inverse(v)
        if float(np.vdot(missing, gram @ missing)) > EXACT**2 * np.trace(gram):
            raise InvalidProblem(
                f"matrices: the rows measured do not determine the {queries.kind!r} queries of an attribute; add rows, such as "
                "those of the identity."
            )
        along = np.einsum("ij,ij->j", v, gram @ v)
        found = np.array([along[self.label == c].sum() for c in range(self.classes)])
        return np.where(found > ROUNDING * found.sum(), found, 0.0)


@lru_cache(maxsize=512)
def shared_basis(matrices: tuple[StrategyMatrix, ...]) -> SharedBasis:
    """The basis of the matrices of an attribute and of the row of ones; `InvalidProblem` where they share none."""
    rows = [matrix.rows.astype(np.float64) for matrix in matrices]
    n = rows[0].shape[1]
    grams = [own.T @ own / np.square(own).sum() for own in rows] + [np.full((n, n), 1.0 / n)]
    values, vectors = np.linalg.eigh(np.sum(grams, axis=0))
    kept = values > NOTHING * values[-1]
    whitened = vectors[:, kept] / np.sqrt(values[kept])
    turned = [whitened.T @ gram @ whitened for gram in grams]
    # Numbers without a common pattern, so that directions which some matrix tells apart are told apart by the sum.
    mixed = np.sum([own * math.sqrt(2 + k) for k, own in enumerate(turned)], axis=0)
    basis = whitened @ np.linalg.eigh(mixed)[1]
    diagonals = []
    for gram in grams:
        along = basis.T @ gram @ basis
        found = along.diagonal().copy()
        if np.abs(along - np.diag(found)).max() > EXACT:
            raise InvalidProblem(
                "matrices: those of an attribute, with the row of ones, share no basis of directions, so that products of them "
                "are not put together; let one block serve each term."
            )
        diagonals.append(np.where(found > NOTHING, found, 0.0))
    top = int(diagonals[-1].argmax())
    order = np.array([top, *(k for k in range(basis.shape[1]) if k != top)])
    vectors = basis[:, order] * np.where(order == top, 1.0 / basis[:, top].sum(), 1.0)
    norms = np.stack([np.square(own).sum() * d[order] for own, d in zip(rows, diagonals[:-1], strict=True)])
    norms[:, 0] /= basis[:, top].sum() ** 2
    rounded = np.round(norms / norms.max(axis=1, keepdims=True), 9)[:, 1:]
    _, first, label = np.unique(rounded, axis=1, return_index=True, return_inverse=True)
    own_label = np.append(0, 1 + np.ravel(label)).astype(np.intp)
    seen = np.stack([norms[:, own_label == c].mean(axis=1) for c in range(1 + len(first))], axis=1)
    return SharedBasis(vectors, own_label, seen)


class JointLeastSquares:
    """How blocks know the directions of their products, and what answers are made of."""

    def __init__(
        self, matrices: Mapping[int, Sequence[StrategyMatrix]], blocks: Sequence[MeasuredProduct], variances: Sequence[float]
    ) -> None:
        """variances: of the noise in a coordinate of each block."""
        self.matrices, self.blocks = matrices, blocks
        self.bases = {axis: shared_basis(tuple(listed)) for axis, listed in matrices.items()}
        self.weights = [1 / max(variance, LEAST) for variance in variances]
        self.known: dict[Key, float] = {}
        for block, weight in zip(blocks, self.weights, strict=True):
            for key, reached in reach_of(block, self.bases).items():
                self.known[key] = self.known.get(key, 0.0) + weight * reached

    def precision(self, key: Key) -> float:
        """That of a direction; infinite where none is measured, which is asked for only of what does not count."""
        return self.known.get(key, 0.0) or math.inf

    def total(self, term: Term) -> float:
        """The total variance of all answers of a term."""
        return sum(cost / self.precision(key) for key, cost in self.costs(term).items())

    def costs(self, term: Term) -> dict[Key, float]:
        """What each direction adds to the total variance of a term at precision 1; `InvalidProblem` where some direction of
        the term is not measured."""
        found = costs_of(term, self.bases)
        if any(key not in self.known for key in found):
            raise InvalidProblem("blocks: a direction of a term is not measured; add a block over all attributes of the term.")
        return found

    def variances(self, term: Term, chosen: NDArray[np.intp]) -> Floats:
        """Of single answers, (m,); chosen: (m, axes of the term), the numbers of the queries."""
        spreads = [
            self.bases[axis].spread(queries.rows(chosen[:, place])) for place, (axis, queries) in enumerate(term.items())
        ]
        total: Floats = np.zeros(len(chosen))
        for key, classes in keys_of(term, self.bases):
            own = [spread[:, c] for spread, c in zip(spreads, classes, strict=True)]
            total += reduce(np.multiply, own, np.ones(len(chosen))) / self.precision(key)
        return total

    def estimates(self, measured: Sequence[NDArray[Any]]) -> dict[frozenset[int], Floats]:
        """The coordinates of the histogram along products of the vectors but the first of some axes, and the first one of all
        others, by these axes: an array (r_1 - 1, ..) each.

        measured: of each block the noisy products, (p_1, ..., p_r).
        """
        sums: dict[frozenset[int], Floats] = {}
        for block, values, weight in zip(self.blocks, measured, self.weights, strict=True):
            axes = sorted(block.parts)
            along: Floats = values.astype(np.float64) * weight
            for k, axis in enumerate(axes):
                along = np.moveaxis(np.tensordot(self._seen_by(axis, block), along, axes=(1, k)), 0, k)
            for part in parts_of(axes):
                own = np.asarray(along[tuple(slice(1, None) if axis in part else 0 for axis in axes)])
                sums[part] = sums[part] + own if part in sums else own
        return {part: own / self._precisions(sorted(part)) for part, own in sums.items()}

    def sides(self, term: Term, part: MeasuredProduct) -> dict[int, tuple[AttributeQueries, Floats]]:
        """For each axis of a term its queries, and the vectors of its part of the estimates: all but the first along the axes
        of the part, the first along all others."""
        found = {}
        for axis, queries in term.items():
            vectors = self.bases[axis].vectors
            found[axis] = queries, vectors[:, 1:] if axis in part.parts else vectors[:, :1]
        return found

    def maps(self, term: Term, block: MeasuredProduct) -> tuple[Floats, Floats]:
        """Of the answers of a term, (K,), the sum of the squares of their coefficients in a block, and the largest in size, or
        a bound above it where there are very many coefficients."""
        shared, left, right, middle = self._path(term, block)
        size = math.prod(len(own) for own in left)
        if size * max(len(middle), math.prod(own.shape[1] for own in right)) <= WRITTEN:
            matrix = self.map(term, block)
            return np.square(matrix).sum(axis=1), np.abs(matrix).max(axis=1, initial=0.0)
        # Directions are orthogonal as a block sees them, so the squares of their parts add up.
        lengths = reduce(np.multiply.outer, [np.square(own).sum(axis=1) for own in right], np.ones(()))
        found = np.square(middle).reshape([self.bases[axis].vectors.shape[1] for axis in shared])
        found = found * np.asarray(lengths).reshape(found.shape)
        for axis, own in zip(term, left, strict=True):
            part = np.square(own)
            found = np.tensordot(found, part, axes=(0, 1)) if axis in shared else np.multiply.outer(found, part[:, 0])
        squares = np.asarray(found).ravel()
        return squares, np.sqrt(squares) * ABOVE

    def map(self, term: Term, block: MeasuredProduct) -> Floats:
        """What makes the part of a block in the answers of a term of its coordinates, (K, coordinates)."""
        _, left, right, middle = self._path(term, block)
        return np.asarray((kronecker_product(left) * middle) @ kronecker_product(right))

    def _path(self, term: Term, block: MeasuredProduct) -> tuple[list[int], list[Floats], list[Floats], Floats]:
        """The axes that a term and a block share; the queries along the vectors, for each axis of the term; the vectors as the
        block sees them, for each of its axes; and what directions along the shared axes are weighted with."""
        shared = [axis for axis in sorted(term) if axis in block.parts]
        weight = next(own for other, own in zip(self.blocks, self.weights, strict=True) if other is block)
        left = [self._rows(axis, queries, axis in shared) for axis, queries in term.items()]
        right = [self._seen_by(axis, block, axis in shared) for axis in sorted(block.parts)]
        return shared, left, right, weight / self._precisions(shared, full=True).ravel()

    def _rows(self, axis: int, queries: AttributeQueries, seen: bool) -> Floats:
        """The queries along the vectors, or the first alone, (K, r) or (K, 1)."""
        vectors = self.bases[axis].vectors
        return np.asarray(queries.rows() @ (vectors if seen else vectors[:, :1]))

    def _seen_by(self, axis: int, block: MeasuredProduct, seen: bool = True) -> Floats:
        """`V'M'`, (r, p), or of the first vector alone, (1, p)."""
        vectors = self.bases[axis].vectors
        rows = self.matrices[axis][block.parts[axis]].rows.astype(np.float64)
        return np.asarray((rows @ (vectors if seen else vectors[:, :1])).T)

    def _precisions(self, axes: Sequence[int], full: bool = False) -> Floats:
        """Of the directions along some axes, (r_1 - 1, ..), or with the first ones, (r_1, ..)."""
        labels = [self.bases[axis].label[0 if full else 1 :] for axis in axes]
        table = np.empty([self.bases[axis].classes for axis in axes])
        for place in np.ndindex(*table.shape):
            table[place] = self.precision(tuple((axis, c) for axis, c in zip(axes, place, strict=True) if c))
        return np.asarray(table[np.ix_(*labels)] if axes else table)


def parts_of(axes: Sequence[int]) -> list[frozenset[int]]:
    """All subsets, smaller ones first."""
    return [frozenset(part) for size in range(len(axes) + 1) for part in combinations(axes, size)]


def reach_of(block: MeasuredProduct, bases: Mapping[int, SharedBasis]) -> dict[Key, float]:
    """How precisely a block at precision 1 knows each direction that it sees; axes that it sums over see the first alone."""
    found: dict[Key, float] = {(): 1.0}
    for axis in sorted(block.parts):
        seen = [(((axis, c),) if c else (), s) for c, s in enumerate(bases[axis].seen[block.parts[axis]].tolist()) if s > 0.0]
        found = {key + own: value * s for key, value in found.items() for own, s in seen}
    return found


def keys_of(term: Term, bases: Mapping[int, SharedBasis]) -> list[tuple[Key, tuple[int, ...]]]:
    """The directions of a term, with the class of each of its axes."""
    listed = product(*(range(bases[axis].classes) for axis in term))
    return [(tuple(sorted((axis, c) for axis, c in zip(term, classes, strict=True) if c)), classes) for classes in listed]


def costs_of(term: Term, bases: Mapping[int, SharedBasis]) -> dict[Key, float]:
    """What each direction adds to the total variance of a term at precision 1, without those that add nothing."""
    if missing := [axis for axis in term if axis not in bases]:
        raise InvalidProblem(f"blocks: none measures the attribute at {missing[0]}, which a term asks about; measure it.")
    spreads = [bases[axis].total_spread(queries) for axis, queries in term.items()]
    found = {
        key: math.prod(float(spread[c]) for spread, c in zip(spreads, classes, strict=True))
        for key, classes in keys_of(term, bases)
    }
    return {key: cost for key, cost in found.items() if cost > 0.0}


def weights_along(rows: Floats, directions: Floats) -> Floats:
    """`rows @ directions`; 0 where only the rounding of floats is left of it, so that answers without noise say so.

    rows: (m, n). directions: (n, r). Returns (m, r).
    """
    weights = np.asarray(rows @ directions)
    return np.where(np.abs(weights) <= ROUNDING * (np.abs(rows) @ np.abs(directions)), 0.0, weights)

"""The sensitivity set: the pairs (u, b) that a mechanism has to hide,
and nothing else about the problem (docs/theory/foundations.md, 1).

From here on no privacy word is needed: u is a difference of two points, b a budget, and a mechanism is good when `||u|| <= b`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, frozen
from designer.base.errors import DesignFailed
from designer.base.progress import track
from designer.certificate.change_norms import ByLength, Longest, too_many
from designer.certificate.norms import Norm, RatioBounds
from designer.problem.budget_bounds import Nearness
from designer.problem.relation import Block, Indices, Relation
from solvers.exact.rational import dyadic_integers, integer_rank

if TYPE_CHECKING:
    from designer.certificate.max_ratio_search import Hunt


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


@dataclass(frozen=True, eq=False)
class SensitivitySet:
    """All `u = p_i - p_j` over the protected pairs (i, j) of a relation; points p of shape (P, R) are exact float64 numbers.

    The pairs are generated in blocks: N = 20,000 points have 2 x 10^8 of them, which never sit in memory together.
    """

    relation: Relation
    points: Floats

    def __post_init__(self) -> None:
        if isinstance(self.relation, ByLength) and not (self.relation.listed or self.relation.exchanges):
            raise DesignFailed(too_many(self.relation))

    @classmethod
    def of(cls, matrix: Floats, relation: Relation) -> SensitivitySet:
        """The differences that the relation allows in the answers of `matrix`, shape (R, N)."""
        if isinstance(relation, ByLength) and not relation.listed:
            found: SensitivitySet = relation.set_of(matrix)
            return found
        return cls(relation, frozen(relation.points(matrix.T)))

    def among(self, coordinates: NDArray[np.intp] | NDArray[np.bool_]) -> SensitivitySet:
        """The differences in some of the coordinates, (r,) positions or (R,) booleans."""
        return SensitivitySet(self.relation, self.points[:, coordinates])

    def spread(self) -> Floats:
        """How far apart points lie in each coordinate, (R,)."""
        return np.asarray(np.ptp(self.points, axis=0))

    def require_rows(self) -> None:
        """`DesignFailed` where the longest change is not found for any weights, so that no rows can be generated."""
        return

    def worst_along(self, coordinate: int) -> Pairs:
        """A pair that moves one coordinate the most, for its budget, written out in all of them."""
        alone = self.among(np.array([coordinate])).worst(Norm(np.ones(1), "l1"))[1]
        return self.pairs(alone.left, alone.right, alone.budgets)

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
        for block in self._scanned():
            with np.errstate(over="ignore", invalid="ignore"):
                lengths = (
                    norm.length(images[block.left] - images[block.right])
                    if block.paired
                    else norm.between(images[block.left], images[block.right])
                )
            yield block, _divided(lengths, block.budgets, wild)

    def _scanned(self) -> Iterator[Block]:
        """All blocks, counted for progress: of rectangles, every row is paired with those behind it."""
        size = self.relation.size
        return track(
            self.relation.blocks(),
            "scanning pairs",
            lambda block: None if block.paired else 1 - (1 - min(1.0, (int(block.left[-1]) + 1) / size)) ** 2,
        )

    def worst(self, norm: Norm, limit: int = 1, least: float = 0.0) -> tuple[float, Pairs]:
        """The largest `||u|| / b`, and up to `limit` pairs of large ratio: the worst partner of each point,
        the worst of those first. Where pairs are searched, and nearly all tie, the largest of all may be above it by one of
        `steep.TOLERANCES` or `steep.COARSE`. least: ratios below it are of no interest, and a search may leave them out."""
        best, found = 0.0, _WorstPairs(limit)
        for block, ratios in self._few(norm, limit, least):
            if ratios.size:
                best = max(best, float(ratios.max()))
                found.add(block, ratios)
        return best, self.pairs(*found.indices())

    @cached_property
    def searched(self) -> Nearness | None:
        """What bounds the budgets between groups of points, where there are too many pairs to look at each."""
        near = self.relation.searched
        return near if near is not None and near.many else None

    def searches(self, norm: Norm) -> bool:
        """Whether pairs are searched for their largest norm: where there are many, or many facets to look at for each."""
        near, facets = self.relation.searched, len(norm.map) if norm.map.ndim == 2 else 1
        return near is not None and near.pairs * max(1, facets // (4 * norm.dimension)) > near.few

    def hunt(
        self,
        norm: Norm,
        kept: int,
        bounds: RatioBounds,
        *,
        partners: bool = False,
        below: float = np.inf,
        least: float = 0.0,
    ) -> Hunt | None:
        """The search, done, for the pairs of largest ratio, or for the worst partner of each point; None where a look at every
        pair is quicker.

        kept: how many pairs are held. bounds: what the float ratio of a pair proves of it. below, least: see `Hunt`.
        """
        from designer.certificate.max_ratio_search import Clusters, Hunt

        near = self.relation.searched
        assert near is not None
        groups = Clusters(near, self.points[: self.relation.size], norm, bounds)

        def look(left: Indices, right: Indices) -> Floats:
            block = self.in_step(left, right)
            return bounds.lower(block, self.ratios_of(norm, block))

        hunt = Hunt(groups, look, kept, partners, below, least)
        hunt.run()
        return None if hunt.in_vain else hunt

    def in_step(self, left: Indices, right: Indices) -> Block:
        """Pairs of a relation that is searched, with their float budgets."""
        return Block(left, right, self.relation.along(left, right))

    def ratios_of(self, norm: Norm, block: Block) -> Floats:
        """The ratios of a block in step, (M,), as `ratios` has them up to rounding."""
        ends = (norm.image(self.points[end]) for end in (block.left, block.right))
        wild = not float(np.abs(self.points).max(initial=0.0)) * float(np.abs(norm.factor).sum()) < 1e150
        return _divided(norm.length(np.subtract(*ends)), block.budgets, wild)

    def _few(self, norm: Norm, limit: int, least: float) -> Iterator[tuple[Block, Floats]]:
        """The largest ratios among them, and many large ones; up to the tolerance of a search that would be long."""
        bounds = RatioBounds(norm.image_error(self.points), 2.0**-40)
        if self.searches(norm) and norm.silent.all():  # no pair has a length
            return iter(())
        hunt = self.hunt(norm, limit, bounds, partners=True, least=least) if self.searches(norm) else None
        if hunt is None:
            return self.ratios(norm)
        blocks = [self.in_step(hunt.left, hunt.right), *self.relation.beside()]
        return ((block, self.ratios_of(norm, block)) for block in blocks)

    def worst_coordinates(self) -> Floats:
        """The largest `|u_k| / b` of each coordinate k, in one pass: the Laplace scale that query k needs when it is alone."""
        if self.searched is not None:
            alone = (SensitivitySet(self.relation, self.points[:, [k]]) for k in range(self.dimension))
            return np.array([single.worst(Norm(np.ones(1), "l1"))[0] for single in alone])
        largest = np.zeros(self.dimension)
        for block in self._scanned():
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

    def all_pairs(self, limit: int = 5_000_000, *, implied: bool = False) -> Pairs:
        """Every pair with u != 0 and finite budget, written out; refused above `limit` pairs. implied: also those whose budgets
        follow from others."""
        found: list[tuple[Indices, Indices, Floats]] = []
        total = 0
        for block in self.relation.every_pair() if implied else self.relation.blocks():
            where = np.nonzero(np.isfinite(block.budgets))
            left, right = block.left[where[0]], block.right[where[-1]]
            moved = (self.points[left] != self.points[right]).any(axis=1)
            found.append((left[moved], right[moved], block.budgets[where][moved]))
            total += int(moved.sum())
            if total > limit:
                raise DesignFailed(
                    f"sensitivity: the set has more than {limit} differences; use a family that scans it in blocks, such as "
                    "laplace."
                )
        if not found:
            return self.pairs(np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0))
        return self.pairs(*(np.concatenate(part) for part in zip(*found, strict=True)))

    def exact(self, left: int, right: int) -> tuple[list[Fraction], Fraction | None]:
        """One pair as rational numbers: u and b (None when infinite)."""
        ends = zip(self.points[left].tolist(), self.points[right].tolist(), strict=True)
        zero = Fraction(0)
        u = [zero if a == b else Fraction(a) - Fraction(b) for a, b in ends]
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


def _divided(lengths: Floats, budgets: Floats, wild: bool) -> Floats:
    """Lengths over budgets, in the place of the lengths; wild: lengths that are no numbers are infinite."""
    if wild:
        lengths[np.isnan(lengths)] = np.inf
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        lengths /= np.abs(budgets)  # never -0, whatever a relation yields
    if wild or not budgets.all():
        lengths[np.isnan(lengths)] = 0.0
    return lengths


class _WorstPairs:
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

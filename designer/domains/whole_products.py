"""Which products of whole-number rows to measure, with noise on the whole numbers, so that least squares of all of them lose
least (docs/theory/structured.md, 5).

It contains counts of the finest cells, added up, every asked product for itself, and cells with totals of any attributes, so
its loss is never above theirs. Rates are chosen by the variance of the discrete law.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.base.errors import DesignFailed, InvalidProblem
from designer.domains.directions import Key, SharedBasis, costs_of, reach_of, shared_basis
from designer.domains.products_noise import (
    KindOfChange,
    MeasuredProduct,
    Noise,
    Protection,
    StrategyMatrix,
    kinds_of_changes,
    loads_of,
    sides,
    summed_square,
)
from designer.domains.products_release import TOGETHER, Serves
from designer.domains.products_workload import AttributeQueries, StructuredWorkload
from designer.limits import LARGEST_MEASURED_ENTRY, MOST_MEASURED, MOST_MEASURED_ROWS
from solvers.programs.noise_costs import GaussianCost, NoiseCost
from solvers.programs.scales import minimise_scales
from solvers.programs.strategy import hierarchical, prefix, wavelet
from solvers.programs.whole_blocks import Blocks, best_rates
from solvers.programs.whole_strategy import UNIT, Effort

Loss = Literal["squared", "max"]
LAWS: dict[Noise, type[NoiseCost]] = {"laplace": NoiseCost, "gaussian": GaussianCost}
FREE: dict[Noise, float] = {"laplace": 300.0, "gaussian": 600.0}  # rates of what no change moves: noise that is never seen
EVERY_PART = 10  # attributes up to which all their subsets are among the supports of blocks
UNITED = 40  # terms up to which unions of two are
MOST_NUMBERS = 200_000  # of directions of blocks and terms
ALIKE = 1 - 1e-9  # of a loss: what is no less than that is no better
FINEST, BESIDE = MOST_MEASURED // 2, MOST_MEASURED // 4  # coordinates of the finest block, and of all that nobody asks for
TREES, FANS = 512, (2, 3, 4, 8, 16)  # values up to which an attribute has trees, and of which fans
SWAPPED = 6  # attributes up to which each is tried with other rows than the rest
EFFORT, LOOK = 20.0, 1.0  # units of 10^8 numbers: of the design that is followed to its end, and of one look
MULTIPLES = (*range(1, 17), 20, 25, 50, 100, 1000)  # of rows, that may be whole numbers
MOST_TERMS = 1000  # their rates are found together, by matrices of so many rows: up to three of 18 attributes
MOVED_TERMS = 64  # terms up to which each is tried with the blocks of others


@dataclass(frozen=True, eq=False)
class ProductPlan:
    """Matrices by axis, blocks, and how they serve the terms; the loss, in floats."""

    loss: float
    matrices: Mapping[int, tuple[StrategyMatrix, ...]]
    blocks: tuple[MeasuredProduct, ...]
    serves: Serves


Rows = dict[int, tuple[StrategyMatrix, ...]]


def best_products(workload: StructuredWorkload, protection: Protection, noise: Noise, loss: Loss = "squared") -> ProductPlan:
    """The best found of blocks whose answers are put together, and of blocks of which one serves each term.

    `DesignFailed` above `MOST_TERMS` terms.
    """
    if why := too_many_terms(len(workload.terms)):
        raise DesignFailed(why)
    changes = kinds_of_changes(protection, workload.domain, workload.used)
    if not changes:
        raise DesignFailed("structured: no protected change moves an answer; give an attribute that is asked about a budget.")
    asked = _Search(workload, changes, noise, loss)
    together, alone = asked.together(), asked.alone()
    if together is not None and (alone is None or not alone.loss < together.loss * ALIKE):
        return together
    if alone is None:
        raise DesignFailed("structured: no whole-number rows of the attributes answer these terms; use strategies of your own.")
    return alone


def too_many_terms(terms: int) -> str:
    """Why products of whole-number rows are not designed for so many terms; empty where they are."""
    if terms <= MOST_TERMS:
        return ""
    return (
        f"structured: products of whole-number rows are designed for at most {MOST_TERMS:,} tables, not {terms:,}; ask for "
        "fewer, or take other noise."
    )


@dataclass(frozen=True, eq=False)
class _Search:
    workload: StructuredWorkload
    changes: Sequence[KindOfChange]
    noise: Noise
    loss: Loss

    def together(self) -> ProductPlan | None:
        """Blocks whose least squares answer all terms: each attribute has rows of its own, those of the best one alike for all,
        and then others for one attribute after the other where that is better."""
        own = {axis: dict(_rows_of(self.workload, axis, self.noise)) for axis in self.workload.used}
        names = list(dict.fromkeys(name for listed in own.values() for name in listed))
        tried: dict[tuple[str, ...], ProductPlan] = {}

        def look(chosen: Sequence[str]) -> ProductPlan | None:
            key = tuple(name if name in own[axis] else CELLS for axis, name in zip(own, chosen, strict=True))
            if key not in tried:
                rows = {axis: own[axis][name] for axis, name in zip(own, key, strict=True)}
                found = self._with(rows, Effort(LOOK * UNIT), look=True)
                if found is None:
                    return None
                tried[key] = found
            return tried[key]

        for name in names:
            look([name] * len(own))
        if not tried:
            return None
        best = min(tried, key=lambda key: tried[key].loss)
        for place, axis in enumerate(own) if 1 < len(own) <= SWAPPED else ():
            for name in own[axis]:
                look([*best[:place], name, *best[place + 1 :]])
            best = min(tried, key=lambda key: tried[key].loss)
        rows = {axis: own[axis][name] for axis, name in zip(own, best, strict=True)}
        further = self._with(rows, Effort(EFFORT * UNIT))
        return min([tried[best], *([] if further is None else [further])], key=lambda one: one.loss)

    def _with(self, rows: Rows, effort: Effort, look: bool = False) -> ProductPlan | None:
        """The best rates found of products of these rows; None where they share no basis, or answer too little."""
        supports = self._supports(rows)
        try:
            bases = {axis: shared_basis(listed) for axis, listed in rows.items()}
            if self._numbers(supports, rows, bases) > MOST_NUMBERS:
                return None
            costs = [costs_of(term, bases) for term in self.workload.terms]
        except InvalidProblem:
            return None
        parts = [
            dict(zip(axes, places, strict=True))
            for axes in supports
            for places in product(*(range(len(rows[axis])) for axis in axes))
        ]
        reaches = [reach_of(MeasuredProduct(part, 1.0), bases) for part in parts]
        keys = {key: place for place, key in enumerate(dict.fromkeys(key for cost in costs for key in cost))}
        if not keys.keys() <= {key for reach in reaches for key in reach}:
            return None
        loads = loads_of(self.changes, self.noise, rows, parts)
        free: NDArray[np.bool_] = np.asarray(~loads.any(axis=0))
        useful = np.array([bool(keys.keys() & own.keys()) for own in reaches])
        weights = self.workload.weights / (self.workload.counts if self.loss == "max" else np.ones(len(costs)))
        summed = [{key: w * cost for key, cost in own.items()} for w, own in zip(weights.tolist(), costs, strict=True)]
        if self.loss == "squared":
            together: dict[Key, float] = {}
            for own in summed:
                for key, cost in own.items():
                    together[key] = together.get(key, 0.0) + cost
            summed = [together]
        reach = _sparse([{key: v for key, v in own.items() if key in keys} for own in reaches], keys).T.tocsr()
        freely = 1 / LAWS[self.noise](np.ones(1), 2 if self.noise == "laplace" else 1, np.ones(1)).values(
            np.full(1, FREE[self.noise])
        )
        known = np.asarray(reach[:, free].sum(axis=1)).ravel() * freely[0]
        problem = Blocks(reach[:, ~free], known, _sparse(summed, keys), loads[:, ~free], LAWS[self.noise], self.loss)
        if free.all():
            return None
        moved = [part for part, out in zip(parts, free, strict=True) if not out]
        value, rates = best_rates(problem, list(self._favoured(moved)), effort, look)
        if not math.isfinite(value):
            return None
        blocks = [MeasuredProduct(part, float(rate)) for part, rate in zip(moved, rates, strict=True) if rate > 0]
        blocks += [
            MeasuredProduct(part, FREE[self.noise]) for part, out in zip(parts, np.asarray(free & useful), strict=True) if out
        ]
        return ProductPlan(value, rows, tuple(blocks), TOGETHER)

    def _numbers(self, supports: Sequence[tuple[int, ...]], rows: Rows, bases: Mapping[int, SharedBasis]) -> int:
        """How many directions the blocks see, all together, and the terms ask about."""
        seen = sum(math.prod(int((bases[axis].seen > 0).sum()) for axis in axes) for axes in supports)
        return seen + sum(math.prod(bases[axis].classes for axis in term) for term in self.workload.terms)

    def _supports(self, rows: Rows) -> list[tuple[int, ...]]:
        """The attributes of blocks: those of terms, parts of them, all subsets of few attributes, unions of two terms."""
        used, terms = self.workload.used, [tuple(term) for term in self.workload.terms]
        sizes = {axis: sum(len(matrix.rows) for matrix in listed) for axis, listed in rows.items()}
        wider: Iterable[tuple[int, ...]] = ()
        if len(used) <= EVERY_PART:
            wider = (part for size in range(len(used)) for part in combinations(used, size))
        elif len(terms) <= UNITED:
            wider = (tuple(sorted({*one, *other})) for one, other in combinations(terms, 2))
        found = {*terms, *(part for term in terms for size in range(len(term)) for part in combinations(term, size))}
        beside = {part: math.prod(sizes[axis] for axis in part) for part in wider if part not in found}
        left = BESIDE
        for part in sorted(beside, key=lambda part: (beside[part], part)):
            left -= beside[part]
            if left >= 0:
                found.add(part)
        if math.prod(sizes.values()) <= FINEST:
            found.add(used)
        return sorted(found, key=lambda part: (len(part), part))

    def _favoured(self, parts: Sequence[Mapping[int, int]]) -> Iterator[NDArray[np.bool_]]:
        """Blocks to begin with: the finest, those of the terms, those of the largest terms."""
        terms = {frozenset(term) for term in self.workload.terms}
        largest = {term for term in terms if not any(term < other for other in terms)}
        finest = [not any(part.values()) for part in parts]
        used = frozenset(self.workload.used)
        for chosen in ({used}, largest, terms):
            found = np.array([f and frozenset(part) in chosen for f, part in zip(finest, parts, strict=True)])
            if found.any() and not found.all():
                yield found

    def alone(self) -> ProductPlan | None:
        """One block for each term: the rows that are asked, or the cells of all attributes, at the best rates; a convex
        program."""
        cells = {axis: _cells(self.workload, axis) for axis in self.workload.used}
        matrices: dict[int, list[StrategyMatrix]] = {axis: [matrix] for axis, matrix in cells.items()}
        parts: list[dict[int, int]] = []
        for term in self.workload.terms:
            part = {}
            for axis, queries in term.items():
                rows = _asked_rows(queries)
                if rows is None:
                    rows = cells[axis]
                at = next((k for k, own in enumerate(matrices[axis]) if np.array_equal(own.rows, rows.rows)), None)
                if at is None:
                    at = len(matrices[axis])
                    matrices[axis].append(rows)
                part[axis] = at
            parts.append(part)
        parts.append(dict.fromkeys(self.workload.used, 0))
        fits = math.prod(len(matrix.rows) for matrix in cells.values()) <= FINEST
        serving = list(range(len(self.workload.terms)))
        each = self._served(matrices, parts, serving)
        other = self._served(matrices, parts, [len(parts) - 1] * len(serving)) if fits else None
        best = min((one for one in (each, other) if one is not None), key=lambda one: one[0], default=None)
        if best is None:
            return None
        if fits and len(serving) <= MOVED_TERMS:
            for k in range(len(serving)):
                moved = [*best[1][:k], len(parts) - 1, *best[1][k + 1 :]]
                tried = self._served(matrices, parts, moved) if moved != best[1] else None
                best = tried if tried is not None and tried[0] < best[0] else best
        value, serving, rates = best
        used = sorted(set(serving))
        blocks = tuple(MeasuredProduct(parts[b], float(rates[b])) for b in used)
        kept = {axis: tuple(listed) for axis, listed in matrices.items()}
        return ProductPlan(value, kept, blocks, tuple(used.index(b) for b in serving))

    def _served(
        self, matrices: Mapping[int, Sequence[StrategyMatrix]], parts: Sequence[dict[int, int]], serving: list[int]
    ) -> tuple[float, list[int], Floats] | None:
        """The loss, the blocks that serve, and rates, (B,), of those; None where a block does not answer its term."""
        if self.loss != "squared":
            return None
        costs = np.zeros(len(parts))
        try:
            for term, weight, b in zip(self.workload.terms, self.workload.weights.tolist(), serving, strict=True):
                made = sides(term, MeasuredProduct(parts[b], 1.0), matrices, False)
                costs[b] += weight * math.prod(map(summed_square, made.values()))
        except InvalidProblem:
            return None
        loads = loads_of(self.changes, self.noise, matrices, parts)
        rates = np.where(costs > 0, FREE[self.noise], 0.0)
        moved = (costs > 0) & loads.any(axis=0)
        law = LAWS[self.noise]
        power = 1 if law is GaussianCost else 2
        if moved.any():
            rows = loads[:, moved]
            steps = np.ones(int(moved.sum()))
            found = minimise_scales(
                rows[rows.any(axis=1)], costs[moved], power, steps=steps, noise=law, tolerance=1e-7, rounds=20
            )
            if not (found.status.usable and np.isfinite(found.point).all() and (found.point > 0).all()):
                return None
            worst = float((rows @ found.point).max())
            rates[moved] = found.point / worst
        value = power * law(costs[costs > 0], power, np.ones(int((costs > 0).sum()))).value(rates[costs > 0])
        return value, serving, rates


CELLS = "cells"


def _rows_of(workload: StructuredWorkload, axis: int, noise: Noise) -> Iterator[tuple[str, tuple[StrategyMatrix, ...]]]:
    """Rows of an attribute to choose from, by name: the values that no query tells apart, what is asked, trees and levels of
    groups of these values, running totals and wavelets."""
    cells = _cells(workload, axis)
    yield CELLS, (cells,)
    kinds = [term[axis] for term in workload.terms if axis in term]
    rows = _asked_rows(kinds[0]) if all(one is kinds[0] for one in kinds) else None
    if rows is not None and not np.array_equal(rows.rows, cells.rows):
        yield "asked", (rows,)
    size = len(cells.rows)
    if size > TREES or all(one.kind == "identity" for one in kinds) or size < 3:
        return
    stacked = noise == "laplace"  # Gaussian noise wide enough for trees is that of residuals, which are the better ones
    for name, made in (("prefix", prefix(size)), ("wavelet", wavelet(size))) if stacked else ():
        yield name, (_of_cells(made, cells),)
    for fan in (fan for fan in FANS if fan < size):
        if stacked:
            yield f"tree of {fan}", (_of_cells(hierarchical(size, fan), cells),)
        widths = [fan**k for k in range(1, 12) if fan**k < size and size % fan**k == 0]
        if widths:
            groups = [np.repeat(np.eye(size // width), width, axis=1) for width in widths]
            yield f"levels of {fan}", (cells, *(_of_cells(group, cells) for group in groups))


def _of_cells(rows: Floats, cells: StrategyMatrix) -> StrategyMatrix:
    """Rows over the values that queries tell apart, over all values."""
    return StrategyMatrix(np.rint(rows).astype(np.int64) @ cells.rows)


def _cells(workload: StructuredWorkload, axis: int) -> StrategyMatrix:
    """A row for each group of values of an attribute that no query tells apart, in the order of their first values."""
    size = workload.domain.shape[axis]
    kinds = {id(term[axis]): term[axis] for term in workload.terms if axis in term}
    label = np.arange(size)
    if all(queries.kind in ("matrix", "total") for queries in kinds.values()):
        stacked = np.vstack([np.ones((1, size)), *(queries.rows() for queries in kinds.values())])
        _, first, label = np.unique(stacked, axis=1, return_index=True, return_inverse=True)
        label = np.argsort(np.argsort(first))[np.ravel(label)]
    return StrategyMatrix((np.arange(label.max() + 1)[:, None] == label).astype(np.int64))


def _asked_rows(queries: AttributeQueries) -> StrategyMatrix | None:
    """The rows that are asked of an attribute, each direction once, in whole numbers as small as they can be; None for others,
    and for very many."""
    if queries.count > MOST_MEASURED_ROWS or queries.count * queries.size > LARGEST_MEASURED_ENTRY:
        return None
    rows = queries.rows()
    whole = next((many for m in MULTIPLES if (np.rint(many := rows * m) == many).all()), None)
    if whole is None or np.abs(whole).max(initial=0.0) > 2**14:
        return None
    integers = whole.astype(np.int64)
    kept = integers[np.abs(integers).any(axis=1)]
    return StrategyMatrix(np.unique(kept // np.gcd.reduce(kept, axis=None), axis=0)[::-1])


def _sparse(rows: Sequence[Mapping[Key, float]], places: Mapping[Key, int]) -> Any:
    from scipy.sparse import coo_array, csr_array

    row = np.repeat(np.arange(len(rows)), [len(own) for own in rows])
    column = np.fromiter((places[key] for own in rows for key in own), np.int64, len(row))
    value = np.fromiter((one for own in rows for one in own.values()), np.float64, len(row))
    return csr_array(coo_array((value, (row, column)), shape=(len(rows), len(places))))

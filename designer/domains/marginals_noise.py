"""The noise of residuals: independent discrete Gaussians on the integer contrasts, drawn together,
and the moments of their laws.

Variances: docs/theory/marginals.md, section 2.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, reduce
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, frozen
from designer.base.errors import InvalidProblem
from designer.domains.marginals_tables import Tables
from designer.domains.marginals_workload import MarginalWorkload
from designer.limits import LARGEST_GAUSSIAN_VARIANCE
from designer.sampling.entropy import Entropy
from designer.sampling.integer_gaussian import DiscreteGaussian

# The residual (ANOVA) basis of marginal tables in integer coordinates, applied axis by axis.
#
# Along an axis of n values the contrasts are `y_k = x_0 + ... + x_{k-1} - k x_k`, k = 1 .. n - 1 (Helmert): integers for
# integer counts, orthogonal to each other and to the total, of squared norms k (k + 1). The residual of a table is all
# products of contrasts, so dividing coordinate (k_1, ..., k_r) by the root of `prod k (k + 1)` gives orthonormal coordinates
# (docs/theory/marginals.md, 1).


def residual(table: NDArray[Any]) -> NDArray[Any]:
    """Integer contrasts along every axis: shape (n_1, ..., n_r) to (n_1 - 1, ..., n_r - 1), exact in the table's own integers.

    >>> residual(np.array([[5, 1], [2, 4]]))
    array([[6]])
    """
    for axis in range(table.ndim):
        before = np.cumsum(table, axis=axis, dtype=table.dtype)
        k = np.arange(1, table.shape[axis]).reshape([-1 if a == axis else 1 for a in range(table.ndim)])
        later, earlier = _cut(table.ndim, axis, slice(1, None)), _cut(table.ndim, axis, slice(0, -1))
        table = before[earlier] - k * table[later]
    return table


def _cut(ndim: int, axis: int, part: slice) -> tuple[slice, ...]:
    return tuple(part if a == axis else slice(None) for a in range(ndim))


def squared_norms(shape: Sequence[int]) -> NDArray[np.int64]:
    """`prod k (k + 1)` for every coordinate of the residual of a table of this shape."""
    norms = np.ones((), dtype=np.int64)
    for n in shape:
        k = np.arange(1, n, dtype=np.int64)
        norms = np.multiply.outer(norms, k * (k + 1))
    return norms


@lru_cache(maxsize=256)
def synthesis(n: int) -> Floats:
    """T (n, n) with `x = T (total, y_1, ..., y_{n-1})`: columns 1/n and the contrasts over their squared norms.

    >>> synthesis(2)
    array([[ 0.5,  0.5],
           [ 0.5, -0.5]])
    """
    k = np.arange(1, n)
    contrasts = np.triu(np.ones((n, n - 1))) - np.vstack([np.zeros(n - 1), np.diag(k)])
    return frozen(np.column_stack([np.full(n, 1 / n), contrasts / (k * (k + 1))]))


@lru_cache(maxsize=256)
def squared_synthesis(n: int) -> Floats:
    """The squares of the entries of T, which add up variances of independent coordinates."""
    return frozen(synthesis(n) ** 2)


def assemble(
    subset: Sequence[int],
    shape: Sequence[int],
    part: Callable[[tuple[int, ...]], NDArray[Any]],
    matrix: Callable[[int], Floats] = synthesis,
) -> Floats:
    """The table over `subset`, `shape` its sizes, from `part(A)`, an array for the residual of every A within it.

    The parts fill one array, the total or a mean along an axis at index 0 and contrasts behind it; then `matrix(n)` is applied
    along each axis. With `squared_synthesis` and variances the result is the variance of every cell.
    part(A): (n_1 - 1, ..., n_r - 1). matrix(n): (n, n). Returns (n_1, ..., n_r), the sizes of the subset.
    """
    table = np.zeros(tuple(shape))
    for inside in product((False, True), repeat=len(subset)):
        if all(n > 1 for n, chosen in zip(shape, inside, strict=True) if chosen):
            place = tuple(slice(1, None) if chosen else 0 for chosen in inside)
            table[place] = part(tuple(a for a, chosen in zip(subset, inside, strict=True) if chosen))
    for axis, n in enumerate(shape):
        table = np.moveaxis(np.tensordot(matrix(n), table, axes=(1, axis)), 0, axis)
    return np.array(table, order="C")


# From here on a discrete variance is the continuous one: they differ by a factor 1 - 8 pi^2 v exp(-2 pi^2 v), here 1 - 2^-105.
WIDE = 4.0
BLOCK = 2**20  # coordinates drawn together


@dataclass(frozen=True, eq=False)
class ResidualNoise:
    """Coordinate (k_1, ..., k_r) of residual A has variance `prod k (k + 1) / s_A` before it is made discrete.

    precisions: s, one for each of `workload.measured`, infinite for no noise.
    Shape of the precisions: (number of measured subsets,). docs/theory/marginals.md, section 2.
    """

    workload: MarginalWorkload
    precisions: Floats

    def __post_init__(self) -> None:
        sizes = self.workload.sizes
        if (self.workload.measured.product(sizes * (sizes - 1)) / LARGEST_GAUSSIAN_VARIANCE > self.precisions).any():
            raise InvalidProblem(
                "precisions: noise too wide for 64-bit integers; raise the budgets, or ask for smaller tables."
            )

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shape of every residual's table."""
        return tuple(map(self.workload.shape, self.workload.measured.tuples()))

    def planned(self, k: int) -> Floats:
        """Variances of residual k's coordinates for continuous noise."""
        return np.asarray(squared_norms(self.shapes[k]) / self.precisions[k])

    def variance(self, k: int) -> Floats:
        """Variances of the discrete noise of residual k."""
        variances = self.planned(k)
        narrow = (variances < WIDE) & (variances > 0)
        if narrow.any():
            norms, inverse = np.unique(squared_norms(self.shapes[k])[narrow], return_inverse=True)
            exact = [_variance(int(norm), float(self.precisions[k])) for norm in norms]
            variances[narrow] = DiscreteGaussian(exact).variance()[inverse]
        return variances

    @cached_property
    def wide(self) -> bool:
        """Is every coordinate's noise so wide that its discrete variance is the continuous one?"""
        return not _narrow(self.workload, self.precisions).any()

    @cached_property
    def mean_variances(self) -> Floats:
        """For every residual the mean variance of its orthonormal coordinates under the discrete law, see `mean_variances`."""
        return frozen(mean_variances(self.workload, self.precisions))

    def draw(self, entropy: Entropy) -> Iterator[NDArray[np.int64]]:
        """One draw of every residual's noise, in order; zeros where there is none."""
        sizes = np.array([int(np.prod([n - 1 for n in shape])) for shape in self.shapes], dtype=np.int64)
        start = 0
        while start < len(sizes):
            stop = max(start + 1, int(np.searchsorted(np.cumsum(sizes[start:]), BLOCK, side="right")) + start)
            flat = self._draw_block(range(start, stop), 1, entropy)[0]
            for k, piece in zip(range(start, stop), np.split(flat, np.cumsum(sizes[start : stop - 1])), strict=True):
                yield piece.reshape([n - 1 for n in self.shapes[k]])
            start = stop

    def draw_flat(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """`size` draws of the noise of all residuals end to end, (size, coordinates), for few of them."""
        return self._draw_block(range(len(self.shapes)), size, entropy)

    def _draw_block(self, block: range, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """The noise of a range of residuals end to end, (size, coordinates). Coordinates of one variance share one sampler
        plan, whose making costs more than a draw.

        Variances that occur equally often are drawn by one vector sampler, as often as they occur: nothing is drawn in vain.
        """
        norms = np.concatenate([squared_norms(self.shapes[k]).ravel() for k in block])
        owners = np.repeat(np.array(block), [squared_norms(self.shapes[k]).size for k in block])
        precision, levels = np.unique(self.precisions[owners], return_inverse=True)
        norm, kinds = np.unique(norms, return_inverse=True)
        laws, inverse, counts = np.unique(levels * len(norm) + kinds, return_inverse=True, return_counts=True)
        drawn = np.zeros((size, len(norms)), dtype=np.int64)
        order = np.argsort(inverse, kind="stable")
        starts = np.cumsum(counts) - counts
        noisy = np.isfinite(precision[laws // len(norm)])
        for times in np.unique(counts[noisy]):
            chosen = np.flatnonzero((counts == times) & noisy)
            variances = [_variance(int(norm[law % len(norm)]), float(precision[law // len(norm)])) for law in laws[chosen]]
            places = order[starts[chosen] + np.arange(times)[:, None]]
            values = DiscreteGaussian(variances).draw(size * int(times), entropy)
            drawn[:, places] = values.reshape(size, int(times), len(chosen))
        return drawn


def mean_variances(workload: MarginalWorkload, precisions: Floats) -> Floats:
    """The mean, over the orthonormal coordinates of each residual A, of their variances under the discrete law, (A,): 1 / s_A
    where noise is wide, less where it is narrow, 0 where there is none. A table's mean variance is linear in these
    (docs/theory/marginals.md, 2).

    precisions: s, (A,), positive or infinite.
    """
    found = np.where(np.isinf(precisions), 0.0, 1 / precisions)
    measured, known = workload.measured, dict[tuple[tuple[int, ...], float], float]()
    for k in np.flatnonzero(_narrow(workload, precisions)).tolist():
        axes, precision = measured.axes[k, : measured.orders[k]].tolist(), float(precisions[k])
        shape = tuple(sorted(workload.shape(axes)))
        if (shape, precision) not in known:
            norms, counts = np.unique(squared_norms(shape), return_counts=True)
            narrow = norms < WIDE * precision
            variances = np.full(len(norms), 1 / precision)
            laws = DiscreteGaussian([_variance(int(norm), precision) for norm in norms[narrow]])
            variances[narrow] = laws.variance() / norms[narrow]
            known[shape, precision] = float(variances @ counts / counts.sum())
        found[k] = known[shape, precision]
    return found


def _narrow(workload: MarginalWorkload, precisions: Floats) -> NDArray[np.bool_]:
    """Which residuals have a coordinate whose discrete variance is not the continuous one, (A,)."""
    least = np.ldexp(1.0, workload.measured.orders)
    return np.asarray(np.isfinite(precisions) & (least / WIDE < precisions))


def _variance(norm: int, precision: float) -> Fraction:
    """`norm / precision`, exact."""
    return norm / Fraction(precision)


def kronecker_product(parts: Sequence[Floats]) -> Floats:
    """The Kronecker product of matrices.

    parts: (a_i, b_i) each. Returns (product of a, product of b).
    """
    return np.asarray(reduce(lambda one, other: np.asarray(np.kron(one, other)), parts, np.ones((1, 1))), dtype=np.float64)


# Exact contrasts of true tables, before any noise: confidential.
#
# The contrasts: docs/theory/marginals.md, section 1.


def true_residuals(measured: Container[tuple[int, ...]], tables: Tables) -> dict[tuple[int, ...], NDArray[Any]]:
    """The contrasts of every measured subset, each from one largest table that contains it; confidential.

    |contrasts| are at most the number of records times the product of n - 1: where that leaves 62 bits,
    Python integers take over.
    """
    result: dict[tuple[int, ...], NDArray[Any]] = {}
    for subset, table in tables.items():
        largest = table.astype(np.float64).sum() * float(np.prod(table.shape, dtype=np.float64))
        exact = table if largest < 2.0**62 else table.astype(object)
        for part in _parts(subset):
            if part in measured and part not in result:
                dropped = tuple(k for k, axis in enumerate(subset) if axis not in part)
                result[part] = np.asarray(residual(np.asarray(exact.sum(axis=dropped))))
    return result


def _parts(subset: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [part for size in range(len(subset) + 1) for part in combinations(subset, size)]

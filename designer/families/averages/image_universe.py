"""Images of rows: a universe cut down to what the queries can tell apart,
with the budgets that changes of rows leave between images.

Two rows with the same answers are one element. The budget between two images is the least over the rows that have them, closed
under detours: a mechanism that hides these is exactly one that hides the changes of rows (docs/theory/statistical.md, 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats, Immutable, frozen
from designer.base.errors import InvalidProblem
from designer.problem.domain import Domain
from designer.problem.relation import Indices, finite_pairs
from designer.relations import metrics
from designer.relations.metrics.metric import Metric

# The closure of M images takes M^3 steps: 8 s at 2000.
IMAGES = 2000


@dataclass(frozen=True, eq=False)
class Image(Immutable):
    """The images of the rows of a domain.

    index: (rows,), the image of each row, in the order of the domain. columns: (K, M), the answers of each image. metric:
    budgets between the M images.
    """

    domain: Domain
    index: NDArray[np.intp]
    columns: Floats
    metric: Metric

    def counts(self, histogram: NDArray[np.int64]) -> NDArray[np.int64]:
        """Counts of the images from counts of the rows.

        histogram: (rows,). Returns (M,).
        """
        total = np.zeros(self.metric.size, dtype=np.int64)
        np.add.at(total, self.index, histogram)
        return total


def image_of(domain: Domain, answers: Floats, budgets: Metric | Sequence[Metric | None]) -> Image:
    """The images of the rows of `domain` under `answers`, shape (K, rows).

    budgets: a metric on the rows, or one for each attribute (None: unprotected), which add up over the attributes. A metric on
    the rows of which no two have the same answers is kept as it is.
    """
    alone = budgets[0] if not isinstance(budgets, Metric) and len(budgets) == 1 else budgets
    columns, index = _distinct(answers)
    images = columns.shape[1]
    if isinstance(alone, Metric) and images == domain.size:
        return Image(domain, frozen(np.arange(images)), frozen(answers), alone)
    if images > IMAGES:
        raise InvalidProblem(
            f"statistics: the rows over {list(domain.attributes)} have {images} different answers, more than {IMAGES}; "
            "round the functions to fewer values, or split them into sums of functions of fewer attributes."
        )
    if isinstance(budgets, Metric):
        least = least_over_rows(budgets, index, images)
    else:
        least = least_over_changes(budgets, index.reshape(domain.shape), images)
    return Image(domain, frozen(index), frozen(columns), metrics.from_matrix(least, closure=True))


def _distinct(answers: Floats) -> tuple[Floats, Indices]:
    """The distinct columns, and which of them each column is."""
    # Adding 0 turns -0 into 0: one answer, one image.
    columns, index = np.unique(answers + 0.0, axis=1, return_inverse=True)
    return columns, index.ravel().astype(np.intp)


def least_over_rows(metric: Metric, index: Indices, images: int) -> Floats:
    """`min d(u, v)` over the rows u of image s and v of image t, (M, M); pairs that others imply may be missing."""
    least = np.full(images * images, np.inf)
    for block in metric.blocks():
        rows, columns = finite_pairs(block)
        finite = block.budgets[np.isfinite(block.budgets)]
        np.minimum.at(least, index[rows] * images + index[columns], rounded_down(finite, metric))
    return symmetric(least.reshape(images, images))


def least_over_changes(budgets: Sequence[Metric | None], index: Indices, images: int) -> Floats:
    """The same over the changes of a single attribute, which imply the others; `index` has one axis for each attribute."""
    least = np.full((images, images), np.inf)
    for axis, metric in enumerate(budgets):
        lines = np.moveaxis(index, axis, 0).reshape(index.shape[axis], -1)
        for block in () if metric is None else metric.blocks():
            assert metric is not None
            finite = rounded_down(block.budgets[np.isfinite(block.budgets)], metric)
            for left, right, budget in zip(*finite_pairs(block), finite, strict=True):
                # One budget for all contexts, so that image pairs met twice do no harm.
                least[lines[left], lines[right]] = np.minimum(least[lines[left], lines[right]], budget)
    return symmetric(least)


def rounded_down(budgets: Floats, metric: Metric) -> Floats:
    """Float budgets that are not above the exact ones.

    budgets: (M, M).
    """
    return budgets * (1 - 2 * metric.budget_error) if metric.budget_error else budgets


def symmetric(least: Floats) -> Floats:
    """Budgets in both directions, 0 from an image to itself.

    least: (M, M), the least budget of every ordered pair. Returns (M, M).
    """
    both = np.minimum(least, least.T)
    np.fill_diagonal(both, 0.0)
    return both

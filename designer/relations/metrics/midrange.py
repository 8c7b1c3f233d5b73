"""Whether float budgets were clipped on the way to those of a metric made of others."""

from __future__ import annotations

import numpy as np

from designer.problem.relation import Relation, rectangles
from designer.relations.metrics.metric import Metric

LEAST_MIDRANGE = 1e-100  # from here to its inverse: no factor, and no sum, takes a budget out of the range


def unclipped(metric: Relation) -> bool:
    """Whether no float budget was clipped on the way to those of `metric`, so that all are within its `budget_error`.

    True when the positive finite budgets of every metric inside lie between 1e-100 and 1e100: factors within 1e-90 and 1e90,
    sums, maxima and roots of sums of squares of those stay within the range that is kept.
    By induction from the innermost metrics, which clip nothing.
    """
    return all(unclipped(part) and _in_midrange(part) for part in metric.inner())


def _in_midrange(part: Relation) -> bool:
    if not isinstance(part, Metric):
        return False
    for rows, columns in rectangles(part.size):
        budgets = part.rectangle(rows, columns)
        told = budgets[np.isfinite(budgets) & (budgets > 0)]
        if told.size and not LEAST_MIDRANGE <= told.min() <= told.max() <= 1 / LEAST_MIDRANGE:
            return False
    return True

"""What no family can handle, refused once and in the same words: budgets of 0 that bind, and numbers beyond the floats."""

from __future__ import annotations

import numpy as np

from designer.base.arrays import Floats
from designer.base.errors import DesignFailed
from designer.certified.norms import Norm
from designer.certified.sensitivity import SensitivitySet


def refuse_extreme(values: Floats) -> None:
    """Differences u, lengths and ratios u / b must have squares, and sums of squares, within the floats.

    values: (n,). `DesignFailed` elsewhere.
    """
    if values.size and not 1e-100 < values.min() <= values.max() < 1e100:
        raise DesignFailed(
            f"problem: differences of the answers, or their ratios to the budgets, reach from {values.min()} to "
            f"{values.max()}; choose units of queries and budgets in which they lie between 1e-100 and 1e100."
        )


def refuse_infinite(sensitivity: SensitivitySet, norm: Norm) -> float:
    """The largest `||u|| / b`; a pair with budget 0 that moves the answers makes every unbiased mechanism impossible."""
    worst, pairs = sensitivity.worst(norm)
    if worst > 0 and not (np.isinf(worst) and pairs.budgets[0] == 0):
        refuse_extreme(np.array([worst]))
    if np.isinf(worst):
        left, right = int(pairs.left[0]), int(pairs.right[0])
        raise DesignFailed(
            f"relation: elements {left} and {right} have budget 0, so no answer may tell them apart, but their columns of "
            "the workload differ; give the pair a positive budget or make the columns equal."
        )
    return worst

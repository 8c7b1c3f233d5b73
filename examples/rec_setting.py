"""What the experiments on per-record policies share: sums of groups, noise on split rows, pictures."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import Floats
from designer.tables.policies.policies import Splitting

Places = NDArray[np.int64]


def group_sums(groups: Places, values: Floats, count: int) -> Floats:
    """(count,) sums of the records' values by group."""
    return np.bincount(groups, values, minlength=count)


def frame(columns: Mapping[str, object]) -> Any:
    """Records as a data frame, which a plan of tables takes."""
    from pandas import DataFrame

    return DataFrame(dict(columns))


def noise_on_split_rows(threshold: float, rho: float | Fraction) -> float:
    """Standard deviation of a sum whose split rows are at most `threshold`, for a loss of `rho` a row: `T / sqrt(2 rho)`."""
    return float(threshold / np.sqrt(2 * float(rho)))


def splitting(rho: float, threshold: float, measure: str) -> Splitting:
    """One measure, one threshold."""
    return Splitting(rho, {measure: threshold})


def draw_distribution(axes: Any, losses: Floats, **style: Any) -> None:
    """Empirical distribution function, logarithmic in the losses, drawn at 200 of its steps."""
    ordered = np.sort(losses)
    places = np.unique(np.linspace(0, len(ordered) - 1, 200).astype(int))
    axes.step(ordered[places], (places + 1) / len(ordered), where="post", linewidth=1.2, **style)
    axes.set(xscale="log", ylim=(0, 1.02))


def draw_errors(axes: Any, errors: list[Floats], labels: list[str], lines: dict[float, str]) -> None:
    """Box plots of relative errors, logarithmic, with marked goals."""
    axes.boxplot([np.maximum(e, 1e-7) for e in errors], sym="", whis=(5, 95), widths=0.6)
    axes.set_xticks(range(1, len(labels) + 1), labels, fontsize=7)
    axes.set_yscale("log")
    for level, colour in lines.items():
        axes.axhline(level, color=colour, linestyle="--", linewidth=0.9)

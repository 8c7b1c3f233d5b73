"""The standard errors of marginal tables as a picture."""

from __future__ import annotations

from typing import Any

import numpy as np

from designer.mechanisms.marginals.mechanism import MarginalMechanism
from designer.reports.pictures.charts import bars_by_name, size_for
from designer.reports.pictures.drawing import Drawing
from designer.reports.pictures.numerals import no_less
from designer.base.arrays import Floats


def marginal_drawings(mechanism: MarginalMechanism) -> tuple[Drawing, ...]:
    """Bars: the largest standard error of a cell of each table, the largest thirty of many."""
    names, errors = table_errors(mechanism)
    low, high = no_less(float(errors.min())), no_less(float(errors.max()))
    alt = f"Bars for the largest standard error of a cell of each of {len(names)} tables, from {low} to {high}."

    def draw(axes: Any) -> None:
        bars_by_name(axes, names, errors, "standard error of a cell")

    return (Drawing("errors", "Standard error of the cells of each table", alt, draw, **size_for(names)),)


def table_errors(mechanism: MarginalMechanism) -> tuple[list[str], Floats]:
    """The names of the tables, and the largest standard error of a cell of each, (T,)."""
    subsets = [mechanism.workload.names(subset) for subset in mechanism.workload.subsets.tuples()]
    errors = np.array([float(np.sqrt(mechanism.variances(subset).max())) for subset in subsets])
    return [" x ".join(subset) or "total" for subset in subsets], errors

"""Pictures of a plan: the noise of each query, and what a record loses by each of its measures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from designer.reports.pictures.charts import bars_by_name, size_for
from designer.reports.pictures.drawing import Drawing
from designer.reports.pictures.labels import with_unit
from designer.reports.pictures.numerals import no_less
from designer.reports.pictures.of_records import policy_drawings
from designer.tables.plan import TablePlan
from designer.tables.queries import Additive


def plan_drawings(plan: TablePlan) -> tuple[Drawing, ...]:
    """What a record loses by each measure, and the standard error of each query."""
    policies = {"policy": plan.policy, **({} if plan.splitting is None else {"by split rows": plan.split_policy})}
    noise = _noise(plan)
    return (*policy_drawings(policies), *([] if noise is None else [noise]))


def _noise(plan: TablePlan) -> Drawing | None:
    """Bars: the standard error of every sum and count with Gaussian noise, the largest where groups differ."""
    drawn = [query for query in plan.noisy if isinstance(query, Additive)]
    if not drawn:
        return None
    names: Sequence[str] = [with_unit(query.name, plan.about.unit(query.name)) for query in drawn]
    errors = np.sqrt([float(max(query.variances)) for query in drawn])
    low, high = no_less(float(errors.min())), no_less(float(errors.max()))
    alt = f"Bars for the standard errors of {len(names)} queries, per group, from {low} to {high}."

    def draw(axes: Any) -> None:
        bars_by_name(axes, names, errors, "standard error of the noise in a group")

    return Drawing("errors", "Standard error of each query", alt, draw, **size_for(names))

"""The standard error of every answer of a design, with what no additive noise can go below for that answer alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from designer.reports.pictures.of_additive import errors_of
from designer.mechanisms.additive.interface import Mechanism
from designer.families.least_noise import limit
from designer.relations.problem import Problem
from designer.base.errors import InvalidProblem
from designer.reports.pictures.charts import MOST, bars_by_name, height_for, remark
from designer.reports.pictures.drawing import Drawing
from designer.reports.pictures.style import ink
from designer.problem.workload import Workload
from designer.base.arrays import Floats

MOST_ELEMENTS = 3000  # whose pairs are looked at for every answer


def with_limits(own: tuple[Drawing, ...], problem: Problem, mechanism: Mechanism) -> tuple[Drawing, ...]:
    """The pictures of a mechanism, its standard errors beside the limit of each answer alone."""
    if not limits_apply(problem):
        return own
    errors = next((drawing for drawing in own if drawing.name == "errors"), None)
    if errors is None:
        return own
    drawn = replace(
        errors,
        title="Standard error of each answer and its limit",
        alt=f"{errors.alt[:-1]}, with a line where no additive noise for that answer alone goes below.",
        draw=lambda axes: _draw(axes, problem, mechanism),
        height=height_for(len(problem.workload.queries)),
    )
    return tuple(drawn if drawing is errors else drawing for drawing in own)


def limits_apply(problem: Problem) -> bool:
    """Whether the limit of each answer alone is known, and quickly."""
    queries, elements = problem.workload.shape
    return queries <= MOST and elements <= MOST_ELEMENTS and problem.notion != "approximate" and problem.records is None


def least_errors(problem: Problem) -> Floats:
    """For each answer the least standard error of additive noise that keeps the promise for it alone, (K,); not a number where
    no limit is known."""
    rows = problem.workload.dense()
    return np.array([_least_error(problem, rows[k : k + 1]) for k in range(len(rows))])


def _least_error(problem: Problem, row: Floats) -> float:
    alone = replace(problem, workload=Workload(row, None, problem.workload.elements), loss="squared", weights=None)
    try:
        found = limit(alone, rows=0)
    except InvalidProblem:  # such as a query that no protected change moves
        return float("nan")
    return float("nan") if found is None else float(np.sqrt(found.value))


def _draw(axes: Any, problem: Problem, mechanism: Mechanism) -> None:
    least = least_errors(problem)
    bars_by_name(axes, *errors_of(mechanism))
    known = np.flatnonzero(np.isfinite(least) & (least > 0))
    axes.vlines(least[known], known - 0.42, known + 0.42, color=ink(axes), linewidth=1.6)
    low, high = axes.get_xlim()
    axes.set_xlim(min([low, *(0.9 * least[known]).tolist()]), high)
    if len(known):
        remark(axes, "upright line: the limit for that answer alone")

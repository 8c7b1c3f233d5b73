"""Metrics inside metrics: what may be nested, how deep, read back from plain data; and float budgets that stay within range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from designer.errors import InvalidProblem, InvalidSpec
from designer.frozen import Floats, shown
from designer.relation import Indices, Metric, Relation, rectangles

# A sum of scaled products of graphs takes four levels; deeper nests are mistakes, or files made to exhaust a reader.
DEEPEST = 8

# Float budgets outside are clipped before they are added and scaled, factors are kept to the range below: nothing over- or underflows.
LEAST_BUDGET, LARGEST_BUDGET = 1e-200, 1e200
LEAST_FACTOR, LARGEST_FACTOR = 1e-90, 1e90
LEAST_MIDRANGE = 1e-100  # from here to its inverse: no factor, and no sum, takes a budget out of the range


def clipped(budgets: Floats) -> Floats:
    """Float budgets on the private side of what float arithmetic can hold; infinity, which means unprotected, stays.

    Below `LEAST_BUDGET` a budget counts as 0, so that the certificate settles its pair exactly; above `LARGEST_BUDGET` as that.

    >>> clipped(np.array([1e-250, 0.5, 1e250, np.inf])).tolist()
    [0.0, 0.5, 1e+200, inf]
    """
    small = np.where(budgets < LEAST_BUDGET, 0.0, budgets)
    return np.asarray(np.where(np.isfinite(small), np.minimum(small, LARGEST_BUDGET), small))


def relabelled(*labels: Indices) -> Indices:
    """Labels 0, 1, ... of the classes of elements that agree in every one of the given labels.

    >>> relabelled(np.array([7, 7, 3]), np.array([0, 0, 0])).tolist()
    [1, 1, 0]
    """
    return np.asarray(np.unique(np.stack(labels, axis=1), axis=0, return_inverse=True)[1].ravel(), dtype=np.intp)


def inner_relations(relation: Relation) -> list[Relation]:
    """The relations that a relation is made of, one level down."""
    values = [getattr(relation, field.name) for field in fields(relation)]  # type: ignore[arg-type]
    return [
        part for value in values for part in (value if isinstance(value, tuple) else (value,)) if isinstance(part, Relation)
    ]


def unclipped(metric: Relation) -> bool:
    """Whether no float budget was clipped on the way to those of `metric`, so that all are within its `budget_error`.

    True when the positive finite budgets of every metric inside lie between 1e-100 and 1e100: factors within 1e-90 and 1e90, sums, maxima
    and roots of sums of squares of those stay within the range that is kept. By induction from the innermost metrics, which clip nothing.
    """
    return all(unclipped(part) and _in_midrange(part) for part in inner_relations(metric))


def _in_midrange(part: Relation) -> bool:
    if not isinstance(part, Metric):
        return False
    for rows, columns in rectangles(part.size):
        budgets = part.rectangle(rows, columns)
        told = budgets[np.isfinite(budgets) & (budgets > 0)]
        if told.size and not LEAST_MIDRANGE <= told.min() <= told.max() <= 1 / LEAST_MIDRANGE:
            return False
    return True


def nesting(relation: Relation) -> int:
    """How many levels of relations a relation holds, itself included."""
    return 1 + max(map(nesting, inner_relations(relation)), default=0)


def require_metric(value: object, field: str, size: int | None = None) -> Metric:
    """`value` as a metric that may be put inside another one, on `size` elements where that is fixed."""
    if not isinstance(value, Metric):
        raise InvalidProblem(f"{field}: {shown(value)} is not a metric; build one with designer.metrics.")
    if size is not None and value.size != size:
        raise InvalidProblem(
            f"{field}: speaks of {value.size} elements where {size} are needed; metrics must share one universe."
        )
    if nesting(value) >= DEEPEST:
        raise InvalidProblem(
            f"{field}: nests metrics {nesting(value)} deep; at most {DEEPEST - 1} levels go into another metric."
        )
    return value


def require_metrics(values: object, field: str) -> tuple[Metric, ...]:
    """At least one metric, all on one universe."""
    listed = tuple(values) if isinstance(values, Sequence) and not isinstance(values, str) else ()
    if not listed:
        raise InvalidProblem(f"{field}: {shown(values)} lists no metrics; give a list with at least one.")
    first = require_metric(listed[0], f"{field}[0]")
    return tuple(require_metric(value, f"{field}[{i}]", first.size) for i, value in enumerate(listed))


def metric_from_spec(spec: Any) -> Metric:
    """A nested metric from plain data: of the closed list of kinds, and no relation that is not a metric."""
    from designer.files.spec_parts import relation_from_spec  # it lists every kind, the ones that nest among them

    relation = relation_from_spec(spec)
    if not isinstance(relation, Metric):
        raise InvalidSpec(f"relation.kind: {relation.kind!r} is not a metric and does not go inside one.")
    return relation


def inner_words(relation: Relation) -> str:
    """The sentence of a relation, to be put in brackets inside another one."""
    return relation.words().removesuffix(".")

"""From accuracy targets for the groups of a hierarchy to a plan that can be released, in one step.

The program: docs/theory/record_design.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.arrays import frozen
from designer.base.checks import shown
from designer.base.errors import DesignFailed, InvalidProblem, NotPrivate
from designer.base.progress import announce
from designer.base.version import VERSION
from designer.problem.histogram import OTHERS, REFUSE, Unlisted
from designer.tables.answers import Answer
from designer.tables.condition import Condition
from designer.tables.groups import Groups, Labels, tree
from designer.tables.measure import Measure
from designer.tables.plan import TablePlan
from designer.tables.policies.design import COUNT, Accuracy, PriorRecords, RecordDesign, design_records
from designer.tables.queries import Count, Query, Sum
from designer.tables.unit_splitting import UnitSplitting

NOT_ASKED = "No answer of this level was released: its values are sums of those of the levels below."


def design_table_plan(
    levels: Mapping[str, Groups],
    measures: Sequence[Measure],
    accuracies: Sequence[Accuracy],
    prior: PriorRecords,
    *,
    where: Sequence[Condition] = (),
    beside: Sequence[Query] = (),
    splitting: UnitSplitting | None = None,
    families: NDArray[np.int64] | None = None,
    tolerance: float = 1e-6,
    unlisted: Unlisted = REFUSE,
) -> TablePlan:
    """The plan of noisy sums and counts whose consistent answers meet all targets at the least functional of the exact policy.

    levels: named, from `hierarchy` or `nested_codes`, coarse to fine; `tree(levels)` orders the groups. measures: what is
    summed. accuracies: as in `design_records`, by the column of a measure, or `COUNT` for the number of records; deviations
    (n,) of the consistent answers, in the order of the groups of `tree(levels)`. prior: public records whose losses count.
    where: conditions of all queries. beside: further queries of the plan, whose noise is stated. splitting: a coarser policy,
    too. families, tolerance: as in `design_records`. unlisted: as in `TablePlan`.

    A query is named "MEASURE by LEVEL"; a level that a measure need not be asked in has none. The policy of these queries is
    that of the design, exactly; how good it is, is noted (`plan.optimality`). `consistent_levels` makes the answers of a
    release consistent. Raises `InvalidProblem`, or `DesignFailed` where the bound stays open.

    >>> from designer.tables import hierarchy, tree
    >>> levels = dict(zip(["all", "state"], hierarchy(["state"], [["DE"], ["RI"]])))
    >>> jobs = Accuracy("jobs", np.full(tree(list(levels.values())).size, 20.0))
    >>> plan = design_table_plan(levels, [Measure("jobs")], [jobs], PriorRecords.cap({"jobs": 50}))
    >>> [query.name for query in plan.queries], plan.optimality.gap < 1e-6
    (['jobs by all', 'jobs by state'], True)
    """
    by_column = {measure.column: measure for measure in measures}
    for accuracy in accuracies:
        if accuracy.measure not in (*by_column, COUNT):
            raise InvalidProblem(
                f"accuracies: {shown(accuracy.measure)} is no measure; the measures are {[*by_column, COUNT]}.",
                value=accuracy.measure,
            )
    announce("table plan: dividing the noise among the levels")
    design = design_records(tree(list(levels.values())), accuracies, prior, families=families, tolerance=tolerance)
    queries = _queries_of(design, levels, by_column, tuple(where))
    require_equal_policies(TablePlan(queries), design, list(levels.values())[-1])
    plan = TablePlan((*queries, *beside), splitting, unlisted=unlisted)
    return plan.annotated(_notes(design), design.optimality)


def _notes(design: RecordDesign) -> dict[str, Any]:
    schemes = {name: f"functional {value:.6g}" for name, value in design.schemes.items()}
    return {"software": f"dp-designer {VERSION}", "family": "records", "tried": schemes}


def _queries_of(
    design: RecordDesign, levels: Mapping[str, Groups], measures: Mapping[str, Measure], where: tuple[Condition, ...]
) -> list[Query]:
    """A sum, or a count, for every measure and every level that is asked."""
    found: list[Query] = []
    for name in design.measures:
        precisions = design.group_precisions(name)
        for (level, groups), rows in zip(levels.items(), design.hierarchy.slices, strict=True):
            variance = _variance(precisions[rows], level)
            if variance is not None:
                title = f"{name} by {level}"
                counted = Count(title, groups, where, variance)
                found.append(counted if name == COUNT else Sum(title, groups, where, variance, measures[name]))
    return found


def _variance(precisions: NDArray[np.float64], level: str) -> Fraction | tuple[Fraction, ...] | None:
    """One over the precisions of the groups of a level, exact; None where none of them is asked."""
    if not precisions.any():
        return None
    if not precisions.all():
        raise DesignFailed(f"families: some groups of level {level!r} are asked, some are not; let a level be in one family.")
    variances = tuple(1 / Fraction(s) for s in precisions.tolist())
    return variances[0] if len(set(variances)) == 1 else variances


def require_equal_policies(plan: TablePlan, design: RecordDesign, finest: Groups) -> None:
    """The proof that a plan costs what was designed: `plan.loss` is the policy of the design, as fractions, at records of a
    finest group (of all of them, where noise differs between groups). `NotPrivate` otherwise.

    finest: the groups of the last level. Both are sums over measures of squares, times a number for each group: they agree
    everywhere if they do where nothing is measured, and where each measure alone is as large as it can be.
    """
    open_to_all = TablePlan(tuple(replace(query, where=()) for query in plan.queries))
    labels = [name for name, inner in zip(design.hierarchy.labels, design.hierarchy.inner, strict=True) if not inner]
    for name, key in list(zip(labels, finest.keys or (), strict=True))[: 1 if design.uniform else None]:
        policy, place = design.policy(name), _record_of(finest, key)
        for measured in ({}, *({m.column: _largest(m)} for m in plan.measures)):
            record = {**place, **{m.column: measured.get(m.column, Fraction(0)) for m in plan.measures}}
            if open_to_all.loss(record) != policy.exact(open_to_all.amounts(record)):
                raise NotPrivate(
                    f"policy: that of the plan at group {shown(name)} is not the one that was designed; this is an error of "
                    "the program, please report it."
                )


def _largest(measure: Measure) -> Fraction:
    """The value that is farthest from 0."""
    return max(measure.bounds, key=abs) * measure.step


def _record_of(groups: Groups, key: Labels) -> dict[str, object]:
    """The key columns of a record of a group: of nested codes the longest that the key lists."""
    found: dict[str, object] = {}
    for column, label in zip(groups.columns, key, strict=True):
        if label != OTHERS or column.column not in found:
            found[column.column] = label
    return found


def consistent_levels(answers: Sequence[Answer], levels: Sequence[Groups]) -> tuple[Answer, ...]:
    """Compute the answers of all levels of a hierarchy, of least weighted squares: children add up to their parents.

    Returns an answer for each level, of levels that were not asked too, with variances, and with how far it was moved
    (`post_processing`). Post-processing: as private as what it is computed from. InvalidProblem where an answer is of no level,
    or the finest level was not asked.

    Parameters
    ----------
    answers : of one measure, such as `release["jobs by state"]`, for some or all of the levels, each once.
    levels : all of them, coarse to fine.

    >>> from designer.tables import hierarchy
    >>> all_, state = hierarchy(["state"], [["DE"]])
    >>> asked = Answer("jobs by state", ("state",), state.keys, np.array([3.0, 4.0]), np.array([1.0, 1.0]))
    >>> [answer.values.tolist() for answer in consistent_levels([asked], [all_, state])]
    [[7.0], [3.0, 4.0]]
    """
    hierarchy = tree(levels)
    values, precisions = np.zeros(hierarchy.size), np.zeros(hierarchy.size)
    seen: dict[int, Answer] = {}
    for answer in answers:
        place = _level_of(answer, levels)
        if place in seen or answer.variances is None:
            raise InvalidProblem(
                f"answers: {shown(answer.name)} is of a level that has one already, or has no variances; give one answer of "
                "each level, with variances.",
                value=answer.name,
            )
        seen[place] = answer
        values[hierarchy.slices[place]] = answer.values
        precisions[hierarchy.slices[place]] = 1 / answer.variances
    made, spread = hierarchy.estimate(values, precisions), hierarchy.variances(precisions)
    found = []
    for place, (level, rows) in enumerate(zip(levels, hierarchy.slices, strict=True)):
        columns, keys, name = tuple(key.name for key in level.columns), level.keys or (), f"level {place}"
        if place in seen:
            found.append(replace(seen[place].consistent(made[rows], spread[rows]), name=name, columns=columns, keys=keys))
        else:
            found.append(Answer(name, columns, keys, frozen(made[rows]), frozen(spread[rows]), post_processing=NOT_ASKED))
    return tuple(found)


def _level_of(answer: Answer, levels: Sequence[Groups]) -> int:
    for place, level in enumerate(levels):
        if isinstance(answer, Answer) and answer.keys == level.keys and len(answer.columns) == len(level.columns):
            return place
    raise InvalidProblem(f"answers: {shown(getattr(answer, 'name', answer))} is of none of the levels; give those of the plan.")

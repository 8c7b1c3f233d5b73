"""Averages over rows of functions of a row (DX Appendix C), designed on what the functions can tell apart,
however large the domain is.

Attributes that no term joins are told apart in groups of their own: 20 attributes of 10 values are 200 elements, not 10^20. The
result is an ordinary workload and relation, for `Problem` and `design`. Derivations in docs/theory/statistical.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from designer.base.answer_table import ConfidenceLimits, symmetric_limits
from designer.base.arrays import Floats, Immutable, frozen, real_array
from designer.base.checks import assign, positive, shown
from designer.base.errors import InvalidProblem, hides_data_in_errors
from designer.base.json_text import canonical
from designer.base.labels import listed_label
from designer.limits import MOST_AVERAGE_CELLS, MOST_IMAGES
from designer.mechanism.additive import AdditiveMechanism
from designer.mechanism.interface import reach_of_answers
from designer.mechanism.release import ErrorSource, Release
from designer.problem.domain import Domain
from designer.problem.histogram import REFUSE, WORDS
from designer.problem.relation import Indices, Relation, finite_pairs
from designer.problem.workload import Workload
from designer.relations import metrics
from designer.relations.metrics.attributes import Hamming, Product
from designer.relations.metrics.metric import Metric
from designer.relations.problem import Problem
from designer.relations.records.counting import require_one_index
from designer.relations.row_groups import RowGroups

# Images of rows: a universe cut down to what the queries can tell apart, with the budgets that changes of rows leave between
# images.
#
# Two rows with the same answers are one element. The budget between two images is the least over the rows that have them,
# closed under detours: a mechanism that hides these is exactly one that hides the changes of rows
# (docs/theory/statistical.md, 1).


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
    if images > MOST_IMAGES:
        raise InvalidProblem(
            f"statistics: the rows over {list(domain.attributes)} have {images} different answers, more than {MOST_IMAGES}; "
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


Function = Callable[..., float] | Mapping[Any, float] | Sequence[Any] | Floats
Budgets = Mapping[str, float | Metric] | Metric
Records = Iterable[Mapping[str, object]] | Mapping[str, Sequence[object]]


@dataclass(frozen=True, eq=False)
class Term(Immutable):
    """A function of the values of some attributes: `table` has one axis for each of them.

    Shape: (n_1, ..., n_r), the numbers of values of the attributes.

    attributes: their names. table: the value of the function for each combination of values.
    """

    attributes: tuple[str, ...]
    table: Floats

    def __post_init__(self) -> None:
        assign(self, table=real_array(self.table, f"statistics over {list(self.attributes)}", len(self.attributes)))

    @classmethod
    def of(cls, domain: Domain, attributes: str | Sequence[str], function: Function, name: str) -> Term:
        """From a function of the values (texts, one argument for each attribute), a table `{value: number}`,
        or an array of the numbers."""
        listed = (attributes,) if isinstance(attributes, str) else attributes
        if not isinstance(listed, (tuple, list)) or not all(isinstance(a, str) for a in listed):
            raise InvalidProblem(
                f"statistics[{name}]: {shown(attributes)} is not an attribute or a list of attributes.", value=attributes
            )
        listed = tuple(listed)
        if not listed or len(set(listed)) != len(listed):
            raise InvalidProblem(f"statistics[{name}]: {list(listed)} is not a list of attributes, each named once.")
        shape = tuple(domain.shape[domain.axis(a)] for a in listed)
        if math.prod(shape) > MOST_AVERAGE_CELLS:
            raise InvalidProblem(
                f"statistics[{name}]: {list(listed)} have {math.prod(shape)} combinations, more than {MOST_AVERAGE_CELLS}."
            )
        rows = product(*(domain.values[domain.axis(a)] for a in listed))
        if callable(function):
            numbers = real_array([function(*row) for row in rows], f"statistics[{name}]", 1)
        elif isinstance(function, Mapping):
            numbers = real_array([_looked_up(function, row, name) for row in rows], f"statistics[{name}]", 1)
        else:
            numbers = real_array(function, f"statistics[{name}]", len(shape)).ravel()
        if numbers.size != math.prod(shape):
            raise InvalidProblem(
                f"statistics[{name}]: {numbers.size} numbers for {list(listed)}; give an array of shape {shape}."
            )
        return cls(listed, numbers.reshape(shape))


def _looked_up(table: Mapping[Any, float], row: tuple[str, ...], name: str) -> float:
    """The number of a combination of values; keys are a value, or a tuple of values."""
    known = {tuple(map(listed_label, key if isinstance(key, tuple) else (key,))): number for key, number in table.items()}
    if row not in known:
        raise InvalidProblem(f"statistics[{name}]: has no number for {shown(row)}; give one for every combination of values.")
    return known[row]


@dataclass(frozen=True, eq=False)
class Statistic(Immutable):
    """A function of a row: the sum of its terms.

    terms: functions of some attributes each.
    """

    name: str
    terms: tuple[Term, ...]

    @classmethod
    def of(cls, domain: Domain, name: str, given: Any) -> Statistic:
        """From `(attributes, function)`, or a list of these to be added up."""
        pairs = given if isinstance(given, list) else [given]
        if not pairs or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
            raise InvalidProblem(
                f"statistics[{name}]: {shown(given)} is not (attributes, function) or a list of these; give at least one.",
                value=given,
            )
        return cls(name, tuple(Term.of(domain, attributes, function, name) for attributes, function in pairs))

    def table(self, domain: Domain) -> Floats:
        """The sum of the terms whose attributes all belong to `domain`, over its combinations."""
        table = np.zeros(domain.shape)
        for term in self.terms:
            if set(term.attributes) <= set(domain.attributes):
                table += _spread(term, domain)
        return table.ravel()


@dataclass(frozen=True, eq=False)
class StatisticalQueries(Immutable):
    """Answers `q_k(x) = (1/n) sum over the rows u of x of f_k(u)`, f_k a sum of terms, n public.

    budgets: one metric on the whole domain, or one for each attribute, which add up over those that change. That is an amount
    (infinite: unprotected) or a metric on its values. `workload` and `relation` speak of images. The elements are the distinct
    answers of rows, group by group, and the queries are sums over records, n times the averages.
    """

    domain: Domain
    statistics: tuple[Statistic, ...]
    budgets: tuple[float | Metric, ...] | Metric
    groups: tuple[Image, ...] = field(init=False, repr=False)
    workload: Workload = field(init=False, repr=False)
    relation: Relation = field(init=False, repr=False)

    @classmethod
    def of(cls, domain: Domain, statistics: Mapping[str, Any], budgets: Budgets) -> StatisticalQueries:
        """From `{name: (attributes, function)}`, or `{name: [(attributes, function), ...]}` for the sum of several.

        >>> people = Domain.of({"age": range(20, 70), "sex": ["F", "M"], "job": 500})
        >>> means = StatisticalQueries.of(people, {"mean age": ("age", float), "women": ("sex", {"F": 1, "M": 0})},
        ...     {"age": metrics.euclidean(list(range(20, 70)), per_unit=0.1), "sex": 0.5, "job": 1.0})
        >>> people.size, means.workload.shape
        (50000, (2, 52))
        """
        if not isinstance(domain, Domain) or not isinstance(statistics, Mapping):
            raise InvalidProblem("domain, statistics: give a `Domain` and a mapping {name: (attributes, function)}.")
        asked = tuple(Statistic.of(domain, str(name), given) for name, given in statistics.items())
        return cls(domain, asked, _for_each_attribute(domain, budgets))

    def __post_init__(self) -> None:
        if not self.statistics:
            raise InvalidProblem("statistics: asks nothing; give at least one function, with its attributes.")
        labels = [statistic.name for statistic in self.statistics]
        if self.domain.unlisted != REFUSE:
            raise InvalidProblem(
                f"unlisted: {self.domain.unlisted!r} does not go with averages, which are over all records; leave it out, and "
                "give every record a listed value.",
                value=self.domain.unlisted,
            )
        _require_budgets(self.domain, self.budgets)
        groups = tuple(self._group(attributes) for attributes in self._joined())
        columns = np.concatenate([group.columns for group in groups], axis=1)
        elements = [name for group in groups for name in _image_names(group, labels, alone=len(groups) == 1)]
        parts = tuple(group.metric for group in groups)
        titles = tuple(", ".join(group.domain.attributes) for group in groups)
        assign(
            self,
            groups=groups,
            workload=Workload(columns, labels, elements),
            relation=parts[0] if len(parts) == 1 else RowGroups(parts, titles),
        )

    def _joined(self) -> list[list[str]]:
        """Attributes that some term joins, together; all of them where the budgets do not add up over attributes."""
        if isinstance(self.budgets, Metric):
            return [list(self.domain.attributes)]
        groups: list[set[str]] = []
        for term in (term for statistic in self.statistics for term in statistic.terms):
            joined = [group for group in groups if group & set(term.attributes)]
            groups = [*(g for g in groups if g not in joined), set(term.attributes).union(*joined)]
        return sorted((sorted(group, key=self.domain.axis) for group in groups), key=lambda group: self.domain.axis(group[0]))

    def _group(self, attributes: list[str]) -> Image:
        """The images of the values of some attributes, with the part of every answer that they decide."""
        axes = [self.domain.axis(attribute) for attribute in attributes]
        domain = Domain(tuple(attributes), tuple(self.domain.values[a] for a in axes))
        if domain.size * len(self.statistics) > MOST_AVERAGE_CELLS:
            raise InvalidProblem(
                f"statistics: {len(self.statistics)} functions over {domain.size} combinations of {attributes} are more than "
                f"{MOST_AVERAGE_CELLS} numbers; write functions that are sums as sums of terms of fewer attributes."
            )
        answers = np.array([statistic.table(domain) for statistic in self.statistics])
        if isinstance(self.budgets, Metric):
            return image_of(domain, answers, self.budgets)
        return image_of(domain, answers, [_metric_of(self.budgets[a], self.domain.shape[a]) for a in axes])

    def problem(self, **options: Any) -> Problem:
        """The problem of answering n times the averages; options as for `Problem`."""
        return Problem(self.workload, self.relation, **options)

    def histogram(self, records: Records) -> NDArray[np.int64]:
        """Counts of the images among `records`, mappings from attribute to value or a mapping of columns: confidential,
        for a release only."""
        rows = list(_rows(records))
        return np.concatenate([group.counts(group.domain.histogram(rows)) for group in self.groups])

    def answer(self, records: Records) -> Floats:
        """The averages in floating point, for public or synthetic records. A private answer comes from `release`."""
        histogram = self.histogram(records)
        return np.asarray(self.workload.answer(histogram) / self._count(histogram))

    @hides_data_in_errors
    def release(self, mechanism: AdditiveMechanism, records: Records) -> Release:
        """Noisy averages over confidential records, by a mechanism for this workload and relation. Spends the budget once."""
        same = mechanism.workload == self.workload and canonical(mechanism.relation.to_spec()) == canonical(
            self.relation.to_spec()
        )
        if not same:
            raise InvalidProblem("mechanism: was designed for other queries or budgets; design it for `problem()`.")
        histogram = self.histogram(records)
        noisy = mechanism.release(histogram)
        own = noisy.guarantee
        guarantee = replace(own, unit=f"{own.unit} {WORDS[REFUSE]}", relation=f"{self.sentence()} {own.relation}")
        law = AveragesLaw(self, mechanism, self._count(histogram))
        return Release(frozen(noisy.answers / law.records), noisy.queries, guarantee, noisy.fingerprint, law=law)

    def biases(self, mechanism: AdditiveMechanism) -> Floats:
        """How far rows that a mechanism measures may be from those asked, (K,): the sum over groups of the largest
        difference, which no average exceeds."""
        off = np.abs(mechanism.effective - self.workload.dense())
        ends = np.cumsum([group.metric.size for group in self.groups])[:-1]
        return np.asarray(sum(part.max(axis=1) for part in np.split(off, ends, axis=1)))

    def _count(self, histogram: NDArray[np.int64]) -> int:
        """The number of records, which is public: any group counts each record once."""
        count = int(histogram[: self.groups[0].metric.size].sum())
        if not count:
            raise InvalidProblem(
                "records: there are none, and an average over none is no number; the number of records is public."
            )
        return count

    def sentence(self) -> str:
        """The relation among rows, of which `relation` holds what reaches the answers."""
        if isinstance(self.budgets, Metric):
            return f"Rows: {self.budgets.sentence()} Seen through the averages:"
        each = zip(self.domain.attributes, self.budgets, strict=True)
        listed = "; ".join(
            f"{a} ({b.sentence().removesuffix('.')})" if isinstance(b, Metric) else f"{a} {b!r}" for a, b in each
        )
        return (
            "Any one record may change in any of its attributes; the budget is the sum over the changed attributes of: "
            f"{listed}. Seen through the averages:"
        )


@dataclass(frozen=True, eq=False)
class AveragesLaw:
    """What is known of noisy averages over a public number of records: the noise of sums, and how far they are biased."""

    asked: StatisticalQueries
    mechanism: AdditiveMechanism
    records: int

    @property
    def workload(self) -> Workload:
        return self.asked.workload

    def standard_errors(self) -> Floats:
        """Standard deviations of the noise in the averages, (K,)."""
        return self.mechanism.standard_errors() / self.records

    @property
    def error_source(self) -> ErrorSource:
        return self.mechanism.error_source

    def _limits_of(self, released: Release, level: float, simultaneous: bool) -> ConfidenceLimits:
        """Intervals of the averages: the noise, and the bias of those that were asked for with one."""
        margins, law = reach_of_answers(self.mechanism, level, simultaneous)
        off = self.asked.biases(self.mechanism)
        words = law + ("; bias, at its largest for any rows, is added" if off.any() else "")
        return symmetric_limits(released.answers, margins / self.records + off, np.zeros(len(off), dtype=bool), words)


def _spread(term: Term, domain: Domain) -> Floats:
    """The term's table along the axes of a group's domain."""
    if term.table.shape != tuple(domain.shape[domain.axis(a)] for a in term.attributes):
        raise InvalidProblem(
            f"statistics: a table of shape {term.table.shape} does not fit the values of {list(term.attributes)}; give one "
            "entry for each combination."
        )
    order = sorted(range(len(term.attributes)), key=lambda a: domain.axis(term.attributes[a]))
    axes = {domain.axis(term.attributes[a]) for a in order}
    shape = [size if axis in axes else 1 for axis, size in enumerate(domain.shape)]
    return np.broadcast_to(term.table.transpose(order).reshape(shape), domain.shape)


def _for_each_attribute(domain: Domain, budgets: Budgets) -> tuple[float | Metric, ...] | Metric:
    """Budgets in the order of the attributes, where they add up over attributes."""
    if isinstance(budgets, Hamming | Product) and budgets.domain == domain:
        return budgets.budgets if isinstance(budgets, Hamming) else budgets.parts
    if isinstance(budgets, Metric):
        return budgets
    if not isinstance(budgets, Mapping):
        raise InvalidProblem(
            f"budgets: {shown(budgets)} is neither a metric nor a mapping with a budget or metric for each attribute.",
            value=budgets,
        )
    if set(budgets) != set(domain.attributes):
        raise InvalidProblem(
            f"budgets: given for {shown(list(budgets))}, the attributes are {sorted(domain.attributes)}; name each once."
        )
    return tuple(
        value if isinstance(value := budgets[name], Metric) else positive(value, f"budgets[{name}]", allow_inf=True)
        for name in domain.attributes
    )


def _require_budgets(domain: Domain, budgets: tuple[float | Metric, ...] | Metric) -> None:
    """Metrics speak of as many elements as there are values, or rows, and are symmetric."""
    for part in (budgets,) if isinstance(budgets, Metric) else budgets:
        if isinstance(part, Metric):
            part.require_symmetric("budgets")
    if isinstance(budgets, Metric):
        if budgets.size != domain.size:
            raise InvalidProblem(
                f"budgets: a metric on {budgets.size} elements for a domain of {domain.size}; they must agree."
            )
        return
    for name, size, budget in zip(domain.attributes, domain.shape, budgets, strict=True):
        if isinstance(budget, Metric) and budget.size != size:
            raise InvalidProblem(f"budgets[{name}]: a metric on {budget.size} elements for {size} values; they must agree.")


def _metric_of(budget: float | Metric, values: int) -> Metric | None:
    """A metric on the values of an attribute; None where it is unprotected."""
    if isinstance(budget, Metric):
        return budget
    return None if np.isinf(budget) else metrics.uniform(values, budget)


def _image_names(group: Image, labels: Sequence[str], alone: bool) -> list[str]:
    """Images named by the answers that the group decides."""
    moved = [k for k, row in enumerate(group.columns) if row.any()]
    prefix = "" if alone else f"{', '.join(group.domain.attributes)}: "
    return [
        prefix + (", ".join(f"{labels[k]}={group.columns[k, i].item()!r}" for k in moved) or "0")
        for i in range(group.columns.shape[1])
    ]


def _rows(records: Records) -> Iterable[Mapping[str, object]]:
    """Records as mappings from attribute to value."""
    if not isinstance(records, Mapping):
        return records
    if len({len(column) for column in records.values()}) > 1:
        raise InvalidProblem("records: columns have different lengths; give one value of each attribute for every record.")
    require_one_index(records.values())
    return (dict(zip(records, row, strict=True)) for row in zip(*records.values(), strict=True))

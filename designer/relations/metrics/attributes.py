"""Metrics on product domains: sums over attributes, of one budget each, of a budget for each value,
or of a metric of its own each.

Pairs that differ in one attribute imply all others (docs/theory/foundations.md, 4): blocks hold single-attribute changes only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from designer.base.arrays import Floats
from designer.base.checks import assign, near, positive, shown
from designer.base.errors import InvalidProblem
from designer.base.schema import BUDGETS, NAMES, VALUES, of_kind
from designer.problem.budget_bounds import Nearness, all_pairs_of, of_parts
from designer.problem.domain import Domain, attribute_lines, require_domain
from designer.problem.relation import BLOCK_PAIRS, Block, Indices, Read, finite_pairs
from designer.relations.metrics.element_budgets import Instance, PerElement, broken_minimum, broken_words, own_budgets
from designer.relations.metrics.metric import (
    METRICS,
    Metric,
    clipped,
    inner_words,
    metric_from_spec,
    relabelled,
    require_metric,
)
from solvers.exact.rational import last_float_above


@dataclass(frozen=True)
class Hamming(Metric):
    """d(u, v) = sum over attributes of budget * [u_a != v_a] (DX section 5): pairs that differ in one attribute imply the rest.
    domain: whose combinations are the elements. budgets: one for each attribute, in nats, infinite where it is unprotected."""

    domain: Domain
    budgets: tuple[float, ...]
    kind = "hamming"
    schema = of_kind("relation", kind, {"attributes": NAMES, "values": VALUES, "budgets": BUDGETS})
    budget_error = 1e-14

    @property
    def size(self) -> int:
        return self.domain.size

    @property
    def common_domain(self) -> Domain:
        return self.domain

    def rectangle(self, rows: slice, columns: slice) -> Floats:
        codes = np.unravel_index(np.arange(self.size), self.domain.shape)
        total = np.zeros((rows.stop - rows.start, columns.stop - columns.start))
        for code, budget in zip(codes, self.budgets, strict=True):
            total += np.where(code[rows, None] != code[None, columns], budget, 0.0)
        return total

    def blocks(self) -> Iterator[Block]:
        for axis, budget in enumerate(self.budgets):
            lines = attribute_lines(self.domain, axis)
            for value in range(1, len(lines)):
                left, right = np.tile(lines[value], value), lines[:value].ravel()
                yield Block(left, right, np.full(len(left), budget))

    def components(self) -> Indices:
        """One for each combination of values of the attributes that are not protected."""
        apart = [values if np.isinf(budget) else 1 for values, budget in zip(self.domain.shape, self.budgets, strict=True)]
        return np.broadcast_to(np.arange(math.prod(apart)).reshape(apart), self.domain.shape).ravel().astype(np.intp)

    def is_vacuous(self) -> bool:
        """Without the elements, of which there may be more than can be numbered."""
        return not any(
            values > 1 and np.isfinite(budget) for values, budget in zip(self.domain.shape, self.budgets, strict=True)
        )

    def largest_budget(self) -> float:
        changed = zip(self.budgets, self.domain.shape, strict=True)
        known = (Fraction(budget) for budget, values in changed if values > 1 and np.isfinite(budget))
        return last_float_above(sum(known, Fraction(0)))

    def entity_budget(self, rows: int) -> Fraction:
        """The sum of all budgets, so many times, exactly; for domains of any size."""
        changed = [budget for budget, values in zip(self.budgets, self.domain.shape, strict=True) if values > 1]
        if any(map(np.isinf, changed)):
            raise InvalidProblem(
                "entity: an attribute is not protected, hence the rows of an entity are not; give every attribute a finite "
                "budget, or leave it out."
            )
        return rows * sum(map(Fraction, changed), Fraction(0))

    def exact_budget(self, left: int, right: int) -> Fraction | None:
        codes = np.unravel_index([left, right], self.domain.shape)
        changed = [budget for code, budget in zip(codes, self.budgets, strict=True) if code[0] != code[1]]
        return None if any(np.isinf(changed)) else sum(map(Fraction, changed), Fraction(0))

    def sentence(self) -> str:
        listed = ", ".join(f"{name} {budget!r}" for name, budget in zip(self.domain.attributes, self.budgets, strict=True))
        return (
            f"Any one record may change in any of its attributes; the budget is the sum over the changed attributes of: "
            f"{listed}."
        )

    def to_spec(self) -> dict[str, Any]:
        return {"kind": self.kind, **_entries(self.domain), "budgets": list(self.budgets)}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> Hamming:
        return hamming(_domain_of(spec), dict(zip(spec["attributes"], spec["budgets"], strict=True)))


def _entries(domain: Domain) -> dict[str, Any]:
    return {"attributes": list(domain.attributes), "values": [list(values) for values in domain.values]}


def _domain_of(spec: Mapping[str, Any]) -> Domain:
    return Domain(tuple(spec["attributes"]), tuple(map(tuple, spec["values"])))


def hamming(domain: Domain, budgets: Mapping[str, float] | Sequence[float]) -> Hamming:
    """Set d(u, v) = sum_a budgets[a] * [u_a != v_a] over the attributes of `domain` (DX section 5). Raises `InvalidProblem` for
    attributes that the domain has not, and budgets that are not positive.

    Parameters
    ----------
    domain : the attributes and their values.
    budgets : one for each attribute, by name or in order, in nats; an infinite one leaves it unprotected.

    >>> people = Domain.of({"sex": ["F", "M"], "age": 3})
    >>> hamming(people, {"sex": 1.0, "age": 0.5}).exact_budget(0, 5)
    Fraction(3, 2)
    """
    require_domain(domain)
    if not isinstance(budgets, (Mapping, Sequence, np.ndarray)) or isinstance(budgets, (str, bytes)):
        raise InvalidProblem(f"budgets: {shown(budgets)} is not a list; give one number for each attribute.", value=budgets)
    if isinstance(budgets, Mapping):
        if set(budgets) != set(domain.attributes):
            other = next(iter(sorted(map(str, set(budgets) - set(domain.attributes)))), None)
            raise InvalidProblem(
                f"budgets: given for {sorted(budgets)}, the attributes are {sorted(domain.attributes)}; name each once"
                f"{near(other, domain.attributes)}."
            )
        budgets = [budgets[name] for name in domain.attributes]
    if len(budgets) != len(domain.attributes):
        raise InvalidProblem(f"budgets: {len(budgets)} for {len(domain.attributes)} attributes; give one for each.")
    return Hamming(
        domain, tuple(positive(b, f"budgets[{a}]", allow_inf=True) for a, b in zip(domain.attributes, budgets, strict=True))
    )


@dataclass(frozen=True, eq=False)
class Product(Metric):
    """d(u, v) = sum over attributes of d_a(u_a, v_a), each attribute with a metric of its own on its values.

    The parts' blocks, repeated over all values of the other attributes, imply all pairs: change one attribute after the
    other. domain: whose combinations are the elements; parts: a metric for each attribute.
    """

    domain: Domain
    parts: tuple[Metric, ...]
    kind = "product"
    schema = of_kind(
        "relation",
        kind,
        {"attributes": NAMES, "values": VALUES, "parts": METRICS},
        "The sum over attributes of a metric on the values of each.",
    )

    def __post_init__(self) -> None:
        if len(self.parts) != len(self.domain.attributes):
            raise InvalidProblem(
                f"metric.parts: {len(self.parts)} for {len(self.domain.attributes)} attributes; give one metric for each."
            )
        for name, part, values in zip(self.domain.attributes, self.parts, self.domain.shape, strict=True):
            require_metric(part, f"metric.parts[{name}]", values)
        worst = max(part.budget_error for part in self.parts)
        assign(self, budget_error=worst + (len(self.parts) + 1) * 2.0**-52)

    @property
    def size(self) -> int:
        return self.domain.size

    @property
    def common_domain(self) -> Domain:
        return self.domain

    def entity_budget(self, rows: int) -> Fraction:
        """The sum over attributes; for domains of any size."""
        return sum((part.entity_budget(rows) for part in self.parts if part.size > 1), Fraction(0))

    def is_vacuous(self) -> bool:
        """Without the elements, of which there may be more than can be numbered."""
        return all(part.is_vacuous() for part in self.parts)

    @cached_property
    def _tables(self) -> list[Floats]:
        return [clipped(part.distances()) for part in self.parts]

    def _codes(self, elements: slice | list[int] | Indices) -> tuple[Indices, ...]:
        listed = np.arange(elements.start, elements.stop) if isinstance(elements, slice) else elements
        return np.unravel_index(listed, self.domain.shape)

    def rectangle(self, rows: slice, columns: slice) -> Floats:
        total = np.zeros((rows.stop - rows.start, columns.stop - columns.start))
        for table, row, column in zip(self._tables, self._codes(rows), self._codes(columns), strict=True):
            total += table[row[:, None], column]
        return clipped(total)

    @cached_property
    def nearness(self) -> Nearness | None:
        lifted = [
            None if part.nearness is None or part.nearness.pairs < all_pairs_of(part.size) else part.nearness.repeated(code)
            for part, code in zip(self.parts, self._codes(slice(0, self.size)), strict=True)
        ]
        return of_parts(lifted, self._sum, all_pairs_of(self.size))

    @cached_property
    def searched(self) -> Nearness | None:
        """Where the parts' own pairs are searched, because they are very many."""
        counted = [None if part.searched is None else part.searched.pairs for part in self.parts]
        if self.nearness is None or all(pairs is None for pairs in counted):
            return None
        listed = (
            sum(len(finite_pairs(block)[0]) for block in part.blocks()) if pairs is None else pairs
            for part, pairs in zip(self.parts, counted, strict=True)
        )
        lines = (self.size // values for values in self.domain.shape)
        return replace(self.nearness, pairs=sum(a * b for a, b in zip(listed, lines, strict=True)))

    def along(self, left: Indices, right: Indices) -> Floats:
        codes = zip(self.parts, self._codes(left), self._codes(right), strict=True)
        return self._sum([np.where(a == b, 0.0, part.along(a, b)) for part, a, b in codes])

    @staticmethod
    def _sum(budgets: Sequence[Floats]) -> Floats:
        return clipped(np.sum([clipped(part) for part in budgets], axis=0))

    def blocks(self) -> Iterator[Block]:
        for axis, part in enumerate(self.parts):
            lines = attribute_lines(self.domain, axis)
            for block in part.blocks():
                left, right = finite_pairs(block)
                budgets = clipped(block.budgets[np.isfinite(block.budgets)])
                step = max(1, BLOCK_PAIRS // lines.shape[1])
                for start in range(0, len(left), step):
                    chunk = slice(start, start + step)
                    repeated = np.repeat(budgets[chunk], lines.shape[1])
                    yield Block(lines[left[chunk]].ravel(), lines[right[chunk]].ravel(), repeated)

    def components(self) -> Indices:
        codes = self._codes(slice(0, self.size))
        return relabelled(*(part.components()[code] for part, code in zip(self.parts, codes, strict=True)))

    def largest_budget(self) -> float:
        return last_float_above(sum((Fraction(part.largest_budget()) for part in self.parts), Fraction(0)))

    def exact_budget(self, left: int, right: int) -> Fraction | None:
        total = Fraction(0)
        for part, (i, j) in zip(self.parts, self._codes([left, right]), strict=True):
            budget = part.exact_budget(int(i), int(j))
            if budget is None:
                return None
            total += budget
        return total

    def sentence(self) -> str:
        listed = "; ".join(
            f"{name} ({inner_words(part)})" for name, part in zip(self.domain.attributes, self.parts, strict=True)
        )
        return (
            "Any one record may change in any of its attributes; the budget is the sum over the attributes, each by its own "
            f"rule: {listed}."
        )

    def to_spec(self) -> dict[str, Any]:
        return {"kind": self.kind, **_entries(self.domain), "parts": [part.to_spec() for part in self.parts]}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], read: Read) -> Product:
        return cls(_domain_of(spec), tuple(metric_from_spec(part, read) for part in spec["parts"]))


def product(domain: Domain, parts: Mapping[str, Metric] | Sequence[Metric]) -> Product:
    """Set d(u, v) = sum_a parts[a](u_a, v_a): each attribute has a metric on its values, in their order in `domain`. Raises
    `InvalidProblem` for a part that is no metric, or one on another number of values.

    Parameters
    ----------
    domain : the attributes.
    parts : a metric for each attribute, by name or in order.

    >>> from designer import Domain, metrics
    >>> domain = Domain.of({"sex": ["F", "M"], "age": 3})
    >>> d = product(domain, {"sex": metrics.uniform(2, 1.0), "age": metrics.line([0, 1, 2], period=1, epsilon=0.5)})
    >>> d.exact_budget(0, 5)
    Fraction(2, 1)
    """
    require_domain(domain)
    return Product(domain, tuple(_by_attribute(domain, parts, "metric.parts")))


def attribute_values(
    domain: Domain,
    budgets: Mapping[str, Mapping[str, float] | Sequence[float]],
    *,
    form: str = "min",
    closure: bool = False,
) -> Product:
    """Set a budget for each value of each attribute (DX Example 1): the more sensitive a value, the lower its budget.

    form "min": `d(u, v) = sum_a min(eps(u_a), eps(v_a)) [u_a != v_a]` (DX equation 3). A metric for attributes of two values;
    for more only where the second largest budget of an attribute is at most twice its smallest. Otherwise refused with three
    values that break the triangle inequality, unless `closure=True` accepts the shortest-path closure. form "sum":
    `eps(u_a) + eps(v_a)` instead (DX section 5), always a metric. An infinite budget leaves a value unprotected (in "min":
    unless it changes to or from a protected one).

    Parameters
    ----------
    domain : the attributes.
    budgets : for each attribute, by name, the budgets of its values, by value or in order.
    form : "min" or "sum", see above.
    closure : accept the shortest-path closure.

    >>> domain = Domain.of({"native": ["Y", "N"], "age": ["A", "B"]})
    >>> d = attribute_values(domain, {"native": {"Y": 0.5, "N": 1.0}, "age": [1.0, 1.0]})
    >>> d.exact_budget(0, 3), d.exact_budget(0, 1)
    (Fraction(3, 2), Fraction(1, 1))
    """
    if not isinstance(form, str) or form not in ("min", "sum"):
        raise InvalidProblem(f'metric.form: {shown(form)} is unknown; use "min" or "sum".', value=form)
    parts: list[Metric] = []
    for name, values, given in zip(
        domain.attributes, domain.values, _by_attribute(domain, budgets, "metric.budgets"), strict=True
    ):
        epsilons = own_budgets(_by_value(values, given, f"metric.budgets[{name}]"), f"metric.budgets[{name}]")
        broken = broken_minimum(epsilons) if form == "min" and not closure else None
        if broken is not None:
            raise InvalidProblem(f"metric.budgets[{name}]: {broken_words(epsilons, broken, values.__getitem__)}")
        parts.append(Instance(epsilons, closure) if form == "min" else PerElement(epsilons))
    return Product(domain, tuple(parts))


def _by_attribute(domain: Domain, given: Any, field: str) -> list[Any]:
    """One entry for each attribute, from a mapping by name or a sequence in order."""
    if isinstance(given, Mapping):
        if set(given) != set(domain.attributes):
            raise InvalidProblem(
                f"{field}: given for {sorted(map(str, given))}, the attributes are {sorted(domain.attributes)}; name each once."
            )
        return [given[name] for name in domain.attributes]
    if isinstance(given, (str, bytes)) or not isinstance(given, Sequence) or len(given) != len(domain.attributes):
        raise InvalidProblem(
            f"{field}: {shown(given)} for {len(domain.attributes)} attributes; give one entry for each, in order or by name.",
            value=given,
        )
    return list(given)


def _by_value(values: tuple[str, ...], given: Any, field: str) -> list[Any]:
    """The budgets of an attribute's values in their order."""
    if isinstance(given, Mapping):
        named = {str(value): budget for value, budget in given.items()}
        if set(named) != set(values):
            raise InvalidProblem(
                f"{field}: given for {sorted(named)[:8]}, the values are {sorted(values)[:8]}; name each once."
            )
        return [named[value] for value in values]
    if isinstance(given, (str, bytes)) or not isinstance(given, (Sequence, np.ndarray)) or len(given) != len(values):
        raise InvalidProblem(
            f"{field}: {shown(given)} for {len(values)} values; give one budget for each, in order or by name.", value=given
        )
    return list(given)

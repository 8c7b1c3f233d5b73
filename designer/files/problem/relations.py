"""What must stay hidden, from the sections [relation] and [invariant] of a problem file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from functools import cached_property
from typing import Any

from designer.base.arrays import Floats
from designer.base.checks import count, meant, positive, shown
from designer.base.errors import InvalidProblem
from designer.files.data_files import read_matrix
from designer.files.problem.linear_forms import BUDGETED, INVARIANT_FORMS, RELATION_FORMS, allowed
from designer.files.problem.linked import LinkedSections
from designer.problem.relation import Relation
from designer.relations import invariants, metrics
from designer.relations.invariants.invariant import Invariant
from designer.relations.metrics.metric import Metric

RELATION_KEYS: Mapping[str, set[str]] = {name: allowed(form) for name, form in RELATION_FORMS.items()}
INVARIANT_KEYS: Mapping[str, set[str]] = {kind: allowed(form) for kind, form in INVARIANT_FORMS.items()}


class RelationReader(LinkedSections, ABC):
    """Relations of a problem file; the workload, and with it the number of elements, is read elsewhere."""

    @cached_property
    @abstractmethod
    def size(self) -> int:
        """N, the number of universe elements."""

    def relation(self) -> Relation:
        """The relation of the file: a metric or its like, an invariant, or a metric under an invariant."""
        if "invariant" not in self.data:
            return self.metric()
        if self.invariant_kind() == "linked" and self.linked is not None:
            return self.linked_changes(self.linked)
        invariant = self.invariant()
        if "metric" not in self.data["relation"]:
            self.refuse_keys("relation", allowed(BUDGETED), "an invariant without a metric")
            return self.budgeted(invariant)
        metric = self.metric()
        if not isinstance(metric, Metric):
            raise self.refuse(
                "relation", "metric", self.data["relation"]["metric"], "records appear in it; an invariant needs a metric"
            )
        return metric & invariant

    def invariant_kind(self) -> str:
        """Which statistics are published."""
        kinds = [kind for kind in INVARIANT_KEYS if kind in self.data["invariant"]]
        if len(kinds) != 1:
            raise InvalidProblem(
                f"{self.path}: [invariant] has {kinds or 'no statistics'}; give exactly one of {list(INVARIANT_KEYS)}."
            )
        self.refuse_keys("invariant", INVARIANT_KEYS[kinds[0]], kinds[0])
        return kinds[0]

    def invariant(self) -> Invariant:
        """The statistics that are published beside the answers."""
        build: Callable[[], Invariant] = getattr(self, f"_invariant_{self.invariant_kind()}")
        made, adjacency = build().without(self._impossible()), self.get("invariant", "adjacency", int, None)
        return made if adjacency is None else made.at(adjacency)

    def _impossible(self) -> list[int]:
        """Positions of the elements that no record can have, which the file gives by name or by position."""
        given = self.get("invariant", "impossible", list, [])
        spelled = () if self.keys is None else (self.keys.names, self.keys.assignments)
        places = {name: place for names in spelled for place, name in enumerate(names)}
        for element in given:
            if type(element) is not int and (not isinstance(element, str) or element not in places):
                raise self.refuse("invariant", "impossible", element, f"is no element; name some of {shown(list(places))}")
        return [element if type(element) is int else places[element] for element in given]

    def budgeted(self, invariant: Invariant) -> Relation:
        """One budget for every change of few records, or one for every unit of distance."""
        distance = self.get("relation", "per_distance", str, None)
        if distance is None:
            return invariant.protect(self.number("epsilon"))
        if "adjacency" in self.data["invariant"]:
            stated = self.data["invariant"]["adjacency"]
            raise self.refuse("invariant", "adjacency", stated, "a budget per distance has none; leave one of the two out")
        if distance not in ("l1", "l2"):
            raise self.refuse("relation", "per_distance", distance, 'unknown; use "l1" or "l2"')
        return invariant.protect(self.number("epsilon"), per_distance="l1" if distance == "l1" else "l2")

    def refuse_keys(self, section: str, known: set[str], owner: str) -> None:
        """Refuse keys of a section that nothing reads."""
        for key, value in self.data[section].items():
            if key not in known:
                remedy = f"does not go with {owner}; {meant(key, known)}it takes {sorted(known)}"
                raise self.refuse(section, key, value, remedy)

    def _invariant_margins(self) -> Invariant:
        groups = self.get("invariant", "margins", list)
        if not groups or not all(isinstance(group, list) and all(isinstance(a, str) for a in group) for group in groups):
            raise self.refuse("invariant", "margins", groups, 'give lists of attributes such as [["age"], ["sex", "race"]]')
        return invariants.margins(self.domain, groups)

    def _invariant_partition(self) -> Invariant:
        given = self.get("invariant", "partition", (str, list))
        return invariants.partition(self.cells("invariant", "partition") if isinstance(given, str) else given)

    def _invariant_total(self) -> Invariant:
        if not self.get("invariant", "total", bool):
            raise self.refuse("invariant", "total", False, "leave the section out when nothing is published")
        return invariants.total(self.size)

    def _invariant_matrix(self) -> Invariant:
        rows, names = self.matrix("invariant", "matrix"), self.get("invariant", "names", list, None)
        return invariants.linear(rows, names, records_public=self.get("invariant", "records_public", bool, True))

    def metric(self) -> Relation:
        """The relation named by `metric`."""
        if "metric" not in self.data["relation"]:
            raise self.without_a_metric()
        name = self.get("relation", "metric", str)
        known = RELATION_KEYS.get(name)
        if known is None:
            raise self.refuse(
                "relation", "metric", name, f"unknown; {meant(name, RELATION_KEYS)}use one of {sorted(RELATION_KEYS)}"
            )
        self.refuse_keys("relation", {"metric", *known}, f"metric {name!r}")
        build: Callable[[], Relation] = getattr(self, f"_relation_{name}")
        return build()

    def without_a_metric(self) -> InvalidProblem:
        """The refusal of a [relation] that names no metric, where no invariant makes up for it."""
        given = self.data["relation"]
        if misspelt := next((key for key in given if meant(key, ["metric"])), ""):
            return self.refuse(
                "relation", misspelt, given[misspelt], f"unknown; {meant(misspelt, ['metric'])}metric is missing"
            )
        alone = "a budget alone does for what an [invariant] leaves open; without one, " if "epsilon" in given else ""
        return InvalidProblem(
            f'{self.path}: [relation] metric is missing; {alone}say metric = "uniform" (any element may become any other), '
            'metric = "add_remove" (a record may come or go), or another metric.'
        )

    def number(self, key: str) -> float:
        """A positive number of [relation]."""
        return positive(self.get("relation", key, (int, float)), f"[relation] {key}")

    def own_budgets(self) -> float | list[Any]:
        """One budget for all elements, or one for each."""
        own: list[Any] | None = self.get("relation", "epsilons", list, None)
        if own is not None and "epsilon" in self.data["relation"]:
            raise self.refuse("relation", "epsilons", own, "give epsilon for all elements or epsilons for each, not both")
        return self.number("epsilon") if own is None else own

    def part(self, given: Any, size: int, place: str) -> Metric:
        """A metric within a metric, on `size` elements, from a table of the same keys as [relation]."""
        if not isinstance(given, dict):
            raise self.refuse("relation", place, given, 'should be a table such as {metric = "uniform", epsilon = 1}')
        inner = copy(self)
        inner.data = {**self.data, "relation": given}
        inner.__dict__["size"] = size
        made = inner.metric()
        if not isinstance(made, Metric):
            raise self.refuse("relation", place, given, "records appear in it; give a metric")
        return made

    def parts(self) -> list[Metric]:
        """The metrics that a combination combines."""
        return [self.part(given, self.size, f"parts[{i}]") for i, given in enumerate(self.get("relation", "parts", list))]

    def _relation_uniform(self) -> Relation:
        return metrics.uniform(self.size, self.number("epsilon"))

    def _relation_add_remove(self) -> Relation:
        return metrics.add_remove(self.size, self.own_budgets())

    def _relation_matrix(self) -> Relation:
        return metrics.from_matrix(self.matrix("relation", "matrix"), closure=self.get("relation", "closure", bool, False))

    def _relation_euclidean(self) -> Relation:
        return metrics.euclidean(self.columns("relation", "points").T, self.number("per_unit"))

    def _relation_great_circle(self) -> Relation:
        return metrics.great_circle(self.columns("relation", "points").T, self.number("per_km"))

    def _relation_hamming(self) -> Relation:
        return metrics.hamming(self.domain, self.get("relation", "budgets", dict))

    def _relation_per_element(self) -> Relation:
        return metrics.per_element(self.get("relation", "epsilons", list))

    def _relation_instance(self) -> Relation:
        return metrics.instance(self.get("relation", "epsilons", list), closure=self.get("relation", "closure", bool, False))

    def _relation_attribute_values(self) -> Relation:
        form, closure = self.get("relation", "form", str, "min"), self.get("relation", "closure", bool, False)
        return metrics.attribute_values(self.domain, self.get("relation", "budgets", dict), form=form, closure=closure)

    def _relation_line(self) -> Relation:
        given = self.get("relation", "values", (str, list))
        return metrics.line(
            self.cells("relation", "values") if isinstance(given, str) else given, self.number("period"), self.number("epsilon")
        )

    def texts_of(self, name: str) -> list[str]:
        """The cells of a column of the elements table, as texts."""
        if name not in self.table:
            raise self.refuse(
                "relation",
                "levels",
                name,
                f"the table has no column of that name; {meant(name, self.table)}it has {list(self.table)}",
            )
        return list(self.table[name])

    def cells(self, section: str, key: str) -> list[Any]:
        """The cells of one named column of the elements table, as numbers where all of them are."""
        name = self.get(section, key, str)
        if name not in self.table:
            raise self.refuse(
                section, key, name, f"the table has no column of that name; {meant(name, self.table)}it has {list(self.table)}"
            )
        cells = self.table[name]
        try:
            return [float(cell) for cell in cells]
        except ValueError:
            return list(cells)

    def places(self) -> Floats:
        """The points of the elements, (N, s), from columns of their table."""
        return self.columns("relation", "points").T

    def _relation_chebyshev(self) -> Relation:
        return metrics.chebyshev(self.places(), self.number("per_unit"))

    def _relation_manhattan(self) -> Relation:
        return metrics.manhattan(self.places(), self.number("per_unit"))

    def _relation_graph(self) -> Relation:
        given = self.get("relation", "edges", (str, list))
        edges = read_matrix(self.file("relation", "edges")) if isinstance(given, str) else given
        by_name = any(isinstance(end, str) for edge in edges if isinstance(edge, list) for end in edge[:2])
        if by_name and (self.element_names is None or len(self.element_names) != self.size):
            raise self.refuse("relation", "edges", edges, "calls elements by names that nothing gives; use their numbers")
        elements = self.element_names if by_name else None
        return metrics.graph(edges, per_edge=self.number("per_edge"), nodes=self.size, elements=elements)

    def _relation_taxonomy(self) -> Relation:
        levels = [self.texts_of(name) for name in self.texts("relation", "levels")]
        paths = list(zip(*levels, strict=True)) if levels else [()] * self.size
        return metrics.taxonomy(paths, self.get("relation", "budgets", list), form=self.get("relation", "form", str, "sum"))

    def ground(self) -> Floats | Metric:
        """Points by their columns, or a metric of its own."""
        given = self.get("relation", "points", (list, dict))
        return self.part(given, self.size, "points") if isinstance(given, dict) else self.places()

    def _relation_blowfish(self) -> Relation:
        return metrics.blowfish(self.ground(), self.number("threshold"), self.number("epsilon"))

    def _relation_smooth_threshold(self) -> Relation:
        return metrics.smooth_threshold(self.ground(), self.number("threshold"), self.number("epsilon"))

    def _relation_partition(self) -> Relation:
        given = self.get("relation", "labels", (str, list))
        return metrics.partition(self.cells("relation", "labels") if isinstance(given, str) else given, self.number("epsilon"))

    def _relation_product(self) -> Relation:
        given = self.get("relation", "attributes", dict)
        sizes = dict(zip(self.domain.attributes, self.domain.shape, strict=True))
        parts = {name: self.part(given[name], sizes.get(name, 1), f"attributes.{name}") for name in given}
        return metrics.product(self.domain, parts)

    def _relation_scaled(self) -> Relation:
        return metrics.scaled(self.number("factor"), self.part(self.get("relation", "part", dict), self.size, "part"))

    def _relation_restriction(self) -> Relation:
        size, given = self.get("relation", "size", int), self.get("relation", "elements", (str, list))
        part = self.part(self.get("relation", "part", dict), count(size, "[relation] size"), "part")
        if part.size != size:
            raise self.refuse("relation", "size", size, f"is not the number of elements of the part, which has {part.size}")
        return metrics.restriction(part, self.positions() if isinstance(given, str) else given)

    def positions(self) -> list[Any]:
        """The cells of the column named by `elements`, as whole numbers where they are."""
        cells = self.cells("relation", "elements")
        return [int(cell) if isinstance(cell, float) and cell.is_integer() else cell for cell in cells]

    def _relation_after_noisy_total(self) -> Relation:
        change = self.part(self.get("relation", "change", dict), self.size, "change")
        return metrics.after_noisy_total(change, self.number("epsilon"))

    def _relation_sum(self) -> Relation:
        return metrics.Sum(tuple(self.parts()))

    def _relation_maximum(self) -> Relation:
        return metrics.Maximum(tuple(self.parts()))

    def _relation_root_sum_squares(self) -> Relation:
        return metrics.RootSumSquares(tuple(self.parts()))

    def _relation_appear_or_change(self) -> Relation:
        change = self.part(self.get("relation", "change", dict), self.size, "change")
        return metrics.appear_or_change(change, self.own_budgets(), closure=self.get("relation", "closure", bool, False))

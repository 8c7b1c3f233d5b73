"""What must stay hidden, from the sections [relation] and [invariant] of a problem file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from functools import cached_property
from typing import Any

from designer.base.arrays import Floats
from designer.base.checks import count, meant, shown
from designer.base.errors import InvalidProblem
from designer.base.labels import listed_label
from designer.base.schema import (
    BOOLEAN,
    POSITIVE,
    Named,
    Schema,
    either,
    exactly,
    list_of,
    needs_one_of,
    noted,
    one_of,
    refer,
    text,
    whole,
)
from designer.files.data_files import read_matrix
from designer.problem.histogram import Keys
from designer.problem.relation import Relation
from designer.problem_file.keys import (
    ADJACENCY,
    BY_ATTRIBUTE,
    COLUMNS,
    EPSILON,
    EPSILONS,
    FILE,
    NAMES,
    SCALARS,
    SIZE,
    SUBSETS,
    VALUES,
    Field,
    Form,
    section_of,
)
from designer.problem_file.sections import BUDGETS, Sections
from designer.relations import invariants, metrics
from designer.relations.invariants.invariant import Invariant
from designer.relations.invariants.linked_tables import LinkedTables
from designer.relations.metrics.algebra import Maximum, RootSumSquares
from designer.relations.metrics.metric import Metric, SumOfMetrics

# Tables of the same records, from the sections [domain] and [invariant] of a problem file.


LISTS = 'give lists of attributes such as {sexes = ["age", "sex"], places = ["age", "county"]}'
OVER_CELLS = ("matrix", "builder", "random")  # kinds of workloads over the cells of all tables


class LinkedSections(Sections):
    """Linked tables of a problem file; where it has some, their cells are the elements."""

    @cached_property
    def linked(self) -> LinkedTables | None:
        """The tables, and the margins of theirs that are published; None where the file has none."""
        if "linked" not in self.data.get("invariant", {}):
            return None
        if "elements" in self.data:
            raise InvalidProblem(f"{self.path}: [elements] names elements, which are the cells of the tables; leave it out.")
        return LINKED.read(self, "invariant")

    def tables(self, section: str, key: str) -> dict[str, list[str]]:
        """The attributes of each table."""
        given: dict[str, list[str]] = self.get(section, key, dict)
        for name, attributes in given.items():
            self._require_attributes(f"{key}.{name}", attributes)
        return given

    def margins(self, section: str, key: str) -> list[list[str]]:
        """Lists of attributes, which may be none."""
        given: list[list[str]] = self.get(section, key, list)
        for place, margin in enumerate(given):
            self._require_attributes(f"{key}[{place}]", margin)
        return given

    def require_one_universe(self) -> None:
        """Refuse what says in two ways what the elements are."""
        if self.linked is None:
            self.require_one_order()

    def _require_attributes(self, key: str, given: Any) -> None:
        """Refuse what is no list of attributes of the domain."""
        if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
            raise self.refuse("invariant", key, given, LISTS)
        for name in given:
            if name not in self.domain.attributes:
                attributes = self.domain.attributes
                near = meant(name, attributes)
                known = f"has no attribute {shown(name)}; {near}[domain] has {shown(list(attributes))}"
                raise self.refuse("invariant", key, given, known)

    def linked_changes(self, linked: LinkedTables) -> Relation:
        """One budget for all changes of few records."""
        self.refuse_keys("relation", {key.name for key in EPSILON.both}, "linked tables")
        return linked.protect(EPSILON.of(self, "relation"), ADJACENCY.given(self, "invariant", None))

    def require_over_cells(self, kind: str, value: object) -> None:
        """Refuse a workload over the attributes where the elements are the cells of tables."""
        if self.linked is not None and kind not in OVER_CELLS:
            remedy = 'asks about elements that are no cells of the linked tables; use builder = "identity" for the counts of '
            raise self.refuse("workload", kind, value, remedy + "all cells, or a matrix with a column for each cell")

    @property
    def element_names(self) -> tuple[str, ...] | None:
        return super().element_names if self.linked is None else self.linked.elements

    @cached_property
    def keys(self) -> Keys | None:
        return super().keys if self.linked is None else self.linked.keys


LINKED: Form[LinkedTables] = Form(
    "linked",
    [
        Field(
            "linked",
            {"type": "object", "minProperties": 2, "additionalProperties": list_of(text())},
            "Tables of the same records: their attributes, by the name of each table.",
            LinkedSections.tables,
        )
    ],
    lambda file, tables, published=(): invariants.linked(file.domain, tables, published),
    [
        Field(
            "published",
            list_of(list_of(text()), least=0),
            "Lists of attributes whose margin is published in every table that has them.",
            LinkedSections.margins,
        )
    ],
    [ADJACENCY],
)


class RelationReader(LinkedSections, ABC):
    """Relations of a problem file; the workload, and with it the number of elements, is read elsewhere."""

    part_size: int | None = None  # of a metric within a metric, which may be on other elements than the file

    @cached_property
    @abstractmethod
    def asked_size(self) -> int:
        """N, the number of universe elements that the queries ask about."""

    @property
    def size(self) -> int:
        """The number of elements that the relation being read is on."""
        return self.asked_size if self.part_size is None else self.part_size

    def relation(self) -> Relation:
        """The relation of the file: a metric or its like, an invariant, or a metric under an invariant."""
        if "invariant" not in self.data:
            return self.metric()
        if self.linked is not None:
            _ = self.invariant_form()
            return self.linked_changes(self.linked)
        invariant = self.invariant()
        if "metric" not in self.data["relation"]:
            self.refuse_keys("relation", set(BUDGETED["properties"]), "an invariant without a metric")
            return self.budgeted(invariant)
        metric = self.metric()
        if not isinstance(metric, Metric):
            raise self.refuse(
                "relation", "metric", self.data["relation"]["metric"], "records appear in it; an invariant needs a metric"
            )
        return metric & invariant

    def invariant_form(self) -> Form[Any]:
        """Which statistics are published."""
        found = [form for form in INVARIANTS if form.sign in self.data["invariant"]]
        if len(found) != 1:
            kinds = [form.sign for form in found]
            raise InvalidProblem(
                f"{self.path}: [invariant] has {kinds or 'no statistics'}; give exactly one of "
                f"{[form.sign for form in INVARIANTS]}."
            )
        self.refuse_keys("invariant", found[0].keys, found[0].name)
        return found[0]

    def invariant(self) -> Invariant:
        """The statistics that are published beside the answers."""
        statistics: Invariant = self.invariant_form().read(self, "invariant")
        made = statistics.without(IMPOSSIBLE.given(self, "invariant", []))
        adjacency = ADJACENCY.given(self, "invariant", None)
        return made if adjacency is None else made.at(adjacency)

    def impossible(self, section: str, key: str) -> list[int]:
        """Positions of the elements that no record can have, which the file gives by name or by position."""
        spelled = () if self.keys is None else (self.keys.names, self.keys.assignments)
        places = {name: place for names in spelled for place, name in enumerate(names)}
        given = self.get(section, key, list)
        for element in given:
            if type(element) is not int and (not isinstance(element, str) or element not in places):
                raise self.refuse(section, key, element, f"is no element; name some of {shown(list(places))}")
        return [element if type(element) is int else places[element] for element in given]

    def subsets(self, section: str, key: str) -> list[list[str]]:
        groups: list[list[str]] = self.get(section, key, list)
        if not groups or not all(isinstance(group, list) and all(isinstance(a, str) for a in group) for group in groups):
            raise self.refuse(section, key, groups, 'give lists of attributes such as [["age"], ["sex", "race"]]')
        return groups

    def budgeted(self, invariant: Invariant) -> Relation:
        """One budget for every change of few records, or one for every unit of distance."""
        distance, epsilon = PER_DISTANCE.given(self, "relation", None), EPSILON.of(self, "relation")
        if distance is None:
            return invariant.protect(epsilon)
        if "adjacency" in self.data["invariant"]:
            stated = self.data["invariant"]["adjacency"]
            raise self.refuse("invariant", "adjacency", stated, "a budget per distance has none; leave one of the two out")
        if distance not in ("l1", "l2"):
            raise self.refuse("relation", "per_distance", distance, 'unknown; use "l1" or "l2"')
        return invariant.protect(epsilon, per_distance="l1" if distance == "l1" else "l2")

    def total(self) -> Invariant:
        """The number of records is published."""
        if not self.data["invariant"]["total"]:
            raise self.refuse("invariant", "total", False, "leave the section out when nothing is published")
        return invariants.total(self.size)

    def metric(self) -> Relation:
        if "metric" not in self.data["relation"]:
            raise self.without_a_metric()
        name = self.get("relation", "metric", str)
        if name not in RELATIONS:
            raise self.refuse("relation", "metric", name, f"unknown; {meant(name, RELATIONS)}use one of {sorted(RELATIONS)}")
        self.refuse_keys("relation", {"metric", *RELATIONS[name].keys}, f"metric {name!r}")
        return RELATIONS[name].read(self, "relation")

    def without_a_metric(self) -> InvalidProblem:
        """The refusal of a [relation] that names no metric, where no invariant makes up for it."""
        given = self.data["relation"]
        if misspelt := next((key for key in given if meant(key, ["metric"])), ""):
            return self.refuse(
                "relation", misspelt, given[misspelt], f"unknown; {meant(misspelt, ['metric'])}metric is missing"
            )
        alone = (
            "a budget alone does for what an [invariant] leaves open; without one, " if {"epsilon", "mu"} & given.keys() else ""
        )
        return InvalidProblem(
            f'{self.path}: [relation] metric is missing; {alone}say metric = "uniform" (any element may become any other), '
            'metric = "add_remove" (a record may come or go), or another metric.'
        )

    def own(self, section: str, key: str) -> list[float]:
        """A budget for each element."""
        given = self.get(section, key, list)
        for place, budget in enumerate(given):
            if not isinstance(budget, (int, float)) or isinstance(budget, bool) or not budget > 0:
                raise self.refuse(section, f"{key}[{place}]", budget, "is not a positive number; give one above 0")
        return list(given)

    def own_budgets(self, epsilon: float | None, epsilons: list[Any] | None) -> float | list[Any]:
        """One budget for all elements, or one for each."""
        one, each = EPSILON.under(self).name, OWN_EPSILONS.under(self).name
        if epsilon is not None and epsilons is not None:
            raise self.refuse("relation", each, epsilons, f"give {one} for all elements or {each} for each, not both")
        if epsilons is not None:
            if len(epsilons) != self.size:
                raise self.refuse(
                    "relation", each, epsilons, f"{len(epsilons)} budgets for {self.size} elements; give one for each"
                )
            return epsilons
        return float(EPSILON.of(self, "relation") if epsilon is None else epsilon)

    def part(self, given: Any, size: int, place: str) -> Metric:
        """A metric within a metric, on `size` elements, from a table of the same keys as [relation]."""
        if not isinstance(given, dict):
            raise self.refuse("relation", place, given, 'should be a table such as {metric = "uniform", epsilon = 1}')
        inner = copy(self)
        inner.data, inner.part_size = {**self.data, "relation": given}, size
        made = inner.metric()
        if not isinstance(made, Metric):
            raise self.refuse("relation", place, given, "records appear in it; give a metric")
        return made

    def part_at(self, section: str, key: str) -> Metric:
        """The metric on all elements that a key holds."""
        return self.part(self.get(section, key, dict), self.size, key)

    def parts(self, section: str, key: str) -> tuple[Metric, ...]:
        return tuple(self.part(given, self.size, f"{key}[{i}]") for i, given in enumerate(self.get(section, key, list)))

    def parts_by_attribute(self, section: str, key: str) -> dict[str, Metric]:
        given = self.get(section, key, dict)
        sizes = dict(zip(self.domain.attributes, self.domain.shape, strict=True))
        return {name: self.part(given[name], sizes.get(name, 1), f"{key}.{name}") for name in given}

    def part_of_size(self, part: Any, size: int) -> Metric:
        """A metric on `size` elements that is restricted to some of them."""
        made = self.part(part, count(size, "[relation] size"), "part")
        if made.size != size:
            raise self.refuse("relation", "size", size, f"is not the number of elements of the part, which has {made.size}")
        return made

    def column(self, section: str, key: str, name: str) -> list[str]:
        """The cells of a column of the elements table, as texts."""
        if name not in self.table:
            raise self.refuse(
                section, key, name, f"the table has no column of that name; {meant(name, self.table)}it has {list(self.table)}"
            )
        return list(self.table[name])

    def cells(self, section: str, key: str) -> list[Any]:
        """A list, or the cells of the column of the elements table that is named, as numbers where all of them are."""
        given = self.get(section, key, (str, list))
        if isinstance(given, list):
            return given
        cells = self.column(section, key, given)
        try:
            return [float(cell) for cell in cells]
        except ValueError:
            return [*cells]

    def classes(self, section: str, key: str) -> list[str]:
        """A list, or the cells of the column of the elements table that is named, as texts: "01" and "1" are two codes."""
        given = self.get(section, key, (str, list))
        return list(map(listed_label, given)) if isinstance(given, list) else self.column(section, key, given)

    def positions(self, section: str, key: str) -> list[Any]:
        """The same, cells of a column as whole numbers where they are."""
        cells = self.cells(section, key)
        if isinstance(self.data[section][key], list):
            return cells
        return [int(cell) if isinstance(cell, float) and cell.is_integer() else cell for cell in cells]

    def places(self, section: str, key: str) -> Floats:
        """The points of the elements, (N, s), from columns of their table."""
        return self.columns(section, key).T

    def ground(self, section: str, key: str) -> Floats | Metric:
        """Points by their columns, or a metric of its own."""
        given = self.get(section, key, (list, dict))
        return self.part(given, self.size, key) if isinstance(given, dict) else self.places(section, key)

    def paths(self, section: str, key: str) -> list[tuple[str, ...]]:
        """The path of every element from the root, from columns of their table."""
        levels = [self.column(section, key, name) for name in self.texts(section, key)]
        return list(zip(*levels, strict=True)) if levels else [()] * self.size

    def edges(self, section: str, key: str) -> Any:
        """Pairs of elements, a list or a file."""
        given = self.get(section, key, (str, list))
        return read_matrix(self.file(section, key)) if isinstance(given, str) else given

    def graph(self, edges: Any, per_edge: float) -> Metric:
        """The graph of edges between elements by name, or by number."""
        by_name = any(isinstance(end, str) for edge in edges if isinstance(edge, list) for end in edge[:2])
        if by_name and (self.element_names is None or len(self.element_names) != self.size):
            raise self.refuse("relation", "edges", edges, "calls elements by names that nothing gives; use their numbers")
        elements = self.element_names if by_name else None
        return metrics.graph(edges, per_edge=per_edge, nodes=self.size, elements=elements)


# Keys of several metrics.
METRIC = refer("metric")
OWN_EPSILONS = Field(
    "epsilons",
    EPSILONS,
    read=RelationReader.own,
    normal=Field(
        "mus", EPSILONS, "A budget for each element under zcdp: rho = mu^2 / 2; inf leaves one unprotected.", RelationReader.own
    ),
)
CLOSURE = Field("closure", BOOLEAN, "Accept what the budgets imply where they break the triangle inequality.", default=False)
BY_LABEL: Schema = {"type": "object", "additionalProperties": POSITIVE}
POINTS = Field("points", COLUMNS, read=RelationReader.places)
GROUND = Field(
    "points",
    either(COLUMNS, METRIC),
    "Columns of the table of elements that hold coordinates; for a threshold, also a metric.",
    RelationReader.ground,
)
PER_UNIT = Field("per_unit", POSITIVE, "Budget for each unit of distance.")
FORM_OF_BUDGETS = (
    "How budgets make one: of two values the smaller or the sum; of the levels of a taxonomy the sum or the largest."
)
THRESHOLD = Field("threshold", POSITIVE, "Elements at most so far apart have the budget.")
PART = Field("part", METRIC, "The metric that this one is made of.", RelationReader.part_at)
PARTS = Field("parts", list_of(METRIC), "The metrics that this one is made of.", RelationReader.parts)
CHANGE = Field("change", METRIC, "The metric by which a record changes.", RelationReader.part_at)
# One budget for all elements or one for each, not both.
OWN = (EPSILON, OWN_EPSILONS)
ONE_OF_OWN = {"oneOf": needs_one_of(*BUDGETS, *BUDGETS.values())}


def of_values(build: Callable[..., Relation]) -> Callable[..., Relation]:
    """The metric of the values of the keys, in their order."""
    return lambda _, *needed, **free: build(*needed, **free)


def over_elements(build: Callable[..., Relation]) -> Callable[..., Relation]:
    """The same, after the number of elements."""
    return lambda file, *needed, **free: build(file.size, *needed, **free)


def over_domain(build: Callable[..., Relation]) -> Callable[..., Relation]:
    """The same, after the domain."""
    return lambda file, *needed, **free: build(file.domain, *needed, **free)


METRICS: tuple[Form[Relation], ...] = (
    Form("uniform", [EPSILON], over_elements(metrics.uniform)),
    Form("matrix", [Field("matrix", FILE, read=RelationReader.matrix)], of_values(metrics.from_matrix), [CLOSURE]),
    Form("euclidean", [POINTS, PER_UNIT], of_values(metrics.euclidean)),
    Form(
        "great_circle",
        [
            Field("points", list_of(text(), least=2, most=2), GROUND.note, RelationReader.places),
            Field("per_km", POSITIVE, "Budget for each kilometre."),
        ],
        of_values(metrics.great_circle),
    ),
    Form("hamming", [Field("budgets", BY_ATTRIBUTE)], over_domain(metrics.hamming)),
    Form("per_element", [OWN_EPSILONS], of_values(metrics.per_element)),
    Form("instance", [OWN_EPSILONS], of_values(metrics.instance), [CLOSURE]),
    Form(
        "attribute_values",
        [
            Field(
                "budgets",
                {"type": "object", "additionalProperties": either(list_of(POSITIVE), BY_LABEL)},
                "Budgets by attribute and value, by name or in order; inf leaves a value unprotected.",
            )
        ],
        over_domain(metrics.attribute_values),
        [Field("form", one_of("min", "sum"), FORM_OF_BUDGETS, default="min"), CLOSURE],
    ),
    Form(
        "line",
        [
            Field(
                "values",
                either(text(), list_of(VALUES)),
                "The values of the elements, numbers or dates: a list, or a column of their table.",
                RelationReader.cells,
            ),
            Field("period", POSITIVE, "The difference that costs the budget; of dates in days."),
            EPSILON,
        ],
        of_values(metrics.line),
    ),
    Form("chebyshev", [POINTS, PER_UNIT], of_values(metrics.chebyshev)),
    Form("manhattan", [POINTS, PER_UNIT], of_values(metrics.manhattan)),
    Form(
        "graph",
        [
            Field(
                "edges",
                either(FILE, list_of(list_of(VALUES, least=2, most=3), least=0)),
                "Pairs of elements, or triples with a length: a list, or a table of two or three columns.",
                RelationReader.edges,
            ),
            Field("per_edge", POSITIVE, "Budget for each unit of length of an edge."),
        ],
        RelationReader.graph,
    ),
    Form(
        "taxonomy",
        [Field("levels", COLUMNS, read=RelationReader.paths), Field("budgets", EPSILONS)],
        of_values(metrics.taxonomy),
        [Field("form", one_of("sum", "max"), FORM_OF_BUDGETS, default="sum")],
    ),
    Form("blowfish", [GROUND, THRESHOLD, EPSILON], of_values(metrics.blowfish)),
    Form("smooth_threshold", [GROUND, THRESHOLD, EPSILON], of_values(metrics.smooth_threshold)),
    Form(
        "partition",
        [
            Field(
                "labels",
                either(text(), SCALARS),
                "The part of each element: a list, or a column of their table.",
                RelationReader.classes,
            ),
            EPSILON,
        ],
        of_values(metrics.partition),
    ),
    Form(
        "product",
        [
            Field(
                "attributes",
                {"type": "object", "additionalProperties": METRIC},
                "A metric for each attribute of the domain.",
                RelationReader.parts_by_attribute,
            )
        ],
        over_domain(metrics.product),
    ),
    Form("scaled", [Field("factor", POSITIVE, "By which all budgets are multiplied."), PART], of_values(metrics.scaled)),
    Form("sum", [PARTS], of_values(SumOfMetrics)),
    Form("maximum", [PARTS], of_values(Maximum)),
    Form("root_sum_squares", [PARTS], of_values(RootSumSquares)),
    Form(
        "restriction",
        [
            Field("part", METRIC, PART.note),
            SIZE,
            Field(
                "elements",
                either(text(), list_of(whole(least=0))),
                "Which elements of the part, by position from 0: a list, or a column.",
                RelationReader.positions,
            ),
        ],
        lambda file, part, size, elements: metrics.restriction(file.part_of_size(part, size), elements),
    ),
)
# Records appear in them: they go into no metric, and under no invariant.
APPEARING: tuple[Form[Relation], ...] = (
    Form(
        "add_remove",
        [],
        lambda file, epsilon=None, epsilons=None: metrics.add_remove(file.size, file.own_budgets(epsilon, epsilons)),
        OWN,
        rules=ONE_OF_OWN,
    ),
    Form(
        "appear_or_change",
        [CHANGE],
        lambda file, change, epsilon=None, epsilons=None, **free: metrics.appear_or_change(
            change, file.own_budgets(epsilon, epsilons), **free
        ),
        [*OWN, CLOSURE],
        rules=ONE_OF_OWN,
    ),
    Form("after_noisy_total", [CHANGE, EPSILON], of_values(metrics.after_noisy_total)),
)
RELATIONS: Mapping[str, Form[Relation]] = {form.name: form for form in (*METRICS, *APPEARING)}
PER_DISTANCE = Field(
    "per_distance",
    one_of("l1", "l2"),
    "The budget is for each unit of this distance of histograms, and changes of any size are protected.",
)
BUDGETED = section_of([EPSILON], [PER_DISTANCE], note="A budget under an invariant, without a metric.")

IMPOSSIBLE = Field(
    "impossible",
    Named(
        "impossible",
        noted("Elements that no record can have, by name or by position from 0.", list_of(either(text(), whole(least=0)))),
    ),
    read=RelationReader.impossible,
)
BESIDE = (ADJACENCY, IMPOSSIBLE)
STATISTICS: tuple[Form[Invariant], ...] = (
    Form(
        "margins",
        [Field("margins", SUBSETS, read=RelationReader.subsets)],
        lambda file, margins: invariants.margins(file.domain, margins),
        beside=BESIDE,
    ),
    Form(
        "partition",
        [
            Field(
                "partition",
                either(text(), SCALARS),
                "The class of each element, whose counts are published: a list, or a column of their table.",
                RelationReader.classes,
            )
        ],
        lambda _, classes: invariants.partition(classes),
        beside=BESIDE,
    ),
    Form(
        "total",
        [Field("total", exactly(True))],
        lambda file, _: file.total(),
        beside=BESIDE,
    ),
    Form(
        "matrix",
        [Field("matrix", FILE, read=RelationReader.matrix)],
        lambda _, matrix, **free: invariants.linear(matrix, **free),
        [Field("names", NAMES), Field("records_public", BOOLEAN, "Is the number of records among what is published?")],
        BESIDE,
    ),
)
INVARIANTS: tuple[Form[Any], ...] = (*STATISTICS, LINKED)
RELATION_NOTE = "What may change, and with which budget."
INVARIANT = Field(
    "invariant",
    either(*(form.schema for form in INVARIANTS)),
    "What is published exactly, and left alone by every protected change.",
)

# A budget per unit of distance has no largest number of changed records.
TWO_SIZES: Schema = {
    "properties": {"relation": {"required": ["per_distance"]}, "invariant": {"required": ["adjacency"]}},
    "required": ["relation", "invariant"],
}

# The cells of linked tables are the elements, and their changes have one budget.
OF_LINKED_TABLES: Schema = {
    "if": {"properties": {"invariant": {"required": ["linked"]}}},
    "then": {
        "properties": {"relation": section_of([EPSILON])},
        "required": ["domain"],
        "not": {"required": ["elements"]},
    },
}


def _without(*names: str) -> Schema:
    """No budget of these names, in [relation] or in a metric within it."""
    inner, none = refer(f"without_{names[0]}"), {"not": either(*needs_one_of(*names))}
    in_metrics = {"if": {"type": "object", "properties": {"metric": text()}, "required": ["metric"]}, "then": none}
    within = Named(f"without_{names[0]}", {**in_metrics, "additionalProperties": inner, "items": inner})
    return {"allOf": [none, within]}


def by_notion() -> dict[str, Any]:
    """Which names the budgets of [relation] have under the notion of [problem]."""
    zcdp = {"properties": {"notion": exactly("zcdp")}, "required": ["notion"]}
    return {
        "if": {"properties": {"problem": zcdp}, "required": ["problem"]},
        "then": {"properties": {"relation": _without(*BUDGETS)}},
        "else": {"properties": {"relation": _without(*BUDGETS.values())}},
    }


def metric_forms() -> tuple[Named, Schema]:
    """[relation] with a metric on elements, and with any relation that stands without an invariant."""
    metric = Named("metric", noted(RELATION_NOTE, either(*map(_of_metric, METRICS))))
    return metric, either(metric, *map(_of_metric, APPEARING))


def relation_rules() -> dict[str, Any]:
    """What [relation] and [invariant] ask of one another."""
    metric, without = metric_forms()
    return {
        "if": {"required": ["invariant"]},
        "then": {"properties": {"relation": either(BUDGETED, metric)}, "not": TWO_SIZES, **OF_LINKED_TABLES},
        "else": {"properties": {"relation": without}},
        "allOf": [by_notion()],
    }


def _of_metric(form: Form[Relation]) -> Named:
    """[relation] of one metric."""
    body = form.schema
    keys = {"properties": {"metric": exactly(form.name), **body["properties"]}, "required": ["metric", *body["required"]]}
    return Named(f"metric_{form.name}", {**body, **keys})

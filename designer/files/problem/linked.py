"""Tables of the same records, from the sections [domain] and [invariant] of a problem file."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from designer.base.checks import meant, shown
from designer.base.errors import InvalidProblem
from designer.base.schema import list_of, text
from designer.files.problem.keys import ADJACENCY, EPSILON, Form, Key
from designer.files.problem.sections import Sections
from designer.problem.histogram import Keys
from designer.problem.relation import Relation
from designer.relations import invariants
from designer.relations.invariants.linked_tables import LinkedTables

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
        Key(
            "linked",
            {"type": "object", "minProperties": 2, "additionalProperties": list_of(text())},
            "Tables of the same records: their attributes, by the name of each table.",
            LinkedSections.tables,
        )
    ],
    lambda file, tables, published=(): invariants.linked(file.domain, tables, published),
    [
        Key(
            "published",
            list_of(list_of(text()), least=0),
            "Lists of attributes whose margin is published in every table that has them.",
            LinkedSections.margins,
        )
    ],
    [ADJACENCY],
)

"""Problem files: TOML in, `ProblemFile` out. The only parser; every refusal names file, key, value and remedy.

[elements]  table = "cities.csv", names = ["name", "state"]          the universe, one row each (optional)
[domain]    sex = ["F", "M"], age = 3                                 or a product of attributes (optional)
[workload]  one of: matrix = "queries.csv" | columns = ["elevation"] | builder = "random" | predicates = {..} | marginals = [[..]]
[relation]  metric = "great_circle", points = ["latitude", "longitude"], per_km = 0.01
[problem]   loss, notion, records, weights                            (optional)
[design]    family and its options                                    (optional)
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from designer import metrics
from designer.data_files import Table, numeric_column, read_matrix, read_table
from designer.domain import Domain
from designer.errors import InvalidProblem
from designer.frozen import Floats, positive, shown
from designer.problem import Problem
from designer.relation import Metric, Relation
from designer.workload import Workload

SECTIONS: dict[str, set[str] | None] = {
    "elements": {"table", "names"},
    "domain": None,  # attribute names are free
    "workload": {"matrix", "columns", "builder", "predicates", "marginals", "names", "queries", "size", "kind", "seed"},
    "relation": None,  # keys are those of the metric, which lists them
    "problem": {"loss", "notion", "records", "weights", "allow_vacuous"},
    "design": None,  # options are those of the family, which checks them
}
WORKLOAD_KEYS: dict[str, set[str] | None] = {
    **{kind: {kind, "names"} for kind in ("matrix", "columns", "predicates", "marginals")},
    "builder": {"builder", "names", "size"},
    "random": {"builder", "names", "size", "queries", "kind", "seed"},
}


@dataclass(frozen=True)
class ProblemFile:
    """A parsed problem file: the problem, the family asked for, its options, and the title."""

    title: str
    problem: Problem
    family: str
    options: dict[str, Any]


def read_problem(path: str | Path) -> ProblemFile:
    """Read a TOML problem file; paths in it are relative to it."""
    return _Reader(Path(path)).read()


class _Reader:
    """One problem file being read; knows the file's name for error messages."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.data: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise InvalidProblem(f"{path}: cannot be read ({error.strerror}); give the path of a problem file.") from None
        except (ValueError, RecursionError) as error:  # of tomllib, of the decoding, of numbers with thousands of digits
            raise InvalidProblem(f"{path}: is not TOML ({error}); give a problem file.") from None

    def read(self) -> ProblemFile:
        self.check_keys()
        section = self.data.get("problem", {})
        self.get("problem", "allow_vacuous", bool, False)
        try:
            problem = Problem(self.workload(), self.relation(), **section)
        except InvalidProblem as error:
            raise error if str(error).startswith(str(self.path)) else InvalidProblem(f"{self.path}: {error}") from None
        options = dict(self.data.get("design", {}))
        family = options.pop("family", "auto")
        if not isinstance(family, str):
            raise self.refuse("design", "family", family, "name a family, or leave it out for the best that applies")
        return ProblemFile(str(self.data.get("title", self.path.stem)), problem, family, options)

    def refuse(self, section: str, key: str, value: object, remedy: str) -> InvalidProblem:
        return InvalidProblem(f"{self.path}: [{section}] {key} = {shown(value)}: {remedy}.")

    def check_keys(self) -> None:
        for name, section in self.data.items():
            if name == "title":
                continue
            if name not in SECTIONS:
                raise InvalidProblem(
                    f"{self.path}: [{name}] is unknown; the sections are {list(SECTIONS)}, and `title` before them."
                )
            if not isinstance(section, dict):
                raise InvalidProblem(
                    f"{self.path}: {name} = {section!r} should be a section: write [{name}] and its keys below."
                )
            known = WORKLOAD_KEYS.get(self.workload_kind(), SECTIONS[name]) if name == "workload" else SECTIONS[name]
            for key in section:
                if known is not None and key not in known:
                    raise self.refuse(name, key, section[key], f"unknown key; [{name}] takes {sorted(known)}")
        for name in ("workload", "relation"):
            if name not in self.data:
                raise InvalidProblem(f"{self.path}: section [{name}] is missing; a problem needs a workload and a relation.")

    def get(self, section: str, key: str, kind: type | tuple[type, ...], default: Any = ...) -> Any:
        """A value of the right type, or the default when one is given."""
        values = self.data.get(section, {})
        if key not in values:
            if default is ...:
                raise InvalidProblem(f"{self.path}: [{section}] {key} is missing; give it, as {_type_words(kind)}.")
            return default
        value = values[key]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.refuse(section, key, value, f"should be {_type_words(kind)}")
        return value

    def file(self, section: str, key: str) -> Path:
        return self.path.parent / str(self.get(section, key, str))

    @cached_property
    def domain(self) -> Domain:
        if "domain" not in self.data:
            raise InvalidProblem(f"{self.path}: section [domain] is missing; list the attributes and their values there.")
        return Domain.of(self.data["domain"])

    @cached_property
    def table(self) -> Table:
        if "elements" not in self.data:
            raise InvalidProblem(
                f"{self.path}: section [elements] is missing; name the table with one row for each universe element."
            )
        return read_table(self.file("elements", "table"))

    @cached_property
    def element_names(self) -> list[str] | None:
        columns = self.get("elements", "names", list, [])
        if not columns:
            return list(self.domain.elements) if "domain" in self.data else None
        for column in columns:
            if not isinstance(column, str) or column not in self.table:
                raise self.refuse("elements", "names", columns, f"the table has no column {column!r}, only {list(self.table)}")
        return [", ".join(row) for row in zip(*(self.table[c] for c in columns), strict=True)]

    def columns(self, section: str, key: str) -> Floats:
        """The named numeric columns of the elements table, as rows."""
        path = self.file("elements", "table") if "elements" in self.data else self.path
        named = self.texts(section, key)
        if not named:
            raise self.refuse(section, key, named, "name at least one column")
        return np.array([numeric_column(self.table, name, path) for name in named])

    def texts(self, section: str, key: str) -> list[str]:
        """A list of texts."""
        listed: list[str] = self.get(section, key, list)
        if not all(isinstance(entry, str) for entry in listed):
            raise self.refuse(section, key, listed, "should be a list of texts in quotes")
        return listed

    def workload_kind(self) -> str:
        kinds = [k for k in ("matrix", "columns", "builder", "predicates", "marginals") if k in self.data["workload"]]
        if len(kinds) != 1:
            raise InvalidProblem(
                f"{self.path}: [workload] has {kinds or 'no queries'}; give exactly one of matrix, columns, builder, predicates, marginals."
            )
        if kinds == ["builder"] and self.data["workload"]["builder"] == "random":
            return "random"
        return kinds[0]

    def workload(self) -> Workload:
        kind = self.workload_kind()
        build: Callable[[], Workload] = getattr(self, f"_workload_{'builder' if kind == 'random' else kind}")
        made = build()
        names = self.get("workload", "names", list, None)
        elements = self.element_names
        if names is None and elements is None:
            return made
        return Workload(made.matrix, names or made.queries, elements or made.elements)

    def _workload_matrix(self) -> Workload:
        return Workload(read_matrix(self.file("workload", "matrix")))

    def _workload_columns(self) -> Workload:
        return Workload(self.columns("workload", "columns"), queries=self.get("workload", "columns", list))

    def _workload_predicates(self) -> Workload:
        predicates = self.get("workload", "predicates", dict)
        if not predicates or not all(isinstance(predicate, dict) for predicate in predicates.values()):
            raise self.refuse("workload", "predicates", predicates, "give each query a table such as {age = [0, 1]}")
        return Workload.predicates(self.domain, predicates)

    def _workload_marginals(self) -> Workload:
        subsets = self.get("workload", "marginals", list)
        if not subsets or not all(isinstance(subset, list) and all(isinstance(a, str) for a in subset) for subset in subsets):
            raise self.refuse("workload", "marginals", subsets, 'give lists of attributes such as [["age"], ["age", "sex"]]')
        return Workload.marginals(self.domain, subsets)

    def _workload_builder(self) -> Workload:
        name = self.get("workload", "builder", str)
        size = self.get("workload", "size", int, len(next(iter(self.table.values()), [])) if "elements" in self.data else ...)
        if name == "random":
            queries, kind, seed = (
                self.get("workload", *args) for args in (("queries", int), ("kind", str, "real"), ("seed", int))
            )
            return Workload.random(queries, size, kind, seed)
        builders: dict[str, Callable[[int], Workload]] = {
            "identity": Workload.identity,
            "prefix": Workload.prefix,
            "all_ranges": Workload.all_ranges,
        }
        if name not in builders:
            raise self.refuse("workload", "builder", name, f"unknown; use one of {[*builders, 'random']}")
        return builders[name](size)

    def relation(self) -> Relation:
        name = self.get("relation", "metric", str)
        allowed = RELATION_KEYS.get(name)
        if allowed is None:
            raise self.refuse("relation", "metric", name, f"unknown; use one of {sorted(RELATION_KEYS)}")
        for key in self.data["relation"]:
            if key != "metric" and key not in allowed:
                raise self.refuse(
                    "relation",
                    key,
                    self.data["relation"][key],
                    f"does not go with metric {name!r}, which takes {sorted(allowed)}",
                )
        build: Callable[[], Relation] = getattr(self, f"_relation_{name}")
        return build()

    def number(self, key: str) -> float:
        return positive(self.get("relation", key, (int, float)), f"[relation] {key}")

    @cached_property
    def size(self) -> int:
        return self.workload().shape[1]

    def part(self, given: Any, size: int, place: str) -> Metric:
        """A metric within a metric, on `size` elements, from a table of the same keys as [relation]."""
        if not isinstance(given, dict):
            raise self.refuse("relation", place, given, 'should be a table such as {metric = "uniform", epsilon = 1}')
        inner = copy(self)
        inner.data = {**self.data, "relation": given}
        inner.__dict__["size"] = size
        made = inner.relation()
        if not isinstance(made, Metric):
            raise self.refuse("relation", place, given, "records appear in it; give a metric")
        return made

    def parts(self) -> list[Metric]:
        return [self.part(given, self.size, f"parts[{i}]") for i, given in enumerate(self.get("relation", "parts", list))]

    def _relation_uniform(self) -> Relation:
        return metrics.uniform(self.size, self.number("epsilon"))

    def _relation_add_remove(self) -> Relation:
        own = self.get("relation", "epsilons", list, None)
        if own is not None and "epsilon" in self.data["relation"]:
            raise self.refuse("relation", "epsilons", own, "give epsilon for all elements or epsilons for each, not both")
        return metrics.add_remove(self.size, self.number("epsilon") if own is None else own)

    def _relation_matrix(self) -> Relation:
        return metrics.from_matrix(
            read_matrix(self.file("relation", "matrix")), closure=self.get("relation", "closure", bool, False)
        )

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
            self.cells("values") if isinstance(given, str) else given, self.number("period"), self.number("epsilon")
        )

    def cells(self, key: str) -> list[Any]:
        """The cells of one named column of the elements table, as numbers where all of them are."""
        name = self.get("relation", key, str)
        if name not in self.table:
            raise self.refuse("relation", key, name, f"the table has no column of that name, only {list(self.table)}")
        cells = self.table[name]
        try:
            return [float(cell) for cell in cells]
        except ValueError:
            return list(cells)

    def places(self) -> Floats:
        return self.columns("relation", "points").T

    def _relation_chebyshev(self) -> Relation:
        return metrics.chebyshev(self.places(), self.number("per_unit"))

    def _relation_manhattan(self) -> Relation:
        return metrics.manhattan(self.places(), self.number("per_unit"))

    def _relation_graph(self) -> Relation:
        given = self.get("relation", "edges", (str, list))
        edges = read_matrix(self.file("relation", "edges")) if isinstance(given, str) else given
        return metrics.graph(edges, per_edge=self.number("per_edge"), nodes=self.size)

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
        return metrics.partition(self.cells("labels") if isinstance(given, str) else given, self.number("epsilon"))

    def _relation_product(self) -> Relation:
        given = self.get("relation", "attributes", dict)
        sizes = dict(zip(self.domain.attributes, self.domain.shape, strict=True))
        parts = {name: self.part(given[name], sizes.get(name, 1), f"attributes.{name}") for name in given}
        return metrics.product(self.domain, parts)

    def _relation_scaled(self) -> Relation:
        return metrics.scaled(self.number("factor"), self.part(self.get("relation", "part", dict), self.size, "part"))

    def _relation_sum(self) -> Relation:
        return metrics.Sum(tuple(self.parts()))

    def _relation_maximum(self) -> Relation:
        return metrics.Maximum(tuple(self.parts()))

    def _relation_root_sum_squares(self) -> Relation:
        return metrics.RootSumSquares(tuple(self.parts()))

    def _relation_appear_or_change(self) -> Relation:
        change = self.part(self.get("relation", "change", dict), self.size, "change")
        own = self.get("relation", "epsilons", list, None)
        closure = self.get("relation", "closure", bool, False)
        return metrics.appear_or_change(change, self.number("epsilon") if own is None else own, closure=closure)


RELATION_KEYS: Mapping[str, set[str]] = {
    "uniform": {"epsilon"},
    "add_remove": {"epsilon", "epsilons"},
    "matrix": {"matrix", "closure"},
    "euclidean": {"points", "per_unit"},
    "great_circle": {"points", "per_km"},
    "hamming": {"budgets"},
    "per_element": {"epsilons"},
    "instance": {"epsilons", "closure"},
    "attribute_values": {"budgets", "form", "closure"},
    "line": {"values", "period", "epsilon"},
    "chebyshev": {"points", "per_unit"},
    "manhattan": {"points", "per_unit"},
    "graph": {"edges", "per_edge"},
    "blowfish": {"points", "threshold", "epsilon"},
    "smooth_threshold": {"points", "threshold", "epsilon"},
    "partition": {"labels", "epsilon"},
    "product": {"attributes"},
    "scaled": {"factor", "part"},
    "sum": {"parts"},
    "maximum": {"parts"},
    "root_sum_squares": {"parts"},
    "appear_or_change": {"change", "epsilon", "epsilons", "closure"},
}


def _type_words(kind: type | tuple[type, ...]) -> str:
    words = {
        str: "a text in quotes",
        int: "a whole number",
        float: "a number",
        list: "a list [..]",
        dict: "a table {..}",
        bool: "true or false",
    }
    return " or ".join(words[k] for k in (kind if isinstance(kind, tuple) else (kind,)))

"""Problem files: TOML in, `ProblemFile` out. The only parser; every refusal names file, key, value and remedy.

[elements]  table = "cities.csv", names = ["name", "state"]
            the universe, one row each; names: the columns that tell rows apart (optional)
[domain]    sex = ["F", "M"], age = 3
            or a product of attributes (optional; beside a table, in the same order)
[workload]  one of: matrix = "queries.csv" | columns = ["elevation"] | builder = "random"
            | predicates = {..} | marginals = [[..]]; or structured, over a domain of any size:
            terms = [{age = "prefix", sex = "identity"}] | tables = [["age"], ["age", "sex"]], asked = {age = "ranges"}
[relation]  metric = "great_circle", points = ["latitude", "longitude"], per_km = 0.01; or beside an invariant
            epsilon alone, or epsilon and per_distance = "l1" | "l2"
[invariant] one of: margins = [["sex"], ["age"]] | partition = "state" | total = true | matrix = "statistics.csv"
            | linked = {sexes = ["age", "sex"], places = ["age", "place"]} with published = [["age"]]: tables of the same
            records, whose cells are the elements; adjacency (optional)
[problem]   loss, notion, delta, records, weights                     (optional)
[design]    family and its options; solver = "SCS", solver_options = {..}, a solver of CVXPY (optional)
[targets]   standard_error, margin (95 %), relative_error with reference: each a number for all queries, or a table by
            query; a query has at most one                            (optional)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

from designer.base.checks import meant, shown
from designer.base.errors import InvalidProblem
from designer.designing.structured_problem import StructuredProblem
from designer.files.problem.kind import DEFAULT, HEADING, Kind, Reader
from designer.files.problem.linear_forms import (
    BUDGETED,
    BUILDERS,
    ELEMENTS,
    INVARIANT_FORMS,
    PROBLEM,
    RELATION_FORMS,
    TARGETS,
    WORKLOAD_FORMS,
    allowed,
    linear_form,
)
from designer.files.problem.linear_request import ProblemFile
from designer.files.problem.sections import toml_of
from designer.files.problem.structured import STRUCTURED, StructuredReader
from designer.problem.workload import Workload
from designer.relations.problem import Problem

SECTIONS: dict[str, set[str] | None] = {
    "elements": allowed(ELEMENTS),
    "domain": None,  # attribute names are free
    "workload": None,  # keys are those of the kind of workload
    "relation": None,  # keys are those of the metric, which lists them
    "invariant": None,  # keys are those of the kind of invariant
    "problem": allowed(PROBLEM),
    "design": None,  # options are those of the family, which checks them
    "targets": allowed(TARGETS),
}
WORKLOAD_KEYS: dict[str, set[str]] = {kind: allowed(form) for kind, form in WORKLOAD_FORMS.items()}
WORKLOAD_KINDS = ("matrix", "columns", "builder", "predicates", "marginals", *STRUCTURED)
KEYS: dict[str, set[str]] = {  # of each section, whatever kind it is of
    **{name: known for name, known in SECTIONS.items() if known},
    "workload": set().union(*WORKLOAD_KEYS.values()),
    "relation": {"metric"}.union(*map(allowed, (*RELATION_FORMS.values(), BUDGETED))),
    "invariant": set().union(*map(allowed, INVARIANT_FORMS.values())),
    "design": {"family", "solver", "solver_options"},
}


def read_problem(path: str | Path) -> ProblemFile:
    """Read a TOML problem file for linear queries; paths in it are relative to it.

    Raises `InvalidProblem` with the section, the key, its value and the remedy.
    """
    place = Path(path)
    data = toml_of(place)
    if data.get("kind", DEFAULT) != DEFAULT:
        raise InvalidProblem(
            f"{place}: kind = {shown(data['kind'])}: is no problem of linear queries; read_request reads files of every kind, "
            "and dp-designer design makes what they ask for."
        )
    found = LINEAR.read(place, data)
    assert isinstance(found, ProblemFile)
    return found


class LinearReader(StructuredReader, Reader):
    """One whole problem file for linear queries being read."""

    def read(self) -> ProblemFile:
        problem = self.structured_problem() if self.is_structured else self.plain_problem()
        targets = None if isinstance(problem, StructuredProblem) else self.targets_of(problem.workload.queries)
        options = dict(self.data.get("design", {}))
        family = options.pop("family", "auto")
        if not isinstance(family, str):
            raise self.refuse("design", "family", family, "name a family, or leave it out for the best that applies")
        return ProblemFile(
            title=self.title, files=tuple(self.files), problem=problem, family=family, options=options, targets=targets
        )

    @property
    def is_structured(self) -> bool:
        """Has the file a workload whose queries nobody writes out?"""
        return self.workload_kind() in STRUCTURED

    def plain_problem(self) -> Problem:
        """The problem of a workload that is a matrix."""
        self.get("problem", "allow_vacuous", bool, False)
        if "domain" in self.data:
            with self.at("domain"):
                _ = self.domain
        self.require_one_universe()
        with self.at("workload"):
            asked = self.workload()
        if "invariant" in self.data:
            return Problem(asked, self.relation(), **self.data.get("problem", {}))
        with self.at("relation"):
            hidden = self.relation()
        return Problem(asked, hidden, **self.data.get("problem", {}))

    def require(self, kind: Kind) -> None:
        """What sections there may be depends on one another; their own readers look into them."""
        for name, section in self.data.items():
            if name == "kind" or name in HEADING:
                continue
            if name not in SECTIONS:
                raise self.unknown(name, section)
            if not isinstance(section, dict):
                raise InvalidProblem(
                    f"{self.path}: {name} = {section!r} should be a section: write [{name}] and its keys below."
                )
            known = WORKLOAD_KEYS[self.workload_kind()] if name == "workload" else SECTIONS[name]
            for key in section:
                if known is not None and key not in known:
                    raise self.refuse(
                        name, key, section[key], f"unknown key; {meant(key, known)}[{name}] takes {sorted(known)}"
                    )
        for name in ("workload", "relation"):
            if name not in self.data:
                raise InvalidProblem(f"{self.path}: section [{name}] is missing; a problem needs a workload and a relation.")

    def unknown(self, name: str, value: object) -> InvalidProblem:
        """The refusal of a section that there is not, or of a key that stands before all sections."""
        if isinstance(value, dict):
            return InvalidProblem(
                f"{self.path}: section [{name}] is unknown; {meant(name, SECTIONS)}the sections are {list(SECTIONS)}, and "
                "`title` and `unlisted` before them."
            )
        homes = [f"[{section}]" for section, known in KEYS.items() if name in known]
        remedy = (
            f"write it below {' or '.join(homes)}"
            if homes
            else f"{meant(name, HEADING)}only `title` and `unlisted` stand there"
        )
        return InvalidProblem(f"{self.path}: the key {name} = {shown(value)} stands before the first section; {remedy}.")

    @cached_property
    def size(self) -> int:
        return self.domain.size if self.is_structured else self.workload().shape[1]

    def workload_kind(self) -> str:
        """The one key of [workload] that says what kind it is of."""
        given = self.data["workload"]
        kinds = [kind for kind in WORKLOAD_KINDS if kind in given]
        if len(kinds) != 1:
            named = [key for key in given if key in BUILDERS or given[key] in BUILDERS]
            remedy = f'write builder = "{next(b for b in BUILDERS if b in (named[0], given[named[0]]))}"; ' if named else ""
            raise InvalidProblem(
                f"{self.path}: [workload] has {kinds or list(given) or 'no keys'}; {remedy}give exactly one of "
                f"{', '.join(WORKLOAD_KINDS)}."
            )
        if kinds == ["builder"] and self.data["workload"]["builder"] == "random":
            return "random"
        return kinds[0]

    def workload(self) -> Workload:
        """The queries, with names for them and for the elements where the file has some."""
        kind = self.workload_kind()
        self.require_over_cells(kind, self.data["workload"].get(kind))
        build: Callable[[], Workload] = getattr(self, f"_workload_{'builder' if kind == 'random' else kind}")
        made = build()
        names = self.get("workload", "names", list, None)
        elements = self.element_names
        if names is None and elements is None:
            return made
        return Workload(made.matrix, names or made.queries, elements or made.elements, self.keys)

    def universe_size(self) -> Any:
        """Number of elements of the table or the domain; the mark of a missing value where there is neither."""
        if self.linked is not None:
            return self.linked.size
        if "elements" in self.data:
            return len(next(iter(self.table.values()), []))
        return self.domain.size if "domain" in self.data else ...

    def _workload_matrix(self) -> Workload:
        return Workload(self.matrix("workload", "matrix"))

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
        size = self.get("workload", "size", int, self.universe_size())
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
            raise self.refuse(
                "workload", "builder", name, f"unknown; {meant(name, [*builders, 'random'])}use one of {[*builders, 'random']}"
            )
        made = builders[name](size)
        # Every element's own count is best called what the element is called.
        named = self.element_names if name == "identity" and size == self.universe_size() else None
        return made if named is None else Workload(made.matrix, named)


LINEAR = Kind(DEFAULT, "Noise around the answers of linear queries.", linear_form, LinearReader)

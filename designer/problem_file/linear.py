"""Problem files: TOML in, `LinearFile` out. The only parser; every refusal names file, key, value and remedy.

[elements]  table = "cities.csv", names = ["name", "state"]
            the universe, one row each; names: the columns that tell rows apart (optional)
[domain]    sex = ["F", "M"], age = 3
            or a product of attributes (optional; beside a table, in the same order)
[workload]  one of: matrix = "queries.csv" | columns = ["elevation"] | builder = "random"
            | predicates = {..} | marginals = [[..]] | ranges = [["first", "last"]] | partition = "state"
            | levels = ["region", "county"]
            or structured, over a domain of any size:
            terms = [{age = "prefix", sex = "identity"}] | tables = [["age"], ["age", "sex"]], asked = {age = "ranges"}
[relation]  metric = "great_circle", points = ["latitude", "longitude"], per_km = 0.01; or beside an invariant
            epsilon alone, or epsilon and per_distance = "l1" | "l2"; under zcdp epsilon is called mu
[invariant] one of: margins = [["sex"], ["age"]] | partition = "state" | total = true | matrix = "statistics.csv"
            | linked = {sexes = ["age", "sex"], places = ["age", "place"]} with published = [["age"]]: tables of the same
            records, whose cells are the elements; adjacency (optional)
[problem]   loss, notion, delta, records, weights                     (optional)
[design]    family and its options; solver = "SCS", solver_options = {..}, a solver of CVXPY (optional)
[targets]   standard_error, margin (95 %), relative_error with reference: each a number for all queries, or a table by
            query; a query has at most one                            (optional)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from designer.base.checks import meant, shown
from designer.base.errors import InvalidProblem
from designer.base.labels import listed_label
from designer.base.lazy_imports import at_address, at_addresses
from designer.base.schema import COUNT, Schema, all_keys, either, exactly, list_of, one_of, text, whole
from designer.certificate.frozen import to_spec
from designer.designing.printouts import design_in_brief, design_summary
from designer.problem.histogram import Keys
from designer.problem.workload import Workload
from designer.problem_file.forms import DEFAULT, HEADING, ProblemFile, Reader, perhaps
from designer.problem_file.keys import COLUMNS, FILE, NAMES, SCALARS, SIZE, SUBSETS, Field, Form, section_of
from designer.problem_file.linear_forms import DESIGN_NOTE, DOMAIN, ELEMENTS, PROBLEM, TARGETS, design_forms
from designer.problem_file.relations import (
    BUDGETED,
    INVARIANT,
    INVARIANTS,
    RELATION_NOTE,
    RELATIONS,
    RelationReader,
    metric_forms,
    relation_rules,
)
from designer.problem_file.sections import Choices, ExpectedValues, Outcome, toml_of
from designer.relations.problem import Problem

# What a problem file for linear queries asks for.


def listing_of(keys: Sequence[Keys | None]) -> ExpectedValues:
    """Of the columns that name elements; refused where none do."""
    known = [own for own in keys if own is not None]
    if not known:
        raise InvalidProblem(
            "check: nothing says which columns of records name the elements; name them in [elements] names or [domain]."
        )
    return ExpectedValues.of_keys(*known)


def read_problem(path: str | Path) -> LinearFile:
    """Read a TOML problem file for linear queries; paths in it are relative to it.

    Raises `InvalidProblem` with the section, the key, its value and the remedy.

    path: of the file.
    """
    place = Path(path)
    data = toml_of(place)
    if data.get("kind", DEFAULT) != DEFAULT:
        raise InvalidProblem(
            f"{place}: kind = {shown(data['kind'])}: is no problem of linear queries; read_request reads files of every kind, "
            "and dp-designer design makes what they ask for."
        )
    return LinearFile.read(place, data)


class LinearReader(RelationReader, Reader):
    """One whole problem file for linear queries being read."""

    def read(self) -> Mapping[str, Any]:
        problem = self.plain_problem()
        return {"problem": problem, "targets": self.targets_of(problem.workload.queries), **self.family_and_options()}

    def class_of_file(self, kind: Any) -> Any:
        return at_address(STRUCTURED) if self.is_structured else kind

    @property
    def is_structured(self) -> bool:
        """Has the file a workload whose queries nobody writes out?"""
        return self.workload_form() not in MATRICES

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

    def require(self, kind: type[ProblemFile]) -> None:
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
            known = self.workload_form().keys if name == "workload" else SECTIONS[name]
            for key in section:
                if known is not None and key not in known:
                    near = perhaps(name, key, section[key], known)
                    raise self.refuse(name, key, section[key], f"unknown key; {near}[{name}] takes {sorted(known)}")
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
        homes = [f"[{section}]" for section, known in known_keys().items() if name in known]
        remedy = (
            f"write it below {' or '.join(homes)}"
            if homes
            else f"{meant(name, HEADING)}only `title` and `unlisted` stand there"
        )
        return InvalidProblem(f"{self.path}: the key {name} = {shown(value)} stands before the first section; {remedy}.")

    @cached_property
    def asked_size(self) -> int:
        return self.domain.size if self.is_structured else self.workload().shape[1]

    def workload_form(self) -> Form[Any]:
        """The form of [workload], which one of its keys tells."""
        given = self.data["workload"]
        forms = workloads()
        signs = list(dict.fromkeys(form.sign for form in forms))
        found = [sign for sign in signs if sign in given]
        if len(found) != 1:
            at_address(STRUCTURED)  # the room whose forms may be meant is named where it is missing
            named = [key for key in given if key in BUILDERS or given[key] in [*BUILDERS]]
            remedy = f'write builder = "{next(b for b in BUILDERS if b in (named[0], given[named[0]]))}"; ' if named else ""
            raise InvalidProblem(
                f"{self.path}: [workload] has {found or list(given) or 'no keys'}; {remedy}give exactly one of "
                f"{', '.join(signs)}."
            )
        if given.get("builder") == RANDOM.name:
            return RANDOM
        return next(form for form in forms if form.sign == found[0])

    def workload_kind(self) -> str:
        """The one key of [workload] that says what kind it is of."""
        return self.workload_form().sign

    def workload(self) -> Workload:
        """The queries, with names for them and for the elements where the file has some."""
        form = self.workload_form()
        self.require_over_cells(form.name, self.data["workload"].get(form.name))
        made: Workload = form.read(self, "workload")
        names, elements = NAMES_OF_QUERIES.given(self, "workload", None), self.element_names
        if names is None and elements is None:
            return made
        return Workload(made.matrix, names or made.queries, elements or made.elements, self.keys, made.levels)

    def universe_size(self) -> int | None:
        """Number of elements of the table or the domain; None where there is neither."""
        if self.linked is not None:
            return self.linked.size
        if "elements" in self.data:
            return len(next(iter(self.table.values()), []))
        return self.domain.size if "domain" in self.data else None

    def predicates(self, section: str, key: str) -> dict[str, Any]:
        """For each query the values that count in it."""
        given: dict[str, Any] = self.get(section, key, dict)
        if not given or not all(isinstance(predicate, dict) for predicate in given.values()):
            raise self.refuse(section, key, given, "give each query a table such as {age = [0, 1]}")
        return given

    def marginals(self, section: str, key: str) -> list[list[str]]:
        """The attributes of each table."""
        subsets: list[list[str]] = self.get(section, key, list)
        if not subsets or not all(isinstance(subset, list) and all(isinstance(a, str) for a in subset) for subset in subsets):
            raise self.refuse(section, key, subsets, 'give lists of attributes such as [["age"], ["age", "sex"]]')
        return subsets

    def built(self, name: str, size: int | None = None) -> Workload:
        """Queries by rule."""
        if name not in BUILDERS:
            known = [*BUILDERS, RANDOM.name]
            raise self.refuse("workload", "builder", name, f"unknown; {meant(name, known)}use one of {known}")
        made = BUILDERS[name](self._size(size))
        # Every element's own count is best called what the element is called.
        named = self.element_names if name == "identity" and made.shape[1] == self.universe_size() else None
        return made if named is None else Workload(made.matrix, named)

    def drawn(self, _: str, queries: int, seed: int, size: int | None = None, kind: str = "real") -> Workload:
        return Workload.random(queries, self._size(size), kind, seed)

    def spans(self, section: str, key: str) -> tuple[list[int], list[int]]:
        """The first element of each range, and the one after its last: by their names, or by their positions from 0 on."""
        given: list[Any] = self.get(section, key, list)
        if not given or not all(isinstance(pair, list) and len(pair) == 2 for pair in given):
            raise self.refuse(section, key, given, 'give the first and the last element of each range: [["first", "last"]]')
        return [self._position(first, key) for first, _ in given], [self._position(last, key) + 1 for _, last in given]

    def _position(self, element: Any, key: str) -> int:
        """Of an element among all, by its name or by that position itself."""
        known = {name: place for place, name in enumerate(self.element_names or ())}
        if isinstance(element, str) and element in known:
            return known[element]
        if type(element) is int and element >= 0:
            return element
        near = f"{meant(element, list(known))}use" if isinstance(element, str) and known else "use"
        raise self.refuse("workload", key, element, f"is no element; {near} the name of one, or its position from 0 on")

    def ranges(self, spans: tuple[list[int], list[int]], size: int | None = None) -> Workload:
        """Sums over ranges of elements in their order."""
        (starts, ends), known = spans, self._size(size)
        if wrong := [(a, b - 1) for a, b in zip(starts, ends, strict=True) if not a < b <= known]:
            raise self.refuse(
                "workload",
                "ranges",
                list(wrong[0]),
                f"goes backwards, or beyond the {known} elements; name the first one first",
            )
        called = self.element_names or [f"e{k}" for k in range(known)]
        return Workload.ranges(
            known, starts, ends, [f"{called[a]}..{called[b - 1]}" for a, b in zip(starts, ends, strict=True)]
        )

    def groups(self, section: str, key: str) -> list[Any]:
        """The group of each element: a list, or a column of their table."""
        given = self.get(section, key, (str, list))
        labels = given if isinstance(given, list) else list(self.column(section, key, given))
        size = self.universe_size()
        if not labels or (size is not None and len(labels) != size):
            raise self.refuse(section, key, len(labels), f"groups for {size or 'no'} elements; give one for each")
        return labels

    def levels(self, section: str, key: str) -> dict[str, list[str]]:
        """The unit of each element in every level, by columns of their table, from coarse to fine."""
        named = self.texts(section, key)
        if not named:
            raise self.refuse(section, key, named, "name at least one column of the table of elements")
        if twice := [name for name in named if named.count(name) > 1]:
            raise self.refuse(section, key, named, f"names {shown(twice[0])} twice; name each level once, from coarse to fine")
        return {name: self.column(section, key, name) for name in named}

    def _size(self, stated: int | None) -> int:
        """The number of elements, stated or of the table or the domain."""
        known = self.universe_size() if stated is None else stated
        return int(SIZE.of(self, "workload") if known is None else known)


NAMES_OF_QUERIES = Field("names", NAMES)
BUILDERS: Mapping[str, Callable[[int], Workload]] = {
    "identity": Workload.identity,
    "prefix": Workload.prefix,
    "all_ranges": Workload.all_ranges,
    "total": Workload.total,
}
RULE = "Queries by rule: the count of every element, running totals, all intervals, the number of all, or random ones."
RANDOM: Form[Workload] = Form(
    "random",
    [
        Field("builder", exactly("random")),
        Field("queries", COUNT, "How many queries."),
        Field("seed", whole(least=0), "Makes random queries the same each time."),
    ],
    LinearReader.drawn,
    [SIZE, Field("kind", one_of("real", "binary"), "Entries between 0 and 1, or 0 and 1 alone.", default="real")],
    [NAMES_OF_QUERIES],
)
# Workloads that are written out as a matrix.
MATRICES: tuple[Form[Workload], ...] = (
    Form(
        "matrix",
        [Field("matrix", FILE, read=LinearReader.matrix)],
        lambda _, matrix: Workload(matrix),
        beside=[NAMES_OF_QUERIES],
    ),
    Form(
        "columns",
        [Field("columns", COLUMNS, read=LinearReader.columns)],
        lambda file, columns: Workload(columns, queries=file.data["workload"]["columns"]),
        beside=[NAMES_OF_QUERIES],
    ),
    Form(
        "predicates",
        [
            Field(
                "predicates",
                {"type": "object", "minProperties": 1, "additionalProperties": {"type": "object"}},
                "For each query, by its name, the values of attributes that count in it.",
                LinearReader.predicates,
            )
        ],
        lambda file, predicates: Workload.predicates(file.domain, predicates),
        beside=[NAMES_OF_QUERIES],
    ),
    Form(
        "marginals",
        [Field("marginals", SUBSETS, read=LinearReader.marginals)],
        lambda file, marginals: Workload.marginals(file.domain, marginals),
        beside=[NAMES_OF_QUERIES],
    ),
    Form(
        "ranges",
        [
            Field(
                "ranges",
                list_of(list_of(either(text(), whole(least=0)))),
                "The first and the last element of each range, both counted, by name or by position from 0 on.",
                LinearReader.spans,
            )
        ],
        LinearReader.ranges,
        [SIZE],
        [NAMES_OF_QUERIES],
    ),
    Form(
        "partition",
        [
            Field(
                "partition",
                either(text(), SCALARS),
                "The group of each element, whose count is asked for: a list, or a column of their table.",
                LinearReader.groups,
            )
        ],
        lambda _, labels: Workload.partition(len(labels), list(map(listed_label, labels))),
        beside=[NAMES_OF_QUERIES],
    ),
    Form(
        "levels",
        [
            Field(
                "levels",
                list_of(text(), distinct=True),
                "Columns of the table of elements, coarse first: the count of each unit of every one, and the total.",
                LinearReader.levels,
            )
        ],
        lambda _, levels: Workload.nested(len(next(iter(levels.values()))), levels),
    ),
    Form("builder", [Field("builder", one_of(*BUILDERS), RULE)], LinearReader.built, [SIZE], [NAMES_OF_QUERIES]),
    RANDOM,
)
STRUCTURED = "designer.domains.structured_file:StructuredFile"  # of workloads whose queries nobody writes out


def workloads() -> tuple[Form[Any], ...]:
    return (*MATRICES, *(form for file in at_addresses([STRUCTURED]) for form in file.reader.forms()))


WORKLOAD_NOTE = "What is asked: a matrix, predicates, tables, ranges, groups, levels, or products of queries of attributes."
SECTIONS: Mapping[str, set[str] | None] = {  # None: which keys there may be depends on what others say
    "elements": all_keys(ELEMENTS),
    "domain": None,
    "workload": None,
    "relation": None,
    "invariant": None,
    "problem": all_keys(PROBLEM),
    "design": None,
    "targets": all_keys(TARGETS),
}


def known_keys() -> Mapping[str, set[str]]:
    """Those of each section, whatever kind it is of."""
    return {
        **{name: known for name, known in SECTIONS.items() if known},
        "workload": set().union(*(form.keys for form in workloads())),
        "relation": {"metric"}.union(all_keys(BUDGETED), *(form.keys for form in RELATIONS.values())),
        "invariant": set().union(*(form.keys for form in INVARIANTS)),
        "design": {"family", "solver", "solver_options"},
    }


class LinearFile(ProblemFile):
    """A problem file for linear queries."""

    kind = "linear_queries"
    note = "Noise around the answers of linear queries."
    reader = LinearReader
    choices = ("family", "solver", "solver_options", "effort", "seconds")
    explored = True
    problem: Any  # a `Problem`, or that of queries that nobody writes out

    @classmethod
    def form(cls) -> Schema:
        """The sections of a whole file for linear queries; builders of families are imported, with their solvers."""
        _, without = metric_forms()
        # [relation] is narrowed by the rules; editors complete by what stands here.
        return section_of(
            [
                Field("workload", either(*(form.schema for form in workloads())), WORKLOAD_NOTE),
                Field("relation", either(without, BUDGETED), RELATION_NOTE),
            ],
            [
                Field("elements", ELEMENTS),
                Field("domain", DOMAIN),
                INVARIANT,
                Field("problem", PROBLEM),
                Field("design", either(*design_forms()), DESIGN_NOTE),
                Field("targets", TARGETS),
            ],
            **relation_rules(),
        )

    @property
    def compared(self) -> Problem:
        found: Problem = self.problem
        return found

    def made(self, choices: Choices | None = None) -> Outcome:
        found = self.designed(choices or Choices())
        described = replace(found, mechanism=found.mechanism.described(self.about))
        full, *brief = self.summaries(described)
        return Outcome(described.mechanism, (full,), to_spec(described.mechanism), tuple(brief))

    def summaries(self, made: Any) -> tuple[str, ...]:
        """A design in all lines, and in fewer."""
        return design_summary(self.title, made), design_in_brief(self.title, made)

    @property
    def named_answers(self) -> tuple[str, ...] | None:
        names: tuple[str, ...] = self.problem.workload.queries
        return names

    def listing(self) -> ExpectedValues:
        return listing_of(self.problem.relation.counted_tables or (self.problem.workload.keys,))

    def description(self) -> Mapping[str, object]:
        queries, elements = self.problem.workload.shape
        return {
            "queries": queries,
            "elements": elements,
            "relation": self.problem.relation.sentence(),
            "notion": self.problem.notion,
            **({} if self.problem.delta is None else {"delta": self.problem.delta}),
            "family": self.family,
        }

"""Structured workloads, from the sections [domain], [workload] and [relation] of a problem file."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from designer.base.checks import meant, shown
from designer.base.display import at_most, printed
from designer.base.errors import InvalidProblem
from designer.base.schema import COUNT, MATRIX, Schema, either, list_of, one_of
from designer.certificate.frozen import summary_lines
from designer.designing.printouts import closing_lines, optimality_lines
from designer.domains.structured_problem import StructuredDesign, StructuredProblem
from designer.files.data_files import read_matrix
from designer.mechanism.caution_lines import cautions
from designer.problem_file.keys import EPSILON, FILE, SUBSETS, WEIGHTS, Field, Form, section_of
from designer.problem_file.linear import LinearFile, LinearReader
from designer.problem_file.sections import ExpectedValues
from designer.relations.metrics.attributes import Hamming, Product
from designer.relations.metrics.presence import Presence
from designer.relations.problem import Problem

if TYPE_CHECKING:  # they bring solvers
    from designer.domains.products_noise import Protection
    from designer.domains.products_workload import StructuredWorkload

# What is asked of one attribute.
ASKED_KINDS = ("identity", "total", "prefix", "ranges")
ASKED: Schema = either(
    one_of(*ASKED_KINDS),
    section_of([Field("widths", COUNT, "All intervals of so many values.")]),
    section_of([Field("matrix", FILE)]),
    MATRIX,
)
ASKED_BY_NAME: Schema = {"type": "object", "additionalProperties": ASKED}
PROTECTIONS = ("add_remove", "hamming", "product")
QUERIES = f'use one of {list(ASKED_KINDS)}, {{widths = 7}}, {{matrix = "rows.csv"}} or rows of numbers'


def structured_summary(title: str, made: StructuredDesign) -> str:
    """What was designed, in lines for the terminal."""
    title, mechanism = printed(title), made.mechanism
    lines = [title, "=" * len(title), *mechanism.about.lines(), *cautions(mechanism), *summary_lines(mechanism)]
    lines.append(f"Error:       root mean squared error {at_most(mechanism.root_mean_squared_error)} of an answer")
    return "\n".join([*lines, *optimality_lines(made.optimality), *closing_lines(made)])


class StructuredReader(LinearReader):
    """One problem file of a structured workload being read."""

    def read(self) -> Mapping[str, Any]:
        return {"problem": self.structured_problem(), **self.family_and_options()}

    def structured_problem(self) -> StructuredProblem:
        """The problem of a file with a structured workload."""
        for name, remedy in (
            ("elements", "name the attributes and their values in [domain]"),
            ("invariant", "no statistics are published beside structured workloads; leave it out"),
            ("targets", "structured workloads have no targets; leave it out"),
        ):
            if name in self.data:
                raise InvalidProblem(f"{self.path}: [{name}] does not go with structured workloads: {remedy}.")
        given = dict(self.data.get("problem", {}))
        if given.pop("loss", "squared") != "squared":
            raise self.refuse("problem", "loss", self.data["problem"]["loss"], 'structured workloads have the loss "squared"')
        notion = given.pop("notion", "pure")
        for key, value in given.items():
            raise self.refuse("problem", key, value, "does not go with structured workloads; leave it out")
        return StructuredProblem(self.structured_workload, self.protection(), notion)

    def protection(self) -> Protection:
        """What may change: the presence of a record, or its attributes."""
        name = self.get("relation", "metric", str)
        if name not in PROTECTIONS:
            raise self.refuse("relation", "metric", name, f"structured workloads take one of {list(PROTECTIONS)}")
        if name != "add_remove":
            made = self.metric()
            assert isinstance(made, (Hamming, Product))
            return made
        known = {"metric", *(key.name for key in EPSILON.both)}
        self.refuse_keys("relation", known, "metric 'add_remove' over a structured workload")
        return Presence(**{EPSILON.under(self).name: EPSILON.of(self, "relation")})

    @cached_property
    def structured_workload(self) -> StructuredWorkload:
        """The workload, from its terms, or from tables of which some attributes are asked otherwise than by value."""
        made: StructuredWorkload = self.workload_form().read(self, "workload")
        return made

    @classmethod
    def forms(cls) -> tuple[Form[StructuredWorkload], ...]:
        """The forms of [workload]: terms, and tables."""
        needed = "For each term the attributes that it asks about, and what is asked of each; all others are summed over."
        otherwise = "Attributes that are asked about otherwise than value by value, in all tables."
        return (
            Form("terms", [Field("terms", list_of(ASKED_BY_NAME), needed, cls.terms)], cls.of_terms, [WEIGHTS]),
            Form(
                "tables",
                [Field("tables", SUBSETS, read=cls.tables_of)],
                cls.of_tables,
                [Field("asked", ASKED_BY_NAME, otherwise, cls.asked_otherwise), WEIGHTS],
            ),
        )

    def terms(self, section: str, key: str) -> list[dict[str, object]]:
        """What each term asks of which attributes."""
        terms = self.get(section, key, list)
        if not terms or not all(isinstance(term, dict) for term in terms):
            raise self.refuse(section, key, terms, 'give products such as [{age = "prefix", sex = "identity"}]')
        return [self._asked(f"{key}[{place}]", term) for place, term in enumerate(terms)]

    def tables_of(self, section: str, key: str) -> list[list[str]]:
        """The attributes of each table."""
        subsets: list[list[str]] = self.get(section, key, list)
        if not subsets or not all(isinstance(subset, list) for subset in subsets):
            raise self.refuse(section, key, subsets, 'give lists of attributes such as [["age"], ["age", "sex"]]')
        for place, subset in enumerate(subsets):
            self._require_known(f"{key}[{place}]", subset)
        return subsets

    def asked_otherwise(self, section: str, key: str) -> dict[str, object]:
        """What is asked of each attribute, in all tables."""
        return self._asked(key, self.get(section, key, dict))

    def of_terms(self, terms: Any, weights: list[Any] | None = None) -> StructuredWorkload:
        """The workload of terms."""
        from designer.domains.products_workload import StructuredWorkload

        return StructuredWorkload.of(self.domain, terms, weights)

    def of_tables(self, subsets: Any, asked: Any = None, weights: list[Any] | None = None) -> StructuredWorkload:
        """The workload of tables, made once, so that an attribute has the same queries in every table."""
        from designer.domains.products_workload import StructuredWorkload

        whole = StructuredWorkload.tables(self.domain, subsets, asked or {})
        return whole if weights is None else self.of_terms(self._named(whole), weights)

    def _named(self, workload: StructuredWorkload) -> list[Mapping[str, object]]:
        names = self.domain.attributes
        return [{names[axis]: queries for axis, queries in term.items()} for term in workload.terms]

    def _asked(self, key: str, given: Mapping[str, Any]) -> dict[str, object]:
        """What is asked of each attribute."""
        self._require_known(key, list(given))
        return {name: self._queries(f"{key}.{name}", value) for name, value in given.items()}

    def _queries(self, key: str, given: Any) -> object:
        if isinstance(given, str) and given not in ASKED_KINDS:
            raise self.refuse("workload", key, given, f"{meant(given, ASKED_KINDS)}{QUERIES}")
        if isinstance(given, dict):
            if set(given) == {"widths"}:
                return ("widths", given["widths"])
            if set(given) == {"matrix"} and isinstance(given["matrix"], str):
                path = self.path.parent / given["matrix"]
                self.files.append(path)
                return read_matrix(path)
            raise self.refuse("workload", key, given, QUERIES)
        if not isinstance(given, (str, list)):
            raise self.refuse("workload", key, given, QUERIES)
        return given

    def _require_known(self, key: str, names: list[Any]) -> None:
        """Refuse names that are no attributes."""
        for name in names:
            if name not in self.domain.attributes:
                words = f"[domain] has no attribute {shown(name)}; {meant(name, self.domain.attributes)}it has "
                raise self.refuse("workload", key, names, f"{words}{shown(list(self.domain.attributes))}")


class StructuredFile(LinearFile):
    """A problem file whose queries nobody writes out."""

    reader = StructuredReader

    @property
    def compared(self) -> Problem:
        found: Problem = self.problem.written_out()
        return found

    @property
    def named_answers(self) -> None:
        return None

    def summaries(self, made: Any) -> tuple[str, ...]:
        return (structured_summary(self.title, made),) if isinstance(made, StructuredDesign) else super().summaries(made)

    def listing(self) -> ExpectedValues:
        return ExpectedValues.of_domain(self.problem.workload.domain, self.problem.workload.used)

"""Files for averages of functions of the records: kind = "statistical_queries".

[domain]      the attributes of a record and their values; their product may be of any size
[statistics]  "mean age" = {of = "age", values = "number"} | women = {of = "sex", values = {F = 1, M = 0}}
              | wages = {of = ["job", "sex"], table = "wages.csv", column = "wage"}
              | both = {of = ["a", "b"], values = [[0, 1], [2, 3]]} | sum = {terms = [{of = ..}, {of = ..}]}
[relation]    a metric on the records: hamming, product, attribute_values, ...
[problem]     records, loss, notion, delta, weights = {women = 2}     (optional)
[design]      family = "separable" | "squared_averages", which answer with a bias where it pays and need records; or one for
              linear queries; solver and its options                  (optional)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

from designer.averages.averages import separable
from designer.averages.joint_averages import squared_averages
from designer.averages.queries import StatisticalQueries
from designer.base.checks import meant, shown
from designer.base.errors import InvalidProblem
from designer.base.labels import number_in_file
from designer.base.lazy_imports import at_address
from designer.base.schema import POSITIVE, Fragment, Schema, either, exactly, list_of, noted, number, record, text
from designer.certificate.frozen import FrozenMechanism
from designer.designing.dispatch import design
from designer.files.data_files import read_table
from designer.limits import LARGEST_FUNCTION_VALUE
from designer.mechanism.additive import AdditiveMechanism
from designer.problem_file.counts_sections import SHARED, AskingReader
from designer.problem_file.forms import ProblemFile
from designer.problem_file.keys import FILE, Field, section_of
from designer.problem_file.linear_forms import (
    DELTA_WITH_ITS_NOTION,
    DESIGN_NOTE,
    DOMAIN,
    PROBLEM,
    PROBLEM_NOTE,
    SOLVER,
    SOLVER_OPTIONS,
    design_forms,
)
from designer.problem_file.relations import by_notion, metric_forms
from designer.problem_file.sections import Choices, ExpectedValues, naming
from designer.relations.metrics.metric import Metric

NUMBERS = "number"
OF = {"of": noted("The attribute, or the attributes, that the function is of.", either(text(), list_of(text(), distinct=True)))}
BY_VALUE: Schema = {"type": "object", "minProperties": 1, "additionalProperties": number()}
TERMS = (
    record(
        {
            **OF,
            "values": noted(
                '"number": the values of the attribute themselves; or a number for each value, by value or in order.',
                either(exactly(NUMBERS), BY_VALUE, {"type": "array", "items": either(number(), {"type": "array"})}),
            ),
        }
    ),
    record(
        {
            **OF,
            "table": noted("A table with a row for every combination of values of the attributes.", FILE.body),
            "column": noted("The column of that table that holds the numbers.", text()),
        }
    ),
)
SUM = record({"terms": noted("Functions of few attributes each, which are added up.", list_of(either(*TERMS)))})
STATISTICS: Schema = noted(
    "The functions whose averages are asked, by name.",
    {"type": "object", "minProperties": 1, "additionalProperties": either(*TERMS, SUM)},
)
WEIGHTS = noted(
    "What the error of each average counts: in order, or by name; 1 for those that are not named.",
    either(list_of(POSITIVE), {"type": "object", "minProperties": 1, "additionalProperties": POSITIVE}),
)
FITTED: Mapping[str, Literal["absolute", "squared"]] = {"separable": "absolute", "squared_averages": "squared"}
PROGRAM = "designer.programs:statistical"
NO_FUNCTION = (
    "is a Python function, which no file can hold; give a number for each value (values = {..}), a table of the combinations "
    "(table = .., column = ..), or terms that add up"
)


def _form(design_section: Fragment, **of_problem: Any) -> Schema:
    metric, _ = metric_forms()
    problem = record({}, {**PROBLEM["properties"], "weights": WEIGHTS}, PROBLEM_NOTE, **of_problem)
    needed: dict[str, Fragment] = {"domain": DOMAIN, "statistics": STATISTICS, "relation": metric}
    return record(needed, {"problem": problem, "design": Field("design", design_section, DESIGN_NOTE).fragment}, **by_notion())


def _fitted_forms() -> list[Schema]:
    """[design] of the families that know what an average is."""
    return [section_of([Field("family", exactly(name))], [SOLVER, SOLVER_OPTIONS]) for name in FITTED]


class AveragesReader(AskingReader):
    """One file for averages being read."""

    def require(self, kind: type[ProblemFile]) -> None:
        for name, given in (self.data["statistics"] if isinstance(self.data.get("statistics"), dict) else {}).items():
            if isinstance(given, str) or (isinstance(given, dict) and {"function", "python", "lambda"} & set(given)):
                raise self.refuse("statistics", name, given, NO_FUNCTION)
        self.require_own(kind.whole(_form({"type": "object"})))

    def shared(self) -> dict[str, Any]:
        """The metric speaks of all combinations of the domain, which nobody writes out."""
        found = {name: self.data[name] for name in (*SHARED, "problem", "unlisted") if name in self.data}
        return {**found, "workload": {"tables": [[]]}}

    def read(self) -> Mapping[str, Any]:
        asked, how, queries = dict(self.data.get("problem", {})), self.family_and_options(), self.queries()
        weights = self._weights(asked.pop("weights", {}), [statistic.name for statistic in queries.statistics])
        return {"problem": queries, "weights": weights, "asked": asked, **how}

    def queries(self) -> StatisticalQueries:
        """The averages, over images of the rows."""
        relation = self.question.relation()
        if not isinstance(relation, Metric):
            name = self.data["relation"]["metric"]
            raise self.refuse(
                "relation", "metric", name, "hides the number of records, over which averages are taken; use another"
            )
        with self.at("statistics"):
            asked = {name: self._terms(name, given) for name, given in self.data["statistics"].items()}
            return StatisticalQueries.of(self.domain, asked, relation)

    def _terms(self, name: str, given: Mapping[str, Any]) -> list[tuple[tuple[str, ...], Any]]:
        """Attributes and numbers of each term."""
        terms = [self._term(name, term) for term in given.get("terms", [given])]
        for _, numbers in terms:
            self._require_moderate(name, list(numbers.values()) if isinstance(numbers, dict) else numbers)
        return terms

    def _require_moderate(self, name: str, numbers: Any) -> None:
        """Refuse numbers whose multiples leave the floats, however deep the lists are that hold them."""
        for entry in numbers if isinstance(numbers, list) else [numbers]:
            if isinstance(entry, list):
                self._require_moderate(name, entry)
            elif not isinstance(entry, (int, float)) or not abs(entry) <= LARGEST_FUNCTION_VALUE:
                remedy = (
                    f"is no number, or beyond {LARGEST_FUNCTION_VALUE:g}; give numbers, in units in which they are moderate"
                )
                raise self.refuse("statistics", name, entry, remedy)

    def _term(self, name: str, given: Mapping[str, Any]) -> tuple[tuple[str, ...], Any]:
        attributes = (given["of"],) if isinstance(given["of"], str) else tuple(given["of"])
        for attribute in attributes:
            if attribute not in self.domain.attributes:
                known = self.domain.attributes
                has = f"has no attribute {shown(attribute)}; {meant(attribute, known)}[domain] has {shown(list(known))}"
                raise self.refuse("statistics", name, given, has)
        if "table" in given:
            return attributes, self._from_table(name, attributes, given)
        values = given["values"]
        if values == NUMBERS:
            return attributes, self._values_themselves(name, attributes)
        if isinstance(values, dict):
            self._require_values(name, attributes, values)
        return attributes, values

    def _values_themselves(self, name: str, attributes: tuple[str, ...]) -> list[float]:
        if len(attributes) != 1:
            raise self.refuse("statistics", name, list(attributes), 'values = "number" is for one attribute; add up terms')
        found = [number_in_file(value) for value in self.domain.values[self.domain.axis(attributes[0])]]
        if None in found:
            value = self.domain.values[self.domain.axis(attributes[0])][found.index(None)]
            raise self.refuse("statistics", name, value, f"is a value of {attributes[0]} and no number; give values = {{..}}")
        return [value for value in found if value is not None]

    def _require_values(self, name: str, attributes: tuple[str, ...], values: Mapping[str, float]) -> None:
        """Refuse numbers for what is no value, which nobody would read."""
        if len(attributes) != 1:
            raise self.refuse(
                "statistics", name, list(attributes), "values by name are for one attribute; use a table or terms"
            )
        known = self.domain.values[self.domain.axis(attributes[0])]
        for value in values:
            if value not in known:
                raise self.refuse(
                    "statistics",
                    name,
                    value,
                    f"is no value of {attributes[0]}; {meant(value, known)}they are {shown(list(known))}",
                )

    def _from_table(self, name: str, attributes: tuple[str, ...], given: Mapping[str, Any]) -> Any:
        """Numbers from a table, each found by the values of the attributes beside it."""
        path = self.path.parent / given["table"]
        self.files.append(path)
        table = read_table(path)
        for column in (*attributes, given["column"]):
            if column not in table:
                has = f"has no column {shown(column)}; {meant(column, table)}its columns are {shown(list(table))}"
                raise self.refuse("statistics", name, given["table"], has)
        rows = list(zip(*(table[attribute] for attribute in attributes), strict=True))
        cells = list(product(*(self.domain.values[self.domain.axis(attribute)] for attribute in attributes)))
        if sorted(rows) != sorted(cells):
            wrong = next(iter(set(cells) ^ set(rows)), None)
            what = "stands there twice" if wrong is None else f"{shown(wrong)} is missing, or no combination of values"
            raise self.refuse(
                "statistics", name, given["table"], f"{what}; give every combination of {list(attributes)} one row"
            )
        numbers = [number_in_file(cell) for cell in table[given["column"]]]
        if None in numbers:
            raise self.refuse("statistics", name, given["column"], f"row {numbers.index(None) + 1} is no number; correct it")
        return dict(zip(rows, numbers, strict=True))

    def _weights(self, given: Any, names: list[str]) -> dict[str, float]:
        if isinstance(given, list):
            if len(given) != len(names):
                raise self.refuse(
                    "problem", "weights", given, f"has {len(given)} for {len(names)} statistics; give one for each"
                )
            return dict(zip(names, given, strict=True))
        for name in given:
            if name not in names:
                raise self.refuse("problem", "weights", name, f"is no statistic; {meant(name, names)}they are {shown(names)}")
        return dict(given)


@dataclass(frozen=True, kw_only=True)
class AveragesFile(ProblemFile):
    """A file for averages. weights: by name, where some are given; asked: loss, notion, delta, records, allow_vacuous."""

    kind = "statistical_queries"
    note = "Averages of functions of the records."
    reader = AveragesReader
    choices = ("family", "solver", "solver_options", "effort", "seconds")
    problem: StatisticalQueries
    asked: Mapping[str, Any]
    weights: Mapping[str, float]

    @classmethod
    def form(cls) -> Schema:
        """The sections of a whole file; builders of families are imported, with their solvers."""
        return _form(either(*_fitted_forms(), *design_forms()), **DELTA_WITH_ITS_NOTION)

    @property
    def named_answers(self) -> tuple[str, ...]:
        return self.problem.workload.queries

    def make(self, choices: Choices) -> FrozenMechanism:
        family, options = choices.of_file(self.family, self.options)
        if family in FITTED:
            return self._fitted(family, options, choices)
        made: FrozenMechanism = design(
            self.problem.problem(**self._problem()), family, **{**options, **choices.limits}
        ).mechanism
        return made

    def _problem(self) -> dict[str, Any]:
        """Options of the problem of answering the sums."""
        listed = [self.weights.get(statistic.name, 1.0) for statistic in self.problem.statistics]
        return {**self.asked, **({"weights": listed} if self.weights else {})}

    def _fitted(self, family: str, options: dict[str, Any], choices: Choices) -> FrozenMechanism:
        """Answers with a bias where it pays, by a closed form or by a program in CVXPY."""
        with naming(self.files[0], "problem"):
            records, loss = self._records(family), FITTED[family]
            if self.weights and (loss == "absolute" or "solver" in options):
                raise InvalidProblem(
                    f"weights: {shown(dict(self.weights))} go with family = 'squared_averages' without a solver."
                )
        for name, value in choices.limits.items():
            raise InvalidProblem(
                f"{name}: {shown(value)} does not go with family = {family!r}, which searches nothing.", field=name, value=value
            )
        if "solver" in options:
            program = at_address(PROGRAM)(self.problem, records, loss)
            made: FrozenMechanism = program.design(options["solver"], **options.get("solver_options", {})).mechanism
            return made
        return separable(self.problem, records) if loss == "absolute" else squared_averages(self.problem, records, self.weights)

    def _records(self, family: str) -> float:
        """The public number of records, with nothing beside it that these families do not know."""
        wrong = {"loss": (None, FITTED[family]), "notion": (None, "pure"), "delta": (None,), "allow_vacuous": (None, False)}
        for key, known in wrong.items():
            if self.asked.get(key) not in known:
                raise InvalidProblem(
                    f"{key}: {shown(self.asked[key])} does not go with family = {family!r}; leave it out.",
                    value=self.asked[key],
                )
        if "records" not in self.asked:
            raise InvalidProblem(
                f"records: is missing; family = {family!r} weighs bias against noise by the number of records."
            )
        records = float(self.asked["records"])
        if not 1 <= records < 2**53:
            raise InvalidProblem(f"records: {records:g} is no number of records; give one from 1 to 2^53.", value=records)
        return records

    def listing(self) -> ExpectedValues:
        groups = [group.domain for group in self.problem.groups]
        return ExpectedValues(values={name: values for domain in groups for name, values in domain.listed})

    def description(self) -> Mapping[str, object]:
        statistics, images = self.problem.workload.shape
        return {
            "kind": self.kind,
            "statistics": statistics,
            "records": self.asked.get("records", "not said"),
            "rows": self.problem.domain.size,
            "images": images,
            "relation": self.problem.sentence().removesuffix(" Seen through the averages:"),
            "family": self.family,
        }

    def accuracy_lines(self, made: AdditiveMechanism) -> list[str]:
        """Standard errors of the sums, and of the averages where the number of records is public."""
        largest, records = float(made.standard_errors().max()), self.asked.get("records")
        note = "Answers:     n times the averages; release them with --table RECORDS --counted-by this file"
        divided = "" if records is None else f", of the averages {largest / float(records):.4g}"
        return [note, f"Accuracy:    largest standard error {largest:.4g}{divided}"]

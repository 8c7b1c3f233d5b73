"""Problem files of kind "marginals": noisy tables over subsets of attributes, with a budget for each attribute, or for the
presence of a record."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from designer.base.checks import meant, shown
from designer.base.display import at_least, printed
from designer.base.errors import InvalidProblem
from designer.base.schema import (
    BOOLEAN,
    COUNT,
    POSITIVE,
    Schema,
    either,
    exactly,
    list_of,
    needs_one_of,
    noted,
    number,
    one_of,
    record,
    text,
)
from designer.certificate.frozen import FrozenMechanism
from designer.designing.dispatch import design
from designer.domains.design import least_marginal
from designer.domains.marginals_plan import OBJECTIVES
from designer.domains.marginals_workload import MarginalWorkload
from designer.domains.mechanism import Protection
from designer.domains.problem import MarginalProblem
from designer.files.data_files import read_table
from designer.problem.domain import Domain
from designer.problem.reading import ATTRIBUTE
from designer.problem_file.forms import ProblemFile, Reader, require_form
from designer.problem_file.keys import BY_ATTRIBUTE, EPSILON, FILE, SCALARS, SUBSETS
from designer.problem_file.linear_forms import TARGETS
from designer.problem_file.sections import Choices, ExpectedValues, Outcome
from designer.relations import metrics
from designer.relations.metrics.presence import Presence

ROWS_SHOWN = 12
NOTIONS = ("zcdp", "pure")
PUBLIC = noted(
    "The distinct cells of a column of a PUBLIC table, such as a list of codes, in their order; empty cells are none.",
    record({"table": FILE}, {"column": noted("Its column; that of the attribute's name where nothing is said.", text())}),
)
DOMAIN = noted(
    "Attributes: the values of each, how many (0, 1, ..), or the public table that lists them.",
    {"type": "object", "minProperties": 1, "additionalProperties": either(SCALARS, COUNT, PUBLIC, ATTRIBUTE)},
)
WORKLOAD = either(
    record(
        {"tables": noted('The tables, by their attributes; [] is the total: [[], ["age"], ["age", "sex"]].', either(SUBSETS))},
        {
            "weights": noted(
                "How much the variance of each table counts, in the order of `tables`; 1 unless given.", list_of(POSITIVE)
            )
        },
    ),
    record({"up_to": noted("All tables of one to so many attributes.", COUNT)}),
)
RELATION = either(
    record(
        {
            "metric": noted("One record changes; the number of records is public.", exactly("hamming")),
            "budgets": noted("A budget for each attribute; inf leaves one unprotected.", either(BY_ATTRIBUTE)),
        }
    ),
    record(
        {"metric": noted("One record appears or disappears.", exactly("add_remove"))},
        {key.name: key.fragment for key in EPSILON.both},
    ),
)
PROBLEM = record(
    {},
    {
        "loss": noted(
            "What is least: the sum over cells, or the largest, of weight times variance.", one_of(*OBJECTIVES), "squared"
        ),
        "notion": noted('"zcdp" (Gaussian noise) or "pure" (Laplace noise; budgets are epsilons).', one_of(*NOTIONS), "zcdp"),
        "tolerance": noted("The relative gap to the optimum at which the design stops.", number(above=0, below=1)),
        "allow_vacuous": noted("Accept tables that no protected change moves.", BOOLEAN, False),
    },
    note="What is least, and where to stop.",
)


def _sections() -> Schema:
    return record(
        {
            "domain": DOMAIN,
            "workload": noted("Which tables.", WORKLOAD),
            "relation": noted("What may change, and its budget.", RELATION),
        },
        {"problem": PROBLEM, "targets": noted("By table: its attributes joined by ' x ', in their order.", TARGETS)},
    )


class MarginalsReader(Reader):
    """A file of kind "marginals" being read."""

    usual_notion = "zcdp"

    def require(self, kind: type[ProblemFile]) -> None:
        """The form, and the budget of the notion."""
        require_form(self.path, kind.whole(_sections()), self.data)
        self.refuse_keys("relation", {"metric", "budgets", *(key.name for key in EPSILON.both)}, "marginals")

    def read(self) -> Mapping[str, Any]:
        asked = dict(self.data.get("problem", {}))
        options = {"tolerance": asked.pop("tolerance", None)}
        problem = MarginalProblem(self.workload, self.protection, **asked)
        return {"problem": problem, "options": options, "targets": self.targets_of(self.workload.titles)}

    @cached_property
    def domain(self) -> Domain:
        """The attributes and their values, listed or read from public tables."""
        return Domain.of({name: self._values(name, given) for name, given in self.data["domain"].items()}, self.unlisted)

    def _values(self, name: str, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        path = self.path.parent / given["table"]
        self.files.append(path)
        table, column = read_table(path), given.get("column", name)
        if column not in table:
            raise self.refuse(
                "domain", name, given, f"the table has no column {shown(column)}; {meant(column, table)}it has {[*table]}"
            )
        values = list(dict.fromkeys(cell for cell in table[column] if cell))
        if not values:
            raise self.refuse("domain", name, given, "the column holds no values; name another one")
        return values

    @cached_property
    def workload(self) -> MarginalWorkload:
        """The tables, with their weights."""
        given = self.data["workload"]
        if "up_to" in given:
            return MarginalWorkload.up_to(self.domain, given["up_to"])
        subsets, attributes = given["tables"], self.domain.attributes
        for place, subset in enumerate(subsets):
            for name in subset:
                self.require_known("workload", f"tables[{place}]", name, attributes, "[domain]")
        weights = given.get("weights", [1.0] * len(subsets))
        if len(weights) != len(subsets):
            raise self.refuse(
                "workload", "weights", weights, f"are {len(weights)} for {len(subsets)} tables; give one for each"
            )
        sets = [tuple(sorted(subset, key=attributes.index)) for subset in subsets]
        if twice := [subset for place, subset in enumerate(sets) if subset in sets[:place]]:
            raise self.refuse("workload", "tables", list(twice[0]), "stands there twice; name each table once")
        return MarginalWorkload.of(self.domain, dict(zip(sets, weights, strict=True)))

    @cached_property
    def protection(self) -> Protection:
        """What may change."""
        given = self.data["relation"]
        if given["metric"] == "add_remove":
            return Presence(**{EPSILON.under(self).name: EPSILON.of(self, "relation")})
        attributes = self.domain.attributes
        for name in given["budgets"]:
            self.require_known("relation", "budgets", name, attributes, "[domain]")
        if missing := [name for name in attributes if name not in given["budgets"]]:
            raise self.refuse(
                "relation", "budgets", given["budgets"], f"has none for {missing}; inf leaves an attribute unprotected"
            )
        return metrics.hamming(self.domain, given["budgets"])


class MarginalsFile(ProblemFile):
    """A problem file for tables."""

    kind = "marginals"
    note = "Noisy tables over subsets of attributes, for domains of any size."
    reader = MarginalsReader
    choices = ("family",)
    problem: MarginalProblem

    @classmethod
    def form(cls) -> Schema:
        """The sections of a file; the name of a budget in [relation] is that of the notion."""
        said = {"properties": {"notion": exactly("pure")}, "required": ["notion"]}
        names = [key.name for key in EPSILON.both]
        one = {"oneOf": needs_one_of("budgets", *names)}
        pure, zcdp = ({"properties": {"relation": {**one, **either(*needs_one_of("budgets", name))}}} for name in names)
        return {**_sections(), "if": {"properties": {"problem": said}, "required": ["problem"]}, "then": pure, "else": zcdp}

    @property
    def named_answers(self) -> tuple[str, ...]:
        return self.problem.workload.titles

    def make(self, choices: Choices) -> FrozenMechanism:
        family = choices.family or "auto"
        made: FrozenMechanism = design(self.problem, family, targets=self.targets, **self.options).mechanism
        return made

    def listing(self) -> ExpectedValues:
        return ExpectedValues.of_domain(self.problem.workload.domain, self.problem.workload.used)

    def description(self) -> Mapping[str, object]:
        asked = self.problem.workload
        return {
            "kind": self.kind,
            "tables": len(asked.subsets),
            "cells": f"{asked.cells.sum():.15g}",
            "domain": f"{len(asked.domain.attributes)} attributes, {asked.domain.size:.6g} elements",
            "relation": self.problem.relation.sentence(),
            "notion": self.problem.notion,
        }

    def accuracy_lines(self, made: Any) -> list[str]:
        asked = self.problem.workload
        names, weight = asked.titles, float(asked.weights @ asked.cells)
        errors = [(name, math.sqrt(made.variances_of(k).max())) for k, name in enumerate(names[:ROWS_SHOWN])]
        rest = len(names) - len(errors)
        return [
            f"Tables:      {len(names)}, root mean squared error {np.sqrt(made.error() / weight):.6g} of a cell",
            *(f"             {printed(name)}: standard error {error:.6g}" for name, error in errors),
            *([f"             and {rest} more"] if rest else []),
        ]

    def least(self, choices: Choices | None = None, *, step: float | None = None) -> Outcome:
        """The least factor on all budgets at which the tables meet [targets]."""
        if self.targets is None:
            raise InvalidProblem(f"{self.files[0]}: section [targets] is missing; say there how accurate the tables must be.")
        family = self.checked_choices(choices).family or "auto"
        found = least_marginal(self.problem, self.targets, family, step=1e-4 if step is None else step)
        rho = "" if found.rho_factor is None else f", which is {found.rho_factor:.6g} times rho"
        lines = (
            f"Least factor: {found.factor:.6g} times all budgets{rho}",
            f"Missed at:    {found.missed_at:.6g}, smaller by {found.step:g}: {printed(found.missed)}",
            *([f"Lower bound:  {at_least(found.lower_bound, 6)}, for {found.bounded}"] if found.lower_bound else []),
            *(f"Reached:      {printed(name)}: {value:.6g}" for name, value in found.reached.items()),
        )
        return self.least_outcome(found, lines, dict(found.reached))

"""Files for choosing one of several candidates by a private score: kind = "selection".

[elements], [domain], [relation], [invariant]   as for linear queries
[workload]  the queries that scores are made of; their names are the candidates, but for score = "largest_error"
[selection] score = "linear" | "absolute_error" | "closeness", targets = [..] or a file (optional);
            score = "largest_error", targets = [[..], ..] or a file, a row for each candidate, candidates = [..] (optional);
            score = "tabulated", table = "scores.csv", records = 3, elements and candidates (optional), without [workload];
            law, and constant or rate (optional)
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from designer.base.checks import meant, shown
from designer.base.display import printed
from designer.base.errors import InvalidProblem
from designer.base.labels import number_in_file
from designer.base.schema import (
    COUNT,
    MATRIX,
    VECTOR,
    Fragment,
    Schema,
    either,
    exactly,
    list_of,
    noted,
    number,
    one_of,
    record,
    text,
)
from designer.files.data_files import Table, read_table
from designer.problem_file.counts_sections import AskingReader, over_a_relation
from designer.problem_file.forms import ProblemFile
from designer.problem_file.keys import FILE
from designer.problem_file.linear import listing_of
from designer.problem_file.sections import Choices, ExpectedValues, naming
from designer.selection.mechanism import LAWS, LEAST_RATE, LawName, Selection, best_selection
from designer.selection.problem import SelectionProblem
from designer.selection.scores import AbsoluteError, Closeness, LargestError, Linear, Score
from designer.selection.tabulated import Tabulated

SELECTION_NOTE = "The candidates, their score, and the law of the choice."
OF_QUERIES: dict[str, type[Score]] = {score.kind: score for score in (Linear, AbsoluteError, Closeness)}
DISTINCT = list_of(text(), distinct=True)
CANDIDATES: Mapping[str, Fragment] = {"candidates": noted("The names of the candidates.", DISTINCT)}
LAW: Mapping[str, Fragment] = {
    "law": noted(
        "How a candidate is drawn; permute_and_flip is never worse than the exponential mechanism.",
        one_of(*LAWS),
        "exponential",
    ),
    "constant": noted(
        "By which bound of the scores' changes the largest rate is found.", one_of("range", "theorem_3"), "range"
    ),
    "rate": noted(
        "Budget per unit of score, in the place of the largest that is private; it is certified.",
        number(least=LEAST_RATE, most=1 / LEAST_RATE),
    ),
}
TARGETS: Mapping[str, Fragment] = {
    "targets": noted("What is subtracted from each answer: numbers, or a file with one row or column.", either(VECTOR, FILE))
}
SELECTION_FORMS: Mapping[str, Schema] = {
    **{name: record({"score": exactly(name)}, {**TARGETS, **LAW}) for name in OF_QUERIES},
    LargestError.kind: record(
        {
            "score": exactly(LargestError.kind),
            "targets": noted("The public answers of each candidate, a row each: numbers, or a file.", either(MATRIX, FILE)),
        },
        {**CANDIDATES, **LAW},
    ),
    Tabulated.kind: record(
        {
            "score": exactly(Tabulated.kind),
            "table": noted(
                "A table with a row for every histogram: columns of counts by element, and of scores by candidate.", FILE.body
            ),
            "records": noted("How many records every histogram holds, a public number.", COUNT),
        },
        {
            "elements": noted("The names of the elements, where neither [elements] nor [domain] has them.", DISTINCT),
            **CANDIDATES,
            **LAW,
        },
    ),
}
TABLE_OR_WORKLOAD: Schema = {
    "if": {"properties": {"selection": {"properties": {"score": exactly(Tabulated.kind)}}}},
    "then": {"not": {"required": ["workload"]}},
    "else": {"required": ["workload"]},
}
FUNCTION = re.compile(r"[.:(]|lambda|\.py$")  # what names Python, and no kind of score
NO_FUNCTION = (
    "is a Python function, which nothing can be proven of and no file can hold; write its scores out, one row for each "
    f'histogram (score = "{Tabulated.kind}", table = "scores.csv"), or as answers of queries (score = "{Linear.kind}")'
)


class SelectionReader(AskingReader):
    """One file for a choice being read."""

    def require(self, kind: type[ProblemFile]) -> None:
        section = self.data.get("selection")
        given = section.get("score") if isinstance(section, dict) else None
        score = given if isinstance(given, str) else ""
        if score not in SELECTION_FORMS and FUNCTION.search(score):
            raise self.refuse("selection", "score", score, NO_FUNCTION)
        if score == Tabulated.kind and "workload" in self.data:
            raise self.refuse("selection", "score", score, "is the whole score; leave [workload] out, which it does not read")
        if score in SELECTION_FORMS and score != Tabulated.kind and "workload" not in self.data:
            raise InvalidProblem(f"{self.path}: section [workload] is missing; give the queries that the scores are made of.")
        super().require(kind)

    def shared(self) -> dict[str, Any]:
        """A tabulated score has no queries; all counts stand for them, so that relations know how many elements there are."""
        found = super().shared()
        if self.get("selection", "score", str) == Tabulated.kind:
            named = {} if {"elements", "domain"} & set(found) else {"size": len(self.get("selection", "elements", list))}
            found["workload"] = {"builder": "identity", **named}
        return found

    def read(self) -> Mapping[str, Any]:
        section = self.data["selection"]
        if {"rate", "constant"} <= set(section):
            raise self.refuse("selection", "constant", section["constant"], "says how a rate is found; rate gives one already")
        with self.at("selection"):
            score = self.score()
        problem = SelectionProblem(score, self.question.relation(), section.get("constant", "range"))
        return {"problem": problem, "family": section.get("law", "exponential"), "rate": section.get("rate")}

    def score(self) -> Score:
        """What the selection should make large."""
        kind = self.data["selection"]["score"]
        if kind == Tabulated.kind:
            return self.tabulated()
        if kind == LargestError.kind:
            return LargestError(self.workload(), self.numbers("selection", "targets"), self.data["selection"].get("candidates"))
        return OF_QUERIES[kind](self.workload(), self.row_of_numbers("selection", "targets"))

    def tabulated(self) -> Tabulated:
        """The scores of a table with a row for every histogram."""
        path, records = self.file("selection", "table"), self.data["selection"]["records"]
        table, elements = read_table(path), self._elements()
        for name in elements:
            if name not in table:
                has = f"has no column {shown(name)} of counts; {meant(name, table)}its columns are {shown(list(table))}"
                raise self.refuse("selection", "table", path.name, has)
        candidates = self.data["selection"].get("candidates") or [name for name in table if name not in elements]
        for name in candidates:
            if name not in table or name in elements:
                raise self.refuse("selection", "candidates", name, f"is no column of scores of {path.name}")
        scores = self._scores(path, table, elements, candidates)
        most = math.comb(records + len(elements) - 1, records) if min(records, len(elements)) < 64 else math.inf
        missing = f"has {len(scores)} histograms of {records} records, of {shown(most)} that there are; give each a row"
        if len(scores) != most:
            raise self.refuse("selection", "table", path.name, missing)
        return Tabulated.of(lambda histogram: scores[histogram], elements, records, candidates)

    def _elements(self) -> list[str]:
        """The names of the elements, from the one place that has them."""
        given = self.get("selection", "elements", list, None)
        found = self.question.element_names
        if given is not None and found is not None:
            raise self.refuse("selection", "elements", given, "[elements] or [domain] names the elements already; leave it out")
        if given is None and found is None:
            raise self.refuse("elements", "names", None, "name the columns that tell the elements apart")
        return list(given if given is not None else found or ())

    def _scores(
        self, path: Path, table: Table, elements: list[str], candidates: list[str]
    ) -> dict[tuple[int, ...], list[float]]:
        """The scores of each histogram of the public number of records."""
        found: dict[tuple[int, ...], list[float]] = {}
        records = self.data["selection"]["records"]
        for row in range(len(next(iter(table.values()), []))):
            counts = tuple(int(self._cell(path, table, name, row)) for name in elements)
            if sum(counts) != records or min(counts) < 0 or counts in found:
                wrong = "stands there twice" if counts in found else f"is no histogram of {records} records"
                raise self.refuse("selection", "table", path.name, f"row {row + 1}, {counts}, {wrong}; give each one row")
            found[counts] = [self._cell(path, table, name, row) for name in candidates]
        return found

    def _cell(self, path: Path, table: Table, name: str, row: int) -> float:
        value = number_in_file(table[name][row])
        if value is None or not math.isfinite(value) or (name in self._elements() and value != int(value)):
            kind = "whole number" if name in self._elements() else "number"
            raise self.refuse(
                "selection", "table", path.name, f"column {printed(name)}, row {row + 1} is no {kind}; correct it"
            )
        return value


@dataclass(frozen=True, kw_only=True)
class SelectionFile(ProblemFile):
    """A problem file for a choice, whose family is its law. rate: None for the largest that is private."""

    kind = "selection"
    note = "A choice of one of several candidates by a private score."
    reader = SelectionReader
    problem: SelectionProblem
    rate: float | None

    @classmethod
    def form(cls) -> Schema:
        return over_a_relation({"selection": noted(SELECTION_NOTE, either(*SELECTION_FORMS.values()))}, **TABLE_OR_WORKLOAD)

    def make(self, choices: Choices) -> Selection:
        with naming(self.files[0], "selection"):
            asked, law = self.problem, cast(LawName, self.family)
            if self.rate is not None:
                return Selection(asked.score, asked.relation, self.rate, law)
            return best_selection(asked.score, asked.relation, law, asked.constant)

    def listing(self) -> ExpectedValues:
        return listing_of([self.problem.score.workload.keys])

    def description(self) -> Mapping[str, object]:
        return {
            "kind": self.kind,
            "candidates": len(self.problem.score.candidates),
            "elements": self.problem.score.size,
            "score": self.problem.score.sentence(),
            "relation": self.problem.relation.sentence(),
            "law": self.family,
        }

    def accuracy_lines(self, made: Selection) -> list[str]:
        """How far the choice may fall short of the best score, whatever the data."""
        bound = made.shortfall_bound(0.05)
        return [f"Accuracy:    with probability 95 % the score of the choice is at most {bound:.4g} below the best score"]

"""What files for synthetic histograms share: queries over a metric, a public number of records, and [preprocessing]."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from designer.relations.problem import Problem
from designer.files.problem.asked import AskingReader, RECORDS, naming, over_a_metric
from designer.files.problem.linear_request import listing_of
from designer.files.problem.listing import Listing
from designer.files.problem.preprocessing import PREPROCESSING, Preprocessing
from designer.files.problem.request import Request
from designer.mechanisms.synthetic.multiplicative import MWEM
from designer.mechanisms.synthetic.preprocessing import records_of
from designer.mechanisms.synthetic.small_databases import SmallDB
from designer.base.schema import Schema


def synthetic_form(name: str, section: Schema) -> Schema:
    """The sections of a whole file, of which `name` is the mechanism's own."""
    return over_a_metric({"problem": RECORDS}, {name: section, "preprocessing": PREPROCESSING})


@dataclass(frozen=True, kw_only=True)
class SyntheticFile(Request):
    """A synthetic histogram to be made of answers to the queries of a problem."""

    choices = ("solver", "solver_options")
    path: Path
    problem: Problem
    preprocessing: Preprocessing

    @property
    def named_answers(self) -> tuple[str, ...]:
        return self.problem.workload.queries

    def listing(self) -> Listing:
        return listing_of([self.problem.workload.keys])

    def description(self) -> Mapping[str, object]:
        queries, elements = self.problem.workload.shape
        return {
            "kind": self.kind,
            "queries": queries,
            "elements": elements,
            "records": records_of(self.problem),
            "relation": self.problem.relation.sentence(),
            "constant": self.preprocessing.constant,
        }

    def accuracy_lines(self, made: Any) -> list[str]:
        """How far any answer of the synthetic histogram may be off, where a bound is known."""
        assert isinstance(made, (MWEM, SmallDB))
        if isinstance(made, MWEM) and made.output != "average":
            return [f"Accuracy:    no bound is known for output = {made.output!r}; it is often nearer than the average"]
        return [f"Accuracy:    with probability 95 % no answer is further off than {made.bound(0.05):.4g}"]


class SyntheticReader(AskingReader, ABC):
    """One file for a synthetic histogram being read."""

    def problem(self) -> Problem:
        """Queries, metric, and the public number of records."""
        with naming(self.path, "problem"):
            return Problem(self.workload(), self.question.relation(), records=self.data["problem"]["records"])

    def preprocessing(self) -> Preprocessing:
        """Which stand-in queries are asked."""
        with naming(self.path, "preprocessing"):
            return Preprocessing(**self.data.get("preprocessing", {}))

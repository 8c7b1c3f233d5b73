"""Files for SmallDB, one small histogram that answers well: kind = "small_db".

[elements], [domain], [workload], [relation]   as for linear queries; the relation is a metric
[problem]        records = 1000, a public number
[small_db]       size, selection                                          (optional)
[preprocessing]  constant, price, beta, exponent, solver, solver_options  (optional)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from designer.files.problem.asked import naming
from designer.files.problem.kind import Kind
from designer.files.problem.request import Choices
from designer.files.problem.synthetic import SyntheticFile, SyntheticReader, synthetic_form
from designer.mechanisms.synthetic.preprocessing import records_of
from designer.mechanisms.synthetic.releases import LAWS
from designer.mechanisms.synthetic.small_databases import SmallDB
from designer.base.schema import COUNT, Schema, noted, one_of, record

SECTION = record(
    {},
    {
        "size": noted("Synthetic records, before they are scaled up; left out, the number that makes the bound least.", COUNT),
        "selection": noted("How the histogram is chosen.", one_of(*LAWS)),
    },
    note="Which histograms there are to choose from.",
)


@dataclass(frozen=True, kw_only=True)
class SmallDbFile(SyntheticFile):
    """A SmallDB to be made. size: None for the number of synthetic records that makes the bound least."""

    kind = "small_db"
    size: int | None
    selection: str

    def make(self, choices: Choices) -> SmallDB:
        with naming(self.path, self.kind):
            queries, optimality, found = self.preprocessing.queries(self.problem, "small_db", self.size, choices)
            best = self.preprocessing.sizes(self.problem, "small_db").best(queries.constant)
            made = SmallDB(queries, records_of(self.problem), best if self.size is None else self.size, self.selection)
        return made.annotated({**found, "family": self.kind}, optimality)

    def description(self) -> Mapping[str, object]:
        return {**super().description(), "size": self.size or "as many as make the bound least"}


class SmallDbReader(SyntheticReader):
    """One file for a SmallDB being read."""

    def read(self) -> SmallDbFile:
        section = self.data.get(SmallDbFile.kind, {})
        return SmallDbFile(
            title=self.title,
            path=self.path,
            problem=self.problem(),
            preprocessing=self.preprocessing(),
            size=section.get("size"),
            selection=section.get("selection", "exponential"),
            files=self.read_files(),
        )


def small_db_form() -> Schema:
    """The sections of a whole file."""
    return synthetic_form(SmallDbFile.kind, SECTION)


SMALL_DB = Kind("small_db", "A small histogram that answers all queries well, chosen privately.", small_db_form, SmallDbReader)

"""What specs of tables over many attributes say of themselves: marginals, and products of queries."""

from __future__ import annotations

import math

from designer.base.printing import counted
from designer.mechanisms.marginals.mechanism import MarginalMechanism
from designer.mechanisms.products.mechanism import StructuredMechanism
from designer.reports.content import Prose, Sheet
from designer.reports.contributor import ROWS, Contributor, Told
from designer.reports.names import named, verbatim_of
from designer.reports.odds import off_by


class MarginalTables(Contributor[MarginalMechanism]):
    """Noisy marginal tables that agree with each other."""

    def about_whom(self, made: MarginalMechanism) -> str:
        return f"Records with {counted(len(made.workload.domain.attributes), 'attribute')}"

    def published(self, made: MarginalMechanism) -> Told:
        tables, cells = len(made.workload.subsets), int(made.workload.cells.sum())
        sentence = (
            "Each table counts the records by the values of some attributes. All tables come from the same noisy numbers, so "
            "that they agree: totals of one are totals of the others."
        )
        law = Prose(verbatim_of(made.guarantee.mechanism, "guarantee.mechanism"), "note")
        return Told(f"{counted(tables, 'noisy table')} with {counted(cells, 'cell')} in all", sentence, (Prose(sentence), law))

    def accuracy(self, made: MarginalMechanism) -> Told:
        subsets = [made.workload.names(axes) for axes in made.workload.subsets.tuples()[:ROWS]]
        errors = [math.sqrt(float(made.variances(names).max())) for names in subsets]
        cells = [math.prod(made.workload.shape(made.axes(names))) for names in subsets]
        rows = tuple(
            (title(names), f"{size:,}", off_by(error) if error else "0, exact")
            for names, size, error in zip(subsets, cells, errors, strict=True)
        )
        return _told(rows, errors, len(made.workload.subsets), "table")


class ProductQueries(Contributor[StructuredMechanism]):
    """Noisy answers to products of queries of single attributes."""

    def about_whom(self, made: StructuredMechanism) -> str:
        return f"Records with {counted(len(made.workload.domain.attributes), 'attribute')}"

    def published(self, made: StructuredMechanism) -> Told:
        sentence = (
            f"{counted(made.measured, 'noisy whole number')}, from which anybody puts the answers together; each asks how many "
            "records have certain values, or ranges of values, of some attributes."
        )
        terms = counted(len(made.workload.terms), "group")
        law = Prose(verbatim_of(made.guarantee.mechanism, "guarantee.mechanism"), "note")
        return Told(f"{counted(made.workload.count, 'noisy answer')} in {terms}", sentence, (Prose(sentence), law))

    def accuracy(self, made: StructuredMechanism) -> Told:
        names, workload = made.workload.domain.attributes, made.workload
        errors = [math.sqrt(float(e) / n) for e, n in zip(made.term_errors, workload.counts, strict=True)]
        rows = tuple(
            (title(tuple(names[axis] for axis in term)), f"{count:,}", off_by(error) if error else "0, exact")
            for term, count, error in list(zip(workload.terms, workload.counts, errors, strict=True))[:ROWS]
        )
        return _told(rows, errors, len(workload.terms), "group")


def title(attributes: tuple[str, ...]) -> str:
    """The attributes of a table as its name."""
    return " x ".join(map(named, attributes)) or "all records"


def _told(rows: tuple[tuple[str, ...], ...], errors: list[float], tables: int, kind: str) -> Told:
    """The accuracy of tables: the noise of one cell."""
    left_out = (
        f" The first {len(rows):,} of {tables:,} rows; the spec holds what the others follow from."
        if tables > len(rows)
        else ""
    )
    columns = (kind.capitalize(), "numbers in it", "standard error of one number")
    of_all = "root mean square over the group" if kind == "group" else "the largest of the table"
    sheet = Sheet(f"Accuracy of each {kind}", columns, rows, frozenset({1, 2}), f"Standard error: {of_all}.{left_out}")
    least, most = min(errors), max(errors)
    details = (
        f"The noise of a number has a standard error of {off_by(least)} to {off_by(most)}. About 95 % of the time a number is "
        "within two standard errors of the truth."
    )
    return Told(f"standard error {off_by(most)} at most", details, (Prose(details), sheet))

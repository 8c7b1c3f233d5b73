"""What specs of tables over many attributes say of themselves: marginals, and products of queries."""

from __future__ import annotations

import math
from collections.abc import Mapping

from designer.base.printing import counted
from designer.mechanisms.marginals.mechanism import THEOREM as OF_MARGINALS
from designer.mechanisms.marginals.mechanism import MarginalMechanism
from designer.mechanisms.products.mechanism import THEOREM as OF_PRODUCTS
from designer.mechanisms.products.mechanism import StructuredMechanism
from designer.reports.content import Prose, Sheet
from designer.reports.contributor import POISSON, ROWS, Contributor, ProofSketch, Told
from designer.reports.names import named, verbatim_of
from designer.reports.odds import off_by

OF_PRODUCT_QUERIES: Mapping[str, ProofSketch] = {
    OF_PRODUCTS["gaussian"]: ProofSketch(
        "For a protected change of budget b the outputs before and after have a Renyi divergence of at most a b^2 / 2, for "
        "every order a above 1.",
        (
            "Measured are integer combinations of counts, each with its own discrete normal noise. A record moves them by "
            "whole numbers, which the noise can make up.",
            POISSON,
            "For independent noise divergences add up: a / 2 times the sum, over all measured numbers, of (how far a change "
            "moves it)^2 over its variance.",
            "How far one record moves a product of attributes is the product of how far it moves each attribute. So the "
            "largest sum over all records is found attribute by attribute; the certificate computes it in fractions, at most "
            "b^2.",
        ),
        "docs/theory/structured.md, section 2",
    ),
    OF_PRODUCTS["laplace"]: ProofSketch(
        "No output is more than exp(b) times as likely after a protected change of budget b as before it.",
        (
            "Measured are integer combinations of counts, each with its own noise: the whole number k with a probability of c "
            "times exp(-rate times |k|). A record moves them by whole numbers, which the noise can make up.",
            "A shift by u changes one such probability by a factor of at most exp(rate times |u|), because |k + u| is at most "
            "|k| + |u|; factors of independent numbers multiply, so exponents add up.",
            "How far one record moves a product of attributes is the product of how far it moves each attribute. So the "
            "largest sum over all records is found attribute by attribute; the certificate computes it in fractions, at most "
            "b.",
        ),
        "docs/theory/structured.md, section 2",
    ),
}
OF_MARGINAL_TABLES: Mapping[str, ProofSketch] = {
    OF_MARGINALS: ProofSketch(
        "For a protected change of budget b the outputs before and after have a Renyi divergence of at most a b^2 / 2, for "
        "every order a above 1.",
        (
            "Each table is cut into what smaller tables do not tell: whole-number differences of counts along its attributes. "
            "These get discrete normal noise, and all tables are put together again from the same noisy numbers.",
            "A protected change moves the differences by whole numbers, which the noise can make up.",
            POISSON,
            "Noise of different parts is independent, so divergences add up, to a / 2 times a sum of squares. The certificate "
            "computes that sum for each kind of change in fractions, and finds it at most b^2; changes of several attributes "
            "follow from single ones.",
        ),
        "docs/theory/marginals.md, section 2",
    ),
}


class MarginalTables(Contributor[MarginalMechanism]):
    """Noisy marginal tables that agree with each other."""

    sketches = OF_MARGINAL_TABLES

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

    sketches = OF_PRODUCT_QUERIES

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

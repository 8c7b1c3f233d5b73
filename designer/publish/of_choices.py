"""What specs that choose say of themselves: selections, the test of an odds ratio, synthetic data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

from designer.accounts.composition.terms import cost_of_budget
from designer.base.display import counted
from designer.publish.content import Piece, Prose, Sheet, named, some, verbatim_of
from designer.publish.contributor import ROWS, Contributor, ProofSketch, Topic, listed
from designer.publish.meanings import Meaning, above, off_by, percent
from designer.tradeoff.costs import Cost

if TYPE_CHECKING:
    from designer.domains.marginals import MarginalMechanism
    from designer.domains.mechanism import DomainMechanism
    from designer.domains.products import StructuredMechanism
    from designer.local.mechanism import Channel
    from designer.odds_ratio.mechanism import OddsRatioTest
    from designer.selection.mechanism import Selection
    from designer.synthetic.multiplicative import MWEM
    from designer.synthetic.small_databases import SmallDB

D = TypeVar("D", "MWEM", "SmallDB")

OF_SELECTED = ProofSketch(
    "No candidate is more than exp(b) times as likely to be chosen after a protected change of budget b as before it.",
    "docs/theory/selection.md, section 2",
)
OF_SYNTHESISED = ProofSketch(
    "No run is more than exp(b) times as likely after a protected change of budget b as before it.",
    "docs/theory/synthetic.md, section 2",
)
OF_TESTS = ProofSketch(
    "Telling two tables apart that have the same margins and differ by the stated number of records is at least as hard as "
    "the stated tradeoff function says.",
    "docs/theory/tradeoff.md, section 7",
)


class SelectedCandidates(Contributor["Selection"]):
    """One of several public candidates, of a high score more likely than of a low one."""

    def sketches(self) -> Mapping[str, ProofSketch]:
        from designer.selection.mechanism import THEOREM

        return {THEOREM: OF_SELECTED}

    def elements(self, made: Selection) -> Sequence[str]:
        return made.workload.elements

    def about_whom(self, made: Selection) -> str:
        return "Records that a public score is computed from"

    def published(self, made: Selection) -> Topic:
        sentence = (
            f"The name of one candidate, and no number; the score is "
            f"{verbatim_of(made.score.sentence(), 'guarantee.mechanism')}."
        )
        first = listed(made.score.candidates, "candidates")
        return Topic(f"One of {counted(len(made.score.candidates), 'candidate')}", sentence, (Prose(sentence), *first))

    def accuracy(self, made: Selection) -> Topic:
        bound = made.shortfall_bound(0.05)
        details = (
            f"95 % of the time the score of the chosen candidate is at most {above(bound)} below the best score, whatever the "
            "data are."
        )
        return Topic(f"within {above(bound)} of the best score", details, (Prose(details),))

    def open_points(self, made: Selection) -> tuple[str, ...]:
        return ("Whether the candidates and their targets were chosen without looking at the data.",)


class TestsOfOddsRatios(Contributor["OddsRatioTest"]):
    """A test of an odds ratio with published margins."""

    __test__ = False  # no test of pytest's

    def sketches(self) -> Mapping[str, ProofSketch]:
        from designer.odds_ratio.mechanism import THEOREM

        return {THEOREM: OF_TESTS}

    def about_whom(self, made: OddsRatioTest) -> str:
        total = sum(made.margins.rows)
        return f"{counted(total, 'record')} with two answers each, in a table of two rows and two columns"

    def published(self, made: OddsRatioTest) -> Topic:
        sentence = (
            "One noisy count, from which p-values and limits for the odds ratio follow. The sums of rows and columns are exact."
        )
        return Topic("One noisy count of a table of two rows and two columns", sentence, (Prose(sentence),))

    def accuracy(self, made: OddsRatioTest) -> Topic:
        deviation = made.law.standard_deviation()
        if deviation is None:
            told = "The noise has no finite standard error; p-values and limits take its law into account."
            return Topic("p-values are valid for every table", told, (Prose(told),))
        details = (
            f"The noise of the count has a standard error of {above(deviation)}. P-values and limits take the noise into "
            "account: they are valid for every table with these margins."
        )
        return Topic(f"standard error {above(deviation)} of the count", details, (Prose(details),))

    def rows(self, made: OddsRatioTest, bound: int | None = None) -> list[tuple[Meaning, Cost | None]]:
        """A tradeoff function has no budget of its own: what it costs is its epsilon, or that of its rho."""
        cost = cost_of_budget(made, Fraction(1))
        budget = cost.epsilon if cost.epsilon is not None else Fraction(math.isfinite(cost.rho or 0)) * (cost.rho or 0)
        words = f"at most {counted(made.adjacency, 'record')} have other values, and all sums of rows and columns stay"
        return [(Meaning(words, budget), cost)]


class Synthesised(Contributor[D]):
    """A made-up table that answers the queries nearly as the true one does."""

    def sketches(self) -> Mapping[str, ProofSketch]:
        from designer.synthetic.queries import THEOREM

        return {THEOREM: OF_SYNTHESISED}

    def elements(self, made: D) -> Sequence[str]:
        return made.queries.workload.elements

    def about_whom(self, made: D) -> str:
        return (
            f"{counted(made.records, 'record')}, a public number, each with one of {counted(len(self.elements(made)), 'value')}"
        )

    def published(self, made: D) -> Topic:
        queries = made.queries.workload.queries
        sentence = (
            f"A table of made-up counts of {counted(len(self.elements(made)), 'value')}, and its answers to "
            f"{counted(len(queries), 'query', 'queries')} ({some(queries)}). No record in it is one of the data."
        )
        return Topic("A synthetic table", sentence, (Prose(sentence),))

    def accuracy(self, made: D) -> Topic:
        bound, trivial = made.bound(0.05), made.records * made.queries.spread
        if not made.proves_bound:
            details = (
                f"Of the mean over all rounds no answer is further off than {above(bound)}, 95 % of the time; for the output "
                "that this spec releases nothing is proven."
            )
            return Topic("nothing is proven of this output", details, (Prose(details),))
        details = (
            f"95 % of the time no answer of the synthetic table is further off than {above(bound)}, whatever the data are."
        )
        if bound >= trivial:
            details += (
                f" Any table with the right number of records is within {above(trivial)}, so this bound tells nothing; "
                "answers may be far better than it."
            )
            return Topic("no bound that tells anything is proven", details, (Prose(details),))
        return Topic(f"every answer within {above(bound)}", details, (Prose(details),))


class SynthesisedInRounds(Synthesised["MWEM"]):
    """The same, learnt in rounds."""

    def certificate(self, made: MWEM) -> tuple[Piece, ...]:
        shares = Prose(f"The budgets are shared out over {counted(made.rounds, 'round')}; no share is spent twice.", "note")
        return (*super().certificate(made), shares)


# What specs of one person's own report say of themselves.


OF_CHANNELS = ProofSketch(
    "No report is more than exp(b) times as likely from one value as from another, b the budget of the two values.",
    "docs/theory/own_reports.md, section 1",
)


class OwnReports(Contributor["Channel"]):
    """A report that each person draws alone."""

    def sketches(self) -> Mapping[str, ProofSketch]:
        from designer.local.mechanism import THEOREM

        return {THEOREM: OF_CHANNELS}

    def elements(self, made: Channel) -> Sequence[str]:
        return tuple(map(str, made.elements))

    def about_whom(self, made: Channel) -> str:
        return f"Persons who each report once, each with one of {counted(len(made.elements), 'value')}"

    def published(self, made: Channel) -> Topic:
        sentence = (
            f"One of {counted(len(made.reports), 'report')} from each person, drawn on that person's side: no trusted party "
            "sees the value."
        )
        first = listed(tuple(map(str, made.reports)), "reports")
        return Topic(f"One of {counted(len(made.reports), 'report')} for each person", sentence, (Prose(sentence), *first))

    def accuracy(self, made: Channel) -> Topic:
        guess, before = made.best_guess, float(made.prior.max())
        details = (
            f"On average over the stated prior a report loses {above(made.loss)}, and over the worst value "
            f"{above(made.worst_loss)}, in the losses that the channel was designed for."
        )
        attacker = (
            f"Who knows the prior and sees one report guesses the value in at most {percent(guess)} of all cases; without the "
            f"report, in {percent(before)}."
        )
        return Topic(f"a loss of {above(made.loss)} on average", details, (Prose(details), Prose(attacker)))

    def open_points(self, made: Channel) -> tuple[str, ...]:
        return (
            "Whether each person reports once: a second report of the same person costs the same budget again.",
            "Whether the prior and the losses were chosen without looking at the data.",
        )


# What specs of tables over many attributes say of themselves: marginals, and products of queries.


OF_PRODUCT_QUERIES: Mapping[str, ProofSketch] = {
    "gaussian": ProofSketch(
        "For a protected change of budget b the outputs before and after have a Renyi divergence of at most a b^2 / 2, for "
        "every order a above 1.",
        "docs/theory/structured.md, section 2",
    ),
    "laplace": ProofSketch(
        "No output is more than exp(b) times as likely after a protected change of budget b as before it.",
        "docs/theory/structured.md, section 2",
    ),
}
OF_MARGINAL_TABLES = ProofSketch(
    "For a protected change of budget b the outputs before and after have a Renyi divergence of at most a b^2 / 2, for "
    "every order a above 1.",
    "docs/theory/marginals.md, section 2",
)


class MarginalTables(Contributor["MarginalMechanism"]):
    """Noisy marginal tables that agree with each other."""

    def sketches(self) -> Mapping[str, ProofSketch]:
        from designer.domains.marginals import THEOREM

        return {THEOREM: OF_MARGINAL_TABLES}

    def about_whom(self, made: MarginalMechanism) -> str:
        return _attributes_of(made)

    def published(self, made: MarginalMechanism) -> Topic:
        tables, cells = len(made.workload.subsets), int(made.workload.cells.sum())
        sentence = (
            "Each table counts the records by the values of some attributes. All tables come from the same noisy numbers, so "
            "that they agree: totals of one are totals of the others."
        )
        return Topic(f"{counted(tables, 'noisy table')} with {counted(cells, 'cell')} in all", sentence, (Prose(sentence),))

    def accuracy(self, made: MarginalMechanism) -> Topic:
        variances = [made.variances_of(place) for place in range(min(ROWS, len(made.workload.subsets)))]
        errors, sizes = [math.sqrt(float(own.max())) for own in variances], [own.size for own in variances]
        return _accuracy_of_tables(made, sizes, errors, len(made.workload.subsets), "table")


class ProductQueries(Contributor["StructuredMechanism"]):
    """Noisy answers to products of queries of single attributes."""

    def sketches(self) -> Mapping[str, ProofSketch]:
        from designer.domains.products import THEOREM

        return {THEOREM[law]: sketch for law, sketch in OF_PRODUCT_QUERIES.items()}

    def about_whom(self, made: StructuredMechanism) -> str:
        return _attributes_of(made)

    def published(self, made: StructuredMechanism) -> Topic:
        sentence = (
            f"{counted(made.measured, 'noisy whole number')}, from which anybody puts the answers together; each asks how many "
            "records have certain values, or ranges of values, of some attributes."
        )
        terms = counted(len(made.workload.terms), "group")
        return Topic(f"{counted(made.workload.count, 'noisy answer')} in {terms}", sentence, (Prose(sentence),))

    def accuracy(self, made: StructuredMechanism) -> Topic:
        sizes = made.workload.counts
        errors = [math.sqrt(float(e) / n) for e, n in zip(made.term_errors, sizes, strict=True)]
        return _accuracy_of_tables(made, sizes, errors, len(sizes), "group")


def _attributes_of(made: DomainMechanism[Any, Any]) -> str:
    return f"Records with {counted(len(made.workload.domain.attributes), 'attribute')}"


def _accuracy_of_tables(
    made: DomainMechanism[Any, Any], sizes: Sequence[int], errors: list[float], tables: int, kind: str
) -> Topic:
    """The accuracy of tables, whose name is that of their attributes: the noise of one cell."""
    rows = tuple(
        (" x ".join(map(named, made.workload.names_of(k))) or "all records", f"{size:,}", off_by(e) if e else "0, exact")
        for k, (size, e) in enumerate(zip(sizes[:ROWS], errors[:ROWS], strict=True))
    )
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
    return Topic(f"standard error {off_by(most)} at most", details, (Prose(details), sheet))

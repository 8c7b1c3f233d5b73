"""What specs that choose say of themselves: selections, the test of an odds ratio, synthetic data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

from designer.accounts.composition.terms import cost_of_budget
from designer.base.display import counted
from designer.publish.content import Piece, Prose, Sheet, named, some, verbatim_of
from designer.publish.contributor import POISSON, ROWS, Contributor, ProofSketch, Topic, listed
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
    (
        "A candidate is chosen with a probability of exp(rate times its score), over the sum of these numbers of all "
        "candidates.",
        "A protected change moves the scores by some numbers v. It multiplies the numerator by exp(rate times its own v), "
        "and the sum by something between exp(rate times the least v) and exp(rate times the largest v).",
        "So the probability changes by a factor of at most exp(rate times (largest v - least v)). Permute-and-flip has the "
        "law of the largest of score plus independent exponential noise, and the same factor is proven for that.",
        "The certificate computes largest less least for every protected change, and finds rate times it at most b.",
    ),
    "docs/theory/selection.md, section 2",
)
OF_SYNTHESISED = ProofSketch(
    "No run is more than exp(b) times as likely after a protected change of budget b as before it.",
    (
        "The certificate shows that one record that changes from i to j moves the answer of query k by at most c_k times "
        "its budget d(i, j).",
        "The data are touched in at most two ways. Something is chosen by how far answers are off, be it a query or one of "
        "many small tables: such scores move by no more than the answers, so a choice of rate s / (2 c) costs s d(i, j). "
        "And answers may be measured, with discrete Laplace noise of rate s / c_k, which costs s d(i, j) as well.",
        "Each step may depend on what came out before. For any outputs so far, the factor of the next step is as above; "
        "factors multiply, so the shares s add up, and all shares together are at most 1.",
        "The made-up table is computed from the choices and the noisy answers alone, and keeps the promise.",
    ),
    "docs/theory/synthetic.md, section 2",
)
OF_TESTS = ProofSketch(
    "Telling two tables apart that have the same margins and differ by the stated number of records is at least as hard as "
    "the stated tradeoff function says.",
    (
        "With the sums of rows and columns fixed, a table of two rows and two columns is known from one cell. Few records "
        "that change, with all sums kept, move that cell by at most 1.",
        "The tradeoff function f says how many misses a test must have that has so many false alarms. The noise is "
        "canonical for it: its distribution function F satisfies F(x) = f(F(x + 1)), which says that telling a shift by 1 "
        "apart is exactly as hard as f allows.",
        "A smaller shift is no easier to tell, so every protected change is as hard to tell as f says.",
        "P-values and limits are computed from the noisy cell and the published sums alone, and keep the promise.",
    ),
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
        law = Prose(verbatim_of(made.guarantee.mechanism, "guarantee.mechanism"), "note")
        first = listed(made.score.candidates, "candidates")
        return Topic(f"One of {counted(len(made.score.candidates), 'candidate')}", sentence, (Prose(sentence), *first, law))

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
        law = Prose(verbatim_of(made.guarantee.mechanism, "guarantee.mechanism"), "note")
        return Topic("One noisy count of a table of two rows and two columns", sentence, (Prose(sentence), law))

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
        law = Prose(verbatim_of(made.guarantee.mechanism, "guarantee.mechanism"), "note")
        return Topic("A synthetic table", sentence, (Prose(sentence), law))

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
    (
        "Each value has its own row of probabilities, one for each report, in whole numbers over one denominator.",
        "For two values and every report, the certificate multiplies the smaller number by a fraction that is proven to "
        "be at most exp(b), and finds the product at least as large as the other number. No rounding enters.",
        "Where one budget is the sum of others, the two comparisons follow one another and their factors multiply.",
        "A report is drawn with exactly these probabilities, so nobody who sees it can shift odds by more, whatever they "
        "knew before.",
    ),
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
        law = Prose(verbatim_of(made.guarantee.mechanism, "guarantee.mechanism"), "note")
        first = listed(tuple(map(str, made.reports)), "reports")
        return Topic(f"One of {counted(len(made.reports), 'report')} for each person", sentence, (Prose(sentence), *first, law))

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
    "laplace": ProofSketch(
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
OF_MARGINAL_TABLES = ProofSketch(
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
        return _law_of(made, f"{counted(tables, 'noisy table')} with {counted(cells, 'cell')} in all", sentence)

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
        return _law_of(made, f"{counted(made.workload.count, 'noisy answer')} in {terms}", sentence)

    def accuracy(self, made: StructuredMechanism) -> Topic:
        sizes = made.workload.counts
        errors = [math.sqrt(float(e) / n) for e, n in zip(made.term_errors, sizes, strict=True)]
        return _accuracy_of_tables(made, sizes, errors, len(sizes), "group")


def _attributes_of(made: DomainMechanism[Any, Any]) -> str:
    return f"Records with {counted(len(made.workload.domain.attributes), 'attribute')}"


def _law_of(made: DomainMechanism[Any, Any], answer: str, sentence: str) -> Topic:
    """What is published, with the law of its noise."""
    law = Prose(verbatim_of(made.guarantee.mechanism, "guarantee.mechanism"), "note")
    return Topic(answer, sentence, (Prose(sentence), law))


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

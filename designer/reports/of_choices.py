"""What specs that choose say of themselves: selections, the test of an odds ratio, synthetic data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from designer.accounts.together.costs import Cost
from designer.accounts.together.terms import cost_of_budget
from designer.base.printing import counted
from designer.mechanisms.choice.mechanism import Selection
from designer.mechanisms.odds_ratio.mechanism import OddsRatioTest
from designer.mechanisms.synthetic.multiplicative import MWEM
from designer.mechanisms.synthetic.small_databases import SmallDB
from designer.reports.content import Piece, Prose
from designer.reports.contributor import Contributor, Told, listed
from designer.reports.meanings import Meaning
from designer.reports.names import some, verbatim_of
from designer.reports.odds import above


class SelectedCandidates(Contributor[Selection]):
    """One of several public candidates, of a high score more likely than of a low one."""

    def elements(self, made: Selection) -> Sequence[str]:
        return made.workload.elements

    def about_whom(self, made: Selection) -> str:
        return "Records that a public score is computed from"

    def published(self, made: Selection) -> Told:
        sentence = (
            f"The name of one candidate, and no number; the score is "
            f"{verbatim_of(made.score.sentence(), 'guarantee.mechanism')}."
        )
        law = Prose(verbatim_of(made.guarantee.mechanism, "guarantee.mechanism"), "note")
        first = listed(made.score.candidates, "candidates")
        return Told(f"One of {counted(len(made.score.candidates), 'candidate')}", sentence, (Prose(sentence), *first, law))

    def accuracy(self, made: Selection) -> Told:
        bound = made.shortfall_bound(0.05)
        details = (
            f"95 % of the time the score of the chosen candidate is at most {above(bound)} below the best score, whatever the "
            "data are."
        )
        return Told(f"within {above(bound)} of the best score", details, (Prose(details),))

    def open_points(self, made: Selection) -> tuple[str, ...]:
        return ("Whether the candidates and their targets were chosen without looking at the data.",)


class TestsOfOddsRatios(Contributor[OddsRatioTest]):
    """A test of an odds ratio with published margins."""

    __test__ = False  # no test of pytest's

    def about_whom(self, made: OddsRatioTest) -> str:
        total = sum(made.margins.rows)
        return f"{counted(total, 'record')} with two answers each, in a table of two rows and two columns"

    def published(self, made: OddsRatioTest) -> Told:
        sentence = (
            "One noisy count, from which p-values and limits for the odds ratio follow. The sums of rows and columns are exact."
        )
        law = Prose(verbatim_of(made.guarantee.mechanism, "guarantee.mechanism"), "note")
        return Told("One noisy count of a table of two rows and two columns", sentence, (Prose(sentence), law))

    def accuracy(self, made: OddsRatioTest) -> Told:
        deviation = made.law.standard_deviation()
        if deviation is None:
            told = "The noise has no finite standard error; p-values and limits take its law into account."
            return Told("p-values are valid for every table", told, (Prose(told),))
        details = (
            f"The noise of the count has a standard error of {above(deviation)}. P-values and limits take the noise into "
            "account: they are valid for every table with these margins."
        )
        return Told(f"standard error {above(deviation)} of the count", details, (Prose(details),))

    def rows(self, made: OddsRatioTest) -> list[tuple[Meaning, Cost | None]]:
        """A tradeoff function has no budget of its own: what it costs is its epsilon, or that of its rho."""
        cost = cost_of_budget(made, Fraction(1))
        budget = cost.epsilon if cost.epsilon is not None else Fraction(math.isfinite(cost.rho or 0)) * (cost.rho or 0)
        words = f"at most {counted(made.adjacency, 'record')} have other values, and all sums of rows and columns stay"
        return [(Meaning(words, budget), cost)]


class Synthesised(Contributor[MWEM | SmallDB]):
    """A made-up table that answers the queries nearly as the true one does."""

    def elements(self, made: MWEM | SmallDB) -> Sequence[str]:
        return made.queries.workload.elements

    def about_whom(self, made: MWEM | SmallDB) -> str:
        return (
            f"{counted(made.records, 'record')}, a public number, each with one of {counted(len(self.elements(made)), 'value')}"
        )

    def published(self, made: MWEM | SmallDB) -> Told:
        queries = made.queries.workload.queries
        sentence = (
            f"A table of made-up counts of {counted(len(self.elements(made)), 'value')}, and its answers to "
            f"{counted(len(queries), 'query', 'queries')} ({some(queries)}). No record in it is one of the data."
        )
        law = Prose(verbatim_of(made.guarantee.mechanism, "guarantee.mechanism"), "note")
        return Told("A synthetic table", sentence, (Prose(sentence), law))

    def accuracy(self, made: MWEM | SmallDB) -> Told:
        bound, trivial = made.bound(0.05), made.records * made.queries.spread
        if isinstance(made, MWEM) and made.output != "average":
            details = (
                f"Of the mean over all rounds no answer is further off than {above(bound)}, 95 % of the time; for the output "
                "that this spec releases nothing is proven."
            )
            return Told("nothing is proven of this output", details, (Prose(details),))
        details = (
            f"95 % of the time no answer of the synthetic table is further off than {above(bound)}, whatever the data are."
        )
        if bound >= trivial:
            details += (
                f" Any table with the right number of records is within {above(trivial)}, so this bound tells nothing; "
                "answers may be far better than it."
            )
            return Told("no bound that tells anything is proven", details, (Prose(details),))
        return Told(f"every answer within {above(bound)}", details, (Prose(details),))

    def certificate(self, made: MWEM | SmallDB) -> tuple[Piece, ...]:
        shares = (
            (Prose(f"The budgets are shared out over {counted(made.rounds, 'round')}; no share is spent twice.", "note"),)
            if isinstance(made, MWEM)
            else ()
        )
        return (*super().certificate(made), *shares)

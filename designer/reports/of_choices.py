"""What specs that choose say of themselves: selections, the test of an odds ratio, synthetic data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TypeVar

from designer.accounts.together.terms import cost_of_budget
from designer.base.printing import counted
from designer.mechanisms.choice.mechanism import THEOREM as OF_SELECTIONS
from designer.mechanisms.choice.mechanism import Selection
from designer.mechanisms.odds_ratio.mechanism import THEOREM as OF_ODDS_RATIOS
from designer.mechanisms.odds_ratio.mechanism import OddsRatioTest
from designer.mechanisms.synthetic.lipschitz_queries import THEOREM as OF_SYNTHETIC_DATA
from designer.mechanisms.synthetic.multiplicative import MWEM
from designer.mechanisms.synthetic.small_databases import SmallDB
from designer.promises.costs import Cost
from designer.reports.content import Piece, Prose
from designer.reports.contributor import Contributor, ProofSketch, Told, listed
from designer.reports.meanings import Meaning
from designer.reports.names import some, verbatim_of
from designer.reports.odds import above

D = TypeVar("D", MWEM, SmallDB)

OF_SELECTED: Mapping[str, ProofSketch] = {
    OF_SELECTIONS: ProofSketch(
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
    ),
}
OF_SYNTHESISED: Mapping[str, ProofSketch] = {
    OF_SYNTHETIC_DATA: ProofSketch(
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
    ),
}
OF_TESTS: Mapping[str, ProofSketch] = {
    OF_ODDS_RATIOS: ProofSketch(
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
    ),
}


class SelectedCandidates(Contributor[Selection]):
    """One of several public candidates, of a high score more likely than of a low one."""

    sketches = OF_SELECTED

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

    sketches = OF_TESTS

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

    def rows(self, made: OddsRatioTest, bound: int | None = None) -> list[tuple[Meaning, Cost | None]]:
        """A tradeoff function has no budget of its own: what it costs is its epsilon, or that of its rho."""
        cost = cost_of_budget(made, Fraction(1))
        budget = cost.epsilon if cost.epsilon is not None else Fraction(math.isfinite(cost.rho or 0)) * (cost.rho or 0)
        words = f"at most {counted(made.adjacency, 'record')} have other values, and all sums of rows and columns stay"
        return [(Meaning(words, budget), cost)]


class Synthesised(Contributor[D]):
    """A made-up table that answers the queries nearly as the true one does."""

    sketches = OF_SYNTHESISED

    def elements(self, made: D) -> Sequence[str]:
        return made.queries.workload.elements

    def about_whom(self, made: D) -> str:
        return (
            f"{counted(made.records, 'record')}, a public number, each with one of {counted(len(self.elements(made)), 'value')}"
        )

    def published(self, made: D) -> Told:
        queries = made.queries.workload.queries
        sentence = (
            f"A table of made-up counts of {counted(len(self.elements(made)), 'value')}, and its answers to "
            f"{counted(len(queries), 'query', 'queries')} ({some(queries)}). No record in it is one of the data."
        )
        law = Prose(verbatim_of(made.guarantee.mechanism, "guarantee.mechanism"), "note")
        return Told("A synthetic table", sentence, (Prose(sentence), law))

    def accuracy(self, made: D) -> Told:
        bound, trivial = made.bound(0.05), made.records * made.queries.spread
        if not made.proves_bound:
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


class SynthesisedInRounds(Synthesised[MWEM]):
    """The same, learnt in rounds."""

    def certificate(self, made: MWEM) -> tuple[Piece, ...]:
        shares = Prose(f"The budgets are shared out over {counted(made.rounds, 'round')}; no share is spent twice.", "note")
        return (*super().certificate(made), shares)

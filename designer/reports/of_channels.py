"""What specs of one person's own report say of themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from designer.base.printing import counted
from designer.mechanisms.channel.mechanism import THEOREM, Channel
from designer.reports.content import Prose
from designer.reports.contributor import Contributor, ProofSketch, Told, listed
from designer.reports.names import verbatim_of
from designer.reports.odds import above, percent

OF_CHANNELS: Mapping[str, ProofSketch] = {
    THEOREM: ProofSketch(
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
    ),
}


class OwnReports(Contributor[Channel]):
    """A report that each person draws alone."""

    sketches = OF_CHANNELS

    def elements(self, made: Channel) -> Sequence[str]:
        return tuple(map(str, made.elements))

    def about_whom(self, made: Channel) -> str:
        return f"Persons who each report once, each with one of {counted(len(made.elements), 'value')}"

    def published(self, made: Channel) -> Told:
        sentence = (
            f"One of {counted(len(made.reports), 'report')} from each person, drawn on that person's side: no trusted party "
            "sees the value."
        )
        law = Prose(verbatim_of(made.guarantee.mechanism, "guarantee.mechanism"), "note")
        first = listed(tuple(map(str, made.reports)), "reports")
        return Told(f"One of {counted(len(made.reports), 'report')} for each person", sentence, (Prose(sentence), *first, law))

    def accuracy(self, made: Channel) -> Told:
        guess, before = made.best_guess, float(made.prior.max())
        details = (
            f"On average over the stated prior a report loses {above(made.loss)}, and over the worst value "
            f"{above(made.worst_loss)}, in the losses that the channel was designed for."
        )
        attacker = (
            f"Who knows the prior and sees one report guesses the value in at most {percent(guess)} of all cases; without the "
            f"report, in {percent(before)}."
        )
        return Told(f"a loss of {above(made.loss)} on average", details, (Prose(details), Prose(attacker)))

    def open_points(self, made: Channel) -> tuple[str, ...]:
        return (
            "Whether each person reports once: a second report of the same person costs the same budget again.",
            "Whether the prior and the losses were chosen without looking at the data.",
        )

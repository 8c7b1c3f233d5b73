"""What specs of noise around linear queries say of themselves: additive, staircase, lattice and row mechanisms."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from designer.additive.interface import Mechanism
from designer.additive.report_lines import delta_words
from designer.errors import DesignFailed, InvalidProblem
from designer.lattice.mechanism import LatticeMechanism
from designer.reports.content import Entries, Piece, Prose, Sheet
from designer.reports.contributor import Contributor, Told, listed, shown_rows
from designer.reports.names import named, verbatim_of
from designer.reports.odds import above
from designer.values.arrays import Floats
from designer.values.printing import counted

REST = "All of them stand on the page in Markdown: dp-designer report SPEC."


class LinearQueries(Contributor[Mechanism]):
    """Noisy answers to listed queries."""

    def elements(self, made: Mechanism) -> Sequence[str]:
        return made.workload.elements

    def published(self, made: Mechanism) -> Told:
        queries, elements = made.workload.shape
        exact = f", {counted(len(made.exact), 'of them', 'of them')} without any noise" if made.exact else ""
        table = f" The whole table of {elements:,} counts is released, too." if isinstance(made, LatticeMechanism) else ""
        sentence = f"Each answer is a sum over {elements:,} counts of records, with fixed public weights, plus noise.{table}"
        first = listed(made.workload.queries, "answers")
        law = Prose(verbatim_of(made.guarantee.mechanism, "guarantee.mechanism"), "note")
        return Told(f"{counted(queries, 'noisy answer')}{exact}", sentence, (Prose(sentence), *first, law))

    def accuracy(self, made: Mechanism) -> Told:
        errors = _standard_errors(made)
        margins, reason = _margins(made)
        noisy = np.flatnonzero(errors > 0)
        sheet = _accuracy_sheet(made, errors, margins)
        if not len(noisy):
            return Told("Exact: no answer gets any noise", "", (sheet,))
        if margins is None:
            details = (
                f"Standard errors are up to {above(errors.max())}. How far off an answer is 95 % of the time is not proven: "
                f"{named(reason, 300)}"
            )
            return Told(
                f"standard error {above(np.median(errors[noisy]))} of a typical answer", details, (Prose(details), sheet)
            )
        typical, worst = np.median(margins[noisy]), int(noisy[np.argmax(margins[noisy])])
        if above(typical) == above(margins[worst]):
            details = f"95 % of the time an answer is at most {above(typical)} off, whichever it is."
            return Told(f"±{above(typical)}{_unit(made)} for each answer", details, (Prose(details), sheet))
        details = (
            f"95 % of the time an answer is at most {above(typical)} off (the median of all answers); for the least accurate, "
            f"{named(made.workload.queries[worst])}, {above(margins[worst])}."
        )
        return Told(f"±{above(typical)}{_unit(made)} for a typical answer", details, (Prose(details), sheet))

    def certificate(self, made: Mechanism) -> tuple[Piece, ...]:
        (pairs,) = super().certificate(made)
        assert isinstance(pairs, Entries)
        told = [("Norm ball", made.ball_words)] if made.ball_words else []
        spent = delta_words(made).strip()
        return (Entries((*pairs.rows, *told, *([("Delta", spent)] if spent else []))),)

    def open_points(self, made: Mechanism) -> tuple[str, ...]:
        if isinstance(made, LatticeMechanism) and made.chain is not None:
            return (
                "The noise comes from a random walk that is stopped. How near its law is to the promised one is an estimate "
                "from statistics of that walk, and no proof.",
            )
        return ()


def _unit(made: Mechanism, query: str = "") -> str:
    """What the maker says that answers are counted in, behind a number; nothing where that is not said."""
    unit = made.about.unit(query)
    return f" {named(unit)}" if unit else ""


def _standard_errors(made: Mechanism) -> Floats:
    """Standard deviations of the noise in the answers, (K,), simulated where no closed form and no bound is known."""
    try:
        return np.asarray(made.standard_errors(), dtype=np.float64)
    except (DesignFailed, InvalidProblem):
        return np.asarray(np.sqrt(made.query_variances()), dtype=np.float64)


def _margins(made: Mechanism) -> tuple[Floats | None, str]:
    """What the noise of each answer stays below 95 % of the time, (K,); None with the reason where nothing is proven."""
    try:
        return np.asarray(made.margins(), dtype=np.float64), ""
    except (DesignFailed, InvalidProblem) as refusal:
        return None, str(refusal)


def _accuracy_sheet(made: Mechanism, errors: Floats, margins: Floats | None) -> Sheet:
    """A row for each query. errors, margins: (K,)."""
    within = [math.nan] * len(errors) if margins is None else margins.tolist()
    rows = [
        (named(name), above(error), "not proven" if math.isnan(margin) else f"±{above(margin)}{_unit(made, name)}")
        if error > 0
        else (named(name), "0", "exact, no noise")
        for name, error, margin in zip(made.workload.queries, errors.tolist(), within, strict=True)
    ]
    shown, left_out = shown_rows(rows, REST)
    columns = ("Answer", "standard error", "off by at most, 95 % of the time")
    drawn = made.simulated_draws
    source = f" Standard errors are simulated with {drawn:,} draws." if drawn else ""
    return Sheet("Accuracy of each answer", columns, shown, frozenset({1, 2}), f"{left_out}{source}".strip())

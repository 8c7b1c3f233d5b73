"""What specs of noise around linear queries say of themselves: additive, staircase, lattice and row mechanisms."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from designer.base.arrays import Floats
from designer.base.errors import DesignFailed, InvalidProblem
from designer.base.printing import counted
from designer.mechanisms.additive.interface import Mechanism
from designer.mechanisms.additive.report_lines import delta_words
from designer.mechanisms.lattice.mechanism import LatticeMechanism
from designer.problem.relation import Indices
from designer.reports.content import Entries, Piece, Prose, Sheet
from designer.reports.contributor import Contributor, Told, listed, shown_rows
from designer.reports.names import named, verbatim_of
from designer.reports.odds import off_by

MOST_UNITS = 3  # of the first screen
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
            details = f"How far off an answer is 95 % of the time is not proven: {named(reason, 300)}"
            return Told(f"standard error {_of_each_unit(made, errors, noisy)}", details, (Prose(details), sheet))
        unit, worst = _common_unit(made, noisy), int(noisy[np.argmax(margins[noisy])])
        if unit is None and len(noisy) > 1:
            details = (
                "95 % of the time an answer is at most so far off as its row says; answers of different units have no typical "
                "error."
            )
            return Told(f"±{_of_each_unit(made, margins, noisy)}", details, (Prose(details), sheet))
        typical, unit = off_by(np.median(margins[noisy])), _unit(made, made.workload.queries[worst])
        if typical == off_by(margins[worst]):
            details = f"95 % of the time an answer is at most {typical} off, whichever it is."
            return Told(f"±{typical}{unit} for each answer", details, (Prose(details), sheet))
        details = (
            f"95 % of the time an answer is at most {typical} off (the median of all answers); for the least accurate, "
            f"{named(made.workload.queries[worst])}, {off_by(margins[worst])}."
        )
        return Told(f"±{typical}{unit} for a typical answer", details, (Prose(details), sheet))

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


def _common_unit(made: Mechanism, noisy: Indices) -> str | None:
    """What all answers with noise are counted in, as is stated, empty for records; None where units differ or are unknown."""
    stated = {made.about.unit(made.workload.queries[k]) for k in noisy.tolist()}
    if len(stated) > 1:
        return None
    (unit,) = stated
    return unit if unit or made.workload.counts_records else None


def _of_each_unit(made: Mechanism, sizes: Floats, noisy: Indices) -> str:
    """The largest of some sizes, (K,), in each unit that is stated; between the least and the largest where some is not."""
    largest: dict[str, float] = {}
    for k in noisy.tolist():
        unit = _unit(made, made.workload.queries[k])
        largest[unit] = max(largest.get(unit, 0.0), float(sizes[k]))
    if "" not in largest and len(largest) <= MOST_UNITS:
        return f"{', '.join(off_by(size) + unit for unit, size in largest.items())} at most"
    low, high = off_by(sizes[noisy].min()), off_by(sizes[noisy].max())
    return f"{low} to {high}, each answer in its own unit" if low != high else f"{low} for each answer, in its own unit"


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
        (named(name), off_by(error), "not proven" if math.isnan(margin) else f"±{off_by(margin)}{_unit(made, name)}")
        if error > 0
        else (named(name), "0", "exact, no noise")
        for name, error, margin in zip(made.workload.queries, errors.tolist(), within, strict=True)
    ]
    shown, left_out = shown_rows(rows, REST)
    columns = ("Answer", "standard error", "off by at most, 95 % of the time")
    return Sheet("Accuracy of each answer", columns, shown, frozenset({1, 2}), f"{left_out} {made.accuracy_words}".strip())

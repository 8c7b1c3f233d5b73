"""What specs of noise around linear queries say of themselves: additive, staircase, lattice and row mechanisms."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from designer.base.arrays import Floats
from designer.base.display import counted
from designer.base.errors import DesignFailed, InvalidProblem
from designer.mechanism.additive import CONCENTRATED, PURE_SHIFT, PURE_WITH_DELTA, ROUNDED
from designer.mechanism.interface import Mechanism, ball_words, delta_words, preprocessing_words
from designer.mechanism.staircase import THEOREMS as OF_STAIRCASES
from designer.problem.relation import Indices
from designer.publish.content import Entries, Piece, Prose, Sheet, named
from designer.publish.contributor import Contributor, ProofSketch, Topic, shown_rows
from designer.publish.meanings import off_by

MOST_UNITS = 3  # of the first screen
TOGETHER = 1_000  # answers of which the first screen says how far off all are
REST = "All of them stand on the page in Markdown: dp-designer report SPEC."


ON_GRIDS: Mapping[str, ProofSketch] = {
    PURE_SHIFT: ProofSketch(
        "No output is more than exp(b) times as likely after a protected change of budget b as before it.",
        "docs/theory/foundations.md, section 1",
    ),
    CONCENTRATED: ProofSketch(
        "For a protected change of budget b the outputs before and after have a Renyi divergence of at most a b^2 / 2, for "
        "every order a above 1.",
        "docs/theory/foundations.md, section 1",
    ),
    PURE_WITH_DELTA: ProofSketch(
        "For a protected change of budget b, every set of outputs has a probability of at most exp(b) times what it had, plus "
        "delta.",
        "docs/theory/approximate.md, sections 1 and 4",
    ),
    ROUNDED: ProofSketch(
        "For a protected change of budget b, every set of outputs has a probability of at most exp(b) times what it had, plus "
        "delta.",
        "docs/theory/approximate.md, section 2",
    ),
    OF_STAIRCASES["peaks"]: ProofSketch(
        "No output is more than exp(b) times as likely after a protected change of budget b as before it.",
        "docs/theory/staircase.md, section 1",
    ),
    OF_STAIRCASES["moves"]: ProofSketch(
        "No output is more than exp(b) times as likely after a protected change of budget b as before it.",
        "docs/theory/staircase.md, section 7",
    ),
    OF_STAIRCASES["truncated"]: ProofSketch(
        "For a protected change of budget b, every set of outputs has a probability of at most exp(b) times what it had, plus "
        "delta.",
        "docs/theory/staircase.md, section 8",
    ),
}
OF_LATTICE: Mapping[str, ProofSketch] = {  # by fall-off, and of noise row by row
    "exponential": ProofSketch(
        "Between two tables that agree in the published statistics and differ by a protected change of budget b, no output is "
        "more than exp(b) times as likely under one as under the other.",
        "docs/theory/foundations.md, section 1, and docs/theory/lattice.md, section 0",
    ),
    "gaussian": ProofSketch(
        "Between two tables that agree in the published statistics and differ by a protected change of budget b, the Renyi "
        "divergence of every order a above 1 is at most a b^2 / 2.",
        "docs/theory/lattice.md, section 5",
    ),
    "rows": ProofSketch(
        "Between two tables that agree in the published margins and differ by a protected change of budget b, no output is "
        "more than exp(b) times as likely under one as under the other.",
        "docs/theory/lattice.md, section 10",
    ),
}


class LinearQueries(Contributor[Mechanism]):
    """Noisy answers to listed queries."""

    besides: ClassVar[str] = ""  # what is released beside the answers, a sentence

    def sketches(self) -> Mapping[str, ProofSketch]:
        return ON_GRIDS

    def elements(self, made: Mechanism) -> Sequence[str]:
        return made.workload.elements

    def published(self, made: Mechanism) -> Topic:
        queries, elements = made.workload.shape
        exact = f", {counted(len(made.exact), 'of them', 'of them')} without any noise" if made.exact else ""
        sentence = (
            f"The answers are the {elements:,} counts of the table, each with noise."
            if made.workload.is_identity
            else f"Each answer is a sum over {elements:,} counts of records, with fixed public weights, plus noise."
            + self.besides.format(elements=elements)
        )
        return Topic(f"{counted(queries, 'noisy answer')}{exact}", sentence, (Prose(sentence),))

    def accuracy(self, made: Mechanism) -> Topic:
        errors = _standard_errors(made)
        margins, reason = _margins(made)
        noisy = np.flatnonzero(errors > 0)
        sheet = _accuracy_sheet(made, errors, margins)
        if not len(noisy):
            return Topic(f"Exact: no answer gets any noise{_bias(made)}", "", (sheet,))
        if margins is None:
            details = f"How far off an answer is 95 % of the time is not proven: {named(reason, 300)}"
            return Topic(f"standard error {_of_each_unit(made, errors, noisy)}{_bias(made)}", details, (Prose(details), sheet))
        unit, worst = _common_unit(made, noisy), int(noisy[np.argmax(margins[noisy])])
        if unit is None and len(noisy) > 1:
            details = (
                "95 % of the time an answer is at most so far off as its row says; answers of different units have no typical "
                "error."
            )
            return Topic(f"±{_of_each_unit(made, margins, noisy)}", details, (Prose(details), sheet))
        typical, unit = off_by(np.median(margins[noisy])), _unit(made, made.workload.queries[worst])
        if typical == off_by(margins[worst]):
            details = f"95 % of the time an answer is at most {typical} off, whichever it is.{_joint_margin(made, noisy)}"
            return Topic(f"±{typical}{unit} for each answer", details, (Prose(details), sheet))
        details = (
            f"95 % of the time an answer is at most {typical} off (the median of all answers); for the least accurate, "
            f"{named(made.workload.queries[worst])}, {off_by(margins[worst])}.{_joint_margin(made, noisy)}"
        )
        return Topic(f"±{typical}{unit} for a typical answer", details, (Prose(details), sheet))

    def certificate(self, made: Mechanism) -> tuple[Piece, ...]:
        (pairs,) = super().certificate(made)
        assert isinstance(pairs, Entries)
        words = {"Norm ball": ball_words(made), "Pre-processing (Q', c)": preprocessing_words(made)}
        told = [(name, said) for name, said in words.items() if said]
        spent = delta_words(made).strip()
        return (Entries((*pairs.rows, *told, *([("Delta", spent)] if spent else []))),)


class LatticeQueries(LinearQueries):
    """The same, with the table of which they are answers."""

    besides = " The whole table of {elements:,} counts is released, too."

    def sketches(self) -> Mapping[str, ProofSketch]:
        from designer.lattice.mechanism import THEOREMS
        from designer.lattice.row_mechanism import THEOREM

        return {theorem: OF_LATTICE[name] for name, theorem in {**THEOREMS, "rows": THEOREM}.items()}

    def open_points(self, made: Mechanism) -> tuple[str, ...]:
        if getattr(made, "chain", None) is not None:
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
    if made.biased:
        return None, (
            "besides its noise an answer is biased, the more records there are, and their number is not in the spec. Standard "
            "errors are those of the noise alone."
        )
    try:
        return np.asarray(made.margins(), dtype=np.float64), ""
    except (DesignFailed, InvalidProblem) as refusal:
        return None, str(refusal)


def _joint_margin(made: Mechanism, noisy: Indices) -> str:
    """How far off all answers with noise are at most, together, in a sentence; nothing for one, for very many, and where it is
    not proven. noisy: their places."""
    if not 1 < len(noisy) <= TOGETHER:
        return ""
    try:
        farthest = np.asarray(made.joint_margins())[noisy].max()
    except (DesignFailed, InvalidProblem):
        return ""
    return f" All {len(noisy):,} together: at most {off_by(farthest)}."


def _bias(made: Mechanism) -> str:
    """By how much answers are off besides their noise; nothing where they are not."""
    return f", and a bias of up to {off_by(max(made.biased.values()))} for each record" if made.biased else ""


def _accuracy_sheet(made: Mechanism, errors: Floats, margins: Floats | None) -> Sheet:
    """A row for each query. errors, margins: (K,)."""
    within = [math.nan] * len(errors) if margins is None else margins.tolist()
    rows = [
        (named(name), off_by(error), "not proven" if math.isnan(margin) else f"±{off_by(margin)}{_unit(made, name)}")
        if error > 0
        else (named(name), "0", "no noise, but biased" if name in made.biased else "exact, no noise")
        for name, error, margin in zip(made.workload.queries, errors.tolist(), within, strict=True)
    ]
    shown, left_out = shown_rows(rows, REST)
    columns = ("Answer", "standard error", "off by at most, 95 % of the time")
    return Sheet("Accuracy of each answer", columns, shown, frozenset({1, 2}), f"{left_out} {made.error_source.words}".strip())

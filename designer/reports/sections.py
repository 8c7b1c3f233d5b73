"""The sections that every page has, whatever the format of its spec.

The theorem that a certificate cites, and why it is true, in a few steps: one sketch for each theorem that there is.

The steps are those of the pages of theory, shortened for readers who know fractions and exponentials and nothing of the field.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import Any

import numpy as np

from designer.accounts.totals import Total
from designer.accounts.words import STATES, cost_text, left_text
from designer.base.answer_table import AnswerTable
from designer.base.arrays import Floats
from designer.base.errors import DesignFailed, InvalidProblem
from designer.base.printing import counted
from designer.base.rounding import closest
from designer.certified.frozen import Specified
from designer.designing.comparison import Comparison
from designer.designing.comparison_words import COLUMNS
from designer.mechanisms.additive.promise import CONCENTRATED, PURE_SHIFT, PURE_WITH_DELTA, ROUNDED
from designer.mechanisms.choice.mechanism import THEOREM as OF_SELECTIONS
from designer.mechanisms.lattice.promise import THEOREMS as OF_LATTICES
from designer.mechanisms.lattice.row_mechanism import THEOREM as OF_ROWS
from designer.mechanisms.marginals.mechanism import THEOREM as OF_MARGINALS
from designer.mechanisms.odds_ratio.mechanism import THEOREM as OF_ODDS_RATIOS
from designer.mechanisms.products.mechanism import THEOREM as OF_PRODUCTS
from designer.mechanisms.staircase.mechanism import THEOREM as OF_STAIRCASES
from designer.mechanisms.synthetic.lipschitz_queries import THEOREM as OF_SYNTHETIC_DATA
from designer.reports.content import Entries, Listing, PageSection, Piece, Prose, Sheet
from designer.reports.contributor import ROWS, Contributor, Told, listed, shown_rows
from designer.reports.evidence import Evidence, SeenLedger, SeenRelease
from designer.reports.names import LONGEST_TEXT, named, verbatim_of
from designer.reports.odds import above
from designer.tables.plan_words import OF_OTHER_NOISE
from designer.tables.plan_words import THEOREM as OF_PLANS


@dataclass(frozen=True)
class ProofSketch:
    """What is claimed, in a sentence, and the steps that show it. page: where the whole proof stands."""

    claim: str
    steps: tuple[str, ...]
    page: str


_SAME_SUM = (
    "Two neighbouring tables have answers that differ by some u, and u is itself a value that the noise can take. So the noise "
    "can carry either answer to any output y that the other can reach: by z, and by z plus u."
)
_TRIANGLE = (
    "The probability of noise z is c times exp(-length of z), with one constant c for all z. So the two probabilities of y "
    "differ by the factor exp(length of (z + u) - length of z)."
)
_PURE = (
    "By the triangle inequality a detour is never shorter: the length of z + u is at most that of z plus that of u. The factor "
    "is therefore at most exp(length of u)."
)
_CERTIFIED = (
    "The certificate computes the length of u for every protected change, in exact fractions where floats do not settle it, "
    "and finds it at most the budget b. So no output is more than exp(b) times as likely under one table as under the other."
)
_SUMMED = (
    "What holds for every single output holds for every set of outputs, and for whatever is computed from them afterwards."
)
_SQUARES = (
    "The probability of noise z is c times exp(-(length of z)^2 / 2), with lengths as in Euclid's geometry. Raising the ratio "
    "of the two probabilities to a power and averaging it gives, after completing a square, exp(a (a - 1) (length of u)^2 / 2) "
    "times the ratio of two sums of exp(-(distance)^2 / 2) over a grid: one seen from a shifted place, one from a grid point."
)
_POISSON = (
    "Such a sum is largest when it is seen from a grid point, because it is a sum of cosines with positive weights (Poisson "
    "summation). So the second ratio is at most 1, on any grid and in any dimension."
)
_RENYI = (
    "What is left says that the Renyi divergence of every order a is at most a (length of u)^2 / 2. The certificate finds the "
    "length of u at most the budget b for every protected change: that is b^2 / 2 of zero-concentrated privacy."
)
_KERNEL = (
    "Changes of the data that leave all published statistics as they are form a lattice of integer tables. The noise is drawn "
    "from that lattice alone, so the released table has the published statistics exactly, and every protected change v is a "
    "value that the noise can take."
)

_OF_CHANGES = (
    "The probability of noise z is c times exp(-length of z), with one constant c for all z. Adding v makes z longer by at "
    "most the length of v (triangle inequality), so it changes the probability by a factor of at most exp(length of v)."
)
_LENGTH_OF_CHANGES = (
    "The certificate computes the length of v for every protected change v, in exact fractions where floats do not settle it, "
    "and finds it at most the budget b."
)

SKETCHES: Mapping[str, ProofSketch] = {
    PURE_SHIFT: ProofSketch(
        "No output is more than exp(b) times as likely after a protected change of budget b as before it.",
        (_SAME_SUM, _TRIANGLE, _PURE, _CERTIFIED, _SUMMED),
        "docs/theory/foundations.md, section 1",
    ),
    CONCENTRATED: ProofSketch(
        "For a protected change of budget b the outputs before and after have a Renyi divergence of at most a b^2 / 2, for "
        "every order a above 1.",
        (_SAME_SUM, _SQUARES, _POISSON, _RENYI, _SUMMED),
        "docs/theory/foundations.md, section 1",
    ),
    PURE_WITH_DELTA: ProofSketch(
        "For a protected change of budget b, every set of outputs has a probability of at most exp(b) times what it had, plus "
        "delta.",
        (
            _SAME_SUM,
            _TRIANGLE,
            "By the triangle inequality the factor is at most exp(m), where m is the length of u. The budget b may be smaller "
            "than m: then some outputs have a larger factor than exp(b).",
            "How much probability they can have together is largest when there are two outputs only, one as likely as exp(m) "
            "against 1; what is above exp(b) times the other is then (e^m - e^b) / (1 + e^m).",
            "The certificate finds, for every protected change, a length that keeps this number at most delta, changes that "
            "others imply among them, because under one delta promises do not add up along a chain.",
        ),
        "docs/theory/approximate.md, sections 1 and 4",
    ),
    ROUNDED: ProofSketch(
        "For a protected change of budget b, every set of outputs has a probability of at most exp(b) times what it had, plus "
        "delta.",
        (
            "The noise is normal noise, rounded to a grid on which all answers lie. So the release is the rounding of answers "
            "plus normal noise: who cannot tell the unrounded ones apart cannot tell these apart.",
            "Seen in the right coordinates, telling answers apart that differ by u is telling a normal number around 0 from "
            "one around m, m the length of u. The best sets to tell them apart by are half-lines.",
            "So delta is exactly Phi(m/2 - b/m) - e^b Phi(-m/2 - b/m) (Balle and Wang), Phi the share of a normal number "
            "below; it grows with m.",
            "The certificate finds m at most the largest length that b and delta allow, rounded down, for every protected "
            "change, those that others imply among them.",
        ),
        "docs/theory/approximate.md, section 2",
    ),
    OF_LATTICES["exponential"]: ProofSketch(
        "Between two tables that agree in the published statistics and differ by a protected change of budget b, no output is "
        "more than exp(b) times as likely under one as under the other.",
        (_KERNEL, _OF_CHANGES, _LENGTH_OF_CHANGES, _SUMMED),
        "docs/theory/foundations.md, section 1, and docs/theory/lattice.md, section 0",
    ),
    OF_LATTICES["gaussian"]: ProofSketch(
        "Between two tables that agree in the published statistics and differ by a protected change of budget b, the Renyi "
        "divergence of every order a above 1 is at most a b^2 / 2.",
        (_KERNEL, _SQUARES, _POISSON, _RENYI, _SUMMED),
        "docs/theory/lattice.md, section 5",
    ),
    OF_ROWS: ProofSketch(
        "Between two tables that agree in the published margins and differ by a protected change of budget b, no output is "
        "more than exp(b) times as likely under one as under the other.",
        (
            "Imagine that more is released than is: the true table plus noise y that keeps one of the margins only. Every "
            "protected change v keeps that margin too, so it is a value that y can take.",
            _OF_CHANGES.replace(" z", " y"),
            _LENGTH_OF_CHANGES,
            "What is released is computed from that imagined table and the published margins alone: y is moved to the nearest "
            "table that keeps all margins. Whatever is computed from a release keeps its promise.",
        ),
        "docs/theory/lattice.md, section 10",
    ),
    OF_STAIRCASES: ProofSketch(
        "No output is more than exp(b) times as likely after a protected change of budget b as before it.",
        (
            "Every protected change u has a cost, its budget in whole units, rounded down. The height h of a point is the cost "
            "of the cheapest way to it, over protected changes, from one of a few fixed points, plus that point's own level.",
            "A way to z goes on to z + u at the cost of u, and the opposite change leads back at the same cost. So the heights "
            "of z and z + u differ by at most the cost of u, everywhere, in the tails as well.",
            "The probability of noise z is c times exp(-unit times h(z)). So it changes by at most exp(unit times cost of u), "
            "which is at most exp(b).",
            "The certificate recomputes changes, budgets and cheapest ways in integers and fractions, for every pair.",
        ),
        "docs/theory/staircase.md, section 1",
    ),
    OF_PRODUCTS["gaussian"]: ProofSketch(
        "For a protected change of budget b the outputs before and after have a Renyi divergence of at most a b^2 / 2, for "
        "every order a above 1.",
        (
            "Measured are integer combinations of counts, each with its own discrete normal noise. A record moves them by "
            "whole numbers, which the noise can make up.",
            _POISSON,
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
    OF_MARGINALS: ProofSketch(
        "For a protected change of budget b the outputs before and after have a Renyi divergence of at most a b^2 / 2, for "
        "every order a above 1.",
        (
            "Each table is cut into what smaller tables do not tell: whole-number differences of counts along its attributes. "
            "These get discrete normal noise, and all tables are put together again from the same noisy numbers.",
            "A protected change moves the differences by whole numbers, which the noise can make up.",
            _POISSON,
            "Noise of different parts is independent, so divergences add up, to a / 2 times a sum of squares. The certificate "
            "computes that sum for each kind of change in fractions, and finds it at most b^2; changes of several attributes "
            "follow from single ones.",
        ),
        "docs/theory/marginals.md, section 2",
    ),
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
    OF_PLANS: ProofSketch(
        "Whether a record r is in the table changes the outputs by a Renyi divergence of at most a P(r), for every order a "
        "above 1; P is the public function that is stated.",
        (
            "A record counts in one group of each query, and moves the whole number that is summed there by at most its "
            "amount, clipped and rounded by public rules that look at the record alone.",
            "That number gets discrete normal noise of variance v. " + _POISSON,
            "So one query costs the record amount^2 / (2 v), whatever the other records are; queries use independent noise, "
            "and their costs add up to P(r).",
            "Where groups are found privately, a record that is alone in its group shows it only if the noise is above the "
            "threshold; that is the stated probability delta(r), which is added.",
        ),
        "docs/theory/tables.md, sections 1 and 2",
    ),
}
OTHER_NOISE = (
    "Some queries have other noise than normal: sums that are transformed first, or Laplace and Student noise. Each states its "
    "own cost as a public function of the record; a pure promise of e is one of e times tanh(e / 2) in the unit used here."
)


def sketch_of(theorem: str) -> ProofSketch:
    """The sketch of what a certificate cites; `InvalidProblem` for a theorem that has none."""
    if theorem in SKETCHES:
        return SKETCHES[theorem]
    if theorem == OF_PLANS + OF_OTHER_NOISE:
        plain = SKETCHES[OF_PLANS]
        return ProofSketch(plain.claim, (*plain.steps, OTHER_NOISE), "docs/theory/tables.md, sections 1, 2 and 7")
    raise InvalidProblem(f"theorem: no sketch of a proof is known of {theorem[:80]!r}.")


FROM_WHOM = (
    "From everyone who sees what is released: with any computing power, at any later time, and whatever else they know, be it "
    "every other record of the data. It does not matter whether they know how the noise is made; that is public.",
    "Not from those who hold the data, who see the noise before it is added, who can time single releases precisely, or who "
    "control the random numbers of the computer that makes the release.",
)
INVISIBLE_TO_ALL = "Whatever is computed from the release afterwards keeps the promise: nobody can undo the noise."


def published(made: Specified, told: Told) -> PageSection:
    """What a release consists of, and the words of the maker."""
    said = made.about.lines()
    words = tuple(_split(line) for line in said)
    notes: tuple[Piece, ...] = (Prose("Words of the maker, which nobody proves:"), Entries(words)) if words else ()
    return PageSection("published", "What is published", (*told.pieces, *notes))


def _split(line: str) -> tuple[str, str]:
    name, _, text = line.partition(": ")
    return name, named(text, 1000)


def hidden(made: Specified, contributor: Contributor[Any]) -> PageSection:
    """What is hidden, and from whom."""
    promise = made.guarantee
    pairs = Entries(
        (
            ("What is protected", named(promise.unit, 1000)),
            ("Which changes", verbatim_of(promise.relation, "guarantee.relation")),
        )
    )
    notion = Prose(verbatim_of(promise.notion, "guarantee.notion"), "note")
    return PageSection(
        "hidden",
        "What is hidden, and from whom",
        (pairs, Listing(FROM_WHOM), Prose(INVISIBLE_TO_ALL), Prose("In the words of the field:"), notion),
    )


def budgets(made: Specified, contributor: Contributor[Any]) -> PageSection:
    """What budgets mean, as odds."""
    lead = Prose(
        "A budget limits how far a release can shift the odds of one record's value against another, the other records given: "
        "the odds afterwards are at most so many times those before, and at least that part of them. Where records depend on "
        "each other, such as two that are known to be equal, a release tells of one through the other, and their budgets add."
    )
    return PageSection("budgets", "Budgets, and what they mean", (lead, *contributor.budgets(made)))


def unprotected(made: Specified, contributor: Contributor[Any]) -> PageSection:
    """What is public, in full."""
    lines = tuple(verbatim_of(line, "guarantee.unprotected") for line in made.guarantee.unprotected)
    exact: tuple[Piece, ...] = ()
    if made.exact:
        exact = (
            Prose(f"Published exactly, without any noise: {counted(len(made.exact), 'answer')}.", "warning"),
            *listed(made.exact, "answers"),
        )
    said: Piece = Listing(lines) if lines else Prose("Nothing is published without noise, and every change has a budget.")
    return PageSection("unprotected", "What is not protected", (*exact, said, *contributor.exact_note(made)))


def accuracies(told: Told) -> PageSection:
    """How accurate each answer is."""
    return PageSection("accuracy", "Accuracy", told.pieces)


def answers(seen: SeenRelease) -> PageSection:
    """What was released, with intervals, and what was published exactly."""
    tables = seen.released.answer_tables() if hasattr(seen.released, "answer_tables") else ()
    document = seen.document
    facts = [("File", named(seen.name)), ("Released", document["time"]), ("Made by the mechanism", document["fingerprint"])]
    row = document["rows"]
    facts += [(named(key.replace("_", " ")), named(value, 300)) for key, value in (row or {}).items() if value is not None]
    pieces: list[Piece] = [Entries(tuple(facts)), *_sheets(tables), *_others(seen, bool(tables))]
    return PageSection("answers", "The release", tuple(pieces))


def _sheets(tables: tuple[AnswerTable, ...]) -> Iterator[Piece]:
    left = ROWS
    for place, table in enumerate(tables):
        if left <= 0:
            rest = sum(len(other.answers) for other in tables[place:])
            yield Prose(
                f"{counted(len(tables) - place, 'further table')} with {counted(rest, 'answer')} stand in the release file."
            )
            return
        yield _sheet(table, left)
        left -= len(table.answers)


def _sheet(table: AnswerTable, most: int) -> Sheet:
    """The answers of a table with their standard errors and intervals, the first of them."""
    number = min(most, len(table.answers))
    lower, upper, law = _interval(table)
    rows = []
    for k in range(number):
        error = None if table.standard_errors is None else float(table.standard_errors[k])
        within = "exact" if error == 0 else _within(lower, upper, k, error)
        told = "not known" if error is None else above(error) if error else "0, exact"
        rows.append((*(named(key) for key in table.keys[k]), _number(float(table.answers[k]), error), told, within))
    columns = (*map(named, table.columns), "answer", "standard error", "95 % interval")
    rest = len(table.answers) - number
    more = f" The first {number:,} of {len(table.answers):,} answers; the release file has all." if rest else ""
    first = len(table.columns)
    title = "Answers" if table.name == "answers" else f"Answers: {named(table.name)}"
    return Sheet(title, columns, tuple(rows), frozenset(range(first, first + 3)), f"{law}{more}")


def _within(lower: Floats | None, upper: Floats | None, k: int, error: float | None) -> str:
    """Both ends of the interval of answer k, out of lower and upper, (G,)."""
    if lower is None or upper is None:
        return "not known"
    return f"{_number(float(lower[k]), error, ROUND_FLOOR)} to {_number(float(upper[k]), error, ROUND_CEILING)}"


def _interval(table: AnswerTable) -> tuple[Floats | None, Floats | None, str]:
    try:
        found = table.intervals(0.95)
    except (InvalidProblem, DesignFailed) as refusal:
        return None, None, f"No intervals: {named(str(refusal).removeprefix('intervals: '), 300)}"
    law = f"Each interval holds the answer without noise with a probability of 95 %: {named(found.law, LONGEST_TEXT)}."
    return found.lower, found.upper, law


def _number(value: float, error: float | None, rounding: str = ROUND_HALF_EVEN) -> str:
    """A number with two digits beyond the size of its noise; ends of intervals are rounded outwards."""
    if error is None or error <= 0 or not np.isfinite(value):
        return f"{value:,.10g}"
    digits = min(12, max(0, 1 - int(np.floor(np.log10(error)))))
    number = Decimal(value).quantize(Decimal(1).scaleb(-digits), rounding, Context(prec=400))
    return f"{number if number else abs(number):,f}"


def _others(seen: SeenRelease, has_tables: bool) -> Iterator[Piece]:
    """What a release tells that is no table of answers, and what no noise enters."""
    if not has_tables:
        plain = {key: value for key, value in seen.released.to_dict().items() if key not in ("guarantee", "fingerprint")}
        yield Entries(tuple((named(key.replace("_", " ")), named(value, 600)) for key, value in plain.items()))
    if stated := seen.document["published"]:
        told = [(named(entry["statistic"]), named(entry["value"], 200)) for entry in stated]
        rows, left_out = shown_rows(told, "All stand in the release file.")
        yield Sheet("Published exactly, without noise", ("Statistic", "value"), rows, frozenset({1}), left_out)


def spending(evidence: Evidence) -> tuple[PageSection, ...]:
    """What was spent of the data set, and what is left, where a ledger was looked at."""
    if (seen := evidence.ledger) is None:
        return ()
    balance, total = seen.balance, seen.balance.total
    facts = [
        ("Ledger", f"{named(seen.name)}, {seen.checked.ledger}"),
        ("Data set", named(balance.name)),
        ("Total", total.to_text()),
        ("Spent", cost_text(balance.spent, total)),
        ("Left", left_text(total, balance.spent.total)),
        ("On the change", balance.spent.unit),
        ("Head", seen.checked.head),
    ]
    pieces: list[Piece] = [Entries(tuple(facts)), *_forecast(evidence)]
    pieces += _raises(seen)
    if balance.reserves:
        rows = [
            (
                f"{r.entry.number}",
                str(r.entry.content["time"]),
                STATES[r.state],
                _cost(r.expense.cost, total),
                r.expense.fingerprint[:12],
            )
            for r in reversed(balance.reserves)
        ]
        shown, left_out = shown_rows(rows, "dp-designer ledger show has all.")
        columns = ("Entry", "time", "state", "cost", "mechanism")
        pieces.append(Sheet("Releases from these data, the last first", columns, shown, note=left_out))
    pieces += [Listing(tuple(map(named, seen.checked.notes)))] if seen.checked.notes else []
    return (PageSection("ledger", "What was spent of these data", tuple(pieces)),)


def _raises(seen: SeenLedger) -> list[Piece]:
    """The totals that the data set had, who stated them and why."""
    told = [
        (str(entry.content["time"]), Total.from_dict(entry.content["total"]).to_text(), named(entry.content["who"]), reason)
        for entry in seen.checked.entries
        if entry.kind in ("stated", "raised") and entry.content["dataset"] == seen.balance.name
        for reason in [named(entry.content.get("reason") or "stated at first", 300)]
    ]
    shown, left_out = shown_rows(told, "dp-designer ledger show --entries has all.")
    return [Sheet("Totals of these data, and why they were stated", ("Time", "total", "by", "reason"), shown, note=left_out)]


def _cost(cost: Any, total: Total) -> str:
    known = (("epsilon", cost.epsilon), ("rho", cost.rho), ("delta", cost.delta or None))
    return ", ".join(f"{name} {above(value, 6)}" for name, value in known if value is not None)


def _forecast(evidence: Evidence) -> Iterator[Piece]:
    seen = evidence.ledger
    if seen is None or (forecast := seen.forecast) is None:
        return
    total = seen.balance.total
    rows = [("One more release of this would cost", cost_text(forecast.cost, total))]
    if forecast.after is not None and forecast.refusal is None:
        rows += [("Then spent", cost_text(forecast.after, total)), ("Then left", left_text(total, forecast.after.total))]
    yield Entries(tuple(rows))
    if forecast.refusal is not None:
        yield Prose(f"It would be refused. {named(forecast.refusal, 1000)}", "warning")


def comparison(evidence: Evidence) -> PageSection:
    """Other families: what was computed for the page, or what the maker noted."""
    title, compared = "Other ways to do it", evidence.comparison
    if isinstance(compared, Comparison):
        return PageSection("comparison", title, tuple(_compared(compared)))
    pieces: list[Piece] = [Prose(named(compared, 400), "note")] if compared else []
    tried = evidence.made.provenance.get("tried", {})
    if tried:
        rows, left_out = shown_rows([(named(name), named(words, 300)) for name, words in tried.items()], "The spec has all.")
        pieces.append(
            Sheet("Families that the maker tried (a note, not recomputed)", ("Family", "what came of it"), rows, note=left_out)
        )
    best = evidence.made.optimality
    if best is not None:
        gap = f" No design of its family can beat {closest(best.lower_bound, 6)}." if best.lower_bound else ""
        checked = "was computed with the design" if best.verified else "is a note of the maker, not recomputed"
        pieces.append(
            Prose(f"What was minimised: {named(best.objective, 300)}. Reached: {closest(best.value, 6)}.{gap} This {checked}.")
        )
    return PageSection("comparison", title, tuple(pieces) or (Prose("Nothing is noted of other families."),))


def _compared(found: Comparison) -> Iterator[Piece]:
    yield Prose("Designed for the same questions and the same protection when this page was made, the least loss first:")
    names = ("family", "loss", "squared", "max", "efficiency", "note")
    ordered = sorted(found.rows, key=lambda row: np.inf if row["loss"] is None else row["loss"])
    rows = [tuple(_cell(row[name]) for name in names) for row in ordered]
    shown, left_out = shown_rows(rows, "")
    yield Sheet("Comparison of families", tuple(COLUMNS[name] for name in names), shown, frozenset({1, 2, 3, 4}), left_out)
    if found.limit is not None:
        yield Prose(f"Efficiency is the part of the loss that no design can beat: {named(found.limit.reason, 600)}.", "note")


def _cell(value: Any) -> str:
    return "" if value is None else closest(value, 6) if isinstance(value, float) else named(value, 200)


def certificate(made: Specified, contributor: Contributor[Any]) -> PageSection:
    """The certificate in numbers."""
    return PageSection("certificate", "The certificate", contributor.certificate(made))


def proof(made: Specified, contributor: Contributor[Any]) -> PageSection:
    """The theorem that the certificate cites, with the steps of its proof."""
    theorem = contributor.cited(made)
    sketch = sketch_of(theorem)
    whole = Prose(f"The whole proof: {sketch.page}, which is installed with the program.", "note")
    cited = Entries((("As the certificate cites it", theorem),))
    return PageSection("proof", "Why it holds", (Prose(sketch.claim), Listing(sketch.steps, ordered=True), cited, whole))


def full_statement(made: Specified) -> PageSection:
    """The guarantee, letter by letter."""
    rows = [(name, verbatim_of(text, f"guarantee.{key}")) for name, key, text in _fields(made)]
    return PageSection("statement", "The statement in full", (Entries(tuple(rows), verbatim=True),))


def _fields(made: Specified) -> Iterator[tuple[str, str, str]]:
    promise = made.guarantee
    numbers = ", ".join(f"{named(name.replace('_', ' '))} {value!r}" for name, value in promise.parameters.items())
    yield "Protects", "unit", promise.unit
    yield "Relation", "relation", promise.relation
    yield "Numbers of the promise", "parameters", numbers
    yield "Notion", "notion", promise.notion
    yield "Not protected", "unprotected", " ".join(promise.unprotected) or "Nothing is published without noise."
    yield "Mechanism", "mechanism", promise.mechanism
    yield "Sampling", "sampling", promise.sampling
    yield "Numbers", "floating_point", promise.floating_point
    yield "Time", "timing", promise.timing
    yield "Afterwards", "post_processing", promise.post_processing
    yield "Software", "software", promise.software
    yield "Fingerprint", "fingerprint", promise.fingerprint

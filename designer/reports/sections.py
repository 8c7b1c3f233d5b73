"""The sections that every page has, whatever the format of its spec."""

from __future__ import annotations

from collections.abc import Iterator
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
from designer.certified.guarantee import Guarantee
from designer.designing.comparison import Comparison
from designer.designing.comparison_words import COLUMNS
from designer.relations.rows.row_unit import RowUnit
from designer.reports.content import Entries, Listing, PageSection, Piece, Prose, Sheet
from designer.reports.contributor import ROWS, Contributor, Told, listed, shown_rows
from designer.reports.evidence import Evidence, SeenLedger, SeenRelease
from designer.reports.names import LONGEST_TEXT, named, verbatim_of
from designer.reports.odds import above

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
    notes: tuple[Piece, ...] = (Prose("Stated by the publisher (not verified):"), Entries(words)) if words else ()
    return PageSection("published", "What is published", (*told.pieces, *notes))


def _split(line: str) -> tuple[str, str]:
    name, _, text = line.partition(": ")
    return name, named(text, 1000)


def hidden(promise: Guarantee) -> PageSection:
    """What is hidden, and from whom."""
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


def budgets(evidence: Evidence, contributor: Contributor[Any]) -> PageSection:
    """What budgets mean, as odds, for the unit that is protected."""
    row, bound = evidence.row, evidence.bound
    whose = "one record's value against another, the other records given"
    if bound is not None:
        rows = f"all rows with one value of {named(row.entity)}, at most {bound:,} of which count"
        whose = f"what one entity holds ({rows}) against another, the other entities given"
    lead = Prose(
        f"A budget limits how far a release can shift the odds of {whose}: the odds afterwards are at most so many times those "
        "before, and at least that part of them. Where records depend on each other, such as two that are known to be equal, a "
        "release tells of one through the other, and their budgets add."
    )
    return PageSection("budgets", "Budgets, and what they mean", (lead, *contributor.budgets(evidence.made, bound)))


def unprotected(evidence: Evidence, contributor: Contributor[Any]) -> PageSection:
    """What is public, in full."""
    made = evidence.made
    lines = tuple(verbatim_of(line, "guarantee.unprotected") for line in evidence.guarantee.unprotected)
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
    unit = getattr(seen.released, "row", None) or RowUnit()
    facts += [("Of which rows", words)] if (words := unit.left_out_words(seen.released.guarantee)) else []
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
        reason = named(found.limit.reason, 600)
        yield Prose(f"Efficiency is a loss that no additive noise is below, over the loss: {reason}.", "note")
        yield Listing(tuple(named(sentence, 600) for sentence in found.limit.scope))


def _cell(value: Any) -> str:
    return "" if value is None else closest(value, 6) if isinstance(value, float) else named(value, 200)


def certificate(made: Specified, contributor: Contributor[Any]) -> PageSection:
    """The certificate in numbers."""
    return PageSection("certificate", "The certificate", contributor.certificate(made))


def proof(made: Specified, contributor: Contributor[Any]) -> PageSection:
    """The theorem that the certificate cites, with the steps of its proof."""
    theorem, sketch = contributor.cited(made), contributor.sketch(made)
    whole = Prose(f"The whole proof: {sketch.page}, which is installed with the program.", "note")
    cited = Entries((("As the certificate cites it", theorem),))
    return PageSection("proof", "Why it holds", (Prose(sketch.claim), Listing(sketch.steps, ordered=True), cited, whole))


def full_statement(promise: Guarantee) -> PageSection:
    """The guarantee, letter by letter."""
    rows = [(name, verbatim_of(text, f"guarantee.{key}")) for name, key, text in _fields(promise)]
    return PageSection("statement", "The statement in full", (Entries(tuple(rows), verbatim=True),))


def _fields(promise: Guarantee) -> Iterator[tuple[str, str, str]]:
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

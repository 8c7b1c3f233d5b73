"""The sections that every page has, whatever the format of its spec."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import Any

import numpy as np

from designer.accounts.dataset_state import Balance, Reserve
from designer.accounts.ledger_text import STATES, cost_text, left_text, signing_lines
from designer.accounts.totals import Total
from designer.base.answer_table import AnswerTable, in_releases
from designer.base.arrays import Floats
from designer.base.display import closest, counted
from designer.base.errors import DesignFailed, InvalidProblem
from designer.base.version import WHEEL, wheel_hash
from designer.certificate.frozen import FrozenMechanism
from designer.certificate.guarantee import Guarantee
from designer.designing.comparison import Comparison
from designer.designing.printouts import COLUMNS
from designer.files.releases import OUTSIDE, SAID, UNSEEN
from designer.files.signatures import SignedBy
from designer.publish.content import (
    LONGEST_TEXT,
    Entries,
    Evidence,
    Listing,
    PageSection,
    Piece,
    Prose,
    SeenLedger,
    SeenRelease,
    Sheet,
    Typed,
    date_words,
    named,
    verbatim_of,
)
from designer.publish.contributor import ROWS, Contributor, Topic, listed, shown_rows
from designer.publish.meanings import above
from designer.relations.records.row_unit import RowUnit

FROM_WHOM = (
    "The promise holds against all who see the release, whatever they know, now or later; not against those who hold the data, "
    "time releases precisely, or control the random numbers."
)

FIRST = ("Data", "Period", "Publisher", "One row is said to be")  # words of the maker that the first screen has


def published(made: FrozenMechanism, told: Topic) -> PageSection:
    """What a release consists of, and the words of the maker that the first screen does not have in full."""
    said = map(_split, made.about.lines())
    words = tuple((name, text) for name, text in said if name not in FIRST or len(text) > 200)
    notes: tuple[Piece, ...] = (Prose("Stated by the publisher (not verified):"), Entries(words)) if words else ()
    return PageSection("published", "What is published", (*told.pieces, *notes))


def _split(line: str) -> tuple[str, str]:
    name, _, text = line.partition(": ")
    return name, named(text, 1000)


def budgets(evidence: Evidence, contributor: Contributor[Any]) -> PageSection:
    """What budgets mean, as odds, for the unit that is protected."""
    row, bound = evidence.row, evidence.bound
    whose = "one record's value against another, the other records given"
    if bound is not None:
        rows = f"all rows with one value of {named(row.entity)}, at most {bound:,} of which count"
        whose = f"what one entity holds ({rows}) against another, the other entities given"
    lead = Prose(
        f"A budget limits how far a release can shift the odds of {whose}. Budgets of records that depend on each other add."
    )
    return PageSection(
        "budgets", "Budgets, and what they mean", (lead, *contributor.budgets(evidence.made, bound), Prose(FROM_WHOM))
    )


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


def accuracies(told: Topic, release: SeenRelease | None) -> PageSection:
    """How far off answers are, one by one unless those of a release have their margins."""
    listed_later = release is not None and hasattr(release.released, "answer_tables")
    pieces = [piece for piece in told.pieces if not (listed_later and isinstance(piece, Sheet))]
    return PageSection("accuracy", "Accuracy", tuple(pieces or told.pieces))


def answers(seen: SeenRelease) -> PageSection:
    """What was released, with intervals, and what was published exactly."""
    tables = seen.released.answer_tables() if hasattr(seen.released, "answer_tables") else ()
    document = seen.document
    facts = [
        ("File", named(seen.name)),
        ("Released", date_words(document["time"])),
    ]
    row = document["rows"]
    facts += [(named(key.replace("_", " ")), named(value, 300)) for key, value in (row or {}).items() if value is not None]
    unit = getattr(seen.released, "row", None) or RowUnit()
    facts += [("Of which rows", words)] if (words := unit.left_out_words(seen.released.guarantee)) else []
    pieces: list[Piece] = [Entries(tuple(facts)), *_sheets(tables), *_others(seen, bool(tables))]
    return PageSection("answers", "The release", tuple(pieces))


def _sheets(tables: tuple[AnswerTable, ...]) -> Iterator[Piece]:
    left, laws = ROWS, set[str]()
    for place, table in enumerate(tables):
        if left <= 0:
            rest = sum(len(other.answers) for other in tables[place:])
            yield Prose(
                f"{counted(len(tables) - place, 'further table')} with {counted(rest, 'answer')} stand in the release file."
            )
            return
        yield _sheet(table, left, laws)
        left -= len(table.answers)


def _sheet(table: AnswerTable, most: int, laws: set[str]) -> Sheet:
    """The first answers of a table with their intervals. laws: what was said of intervals before, and need not be again."""
    number = min(most, len(table.answers))
    lower, upper, law = _interval(table)
    rows = []
    for k in range(number):
        error = None if table.standard_errors is None else float(table.standard_errors[k])
        within = "exact" if error == 0 else _within(lower, upper, k, error)
        answer, margin = float(table.answers[k]), margin_of(lower, upper, k)
        told = "exact" if error == 0 else _share(margin, answer)
        rows.append((*(named(key) for key in table.keys[k]), _number(answer, error), within, told))
    columns = (*map(named, table.columns), "answer", "95 % interval", "margin, of the answer")
    rest = len(table.answers) - number
    more = f" The first {number:,} of {len(table.answers):,} answers; the release file has all." if rest else ""
    first = len(table.columns)
    title = "Answers" if table.name == "answers" else f"Answers: {named(table.name)}"
    told = "" if law in laws else law
    laws.add(law)
    return Sheet(title, columns, tuple(rows), frozenset(range(first, first + 3)), f"{told}{more}".strip())


def margin_of(lower: Floats | None, upper: Floats | None, k: int) -> float:
    """Half the width of the interval of answer k, out of lower and upper, (G,); nan where none is known."""
    return np.nan if lower is None or upper is None else float(upper[k] - lower[k]) / 2


def _share(margin: float, answer: float) -> str:
    """A margin as a share of the released answer that it belongs to, marked where the noise may be all there is of it."""
    if np.isnan(margin):
        return "not known"
    return f"{above(100 * margin / abs(answer), 2)} %" if margin <= abs(answer) else "MORE than the answer"


def drowned(seen: SeenRelease | None) -> tuple[int, int]:
    """How many released answers with noise are smaller than their 95 % margin, and how many there are."""
    tables = seen.released.answer_tables() if seen is not None and hasattr(seen.released, "answer_tables") else ()
    few = all_of = 0
    for table in tables:
        lower, upper, _ = _interval(table)
        if lower is not None and upper is not None:
            margins = (upper - lower) / 2
            all_of += int((margins > 0).sum())
            few += int((margins > np.abs(table.answers)).sum())
    return few, all_of


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
    law = f"Each interval would hold the answer without noise {in_releases(95)}; law: {named(found.law, LONGEST_TEXT)}."
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
        yield Sheet("Published exactly, and not protected", ("Statistic", "value"), rows, frozenset({1}), left_out)


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
    pieces += _periods(balance)
    if balance.reserves:
        rows = [
            (
                f"{r.entry.number}",
                date_words(r.entry.content["time"]),
                r.edition.period or "",
                STATES[r.state] + _corrections(balance, r),
                _cost(r.expense.cost, total),
                r.expense.fingerprint[:12],
            )
            for r in reversed(balance.reserves)
        ]
        shown, left_out = shown_rows(rows, "dp-designer ledger show has all.")
        columns = ("Entry", "time", "period", "state", "cost", "mechanism")
        pieces.append(Sheet("Releases from these data, the last first", columns, shown, note=left_out))
    if signing := signing_lines(seen.checked.entries, seen.checked.rules):
        pieces += [
            Prose("Who might sign this ledger, as its entries say:"),
            Listing(tuple(named(line, 900) for line in signing)),
        ]
    pieces += [Listing(tuple(map(named, seen.checked.notes)))] if seen.checked.notes else []
    return (PageSection("ledger", "What was spent of these data", tuple(pieces)),)


def _corrections(balance: Balance, made: Reserve) -> str:
    """Which release one replaces, and by which it is replaced."""
    replaces = f", replaces entry {made.edition.replaces}" if made.edition.replaces is not None else ""
    later = (
        "" if made.end is None else f", replaced by entry {number}" if (number := balance.replaced.get(made.end.number)) else ""
    )
    return replaces + later


def _periods(balance: Balance) -> list[Piece]:
    """What the releases of each period cost together, where releases name one."""
    told = [
        (period, f"{len(made)}", f"{sum(map(balance.is_replaced, made))}", cost_text(costs, balance.total))
        for period, made in balance.periods.items()
        for costs in [balance.allowance.spent([reserve.expense for reserve in made])]
    ]
    if not told:
        return []
    shown, left_out = shown_rows(told, "dp-designer ledger show has all.")
    columns = ("Period", "releases", "of them replaced", "cost together")
    note = f"What a replaced release cost stays spent. {left_out}".strip()
    return [Sheet("Releases by period of the data", columns, shown, frozenset({1, 2}), note)]


def _raises(seen: SeenLedger) -> list[Piece]:
    """The totals that the data set had, who stated them and why."""
    told = [
        (
            date_words(entry.content["time"]),
            Total.from_dict(entry.content["total"]).to_text(),
            named(entry.content["who"]),
            reason,
        )
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


def comparison(evidence: Evidence) -> Iterator[PageSection]:
    """Other families: what was computed for the page, or what the maker noted, where there is anything."""
    title, compared = "Other ways to do it", evidence.comparison
    if isinstance(compared, Comparison):
        yield PageSection("comparison", title, tuple(_compared(compared)))
        return
    pieces: list[Piece] = [Prose(named(compared, 400), "note")] if compared else []
    best = evidence.made.optimality
    if best is not None:
        gap = f" No design of its family can beat {closest(best.lower_bound, 6)}." if best.lower_bound else ""
        checked = "was computed with the design" if best.verified else "is a note of the maker, not recomputed"
        pieces.append(
            Prose(f"What was minimised: {named(best.objective, 300)}. Reached: {closest(best.value, 6)}.{gap} This {checked}.")
        )
    if pieces:
        yield PageSection("comparison", title, tuple(pieces))


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


def certificate(made: FrozenMechanism, contributor: Contributor[Any]) -> PageSection:
    """What was recomputed, and which theorem makes a promise of it."""
    sketch = contributor.sketch(made)
    why = Prose(f"{sketch.claim} Proof: {sketch.page}, installed with the program.")
    return PageSection("certificate", "The certificate, and why it is enough", (*contributor.certificate(made), why))


def full_statement(promise: Guarantee) -> PageSection:
    rows = [(name, verbatim_of(text, f"guarantee.{key}")) for name, key, text in _fields(promise)]
    return PageSection("statement", "The guarantee, word for word", (Entries(tuple(rows), verbatim=True),))


def _fields(promise: Guarantee) -> Iterator[tuple[str, str, str]]:
    numbers = ", ".join(f"{named(name.replace('_', ' '))} {value!r}" for name, value in promise.parameters.items())
    yield "Protects", "unit", promise.unit
    yield "Relation", "relation", promise.relation
    yield "Numbers of the promise", "parameters", numbers
    yield "Notion", "notion", promise.notion
    yield "Mechanism", "mechanism", promise.mechanism
    yield "Sampling", "sampling", promise.sampling
    yield "Numbers", "floating_point", promise.floating_point
    yield "Time", "timing", promise.timing
    yield "Afterwards", "post_processing", promise.post_processing


# What was recomputed for a page, what is only noted, what nothing here checks, and how to check it oneself.


FINGERPRINT = (
    'import hashlib, json, sys; m = json.load(open(sys.argv[1]))["mechanism"]; '
    'print(hashlib.sha256(json.dumps(m, sort_keys=True, separators=(",", ":")).encode()).hexdigest())'
)
SPEC_CHECKED = (
    "The spec: its seal fits; fingerprint, certificate and guarantee agree with the mechanism, which was built anew.",
)
MADE_CHECKED = ("The certificate was computed when the mechanism was built, in this program; no file was read.",)
BUILT = "The sampler was built, and can draw the promised noise."


def verification(evidence: Evidence, contributor: Contributor[Any]) -> PageSection:
    """What was recomputed now, and what is only noted."""
    release = evidence.release
    checked = [*(SPEC_CHECKED if evidence.loaded else MADE_CHECKED), BUILT]
    if release is not None:
        checked.append(
            "The release: its seal and fingerprint fit, the spec proves its guarantee, and the noise can reach every number."
        )
    checked += [_signed(signer, what) for what, signer in signers(evidence) if signer is not None]
    if evidence.ledger is not None:
        followed = counted(len(evidence.ledger.checked.entries), "entry", "entries")
        checked.append(f"The ledger was found, its chain of {followed} was checked, and no total is exceeded.")
        if evidence.ledger.checked.verified and (signatures := sum(evidence.ledger.checked.signed.values())):
            checked.append(f"Of the entries of the ledger {signatures} carry a valid signature of a key that might sign it.")
    pieces = (
        Prose("Recomputed for this page:"),
        Listing(tuple(checked)),
        Prose("Not checked by anything here:"),
        Listing(open_points(evidence, contributor)),
    )
    return PageSection("verification", "What was verified, and what was not", pieces)


def signers(evidence: Evidence) -> Iterator[tuple[str, SignedBy | None]]:
    """Each file that was looked at, and who signed it; None where nobody did."""
    yield "spec", evidence.signer
    yield "release", evidence.release.signer if evidence.release else None


def _signed(signer: SignedBy, what: str) -> str:
    return f"Signature of the {what}: {signer.sentence()}"


ALWAYS = (SAID, *OUTSIDE, *(f"{subject[0].upper()}{subject[1:]}: {words}." for subject, words in UNSEEN))


def open_points(evidence: Evidence, contributor: Contributor[Any]) -> tuple[str, ...]:
    """What nothing here checks, in sentences: each a short clause, and after a colon what there is to say of it."""
    found = list(contributor.open_points(evidence.made))
    if evidence.ledger is None:
        found.append("What else was released from these data: no ledger was looked at, and losses add up.")
    elif broken := [str(entry.number) for entry in evidence.ledger.checked.breaks]:
        found.append(f"Keys that are said to be lost: whether that is true, in entries {', '.join(broken)} of the ledger.")
    if evidence.deep is None:
        found.append("Whether the sampler draws what it should: deep verification tests that, and was not run.")
    if not any(signer for _, signer in signers(evidence)):
        found.append("Who made the files: no signature was looked at.")
    found += evidence.release.verdict.unchecked if evidence.release else OUTSIDE[:1]
    found += ALWAYS[-len(UNSEEN) :]
    return tuple(dict.fromkeys(found))


def deep_section(evidence: Evidence) -> tuple[PageSection, ...]:
    """The verdict of a deep verification, where one was run."""
    verdict = evidence.deep
    if verdict is None:
        return ()
    rows = tuple((named(f.subject), f.manner, _held(f.holds), named(f.words, 600)) for f in verdict.findings)
    held = "Nothing that was looked at fails." if verdict.holds else "Some of the lines below FAIL: release nothing with this."
    asked = (
        f"Each test would see an error of {100 * verdict.power.sees:g} % with a probability of {verdict.power.probability:g}; "
        f"all together they reject a correct sampler with a probability of {verdict.power.false_alarm:g}, by laws that many "
        "draws follow approximately (normal, chi-square)."
    )
    sheet = Sheet("Findings", ("What", "how", "holds", "found"), rows)
    return (
        PageSection("deep", "Deep verification", (Prose(held, "plain" if verdict.holds else "warning"), Prose(asked), sheet)),
    )


def _held(holds: bool | None) -> str:
    return {True: "yes", False: "NO, it fails", None: "not looked at"}[holds]


def _known_wheel() -> str:
    """Which wheel is meant."""
    known = wheel_hash()
    if known is None:
        return "Ask the publisher for the SHA-256 of the wheel; the first line must print it."
    return f"The first line must print {known}, the wheel that made this page."


def by_oneself(evidence: Evidence) -> PageSection:
    """The commands that repeat what this page says."""
    spec, release = shlex.quote(evidence.spec_name), evidence.release
    lines = [f"sha256sum {WHEEL}", f"python -m pip install ./{WHEEL}"]
    lines += [f"dp-designer verify --deep {spec}"]
    lines += [f"dp-designer verify {spec} {shlex.quote(release.name)}"] if release else []
    lines += [f"dp-designer ledger check {shlex.quote(evidence.ledger.name)}"] if evidence.ledger else []
    return PageSection(
        "check",
        "How to check it oneself",
        (
            Prose(f"With these files, the wheel and Python. {_known_wheel()} No package index has dp-designer."),
            Typed(tuple(lines)),
            Prose("The fingerprint, without this program:"),
            Typed((f"python3 -c {shlex.quote(FINGERPRINT)} {spec}",)),
        ),
    )

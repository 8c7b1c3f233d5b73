"""What each format of specs says of itself on a page; all that formats have in common is said here once."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Generic, TypeVar

from designer.accounts.composition.cost_record import DISTANCES, cost_of_entity, expense_of
from designer.accounts.composition.terms import cost_of_budget, protected_by
from designer.base.display import closest, counted
from designer.base.errors import InvalidProblem
from designer.certificate.certificate import PrivacyCertificate
from designer.certificate.frozen import FrozenMechanism, rate_of_left_out
from designer.publish.content import Entries, Listing, Piece, Prose, Sheet, named, verbatim_of
from designer.publish.meanings import LARGEST, NO_LIMIT, Meaning, Risk, above, meanings_of, one_in, percent, shift
from designer.relations.invariants.changes import ChangeRelation, InvariantDistance
from designer.tradeoff.costs import Cost, TotalCost

M = TypeVar("M", bound=FrozenMechanism)
ROWS = 10  # rows of a table on the page
DELTAS = tuple(Fraction(1, 10**digits) for digits in (4, 6, 8))
ODDS_COLUMNS = (
    "What may change",
    "budget",
    "odds shift by at most",
    "a chance of 1 in 20 (5 %) becomes at most",
    "right guesses at most",
)
NOT_PROTECTED = "not protected"
NOT_PROVEN = "not proven"


@dataclass(frozen=True)
class Topic:
    """A short answer for the first screen, a sentence with the details, and the pieces of the section behind it."""

    answer: str
    details: str
    pieces: tuple[Piece, ...] = ()


@dataclass(frozen=True)
class Worst:
    """What the strongest attacker gains at the change that is hidden least. change: in words. reason: why no number is known;
    empty where one is."""

    change: str
    cost: TotalCost | None = None
    reason: str = ""

    @property
    def risk(self) -> Risk | None:
        """The numbers; None where there are none."""
        return None if self.cost is None else Risk.of(self.cost)


@dataclass(frozen=True)
class ProofSketch:
    """What a theorem claims, in a sentence, and on which page its proof is."""

    claim: str
    page: str


class Contributor(ABC, Generic[M]):
    """The sections that depend on the format M of a spec."""

    def sketches(self) -> Mapping[str, ProofSketch]:
        """By every theorem that its certificates cite, what it claims and where its proof is."""
        return {}

    @abstractmethod
    def published(self, made: M) -> Topic:
        """What a release consists of."""

    @abstractmethod
    def accuracy(self, made: M) -> Topic:
        """How far released numbers are from the truth."""

    def elements(self, made: M) -> Sequence[str]:
        """The names of the values that a record can have; none where the domain is too large to list."""
        return ()

    def about_whom(self, made: M) -> str:
        """What one record is taken to be, and over how many values."""
        known = len(self.elements(made))
        return f"Records, each with one of {counted(known, 'value')}" if known else "Records"

    def rows(self, made: M, bound: int | None = None) -> list[tuple[Meaning, Cost | None]]:
        """Changes that people can picture, each with what it costs; None where it is not protected, or nothing is proven.

        bound: how many rows of an entity count, all of which change; None for one record. The same below.
        """
        told = meanings_of(protected_by(made), self.elements(made))
        return [(of_rows(meant, bound), _cost(made, meant.budget, bound)) for meant in told]

    def worst(self, made: M, bound: int | None = None) -> Worst:
        """What is gained at the change that is hidden least; where changes of any size are protected, at that of one record."""
        try:
            expense = expense_of(made, rows_per_entity=bound)
        except InvalidProblem as refusal:
            return Worst("", None, str(refusal))
        if expense.moves in DISTANCES:  # its cost is that of a unit of distance, and a record is more than one
            meant, one = self.rows(made, bound)[0]
            return Worst(meant.change, None if one is None else TotalCost((one,)))
        return Worst(expense.unit, TotalCost((expense.cost,)))

    def budgets(self, made: M, bound: int | None = None) -> tuple[Piece, ...]:
        """The table of budgets with what they mean, and (epsilon, delta) at several deltas where the promise has a delta."""
        rows, worst = self.rows(made, bound), self.worst(made, bound)
        if not rows:
            return (Prose("No protected change moves any answer: nothing can be told apart by them."),)
        risks = [Risk.of(cost) for _, cost in rows if cost is not None]
        but_for = next((risk.but_for for risk in risks if risk.delta), "")
        cells = tuple(_cells(meant, None if cost is None else Risk.of(cost)) for meant, cost in rows)
        sheet = Sheet("What budgets mean", ODDS_COLUMNS, cells, frozenset(range(1, 5)), _note(but_for))
        return (sheet, *left_out_note(made, bound), *epsilon_delta(worst.cost))

    def certificate(self, made: M) -> tuple[Piece, ...]:
        """What was recomputed, in numbers that can be read."""
        proof: PrivacyCertificate = made.privacy
        ratio = Fraction(0) if proof.worst_ratio is None else proof.worst_ratio
        rows = [
            ("Verdict", "holds" if proof.holds and not made.vacuous else "empty: nothing is hidden"),
            ("Budget used at most", f"{above(100 * ratio, 12)} % of what is allowed"),
            ("Changes covered", counted(proof.pairs, "pair") if proof.pairs else "all of them, by their lengths"),
            ("Worst change", named(proof.place, 300)),
            ("Computed in", verbatim_of(proof.arithmetic, "certificate.arithmetic")),
            ("Fingerprint", made.fingerprint),
        ]
        return (Entries(tuple(rows)),)

    def cited(self, made: M) -> str:
        """The theorem that the certificate cites."""
        found: str = made.privacy.theorem
        return found

    def sketch(self, made: M) -> ProofSketch:
        """Why that theorem is true; `InvalidProblem` for one that has no sketch."""
        theorem, sketches = self.cited(made), self.sketches()
        if theorem not in sketches:
            raise InvalidProblem(f"theorem: no sketch of a proof is known of {theorem[:80]!r}; add one to its page.")
        return sketches[theorem]

    def open_points(self, made: M) -> tuple[str, ...]:
        """What nothing here checks, of this format."""
        return ()

    def exact_note(self, made: M) -> tuple[Piece, ...]:
        """What somebody learns from what is published exactly."""
        try:
            protected: Any = protected_by(made)
        except InvalidProblem:
            return ()
        if not isinstance(protected, (ChangeRelation, InvariantDistance)):
            return ()
        return (Prose(OF_INVARIANTS, "warning"),)


OF_INVARIANTS = (
    "Only changes that keep these totals are protected. Someone who knows all records but one that a total counts can "
    "subtract, and learns the last one for certain. Whether the totals may be published is for the board to decide."
)


def _cost(made: FrozenMechanism, budget: Fraction | None, bound: int | None = None) -> Cost | None:
    """What a change of this budget costs, or that of so many rows of an entity, its pure promise alone where it has one; None
    where nothing is proven."""
    try:
        if budget is None:
            return None
        cost = cost_of_budget(made, budget).as_pure()
        return cost if bound is None else cost_of_entity(made, cost, bound)
    except InvalidProblem:
        return None


def of_rows(meant: Meaning, bound: int | None) -> Meaning:
    """A change of one record as one of all rows of an entity that count."""
    if bound is None:
        return meant
    change = f"all rows of one entity that count, at most {bound:,}, change so: {meant.change}"
    return replace(meant, change=change, budget=None if meant.budget is None else meant.budget * bound)


def left_out_note(made: FrozenMechanism, bound: int | None) -> tuple[Piece, ...]:
    """That the number of rows left out is in the odds, too, where it has noise."""
    rate = rate_of_left_out(made)
    if bound is None or rate is None:
        return ()
    epsilon = above(rate * bound, 3)
    told = f"The number of rows left out is released, too, at epsilon {epsilon}; the odds, chances and guesses above hold it."
    return (Prose(told, "note"),)


def odds_row(made: FrozenMechanism, meant: Meaning) -> tuple[str, ...]:
    """What a change means under the promise of an object: a row of `ODDS_COLUMNS`."""
    cost = _cost(made, meant.budget)
    return _cells(meant, None if cost is None else Risk.of(cost))


def odds_but_for(made: FrozenMechanism, meant: Meaning) -> str:
    """But for what the odds of `odds_row` hold, in words; empty where they always hold, or none do."""
    cost = _cost(made, meant.budget)
    return "" if cost is None or meant.budget is None else Risk.of(cost).but_for


def _cells(meant: Meaning, risk: Risk | None) -> tuple[str, ...]:
    if meant.budget is None:
        return (meant.change, "none", *(NOT_PROTECTED,) * 3)
    if risk is None:
        return (meant.change, closest(meant.budget, 6), *(NOT_PROVEN,) * 3)
    return (meant.change, closest(meant.budget, 6), *risk.cells())


def _note(but_for: str) -> str:
    left_out = f" Odds and chances hold{but_for}." if but_for else ""
    return f"Right guesses between two such cases, equally likely before; 50 % is chance.{left_out} All rounded up."


def epsilon_delta(cost: TotalCost | None) -> tuple[Piece, ...]:
    """The promise at the worst change as (epsilon, delta), a row for each delta, and beside it what odds exceed with no more
    than that chance, which is another number; nothing of a pure promise, which has none."""
    if cost is None or cost.epsilon is not None:
        return ()
    found = [(delta, cost.epsilon_at(delta)) for delta in DELTAS]
    if all(epsilon is None or epsilon > LARGEST for _, epsilon in found):
        return (Prose(f"For the worst change {NO_LIMIT} is proven.", "warning"),)
    rows = tuple(
        (one_in(delta), above(epsilon), *_odds_of(cost.loss_at(delta))) for delta, epsilon in found if epsilon is not None
    )
    return (
        Sheet(
            "The worst change, as (epsilon, delta) and as odds",
            (
                "delta",
                "epsilon",
                "odds shift by more with a chance of at most delta",
                "1 in 20 (5 %) becomes at most, but for that",
            ),
            rows,
            frozenset({1, 2, 3}),
            "One promise, read in several ways; the factor is more than exp(epsilon). Rounded up.",
        ),
    )


def _odds_of(loss: float | None) -> tuple[str, str]:
    cells = Risk(math.inf if loss is None else Fraction(loss), Fraction(0), 1.0).cells()
    return cells[0], cells[1]


def risk_words(risk: Risk) -> str:
    """What an attacker gains, in a clause."""
    if risk.exponent > LARGEST:
        return f"{NO_LIMIT} is proven"
    return f"odds shift by at most {shift(risk.exponent)}{risk.but_for}"


def guess_words(risk: Risk) -> str:
    """How well two cases are told apart, in a sentence; empty where nothing is proven of it."""
    told = f"Guesses between two such cases are right in at most {percent(risk.guess)} of releases; chance is 50 %."
    return "" if risk.exponent > LARGEST else told


def shown_rows(rows: Sequence[tuple[str, ...]], where: str) -> tuple[tuple[tuple[str, ...], ...], str]:
    """As many rows as a page shows, and a sentence on the others."""
    if len(rows) <= ROWS:
        return tuple(rows), ""
    return tuple(rows[:ROWS]), f"The first {ROWS:,} of {len(rows):,} rows. {where}"


def listed(names: Sequence[str], what: str) -> tuple[Piece, ...]:
    """Names as a list of limited length, where there are any."""
    if not names:
        return ()
    more = (f"... and {len(names) - ROWS:,} more {what}",) if len(names) > ROWS else ()
    return (Listing((*map(named, names[:ROWS]), *more)),)

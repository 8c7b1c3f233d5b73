"""The first screen of a page: what a board has to know to decide, one line for each question."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from operator import ge
from typing import Any

from designer.accounts.chain import DatasetTerms
from designer.accounts.composition.cost_record import expense_of
from designer.accounts.composition.privacy_in_words import DELTA, NONE, entity_words, privacy_words
from designer.accounts.ledger_text import cost_text, left_text
from designer.accounts.totals import Total
from designer.base.display import counted
from designer.base.errors import InvalidProblem
from designer.base.version import VERSION
from designer.files.signatures import SignedBy
from designer.problem.relation import RECORDS_PUBLIC
from designer.publish.content import Evidence, Headline, named, some
from designer.publish.contributor import Contributor, Topic, Worst, guess_words, risk_words
from designer.publish.meanings import LARGEST, Meaning, Risk, shift
from designer.publish.sections import ALWAYS, drowned, open_points, signers
from designer.tradeoff.costs import Cost, TotalCost

ABOUT = "Stated by the publisher, not proven."
HIGH = Fraction(5)  # an epsilon above which the first screen asks for attention
SAME = Fraction(1, 10**6)  # of two exponents, one of a budget in floats and one of its exact value
UNSAID = "State them under [about] in the problem file."


def headlines(evidence: Evidence, contributor: Contributor[Any], published: Topic, accuracy: Topic) -> tuple[Headline, ...]:
    """The lines of the first screen: what a signer decides first, then what the decision rests on."""
    return (
        Headline("What is published?", published.answer, published.details, "published"),
        Headline("About whom?", _whom(evidence, contributor), section="statement"),
        _unprotected(evidence, contributor),
        *_gain(evidence, contributor),
        _promised(evidence),
        _accurate(evidence, accuracy),
        _spent(evidence),
        _verified(evidence),
        _maker(evidence),
        _open(evidence, contributor),
    )


def _whom(evidence: Evidence, contributor: Contributor[Any]) -> str:
    """Who is protected: entities where their rows were bounded. The maker's word is one for a row, and never one for them."""
    made, bound = evidence.made, evidence.bound
    word, whom = named(made.about.record, 200), contributor.about_whom(made)
    if bound is not None:
        said = f', a row said to be "{word}"' if word else ""
        column, rows = named(evidence.row.entity), counted(bound, "row")
        whom = f"Entities: all rows with one value of {column}, of which at most {rows} of each counted{said}"
    elif word:
        whom = f'One row, said to be "{word}"; nothing bounds how many rows one has'
    return whom


def _promised(evidence: Evidence) -> Headline:
    """The line that every output has, of the entity where the release bounded the rows of each."""
    made, bound = evidence.made, evidence.bound
    answer, _, change = privacy_words(made, rows_per_entity=bound).partition(", at most, where ")
    answer = "No single number" if answer.startswith(NONE) else answer
    try:
        cost = TotalCost((expense_of(made, rows_per_entity=bound).cost,))
        epsilon = cost.epsilon_at(DELTA) if cost.epsilon is None else cost.epsilon
    except InvalidProblem:
        epsilon = None
    high = epsilon is None or epsilon > HIGH
    details = f"Where {change}." if change and bound is not None else ""
    details += f" Above {HIGH}: a weak promise." if high and change else ""
    return Headline("What is promised?", _capital(answer), details.strip(), "budgets", high)


def _accurate(evidence: Evidence, accuracy: Topic) -> Headline:
    """How far off answers are, and, of a release, whether noise is more than there is of some."""
    few, all_of = drowned(evidence.release)
    below = f" {few:,} of {all_of:,} answers are below their margin." if few else ""
    return Headline("How accurate is it?", accuracy.answer, accuracy.details + below, "accuracy", alarm=bool(few))


def _maker(evidence: Evidence) -> Headline:
    """The maker's words for who publishes what data of which time, and whose key signed."""
    about, question = evidence.made.about, "Who made it, from what?"
    said = [named(words, 200) for words in (about.publisher, about.data, about.period) if words]
    signed = [f"{what} ({_name(signer)})" for what, signer in signers(evidence) if signer is not None]
    keys = f"Signed: {', '.join(signed)}." if signed else "No signature was looked at."
    answer = "; ".join(said) or "Not stated in the files"
    return Headline(question, answer, f"{keys} {ABOUT if said else UNSAID}", "verification", alarm=not said)


def _name(signer: SignedBy) -> str:
    """The name that a signer states, and the beginning of the key, which is what was checked."""
    own = f"by {named(signer.name)}, " if signer.name else ""
    return f"{own}key {signer.key.fingerprint[:12]}{'' if signer.trusted else ', that nobody vouched for here'}"


def _gain(evidence: Evidence, contributor: Contributor[Any]) -> Iterator[Headline]:
    """What the strongest attacker gains: nearby first, where there is such a thing, and at worst."""
    made, bound = evidence.made, evidence.bound
    question = "What can an attacker gain?"
    if made.vacuous:
        yield Headline(question, "Everything: nothing is hidden", f"{made.vacuous}.", "budgets", alarm=True)
        return
    worst, rows = contributor.worst(made, bound), contributor.rows(made, bound)
    near = [(meant.change, Risk.of(cost)) for meant, cost in rows if cost is not None]
    if worst.risk is None:
        yield Headline(question, "No bound for all records is proven", _reason(worst, near), "budgets", alarm=True)
        return
    least = _nearest(near, worst.risk)
    answer = f"At worst {risk_words(worst.risk)}"
    if least is not None:
        rare = "" if worst.risk.but_for else least[1].but_for
        answer = f"{shift(least[1].exponent)} on the odds where {least[0]}{rare}; at worst {risk_words(worst.risk)}"
    whose = entity_words(made, evidence.row) or f"When {_farthest(rows, worst.risk) or worst.change}."
    details = f"{whose} {guess_words(worst.risk)}".strip()
    yield Headline(question, _capital(answer), details, "budgets", worst.risk.exponent > LARGEST)


def _farthest(rows: list[tuple[Meaning, Cost | None]], worst: Risk) -> str:
    """The change that people can picture with the largest budget of all; empty where a change has none, or gains more."""
    known = [(meant.budget, meant.change, cost) for meant, cost in rows if meant.budget is not None]
    if not known or len(known) < len(rows):
        return ""
    _, change, cost = max(known, key=lambda entry: entry[:2])
    beyond = cost is not None and Risk.of(cost).exponent > worst.exponent * (1 + SAME)
    return "" if beyond else change


def _nearest(near: list[tuple[str, Risk]], worst: Risk) -> tuple[str, Risk] | None:
    """The smallest change that people can picture, where less than half as much is gained by it as at worst."""
    least = min(near, key=lambda entry: entry[1].exponent, default=None)
    return least if least is not None and least[1].exponent * 2 < worst.exponent else None


def _reason(worst: Worst, near: list[tuple[str, Risk]]) -> str:
    example = f" For example, {near[0][0]}: {risk_words(near[0][1])}." if near else ""
    return f"{_capital(named(worst.reason.removeprefix('mechanism: '), 400)).rstrip('.')}.{example}"


def _unprotected(evidence: Evidence, contributor: Contributor[Any]) -> Headline:
    """What is NOT protected: answers without noise, changes without a budget, what the relation leaves public, and what the
    guarantee of the release adds."""
    made = evidence.made
    question, exact, lines = "What is NOT protected?", made.exact, made.guarantee.unprotected
    bare = [meant.change for meant, _ in contributor.rows(made, evidence.bound) if meant.budget is None and not meant.sized]
    told = [f"{counted(len(exact), 'answer')} published exactly, without any noise ({some(exact)})"] if exact else []
    told += [f"nobody is protected where {bare[0]}"] if bare else []
    first = 2 if sum(len(_clause(line)) for line in lines[:2]) <= 120 else 1  # characters
    told += [_clause(line) for line in lines[:first]] if not bare else []
    told += [f"{len(lines) - first} more"] if len(lines) > first and not bare else []
    added = [line for line in evidence.guarantee.unprotected if line not in lines]
    details = " ".join(f"{_clause(line)}." for line in added[:2])
    usual = not exact and not bare and lines in ((), (RECORDS_PUBLIC,))
    return Headline(
        question,
        _capital(". ".join(told)) or "Nothing is left public by design",
        details,
        "unprotected",
        not usual,
    )


def _clause(line: str) -> str:
    """The first sentence of what is public, without what it lists or explains behind a colon."""
    return named(line.split(". ")[0].split(": ")[0].rstrip("."), 160)


def _verified(evidence: Evidence) -> Headline:
    """Recomputed now, by this version; by whom it was signed."""
    deep, release = evidence.deep, evidence.release
    failed = deep is not None and not deep.holds
    answer = "NO: deep verification fails" if failed else f"Yes, by dp-designer {VERSION}, for this page"
    parts = [f"{named(release.name)} is consistent with this mechanism."] if release else []
    parts += ["Deep verification was run, too."] if deep is not None and not failed else []
    return Headline("Was it verified?", answer, " ".join(parts), "verification", alarm=failed)


def _spent(evidence: Evidence) -> Headline:
    """What a ledger says of the data set; that none was looked at, otherwise."""
    question, seen = "What was spent before?", evidence.ledger
    if seen is None:
        return Headline(question, "Not known: no ledger was looked at", "", "verification", True)
    balance = seen.balance
    refused = seen.forecast is not None and seen.forecast.refusal is not None
    answer = f"{cost_text(balance.spent, balance.total)} of {balance.total.to_text()}"
    left = f"Left: {left_text(balance.total, balance.spent.total)}."
    left += _restated([allowance for _, allowance in balance.history])
    if large := _limits_nothing(balance.total):
        left += " A total as large as this leaves no meaningful protection."
    if broken := bool(seen.checked.breaks):
        left += " The keys that signed this ledger are said to be lost: ask who answers for it."
    if refused:
        left += " One more release of this mechanism would be refused."
    return Headline(question, answer, left, "ledger", alarm=refused or large or broken)


def _restated(stated: Sequence[DatasetTerms]) -> str:
    """How often the terms of a data set were stated anew: with a larger total, or otherwise."""
    raised = sum(_larger(after.total, before.total) for before, after in pairwise(stated))
    others = len(stated) - 1 - raised
    told = f" The total was raised {_times(raised)}." if raised else ""
    return told + (f" The terms were stated anew {_times(others)}, not with a larger total." if others else "")


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _larger(after: Total, before: Total) -> bool:
    """Whether a total of the same notion allows more, and nothing less."""
    new, old = ((Fraction(t.epsilon or 0), Fraction(t.delta or 0), Fraction(t.rho or 0)) for t in (after, before))
    return after.notion == before.notion and new != old and all(map(ge, new, old))


def _limits_nothing(total: Total) -> bool:
    """Would releases that use all of this total leave no meaningful protection?"""
    if total.rho is None:
        return Fraction(total.epsilon or 0) > LARGEST
    return Risk.of(Cost.concentrated(Fraction(total.rho))).exponent > LARGEST


def _open(evidence: Evidence, contributor: Contributor[Any]) -> Headline:
    """The open points of these files in a clause each; those of every release together, at the end."""
    every = open_points(evidence, contributor)
    own = [point for point in every if point not in ALWAYS]
    points = [_capital(re.split("[:,]", point)[0].rstrip(".")) for point in own[:3]]
    left = len(every) - len(points)
    points += [f"{counted(left, 'more', 'more')}, in the annex"] if left else []
    question = "What is left to judge?"
    return Headline(question, counted(len(every), "open point"), "", "verification", points=tuple(points))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]

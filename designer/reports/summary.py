"""The first screen of a page: what a board has to know to decide, one line for each question."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from designer.certified.specified import Specified
from designer.ledger.words import cost_text, left_text
from designer.question.relation import RECORDS_PUBLIC
from designer.reports.content import Headline
from designer.reports.contributor import Contributor, Told, Worst, guess_words, risk_words
from designer.reports.evidence import Evidence
from designer.reports.names import counted, named, some
from designer.reports.odds import LARGEST, Risk, shift
from designer.reports.standing import open_points
from designer.values.times import utc_text
from designer.version import VERSION


def headlines(evidence: Evidence, contributor: Contributor[Any], published: Told, accuracy: Told) -> tuple[Headline, ...]:
    """The lines of the first screen, in the order in which they are asked."""
    made = evidence.made
    return (
        Headline("What is published?", published.answer, published.details, "published"),
        Headline("About whom?", _whom(made, contributor), made.guarantee.unit, "hidden"),
        *_gain(made, contributor),
        _unprotected(made, contributor),
        Headline("How accurate is it?", accuracy.answer, accuracy.details, "accuracy"),
        _verified(evidence, utc_text(evidence.time)),
        _spent(evidence),
        _open(evidence, contributor),
    )


def _whom(made: Specified, contributor: Contributor[Any]) -> str:
    about = made.about
    return named(about.record, 200) if about.record else contributor.about_whom(made)


def _gain(made: Specified, contributor: Contributor[Any]) -> Iterator[Headline]:
    """What the strongest attacker gains: nearby first, where there is such a thing, and at worst."""
    question = "What can the strongest attacker gain?"
    if made.vacuous:
        yield Headline(question, "Everything: nothing is hidden", f"{made.vacuous}.", "budgets", alarm=True)
        return
    worst = contributor.worst(made)
    near = [(meant.change, Risk.of(cost)) for meant, cost in contributor.rows(made) if cost is not None]
    if worst.risk is None:
        yield Headline(question, "No bound for all records is proven", _reason(worst, near), "budgets", alarm=True)
        return
    least = _nearest(near, worst.risk)
    answer = f"At worst {risk_words(worst.risk)}"
    if least is not None:
        answer = f"{shift(least[1].exponent)} on the odds where {least[0]}; at worst {risk_words(worst.risk)}"
    details = f"At worst: when {worst.change}. {guess_words(worst.risk)}"
    yield Headline(question, _capital(answer), details, "budgets", worst.risk.exponent > LARGEST)


def _nearest(near: list[tuple[str, Risk]], worst: Risk) -> tuple[str, Risk] | None:
    """The smallest change that people can picture, where less than half as much is gained by it as at worst."""
    least = min(near, key=lambda entry: entry[1].exponent, default=None)
    return least if least is not None and least[1].exponent * 2 < worst.exponent else None


def _reason(worst: Worst, near: list[tuple[str, Risk]]) -> str:
    example = f" For example, {near[0][0]}: {risk_words(near[0][1])}." if near else ""
    return f"{_capital(named(worst.reason.removeprefix('mechanism: '), 400)).rstrip('.')}.{example}"


def _unprotected(made: Specified, contributor: Contributor[Any]) -> Headline:
    """What is NOT protected: answers without noise, changes without a budget, and what the relation leaves public."""
    question, exact, lines = "What is NOT protected?", made.exact, made.guarantee.unprotected
    bare = [meant.change for meant, _ in contributor.rows(made) if meant.budget is None and not meant.sized]
    told = [f"{counted(len(exact), 'answer')} published exactly, without any noise ({some(exact)})"] if exact else []
    told += [f"nobody is protected where {bare[0]}"] if bare else []
    told += [named(lines[0], 160).rstrip(".")] if len(lines) == 1 and not bare else []
    told += [f"{len(lines)} things are public or have no budget"] if len(lines) > 1 else []
    details = "" if len(lines) == 1 and not bare else " ".join(named(line, 240) for line in lines[:4])
    more = " And more: read on." if len(lines) > 4 else ""
    usual = not exact and not bare and lines in ((), (RECORDS_PUBLIC,))
    return Headline(
        question, _capital("; ".join(told)) or "Nothing is left public by design", details + more, "unprotected", not usual
    )


def _verified(evidence: Evidence, time: str) -> Headline:
    """Recomputed now, by this version; by whom it was signed."""
    deep, release = evidence.deep, evidence.release
    failed = deep is not None and not deep.holds
    answer = "NO: deep verification fails" if failed else f"Yes, recomputed {time} by dp-designer {VERSION}"
    parts = ["The certificate and the guarantee follow from the numbers of the mechanism alone."]
    parts += [f"The release {named(release.name)} is one that it may have made."] if release else []
    parts += ["Deep verification was run, too."] if deep is not None and not failed else []
    return Headline("Was it verified?", answer, " ".join(parts), "verification", alarm=failed)


def _spent(evidence: Evidence) -> Headline:
    """What a ledger says of the data set; that none was looked at, otherwise."""
    question, seen = "How much was spent of these data in all?", evidence.ledger
    if seen is None:
        return Headline(
            question, "Not known: no ledger was looked at", "Losses of several releases add up.", "verification", True
        )
    balance = seen.balance
    refused = seen.forecast is not None and seen.forecast.refusal is not None
    answer = f"{cost_text(balance.spent, balance.total)} of {balance.total.to_text()}"
    left = f"Left: {left_text(balance.total, balance.spent.total)}."
    if refused:
        left += " One more release of this mechanism would be refused."
    return Headline(question, answer, left, "ledger", alarm=refused)


def _open(evidence: Evidence, contributor: Contributor[Any]) -> Headline:
    points = open_points(evidence, contributor)
    return Headline(
        "What is left for people to judge?", counted(len(points), "open point"), " ".join(points[:2]), "verification"
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]

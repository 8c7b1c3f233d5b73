"""What a ledger says, for people: lines for the terminal, and the plain data of a forecast."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from designer.accounts.chain import Entry
from designer.accounts.check import Checked
from designer.accounts.composition.cost_record import Spent
from designer.accounts.dataset_state import SCOPED, Balance, Reserve, figures
from designer.accounts.ledger import Forecast
from designer.accounts.signers import APPROVED, KEYS, LOST, SigningRule, break_words, key_name
from designer.accounts.totals import Total, decimal_text
from designer.base.display import counted, printed
from designer.tradeoff.costs import TotalCost


def balance_lines(balance: Balance) -> list[str]:
    """One data set: its total, what is spent and what is left."""
    states = [reserve.state for reserve in balance.reserves]
    came = [f"{states.count(state)} {word}" for state, word in STATES.items() if state in states]
    allowed = balance.allowance.publishes
    unprotected = "anything" if allowed is None else " ".join(allowed) or "nothing"
    return [
        f"{printed(balance.name)}: total {balance.total.to_text()}; may be unprotected: {unprotected}",
        *_line("releases", ", ".join(came) or "none"),
        *(line for period, made in balance.periods.items() for line in _line(period, _of_period(balance, made))),
        *_line("protects", balance.spent.unit),
        *_line("spent", cost_text(balance.spent, balance.total)),
        *_line("left", left_text(balance.total, balance.spent.total)),
    ]


STATES = {"released": "released", "abandoned": "abandoned (spent)", "reserved": "open or interrupted (spent)"}


def _of_period(balance: Balance, made: tuple[Reserve, ...]) -> str:
    """How many releases a period has, and how many of them were corrected."""
    replaced = sum(map(balance.is_replaced, made))
    return counted(len(made), "release") + (f", {replaced} of them replaced (spent)" if replaced else "")


def _line(name: str, words: str) -> list[str]:
    return [f"  {name + ':':12}{words}"]


def cost_text(cost: Spent, total: Total) -> str:
    """What something costs in each notion that it has, rounded up."""
    parts = [f"epsilon {decimal_text(cost.epsilon)} (pure)"] if cost.epsilon is not None else []
    parts += [f"rho {decimal_text(cost.rho)} (zCDP)"] if cost.rho is not None else []
    if total.delta is not None:
        epsilon = cost.epsilon_at(total.delta)
        delta, at = Fraction(cost.delta_at(total.epsilon)), Fraction(total.epsilon or 0)
        parts += [f"delta {decimal_text(delta)} at epsilon {decimal_text(at)}"]
        parts += (
            []
            if epsilon is None
            else [f"epsilon {decimal_text(Fraction(epsilon))} at delta {decimal_text(Fraction(total.delta))}"]
        )
    return ", ".join(parts) or "no finite amount"


def left_text(total: Total, spent: TotalCost) -> str:
    """A further release of each notion that is covered, rounded down."""
    names, least = {"pure": "epsilon", "zcdp": "rho"}, "" if total.delta is None else "at least "
    left = total.left(spent)
    parts = [f"{names[notion]} {decimal_text(value, up=False)} ({notion})" for notion, value in left.items() if value]
    return f"{least}{' or '.join(parts)} for one more release" if parts else "nothing"


def entry_lines(entry: Entry) -> list[str]:
    """One entry, and what it says."""
    content = entry.content
    signed = "" if content["signer"] is None else f", signed by {key_name(content['signer'])}"
    about = f" {printed(content['dataset'])}:" if "dataset" in content else ""
    head = f"{entry.number:5} {content['time']} {printed(content['who'])}{signed}: {entry.kind}{about} {_gist(entry)}"
    return [head, f"      {entry.hash}"]


def _gist(entry: Entry) -> str:
    content = entry.content
    if entry.kind in ("stated", "raised"):
        reason = f", because: {printed(content['reason'])}" if entry.kind == "raised" else ""
        return f"total {Total.from_dict(content['total']).to_text()}{reason}"
    if entry.kind == "reserved":
        edition = "".join(f", {name} {content[name]}" for name in ("period", "replaces") if name in content)
        return f"{printed(content['expense']['format'])} {printed(content['expense']['fingerprint'])}{edition}"
    if entry.kind == "opened":
        return printed(content["software"])
    if entry.kind == "summed":
        return f"all releases of {counted(len(content['standings']), 'data set')}"
    if entry.kind in (KEYS, LOST):
        reason = f", because: {printed(content['reason'])}" if entry.kind == LOST else ""
        return f"{SigningRule(content['keys'], content['signatures']).to_text()}{reason}"
    if entry.kind == APPROVED:
        return f"that may follow: {_approved(content['entry'])}"
    output = f", output {printed(content['output'])}" if entry.kind == "released" else ""
    return f"of entry {content['reservation']}{output}"


def _approved(content: dict[str, Any]) -> str:
    if content["kind"] == KEYS:
        return f"keys, {SigningRule(content['keys'], content['signatures']).to_text()}"
    return f"a release from {printed(content['dataset'])}, {printed(content['expense']['fingerprint'])}"


def signing_lines(entries: Sequence[Entry], rules: Sequence[SigningRule]) -> list[str]:
    """Who may sign since when, each break by itself, and what was approved and not yet done; nothing where nobody signs."""
    lines = []
    for rule in rules:
        if rule.keys and (stated := entries[rule.since - 1]):
            lines += [f"BREAK. {break_words(stated)} Its hash: {stated.hash}"] if stated.kind == LOST else []
            lines.append(f"From entry {rule.since} on ({stated.content['time']}) signed by {rule.to_text()}.")
    waiting = [str(number) for number, *_ in rules[-1].approvals]
    return [*lines, *([f"Approved, and not yet made: entries {', '.join(waiting)}."] if waiting else [])]


def check_lines(found: Checked) -> list[str]:
    """A ledger that holds."""
    signed = [f"{number} entries carry a signature of {key_name(key)}." for key, number in found.signed.items()]
    followed = counted(len(found.entries), "entry", "entries")
    interrupted = [f"Reservations without an end, spent: entries {', '.join(map(str, found.open))}."] if found.open else []
    return [
        f"Ledger {found.ledger} was found, its chain of {followed} was checked, and no total is exceeded.",
        *(line for balance in found.balances for line in balance_lines(balance)),
        *interrupted,
        *signed,
        *signing_lines(found.entries, found.rules),
        *found.notes,
        f"Head {found.head}",
    ]


def forecast_lines(forecast: Forecast) -> list[str]:
    """What one more release would do."""
    balance = forecast.balance
    lines = [
        *balance_lines(balance),
        f"One more release of this, where {forecast.cost.unit}:",
        *_line("costs", cost_text(forecast.cost, balance.total)),
    ]
    if scope := forecast.cost.expenses[0].scope:
        lines += _line("allowed by", f"--publishes {SCOPED.format(scope=scope[:32])!r}")
    if forecast.after is not None:
        lines += _line("then spent", cost_text(forecast.after, balance.total))
    if forecast.refusal is not None:
        return [*lines, f"Would be refused. {forecast.refusal}"]
    assert forecast.after is not None
    return [*lines, *_line("then left", left_text(balance.total, forecast.after.total))]


def forecast_data(forecast: Forecast) -> dict[str, Any]:
    """The same as plain data."""
    total, after = forecast.balance.total, forecast.after
    left = None if after is None or forecast.refusal else total.left(after.total)
    return {
        "balance": forecast.balance.to_dict(),
        "cost": figures(forecast.cost, total),
        "after": None if after is None else figures(after, total),
        "left_after": None
        if left is None
        else {notion: None if value is None else str(value) for notion, value in left.items()},
        "refusal": forecast.refusal,
    }

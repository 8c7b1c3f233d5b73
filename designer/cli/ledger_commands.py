"""What is said of a ledger, and to it: ledger create, raise, keys, show, check, plan."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from designer.accounts.chain import Edition, Entry
from designer.accounts.check import Checked, checked, plain_check, require_recorded
from designer.accounts.ledger import Ledger
from designer.accounts.ledger_text import balance_lines, check_lines, entry_lines, forecast_data, forecast_lines, signing_lines
from designer.accounts.signers import key_name, rules_of
from designer.accounts.store import content_hash
from designer.accounts.totals import Total
from designer.base.display import printed
from designer.base.errors import InvalidLedger, InvalidProblem
from designer.cli.ledger_options import add_check_options, add_edition, add_who, entry_signer
from designer.cli.options import SPEC, add_signer, command, loaded
from designer.cli.signing_commands import add_key_options, given_key
from designer.files.signatures import EntryCheck, PublicKey, trusted_keys
from designer.relations.records.row_unit import row_unit_of

LEDGER = "ledger (SQLite)"


def add_ledger(own: argparse._SubParsersAction[Any]) -> None:
    """ledger create, raise, keys, show, check, plan."""
    made = command(own, "create", "state a data set and its total, in a new ledger or in one that is there", LEDGER)
    made.set_defaults(run=_create)
    _add_terms(made)
    made.add_argument("--content", type=Path, help="the data file, whose SHA-256 is kept and compared before each release")
    _add_keys(made, "--also", default=[])
    again = "state a new total of a data set, or what else it may leave unprotected, by name and with a reason"
    made = command(own, "raise", again, LEDGER)
    made.set_defaults(run=_raise)
    _add_terms(made)
    made.add_argument("--reason", required=True, help="why, for those who read the ledger")
    made = command(own, "keys", "name the keys that may sign from here on, signed by one that may sign now", LEDGER)
    made.set_defaults(run=_keys)
    _add_keys(made, "--name", required=True)
    lost = "no key that may sign now is left: why; one of the new keys signs, and `check` calls it a break"
    made.add_argument("--lost", metavar="REASON", help=lost)
    made.add_argument("--approve", action="store_true", help="only approve this, for another key; where two are needed")
    add_who(made)
    add_key_options(made, "sign the entry")
    made = command(own, "show", "what was released, what it cost and what is left, in each notion", LEDGER)
    made.set_defaults(run=_show)
    made.add_argument("--dataset", help="only this data set")
    made.add_argument("--entries", action="store_true", help="every entry, too")
    made = command(own, "check", "follow the whole chain, and hold every total against its expenses", LEDGER)
    made.set_defaults(run=_check)
    made.add_argument("--release", type=Path, action="append", default=[], help="a release that must be recorded; several")
    add_check_options(made)
    add_signer(made, "a ledger that none of these keys has opened, or with an entry of a key that follows from none")
    made = command(own, "plan", "what a release of a spec would cost, and what would be left; nothing is recorded", SPEC)
    made.set_defaults(run=_plan)
    made.add_argument("--ledger", type=Path, required=True, help="the ledger")
    made.add_argument("--dataset", required=True, help="the data set in it")
    made.add_argument("--entity", help="as for release")
    made.add_argument("--rows-per-entity", type=int, help="as for release")
    made.add_argument("--approve", action="store_true", help="sign that another key may release it, once; where two are needed")
    add_edition(made)
    add_who(made)
    add_key_options(made, "sign the approval")


def _add_keys(made: argparse.ArgumentParser, option: str, **more: Any) -> None:
    made.add_argument(option, type=Path, action="append", metavar="PUBLIC", help="a key that may sign, too; several", **more)
    help_text = "how many different keys a release and a change of keys need, 1 or 2"
    made.add_argument("--signatures", type=int, default=1, metavar="N", help=help_text)


def _add_terms(made: argparse.ArgumentParser) -> None:
    """The total of a data set, and what may be unprotected."""
    made.add_argument("--dataset", required=True, help="the name of the data set")
    made.add_argument("--epsilon", help="the total of pure privacy; with --delta that of (epsilon, delta)")
    made.add_argument("--delta", help="goes with --epsilon, such as 1e-6")
    made.add_argument("--rho", help="the total of zero-concentrated privacy")
    allowed = "what releases may leave unprotected: a sentence of their guarantee; several"
    made.add_argument("--publishes", action="append", default=[], metavar="SENTENCE", help=allowed)
    made.add_argument("--allow-unprotected", action="store_true", help="releases may leave unprotected whatever they say")
    add_who(made)
    add_key_options(made, "sign the entry")


def _total(options: argparse.Namespace) -> Total:
    return Total(epsilon=options.epsilon, delta=options.delta, rho=options.rho)


def _publishes(options: argparse.Namespace) -> Sequence[str] | None:
    return None if options.allow_unprotected else options.publishes


def _create(options: argparse.Namespace) -> tuple[str, Any]:
    total, publishes = _total(options), _publishes(options)
    also, signatures = _identifiers(options.also), options.signatures
    new, signer = (
        bool(also) or signatures != 1,
        entry_signer(given_key(options)),
    )  # further keys are named of a new ledger alone
    ledger = Ledger.create(options.file, who=options.who, signer=signer, exist_ok=not new, also=also, signatures=signatures)
    opened, *rest = ledger.entries()
    content = content_hash([options.content], ledger.id) if options.content else None
    balance = ledger.state(options.dataset, total, publishes=publishes, content=content).balance()
    there = f" It was there before: {entry_lines(opened)[0].strip()}" if rest and not new else ""
    lines = [f"{printed(options.file)}: ledger {ledger.id}, head {ledger.head}.{there}", *_signing(ledger.entries())]
    lines += balance_lines(balance)
    return "\n".join(lines), {"ledger": ledger.id, "head": ledger.head, **balance.to_dict()}


def _signing(entries: Sequence[Entry]) -> list[str]:
    return signing_lines(entries, rules_of(entries))


def _identifiers(paths: Sequence[Path]) -> list[str]:
    return [PublicKey.read(path).digits for path in paths]


def _opened(options: argparse.Namespace, path: Path) -> Ledger:
    """To write to, in the name and with the key that a command gives."""
    return Ledger(path, who=options.who, signer=entry_signer(given_key(options)))


def _keys(options: argparse.Namespace) -> tuple[str, Any]:
    ledger, named = _opened(options, options.file), _identifiers(options.name)
    rule = ledger.name_keys(named, signatures=options.signatures, lost=options.lost, approve=options.approve)
    return "\n".join(_signing(ledger.entries())), {"ledger": ledger.id, "head": ledger.head, "rule": rule.to_dict()}


def _raise(options: argparse.Namespace) -> tuple[str, Any]:
    stated = any(number is not None for number in (options.epsilon, options.delta, options.rho))
    if not stated and _publishes(options) == []:
        raise InvalidProblem("ledger raise: changes nothing; give a total, --publishes or --allow-unprotected.")
    balance = (
        _opened(options, options.file)
        .dataset(options.dataset)
        .raise_total(_total(options) if stated else None, options.reason, publishes=_publishes(options))
    )
    return "\n".join(balance_lines(balance)), balance.to_dict()


def _show(options: argparse.Namespace) -> tuple[str, Any]:
    ledger = Ledger(options.file)
    entries = ledger.entries()
    names = [options.dataset] if options.dataset is not None else ledger.datasets
    balances = [ledger.dataset(name).balance() for name in names]
    lines = [f"Ledger {ledger.id}, {len(entries)} entries, head {entries[-1].hash}."]
    lines += _signing(entries)
    lines += [line for balance in balances for line in ("", *balance_lines(balance))]
    shown = [entry for entry in entries if options.dataset in (None, entry.content.get("dataset"))]
    if options.entries:
        lines += ["", *(line for entry in shown for line in entry_lines(entry))]
    data = {"ledger": ledger.id, "head": entries[-1].hash, "datasets": [balance.to_dict() for balance in balances]}
    return "\n".join(lines), {**data, "entries": [entry.to_dict() for entry in shown]}


def _check(options: argparse.Namespace) -> tuple[str, Any]:
    return check_ledger(options, options.release)


def check_ledger(options: argparse.Namespace, releases: Sequence[Path]) -> tuple[str, Any]:
    """The check of the ledger that a command is about, and of releases that it must have recorded."""
    named = None if options.signer is None else [key.digits for key in trusted_keys(options.signer)]
    found = checked(Ledger(options.file), head=options.head, trusted=EntryCheck(), accepted=options.accept_break)
    if named is not None:
        _require_opened_by(named, found)
    recorded = {str(path): require_recorded(found.entries, path).number for path in releases}
    lines = [*check_lines(found), *(f"{printed(path)}: recorded as entry {number}." for path, number in recorded.items())]
    return "\n".join(lines), {**plain_check(found), "releases": recorded}


def _require_opened_by(keys: Sequence[str], found: Checked) -> None:
    """`InvalidLedger` where the first entry is not signed by one of these: of every later one the key follows from it."""
    key = found.entries[0].content["signer"]
    if key is None:
        raise InvalidLedger("ledger: entry 1 is not signed; ask for signatures (--signer) only where all entries are.")
    if key not in keys:
        raise InvalidLedger(
            f"ledger: entry 1, and {found.signed[key]} in all, carry a valid signature of {key_name(key)}, which no --signer "
            "names. If that key was to open this ledger, name it; if not, who holds it has made these entries."
        )


def _plan(options: argparse.Namespace) -> tuple[str, Any]:
    mechanism = loaded(options)
    row = row_unit_of(None, options.entity, options.rows_per_entity, mechanism.about.records)
    if not options.approve and any(getattr(options, name) is not None for name in ("period", "replaces", "who", "sign")):
        raise InvalidProblem("--period, --replaces, --who, --sign: are of an approval; add --approve, or leave them out.")
    dataset = _opened(options, options.ledger).dataset(options.dataset)
    forecast = dataset.forecast(mechanism, row)
    lines, data = forecast_lines(forecast), forecast_data(forecast)
    if options.approve:
        dataset.approve(mechanism, row, Edition(options.period, options.replaces))
        lines, data = [*lines, "Approved: another key may release this once."], {**data, "head": dataset.ledger.head}
    return "\n".join(lines), data

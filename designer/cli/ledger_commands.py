"""What is said of a ledger, and to it: ledger create, raise, show, check, plan."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from designer.accounts.check import Checked, checked, plain_check, require_recorded
from designer.accounts.ledger import Ledger
from designer.accounts.ledger_text import balance_lines, check_lines, entry_lines, forecast_data, forecast_lines
from designer.accounts.store import content_hash
from designer.accounts.totals import Total
from designer.base.display import printed
from designer.base.errors import InvalidLedger, InvalidProblem
from designer.cli.ledger_options import add_check_options, add_who, entry_signer
from designer.cli.options import SPEC, add_signer, command, loaded
from designer.cli.signing_commands import add_key_options, given_key
from designer.files.signatures import EntryCheck, PublicKey, trusted_keys
from designer.relations.records.row_unit import row_unit_of

LEDGER = "ledger (SQLite)"


def add_ledger(own: argparse._SubParsersAction[Any]) -> None:
    """ledger create, raise, show, check, plan."""
    made = command(own, "create", "state a data set and its total, in a new ledger or in one that is there", LEDGER)
    made.set_defaults(run=_create)
    _add_terms(made)
    made.add_argument("--content", type=Path, help="the data file, whose SHA-256 is kept and compared before each release")
    again = "state a new total of a data set, or what else it may leave unprotected, by name and with a reason"
    made = command(own, "raise", again, LEDGER)
    made.set_defaults(run=_raise)
    _add_terms(made)
    made.add_argument("--reason", required=True, help="why, for those who read the ledger")
    made = command(own, "show", "what was released, what it cost and what is left, in each notion", LEDGER)
    made.set_defaults(run=_show)
    made.add_argument("--dataset", help="only this data set")
    made.add_argument("--entries", action="store_true", help="every entry, too")
    made = command(own, "check", "follow the whole chain, and hold every total against its expenses", LEDGER)
    made.set_defaults(run=_check)
    made.add_argument("--release", type=Path, action="append", default=[], help="a release that must be recorded; several")
    add_check_options(made)
    add_signer(made, "a ledger with an entry that none of these keys has signed")
    made = command(own, "plan", "what a release of a spec would cost, and what would be left; nothing is recorded", SPEC)
    made.set_defaults(run=_plan)
    made.add_argument("--ledger", type=Path, required=True, help="the ledger")
    made.add_argument("--dataset", required=True, help="the data set in it")
    made.add_argument("--entity", help="as for release")
    made.add_argument("--rows-per-entity", type=int, help="as for release")


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
    ledger = Ledger.create(options.file, who=options.who, signer=entry_signer(given_key(options)), exist_ok=True)
    opened, *rest = ledger.entries()
    content = content_hash([options.content], ledger.id) if options.content else None
    balance = ledger.state(options.dataset, total, publishes=publishes, content=content).balance()
    there = f" It was there before: {entry_lines(opened)[0].strip()}" if rest else ""
    lines = [f"{printed(options.file)}: ledger {ledger.id}, head {ledger.head}.{there}", *balance_lines(balance)]
    return "\n".join(lines), {"ledger": ledger.id, "head": ledger.head, **balance.to_dict()}


def _raise(options: argparse.Namespace) -> tuple[str, Any]:
    stated = any(number is not None for number in (options.epsilon, options.delta, options.rho))
    if not stated and _publishes(options) == []:
        raise InvalidProblem("ledger raise: changes nothing; give a total, --publishes or --allow-unprotected.")
    balance = (
        Ledger(options.file, who=options.who, signer=entry_signer(given_key(options)))
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
    found = checked(Ledger(options.file), head=options.head, trusted=EntryCheck())
    if named is not None:
        _require_signed_by(named, found)
    recorded = {str(path): require_recorded(found.entries, path).number for path in releases}
    lines = [*check_lines(found), *(f"{printed(path)}: recorded as entry {number}." for path, number in recorded.items())]
    return "\n".join(lines), {**plain_check(found), "releases": recorded}


def _require_signed_by(keys: Sequence[str], found: Checked) -> None:
    """`InvalidLedger` where an entry is not signed, or by a key that was not named."""
    for entry in found.entries:
        key = entry.content["signer"]
        if key is None:
            raise InvalidLedger(
                f"ledger: entry {entry.number} is not signed; ask for signatures (--signer) only where all entries are."
            )
        if key not in keys:
            raise InvalidLedger(
                f"ledger: entry {entry.number}, and {found.signed[key]} in all, carry a valid signature of the key "
                f"{PublicKey(key).fingerprint}, which no --signer names. If that key was to sign here, name it, too; if not, "
                "who holds it has made these entries."
            )


def _plan(options: argparse.Namespace) -> tuple[str, Any]:
    mechanism = loaded(options)
    row = row_unit_of(None, options.entity, options.rows_per_entity, mechanism.about.records)
    forecast = Ledger(options.ledger).dataset(options.dataset).forecast(mechanism, row)
    return "\n".join(forecast_lines(forecast)), forecast_data(forecast)

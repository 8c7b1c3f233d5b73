"""What is said of a ledger, and to it: ledger create, raise, show, check, plan."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from designer.accounts.check import checked, plain_check, require_recorded
from designer.accounts.content import content_hash
from designer.accounts.ledger import DataSet, Ledger
from designer.accounts.totals import Total
from designer.accounts.words import balance_lines, check_lines, entry_lines, forecast_data, forecast_lines
from designer.base.errors import InvalidLedger, InvalidProblem
from designer.base.printing import printed
from designer.certified.frozen import Released, Specified
from designer.cli.options import SPEC, Commands, add_signer, loaded
from designer.cli.signing_commands import add_key_options, given_key
from designer.files.releases import release_document
from designer.files.signatures import EntryCheck, EntrySigner, SigningKey, trusted_keys
from designer.relations.rows.row_unit import RowUnit

LEDGER = "ledger (SQLite)"
AnyRelease = TypeVar("AnyRelease", bound=Released)


def add_ledger_commands(commands: Commands) -> None:
    """ledger create, raise, show, check, plan."""
    own = commands.group("ledger", "what was spent of which data set: create, raise, show, check, plan")
    made = own.add("create", _create, "state a data set and its total, in a new ledger or in one that is there", LEDGER)
    _add_terms(made)
    made.add_argument("--content", type=Path, help="the data file, whose SHA-256 is kept and compared before each release")
    made = own.add(
        "raise",
        _raise,
        "state a new total of a data set, or what else it may leave unprotected, by name and with a reason",
        LEDGER,
    )
    _add_terms(made)
    made.add_argument("--reason", required=True, help="why, for those who read the ledger")
    made = own.add("show", _show, "what was released, what it cost and what is left, in each notion", LEDGER)
    made.add_argument("--dataset", help="only this data set")
    made.add_argument("--entries", action="store_true", help="every entry, too")
    made = own.add("check", _check, "follow the whole chain, and hold every total against its expenses", LEDGER)
    made.add_argument("--release", type=Path, action="append", default=[], help="a release that must be recorded; several")
    add_check_options(made)
    add_signer(made, "a ledger with an entry that none of these keys has signed")
    made = own.add("plan", _plan, "what a release of a spec would cost, and what would be left; nothing is recorded", SPEC)
    made.add_argument("--ledger", type=Path, required=True, help="the ledger")
    made.add_argument("--dataset", required=True, help="the data set in it")
    made.add_argument("--entity", help="as for release")
    made.add_argument("--rows-per-entity", type=int, help="as for release")


def add_recording_options(made: argparse.ArgumentParser) -> None:
    """For a release: where it is recorded, and in whose name."""
    made.add_argument("--ledger", type=Path, help="reserve the budget in this ledger first, and record what is released")
    made.add_argument("--dataset", help="the data set of the ledger that the data are")
    _add_who(made)


def add_check_options(made: argparse.ArgumentParser) -> None:
    """For the check of a ledger: what must be in it."""
    made.add_argument("--head", help="a hash that a release carries: refuse a ledger that does not have its entry")


def _add_who(made: argparse.ArgumentParser) -> None:
    made.add_argument("--who", help="in whose name the entry is made (default: the login name)")


def _add_terms(made: argparse.ArgumentParser) -> None:
    """The total of a data set, and what may be unprotected."""
    made.add_argument("--dataset", required=True, help="the name of the data set")
    made.add_argument("--epsilon", help="the total of pure privacy; with --delta that of (epsilon, delta)")
    made.add_argument("--delta", help="goes with --epsilon, such as 1e-6")
    made.add_argument("--rho", help="the total of zero-concentrated privacy")
    allowed = "what releases may leave unprotected: a sentence of their guarantee; several"
    made.add_argument("--publishes", action="append", default=[], metavar="SENTENCE", help=allowed)
    made.add_argument("--allow-unprotected", action="store_true", help="releases may leave unprotected whatever they say")
    _add_who(made)
    add_key_options(made, "sign the entry")


def _total(options: argparse.Namespace) -> Total:
    return Total(epsilon=options.epsilon, delta=options.delta, rho=options.rho)


def _publishes(options: argparse.Namespace) -> Sequence[str] | None:
    return None if options.allow_unprotected else options.publishes


def _create(options: argparse.Namespace) -> tuple[str, Any]:
    total, publishes = _total(options), _publishes(options)
    ledger = Ledger.create(options.file, who=options.who, signer=_signer(given_key(options)))
    content = content_hash([options.content], ledger.id) if options.content else None
    balance = ledger.state(options.dataset, total, publishes=publishes, content=content).balance()
    lines = [f"{printed(options.file)}: ledger {ledger.id}, head {ledger.head}.", *balance_lines(balance)]
    return "\n".join(lines), {"ledger": ledger.id, "head": ledger.head, **balance.to_dict()}


def _raise(options: argparse.Namespace) -> tuple[str, Any]:
    stated = any(number is not None for number in (options.epsilon, options.delta, options.rho))
    if not stated and _publishes(options) == []:
        raise InvalidProblem("ledger raise: changes nothing; give a total, --publishes or --allow-unprotected.")
    balance = (
        Ledger(options.file, who=options.who, signer=_signer(given_key(options)))
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
    trusted = EntryCheck(None if options.signer is None else tuple(trusted_keys(options.signer)))
    found = checked(Ledger(options.file), head=options.head, trusted=trusted)
    unsigned = [] if options.signer is None else [entry.number for entry in found.entries if entry.signature is None]
    if unsigned:
        raise InvalidLedger(
            f"ledger: entry {unsigned[0]} is not signed; ask for signatures (--signer) only where all entries are."
        )
    recorded = {str(path): require_recorded(found.entries, path).number for path in releases}
    lines = [*check_lines(found), *(f"{printed(path)}: recorded as entry {number}." for path, number in recorded.items())]
    return "\n".join(lines), {**plain_check(found), "releases": recorded}


def _plan(options: argparse.Namespace) -> tuple[str, Any]:
    row = RowUnit(entity=options.entity, rows_per_entity=options.rows_per_entity)
    forecast = Ledger(options.ledger).dataset(options.dataset).forecast(loaded(options), row)
    return "\n".join(forecast_lines(forecast)), forecast_data(forecast)


def recorded(
    options: argparse.Namespace,
    mechanism: Specified,
    files: Sequence[Path],
    ready: Callable[[], object],
    release: Callable[[], AnyRelease],
    key: SigningKey | None,
) -> tuple[AnyRelease, dict[str, Any]]:
    """A release of confidential data and its document; where a ledger is given, once the expense is reserved in it, and with
    where it is recorded.

    files: the data, whose content is compared where the ledger knows it. ready: looks at their names of columns, once the
    ledger has agreed. key: signs the entries, too.
    """
    if options.ledger is None:
        if options.dataset is not None or options.who is not None:
            raise InvalidProblem("--dataset, --who: belong to a ledger, and none is given; add --ledger FILE.")
        ready()
        released = release()
        return released, release_document(mechanism, released)
    row = RowUnit(entity=options.entity, rows_per_entity=options.rows_per_entity)
    with _dataset(options, key).reserve(mechanism, row, files, ready) as reservation:
        released = release()
        return released, reservation.record(release_document(mechanism, released))


def recorded_lines(document: Mapping[str, Any]) -> list[str]:
    """Where a release is recorded, for the terminal."""
    where = document.get("ledger")
    if not where:
        return []
    place = f"entry {where['entry']} of ledger {where['id']}, data set {printed(where['dataset'])}"
    return ["", f"Recorded:      {place}", f"Head:          {where['head']}"]


def _dataset(options: argparse.Namespace, key: SigningKey | None) -> DataSet:
    if options.dataset is None:
        raise InvalidProblem("--dataset: is missing; name the data set of the ledger that the data are.")
    return Ledger(options.ledger, who=options.who, signer=_signer(key)).dataset(options.dataset)


def _signer(key: SigningKey | None) -> EntrySigner | None:
    return None if key is None else EntrySigner(key)

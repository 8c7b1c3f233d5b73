"""What a release spends: it is said before, and recorded in a ledger, whose chain may have to hold a head."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from designer.accounts.composition.privacy_in_words import spending_words
from designer.base import progress
from designer.base.display import printed
from designer.base.errors import InvalidProblem
from designer.certificate.agreement import RELEASE_FORMAT
from designer.certificate.frozen import FrozenMechanism, Released
from designer.files.releases import release_document
from designer.files.table_files import RELEASE
from designer.limits import MOST_JSON_BYTES
from designer.relations.records.row_unit import RowUnit

if TYPE_CHECKING:
    from designer.accounts.ledger import DataSet
    from designer.files.signatures import EntrySigner, SigningKey

AnyRelease = TypeVar("AnyRelease", bound=Released)


def add_recording_options(made: argparse.ArgumentParser) -> None:
    """For a release: where it is recorded, and in whose name."""
    made.add_argument("--ledger", type=Path, help="reserve the budget in this ledger first, and record what is released")
    made.add_argument("--dataset", help="the data set of the ledger that the data are")
    add_edition(made)
    add_who(made)


def add_edition(made: argparse.ArgumentParser) -> None:
    """What a release is among those of its data set."""
    made.add_argument("--period", help="what the data are about, such as 2026 or 2026-Q3, for the ledger")
    corrects = "the entry that recorded the release which this one corrects; what that one cost stays spent"
    made.add_argument("--replaces", type=int, metavar="ENTRY", help=corrects)


def add_spending_options(made: argparse.ArgumentParser) -> None:
    """For a release: whether it asks before it spends, and whether it spends at all."""
    made.add_argument("--yes", action="store_true", help="on a terminal, do not ask before the budget is spent")
    made.add_argument("--dry-run", action="store_true", help="say what would be spent, open no data and spend nothing")


def spending_lines(options: argparse.Namespace, mechanism: FrozenMechanism, row: RowUnit) -> list[str]:
    """What a release will spend, for whom, where that is recorded, and whether one of the same spec is there already."""
    where = "no ledger is used"
    if options.ledger is not None:
        _require_dataset(options)
        where = f"recorded in the ledger {printed(options.ledger)}, data set {printed(options.dataset)}"
    lines = [f"Will spend {spending_words(mechanism, row)}; {where}."]
    if options.ledger is None and (earlier := _release_there(options, mechanism)) is not None:
        lines.append(
            f"{printed(earlier)} holds a release of this spec: another release of the same data spends this once more, and "
            "without a ledger nothing adds that up."
        )
    return lines


def _release_there(options: argparse.Namespace, mechanism: FrozenMechanism) -> Path | None:
    """The file that the output would replace, where it is a release of the same spec."""
    path: Path | None = options.output / RELEASE if options.folder else options.output
    with suppress(OSError, ValueError):
        if path is not None and path.is_file() and path.stat().st_size <= MOST_JSON_BYTES:
            held = json.loads(path.read_bytes())
            same = isinstance(held, dict) and held.get("format") == RELEASE_FORMAT
            return path if same and held.get("fingerprint") == mechanism.fingerprint else None
    return None


def confirm_spending(options: argparse.Namespace, lines: Sequence[str]) -> None:
    """Print what will be spent on standard error, where --quiet does not keep it back, and ask on a terminal.

    Raises `InvalidProblem` where the answer is not yes.
    """
    asks = not options.yes and all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))
    if sys.stderr is None or (options.quiet and not asks):
        return
    with progress.unseen():
        with suppress(OSError):
            print(
                "\n".join(lines),
                *(["Go on? [y/N] "] if asks else []),
                sep="\n",
                end="" if asks else "\n",
                file=sys.stderr,
                flush=True,
            )
        if asks and sys.stdin.readline().strip().casefold() not in ("y", "yes"):
            raise InvalidProblem("release: was not confirmed, and nothing was spent; answer y, or give --yes.")


def add_check_options(made: argparse.ArgumentParser) -> None:
    """For the check of a ledger: what must be in it."""
    made.add_argument("--head", help="a hash that a release carries: refuse a ledger that does not have its entry")
    made.add_argument("--accept-break", action="append", default=[], metavar="HASH", help="accept the entry of lost keys")


def add_who(made: argparse.ArgumentParser) -> None:
    """In whose name an entry is made."""
    made.add_argument("--who", help="in whose name the entry is made (default: the login name)")


def recorded(
    options: argparse.Namespace,
    mechanism: FrozenMechanism,
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
        if any(getattr(options, name) is not None for name in ("dataset", "who", "period", "replaces")):
            raise InvalidProblem(
                "--dataset, --who, --period, --replaces: belong to a ledger, and none is given; add --ledger FILE."
            )
        ready()
        released = release()
        return released, release_document(mechanism, released)
    from designer.accounts.chain import Edition

    row = RowUnit(entity=options.entity, rows_per_entity=options.rows_per_entity)
    edition = Edition(options.period, options.replaces)
    with dataset_of(options, key).reserve(mechanism, row, files, ready, edition) as reservation:
        released = release()
        return released, reservation.record(release_document(mechanism, released))


def recorded_lines(document: Mapping[str, Any]) -> list[str]:
    """Where a release is recorded, for the terminal."""
    where = document.get("ledger")
    if not where:
        return []
    place = f"entry {where['entry']} of ledger {where['id']}, data set {printed(where['dataset'])}"
    edition = [f"Period:        {where['period']}"] if "period" in where else []
    if "replaces" in where:
        edition.append(f"Replaces:      the release of entry {where['replaces']}; what that one cost stays spent")
    return ["", f"Recorded:      {place}", *edition, f"Head:          {where['head']}"]


def dataset_of(options: argparse.Namespace, key: SigningKey | None) -> DataSet:
    """The data set of a ledger that a command names."""
    from designer.accounts.ledger import Ledger

    _require_dataset(options)
    return Ledger(options.ledger, who=options.who, signer=entry_signer(key)).dataset(options.dataset)


def _require_dataset(options: argparse.Namespace) -> None:
    if options.dataset is None:
        raise InvalidProblem("--dataset: is missing; name the data set of the ledger that the data are.")


def entry_signer(key: SigningKey | None) -> EntrySigner | None:
    """What signs entries with a key."""
    from designer.files.signatures import EntrySigner

    return None if key is None else EntrySigner(key)

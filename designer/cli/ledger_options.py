"""What other commands have to do with a ledger: a release is recorded in it, and its chain may have to hold a head."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from designer.base.display import printed
from designer.base.errors import InvalidProblem
from designer.certificate.frozen import FrozenMechanism, Released
from designer.files.releases import release_document
from designer.relations.records.row_unit import RowUnit

if TYPE_CHECKING:
    from designer.accounts.ledger import DataSet
    from designer.files.signatures import EntrySigner, SigningKey

AnyRelease = TypeVar("AnyRelease", bound=Released)


def add_recording_options(made: argparse.ArgumentParser) -> None:
    """For a release: where it is recorded, and in whose name."""
    made.add_argument("--ledger", type=Path, help="reserve the budget in this ledger first, and record what is released")
    made.add_argument("--dataset", help="the data set of the ledger that the data are")
    made.add_argument("--period", help="what the data are about, such as 2026 or 2026-Q3, for the ledger")
    corrects = "the entry that recorded the release which this one corrects; what that one cost stays spent"
    made.add_argument("--replaces", type=int, metavar="ENTRY", help=corrects)
    add_who(made)


def add_check_options(made: argparse.ArgumentParser) -> None:
    """For the check of a ledger: what must be in it."""
    made.add_argument("--head", help="a hash that a release carries: refuse a ledger that does not have its entry")


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

    if options.dataset is None:
        raise InvalidProblem("--dataset: is missing; name the data set of the ledger that the data are.")
    return Ledger(options.ledger, who=options.who, signer=entry_signer(key)).dataset(options.dataset)


def entry_signer(key: SigningKey | None) -> EntrySigner | None:
    """What signs entries with a key."""
    from designer.files.signatures import EntrySigner

    return None if key is None else EntrySigner(key)

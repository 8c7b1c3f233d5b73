"""`verify --independent`: the second verifier, one file that shares no line with the first, has to come to the same verdict."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from designer.accounts.store import is_ledger
from designer.base.errors import DesignFailed, InvalidSpec
from designer.base.printing import printed
from designer.certified.guarantee import Guarantee

FIRST = "this program"
SECOND = "designer/verifier/standalone.py"


def add_independent(made: argparse.ArgumentParser) -> None:
    """The option of `verify` that asks for it."""
    made.add_argument(
        "--independent",
        action="store_true",
        help="also verify by a second program, a file that imports nothing of this one",
    )


def independently(options: argparse.Namespace, fingerprint: str | None) -> tuple[str, dict[str, Any]]:
    """Which verifiers were used, in words and as data, once the first has accepted the file: where the second was asked for and
    does not accept it, too, `InvalidSpec`; where it cannot check it, `DesignFailed`.

    fingerprint: of the mechanism that the first one certified, which the file has to have still; None for a ledger.
    """
    used = [f"{FIRST} ({Guarantee.software})"]
    if not options.independent:
        return f"Verified by: {used[0]}. --independent also asks a second one.", {"verified_by": used}
    from designer.verifier.standalone import verify

    paths = [options.file] if options.release is None else [options.file, options.release]
    contents = [_content(path) for path in paths]
    verdict, sentences = verify(*contents)
    said, named = "; ".join(map(printed, sentences)), " with ".join(map(printed, paths))
    if verdict == "cannot check":
        raise DesignFailed(
            f"--independent: {named} holds by this program, and {SECOND} cannot check it: {said}. Leave the "
            "option out to go by one verifier."
        )
    same = fingerprint is None or json.loads(contents[0])["fingerprint"] == fingerprint
    if verdict != "holds" or not same:
        raise InvalidSpec(
            f"--independent: {named} holds by this program, but not by {SECOND}: {said}. One of the two is "
            "wrong: release nothing with it, and report it as SECURITY.md says."
        )
    return f"Verified by: {used[0]}, and independently by {SECOND}: {said}.", {"verified_by": [*used, SECOND]}


def _content(path: Path) -> bytes:
    """The bytes of a file; of a ledger those between two transactions."""
    if not is_ledger(path):
        return path.read_bytes()
    from designer.accounts.ledger import Ledger

    with Ledger(path).store.rows() as rows:
        return rows.content

"""What commands share: how one is added, options of several, and the spec that one is about.

What lists commands imports this file, so it imports what runs them when they run.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from designer.limits import NO_PROTECTION

if TYPE_CHECKING:
    from designer.certificate.frozen import FrozenMechanism
    from designer.files.signatures import SignedBy

Run = Callable[[argparse.Namespace], tuple[str, Any]]  # a command: the text for people, and the data for `--json`
TOML = "problem file (TOML)"
SPEC = "spec (JSON)"


def command(
    commands: argparse._SubParsersAction[Any], name: str, help_text: str, target: str | None
) -> argparse.ArgumentParser:
    """One more command, about the file `target` or about none, with what all have; its own options, and `run`, are added to
    what is handed back: a `Run`."""
    made: argparse.ArgumentParser = commands.add_parser(name, help=help_text, description=help_text)
    if target is not None:
        made.add_argument("file", type=Path, help=target)
    made.add_argument("--json", action="store_true", help="print JSON for machines")
    shown = made.add_mutually_exclusive_group()
    shown.add_argument("--quiet", action="store_true", help="show no progress, on a terminal neither")
    shown.add_argument("--progress", action="store_true", help="show progress as lines, without a terminal, too")
    made.set_defaults(doing=name, confidential=False, exit_code=lambda data: 0)
    if target is not None and "spec" in target:
        add_allow_vacuous(made, "a spec")
        add_signer(made, "a release that none of these keys has signed, or a spec where no release is given")
    return made


def add_allow_vacuous(made: argparse.ArgumentParser, what: str) -> None:
    """Accept what protects nobody."""
    help_text = f"accept {what} that hides nothing, and says so, or whose smallest budget is at least {NO_PROTECTION:,}"
    made.add_argument("--allow-vacuous", action="store_true", help=help_text)


def require_protection(options: argparse.Namespace, mechanism: FrozenMechanism) -> None:
    """Refuse budgets so large that they protect nobody, before anything is saved or released, unless that was asked for."""
    from designer.base.errors import InvalidProblem

    least = mechanism.guarantee.parameters.get("smallest_budget")
    accepted = options.allow_vacuous or mechanism.allow_vacuous
    if isinstance(least, (int, float)) and NO_PROTECTION <= least < math.inf and not accepted:
        raise InvalidProblem(
            f"mechanism: its smallest budget is {least:,.6g}, and budgets of {NO_PROTECTION:,} and above protect nobody; give "
            "a smaller one, about 1, or pass --allow-vacuous if that is meant."
        )


def add_output(made: argparse.ArgumentParser, flag: str, help_text: str) -> None:
    """Where a result is saved, and leave to replace what is there."""
    flags = ["-o", "--output"] if flag == "-o" else [flag]
    made.add_argument(*flags, dest="output", type=Path, help=help_text)
    made.add_argument("--force", action="store_true", help="replace a file of that name; inputs are never replaced")


def add_effort(made: argparse.ArgumentParser) -> None:
    """How much work searches have, and a limit on the clock."""
    made.add_argument("--effort", help="how much work the search has: quick, normal (the default) or thorough")
    made.add_argument("--seconds", type=float, help="a limit on the clock besides; what it cuts off depends on the machine")


def add_full(made: argparse.ArgumentParser, words: str) -> None:
    """Whether everything is printed."""
    made.add_argument("--full", action="store_true", help=words)


def given_effort(options: argparse.Namespace) -> dict[str, Any]:
    """Both, where they are given."""
    return {name: value for name in ("effort", "seconds") if (value := getattr(options, name)) is not None}


def check_output(options: argparse.Namespace, inputs: Sequence[Path]) -> None:
    """Refuse what cannot be written before anything is computed for it, or spent."""
    from designer.base.output import checked_target

    if options.output:
        checked_target(options.output, inputs=inputs, replace=options.force)


def add_signer(made: argparse.ArgumentParser, what: str) -> None:
    """Ask who signed."""
    help_text = f"refuse {what}: a public key, or a folder of them; several"
    made.add_argument("--signer", action="append", metavar="KEY", help=help_text)


def loaded(options: argparse.Namespace) -> FrozenMechanism:
    """The mechanism of the spec that a command is about; see `spec_and_signer`."""
    return spec_and_signer(options)[0]


def spec_and_signer(options: argparse.Namespace) -> tuple[FrozenMechanism, SignedBy | None]:
    """The mechanism of the spec that a command is about, and who signed it: a signature beside the file is always checked. By
    `--signer` it must be of one of those keys, unless a release is given: then that must be, and it names its spec."""
    from designer.files.spec import from_spec, read_signed

    trusted = None if getattr(options, "release", None) is not None else options.signer
    content, signer = read_signed(options.file, trusted)
    return from_spec(content, allow_vacuous=options.allow_vacuous), signer


def release_and_signer(options: argparse.Namespace) -> tuple[dict[str, Any], SignedBy | None]:
    """The plain data of the release that a command is about, and who signed it; see `spec_and_signer`."""
    from designer.files.spec import read_signed

    return read_signed(options.release, options.signer)


def refuse_signer(options: argparse.Namespace) -> None:
    """Refuse to ask for a signature of a problem file."""
    from designer.base.errors import InvalidProblem

    if options.signer is not None:
        raise InvalidProblem("--signer: is for specs and releases; a problem file has no signature, leave it out.")


def caution_data(mechanism: FrozenMechanism) -> dict[str, Any]:
    """What readers of JSON must not miss; nothing where every answer gets noise and none is biased."""
    return {key: value for key in ("vacuous", "exact", "biased") if (value := getattr(mechanism, key))}

"""The command line: the table of all commands, which stand in the files of this room by what they are about.

Only the file of the command that is asked for is imported, so that help, and the version, come at once.

Exit codes: 0 done; 2 invalid input, or output that cannot be written; 3 no mechanism for this problem; 4 not private, or no
spec that proves its claims; 5 a failure that nobody foresaw; 6 a release that the total of its data set does not cover;
7 a ledger that is damaged, altered or an older copy; 8 something needed is broken (doctor); 9 something is wrong with the
records (check); 10 a ledger that is busy, or on a disk that is full or fails; 130 interrupted.
A release prints noisy answers and the guarantee; true values are never printed, logged or written.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

from designer.base.lazy_imports import at_address
from designer.cli.options import SPEC, TOML, command


class Listed(NamedTuple):
    """A command: its name, the function that adds its options, `module:name`, and its line in the help.

    target: what its first argument names; None where it has none. several: whether it is a word before commands of its own.
    """

    name: str
    home: str
    help_text: str
    target: str | None = None
    several: bool = False

    def added(self, commands: argparse._SubParsersAction[Any]) -> Any:
        """A parser for it, with what all commands have; or what takes the commands behind its word."""
        if not self.several:
            return command(commands, self.name, self.help_text, self.target)
        made = commands.add_parser(self.name, help=self.help_text, description=self.help_text)
        return made.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def fill(self, made: Any) -> None:
        """Its options, from its file."""
        at_address(self.home)(made)


COMMANDS = (
    Listed(
        "design", "designer.cli.design_commands:add_design", "design a mechanism for a problem file and save its spec", TOML
    ),
    Listed(
        "compare", "designer.cli.design_commands:add_compare", "design all families for a problem file and compare them", TOML
    ),
    Listed(
        "explore",
        "designer.cli.page_commands:add_explore",
        "write a page with sliders for the budget of a problem file",
        TOML,
    ),
    Listed(
        "budget",
        "designer.cli.design_commands:add_budget",
        "find the least factor on all budgets that meets the [targets]",
        TOML,
    ),
    Listed(
        "check",
        "designer.cli.check_command:add_check",
        "CONFIDENTIAL: say what is wrong with records or counts, to their holder; quotes them, releases and spends nothing",
        "records (CSV, Parquet), or counts (CSV, with --column)",
    ),
    Listed(
        "release",
        "designer.cli.release_commands:add_release",
        "release noisy answers for confidential data; spends the budget once",
        SPEC,
    ),
    Listed("sample", "designer.cli.release_commands:add_sample", "draw noise for simulation; never a release", SPEC),
    Listed(
        "tables",
        "designer.cli.release_commands:add_tables",
        "print the answers of a saved release with intervals that hold the truth, or write its tables (-o), without data",
        SPEC,
    ),
    Listed(
        "verify",
        "designer.cli.spec_commands:add_verify",
        "recompute the guarantee of a spec from its numbers, check a release, or follow a ledger",
        "spec (JSON) or ledger (SQLite)",
    ),
    Listed(
        "show",
        "designer.cli.spec_commands:add_show",
        "summarise a problem file or a spec",
        "problem file (TOML) or spec (JSON)",
    ),
    Listed(
        "account",
        "designer.cli.account_command:add_account",
        "say what follows from what is protected: a(t) under published statistics, groups of records, losses of a policy",
        "problem file (TOML) or spec (JSON)",
    ),
    Listed(
        "report",
        "designer.cli.page_commands:add_report",
        "write a spec as a page to read: in Markdown, or whole in HTML with -o page.html",
        SPEC,
    ),
    Listed(
        "ledger",
        "designer.cli.ledger_commands:add_ledger",
        "what was spent of which data set: create, raise, show, check, plan",
        several=True,
    ),
    Listed("export", "designer.cli.export_commands:add_export", "write what other tools take of a spec", SPEC),
    Listed("keys", "designer.cli.signing_commands:add_keys", "make a key to sign with, or show one"),
    Listed(
        "sign",
        "designer.cli.signing_commands:add_sign",
        "sign a spec or a release; the signature is written to FILE.sig",
        "the file (JSON)",
    ),
    Listed(
        "schema",
        "designer.cli.export_commands:add_schema",
        "print the JSON Schema of a kind of files, for editors and other programs",
    ),
    Listed(
        "doctor", "designer.cli.doctor:add_doctor", "say what is installed, what each extra adds and how to get what is missing"
    ),
    Listed(
        "init",
        "designer.cli.design_commands:add_init",
        "write a problem file to start from, from the names of columns alone or from answers to questions",
    ),
    Listed(
        "plot",
        "designer.cli.page_commands:add_plot",
        "draw a picture of a spec, a release or a problem file",
        "problem file (TOML) or spec (JSON)",
    ),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names that the terminal's encoding lacks
    given = sys.argv[1:] if arguments is None else list(arguments)
    if not given:
        parser("").print_help(sys.stderr)
        return 2
    if given[0] == "help":
        given = [*given[1:], "--help"]
    options = parser(next((word for word in given if not word.startswith("-")), "")).parse_args(given)
    from designer.cli.runner import run

    return run(options)


class _Parser(argparse.ArgumentParser):
    """A parser whose refusals say what is perhaps meant."""

    def error(self, message: str) -> NoReturn:
        remedy = self._remedy(message)
        said = re.sub(r" \(choose from .*\)$", "", message) if remedy else message
        self.exit(2, f"{self.prog}: {said}{remedy}; `{self.prog} --help` lists the options.\n")

    def _remedy(self, message: str) -> str:
        from designer.base.checks import near, without_percent
        from designer.problem.targets import in_file

        if number := re.search(r"invalid (?:float|int) value: '(.*)'$", message):
            return without_percent(number[1])
        if data := re.search(r"unrecognized arguments: (\S+\.(?:csv|parquet|npy))$", message):
            return f"; give records as --table {data[1]}, counts as --histogram {data[1]} --column COLUMN"
        if aim := re.search(r"unrecognized arguments: --targets?[ =](.+)=(.+)$", message):
            return f"; targets stand in the problem file: {in_file(aim[1], aim[2])}"
        given = re.search(r"invalid choice: '([^']*)'", message) or re.search(r"unrecognized arguments: (\S+)", message)
        word, known = given[1] if given else "", parser()._words()
        if owners := known.get(word):
            return f"; only {', '.join(owners)} {'has' if len(owners) == 1 else 'have'} this option"
        return near(word, sorted(known))

    def _words(self) -> dict[str, list[str]]:
        """All commands and options, of the commands below as well; behind an option the commands that have it."""
        found = {word: [self.prog.partition(" ")[2]] for word in self._option_string_actions}
        for action in self._actions:
            found |= {str(word): [] for word in action.choices or ()}
            for own in action.choices.values() if isinstance(action, argparse._SubParsersAction) else ():
                for word, owners in own._words().items():
                    found[word] = [*found.get(word, []), *owners]
        return found


class _Version(argparse.Action):
    """Print the version, which is looked up only then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        from designer.base.version import VERSION

        print(f"dp-designer {VERSION}")
        parser.exit()


def parser(filled: str | None = None) -> _Parser:
    """All commands with their lines of help, and the options of all of them, or of the one that is named.

    filled: the command whose options are added; those of the others are not needed to run it, and not imported.
    """
    top = _Parser(
        prog="dp-designer",
        description=(
            "Designs differential privacy mechanisms for linear queries: the noise of least error it can find, and a proof of "
            "the guarantee that anyone can recompute."
        ),
        epilog=(
            "To begin: `dp-designer init --ask -o problem.toml` asks seven questions and writes a problem file. `dp-designer "
            "COMMAND --help` lists the options of a command."
        ),
    )
    top.add_argument("--version", action=_Version, nargs=0, help="show program's version number and exit")
    commands = top.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for listed in COMMANDS:
        made = listed.added(commands)
        if filled in (None, listed.name):
            listed.fill(made)
    return top

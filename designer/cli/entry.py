"""The command line: the parser of all commands, which stand in the files of this room by what they are about.

Exit codes: 0 done; 2 invalid input, or output that cannot be written; 3 no mechanism for this problem; 4 not private, or no
spec that proves its claims; 5 a failure that nobody foresaw; 6 a release that the total of its data set does not cover;
7 a ledger that is damaged, altered or an older copy; 8 something needed is broken (doctor); 9 something is wrong with the
records (check); 130 interrupted.
A release prints noisy answers and the guarantee; true values are never printed, logged or written.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from designer.base import progress
from designer.base.checks import meant, shown
from designer.base.errors import DesignFailed, InvalidLedger, InvalidProblem, InvalidSpec, NotPrivate, OverTotal
from designer.base.json_text import plain
from designer.base.on_terminal import terminal_width, wrapped
from designer.base.printing import one_line, printed
from designer.base.version import VERSION
from designer.cli.check_command import add_check
from designer.cli.design_commands import add_design_commands
from designer.cli.doctor import add_doctor
from designer.cli.export_commands import add_export_commands
from designer.cli.init_command import add_init
from designer.cli.installation import installing
from designer.cli.ledger_commands import add_ledger_commands
from designer.cli.options import Commands
from designer.cli.plot_command import add_plot
from designer.cli.release_commands import add_release_commands
from designer.cli.report_commands import add_report_commands
from designer.cli.signing_commands import add_signing_commands
from designer.cli.spec_commands import add_spec_commands
from designer.cli.table_commands import add_table_commands

EXIT_CODES = ((DesignFailed, 3), (NotPrivate, 4), (InvalidSpec, 4), (InvalidProblem, 2), (OverTotal, 6), (InvalidLedger, 7))
UNFORESEEN = 5
# An exception's own words, and even its kind, may tell of confidential data.
SILENT = "release: failed in a way that nobody foresaw, perhaps over a damaged file; nothing was released."
CLOSED = "standard output: is closed; open it, or send it to a file or to /dev/null."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names that the terminal's encoding lacks
    options = parser().parse_args(arguments)
    try:
        return _run(options)
    except BrokenPipeError:  # the reader, such as `head`, had enough
        _drop_output()
    except (Exception, KeyboardInterrupt) as error:
        code, words = _failure(error, options)
        _say(words)
        return code
    return 0


def _run(options: argparse.Namespace) -> int:
    """Do what is asked and print it; returns the exit code that the command gives to what it found."""
    if sys.stdout is None:
        raise InvalidProblem(CLOSED)
    with progress.showing_progress(_shows_progress(options)), progress.step(_doing(options)):
        text, data = options.run(options)
    try:
        print(json.dumps(plain(data), allow_nan=False) if options.json else _folded(_printable(text)), flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:  # a full disk
        _drop_output()
        raise InvalidProblem(f"standard output: {error.strerror}; make room, or save the result with -o.") from None
    code: int = options.exit_code(data)
    return code


def _doing(options: argparse.Namespace) -> str:
    """The command and the file that it is about, for progress."""
    file = getattr(options, "file", None)
    return f"{options.doing} {printed(file.name)}" if isinstance(file, Path) else str(options.doing)


def _shows_progress(options: argparse.Namespace) -> bool:
    """On a terminal, unless it is unwanted; elsewhere, where it is asked for."""
    return bool(options.progress or (sys.stderr is not None and sys.stderr.isatty() and not options.quiet))


def _failure(error: BaseException, options: argparse.Namespace) -> tuple[int, str]:
    """The exit code and the sentence for what stopped a command."""
    for kind, code in EXIT_CODES:
        if isinstance(error, kind):
            return code, str(error)
    if isinstance(error, KeyboardInterrupt):
        return 130, "interrupted."
    if isinstance(error, MemoryError):
        return 2, "this needs more memory than there is; make the problem, or the number of draws, smaller."
    if isinstance(error, ImportError) and error.name:
        return 2, f'this needs {shown(error.name)}, which is not installed; pip install "{installing(error.name)}"'
    if isinstance(error, OSError) and error.strerror:
        return 2, f"{shown(str(error.filename)) if error.filename else 'file'}: {error.strerror}"
    if options.confidential:
        return UNFORESEEN, SILENT
    return UNFORESEEN, f"this was not foreseen, please report it: {type(error).__name__}: {shown(str(error))}"


def _say(words: str) -> None:
    """One sentence on standard error, where there is one."""
    if sys.stderr is not None:
        with suppress(OSError):
            print(one_line(f"dp-designer: {words}"), file=sys.stderr, flush=True)


def _drop_output() -> None:
    """What is left in the buffer goes nowhere, instead of failing once more at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _folded(text: str) -> str:
    """Long lines in several on a terminal, tables in Markdown as they are; elsewhere the text as it is."""
    if not sys.stdout.isatty():
        return text
    width = terminal_width()
    lines = ([line] if line.startswith("|") else wrapped(line, width) for line in text.split("\n"))
    return "\n".join(line for folded in lines for line in folded)


def _printable(text: str) -> str:
    """Names come from files: control characters in them must not reach the terminal."""
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)


class _Parser(argparse.ArgumentParser):
    """A parser whose refusals say what is perhaps meant."""

    def error(self, message: str) -> NoReturn:
        super().error(message + self._remedy(message))

    def _remedy(self, message: str) -> str:
        given = re.search(r"invalid choice: '([^']*)'", message) or re.search(r"unrecognized arguments: (\S+)", message)
        near = "" if given is None else meant(given[1], sorted(self._words()))
        return f"; {near.removesuffix('; ')}" if near else ""

    def _words(self) -> set[str]:
        """All commands and options, of the commands below as well."""
        found = set(self._option_string_actions)
        for action in self._actions:
            found |= set(map(str, action.choices or ()))
            if isinstance(action, argparse._SubParsersAction):
                found = found.union(*(own._words() for own in action.choices.values()))
        return found


def parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    top = _Parser(prog="dp-designer", description="Designs the noise of privacy mechanisms for linear queries, and proves it.")
    top.add_argument("--version", action="version", version=f"dp-designer {VERSION}")
    commands = Commands(top.add_subparsers(title="commands", required=True, metavar="COMMAND"))
    add_design_commands(commands)
    add_check(commands)
    add_release_commands(commands)
    add_table_commands(commands)
    add_spec_commands(commands)
    add_report_commands(commands)
    add_ledger_commands(commands)
    add_export_commands(commands)
    add_signing_commands(commands)
    add_doctor(commands)
    add_init(commands)
    add_plot(commands)
    return top

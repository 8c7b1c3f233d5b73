"""A command that was asked for: it runs, what it says is printed, and what stops it becomes one sentence and an exit code."""

from __future__ import annotations

import argparse
import json
import os
import sys
from contextlib import suppress
from pathlib import Path

from designer.base import progress
from designer.base.checks import shown
from designer.base.display import one_line, printed, terminal_width, wrapped
from designer.base.errors import (
    CannotWrite,
    DesignFailed,
    InvalidLedger,
    InvalidProblem,
    InvalidSpec,
    LedgerUnavailable,
    NotPrivate,
    OtherFile,
    OverTotal,
)
from designer.base.json_text import plain

EXIT_CODES = (
    *((OtherFile, 2), (DesignFailed, 3), (NotPrivate, 4), (InvalidSpec, 4), (InvalidProblem, 2)),
    *((OverTotal, 6), (InvalidLedger, 7), (LedgerUnavailable, 10), (CannotWrite, 11)),
)
UNFORESEEN = 5
# An exception's own words, and even its kind, may tell of confidential data.
SILENT = "release: failed in a way that nobody foresaw, perhaps over a damaged file; nothing was released."
CLOSED = "standard output: is closed; open it, or send it to a file or to /dev/null."


def run(options: argparse.Namespace) -> int:
    """Run the command of parsed options; returns the exit code."""
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
        if not options.confidential:
            raise
        _drop_output()
        raise CannotWrite("standard output: nobody reads it, and what was released is lost; save it with -o.") from None
    except OSError as error:  # a full disk
        _drop_output()
        raise CannotWrite(f"standard output: {error.strerror}; make room, or save the result with -o.") from None
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
        from designer.cli.doctor import installing

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
            # "path" is the argument of a function; on a command line the file says enough.
            print(one_line(f"dp-designer: {words.removeprefix('path: ')}"), file=sys.stderr, flush=True)


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

r"""Tables as CSV text that machines read back exactly, and that no spreadsheet runs.

UTF-8, a header line, one comma between fields, lines end in a line feed. Texts are quoted, always; quotes in them are doubled,
control characters, line breaks among them, and characters that turn text around are written as escapes (\x1b, \u202e), so that
a terminal that shows the file obeys none of them; in a text that holds one, or what looks like one, every backslash is doubled.
Numbers are not quoted; they are the shortest that read back as the same float. A text that a spreadsheet would take for a
formula (it begins with = + - @ and is no plain number) gets an apostrophe before it. `unguarded` takes all of this back.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

# The wide forms are those that some spreadsheets take for the narrow ones.
_RUN = re.compile("'*[=+\\-@\t\r＝＋－＠]")
_GUARDED = re.compile("'+[=+\\-@\t\r＝＋－＠]")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_ESCAPED = re.compile(r"\\(x[0-9a-f]{2}|u[0-9a-f]{4})")
_PAIR = re.compile(r"\\(\\|x[0-9a-f]{2}|u[0-9a-f]{4})")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
SEPARATORS = ";\t|,"
CARRIAGE_RETURNS = (
    "its first line holds a carriage return without a line feed; save the file with lines that end in a line feed."
)
_STRAY = "\udc0d"  # for a carriage return that ends no line; no text that was decoded from a file holds half a character


def csv_records(file: Iterable[str], delimiter: str) -> Iterator[list[str]]:
    r"""The records of CSV text as lists of fields, blank lines left out.

    file: its lines, as a file gives them that was opened with newline="\n". A line ends in a line feed, with or without a
    carriage return before it. Any other carriage return belongs to its field, in quotes or not, as some programs write it,
    `csv.writer` of Python before 3.13 among them: one record that holds one stays one record. Raises `csv.Error` for a field
    over `csv.field_size_limit()`.

    >>> list(csv_records(["k,n\n", "a\rb,1\r\n", "\n", '"c\r\n', 'd",2'], ","))
    [['k', 'n'], ['a\rb', '1'], ['c\r\nd', '2']]
    """
    for row in csv.reader(map(_without_strays, file), delimiter=delimiter):
        if row:
            yield [field.replace(_STRAY, "\r") for field in row] if any(_STRAY in field for field in row) else row


def _without_strays(line: str) -> str:
    if "\r" not in line:
        return line
    end = "\r\n" if line.endswith("\r\n") else ""
    return line.removesuffix(end).replace("\r", _STRAY) + end


def guarded(text: str) -> str:
    r"""A text that no spreadsheet runs and no terminal obeys; different texts stay different.

    >>> guarded("=1+1"), guarded("-5"), guarded("-5+cmd"), guarded("'t Zandt"), guarded("'=1")
    ("'=1+1", '-5', "'-5+cmd", "'t Zandt", "''=1")
    >>> print(guarded("a\x1b[31m\\b"), guarded("C:\\new"), guarded("\\x1b"))
    a\x1b[31m\\b C:\new \\x1b
    """
    if _CONTROL.search(text) or _ESCAPED.search(text):
        text = _CONTROL.sub(lambda found: _escape(found.group()), text.replace("\\", "\\\\"))
    return f"'{text}" if _RUN.match(text) and not _NUMBER.fullmatch(text) else text


def unguarded(text: str) -> str:
    """The text that `guarded` was given.

    >>> unguarded("'=1+1"), unguarded("-5"), unguarded("'t Zandt")
    ('=1+1', '-5', "'t Zandt")
    """
    text = text[1:] if _GUARDED.match(text) else text
    if not _ESCAPED.search(text):
        return text
    return _PAIR.sub(lambda found: "\\" if found[1] == "\\" else chr(int(found[1][1:], 16)), text)


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def as_csv(columns: Mapping[str, Any]) -> str:
    """Columns by name, sequences of texts or arrays of numbers, all equally long, as CSV."""
    fields = [_fields(column) for column in columns.values()]
    rows = (",".join(row) for row in zip(*fields, strict=True))
    return "\n".join([",".join(map(_quoted, columns)), *rows, ""])


def _fields(column: Sequence[Any]) -> list[str]:
    if isinstance(column, np.ndarray) and column.dtype.kind in "iu":
        return list(map(str, column.tolist()))
    if isinstance(column, np.ndarray) and column.dtype.kind == "f":
        return [_number(value) for value in (column + 0.0).tolist()]
    return list(map(_quoted, column))


def _number(value: float) -> str:
    """The shortest digits that read back the same; whole numbers without a point; a cell without a number is empty."""
    return "" if value != value else repr(value).removesuffix(".0")


def _quoted(text: str) -> str:
    return '"' + guarded(text).replace('"', '""') + '"'


def number_in_file(text: str) -> float | None:
    """A number as files write it, in ASCII; None for anything else: Python would take 1_000, and digits of any script."""
    if not text.isascii() or "_" in text:
        return None
    try:
        return float(text)
    except ValueError:
        return None


def other_separator(names: Sequence[str], delimiter: str) -> str | None:
    """The mark that separates the names of a file in the place of the one that was given; None where there is none."""
    return next((mark for mark in SEPARATORS if mark != delimiter and len(names) == 1 and mark in names[0]), None)

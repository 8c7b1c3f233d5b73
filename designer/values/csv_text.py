"""Tables as CSV text that machines read back exactly, and that no spreadsheet runs.

UTF-8, a header line, one comma between fields, lines end in a line feed. Texts are quoted, always; quotes in them are doubled,
and all other characters, line breaks and control characters among them, stand as they are. Numbers are not quoted; they are
the shortest that read back as the same float. A text that a spreadsheet would take for a formula (it begins with = + - @, a tab
or a carriage return, and is no plain number) gets an apostrophe before it, which `unguarded` takes away again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

# The wide forms are those that some spreadsheets take for the narrow ones.
_RUN = re.compile("'*[=+\\-@\t\r＝＋－＠]")
_GUARDED = re.compile("'+[=+\\-@\t\r＝＋－＠]")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def guarded(text: str) -> str:
    """A text that no spreadsheet runs; different texts stay different.

    >>> guarded("=1+1"), guarded("-5"), guarded("-5+cmd"), guarded("'t Zandt"), guarded("'=1")
    ("'=1+1", '-5', "'-5+cmd", "'t Zandt", "''=1")
    """
    return f"'{text}" if _RUN.match(text) and not _NUMBER.fullmatch(text) else text


def unguarded(text: str) -> str:
    """The text that `guarded` was given.

    >>> unguarded("'=1+1"), unguarded("-5"), unguarded("'t Zandt")
    ('=1+1', '-5', "'t Zandt")
    """
    return text[1:] if _GUARDED.match(text) else text


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

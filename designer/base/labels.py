"""What one value of a record is: a label, or a number, by a pure function of that value and of what is public.

A frame chooses the type of a column by all of its values: one that is missing makes whole numbers floats, and booleans
objects. So nothing here looks at the type of a column. Equal numbers are one label, whatever holds them (1, 1.0,
Decimal("1.00"), and -0.0 is 0); booleans are no numbers; a moment at midnight is its day; a float from 2^53 on, infinite or
not, may stand for another number, and is no label. docs/theory/entities.md, section "One value, one label".
"""

from __future__ import annotations

import csv
import math
import re
import sys
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal, Inexact, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from designer.base.errors import InvalidProblem

# Tables as CSV text that machines read back exactly, and that no spreadsheet runs.
#
# UTF-8, a header line, one comma between fields, lines end in a line feed. Texts are quoted, always; quotes in them are
# doubled, control characters, line breaks among them, and characters that turn text around are written as escapes (\x1b,
# \u202e), so that a terminal that shows the file obeys none of them; in a text that holds one, or what looks like one, every
# backslash is doubled. Numbers are not quoted; they are the shortest that read back as the same float. A text that a
# spreadsheet would take for a formula (it begins with = + - @ and is no plain number) gets an apostrophe before it.
# `unguarded` takes all of this back.


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
    text = escaped(text)
    return f"'{text}" if _RUN.match(text) and not _NUMBER.fullmatch(text) else text


def escaped(text: str) -> str:
    r"""A text that no terminal obeys, and that XML can hold; different texts stay different.

    >>> print(escaped("a\nb"), escaped("=1"))
    a\x0ab =1
    """
    if _CONTROL.search(text) or _ESCAPED.search(text):
        return _CONTROL.sub(lambda found: _escape(found.group()), text.replace("\\", "\\\\"))
    return text


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


def as_csv(columns: Mapping[str, Any], delimiter: str = ",", decimal: str = ".", categories: int = 0) -> str:
    """Columns by name, sequences of texts or arrays of numbers, all equally long, as CSV; the first `categories` of them have a
    decimal point in any case."""
    fields = [_fields(column, decimal if k >= categories else ".") for k, column in enumerate(columns.values())]
    rows = (delimiter.join(row) for row in zip(*fields, strict=True))
    return "\n".join([delimiter.join(map(_quoted, columns)), *rows, ""])


def _fields(column: Sequence[Any], decimal: str) -> list[str]:
    if isinstance(column, np.ndarray) and column.dtype.kind in "iu":
        return list(map(str, column.tolist()))
    if isinstance(column, np.ndarray) and column.dtype.kind == "f":
        numbers = [_number(value) for value in (column + 0.0).tolist()]
        return numbers if decimal == "." else [number.replace(".", decimal) for number in numbers]
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


def refuse_utf_16(path: Path) -> None:
    """Refuse a file that begins with the mark of UTF-16."""
    with path.open("rb") as file:
        if file.read(2) in (BOM_UTF16_LE, BOM_UTF16_BE):
            raise InvalidProblem(f"{path}: is a text in UTF-16; save it as UTF-8 (in a spreadsheet: CSV UTF-8).")


def other_separator(names: Sequence[str], delimiter: str) -> str | None:
    """The mark that separates the names of a file in the place of the one that was given; None where there is none."""
    return next((mark for mark in SEPARATORS if mark != delimiter and len(names) == 1 and mark in names[0]), None)


EXACT = 2**53  # floats below it (in size) hold one whole number each
MOST_DIGITS = 400  # of a number that is a label: more than any column type holds, and quick to spell
LARGEST = 10**MOST_DIGITS
CACHED = 2**16  # different values of one column that are kept
PLAIN = {str, int, float, bool, date, type(None)}
BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?(e[+-][0-9]{1,3})?")
MIDNIGHT = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]00:00:00(\.0+)?")

Token = tuple[str, object]  # what kind of value it is, and which one


def is_missing(value: object) -> bool:
    """Does an engine hold NULL, or NaN, where a frame or a record holds this: None, NaN of any type, the missing values of
    pandas?"""
    if isinstance(value, (float, np.floating)):
        return bool(np.isnan(value))
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    pandas = sys.modules.get("pandas")
    return value is None or (pandas is not None and (value is pandas.NA or value is pandas.NaT))


def label_of(value: object) -> str | None:
    """The text of a value; None where it is missing, or no label.

    >>> [label_of(value) for value in (1, 1.0, Decimal("1.00"), True, -0.0, 0.5, "01", None, 2.0**60)]
    ['1', '1', '1', 'true', '0', '0.5', '01', None, None]
    """
    token = _token(value)
    return None if token is None else _text(token)


def listed_label(value: object) -> str:
    """The text that a public list of labels has for a value: its label, or where it is none, how Python writes it."""
    text = label_of(value)
    return str(value) if text is None else text


def number_of(value: object) -> float | None:
    """The float next to a value of a column of numbers; None where it is missing or no number. Texts are read as in CSV files.

    >>> [number_of(value) for value in (1, Decimal("0.5"), "2", True, "two", 2**2000)]
    [1.0, 0.5, 2.0, None, None, inf]
    """
    value = _unwrapped(value)
    if isinstance(value, str):
        value = number_in_file(value)
    if is_missing(value) or isinstance(value, (bool, np.bool_, np.timedelta64)):
        return None
    if not isinstance(value, (int, float, np.integer, np.floating, Decimal, Fraction)):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def whole_of(value: object) -> int | None:
    """A value as a whole number of 64 bits; None where it is missing or none."""
    text = _unwrapped(value)
    token = _spelled(text) if isinstance(text, str) else _token(text)
    if token is None or token[0] != "number":
        return None
    number = token[1]
    return number if isinstance(number, int) and -(2**63) <= number < 2**63 else None


def turns_to_floats(column: Any) -> bool:
    """Is it a column of a type of NumPy, in which whole numbers become floats as soon as one is missing?"""
    kind = getattr(column, "dtype", None)
    return isinstance(getattr(getattr(kind, "categories", None), "dtype", kind), np.dtype)


def values_of(column: Any) -> list[object]:
    """The values of a column of any library, one by one; in a type of NumPy whole numbers from 2^53 on are floats, as they are
    where one is missing."""
    values = _values_of(column)
    if turns_to_floats(column):
        return [number_of(value) if type(value) is int and abs(value) >= EXACT else value for value in values]
    return values


def _values_of(column: Any) -> list[object]:
    if getattr(getattr(column, "dtype", None), "kind", "") in "mM" and isinstance(column, np.ndarray):
        return list(column)  # `tolist` would make whole numbers of them
    for name in ("to_pylist", "tolist", "to_list"):
        if hasattr(column, name):
            return list(getattr(column, name)())
    return list(column)


class Labels:
    """The labels that are listed for one column, and which of them a value is.

    Texts are what they are. Where all labels are numbers, booleans or days, so is a text that spells one ("1.0" is the label
    1, "True" is true, but "01" is no number), and 1 and 0 are true and false among booleans, because some containers make these
    of them. A value of two labels (1 of "1" and "1.0") is none.

    listed: the labels, `apart` those of them that stand for no value. kind: what all of them are: "number", "boolean" or
    "date"; None where they are texts, or are not all of one kind.

    >>> [Labels(["1", "2"]).name(value) for value in (1.0, "1", "1.0", "01", True, None)]
    ['1', '1', '1', None, None, None]
    """

    def __init__(self, listed: Iterable[str], apart: Iterable[str] = ()) -> None:
        self.texts = frozenset(listed)
        spelled = {text: _spelled(text) for text in self.texts.difference(apart)}
        self._known: dict[Token, str | None] = {}
        for text, token in spelled.items():
            if token is not None:
                self._known[token] = None if token in self._known else text
        kinds = {None if token is None else token[0] for token in spelled.values()}
        self.kind = kinds.pop() if len(kinds) == 1 else None

    def name(self, value: object) -> str | None:
        """The label of a value; None where it is missing, or not listed."""
        token = _token(value)
        if token is None:
            return None
        if token[0] == "text":
            text = str(token[1])
            if text in self.texts or self.kind is None:
                return text if text in self.texts else None
            token = _spelled(text) or token
        if self.kind == "boolean" and token[0] == "number" and token[1] in (0, 1):
            token = ("boolean", token[1] == 1)
        if token in self._known:
            return self._known[token]
        text = _text(token)
        return text if text in self.texts else None

    def names(self, values: Iterable[object]) -> list[str | None]:
        """The label of each value."""
        return _each(self.name, values)

    def spellings(self) -> dict[str, str | None]:
        """The label of each text that spells a value of one otherwise than by plain digits without zeros at the end."""
        found: dict[str, str | None] = {}
        for token, text in self._known.items():
            written = {_text(token)}
            if token[0] == "number":
                exact = Fraction(str(token[1]))
                written |= {_plain(exact), *(short for short in _as_floats(exact) if "e" in short)}
            found |= dict.fromkeys(written - self.texts, text)
        return found

    def floats(self) -> dict[float, str | None]:
        """The labels that are the shortest digits of a float which is not whole, by that float."""
        numbers = [(value, text) for (_, value), text in self._known.items() if isinstance(value, Fraction)]
        return {float(shortest): text for value, text in numbers for shortest in _as_floats(value)}


def _unwrapped(value: Any) -> Any:
    """A value of Python for one that Arrow wraps; bytes as the text that they are in UTF-8."""
    if hasattr(value, "as_py"):
        value = value.as_py()
    return value.decode(errors="backslashreplace") if isinstance(value, (bytes, bytearray)) else value


def _token(value: Any) -> Token | None:
    """What a value is; None where it is missing, or no label."""
    if type(value) is int:
        return _of_number(value)
    value = _unwrapped(value)
    if isinstance(value, str):
        return "text", str.__str__(value)
    if is_missing(value):
        return None
    if isinstance(value, (bool, np.bool_)):
        return "boolean", bool(value)
    if isinstance(value, np.datetime64):
        days = np.datetime_data(value.dtype)[0] in "YMWD"
        value = value.astype("datetime64[D]" if days else "datetime64[us]").item()
    elif isinstance(value, np.timedelta64):
        return "text", str(value)
    if isinstance(value, (int, np.integer)):
        return _of_number(int(value))
    if isinstance(value, (float, np.floating)):
        number = float(value)
        if not abs(number) < EXACT:
            return None
        return _of_number(int(number) if number.is_integer() else Fraction(repr(number)))
    if isinstance(value, Decimal):
        near = value.is_finite() and (value == 0 or abs(value.adjusted()) < MOST_DIGITS)
        return _of_number(Fraction(value)) if near else None
    if isinstance(value, Fraction):
        return _of_number(value)
    if isinstance(value, date):
        return _of_date(value)
    return _of_other(value)


def _of_number(number: int | Fraction) -> Token | None:
    if isinstance(number, Fraction) and number.denominator == 1:
        number = number.numerator
    if isinstance(number, int):
        return ("number", number) if -LARGEST < number < LARGEST else None
    return ("number", number) if max(abs(number.numerator), number.denominator) < LARGEST else None


def _of_date(value: date) -> Token:
    """Midnight of no time zone is a day."""
    if isinstance(value, datetime):
        day = value.date()
        same = value.tzinfo is None and value.time() == datetime.min.time() and not getattr(value, "nanosecond", 0)
        return ("date", day) if same else ("text", str(value))
    return "date", value


def _of_other(value: Any) -> Token | None:
    """Identifiers, intervals and the like by their text; what has no hash, such as a list, is no label."""
    with suppress(Exception):  # whatever the type of one value does, it says nothing about the others
        hash(value)
        return "text", str(value)
    return None


def _spelled(text: str) -> Token | None:
    """What a text spells: a boolean, a number in plain digits or as Python writes a float, or a day; None for any other text,
    such as "01" or "1E2"."""
    if text in BOOLEANS:
        return "boolean", BOOLEANS[text]
    if len(text) <= MOST_DIGITS and NUMBER.fullmatch(text) and ("e" not in text or repr(float(text)) == text):
        return _of_number(Fraction(text))
    if len(text) >= 10 and (text[:10].isascii() and text[4:8:3] == "--"):
        midnight = MIDNIGHT.fullmatch(text)
        with suppress(ValueError):
            return "date", date.fromisoformat(midnight[1] if midnight else text)
    return None


def _text(token: Token) -> str:
    """How what a value is, is written."""
    kind, value = token
    if kind == "boolean":
        return "true" if value else "false"
    if isinstance(value, date):
        return value.isoformat()
    return _decimal(value) if isinstance(value, Fraction) else str(value)


def _decimal(number: Fraction) -> str:
    """A number that is not whole: as a float is written that reads back as it, else by all its digits, or as a quotient."""
    return next(iter(_as_floats(number)), None) or _plain(number)


def _as_floats(number: Fraction) -> list[str]:
    """How Python writes the float whose shortest digits are a number, if there is one."""
    with suppress(OverflowError):
        if Fraction(repr(float(number))) == number:
            return [repr(float(number))]
    return []


def _plain(number: Fraction) -> str:
    """A number by all its digits, or as a quotient."""
    with localcontext() as context, suppress(Inexact):
        context.prec, context.traps[Inexact] = 3 * MOST_DIGITS, True
        return format(Decimal(number.numerator) / Decimal(number.denominator), "f")
    return str(number)


def texts_of(values: Iterable[object]) -> list[str | None]:
    """The label of each value, as UTF-8 can hold it."""
    return _each(lambda value: _encodable(label_of(value)), values)


def _each(read: Callable[[object], str | None], values: Iterable[object]) -> list[str | None]:
    """What each value is read as, each different one of the plain types once: of those alone equal ones are the same."""
    known: dict[tuple[type, object], str | None] = {}
    found = []
    for value in values:
        key = (type(value), value)
        if key[0] not in PLAIN:
            found.append(read(value))
            continue
        if key not in known:
            if len(known) >= CACHED:
                known.clear()
            known[key] = read(value)
        found.append(known[key])
    return found


def _encodable(text: str | None) -> str | None:
    """A text without halves of surrogate pairs, which no UTF-8 has."""
    return text if text is None or text.isascii() else text.encode(errors="backslashreplace").decode()

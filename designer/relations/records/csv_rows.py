"""CSV files as columns of texts and numbers, by rules that read each record alone: none
is refused or dropped for what it holds.

- The first line names the columns; it is public, and refused where it is no text in UTF-8. A byte-order mark is no part of it.
- Below it, bytes that are not UTF-8 become U+FFFD.
- Fields are separated by the delimiter; one in double quotes may hold delimiters, line ends and doubled quotes, at any length.
- A line ends in a line feed, or in a carriage return and a line feed; a carriage return alone is part of its field.
- Fields that a record lacks, and empty ones, are missing; those too many are cut off; a blank line is no record.
- A record is what the quotes make of the file: one that never closes makes one record of all lines that follow.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from designer.base.checks import shown
from designer.base.errors import InvalidProblem
from designer.base.labels import CARRIAGE_RETURNS, csv_records, number_in_file, other_separator, refuse_utf_16
from designer.limits import MOST_COLUMN_NAME_CHARACTERS, MOST_FIELD_BYTES

NO_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffd]")  # in a name: control characters, and what was no UTF-8
ROWS_AT_ONCE = 20_000


@dataclass(frozen=True)
class Marks:
    """How a CSV file separates fields and writes numbers. thousands: a mark between groups of three digits, none by default."""

    delimiter: str = ","
    decimal: str = "."
    thousands: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.delimiter, str) or len(self.delimiter) != 1 or self.delimiter in '"\r\n\0':
            raise InvalidProblem(
                f"delimiter: {shown(self.delimiter)} is not one character other than a quote or a line end; give a comma, "
                "a semicolon or a tab.",
                value=self.delimiter,
            )
        if self.decimal not in (".", ","):
            raise InvalidProblem(f'decimal: {shown(self.decimal)} is no decimal mark; use "." or ",".', value=self.decimal)
        if self.thousands not in ("", ".", ",", " ", "'", "_") or self.thousands == self.decimal:
            raise InvalidProblem(
                f"thousands: {shown(self.thousands)} is no mark of thousands beside the decimal mark {self.decimal!r}; use "
                "one of . , ' _ or a space"
                + ("; numbers such as 1.234,5 need --decimal , as well." if self.thousands == "." else "."),
                value=self.thousands,
            )

    def number(self, text: str) -> float | None:
        """A field as a float: ASCII digits, a sign, a decimal mark, an exponent, or inf or nan;
        None for anything else, which is missing."""
        if (plain := self._ungrouped(text)) is None:
            return None
        if self.decimal == ",":
            plain = "" if "." in plain else plain.replace(",", ".")
        return number_in_file(plain)

    def whole(self, text: str) -> int | None:
        """A field as a whole number of 64 bits; None for anything else, which is missing."""
        if self.number(text) is None:
            return None
        digits = (text.replace(self.thousands, "") if self.thousands else text).strip()
        parts = re.fullmatch(rf"([+-]?[0-9]{{1,20}})({re.escape(self.decimal)}0*)?", digits)
        found = int(parts[1]) if parts else 2**63
        return found if -(2**63) <= found < 2**63 else None

    def count(self, text: str) -> int | None:
        """A field as a count: ASCII digits, and perhaps a decimal mark and zeros behind them; None for anything else."""
        digits = rf"([0-9]{{1,20}})({re.escape(self.decimal)}0*)?"
        found = re.fullmatch(digits, self._ungrouped(text.strip(" \t")) or "")
        return int(found[1]) if found else None

    def _ungrouped(self, text: str) -> str | None:
        """A field without its marks of thousands; None where one stands anywhere but between groups of three digits."""
        if not self.thousands or self.thousands not in text:
            return text
        grouped = rf"[ \t]*[+-]?[0-9]{{1,3}}({re.escape(self.thousands)}[0-9]{{3}})+(?![0-9]|{re.escape(self.thousands)}).*"
        return text.replace(self.thousands, "") if re.fullmatch(grouped, text, re.ASCII | re.DOTALL) else None


COMMAS = Marks()


def header(path: Path, delimiter: str) -> list[str]:
    """The columns that the first line names, each once; engines do not tell upper from lower case."""
    refuse_utf_16(path)
    names = next(_records(path, delimiter), [])
    if not any(names):
        raise InvalidProblem(f"{path}: is empty, or its first line is; write the names of its columns there.")
    if any("\r" in name for name in names):
        raise InvalidProblem(f"{path}: {CARRIAGE_RETURNS}")
    if any(len(name) > MOST_COLUMN_NAME_CHARACTERS or NO_TEXT.search(name) for name in names):
        raise InvalidProblem(
            f"{path}, line 1: is no line of column names in UTF-8; save the file as UTF-8 (a spreadsheet: as CSV UTF-8), with "
            f"the names of its columns first, each of up to {MOST_COLUMN_NAME_CHARACTERS} characters."
        )
    if mark := other_separator(names, delimiter):
        raise InvalidProblem(
            f"{path}: its first line is separated by {mark!r}, not by {delimiter!r}: give --delimiter {mark!r}."
        )
    if fault := fault_of_names(names):
        raise InvalidProblem(f"{path}, line 1: must name every column once, whatever the case of letters; {fault}.")
    return names


def fault_of_names(names: Sequence[str]) -> str:
    """What is wrong with the names of columns, and what to do; empty where nothing is. Case makes no difference to engines."""
    if not names:
        return "there is none; write the names of the columns first"
    folded = [name.casefold() for name in names]
    for place, name in enumerate(names, 1):
        if not name.strip():
            return f"column {place} has no name; write one above it"
        if not name.isprintable():
            return f"the name of column {place} holds characters that cannot be seen; rename it"
        if folded.index(folded[place - 1]) + 1 < place:
            return f"columns {folded.index(folded[place - 1]) + 1} and {place} are both {shown(name)}; rename one"
    return ""


def overlong(path: Path, delimiter: str) -> list[int]:
    """The records, from 1 on, with more fields than the first line has names, which are cut off."""
    rows = _records(path, delimiter)
    width = len(next(rows))
    return [place for place, row in enumerate(rows, 1) if any(row[width:])]


def batches(path: Path, delimiter: str, width: int) -> Iterator[list[tuple[str, ...]]]:
    """The records below the header as columns, some thousands at a time; what is missing is an empty text."""
    records = islice(_records(path, delimiter), 1, None)
    while rows := list(islice(records, ROWS_AT_ONCE)):
        yield list(zip(*(row if len(row) == width else row[:width] + [""] * (width - len(row)) for row in rows), strict=True))


def _records(path: Path, delimiter: str) -> Iterator[list[str]]:
    csv.field_size_limit(MOST_FIELD_BYTES)
    with path.open(encoding="utf-8-sig", errors="replace", newline="\n") as file:
        yield from csv_records(file, delimiter)

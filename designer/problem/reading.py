"""How columns of records are read: bins, labels of codes and missing values, all public, each by a function of one value alone.

A value becomes one text, whatever holds it: 1, 1.0 and Decimal("1.00") are "1", True is "true", and what is missing is None.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from designer.base.checks import assign, count, is_text, meant, shown
from designer.base.errors import InvalidProblem
from designer.base.labels import EXACT, NUMBER, is_missing, number_in_file
from designer.base.schema import COUNT, Named, Schema, either, list_of, noted, number, one_of, record, text
from designer.limits import MOST_COMBINED_COLUMNS

LISTED = 12  # labels of a column in a line
COMBINING = ("sum", "product", "quotient")  # what numbers of several columns of a file make
PERIODS = {"month": 7, "year": 4}  # how much of an ISO day is left
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([ T].*)?", re.DOTALL)
BINS = either(
    noted("Lower ends, rising; the last has no upper end: [0, 15, 25, 65].", list_of(number())),
    noted("Days as months (2021-03) or years (2021).", one_of(*PERIODS)),
)
CODE = either(text(), number())
BY_CODE: Schema = {"type": "object", "additionalProperties": text()}
LABELS = noted("A text for each code, beside which it is shown.", BY_CODE)
LABELS_IN_FILE = noted(
    "A text for each code, beside which it is shown; or a table beside the file, codes first, texts second.",
    either(text(), BY_CODE),
)
COLUMN_KEYS: Mapping[str, Schema] = {
    "bins": noted("What numbers or days are grouped into.", BINS),
    "labels": LABELS,
    "missing": noted(
        "Codes that say that a value is missing, and ranges of them: [98, 99, [-inf, -1]].",
        list_of(either(CODE, list_of(CODE, least=2, most=2))),
    ),
    "column": noted("The column of the file that is read, where it is called otherwise there.", text()),
    "prefix": noted("How many of the first characters of a code are kept.", COUNT),
    "sum": noted("Columns of numbers of the file that are added up; `missing` are codes in these.", list_of(text(), least=2)),
    "product": noted("Columns of numbers of the file that are multiplied, such as a weight and an amount.", list_of(text(), 2)),
    "quotient": noted("Two columns of numbers of the file, the first divided by the second.", list_of(text(), 2, 2)),
}
COLUMN_FORM = Named("column_reading", record({}, COLUMN_KEYS, note="How a column of records is read."))
COLUMN_IN_FILE = Named(
    "column_in_file", record({}, {**COLUMN_KEYS, "labels": LABELS_IN_FILE}, note="How a column of records is read.")
)
ATTRIBUTE_KEYS: Mapping[str, Schema] = {
    **COLUMN_KEYS,
    "labels": LABELS_IN_FILE,
    "values": noted("The values, where bins or labels do not list them.", list_of(CODE)),
}
ATTRIBUTE = Named("attribute_reading", record({}, ATTRIBUTE_KEYS, note="An attribute by its bins, or by codes with labels."))
RECORDS_KEYS: Mapping[str, Schema] = {
    "entity": noted("The column that tells whose a record is; whole entities are protected.", text()),
    "rows_per_entity": noted("How many records of each entity count.", COUNT),
    "delimiter": noted("What separates the fields of a CSV file; a comma unless given.", text()),
    "decimal": noted("The decimal mark of a CSV file.", one_of(".", ",")),
    "thousands": noted("The mark between groups of three digits of a CSV file.", text()),
    "sheet": noted("The sheet of a workbook; the only visible one unless given.", text()),
}
TOGETHER = {"dependentRequired": {"entity": ["rows_per_entity"], "rows_per_entity": ["entity"]}}
SECTIONS: Mapping[str, Any] = {
    "records": Named(
        "records_section", record({}, RECORDS_KEYS, note="What the records are, and how their file is read.", **TOGETHER)
    ),
    "columns": noted(
        "How columns of the records are read, by their names.", {"type": "object", "additionalProperties": COLUMN_IN_FILE}
    ),
}
COLUMNS = {"type": "object", "additionalProperties": COLUMN_FORM}
READING = Named(
    "reading",
    record({}, {**RECORDS_KEYS, "columns": COLUMNS}, note="How a release reads its records.", minProperties=1),
)


def code_text(value: Any) -> str | None:
    """The text of one value; None where it is missing.

    A float is a whole number up to 2^53, and the shortest digits that read back as it otherwise; a moment at midnight is its
    day; times and durations are their seconds.

    >>> [code_text(value) for value in (1, 1.0, -0.0, True, 1.5, "01", "", None, float("nan"))]
    ['1', '1', '0', 'true', '1.5', '01', None, None, None]
    """
    if isinstance(value, str):
        return value or None
    if is_missing(value):
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, timedelta):
        value = value.total_seconds()
    elif isinstance(value, time):
        value = (
            timedelta(hours=value.hour, minutes=value.minute, seconds=value.second).total_seconds() + value.microsecond / 1e6
        )
    elif isinstance(value, datetime):
        midnight = value.time() == time() and value.tzinfo is None
        return value.date().isoformat() if midnight else value.isoformat(sep=" ")
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) <= EXACT else repr(value)
    if isinstance(value, date):
        return value.isoformat()
    number = getattr(value, "as_integer_ratio", None)
    return str(value) if number is None or number()[1] != 1 else str(number()[0])


def bin_labels(edges: Sequence[float]) -> tuple[str, ...]:
    """A label for each bin from one edge to below the next, the last without an end.

    >>> bin_labels([0, 15, 16, 65]), bin_labels([-1, 0.5])
    (('0-14', '15', '16-64', '65+'), ('-1 to <0.5', '0.5+'))
    """
    written = [str(code_text(edge)) for edge in edges]
    whole = all(float(edge).is_integer() for edge in edges) and edges[0] >= 0

    def label(place: int) -> str:
        low, high = edges[place : place + 2]
        if not whole:
            return f"{written[place]} to <{written[place + 1]}"
        return written[place] if high - low == 1 else f"{written[place]}-{code_text(high - 1)}"

    return (*map(label, range(len(edges) - 1)), f"{written[-1]}+")


@dataclass(frozen=True)
class ColumnReading:
    """How one column is read. bins: lower ends, "month" or "year"; labels: by code; missing: codes, ranges (low, high). column:
    its name in the file. prefix: how many characters of a code are kept. sum, product, quotient: of which columns it is."""

    bins: tuple[float, ...] | str | None = None
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    missing: tuple[Any, ...] = ()
    column: str = ""
    prefix: int | None = None
    sum: tuple[str, ...] = ()
    product: tuple[str, ...] = ()
    quotient: tuple[str, ...] = ()

    @property
    def changes(self) -> bool:
        """Is a value read as anything else than itself?"""
        return self.bins is not None or self.prefix is not None or bool(self.missing or self.column or self.combined)

    @property
    def combined(self) -> tuple[str, ...]:
        """The columns of the file from which a number is computed."""
        return self.sum or self.product or self.quotient

    def sources(self, name: str) -> tuple[str, ...]:
        """The columns of the file that are read for the column of this name."""
        return self.combined or (self.column or name,)

    def number(self, parts: Sequence[float | str | None]) -> float | str | None:
        """The sum, product or quotient of the numbers of one record; missing where one is, and where the divisor is 0; a text
        where one is a text, which spells no number."""
        if texts := [part for part in parts if isinstance(part, str)]:
            return texts[0]
        numbers = [part for part in parts if part is not None and not isinstance(part, str)]
        if len(numbers) < len(parts) or (self.quotient and not numbers[1]):
            return None
        found = numbers[0] / numbers[1] if self.quotient else math.prod(numbers) if self.product else sum(numbers)
        return found if math.isfinite(found) else None

    @property
    def values(self) -> tuple[str, ...]:
        """The values that bins or labels list, in their order; none where neither does."""
        return bin_labels(self.bins) if isinstance(self.bins, tuple) else tuple(self.labels)

    @property
    def missing_codes(self) -> tuple[Any, ...]:
        """Codes as texts, and ranges."""
        return tuple(own if isinstance(own, tuple) else code_text(own) for own in self.missing)

    @cached_property
    def _codes(self) -> frozenset[str]:
        return frozenset(code for code in self.missing_codes if isinstance(code, str))

    def is_missing(self, code: str | None) -> bool:
        """Is a value missing, or declared to be?"""
        if code is None or not self.missing:
            return code is None
        plain = code_text(float(code)) if NUMBER.fullmatch(code) else code
        if plain in self._codes or code in self._codes:
            return True
        value = number_in_file(code)
        return value is not None and any(isinstance(own, tuple) and own[0] <= value <= own[1] for own in self.missing)

    def text(self, code: str | None, value: float | None) -> str | None:
        """What a value is read as. code: its text; value: its number, None where it is none."""
        if self.is_missing(code):
            return None
        if self.prefix is not None:
            return str(code)[: self.prefix]
        if isinstance(self.bins, str):
            return str(code)[: PERIODS[self.bins]] if DAY.fullmatch(str(code)) else code
        if self.bins is None or value is None or not self.bins[0] <= value < math.inf:
            return code
        return self.values[bisect_right(self.bins, value) - 1]

    @classmethod
    def of(cls, given: Mapping[str, Any], where: str) -> ColumnReading:
        """From plain data. where: names the column in refusals."""
        require_known(given, COLUMN_KEYS, where)
        bins, missing = given.get("bins"), given.get("missing", ())
        if isinstance(bins, str) and bins not in PERIODS:
            raise InvalidProblem(f"{where} bins = {shown(bins)}: is unknown; give numbers, or one of {list(PERIODS)}.")
        if bins is not None and not isinstance(bins, str):
            bins = tuple(_number(edge, f"{where} bins") for edge in _list(bins, f"{where} bins"))
            if not bins or any(not a < b for a, b in pairwise(bins)) or not all(map(math.isfinite, bins)):
                raise InvalidProblem(f"{where} bins = {shown(list(bins))}: give lower ends that rise, such as [0, 15, 25, 65].")
        labels = given.get("labels", {})
        if not isinstance(labels, Mapping) or not all(_is_line(part) for pair in labels.items() for part in pair):
            raise InvalidProblem(
                f'{where} labels = {shown(labels)}: give a line of text for each code: {{ "1" = "Employed" }}.'
            )
        if twice := next((label for label in labels.values() if list(labels.values()).count(label) > 1), None):
            codes = [code for code, label in labels.items() if label == twice]
            raise InvalidProblem(f"{where} labels: {shown(twice)} is the label of {shown(codes)}; give each code its own.")
        if labels and isinstance(bins, tuple) and (unknown := [code for code in labels if code not in bin_labels(bins)]):
            raise InvalidProblem(f"{where} labels: {shown(unknown[0])} is none of the bins {list(bin_labels(bins))}.")
        declared = tuple(_missing(code, f"{where} missing") for code in _list(missing, f"{where} missing"))
        made = cls(bins, MappingProxyType(dict(labels)), declared, **_source(given, where))
        if both := [code for code in labels if made.is_missing(code)]:
            raise InvalidProblem(f"{where} missing: {shown(both[0])} has a label, too; a code is a value or missing, not both.")
        return made

    def to_dict(self) -> dict[str, Any]:
        """Plain data; infinite ends of ranges as texts, which JSON holds."""
        ends = [[_finite(end) for end in own] if isinstance(own, tuple) else own for own in self.missing]
        bins = list(self.bins) if isinstance(self.bins, tuple) else self.bins
        found = {"bins": bins, "labels": dict(self.labels), "missing": ends, "column": self.column, "prefix": self.prefix}
        found |= {name: [*getattr(self, name)] for name in COMBINING}
        return {name: value for name, value in found.items() if value}


@dataclass(frozen=True)
class Reading:
    """How a file of records is read, and whose the records are; `None` or empty where nothing is said.

    entity, rows_per_entity: as for a release. delimiter, decimal, thousands: of a CSV file. sheet: of a workbook. columns: by
    name.
    """

    entity: str | None = None
    rows_per_entity: int | None = None
    delimiter: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    sheet: str | None = None
    columns: Mapping[str, ColumnReading] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        assign(self, columns=MappingProxyType(dict(self.columns)))

    def __bool__(self) -> bool:
        """Is anything said?"""
        return any(getattr(self, each.name) for each in fields(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return Reading.of, (self.to_dict(),)

    @property
    def changing(self) -> dict[str, ColumnReading]:
        """The columns in which a value is read as something else."""
        return {name: column for name, column in self.columns.items() if column.changes}

    def legend(self) -> list[tuple[str, str]]:
        """Each column whose codes have labels, and the first of these in a line."""
        found = []
        for name, column in self.columns.items():
            listed = [f"{code} = {text}" for code, text in column.labels.items()]
            rest = [f"{len(listed) - LISTED} more"] if len(listed) > LISTED else []
            found.append((name, ", ".join([*listed[:LISTED], *rest])))
        return found

    def label(self, column: str, code: str) -> str:
        """What is shown beside a code; empty where it has no label."""
        return self.columns[column].labels.get(code, "") if column in self.columns else ""

    @classmethod
    def of(cls, given: object, where: str = "records") -> Reading:
        """From plain data; refuses keys that there are not."""
        if not isinstance(given, Mapping):
            raise InvalidProblem(f"{where}: {shown(given)} is no table of keys; give some of {[*RECORDS_KEYS, 'columns']}.")
        require_known(given, [*RECORDS_KEYS, "columns"], where)
        said = {key: value for key, value in given.items() if key != "columns"}
        if ("entity" in said) != ("rows_per_entity" in said):
            raise InvalidProblem(
                f"{where}: entity and rows_per_entity go together; give a column and how many of its rows count."
            )
        for key, value in said.items():
            one = key == "delimiter" and isinstance(value, str) and len(value) == 1
            if key != "rows_per_entity" and not one and not _is_line(value):
                raise InvalidProblem(f"{where} {key} = {shown(value)}: give a text in quotes.", value=value)
        if "rows_per_entity" in said:
            count(said["rows_per_entity"], f"{where} rows_per_entity")
        columns = given.get("columns", {})
        if not isinstance(columns, Mapping) or not all(isinstance(own, Mapping) for own in columns.values()):
            raise InvalidProblem(f"{where} columns = {shown(columns)}: give each column a table of keys.")
        made = {name: ColumnReading.of(own, f"{where}.columns.{name}") for name, own in columns.items()}
        if said.get("entity") in made and made[said["entity"]].changes:
            raise InvalidProblem(f"{where} entity: {shown(said['entity'])} has bins or missing values; entities have neither.")
        return cls(**said, columns=made)

    def to_dict(self) -> dict[str, Any]:
        """Plain data: what is said, and nothing else."""
        said = {
            each.name: getattr(self, each.name) for each in fields(self) if getattr(self, each.name) and each.name != "columns"
        }
        columns = {name: column.to_dict() for name, column in self.columns.items() if column.to_dict()}
        return {**said, "columns": columns} if columns else said


UNSAID = Reading()


def _source(given: Mapping[str, Any], where: str) -> dict[str, Any]:
    """What of the file a column is read from."""
    said = {key: given[key] for key in ("column", *COMBINING) if key in given}
    if len(said) > 1 or ("prefix" in given and {"bins", *COMBINING} & set(given)):
        raise InvalidProblem(
            f"{where}: give one of column, sum, product and quotient, and a prefix of codes alone, without bins."
        )
    names = {key: tuple(_list(said[key], f"{where} {key}")) for key in COMBINING if key in said}
    for key, own in names.items():
        if not all(map(_is_line, own)) or not 2 <= len(own) <= (2 if key == "quotient" else MOST_COMBINED_COLUMNS):
            raise InvalidProblem(
                f"{where} {key} = {shown([*own])}: give two names of columns, up to {LISTED} but for a quotient."
            )
    if "column" in said and not _is_line(said["column"]):
        raise InvalidProblem(f"{where} column = {shown(said['column'])}: give the name of a column of the file.")
    if "prefix" in given:
        names["prefix"] = count(given["prefix"], f"{where} prefix")  # type: ignore[assignment]
    return {**said, **names}


def require_known(given: Mapping[str, Any], known: Any, where: str) -> None:
    """Refuse a key that there is not."""
    for key in given:
        if key not in known:
            raise InvalidProblem(f"{where} {key}: unknown key; {meant(key, known)}it takes {sorted(known)}.", value=key)


def _list(given: Any, where: str) -> Sequence[Any]:
    if not isinstance(given, (list, tuple)):
        raise InvalidProblem(f"{where} = {shown(given)}: give a list.", value=given)
    return given


def _number(given: Any, where: str) -> float:
    found = {"-inf": -math.inf, "inf": math.inf}.get(given, given) if isinstance(given, str) else given
    if isinstance(found, bool) or not isinstance(found, (int, float, Fraction)) or found != found:
        raise InvalidProblem(f"{where}: {shown(given)} is no number.", value=given)
    return found if isinstance(found, int) else float(found)


def _missing(given: Any, where: str) -> Any:
    """A code, or a range of numbers."""
    if isinstance(given, str):
        return given
    if not isinstance(given, (list, tuple)):
        return _number(given, where)
    if len(given) != 2 or not (ends := tuple(_number(end, where) for end in given))[0] <= ends[1]:
        raise InvalidProblem(f"{where}: {shown(list(given))} is no range; give its lower and its upper end.", value=given)
    return ends


def _finite(end: float) -> float | str:
    return end if math.isfinite(end) else "inf" if end > 0 else "-inf"


def _is_line(value: object) -> bool:
    return isinstance(value, str) and is_text(value) and value.isprintable() and bool(value)

"""What is wrong with confidential records, for those who hold them: `check_records` and the report that it makes.

The report quotes values of the records. It is as confidential as they are, and nothing of it goes into a spec or a release.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unicodedata import normalize

from designer.base.checks import column_fault, count, shown
from designer.base.display import counted, printed
from designer.base.errors import InvalidProblem
from designer.base.frames import columns_of
from designer.base.labels import EXACT, Labels, is_missing, listed_label, number_of, texts_of, values_of
from designer.files.data_files import parquet_columns
from designer.files.office_files import (
    cells_of,
    column_names,
    dictionary_of,
    is_office_file,
    marks_of,
    notes_on,
    require_file_columns,
    sources_of,
)
from designer.problem.histogram import OTHERS, REFUSE, WORDS
from designer.problem.reading import ColumnReading, Reading
from designer.problem_file.forms import ProblemFile
from designer.problem_file.kinds import read_request
from designer.problem_file.sections import ExpectedValues
from designer.relations.records.csv_rows import Marks, batches, header, overlong
from designer.relations.records.row_unit import entity_of
from designer.relations.records.values import python_number

CONFIDENTIAL = (
    "CONFIDENTIAL: this report quotes the records. It is for those who hold them; do not publish it or send it on. Nothing was "
    "released, and nothing was spent."
)
NO_NUMBER = ", count as 0 in sums and are left out of averages and quantiles"
BLURRED = (
    "numbers from 2^53 on of a column of floats, or of whole numbers that one missing makes floats (int64 in pandas); "
    "they count as not listed: hold them as texts, or as whole numbers that may be missing (Int64 in pandas)"
)
SHOWN = 20  # values of one finding
ROWS_NAMED = 5  # of one value
UNDECODED = "\N{REPLACEMENT CHARACTER}"  # in the place of bytes that are no text
NOT_UTF_8 = " (bytes that are not UTF-8: save the file as UTF-8, a spreadsheet as CSV UTF-8)"
REMEDIES = (
    "Into a suppressed or empty cell write the true count: the noise protects it. 1,234 is read with --thousands , and 1.234 "
    "with --thousands . --decimal , behind the command."
)
PUBLIC_BOUND = (
    "The number of rows that count for one is public and must not be chosen by this report: take it from what is known of such "
    "data."
)
Columns = Mapping[str, Sequence[object]]


@dataclass(frozen=True)
class DataIssue:
    """One thing that is wrong: where, what, and in how many rows (or of how many entities). The values have their numbers of
    rows, the most frequent first."""

    where: str
    what: str
    rows: int
    values: tuple[tuple[str, int], ...] = ()
    first: int | None = None  # of the records, from 1 on
    of: int = 0  # rows in all, where it is said

    def lines(self) -> list[str]:
        """For the terminal."""
        listed = [f"    {value}: {rows:,}" for value, rows in self.values[:SHOWN]]
        rest, of = len(self.values) - SHOWN, f" of {self.of:,}" if self.of else ""
        first = f"; the first is record {self.first:,}" if self.first else ""
        return [
            f"{printed(self.where)}: {self.rows:,}{of} {self.what}{first}",
            *listed,
            *([f"    and {rest:,} more"] if rest > 0 else []),
        ]


@dataclass(frozen=True)
class RecordsReport:
    """What is wrong with some records, by column. Confidential: see `CONFIDENTIAL`. counts: are the rows counts, which the rule
    for unlisted values does not concern? warnings: sentences about the file, such as of its dictionary."""

    rows: int
    rule: str
    findings: tuple[DataIssue, ...]
    notes: tuple[str, ...] = ()
    counts: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def clean(self) -> bool:
        """Was nothing found?"""
        return not self.findings and not self.warnings

    def to_dict(self) -> dict[str, Any]:
        """Plain data, with the warning first."""
        found = [
            {"where": f.where, "what": f.what, "rows": f.rows, "values": [list(entry) for entry in f.values[:SHOWN]]}
            for f in self.findings
        ]
        warned = list(self.warnings)
        return {"confidential": CONFIDENTIAL, "rows": self.rows, "unlisted": self.rule, "findings": found, "warnings": warned}

    def to_text(self) -> str:
        """For the terminal, with the warning first and last."""
        found = [line for finding in self.findings for line in finding.lines()]
        found += [f"Warning: {sentence}" for sentence in self.warnings]
        rule = [] if self.counts else [f'unlisted = "{self.rule}": {WORDS[self.rule]}']
        head = [CONFIDENTIAL, "", f"Rows: {self.rows:,}{' (the header is row 1)' if self.counts else ''}", *rule, ""]
        last = [] if self.clean else [CONFIDENTIAL]
        return "\n".join([*head, *(found or ["Nothing was found."]), "", *self.notes, *last])


def check_records(
    problem: str | Path | ProblemFile,
    data: Any,
    *,
    entity: str | None = None,
    rows_per_entity: int | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
) -> RecordsReport:
    """Check records that a problem file asks about. It finds values that are not listed or missing, numbers that are unreadable
    or beyond their bounds, and entities with more rows than count.

    What a release makes of such records: docs/theory/entities.md. The report is confidential. Nothing is spent. Raises
    `InvalidProblem` for files and columns that are not there.

    Parameters
    ----------
    problem : the path of a problem file, or what `read_request` made of it.
    data : the path of a file of records, a data frame, a mapping of columns, or an Ibis table.
    entity : the column that says whose row it is, as for a release; that of [records] where nothing is said.
    rows_per_entity : how many rows of each entity count; 1 where no number is given.
    delimiter, decimal, thousands : of a CSV file; those of [records] where nothing is said.
    """
    request = problem if isinstance(problem, ProblemFile) else read_request(problem)
    listing, reading = request.listing(), request.about.records
    entity, rows_per_entity = entity_of(entity, rows_per_entity, reading)
    given: dict[str, Any] = {"delimiter": delimiter, "decimal": decimal, "thousands": thousands}
    reading = replace(reading, **{name: mark for name, mark in given.items() if mark is not None})
    needed = (*listing.columns, *([] if entity is None or entity in listing.columns else [entity]))
    columns = _columns(data, needed, reading, listing.compared)
    rows = len(next(iter(columns.values()), ()))
    issues = (*_of_values(listing, columns), *_of_groups(listing, columns), *_of_numbers(listing, columns))
    found = [replace(issue, of=rows) for issue in issues]
    path = Path(data) if isinstance(data, (str, Path)) else None
    warnings = [] if rows else ["there is no record; a release would hold noise alone."]
    warnings += _of_file_itself(path, reading, listing) if path else []
    notes = [*(notes_on(path, reading) if path else ()), *_decimal_note(columns, listing.numbers, reading)]
    if entity is None:
        notes.append("Rows of one person: not looked at; name the column that tells whose they are (--entity).")
        if rows_per_entity is not None:
            raise InvalidProblem("rows_per_entity: is given without the column that tells entities apart; give entity, too.")
    else:
        bound = 1 if rows_per_entity is None else count(rows_per_entity, "rows_per_entity")
        found += _of_entities(columns[entity], entity, bound)
        notes.append(PUBLIC_BOUND)
    return RecordsReport(rows, listing.rule, tuple(found), tuple(notes), warnings=tuple(warnings))


def check_counts(
    problem: str | Path | ProblemFile,
    path: str | Path,
    column: str,
    *,
    delimiter: str = ",",
    decimal: str = ".",
    thousands: str = "",
) -> RecordsReport:
    """Check a CSV file of counts that a problem file asks about. It finds cells that are no whole numbers from 0, rows that
    name no element, and elements that are named twice or not at all. Each comes with its lines.

    The report is confidential. Nothing is spent. Raises `InvalidProblem` for files and columns that are not there.

    Parameters
    ----------
    problem : as in `check_records`.
    path, column : the CSV file, and its column of counts.
    delimiter, decimal, thousands : how it is written.
    """
    request = problem if isinstance(problem, ProblemFile) else read_request(problem)
    file, marks = Path(path), Marks(delimiter, decimal, thousands)
    if file.suffix != ".csv" or not file.is_file():
        raise InvalidProblem(f"{file}: is no .csv file that is there; give the file that holds the counts.")
    universes = request.listing().universes
    keys = universes[0].keys if len(universes) == 1 else None
    if keys is None:
        raise InvalidProblem("--column: this problem file counts no one table of elements; give the records.")
    universe, names = universes[0], header(file, marks.delimiter)
    _require((*keys.columns, column), names)
    held = [row for batch in batches(file, marks.delimiter, len(names)) for row in zip(*batch, strict=True)]
    cells = [row[names.index(column)] for row in held]
    named = [tuple(row[names.index(key)] for key in keys.columns) for row in held]
    listed, seen = set(universe.rows), Counter(named)
    near = _near(text for row in universe.rows for text in row)
    where = " x ".join(keys.columns)
    unusable = _by_row((marks.count(cell) is None, shown(cell) if cell.strip() else "an empty cell") for cell in cells)
    unknown = _by_row((True, _words(name, near)) if name not in listed else (False, "") for name in named)
    twice = _by_row((name in listed and seen[name] > 1, ", ".join(name)) for name in named)
    absent = [(", ".join(row), 1) for row in universe.rows if not seen[row]]
    found = [
        *_placed(column, "cells that are no whole number from 0", unusable),
        *_placed(where, "rows that name no element", unknown),
        *_placed(where, "rows that name an element that another row names, too", twice),
        *(
            [DataIssue(where, "elements without a row; write 0 where there is no record", len(absent), tuple(absent))]
            if absent
            else []
        ),
    ]
    return RecordsReport(len(held), request.listing().rule, tuple(found), (REMEDIES,) if unusable else (), counts=True)


def _by_row(judged: Iterable[tuple[bool, str]]) -> dict[str, list[int]]:
    """Of rows in their order, those that are wrong, by their words; the header is row 1."""
    rows: dict[str, list[int]] = {}
    for number, (wrong, words) in enumerate(judged, 2):
        if wrong:
            rows.setdefault(words, []).append(number)
    return rows


def _placed(where: str, what: str, rows: Mapping[str, Sequence[int]]) -> Iterator[DataIssue]:
    """A finding that names the rows of each value, the first few."""
    if rows:
        values = tuple(
            (f"{words} (row {', '.join(map(str, own[:ROWS_NAMED]))}{', ..' if len(own) > ROWS_NAMED else ''})", len(own))
            for words, own in rows.items()
        )
        yield DataIssue(where, what, sum(map(len, rows.values())), values)


def _columns(data: Any, needed: Sequence[str], reading: Reading, numbers: Sequence[str]) -> Columns:
    """The columns that are looked at; of a CSV file as texts, None where they are empty, numbers read."""
    if isinstance(data, (str, Path)):
        path = Path(data)
        require_file_columns(path, sources_of(needed, reading), column_names(path, reading), reading)
        if is_office_file(path) or path.suffix == ".csv" or any(name in reading.changing for name in needed):
            return _of_file(path, needed, reading, numbers)
        held: Any = parquet_columns(path)
    else:
        held = data.to_pyarrow() if hasattr(data, "to_pyarrow") else data
    if isinstance(held, Mapping):
        found = dict(held)
    elif (framed := columns_of(held, needed)) is not None:
        found = {str(name): values for name, values in framed}
    else:
        raise InvalidProblem(
            f"data: {type(data).__name__} is no table; give a file, a data frame or a mapping of columns.",
            value=type(data).__name__,
        )
    _require(needed, list(found))
    held = {name: [None if is_missing(value) else value for value in values_of(found[name])] for name in needed}
    return {name: list(map(_readable, held[name])) if name in numbers else held[name] for name in needed}


def _readable(value: object) -> object:
    """A number of a column of numbers; what is none of them as a text."""
    number = number_of(value)
    return number if number is not None else value if value is None else listed_label(value)


def _of_file(path: Path, needed: Sequence[str], reading: Reading, numbers: Sequence[str]) -> Columns:
    found: dict[str, list[object]] = {name: [] for name in needed}
    for batch in cells_of(path, needed, reading, [name for name in numbers if name in needed]):
        for name in needed:
            found[name] += batch[name]
    return found


def _decimal_note(columns: Columns, numbers: Iterable[str], reading: Reading) -> list[str]:
    """Where numbers that cannot be read are numbers with the other decimal mark, or with marks of thousands."""
    own = marks_of(reading).decimal
    other = "," if own == "." else "."
    decimal, grouped = Marks(";", other), Marks(";", own, other)
    texts = [(name, value) for name in numbers for value in columns[name] if isinstance(value, str)]
    marked = [(name, value) for name, value in texts if decimal.number(value) is not None]
    if not marked:
        return []
    if all(grouped.number(value) is not None for _, value in marked):
        told = f"{printed(marked[0][0])}: has numbers with the mark {other!r}, of thousands or of decimals"
        return [f'{told}; say [records] thousands = "{other}" or decimal = "{other}".']
    return [f'{printed(marked[0][0])}: has numbers with the decimal mark {other!r}; say [records] decimal = "{other}".']


def _of_file_itself(path: Path, reading: Reading, listing: ExpectedValues) -> list[str]:
    """Records of a CSV file that are cut off, and where the dictionary of a file and the problem file differ."""
    if path.suffix == ".csv" and (longer := overlong(path, marks_of(reading).delimiter)):
        return [
            f"{counted(len(longer), 'record')} with more fields than the first line has names, the first is record "
            f"{longer[0]:,}; what is beyond is cut off. Put fields that hold the delimiter in quotes."
        ]
    told: list[str] = []
    dictionary = {variable.name: variable for variable in dictionary_of(path, reading)} if is_office_file(path) else {}
    for name in listing.columns:
        own = reading.columns.get(name, ColumnReading())
        variable = dictionary.get(own.sources(name)[0])
        if variable is None or isinstance(own.bins, tuple) or own.prefix is not None or own.combined:
            continue
        known = listing.values.get(name, own.values or None)
        if twice := [text for text, times in Counter(variable.labels.values()).items() if times > 1]:
            told.append(
                f"{printed(name)}: the file has the label {shown(twice[0])} for several codes; codes are read, never labels."
            )
        for code, text in variable.labels.items():
            if code in own.labels and own.labels[code] != text:
                told.append(
                    f"{printed(name)}: {shown(code)} is {shown(text)} in the file and {shown(own.labels[code])} in "
                    "the problem file; if they mean different things, correct the problem file and design anew."
                )
        if known is not None and (beyond := [c for c in variable.labels if c not in known and not own.is_missing(c)]):
            told.append(f"{printed(name)}: codes with a label in the file that are not listed here: {shown(beyond)}.")
        if name in listing.numbers and (open_ := [code for code in variable.missing if code not in own.missing_codes]):
            told.append(
                f"{printed(name)}: the file declares {shown(open_)} missing, and the problem file does not: they are "
                "read as numbers."
            )
    return told


def _require(needed: Sequence[str], names: Sequence[str]) -> None:
    if missing := [name for name in needed if list(names).count(name) != 1]:
        raise InvalidProblem(f"data: {column_fault(missing[0], names)}; it has {shown(list(names))}.")


def _of_values(listing: ExpectedValues, columns: Columns) -> Iterator[DataIssue]:
    """Values that their columns do not list, and combinations that no element has."""
    for name, values in listing.values.items():
        names = Labels(values, (OTHERS, "")).names(columns[name])
        held = Counter(_written(value) for value, known in zip(columns[name], names, strict=True) if known is None)
        yield from _missing(name, held.pop(None, 0))
        yield from _blurred(name, columns[name])
        if held:
            unlisted = (known is None and not is_missing(value) for value, known in zip(columns[name], names, strict=True))
            first = 1 + list(unlisted).index(True)
            yield DataIssue(name, "have a value that is not listed", sum(held.values()), _quoted(held, values), first)
    for universe in listing.universes:
        assert universe.keys is not None
        own = universe.names([columns[name] for name in universe.keys.columns])
        rows = Counter(cell for cell in zip(*own, strict=True) if None not in cell)
        apart = {cell: n for cell, n in rows.items() if cell not in universe.position}
        if apart:
            where = " x ".join(universe.keys.columns)
            yield DataIssue(where, "have a combination that is not listed", sum(apart.values()), _quoted(apart, ()))


def _blurred(name: str, column: Sequence[object]) -> Iterator[DataIssue]:
    if blurred := sum(isinstance(value, float) and abs(value) >= EXACT for value in column):
        yield DataIssue(name, BLURRED, blurred)


def _written(value: object) -> str | None:
    """A value that is not listed, for the report; None where it is missing."""
    return None if is_missing(value) else listed_label(value)


def _of_groups(listing: ExpectedValues, columns: Columns) -> Iterator[DataIssue]:
    """Records that a query asks about and that are in none of its groups, level by level."""
    for where, rows, known in listing.outside(columns):
        yield DataIssue(where, "are in none of the listed groups", sum(rows.values()), _quoted(rows, known))


def _of_numbers(listing: ExpectedValues, columns: Columns) -> Iterator[DataIssue]:
    """Numbers that cannot be read, are missing, or lie beyond the bounds."""
    consequence = ", and are refused" if listing.rule == REFUSE else NO_NUMBER
    for name, (lower, upper) in listing.numbers.items():
        texts = Counter(value for value in columns[name] if isinstance(value, str))
        if texts:
            what = f"cannot be read as numbers{consequence}"
            first = 1 + next(place for place, value in enumerate(columns[name]) if isinstance(value, str))
            yield DataIssue(name, what, sum(texts.values()), _quoted(texts, ()), first)
        yield from _missing(name, sum(value is None for value in columns[name]), NO_NUMBER)
        known = [value for value in columns[name] if value is not None and not isinstance(value, str)]
        numbers = [value for value in (python_number(value, name) for value in known) if value is not None]
        for what, beyond in (
            (f"are below the lower bound {lower}, and count as {lower}", sum(value < lower for value in numbers)),
            (f"are above the upper bound {upper}, and count as {upper}", sum(value > upper for value in numbers)),
        ):
            if beyond:
                yield DataIssue(name, what, beyond)


def _of_entities(column: Sequence[object], entity: str, bound: int) -> Iterator[DataIssue]:
    """Entities with more rows than count, and rows of nobody."""
    yield from _blurred(entity, column)
    seen = Counter(texts_of(column))
    nobody = seen.pop(None, 0)
    if nobody:
        yield DataIssue(entity, "rows without an entity, which are refused or count nowhere, as the rule says", nobody)
    above = [rows for rows in seen.values() if rows > bound]
    if above:
        sizes = Counter(above)
        values = tuple((f"with {counted(size, 'row')}", sizes[size]) for size in sorted(sizes))
        yield DataIssue(entity, f"entities with more than {counted(bound, 'row')}, of {len(seen):,}", len(above), values)
        yield DataIssue(entity, "rows above that, which would be left out", sum(above) - bound * len(above))


def _missing(name: str, rows: int, consequence: str = "") -> Iterator[DataIssue]:
    if rows:
        yield DataIssue(name, f"are missing{consequence}", rows)


def _quoted(found: Mapping[Any, int], known: Any) -> tuple[tuple[str, int], ...]:
    """Values with their rows, the most frequent first; beside each the listed one that it may be."""
    order = sorted(found.items(), key=lambda entry: (-entry[1], str(entry[0])))
    near = _near(known)
    return tuple((_words(value, near), rows) for value, rows in order)


def _near(known: Iterable[str]) -> dict[str, str]:
    """The listed values by what they are but for blanks, the case of letters and how characters are composed."""
    return {_folded(value): value for value in known if value != OTHERS}


def _words(value: object, near: Mapping[str, str]) -> str:
    parts = value if isinstance(value, tuple) else (value,)
    meant = [near[_folded(part)] for part in parts if isinstance(part, str) and near.get(_folded(part), part) != part]
    written = ", ".join("missing" if part is None else shown(part) for part in parts)
    hint = f" (listed: {', '.join(map(shown, meant))}; blanks, case, or composition (NFC, NFD) differ)" if meant else ""
    replaced = any(isinstance(part, str) and UNDECODED in part for part in parts)
    return f"{written}{hint}{NOT_UTF_8 if replaced else ''}"


def _folded(value: str) -> str:
    return normalize("NFC", " ".join(value.split()).casefold())

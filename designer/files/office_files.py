"""Records from files of statistics packages, workbooks and CSV files: one text for one value, in batches, or as a Parquet file.

.sav .zsav .por (SPSS), .dta (Stata), .sas7bdat .xpt (SAS) by pyreadstat; .xlsx by calamine. Codes are read, never labels. A
dictionary of the file (labels, missing values, formats) decides nothing here but how days and tags are spelled. Nothing follows
from what other records hold.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from glob import glob
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from designer.base.checks import meant, shown
from designer.base.errors import InvalidProblem
from designer.base.labels import EXACT, is_missing, number_of
from designer.base.version import installing_with
from designer.files.data_files import FileColumn
from designer.problem.histogram import UNREADABLE
from designer.problem.reading import UNSAID, ColumnReading, Reading, code_text
from designer.relations.records.csv_rows import ROWS_AT_ONCE, Marks, batches, fault_of_names, header

READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".xpt": "read_xport",
    ".sas7bdat": "read_sas7bdat",
}
WORKBOOK = ".xlsx"
OFFICE = (*READERS, WORKBOOK)
RECORD_FILES = (".csv", ".parquet", *OFFICE)
PLAIN = {"output_format": "dict", "disable_datetime_conversion": True}
WITH_MISSING = ("read_sav", "read_dta", "read_sas7bdat")
SKIPPING = (".dta", ".xpt", ".sas7bdat")  # whose rows have one length, so that rows before a batch are skipped; .sav, if plain
PADDED = (".sav", ".zsav", ".por", ".xpt")  # whose texts have blanks behind them
ORIGINS = {".dta": datetime(1960, 1, 1), ".xpt": datetime(1960, 1, 1), ".sas7bdat": datetime(1960, 1, 1)}
SPSS = datetime(1582, 10, 14)
BATCH = 100_000  # records of a file of a statistics package
LARGEST = 1.797e308
DAMAGED = "cannot be read: it is damaged, cut off, protected by a password, or of another type than its name says"
PLAINLY = ColumnReading()
Cells = dict[str, list[Any]]
Spell = Callable[[Any], Any]
Spelled = Mapping[str, Spell]


def is_office_file(path: Path) -> bool:
    """Is it a file of a statistics package, or a workbook, by its name?"""
    return path.suffix.lower() in OFFICE


def dictionary_of(path: Path, reading: Reading = UNSAID) -> tuple[FileColumn, ...]:
    """The columns of such a file and what its dictionary says of them; no record is looked at, but for the first row of a
    workbook, which is its line of names."""
    require_file(path)
    if path.suffix.lower() == WORKBOOK:
        return tuple(FileColumn(name) for name in _workbook(path, reading)[0])
    meta = _read(path, metadataonly=True)[1]
    _require_names(path, meta.column_names)
    found = []
    for name in meta.column_names:
        text = meta.readstat_variable_types.get(name) == "string"
        spell = _tag(path, "text" if text else "number")
        listed = {spell(code): text for code, text in (meta.variable_value_labels.get(name) or {}).items()}
        order = sorted(listed, key=lambda code: (number_of(code) is None, number_of(code) or 0.0, code))
        missing, measure = _declared_missing(meta, name, spell), meta.variable_measure.get(name)
        named = measure in ("nominal", "ordinal") or (measure != "scale" and not set(listed) <= set(missing))
        dated = _moments(path.suffix.lower(), _format_name(meta.original_variable_types.get(name) or "")) is not None
        kind = "text" if text else "date" if dated else "category" if named else "number"
        label = (meta.column_names_to_labels.get(name) or "").strip()
        found.append(FileColumn(name, kind, label, {code: str(listed[code]).strip() for code in order}, missing))
    return tuple(found)


def notes_on(path: Path, reading: Reading = UNSAID) -> tuple[str, ...]:
    """What is to be known of how a workbook is read, for those who hold it."""
    if path.suffix.lower() != WORKBOOK:
        return ()
    _, sheet, hidden = _workbook(path, reading)
    told = [f"Sheet {shown(sheet.name)} is read, by the values that its formulas had when it was saved; an error is missing."]
    told += ["A percentage is read as its share, 5 % as 0.05; a number that is shown with leading zeros as the number."]
    told += [f"Sheet {shown(sheet.name)} is hidden."] if hidden else []
    merged = list(sheet.merged_cell_ranges or ())
    told += [f"{len(merged)} merged ranges: each but its upper left cell is missing."] if merged else []
    return tuple(told)


def cells_of(
    path: Path, columns: Sequence[str], reading: Reading = UNSAID, numbers: Sequence[str] = (), marks: Marks | None = None
) -> Iterator[Cells]:
    """Some columns of a file of records, some thousands of records at a time: texts, and None where a value is missing; of
    `numbers` floats, None, and texts that spell none. Bins and missing values are those of the reading."""
    for batch in _cells(path, columns, reading, numbers, marks or marks_of(reading)):
        yield {name: values if isinstance(values, list) else values.to_pylist() for name, values in batch.items()}


def _cells(
    path: Path, columns: Sequence[str], reading: Reading, numbers: Sequence[str], marks: Marks
) -> Iterator[dict[str, Any]]:
    """The same as lists, or arrays of Arrow where a batch of numbers was read at once."""
    own = {name: reading.columns.get(name, ColumnReading()) for name in (*columns, *numbers)}
    if binned := [name for name in numbers if own[name].bins is not None or own[name].prefix is not None]:
        raise InvalidProblem(
            f"[columns.{binned[0]}]: bins and prefixes are labels, and the column is read as numbers, too; give the labels a "
            f'column of their own: [columns.{binned[0]}_group] column = "{binned[0]}".'
        )
    spelled, raw = _opened(path, sources_of(columns, reading), reading, marks)
    for batch in raw:
        made: dict[str, Any] = {}
        for name in columns:
            column, (source, *_) = own[name], own[name].sources(name)
            spell, values = spelled.get(source, _itself), batch[source]
            if column.combined:
                part = ColumnReading(missing=column.missing)
                parts = ([_as_number(spelled.get(n, _itself)(v), part, marks) for v in batch[n]] for n in column.combined)
                values = list(map(column.number, zip(*parts, strict=True)))
                spell, column = _itself, replace(column, missing=())
            if spell is _number_or_tag and not column.changes and (quick := _of_numbers(values, name in numbers)) is not None:
                made[name] = quick
                continue
            known = _ReadOnce(spell, _as_number if name in numbers else _as_text, column, marks)
            made[name] = list(map(known.__getitem__, zip(map(type, values), values, strict=True)))
        yield made


def sources_of(columns: Sequence[str], reading: Reading) -> list[str]:
    """The columns of a file that are read for some columns, each once."""
    named = (reading.columns.get(name, PLAINLY).sources(name) for name in columns)
    return list(dict.fromkeys(source for sources in named for source in sources))


class _ReadOnce(dict[tuple[type, Any], Any]):
    """What values are read as, each once for all records that hold it; it depends on the value alone."""

    def __init__(self, spell: Spell, read: Callable[..., Any], column: ColumnReading, marks: Marks) -> None:
        super().__init__()
        self.spell, self.read, self.how = spell, read, (column, marks)

    def __missing__(self, key: tuple[type, Any]) -> Any:
        found = self[key] = self.read(self.spell(key[1]), *self.how)
        return found


def _of_numbers(values: Sequence[Any], as_numbers: bool) -> Any:
    """The same of many numbers at once, as an array of Arrow; None where one is a tag."""
    import pyarrow as pa

    try:
        held = np.array(values, dtype=np.float64) + 0.0  # no minus zero
    except ValueError:
        return None
    missing, whole = np.isnan(held), (held == np.floor(held)) & (np.abs(held) <= EXACT)
    if as_numbers:
        return pa.array(held, mask=missing)
    if not (whole | missing).all():
        return pa.array(list(map(code_text, held.tolist())), pa.string())
    return pa.array(np.where(missing, 0, held).astype(np.int64), mask=missing).cast(pa.string())


@contextmanager
def as_parquet(
    path: Path,
    columns: Sequence[str] | None = None,
    reading: Reading = UNSAID,
    *,
    numbers: Sequence[str] = (),
    whole: Sequence[str] = (),
    refusing: bool = True,
) -> Iterator[Path]:
    """A Parquet file of the records of a file, in a private folder that is removed afterwards, also on error.

    columns: those that are kept, None for all. reading: how they are read. numbers: columns of floats, those of them in `whole`
    of whole numbers below 2^53; all others are texts. refusing: refuse what is no number in such a column, and not missing; it
    is missing otherwise. Raises `InvalidProblem` that names file, sheet and column, and never what a record holds.
    """
    import pyarrow as pa
    from pyarrow import parquet

    names = column_names(path, reading)
    kept = list(names if columns is None else dict.fromkeys(columns))
    require_file_columns(path, sources_of(kept, reading), names, reading)
    _require_codes(path, reading)
    kinds = {n: pa.int64() if n in whole else pa.float64() if n in numbers else pa.string() for n in kept}
    schema, marks = pa.schema(list(kinds.items())), marks_of(reading)
    with TemporaryDirectory(prefix="dp-designer-") as folder:
        made = Path(folder) / "records.parquet"
        with parquet.ParquetWriter(made, schema) as writer:
            for batch in _cells(path, kept, reading, numbers, marks):
                for name, kind in kinds.items():
                    column = batch[name]
                    if name in numbers and isinstance(column, list):
                        if refusing and any(isinstance(value, str) for value in column):
                            raise InvalidProblem(UNREADABLE)
                        column = [None if isinstance(value, str) else value for value in column]
                    if name in whole:
                        column = [_whole(value) for value in (column if isinstance(column, list) else column.to_pylist())]
                    batch[name] = pa.array(column, kind) if isinstance(column, list) else column
                writer.write_table(pa.table([batch[name] for name in kinds], schema=schema))
        yield made


def column_names(path: Path, reading: Reading = UNSAID) -> list[str]:
    """The names of the columns of a file of records."""
    require_file(path)
    if is_office_file(path):
        return [variable.name for variable in dictionary_of(path, reading)]
    if path.suffix == ".csv":
        return header(path, marks_of(reading).delimiter)
    if path.suffix != ".parquet":
        raise InvalidProblem(f"{path}: is of a type that is not read; give one of {', '.join(RECORD_FILES)}.")
    from pyarrow import parquet

    return list(parquet.read_schema(sorted(glob(str(path)))[0]).names)


def require_file_columns(path: Path, needed: Sequence[str], names: Sequence[str], reading: Reading) -> None:
    """Refuse a file without a column that is needed, with its sheet, if it has any.

    Parameters
    ----------
    path : of the file.
    needed, names : of columns: those that are needed, and those of the file.
    reading : which says which sheet of a workbook is read.
    """
    if lacking := next((name for name in needed if name not in names), None):
        book = path.suffix.lower() == WORKBOOK
        where = f"{path}, sheet {shown(_workbook(path, reading)[1].name)}" if book else path
        held = f"{'its first row names' if book else 'it has'} {shown(names)}"
        raise InvalidProblem(
            f"{where}: has no column {shown(lacking)}; {meant(lacking, names)}{held}; correct the name there or in the problem "
            "file."
        )


def _require_codes(path: Path, reading: Reading) -> None:
    """Refuse a dictionary that has a label of the problem file at another code: one of both has the codes mixed up."""
    if path.suffix.lower() not in READERS or not any(column.labels for column in reading.columns.values()):
        return
    known = {variable.name: variable for variable in dictionary_of(path)}
    for name, column in reading.columns.items():
        (source, *_), labels = column.sources(name), column.labels
        listed = known[source].labels if source in known and column.prefix is None and not column.combined else {}
        for code, text in listed.items():
            if text in labels.values() and labels.get(code, text) != text:
                raise InvalidProblem(
                    f"{path}: code {shown(code)} of {shown(source)} is {shown(text)} in the dictionary of the file, and "
                    f"{shown(labels[code])} in the problem file; correct the one that is wrong, and design anew."
                )


def marks_of(reading: Reading) -> Marks:
    """How the CSV file of a reading is written."""
    return Marks(reading.delimiter or ",", reading.decimal or ".", reading.thousands or "")


def _as_text(value: Any, column: ColumnReading, marks: Marks) -> str | None:
    """A code, or the bin that it is in."""
    code = code_text(value)
    if not column.changes or code is None:
        return code
    number = marks.number(value) if isinstance(value, str) else number_of(value)
    return column.text(code, number)


def _as_number(value: Any, column: ColumnReading, marks: Marks) -> float | str | None:
    """A number; a text where it spells none, None where it is missing. Tags of missing values (.a) are missing."""
    if isinstance(value, str):
        if not value.strip() or column.is_missing(value) or isinstance(value, _Tag):
            return None
        number = marks.number(value)
        if number is None:
            return value
    elif (number := number_of(code := code_text(value))) is None:
        return code
    return None if math.isnan(number) or column.is_missing(code_text(number)) else number + 0.0  # no minus zero


def _whole(value: float | None) -> int | None:
    return int(value) if value is not None and value.is_integer() and abs(value) < EXACT else None


def _itself(value: Any) -> Any:
    return value


class _Tag(str):
    """A tagged missing value of a column of numbers, such as .a."""


def _opened(path: Path, columns: Sequence[str], reading: Reading, marks: Marks) -> tuple[Spelled, Iterator[Cells]]:
    """How values of some columns are spelled, where not as they stand there, and the values, by column."""
    suffix = path.suffix.lower()
    if suffix in READERS:
        return _of_package(path, columns)
    if suffix == WORKBOOK:
        return {}, _of_workbook(path, columns, reading)
    return {}, _of_csv(path, columns, marks) if suffix == ".csv" else _of_parquet(path, columns)


def _of_workbook(path: Path, columns: Sequence[str], reading: Reading) -> Iterator[Cells]:
    names, sheet, _ = _workbook(path, reading)
    rows, places = islice(sheet.iter_rows(), 1, None), [(name, names.index(name)) for name in columns]
    while batch := list(islice(rows, ROWS_AT_ONCE)):
        held = [row for row in batch if any(cell != "" for cell in row)]  # a blank row is no record
        yield {name: [row[place] if place < len(row) else None for row in held] for name, place in places}


def _of_csv(path: Path, columns: Sequence[str], marks: Marks) -> Iterator[Cells]:
    names = header(path, marks.delimiter)
    for cells in batches(path, marks.delimiter, len(names)):
        yield {name: list(cells[names.index(name)]) for name in columns}


def _of_parquet(path: Path, columns: Sequence[str]) -> Iterator[Cells]:
    from pyarrow import parquet

    for file in sorted(glob(str(path))):
        for batch in parquet.ParquetFile(file).iter_batches(ROWS_AT_ONCE, columns=list(columns)):
            yield {name: batch.column(name).to_pylist() for name in columns}


def _of_package(path: Path, columns: Sequence[str]) -> tuple[Spelled, Iterator[Cells]]:
    """Of a file of a statistics package."""
    meta = _read(path, metadataonly=True)[1]
    _require_names(path, meta.column_names)
    suffix = path.suffix.lower()
    if suffix == ".xpt" and "string" in (kinds := set(meta.readstat_variable_types.values())) and len(kinds) == 1:
        raise InvalidProblem(
            f"{path}: has no column of numbers, and its last records may be blanks that nothing tells apart; save it as "
            ".sas7bdat or CSV."
        )
    spell = {}
    for name in columns:
        kind = "text" if meta.readstat_variable_types.get(name) == "string" else "number"
        spell[name] = _spelling(path, kind, meta.original_variable_types.get(name) or "")
    return spell, _package_batches(path, columns, meta.number_rows)


def _package_batches(path: Path, columns: Sequence[str], stated: int | None) -> Iterator[Cells]:
    """The values as they are. Where rows differ in length, skipping them would take the square of their number: such a file is
    read at once."""
    size = BATCH if path.suffix.lower() in SKIPPING or _plain_spss(path) else 0
    seen = 0
    while True:
        held = _read(path, usecols=list(columns), row_limit=size, row_offset=seen)[0]
        rows = len(next(iter(held.values()), ()))
        if rows:
            yield {name: held[name] for name in columns}
        seen += rows
        if not size or rows < size:
            break
    if stated is not None and stated >= 0 and seen != stated:
        raise InvalidProblem(f"{path}: holds fewer records than it says; it is cut off, save it again.")


def _plain_spss(path: Path) -> bool:
    """Is it an SPSS file whose rows are not compressed?"""
    with path.open("rb") as file:
        start = file.read(76)
    return start[:4] == b"$FL2" and 0 in (int.from_bytes(start[72:76], "little"), int.from_bytes(start[72:76], "big"))


def _spelling(path: Path, kind: str, format_: str) -> Spell:
    """How a value of a column becomes one that `code_text` takes."""
    tag = _tag(path, kind)
    if kind == "text":
        return tag
    moment = _moments(path.suffix.lower(), _format_name(format_))
    if moment is None:
        return _number_or_tag

    def spelled(value: Any) -> Any:
        if isinstance(value, str):
            return tag(value)
        if is_missing(value):
            return None
        try:
            return moment(float(value))
        except (OverflowError, ValueError):  # a number that is no day
            return value

    return spelled


def _number_or_tag(value: Any) -> Any:
    return _Tag(f".{value}") if isinstance(value, str) else value


def _format_name(written: str) -> str:
    """A format without its width."""
    return re.sub(r"[0-9.]*$", "", written.upper().removeprefix("%").removeprefix("-"))


def _tag(path: Path, kind: str) -> Spell:
    """A text as it is, less blanks that the format has put behind it; of a column of numbers the tag of a missing value."""
    if kind == "text":
        return (lambda value: str(value).rstrip(" ") or None) if path.suffix.lower() in PADDED else lambda value: value or None
    return lambda value: _number_or_tag(value) if isinstance(value, str) else code_text(value)


def _moments(suffix: str, name: str) -> Callable[[float], str | None] | None:
    """How numbers of a format of days, months, quarters, years or moments are spelled; None for numbers."""
    if suffix == ".dta":
        stata: dict[str, Callable[[float], str | None]] = {
            "TD": lambda n: _day(ORIGINS[".dta"] + timedelta(days=n)),
            "D": lambda n: _day(ORIGINS[".dta"] + timedelta(days=n)),
            "TC": lambda n: code_text(ORIGINS[".dta"] + timedelta(milliseconds=n)),
            "TM": lambda n: f"{1960 + int(n) // 12}-{int(n) % 12 + 1:02}",
            "TQ": lambda n: f"{1960 + int(n) // 4}-Q{int(n) % 4 + 1}",
            "TH": lambda n: f"{1960 + int(n) // 2}-H{int(n) % 2 + 1}",
            "TY": lambda n: str(int(n)),
        }
        return next((stata[own] for own in ("TD", "TC", "TM", "TQ", "TH", "TY") if name.startswith(own)), stata.get(name[:1]))
    since_day = _since(ORIGINS.get(suffix, SPSS), "days" if suffix in ORIGINS else "seconds")
    if suffix not in ORIGINS:
        spss: dict[str, Callable[[float], str | None]] = {
            **dict.fromkeys(("DATE", "ADATE", "EDATE", "SDATE", "JDATE"), lambda n: _day(since_day(n))),
            **dict.fromkeys(("DATETIME", "YMDHMS"), lambda n: code_text(since_day(n))),
            "MOYR": lambda n: since_day(n).isoformat()[:7],
            "QYR": lambda n: _quarter(since_day(n)),
        }
        return spss.get(name)
    if name.startswith(("DATETIME", "DATEAMPM", "E8601DT", "IS8601DT")):
        since_second = _since(ORIGINS[suffix], "seconds")
        return lambda n: code_text(since_second(n))
    if name.startswith(("MONYY", "YYMON", "MMYY", "YYMM")) and not name.startswith("YYMMDD"):
        return lambda n: since_day(n).isoformat()[:7]
    if name.startswith("YYQ"):
        return lambda n: _quarter(since_day(n))
    if name == "YEAR":
        return lambda n: str(since_day(n).year)
    own = ("DATE", "DDMMYY", "MMDDYY", "YYMMDD", "E8601DA", "IS8601DA", "WEEKDATE", "WORDDATE", "JULIAN")
    return (lambda n: _day(since_day(n))) if name.startswith(own) else None


def _since(origin: datetime, unit: str) -> Callable[[float], datetime]:
    return lambda number: origin + timedelta(**{unit: number})


def _day(moment: datetime) -> str:
    return moment.date().isoformat()


def _quarter(moment: datetime) -> str:
    return f"{moment.year}-Q{(moment.month + 2) // 3}"


def _declared_missing(meta: Any, name: str, spell: Callable[[Any], Any]) -> tuple[Any, ...]:
    """What a dictionary declares to be missing; tags and codes as codes."""
    ranges = (meta.missing_ranges or {}).get(name, ())
    found: list[Any] = [spell(own["lo"]) if own["lo"] == own["hi"] else tuple(map(_open, own.values())) for own in ranges]
    return (*found, *(str(spell(tag)) for tag in (meta.missing_user_values or {}).get(name, ())))


def _open(end: float) -> float:
    """An end of a range; the lowest and the highest number stand for none."""
    return end if abs(end) < LARGEST else math.copysign(math.inf, end)


def _read(path: Path, **options: Any) -> tuple[Any, Any]:
    """What pyreadstat makes of a file; its own words may quote the file, so they are not said."""
    try:
        import pyreadstat
    except ImportError:
        raise InvalidProblem(f"{path}: such files need pyreadstat; {installing_with('files')}, or save it as CSV.") from None
    reader = READERS[path.suffix.lower()]
    given = {**PLAIN, **options, **({"user_missing": True} if reader in WITH_MISSING else {})}
    failed = False
    try:
        found: tuple[Any, Any] = getattr(pyreadstat, reader)(str(path), **given)
    except (pyreadstat.ReadstatError, UnicodeDecodeError, ValueError, OSError):
        failed = True
    if failed:  # outside the handler, so that the exception holds nothing of the file
        raise InvalidProblem(f"{path}: {DAMAGED}; save it again.")
    return found


def _workbook(path: Path, reading: Reading) -> tuple[list[str], Any, bool]:
    """The names in the first row of the sheet that is read, the sheet, and whether it is hidden."""
    try:
        import python_calamine as calamine
    except ImportError:
        raise InvalidProblem(
            f"{path}: workbooks need python-calamine; {installing_with('files')}, or save it as CSV."
        ) from None
    failed = ""
    try:
        book = calamine.CalamineWorkbook.from_path(str(path))
    except calamine.PasswordError:
        failed = "is protected by a password; save it without one"
    except (calamine.CalamineError, OSError):
        failed = f"{DAMAGED}; save it again"
    if failed:
        raise InvalidProblem(f"{path}: {failed}.")
    visible = [own.name for own in book.sheets_metadata if own.visible == calamine.SheetVisibleEnum.Visible]
    name = reading.sheet
    if name is None and len(visible) != 1:
        raise InvalidProblem(f'{path}: has the sheets {shown(visible)}; name one: sheet = ".." in [records], --sheet of init.')
    if name is not None and name not in book.sheet_names:
        near = meant(name, book.sheet_names)
        raise InvalidProblem(
            f"{path}: has no sheet {shown(name)}; {near}it has {shown(book.sheet_names)}; correct sheet = .. in [records]."
        )
    sheet = book.get_sheet_by_name(name or visible[0])
    first: list[Any] = next(iter(sheet.iter_rows()), [])
    while first and first[-1] == "":
        first = first[:-1]
    if not all(isinstance(own, str) for own in first) or not any(first) or any(sheet.start or ()):
        raise InvalidProblem(
            f"{path}, sheet {shown(sheet.name)}: its first row is no line of names, from A1 on; write a name above each column."
        )
    _require_names(f"{path}, sheet {shown(sheet.name)}", first)
    return list(first), sheet, sheet.name not in visible


def _require_names(where: object, names: Sequence[str]) -> None:
    """Refuse columns without a name, or two of one name; where: the file, or its sheet."""
    if fault := fault_of_names(names):
        raise InvalidProblem(f"{where}: must name every column once, whatever the case of letters; {fault}.")


def require_file(path: Path) -> None:
    if not all(map(os.path.isfile, glob(str(path)) or [str(path)])):
        raise InvalidProblem(f"{path}: no such file; give a file of records, one of {', '.join(RECORD_FILES)}.")

"""The formats of published tables, each with its writer, and the one list of them."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from importlib import import_module
from typing import Any

import numpy as np

from designer.base.checks import shown
from designer.base.errors import InvalidProblem
from designer.base.frames import frame_of
from designer.base.json_text import PERIOD
from designer.base.labels import as_csv, escaped
from designer.base.version import installing_with
from designer.files.published_table import STATUS, Digits, Dimension, PublishedTable, number_text, plain_head
from designer.limits import LARGEST_SHEET_NUMBER, MOST_SHEET_CHARACTERS, MOST_SHEET_ROWS


@dataclass(frozen=True)
class TableFormat:
    """How tables are written as files.

    suffix: of the files. words: what a program or a reader has to know of them. write: the content of a file of some tables.
    digits: of numbers, unless others are asked for. joined: the name of the one file of all tables; empty where each has its
    own. needs: a module, which the extra of the name of the suffix installs. plain: holds columns of any categories?
    """

    suffix: str
    words: str
    write: Callable[[Sequence[PublishedTable]], bytes]
    digits: Digits = "noise"
    joined: str = ""
    needs: str = ""
    plain: bool = False

    def require(self) -> None:
        """Refuse where the library that writes it is not installed."""
        if self.needs:
            try:
                import_module(self.needs)
            except ImportError:
                asked = installing_with(self.suffix)
                raise InvalidProblem(f"--format: {self.suffix} needs {self.needs}; {asked}, or write csv.") from None


def free_name(name: str, taken: Sequence[str]) -> str:
    """The name, with as many underscores behind it as it takes to be none of those that are taken."""
    while name in taken:
        name = f"{name}_"
    return name


def _csv(tables: Sequence[PublishedTable]) -> bytes:
    (table,) = tables
    return as_csv(table.made.columns).encode()


def _csv_semicolon(tables: Sequence[PublishedTable]) -> bytes:
    (table,) = tables
    return as_csv(table.made.columns, ";", ",", table.made.categories).encode()


def _parquet(tables: Sequence[PublishedTable]) -> bytes:
    from pyarrow import parquet

    file = io.BytesIO()
    parquet.write_table(frame_of(tables[0].made.columns, "pyarrow"), file)
    return file.getvalue()


# Excel: texts and numbers only, since a formula is 0 to most readers and a text may look like one.


def sheet_names(tables: Sequence[str]) -> list[str]:
    """The name of the sheet of each table: without what Excel forbids, at most 31 characters, no two equal but for case.

    >>> sheet_names(["sex x age", "a/b", "A_b", "'History'"])
    ['sex x age', 'a_b', 'A_b 2', 'History_']
    """
    found: list[str] = []
    for table in tables:
        plain = re.sub(r"[\[\]:*?/\\\x00-\x1f]", "_", table).strip("' ") or "table"
        plain = f"{plain}_" if plain.lower() == "history" else plain
        name, number = plain[:31], 1
        while name.lower() in {own.lower() for own in found}:
            number += 1
            name = f"{plain[: 30 - len(str(number))]} {number}"
        found.append(name)
    return found


def _xlsx(tables: Sequence[PublishedTable]) -> bytes:
    """A sheet a table: title, notes, an empty row, then the header and a row an answer, down to the end of the sheet."""
    import xlsxwriter

    file = io.BytesIO()
    book = xlsxwriter.Workbook(file, {"constant_memory": True})
    book.set_properties(
        {"title": escaped(tables[0].about.title), "created": datetime.fromisoformat(tables[0].time or "1980-01-01")}
    )
    for table, name in zip(tables, sheet_names([table.name for table in tables]), strict=True):
        _write_sheet(book.add_worksheet(name), table)
    book.close()
    return file.getvalue()


def _write_sheet(sheet: Any, table: PublishedTable) -> None:
    head = [table.title, *table.notes(), *(f"{code}: {words}" for code, words in _statuses(table).items())]
    numbers = {name: column.tolist() for name, column in table.numbers.items()}
    if len(head) + 2 + len(table.keys) > MOST_SHEET_ROWS:
        raise InvalidProblem(
            f"--format: table {shown(table.name)} has {len(table.keys):,} rows, and a sheet of xlsx at most "
            f"{MOST_SHEET_ROWS:,}; write csv."
        )
    labels = [{d.codes[k]: (d.codes[k], d.labels[k])[: 1 + d.labelled] for k in range(len(d.codes))} for d in table.dimensions]
    several = len(set(table.units)) > 1
    names = [text for d in table.dimensions for text in (d.name, f"{d.name}_label")[: 1 + d.labelled]]
    header: list[str] = []
    for name in [*names, *numbers, *(["unit"] if several else []), "status"]:
        header.append(free_name(name, header))
    for row, line in enumerate(head):
        _write_text(sheet, row, 0, line, table)
    for place, name in enumerate(header):
        _write_text(sheet, len(head) + 1, place, name, table)
    sheet.freeze_panes(len(head) + 2, len(names))
    sheet.set_column(0, len(header) - 1, 16)
    for row, key in enumerate(table.keys, len(head) + 2):
        k = row - len(head) - 2
        texts = [text for code, own in zip(key, labels, strict=True) for text in own[code]]
        for place, text in enumerate(texts):
            _write_text(sheet, row, place, text, table)
        for place, column in enumerate(numbers.values(), len(texts)):
            value = column[k]
            if not np.isfinite(value):
                continue
            if abs(value) > LARGEST_SHEET_NUMBER and value == int(value):
                sheet.write_string(row, place, number_text(value))
            else:
                sheet.write_number(row, place, value + 0.0)
        after = [*([table.units[k]] if several else []), table.status[k]]
        for place, text in enumerate(after, len(texts) + len(numbers)):
            if text:
                _write_text(sheet, row, place, text, table)


def _write_text(sheet: Any, row: int, place: int, text: str, table: PublishedTable) -> None:
    text = escaped(text)
    if len(text) > MOST_SHEET_CHARACTERS:
        raise InvalidProblem(
            f"--format: table {shown(table.name)} has a text of {len(text):,} characters, and a cell of xlsx at most "
            f"{MOST_SHEET_CHARACTERS:,}; shorten it, or write csv."
        )
    sheet.write_string(row, place, text)


def _statuses(table: PublishedTable) -> dict[str, str]:
    """What the marks of cells without a number mean, those that the table has."""
    return {code: STATUS[code][0] for code in sorted({*table.status} - {""})}


# SDMX-CSV 2.0: an observation a row, its standard error and intervals as attributes.

SDMX_NAMES = ("STRUCTURE", "STRUCTURE_ID", "ACTION", "TIME_PERIOD", "OBS_VALUE", "OBS_STATUS", "CONF_STATUS", "UNIT_MEASURE")


def _sdmx_id(name: str) -> str:
    plain = re.sub("[^0-9A-Za-z_]+", "_", name).strip("_") or "COLUMN"
    return plain if plain[0].isalpha() else f"C_{plain}"


def _sdmx_csv(tables: Sequence[PublishedTable]) -> bytes:
    (table,) = tables
    columns = {name: [number_text(value) for value in column.tolist()] for name, column in table.numbers.items()}
    answers = columns.pop("answer")
    measures = [name.upper() for name in columns]
    names: list[str] = []
    for dimension in table.dimensions:
        names.append(free_name(_sdmx_id(dimension.name), [*SDMX_NAMES, *measures, *names]))
    period = [table.about.period] if re.fullmatch(PERIOD, table.about.period) else []
    united = any(table.units)
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    head = [*SDMX_NAMES[:3], *names, *(["TIME_PERIOD"] if period else []), *SDMX_NAMES[4:7]]
    writer.writerow([*head, *(["UNIT_MEASURE"] if united else []), *measures])
    structure = ["dataflow", f"DP_DESIGNER:{_sdmx_id(table.name).upper()}(1.0)", "I"]
    for k, (key, answer) in enumerate(zip(table.keys, answers, strict=True)):
        unit = [table.units[k]] if united else []
        _, observed, confidential = STATUS[table.status[k] or ("" if answer else "m")]
        row = [*structure, *map(escaped, key), *period, answer, observed, confidential, *unit]
        writer.writerow([*row, *(column[k] for column in columns.values())])
    return file.getvalue().encode()


# JSON-stat 2.0: a cell at every combination of categories and columns of numbers.


def _json_stat(tables: Sequence[PublishedTable]) -> bytes:
    table = tables[0].nested()
    columns, missing = table.crossed("json-stat")
    taken = [dimension.name for dimension in table.dimensions]
    measure = free_name("measure", taken)
    dimensions: dict[str, Any] = {d.name: _json_dimension(d) for d in table.dimensions}
    roles = {"metric": [measure]}
    if table.about.period:
        name = free_name("period", [*taken, measure])
        dimensions[name] = _json_dimension(Dimension(name, (table.about.period,), (table.about.period,)))
        roles["time"] = [name]
    dimensions[measure] = _json_dimension(Dimension(measure, tuple(columns), tuple(columns)))
    if table.unit:
        dimensions[measure]["category"]["unit"] = {name: {"label": table.unit} for name in columns}
    flat = np.stack([*columns.values()], axis=-1).ravel()
    states = [own or "m" for own in missing for _ in columns]
    values = [None if not np.isfinite(x) else int(x) if x == int(x) else x for x in flat.tolist()]
    used = sorted({states[k] for k, value in enumerate(values) if value is None})
    dataset = {
        "version": "2.0",
        "class": "dataset",
        "label": table.title,
        **({"source": table.about.publisher} if table.about.publisher else {}),
        **({"updated": table.time} if table.time else {}),
        "note": [*table.notes(), *(f"{code}: {STATUS[code][0]}" for code in used)],
        "id": [*dimensions],
        "size": [len(own["category"]["index"]) for own in dimensions.values()],
        "role": roles,
        "dimension": dimensions,
        "value": values,
        **({"status": {str(k): states[k] for k, value in enumerate(values) if value is None}} if used else {}),
    }
    return (json.dumps(dataset, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _json_dimension(dimension: Dimension) -> dict[str, Any]:
    labels = dict(zip(dimension.codes, dimension.labels, strict=True))
    return {"label": dimension.name, "category": {"index": list(dimension.codes), "label": labels}}


# PC-Axis 2013: the same cells as text. Its texts cannot hold a quotation mark, for which a typographic one stands.

PX_SHOWN = 6  # decimals that the format can show
PX_MISSING = {"c": '"."', "m": '"."', "z": '".."'}


def _px_text(text: str) -> str:
    return '"' + escaped(text).replace('"', "”") + '"'


def _px_list(texts: Sequence[str], what: str) -> str:
    found = [_px_text(text) for text in texts]
    if len(set(found)) < len(found):
        raise InvalidProblem(f"--format: px has no quotation marks, so {what} would be the same; rename one, or write csv.")
    return ",\n".join(found)


def _px(tables: Sequence[PublishedTable]) -> bytes:
    table = tables[0].nested()
    columns, missing = table.crossed("px")
    measure = free_name("measure", [dimension.name for dimension in table.dimensions])
    cells = np.stack([*columns.values()], axis=-1)
    texts = [
        [number_text(value) or PX_MISSING[state or "m"] for value in row]
        for row, state in zip(cells.tolist(), missing, strict=True)
    ]
    decimals = min(15, max((len(text.partition(".")[2]) for row in texts for text in row if text[0] != '"'), default=0))
    dimensions = [*table.dimensions, Dimension(measure, tuple(columns), tuple(columns))]
    variables = _px_list([d.name for d in dimensions], "two columns").split(",\n")
    made = datetime.fromisoformat(table.time).strftime("%Y%m%d %H:%M") if table.time else ""
    said: list[tuple[str, str]] = [
        *(("CHARSET", '"ANSI"'), ("AXIS-VERSION", '"2013"'), ("CODEPAGE", '"utf-8"'), ("LANGUAGE", '"en"')),
        *([("CREATION-DATE", f'"{made}"')] if made else []),
        *(("DECIMALS", str(decimals)), ("SHOWDECIMALS", str(min(decimals, PX_SHOWN)))),
        *(("MATRIX", _px_text(_sdmx_id(table.name).upper()[:20])), ("SUBJECT-CODE", '"DP"')),
        *(("SUBJECT-AREA", _px_text(table.about.title or table.name)), ("TITLE", _px_text(table.title))),
        *(("CONTENTS", _px_text(table.name)), ("UNITS", _px_text(table.unit or "see the notes"))),
        *([("STUB", ",\n".join(variables[:-1]))] if table.dimensions else []),
        ("HEADING", variables[-1]),
        *((f"VALUES({v})", _px_list(d.labels, "two labels")) for v, d in zip(variables, dimensions, strict=True)),
        *((f"CODES({v})", _px_list(d.codes, "two codes")) for v, d in zip(variables, dimensions, strict=True)),
        *([("REFPERIOD", _px_text(table.about.period))] if table.about.period else []),
        *([("SOURCE", _px_text(table.about.publisher))] if table.about.publisher else []),
        ("DATASYMBOL1", '"suppressed, or no number"'),
        ("DATASYMBOL2", _px_text(STATUS["z"][0])),
        ("NOTE", _px_text("#".join(table.notes()))),
    ]
    lines = [f"{keyword}={value};" for keyword, value in said]
    return "\n".join([*lines, "DATA=", *(" ".join(row) for row in texts), ";", ""]).encode()


# HTML: a page for print, without scripts.

STYLE = (
    "body{font:11pt serif;margin:2em}table{border-collapse:collapse;border-top:2px solid;border-bottom:2px solid}"
    "caption{font-weight:bold;text-align:left;padding:.5em 0}th,td{padding:.1em .8em;text-align:left;font-weight:normal}"
    "thead th{border-bottom:1px solid}.n{text-align:right;font-variant-numeric:tabular-nums}thead{display:table-header-group}"
    "tr{break-inside:avoid}p{font-size:9pt;margin:.3em 0;max-width:50em}"
)


def _html(tables: Sequence[PublishedTable]) -> bytes:
    (table,) = tables
    columns = {name: [number_text(value) for value in column.tolist()] for name, column in table.numbers.items()}
    labels = [dict(zip(d.codes, d.labels, strict=True)) for d in table.dimensions]
    several = len(set(table.units)) > 1
    heads = [_cell("th", d.name) for d in table.dimensions] + [_cell("th", plain_head(name), "n") for name in columns]
    rows = []
    for k, key in enumerate(table.keys):
        words = STATUS[table.status[k] or "m"][0]
        said = [_cell("th", own[code]) for code, own in zip(key, labels, strict=True)]
        said += [_cell("td", column[k] or words, "n") for column in columns.values()]
        rows.append("".join(["<tr>", *said, *([_cell("td", table.units[k])] if several else []), "</tr>"]))
    notes = [f"<p>{escape(escaped(note))}</p>" for note in table.notes(plain_head)]
    title = escape(escaped(table.title))
    return "\n".join(
        [
            f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>',
            f"<style>{STYLE}</style></head><body>\n<table><caption>{title}</caption>",
            "".join(["<thead><tr>", *heads, *([_cell("th", "unit")] if several else []), "</tr></thead><tbody>"]),
            *rows,
            "</tbody></table>",
            *notes,
            "</body></html>\n",
        ]
    ).encode()


def _cell(kind: str, text: str, style: str = "") -> str:
    return f"<{kind}{f' class={style}' if style else ''}>{escape(escaped(text))}</{kind}>"


CSV_WORDS = (
    "UTF-8, a header line, fields separated by commas, texts quoted, quotes in them doubled, lines ended by a line feed. "
    "Control characters and those that turn text around are written as \\xHH or \\uHHHH; a text that holds one, or what looks "
    "like one, has every backslash doubled. A text that a spreadsheet would run as a formula has an apostrophe before it, "
    "which is no part of the name: take one away where a text begins with apostrophes and then = + - or @."
)
FORMATS: Mapping[str, TableFormat] = {
    "csv": TableFormat("csv", CSV_WORDS, _csv, digits="all", plain=True),
    "csv-semicolon": TableFormat(
        "csv",
        CSV_WORDS.replace("separated by commas", "separated by semicolons, a comma as the decimal mark of numbers"),
        _csv_semicolon,
        plain=True,
    ),
    "parquet": TableFormat(
        "parquet", "Names as they are, numbers as floats.", _parquet, digits="all", needs="pyarrow", plain=True
    ),
    "xlsx": TableFormat(
        "xlsx",
        "A workbook with one sheet a table: title, notes, an empty row, a header, a row an answer. Texts and numbers only, no "
        "formulas; codes and labels in columns of their own; whole numbers above 10^15 as text; control characters as \\xHH.",
        _xlsx,
        joined="tables.xlsx",
        needs="xlsxwriter",
    ),
    "sdmx-csv": TableFormat(
        "csv",
        "SDMX-CSV 2.0, codes in its dimensions: for programs, which run no formulas. OBS_VALUE is the answer, empty where "
        "there is none, with OBS_STATUS (A normal, Q suppressed, O missing) and CONF_STATUS (F free, C confidential). "
        "Characters of names that an identifier cannot have are underscores; control characters of codes are written as \\xHH.",
        _sdmx_csv,
    ),
    "json-stat": TableFormat(
        "json",
        "JSON-stat 2.0: all combinations of categories and columns of numbers, null where there is none, with a status: c "
        "suppressed, m no number, z no such row. Of nested categories the finest, with the names of those above in its label.",
        _json_stat,
    ),
    "px": TableFormat(
        "px",
        'PC-Axis 2013 in UTF-8: all combinations; "." suppressed or no number, ".." no such row. Of nested categories the '
        "finest, with the names of those above in its label. A quotation mark is written as a typographic one.",
        _px,
    ),
    "html": TableFormat("html", "A page for print, labels in the place of codes.", _html),
}

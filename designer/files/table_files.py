"""A release as a folder of tables in one of the formats of `table_writers`, the release itself, and what every column is.

Everything but `release.json` is computed from it and from public numbers: who has the release and the spec makes the same
files. docs/guides/tables_out.md says what a reader needs to know.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from designer.base.answer_table import LEVEL, AnswerTable, NamedColumns, Tabular, numbers_of
from designer.base.checks import meant, probability, shown
from designer.base.display import in_markdown
from designer.base.errors import InvalidProblem
from designer.base.json_text import readable_text
from designer.base.labels import listed_label
from designer.base.output import INDEX, write_folder
from designer.base.progress import track
from designer.base.published_margins import PublishedSums
from designer.certificate.agreement import AgreeingTables, Agreement
from designer.certificate.frozen import FrozenMechanism, Released, below_by_noise
from designer.files.kinds import KINDS
from designer.files.published_table import DIGITS, Digits, Dimension, PublishedTable, by_words, with_noise_digits
from designer.files.table_writers import FORMATS, TableFormat, free_name, sheet_names

# Which releases can be made to agree, and by what: nonnegative, perhaps whole, tables with the published margins.


GIVEN = "Margins that a file gave are taken as public, and the guarantee does not cover what they tell of the records."


@cache
def _agreement(format: str) -> Agreement[Any, Any] | None:
    """How releases of a format are made to agree, imported when it is needed; None where none are."""
    found: type[Agreement[Any, Any]] | None = KINDS[format].part("agreement") if format in KINDS else None
    return None if found is None else found()


def require_agreement(mechanism: FrozenMechanism, published: PublishedSums | None = None) -> Agreement[Any, Any]:
    """How releases are made to agree; `InvalidProblem` with the reason, before any data are touched, where they never are."""
    agreement = _known_agreement(mechanism)
    agreement.require(mechanism, published)
    return agreement


def _known_agreement(mechanism: FrozenMechanism) -> Agreement[Any, Any]:
    agreement = _agreement(mechanism.format)
    if agreement is None:
        raise InvalidProblem(
            f"--consistent: releases of {mechanism.format!r} have no agreeing tables: none are implemented, or there is no "
            "table; leave the option out."
        )
    return agreement


def negative_words(mechanism: FrozenMechanism, released: Released, *, agreed: bool = False) -> list[str]:
    """A sentence where noise brought answers below 0 that cannot be so without it, and what gives numbers from 0 on; nothing
    elsewhere: a sum of longitudes may rightly be below 0.

    agreed: tables with the column of these numbers were written.
    """
    if not isinstance(released, Tabular):
        return []
    try:
        tables = released.answer_tables()
    except InvalidProblem:  # too many to be written out
        return []
    below = sum(int(below_by_noise(mechanism, table).sum()) for table in tables)
    all_of_them = sum(len(table.answers) for table in tables)
    if not below:
        return []
    said = f"Below 0: {below:,} of {all_of_them:,} answers, where noise makes them so; they are unbiased as they are."
    if agreed:
        return [f"{said} The column consistent has numbers from 0 on, which agree."]
    try:
        require_agreement(mechanism)
    except InvalidProblem:
        return [said]
    return [f"{said} Numbers from 0 on that agree: dp-designer tables SPEC RELEASE -o FOLDER/ --consistent integer."]


def agreeing_tables(
    mechanism: FrozenMechanism, released: Released, published: PublishedSums | None = None, *, whole: bool = True
) -> AgreeingTables:
    """Find nonnegative numbers beside the answers of a release that agree with one another and with what was published. This is
    post-processing of the release and of public numbers alone. Raises `InvalidProblem` where none are implemented or no
    table has the margins, `DesignFailed` where the solver gives up.

    Parameters
    ----------
    mechanism : the frozen mechanism.
    released : what a release of the mechanism returned.
    published : margins that the release does not hold.
    whole : whether they are whole numbers.
    """
    agreement = require_agreement(mechanism, published)
    made = agreement.made(mechanism, released, published, whole).compared(released.answer_tables())
    return made if published is None else replace(made, words=f"{made.words} {GIVEN}")


TABLES_FORMAT = "dp-designer/tables"
TABLES_VERSION = 1
RELEASE, README = "release.json", "README.md"
Consistent = Literal["unbiased", "unbiased-integer", "integer", "nonnegative"]
UNBIASED = ("unbiased", "unbiased-integer")
LONGEST_FILE = 80


@dataclass(frozen=True)
class TableOptions:
    """How tables are written.

    kind: a format of `FORMATS`. level: of the intervals. consistent: what numbers that agree stand beside the answers, or None.
    published: margins for it that the release does not hold. digits: "noise" or "all"; None for what the format has. labels: of
    the codes of a column, instead of those of the problem file. derived: tables of ratios and changes beside the answers, each
    a `designer.mechanism.derived.DerivedTable`.
    """

    kind: str = "csv"
    level: float = LEVEL
    consistent: Consistent | None = None
    published: PublishedSums | None = None
    digits: Digits | None = None
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    derived: Sequence[Any] = ()

    def require(self, mechanism: FrozenMechanism) -> None:
        """Refuse, before any data are touched, what cannot be written of releases of this mechanism."""
        for value, known, option in ((self.kind, [*FORMATS], "--format"), (self.digits or "all", [*DIGITS], "--digits")):
            if value not in known:
                raise InvalidProblem(f"{option}: {shown(value)} is none; {meant(value, known)}use one of {known}.", value=value)
        self.format.require()
        probability(self.level, "--level")
        for own in self.derived:
            own.require(mechanism, self.level)
        if mechanism.format == "dp-designer/selection":
            raise InvalidProblem("-o: a selection releases a choice and no numbers, so there are no tables; name a file.")
        if self.consistent in UNBIASED:
            if self.published is not None:
                raise InvalidProblem(
                    f"--consistent {self.consistent}: does not keep --published margins; use --consistent integer."
                )
            _known_agreement(mechanism).require_unbiased(mechanism, self.consistent == "unbiased-integer")
        elif self.consistent is not None:
            require_agreement(mechanism, self.published)
        elif self.published is not None:
            raise InvalidProblem("--published: gives margins that tables are made to agree with; add --consistent integer.")

    @property
    def format(self) -> TableFormat:
        """The format that is written."""
        return FORMATS[self.kind]


def write_tables(
    mechanism: FrozenMechanism,
    released: Released,
    document: Mapping[str, Any],
    path: str | Path,
    options: TableOptions | None = None,
    *,
    extra: Any = None,
    inputs: Sequence[Path] = (),
    replace: bool = False,
) -> Path:
    """Write a folder of tables: whole, or not at all. Raises `InvalidProblem` where it cannot be written or tables cannot be
    made.

    Parameters
    ----------
    mechanism : what made the release.
    released : what a release of the mechanism returned.
    document : the release as plain data, see `release_document`.
    path : the folder that is written.
    options : how the tables are written.
    extra
        called with the hidden folder once `release.json` is in it, to write more, such as a signature; it returns the
        names.
    inputs : files that are read, never in the folder.
    replace : may a folder that this wrote be replaced?
    """
    wanted = options or TableOptions()

    def fill(folder: Path) -> Iterator[tuple[str, bytes]]:
        (folder / RELEASE).write_text(readable_text(dict(document)), encoding="utf-8")
        more = [] if extra is None else list(extra(folder / RELEASE))
        yield from files_of_tables(mechanism, released, document, wanted, more)

    return write_folder(Path(path), fill, inputs=inputs, replace=replace)


def files_of_tables(
    mechanism: FrozenMechanism, released: Released, document: Mapping[str, Any], options: TableOptions, more: Sequence[str] = ()
) -> Iterator[tuple[str, bytes]]:
    """The files of the tables one by one, names with contents, and at last their index and its words for readers."""
    answered = released.answer_tables()
    tables = [*answered, *(own.table(mechanism, released) for own in options.derived)]
    agreed = _agreed(mechanism, released, options)
    form, names = options.format, file_names([table.name for table in tables], options.format.suffix)
    sheets = sheet_names([table.name for table in tables])
    if form.joined:
        names = [form.joined] * len(tables)
    labels = {name: column.labels for name, column in mechanism.about.records.columns.items()} | dict(options.labels)
    described, joined = [], []
    for k, (table, name) in enumerate(track(list(zip(tables, names, strict=True)), "writing tables")):
        ratio = k >= len(answered)
        units = [options.derived[k - len(answered)].unit] if ratio else _units(mechanism, released, table)
        plain = numbers_of(table, options.level)
        if noise := (options.digits or form.digits) == "noise":
            plain = with_noise_digits(plain)
        plain = plain if ratio else _with_agreeing(plain, agreed, k, options.level, noise)
        made = _with_units(plain, units) if form.plain else plain
        published = _published(table, made, units, labels, mechanism, document)
        described.append(_described(published, name, sheets[k] if form.joined else "", units[0] if len({*units}) == 1 else ""))
        if not form.plain:
            published.require()
        if form.joined:
            joined.append(published)
        else:
            yield name, form.write([published])
    if joined:
        yield form.joined, form.write(joined)
    index = _index(mechanism, document, options, described, agreed, [RELEASE, README, *dict.fromkeys(names), *more])
    yield README, _words(mechanism, released, index).encode()
    yield INDEX, readable_text(index).encode()


def _published(
    table: AnswerTable,
    made: NamedColumns,
    units: Sequence[str],
    labels: Mapping[str, Mapping[str, str]],
    mechanism: FrozenMechanism,
    document: Mapping[str, Any],
) -> PublishedTable:
    """The table with its codes and labels."""
    codes = [[listed_label(key[place]) for key in table.keys] for place in range(len(table.columns))]
    free = list(made.columns)[: len(table.columns)]
    dimensions = tuple(
        Dimension.of(name, own, labels.get(column, {})) for name, column, own in zip(free, table.columns, codes, strict=True)
    )
    keys = [*zip(*codes, strict=True)] if codes else [()] * len(table.keys)
    status = ["" if there else "m" for there in np.isfinite(table.answers).tolist()]
    each = units if len(units) == len(keys) else [*units] * len(keys)
    period = (document.get("ledger") or {}).get("period", mechanism.about.period)
    about = replace(mechanism.about, period=period)
    return PublishedTable(table.name, made, dimensions, keys, each, status, about, document["time"])


def file_names(tables: Sequence[str], suffix: str) -> list[str]:
    """A file name for each table: its letters, digits, points, dashes and underscores; numbered where two would be the same.

    >>> file_names(["sex x age", "Sex/age", "release"], "csv")
    ['sex_x_age.csv', 'Sex_age.csv', 'release_2.csv']
    """
    found: list[str] = []
    taken = {Path(name).stem.lower() for name in (RELEASE, README, INDEX)}
    for table in tables:
        plain = re.sub(r"[^0-9A-Za-z.-]+", "_", table).strip("._-")[:LONGEST_FILE] or "table"
        name, number = plain, 1
        while name.lower() in taken:
            number += 1
            name = f"{plain}_{number}"
        taken.add(name.lower())
        found.append(f"{name}.{suffix}")
    return found


def _agreed(mechanism: FrozenMechanism, released: Released, options: TableOptions) -> AgreeingTables | None:
    if options.consistent is None:
        return None
    if options.consistent in UNBIASED:
        return _known_agreement(mechanism).unbiased(mechanism, released, options.consistent == "unbiased-integer")
    return agreeing_tables(mechanism, released, options.published, whole=options.consistent == "integer")


def _with_agreeing(made: NamedColumns, agreed: AgreeingTables | None, place: int, level: float, noise: bool) -> NamedColumns:
    """The columns of a table with the agreeing numbers behind the answer, and where these have no bias their standard errors
    and intervals behind those of the answers.

    noise: whether these have the digits that noise leaves; the numbers themselves keep all, so that they add up.
    """
    if agreed is None:
        return made
    numbers = agreed.tables[place]
    if numbers is None:
        return NamedColumns(made.columns, made.meanings, {**made.missing, "consistent": agreed.reasons[place]}, made.categories)
    columns: dict[str, Any] = {}
    for name, column in made.columns.items():
        columns[name] = column
        if name == "answer":
            columns["consistent"] = numbers
    meanings, missing = {**made.meanings, "consistent": agreed.words}, dict(made.missing)
    if agreed.laws:
        own = numbers_of(agreed.laws[place], level)
        own = with_noise_digits(own) if noise else own
        for name in [*own.columns][own.categories + 1 :]:
            columns[f"consistent_{name}"] = own.columns[name]
            meanings[f"consistent_{name}"] = f"Of the column consistent. {own.meanings[name]}"
        missing |= {f"consistent_{name}": reason for name, reason in own.missing.items()}
    return NamedColumns(columns, meanings, missing, made.categories)


def _units(mechanism: FrozenMechanism, released: Released, table: AnswerTable) -> list[str]:
    """What the answers of a table are counted in, as the maker says of each query by its name; empty where nothing is said."""
    queries = getattr(released, "queries", ())
    names = queries if len(queries) == len(table.answers) else (table.name,)
    return [mechanism.about.unit(name) for name in names]


def _with_units(made: NamedColumns, units: Sequence[str]) -> NamedColumns:
    """The same with a column of units behind the categories, where the answers have different ones."""
    if len(set(units)) < 2:
        return made
    name = free_name("unit", list(made.columns))
    categories = dict(list(made.columns.items())[: made.categories])
    meanings = {**made.meanings, name: "What the answer is counted in, as the maker says."}
    return NamedColumns({**categories, name: list(units), **made.columns}, meanings, made.missing, made.categories + 1)


def _described(table: PublishedTable, file: str, sheet: str, unit: str) -> dict[str, Any]:
    """What the index says of a table."""
    labels = {d.name: dict(zip(d.codes, d.labels, strict=True)) for d in table.dimensions if d.labelled}
    columns = [
        {
            "name": name,
            "kind": "category" if place < table.made.categories else "number",
            "meaning": table.made.meanings[name],
            **({"labels": labels[name]} if name in labels else {}),
            **({"unit": unit} if unit and place >= table.made.categories else {}),
        }
        for place, name in enumerate(table.made.columns)
    ]
    missing = [{"name": name, "reason": reason} for name, reason in table.made.missing.items()]
    where = {"file": file, **({"sheet": sheet} if sheet else {})}
    return {"name": table.name, **where, "rows": len(table.keys), "columns": columns, "missing": missing}


def _index(
    mechanism: FrozenMechanism,
    document: Mapping[str, Any],
    options: TableOptions,
    described: Sequence[Mapping[str, Any]],
    agreed: AgreeingTables | None,
    files: Sequence[str],
) -> dict[str, Any]:
    """The data dictionary."""
    digits = options.digits or options.format.digits
    return {
        "format": TABLES_FORMAT,
        "version": TABLES_VERSION,
        "fingerprint": mechanism.fingerprint,
        "time": document["time"],
        "about": mechanism.about.to_dict(),
        "release": RELEASE,
        "level": options.level,
        "consistent": None if agreed is None else {"asked": options.consistent, "words": agreed.words},
        "tables": list(described),
        "csv": options.format.words if options.format.plain and options.format.suffix == "csv" else None,
        "file_format": {"name": options.kind, "words": options.format.words},
        "digits": {"asked": digits, "words": DIGITS[digits]},
        "files": list(files),
    }


def _words(mechanism: FrozenMechanism, released: Released, index: Mapping[str, Any]) -> str:
    """The same for readers, in Markdown."""
    title = mechanism.about.title or "Released tables"
    lines = [f"# {in_markdown(title)}", ""]
    lines += [f"Made by the mechanism {mechanism.fingerprint}, released {index['time']}. The release itself is `{RELEASE}`;"]
    lines += [f"`{INDEX}` says the following for machines. The guarantee, word by word:", "", "```"]
    lines += [released.guarantee.to_text().replace("```", "'''"), "```", ""]
    notes = [_notes(table) for table in index["tables"]]
    shared = [note for note in notes[0] if all(note in others for others in notes[1:])] if len(notes) > 1 else []
    lines += ["## In every table", "", *shared, ""] if shared else []
    for table, all_notes in zip(index["tables"], notes, strict=True):
        lines += [f"## {in_markdown(table['name'])}", "", f"`{table['file']}`, {table['rows']:,} rows.", ""]
        own = [note for note in all_notes if note not in shared]
        lines += [*own, ""] if own else []
    return "\n".join([*lines, "## Format", "", index["file_format"]["words"], "", f"Digits: {index['digits']['words']}", ""])


def _notes(table: Mapping[str, Any]) -> list[str]:
    """What the index says of the columns of a table, those that are not there among them, a line each."""
    there = by_words((in_markdown(c["name"]), f"{in_markdown(c['meaning'])}{_in_units(c)}") for c in table["columns"])
    missing = by_words((in_markdown(c["name"]), in_markdown(c["reason"])) for c in table["missing"])
    return [
        *(f"- {names}: {words}" for names, words in there),
        *(f"- (not there) {names}: {words}" for names, words in missing),
    ]


def _in_units(column: Mapping[str, Any]) -> str:
    return f" In {in_markdown(column['unit'])}." if "unit" in column else ""

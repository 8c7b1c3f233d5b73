"""From a spec to what is published, or simulated: release, sample.

Releases of averages from records: the problem file says what of a record each function tells apart.
"""

from __future__ import annotations

import argparse
import glob
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from designer.accounts.composition.privacy_in_words import entity_words, privacy_line
from designer.base.answer_table import LEVEL, ROWS, answer_lines, interval_data, numbers_of
from designer.base.checks import probability, shown
from designer.base.display import counted, printed
from designer.base.errors import CannotWrite, InvalidProblem, Refusal, hides_data_in_errors
from designer.base.json_text import readable_text, signature_path
from designer.base.output import checked_folder, names_folder, write_whole
from designer.base.published_margins import PublishedSums
from designer.base.schema import list_of, record
from designer.certificate import frozen as facts
from designer.certificate.frozen import FrozenMechanism, Released
from designer.certificate.guarantee import Guarantee
from designer.cli.check_command import add_marks, stated_reading
from designer.cli.ledger_options import (
    add_recording_options,
    add_spending_options,
    confirm_spending,
    recorded,
    recorded_lines,
    spending_lines,
)
from designer.cli.options import add_full, add_output, check_output, loaded, release_and_signer, require_protection
from designer.cli.signing_commands import add_sign_options, given_key, signed_line, signing_key
from designer.files.data_files import (
    naming_file,
    read_histogram,
    read_records,
    read_table,
    require_histogram_file,
    require_readable_histogram,
    require_records_file,
)
from designer.files.kinds import TABLE_PLAN
from designer.files.office_files import RECORD_FILES, as_parquet, column_names, is_office_file, require_file
from designer.files.published_table import DIGITS
from designer.files.releases import read_release
from designer.files.signatures import SigningKey, sign_file
from designer.files.table_files import TableOptions, negative_words, write_tables
from designer.files.table_writers import FORMATS
from designer.mechanism.caution_lines import cautions
from designer.mechanism.derived import DERIVED, SAME_RELEASE, ChangesSince, DerivedTable, Ratios
from designer.problem.histogram import REFUSE, Counts, Unlisted
from designer.problem.reading import UNSAID, Reading
from designer.problem.relation import RECORDS_PUBLIC
from designer.relations.records.record_files import has_records, open_table, require_openable, require_table_file
from designer.relations.records.row_unit import RowUnit

if TYPE_CHECKING:
    from designer.averages.queries import StatisticalQueries


# Releases as folders of tables: the options by which `release -o FOLDER/` writes them, and `tables`, which prints the answers
# of a saved release with their intervals, or makes such a folder of it.


TRIES = 100  # names for a release whose tables were not written
OPTIONS = {"kind": "--format"} | {name: f"--{name}" for name in ("level", "digits", "consistent", "published", "derived")}


def add_tables(made: argparse.ArgumentParser) -> None:
    """tables."""
    made.add_argument("release", type=Path, help="a release of this spec (JSON)")
    made.add_argument("-o", "--output", action=_Output, help="the folder to write; without it, the answers are printed")
    made.add_argument("--force", action="store_true", help="replace a folder that this program wrote")
    together = "print intervals that hold all answers without noise at once; tables that are written have both kinds"
    made.add_argument("--together", action="store_true", help=together)
    since = "an earlier release: also tables of changes since then, with intervals"
    made.add_argument("--earlier", type=Path, metavar="RELEASE", help=since)
    made.add_argument("--earlier-spec", type=Path, metavar="SPEC", help="the spec of the earlier release, where it is another")
    made.set_defaults(run=_tables, folder=False)
    add_table_options(made)


def add_table_output(made: argparse.ArgumentParser) -> None:
    """-o of a release: a file, or a folder of tables."""
    made.add_argument(
        "-o", "--output", action=_Output, help="also save the release (JSON); a folder (NAME/) gets tables of its answers, too"
    )
    made.add_argument(
        "--force", action="store_true", help="replace a file, or a folder of tables, of that name; inputs are never replaced"
    )
    made.set_defaults(folder=False)
    add_table_options(made)


def add_table_options(made: argparse.ArgumentParser) -> None:
    """How tables are written."""
    made.add_argument("--format", dest="kind", choices=list(FORMATS), help="of the tables (default csv)")
    made.add_argument(
        "--digits", choices=list(DIGITS), help="those that the noise leaves, or all (default: all in csv and parquet)"
    )
    made.add_argument("--level", type=float, help=f"of the intervals (default {LEVEL})")
    made.add_argument(
        "--consistent",
        choices=["unbiased", "unbiased-integer", "integer", "nonnegative"],
        nargs="?",
        const="unbiased",
        help="a column beside the answers: numbers that agree with one another; unbiased, with intervals (the default), or in "
        "whole numbers, perhaps below 0; integer and nonnegative from 0 on, and with the published margins, but biased",
    )
    made.add_argument(
        "--published",
        type=Path,
        metavar="FILE",
        help="margins that the release does not hold: categories and value (CSV, Parquet)",
    )
    ratios = "also tables of ratios, shares and estimates: a problem file, or another TOML file, with [[derived]]"
    made.add_argument("--derived", type=Path, metavar="FILE", help=ratios)


class _Output(argparse.Action):
    """A path, and whether a folder is meant."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: str | None = None) -> None:
        namespace.output, namespace.folder = Path(values), names_folder(values)


def asked_tables(options: argparse.Namespace, mechanism: FrozenMechanism, inputs: Sequence[Path]) -> TableOptions | None:
    """How tables are to be written, checked before any data are touched; None where none are asked for."""
    if not options.folder:
        _require_folder(options, list(OPTIONS))
        return None
    checked_folder(options.output, inputs=[*inputs, *_further_files(options)], replace=options.force)
    published = PublishedSums.of(read_table(options.published)) if options.published else None
    level = LEVEL if options.level is None else options.level
    derived = _all_derived(options, mechanism)
    made = TableOptions(options.kind or "csv", level, options.consistent, published, options.digits, derived=derived)
    made.require(mechanism)
    return made


def derived_of(path: Path, mechanism: FrozenMechanism) -> list[DerivedTable]:
    """The tables that a TOML file asks for; refused where it asks for none, or for answers that there are not."""
    from designer.mechanism.readings import ReadAnswer
    from designer.problem_file.forms import require_form
    from designer.problem_file.sections import toml_of

    asked = {"derived": toml_of(path).get("derived", [])}
    require_form(path, record({"derived": list_of(DERIVED)}), asked)
    names = [own["name"] for own in asked["derived"]]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InvalidProblem(f"{path}: two tables of [[derived]] are named {shown(twice[0])}; rename one.")
    return [(ReadAnswer if "reading" in own else Ratios).of(mechanism, own) for own in asked["derived"]]


def _all_derived(options: argparse.Namespace, mechanism: FrozenMechanism) -> list[DerivedTable]:
    """Tables that a file asks for, and changes since an earlier release, made by this spec or another one."""
    found = derived_of(options.derived, mechanism) if options.derived else []
    if path := getattr(options, "earlier", None):
        from designer.files.spec import load, read_signed

        spec, (document, _) = options.earlier_spec, read_signed(path, None)
        if document.get("seal") == read_signed(options.release, None)[0].get("seal"):
            raise InvalidProblem(SAME_RELEASE)
        earlier = load(spec, allow_vacuous=options.allow_vacuous) if spec else mechanism
        before = read_release(earlier, document, allow_vacuous=options.allow_vacuous)
        since = (document.get("ledger") or {}).get("period", earlier.about.period if spec else "")
        found += ChangesSince.of(mechanism, earlier, before, since)
    return found


def _require_folder(options: argparse.Namespace, names: Sequence[str]) -> None:
    """Refuse options of tables where none are written."""
    if given := [OPTIONS[name] for name in names if getattr(options, name) is not None]:
        raise InvalidProblem(f"{given[0]}: says how tables are written; give a folder for them, -o NAME/.")


def save_tables(
    options: argparse.Namespace,
    mechanism: FrozenMechanism,
    released: Released,
    document: Mapping[str, Any],
    asked: TableOptions,
    key: SigningKey | None,
    inputs: Sequence[Path],
) -> list[str]:
    """Write the folder of a fresh release and say so. Where that fails, the release itself is saved beside it: it cannot be
    drawn again, and tables can be made of it."""

    def extra(release: Path) -> list[str]:
        return [] if key is None else [sign_file(release, key, options.name).name]

    try:
        write_tables(mechanism, released, document, options.output, asked, extra=extra, inputs=inputs, replace=options.force)
    except (Refusal, MemoryError, OSError, KeyboardInterrupt) as error:
        raise _kept(options, document, error) from None
    signed = [] if key is None else [f"Signed with the key {key.public.fingerprint}."]
    return [*_written_lines(options, released, asked), *signed]


def _kept(options: argparse.Namespace, document: Mapping[str, Any], error: BaseException) -> Exception:
    """Why there are no tables, and where the release is."""
    why, kind = str(error) or type(error).__name__, CannotWrite if isinstance(error, CannotWrite) else InvalidProblem
    for number in range(1, TRIES):
        name = f"{options.output.name}.release{'' if number == 1 else f'_{number}'}.json"
        with suppress(Refusal, OSError):
            path = write_whole(options.output.parent / name, readable_text(dict(document)), replace=False)
            return kind(
                f"{why} The tables were not written; the release is saved as {printed(path)}: make tables of it with "
                f"dp-designer tables {printed(options.file)} {printed(path)} -o FOLDER/."
            )
    return kind(f"{why} Neither the tables nor the release were written; what was spent is spent.")


def _written_lines(options: argparse.Namespace, released: Released, asked: TableOptions) -> list[str]:
    tables = released.answer_tables()
    said = f"{counted(len(tables), 'table')}, {counted(sum(len(table.answers) for table in tables), 'answer')}"
    said += f", {counted(len(asked.derived), 'table')} computed from them" if asked.derived else ""
    return [f"Written to {printed(options.output)}/: {said}, the release, and what every column is (README.md)."]


def _further_files(options: argparse.Namespace) -> list[Path]:
    given = (options.published, options.derived, getattr(options, "earlier", None), getattr(options, "earlier_spec", None))
    return [path for path in given if path]


def _tables(options: argparse.Namespace) -> tuple[str, Any]:
    return _written(options) if options.output else _printed(options)


def _printed(options: argparse.Namespace) -> tuple[str, Any]:
    """The answers with their intervals, for people and for machines."""
    _require_folder(options, [name for name in OPTIONS if name not in ("level", "derived")])
    level = LEVEL if options.level is None else probability(options.level, "--level")
    mechanism = loaded(options)
    document, _ = release_and_signer(options)
    released = read_release(mechanism, document, allow_vacuous=options.allow_vacuous)
    tables = released.answer_tables()
    ratios = _all_derived(options, mechanism)
    made = [own.table(mechanism, released) for own in ratios]
    if options.json:
        named = {table.name: numbers_of(table, level).columns for table in made}
        derived = {table: {name: _finite(own) for name, own in columns.items()} for table, columns in named.items()}
        return "", {"fingerprint": released.fingerprint, "intervals": interval_data(tables, level), "derived": derived}
    about = mechanism.about
    lines = answer_lines(tables, about.unit, level=level, simultaneous=options.together, label=about.records.label)
    if made:
        units = {own.name: own.unit for own in ratios}
        words = "Computed from these answers"
        lines += [
            "",
            *answer_lines(
                made, lambda name: units.get(name, about.unit(name)), level=level, label=about.records.label, head=words
            ),
        ]
    return "\n".join(lines), None


def _finite(column: Any) -> list[Any]:
    """A column as plain data, null for a number that is open or none."""
    return [None if isinstance(x, float) and not np.isfinite(x) else x for x in np.asarray(column).tolist()]


def _written(options: argparse.Namespace) -> tuple[str, Any]:
    """A folder of tables, the release and its signature."""
    if options.together:
        raise InvalidProblem(
            "--together: says which intervals are printed; tables that are written have both kinds, leave it out."
        )
    options.folder = True
    mechanism, inputs = loaded(options), [options.file, options.release]
    asked = asked_tables(options, mechanism, inputs)
    assert asked is not None
    (document, _), signature = release_and_signer(options), signature_path(options.release)
    released = read_release(mechanism, document, allow_vacuous=options.allow_vacuous)

    def extra(release: Path) -> list[str]:
        """The signature goes with what it signs."""
        if not signature.is_file():
            return []
        return [write_whole(signature_path(release), signature.read_bytes()).name]

    write_tables(mechanism, released, document, options.output, asked, extra=extra, inputs=inputs, replace=options.force)
    return "\n".join(_written_lines(options, released, asked)), {"path": str(options.output)}


FLAG = "--counted-by"
COUNTING = "statistical_queries"  # the kind of problem files that say how records are counted


def add_counting_option(made: argparse.ArgumentParser) -> None:
    """The problem file of averages."""
    made.add_argument(
        FLAG, type=Path, help=f"the problem file (kind {COUNTING!r}) of the spec, which says how --table is counted"
    )


def releasing_averages(mechanism: Any, options: argparse.Namespace) -> tuple[Callable[[], object], Callable[[], Released]]:
    """A look at the names of columns of records, and the release of a spec of averages from them; refused here where spec,
    problem file and options do not fit. The records are not opened here."""
    from designer.problem_file.kinds import read_request

    request: Any = read_request(options.counted_by)
    if request.kind != COUNTING:
        raise InvalidProblem(
            f"{FLAG}: {options.counted_by} is of kind {request.kind!r}, whose specs take --table or --histogram as they are; "
            f"leave {FLAG} out.",
            value=options.counted_by,
        )
    if options.table is None or options.histogram is not None:
        raise InvalidProblem(f"{FLAG}: says how records are counted; give them as --table, and no --histogram.")
    if getattr(mechanism, "workload", None) != request.problem.workload:
        raise InvalidProblem(
            f"{FLAG}: {options.counted_by} asks for other averages than the spec; give the file of its design."
        )
    attributes = [name for group in request.problem.groups for name in group.domain.attributes]
    require_records_file(options.table)
    row = RowUnit(entity=options.entity, rows_per_entity=options.rows_per_entity)
    stated, given = mechanism.guarantee_for(row), (options.table, attributes, options.delimiter)

    def ready() -> None:
        read_records(*given)
        if row.entity is not None:
            require_openable(options.table, delimiter=options.delimiter)

    def release() -> Released:
        if row.entity is None:
            return _released(mechanism, request.problem, read_records(*given), row, stated)
        table = open_table(options.table, delimiter=options.delimiter)
        own = row.with_left_out(table, facts.rate_of_left_out(mechanism))
        return _released(mechanism, request.problem, partial(_bounded, table, row, attributes), own, stated)

    return ready, release


@hides_data_in_errors
def _released(
    mechanism: Any, queries: StatisticalQueries, records: Callable[[], Any], row: RowUnit, stated: Guarantee
) -> Released:
    """Counts of what the functions tell apart, and the release from them."""
    counting = mechanism.described(
        replace(mechanism.about, records=UNSAID)
    )  # whose rows count was settled before they were counted
    released: Released = replace(counting.release(queries.histogram(records())), guarantee=stated, row=row)
    return released


def _bounded(table: Any, row: RowUnit, attributes: list[str]) -> dict[str, list[Any]]:
    """The rows of each entity that count, as columns."""
    rows = row.rows(table, attributes, unlisted=REFUSE)
    held: dict[str, list[Any]] = rows.select(*attributes).to_pyarrow().to_pydict()
    return held


FLAGS = {"histogram": "histogram", "records": "table"}  # the option that gives what a mechanism takes
COUNTED = "counts of the universe elements"
COUNT_COLUMNS = ("count", "counts")  # what a file of counts calls them, in any case of letters
RECORDED = "records, one row each"


def add_release(made: argparse.ArgumentParser) -> None:
    """release."""
    made.set_defaults(run=_release, confidential=True)
    _add_data_options(made)
    add_recording_options(made)
    add_spending_options(made)
    add_table_output(made)
    add_sign_options(made)
    add_full(made, "also print every part of the guarantee")


def add_sample(made: argparse.ArgumentParser) -> None:
    """sample."""
    made.set_defaults(run=_sample)
    made.add_argument("-n", "--size", type=int, default=1000, help="number of draws (default 1000)")
    made.add_argument("--seed", type=int, help="make the simulation repeatable")
    add_output(made, "-o", "save the draws (NPY)")


def _add_data_options(made: argparse.ArgumentParser) -> None:
    """Where confidential data come from: counts or records, and how their file is written."""
    made.add_argument(
        "--histogram", type=Path, help="counts with the columns that name their elements (CSV, Parquet), or in order (NPY)"
    )
    made.add_argument("--column", help="the column of the histogram file that holds the counts")
    made.add_argument("--table", type=Path, help=f"records instead of counts ({', '.join(RECORD_FILES)}; needs DuckDB)")
    add_counting_option(made)
    made.add_argument("--entity", help="protect whole entities: the column of the records that tells whose they are")
    made.add_argument("--rows-per-entity", type=int, help="how many records of each entity count")
    add_marks(made)


def _release(options: argparse.Namespace) -> tuple[str, Any]:
    tables = [Path(name) for name in sorted(glob.glob(str(options.table)))] if options.table else []
    given = (options.file, options.histogram, options.table, options.counted_by, options.ledger, options.sign, *tables)
    inputs = [path for path in given if path]
    if not options.folder:
        check_output(options, inputs)
    mechanism = loaded(options)
    require_protection(options, mechanism)
    asked, key = asked_tables(options, mechanism, inputs), given_key(options) if options.folder else signing_key(options)
    reading = stated_reading(options, mechanism.about.records)
    told = _how_numbers_were_read(options, mechanism)
    if options.counted_by is None:
        _require_data(options, mechanism)
    spending = spending_lines(options, mechanism, RowUnit(entity=options.entity, rows_per_entity=options.rows_per_entity))
    if options.dry_run:
        return "\n".join([*spending, "Dry run: no data were opened, and nothing was spent."]), {"dry_run": spending}
    confirm_spending(options, spending)
    records = options.table
    with _file_of_the_engine(options, mechanism, reading):
        looked_at, release = _releasing(mechanism, options)

        def ready() -> None:
            looked_at()
            if records is not None:
                _require_rows_of_records(records, options, mechanism, reading)

        released, data = recorded(options, mechanism, [options.histogram] if options.histogram else tables, ready, release, key)
    private = privacy_line(mechanism, rows_per_entity=options.rows_per_entity)
    if asked is not None:
        written = save_tables(options, mechanism, released, data, asked, key, inputs)
        lines = [
            *cautions(mechanism),
            *written,
            *negative_words(mechanism, released, agreed=asked.consistent in ("integer", "nonnegative")),
            *told,
            "",
            *_promised(options, mechanism, released, private),
            *recorded_lines(data),
        ]
        return "\n".join(lines), data
    if options.output:
        write_whole(options.output, readable_text(data), replace=options.force)
    about = mechanism.about.heading()
    answers = [
        *about,
        *([""] if about else []),
        *facts.release_lines(mechanism, released, ROWS if options.output else None),
        *negative_words(mechanism, released),
        *told,
        "",
        *_promised(options, mechanism, released, private),
    ]
    saved = (
        [f"Saved to {output}. Its tables as CSV: dp-designer tables {printed(options.file)} {output} -o FOLDER/."]
        if (output := options.output and printed(options.output))
        else ["Not saved: give -o RELEASE.json to keep a release; the budget is spent either way."]
    )
    return "\n".join([*cautions(mechanism), *answers, *recorded_lines(data), *saved, *signed_line(options, key)]), data


@contextmanager
def _file_of_the_engine(options: argparse.Namespace, mechanism: FrozenMechanism, reading: Reading) -> Iterator[None]:
    """A file that the engine reads in the place of one that it does not, or whose values are read as others."""
    path, changing = options.table, reading.changing
    columns = _columns_of(mechanism, options) if path is not None and (changing or is_office_file(path)) else []
    if path is None or not (is_office_file(path) or any(columns is None or name in columns for name in changing)):
        yield
        return
    numbers, whole = getattr(mechanism, "numbers", ()), getattr(mechanism, "counted_keys", ())
    refusing = _rule_of(mechanism) == REFUSE
    with as_parquet(path, columns, reading, numbers=numbers, whole=whole, refusing=refusing) as options.table:
        try:
            yield
        finally:
            options.table = path


def _columns_of(mechanism: Any, options: argparse.Namespace) -> list[str] | None:
    """The columns of records that are needed; None where all may be."""
    if options.counted_by is not None:
        return None
    if mechanism.format == TABLE_PLAN.format:
        named: Sequence[str] = mechanism.columns
    elif (keys := getattr(getattr(mechanism, "workload", None), "keys", None)) is not None:
        named = keys.columns
    elif (domain := getattr(getattr(mechanism, "workload", None), "domain", None)) is not None:
        named = domain.attributes
    else:
        return None
    return [*named, *([options.entity] if options.entity is not None and options.entity not in named else [])]


def _rule_of(mechanism: FrozenMechanism) -> Unlisted:
    """What happens to values that are not listed, and to what is no number in a column of numbers."""
    unlisted: Unlisted = getattr(mechanism, "unlisted", REFUSE)
    return unlisted


def _how_numbers_were_read(options: argparse.Namespace, mechanism: FrozenMechanism) -> list[str]:
    """Of a CSV file with columns of numbers the marks that were taken, whatever the file holds: nothing says how many cells
    could not be read but the check, for the holder of the data. Nothing where one such cell is refused."""
    numbers, csv = getattr(mechanism, "numbers", ()), getattr(options.table, "suffix", "") == ".csv"
    if not csv or not numbers or _rule_of(mechanism) == REFUSE:
        return []
    grouped = f" and {options.thousands!r} between thousands" if options.thousands else ""
    return [
        f"Numbers of {printed(options.table)} were read with the decimal mark {options.decimal!r}{grouped}; a cell that is "
        "none is missing: it counts as 0 in sums, and not in averages and quantiles. dp-designer check, with the same options, "
        "says how many there are."
    ]


def _promised(options: argparse.Namespace, mechanism: FrozenMechanism, released: Released, private: str) -> list[str]:
    """The guarantee in two lines, and where its proof and the whole of it stand; or all of it."""
    if options.full:
        return [released.guarantee.to_text(), private]
    proof = f"recomputed from {printed(options.file)}, fingerprint {released.fingerprint}"
    where = f"in {printed(options.output)}, or with --full" if options.output else "with --full"
    row = getattr(released, "row", None) or RowUnit()
    return [
        private,
        *([words] if (words := entity_words(mechanism, row)) else []),
        f"Not protected: {released.guarantee.not_protected}",
        f"Certificate: {proof}; the whole guarantee: {where}.",
    ]


def _releasing(mechanism: FrozenMechanism, options: argparse.Namespace) -> tuple[Callable[[], object], Callable[[], Released]]:
    """A look at the names of columns of the file that the spec needs, records or counts, and the release from it; refused here
    where the options do not fit. No file of data is opened here, but a CSV file in which what is no number is refused."""
    from designer.relations.records.csv_rows import Marks

    if options.counted_by is not None:
        return releasing_averages(mechanism, options)
    marks = Marks(options.delimiter, options.decimal, options.thousands)
    if options.histogram:
        given = options.histogram, options.column, marks
        return lambda: require_readable_histogram(*given), lambda: naming_file(
            options.histogram, lambda: mechanism.release(Counts(read_histogram(*given)))
        )
    numbers, whole = getattr(mechanism, "numbers", ()), getattr(mechanism, "counted_keys", ())
    options_of_csv = {name: getattr(options, name) for name in ("delimiter", "decimal", "thousands")}
    opened = cache(partial(open_table, options.table, numbers, whole=whole, unlisted=_rule_of(mechanism), **options_of_csv))
    if numbers and _rule_of(mechanism) == REFUSE and options.table.suffix == ".csv":
        opened()  # a text that is no number is refused before anything is reserved, as in the other types of files

    def release() -> Released:
        released: Released = mechanism.release(opened(), entity=options.entity, rows_per_entity=options.rows_per_entity)
        return released

    return lambda: require_openable(options.table, numbers, whole=whole, delimiter=options.delimiter), release


def _require_data(options: argparse.Namespace, mechanism: FrozenMechanism) -> None:
    """Refuse options that do not say which data a spec releases from, and files that are not there; none is opened."""
    needed, from_counts = mechanism.takes[0], mechanism.takes[0] == "histogram"
    if not any(getattr(options, FLAGS[kind]) for kind in mechanism.takes):
        words, name, flag = (COUNTED, "records", "table") if from_counts else (RECORDED, "counts", "histogram")
        others = f"or from {name} (--{flag})" if len(mechanism.takes) > 1 else f"not from --{flag}"
        raise InvalidProblem(f"--{FLAGS[needed]}: is missing; this spec releases from {words}, {others}.")
    if options.table and options.histogram:
        raise InvalidProblem("--table, --histogram: both are given; a release is from records or from counts, not from both.")
    if options.histogram and (options.entity is not None or options.rows_per_entity is not None):
        raise InvalidProblem(
            "--entity, --rows-per-entity: bound the rows of an entity, and counts do not tell whose they are; give --table."
        )
    if options.histogram:
        require_histogram_file(options.histogram)
    elif is_office_file(options.table):
        require_file(options.table)
    else:
        require_table_file(options.table)


def _require_rows_of_records(path: Path, options: argparse.Namespace, mechanism: FrozenMechanism, reading: Reading) -> None:
    """Refuse counts in the place of records, by the names of columns, and a header alone where the number of records is
    public. path: the file as it was given; that of the options may be one that was made of it."""
    try:
        names = column_names(path, reading)
    except Refusal:
        raise
    except (OSError, ValueError):  # what is damaged is refused in fixed words where it is opened
        return
    needed = _columns_of(mechanism, options) or []
    counts = [name for name in names if name.casefold() in COUNT_COLUMNS and name not in needed]
    if counts and options.entity is None:
        takes = "histogram" in mechanism.takes and options.counted_by is None
        column = printed(counts[0])
        instead = f"give --histogram {printed(path)} --column {column}" if takes else "give the records"
        raise InvalidProblem(
            f"--table: {printed(path)} has a column {column!r}, which this spec does not ask about, so its rows may be counts "
            f"and no records; if they are, {instead}; if each row is one record, rename that column or leave it out."
        )
    if RECORDS_PUBLIC in mechanism.guarantee.unprotected and not has_records(options.table, options.delimiter):
        raise InvalidProblem(
            f"--table: {printed(path)} has names of columns and no record, and the number of records is public; give the "
            "records. Nothing was released."
        )


def _sample(options: argparse.Namespace) -> tuple[str, Any]:
    check_output(options, [options.file])
    mechanism = loaded(options)
    if (names := facts.named_answers(mechanism)) is None:
        raise InvalidProblem(
            f"FILE: {printed(options.file)} has no answers whose noise is independent of the data; use release."
        )
    drawn, expected = mechanism.simulate(options.size, options.seed), [s for _, s in facts.deviations_in_units(mechanism)]
    draws = np.asarray(drawn)
    if options.output:
        content = io.BytesIO()
        np.save(content, draws)
        write_whole(options.output, content.getvalue(), replace=options.force)
    seen = draws.std(axis=0)
    lines = [
        f"{printed(name)}: standard deviation {e:.6g} expected, {s:.6g} in the draws"
        for name, e, s in zip(names, expected, seen, strict=True)
    ]
    data = {"stamp": drawn.stamp, "expected": expected, "drawn": seen, "queries": list(names)}
    return "\n".join([drawn.stamp, *lines]), data

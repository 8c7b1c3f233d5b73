"""Releases as folders of tables: the options by which `release -o FOLDER/` writes them, and `tables`, which prints the answers
of a saved release with their intervals, or makes such a folder of it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from designer.base.answer_table import LEVEL, interval_data
from designer.base.answers_for_people import answer_lines
from designer.base.checks import probability
from designer.base.errors import CannotWrite, InvalidProblem, Refusal
from designer.base.folders import checked_folder, names_folder
from designer.base.json_text import readable_text, signature_path
from designer.base.output import write_whole
from designer.base.printing import printed
from designer.base.published import PublishedSums
from designer.certified.frozen import Released, Specified
from designer.cli.options import loaded, release_and_signer
from designer.files.data_files import read_table
from designer.files.releases import read_release
from designer.files.signatures import SigningKey, sign_file
from designer.files.table_files import TableOptions, write_tables

TRIES = 100  # names for a release whose tables were not written
OPTIONS = {"kind": "--format", "level": "--level", "consistent": "--consistent", "published": "--published"}


def add_tables(made: argparse.ArgumentParser) -> None:
    """tables."""
    made.add_argument("release", type=Path, help="a release of this spec (JSON)")
    made.add_argument("-o", "--output", action=_Output, help="the folder to write; without it, the answers are printed")
    made.add_argument("--force", action="store_true", help="replace a folder that this program wrote")
    together = "print intervals that hold all answers without noise at once; tables that are written have both kinds"
    made.add_argument("--together", action="store_true", help=together)
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
    made.add_argument("--format", dest="kind", choices=["csv", "parquet"], help="of the tables (default csv)")
    made.add_argument("--level", type=float, help=f"of the intervals (default {LEVEL})")
    made.add_argument(
        "--consistent",
        choices=["integer", "nonnegative"],
        help="a column beside the answers: numbers that agree with one another and with the published margins",
    )
    made.add_argument(
        "--published",
        type=Path,
        metavar="FILE",
        help="margins that the release does not hold: categories and value (CSV, Parquet)",
    )


class _Output(argparse.Action):
    """A path, and whether a folder is meant."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: str | None = None) -> None:
        namespace.output, namespace.folder = Path(values), names_folder(values)


def asked_tables(options: argparse.Namespace, mechanism: Specified, inputs: Sequence[Path]) -> TableOptions | None:
    """How tables are to be written, checked before any data are touched; None where none are asked for."""
    if not options.folder:
        _require_folder(options, list(OPTIONS))
        return None
    checked_folder(options.output, inputs=[*inputs, *_published_file(options)], replace=options.force)
    published = PublishedSums.of(read_table(options.published)) if options.published else None
    made = TableOptions(options.kind or "csv", LEVEL if options.level is None else options.level, options.consistent, published)
    made.require(mechanism)
    return made


def _require_folder(options: argparse.Namespace, names: Sequence[str]) -> None:
    """Refuse options of tables where none are written."""
    if given := [OPTIONS[name] for name in names if getattr(options, name) is not None]:
        raise InvalidProblem(f"{given[0]}: says how tables are written; give a folder for them, -o NAME/.")


def save_tables(
    options: argparse.Namespace,
    mechanism: Specified,
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
    return [*_written_lines(options, released), *signed]


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


def _written_lines(options: argparse.Namespace, released: Released) -> list[str]:
    tables = released.answer_tables()
    answers = sum(len(table.answers) for table in tables)
    counted = f"{len(tables)} table{'' if len(tables) == 1 else 's'}, {answers:,} answer{'' if answers == 1 else 's'}"
    return [f"Written to {printed(options.output)}/: {counted}, the release, and what every column is (README.md)."]


def _published_file(options: argparse.Namespace) -> list[Path]:
    return [options.published] if options.published else []


def _tables(options: argparse.Namespace) -> tuple[str, Any]:
    return _written(options) if options.output else _printed(options)


def _printed(options: argparse.Namespace) -> tuple[str, Any]:
    """The answers with their intervals, for people and for machines."""
    _require_folder(options, [name for name in OPTIONS if name != "level"])
    level = LEVEL if options.level is None else probability(options.level, "--level")
    mechanism = loaded(options)
    document, _ = release_and_signer(options)
    released = read_release(mechanism, document, allow_vacuous=options.allow_vacuous)
    tables = released.answer_tables()
    if options.json:
        return "", {"fingerprint": released.fingerprint, "intervals": interval_data(tables, level)}
    return "\n".join(answer_lines(tables, mechanism.about.unit, level=level, simultaneous=options.together)), None


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
    return "\n".join(_written_lines(options, released)), {"path": str(options.output)}

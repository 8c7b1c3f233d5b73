"""What is wrong with confidential records, for those who hold them: check."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from designer.base.errors import InvalidProblem
from designer.cli.options import TOML
from designer.files.office_files import marks_of
from designer.problem.reading import Reading
from designer.relations.records.row_unit import entity_of

FOUND = 9  # the exit code where something was found


def add_check(made: argparse.ArgumentParser) -> None:
    """check."""
    made.add_argument("problem", type=Path, help=TOML)
    made.add_argument("--column", help="the file holds counts, in this column, and a row is no record")
    made.add_argument("--entity", help="the column that tells whose the records are: how many have more rows than count?")
    made.add_argument("--rows-per-entity", type=int, help="how many rows of each entity count (default 1)")
    add_marks(made)
    made.set_defaults(
        run=_check, confidential=True, exit_code=lambda data: FOUND if data["findings"] or data["warnings"] else 0
    )


def add_delimiter(made: argparse.ArgumentParser) -> None:
    """What separates the fields of a CSV file; a tab also as the two characters that a shell leaves of '\\t'."""
    made.add_argument(
        "--delimiter",
        type=lambda given: "\t" if given == "\\t" else given,
        help="what separates the fields of a CSV file (default: what [records] says, or ,; a tab is '\\t')",
    )


def add_marks(made: argparse.ArgumentParser) -> None:
    """How a CSV file of records is written."""
    add_delimiter(made)
    made.add_argument("--decimal", help="the decimal mark in its numbers (default: what [records] says, or .)")
    made.add_argument("--thousands", help="its mark between groups of three digits (default: what [records] says, or none)")


def stated_reading(options: argparse.Namespace, stated: Reading) -> Reading:
    """How records are read: as the command says, and the problem file where it says nothing. The options are set to it."""
    options.entity, options.rows_per_entity = entity_of(options.entity, options.rows_per_entity, stated)
    given = {name: getattr(options, name) for name in ("delimiter", "decimal", "thousands")}
    reading = replace(stated, **{name: value for name, value in given.items() if value is not None})
    marks = marks_of(reading)
    options.delimiter, options.decimal, options.thousands = marks.delimiter, marks.decimal, marks.thousands
    return reading


def _check(options: argparse.Namespace) -> tuple[str, Any]:
    from designer.problem_file.checking import check_counts, check_records
    from designer.problem_file.kinds import read_request

    request = read_request(options.problem)
    if options.column is None:
        stated_reading(options, request.about.records)
    given = {name: getattr(options, name) for name in ("delimiter", "decimal", "thousands")}
    marks = {name: value for name, value in given.items() if value is not None}
    if options.column is not None:
        if options.entity is not None or options.rows_per_entity is not None:
            raise InvalidProblem("--column: names counts, which do not tell whose they are; leave --entity out, or --column.")
        counts = check_counts(request, options.file, options.column, **marks)
        return counts.to_text(), counts.to_dict()
    found = check_records(request, options.file, entity=options.entity, rows_per_entity=options.rows_per_entity, **marks)
    return found.to_text(), found.to_dict()

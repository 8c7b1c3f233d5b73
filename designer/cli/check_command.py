"""What is wrong with confidential records, for those who hold them: check."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from designer.base.errors import InvalidProblem
from designer.cli.options import TOML

FOUND = 9  # the exit code where something was found


def add_check(made: argparse.ArgumentParser) -> None:
    """check."""
    made.add_argument("problem", type=Path, help=TOML)
    made.add_argument("--column", help="the file holds counts, in this column, and a row is no record")
    made.add_argument("--entity", help="the column that tells whose the records are: how many have more rows than count?")
    made.add_argument("--rows-per-entity", type=int, help="how many rows of each entity count (default 1)")
    add_marks(made)
    made.set_defaults(run=_check, confidential=True, exit_code=lambda data: FOUND if data["findings"] else 0)


def add_delimiter(made: argparse.ArgumentParser) -> None:
    """What separates the fields of a CSV file; a tab also as the two characters that a shell leaves of '\\t'."""
    made.add_argument(
        "--delimiter",
        default=",",
        type=lambda given: "\t" if given == "\\t" else given,
        help="what separates the fields of a CSV file (default ,; a tab is '\\t')",
    )


def add_marks(made: argparse.ArgumentParser) -> None:
    """How a CSV file of records is written."""
    add_delimiter(made)
    made.add_argument("--decimal", default=".", help="the decimal mark in its numbers (default .)")
    made.add_argument("--thousands", default="", help="the mark between groups of three digits there (default none)")


def _check(options: argparse.Namespace) -> tuple[str, Any]:
    from designer.problem_file.checking import check_counts, check_records

    marks = {name: getattr(options, name) for name in ("delimiter", "decimal", "thousands")}
    if options.column is not None:
        if options.entity is not None or options.rows_per_entity is not None:
            raise InvalidProblem("--column: names counts, which do not tell whose they are; leave --entity out, or --column.")
        counts = check_counts(options.problem, options.file, options.column, **marks)
        return counts.to_text(), counts.to_dict()
    found = check_records(
        options.problem, options.file, entity=options.entity, rows_per_entity=options.rows_per_entity, **marks
    )
    return found.to_text(), found.to_dict()

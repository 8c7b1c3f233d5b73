"""A starting problem file from the names of the columns of a file of records: init."""

from __future__ import annotations

import argparse
from typing import Any

from designer.base.output import write_whole
from designer.base.printing import printed
from designer.cli.options import add_output, check_output
from designer.files.headers import columns_of_file
from designer.files.problem.kind import DEFAULT
from designer.files.problem.starting import STARTS, starting_file


def add_init(made: argparse.ArgumentParser) -> None:
    """init."""
    made.set_defaults(run=_init)
    made.add_argument("--kind", default=DEFAULT, help=f"of problem file: {', '.join(STARTS)}")
    made.add_argument("--column", action="append", default=[], help="ask about this column; may be given several times")
    made.add_argument("--number", action="append", default=[], help="this column holds numbers; may be given several times")
    made.add_argument("--delimiter", default=",", help="what separates the fields of a CSV file (default ,)")
    add_output(made, "-o", "where to save the problem file (TOML); without it, it is printed")


def _init(options: argparse.Namespace) -> tuple[str, Any]:
    check_output(options, [options.file])
    columns = columns_of_file(options.file, options.delimiter)
    text = starting_file(columns, options.file.stem, options.kind, options.number, options.column)
    data = {"kind": options.kind, "columns": [column.name for column in columns], "toml": text}
    if not options.output:
        return text.rstrip("\n"), data
    write_whole(options.output, text, replace=options.force)
    taken = ", ".join(printed(name) for name in dict.fromkeys(options.column or [column.name for column in columns]))
    told = f"Written to {printed(options.output)}, from the names of the columns: {taken}."
    return f"{told}\nFill in what is marked; dp-designer design {printed(options.output)} names what is left.", data

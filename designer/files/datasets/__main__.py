"""`python -m designer.files.datasets`: the public data that are shipped, listed, explained, or written to a file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from designer.base.checks import meant, shown
from designer.base.errors import InvalidProblem, Refusal
from designer.files import datasets
from designer.files.datasets.public_data import PublicData

NAMES = tuple(name for name in datasets.__all__ if name != "PublicData")
PROGRAM = "python -m designer.files.datasets"


def main(arguments: Sequence[str] | None = None) -> int:
    """List all tables, print what is known of one, or write its file; returns the exit code, 2 for what is refused."""
    options = _parser().parse_args(arguments)
    try:
        print(_answer(options))
    except Refusal as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return 2
    return 0


def _answer(options: argparse.Namespace) -> str:
    if options.name is None:
        if options.output is not None:
            raise InvalidProblem(f"name: is missing; say which table {options.output} is to hold, one of {[*NAMES]}.")
        return "\n\n".join(map(_entry, map(_named, NAMES)))
    data = _named(options.name)
    if options.output is None:
        return f"{data.name}: {', '.join(data.columns)}\n\n{data.provenance}"
    data.save(options.output, replace=options.force)
    return f"{options.output}: {data.shape[0]:,} rows of {', '.join(data.columns)}.\nLicence: {data.licence}"


def _entry(data: PublicData) -> str:
    return f"{data.name}\n  {data.about}\n  Source: {data.source}\n  Licence: {data.licence}"


def _named(name: str) -> PublicData:
    if name not in NAMES:
        raise InvalidProblem(f"name: {shown(name)} is no table; {meant(name, NAMES)}use one of {[*NAMES]}.", value=name)
    found: PublicData = getattr(datasets, name)()
    return found


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog=PROGRAM, description="Public data that are shipped, with their sources and licences.")
    made.add_argument("name", nargs="?", help="one of them: what is known of it; without, a list of all")
    made.add_argument("-o", "--output", type=Path, metavar="FILE", help="write it as a CSV file")
    made.add_argument("--force", action="store_true", help="replace a file of that name")
    return made


if __name__ == "__main__":
    sys.exit(main())

"""The JSON Schemas of all files, for editors and for programs in other languages: schema."""

from __future__ import annotations

import argparse
import json
from typing import Any

from designer.base.output import write_whole
from designer.base.printing import printed
from designer.cli.options import add_output, check_output
from designer.exchange.noise_law import noise_schema
from designer.files.problem.schema import problem_schema
from designer.files.schema import release_file_schema, signature_schema, spec_schema

SCHEMAS = {
    "problem": problem_schema,
    "spec": spec_schema,
    "release": release_file_schema,
    "signature": signature_schema,
    "noise": noise_schema,
}


def add_schema(made: argparse.ArgumentParser) -> None:
    """schema."""
    made.set_defaults(run=_schema)
    made.add_argument("name", choices=list(SCHEMAS), help=f"of which files: {', '.join(SCHEMAS)}")
    add_output(made, "-o", "where to save it (JSON); without it, it is printed")


def schema_text(name: str) -> str:
    """A schema as a file holds it."""
    return json.dumps(SCHEMAS[name](), indent=1, ensure_ascii=False) + "\n"


def _schema(options: argparse.Namespace) -> tuple[str, Any]:
    check_output(options, [])
    text = schema_text(options.name)
    if not options.output:
        return text.rstrip("\n"), json.loads(text)
    write_whole(options.output, text, replace=options.force)
    return f"Written to {printed(options.output)}.", json.loads(text)

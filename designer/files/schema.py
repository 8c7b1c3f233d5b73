"""The JSON Schema of specs, put together from what each class says about itself; `python -m designer.files.schema` prints it.

Every format, relation, norm, score and query states its keys beside its `to_spec`, where the loader reads them too: this module only
collects. The copy for readers and editors is docs/spec.schema.json.
"""

from __future__ import annotations

import json
from typing import Any

from designer.certified.specified import FORMAT_VERSION
from designer.files.spec import FORMATS, FRAME, class_of
from designer.values.schema import Schema, bundle, exactly

DRAFT = "https://json-schema.org/draft/2020-12/schema"
NOTE = (
    "One frozen mechanism with its guarantee and certificate; `format` decides the shape of `mechanism`, `certificate` and the parameters of the "
    'guarantee. Infinity is the string "inf". The schema fixes the form; loading recomputes the guarantee.'
)


def spec_schema() -> dict[str, Any]:
    """The schema of spec files of every format."""
    head = {
        "$schema": DRAFT,
        "$id": "https://dp-designer.example/spec.schema.json",
        "title": f"dp-designer spec, version {FORMAT_VERSION}",
        "description": NOTE,
    }
    return bundle({**head, **FRAME, "allOf": [_rules(format) for format in FORMATS]})


def _rules(format: str) -> Schema:
    """What a spec of this format holds in the places that depend on the format."""
    kind = class_of(format)
    parts = {
        "mechanism": kind.schema,
        "certificate": kind.certificate_schema,
        "guarantee": {"properties": {"parameters": kind.parameters_schema}},
    }
    return {"if": {"properties": {"format": exactly(format)}}, "then": {"properties": parts, **kind.spec_rules}}


def written(schema: Schema) -> str:
    """A schema as its file holds it."""
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(written(spec_schema()), end="")

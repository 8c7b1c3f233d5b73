"""The JSON Schemas of specs, releases and signatures, put together from what each class says about itself.

Every format, relation, norm, score and query states its keys beside its `to_spec`, where the loader reads them too. This module
only collects. `dp-designer schema spec` prints one.
"""

from __future__ import annotations

from typing import Any

from designer.base.lazy_imports import is_there
from designer.base.schema import Schema, bundle, exactly
from designer.certificate.frozen import FORMAT_VERSION, FrozenMechanism
from designer.files.kinds import KINDS, LISTED
from designer.files.releases import RELEASE_VERSION, release_schema
from designer.files.signatures import SIGNATURE, SIGNATURE_VERSION
from designer.files.spec import FRAME

DRAFT = "https://json-schema.org/draft/2020-12/schema"
NOTE = (
    "One frozen mechanism with its guarantee and certificate; `format` decides the shape of `mechanism`, "
    "`certificate` and the parameters of the "
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
    return bundle({**head, **FRAME, "allOf": [_rules(kind.format) for kind in LISTED if is_there(kind.mechanism)]})


def _rules(format: str) -> Schema:
    """What a spec of this format holds in the places that depend on the format."""
    kind: type[FrozenMechanism] = KINDS[format].part("mechanism")
    parts = {
        "mechanism": kind.spec_form.core,
        "certificate": kind.spec_form.certificate,
        "guarantee": {"properties": {"parameters": kind.spec_form.parameters}},
    }
    return {"if": {"properties": {"format": exactly(format)}}, "then": {"properties": parts, **kind.spec_form.rules}}


def release_file_schema() -> dict[str, Any]:
    """The schema of release files of every kind."""
    head = {
        "$schema": DRAFT,
        "$id": "https://dp-designer.example/release.schema.json",
        "title": f"dp-designer release, version {RELEASE_VERSION}",
        "description": (
            "One release with its guarantee and its seal; `spec.format` decides what it holds besides. Whole numbers are what "
            "was released, all else follows from them and from the spec: `dp-designer verify SPEC RELEASE` recomputes it."
        ),
    }
    return bundle({**head, "oneOf": [release_schema(kind.format) for kind in LISTED if is_there(kind.mechanism)]})


def signature_schema() -> dict[str, Any]:
    """The schema of signature files."""
    head = {
        "$schema": DRAFT,
        "$id": "https://dp-designer.example/signature.schema.json",
        "title": f"dp-designer signature, version {SIGNATURE_VERSION}",
        "description": "An Ed25519 signature of one spec or release, in a file of its own beside it.",
    }
    return bundle({**head, **SIGNATURE})

"""The JSON Schema of problem files of every kind, put together from the form of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from designer.base.schema import Fragment, Named, Schema, bundle, either, exactly, noted, one_of
from designer.files.schema import DRAFT
from designer.problem_file.forms import DEFAULT, HEADING, ProblemFile
from designer.problem_file.kinds import KINDS


def problem_schema() -> dict[str, Any]:
    """The schema of problem files, in TOML, for editors that complete and check them.

    What a kind of file may hold is under the condition on `kind`; what stands among the properties of the whole, a section of
    any kind, is there for completion.
    """
    head = {
        "$schema": DRAFT,
        "$id": "https://dp-designer.example/problem.schema.json",
        "title": "dp-designer problem file",
        "description": (
            "Paths are relative to the file. The schema fixes the form; the reader checks what the tables hold, too."
        ),
    }
    kinds = noted(f"What is asked for; {DEFAULT} where nothing is said.", one_of(*KINDS))
    sections: dict[str, dict[str, Fragment]] = {}
    for kind in KINDS.values():
        for name, form in _sections(kind):
            sections.setdefault(name, {})[form.name] = form
    completed = {name: either(*forms.values()) for name, forms in sections.items()}
    rules = [_rule(kind) for kind in KINDS.values()]
    return bundle({**head, "type": "object", "properties": {"kind": kinds, **HEADING, **completed}, "allOf": rules})


def _sections(kind: type[ProblemFile]) -> Iterator[tuple[str, Named]]:
    """The sections that this kind of file may have, each a definition of its own."""
    for name, form in kind.form()["properties"].items():
        yield name, form if isinstance(form, Named) else Named(f"{kind.kind}_{name}", form)


def _rule(kind: type[ProblemFile]) -> Schema:
    """The form of a file of this kind; that of the default holds where no kind is named, too."""
    whole = kind.whole()
    properties = {**whole["properties"], **dict(_sections(kind))}
    named: dict[str, Any] = {"properties": {"kind": exactly(kind.kind)}}
    if kind.kind != DEFAULT:
        named["required"] = ["kind"]
    return {"if": named, "then": {**whole, "properties": properties}}

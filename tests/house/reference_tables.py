"""The tables of the reference that are made of the program itself: options of commands, keys of problem files, keys of formats.

    python -m tests.house.reference_tables

writes them anew, each between its marks `<!-- KIND NAME -->` and `<!-- end -->` on the pages of docs/reference; what stands
outside the marks is written by hand. A test holds that nothing is stale.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from designer.base.schema import Fragment, Named, Schema
from designer.cli import parser
from designer.files.problem.forms import wording
from designer.files.problem.kinds import KINDS

DOCS = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").is_file()) / "docs"
PAGES = sorted((DOCS / "reference").glob("*.md"))
MARKED = re.compile(r"(<!-- (options|keys|forms|schema) ([\w-]+(?: \w+)?) -->\n).*?(<!-- end -->)", re.DOTALL)
EVERYWHERE = ("--help", "--json", "--quiet", "--progress")
WORDS = {"array": "list", "object": "table {..}", "number": "number", "integer": "whole number", "string": "text"}
Lines = Iterator[str]


def escaped(text: str) -> str:
    """A text as a cell of a table in Markdown: nothing is taken for a mark, and code stays as it is but for bars."""
    parts = re.split(r"(`[^`]*`)", " ".join(text.split()))
    told = [
        part if k % 2 else part.replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_") for k, part in enumerate(parts)
    ]
    return "".join(told).replace("|", "\\|")


def table(*heads: str) -> Lines:
    """The head of a table."""
    yield "| " + " | ".join(heads) + " |"
    yield "|" + " --- |" * len(heads)


def commands(made: argparse.ArgumentParser, name: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command that does something, by its words, in order."""
    groups = [action for action in made._actions if isinstance(action, argparse._SubParsersAction)]
    if not groups:
        yield name, made
    for group in groups:
        for word, inner in group.choices.items():
            yield from commands(inner, f"{name} {word}".strip())


def options_of(command: str) -> Lines:
    """The arguments and options of a command, but for those that all have."""
    yield from table("option", "what it says")
    for action in dict(commands(parser()))[command]._actions:
        if not set(action.option_strings) & set(EVERYWHERE):
            yield f"| {', '.join(f'`{words}`' for words in written(action))} | {escaped(said(action))} |"


def written(action: argparse.Action) -> Iterator[str]:
    """An argument as it is written, with what follows an option."""
    value = action.metavar or ("{" + ",".join(map(str, action.choices)) + "}" if action.choices else action.dest.upper())
    if not action.option_strings:
        yield f"[{value}]" if action.nargs == "?" else str(value).upper() if not action.choices else str(value)
    for flag in action.option_strings:
        yield flag if action.nargs == 0 else f"{flag} {value}"


def said(action: argparse.Action) -> str:
    """The help of an argument, and that it is needed."""
    text = (action.help or "").replace("%%", "%") % {"default": action.default}
    return text + (" (needed)" if action.option_strings and action.required else "")


def body(form: Fragment) -> Schema:
    """A fragment without its name."""
    return form.body if isinstance(form, Named) else form


def keys_of(kind: str) -> Lines:
    """The sections of a kind of problem files, each with its keys."""
    form = KINDS[kind].form()
    for name, section in form["properties"].items():
        needed = "" if name in form["required"] else " (optional)"
        yield ""
        yield f"### `[{name}]`{needed} of {kind}"
        yield ""
        yield from fragment(name, section)


def fragment(place: str, form: Fragment) -> Lines:
    """What may stand at a place: a table of keys for each form it may have."""
    whole = body(form)
    if note := whole.get("description"):
        yield from (escaped(note), "")
    records, others = alternatives(form)
    if others:
        yield from (f"{'Otherwise' if records else 'Here stands'} {escaped(or_list(others))}.", "")
    for number, found in enumerate(records, 1):
        if len(records) > 1:
            yield from (
                f"Form {number} of {len(records)}" + (f", {distinct}" if (distinct := told_by(found)) else "") + ":",
                "",
            )
        yield from record_table(found)
        yield ""
        yield from inner(place, found)


def alternatives(form: Fragment) -> tuple[list[Schema], list[str]]:
    """The records that a fragment may be, and in words what else; named forms, which have a table of their own, in words."""
    whole = body(form)
    if whole.get("properties"):
        return [whole], []
    if "anyOf" not in whole or "type" in whole:
        return [], [fits(whole)]
    records: list[Schema] = []
    others: list[str] = []
    for each in whole["anyOf"]:
        more, other = ([], [link(each)]) if isinstance(each, Named) and "properties" in each.body else alternatives(each)
        records, others = records + more, others + other
    return records, others


def told_by(form: Schema) -> str:
    """What tells a record from its neighbours: the keys that have one value only."""
    fixed = [f"`{key} = {json.dumps(value['const'])}`" for key, value in form["properties"].items() if "const" in body(value)]
    return " and ".join(fixed)


def record_table(form: Schema) -> Lines:
    """A row for each key."""
    yield from table("key", "what stands there", "what it means")
    for key, value in form["properties"].items():
        needed = "" if key in form.get("required", ()) else " (optional)"
        yield f"| `{key}`{needed} | {escaped(fits(value))} | {escaped(body(value).get('description', ''))} |"


def inner(place: str, form: Schema) -> Lines:
    """The tables of keys that are sections themselves, and of the named values below them."""
    for key, value in form["properties"].items():
        below = [record for record in alternatives(value)[0] if not isinstance(value, Named)]
        rest = body(value).get("additionalProperties")
        if isinstance(rest, (Named, dict)) and not isinstance(rest, Named):
            below += alternatives(rest)[0]
        for found in below:
            yield from (f"Within `{place}.{key}`:", "")
            yield from (*record_table(found), "")


def fits(form: Fragment) -> str:
    """What fits, in words; forms that have a table of their own as a link."""
    if isinstance(form, Named) and has_table(form):
        return link(form)
    whole = body(form)
    if "$ref" in whole:
        return f"[{whole['$ref'].rpartition('/')[2]}](#forms)"
    rest = whole.get("additionalProperties")
    if whole.get("type") == "object" and isinstance(rest, (dict, Named)):
        return f"a table {{..}} of {fits(rest)} by name"
    return wording(form)


def has_table(form: Named) -> bool:
    """Is it a record, or one of several?"""
    return "properties" in form.body or any(isinstance(each, Named) for each in form.body.get("anyOf", ()))


def link(form: Named) -> str:
    """Where the form stands."""
    return f"[{form.name}](#forms)"


def or_list(words: list[str]) -> str:
    """Phrases with an "or"."""
    return ", or ".join(dict.fromkeys(words))


def named_forms(kinds: Mapping[str, Any]) -> dict[str, Named]:
    """The forms that have a name and a table, by name, in the order in which they are met."""
    found: dict[str, Named] = {}

    def visit(form: Any) -> None:
        if isinstance(form, Named):
            if form.name in found:
                return
            found[form.name] = form
        whole = body(form)
        below = [*whole.get("properties", {}).values(), *whole.get("anyOf", ())]
        for each in (*below, whole.get("items"), whole.get("additionalProperties")):
            if isinstance(each, (Named, Mapping)):
                visit(each)

    for kind in kinds.values():
        visit(kind.whole())
    return {name: form for name, form in found.items() if has_table(form)}


def forms_of(_: str) -> Lines:
    """Forms that several sections share."""
    for name, form in sorted(named_forms(KINDS).items()):
        yield ""
        yield f"### {name}"
        yield ""
        yield from fragment(name, form)


def schema_of(name: str) -> Lines:
    """The keys of a published format: of the whole, and of each of its definitions."""
    schema = json.loads((DOCS / f"{name}.schema.json").read_text(encoding="utf-8"))
    yield from (escaped(schema["description"]), "")
    if "properties" in schema:
        yield from (*schema_table(schema), "")
    for place, form in [*enumerated(schema), *schema["$defs"].items()]:
        if "properties" in form:
            yield from (f"`{place}`: {escaped(form.get('description', ''))}".rstrip(": "), "")
            yield from (*schema_table(form), "")


def enumerated(schema: Schema) -> Iterator[tuple[str, Schema]]:
    """The forms that the whole may have, by the format of the spec that each is of."""
    for form in schema.get("oneOf", ()):
        yield str(form.get("title", form["properties"]["spec"]["properties"]["format"]["const"])), form


def schema_table(form: Schema) -> Lines:
    """A row for each key of a published record."""
    yield from table("key", "what stands there", "what it means")
    for key, value in form["properties"].items():
        needed = "" if key in form.get("required", ()) else " (optional)"
        yield f"| `{key}`{needed} | {escaped(holds(value))} | {escaped(value.get('description', ''))} |"


def holds(form: Schema) -> str:
    """What stands at a key of a published schema, in words."""
    if "$ref" in form:
        return f"`{form['$ref'].rpartition('/')[2]}`"
    if "const" in form:
        return f"`{json.dumps(form['const'])}`"
    if "enum" in form:
        return "one of " + ", ".join(f"`{json.dumps(value)}`" for value in form["enum"])
    for word in ("anyOf", "oneOf"):
        if word in form:
            return or_list([holds(each) for each in form[word]])
    kinds = form.get("type", "value")
    inside = f" of {holds(form['items'])}" if isinstance(form.get("items"), dict) else ""
    return (
        "null"
        if kinds == "null"
        else " or ".join(WORDS.get(kind, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)) + inside
    )


MAKERS: Mapping[str, Callable[[str], Lines]] = {"options": options_of, "keys": keys_of, "forms": forms_of, "schema": schema_of}


def filled(page: str) -> str:
    """A page with its tables as they are now."""
    return MARKED.sub(
        lambda found: f"{found[1]}\n" + "\n".join(MAKERS[found[2]](found[3])).strip("\n") + f"\n\n{found[4]}", page
    )


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")

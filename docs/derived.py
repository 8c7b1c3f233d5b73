"""Tables of the site that follow from the program: commands and their options, keys of problem files and of formats, the seven
questions, families and what was measured of them, sizes, attacks, mutants, the lines that run and items of papers.

A page says `<!-- KIND NAME -->`, and the table takes its place while the site is built; no file holds it. What stands around
the mark is written by hand.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from designer.base.schema import Fragment, Named, Schema
from designer.cli import parser
from designer.cli.export_commands import SCHEMAS
from designer.cli.spec_commands import SECOND
from designer.designing import FAMILIES
from designer.problem_file.kinds import KINDS

from questions import questions

EVERYWHERE = ("--help", "--json", "--quiet", "--progress")
Lines = Iterator[str]


def escaped(text: str) -> str:
    """A text as a cell of a table in Markdown: nothing is taken for a mark, and code stays as it is but for bars."""
    parts = re.split(r"(`[^`]*`)", " ".join(text.split()))
    told = [
        part
        if k % 2
        else part.replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")
        for k, part in enumerate(parts)
    ]
    return "".join(told).replace("|", "\\|")


def table(*heads: str) -> Lines:
    """The head of a table."""
    yield "| " + " | ".join(heads) + " |"
    yield "|" + " --- |" * len(heads)


def commands(
    made: argparse.ArgumentParser, name: str = ""
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command that does something, by its words, in order."""
    groups = [
        action
        for action in made._actions
        if isinstance(action, argparse._SubParsersAction)
    ]
    if not groups:
        yield name, made
    for group in groups:
        for word, inner in group.choices.items():
            yield from commands(inner, f"{name} {word}".strip())


def all_commands(_: str) -> Lines:
    """A row for each command, with its sentence."""
    yield from table("command", "what it does")
    for name, made in commands(parser()):
        yield f"| `dp-designer {name}` | {escaped(made.description or '')} |"


def options_of(command: str) -> Lines:
    """The arguments and options of a command, but for those that all have."""
    yield from table("option", "what it says")
    for action in dict(commands(parser()))[command]._actions:
        if not set(action.option_strings) & set(EVERYWHERE):
            yield f"| {', '.join(f'`{words}`' for words in written(action))} | {escaped(said(action))} |"


def written(action: argparse.Action) -> Iterator[str]:
    """An argument as it is written, with what follows an option."""
    value = action.metavar or (
        "{" + ",".join(map(str, action.choices)) + "}"
        if action.choices
        else action.dest.upper()
    )
    if not action.option_strings:
        yield (
            f"[{value}]"
            if action.nargs == "?"
            else str(value).upper()
            if not action.choices
            else str(value)
        )
    for flag in action.option_strings:
        yield flag if action.nargs == 0 else f"{flag} {value}"


def said(action: argparse.Action) -> str:
    """The help of an argument, and that it is needed."""
    text = (action.help or "").replace("%%", "%") % {"default": action.default}
    return text + (" (needed)" if action.option_strings and action.required else "")


def body(form: Fragment) -> Schema:
    """A fragment without its name."""
    return form.body if isinstance(form, Named) else form


def folded(summary: str, anchor: str, inside: Lines) -> Lines:
    """What opens with a click, and by a link to its anchor; a browser without scripts can do both."""
    yield from (
        "",
        '<details class="keys">',
        f"<summary>{summary}</summary>",
        f'<div id="{anchor}">',
        "",
    )
    yield from inside
    yield from ("", "</div>", "</details>", "")


def code(text: str) -> str:
    """A name in HTML."""
    return f"<code>{text.replace('<', '&lt;')}</code>"


def html(text: str) -> str:
    """A sentence in HTML, its code between backticks."""
    return re.sub(
        r"`([^`]*)`", r"<code>\1</code>", " ".join(text.split()).replace("<", "&lt;")
    )


def keys_of(kind: str) -> Lines:
    """The sections of a kind of problem files, each with its keys; those that an earlier kind has are named."""
    form = KINDS[kind].form()
    earlier = [
        (name, KINDS[name].form()["properties"])
        for name in list(KINDS)[: list(KINDS).index(kind)]
    ]
    for name, section in form["properties"].items():
        needed = "required" if name in form["required"] else "optional"
        summary = f"{code(f'[{name}]')} {needed}. {html(body(section).get('description', ''))}".strip()
        same = next(
            (other for other, sections in earlier if sections.get(name) == section),
            None,
        )
        if same:
            yield from (
                "",
                f'<p class="same-keys">{summary} As <a href="#{place(same, name)}">in {same}</a>.</p>',
                "",
            )
        else:
            known = next(
                (
                    other
                    for other, sections in earlier
                    if most_of(sections.get(name), section)
                ),
                None,
            )
            skipped = alternatives(dict(earlier)[known][name])[0] if known else []
            yield from folded(
                summary,
                place(kind, name),
                fragment(name, section, skipped, known and place(known, name)),
            )


def place(kind: str, section: str) -> str:
    """The anchor of a section of a kind."""
    return f"{kind}-{section}".replace("_", "-")


def most_of(earlier: Fragment | None, later: Fragment) -> bool:
    """Has a section all forms that an earlier kind has there, several of them?"""
    before, now = (alternatives(form)[0] if form else [] for form in (earlier, later))
    return len(before) > 1 and all(form in now for form in before)


def fragment(
    place: str,
    form: Fragment,
    skipped: list[Schema] | None = None,
    where: str | None = None,
) -> Lines:
    """What may stand at a place: a table of keys for each form it may have, but for those that another place has."""
    records, others = alternatives(form)
    records = [found for found in records if found not in (skipped or [])]
    if where:
        yield from (
            f'The <a href="#{where}">{len(skipped or [])} forms of an earlier kind</a>, and:',
            "",
        )
    if others:
        yield from (f"{'Otherwise' if records else 'Type:'} {or_list(others)}.", "")
    shared = (
        [
            row
            for row in rows_of(records[0])
            if all(row in rows_of(found) for found in records)
        ]
        if records[1:]
        else []
    )
    if shared:
        yield from ("Every form:", "", *table(*HEADS), *shared, "")
    for found in records:
        if len(records) > 1:
            yield from (f"{told_by(found)}:", "")
        own = [row for row in rows_of(found) if row not in shared]
        yield from (*(table(*HEADS) if own else ()), *own, "")
        yield from inner(place, found)


def alternatives(form: Fragment) -> tuple[list[Schema], list[str]]:
    """The records that a fragment may be, and in words what else; named forms, which have a table of their own, in words."""
    whole = body(form)
    if whole.get("properties"):
        return [whole], []
    if "anyOf" not in whole or "type" in whole:
        return [], [typed(whole)]
    records: list[Schema] = []
    others: list[str] = []
    for each in whole["anyOf"]:
        more, other = (
            ([], [link(each.name)])
            if isinstance(each, Named) and "properties" in each.body
            else alternatives(each)
        )
        records, others = records + more, others + other
    return records, others


def told_by(form: Schema) -> str:
    """What tells a record from its neighbours: the keys that have one value only, or else those that it needs."""
    fixed = {
        key: f"`{key} = {json.dumps(body(value)['const'])}`"
        for key, value in form["properties"].items()
        if "const" in body(value)
    }
    needed = [fixed.get(key, f"`{key}`") for key in form.get("required", ())]
    return "With " + " and ".join(needed or fixed.values() or ["any of these keys"])


HEADS = ("key", "type", "default", "meaning")


def rows_of(form: Schema) -> list[str]:
    """A row for each key."""
    rules = [
        rule["oneOf"] for rule in (form, *form.get("allOf", ())) if "oneOf" in rule
    ]
    groups = [[key for each in rule for key in each["required"]] for rule in rules]
    found = []
    for key, value in form["properties"].items():
        whole = body(value)
        group = next((names for names in groups if key in names), None)
        default = (
            "required"
            if key in form.get("required", ())
            else f"one of {', '.join(f'`{name}`' for name in group)}"
            if group
            else shown_default(whole.get("default"))
        )
        found.append(
            f"| `{key}` | {typed(value)} | {default} | {escaped(whole.get('description', ''))} |"
        )
    return found


def shown_default(value: object) -> str:
    """A default as a file writes it; a key without one is simply left out."""
    return "optional" if value is None else f"`{json.dumps(value)}`"


def inner(place: str, form: Schema) -> Lines:
    """The tables of keys that are sections themselves, and of the named values below them."""
    for key, value in form["properties"].items():
        below = [
            record for record in alternatives(value)[0] if not isinstance(value, Named)
        ]
        rest = body(value).get("additionalProperties")
        if isinstance(rest, (Named, dict)) and not isinstance(rest, Named):
            below += alternatives(rest)[0]
        for found in below:
            yield from (
                f"Within `{place}.{key}`:",
                "",
                *table(*HEADS),
                *rows_of(found),
                "",
            )


def has_table(form: Named) -> bool:
    """Is it a record, or one of several?"""
    return "properties" in form.body or any(
        isinstance(each, Named) for each in form.body.get("anyOf", ())
    )


def link(name: str) -> str:
    """Where a form stands."""
    return f'<a href="#{place("form", name)}">{name}</a>'


def or_list(words: list[str]) -> str:
    """Phrases with an "or"."""
    *first, last = dict.fromkeys(words)
    return f"{', '.join(first)} or {last}" if first else last


def typed(form: Fragment, plural: bool = False) -> str:
    """The type of a value in TOML or JSON, with its limits; forms that have a table of their own as a link.

    >>> typed({"type": "array", "items": {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0}}})
    'array of arrays of numbers > 0'
    >>> typed({"anyOf": [{"type": "string"}, {"enum": ["min", 2]}]})
    'string or one of `"min"`, `2`'
    """
    if isinstance(form, Named) and has_table(form):
        return link(form.name)
    whole = body(form)
    if "$ref" in whole:
        name = whole["$ref"].rpartition("/")[2]
        return link(name) if name in named_forms() else f"`{name}`"
    if "const" in whole:
        return f"`{json.dumps(whole['const'])}`"
    if "enum" in whole:
        return "one of " + ", ".join(
            f"`{json.dumps(value)}`" for value in whole["enum"]
        )
    for word in ("anyOf", "oneOf"):
        if word in whole and "type" not in whole:
            return or_list([typed(each, plural) for each in whole[word]])
    kinds = whole.get("type", "value")
    return or_list(
        [
            nouns(whole, kind, plural)
            for kind in ([kinds] if isinstance(kinds, str) else kinds)
        ]
    )


LIMITS = {
    "minimum": "≥",
    "exclusiveMinimum": ">",
    "maximum": "≤",
    "exclusiveMaximum": "<",
}


def nouns(form: Schema, kind: str, plural: bool) -> str:
    """A type by its name, with what is in it, or its limits."""
    noun = ("table" if kind == "object" else kind) + (
        "s" if plural and kind != "null" else ""
    )
    rest = form.get("additionalProperties")
    if kind == "array" and isinstance(form.get("items"), (dict, Named)):
        return f"{noun} of {typed(form['items'], True)}"
    if kind == "object" and form.get("properties"):
        return f"{noun} with " + ", ".join(
            f"`{key}`" for key in form["required"] or list(form["properties"])[:1]
        )
    if kind == "object" and isinstance(rest, (dict, Named)):
        return f"{noun} of {typed(rest, True)} by name"
    limits = [
        f"{sign} {form[word]:g}"
        for word, sign in LIMITS.items()
        if word in form and kind in ("number", "integer")
    ]
    return escaped(" ".join([noun, " and ".join(limits)]).strip())


@cache
def named_forms() -> dict[str, Named]:
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

    for kind in KINDS.values():
        visit(kind.whole())
    return {name: form for name, form in found.items() if has_table(form)}


def forms_of(_: str) -> Lines:
    """Forms that several sections share."""
    for name, form in sorted(named_forms().items()):
        note = html(body(form).get("description", ""))
        yield from folded(
            f"{code(name)} {note}".strip(), place("form", name), fragment(name, form)
        )


def schema_of(name: str) -> Lines:
    """The keys of a published format, of the whole and of each of its definitions, and its schema to download."""
    schema = SCHEMAS[name]()
    link = f'<a href="../{name}.schema.json">{name}.schema.json</a>'
    yield from (f"{escaped(schema['description'])} Schema: {link}.", "")
    if "properties" in schema:
        yield from (*schema_table(schema), "")
    for place, form in [*enumerated(schema), *schema["$defs"].items()]:
        if "properties" in form:
            yield from (
                f"`{place}`: {escaped(form.get('description', ''))}".rstrip(": "),
                "",
            )
            yield from (*schema_table(form), "")


def enumerated(schema: Schema) -> Iterator[tuple[str, Schema]]:
    """The forms that the whole may have, by the format of the spec that each is of."""
    for form in schema.get("oneOf", ()):
        yield (
            str(
                form.get(
                    "title", form["properties"]["spec"]["properties"]["format"]["const"]
                )
            ),
            form,
        )


def schema_table(form: Schema) -> Lines:
    """A row for each key of a published record. Its definitions are told of on the same page, by their names."""
    named = re.compile(r'<a href="#form-[^"]*">([^<]*)</a>')
    yield from (
        *table("key", "type", "presence", "meaning"),
        *(named.sub(r"`\1`", row) for row in rows_of(form)),
    )


def attacks(_: str) -> Lines:
    """What attacks were tried, and by which tests."""
    from tests.oracles.trust_table import rows

    yield from rows()


def mutants(_: str) -> Lines:
    """The faults that are injected, each with the tests that are to fail."""
    from tests.mutation.listed import MUTANTS

    yield from (
        f"{len(MUTANTS)} faults.",
        "",
        *table("file", "fault", "tests that fail"),
    )
    for mutant in sorted(MUTANTS, key=lambda mutant: (mutant.file, mutant.breaks)):
        tests = ", ".join(f"`{test.removeprefix('tests/')}`" for test in mutant.tests)
        yield f"| `{mutant.file}` | {escaped(mutant.breaks)} | {tests} |"


def traced(_: str) -> Lines:
    """The lines that run when a specimen of every format is loaded, verified and released; takes 45 seconds."""
    from tests.house.trusted_base import of_specimens

    with TemporaryDirectory() as folder:
        yield of_specimens(Path(folder))


def verifier(_: str) -> Lines:
    """The SHA-256 of the second verifier of this version."""
    file = Path(__file__).resolve().parents[1] / SECOND
    yield f"`{hashlib.sha256(file.read_bytes()).hexdigest()}`"


def families(_: str) -> Lines:
    """The families of noise, baselines last, each with its line and its notion."""
    yield from table("family", "noise", "notion")
    for family in sorted(FAMILIES, key=lambda family: family.baseline):
        baseline = ", a baseline" if family.baseline else ""
        yield f"| `{family.name}` | {escaped(family.title)}{baseline} | {family.notion} |"


def measured(part: str) -> Lines:
    """What was measured of families: the chart, the summary, the tables, or how good the default is."""
    from benchmarks import auto_choice
    from benchmarks.which_family.measuring import saved
    from benchmarks.which_family.page import parts

    yield (
        auto_choice.table(auto_choice.read(auto_choice.ROWS))
        if part == "default"
        else parts(saved())[part]
    )


def example(name: str) -> Lines:
    """A problem file of the folder `examples`."""
    text = (Path(__file__).parents[1] / "examples" / f"{name}.toml").read_text(
        encoding="utf-8"
    )
    yield f"```toml\n{text.strip()}\n```"


def sizes(part: str) -> Lines:
    """The largest sizes of the last runs, or what grows steeply and why."""
    from benchmarks import sizes_page

    growth = json.loads(sizes_page.GROWTH.read_text(encoding="utf-8"))
    yield sizes_page.steep(growth) if part == "steep" else sizes_page.table(growth)


def limits(_: str) -> Lines:
    """The sizes that are refused: what is counted, the number, and the files that refuse."""
    root = Path(__file__).resolve().parents[1]
    files = [
        path for top in ("designer", "solvers") for path in (root / top).rglob("*.py")
    ]
    texts = {
        str(path.relative_to(root)): path.read_text(encoding="utf-8")
        for path in sorted(files)
    }
    yield from table("what is bounded", "number", "refused in")
    for own in ("designer/limits.py", "solvers/limits.py"):
        for name, number, what in re.findall(
            r"^([A-Z_]+) = (.+?)  # (.+)$", texts.pop(own), re.MULTILINE
        ):
            users = ", ".join(
                f"`{file}`"
                for file, text in texts.items()
                if re.search(rf"\b{name}\b", text)
            )
            yield f"| {escaped(what)} | `{number}` | {users} |"


def findings(_: str) -> Lines:
    """What each file in findings/ found of a library, and what this program does about it."""
    yield from table("what was found", "what this program does", "file")
    for file in sorted((Path(__file__).resolve().parents[1] / "findings").glob("*.sh")):
        head = file.read_text(encoding="utf-8").split("\nset ", 1)[0]
        found, *_, own = re.findall(
            r"(?:^# (?!Guess|Seen).+\n?)+",
            head.replace("# This program", "#\n# This program"),
            re.MULTILINE,
        )
        first, does = (
            " ".join(re.findall(r"^# (.+)$", part, re.MULTILINE))
            for part in (found, own)
        )
        yield f"| {escaped(first)} | {escaped(does)} | `findings/{file.name}` |"


def paper_items(key: str) -> Lines:
    """What became of the items of a paper."""
    from examples.papers.__main__ import paper
    from examples.papers.pages import items

    yield items(paper(key))


def paper_verdicts(_: str) -> Lines:
    """How many items of each paper have each verdict."""
    from examples.papers.__main__ import KEYS, paper
    from examples.papers.pages import verdicts

    yield verdicts([paper(key) for key in KEYS])


MAKERS: Mapping[str, Callable[[str], Lines]] = {
    "commands": all_commands,
    "options": options_of,
    "keys": keys_of,
    "forms": forms_of,
    "schema": schema_of,
    "questions": questions,
    "families": families,
    "measured": measured,
    "sizes": sizes,
    "limits": limits,
    "example": example,
    "attacks": attacks,
    "mutants": mutants,
    "traced": traced,
    "verifier": verifier,
    "findings": findings,
    "paper": paper_items,
    "verdicts": paper_verdicts,
}
MARK = re.compile(
    rf"^<!-- ({'|'.join(MAKERS)})(?: ([\w-]+(?: \w+)?))? -->$", re.MULTILINE
)


def with_tables(text: str) -> str:
    """A page with the tables that it names."""
    return MARK.sub(
        lambda mark: (
            "\n" + "\n".join(MAKERS[mark[1]](mark[2] or "")).strip("\n") + "\n"
        ),
        text,
    )

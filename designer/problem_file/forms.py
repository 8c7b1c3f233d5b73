"""Files held against their form: the words of JSON Schema that forms are made of, each with its refusal.

Whatever a form says in the published schema, the reader asks for here; a word that is not in `RULES` is an error of the form.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, time
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar, NoReturn, Self

from designer.base.checks import meant, shown
from designer.base.display import printed
from designer.base.errors import InvalidProblem
from designer.base.labels import listed_label
from designer.base.schema import Fragment, Named, Schema, either, exactly, list_of, noted, record, text, whole
from designer.certificate.frozen import FrozenMechanism, summary_lines, to_spec
from designer.certificate.guarantee import ALL, NOTES, NOTHING, UNITS, About
from designer.designing.dispatch import design
from designer.designing.printouts import optimality_lines
from designer.files.data_files import read_table
from designer.mechanism.caution_lines import cautions
from designer.mechanism.derived import DERIVED
from designer.problem.histogram import IN_FILES, OTHERS
from designer.problem.reading import ATTRIBUTE_KEYS, UNSAID, ColumnReading, Reading, require_known
from designer.problem.reading import SECTIONS as READINGS
from designer.problem.targets import Targets, in_file
from designer.problem_file.sections import Choices, ExpectedValues, Outcome, Sections, naming, require_filled

Keys = tuple[str | int, ...]


def require_form(path: Path, form: Fragment, data: Any) -> None:
    """Refuse data of another form; the message names file, section, key, value and remedy."""
    try:
        _fit(form, data, ())
    except _Misfit as misfit:
        raise InvalidProblem(f"{path}: {misfit.sentence()}.") from None


@dataclass
class _Misfit(Exception):
    """What does not fit: the keys that lead to it, its value, what would; `missing` where nothing stands there."""

    keys: Keys
    value: Any
    remedy: str
    missing: bool = False

    def sentence(self) -> str:
        """Section, key, value and remedy."""
        if self.missing:
            return f"{_place(self.keys)} is missing; {self.remedy}"
        if len(self.keys) == 1 and isinstance(self.value, dict):
            return f"section [{self.keys[0]}] {self.remedy}"
        return f"{_place(self.keys)} = {shown(self.value)}: {self.remedy}" if self.keys else self.remedy


def _place(keys: Keys) -> str:
    """`[section.part] key` as TOML writes it, places of lists in brackets."""
    if len(keys) == 1:
        return str(keys[0])
    first = next((place for place, key in enumerate(keys) if isinstance(key, int)), len(keys))
    head = max(1, min(first, len(keys)) - 1)
    inner = ".".join(map(str, keys[:head]))
    tail = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys[head:]).removeprefix(".")
    return f"[{inner}] {tail}"


def _body(form: Fragment) -> Schema:
    return form.body if isinstance(form, Named) else form


def _fit(form: Fragment, value: Any, keys: Keys) -> None:
    """Raise `_Misfit` unless the value has the form."""
    body = _body(form)
    for word in body:
        RULES[word](body, value, keys)


def _fits(form: Fragment, value: Any) -> bool:
    try:
        _fit(form, value, ())
    except _Misfit:
        return False
    return True


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and not math.isnan(value)


TYPES: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "object": ("a table {..}", lambda value: isinstance(value, dict)),
    "array": ("a list [..]", lambda value: isinstance(value, list)),
    "string": ("a text in quotes", lambda value: isinstance(value, str)),
    "number": ("a number", _is_number),
    "integer": ("a whole number", lambda value: isinstance(value, int) and not isinstance(value, bool)),
    "boolean": ("true or false", lambda value: isinstance(value, bool)),
}
LIMITS: Mapping[str, tuple[str, Callable[[float, float], bool]]] = {
    "minimum": ("of at least", lambda value, limit: value >= limit),
    "exclusiveMinimum": ("above", lambda value, limit: value > limit),
    "maximum": ("of at most", lambda value, limit: value <= limit),
    "exclusiveMaximum": ("below", lambda value, limit: value < limit),
}


def wording(form: Fragment) -> str:
    """What fits a form, in a few words.

    >>> from designer.base.schema import either, list_of, number, text
    >>> wording(either(number(above=0), list_of(text())))
    'a number above 0, or a list of: a text in quotes'
    """
    body = _body(form)
    if "const" in body:
        return _literal(body["const"])
    if "enum" in body:
        return f"one of {[*body['enum']]}"
    if "anyOf" in body and "type" not in body:
        return ", or ".join(dict.fromkeys(map(wording, body["anyOf"])))
    limits = [f"{words} {body[word]:g}" for word, (words, _) in LIMITS.items() if word in body]
    return " and ".join([" ".join([_noun(body), *limits[:1]]), *limits[1:]])


def _noun(body: Schema) -> str:
    if "type" not in body:
        return "any value"
    noun = TYPES[body["type"]][0]
    if body["type"] == "array" and "items" in body:
        return f"a list of: {wording(body['items'])}"
    if body["type"] == "object" and body.get("properties"):
        return "a table {" + ", ".join(f"{key} = .." for key in body["required"] or list(body["properties"])[:1]) + "}"
    return noun


def _literal(value: object) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else shown(value)


def _type(body: Schema, value: Any, keys: Keys) -> None:
    if TYPES[body["type"]][1](value):
        return
    if len(keys) == 1 and body["type"] == "object":
        raise _Misfit(keys, value, f"should be a section: write [{keys[0]}] and its keys below")
    raise _Misfit(keys, value, f"should be {wording(body)}")


def _required(body: Schema, value: Any, keys: Keys) -> None:
    if isinstance(value, dict):
        for key in body["required"]:
            if key not in value:
                _lacks(body, value, (*keys, key))


def _lacks(body: Schema, value: Mapping[str, Any], keys: Keys) -> NoReturn:
    """Refuse the absence of a key, with its misspelling where one stands there."""
    known = body.get("properties", {})
    wanted = known.get(keys[-1], {})
    near = [key for key in value if key not in known and meant(key, [str(keys[-1])])]
    note = _body(wanted).get("description", "")
    hint = f"perhaps {near[0]!r} is meant to be it; " if near else ""
    raise _Misfit(keys, None, f"{hint}give it, as {wording(wanted)}{note and f' ({note})'}", missing=True)


def _properties(body: Schema, value: Any, keys: Keys) -> None:
    if isinstance(value, dict):
        for key, form in body["properties"].items():
            if key in value:
                _fit(form, value[key], (*keys, key))


def _additional(body: Schema, value: Any, keys: Keys) -> None:
    if not isinstance(value, dict):
        return
    known, rest = body.get("properties", {}), body["additionalProperties"]
    for key in value:
        if key not in known:
            if rest is False:
                raise _unknown((*keys, key), value[key], list(known))
            _fit(rest, value[key], (*keys, key))


def perhaps(section: str, key: Any, value: Any, known: Collection[str]) -> str:
    """What may be meant by a key that there is not, as clauses; a target may be named by its query alone."""
    near = meant(key, known)
    if section == "targets" and isinstance(value, int | float | str):
        near += f"for a query of that name write {in_file(printed(key), printed(value))}; "
    return near


def _unknown(keys: Keys, value: Any, known: Sequence[str]) -> _Misfit:
    """The refusal of a key, or a section, that there is not."""
    what = "key" if len(keys) > 1 or not isinstance(value, dict) else "section"
    near = perhaps(str(keys[0]), keys[-1], value, known)
    owner = "the file" if len(keys) == 1 else _place((*keys[:-1], ""))[:-1].rstrip(" .")
    if what == "section":
        return _Misfit(keys, value, f"is unknown; {near}the sections are {sorted(known)}")
    return _Misfit(keys, value, f"unknown key; {near}{owner} takes {sorted(known)}")


def _items(body: Schema, value: Any, keys: Keys) -> None:
    if isinstance(value, list):
        for place, item in enumerate(value):
            _fit(body["items"], item, (*keys, place))


def _sized(noun: str, kind: type, compare: Callable[[int, int], bool], words: str) -> Callable[[Schema, Any, Keys], None]:
    def rule(body: Schema, value: Any, keys: Keys) -> None:
        if isinstance(value, kind) and not compare(len(value), body[noun]):  # type: ignore[arg-type]
            raise _Misfit(keys, value, f"should have {words} {body[noun]} {'entry' if body[noun] == 1 else 'entries'}")

    return rule


def _limit(word: str) -> Callable[[Schema, Any, Keys], None]:
    def rule(body: Schema, value: Any, keys: Keys) -> None:
        if _is_number(value) and not LIMITS[word][1](value, body[word]):
            raise _Misfit(keys, value, f"should be {wording(body)}")

    return rule


def _distinct(body: Schema, value: Any, keys: Keys) -> None:
    if isinstance(value, list) and body["uniqueItems"]:
        for place, item in enumerate(value):
            if item in value[:place]:
                raise _Misfit((*keys, place), item, "stands there twice; name it once")


def _one_of(body: Schema, value: Any, keys: Keys) -> None:
    if not any(type(value) is type(known) and value == known for known in body["enum"]):
        raise _Misfit(keys, value, f"unknown; {meant(value, map(str, body['enum']))}use one of {[*body['enum']]}")


def _exactly(body: Schema, value: Any, keys: Keys) -> None:
    if type(value) is not type(body["const"]) or value != body["const"]:
        raise _Misfit(keys, value, f"should be {_literal(body['const'])}")


def _any_of(body: Schema, value: Any, keys: Keys) -> None:
    """Where nothing fits, what is nearest says what is wrong."""
    forms = body["anyOf"]
    if any(_fits(form, value) for form in forms):
        return
    if not all(
        "type" in _body(form) or "const" in _body(form) or "enum" in _body(form) or "anyOf" in _body(form) for form in forms
    ):
        needed = [key for form in forms for key in _body(form).get("required", ())]
        raise _Misfit(keys, value, f"should have one of {needed}") if keys else _Misfit(keys, value, f"needs one of {needed}")
    of_type = [form for form in forms if "type" in _body(form) and TYPES[_body(form)["type"]][1](value)]
    if told := _told_apart(of_type, value, keys):
        of_type = [told]
    if len(of_type) == 1:
        _fit(of_type[0], value, keys)
    if isinstance(value, dict) and len(of_type) > 1:
        _undecided(of_type, value, keys)
    raise _Misfit(keys, value, f"should be {wording(body)}")


def _told_apart(forms: Sequence[Fragment], value: Any, keys: Keys) -> Fragment | None:
    """The one of several records whose word, such as `ask = "sum"`, the value has; refuses where it has none of their words."""
    if len(forms) < 2 or not isinstance(value, dict):
        return None
    words = [{key: _body(own).get("const") for key, own in _body(form).get("properties", {}).items()} for form in forms]
    shared = [key for key in words[0] if all(found.get(key) is not None for found in words)]
    if not shared:
        return _nearest(forms, value)
    named = {found[shared[0]]: form for found, form in zip(words, forms, strict=True)}
    if shared[0] not in value:
        raise _Misfit((*keys, shared[0]), None, f"give one of {[*named]}", missing=True)
    _one_of({"enum": [*named]}, value[shared[0]], (*keys, shared[0]))
    return named[value[shared[0]]]


def _undecided(forms: Sequence[Fragment], value: Mapping[str, Any], keys: Keys) -> None:
    """Refuse a table of which nothing tells which of several records it is: a key that none of them takes, or the choice."""
    known = {key: None for form in forms for key in _body(form).get("properties", {})}
    for key in value:
        if known and key not in known:
            raise _unknown((*keys, key), value[key], list(known))
    needed = [" and ".join(_body(form).get("required", ())) for form in forms]
    if all(needed):
        given = f"has {[*value]}; " if value else "is empty; "
        raise _Misfit(keys, value, f"{given}give exactly one of: {', or '.join(needed)}")


def _nearest(forms: Sequence[Fragment], value: Mapping[str, Any]) -> Fragment | None:
    """The one of several records that needs a key which the value has and no other record takes."""
    known = [_body(form).get("properties", {}) for form in forms]
    chosen = [
        form
        for place, form in enumerate(forms)
        for key in _body(form).get("required", ())
        if key in value and not any(key in other for other in (*known[:place], *known[place + 1 :]))
    ]
    return chosen[0] if len(chosen) == 1 else None


def _one_only(body: Schema, value: Any, keys: Keys) -> None:
    """Exactly one of several keys is there."""
    fitting = [form for form in body["oneOf"] if _fits(form, value)]
    if len(fitting) != 1:
        needed = [key for form in body["oneOf"] for key in _body(form)["required"]]
        given = [key for key in needed if isinstance(value, dict) and key in value]
        raise _Misfit(keys, value, f"has {given or 'none'} of {needed}; give exactly one of them")


def _nothing(body: Schema, value: Any, keys: Keys) -> None:
    """Words that say nothing of the value, or that another rule reads."""


def _conditional(body: Schema, value: Any, keys: Keys) -> None:
    _fit(body["then"] if _fits(body["if"], value) else body["else"], value, keys)


def _dependent(body: Schema, value: Any, keys: Keys) -> None:
    for key, others in body["dependentRequired"].items():
        missing = [other for other in others if isinstance(value, dict) and key in value and other not in value]
        if missing:
            raise _Misfit((*keys, key), value[key], f"needs {' and '.join(missing)} beside it")


RULES: Mapping[str, Callable[[Schema, Any, Keys], None]] = {
    "description": _nothing,
    "default": _nothing,
    "type": _type,
    "additionalProperties": _additional,
    "required": _required,
    "properties": _properties,
    "minProperties": _sized("minProperties", dict, int.__ge__, "at least"),
    "items": _items,
    "minItems": _sized("minItems", list, int.__ge__, "at least"),
    "maxItems": _sized("maxItems", list, int.__le__, "at most"),
    "uniqueItems": _distinct,
    **{word: _limit(word) for word in LIMITS},
    "enum": _one_of,
    "const": _exactly,
    "anyOf": _any_of,
    "oneOf": _one_only,
    "if": _conditional,
    "then": _nothing,
    "else": _nothing,
    "dependentRequired": _dependent,
}


# What a kind of problem files is.
#
# Its form is a fragment of JSON Schema (`designer.base.schema.record`), with a note for each key. The published schema is
# made of it, and the reader holds every file against it, so a key stands in one place. To add a kind, write a file with a
# `Reader` and a `ProblemFile`, and put the latter into the list of `designer.problem_file.kinds`.
#
# The words of a problem file about itself, which go with what is made of it: `title`, and the section [about].
#
# title = "Commuters by district"
# [about]  data = "register of residents", period = 2024 | 2024-01-31 | [2024-01-01, 2024-12-31] | "winter of 2024"
#          publisher, contact, record = "one resident", units = "persons" | {north = "persons", share = "percent"}
#
# How records are read: entity = "household", rows_per_entity = 2, delimiter, decimal, thousands, sheet in [records]; for each
# column [columns.age] bins = [0, 15, 65] | "month" | "year", labels = {"1" = "Employed"}, missing = [98, [-inf, -1]].
# An attribute of [domain] says the same in its place: emp = { labels = {..} }, day = { bins = "year", values = [2025, 2026] }.


POINT_IN_TIME = either(text(), whole())
PERIOD = noted(
    f"{NOTES['period']} A text, a year, a date, or the first and the last of either.",
    either(POINT_IN_TIME, list_of(POINT_IN_TIME, least=2, most=2)),
)
LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
MOMENTS = ("period", "values")  # whose dates and times are no labels
NAMED_UNITS = {"type": "object", "additionalProperties": text()}
ABOUT = Named(
    "about_section",
    record(
        {},
        {
            **{key: noted(NOTES[key], text()) for key in ("data", "publisher", "contact", "record")},
            "period": PERIOD,
            "units": noted(UNITS["description"], either(text(), NAMED_UNITS)),
        },
        note="For readers, beside `title`: goes into the spec, its releases and its report. Nothing proves it.",
    ),
)


def with_dates_written(given: Any, key: str = "") -> Any:
    """What a file holds, with the dates and times of TOML as texts: labels by day, as those of records are; `period` of [about]
    and `values` on a line are moments."""
    if isinstance(given, dict):
        return {name: with_dates_written(value, name) for name, value in given.items()}
    if isinstance(given, list):
        return [with_dates_written(value, key) for value in given]
    if isinstance(given, (date, time)):
        return given.isoformat() if key in MOMENTS else listed_label(given)
    return given


def with_code_lists(data: Mapping[str, Any], folder: Path) -> tuple[dict[str, Any], list[Path]]:
    """A file whose labels are written out, and the tables beside it that hold them."""
    read: list[Path] = []

    def written(own: Any) -> Any:
        if not isinstance(own, dict) or not isinstance(own.get("labels"), str):
            return own
        read.append(folder / own["labels"])
        return {**own, "labels": code_list(read[-1])}

    sections = {key: data[key] for key in ("columns", "domain") if isinstance(data.get(key), dict)}
    return {**data, **{key: {name: written(own) for name, own in held.items()} for key, held in sections.items()}}, read


def code_list(path: Path) -> dict[str, str]:
    """The label of each code, from the first two columns of a public table, or from a code list in SDMX-ML; refuses a gap and a
    code that is there twice."""
    found: dict[str, str] = {}
    columns = sdmx_codes(path) if path.suffix == ".xml" else list(read_table(path).values())
    if len(columns) < 2:
        raise InvalidProblem(f"{path}: has one column; write codes in the first and their labels in the second.")
    for line, (code, label) in enumerate(zip(*columns[:2], strict=True), 2):
        if not code or not label:
            raise InvalidProblem(f"{path}, line {line}: lacks a code or its label; write both.")
        if code in found:
            raise InvalidProblem(f"{path}, line {line}: has the code {shown(code)} once more; leave one of the lines out.")
        found[code] = label
    return found


def sdmx_codes(path: Path) -> list[list[str]]:
    """Codes and names of the only code list of an SDMX-ML structure file, in English where it has that, in order."""
    from xml.etree import ElementTree

    try:
        lists = [node for node in ElementTree.parse(path).iter() if node.tag.endswith("}Codelist")]
    except (OSError, ElementTree.ParseError, ValueError) as error:
        raise InvalidProblem(f"{path}: is no XML that can be read ({error}); give a code list in SDMX-ML, or as CSV.") from None
    if len(lists) != 1:
        raise InvalidProblem(f"{path}: has {len(lists)} code lists; give a file with one, or codes and labels as CSV.")
    codes, labels = [], []
    for code in (node for node in lists[0] if node.tag.endswith("}Code")):
        names = {node.get(LANGUAGE, ""): (node.text or "").strip() for node in code if node.tag.endswith("}Name")}
        codes.append(code.get("id", ""))
        labels.append(names.get("en", next(iter(names.values()), "")))
    return [codes, labels]


def with_values_of_domain(data: Mapping[str, Any]) -> tuple[dict[str, Any], Reading]:
    """A file whose attributes of [domain] list their values, and how its records are read: [records], [columns], and what these
    attributes said of bins, labels and missing values."""
    columns, domain = dict(data.get("columns", {})), data.get("domain", {})
    if not isinstance(domain, dict):
        return dict(data), Reading.of(data.get("records", {}), "[records]")
    listed = {}
    for name, own in domain.items():
        where = f"[domain.{name}]"
        listed[name] = own
        if isinstance(own, dict) and "table" not in own:
            if name in columns:
                raise InvalidProblem(f"{where}: [columns.{name}] says how it is read, too; say it in one place.")
            columns[name] = {key: value for key, value in own.items() if key != "values"}
            require_known(own, ATTRIBUTE_KEYS, where)
            listed[name] = own.get("values", list(ColumnReading.of(columns[name], where).values))
            if not listed[name]:
                raise InvalidProblem(f"{where} values: are missing; list them, or give bins or labels.")
    reading = Reading.of({**data.get("records", {}), **({"columns": columns} if columns else {})}, "[records]")
    for name, own in listed.items():
        column = reading.columns.get(name, ColumnReading())
        values = list(map(listed_label, own)) if isinstance(own, list) else []
        for value in values:
            if column.is_missing(value):
                raise InvalidProblem(f"[domain] {name}: {shown(value)} is listed and missing; it is one of the two.")
        known = column.values if isinstance(column.bins, tuple) else values
        if unknown := [value for value in [*values, *column.labels] if values and value not in known and value != OTHERS]:
            other = (
                "a label, and no value" if isinstance(column.bins, str | None) else f"none of the bins {list(column.values)}"
            )
            raise InvalidProblem(f"[domain] {name}: {shown(unknown[0])} is {other}; list each value, and no other.")
    return {**data, "domain": listed} if listed else dict(data), reading


def about_of(data: Mapping[str, Any], reading: Reading = UNSAID) -> About:
    """What a file of the right form says about itself, and how it reads its records."""
    said = dict(data.get("about", {}))
    if "period" in said:
        given = said["period"]
        said["period"] = " to ".join(map(str, given)) if isinstance(given, list) else str(given)
    if isinstance(said.get("units"), str):
        said["units"] = {ALL: said["units"]}
    said = {**({"title": printed(data["title"])} if data.get("title") else {}), **said}
    said |= {"records": reading} if reading else {}
    return About.from_dict(said) if said else About()


DEFAULT = "linear_queries"
# Keys that a file of any kind may have before its sections, or beside them; `kind` is another.
HEADING: Mapping[str, Fragment] = {
    "title": noted("What the file is about, in a few words.", text()),
    "about": ABOUT,
    "derived": list_of(DERIVED),
    **IN_FILES,
    **READINGS,
}


AT_EACH_BUDGET = "change its budget or noise, and read what dp-designer design prints of accuracy and privacy"


class Reader(Sections, ABC):
    """One problem file of a kind being read; its form was checked before."""

    @abstractmethod
    def read(self) -> Mapping[str, Any]:
        """The problem, how it is designed, and what its kind adds: fields of its `ProblemFile`."""

    def require(self, kind: type[ProblemFile]) -> None:
        """Refuse a file that does not have the form of its kind."""
        require_form(self.path, kind.whole(), self.data)

    def class_of_file(self, kind: Any) -> Any:
        """The class of the file: that of its kind, or a narrower one with a reader of its own."""
        return kind

    def family_and_options(self) -> dict[str, Any]:
        """What [design] says of linear queries."""
        options = dict(self.data.get("design", {}))
        family = options.pop("family", "auto")
        if not isinstance(family, str):
            raise self.refuse("design", "family", family, "name a family, or leave it out for the best that applies")
        return {"family": family, "options": options}

    def read_files(self) -> tuple[Path, ...]:
        """All files that were read, the problem file first."""
        return tuple(self.files)


@dataclass(frozen=True, kw_only=True)
class ProblemFile(ABC):
    """A problem file that was read. Each kind of such files is a class: its form, its reader, and how its mechanism is made.

    kind: its name in the closed list of kinds. note: a sentence that says what such a file is for. choices: the names of those
    `Choices` that it takes. explored: may it be designed at other budgets? from_records: is it released from records? files:
    those that were read, the problem file first. problem: what is asked. family, options, targets: how it is designed, and how
    accurate the answers must be. about: what the file says about itself, which goes with what is made of it.
    """

    kind: ClassVar[str]
    note: ClassVar[str]
    reader: ClassVar[type[Reader]]
    choices: ClassVar[tuple[str, ...]] = ()
    explored: ClassVar[bool] = False
    from_records: ClassVar[bool] = True
    title: str
    files: tuple[Path, ...]
    problem: Any
    family: str = "auto"
    options: Mapping[str, Any] = field(default_factory=dict)
    targets: Targets | None = None
    about: About = NOTHING

    @classmethod
    @abstractmethod
    def form(cls) -> Schema:
        """The sections of the whole file, a `record`."""

    @classmethod
    def read(cls, path: Path, data: dict[str, Any]) -> Self:
        """What a file of this kind asks for; every refusal names the file."""
        written = with_dates_written(data)
        require_filled(path, data)
        with naming(path):
            require_form(path, record({}, HEADING), {key: written[key] for key in HEADING if key in written})
            written, lists = with_code_lists(written, path.parent)
            written, reading = with_values_of_domain(written)
            if reading and not cls.from_records:
                raise cls.without_records()
            reader = cls.reader(path, written)
            reader.require(cls)
            own: type[Self] = reader.class_of_file(cls)
            reader = reader if own is cls else own.reader(path, written)
            asked, title = reader.read(), str(written.get("title", path.stem))
            return own(title=title, files=(*reader.read_files(), *lists), about=about_of(written, reading), **asked)

    @classmethod
    def without_records(cls) -> InvalidProblem:
        """The refusal of what says how records are read; for the caller to raise."""
        return InvalidProblem(
            f"[records], [columns]: do not go with kind {cls.kind!r}, which reads no file of records; leave them out."
        )

    @classmethod
    def whole(cls, form: Schema | None = None) -> Schema:
        """The form of a file with its heading, of these sections or its own; `kind` must be there, but for the default."""
        form, name = cls.form() if form is None else form, {"kind": exactly(cls.kind)}
        needed, free = ({}, name) if cls.kind == DEFAULT else (name, {})
        rules = {word: rule for word, rule in form.items() if word not in ("type", "properties", "required")}
        whole = record(needed, {**free, **HEADING, **form["properties"]}, note=cls.note, **rules)
        return {**whole, "required": [*whole["required"], *form["required"]]}

    def __post_init__(self) -> None:
        if self.named_answers is not None:
            self.about.require_units_of(self.named_answers)

    @property
    def named_answers(self) -> tuple[str, ...] | None:
        """The names of the answers, which units are stated for; None where they are not all known before the design."""
        return None

    def designed(self, choices: Choices) -> Any:
        """The design, by the family and the options of the file, or those that the caller chose in their place."""
        family, options = choices.of_file(self.family, self.options)
        return design(self.problem, family, targets=self.targets, **{**options, **choices.limits})

    def make(self, choices: Choices) -> FrozenMechanism:
        """The frozen object that the file asks for."""
        made: FrozenMechanism = self.designed(choices).mechanism
        return made

    @abstractmethod
    def description(self) -> Mapping[str, object]:
        """What is asked and what is protected, a few words each, for `show`."""

    def accuracy_lines(self, made: Any) -> list[str]:
        """How accurate the answers of what was made are, for the terminal."""
        return []

    def made(self, choices: Choices | None = None) -> Outcome:
        """The frozen object, and lines about it: what was made, its certificate, accuracy, and optimality where it is known.

        Raises `InvalidProblem` for choices that this kind does not take, `DesignFailed` where there is no mechanism.
        """
        chosen = self.checked_choices(choices)
        start = perf_counter()
        with naming(self.files[0]):
            made = self.make(chosen).described(self.about)
        seconds = f"Time:        {perf_counter() - start:.2f} s"
        said = (*summary_lines(made), *self.accuracy_lines(made), *optimality_lines(made.optimality), seconds)
        return Outcome(made, (*self.title_lines(made), *said), to_spec(made))

    def checked_choices(self, choices: Choices | None) -> Choices:
        """The choices of the caller; refused where this kind does not take them."""
        chosen = choices or Choices()
        chosen.require(self.kind, self.choices)
        return chosen

    def title_lines(self, made: FrozenMechanism) -> tuple[str, ...]:
        """The title, and what readers must be told before anything else."""
        title = printed(self.title)
        return (title, "=" * len(title), *cautions(made))

    def least(self, choices: Choices | None = None, *, step: float | None = None) -> Outcome:
        """The design at the least factor on all budgets that meets the accuracy that the file asks for."""
        raise self.without("budget", f"no accuracy is stated in it; {AT_EACH_BUDGET}")

    def least_outcome(self, found: Any, lines: Sequence[str], reached: object) -> Outcome:
        """What a search for that found: the lines about its factor, and how accurate its mechanism is."""
        made = found.mechanism.described(self.about)
        data = {"title": self.title, "factor": found.factor, "missed_at": found.missed_at, "lower_bound": found.lower_bound}
        said = (*self.title_lines(made), *lines, *self.accuracy_lines(made))
        return Outcome(made, said, {**data, "reached": reached, "spec": to_spec(made)})

    @property
    def compared(self) -> Any:
        """The problem whose families `compare` puts side by side."""
        each = "design it with each --family NAME, and compare what is printed"
        raise self.without("compare", each if "family" in self.choices else "it has one design, which dp-designer design makes")

    def listing(self) -> ExpectedValues:
        """Which values, groups and numbers the records are expected to have."""
        raise self.without("check", "it does not say which columns of records it reads")

    def without(self, command: str, remedy: str) -> InvalidProblem:
        """The refusal of a command that this kind of file does not have; for the caller to raise."""
        return InvalidProblem(f"{command}: does not go with a file of kind {self.kind!r}; {remedy}.")

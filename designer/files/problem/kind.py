"""What a kind of problem files is: its name, the form of its sections, and its reader.

The form is a fragment of JSON Schema (`designer.base.schema.record`), with a note for each key. The published schema is made
of it, and the reader holds every file against it (`designer.files.problem.forms`), so a key stands in one place. To add a kind,
write a file with a `Reader`, a `Request` and a `Kind`, and put the last into the list of `designer.files.problem.kinds`.

The words of a problem file about itself, which go with what is made of it: `title`, and the section [about].

title = "Commuters by district"
[about]  data = "register of residents", period = 2024 | 2024-01-31 | [2024-01-01, 2024-12-31] | "winter of 2024"
         publisher, contact, record = "one resident", units = "persons" | {north = "persons", share = "percent"}
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date, time
from pathlib import Path
from typing import Any

from designer.base.errors import InvalidProblem
from designer.base.labels import listed_label
from designer.base.printing import printed
from designer.base.schema import Fragment, Named, Schema, either, exactly, list_of, noted, record, text, whole
from designer.certified.about import ALL, NOTES, UNITS, About
from designer.files.problem.forms import require_form
from designer.files.problem.request import Request
from designer.files.problem.sections import Sections
from designer.files.problem.unfilled import require_filled
from designer.problem.unlisted import IN_FILES

POINT_IN_TIME = either(text(), whole())
PERIOD = noted(
    f"{NOTES['period']} A text, a year, a date, or the first and the last of either.",
    either(POINT_IN_TIME, list_of(POINT_IN_TIME, least=2, most=2)),
)
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


def with_dates_written(data: Mapping[str, Any]) -> dict[str, Any]:
    """The data of a file with the dates and times of TOML in [about] and [domain] as texts: those of [domain] are labels."""
    about, domain = data.get("about"), data.get("domain")
    found = dict(data)
    if isinstance(about, dict):
        found["about"] = {
            key: _written(value, lambda moment: str(moment.isoformat())) if key == "period" else value
            for key, value in about.items()
        }
    if isinstance(domain, dict):
        found["domain"] = {name: _written(values, listed_label) for name, values in domain.items()}
    return found


def about_of(data: Mapping[str, Any]) -> About:
    """What a file of the right form says about itself."""
    said = dict(data.get("about", {}))
    if "period" in said:
        given = said["period"]
        said["period"] = " to ".join(map(str, given)) if isinstance(given, list) else str(given)
    if isinstance(said.get("units"), str):
        said["units"] = {ALL: said["units"]}
    said = {**({"title": printed(data["title"])} if data.get("title") else {}), **said}
    return About.from_dict(said) if said else About()


def _written(value: Any, write: Callable[[Any], str]) -> Any:
    if isinstance(value, list):
        return [_written(entry, write) for entry in value]
    return write(value) if isinstance(value, (date, time)) else value


DEFAULT = "linear_queries"
# Keys that a file of any kind may have before its sections, or beside them; `kind` is another.
HEADING: Mapping[str, Fragment] = {
    "title": noted("What the file is about, in a few words.", text()),
    "about": ABOUT,
    **IN_FILES,
}


class Reader(Sections, ABC):
    """One problem file of a kind being read; its form was checked before."""

    @property
    def title(self) -> str:
        """The title that the file states, or its name."""
        return str(self.data.get("title", self.path.stem))

    @property
    def about(self) -> About:
        """What the file says about itself, for readers of what is made of it."""
        return about_of(self.data)

    @abstractmethod
    def read(self) -> Request:
        """What the file asks for."""

    def require(self, kind: Kind) -> None:
        """Refuse a file that does not have the form of its kind."""
        require_form(self.path, kind.whole(), self.data)


@dataclass(frozen=True)
class Kind:
    """One kind of problem files.

    note: a sentence that says what such a file is for. form: makes the sections of the whole file, a `record`.
    """

    name: str
    note: str
    form: Callable[[], Schema]
    reader: type[Reader]

    def read(self, path: Path, data: dict[str, Any]) -> Request:
        """What a file of this kind asks for; every refusal names the file."""
        written = with_dates_written(data)
        require_filled(path, data)
        try:
            require_form(path, record({}, HEADING), {key: written[key] for key in HEADING if key in written})
            reader = self.reader(path, written)
            reader.require(self)
            return replace(reader.read(), about=reader.about)
        except InvalidProblem as error:
            raise error if str(error).startswith(str(path)) else error.within(f"{path}: ") from None

    def whole(self) -> Schema:
        """The form of a file with its heading; `kind` must be there, but for the default."""
        form, name = self.form(), {"kind": exactly(self.name)}
        needed, free = ({}, name) if self.name == DEFAULT else (name, {})
        rules = {word: rule for word, rule in form.items() if word not in ("type", "properties", "required")}
        whole = record(needed, {**free, **HEADING, **form["properties"]}, note=self.note, **rules)
        return {**whole, "required": [*whole["required"], *form["required"]]}

"""The words of a problem file about itself, which go with what is made of it: `title`, and the section [about].

title = "Commuters by district"
[about]  data = "register of residents", period = 2024 | 2024-01-31 | [2024-01-01, 2024-12-31] | "winter of 2024"
         publisher, contact, record = "one resident", units = "persons" | {north = "persons", share = "percent"}
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from designer.certified.about import ALL, About, NOTES, UNITS
from designer.base.printing import printed
from designer.base.schema import Named, either, list_of, noted, record, text, whole

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
    """The data of a file with the dates of [about] as texts, which its form asks for."""
    section = data.get("about")
    if not isinstance(section, dict):
        return dict(data)
    return {**data, "about": {key: _written(value) if key == "period" else value for key, value in section.items()}}


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


def _written(value: Any) -> Any:
    if isinstance(value, list):
        return [_written(entry) for entry in value]
    return value.isoformat() if isinstance(value, date) else value

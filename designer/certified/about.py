"""What the maker says a mechanism is for: title, data, period, who publishes and answers, what one record is, units.

Words for readers. They travel with the object from the problem file into its spec, its releases and its report; they decide
nothing, no fingerprint has them, and nobody proves them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, ClassVar

from designer.base.checks import meant, shown
from designer.base.declared import assign
from designer.base.errors import InvalidProblem
from designer.base.printing import one_line, printed
from designer.base.schema import Named, Schema, noted, record

ALL = "*"  # in `units`: every answer that has none of its own
MOST_UNITS = 10_000
UNITS_SHOWN = 6
LONGEST = {"title": 200, "data": 1000, "period": 200, "publisher": 200, "contact": 500, "record": 500}
LONGEST_UNIT = 80
LONGEST_NAME = 1000  # of a query that a unit is stated for
NOTES = {
    "title": "What is published, in a line.",
    "data": "The data that it is made from.",
    "period": "The time that the data speak of.",
    "publisher": "Who publishes.",
    "contact": "Where questions go.",
    "record": "What one record of the data is said to be. Whether one has several is bounded by `--entity` alone.",
}
SAID_OF = {"record": "One row is said to be"}


def _words(longest: int) -> Schema:
    return {"type": "string", "minLength": 1, "maxLength": longest}


UNITS: Schema = noted(
    f'What answers are counted in, by the names of their queries; "{ALL}" stands for all that are not named.',
    {
        "type": "object",
        "minProperties": 1,
        "maxProperties": MOST_UNITS,
        "propertyNames": {"minLength": 1, "maxLength": LONGEST_NAME},
        "additionalProperties": _words(LONGEST_UNIT),
    },
)

SAID = Named(
    "about",
    record(
        {},
        {**{name: noted(NOTES[name], _words(longest)) for name, longest in LONGEST.items()}, "units": UNITS},
        note="Stated by the publisher for readers: not verified, and part of no fingerprint.",
        minProperties=1,
    ),
)


@dataclass(frozen=True)
class About:
    """Notes of the maker for readers, each one line of text, empty where nothing is said.

    title: what is published. data: what it is made from. period: the time that the data speak of. publisher, contact: who
    publishes, and where questions go. record: what one record is. units: what answers are counted in, by the names of their
    queries; `"*"` is for every answer that is not named, and a text stands for `{"*": text}`.

    Nothing of this is proven, and none of it may come from confidential data. Raises `InvalidProblem` for what is no text, too
    long, or holds characters that cannot be seen.

    >>> made = About("Commuters", units={"*": "persons", "share": "percent"})
    >>> made.unit("north"), made.unit("share"), bool(made), bool(About())
    ('persons', 'percent', True, False)
    """

    title: str = ""
    data: str = ""
    period: str = ""
    publisher: str = ""
    contact: str = ""
    record: str = ""
    units: Mapping[str, str] = field(default_factory=dict, hash=False)
    schema: ClassVar[Named] = SAID

    def __post_init__(self) -> None:
        for name, longest in LONGEST.items():
            _require_line(getattr(self, name), f"about.{name}", longest)
        assign(self, units=MappingProxyType(_units(self.units)))

    def __bool__(self) -> bool:
        """Is anything said?"""
        return any(getattr(self, each.name) for each in fields(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return _about, (self.to_dict(),)

    def unit(self, query: str) -> str:
        """What the answer to a query is counted in; empty where that is not said.

        query: its name.
        """
        return self.units.get(query) or self.units.get(ALL, "")

    def lines(self) -> list[str]:
        """What is said beside the title, fit to print: a line for each, with its name."""
        said = [(SAID_OF.get(name, name.capitalize()), getattr(self, name)) for name in LONGEST if name != "title"]
        return [f"{head}: {printed(words)}" for head, words in (*said, ("Units", self._unit_words())) if words]

    def heading(self) -> list[str]:
        """The title underlined, and `lines`; empty where nothing is said."""
        title = printed(self.title)
        return [*([title, "=" * len(title)] if title else []), *self.lines()]

    def _unit_words(self) -> str:
        named = [f"{query} in {unit}" for query, unit in self.units.items() if query != ALL]
        listed = named[:UNITS_SHOWN] + ([f"{len(named) - UNITS_SHOWN} more"] if len(named) > UNITS_SHOWN else [])
        rest = [f"all others in {self.units[ALL]}" if named else self.units[ALL]] if ALL in self.units else []
        return ", ".join([*listed, *rest])

    def to_dict(self) -> dict[str, Any]:
        """Plain data: what is said, and nothing else."""
        said = {each.name: getattr(self, each.name) for each in fields(self) if getattr(self, each.name)}
        return {**said, "units": dict(self.units)} if self.units else said

    @classmethod
    def from_dict(cls, given: object) -> About:
        """From plain data that say something; a key that there is not, and an empty text, are refused."""
        known = [each.name for each in fields(cls)]
        if not isinstance(given, Mapping) or not given:
            raise InvalidProblem(f"about: {shown(given)} says nothing; give some of the keys {known}.", value=given)
        for key, value in given.items():
            if key not in known:
                raise InvalidProblem(f"about.{one_line(str(key))[:40]}: is unknown; {meant(key, known)}the keys are {known}.")
            if not value:
                raise InvalidProblem(f"about.{key}: {shown(value)} says nothing; leave the key out.", value=value)
        return cls(**given)

    def require_units_of(self, queries: Iterable[str]) -> None:
        """Refuse a unit of a query that there is not."""
        wanted = set(self.units) - {ALL}
        if unknown := sorted(wanted - set(queries)) if wanted else []:
            known = list(queries)
            raise InvalidProblem(
                f"about.units: {shown(unknown[0])} is the name of no query; {meant(unknown[0], known)}the queries are "
                f"{shown(known)}, and {ALL!r} stands for all.",
                value=unknown[0],
            )


def _about(said: dict[str, Any]) -> About:
    return About(**said)


def _units(given: object) -> dict[str, str]:
    """Units by name, checked."""
    named = {ALL: given} if isinstance(given, str) and given else given
    if not isinstance(named, Mapping):
        raise InvalidProblem(
            f"about.units: {shown(given)} is no text and no mapping; give 'persons' or {{'total': 'persons'}}.", value=given
        )
    if len(named) > MOST_UNITS:
        raise InvalidProblem(f"about.units: has {len(named)} entries; give at most {MOST_UNITS}, and {ALL!r} for all others.")
    for name, unit in named.items():
        _require_line(unit, f"about.units[{shown(name)}]", LONGEST_UNIT, least=1)
        if not isinstance(name, str) or not 1 <= len(name) <= LONGEST_NAME:
            raise InvalidProblem(
                f"about.units: {shown(name)} is no name of a query; give a text of 1 to {LONGEST_NAME} characters.", value=name
            )
    return dict(named)


def _require_line(value: object, field: str, longest: int, least: int = 0) -> None:
    """Refuse anything but one line of text that can be seen whole."""
    if not isinstance(value, str):
        raise InvalidProblem(f"{field}: {shown(value)} is no text; give one line.", value=value)
    if not least <= len(value) <= longest:
        raise InvalidProblem(f"{field}: {shown(value)} has {len(value)} characters; give {least} to {longest}.", value=value)
    if one_line(value) != value:
        raise InvalidProblem(
            f"{field}: {shown(value)} holds a line break or a character that cannot be seen; write it in one line with "
            "plain spaces.",
            value=value,
        )


NOTHING = About()
